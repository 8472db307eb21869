/* Any workload as the twin's model: its functions are bodies of kernels with one thread. gpt has
 * kernels of its own (cuda/model). */
#include <stdlib.h>
#include <string.h>

#include "../../ref/model/gpt_data.h"
#include "trial_internal.h"

/* ---- Kernels --------------------------------------------------------------------------------- */

typedef struct compute {
  zp_trial_worker *w;
  int64_t step, mb, slot;
  const zp_step_state *state;
  zp_message in, out;
  float *loss;
} compute;

int64_t zp_trial_bytes(const zp_trial_worker *w, int32_t param)
{
  const zp_config *c = w->t->cfg;
  return c->params[param].numel * zp_dtype_bytes(c->precision);
}

void *zp_trial_raw(const zp_trial_worker *w, int32_t param, int64_t mb)
{
  return (char *)w->raw[param] + mb * zp_trial_bytes(w, param);
}

/* What backward delivers is valid until its instance's next call: it is copied at once. */
static void keep_raw(void *ctx, int32_t param, const void *grad)
{
  const compute *p = ctx;
  if (p->w->raw[param])
    memcpy(zp_trial_raw(p->w, param, p->mb), grad, (size_t)zp_trial_bytes(p->w, param));
}

/* Not every workload reads its parameters. */
static void look(const compute *p, int32_t which)
{
  const zp_layout *lay = &p->w->e->lay;
  if (p->step < 0 || p->step >= p->w->t->steps) return; /* STEP-9 will be found */
  p->w->seen[(p->step * p->w->t->cfg->micro_batches + p->mb) * 2 + which] =
      zp_trial_hash(p->w->t->cfg, lay, p->w->param);
}

static zp_mb at_mb(const compute *p)
{
  return (zp_mb){p->state->step, p->mb, p->state->scaler.log2_scale};
}

/* Behind a forward, behind a backward: what the model has read and sent. */
static void end_forward(const compute *p)
{
  look(p, 0);
  zp_trial_keep(p->w, ZP_TRIAL_RECEIVED, p->mb, &p->in);
  zp_trial_keep(p->w, ZP_TRIAL_SENT, p->mb, &p->out);
  if (p->w->lost) p->w->lost[p->mb] = *p->loss;
}

static void end_backward(const compute *p)
{
  look(p, 1);
  zp_trial_keep(p->w, ZP_TRIAL_RETURNED, p->mb, &p->in);
  zp_trial_keep(p->w, ZP_TRIAL_RETURNING, p->mb, &p->out);
}

static void forward_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const compute *p = params;
  const zp_workload *work = p->w->t->work;
  float loss = 0;
  (void)t, (void)shared, (void)phase;
  *p->w->refused +=
      work->forward(p->w->inst, at_mb(p), (int32_t)p->slot, &p->in, &p->out, &loss) != 0;
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
  *p->w->refused +=
      work->backward(p->w->inst, at_mb(p), (int32_t)p->slot, &p->in, &p->out, sink) != 0;
}
static const simdev_kernel backward_kernel = {"backward", sizeof(compute), 1, backward_body};

/* gpt's kernels have done a forward. */
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
  const char *from; /* host memory that nobody writes */
  int64_t n;
} fill;

static void fill_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const fill *p = params;
  (void)t, (void)shared, (void)phase;
  memcpy(p->to, p->from, (size_t)p->n);
}
static const simdev_kernel fill_kernel = {"first values", sizeof(fill), 1, fill_body};

int zp_trial_load_kernels(void)
{
  static const simdev_kernel *const all[] = {&forward_kernel, &forwarded_kernel, &backward_kernel,
                                             &rest_kernel, &fill_kernel};
  struct cudaFuncAttributes unused;
  for (size_t i = 0; !zp_trial_queue && i < sizeof all / sizeof *all; i++)
    ZP_TRIAL_OK(cudaFuncGetAttributes(&unused, all[i]));
  return zp_cuda_gpt_load();
}

/* ---- The model ------------------------------------------------------------------------------- */

static int is_gpt(const zp_workload *work)
{
  return work->forward == zp_gpt_workload(NULL).forward;
}

/* Products are judged from here on: when it was opened, gpt multiplied what memory held by chance. */
static int open_gpt(zp_trial_worker *w, void *const *params)
{
  const zp_cuda_gpt_options o = {.gpt = &((const zp_gpt *)w->t->work->ctx)->options,
                                 .cfg = w->t->cfg,
                                 .stage = w->at.pp,
                                 .dp_index = w->at.dp,
                                 .param = params,
                                 .refused = w->refused,
                                 .products = &w->products};
  w->products = zp_products_ref;
  if (w->t->watch.products) {
    ZP_TRIAL_OK(zp_products_open(&w->library));
    ZP_TRIAL_OK(zp_product_judge_open(&w->judge, &w->library));
    w->products = zp_products_judged(&w->judge);
  }
  w->gpt = zp_cuda_gpt_open(&o);
  w->judge.on = 1;
  return w->gpt ? 0 : __LINE__;
}

