/* spec: STAT-1 … STAT-6 */
#include "statistics.h"

#include "../../spec/acsl/exact_sums.h"

#include "../../spec/acsl/value_from.h"

#include "../../spec/acsl/statistics_lemmas.h"

void zp_statistics_clear(zp_statistics *s)
{
  /*@ loop invariant range: 0 <= i <= 9;
      loop invariant zero: \forall integer j; 0 <= j < i ==> s->loss[j] == 0;
      loop assigns i, s->loss[0 .. 8];
      loop variant 9 - i; */
  for (int32_t i = 0; i < ZP_LIMBS; i++) s->loss[i] = 0;
  s->nonfinite = 0;
  s->bad_loss = 0;
  zp_sumsq_clear(&s->squares);
  //@ assert zero: \forall integer j; 0 <= j < 9 ==> s->loss[j] == 0;
}

void zp_statistics_loss(zp_statistics *s, uint32_t bits)
{
  //@ ghost Before: ;
  if (bits / 8388608u % 256u == 255u) s->bad_loss++;
  else zp_val_add_f32(s->loss, &bits, 1);
  //@ assert same: SameSquares{Before,Here}(&s->squares);
}

void zp_statistics_nonfinite(zp_statistics *s, int64_t count)
{
  if (count != 0) s->nonfinite = 1;
}

void zp_statistics_vector(zp_statistics *s, uint64_t digest, int32_t rank, int64_t *out)
{
  zp_val_normalise(s->loss, 1);
  //@ assert loss: LossSum(s) == LossSum{Pre}(s);
  /*@ assert small: \forall integer n; 0 <= n <= 1048576 &&
        ElementBounded{Pre}(&s->loss[0], 0, n, n) ==>
        LimbsSmall(&s->loss[0], 0, 9, 4398046511104); */
  //@ assert same: SameSquares{Pre,Here}(&s->squares);
  /*@ loop invariant range: 0 <= i <= 9;
      loop invariant copied: \forall integer j; 0 <= j < i ==> out[20 + j] == s->loss[j];
      loop assigns i, out[20 .. 28];
      loop variant 9 - i; */
  for (int32_t i = 0; i < ZP_LIMBS; i++) out[ZP_STAT_LOSS + i] = s->loss[i];
  //@ assert after: SameSquares{Pre,Here}(&s->squares);
  /* a flag: counts of all ranks could add up to 2^64, which is 0 (STAT-3) */
  out[ZP_STAT_NONFINITE] = s->nonfinite;
  out[ZP_STAT_BAD_LOSS] = s->bad_loss;
  //@ assert flagged: SameSquares{Pre,Here}(&s->squares);
  zp_agree_words(digest, rank, out + ZP_STAT_AGREE);
  //@ ghost Copied: ;
  //@ assert still: SameSquares{Pre,Here}(&s->squares);
  zp_sumsq_limbs(&s->squares, out);
  //@ assert kept: \forall integer i; 20 <= i < 47 ==> out[i] == \at(out[i],Copied);
  //@ assert same_loss: \forall integer i; 0 <= i < 9 ==> s->loss[i] == \at(s->loss[i],Copied);
}
