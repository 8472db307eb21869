/* Sums of tied keys, and means. spec: TIE-1, RED-4, STAT-2 */
#include "../../spec/acsl/bounds.h"
#include "step_internal.h"

#include "../../spec/acsl/kept_lemmas.h"
#include "../../spec/acsl/save_lemmas.h"
#include "../../spec/acsl/step_tail.h"

#include "../../spec/acsl/op_is_lemmas.h"

#include "../../spec/acsl/op_tail_lemmas.h"

/* The clock of tied sums and means: key or flat group times this, plus the bucket, which is at most
 * 2^40. PIPE-5 */
#define TIED_STRIDE ((int64_t)1 << 41)
#define MEAN_STRIDE ((int64_t)1 << 41)

/* The one of the `flats` flat groups at flat that holds tied key `key`, or -1. TIE-1 */
/*@ requires flats: 0 <= flats && (0 < flats ==> \valid_read(flat + (0 .. flats - 1)));
    terminates \true; exits \false;
    assigns \nothing;
    ensures found: \result == TiedFlat(flat, flats, key);
    ensures range: -1 <= \result < flats; */
static int32_t tied_flat(const zp_flat *flat, int32_t flats, int32_t key)
{
  /*@ loop invariant range: 0 <= k <= flats;
      loop invariant none: TiedFlat(flat, k, key) == -1;
      loop assigns k;
      loop variant flats - k; */
  for (int32_t k = 0; k < flats; k++) {
    //@ assert next: TiedFlat(flat, k + 1, key) == (HoldsKey(flat + k, key) == 1 ? k : -1);
    if (flat[k].tied == key && flat[k].use == 0) return k;
  }
  return -1;
}

/* The op that sums bucket b of tied key `key`, whose flat group is f, with number k on this stage.
 * f must be a flat group and b one of its buckets. TIE-1, RED-4 */
/*@ requires flat: FlatFits(f);
    requires config: 0 <= key < ZP_LIMIT_TIED && 0 <= stage <= 2 && 0 <= reduce <= 1;
    requires bucket: BucketOf(f.numel, f.capacity, b) && b < ZP_LIMIT_ELEMENTS;
    terminates \true; exits \false;
    assigns \nothing;
    ensures kind: \result.kind == ZP_OP_ALL_REDUCE && \result.what == ZP_WHAT_TIED;
    ensures group: \result.group == ZP_GROUP_TIED && \result.key == key && \result.root == -1 &&
        \result.if_stepped == 0;
    ensures where: \result.flat == k && \result.bucket == b;
    ensures count: \result.count ==
        TiedCount(stage, reduce, f.numel, f.capacity, f.members, f.align, b);
    ensures dtype: \result.dtype == (reduce == ZP_EXACT ? ZP_I64 : ZP_F32);
    ensures redop: \result.redop == (reduce == ZP_EXACT ? ZP_RED_SUM : ZP_RED_ORDERED);
    ensures clock: \result.clock_t == t && \result.clock_i == SumClock(key, b);
    ensures nothing: \result.param == -1 && \result.slot == -1 && \result.mb == -1 &&
        \result.recv_mb == -1 && \result.offset == 0; */
static zp_op tied_op(zp_flat f, int32_t stage, int32_t reduce, int32_t key, int32_t k, int64_t b,
                     int64_t t)
{
  zp_op op = zp_op_on_bucket(&f, ZP_OP_ALL_REDUCE, ZP_WHAT_TIED, k, b, t, key * TIED_STRIDE + b);
  op.group = ZP_GROUP_TIED;
  op.key = key;
  if (stage == 0) op.count = zp_bucket_padded(&f, b);
  op.dtype = reduce == ZP_EXACT ? ZP_I64 : ZP_F32;
  op.redop = reduce == ZP_EXACT ? ZP_RED_SUM : ZP_RED_ORDERED;
  if (reduce == ZP_EXACT) op.count = op.count * ZP_LIMBS;
  return op;
}

/* Appends the sum of bucket b. f must be a flat group and b one of its buckets; ops has room for
 * one more, with a clock after those so far. TIE-1 */
