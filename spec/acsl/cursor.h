/* The ops of a program that an executor runs: STEP-2 and STEP-6 over a cursor and over the ops that
 * it handed out. ACSL only. Included by ref/engine/cursor.h after its types.
 *
 * decision: ZP_CURSOR_UNDECIDED, _STEPPED or _SKIPPED.
 * spec: STEP-2, STEP-3, STEP-6, LEDG-1
 */
#ifndef ZP_SPEC_ACSL_CURSOR_H
#define ZP_SPEC_ACSL_CURSOR_H

/* ---- Ops ------------------------------------------------------------------------------------- */

/*@ logic boolean Communicates(integer kind) = kind >= ZP_OP_FIRST_COMM;

    // Op i belongs to the program as the decision resolves it.
    logic boolean Kept{L}(zp_op *ops, integer i, integer decision) =
      decision != ZP_CURSOR_SKIPPED || ops[i].if_stepped == 0;

    // The additions and reductions of a micro-batch's gradients, which follow its ARRIVED.
    predicate BlockOp{L}(zp_op *ops, integer i) =
      ops[i].kind == ZP_OP_ADD ||
      ((ops[i].kind == ZP_OP_REDUCE_SCATTER || ops[i].kind == ZP_OP_ALL_REDUCE) &&
       ops[i].what == ZP_WHAT_GRADIENT);
    // The arrival check, which they may pass over: it is in no group and no bucket.
    predicate Arrival{L}(zp_op *ops, integer i) =
      ops[i].kind == ZP_OP_ARRIVED && ops[i].group < 0 && ops[i].count <= 0;

    // Op i fills or sums the bucket of the mean p, or does both.
    predicate InBucket{L}(zp_op *ops, integer i, integer p) =
      ops[i].flat == ops[p].flat && ops[i].bucket == ops[p].bucket && 0 < ops[i].count;
    // Op j, after op i in the program, is handed out after it. Two kinds of op come before their
    // turn: additions and reductions before the ARRIVED that they follow, and means before what is
    // not in their bucket.
    predicate Follows{L}(zp_op *ops, integer i, integer j) =
      !(Arrival(ops, i) && (\forall integer k; i < k <= j ==> BlockOp(ops, k))) &&
      (ops[j].kind == ZP_OP_MEAN ==> InBucket(ops, i, j) || ops[j].if_stepped != 0);
    predicate LastOf{L}(zp_op *ops, integer last, integer p) =
      -1 <= last < p && (\forall integer i; last < i < p ==> !InBucket(ops, i, p));
    predicate LastInBucket{L}(zp_op *ops, int64_t *last, integer n) =
      \forall integer p; 0 <= p < n && ops[p].kind == ZP_OP_MEAN ==> LastOf(ops, last[p], p);
*/

/* ---- Cursors --------------------------------------------------------------------------------- */

