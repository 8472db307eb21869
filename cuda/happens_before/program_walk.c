/* Walks each rank's programs once, in the order in which a host would issue them, and adds each
 * piece of work with the operands that it accesses. Events and records of runs are not used. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../ref/engine/bucket_slots.h"
#include "../../ref/engine/memory.h"
#include "../../ref/engine/window.h"
#include "program_walk.h"

/* ---- The pipeline ---------------------------------------------------------------------------- */

static int is_first(const zp_hb_walk *b)
{
  return b->at.pp == 0;
}

static int is_last(const zp_hb_walk *b)
{
  return b->at.pp == b->p->cfg->pp - 1;
}

/* Forward and backward read all parameters of the stage and the step's state. */
static void access_model(zp_hb_walk *b, int32_t v)
{
  zp_hb_access(b, v, ZP_ON_PARAMS, ZP_READS, 0, b->param_at[b->lay.n_params]);
  zp_hb_access(b, v, ZP_ON_STATE, ZP_READS, 0, 1);
}

/* Forward writes what it sends; the engine calls it once it may. */
static void access_forward(zp_hb_walk *b, const zp_op *op, int32_t v)
{
  zp_hb_access(b, v, ZP_ON_STATE, ZP_READS, 0, 1);
  if (!is_first(b)) zp_hb_access(b, v, ZP_ON_ACT_IN, ZP_READS, op->slot, op->slot + 1);
  if (is_last(b)) zp_hb_access(b, v, ZP_ON_LOSS, ZP_WRITES, op->mb, op->mb + 1);
  else zp_hb_access(b, v, ZP_ON_ACT_OUT, ZP_WRITES, 0, 1);
}

/* The state; then trained entries, in the order of the list. */
static void read_entries(zp_hb_walk *b, const zp_op *op)
{
  const zp_config *cfg = b->p->cfg;
  access_forward(b, op, zp_hb_add_work(b, ZP_HB_COMPUTE, ZP_HB_STATE, op->mb, 0, 0));
  for (int32_t i = 0; i < b->lay.n_params; i++) {
    const int32_t param = b->lay.first_param + i, storage = zp_storage_of(cfg, &b->lay, i);
    const zp_param *own = b->c->own ? b->c->own : cfg->params;
    if (b->lay.spot[i].flat < 0 || own[param].numel == 0) continue;
    const int32_t v = zp_hb_add_work(b, ZP_HB_COMPUTE, ZP_HB_READ, op->mb, param, 0);
    zp_hb_access(b, v, ZP_ON_PARAMS, ZP_READS, b->param_at[storage], b->param_at[storage + 1]);
  }
}

static void forward(zp_hb_walk *b, int64_t pc)
{
  const zp_op *op = &b->op[pc];
  if (b->c->partial && op->mb == 0) read_entries(b, op);
  const int32_t v = zp_hb_add_work(b, ZP_HB_COMPUTE, ZP_HB_OP, pc, -1, 0);
  zp_hb_access(b, v, ZP_ON_PARAMS, ZP_READS, 0, b->param_at[b->lay.n_params]);
  access_forward(b, op, v);
}

/* Backward reads the activation that forward received, too (PIPE-4). */
static void access_backward(zp_hb_walk *b, const zp_op *op, int32_t v)
{
  access_model(b, v);
  if (!is_first(b)) {
    zp_hb_access(b, v, ZP_ON_ACT_IN, ZP_READS, op->slot, op->slot + 1);
    zp_hb_access(b, v, ZP_ON_GRAD_OUT, ZP_WRITES, 0, 1);
  }
  if (!is_last(b)) zp_hb_access(b, v, ZP_ON_GRAD_IN, ZP_READS, 0, 1);
}

/* The caller's gradients of a micro-batch. */
static void access_raw(zp_hb_walk *b, int64_t mb, int32_t v, zp_mode mode)
{
  const int64_t set = mb % b->c->sets;
  zp_hb_access(b, v, ZP_ON_RAW, mode, set, set + 1);
}

static void rest(zp_hb_walk *b, const zp_op *op)
{
  access_backward(b, op, zp_hb_add_work(b, ZP_HB_COMPUTE, ZP_HB_REST, op->mb, 0, 0));
}

