/* Memory that lasts as long as a search for causes. */
#include "explain.h"

enum { BLOCK = 1 << 16 };

void *zp_explain_take(explain *x, size_t bytes)
{
  bytes = (bytes + 15) & ~(size_t)15;
  if (bytes > x->free_n) {
    const size_t n = sizeof(explain_block) + 16 + (bytes > BLOCK ? bytes : BLOCK);
    explain_block *b = zp_trace_grow(&x->j->failure, NULL, 0, n, 1);
    b->next = x->block;
    x->block = b;
    x->free_at = (char *)b + 16;
    x->free_n = n - 16;
  }
  void *p = x->free_at;
  x->free_at += bytes;
  x->free_n -= bytes;
  return p;
}
