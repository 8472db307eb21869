/* The slots of the STEP program: exchanges, forwards, backwards, and the reductions that backwards
 * set off. spec: STEP-2, STEP-3, RED-3 … RED-5, PIPE-1 … PIPE-6 */
#include "step_internal.h"

#include "../../spec/acsl/step_lemmas.h"

/* Inside a slot. For the entry with backward index x (0: the stage's last) and bucket b: ADD at
 * (x + 1) · 2^42 + 2 b, the reduction of b right after it. PIPE-5 */
enum { CLOCK_META = 0, CLOCK_P2P = 1, CLOCK_LOAD = 2, CLOCK_COMPUTE = 3, CLOCK_ARRIVED = 4 };
#define ENTRY_STRIDE ((int64_t)1 << 42)

/* Where bucket b of micro-batch mb is collected: stage 2 has two places a flat group, in turn; mb and
 * b are not negative, buckets is the flat group's number of them. RED-3 */
/*@ requires range: 0 <= mb && 0 <= buckets && 0 <= b < 4611686018427387904;
    terminates \true; exits \false;
    assigns \nothing;
    ensures place: \result == BucketPlace(mb, buckets, b);
    ensures bit: \result == 0 || \result == 1; */
static int32_t bucket_place(int64_t mb, int64_t buckets, int64_t b)
{
  return (int32_t)(mb % 2 == 1 && buckets % 2 == 1 ? (b + 1) % 2 : b % 2);
}

/* Copies or adds one run of an entry's gradient into its bucket b. a is within its limits, not empty,
 * and lies in b. RED-3 */
/*@ requires arrival: ArrivalOk(a) && a.from < a.to;
    requires bucket: Meets(a.flat.capacity, a.from, a.to, b);
    terminates \true; exits \false;
    assigns \nothing;
    ensures kind: \result.kind == ZP_OP_ADD && \result.what == ZP_WHAT_NONE;
    ensures local: \result.group == -1 && \result.key == -1 && \result.if_stepped == 0;
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
  if (a.stage == 2) op.slot = bucket_place(a.mb, zp_buckets(&a.flat), b);
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
        \result.if_stepped == 0;
    ensures where: \result.flat == a.k && \result.mb == a.mb && \result.bucket == b;
    ensures count: \result.count == ReduceCount(a.stage, a.reduce, a.flat.numel, a.flat.capacity,
        a.flat.members, a.flat.align, b);
    ensures dtype: \result.dtype == ReduceDtype(a.stage, a.reduce, a.precision);
    ensures redop: \result.redop == ReduceRedop(a.stage, a.reduce);
    ensures place: \result.slot == ArrivalPlace(a, b);
    ensures clock: \result.clock_t == a.t && \result.clock_i == a.clock + 2 * b + 1; */
static zp_op reduce_op(zp_arrival a, int64_t b)
{
  zp_op op = zp_op_on_bucket(&a.flat, ZP_OP_REDUCE_SCATTER, ZP_WHAT_GRADIENT, a.k, b, a.t,
                             a.clock + 2 * b + 1);
  op.mb = a.mb;
  if (a.stage == 2) {
    op.dtype = a.precision;
    op.redop = a.reduce == ZP_EXACT ? ZP_RED_EXACT : ZP_RED_ORDERED;
    op.slot = bucket_place(a.mb, zp_buckets(&a.flat), b);
    return op;
  }
  if (a.stage == 0) {
    op.kind = ZP_OP_ALL_REDUCE;
    op.count = zp_bucket_padded(&a.flat, b);
  }
  op.dtype = a.reduce == ZP_EXACT ? ZP_I64 : ZP_F32;
  op.redop = a.reduce == ZP_EXACT ? ZP_RED_SUM : ZP_RED_ORDERED;
  if (a.reduce == ZP_EXACT) op.count = op.count * ZP_LIMBS;
  return op;
}

/* Appends the entry's run in bucket b. a is within its limits, not empty, and lies in b; ops has room
 * for one more, behind the clocks so far. RED-3 */
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
        Reduced(ops, \result, k, c, m) == Reduced{Pre}(ops, n, k, c, m); */