static void backward(zp_hb_walk *b, int64_t pc)
{
  const zp_op *op = &b->op[pc];
  const int32_t v = zp_hb_add_work(b, ZP_HB_COMPUTE, ZP_HB_OP, pc, -1, 0);
  access_backward(b, op, v);
  access_raw(b, op->mb, v, ZP_WRITES);
  if (b->c->rest && !b->c->gradual) rest(b, op);
}

static void exchange(zp_hb_walk *b, int64_t pc)
{
  const zp_op *op = &b->op[pc];
  const int next = op->what == ZP_WHAT_ACTIVATION;
  const int32_t v = zp_hb_add_comm(b, ZP_HB_P2P, pc, 1);
  if (op->mb >= 0) zp_hb_access(b, v, next ? ZP_ON_ACT_OUT : ZP_ON_GRAD_OUT, ZP_READS, 0, 1);
  if (op->recv_mb < 0) return;
  if (next) zp_hb_access(b, v, ZP_ON_GRAD_IN, ZP_WRITES, 0, 1);
  else {
    const int64_t slot = zp_act_place(b->act_slots, op->recv_mb);
    zp_hb_access(b, v, ZP_ON_ACT_IN, ZP_WRITES, slot, slot + 1);
  }
}

/* The host waits for the shapes before it issues the receive. */
static void meta(zp_hb_walk *b, int64_t pc)
{
  if (b->op[pc].mb >= 0) {
    zp_hb_add_work(b, ZP_HB_P2P, ZP_HB_OP, pc, -1, 0);
    zp_hb_add_comm(b, ZP_HB_P2P, pc, 1);
    return;
  }
  zp_hb_add_comm(b, ZP_HB_P2P, pc, 1);
  b->barrier = zp_hb_add_work(b, ZP_HB_P2P, ZP_HB_OP, pc, -1, 2);
}

/* ---- Gradients ------------------------------------------------------------------------------- */

static int32_t bucket_operand(const zp_hb_walk *b, const zp_op *op)
{
  if (b->p->cfg->stage == 2) return ZP_ON_FLAT + ZP_ON_EACH * op->slot + ZP_ON_SLOT;
  return ZP_ON_FLAT + ZP_ON_EACH * op->flat + ZP_ON_SUMS;
}

/* Of an ADD's elements, those that a gradient has; the others are padding. */
static int64_t own_of(const zp_hb_walk *b, const zp_op *op, zp_range r)
{
  const zp_param *params = b->c->own ? b->c->own : b->p->cfg->params;
  const int64_t left = params[op->param].numel - op->offset;
  return left < 0 ? 0 : left < r.count ? left : r.count;
}

/* Where an ADD ends. The last entry of a slot's bucket writes the padding, too. */
static int64_t end_of(const zp_hb_walk *b, const zp_op *op, zp_range r)
{
  const zp_range whole = zp_whole_range(&b->lay.flat[op->flat], op->bucket);
  const int64_t to = r.at + r.count;
  return b->p->cfg->stage == 2 && to == whole.real ? whole.count : to;
}

static void access_ring(zp_hb_walk *b, int32_t i, int32_t v, zp_mode mode)
{
  const zp_early_range *p = &b->early.range[i];
  zp_hb_access(b, v, ZP_ON_STAGING, mode, p->at, p->at + p->bytes);
}

/* The reduction stream writes the zeros of an unused entry. */
static void add(zp_hb_walk *b, int64_t pc)
{
  const zp_op *op = &b->op[pc];
  const int32_t i = op->param - b->lay.first_param, s = b->stream[i];
  const zp_range r = zp_add_range(b->p->cfg, &b->lay, op);
  const int32_t on = s < 0 ? ZP_HB_REDUCE : b->c->gradual ? ZP_HB_COMPUTE : b->p->producer + s;
  const int64_t to = end_of(b, op, r);
  int64_t from = r.at;
  int32_t v;
  if (b->in_place[i]) from += own_of(b, op, r);
  if (from == to) return; /* the caller has written all of it */
  v = zp_hb_add_work(b, on, ZP_HB_OP, pc, op->param, 0);
  zp_hb_access(b, v, bucket_operand(b, op), ZP_WRITES, from, to);
  if (s < 0 || b->in_place[i]) return;
  if (b->p->cfg->reduce == ZP_EXACT) zp_hb_access(b, v, ZP_ON_TALLY, ZP_FLAGS, 0, 1);
  if (b->staged[i]) access_ring(b, i, v, ZP_READS);
  else zp_hb_access(b, v, ZP_ON_BUFFER, ZP_READS, s, s + 1);
}

