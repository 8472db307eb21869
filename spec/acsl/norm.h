/* Logic for the correctly rounded square root of an exact sum. ACSL only: nothing is compiled.
 *
 * The norm is sqrt(V) * 2^-149 with V = LimbSum(limb, 20). All formulas are over integers. They use
 * w = 4 V 4^64 instead of V, so that halves are integers and no exponent is negative: a number m *
 * 2^e * 2^-149 is compared with the norm by comparing (2 m 2^(e + 64))^2 = Shift4(e + 64, (2 m)^2)
 * with w.
 * spec: NORM-1, NORM-2
 */
#ifndef ZP_SPEC_ACSL_NORM_H
#define ZP_SPEC_ACSL_NORM_H
#include "exact_defs.h"

/*@
  // named, so that provers do not expand it
  logic integer Square(integer x) = x * x;
  logic integer Scaled(integer v) = Shift4(65, v);

  // fp64: exponent field and significand of a normal number; e - 862 is its exponent in units
  // of 2^-149, plus 64
  logic integer Exponent64(integer bits) = bits / 4503599627370496;
  logic integer Significand64(integer bits) = bits % 4503599627370496 + 4503599627370496;

  // the square of the number halfway between a pattern and the next; after the largest one the next
  // would be infinity
  logic integer Halfway32(integer bits) =
    Shift4(Exp32(bits) + 64, Square(2 * Mant32(bits) + 1));
  logic integer Halfway64(integer bits) =
    Shift4(Exponent64(bits) - 862, Square(2 * Significand64(bits) + 1));

  // the root of w rounds to a pattern iff it lies between the two adjacent halves; at a half, to
  // the even one of the two patterns
  predicate NearestTo(integer w, integer below, integer above, integer bits) =
    below <= w <= above && (w == below || w == above ==> bits % 2 == 0);

  // the fp64 pattern, 0 or a normal number, nearest to sqrt(v) * 2^-149, ties to even
  predicate RootOf64(integer w, integer bits) =
    874 <= Exponent64(bits) < 2047 && NearestTo(w, Halfway64(bits - 1), Halfway64(bits), bits);
  predicate RoundedRoot64(integer v, integer bits) =
    (v == 0 ==> bits == 0) && (0 < v ==> RootOf64(Scaled(v), bits));

  // the fp32 pattern nearest to it; infinity from half a unit beyond the largest number on
  predicate RootOf32(integer w, integer bits) =
    (bits == 0 && w <= Halfway32(0)) ||
    (0 < bits < 2139095040 && NearestTo(w, Halfway32(bits - 1), Halfway32(bits), bits)) ||
    (bits == 2139095040 && Halfway32(2139095039) <= w);
  predicate RoundedRoot32(integer v, integer bits) = RootOf32(Scaled(v), bits);
*/
#endif
