/* The matrix product in ref's order, and the kernel that checks a product. The order of operations
 * is that of ref/model/gpt_matmul.h. spec: ERR-1, ERR-7, ERR-8 */
#ifndef ZP_CUDA_PRODUCT_KERNELS_H
#define ZP_CUDA_PRODUCT_KERNELS_H
#include "../kernels/element.h"
#include "items.h"
#include "layers.h"

/* An element of C, numbered over all products of a batch: its address; where its row of A and its
 * column n of B begin, in elements. */
typedef struct zp_product_element {
  int64_t a, b;
  float *c;
  int64_t n;
} zp_product_element;

ZP_ON_DEVICE int64_t zp_product_elements(const zp_product *p)
{
  return p->outer * p->inner * p->M * p->N;
}

ZP_ON_DEVICE zp_product_element zp_product_at(const zp_product *p, int64_t i)
{
  const int64_t size = p->M * p->N, which = i / size, m = i % size / p->N, n = i % p->N;
  const int64_t outer = which / p->inner, inner = which % p->inner;
  zp_product_element e;
  e.a = outer * p->step_a.outer + inner * p->step_a.inner + m * p->am;
  e.b = outer * p->step_b.outer + inner * p->step_b.inner + n * p->bn;
  e.c = p->c + outer * p->step_c.outer + inner * p->step_c.inner + m * p->ldc + n;
  e.n = n;
  return e;
}

/* Element i of x, which is A or B. */
ZP_ON_DEVICE float zp_operand(const zp_product *p, const void *x, int64_t i)
{
  const float y = zp_float_of(zp_element(p->stored, x, i));
  return p->operands == p->stored ? y : zp_rounded_to(p->operands, y);
}

ZP_ON_DEVICE float zp_term(const zp_product *p, const zp_product_element *e, int64_t k)
{
  return zp_operand(p, p->a, e->a + k * p->ak) * zp_operand(p, p->b, e->b + k * p->bk);
}

/* One item: an element; one chain over ascending k. */
ZP_ON_DEVICE void zp_product_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_product *p = (const zp_product *)params;
  (void)shared, (void)phase;
  for (int64_t i = zp_item(t); i < zp_product_elements(p); i += zp_item_step(t)) {
    const zp_product_element e = zp_product_at(p, i);
    float sum = p->bias ? p->bias[e.n] : 0.0f;
    for (int64_t k = 0; k < p->K; k++) sum += zp_term(p, &e, k);
    *e.c = sum;
  }
}

/* One item: an element of an operand, rounded to bf16. */
ZP_ON_DEVICE void zp_pack_operand_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_pack_operand_params *p = (const zp_pack_operand_params *)params;
  const int64_t all = p->outer * p->inner * p->lines * p->length;
  (void)shared, (void)phase;
  for (int64_t i = zp_item(t); i < all; i += zp_item_step(t)) {
    const int64_t x = i % p->length, line = i / p->length, which = line / p->lines;
    const int64_t at = which / p->inner * p->step.outer + which % p->inner * p->step.inner;
    zp_store_rounded(ZP_BF16, p->out, line * p->length_out + x,
                     p->in[at + line % p->lines * p->apart + x]);
  }
}

/* log2 of error/bound, rounded down. */
ZP_ON_DEVICE int32_t zp_log2_factor(double off, double most)
{
  int32_t log2 = 0;
  for (double next = 2 * most; log2 < ZP_JUDGED_FACTORS - 1 && !(off < next); next *= 2) log2++;
  return log2;
}

/* One item: a computed element. spec: ERR-7, ERR-8 */
ZP_ON_DEVICE void zp_judge_product_body(const void *params, simdev_thread t, void *shared,
                                        int phase)
{
  const zp_judge_product_params *j = (const zp_judge_product_params *)params;
  const zp_product *p = &j->p;
  int64_t within = 0, outside = 0, undecided = 0;
  double worst = 0;
  (void)shared, (void)phase;
  for (int64_t i = zp_item(t); i < zp_product_elements(p); i += zp_item_step(t)) {
    const zp_product_element e = zp_product_at(p, i);
    double sum = p->bias ? (double)p->bias[e.n] : 0.0, size = fabs(sum);
    for (int64_t k = 0; k < p->K; k++) {
      const double term = (double)zp_operand(p, p->a, e.a + k * p->ak) *
                          (double)zp_operand(p, p->b, e.b + k * p->bk);
      sum += term;
      size += fabs(term);
    }
    /* 0: a term, or the computed element, is infinite or NaN; finite sums are far below 2^300 */
    const int terms = size < 0x1p300, made = fabs((double)*e.c) < 0x1p128;
    const double off = fabs((double)*e.c - sum), most = j->share * size + j->least;
    if (made ? !terms || off > most : size < 0x1p127) {
      outside++;
      ZP_ADD_GLOBAL(&j->found->factor[zp_log2_factor(off, most)], 1);
    } else if (terms && !made) undecided++;
    else {
      within++;
      if (off > worst * most) worst = off / most;
    }
  }
  if (undecided > 0) ZP_ADD_GLOBAL(&j->found->undecided, undecided);
  if (outside > 0) ZP_ADD_GLOBAL(&j->found->outside[p->name], outside);
  int32_t i = 0;
  for (double share = 0; i < ZP_JUDGED_WITHIN - 1 && worst > share; share += ZP_JUDGED_SHARE) i++;
  ZP_ADD_GLOBAL(&j->found->within[i], within);
}

#endif