/* The sums of what the rank holds of op's bucket: at stages 0 and 1 they lie in the window. */
static void access_sums(zp_hb_walk *b, const zp_op *op, int32_t flat, int32_t v, zp_mode mode)
{
  const zp_range r = zp_local_range(&b->block.cfg, &b->lay, b->block.at, flat, op->bucket);
  const int64_t from = b->p->cfg->stage == 2 ? r.at : r.flat;
  if (b->p->cfg->stage == 2 && !b->c->offload) return; /* only the reduction stream uses them */
  zp_hb_access(b, v, ZP_ON_FLAT + ZP_ON_EACH * flat + ZP_ON_SUMS, mode, from, from + r.count);
}

/* What the host's update of op's bucket reads: with `exact` its means, which take the place of
 * packed sums, else its sums. */
static void access_gradient(zp_hb_walk *b, const zp_op *op, int32_t v, zp_mode mode)
{
  const zp_range r = zp_local_range(&b->block.cfg, &b->lay, b->block.at, op->flat, op->bucket);
  if (b->p->cfg->reduce != ZP_EXACT || zp_is_packed(b->p->cfg->stage, b->p->cfg->reduce))
    access_sums(b, op, op->flat, v, mode);
  else
    zp_hb_access(b, v, ZP_ON_FLAT + ZP_ON_EACH * op->flat + ZP_ON_MEANS, mode, r.at,
                 r.at + r.count);
}

/* The bucket's mean follows its last sum. With offload a copy to the host follows what wrote the
 * gradients: with `exact` the mean, else the last sum, beside which the mean runs. */
static void end_sum(zp_hb_walk *b, int64_t pc)
{
  if (!b->is_last[pc]) return;
  const int64_t mean = b->mean[b->op[pc].flat] + b->op[pc].bucket;
  const zp_op *op = &b->op[mean];
  const int32_t v = zp_hb_add_work(b, ZP_HB_REDUCE, ZP_HB_OP, mean, -1, 0);
  access_sums(b, op, op->flat, v, ZP_READS);
  if (!b->c->offload) return;
  if (b->p->cfg->reduce == ZP_EXACT) access_gradient(b, op, v, ZP_WRITES);
  access_gradient(b, op, zp_hb_add_work(b, ZP_HB_COPIES, ZP_HB_OP, mean, -1, ZP_HB_TRANSFER),
                  ZP_READS);
}

/* The parts of a reduction: the other members' parts are sent, and the own part is added to what
 * arrives. Both read all of the slot, because the slot is refilled only after the reduction,
 * however little of it the reduction reads. */
static void reduce_parts(zp_hb_walk *b, int64_t pc, int32_t on, int64_t from, int64_t to)
{
  const zp_op *op = &b->op[pc];
  const int alone = zp_block_group_size(&b->block, op->group, op->key) == 1;
  int32_t v;
  if (!alone) zp_hb_access(b, zp_hb_add_comm(b, ZP_HB_REDUCE, pc, 1), on, ZP_READS, from, to);
  v = zp_hb_add_work(b, ZP_HB_REDUCE, ZP_HB_OP, pc, -1, alone ? 0 : 2);
  zp_hb_access(b, v, on, ZP_READS, from, to);
  access_sums(b, op, op->flat, v, ZP_WRITES);
  if (op->kind == ZP_OP_ALL_REDUCE && !alone)
    access_sums(b, op, op->flat, zp_hb_add_comm(b, ZP_HB_REDUCE, pc, 3), ZP_WRITES);
}

/* Limbs are normalized in place before they are sent. */
static void reduce_limbs(zp_hb_walk *b, int64_t pc, int32_t on, int64_t from, int64_t to)
{
  int32_t v;
  zp_hb_access(b, zp_hb_add_work(b, ZP_HB_REDUCE, ZP_HB_OP, pc, -1, 0), on, ZP_WRITES, from, to);
  v = zp_hb_add_comm(b, ZP_HB_REDUCE, pc, 1);
  zp_hb_access(b, v, on, ZP_READS, from, to);
  access_sums(b, &b->op[pc], b->op[pc].flat, v, ZP_WRITES);
}

