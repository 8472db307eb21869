/* cuBLASLt's meaning of columns, transposes, batches and alignments, by ref's product; it refuses what
 * cuBLASLt may refuse. spec: ERR-1 */
#include "cublasLt.h"

#include <stdlib.h>
#include <string.h>

#include "../../../cuda/model/product.h"
#include "refuse.h"

struct fake_handle {
  int unused;
};
struct fake_desc {
  cublasOperation_t turned[2];
  cublasLtEpilogue_t epilogue;
  const float *bias;
};
struct fake_layout {
  int64_t rows, columns, ld, step;
  int32_t batch;
};
struct fake_preference {
  uint64_t value[FAKE_PREFERENCES];
};

static const cublasStatus_t REFUSED = CUBLAS_STATUS_INVALID_VALUE, GOOD = CUBLAS_STATUS_SUCCESS;

static struct {
  fake_refusal how;
  int64_t K;
  fake_cublas_count count;
  int (*multiply)(const zp_product *p, cudaStream_t stream);
} fake;

void fake_cublas_multiplies(int (*multiply)(const zp_product *p, cudaStream_t stream))
{
  fake.multiply = multiply;
}

void fake_cublas_refuses(fake_refusal how, int64_t K)
{
  fake.how = how;
  fake.K = K;
}

fake_cublas_count fake_cublas_counted(void)
{
  return (fake_cublas_count){__atomic_load_n(&fake.count.asked, __ATOMIC_RELAXED),
                             __atomic_load_n(&fake.count.multiplied, __ATOMIC_RELAXED)};
}

static int64_t k_of(cublasLtMatmulDesc_t desc, const struct fake_layout *a)
{
  return desc->turned[0] == CUBLAS_OP_T ? a->rows : a->columns;
}

static int refuses(int64_t K)
{
  return fake.how != FAKE_TAKES_ALL && (fake.K == 0 || fake.K == K);
}

size_t cublasLtGetVersion(void)
{
  return 130002;
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
  *handle = calloc(1, sizeof **handle);
  return *handle ? GOOD : REFUSED;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
  free(handle);
  return GOOD;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t ld)
{
  if (type != CUDA_R_32F || rows == 0 || columns == 0 || ld < (int64_t)rows) return REFUSED;
  *layout = calloc(1, sizeof **layout);
  if (!*layout) return REFUSED;
  **layout = (struct fake_layout){(int64_t)rows, (int64_t)columns, ld, 0, 1};
  return GOOD;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout)
{
  free(layout);
  return GOOD;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                const void *value, size_t bytes)
{
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT) {
    if (bytes != sizeof layout->batch) return REFUSED;
    memcpy(&layout->batch, value, bytes);
  } else {
    if (bytes != sizeof layout->step) return REFUSED;
    memcpy(&layout->step, value, bytes);
  }
  return GOOD;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *desc, cublasComputeType_t compute,
                                        cudaDataType_t scale)
{
  /* what may use TF32, or be told to emulate, is not what ERR-1 allows */
  if (compute != CUBLAS_COMPUTE_32F_PEDANTIC || scale != CUDA_R_32F) return REFUSED;
  *desc = calloc(1, sizeof **desc);
  return *desc ? GOOD : REFUSED;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc)
{
  free(desc);
  return GOOD;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void *value, size_t bytes)
{
  switch (attribute) {
  case CUBLASLT_MATMUL_DESC_TRANSA:
  case CUBLASLT_MATMUL_DESC_TRANSB:
    if (bytes != sizeof desc->turned[0]) return REFUSED;
    memcpy(&desc->turned[attribute == CUBLASLT_MATMUL_DESC_TRANSB], value, bytes);
    return GOOD;
  case CUBLASLT_MATMUL_DESC_EPILOGUE:
    if (bytes != sizeof desc->epilogue) return REFUSED;
    memcpy(&desc->epilogue, value, bytes);
    return GOOD;
  case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
    if (bytes != sizeof desc->bias) return REFUSED;
    memcpy(&desc->bias, value, bytes);
    return GOOD;
  default: return REFUSED;
  }
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference)
{
  *preference = calloc(1, sizeof **preference);
  if (!*preference) return REFUSED;
  /* cuBLASLt's default: what it is not told is aligned to 256 */
  for (int i = 0; i < FAKE_PREFERENCES; i++) (*preference)->value[i] = i ? 256 : 0;
  return GOOD;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference)
{
  free(preference);
  return GOOD;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void *value, size_t bytes)
{
  uint32_t small;
  if (bytes != (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES ? 8 : 4)) return REFUSED;
  memcpy(&small, value, sizeof small);
  if (bytes == 8) memcpy(&preference->value[attribute], value, bytes);
  else preference->value[attribute] = small;
  return GOOD;
}

