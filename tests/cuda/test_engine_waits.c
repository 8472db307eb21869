/* How often a host waits for its device. */
#include <criterion/criterion.h>

#include "engine_case.h"

/* How often a host of the rank went on because an item of the device had ended. */
static int64_t host_waits(const simdev *s, int32_t rank)
{
  int64_t n, count = 0;
  const simdev_edge *edge = simdev_edges(s, &n);
  for (int64_t i = 0; i < n; i++) count += edge[i].kind == SIMDEV_EDGE_HOST && edge[i].rank == rank;
  return count;
}

/* One more step costs each host one wait, whatever the scale: for the step before the last one or,
 * where the caller asks what came out, for that; and under dynamic shapes one a meta message. The
 * watchdog waits for nothing. */
Test(engine, waits_once_a_step_for_the_step_before_the_last_one)
{
  int32_t jobs[2] = {0, 0};
  for (uint32_t seed = 1; seed <= 60; seed++) {
    static job j;
    int64_t waits[RANKS_MAX];
    simdev *s;
    cr_assert_eq(job_fill(&j, seed, RANKS_MAX), 0);
    if (j.steps < 4 || j.saves) {
      job_free(&j);
      continue;
    }
    s = job_simdev(&j, NULL);
    for (j.steps_run = 3; j.steps_run <= 4; j.steps_run++) {
      const simdev_options o = {.seed = seed, .order = (simdev_order)(seed % 4), .record = 1};
      cr_assert_eq(job_run(&j, s, &o), SIMDEV_OK, "%s %s", j.text, simdev_result(s)->text);
      for (int32_t r = 0; r < j.world; r++) {
        const int64_t now = host_waits(s, r);
        const int meta = j.r.c.dynamic_shapes && zp_coord_of(&j.r.c, r).pp > 0;
        const int64_t most = 1 + (meta ? j.r.c.micro_batches : 0);
        if (j.steps_run == 4)
          cr_assert_eq(now - waits[r], most, "job %u, rank %d: %lld waits", seed, r,
                       (long long)(now - waits[r]));
        waits[r] = now;
      }
    }
    jobs[j.always_get]++;
    simdev_close(s);
    job_free(&j);
  }
  cr_assert(jobs[0] > 5 && jobs[1] > 5);
}
