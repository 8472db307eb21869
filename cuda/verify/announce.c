#include <stdlib.h>

#include "../../ref/engine/early.h"
#include "../../ref/num/ordered.h"
#include "state.h"

int64_t zp_diff_early_bytes(const zp_diff *t)
{
  return t->now.early ? 0 : ZP_EARLY_ALL;
}

int32_t zp_diff_is_partial(const zp_diff *t)
{
  const int64_t bytes =
      zp_entry_align(t->hyper->entry_align, t->cfg->precision) * zp_dtype_bytes(t->cfg->precision);
  return t->now.partial_gather && t->cfg->stage > 0 && bytes % ZP_VIEW_BYTES == 0;
}

int32_t zp_diff_grad_dtype(const zp_diff *t, int32_t param)
{
  return zp_gradient_dtype(t->cfg, t->hyper, param);
}

int64_t zp_diff_grad_bytes(const zp_diff_rank *w, int32_t param)
{
  return w->t->cfg->params[param].numel * zp_dtype_bytes(zp_diff_grad_dtype(w->t, param));
}

void *zp_diff_grad(const zp_diff_rank *w, int32_t param, int64_t mb)
{
  return (char *)w->announce.raw[param] + mb * zp_diff_grad_bytes(w, param);
}

/* 1: the happens-before check or a timeline will read the log; they require one host. */
static int logs(const zp_diff_rank *w)
{
  return !w->t->now.hosts && (w->t->now.path || w->t->now.record);
}

/* An announcement that the engine refused is not part of the plan. */
static int logged(zp_diff_rank *w, int failed)
{
  if (logs(w)) w->t->log[w->rank].n -= failed != 0;
  return failed;
}

/* stream -1: unused. */
static void trace(zp_diff_rank *w, int32_t param, int32_t stream, int32_t in_place)
{
  const int64_t mb = w->announce.call->mb;
  if (w->t->now.hosts) return;
  if (logs(w))
    zp_hb_log_add(&w->t->log[w->rank],
                  (zp_hb_announcement){w->steps_done, param, stream, in_place, mb});
  if (stream < 0) return;
  w->announce.param = param;
  w->announce.mb = mb;
  simdev_tag(zp_hb_tag(w->t->now.gradual ? ZP_HB_PIECE : ZP_HB_COPY, w->steps_done, mb, param));
}

int zp_diff_launch(const simdev_kernel *k, void *params, cudaStream_t stream)
{
  if (zp_launch_body) return zp_launch_body(k, params, stream);
  void *args[] = {params};
  return (int)cudaLaunchKernel(k, (dim3){1, 1, 1}, (dim3){1, 1, 1}, args, 0, stream);
}

/* ---- Gradients in place ---------------------------------------------------------------------- */

typedef struct addend {
  float *to;
  const float *from;
  int64_t n;
} addend;

/* RED-4 */
static void add_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const addend *p = params;
  (void)t, (void)shared, (void)phase;
  zp_ordered_add_f32(p->to, p->from, p->n);
}
static const simdev_kernel add_kernel = {"add to the sum", sizeof(addend), 1, add_body};

int zp_announcer_load(void)
{
  struct cudaFuncAttributes unused;
  return zp_launch_body ? 0 : (int)cudaFuncGetAttributes(&unused, &add_kernel);
}

/* Where host k's gradient may be written, if it is one of those that ask; NULL: nowhere. The
 * happens-before check knows those that come in their turn. */
static int ask(zp_diff_rank *w, int32_t k, int32_t param, cudaStream_t stream, void **to)
{
  const zp_schedule *now = &w->t->now;
  if (!now->in_place || (now->path && !now->in_order)) return 0;
  if (zp_random_next(&w->announce.random[k]) % 2 == 0) return 0;
  return zp_cuda_grad_buffer(w->e, param, w->announce.call->mb, stream, to);
}

