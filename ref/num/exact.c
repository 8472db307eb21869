#include "exact.h"

#include "../../spec/acsl/exact_bounds.h"
#include "../../spec/acsl/exact_frames.h"
#include "../../spec/acsl/exact_pairs.h"
#include "../../spec/acsl/exact_shifts.h"
#include "half.h"

/* The square of a finite fp32 pattern, scaled to its bin: Mant32^2 * 4^(Exp32 mod 8).
 * u: finite. The result is below 2^62. Errors: none.
 * spec: SUM-1
 */
/*@ requires finite: Finite32(u);
    terminates \true; exits \false;
    assigns \nothing;
    ensures range: 0 <= \result < 4611686018427387904;
    ensures square: \result == Shift4(Exp32(u) % 8, Mant32(u) * Mant32(u));
*/
static uint64_t scaled_square(uint32_t u)
{
  uint32_t be = (u / 8388608u) % 256u, fr = u % 8388608u;
  uint32_t e = be == 0 ? 0 : be - 1;
  uint64_t m = be == 0 ? fr : fr + 8388608u;
  //@ assert m_range: m < 16777216;
  //@ assert m_value: m == Mant32(u) && e == Exp32(u);
  //@ assert mm_range: m * m <= 16777215 * m;
  uint64_t t = m * m;
  //@ assert t_range: t < 281474976710656;
  uint32_t r = e % 8u;
  /*@ loop invariant i_range: 0 <= i <= r;
      loop invariant scaled: t == Shift4(i, Mant32(u) * Mant32(u));
      loop assigns i, t;
      loop variant r - i; */
  for (uint32_t i = 0; i < r; i++) t = t * 4u;
  return t;
}

/* Adds d to bin q.
 * a: (ZP_SQ_BINS). 0 <= q < 32, 0 <= d < 2^31; the bin does not overflow. Errors: none.
 * spec: SUM-1
 */
/*@ requires valid: \valid(a + (0 .. 31)) && 0 <= q < 32 && 0 <= d < 2147483648;
    requires fits: 0 <= a[q] && a[q] + d <= 9223372036854775807;
    terminates \true; exits \false;
    assigns a[q];
    ensures added: a[q] == \old(a[q]) + d;
    ensures value: \forall integer n; q < n <= 32 ==>
      BinSum(a, n) == BinSum{Pre}(a, n) + Shift16(q, d);
*/
static void add_to_bin(int64_t *a, uint32_t q, int64_t d)
{
  a[q] += d;
  //@ assert others: \forall integer j; 0 <= j < 32 && j != q ==> a[j] == \at(a[j],Pre);
  //@ assert difference: a[q] == \at(a[q],Pre) + d;
}

/* Adds the square of one finite fp32 pattern to the bins.
 * u: finite. lo, hi: (ZP_SQ_BINS), not overlapping, holding k < 2^32 squares. Errors: none.
 * spec: SUM-1
 */
