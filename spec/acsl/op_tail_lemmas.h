/* Lemmas about op_tail.h: an op keeps its place while later ones are written. */
#ifndef ZP_SPEC_ACSL_OP_TAIL_LEMMAS_H
#define ZP_SPEC_ACSL_OP_TAIL_LEMMAS_H

/*@ lemma Updated_Even: \forall integer stage, buckets, i; 0 <= i && 0 < stage ==>
      (2 * i) % 2 == 0 && UpdatedBucket(stage, buckets, 2 * i) == buckets - 1 - i &&
      (2 * i + 1) % 2 == 1 && UpdatedBucket(stage, buckets, 2 * i + 1) == buckets - 1 - i;
    lemma UpdateOp_Frame{A,B}: \forall zp_op *o, integer g, n, c, d, a, stage, dtype, k, t, clock,
      buckets, r; SameOp{A,B}(o) &&
      UpdateOp{A}(o, g, n, c, d, a, stage, dtype, k, t, clock, buckets, r) ==>
      UpdateOp{B}(o, g, n, c, d, a, stage, dtype, k, t, clock, buckets, r);
    lemma FlatUpdateOp_Frame{F,A,B}: \forall zp_op *o, zp_flat *f, integer u, stage, precision, k,
      t, r; SameOp{A,B}(o) && FlatUpdateOp{F,A}(o, f, u, stage, precision, k, t, r) ==>
      FlatUpdateOp{F,B}(o, f, u, stage, precision, k, t, r);
    lemma FlatUpdateOp_Same{F,G,O}: \forall zp_op *o, zp_flat *f, integer u, stage, precision, k,
      t, r; KeptFlat{F,G}(f) && FlatUpdateOp{G,O}(o, f, u, stage, precision, k, t, r) ==>
      FlatUpdateOp{F,O}(o, f, u, stage, precision, k, t, r);
    lemma PassBlock_Range{L}: \forall integer x; 1 <= x ==> \forall zp_flat *f, integer u, stage, q;
      0 <= q ==> 0 <= PassBlock(f, u, stage, x, q) < x;
    lemma PassBlock_Same{F,G}: \forall integer x; 0 <= x ==>
      \forall zp_flat *f, integer u, stage, q; SameFlats{F,G}(f, x) ==>
      PassBlock{F}(f, u, stage, x, q) == PassBlock{G}(f, u, stage, x, q);
    lemma PassOp_Frame{F,A,B}: \forall zp_op *o, zp_flat *f, integer u, stage, precision, t, x, q;
      SameOp{A,B}(o) && PassOp{F,A}(o, f, u, stage, precision, t, x, q) ==>
      PassOp{F,B}(o, f, u, stage, precision, t, x, q);
    lemma Pass_Same{F,G}: \forall zp_flat *f, integer u, x, k; SameFlats{F,G}(f, x) &&
      0 <= k < x ==> Pass{F}(f, k, u) == Pass{G}(f, k, u) && KeptFlat{F,G}(f + k);
    lemma PassAt_Same{F,G,O}: \forall zp_op *o, zp_flat *f, integer u, stage, precision, t, x, k, q;
      SameFlats{F,G}(f, x) && 0 <= k < x && FlatUpdateOp{G,O}(o, f + k, u, stage, precision, k, t,
        q - UpdateLen(stage, Pass{G}(f, k, u))) ==>
      FlatUpdateOp{F,O}(o, f + k, u, stage, precision, k, t,
        q - UpdateLen(stage, Pass{F}(f, k, u)));
    lemma PassOp_Same{F,G,O}: \forall zp_op *o, zp_flat *f, integer u, stage, precision, t, x, q;
      SameFlats{F,G}(f, x) && 1 <= x && 0 <= q &&
      PassOp{G,O}(o, f, u, stage, precision, t, x, q) ==>
      PassOp{F,O}(o, f, u, stage, precision, t, x, q);

    lemma UpdateOps_One{L}: \forall zp_op *ops, integer lo, p, g, n, c, d, a, stage, dtype, k, t,
      clock, buckets; lo <= p &&
      UpdateOps(ops, lo, p, g, n, c, d, a, stage, dtype, k, t, clock, buckets) &&
      UpdateOp(ops + p, g, n, c, d, a, stage, dtype, k, t, clock, buckets, p - lo) ==>
      UpdateOps(ops, lo, p + 1, g, n, c, d, a, stage, dtype, k, t, clock, buckets);
    lemma UpdateOps_Frame{A,B}: \forall zp_op *ops, integer lo, hi, g, n, c, d, a, stage, dtype, k,
      t, clock, buckets; 0 <= lo && SameOps{A,B}(ops, hi) &&
      UpdateOps{A}(ops, lo, hi, g, n, c, d, a, stage, dtype, k, t, clock, buckets) ==>
      UpdateOps{B}(ops, lo, hi, g, n, c, d, a, stage, dtype, k, t, clock, buckets);
    lemma FlatUpdateOps_Same{F,G,O}: \forall zp_op *ops, integer lo, hi, zp_flat *f, integer u,
      stage, precision, k, t; KeptFlat{F,G}(f) &&
      FlatUpdateOps{G,O}(ops, lo, hi, f, u, stage, precision, k, t) ==>
      FlatUpdateOps{F,O}(ops, lo, hi, f, u, stage, precision, k, t);
    lemma PassOps_Frame{F,A,B}: \forall zp_op *ops, integer lo, hi, zp_flat *f, integer u, stage,
      precision, t, x; 0 <= lo && SameOps{A,B}(ops, hi) &&
      PassOps{F,A}(ops, lo, hi, f, u, stage, precision, t, x) ==>
      PassOps{F,B}(ops, lo, hi, f, u, stage, precision, t, x);
    lemma PassOps_Same{F,G,O}: \forall zp_op *ops, integer lo, hi, zp_flat *f, integer u, stage,
      precision, t, x; SameFlats{F,G}(f, x) && (1 <= x || hi <= lo) &&
      PassOps{G,O}(ops, lo, hi, f, u, stage, precision, t, x) ==>
      PassOps{F,O}(ops, lo, hi, f, u, stage, precision, t, x);
    lemma PassBlock_Next{L}: \forall zp_flat *f, integer u, stage, k, q; 0 <= k ==>
      (UpdateLen(stage, Pass(f, k, u)) <= q ==> PassBlock(f, u, stage, k + 1, q) == k) &&
      (q < UpdateLen(stage, Pass(f, k, u)) ==>
        PassBlock(f, u, stage, k + 1, q) == PassBlock(f, u, stage, k, q));
    lemma PassOp_New{F,O}: \forall zp_op *o, zp_flat *f, integer u, stage, precision, t, k, q, r;
      0 <= k && 0 <= r && q == UpdateLen(stage, Pass{F}(f, k, u)) + r &&
      FlatUpdateOp{F,O}(o, f + k, u, stage, precision, k, t, r) ==>
      PassOp{F,O}(o, f, u, stage, precision, t, k + 1, q);
    lemma PassOp_Old{F,O}: \forall zp_op *o, zp_flat *f, integer u, stage, precision, t, k, q;
      0 <= k && q < UpdateLen(stage, Pass{F}(f, k, u)) &&
      PassOp{F,O}(o, f, u, stage, precision, t, k, q) ==>
      PassOp{F,O}(o, f, u, stage, precision, t, k + 1, q);
    lemma PassOps_Next{F,O}: \forall zp_op *ops, integer lo, mid, hi, zp_flat *f, integer u, stage,
      precision, t, k; 0 <= k && lo <= mid <= hi && mid == lo + UpdateLen(stage, Pass{F}(f, k,
      u)) &&
      PassOps{F,O}(ops, lo, mid, f, u, stage, precision, t, k) &&
      FlatUpdateOps{F,O}(ops, mid, hi, f + k, u, stage, precision, k, t) ==>
      PassOps{F,O}(ops, lo, hi, f, u, stage, precision, t, k + 1);
    lemma UpdatesOps_Both{F,O}: \forall zp_op *ops, integer lo, mid, hi, zp_flat *f, integer n,
      stage, precision, t; mid == lo + UpdateLen(stage, Pass{F}(f, n, 0)) &&
      PassOps{F,O}(ops, lo, mid, f, 0, stage, precision, t, n) &&
      PassOps{F,O}(ops, mid, hi, f, 1, stage, precision, t, n) ==>
      UpdatesOps{F,O}(ops, lo, hi, f, n, stage, precision, t);
    lemma UpdatesOps_Frame{F,A,B}: \forall zp_op *ops, integer lo, hi, zp_flat *f, integer n, stage,
      precision, t; 0 <= lo && SameOps{A,B}(ops, hi) &&
      UpdatesOps{F,A}(ops, lo, hi, f, n, stage, precision, t) ==>
      UpdatesOps{F,B}(ops, lo, hi, f, n, stage, precision, t);
*/

