/* Random programs under ThreadSanitizer: silent when correct; and without one of their waits, a
 * race if and only if the analysis says so, under whatever order. Built with -fsanitize=thread.
 *   race_random FIRST LAST    programs; prints "N programs, W waits, R needed" */
#include <stdio.h>
#include <stdlib.h>

#include "../../cuda/simdev/random_case.h"

static int judge(simdev *s, program *p, simdev_options *o, uint64_t k)
{
  const simdev_status want = has_race(p) ? SIMDEV_E_RACE : SIMDEV_OK;
  simdev_reset(s, o);
  if (simdev_run(s) == want) return want == SIMDEV_E_RACE;
  printf("program %d, wait %d, order %d: %s\n", (int)k, p->drop, (int)o->order,
         want == SIMDEV_OK ? simdev_result(s)->text : "no race was reported");
  exit(1);
}

int main(int argc, char **argv)
{
  static program p;
  simdev_options o = {.allow_leaks = 1};
  simdev *s = simdev_open(RANKS, RANKS, NULL, NULL);
  int waits = 0, needed = 0;
  if (argc < 3 || !s) return 2;
  for (int r = 0; r < RANKS; r++) simdev_host(s, r, run_program, &p);
  for (uint64_t k = strtoull(argv[1], NULL, 10); k <= strtoull(argv[2], NULL, 10); k++) {
    make_program(&p, k);
    o.seed = k;
    for (o.order = SIMDEV_RANDOM; o.order <= SIMDEV_LAZY; o.order++) judge(s, &p, &o, k);
    for (p.drop = 0; p.drop < count_waits(&p); p.drop++) {
      o.seed = k + (uint64_t)p.drop;
      o.order = (simdev_order)(o.seed % 4);
      needed += judge(s, &p, &o, k);
      waits++;
    }
  }
  printf("%s to %s: %d waits, %d needed\n", argv[1], argv[2], waits, needed);
  simdev_close(s);
  return 0;
}
