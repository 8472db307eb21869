/* One entry's gradient of one micro-batch: its additions into buckets, and the reductions of the
 * buckets that it completes. spec: RED-3 … RED-5, PIPE-5 */
#include "../../spec/acsl/bounds.h"
#include "step_internal.h"

#include "../../spec/acsl/step_lemmas.h"

#include "../../spec/acsl/op_is_lemmas.h"

#include "../../spec/acsl/step_where_entry.h"

/* Inside a slot, for the entry with backward index x (0: the stage's last) and bucket b: ADD at (x
 * + 1) · 2^42 + 2 b, the reduction of b at the next integer. PIPE-5 */
#define ENTRY_STRIDE ((int64_t)1 << 42)

/* The bucket slot that bucket b of micro-batch mb fills: at ZeRO stage 2 a flat group has two, used
 * in turn. mb and b are not negative, buckets is the flat group's number of buckets. RED-3 */
/*@ requires range: 0 <= mb && 0 <= buckets && 0 <= b < 4611686018427387904;
    terminates \true; exits \false;
    assigns \nothing;
    ensures place: \result == BucketPlace(mb, buckets, b);
    ensures bit: \result == 0 || \result == 1; */
static int32_t bucket_slot(int64_t mb, int64_t buckets, int64_t b)
{
  return (int32_t)(mb % 2 == 1 && buckets % 2 == 1 ? (b + 1) % 2 : b % 2);
}

/* Copies or adds one run of an entry's gradient into its bucket b. a is within its limits, is not
 * empty and lies in b. RED-3 */
/*@ requires arrival: ArrivalOk(a) && a.from < a.to;
    requires bucket: Meets(a.flat.capacity, a.from, a.to, b);
    terminates \true; exits \false;
    assigns \nothing;
    ensures kind: \result.kind == ZP_OP_ADD && \result.what == ZP_WHAT_NONE;
    ensures local: \result.group == -1 && \result.key == -1 && \result.if_stepped == 0 &&
        \result.dtype == -1 && \result.redop == ZP_RED_NONE && \result.root == -1 &&
        \result.recv_mb == -1;
    ensures where: \result.flat == a.k && \result.param == a.param && \result.mb == a.mb &&
        \result.bucket == b;
    ensures run: \result.offset == RunFrom(a.flat.capacity, a.from, b) - a.from &&
        \result.offset + \result.count == RunTo(a.flat.capacity, a.to, b) - a.from;
    ensures fits: 1 <= \result.count <= a.flat.capacity;
    ensures place: \result.slot == ArrivalPlace(a, b);
    ensures clock: \result.clock_t == a.t && \result.clock_i == a.clock + 2 * b; */
static zp_op add_op(zp_arrival a, int64_t b)
{
  zp_op op = zp_op_blank(ZP_OP_ADD, a.t, a.clock + 2 * b);
  const int64_t lo = b * a.flat.capacity, hi = lo + a.flat.capacity;
  const int64_t from = lo < a.from ? a.from : lo, to = hi < a.to ? hi : a.to;
  op.flat = a.k;
  op.param = a.param;
  op.mb = a.mb;
  op.bucket = b;
  op.offset = from - a.from;
  op.count = to - from;
  if (a.stage == 2) op.slot = bucket_slot(a.mb, zp_buckets(&a.flat), b);
  return op;
}

/* The reduction of bucket b after its last ADD of micro-batch a.mb. a is within its limits, b is a
 * bucket of its flat group. RED-3, RED-4, RED-5 */