static int64_t put_add(zp_arrival a, int64_t b, zp_op *ops, int64_t n)
{
  return zp_emit(ops, n, add_op(a, b));
}

/* Appends the reduction of bucket b. a is within its limits, b is a bucket of its flat group; ops has
 * room for one more, behind the clocks so far. RED-3 … RED-5 */
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
        Reduced{Pre}(ops, n, k, c, m) + (k == a.k && c == b && m == a.mb ? 1 : 0); */
static int64_t put_reduction(zp_arrival a, int64_t b, zp_op *ops, int64_t n)
{
  return zp_emit(ops, n, reduce_op(a, b));
}

/* Appends the entry's run in bucket b, the bucket's last, and the reduction. a is within its limits,
 * not empty, and lies in b; ops has room for two more, behind the clocks so far. RED-3 */
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
        Reduced{Pre}(ops, n, k, c, m) + (k == a.k && c == b && m == a.mb ? 1 : 0); */
static int64_t put_last(zp_arrival a, int64_t b, zp_op *ops, int64_t n)
{
  const int64_t after = put_add(a, b, ops, n);
  return put_reduction(a, b, ops, after);
}

/* Appends the entry's runs in the buckets b0 … b1-1, each the bucket's last, and the reductions. a is
 * within its limits, not empty, and lies in these buckets; ops has room for two ops each, behind the
 * clocks so far. RED-3 */
/*@ requires arrival: ArrivalOk(a) && (a.from < a.to || b0 == b1);
    requires buckets: FirstBucket(a.flat.capacity, a.from) <= b0 <= b1 <=
        StopBucket(a.flat.capacity, a.from, a.to);
    requires low: 0 <= b0 && b1 <= 1099511627776;
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
        (k == a.k && m == a.mb && b0 <= c && c < b1 ? 1 : 0); */
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
      loop assigns b, n, ops[\at(n, Pre) .. \at(n, Pre) + 2 * (b1 - b0) - 1];
      loop variant b1 - b; */
  for (int64_t b = b0; b < b1; b++) n = put_last(a, b, ops, n);
  return n;
}

/* Appends the entry's runs in the buckets b0 … b1-1. a is within its limits, not empty, and lies in
 * these buckets; ops has room for an op each, behind the clocks so far. RED-3 */
/*@ requires arrival: ArrivalOk(a) && (a.from < a.to || b0 == b1);
    requires buckets: FirstBucket(a.flat.capacity, a.from) <= b0 <= b1 <=
        StopBucket(a.flat.capacity, a.from, a.to);
    requires low: 0 <= b0 && b1 <= 1099511627776;
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
        Reduced(ops, \result, k, c, m) == Reduced{Pre}(ops, n, k, c, m); */
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
      loop assigns b, n, ops[\at(n, Pre) .. \at(n, Pre) + (b1 - b0) - 1];
      loop variant b1 - b; */
  for (int64_t b = b0; b < b1; b++) n = put_add(a, b, ops, n);
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
 * bucket that it completes. Returns the number of ops after it. a is within its limits; ops has room
 * for its ops, behind the clocks so far. RED-3 */
/*@ requires arrival: ArrivalOk(a);
    requires room: 0 <= n && n + ArrivalLen(a) <= 9223372036854775807 &&
        \valid(ops + (n .. n + ArrivalLen(a) - 1));
    requires clock: Clocked(ops, n, a.t, a.clock);
    terminates \true; exits \false;
    assigns ops[n .. n + ArrivalLen(a) - 1];
    ensures length: \result == n + ArrivalLen(a);
    ensures clock: Clocked(ops, \result, a.t, a.clock + 4398046511104);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == (g != a.flat.group ?
          LedgerOf{Pre}(ops, n, g, key, d) :
          ArrivalTrace(LedgerOf{Pre}(ops, n, g, key, d), a, FirstBucket(a.flat.capacity, a.from),
            ArrivalLast(a)));
    ensures links: \forall integer peer;
        LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures added: \forall integer p, m, e, k, c; Added(ops, \result, p, m, e, k, c) ==
        Added{Pre}(ops, n, p, m, e, k, c) +
        (p == a.param && m == a.mb && k == a.k && 0 <= e && a.from + e < a.to &&
          c == FirstBucket(a.flat.capacity, a.from + e) ? 1 : 0);
    ensures reductions: \forall integer k, c, m; Reduced(ops, \result, k, c, m) ==
        Reduced{Pre}(ops, n, k, c, m) + (k == a.k && m == a.mb &&
          FirstBucket(a.flat.capacity, a.from) <= c && c < ArrivalLast(a) ? 1 : 0); */
