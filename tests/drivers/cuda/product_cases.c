/* Compares matrix products with exact sums: every layout of the operands, several batches. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../cuda/gpt/layers.h"
#include "../../../ref/model/gpt_data.h"
#include "gpt_bounds.h"
#include "product_orders.h"

/* Terms are between 1/4 and 1, and there are at most 1024 of them: each is more than twice the
 * bound γ: 1024·1025·2^-24 < 1/8. */
static const int64_t sizes[][3] = {
    {1, 1, 1},       {3, 5, 7},         {33, 17, 64},      {16, 40, 300},
#ifdef ZP_ON_A_DEVICE
    {512, 768, 256}, {1000, 257, 1024}, {128, 2048, 1024},
#endif
};

enum { BATCHES = 4, SMALL = 4, LARGE = 10000000 }; /* SMALL: sizes */
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

/* Elements outside the bound γ; of large products only some are checked, including the last one. */
static int64_t out_of_bound(const arrays *a, const zp_product *p)
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
      const double term = (double)x[k * p->ak] * y[k * p->bk];
      sum += term;
      size += fabs(term);
    }
    const double off = terms * 0x1p-24 / (1 - terms * 0x1p-24) + terms * 0x1p-52;
    n += !(fabs(a->host[C][i] - sum) <= off * size);
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

static int judge_size(const int64_t size[3], const zp_products *products, product_gap *gap,
                      cudaStream_t stream)
{
  char name[80], why[80];
  arrays a;
  int64_t bad[3] = {0, 0, 0};
  OK(open_arrays(&a, size, (uint64_t)size[2], stream));
  for (int way = 0; way < 8; way++) {
    const zp_product p = product_of(&a, size, way);
    OK(products->multiply(products->ctx, &p, stream));
    OK(harvest(&a, stream));
    bad[0] += out_of_bound(&a, &p);
    OK(zp_products_ref.multiply(NULL, &p, stream));
    OK(harvest(&a, stream));
    bad[1] += out_of_bound(&a, &p);
    OK(run_gap(&p, gap, stream));
    OK(harvest(&a, stream));
    bad[2] += out_of_bound(&a, &p);
  }
  close_arrays(&a);
  snprintf(name, sizeof name, "product_%lld_%lld_%lld", (long long)size[0], (long long)size[1],
           (long long)size[2]);
  snprintf(why, sizeof why, "%lld, %lld elements are not; %lld without a term", (long long)bad[0],
           (long long)bad[1], (long long)bad[2]);
  verdict(bad[0] == 0, name, "is_within_its_bound", why);
  verdict(bad[1] == 0, name, "in_refs_order_is_within_its_bound", why);
  verdict(bad[2] == 8, name, "without_a_term_is_outside", why);
  return 0;
}

int judge_products_alone(cudaStream_t stream, int small)
{
  zp_products products;
  product_gap *gap;
  int failed = 0;
  OK(zp_products_open(&products));
  OK(cudaMalloc((void **)&gap, sizeof *gap));
  for (size_t i = 0; !failed && i < (small ? SMALL : sizeof sizes / sizeof *sizes); i++)
    failed = judge_size(sizes[i], &products, gap, stream);
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
