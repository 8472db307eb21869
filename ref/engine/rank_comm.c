/* Communication ops of the interpreter: which buffers a request names, and what is done with what
 * came. spec: RED-3 … RED-5, RED-8, RED-9, TIE-1, STEP-8, PIPE-6, LEDG-1 */
#include <string.h>

#include "../base/invariant.h"
#include "../num/agree.h"
#include "../num/ordered.h"
#include "../num/packed.h"
#include "../num/value.h"
#include "log.h"
#include "partial.h"
#include "rank_internal.h"

/* Partial sum number `at` of an array of them. */
static void *sum_at(const zp_rank *r, void *sums, int64_t at)
{
  return (char *)sums + at * zp_sum_bytes(r->cfg->reduce);
}

/* into += from, n partial sums. RED-4, RED-5 */
static void add_sums(const zp_rank *r, void *into, void *from, int64_t n)
{
  if (r->cfg->reduce == ZP_ORDERED) {
    zp_ordered_add_f32(into, from, n);
    return;
  }
  /* canonical limbs keep 2^20 micro-batches of 2^20 members from overflowing an int64 (SUM-6) */
  zp_val_normalise(from, n);
  int64_t *a = into;
  const int64_t *b = from;
  for (int64_t i = 0; i < n * ZP_LIMBS; i++) a[i] += b[i];
}

/* Sums leave a rank canonical, so that 2^20 members cannot overflow an int64. SUM-6 */
static void settle(const zp_rank *r, void *sums, int64_t n)
{
  if (r->cfg->reduce == ZP_EXACT) zp_val_normalise(sums, n);
}

/* ---- Packed sums. SUM-8, SUM-9 --------------------------------------------------------------- */

static int is_packed(const zp_rank *r)
{
  return zp_is_packed(r->cfg->stage, r->cfg->reduce);
}

/* Elements from … from + n - 1 as limbs, which can travel. */
static void unpack_sums(zp_packed p, int64_t from, int64_t n, int64_t *limbs)
{
  for (int64_t i = 0; i < n; i++) zp_packed_get(p, from + i, limbs + i * ZP_LIMBS);
}

/* And back, with the carries. */
static void pack_sums(zp_packed p, int64_t from, int64_t n, int64_t *limbs)
{
  zp_val_normalise(limbs, n);
  for (int64_t i = 0; i < n; i++) {
    const int64_t *limb = limbs + i * ZP_LIMBS;
    if (p.top == NULL) zp_val_pack_f16(limb, p.low, p.n, from + i);
    else zp_val_pack(limb, p.low, p.top, p.n, from + i);
  }
}

/* Adds limbs, carried or not, to element i. SUM-6 */
static void add_to_one(zp_packed p, int64_t i, const int64_t *limb)
{
  int64_t sum[ZP_LIMBS];
  unpack_sums(p, i, 1, sum);
  zp_limbs_merge(sum, limb, ZP_LIMBS);
  pack_sums(p, i, 1, sum);
}

/* Adds limbs of all elements. */
static void add_to_packed(zp_packed p, const int64_t *limbs)
{
  for (int64_t i = 0; i < p.n; i++) add_to_one(p, i, limbs + i * ZP_LIMBS);
}

static void add_packed(zp_packed into, zp_packed from)
{
  for (int64_t i = 0; i < into.n; i++) {
    int64_t limb[ZP_LIMBS];
    unpack_sums(from, i, 1, limb);
    add_to_one(into, i, limb);
  }
}

/* What is sent of the bucket's packed sums; the result takes its place. */
static void request_packed(zp_rank *r, const zp_op *op)
{
  const zp_packed p = zp_packed_of(r, op->flat, op->bucket);
  unpack_sums(p, 0, p.n, r->scratch_recv);
  r->request.send = r->scratch_recv;
  r->request.recv = r->scratch_recv;
}

/* ---- Requests -------------------------------------------------------------------------------- */

static void request_gradient(zp_rank *r, const zp_op *op)
{
  const zp_flat *f = &r->lay.flat[op->flat];
  zp_flat_state *s = &r->flat[op->flat];
  const zp_range p = zp_whole_range(f, op->bucket);
  const int64_t size = zp_dtype_bytes(zp_gradients_of(r, op->flat));
  if (r->cfg->stage == 2) {
    char *slot = r->slot[op->slot];
    /* padding is zero (PART-7) */
    memset(slot + p.real * size, 0, (size_t)((p.count - p.real) * size));
    r->request.send = slot;
    r->request.recv = r->scratch_recv;
    return;
  }
  void *window = sum_at(r, s->window, p.at);
  settle(r, window, p.count);
  r->request.send = window;
  r->request.recv = r->scratch_recv;
}

