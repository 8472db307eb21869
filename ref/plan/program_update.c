/* Updates of the shards, and gathers of the parameters. spec: STEP-7, STEP-8 */
#include "step_internal.h"

#include "../../spec/acsl/kept_lemmas.h"
#include "../../spec/acsl/save_lemmas.h"
#include "../../spec/acsl/step_tail.h"

/* The clock: flat group times this, plus 2 b; the gather is at the next integer. PIPE-5 */
#define UPDATE_STRIDE ((int64_t)1 << 42)

/* Appends the update of the shard of bucket b of flat group k. ops has room for one more, with a
 * clock after those so far. STEP-7 */
/*@ requires range: 0 <= k < 65536 && 0 <= b < 1099511627776;
    requires room: 0 <= n < 9223372036854775807 && \valid(ops + n);
    requires clock: Clocked(ops, n, t, UpdateClock(k, b));
    terminates \true; exits \false;
    assigns ops[n];
    ensures length: \result == n + 1;
    ensures op: ops[n].kind == ZP_OP_UPDATE && ops[n].flat == k && ops[n].bucket == b &&
        ops[n].if_stepped == 1;
    ensures clock: Clocked(ops, \result, t, UpdateClock(k, b) + 1);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == LedgerOf{Pre}(ops, n, g, key, d);
    ensures rest: SameRest{Pre,Post}(ops, n, \result);
    ensures placed: Placed(ops, n, \result);
    ensures quiet: NoGradients(ops, n, \result); */
static int64_t put_shard(int32_t k, int64_t b, int64_t t, zp_op *ops, int64_t n)
{
  zp_op update = zp_op_local(ZP_OP_UPDATE, k, b, t, k * UPDATE_STRIDE + 2 * b);
  update.if_stepped = 1;
  return zp_emit(ops, n, update);
}

/* Appends the gather of the parameters of bucket b of flat group f, number k, if they are sharded.
 * f must be a flat group and b one of its buckets; ops has room, with clocks after those so far.
 * STEP-8 */
/*@ requires flat: FlatFits(f);
    requires config: 0 <= stage <= 2 && 0 <= precision <= 2;
    requires bucket: 0 <= k < 65536 && BucketOf(f.numel, f.capacity, b) && b < 1099511627776;
    requires room: 0 <= n <= 9223372036854775806 && (0 < stage ==> \valid(ops + n));
    requires clock: Clocked(ops, n, t, UpdateClock(k, b) + 1);
    terminates \true; exits \false;
    assigns ops[n .. n + UpdateLen(stage, 1) - 2];
    ensures length: \result == n + UpdateLen(stage, 1) - 1;
    ensures clock: Clocked(ops, \result, t, UpdateClock(k, b + 1));
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == (0 < stage && g == f.group && d != 0 ?
          Gather(LedgerOf{Pre}(ops, n, g, key, d), precision,
            Part(f.numel, f.capacity, f.members, f.align, b), t, UpdateClock(k, b) + 1) :
          LedgerOf{Pre}(ops, n, g, key, d));
    ensures rest: SameRest{Pre,Post}(ops, n, \result);
    ensures placed: Placed(ops, n, \result);
    ensures quiet: NoGradients(ops, n, \result); */
static int64_t put_gather(zp_flat f, int32_t stage, int32_t precision, int32_t k, int64_t b,
                          int64_t t, zp_op *ops, int64_t n)
{
  if (stage == 0) return n;
  zp_op gather = zp_op_on_bucket(&f, ZP_OP_ALL_GATHER, ZP_WHAT_PARAMETER, k, b, t,
                                 k * UPDATE_STRIDE + 2 * b + 1);
  gather.dtype = precision;
  gather.if_stepped = 1;
  return zp_emit(ops, n, gather);
}

/* Appends the update of the shard and the gather of the parameters of one bucket. f must be a flat
 * group and b one of its buckets; ops has room, with clocks after those so far. STEP-7, STEP-8 */