static int64_t put_entry(zp_arrival a, zp_op *ops, int64_t n)
{
  const int64_t first = a.from / a.flat.capacity, last = last_reduced(a);
  const int64_t stop = a.from < a.to ? (a.to - 1) / a.flat.capacity + 1 : first;
  //@ assert first: first == FirstBucket(a.flat.capacity, a.from);
  //@ assert stop: stop == StopBucket(a.flat.capacity, a.from, a.to);
  //@ assert high: 0 <= first && stop <= 1099511627776;
  //@ assert length: ArrivalLen(a) == 2 * (last - first) + (stop - last);
  const int64_t full = put_full(a, first, last, ops, n);
  return put_open(a, last, stop, ops, full);
}

/* The exchange's op, nothing sent or received yet: with the next stage in a backward slot, with the
 * previous one in a forward slot. s is 0..2^20-1. PIPE-3 */
/*@ requires stage: 0 <= s < 1048576;
    terminates \true; exits \false;
    assigns \nothing;
    ensures kind: \result.kind == kind && \result.dtype == dtype && \result.count == 0;
    ensures with: \result.group == ZP_GROUP_PP &&
        \result.root == (backward != 0 ? s + 1 : s - 1) &&
        \result.what == (backward != 0 ? ZP_WHAT_ACTIVATION : ZP_WHAT_ACTIVATION_GRADIENT);
    ensures mbs: \result.mb == send && \result.recv_mb == recv;
    ensures clock: \result.clock_t == t && \result.clock_i == clock_i;
    ensures link: \forall trace tr, integer peer; Link(tr, \result, peer) ==
        HopTrace(tr, s, backward, peer, kind, dtype, send, recv, t, clock_i); */
static zp_op hop_op(int32_t kind, int32_t dtype, int32_t s, int32_t backward, int64_t send,
                    int64_t recv, int64_t t, int64_t clock_i)
{
  zp_op op = zp_op_blank(kind, t, clock_i);
  op.what = backward ? ZP_WHAT_ACTIVATION : ZP_WHAT_ACTIVATION_GRADIENT;
  op.group = ZP_GROUP_PP;
  op.root = backward ? s + 1 : s - 1;
  op.dtype = dtype;
  op.mb = send;
  op.recv_mb = recv;
  return op;
}

/* Appends an exchange, which takes no part in ledgers and reductions. s is 0..2^20-1; ops has room
 * for one more, behind the clocks so far. PIPE-3 */
/*@ requires stage: 0 <= s < 1048576;
    requires kind: kind == ZP_OP_META || kind == ZP_OP_P2P;
    requires room: 0 <= n < 9223372036854775807 && \valid(ops + n);
    requires clock: Clocked(ops, n, t, clock_i);
    terminates \true; exits \false;
    assigns ops[n];
    ensures length: \result == n + 1;
    ensures clock: Clocked(ops, \result, t, clock_i + 1);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == LedgerOf{Pre}(ops, n, g, key, d);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) ==
        HopTrace(LinkOf{Pre}(ops, n, peer), s, backward, peer, kind, dtype, send, recv, t, clock_i);
    ensures added: \forall integer p, m, e, k, c;
        Added(ops, \result, p, m, e, k, c) == Added{Pre}(ops, n, p, m, e, k, c);
    ensures reductions: \forall integer k, c, m;
        Reduced(ops, \result, k, c, m) == Reduced{Pre}(ops, n, k, c, m); */