/*@ requires finite: Finite32(u);
    requires valid: \valid(lo + (0 .. 31)) && \valid(hi + (0 .. 31));
    requires apart: \separated(lo + (0 .. 31), hi + (0 .. 31));
    requires bound: 0 <= k < 4294967295 && BinsBounded(lo, hi, k);
    terminates \true; exits \false;
    assigns lo[Exp32(u) / 8], hi[Exp32(u) / 8];
    ensures bound: BinsBounded(lo, hi, k + 1);
    ensures value: BinValue(lo, hi) == BinValue{Pre}(lo, hi) + Square32(u);
*/
static void add_square(uint32_t u, int64_t *lo, int64_t *hi) /*@ ghost (int64_t k) */
{
  uint32_t be = (u / 8388608u) % 256u;
  uint32_t e = be == 0 ? 0 : be - 1;
  //@ assert e_value: e == Exp32(u);
  uint32_t q = e / 8u;
  //@ assert q_range: q < 32;
  uint64_t t = scaled_square(u);
  int64_t tl = (int64_t)(t % 2147483648u), th = (int64_t)(t / 2147483648u);
  //@ assert split: t == tl + 2147483648 * th;
  add_to_bin(lo, q, tl);
  //@ ghost L1: ;
  //@ assert hi_same: \forall integer j; 0 <= j < 32 ==> hi[j] == \at(hi[j],Pre);
  //@ assert hi_kept: BinSum(hi, 32) == BinSum{Pre}(hi, 32);
  add_to_bin(hi, q, th);
  //@ assert lo_same: \forall integer j; 0 <= j < 32 ==> lo[j] == \at(lo[j],L1);
  //@ assert lo_kept: BinSum(lo, 32) == \at(BinSum(lo, 32),L1);
  //@ assert two: SumOf(t, tl, 2147483648 * th) && HighOf(2147483648 * th, th);
  //@ assert parts: Shift16(q, t) == Shift16(q, tl) + 2147483648 * Shift16(q, th);
  //@ assert bin: InBin(Exp32(u), q, Exp32(u) % 8);
  //@ assert scaled: t == Shift4(Exp32(u) % 8, Mant32(u) * Mant32(u));
  //@ assert moved: Shift4(Exp32(u), Mant32(u) * Mant32(u)) == Shift16(q, t);
  //@ assert square: Square32(u) == Shift16(q, t);
}

/* Adds d to limb i without carrying.
 * limb: (ZP_SQ_LIMBS). 0 <= i < 20, 0 <= d <= 2^61 + 2^48, 0 <= limb[i] <= 2^62. Errors: none.
 * spec: SUM-3
 */
/*@ requires valid: \valid(limb + (0 .. 19)) && 0 <= i < 20;
    requires fits: 0 <= d <= 2306124484190404608 && 0 <= limb[i] <= 4611686018427387904;
    terminates \true; exits \false;
    assigns limb[i];
    ensures added: limb[i] == \old(limb[i]) + d;
    ensures value: LimbSum(limb, 20) == LimbSum{Pre}(limb, 20) + Shift32(i, d);
*/
static void add_to_limb(int64_t *limb, int32_t i, int64_t d)
{
  limb[i] += d;
  //@ assert others: \forall integer j; 0 <= j < 20 && j != i ==> limb[j] == \at(limb[j],Pre);
  //@ assert difference: limb[i] - \at(limb[i],Pre) == d;
}

/* Adds two neighbouring pairs of bins to limbs j, j + 1 and j + 2 without carrying: lo0 and lo1
 * have weights 2^(32 j) and 2^(32 j + 16), hi0 and hi1 those times 2^31.
 * limb: (ZP_SQ_LIMBS), the three at most 2^62. 0 <= j < 16. lo0, lo1, hi0, hi1: 0 to 2^62.
 * Errors: none.
 * spec: SUM-3
 */