/* Further uses of the key on this stage are added to the holder's sum first. TIE-2 */
static void request_tied(zp_rank *r, const zp_op *op)
{
  const int64_t n = zp_rank_range(r, op->flat, op->bucket).count;
  void *sum = zp_sums_of(r, op->flat, op->bucket);
  for (int32_t k = 0; k < r->lay.n_flats; k++) {
    if (k == op->flat || r->lay.flat[k].tied != op->key) continue;
    if (is_packed(r))
      add_packed(zp_packed_of(r, op->flat, op->bucket), zp_packed_of(r, k, op->bucket));
    else add_sums(r, sum, zp_sums_of(r, k, op->bucket), n);
  }
  if (is_packed(r)) {
    request_packed(r, op);
    return;
  }
  settle(r, sum, n);
  r->request.send = sum;
  r->request.recv = r->scratch_recv;
}

/* Copies the sums of partial entries of op's bucket, and of the padding after them, to the packed
 * array at `packed`, or back; returns how many. RED-8 */
static int64_t copy_partial(zp_rank *r, const zp_op *op, char *packed, int back)
{
  const int64_t size = zp_sum_bytes(r->cfg->reduce);
  char *sums = zp_sums_of(r, op->flat, op->bucket);
  const zp_range p = zp_rank_range(r, op->flat, op->bucket);
  int64_t n = 0;
  zp_piece g = zp_piece_next(&r->block.cfg, &r->lay, op->flat, p, r->lay.n_params);
  for (; g.count > 0; g = zp_piece_next(&r->block.cfg, &r->lay, op->flat, p, g.i)) {
    char *sum = sums + g.in * size, *at = packed + n * size;
    if (!zp_is_partial(r->cfg, g.param)) continue;
    n += g.count;
    if (is_packed(r)) {
      const zp_packed of = zp_packed_of(r, op->flat, op->bucket);
      (back ? pack_sums : unpack_sums)(of, g.in, g.count, (int64_t *)(void *)at);
      continue;
    }
    memcpy(back ? sum : at, back ? at : sum, (size_t)(g.count * size));
  }
  return n;
}

static void request_partial(zp_rank *r, const zp_op *op)
{
  settle(r, r->partial, copy_partial(r, op, r->partial, 0));
  r->request.send = r->partial;
  r->request.recv = r->scratch_recv;
}

static void request_replica(zp_rank *r, const zp_op *op)
{
  void *sum = zp_sums_of(r, op->flat, op->bucket);
  if (is_packed(r)) {
    request_packed(r, op);
    return;
  }
  settle(r, sum, zp_rank_range(r, op->flat, op->bucket).count);
  r->request.send = sum;
  r->request.recv = r->scratch_recv;
}

static void request_statistics(zp_rank *r)
{
  zp_statistics_vector(&r->stats, zp_rank_digest(r), r->rank, r->stats_out);
  r->request.send = r->stats_out;
  r->request.recv = r->stats_in;
}

/* What is received: an activation (previous stage) or the gradient of one (next stage). PIPE-6 */
static int request_p2p(zp_rank *r, const zp_op *op)
{
  static const zp_message none;
  const int next = op->what == ZP_WHAT_ACTIVATION;
  zp_message *in = NULL;
  zp_buffer *mem = r->grad_in_mem;
  r->request.out_msg = op->mb < 0 ? &none : next ? &r->act_out : &r->grad_out;
  if (op->recv_mb >= 0 && next) {
    in = &r->grad_in;
    zp_rank_describe_gradient(r, r->at.pp, op->recv_mb, in);
  } else if (op->recv_mb >= 0) {
    const int32_t place = zp_act_place(r->act_slots, op->recv_mb);
    in = &r->act_in[place];
    mem = &r->act_in_mem[place * ZP_MSG_TENSORS];
    /* with dynamic shapes the description came in the meta message */
    if (!r->cfg->dynamic_shapes) zp_rank_describe(r, r->at.pp - 1, op->recv_mb, in);
  }
  r->request.in_msg = in;
  return in ? zp_rank_attach(r, in, mem) : 0;
}

