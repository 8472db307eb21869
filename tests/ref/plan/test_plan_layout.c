/* Laws of ref/plan/layout: parts tile, maps are inverse. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "../../../ref/plan/flat_size.h"
#include "../../../ref/plan/layout.h"
#include "../../../ref/plan/segment.h"

/* The most elements and members that are tried; fewer where every contract is checked as well. */
#ifndef LAYOUT_MOST
#define LAYOUT_MOST 64
#endif

/* Every element of every (N, D) has one home, and the map back finds it; padding is what remains.
 * spec: PART-3, PART-4, PART-5, PART-6 */
static void tiles(int64_t n, int32_t members, int64_t bucket, int64_t align)
{
  const int64_t unit = members * align;
  const zp_flat f = {.group = ZP_GROUP_DP,
                     .members = members,
                     .tied = -1,
                     .numel = n,
                     .capacity = (bucket + unit - 1) / unit * unit,
                     .align = align};
  const int64_t shard = zp_shard(&f), padded = zp_padded(&f);
  int64_t real = 0, sum = 0;
  cr_assert_eq(shard * members, padded);
  cr_assert(padded >= n && padded < n + unit);
  for (int64_t b = 0; b < zp_buckets(&f); b++) {
    cr_assert(zp_bucket_numel(&f, b) > 0);
    cr_assert_eq(zp_part(&f, b) * members, zp_bucket_padded(&f, b));
    cr_assert(zp_bucket_padded(&f, b) <= f.capacity);
    cr_assert_eq(zp_shard_offset(&f, b) * members, b * f.capacity);
    sum += zp_bucket_numel(&f, b);
  }
  cr_assert_eq(sum, n);
  for (int64_t e = 0; e < n; e++) {
    const zp_home h = zp_home_of(&f, e);
    cr_assert(h.owner >= 0 && h.owner < members && h.shard_offset >= 0 && h.shard_offset < shard);
    cr_assert_eq(zp_bucket_of_shard(&f, h.shard_offset), h.bucket);
    cr_assert_eq(zp_element_at(&f, h.owner, h.shard_offset), e);
  }
  for (int32_t r = 0; r < members; r++)
    for (int64_t o = 0; o < shard; o++) {
      const int64_t e = zp_element_at(&f, r, o);
      if (e >= n) continue; /* padding belongs to no rank */
      real++;
      cr_assert(zp_home_of(&f, e).owner == r && zp_home_of(&f, e).shard_offset == o);
    }
  cr_assert_eq(real, n, "n %lld D %d", (long long)n, members);
}

Test(layout, parts_tile_every_flat_group)
{
  for (int64_t n = 0; n <= LAYOUT_MOST; n++)
    for (int32_t d = 1; d <= LAYOUT_MOST; d++) {
      tiles(n, d, 1 + n / 3, 1);
      tiles(n, d, 64, 1 + n % 3);
    }
}

/* Flat sizes of a stage's entries fill its flat groups without gap or overlap, in backward order.
 * Entries start at multiples of the entry alignment. Tied entries stand alone, uses numbered from
 * the last one. spec: PART-1, PART-2, TIE-2 */
Test(layout, entries_fill_their_flat_groups_in_backward_order)
{
  for (uint32_t seed = 0; seed < 500; seed++) {
    zp_param list[12];
    zp_flat flat[12];
    zp_spot spot[12];
    zp_config c = {.pp = 1,
                   .dp = 4,
                   .tp = 1,
                   .ep = 2,
                   .stage = 2,
                   .optgroups = 3,
                   .tied_keys = 2,
                   .micro_batches = 1,
                   .bucket = 5,
                   .align = 2,
                   .n_params = 12,
                   .params = list};
    zp_layout lay = {.flat = flat, .spot = spot, .cap_flats = 12, .cap_spots = 12};
    zp_refusal why;
    srand(seed);
    for (int32_t j = 0; j < 12; j++) {
      list[j] = (zp_param){.numel = rand() % 9,
                           .optgroup = rand() % 3,
                           .tied = -1,
                           .expert = rand() % 3 == 0,
                           .frozen = rand() % 5 == 0};
      if (rand() % 4 == 0) list[j] = (zp_param){.numel = 6, .tied = rand() % 2};
    }
    const int64_t entry_align = 1 + seed % 4;
    for (int32_t j = 0; j < 12; j++) list[j].numel = zp_flat_size(&list[j], entry_align);
    cr_assert_eq(zp_config_check(&c, &why), 0);
    cr_assert_eq(zp_layout_build(&c, 0, &lay), 0);
    int64_t filled[12] = {0};
    int32_t uses[2] = {0, 0};
    for (int32_t j = 11; j >= 0; j--) {
      if (list[j].frozen) {
        cr_assert_eq(spot[j].flat, -1);
        continue;
      }
      const zp_flat *f = &flat[spot[j].flat];
      cr_assert_eq(spot[j].start, filled[spot[j].flat]);
      cr_assert_eq(spot[j].start % entry_align, 0);
      filled[spot[j].flat] += list[j].numel;
      cr_assert_eq(f->tied, list[j].tied);
      cr_assert_eq(f->optgroup, list[j].optgroup);
      cr_assert_eq(f->group, list[j].expert ? ZP_GROUP_EDP : ZP_GROUP_DP);
      cr_assert_eq(f->members, list[j].expert ? 2 : 4);
      if (f->tied >= 0) {
        cr_assert_eq(f->use, uses[f->tied]++);
        cr_assert_eq(flat[f->holder].use, 0);
        cr_assert_eq(flat[f->holder].tied, f->tied);
      }
    }
    for (int32_t k = 0; k < lay.n_flats; k++) cr_assert_eq(filled[k], flat[k].numel);
  }
}