/* Sums of tied keys. */
/*@ lemma TiedOps_One{L}: \forall zp_op *ops, integer lo, p, n, c, d, a, stage, exact, key, k, t;
      lo <= p && TiedOps(ops, lo, p, n, c, d, a, stage, exact, key, k, t) &&
      TiedOp(ops + p, n, c, d, a, stage, exact, key, k, t, p - lo) ==>
      TiedOps(ops, lo, p + 1, n, c, d, a, stage, exact, key, k, t);
    lemma TiedOps_Frame{A,B}: \forall zp_op *ops, integer lo, hi, n, c, d, a, stage, exact, key, k,
      t; 0 <= lo && SameOps{A,B}(ops, hi) &&
      TiedOps{A}(ops, lo, hi, n, c, d, a, stage, exact, key, k, t) ==>
      TiedOps{B}(ops, lo, hi, n, c, d, a, stage, exact, key, k, t);
    lemma KeyOps_Same{F,G,O}: \forall zp_op *ops, integer lo, hi, zp_flat *f, integer flats, stage,
      exact, key, t; 0 <= flats && SameFlats{F,G}(f, flats) &&
      TiedFlat{F}(f, flats, key) == TiedFlat{G}(f, flats, key) &&
      (0 <= TiedFlat{F}(f, flats, key) < flats || hi <= lo) &&
      KeyOps{G,O}(ops, lo, hi, f, flats, stage, exact, key, t) ==>
      KeyOps{F,O}(ops, lo, hi, f, flats, stage, exact, key, t);
    lemma KeyBlock_Next{L}: \forall zp_flat *f, integer flats, x, q; 0 <= x ==>
      (KeysLen(f, flats, x) <= q ==> KeyBlock(f, flats, x + 1, q) == x) &&
      (q < KeysLen(f, flats, x) ==> KeyBlock(f, flats, x + 1, q) == KeyBlock(f, flats, x, q));
    lemma KeysOp_New{F,O}: \forall zp_op *o, zp_flat *f, integer flats, stage, exact, t, x, q, b;
      0 <= x && 0 <= b && q == KeysLen{F}(f, flats, x) + b &&
      KeyOp{F,O}(o, f, flats, stage, exact, x, t, b) ==>
      KeysOp{F,O}(o, f, flats, stage, exact, t, x + 1, q);
    lemma KeysOp_Old{F,O}: \forall zp_op *o, zp_flat *f, integer flats, stage, exact, t, x, q;
      0 <= x && q < KeysLen{F}(f, flats, x) && KeysOp{F,O}(o, f, flats, stage, exact, t, x, q) ==>
      KeysOp{F,O}(o, f, flats, stage, exact, t, x + 1, q);
    lemma KeysOps_Next{F,O}: \forall zp_op *ops, integer lo, mid, hi, zp_flat *f, integer flats,
      stage, exact, t, x; 0 <= x && lo <= mid <= hi && mid == lo + KeysLen{F}(f, flats, x) &&
      KeysOps{F,O}(ops, lo, mid, f, flats, stage, exact, t, x) &&
      KeyOps{F,O}(ops, mid, hi, f, flats, stage, exact, x, t) ==>
      KeysOps{F,O}(ops, lo, hi, f, flats, stage, exact, t, x + 1);
    lemma KeysOps_Frame{F,A,B}: \forall zp_op *ops, integer lo, hi, zp_flat *f, integer flats,
        stage,
      exact, t, x; 0 <= lo && SameOps{A,B}(ops, hi) &&
      KeysOps{F,A}(ops, lo, hi, f, flats, stage, exact, t, x) ==>
      KeysOps{F,B}(ops, lo, hi, f, flats, stage, exact, t, x);
*/

