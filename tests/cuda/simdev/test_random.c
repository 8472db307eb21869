/* Random correct programs are correct in every order; without a required wait they are not. */
#include <criterion/criterion.h>

#include "random_case.h"

Test(random, random_programs_equal_their_sequential_results)
{
  static program p;
  simdev_options o = {0};
  simdev *s = simdev_open(RANKS, RANKS, NULL, NULL);
  for (int r = 0; r < RANKS; r++) simdev_host(s, r, run_program, &p);
  for (o.seed = 1; o.seed <= 400; o.seed++) {
    make_program(&p, o.seed / 4);
    o.order = (simdev_order)(o.seed % 4);
    simdev_reset(s, &o);
    cr_assert_eq(simdev_run(s), SIMDEV_OK, "seed %d: %s", (int)o.seed, simdev_result(s)->text);
  }
  simdev_close(s);
}

/* Dropping a wait that the analysis calls redundant changes nothing; dropping a required one shows
 * in a wrong result, but for a few: what was read too early may be overwritten. */
Test(random, random_programs_require_the_waits_that_the_analysis_says)
{
  static program p;
  int needed = 0, found = 0;
  for (uint64_t k = 1; k <= 6; k++) {
    make_program(&p, k);
    for (int drop = 0; drop < count_waits(&p); drop++) {
      int bad;
      p.drop = drop;
      bad = count_seeds(RANKS, run_program, &p, (simdev_options){0}, has_race(&p) ? 200 : 10,
                        SIMDEV_E_HOST);
      if (!has_race(&p)) cr_assert_eq(bad, 0, "program %d, wait %d", (int)k, drop);
      needed += has_race(&p);
      found += bad > 0;
    }
  }
  cr_assert_gt(needed, 20);
  cr_assert_gt(found, needed * 3 / 4, "%d of %d", found, needed);
}
