/* Launch geometry, the same for a device and for simdev. spec: PART-9 */
#include "kernels.h"

static int64_t tiles_of(int64_t count)
{
  return (count + ZP_TILE - 1) / ZP_TILE;
}

/* widest: the most elements of a tile; more threads would have no work. */
static zp_launch blocks_of(int64_t tiles, int64_t widest, size_t shared)
{
  const int64_t threads = (widest + ZP_LANES - 1) / ZP_LANES * ZP_LANES;
  zp_launch l;
  l.grid = (uint32_t)(tiles < ZP_GRID_MAX ? tiles : ZP_GRID_MAX);
  l.block = (uint32_t)(threads < ZP_BLOCK_THREADS ? threads : ZP_BLOCK_THREADS);
  l.shared = shared;
  return l;
}

static int64_t widest_of(const zp_memory_run *run, int32_t n)
{
  int64_t widest = 0;
  for (int32_t i = 0; i < n; i++)
    if (run[i].count > widest) widest = run[i].count;
  return widest;
}

static zp_launch blocks_of_runs(const zp_memory_run *run, int32_t n, size_t shared)
{
  return blocks_of(n > 0 ? run[n - 1].first_tile + tiles_of(run[n - 1].count) : 0,
                   widest_of(run, n), shared);
}

int64_t zp_runs_lay(zp_memory_run *run, int32_t n)
{
  int64_t tiles = 0;
  for (int32_t i = 0; i < n; i++) {
    run[i].first_tile = tiles;
    tiles += tiles_of(run[i].count);
  }
  return tiles;
}

zp_launch zp_launch_runs(const zp_memory_run *run, int32_t n)
{
  return blocks_of_runs(run, n, 0);
}

int32_t zp_squares_lanes(const zp_memory_run *run, int32_t n)
{
  const int64_t widest = widest_of(run, n);
  return widest < ZP_LANES ? (int32_t)widest : ZP_LANES;
}

zp_launch zp_launch_squares(const zp_memory_run *run, int32_t n)
{
  const size_t bins = 2 * ZP_SQ_BINS * (size_t)zp_squares_lanes(run, n);
  zp_launch l = blocks_of_runs(run, n, offsetof(zp_squares_shared, bin) + bins * sizeof(int64_t));
  if (l.grid > ZP_SQUARES_GRID_MAX) l.grid = ZP_SQUARES_GRID_MAX;
  return l;
}

zp_launch zp_launch_mean_exact(const zp_memory_run *run, int32_t n)
{
  zp_launch l = zp_launch_limb_runs(run, n);
  l.shared += zp_launch_squares(run, n).shared;
  return l;
}

zp_launch zp_launch_elements(int64_t n)
{
  return blocks_of(tiles_of(n), n, 0);
}

/* Blocks for all slabs that may have elements. */
static zp_launch staged(zp_launch l, int64_t tiles, int64_t widest, int32_t stages)
{
  const int64_t most = widest < ZP_TILE ? widest : ZP_TILE;
  const int64_t blocks = tiles * ((most + ZP_STAGE_ELEMENTS - 1) / ZP_STAGE_ELEMENTS);
  l.grid = (uint32_t)(blocks < ZP_GRID_MAX ? blocks : ZP_GRID_MAX);
  l.shared = (size_t)stages * ZP_STAGE_ELEMENTS * ZP_VAL_LIMBS * sizeof(int64_t);
  return l;
}

zp_launch zp_launch_limb_runs(const zp_memory_run *run, int32_t n)
{
  const int64_t tiles = n > 0 ? run[n - 1].first_tile + tiles_of(run[n - 1].count) : 0;
  return staged(zp_launch_runs(run, n), tiles, widest_of(run, n), 1);
}

zp_launch zp_launch_limbs(int64_t n, int32_t stages)
{
  return staged(zp_launch_elements(n), tiles_of(n), n, stages);
}

zp_launch zp_launch_one(void)
{
  zp_launch l = {1, ZP_LANES, 0};
  return l;
}
