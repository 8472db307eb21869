/* An executor's position in a program: which op is next, which ops were handed out before their
 * turn, and what the step decided. All control state of an executor is in its cursor, and only the
 * functions below write it. They hand out every op once. A call that is not allowed in the cursor's
 * state returns -1 and changes nothing. */
#ifndef ZP_ENGINE_CURSOR_H
#define ZP_ENGINE_CURSOR_H

#include <stdint.h>

#include "../plan/program.h"

/* The cursor is between ops; an op was taken and is not done; the rest of the program is left. */
enum { ZP_CURSOR_BETWEEN = 0, ZP_CURSOR_OUT = 1, ZP_CURSOR_LEFT = 2 };
/* What is known of the step. An executor that never learns it on the host stays undecided. */
enum { ZP_CURSOR_UNDECIDED = 0, ZP_CURSOR_STEPPED = 1, ZP_CURSOR_SKIPPED = 2 };

/* Positions and states are unsigned, unlike all fields of ops: so the proofs know from the types
 * that a cursor's functions change no op. */
typedef struct zp_cursor {
  const zp_op *ops; /* [length] the program */
  int64_t length;
  const int64_t *last; /* [length] by zp_last_in_bucket; NULL: no mean is taken early */
  uint8_t *issued;     /* [length] 1: a mean that was taken early */
  uint64_t pc;         /* the op that is out, or the next one */
  uint64_t ahead;      /* ops from pc + 1 to ahead - 1 were taken early, except ARRIVED */
  uint64_t early;      /* the addition or reduction that was taken early and is not done; or 0 */
  uint64_t mean;       /* the mean that was taken early and is not done; or 0 */
  int32_t phase;       /* zp_phase; -1: no program has begun */
  uint32_t state;      /* ZP_CURSOR_BETWEEN, … */
  uint32_t decision;   /* ZP_CURSOR_UNDECIDED, … */
  uint32_t stepped;    /* 1: an op that a skipped step omits was taken */
} zp_cursor;

/* after the types that its logic is about */
#include "../../spec/acsl/cursor.h"

/* 1 when op is a communication, to be carried out with other ranks, else 0.
 * op: any. Errors: none.
 * spec: LEDG-1
 */
/*@ requires valid: \valid_read(op);
    terminates \true; exits \false;
    assigns \nothing;
    ensures communication: \result == (Communicates(op->kind) ? 1 : 0);
*/
int32_t zp_op_communicates(const zp_op *op);

/* last[p]: for a mean at position p, the position of the last op before it that fills or sums its
 * bucket; -1 without such an op, and for other ops.
 * ops, last: (length), not overlapping. Errors: none.
 * spec: STEP-2
 */
/*@ requires program: 0 <= length && \valid_read(ops + (0 .. length - 1));
    requires last: \valid(last + (0 .. length - 1));
    requires apart: \separated(last + (0 .. length - 1), ops + (0 .. length - 1));
    terminates \true; exits \false;
    assigns last[0 .. length - 1];
    ensures last: LastInBucket(ops, last, length);
*/
void zp_last_in_bucket(const zp_op *ops, int64_t length, int64_t *last);

/* Starts the program of `phase` at its first op, undecided.
 * ops: (length), unchanged while the cursor is used. phase: zp_phase, or -1 with an empty program.
 * Errors: none.
 * spec: STEP-2
 */
/*@ requires cursor: \valid(c);
    requires program: 0 <= length && \valid_read(ops + (0 .. length - 1));
    requires apart: \separated(c, ops + (0 .. length - 1));
    terminates \true; exits \false;
    assigns *c;
    ensures program: c->ops == ops && c->length == length && c->phase == phase;
    ensures start: c->pc == 0 && c->state == ZP_CURSOR_BETWEEN &&
      c->decision == ZP_CURSOR_UNDECIDED;
    ensures no_early: c->ahead == 0 && c->early == 0 && c->mean == 0 && c->last == \null;
    ensures ok: CursorOk(c);
*/
void zp_cursor_begin(zp_cursor *c, const zp_op *ops, int64_t length, int32_t phase);

/* Lets means of the program that was just begun be taken early.
 * last: (length) by zp_last_in_bucket. issued: (length) memory of the cursor. Neither overlaps
 * anything else. Errors: none.
 * spec: STEP-2
 */
