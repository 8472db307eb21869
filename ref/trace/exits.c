/* Reports ranks whose process ended with an exit status, an unknown one too, or by an exception.
 * conformance/TRACE.md */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "judge.h"

typedef struct exited {
  const zp_trace_exit *exit;
  int32_t rank, warning;
} exited;

static int by_kind(const exited *x, const exited *y)
{
  if (x->warning != y->warning) return x->warning - y->warning;
  if (x->exit->how != y->exit->how) return x->exit->how < y->exit->how ? -1 : 1;
  if (x->exit->status != y->exit->status) return x->exit->status - y->exit->status;
  return strcmp(x->exit->reason, y->exit->reason);
}

static int by_kind_and_rank(const void *a, const void *b)
{
  const exited *x = a, *y = b;
  const int kind = by_kind(x, y);
  return kind != 0 ? kind : x->rank < y->rank ? -1 : x->rank > y->rank;
}

static void report(judge *j, const exited *e, int32_t n)
{
  char who[ZP_TRACE_RANKS], how[ZP_TRACE_EXIT_TEXT], where[ZP_TRACE_AT];
  int32_t *rank = zp_trace_grow(&j->failure, NULL, 0, (size_t)n, sizeof *rank);
  const player *first = &j->p[e->rank];
  for (int32_t k = 0; k < n; k++) {
    const player *p = &j->p[e[k].rank];
    if (p->reader.records < first->reader.records) first = p;
    rank[k] = e[k].rank;
  }
  const zp_trace_at at = {first->reader.records - 1, first->step};
  const char *after = at.record >= 0 ? "after its" : "before its first";
  if (at.record >= 0) zp_trace_at_text(at, where);
  else snprintf(where, sizeof where, "record");
  zp_trace_ranks(rank, n, who);
  zp_trace_exit_text(e->exit, how, sizeof how);
  if (n == 1)
    zp_trace_add_finding(j, "exit", rank[0], at.record, e->warning, "%s ended with %s %s %s", who,
                         how, after, where);
  else
    zp_trace_add_finding(j, "exit", rank[0], at.record, e->warning,
                         "%s ended with %s, rank %d first, %s %s", who, how,
                         (int)first->reader.rank, after, where);
  zp_trace_set_ranks(j, rank, n);
  zp_trace_set_step(j, at.step);
  /* the cause precedes the other findings of its record */
  j->verdict->finding[j->verdict->findings - 1].order -= INT32_MAX;
  free(rank);
}

void zp_trace_report_exits(judge *j)
{
  int32_t n = 0;
  exited *all = zp_trace_grow(&j->failure, NULL, 0, (size_t)j->world, sizeof *all);
  for (int32_t r = 0; r < j->world; r++) {
    const zp_trace_exit *e = &j->p[r].reader.exit;
    if (e->how != ZP_TRACE_NO_EXIT) all[n++] = (exited){e, r, !j->p[r].behind};
  }
  if (n > 0) qsort(all, (size_t)n, sizeof *all, by_kind_and_rank);
  for (int32_t i = 0, end; i < n; i = end) {
    for (end = i; end < n && by_kind(&all[end], &all[i]) == 0;) end++;
    report(j, &all[i], end - i);
  }
  free(all);
}
