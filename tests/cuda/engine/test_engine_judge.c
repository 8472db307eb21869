/* One product, judged: what any order of addition makes is within, what none makes is outside, and
 * each element is looked at once. spec: ERR-3, ERR-7, ERR-8 */
#include <criterion/criterion.h>
#include <math.h>

#include "../../drivers/cuda/product_orders_list.h"
#include "../../ref/num/test_num_patterns.h"

/* K: terms. SPREAD: of exponents, so that products are below the least normal number, too. */
enum { M = 3, N = 5, K = 67, INNER = 2, ELEMENTS = INNER * M * N, SPREAD = 70 };

typedef struct operands {
  float a[INNER * M * K], b[INNER * K * N], bias[N], c[ELEMENTS];
} operands;

static zp_product product_of(operands *o, int64_t k, int with_bias)
{
  zp_product p;
  memset(&p, 0, sizeof p);
  p.M = M;
  p.N = p.ldc = p.bk = N;
  p.K = p.am = k;
  p.ak = p.bn = p.outer = 1;
  p.a = o->a;
  p.b = o->b;
  p.c = o->c;
  p.bias = with_bias ? o->bias : NULL;
  p.inner = INNER;
  p.step_a.inner = M * k;
  p.step_b.inner = k * N;
  p.step_c.inner = M * N;
  p.name = ZP_PRODUCT_FC;
  return p;
}

/* By more threads than elements, or by few. */
static zp_judged judged(const zp_product *p, uint32_t threads)
{
  zp_judged found;
  memset(&found, 0, sizeof found);
  const zp_judge_product_params q = zp_judge_product_of(p, &found);
  simdev_thread t = {{1, 1, 1}, {threads, 1, 1}, {0, 0, 0}, {0, 0, 0}};
  for (t.threadIdx[0] = 0; t.threadIdx[0] < threads; t.threadIdx[0]++)
    zp_judge_product_body(&q, t, NULL, 0);
  return found;
}

static void multiply(const zp_product *p, int32_t order)
{
  const simdev_thread one = {{1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}};
  product_orders_params o;
  memset(&o, 0, sizeof o);
  o.p = *p;
  o.order = order;
  zp_any_order_body(&o, one, NULL, 0);
}

/* Of both signs, of magnitudes around 2^log2. */
static void fill(rng *r, float *x, int64_t n, int log2)
{
  for (int64_t i = 0; i < n; i++) {
    const int exponent = log2 + (int)rng_below(r, SPREAD) - SPREAD / 2;
    const float size = (float)(0x1p24 + (double)rng_below(r, 1 << 24));
    x[i] = ldexpf(rng_below(r, 2) ? size : -size, exponent - 24);
  }
}

static void fill_all(rng *r, operands *o, int log2)
{
  fill(r, o->a, INNER * M * K, log2);
  fill(r, o->b, INNER * K * N, log2);
  fill(r, o->bias, N, 2 * log2);
}

Test(judge, every_order_is_within_the_bound_and_each_element_is_checked_once)
{
  static operands o;
  static const int64_t terms[] = {0, 1, 2, 3, 5, 7, 64, K};
  rng r = {81};
  /* 2^-130: the products, from far below the least normal number to above it */
  for (int log2 = -65; log2 <= 0; log2 += 13)
    for (size_t k = 0; k < sizeof terms / sizeof *terms; k++)
      for (int32_t i = 0; i < 2 * ORDERS; i++) {
        const zp_product p = product_of(&o, terms[k], i % 2);
        fill_all(&r, &o, log2);
        multiply(&p, i / 2);
        const zp_judged found = judged(&p, i % 3 == 0 ? 64 : 4);
        cr_assert_eq(zp_judged_worst_product(&found), -1, "2^%d, %lld terms, order %d", log2,
                     (long long)terms[k], i / 2);
        cr_assert(found.undecided == 0 && zp_judged_elements(&found) == ELEMENTS);
        cr_assert(zp_judged_max_error(&found) <= 1);
      }
}

/* The one at `at` is not what it was. */
static void assert_out_of_bounds(const zp_product *p, int64_t at, float was, int32_t times,
                                 const char *what)
{
  const zp_judged found = judged(p, 4);
  cr_assert_eq(zp_judged_worst_product(&found), ZP_PRODUCT_FC, "%s: %a, was %a", what,
               (double)p->c[at], (double)was);
  cr_assert_eq(found.outside[ZP_PRODUCT_FC], 1, "%s", what);
  const int32_t more = zp_judged_log2_factor(&found) - times; /* it was off before */
  cr_assert(more == 0 || more == 1, "%s: 2^%d", what, zp_judged_log2_factor(&found));
  cr_assert_eq(zp_judged_elements(&found), ELEMENTS, "%s", what);
}