/*@ predicate SameMarks{A,B}(uint8_t *issued, integer n) =
      \forall integer i; 0 <= i < n ==> \at(issued[i],B) == \at(issued[i],A);

    // Op i, not before the cursor, was handed out before its turn.
    predicate TakenEarly{L}(zp_cursor *c, integer i) =
      (i < c->ahead && c->ops[i].kind != ZP_OP_ARRIVED) ||
      (c->last != \null && c->issued[i] != 0);
    // Of the ops before this position, those that are no means and no ARRIVED were handed out, if
    // the decision keeps them; of the ops from here on, at most means.
    logic integer Front{L}(zp_cursor *c) =
      c->pc < c->ahead ? c->ahead : c->pc + (c->state == ZP_CURSOR_BETWEEN ? 0 : 1);
    // The op at p follows the ARRIVED of the micro-batch whose backward is out or was the last op,
    // and the block ops of it that were handed out.
    predicate EarlyAt{L}(zp_cursor *c, integer p) =
      c->pc < p && c->state != ZP_CURSOR_LEFT &&
      (c->pc < c->ahead ? p == c->ahead :
        (Arrival(c->ops, c->pc) && p == c->pc + 1) ||
        (c->state == ZP_CURSOR_OUT && c->ops[c->pc].kind == ZP_OP_BACKWARD &&
         p == c->pc + 2 && Arrival(c->ops, c->pc + 1) &&
         c->ops[c->pc + 1].if_stepped == 0));

    // The mean p can be taken: what fills and sums its bucket was handed out, and the op that sums
    // it may be the one that is out.
    predicate MeanReady{L}(zp_cursor *c, integer p) =
      c->last != \null && c->issued[p] == 0 && c->pc < p && c->last[p] < Front(c) &&
      c->ops[p].if_stepped == 0 && c->ops[p].group < 0 &&
      (0 < c->early || c->state == ZP_CURSOR_OUT);

    predicate CursorMemory{L}(zp_cursor *c) =
      \valid(c) && 0 <= c->length && \valid_read(c->ops + (0 .. c->length - 1)) &&
      \separated(c, c->ops + (0 .. c->length - 1)) &&
      (c->last != \null ==>
        \valid_read(c->last + (0 .. c->length - 1)) &&
        \valid(c->issued + (0 .. c->length - 1)) &&
        \separated(c, c->issued + (0 .. c->length - 1), c->ops + (0 .. c->length - 1),
          c->last + (0 .. c->length - 1)));
    predicate CursorPlace{L}(zp_cursor *c) =
      0 <= c->pc <= c->length && 0 <= c->ahead <= c->length &&
      ZP_CURSOR_BETWEEN <= c->state <= ZP_CURSOR_LEFT &&
      ZP_CURSOR_UNDECIDED <= c->decision <= ZP_CURSOR_SKIPPED &&
      (c->state != ZP_CURSOR_BETWEEN ==> c->pc < c->length) &&
      (c->state == ZP_CURSOR_LEFT ==>
        c->pc == c->length - 1 && c->early == 0 && c->mean == 0) &&
      (c->state == ZP_CURSOR_BETWEEN && c->pc < c->length ==>
        !TakenEarly(c, c->pc) && Kept(c->ops, c->pc, c->decision));
    // ops taken early from one micro-batch's block
    predicate CursorBlock{L}(zp_cursor *c) =
      (c->early == 0 || (c->pc < c->early == c->ahead - 1)) &&
      (c->pc < c->ahead ==> c->state != ZP_CURSOR_LEFT && c->pc + 1 < c->ahead &&
        (Arrival(c->ops, c->pc) ||
         (c->state == ZP_CURSOR_OUT && c->ops[c->pc].kind == ZP_OP_BACKWARD &&
          c->pc + 2 < c->ahead && Arrival(c->ops, c->pc + 1))) &&
        (\forall integer i; c->pc + 1 <= i < c->ahead ==> c->ops[i].if_stepped == 0 &&
          (BlockOp(c->ops, i) || (i == c->pc + 1 && c->ops[c->pc].kind == ZP_OP_BACKWARD))));
    predicate CursorMeans{L}(zp_cursor *c) =
      (c->mean == 0 || (c->last != \null && c->pc < c->mean < c->length &&
        (0 < c->early || c->state == ZP_CURSOR_OUT))) &&
      (c->last != \null ==> \forall integer i; 0 <= i < c->length && c->issued[i] != 0 ==>
        c->ops[i].kind == ZP_OP_MEAN && c->ops[i].if_stepped == 0 && c->ops[i].group < 0 &&
        c->last[i] < Front(c));
    // as long as the step may be decided
    predicate CursorPlain{L}(zp_cursor *c) =
      c->stepped == 0 && c->decision == ZP_CURSOR_UNDECIDED && c->state != ZP_CURSOR_LEFT &&
      c->pc < c->length ==>
        \forall integer i; 0 <= i < c->pc + c->state ==> c->ops[i].if_stepped == 0;
    predicate CursorOk{L}(zp_cursor *c) =
      CursorMemory(c) && CursorPlace(c) && CursorBlock(c) && CursorMeans(c) && CursorPlain(c);
*/

/* ---- Ops that were handed out ---------------------------------------------------------------- */

/*@ // Op i was handed out, by a cursor that has not left its program.
    predicate Handed{L}(zp_cursor *c, integer i) =
      i < c->pc ? Kept(c->ops, i, c->decision) == \true :
      i == c->pc ? c->state != ZP_CURSOR_BETWEEN : TakenEarly(c, i);
    // If op p is taken next, every op that it follows was handed out, and none that follows it.
    predicate InOrder{L}(zp_cursor *c, integer p) =
      (\forall integer i; 0 <= i < p && Kept(c->ops, i, c->decision) && Follows(c->ops, i, p) ==>
        Handed(c, i)) &&
      (\forall integer j; p < j < c->length && Handed(c, j) ==> !Follows(c->ops, p, j));
    predicate NoneEarly{L}(zp_cursor *c) = c->ahead == 0 &&
      (c->last != \null ==> \forall integer i; 0 <= i < c->length ==> c->issued[i] == 0);
    predicate LastOk{L}(zp_cursor *c) =
      c->last != \null ==> LastInBucket(c->ops, c->last, c->length);
    predicate SameProgram{A,B}(zp_cursor *c) =
      \at(c->ops,B) == \at(c->ops,A) && \at(c->length,B) == \at(c->length,A) &&
      \at(c->last,B) == \at(c->last,A) && \at(c->issued,B) == \at(c->issued,A);
*/

#endif
