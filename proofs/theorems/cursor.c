/* Family 8: what an executor takes from its cursor, whichever functions it calls, in whichever
 * order, with whichever arguments. The list of calls may end anywhere, as an executor does at an
 * error. */
#include "../../ref/engine/cursor.h"

//@ check lemma sentinel: \false;

/* Entries of the list of calls; another number calls nothing. */
enum { TAKE = 0, TAKE_EARLY = 1, DONE = 2, DECIDE = 3, LEAVE = 4 };

/* How often two ops of the program were handed out, and what else was called. */
typedef struct seen {
  int16_t first, second;
  int16_t early; /* 1: some op was taken early */
  int16_t left;  /* 1: the program was left */
} seen;

/*@ requires ok: CursorOk(c) && LastOk(c);
    terminates \true; exits \false;
    assigns c->state, c->stepped;
    ensures same: SameProgram{Pre,Here}(c) && c->pc == \old(c->pc);
    ensures nothing: \result == -1 ==> c->state == \old(c->state);
    ensures range: -1 <= \result < c->length;
    ensures new: \result != -1 ==> \result == c->pc && \old(c->state) == ZP_CURSOR_BETWEEN &&
      c->state == ZP_CURSOR_OUT && !\old(Handed(c, \result)) &&
      Kept(c->ops, \result, c->decision);
    ensures in_order: \result != -1 ==> InOrder{Pre}(c, \result);
    ensures ok: CursorOk(c) && LastOk(c);
*/
static int64_t call_take(zp_cursor *c)
{
  /*@ assert block: c->state == ZP_CURSOR_BETWEEN ==> \forall integer j; c->pc < j < c->ahead ==>
        !Follows(c->ops, c->pc, j); */
  /*@ assert marks: c->state == ZP_CURSOR_BETWEEN && c->last != \null ==>
        \forall integer j; c->pc < j < c->length && c->issued[j] != 0 ==>
          !InBucket(c->ops, c->pc, j); */
  /*@ assert means: c->state == ZP_CURSOR_BETWEEN && c->last != \null ==>
        \forall integer j; c->pc < j < c->length && c->issued[j] != 0 ==>
          !Follows(c->ops, c->pc, j); */
  /*@ assert after: c->state == ZP_CURSOR_BETWEEN ==> \forall integer j; c->pc < j < c->length &&
        Handed(c, j) ==> !Follows(c->ops, c->pc, j); */
  /*@ assert before: \forall integer i; 0 <= i < c->pc && Kept(c->ops, i, c->decision) ==>
        Handed(c, i); */
  const int64_t p = zp_cursor_take(c);
  return p == c->length ? -1 : p;
}

/*@ requires ok: CursorOk(c) && LastOk(c);
    terminates \true; exits \false;
    assigns c->ahead, c->early, c->mean, c->issued[0 .. c->length - 1];
    ensures same: SameProgram{Pre,Here}(c) && c->pc == \old(c->pc) && c->state == \old(c->state);
    ensures range: \result == -1 || (\result == p && c->pc < p < c->length);
    ensures nothing: \result == -1 ==> \forall integer i; c->pc < i < c->length ==>
      (TakenEarly(c, i) <==> \old(TakenEarly(c, i)));
    ensures none: \result == -1 && \old(NoneEarly(c)) ==> NoneEarly(c);
    ensures new: \result != -1 ==> !\old(Handed(c, p)) && c->ops[p].if_stepped == 0 &&
      c->state != ZP_CURSOR_LEFT;
    ensures others: \result != -1 ==> \forall integer i; c->pc < i < c->length ==>
      (TakenEarly(c, i) <==> i == p || \old(TakenEarly(c, i)));
    ensures in_order: \result != -1 ==> InOrder{Pre}(c, p);
    ensures ok: CursorOk(c) && LastOk(c);
*/
static int64_t call_take_early(zp_cursor *c, int64_t p)
{
  /*@ assert before: \forall integer i; 0 <= i < c->pc && Kept(c->ops, i, c->decision) ==>
        Handed(c, i); */
  /*@ assert later: c->last != \null ==> \forall integer j; p < j < c->length &&
        c->issued[j] != 0 && Front(c) <= p ==> !InBucket(c->ops, p, j); */
  /*@ assert means: c->last != \null ==> \forall integer j; p < j < c->length &&
        c->issued[j] != 0 && Front(c) <= p ==> !Follows(c->ops, p, j); */
  /*@ assert after: Front(c) <= p ==> \forall integer j; p < j < c->length && Handed(c, j) ==>
        !Follows(c->ops, p, j); */
  /*@ assert in_turn: EarlyAt(c, p) && BlockOp(c->ops, p) && p < c->length ==>
        \forall integer i; c->pc <= i < p && Follows(c->ops, i, p) ==> Handed(c, i); */
  /*@ assert mean: c->last != \null && 0 <= p < c->length && c->ops[p].kind == ZP_OP_MEAN &&
        c->ops[p].if_stepped == 0 && c->last[p] < Front(c) ==>
        \forall integer i; c->pc <= i < p && InBucket(c->ops, i, p) ==> i < Front(c); */
  /*@ assert bucket: c->last != \null && 0 <= p < c->length && c->ops[p].kind == ZP_OP_MEAN &&
        c->ops[p].if_stepped == 0 && c->last[p] < Front(c) ==>
        \forall integer i; c->pc <= i < p && InBucket(c->ops, i, p) ==> Handed(c, i); */
  const int32_t refused = zp_cursor_take_early(c, p);
  if (refused != 0) return -1;
  //@ assert front: \at(Front(c),Pre) <= p;
  //@ assert follows: InOrder{Pre}(c, p);
  return p;
}