/* A walk through any range of any flat group visits its elements one after the other, each in the
 * entry that it belongs to. spec: PART-9 */
static void walks(const zp_config *c, const zp_layout *lay, int32_t k, int64_t lo, int64_t hi)
{
  const int64_t end = hi < lay->flat[k].numel ? hi : lay->flat[k].numel;
  int64_t at = lo;
  int32_t i = lay->n_params;
  for (;;) {
    const zp_segment s = zp_segment_next(c, lay, k, lo, hi, i);
    if (s.count == 0) break;
    i = s.param - lay->first_param;
    cr_assert_eq(s.flat, at);
    cr_assert(s.offset >= 0 && s.count > 0 && s.offset + s.count <= c->params[s.param].numel);
    cr_assert(lay->spot[i].flat == k && lay->spot[i].start + s.offset == s.flat);
    at += s.count;
  }
  cr_assert_eq(at, end > lo ? end : lo, "flat group %d, %lld to %lld", k, (long long)lo,
               (long long)hi);
}

/* spec: PART-9 */
Test(layout, walks_tile_every_range)
{
  zp_param list[10];
  zp_flat flat[10];
  zp_spot spot[10];
  const zp_config c = {.pp = 1,
                       .dp = 3,
                       .tp = 1,
                       .ep = 1,
                       .optgroups = 2,
                       .tied_keys = 1,
                       .micro_batches = 1,
                       .bucket = 4,
                       .align = 1,
                       .n_params = 10,
                       .params = list};
  zp_layout lay = {.flat = flat, .spot = spot, .cap_flats = 10, .cap_spots = 10};
  zp_refusal why;
  for (int32_t j = 0; j < 10; j++)
    list[j] = (zp_param){.numel = j * 5 % 7, .optgroup = j % 2, .tied = -1, .frozen = j == 4};
  list[6] = (zp_param){.numel = 4};
  cr_assert_eq(zp_config_check(&c, &why), 0);
  cr_assert_eq(zp_layout_build(&c, 0, &lay), 0);
  for (int32_t k = 0; k < lay.n_flats; k++)
    for (int64_t lo = 0; lo <= flat[k].numel + 3; lo++)
      for (int64_t hi = 0; hi <= flat[k].numel + 3; hi++) walks(&c, &lay, k, lo, hi);
}

/* spec: PART-1, PART-10 */
Test(layout, too_little_room_is_an_error)
{
  const zp_param list[2] = {{.numel = 1, .tied = -1}, {.numel = 1, .tied = -1, .optgroup = 1}};
  const zp_config c = {.pp = 1,
                       .dp = 1,
                       .tp = 1,
                       .ep = 1,
                       .optgroups = 2,
                       .micro_batches = 1,
                       .bucket = 1,
                       .align = 1,
                       .n_params = 2,
                       .params = list};
  zp_flat flat[2];
  zp_spot spot[2];
  zp_layout lay = {.flat = flat, .spot = spot, .cap_flats = 1, .cap_spots = 2};
  cr_assert_eq(zp_layout_build(&c, 0, &lay), -1);
  lay.cap_flats = 2, lay.cap_spots = 1;
  cr_assert_eq(zp_layout_build(&c, 0, &lay), -1);
  lay.cap_spots = 2;
  cr_assert_eq(zp_layout_build(&c, 0, &lay), 0);
}
