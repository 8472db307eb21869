#include <stdlib.h>
#include <string.h>

#include "../../ref/model/gpt_data.h"
#include "../../ref/verify/backend.h"
#include "state.h"

/* ---- Kernels --------------------------------------------------------------------------------- */

typedef struct compute {
  zp_diff_rank *w;
  int64_t step, mb, slot;
  const zp_step_state *state;
  zp_message in, out;
  float *loss;
} compute;

/* Copies a gradient, which is valid only until the instance's next call. */
static void keep_raw(void *ctx, int32_t param, const void *grad)
{
  const compute *p = ctx;
  if (p->w->announce.raw[param])
    memcpy(zp_diff_grad(p->w, param, p->mb), grad, (size_t)zp_diff_grad_bytes(p->w, param));
}

/* Hashes the parameters, as not every workload reads them. */
static void hash_params(const compute *p, int32_t which)
{
  const zp_layout *lay = zp_cuda_layout_of(p->w->e);
  if (p->step < 0 || p->step >= p->w->t->steps) return; /* the comparison reports it (STEP-9) */
  p->w->model.seen[(p->step * p->w->t->cfg->micro_batches + p->mb) * 2 + which] =
      zp_hash_params(p->w->t->cfg, lay, p->w->model.param);
}

/* What was read of the step before the entries were waited for. */
static void hash_step(const compute *p)
{
  const int64_t at = (p->step * p->w->t->cfg->micro_batches + p->mb) * 2;
  if (p->mb > 0 || p->step < 0 || p->step >= p->w->t->steps || !zp_diff_is_partial(p->w->t)) return;
  if (p->w->model.step != p->state->step) p->w->model.seen[at] ^= 1;
}

static zp_mb at_mb(const compute *p)
{
  return (zp_mb){p->state->step, p->mb, p->state->scaler.log2_scale};
}

/* After a forward, after a backward: records the parameters and messages. */
static void end_forward(const compute *p)
{
  hash_params(p, 0);
  hash_step(p);
  zp_tape_record(p->w, ZP_TAPE_RECEIVED, p->mb, &p->in);
  zp_tape_record(p->w, ZP_TAPE_SENT, p->mb, &p->out);
  if (p->w->tape.losses) p->w->tape.losses[p->mb] = *p->loss;
}

static void end_backward(const compute *p)
{
  hash_params(p, 1);
  zp_tape_record(p->w, ZP_TAPE_RETURNED, p->mb, &p->in);
  zp_tape_record(p->w, ZP_TAPE_RETURNING, p->mb, &p->out);
}

static void forward_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const compute *p = params;
  const zp_workload *work = p->w->t->work;
  float loss = 0;
  (void)t, (void)shared, (void)phase;
  *p->w->model.refused +=
      work->forward(p->w->model.inst, at_mb(p), (int32_t)p->slot, &p->in, &p->out, &loss) != 0;
  *p->loss = loss;
  end_forward(p);
}
static const simdev_kernel forward_kernel = {"forward", sizeof(compute), 1, forward_body};

static void backward_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const compute *p = params;
  const zp_workload *work = p->w->t->work;
  compute copy = *p;
  const zp_sink sink = {&copy, keep_raw};
  (void)t, (void)shared, (void)phase;
  *p->w->model.refused +=
      work->backward(p->w->model.inst, at_mb(p), (int32_t)p->slot, &p->in, &p->out, sink) != 0;
}
static const simdev_kernel backward_kernel = {"backward", sizeof(compute), 1, backward_body};

typedef struct reading {
  const uint8_t *param;
  int64_t n;
  uint32_t *sum;
} reading;

/* Reads an entry, as the part of forward that uses it. */
static void read_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const reading *p = params;
  uint32_t sum = 0;
  (void)t, (void)shared, (void)phase;
  for (int64_t i = 0; i < p->n; i++) sum = sum * 31 + p->param[i];
  *p->sum = sum;
}
static const simdev_kernel read_kernel = {"read an entry", sizeof(reading), 1, read_body};

typedef struct stepping {
  const zp_step_state *state;
  int64_t *step;
} stepping;

static void step_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const stepping *p = params;
  (void)t, (void)shared, (void)phase;
  *p->step = p->state->step;
}
static const simdev_kernel step_kernel = {"read the step", sizeof(stepping), 1, step_body};

/* After a forward of gpt's kernels. */
static void forwarded_body(const void *params, simdev_thread t, void *shared, int phase)
{
  (void)t, (void)shared, (void)phase;
  end_forward(params);
}
static const simdev_kernel forwarded_kernel = {"end of forward", sizeof(compute), 1,
                                               forwarded_body};

static void rest_body(const void *params, simdev_thread t, void *shared, int phase)
{
  (void)t, (void)shared, (void)phase;
  end_backward(params);
}
static const simdev_kernel rest_kernel = {"rest of backward", sizeof(compute), 1, rest_body};

typedef struct fill {
  char *to;
  const char *from; /* host memory that is not written */
  int64_t n;
} fill;

