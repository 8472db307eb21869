#include <math.h>

#include "../../ref/verify/backend.h"
#include "state.h"

/* 0, or a product is outside the bound of all orders of addition. */
static int judge(zp_diff_rank *w)
{
  char text[48];
  if (!w->model.gpt) return 0;
  const int bf16 = w->t->watch.products->bf16;
  const char *clause = bf16 ? "ERR-8" : "ERR-7";
  ZP_HOST_TRY(zp_product_judge_read(&w->model.judge, &w->model.judged));
  const int32_t name = zp_judged_worst_product(&w->model.judged);
  const int64_t judged = zp_judged_elements(&w->model.judged);
  if (judged != w->model.judge.elements)
    return zp_diff_fail(
        w->t, clause,
        "rank %d: up to step %lld %lld elements of products were judged, expected %lld", w->rank,
        (long long)(w->t->base + w->steps_done - 1), (long long)judged,
        (long long)w->model.judge.elements);
  if (name < 0) return 0;
  zp_product_describe(name, text);
  const long long n = w->model.judged.outside[name];
  return zp_diff_fail(w->t, clause,
                      "rank %d: in step %lld the product %s has %lld element%s farther from the "
                      "sum of its terms than %s it, up to 2^%d times as far",
                      w->rank, (long long)(w->t->base + w->steps_done - 1), text, n,
                      n == 1 ? "" : "s",
                      bf16 ? "tensor cores may bring" : "any order of addition brings",
                      (int)zp_judged_log2_factor(&w->model.judged));
}

/* The last rank that ends the step has ref do it. Until then no rank's model changes what ref
 * reads. */
int zp_follow_step(zp_diff_rank *w)
{
  zp_diff *t = w->t;
  const int32_t step = w->steps_done - 1;
  zp_error err = {0};
  ZP_HOST_TRY(cudaDeviceSynchronize());
  if (judge(w)) return __LINE__;
  if (__atomic_add_fetch(&t->follow.arrived, 1, __ATOMIC_ACQ_REL) <
      (int64_t)t->world * w->steps_done)
    return simdev_await(&t->follow.followed[step]);
  t->follow.difference = t->follow.size = 0;
  if (zp_ref_run_step(t, step, &err)) return zp_diff_fail(t, "ref", "%s", err.text);
  zp_error_max(&t->watch.products->gradient_error, sqrt(t->follow.difference / t->follow.size));
  simdev_signal(&t->follow.followed[step]);
  return 0;
}

int zp_follow_report(zp_diff_rank *w)
{
  zp_gemm_report *all = w->t->watch.products;
  if (!all) return 0;
  ZP_HOST_TRY(simdev_lock(&w->t->follow.arrived));
  all->elements += w->model.judge.elements;
  all->undecided += w->model.judged.undecided;
  zp_error_max(&all->max_error, zp_judged_max_error(&w->model.judged));
  simdev_unlock(&w->t->follow.arrived);
  return 0;
}
