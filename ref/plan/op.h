/* Makes and appends the ops of a program. Internal to ref/plan/program*.c.
 * spec: STEP-2, LEDG-1, PIPE-5 */
#ifndef ZP_PLAN_OP_H
#define ZP_PLAN_OP_H

#include "program.h"

/* An op with only its kind and clock set. */
/*@ terminates \true; exits \false;
    assigns \nothing;
    ensures arguments: \result.kind == kind && \result.clock_t == clock_t &&
        \result.clock_i == clock_i;
    ensures no_group: \result.what == ZP_WHAT_NONE && \result.group == -1 && \result.key == -1 &&
        \result.dtype == -1 && \result.redop == ZP_RED_NONE && \result.root == -1;
    ensures nothing: \result.flat == -1 && \result.param == -1 && \result.slot == -1 &&
        \result.if_stepped == 0 && \result.mb == -1 && \result.recv_mb == -1 &&
        \result.bucket == -1 && \result.offset == 0 && \result.count == 0; */
static inline zp_op zp_op_blank(int32_t kind, int64_t clock_t, int64_t clock_i)
{
  zp_op op = {0};
  op.kind = kind;
  op.what = ZP_WHAT_NONE;
  op.group = -1;
  op.key = -1;
  op.dtype = -1;
  op.redop = ZP_RED_NONE;
  op.root = -1;
  op.flat = -1;
  op.param = -1;
  op.slot = -1;
  op.if_stepped = 0;
  op.mb = -1;
  op.recv_mb = -1;
  op.bucket = -1;
  op.offset = 0;
  op.count = 0;
  op.clock_t = clock_t;
  op.clock_i = clock_i;
  return op;
}

/* An all-reduce(SUM) of `count` int64 over the world. STAT-1, CKPT-2 */
/*@ terminates \true; exits \false;
    assigns \nothing;
    ensures arguments: \result.kind == ZP_OP_ALL_REDUCE && \result.clock_t == clock_t &&
        \result.clock_i == clock_i && \result.what == what && \result.count == count;
    ensures world: \result.group == ZP_GROUP_WORLD && \result.key == -1 &&
        \result.dtype == ZP_I64 && \result.redop == ZP_RED_SUM && \result.root == -1;
    ensures nothing: \result.flat == -1 && \result.param == -1 && \result.slot == -1 &&
        \result.if_stepped == 0 && \result.mb == -1 && \result.recv_mb == -1 &&
        \result.bucket == -1 && \result.offset == 0; */
static inline zp_op zp_op_agree(int32_t what, int64_t count, int64_t clock_t, int64_t clock_i)
{
  zp_op op = zp_op_blank(ZP_OP_ALL_REDUCE, clock_t, clock_i);
  op.what = what;
  op.group = ZP_GROUP_WORLD;
  op.dtype = ZP_I64;
  op.redop = ZP_RED_SUM;
  op.count = count;
  return op;
}

/* A communication about bucket b of flat group k over its reduction group; count: the elements of
 * one part. f must be a flat group and b one of its buckets. LEDG-3 */
/*@ requires flat: \valid_read(f) && FlatOk(f);
    requires bucket: 0 <= b && b * f->capacity < f->numel;
    terminates \true; exits \false;
    assigns \nothing;
    ensures arguments: \result.kind == kind && \result.clock_t == clock_t &&
        \result.clock_i == clock_i && \result.what == what && \result.flat == k &&
        \result.bucket == b;
    ensures group: \result.group == f->group && \result.key == -1;
    ensures part: \result.count == Part(f->numel, f->capacity, f->members, f->align, b);
    ensures nothing: \result.dtype == -1 && \result.redop == ZP_RED_NONE && \result.root == -1 &&
        \result.param == -1 && \result.slot == -1 && \result.if_stepped == 0 &&
        \result.mb == -1 && \result.recv_mb == -1 && \result.offset == 0; */
static inline zp_op zp_op_on_bucket(const zp_flat *f, int32_t kind, int32_t what, int32_t k,
                                    int64_t b, int64_t clock_t, int64_t clock_i)
{
  zp_op op = zp_op_blank(kind, clock_t, clock_i);
  op.what = what;
  op.group = f->group;
  op.flat = k;
  op.bucket = b;
  op.count = zp_part(f, b);
  return op;
}