/*@ requires valid: \valid(limb + (0 .. 19)) && 0 <= j < 16;
    requires small: \forall integer m; j <= m < j + 3 ==> 0 <= limb[m] <= 4611686018427387904;
    requires bins: 0 <= lo0 <= 4611686018427387904 && 0 <= lo1 <= 4611686018427387904 &&
      0 <= hi0 <= 4611686018427387904 && 0 <= hi1 <= 4611686018427387904;
    terminates \true; exits \false;
    assigns limb[j .. j + 2];
    ensures first: \old(limb[j]) <= limb[j] <= \old(limb[j]) + 17179869184;
    ensures second: \old(limb[j + 1]) <= limb[j + 1] <= \old(limb[j + 1]) + 2306124484190404608;
    ensures third: \old(limb[j + 2]) <= limb[j + 2] <= \old(limb[j + 2]) + 35184372088832;
    ensures value: LimbSum(limb, 20) ==
      LimbSum{Pre}(limb, 20) + Shift32(j, PairValue(lo0, lo1, hi0, hi1));
*/
static void add_pair(int64_t *limb, int32_t j, int64_t lo0, int64_t lo1, int64_t hi0, int64_t hi1)
{
  int64_t w0 = lo0 % 4294967296 + lo1 % 65536 * 65536 + hi0 % 2 * 2147483648;
  int64_t w1 = lo0 / 4294967296 + lo1 / 65536 + hi0 / 2 + hi1 % 131072 * 32768;
  int64_t w2 = hi1 / 131072;
  //@ assert whole: PairValue(lo0, lo1, hi0, hi1) == w0 + 4294967296 * (w1 + 4294967296 * w2);
  //@ assert upper_word: CarryOf(w1 + 4294967296 * w2, w1, w2);
  //@ assert upper: Shift32(j + 1, w1 + 4294967296 * w2) == Shift32(j + 1, w1) + Shift32(j + 2, w2);
  //@ assert words: CarryOf(PairValue(lo0, lo1, hi0, hi1), w0, w1 + 4294967296 * w2);
  /*@ assert three: Shift32(j, PairValue(lo0, lo1, hi0, hi1)) ==
        Shift32(j, w0) + Shift32(j + 1, w1 + 4294967296 * w2); */
  add_to_limb(limb, j, w0);
  add_to_limb(limb, j + 1, w1);
  add_to_limb(limb, j + 2, w2);
}

/* Adds all bins to the limbs without carrying.
 * lo, hi: (ZP_SQ_BINS), each holding at most 2^31 squares. limb: (ZP_SQ_LIMBS), canonical. The
 * three do not overlap. Errors: none.
 * spec: SUM-3
 */
/*@ requires valid: \valid_read(lo + (0 .. 31)) && \valid_read(hi + (0 .. 31)) &&
      \valid(limb + (0 .. 19));
    requires apart: \separated(lo + (0 .. 31), limb + (0 .. 19));
    requires apart_high: \separated(hi + (0 .. 31), limb + (0 .. 19));
    requires low: \forall integer q; 0 <= q < 32 ==> 0 <= lo[q] <= 4611686018427387904;
    requires high: \forall integer q; 0 <= q < 32 ==> 0 <= hi[q] <= 4611686018427387904;
    requires canonical: Canonical(limb, 20);
    terminates \true; exits \false;
    assigns limb[0 .. 19];
    ensures small: \forall integer m; 0 <= m < 20 ==> 0 <= limb[m] <= 4611686018427387904;
    ensures value: LimbSum(limb, 20) == LimbSum{Pre}(limb, 20) + BinValue{Pre}(lo, hi);
*/
static void add_bins(const int64_t *lo, const int64_t *hi, int64_t *limb)
{
  /*@ loop invariant j_range: 0 <= j <= 16;
      loop invariant small: \forall integer m; 0 <= m < 20 ==>
        0 <= limb[m] <= 4611686018427387904;
      loop invariant first: \forall integer m; j <= m < 20 ==> limb[m] <= 2306405959167115264;
      loop invariant second: \forall integer m; j + 1 <= m < 20 ==> limb[m] <= 140737488355328;
      loop invariant untouched: \forall integer m; j + 2 <= m < 20 ==> limb[m] < 4294967296;
      loop invariant value:
        LimbSum(limb, 20) == LimbSum{Pre}(limb, 20) + PairSum{Pre}(lo, hi, j);
      loop assigns j, limb[0 .. 19];
      loop variant 16 - j; */
  for (int32_t j = 0; j < ZP_SQ_BINS / 2; j++) { /* two bins to a limb */
    int64_t lo0 = lo[2 * j], lo1 = lo[2 * j + 1], hi0 = hi[2 * j], hi1 = hi[2 * j + 1];
    //@ assert low_even: \let k = j; lo0 == \at(lo[2 * k],Pre);
    //@ assert low_odd: \let k = j; lo1 == \at(lo[2 * k + 1],Pre);
    //@ assert high_even: \let k = j; hi0 == \at(hi[2 * k],Pre);
    //@ assert high_odd: \let k = j; hi1 == \at(hi[2 * k + 1],Pre);
    /*@ assert pair: \let k = j; PairSum{Pre}(lo, hi, k + 1) ==
          PairSum{Pre}(lo, hi, k) + Shift32(k, PairValue(lo0, lo1, hi0, hi1)); */
    //@ ghost B: ;
    add_pair(limb, j, lo0, lo1, hi0, hi1);
    //@ assert before: \forall integer m; 0 <= m < j ==> 0 <= limb[m] <= 4611686018427387904;
    //@ assert after: \forall integer m; j + 3 <= m < 20 ==> limb[m] == \at(limb[m],B);
    //@ assert first: 0 <= limb[j] <= 4611686018427387904;
    //@ assert second: 0 <= limb[j + 1] <= 2306405959167115264;
    //@ assert third: 0 <= limb[j + 2] <= 140737488355328;
    //@ assert beyond: \forall integer m; j < m < 20 ==> 0 <= limb[m] <= 4611686018427387904;
  }
}

