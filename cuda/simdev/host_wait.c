/* Hosts that block and poll, and what wakes them. */
#include "state.h"

int sd_host_block_on(sd_host *h, sd_item *item)
{
  simdev *s = sd_now;
  if (item) sd_item_refer(s, &h->held, item);
  if (item && !item->done) {
    h->state = SD_HOST_BLOCKED;
    h->blocked_by = item;
    sd_ready_remove(s, &h->agent);
    sd_waiters_add(item, &h->agent);
    sd_host_yield(s, h);
    h->state = SD_HOST_RUNNABLE;
  }
  return s->found.verdict || (item && !item->done) ? -1 : 0;
}

cudaError_t sd_host_wait_for_idle(sd_host *h)
{
  cudaError_t e = cudaSuccess;
  h->for_idle = 1;
  for (sd_stream *st = sd_now->rank[h->agent.rank].streams.all; st && !e; st = st->next)
    if (st->device == h->device && st->last && sd_host_block_on(h, st->last)) e = sd_wait_error(h);
  h->for_idle = 0;
  return e;
}

cudaError_t sd_wait_error(const sd_host *h)
{
  const cudaError_t sticky = sd_now->rank[h->agent.rank].process.sticky;
  return sticky ? sticky : cudaErrorUnknown;
}

/* The host sleeps until the item has ended or no other agent can run. One time in eight it stays
 * ready, so that polling is simulated at any moment. */
void sd_host_park(sd_host *h, sd_item *item)
{
  simdev *s = sd_now;
  if (s->found.verdict) return;
  if (sd_below(s, 8) != 0) {
    h->state = SD_HOST_POLLING;
    sd_ready_remove(s, &h->agent);
    if (item && !item->done) sd_waiters_add(item, &h->agent);
  }
  sd_agent_lower(s, &h->agent);
  sd_host_yield(s, h);
  h->state = SD_HOST_RUNNABLE;
}

void sd_host_wake(simdev *s, sd_host *h)
{
  h->state = SD_HOST_RUNNABLE;
  sd_ready_add(s, &h->agent);
}

void sd_hosts_wake_polling(simdev *s, int32_t rank)
{
  for (int32_t i = 0; i < s->hosts.n; i++) {
    sd_host *h = s->hosts.list[i];
    if (h->state != SD_HOST_POLLING || (rank >= 0 && h->agent.rank != rank)) continue;
    sd_waiters_leave(&h->agent);
    sd_host_wake(s, h);
  }
}

/* The rank's streams do not run any more. Hosts that wait for an item wake with the error. */
void sd_context_lost(simdev *s, int32_t rank, cudaError_t e)
{
  sd_rank *r = &s->rank[rank];
  r->process.sticky = e;
  r->process.lost = 1;
  for (sd_stream *st = r->streams.all; st; st = st->next) sd_ready_remove(s, &st->agent);
  for (int32_t i = 0; i < s->hosts.n; i++) {
    sd_host *h = s->hosts.list[i];
    if (h->agent.rank != rank || h->state != SD_HOST_BLOCKED || !h->agent.waits_for) continue;
    sd_waiters_leave(&h->agent);
    sd_host_wake(s, h);
  }
  sd_hosts_wake_polling(s, rank);
}