/* op(a)·op(b) has the shape of d, and batches are as many in all. */
static int fit(cublasLtMatmulDesc_t desc, const struct fake_layout *a, const struct fake_layout *b,
               const struct fake_layout *d)
{
  const int turned_a = desc->turned[0] == CUBLAS_OP_T, turned_b = desc->turned[1] == CUBLAS_OP_T;
  return d->rows == (turned_a ? a->columns : a->rows) &&
         d->columns == (turned_b ? b->rows : b->columns) &&
         k_of(desc, a) == (turned_b ? b->columns : b->rows) && a->batch == d->batch &&
         b->batch == d->batch;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int asked,
                                              cublasLtMatmulHeuristicResult_t *results, int *found)
{
  *found = 0;
  if (!handle || asked < 1 || c != d || !fit(desc, a, b, d)) return REFUSED;
  __atomic_add_fetch(&fake.count.asked, 1, __ATOMIC_RELAXED);
  memset(results, 0, sizeof *results);
  if (refuses(k_of(desc, a))) {
    *found = fake.how != FAKE_FINDS_NONE;
    if (fake.how == FAKE_RESULT_REFUSES) results->state = CUBLAS_STATUS_NOT_SUPPORTED;
    if (fake.how == FAKE_HEURISTIC_REFUSES) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (fake.how != FAKE_PRODUCT_REFUSES) return GOOD;
  }
  for (int i = 0; i < 4; i++)
    results->algo.aligned[i] = preference->value[CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES + i];
  results->algo.workspace = preference->value[CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES];
  *found = 1;
  return GOOD;
}

/* Each matrix of the batch begins where it was said to, and so does each column. */
static int aligned(const void *p, const struct fake_layout *l, uint64_t bytes)
{
  return (uint64_t)(uintptr_t)p % bytes == 0 &&
         (l->batch == 1 || (uint64_t)l->step * sizeof(float) % bytes == 0);
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha,
                              const void *a, cublasLtMatrixLayout_t la, const void *b,
                              cublasLtMatrixLayout_t lb, const void *beta, const void *c,
                              cublasLtMatrixLayout_t lc, void *d, cublasLtMatrixLayout_t ld,
                              const cublasLtMatmulAlgo_t *algo, void *workspace,
                              size_t workspace_bytes, cudaStream_t stream)
{
  zp_product p;
  float one, zero;
  memcpy(&one, alpha, sizeof one);
  memcpy(&zero, beta, sizeof zero);
  if (!handle || one != 1.0f || zero != 0.0f || c != d || lc != ld || !fit(desc, la, lb, ld))
    return REFUSED;
  if (!aligned(a, la, algo->aligned[0]) || !aligned(b, lb, algo->aligned[1]) ||
      !aligned(d, ld, algo->aligned[3]) || !workspace || workspace_bytes < algo->workspace)
    return REFUSED;
  if (desc->epilogue == CUBLASLT_EPILOGUE_BIAS && !desc->bias) return REFUSED;
  if (refuses(k_of(desc, la)))
    return fake.how == FAKE_PRODUCT_REFUSES ? CUBLAS_STATUS_NOT_SUPPORTED : REFUSED;
  __atomic_add_fetch(&fake.count.multiplied, 1, __ATOMIC_RELAXED);
  memset(&p, 0, sizeof p);
  p.M = ld->columns;
  p.N = ld->rows;
  p.K = k_of(desc, la);
  p.c = d;
  p.ldc = ld->ld;
  p.a = b;
  p.am = desc->turned[1] == CUBLAS_OP_T ? 1 : lb->ld;
  p.ak = desc->turned[1] == CUBLAS_OP_T ? lb->ld : 1;
  p.b = a;
  p.bk = desc->turned[0] == CUBLAS_OP_T ? 1 : la->ld;
  p.bn = desc->turned[0] == CUBLAS_OP_T ? la->ld : 1;
  p.bias = desc->epilogue == CUBLASLT_EPILOGUE_BIAS ? desc->bias : NULL;
  p.outer = 1;
  p.inner = ld->batch;
  p.step_a.inner = lb->step;
  p.step_b.inner = la->step;
  p.step_c.inner = ld->step;
  if (fake.multiply) return fake.multiply(&p, stream) ? REFUSED : GOOD;
  return zp_products_ref.multiply(NULL, &p, stream) ? REFUSED : GOOD;
}