/*@ requires ok: CursorOk(c) && LastOk(c);
    terminates \true; exits \false;
    assigns c->pc, c->state, c->early, c->mean;
    ensures same: SameProgram{Pre,Here}(c);
    ensures handed: \old(c->state) != ZP_CURSOR_LEFT ==> \forall integer i; 0 <= i < c->length ==>
      \old(Handed(c, i)) && \old(Kept(c->ops, i, c->decision)) ==> Handed(c, i);
    ensures not_handed: \old(c->state) != ZP_CURSOR_LEFT ==>
      \forall integer i; 0 <= i < c->length && Handed(c, i) ==> \old(Handed(c, i));
    ensures left: \old(c->state) == ZP_CURSOR_LEFT ==>
      c->state == ZP_CURSOR_BETWEEN && c->pc == c->length && c->early == 0;
    ensures stays: \old(c->state) == ZP_CURSOR_BETWEEN && \old(c->early) == 0 ==>
      c->pc == \old(c->pc) && c->state == \old(c->state) && c->early == 0;
    ensures inside: \old(c->state) != ZP_CURSOR_LEFT ==> c->state != ZP_CURSOR_LEFT;
    ensures ok: CursorOk(c) && LastOk(c);
*/
static void call_done(zp_cursor *c)
{
  (void)zp_cursor_done(c);
}

/*@ requires ok: CursorOk(c) && LastOk(c);
    terminates \true; exits \false;
    assigns c->decision;
    ensures same: SameProgram{Pre,Here}(c);
    ensures unchanged: c->decision == \old(c->decision) || (c->state == ZP_CURSOR_OUT &&
      \old(c->decision) != ZP_CURSOR_SKIPPED && c->ops[c->pc].kind == ZP_OP_DECIDE);
    ensures handed: c->state != ZP_CURSOR_LEFT && c->decision != \old(c->decision) ==>
      \forall integer i; 0 <= i < c->length ==> (Handed(c, i) <==> \old(Handed(c, i)));
    ensures kept: c->state != ZP_CURSOR_LEFT && c->decision != \old(c->decision) ==>
      \forall integer i; 0 <= i < c->length && Handed(c, i) ==> Kept(c->ops, i, c->decision);
    ensures ok: CursorOk(c) && LastOk(c);
*/
static void call_decide(zp_cursor *c, int32_t skipped)
{
  if (zp_cursor_decide(c, skipped) != 0) return;
  //@ assert plain: \forall integer i; 0 <= i <= c->pc ==> c->ops[i].if_stepped == 0;
  /*@ assert early: \forall integer i; c->pc < i < c->length && TakenEarly(c, i) ==>
        c->ops[i].if_stepped == 0; */
}

/*@ requires ok: CursorOk(c) && LastOk(c);
    terminates \true; exits \false;
    assigns c->pc, c->state;
    ensures same: SameProgram{Pre,Here}(c);
    ensures result: \result == 0 || \result == 1;
    ensures unchanged: \result == 0 ==> c->pc == \old(c->pc) && c->state == \old(c->state);
    ensures left: \result == 1 ==> c->state == ZP_CURSOR_LEFT && c->pc == c->length - 1 &&
      \old(c->state) == ZP_CURSOR_OUT;
    ensures ok: CursorOk(c) && LastOk(c);
*/
static int16_t call_leave(zp_cursor *c)
{
  return zp_cursor_leave(c) == 0 ? 1 : 0;
}

