/* Compares gpt on the device with ref: with ref's product the bits are equal; with products in
 * other orders, and with the library's, results are within the bounds; without one term of any one
 * product they are outside. Prints "ok NAME" or "not ok NAME: WHY" for each; runs on simdev or,
 * compiled with ZP_ON_A_DEVICE, on a device. spec: ERR-1 … ERR-6, ERR-8 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../cuda/gpt/bound_layers.h"
#include "../../../cuda/gpt/gpt.h"
#include "../../../cuda/gpt/layers.h"
#include "../../../ref/model/gpt_cast.h"
#include "../../../ref/model/gpt_data.h"
#include "../../../ref/model/gpt_net.h"
#include "gpt_bounds.h"
#include "product_orders.h"
#ifndef ZP_ON_A_DEVICE
#include "../../../cuda/simdev/simdev.h"
#endif

/* ANY: randomly chosen terms that are left out, of which MOST must be found, as small ones are not.
 * SEEDS: further seeds of each case, for the orders. */
enum { ENTRIES_MAX = 64, TEXT = 512, ANY = 100, MOST = 90, SEEDS = 4 };

typedef struct bounds_case {
  const char *name;
  zp_gpt_shape shape;
  int32_t precision, log2_scale;
  uint64_t seed;
  int32_t orders_only; /* 1: no terms are left out */
} bounds_case;

static const bounds_case cases[] = {
    {"fp32", {2, 8, 2, 4, 1, 0}, ZP_F32, 0, 1, 0},
    {"fp32_odd", {1, 9, 3, 3, 2, 0}, ZP_F32, 8, 2, 0},
    {"fp32_wide", {1, 16, 4, 3, 1, 0}, ZP_F32, 0, 3, 0},
    {"bf16", {1, 16, 2, 4, 1, 0}, ZP_BF16, 0, 4, 0},
    {"bf16_deep", {2, 8, 2, 4, 1, 0}, ZP_BF16, 0, 5, 0},
    {"bf16_more", {1, 8, 2, 3, 2, 0}, ZP_BF16, 0, 6, 0},
    {"fp16", {1, 8, 2, 4, 1, 0}, ZP_F16, 10, 7, 0},
};

/* The results of one run: host memory, numbers in fp32. */
typedef struct outcome {
  float loss;
  float *grad[ENTRIES_MAX];
} outcome;

/* A case, with everything that is the same in all its runs. */
typedef struct bench {
  const bounds_case *c;
  zp_config cfg;
  zp_param list[ENTRIES_MAX];
  zp_gpt *gpt;
  zp_gpt_options options;
  uint8_t text[TEXT];
  void *param[ENTRIES_MAX]; /* host, in the precision */
  int32_t entries;
  int32_t *token, *target;
  outcome ref, got, bf16; /* bf16: operands of products rounded to it */
  zp_range loss, *range[ENTRIES_MAX];
  /* on the device */
  void *device[ENTRIES_MAX], *grad[ENTRIES_MAX];
  zp_step_state *state;
  float *device_loss;
  int32_t *refused;
  product_gap *gap;
  cudaStream_t stream;
} bench;

/* The products: in an order; call number `at` without one term, the largest or, with which >= 0,
 * that one (product_orders.h). */
typedef struct multiplier {
  bench *b;
  int32_t order, at;
  double which;
  int32_t calls, name;
} multiplier;

static int failures;
static int orders_only; /* an argument: all cases, but no further seeds */
static int small;       /* an argument: two cases, for a tool that is slow */

void verdict(int good, const char *name, const char *what, const char *why)
{
  if (good) printf("ok %s_%s\n", name, what);
  else printf("not ok %s_%s: %s\n", name, what, why);
  failures += !good;
}

/* ---- Products -------------------------------------------------------------------------------- */

