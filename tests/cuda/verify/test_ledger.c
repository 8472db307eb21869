/* The ledger that stores the list of equal steps once returns what was added. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "../../../cuda/verify/ledger.h"

enum { STEPS = 400, OPS_MAX = 5, LISTS = 4 };

/* Communication i of list k; list 3 differs from list 0 in one flag only. */
static zp_op op_of(int32_t k, int32_t i)
{
  zp_op op = {.kind = 1 + i % 3, .count = 100 + i, .param = k == 3 ? 0 : k, .bucket = i};
  op.if_stepped = k == 3 && i == 2;
  return op;
}

static int32_t length_of(int32_t k)
{
  return k == 3 ? 3 : 3 + k;
}

/* Adds the lists that the numbers name, one for each step from -2 on, and reads them. */
static void check(const int32_t *lists, int64_t stored_max)
{
  zp_diff_ledger l = {0};
  zp_diff_ledger_cursor c = {0};
  int32_t step = 0;
  for (int32_t s = 0; s < STEPS; s++)
    for (int32_t i = 0; i < length_of(lists[s]); i++) {
      const zp_op op = op_of(lists[s], i);
      zp_diff_ledger_add(&l, &op, s - 2);
    }
  cr_assert_eq(l.no_memory, 0);
  cr_assert_leq(l.n, stored_max);
  for (int32_t s = 0; s < STEPS; s++)
    for (int32_t i = 0; i < length_of(lists[s]); i++) {
      const zp_op want = op_of(lists[s], i), *op = zp_diff_ledger_next(&l, &c, &step);
      cr_assert_not_null(op);
      cr_assert_eq(step, s - 2);
      cr_assert(zp_diff_same_op(op, &want));
      cr_assert_eq(op->if_stepped, want.if_stepped);
    }
  cr_assert_null(zp_diff_ledger_next(&l, &c, &step));
  zp_diff_ledger_free(&l);
}

Test(ledger, equal_steps_are_stored_once)
{
  int32_t lists[STEPS] = {0};
  check(lists, 2 * length_of(0)); /* the last step's list is still its own */
  for (int32_t s = 0; s < STEPS; s++) lists[s] = s % 2;
  check(lists, 3 * OPS_MAX);
  for (int32_t s = 0; s < STEPS; s++) lists[s] = s % 7 == 3 ? 3 : 0; /* steps that are skipped */
  check(lists, 3 * OPS_MAX);
}

Test(ledger, any_order_of_lists_is_returned)
{
  int32_t lists[STEPS];
  uint32_t x = 1;
  for (int32_t k = 0; k < 20; k++) {
    for (int32_t s = 0; s < STEPS; s++) {
      x = x * 1664525 + 1013904223; /* Knuth, TAOCP 2, 3.3.4 */
      lists[s] = (int32_t)(x >> 24) % LISTS;
    }
    check(lists, (LISTS + 1) * OPS_MAX);
  }
}

Test(ledger, an_empty_ledger_has_no_communication)
{
  const zp_diff_ledger l = {0};
  zp_diff_ledger_cursor c = {0};
  int32_t step;
  cr_assert_null(zp_diff_ledger_next(&l, &c, &step));
}