/*@ requires arrival: ArrivalOk(a);
    requires bucket: 0 <= b && b * a.flat.capacity < a.flat.numel;
    terminates \true; exits \false;
    assigns \nothing;
    ensures kind: \result.kind == ReduceKind(a.stage) && \result.what == ZP_WHAT_GRADIENT;
    ensures group: \result.group == a.flat.group && \result.key == -1 && \result.root == -1 &&
        \result.if_stepped == 0 && \result.param == -1 && \result.recv_mb == -1 &&
        \result.offset == 0;
    ensures where: \result.flat == a.k && \result.mb == a.mb && \result.bucket == b;
    ensures count: \result.count == ReduceCount(a.stage, a.reduce, a.flat.numel, a.flat.capacity,
        a.flat.members, a.flat.align, b);
    ensures dtype: \result.dtype == ReduceDtype(a.stage, a.reduce, a.dtype);
    ensures redop: \result.redop == ReduceRedop(a.stage, a.reduce);
    ensures place: \result.slot == ArrivalPlace(a, b);
    ensures clock: \result.clock_t == a.t && \result.clock_i == a.clock + 2 * b + 1; */
static zp_op reduce_op(zp_arrival a, int64_t b)
{
  zp_op op = zp_op_on_bucket(&a.flat, ZP_OP_REDUCE_SCATTER, ZP_WHAT_GRADIENT, a.k, b, a.t,
                             a.clock + 2 * b + 1);
  op.mb = a.mb;
  if (a.stage == 2) {
    op.dtype = a.dtype;
    op.redop = a.reduce == ZP_EXACT ? ZP_RED_EXACT : ZP_RED_ORDERED;
    op.slot = bucket_slot(a.mb, zp_buckets(&a.flat), b);
    return op;
  }
  const int64_t count = a.stage == 0 ? zp_bucket_padded(&a.flat, b) : zp_part(&a.flat, b);
  if (a.stage == 0) op.kind = ZP_OP_ALL_REDUCE;
  op.dtype = a.reduce == ZP_EXACT ? ZP_I64 : ZP_F32;
  op.redop = a.reduce == ZP_EXACT ? ZP_RED_SUM : ZP_RED_ORDERED;
  op.count = a.reduce == ZP_EXACT ? count * ZP_LIMBS : count;
  return op;
}

/* Appends the entry's run in bucket b. a is within its limits, not empty, and lies in b; ops has
 * room for one more, with a clock after those so far. RED-3 */
/*@ requires arrival: ArrivalOk(a) && a.from < a.to;
    requires bucket: Meets(a.flat.capacity, a.from, a.to, b);
    requires room: 0 <= n < 9223372036854775807 && \valid(ops + n);
    requires clock: Clocked(ops, n, a.t, a.clock + 2 * b);
    terminates \true; exits \false;
    assigns ops[n];
    ensures length: \result == n + 1;
    ensures clock: Clocked(ops, \result, a.t, a.clock + 2 * b + 1);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == LedgerOf{Pre}(ops, n, g, key, d);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures added: \forall integer p, m, e, k, c; Added(ops, \result, p, m, e, k, c) ==
        Added{Pre}(ops, n, p, m, e, k, c) + (p == a.param && m == a.mb && k == a.k && c == b ?
          InRun(a.flat.capacity, a.from, a.to, b, a.from + e) : 0);
    ensures reductions: \forall integer k, c, m;
        Reduced(ops, \result, k, c, m) == Reduced{Pre}(ops, n, k, c, m);
    ensures plain: PlainOps(ops, n, \result) && Placed(ops, n, \result);
    ensures where: ArrivalAdd(a, ops + n) && ops[n].bucket == b;
    ensures op: ArrivalAddition(ops + n, a, b);
    ensures stays: SameOps{Pre,Post}(ops, n); */
static int64_t put_add(zp_arrival a, int64_t b, zp_op *ops, int64_t n)
{
  return zp_emit(ops, n, add_op(a, b));
}

/* Appends the reduction of bucket b. a is within its limits, b is a bucket of its flat group; ops
 * has room for one more, with a clock after those so far. RED-3 … RED-5 */
