/* Launches a kernel after each product that checks it. spec: ERR-7, ERR-8 */
#include "judge.h"

#include <stdio.h>
#include <string.h>

#include "layers.h"

int zp_product_judge_open(zp_product_judge *judge, const zp_products *by)
{
  static const zp_judged nothing_yet;
  int status;
  memset(judge, 0, sizeof *judge);
  judge->by = by;
  status = (int)cudaMalloc((void **)&judge->found, sizeof nothing_yet);
  if (!status)
    status =
        (int)cudaMemcpy(judge->found, &nothing_yet, sizeof nothing_yet, cudaMemcpyHostToDevice);
  return status ? status : (int)cudaStreamSynchronize(NULL);
}

void zp_product_judge_close(zp_product_judge *judge)
{
  if (judge->found) cudaFree(judge->found);
}

int zp_product_judge_read(const zp_product_judge *judge, zp_judged *found)
{
  return (int)cudaMemcpy(found, judge->found, sizeof *found, cudaMemcpyDeviceToHost);
}

zp_judge_product_params zp_judge_product_of(const zp_product *p, zp_judged *found)
{
  /* A tensor core may lose four times as much, twice as often. spec: ERR-8 */
  const int bf16 = p->operands == ZP_BF16;
  const double terms = (double)p->K + (p->bias != NULL), u = bf16 ? 0x1p-22 : 0x1p-24;
  zp_judge_product_params q;
  memset(&q, 0, sizeof q); /* padding is zero */
  q.p = *p;
  q.share = terms * u / (1 - terms * u) + terms * 0x1p-51;
  q.least = terms * (bf16 ? 0x1p-148 : 0x1p-149);
  q.found = found;
  return q;
}

static int multiply(void *ctx, const zp_product *p, cudaStream_t stream)
{
  zp_product_judge *j = ctx;
  const int64_t elements = p->outer * p->inner * p->M * p->N;
  const zp_launch l = zp_launch_items(elements);
  zp_judge_product_params q = zp_judge_product_of(p, j->found);
  void *args[] = {&q};
  const int status = j->by->multiply(j->by->ctx, p, stream);
  if (status || !j->on || l.grid == 0) return status;
  j->elements += elements;
  return (int)cudaLaunchKernel(zp_kernel_judge_product, (dim3){l.grid, 1, 1}, (dim3){l.block, 1, 1},
                               args, l.shared, stream);
}

static void nothing(void *ctx)
{
  (void)ctx;
}

zp_products zp_products_judged(zp_product_judge *judge)
{
  return (zp_products){judge, multiply, nothing, judge->by->loads};
}

void zp_product_describe(int32_t name, char text[48])
{
  static const char *const product[] = {"qkv", "scores", "mix", "proj", "fc", "out", "head"};
  static const char *const of[] = {"", ", gradient of its left operand",
                                   ", gradient of its right operand"};
  snprintf(text, 48, "%s%s", product[name % ZP_PRODUCT_FORWARD], of[name / ZP_PRODUCT_FORWARD]);
}

int32_t zp_judged_worst_product(const zp_judged *found)
{
  int32_t most = -1;
  for (int32_t i = 0; i < ZP_PRODUCTS; i++)
    if (found->outside[i] > (most < 0 ? 0 : found->outside[most])) most = i;
  return most;
}

double zp_judged_max_error(const zp_judged *found)
{
  int i = ZP_JUDGED_WITHIN - 1;
  while (i > 0 && found->within[i] == 0) i--;
  return i * ZP_JUDGED_SHARE;
}

int32_t zp_judged_log2_factor(const zp_judged *found)
{
  int32_t i = ZP_JUDGED_FACTORS - 1;
  while (i > 0 && found->factor[i] == 0) i--;
  return i;
}

int64_t zp_judged_elements(const zp_judged *found)
{
  int64_t n = found->undecided;
  for (int32_t i = 0; i < ZP_PRODUCTS; i++) n += found->outside[i];
  for (int32_t i = 0; i < ZP_JUDGED_WITHIN; i++) n += found->within[i];
  return n;
}
