#include "ledger.h"

#include <stdlib.h>

void zp_diff_ledger_add(zp_diff_ledger *l, const zp_op *op, int32_t step)
{
  if (l->n == l->cap) {
    const int64_t cap = 2 * l->cap + 256;
    zp_op *ops = realloc(l->op, (size_t)cap * sizeof *l->op);
    int32_t *steps = ops ? realloc(l->step, (size_t)cap * sizeof *l->step) : NULL;
    if (ops) l->op = ops;
    if (!steps) {
      l->no_memory = 1;
      return;
    }
    l->step = steps;
    l->cap = cap;
  }
  l->op[l->n] = *op;
  l->step[l->n++] = step;
}

void zp_diff_ledger_free(zp_diff_ledger *l)
{
  free(l->op);
  free(l->step);
}
