#include "norm.h"

#include "../../spec/acsl/exact_bounds.h"
#include "../../spec/acsl/norm_floor.h"
#include "../../spec/acsl/norm_round.h"

/* State of the square root: after the digits of V in base 4 down to digit `last` have been
 * processed, root = floor(sqrt(V / 4^last)) and rem = floor(V / 4^last) - root^2.
 */
typedef struct root_state {
  uint64_t root, rem;
  int32_t last;  /* index of the digit processed last, counted from the lowest; 320 at the start */
  int32_t lower; /* 1 if a digit below `last` is not zero */
} root_state;

/* Processes one more base-4 digit: schoolbook square root, one result bit per digit.
 * st: rem <= 2 root, root < 2^54, last -64 to 320. digit: 0 to 3. Errors: none.
 * spec: NORM-1
 */
/*@ requires digit: 0 <= digit <= 3;
    requires range: 0 <= st.root < 18014398509481984 && 0 <= st.rem <= 2 * st.root;
    requires last: -64 <= st.last <= 320;
    terminates \true; exits \false;
    assigns \nothing;
    ensures grown: \result.root == 2 * st.root || \result.root == 2 * st.root + 1;
    ensures floor: 0 <= \result.rem <= 2 * \result.root;
    ensures value: Square(\result.root) + \result.rem == 4 * (Square(st.root) + st.rem) + digit;
    ensures last: \result.last == st.last - 1;
    ensures lower: \result.lower == st.lower;
*/
static root_state take_digit(root_state st, uint64_t digit)
{
  uint64_t rem = 4u * st.rem + digit, trial = 4u * st.root + 1u;
  int one = rem >= trial; /* (2 root + 1)^2 - (2 root)^2 = 4 root + 1 */
  root_state next = {0};
  next.rem = one ? rem - trial : rem;
  next.root = 2u * st.root + (one ? 1u : 0u);
  next.last = st.last - 1;
  next.lower = st.lower;
  return next;
}

/* Processes the digits of word v, highest first, until root >= full; lower is 1 if a digit that is
 * not zero is left.
 * st: rem <= 2 root, root < full, last 16 to 320. v: below 2^32. full: 1 to 2^54. Errors: none.
 * spec: NORM-1
 */
/*@ requires range: 0 <= v < 4294967296 && 1 <= full <= 18014398509481984;
    requires state: 0 <= st.root < full && 0 <= st.rem <= 2 * st.root;
    requires last: 16 <= st.last <= 320;
    terminates \true; exits \false;
    assigns \nothing;
    ensures state: 0 <= \result.root < 2 * full && 0 <= \result.rem <= 2 * \result.root;
    ensures last: st.last - 16 <= \result.last <= st.last;
    ensures all: \result.root < full ==> \result.last == st.last - 16 && \result.lower == 0;
    ensures extracted: \forall integer y; WordOf(y, Square(st.root) + st.rem, v) ==>
      FloorOf(y, \result.last - st.last + 16, Square(\result.root) + \result.rem, \result.lower);
*/
static root_state take_word(root_state st, uint64_t v, uint64_t full)
{
  root_state s = st;
  uint64_t x = v;
  /*@ loop invariant j_range: 0 <= j <= 16;
      loop invariant x_range: 0 <= x < 4294967296;
      loop invariant gone: j == 16 ==> x == 0;
      loop invariant state: 0 <= s.root < 2 * full && 0 <= s.rem <= 2 * s.root;
      loop invariant last: s.last == st.last - j;
      loop invariant extracted: Shift4(16 - j, 4294967296 * (Square(s.root) + s.rem) + x) ==
        Shift4(16, 4294967296 * (Square(st.root) + st.rem) + v);
      loop assigns j, x, s;
      loop variant 16 - j; */
  for (int32_t j = 0; j < 16 && s.root < full; j++) {
    //@ ghost B: ;
    s = take_digit(s, x / 1073741824u);
    x = x % 1073741824u * 4u;
    /*@ assert four: FourOf(4294967296 * (Square(s.root) + s.rem) + x,
          \at(4294967296 * (Square(s.root) + s.rem) + x,B)); */
  }
  s.lower = x != 0 ? 1 : 0;
  //@ assert word: WordOf(4294967296 * (Square(s.root) + s.rem) + x, Square(s.root) + s.rem, x);
  return s;
}

