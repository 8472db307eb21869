/* Updates of the shards, and gathers of the parameters. spec: STEP-7, STEP-8 */
#include "../../spec/acsl/bounds.h"
#include "step_internal.h"

#include "../../spec/acsl/kept_lemmas.h"
#include "../../spec/acsl/save_lemmas.h"
#include "../../spec/acsl/step_tail.h"

#include "../../spec/acsl/op_is_lemmas.h"

#include "../../spec/acsl/op_tail_lemmas.h"

/* The clock of a flat group's first update: its number times this, after those of all flat groups
 * that come first; the updates of its buckets follow at distances of 2, each gather at the next
 * integer. PIPE-5 */
#define UPDATE_STRIDE ((int64_t)1 << 42)

/* Appends the update of the shard of bucket b of flat group k. ops has room for one more, with a
 * clock after those so far. STEP-7 */
/*@ requires range: 0 <= k < ZP_LIMIT_ENTRIES && 0 <= b < ZP_LIMIT_ELEMENTS &&
        0 <= clock < 1152921504606846976;
    requires room: 0 <= n < 9223372036854775807 && \valid(ops + n);
    requires clock: Clocked(ops, n, t, clock);
    terminates \true; exits \false;
    assigns ops[n];
    ensures length: \result == n + 1;
    ensures op: IsLocal(ops + n, ZP_OP_UPDATE, k, b, 1, t, clock);
    ensures clock: Clocked(ops, \result, t, clock + 1);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == LedgerOf{Pre}(ops, n, g, key, d);
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures rest: SameRest{Pre,Post}(ops, n, \result);
    ensures placed: Placed(ops, n, \result);
    ensures quiet: NoGradients(ops, n, \result); */
static int64_t put_shard(int32_t k, int64_t b, int64_t t, int64_t clock, zp_op *ops, int64_t n)
{
  zp_op update = zp_op_local(ZP_OP_UPDATE, k, b, t, clock);
  update.if_stepped = 1;
  return zp_emit(ops, n, update);
}

/* Appends the gather of the parameters of bucket b of flat group f, number k, if they are sharded.
 * f must be a flat group and b one of its buckets; ops has room, with clocks after those so far.
 * STEP-8 */
/*@ requires flat: FlatFits(f);
    requires config: 0 <= stage <= 2 && 0 <= dtype <= 2;
    requires bucket: 0 <= k < ZP_LIMIT_ENTRIES && BucketOf(f.numel, f.capacity, b) &&
        b < ZP_LIMIT_ELEMENTS;
    requires room: 0 <= n <= 9223372036854775806 && (0 < stage ==> \valid(ops + n));
    requires range: 0 <= clock < 1152921504606846976;
    requires clock: Clocked(ops, n, t, clock);
    terminates \true; exits \false;
    assigns ops[n .. n + UpdateLen(stage, 1) - 2];
    ensures length: \result == n + UpdateLen(stage, 1) - 1;
    ensures op: 0 < stage ==> IsOnBucket(ops + n, ZP_OP_ALL_GATHER, ZP_WHAT_PARAMETER, f.group, -1,
        dtype, ZP_RED_NONE, k, b, 1, Part(f.numel, f.capacity, f.members, f.align, b), t, clock);
    ensures clock: Clocked(ops, \result, t, clock + 1);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == (0 < stage && g == f.group && d != 0 ?
          Gather(LedgerOf{Pre}(ops, n, g, key, d), dtype,
            Part(f.numel, f.capacity, f.members, f.align, b), t, clock) :
          LedgerOf{Pre}(ops, n, g, key, d));
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures rest: SameRest{Pre,Post}(ops, n, \result);
    ensures placed: Placed(ops, n, \result);
    ensures quiet: NoGradients(ops, n, \result); */
static int64_t put_gather(zp_flat f, int32_t stage, int32_t dtype, int32_t k, int64_t b, int64_t t,
                          int64_t clock, zp_op *ops, int64_t n)
{
  if (stage == 0) return n;
  zp_op gather = zp_op_on_bucket(&f, ZP_OP_ALL_GATHER, ZP_WHAT_PARAMETER, k, b, t, clock);
  gather.dtype = dtype;
  gather.if_stepped = 1;
  return zp_emit(ops, n, gather);
}

