/* A rank's memory, streams and events: everything is made at opening, a step allocates nothing.
 * spec: STEP-1, LIM-0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../ref/engine/comm.h"
#include "engine_internal.h"

/* ---- Memory ---------------------------------------------------------------------------------- */

/* Device memory for `count` elements, at least one byte, for the use that e->use points to. */
static int take(zp_cuda *e, void *to, int64_t count, int64_t bytes)
{
  void *p = NULL;
  const int64_t size = zp_arena_next(0, count, bytes);
  if (e->n_allocated == e->cap_allocated) {
    const int32_t cap = 2 * e->cap_allocated + 64;
    void **more = realloc(e->allocated, (size_t)cap * sizeof *more);
    if (!more) return zp_cuda_fail(e, ZP_CUDA_E_MEMORY, "no host memory");
    e->allocated = more;
    e->cap_allocated = cap;
  }
  if (size < 0) return zp_cuda_fail(e, ZP_CUDA_E_MEMORY, "an array is too large for any device");
  ZP_CUDA(e, cudaMalloc(&p, count * bytes > 0 ? (size_t)(count * bytes) : 1));
  e->allocated[e->n_allocated++] = p;
  *e->use += count * bytes;
  memcpy(to, &p, sizeof p);
  return 0;
}

/* The same, zeroed on the reduction stream. */
static int take_zeros(zp_cuda *e, void *to, int64_t count, int64_t bytes)
{
  ZP_TRY(take(e, to, count, bytes));
  if (count * bytes == 0) return 0;
  ZP_CUDA(e,
          cudaMemsetAsync(e->allocated[e->n_allocated - 1], 0, (size_t)(count * bytes), e->reduce));
  return 0;
}