/* NCCL adds; later micro-batches are added to the sum. */
static void reduce_natively(zp_hb_walk *b, int64_t pc, int32_t on, int64_t from, int64_t to)
{
  int32_t v = zp_hb_add_comm(b, ZP_HB_REDUCE, pc, 1);
  zp_hb_access(b, v, on, ZP_READS, from, to);
  if (b->p->cfg->stage == 2 && b->op[pc].mb > 0)
    v = zp_hb_add_work(b, ZP_HB_REDUCE, ZP_HB_OP, pc, -1, 2);
  access_sums(b, &b->op[pc], b->op[pc].flat, v, ZP_WRITES);
}

static void reduce(zp_hb_walk *b, int64_t pc)
{
  const zp_op *op = &b->op[pc];
  const zp_config *cfg = b->p->cfg;
  const int32_t on = bucket_operand(b, op);
  const zp_range whole = zp_whole_range(&b->lay.flat[op->flat], op->bucket);
  const int64_t wide = cfg->stage == 2 ? zp_slot_elements(&b->lay) : whole.count;
  const int64_t from = cfg->stage == 2 ? 0 : whole.at, to = from + wide;
  if (b->c->native) reduce_natively(b, pc, on, from, to);
  else if (cfg->stage < 2 && cfg->reduce == ZP_EXACT) reduce_limbs(b, pc, on, from, to);
  else reduce_parts(b, pc, on, from, to);
  end_sum(b, pc);
}

/* Adds the program's ADDs and reductions up to the first entry that is not announced. */
static void advance(zp_hb_walk *b)
{
  for (; b->next < b->length; b->next++) {
    const zp_op *op = &b->op[b->next];
    if (op->kind == ZP_OP_ADD) {
      if (!b->arrived[op->param - b->lay.first_param]) return;
      add(b, b->next);
    } else if (op->what == ZP_WHAT_GRADIENT) reduce(b, b->next);
    else return;
  }
}

/* The caller writes its gradient into the bucket. Work that follows waits for the padding after it,
 * too: one event of the engine covers both. */
static void access_bucket(zp_hb_walk *b, int32_t param, int32_t v)
{
  for (int64_t at = b->next; at < b->length; at++) {
    const zp_op *op = &b->op[at];
    if (op->kind != ZP_OP_ADD && op->what != ZP_WHAT_GRADIENT) return;
    if (op->kind != ZP_OP_ADD || op->param != param) continue;
    const zp_range r = zp_add_range(b->p->cfg, &b->lay, op);
    if (own_of(b, op, r) > 0)
      zp_hb_access(b, v, bucket_operand(b, op), ZP_WRITES, r.at, end_of(b, op, r));
  }
}

/* An entry that is announced before its turn is staged, on its own stream. */
static int add_announcement(zp_hb_walk *b, const zp_hb_announcement *a)
{
  const int32_t i = a->param - b->lay.first_param, gradual = b->c->gradual;
  const int32_t s = gradual ? ZP_HB_COMPUTE : b->p->producer + a->stream;
  int32_t v;
  if (i < 0 || i >= b->lay.n_params || b->arrived[i] || s >= b->p->streams) return -1;
  const int some = b->p->cfg->params[a->param].numel > 0;
  if (a->stream >= 0 && some) {
    v = zp_hb_add_work(b, s, gradual ? ZP_HB_PIECE : ZP_HB_COPY, a->mb, a->param, 0);
    access_raw(b, a->mb, v, ZP_READS);
    if (a->in_place) access_bucket(b, a->param, v);
    else zp_hb_access(b, v, ZP_ON_BUFFER, ZP_WRITES, a->stream, a->stream + 1);
  }
  b->arrived[i] = 1;
  b->stream[i] = a->stream;
  b->staged[i] = 0;
  b->in_place[i] = (uint8_t)a->in_place;
  advance(b);
  if (a->stream < 0 || !some || a->in_place) return 0;
  if (b->next < b->length && b->op[b->next].kind == ZP_OP_ADD) {
    for (int64_t k = b->next; k < b->length && b->op[k].clock_t == b->op[b->next].clock_t; k++)
      b->staged[i] |= b->op[k].kind == ZP_OP_ADD && b->op[k].param == a->param;
  }
  if (b->staged[i]) {
    v = zp_hb_add_work(b, s, ZP_HB_STAGE, a->mb, a->param, 0);
    zp_hb_access(b, v, ZP_ON_BUFFER, ZP_READS, a->stream, a->stream + 1);
    access_ring(b, i, v, ZP_WRITES);
  }
  if (gradual) return 0; /* the next piece overwrites it */
  v = zp_hb_add_work(b, s, ZP_HB_REUSE, a->mb, a->param, 0);
  zp_hb_access(b, v, ZP_ON_BUFFER, ZP_WRITES, a->stream, a->stream + 1);
  return 0;
}

