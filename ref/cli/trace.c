/* zeroproof trace: judges, draws or prints the recorded run of any program. */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "../trace/trace.h"
#include "commands.h"
#include "options.h"
#include "trace_cli.h"

enum { PRINTED_MAX = 50 };

/* ---- Findings -------------------------------------------------------------------------------- */

static json_t *text_or_null(const char *text)
{
  return text == NULL ? json_null() : json_string(text);
}

/* Which value differs, or null. */
static json_t *value_of(const zp_trace_differs *d)
{
  if (d->kind == NULL) return json_null();
  return json_pack("{s:s, s:o}", "kind", d->kind, "tensor", text_or_null(d->tensor));
}

static json_t *causes(const zp_trace_verdict *v)
{
  json_t *list = json_array();
  for (int32_t i = 0; i < v->causes; i++) {
    const zp_trace_cause *c = &v->cause[i];
    json_t *ranks = json_array();
    for (int32_t k = 0; k < c->n_ranks; k++)
      json_array_append_new(ranks, json_integer(c->ranks[k]));
    json_array_append_new(
        list,
        json_pack("{s:i, s:s, s:b, s:b, s:i, s:o, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:s}", "cause",
                  (int)c->cause, "kind", c->kind, "equally_likely", (int)c->equally_likely,
                  "likeliest", (int)c->likeliest, "rank", c->n_ranks > 0 ? (int)c->ranks[0] : -1,
                  "ranks", ranks, "step", (json_int_t)c->step, "record", (json_int_t)c->record,
                  "op", text_or_null(c->op), "group", text_or_null(c->group), "site",
                  text_or_null(c->site), "phase", text_or_null(c->phase), "value",
                  value_of(&c->value), "text", c->text));
  }
  return list;
}

static void print_json(const zp_trace_verdict *v, const zp_trace_attempt *of)
{
  json_t *list = json_array();
  for (int32_t i = 0; i < v->findings; i++) {
    const zp_trace_finding *f = &v->finding[i];
    json_t *ranks = json_array();
    for (int32_t k = 0; k < f->n_ranks; k++)
      json_array_append_new(ranks, json_integer(f->ranks[k]));
    if (f->n_ranks == 0 && f->rank >= 0) json_array_append_new(ranks, json_integer(f->rank));
    json_array_append_new(
        list, json_pack("{s:s, s:s, s:i, s:o, s:I, s:I, s:o, s:b, s:s}", "kind", f->kind, "level",
                        f->warning ? "warning" : "error", "rank", (int)f->rank, "ranks", ranks,
                        "step", (json_int_t)f->step, "record", (json_int_t)f->record, "value",
                        value_of(&f->value), "consequence", f->consequence == 1, "text", f->text));
  }
  json_t *all =
      json_pack("{s:s, s:b, s:i, s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "schema",
                "zeroproof/trace/1", "good", v->errors == 0, "attempt", (int)of->number, "ranks",
                (int)v->world, "records", (json_int_t)v->records, "not_judged",
                (json_int_t)v->unjudged, "mismatches", (json_int_t)v->mismatches, "cycles",
                (json_int_t)v->cycles, "asynchronous_cycles", (json_int_t)v->async_cycles, "values",
                (json_int_t)v->values, "cause", causes(v), "findings", list);
  json_dumpf(all, stdout, JSON_INDENT(1));
  putchar('\n');
  json_decref(all);
}

static int same_moment(const zp_trace_cause *a, const zp_trace_cause *b)
{
  return a->step == b->step && strcmp(a->phase ? a->phase : "", b->phase ? b->phase : "") == 0;
}

/* "step 3, backward: " */
static void print_moment(const zp_trace_cause *c)
{
  if (c->step >= 0) printf("step %" PRId64, c->step);
  if (c->phase != NULL) printf("%s%s", c->step >= 0 ? ", " : "", c->phase);
  if (c->step >= 0 || c->phase != NULL) printf(": ");
}

/* "step 3, backward: either ..., or ...": the causes of one number, from i on. Returns the next
 * one. */