/* Sets all bins to zero.
 * lo, hi: (ZP_SQ_BINS), not overlapping. Errors: none.
 * spec: SUM-2
 */
/*@ requires valid: \valid(lo + (0 .. 31)) && \valid(hi + (0 .. 31));
    requires apart: \separated(lo + (0 .. 31), hi + (0 .. 31));
    terminates \true; exits \false;
    assigns lo[0 .. 31], hi[0 .. 31];
    ensures empty: BinsBounded(lo, hi, 0);
    ensures value: BinValue(lo, hi) == 0;
*/
static void clear_bins(int64_t *lo, int64_t *hi)
{
  /*@ loop invariant i_range: 0 <= i <= 32;
      loop invariant low: \forall integer q; 0 <= q < i ==> lo[q] == 0;
      loop invariant high: \forall integer q; 0 <= q < i ==> hi[q] == 0;
      loop assigns i, lo[0 .. 31], hi[0 .. 31];
      loop variant 32 - i; */
  for (int32_t i = 0; i < ZP_SQ_BINS; i++) {
    lo[i] = 0;
    hi[i] = 0;
  }
  //@ assert low: BinSum(lo, 32) == 0;
  //@ assert high: BinSum(hi, 32) == 0;
}

/* Sets all limbs and bins to zero.
 * lo, hi: (ZP_SQ_BINS), limb: (ZP_SQ_LIMBS), not overlapping. Errors: none.
 * spec: SUM-2, SUM-3
 */
/*@ requires valid: \valid(lo + (0 .. 31)) && \valid(hi + (0 .. 31)) && \valid(limb + (0 .. 19));
    requires apart: \separated(lo + (0 .. 31), hi + (0 .. 31));
    requires apart_low: \separated(lo + (0 .. 31), limb + (0 .. 19));
    requires apart_high: \separated(hi + (0 .. 31), limb + (0 .. 19));
    terminates \true; exits \false;
    assigns lo[0 .. 31], hi[0 .. 31], limb[0 .. 19];
    ensures empty: BinsBounded(lo, hi, 0);
    ensures bins: BinValue(lo, hi) == 0;
    ensures zero: \forall integer i; 0 <= i < 20 ==> limb[i] == 0;
    ensures limbs: LimbSum(limb, 20) == 0;
*/
static void clear_all(int64_t *lo, int64_t *hi, int64_t *limb)
{
  clear_bins(lo, hi);
  //@ ghost A: ;
  /*@ loop invariant i_range: 0 <= i <= 20;
      loop invariant zero: \forall integer q; 0 <= q < i ==> limb[q] == 0;
      loop assigns i, limb[0 .. 19];
      loop variant 20 - i; */
  for (int32_t i = 0; i < ZP_SQ_LIMBS; i++) limb[i] = 0;
  //@ assert low_same: \forall integer q; 0 <= q < 32 ==> lo[q] == \at(lo[q],A);
  //@ assert high_same: \forall integer q; 0 <= q < 32 ==> hi[q] == \at(hi[q],A);
  //@ assert low: BinSum(lo, 32) == BinSum{A}(lo, 32);
  //@ assert high: BinSum(hi, 32) == BinSum{A}(hi, 32);
}

