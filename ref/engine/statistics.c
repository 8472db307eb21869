/* spec: STAT-1 … STAT-6 */
#include "statistics.h"

#include "../../spec/acsl/exact_sums.h"

#include "../../spec/acsl/value_from.h"

#include "../../spec/acsl/statistics_lemmas.h"

void zp_statistics_clear(zp_statistics *s)
{
  zp_sumsq_clear(&s->squares);
  //@ ghost Cleared: ;
  /*@ loop invariant range: 0 <= i <= 9;
      loop invariant zero: \forall integer j; 0 <= j < i ==> s->loss[j] == 0;
      loop invariant same: SameSquares{Cleared,Here}(&s->squares);
      loop assigns i, s->loss[0 .. 8];
      loop variant 9 - i; */
  for (int32_t i = 0; i < ZP_LIMBS; i++) s->loss[i] = 0;
  s->nonfinite = 0;
  s->bad_loss = 0;
  //@ assert same: SameSquares{Cleared,Here}(&s->squares);
  //@ assert zero: LimbSum(&s->loss[0], 9) == 0;
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
  zp_sumsq_limbs(&s->squares, out);
  //@ ghost Squares: ;
  zp_val_normalise(s->loss, 1);
  /*@ assert small: \forall integer n; 0 <= n <= 1048576 &&
        ElementBounded{Pre}(&s->loss[0], 0, n, n) ==>
        LimbsSmall(&s->loss[0], 0, 9, 4398046511104); */
  //@ assert loss: LimbSum(&s->loss[0], 9) == LossSum{Pre}(s);
  //@ ghost Losses: ;
  /*@ loop invariant range: 0 <= i <= 9;
      loop invariant copied: \forall integer j; 0 <= j < i ==> out[20 + j] == s->loss[j];
      loop assigns i, out[20 .. 28];
      loop variant 9 - i; */
  for (int32_t i = 0; i < ZP_LIMBS; i++) out[ZP_STAT_LOSS + i] = s->loss[i];
  /* a flag: counts of all ranks could add up to 2^64, which is 0 (STAT-3) */
  out[ZP_STAT_NONFINITE] = s->nonfinite;
  out[ZP_STAT_BAD_LOSS] = s->bad_loss;
  zp_agree_words(digest, rank, out + ZP_STAT_AGREE);
  //@ assert same_squares: \forall integer i; 0 <= i < 20 ==> out[i] == \at(out[i],Squares);
  //@ assert same_loss: \forall integer i; 0 <= i < 9 ==> (out + 20)[i] == \at(s->loss[i],Losses);
}