/*@ requires flat: FlatFits(f);
    requires config: 0 <= key < ZP_LIMIT_TIED && 0 <= stage <= 2 && 0 <= reduce <= 1;
    requires bucket: BucketOf(f.numel, f.capacity, b) && b < ZP_LIMIT_ELEMENTS;
    requires room: 0 <= n < 9223372036854775807 && \valid(ops + n);
    requires clock: Clocked(ops, n, t, SumClock(key, b));
    terminates \true; exits \false;
    assigns ops[n];
    ensures length: \result == n + 1;
    ensures op: TiedOp(ops + n, f.numel, f.capacity, f.members, f.align, stage, reduce, key, k, t,
        b);
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures clock: Clocked(ops, \result, t, SumClock(key, b + 1));
    ensures ledger: \forall integer g, x, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, x, d) == (g == ZP_GROUP_TIED && x == key ?
          TiedSum(LedgerOf{Pre}(ops, n, g, x, d), key, reduce,
            TiedCount(stage, reduce, f.numel, f.capacity, f.members, f.align, b), t,
            SumClock(key, b)) :
          LedgerOf{Pre}(ops, n, g, x, d));
    ensures rest: SameRest{Pre,Post}(ops, n, \result);
    ensures plain: PlainOps(ops, n, \result) && Placed(ops, n, \result);
    ensures quiet: NoGradients(ops, n, \result); */
static int64_t put_tied_bucket(zp_flat f, int32_t stage, int32_t reduce, int32_t key, int32_t k,
                               int64_t b, int64_t t, zp_op *ops, int64_t n)
{
  return zp_emit(ops, n, tied_op(f, stage, reduce, key, k, b, t));
}

/* Appends the sums of the `buckets` buckets of tied key `key`, whose flat group is f, with number k
 * on this stage. f must be a flat group; ops has room for them, with clocks after those so far.
 * TIE-1 */
/*@ requires flat: FlatFits(f) && buckets == Buckets(f.numel, f.capacity);
    requires config: 0 <= key < ZP_LIMIT_TIED && 0 <= stage <= 2 && 0 <= reduce <= 1;
    requires room: 0 <= buckets <= ZP_LIMIT_ELEMENTS && 0 <= n &&
        n + buckets <= 9223372036854775807 &&
        \valid(ops + (n .. n + buckets - 1));
    requires clock: Clocked(ops, n, t, SumClock(key, 0));
    terminates \true; exits \false;
    assigns ops[n .. n + buckets - 1];
    ensures length: \result == n + buckets;
    ensures ops: TiedOps(ops, n, \result, f.numel, f.capacity, f.members, f.align, stage, reduce,
        key, k, t);
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures clock: Clocked(ops, \result, t, SumClock(key + 1, 0));
    ensures ledger: \forall integer g, x, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, x, d) == (g == ZP_GROUP_TIED && x == key ?
          TiedSums(LedgerOf{Pre}(ops, n, g, x, d), stage, reduce, f.numel, f.capacity, f.members,
            f.align, key, t, buckets) :
          LedgerOf{Pre}(ops, n, g, x, d));
    ensures rest: SameRest{Pre,Post}(ops, n, \result);
    ensures plain: PlainOps(ops, n, \result) && Placed(ops, n, \result);
    ensures quiet: NoGradients(ops, n, \result); */
static int64_t put_tied_flat(zp_flat f, int64_t buckets, int32_t stage, int32_t reduce, int32_t key,
                             int32_t k, int64_t t, zp_op *ops, int64_t n)
{
  /*@ loop invariant range: 0 <= b <= buckets;
      loop invariant length: n == \at(n, Pre) + b;
      loop invariant ops: TiedOps(ops, \at(n, Pre), n, f.numel, f.capacity, f.members, f.align,
        stage, reduce, key, k, t);
      loop invariant stays: SameOps{Pre,Here}(ops, \at(n, Pre));
      loop invariant clock: Clocked(ops, n, t, SumClock(key, b));
      loop invariant ledger: \forall integer g, x, d; HasLedger(g) ==>
        LedgerOf(ops, n, g, x, d) == (g == ZP_GROUP_TIED && x == key ?
          TiedSums(LedgerOf{Pre}(ops, \at(n, Pre), g, x, d), stage, reduce, f.numel, f.capacity,
            f.members, f.align, key, t, b) :
          LedgerOf{Pre}(ops, \at(n, Pre), g, x, d));
      loop invariant rest: SameRest{Pre,Here}(ops, \at(n, Pre), n);
      loop invariant plain: PlainOps(ops, \at(n, Pre), n) && Placed(ops, \at(n, Pre), n);
      loop invariant quiet: NoGradients(ops, \at(n, Pre), n);
      loop assigns b, n, ops[\at(n, Pre) .. \at(n, Pre) + buckets - 1];
      loop variant buckets - b; */
  for (int64_t b = 0; b < buckets; b++) {
    const int64_t next = put_tied_bucket(f, stage, reduce, key, k, b, t, ops, n);
    /*@ assert before: TiedOps(ops, \at(n, Pre), n, f.numel, f.capacity, f.members, f.align, stage,
          reduce, key, k, t); */
    n = next;
  }
  return n;
}