/* Adds the bins to the limbs and carries.
 * lo, hi: (ZP_SQ_BINS), each holding at most 2^31 squares. limb: (ZP_SQ_LIMBS), canonical, the top
 * one below 2^32 - 1, not overlapping the bins. Errors: none.
 * spec: SUM-3
 */
/*@ requires valid: \valid_read(lo + (0 .. 31)) && \valid_read(hi + (0 .. 31)) &&
      \valid(limb + (0 .. 19));
    requires apart_low: \separated(lo + (0 .. 31), limb + (0 .. 19));
    requires apart_high: \separated(hi + (0 .. 31), limb + (0 .. 19));
    requires low: \forall integer q; 0 <= q < 32 ==> 0 <= lo[q] <= 4611686016279904256;
    requires high: \forall integer q; 0 <= q < 32 ==> 0 <= hi[q] <= 4611686016279904256;
    requires canonical: Canonical(limb, 20) && limb[19] < 4294967295;
    terminates \true; exits \false;
    assigns limb[0 .. 19];
    ensures canonical: Canonical(limb, 20);
    ensures top: limb[19] <= \old(limb[19]) + 1;
    ensures value: LimbSum(limb, 20) == LimbSum{Pre}(limb, 20) + BinValue{Pre}(lo, hi);
*/
static void carry_in(const int64_t *lo, const int64_t *hi, int64_t *limb)
{
  //@ assert bounded: BinsBounded(lo, hi, 2147483648);
  //@ assert below: 0 <= BinValue(lo, hi) < Shift32(19, 1);
  //@ assert limbs: 0 <= LimbSum(limb, 20) < Shift32(19, limb[19] + 1);
  //@ assert two: SumOf(limb[19] + 2, limb[19] + 1, 1);
  //@ assert one_more: Shift32(19, limb[19] + 2) == Shift32(19, limb[19] + 1) + Shift32(19, 1);
  add_bins(lo, hi, limb);
  //@ assert range: 0 <= LimbSum(limb, 20) < Shift32(19, \at(limb[19],Pre) + 2);
  zp_limbs_normalise(limb, ZP_SQ_LIMBS);
  //@ assert zero: Shift32(19, 0) == 0;
  //@ assert below_top: limb[19] < \at(limb[19],Pre) + 2;
  //@ assert not_negative: 0 <= limb[19];
}

/* Carries the bins into the limbs, keeping the value; the bins end empty.
 * lo, hi: (ZP_SQ_BINS), each holding at most 2^31 squares. limb: (ZP_SQ_LIMBS), canonical, the top
 * one below 2^32 - 1. The three do not overlap. Errors: none.
 * spec: SUM-3
 */