static int32_t print_cause(const zp_trace_verdict *v, int32_t i)
{
  int32_t end = i + 1;
  while (end < v->causes && v->cause[end].cause == v->cause[i].cause) end++;
  if (i > 0) printf("also: ");
  for (int32_t k = i; k < end; k++) {
    const zp_trace_cause *c = &v->cause[k];
    if (k > i) printf(",\nor ");
    if (k == i || !same_moment(c, &v->cause[k - 1])) print_moment(c);
    if (k == i && end > i + 1) printf("either ");
    printf("%s", c->text);
  }
  if (end > i + 1 && v->cause[i].likeliest)
    printf(": the traces permit each of these; the first is the likeliest");
  else if (end > i + 1) printf(": the traces permit each of these, and do not show which it is");
  putchar('\n');
  return end;
}

static void print_findings(const zp_trace_verdict *v)
{
  int32_t listed = 0;
  for (int32_t i = 0; i < v->findings; i++) {
    const zp_trace_finding *f = &v->finding[i];
    if (f->consequence < 0 || listed++ >= PRINTED_MAX) continue;
    printf("%s%s\n", zp_trace_mark(f), f->text);
  }
  if (listed > PRINTED_MAX) printf("and %d more (--json lists all)\n", (int)listed - PRINTED_MAX);
}

/* Whether all errors only say what could not be read, so that the rest shows no contradiction. */
static int is_unread(const zp_trace_verdict *v)
{
  int32_t unread = 0, other = 0;
  for (int32_t i = 0; i < v->findings; i++) {
    const zp_trace_finding *f = &v->finding[i];
    if (f->warning || f->consequence == 1) continue;
    if (zp_trace_unread(f->kind) != NULL) unread++;
    else other++;
  }
  for (int32_t i = 0; i < v->causes; i++) other += zp_trace_unread(v->cause[i].kind) == NULL;
  return unread > 0 && other == 0;
}

/* What the verdict is about: without fingerprints, values may differ. */
static const char *verdict_of(const zp_trace_verdict *v)
{
  int32_t values = 0, unfinished = 0;
  for (int32_t i = 0; i < v->findings; i++) {
    values += !v->finding[i].warning && strcmp(v->finding[i].kind, "value") == 0;
    unfinished += !v->finding[i].warning && v->finding[i].unfinished;
  }
  if (v->errors == 0) return "consistent";
  if (unfinished == v->errors)
    return "inconsistent, unless the job still runs: then check it again later";
  return values == v->errors ? "inconsistent, values differ between ranks"
                             : "inconsistent, the traces do not match each other";
}

static void print_text(const zp_trace_verdict *v, const zp_trace_attempt *of)
{
  const int bad = v->errors > 0;
  for (int32_t i = 0; i < v->causes;) i = print_cause(v, i);
  printf("%" PRId64 " records of %d ranks: ", v->records, (int)v->world);
  if (is_unread(v))
    printf("cannot be judged%s: %s", v->records > 0 ? " completely" : "",
           zp_trace_unread(v->cause[0].kind));
  else printf("%s", verdict_of(v));
  if (v->values > 0) printf(" (order, shapes and %" PRId64 " values)", v->values);
  else if (!bad) printf(" (order and shapes only)");
  if (v->mismatches > 1) printf("; %" PRId64 " operations differ", v->mismatches);
  if (v->cycles > 1) printf("; %" PRId64 " cycles", v->cycles);
  if (of->several)
    printf("; attempt %d%s (--attempt N judges another one, 0 is the first)", (int)of->number,
           of->last ? ", the last one" : "");
  putchar('\n');
  print_findings(v);
  if (v->cut > 0)
    printf("(The cause was searched in the next %d items of each trace after the first error.)\n",
           (int)v->cut);
  if (v->findings > 0)
    printf(
        "(An operation is written as: name, reduction, elements, type. Records, and the operations "
        "of a group,\nare numbered from 0. A group has the name that the recorder gave it.)\n");
  if (!bad && v->values == 0 && v->values_on)
    printf("(Values were recorded, but none that another rank must have, too.)\n");
  else if (!bad && v->values == 0 && v->could_have_values)
    printf("(Recorded with values, too, runs are also compared by value: python -m zeroproof.trace "
           "--values N.)\n");
}

