/* From programs and announcements to dependences: each rank's programs are walked once, in the
 * order in which a host would issue them. Nothing here knows of events, or of what a run did. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../ref/engine/window.h"
#include "plan_internal.h"

/* ---- Announcements --------------------------------------------------------------------------- */

void zp_path_announced(zp_path_log *l, int32_t step, int64_t mb, int32_t param, int32_t stream)
{
  if (l->n == l->cap) {
    const int64_t cap = 2 * l->cap + 64;
    zp_path_arrival *more = realloc(l->at, (size_t)cap * sizeof *more);
    if (!more) {
      l->no_memory = 1;
      return;
    }
    l->at = more;
    l->cap = cap;
  }
  l->at[l->n++] = (zp_path_arrival){step, param, stream, mb};
}

void zp_path_log_free(zp_path_log *l)
{
  free(l->at);
  memset(l, 0, sizeof *l);
}

int64_t zp_path_tag(int32_t what, int32_t step, int64_t position_or_mb, int32_t param)
{
  const int64_t low = what == ZP_PATH_OP ? position_or_mb : position_or_mb * ZP_MAX_PARAMS + param;
  return ((int64_t)what << 58) + ((int64_t)step << 40) + low;
}

/* ---- The pipeline ---------------------------------------------------------------------------- */

static int is_first(const zp_planner *b)
{
  return b->at.pp == 0;
}

static int is_last(const zp_planner *b)
{
  return b->at.pp == b->p->cfg->pp - 1;
}

/* Both read all parameters of the stage and the step's state. */
static void touch_model(zp_planner *b, int32_t v)
{
  zp_plan_touch(b, v, ZP_ON_PARAMS, ZP_READS, 0, b->param_at[b->lay.n_params]);
  zp_plan_touch(b, v, ZP_ON_STATE, ZP_READS, 0, 1);
}

static void forward(zp_planner *b, int64_t pc)
{
  const zp_op *op = &b->op[pc];
  const int32_t v = zp_plan_put(b, ZP_PATH_COMPUTE, ZP_PATH_OP, pc, -1, 0);
  touch_model(b, v);
  if (!is_first(b)) zp_plan_touch(b, v, ZP_ON_ACT_IN, ZP_READS, op->slot, op->slot + 1);
  if (is_last(b)) zp_plan_touch(b, v, ZP_ON_LOSS, ZP_WRITES, op->mb, op->mb + 1);
  else zp_plan_touch(b, v, ZP_ON_ACT_OUT, ZP_WRITES, 0, 1);
}

/* What forward was given in its place is backward's, too (PIPE-4). */
static void touch_backward(zp_planner *b, const zp_op *op, int32_t v)
{
  touch_model(b, v);
  if (!is_first(b)) {
    zp_plan_touch(b, v, ZP_ON_ACT_IN, ZP_READS, op->slot, op->slot + 1);
    zp_plan_touch(b, v, ZP_ON_GRAD_OUT, ZP_WRITES, 0, 1);
  }
  if (!is_last(b)) zp_plan_touch(b, v, ZP_ON_GRAD_IN, ZP_READS, 0, 1);
}

/* The caller's gradients of a micro-batch. */
static void touch_raw(zp_planner *b, int64_t mb, int32_t v, zp_mode mode)
{
  const int64_t set = mb % b->c->sets;
  zp_plan_touch(b, v, ZP_ON_RAW, mode, set, set + 1);
}

static void backward(zp_planner *b, int64_t pc)
{
  const zp_op *op = &b->op[pc];
  const int32_t v = zp_plan_put(b, ZP_PATH_COMPUTE, ZP_PATH_OP, pc, -1, 0);
  touch_backward(b, op, v);
  touch_raw(b, op->mb, v, ZP_WRITES);
  if (b->c->rest)
    touch_backward(b, op, zp_plan_put(b, ZP_PATH_COMPUTE, ZP_PATH_REST, op->mb, 0, 0));
}

