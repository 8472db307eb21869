/* The ring for gradients that come before their turn. spec: STEP-3 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "../../../ref/engine/early.h"
#include "../../../ref/plan/flat_size.h"

enum { ENTRIES = 30 };

static zp_param own[ENTRIES], sized[ENTRIES];
static zp_flat flat[ENTRIES];
static zp_spot spot[ENTRIES];
static zp_layout lay;
static zp_config cfg; /* with the sizes of gradients */

static int32_t below(int32_t n)
{
  return (int32_t)(rand() % n);
}

static int32_t fp32_gradients;

/* Two optimizer groups, a tied key, frozen, empty and fp32 entries, and padding between entries. */
static void layout_of(unsigned seed)
{
  zp_config padded;
  srand(seed);
  cfg = (zp_config){.pp = 1,
                    .dp = 2,
                    .tp = 1,
                    .ep = 1,
                    .stage = 2,
                    .precision = below(2) ? ZP_BF16 : ZP_F32,
                    .optgroups = 2,
                    .tied_keys = 1,
                    .micro_batches = 1,
                    .bucket = 1 + below(400),
                    .align = 1,
                    .n_params = ENTRIES,
                    .params = own};
  for (int32_t j = 0; j < ENTRIES; j++) {
    own[j] = (zp_param){.numel = below(4) ? below(300) : below(3),
                        .optgroup = below(2),
                        .tied = -1,
                        .frozen = below(6) == 0,
                        .fp32 = below(3) == 0};
    if (j % 11 == 5) own[j] = (zp_param){.numel = 40, .tied = 0};
    sized[j] = own[j];
    sized[j].numel = zp_flat_size(&own[j], 1 + seed % 9);
  }
  fp32_gradients = below(3) == 0;
  padded = cfg;
  padded.params = sized;
  lay = (zp_layout){.flat = flat, .spot = spot, .cap_flats = ENTRIES, .cap_spots = ENTRIES};
  cr_assert_eq(zp_layout_build(&padded, 0, &lay), 0);
}

static int64_t taken(int32_t j)
{
  const int32_t wide = own[j].fp32 || fp32_gradients || cfg.precision == ZP_F32;
  const int64_t bytes = own[j].frozen ? 0 : own[j].numel * (wide ? 4 : 2);
  return (bytes + ZP_EARLY_ALIGN - 1) / ZP_EARLY_ALIGN * ZP_EARLY_ALIGN;
}

/* What the gradients that have elements in one bucket take, at most. */
static int64_t widest(void)
{
  int64_t most = 0;
  for (int32_t k = 0; k < lay.n_flats; k++)
    for (int64_t b = 0; b < zp_buckets(&flat[k]); b++) {
      const int64_t from = b * flat[k].capacity, to = from + flat[k].capacity;
      int64_t sum = 0;
      for (int32_t j = 0; j < ENTRIES; j++)
        if (spot[j].flat == k && spot[j].start < to && spot[j].start + own[j].numel > from)
          sum += taken(j);
      if (sum > most) most = sum;
    }
  return most;
}

/* Entries that, with all between, take at most so many bytes less the largest do not overlap. */
static void neighbours_are_apart(const zp_early *e, int64_t largest)
{
  for (int32_t i = ENTRIES - 1; i >= 0; i--) {
    int64_t span = taken(i);
    cr_assert(e->range[i].at >= 0 && e->range[i].at + e->range[i].bytes <= e->bytes);
    cr_assert_eq(e->range[i].bytes, taken(i));
    for (int32_t j = i - 1; j >= 0; j--) {
      span += taken(j);
      if (span > e->bytes - largest && e->wraps) break;
      if (taken(i) > 0 && taken(j) > 0)
        cr_assert_not(zp_early_overlap(e, i, j), "entries %d and %d", i, j);
    }
  }
}

Test(early, gradients_of_two_buckets_have_ranges_of_their_own)
{
  for (unsigned seed = 0; seed < 400; seed++) {
    int64_t all = 0, largest = 0, bucket;
    layout_of(seed);
    bucket = widest();
    for (int32_t j = 0; j < ENTRIES; j++) {
      all += taken(j);
      if (taken(j) > largest) largest = taken(j);
    }
    const int64_t asked[] = {0, ZP_EARLY_ALL, 1, all, all / 2, INT64_MAX};
    const int64_t standard = 2 * bucket + largest, half = all / 2 > largest ? all / 2 : largest;
    const int64_t given[] = {standard < all ? standard : all, all, largest, all, half, all};
    for (int32_t k = 0; k < 6; k++) {
      zp_early e;
      cr_assert_eq(zp_early_open(&e, &cfg, &lay, fp32_gradients, asked[k]), 0);
      cr_assert_eq(e.bytes, given[k], "seed %u, %lld: %lld, not %lld", seed, (long long)asked[k],
                   (long long)e.bytes, (long long)given[k]);
      cr_assert_eq(e.wraps, e.bytes < all);
      neighbours_are_apart(&e, largest);
      zp_early_close(&e);
    }
  }
}
