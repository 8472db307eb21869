/* Conversions between the bit patterns of fp32 and of the two 16-bit formats.
 *
 * bf16: 1 sign, 8 exponent, 7 fraction bits. fp16: 1 sign, 5 exponent, 10 fraction bits. Bit
 * patterns are passed as unsigned integers, so results do not depend on floating-point state.
 */
#ifndef ZP_REF_NUM_HALF_H
#define ZP_REF_NUM_HALF_H
#include <stdint.h>

#include "../../spec/acsl/exact_defs.h"
#ifdef __cplusplus
extern "C" {
#endif

/* The fp32 pattern with the value of bf16 pattern h; exact, a NaN keeps its payload.
 * h: any pattern. Errors: none.
 * spec: NUM-1
 */
/*@ terminates \true; exits \false;
    assigns \nothing;
    ensures widened: \result == WidenB16(h);
*/
uint32_t zp_f32_from_bf16(uint16_t h);

/* The bf16 pattern nearest to fp32 pattern u, ties to even.
 * u: any pattern. Values that are too large round to infinity; a NaN stays a NaN of the same sign,
 * made quiet, with the top 6 bits of its payload. Errors: none.
 * spec: NUM-2
 */
/*@ terminates \true; exits \false;
    assigns \nothing;
    ensures nan: u % 2147483648 > 2139095040 ==>
      \result == u / 65536 || \result == u / 65536 + 64;
    ensures nearest: u % 2147483648 <= 2139095040 ==> -32768 <= 65536 * \result - u <= 32768;
    ensures tie_even: u % 2147483648 <= 2139095040 && u % 65536 == 32768 ==> \result % 2 == 0;
*/
uint16_t zp_bf16_from_f32(uint32_t u);

/* The fp32 pattern with the value of fp16 pattern h; exact, a NaN keeps its payload, made quiet.
 * h: any pattern. Errors: none.
 * spec: NUM-1
 */
/*@ terminates \true; exits \false;
    assigns \nothing;
    ensures widened: \result == WidenF16(h);
*/
uint32_t zp_f32_from_f16(uint16_t h);

/* The fp16 pattern nearest to fp32 pattern u, ties to even, subnormal results included.
 * u: any pattern. Values from 65520 on round to infinity; a NaN stays a NaN of the same sign, made
 * quiet, with the top 9 bits of its payload. Errors: none.
 * spec: NUM-2
 */
/*@ terminates \true; exits \false;
    assigns \nothing;
    ensures sign: \result / 32768 == u / 2147483648;
    ensures normal: 947912704 <= u % 2147483648 < 1199570944 ==>
      -4096 <= 8192 * (\result % 32768) + 939524096 - u % 2147483648 <= 4096;
    ensures tie_even: 947912704 <= u % 2147483648 < 1199570944 && u % 8192 == 4096 ==>
      \result % 2 == 0;
    ensures overflow: 1199570944 <= u % 2147483648 <= 2139095040 ==> \result % 32768 == 31744;
    ensures tiny: u % 2147483648 <= 855638016 ==> \result % 32768 == 0;
    ensures nan: u % 2147483648 > 2139095040 ==> \result % 32768 > 31744;
*/
uint16_t zp_f16_from_f32(uint32_t u);

#ifdef __cplusplus
}
#endif
#endif
