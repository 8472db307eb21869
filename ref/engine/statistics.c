/* spec: STAT-1 … STAT-6 */
#include "statistics.h"
#include "../../spec/acsl/bounds.h"

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

/* All of the vector but its squares: out[0] is number ZP_STAT_LOSS. STAT-1 */
/*@ requires valid: \valid(s) && \valid(out + (0 .. 26));
    requires apart: \separated(s, out + (0 .. 26));
    requires ok: LimbsSmall(&s->loss[0], 0, 9, 9223372028264841216);
    requires rank: 0 <= rank < ZP_LIMIT_RANKS;
    terminates \true; exits \false;
    assigns s->loss[0 .. 8], out[0 .. 26];
    ensures loss: LossSum(s) == \old(LossSum(s));
    ensures limbs: \forall integer i; 0 <= i < 9 ==> out[i] == s->loss[i];
    ensures small: \forall integer n; 0 <= n <= ZP_LIMIT_MICRO_BATCHES &&
        \old(ElementBounded(&s->loss[0], 0, n, n)) ==>
        LimbsSmall(&s->loss[0], 0, 9, ZP_LIMIT_LOSS_LIMB);
    ensures flag: out[9] == \old(s->nonfinite);
    ensures bad: out[10] == \old(s->bad_loss); */
static void put_rest(zp_statistics *s, uint64_t digest, int32_t rank, int64_t *out)
{
  zp_val_normalise(s->loss, 1);
  //@ assert kept: LossSum(s) == LossSum{Pre}(s);
  /*@ assert small: \forall integer n; 0 <= n <= ZP_LIMIT_MICRO_BATCHES &&
        ElementBounded{Pre}(&s->loss[0], 0, n, n) ==>
        LimbsSmall(&s->loss[0], 0, 9, ZP_LIMIT_LOSS_LIMB); */
  //@ ghost Carried: ;
  /*@ loop invariant range: 0 <= i <= 9;
      loop invariant copied: \forall integer j; 0 <= j < i ==> out[j] == s->loss[j];
      loop assigns i, out[0 .. 8];
      loop variant 9 - i; */
  for (int32_t i = 0; i < ZP_LIMBS; i++) out[i] = s->loss[i];
  /* a flag: counts of all ranks could add up to 2^64, which is 0 (STAT-3) */
  out[ZP_STAT_NONFINITE - ZP_STAT_LOSS] = s->nonfinite;
  out[ZP_STAT_BAD_LOSS - ZP_STAT_LOSS] = s->bad_loss;
  zp_agree_words(digest, rank, out + (ZP_STAT_AGREE - ZP_STAT_LOSS));
  //@ assert same: \forall integer j; 0 <= j < 9 ==> s->loss[j] == \at(s->loss[j],Carried);
}

void zp_statistics_vector(zp_statistics *s, uint64_t digest, int32_t rank, int64_t *out)
{
  zp_sumsq_limbs(&s->squares, out);
  //@ assert same: \forall integer j; 0 <= j < 9 ==> s->loss[j] == \at(s->loss[j],Pre);
  //@ assert loss: LossSum(s) == LossSum{Pre}(s);
  //@ ghost Squares: ;
  put_rest(s, digest, rank, out + ZP_STAT_LOSS);
  //@ assert limbs: \forall integer i; 0 <= i < 20 ==> out[i] == \at(out[i],Squares);
}
