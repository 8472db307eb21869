/* random_topologies: trains random topologies of 2 to 24 ranks with ref and with the CUDA engine,
 * all ranks on one device, until CASES topologies are done and SECONDS have passed, at most LIMIT_S
 * seconds. Prints one line of JSON. Exit codes: 0: no difference; 1: a difference; 2: usage; 3: the
 * environment failed, or SIGTERM stopped it, and it prints the case in progress.
 *
 *     random_topologies CASES SECONDS LIMIT_S SEED */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../ref/base/clock.h"
#include "../../ref/plan/topology.h"
#include "../../ref/verify/case.h"
#include "../one_device/ranks_on_device.h"
#include "../verify/case.h"
#include "../verify/faults.h"

enum { ORDERS = 2, SIZES = ZP_NCCL_THREADS_RANKS_MAX + 1 };

typedef struct tally {
  int64_t cases, orders, ranks[SIZES], skipped;
} tally;

/* fuzz's cases have at most 16 ranks: some get more data-parallel ranks. 1: the case has one rank,
 * or too many. */
static int widen(uint64_t seed, uint64_t i, zp_case *c)
{
  static zp_case wide;
  static char text[ZP_CASE_TEXT];
  char why[256];
  uint64_t state = seed ^ i << 20;
  const int32_t world = zp_world(&c->cfg);
  const int32_t most = ZP_NCCL_THREADS_RANKS_MAX / world;
  const int32_t times = 1 + (int32_t)(zp_random_next(&state) % (uint64_t)(most > 0 ? most : 1));
  if (zp_random_next(&state) % 2 == 0 && times > 1) {
    zp_case_copy(&wide, c);
    wide.cfg.dp *= times;
    zp_case_format(&wide, text, sizeof text);
    zp_case_init(&wide);
    if (zp_case_parse(&wide, text, why, sizeof why) == 0) zp_case_copy(c, &wide);
  }
  return zp_world(&c->cfg) < 2 || zp_world(&c->cfg) > ZP_NCCL_THREADS_RANKS_MAX;
}

/* The case and order in progress: printed with a difference, and when a hanging program is
 * stopped. */
static char current[ZP_CASE_TEXT + 64];

static void note(const zp_case *c, uint64_t number)
{
  static char text[ZP_CASE_TEXT];
  zp_case_format(c, text, sizeof text);
  snprintf(current, sizeof current, "case: %s\norder %" PRIu64 "\n", text, number);
}

static void print_when_stopped(int signal)
{
  (void)signal;
  _exit(write(STDERR_FILENO, current, strlen(current)) < 0 ? 4 : 3);
}

static int run_case(const zp_case *c, tally *all)
{
  static zp_diff_case j;
  static zp_error err;
  int result = 0;
  if (zp_diff_case_open(&j, c, &err)) {
    fprintf(stderr, "ref: %s\n", err.text);
    zp_diff_case_close(&j);
    return 3;
  }
  for (uint64_t k = 0; k < ORDERS && result == 0; k++) {
    const uint64_t number = c->schedule + 2 * k + all->cases % 2;
    zp_schedule s = zp_case_schedule(c, number, NULL);
    note(c, number);
    const zp_diff *where = zp_diff_case_run(&j, &s);
    if (where) {
      fprintf(stderr, "%s%s: %s\n", current, zp_diff_finding(where)->kind,
              zp_diff_finding(where)->text);
      result = 1;
    }
    all->orders++;
  }
  all->ranks[zp_world(&c->cfg)]++;
  all->cases++;
  zp_diff_case_close(&j);
  return result;
}

static void print_tally(const tally *t, double seconds, uint64_t seed, int result)
{
  const char *mark = "";
  printf("{\"cases\": %" PRId64 ", \"orders\": %" PRId64 ", \"seconds\": %.1f, \"seed\": %" PRIu64
         ", \"equal\": %s, \"ranks\": {",
         t->cases, t->orders, seconds, seed, result ? "false" : "true");
  for (int32_t n = 0; n < SIZES; n++) {
    if (t->ranks[n] == 0) continue;
    printf("%s\"%d\": %" PRId64, mark, n, t->ranks[n]);
    mark = ", ";
  }
  printf("}}\n");
}

int main(int argc, char **argv)
{
  static zp_case c;
  tally all = {0};
  const double begin = zp_clock_s();
  int result = 0;
  uint64_t seed;
  if (argc != 5) {
    fprintf(stderr, "usage: %s CASES SECONDS LIMIT_S SEED\n", argv[0]);
    return 2;
  }
  seed = strtoull(argv[4], NULL, 10);
  signal(SIGTERM, print_when_stopped);
  const int failed = zp_ranks_on_one_device();
  if (failed) {
    fprintf(stderr, "no pinned memory, or no device: CUDA error %d\n", failed);
    return 3;
  }
  for (uint64_t i = 0; result == 0; i++) {
    const double spent = zp_clock_s() - begin;
    uint32_t lacking;
    if (spent >= atof(argv[3])) break;
    if (all.cases >= atoll(argv[1]) && spent >= atof(argv[2])) break;
    zp_cuda_random_case(seed, i, &c, &lacking);
    if (widen(seed, i, &c)) continue;
    result = run_case(&c, &all);
  }
  print_tally(&all, zp_clock_s() - begin, seed, result);
  if (result == 0 && all.cases < atoll(argv[1])) {
    fprintf(stderr, "%" PRId64 " cases in %s s, expected %s\n", all.cases, argv[3], argv[1]);
    return 3;
  }
  return result;
}