static void exchange(zp_planner *b, int64_t pc)
{
  const zp_op *op = &b->op[pc];
  const int next = op->what == ZP_WHAT_ACTIVATION;
  const int32_t v = zp_plan_put_comm(b, ZP_PATH_P2P, pc, 1);
  if (op->mb >= 0) zp_plan_touch(b, v, next ? ZP_ON_ACT_OUT : ZP_ON_GRAD_OUT, ZP_READS, 0, 1);
  if (op->recv_mb < 0) return;
  if (next) zp_plan_touch(b, v, ZP_ON_GRAD_IN, ZP_WRITES, 0, 1);
  else {
    const int64_t place = zp_act_place(b->act_slots, op->recv_mb);
    zp_plan_touch(b, v, ZP_ON_ACT_IN, ZP_WRITES, place, place + 1);
  }
}

/* The host cannot go on before it knows what it is going to receive. */
static void meta(zp_planner *b, int64_t pc)
{
  if (b->op[pc].mb >= 0) {
    zp_plan_put(b, ZP_PATH_P2P, ZP_PATH_OP, pc, -1, 0);
    zp_plan_put_comm(b, ZP_PATH_P2P, pc, 1);
    return;
  }
  zp_plan_put_comm(b, ZP_PATH_P2P, pc, 1);
  b->barrier = zp_plan_put(b, ZP_PATH_P2P, ZP_PATH_OP, pc, -1, 2);
}

/* ---- Gradients ------------------------------------------------------------------------------- */

static int32_t bucket_operand(const zp_planner *b, const zp_op *op)
{
  return ZP_ON_FLAT + 3 * op->flat + (b->p->cfg->stage == 2 ? 1 + op->slot : 0);
}

/* An unused entry's zeros are the reduction stream's to write, and come from nowhere. The last
 * entry of a slot's bucket writes the padding, too. */
static void add(zp_planner *b, int64_t pc)
{
  const zp_op *op = &b->op[pc];
  const int32_t i = op->param - b->lay.first_param, s = b->stream[i];
  const zp_range r = zp_add_range(b->p->cfg, &b->lay, op);
  const zp_range whole = zp_whole_range(&b->lay.flat[op->flat], op->bucket);
  const int32_t v =
      zp_plan_put(b, s < 0 ? ZP_PATH_REDUCE : ZP_PATH_PRODUCER + s, ZP_PATH_OP, pc, op->param, 0);
  int64_t to = r.at + r.count;
  if (b->p->cfg->stage == 2 && to == whole.real) to = whole.count;
  zp_plan_touch(b, v, bucket_operand(b, op), ZP_WRITES, r.at, to);
  if (s < 0) return;
  zp_plan_touch(b, v, ZP_ON_TALLY, ZP_FLAGS, 0, 1);
  if (b->kept[i]) zp_plan_touch(b, v, ZP_ON_STAGING, ZP_READS, i, i + 1);
  else zp_plan_touch(b, v, ZP_ON_BUFFER, ZP_READS, s, s + 1);
}

/* The parts of a reduction. What they do to the bucket (to all of its slot, which is filled anew
 * after the reduction that reads it, however little of it that reads): parts that other members
 * have are sent, the own one is added to what comes. */
static void reduce_parts(zp_planner *b, int64_t pc, int32_t on, int64_t from, int64_t to)
{
  const zp_op *op = &b->op[pc];
  const int alone = zp_group_size(b->p->cfg, op->group, op->key, b->at) == 1;
  if (!alone) zp_plan_touch(b, zp_plan_put_comm(b, ZP_PATH_REDUCE, pc, 1), on, ZP_READS, from, to);
  zp_plan_touch(b, zp_plan_put(b, ZP_PATH_REDUCE, ZP_PATH_OP, pc, -1, alone ? 0 : 2), on, ZP_READS,
                from, to);
  if (op->kind == ZP_OP_ALL_REDUCE && !alone) zp_plan_put_comm(b, ZP_PATH_REDUCE, pc, 3);
}

/* Limbs are settled in place before they travel. */
static void reduce_limbs(zp_planner *b, int64_t pc, int32_t on, int64_t from, int64_t to)
{
  zp_plan_touch(b, zp_plan_put(b, ZP_PATH_REDUCE, ZP_PATH_OP, pc, -1, 0), on, ZP_WRITES, from, to);
  zp_plan_touch(b, zp_plan_put_comm(b, ZP_PATH_REDUCE, pc, 1), on, ZP_READS, from, to);
}

/* NCCL adds. A slot of 16-bit numbers is widened first, and read by that alone; later micro-batches
 * are added to the sum. */
