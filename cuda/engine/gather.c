/* Gradients: announced by the model in any order, added into their buckets in the program's.
 *
 * The program names the ADDs and reductions of a micro-batch one after the other, entries in
 * backward order. An announcement lets that sequence go on as far as announced entries reach: their
 * ADDs are queued on the streams that made the gradients, their buckets are reduced at once, while
 * backward goes on. An entry that comes before its turn is copied on its own stream, and added from
 * the copy, on the same stream, when its turn has come. So the communications have the program's
 * order whatever the order of the announcements (LEDG-2), two slots a flat group suffice, and a
 * gradient may be overwritten by what its stream is given next. The price of disorder is one copy.
 * spec: STEP-3, RED-3, RED-6, PART-7, PART-8 */
#include "engine_internal.h"

char *zp_cuda_slot(const zp_cuda *e, const zp_op *op)
{
  return e->flat[op->flat].slot[zp_cuda_planted(e, ZP_PLANT_SLOT_RESET) ? 0 : op->slot];
}

/* The bucket's reduction will wait for what the stream was given so far. (A test compiles this file
 * as it was done elsewhere before: the reduction waits for the current stream only.) */
static int note_producer(zp_cuda *e, zp_cuda_flat *s, cudaStream_t stream)
{
  int32_t i = 0;
#if defined(ZP_CUDA_CURRENT_STREAM_ONLY)
  s->producers = 0;
#endif
  while (i < s->producers && s->producer[i] != stream) i++;
  if (i == ZP_CUDA_PRODUCERS)
    return zp_cuda_fail(e, ZP_CUDA_E_REFUSED, "more than %d streams fill one bucket",
                        ZP_CUDA_PRODUCERS);
  if (i < s->producers && zp_cuda_planted(e, ZP_PLANT_PRODUCERS_KEPT)) return 0;
  if (i == s->producers) s->producer[s->producers++] = stream;
  if (zp_cuda_planted(e, ZP_PLANT_ONE_EVENT)) i = 0;
  return zp_cuda_record(e, ZP_SITE_COPIED_RECORD, s->copied[i], stream);
}

/* The last reduction that the stream waits for already; NULL: there is no room to remember it. */
static int64_t *waited_for(zp_cuda *e, cudaStream_t stream)
{
  int32_t i = 0;
  while (i < e->known && e->known_stream[i] != stream) i++;
  if (i == ZP_CUDA_KNOWN) return NULL;
  if (i == e->known) {
    e->known_stream[e->known++] = stream;
    e->known_wait[i] = 0;
  }
  return &e->known_wait[i];
}

/* Before a stream writes into a slot: the reduction of earlier contents has read it. What the step
 * before did is behind the compute stream, hence behind the gradient. */
static int wait_for_slot(zp_cuda *e, const zp_cuda_flat *s, const zp_op *op, cudaStream_t stream)
{
  const int64_t n = s->read[op->slot];
  int64_t *waited;
  if (stream == e->reduce || n == 0 || zp_cuda_planted(e, ZP_PLANT_REFILL)) return 0;
  waited = waited_for(e, stream);
  if (waited && *waited >= n) return 0;
  if (waited) *waited = n;
  return zp_cuda_wait(e, ZP_SITE_FREE_WAIT, stream, s->free[op->slot]);
}

/* Stages 0 and 1: micro-batches are added one after the other, whatever their streams, bucket by
 * bucket. RED-4 */
static cudaEvent_t added(const zp_cuda *e, const zp_cuda_entry *p, const zp_op *op)
{
  const zp_spot *spot = &e->lay.spot[op->param - e->lay.first_param];
  return p->added[op->bucket - spot->start / e->lay.flat[op->flat].capacity];
}

static int wait_for_entry(zp_cuda *e, const zp_cuda_entry *p, const zp_op *op)
{
  if (!p->is_added || p->added_on == p->stream) return 0;
  return zp_cuda_wait(e, ZP_SITE_ADDED_WAIT, p->stream, added(e, p, op));
}

/* What the staging buffer held before has been added. */
static int wait_for_staging(zp_cuda *e, zp_cuda_entry *p)
{
  if (!p->is_unstaged || p->unstaged_on == p->stream) return 0;
  p->unstaged_on = p->stream; /* behind the record now */
  return zp_cuda_wait(e, ZP_SITE_STAGED_WAIT, p->stream, p->unstaged);
}