/*@ requires flat: FlatFits(f);
    requires config: 0 <= stage <= 2 && 0 <= precision <= 2;
    requires bucket: 0 <= k < 65536 && BucketOf(f.numel, f.capacity, b) && b < 1099511627776;
    requires room: 0 <= n <= 9223372036854775805 &&
        \valid(ops + (n .. n + UpdateLen(stage, 1) - 1));
    requires clock: Clocked(ops, n, t, UpdateClock(k, b));
    terminates \true; exits \false;
    assigns ops[n .. n + UpdateLen(stage, 1) - 1];
    ensures length: \result == n + UpdateLen(stage, 1);
    ensures clock: Clocked(ops, \result, t, UpdateClock(k, b + 1));
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == (0 < stage && g == f.group && d != 0 ?
          Gather(LedgerOf{Pre}(ops, n, g, key, d), precision,
            Part(f.numel, f.capacity, f.members, f.align, b), t, UpdateClock(k, b) + 1) :
          LedgerOf{Pre}(ops, n, g, key, d));
    ensures rest: SameRest{Pre,Post}(ops, n, \result);
    ensures placed: Placed(ops, n, \result);
    ensures quiet: NoGradients(ops, n, \result); */
static int64_t put_update_bucket(zp_flat f, int32_t stage, int32_t precision, int32_t k, int64_t b,
                                 int64_t t, zp_op *ops, int64_t n)
{
  const int64_t after = put_shard(k, b, t, ops, n);
  const int64_t gathered = put_gather(f, stage, precision, k, b, t, ops, after);
  //@ assert quiet: ops[n].kind != ZP_OP_ADD && ops[n].what != ZP_WHAT_GRADIENT;
  return gathered;
}

/* Appends updates and gathers of the `buckets` buckets of flat group f, number k, if it has
 * storage. f must be a flat group; ops has room, with clocks after those so far. STEP-7, STEP-8 */
/*@ requires flat: FlatFits(f);
    requires config: 0 <= stage <= 2 && 0 <= precision <= 2;
    requires range: 0 <= k < 65536 && 0 <= buckets <= 1099511627776 &&
        buckets <= Buckets(f.numel, f.capacity);
    requires room: 0 <= n && n + UpdateLen(stage, buckets) <= 9223372036854775805 &&
        \valid(ops + (n .. n + UpdateLen(stage, buckets) - 1));
    requires clock: Clocked(ops, n, t, UpdateClock(k, 0));
    terminates \true; exits \false;
    assigns ops[n .. n + UpdateLen(stage, buckets) - 1];
    ensures length: \result == n + UpdateLen(stage, buckets);
    ensures clock: Clocked(ops, \result, t, UpdateClock(k + 1, 0));
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == (0 < stage && g == f.group && d != 0 ?
          Gathers(LedgerOf{Pre}(ops, n, g, key, d), precision, f.numel, f.capacity, f.members,
            f.align, k, t, buckets) :
          LedgerOf{Pre}(ops, n, g, key, d));
    ensures rest: SameRest{Pre,Post}(ops, n, \result);
    ensures placed: Placed(ops, n, \result);
    ensures quiet: NoGradients(ops, n, \result); */
static int64_t put_flat_update(zp_flat f, int64_t buckets, int32_t stage, int32_t precision,
                               int32_t k, int64_t t, zp_op *ops, int64_t n)
{
  /*@ loop invariant range: 0 <= b <= buckets;
      loop invariant length: n == \at(n, Pre) + UpdateLen(stage, b);
      loop invariant clock: Clocked(ops, n, t, UpdateClock(k, b));
      loop invariant ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, n, g, key, d) == (0 < stage && g == f.group && d != 0 ?
          Gathers(LedgerOf{Pre}(ops, \at(n, Pre), g, key, d), precision, f.numel, f.capacity,
            f.members, f.align, k, t, b) :
          LedgerOf{Pre}(ops, \at(n, Pre), g, key, d));
      loop invariant rest: SameRest{Pre,Here}(ops, \at(n, Pre), n);
      loop invariant placed: Placed(ops, \at(n, Pre), n);
      loop invariant quiet: NoGradients(ops, \at(n, Pre), n);
      loop assigns b, n, ops[\at(n, Pre) .. \at(n, Pre) + UpdateLen(stage, buckets) - 1];
      loop variant buckets - b; */
  for (int64_t b = 0; b < buckets; b++) n = put_update_bucket(f, stage, precision, k, b, t, ops, n);
  return n;
}

/* Appends updates and gathers of all buckets of flat group k, if it has storage. a must describe
 * the stage; ops has room, with clocks after those so far, and does not overlap the flat groups.
 * STEP-7, STEP-8 */
