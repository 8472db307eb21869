/* The interpreter's position in a program: which op is next. Hands out every op once and in order,
 * but those that a skipped step leaves out. */
#ifndef ZP_ENGINE_CURSOR_H
#define ZP_ENGINE_CURSOR_H

#include <stdint.h>

#include "../plan/program.h"

/* after the types that its logic is about */
#include "../../spec/acsl/cursor.h"

/* The position of the first op from pc on that is to be run, or length if no such op is left.
 * ops: (length). pc: 0 to length. skipped: non-zero once the step is known to be skipped.
 * Errors: none.
 * spec: STEP-2, STEP-6
 */
/*@ requires program: \valid_read(ops + (0 .. length - 1));
    requires place: 0 <= pc <= length;
    terminates \true; exits \false;
    assigns \nothing;
    ensures range: pc <= \result <= length;
    ensures left_out: skipped != 0 ==>
      \forall integer i; pc <= i < \result ==> ops[i].if_stepped != 0;
    ensures all_run: skipped == 0 ==> \result == pc;
    ensures next: \result < length ==> ops[\result].if_stepped == 0 || skipped == 0;
*/
int64_t zp_cursor_next(const zp_op *ops, int64_t length, int64_t pc, int32_t skipped);

/* 1 when op is a communication, to be carried out with other ranks, else 0.
 * op: any. Errors: none.
 * spec: LEDG-1
 */
/*@ requires valid: \valid_read(op);
    terminates \true; exits \false;
    assigns \nothing;
    ensures communication: \result == (Communicates(op->kind) ? 1 : 0);
*/
int32_t zp_op_communicates(const zp_op *op);

#endif