static void reduce_natively(zp_planner *b, int64_t pc, int32_t on, int64_t from, int64_t to)
{
  const int slot = b->p->cfg->stage == 2, widens = slot && b->p->cfg->precision != ZP_F32;
  int32_t v;
  if (widens)
    zp_plan_touch(b, zp_plan_put(b, ZP_PATH_REDUCE, ZP_PATH_OP, pc, -1, 0), on, ZP_READS, from, to);
  v = zp_plan_put_comm(b, ZP_PATH_REDUCE, pc, 1);
  if (!widens) zp_plan_touch(b, v, on, ZP_READS, from, to);
  if (slot && b->op[pc].mb > 0) zp_plan_put(b, ZP_PATH_REDUCE, ZP_PATH_OP, pc, -1, 2);
}

static void reduce(zp_planner *b, int64_t pc)
{
  const zp_op *op = &b->op[pc];
  const zp_config *cfg = b->p->cfg;
  const int32_t on = bucket_operand(b, op);
  const zp_range whole = zp_whole_range(&b->lay.flat[op->flat], op->bucket);
  const int64_t wide = cfg->stage == 2 ? zp_widest(&b->lay.flat[op->flat]) : whole.count;
  const int64_t from = cfg->stage == 2 ? 0 : whole.at, to = from + wide;
  if (b->c->native) reduce_natively(b, pc, on, from, to);
  else if (cfg->stage < 2 && cfg->reduce == ZP_EXACT) reduce_limbs(b, pc, on, from, to);
  else reduce_parts(b, pc, on, from, to);
}

/* The program's ADDs and reductions, as far as announced entries reach. */
static void go_on(zp_planner *b)
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

/* An entry that is announced before its turn is kept aside on its own stream. */
static int announced(zp_planner *b, const zp_path_arrival *a)
{
  const int32_t i = a->param - b->lay.first_param, s = ZP_PATH_PRODUCER + a->stream;
  int32_t v;
  if (i < 0 || i >= b->lay.n_params || b->arrived[i] || s >= b->p->streams) return -1;
  const int some = b->p->cfg->params[a->param].numel > 0;
  if (a->stream >= 0 && some) {
    v = zp_plan_put(b, s, ZP_PATH_COPY, a->mb, a->param, 0);
    touch_raw(b, a->mb, v, ZP_READS);
    zp_plan_touch(b, v, ZP_ON_BUFFER, ZP_WRITES, a->stream, a->stream + 1);
  }
  b->arrived[i] = 1;
  b->stream[i] = a->stream;
  b->kept[i] = 0;
  go_on(b);
  if (a->stream < 0 || !some) return 0;
  if (b->next < b->length && b->op[b->next].kind == ZP_OP_ADD) {
    for (int64_t k = b->next; k < b->length && b->op[k].clock_t == b->op[b->next].clock_t; k++)
      b->kept[i] |= b->op[k].kind == ZP_OP_ADD && b->op[k].param == a->param;
  }
  if (b->kept[i]) {
    v = zp_plan_put(b, s, ZP_PATH_KEEP, a->mb, a->param, 0);
    zp_plan_touch(b, v, ZP_ON_BUFFER, ZP_READS, a->stream, a->stream + 1);
    zp_plan_touch(b, v, ZP_ON_STAGING, ZP_WRITES, i, i + 1);
  }
  v = zp_plan_put(b, s, ZP_PATH_SET, a->mb, a->param, 0);
  zp_plan_touch(b, v, ZP_ON_BUFFER, ZP_WRITES, a->stream, a->stream + 1);
  return 0;
}

static int gradients(zp_planner *b, int64_t pc)
{
  const zp_path_log *l = &b->c->log[b->rank];
  const int64_t mb = b->op[pc].mb;
  memset(b->arrived, 0, (size_t)b->lay.n_params);
  b->next = pc + 2; /* behind ARRIVED */
  for (; b->arrival < l->n; b->arrival++) {
    const zp_path_arrival *a = &l->at[b->arrival];
    if (a->step != b->step || a->mb != mb) break;
    if (announced(b, a)) return -1;
  }
  go_on(b);
  return 0;
}

/* ---- The end of the step --------------------------------------------------------------------- */

