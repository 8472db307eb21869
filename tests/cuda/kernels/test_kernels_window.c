/* Laws of the exact sum where it is fast: in a window of exponents, and at the window's edges. */
#include "../../../ref/num/half.h"
#include "kernel_run.h"

enum { N = 8 * ZP_TILE, SHIFTS = 9 };

static uint32_t pattern_of(int exponent, uint32_t fraction)
{
  return (uint32_t)exponent << 23 | (fraction & 0x7fffffu);
}

static int64_t add_squares(zp_sumsq *s, int32_t dtype, const void *x, int64_t n)
{
  if (dtype == ZP_F32) return zp_sumsq_add_f32(s, x, n);
  return dtype == ZP_BF16 ? zp_sumsq_add_bf16(s, x, n) : zp_sumsq_add_f16(s, x, n);
}

/* The kernel's sum and count of n elements are the reference's. block 0: as launched. */
static void assert_sum(rng *r, int32_t dtype, const void *x, int64_t n, uint32_t block,
                       const char *what, int64_t which)
{
  zp_tally tally;
  zp_sumsq want;
  int64_t bad = 0, limb[ZP_SQ_LIMBS];
  zp_squares_params p = {.dtype = dtype, .tally = &tally, .nonfinite = &bad};
  memset(&tally, 0, sizeof tally);
  zp_sumsq_clear(&want);
  p.runs.n = 1;
  p.runs.here[0] = (zp_memory_run){.in = x, .count = n};
  p.runs.tiles = zp_runs_lay(p.runs.here, 1);
  zp_launch l = squares_launch(&p);
  if (block) l.grid = 1, l.block = block; /* many elements to a thread */
  kernel_run(r, zp_kernel_squares, l, &p);
  cr_assert_eq(bad, add_squares(&want, dtype, x, n), "%s %lld", what, (long long)which);
  zp_limbs_normalise(tally.squares, ZP_SQ_LIMBS);
  zp_sumsq_limbs(&want, limb);
  cr_assert_arr_eq(tally.squares, limb, sizeof limb, "%s %lld, format %d", what, (long long)which,
                   (int)dtype);
}

static void put(int32_t dtype, void *x, int64_t i, uint32_t bits)
{
  if (dtype == ZP_F32) ((uint32_t *)x)[i] = bits;
  else if (dtype == ZP_BF16) ((uint16_t *)x)[i] = (uint16_t)(bits >> 16);
  else ((uint16_t *)x)[i] = zp_f16_from_f32(bits);
}

/* Elements before the first and behind the last are not looked at: they are NaNs.
 * spec: SUM-1, SUM-2, STAT-3, PART-9 */
Test(kernels_window, sums_begin_and_end_anywhere_in_a_vector)
{
  static _Alignas(16) uint32_t memory[2 * ZP_TILE + 64];
  rng r = {51};
  for (int32_t dtype = 0; dtype < 3; dtype++)
    for (int shift = 0; shift < SHIFTS; shift++)
      for (int64_t k = 0; k < 40; k++) {
        const int64_t n = k < 36 ? k : ZP_TILE + (k - 38);
        char *x = (char *)memory + shift * bytes_of(dtype);
        memset(memory, 0xff, sizeof memory);
        for (int64_t i = 0; i < n; i++)
          put(dtype, x, i, pattern_of(118 + (int)rng_below(&r, 8), rng_u32(&r)));
        assert_sum(&r, dtype, x, n, 0, "shift", shift);
      }
}

/* spec: SUM-1, SUM-2, STAT-3 */
Test(kernels_window, one_number_of_any_exponent_among_others_is_not_lost)
{
  static uint32_t x[600];
  rng r = {52};
  for (int32_t dtype = 0; dtype < 3; dtype++)
    for (int exponent = 0; exponent < 256; exponent++) {
      for (int64_t i = 0; i < 600; i++)
        put(dtype, x, i, pattern_of(112 + (int)rng_below(&r, 6), rng_u32(&r)) | rng_u32(&r) << 31);
      put(dtype, x, rng_below(&r, 600), pattern_of(exponent, rng_u32(&r)));
      for (int64_t i = 0; i < 600; i += 7) put(dtype, x, i, 0); /* zeros are in every window */
      put(dtype, x, 7 * rng_below(&r, 80) + 1 + rng_below(&r, 6), pattern_of(exponent, 0x7fffff));
      assert_sum(&r, dtype, x, 600, 32, "exponent", exponent);
    }
}

/* Two numbers at any distance in one chunk, with all bits of their significands.
 * spec: SUM-1, SUM-2 */
Test(kernels_window, windows_are_exact_up_to_their_edges)
{
  static uint32_t x[32 * 16];
  rng r = {53};
  for (int32_t dtype = 0; dtype < 2; dtype++)
    for (int top = 1; top < 255; top += 3)
      for (int depth = 0; depth < 44 && depth < top; depth++) {
        for (int64_t i = 0; i < 256; i++) /* the first sets the window, the last bits the rest */
          put(dtype, x, i, pattern_of(i % 3 ? top - depth : top, i % 3 ? 0x7fffff : rng_u32(&r)));
        assert_sum(&r, dtype, x, 256, 32, "depth", depth);
      }
}

/* A thread adds thousands: what was lost each time goes the same way, and windows fill up.
 * spec: SUM-1, SUM-3 */
Test(kernels_window, full_windows_are_carried)
{
  static uint32_t x[N];
  rng r = {54};
  for (int32_t dtype = 0; dtype < 3; dtype++)
    for (int deep = 0; deep < 40; deep++) {
      /* the largest opens the window; another's squares have a fraction of its unit of one half */
      const uint32_t first = pattern_of(120, 0),
                     fraction = deep % 4 ? 0x348000u * (uint32_t)deep : 0;
      for (int64_t i = 0; i < N; i++)
        put(dtype, x, i, i < 2048 ? first : pattern_of(120 - (deep > 24 ? 24 : deep), fraction));
      assert_sum(&r, dtype, x, N, 32, "deep", deep);
    }
}

/* Whole blocks whose exponents lie too far apart, some of them for each format, and tensors that
 * are alike but for their scale.
 * spec: SUM-1, SUM-2, STAT-3 */
Test(kernels_window, exponents_may_spread_over_the_whole_range)
{
  static uint32_t x[3 * ZP_TILE];
  rng r = {55};
  for (int32_t dtype = 0; dtype < 3; dtype++)
    for (int spread = 1; spread < 256; spread += spread < 48 ? 9 : 50)
      for (int scale = 0; scale < 2; scale++) {
        for (int64_t i = 0; i < 3 * ZP_TILE; i++) {
          const int low = scale ? (int)(i / ZP_TILE) * 80 + 1 : (255 - spread) / 2;
          const int exponent = low + (int)rng_below(&r, spread);
          put(dtype, x, i, pattern_of(exponent < 255 ? exponent : 255, rng_u32(&r)));
        }
        assert_sum(&r, dtype, x, 3 * ZP_TILE, 0, "spread", spread);
      }
}