/*@ requires valid: \valid(lo + (0 .. 31)) && \valid(hi + (0 .. 31)) && \valid(limb + (0 .. 19));
    requires apart: \separated(lo + (0 .. 31), hi + (0 .. 31));
    requires apart_low: \separated(lo + (0 .. 31), limb + (0 .. 19));
    requires apart_high: \separated(hi + (0 .. 31), limb + (0 .. 19));
    requires low: \forall integer q; 0 <= q < 32 ==> 0 <= lo[q] <= 4611686016279904256;
    requires high: \forall integer q; 0 <= q < 32 ==> 0 <= hi[q] <= 4611686016279904256;
    requires canonical: Canonical(limb, 20) && limb[19] < 4294967295;
    terminates \true; exits \false;
    assigns lo[0 .. 31], hi[0 .. 31], limb[0 .. 19];
    ensures empty: BinsBounded(lo, hi, 0);
    ensures bins: BinValue(lo, hi) == 0;
    ensures each: \forall integer m; 0 <= m < 20 ==> 0 <= limb[m] < 4294967296;
    ensures canonical: Canonical(limb, 20);
    ensures top: limb[19] <= \old(limb[19]) + 1;
    ensures value: LimbSum(limb, 20) == LimbSum{Pre}(limb, 20) + BinValue{Pre}(lo, hi);
*/
static void carry_bins(int64_t *lo, int64_t *hi, int64_t *limb)
{
  carry_in(lo, hi, limb);
  //@ assert low_apart: \forall integer m; 0 <= m < 20 ==> \separated(limb + m, lo + (0 .. 31));
  //@ assert high_apart: \forall integer m; 0 <= m < 20 ==> \separated(limb + m, hi + (0 .. 31));
  //@ ghost A: ;
  clear_bins(lo, hi);
  //@ assert same: \forall integer m; 0 <= m < 20 ==> limb[m] == \at(limb[m],A);
  //@ assert kept: LimbSum(limb, 20) == LimbSum{A}(limb, 20);
}

/* Carries the bins of s into its limbs, keeping the value; the bins end empty.
 * s: a sum initialized by zp_sumsq_clear, with room in its top limb. Errors: none.
 * spec: SUM-3
 */
/*@ requires valid: \valid(s);
    requires ok: SumsqOk(s);
    requires room: SumsqRoom(s, 0);
    terminates \true; exits \false;
    assigns *s;
    ensures ok: SumsqOk(s) && s->pending == 0;
    ensures same: SumsqValue(s) == \old(SumsqValue(s));
    ensures empty: BinValue(&s->lo[0], &s->hi[0]) == 0;
    ensures top: s->limb[19] <= \old(s->limb[19]) + 1;
*/
static void flush(zp_sumsq *s)
{
  //@ assert low: \forall integer q; 0 <= q < 32 ==> 0 <= s->lo[q] <= 4611686016279904256;
  //@ assert high: \forall integer q; 0 <= q < 32 ==> 0 <= s->hi[q] <= 4611686016279904256;
  //@ assert room: s->limb[19] < 4294967295;
  carry_bins(s->lo, s->hi, s->limb);
  //@ ghost A: ;
  //@ assert before: \forall integer m; 0 <= m < 20 ==> 0 <= s->limb[m] < 4294967296;
  s->pending = 0;
  //@ assert low_same: \forall integer q; 0 <= q < 32 ==> s->lo[q] == \at(s->lo[q],A);
  //@ assert high_same: \forall integer q; 0 <= q < 32 ==> s->hi[q] == \at(s->hi[q],A);
  //@ assert limbs_same: \forall integer m; 0 <= m < 20 ==> s->limb[m] == \at(s->limb[m],A);
  //@ assert empty_low: BinSum(&s->lo[0], 32) == BinSum{A}(&s->lo[0], 32);
  //@ assert empty_high: BinSum(&s->hi[0], 32) == BinSum{A}(&s->hi[0], 32);
  //@ assert kept: LimbSum(&s->limb[0], 20) == LimbSum{A}(&s->limb[0], 20);
  //@ assert each: \forall integer m; 0 <= m < 20 ==> 0 <= s->limb[m] < 4294967296;
  //@ assert canonical: Canonical(&s->limb[0], 20);
  //@ assert bins: BinsBounded(&s->lo[0], &s->hi[0], 0);
  //@ assert pending: s->pending == 0;
}