/* Records in `lower` whether word x of limb i, whose digits are not processed, is non-zero.
 * st: of a root that is full. x: below 2^32. Errors: none.
 * spec: NORM-1
 */
/*@ terminates \true; exits \false;
    assigns \nothing;
    ensures kept: \result.root == st.root && \result.rem == st.rem && \result.last == st.last;
    ensures stopped: \forall integer v, rest, s; RestOf(rest, s, i, x) &&
      DigitsExtracted(v, rest, st.last, Square(st.root) + st.rem, st.lower) ==>
      DigitsExtracted(v, s, st.last, Square(st.root) + st.rem, \result.lower);
*/
static root_state skip_word(root_state st, uint64_t x) /*@ ghost (int32_t i) */
{
  root_state s = st;
  s.lower = x != 0 ? 1 : st.lower;
  //@ assert more: s.lower == 0 <==> st.lower == 0 && x == 0;
  return s;
}

/* Processes the digits of word x of limb i. If root >= full, it only records whether x is zero.
 * st: rem <= 2 root, root < 2 full; while root < full, all digits so far were processed and last is
 * 16 (i + 1). x: below 2^32. i: 0 to 19. full: 1 to 2^53. Errors: none.
 * spec: NORM-1
 */
/*@ requires range: 0 <= x < 4294967296 && 1 <= full <= 9007199254740992 && 0 <= i < 20;
    requires state: 0 <= st.root < 2 * full && 0 <= st.rem <= 2 * st.root;
    requires last: 16 * (i + 1) <= st.last <= 320;
    requires open: st.root < full ==> st.lower == 0 && st.last == 16 * (i + 1);
    terminates \true; exits \false;
    assigns \nothing;
    ensures state: 0 <= \result.root < 2 * full && 0 <= \result.rem <= 2 * \result.root;
    ensures last: 16 * i <= \result.last <= 320;
    ensures open: \result.root < full ==> \result.lower == 0 && \result.last == 16 * i;
    ensures extracted: st.root < full ==> \forall integer v, rest, s; RestOf(rest, s, i, x) &&
      DigitsExtracted(v, rest, st.last, Square(st.root) + st.rem, 0) ==>
      DigitsExtracted(v, s, \result.last, Square(\result.root) + \result.rem, \result.lower);
    ensures stopped: full <= st.root ==> \forall integer v, rest, s; RestOf(rest, s, i, x) &&
      DigitsExtracted(v, rest, st.last, Square(st.root) + st.rem, st.lower) ==>
      DigitsExtracted(v, s, \result.last, Square(\result.root) + \result.rem, \result.lower);
*/
static root_state next_word(root_state st, uint64_t x, uint64_t full) /*@ ghost (int32_t i) */
{
  if (st.root < full) {
    root_state s = take_word(st, x, full);
    /*@ assert word:
          WordOf(4294967296 * (Square(st.root) + st.rem) + x, Square(st.root) + st.rem, x); */
    //@ assert before: DigitOf(st.last, i, 16);
    //@ assert after: DigitOf(s.last, i, s.last - 16 * i);
    /*@ assert floor: FloorOf(4294967296 * (Square(st.root) + st.rem) + x, s.last - 16 * i,
          Square(s.root) + s.rem, s.lower); */
    /*@ assert extracted: \forall integer v, rest, t; RestOf(rest, t, i, x) &&
          DigitsExtracted(v, rest, st.last, Square(st.root) + st.rem, 0) ==>
          DigitsExtracted(v, t, s.last, Square(s.root) + s.rem, s.lower); */
    //@ assert none: st.lower == 0;
    return s;
  }
  return skip_word(st, x) /*@ ghost (i) */;
}

/* The leading bits of the root of canonical limbs: processes digits until root >= full or, if the
 * limbs end before, down to digit `floor` (zero digits follow digit 0).
 * limb: (ZP_SQ_LIMBS), canonical. full: 1 to 2^53. floor: -53 to 0. Errors: none.
 * spec: NORM-1, NORM-2
 */
