/* Laws of ref/num/half.h. The reference is a table of values and a search for the nearest one. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "../../../ref/num/half.h"
#include "test_num_patterns.h"

/* value of the positive pattern a of a format with `frac` fraction bits and the given bias; the
 * infinity's pattern gets the value the next binade would have, where rounding to it begins */
static double positive_value(uint32_t a, int frac, int bias)
{
  int be = (int)(a >> frac);
  double m = (double)(a & ((1u << frac) - 1u)) + (be > 0 ? ldexp(1, frac) : 0);
  return ldexp(m, (be > 0 ? be : 1) - bias - frac);
}

static uint32_t nearest(double x, uint32_t infinity, int frac, int bias)
{
  uint32_t lo = 0, hi = infinity;
  while (hi - lo > 1) { /* value(lo) <= x < value(hi) or x beyond the end */
    uint32_t mid = (lo + hi) / 2;
    if (positive_value(mid, frac, bias) <= x) lo = mid;
    else hi = mid;
  }
  double below = x - positive_value(lo, frac, bias), above = positive_value(hi, frac, bias) - x;
  if (below < above) return lo;
  if (above < below) return hi;
  return lo % 2 == 0 ? lo : hi;
}

static void check_narrow(uint32_t u)
{
  uint32_t a = u & 0x7fffffffu;
  uint16_t b = zp_bf16_from_f32(u), h = zp_f16_from_f32(u);
  cr_assert_eq(b >> 15, u >> 31, "bf16 sign of %08x", u);
  cr_assert_eq(h >> 15, u >> 31, "fp16 sign of %08x", u);
  if (a > 0x7f800000u) {
    cr_assert_eq(b & 0x7fffu, 0x7fc0u | ((a >> 16) & 0x3fu), "bf16 NaN %08x -> %04x", u, b);
    cr_assert_eq(h & 0x7fffu, 0x7e00u | ((a >> 13) & 0x1ffu), "fp16 NaN %08x -> %04x", u, h);
    return;
  }
  double x = a == 0x7f800000u ? ldexp(1, 200) : (double)f32_of(a);
  cr_assert_eq(b & 0x7fffu, nearest(x, 0x7f80u, 7, 127), "bf16 %08x -> %04x", u, b);
  cr_assert_eq(h & 0x7fffu, nearest(x, 0x7c00u, 10, 15), "fp16 %08x -> %04x", u, h);
}

/* spec: NUM-1 */
Test(num_half, bf16_widening_keeps_every_value)
{
  for (uint32_t h = 0; h < 65536u; h++) {
    uint32_t u = zp_f32_from_bf16((uint16_t)h), a = h & 0x7fffu;
    cr_assert_eq(u >> 31, h >> 15);
    if (a > 0x7f80u) cr_assert(isnan(f32_of(u)));
    else if (a == 0x7f80u) cr_assert(isinf(f32_of(u)));
    else cr_assert_eq((double)fabsf(f32_of(u)), positive_value(a, 7, 127));
  }
}

/* spec: NUM-1 */
Test(num_half, f16_widening_keeps_every_value)
{
  for (uint32_t h = 0; h < 65536u; h++) {
    uint32_t u = zp_f32_from_f16((uint16_t)h), a = h & 0x7fffu;
    cr_assert_eq(u >> 31, h >> 15);
    if (a > 0x7c00u) {
      cr_assert_eq(u & 0x7fffffffu, 0x7fc00000u | ((a & 0x1ffu) << 13), "NaN %04x -> %08x", h, u);
    } else if (a == 0x7c00u) {
      cr_assert(isinf(f32_of(u)));
    } else {
      cr_assert_eq((double)fabsf(f32_of(u)), positive_value(a, 10, 15), "%04x -> %08x", h, u);
    }
  }
}

/* spec: NUM-2 */
Test(num_half, narrowing_undoes_widening)
{
  for (uint32_t h = 0; h < 65536u; h++) {
    uint32_t quiet_b = (h & 0x7fffu) > 0x7f80u ? h | 0x40u : h;
    uint32_t quiet_h = (h & 0x7fffu) > 0x7c00u ? h | 0x200u : h;
    cr_assert_eq(zp_bf16_from_f32(zp_f32_from_bf16((uint16_t)h)), quiet_b, "%04x", h);
    cr_assert_eq(zp_f16_from_f32(zp_f32_from_f16((uint16_t)h)), quiet_h, "%04x", h);
  }
}

/* spec: NUM-2 */
Test(num_half, midpoints_and_their_neighbours_round_to_nearest_even)
{
  for (uint32_t h = 0; h < 0x7c00u; h++) {
    double mid = (positive_value(h, 10, 15) + positive_value(h + 1, 10, 15)) / 2;
    uint32_t u = bits_of((float)mid); /* exact: one bit more than fp16 has */
    cr_assert_eq((double)f32_of(u), mid);
    for (uint32_t d = 0; d < 3; d++) {
      check_narrow(u - 1 + d);
      check_narrow((u - 1 + d) | 0x80000000u);
    }
  }
  for (uint32_t h = 0; h <= 0x7f7fu; h++) {
    for (uint32_t d = 0; d < 3; d++) check_narrow((h << 16) + 0x7fffu + d);
  }
}

/* spec: NUM-2 */
Test(num_half, narrowing_is_nearest_even_on_random_patterns)
{
  rng r = {1};
  for (int i = 0; i < EDGES_F32; i++) check_narrow(edge_f32[i]);
  for (int i = 0; i < 200000; i++) check_narrow(rng_u32(&r));
  for (int i = 0; i < 200000; i++) { /* the binades where fp16 lives */
    check_narrow((rng_u32(&r) & 0x807fffffu) | ((98u + rng_u32(&r) % 50u) << 23));
  }
  for (uint32_t u = 0; u < 70000u; u++) check_narrow(u);
}
