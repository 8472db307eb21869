#include "cursor.h"

#include <stddef.h>

int32_t zp_op_communicates(const zp_op *op)
{
  return op->kind >= ZP_OP_FIRST_COMM ? 1 : 0;
}

/* The last op before the mean p that fills or sums its bucket, or -1. */
/*@ requires program: 0 <= p && \valid_read(ops + (0 .. p));
    terminates \true; exits \false;
    assigns \nothing;
    ensures last: LastOf(ops, \result, p);
*/
static int64_t last_before(const zp_op *ops, int64_t p)
{
  int64_t i = p - 1;
  /*@ loop invariant range: -1 <= i < p;
      loop invariant none: \forall integer j; i < j < p ==> !InBucket(ops, j, p);
      loop assigns i;
      loop variant i; */
  while (i >= 0 &&
         (ops[i].flat != ops[p].flat || ops[i].bucket != ops[p].bucket || ops[i].count <= 0))
    i--;
  return i;
}

void zp_last_in_bucket(const zp_op *ops, int64_t length, int64_t *last)
{
  /*@ loop invariant range: 0 <= p <= length;
      loop invariant last: LastInBucket(ops, last, p);
      loop assigns p, last[0 .. length - 1];
      loop variant length - p; */
  for (int64_t p = 0; p < length; p++) {
    const int64_t found = ops[p].kind == ZP_OP_MEAN ? last_before(ops, p) : -1;
    //@ assert found: ops[p].kind == ZP_OP_MEAN ==> LastOf(ops, found, p);
    last[p] = found;
    /*@ assert ops: \forall integer i; 0 <= i < length ==>
          ops[i].bucket == \at(ops[i].bucket,LoopCurrent) &&
          ops[i].count == \at(ops[i].count,LoopCurrent); */
    /*@ assert bucket: \forall integer i, q; 0 <= i < length && 0 <= q < length &&
          InBucket(ops, i, q) ==> InBucket{LoopCurrent}(ops, i, q); */
    //@ assert this: ops[p].kind == ZP_OP_MEAN ==> LastOf(ops, last[p], p);
    /*@ assert rest: \forall integer q; 0 <= q < p ==> last[q] == \at(last[q],LoopCurrent); */
    /*@ assert kinds: \forall integer q; 0 <= q < p && ops[q].kind == ZP_OP_MEAN ==>
          LastOf{LoopCurrent}(ops, last[q], q); */
    /*@ assert others: \forall integer q; 0 <= q < p && ops[q].kind == ZP_OP_MEAN ==>
          LastOf(ops, last[q], q); */
  }
}

void zp_cursor_begin(zp_cursor *c, const zp_op *ops, int64_t length, int32_t phase)
{
  c->ops = ops;
  c->length = length;
  c->last = NULL;
  c->issued = NULL;
  c->pc = 0;
  c->ahead = 0;
  c->early = 0;
  c->mean = 0;
  c->phase = phase;
  c->state = ZP_CURSOR_BETWEEN;
  c->decision = ZP_CURSOR_UNDECIDED;
  c->stepped = 0;
}

void zp_cursor_means(zp_cursor *c, const int64_t *last, uint8_t *issued)
{
  const int64_t n = c->length;
  /*@ loop invariant range: 0 <= i <= n;
      loop invariant cleared: \forall integer j; 0 <= j < i ==> issued[j] == 0;
      loop assigns i, issued[0 .. n - 1];
      loop variant n - i; */
  for (int64_t i = 0; i < n; i++) issued[i] = 0;
  c->last = last;
  c->issued = issued;
}

int64_t zp_cursor_position(const zp_cursor *c)
{
  if (c->mean > 0) return (int64_t)c->mean;
  return (int64_t)(c->early > 0 ? c->early : c->pc);
}

int64_t zp_cursor_take(zp_cursor *c)
{
  if (c->state != ZP_CURSOR_BETWEEN || c->early > 0) return -1;
  if ((int64_t)c->pc == c->length) return c->length;
  if (c->ops[c->pc].if_stepped != 0) c->stepped = 1;
  c->state = ZP_CURSOR_OUT;
  return (int64_t)c->pc;
}

