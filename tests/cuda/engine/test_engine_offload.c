/* Offload: masters and moments in pinned host memory have the bits that they have on the device and
 * on ref, in every stage, precision, reduction and order; a step waits once for them.
 * spec: OPT-5, STRM-9 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "../../../cuda/engine/parts.h"
#include "../../../cuda/verify/case.h"
#include "../../../cuda/verify/state.h"

enum { CASES = 60, ORDERS = 3 };

static zp_schedule offloaded(uint64_t n)
{
  zp_schedule s = zp_schedule_of(n);
  s.offload = 1;
  return s;
}

static void equals_ref(const zp_diff_case *j, const zp_schedule *s, const char *text)
{
  const zp_diff *where = zp_diff_case_run(j, s);
  cr_assert(!where, "%s, order %d: %s: %s", text, (int)s->seed, zp_diff_finding(where)->kind,
            zp_diff_finding(where)->text);
}

/* Saved and loaded ones among them, SGD and several optimizer groups.
 * spec: OPT-5, STEP-6, STEP-7, CKPT-1 */
Test(offload, equals_ref_bit_for_bit_on_random_topologies_and_orders)
{
  static zp_diff_case j;
  static zp_error err;
  int32_t skipped = 0, clipped = 0, reloaded = 0, stages[3] = {0};
  for (uint64_t i = 0; i < CASES; i++) {
    zp_case c;
    char text[ZP_CASE_TEXT];
    uint32_t lacking;
    zp_cuda_random_case(77, i, &c, &lacking);
    zp_case_format(&c, text, sizeof text);
    cr_assert_eq(zp_diff_case_open(&j, &c, &err), 0, "%s: %s", text, err.text);
    for (uint64_t k = 0; k < ORDERS; k++) {
      const zp_schedule s = offloaded(c.schedule + k);
      equals_ref(&j, &s, text);
    }
    for (int32_t s = 0; s < c.steps; s++) skipped += zp_diff_expected(j.diff, s)->skipped;
    for (int32_t s = 0; s < c.steps; s++) clipped += zp_diff_expected(j.diff, s)->clip_factor < 1;
    reloaded += j.next != NULL;
    stages[c.cfg.stage]++;
    zp_diff_case_close(&j);
  }
  cr_assert(skipped > 0 && clipped > 0 && reloaded > 0, "%d, %d, %d", skipped, clipped, reloaded);
  for (int32_t k = 0; k < 3; k++) cr_assert_gt(stages[k], 0);
}

static void open_text(zp_diff_case *j, const char *text)
{
  static zp_error err;
  zp_case c;
  char why[256] = "";
  zp_case_init(&c);
  cr_assert_eq(zp_case_parse(&c, text, why, sizeof why), 0, "%s: %s", text, why);
  cr_assert_eq(zp_diff_case_open(j, &c, &err), 0, "%s: %s", text, err.text);
}

static int32_t registered; /* ranks that have registered memory */

/* Before a rank's second step. */
static int count_registered(zp_diff_rank *w)
{
  for (int32_t i = 0; w->steps_done == 1 && i < w->e->allocations.n_pinned; i++)
    if (w->e->allocations.pinned[i].pages > 0) {
      registered++;
      return 0;
    }
  return 0;
}

/* Masters and moments of more than a large page, which the engine registers where the device can.
 * Smaller cases, as those of fuzz, only have memory that CUDA allocates. OPT-5 */
Test(offload, a_step_works_in_registered_pages_and_without_them)
{
  static zp_diff_case j;
  open_text(&j, "dp=2,M=2,steps=2,bucket=300000,stage=2,reduce=ordered,precision=bf16,"
                "list=600000@0.0+500001@0.0");
  j.diff->hooks.before_step = count_registered;
  for (uint64_t k = 0; k < 4; k++) {
    zp_schedule s = offloaded(k);
    s.register_memory = k % 2 ? SIMDEV_ALWAYS : SIMDEV_NEVER;
    registered = 0;
    equals_ref(&j, &s, "large");
    cr_assert_eq(registered, k % 2 ? j.diff->world : 0, "order %d: %d ranks", (int)k, registered);
  }
  zp_diff_case_close(&j);
}