/* Without a log, each gradient is announced in the order of the program. */
static int announce_all(zp_hb_walk *b, int64_t mb)
{
  while (b->next < b->length && b->op[b->next].kind == ZP_OP_ADD) {
    const zp_hb_announcement a = {.step = b->step, .param = b->op[b->next].param, .mb = mb};
    if (add_announcement(b, &a)) return -1;
  }
  return 0;
}

static int announce_log(zp_hb_walk *b, int64_t mb)
{
  const zp_hb_log *l = &b->c->log[b->rank];
  for (; b->arrival < l->n; b->arrival++) {
    const zp_hb_announcement *a = &l->at[b->arrival];
    if (a->step != b->step || a->mb != mb) break;
    if (add_announcement(b, a)) return -1;
  }
  return 0;
}

static int gradients(zp_hb_walk *b, int64_t pc)
{
  const zp_op *op = &b->op[pc];
  memset(b->arrived, 0, (size_t)b->lay.n_params);
  b->next = pc + 2; /* after ARRIVED */
  if (b->c->log ? announce_log(b, op->mb) : announce_all(b, op->mb)) return -1;
  advance(b);
  if (b->c->gradual) rest(b, op);
  return 0;
}

/* ---- The end of the step --------------------------------------------------------------------- */

/* Packed sums are limbs where NCCL adds them, and are packed again afterwards. SUM-8 */
static void pack_again(zp_hb_walk *b, int64_t pc)
{
  if (zp_is_packed(b->p->cfg->stage, b->p->cfg->reduce))
    zp_hb_add_work(b, ZP_HB_REDUCE, ZP_HB_OP, pc, -1, 2);
}

/* Added in place; NCCL adds limbs and, with `native`, fp32. */
static void replica(zp_hb_walk *b, int64_t pc)
{
  const int exact = b->p->cfg->reduce == ZP_EXACT;
  int32_t v = -1;
  if (exact) v = zp_hb_add_work(b, ZP_HB_REDUCE, ZP_HB_OP, pc, -1, 0);
  access_sums(b, &b->op[pc], b->op[pc].flat, v, ZP_WRITES);
  access_sums(b, &b->op[pc], b->op[pc].flat, zp_hb_add_comm(b, ZP_HB_REDUCE, pc, 1), ZP_WRITES);
  if (exact) pack_again(b, pc);
  if (!exact && !b->c->native) {
    v = zp_hb_add_work(b, ZP_HB_REDUCE, ZP_HB_OP, pc, -1, 2);
    access_sums(b, &b->op[pc], b->op[pc].flat, v, ZP_WRITES);
  }
  end_sum(b, pc);
}

/* Sums over the stage's further uses of the entry, then over the stages. */
static void tied(zp_hb_walk *b, int64_t pc)
{
  const zp_op *op = &b->op[pc];
  const int exact = b->p->cfg->reduce == ZP_EXACT;
  int32_t v = -1;
  int uses = 0;
  for (int32_t k = 0; k < b->lay.n_flats; k++)
    uses += k != op->flat && b->lay.flat[k].tied == op->key;
  if (exact || uses > 0) v = zp_hb_add_work(b, ZP_HB_REDUCE, ZP_HB_OP, pc, -1, 0);
  access_sums(b, op, op->flat, v, ZP_WRITES);
  for (int32_t k = 0; k < b->lay.n_flats; k++)
    if (k != op->flat && b->lay.flat[k].tied == op->key) access_sums(b, op, k, v, ZP_READS);
  access_sums(b, op, op->flat, zp_hb_add_comm(b, ZP_HB_REDUCE, pc, 1), ZP_WRITES);
  if (exact) pack_again(b, pc);
  if (!exact && !b->c->native) {
    v = zp_hb_add_work(b, ZP_HB_REDUCE, ZP_HB_OP, pc, -1, 2);
    access_sums(b, op, op->flat, v, ZP_WRITES);
  }
  end_sum(b, pc);
}