/* A thread that only announces has not set its device. */
static int launch_add(const zp_diff_rank *w, addend *p, cudaStream_t stream)
{
  int before;
  ZP_HOST_TRY(cudaGetDevice(&before));
  ZP_HOST_TRY(cudaSetDevice(zp_ranks_as == ZP_RANKS_PROCESSES ? w->rank : 0));
  ZP_HOST_TRY(zp_diff_launch(&add_kernel, p, stream));
  return (int)cudaSetDevice(before);
}

/* Copies a gradient to where it will be announced; in place it may be added to a sum. */
static int write(zp_diff_rank *w, int32_t param, void *to, int32_t in_place, cudaStream_t stream)
{
  const int64_t mb = w->announce.call->mb;
  const void *raw = zp_diff_grad(w, param, mb);
  addend p = {to, raw, w->t->cfg->params[param].numel};
  if (in_place && w->t->cfg->stage < 2 && mb > 0) return launch_add(w, &p, stream);
  return (int)cudaMemcpyAsync(to, raw, (size_t)zp_diff_grad_bytes(w, param),
                              cudaMemcpyDeviceToDevice, stream);
}

/* ---- Announcements --------------------------------------------------------------------------- */

static int is_used(const zp_diff_rank *w, const zp_cuda_call *call, int32_t param)
{
  const zp_workload *work = w->t->work;
  return work->used(work->ctx, w->t->cfg, param, w->at.dp, w->at.tp,
                    (zp_mb){call->step, call->mb, 0});
}

/* Host k announces an entry; one of several hosts uses its own stream. */
static int announce_one(zp_diff_rank *w, int32_t k, int32_t param)
{
  const zp_cuda_call *call = w->announce.call;
  const int32_t dtype = zp_diff_grad_dtype(w->t, param);
  const size_t bytes = (size_t)zp_diff_grad_bytes(w, param);
  const int32_t any = (int32_t)(zp_random_next(&w->announce.random[k]) % (uint64_t)w->streams);
  const int32_t gradual = w->t->now.gradual, s = w->t->now.hosts ? k : gradual ? 0 : any;
  const int32_t set = w->announce.set;
  cudaStream_t stream = gradual ? call->stream : w->announce.producer[set][s];
  const int used = is_used(w, call, param);
  void *lent = NULL, *grad;
  if (used) ZP_HOST_TRY(ask(w, k, param, stream, &lent));
  trace(w, param, used ? s : -1, lent != NULL);
  if (!used) return logged(w, zp_cuda_grad_unused(w->e, param, call->mb));
  grad = lent ? lent : w->announce.grad[set][s];
  ZP_HOST_TRY(write(w, param, grad, lent != NULL, stream));
  if (w->t->now.waits_for_all) {
    ZP_HOST_TRY(cudaEventRecord(w->announce.all, zp_cuda_stream_of(w->e, ZP_CUDA_REDUCE)));
    ZP_HOST_TRY(cudaStreamWaitEvent(stream, w->announce.all, 0));
  }
  ZP_HOST_TRY(logged(w, zp_cuda_grad_ready(w->e, param, call->mb, bytes > 0 ? grad : NULL,
                                           w->t->cfg->params[param].numel, dtype, stream)));
  if (gradual || lent) return 0; /* the next gradient overwrites the buffer */
  if (!w->t->now.hosts) simdev_tag(zp_hb_tag(ZP_HB_REUSE, w->steps_done, call->mb, param));
  /* after the announcement the caller may overwrite the buffer */
  return (int)cudaMemsetAsync(w->announce.grad[set][s], 0xff, bytes, stream);
}

/* The announcement that was number k becomes number i, before those between. */
static void advance(zp_announcer *a, int32_t i, int32_t k)
{
  const int32_t x = a->order[k];
  for (; k > i; k--) a->order[k] = a->order[k - 1];
  a->order[i] = x;
}

/* Any order for which the engine's default room for early gradients suffices: each gradient, with
 * all between it and the one that is awaited, takes no more than the ring without the largest. */