/* A local op for bucket b of flat group k. */
/*@ terminates \true; exits \false;
    assigns \nothing;
    ensures arguments: \result.kind == kind && \result.clock_t == clock_t &&
        \result.clock_i == clock_i && \result.flat == k && \result.bucket == b;
    ensures no_group: \result.what == ZP_WHAT_NONE && \result.group == -1 && \result.key == -1 &&
        \result.dtype == -1 && \result.redop == ZP_RED_NONE && \result.root == -1;
    ensures nothing: \result.param == -1 && \result.slot == -1 && \result.if_stepped == 0 &&
        \result.mb == -1 && \result.recv_mb == -1 && \result.offset == 0 &&
        \result.count == 0; */
static inline zp_op zp_op_local(int32_t kind, int32_t k, int64_t b, int64_t clock_t,
                                int64_t clock_i)
{
  zp_op op = zp_op_blank(kind, clock_t, clock_i);
  op.flat = k;
  op.bucket = b;
  return op;
}

/* Appends op to the program's first n ops and returns n + 1. Every op is written here, so this
 * contract gives the step of each fold in spec/acsl/ledger.h. ops must have room for one more, and
 * the op's clock must come after the clocks so far. LEDG-1, PIPE-5 */
/*@ requires room: 0 <= n < 9223372036854775807 && \valid(ops + n);
    requires clock: Clocked(ops, n, op.clock_t, op.clock_i);
    terminates \true; exits \false;
    assigns ops[n];
    ensures length: \result == n + 1;
    ensures op: OpIs(ops + n, op);
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures clock: Clocked(ops, n + 1, op.clock_t, op.clock_i + 1);
    ensures ledger: \forall integer g, key, stepped; LedgerOf(ops, n + 1, g, key, stepped) ==
        Put(LedgerOf{Pre}(ops, n, g, key, stepped), op, g, key, stepped);
    ensures link: \forall integer peer;
        LinkOf(ops, n + 1, peer) == Link(LinkOf{Pre}(ops, n, peer), op, peer);
    ensures added: \forall integer param, mb, e, k, b; Added(ops, n + 1, param, mb, e, k, b) ==
        Added{Pre}(ops, n, param, mb, e, k, b) + Adds(op, param, mb, e, k, b);
    ensures filled: \forall integer k, b, mb;
        Filled(ops, n + 1, k, b, mb) == Filled{Pre}(ops, n, k, b, mb) + Fills(op, k, b, mb);
    ensures reduced: \forall integer k, b, mb;
        Reduced(ops, n + 1, k, b, mb) == Reduced{Pre}(ops, n, k, b, mb) + Reduces(op, k, b, mb); */
static inline int64_t zp_emit(zp_op *ops, int64_t n, zp_op op)
{
  ops[n] = op;
  /*@ assert clocks: \forall integer p; 0 <= p < n ==>
        ops[p].clock_t == \at(ops[p].clock_t, Pre) &&
        ops[p].clock_i == \at(ops[p].clock_i, Pre); */
  //@ assert increasing: Increasing(ops, n) && Below(ops, n, op.clock_t, op.clock_i);
  /*@ assert ids: \forall integer p; 0 <= p < n ==> ops[p].kind == \at(ops[p].kind, Pre) &&
        ops[p].what == \at(ops[p].what, Pre) && ops[p].group == \at(ops[p].group, Pre) &&
        ops[p].key == \at(ops[p].key, Pre) && ops[p].dtype == \at(ops[p].dtype, Pre); */
  /*@ assert places: \forall integer p; 0 <= p < n ==> ops[p].redop == \at(ops[p].redop, Pre) &&
        ops[p].root == \at(ops[p].root, Pre) && ops[p].flat == \at(ops[p].flat, Pre) &&
        ops[p].param == \at(ops[p].param, Pre) && ops[p].slot == \at(ops[p].slot, Pre) &&
        ops[p].if_stepped == \at(ops[p].if_stepped, Pre); */
  /*@ assert sizes: \forall integer p; 0 <= p < n ==> ops[p].mb == \at(ops[p].mb, Pre) &&
        ops[p].recv_mb == \at(ops[p].recv_mb, Pre) &&
        ops[p].bucket == \at(ops[p].bucket, Pre) && ops[p].offset == \at(ops[p].offset, Pre) &&
        ops[p].count == \at(ops[p].count, Pre); */
  //@ assert rest: SameOps{Pre,Here}(ops, n);
  return n + 1;
}

#endif
