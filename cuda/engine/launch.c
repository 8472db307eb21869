/* Launches, waits and records, and the runs of memory that kernels are given. spec: PART-9 */
#include "engine_internal.h"

int zp_cuda_launch(zp_cuda *e, const void *kernel, zp_launch l, void *params, cudaStream_t stream)
{
  void *args[] = {params};
  if (l.grid == 0) return 0;
  ZP_CUDA(e, cudaLaunchKernel(kernel, (dim3){l.grid, 1, 1}, (dim3){l.block, 1, 1}, args, l.shared,
                              stream));
  return 0;
}

int zp_cuda_wait(zp_cuda *e, int32_t site, cudaStream_t stream, cudaEvent_t event)
{
  if (e->opt.fault && zp_cuda_left_out(e, site)) return 0;
  ZP_CUDA(e, cudaStreamWaitEvent(stream, event, 0));
  if (e->opt.synced) e->opt.synced(e->opt.issued_ctx, site, event, 0);
  return 0;
}

int zp_cuda_record(zp_cuda *e, int32_t site, cudaEvent_t event, cudaStream_t stream)
{
  if (e->opt.fault && zp_cuda_left_out(e, site)) return 0;
  ZP_CUDA(e, cudaEventRecord(event, stream));
  if (e->opt.synced) e->opt.synced(e->opt.issued_ctx, site, event, 0);
  return 0;
}

void zp_cuda_lay(zp_memory_runs *runs)
{
  runs->tiles = zp_runs_lay(runs->here, runs->n);
}

int32_t zp_cuda_runs(const zp_cuda *e, int32_t k, zp_range p, int32_t *i, const uint8_t *only,
                     zp_cuda_put put, void *ctx, zp_memory_runs *runs)
{
  *runs = (zp_memory_runs){0};
  while (runs->n < ZP_RUNS_HERE) {
    const zp_piece g = zp_piece_next(e->cfg, &e->lay, k, p, *i);
    if (g.count == 0) break;
    *i = g.i;
    if (only && !only[g.i]) continue;
    runs->here[runs->n].count = g.count;
    put(e, ctx, g, &runs->here[runs->n++]);
  }
  zp_cuda_lay(runs);
  return runs->n;
}

int64_t zp_cuda_size(const zp_cuda *e)
{
  return zp_dtype_bytes(e->cfg->precision);
}

char *zp_cuda_sum(const zp_cuda *e, void *sums, int64_t at)
{
  return (char *)sums + at * zp_sum_bytes(e->cfg->reduce);
}