void zp_sumsq_clear(zp_sumsq *s)
{
  clear_all(s->lo, s->hi, s->limb);
  //@ ghost A: ;
  //@ assert top: s->limb[19] == 0;
  s->pending = 0;
  //@ assert low_same: \forall integer q; 0 <= q < 32 ==> s->lo[q] == \at(s->lo[q],A);
  //@ assert high_same: \forall integer q; 0 <= q < 32 ==> s->hi[q] == \at(s->hi[q],A);
  //@ assert limbs_same: \forall integer m; 0 <= m < 20 ==> s->limb[m] == \at(s->limb[m],A);
  //@ assert empty_low: BinSum(&s->lo[0], 32) == BinSum{A}(&s->lo[0], 32);
  //@ assert empty_high: BinSum(&s->hi[0], 32) == BinSum{A}(&s->hi[0], 32);
  //@ assert kept: LimbSum(&s->limb[0], 20) == LimbSum{A}(&s->limb[0], 20);
  //@ assert highest: s->limb[19] == 0;
  //@ assert bounded: BinsBounded(&s->lo[0], &s->hi[0], 0);
  //@ assert canonical: Canonical(&s->limb[0], 20);
  //@ assert pending: s->pending == 0;
}

/* Adds the square of fp32 pattern u to s, unless u is non-finite; carries the bins before they can
 * overflow.
 * Returns 1 if u is non-finite, else 0. s: as for zp_sumsq_add_f32. Errors: none.
 * spec: SUM-1, SUM-2
 */
/*@ requires valid: \valid(s);
    requires ok: SumsqOk(s);
    requires room: SumsqRoom(s, 0);
    terminates \true; exits \false;
    assigns *s;
    ensures ok: SumsqOk(s);
    ensures sum: SumsqValue(s) == \old(SumsqValue(s)) + Counted32(u);
    ensures load: SumsqLoad(s) <= \old(SumsqLoad(s)) + 1;
    ensures count: \result == NonFinite32(u);
*/
static int64_t add_one(zp_sumsq *s, uint32_t u)
{
  if (u / 8388608u % 256u == 255u) return 1;
  /* 2^31 elements fill a bin to less than 2^62 */
  if (s->pending >= 2147483648) flush(s);
  //@ ghost A: ;
  s->pending += 1;
  /*@ assert bins: \forall integer q; 0 <= q < 32 ==>
        s->lo[q] == \at(s->lo[q],A) && s->hi[q] == \at(s->hi[q],A); */
  //@ assert bounded: BinsBounded(&s->lo[0], &s->hi[0], s->pending - 1);
  //@ assert low: BinSum(&s->lo[0], 32) == BinSum{A}(&s->lo[0], 32);
  //@ assert high: BinSum(&s->hi[0], 32) == BinSum{A}(&s->hi[0], 32);
  add_square(u, s->lo, s->hi) /*@ ghost (s->pending - 1) */;
  //@ assert limbs: \forall integer m; 0 <= m < 20 ==> s->limb[m] == \at(s->limb[m],A);
  //@ assert kept: LimbSum(&s->limb[0], 20) == LimbSum{A}(&s->limb[0], 20);
  //@ assert pending: s->pending == \at(s->pending,A) + 1;
  //@ assert canonical: Canonical(&s->limb[0], 20);
  //@ assert added: BinsBounded(&s->lo[0], &s->hi[0], s->pending);
  return 0;
}

int64_t zp_sumsq_add_f32(zp_sumsq *s, const uint32_t *x, int64_t n)
{
  int64_t bad = 0;
  /*@ loop invariant i_range: 0 <= i <= n;
      loop invariant ok: SumsqOk(s);
      loop invariant load: SumsqLoad(s) <= SumsqLoad{Pre}(s) + i;
      loop invariant sum: SumsqValue(s) == SumsqValue{Pre}(s) + SumSquares32{Pre}(x, i);
      loop invariant count: bad == CountNonFinite32{Pre}(x, i) && 0 <= bad <= i;
      loop assigns i, bad, *s;
      loop variant n - i; */
  for (int64_t i = 0; i < n; i++) bad += add_one(s, x[i]);
  return bad;
}