static void request_meta(zp_rank *r, const zp_op *op)
{
  r->request.out_meta = NULL;
  r->request.in_meta = NULL;
  if (op->mb >= 0) {
    zp_meta_encode(&r->act_out, r->meta_out);
    r->request.out_meta = r->meta_out;
  }
  if (op->recv_mb >= 0) r->request.in_meta = r->meta_in;
}

static int request_all_reduce(zp_rank *r, const zp_op *op)
{
  if (op->what == ZP_WHAT_GRADIENT) request_gradient(r, op);
  else if (op->what == ZP_WHAT_TIED) request_tied(r, op);
  else if (op->what == ZP_WHAT_PARTIAL) request_partial(r, op);
  else if (op->what == ZP_WHAT_REPLICA) request_replica(r, op);
  else if (op->what == ZP_WHAT_STATISTICS) request_statistics(r);
  else {
    r->store_status_out[0] = r->store_error.status != ZP_OK;
    r->request.send = r->store_status_out;
    r->request.recv = r->store_status_in;
  }
  return 0;
}

int zp_rank_request(zp_rank *r, const zp_op *op)
{
  zp_request *q = &r->request;
  memset(q, 0, sizeof *q);
  q->op = op;
  q->phase = r->cursor.phase;
  q->pc = zp_cursor_position(&r->cursor);
  q->step = r->step;
  switch (op->kind) {
  case ZP_OP_P2P: return request_p2p(r, op);
  case ZP_OP_META: request_meta(r, op); return 0;
  case ZP_OP_REDUCE_SCATTER: request_gradient(r, op); return 0;
  case ZP_OP_ALL_REDUCE: return request_all_reduce(r, op);
  case ZP_OP_ALL_GATHER:
    q->send = r->scratch_send;
    q->recv = r->scratch_recv;
    return 0;
  case ZP_OP_BROADCAST: q->send = q->recv = r->param[op->param - r->lay.first_param]; return 0;
  case ZP_OP_GATHER:
    q->send = zp_held_of(r, op->flat, op->bucket, op->what);
    q->recv = r->scratch_recv;
    return 0;
  default: return 0; /* CREATE */
  }
}

/* The window's sums become what came of them; stage 2 adds each micro-batch's reduction to the
 * shard, and the first one starts it. RED-4 */
static void finish_gradient(zp_rank *r, const zp_op *op)
{
  const int64_t n = zp_rank_range(r, op->flat, op->bucket).count;
  void *sum = zp_sums_of(r, op->flat, op->bucket);
  if (is_packed(r) && op->mb == 0)
    pack_sums(zp_packed_of(r, op->flat, op->bucket), 0, n, r->scratch_recv);
  else if (is_packed(r)) add_to_packed(zp_packed_of(r, op->flat, op->bucket), r->scratch_recv);
  else if (r->cfg->stage < 2 || op->mb == 0)
    memcpy(sum, r->scratch_recv, (size_t)(n * zp_sum_bytes(r->cfg->reduce)));
  else add_sums(r, sum, r->scratch_recv, n);
}

/* Sums that were added up beyond the data-parallel group. */
static void finish_sums(zp_rank *r, const zp_op *op)
{
  const int64_t n = zp_rank_range(r, op->flat, op->bucket).count;
  if (is_packed(r)) pack_sums(zp_packed_of(r, op->flat, op->bucket), 0, n, r->scratch_recv);
  else
    memcpy(zp_sums_of(r, op->flat, op->bucket), r->scratch_recv,
           (size_t)(n * zp_sum_bytes(r->cfg->reduce)));
}

/* The gathered bucket goes back into the parameters. STEP-8 */
static void finish_gather(zp_rank *r, const zp_op *op)
{
  const zp_flat *f = &r->lay.flat[op->flat];
  const zp_range p = zp_whole_range(f, op->bucket);
  const int64_t size = zp_dtype_bytes(zp_dtype_of(f->fp32, r->cfg->precision));
  int32_t i = r->lay.n_params;
  zp_piece g;
  while (zp_next_piece(r, op->flat, p, &i, &g))
    memcpy((char *)r->param[g.i] + g.offset * size, (char *)r->scratch_recv + g.in * size,
           (size_t)(g.count * size));
}