/*@ requires tail: TailOk(a) && 0 <= k < a.flats;
    requires room: 0 <= n && n + UpdateLen(a.stage, HeldOf(a.flat + k)) <= 9223372036854775805 &&
        \valid(ops + (n .. n + UpdateLen(a.stage, HeldOf(a.flat + k)) - 1));
    requires clear: ClearOfFlats(ops + n, UpdateLen(a.stage, HeldOf(a.flat + k)), a.flat, a.flats);
    requires clock: Clocked(ops, n, t, UpdateClock(k, 0));
    terminates \true; exits \false;
    assigns ops[n .. n + UpdateLen(a.stage, HeldOf(a.flat + k)) - 1];
    ensures length: \result == n + UpdateLen(a.stage, HeldOf{Pre}(a.flat + k));
    ensures same: SameFlats{Pre,Post}(a.flat, a.flats);
    ensures clock: Clocked(ops, \result, t, UpdateClock(k + 1, 0));
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == (d == 0 ? LedgerOf{Pre}(ops, n, g, key, d) :
          GathersOf{Pre}(LedgerOf{Pre}(ops, n, g, key, d), a.stage, a.precision, a.flat + k, k, g,
            t));
    ensures rest: SameRest{Pre,Post}(ops, n, \result);
    ensures placed: Placed(ops, n, \result);
    ensures quiet: NoGradients(ops, n, \result); */
static int64_t put_held_update(zp_tail a, int32_t k, int64_t t, zp_op *ops, int64_t n)
{
  //@ assert fine: FlatFine(a.flat + k);
  const int64_t held = zp_held_buckets(&a.flat[k]);
  return put_flat_update(a.flat[k], held, a.stage, a.precision, k, t, ops, n);
}

int64_t zp_put_update(zp_tail a, int64_t t, zp_op *ops, int64_t n)
{
  /*@ loop invariant range: 0 <= k <= a.flats;
      loop invariant same: SameFlats{Pre,Here}(a.flat, a.flats);
      loop invariant fine: FlatsFine(a.flat, a.flats);
      loop invariant length: n == \at(n, Pre) + UpdateLen(a.stage, Held{Pre}(a.flat, k));
      loop invariant clock: Clocked(ops, n, t, UpdateClock(k, 0));
      loop invariant ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, n, g, key, d) == (d == 0 ? LedgerOf{Pre}(ops, \at(n, Pre), g, key, d) :
          GatherTrace{Pre}(LedgerOf{Pre}(ops, \at(n, Pre), g, key, d), a.stage, a.precision,
            a.flat, k, g, t));
      loop invariant rest: SameRest{Pre,Here}(ops, \at(n, Pre), n);
      loop invariant placed: Placed(ops, \at(n, Pre), n);
      loop invariant quiet: NoGradients(ops, \at(n, Pre), n);
      loop assigns k, n, ops[\at(n, Pre) .. \at(n, Pre) +
        UpdateLen(a.stage, Held{Pre}(a.flat, a.flats)) - 1];
      loop variant a.flats - k; */
  for (int32_t k = 0; k < a.flats; k++) {
    //@ assert ok: FlatFine(a.flat + k);
    //@ assert step: HeldOf(a.flat + k) == HeldOf{Pre}(a.flat + k);
    //@ assert some: 0 <= Held{Pre}(a.flat, k);
    //@ assert more: 0 <= HeldOf{Pre}(a.flat + k);
    //@ assert last: Held{Pre}(a.flat, k + 1) <= Held{Pre}(a.flat, a.flats);
    //@ assert room: Held{Pre}(a.flat, k) + HeldOf{Pre}(a.flat + k) <= Held{Pre}(a.flat, a.flats);
    /*@ assert clear: ClearOfFlats(ops + n, UpdateLen(a.stage, HeldOf(a.flat + k)), a.flat,
          a.flats); */
    /*@ assert within: \at(n, Pre) <= n && n + UpdateLen(a.stage, HeldOf(a.flat + k)) <=
          \at(n, Pre) + UpdateLen(a.stage, Held{Pre}(a.flat, a.flats)); */
    const int64_t next = put_held_update(a, k, t, ops, n);
    //@ assert before: Placed(ops, \at(n, Pre), n);
    //@ assert quiet: NoGradients(ops, \at(n, Pre), n);
    n = next;
  }
  return n;
}