int64_t zp_sumsq_add_bf16(zp_sumsq *s, const uint16_t *x, int64_t n)
{
  int64_t bad = 0;
  /*@ loop invariant i_range: 0 <= i <= n;
      loop invariant ok: SumsqOk(s);
      loop invariant load: SumsqLoad(s) <= SumsqLoad{Pre}(s) + i;
      loop invariant sum: SumsqValue(s) == SumsqValue{Pre}(s) + SumSquaresB16{Pre}(x, i);
      loop invariant count: bad == CountNonFiniteB16{Pre}(x, i) && 0 <= bad <= i;
      loop assigns i, bad, *s;
      loop variant n - i; */
  for (int64_t i = 0; i < n; i++) bad += add_one(s, zp_f32_from_bf16(x[i]));
  return bad;
}

int64_t zp_sumsq_add_f16(zp_sumsq *s, const uint16_t *x, int64_t n)
{
  int64_t bad = 0;
  /*@ loop invariant i_range: 0 <= i <= n;
      loop invariant ok: SumsqOk(s);
      loop invariant load: SumsqLoad(s) <= SumsqLoad{Pre}(s) + i;
      loop invariant sum: SumsqValue(s) == SumsqValue{Pre}(s) + SumSquaresF16{Pre}(x, i);
      loop invariant count: bad == CountNonFiniteF16{Pre}(x, i) && 0 <= bad <= i;
      loop assigns i, bad, *s;
      loop variant n - i; */
  for (int64_t i = 0; i < n; i++) bad += add_one(s, zp_f32_from_f16(x[i]));
  return bad;
}

/* Copies limbs.
 * from, limb: (ZP_SQ_LIMBS), not overlapping. Errors: none.
 * spec: SUM-3
 */
/*@ requires valid: \valid_read(from + (0 .. 19)) && \valid(limb + (0 .. 19));
    requires apart: \separated(from + (0 .. 19), limb + (0 .. 19));
    terminates \true; exits \false;
    assigns limb[0 .. 19];
    ensures copied: \forall integer i; 0 <= i < 20 ==> limb[i] == \old(from[i]);
    ensures source: \forall integer i; 0 <= i < 20 ==> from[i] == \old(from[i]);
    ensures value: LimbSum(limb, 20) == LimbSum{Pre}(from, 20);
*/
static void copy_limbs(const int64_t *from, int64_t *limb)
{
  /*@ loop invariant i_range: 0 <= i <= 20;
      loop invariant copied: \forall integer k; 0 <= k < i ==> limb[k] == \at(from[k],Pre);
      loop invariant source: \forall integer k; 0 <= k < 20 ==> from[k] == \at(from[k],Pre);
      loop assigns i, limb[0 .. 19];
      loop variant 20 - i; */
  for (int32_t i = 0; i < ZP_SQ_LIMBS; i++) limb[i] = from[i];
}

void zp_sumsq_limbs(zp_sumsq *s, int64_t limb[ZP_SQ_LIMBS])
{
  flush(s);
  //@ ghost A: ;
  /*@ assert apart: \forall integer q; 0 <= q < 32 ==>
        \separated(&s->lo[q], limb + (0 .. 19)) && \separated(&s->hi[q], limb + (0 .. 19)); */
  copy_limbs(s->limb, limb);
  //@ assert low_same: \forall integer q; 0 <= q < 32 ==> s->lo[q] == \at(s->lo[q],A);
  //@ assert high_same: \forall integer q; 0 <= q < 32 ==> s->hi[q] == \at(s->hi[q],A);
  //@ assert limbs: \forall integer m; 0 <= m < 20 ==> s->limb[m] == \at(s->limb[m],A);
  //@ assert pending: s->pending == 0;
  //@ assert bounded: BinsBounded(&s->lo[0], &s->hi[0], 0);
  //@ assert canonical: Canonical(&s->limb[0], 20);
  //@ assert low: BinSum(&s->lo[0], 32) == BinSum{A}(&s->lo[0], 32);
  //@ assert high: BinSum(&s->hi[0], 32) == BinSum{A}(&s->hi[0], 32);
  //@ assert kept: LimbSum(&s->limb[0], 20) == LimbSum{A}(&s->limb[0], 20);
}
