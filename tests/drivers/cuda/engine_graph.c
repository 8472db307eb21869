/* Prints what the engine did in one order of each of fuzz's cases FROM … TO-1 (of seed 3): every
 * item that ran, every record and wait, every edge between them, and the resulting bits.
 *   engine_graph FROM TO PRODUCERS [current]
 * Gradients come on PRODUCERS streams; current: the engine waits for the current stream only,
 * that is, the last one that filled a bucket. Two runs with the same output, byte for byte, have
 * the same graphs. Exit code 1: a case failed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../cuda/verify/case.h"
#include "../../../cuda/verify/state.h"

static void print_graph(const simdev *s)
{
  int64_t n;
  const simdev_record *items = simdev_records(s, &n);
  for (int64_t i = 0; i < n; i++)
    printf("item %lld: rank %d stream %d %s, %d %s, call %d, %lld to %lld\n",
           (long long)items[i].issue, items[i].rank, items[i].stream, items[i].stream_name,
           (int)items[i].kind, items[i].name, items[i].call, (long long)items[i].begin,
           (long long)items[i].end);
  const simdev_sync *syncs = simdev_syncs(s, &n);
  for (int64_t i = 0; i < n; i++)
    printf("%s %d: rank %d call %d stream %d event %d, waited %d\n",
           syncs[i].is_wait ? "wait" : "record", syncs[i].n, syncs[i].rank, syncs[i].call,
           syncs[i].stream, syncs[i].event, syncs[i].waited);
  const simdev_edge *edges = simdev_edges(s, &n);
  for (int64_t i = 0; i < n; i++)
    printf("edge %d: %lld to %lld, rank %d call %d\n", (int)edges[i].kind, (long long)edges[i].from,
           (long long)edges[i].to, edges[i].rank, edges[i].call);
}

/* The trial has compared them with ref's, which are at hand. */
static void print_bits(const zp_diff_case *j)
{
  for (int32_t s = 0; s < j->c.steps; s++) {
    const zp_step_result *r = zp_diff_expected(j->diff, s);
    printf("step %d: loss %08x norm %016llx skipped %d\n", (int)s, (unsigned)r->loss,
           (unsigned long long)r->norm_f64, r->skipped);
  }
  for (int32_t q = 0; q < zp_world(&j->c.cfg); q++) {
    const zp_rank *r = zp_sim_rank(zp_diff_ref(j->diff), q);
    printf("rank %d: parameters %016llx\n", (int)q,
           (unsigned long long)zp_hash_params(&j->c.cfg, &r->lay, r->param));
  }
}

static int run(uint64_t i, int32_t producers, int current)
{
  static const zp_injection one_event = {.mistake = ZP_INJECT_ONE_EVENT, .rank = -1};
  static zp_diff_case j;
  static zp_error err;
  zp_case c;
  uint32_t lacking;
  int failed;
  zp_cuda_random_case(3, i, &c, &lacking);
  if (zp_diff_case_open(&j, &c, &err)) {
    printf("%s\n", err.text);
    return 1;
  }
  zp_schedule s = zp_schedule_of(c.schedule);
  s.order = i % 3 == 0 ? SIMDEV_LAZY : i % 3 == 1 ? SIMDEV_PCT : SIMDEV_RANDOM;
  s.producers = producers;
  s.record = 1;
  if (current) s.inject = &one_event;
  printf("case %llu\n", (unsigned long long)i);
  failed = zp_diff_run(j.diff, &s);
  if (failed)
    printf("failed: %s: %s\n", zp_diff_finding(j.diff)->kind, zp_diff_finding(j.diff)->text);
  print_graph(zp_diff_simdev(j.diff));
  print_bits(&j);
  zp_diff_case_close(&j);
  return failed;
}

int main(int argc, char **argv)
{
  int failed = 0;
  const int current = argc == 5 && strcmp(argv[4], "current") == 0;
  if (argc != 4 + current) {
    fprintf(stderr, "usage: engine_graph FROM TO PRODUCERS [current]\n");
    return 2;
  }
  for (uint64_t i = strtoull(argv[1], NULL, 10); i < strtoull(argv[2], NULL, 10); i++)
    failed |= run(i, atoi(argv[3]), current);
  return failed;
}
