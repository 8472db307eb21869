#include "verdict.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

void zp_verdict_say(zp_verdict *v, const char *format, ...)
{
  const int64_t room = ZP_VERDICT_TEXT - v->text_used;
  va_list ap;
  int n;
  if (room <= 1) return;
  va_start(ap, format);
  n = vsnprintf(v->text + v->text_used, (size_t)room, format, ap);
  va_end(ap);
  v->text_used += n < 0 ? 0 : n < room ? n : room - 1;
}

void zp_verdict_clear(zp_verdict *v)
{
  memset(v, 0, offsetof(zp_verdict, finding)); /* the arrays behind are large */
  v->reloaded = v->steps = v->skipped = v->grown = v->lowered = v->clipped = 0;
  v->orders = v->distinct = v->offloads = v->partials = v->paths = 0;
  v->lent = v->early = v->unused_early = 0;
  v->drawn = -1;
  v->schedule = 0;
  v->text_used = 0;
  v->text[0] = v->undrawn[0] = 0;
}

int zp_verdict_names(const zp_verdict *v, const char *clause)
{
  for (int32_t i = 0; i < v->n_clauses; i++)
    if (strcmp(v->clause[i], clause) == 0) return 1;
  return 0;
}

void zp_verdict_clause(zp_verdict *v, const char *clause)
{
  v->failed = 1;
  if (zp_verdict_names(v, clause) || v->n_clauses == ZP_VERDICT_CLAUSES) return;
  snprintf(v->clause[v->n_clauses], sizeof v->clause[0], "%s", clause);
  v->n_clauses++;
}