static int make_stream(zp_cuda *e, cudaStream_t *stream)
{
  ZP_CUDA(e, cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
  return 0;
}

static int make_event(zp_cuda *e, cudaEvent_t *event)
{
  ZP_CUDA(e, cudaEventCreateWithFlags(event, cudaEventDisableTiming));
  return 0;
}

static int open_flat(zp_cuda *e, int32_t k)
{
  const zp_flat *f = &e->lay.flat[k];
  const int64_t extent = zp_extent(f, e->cfg->stage), sum = zp_sum_bytes(e->cfg->reduce);
  zp_cuda_flat *s = &e->flat[k];
  for (int32_t i = 0; i < ZP_CUDA_PRODUCERS; i++) ZP_TRY(make_event(e, &s->copied[i]));
  e->use = &e->memory.planned.window;
  if (e->cfg->stage < 2) ZP_TRY(take_zeros(e, &s->window, zp_padded(f), sum));
  e->use = &e->memory.planned.slots;
  for (int32_t i = 0; e->cfg->stage == 2 && i < 2; i++) {
    ZP_TRY(take(e, &s->slot[i], zp_widest(f), zp_cuda_size(e)));
    ZP_TRY(make_event(e, &s->free[i]));
  }
  e->use = &e->memory.planned.reduced;
  ZP_TRY(take_zeros(e, &s->reduced, extent, sum));
  if (f->use != 0) return 0;
  e->use = &e->memory.planned.mean;
  ZP_TRY(take_zeros(e, &s->mean, extent, 4));
  if (e->opt.offload) {
    ZP_TRY(zp_cuda_take_pinned(e, &s->mean_host, extent, 4));
    ZP_TRY(zp_cuda_take_pinned(e, &s->param_host, extent, zp_cuda_size(e)));
    ZP_TRY(zp_cuda_take_pinned(e, &s->master, extent, 4));
    ZP_TRY(zp_cuda_take_pinned(e, &s->moment1, extent, 4));
    return zp_cuda_take_pinned(e, &s->moment2, extent, 4);
  }
  e->use = &e->memory.planned.state;
  ZP_TRY(take_zeros(e, &s->master, extent, 4));
  ZP_TRY(take_zeros(e, &s->moment1, extent, 4));
  return take_zeros(e, &s->moment2, extent, 4);
}

/* An event for each bucket that the entry has elements in. */
static int open_pieces(zp_cuda *e, int32_t i)
{
  const int64_t numel = e->cfg->params[e->lay.first_param + i].numel;
  const int64_t start = e->lay.spot[i].start, c = e->lay.flat[e->lay.spot[i].flat].capacity;
  const int64_t pieces = numel == 0 ? 0 : (start + numel - 1) / c - start / c + 1;
  zp_cuda_entry *s = &e->entry[i];
  if (e->cfg->stage == 2 || e->cfg->micro_batches == 1) return 0;
  if (pieces > INT32_MAX) return zp_cuda_fail(e, ZP_CUDA_E_MEMORY, "entry %d: too many buckets", i);
  s->added = calloc((size_t)pieces + 1, sizeof(cudaEvent_t));
  if (!s->added) return zp_cuda_fail(e, ZP_CUDA_E_MEMORY, "no host memory");
  for (; s->pieces < (int32_t)pieces; s->pieces++) ZP_TRY(make_event(e, &s->added[s->pieces]));
  return 0;
}

static int open_entry(zp_cuda *e, int32_t i)
{
  const zp_param *p = &e->cfg->params[e->lay.first_param + i];
  const int32_t holder = zp_storage_of(e->cfg, &e->lay, i);
  zp_cuda_entry *s = &e->entry[i];
  e->use = &e->memory.planned.params;
  if (holder == i) ZP_TRY(take(e, &s->param, p->numel, zp_cuda_size(e)));
  else s->param = e->entry[holder].param; /* the holder comes later in the list */
  if (p->frozen) return 0;
  ZP_TRY(make_event(e, &s->unstaged));
  ZP_TRY(open_pieces(e, i));
  e->use = &e->memory.staging;
  return take(e, &s->staging, p->numel, zp_cuda_size(e));
}

static int open_message(zp_cuda *e, const zp_cuda_message *like, int gradient, zp_cuda_message *out)
{
  out->n = 0;
  for (int32_t i = 0; i < like->n; i++) {
    zp_cuda_tensor *t = &out->t[out->n];
    if (gradient && (like->t[i].dtype == ZP_I32 || like->t[i].dtype == ZP_I64))
      continue; /* PIPE-6 */
    *t = like->t[i];
    ZP_TRY(take(e, &t->data, t->count, zp_dtype_bytes(t->dtype)));
    out->n++;
  }
  return 0;
}

/* Dynamic shapes: room for what the options allow; what lies there is described later. */
static int open_rooms(zp_cuda *e)
{
  const int64_t bytes = e->opt.message_bytes;
  const int before = e->at.pp > 0, behind = e->at.pp < e->cfg->pp - 1;
  for (int32_t i = 0; before && i < e->act_slots; i++)
    ZP_TRY(take(e, &e->act_in_room[i], bytes, 1));
  if (before) ZP_TRY(take(e, &e->grad_out_room, bytes, 1));
  if (behind) ZP_TRY(take(e, &e->act_out_room, bytes, 1));
  if (behind) ZP_TRY(take(e, &e->grad_in_room, bytes, 1));
  ZP_TRY(take(e, &e->meta_in, ZP_META_LONGS, sizeof *e->meta_in));
  ZP_TRY(take(e, &e->meta_out, ZP_META_LONGS, sizeof *e->meta_out));
  ZP_TRY(make_event(e, &e->met));
  ZP_CUDA(e, cudaMallocHost((void **)&e->meta_host, ZP_META_LONGS * sizeof *e->meta_host));
  return 0;
}

static int open_messages(zp_cuda *e)
{
  if (e->cfg->dynamic_shapes) return open_rooms(e);
  for (int32_t i = 0; i < e->act_slots; i++)
    ZP_TRY(open_message(e, &e->opt.act_in, 0, &e->act_in[i]));
  ZP_TRY(open_message(e, &e->opt.act_in, 1, &e->grad_out));
  ZP_TRY(open_message(e, &e->opt.act_out, 0, &e->act_out));
  return open_message(e, &e->opt.act_out, 1, &e->grad_in);
}

/* Tied sums of all members of one bucket lie in recv, too. */
static int64_t tied_bytes(const zp_cuda *e)
{
  int64_t most = 0;
  for (int32_t k = 0; k < e->lay.n_flats; k++) {
    const zp_flat *f = &e->lay.flat[k];
    const int64_t members = zp_group_size(e->cfg, ZP_GROUP_TIED, f->tied, e->at);
    const int64_t bytes = f->tied < 0 ? 0 : members * zp_widest(f) * 4;
    if (bytes > most) most = bytes;
  }
  return most;
}

/* What `native` widens of one bucket before it sends it. */
static int64_t widened_bytes(const zp_cuda *e)
{
  int64_t most = 0;
  if (!e->opt.native || e->cfg->stage < 2 || e->cfg->precision == ZP_F32) return 0;
  for (int32_t k = 0; k < e->lay.n_flats; k++) {
    const int64_t bytes = zp_widest(&e->lay.flat[k]) * 4;
    if (bytes > most) most = bytes;
  }
  return most;
}

/* Bytes for what is planned, or for what needs more. */
static int take_scratch(zp_cuda *e, void **to, int64_t planned, int64_t needed)
{
  const int64_t more = needed > planned ? needed - planned : 0;
  e->use = &e->memory.planned.scratch;
  ZP_TRY(take(e, to, planned + more, 1));
  e->memory.planned.scratch -= more;
  e->memory.sums += more;
  return 0;
}

static int open_arrays(zp_cuda *e)
{
  const zp_scratch scratch = zp_scratch_need(e->cfg, &e->lay);
  for (int32_t k = 0; k < e->lay.n_flats; k++) ZP_TRY(open_flat(e, k));
  for (int32_t i = e->lay.n_params - 1; i >= 0; i--) ZP_TRY(open_entry(e, i));
  ZP_TRY(take_scratch(e, &e->send, scratch.send, widened_bytes(e)));
  ZP_TRY(take_scratch(e, &e->recv, scratch.recv, tied_bytes(e)));
  e->use = &e->memory.landing;
  for (int32_t i = 0; e->opt.offload && i < 2; i++)
    ZP_TRY(take(e, &e->offload.place[i], zp_cuda_landing(e), zp_cuda_size(e)));
  e->use = &e->memory.messages;
  ZP_TRY(open_messages(e));
  e->use = &e->memory.state;
  ZP_TRY(take_zeros(e, &e->loss, e->cfg->micro_batches, 4));
  ZP_TRY(take_zeros(e, &e->tally, 1, sizeof *e->tally));
  ZP_TRY(take_zeros(e, &e->stats, ZP_STATS, 8));
  ZP_TRY(take(e, &e->state, 1, sizeof *e->state));
  ZP_TRY(take(e, &e->groups, e->cfg->optgroups, sizeof *e->groups));
  ZP_CUDA(e, cudaMallocHost((void **)&e->state_host, sizeof *e->state_host));
  ZP_CUDA(e, cudaMallocHost((void **)&e->status_host, sizeof *e->status_host));
  return 0;
}

/* The step's and the optimizers' first state. The source is pageable, so the copies may read it
 * until they end: they are waited for. */
static int open_state(zp_cuda *e)
{
  zp_step_state *state = e->state_host;
  zp_group_state *group = calloc((size_t)e->cfg->optgroups, sizeof *group);
  int failed;
  if (!group) return zp_cuda_fail(e, ZP_CUDA_E_MEMORY, "no host memory");
  memset(state, 0, sizeof *state);
  state->scaler = e->opt.scaler;
  for (int32_t g = 0; g < e->cfg->optgroups; g++) zp_optim_state_init(&group[g].optim);
  failed =
      zp_cuda_check(
          e, cudaMemcpyAsync(e->state, state, sizeof *state, cudaMemcpyHostToDevice, e->reduce),
          "cudaMemcpyAsync") ||
      zp_cuda_check(e,
                    cudaMemcpyAsync(e->groups, group, (size_t)e->cfg->optgroups * sizeof *group,
                                    cudaMemcpyHostToDevice, e->reduce),
                    "cudaMemcpyAsync") ||
      zp_cuda_record(e, ZP_SITE_OPENED_RECORD, e->copied_out, e->reduce) ||
      zp_cuda_host_wait(e, ZP_SITE_OPENED_HOST, e->copied_out, "the first state's copy");
  free(group);
  return failed ? -1 : 0;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static int open_plan(zp_cuda *e)
{
  int32_t first, count;
  zp_stage_params(e->cfg, e->at.pp, &first, &count);
  e->lay.spot = calloc((size_t)count + 1, sizeof *e->lay.spot);
  e->lay.flat = calloc((size_t)count + 1, sizeof *e->lay.flat);
  e->entry = calloc((size_t)count + 1, sizeof *e->entry);
  e->counts = calloc((size_t)count + 1, 1);
  e->tied = calloc((size_t)e->cfg->tied_keys + 1, sizeof *e->tied);
  e->lay.cap_spots = e->lay.cap_flats = count;
  if (!e->lay.spot || !e->lay.flat || !e->entry || !e->counts || !e->tied) goto memory;
  if (zp_layout_build(e->cfg, e->at.pp, &e->lay)) goto memory;
  e->act_slots = (int32_t)zp_alive(e->cfg->pp, e->cfg->micro_batches, e->at.pp);
  e->flat = calloc((size_t)e->lay.n_flats + 1, sizeof *e->flat);
  e->act_in = calloc((size_t)e->act_slots, sizeof *e->act_in);
  e->act_in_room = calloc((size_t)e->act_slots, sizeof *e->act_in_room);
  e->sent = calloc((size_t)e->act_slots, sizeof *e->sent);
  e->loss_given = calloc((size_t)e->cfg->micro_batches, 1);
  if (!e->flat || !e->act_in || !e->act_in_room || !e->sent || !e->loss_given) goto memory;
  zp_counted_entries(e->cfg, &e->lay, e->at.tp, e->counts);
  for (int32_t phase = 0; phase < ZP_PHASES; phase++) {
    const int64_t n = zp_program_need(e->cfg, &e->lay, phase, e->at);
    if (n > INT64_MAX / 2 / (int64_t)sizeof(zp_op)) goto memory;
    e->program[phase] = malloc((size_t)n * sizeof(zp_op) + 1);
    if (!e->program[phase]) goto memory;
    e->length[phase] = zp_program_write(e->cfg, &e->lay, phase, e->at, e->program[phase], n);
  }
  return zp_cuda_open_records(e);
memory:
  return zp_cuda_fail(e, ZP_CUDA_E_MEMORY, "no host memory for the programs");
}

/* All kernels: CUDA loads one when it is launched first, and may wait until the device is idle for
 * that, where communication may be waiting for other ranks. STRM-7 */
static int load_kernels(zp_cuda *e)
{
  static const void *const *const kernel[] = {
#define ZP_KERNEL_AT(name) &zp_kernel_##name,
      ZP_KERNELS(ZP_KERNEL_AT)
#undef ZP_KERNEL_AT
  };
  if (zp_cuda_planted(e, ZP_PLANT_UNLOADED)) return 0;
  for (size_t i = 0; i < sizeof kernel / sizeof *kernel; i++) {
    struct cudaFuncAttributes unused;
    ZP_CUDA(e, cudaFuncGetAttributes(&unused, *kernel[i]));
  }
  return 0;
}

static int open_streams(zp_cuda *e)
{
  ZP_TRY(make_stream(e, &e->compute));
  ZP_TRY(make_stream(e, &e->reduce));
  ZP_TRY(make_stream(e, &e->p2p));
  ZP_TRY(make_event(e, &e->forwarded));
  ZP_TRY(make_event(e, &e->backwarded));
  ZP_TRY(make_event(e, &e->with_next));
  ZP_TRY(make_event(e, &e->with_previous));
  for (int32_t i = 0; i < ZP_CUDA_FLIGHT; i++) ZP_TRY(make_event(e, &e->ended[i]));
  ZP_TRY(make_event(e, &e->copied_out));
  ZP_TRY(make_event(e, &e->communicated));
  return zp_cuda_open_order(e);
}

static int open_device(zp_cuda *e)
{
  ZP_CUDA(e, cudaSetDevice(e->opt.device));
  return load_kernels(e);
}

static int refuse(zp_cuda_error *err, const char *field, const char *why, long long value)
{
  err->status = ZP_CUDA_E_REFUSED;
  snprintf(err->text, sizeof err->text, "%s: %s (it is %lld)", field, why, value);
  return -1;
}

static int check_message(const zp_cuda_message *m, const zp_config *cfg, const char *field,
                         zp_cuda_error *err)
{
  if (m->n < 0 || m->n > ZP_CUDA_TENSORS) return refuse(err, field, "0 to 4 tensors", m->n);
  for (int32_t i = 0; i < m->n; i++) {
    const int32_t t = m->t[i].dtype;
    if (t != cfg->precision && t != ZP_I32 && t != ZP_I64)
      return refuse(err, field, "a tensor's dtype is the precision or an integer's (PIPE-6)", t);
    if (m->t[i].count < 1) return refuse(err, field, "a tensor has elements", m->t[i].count);
  }
  return 0;
}

static int check_options(const zp_cuda_options *o, zp_cuda_error *err)
{
  zp_refusal why;
  if (zp_config_check(o->cfg, &why)) {
    err->status = ZP_CUDA_E_REFUSED;
    snprintf(err->text, sizeof err->text,
             "configuration: field %d (entry %d) is %lld, allowed are %lld to %lld (LIM-0)",
             why.field, why.index, (long long)why.value, (long long)why.lo, (long long)why.hi);
    return -1;
  }
  if (o->cfg->dynamic_shapes && o->cfg->pp > 1 && o->message_bytes < 1)
    return refuse(err, "message_bytes", "dynamic shapes need the most bytes of a message",
                  o->message_bytes);
  if (o->optims < 1 || o->optims > ZP_DECIDE_OPTIMS)
    return refuse(err, "optims", "1 to 8", o->optims);
  if (o->rank < 0 || o->rank >= zp_world(o->cfg))
    return refuse(err, "rank", "0 to pp*dp*tp - 1", o->rank);
  if (o->native != 0 && (o->native != 1 || o->cfg->reduce != ZP_ORDERED))
    return refuse(err, "native", "0, or 1 where the configuration reduces `ordered`", o->native);
  if (!o->exchange || !o->model.first)
    return refuse(err, "callbacks", "exchange and first are needed", 0);
  if (!o->model.forward != !o->model.backward || (o->cfg->pp > 1 && !o->model.forward))
    return refuse(err, "callbacks", "forward and backward, or with pp = 1 none of them",
                  o->cfg->pp);
  if (o->cfg->dynamic_shapes)
    return o->cfg->pp == 1 || o->model.shape
               ? 0
               : refuse(err, "callbacks", "shape is needed for dynamic shapes", 0);
  return check_message(&o->act_in, o->cfg, "act_in", err) ||
                 check_message(&o->act_out, o->cfg, "act_out", err)
             ? -1
             : 0;
}

/* Field by field into zeroed memory: padding travels to kernels, where simdev takes what the caller
 * left in it for an address of another rank. */
static void take_optims(zp_cuda *e, const zp_optim *from)
{
  memset(e->opt.optim, 0, sizeof e->opt.optim);
  for (int32_t g = 0; g < e->opt.optims; g++) {
    zp_optim *to = &e->opt.optim[g];
    to->kind = from[g].kind;
    to->lr = from[g].lr;
    to->beta1 = from[g].beta1;
    to->beta2 = from[g].beta2;
    to->eps = from[g].eps;
    to->weight_decay = from[g].weight_decay;
    to->momentum = from[g].momentum;
  }
}

zp_cuda *zp_cuda_open(const zp_cuda_options *options, zp_cuda_error *err)
{
  zp_cuda *e;
  memset(err, 0, sizeof *err);
  if (check_options(options, err)) return NULL;
  e = calloc(1, sizeof *e);
  if (!e) {
    refuse(err, "memory", "no host memory", 0);
    err->status = ZP_CUDA_E_MEMORY;
    return NULL;
  }
  e->opt = *options;
  take_optims(e, options->optim);
  e->cfg = options->cfg;
  e->at = zp_coord_of(e->cfg, options->rank);
  e->phase = -1;
  e->mb = -1;
  e->heard = -1;
  e->own = !options->model.forward;
  if (e->at.pp == 0) e->opt.act_in.n = 0;
  if (e->at.pp == e->cfg->pp - 1) e->opt.act_out.n = 0;
  if (zp_cuda_open_threads(e) || open_plan(e) || open_device(e) || open_streams(e) ||
      zp_cuda_open_marks(e) || zp_cuda_open_offload(e) || open_arrays(e) || open_state(e) ||
      zp_cuda_world(e) || zp_cuda_start_watchdog(e)) {
    *err = e->err;
    zp_cuda_close(e);
    return NULL;
  }
  return e;
}

void *zp_cuda_param(const zp_cuda *e, int32_t param)
{
  const int32_t i = param - e->lay.first_param;
  return i < 0 || i >= e->lay.n_params ? NULL : e->entry[i].param;
}

zp_cuda_memory zp_cuda_memory_of(const zp_cuda *e)
{
  return e->memory;
}

/* ---- Closing --------------------------------------------------------------------------------- */

static void drop_event(cudaEvent_t event)
{
  if (event) cudaEventDestroy(event);
}

static void drop_stream(cudaStream_t stream)
{
  if (stream) cudaStreamDestroy(stream);
}

static void drop_events(zp_cuda *e)
{
  for (int32_t k = 0; e->flat && k < e->lay.n_flats; k++) {
    for (int32_t i = 0; i < ZP_CUDA_PRODUCERS; i++) drop_event(e->flat[k].copied[i]);
    for (int32_t i = 0; i < 2; i++) drop_event(e->flat[k].free[i]);
  }
  for (int32_t i = 0; e->entry && i < e->lay.n_params; i++) {
    for (int32_t k = 0; k < e->entry[i].pieces; k++) drop_event(e->entry[i].added[k]);
    drop_event(e->entry[i].unstaged);
    free(e->entry[i].added);
  }
  for (int32_t i = 0; i < ZP_CUDA_FLIGHT; i++) drop_event(e->ended[i]);
  drop_event(e->forwarded);
  drop_event(e->backwarded);
  drop_event(e->with_next);
  drop_event(e->with_previous);
  drop_event(e->copied_out);
  drop_event(e->communicated);
  drop_event(e->met);
}

/* What was aborted ends soon, but a kernel of the model's may wait for what never comes; cudaFree,
 * which may wait for the whole device, would then wait for ever. */
static int at_rest(zp_cuda *e)
{
  return (!e->compute || zp_cuda_let_rest(e, e->compute)) &&
         (!e->reduce || zp_cuda_let_rest(e, e->reduce)) &&
         (!e->p2p || zp_cuda_let_rest(e, e->p2p)) &&
         (!e->offload.copy || zp_cuda_let_rest(e, e->offload.copy));
}

static void drop_memory(zp_cuda *e)
{
  zp_cuda_close_blocks(e);
  zp_cuda_drop_pinned(e);
  for (int32_t i = 0; i < e->n_allocated; i++) cudaFree(e->allocated[i]);
  if (e->state_host) cudaFreeHost(e->state_host);
  if (e->meta_host) cudaFreeHost(e->meta_host);
  if (e->status_host) cudaFreeHost(e->status_host);
  if (e->shared) cudaFreeHost(e->shared);
}

int zp_cuda_close(zp_cuda *e)
{
  int status;
  if (!e) return 0;
  zp_cuda_end_watchdog(e);
  /* with a deadline: behind all that is queued there */
  if (!e->err.status || e->agreed) zp_cuda_end_comms(e);
  status = e->err.status;
  zp_cuda_abort(e); /* what is left of them */
  if (at_rest(e)) drop_memory(e);
  zp_cuda_close_offload(e);
  drop_stream(e->compute);
  drop_stream(e->reduce);
  drop_stream(e->p2p);
  drop_events(e);
  zp_cuda_close_threads(e);
  for (int32_t phase = 0; phase < ZP_PHASES; phase++) free(e->program[phase]);
  free(e->wanted);
  free(e->allocated);
  free(e->lay.spot);
  free(e->lay.flat);
  free(e->entry);
  free(e->counts);
  free(e->tied);
  free(e->flat);
  free(e->act_in);
  free(e->act_in_room);
  free(e->sent);
  free(e->loss_given);
  free(e->marks.mark);
  free(e);
  return status;
}