/*@ requires valid: \valid_read(limb + (0 .. 19));
    requires canonical: Canonical(limb, 20);
    requires range: 1 <= full <= 9007199254740992 && -53 <= floor <= 0;
    terminates \true; exits \false;
    assigns \nothing;
    ensures range: 0 <= \result.root < 2 * full && floor <= \result.last <= 320;
    ensures rem: 0 <= \result.rem <= 2 * \result.root;
    ensures full: \result.root < full ==> \result.last == floor && \result.lower == 0;
    ensures root: RootFloor(Scaled(LimbSum(limb, 20)), \result.last + 65, \result.root,
      \result.rem, \result.lower);
*/
static root_state leading_root(const int64_t *limb, uint64_t full, int32_t floor)
{
  root_state st = {0, 0, 16 * ZP_SQ_LIMBS, 0};
  //@ assert start: DigitOf(320, 20, 0);
  /*@ loop invariant i_range: -1 <= i <= 19;
      loop invariant state: 0 <= st.root < 2 * full && 0 <= st.rem <= 2 * st.root;
      loop invariant last: 16 * (i + 1) <= st.last <= 320;
      loop invariant open: st.root < full ==> st.lower == 0 && st.last == 16 * (i + 1);
      loop invariant extracted: DigitsExtracted(LimbSum(limb, 20), LimbSum(limb, i + 1), st.last,
        Square(st.root) + st.rem, st.lower);
      loop assigns i, st;
      loop variant i; */
  for (int32_t i = ZP_SQ_LIMBS - 1; i >= 0; i--) {
    uint64_t x = (uint64_t)limb[i];
    //@ assert below: 0 <= LimbSum(limb, i) < Shift32(i, 1);
    //@ assert unfold: LimbSum(limb, i + 1) == LimbSum(limb, i) + Shift32(i, x);
    //@ assert rest: RestOf(LimbSum(limb, i + 1), LimbSum(limb, i), i, x);
    st = next_word(st, x, full) /*@ ghost (i) */;
  }
  //@ assert end: FloorOf(LimbSum(limb, 20), st.last, Square(st.root) + st.rem, st.lower);
  //@ assert scaled: PlusOf(st.last + 65, st.last, 65);
  /*@ loop invariant last: floor <= st.last <= 320;
      loop invariant state: 0 <= st.root < 2 * full && 0 <= st.rem <= 2 * st.root;
      loop invariant open: st.root < full ==> st.lower == 0 && st.last <= 0;
      loop invariant root: RootFloor(Scaled(LimbSum(limb, 20)), st.last + 65, st.root, st.rem,
        st.lower);
      loop assigns st;
      loop variant st.last - floor; */
  while (st.root < full && st.last > floor) {
    //@ ghost B: ;
    st = take_digit(st, 0);
    /*@ assert four: FourOf(Square(st.root) + st.rem, \at(Square(st.root) + st.rem,B)); */
  }
  return st;
}

/* root / 2, rounded to nearest even. The root's last bit is the half; the digits below it are all
 * zero iff rem and lower are 0.
 * st: from leading_root. Errors: none.
 * spec: NORM-1, NORM-2
 */
/*@ requires range: 0 <= st.root < 36028797018963968;
    terminates \true; exits \false;
    assigns \nothing;
    ensures near: \result == st.root / 2 || \result == st.root / 2 + st.root % 2;
    ensures nearest: \forall integer w, e;
      RootFloor(w, e, st.root, st.rem, st.lower) ==> NearestRoot(w, e, \result);
*/
static uint64_t rounded(root_state st)
{
  uint64_t q = st.root / 2u;
  int half = st.root % 2u == 1u, more = st.rem != 0 || st.lower != 0;
  //@ assert even: st.root % 2 == 0 ==> TwiceOf(st.root, q);
  //@ assert odd: st.root % 2 == 1 ==> TwiceOneOf(st.root, q);
  return half && (more || q % 2u == 1u) ? q + 1u : q;
}

/* The fp64 pattern of a root with 53 bits and the half.
 * st: root 2^53 to 2^54 - 1, last -53 to 320. Errors: none.
 * spec: NORM-1
 */
