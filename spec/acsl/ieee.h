/* The IEEE leaves: the facts that proofs use about floating point. ACSL only: nothing here is
 * compiled.
 *
 * Bits32(x), Bits64(x): the bit pattern of x. Each operation is an uninterpreted function on
 * patterns: equal operands give equal results. ref/num/ieee.h states one such contract for each
 * operation. No other fact about floating point is assumed.
 * spec: OPT-3
 */
#ifndef ZP_SPEC_ACSL_IEEE_H
#define ZP_SPEC_ACSL_IEEE_H

/*@ axiomatic Ieee {
      logic integer Bits32(float x);
      logic integer Bits64(double x);
      logic integer Add32(integer a, integer b);
      logic integer Sub32(integer a, integer b);
      logic integer Mul32(integer a, integer b);
      logic integer Div32(integer a, integer b);
      logic integer Sqrt32(integer a);
      logic integer Add64(integer a, integer b);
      logic integer Sub64(integer a, integer b);
      logic integer Mul64(integer a, integer b);
      logic integer Div64(integer a, integer b);
      logic integer Sqrt64(integer a);
      logic integer Narrow(integer a);           // fp64 to fp32
      logic integer Widen(integer a);            // fp32 to fp64
      logic integer FromInteger64(integer n);    // int64 to fp64
      logic boolean Less64(integer a, integer b);
      logic boolean Equal64(integer a, integer b);
    }

    logic integer One64 = 4607182418800017408; // the pattern of 1.0
    logic integer Power64(integer e) = (1023 + e) * 4503599627370496; // of 2^e, -1022 <= e <= 1023
    logic integer Power32(integer e) = (127 + e) * 8388608;           // of 2^e, -126 <= e <= 127
*/

#endif
