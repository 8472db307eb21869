/* spec: STEP-3, RED-3, RED-6, PART-7, PART-8 */
#include "gradients.h"

#include <stdlib.h>
#include <string.h>

#include "../../../ref/base/invariant.h"
#include "../../../ref/engine/bucket_slots.h"
#include "../../../ref/engine/window.h"
#include "../device/launch.h"
#include "../device/runs.h"
#include "../device/take.h"
#include "../device/trace.h"
#include "reduce.h"

static const zp_cuda_plan *plan_of(const zp_cuda_gradients *g)
{
  return &g->ops->r->plan;
}

/* Of an element of flat group k. */
static int64_t gradient_bytes(const zp_cuda_gradients *g, int32_t k)
{
  return zp_dtype_bytes(zp_cuda_gradient_dtype(plan_of(g), k));
}

/* ---- Memory ---------------------------------------------------------------------------------- */

int zp_cuda_gradients_open(zp_cuda_gradients *g, const zp_cuda_ops *ops)
{
  const zp_cuda_plan *p = &ops->r->plan;
  g->ops = ops;
  g->mb = g->forward = g->backward = -1;
  g->slots = (int32_t)zp_alive(p->cfg->pp, p->cfg->micro_batches, p->at.pp);
  g->unused = calloc((size_t)p->lay.n_params + 1, (size_t)g->slots);
  g->entry = calloc((size_t)p->lay.n_params + 1, sizeof *g->entry);
  g->users = calloc((size_t)p->lay.n_params + 1, sizeof *g->users);
  if (!g->unused || !g->entry || !g->users ||
      zp_early_open(&g->early, p->cfg, &p->lay, p->block.fp32_gradients, ops->r->opt.early_bytes))
    return zp_cuda_fail(ops->r, ZP_E_MEMORY, "no host memory for the gradients");
  return 0;
}

/* An event for each bucket that the entry, or the padding after it, has elements in. */
static int open_pieces(zp_cuda_gradients *g, int32_t i)
{
  const zp_cuda_plan *p = plan_of(g);
  const int64_t numel = zp_cuda_flat_size(p, i);
  const int64_t start = p->lay.spot[i].start, c = p->lay.flat[p->lay.spot[i].flat].capacity;
  const int64_t pieces = numel == 0 ? 0 : (start + numel - 1) / c - start / c + 1;
  zp_cuda_entry *s = &g->entry[i];
  if (p->cfg->stage == 2 || p->cfg->micro_batches == 1) return 0;
  if (pieces > INT32_MAX)
    return zp_cuda_fail(g->ops->r, ZP_E_MEMORY, "entry %d: too many buckets", i);
  s->added = calloc((size_t)pieces + 1, sizeof(cudaEvent_t));
  if (!s->added) return zp_cuda_fail(g->ops->r, ZP_E_MEMORY, "no host memory");
  for (; s->pieces < (int32_t)pieces; s->pieces++)
    ZP_TRY(zp_cuda_create_event(g->ops->r, &s->added[s->pieces]));
  return 0;
}

int zp_cuda_gradients_open_entries(zp_cuda_gradients *g, zp_cuda_allocations *a)
{
  const zp_cuda_plan *p = plan_of(g);
  for (int32_t i = p->lay.n_params - 1; i >= 0; i--) {
    if (p->lay.spot[i].flat < 0) continue;
    ZP_TRY(zp_cuda_create_event(g->ops->r, &g->entry[i].unstaged));
    ZP_TRY(open_pieces(g, i));
  }
  return zp_cuda_allocate(a, &a->bytes.staging, &g->ring, g->early.bytes, 1);
}

void zp_cuda_gradients_close(zp_cuda_gradients *g)
{
  for (int32_t i = 0; g->entry && i < plan_of(g)->lay.n_params; i++) {
    zp_cuda_entry *s = &g->entry[i];
    for (int32_t k = 0; k < s->pieces; k++) zp_cuda_destroy_event(s->added[k]);
    zp_cuda_destroy_event(s->unstaged);
    free(s->added);
  }
  free(g->unused);
  free(g->entry);
  free(g->users);
  zp_early_close(&g->early);
}