/* 1 when op i is an ARRIVED that may be passed over, else 0. */
/*@ requires program: 0 <= i && \valid_read(ops + i);
    terminates \true; exits \false;
    assigns \nothing;
    ensures bit: \result == 0 || \result == 1;
    ensures arrival: \result == 1 <==> Arrival(ops, i);
*/
static int32_t is_arrival(const zp_op *ops, int64_t i)
{
  return ops[i].kind == ZP_OP_ARRIVED && ops[i].group < 0 && ops[i].count <= 0 ? 1 : 0;
}

int64_t zp_cursor_next_early(const zp_cursor *c)
{
  const int64_t pc = (int64_t)c->pc;
  if (c->pc < c->ahead) return (int64_t)c->ahead;
  if (pc == c->length || c->state == ZP_CURSOR_LEFT) return c->length;
  if (is_arrival(c->ops, pc)) return pc + 1;
  if (c->state == ZP_CURSOR_OUT && c->ops[pc].kind == ZP_OP_BACKWARD && pc + 1 < c->length &&
      c->ops[pc + 1].if_stepped == 0 && is_arrival(c->ops, pc + 1))
    return pc + 2;
  return c->length;
}

/* 1 when op i is an addition or a reduction of a gradient that no step omits, else 0. */
/*@ requires program: 0 <= i && \valid_read(ops + i);
    terminates \true; exits \false;
    assigns \nothing;
    ensures bit: \result == 0 || \result == 1;
    ensures block: \result == 1 <==> BlockOp(ops, i) && ops[i].if_stepped == 0;
*/
static int32_t is_block_op(const zp_op *ops, int64_t i)
{
  const zp_op *op = &ops[i];
  if (op->if_stepped != 0) return 0;
  if (op->kind == ZP_OP_ADD) return 1;
  return (op->kind == ZP_OP_REDUCE_SCATTER || op->kind == ZP_OP_ALL_REDUCE) &&
                 op->what == ZP_WHAT_GRADIENT
             ? 1
             : 0;
}

/* All ops before this position, except means and ARRIVED, were taken or are omitted. */
/*@ requires ok: CursorOk(c);
    terminates \true; exits \false;
    assigns \nothing;
    ensures front: \result == Front(c);
*/
static int64_t front_of(const zp_cursor *c)
{
  if (c->pc < c->ahead) return (int64_t)c->ahead;
  return c->state == ZP_CURSOR_BETWEEN ? (int64_t)c->pc : (int64_t)c->pc + 1;
}

/* 1 when the mean p may be taken now, else 0. */
/*@ requires ok: CursorOk(c);
    requires mean: 0 <= p < c->length && c->ops[p].kind == ZP_OP_MEAN;
    terminates \true; exits \false;
    assigns \nothing;
    ensures bit: \result == 0 || \result == 1;
    ensures ready: \result == 1 <==> MeanReady(c, p);
*/
static int32_t is_mean_ready(const zp_cursor *c, int64_t p)
{
  if (c->last == NULL || p <= (int64_t)c->pc || (c->early == 0 && c->state != ZP_CURSOR_OUT))
    return 0;
  if (c->issued[p] != 0 || c->ops[p].if_stepped != 0 || c->ops[p].group >= 0) return 0;
  return c->last[p] < front_of(c) ? 1 : 0;
}

/* Takes the mean p, which is ready. */
/*@ requires ok: CursorOk(c);
    requires mean: 0 <= p < c->length && c->ops[p].kind == ZP_OP_MEAN && c->mean == 0;
    requires ready: MeanReady(c, p);
    terminates \true; exits \false;
    assigns c->mean, c->issued[p];
    ensures new: !\old(TakenEarly(c, p));
    ensures mean: c->mean == p && c->issued[p] == 1;
    ensures others: \forall integer i; 0 <= i < c->length && i != p ==>
      c->issued[i] == \old(c->issued[i]);
    ensures ok: CursorOk(c);
*/
static void take_mean(zp_cursor *c, int64_t p)
{
  c->mean = (uint64_t)p;
  c->issued[p] = 1;
  /*@ assert marked: \forall integer i; 0 <= i < c->length && c->issued[i] != 0 ==>
        i == p || \at(c->issued[i],Pre) != 0; */
  //@ assert memory: CursorMemory(c);
  //@ assert place: CursorPlace(c);
  //@ assert block: CursorBlock(c);
  //@ assert means: CursorMeans(c);
  //@ assert plain: CursorPlain(c);
}