static void fill_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const fill *p = params;
  (void)t, (void)shared, (void)phase;
  memcpy(p->to, p->from, (size_t)p->n);
}
static const simdev_kernel fill_kernel = {"first values", sizeof(fill), 1, fill_body};

int zp_diff_model_load(void)
{
  static const simdev_kernel *const all[] = {&forward_kernel, &forwarded_kernel, &backward_kernel,
                                             &rest_kernel,    &fill_kernel,      &read_kernel,
                                             &step_kernel};
  struct cudaFuncAttributes unused;
  for (size_t i = 0; !zp_launch_body && i < sizeof all / sizeof *all; i++)
    ZP_HOST_TRY(cudaFuncGetAttributes(&unused, all[i]));
  return zp_cuda_gpt_load();
}

/* ---- The model ------------------------------------------------------------------------------- */

static int is_gpt(const zp_workload *work)
{
  return work->forward == zp_gpt_workload(NULL).forward;
}

/* Products are judged from here on: opening gpt multiplies uninitialized memory. */
static int open_gpt(zp_diff_rank *w, void *const *params)
{
  const int bf16 = w->t->watch.products && w->t->watch.products->bf16;
  const zp_cuda_gpt_options o = {.gpt = &((const zp_gpt *)w->t->work->ctx)->options,
                                 .cfg = w->t->cfg,
                                 .stage = w->at.pp,
                                 .dp_index = w->at.dp,
                                 .param = params,
                                 .refused = w->model.refused,
                                 .products = &w->model.products,
                                 .operands = bf16 ? ZP_BF16 : ZP_F32};
  w->model.products = zp_products_ref;
  if (w->t->watch.products) {
    ZP_HOST_TRY(zp_products_open(&w->model.library));
    ZP_HOST_TRY(zp_product_judge_open(&w->model.judge, &w->model.library));
    w->model.products = zp_products_judged(&w->model.judge);
  }
  w->model.gpt = zp_cuda_gpt_open(&o);
  w->model.judge.on = 1;
  return w->model.gpt ? 0 : __LINE__;
}

int zp_diff_model_open(zp_diff_rank *w)
{
  const zp_config *c = w->t->cfg;
  const zp_workload *work = w->t->work;
  const zp_place_of where = {w->at.pp, w->at.pp, w->at.dp, w->at.tp};
  w->model.params = calloc((size_t)c->n_params + 1, sizeof *w->model.params);
  w->model.grads = calloc((size_t)c->n_params + 1, sizeof *w->model.grads);
  w->model.param = calloc((size_t)c->n_params + 1, sizeof *w->model.param);
  if (!w->model.params || !w->model.grads || !w->model.param) return __LINE__;
  for (int32_t i = 0; i < c->n_params; i++) {
    w->model.params[i] = zp_cuda_param(w->e, i);
    if (w->model.params[i])
      w->model.param[i - zp_cuda_layout_of(w->e)->first_param] = w->model.params[i];
  }
  if (is_gpt(work)) return open_gpt(w, w->model.params);
  return work->open(work->ctx, c, where, (const void *const *)w->model.params, &w->model.inst);
}

int zp_diff_model_open_refused(zp_diff_rank *w)
{
  int32_t **refused = &w->model.refused;
  cudaStream_t stream = w->announce.producer[0][0];
  ZP_HOST_TRY(cudaMalloc((void **)refused, sizeof **refused));
  ZP_HOST_TRY(cudaMemsetAsync(*refused, 0, sizeof **refused, stream));
  return (int)cudaStreamSynchronize(stream);
}

int zp_diff_model_open_seen(zp_diff_rank *w)
{
  const int64_t n = w->t->steps * w->t->cfg->micro_batches * 2 + 1;
  return (int)cudaMalloc((void **)&w->model.seen, (size_t)n * sizeof *w->model.seen);
}

void zp_diff_model_close(zp_diff_rank *w)
{
  if (w->model.refused) cudaFree(w->model.refused);
  if (w->model.seen) cudaFree(w->model.seen);
  if (w->model.inst) w->t->work->close(w->model.inst);
  zp_cuda_gpt_close(w->model.gpt);
  zp_product_judge_close(&w->model.judge);
  if (w->model.library.close) w->model.library.close(w->model.library.ctx);
  free(w->model.params);
  free(w->model.grads);
  free(w->model.param);
}

/* ---- Callbacks ------------------------------------------------------------------------------- */

static int first_values(void *ctx, int32_t param, void *data, cudaStream_t stream)
{
  zp_diff_rank *w = ctx;
  const zp_diff *t = w->t;
  fill p = {data, t->ref.first[(int64_t)w->rank * t->cfg->n_params + param],
            t->cfg->params[param].numel * zp_dtype_bytes(zp_entry_dtype(t->cfg, param))};
  return zp_diff_launch(&fill_kernel, &p, stream);
}

/* Copies only the tensors in use, because simdev reads all parameters as addresses. */
static void copy_message(const zp_message *from, zp_message *to)
{
  to->n = from->n;
  for (int32_t i = 0; i < from->n; i++) to->t[i] = from->t[i];
}

