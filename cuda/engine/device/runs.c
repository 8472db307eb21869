#include "runs.h"

void zp_cuda_lay_runs(zp_memory_runs *runs)
{
  runs->tiles = zp_runs_lay(runs->here, runs->n);
}

static zp_piece next_padded_piece(const zp_cuda_plan *plan, int32_t k, zp_range p, int32_t i)
{
  return zp_piece_next(&plan->block.cfg, &plan->lay, k, p, i);
}

zp_piece zp_cuda_next_piece(const zp_cuda_plan *plan, int32_t k, zp_range p, int32_t i)
{
  for (;;) {
    zp_piece g = next_padded_piece(plan, k, p, i);
    if (g.count == 0) return g;
    i = g.i;
    g.count = zp_block_own(&plan->block, g.param, g.offset, g.count);
    if (g.count > 0) return g;
  }
}

/* Where the runs of a range come from, and what they are for. */
typedef struct source {
  zp_piece (*next)(const zp_cuda_plan *plan, int32_t k, zp_range p, int32_t i);
  const uint8_t *only;
  zp_cuda_put_run put;
  const void *ctx;
} source;

static int32_t fill_runs(const zp_cuda_plan *plan, int32_t k, zp_range p, int32_t *i,
                         const source *from, zp_memory_runs *runs)
{
  *runs = (zp_memory_runs){0};
  while (runs->n < ZP_RUNS_HERE) {
    const zp_piece g = from->next(plan, k, p, *i);
    if (g.count == 0) break;
    *i = g.i;
    if (from->only && !from->only[g.i]) continue;
    runs->here[runs->n].count = g.count;
    from->put(from->ctx, g, &runs->here[runs->n++]);
  }
  zp_cuda_lay_runs(runs);
  return runs->n;
}

int32_t zp_cuda_next_runs(const zp_cuda_plan *plan, int32_t k, zp_range p, int32_t *i,
                          const uint8_t *only, zp_cuda_put_run put, const void *ctx,
                          zp_memory_runs *runs)
{
  const source from = {zp_cuda_next_piece, only, put, ctx};
  return fill_runs(plan, k, p, i, &from, runs);
}

int32_t zp_cuda_next_padded_runs(const zp_cuda_plan *plan, int32_t k, zp_range p, int32_t *i,
                                 const uint8_t *only, zp_cuda_put_run put, const void *ctx,
                                 zp_memory_runs *runs)
{
  const source from = {next_padded_piece, only, put, ctx};
  return fill_runs(plan, k, p, i, &from, runs);
}