static int multiply(void *ctx, const zp_product *p, cudaStream_t stream)
{
  multiplier *m = ctx;
  const zp_launch l = zp_launch_items(p->outer * p->inner * p->M * p->N);
  product_orders_params o;
  void *args[] = {&o};
  memset(&o, 0, sizeof o);
  o.p = *p;
  o.order = m->order;
  if (m->calls++ == m->at) {
    m->name = p->name;
    o.gap = m->b->gap;
    o.T = m->b->c->shape.context;
    o.at = m->which;
    OK(cudaMemsetAsync(o.gap, 0xff, sizeof *o.gap, stream));
    OK(cudaLaunchKernel(zp_kernel_pick, (dim3){1, 1, 1}, (dim3){1, 1, 1}, args, 0, stream));
  }
  return (int)cudaLaunchKernel(zp_kernel_any_order, (dim3){l.grid, 1, 1}, (dim3){l.block, 1, 1},
                               args, 0, stream);
}

static const char *name_of(int32_t name)
{
  static const char *const product[] = {"qkv", "scores", "mix", "proj", "fc", "out", "head"};
  static const char *const way[] = {"", "_left", "_right"};
  static char text[32];
  snprintf(text, sizeof text, "%s%s", product[name % ZP_PRODUCT_FORWARD],
           way[name / ZP_PRODUCT_FORWARD]);
  return text;
}

/* ---- Data ------------------------------------------------------------------------------------ */

static float uniform(uint64_t seed, uint64_t entry, uint64_t i)
{
  return (float)(int32_t)(zp_gpt_hash(seed, entry, i, 77) >> 40) * 0x1p-23f - 1.0f;
}

/* Values of the size of training, but with different biases and gains, so that the terms of a
 * product differ and each matters. */
static int make_params(bench *b)
{
  for (int32_t j = 0; j < b->entries; j++) {
    const int64_t n = b->list[j].numel;
    char name[ZP_GPT_NAME];
    float *x = malloc((size_t)n * sizeof *x);
    b->param[j] = malloc((size_t)n * sizeof *x);
    if (!x || !b->param[j]) return __LINE__;
    zp_gpt_name(&b->c->shape, j, name);
    zp_gpt_initial(&b->options, j, x);
    const int32_t vector = name[strlen(name) - 1] == 'g' || strstr(name, ".b") != NULL;
    for (int64_t i = 0; i < n; i++)
      if (vector) x[i] += 0.25f * uniform(b->c->seed, (uint64_t)j, (uint64_t)i);
    zp_gpt_encode(b->param[j], x, n, b->c->precision);
    free(x);
  }
  return 0;
}

static int make_arrays(bench *b)
{
  const int64_t N = (int64_t)b->c->shape.batch * b->c->shape.context;
  b->token = calloc((size_t)N, sizeof *b->token);
  b->target = calloc((size_t)N, sizeof *b->target);
  if (!b->token || !b->target) return __LINE__;
  for (int32_t j = 0; j < b->entries; j++) {
    const size_t n = (size_t)b->list[j].numel;
    b->ref.grad[j] = malloc(n * sizeof(float));
    b->got.grad[j] = malloc(n * sizeof(float));
    b->bf16.grad[j] = malloc(n * sizeof(float));
    b->range[j] = malloc(n * sizeof(zp_range));
    if (!b->ref.grad[j] || !b->got.grad[j] || !b->bf16.grad[j] || !b->range[j]) return __LINE__;
  }
  return 0;
}

static int open_bench(bench *b)
{
  const zp_gpt_shape *shape = &b->c->shape;
  char msg[200];
  for (int i = 0; i < TEXT; i++)
    b->text[i] = (uint8_t)(zp_gpt_hash(b->c->seed, (uint64_t)i, 0, 0) % 96 + 32);
  b->options = (zp_gpt_options){
      .shape = *shape, .data = {b->text, TEXT, b->c->seed}, .init_seed = b->c->seed};
  b->gpt = zp_gpt_create(&b->options, msg, sizeof msg);
  b->entries = zp_gpt_entries(shape);
  if (!b->gpt || b->entries > ENTRIES_MAX) return __LINE__;
  zp_gpt_list(shape, 1, b->list, NULL);
  b->cfg = (zp_config){.pp = 1, .dp = 1, .tp = 1, .ep = 1, .micro_batches = 1};
  b->cfg.precision = b->c->precision;
  b->cfg.params = b->list;
  b->cfg.n_params = b->entries;
  OK(make_params(b));
  OK(make_arrays(b));
  zp_gpt_read(&b->options, 0, 0, b->token, b->target);
  return 0;
}