/* Appends the update of the shard and the gather of the parameters of one bucket. f must be a flat
 * group and b one of its buckets; ops has room, with clocks after those so far. STEP-7, STEP-8 */
/*@ requires flat: FlatFits(f);
    requires config: 0 <= stage <= 2 && 0 <= dtype <= 2;
    requires bucket: 0 <= k < ZP_LIMIT_ENTRIES && BucketOf(f.numel, f.capacity, b) &&
        b < ZP_LIMIT_ELEMENTS;
    requires room: 0 <= n <= 9223372036854775805 &&
        \valid(ops + (n .. n + UpdateLen(stage, 1) - 1));
    requires range: 0 <= clock < 1152921504606846975;
    requires clock: Clocked(ops, n, t, clock);
    terminates \true; exits \false;
    assigns ops[n .. n + UpdateLen(stage, 1) - 1];
    ensures length: \result == n + UpdateLen(stage, 1);
    ensures op: IsLocal(ops + n, ZP_OP_UPDATE, k, b, 1, t, clock);
    ensures gather: 0 < stage ==> IsOnBucket(ops + (n + 1), ZP_OP_ALL_GATHER, ZP_WHAT_PARAMETER,
        f.group, -1, dtype, ZP_RED_NONE, k, b, 1,
        Part(f.numel, f.capacity, f.members, f.align, b), t, clock + 1);
    ensures clock: Clocked(ops, \result, t, clock + 2);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == (0 < stage && g == f.group && d != 0 ?
          Gather(LedgerOf{Pre}(ops, n, g, key, d), dtype,
            Part(f.numel, f.capacity, f.members, f.align, b), t, clock + 1) :
          LedgerOf{Pre}(ops, n, g, key, d));
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures rest: SameRest{Pre,Post}(ops, n, \result);
    ensures placed: Placed(ops, n, \result);
    ensures quiet: NoGradients(ops, n, \result); */
static int64_t put_update_bucket(zp_flat f, int32_t stage, int32_t dtype, int32_t k, int64_t b,
                                 int64_t t, int64_t clock, zp_op *ops, int64_t n)
{
  const int64_t after = put_shard(k, b, t, clock, ops, n);
  const int64_t gathered = put_gather(f, stage, dtype, k, b, t, clock + 1, ops, after);
  //@ assert quiet: ops[n].kind != ZP_OP_ADD && ops[n].what != ZP_WHAT_GRADIENT;
  return gathered;
}

/* Appends updates and gathers of the `buckets` buckets of flat group f, number k: all or none. The
 * last one, which forward uses first, comes first. f must be a flat group; ops has room, with
 * clocks after those so far. STEP-7, STEP-8 */
/*@ requires flat: FlatFits(f);
    requires config: 0 <= stage <= 2 && 0 <= dtype <= 2;
    requires range: 0 <= k < ZP_LIMIT_ENTRIES && 0 <= buckets <= ZP_LIMIT_ELEMENTS &&
        (buckets == 0 || buckets == Buckets(f.numel, f.capacity));
    requires room: 0 <= n && n + UpdateLen(stage, buckets) <= 9223372036854775805 &&
        \valid(ops + (n .. n + UpdateLen(stage, buckets) - 1));
    requires first: 0 <= clock <= 576460752303423488;
    requires clock: Clocked(ops, n, t, clock);
    terminates \true; exits \false;
    assigns ops[n .. n + UpdateLen(stage, buckets) - 1];
    ensures length: \result == n + UpdateLen(stage, buckets);
    ensures ops: UpdateOps(ops, n, \result, f.group, f.numel, f.capacity, f.members, f.align,
        stage, dtype, k, t, clock, buckets);
    ensures clock: Clocked(ops, \result, t, clock + ZP_CLOCK_STRIDE);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == (0 < stage && g == f.group && d != 0 ?
          Gathers(LedgerOf{Pre}(ops, n, g, key, d), dtype, f.numel, f.capacity, f.members,
            f.align, clock, t, buckets) :
          LedgerOf{Pre}(ops, n, g, key, d));
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures rest: SameRest{Pre,Post}(ops, n, \result);
    ensures placed: Placed(ops, n, \result);
    ensures quiet: NoGradients(ops, n, \result); */
