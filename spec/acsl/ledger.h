/* The logic of LEDG-1 … LEDG-3 and PIPE-5. Every function here is a fold over the first n ops of a
 * program; the contract of zp_emit states how one more op changes each fold. Include after
 * ref/plan/program.h's types. */
#ifndef ZP_SPEC_ACSL_LEDGER_H
#define ZP_SPEC_ACSL_LEDGER_H

/* LEDG-1: a ledger is a list. Its constructors are uninterpreted, so ledgers that are equal here
 * are equal under every interpretation. Hop is an exchange with one neighbour: down and up are the
 * micro-batches sent to the next and to the previous stage. */
/*@ axiomatic Trace {
      type trace;
      logic trace Nothing;
      logic trace Snoc(trace t, integer kind, integer what, integer key, integer count,
        integer dtype, integer redop, integer root, integer clock_t, integer clock_i);
      logic trace Hop(trace t, integer kind, integer dtype, integer count, integer down,
        integer up, integer clock_t, integer clock_i);
    } */

/* The groups that have a ledger; links replace it for pp's exchanges (LEDG-1). */
/*@ predicate HasLedger(integer g) = 0 <= g < ZP_GROUPS && g != ZP_GROUP_PP; */

/* LEDG-1: t with op appended, if op belongs to group g (of key `key`) and is issued. stepped 0
 * selects the ledger of a skipped step. */
/*@ logic trace Put(trace t, zp_op op, integer g, integer key, integer stepped) =
      op.group == g && (g != ZP_GROUP_TIED || op.key == key) &&
      (stepped != 0 || op.if_stepped == 0) ?
        Snoc(t, op.kind, op.what, op.key, op.count, op.dtype, op.redop, op.root, op.clock_t,
          op.clock_i) : t;
    logic trace PutAt{L}(trace t, zp_op *op, integer g, integer key, integer stepped) =
      op->group == g && (g != ZP_GROUP_TIED || op->key == key) &&
      (stepped != 0 || op->if_stepped == 0) ?
        Snoc(t, op->kind, op->what, op->key, op->count, op->dtype, op->redop, op->root,
          op->clock_t, op->clock_i) : t;
    logic trace LedgerOf{L}(zp_op *ops, integer n, integer g, integer key, integer stepped) =
      n <= 0 ? Nothing :
      PutAt(LedgerOf(ops, n - 1, g, key, stepped), ops + (n - 1), g, key, stepped); */

/* PIPE-3: t with op appended, if op is an exchange with stage `peer`. */
/*@ logic trace Link(trace t, zp_op op, integer peer) =
      op.group == ZP_GROUP_PP && op.root == peer ?
        (op.what == ZP_WHAT_ACTIVATION ?
          Hop(t, op.kind, op.dtype, op.count, op.mb, op.recv_mb, op.clock_t, op.clock_i) :
          Hop(t, op.kind, op.dtype, op.count, op.recv_mb, op.mb, op.clock_t, op.clock_i)) : t;
    logic trace LinkAt{L}(trace t, zp_op *op, integer peer) =
      op->group == ZP_GROUP_PP && op->root == peer ?
        (op->what == ZP_WHAT_ACTIVATION ?
          Hop(t, op->kind, op->dtype, op->count, op->mb, op->recv_mb, op->clock_t, op->clock_i) :
          Hop(t, op->kind, op->dtype, op->count, op->recv_mb, op->mb, op->clock_t, op->clock_i)) :
        t;
    logic trace LinkOf{L}(zp_op *ops, integer n, integer peer) =
      n <= 0 ? Nothing : LinkAt(LinkOf(ops, n - 1, peer), ops + (n - 1), peer); */

/* RED-3: the number of times that the ops add element e of entry `param`, of micro-batch mb, into
 * bucket b of flat group k. */
/*@ logic integer Adds(zp_op op, integer param, integer mb, integer e, integer k, integer b) =
      op.kind == ZP_OP_ADD && op.param == param && op.mb == mb && op.flat == k &&
      op.bucket == b && op.offset <= e && e < op.offset + op.count ? 1 : 0;
    logic integer AddsAt{L}(zp_op *op, integer param, integer mb, integer e, integer k,
        integer b) =
      op->kind == ZP_OP_ADD && op->param == param && op->mb == mb && op->flat == k &&
      op->bucket == b && op->offset <= e && e < op->offset + op->count ? 1 : 0;
    logic integer Added{L}(zp_op *ops, integer n, integer param, integer mb, integer e, integer k,
        integer b) =
      n <= 0 ? 0 :
      Added(ops, n - 1, param, mb, e, k, b) + AddsAt(ops + (n - 1), param, mb, e, k, b); */