static void close_bench(bench *b)
{
  for (int32_t j = 0; j < b->entries; j++) {
    free(b->param[j]);
    free(b->ref.grad[j]);
    free(b->got.grad[j]);
    free(b->bf16.grad[j]);
    free(b->range[j]);
    if (b->device[j]) cudaFree(b->device[j]);
    if (b->grad[j]) cudaFree(b->grad[j]);
  }
  if (b->state) cudaFree(b->state);
  if (b->device_loss) cudaFree(b->device_loss);
  if (b->refused) cudaFree(b->refused);
  if (b->gap) cudaFree(b->gap);
  if (b->stream) cudaStreamDestroy(b->stream);
  zp_gpt_destroy(b->gpt);
  free(b->token);
  free(b->target);
}

/* ---- Ref, bounds, device --------------------------------------------------------------------- */

static void arrived(void *ctx, int32_t param, const void *grad)
{
  bench *b = ctx;
  zp_gpt_decode(b->ref.grad[param], grad, b->list[param].numel, b->c->precision);
}

static int run_ref(bench *b)
{
  const zp_workload work = zp_gpt_workload(b->gpt);
  const zp_place_of where = {0, 0, 0, 0};
  const zp_mb at = {0, 0, b->c->log2_scale};
  const zp_message none = {0};
  void *inst;
  OK(work.open(work.ctx, &b->cfg, where, (const void *const *)b->param, &inst));
  int failed = work.forward(inst, at, 0, &none, &none, &b->ref.loss);
  if (!failed) failed = work.backward(inst, at, 0, &none, &none, (zp_sink){b, arrived});
  work.close(inst);
  return failed;
}

static int run_bounds(bench *b)
{
  const zp_bound_input in = {.shape = b->c->shape,
                             .T = b->c->shape.context,
                             .precision = b->c->precision,
                             .log2_scale = b->c->log2_scale,
                             .params = (const void *const *)b->param,
                             .token = b->token,
                             .target = b->target};
  return zp_bound_gpt(&in, &b->loss, b->range);
}

static int open_device(bench *b)
{
  zp_step_state state;
  memset(&state, 0, sizeof state);
  state.scaler.log2_scale = b->c->log2_scale;
  OK(cudaStreamCreateWithFlags(&b->stream, cudaStreamNonBlocking));
  OK(cudaMalloc((void **)&b->state, sizeof state));
  OK(cudaMalloc((void **)&b->device_loss, sizeof(float)));
  OK(cudaMalloc((void **)&b->refused, sizeof *b->refused));
  OK(cudaMalloc((void **)&b->gap, sizeof *b->gap));
  OK(cudaMemcpyAsync(b->state, &state, sizeof state, cudaMemcpyHostToDevice, b->stream));
  OK(cudaMemsetAsync(b->refused, 0, sizeof *b->refused, b->stream));
  for (int32_t j = 0; j < b->entries; j++) {
    const size_t bytes = (size_t)(b->list[j].numel * zp_dtype_bytes(b->c->precision));
    OK(cudaMalloc(&b->device[j], bytes));
    OK(cudaMalloc(&b->grad[j], bytes));
    OK(cudaMemcpyAsync(b->device[j], b->param[j], bytes, cudaMemcpyHostToDevice, b->stream));
  }
  return (int)cudaStreamSynchronize(b->stream);
}

static int harvest(bench *b, outcome *to)
{
  int32_t refused;
  OK(cudaMemcpyAsync(&to->loss, b->device_loss, sizeof(float), cudaMemcpyDeviceToHost, b->stream));
  OK(cudaMemcpyAsync(&refused, b->refused, sizeof refused, cudaMemcpyDeviceToHost, b->stream));
  OK(cudaStreamSynchronize(b->stream));
  for (int32_t j = 0; j < b->entries; j++) {
    const int64_t n = b->list[j].numel;
    void *raw = malloc((size_t)n * sizeof(float));
    if (!raw) return __LINE__;
    OK(cudaMemcpyAsync(raw, b->grad[j], (size_t)(n * zp_dtype_bytes(b->c->precision)),
                       cudaMemcpyDeviceToHost, b->stream));
    OK(cudaStreamSynchronize(b->stream));
    zp_gpt_decode(to->grad[j], raw, n, b->c->precision);
    free(raw);
  }
  return refused ? __LINE__ : 0;
}

