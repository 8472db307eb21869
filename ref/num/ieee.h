/* The IEEE leaves: every floating-point operation of ref/num is one of these functions.
 *
 * Each body is one operation of the machine, rounded to nearest even, subnormals kept; compile with
 * -ffp-contract=off. A proof uses only its contract, which is assumed and not proven: the bits of
 * the result are a function of the bits of the operands. Everything else in ref/num is proven from
 * these contracts. One exception: if both operands are NaNs with different payloads, hardware may
 * return either. Finite inputs never produce such a pair.
 */
#ifndef ZP_REF_NUM_IEEE_H
#define ZP_REF_NUM_IEEE_H
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "../../spec/acsl/ieee.h"

/* a + b in fp32. a, b: any. Errors: none.
 * spec: OPT-3
 */
/*@ terminates \true; exits \false;
    assigns \nothing;
    ensures leaf: Bits32(\result) == Add32(Bits32(a), Bits32(b));
*/
static inline float zp_add32(float a, float b)
{
  return a + b;
}

/* a - b in fp32. a, b: any. Errors: none.
 * spec: OPT-3
 */
/*@ terminates \true; exits \false;
    assigns \nothing;
    ensures leaf: Bits32(\result) == Sub32(Bits32(a), Bits32(b));
*/
static inline float zp_sub32(float a, float b)
{
  return a - b;
}

/* a * b in fp32. a, b: any. Errors: none.
 * spec: OPT-3
 */
/*@ terminates \true; exits \false;
    assigns \nothing;
    ensures leaf: Bits32(\result) == Mul32(Bits32(a), Bits32(b));
*/
static inline float zp_mul32(float a, float b)
{
  return a * b;
}

/* a / b in fp32. a, b: any. Errors: none.
 * spec: OPT-3
 */
/*@ terminates \true; exits \false;
    assigns \nothing;
    ensures leaf: Bits32(\result) == Div32(Bits32(a), Bits32(b));
*/
static inline float zp_div32(float a, float b)
{
  return a / b;
}

/* The square root of a in fp32. a: any; NaN below zero. Errors: none.
 * spec: OPT-3
 */
/*@ terminates \true; exits \false;
    assigns \nothing;
    ensures leaf: Bits32(\result) == Sqrt32(Bits32(a));
*/
static inline float zp_sqrt32(float a)
{
  return sqrtf(a);
}

/* a + b in fp64. a, b: any. Errors: none.
 * spec: OPT-2
 */
/*@ terminates \true; exits \false;
    assigns \nothing;
    ensures leaf: Bits64(\result) == Add64(Bits64(a), Bits64(b));
*/
static inline double zp_add64(double a, double b)
{
  return a + b;
}

/* a - b in fp64. a, b: any. Errors: none.
 * spec: OPT-3
 */
/*@ terminates \true; exits \false;
    assigns \nothing;
    ensures leaf: Bits64(\result) == Sub64(Bits64(a), Bits64(b));
*/
static inline double zp_sub64(double a, double b)
{
  return a - b;
}

/* a * b in fp64. a, b: any. Errors: none.
 * spec: OPT-1
 */
/*@ terminates \true; exits \false;
    assigns \nothing;
    ensures leaf: Bits64(\result) == Mul64(Bits64(a), Bits64(b));
*/
static inline double zp_mul64(double a, double b)
{
  return a * b;
}

/* a / b in fp64. a, b: any. Errors: none.
 * spec: OPT-2
 */
/*@ terminates \true; exits \false;
    assigns \nothing;
    ensures leaf: Bits64(\result) == Div64(Bits64(a), Bits64(b));
*/
static inline double zp_div64(double a, double b)
{
  return a / b;
}

/* The square root of a in fp64. a: any; NaN below zero. Errors: none.
 * spec: OPT-3
 */
/*@ terminates \true; exits \false;
    assigns \nothing;
    ensures leaf: Bits64(\result) == Sqrt64(Bits64(a));
*/
static inline double zp_sqrt64(double a)
{
  return sqrt(a);
}

/* The fp32 number nearest to a. a: any. Errors: none.
 * spec: OPT-3
 */
/*@ terminates \true; exits \false;
    assigns \nothing;
    ensures leaf: Bits32(\result) == Narrow(Bits64(a));
*/
static inline float zp_narrow(double a)
{
  return (float)a;
}

/* a in fp64, exact. a: any. Errors: none.
 * spec: RED-2
 */
/*@ terminates \true; exits \false;
    assigns \nothing;
    ensures leaf: Bits64(\result) == Widen(Bits32(a));
*/
static inline double zp_widen(float a)
{
  return a;
}

/* The fp64 number nearest to n. n: any. Errors: none.
 * spec: RED-2
 */
/*@ terminates \true; exits \false;
    assigns \nothing;
    ensures leaf: Bits64(\result) == FromInteger64(n);
*/
static inline double zp_from_i64(int64_t n)
{
  return (double)n;
}

/* 1 if a < b, else 0. a, b: any. Errors: none.
 * spec: OPT-2
 */
/*@ terminates \true; exits \false;
    assigns \nothing;
    ensures leaf: \result == (Less64(Bits64(a), Bits64(b)) ? 1 : 0);
*/
static inline int zp_less64(double a, double b)
{
  return a < b;
}

/* 1 if a == b, else 0. a, b: any. Errors: none.
 * spec: OPT-3
 */
/*@ terminates \true; exits \false;
    assigns \nothing;
    ensures leaf: \result == (Equal64(Bits64(a), Bits64(b)) ? 1 : 0);
*/
static inline int zp_equal64(double a, double b)
{
  return a == b;
}

/* The fp32 number with pattern bits. bits: not of a NaN. Errors: none.
 * spec: NUM-1
 */
/*@ requires number: bits % 2147483648 <= 2139095040;
    terminates \true; exits \false;
    assigns \nothing;
    ensures leaf: Bits32(\result) == bits;
*/
static inline float zp_f32_of_bits(uint32_t bits)
{
  float x = 0;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* The fp64 number with pattern bits. bits: not of a NaN. Errors: none.
 * spec: NUM-1
 */
/*@ requires number: bits % 9223372036854775808 <= 9218868437227405312;
    terminates \true; exits \false;
    assigns \nothing;
    ensures leaf: Bits64(\result) == bits;
*/
static inline double zp_f64_of_bits(uint64_t bits)
{
  double x = 0;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* The pattern of x. x: any. Errors: none.
 * spec: NUM-1
 */
/*@ terminates \true; exits \false;
    assigns \nothing;
    ensures leaf: \result == Bits64(x);
*/
static inline uint64_t zp_f64_bits(double x)
{
  uint64_t bits = 0;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

/* 1 in fp64; proven from a leaf, not a leaf itself. Errors: none.
 * spec: NUM-1
 */
/*@ terminates \true; exits \false;
    assigns \nothing;
    ensures one: Bits64(\result) == One64;
*/
static inline double zp_one64(void)
{
  return zp_f64_of_bits(4607182418800017408u);
}

#endif
