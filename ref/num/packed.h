/* Exact signed sums (value.h) in 40 bytes an element instead of 72, or in 12 if only fp16 numbers
 * were added, for as long as nothing is added to them.
 *
 * n sums are an array of (8, n) words of 32 bits, `low`, and one of n words of 64 bits, `top`:
 * limb q < 8 of element i is low[q n + i], its top limb is top[i]. Carried limbs 0 to 7 are below
 * 2^32 and the top limb is kept as it is, so that packing loses nothing. Equal limbs of neighbours
 * are neighbours, and the first n words can be replaced by what the sums are rounded to.
 *
 * Sums of fp16 numbers are multiples of 2^-24, bit 125 of the limbs, and below 2^56 (LIM-5): 96
 * bits from there on, in two's complement, hold them. n of them are an array of (3, n) words.
 */
#ifndef ZP_REF_NUM_PACKED_H
#define ZP_REF_NUM_PACKED_H
#include <stdint.h>

#include "value.h"
#ifdef __cplusplus
extern "C" {
#endif

/* Words of 32 bits of a packed sum's lower limbs, and its bytes; bytes of a packed sum of fp16
 * numbers. */
enum { ZP_PACKED_WORDS = 8, ZP_PACKED_BYTES = 40, ZP_PACKED_F16_BYTES = 12 };

/* Packs a carried sum as element i of n.
 * limb: (ZP_VAL_LIMBS), carried: limbs 0 to 7 in [0, 2^32). low: (8, n). top: (n). They do not
 * overlap. 0 <= i < n <= 2^56. Errors: none.
 * spec: SUM-8
 */
/*@ requires valid: \valid_read(limb + (0 .. 8)) && \valid(low + (0 .. 8 * n - 1)) &&
      \valid(top + (0 .. n - 1));
    requires range: 0 <= i < n <= 72057594037927936;
    requires apart: \separated(limb + (0 .. 8), low + (0 .. 8 * n - 1), top + (0 .. n - 1));
    requires carried: Canonical(limb, 8);
    terminates \true; exits \false;
    assigns low[i], low[n + i], low[2 * n + i], low[3 * n + i], low[4 * n + i], low[5 * n + i],
      low[6 * n + i], low[7 * n + i], top[i];
    ensures word0: low[i] == \old(limb[0]);
    ensures word1: low[n + i] == \old(limb[1]);
    ensures word2: low[2 * n + i] == \old(limb[2]);
    ensures word3: low[3 * n + i] == \old(limb[3]);
    ensures word4: low[4 * n + i] == \old(limb[4]);
    ensures word5: low[5 * n + i] == \old(limb[5]);
    ensures word6: low[6 * n + i] == \old(limb[6]);
    ensures word7: low[7 * n + i] == \old(limb[7]);
    ensures word8: top[i] == \old(limb[8]);
*/
void zp_val_pack(const int64_t limb[ZP_VAL_LIMBS], uint32_t *low, int64_t *top, int64_t n,
                 int64_t i);

/* Unpacks element i of n packed sums; the result is carried.
 * limb: (ZP_VAL_LIMBS). low: (8, n). top: (n). They do not overlap. 0 <= i < n <= 2^56.
 * Errors: none.
 * spec: SUM-8
 */
/*@ requires valid: \valid(limb + (0 .. 8)) && \valid_read(low + (0 .. 8 * n - 1)) &&
      \valid_read(top + (0 .. n - 1));
    requires range: 0 <= i < n <= 72057594037927936;
    requires apart: \separated(limb + (0 .. 8), low + (0 .. 8 * n - 1), top + (0 .. n - 1));
    terminates \true; exits \false;
    assigns limb[0 .. 8];
    ensures word0: limb[0] == low[i] && 0 <= limb[0] < 4294967296;
    ensures word1: limb[1] == low[n + i] && 0 <= limb[1] < 4294967296;
    ensures word2: limb[2] == low[2 * n + i] && 0 <= limb[2] < 4294967296;
    ensures word3: limb[3] == low[3 * n + i] && 0 <= limb[3] < 4294967296;
    ensures word4: limb[4] == low[4 * n + i] && 0 <= limb[4] < 4294967296;
    ensures word5: limb[5] == low[5 * n + i] && 0 <= limb[5] < 4294967296;
    ensures word6: limb[6] == low[6 * n + i] && 0 <= limb[6] < 4294967296;
    ensures word7: limb[7] == low[7 * n + i] && 0 <= limb[7] < 4294967296;
    ensures word8: limb[8] == top[i];
*/
void zp_val_unpack(int64_t limb[ZP_VAL_LIMBS], const uint32_t *low, const int64_t *top, int64_t n,
                   int64_t i);

/*@ // Carried limbs of a multiple of 2^-24 within -2^71 .. 2^71 - 1: limbs 7 and 8 are its sign.
    predicate SumOfF16{L}(int64_t *limb) =
      limb[0] == 0 && limb[1] == 0 && limb[2] == 0 && 0 <= limb[3] < 4294967296 &&
      limb[3] % 536870912 == 0 && 0 <= limb[4] < 4294967296 && 0 <= limb[5] < 4294967296 &&
      ((limb[8] == 0 && limb[7] == 0 && 0 <= limb[6] < 268435456) ||
       (limb[8] == -1 && limb[7] == 4294967295 && 4026531840 <= limb[6] < 4294967296));
    // Bits 125 to 220 of the sum are the words a, b, c; each limb is a function of them.
    predicate F16Words{L}(int64_t *limb, integer a, integer b, integer c) =
      limb[0] == 0 && limb[1] == 0 && limb[2] == 0 && limb[3] == (a % 8) * 536870912 &&
      limb[4] == a / 8 + (b % 8) * 536870912 && limb[5] == b / 8 + (c % 8) * 536870912 &&
      limb[6] == c / 8 + (c < 2147483648 ? 0 : 3758096384) &&
      limb[7] == (c < 2147483648 ? 0 : 4294967295) && limb[8] == (c < 2147483648 ? 0 : -1);
*/

/* Packs a carried sum of fp16 numbers as element i of n.
 * limb: (ZP_VAL_LIMBS). low: (3, n). They do not overlap. 0 <= i < n <= 2^56. Errors: none.
 * spec: SUM-9
 */
/*@ requires valid: \valid_read(limb + (0 .. 8)) && \valid(low + (0 .. 3 * n - 1));
    requires range: 0 <= i < n <= 72057594037927936;
    requires apart: \separated(limb + (0 .. 8), low + (0 .. 3 * n - 1));
    requires sum: SumOfF16(limb);
    terminates \true; exits \false;
    assigns low[i], low[n + i], low[2 * n + i];
    ensures words: F16Words(limb, low[i], low[n + i], low[2 * n + i]);
*/
void zp_val_pack_f16(const int64_t limb[ZP_VAL_LIMBS], uint32_t *low, int64_t n, int64_t i);

/* Unpacks element i of n packed sums of fp16 numbers; the result is carried.
 * limb: (ZP_VAL_LIMBS). low: (3, n). They do not overlap. 0 <= i < n <= 2^56. Errors: none.
 * spec: SUM-9
 */
/*@ requires valid: \valid(limb + (0 .. 8)) && \valid_read(low + (0 .. 3 * n - 1));
    requires range: 0 <= i < n <= 72057594037927936;
    requires apart: \separated(limb + (0 .. 8), low + (0 .. 3 * n - 1));
    terminates \true; exits \false;
    assigns limb[0 .. 8];
    ensures words: F16Words(limb, low[i], low[n + i], low[2 * n + i]);
    ensures sum: SumOfF16(limb);
*/
void zp_val_unpack_f16(int64_t limb[ZP_VAL_LIMBS], const uint32_t *low, int64_t n, int64_t i);

#ifdef __cplusplus
}
#endif
#endif