static int64_t put_hop(int32_t kind, int32_t dtype, int32_t s, int32_t backward, int64_t send,
                       int64_t recv, int64_t t, int64_t clock_i, zp_op *ops, int64_t n)
{
  return zp_emit(ops, n, hop_op(kind, dtype, s, backward, send, recv, t, clock_i));
}

/* Appends the meta message before an activation, if there is one and shapes are dynamic. PIPE-6 */
/*@ requires stage: 0 <= s < 1048576;
    requires room: 0 <= n && n + MetaLen(dynamic, a.backward, a.send_mb, a.recv_mb)
        <= 9223372036854775807 && \valid(ops + (n .. n +
          MetaLen(dynamic, a.backward, a.send_mb, a.recv_mb) - 1));
    requires clock: Clocked(ops, n, t, CLOCK_META);
    terminates \true; exits \false;
    assigns ops[n .. n + MetaLen(dynamic, a.backward, a.send_mb, a.recv_mb) - 1];
    ensures length: \result == n + MetaLen(dynamic, a.backward, a.send_mb, a.recv_mb);
    ensures clock: Clocked(ops, \result, t, CLOCK_P2P);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == LedgerOf{Pre}(ops, n, g, key, d);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) ==
        MetaTrace(LinkOf{Pre}(ops, n, peer), s, peer, dynamic, a.backward, a.send_mb, a.recv_mb,
          t);
    ensures added: \forall integer p, m, e, k, c;
        Added(ops, \result, p, m, e, k, c) == Added{Pre}(ops, n, p, m, e, k, c);
    ensures reductions: \forall integer k, c, m;
        Reduced(ops, \result, k, c, m) == Reduced{Pre}(ops, n, k, c, m); */
static int64_t put_meta(int32_t dynamic, int32_t s, zp_slot a, int64_t t, zp_op *ops, int64_t n)
{
  if (!dynamic) return n;
  if (a.backward && a.send_mb >= 0)
    return put_hop(ZP_OP_META, ZP_I64, s, 1, a.send_mb, -1, t, CLOCK_META, ops, n);
  if (!a.backward && a.recv_mb >= 0)
    return put_hop(ZP_OP_META, ZP_I64, s, 0, -1, a.recv_mb, t, CLOCK_META, ops, n);
  return n;
}

/* Ops before the compute of slot t of stage s: meta and grouped exchange with the slot's one
 * neighbour. s is 0..2^20-1; ops has room for them, behind the clocks so far. PIPE-3, PIPE-6 */
/*@ requires stage: 0 <= s < 1048576;
    requires room: 0 <= n && n + ExchangeLen(dynamic, a.backward, a.send_mb, a.recv_mb)
        <= 9223372036854775807 && \valid(ops + (n .. n +
          ExchangeLen(dynamic, a.backward, a.send_mb, a.recv_mb) - 1));
    requires clock: Clocked(ops, n, t, CLOCK_META);
    terminates \true; exits \false;
    assigns ops[n .. n + ExchangeLen(dynamic, a.backward, a.send_mb, a.recv_mb) - 1];
    ensures length: \result == n + ExchangeLen(dynamic, a.backward, a.send_mb, a.recv_mb);
    ensures clock: Clocked(ops, \result, t, CLOCK_LOAD);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == LedgerOf{Pre}(ops, n, g, key, d);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) ==
        ExchangeTrace(LinkOf{Pre}(ops, n, peer), s, peer, dynamic, a.backward, a.send_mb,
          a.recv_mb, t);
    ensures added: \forall integer p, m, e, k, c;
        Added(ops, \result, p, m, e, k, c) == Added{Pre}(ops, n, p, m, e, k, c);
    ensures reductions: \forall integer k, c, m;
        Reduced(ops, \result, k, c, m) == Reduced{Pre}(ops, n, k, c, m); */
static int64_t put_exchange(int32_t dynamic, int32_t s, zp_slot a, int64_t t, zp_op *ops, int64_t n)
{
  if (a.send_mb < 0 && a.recv_mb < 0) return n;
  const int64_t meta = put_meta(dynamic, s, a, t, ops, n);
  return put_hop(ZP_OP_P2P, -1, s, a.backward, a.send_mb, a.recv_mb, t, CLOCK_P2P, ops, meta);
}

