/* LOAD. spec: CKPT-2 */
#include "program_internal.h"

#include "../../spec/acsl/op_is_lemmas.h"

int64_t zp_put_load(zp_op *ops)
{
  int64_t n = zp_emit(ops, 0, zp_op_blank(ZP_OP_READ, 0, 0));
  /*@ assert read: \forall integer g, key, stepped; HasLedger(g) ==>
        LedgerOf(ops, n, g, key, stepped) == Nothing; */
  n = zp_emit(ops, n, zp_op_agree(ZP_WHAT_STATUS, 1, 0, 1));
  /*@ assert status: \forall integer g, key, stepped; HasLedger(g) ==>
        LedgerOf(ops, n, g, key, stepped) == LoadLedger(g); */
  return zp_emit(ops, n, zp_op_blank(ZP_OP_INSTALL, 0, 2));
}

int64_t zp_need_load(void)
{
  return 3;
}