static int check(const zp_trace_attempt *of, int32_t format)
{
  zp_trace_verdict v;
  zp_error err = {0};
  int code;
  if (zp_trace_judge(of->dir, &v, &err) != 0) {
    fprintf(stderr, "zeroproof trace: %s\n", err.text);
    code = zp_exit_of(err.status);
  } else {
    if (format == ZP_TRACE_JSON) print_json(&v, of);
    else if (format == ZP_TRACE_GITHUB) zp_trace_print_github(&v, of);
    else if (format == ZP_TRACE_JUNIT) zp_trace_print_junit(&v, of);
    else print_text(&v, of);
    code = v.errors > 0 ? ZP_EXIT_VERDICT : ZP_EXIT_GOOD;
  }
  zp_trace_verdict_free(&v);
  return code;
}

static void print_drawn(const char *file, const zp_trace_drawn *drawn, int json)
{
  char runs[ZP_TRACE_RUNS];
  if (!json) {
    printf("wrote %s with %s %s of %d: open it at https://ui.perfetto.dev\n", file,
           drawn->n == 1 ? "rank" : "ranks", zp_trace_runs(drawn->rank, drawn->n, runs),
           (int)drawn->world);
    if (drawn->left_out >= 0)
      printf("rank %d, which the cause concerns, is not drawn: it has no trace, or --ranks leaves "
             "it out\n",
             (int)drawn->left_out);
    return;
  }
  json_t *root = json_pack("{s:s%}", "wrote", file, strlen(file)), *ranks = json_array();
  if (root == NULL) root = json_pack("{s:n}", "wrote"); /* the name is not UTF-8 */
  for (int32_t i = 0; i < drawn->n; i++) json_array_append_new(ranks, json_integer(drawn->rank[i]));
  json_object_set_new(root, "ranks", ranks);
  json_object_set_new(root, "world", json_integer(drawn->world));
  json_object_set_new(root, "left_out",
                      drawn->left_out < 0 ? json_null() : json_integer(drawn->left_out));
  json_dumpf(root, stdout, JSON_INDENT(1) | JSON_ENSURE_ASCII);
  putchar('\n');
  json_decref(root);
}

static int view(const char *dir, const char *file, int32_t first, int32_t last, int json)
{
  zp_trace_drawn drawn = {0};
  zp_error err = {0};
  const int status = zp_trace_view(dir, file, first, last, &drawn, &err);
  if (status == 0) print_drawn(file, &drawn, json);
  else fprintf(stderr, "zeroproof trace: %s\n", err.text);
  free(drawn.rank);
  return status == 0 ? ZP_EXIT_GOOD : zp_exit_of(err.status);
}

static int dump(const char *file, int json)
{
  zp_error err = {0};
  if (zp_trace_dump(file, stdout, json, &err) == 0) return ZP_EXIT_GOOD;
  fflush(stdout);
  fprintf(stderr, "zeroproof trace: %s\n", err.text);
  return zp_exit_of(err.status);
}

int zp_cmd_trace(int argc, char **argv, const zp_backend *engine)
{
  (void)engine;
  zp_trace_args a = {.last = -1, .attempt = -1, .watch = {.interval = 2, .stall = 300}};
  zp_trace_attempt of;
  zp_error err = {0};
  const int code = zp_trace_parse(argc, argv, &a);
  if (code) return code;
  if (a.what == ZP_TRACE_DUMP) return dump(a.name, a.format == ZP_TRACE_JSON);
  if (a.what == ZP_TRACE_WATCH) {
    a.watch.dir = a.name;
    a.watch.attempt = a.attempt;
    return zp_trace_watch(&a.watch);
  }
  if (zp_trace_find_attempt(a.name, a.attempt, &of, &err) != 0) {
    fprintf(stderr, "zeroproof trace: %s\n", err.text);
    return zp_exit_of(err.status);
  }
  if (a.what == ZP_TRACE_VIEW)
    return view(of.dir, a.out, a.first, a.last, a.format == ZP_TRACE_JSON);
  return check(&of, a.format);
}