/* Appends the sums of tied key `key`, if this stage holds it. a must describe the stage; ops has
 * room for them, with clocks after those so far, and does not overlap the flat groups. TIE-1 */
/*@ requires tail: TailOk(a);
    requires key: 0 <= key < ZP_LIMIT_TIED;
    requires room: 0 <= n && n + KeyLen(a.flat, a.flats, key) <= 9223372036854775807 &&
        \valid(ops + (n .. n + KeyLen(a.flat, a.flats, key) - 1));
    requires clear: ClearOfFlats(ops + n, KeyLen(a.flat, a.flats, key), a.flat, a.flats);
    requires clock: Clocked(ops, n, t, SumClock(key, 0));
    terminates \true; exits \false;
    assigns ops[n .. n + KeyLen(a.flat, a.flats, key) - 1];
    ensures length: \result == n + KeyLen{Pre}(a.flat, a.flats, key);
    ensures ops: KeyOps{Pre,Post}(ops, n, \result, a.flat, a.flats, a.stage, a.reduce, key, t);
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures same: SameFlats{Pre,Post}(a.flat, a.flats);
    ensures clock: Clocked(ops, \result, t, SumClock(key + 1, 0));
    ensures ledger: \forall integer g, x, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, x, d) == (g == ZP_GROUP_TIED && x == key ?
          KeyTrace{Pre}(LedgerOf{Pre}(ops, n, g, x, d), a.stage, a.reduce, a.flat, a.flats, key,
            t) :
          LedgerOf{Pre}(ops, n, g, x, d));
    ensures rest: SameRest{Pre,Post}(ops, n, \result);
    ensures plain: PlainOps(ops, n, \result) && Placed(ops, n, \result);
    ensures quiet: NoGradients(ops, n, \result); */
static int64_t put_tied_key(zp_tail a, int32_t key, int64_t t, zp_op *ops, int64_t n)
{
  const int32_t k = tied_flat(a.flat, a.flats, key);
  if (k < 0) return n;
  //@ assert fine: FlatFine(a.flat + k);
  return put_tied_flat(a.flat[k], zp_buckets(&a.flat[k]), a.stage, a.reduce, key, k, t, ops, n);
}

