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
    ensures value: Square(st->root) + st->rem ==
      4 * (Square(\old(st->root)) + \old(st->rem)) + digit;
*/
static void take_digit(root_state *st, uint64_t digit)
{
  uint64_t rem = 4u * st->rem + digit, trial = 4u * st->root + 1u;
  int one = rem >= trial; /* (2 root + 1)^2 - (2 root)^2 = 4 root + 1 */
  st->rem = one ? rem - trial : rem;
  st->root = 2u * st->root + (one ? 1u : 0u);
}

/* Takes the digits of word v, highest first, until root >= full. Returns what is left of v, moved
 * up by the digits taken: 0 if nothing is.
 * st: rem <= 2 root, root < full, last 16 to 320. v: below 2^32. full: 1 to 2^54. Errors: none.
 * spec: NORM-1
 */
/*@ requires valid: \valid(st);
    requires range: 0 <= v < 4294967296 && 1 <= full <= 18014398509481984;
    requires state: 0 <= st->root < full && 0 <= st->rem <= 2 * st->root;
    requires last: 16 <= st->last <= 320;
    terminates \true; exits \false;
    assigns st->root, st->rem, st->last;
    ensures state: 0 <= st->root < 2 * full && 0 <= st->rem <= 2 * st->root;
    ensures last: \old(st->last) - 16 <= st->last <= \old(st->last);
    ensures all: st->root < full ==> st->last == \old(st->last) - 16;
    ensures taken: DigitsOfWord(4294967296 * (Square(\old(st->root)) + \old(st->rem)) + v,
      st->last - \old(st->last) + 16, Square(st->root) + st->rem, \result);
*/
static uint64_t take_word(root_state *st, uint64_t v, uint64_t full)
{
  /*@ loop invariant j_range: 0 <= j <= 16;
      loop invariant v_range: 0 <= v < 4294967296;
      loop invariant state: 0 <= st->root < 2 * full && 0 <= st->rem <= 2 * st->root;
      loop invariant last: st->last == \at(st->last,Pre) - j;
      loop invariant taken: Shift4(16 - j, 4294967296 * (Square(st->root) + st->rem) + v) ==
        Shift4(16, 4294967296 * \at(Square(st->root) + st->rem,Pre) + \at(v,Pre));
      loop assigns j, v, st->root, st->rem, st->last;
      loop variant 16 - j; */
  for (int32_t j = 0; j < 16 && st->root < full; j++) {
    //@ ghost B: ;
    take_digit(st, v / 1073741824u);
    v = v % 1073741824u * 4u;
    st->last -= 1;
    /*@ assert four: 4294967296 * (Square(st->root) + st->rem) + v ==
          4 * \at(4294967296 * (Square(st->root) + st->rem) + v,B); */
    /*@ assert moved: Shift4(16 - j, \at(4294967296 * (Square(st->root) + st->rem) + v,B)) ==
          Shift4(15 - j, 4294967296 * (Square(st->root) + st->rem) + v); */
  }
  return v;
}

/* The leading bits of the root of canonical limbs: digits are taken until root >= full or, when
 * the limbs run out before, down to digit `floor` (zero digits follow digit 0).
 * limb: (ZP_SQ_LIMBS), canonical. full: 1 to 2^54. floor: -64 to 0. Errors: none.
 * spec: NORM-1, NORM-2
 */
/*@ requires valid: \valid_read(limb + (0 .. 19));
    requires canonical: Canonical(limb, 20);
    requires range: 1 <= full <= 18014398509481984 && -64 <= floor <= 0;
    terminates \true; exits \false;
    assigns \nothing;
    ensures range: 0 <= \result.root < 2 * full && floor <= \result.last <= 320;
    ensures full: \result.root < full ==> \result.last == floor;
    ensures root: RootFloor(Shift4(65, LimbSum(limb, 20)), \result.last + 65, \result.root,
      \result.rem, \result.lower);
*/
static root_state leading_root(const int64_t *limb, uint64_t full, int32_t floor)
{
  root_state st = {0, 0, 16 * ZP_SQ_LIMBS, 0};
  /*@ loop invariant i_range: -1 <= i <= 19;
      loop invariant state: 0 <= st.root < 2 * full && 0 <= st.rem <= 2 * st.root;
      loop invariant last: 16 * (i + 1) <= st.last <= 320;
      loop invariant open: st.root < full ==> st.lower == 0 && st.last == 16 * (i + 1);
      loop invariant taken: DigitsTaken(LimbSum(limb, 20), LimbSum(limb, i + 1), st.last,
        Square(st.root) + st.rem, st.lower);
      loop assigns i, st;
      loop variant i; */
  for (int32_t i = ZP_SQ_LIMBS - 1; i >= 0; i--) {
    uint64_t v = (uint64_t)limb[i];
    //@ assert unfold: LimbSum(limb, i + 1) == LimbSum(limb, i) + Shift32(i, v);
    //@ assert below: 0 <= LimbSum(limb, i) < Shift32(i, 1);
    if (st.root < full) v = take_word(&st, v, full);
    if (v != 0) st.lower = 1;
  }
  /*@ loop invariant last: floor <= st.last <= 320;
      loop invariant state: 0 <= st.root < 2 * full && 0 <= st.rem <= 2 * st.root;
      loop invariant open: st.root < full ==> st.lower == 0;
      loop invariant more: st.root < full ==> st.last <= 0;
      loop invariant root: RootFloor(Shift4(65, LimbSum(limb, 20)), st.last + 65, st.root, st.rem,
        st.lower);
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
    ensures nearest: \forall integer w4, e;
      RootFloor(w4, e, st->root, st->rem, st->lower) ==> NearestRoot(w4, e, \result);
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
  //@ assert sum: 0 <= LimbSum(limb, 20);
  //@ assert zero: st.root < 9007199254740992 ==> LimbSum(limb, 20) == 0;
  //@ assert positive: 9007199254740992 <= st.root ==> 0 < LimbSum(limb, 20);
  if (st.root == 0) return 0;
  //@ assert full: 9007199254740992 <= st.root;
  uint64_t q = rounded(&st);
  //@ assert q_range: 4503599627370496 <= q <= 9007199254740992;
  /*@ assert boundary:
        Shift4(st.last + 64, Square(18014398509481983)) <= Shift4(65, LimbSum(limb, 20)); */
  /* norm = q * 2^(last + 1 - 149); q carries the leading bit, hence one less in the exponent */
  return (uint64_t)(st.last + 1 - 149 + 52 + 1023 - 1) * 4503599627370496u + q;
}

uint32_t zp_norm_f32(const int64_t limb[ZP_SQ_LIMBS])
{
  /* 24 bits and the half, which lies at 2^-150 or above */
  root_state st = leading_root(limb, 16777216u, -1);
  uint64_t q = rounded(&st);
  //@ assert q_range: q <= 16777216 && (0 <= st.last ==> 8388608 <= q);
  //@ assert near: NearestRoot(Shift4(65, LimbSum(limb, 20)), st.last + 65, q);
  /*@ assert boundary: 0 <= st.last ==>
        Shift4(st.last + 64, Square(33554431)) <= Shift4(65, LimbSum(limb, 20)); */
  /* q * 2^(last + 1 - 149): subnormal when last + 1 is 0 and q below 2^23, and then the pattern
   * is q, as it is for the first normal exponent */
  uint64_t bits = (uint64_t)(st.last + 1) * 8388608u + q;
  return bits >= 2139095040u ? 2139095040u : (uint32_t)bits;
}
