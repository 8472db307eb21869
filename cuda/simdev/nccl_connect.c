/* Lazy connections. NCCL connects members when they first need it: for the first collective of an
 * algorithm and for the first message of a pair, the host waits for the hosts of its peers before
 * it puts the operation on its stream. simdev has it wait at the first collective of each kind. */
#include "nccl_parts.h"

/* A peer that has not called the operation: its index, or -1. */
static int32_t missing_peer(const sd_op *op)
{
  if (!op->connects) return -1;
  if (op->kind >= SD_SEND) return op->partner ? -1 : op->peer;
  for (int32_t i = 0; i < op->comm->clique->n; i++)
    if (!op->coll->op[i]) return i;
  return -1;
}

static int is_connected(const sd_launch *list)
{
  for (const sd_launch *l = list; l; l = l->next)
    for (const sd_op *op = l->ops; op; op = op->next)
      if (missing_peer(op) >= 0) return 0;
  return 1;
}

int sd_connects(simdev *s, const sd_launch *list)
{
  return s->choice.connect && !is_connected(list);
}

void sd_job_connect(simdev *s, sd_job *job)
{
  job->next = s->nccl_state->connecting_jobs;
  s->nccl_state->connecting_jobs = job;
}

void sd_jobs_connected(simdev *s)
{
  sd_job **p = &s->nccl_state->connecting_jobs;
  while (*p) {
    sd_job *job = *p;
    if (is_connected(job->launches)) {
      *p = job->next;
      sd_job_ready(s, job);
    } else p = &job->next;
  }
}

static int uses(const sd_job *job, const sd_comm *comm)
{
  const sd_launch *l = job->launches;
  while (l && l->comm != comm) l = l->next;
  return l != NULL;
}

void sd_jobs_give_up(simdev *s, const sd_comm *comm)
{
  sd_job **p = &s->nccl_state->connecting_jobs;
  while (*p) {
    sd_job *job = *p;
    if (uses(job, comm)) {
      *p = job->next;
      sd_job_wake_host(s, job);
    } else p = &job->next;
  }
}

void sd_jobs_append_connecting(simdev *s)
{
  char text[128], name[48];
  for (const sd_job *job = s->nccl_state->connecting_jobs; job; job = job->next)
    for (const sd_launch *l = job->launches; l; l = l->next)
      for (const sd_op *op = l->ops; op; op = op->next) {
        if (missing_peer(op) < 0) continue;
        sd_op_text(op, text, sizeof text);
        sd_append(s, "\n  rank %d, call %d (%s) of communicator %s connects first", op->comm->rank,
                  op->call, text, sd_comm_name(op->comm, name, sizeof name));
        sd_op_append_uncalled(s, op);
      }
}
