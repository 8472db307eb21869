/* The streams that gradients come on are the caller's, and may be any: the default one, too. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "../../../cuda/engine/executor/buckets.h"
#include "../../../cuda/verify/case.h"
#include "../../../cuda/verify/state.h"
#include "engine_case.h"

enum { CASES = 200, RANKS = 4, ORDERS = 8 };

/* Whether it is small, and has several micro-batches: else it is not opened. */
static int opens(zp_diff_case *j, uint64_t i)
{
  static zp_error err;
  zp_case c;
  uint32_t lacking;
  zp_cuda_random_case(55, i, &c, &lacking);
  c.reload.pp = 0;
  if (zp_world(&c.cfg) > RANKS || c.cfg.micro_batches < 2) return 0;
  cr_assert_eq(zp_diff_case_open(j, &c, &err), 0, "%s", err.text);
  return 1;
}

static zp_schedule on_default(int32_t which, uint64_t k)
{
  return (zp_schedule){.seed = k,
                       .announce = k,
                       .order = (simdev_order)(k % 4),
                       .producers = 2 + (int32_t)(k % 2),
                       .hosts = k / 2 % 2,
                       .default_stream = which};
}

/* One producer is the legacy default stream, whose handle is NULL: it has to be waited for like
 * others, and the engine's streams, which are non-blocking, do not wait for it by themselves.
 * STRM-1, STRM-2, RED-4 */
Test(streams, of_producers_may_be_the_default_stream)
{
  int32_t windows = 0, slots = 0;
  for (uint64_t i = 0; i < CASES; i++) {
    static zp_diff_case j;
    if (!opens(&j, i)) continue;
    for (uint64_t k = 0; k < ORDERS; k++) {
      const zp_schedule s = on_default(1, k);
      cr_assert_eq(zp_diff_run(j.diff, &s), 0, "case %d, order %d: %s", (int)i, (int)k,
                   zp_diff_finding(j.diff)->text);
    }
    if (j.c.cfg.stage < 2) windows++;
    else slots++;
    zp_diff_case_close(&j);
  }
  cr_assert(windows > 5 && slots > 5, "%d %d", windows, slots);
}

/* One handle, another stream in each thread: the engine, which launches an ADD from the thread
 * whose turn it is, would not know which. */
Test(streams, of_producers_are_not_each_threads_own)
{
  int32_t refused = 0;
  for (uint64_t i = 0; i < CASES / 4; i++) {
    static zp_diff_case j;
    if (!opens(&j, i)) continue;
    zp_schedule s = on_default(2, i);
    s.allow_leaks = 1;
    zp_diff_run(j.diff, &s);
    for (int32_t r = 0; r < j.diff->world; r++) {
      const zp_error *e = zp_diff_error(j.diff, r);
      refused += e->status == ZP_E_ARRIVAL && strstr(e->text, "cudaStreamPerThread") != NULL;
    }
    zp_diff_case_close(&j);
  }
  cr_assert_gt(refused, 10, "%d", refused);
}

/* A list of producers that a reduction does not empty is full after some micro-batches. A stream
 * that the engine has no room to remember waits again. STRM-1, STRM-2 */
Test(streams, of_producers_may_be_others_in_each_micro_batch)
{
  static const char *const cases[] = {"stage=2,reduce=ordered,precision=bf16", "stage=1"};
  for (int32_t i = 0; i < 2; i++) {
    static zp_diff_case j;
    char text[128];
    snprintf(text, sizeof text, "dp=2,M=%d,steps=2,bucket=16,%s,list=10@0.0+6@0.0+9@0.0+12@0.0",
             ZP_DIFF_SETS, cases[i]);
    open_text(&j, text);
    for (uint64_t k = 0; k < ORDERS; k++) {
      zp_schedule s = zp_schedule_of(k);
      s.producers = ZP_DIFF_STREAMS;
      s.many_streams = 1;
      s.hosts = k % 2;
      cr_assert_eq(zp_diff_run(j.diff, &s), 0, "%s, order %d: %s", text, (int)k,
                   zp_diff_finding(j.diff)->text);
    }
    zp_diff_case_close(&j);
  }
  cr_assert_gt(ZP_DIFF_SETS * ZP_DIFF_STREAMS, ZP_CUDA_WAITERS);
}

