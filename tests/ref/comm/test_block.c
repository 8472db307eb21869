/* A block's groups as the job's ranks, the list that it is planned for, and which numbers of
 * replicas and which entry alignments are refused. spec: TOPO-6, PART-2, LIM-10, LIM-11 */
#include <criterion/criterion.h>
#include <string.h>

#include "../../../ref/comm/block.h"

enum { PP = 2, TP = 2, MOST = 96 };

static const zp_param list[] = {{4, 0, 0, 0, 0, 0, 0, 0}, {4, 1, 0, 0, 0, 0, 0, 0}};

static zp_config job(int32_t dp, int32_t ep, int32_t stage)
{
  return (zp_config){.pp = PP,
                     .dp = dp,
                     .tp = TP,
                     .ep = ep,
                     .stage = stage,
                     .optgroups = 1,
                     .tied_keys = 1,
                     .n_params = 2,
                     .micro_batches = 1,
                     .bucket = 4,
                     .align = 1,
                     .params = list};
}

/* Are ranks x and y, of a block of S dp indices, in one group of a kind? The text of TOPO-2 …
 * TOPO-6. */
static int same_group(const zp_config *c, int32_t S, int32_t group, int32_t x, int32_t y)
{
  const zp_coord a = zp_coord_of(c, x), b = zp_coord_of(c, y);
  const int stage = a.pp == b.pp, tp = a.tp == b.tp, dp = a.dp == b.dp;
  const int block = a.dp / S == b.dp / S;
  switch (group) {
  case ZP_GROUP_WORLD: return 1;
  case ZP_GROUP_DP: return stage && tp && block;
  case ZP_GROUP_TP: return stage && dp;
  case ZP_GROUP_PP:
  case ZP_GROUP_TIED: return dp && tp;
  case ZP_GROUP_EDP: return stage && tp && block && a.dp % c->ep == b.dp % c->ep;
  case ZP_GROUP_EP: return stage && tp && a.dp / c->ep == b.dp / c->ep;
  default: return stage && tp && a.dp % S == b.dp % S;
  }
}

static void check_group(const zp_config *c, int32_t replicas, int32_t group, int32_t rank)
{
  const zp_block_rank b = zp_block_of(c, replicas, rank);
  const int32_t n = zp_block_group_size(&b, group, 0);
  int32_t members = 0;
  for (int32_t q = 0; q < zp_world(c); q++) {
    if (!same_group(c, c->dp / replicas, group, rank, q)) continue;
    if (members == 0) cr_assert_eq(zp_block_group_id(&b, group, 0), q);
    if (q == rank) cr_assert_eq(zp_block_group_index(&b, group, 0), members);
    cr_assert_eq(zp_block_group_member(&b, group, 0, members++), q, "group %d of rank %d", group,
                 rank);
  }
  cr_assert_eq(n, members);
  cr_assert_eq(zp_block_group_member(&b, group, 0, n), -1);
  cr_assert_eq(zp_block_group_member(&b, group, 0, -1), -1);
}

Test(block, groups_are_those_of_the_text)
{
  zp_error err = {0};
  for (int32_t dp = 1; dp <= MOST / PP / TP; dp++)
    for (int32_t ep = 1; ep <= 3; ep++)
      for (int32_t replicas = 1; replicas <= 6; replicas++) {
        const zp_config c = job(dp, ep, 1);
        if (dp % (ep * replicas) != 0) continue;
        cr_assert_eq(zp_block_check(&c, replicas, &err), ZP_OK);
        for (int32_t rank = 0; rank < zp_world(&c); rank++)
          for (int32_t group = 0; group < ZP_ALL_GROUPS; group++)
            check_group(&c, replicas, group, rank);
      }
}

Test(block, a_rank_keeps_its_stage_and_tp_index)
{
  const zp_config c = job(6, 1, 2);
  for (int32_t rank = 0; rank < zp_world(&c); rank++) {
    const zp_block_rank b = zp_block_of(&c, 3, rank);
    const zp_coord at = zp_coord_of(&c, rank);
    cr_assert(b.at.pp == at.pp && b.at.tp == at.tp && b.cfg.dp == 2 && b.job == &c);
    cr_assert_eq(b.index * 2 + b.at.dp, at.dp);
  }
}

