/* The element types of stored and sent data. spec: NUM-1 */
#ifndef ZP_PLAN_DTYPE_H
#define ZP_PLAN_DTYPE_H

#include <stdint.h>

typedef enum zp_dtype {
  ZP_F32 = 0,
  ZP_BF16 = 1,
  ZP_F16 = 2,
  ZP_I64 = 3, /* limbs, statistics, meta messages */
  ZP_I32 = 4, /* token ids and other integer activations */
  ZP_DTYPES = 5
} zp_dtype;

/* Bytes of one element; 0 for a value that is not a zp_dtype. spec: NUM-1 */
/*@ terminates \true;
    exits \false;
    assigns \nothing;
    ensures four: dtype == ZP_F32 || dtype == ZP_I32 ==> \result == 4;
    ensures two: dtype == ZP_BF16 || dtype == ZP_F16 ==> \result == 2;
    ensures eight: dtype == ZP_I64 ==> \result == 8;
    ensures other: dtype < 0 || ZP_DTYPES <= dtype ==> \result == 0;
    ensures size: \result == 0 || \result == 2 || \result == 4 || \result == 8; */
static inline int64_t zp_dtype_bytes(int32_t dtype)
{
  if (dtype == ZP_F32 || dtype == ZP_I32) return 4;
  if (dtype == ZP_BF16 || dtype == ZP_F16) return 2;
  return dtype == ZP_I64 ? 8 : 0;
}

#endif
