/* Injected faults. */
#include "state.h"

/* 1: the rank's current call is the one that the fault names. */
static int hits(simdev *s, sd_host *h, int32_t i)
{
  const simdev_fault *f = &s->opt.faults[i];
  const int32_t rank = h->agent.rank;
  if (f->rank >= 0 && f->rank != rank) return 0;
  if (!f->call) return h->call == f->n;
  if (strcmp(f->call, h->call_name) != 0) return 0;
  return ++s->fault.seen[(int64_t)i * s->ranks + rank] == f->n;
}

sd_fault_effect sd_fault_call(simdev *s, sd_host *h, cudaError_t *e)
{
  for (int32_t i = 0; i < s->opt.fault_count; i++) {
    const simdev_fault_kind kind = s->opt.faults[i].kind;
    if (kind == SIMDEV_FAULT_SLOW_HOST)
      if (s->opt.faults[i].rank < 0 || s->opt.faults[i].rank == h->agent.rank) h->agent.slow = 1;
    if (kind != SIMDEV_FAULT_ERROR && kind != SIMDEV_FAULT_STOP && kind != SIMDEV_FAULT_DIE)
      continue;
    if (!hits(s, h, i)) continue;
    s->rank[h->agent.rank].process.faulty = 1;
    if (kind == SIMDEV_FAULT_ERROR) {
      *e = (cudaError_t)s->opt.faults[i].error;
      return SD_FAULT_RETURNS;
    }
    if (kind == SIMDEV_FAULT_DIE) {
      s->rank[h->agent.rank].process.dead = 1;
      for (sd_stream *st = s->rank[h->agent.rank].streams.all; st; st = st->next)
        sd_ready_remove(s, &st->agent);
    }
    return SD_FAULT_STOPS;
  }
  return SD_FAULT_NONE;
}

int simdev_gone(int32_t rank)
{
  const simdev *s = sd_now;
  return s && rank >= 0 && rank < s->ranks && s->rank[rank].process.dead;
}

int sd_fault_drops(simdev *s, int32_t rank, int32_t n)
{
  for (int32_t i = 0; i < s->opt.fault_count; i++) {
    const simdev_fault *f = &s->opt.faults[i];
    if (f->kind == SIMDEV_FAULT_DROP_SYNC && (f->rank < 0 || f->rank == rank) && f->n == n)
      return 1;
  }
  return 0;
}

void sd_fault_stream(simdev *s, sd_stream *st)
{
  for (int32_t i = 0; i < s->opt.fault_count; i++) {
    const simdev_fault *f = &s->opt.faults[i];
    if (f->kind == SIMDEV_FAULT_SLOW_STREAM && (f->rank < 0 || f->rank == st->agent.rank) &&
        f->n == st->id) {
      st->agent.slow = 1;
      st->agent.priority = 1;
    }
  }
}

/* Counts the rank's items as they run. */
cudaError_t sd_fault_item(simdev *s, const sd_item *item)
{
  const int32_t rank = item->stream->agent.rank, n = ++s->rank[rank].items;
  for (int32_t i = 0; i < s->opt.fault_count; i++) {
    const simdev_fault *f = &s->opt.faults[i];
    if (f->kind == SIMDEV_FAULT_ITEM && (f->rank < 0 || f->rank == rank) && f->n == n)
      return (cudaError_t)f->error;
  }
  return cudaSuccess;
}