static int64_t put_flat_update(zp_flat f, int64_t buckets, int32_t stage, int32_t dtype, int32_t k,
                               int64_t t, int64_t clock, zp_op *ops, int64_t n)
{
  /*@ loop invariant range: 0 <= i <= buckets;
      loop invariant length: n == \at(n, Pre) + UpdateLen(stage, i);
      loop invariant ops: UpdateOps(ops, \at(n, Pre), n, f.group, f.numel, f.capacity, f.members,
        f.align, stage, dtype, k, t, clock, buckets);
      loop invariant clock: Clocked(ops, n, t, clock + 2 * i);
      loop invariant ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, n, g, key, d) == (0 < stage && g == f.group && d != 0 ?
          Gathers(LedgerOf{Pre}(ops, \at(n, Pre), g, key, d), dtype, f.numel, f.capacity,
            f.members, f.align, clock, t, i) :
          LedgerOf{Pre}(ops, \at(n, Pre), g, key, d));
      loop invariant stays: SameOps{Pre,Here}(ops, \at(n, Pre));
      loop invariant rest: SameRest{Pre,Here}(ops, \at(n, Pre), n);
      loop invariant placed: Placed(ops, \at(n, Pre), n);
      loop invariant quiet: NoGradients(ops, \at(n, Pre), n);
      loop assigns i, n, ops[\at(n, Pre) .. \at(n, Pre) + UpdateLen(stage, buckets) - 1];
      loop variant buckets - i; */
  for (int64_t i = 0; i < buckets; i++) {
    //@ assert room: UpdateLen(stage, i) + UpdateLen(stage, 1) <= UpdateLen(stage, buckets);
    const int64_t next =
        put_update_bucket(f, stage, dtype, k, buckets - 1 - i, t, clock + 2 * i, ops, n);
    /*@ assert before: UpdateOps(ops, \at(n, Pre), n, f.group, f.numel, f.capacity, f.members,
          f.align, stage, dtype, k, t, clock, buckets); */
    /*@ assert here: UpdateOp(ops + n, f.group, f.numel, f.capacity, f.members, f.align, stage,
          dtype, k, t, clock, buckets, n - \at(n, Pre)); */
    /*@ assert odd: 0 < stage ==> n + 1 - \at(n, Pre) == 2 * i + 1 && (2 * i + 1) % 2 == 1 &&
          UpdatedBucket(1, buckets, 2 * i + 1) == buckets - 1 - i; */
    /*@ assert there: 0 < stage ==> IsGather(ops + (n + 1), f.group, f.numel, f.capacity,
          f.members, f.align, dtype, k, t, clock, buckets, 2 * i + 1); */
    /*@ assert one: UpdateOps(ops, \at(n, Pre), n + 1, f.group, f.numel, f.capacity, f.members,
          f.align, stage, dtype, k, t, clock, buckets); */
    /*@ assert next: 0 < stage ==> UpdateOp(ops + (n + 1), f.group, f.numel, f.capacity, f.members,
          f.align, stage, dtype, k, t, clock, buckets, n + 1 - \at(n, Pre)); */
    /*@ assert two: 0 < stage ==> UpdateOps(ops, \at(n, Pre), n + 2, f.group, f.numel, f.capacity,
          f.members, f.align, stage, dtype, k, t, clock, buckets); */
    n = next;
  }
  return n;
}

/* 0 if flat group f is updated and gathered before the others. f must be a flat group. STEP-8 */
/*@ requires flat: \valid_read(f) && FlatFine(f);
    terminates \true; exits \false;
    assigns \nothing;
    ensures later: \result == Later(f); */
static int32_t comes_later(const zp_flat *f)
{
  return f->tied < 0 && zp_buckets(f) > 1 ? 1 : 0;
}

/* Appends updates and gathers of all buckets of flat group k, if it has storage and comes first
 * (later 0) or not (1). a must describe the stage; ops has room, with clocks after those so far,
 * and does not overlap the flat groups. STEP-7, STEP-8 */
