/* The kernels, for both compilers. */
#include "../../../cuda/gpt/product_kernels.h"
#include "product_orders.h"

ZP_ON_DEVICE float term(const zp_product *p, zp_product_element e, int64_t k, int64_t gap)
{
  return k == gap ? 0.0f : zp_term(p, &e, k);
}

/* sum[i] holds a partial sum of 2^i terms until there is a second one. */
ZP_ON_DEVICE float pairwise(const zp_product *p, zp_product_element e, int64_t gap)
{
  float sum[32], all = 0.0f;
  for (int64_t k = 0; k < p->K; k++) {
    float x = term(p, e, k, gap);
    int i = 0;
    for (int64_t bit = k; bit & 1; bit >>= 1) x = sum[i++] + x;
    sum[i] = x;
  }
  for (int i = 0; p->K >> i; i++)
    if (p->K >> i & 1) all = sum[i] + all;
  return all;
}

ZP_ON_DEVICE float in_order(const zp_product *p, zp_product_element e, int32_t order, int64_t gap)
{
  const float bias = p->bias ? p->bias[e.n] : 0.0f;
  float sum = 0.0f, part[8] = {0};
  switch (order) {
  case ORDER_REVERSED:
    for (int64_t k = p->K - 1; k >= 0; k--) sum += term(p, e, k, gap);
    return sum + bias;
  case ORDER_BLOCKED:
    for (int64_t k = 0; k < p->K; k++) part[k % 8] += term(p, e, k, gap);
    for (int i = 0; i < 8; i++) sum += part[i];
    return bias + sum;
  case ORDER_PAIRWISE: return pairwise(p, e, gap) + bias;
  case ORDER_FUSED:
    sum = bias;
    for (int64_t k = 0; k < p->K; k++)
      if (k != gap)
        sum = fmaf(zp_operand(p, p->a, e.a + k * p->ak), zp_operand(p, p->b, e.b + k * p->bk), sum);
    return sum;
  default:
    sum = bias;
    for (int64_t k = 0; k < p->K; k++) sum += term(p, e, k, gap);
    return sum;
  }
}

ZP_ON_DEVICE void zp_any_order_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const product_orders_params *o = (const product_orders_params *)params;
  const zp_product *p = &o->p;
  (void)shared, (void)phase;
  for (int64_t i = zp_item(t); i < zp_product_elements(p); i += zp_item_step(t)) {
    const zp_product_element e = zp_product_at(p, i);
    *e.c = in_order(p, e, o->order, o->gap && o->gap->c == i ? o->gap->k : -1);
  }
}

/* 1: a result depends on the element. Scores above the diagonal and their gradients are not used,
 * nor are those of a sequence's first row, which only attends to itself. */
ZP_ON_DEVICE int matters(const product_orders_params *o, int64_t i)
{
  const int64_t n = i % o->p.N, m = i / o->p.N % o->p.M;
  const int scores =
      o->p.name == ZP_PRODUCT_SCORES || o->p.name == ZP_PRODUCT_LEFT + ZP_PRODUCT_MIX;
  if (scores) return n <= m && m > 0;
  return o->p.name != ZP_PRODUCT_QKV || m % o->T > 0;
}

/* Among the nonzero terms of elements that matter. */
ZP_ON_DEVICE void zp_pick_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const product_orders_params *o = (const product_orders_params *)params;
  const zp_product *p = &o->p;
  const int64_t all = zp_product_elements(p);
  const int64_t first = o->at < 0 ? 0 : (int64_t)(o->at * (double)(all * p->K));
  float most = 0.0f;
  (void)shared, (void)phase;
  if (zp_item(t) != 0) return;
  for (int64_t j = 0; j < all * p->K; j++) {
    const int64_t at = (first + j) % (all * p->K), i = at / p->K, k = at % p->K;
    const float size = matters(o, i) ? fabsf(term(p, zp_product_at(p, i), k, -1)) : 0.0f;
    if (size <= most) continue;
    most = size;
    o->gap->c = i;
    o->gap->k = k;
    if (o->at >= 0) return;
  }
}

ZP_KERNEL(any_order, product_orders_params, 1)
ZP_KERNEL(pick, product_orders_params, 1)