/* Appends a local op of micro-batch mb in slot t: LOAD, FORWARD, BACKWARD or ARRIVED. ops has room for
 * one more, behind the clocks so far. PIPE-2 */
/*@ requires kind: kind < ZP_OP_ADD;
    requires room: 0 <= n < 9223372036854775807 && \valid(ops + n);
    requires clock: Clocked(ops, n, t, clock_i);
    terminates \true; exits \false;
    assigns ops[n];
    ensures length: \result == n + 1;
    ensures op: ops[n].kind == kind && ops[n].mb == mb && ops[n].slot == slot &&
        ops[n].clock_t == t && ops[n].clock_i == clock_i;
    ensures clock: Clocked(ops, \result, t, clock_i + 1);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == LedgerOf{Pre}(ops, n, g, key, d);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures added: \forall integer p, m, e, k, c;
        Added(ops, \result, p, m, e, k, c) == Added{Pre}(ops, n, p, m, e, k, c);
    ensures reductions: \forall integer k, c, m;
        Reduced(ops, \result, k, c, m) == Reduced{Pre}(ops, n, k, c, m); */
static int64_t put_local(int32_t kind, int64_t mb, int32_t slot, int64_t t, int64_t clock_i,
                         zp_op *ops, int64_t n)
{
  zp_op op = zp_op_blank(kind, t, clock_i);
  op.mb = mb;
  op.slot = slot;
  return zp_emit(ops, n, op);
}

/* The place of micro-batch mb's activation on stage s. S and M are 1..2^20, s is 0..S-1. PIPE-4 */
/*@ requires sizes: 1 <= S <= 1048576 && 1 <= M <= 1048576;
    requires stage: 0 <= s < S;
    requires mb: 0 <= mb < M;
    terminates \true; exits \false;
    assigns \nothing;
    ensures place: \result == mb % Places(S, M, s);
    ensures range: 0 <= \result < Places(S, M, s); */
static int32_t place_of(int64_t S, int64_t M, int64_t s, int64_t mb)
{
  return (int32_t)(mb % zp_alive(S, M, s));
}

/* Appends the load of micro-batch mb where stage s needs its data. PIPE-2 */
/*@ requires bit: loads == 0 || loads == 1;
    requires room: 0 <= n && n + loads <= 9223372036854775807 &&
        \valid(ops + (n .. n + loads - 1));
    requires clock: Clocked(ops, n, t, CLOCK_LOAD);
    terminates \true; exits \false;
    assigns ops[n .. n + loads - 1];
    ensures length: \result == n + loads;
    ensures clock: Clocked(ops, \result, t, CLOCK_COMPUTE);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == LedgerOf{Pre}(ops, n, g, key, d);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures added: \forall integer p, m, e, k, c;
        Added(ops, \result, p, m, e, k, c) == Added{Pre}(ops, n, p, m, e, k, c);
    ensures reductions: \forall integer k, c, m;
        Reduced(ops, \result, k, c, m) == Reduced{Pre}(ops, n, k, c, m); */
static int64_t put_load(int32_t loads, int64_t mb, int64_t t, zp_op *ops, int64_t n)
{
  if (!loads) return n;
  return put_local(ZP_OP_LOAD, mb, -1, t, CLOCK_LOAD, ops, n);
}

/* The forward of a slot. PIPE-2 */
/*@ requires bit: loads == 0 || loads == 1;
    requires room: 0 <= n && n + loads + 1 <= 9223372036854775807 &&
        \valid(ops + (n .. n + loads));
    requires clock: Clocked(ops, n, t, CLOCK_LOAD);
    terminates \true; exits \false;
    assigns ops[n .. n + loads];
    ensures length: \result == n + loads + 1;
    ensures clock: Clocked(ops, \result, t, CLOCK_ARRIVED);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == LedgerOf{Pre}(ops, n, g, key, d);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures added: \forall integer p, m, e, k, c;
        Added(ops, \result, p, m, e, k, c) == Added{Pre}(ops, n, p, m, e, k, c);
    ensures reductions: \forall integer k, c, m;
        Reduced(ops, \result, k, c, m) == Reduced{Pre}(ops, n, k, c, m); */
