/* The logic of the STEP program after its pipeline: sums of tied keys, means, updates and gathers;
 * RED-4, TIE-1, STAT-2, STEP-7, STEP-8, LEDG-6, LEDG-8. Included by ref/plan/step_internal.h;
 * step_tail.h has the consequences. */
#ifndef ZP_SPEC_ACSL_STEP_TAIL_FOLD_H
#define ZP_SPEC_ACSL_STEP_TAIL_FOLD_H

#include "bounds.h"

/* ---- One flat group: n elements, capacity c, d members, alignment a; its first b buckets ---- */
/*@ // PIPE-5: of key or flat group x and bucket b.
    logic integer SumClock(integer x, integer b) = x * ZP_SUM_STRIDE + b;
    // Of the first update of flat group k, one of those that come first (later 0) or not (1).
    logic integer UpdateClock(integer later,
        integer k) = (later * ZP_LIMIT_ENTRIES + k) * ZP_CLOCK_STRIDE;

    // TIE-1: the sum of bucket b of tied key `key`, and those of the first b buckets.
    logic integer TiedCount(integer stage, integer exact, integer n, integer c, integer d,
        integer a, integer b) =
      (stage == 0 ? BucketPadded(n, c, d, a, b) : Part(n, c, d, a, b)) *
      (exact == ZP_EXACT ? ZP_LIMBS : 1);
    logic trace TiedSum(trace tr, integer key, integer exact, integer count, integer t,
        integer clock) =
      Snoc(tr, ZP_OP_ALL_REDUCE, ZP_WHAT_TIED, key, count, exact == ZP_EXACT ? ZP_I64 : ZP_F32,
        exact == ZP_EXACT ? ZP_RED_SUM : ZP_RED_ORDERED, -1, t, clock);
    logic trace TiedSums(trace tr, integer stage, integer exact, integer n, integer c, integer d,
        integer a, integer key, integer t, integer b) =
      b <= 0 ? tr :
      TiedSum(TiedSums(tr, stage, exact, n, c, d, a, key, t, b - 1), key, exact,
        TiedCount(stage, exact, n, c, d, a, b - 1), t, SumClock(key, b - 1));

    // STEP-8: the gather of a bucket, and those of a flat group's last b buckets, the last one
    // first; clock: of its first update.
    logic trace Gather(trace tr, integer dtype, integer part, integer t, integer clock) =
      Snoc(tr, ZP_OP_ALL_GATHER, ZP_WHAT_PARAMETER, -1, part, dtype, ZP_RED_NONE, -1, t,
        clock);
    logic trace Gathers(trace tr, integer dtype, integer n, integer c, integer d, integer a,
        integer clock, integer t, integer b) =
      b <= 0 ? tr :
      Gather(Gathers(tr, dtype, n, c, d, a, clock, t, b - 1), dtype,
        Part(n, c, d, a, Buckets(n, c) - b), t, clock + 2 * b - 1);
    // The number of ops for b buckets: an update and, from ZeRO stage 1 on, a gather.
    logic integer UpdateLen(integer stage, integer b) = stage > 0 ? 2 * b : b;
*/

