/* Shapes that cuBLASLt refuses are multiplied by ref's product. Algorithms are requested, and
 * kernels first launched, when a model is opened. The stand-in refuses and counts. spec: ERR-1,
 * STRM-7 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../cuda/gpt/gpt.h"
#include "../../../ref/model/gpt_net.h"
#include "../../fixtures/fake_cublas/refuse.h"
#include "gpt_bounds.h"

/* Two products, M by N each, one of which is refused; the text and entries of a model. */
enum { M = 3, N = 5, K = 7, K_TAKEN = 4, TEXT = 64, ENTRIES_MAX = 32, LENGTHS = 3 };

/* ---- What is refused ------------------------------------------------------------------------- */

typedef struct operands {
  float *a, *b, *c;
} operands;

static zp_product product_of(const operands *o, int64_t k)
{
  zp_product p;
  memset(&p, 0, sizeof p);
  p.M = M;
  p.N = N;
  p.K = k;
  p.c = o->c;
  p.ldc = N;
  p.a = o->a;
  p.am = k;
  p.ak = 1;
  p.b = o->b;
  p.bk = N;
  p.bn = 1;
  p.outer = p.inner = 1;
  return p;
}

static int multiplied(const zp_products *by, const zp_product *p, float *out, cudaStream_t stream)
{
  OK(cudaMemsetAsync(p->c, 0xff, M * N * sizeof *out, stream));
  OK(by->multiply(by->ctx, p, stream));
  OK(cudaMemcpyAsync(out, p->c, M * N * sizeof *out, cudaMemcpyDeviceToHost, stream));
  return (int)cudaStreamSynchronize(stream);
}

/* Each shape twice: a refused shape is not requested again. */
static int judge_way(const operands *o, fake_refusal how, const char *name, cudaStream_t stream)
{
  float want[M * N], got[M * N];
  char why[200];
  int64_t shapes, shapes_before;
  int good = 1;
  zp_products products;
  fake_cublas_refuses(how, K);
  const int64_t refused_before = zp_products_refused(&shapes_before);
  const fake_cublas_count before = fake_cublas_counted();
  OK(zp_products_open(&products));
  for (int i = 0; i < 4; i++) {
    const zp_product p = product_of(o, i % 2 ? K_TAKEN : K);
    OK(multiplied(&zp_products_ref, &p, want, stream));
    OK(multiplied(&products, &p, got, stream));
    good = good && memcmp(want, got, sizeof want) == 0;
  }
  products.close(products.ctx);
  const fake_cublas_count count = fake_cublas_counted();
  const int64_t refused = zp_products_refused(&shapes) - refused_before;
  verdict(good, name, "ref_s_own_product_multiplies", "other bits than ref's");
  snprintf(
      why, sizeof why, "asked for %lld shapes, multiplied %lld; reported: %lld of %lld refused",
      (long long)(count.asked - before.asked), (long long)(count.multiplied - before.multiplied),
      (long long)refused, (long long)(shapes - shapes_before));
  verdict(count.asked - before.asked == 2 && count.multiplied - before.multiplied == 2, name,
          "and_no_other_shape", why);
  verdict(refused == 1 && shapes - shapes_before == 2 &&
              strstr(zp_products_name(), "which it has no algorithm for, the first with M 3, N 5, "
                                         "K 7"),
          name, "is_reported", why);
  return 0;
}

static int judge_refusals(cudaStream_t stream)
{
  static const char *const name[] = {[FAKE_FINDS_NONE] = "no_algorithm_found",
                                     [FAKE_HEURISTIC_REFUSES] = "no_heuristic",
                                     [FAKE_RESULT_REFUSES] = "algorithm_not_here",
                                     [FAKE_PRODUCT_REFUSES] = "product_not_supported"};
  float x[M * K + K * N];
  operands o;
  for (int i = 0; i < M * K + K * N; i++) x[i] = (float)(i * i % 17 - 8) / 3;
  OK(cudaMalloc((void **)&o.a, sizeof x));
  OK(cudaMalloc((void **)&o.c, M * N * sizeof *x));
  o.b = o.a + M * K;
  OK(cudaMemcpyAsync(o.a, x, sizeof x, cudaMemcpyHostToDevice, stream));
  OK(cudaStreamSynchronize(stream));
  for (int how = FAKE_FINDS_NONE; how <= FAKE_PRODUCT_REFUSES; how++)
    OK(judge_way(&o, (fake_refusal)how, name[how], stream));
  fake_cublas_refuses(FAKE_TAKES_ALL, 0);
  OK(cudaFree(o.a));
  OK(cudaFree(o.c));
  return 0;
}