static int64_t put_forward(int32_t loads, int64_t mb, int32_t place, int64_t t, zp_op *ops,
                           int64_t n)
{
  const int64_t loaded = put_load(loads, mb, t, ops, n);
  return put_local(ZP_OP_FORWARD, mb, place, t, CLOCK_COMPUTE, ops, loaded);
}

/* The backward of a slot, and the gradients that arrive without an op of their own. STEP-3 */
/*@ requires room: 0 <= n <= 9223372036854775805 && \valid(ops + (n .. n + 1));
    requires clock: Clocked(ops, n, t, CLOCK_COMPUTE);
    terminates \true; exits \false;
    assigns ops[n .. n + 1];
    ensures length: \result == n + 2;
    ensures clock: Clocked(ops, \result, t, CLOCK_ARRIVED + 1);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == LedgerOf{Pre}(ops, n, g, key, d);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures added: \forall integer p, m, e, k, c;
        Added(ops, \result, p, m, e, k, c) == Added{Pre}(ops, n, p, m, e, k, c);
    ensures reductions: \forall integer k, c, m;
        Reduced(ops, \result, k, c, m) == Reduced{Pre}(ops, n, k, c, m); */
static int64_t put_arrived(int64_t mb, int32_t place, int64_t t, zp_op *ops, int64_t n)
{
  const int64_t after = put_local(ZP_OP_BACKWARD, mb, place, t, CLOCK_COMPUTE, ops, n);
  return put_local(ZP_OP_ARRIVED, mb, -1, t, CLOCK_ARRIVED, ops, after);
}

/* The gradient of the stage's i-th entry, which is trained, of micro-batch mb in slot t. RED-3 */
/*@ requires config: \valid_read(cfg) && 0 <= cfg->stage <= 2 && 0 <= cfg->reduce <= 1 &&
        0 <= cfg->precision <= 2 && 1 <= cfg->micro_batches <= 1048576;
    requires entry: 0 <= i < lay->n_params <= 65536 && 0 <= lay->first_param &&
        lay->first_param + lay->n_params <= cfg->n_params <= 65536 &&
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
        \result.precision == cfg->precision;
    ensures reduces: \result.reduces == ReducesOn(cfg, mb);
    ensures range: \result.from == lay->spot[i].start &&
        \result.to == \result.from + cfg->params[lay->first_param + i].numel;
    ensures when: \result.mb == mb && \result.t == t &&
        \result.clock == (lay->n_params - i) * 4398046511104; */
static zp_arrival arrival_of(const zp_config *cfg, const zp_layout *lay, int32_t i, int64_t mb,
                             int64_t t)
{
  zp_arrival a;
  a.k = lay->spot[i].flat;
  a.flat = lay->flat[a.k];
  a.param = lay->first_param + i;
  a.stage = cfg->stage;
  a.reduce = cfg->reduce;
  a.precision = cfg->precision;
  a.reduces = cfg->stage == 2 || mb == cfg->micro_batches - 1 ? 1 : 0;
  a.from = lay->spot[i].start;
  a.to = a.from + cfg->params[a.param].numel;
  a.mb = mb;
  a.t = t;
  a.clock = (int64_t)(lay->n_params - i) * ENTRY_STRIDE;
  return a;
}

/* The gradient of the stage's i-th entry of micro-batch mb in slot t; none when it is frozen. ops has
 * room for its ops, behind the clocks so far, and apart from configuration and layout. RED-3 */
