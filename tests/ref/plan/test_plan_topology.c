/* Laws of ref/plan/topology and the limits of a configuration. */
#include <criterion/criterion.h>

#include "../../../ref/plan/topology.h"

static zp_config topology(int32_t pp, int32_t dp, int32_t tp, int32_t ep)
{
  static const zp_param list[3] = {{.numel = 7, .stage = 0, .tied = 0},
                                   {.numel = 3, .stage = 0, .tied = -1},
                                   {.numel = 7, .stage = 1, .tied = 0}};
  zp_config c = {.pp = pp,
                 .dp = dp,
                 .tp = tp,
                 .ep = ep,
                 .stage = 2,
                 .optgroups = 1,
                 .tied_keys = 1,
                 .micro_batches = 1,
                 .bucket = 8,
                 .align = 1};
  c.params = list;
  c.n_params = pp > 1 ? 3 : 2;
  return c;
}

/* spec: TOPO-1 */
Test(topology, rank_and_coordinates_are_inverse)
{
  for (int32_t pp = 1; pp <= 4; pp++)
    for (int32_t dp = 1; dp <= 5; dp++)
      for (int32_t tp = 1; tp <= 3; tp++) {
        const zp_config c = topology(pp, dp, tp, 1);
        for (int32_t r = 0; r < zp_world(&c); r++) {
          const zp_coord at = zp_coord_of(&c, r);
          cr_assert(at.pp < pp && at.dp < dp && at.tp < tp);
          cr_assert_eq(zp_rank_of(&c, at), r);
        }
      }
}

/* Every member names the same members, in ascending order, and itself at its index.
 * spec: TOPO-2, TOPO-3, TOPO-4, TOPO-5 */
static void check_group(const zp_config *c, int32_t group, int32_t r)
{
  const zp_coord at = zp_coord_of(c, r);
  const int32_t n = zp_group_size(c, group, 0, at), self = zp_group_index(c, group, 0, at);
  if (n == 0) {
    cr_assert(group == ZP_GROUP_TIED && self == -1 && zp_group_id(c, group, 0, at) == -1);
    return;
  }
  cr_assert_eq(zp_group_member(c, group, 0, at, self), r);
  cr_assert_eq(zp_group_member(c, group, 0, at, n), -1);
  for (int32_t i = 0; i < n; i++) {
    const int32_t m = zp_group_member(c, group, 0, at, i);
    const zp_coord there = zp_coord_of(c, m);
    if (i > 0) cr_assert_gt(m, zp_group_member(c, group, 0, at, i - 1));
    cr_assert_eq(zp_group_index(c, group, 0, there), i);
    cr_assert_eq(zp_group_id(c, group, 0, there), zp_group_id(c, group, 0, at));
  }
}

Test(topology, members_of_a_group_agree_on_the_group)
{
  for (int32_t pp = 1; pp <= 3; pp++)
    for (int32_t dp = 1; dp <= 6; dp++)
      for (int32_t ep = 1; ep <= dp; ep++) {
        const zp_config c = topology(pp, dp, 2, ep);
        if (dp % ep != 0) continue;
        for (int32_t r = 0; r < zp_world(&c); r++)
          for (int32_t g = 0; g < ZP_GROUPS; g++) check_group(&c, g, r);
      }
}

/* spec: TOPO-3 */
Test(topology, ep_and_edp_cut_dp_crosswise)
{
  const zp_config c = topology(1, 6, 1, 2);
  for (int32_t d = 0; d < 6; d++) {
    const zp_coord at = {0, d, 0};
    cr_assert_eq(zp_group_index(&c, ZP_GROUP_EP, -1, at), d % 2);
    cr_assert_eq(zp_group_index(&c, ZP_GROUP_EDP, -1, at), d / 2);
    cr_assert_eq(zp_group_size(&c, ZP_GROUP_EP, -1, at) * zp_group_size(&c, ZP_GROUP_EDP, -1, at),
                 6);
  }
}

static void refused(zp_config c, int32_t field, int64_t value, int64_t lo, int64_t hi)
{
  zp_refusal why;
  cr_assert_eq(zp_config_check(&c, &why), -1, "field %d value %lld", field, (long long)value);
  cr_assert_eq(why.field, field, "field %d, not %d", why.field, field);
  cr_assert_eq(why.value, value);
  cr_assert_eq(why.lo, lo);
  cr_assert_eq(why.hi, hi);
}