static void shuffle_nearby(zp_diff_rank *w)
{
  const zp_layout *lay = &zp_sim_rank(w->t->ref.sim, w->rank)->lay;
  zp_announcer *a = &w->announce;
  int64_t *end = calloc((size_t)lay->n_params + 1, sizeof *end), total = 0, largest = 0;
  zp_early early = {0};
  const int failed = !end || zp_early_open(&early, w->t->cfg, lay, w->t->hyper->fp32_gradients, 0);
  for (int32_t i = lay->n_params - 1; !failed && i >= 0; i--) {
    const int64_t bytes = early.range[i].bytes;
    end[i] = total += bytes;
    if (bytes > largest) largest = bytes;
  }
  for (int32_t i = 0; !failed && i < a->entries; i++) {
    const int32_t first = a->order[i] - lay->first_param;
    const int64_t until =
        early.wraps ? end[first] - early.range[first].bytes + early.bytes - largest : total;
    int32_t n = 1;
    while (i + n < a->entries && end[a->order[i + n] - lay->first_param] <= until) n++;
    advance(a, i, i + (int32_t)(zp_random_next(&a->random[0]) % (uint64_t)n));
  }
  zp_early_close(&early);
  free(end);
}

int zp_announce_unused(zp_diff_rank *w, const zp_cuda_call *call)
{
  zp_announcer *a = &w->announce;
  char *unused = a->unused + call->mb * w->t->cfg->n_params;
  for (int32_t i = 0; i < w->t->cfg->n_params; i++) {
    unused[i] = w->t->now.unused_early && a->raw[i] && !is_used(w, call, i) &&
                zp_random_next(&a->random[0]) % 2 == 0;
    if (unused[i]) ZP_HOST_TRY(zp_cuda_grad_unused(w->e, i, call->mb));
  }
  return 0;
}

/* The stage's trained entries, in backward order or shuffled; those that forward declared unused
 * come first. */
void zp_announce_shuffle(zp_diff_rank *w)
{
  zp_announcer *a = &w->announce;
  const char *unused = a->unused + a->call->mb * w->t->cfg->n_params;
  int32_t n = 0;
  for (int32_t i = w->t->cfg->n_params - 1; i >= 0; i--) {
    if (a->raw[i] && unused[i]) trace(w, i, -1, 0);
    if (a->raw[i] && !unused[i]) a->order[n++] = i;
  }
  a->entries = n;
  if (w->t->now.early && !w->t->now.in_order) shuffle_nearby(w);
  for (int32_t i = n - 1; i > 0 && !w->t->now.in_order && !w->t->now.early; i--) {
    const int32_t k = (int32_t)(zp_random_next(&a->random[0]) % (uint64_t)(i + 1));
    const int32_t x = a->order[i];
    a->order[i] = a->order[k];
    a->order[k] = x;
  }
}

int zp_announce_share(zp_diff_rank *w, int32_t k)
{
  const zp_schedule *now = &w->t->now;
  const int32_t hosts = now->hosts ? w->streams : 1;
  const int last_step = w->announce.call->step - w->t->base == w->t->steps - 1;
  for (int32_t i = k; i < w->announce.entries; i += hosts) {
    if (now->forgets == w->rank + 1 && i == w->announce.entries - 1 && last_step) continue;
    if (now->many_streams == 2) w->announce.set = (w->announce.set + 1) % w->announce.sets;
    ZP_HOST_TRY(announce_one(w, k, w->announce.order[i]));
    if (now->repeats == w->rank + 1 && i == 0 && last_step)
      ZP_HOST_TRY(announce_one(w, k, w->announce.order[i]));
  }
  return 0;
}

/* ---- Streams and memory ---------------------------------------------------------------------- */

/* The first producer may be the default stream, which is not created. */
static int is_default(const zp_diff_rank *w, int32_t set, int32_t s)
{
  return set == 0 && s == 0 && w->t->now.default_stream;
}

