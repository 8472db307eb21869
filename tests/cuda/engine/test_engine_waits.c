/* How often a host waits for its device. */
#include <criterion/criterion.h>

#include "../../../cuda/verify/case.h"
#include "../../../cuda/verify/state.h"

enum { CASES = 60, RANKS = 16, STEPS = 3 };

/* How often a host of the rank went on because an item of the device had ended. */
static int64_t host_waits(const simdev *s, int32_t rank)
{
  int64_t n, count = 0;
  const simdev_edge *edge = simdev_edges(s, &n);
  for (int64_t i = 0; i < n; i++) count += edge[i].kind == SIMDEV_EDGE_HOST && edge[i].rank == rank;
  return count;
}

/* Of each rank in `steps` steps. */
static void count_waits(zp_case *c, int32_t steps, const zp_schedule *s, int64_t *waits)
{
  static zp_diff_case j;
  static zp_error err;
  c->steps = steps;
  cr_assert_eq(zp_diff_case_open(&j, c, &err), 0, "%s", err.text);
  cr_assert_eq(zp_diff_run(j.diff, s), 0, "%s", zp_diff_finding(j.diff)->text);
  for (int32_t r = 0; r < j.diff->world; r++) waits[r] = host_waits(j.diff->simulation.now, r);
  zp_diff_case_close(&j);
}

/* One more step costs each host one wait, whatever the scale: for the step before the last one or,
 * where the caller asks what came out, for that; and under dynamic shapes one a meta message. The
 * watchdog waits for nothing; and a caller's own loop for nothing else. */
Test(engine, waits_once_a_step_for_the_step_before_the_last_one)
{
  int32_t asked[2] = {0}, own = 0, met = 0;
  for (uint64_t i = 0; i < CASES; i++) {
    int64_t few[RANKS], more[RANKS];
    const zp_schedule s = {.seed = i,
                           .announce = i,
                           .order = (simdev_order)(i % 4),
                           .producers = 2,
                           .get_each = i / 2 % 2,
                           .hosts = i % 2,
                           .own_loop = i / 4 % 2,
                           .record = 1};
    zp_case c;
    uint32_t lacking;
    zp_cuda_random_case(54, i, &c, &lacking);
    c.reload.pp = 0;
    count_waits(&c, STEPS, &s, few);
    count_waits(&c, STEPS + 1, &s, more);
    for (int32_t r = 0; r < zp_world(&c.cfg); r++) {
      const int meta = c.cfg.dynamic_shapes && zp_coord_of(&c.cfg, r).pp > 0;
      cr_assert_eq(more[r] - few[r], 1 + (meta ? c.cfg.micro_batches : 0),
                   "case %d, rank %d: %lld waits", (int)i, r, (long long)(more[r] - few[r]));
      met += meta;
    }
    asked[s.get_each]++;
    own += s.own_loop && c.cfg.pp == 1;
  }
  cr_assert(asked[0] > 5 && asked[1] > 5 && own > 3 && met > 5, "%d %d", own, met);
}