/* What is known of two ops v and w of the program, v before w, at any time. */
/*@ predicate KnownCount{L}(seen *s) =
      0 <= s->first <= 1 && 0 <= s->second <= 1 && 0 <= s->early <= 1 && 0 <= s->left <= 1;
    predicate KnownKept{L}(zp_cursor *c, seen *s, integer v, integer w) =
      (s->first == 1 ==> Kept(c->ops, v, c->decision)) &&
      (s->second == 1 ==> Kept(c->ops, w, c->decision));
    predicate KnownOrder{L}(zp_cursor *c, seen *s, integer v, integer w) =
      s->second == 1 && Kept(c->ops, v, c->decision) && Follows(c->ops, v, w) ==> s->first == 1;
    predicate KnownPrefix{L}(zp_cursor *c, seen *s, integer v, integer w) =
      s->early == 0 && s->second == 1 && Kept(c->ops, v, c->decision) ==> s->first == 1;
    predicate KnownInside{L}(zp_cursor *c, seen *s, integer v, integer w) =
      s->left == 0 ==> c->state != ZP_CURSOR_LEFT && (s->early == 0 ==> NoneEarly(c)) &&
        (s->first == 1 <==> Handed(c, v)) && (s->second == 1 <==> Handed(c, w));
    predicate KnownLeft{L}(zp_cursor *c, seen *s) =
      s->left != 0 ==> c->state == ZP_CURSOR_LEFT ||
        (c->state == ZP_CURSOR_BETWEEN && c->pc == c->length && c->early == 0);
    predicate Known{L}(zp_cursor *c, seen *s, integer v, integer w) =
      CursorOk(c) && LastOk(c) && KnownCount(s) && KnownKept(c, s, v, w) &&
      KnownOrder(c, s, v, w) && KnownPrefix(c, s, v, w) && KnownInside(c, s, v, w) &&
      KnownLeft(c, s); */

/*@ requires memory: \valid(s) && \separated(s, c);
    requires ops: 0 <= v < w < c->length;
    requires known: Known(c, s, v, w);
    terminates \true; exits \false;
    assigns c->state, c->stepped, *s;
    ensures same: SameProgram{Pre,Here}(c);
    ensures counts: \old(s->first) <= s->first && \old(s->second) <= s->second;
    ensures left: \old(s->left) != 0 ==> s->left != 0 && s->first == \old(s->first) &&
      s->second == \old(s->second);
    ensures leaves: \old(s->left) == 0 && s->left != 0 ==> c->pc == c->length - 1;
    ensures early: s->early == \old(s->early);
    ensures known: Known(c, s, v, w);
*/
static void see_take(zp_cursor *c, seen *s, int64_t v, int64_t w)
{
  const int64_t p = call_take(c);
  if (p == -1) return;
  //@ assert inside_before: s->left == 0;
  //@ assert none: s->early == 0 ==> NoneEarly(c);
  if (p == v) s->first++;
  if (p == w) s->second++;
  //@ assert count: KnownCount(s);
  //@ assert kept: KnownKept(c, s, v, w);
  //@ assert order: KnownOrder(c, s, v, w);
  //@ assert prefix: KnownPrefix(c, s, v, w);
  //@ assert inside: KnownInside(c, s, v, w);
  //@ assert at_end: KnownLeft(c, s);
}

/*@ requires memory: \valid(s) && \separated(s, c);
    requires ops: 0 <= v < w < c->length;
    requires known: Known(c, s, v, w);
    terminates \true; exits \false;
    assigns c->ahead, c->early, c->mean, c->issued[0 .. c->length - 1], *s;
    ensures same: SameProgram{Pre,Here}(c);
    ensures counts: \old(s->first) <= s->first && \old(s->second) <= s->second;
    ensures left: \old(s->left) != 0 ==> s->left != 0 && s->first == \old(s->first) &&
      s->second == \old(s->second);
    ensures leaves: \old(s->left) == 0 && s->left != 0 ==> c->pc == c->length - 1;
    ensures known: Known(c, s, v, w);
*/
static void see_take_early(zp_cursor *c, seen *s, int64_t p, int64_t v, int64_t w)
{
  if (call_take_early(c, p) == -1) return;
  //@ assert inside_before: s->left == 0;
  s->early = 1;
  if (p == v) s->first++;
  if (p == w) s->second++;
  //@ assert count: KnownCount(s);
  //@ assert kept: KnownKept(c, s, v, w);
  //@ assert order: KnownOrder(c, s, v, w);
  //@ assert prefix: KnownPrefix(c, s, v, w);
  //@ assert inside: KnownInside(c, s, v, w);
  //@ assert at_end: KnownLeft(c, s);
}

