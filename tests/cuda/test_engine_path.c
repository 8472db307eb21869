/* No over-synchronisation: what the engine orders is what the plan demands, no less and no more,
 * and under any costs everything ends when the plan's critical path says. */
#define _POSIX_C_SOURCE 200809L
#include <criterion/criterion.h>
#include <stdlib.h>

#include "engine_case.h"

enum { JOBS = 150 };

static void check(uint32_t seed, zp_path_report *o)
{
  static job j;
  static uint8_t get[STEPS_MAX];
  char text[200];
  simdev *s;
  cr_assert_eq(job_fill(&j, seed, RANKS_MAX), 0, "job %u: %s", seed, j.text);
  job_describe(&j, text, sizeof text);
  s = job_simdev(&j, NULL);
  cr_assert_not_null(s);
  cr_assert_eq(job_run(&j, s, &(simdev_options){.seed = seed, .record = 1}), SIMDEV_OK, "%s: %s\n%s", text, j.text, simdev_result(s)->text);
  const zp_path_case c = job_path(&j, get);
  const int failed = zp_path_check(&c, s, o);
  if (failed) printf("%s: missing %ld superfluous %ld bound %ld length %ld\n%s\n", text, o->missing, o->superfluous, o->bound, o->length, o->text);
  else printf("%s: %ld nodes %ld demands, %ld ordered, %ld\n", text, o->nodes, o->demands, o->ordered, o->bound);
  simdev_close(s);
  job_free(&j);
}

Test(path, equal)
{
  const char *n = getenv("ZP_ENGINE_JOBS"); /* for long runs */
  const uint32_t jobs = n ? (uint32_t)atoi(n) : JOBS;
  zp_path_report o;
  for (uint32_t seed = 1; seed <= jobs; seed++) check(seed, &o);
}
