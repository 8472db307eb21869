/* The last sum of each bucket that has a mean. spec: STEP-2, RED-8, RED-9, TIE-2 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "../../../ref/engine/last_sum.h"
#include "../../../ref/engine/rank_plan.h"
#include "../../../ref/verify/random_case.h"

enum { CASES = 300 };

static int adds_to(const zp_op *op, const zp_op *mean)
{
  const int sums = op->what == ZP_WHAT_GRADIENT || op->what == ZP_WHAT_REPLICA ||
                   op->what == ZP_WHAT_TIED || op->what == ZP_WHAT_PARTIAL;
  return sums && op->count > 0 && op->flat == mean->flat && op->bucket == mean->bucket;
}

/* The op is the only one that is marked for its bucket, and no later one adds to the bucket. */
static void check_mean(const zp_op *ops, int64_t at, const uint8_t *is_last, const int64_t *mean)
{
  int64_t last = -1;
  for (int64_t i = 0; i < at; i++) {
    if (adds_to(&ops[i], &ops[at])) last = i;
    else cr_assert(!is_last[i] || ops[i].flat != ops[at].flat || ops[i].bucket != ops[at].bucket);
  }
  cr_assert(last >= 0);
  for (int64_t i = 0; i < at; i++)
    if (adds_to(&ops[i], &ops[at])) cr_assert_eq(is_last[i], i == last);
  cr_assert_eq(mean[ops[at].flat] + ops[at].bucket, at);
}

static void check_rank(const zp_rank_plan *p, int64_t *sums)
{
  uint8_t *is_last = malloc((size_t)p->n + 1);
  int64_t *mean = malloc(((size_t)p->lay.n_flats + 1) * sizeof *mean);
  int64_t means = 0, marked = 0;
  cr_assert(is_last && mean);
  cr_assert_eq(zp_last_sums(p->op, p->n, p->lay.n_flats, is_last, mean), 0);
  for (int64_t i = 0; i < p->n; i++) {
    marked += is_last[i];
    if (is_last[i]) sums[p->op[i].what]++;
    if (p->op[i].kind != ZP_OP_MEAN) continue;
    check_mean(p->op, i, is_last, mean);
    means++;
  }
  cr_assert_eq(marked, means);
  for (int32_t k = 0; k < p->lay.n_flats; k++)
    cr_assert_eq(mean[k] < 0, p->lay.flat[k].use != 0 || p->lay.flat[k].numel == 0);
  free(is_last);
  free(mean);
}

Test(last_sum, of_each_bucket_with_a_mean_one_op_is_marked_the_last_that_sums_it)
{
  static zp_case c;
  static zp_error err;
  zp_hyper hyper;
  int64_t sums[ZP_WHAT_REPLICA + 1] = {0};
  for (uint64_t i = 0; i < CASES; i++) {
    zp_fuzz_random(11, i, &c);
    zp_case_hyper(&c, &hyper);
    for (int32_t r = 0; r < zp_world(&c.cfg); r++) {
      zp_rank_plan p;
      cr_assert_eq(zp_rank_plan_open(&p, &c.cfg, &hyper, r, &err), 0, "%s", err.text);
      cr_assert_eq(zp_rank_plan_phase(&p, ZP_PHASE_STEP, &err), 0, "%s", err.text);
      check_rank(&p, sums);
      zp_rank_plan_close(&p);
    }
  }
  cr_assert(sums[ZP_WHAT_GRADIENT] > 0 && sums[ZP_WHAT_TIED] > 0 && sums[ZP_WHAT_PARTIAL] > 0 &&
            sums[ZP_WHAT_REPLICA] > 0);
}
