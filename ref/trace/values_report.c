/* Reports the first values that differ between ranks, and since when. conformance/TRACE.md,
 * "Values" */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "values.h"

enum { TEXT = 640 };

/* The ranks of a comparison by what they hold. */
typedef struct split {
  int32_t *rank, *few; /* those that hold `most`; the others, both ascending */
  int32_t n, n_few;
  int tie; /* the values do not show which ranks deviate */
} split;

static int by_value(const void *a, const void *b)
{
  const odd *x = a, *y = b;
  for (int i = 0; i < 2; i++)
    if (x->print.lane[i] != y->print.lane[i]) return x->print.lane[i] < y->print.lane[i] ? -1 : 1;
  if (x->print.bytes != y->print.bytes) return x->print.bytes < y->print.bytes ? -1 : 1;
  return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static int equal(const zp_trace_print *a, const zp_trace_print *b)
{
  return a->lane[0] == b->lane[0] && a->lane[1] == b->lane[1] && a->bytes == b->bytes;
}

static int ascending(const void *a, const void *b)
{
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return x < y ? -1 : x > y;
}

/* Whether the value of a rank is known. */
static int is_known(const seen *s, int32_t rank)
{
  if (s->held >= s->g->size || rank == s->first) return 1;
  for (int32_t i = 0; i < s->odds; i++)
    if (s->odd[i].rank == rank) return 1;
  return 0;
}

/* Whether a rank whose value is known holds this one. */
static int holds(const seen *s, int32_t rank, const zp_trace_print *value)
{
  for (int32_t i = 0; i < s->odds; i++)
    if (s->odd[i].rank == rank) return equal(&s->odd[i].print, value);
  return equal(&s->value, value);
}

/* The value that most ranks hold; of several, that of the lowest rank. */
static zp_trace_print most_of(seen *s, int *tie)
{
  zp_trace_print found = s->value;
  int32_t most = s->held - s->odds, lowest = s->first;
  for (int32_t q = 0; q < s->g->size; q++)
    if (s->g->rank[q] >= 0 && s->g->rank[q] < lowest && holds(s, s->g->rank[q], &found))
      lowest = s->g->rank[q];
  *tie = 0;
  if (s->odds > 0) qsort(s->odd, (size_t)s->odds, sizeof *s->odd, by_value);
  for (int32_t i = 0, end; i < s->odds; i = end) {
    for (end = i; end < s->odds && equal(&s->odd[end].print, &s->odd[i].print);) end++;
    *tie = end - i > most ? 0 : *tie || end - i == most;
    if (end - i < most || (end - i == most && s->odd[i].rank > lowest)) continue;
    most = end - i;
    lowest = s->odd[i].rank; /* they are sorted */
    found = s->odd[i].print;
  }
  return found;
}

/* expected: NULL, or the value that all ranks should hold. */
static split split_of(judge *j, seen *s, const zp_trace_print *expected)
{
  split x = {0};
  const zp_trace_print most = expected ? *expected : most_of(s, &x.tie);
  const group *g = s->g;
  x.rank = zp_trace_grow(&j->failure, NULL, 0, (size_t)g->size, sizeof *x.rank);
  x.few = zp_trace_grow(&j->failure, NULL, 0, (size_t)g->size, sizeof *x.few);
  for (int32_t q = 0; q < g->size; q++) {
    const int32_t rank = g->rank[q];
    if (rank < 0 || !is_known(s, rank)) continue;
    if (holds(s, rank, &most)) x.rank[x.n++] = rank;
    else x.few[x.n_few++] = rank;
  }
  if (x.n > 0) qsort(x.rank, (size_t)x.n, sizeof *x.rank, ascending);
  if (x.n_few > 0) qsort(x.few, (size_t)x.n_few, sizeof *x.few, ascending);
  return x;
}

static const char *step_of(const seen *s, char *text, size_t cap)
{
  text[0] = 0;
  if (s->step >= 0) snprintf(text, cap, "step %" PRId64 ": ", s->step);
  return text;
}

/* "rank 2 holds another value than 3 ranks (0, 1, 3)" */
static int say_split(const split *x, char *text, size_t cap)
{
  char few[ZP_TRACE_RANKS], rest[ZP_TRACE_RANKS];
  zp_trace_ranks(x->few, x->n_few, few);
  zp_trace_ranks(x->rank, x->n, rest);
  return snprintf(text, cap, "%s hold%s another value than %s%s", few, x->n_few > 1 ? "" : "s",
                  rest, x->tie ? "; the values do not show which of them is right" : "");
}

static char *copy(judge *j, const char *text)
{
  const size_t n = strlen(text) + 1;
  return memcpy(zp_trace_grow(&j->failure, NULL, 0, n, 1), text, n);
}

/* "parameter 0.weight": the name, and its first word. A state is named by its key, "exp_avg". */
static zp_trace_differs tensor_of(judge *j, const char *name)
{
  static const char *const kinds[] = {"parameter", "gradient"};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    const size_t n = strlen(kinds[i]);
    if (strncmp(name, kinds[i], n) == 0 && name[n] == ' ')
      return (zp_trace_differs){kinds[i], copy(j, name + n + 1)};
  }
  return (zp_trace_differs){strchr(name, ' ') ? "state" : "tensor", copy(j, name)};
}

