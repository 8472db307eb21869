/* Laws of ref/num/packed.h, against sums in limbs. */
#include <criterion/criterion.h>
#include <string.h>

#include "../../../ref/num/exact.h"
#include "../../../ref/num/packed.h"
#include "test_num_patterns.h"

enum { N = 7 };

typedef struct sums {
  uint32_t low[ZP_PACKED_WORDS * N];
  int64_t top[N];
} sums;

/* Carried limbs, among them the smallest and the largest of 2^40 fp32 numbers. */
static void some_limbs(rng *r, int64_t *limb)
{
  for (int q = 0; q < ZP_VAL_LIMBS - 1; q++)
    limb[q] = rng_below(r, 4) == 0 ? rng_below(r, 2) * 4294967295 : (int64_t)rng_u32(r);
  limb[ZP_VAL_LIMBS - 1] = rng_below(r, 3) - 1;
  if (rng_below(r, 2)) limb[ZP_VAL_LIMBS - 1] *= INT64_C(1) << rng_below(r, 62);
}

static void assert_limbs(const sums *s, int i, const int64_t *want)
{
  int64_t got[ZP_VAL_LIMBS];
  zp_val_unpack(got, s->low, s->top, N, i);
  cr_assert_arr_eq(got, want, sizeof got, "element %d", i);
}

/* spec: SUM-8 */
Test(num_packed, packing_loses_no_bit_and_leaves_other_elements_alone)
{
  rng r = {51};
  sums s;
  int64_t limb[N][ZP_VAL_LIMBS];
  memset(&s, 0xa5, sizeof s);
  for (int i = 0; i < N; i++) {
    some_limbs(&r, limb[i]);
    zp_val_pack(limb[i], s.low, s.top, N, i);
  }
  for (int round = 0; round < 2000; round++) {
    const int i = (int)rng_below(&r, N);
    some_limbs(&r, limb[i]);
    zp_val_pack(limb[i], s.low, s.top, N, i);
    for (int k = 0; k < N; k++) assert_limbs(&s, k, limb[k]);
  }
}

/* 2^40 times the largest number: 2^20 ranks, whose sums of 2^20 micro-batches are added.
 * spec: SUM-8, LIM-5 */
Test(num_packed, the_most_contributions_of_the_largest_size_fit)
{
  const uint32_t largest[] = {0x7f7fffffu, 0xff7fffffu};
  for (int sign = 0; sign < 2; sign++) {
    int64_t one[ZP_VAL_LIMBS] = {0}, limb[ZP_VAL_LIMBS];
    sums s;
    memset(&s, 0, sizeof s);
    zp_val_add_f32(one, &largest[sign], 1);
    for (int q = 0; q < ZP_VAL_LIMBS; q++) limb[q] = one[q] * (1 << 20);
    zp_val_normalise(limb, 1);
    for (int q = 0; q < ZP_VAL_LIMBS; q++) limb[q] *= 1 << 20;
    zp_val_normalise(limb, 1);
    zp_val_pack(limb, s.low, s.top, N, 3);
    zp_val_unpack(limb, s.low, s.top, N, 3);
    cr_assert_eq(zp_val_mean_f32(limb, INT64_C(1) << 40), largest[sign]);
    cr_assert(s.top[3] >= -(INT64_C(1) << 61) && s.top[3] < INT64_C(1) << 61);
  }
}

/* ---- Of fp16 numbers. SUM-9 ------------------------------------------------------------------ */

static void add_f16(int64_t *limb, uint16_t bits)
{
  zp_val_add_f16(limb, &bits, 1);
}

/* Any fp16 numbers: sums of one, and of many of one kind, so that all words have a part of them. */
Test(num_packed, sums_of_fp16_numbers_lose_no_bit_and_leave_other_elements_alone)
{
  rng r = {52};
  uint32_t low[3 * N];
  int64_t limb[N][ZP_VAL_LIMBS] = {{0}};
  memset(low, 0, sizeof low);
  for (int round = 0; round < 4000; round++) {
    const int i = (int)rng_below(&r, N);
    memset(limb[i], 0, sizeof limb[i]);
    for (int k = 0; k < 1 + round % 5; k++) add_f16(limb[i], (uint16_t)rng_u32(&r));
    const int64_t times = INT64_C(1) << rng_below(&r, 21);
    for (int q = 0; q < ZP_VAL_LIMBS; q++) limb[i][q] *= times;
    zp_val_normalise(limb[i], 1);
    zp_val_pack_f16(limb[i], low, N, i);
    for (int k = 0; k < N; k++) {
      int64_t got[ZP_VAL_LIMBS];
      zp_val_unpack_f16(got, low, N, k);
      cr_assert_arr_eq(got, limb[k], sizeof got, "round %d, element %d", round, k);
    }
  }
}

/* spec: SUM-9, LIM-5 */
Test(num_packed, the_most_contributions_of_the_largest_fp16_number_fit)
{
  for (int sign = 0; sign < 2; sign++) {
    int64_t limb[ZP_VAL_LIMBS] = {0};
    uint32_t low[3 * N] = {0}, want;
    add_f16(limb, sign ? 0xfbff : 0x7bff);
    for (int half = 0; half < 2; half++) {
      for (int q = 0; q < ZP_VAL_LIMBS; q++) limb[q] *= 1 << 20;
      zp_val_normalise(limb, 1);
    }
    zp_val_pack_f16(limb, low, N, 3);
    zp_val_unpack_f16(limb, low, N, 3);
    const float largest = sign ? -65504 : 65504;
    memcpy(&want, &largest, sizeof want);
    cr_assert_eq(zp_val_mean_f32(limb, INT64_C(1) << 40), want);
  }
}