int64_t zp_put_tied(zp_tail a, int64_t t, zp_op *ops, int64_t n)
{
  /*@ loop invariant range: 0 <= key <= a.keys;
      loop invariant same: SameFlats{Pre,Here}(a.flat, a.flats);
      loop invariant fine: FlatsFine(a.flat, a.flats);
      loop invariant length: n == \at(n, Pre) + KeysLen{Pre}(a.flat, a.flats, key);
      loop invariant ops: KeysOps{Pre,Here}(ops, \at(n, Pre), n, a.flat, a.flats, a.stage, a.reduce,
        t, key);
      loop invariant stays: SameOps{Pre,Here}(ops, \at(n, Pre));
      loop invariant clock: Clocked(ops, n, t, SumClock(key, 0));
      loop invariant ledger: \forall integer g, x, d; HasLedger(g) ==>
        LedgerOf(ops, n, g, x, d) == (g == ZP_GROUP_TIED && 0 <= x && x < key ?
          KeyTrace{Pre}(LedgerOf{Pre}(ops, \at(n, Pre), g, x, d), a.stage, a.reduce, a.flat,
            a.flats, x, t) :
          LedgerOf{Pre}(ops, \at(n, Pre), g, x, d));
      loop invariant rest: SameRest{Pre,Here}(ops, \at(n, Pre), n);
      loop invariant plain: PlainOps(ops, \at(n, Pre), n) && Placed(ops, \at(n, Pre), n);
      loop invariant quiet: NoGradients(ops, \at(n, Pre), n);
      loop assigns key, n,
        ops[\at(n, Pre) .. \at(n, Pre) + KeysLen{Pre}(a.flat, a.flats, a.keys) - 1];
      loop variant a.keys - key; */
  for (int32_t key = 0; key < a.keys; key++) {
    //@ assert step: KeyLen(a.flat, a.flats, key) == KeyLen{Pre}(a.flat, a.flats, key);
    //@ assert some: 0 <= KeysLen{Pre}(a.flat, a.flats, key);
    //@ assert more: 0 <= KeyLen{Pre}(a.flat, a.flats, key);
    /*@ assert last: KeysLen{Pre}(a.flat, a.flats, key + 1) <=
          KeysLen{Pre}(a.flat, a.flats, a.keys); */
    /*@ assert room: KeysLen{Pre}(a.flat, a.flats, key) + KeyLen{Pre}(a.flat, a.flats, key) <=
          KeysLen{Pre}(a.flat, a.flats, a.keys); */
    //@ assert clear: ClearOfFlats(ops + n, KeyLen(a.flat, a.flats, key), a.flat, a.flats);
    //@ ghost Between: ;
    const int64_t next = put_tied_key(a, key, t, ops, n);
    /*@ assert old: KeysOps{Pre,Here}(ops, \at(n, Pre), n, a.flat, a.flats, a.stage, a.reduce, t,
          key); */
    /*@ assert here: KeyOps{Between,Here}(ops, n, next, a.flat, a.flats, a.stage, a.reduce, key,
          t); */
    /*@ assert flat: TiedFlat{Pre}(a.flat, a.flats, key) ==
          TiedFlat{Between}(a.flat, a.flats, key); */
    //@ assert new: KeyOps{Pre,Here}(ops, n, next, a.flat, a.flats, a.stage, a.reduce, key, t);
    //@ assert before: PlainOps(ops, \at(n, Pre), n) && Placed(ops, \at(n, Pre), n);
    //@ assert quiet: NoGradients(ops, \at(n, Pre), n);
    n = next;
  }
  return n;
}

/* Appends the op that divides and counts bucket b of flat group k. ops has room for one more, with
 * a clock after those so far. STAT-2 */
/*@ requires range: 0 <= k < ZP_LIMIT_ENTRIES && 0 <= b < ZP_LIMIT_ELEMENTS;
    requires room: 0 <= n < 9223372036854775807 && \valid(ops + n);
    requires clock: Clocked(ops, n, t, SumClock(k, b));
    terminates \true; exits \false;
    assigns ops[n];
    ensures length: \result == n + 1;
    ensures op: MeanOp(ops + n, k, t, b);
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures clock: Clocked(ops, \result, t, SumClock(k, b + 1));
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == LedgerOf{Pre}(ops, n, g, key, d);
    ensures rest: SameRest{Pre,Post}(ops, n, \result);
    ensures plain: PlainOps(ops, n, \result) && Placed(ops, n, \result);
    ensures quiet: NoGradients(ops, n, \result); */
static int64_t put_mean(int32_t k, int64_t b, int64_t t, zp_op *ops, int64_t n)
{
  return zp_emit(ops, n, zp_op_local(ZP_OP_MEAN, k, b, t, k * MEAN_STRIDE + b));
}

/* Appends the same for the first `buckets` buckets of flat group k. ops has room for an op each,
 * with clocks after those so far. STAT-2 */
/*@ requires range: 0 <= k < ZP_LIMIT_ENTRIES && 0 <= buckets <= ZP_LIMIT_ELEMENTS;
    requires room: 0 <= n && n + buckets <= 9223372036854775807 &&
        \valid(ops + (n .. n + buckets - 1));
    requires clock: Clocked(ops, n, t, SumClock(k, 0));
    terminates \true; exits \false;
    assigns ops[n .. n + buckets - 1];
    ensures length: \result == n + buckets;
    ensures ops: MeanOps(ops, n, \result, k, t);
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures clock: Clocked(ops, \result, t, SumClock(k + 1, 0));
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == LedgerOf{Pre}(ops, n, g, key, d);
    ensures rest: SameRest{Pre,Post}(ops, n, \result);
    ensures plain: PlainOps(ops, n, \result) && Placed(ops, n, \result);
    ensures quiet: NoGradients(ops, n, \result); */