static void refused(int32_t dp, int32_t ep, int32_t stage, int32_t replicas, const char *why)
{
  const zp_config c = job(dp, ep, stage);
  zp_error err = {0};
  cr_assert_eq(zp_block_check(&c, replicas, &err), ZP_E_REFUSED, "%d of %d", replicas, dp);
  cr_assert_not_null(strstr(err.text, why), "%s", err.text);
}

Test(block, replicas_that_make_no_blocks_are_refused)
{
  const zp_config whole = job(6, 1, 0);
  zp_error err = {0};
  cr_assert_eq(zp_block_check(&whole, 1, &err), ZP_OK);
  refused(6, 1, 1, 0, "0 is out of range; allowed is 1 to dp, 6 (LIM-10)");
  refused(6, 1, 1, -2, "-2 is out of range");
  refused(6, 1, 1, 12, "12 is out of range");
  refused(6, 1, 0, 2, "2 is refused at ZeRO stage 0");
  refused(6, 1, 2, 4, "ep x replicas, 1 x 4, must divide dp, 6");
  refused(6, 2, 2, 2, "ep x replicas, 2 x 2, must divide dp, 6");
}

/* ---- Entry alignment ------------------------------------------------------------------------- */

Test(block, trained_untied_entries_take_a_multiple_of_the_entry_alignment)
{
  static const zp_param given[6] = {
      {5, 0, 0, -1, 0, 0, 0, 0}, {64, 0, 1, -1, 1, 0, 0, 0}, {0, 0, 0, -1, 0, 0, 0, 0},
      {5, 0, 0, -1, 0, 0, 1, 0}, {65, 0, 0, -1, 0, 1, 0, 0}, {5, 0, 0, 0, 0, 0, 0, 0},
  };
  static const int64_t want[6] = {64, 64, 0, 5, 128, 5};
  zp_config c = job(2, 1, 1);
  c.n_params = 6;
  c.params = given;
  zp_block_rank b = zp_block_of(&c, 1, 0);
  cr_assert_eq(zp_block_align(&b, 0) | zp_block_align(&b, 1), 0);
  cr_assert(b.cfg.params == given && b.sized == NULL);
  cr_assert_eq(zp_block_align(&b, 64), 0);
  for (int32_t j = 0; j < 6; j++) {
    zp_param p = b.cfg.params[j];
    cr_assert_eq(p.numel, want[j], "entry %d: %lld", j, (long long)p.numel);
    p.numel = given[j].numel;
    cr_assert_eq(memcmp(&p, &given[j], sizeof p), 0, "entry %d: the rest of it changed", j);
  }
  zp_block_close(&b);
}

Test(block, an_entry_owns_the_elements_below_its_numel)
{
  const zp_config c = job(2, 1, 1); /* numel 4 */
  const zp_block_rank b = zp_block_of(&c, 1, 0);
  for (int64_t offset = 0; offset < 9; offset++)
    for (int64_t count = 0; count < 9; count++) {
      int64_t own = 0;
      for (int64_t e = offset; e < offset + count; e++) own += e < 4;
      cr_assert_eq(zp_block_own(&b, 0, offset, count), own);
    }
}

Test(block, entry_alignments_out_of_range_are_refused)
{
  static const int64_t no[3] = {-1, 4097, INT64_MAX};
  zp_config c = job(2, 1, 1);
  zp_param large[2] = {list[0], list[1]};
  zp_error err = {0};
  for (int32_t i = 0; i < 3; i++) cr_assert_eq(zp_block_check_align(&c, no[i], &err), ZP_E_REFUSED);
  for (int64_t a = 0; a <= 4096; a += 64) cr_assert_eq(zp_block_check_align(&c, a, &err), 0);
  /* 2^40 elements over tp, one less than a multiple of the alignment on each rank */
  large[0] = (zp_param){.numel = ZP_MAX_ELEMENTS / TP - 1, .tied = -1, .sharded = 1};
  large[1] = (zp_param){.numel = 2, .stage = 1, .tied = -1};
  c.params = large;
  cr_assert_eq(zp_block_check_align(&c, 1, &err), 0);
  cr_assert_eq(zp_block_check_align(&c, 2, &err), ZP_E_REFUSED);
  cr_assert_not_null(strstr(err.text, "LIM-11"), "%s", err.text);
}
