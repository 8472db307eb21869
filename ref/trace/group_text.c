/* The names of groups and of their operations in findings. conformance/TRACE.md */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>

#include "judge.h"

enum { TEXT = 160 };

const char *zp_trace_group_text(const group *g, char *text)
{
  if (g->parent != NULL) g = g->parent;
  const char *label = g->named_by ? zp_trace_text(g->named_by, &g->named_by->labels, g->id) : "";
  snprintf(text, ZP_TRACE_GROUP_TEXT, "'%s'", label[0] ? label : g->key);
  return text;
}

static int ascending(const void *a, const void *b)
{
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return x < y ? -1 : x > y;
}

const char *zp_trace_members_text(const group *g, char *text)
{
  char name[ZP_TRACE_GROUP_TEXT], runs[ZP_TRACE_RUNS];
  zp_trace_group_text(g, name);
  int32_t *rank = malloc((size_t)g->size * sizeof *rank), n = 0;
  while (rank != NULL && n < g->size && g->rank[n] >= 0) rank[n] = g->rank[n], n++;
  if (n == g->size) qsort(rank, (size_t)n, sizeof *rank, ascending);
  if (n == g->size)
    snprintf(text, ZP_TRACE_MEMBERS_TEXT, "%s {%s}", name, zp_trace_runs(rank, n, runs));
  else snprintf(text, ZP_TRACE_MEMBERS_TEXT, "%s", name);
  free(rank);
  return text;
}

void zp_trace_where(const group *g, int64_t i, const zp_trace_sig *s, char *text, size_t cap)
{
  char what[TEXT], name[ZP_TRACE_MEMBERS_TEXT];
  zp_trace_describe(s, what, sizeof what);
  if (g->parent != NULL)
    snprintf(text, cap, "%s (number %" PRId64 " from group rank %d to %d in %s)", what, i,
             (int)g->from, (int)g->to, zp_trace_group_text(g, name));
  else
    snprintf(text, cap, "%s (number %" PRId64 " in %s)", what, i, zp_trace_members_text(g, name));
}
