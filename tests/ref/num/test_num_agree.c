/* Whether all ranks have one number, from sums over the ranks. spec: STAT-6 */
#include <criterion/criterion.h>
#include <string.h>

#include "../../../ref/num/agree.h"
#include "test_num_patterns.h"

enum { RANKS_MOST = 9 };

static void sum_words(const uint64_t *x, int64_t ranks, int64_t *sums)
{
  int64_t words[ZP_AGREE_WORDS];
  memset(sums, 0, sizeof words);
  for (int32_t r = 0; r < ranks; r++) {
    zp_agree_words(x[r], r, words);
    for (int32_t k = 0; k < ZP_AGREE_WORDS; k++) sums[k] += words[k];
  }
}

/* Most lists differ in one bit, or in such a way that the sum stays. */
Test(agree, equal_sums_mean_equal_numbers)
{
  rng state = {5};
  int32_t equal = 0, different = 0;
  for (int32_t round = 0; round < 20000; round++) {
    const int64_t ranks = 1 + round % RANKS_MOST;
    uint64_t x[RANKS_MOST], same = 1;
    int64_t sums[ZP_AGREE_WORDS];
    for (int64_t r = 0; r < ranks; r++) x[r] = r == 0 ? rng_next(&state) : x[0];
    const int64_t a = (int64_t)(rng_next(&state) % (uint64_t)ranks);
    const int64_t b = (int64_t)(rng_next(&state) % (uint64_t)ranks);
    const uint64_t bit = (uint64_t)1 << rng_next(&state) % 64;
    if (round % 3 > 0) x[a] += bit;
    if (round % 3 > 1) x[b] -= bit;
    for (int64_t r = 0; r < ranks; r++) same &= x[r] == x[0];
    sum_words(x, ranks, sums);
    cr_assert_eq(zp_agree_same(sums, ranks), (int32_t)same, "round %d", (int)round);
    equal += same != 0;
    different += same == 0;
  }
  cr_assert(equal > 3000 && different > 3000);
}

/* 2^20 ranks, the most, with the largest words: nothing wraps. */
Test(agree, the_largest_sums_are_read)
{
  const int64_t ranks = INT64_C(1) << 20;
  int64_t sums[ZP_AGREE_WORDS];
  memset(sums, 0, sizeof sums);
  for (int32_t r = 0; r < ranks; r++) {
    int64_t words[ZP_AGREE_WORDS];
    zp_agree_words(UINT64_MAX, r, words);
    for (int32_t k = 0; k < ZP_AGREE_WORDS; k++) {
      cr_assert(words[k] >= 0);
      sums[k] += words[k];
      cr_assert_lt(sums[k], INT64_C(1) << 56);
    }
  }
  cr_assert_eq(zp_agree_same(sums, ranks), 1);
  cr_assert_eq(zp_agree_same(sums, ranks - 1), 0);
  for (int32_t k = 0; k < 12; k++) {
    sums[k] ^= 1;
    cr_assert_eq(zp_agree_same(sums, ranks), 0, "word %d", (int)k);
    sums[k] ^= 1;
  }
}

/* What no ranks have sent is no agreement, and overflows nothing. */
Test(agree, other_words_are_no_agreement)
{
  rng state = {6};
  for (int32_t round = 0; round < 1000; round++) {
    int64_t sums[ZP_AGREE_WORDS];
    for (int32_t k = 0; k < ZP_AGREE_WORDS; k++) sums[k] = (int64_t)rng_next(&state);
    cr_assert_eq(zp_agree_same(sums, 1 + round), 0);
  }
}