static const char *const precisions[] = {"fp32", "bf16", "fp16"};

/* What DeepSpeed #7595 had, for one rank and for several: ZeRO-2, fp16 with a dynamic scale,
 * overlapped buckets. The scale moves, and steps are skipped.
 * spec: OPT-5, STEP-3, STEP-6 */
Test(offload, the_configuration_of_deepspeed_7595_trains)
{
  static zp_diff_case j;
  for (int32_t dp = 1; dp <= 3; dp++) {
    char text[300];
    snprintf(text, sizeof text,
             "mode=wild,stage=2,precision=fp16,reduce=ordered,M=3,bucket=24,dp=%d,steps=12,seed=3,"
             "unused=60,list=12@0.0+40@0.0+7@0.1f+31@0.1+8@0.0",
             dp);
    open_text(&j, text);
    for (uint64_t k = 1; k <= 4; k++) {
      const zp_schedule s = offloaded(k);
      equals_ref(&j, &s, text);
    }
    zp_diff_case_close(&j);
  }
}

/* spec: OPT-5 */
Test(offload, equals_ref_in_every_stage_precision_and_reduction)
{
  static zp_diff_case j;
  for (int32_t k = 0; k < 18; k++) {
    char text[300];
    snprintf(text, sizeof text,
             "mode=wild,stage=%d,precision=%s,reduce=%s,M=2,bucket=12,pp=2,dp=3,steps=3,"
             "list=12@0.0t0+5@0.0+11@0.0t1+11@0.0t1+12@1.0t0+8@1.1",
             k / 3 % 3, precisions[k % 3], k / 9 ? "exact" : "ordered");
    open_text(&j, text);
    for (uint64_t n = 0; n < ORDERS; n++) {
      const zp_schedule s = offloaded(n + 1);
      equals_ref(&j, &s, text);
    }
    zp_diff_case_close(&j);
  }
}

/* Bytes: what left the device, and what is there for it. spec: OPT-5, STEP-1 */
static int counts_memory(zp_diff_rank *w)
{
  const zp_memory planned = zp_memory_of(w->t->cfg, zp_cuda_layout_of(w->e), 0, 0);
  const zp_cuda_memory m = zp_cuda_memory_of(w->e);
  const int64_t size = zp_dtype_bytes(w->t->cfg->precision);
  int64_t extent = 0;
  for (int32_t k = 0; k < zp_cuda_layout_of(w->e)->n_flats; k++)
    if (zp_cuda_layout_of(w->e)->flat[k].use == 0)
      extent += zp_extent(&zp_cuda_layout_of(w->e)->flat[k], w->t->cfg->stage);
  if (m.planned.state != 0 || planned.state != 12 * extent) return __LINE__;
  if (m.planned.mean != planned.mean || m.planned.params != planned.params) return __LINE__;
  if (m.landing <= 0) return __LINE__;
  const int64_t groups = w->t->cfg->optgroups * (int64_t)sizeof(zp_group_state);
  return m.host == (16 + size) * extent + groups ? 0 : __LINE__;
}

Test(offload, optimizer_states_are_not_in_device_memory)
{
  static zp_diff_case j;
  for (int32_t stage = 0; stage < 3; stage++) {
    char text[200];
    snprintf(text, sizeof text,
             "stage=%d,precision=bf16,reduce=ordered,M=2,bucket=12,dp=2,steps=2,"
             "list=12@0.0+9@0.1+8@0.1",
             stage);
    open_text(&j, text);
    j.diff->hooks.before_step = counts_memory;
    const zp_schedule s = offloaded(1);
    equals_ref(&j, &s, text);
    zp_diff_case_close(&j);
  }
}

/* Only real waits are counted; a wrong count is found. spec: STRM-9 */
static int miscounts(zp_diff_rank *w)
{
  w->e->offload.waits += w->rank == 0 && w->steps_done == 1;
  return 0;
}

