/* The shard map: which elements of which entry a rank owns. */
#include "plan.h"

int32_t zp_plan_owner(const zp_config *cfg, const zp_plan_rank *p, int32_t k)
{
  return zp_group_index(cfg, p->lay.flat[k].group, -1, p->at);
}

/* Backward order is the reverse of the list, so starts ascend as i falls. spec: PART-2, PART-6 */
void zp_plan_runs(const zp_config *cfg, const zp_plan_rank *p, int32_t k,
                  void (*take)(void *ctx, const zp_plan_run *run), void *ctx)
{
  const zp_flat *f = &p->lay.flat[k];
  const int32_t owner = zp_plan_owner(cfg, p, k);
  const int64_t buckets = zp_buckets(f);
  int32_t i = p->lay.n_params - 1;
  for (int64_t b = 0; b < buckets; b++) {
    const int64_t part = zp_part(f, b), first = b * f->capacity + owner * part;
    const int64_t end = first + part < f->numel ? first + part : f->numel;
    int64_t e = first;
    while (e < end) {
      const zp_spot *s = &p->lay.spot[i];
      const int32_t j = p->lay.first_param + i;
      const int64_t last = s->start + cfg->params[j].numel;
      if (s->flat != k || last <= e) {
        i--;
        continue;
      }
      const int64_t stop = last < end ? last : end;
      const zp_plan_run run = {j, e - s->start, stop - e, b, zp_shard_offset(f, b) + e - first};
      take(ctx, &run);
      e = stop;
    }
  }
}