/*@ requires arrival: ArrivalOk(a);
    requires bucket: 0 <= b && b * a.flat.capacity < a.flat.numel;
    requires room: 0 <= n < 9223372036854775807 && \valid(ops + n);
    requires clock: Clocked(ops, n, a.t, a.clock + 2 * b + 1);
    terminates \true; exits \false;
    assigns ops[n];
    ensures length: \result == n + 1;
    ensures clock: Clocked(ops, \result, a.t, a.clock + 2 * b + 2);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == (g != a.flat.group ?
          LedgerOf{Pre}(ops, n, g, key, d) :
          ArrivalOne(LedgerOf{Pre}(ops, n, g, key, d), a, b));
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures added: \forall integer p, m, e, k, c;
        Added(ops, \result, p, m, e, k, c) == Added{Pre}(ops, n, p, m, e, k, c);
    ensures reductions: \forall integer k, c, m; Reduced(ops, \result, k, c, m) ==
        Reduced{Pre}(ops, n, k, c, m) + (k == a.k && c == b && m == a.mb ? 1 : 0);
    ensures plain: PlainOps(ops, n, \result) && Placed(ops, n, \result);
    ensures where: ArrivalReduction(a, ops + n) && ops[n].bucket == b;
    ensures op: ArrivalReduced(ops + n, a, b);
    ensures stays: SameOps{Pre,Post}(ops, n); */
static int64_t put_reduction(zp_arrival a, int64_t b, zp_op *ops, int64_t n)
{
  return zp_emit(ops, n, reduce_op(a, b));
}

/* Appends the entry's run in bucket b, which is the bucket's last, and the reduction. a is within
 * its limits, not empty, and lies in b; ops has room for two more, with clocks after those so far.
 * RED-3 */
/*@ requires arrival: ArrivalOk(a) && a.from < a.to;
    requires bucket: Meets(a.flat.capacity, a.from, a.to, b);
    requires room: 0 <= n < 9223372036854775806 && \valid(ops + (n .. n + 1));
    requires clock: Clocked(ops, n, a.t, a.clock + 2 * b);
    terminates \true; exits \false;
    assigns ops[n .. n + 1];
    ensures length: \result == n + 2;
    ensures clock: Clocked(ops, \result, a.t, a.clock + 2 * b + 2);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == (g != a.flat.group ?
          LedgerOf{Pre}(ops, n, g, key, d) :
          ArrivalOne(LedgerOf{Pre}(ops, n, g, key, d), a, b));
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures added: \forall integer p, m, e, k, c; Added(ops, \result, p, m, e, k, c) ==
        Added{Pre}(ops, n, p, m, e, k, c) + (p == a.param && m == a.mb && k == a.k && c == b ?
          InRun(a.flat.capacity, a.from, a.to, b, a.from + e) : 0);
    ensures reductions: \forall integer k, c, m; Reduced(ops, \result, k, c, m) ==
        Reduced{Pre}(ops, n, k, c, m) + (k == a.k && c == b && m == a.mb ? 1 : 0);
    ensures plain: PlainOps(ops, n, \result) && Placed(ops, n, \result);
    ensures where: ArrivalOps(a, b + 1, ops, n, \result);
    ensures pair: ArrivalAddition(ops + n, a, b) && ArrivalReduced(ops + (n + 1), a, b);
    ensures stays: SameOps{Pre,Post}(ops, n); */
static int64_t put_last(zp_arrival a, int64_t b, zp_op *ops, int64_t n)
{
  const int64_t after = put_add(a, b, ops, n);
  //@ ghost Between: ;
  const int64_t end = put_reduction(a, b, ops, after);
  //@ assert same: SameOp{Between,Here}(ops + n);
  //@ assert first: ArrivalAdd(a, ops + n) && ops[n].bucket == b;
  //@ assert second: ArrivalReduction(a, ops + (n + 1)) && ops[n + 1].bucket == b;
  return end;
}

/* Appends the entry's runs in the buckets b0 … b1-1, each of which is the bucket's last, and the
 * reductions. a is within its limits, not empty, and lies in these buckets; ops has room for two
 * ops each, with clocks after those so far. RED-3 */
