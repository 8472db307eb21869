/* STAT-2: the elements whose squares a rank adds for all means of a STEP program are fewer than
 * 2^59. ACSL only. Include after norm_rank_sum.h and count_mean_lemmas.h. */
#ifndef ZP_SPEC_ACSL_NORM_RANK_LOAD_H
#define ZP_SPEC_ACSL_NORM_RANK_LOAD_H

#include "home_code.h"

/*@ lemma Part_Most{L}: \forall zp_flat *f, integer b; FlatOk(f) && HasBucket(f, b) ==>
      FlatCut(f) && PartFacts(f->numel, f->capacity, f->members, f->align, b) &&
      0 <= PartIn(f, b) <= f->capacity;
*/

/*@ lemma Load_Next{L}: \forall zp_layout *lay, integer q, r, k, b; r == q + 1 && 0 <= q &&
      MeanAt(lay, q, k, b) ==>
      MeansLoad(lay, r) == MeansLoad(lay, q) + PartIn(lay->flat + k, b);
    predicate LoadStep{L}(zp_layout *lay, integer k, integer b, integer d, integer q, integer r) =
      q == Held(lay->flat, k) + b && r == Held(lay->flat, k) + d &&
      MeansLoad(lay, q) <= MeansLoad(lay, r) &&
      MeansLoad(lay, r) <= MeansLoad(lay, q) + lay->flat[k].capacity &&
      ProductOf(d, lay->flat[k].capacity) ==
        ProductOf(b, lay->flat[k].capacity) + lay->flat[k].capacity;
    predicate LoadIn{L}(zp_layout *lay, integer k, integer b) =
      MeansLoad(lay, Held(lay->flat, k)) <= MeansLoad(lay, Held(lay->flat, k) + b) &&
      MeansLoad(lay, Held(lay->flat, k) + b) <= MeansLoad(lay, Held(lay->flat, k)) +
        ProductOf(b, lay->flat[k].capacity);
    lemma Product_Next: \forall integer b, d, c; 0 <= b && d == b + 1 ==>
      ProductOf(d, c) == ProductOf(b, c) + c;
    lemma LoadIn_None{L}: \forall zp_layout *lay, integer k; LoadIn(lay, k, 0);
    lemma GroupAt_Flat{L}: \forall zp_layout *lay, integer k, g, b, d, q, r;
      GroupAt(lay, k, g, b, d, q, r) ==> FlatOk(lay->flat + k) && HasBucket(lay->flat + k, b) &&
      0 <= PartIn(lay->flat + k, b) <= lay->flat[k].capacity;
    lemma GroupAt_Mean{L}: \forall zp_layout *lay, integer k, g, b, d, q, r;
      GroupAt(lay, k, g, b, d, q, r) ==>
      Held(lay->flat, g) == Held(lay->flat, k) + BucketsOf(lay->flat + k) &&
      BlockIs(lay->flat, lay->n_flats, k, g, q) && MeanAt(lay, q, k, b) && 0 <= q && r == q + 1 &&
      MeansLoad(lay, r) == MeansLoad(lay, q) + PartIn(lay->flat + k, b);
    lemma LoadIn_Part{L}: \forall zp_layout *lay, integer k, g, b, d, q, r;
      GroupAt(lay, k, g, b, d, q, r) ==> 0 <= PartIn(lay->flat + k, b) <= lay->flat[k].capacity &&
      MeansLoad(lay, r) == MeansLoad(lay, q) + PartIn(lay->flat + k, b) &&
      LoadStep(lay, k, b, d, q, r);
    lemma LoadIn_Step{L}: \forall zp_layout *lay, integer k, b, d, q, r;
      LoadStep(lay, k, b, d, q, r) && LoadIn(lay, k, b) ==> LoadIn(lay, k, d);
    lemma LoadIn_Next{L}: \forall zp_layout *lay, integer k, b, d; GroupHeld(lay, k) &&
      d == b + 1 && 0 <= b < BucketsOf(lay->flat + k) && LoadIn(lay, k, b) ==>
      GroupAt(lay, k, k + 1, b, d, Held(lay->flat, k) + b, Held(lay->flat, k) + d) &&
      LoadStep(lay, k, b, d, Held(lay->flat, k) + b, Held(lay->flat, k) + d) && LoadIn(lay, k, d);
    lemma LoadIn_All{L}: \forall integer b; 0 <= b ==> \forall zp_layout *lay, integer k;
      GroupHeld(lay, k) && b <= BucketsOf(lay->flat + k) ==> LoadIn(lay, k, b);
    predicate LoadTo{L}(zp_layout *lay, integer g) =
      0 <= MeansLoad(lay, Held(lay->flat, g)) <= 2207613190144 * g;
    lemma LoadTo_None{L}: \forall zp_layout *lay; LoadTo(lay, 0);
    lemma LoadTo_Flat{L}: \forall zp_layout *lay, integer k, b; GroupHeld(lay, k) &&
      b == BucketsOf(lay->flat + k) ==> FlatOk(lay->flat + k) && 0 <= b &&
      ProductOf(b, lay->flat[k].capacity) <= 2207613190144;
    lemma LoadTo_Step{L}: \forall zp_layout *lay, integer k, g, b; LoadIn(lay, k, b) &&
      Held(lay->flat, g) == Held(lay->flat, k) + b && g == k + 1 &&
      ProductOf(b, lay->flat[k].capacity) <= 2207613190144 && LoadTo(lay, k) ==> LoadTo(lay, g);
    lemma LoadTo_Held{L}: \forall zp_layout *lay, integer k, g, b; LayoutFine(lay) &&
      0 <= k < lay->n_flats && g == k + 1 && lay->flat[k].use == 0 && LoadTo(lay, k) &&
      b == BucketsOf(lay->flat + k) ==> GroupHeld(lay, k) && 0 <= b &&
      ProductOf(b, lay->flat[k].capacity) <= 2207613190144 &&
      Held(lay->flat, g) == Held(lay->flat, k) + b && LoadIn(lay, k, b) && LoadTo(lay, g);
    lemma LoadTo_Next{L}: \forall zp_layout *lay, integer k, g; LayoutFine(lay) &&
      0 <= k < lay->n_flats && g == k + 1 && LoadTo(lay, k) ==>
      (lay->flat[k].use != 0 ==> Held(lay->flat, g) == Held(lay->flat, k)) &&
      (lay->flat[k].use == 0 ==> LoadIn(lay, k, BucketsOf(lay->flat + k))) && LoadTo(lay, g);
    lemma LoadTo_All{L}: \forall integer g; 0 <= g ==> \forall zp_layout *lay; LayoutFine(lay) &&
      g <= lay->n_flats ==> LoadTo(lay, g);
    lemma Load_More{L}: \forall zp_layout *lay, integer q, r; LayoutFine(lay) && r == q + 1 &&
      0 <= q < Held(lay->flat, lay->n_flats) ==>
      MeanHeld(lay, MeanFlat(lay, q), MeanBucket(lay, q)) &&
      0 <= PartIn(lay->flat + MeanFlat(lay, q), MeanBucket(lay, q)) &&
      MeansLoad(lay, q) <= MeansLoad(lay, r);
    lemma Load_Up{L}: \forall integer r; 0 <= r ==> \forall zp_layout *lay, integer q;
      LayoutFine(lay) && 0 <= q <= r && r <= Held(lay->flat, lay->n_flats) ==>
      MeansLoad(lay, q) <= MeansLoad(lay, r);
    lemma Load_Low{L}: \forall zp_layout *lay; MeansLoad(lay, 0) == 0;
    lemma Load_All{L}: \forall zp_layout *lay, integer q; LayoutFine(lay) &&
      0 <= q <= Held(lay->flat, lay->n_flats) ==> LoadTo(lay, lay->n_flats) &&
      0 <= MeansLoad(lay, q) <= 144678138029277184;
*/

#endif
