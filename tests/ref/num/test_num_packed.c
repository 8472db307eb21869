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
