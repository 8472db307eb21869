#include "counters.h"

const char *zp_count_use_name(int32_t use)
{
  static const char *const names[ZP_COUNT_USES] = {"staged", "copied",     "add",    "reduce",
                                                   "mean",   "statistics", "decide", "update",
                                                   "gather", "other"};
  return names[use];
}

const char *zp_counters_gradients(int32_t dtype, int32_t in_place)
{
  static const char *const names[2][3] = {{"fp32", "bf16", "fp16"},
                                          {"fp32-in-place", "bf16-in-place", "fp16-in-place"}};
  return names[in_place][dtype];
}

const char *zp_counters_sums(const zp_config *cfg, int32_t native)
{
  return cfg->reduce == ZP_EXACT ? "exact" : native ? "native" : "ordered";
}

int64_t zp_counters_own_bytes(const zp_counters *c)
{
  int64_t bytes = 0;
  for (int32_t u = ZP_COUNT_OWN; u < ZP_COUNT_USES; u++)
    bytes += c->bytes[u].device_read + c->bytes[u].device_written;
  return bytes;
}

int64_t zp_counters_own_launches(const zp_counters *c)
{
  int64_t n = 0;
  for (int32_t u = ZP_COUNT_OWN_LAUNCHES; u < ZP_COUNT_USES; u++)
    n += c->launches[u].kernels + c->launches[u].copies + c->launches[u].memsets;
  return n;
}

double zp_counters_ratio(const zp_counters *c)
{
  if (c->ideal <= 0 || c->params == 0) return -1;
  return (double)zp_counters_own_bytes(c) / (c->ideal * (double)c->params);
}

int64_t zp_counters_launches_of_further_sum(const zp_config *cfg, int32_t native)
{
  if (cfg->reduce == ZP_EXACT) return cfg->stage == 2 ? 2 : 1;
  return native ? 0 : 1;
}

int64_t zp_counters_launch_bound(const zp_counters *c, const zp_config *cfg, int32_t native,
                                 int32_t offload)
{
  return 2 * c->buckets + 2 * cfg->micro_batches * c->buckets + 10 + (offload ? c->buckets : 0) +
         zp_counters_launches_of_further_sum(cfg, native) * c->further_sums;
}

zp_count_verdict zp_counters_goal_verdict(const zp_count_goal *g)
{
  if (!g->known) return ZP_COUNT_NO_GOAL;
  return (double)(g->used - g->allowance) <= g->bytes ? ZP_COUNT_WITHIN : ZP_COUNT_EXCEEDS;
}

int32_t zp_counters_memory_agrees(const zp_counters *c)
{
  int64_t device = 0;
  for (int32_t i = 0; i < c->memories; i++) {
    const zp_count_memory *m = &c->memory[i];
    if (m->planned >= 0 && m->planned != m->allocated) return 0;
    device += m->allocated;
  }
  return device == c->device && device == c->device_peak && c->host_allocated == c->pinned &&
         c->host_allocated == c->pinned_peak;
}
