#include "cursor.h"

int64_t zp_cursor_next(const zp_op *ops, int64_t length, int64_t pc, int32_t skipped)
{
  int64_t i = pc;
  /*@ loop invariant range: pc <= i <= length;
      loop invariant left_out: \forall integer j; pc <= j < i ==> ops[j].if_stepped != 0;
      loop invariant all_run: skipped == 0 ==> i == pc;
      loop assigns i;
      loop variant length - i; */
  while (i < length && ops[i].if_stepped != 0 && skipped != 0) i++;
  return i;
}

int32_t zp_op_communicates(const zp_op *op)
{
  return op->kind >= ZP_OP_FIRST_COMM ? 1 : 0;
}