/*@ requires full: 9007199254740992 <= st.root < 18014398509481984 && -53 <= st.last <= 320;
    terminates \true; exits \false;
    assigns \nothing;
    ensures finite: 0 < \result < 9218868437227405312;
    ensures rounded: \forall integer w;
      RootFloor(w, st.last + 65, st.root, st.rem, st.lower) ==> RootOf64(w, \result);
*/
static uint64_t pattern64(root_state st)
{
  uint64_t q = rounded(st);
  /* norm = q * 2^(last + 1 - 149); q carries the leading bit, hence one less in the exponent */
  uint64_t bits = (uint64_t)(st.last + 1 - 149 + 52 + 1023 - 1) * 4503599627370496u + q;
  //@ assert inside: q < 9007199254740992 ==> Pattern64(bits, st.last + 65, q);
  /*@ assert carried: q == 9007199254740992 ==>
        Pattern64(bits, st.last + 66, 4503599627370496) && PlusOf(st.last + 66, st.last + 65, 1); */
  /*@ assert low: \forall integer w; RootFloor(w, st.last + 65, st.root, st.rem, st.lower) ==>
        AtLeast(w, st.last + 64, Square(18014398509481983)); */
  /*@ assert here: q < 9007199254740992 ==> \forall integer w;
        RootFloor(w, st.last + 65, st.root, st.rem, st.lower) ==> RootOf64(w, bits); */
  /*@ assert next: q == 9007199254740992 ==> \forall integer w;
        RootFloor(w, st.last + 65, st.root, st.rem, st.lower) ==> RootOf64(w, bits); */
  return bits;
}

/* The fp32 pattern of a root with 24 bits and the half, or fewer when it is subnormal.
 * st: root below 2^25, last -1 to 320, and -1 when root is below 2^24. Errors: none.
 * spec: NORM-2
 */
/*@ requires range: 0 <= st.root < 33554432 && -1 <= st.last <= 320;
    requires full: st.root < 16777216 ==> st.last == -1;
    terminates \true; exits \false;
    assigns \nothing;
    ensures not_nan: 0 <= \result <= 2139095040;
    ensures rounded: \forall integer w;
      RootFloor(w, st.last + 65, st.root, st.rem, st.lower) ==> RootOf32(w, \result);
*/
static uint32_t pattern32(root_state st)
{
  uint64_t q = rounded(st);
  /* q * 2^(last + 1 - 149): subnormal when last + 1 is 0 and q below 2^23, and then the pattern
   * is q, as it is for the first normal exponent */
  uint64_t bits = (uint64_t)(st.last + 1) * 8388608u + q;
  //@ assert plus: PlusOf(st.last + 65, st.last + 1, 64);
  //@ assert inside: q < 16777216 && st.last <= 252 ==> Pattern32(bits, st.last + 1, q);
  /*@ assert carried: q == 16777216 && st.last <= 251 ==>
        Pattern32(bits, st.last + 2, 8388608) && PlusOf(st.last + 65, st.last + 2, 63); */
  //@ assert q_range: q <= 16777216 && (0 <= st.last ==> 8388608 <= q);
  /*@ assert low: 0 <= st.last ==> \forall integer w;
        RootFloor(w, st.last + 65, st.root, st.rem, st.lower) ==>
        AtLeast(w, st.last + 64, Square(33554431)); */
  /*@ assert here: q < 16777216 && st.last <= 252 ==> \forall integer w;
        RootFloor(w, st.last + 65, st.root, st.rem, st.lower) ==> RootOf32(w, bits); */
  /*@ assert next: q == 16777216 && st.last <= 251 ==> \forall integer w;
        RootFloor(w, st.last + 65, st.root, st.rem, st.lower) ==> RootOf32(w, bits); */
  /*@ assert large: 253 <= st.last ==> \forall integer w;
        RootFloor(w, st.last + 65, st.root, st.rem, st.lower) ==> RootOf32(w, 2139095040); */
  /*@ assert above: q == 16777216 && st.last == 252 ==> \forall integer w;
        RootFloor(w, st.last + 65, st.root, st.rem, st.lower) ==> RootOf32(w, 2139095040); */
  /*@ assert too_large: bits >= 2139095040 <==>
        253 <= st.last || (q == 16777216 && st.last == 252); */
  return bits >= 2139095040u ? 2139095040u : (uint32_t)bits;
}

uint64_t zp_norm_f64(const int64_t limb[ZP_SQ_LIMBS])
{
  /* 53 bits and the half: up to 53 zero digits may follow digit 0 */
  root_state st = leading_root(limb, 9007199254740992u, -53);
  //@ assert sum: 0 <= LimbSum(limb, 20);
  //@ assert nothing: st.root < 9007199254740992 ==> LimbSum(limb, 20) <= 0;
  //@ assert something: 1 <= st.root ==> 0 < LimbSum(limb, 20);
  if (st.root == 0) return 0;
  return pattern64(st);
}

uint32_t zp_norm_f32(const int64_t limb[ZP_SQ_LIMBS])
{
  /* 24 bits and the half, which lies at 2^-150 or above */
  return pattern32(leading_root(limb, 16777216u, -1));
}