Test(judge, a_value_that_no_order_gives_is_out_of_bounds)
{
  static operands o;
  rng r = {82};
  for (int i = 0; i < 200; i++) {
    const int64_t at = (int64_t)rng_below(&r, ELEMENTS);
    const zp_product p = product_of(&o, K, i % 2);
    fill_all(&r, &o, 0);
    multiply(&p, i % ORDERS);
    const float was = o.c[at];
    zp_judge_product_params q = zp_judge_product_of(&p, NULL);
    double size = p.bias ? fabs((double)o.bias[at % N]) : 0;
    const zp_product_element e = zp_product_at(&p, at);
    for (int64_t k = 0; k < K; k++) size += fabs((double)o.a[e.a + k] * (double)o.b[e.b + k * N]);
    /* it was within the bound of the sum: so it is not, that and as much again away */
    o.c[at] = was + (float)(2.01 * q.share * size);
    assert_out_of_bounds(&p, at, was, 0, "too far");
    o.c[at] = was + (float)(12 * q.share * size);
    assert_out_of_bounds(&p, at, was, 3, "much too far");
    o.c[at] = NAN;
    assert_out_of_bounds(&p, at, was, ZP_JUDGED_FACTORS - 1, "no number");
    o.c[at] = -INFINITY;
    assert_out_of_bounds(&p, at, was, ZP_JUDGED_FACTORS - 1, "infinite");
  }
}

/* An infinite term, or one that is no number, is in all orders' sums. */
Test(judge, nan_terms_are_not_dropped)
{
  static operands o;
  static const float odd[] = {NAN, INFINITY, -INFINITY};
  rng r = {83};
  for (int i = 0; i < 3; i++) {
    const zp_product p = product_of(&o, K, 1);
    fill_all(&r, &o, 0);
    o.a[2 * K + 5] = odd[i]; /* row 2 of the first matrix */
    multiply(&p, ORDER_PAIRWISE);
    const zp_judged found = judged(&p, 4);
    cr_assert(zp_judged_worst_product(&found) == -1 && found.undecided == 0);
    cr_assert_eq(zp_judged_elements(&found), ELEMENTS);
    const float was = o.c[2 * N + 1];
    o.c[2 * N + 1] = 1;
    assert_out_of_bounds(&p, 2 * N + 1, was, ZP_JUDGED_FACTORS - 1, "a number");
  }
}

/* Terms whose sum overflows in one order are judged where it has not, and else nothing is said. */
Test(judge, only_an_overflow_is_not_judged)
{
  static operands o;
  rng r = {84};
  const zp_product p = product_of(&o, K, 0);
  fill_all(&r, &o, 0);
  for (int64_t k = 0; k < K; k++) o.a[k] = k < 2 ? 0x1p127f : k < 4 ? -0x1p127f : 0x1p100f;
  for (int64_t i = 0; i < K * N; i++) o.b[i] = 1;
  multiply(&p, ORDER_REF);
  cr_assert(isinf(o.c[0]));
  zp_judged found = judged(&p, 4);
  cr_assert(zp_judged_worst_product(&found) == -1 && found.undecided == N);
  cr_assert_eq(zp_judged_elements(&found), ELEMENTS);
  o.c[1] = 0x1p106f; /* as another order has it */
  found = judged(&p, 4);
  cr_assert(zp_judged_worst_product(&found) == -1 && found.undecided == N - 1);
  const float was = o.c[1];
  o.c[1] = 0x1p126f;
  found = judged(&p, 4);
  cr_assert_eq(found.outside[ZP_PRODUCT_FC], 1, "%a, was %a", (double)o.c[1], (double)was);
}

/* spec: ERR-8 */
Test(judge, terms_are_of_operands_rounded_to_bf16)
{
  static operands o;
  rng r = {85};
  for (int32_t order = 0; order < ORDERS; order++) {
    zp_product p = product_of(&o, K, order % 2);
    fill_all(&r, &o, 0);
    p.operands = ZP_BF16;
    multiply(&p, order);
    zp_judged found = judged(&p, 4);
    cr_assert_eq(zp_judged_worst_product(&found), -1, "order %d", order);
    p.operands = ZP_F32;
    multiply(&p, order);
    p.operands = ZP_BF16;
    found = judged(&p, 4);
    cr_assert_gt(found.outside[ZP_PRODUCT_FC], ELEMENTS / 2, "order %d: not rounded", order);
  }
}

/* What n roundings may make of a sum is within, a twentieth more is not: s and C are near 2^13, so
 * that C is rounded by less. Of bf16 operands, four times as much is. spec: ERR-7, ERR-8 */
Test(judge, the_bound_is_that_of_n_roundings)
{
  static operands o;
  for (int64_t k = 20; k <= K; k++)
    for (int way = 0; way < 4; way++) {
      const int with_bias = way % 2, bf16 = way / 2;
      zp_product p = product_of(&o, k, with_bias);
      const double terms = (double)(k + with_bias), n = terms * (bf16 ? 4 : 1), s = 128 * terms;
      p.operands = bf16 ? ZP_BF16 : ZP_F32;
      for (int64_t i = 0; i < INNER * M * k; i++) o.a[i] = 16;
      for (int64_t i = 0; i < INNER * k * N; i++) o.b[i] = 8;
      for (int64_t i = 0; i < N; i++) o.bias[i] = 128;
      for (int64_t i = 0; i < ELEMENTS; i++) o.c[i] = (float)(s * (1 + 0.95 * n * 0x1p-24));
      cr_assert_eq(judged(&p, 4).outside[ZP_PRODUCT_FC], 0, "%g terms", n);
      for (int64_t i = 0; i < ELEMENTS; i++) o.c[i] = (float)(s * (1 - 1.05 * n * 0x1p-24));
      cr_assert_eq(judged(&p, 4).outside[ZP_PRODUCT_FC], ELEMENTS, "%g terms", n);
    }
}
