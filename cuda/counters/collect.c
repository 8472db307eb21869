/* Adds up what all ranks measured and what simdev recorded. */
#include <stdlib.h>
#include <string.h>

#include "../simdev/accesses/accesses.h"
#include "run.h"

/* ---- Items ----------------------------------------------------------------------------------- */

static void add_bytes(zp_count_bytes *to, const simdev_access_bytes *b)
{
  to->device_read += b->bytes[SIMDEV_IN_DEVICE][SIMDEV_READ];
  to->device_written += b->bytes[SIMDEV_IN_DEVICE][SIMDEV_WRITTEN];
  to->pinned_read += b->bytes[SIMDEV_IN_PINNED][SIMDEV_READ];
  to->pinned_written += b->bytes[SIMDEV_IN_PINNED][SIMDEV_WRITTEN];
}

/* The use of an item of the counted step; -1: another item. */
static int32_t use_of(const simdev_record *item)
{
  const int64_t first = zp_counted_tag(ZP_COUNTED_STEPS - 1, 0);
  const int64_t use = item->tag - first;
  return use >= 0 && use < ZP_COUNT_USES ? (int32_t)use : -1;
}

/* Launches and communications of one rank. */
static void count_item(zp_counters *c, const simdev_record *item, int32_t use)
{
  zp_count_launches *l = &c->launches[use];
  switch (item->kind) {
  case SIMDEV_KERNEL: l->kernels++; break;
  case SIMDEV_COPY: l->copies++; break;
  case SIMDEV_SET: l->memsets++; break;
  case SIMDEV_WORD: c->words++; break;
  case SIMDEV_COMM: c->communications++; break;
  default: break;
  }
}

static void add_items(const zp_counted_run *r, zp_counters *c)
{
  int64_t n;
  const simdev_record *item = simdev_records(r->sim, &n);
  for (int64_t i = 0; i < n; i++) {
    const int32_t use = use_of(&item[i]);
    const simdev_access_bytes b = simdev_accesses_of(item[i].issue);
    if (use >= 0) add_bytes(item[i].kind == SIMDEV_COMM ? &c->nccl : &c->bytes[use], &b);
  }
}

static void count_launches(const zp_counted_run *r, int32_t rank, zp_counters *c)
{
  int64_t n;
  const simdev_record *item = simdev_records(r->sim, &n);
  for (int64_t i = 0; i < n; i++) {
    const int32_t use = use_of(&item[i]);
    if (use >= 0 && item[i].rank == rank) count_item(c, &item[i], use);
  }
}

/* The rank with the most launches of its own, the lowest of several. */
static void add_launches(const zp_counted_run *r, zp_counters *c)
{
  int64_t most = -1;
  for (int32_t k = 0; k < r->world; k++) {
    zp_counters one = {0};
    count_launches(r, k, &one);
    if (zp_counters_own_launches(&one) <= most) continue;
    most = zp_counters_own_launches(&one);
    c->rank = k;
    c->words = one.words;
    c->communications = one.communications;
    memcpy(c->launches, one.launches, sizeof c->launches);
  }
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static void add_memory(zp_counters *c, const char *name, int64_t planned, int64_t allocated)
{
  int32_t i = 0;
  while (i < c->memories && strcmp(c->memory[i].name, name) != 0) i++;
  if (i == c->memories) c->memory[c->memories++] = (zp_count_memory){name, 0, 0};
  if (planned < 0 || c->memory[i].planned < 0) c->memory[i].planned = -1;
  else c->memory[i].planned += planned;
  c->memory[i].allocated += allocated;
}

static void add_memories(const zp_counted_rank *w, zp_counters *c)
{
  const zp_memory *p = &w->planned, *a = &w->allocated.planned;
  const int32_t offload = w->run->job->offload;
  /* sums over tied stages, replicas and tp need more, which is not planned */
  const int64_t more = w->further_sums > 0 ? -1 : w->run->job->native ? w->device.native : 0;
  add_memory(c, "parameters", p->params, a->params);
  add_memory(c, "window", p->window, a->window);
  add_memory(c, "bucket slots", p->slots, a->slots);
  add_memory(c, "reduced sums", p->reduced, a->reduced);
  add_memory(c, "mean gradient", p->mean, a->mean);
  add_memory(c, "masters and moments", offload ? 0 : p->state, a->state);
  add_memory(c, "scratch of one bucket", p->scratch - w->device.limbs, a->scratch);
  add_memory(c, "staged gradients", w->device.early, w->allocated.staging);
  add_memory(c, "messages", -1, w->allocated.messages);
  add_memory(c, "more scratch", more, w->allocated.sums);
  add_memory(c, "state of the step", -1, w->allocated.state);
  add_memory(c, "landing", -1, w->allocated.landing);
  c->host_allocated += w->allocated.host + w->allocated.words;
  c->device += (int64_t)(w->after.device - w->before.device);
  c->device_peak += (int64_t)(w->after.device_peak - w->before.device);
  c->pinned += (int64_t)(w->after.pinned - w->before.pinned);
  c->pinned_peak += (int64_t)(w->after.pinned_peak - w->before.pinned);
}

/* What the rank uses beyond its goal. */
static double beyond(const zp_count_goal *g)
{
  return (double)(g->used - g->allowance) - g->bytes;
}

/* ---- All ------------------------------------------------------------------------------------- */

static void collect(const zp_counted_run *r, zp_counters *c)
{
  *c = (zp_counters){.world = r->world, .ideal = zp_counters_ideal(r->job)};
  add_items(r, c);
  add_launches(r, c);
  for (int32_t k = 0; k < r->world; k++) {
    const zp_counted_rank *w = &r->rank[k];
    c->params += w->params;
    c->wire += w->wire;
    c->created += w->created;
    add_memories(w, c);
    if (k == 0 || beyond(&w->goal) > beyond(&c->goal)) c->goal = w->goal;
  }
  c->buckets = r->rank[c->rank].buckets;
  c->further_sums = r->rank[c->rank].further_sums;
  c->host = r->rank[c->rank].host;
  c->calls = r->rank[c->rank].calls;
  memcpy(c->call, r->rank[c->rank].call, sizeof c->call);
}

int zp_cuda_counters(const zp_counters_job *job, zp_counters *counted, zp_error *err)
{
  zp_counted_run r;
  const int failed = zp_counted_run_open(&r, job, err);
  if (!failed) collect(&r, counted);
  zp_counted_run_close(&r);
  simdev_accesses_close();
  return failed;
}
