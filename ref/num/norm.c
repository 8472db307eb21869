#include "norm.h"

/* A square root in the making: after the digits of V in base 4 down to digit `last` have been
 * taken, root = floor(sqrt(V / 4^last)) and rem = floor(V / 4^last) - root^2.
 */
typedef struct root_state {
  uint64_t root, rem;
  int32_t last;  /* index of the digit taken last, counted from the lowest; 320 at the start */
  int32_t lower; /* 1 if a digit below `last` is not zero */
} root_state;

/* Takes one more base-4 digit: schoolbook square root, one result bit a digit.
 * st: rem <= 2 root, root < 2^54. digit: 0 to 3. Errors: none.
 * spec: NORM-1
 */
/*@ requires valid: \valid(st);
    requires digit: 0 <= digit <= 3;
    requires range: 0 <= st->root < 18014398509481984 && 0 <= st->rem <= 2 * st->root;
    terminates \true; exits \false;
    assigns st->root, st->rem;
    ensures grown: st->root == 2 * \old(st->root) || st->root == 2 * \old(st->root) + 1;
    ensures floor: 0 <= st->rem <= 2 * st->root;
    ensures value: st->root * st->root + st->rem ==
      4 * (\old(st->root) * \old(st->root) + \old(st->rem)) + digit;
*/
static void take_digit(root_state *st, uint64_t digit)
{
  uint64_t rem = 4u * st->rem + digit, trial = 4u * st->root + 1u;
  int one = rem >= trial; /* (2 root + 1)^2 - (2 root)^2 = 4 root + 1 */
  st->rem = one ? rem - trial : rem;
  st->root = 2u * st->root + (one ? 1u : 0u);
}

/* The leading bits of the root of canonical limbs: digits are taken until root >= full or, when
 * the limbs run out before, down to digit `floor` (zero digits follow digit 0).
 * limb: (ZP_SQ_LIMBS), canonical. full: at most 2^54. floor: 0 or below. Errors: none.
 * spec: NORM-1, NORM-2
 */
/*@ requires valid: \valid_read(limb + (0 .. 19));
    requires canonical: Canonical(limb, 20);
    requires range: 1 <= full <= 18014398509481984 && -64 <= floor <= 0;
    terminates \true; exits \false;
    assigns \nothing;
    ensures range: 0 <= \result.root < 2 * full && \result.rem <= 2 * \result.root;
    ensures last: floor <= \result.last <= 320;
*/
static root_state leading_root(const int64_t *limb, uint64_t full, int32_t floor)
{
  root_state st = {0, 0, 16 * ZP_SQ_LIMBS, 0};
  /*@ loop invariant i_range: -1 <= i <= 19;
      loop invariant root: 0 <= st.root < 2 * full && 0 <= st.rem <= 2 * st.root;
      loop invariant last: 0 <= st.last <= 320;
      loop invariant lower: st.lower == 0 || st.lower == 1;
      loop assigns i, st;
      loop variant i; */
  for (int32_t i = ZP_SQ_LIMBS - 1; i >= 0; i--) {
    uint64_t v = (uint64_t)limb[i];
    /*@ loop invariant j_range: 0 <= j <= 16;
        loop invariant v_range: 0 <= v < 4294967296;
        loop invariant root: 0 <= st.root < 2 * full && 0 <= st.rem <= 2 * st.root;
        loop invariant last: 0 <= st.last <= 320;
        loop invariant lower: st.lower == 0 || st.lower == 1;
        loop assigns j, v, st;
        loop variant 16 - j; */
    for (int32_t j = 0; j < 16 && st.root < full; j++) {
      take_digit(&st, v / 1073741824u);
      v = v % 1073741824u * 4u;
      st.last = 16 * i + 15 - j;
    }
    if (v != 0) st.lower = 1;
  }
  /*@ loop invariant last: floor <= st.last <= 320;
      loop invariant root: 0 <= st.root < 2 * full && 0 <= st.rem <= 2 * st.root;
      loop assigns st;
      loop variant st.last - floor; */
  while (st.root < full && st.last > floor) {
    take_digit(&st, 0);
    st.last -= 1;
  }
  return st;
}

/* root / 2, rounded to nearest even, where the root's last bit is the half and what lies below it
 * is told by rem and lower.
 * st: from leading_root. Errors: none.
 * spec: NORM-1, NORM-2
 */
/*@ requires valid: \valid_read(st);
    requires range: 0 <= st->root < 36028797018963968;
    terminates \true; exits \false;
    assigns \nothing;
    ensures near: \result == st->root / 2 || \result == st->root / 2 + st->root % 2;
*/
static uint64_t rounded(const root_state *st)
{
  uint64_t q = st->root / 2u;
  int half = st->root % 2u == 1u, more = st->rem != 0 || st->lower != 0;
  return half && (more || q % 2u == 1u) ? q + 1u : q;
}

uint64_t zp_norm_f64(const int64_t limb[ZP_SQ_LIMBS])
{
  /* 53 bits and the half: digit 0 may have to be followed by 53 zero digits */
  root_state st = leading_root(limb, 9007199254740992u, -53);
  if (st.root == 0) return 0;
  uint64_t q = rounded(&st);
  //@ assert q_range: 4503599627370496 <= q <= 9007199254740992;
  /* norm = q * 2^(last + 1 - 149); q carries the leading bit, hence one less in the exponent */
  return (uint64_t)(st.last + 1 - 149 + 52 + 1023 - 1) * 4503599627370496u + q;
}

uint32_t zp_norm_f32(const int64_t limb[ZP_SQ_LIMBS])
{
  /* 24 bits and the half, which lies at 2^-150 or above */
  root_state st = leading_root(limb, 16777216u, -1);
  uint64_t q = rounded(&st);
  if (st.root == 0) return 0;
  /* q * 2^(last + 1 - 149): subnormal when last + 1 is 0 and q below 2^23, and then the pattern
   * is q, as it is for the first normal exponent */
  uint64_t bits = (uint64_t)(st.last + 1) * 8388608u + q;
  return bits >= 2139095040u ? 2139095040u : (uint32_t)bits;
}