/*@ requires ok: CursorOk(c);
    requires start: c->pc == 0 && c->state == ZP_CURSOR_BETWEEN && c->ahead == 0 &&
      c->early == 0 && c->mean == 0;
    requires undecided: c->decision == ZP_CURSOR_UNDECIDED;
    requires last: last != \null && \valid_read(last + (0 .. c->length - 1));
    requires issued: \valid(issued + (0 .. c->length - 1));
    requires apart: \separated(c, issued + (0 .. c->length - 1), c->ops + (0 .. c->length - 1),
      last + (0 .. c->length - 1));
    terminates \true; exits \false;
    assigns c->last \from last;
    assigns c->issued \from issued;
    assigns issued[0 .. c->length - 1];
    ensures means: c->last == last && c->issued == issued;
    ensures cleared: \forall integer i; 0 <= i < c->length ==> issued[i] == 0;
    ensures ok: CursorOk(c);
*/
void zp_cursor_means(zp_cursor *c, const int64_t *last, uint8_t *issued);

/* The position of the op that is being carried out, innermost first, or that is next; for reports.
 * Errors: none.
 * spec: STEP-2
 */
/*@ requires ok: CursorOk(c);
    terminates \true; exits \false;
    assigns \nothing;
    ensures range: 0 <= \result <= c->length;
    ensures mean: 0 < c->mean ==> \result == c->mean;
    ensures early: c->mean == 0 && 0 < c->early ==> \result == c->early;
    ensures pc: c->mean == 0 && c->early == 0 ==> \result == c->pc;
*/
int64_t zp_cursor_position(const zp_cursor *c);

/* Takes the op at c->pc: returns its position, or the program's length at its end. -1 while an op
 * is out.
 * spec: STEP-2, STEP-6
 */
/*@ requires ok: CursorOk(c);
    terminates \true; exits \false;
    assigns c->state, c->stepped;
    ensures refused: \result == -1 <==>
      \old(c->state) != ZP_CURSOR_BETWEEN || 0 < \old(c->early);
    ensures unchanged: \result == -1 || \result == c->length ==>
      c->state == \old(c->state) && c->stepped == \old(c->stepped);
    ensures position: \result != -1 ==> \result == c->pc;
    ensures out: 0 <= \result < c->length ==> c->state == ZP_CURSOR_OUT &&
      Kept(c->ops, \result, c->decision) && !TakenEarly(c, \result);
    ensures ok: CursorOk(c);
*/
int64_t zp_cursor_take(zp_cursor *c);

/* The position of the only addition or reduction that may be taken early: the next one of the
 * micro-batch whose BACKWARD is out, or whose ARRIVED is out or next. The program's length if there
 * is no such micro-batch; else the op there may also be of another kind.
 * Errors: none.
 * spec: STEP-2, STEP-3
 */
/*@ requires ok: CursorOk(c);
    terminates \true; exits \false;
    assigns \nothing;
    ensures range: c->pc <= \result <= c->length;
    ensures next: \result < c->length ==> EarlyAt(c, \result);
*/
int64_t zp_cursor_next_early(const zp_cursor *c);

/* Takes op p before its turn. An addition or a reduction of a gradient: the only op that is passed
 * over is the ARRIVED of its micro-batch. A mean: all that fills or sums its bucket was taken.
 * p: any. Returns 0, or -1 if p may not be taken now.
 * spec: STEP-2, STEP-3
 */