/* Padding behind the bucket's last element, which the same launch makes zero. PART-7 */
static void add_padding(const zp_cuda *e, const zp_op *op, zp_range r, zp_memory_runs *runs)
{
  const zp_range whole = zp_whole_range(&e->lay.flat[op->flat], op->bucket);
  if (r.at + r.count != whole.real || whole.real == whole.count) return;
  runs->here[1].out = zp_cuda_slot(e, op) + whole.real * zp_cuda_size(e);
  runs->here[1].count = whole.count - whole.real;
  runs->n = 2;
}

static int launch_add(zp_cuda *e, const zp_op *op, const zp_cuda_entry *p)
{
  const zp_range r = zp_add_range(e->cfg, &e->lay, op);
  const zp_cuda_flat *s = &e->flat[op->flat];
  zp_gather_params g = {.dtype = e->cfg->precision,
                        .first = op->mb == 0,
                        .nonfinite = &e->tally->nonfinite,
                        .runs.n = 1};
  const void *kernel = zp_kernel_gather_copy;
  g.runs.here[0].in = p->grad ? (const char *)p->grad + op->offset * zp_cuda_size(e) : NULL;
  g.runs.here[0].count = r.count;
  if (e->cfg->stage == 2) {
    g.runs.here[0].out = zp_cuda_slot(e, op) + r.at * zp_cuda_size(e);
    add_padding(e, op, r, &g.runs);
  } else {
    g.runs.here[0].out = zp_cuda_sum(e, s->window, r.at);
    kernel = e->cfg->reduce == ZP_EXACT ? zp_kernel_gather_exact : zp_kernel_gather_ordered;
  }
  zp_cuda_lay(&g.runs);
  return zp_cuda_launch(e, kernel,
                        kernel == zp_kernel_gather_exact
                            ? zp_launch_limb_runs(g.runs.here, g.runs.n)
                            : zp_launch_runs(g.runs.here, g.runs.n),
                        &g, p->stream);
}

/* Where a later micro-batch has to wait for this ADD; the next step is behind it anyway. */
static int note_added(zp_cuda *e, zp_cuda_entry *p, const zp_op *op)
{
  if (e->cfg->stage < 2)
    ZP_TRY(zp_cuda_record(e, ZP_SITE_ADDED_RECORD, added(e, p, op), p->stream));
  if (p->missing > 0) return 0;
  p->added_on = p->stream;
  p->is_added = 1;
  if (p->grad != p->staging) return 0;
  p->unstaged_on = p->stream;
  p->is_unstaged = 1;
  return zp_cuda_record(e, ZP_SITE_STAGED_RECORD, p->unstaged, p->stream);
}

static int add(zp_cuda *e, const zp_op *op)
{
  zp_cuda_entry *p = &e->entry[op->param - e->lay.first_param];
  zp_cuda_flat *s = &e->flat[op->flat];
  const int last = op->mb == e->cfg->micro_batches - 1;
  if (e->cfg->stage == 2) ZP_TRY(wait_for_slot(e, s, op, p->stream));
  else ZP_TRY(wait_for_entry(e, p, op));
  ZP_TRY(launch_add(e, op, p));
  p->missing -= op->count;
  if (p->stream != e->reduce && (e->cfg->stage == 2 || last))
    ZP_TRY(note_producer(e, s, p->stream));
  return last ? 0 : note_added(e, p, op);
}

/* As far as announced entries reach. */
static int go_on(zp_cuda *e)
{
  const zp_op *ops = e->program[e->phase];
  const int64_t here = e->pc;
  int status = 0;
  for (; !status && e->next < e->length[e->phase]; e->next += status == 0) {
    const zp_op *op = &ops[e->next];
    if (op->kind != ZP_OP_ADD && op->what != ZP_WHAT_GRADIENT) break;
    if (op->kind == ZP_OP_ADD &&
        e->entry[op->param - e->lay.first_param].arrival == ZP_CUDA_AWAITED)
      break;
    e->pc = e->next;
    zp_cuda_issuing(e, op);
    status = op->kind == ZP_OP_ADD ? add(e, op) : zp_cuda_reduce(e, op);
  }
  e->pc = here;
  return status;
}

/* A gradient before its turn: kept aside, on its own stream. */
static int keep(zp_cuda *e, zp_cuda_entry *p)
{
  const size_t bytes = (size_t)(p->missing * zp_cuda_size(e));
  zp_cuda_issuing(e, NULL);
  ZP_TRY(wait_for_staging(e, p));
  ZP_CUDA(e, cudaMemcpyAsync(p->staging, p->grad, bytes, cudaMemcpyDeviceToDevice, p->stream));
  p->grad = p->staging;
  return 0;
}