int zp_trial_open_model(zp_trial_worker *w)
{
  const zp_config *c = w->t->cfg;
  const zp_workload *work = w->t->work;
  const zp_place_of where = {w->at.pp, w->at.pp, w->at.dp, w->at.tp};
  w->params = calloc((size_t)c->n_params + 1, sizeof *w->params);
  w->grads = calloc((size_t)c->n_params + 1, sizeof *w->grads);
  w->param = calloc((size_t)c->n_params + 1, sizeof *w->param);
  if (!w->params || !w->grads || !w->param) return __LINE__;
  for (int32_t i = 0; i < c->n_params; i++) {
    w->params[i] = zp_cuda_param(w->e, i);
    if (w->params[i]) w->param[i - w->e->lay.first_param] = w->params[i];
  }
  if (is_gpt(work)) return open_gpt(w, w->params);
  return work->open(work->ctx, c, where, (const void *const *)w->params, &w->inst);
}

void zp_trial_close_model(zp_trial_worker *w)
{
  if (w->inst) w->t->work->close(w->inst);
  zp_cuda_gpt_close(w->gpt);
  zp_product_judge_close(&w->judge);
  if (w->library.close) w->library.close(w->library.ctx);
  free(w->params);
  free(w->grads);
  free(w->param);
}

int (*zp_trial_queue)(const simdev_kernel *kernel, const void *params, cudaStream_t stream);

static int launch_one(const simdev_kernel *k, void *params, cudaStream_t stream)
{
  if (zp_trial_queue) return zp_trial_queue(k, params, stream);
  void *args[] = {params};
  return (int)cudaLaunchKernel(k, (dim3){1, 1, 1}, (dim3){1, 1, 1}, args, 0, stream);
}

/* ---- Callbacks ------------------------------------------------------------------------------- */

static int first_values(void *ctx, int32_t param, void *data, cudaStream_t stream)
{
  zp_trial_worker *w = ctx;
  const zp_trial *t = w->t;
  fill p = {data, t->first[(int64_t)w->rank * t->cfg->n_params + param], zp_trial_bytes(w, param)};
  return launch_one(&fill_kernel, &p, stream);
}

/* A description with the engine's buffers; a gradient has no integer tensors. With dynamic shapes
 * the engine has the description, too. */
static void with_data(const zp_message *shape, const zp_cuda_message *m, int gradient,
                      zp_message *out)
{
  for (int32_t i = 0; i < m->n && m->t[i].ndim > 0; i++, out->n++) {
    out->t[i].dtype = m->t[i].dtype;
    out->t[i].ndim = m->t[i].ndim;
    memcpy(out->t[i].dim, m->t[i].dim, sizeof out->t[i].dim);
    out->t[i].data = m->t[i].data;
  }
  if (out->n > 0) return;
  for (int32_t i = 0; i < shape->n; i++) {
    const int32_t dtype = shape->t[i].dtype;
    if (gradient && (dtype == ZP_I32 || dtype == ZP_I64)) continue;
    out->t[out->n] = shape->t[i];
    out->t[out->n].data = m->t[out->n].data;
    out->n++;
  }
}

/* Padding is zero: simdev looks for pointers of other ranks everywhere. */
static void compute_of(zp_trial_worker *w, const zp_cuda_call *call, compute *p)
{
  memset(p, 0, sizeof *p);
  p->w = w;
  p->step = call->step - w->t->base;
  p->mb = call->mb;
  p->slot = call->slot;
  p->state = call->state;
  p->loss = call->loss;
}

/* STRM-4: the step before the last has ended. */
static void count_flight(zp_trial_worker *w, int64_t step)
{
  if (cudaEventQuery(w->e->ended[step % ZP_CUDA_FLIGHT]) == cudaSuccess) return;
  zp_trial_differs(w->t, "STRM-4", "rank %d: step %lld begins with more than two in flight",
                   w->rank, (long long)step);
}

static void shape_of(const zp_trial_worker *w, int32_t boundary, int64_t step, int64_t mb,
                     zp_message *m)
{
  const zp_workload *work = w->t->work;
  memset(m, 0, sizeof *m);
  if (boundary >= 0 && boundary < w->t->cfg->pp - 1)
    work->shape(work->ctx, w->t->cfg, boundary, w->at.dp, (zp_mb){step, mb, 0}, m);
}

