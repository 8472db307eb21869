#include "ledger.h"

#include <stdlib.h>

int zp_diff_same_op(const zp_op *a, const zp_op *b)
{
  return a->kind == b->kind && a->what == b->what && a->group == b->group && a->key == b->key &&
         a->dtype == b->dtype && a->redop == b->redop && a->root == b->root && a->mb == b->mb &&
         a->recv_mb == b->recv_mb && a->bucket == b->bucket && a->count == b->count &&
         a->flat == b->flat && a->param == b->param;
}

/* Room for one more element; -1: no memory. */
static int grow(void **list, int64_t n, int64_t *cap, size_t size)
{
  const int64_t more = 2 * *cap + 64;
  void *p;
  if (n < *cap) return 0;
  p = realloc(*list, (size_t)more * size);
  if (!p) return -1;
  *list = p;
  *cap = more;
  return 0;
}

static int same_list(const zp_diff_ledger *l, const zp_diff_ledger_steps *a,
                     const zp_diff_ledger_steps *b)
{
  if (a->n != b->n) return 0;
  for (int64_t i = 0; i < a->n; i++) {
    const zp_op *x = &l->op[a->begin + i], *y = &l->op[b->begin + i];
    if (x->if_stepped != y->if_stepped || !zp_diff_same_op(x, y)) return 0;
  }
  return 1;
}

/* The last step is complete: stores its list only if no step before it has the same one. */
static void end_step(zp_diff_ledger *l)
{
  zp_diff_ledger_steps *last = &l->steps[l->n_steps - 1];
  for (int64_t i = l->n_steps - 2; i >= 0; i--) {
    if (!same_list(l, &l->steps[i], last)) continue;
    l->n = last->begin;
    last->begin = l->steps[i].begin;
    if (i != l->n_steps - 2 || l->steps[i].last + 1 != last->first) return;
    l->steps[i].last = last->first;
    l->n_steps--;
    return;
  }
}

void zp_diff_ledger_add(zp_diff_ledger *l, const zp_op *op, int32_t step)
{
  if (grow((void **)&l->op, l->n, &l->cap, sizeof *l->op) ||
      grow((void **)&l->steps, l->n_steps, &l->cap_steps, sizeof *l->steps)) {
    l->no_memory = 1;
    return;
  }
  if (l->n_steps == 0 || l->steps[l->n_steps - 1].last != step) {
    if (l->n_steps > 0) end_step(l);
    l->steps[l->n_steps++] = (zp_diff_ledger_steps){step, step, l->n, 0};
  }
  l->op[l->n++] = *op;
  l->steps[l->n_steps - 1].n++;
}

const zp_op *zp_diff_ledger_next(const zp_diff_ledger *l, zp_diff_ledger_cursor *c, int32_t *step)
{
  const zp_diff_ledger_steps *s;
  if (c->at == l->n_steps) return NULL;
  s = &l->steps[c->at];
  *step = s->first + c->after;
  const zp_op *op = &l->op[s->begin + c->op];
  if (++c->op < s->n) return op;
  c->op = 0;
  if (s->first + ++c->after <= s->last) return op;
  c->after = 0;
  c->at++;
  return op;
}

void zp_diff_ledger_free(zp_diff_ledger *l)
{
  free(l->op);
  free(l->steps);
}
