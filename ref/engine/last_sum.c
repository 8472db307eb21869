/* spec: STEP-2 */
#include "last_sum.h"

#include <stdlib.h>

/* A sum over tp may have no elements of this rank: then it does nothing. RED-8 */
static int is_sum(const zp_op *op)
{
  return op->kind >= ZP_OP_FIRST_COMM && op->count > 0 &&
         (op->what == ZP_WHAT_GRADIENT || op->what == ZP_WHAT_REPLICA || op->what == ZP_WHAT_TIED ||
          op->what == ZP_WHAT_PARTIAL);
}

int zp_last_sums(const zp_op *ops, int64_t n, int32_t flats, uint8_t *is_last, int64_t *mean)
{
  uint8_t *summed = calloc((size_t)n + 1, 1); /* 1 at a mean: its bucket's last sum is found */
  if (!summed) return -1;
  for (int32_t k = 0; k < flats; k++) mean[k] = -1;
  for (int64_t i = n - 1; i >= 0; i--) {
    is_last[i] = 0;
    if (ops[i].kind == ZP_OP_MEAN) mean[ops[i].flat] = i - ops[i].bucket;
    if (!is_sum(&ops[i]) || mean[ops[i].flat] < 0) continue;
    uint8_t *found = &summed[mean[ops[i].flat] + ops[i].bucket];
    is_last[i] = !*found;
    *found = 1;
  }
  free(summed);
  return 0;
}
