/* The matrix products by cuBLASLt, with fp32 sums. fp32 operands: "pedantic", that is no TF32, no
 * emulation, no scheme with other sums than Σ a·b, so that ERR-1 holds whatever the order. bf16
 * operands: a kernel rounds them to memory of their own, and tensor cores multiply (ERR-8).
 *
 * cuBLASLt is column-major: it computes Cᵀ = Bᵀ·Aᵀ, so that our rows are its columns.
 *
 * If it has no algorithm for a shape (pedantic, odd lengths, aligned to 4 bytes), ref's product is
 * used, and zp_products_name reports it. spec: ERR-1, ERR-8, STRM-7 */
#include <cublasLt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layers.h"

/* WORKSPACE: NVIDIA's recommendation for sm_90. KNOWN: shapes whose algorithm is cached; a model
 * has 21 products, in up to three lengths of sequences. LINE: packed lines have a multiple of 16
 * bytes, for which tensor cores are fastest. */
enum { KNOWN = 128, LAYOUTS = 3, LINE = 8 };
#define WORKSPACE ((size_t)32 << 20)

/* The key of an algorithm; no padding, compared as bytes. align: of a, b, c. */
typedef struct key {
  int64_t rows[LAYOUTS], columns[LAYOUTS], ld[LAYOUTS], step[LAYOUTS], align[LAYOUTS];
  int64_t transposed[LAYOUTS], batch, bias, bf16;
} key;

enum { OF_B, OF_A, OF_C }; /* cuBLASLt's A, B and C */

/* An operand's copy in bf16. */
typedef struct packed {
  uint16_t *data;
  size_t bytes;
} packed;

typedef struct known {
  key key;
  cublasLtMatmulDesc_t desc;
  cublasLtMatrixLayout_t layout[LAYOUTS];
  cublasLtMatmulAlgo_t algo;
  int32_t none; /* 1: there is no algorithm */
} known;

typedef struct lt {
  cublasLtHandle_t handle;
  void *workspace;
  known known[KNOWN];
  int64_t n; /* entries so far; the oldest is replaced */
  packed a, b;
} lt;

/* Counts of this process. */
static struct {
  pthread_mutex_t lock;
  int64_t shapes, refused, first[3]; /* M, N, K of the first refused shape */
} counts = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void count_shape(void)
{
  pthread_mutex_lock(&counts.lock);
  counts.shapes++;
  pthread_mutex_unlock(&counts.lock);
}

static void refuse(known *k, const zp_product *p)
{
  k->none = 1;
  pthread_mutex_lock(&counts.lock);
  if (counts.refused++ == 0) {
    counts.first[0] = p->M;
    counts.first[1] = p->N;
    counts.first[2] = p->K;
  }
  pthread_mutex_unlock(&counts.lock);
}

static void forget(known *k)
{
  for (int i = 0; i < LAYOUTS; i++)
    if (k->layout[i]) cublasLtMatrixLayoutDestroy(k->layout[i]);
  if (k->desc) cublasLtMatmulDescDestroy(k->desc);
  memset(k, 0, sizeof *k);
}

/* The alignment of all matrices of an operand, 4 … 256 bytes. size: of an element. */
static int64_t aligned(const void *first, zp_product_stride step, int64_t ld, uint64_t size)
{
  const uint64_t all = (uint64_t)(uintptr_t)first | (uint64_t)step.outer * size |
                       (uint64_t)step.inner * size | (uint64_t)ld * size | 256;
  return (int64_t)(all & (~all + 1));
}

/* Describes one operand in column-major layout. rows, columns: after the transposition, if it is
 * transposed. ld is at least the length of a column, even for a single column. */
static void lay(key *k, int which, int64_t rows, int64_t columns, int64_t ld, int transposed,
                const void *first, zp_product_stride step)
{
  k->rows[which] = transposed ? columns : rows;
  k->columns[which] = transposed ? rows : columns;
  k->ld[which] = ld > k->rows[which] ? ld : k->rows[which];
  k->transposed[which] = transposed;
  k->step[which] = step.inner;
  k->align[which] = aligned(first, step, k->ld[which],
                            k->bf16 && which != OF_C ? sizeof(uint16_t) : sizeof(float));
}