/*@ requires tail: TailOk(a) && 0 <= k < a.flats && 0 <= later <= 1;
    requires room: 0 <= n &&
        n + UpdateLen(a.stage, PassOf(a.flat + k, later)) <= 9223372036854775805 &&
        \valid(ops + (n .. n + UpdateLen(a.stage, PassOf(a.flat + k, later)) - 1));
    requires clear: ClearOfFlats(ops + n, UpdateLen(a.stage, PassOf(a.flat + k, later)), a.flat,
        a.flats);
    requires clock: Clocked(ops, n, t, UpdateClock(later, k));
    terminates \true; exits \false;
    assigns ops[n .. n + UpdateLen(a.stage, PassOf(a.flat + k, later)) - 1];
    ensures length: \result == n + UpdateLen(a.stage, PassOf{Pre}(a.flat + k, later));
    ensures ops: FlatUpdateOps{Pre,Post}(ops, n, \result, a.flat + k, later, a.stage, a.precision,
        k, t);
    ensures same: SameFlats{Pre,Post}(a.flat, a.flats);
    ensures clock: Clocked(ops, \result, t, UpdateClock(later, k + 1));
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == (d == 0 ? LedgerOf{Pre}(ops, n, g, key, d) :
          GathersOf{Pre}(LedgerOf{Pre}(ops, n, g, key, d), a.stage, a.precision, a.flat + k,
            later, k, g, t));
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures rest: SameRest{Pre,Post}(ops, n, \result);
    ensures placed: Placed(ops, n, \result);
    ensures quiet: NoGradients(ops, n, \result); */
static int64_t put_held_update(zp_tail a, int32_t later, int32_t k, int64_t t, zp_op *ops,
                               int64_t n)
{
  //@ assert fine: FlatFine(a.flat + k);
  const int64_t held = comes_later(&a.flat[k]) == later ? zp_held_buckets(&a.flat[k]) : 0;
  return put_flat_update(a.flat[k], held, a.stage, zp_dtype_of(a.flat[k].fp32, a.precision), k, t,
                         (later * (int64_t)65536 + k) * UPDATE_STRIDE, ops, n);
}

/* Appends updates and gathers of all flat groups that have storage and come first (later 0), or
 * of the others (1). a must describe the stage; ops has room, with clocks after those so far, and
 * does not overlap the flat groups. STEP-7, STEP-8 */
/*@ requires tail: TailOk(a) && 0 <= later <= 1;
    requires room: 0 <= n &&
        n + UpdateLen(a.stage, Pass(a.flat, a.flats, later)) <= 9223372036854775805 &&
        \valid(ops + (n .. n + UpdateLen(a.stage, Pass(a.flat, a.flats, later)) - 1));
    requires apart: FlatsApart(ops, n, UpdateLen(a.stage, Pass(a.flat, a.flats, later)), a.flat,
        a.flats);
    requires clock: Clocked(ops, n, t, UpdateClock(later, 0));
    terminates \true; exits \false;
    assigns ops[n .. n + UpdateLen(a.stage, Pass(a.flat, a.flats, later)) - 1];
    ensures length: \result == n + UpdateLen(a.stage, Pass{Pre}(a.flat, a.flats, later));
    ensures ops: PassOps{Pre,Post}(ops, n, \result, a.flat, later, a.stage, a.precision, t,
        a.flats);
    ensures same: SameFlats{Pre,Post}(a.flat, a.flats);
    ensures clock: Clocked(ops, \result, t, UpdateClock(later, a.flats));
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == (d == 0 ? LedgerOf{Pre}(ops, n, g, key, d) :
          GatherPass{Pre}(LedgerOf{Pre}(ops, n, g, key, d), a.stage, a.precision, a.flat, a.flats,
            later, g, t));
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures rest: SameRest{Pre,Post}(ops, n, \result);
    ensures placed: Placed(ops, n, \result);
    ensures quiet: NoGradients(ops, n, \result); */
