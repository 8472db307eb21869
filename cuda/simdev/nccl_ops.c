/* The operations of NCCL that the core calls: jobs, and the work left when nothing else can run. */
#include "nccl_parts.h"

static void run_job(simdev *s, sd_agent *a)
{
  sd_job *job = (sd_job *)a;
  sd_ready_remove(s, a);
  if (job->kind == SD_JOB_LAUNCH && sd_connects(s, job->launches)) {
    sd_job_connect(s, job);
    return;
  }
  job->done = 1;
  sd_progress(s);
  for (sd_launch *l = job->launches; l; l = l->next) {
    if (l->comm->state == ncclInProgress) l->comm->state = ncclSuccess;
    if (!l->comm->aborted) sd_launch_issue(s, l, job->sync);
  }
  if (job->comm && job->comm->state == ncclInProgress) job->comm->state = ncclSuccess;
  if (job->parent && job->parent->state == ncclInProgress) job->parent->state = ncclSuccess;
  sd_job_wake_host(s, job);
  sd_hosts_wake_polling(s, a->rank);
  if (job->kind != SD_JOB_LAUNCH) return; /* others refer to it */
  s->sched.agents--;
  sd_forget(s, job, sizeof *job);
}

static int run_deferred(simdev *s)
{
  if (!s->nccl_state->deferred_jobs) return 0;
  sd_job_release_deferred(s, NULL);
  return 1;
}

/* ---- Members that are gone ------------------------------------------------------------------- */

static int has_lost_a_member(const simdev *s, const sd_clique *c)
{
  for (int32_t i = 0; c && i < c->n; i++)
    if (c->member[i] && (c->member[i]->aborted || s->rank[c->member[i]->rank].process.dead))
      return 1;
  return 0;
}

/* The communicator's state becomes an error; a blocking call that waits for it returns. */
static void report_to(simdev *s, sd_comm *c)
{
  c->state = ncclRemoteError;
  sd_jobs_give_up(s, c);
  for (int32_t i = 0; i < c->clique->n; i++) {
    sd_job *job = c->clique->job[i];
    if (job && job->comm == c) sd_job_wake_host(s, job);
  }
}

static int report_lost_members(simdev *s)
{
  int reported = 0;
  if (!s->choice.remote) return 0;
  for (sd_comm *c = s->nccl_state->comms; c; c = c->next) {
    if (c->mark != SD_MARK_COMM || !has_lost_a_member(s, c->clique)) continue;
    if (c->state != ncclSuccess && c->state != ncclInProgress) continue;
    if (c->state == ncclSuccess && c->outstanding == 0) continue;
    report_to(s, c);
    reported = 1;
  }
  return reported;
}

/* ---- The end of a run ------------------------------------------------------------------------ */

static int group_is_open(const sd_host *h)
{
  return h->group && h->group->depth > 0;
}

static void note_leaks(simdev *s)
{
  for (const sd_comm *c = s->nccl_state->comms; c; c = c->next)
    if (c->mark == SD_MARK_COMM && !s->rank[c->rank].process.faulty)
      sd_note_leak(s, c->rank, "a communicator", c->call, &s->found.report.leaked_comms);
}

const sd_nccl_ops sd_nccl_ops_table = {
    .is_ready = sd_launch_is_ready,
    .step = sd_launch_step,
    .uses = sd_launch_uses,
    .is_first = sd_launch_is_first,
    .run_job = run_job,
    .run_deferred = run_deferred,
    .report_lost_members = report_lost_members,
    .group_is_open = group_is_open,
    .item_text = sd_launch_text,
    .append_missing = sd_launch_append_missing,
    .append_job = sd_job_append_missing,
    .append_connecting = sd_jobs_append_connecting,
    .note_leaks = note_leaks,
};
