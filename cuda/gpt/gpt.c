/* A stage of gpt on the device, as ref/model/gpt.c: memory, messages, decoded parameters,
 * gradients. */
#include "gpt.h"
#include "../../ref/comm/comm.h"

#include <stdlib.h>
#include <string.h>

#include "gpt_internal.h"

/* LENGTHS: how many lengths of sequences zp_gpt_context_of uses in turn. */
enum { V = ZP_GPT_VOCAB, LENGTHS = 3 };

/* ---- Opening --------------------------------------------------------------------------------- */

/* zp_kernel_pack_operand is loaded as a library's kernels are: load_all. */
int zp_cuda_gpt_load(void)
{
  const void *const all[] = {zp_kernel_product,
                             zp_kernel_judge_product,
                             zp_kernel_convert,
                             zp_kernel_read,
                             zp_kernel_targets,
                             zp_kernel_embed,
                             zp_kernel_embed_backward,
                             zp_kernel_layer_norm,
                             zp_kernel_layer_norm_backward,
                             zp_kernel_layer_norm_columns,
                             zp_kernel_residual,
                             zp_kernel_round,
                             zp_kernel_gelu,
                             zp_kernel_gelu_backward,
                             zp_kernel_softmax,
                             zp_kernel_softmax_backward,
                             zp_kernel_columns,
                             zp_kernel_entropy,
                             zp_kernel_entropy_mean,
                             zp_kernel_entropy_backward};
  struct cudaFuncAttributes unused;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    const int status = (int)cudaFuncGetAttributes(&unused, all[i]);
    if (status) return status;
  }
  return 0;
}

/* The memory is listed in `allocated`, which zp_cuda_gpt_close frees. */
static void *device_memory(void *ctx, size_t bytes)
{
  zp_cuda_gpt *me = ctx;
  void *p = NULL;
  if (me->n_allocated == me->cap_allocated || cudaMalloc(&p, bytes)) return NULL;
  me->allocated[me->n_allocated++] = p;
  return p;
}

static void make_slot(zp_cuda_gpt *me, zp_cuda_gpt_kept *slot)
{
  const zp_gpt_shape *shape = &me->gpt.shape;
  const int64_t N = (int64_t)shape->batch * shape->context;
  slot->token = zp_gpt_take(&me->pool, N, sizeof *slot->token);
  slot->target = zp_gpt_take(&me->pool, N, sizeof *slot->target);
  slot->block = calloc((size_t)me->n_blocks + 1, sizeof *slot->block);
  if (!slot->block) me->pool.failed = 1;
  for (int32_t l = 0; !me->pool.failed && l < me->n_blocks; l++)
    zp_gpt_make_block(&me->pool, &slot->block[l], shape);
  if (me->is_last) zp_gpt_make_head(&me->pool, &slot->head, shape);
}

/* Allocates the entries of the largest layer, as in ref. */
static void make_values(zp_cuda_gpt *me)
{
  const zp_gpt_shape *shape = &me->gpt.shape;
  const int32_t n = zp_gpt_entries(shape);
  for (int32_t i = 0; i < ZP_GPT_BLOCK_ENTRIES; i++) {
    int64_t most = zp_gpt_block_numel(shape->d_model, i);
    if (i < 2 && zp_gpt_numel(shape, i) > most) most = zp_gpt_numel(shape, i);
    if (i < 3 && zp_gpt_numel(shape, n - 3 + i) > most) most = zp_gpt_numel(shape, n - 3 + i);
    me->value[i] = zp_gpt_take_f32(&me->pool, most);
    me->dvalue[i] = zp_gpt_take_f32(&me->pool, most);
  }
}