/* ---- Additions ------------------------------------------------------------------------------- */

static zp_cuda_entry *entry_of(const zp_cuda_gradients *g, const zp_op *op)
{
  return &g->entry[op->param - plan_of(g)->lay.first_param];
}

/* Stages 0 and 1: micro-batches are added one after the other, whatever their streams, bucket by
 * bucket. RED-4 */
static cudaEvent_t added(const zp_cuda_gradients *g, const zp_op *op)
{
  const zp_layout *lay = &plan_of(g)->lay;
  const zp_spot *spot = &lay->spot[op->param - lay->first_param];
  return entry_of(g, op)->added[op->bucket - spot->start / lay->flat[op->flat].capacity];
}

static int wait_for_added(const zp_cuda_gradients *g, const zp_op *op, cudaStream_t stream)
{
  const zp_cuda_entry *s = entry_of(g, op);
  if (!s->is_added || s->added_on == stream) return 0;
  return zp_cuda_wait(g->ops->r, ZP_SYNC_ADDED_WAIT, stream, added(g, op));
}

/* Before a stream writes what op adds. */
static int wait_for_bucket(const zp_cuda_gradients *g, const zp_op *op, cudaStream_t stream)
{
  if (plan_of(g)->cfg->stage < 2 && op->mb > 0) return wait_for_added(g, op, stream);
  if (plan_of(g)->cfg->stage < 2)
    return zp_cuda_gathers_wait_to_add(g->ops->gathers, op->param, stream);
  return zp_cuda_wait_for_slot(g->ops->buckets, op, stream);
}

/* The gradient is already where it is added. */
static int is_in_place(const zp_cuda_entry *s)
{
  return s->lent && s->grad == s->lent;
}

/* Of op's elements, those that are not padding. */
static int64_t own_of(const zp_cuda_gradients *g, const zp_op *op)
{
  return zp_block_own(&plan_of(g)->block, op->param, op->offset, op->count);
}

/* Where element `at` of op's slot, or of its flat group's window, lies. */
static char *bucket_memory(const zp_cuda_gradients *g, const zp_op *op, int64_t at)
{
  if (plan_of(g)->cfg->stage == 2) return zp_cuda_slot(g->ops->buckets, op, at);
  return zp_cuda_sum(plan_of(g), op->flat, g->ops->buffers->flat[op->flat].window, at);
}

/* A run of op's elements, or of the padding after them, which has no `in` and counts as zeros. */
static void add_run(const zp_cuda_gradients *g, const zp_op *op, int64_t at, int64_t count,
                    const void *in, zp_memory_runs *runs)
{
  zp_memory_run *run = &runs->here[runs->n];
  if (count == 0) return;
  run->in = in;
  run->count = count;
  run->out = bucket_memory(g, op, at);
  runs->n++;
}

/* Elements of the padding after range r of a bucket's additions, which the same launch zeroes: at
 * stage 2 that at the bucket's end, where r reaches it. PART-7 */
static int64_t tail_of(const zp_cuda_plan *p, const zp_op *op, zp_range r)
{
  const zp_range whole = zp_whole_range(&p->lay.flat[op->flat], op->bucket);
  return p->cfg->stage == 2 && r.at + r.count == whole.real ? whole.count - whole.real : 0;
}

/* What takes a gradient of flat group k into its slot, widened if need be, or into its window. */
static const void *kernel_of(const zp_cuda_rank *r, int32_t k)
{
  const zp_config *cfg = r->plan.cfg;
  if (cfg->stage == 2)
    return zp_cuda_slot_dtype(r, k) == zp_cuda_gradient_dtype(&r->plan, k)
               ? zp_kernel_gather_copy
               : zp_kernel_gather_ordered;
  return cfg->reduce == ZP_EXACT ? zp_kernel_gather_exact : zp_kernel_gather_ordered;
}