static int run_operands(bench *b, const zp_products *products, int32_t operands, outcome *to)
{
  const zp_cuda_gpt_options o = {.gpt = &b->options,
                                 .cfg = &b->cfg,
                                 .param = b->device,
                                 .refused = b->refused,
                                 .products = products,
                                 .operands = operands};
  const zp_message none = {0};
  const zp_cuda_call call = {
      .stream = b->stream, .state = b->state, .in = &none, .out = &none, .loss = b->device_loss};
  zp_cuda_gpt *gpt = zp_cuda_gpt_open(&o);
  if (!gpt) return __LINE__;
  int failed = zp_cuda_gpt_forward(gpt, &call);
  if (!failed) failed = zp_cuda_gpt_backward(gpt, &call, b->grad);
  if (!failed) failed = harvest(b, to);
  zp_cuda_gpt_close(gpt);
  return failed;
}

static int run_device(bench *b, const zp_products *products)
{
  return run_operands(b, products, ZP_F32, &b->got);
}

/* ---- Judging --------------------------------------------------------------------------------- */

/* How many numbers of loss and gradients are outside their ranges, or NaN; `where` describes the
 * first. */
static int64_t out_of_range(const bench *b, const outcome *o, char *where, size_t cap)
{
  int64_t n = !(o->loss >= b->loss.lo && o->loss <= b->loss.hi);
  snprintf(where, cap, "loss %.9g not in [%.9g, %.9g]", (double)o->loss, b->loss.lo, b->loss.hi);
  for (int32_t j = 0; j < b->entries; j++)
    for (int64_t i = 0; i < b->list[j].numel; i++) {
      const float x = o->grad[j][i];
      const zp_range r = b->range[j][i];
      if (x >= r.lo && x <= r.hi) continue;
      char name[ZP_GPT_NAME];
      zp_gpt_name(&b->c->shape, j, name);
      if (n++ == 0)
        snprintf(where, cap, "%s[%lld] %.9g not in [%.9g, %.9g]", name, (long long)i, (double)x,
                 r.lo, r.hi);
    }
  return n;
}

static int64_t different(const bench *b, const outcome *x, const outcome *y)
{
  int64_t n = memcmp(&x->loss, &y->loss, sizeof(float)) != 0;
  for (int32_t j = 0; j < b->entries; j++)
    for (int64_t i = 0; i < b->list[j].numel; i++)
      n += memcmp(&x->grad[j][i], &y->grad[j][i], sizeof(float)) != 0;
  return n;
}

static int64_t different_bits(const bench *b)
{
  return different(b, &b->got, &b->ref);
}

/* The widths of the bounds relative to the gradients, both as root mean squares. */
static double relative_width(const bench *b)
{
  double width = 0, size = 0;
  for (int32_t j = 0; j < b->entries; j++)
    for (int64_t i = 0; i < b->list[j].numel; i++) {
      const zp_range r = b->range[j][i];
      width += (r.hi - r.lo) * (r.hi - r.lo);
      size += (double)b->ref.grad[j][i] * b->ref.grad[j][i];
    }
  return sqrt(width / size);
}

/* spec: ERR-1, ERR-6 */
static int judge_orders(bench *b)
{
  static const char *const name[] = {"ref", "reversed", "blocked", "pairwise", "fused"};
  char where[200], what[96];
  for (int32_t order = 0; order < ORDERS; order++) {
    multiplier m = {b, order, -1, -1, 0, 0};
    OK(run_device(b, &(zp_products){&m, multiply, NULL, 0}));
    snprintf(what, sizeof what, "order_%s_is_within_the_bounds", name[order]);
    verdict(out_of_range(b, &b->got, where, sizeof where) == 0, b->c->name, what, where);
    if (order == ORDER_REF)
      verdict(different_bits(b) == 0, b->c->name, "order_ref_is_refs_bits", "");
    else {
      snprintf(what, sizeof what, "order_%s_differs_from_ref", name[order]);
      verdict(different_bits(b) > 0, b->c->name, what, "all bits are ref's: it shows nothing");
    }
  }
  return 0;
}