static void make_all(zp_cuda_gpt *me)
{
  const zp_gpt_shape *shape = &me->gpt.shape;
  const zp_gpt_data *text = &me->gpt.data;
  const int64_t N = (int64_t)shape->batch * shape->context, C = shape->d_model;
  make_values(me);
  me->x = zp_gpt_take_f32(&me->pool, N * C);
  me->dx = zp_gpt_take_f32(&me->pool, N * C);
  me->dy = zp_gpt_take_f32(&me->pool, N * C);
  me->wide = zp_gpt_take_f32(&me->pool, N * (4 * C > V ? 4 * C : V));
  me->narrow = zp_gpt_take_f32(&me->pool, N * C);
  me->mid = zp_gpt_take_f32(&me->pool, N * C);
  me->dp = zp_gpt_take_f32(&me->pool, N * shape->heads * shape->context);
  me->row = zp_gpt_take(&me->pool, N, sizeof *me->row);
  me->text = zp_gpt_take(&me->pool, text->n, 1);
  for (int32_t i = 0; i < me->slots; i++) make_slot(me, &me->slot[i]);
  /* The copy from pageable memory may end after the call, and other streams do not wait for it. */
  if (!me->pool.failed &&
      (cudaMemcpy(me->text, text->bytes, (size_t)text->n, cudaMemcpyHostToDevice) ||
       cudaStreamSynchronize(NULL)))
    me->pool.failed = 1;
}

/* Runs each product of the stage, for sequences of this length, on uninitialized memory; a step
 * writes the results before it reads them. */
static int load_products(zp_cuda_gpt *me, int64_t T, cudaStream_t stream)
{
  const zp_gpt_shape *shape = &me->gpt.shape;
  const zp_cuda_gpt_kept *slot = &me->slot[0];
  zp_cuda_gpt_work w = {me, stream, {shape->batch, T, shape->d_model, shape->heads}, 0, 1};
  if (me->n_blocks > 0) {
    zp_cuda_gpt_block(&w, me->x, &slot->block[0]);
    zp_cuda_gpt_block_backward(&w, me->dx, me->dy, &slot->block[0]);
  }
  if (me->is_last) {
    zp_cuda_gpt_head(&w, &slot->head);
    zp_cuda_gpt_head_backward(&w, me->dy, slot->target, NULL, &slot->head);
  }
  return w.failed;
}

/* A library's kernels are loaded at their first launch, for which CUDA may wait until the device is
 * idle, and cuBLASLt has no function that loads them. CUDA_MODULE_LOADING=EAGER would load
 * thousands of kernels in each process. Slots and blocks have the same layout, so running one of
 * them covers all shapes and alignments. spec: STRM-7 */
static void load_all(zp_cuda_gpt *me)
{
  cudaStream_t stream;
  if (me->pool.failed || !me->o.products->loads) return;
  if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)) {
    me->pool.failed = 1;
    return;
  }
  for (int64_t g = 0; !me->pool.failed && g < (me->gpt.vary_shapes ? LENGTHS : 1); g++)
    me->pool.failed = load_products(me, zp_gpt_context_of(&me->gpt, g), stream) != 0;
  if (cudaStreamSynchronize(stream)) me->pool.failed = 1;
  cudaStreamDestroy(stream);
}

zp_cuda_gpt *zp_cuda_gpt_open(const zp_cuda_gpt_options *options)
{
  const zp_config *cfg = options->cfg;
  const zp_gpt_shape *shape = &options->gpt->shape;
  zp_cuda_gpt *me = calloc(1, sizeof *me);
  if (!me) return NULL;
  me->o = *options;
  me->gpt = *options->gpt;
  me->pool = (zp_gpt_pool){.elsewhere = device_memory, .ctx = me};
  me->first_block = zp_gpt_first_block(shape, cfg->pp, options->stage);
  me->n_blocks = zp_gpt_first_block(shape, cfg->pp, options->stage + 1) - me->first_block;
  me->is_first = options->stage == 0;
  me->is_last = options->stage == cfg->pp - 1;
  me->slots = cfg->pp - options->stage;
  if (cfg->micro_batches < me->slots) me->slots = (int32_t)cfg->micro_batches;
  me->slot = calloc((size_t)me->slots, sizeof *me->slot);
  me->cap_allocated = 64 + (int64_t)me->slots * (16 + 16 * (int64_t)me->n_blocks);
  me->allocated = calloc((size_t)me->cap_allocated, sizeof *me->allocated);
  if (!me->slot || !me->allocated) me->pool.failed = 1;
  else make_all(me);
  load_all(me);
  if (!me->pool.failed) return me;
  zp_cuda_gpt_close(me);
  return NULL;
}