/* Packed, added over tp, and unpacked. */
static void partial(zp_hb_walk *b, int64_t pc)
{
  const zp_op *op = &b->op[pc];
  if (op->count == 0) return;
  access_sums(b, op, op->flat, zp_hb_add_work(b, ZP_HB_REDUCE, ZP_HB_OP, pc, -1, 0), ZP_READS);
  zp_hb_add_comm(b, ZP_HB_REDUCE, pc, 1);
  access_sums(b, op, op->flat, zp_hb_add_work(b, ZP_HB_REDUCE, ZP_HB_OP, pc, -1, 2), ZP_WRITES);
  end_sum(b, pc);
}

static void statistics(zp_hb_walk *b, int64_t pc)
{
  const int32_t v = zp_hb_add_work(b, ZP_HB_REDUCE, ZP_HB_OP, pc, -1, 0);
  if (is_last(b) && b->at.tp == 0)
    zp_hb_access(b, v, ZP_ON_LOSS, ZP_READS, 0, b->p->cfg->micro_batches);
  zp_hb_access(b, v, ZP_ON_TALLY, ZP_WRITES, 0, 1);
  zp_hb_add_comm(b, ZP_HB_REDUCE, pc, 1);
}

/* The node writes the parameters of the bucket's entries, or of the rank's part of it. */
static void write_params(zp_hb_walk *b, const zp_op *op, int32_t v, int part)
{
  const zp_range r = part
                         ? zp_owned_range(&b->block.cfg, &b->lay, b->block.at, op->flat, op->bucket)
                         : zp_whole_range(&b->lay.flat[op->flat], op->bucket);
  int32_t i = b->lay.n_params;
  for (;;) {
    const zp_piece g = zp_piece_next(b->p->cfg, &b->lay, op->flat, r, i);
    if (g.count == 0) return;
    i = g.i;
    const int64_t at = b->param_at[zp_storage_of(b->p->cfg, &b->lay, i)] + g.offset;
    zp_hb_access(b, v, ZP_ON_PARAMS, ZP_WRITES, at, at + g.count);
  }
}

/* Gathers write the parameters of op's flat group where they are. STEP-8 */
static int is_view(const zp_hb_walk *b, const zp_op *op)
{
  return zp_has_views(b->p->cfg, &b->lay, op->flat);
}

/* With offload the host waits for the decision, which is copied after all gradients. */
static void decide(zp_hb_walk *b, int64_t pc)
{
  zp_hb_access(b, zp_hb_add_work(b, ZP_HB_REDUCE, ZP_HB_OP, pc, -1, 0), ZP_ON_STATE, ZP_WRITES, 0,
               1);
  if (!b->c->offload || b->updates == 0) return;
  b->decision = zp_hb_add_work(b, ZP_HB_COPIES, ZP_HB_OP, pc, -1, ZP_HB_TRANSFER);
  b->landed = 0;
  zp_hb_access(b, b->decision, ZP_ON_STATE, ZP_READS, 0, 1);
}

/* Where the bucket's parameters are copied back: the rank's part of them, or a landing buffer. */
static void access_landing(zp_hb_walk *b, const zp_op *op, int32_t v, zp_mode mode)
{
  const zp_range r = zp_owned_range(&b->block.cfg, &b->lay, b->block.at, op->flat, op->bucket);
  const int64_t k = (b->landed - 1) % 2;
  if (is_view(b, op))
    zp_hb_access(b, v, ZP_ON_FLAT + ZP_ON_EACH * op->flat + ZP_ON_PARTS, mode, r.flat,
                 r.flat + r.count);
  else zp_hb_access(b, v, ZP_ON_LANDING, mode, k, k + 1);
}