/* Takes the addition or reduction p, whose turn it is but for ARRIVED. */
/*@ requires ok: CursorOk(c);
    requires turn: c->pc < p < c->length && EarlyAt(c, p) && c->early == 0 && c->mean == 0;
    requires block: BlockOp(c->ops, p) && c->ops[p].if_stepped == 0;
    terminates \true; exits \false;
    assigns c->ahead, c->early;
    ensures new: !\old(TakenEarly(c, p));
    ensures ahead: c->early == p && c->ahead == p + 1;
    ensures ok: CursorOk(c);
*/
static void take_in_turn(zp_cursor *c, int64_t p)
{
  c->early = (uint64_t)p;
  c->ahead = (uint64_t)p + 1;
  /*@ assert taken: \forall integer i; \at(c->pc,Pre) + 1 <= i < c->ahead ==>
        c->ops[i].if_stepped == 0 &&
        (BlockOp(c->ops, i) || (i == c->pc + 1 && c->ops[c->pc].kind == ZP_OP_BACKWARD)); */
  //@ assert memory: CursorMemory(c);
  //@ assert place: CursorPlace(c);
  //@ assert block: CursorBlock(c);
  //@ assert means: CursorMeans(c);
  //@ assert plain: CursorPlain(c);
}

int32_t zp_cursor_take_early(zp_cursor *c, int64_t p)
{
  if (c->mean > 0 || p < 0 || p >= c->length) return -1;
  if (c->ops[p].kind == ZP_OP_MEAN) {
    if (!is_mean_ready(c, p)) return -1;
    take_mean(c, p);
    return 0;
  }
  if (c->early > 0 || p != zp_cursor_next_early(c) || !is_block_op(c->ops, p)) return -1;
  take_in_turn(c, p);
  return 0;
}

/* 1 when op i, after the cursor, was taken early or is omitted, else 0. */
/*@ requires memory: CursorMemory(c);
    requires i: 0 <= i < c->length;
    terminates \true; exits \false;
    assigns \nothing;
    ensures bit: \result == 0 || \result == 1;
    ensures passed: \result == 1 <==> TakenEarly(c, i) || !Kept(c->ops, i, c->decision);
*/
static int32_t is_passed(const zp_cursor *c, int64_t i)
{
  if ((uint64_t)i < c->ahead && c->ops[i].kind != ZP_OP_ARRIVED) return 1;
  if (c->last != NULL && c->issued[i] != 0) return 1;
  return c->decision == ZP_CURSOR_SKIPPED && c->ops[i].if_stepped != 0 ? 1 : 0;
}

/* The first op from position `from` on that was not taken early and is not omitted, or length. */
/*@ requires memory: CursorMemory(c);
    requires from: 0 <= from <= c->length;
    terminates \true; exits \false;
    assigns \nothing;
    ensures range: from <= \result <= c->length;
    ensures passed: \forall integer i; from <= i < \result ==>
      TakenEarly(c, i) || !Kept(c->ops, i, c->decision);
    ensures next: \result < c->length ==>
      !TakenEarly(c, \result) && Kept(c->ops, \result, c->decision);
*/
static int64_t next_from(const zp_cursor *c, int64_t from)
{
  int64_t i = from;
  /*@ loop invariant range: from <= i <= c->length;
      loop invariant passed: \forall integer j; from <= j < i ==>
        TakenEarly(c, j) || !Kept(c->ops, j, c->decision);
      loop assigns i;
      loop variant c->length - i; */
  while (i < c->length && is_passed(c, i)) i++;
  return i;
}