/*@ requires memory: \valid(s) && \separated(s, c);
    requires ops: 0 <= v < w < c->length;
    requires known: Known(c, s, v, w);
    terminates \true; exits \false;
    assigns c->pc, c->state, c->early, c->mean;
    ensures same: SameProgram{Pre,Here}(c);
    ensures counts: \old(s->first) <= s->first && \old(s->second) <= s->second;
    ensures left: \old(s->left) != 0 ==> s->left != 0 && s->first == \old(s->first) &&
      s->second == \old(s->second);
    ensures leaves: \old(s->left) == 0 && s->left != 0 ==> c->pc == c->length - 1;
    ensures early: s->early == \old(s->early);
    ensures known: Known(c, s, v, w);
*/
static void see_done(zp_cursor *c, seen *s, int64_t v, int64_t w)
{
  (void)s;
  (void)v;
  (void)w;
  call_done(c);
  //@ assert count: KnownCount(s);
  //@ assert kept: KnownKept(c, s, v, w);
  //@ assert order: KnownOrder(c, s, v, w);
  //@ assert prefix: KnownPrefix(c, s, v, w);
  //@ assert inside: KnownInside(c, s, v, w);
  //@ assert at_end: KnownLeft(c, s);
}

/*@ requires memory: \valid(s) && \separated(s, c);
    requires ops: 0 <= v < w < c->length;
    requires known: Known(c, s, v, w);
    terminates \true; exits \false;
    assigns c->decision;
    ensures same: SameProgram{Pre,Here}(c);
    ensures counts: \old(s->first) <= s->first && \old(s->second) <= s->second;
    ensures left: \old(s->left) != 0 ==> s->left != 0 && s->first == \old(s->first) &&
      s->second == \old(s->second);
    ensures leaves: \old(s->left) == 0 && s->left != 0 ==> c->pc == c->length - 1;
    ensures early: s->early == \old(s->early);
    ensures known: Known(c, s, v, w);
*/
static void see_decide(zp_cursor *c, seen *s, int32_t skipped, int64_t v, int64_t w)
{
  (void)s;
  (void)v;
  (void)w;
  call_decide(c, skipped);
  //@ assert count: KnownCount(s);
  //@ assert kept: KnownKept(c, s, v, w);
  //@ assert order: KnownOrder(c, s, v, w);
  //@ assert prefix: KnownPrefix(c, s, v, w);
  //@ assert inside: KnownInside(c, s, v, w);
  //@ assert at_end: KnownLeft(c, s);
}

/*@ requires memory: \valid(s) && \separated(s, c);
    requires ops: 0 <= v < w < c->length;
    requires known: Known(c, s, v, w);
    terminates \true; exits \false;
    assigns c->pc, c->state, s->left;
    ensures same: SameProgram{Pre,Here}(c);
    ensures counts: \old(s->first) <= s->first && \old(s->second) <= s->second;
    ensures left: \old(s->left) != 0 ==> s->left != 0 && s->first == \old(s->first) &&
      s->second == \old(s->second);
    ensures leaves: \old(s->left) == 0 && s->left != 0 ==> c->pc == c->length - 1;
    ensures early: s->early == \old(s->early);
    ensures known: Known(c, s, v, w);
*/
static void see_leave(zp_cursor *c, seen *s, int64_t v, int64_t w)
{
  (void)v;
  (void)w;
  if (call_leave(c) == 1) s->left = 1;
  //@ assert count: KnownCount(s);
  //@ assert kept: KnownKept(c, s, v, w);
  //@ assert order: KnownOrder(c, s, v, w);
  //@ assert prefix: KnownPrefix(c, s, v, w);
  //@ assert inside: KnownInside(c, s, v, w);
  //@ assert at_end: KnownLeft(c, s);
}

