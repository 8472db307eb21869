/* Trials without Criterion, for ThreadSanitizer:
 *   engine_threads FROM TO N      fuzz's cases FROM … TO-1 of seed 56, in N orders each
 * One line for each case with a finding, and exit code 1 then. Cases with odd numbers have
 * announcing hosts and a watchdog; with ZP_ENGINE_NO_LOCK set, the lock of these hosts locks
 * nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../cuda/verify/case.h"
#include "../../../cuda/verify/state.h"

/* Whether something is found, in any of the orders; -1: the case was not opened. */
static int finds(uint64_t number, uint64_t orders)
{
  static zp_diff_case j;
  static zp_error err;
  zp_case c;
  uint32_t lacking;
  int found = 0;
  zp_cuda_random_case(56, number, &c, &lacking);
  c.reload.pp = 0;
  if (zp_diff_case_open(&j, &c, &err)) return -1;
  j.diff->hooks.no_lock = getenv("ZP_ENGINE_NO_LOCK") != NULL;
  for (uint64_t k = 0; k < orders && !found; k++) {
    zp_schedule s = zp_schedule_of(number * 1000 + k);
    s.hosts = s.alarm = number % 2;
    s.producers = 2 + (int32_t)(k % 2);
    found = zp_diff_run(j.diff, &s);
    if (found)
      printf("case %d, %s: %s: %.*s\n", (int)number, s.hosts ? "several hosts" : "one host",
             zp_diff_finding(j.diff)->kind, (int)strcspn(zp_diff_finding(j.diff)->text, "\n"),
             zp_diff_finding(j.diff)->text);
  }
  zp_diff_case_close(&j);
  return found;
}

int main(int argc, char **argv)
{
  int found = 0;
  if (argc != 4) {
    fprintf(stderr, "usage: engine_threads FROM TO N\n");
    return 2;
  }
  for (uint64_t n = strtoull(argv[1], NULL, 10); n < strtoull(argv[2], NULL, 10); n++) {
    const int here = finds(n, strtoull(argv[3], NULL, 10));
    if (here < 0) return 2;
    found += here;
  }
  return found > 0;
}