static int launch_add(const zp_cuda_gradients *g, const zp_op *op)
{
  const zp_cuda_ops *o = g->ops;
  const zp_cuda_plan *p = plan_of(g);
  const zp_cuda_entry *s = entry_of(g, op);
  const zp_range r = zp_add_range(&p->block.cfg, &p->lay, op);
  const int64_t own = own_of(g, op);
  const int exact = p->cfg->reduce == ZP_EXACT; /* limbs hold finite values only. STAT-3 */
  zp_gather_params a = {.dtype = zp_cuda_gradient_dtype(p, op->flat),
                        .first = p->cfg->stage == 2 || op->mb == 0,
                        .nonfinite = exact ? &o->memory->tally->nonfinite : NULL};
  const void *kernel = kernel_of(o->r, op->flat);
  const int64_t from = op->offset * gradient_bytes(g, op->flat);
  const char *in = s->grad ? (const char *)s->grad + from : NULL;
  if (!is_in_place(s)) add_run(g, op, r.at, own, in, &a.runs);
  add_run(g, op, r.at + own, r.count - own + tail_of(p, op, r), NULL, &a.runs);
  if (a.runs.n == 0) return 0;
  zp_cuda_lay_runs(&a.runs);
  return zp_cuda_launch(o->r, kernel,
                        kernel == zp_kernel_gather_exact
                            ? zp_launch_limb_runs(a.runs.here, a.runs.n)
                            : zp_launch_runs(a.runs.here, a.runs.n),
                        &a, s->stream);
}

/* For the next micro-batch, which has to wait for this ADD; the next step follows it anyway. */
static int record_added(const zp_cuda_gradients *g, const zp_op *op)
{
  zp_cuda_entry *s = entry_of(g, op);
  if (plan_of(g)->cfg->stage < 2)
    ZP_TRY(zp_cuda_record(g->ops->r, ZP_SYNC_ADDED_RECORD, added(g, op), s->stream));
  if (s->missing > 0) return 0;
  s->added_on = s->stream;
  s->is_added = 1;
  return 0;
}

/* The entry's last ADD has read the ring. In a step's last micro-batch only another entry can come
 * to its place. */
static int unstage(const zp_cuda_gradients *g, zp_cuda_entry *s, int last)
{
  s->is_staged = 0;
  if (last && !g->early.wraps) return 0;
  s->unstaged_on = s->stream;
  s->is_unstaged = 1;
  return zp_cuda_record(g->ops->r, ZP_SYNC_STAGED_RECORD, s->unstaged, s->stream);
}

static int add(const zp_cuda_gradients *g, const zp_op *op)
{
  const zp_config *cfg = plan_of(g)->cfg;
  zp_cuda_entry *s = entry_of(g, op);
  const int last = op->mb == cfg->micro_batches - 1;
  /* what was lent has been waited for */
  if (!is_in_place(s) || own_of(g, op) == 0) ZP_TRY(wait_for_bucket(g, op, s->stream));
  ZP_TRY(launch_add(g, op));
  s->missing -= op->count;
  if (s->stream != g->ops->r->reduce && (cfg->stage == 2 || last))
    ZP_TRY(zp_cuda_add_producer(g->ops->buckets, op, s->stream));
  if (!last) ZP_TRY(record_added(g, op));
  return s->is_staged && s->missing == 0 ? unstage(g, s, last) : 0;
}

/* The micro-batch's first ADD or reduction that is not issued, or the op after the last one. */
static int64_t next_of(const zp_cuda_gradients *g)
{
  return zp_cursor_next_early(&g->ops->r->progress.host.cursor);
}

