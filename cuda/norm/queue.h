/* The launches of norm.h, for a device and for simdev. */
#ifndef ZP_CUDA_NORM_QUEUE_H
#define ZP_CUDA_NORM_QUEUE_H
#include <cuda_runtime_api.h>
#include <string.h>

#include "norm.h"

static inline int32_t norm_launch(const void *kernel, zp_launch l, void *params, void *stream)
{
  void *arguments[] = {params};
  const dim3 grid = {l.grid, 1, 1}, block = {l.block, 1, 1};
  if (l.grid == 0) return 0;
  return (int32_t)cudaLaunchKernel(kernel, grid, block, arguments, l.shared, (cudaStream_t)stream);
}

static inline int32_t norm_queue_squares(void *stream, int32_t dtype, const zp_memory_run *run,
                                         const zp_memory_run *table, int32_t n, int64_t *words)
{
  zp_squares_params p;
  zp_count_nan_params c;
  int32_t error;
  if ((dtype != ZP_F32 && dtype != ZP_BF16 && dtype != ZP_F16) || n < 0 || !words ||
      (n > ZP_RUNS_HERE && !table))
    return -1;
  if (n == 0) return 0;
  memset(&p, 0, sizeof p);
  memset(&c, 0, sizeof c);
  p.runs.n = n;
  p.runs.tiles = run[n - 1].first_tile + (run[n - 1].count + ZP_TILE - 1) / ZP_TILE;
  if (n > ZP_RUNS_HERE) p.runs.table = table;
  else memcpy(p.runs.here, run, (size_t)n * sizeof *run);
  p.dtype = c.dtype = dtype;
  p.lanes = zp_squares_lanes(run, n);
  p.tally = (zp_tally *)(void *)words; /* it begins with the limbs */
  p.nonfinite = words + ZP_NORM_NONFINITE;
  c.nonfinite = p.nonfinite;
  c.nan = words + ZP_NORM_NAN;
  c.runs = p.runs;
  error = norm_launch(zp_kernel_squares, zp_launch_squares(run, n), &p, stream);
  if (error) return error;
  return norm_launch(zp_kernel_count_nan, zp_launch_runs(run, n), &c, stream);
}

static inline int32_t norm_queue_root(void *stream, int64_t *words, void *norm, int32_t bytes)
{
  zp_root_params p;
  if (!words || (norm && bytes != 4 && bytes != 8)) return -1;
  memset(&p, 0, sizeof p);
  p.words = words;
  p.norm = norm;
  p.bytes = bytes;
  return norm_launch(zp_kernel_root, zp_launch_one(), &p, stream);
}

/* The most blocks of threads; a test has fewer, so that one processes several chunks. */
#ifndef ZP_NORM_PRINT_GRID
#define ZP_NORM_PRINT_GRID ZP_GRID_MAX
#endif

static inline int32_t norm_queue_fingerprint(void *stream, const void *x, int64_t bytes,
                                             uint64_t at, int64_t *sum)
{
  zp_fingerprint_params p;
  zp_launch l;
  const int64_t chunks = bytes / ZP_NORM_PRINT_CHUNK + 2;
  if (bytes < 0 || (bytes > 0 && !x) || !sum) return -1;
  if (bytes == 0) return 0;
  memset(&p, 0, sizeof p);
  p.x = (const unsigned char *)x;
  p.bytes = bytes;
  p.at = at;
  p.sum = sum;
  l.grid = (uint32_t)(chunks < ZP_NORM_PRINT_GRID ? chunks : ZP_NORM_PRINT_GRID);
  l.block = ZP_BLOCK_THREADS;
  l.shared = ZP_NORM_PRINT_SHARED;
  return norm_launch(zp_kernel_fingerprint, l, &p, stream);
}

#endif
