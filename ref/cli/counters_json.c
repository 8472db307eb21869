/* `zeroproof counters --json`. */
#include "counters.h"

static json_t *json_bytes(const zp_count_bytes *b)
{
  return json_pack("{s:I,s:I,s:I,s:I}", "device_read", (json_int_t)b->device_read, "device_written",
                   (json_int_t)b->device_written, "pinned_read", (json_int_t)b->pinned_read,
                   "pinned_written", (json_int_t)b->pinned_written);
}

static json_t *json_launches(const zp_count_launches *l)
{
  return json_pack("{s:I,s:I,s:I}", "kernels", (json_int_t)l->kernels, "copies",
                   (json_int_t)l->copies, "memsets", (json_int_t)l->memsets);
}

static json_t *json_traffic(const zp_counters_row *r)
{
  const zp_counters *c = &r->counted;
  const double ratio = zp_counters_ratio(&r->counted);
  json_t *j = json_object(), *by = json_object();
  for (int32_t u = 0; u < ZP_COUNT_USES; u++)
    json_object_set_new(by, zp_count_use_name(u), json_bytes(&c->bytes[u]));
  json_object_set_new(j, "own_bytes", json_integer(zp_counters_own_bytes(c)));
  json_object_set_new(j, "ideal", c->ideal < 0 ? json_null() : json_real(c->ideal));
  json_object_set_new(j, "ratio", ratio < 0 ? json_null() : json_real(ratio));
  json_object_set_new(j, "by_use", by);
  json_object_set_new(j, "nccl_buffers", json_bytes(&c->nccl));
  json_object_set_new(j, "sent_bytes", json_integer(c->wire));
  return j;
}

static json_t *json_all_launches(const zp_counters_row *r)
{
  const zp_counters *c = &r->counted;
  json_t *by = json_object();
  for (int32_t u = 0; u < ZP_COUNT_USES; u++)
    json_object_set_new(by, zp_count_use_name(u), json_launches(&c->launches[u]));
  return json_pack("{s:I,s:I,s:I,s:o,s:I,s:I}", "own", (json_int_t)zp_counters_own_launches(c),
                   "bound", (json_int_t)zp_counters_launch_bound(c, &r->cfg, r->native, r->offload),
                   "further_sums", (json_int_t)c->further_sums, "by_use", by, "communications",
                   (json_int_t)c->communications, "words", (json_int_t)c->words);
}

static json_t *json_host(const zp_counters *c)
{
  const zp_count_host *h = &c->host;
  json_t *calls = json_object();
  for (int32_t i = 0; i < c->calls; i++)
    json_object_set_new(calls, c->call[i].name, json_integer(c->call[i].calls));
  return json_pack("{s:I,s:{s:I,s:I},s:{s:I,s:I},s:{s:I,s:I},s:o,s:I}", "announcements",
                   (json_int_t)h->announcements, "announcement_most", "calls",
                   (json_int_t)h->most_calls, "locks", (json_int_t)h->most_locks,
                   "announcements_all", "calls", (json_int_t)h->announced_calls, "locks",
                   (json_int_t)h->announced_locks, "step", "calls", (json_int_t)h->step_calls,
                   "locks", (json_int_t)h->step_locks, "calls_by_name", calls,
                   "created_after_first_step", (json_int_t)c->created);
}

static json_t *json_goal(const zp_count_goal *g)
{
  static const char *const names[] = {"within", "exceeds"};
  const zp_count_verdict verdict = zp_counters_goal_verdict(g);
  if (verdict == ZP_COUNT_NO_GOAL) return json_null();
  return json_pack("{s:i,s:f,s:f,s:I,s:I,s:s}", "rank", (int)g->rank, "parameters", g->params,
                   "bytes", g->bytes, "b", (json_int_t)g->allowance, "used", (json_int_t)g->used,
                   "verdict", names[verdict]);
}

static json_t *json_memory(const zp_counters *c)
{
  json_t *by = json_object();
  for (int32_t i = 0; i < c->memories; i++) {
    const zp_count_memory *m = &c->memory[i];
    json_object_set_new(by, m->name,
                        json_pack("{s:o,s:I}", "planned",
                                  m->planned < 0 ? json_null() : json_integer(m->planned),
                                  "allocated", (json_int_t)m->allocated));
  }
  return json_pack("{s:o,s:I,s:I,s:I,s:I,s:I,s:b,s:o}", "by_use", by, "device",
                   (json_int_t)c->device, "device_peak", (json_int_t)c->device_peak,
                   "pinned_by_engine", (json_int_t)c->host_allocated, "pinned",
                   (json_int_t)c->pinned, "pinned_peak", (json_int_t)c->pinned_peak, "agrees",
                   zp_counters_memory_agrees(c), "goal", json_goal(&c->goal));
}

json_t *zp_counters_json(const zp_counters_row *r)
{
  const zp_config *cfg = &r->cfg;
  const zp_counters *c = &r->counted;
  return json_pack("{s:s,s:s,s:i,s:I,s:i,s:i,s:i,s:i,s:b,s:i,s:i,s:I,s:I,s:o,s:o,s:o,s:o}", "sums",
                   zp_counters_sums(&r->cfg, r->native), "gradients",
                   zp_counters_gradients(r->gradients, r->in_place), "stage", (int)cfg->stage,
                   "micro_batches", (json_int_t)cfg->micro_batches, "pp", (int)cfg->pp, "dp",
                   (int)cfg->dp, "tp", (int)cfg->tp, "ep", (int)cfg->ep, "offload", (int)r->offload,
                   "ranks", (int)c->world, "rank", (int)c->rank, "parameters",
                   (json_int_t)c->params, "buckets", (json_int_t)c->buckets, "traffic",
                   json_traffic(r), "launches", json_all_launches(r), "host", json_host(c),
                   "memory", json_memory(c));
}