/* As far as announced entries reach, ahead of the arrival check. */
static int issue_announced(const zp_cuda_gradients *g)
{
  zp_cuda_rank *r = g->ops->r;
  const zp_cursor *c = &r->progress.host.cursor;
  for (int64_t p = next_of(g); p < c->length; p = next_of(g)) {
    const zp_op *op = &c->ops[p];
    if (op->kind != ZP_OP_ADD && op->what != ZP_WHAT_GRADIENT) break;
    if (op->kind == ZP_OP_ADD && entry_of(g, op)->arrival == ZP_CUDA_AWAITED) break;
    ZP_TRY(zp_cuda_take_early(r, p));
    zp_cuda_issuing(r, op);
    ZP_TRY(op->kind == ZP_OP_ADD ? add(g, op) : zp_cuda_reduce(g->ops, op));
    ZP_TRY(zp_cuda_done(r));
  }
  return 0;
}

/* ---- Announcements --------------------------------------------------------------------------- */

static int fail_early(const zp_cuda_gradients *g, const zp_cuda_entry *s, int32_t j)
{
  const int32_t first = plan_of(g)->lay.first_param;
  const zp_op *awaited = &plan_of(g)->program[ZP_PHASE_STEP][next_of(g)];
  return zp_cuda_fail(g->ops->r, ZP_E_ARRIVAL,
                      "the gradient of entry %d in micro-batch %lld came too long before its turn: "
                      "that of entry %d is awaited, and entry %d's is kept where it would go, in "
                      "early_bytes = %lld (STEP-3). Announce gradients in about backward order, or "
                      "set early_bytes to a larger number, or -1 for room for all",
                      first + (int32_t)(s - g->entry), (long long)g->mb, awaited->param, first + j,
                      (long long)g->early.bytes);
}

/* What an entry's range in the ring had before, `before`'s, has been added. */
static int wait_for_range(zp_cuda_gradients *g, zp_cuda_entry *s, zp_cuda_entry *before)
{
  const zp_early_range *own = &g->early.range[s - g->entry];
  const zp_early_range *its = &g->early.range[before - g->entry];
  if (!before->is_unstaged) return 0;
  /* an entry that comes to those bytes next waits for this one */
  before->is_unstaged = own->at > its->at || own->at + own->bytes < its->at + its->bytes;
  if (before->unstaged_on == s->stream) return 0;
  return zp_cuda_wait(g->ops->r, ZP_SYNC_STAGED_WAIT, s->stream, before->unstaged);
}

/* Entry i uses the ring from here on. Those that use it no more leave the list. */
static void list_user(zp_cuda_gradients *g, int32_t i)
{
  int32_t n = 0;
  for (int32_t u = 0; u < g->n_users; u++) {
    const zp_cuda_entry *s = &g->entry[g->users[u]];
    if (g->users[u] != i && (s->is_staged || s->is_unstaged)) g->users[n++] = g->users[u];
  }
  g->users[n++] = i;
  g->n_users = n;
}

/* A gradient before its turn. */
static int stage(zp_cuda_gradients *g, zp_cuda_entry *s)
{
  zp_cuda_rank *r = g->ops->r;
  const zp_cuda_plan *p = plan_of(g);
  const int32_t i = (int32_t)(s - g->entry), n = g->early.wraps ? g->n_users : 0;
  const int64_t numel = p->cfg->params[p->lay.first_param + i].numel;
  char *to = g->ring + g->early.range[i].at;
  for (int32_t u = 0; u < n; u++)
    if (g->entry[g->users[u]].is_staged && zp_early_overlap(&g->early, i, g->users[u]))
      return fail_early(g, s, g->users[u]);
  zp_cuda_issuing(r, NULL);
  ZP_TRY(wait_for_range(g, s, s));
  for (int32_t u = 0; u < n; u++)
    if (zp_early_overlap(&g->early, i, g->users[u]))
      ZP_TRY(wait_for_range(g, s, &g->entry[g->users[u]]));
  const size_t bytes = (size_t)(numel * gradient_bytes(g, p->lay.spot[i].flat));
  ZP_CUDA(r, cudaMemcpyAsync(to, s->grad, bytes, cudaMemcpyDeviceToDevice, s->stream));
  s->grad = to;
  s->is_staged = 1;
  if (g->early.wraps) list_user(g, i);
  return 0;
}