/* Are all tensors integers or of the precision? PIPE-6 */
static int carries(const zp_message *m, int32_t precision)
{
  for (int32_t i = 0; i < m->n; i++)
    if (m->t[i].dtype != precision && m->t[i].dtype != ZP_I32 && m->t[i].dtype != ZP_I64) return 0;
  return 1;
}

static int finish_meta(zp_rank *r, const zp_op *op)
{
  zp_message *in;
  if (op->recv_mb < 0) return 0;
  in = &r->act_in[zp_act_place(r->act_slots, op->recv_mb)];
  if (zp_meta_decode(r->meta_in, in) == 0 && carries(in, r->cfg->precision)) return 0;
  return zp_fail(r->err, ZP_E_MISMATCH, r->rank,
                 "rank %d: the meta message of micro-batch %lld describes no activation in the "
                 "configured precision (PIPE-6)",
                 r->rank, (long long)op->recv_mb);
}

/* All ranks know: nothing is out of step, and the rest of the program is left out. CKPT-6 */
static int leave_save(zp_rank *r)
{
  static const char left[] = "the training state and the previous checkpoint are unchanged";
  if (r->store_error.status != ZP_OK)
    zp_fail(r->unsaved, r->store_error.status, r->rank, "rank %d: %s; %s", r->rank,
            r->store_error.text, left);
  else
    zp_fail(r->unsaved, ZP_E_PEER, -1, "rank %d: the checkpoint failed on %lld other rank(s); %s",
            r->rank, (long long)r->store_status_in[0], left);
  ZP_INVARIANT(r->err, r->rank, zp_cursor_leave(&r->cursor) == 0);
  return 0;
}

static int finish_status(zp_rank *r)
{
  if (r->store_status_in[0] == 0) return 0;
  if (r->unsaved && r->cursor.phase == ZP_PHASE_SAVE) return leave_save(r);
  r->agreed = 1;
  if (r->store_error.status != ZP_OK)
    return zp_fail(r->err, r->store_error.status, r->rank, "%s", r->store_error.text);
  return zp_fail(r->err, ZP_E_PEER, -1, "rank %d: the checkpoint failed on %lld other rank(s); %s",
                 r->rank, (long long)r->store_status_in[0],
                 r->cursor.phase == ZP_PHASE_LOAD
                     ? "what was being loaded is incomplete, so the run must end"
                     : "the training state and the previous checkpoint are unchanged");
}

static int64_t message_bytes(const zp_message *m)
{
  int64_t bytes = 0;
  for (int32_t i = 0; i < m->n; i++) bytes += zp_tensor_bytes(&m->t[i]);
  return bytes;
}

static int64_t sent_bytes(const zp_rank *r, const zp_op *op)
{
  if (op->kind == ZP_OP_P2P) return message_bytes(r->request.out_msg);
  return zp_sent_bytes(op, zp_block_group_size(&r->block, op->group, op->key),
                       zp_block_group_index(&r->block, op->group, op->key));
}

static void record(zp_rank *r, const zp_op *op)
{
  const int64_t bytes = sent_bytes(r, op);
  zp_ledger_record(&r->ledger[op->group], op, bytes);
  if (op->group == ZP_GROUP_TIED) zp_ledger_record(&r->tied_ledger[op->key], op, bytes);
  const zp_log log = {"ref", r->rank, r->log_topics};
  if (zp_log_has(&log, ZP_LOG_COMM))
    zp_log_op(&log, ZP_LOG_COMM, r->cursor.phase, r->step, zp_cursor_position(&r->cursor), op);
}

int zp_rank_finish(zp_rank *r, const zp_op *op)
{
  record(r, op);
  if (op->kind == ZP_OP_ALL_REDUCE && op->what == ZP_WHAT_STATUS) return finish_status(r);
  if (op->kind == ZP_OP_META) return finish_meta(r, op);
  if (op->kind == ZP_OP_ALL_GATHER) finish_gather(r, op);
  if (op->what == ZP_WHAT_GRADIENT) finish_gradient(r, op);
  if (op->what == ZP_WHAT_PARTIAL) (void)copy_partial(r, op, r->scratch_recv, 1);
  if (op->what == ZP_WHAT_TIED || op->what == ZP_WHAT_REPLICA) finish_sums(r, op);
  return 0;
}
