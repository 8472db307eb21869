/* The digest of hyperparameters, and what a rank reports when they differ. spec: STAT-6 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "../../../ref/engine/hyper.h"
#include "../../../ref/num/agree.h"

static zp_hyper some(void)
{
  zp_hyper h = {.groups = 2, .clip = 1, .clip_eps = 1e-6};
  h.optim[0] = (zp_optim){ZP_OPTIM_ADAMW, 1e-3, 0.9, 0.95, 1e-8, 0.1, 0};
  h.optim[1] = (zp_optim){ZP_OPTIM_SGD, 1e-2, 0, 0, 1, 0, 0.9};
  return h;
}

static uint64_t digest_of(const zp_hyper *h)
{
  return zp_hyper_digest(h->optim, h->groups, h->clip, h->clip_eps);
}

/* Each bit of each number, one at a time. */
Test(hyper, one_other_bit_is_another_digest)
{
  const zp_hyper was = some();
  for (int32_t i = 0; i < 2 * ZP_OPTIM_FIELDS + 2; i++) {
    for (int32_t bit = 0; bit < 64; bit++) {
      zp_hyper h = was;
      const int32_t g = i / ZP_OPTIM_FIELDS;
      char *at = i == 2 * ZP_OPTIM_FIELDS ? (char *)&h.clip
                 : i == 2 * ZP_OPTIM_FIELDS + 1
                     ? (char *)&h.clip_eps
                     : (char *)&h.optim[g] + zp_optim_fields[i % ZP_OPTIM_FIELDS].offset;
      at[bit / 8] ^= (char)(1 << bit % 8);
      cr_assert_neq(digest_of(&h), digest_of(&was), "number %d, bit %d", (int)i, (int)bit);
    }
  }
}

Test(hyper, another_kind_or_count_is_another_digest)
{
  zp_hyper h = some();
  h.groups = 1;
  cr_assert_neq(digest_of(&h), zp_hyper_digest(some().optim, 2, 1, 1e-6));
  h = some();
  h.optim[1].kind = ZP_OPTIM_ADAMW;
  cr_assert_neq(digest_of(&h), zp_hyper_digest(some().optim, 2, 1, 1e-6));
}

/* What this rank reports: of `ranks` ranks, those of the bit mask have another digest. */
static void report(int32_t ranks, uint32_t mask, int32_t rank, zp_error *err)
{
  const uint64_t x = 0x0123456789abcdefu, y = 0xfedc456700abcd00u;
  int64_t sums[ZP_AGREE_WORDS] = {0}, words[ZP_AGREE_WORDS];
  for (int32_t r = 0; r < ranks; r++) {
    zp_agree_words(mask >> r & 1 ? y : x, r, words);
    for (int32_t k = 0; k < ZP_AGREE_WORDS; k++) sums[k] += words[k];
  }
  memset(err, 0, sizeof *err);
  cr_assert_eq(zp_hyper_differ(err, rank, ranks, "here", mask >> rank & 1 ? y : x, sums),
               ZP_E_MISMATCH);
}

/* With two ranks each is the other's only other rank: it is rank 1. */
Test(hyper, the_rank_that_alone_differs_is_named)
{
  zp_error err;
  char want[80];
  for (int32_t ranks = 2; ranks <= 7; ranks++)
    for (uint32_t mask = 1; mask < (1u << ranks) - 1; mask++) {
      const int32_t n = __builtin_popcount(mask), rank = (int32_t)(mask % (uint32_t)ranks);
      const int32_t odd = ranks == 2       ? 1
                          : n == 1         ? __builtin_ctz(mask)
                          : n == ranks - 1 ? __builtin_ctz(~mask)
                                           : -1;
      report(ranks, mask, rank, &err);
      snprintf(want, sizeof want, "differ: rank %d's from those of all other ranks", (int)odd);
      if (odd < 0) snprintf(want, sizeof want, "differ: those of several ranks from rank 0's");
      cr_assert_not_null(strstr(err.text, want), "%d ranks, mask %x: %s", (int)ranks, mask,
                         err.text);
      snprintf(want, sizeof want, "this rank has %s",
               (mask >> rank & 1) == (mask & 1) ? "rank 0's (" : "others than rank 0 (");
      cr_assert_not_null(strstr(err.text, want), "%s", err.text);
    }
}
