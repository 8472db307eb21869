#include "packed.h"

void zp_val_pack(const int64_t limb[ZP_VAL_LIMBS], uint32_t *low, int64_t *top, int64_t n,
                 int64_t i)
{
  //@ assert range: \forall integer k; 0 <= k < 8 ==> 0 <= limb[k] < 4294967296;
  low[i] = (uint32_t)limb[0];
  low[n + i] = (uint32_t)limb[1];
  //@ ghost A: ;
  //@ assert first0: low[i] == limb[0];
  //@ assert first1: low[n + i] == limb[1];
  low[2 * n + i] = (uint32_t)limb[2];
  low[3 * n + i] = (uint32_t)limb[3];
  /*@ assert kept: low[i] == \at(low[i],A) &&
        low[n + i] == \at(low[n + i],A); */
  //@ ghost B: ;
  //@ assert second2: low[2 * n + i] == limb[2];
  //@ assert second3: low[3 * n + i] == limb[3];
  low[4 * n + i] = (uint32_t)limb[4];
  low[5 * n + i] = (uint32_t)limb[5];
  /*@ assert still: low[i] == \at(low[i],B) &&
        low[n + i] == \at(low[n + i],B) &&
        low[2 * n + i] == \at(low[2 * n + i],B) &&
        low[3 * n + i] == \at(low[3 * n + i],B); */
  //@ ghost C: ;
  //@ assert third4: low[4 * n + i] == limb[4];
  //@ assert third5: low[5 * n + i] == limb[5];
  low[6 * n + i] = (uint32_t)limb[6];
  low[7 * n + i] = (uint32_t)limb[7];
  /*@ assert also: low[i] == \at(low[i],C) &&
        low[n + i] == \at(low[n + i],C) &&
        low[2 * n + i] == \at(low[2 * n + i],C) &&
        low[3 * n + i] == \at(low[3 * n + i],C) &&
        low[4 * n + i] == \at(low[4 * n + i],C) &&
        low[5 * n + i] == \at(low[5 * n + i],C); */
  //@ assert last6: low[6 * n + i] == limb[6];
  //@ assert last7: low[7 * n + i] == limb[7];
  //@ assert word0: low[i] == limb[0];
  //@ assert word1: low[n + i] == limb[1];
  //@ assert word2: low[2 * n + i] == limb[2];
  //@ assert word3: low[3 * n + i] == limb[3];
  //@ assert word4: low[4 * n + i] == limb[4];
  //@ assert word5: low[5 * n + i] == limb[5];
  top[i] = limb[8];
}

void zp_val_unpack(int64_t limb[ZP_VAL_LIMBS], const uint32_t *low, const int64_t *top, int64_t n,
                   int64_t i)
{
  limb[0] = low[i];
  limb[1] = low[n + i];
  limb[2] = low[2 * n + i];
  limb[3] = low[3 * n + i];
  limb[4] = low[4 * n + i];
  limb[5] = low[5 * n + i];
  limb[6] = low[6 * n + i];
  limb[7] = low[7 * n + i];
  limb[8] = top[i];
  //@ assert word0: limb[0] == low[i] && 0 <= limb[0] < 4294967296;
  //@ assert word1: limb[1] == low[n + i] && 0 <= limb[1] < 4294967296;
  //@ assert word2: limb[2] == low[2 * n + i] && 0 <= limb[2] < 4294967296;
  //@ assert word3: limb[3] == low[3 * n + i] && 0 <= limb[3] < 4294967296;
  //@ assert word4: limb[4] == low[4 * n + i] && 0 <= limb[4] < 4294967296;
  //@ assert word5: limb[5] == low[5 * n + i] && 0 <= limb[5] < 4294967296;
  //@ assert word6: limb[6] == low[6 * n + i] && 0 <= limb[6] < 4294967296;
  //@ assert word7: limb[7] == low[7 * n + i] && 0 <= limb[7] < 4294967296;
  //@ assert word8: limb[8] == top[i];
}

/* Limb 3 has bits 96 to 127, of which a sum of fp16 numbers uses the upper three: each word has
 * three bits of one limb and 29 of the next. */
void zp_val_pack_f16(const int64_t limb[ZP_VAL_LIMBS], uint32_t *low, int64_t n, int64_t i)
{
  const uint32_t a = (uint32_t)((uint64_t)limb[3] / 536870912 + (uint64_t)limb[4] % 536870912 * 8);
  const uint32_t b = (uint32_t)((uint64_t)limb[4] / 536870912 + (uint64_t)limb[5] % 536870912 * 8);
  const uint32_t c = (uint32_t)((uint64_t)limb[5] / 536870912 + (uint64_t)limb[6] % 536870912 * 8);
  //@ assert words: F16Words(limb, a, b, c);
  low[i] = a;
  low[n + i] = b;
  low[2 * n + i] = c;
  //@ assert kept: low[i] == a && low[n + i] == b;
  //@ assert limbs: F16Words(limb, a, b, c);
}

void zp_val_unpack_f16(int64_t limb[ZP_VAL_LIMBS], const uint32_t *low, int64_t n, int64_t i)
{
  const uint32_t a = low[i], b = low[n + i], c = low[2 * n + i];
  const int64_t negative = c >= 2147483648;
  limb[0] = 0;
  limb[1] = 0;
  limb[2] = 0;
  limb[3] = (int64_t)(a % 8) * 536870912;
  limb[4] = a / 8 + (int64_t)(b % 8) * 536870912;
  limb[5] = b / 8 + (int64_t)(c % 8) * 536870912;
  limb[6] = c / 8 + negative * 3758096384;
  limb[7] = negative * 4294967295;
  limb[8] = -negative;
  //@ assert words: F16Words(limb, a, b, c);
  //@ assert sum: SumOfF16(limb);
}
