/* Compares matrix products with exact sums: every layout of the operands, several batches. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../cuda/gpt/layers.h"
#include "../../../ref/model/gpt_data.h"
#include "../../../ref/num/half.h"
#include "gpt_bounds.h"
#include "product_orders.h"

/* Terms are between 1/4 and 1, and there are at most 1024 of them: each is more than twice the
 * bound γ: 1024·1025·2^-24 < 1/8. Of bf16 operands (ERR-8): if there are at most 300, GAP_MAX. */
static const int64_t sizes[][3] = {
    {1, 1, 1},       {3, 5, 7},         {33, 17, 64},      {16, 40, 300},
#ifdef ZP_ON_A_DEVICE
    {512, 768, 256}, {1000, 257, 1024}, {128, 2048, 1024},
#endif
};

enum { BATCHES = 4, SMALL = 4, LARGE = 10000000, GAP_MAX = 300 }; /* SMALL: sizes */
enum { A, B, BIAS, C, ARRAYS };

typedef struct arrays {
  int64_t count[ARRAYS];
  float *host[ARRAYS], *device[ARRAYS];
} arrays;

static float number(uint64_t seed, int64_t i)
{
  const uint64_t h = zp_gpt_hash(seed, (uint64_t)i, 0, 0);
  const float size = 0.5f + (float)(h >> 41) * 0x1p-24f;
  return h & 1 ? size : -size;
}

static int open_arrays(arrays *a, const int64_t size[3], uint64_t seed, cudaStream_t stream)
{
  const int64_t M = size[0], N = size[1], K = size[2];
  const int64_t count[ARRAYS] = {[A] = BATCHES * M * K, BATCHES * K * N, N, BATCHES * M * N};
  memset(a, 0, sizeof *a);
  memcpy(a->count, count, sizeof count);
  for (int i = A; i < ARRAYS; i++) {
    const size_t bytes = (size_t)count[i] * sizeof(float);
    a->host[i] = malloc(bytes);
    if (!a->host[i]) return __LINE__;
    for (int64_t j = 0; j < count[i]; j++) a->host[i][j] = number(seed + (uint64_t)i, j);
    OK(cudaMalloc((void **)&a->device[i], bytes));
    OK(cudaMemcpyAsync(a->device[i], a->host[i], bytes, cudaMemcpyHostToDevice, stream));
  }
  return (int)cudaStreamSynchronize(stream);
}

static void close_arrays(arrays *a)
{
  for (int i = A; i < ARRAYS; i++) {
    free(a->host[i]);
    if (a->device[i]) cudaFree(a->device[i]);
  }
}

/* way: bits: a turned, b turned, a bias. Two by two batches. */
static zp_product product_of(const arrays *a, const int64_t size[3], int way)
{
  const int64_t M = size[0], N = size[1], K = size[2];
  zp_product p;
  memset(&p, 0, sizeof p);
  p.M = M;
  p.N = N;
  p.K = K;
  p.c = a->device[C];
  p.ldc = N;
  p.a = a->device[A];
  p.am = way & 1 ? 1 : K;
  p.ak = way & 1 ? M : 1;
  p.b = a->device[B];
  p.bk = way & 2 ? 1 : N;
  p.bn = way & 2 ? K : 1;
  p.bias = way & 4 ? a->device[BIAS] : NULL;
  p.outer = p.inner = 2;
  p.step_a = (zp_product_stride){2 * M * K, M * K};
  p.step_b = (zp_product_stride){2 * K * N, K * N};
  p.step_c = (zp_product_stride){2 * M * N, M * N};
  return p;
}

