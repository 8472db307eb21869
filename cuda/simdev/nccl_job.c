/* Jobs: the work that NCCL does after a non-blocking call has returned, or that a blocking call
 * waits for. */
#include "nccl_parts.h"

sd_job *sd_job_make(sd_host *h, sd_job_kind kind, sd_comm *comm)
{
  simdev *s = sd_now;
  sd_job *job = sd_buffer_zeroed(&s->arena, sizeof *job);
  if (job) job->sync = sd_sync_new(&s->arena);
  if (!job || !job->sync || sd_agent_make(s, &job->agent, SD_JOB, h->agent.rank)) return NULL;
  job->kind = kind;
  job->comm = comm;
  job->call = h->call;
  job->agent.issue = sd_next_turn(s);
  sd_race_publish(job->sync);
  return job;
}

void sd_job_ready(simdev *s, sd_job *job)
{
  if (job && !job->done) sd_ready_add(s, &job->agent);
}

int sd_job_wait(sd_host *h, sd_job *job)
{
  simdev *s = sd_now;
  if (!job->done && !s->found.verdict) {
    h->state = SD_HOST_BLOCKED;
    h->blocked_by = NULL;
    h->job = job;
    sd_ready_remove(s, &h->agent);
    job->waiting = h;
    sd_host_yield(s, h);
    h->job = NULL;
    h->state = SD_HOST_RUNNABLE;
  }
  return s->found.verdict ? -1 : 0;
}

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

void sd_job_wake_host(simdev *s, sd_job *job)
{
  if (!job->waiting) return;
  sd_host_wake(s, job->waiting);
  job->waiting = NULL;
}

void sd_job_release_deferred(simdev *s, const sd_comm *comm)
{
  sd_job **p = &s->nccl_state->deferred_jobs;
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

/* A process with several members may end them one by one. */
void sd_finalize_check(simdev *s, sd_clique *c)
{
  for (int32_t i = 0; i < c->n; i++) {
    int waits = !c->member[i] || !c->member[i]->finalized || c->member[i]->outstanding > 0;
    for (int32_t j = 0; j < c->n && !waits; j++)
      waits = c->member[j]->rank != c->member[i]->rank &&
              (!c->member[j]->finalized || c->member[j]->outstanding > 0);
    if (!waits) sd_job_ready(s, c->job[i]);
  }
}
