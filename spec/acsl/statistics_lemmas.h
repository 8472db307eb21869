/* Lemmas about statistics.h. Include after it. */
#ifndef ZP_SPEC_ACSL_STATISTICS_LEMMAS_H
#define ZP_SPEC_ACSL_STATISTICS_LEMMAS_H

/*@ lemma Loss_Sum: Shift32(8, 2199023255552) + Shift32(8, 4294967296) ==
      Shift32(8, 2203318222848);
    lemma Loss_Largest: \forall integer t;
      -Shift32(8, 2203318222848) <= Shift32(8, t) <= Shift32(8, 2203318222848) ==>
      -2203318222848 <= t <= 2203318222848;
    lemma Loss_Bound{L}: \forall int64_t *a, integer n; 0 <= n <= 1048576 &&
      ElementBounded(a, 0, 0, n) ==> -Shift32(8, 2199023255552) <= ElementSum(a, 0) &&
      ElementSum(a, 0) <= Shift32(8, 2199023255552);
    lemma Loss_Low{L}: \forall int64_t *a, integer n; ElementBounded(a, 0, 0, n) ==>
      -Shift32(8, 4294967296) <= LimbSumFrom(a, 0, 8) <= Shift32(8, 4294967296);
    lemma Loss_Top{L}: \forall int64_t *a, integer n; 0 <= n <= 1048576 &&
      ElementBounded(a, 0, 0, n) ==> -4398046511104 <= a[8] <= 4398046511104;
    lemma Loss_Small{L}: \forall int64_t *a, integer n; 0 <= n <= 1048576 &&
      ElementBounded(a, 0, 0, n) ==> LimbsSmall(a, 0, 9, 4398046511104);
    // a member's part lies within its bucket
    lemma Member_Quotient: \forall integer d, dp, ep; 0 <= d < dp && 1 <= ep && dp % ep == 0 ==>
      0 <= d / ep < dp / ep;
    lemma Member_Range{L}: \forall zp_config *c, zp_layout *lay, zp_coord at, integer k; Valid(c) &&
      FlatGood(c, at.pp, lay, k) && Within(c, at.pp, at.dp, at.tp) ==>
      0 <= MemberOf(c, lay, at, k) < lay->flat[k].members;
    lemma Member_Inside: \forall integer r, d, p; 0 <= r < d && 0 <= p ==>
      0 <= r * p && r * p + p <= d * p;
    lemma Member_Parts{L}: \forall zp_flat *f, integer b; FlatOk(f) && HasBucket(f, b) ==>
      0 <= PartIn(f, b) && f->members * PartIn(f, b) == PaddedIn(f, b);
    lemma Member_Within{L}: \forall zp_config *c, zp_layout *lay, zp_coord at, integer k, b;
      Valid(c) && FlatGood(c, at.pp, lay, k) && Within(c, at.pp, at.dp, at.tp) &&
      HasBucket(lay->flat + k, b) ==> 0 <= OwnAt(c, lay, at, k, b) &&
      OwnAt(c, lay, at, k, b) + PartIn(lay->flat + k, b) <=
        LocalIn(lay->flat + k, c->stage, b);
    lemma Loss_More{L}: \forall int64_t *a, integer n; 0 <= n && ElementBounded(a, 0, n, n) ==>
      ElementBounded(a, 0, n + 1, n + 1);
    lemma Loss_Zero{L}: \forall int64_t *a; (\forall integer i; 0 <= i < 9 ==> a[i] == 0) ==>
      LimbSum(a, 9) == 0 && ElementBounded(a, 0, 0, 0);
    // a running sum of squares does not change
    predicate SameSquares{A,B}(zp_sumsq *s) =
      (\forall integer i; 0 <= i < 32 ==> \at(s->lo[i], A) == \at(s->lo[i], B)) &&
      (\forall integer i; 0 <= i < 32 ==> \at(s->hi[i], A) == \at(s->hi[i], B)) &&
      \at(s->pending, A) == \at(s->pending, B) &&
      (\forall integer i; 0 <= i < 20 ==> \at(s->limb[i], A) == \at(s->limb[i], B));
    logic integer LowBins{L}(zp_sumsq *s) = BinSum(&s->lo[0], 32);
    logic integer HighBins{L}(zp_sumsq *s) = BinSum(&s->hi[0], 32);
    logic integer Limbs{L}(zp_sumsq *s) = LimbSum(&s->limb[0], 20);
    lemma Low_Frame{A,B}: \forall zp_sumsq *s; SameSquares{A,B}(s) ==> LowBins{A}(s) == LowBins{B}(s);
    lemma High_Frame{A,B}: \forall zp_sumsq *s; SameSquares{A,B}(s) ==>
      HighBins{A}(s) == HighBins{B}(s);
    lemma Limbs_Frame{A,B}: \forall zp_sumsq *s; SameSquares{A,B}(s) ==> Limbs{A}(s) == Limbs{B}(s);
    lemma Value_Parts{L}: \forall zp_sumsq *s;
      SumsqValue(s) == LowBins(s) + 2147483648 * HighBins(s) + Limbs(s);
    lemma Squares_Frame{A,B}: \forall zp_sumsq *s; SameSquares{A,B}(s) ==>
      SumsqValue{A}(s) == SumsqValue{B}(s) && SumsqLoad{A}(s) == SumsqLoad{B}(s);
    lemma SquaresOk_Frame{A,B}: \forall zp_sumsq *s; SameSquares{A,B}(s) && SumsqOk{A}(s) ==>
      SumsqOk{B}(s);
*/

#endif