/* RED-3: the number of elements of micro-batch mb that the ops add into bucket b of flat group
 * k. */
/*@ logic integer Fills(zp_op op, integer k, integer b, integer mb) =
      op.kind == ZP_OP_ADD && op.flat == k && op.bucket == b && op.mb == mb ? op.count : 0;
    logic integer FillsAt{L}(zp_op *op, integer k, integer b, integer mb) =
      op->kind == ZP_OP_ADD && op->flat == k && op->bucket == b && op->mb == mb ? op->count : 0;
    logic integer Filled{L}(zp_op *ops, integer n, integer k, integer b, integer mb) =
      n <= 0 ? 0 : Filled(ops, n - 1, k, b, mb) + FillsAt(ops + (n - 1), k, b, mb); */

/* RED-3: the number of times that the ops reduce bucket b of flat group k after micro-batch mb. */
/*@ logic integer Reduces(zp_op op, integer k, integer b, integer mb) =
      op.what == ZP_WHAT_GRADIENT && op.flat == k && op.bucket == b && op.mb == mb ? 1 : 0;
    logic integer ReducesAt{L}(zp_op *op, integer k, integer b, integer mb) =
      op->what == ZP_WHAT_GRADIENT && op->flat == k && op->bucket == b && op->mb == mb ? 1 : 0;
    logic integer Reduced{L}(zp_op *ops, integer n, integer k, integer b, integer mb) =
      n <= 0 ? 0 : Reduced(ops, n - 1, k, b, mb) + ReducesAt(ops + (n - 1), k, b, mb); */

/* PIPE-5: the clock of every op is greater than that of the previous op. Below: the next op may
 * have clock (t, i). */
/*@ predicate ClockBelow(integer t, integer i, integer u, integer j) = t < u || (t == u && i < j);
    predicate Increasing{L}(zp_op *ops, integer n) =
      \forall integer p; 0 < p < n ==>
        ClockBelow(ops[p - 1].clock_t, ops[p - 1].clock_i, ops[p].clock_t, ops[p].clock_i);
    predicate Below{L}(zp_op *ops, integer n, integer t, integer i) =
      n <= 0 || ClockBelow(ops[n - 1].clock_t, ops[n - 1].clock_i, t, i);
    predicate Clocked{L}(zp_op *ops, integer n, integer t, integer i) =
      Increasing(ops, n) && Below(ops, n, t, i); */

/* *p is op. */
/*@ predicate OpIs{L}(zp_op *p, zp_op op) =
      p->kind == op.kind && p->what == op.what && p->group == op.group && p->key == op.key &&
      p->dtype == op.dtype && p->redop == op.redop && p->root == op.root && p->flat == op.flat &&
      p->param == op.param && p->slot == op.slot && p->if_stepped == op.if_stepped &&
      p->mb == op.mb && p->recv_mb == op.recv_mb && p->bucket == op.bucket &&
      p->offset == op.offset && p->count == op.count && p->clock_t == op.clock_t &&
      p->clock_i == op.clock_i; */

/* The first n ops are equal at two points. */
/*@ predicate SameOp{A,B}(zp_op *op) =
      \at(op->kind, A) == \at(op->kind, B) && \at(op->what, A) == \at(op->what, B) &&
      \at(op->group, A) == \at(op->group, B) && \at(op->key, A) == \at(op->key, B) &&
      \at(op->dtype, A) == \at(op->dtype, B) && \at(op->redop, A) == \at(op->redop, B) &&
      \at(op->root, A) == \at(op->root, B) && \at(op->flat, A) == \at(op->flat, B) &&
      \at(op->param, A) == \at(op->param, B) && \at(op->slot, A) == \at(op->slot, B) &&
      \at(op->if_stepped, A) == \at(op->if_stepped, B) && \at(op->mb, A) == \at(op->mb, B) &&
      \at(op->recv_mb, A) == \at(op->recv_mb, B) && \at(op->bucket, A) == \at(op->bucket, B) &&
      \at(op->offset, A) == \at(op->offset, B) && \at(op->count, A) == \at(op->count, B) &&
      \at(op->clock_t, A) == \at(op->clock_t, B) && \at(op->clock_i, A) == \at(op->clock_i, B);
    predicate SameOps{A,B}(zp_op *ops, integer n) =
      \forall integer p; 0 <= p < n ==> SameOp{A,B}(ops + p); */

#endif