/* Operands rounded to bf16. spec: ERR-8 */
static int judge_bf16(bench *b, const zp_products *products)
{
  OK(run_operands(b, &zp_products_ref, ZP_BF16, &b->bf16));
  verdict(different(b, &b->bf16, &b->ref) > 0, b->c->name, "bf16_operands_change_bits",
          "all bits are ref's");
  OK(run_operands(b, products, ZP_BF16, &b->got));
#if defined ZP_FAKE_CUBLAS || !defined ZP_ON_A_DEVICE
  verdict(different(b, &b->got, &b->bf16) == 0, b->c->name,
          "the_products_of_bf16_operands_are_ref_s_order", "some bits differ");
#endif
  return 0;
}

/* The products of the library, or ref's. */
static int judge_products(bench *b)
{
  char where[200];
  zp_products products;
  OK(zp_products_open(&products));
  int failed = judge_bf16(b, &products);
  if (!failed) failed = run_device(b, &products);
  products.close(products.ctx);
  OK(failed);
  verdict(out_of_range(b, &b->got, where, sizeof where) == 0, b->c->name,
          "the_products_are_within_the_bounds", where);
  printf("# %s: %s\n", b->c->name, zp_products_name());
#ifdef ZP_FAKE_CUBLAS
  verdict(different_bits(b) == 0, b->c->name, "cublaslts_products_are_refs", "some bits differ");
#endif
  OK(run_device(b, &zp_products_ref));
  verdict(different_bits(b) == 0, b->c->name, "refs_products_give_refs_bits", "some bits differ");
  return 0;
}

/* Each product of the model lacks its largest term; then a random product lacks a random term.
 * spec: ERR-6 */
static int judge_gaps(bench *b)
{
  char where[200], what[96];
  const int32_t all = 18 * b->c->shape.layers + 3;
  int32_t found = 0;
  for (int32_t at = 0; at < all; at++) {
    multiplier m = {b, ORDER_REF, at, -1, 0, 0};
    OK(run_device(b, &(zp_products){&m, multiply, NULL, 0}));
    const int64_t n = out_of_range(b, &b->got, where, sizeof where);
    snprintf(what, sizeof what, "without_one_term_of_product_%d_%s", at, name_of(m.name));
    verdict(n > 0 && m.calls == all, b->c->name, what, "all is within the bounds");
  }
  for (int32_t i = 0; i < ANY; i++) {
    const uint64_t h = zp_gpt_hash(b->c->seed, (uint64_t)i, 4711, 0);
    multiplier m = {b, ORDER_REF, (int32_t)(h % (uint64_t)all), (double)(h >> 40) * 0x1p-24, 0, 0};
    OK(run_device(b, &(zp_products){&m, multiply, NULL, 0}));
    found += out_of_range(b, &b->got, where, sizeof where) > 0;
  }
  printf("# %s: of %d terms left out, any of any product, %d found\n", b->c->name, ANY, found);
  snprintf(where, sizeof where, "%d of %d found", found, ANY);
  verdict(found >= MOST, b->c->name, "without_any_term", where);
  return 0;
}

/* 1 and 999 terms of half a unit in its last place. Added to it one by one, all of them are lost,
 * which is half of the bound γ; added before it, none is. spec: ERR-3 */
