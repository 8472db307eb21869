/* `native`: NCCL adds, in an order that nobody fixes. Exact sums have ref's bits whatever that order
 * is; on other data nothing is promised, and simdev shows it. spec: RED-7 */
#include <criterion/criterion.h>

#include "engine_case.h"

enum { SEEDS = 4 };

/* Jobs up to `last` of the kind that use `native`: how many equal ref under every order. */
static int32_t equal_jobs(uint32_t last, int32_t stage, int32_t precision, int32_t tied)
{
  int32_t equal = 0;
  for (uint32_t seed = 2001; seed <= last; seed++) {
    static job j;
    simdev *s;
    char text[200];
    int32_t ties = 0;
    cr_assert_eq(job_fill(&j, seed, RANKS_MAX), 0, "job %u: %s", seed, j.text);
    for (int32_t i = 0; i < j.r.c.n_params; i++) ties += j.r.c.params[i].tied >= 0;
    if (!j.native || j.r.c.stage != stage || j.r.c.precision != precision || j.r.c.dp < 3 ||
        (tied && ties < 2)) {
      job_free(&j);
      continue;
    }
    s = job_simdev(&j, NULL);
    job_describe(&j, text, sizeof text);
    for (int32_t k = 0; k < SEEDS; k++) {
      const simdev_options o = {.seed = seed * 100u + (uint64_t)k, .order = (simdev_order)k};
      cr_assert_eq(job_run(&j, s, &o), SIMDEV_OK, "%s, seed %llu:\n%s\n%s", text,
                   (unsigned long long)o.seed, j.text, simdev_result(s)->text);
    }
    equal++;
    simdev_close(s);
    job_free(&j);
  }
  return equal;
}

Test(native, equals_ref_on_exact_data_in_every_stage_and_precision)
{
  for (int32_t stage = 0; stage < 3; stage++)
    for (int32_t precision = ZP_F32; precision <= ZP_F16; precision++)
      cr_assert_geq(equal_jobs(2400, stage, precision, 0), 1, "stage %d, precision %d", stage,
                    precision);
}

Test(native, equals_ref_on_tied_entries)
{
  int32_t n = 0;
  for (int32_t precision = ZP_F32; precision <= ZP_F16; precision++)
    n += equal_jobs(2400, 2, precision, 1);
  cr_assert_geq(n, 2);
}

/* Whatever the data, two ranks' sum is RN32(a + b): were bf16 added in bf16, it would be another. */
Test(native, adds_in_fp32_whatever_the_precision)
{
  int32_t found[3] = {0, 0, 0};
  for (uint32_t seed = 2001; seed < 6001 && !(found[0] && found[1] && found[2]); seed++) {
    static job j;
    simdev *s;
    cr_assert_eq(job_fill(&j, seed, RANKS_MAX), 0, "job %u: %s", seed, j.text);
    if (j.native && j.synth.opt.mode == ZP_SYNTH_WILD && j.r.c.dp == 2 && j.r.c.stage == 2 &&
        !j.result[0].skipped) {
      s = job_simdev(&j, NULL);
      cr_assert_eq(job_run(&j, s, &(simdev_options){.seed = seed}), SIMDEV_OK, "job %u: %s", seed,
                   j.text);
      found[j.r.c.precision]++;
      simdev_close(s);
    }
    job_free(&j);
  }
  cr_assert(found[ZP_F32] && found[ZP_BF16] && found[ZP_F16], "%d %d %d", found[ZP_F32],
            found[ZP_BF16], found[ZP_F16]);
}

/* The order is really free here: on inexact data some seed has other bits than ref, and no seed
 * another ledger. */
Test(native, may_differ_on_inexact_data)
{
  static job j;
  simdev *s;
  int32_t differs = 0;
  uint32_t seed = 1;
  for (;; seed++) {
    cr_assert_eq(job_fill(&j, seed, RANKS_MAX), 0);
    if (j.synth.opt.mode == ZP_SYNTH_WILD && j.r.c.reduce == ZP_ORDERED && j.r.c.dp >= 3 &&
        j.r.c.stage == 1 && !j.result[0].skipped && !j.synth.opt.bad_loss)
      break;
    job_free(&j);
  }
  j.native = 1;
  s = job_simdev(&j, NULL);
  for (uint64_t k = 0; k < 32; k++) {
    const simdev_status status = job_run(&j, s, &(simdev_options){.seed = k});
    cr_assert(status == SIMDEV_OK || status == SIMDEV_E_HOST, "%s", simdev_result(s)->text);
    cr_assert(status == SIMDEV_OK || !strstr(j.text, "ledger"), "%s", j.text);
    differs += status != SIMDEV_OK;
  }
  cr_assert_geq(differs, 1, "job %u", seed);
  simdev_close(s);
  job_free(&j);
}

Test(native, is_refused_where_the_configuration_reduces_exactly)
{
  static job j;
  zp_cuda_error err;
  cr_assert_eq(job_fill(&j, 6, RANKS_MAX), 0);
  worker w = {.j = &j, .at = zp_coord_of(&j.r.c, 0)};
  zp_cuda_options o = options_of(&w);
  j.r.c.reduce = ZP_EXACT;
  o.native = 1;
  cr_assert_null(zp_cuda_open(&o, &err));
  cr_assert(err.status == ZP_CUDA_E_REFUSED && strstr(err.text, "native"), "%s", err.text);
  job_free(&j);
}