int32_t zp_cuda_gradients_trained(const zp_cuda_gradients *g)
{
  const zp_layout *lay = &plan_of(g)->lay;
  int32_t n = 0;
  for (int32_t i = 0; i < lay->n_params; i++) n += lay->spot[i].flat >= 0;
  return n;
}

static int fail_turn(const zp_cuda_gradients *g, int32_t param, int64_t mb)
{
  zp_cuda_rank *r = g->ops->r;
  int32_t first = -1;
  const int32_t missing = g->mb < 0 ? 0 : zp_cuda_gradients_missing(g, &first);
  if (g->mb < 0)
    return zp_cuda_fail(r, ZP_E_ARRIVAL,
                        "entry %d was announced for micro-batch %lld: no backward is running; "
                        "announce from within it; an entry may be declared unused from its "
                        "forward on (STEP-3)",
                        param, (long long)mb);
  if (missing == 0)
    return zp_cuda_fail(r, ZP_E_ARRIVAL,
                        "entry %d was announced for micro-batch %lld: all micro-batches are "
                        "complete; end the step first (STEP-3)",
                        param, (long long)mb);
  return zp_cuda_fail(r, ZP_E_ARRIVAL,
                      "entry %d was announced for micro-batch %lld, expected micro-batch %lld, "
                      "which lacks %d of %d gradients, entry %d's among them (STEP-3)",
                      param, (long long)mb, (long long)g->mb, missing, zp_cuda_gradients_trained(g),
                      first);
}

static int fail_twice(const zp_cuda_gradients *g, int32_t param, int64_t mb)
{
  return zp_cuda_fail(g->ops->r, ZP_E_ARRIVAL,
                      "entry %d was announced twice in micro-batch %lld (STEP-3)", param,
                      (long long)mb);
}

/* A trained entry of this stage? */
static int check_entry(const zp_cuda_gradients *g, int32_t param, int64_t mb)
{
  const zp_layout *lay = &plan_of(g)->lay;
  const int32_t i = param - lay->first_param;
  if (i >= 0 && i < lay->n_params && lay->spot[i].flat >= 0) return 0;
  return zp_cuda_fail(g->ops->r, ZP_E_ARRIVAL,
                      "entry %d was announced for micro-batch %lld: it is not a trained entry "
                      "of this stage (STEP-3)",
                      param, (long long)mb);
}

/* *s: the entry, whose gradient is awaited. 0, or -1 after an error. */
static int find_awaited(zp_cuda_gradients *g, int32_t param, int64_t mb, zp_cuda_entry **s)
{
  ZP_TRY(check_entry(g, param, mb));
  if (mb < 0 || mb != g->mb) return fail_turn(g, param, mb);
  *s = &g->entry[param - plan_of(g)->lay.first_param];
  return (*s)->arrival == ZP_CUDA_AWAITED ? 0 : fail_twice(g, param, mb);
}

/* Whether the stage's entry i was declared unused before micro-batch mb's backward. */
static uint8_t *unused(const zp_cuda_gradients *g, int64_t mb, int32_t i)
{
  return &g->unused[zp_act_place(g->slots, mb) * plan_of(g)->lay.n_params + i];
}

/* Between the micro-batch's forward and its backward. */
static int declare_unused(zp_cuda_gradients *g, int32_t param, int64_t mb)
{
  ZP_TRY(check_entry(g, param, mb));
  uint8_t *known = unused(g, mb, param - plan_of(g)->lay.first_param);
  if (*known) return fail_twice(g, param, mb);
  *known = 1;
  return 0;
}

/* Does grad lie in a slot, or in the window of the entry's flat group? */
static int is_in_buckets(const zp_cuda_gradients *g, int32_t i, const void *grad)
{
  const zp_layout *lay = &plan_of(g)->lay;
  const int32_t k = lay->spot[i].flat;
  const int64_t slot = zp_cuda_slot_bytes(g->ops->r);
  char *window = g->ops->buffers->flat[k].window;
  const char *at = grad;
  for (int32_t n = 0; n < plan_of(g)->slots; n++) {
    const char *from = g->ops->buckets->slot[n];
    if (at >= from && at < from + slot) return 1;
  }
  return window && at >= window &&
         at < zp_cuda_sum(plan_of(g), k, window, zp_padded(&lay->flat[k]));
}