/* What the host issues after its update runs after it. simdev has no record of the host's work: of
 * a run only its wait is known. */
static void update_on_host(zp_hb_walk *b, int64_t pc)
{
  const zp_op *op = &b->op[pc];
  int32_t v;
  if (b->barrier < b->decision) b->barrier = b->decision;
  if (b->c->stages) b->barrier = zp_hb_add_work(b, ZP_HB_HOST, ZP_HB_OP, pc, -1, ZP_HB_HOST_UPDATE);
  v = zp_hb_add_work(b, ZP_HB_COPIES, ZP_HB_OP, pc, -1, ZP_HB_TRANSFER);
  if (is_view(b, op)) write_params(b, op, v, 1);
  else b->landed++;
  access_landing(b, op, v, ZP_WRITES);
  if (b->p->cfg->stage > 0) return;
  v = zp_hb_add_work(b, ZP_HB_REDUCE, ZP_HB_OP, pc, -1, 0);
  access_landing(b, op, v, ZP_READS);
  write_params(b, op, v, 0);
}

static void update(zp_hb_walk *b, int64_t pc)
{
  if (b->c->offload) {
    update_on_host(b, pc);
    return;
  }
  const int32_t v = zp_hb_add_work(b, ZP_HB_REDUCE, ZP_HB_OP, pc, -1, 0);
  zp_hb_access(b, v, ZP_ON_STATE, ZP_READS, 0, 1);
  if (b->c->partial) access_landing(b, &b->op[pc], v, ZP_WRITES);
  if (b->p->cfg->reduce != ZP_EXACT) access_sums(b, &b->op[pc], b->op[pc].flat, v, ZP_READS);
  if (b->p->cfg->stage == 0) write_params(b, &b->op[pc], v, 0);
  else if (is_view(b, &b->op[pc])) write_params(b, &b->op[pc], v, 1);
}

static void gather(zp_hb_walk *b, int64_t pc)
{
  const zp_op *op = &b->op[pc];
  int32_t v = zp_hb_add_comm(b, b->c->partial ? ZP_HB_GATHER : ZP_HB_REDUCE, pc, 1);
  if (b->c->offload || b->c->partial) access_landing(b, op, v, ZP_READS);
  if (!is_view(b, op)) v = zp_hb_add_work(b, ZP_HB_REDUCE, ZP_HB_OP, pc, -1, 2);
  write_params(b, &b->op[pc], v, 0);
}

static int walk_op(zp_hb_walk *b, int64_t pc)
{
  switch (b->op[pc].kind) {
  case ZP_OP_FORWARD: forward(b, pc); return 0;
  case ZP_OP_BACKWARD: backward(b, pc); return gradients(b, pc);
  case ZP_OP_META: meta(b, pc); return 0;
  case ZP_OP_P2P: exchange(b, pc); return 0;
  case ZP_OP_ALL_REDUCE:
    if (b->op[pc].what == ZP_WHAT_REPLICA) replica(b, pc);
    else if (b->op[pc].what == ZP_WHAT_TIED) tied(b, pc);
    else if (b->op[pc].what == ZP_WHAT_PARTIAL) partial(b, pc);
    else if (b->op[pc].what == ZP_WHAT_STATISTICS) statistics(b, pc);
    return 0;
  case ZP_OP_DECIDE: decide(b, pc); return 0;
  case ZP_OP_UPDATE: update(b, pc); return 0;
  case ZP_OP_ALL_GATHER: gather(b, pc); return 0;
  default: return 0; /* ADDs, reductions and means are added with their backward */
  }
}

int zp_hb_walk_step(zp_hb_walk *b)
{
  for (int64_t pc = 0; pc < b->length; pc++)
    if (walk_op(b, pc)) return -1;
  if (!b->c->get[b->step]) return 0;
  const int32_t v = zp_hb_add_work(b, ZP_HB_REDUCE, ZP_HB_GET, 0, 0, 0);
  zp_hb_access(b, v, ZP_ON_STATE, ZP_READS, 0, 1);
  if (b->c->partial) zp_hb_access(b, v, ZP_ON_PARAMS, ZP_READS, 0, b->param_at[b->lay.n_params]);
  b->barrier = v;
  return 0;
}