static void add_finding(judge *j, const seen *s, const split *x, zp_trace_differs value,
                        const char *text)
{
  const int64_t record = s->at.record;
  zp_trace_add_finding(j, "value", x->n_few > 0 ? x->few[0] : s->first, record, 0, "%s", text);
  if (x->n_few > 0) zp_trace_set_ranks(j, x->few, x->n_few);
  zp_trace_finding *f = &j->verdict->finding[j->verdict->findings - 1];
  f->step = s->step;
  f->value = value;
}

/* "rank 1 holds another value than 2 ranks (0, 2)", and what the inputs show. */
static void say_results(const seen *s, const zp_trace_print *sum, const split *x, char *text,
                        size_t cap)
{
  if (x->n_few > 0 && x->n > 0) {
    const size_t n = (size_t)say_split(x, text, cap);
    if (sum != NULL && n < cap) snprintf(text + n, cap - n, ", which hold what was passed in");
    return;
  }
  snprintf(text, cap,
           "%s not what was passed in: an input changed after the operation was entered, or was "
           "not transferred unchanged",
           zp_trace_is_dealt(s)                        ? "the results together are"
           : zp_trace_results_agree(s) && s->odds == 0 ? "the results agree, but are"
                                                       : "no result is");
}

/* A send and its receive. */
static split say_received(judge *j, const seen *s, char *text, size_t cap)
{
  const int32_t from = s->g->rank[0], to = s->g->rank[1];
  split x = {.n_few = from == to ? 1 : 2};
  x.few = zp_trace_grow(&j->failure, NULL, 0, 2, sizeof *x.few);
  x.few[0] = from < to ? from : to;
  x.few[1] = from < to ? to : from;
  snprintf(
      text, cap,
      "rank %d received another value than rank %d sent: the tensor changed after the send was "
      "entered, or was not transferred unchanged",
      (int)to, (int)from);
  return x;
}

/* The first operation whose results differ from each other, or from the inputs. */
static void report_operation(judge *j, seen *s)
{
  char step[32], where[TEXT], text[TEXT], all[4 * TEXT], site[ZP_TRACE_NAME + 8] = "";
  const zp_trace_print *sum = zp_trace_inputs_known(s) ? &s->sum : NULL;
  split x = {0}; /* the parts of several ranks differ: no rank deviates */
  if (s->g->parent != NULL) x = say_received(j, s, text, sizeof text);
  else if (!zp_trace_is_dealt(s)) x = split_of(j, s, sum);
  const zp_trace_reader *r = &j->p[s->at_rank].reader;
  const char *called = s->site > 0 ? zp_trace_text(r, &r->sites, s->site) : "";
  if (called[0]) snprintf(site, sizeof site, ", %s,", called);
  zp_trace_where(s->g, s->id, &s->sig, where, sizeof where);
  if (s->g->parent == NULL) say_results(s, sum, &x, text, sizeof text);
  snprintf(all, sizeof all, "%sresult of %s%s differs: %s", step_of(s, step, sizeof step), where,
           site, text);
  const int of_input = x.n_few == 0 || x.n == 0; /* the results agree with each other */
  add_finding(j, s, &x, (zp_trace_differs){of_input ? "input" : "result", NULL}, all);
  free(x.rank);
  free(x.few);
}

/* " (equal at step 2)" */
static const char *since_of(const seen *s, char *text, size_t cap)
{
  text[0] = 0;
  if (!s->was_equal || s->agreed.step < 0) return text;
  if (s->agreed.turn == s->when.turn && s->agreed.step == s->step)
    snprintf(text, cap, " (equal earlier in this step)");
  else
    snprintf(text, cap, " (equal at step %" PRId64 "%s)", s->agreed.step,
             s->agreed.turn == s->when.turn ? "" : ", before the steps were counted anew");
  return text;
}

/* Where the difference comes from. before: an operation whose results differed before. */
static const char *reason_of(const judge *j, const seen *s, const split *x, const seen *before,
                             char *text, size_t cap)
{
  char who[ZP_TRACE_RANKS], agree[96] = "";
  const int gradient = strncmp(j->values->tensor[s->id].name, "gradient ", 9) == 0;
  text[0] = 0;
  if (s->agreed_ops > 0)
    snprintf(agree, sizeof agree, "; the results of all %" PRId64 " collectives before agree",
             s->agreed_ops);
  if (before != NULL) snprintf(text, cap, "; results of a collective differed before");
  else if (!s->was_equal)
    snprintf(text, cap, "%s; its copies were never seen equal: they were not %s, or changed before",
             agree, gradient ? "computed or reduced alike" : "initialised alike");
  else if (s->agreed_ops > 0)
    snprintf(text, cap, "%s: %s changed its copy afterwards", agree,
             x->tie ? "a rank" : zp_trace_ranks(x->few, x->n_few, who));
  return text;
}