/*@ requires arrival: ArrivalOk(a) && (a.from < a.to || b0 == b1);
    requires buckets: FirstBucket(a.flat.capacity, a.from) <= b0 <= b1 <=
        StopBucket(a.flat.capacity, a.from, a.to);
    requires low: 0 <= b0 && b1 <= ZP_LIMIT_ELEMENTS;
    requires room: 0 <= n && n + 2 * (b1 - b0) <= 9223372036854775807 &&
        \valid(ops + (n .. n + 2 * (b1 - b0) - 1));
    requires clock: Clocked(ops, n, a.t, a.clock + 2 * b0);
    terminates \true; exits \false;
    assigns ops[n .. n + 2 * (b1 - b0) - 1];
    ensures length: \result == n + 2 * (b1 - b0);
    ensures clock: Clocked(ops, \result, a.t, a.clock + 2 * b1);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == (g != a.flat.group ?
          LedgerOf{Pre}(ops, n, g, key, d) :
          ArrivalTrace(LedgerOf{Pre}(ops, n, g, key, d), a, b0, b1));
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures added: \forall integer p, m, e, k, c; Added(ops, \result, p, m, e, k, c) ==
        Added{Pre}(ops, n, p, m, e, k, c) +
        (p == a.param && m == a.mb && k == a.k && b0 <= c && c < b1 ?
          InRun(a.flat.capacity, a.from, a.to, c, a.from + e) : 0);
    ensures reductions: \forall integer k, c, m; Reduced(ops, \result, k, c, m) ==
        Reduced{Pre}(ops, n, k, c, m) +
        (k == a.k && m == a.mb && b0 <= c && c < b1 ? 1 : 0);
    ensures plain: PlainOps(ops, n, \result) && Placed(ops, n, \result);
    ensures where: ArrivalOps(a, b1, ops, n, \result);
    ensures pairs: ArrivalPairs(ops, n, \result, a, b0);
    ensures stays: SameOps{Pre,Post}(ops, n); */
static int64_t put_full(zp_arrival a, int64_t b0, int64_t b1, zp_op *ops, int64_t n)
{
  /*@ loop invariant range: b0 <= b <= b1;
      loop invariant length: n == \at(n, Pre) + 2 * (b - b0);
      loop invariant clock: Clocked(ops, n, a.t, a.clock + 2 * b);
      loop invariant ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, n, g, key, d) == (g != a.flat.group ?
          LedgerOf{Pre}(ops, \at(n, Pre), g, key, d) :
          ArrivalTrace(LedgerOf{Pre}(ops, \at(n, Pre), g, key, d), a, b0, b));
      loop invariant links: \forall integer peer;
        LinkOf(ops, n, peer) == LinkOf{Pre}(ops, \at(n, Pre), peer);
      loop invariant added: \forall integer p, m, e, k, c; Added(ops, n, p, m, e, k, c) ==
        Added{Pre}(ops, \at(n, Pre), p, m, e, k, c) +
        (p == a.param && m == a.mb && k == a.k && b0 <= c && c < b ?
          InRun(a.flat.capacity, a.from, a.to, c, a.from + e) : 0);
      loop invariant reductions: \forall integer k, c, m; Reduced(ops, n, k, c, m) ==
        Reduced{Pre}(ops, \at(n, Pre), k, c, m) +
        (k == a.k && m == a.mb && b0 <= c && c < b ? 1 : 0);
      loop invariant plain: PlainOps(ops, \at(n, Pre), n) && Placed(ops, \at(n, Pre), n);
      loop invariant where: ArrivalOps(a, b, ops, \at(n, Pre), n);
      loop invariant pairs: ArrivalPairs(ops, \at(n, Pre), n, a, b0);
      loop invariant stays: SameOps{Pre,Here}(ops, \at(n, Pre));
      loop assigns b, n, ops[\at(n, Pre) .. \at(n, Pre) + 2 * (b1 - b0) - 1];
      loop variant b1 - b; */
  for (int64_t b = b0; b < b1; b++) {
    //@ ghost Before: ;
    const int64_t next = put_last(a, b, ops, n);
    //@ assert same: SameOps{Before,Here}(ops, n);
    //@ assert where: ArrivalOps(a, b, ops, \at(n, Pre), n);
    //@ assert old: ArrivalPairs(ops, \at(n, Pre), n, a, b0);
    //@ assert pair: NextPair(ops, \at(n, Pre), n, next, a, b0, b);
    //@ assert pairs: ArrivalPairs(ops, \at(n, Pre), next, a, b0);
    n = next;
  }
  return n;
}