static int open_producer(zp_diff_rank *w, int32_t set, int32_t s)
{
  cudaStream_t *stream = &w->announce.producer[set][s];
  if (is_default(w, set, s)) {
    *stream = w->t->now.default_stream == 1 ? NULL : cudaStreamPerThread;
    return 0;
  }
  ZP_HOST_TRY(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
  simdev_name_stream(*stream, "producer");
  return 0;
}

int zp_announcer_open_streams(zp_diff_rank *w)
{
  const zp_config *c = w->t->cfg;
  zp_announcer *a = &w->announce;
  size_t bytes = 1; /* of the largest gradient */
  for (int32_t i = 0; i < c->n_params; i++)
    if (c->params[i].stage == w->at.pp && bytes < (size_t)zp_diff_grad_bytes(w, i))
      bytes = (size_t)zp_diff_grad_bytes(w, i);
  a->sets = w->t->now.many_streams ? ZP_DIFF_SETS : 1;
  ZP_HOST_TRY(cudaEventCreateWithFlags(&a->made, cudaEventDisableTiming));
  if (w->t->now.waits_for_all)
    ZP_HOST_TRY(cudaEventCreateWithFlags(&a->all, cudaEventDisableTiming));
  for (int32_t i = 0; i < a->sets; i++)
    for (int32_t s = 0; s < w->streams; s++) {
      ZP_HOST_TRY(open_producer(w, i, s));
      ZP_HOST_TRY(cudaMalloc(&a->grad[i][s], bytes));
    }
  return 0;
}

int zp_announcer_begin(zp_diff_rank *w)
{
  zp_announcer *a = &w->announce;
  const int32_t each = w->t->now.many_streams == 2;
  a->set = (a->set + 1) % a->sets;
  for (int32_t i = each ? 0 : a->set; i < (each ? a->sets : a->set + 1); i++)
    for (int32_t s = 0; s < w->streams; s++)
      ZP_HOST_TRY(cudaStreamWaitEvent(a->producer[i][s], a->made, 0));
  return 0;
}

int zp_announcer_open_gradients(zp_diff_rank *w)
{
  const zp_config *c = w->t->cfg;
  zp_announcer *a = &w->announce;
  a->raw = calloc((size_t)c->n_params + 1, sizeof *a->raw);
  a->order = calloc((size_t)c->n_params + 1, sizeof *a->order);
  a->unused = calloc((size_t)c->n_params + 1, (size_t)c->micro_batches);
  if (!a->raw || !a->order || !a->unused) return __LINE__;
  for (int32_t i = 0; i < c->n_params; i++) {
    const size_t bytes = (size_t)(zp_diff_grad_bytes(w, i) * c->micro_batches);
    if (c->params[i].stage != w->at.pp || c->params[i].frozen) continue;
    ZP_HOST_TRY(cudaMalloc(&a->raw[i], bytes > 0 ? bytes : 1));
  }
  return 0;
}

void zp_announcer_wait(const zp_diff_rank *w)
{
  for (int32_t i = 0; i < w->announce.sets; i++)
    for (int32_t s = 0; s < w->streams; s++)
      if (w->announce.producer[i][s] || is_default(w, i, s))
        cudaStreamSynchronize(w->announce.producer[i][s]);
}

void zp_announcer_close(zp_diff_rank *w)
{
  zp_announcer *a = &w->announce;
  for (int32_t i = 0; i < a->sets; i++)
    for (int32_t s = 0; s < w->streams; s++) {
      if (a->producer[i][s] && !is_default(w, i, s)) cudaStreamDestroy(a->producer[i][s]);
      if (a->grad[i][s]) cudaFree(a->grad[i][s]);
    }
  for (int32_t i = 0; a->raw && i < w->t->cfg->n_params; i++)
    if (a->raw[i]) cudaFree(a->raw[i]);
  if (a->made) cudaEventDestroy(a->made);
  if (a->all) cudaEventDestroy(a->all);
  free(a->raw);
  free(a->order);
  free(a->unused);
}