/* 16 entries fill one bucket from as many streams; with one entry more, the stream that is one too
 * many is refused. STRM-1 */
Test(streams, that_fill_one_bucket_are_limited)
{
  for (int32_t entries = ZP_CUDA_PRODUCERS; entries <= ZP_CUDA_PRODUCERS + 1; entries++) {
    static zp_diff_case j;
    const int fits = entries == ZP_CUDA_PRODUCERS;
    const zp_schedule s = {.seed = 1, .many_streams = 2, .in_order = 1, .allow_leaks = !fits};
    char text[512] =
        "dp=2,M=2,steps=2,bucket=4096,stage=2,reduce=ordered,precision=bf16,list=3@0.0";
    for (int32_t i = 1; i < entries; i++) strcat(text, "+3@0.0");
    open_text(&j, text);
    cr_assert_eq(zp_diff_run(j.diff, &s), !fits, "%s", zp_diff_finding(j.diff)->text);
    if (!fits)
      cr_assert(strstr(zp_diff_finding(j.diff)->text, "more than 16 streams fill one bucket"), "%s",
                zp_diff_finding(j.diff)->text);
    zp_diff_case_close(&j);
  }
}

static int priority_of(const zp_diff_rank *w, zp_cuda_stream_kind kind)
{
  int priority = 1;
  cudaStreamGetPriority(zp_cuda_stream_of(w->e, kind), &priority);
  return priority;
}

/* Of CUDA's priorities the lower number is the higher one. */
static int communication_comes_first(zp_diff_rank *w)
{
  int least, greatest;
  cudaDeviceGetStreamPriorityRange(&least, &greatest);
  return priority_of(w, ZP_CUDA_REDUCE) != greatest || priority_of(w, ZP_CUDA_P2P) != greatest ||
         priority_of(w, ZP_CUDA_COMPUTE) != least || priority_of(w, ZP_CUDA_COPY) != least;
}

static int gathers_come_first(zp_diff_rank *w)
{
  int least, greatest;
  cudaDeviceGetStreamPriorityRange(&least, &greatest);
  return !zp_cuda_stream_of(w->e, ZP_CUDA_GATHER) || priority_of(w, ZP_CUDA_GATHER) != greatest ||
         communication_comes_first(w);
}

/* STRM-10 */
Test(streams, of_communication_have_the_greatest_priority)
{
  static zp_diff_case j;
  const zp_schedule s = {.seed = 1, .offload = 1};
  open_text(&j, "dp=2,pp=2,steps=2,list=9@0.0+5@0.0+7@1.0");
  j.diff->hooks.before_step = communication_comes_first;
  cr_assert_eq(zp_diff_run(j.diff, &s), 0, "%s", zp_diff_finding(j.diff)->text);
  zp_diff_case_close(&j);
}

/* Partial gathers have a stream of their own. STRM-10, STRM-11 */
Test(streams, of_partial_gathers_have_the_greatest_priority)
{
  static zp_diff_case j;
  const zp_schedule s = {.seed = 1, .offload = 1, .partial_gather = 1};
  open_text(&j, "dp=2,pp=2,steps=2,stage=2,precision=bf16,reduce=ordered,bucket=64,entry_align=64,"
                "list=9@0.0+5@0.0+7@1.0");
  j.diff->hooks.before_step = gathers_come_first;
  cr_assert_eq(zp_diff_run(j.diff, &s), 0, "%s", zp_diff_finding(j.diff)->text);
  zp_diff_case_close(&j);
}