static key key_of(const zp_product *p)
{
  key k;
  memset(&k, 0, sizeof k);
  k.bf16 = p->stored == ZP_BF16;
  lay(&k, OF_B, p->N, p->K, p->bn == 1 ? p->bk : p->bn, p->bn != 1, p->b, p->step_b);
  lay(&k, OF_A, p->K, p->M, p->ak == 1 ? p->am : p->ak, p->ak != 1, p->a, p->step_a);
  lay(&k, OF_C, p->N, p->M, p->ldc, 0, p->c, p->step_c);
  k.batch = p->inner;
  k.bias = p->bias != NULL;
  return k;
}

static int failed(const char *call, cublasStatus_t status)
{
  if (status != CUBLAS_STATUS_SUCCESS)
    fprintf(stderr, "cuBLASLt: %.*s: status %d\n", (int)strcspn(call, "("), call, (int)status);
  return status != CUBLAS_STATUS_SUCCESS;
}

#define TRY(call)                                                                                  \
  do {                                                                                             \
    if (failed(#call, call)) return -1;                                                            \
  } while (0)

static int make_layout(known *k, int i)
{
  const int32_t batch = (int32_t)k->key.batch;
  const cudaDataType_t type = k->key.bf16 && i != OF_C ? CUDA_R_16BF : CUDA_R_32F;
  TRY(cublasLtMatrixLayoutCreate(&k->layout[i], type, (uint64_t)k->key.rows[i],
                                 (uint64_t)k->key.columns[i], k->key.ld[i]));
  TRY(cublasLtMatrixLayoutSetAttribute(k->layout[i], CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch,
                                       sizeof batch));
  TRY(cublasLtMatrixLayoutSetAttribute(k->layout[i], CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                       &k->key.step[i], sizeof k->key.step[i]));
  return 0;
}

/* 0; -1: a call failed; 1: there is no algorithm. */
static int choose(lt *me, known *k, cublasLtMatmulPreference_t preference)
{
  static const cublasLtMatmulPreferenceAttributes_t align[LAYOUTS] = {
      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES};
  const size_t workspace = WORKSPACE;
  cublasLtMatmulHeuristicResult_t found;
  cublasStatus_t status;
  int n = 0;
  TRY(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                           &workspace, sizeof workspace));
  for (int i = 0; i < LAYOUTS; i++) {
    const uint32_t bytes = (uint32_t)k->key.align[i];
    TRY(cublasLtMatmulPreferenceSetAttribute(preference, align[i], &bytes, sizeof bytes));
    if (i == OF_C)
      TRY(cublasLtMatmulPreferenceSetAttribute(
          preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &bytes, sizeof bytes));
  }
  status =
      cublasLtMatmulAlgoGetHeuristic(me->handle, k->desc, k->layout[OF_B], k->layout[OF_A],
                                     k->layout[OF_C], k->layout[OF_C], preference, 1, &found, &n);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return 1;
  if (failed("cublasLtMatmulAlgoGetHeuristic", status)) return -1;
  if (n == 0 || found.state != CUBLAS_STATUS_SUCCESS) return 1;
  k->algo = found.algo;
  return 0;
}

/* As choose. */
static int make(lt *me, known *k)
{
  const cublasOperation_t op[2] = {k->key.transposed[OF_B] ? CUBLAS_OP_T : CUBLAS_OP_N,
                                   k->key.transposed[OF_A] ? CUBLAS_OP_T : CUBLAS_OP_N};
  const cublasLtEpilogue_t epilogue =
      k->key.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
  const cublasComputeType_t sums = k->key.bf16 ? CUBLAS_COMPUTE_32F : CUBLAS_COMPUTE_32F_PEDANTIC;
  cublasLtMatmulPreference_t preference;
  TRY(cublasLtMatmulDescCreate(&k->desc, sums, CUDA_R_32F));
  TRY(cublasLtMatmulDescSetAttribute(k->desc, CUBLASLT_MATMUL_DESC_TRANSA, &op[0], sizeof op[0]));
  TRY(cublasLtMatmulDescSetAttribute(k->desc, CUBLASLT_MATMUL_DESC_TRANSB, &op[1], sizeof op[1]));
  TRY(cublasLtMatmulDescSetAttribute(k->desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                                     sizeof epilogue));
  for (int i = 0; i < LAYOUTS; i++)
    if (make_layout(k, i)) return -1;
  TRY(cublasLtMatmulPreferenceCreate(&preference));
  const int result = choose(me, k, preference);
  cublasLtMatmulPreferenceDestroy(preference);
  return result;
}

/* The cached algorithm of the shape; NULL: a call failed. */
static known *find(lt *me, const zp_product *p)
{
  const key key = key_of(p);
  const int64_t have = me->n < KNOWN ? me->n : KNOWN;
  for (int64_t i = 0; i < have; i++)
    if (memcmp(&me->known[i].key, &key, sizeof key) == 0) return &me->known[i];
  known *k = &me->known[me->n % KNOWN];
  forget(k);
  k->key = key;
  const int result = make(me, k);
  if (result < 0) {
    forget(k);
    return NULL;
  }
  count_shape();
  if (result > 0) refuse(k, p);
  me->n++;
  return k;
}

static cublasStatus_t by_algorithm(lt *me, known *k, const zp_product *p, cudaStream_t stream)
{
  const float one = 1.0f, zero = 0.0f;
  const int64_t size = p->stored == ZP_BF16 ? sizeof(uint16_t) : sizeof(float);
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  if (p->bias)
    status = cublasLtMatmulDescSetAttribute(k->desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &p->bias,
                                            sizeof p->bias);
  for (int64_t o = 0; status == CUBLAS_STATUS_SUCCESS && o < p->outer; o++) {
    float *c = p->c + o * p->step_c.outer;
    const char *a = (const char *)p->a + o * p->step_a.outer * size;
    const char *b = (const char *)p->b + o * p->step_b.outer * size;
    status = cublasLtMatmul(me->handle, k->desc, &one, b, k->layout[OF_B], a, k->layout[OF_A],
                            &zero, c, k->layout[OF_C], c, k->layout[OF_C], &k->algo, me->workspace,
                            WORKSPACE, stream);
  }
  return status;
}

/* Memory for an operand: it grows only while a model is opened, as that has all shapes. */
static int reserve(packed *to, size_t bytes, cudaStream_t stream)
{
  if (bytes <= to->bytes) return 0;
  if (cudaStreamSynchronize(stream) || (to->data && cudaFree(to->data))) return -1;
  *to = (packed){NULL, 0};
  if (cudaMalloc((void **)&to->data, bytes)) return -1;
  to->bytes = bytes;
  return 0;
}

/* Rounds an operand to bf16, in lines of its elements that are neighbours in memory. *step and
 * *apart become those of the copy. */
static int pack(packed *to, const void *from, int64_t lines, int64_t length, const zp_product *p,
                zp_product_stride *step, int64_t *apart, cudaStream_t stream)
{
  const int64_t length_out = (length + LINE - 1) / LINE * LINE;
  const int64_t all = p->outer * p->inner * lines;
  const zp_launch l = zp_launch_items(all * length);
  zp_pack_operand_params q;
  void *args[] = {&q};
  memset(&q, 0, sizeof q);
  if (reserve(to, (size_t)(all * length_out) * sizeof *to->data, stream)) return -1;
  q.in = from;
  q.out = to->data;
  q.outer = p->outer;
  q.inner = p->inner;
  q.lines = lines;
  q.length = length;
  q.apart = *apart;
  q.length_out = *apart = length_out;
  q.step = *step;
  *step = (zp_product_stride){p->inner * lines * length_out, lines * length_out};
  return (int)cudaLaunchKernel(zp_kernel_pack_operand, (dim3){l.grid, 1, 1}, (dim3){l.block, 1, 1},
                               args, l.shared, stream);
}

/* *p becomes the same product of operands in bf16. */
static int pack_operands(lt *me, zp_product *p, cudaStream_t stream)
{
  const int rows = p->ak == 1, columns = p->bn == 1; /* A in rows, B in rows */
  if (pack(&me->a, p->a, rows ? p->M : p->K, rows ? p->K : p->M, p, &p->step_a,
           rows ? &p->am : &p->ak, stream) ||
      pack(&me->b, p->b, columns ? p->K : p->N, columns ? p->N : p->K, p, &p->step_b,
           columns ? &p->bk : &p->bn, stream))
    return -1;
  p->a = me->a.data;
  p->b = me->b.data;
  p->stored = ZP_BF16;
  return 0;
}

static int multiply_stored(lt *me, const zp_product *p, cudaStream_t stream)
{
  known *k = find(me, p);
  if (!k) return -1;
  if (!k->none) {
    const cublasStatus_t status = by_algorithm(me, k, p, stream);
    if (status != CUBLAS_STATUS_NOT_SUPPORTED) return -failed("cublasLtMatmul", status);
    refuse(k, p); /* the heuristic was wrong */
  }
  return zp_products_ref.multiply(zp_products_ref.ctx, p, stream);
}

static int multiply(void *ctx, const zp_product *p, cudaStream_t stream)
{
  lt *me = ctx;
  zp_product q = *p;
  if (p->M == 0 || p->N == 0 || p->inner == 0) return 0;
  if (p->operands == ZP_BF16 && p->K > 0 && pack_operands(me, &q, stream)) return -1;
  return multiply_stored(me, &q, stream);
}

static void close_lt(void *ctx)
{
  lt *me = ctx;
  if (!me) return;
  for (int i = 0; i < KNOWN; i++) forget(&me->known[i]);
  if (me->handle) cublasLtDestroy(me->handle);
  if (me->workspace) cudaFree(me->workspace);
  if (me->a.data) cudaFree(me->a.data);
  if (me->b.data) cudaFree(me->b.data);
  free(me);
}

const int32_t zp_products_library = 1;

int zp_products_open(zp_products *products)
{
  lt *me = calloc(1, sizeof *me);
  if (!me) return -1;
  if (failed("cublasLtCreate", cublasLtCreate(&me->handle)) ||
      cudaMalloc(&me->workspace, WORKSPACE) != cudaSuccess) {
    close_lt(me);
    return -1;
  }
  products->ctx = me;
  products->multiply = multiply;
  products->close = close_lt;
  products->loads = 1;
  return 0;
}

const char *zp_products_name(void)
{
  static char text[240];
  const size_t v = cublasLtGetVersion();
  const int n =
      snprintf(text, sizeof text, "cuBLASLt %zu.%zu.%zu, fp32 sums in an order of its own",
               v / 10000, v / 100 % 100, v % 100);
  pthread_mutex_lock(&counts.lock);
  if (counts.refused)
    snprintf(text + n, sizeof text - (size_t)n,
             "; ref's own for %lld of %lld shapes, which it has no algorithm for, the first with "
             "M %lld, N %lld, K %lld",
             (long long)counts.refused, (long long)counts.shapes, (long long)counts.first[0],
             (long long)counts.first[1], (long long)counts.first[2]);
  pthread_mutex_unlock(&counts.lock);
  return text;
}

int64_t zp_products_refused(int64_t *shapes)
{
  pthread_mutex_lock(&counts.lock);
  const int64_t refused = counts.refused;
  *shapes = counts.shapes;
  pthread_mutex_unlock(&counts.lock);
  return refused;
}