/* Padding is zero, because simdev checks all parameters for pointers of other ranks. */
static void compute_of(zp_diff_rank *w, const zp_cuda_call *call, compute *p)
{
  memset(p, 0, sizeof *p);
  p->w = w;
  p->step = call->step - w->t->base;
  p->mb = call->mb;
  p->slot = call->slot;
  p->state = call->state;
  p->loss = call->loss;
}

/* STRM-4: the second to last step has ended. */
static void count_flight(zp_diff_rank *w, int64_t step)
{
  if (zp_cuda_step_has_ended(w->e, step - 2)) return;
  zp_diff_fail(w->t, "STRM-4", "rank %d: step %lld begins with more than two in flight", w->rank,
               (long long)step);
}

/* Dynamic shapes: the message that forward sends in this micro-batch. */
static int run_shape(void *ctx, const zp_cuda_call *call, zp_message *out)
{
  zp_diff_rank *w = ctx;
  zp_diff_shape(w, w->at.pp, call->step, call->mb, out);
  if (w->t->hooks.described) w->t->hooks.described(w, call, out);
  return 0;
}

/* The step's state; then entry by entry, in the order of the list. */
static int read_entries(zp_diff_rank *w, const zp_cuda_call *call)
{
  const zp_layout *lay = zp_cuda_layout_of(w->e);
  stepping state = {call->state, &w->model.step};
  simdev_tag(zp_hb_tag(ZP_HB_STATE, w->steps_done, call->mb, 0));
  ZP_HOST_TRY(zp_diff_launch(&step_kernel, &state, call->stream));
  for (int32_t i = 0; i < lay->n_params; i++) {
    const int32_t param = lay->first_param + i;
    const zp_config *c = w->t->cfg;
    const int64_t size = zp_dtype_bytes(zp_entry_dtype(c, param));
    reading p = {w->model.params[param], c->params[param].numel * size, &w->model.read};
    ZP_HOST_TRY(zp_cuda_wait_params(w->e, &param, 1, call->stream));
    if (lay->spot[i].flat < 0 || p.n == 0) continue;
    simdev_tag(zp_hb_tag(ZP_HB_READ, w->steps_done, call->mb, param));
    ZP_HOST_TRY(zp_diff_launch(&read_kernel, &p, call->stream));
  }
  simdev_tag(w->tag);
  return 0;
}

static int run_forward(void *ctx, const zp_cuda_call *call)
{
  zp_diff_rank *w = ctx;
  compute p;
  if (w->t->now.count_flight && call->mb == 0) count_flight(w, call->step);
  compute_of(w, call, &p);
  copy_message(call->in, &p.in);
  copy_message(call->out, &p.out);
  ZP_HOST_TRY(zp_announce_unused(w, call));
  if (call->mb == 0 && zp_diff_is_partial(w->t)) ZP_HOST_TRY(read_entries(w, call));
  if (w->model.gpt) ZP_HOST_TRY(zp_cuda_gpt_forward(w->model.gpt, call));
  return zp_diff_launch(w->model.gpt ? &forwarded_kernel : &forward_kernel, &p, call->stream);
}

/* Writes the micro-batch's gradients to raw. p: the parameters of the next kernel, too. */
static int launch_backward(zp_diff_rank *w, const zp_cuda_call *call, compute *p)
{
  compute_of(w, call, p);
  copy_message(call->in, &p->in);
  copy_message(call->out, &p->out);
  if (w->model.gpt) {
    for (int32_t i = 0; i < w->t->cfg->n_params; i++)
      w->model.grads[i] = w->announce.raw[i] ? zp_diff_grad(w, i, call->mb) : NULL;
    return zp_cuda_gpt_backward(w->model.gpt, call, w->model.grads);
  }
  return zp_diff_launch(&backward_kernel, p, call->stream);
}

static int run_backward(void *ctx, const zp_cuda_call *call)
{
  zp_diff_rank *w = ctx;
  compute p;
  w->announce.call = call;
  zp_announce_shuffle(w);
  ZP_HOST_TRY(launch_backward(w, call, &p));
  ZP_HOST_TRY(cudaEventRecord(w->announce.made, call->stream));
  if (w->t->now.gradual) ZP_HOST_TRY(zp_announce_all(w));
  simdev_tag(zp_hb_tag(ZP_HB_REST, w->steps_done, call->mb, 0));
  ZP_HOST_TRY(zp_diff_launch(&rest_kernel, &p, call->stream));
  if (w->t->now.gradual) return 0;
  ZP_HOST_TRY(zp_announcer_begin(w));
  return zp_announce_all(w);
}

int zp_diff_model_read(zp_diff_rank *w, const zp_cuda_call *call)
{
  compute p;
  compute_of(w, call, &p);
  return zp_diff_launch(&rest_kernel, &p, call->stream);
}

zp_cuda_model zp_diff_model_callbacks(zp_diff_rank *w)
{
  return (zp_cuda_model){w, first_values, run_forward, run_backward, run_shape};
}