static int wrong_turn(zp_cuda *e, int32_t param, int64_t mb)
{
  int32_t first = -1;
  const int32_t missing = e->mb < 0 ? 0 : zp_cuda_missing(e, &first);
  if (e->mb < 0)
    return zp_cuda_fail(e, ZP_CUDA_E_ARRIVAL,
                        "entry %d was announced for micro-batch %lld: no backward is running; "
                        "announce from within it (STEP-3)",
                        param, (long long)mb);
  if (missing == 0)
    return zp_cuda_fail(e, ZP_CUDA_E_ARRIVAL,
                        "entry %d was announced for micro-batch %lld: all micro-batches are "
                        "complete; the step has to be ended first (STEP-3)",
                        param, (long long)mb);
  return zp_cuda_fail(
      e, ZP_CUDA_E_ARRIVAL,
      "entry %d was announced for micro-batch %lld: micro-batch %lld is the one that "
      "is awaited, and lacks %d gradients, entry %d's among them (STEP-3)",
      param, (long long)mb, (long long)e->mb, missing, first);
}

static int give_loss(zp_cuda *e, int64_t mb, const float *loss, cudaStream_t stream)
{
  if (!e->own || !loss)
    return zp_cuda_fail(e, ZP_CUDA_E_REFUSED,
                        "a loss was given for micro-batch %lld: its address is NULL, or there are "
                        "callbacks, and forward gives it",
                        (long long)mb);
  ZP_TRY(zp_cuda_go_on(e));
  if (mb != e->mb)
    return zp_cuda_fail(
        e, ZP_CUDA_E_REFUSED,
        "a loss was given for micro-batch %lld: micro-batch %lld is the one that is "
        "awaited",
        (long long)mb, (long long)e->mb);
  e->loss_given[mb] = 1;
  ZP_CUDA(e, cudaMemcpyAsync(e->loss + mb, loss, sizeof *loss, cudaMemcpyDefault, stream));
  /* at once: what reduce is given from here on is of this micro-batch, or later */
  ZP_TRY(zp_cuda_record(e, ZP_SITE_GIVEN_RECORD, e->forwarded, stream));
  return zp_cuda_wait(e, ZP_SITE_GIVEN_WAIT, e->reduce, e->forwarded);
}

static int announce(zp_cuda *e, int32_t param, int64_t mb, int32_t arrival, const void *grad,
                    cudaStream_t stream)
{
  const int32_t i = param - e->lay.first_param;
  zp_cuda_entry *p;
  if (e->own) ZP_TRY(zp_cuda_go_on(e));
  if (i < 0 || i >= e->lay.n_params || e->lay.spot[i].flat < 0)
    return zp_cuda_fail(
        e, ZP_CUDA_E_ARRIVAL,
        "entry %d was announced for micro-batch %lld: it is no trained entry of this "
        "stage (STEP-3)",
        param, (long long)mb);
  if (mb < 0 || mb != e->mb) return wrong_turn(e, param, mb);
  p = &e->entry[i];
  if (p->arrival != ZP_CUDA_AWAITED)
    return zp_cuda_fail(e, ZP_CUDA_E_ARRIVAL,
                        "entry %d was announced twice in micro-batch %lld (STEP-3)", param,
                        (long long)mb);
  p->arrival = arrival;
  p->missing = e->cfg->params[param].numel;
  p->grad = grad;
  p->stream = stream;
  ZP_TRY(go_on(e));
  if (grad && p->missing > 0) ZP_TRY(keep(e, p));
  return e->own ? zp_cuda_go_on(e) : 0;
}

/* Any thread announces: it takes its turn, works on the engine's device, and launches what its
 * announcement lets go on. NCCL asks for one order of launches on all ranks, not for one thread:
 * the lock gives it the program's, and each group begins and ends within one hold of it. A thread
 * that has used no device yet has 0 as its current one, and no context: calls of the driver need
 * one, so the device is set also where it is said to be the current one. */