/* Appends the entry's runs in the buckets b0 … b1-1. a is within its limits, not empty, and lies in
 * these buckets; ops has room for an op each, with clocks after those so far. RED-3 */
/*@ requires arrival: ArrivalOk(a) && (a.from < a.to || b0 == b1);
    requires buckets: FirstBucket(a.flat.capacity, a.from) <= b0 <= b1 <=
        StopBucket(a.flat.capacity, a.from, a.to);
    requires low: 0 <= b0 && b1 <= ZP_LIMIT_ELEMENTS;
    requires room: 0 <= n && n + (b1 - b0) <= 9223372036854775807 &&
        \valid(ops + (n .. n + (b1 - b0) - 1));
    requires clock: Clocked(ops, n, a.t, a.clock + 2 * b0);
    terminates \true; exits \false;
    assigns ops[n .. n + (b1 - b0) - 1];
    ensures length: \result == n + (b1 - b0);
    ensures clock: Clocked(ops, \result, a.t, a.clock + 2 * b1);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == LedgerOf{Pre}(ops, n, g, key, d);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures added: \forall integer p, m, e, k, c; Added(ops, \result, p, m, e, k, c) ==
        Added{Pre}(ops, n, p, m, e, k, c) +
        (p == a.param && m == a.mb && k == a.k && b0 <= c && c < b1 ?
          InRun(a.flat.capacity, a.from, a.to, c, a.from + e) : 0);
    ensures reductions: \forall integer k, c, m;
        Reduced(ops, \result, k, c, m) == Reduced{Pre}(ops, n, k, c, m);
    ensures plain: PlainOps(ops, n, \result) && Placed(ops, n, \result);
    ensures where: ArrivalOps(a, b0, ops, n, \result);
    ensures additions: ArrivalAdditions(ops, n, \result, a, b0);
    ensures stays: SameOps{Pre,Post}(ops, n); */
static int64_t put_open(zp_arrival a, int64_t b0, int64_t b1, zp_op *ops, int64_t n)
{
  /*@ loop invariant range: b0 <= b <= b1;
      loop invariant length: n == \at(n, Pre) + (b - b0);
      loop invariant clock: Clocked(ops, n, a.t, a.clock + 2 * b);
      loop invariant ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, n, g, key, d) == LedgerOf{Pre}(ops, \at(n, Pre), g, key, d);
      loop invariant links: \forall integer peer;
        LinkOf(ops, n, peer) == LinkOf{Pre}(ops, \at(n, Pre), peer);
      loop invariant added: \forall integer p, m, e, k, c; Added(ops, n, p, m, e, k, c) ==
        Added{Pre}(ops, \at(n, Pre), p, m, e, k, c) +
        (p == a.param && m == a.mb && k == a.k && b0 <= c && c < b ?
          InRun(a.flat.capacity, a.from, a.to, c, a.from + e) : 0);
      loop invariant reductions: \forall integer k, c, m;
        Reduced(ops, n, k, c, m) == Reduced{Pre}(ops, \at(n, Pre), k, c, m);
      loop invariant plain: PlainOps(ops, \at(n, Pre), n) && Placed(ops, \at(n, Pre), n);
      loop invariant where: ArrivalOps(a, b0, ops, \at(n, Pre), n);
      loop invariant additions: ArrivalAdditions(ops, \at(n, Pre), n, a, b0);
      loop invariant stays: SameOps{Pre,Here}(ops, \at(n, Pre));
      loop assigns b, n, ops[\at(n, Pre) .. \at(n, Pre) + (b1 - b0) - 1];
      loop variant b1 - b; */
  for (int64_t b = b0; b < b1; b++) {
    //@ ghost Before: ;
    const int64_t next = put_add(a, b, ops, n);
    //@ assert same: SameOps{Before,Here}(ops, n);
    //@ assert where: ArrivalOps(a, b0, ops, \at(n, Pre), n);
    //@ assert old: ArrivalAdditions(ops, \at(n, Pre), n, a, b0);
    //@ assert additions: ArrivalAdditions(ops, \at(n, Pre), next, a, b0);
    n = next;
  }
  return n;
}