/*@ requires ok: CursorOk(c);
    terminates \true; exits \false;
    assigns c->ahead, c->early, c->mean, c->issued[0 .. c->length - 1];
    ensures result: \result == 0 || \result == -1;
    ensures unchanged: \result == -1 ==> c->ahead == \old(c->ahead) &&
      c->early == \old(c->early) && c->mean == \old(c->mean) &&
      (c->last != \null ==> SameMarks{Pre,Here}(c->issued, c->length));
    ensures taken: \result == 0 ==> c->pc < p < c->length && !\old(TakenEarly(c, p)) &&
      c->ops[p].if_stepped == 0;
    ensures in_turn: \result == 0 && c->ops[p].kind != ZP_OP_MEAN ==>
      \old(EarlyAt(c, p)) && BlockOp(c->ops, p) && c->ahead == p + 1 && c->early == p &&
      c->mean == \old(c->mean) && (c->last != \null ==> SameMarks{Pre,Here}(c->issued, c->length));
    ensures mean: \result == 0 && c->ops[p].kind == ZP_OP_MEAN ==>
      c->last != \null && c->last[p] < Front(c) <= p && c->ops[p].group < 0 && c->mean == p &&
      c->issued[p] == 1 && c->ahead == \old(c->ahead) && c->early == \old(c->early) &&
      (\forall integer i; 0 <= i < c->length && i != p ==>
        c->issued[i] == \old(c->issued[i]));
    ensures ok: CursorOk(c);
*/
int32_t zp_cursor_take_early(zp_cursor *c, int64_t p);

/* Ends the op that was taken last and is not done. Ops taken early end first. The cursor moves to
 * the next op that was not taken early and that the step does not omit. Returns 0, or -1 if no op
 * is out.
 * spec: STEP-2, STEP-6
 */
/*@ requires ok: CursorOk(c);
    terminates \true; exits \false;
    assigns c->pc, c->state, c->early, c->mean;
    ensures refused: \result == -1 <==>
      \old(c->state) == ZP_CURSOR_BETWEEN && \old(c->early) == 0;
    ensures result: \result == 0 || \result == -1;
    ensures unchanged: \result == -1 || 0 < \old(c->early) || 0 < \old(c->mean) ==>
      c->pc == \old(c->pc) && c->state == \old(c->state);
    ensures mean: c->mean == 0;
    ensures early: c->early == (0 < \old(c->mean) ? \old(c->early) : 0);
    ensures moved: \result == 0 && \old(c->early) == 0 && \old(c->mean) == 0 ==>
      \old(c->pc) < c->pc && c->state == ZP_CURSOR_BETWEEN;
    ensures passed: \forall integer i; \old(c->pc) < i < c->pc ==>
      TakenEarly(c, i) || !Kept(c->ops, i, c->decision);
    ensures end: \old(c->state) == ZP_CURSOR_LEFT ==> c->pc == c->length;
    ensures ok: CursorOk(c);
*/
int32_t zp_cursor_done(zp_cursor *c);

/* Records the step's decision while DECIDE is out. Returns 0; -1 if another op is out, the step is
 * decided, or an op that a skipped step omits was taken already.
 * skipped: 0 or not.
 * spec: STEP-6
 */
/*@ requires ok: CursorOk(c);
    terminates \true; exits \false;
    assigns c->decision;
    ensures result: \result == 0 || \result == -1;
    ensures unchanged: \result == -1 ==> c->decision == \old(c->decision);
    ensures decided: \result == 0 ==> \old(c->decision) == ZP_CURSOR_UNDECIDED &&
      c->decision == (skipped != 0 ? ZP_CURSOR_SKIPPED : ZP_CURSOR_STEPPED);
    ensures op: \result == 0 ==>
      c->state == ZP_CURSOR_OUT && c->ops[c->pc].kind == ZP_OP_DECIDE;
    ensures plain: \result == 0 ==>
      \forall integer i; 0 <= i <= c->pc ==> c->ops[i].if_stepped == 0;
    ensures ok: CursorOk(c);
*/
int32_t zp_cursor_decide(zp_cursor *c, int32_t skipped);

/* Leaves the rest of the program out: moves to the last op, which counts as carried out. Returns 0,
 * or -1 if no op is out, or one that was taken early.
 * spec: CKPT-6
 */
/*@ requires ok: CursorOk(c);
    terminates \true; exits \false;
    assigns c->pc, c->state;
    ensures result: \result == 0 || \result == -1;
    ensures unchanged: \result == -1 ==> c->pc == \old(c->pc) && c->state == \old(c->state);
    ensures last: \result == 0 ==> c->pc == c->length - 1 && c->state == ZP_CURSOR_LEFT;
    ensures from: \result == 0 ==> \old(c->state) == ZP_CURSOR_OUT && c->ahead <= \old(c->pc);
    ensures ok: CursorOk(c);
*/
int32_t zp_cursor_leave(zp_cursor *c);

#endif