/* Sums of further uses on the stage, then of all stages. */
static void tied(zp_planner *b, int64_t pc)
{
  const zp_op *op = &b->op[pc];
  const int exact = b->p->cfg->reduce == ZP_EXACT;
  int uses = 0;
  for (int32_t k = 0; k < b->lay.n_flats; k++)
    uses += k != op->flat && b->lay.flat[k].tied == op->key;
  if (exact || uses > 0) zp_plan_put(b, ZP_PATH_REDUCE, ZP_PATH_OP, pc, -1, 0);
  zp_plan_put_comm(b, ZP_PATH_REDUCE, pc, 1);
  if (!exact && !b->c->native) zp_plan_put(b, ZP_PATH_REDUCE, ZP_PATH_OP, pc, -1, 2);
}

static void statistics(zp_planner *b, int64_t pc)
{
  const int32_t v = zp_plan_put(b, ZP_PATH_REDUCE, ZP_PATH_OP, pc, -1, 0);
  if (is_last(b) && b->at.tp == 0)
    zp_plan_touch(b, v, ZP_ON_LOSS, ZP_READS, 0, b->p->cfg->micro_batches);
  zp_plan_touch(b, v, ZP_ON_TALLY, ZP_WRITES, 0, 1);
  zp_plan_put_comm(b, ZP_PATH_REDUCE, pc, 1);
}

/* Writes the parameters of the bucket's entries. */
static void write_params(zp_planner *b, const zp_op *op, int32_t v)
{
  const zp_range r = zp_whole_range(&b->lay.flat[op->flat], op->bucket);
  int32_t i = b->lay.n_params;
  for (;;) {
    const zp_piece g = zp_piece_next(b->p->cfg, &b->lay, op->flat, r, i);
    if (g.count == 0) return;
    i = g.i;
    const int64_t at = b->param_at[zp_storage_of(b->p->cfg, &b->lay, i)] + g.offset;
    zp_plan_touch(b, v, ZP_ON_PARAMS, ZP_WRITES, at, at + g.count);
  }
}

static void update(zp_planner *b, int64_t pc)
{
  const int32_t v = zp_plan_put(b, ZP_PATH_REDUCE, ZP_PATH_OP, pc, -1, 0);
  zp_plan_touch(b, v, ZP_ON_STATE, ZP_READS, 0, 1);
  if (b->p->cfg->stage == 0) write_params(b, &b->op[pc], v);
}

static void gather(zp_planner *b, int64_t pc)
{
  zp_plan_put_comm(b, ZP_PATH_REDUCE, pc, 1);
  write_params(b, &b->op[pc], zp_plan_put(b, ZP_PATH_REDUCE, ZP_PATH_OP, pc, -1, 2));
}

static int one(zp_planner *b, int64_t pc)
{
  switch (b->op[pc].kind) {
  case ZP_OP_FORWARD: forward(b, pc); return 0;
  case ZP_OP_BACKWARD: backward(b, pc); return gradients(b, pc);
  case ZP_OP_META: meta(b, pc); return 0;
  case ZP_OP_P2P: exchange(b, pc); return 0;
  case ZP_OP_MEAN: zp_plan_put(b, ZP_PATH_REDUCE, ZP_PATH_OP, pc, -1, 0); return 0;
  case ZP_OP_ALL_REDUCE:
    if (b->op[pc].what == ZP_WHAT_TIED) tied(b, pc);
    else if (b->op[pc].what == ZP_WHAT_STATISTICS) statistics(b, pc);
    return 0;
  case ZP_OP_DECIDE:
    zp_plan_touch(b, zp_plan_put(b, ZP_PATH_REDUCE, ZP_PATH_OP, pc, -1, 0), ZP_ON_STATE, ZP_WRITES,
                  0, 1);
    return 0;
  case ZP_OP_UPDATE: update(b, pc); return 0;
  case ZP_OP_ALL_GATHER: gather(b, pc); return 0;
  default: return 0; /* ADDs and reductions: with their backward */
  }
}

int zp_plan_step(zp_planner *b)
{
  for (int64_t pc = 0; pc < b->length; pc++)
    if (one(b, pc)) return -1;
  if (!b->c->get[b->step]) return 0;
  const int32_t v = zp_plan_put(b, ZP_PATH_REDUCE, ZP_PATH_GET, 0, 0, 0);
  zp_plan_touch(b, v, ZP_ON_STATE, ZP_READS, 0, 1);
  b->barrier = v;
  return 0;
}