static int judge_chain(void)
{
  enum { K = 1000 };
  float x[K], sum = 0.0f, reversed = 0.0f, one = 1.0f;
  char why[100];
  zp_gpt_pool pool = {0};
  zp_bound_context k = {.symbols = {&pool, 0, 1}, .d = {1, 1, 1, 1}, .precision = ZP_F32};
  zp_range r;
  k.spare = zp_affine_alloc(&k.symbols, ZP_BOUND_SPARE);
  zp_affine *form = zp_affine_alloc(&k.symbols, 1);
  if (pool.failed) return __LINE__;
  for (int i = 0; i < K; i++) x[i] = i == 0 ? 1.0f : 0x1p-24f;
  for (int i = 0; i < K; i++) sum += x[i];
  for (int i = K - 1; i >= 0; i--) reversed += x[i];
  zp_affine_set(form, one);
  zp_bound_multiply(
      &k, &(zp_bound_product){
              .M = 1, .N = 1, .K = K, .range = &r, .a = {NULL, x, K, 1}, .b = {form, NULL, 0, 1}});
  snprintf(why, sizeof why, "%.9g, %.9g not in [%.9g, %.9g]", (double)sum, (double)reversed, r.lo,
           r.hi);
  verdict(sum >= r.lo && reversed <= r.hi, "a_chain", "is_within_the_bounds", why);
  verdict(sum == 1.0f && reversed - sum > 0.45 * (1 - r.lo), "a_chain", "reaches_half_of_its_bound",
          why);
  zp_gpt_pool_free(&pool);
  return 0;
}

static int judge(bench *b)
{
  char where[200];
  OK(open_bench(b));
  OK(run_ref(b));
  OK(run_bounds(b));
  OK(open_device(b));
  printf("# %s: loss %.6f, range %.2g; gradients' ranges are %.2g of them\n", b->c->name,
         (double)b->ref.loss, b->loss.hi - b->loss.lo, relative_width(b));
  verdict(out_of_range(b, &b->ref, where, sizeof where) == 0, b->c->name,
          "ref_is_within_the_bounds", where);
  OK(judge_orders(b));
  OK(judge_products(b));
  return orders_only || b->c->orders_only ? 0 : judge_gaps(b);
}

static int judge_case(const bounds_case *c)
{
  bench b;
  memset(&b, 0, sizeof b);
  b.c = c;
  const int failed = judge(&b);
  close_bench(&b);
  return failed;
}

static int judge_alone(void)
{
  cudaStream_t stream;
  OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  int failed = judge_products_alone(stream, small);
#ifdef ZP_FAKE_CUBLAS
  if (!failed) failed = judge_cublaslt(stream);
#endif
  OK(cudaStreamDestroy(stream));
  return failed;
}

static int host(void *arg, int rank)
{
  (void)arg;
  OK(cudaSetDevice(rank));
  OK(zp_cuda_gpt_load());
  OK(judge_chain());
  OK(judge_alone());
  for (size_t i = (size_t)small; i < sizeof cases / sizeof *cases; i += small ? 3 : 1) {
    OK(judge_case(&cases[i]));
    for (uint64_t k = 1; k <= SEEDS && !orders_only; k++) {
      char name[64];
      bounds_case other = cases[i];
      snprintf(name, sizeof name, "%s_seed_%llu", cases[i].name,
               (unsigned long long)(other.seed += 100 * k));
      other.name = name;
      other.orders_only = 1;
      OK(judge_case(&other));
    }
  }
  judge_library();
  return 0;
}

int main(int argc, char **argv)
{
  setvbuf(stdout, NULL, _IOLBF, 0); /* the program may be stopped at a limit */
  small = argc > 1 && strcmp(argv[1], "small") == 0;
  orders_only = small || (argc > 1 && strcmp(argv[1], "orders") == 0);
#ifdef ZP_ON_A_DEVICE
  const int failed = host(NULL, 0);
  if (failed) printf("not ok gpt_bounds: a call failed at line %d\n", failed);
#else
  simdev *s = simdev_open(1, 1, NULL, NULL);
  simdev_host(s, 0, host, NULL);
  simdev_reset(s, &(simdev_options){.seed = 1, .decisions_max = INT64_MAX});
  const int failed = simdev_run(s) != SIMDEV_OK;
  if (failed) printf("not ok gpt_bounds: %s\n", simdev_result(s)->text);
  simdev_close(s);
#endif
  return failed || failures ? 1 : 0;
}