/* The op at the cursor ends. */
/*@ requires ok: CursorOk(c);
    requires out: c->state != ZP_CURSOR_BETWEEN && c->early == 0 && c->mean == 0;
    terminates \true; exits \false;
    assigns c->pc, c->state;
    ensures moved: \old(c->pc) < c->pc && c->state == ZP_CURSOR_BETWEEN;
    ensures passed: \forall integer i; \old(c->pc) < i < c->pc ==>
      TakenEarly(c, i) || !Kept(c->ops, i, c->decision);
    ensures end: \old(c->state) == ZP_CURSOR_LEFT ==> c->pc == c->length;
    ensures ok: CursorOk(c);
*/
static void move_on(zp_cursor *c)
{
  c->state = ZP_CURSOR_BETWEEN;
  c->pc = (uint64_t)next_from(c, (int64_t)c->pc + 1);
  /*@ assert passed: \forall integer j; \at(c->pc,Pre) < j < c->pc ==>
        TakenEarly(c, j) || !Kept(c->ops, j, c->decision); */
  /*@ assert early: \forall integer j; \at(c->pc,Pre) < j < c->pc && TakenEarly(c, j) ==>
        c->ops[j].if_stepped == 0; */
  /*@ assert omitted: \forall integer j; \at(c->pc,Pre) < j < c->pc &&
        !Kept(c->ops, j, c->decision) ==> c->decision == ZP_CURSOR_SKIPPED; */
  /*@ assert between: c->decision == ZP_CURSOR_UNDECIDED ==>
        \forall integer j; \at(c->pc,Pre) < j < c->pc ==> c->ops[j].if_stepped == 0; */
  /*@ assert before: c->stepped == 0 && c->decision == ZP_CURSOR_UNDECIDED && c->pc < c->length ==>
        \forall integer j; 0 <= j <= \at(c->pc,Pre) ==> c->ops[j].if_stepped == 0; */
  //@ assert memory: CursorMemory(c);
  //@ assert place: CursorPlace(c);
  //@ assert block: CursorBlock(c);
  //@ assert means: CursorMeans(c);
  //@ assert plain: CursorPlain(c);
}

int32_t zp_cursor_done(zp_cursor *c)
{
  if (c->mean > 0) {
    c->mean = 0;
    //@ assert memory: CursorMemory(c);
    //@ assert place: CursorPlace(c);
    //@ assert block: CursorBlock(c);
    //@ assert means: CursorMeans(c);
    //@ assert plain: CursorPlain(c);
    return 0;
  }
  if (c->early > 0) {
    c->early = 0;
    //@ assert memory: CursorMemory(c);
    //@ assert place: CursorPlace(c);
    //@ assert block: CursorBlock(c);
    //@ assert means: CursorMeans(c);
    //@ assert plain: CursorPlain(c);
    return 0;
  }
  if (c->state == ZP_CURSOR_BETWEEN) return -1;
  move_on(c);
  return 0;
}

int32_t zp_cursor_decide(zp_cursor *c, int32_t skipped)
{
  if (c->state != ZP_CURSOR_OUT || c->ops[c->pc].kind != ZP_OP_DECIDE) return -1;
  if (c->decision != ZP_CURSOR_UNDECIDED || c->stepped != 0) return -1;
  c->decision = skipped != 0 ? ZP_CURSOR_SKIPPED : ZP_CURSOR_STEPPED;
  return 0;
}

int32_t zp_cursor_leave(zp_cursor *c)
{
  if (c->state != ZP_CURSOR_OUT || c->ahead > c->pc || c->mean > 0) return -1;
  c->pc = (uint64_t)(c->length - 1);
  c->state = ZP_CURSOR_LEFT;
  //@ assert memory: CursorMemory(c);
  //@ assert place: CursorPlace(c);
  //@ assert block: CursorBlock(c);
  //@ assert means: CursorMeans(c);
  //@ assert plain: CursorPlain(c);
  return 0;
}
