/* Entries of fp32 beside those of 16 bits: bits are those of ref, memory is what `plan` prints, and
 * each gradient has its entry's dtype. spec: PART-2, RED-1, STEP-7, STEP-8 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "../../../cuda/verify/faults.h"
#include "../../../cuda/verify/state.h"
#include "../../../ref/model/gpt.h"
#include "engine_case.h"

enum { ORDERS = 12 };

/* Two optimizer groups, which both have entries of either dtype; a tied key; a frozen entry; sizes
 * that leave every alignment of 2 and 4 bytes. */
static const char list[] = "list=12@0.0+3@0.0w+7@0.1w+33@0.0+5@0.0wt0+9@0.0w+6@0.1f+4@0.0wf+"
                           "5@1.0wt0+21@1.0+1@1.1w+8@1.1+5@1.0w";

static void check(int32_t stage, const char *rest)
{
  static zp_diff_case j;
  char text[400];
  snprintf(text, sizeof text, "stage=%d,M=2,pp=2,dp=2,steps=3,%s,%s", stage, rest, list);
  open_text(&j, text);
  for (uint64_t n = 0; n < ORDERS; n++) {
    zp_schedule s = zp_case_schedule(&j.c, n, NULL);
    s.path = !s.hosts && !s.own_loop && !s.many_streams;
    const zp_diff *where = zp_diff_case_run(&j, &s);
    cr_assert(!where, "%s, order %d: %s: %s", text, (int)n, zp_diff_finding(where)->kind,
              zp_diff_finding(where)->text);
  }
  zp_diff_case_close(&j);
}

/* Those orders include offload, gradients in place, and gathers beside forward, which require
 * aligned entries. Buckets of either dtype take turns in a slot. */
Test(mixed, equals_ref_in_every_stage_precision_and_reduction)
{
  static const char *const rest[] = {
      "precision=bf16,reduce=ordered,bucket=12",
      "precision=fp16,reduce=exact,bucket=7",
      "precision=bf16,reduce=ordered,bucket=100,entry_align=64",
      "precision=fp16,reduce=ordered,bucket=16,fp32_gradients=1",
  };
  for (int32_t k = 0; k < 12; k++) check(k % 3, rest[k / 3]);
}

/* The transformer with norms and biases of fp32: a launch converts entries of one dtype. */
Test(mixed, gpt_with_fp32_norms_equals_ref)
{
  static const uint8_t text[64] = "norms are fp32, and matrices are bf16; both are trained";
  static zp_param params[64];
  const zp_gpt_options o = {.shape = {2, 4, 2, 3, 2}, .data = {text, sizeof text, 1}};
  const zp_hyper hyper = {.groups = 1, .optim = {{.kind = ZP_OPTIM_SGD, .lr = 0.25}}};
  zp_config cfg = {.pp = 2,
                   .dp = 2,
                   .tp = 1,
                   .ep = 1,
                   .stage = 2,
                   .precision = ZP_BF16,
                   .optgroups = 3,
                   .tied_keys = 1,
                   .micro_batches = 2,
                   .bucket = 40,
                   .align = 1,
                   .params = params,
                   .n_params = zp_gpt_entries(&o.shape)};
  char why[128];
  zp_error err = {0};
  zp_gpt *gpt = zp_gpt_create(&o, why, sizeof why);
  cr_assert(gpt && cfg.n_params <= 64, "%s", why);
  zp_gpt_list(&o.shape, cfg.pp, params, NULL);
  for (int32_t j = 0; j < cfg.n_params; j++) params[j].fp32 = params[j].numel <= 16;
  const zp_workload work = zp_gpt_workload(gpt);
  zp_diff *t = zp_diff_open(&cfg, &hyper, &work, 2, NULL, &err);
  cr_assert(t, "%s", err.text);
  for (uint64_t n = 0; n < 2; n++)
    cr_assert_eq(zp_diff_run(t, &(zp_schedule){.seed = n, .producers = 2}), 0, "%s: %s",
                 zp_diff_finding(t)->kind, zp_diff_finding(t)->text);
  zp_diff_close(t);
  zp_gpt_destroy(gpt);
}

/* Each slot's 16 bytes hold 8 numbers of bf16, or 4 of fp32. Each flat group lies in one array,
 * and the state is 12 bytes of each of the rank's 6 elements. */
static int counts_memory(zp_diff_rank *w)
{
  const zp_cuda_memory m = zp_cuda_memory_of(w->e);
  if (m.planned.params != 8 * 2 + 4 * 4 || m.planned.state != 6 * 12) return __LINE__;
  return m.planned.slots == 2 * 16 || m.planned.slots == 3 * 16 ? 0 : __LINE__;
}

Test(mixed, memory_is_that_of_each_dtype)
{
  static zp_diff_case j;
  const zp_schedule s = {.seed = 1};
  open_text(&j, "stage=2,precision=bf16,reduce=ordered,bucket=12,dp=2,steps=1,list=8@0.0+4@0.0w");
  j.diff->hooks.before_step = counts_memory;
  cr_assert_eq(zp_diff_run(j.diff, &s), 0, "%s", zp_diff_finding(j.diff)->text);
  zp_diff_case_close(&j);
}

static int32_t entry, dtype;
static int64_t count;

static int announces(zp_diff_rank *w)
{
  float unused;
  const cudaStream_t stream = zp_cuda_stream_of(w->e, ZP_CUDA_COMPUTE);
  return zp_cuda_grad_ready(w->e, entry, 0, &unused, count, dtype, stream) != 0 ? __LINE__ : 0;
}

/* What the ranks report when `announces` is called before a step. */
static void are_refused(const char *wanted)
{
  static zp_diff_case j;
  const zp_schedule s = {.seed = 1, .allow_leaks = 1};
  open_text(&j, "stage=2,precision=bf16,reduce=ordered,bucket=12,dp=2,steps=1,list=8@0.0+4@0.0w");
  j.diff->hooks.before_step = announces;
  cr_assert_eq(zp_diff_run(j.diff, &s), 1);
  for (int32_t r = 0; r < 2; r++) {
    const zp_error *e = zp_diff_error(j.diff, r);
    cr_assert(e->status == ZP_E_ARRIVAL && strstr(e->text, wanted), "%s", e->text);
  }
  zp_diff_case_close(&j);
}

/* spec: RED-1 */
Test(mixed, a_gradient_of_another_dtype_than_its_entry_is_refused)
{
  static const char *const wanted[] = {
      "the dtype of entry 0's gradient: got fp32, expected the entry's, bf16",
      "the dtype of entry 1's gradient: got bf16, expected the entry's, fp32"};
  for (entry = 0; entry < 2; entry++) {
    dtype = entry == 0 ? ZP_F32 : ZP_BF16;
    count = entry == 0 ? 8 : 4;
    are_refused(wanted[entry]);
  }
}

/* A shorter buffer would be read beyond its end. spec: RED-3 */
Test(mixed, a_gradient_of_another_count_than_its_entry_is_refused)
{
  static const int64_t counts[] = {0, 3, 5, 8, -4, INT64_MAX};
  char wanted[120];
  entry = 1;
  dtype = ZP_F32;
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    count = counts[i];
    snprintf(wanted, sizeof wanted,
             "the gradient of entry 1: got a count of %lld, expected 4, the entry's elements",
             (long long)count);
    are_refused(wanted);
  }
}
