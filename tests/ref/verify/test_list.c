/* Laws of ref/model/list.h. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "../../../ref/model/list.h"
#include "../../../ref/plan/topology.h"

static int32_t groups_of(const zp_param *p, int32_t n, int32_t stage)
{
  int32_t seen = 0;
  for (int32_t g = 0; g < 3; g++) {
    for (int32_t j = 0; j < n; j++) {
      if (p[j].stage != stage || p[j].optgroup != g) continue;
      seen++;
      break;
    }
  }
  return seen;
}

Test(list, every_cut_is_a_valid_configuration_of_the_same_7e9_elements)
{
  static const int32_t tps[] = {1, 2, 4, 8, 64};
  for (int32_t pp = 1; pp <= 34; pp++) {
    for (int32_t i = 0; i < 5; i++) {
      zp_config c;
      zp_refusal why;
      zp_param *p;
      char(*names)[ZP_LIST_NAME];
      int64_t all = 0;
      memset(&c, 0, sizeof c);
      c.pp = pp;
      c.dp = c.ep = c.align = c.bucket = c.micro_batches = 1;
      c.tp = tps[i];
      cr_assert_eq(zp_list_7b(pp, c.tp, &p, &names, &c.n_params, &c.optgroups, &c.tied_keys), 0);
      c.params = p;
      cr_assert_eq(zp_config_check(&c, &why), 0, "pp %d tp %d: field %d", pp, c.tp, why.field);
      for (int32_t j = 0; j < c.n_params; j++) {
        all += p[j].numel * (p[j].sharded ? c.tp : 1);
        cr_assert_gt(strlen(names[j]), 0);
      }
      cr_assert_eq(all, 6889144320 + 4096 * 65, "%lld", (long long)all);
      free(p);
      free(names);
    }
  }
}

Test(list, optimizer_groups_are_unequal_over_the_stages)
{
  for (int32_t pp = 3; pp <= 34; pp++) {
    zp_param *p;
    int32_t n, groups, keys;
    cr_assert_eq(zp_list_7b(pp, 1, &p, NULL, &n, &groups, &keys), 0);
    cr_assert_eq(groups_of(p, n, 0), pp > 32 ? 1 : 3);
    cr_assert_eq(groups_of(p, n, 1), 2);
    cr_assert_eq(groups_of(p, n, pp - 1), pp == 34 ? 2 : 3);
    cr_assert_eq(p[0].tied, p[n - 1].tied);
    free(p);
  }
}

Test(list, what_it_cannot_cut_is_refused)
{
  zp_param *p = NULL;
  int32_t n = -7, groups, keys;
  cr_assert_eq(zp_list_7b(0, 1, &p, NULL, &n, &groups, &keys), -1);
  cr_assert_eq(zp_list_7b(35, 1, &p, NULL, &n, &groups, &keys), -1);
  cr_assert_eq(zp_list_7b(4, 3, &p, NULL, &n, &groups, &keys), -1);
  cr_assert_eq(zp_list_7b(4, 0, &p, NULL, &n, &groups, &keys), -1);
  cr_assert_eq(n, -7);
  cr_assert_null(p);
}