/*@ requires memory: \valid(s) && \separated(s, c);
    requires ops: 0 <= v < w < c->length;
    requires known: Known(c, s, v, w);
    terminates \true; exits \false;
    assigns c->state, c->stepped, c->ahead, c->early, c->mean, c->pc, c->decision,
      c->issued[0 .. c->length - 1], *s;
    ensures same: SameProgram{Pre,Here}(c);
    ensures counts: \old(s->first) <= s->first && \old(s->second) <= s->second;
    ensures left: \old(s->left) != 0 ==> s->left != 0 && s->first == \old(s->first) &&
      s->second == \old(s->second);
    ensures leaves: \old(s->left) == 0 && s->left != 0 ==> c->pc == c->length - 1;
    ensures known: Known(c, s, v, w);
*/
static void call_one(zp_cursor *c, seen *s, int32_t call, int64_t arg, int64_t v, int64_t w)
{
  if (call == TAKE) see_take(c, s, v, w);
  else if (call == TAKE_EARLY) see_take_early(c, s, arg, v, w);
  else if (call == DONE) see_done(c, s, v, w);
  else if (call == DECIDE) see_decide(c, s, arg != 0, v, w);
  else if (call == LEAVE) see_leave(c, s, v, w);
}

/* The program begins; no op was handed out. */
/*@ requires memory: \valid(c) && \valid(s) && 0 <= length && \valid_read(ops + (0 .. length - 1));
    requires apart: \separated(c, s, ops + (0 .. length - 1));
    requires means: last != \null && \valid(last + (0 .. length - 1)) &&
      \valid(issued + (0 .. length - 1)) &&
      \separated(c, issued + (0 .. length - 1), ops + (0 .. length - 1), last + (0 .. length - 1));
    requires ops: 0 <= v < w < length;
    terminates \true; exits \false;
    assigns *c, *s, last[0 .. length - 1], issued[0 .. length - 1];
    ensures program: c->ops == ops && c->length == length && c->last == last;
    ensures issued: c->issued == issued;
    ensures none: s->first == 0 && s->second == 0 && s->left == 0;
    ensures known: Known(c, s, v, w);
*/
static void begin(zp_cursor *c, seen *s, const zp_op *ops, int64_t length, int32_t phase,
                  int64_t *last, uint8_t *issued, int64_t v, int64_t w)
{
  (void)v;
  (void)w;
  zp_cursor_begin(c, ops, length, phase);
  zp_last_in_bucket(ops, length, last);
  //@ assert length: c->length == length && c->last == \null;
  //@ assert begun: CursorOk(c);
  zp_cursor_means(c, last, issued);
  //@ assert last: LastOk(c);
  //@ assert cursor: CursorOk(c);
  s->first = 0;
  s->second = 0;
  s->early = 0;
  s->left = 0;
  //@ assert none: NoneEarly(c);
  //@ assert first: c->pc == 0 && c->state == ZP_CURSOR_BETWEEN;
  //@ assert early: !TakenEarly(c, v) && !TakenEarly(c, w);
  //@ assert not_first: !Handed(c, v);
  //@ assert not_second: !Handed(c, w);
  //@ assert inside: KnownInside(c, s, v, w);
}

/* The theorem. An executor that may take ops early begins a program and makes the calls of a list,
 * all or the first ones; v and w are any two ops of the program, v before w. At each time, and at
 * the end:
 * each op was handed out at most once (count), and only if the decision keeps it (kept);
 * w was not handed out before v, if the decision keeps v and w follows it (order); so the
 * communications come in the order of the program, and each group's ledger is unchanged
 * (communications);
 * if no op was taken early: not before v, if the decision keeps v: the ops that were handed out are
 * a prefix of the program as the decision resolves it (prefix);
 * at the program's end, all ops were handed out that the decision keeps (all), unless the executor
 * left the program, which leads to its last op (left).
 * ops: (length); last, issued: (length), which this function fills. call, arg: (calls). Not
 * overlapping. spec: STEP-2, STEP-3, STEP-6, LEDG-1, CKPT-6
 */