/* Means. */
/*@ lemma MeanOps_One{L}: \forall zp_op *ops, integer lo, p, k, t; lo <= p &&
      MeanOps(ops, lo, p, k, t) && MeanOp(ops + p, k, t, p - lo) ==> MeanOps(ops, lo, p + 1, k, t);
    lemma MeanOps_Frame{A,B}: \forall zp_op *ops, integer lo, hi, k, t; 0 <= lo &&
      SameOps{A,B}(ops, hi) && MeanOps{A}(ops, lo, hi, k, t) ==> MeanOps{B}(ops, lo, hi, k, t);
    lemma HeldBlock_Next{L}: \forall zp_flat *f, integer x, q; 0 <= x ==>
      (Held(f, x) <= q ==> HeldBlock(f, x + 1, q) == x) &&
      (q < Held(f, x) ==> HeldBlock(f, x + 1, q) == HeldBlock(f, x, q));
    lemma HeldBlock_Same{F,G}: \forall integer x; 0 <= x ==> \forall zp_flat *f, integer q;
      SameFlats{F,G}(f, x) ==> HeldBlock{F}(f, x, q) == HeldBlock{G}(f, x, q);
    lemma MeansOp_New{F,O}: \forall zp_op *o, zp_flat *f, integer t, x, q, b; 0 <= x && 0 <= b &&
      q == Held{F}(f, x) + b && MeanOp{O}(o, x, t, b) ==> MeansOp{F,O}(o, f, t, x + 1, q);
    lemma MeansOp_Old{F,O}: \forall zp_op *o, zp_flat *f, integer t, x, q; 0 <= x &&
      q < Held{F}(f, x) && MeansOp{F,O}(o, f, t, x, q) ==> MeansOp{F,O}(o, f, t, x + 1, q);
    lemma MeansOps_Next{F,O}: \forall zp_op *ops, integer lo, mid, hi, zp_flat *f, integer t, x;
      0 <= x && lo <= mid <= hi && mid == lo + Held{F}(f, x) &&
      MeansOps{F,O}(ops, lo, mid, f, t, x) && MeanOps{O}(ops, mid, hi, x, t) ==>
      MeansOps{F,O}(ops, lo, hi, f, t, x + 1);
    lemma MeansOps_Frame{F,A,B}: \forall zp_op *ops, integer lo, hi, zp_flat *f, integer t, x;
      0 <= lo && SameOps{A,B}(ops, hi) && MeansOps{F,A}(ops, lo, hi, f, t, x) ==>
      MeansOps{F,B}(ops, lo, hi, f, t, x);
    lemma HeldBlock_Range{L}: \forall integer x; 1 <= x ==> \forall zp_flat *f, integer q;
      0 <= q ==> 0 <= HeldBlock(f, x, q) < x;
    lemma Held_Same{F,G}: \forall zp_flat *f, integer n, k; SameFlats{F,G}(f, n) && 0 <= k < n ==>
      Held{F}(f, k) == Held{G}(f, k);
    lemma MeansOp_Same{F,G,O}: \forall zp_op *o, zp_flat *f, integer t, n, q; 1 <= n && 0 <= q &&
      SameFlats{F,G}(f, n) && MeansOp{G,O}(o, f, t, n, q) ==> MeansOp{F,O}(o, f, t, n, q);
    lemma MeansOps_Same{F,G,O}: \forall zp_op *ops, integer lo, hi, zp_flat *f, integer t, n;
      SameFlats{F,G}(f, n) && (1 <= n || hi <= lo) && MeansOps{G,O}(ops, lo, hi, f, t, n) ==>
      MeansOps{F,O}(ops, lo, hi, f, t, n);
*/