/*@ requires config: \valid_read(cfg) && 0 <= cfg->stage <= 2 && 0 <= cfg->reduce <= 1 &&
        0 <= cfg->precision <= 2 && 1 <= cfg->micro_batches <= 1048576;
    requires entry: 0 <= i < lay->n_params <= 65536 && 0 <= lay->first_param &&
        lay->first_param + lay->n_params <= cfg->n_params <= 65536 && EntryFits(cfg, lay, i);
    requires readable: Readable(cfg) && ReadableLayout(lay);
    requires mb: 0 <= mb < cfg->micro_batches;
    requires room: 0 <= n && n + RawLen(cfg, lay, i, ReducesOn(cfg, mb)) <= 9223372036854775807 &&
        \valid(ops + (n .. n + RawLen(cfg, lay, i, ReducesOn(cfg, mb)) - 1));
    requires clock: Clocked(ops, n, t, (lay->n_params - i) * 4398046511104);
    terminates \true; exits \false;
    assigns ops[n .. n + RawLen(cfg, lay, i, ReducesOn(cfg, mb)) - 1];
    ensures length: \result == n + RawLen{Pre}(cfg, lay, i, ReducesOn{Pre}(cfg, mb));
    ensures clock: Clocked(ops, \result, t, (\old(lay->n_params) - i + 1) * 4398046511104);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == (ReducesOn{Pre}(cfg, mb) == 0 ?
          LedgerOf{Pre}(ops, n, g, key, d) :
          RawTrace{Pre}(LedgerOf{Pre}(ops, n, g, key, d), cfg, lay, i, g, t));
    ensures links: \forall integer peer;
        LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures added: \forall integer p, m, e, k, c; Added(ops, \result, p, m, e, k, c) ==
        Added{Pre}(ops, n, p, m, e, k, c) +
        (m == mb && p == \old(lay->first_param) + i ? RawAdds{Pre}(cfg, lay, i, e, k, c) : 0);
    ensures reductions: \forall integer k, c, m; Reduced(ops, \result, k, c, m) ==
        Reduced{Pre}(ops, n, k, c, m) +
        (m == mb && ReducesOn{Pre}(cfg, mb) == 1 ? RawDone{Pre}(cfg, lay, i, k, c) : 0); */
static int64_t put_one(const zp_config *cfg, const zp_layout *lay, int32_t i, int64_t mb, int64_t t,
                       zp_op *ops, int64_t n)
{
  if (lay->spot[i].flat < 0) return n;
  return put_entry(arrival_of(cfg, lay, i, mb, t), ops, n);
}

/* The gradients of the stage's entries, in backward order, of micro-batch mb in slot t. lay must be
 * the layout of its stage; ops has room for their ops, behind the clocks so far, and apart from
 * configuration and layout. RED-3 */
/*@ requires config: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && StageSeen(cfg, lay);
    requires mb: 0 <= mb < cfg->micro_batches;
    requires room: 0 <= n && n + BackLen(cfg, lay->stage, ReducesOn(cfg, mb), lay->n_params)
        <= 9223372036854775807 && \valid(ops + (n .. n +
          BackLen(cfg, lay->stage, ReducesOn(cfg, mb), lay->n_params) - 1));
    requires apart: \separated(ops + (n .. n +
          BackLen(cfg, lay->stage, ReducesOn(cfg, mb), lay->n_params) - 1), cfg, lay,
        cfg->params + (0 .. cfg->n_params - 1), lay->flat + (0 .. lay->n_flats - 1),
        lay->spot + (0 .. lay->n_params - 1));
    requires clock: Clocked(ops, n, t, 4398046511104);
    terminates \true; exits \false;
    assigns ops[n .. n + BackLen(cfg, lay->stage, ReducesOn(cfg, mb), lay->n_params) - 1];
    ensures length: \result == n +
        BackLen{Pre}(cfg, \old(lay->stage), ReducesOn{Pre}(cfg, mb), \old(lay->n_params));
    ensures clock: Clocked(ops, \result, t, (\old(lay->n_params) + 1) * 4398046511104);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == (ReducesOn{Pre}(cfg, mb) == 0 ?
          LedgerOf{Pre}(ops, n, g, key, d) :
          BackTrace{Pre}(LedgerOf{Pre}(ops, n, g, key, d), cfg, \old(lay->stage), g, t,
            \old(lay->n_params)));
    ensures links: \forall integer peer;
        LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures added: \forall integer p, m, e, k, c; Added(ops, \result, p, m, e, k, c) ==
        Added{Pre}(ops, n, p, m, e, k, c) + (m == mb ?
          AddsOf{Pre}(cfg, \old(lay->stage), \old(lay->n_params), p, e, k, c) : 0);
    ensures reductions: \forall integer k, c, m; Reduced(ops, \result, k, c, m) ==
        Reduced{Pre}(ops, n, k, c, m) + (m == mb && ReducesOn{Pre}(cfg, mb) == 1 ?
          DoneOf{Pre}(cfg, \old(lay->stage), \old(lay->n_params), k, c) : 0); */