/*@ requires memory: \valid(c) && \valid(s) && 0 <= length && \valid_read(ops + (0 .. length - 1));
    requires apart: \separated(c, s, ops + (0 .. length - 1));
    requires means: last != \null && \valid(last + (0 .. length - 1)) &&
      \valid(issued + (0 .. length - 1)) &&
      \separated(c, issued + (0 .. length - 1), ops + (0 .. length - 1), last + (0 .. length - 1));
    requires calls: 0 <= calls && \valid_read(call + (0 .. calls - 1)) &&
      \valid_read(arg + (0 .. calls - 1));
    requires ops: 0 <= v < w < length;
    terminates \true; exits \false;
    assigns *c, *s, last[0 .. length - 1], issued[0 .. length - 1];
    ensures program: c->ops == ops && c->length == length;
    ensures count: KnownCount(s);
    ensures kept: KnownKept(c, s, v, w);
    ensures order: KnownOrder(c, s, v, w);
    ensures communications: Communicates(c->ops[v].kind) && Communicates(c->ops[w].kind) &&
      Kept(c->ops, v, c->decision) && s->second == 1 ==> s->first == 1;
    ensures prefix: KnownPrefix(c, s, v, w);
    ensures all: s->left == 0 && c->pc == length ==>
      (s->first == 1 <==> Kept(c->ops, v, c->decision)) &&
      (s->second == 1 <==> Kept(c->ops, w, c->decision));
    ensures left: s->left != 0 ==> length - 1 <= c->pc <= length;
    ensures ok: CursorOk(c);
*/
void execute(zp_cursor *c, seen *s, const zp_op *ops, int64_t length, int32_t phase, int64_t *last,
             uint8_t *issued, const int32_t *call, const int64_t *arg, int64_t calls, int64_t v,
             int64_t w)
{
  begin(c, s, ops, length, phase, last, issued, v, w);
  /*@ loop invariant range: 0 <= i <= calls;
      loop invariant same: SameProgram{LoopEntry,Here}(c);
      loop invariant known: Known(c, s, v, w);
      loop assigns i, c->state, c->stepped, c->ahead, c->early, c->mean, c->pc, c->decision,
        issued[0 .. length - 1], *s;
      loop variant calls - i; */
  for (int64_t i = 0; i < calls; i++) call_one(c, s, call[i], arg[i], v, w);
  //@ assert at_end: KnownLeft(c, s) && CursorPlace(c);
}

/* The same for an executor that takes nothing early, as the interpreter of ref/engine. */
/*@ requires memory: \valid(c) && \valid(s) && 0 <= length && \valid_read(ops + (0 .. length - 1));
    requires apart: \separated(c, s, ops + (0 .. length - 1));
    requires calls: 0 <= calls && \valid_read(call + (0 .. calls - 1)) &&
      \valid_read(arg + (0 .. calls - 1));
    requires ops: 0 <= v < w < length;
    terminates \true; exits \false;
    assigns *c, *s;
    ensures program: c->ops == ops && c->length == length;
    ensures count: KnownCount(s);
    ensures kept: KnownKept(c, s, v, w);
    ensures prefix: s->second == 1 && Kept(c->ops, v, c->decision) ==> s->first == 1;
    ensures all: s->left == 0 && c->pc == length ==>
      (s->first == 1 <==> Kept(c->ops, v, c->decision)) &&
      (s->second == 1 <==> Kept(c->ops, w, c->decision));
    ensures left: s->left != 0 ==> length - 1 <= c->pc <= length;
    ensures ok: CursorOk(c);
*/
void interpret(zp_cursor *c, seen *s, const zp_op *ops, int64_t length, int32_t phase,
               const int32_t *call, const int64_t *arg, int64_t calls, int64_t v, int64_t w)
{
  zp_cursor_begin(c, ops, length, phase);
  s->first = 0;
  s->second = 0;
  s->early = 0;
  s->left = 0;
  //@ assert none: NoneEarly(c);
  //@ assert first: c->pc == 0 && c->state == ZP_CURSOR_BETWEEN;
  //@ assert early: !TakenEarly(c, v) && !TakenEarly(c, w);
  //@ assert not_first: !Handed(c, v);
  //@ assert not_second: !Handed(c, w);
  //@ assert inside: KnownInside(c, s, v, w);
  /*@ loop invariant range: 0 <= i <= calls;
      loop invariant same: SameProgram{LoopEntry,Here}(c);
      loop invariant none: s->early == 0;
      loop invariant known: Known(c, s, v, w);
      loop assigns i, c->state, c->stepped, c->early, c->mean, c->pc, c->decision, *s;
      loop variant calls - i; */
  for (int64_t i = 0; i < calls; i++) {
    if (call[i] == TAKE) see_take(c, s, v, w);
    else if (call[i] == DONE) see_done(c, s, v, w);
    else if (call[i] == DECIDE) see_decide(c, s, arg[i] != 0, v, w);
    else if (call[i] == LEAVE) see_leave(c, s, v, w);
  }
  //@ assert at_end: KnownLeft(c, s) && CursorPlace(c);
}