void zp_cuda_gpt_close(zp_cuda_gpt *me)
{
  if (!me) return;
  for (int64_t i = 0; me->allocated && i < me->n_allocated; i++) cudaFree(me->allocated[i]);
  for (int32_t i = 0; me->slot && i < me->slots; i++) free(me->slot[i].block);
  free(me->allocated);
  free(me->slot);
  free(me);
}

/* ---- Entries and messages -------------------------------------------------------------------- */

static int32_t entry_of_block(const zp_cuda_gpt *me, int32_t l)
{
  return 2 + ZP_GPT_BLOCK_ENTRIES * (me->first_block + l);
}

static int32_t entry_of_head(const zp_cuda_gpt *me)
{
  return zp_gpt_entries(&me->gpt.shape) - 3;
}

/* Converts the precision of runs; leaves out those without a source or destination. */
static void convert(zp_cuda_gpt_work *w, zp_convert_params *p)
{
  int32_t n = 0;
  for (int32_t i = 0; i < p->runs.n; i++)
    if (p->runs.here[i].in && p->runs.here[i].out) p->runs.here[n++] = p->runs.here[i];
  memset(p->runs.here + n, 0, (size_t)(ZP_RUNS_HERE - n) * sizeof *p->runs.here);
  p->runs.n = n;
  p->runs.tiles = zp_runs_lay(p->runs.here, n);
  if (n == 0 || w->failed) return;
  const zp_launch l = zp_launch_runs(p->runs.here, n);
  void *args[] = {p};
  if (l.grid > 0)
    w->failed = (int32_t)cudaLaunchKernel(zp_kernel_convert, (dim3){l.grid, 1, 1},
                                          (dim3){l.block, 1, 1}, args, l.shared, w->stream);
}

/* value[i] = entry first + i in fp32, for i < n and entries whose field fp32 is `fp32`. */
static void decode_some(zp_cuda_gpt_work *w, int32_t first, int32_t n, int32_t fp32)
{
  zp_cuda_gpt *me = w->gpt;
  zp_convert_params p;
  memset(&p, 0, sizeof p);
  p.dtype_in = zp_dtype_of(fp32, me->o.cfg->precision);
  p.dtype_out = ZP_F32;
  p.runs.n = n;
  for (int32_t i = 0; i < n; i++) {
    if (me->o.cfg->params[first + i].fp32 != fp32) continue;
    p.runs.here[i].in = me->o.param[first + i];
    p.runs.here[i].out = me->value[i];
    p.runs.here[i].count = zp_gpt_numel(&me->gpt.shape, first + i);
  }
  convert(w, &p);
}

/* A launch converts entries of one dtype. */
static void decode_entries(zp_cuda_gpt_work *w, int32_t first, int32_t n)
{
  for (int32_t fp32 = 0; fp32 < 2; fp32++) decode_some(w, first, n, fp32);
}

/* Rounds dvalue[i], the gradient of entry first + i, once, of the same entries. */
static void deliver_some(zp_cuda_gpt_work *w, int32_t first, int32_t n, int32_t fp32,
                         void *const *grad)
{
  zp_cuda_gpt *me = w->gpt;
  zp_convert_params p;
  memset(&p, 0, sizeof p);
  p.dtype_in = ZP_F32;
  p.dtype_out = zp_dtype_of(fp32, me->o.cfg->precision);
  p.runs.n = n;
  for (int32_t i = 0; i < n; i++) {
    if (me->o.cfg->params[first + i].fp32 != fp32) continue;
    p.runs.here[i].in = me->dvalue[i];
    p.runs.here[i].out = grad[first + i];
    p.runs.here[i].count = zp_gpt_numel(&me->gpt.shape, first + i);
  }
  convert(w, &p);
}

static void deliver(zp_cuda_gpt_work *w, int32_t first, int32_t n, void *const *grad)
{
  for (int32_t fp32 = 0; fp32 < 2; fp32++) deliver_some(w, first, n, fp32, grad);
}

/* An activation or its gradient, from or to a message. */
static void convert_one(zp_cuda_gpt_work *w, void *out, int32_t dtype_out, const void *in,
                        int32_t dtype_in)
{
  zp_convert_params p;
  memset(&p, 0, sizeof p);
  p.dtype_in = dtype_in;
  p.dtype_out = dtype_out;
  p.runs.n = 1;
  p.runs.here[0].in = in;
  p.runs.here[0].out = out;
  p.runs.here[0].count = w->d.B * w->d.T * w->d.C;
  convert(w, &p);
}