static int64_t put_flat_means(int64_t buckets, int32_t k, int64_t t, zp_op *ops, int64_t n)
{
  /*@ loop invariant range: 0 <= b <= buckets;
      loop invariant length: n == \at(n, Pre) + b;
      loop invariant ops: MeanOps(ops, \at(n, Pre), n, k, t);
      loop invariant stays: SameOps{Pre,Here}(ops, \at(n, Pre));
      loop invariant clock: Clocked(ops, n, t, SumClock(k, b));
      loop invariant ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, n, g, key, d) == LedgerOf{Pre}(ops, \at(n, Pre), g, key, d);
      loop invariant rest: SameRest{Pre,Here}(ops, \at(n, Pre), n);
      loop invariant plain: PlainOps(ops, \at(n, Pre), n) && Placed(ops, \at(n, Pre), n);
      loop invariant quiet: NoGradients(ops, \at(n, Pre), n);
      loop assigns b, n, ops[\at(n, Pre) .. \at(n, Pre) + buckets - 1];
      loop variant buckets - b; */
  for (int64_t b = 0; b < buckets; b++) {
    const int64_t next = put_mean(k, b, t, ops, n);
    //@ assert before: MeanOps(ops, \at(n, Pre), n, k, t);
    n = next;
  }
  //@ assert next: SumClock(k, buckets) <= SumClock(k + 1, 0);
  //@ assert clock: Clocked(ops, n, t, SumClock(k + 1, 0));
  return n;
}

int64_t zp_held_buckets(const zp_flat *f)
{
  return f->use == 0 ? zp_buckets(f) : 0;
}

int64_t zp_put_means(zp_tail a, int64_t t, zp_op *ops, int64_t n)
{
  /*@ loop invariant range: 0 <= k <= a.flats;
      loop invariant same: SameFlats{Pre,Here}(a.flat, a.flats);
      loop invariant fine: FlatsFine(a.flat, a.flats);
      loop invariant length: n == \at(n, Pre) + Held{Pre}(a.flat, k);
      loop invariant ops: MeansOps{Pre,Here}(ops, \at(n, Pre), n, a.flat, t, k);
      loop invariant stays: SameOps{Pre,Here}(ops, \at(n, Pre));
      loop invariant clock: Clocked(ops, n, t, SumClock(k, 0));
      loop invariant ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, n, g, key, d) == LedgerOf{Pre}(ops, \at(n, Pre), g, key, d);
      loop invariant rest: SameRest{Pre,Here}(ops, \at(n, Pre), n);
      loop invariant plain: PlainOps(ops, \at(n, Pre), n) && Placed(ops, \at(n, Pre), n);
      loop invariant quiet: NoGradients(ops, \at(n, Pre), n);
      loop assigns k, n, ops[\at(n, Pre) .. \at(n, Pre) + Held{Pre}(a.flat, a.flats) - 1];
      loop variant a.flats - k; */
  for (int32_t k = 0; k < a.flats; k++) {
    //@ assert ok: FlatFine(a.flat + k);
    //@ assert step: HeldOf(a.flat + k) == HeldOf{Pre}(a.flat + k);
    //@ assert some: 0 <= Held{Pre}(a.flat, k);
    //@ assert more: 0 <= HeldOf{Pre}(a.flat + k);
    //@ assert last: Held{Pre}(a.flat, k + 1) <= Held{Pre}(a.flat, a.flats);
    //@ assert room: Held{Pre}(a.flat, k) + HeldOf{Pre}(a.flat + k) <= Held{Pre}(a.flat, a.flats);
    //@ assert clear: ClearOfFlats(ops + n, HeldOf{Pre}(a.flat + k), a.flat, a.flats);
    const int64_t next = put_flat_means(zp_held_buckets(&a.flat[k]), k, t, ops, n);
    //@ assert old: MeansOps{Pre,Here}(ops, \at(n, Pre), n, a.flat, t, k);
    //@ assert new: MeanOps(ops, n, next, k, t);
    //@ assert before: PlainOps(ops, \at(n, Pre), n) && Placed(ops, \at(n, Pre), n);
    //@ assert quiet: NoGradients(ops, \at(n, Pre), n);
    n = next;
  }
  return n;
}
