/* Runs a kernel body with its real launch geometry: blocks in random order, in each phase all
 * threads in random order, shared memory full of rubbish. No result may depend on any of it. */
#ifndef ZP_TESTS_KERNEL_RUN_H
#define ZP_TESTS_KERNEL_RUN_H
#include <criterion/criterion.h>
#include <stdlib.h>

#include "../../../cuda/kernels/kernels.h"
#include "../../../cuda/simdev/kernel.h"
#include "../../../cuda/verify/same_bits.h"
#include "../../ref/num/test_num_patterns.h"

static inline void shuffled(rng *r, uint32_t *order, uint32_t n)
{
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t j = (uint32_t)rng_below(r, i + 1);
    order[i] = order[j];
    order[j] = i;
  }
}

static inline void kernel_run(rng *r, const void *handle, zp_launch l, const void *params)
{
  const simdev_kernel *k = handle;
  if (l.grid == 0) return;
  cr_assert_leq(k->params_bytes, 4096, "CUDA takes no more");
  cr_assert_leq(l.shared, 48 * 1024, "CUDA gives no more unasked");
  void *own = malloc(k->params_bytes), *shared = l.shared ? malloc(l.shared) : NULL;
  uint32_t *block = malloc(l.grid * sizeof *block), *thread = malloc(l.block * sizeof *thread);
  memcpy(own, params, k->params_bytes);
  shuffled(r, block, l.grid);
  for (uint32_t b = 0; b < l.grid; b++) {
    simdev_thread t = {{l.grid, 1, 1}, {l.block, 1, 1}, {block[b], 0, 0}, {0, 0, 0}};
    if (shared) memset(shared, 0xa5, l.shared);
    const int phases = simdev_phases(k, own, t);
    for (int phase = 0; phase < phases; phase++) {
      shuffled(r, thread, l.block);
      for (uint32_t i = 0; i < l.block; i++) {
        t.threadIdx[0] = thread[i];
        k->body(own, t, shared, phase);
      }
    }
  }
  free(thread);
  free(block);
  free(shared);
  free(own);
}

static inline zp_launch runs_launch(const zp_memory_runs *runs)
{
  return zp_launch_runs(runs->table ? runs->table : runs->here, runs->n);
}

static inline zp_launch squares_launch(zp_squares_params *p)
{
  const zp_memory_run *run = p->runs.table ? p->runs.table : p->runs.here;
  p->lanes = zp_squares_lanes(run, p->runs.n);
  return zp_launch_squares(run, p->runs.n);
}

static inline zp_launch mean_exact_launch(zp_squares_params *p)
{
  const zp_memory_run *run = p->runs.table ? p->runs.table : p->runs.here;
  p->lanes = zp_squares_lanes(run, p->runs.n);
  return zp_launch_mean_exact(run, p->runs.n);
}

static inline zp_launch limb_runs_launch(const zp_memory_runs *runs)
{
  return zp_launch_limb_runs(runs->table ? runs->table : runs->here, runs->n);
}

/* Kernels loop over what a smaller grid or block leaves: sometimes launch with fewer of either. */
static inline zp_launch narrowed(rng *r, zp_launch l)
{
  if (l.grid > 1 && rng_below(r, 2)) l.grid = 1 + (uint32_t)rng_below(r, l.grid);
  if (rng_below(r, 4) == 0) l.block = 32 * (1 + (uint32_t)rng_below(r, 8));
  return l;
}

/* A buffer at an odd place of a larger one, whose rest must stay as it is. */
enum { GUARD = 64 };
typedef struct guarded {
  unsigned char *all, *data;
  int64_t bytes, before;
} guarded;

/* align: of an element; the data start at a multiple of it, one after the other at each that a
 * vector of 16 bytes may find. */
static inline guarded guarded_make(int64_t bytes, int64_t align)
{
  static int64_t turn;
  guarded g = {NULL, NULL, bytes, GUARD + align * (++turn % 11)};
  g.all = malloc((size_t)(bytes + g.before + GUARD));
  memset(g.all, 0x5a, (size_t)(bytes + g.before + GUARD));
  g.data = g.all + g.before;
  return g;
}

static inline void guarded_free(guarded *g)
{
  for (int64_t i = 0; i < g->before; i++) cr_assert_eq(g->all[i], 0x5a, "written before its place");
  for (int64_t i = 0; i < GUARD; i++)
    cr_assert_eq(g->data[g->bytes + i], 0x5a, "written past its place");
  free(g->all);
}

static inline int64_t bytes_of(int32_t dtype)
{
  return dtype == ZP_F32 ? 4 : 2;
}

/* n elements of a format; kind: as in pattern(). */
static inline void fill(rng *r, int32_t dtype, int kind, void *x, int64_t n)
{
  const uint32_t spot = rng_u32(r);
  for (int64_t i = 0; i < n; i++) {
    const uint32_t u = pattern(r, kind, spot);
    if (dtype == ZP_F32) ((uint32_t *)x)[i] = u;
    else if (dtype == ZP_BF16) ((uint16_t *)x)[i] = (uint16_t)(u >> 16);
    else
      ((uint16_t *)x)[i] =
          (uint16_t)(kind == KIND_NORMAL ? (u & 0x83ffu) | (u >> 13 & 0x7000u) : u >> 8);
  }
}

/* 0, 1, odd, a tile and its neighbours, a few tiles. */
static inline int64_t some_count(rng *r)
{
  static const int64_t odd[] = {0, 1, 2, 3, 5, 7, 31, 33, 255, 256, 257};
  const int64_t k = rng_below(r, 16);
  if (k < 11) return odd[k];
  if (k < 14) return ZP_TILE + k - 12; /* around a tile's end */
  return rng_below(r, 3 * ZP_TILE);
}

/* NUM-4 */
static inline int same_f32(float a, float b)
{
  return zp_as_compared(ZP_F32, bits_of(a)) == zp_as_compared(ZP_F32, bits_of(b));
}

#endif
