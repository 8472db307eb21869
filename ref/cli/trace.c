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
enum { KEY_OUT = 'o', KEY_RANKS = 'r', KEY_JSON = 'j', KEY_ATTEMPT = 'a', KEY_FORMAT = 'f' };
enum { KEY_INTERVAL = 'i', KEY_STALL = 's', KEY_COMMAND = 'c', KEY_ONCE = '1' };
enum { FORMAT_TEXT, FORMAT_JSON, FORMAT_GITHUB, FORMAT_JUNIT, FORMATS };
static const char *const formats[FORMATS] = {"text", "json", "github", "junit"};

typedef struct args {
  const char *what, *dir, *out;
  int32_t first, last, format, attempt; /* attempt -1: the last one */
  zp_watch_options watch;
} args;

static const struct argp_option choices[] = {
    {"out", KEY_OUT, "FILE", 0, "view: where to write", 0},
    {"ranks", KEY_RANKS, "A[-B]", 0, "view: these ranks (the first 64)", 0},
    {"json", KEY_JSON, NULL, 0, "check: findings as JSON; view: the file; dump: the records", 0},
    {"format", KEY_FORMAT, "NAME", 0,
     "check: text, json, github (annotations of a workflow) or junit (XML)", 0},
    {"interval", KEY_INTERVAL, "SECONDS", 0, "watch: time between two looks (2)", 0},
    {"stall", KEY_STALL, "SECONDS", 0, "watch: alarm if no trace grows for this time (300)", 0},
    {"command", KEY_COMMAND, "COMMAND", 0,
     "watch: run this by sh at an alarm, with the sentence in ZEROPROOF_ALARM", 0},
    {"once", KEY_ONCE, NULL, 0, "watch: look once", 0},
    {"attempt", KEY_ATTEMPT, "N", 0, "the attempt in DIR/attempt-N, 0: DIR itself (the last one)",
     0},
    {0}};

static double seconds(struct argp_state *state, const char *option, const char *text)
{
  double value = 0;
  int end = 0;
  if (sscanf(text, "%15lf%n", &value, &end) != 1 || text[end] != 0 || !(value >= 0.01) ||
      !(value <= 1e8))
    argp_error(state, "--%s %s: expected seconds, from 0.01 to 1e8.", option, text);
  return value;
}

static int format_of(struct argp_state *state, const char *text)
{
  for (int i = 0; i < FORMATS; i++)
    if (strcmp(text, formats[i]) == 0) return i;
  argp_error(state, "--format %s: expected text, json, github or junit.", text);
  return 0;
}

static int is_known(const char *what)
{
  static const char *const known[] = {"check", "view", "dump", "watch"};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strcmp(what, known[i]) == 0) return 1;
  return 0;
}

