/* The list of findings. conformance/TRACE.md */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "judge.h"

enum { NAMED = 7 };

void zp_trace_add_finding(judge *j, const char *kind, int32_t rank, int64_t record, int warning,
                          const char *format, ...)
{
  zp_trace_verdict *v = j->verdict;
  zp_trace_finding *f;
  va_list args;
  if (v->findings == j->findings_cap) {
    const int32_t n = j->findings_cap ? 2 * j->findings_cap : 8;
    v->finding = zp_trace_grow(&j->failure, v->finding, (size_t)j->findings_cap, (size_t)n,
                               sizeof *v->finding);
    j->findings_cap = n;
  }
  f = &v->finding[v->findings++];
  *f = (zp_trace_finding){.kind = kind,
                          .rank = rank,
                          .warning = warning,
                          .record = record,
                          .order = v->findings,
                          .step = -1};
  v->errors += !warning;
  va_start(args, format);
  if (vasprintf(&f->text, format, args) < 0) f->text = zp_trace_grow(&j->failure, NULL, 0, 1, 1);
  va_end(args);
}

void zp_trace_set_ranks(judge *j, const int32_t *rank, int32_t n)
{
  zp_trace_finding *f = &j->verdict->finding[j->verdict->findings - 1];
  f->ranks = zp_trace_grow(&j->failure, NULL, 0, (size_t)n, sizeof *f->ranks);
  memcpy(f->ranks, rank, (size_t)n * sizeof *rank);
  f->n_ranks = n;
}

void zp_trace_set_step(judge *j, int64_t step)
{
  j->verdict->finding[j->verdict->findings - 1].step = step;
}

const char *zp_trace_ranks(const int32_t *rank, int32_t n, char *text)
{
  if (n == 1) snprintf(text, ZP_TRACE_RANKS, "rank %d", (int)rank[0]);
  if (n == 1) return text;
  int at = snprintf(text, ZP_TRACE_RANKS, "%d ranks (", (int)n);
  for (int32_t i = 0; i < n && (n <= NAMED + 1 || i < NAMED); i++)
    at += snprintf(text + at, (size_t)(ZP_TRACE_RANKS - at), "%d, ", (int)rank[i]);
  if (n <= NAMED + 1) at -= 2;
  snprintf(text + at, (size_t)(ZP_TRACE_RANKS - at), n <= NAMED + 1 ? ")" : "...)");
  return text;
}

const char *zp_trace_runs(const int32_t *rank, int32_t n, char *text)
{
  int at = 0;
  text[0] = 0;
  for (int32_t i = 0, end, runs = 0; i < n; i = end + 1, runs++) {
    const char *comma = i > 0 ? ", " : "";
    const size_t left = (size_t)(ZP_TRACE_RUNS - at);
    for (end = i; end + 1 < n && rank[end + 1] == rank[end] + 1;) end++;
    if (end == i + 1) end = i;
    if (runs == NAMED + 1) at += snprintf(text + at, left, ", …");
    if (runs == NAMED + 1) break;
    if (end == i) at += snprintf(text + at, left, "%s%d", comma, (int)rank[i]);
    else at += snprintf(text + at, left, "%s%d–%d", comma, (int)rank[i], (int)rank[end]);
  }
  return text;
}

const char *zp_trace_cause_text(const zp_trace_cause *c, char *text)
{
  char of[64] = "";
  if (c->equally_likely > 0)
    snprintf(of, sizeof of, " (one of %d explanations that the traces permit)",
             (int)c->equally_likely);
  snprintf(text, ZP_TRACE_CAUSE_TEXT, "%.2000s%s", c->text, of);
  return text;
}

const char *zp_trace_at_text(zp_trace_at at, char *text)
{
  const int n = snprintf(text, ZP_TRACE_AT, "record %" PRId64, at.record);
  if (at.step >= 0) snprintf(text + n, (size_t)(ZP_TRACE_AT - n), " (step %" PRId64 ")", at.step);
  return text;
}