Test(offload, a_step_waits_once)
{
  static zp_diff_case j;
  const zp_schedule s = offloaded(5);
  const char *text = "stage=2,precision=bf16,reduce=ordered,M=2,bucket=12,dp=2,steps=3,"
                     "list=12@0.0+9@0.1+8@0.1";
  open_text(&j, text);
  equals_ref(&j, &s, text); /* zp_diff_compare_waits counts */
  j.diff->hooks.before_step = miscounts;
  cr_assert_eq(zp_diff_run(j.diff, &s), 1);
  cr_assert_str_eq(zp_diff_finding(j.diff)->kind, "STRM-9", "%s", zp_diff_finding(j.diff)->text);
  zp_diff_case_close(&j);
}

/* ---- Failures -------------------------------------------------------------------------------- */

static const char twos[] = "stage=2,precision=fp16,reduce=ordered,M=2,bucket=12,dp=2,steps=3,"
                           "list=12@0.0+9@0.1+8@0.1+20@0.0";

/* #7595: the error comes before any further communication, and no rank hangs. spec: STEP-3 */
Test(offload, a_missing_gradient_is_an_error)
{
  static zp_diff_case j;
  open_text(&j, twos);
  for (uint64_t n = 1; n <= 6; n++) {
    zp_schedule s = offloaded(n);
    s.forgets = 1 + (int32_t)(n % 2);
    s.allow_leaks = 1;
    cr_assert_eq(zp_diff_run(j.diff, &s), 1);
    cr_assert_str_eq(zp_diff_finding(j.diff)->kind, "STEP-3", "%s", zp_diff_finding(j.diff)->text);
  }
  zp_diff_case_close(&j);
}

/* What opening has taken it gives back, whichever call fails. spec: STEP-1 */
Test(offload, opening_fails_if_memory_a_stream_or_an_event_is_refused)
{
  static zp_diff_case j;
  static const char *const calls[] = {"cudaMallocHost", "cudaMalloc",
                                      "cudaStreamCreateWithPriority", "cudaEventCreateWithFlags"};
  open_text(&j, "stage=2,precision=bf16,reduce=ordered,M=2,bucket=12,steps=1,"
                "list=12@0.0+9@0.1+20@0.0");
  for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
    int32_t refused = 0;
    for (int64_t n = 1; n <= 60; n++) {
      const simdev_fault f = {SIMDEV_FAULT_ERROR, 0, calls[c], n, cudaErrorMemoryAllocation};
      zp_schedule s = offloaded(1);
      s.faults = &f;
      s.fault_count = 1;
      if (!zp_diff_run(j.diff, &s)) break;
      if (zp_diff_error(j.diff, 0)->status == 0) continue; /* the trial's own call */
      refused++;
      cr_assert_str_neq(zp_diff_finding(j.diff)->kind, "leak", "%s %d: %s", calls[c], (int)n,
                        zp_diff_finding(j.diff)->text);
      cr_assert(strstr(zp_diff_error(j.diff, 0)->text, calls[c]), "%s",
                zp_diff_error(j.diff, 0)->text);
    }
    cr_assert_geq(refused, 4, "%s: %d", calls[c], refused);
  }
  zp_diff_case_close(&j);
}

/* A rank whose copies fail ends the others, too: every wait ends. spec: STEP-5, LEDG-7 */
Test(offload, a_failed_copy_ends_all_ranks)
{
  static zp_diff_case j;
  int32_t failed = 0;
  open_text(&j, twos);
  for (int64_t n = 1; n <= 60; n++) {
    const simdev_fault f = {SIMDEV_FAULT_ERROR, (int32_t)(n % 2), "cudaMemcpyAsync", n,
                            cudaErrorIllegalAddress};
    zp_schedule s = offloaded((uint64_t)n);
    s.faults = &f;
    s.fault_count = s.allow_leaks = 1;
    if (!zp_diff_run(j.diff, &s)) continue;
    /* in opening, the trial's own exchange of the id waits for who does not come */
    if (strstr(zp_diff_finding(j.diff)->text, "simdev_await")) continue;
    failed++;
    cr_assert_str_eq(zp_diff_finding(j.diff)->kind, "engine", "%d: %s: %s", (int)n,
                     zp_diff_finding(j.diff)->kind, zp_diff_finding(j.diff)->text);
  }
  cr_assert_geq(failed, 20, "%d", failed);
  zp_diff_case_close(&j);
}