/* ---- When it is asked ------------------------------------------------------------------------ */

typedef struct model {
  uint8_t text[TEXT];
  zp_param list[ENTRIES_MAX];
  zp_gpt_options gpt;
  zp_config cfg;
  int32_t entries;
  void *param[ENTRIES_MAX], *grad[ENTRIES_MAX], *state;
  float *loss;
  int32_t *refused;
} model;

static int cleared(void **p, size_t bytes, cudaStream_t stream)
{
  OK(cudaMalloc(p, bytes));
  return (int)cudaMemsetAsync(*p, 0, bytes, stream);
}

static int open_model(model *m, cudaStream_t stream)
{
  memset(m, 0, sizeof *m);
  m->gpt =
      (zp_gpt_options){.shape = {1, 8, 2, 9, 1, 0}, .data = {m->text, TEXT, 1}, .vary_shapes = 1};
  m->entries = zp_gpt_entries(&m->gpt.shape);
  if (m->entries > ENTRIES_MAX) return __LINE__;
  zp_gpt_list(&m->gpt.shape, 1, m->list, NULL);
  m->cfg = (zp_config){.pp = 1, .dp = 1, .tp = 1, .ep = 1, .micro_batches = LENGTHS};
  m->cfg.precision = ZP_F32;
  m->cfg.params = m->list;
  m->cfg.n_params = m->entries;
  for (int32_t j = 0; j < m->entries; j++) {
    const size_t bytes = (size_t)m->list[j].numel * sizeof(float);
    OK(cleared(&m->param[j], bytes, stream));
    OK(cleared(&m->grad[j], bytes, stream));
  }
  OK(cleared(&m->state, sizeof(zp_step_state), stream));
  OK(cudaMalloc((void **)&m->loss, sizeof *m->loss));
  OK(cudaMalloc((void **)&m->refused, sizeof *m->refused));
  return (int)cudaStreamSynchronize(stream);
}

static void close_model(model *m)
{
  for (int32_t j = 0; j < m->entries; j++) {
    cudaFree(m->param[j]);
    cudaFree(m->grad[j]);
  }
  cudaFree(m->state);
  cudaFree(m->loss);
  cudaFree(m->refused);
}

static int run_lengths(zp_cuda_gpt *gpt, const model *m, cudaStream_t stream)
{
  const zp_message none = {0};
  for (int64_t mb = 0; mb < LENGTHS; mb++) {
    const zp_cuda_call call = {
        .stream = stream, .mb = mb, .state = m->state, .in = &none, .out = &none, .loss = m->loss};
    OK(zp_cuda_gpt_forward(gpt, &call));
    OK(zp_cuda_gpt_backward(gpt, &call, m->grad));
  }
  return (int)cudaStreamSynchronize(stream);
}

static int judge_opening(cudaStream_t stream)
{
  model m;
  char why[200];
  zp_products products;
  OK(open_model(&m, stream));
  OK(zp_products_open(&products));
  const zp_cuda_gpt_options o = {
      .gpt = &m.gpt, .cfg = &m.cfg, .param = m.param, .refused = m.refused, .products = &products};
  const fake_cublas_count before = fake_cublas_counted();
  zp_cuda_gpt *gpt = zp_cuda_gpt_open(&o);
  if (!gpt) return __LINE__;
  const fake_cublas_count opened = fake_cublas_counted();
  OK(run_lengths(gpt, &m, stream));
  const fake_cublas_count run = fake_cublas_counted();
  zp_cuda_gpt_close(gpt);
  products.close(products.ctx);
  close_model(&m);
  snprintf(why, sizeof why, "asked %lld times, multiplied %lld; then %lld, %lld",
           (long long)(opened.asked - before.asked),
           (long long)(opened.multiplied - before.multiplied),
           (long long)(run.asked - opened.asked), (long long)(run.multiplied - opened.multiplied));
  verdict(opened.asked > before.asked && opened.multiplied - before.multiplied == LENGTHS * 21,
          "cublaslt", "multiplies_each_product_of_each_length_when_a_model_is_opened", why);
  verdict(run.asked == opened.asked && run.multiplied - opened.multiplied == LENGTHS * 21,
          "cublaslt", "is_asked_for_no_algorithm_later", why);
  return 0;
}

int judge_cublaslt(cudaStream_t stream)
{
  OK(judge_refusals(stream));
  return judge_opening(stream);
}