static int64_t put_entries(const zp_config *cfg, const zp_layout *lay, int64_t mb, int64_t t,
                           zp_op *ops, int64_t n)
{
  const int32_t entries = lay->n_params;
  /*@ loop invariant range: 0 <= x <= entries;
      loop invariant same: SameStage{Pre,Here}(cfg, lay);
      loop invariant scalars: SameScalars{Pre,Here}(cfg);
      loop invariant length: n == \at(n, Pre) +
          BackLen{Pre}(cfg, \at(lay->stage, Pre), ReducesOn{Pre}(cfg, mb), x);
      loop invariant clock: Clocked(ops, n, t, (x + 1) * 4398046511104);
      loop invariant ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, n, g, key, d) == (ReducesOn{Pre}(cfg, mb) == 0 ?
          LedgerOf{Pre}(ops, \at(n, Pre), g, key, d) :
          BackTrace{Pre}(LedgerOf{Pre}(ops, \at(n, Pre), g, key, d), cfg, \at(lay->stage, Pre), g,
            t, x));
      loop invariant links: \forall integer peer;
        LinkOf(ops, n, peer) == LinkOf{Pre}(ops, \at(n, Pre), peer);
      loop invariant added: \forall integer p, m, e, k, c; Added(ops, n, p, m, e, k, c) ==
        Added{Pre}(ops, \at(n, Pre), p, m, e, k, c) + (m == mb ?
          AddsOf{Pre}(cfg, \at(lay->stage, Pre), x, p, e, k, c) : 0);
      loop invariant reductions: \forall integer k, c, m; Reduced(ops, n, k, c, m) ==
        Reduced{Pre}(ops, \at(n, Pre), k, c, m) + (m == mb && ReducesOn{Pre}(cfg, mb) == 1 ?
          DoneOf{Pre}(cfg, \at(lay->stage, Pre), x, k, c) : 0);
      loop assigns x, n, ops[\at(n, Pre) .. \at(n, Pre) + BackLen{Pre}(cfg,
          \at(lay->stage, Pre), ReducesOn{Pre}(cfg, mb), \at(lay->n_params, Pre)) - 1];
      loop variant entries - x; */
  for (int32_t x = 0; x < entries; x++) {
    //@ assert seen: EntrySeen{Pre}(cfg, lay, entries - x - 1);
    //@ assert fits: EntryFits(cfg, lay, entries - x - 1);
    n = put_one(cfg, lay, entries - x - 1, mb, t, ops, n);
  }
  return n;
}

/* What stage s computes in a slot. PIPE-2 */
static int64_t put_compute(const zp_config *cfg, const zp_layout *lay, zp_slot a, int64_t t,
                           zp_op *ops, int64_t n)
{
  const int32_t s = lay->stage;
  if (a.mb < 0) return n;
  const int32_t place = place_of(cfg->pp, cfg->micro_batches, s, a.mb);
  if (!a.backward) return put_forward(s == 0 || s == cfg->pp - 1 ? 1 : 0, a.mb, place, t, ops, n);
  n = put_arrived(a.mb, place, t, ops, n);
  return put_entries(cfg, lay, a.mb, t, ops, n);
}

int64_t zp_put_pipeline(const zp_config *cfg, const zp_layout *lay, zp_op *ops, int64_t n)
{
  const int64_t S = cfg->pp, M = cfg->micro_batches, s = lay->stage;
  const int64_t end = zp_end_slot(S, M, s);
  for (int64_t t = s; t < end; t = zp_next_slot(S, M, s, t)) {
    const zp_slot a = zp_slot_at(S, M, s, t);
    n = put_exchange(cfg->dynamic_shapes, lay->stage, a, t, ops, n);
    n = put_compute(cfg, lay, a, t, ops, n);
  }
  return n;
}