/* The first tensor whose replicas differ. */
static void report_tensor(judge *j, seen *s, const seen *before)
{
  char step[32], text[TEXT], since[96], why[TEXT], all[2 * TEXT];
  split x = split_of(j, s, NULL);
  say_split(&x, text, sizeof text);
  since_of(s, since, sizeof since);
  reason_of(j, s, &x, before, why, sizeof why);
  snprintf(all, sizeof all, "%s%s differs: %s%s%s", step_of(s, step, sizeof step),
           j->values->tensor[s->id].name, text, since, why);
  add_finding(j, s, &x, tensor_of(j, j->values->tensor[s->id].name), all);
  free(x.rank);
  free(x.few);
}

/* The operation of a cause, in the words of the other causes. */
static void name_operation(judge *j, zp_trace_cause *c, const seen *s)
{
  char op[TEXT], name[ZP_TRACE_GROUP_TEXT];
  const zp_trace_reader *r = &j->p[s->at_rank].reader;
  const char *site = s->site > 0 ? zp_trace_text(r, &r->sites, s->site) : "";
  zp_trace_describe(&s->sig, op, sizeof op);
  c->op = copy(j, op);
  c->group = copy(j, zp_trace_group_text(s->g, name));
  if (site[0]) c->site = copy(j, site);
}

void zp_trace_value_cause(judge *j)
{
  zp_trace_verdict *v = j->verdict;
  const zp_trace_finding *f = v->finding;
  zp_trace_cause *c = v->cause;
  char step[32];
  while (c < v->cause + v->causes && strcmp(c->kind, "value") != 0) c++;
  while (f < v->finding + v->findings && (f->consequence >= 0 || f->value.kind == NULL)) f++;
  if (c == v->cause + v->causes || f == v->finding + v->findings) return;
  c->step = f->step;
  c->value.kind = f->value.kind;
  if (f->value.tensor != NULL) c->value.tensor = copy(j, f->value.tensor);
  else name_operation(j, c, j->values->first_op);
  /* the step is printed before the text of a cause */
  snprintf(step, sizeof step, "step %" PRId64 ": ", f->step);
  const size_t n = strlen(step);
  if (strncmp(c->text, step, n) == 0) memmove(c->text, c->text + n, strlen(c->text + n) + 1);
}

/* Warns of ranks whose recorders stopped to record values. */
static void report_ends(judge *j)
{
  char who[ZP_TRACE_RANKS], after[ZP_TRACE_AT + 32] = "before its first record", at[ZP_TRACE_AT];
  char of_first[48] = "";
  int32_t *rank = zp_trace_grow(&j->failure, NULL, 0, (size_t)j->world, sizeof *rank), n = 0;
  const player *first = NULL;
  for (int32_t r = 0; r < j->world; r++) {
    const player *p = &j->p[r];
    if (p->reader.values_end[0] == 0) continue;
    rank[n++] = r;
    if (first == NULL || p->values_end.step < first->values_end.step) first = p;
  }
  if (n > 0) {
    const zp_trace_at end = first->values_end;
    const char *error = first->reader.values_end;
    if (end.record >= 0) snprintf(after, sizeof after, "after its %s", zp_trace_at_text(end, at));
    if (n > 1) snprintf(of_first, sizeof of_first, ", of rank %d first,", (int)first->reader.rank);
    zp_trace_add_finding(j, "unjudged", rank[0], end.record, 1,
                         "values of %s end%s %s%s%s: the recorder could not record later ones, so "
                         "they are not compared",
                         zp_trace_ranks(rank, n, who), of_first, after,
                         error[0] == '?' ? "" : ", by ", error[0] == '?' ? "" : error);
    zp_trace_set_ranks(j, rank, n);
  }
  free(rank);
}

void zp_trace_report_values(judge *j)
{
  values *v = j->values;
  for (int32_t r = 0; r < j->world; r++) j->verdict->values_on |= j->p[r].reader.values_on;
  j->verdict->values_on |= v != NULL;
  report_ends(j);
  if (v == NULL) return;
  zp_trace_end_values(j);
  j->verdict->values = v->compared;
  seen *op = v->first_op, *tensor = v->first_tensor;
  const int caused = op != NULL && tensor != NULL && op->step <= tensor->step;
  if (op != NULL) report_operation(j, op);
  if (tensor != NULL) report_tensor(j, tensor, caused ? op : NULL);
}