static error_t take(int key, char *arg, struct argp_state *state)
{
  args *a = state->input;
  int end = 0;
  switch (key) {
  case KEY_OUT: a->out = arg; return 0;
  case KEY_JSON: a->format = FORMAT_JSON; return 0;
  case KEY_FORMAT: a->format = format_of(state, arg); return 0;
  case KEY_INTERVAL: a->watch.interval = seconds(state, "interval", arg); return 0;
  case KEY_STALL: a->watch.stall = seconds(state, "stall", arg); return 0;
  case KEY_COMMAND: a->watch.command = arg; return 0;
  case KEY_ONCE: a->watch.once = 1; return 0;
  case KEY_ATTEMPT:
    if (sscanf(arg, "%6d%n", &a->attempt, &end) != 1 || arg[end] != 0 || a->attempt < 0)
      argp_error(state, "--attempt %s: expected a number from 0 to 999999.", arg);
    return 0;
  case KEY_RANKS:
    if (sscanf(arg, "%6d%n-%6d%n", &a->first, &end, &a->last, &end) == 1) a->last = a->first;
    if (end == 0 || arg[end] != 0 || a->first < 0 || a->last < a->first)
      argp_error(state, "--ranks %s: a rank, or two with a dash between them: 0-63.", arg);
    return 0;
  case ARGP_KEY_ARG:
    if (state->arg_num == 0) a->what = arg;
    else if (state->arg_num == 1) a->dir = arg;
    else argp_error(state, "one folder or file at a time: what is %s?", arg);
    return 0;
  case ARGP_KEY_END:
    if (a->dir == NULL || !is_known(a->what))
      argp_error(state, "say what to do with what: check DIR, view DIR --out FILE, dump FILE, or "
                        "watch DIR.");
    if (strcmp(a->what, "view") == 0 && a->out == NULL) argp_error(state, "view needs --out FILE.");
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

/* ---- Findings -------------------------------------------------------------------------------- */

static json_t *text_or_null(const char *text)
{
  return text == NULL ? json_null() : json_string(text);
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
        list, json_pack("{s:i, s:s, s:b, s:i, s:o, s:I, s:I, s:o, s:o, s:o, s:o, s:s}", "cause",
                        (int)c->cause, "kind", c->kind, "equally_likely", (int)c->equally_likely,
                        "rank", c->n_ranks > 0 ? (int)c->ranks[0] : -1, "ranks", ranks, "step",
                        (json_int_t)c->step, "record", (json_int_t)c->record, "op",
                        text_or_null(c->op), "group", text_or_null(c->group), "site",
                        text_or_null(c->site), "phase", text_or_null(c->phase), "text", c->text));
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
    json_array_append_new(list,
                          json_pack("{s:s, s:s, s:i, s:o, s:I, s:b, s:s}", "kind", f->kind, "level",
                                    f->warning ? "warning" : "error", "rank", (int)f->rank, "ranks",
                                    ranks, "record", (json_int_t)f->record, "consequence",
                                    f->consequence == 1, "text", f->text));
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
  printf("%s\n",
         end > i + 1 ? ": the traces permit each of these; the first is the likeliest" : "");
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

/* What the verdict is about: without fingerprints, values may differ. */
static const char *verdict_of(const zp_trace_verdict *v)
{
  int32_t values = 0;
  for (int32_t i = 0; i < v->findings; i++)
    values += !v->finding[i].warning && strcmp(v->finding[i].kind, "value") == 0;
  if (v->errors == 0) return "consistent";
  return values == v->errors ? "inconsistent, values differ between ranks"
                             : "inconsistent, the traces do not match each other";
}

static void print_text(const zp_trace_verdict *v, const zp_trace_attempt *of)
{
  const int bad = v->errors > 0;
  for (int32_t i = 0; i < v->causes;) i = print_cause(v, i);
  printf("%" PRId64 " records of %d ranks: %s", v->records, (int)v->world, verdict_of(v));
  if (v->values > 0) printf(" (order, shapes and %" PRId64 " values)", v->values);
  else if (!bad) printf(" (order and shapes only)");
  if (v->mismatches > 1) printf("; %" PRId64 " operations differ", v->mismatches);
  if (v->cycles > 1) printf("; %" PRId64 " cycles", v->cycles);
  putchar('\n');
  print_findings(v);
  if (v->cut > 0)
    printf("(The cause was searched in the next %d items of each trace after the first error.)\n",
           (int)v->cut);
  if (v->findings > 0)
    printf(
        "(An operation is written as: name, reduction, elements, type. Records, and the operations "
        "of a group,\nare numbered from 0. A group has the name that the recorder gave it.)\n");
  if (of->several)
    printf("(This is attempt %d%s; --attempt N judges another one, 0 is the first.)\n",
           (int)of->number, of->last ? ", the last one" : "");
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
    if (format == FORMAT_JSON) print_json(&v, of);
    else if (format == FORMAT_GITHUB) zp_trace_print_github(&v, of);
    else if (format == FORMAT_JUNIT) zp_trace_print_junit(&v, of);
    else print_text(&v, of);
    code = v.errors > 0 ? ZP_EXIT_VERDICT : ZP_EXIT_GOOD;
  }
  zp_trace_verdict_free(&v);
  return code;
}

static int view(const char *dir, const char *file, int32_t first, int32_t last, int32_t json)
{
  zp_error err = {0};
  json_t *root;
  if (zp_trace_view(dir, file, first, last, &err) != 0) {
    fprintf(stderr, "zeroproof trace: %s\n", err.text);
    return zp_exit_of(err.status);
  }
  if (!json) {
    printf("wrote %s: open it at https://ui.perfetto.dev\n", file);
    return ZP_EXIT_GOOD;
  }
  root = json_pack("{s:s%}", "wrote", file, strlen(file));
  if (root == NULL) root = json_pack("{s:n}", "wrote"); /* the name is not UTF-8 */
  json_dumpf(root, stdout, JSON_INDENT(1) | JSON_ENSURE_ASCII);
  putchar('\n');
  json_decref(root);
  return ZP_EXIT_GOOD;
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
  static const struct argp argp = {
      choices,
      take,
      "check DIR\nview DIR --out FILE\ndump FILE\nwatch DIR",
      "Judges a recorded run: do all members of a group enter the same operations in the same "
      "order?\v"
      "DIR has a file rank-N.zpt for each rank, as the recorders write (conformance/TRACE.md), and "
      "the traces of attempt N in attempt-N; or, for check, a Flight Recorder dump of PyTorch for "
      "each rank, as pickle or JSON. "
      "check exits with 0 if the traces are consistent, or 1 if not. It names the first rank that "
      "differs, is missing, or lags behind. watch follows the traces of a running job; it exits "
      "with 0 when all ranks have completed, or with 1 after an alarm, when a rank failed or no "
      "trace grows. dump writes one trace or dump as text.",
      NULL,
      NULL,
      NULL};
  args a = {.last = 63, .attempt = -1, .watch = {.interval = 2, .stall = 300}};
  const int code = zp_cli_parse(&argp, argc, argv, &a);
  zp_trace_attempt of;
  zp_error err = {0};
  if (code) return code;
  if (strcmp(a.what, "dump") == 0) return dump(a.dir, a.format == FORMAT_JSON);
  if (strcmp(a.what, "watch") == 0) {
    a.watch.dir = a.dir;
    a.watch.attempt = a.attempt;
    return zp_trace_watch(&a.watch);
  }
  if (zp_trace_find_attempt(a.dir, a.attempt, &of, &err) != 0) {
    fprintf(stderr, "zeroproof trace: %s\n", err.text);
    return zp_exit_of(err.status);
  }
  if (strcmp(a.what, "view") == 0)
    return view(of.dir, a.out, a.first, a.last, a.format == FORMAT_JSON);
  return check(&of, a.format);
}