/* All of it. */
/*@ // Sums are at ops[lo … mid-1], means at ops[mid … hi-1], the decision's ops before ops[end].
    predicate BeforeOps{F,O}(zp_op *ops, integer lo, integer mid, integer hi, integer end,
        zp_flat *f, integer n, integer keys, integer stage, integer exact, integer t) =
      lo <= mid <= hi && end == hi + 2 && mid == lo + KeysLen{F}(f, n, keys) &&
      hi == mid + Held{F}(f, n) && KeysOps{F,O}(ops, lo, mid, f, n, stage, exact, t, keys) &&
      MeansOps{F,O}(ops, mid, hi, f, t + 1, n) && IsStatistics{O}(ops + hi, t + 2) &&
      IsDecision{O}(ops + (hi + 1), t + 2);
    lemma TailOps_Before{F,O}: \forall zp_op *ops, integer lo, mid, hi, end, zp_flat *f, integer n,
      keys, stage, exact, precision, t;
      BeforeOps{F,O}(ops, lo, mid, hi, end, f, n, keys, stage, exact, t) ==>
      TailOps{F,O}(ops, lo, end, f, n, keys, stage, exact, precision, t);
    lemma TailOp_Update{F,O}: \forall zp_op *o, zp_flat *f, integer n, keys, stage, exact,
      precision, t, q, r; 0 <= r && 0 <= KeysLen{F}(f, n, keys) && 0 <= Held{F}(f, n) &&
      q == KeysLen{F}(f, n, keys) + Held{F}(f, n) + 2 + r &&
      UpdatesOp{F,O}(o, f, n, stage, precision, t + 3, r) ==>
      TailOp{F,O}(o, f, n, keys, stage, exact, precision, t, q);
    lemma TailOps_All{F,O}: \forall zp_op *ops, integer lo, mid, hi, zp_flat *f, integer n, keys,
      stage, exact, precision, t; lo <= mid <= hi && 0 <= KeysLen{F}(f, n, keys) &&
      0 <= Held{F}(f, n) &&
      mid == lo + KeysLen{F}(f, n, keys) + Held{F}(f, n) + 2 &&
      TailOps{F,O}(ops, lo, mid, f, n, keys, stage, exact, precision, t) &&
      UpdatesOps{F,O}(ops, mid, hi, f, n, stage, precision, t + 3) ==>
      TailOps{F,O}(ops, lo, hi, f, n, keys, stage, exact, precision, t);
    lemma KeyBlock_Range{L}: \forall integer x; 0 <= x ==> \forall zp_flat *f, integer flats, q;
      0 <= q < KeysLen(f, flats, x) ==> 0 <= KeyBlock(f, flats, x, q) < x;
    lemma KeyBlock_Low{L}: \forall integer x; 0 <= x ==> \forall zp_flat *f, integer flats, q;
      0 <= q < KeysLen(f, flats, x) ==> KeysLen(f, flats, KeyBlock(f, flats, x, q)) <= q;
    lemma KeyBlock_High{L}: \forall integer x; 0 <= x ==> \forall zp_flat *f, integer flats, q;
      0 <= q < KeysLen(f, flats, x) ==> q < KeysLen(f, flats, KeyBlock(f, flats, x, q) + 1);
    lemma KeyBlock_In{L}: \forall zp_flat *f, integer flats, x, q; 0 <= x &&
      0 <= q < KeysLen(f, flats, x) ==> 0 < KeyLen(f, flats, KeyBlock(f, flats, x, q));
    lemma KeyBlock_Same{F,G}: \forall integer x; 0 <= x ==> \forall zp_flat *f, integer flats, q;
      0 <= flats && SameFlats{F,G}(f, flats) ==>
      KeyBlock{F}(f, flats, x, q) == KeyBlock{G}(f, flats, x, q);
    lemma KeyLen_Found{L}: \forall zp_flat *f, integer flats, key; 0 <= flats &&
      0 < KeyLen(f, flats, key) ==> 0 <= TiedFlat(f, flats, key) < flats;
    lemma KeyOp_Same{F,G,O}: \forall zp_op *o, zp_flat *f, integer flats, stage, exact, key, t, b;
      0 <= flats && SameFlats{F,G}(f, flats) && 0 <= TiedFlat{F}(f, flats, key) < flats &&
      KeyOp{G,O}(o, f, flats, stage, exact, key, t, b) ==>
      KeyOp{F,O}(o, f, flats, stage, exact, key, t, b);
    lemma KeysOp_Same{F,G,O}: \forall zp_op *o, zp_flat *f, integer flats, stage, exact, t, x, q;
      0 <= flats && SameFlats{F,G}(f, flats) && 0 <= x && 0 <= q < KeysLen{F}(f, flats, x) &&
      KeysOp{G,O}(o, f, flats, stage, exact, t, x, q) ==>
      KeysOp{F,O}(o, f, flats, stage, exact, t, x, q);
    lemma UpdatesOp_Same{F,G,O}: \forall zp_op *o, zp_flat *f, integer n, stage, precision, t, q;
      SameFlats{F,G}(f, n) && 1 <= n && 0 <= q &&
      UpdatesOp{G,O}(o, f, n, stage, precision, t, q) ==>
      UpdatesOp{F,O}(o, f, n, stage, precision, t, q);
    lemma UpdatesOps_Same{F,G,O}: \forall zp_op *ops, integer lo, hi, zp_flat *f, integer n, stage,
      precision, t; SameFlats{F,G}(f, n) && (1 <= n || hi <= lo) &&
      UpdatesOps{G,O}(ops, lo, hi, f, n, stage, precision, t) ==>
      UpdatesOps{F,O}(ops, lo, hi, f, n, stage, precision, t);
    lemma TailOp_Same{F,G,O}: \forall zp_op *o, zp_flat *f, integer n, keys, stage, exact,
        precision,
      t, q; SameFlats{F,G}(f, n) && 0 <= n && 0 <= keys &&
      0 <= q < TailLen{F}(stage, f, n, keys) &&
      TailOp{G,O}(o, f, n, keys, stage, exact, precision, t, q) ==>
      TailOp{F,O}(o, f, n, keys, stage, exact, precision, t, q);
    predicate TailStays{F,G,O}(zp_op *ops, integer lo, integer hi, zp_flat *f, integer n,
        integer keys, integer stage, integer exact, integer precision, integer t) =
      SameFlats{F,G}(f, n) && 0 <= n && 0 <= keys && hi == lo + TailLen{F}(stage, f, n, keys) &&
      TailOps{G,O}(ops, lo, hi, f, n, keys, stage, exact, precision, t);
    lemma TailOps_Same{F,G,O}: \forall zp_op *ops, integer lo, hi, zp_flat *f, integer n, keys,
      stage, exact, precision, t;
      TailStays{F,G,O}(ops, lo, hi, f, n, keys, stage, exact, precision, t) ==>
      TailOps{F,O}(ops, lo, hi, f, n, keys, stage, exact, precision, t);
    lemma TailOps_Frame{F,A,B}: \forall zp_op *ops, integer lo, hi, zp_flat *f, integer n, keys,
      stage, exact, precision, t; 0 <= lo && SameOps{A,B}(ops, hi) &&
      TailOps{F,A}(ops, lo, hi, f, n, keys, stage, exact, precision, t) ==>
      TailOps{F,B}(ops, lo, hi, f, n, keys, stage, exact, precision, t);
*/

#endif