/* 1: the message's last tensor is an activation of this micro-batch, after the bytes if there are
 * `targets`. */
static int fits(const zp_cuda_gpt_work *w, const zp_message *m, int32_t targets)
{
  const int64_t N = w->d.B * w->d.T;
  const zp_tensor *last = &m->t[targets];
  if (m->n != 1 + targets || !last->data) return 0;
  if (targets && (m->t[0].dtype != ZP_I32 || zp_tensor_numel(&m->t[0]) != N || !m->t[0].data))
    return 0;
  return last->dtype == w->gpt->o.cfg->precision && zp_tensor_numel(last) == N * w->d.C;
}

static zp_cuda_gpt_work work_of(zp_cuda_gpt *me, const zp_cuda_call *call)
{
  const zp_gpt_shape *shape = &me->gpt.shape;
  const int64_t g = call->mb * me->o.cfg->dp + me->o.dp_index;
  const int64_t T = zp_gpt_context_of(&me->gpt, g);
  const zp_cuda_gpt_work w = {
      me, call->stream, {shape->batch, T, shape->d_model, shape->heads}, 0, 0};
  return w;
}

/* ---- Forward --------------------------------------------------------------------------------- */

static float *input_of(const zp_cuda_gpt *me, const zp_cuda_gpt_kept *slot, int32_t l)
{
  if (l < me->n_blocks) return slot->block[l].x;
  return me->is_last ? slot->head.x : me->x;
}

/* Tokens and targets: windows of the text, as in zp_gpt_read, or from the message. */
static void read_bytes(zp_cuda_gpt_work *w, const zp_cuda_call *call, zp_cuda_gpt_kept *slot)
{
  zp_cuda_gpt *me = w->gpt;
  if (me->is_first || !me->gpt.tuple) {
    const uint64_t g = (uint64_t)(call->mb * me->o.cfg->dp + me->o.dp_index);
    zp_read_params p;
    memset(&p, 0, sizeof p);
    p.text = me->text;
    p.B = w->d.B;
    p.T = w->d.T;
    p.step = call->step;
    for (int64_t b = 0; b < p.B; b++)
      p.first[b] = (int64_t)(zp_gpt_hash(me->gpt.data.seed, (uint64_t)call->step, g, (uint64_t)b) %
                             (uint64_t)(me->gpt.data.n - p.T));
    p.state = call->state;
    p.token = slot->token;
    p.target = slot->target;
    p.refused = me->o.refused;
    zp_cuda_gpt_launch(w, zp_kernel_read, zp_launch_items(p.B * p.T), &p);
  } else {
    zp_targets_params p;
    memset(&p, 0, sizeof p);
    p.in = call->in->t[0].data;
    p.target = slot->target;
    p.refused = me->o.refused;
    p.N = w->d.B * w->d.T;
    zp_cuda_gpt_launch(w, zp_kernel_targets, zp_launch_items(p.N), &p);
  }
}

static void embed(zp_cuda_gpt_work *w, float *x, const zp_cuda_gpt_kept *slot)
{
  zp_embed_params p;
  memset(&p, 0, sizeof p);
  decode_entries(w, 0, 2);
  p.x = x;
  p.wte = w->gpt->value[0];
  p.wpe = w->gpt->value[1];
  p.token = slot->token;
  p.N = w->d.B * w->d.T;
  p.T = w->d.T;
  p.C = w->d.C;
  p.dtype = w->gpt->o.cfg->precision;
  zp_cuda_gpt_launch(w, zp_kernel_embed, zp_launch_items(p.N * p.C), &p);
}

/* Writes the message to the next stage: the targets, if messages have them, and the activation. */
static void send(zp_cuda_gpt_work *w, const zp_message *out, const zp_cuda_gpt_kept *slot,
                 const float *x)
{
  const int32_t precision = w->gpt->o.cfg->precision;
  const size_t bytes = (size_t)(w->d.B * w->d.T) * sizeof *slot->target;
  convert_one(w, out->t[out->n - 1].data, precision, x, ZP_F32);
  if (out->n == 2 && !w->failed)
    w->failed = (int32_t)cudaMemcpyAsync(out->t[0].data, slot->target, bytes,
                                         cudaMemcpyDeviceToDevice, w->stream);
}