/* A number of A or B as a product of bf16 operands sees it. */
static double operand(float x, int32_t operands)
{
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  if (operands == ZP_BF16) bits = zp_f32_from_bf16(zp_bf16_from_f32(bits));
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* The bound γ of the error of a sum of so many terms, relative to their magnitudes. */
static double bound_of(double terms, int32_t operands)
{
  const double u = operands == ZP_BF16 ? 0x1p-22 : 0x1p-24;
  return terms * u / (1 - terms * u) + terms * 0x1p-52;
}

/* Elements outside the bound γ; of large products only some are checked, including the last one. */
static int64_t out_of_bound(const arrays *a, const zp_product *p, int32_t operands)
{
  const int64_t all = BATCHES * p->M * p->N, step = all * p->K > LARGE ? 397 : 1;
  int64_t n = 0;
  for (int64_t i = all - 1; i >= 0; i -= step) {
    const int64_t which = i / (p->M * p->N), row = i / p->N % p->M, column = i % p->N;
    const float *x = a->host[A] + which * p->M * p->K + row * p->am;
    const float *y = a->host[B] + which * p->K * p->N + column * p->bn;
    const double terms = (double)p->K + (p->bias != NULL);
    double sum = p->bias ? a->host[BIAS][column] : 0, size = fabs(sum);
    for (int64_t k = 0; k < p->K; k++) {
      const double term = operand(x[k * p->ak], operands) * operand(y[k * p->bk], operands);
      sum += term;
      size += fabs(term);
    }
    n += !(fabs(a->host[C][i] - sum) <= bound_of(terms, operands) * size);
  }
  return n;
}

static int harvest(arrays *a, cudaStream_t stream)
{
  OK(cudaMemcpyAsync(a->host[C], a->device[C], (size_t)a->count[C] * sizeof(float),
                     cudaMemcpyDeviceToHost, stream));
  return (int)cudaStreamSynchronize(stream);
}

/* The product without the middle term of its last element. */
static int run_gap(const zp_product *p, product_gap *gap, cudaStream_t stream)
{
  const int64_t all = BATCHES * p->M * p->N;
  const zp_launch l = zp_launch_items(all);
  const product_gap at = {all - 1, p->K / 2};
  product_orders_params o;
  void *args[] = {&o};
  memset(&o, 0, sizeof o);
  o.p = *p;
  o.gap = gap;
  OK(cudaMemcpyAsync(gap, &at, sizeof at, cudaMemcpyHostToDevice, stream));
  OK(cudaStreamSynchronize(stream));
  return (int)cudaLaunchKernel(zp_kernel_any_order, (dim3){l.grid, 1, 1}, (dim3){l.block, 1, 1},
                               args, 0, stream);
}

static int judge_size(const int64_t size[3], int32_t operands, const zp_products *products,
                      product_gap *gap, cudaStream_t stream)
{
  char name[80], why[120];
  arrays a;
  int64_t bad[4] = {0, 0, 0, 0};
  const int bf16 = operands == ZP_BF16;
  OK(open_arrays(&a, size, (uint64_t)size[2], stream));
  for (int way = 0; way < 8; way++) {
    zp_product p = product_of(&a, size, way);
    p.operands = operands;
    OK(products->multiply(products->ctx, &p, stream));
    OK(harvest(&a, stream));
    bad[0] += out_of_bound(&a, &p, operands);
    OK(zp_products_ref.multiply(NULL, &p, stream));
    OK(harvest(&a, stream));
    bad[1] += out_of_bound(&a, &p, operands);
    OK(run_gap(&p, gap, stream));
    OK(harvest(&a, stream));
    bad[2] += out_of_bound(&a, &p, operands);
    p.operands = ZP_F32;
    OK(zp_products_ref.multiply(NULL, &p, stream));
    OK(harvest(&a, stream));
    bad[3] += out_of_bound(&a, &p, operands);
  }
  close_arrays(&a);
  snprintf(name, sizeof name, "%sproduct_%lld_%lld_%lld", bf16 ? "bf16_" : "", (long long)size[0],
           (long long)size[1], (long long)size[2]);
  snprintf(why, sizeof why, "%lld, %lld elements are not; %lld without a term, %lld not rounded",
           (long long)bad[0], (long long)bad[1], (long long)bad[2], (long long)bad[3]);
  verdict(bad[0] == 0, name, "is_within_its_bound", why);
  verdict(bad[1] == 0, name, "in_refs_order_is_within_its_bound", why);
  if (!bf16 || size[2] <= GAP_MAX) verdict(bad[2] == 8, name, "without_a_term_is_outside", why);
  if (bf16) verdict(bad[3] > 0, name, "of_operands_that_are_not_rounded_is_outside", why);
  return 0;
}

/* ---- What an addition loses ------------------------------------------------------------------ */

/* One term is 1, the others are `small`. */
static int multiply_small(arrays *a, const int64_t size[3], float small,
                          const zp_products *products, cudaStream_t stream)
{
  const int64_t M = size[0], K = size[2];
  zp_product p = product_of(a, size, 0);
  p.operands = ZP_BF16;
  for (int64_t i = 0; i < a->count[A]; i++)
    a->host[A][i] = i % K == i / K % M * K / M ? 1.0f : small; /* elsewhere in each row */
  for (int64_t i = 0; i < a->count[B]; i++) a->host[B][i] = 1.0f;
  for (int i = A; i <= B; i++)
    OK(cudaMemcpyAsync(a->device[i], a->host[i], (size_t)a->count[i] * sizeof(float),
                       cudaMemcpyHostToDevice, stream));
  OK(products->multiply(products->ctx, &p, stream));
  return harvest(a, stream);
}

/* An adder that aligns its addends to the largest one and keeps bits down to 2^-e of that loses
 * terms slightly below 2^-e. spec: ERR-8 */
static int judge_losses(const zp_products *products, cudaStream_t stream)
{
  enum { TERMS = 1024, FROM = 18, LOST = 21, TO = 26 };
  static const int64_t size[3] = {16, 16, TERMS};
  double worst = 0, share = 0;
  char why[80];
  arrays a;
  OK(open_arrays(&a, size, 1, stream));
  for (int e = FROM; e <= TO; e++) {
    const float small = 0x1.fep-1f * (float)ldexp(1, -e);
    const double sum = 1 + (TERMS - 1) * (double)small, most = bound_of(TERMS, ZP_BF16) * sum;
    OK(multiply_small(&a, size, small, products, stream));
    for (int64_t i = 0; i < a.count[C]; i++) {
      const double off = fabs(a.host[C][i] - sum);
      share = fmax(share, off / most);
      worst = fmax(worst, off / (TERMS - 1) * 0x1p23);
    }
    if (e == LOST) verdict(sum - 1 > most, "bf16_losses", "of_2_to_minus_21_are_outside", "");
  }
  close_arrays(&a);
  snprintf(why, sizeof why, "the largest error is %.2f of its bound", share);
  verdict(share <= 1, "bf16_losses", "are_within_the_bound", why);
  printf("# bf16 operands: an addend loses up to %.2f of 2^-23 of the largest, "
         "%.2f of what ERR-8 allows\n",
         worst, share);
  return 0;
}

int judge_products_alone(cudaStream_t stream, int small)
{
  zp_products products;
  product_gap *gap;
  int failed = 0;
  OK(zp_products_open(&products));
  OK(cudaMalloc((void **)&gap, sizeof *gap));
  for (size_t i = 0; i < (small ? SMALL : sizeof sizes / sizeof *sizes); i++) {
    if (!failed) failed = judge_size(sizes[i], ZP_F32, &products, gap, stream);
    if (!failed) failed = judge_size(sizes[i], ZP_BF16, &products, gap, stream);
  }
  if (!failed) failed = judge_losses(&products, stream);
  products.close(products.ctx);
  cudaFree(gap);
  return failed;
}

void judge_library(void)
{
  int64_t shapes;
  const int64_t refused = zp_products_refused(&shapes);
  if (shapes > 0)
    verdict(refused < shapes, "the_library", "multiplies_some_shapes", zp_products_name());
}