/* One past the last bucket that the entry completes and reduces. a is within its limits. RED-3 */
/*@ requires arrival: ArrivalOk(a);
    terminates \true; exits \false;
    assigns \nothing;
    ensures last: \result == ArrivalLast(a);
    ensures range: FirstBucket(a.flat.capacity, a.from) <= \result <=
        StopBucket(a.flat.capacity, a.from, a.to); */
static int64_t last_reduced(zp_arrival a)
{
  const int64_t first = a.from / a.flat.capacity;
  if (!a.reduces || a.from == a.to) return first;
  return a.to == a.flat.numel ? (a.to - 1) / a.flat.capacity + 1 : a.to / a.flat.capacity;
}

/* One entry's gradient of one micro-batch: its runs, bucket by bucket, and the reduction of each
 * bucket that it completes. Returns the number of ops after it. a is within its limits; ops has
 * room for its ops, with clocks after those so far. RED-3 */
/*@ requires arrival: ArrivalOk(a);
    requires room: 0 <= n && n + ArrivalLen(a) <= 9223372036854775807 &&
        \valid(ops + (n .. n + ArrivalLen(a) - 1));
    requires clock: Clocked(ops, n, a.t, a.clock);
    terminates \true; exits \false;
    assigns ops[n .. n + ArrivalLen(a) - 1];
    ensures length: \result == n + ArrivalLen(a);
    ensures clock: Clocked(ops, \result, a.t, a.clock + ZP_CLOCK_STRIDE);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == (g != a.flat.group ?
          LedgerOf{Pre}(ops, n, g, key, d) :
          ArrivalTrace(LedgerOf{Pre}(ops, n, g, key, d), a, FirstBucket(a.flat.capacity, a.from),
            ArrivalLast(a)));
    ensures links: \forall integer peer;
        LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures added: \forall integer p, m, e, k, c; Added(ops, \result, p, m, e, k, c) ==
        Added{Pre}(ops, n, p, m, e, k, c) +
        (m == a.mb && k == a.k ?
          GoesInto(p, a.param, a.flat.capacity, a.from, a.to, e, c) : 0);
    ensures reductions: \forall integer k, c, m; Reduced(ops, \result, k, c, m) ==
        Reduced{Pre}(ops, n, k, c, m) + (k == a.k && m == a.mb &&
          FirstBucket(a.flat.capacity, a.from) <= c && c < ArrivalLast(a) ? 1 : 0);
    ensures plain: PlainOps(ops, n, \result) && Placed(ops, n, \result);
    ensures where: ArrivalOps(a, ArrivalLast(a), ops, n, \result);
    ensures runs: ArrivalRuns(ops, n, a);
    ensures stays: SameOps{Pre,Post}(ops, n); */
static int64_t put_entry(zp_arrival a, zp_op *ops, int64_t n)
{
  const int64_t first = a.from / a.flat.capacity, last = last_reduced(a);
  const int64_t stop = a.from < a.to ? (a.to - 1) / a.flat.capacity + 1 : first;
  //@ assert first: first == FirstBucket(a.flat.capacity, a.from);
  //@ assert stop: stop == StopBucket(a.flat.capacity, a.from, a.to);
  //@ assert high: 0 <= first && stop <= ZP_LIMIT_ELEMENTS;
  //@ assert length: ArrivalLen(a) == 2 * (last - first) + (stop - last);
  const int64_t full = put_full(a, first, last, ops, n);
  //@ ghost Before: ;
  const int64_t end = put_open(a, last, stop, ops, full);
  //@ assert plain: PlainOps(ops, n, full) && Placed(ops, n, full);
  //@ assert same: SameOps{Before,Here}(ops, full);
  //@ assert where: ArrivalOps(a, last, ops, n, full);
  //@ assert pairs: ArrivalPairs(ops, n, full, a, first);
  //@ assert runs: ArrivalRuns(ops, n, a);
  return end;
}

