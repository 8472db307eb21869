#include "op.h"

#include <stdio.h>

int64_t zp_nt_dtype_bytes(int32_t dtype)
{
  switch (dtype) {
  case ncclInt8:
  case ncclUint8: return 1;
  case ncclFloat16:
  case ncclBfloat16: return 2;
  case ncclInt32:
  case ncclUint32:
  case ncclFloat32: return 4;
  case ncclInt64:
  case ncclUint64:
  case ncclFloat64: return 8;
  default: return 0;
  }
}

const char *zp_nt_op_text(const zp_nt_op *op, char text[96])
{
  static const char *const names[] = {"ncclSend",          "ncclRecv",      "ncclAllReduce",
                                      "ncclReduceScatter", "ncclAllGather", "ncclBroadcast",
                                      "ncclCommSplit"};
  if (op->kind == ZP_NT_SPLIT) return "ncclCommSplit";
  snprintf(text, 96, "%s(count %llu, type %d, op %d, %s %d)", names[op->kind],
           (unsigned long long)op->count, op->dtype, op->redop,
           op->kind <= ZP_NT_RECV ? "peer" : "root", op->peer);
  return text;
}

int zp_nt_can_reduce(int32_t dtype, int32_t redop)
{
  if (dtype == ncclFloat32) return redop == ncclSum;
  return (dtype == ncclInt32 || dtype == ncclInt64) &&
         (redop == ncclSum || redop == ncclMin || redop == ncclMax);
}