/* ---- The first n flat groups of a stage, at f ---- */
/*@ // The ops changed no link, added and reduced nothing.
    predicate SameRest{A,B}(zp_op *ops, integer n, integer m) =
      (\forall integer peer; LinkOf{B}(ops, m, peer) == LinkOf{A}(ops, n, peer)) &&
      (\forall integer p, mb, e, k, b;
        Added{B}(ops, m, p, mb, e, k, b) == Added{A}(ops, n, p, mb, e, k, b)) &&
      (\forall integer k, b, mb; Reduced{B}(ops, m, k, b, mb) == Reduced{A}(ops, n, k, b, mb));

    predicate FlatFine{L}(zp_flat *f) =
      FlatOk(f) && (f->group == ZP_GROUP_DP || f->group == ZP_GROUP_EDP);
    predicate FlatsFine{L}(zp_flat *f, integer n) =
      \forall integer k; 0 <= k < n ==> FlatFine(f + k);
    predicate SameFlats{A,B}(zp_flat *f, integer n) =
      \forall integer k; 0 <= k < n ==>
        \at(f[k].group, A) == \at(f[k].group, B) && \at(f[k].members, A) == \at(f[k].members, B) &&
        \at(f[k].tied, A) == \at(f[k].tied, B) && \at(f[k].use, A) == \at(f[k].use, B) &&
        \at(f[k].numel, A) == \at(f[k].numel, B) &&
        \at(f[k].capacity, A) == \at(f[k].capacity, B) &&
        \at(f[k].align, A) == \at(f[k].align, B) && \at(f[k].fp32, A) == \at(f[k].fp32, B);
    // Writing any of the len ops from ops[n] on does not change them.
    predicate FlatsApart(zp_op *ops, integer n, integer len, zp_flat *f, integer flats) =
      \forall integer p, m; n <= p && 0 <= m && p + m <= n + len ==>
        ClearOfFlats(ops + p, m, f, flats);

    logic integer BucketsOf{L}(zp_flat *f) = Buckets(f->numel, f->capacity);
    // TIE-2: buckets that have storage of their own.
    logic integer HeldOf{L}(zp_flat *f) = f->use == 0 ? BucketsOf(f) : 0;
    logic integer Held{L}(zp_flat *f, integer n) =
      n <= 0 ? 0 : Held(f, n - 1) + HeldOf(f + (n - 1));
    logic integer AllOf{L}(zp_flat *f, integer n) =
      n <= 0 ? 0 : AllOf(f, n - 1) + BucketsOf(f + (n - 1));
    // STEP-8: 0 if a flat group is updated and gathered before the others: it is tied, or has one
    // bucket at most. The buckets of those (later 0), or of the others (1).
    logic integer Later{L}(zp_flat *f) = 0 <= f->tied || BucketsOf(f) <= 1 ? 0 : 1;
    logic integer PassOf{L}(zp_flat *f, integer later) =
      Later(f) == later ? HeldOf(f) : 0;
    logic integer Pass{L}(zp_flat *f, integer n, integer later) =
      n <= 0 ? 0 : Pass(f, n - 1, later) + PassOf(f + (n - 1), later);
    logic integer HeldTiedOf{L}(zp_flat *f) = f->use == 0 && 0 <= f->tied ? BucketsOf(f) : 0;
    logic integer HeldTied{L}(zp_flat *f, integer n) =
      n <= 0 ? 0 : HeldTied(f, n - 1) + HeldTiedOf(f + (n - 1));

    // TIE-1: the flat group that holds tied key `key`, or -1.
    logic integer HoldsKey{L}(zp_flat *f, integer key) = f->tied == key && f->use == 0 ? 1 : 0;
    logic integer TiedFlat{L}(zp_flat *f, integer n, integer key) =
      n <= 0 ? -1 : 0 <= TiedFlat(f, n - 1, key) ? TiedFlat(f, n - 1, key) :
      HoldsKey(f + (n - 1), key) == 1 ? n - 1 : -1;
    logic integer KeyLen{L}(zp_flat *f, integer n, integer key) =
      TiedFlat(f, n, key) < 0 ? 0 : BucketsOf(f + TiedFlat(f, n, key));
    // The same for the keys below x.
    logic integer KeysLen{L}(zp_flat *f, integer n, integer x) =
      x <= 0 ? 0 : KeysLen(f, n, x - 1) + KeyLen(f, n, x - 1);
    logic trace TiedSumsOf{L}(trace tr, integer stage, integer exact, zp_flat *f, integer key,
        integer t) =
      TiedSums(tr, stage, exact, f->numel, f->capacity, f->members, f->align, key, t,
        BucketsOf(f));
    logic trace KeyTrace{L}(trace tr, integer stage, integer exact, zp_flat *f, integer n,
        integer key, integer t) =
      TiedFlat(f, n, key) < 0 ? tr :
      TiedSumsOf(tr, stage, exact, f + TiedFlat(f, n, key), key, t);

    // STEP-8: the gathers over group g: those of flat group f, number k; of the first n flat groups
    // that come first (later 0), or of the others (1); and of the first n.
    logic trace GathersOf{L}(trace tr, integer stage, integer precision, zp_flat *f,
        integer later, integer k, integer g, integer t) =
      stage > 0 && f->group == g && f->use == 0 && Later(f) == later ?
        Gathers(tr, DtypeOf(f->fp32, precision), f->numel, f->capacity, f->members, f->align,
          UpdateClock(later, k), t, BucketsOf(f)) :
        tr;
    logic trace GatherPass{L}(trace tr, integer stage, integer precision, zp_flat *f, integer n,
        integer later, integer g, integer t) =
      n <= 0 ? tr :
      GathersOf(GatherPass(tr, stage, precision, f, n - 1, later, g, t), stage, precision,
        f + (n - 1), later, n - 1, g, t);
    logic trace GatherTrace{L}(trace tr, integer stage, integer precision, zp_flat *f, integer n,
        integer g, integer t) =
      GatherPass(GatherPass(tr, stage, precision, f, n, 0, g, t), stage, precision, f, n, 1, g, t);
*/

/* ---- All of it ---- */
/*@ // STAT-1: the agreement on the statistics, of the whole world.
    logic trace Agreement(trace tr, integer g, integer t) =
      g == ZP_GROUP_WORLD ? Snoc(tr, ZP_OP_ALL_REDUCE, ZP_WHAT_STATISTICS, -1, ZP_STATS, ZP_I64,
        ZP_RED_SUM, -1, t, 0) : tr;
    logic trace KeysTrace{L}(trace tr, integer stage, integer exact, zp_flat *f, integer n,
        integer keys, integer g, integer key, integer t) =
      g == ZP_GROUP_TIED && 0 <= key && key < keys ? KeyTrace(tr, stage, exact, f, n, key, t) : tr;
    // LEDG-6: the additions of the rest of the step to the ledger of group g, of key `key`; stepped
    // 0: of a skipped step. t: the pipeline's slots.
    logic trace TailTrace{L}(trace tr, integer stage, integer exact, integer precision, zp_flat *f,
        integer n, integer keys, integer g, integer key, integer stepped, integer t) =
      stepped == 0 ?
        Agreement(KeysTrace(tr, stage, exact, f, n, keys, g, key, t), g, t + 2) :
        GatherTrace(Agreement(KeysTrace(tr, stage, exact, f, n, keys, g, key, t), g, t + 2), stage,
          precision, f, n, g, t + 3);
    // The number of ops before DECIDE, and of all ops.
    logic integer TailBefore{L}(zp_flat *f, integer n, integer keys) =
      KeysLen(f, n, keys) + Held(f, n) + 1;
    logic integer TailLen{L}(integer stage, zp_flat *f, integer n, integer keys) =
      TailBefore(f, n, keys) + 1 + UpdateLen(stage, Held(f, n));
*/

#endif