/* The gradient of the stage's i-th entry, which is trained, of micro-batch mb in slot t. RED-3 */
/*@ requires config: \valid_read(cfg) && 0 <= cfg->stage <= 2 && 0 <= cfg->reduce <= 1 &&
        0 <= cfg->precision <= 2 && 1 <= cfg->micro_batches <= ZP_LIMIT_MICRO_BATCHES;
    requires entry: 0 <= i < lay->n_params <= ZP_LIMIT_ENTRIES && 0 <= lay->first_param &&
        lay->first_param + lay->n_params <= cfg->n_params <= ZP_LIMIT_ENTRIES &&
        EntryFits(cfg, lay, i) && 0 <= lay->spot[i].flat;
    requires readable: Readable(cfg) && ReadableLayout(lay);
    requires mb: 0 <= mb < cfg->micro_batches;
    terminates \true; exits \false;
    assigns \nothing;
    ensures ok: ArrivalOk(\result);
    ensures flat: \result.flat.numel == lay->flat[lay->spot[i].flat].numel &&
        \result.flat.capacity == lay->flat[lay->spot[i].flat].capacity &&
        \result.flat.members == lay->flat[lay->spot[i].flat].members &&
        \result.flat.align == lay->flat[lay->spot[i].flat].align &&
        \result.flat.group == lay->flat[lay->spot[i].flat].group;
    ensures entry: \result.k == lay->spot[i].flat && \result.param == lay->first_param + i;
    ensures config: \result.stage == cfg->stage && \result.reduce == cfg->reduce &&
        \result.dtype == DtypeOf(lay->flat[lay->spot[i].flat].fp32, cfg->precision);
    ensures reduces: \result.reduces == ReducesOn(cfg, mb);
    ensures range: \result.from == lay->spot[i].start &&
        \result.to == \result.from + cfg->params[lay->first_param + i].numel;
    ensures when: \result.mb == mb && \result.t == t &&
        \result.clock == (lay->n_params - i) * ZP_CLOCK_STRIDE;
    ensures arrival: ArrivalOfEntry(cfg, lay, i, \result);
    ensures adds: \forall integer p, e, k, b; RawAdds(cfg, lay, i, p, e, k, b) ==
        (k == \result.k ? GoesInto(p, \result.param, \result.flat.capacity, \result.from,
          \result.to, e, b) : 0); */
static zp_arrival arrival_of(const zp_config *cfg, const zp_layout *lay, int32_t i, int64_t mb,
                             int64_t t)
{
  zp_arrival a = {0};
  a.k = lay->spot[i].flat;
  a.flat = lay->flat[a.k];
  a.param = lay->first_param + i;
  a.stage = cfg->stage;
  a.reduce = cfg->reduce;
  a.dtype = zp_dtype_of(a.flat.fp32, cfg->precision);
  a.reduces = cfg->stage == 2 || mb == cfg->micro_batches - 1 ? 1 : 0;
  a.from = lay->spot[i].start;
  a.to = a.from + cfg->params[a.param].numel;
  a.mb = mb;
  a.t = t;
  a.clock = (int64_t)(lay->n_params - i) * ENTRY_STRIDE;
  return a;
}

int64_t zp_put_one(const zp_config *cfg, const zp_layout *lay, int32_t i, int64_t mb, int64_t t,
                   zp_op *ops, int64_t n)
{
  if (lay->spot[i].flat < 0) return n;
  const zp_arrival a = arrival_of(cfg, lay, i, mb, t);
  return put_entry(a, ops, n);
}