static void take(zp_cuda_gradients *g, int32_t i, zp_cuda_arrival arrival, const void *grad,
                 cudaStream_t stream)
{
  zp_cuda_entry *s = &g->entry[i];
  s->arrival = (int32_t)arrival;
  s->missing = zp_cuda_flat_size(plan_of(g), i);
  s->grad = grad;
  s->stream = stream;
}

int zp_cuda_gradients_announce(zp_cuda_gradients *g, int32_t param, int64_t mb,
                               zp_cuda_arrival arrival, const void *grad, cudaStream_t stream)
{
  zp_cuda_entry *s;
  if (arrival == ZP_CUDA_UNUSED && mb > g->backward && mb <= g->forward)
    return declare_unused(g, param, mb);
  ZP_TRY(find_awaited(g, param, mb, &s));
  if (s->lent && grad != s->lent)
    return zp_cuda_fail(g->ops->r, ZP_E_ARRIVAL,
                        "entry %d was %s in micro-batch %lld, after memory for its gradient was "
                        "lent, which may have been written: announce it from there (PART-8)",
                        param, grad ? "announced from elsewhere" : "declared unused",
                        (long long)mb);
  if (grad && !s->lent && is_in_buckets(g, (int32_t)(s - g->entry), grad))
    return zp_cuda_fail(g->ops->r, ZP_E_ARRIVAL,
                        "the gradient of entry %d in micro-batch %lld is in the engine's memory, "
                        "which was not lent for it in this micro-batch: call zp_engine_grad_buffer "
                        "each time (PART-8)",
                        param, (long long)mb);
  take(g, (int32_t)(s - g->entry), arrival, grad, stream);
  ZP_TRY(issue_announced(g));
  return grad && s->missing > 0 && !is_in_place(s) ? stage(g, s) : 0;
}

/* ---- Gradients in place ---------------------------------------------------------------------- */

/* The entry's first ADD that is not issued; NULL: it has none. */
static const zp_op *first_add(const zp_cuda_gradients *g, int32_t param)
{
  const zp_op *op = &plan_of(g)->program[ZP_PHASE_STEP][next_of(g)];
  const zp_op *end = plan_of(g)->program[ZP_PHASE_STEP] + plan_of(g)->length[ZP_PHASE_STEP];
  for (; op < end && (op->kind == ZP_OP_ADD || op->what == ZP_WHAT_GRADIENT); op++)
    if (op->kind == ZP_OP_ADD && op->param == param) return op;
  return NULL;
}

/* Is a reduction of earlier contents of op's slot not issued yet? */
static int is_slot_taken(const zp_cuda_gradients *g, const zp_op *op)
{
  const zp_op *before = &plan_of(g)->program[ZP_PHASE_STEP][next_of(g)];
  for (; before < op; before++)
    if (before->kind != ZP_OP_ADD && before->slot == op->slot) return 1;
  return 0;
}

/* Has memory of the gradient's dtype, in one piece, that nothing else fills before op? */
static int is_free(const zp_cuda_gradients *g, const zp_op *op)
{
  const zp_config *cfg = plan_of(g)->cfg;
  const int32_t i = op->param - plan_of(g)->lay.first_param;
  const int32_t dtype = zp_cuda_gradient_dtype(plan_of(g), op->flat);
  if (cfg->reduce == ZP_EXACT) return 0; /* limbs, or contributions that are checked (STAT-3) */
  if (cfg->stage < 2) return dtype == ZP_F32;
  if (zp_cuda_slot_dtype(g->ops->r, op->flat) != dtype) return 0;
  return op->count == zp_cuda_flat_size(plan_of(g), i) && !is_slot_taken(g, op);
}