int zp_cuda_gpt_forward(zp_cuda_gpt *me, const zp_cuda_call *call)
{
  const int32_t precision = me->o.cfg->precision, tuple = me->gpt.tuple != 0;
  zp_cuda_gpt_work w = work_of(me, call);
  if (call->slot < 0 || call->slot >= me->slots) return -1;
  zp_cuda_gpt_kept *slot = &me->slot[call->slot];
  if (!me->is_first && !fits(&w, call->in, tuple)) return -1;
  if (!me->is_last && !fits(&w, call->out, tuple)) return -1;
  read_bytes(&w, call, slot);
  float *x = input_of(me, slot, 0);
  if (me->is_first) embed(&w, x, slot);
  else convert_one(&w, x, ZP_F32, call->in->t[call->in->n - 1].data, precision);
  for (int32_t l = 0; l < me->n_blocks; l++) {
    decode_entries(&w, entry_of_block(me, l), ZP_GPT_BLOCK_ENTRIES);
    x = input_of(me, slot, l + 1);
    zp_cuda_gpt_block(&w, x, &slot->block[l]);
  }
  if (me->is_last) {
    decode_entries(&w, entry_of_head(me), 3);
    zp_cuda_gpt_head(&w, &slot->head);
    zp_cuda_gpt_loss(&w, call->loss, slot->target, &slot->head);
  } else {
    send(&w, call->out, slot, x);
  }
  return w.failed;
}

/* ---- Backward -------------------------------------------------------------------------------- */

static void swap_gradients(zp_cuda_gpt *me)
{
  float *dx = me->dx;
  me->dx = me->dy;
  me->dy = dx;
}

static void embed_backward(zp_cuda_gpt_work *w, const zp_cuda_gpt_kept *slot)
{
  zp_embed_params p;
  memset(&p, 0, sizeof p);
  p.dx = w->gpt->dy;
  p.dwte = w->gpt->dvalue[0];
  p.dwpe = w->gpt->dvalue[1];
  p.token = slot->token;
  p.N = w->d.B * w->d.T;
  p.T = w->d.T;
  p.C = w->d.C;
  p.context = w->gpt->gpt.shape.context;
  zp_cuda_gpt_launch(w, zp_kernel_embed_backward, zp_launch_items((V + p.context) * p.C), &p);
}

int zp_cuda_gpt_backward(zp_cuda_gpt *me, const zp_cuda_call *call, void *const *grad)
{
  const int32_t precision = me->o.cfg->precision;
  zp_cuda_gpt_work w = work_of(me, call);
  if (call->slot < 0 || call->slot >= me->slots) return -1;
  const zp_cuda_gpt_kept *slot = &me->slot[call->slot];
  if (!me->is_last && !fits(&w, call->in, 0)) return -1;
  if (!me->is_first && !fits(&w, call->out, 0)) return -1;
  if (me->is_last) {
    decode_entries(&w, entry_of_head(me), 3);
    zp_cuda_gpt_head_backward(&w, me->dy, slot->target, call->state, &slot->head);
    deliver(&w, entry_of_head(me), 3, grad);
  } else {
    convert_one(&w, me->dy, ZP_F32, call->in->t[0].data, precision);
  }
  for (int32_t l = me->n_blocks - 1; l >= 0; l--) {
    decode_entries(&w, entry_of_block(me, l), ZP_GPT_BLOCK_ENTRIES);
    zp_cuda_gpt_block_backward(&w, me->dx, me->dy, &slot->block[l]);
    deliver(&w, entry_of_block(me, l), ZP_GPT_BLOCK_ENTRIES, grad);
    swap_gradients(me);
  }
  if (me->is_first) {
    embed_backward(&w, slot);
    deliver(&w, 0, 2, grad);
  } else {
    convert_one(&w, call->out->t[0].data, precision, me->dy, ZP_F32);
  }
  return w.failed;
}
