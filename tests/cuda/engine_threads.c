/* Jobs of engine_case.h without Criterion, for ThreadSanitizer:
 *   engine_threads FROM TO SEEDS      jobs FROM … TO-1, under SEEDS seeds each
 * One line for each job with a finding, and exit code 1 then. Jobs with odd numbers have announcing
 * hosts and a watchdog. */
#include "engine_case.h"

/* Under how many of the seeds something is found. */
static int findings_of(uint32_t number, int seeds)
{
  static job j;
  simdev *s;
  int found = 0;
  if (job_fill(&j, number, RANKS_MAX)) return -1;
  s = job_simdev(&j, NULL);
  for (int k = 0; s && k < seeds && !found; k++) {
    const simdev_options o = {.seed = number * 1000u + (uint64_t)k, .order = (simdev_order)(k % 4)};
    if (job_run(&j, s, &o) == SIMDEV_OK) continue;
    found++;
    printf("job %u, %s: %.*s\n", number, j.threads ? "several hosts" : "one host",
           (int)strcspn(simdev_result(s)->text, "\n"), simdev_result(s)->text);
  }
  simdev_close(s);
  job_free(&j);
  return s ? found : -1;
}

int main(int argc, char **argv)
{
  int found = 0;
  if (argc != 4) {
    fprintf(stderr, "usage: engine_threads FROM TO SEEDS\n");
    return 2;
  }
  for (int n = atoi(argv[1]); n < atoi(argv[2]); n++) {
    const int here = findings_of((uint32_t)n, atoi(argv[3]));
    if (here < 0) return 2;
    found += here;
  }
  return found > 0;
}
