/* A running sum of squares does not change. ACSL only. Include after ref/num/exact.h. */
#ifndef ZP_SPEC_ACSL_SUMSQ_FRAME_H
#define ZP_SPEC_ACSL_SUMSQ_FRAME_H

/*@ predicate SameSquares{A,B}(zp_sumsq *s) =
      (\forall integer i; 0 <= i < 32 ==> \at(s->lo[i], A) == \at(s->lo[i], B)) &&
      (\forall integer i; 0 <= i < 32 ==> \at(s->hi[i], A) == \at(s->hi[i], B)) &&
      \at(s->pending, A) == \at(s->pending, B) &&
      (\forall integer i; 0 <= i < 20 ==> \at(s->limb[i], A) == \at(s->limb[i], B));
    logic integer LowBins{L}(zp_sumsq *s) = BinSum(&s->lo[0], 32);
    logic integer HighBins{L}(zp_sumsq *s) = BinSum(&s->hi[0], 32);
    logic integer Limbs{L}(zp_sumsq *s) = LimbSum(&s->limb[0], 20);
    lemma Low_Frame{A,B}: \forall zp_sumsq *s; SameSquares{A,B}(s) ==>
      LowBins{A}(s) == LowBins{B}(s);
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
