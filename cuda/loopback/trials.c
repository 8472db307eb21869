/* loopback_trials: random topologies of 2 to 24 ranks, each trained by ref and by the CUDA engine
 * with all ranks on one device, until so many topologies and so many seconds are reached. Prints
 * one line of JSON. Exit 0: no difference; 1: a difference; 2: usage; 3: the environment failed, or
 * it was stopped (SIGTERM), and tells where.
 *
 *     loopback_trials CASES SECONDS LIMIT_S SEED */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../ref/cli/fuzz_case.h"
#include "../../ref/plan/topology.h"
#include "../trial/case.h"
#include "../trial/faults.h"
#include "place.h"

enum { ORDERS = 2, SIZES = ZP_LOOPBACK_RANKS + 1 };

typedef struct tally {
  int64_t cases, orders, ranks[SIZES], skipped;
} tally;

static double now_s(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* fuzz's cases have at most 16 ranks: some are given more data-parallel ones. 0, or 1 where the
 * case is none for here. */
static int widen(uint64_t seed, uint64_t i, zp_case *c)
{
  static zp_case wide;
  static char text[ZP_CASE_TEXT];
  char why[256];
  uint64_t state = seed ^ i << 20;
  const int32_t world = zp_world(&c->cfg);
  const int32_t most = ZP_LOOPBACK_RANKS / world;
  const int32_t times = 1 + (int32_t)(zp_trial_random(&state) % (uint64_t)(most > 0 ? most : 1));
  if (zp_trial_random(&state) % 2 == 0 && times > 1) {
    zp_case_copy(&wide, c);
    wide.cfg.dp *= times;
    zp_case_format(&wide, text, sizeof text);
    zp_case_init(&wide);
    if (zp_case_parse(&wide, text, why, sizeof why) == 0) zp_case_copy(c, &wide);
  }
  return zp_world(&c->cfg) < 2 || zp_world(&c->cfg) > ZP_LOOPBACK_RANKS;
}

/* What is being tried: what a difference is told with, and the end of who hangs. */
static char tried[ZP_CASE_TEXT + 64];

static void note(const zp_case *c, uint64_t number)
{
  static char text[ZP_CASE_TEXT];
  zp_case_format(c, text, sizeof text);
  snprintf(tried, sizeof tried, "case: %s\norder %" PRIu64 "\n", text, number);
}

static void tell_when_stopped(int signal)
{
  (void)signal;
  _exit(write(STDERR_FILENO, tried, strlen(tried)) < 0 ? 4 : 3);
}

static int run_case(const zp_case *c, tally *all)
{
  static zp_trial_subject j;
  static zp_error err;
  int result = 0;
  if (zp_trial_subject_open(&j, c, &err)) {
    fprintf(stderr, "ref: %s\n", err.text);
    zp_trial_subject_close(&j);
    return 3;
  }
  for (uint64_t k = 0; k < ORDERS && result == 0; k++) {
    const uint64_t number = c->schedule + 2 * k + all->cases % 2;
    zp_trial_schedule s = zp_twin_schedule(c, number, NULL);
    note(c, number);
    const zp_trial *where = zp_trial_subject_run(&j, &s);
    if (where) {
      fprintf(stderr, "%s%s: %s\n", tried, zp_trial_why(where)->kind, zp_trial_why(where)->text);
      result = 1;
    }
    all->orders++;
  }
  all->ranks[zp_world(&c->cfg)]++;
  all->cases++;
  zp_trial_subject_close(&j);
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
  const double begin = now_s();
  int result = 0;
  uint64_t seed;
  if (argc != 5) {
    fprintf(stderr, "usage: %s CASES SECONDS LIMIT_S SEED\n", argv[0]);
    return 2;
  }
  seed = strtoull(argv[4], NULL, 10);
  signal(SIGTERM, tell_when_stopped);
  const int failed = zp_loopback_place_ranks();
  if (failed) {
    fprintf(stderr, "no pinned memory for the trials, or no device: error %d of CUDA\n", failed);
    return 3;
  }
  for (uint64_t i = 0; result == 0; i++) {
    const double spent = now_s() - begin;
    uint32_t lacking;
    if (spent >= atof(argv[3])) break;
    if (all.cases >= atoll(argv[1]) && spent >= atof(argv[2])) break;
    zp_trial_random_case(seed, i, &c, &lacking);
    if (widen(seed, i, &c)) continue;
    result = run_case(&c, &all);
  }
  print_tally(&all, now_s() - begin, seed, result);
  if (result == 0 && all.cases < atoll(argv[1])) {
    fprintf(stderr, "%" PRId64 " cases in the time, not %s\n", all.cases, argv[1]);
    return 3;
  }
  return result;
}