static int announce_here(zp_cuda *e, int32_t param, int64_t mb, int32_t arrival, const void *grad,
                         cudaStream_t stream)
{
  int device = e->opt.device, status;
  zp_cuda_enter(e);
  status = e->err.status ? -1 : zp_cuda_check(e, cudaGetDevice(&device), "cudaGetDevice");
  if (!status && (device != e->opt.device || !zp_cuda_planted(e, ZP_PLANT_UNBOUND)))
    status = zp_cuda_check(e, cudaSetDevice(e->opt.device), "cudaSetDevice");
  if (!status) status = announce(e, param, mb, arrival, grad, stream);
  if (device != e->opt.device && cudaSetDevice(device) != cudaSuccess)
    status = zp_cuda_fail(e, ZP_CUDA_E_CUDA, "device %d could not be made current again", device);
  status = status ? e->err.status : 0;
  zp_cuda_leave(e);
  return status;
}

static const char *dtype_name(int32_t dtype)
{
  return dtype == ZP_F32    ? "fp32"
         : dtype == ZP_BF16 ? "bf16"
         : dtype == ZP_F16  ? "fp16"
                            : "no float";
}

static int bad_gradient(zp_cuda *e, int32_t param, int32_t dtype, cudaStream_t stream)
{
  int status;
  zp_cuda_enter(e);
  if (dtype == e->cfg->precision && stream != cudaStreamPerThread)
    zp_cuda_fail(e, ZP_CUDA_E_ARRIVAL, "the address of entry %d's gradient is NULL", param);
  else if (dtype == e->cfg->precision)
    zp_cuda_fail(
        e, ZP_CUDA_E_ARRIVAL,
        "the gradient of entry %d comes on cudaStreamPerThread, which is another stream in "
        "each thread",
        param);
  else
    zp_cuda_fail(e, ZP_CUDA_E_ARRIVAL,
                 "the gradient of entry %d is %s, and the configuration's precision is %s", param,
                 dtype_name(dtype), dtype_name(e->cfg->precision));
  status = e->err.status;
  zp_cuda_leave(e);
  return status;
}

int zp_cuda_grad_ready(zp_cuda *e, int32_t param, int64_t mb, const void *grad, int32_t dtype,
                       cudaStream_t stream)
{
  const int empty = param >= 0 && param < e->cfg->n_params && e->cfg->params[param].numel == 0;
  if (dtype != e->cfg->precision || (!grad && !empty) || stream == cudaStreamPerThread)
    return bad_gradient(e, param, dtype, stream);
  return announce_here(e, param, mb, ZP_CUDA_READY, grad, stream);
}

/* Its zeros are written by the reduction's own stream, behind all that read the bucket before. */
int zp_cuda_grad_unused(zp_cuda *e, int32_t param, int64_t mb)
{
  return announce_here(e, param, mb, ZP_CUDA_UNUSED, NULL, e->reduce);
}

void zp_cuda_begin_gradients(zp_cuda *e)
{
  for (int32_t i = 0; i < e->lay.n_params; i++) e->entry[i].arrival = ZP_CUDA_AWAITED;
}

int32_t zp_cuda_missing(const zp_cuda *e, int32_t *first)
{
  int32_t missing = 0;
  for (int32_t i = e->lay.n_params - 1; i >= 0; i--) {
    if (e->lay.spot[i].flat < 0 || e->entry[i].arrival != ZP_CUDA_AWAITED) continue;
    missing++;
    *first = e->lay.first_param + i;
  }
  return missing;
}

/* STEP-3. With all entries announced, the micro-batch's ADDs and reductions are issued: go_on
 * stops for nothing else. */
int zp_cuda_arrived(zp_cuda *e, const zp_op *op)
{
  int32_t trained = 0, first = -1;
  const int32_t missing = zp_cuda_missing(e, &first);
  for (int32_t i = 0; i < e->lay.n_params; i++) trained += e->lay.spot[i].flat >= 0;
  e->mb = -1;
  if (missing == 0) return go_on(e);
  return zp_cuda_fail(
      e, ZP_CUDA_E_ARRIVAL,
      "%d of %d gradients were announced in micro-batch %lld; the first one missing "
      "is entry %d (STEP-3). Announce entries that the loss does not reach as unused. "
      "Parameters, masters and scaler are unchanged",
      trained - missing, trained, (long long)op->mb, first);
}

/* ---- Without callbacks ----------------------------------------------------------------------- */

int zp_cuda_loss(zp_cuda *e, int64_t mb, const float *loss, cudaStream_t stream)
{
  int status;
  zp_cuda_enter(e);
  status = e->err.status ? -1 : give_loss(e, mb, loss, stream);
  status = status ? e->err.status : 0;
  zp_cuda_leave(e);
  return status;
}