static int64_t put_pass(zp_tail a, int32_t later, int64_t t, zp_op *ops, int64_t n)
{
  /*@ loop invariant range: 0 <= k <= a.flats;
      loop invariant same: SameFlats{Pre,Here}(a.flat, a.flats);
      loop invariant fine: FlatsFine(a.flat, a.flats);
      loop invariant length: n == \at(n, Pre) + UpdateLen(a.stage, Pass{Pre}(a.flat, k, later));
      loop invariant ops: PassOps{Pre,Here}(ops, \at(n, Pre), n, a.flat, later, a.stage,
        a.precision, t, k);
      loop invariant clock: Clocked(ops, n, t, UpdateClock(later, k));
      loop invariant ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, n, g, key, d) == (d == 0 ? LedgerOf{Pre}(ops, \at(n, Pre), g, key, d) :
          GatherPass{Pre}(LedgerOf{Pre}(ops, \at(n, Pre), g, key, d), a.stage, a.precision,
            a.flat, k, later, g, t));
      loop invariant stays: SameOps{Pre,Here}(ops, \at(n, Pre));
      loop invariant rest: SameRest{Pre,Here}(ops, \at(n, Pre), n);
      loop invariant placed: Placed(ops, \at(n, Pre), n);
      loop invariant quiet: NoGradients(ops, \at(n, Pre), n);
      loop assigns k, n, ops[\at(n, Pre) .. \at(n, Pre) +
        UpdateLen(a.stage, Pass{Pre}(a.flat, a.flats, later)) - 1];
      loop variant a.flats - k; */
  for (int32_t k = 0; k < a.flats; k++) {
    //@ assert ok: FlatFine(a.flat + k);
    //@ assert step: PassOf(a.flat + k, later) == PassOf{Pre}(a.flat + k, later);
    //@ assert some: 0 <= Pass{Pre}(a.flat, k, later);
    //@ assert more: 0 <= PassOf{Pre}(a.flat + k, later);
    //@ assert last: Pass{Pre}(a.flat, k + 1, later) <= Pass{Pre}(a.flat, a.flats, later);
    /*@ assert room: Pass{Pre}(a.flat, k, later) + PassOf{Pre}(a.flat + k, later) <=
          Pass{Pre}(a.flat, a.flats, later); */
    /*@ assert clear: ClearOfFlats(ops + n, UpdateLen(a.stage, PassOf(a.flat + k, later)), a.flat,
          a.flats); */
    /*@ assert within: \at(n, Pre) <= n &&
          n + UpdateLen(a.stage, PassOf(a.flat + k, later)) <=
          \at(n, Pre) + UpdateLen(a.stage, Pass{Pre}(a.flat, a.flats, later)); */
    const int64_t next = put_held_update(a, later, k, t, ops, n);
    /*@ assert old: PassOps{Pre,Here}(ops, \at(n, Pre), n, a.flat, later, a.stage, a.precision, t,
          k); */
    /*@ assert new: FlatUpdateOps{Pre,Here}(ops, n, next, a.flat + k, later, a.stage, a.precision,
          k, t); */
    //@ assert before: Placed(ops, \at(n, Pre), n);
    //@ assert quiet: NoGradients(ops, \at(n, Pre), n);
    n = next;
  }
  return n;
}

int64_t zp_put_update(zp_tail a, int64_t t, zp_op *ops, int64_t n)
{
  //@ ghost const int64_t start = n;
  //@ assert both: Pass(a.flat, a.flats, 0) + Pass(a.flat, a.flats, 1) == Held(a.flat, a.flats);
  //@ assert some: 0 <= Pass(a.flat, a.flats, 0) && 0 <= Pass(a.flat, a.flats, 1);
  const int64_t first = put_pass(a, 0, t, ops, n);
  //@ assert same: SameFlats{Pre,Here}(a.flat, a.flats);
  //@ assert tail: TailOk(a);
  //@ assert rest: Pass(a.flat, a.flats, 1) == Pass{Pre}(a.flat, a.flats, 1);
  //@ assert clock: Clocked(ops, first, t, UpdateClock(1, 0));
  /*@ assert apart: FlatsApart(ops, first, UpdateLen(a.stage, Pass(a.flat, a.flats, 1)), a.flat,
        a.flats); */
  //@ ghost Between: ;
  const int64_t all = put_pass(a, 1, t, ops, first);
  //@ assert some: first < all ==> 1 <= a.flats;
  //@ assert flats: SameFlats{Pre,Between}(a.flat, a.flats);
  /*@ assert second: PassOps{Between,Here}(ops, first, all, a.flat, 1, a.stage, a.precision, t,
        a.flats); */
  //@ assert later: PassOps{Pre,Here}(ops, first, all, a.flat, 1, a.stage, a.precision, t, a.flats);
  /*@ assert ops: PassOps{Pre,Here}(ops, start, first, a.flat, 0, a.stage, a.precision, t,
        a.flats); */
  //@ assert before: Placed(ops, start, first);
  //@ assert quiet: NoGradients(ops, start, first);
  return all;
}
