/* What NCCL does after a call has come back, and what a call waits for. */
#include "nccl_internal.h"

sd_job *sd_job_make(sd_host *h, sd_job_kind kind, sd_comm *comm)
{
  simdev *s = sd_now;
  sd_job *job = sd_take(s, sizeof *job);
  if (job) job->sync = sd_sync_take(s);
  if (!job || !job->sync || sd_agent_make(s, &job->agent, SD_JOB, h->agent.rank)) return NULL;
  job->kind = kind;
  job->comm = comm;
  job->call = h->call;
  job->agent.issue = ++s->order;
  sd_race_publish(job->sync);
  return job;
}

void sd_job_ready(simdev *s, sd_job *job)
{
  if (job && !job->done) sd_ready_add(s, &job->agent);
}

void sd_job_step(simdev *s, sd_agent *a)
{
  sd_job *job = (sd_job *)a;
  sd_ready_remove(s, a);
  job->done = 1;
  s->idle_rounds = 0;
  for (sd_launch *l = job->launches; l; l = l->next) {
    if (l->comm->state == ncclInProgress) l->comm->state = ncclSuccess;
    if (!l->comm->aborted) sd_launch_issue(s, l, job->sync);
  }
  if (job->comm && job->comm->state == ncclInProgress) job->comm->state = ncclSuccess;
  if (job->parent && job->parent->state == ncclInProgress) job->parent->state = ncclSuccess;
  if (job->waiting) {
    job->waiting->state = SD_GOES;
    sd_ready_add(s, &job->waiting->agent);
    job->waiting = NULL;
  }
  sd_wake_parked(s, a->rank);
}

int sd_job_wait(sd_host *h, sd_job *job)
{
  simdev *s = sd_now;
  if (!job->done && !s->verdict) {
    h->state = SD_BLOCKED;
    h->blocked_by = NULL;
    h->job = job;
    sd_ready_remove(s, &h->agent);
    job->waiting = h;
    sd_give_way(s, h);
    h->job = NULL;
    h->state = SD_GOES;
  }
  return s->verdict ? -1 : 0;
}

/* The host waits, or the end of its group does, or nobody. */
ncclResult_t sd_job_after(sd_host *h, sd_job *job, int blocking)
{
  if (!blocking) {
    if (h->group && h->group->depth > 0) h->group->in_progress = 1;
    return ncclInProgress;
  }
  if (h->group && h->group->depth > 0) {
    job->next = h->group->jobs;
    h->group->jobs = job;
    return ncclSuccess;
  }
  if (sd_job_wait(h, job)) return ncclSystemError;
  return job->comm->state;
}

/* ---- Operations put off ---------------------------------------------------------------------- */

/* The communicator is asked about: what it has put off is done. */
void sd_job_hurry(simdev *s, const sd_comm *comm)
{
  sd_job **p = &s->late_jobs;
  while (*p) {
    sd_job *job = *p;
    int mine = !comm;
    for (const sd_launch *l = job->launches; l; l = l->next) mine |= l->comm == comm;
    if (mine) {
      *p = job->next;
      sd_job_ready(s, job);
    } else p = &job->next;
  }
}

int sd_jobs_idle(simdev *s)
{
  if (!s->late_jobs) return 0;
  sd_job_hurry(s, NULL);
  return 1;
}

/* ---- Members that are gone, and what is left ------------------------------------------------- */

void sd_nccl_reset(simdev *s)
{
  s->comms = s->cliques = NULL;
  s->clique_count = 0;
  s->late_jobs = NULL;
}

void sd_job_deadlock(simdev *s, const sd_job *job)
{
  const sd_clique *c = job->parent ? job->parent->clique : job->comm->clique;
  for (int32_t i = 0; c && i < c->n; i++) {
    const sd_comm *m = c->member[i];
    if (!m) sd_append(s, "\n    member %d of %d has not come", i, c->n);
    else if (job->parent && m->splits < job->parent->splits)
      sd_append(s, "\n    rank %d (member %d) has not called ncclCommSplit", m->rank, i);
    else if (job->kind == SD_JOB_FINALIZE && !m->finalized)
      sd_append(s, "\n    rank %d (member %d) has not finalized%s", m->rank, i,
                m->aborted ? ": it has aborted" : "");
    else if (job->kind == SD_JOB_FINALIZE && m->outstanding > 0)
      sd_append(s, "\n    rank %d (member %d) has %d operations outstanding", m->rank, i,
                m->outstanding);
  }
}

int32_t sd_comm_leaks(simdev *s)
{
  for (const sd_comm *c = s->comms; c; c = c->next)
    if (c->mark == SD_MARK_COMM && !s->rank[c->rank].faulty)
      sd_note_leak(s, c->rank, "a communicator", c->call, &s->report.leaked_comms);
  return s->report.leaked_comms;
}

static int has_lost_a_member(const simdev *s, const sd_clique *c)
{
  for (int32_t i = 0; c && i < c->n; i++)
    if (c->member[i] && (c->member[i]->aborted || s->rank[c->member[i]->rank].dead)) return 1;
  return 0;
}

int sd_comm_idle(simdev *s)
{
  int told = 0;
  if (!s->remote) return 0;
  for (sd_comm *c = s->comms; c; c = c->next) {
    if (c->mark != SD_MARK_COMM || !has_lost_a_member(s, c->clique)) continue;
    if (c->state != ncclSuccess && c->state != ncclInProgress) continue;
    if (c->state == ncclSuccess && c->outstanding == 0) continue;
    c->state = ncclRemoteError;
    told = 1;
    for (int32_t i = 0; i < c->clique->n; i++) { /* a blocking call hears it too */
      sd_job *job = c->clique->job[i];
      if (job && job->comm == c && job->waiting) {
        job->waiting->state = SD_GOES;
        sd_ready_add(s, &job->waiting->agent);
        job->waiting = NULL;
      }
    }
  }
  return told;
}
