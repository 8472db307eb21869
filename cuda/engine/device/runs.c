#include "runs.h"

void zp_cuda_lay_runs(zp_memory_runs *runs)
{
  runs->tiles = zp_runs_lay(runs->here, runs->n);
}

int32_t zp_cuda_next_runs(const zp_cuda_plan *plan, int32_t k, zp_range p, int32_t *i,
                          const uint8_t *only, zp_cuda_put_run put, const void *ctx,
                          zp_memory_runs *runs)
{
  *runs = (zp_memory_runs){0};
  while (runs->n < ZP_RUNS_HERE) {
    const zp_piece g = zp_piece_next(plan->cfg, &plan->lay, k, p, *i);
    if (g.count == 0) break;
    *i = g.i;
    if (only && !only[g.i]) continue;
    runs->here[runs->n].count = g.count;
    put(ctx, g, &runs->here[runs->n++]);
  }
  zp_cuda_lay_runs(runs);
  return runs->n;
}