/* Dynamic shapes: what forward sends in this micro-batch. */
static int run_shape(void *ctx, const zp_cuda_call *call, zp_cuda_message *out)
{
  zp_message m;
  zp_trial_worker *w = ctx;
  shape_of(w, w->at.pp, call->step, call->mb, &m);
  out->n = m.n;
  for (int32_t i = 0; i < m.n; i++) {
    out->t[i] = (zp_cuda_tensor){.dtype = m.t[i].dtype, .ndim = m.t[i].ndim};
    memcpy(out->t[i].dim, m.t[i].dim, sizeof out->t[i].dim);
  }
  if (w->t->hooks.described) w->t->hooks.described(w, call, out);
  return 0;
}

static int run_forward(void *ctx, const zp_cuda_call *call)
{
  zp_trial_worker *w = ctx;
  compute p;
  if (w->t->now.count_flight && call->mb == 0) count_flight(w, call->step);
  compute_of(w, call, &p);
  with_data(&w->in, call->in, 0, &p.in);
  with_data(&w->out, call->out, 0, &p.out);
  if (w->gpt) ZP_TRIAL_OK(zp_cuda_gpt_forward(w->gpt, call));
  return launch_one(w->gpt ? &forwarded_kernel : &forward_kernel, &p, call->stream);
}

/* Leaves the micro-batch's gradients in raw; p: the call, for the kernel behind it, too. */
static int launch_backward(zp_trial_worker *w, const zp_cuda_call *call, compute *p)
{
  compute_of(w, call, p);
  with_data(&w->out, call->in, 1, &p->in);
  with_data(&w->in, call->out, 1, &p->out);
  if (w->gpt) {
    for (int32_t i = 0; i < w->t->cfg->n_params; i++)
      w->grads[i] = w->raw[i] ? zp_trial_raw(w, i, call->mb) : NULL;
    return zp_cuda_gpt_backward(w->gpt, call, w->grads);
  }
  return launch_one(&backward_kernel, p, call->stream);
}

static int run_backward(void *ctx, const zp_cuda_call *call)
{
  zp_trial_worker *w = ctx;
  compute p;
  w->call = call;
  zp_trial_shuffle(w);
  ZP_TRIAL_OK(launch_backward(w, call, &p));
  ZP_TRIAL_OK(cudaEventRecord(w->made, call->stream));
  simdev_tag(zp_path_tag(ZP_PATH_REST, w->steps_done, call->mb, 0));
  ZP_TRIAL_OK(launch_one(&rest_kernel, &p, call->stream));
  for (int32_t s = 0; s < w->streams; s++)
    ZP_TRIAL_OK(cudaStreamWaitEvent(w->producer[s], w->made, 0));
  return zp_trial_turn(w);
}

int zp_trial_read_again(zp_trial_worker *w, const zp_cuda_call *call)
{
  compute p;
  compute_of(w, call, &p);
  return launch_one(&rest_kernel, &p, call->stream);
}

zp_cuda_model zp_trial_model(zp_trial_worker *w)
{
  return (zp_cuda_model){w, first_values, run_forward, run_backward, run_shape};
}

void zp_trial_describe(const zp_trial_worker *w, int32_t boundary, zp_message *m,
                       zp_cuda_message *to)
{
  memset(m, 0, sizeof *m);
  if (w->t->cfg->dynamic_shapes) return;
  shape_of(w, boundary, 0, 0, m);
  to->n = m->n;
  for (int32_t i = 0; i < m->n; i++)
    to->t[i] = (zp_cuda_tensor){.dtype = m->t[i].dtype, .count = zp_tensor_numel(&m->t[i])};
}

int64_t zp_trial_message_bytes(const zp_trial_worker *w)
{
  int64_t most = 1;
  for (int64_t i = 0; i < w->t->steps * w->t->cfg->micro_batches * 2; i++) {
    const int64_t k = i / 2;
    zp_message m;
    int64_t bytes = 0;
    shape_of(w, w->at.pp - (int32_t)(i % 2), w->t->base + k / w->t->cfg->micro_batches,
             k % w->t->cfg->micro_batches, &m);
    for (int32_t j = 0; j < m.n; j++) bytes += (zp_tensor_bytes(&m.t[j]) + 255) / 256 * 256;
    if (bytes > most) most = bytes;
  }
  return w->t->hooks.message_bytes ? w->t->hooks.message_bytes(w, most) : most;
}
