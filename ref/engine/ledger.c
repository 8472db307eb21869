/* spec: LEDG-1 */
#include "ledger.h"

#include "../comm/comm.h"

int64_t zp_sent_bytes(const zp_op *op, int64_t members, int64_t index)
{
  const int64_t bytes = op->count * zp_dtype_bytes(op->dtype); /* <= 2^47 */
  int64_t all;
  switch (op->kind) {
  case ZP_OP_META: return op->mb >= 0 ? 8 * (int64_t)ZP_META_LONGS : 0;
  case ZP_OP_P2P:
  case ZP_OP_CREATE: return 0;
  case ZP_OP_ALL_REDUCE: return 2 * (bytes - bytes / members);
  case ZP_OP_GATHER: return index == op->root ? 0 : bytes;
  case ZP_OP_BROADCAST:
    if (index != op->root) return 0;
    break;
  default: break;
  }
  return __builtin_mul_overflow(bytes, members - 1, &all) ? INT64_MAX : all;
}

/* A running hash of the fields that members must agree in: multiply by an odd number, fold the high
 * bits back. */
static uint64_t mix(uint64_t hash, int64_t value)
{
  hash = (hash ^ (uint64_t)value) * 11400714819323198485u; /* 2^64 / golden ratio, odd */
  return hash ^ hash >> 32;
}

void zp_ledger_record(zp_ledger_sum *sum, const zp_op *op, int64_t bytes)
{
  const int64_t entry[6] = {op->kind, op->what, op->count, op->dtype, op->redop, op->root};
  sum->ops++;
  if (__builtin_add_overflow(sum->bytes, bytes, &sum->bytes)) sum->bytes = INT64_MAX;
  for (int32_t i = 0; i < 6; i++) sum->hash = mix(sum->hash, entry[i]);
}