int zp_cuda_gradients_buffer(zp_cuda_gradients *g, int32_t param, int64_t mb, cudaStream_t stream,
                             void **buffer)
{
  zp_cuda_entry *s;
  const zp_op *op;
  ZP_TRY(find_awaited(g, param, mb, &s));
  op = first_add(g, param);
  if (!op || !is_free(g, op)) return 0;
  s->lent = *buffer =
      bucket_memory(g, op, zp_add_range(&plan_of(g)->block.cfg, &plan_of(g)->lay, op).at);
  for (int64_t left = zp_cuda_flat_size(plan_of(g), (int32_t)(s - g->entry)); left > 0; op++) {
    if (op->kind != ZP_OP_ADD || op->param != param) continue;
    left -= op->count;
    if (own_of(g, op) > 0) ZP_TRY(wait_for_bucket(g, op, stream));
  }
  return 0;
}

/* ---- Micro-batches --------------------------------------------------------------------------- */

void zp_cuda_gradients_begin_step(zp_cuda_gradients *g)
{
  g->n_users = 0;
  g->forward = g->backward = -1;
  for (int32_t i = 0; i < plan_of(g)->lay.n_params; i++)
    g->entry[i].is_added = g->entry[i].is_staged = g->entry[i].is_unstaged = 0;
}

void zp_cuda_gradients_forward(zp_cuda_gradients *g, int64_t mb)
{
  g->forward = mb;
  memset(unused(g, mb, 0), 0, (size_t)plan_of(g)->lay.n_params);
}

void zp_cuda_gradients_begin(zp_cuda_gradients *g, int64_t mb)
{
  for (int32_t i = 0; i < plan_of(g)->lay.n_params; i++) {
    g->entry[i].arrival = ZP_CUDA_AWAITED;
    g->entry[i].lent = NULL;
    if (*unused(g, mb, i)) take(g, i, ZP_CUDA_UNUSED, NULL, g->ops->r->reduce);
  }
  g->mb = g->backward = mb;
}

int32_t zp_cuda_gradients_missing(const zp_cuda_gradients *g, int32_t *first)
{
  const zp_layout *lay = &plan_of(g)->lay;
  int32_t missing = 0;
  for (int32_t i = lay->n_params - 1; i >= 0; i--) {
    if (lay->spot[i].flat < 0 || g->entry[i].arrival != ZP_CUDA_AWAITED) continue;
    missing++;
    *first = lay->first_param + i;
  }
  return missing;
}

/* With all entries announced, nothing stops issue_announced before the end of the micro-batch. */
int zp_cuda_gradients_arrived(zp_cuda_gradients *g, const zp_op *op)
{
  const int32_t all = zp_cuda_gradients_trained(g);
  int32_t first = -1;
  const int32_t missing = zp_cuda_gradients_missing(g, &first);
  g->mb = -1;
  if (missing == 0) return issue_announced(g);
  return zp_cuda_fail(
      g->ops->r, ZP_E_ARRIVAL,
      "%d of %d gradients were announced in micro-batch %lld; the first one missing "
      "is entry %d (STEP-3). Announce entries that the loss does not reach as unused. "
      "Masters and scaler are unchanged",
      all - missing, all, (long long)op->mb, first);
}

int zp_cuda_gradients_invariant(const zp_cuda_gradients *g, zp_error *err)
{
  const zp_cuda_plan *p = plan_of(g);
  ZP_INVARIANT(err, -1, g->entry);
  ZP_INVARIANT(err, -1, g->mb >= -1 && g->mb < p->cfg->micro_batches);
  ZP_INVARIANT(err, -1, g->backward >= g->mb && g->backward <= g->forward);
  ZP_INVARIANT(err, -1, g->forward < p->cfg->micro_batches);
  ZP_INVARIANT(err, -1, g->mb < 0 || next_of(g) >= 2); /* after BACKWARD and ARRIVED */
  return 0;
}