/* spec: LIM-0, LIM-1, LIM-2, LIM-3, LIM-4, LIM-5, LIM-6 */
Test(config, what_is_out_of_the_limits_is_refused_by_name)
{
  const zp_config good = topology(2, 4, 2, 2);
  zp_config c;
  zp_refusal why;
  cr_assert_eq(zp_config_check(&good, &why), 0);
  cr_assert_eq(why.field, ZP_FIELD_NONE);
#define WITH(name, bad, id, lo, hi) c = good, c.name = (bad), refused(c, id, c.name, lo, hi)
  WITH(pp, 0, ZP_FIELD_PP, 1, ZP_MAX_RANKS);
  WITH(dp, -3, ZP_FIELD_DP, 1, ZP_MAX_RANKS);
  WITH(tp, 1 << 21, ZP_FIELD_TP, 1, ZP_MAX_RANKS);
  WITH(ep, 3, ZP_FIELD_EP, 1, 4);
  WITH(ep, 8, ZP_FIELD_EP, 1, 4);
  WITH(stage, 3, ZP_FIELD_STAGE, 0, 2);
  WITH(reduce, 2, ZP_FIELD_REDUCE, 0, 1);
  WITH(precision, ZP_I64, ZP_FIELD_PRECISION, 0, 2);
  WITH(dynamic_shapes, 2, ZP_FIELD_DYNAMIC_SHAPES, 0, 1);
  WITH(optgroups, 0, ZP_FIELD_OPTGROUPS, 1, ZP_MAX_GROUPS);
  WITH(tied_keys, -1, ZP_FIELD_TIED_KEYS, 0, ZP_MAX_TIED);
  WITH(n_params, -1, ZP_FIELD_N_PARAMS, 0, ZP_MAX_PARAMS);
  WITH(micro_batches, 0, ZP_FIELD_MICRO_BATCHES, 1, ZP_MAX_MICRO_BATCHES);
  WITH(bucket, ZP_MAX_BUCKET + 1, ZP_FIELD_BUCKET, 1, ZP_MAX_BUCKET);
  WITH(align, 0, ZP_FIELD_ALIGN, 1, ZP_MAX_ALIGN);
#undef WITH
  c = good, c.pp = c.dp = c.tp = 1 << 20;
  refused(c, ZP_FIELD_RANKS, (int64_t)1 << 60, 1, ZP_MAX_RANKS);
  c = good, c.dp = 1 << 12, c.micro_batches = 1 << 19;
  refused(c, ZP_FIELD_CONTRIBUTIONS, (int64_t)1 << 31, 1, ZP_MAX_CONTRIBUTIONS);
}

static void refuse_entry(const zp_param *entry, int32_t field, int64_t value, int64_t lo,
                         int64_t hi)
{
  zp_config c = topology(2, 4, 2, 2);
  zp_param list[3] = {c.params[0], c.params[1], *entry};
  c.params = list;
  refused(c, field, value, lo, hi);
}

/* spec: LIM-7, LIM-8, LIM-9 */
Test(config, a_bad_entry_is_refused_by_name)
{
  const zp_param good = {.numel = 7, .stage = 1, .tied = 0};
  zp_param p;
#define WITH(name, bad, id, lo, hi) p = good, p.name = (bad), refuse_entry(&p, id, p.name, lo, hi)
  WITH(numel, -1, ZP_FIELD_NUMEL, 0, ZP_MAX_ELEMENTS);
  WITH(stage, 2, ZP_FIELD_PARAM_STAGE, 0, 1);
  WITH(stage, -1, ZP_FIELD_PARAM_STAGE, 0, 1);
  WITH(optgroup, 1, ZP_FIELD_OPTGROUP, 0, 0);
  WITH(tied, 1, ZP_FIELD_TIED, -1, 0);
  WITH(sharded, 2, ZP_FIELD_SHARDED, 0, 1);
  WITH(expert, 1, ZP_FIELD_EXPERT, 0, 0);
  WITH(frozen, -1, ZP_FIELD_FROZEN, 0, 1);
  WITH(numel, 8, ZP_FIELD_TIED_NUMEL, 7, 7);
  WITH(sharded, 1, ZP_FIELD_TIED_SHARDED, 0, 0);
  WITH(frozen, 1, ZP_FIELD_TIED_FROZEN, 0, 0);
#undef WITH
  p = good, p.tied = -1, p.sharded = 1, p.numel = ZP_MAX_ELEMENTS;
  refuse_entry(&p, ZP_FIELD_ELEMENTS, 2 * ZP_MAX_ELEMENTS + 10, 0, ZP_MAX_ELEMENTS);
}

/* spec: LIM-4 */
Test(config, too_many_tied_entries_are_refused)
{
  static zp_param many[1025];
  zp_config c = topology(1, 1, 1, 1);
  for (int32_t i = 0; i < 1025; i++) many[i].tied = 0;
  c.params = many, c.n_params = 1025;
  refused(c, ZP_FIELD_TIED_ENTRIES, 1025, 0, ZP_MAX_TIED);
}
