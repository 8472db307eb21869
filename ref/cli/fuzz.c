/* zeroproof fuzz: random cases on the simulator against serial, or on another engine against ref,
 * bit for bit. */
#define _GNU_SOURCE
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../verify/case_process.h"
#include "commands.h"
#include "options.h"

enum { COLUMNS = 2, AXIS_WIDTH = 48 }; /* of the table of shares */
enum {
  KEY_SECONDS = 0x3000,
  KEY_SEED,
  KEY_CASES,
  KEY_FAULT,
  KEY_JOBS,
  KEY_JSON,
  KEY_REPLAY,
  KEY_SHARES,
  KEY_COMM
};

typedef struct fuzz_args {
  zp_fuzz_job job;
  zp_engine_args engine;
  const char *replay, *fault;
  const char *searches; /* NULL, or an option that only a search has */
  int32_t json, limited, shares, processes;
} fuzz_args;

static const struct argp_option options[] = {
    {"seconds", KEY_SECONDS, "T", 0, "stop after so long (10)", 0},
    {"cases", KEY_CASES, "N", 0, "stop after so many cases", 0},
    {"seed", KEY_SEED, "N", 0, "another seed, other cases (1)", 0},
    {"jobs", KEY_JOBS, "N", 0, "processes (all cores)", 0},
    {"fault", KEY_FAULT, "NAME", 0, "inject this fault into every case (`sim --fault list`)", 0},
    {"replay", KEY_REPLAY, "CASE", 0, "run this one case, as printed for a failure", 0},
    {"shares", KEY_SHARES, NULL, 0, "print the share of the cases that has each property", 0},
    {"comm", KEY_COMM, "sim|mpi", 0,
     "mpi: each rank is a process of an Open MPI job (at most 6), which calls the public functions "
     "as with --engine api; sim: all ranks in one process (default)",
     0},
    {"json", KEY_JSON, NULL, 0, "print JSON for machines", 0},
    {0}};

static int64_t number(struct argp_state *state, const char *flag, const char *arg, int64_t lo,
                      int64_t hi)
{
  int64_t v;
  if (zp_parse_count(arg, &v) != 0 || v < lo || v > hi)
    argp_error(state, "--%s: '%s' is not a whole number from %lld to %lld.", flag, arg,
               (long long)lo, (long long)hi);
  return v;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
  fuzz_args *a = state->input;
  char *end;
  switch (key) {
  case ARGP_KEY_INIT: state->child_inputs[0] = &a->engine; return 0;
  case KEY_SECONDS:
    a->job.seconds = strtod(arg, &end);
    if (*end != 0 || end == arg || !(a->job.seconds > 0) || a->job.seconds > 1e7)
      argp_error(state, "--seconds: '%s' is not a number above 0, at most 1e7.", arg);
    a->limited = 1;
    a->searches = "--seconds";
    return 0;
  case KEY_CASES:
    a->job.cases = number(state, "cases", arg, 1, INT64_MAX / 2);
    if (!a->limited) a->job.seconds = 0;
    a->searches = "--cases";
    return 0;
  case KEY_SEED:
    a->job.seed = (uint64_t)number(state, "seed", arg, 0, INT64_MAX);
    a->searches = "--seed";
    return 0;
  case KEY_JOBS:
    a->job.jobs = (int32_t)number(state, "jobs", arg, 1, ZP_FUZZ_JOBS);
    a->searches = "--jobs";
    return 0;
  case KEY_FAULT: a->fault = arg; return 0;
  case KEY_REPLAY: a->replay = arg; return 0;
  case KEY_SHARES:
    a->shares = 1;
    a->searches = "--shares";
    return 0;
  case KEY_JSON: a->json = 1; return 0;
  case KEY_COMM:
    if (strcmp(arg, "sim") != 0 && strcmp(arg, "mpi") != 0)
      argp_error(state, "--comm: '%s' is not one of: sim mpi.", arg);
    a->processes = strcmp(arg, "mpi") == 0;
    return 0;
  case ARGP_KEY_ARG: return ARGP_ERR_UNKNOWN;
  default: return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_child children[] = {{&zp_engine_child, 0, NULL, 0}, {0}};
static const struct argp argp = {
    options,
    parse,
    NULL,
    "Random topologies, parameter lists, precisions, stages, buckets and micro-batches: each is "
    "planned, simulated, and compared with serial training bit for bit.\v"
    "Half of the cases reduce exactly. A failing case is shrunk and printed with the command that "
    "replays it. A run of 2000 cases or more also fails if a property occurs in fewer than 2 % of "
    "them, an option of the engine in fewer than 5 % (not with --engine api or api-cuda, which "
    "draw cases for what they support). With --engine cuda each case is trained by ref once and by "
    "the CUDA engine in several execution orders, and ledgers, norms, scales, masters, moments and "
    "parameters are compared bit for bit. With "
    "--engine api each rank is a thread that calls the public functions of engine.h (at most 4 "
    "ranks, data parallel): gradients in random order, saves and loads, wrong calls whose errors "
    "are checked, lists in which nothing is trained. With --engine api-cuda each of at most 6 "
    "ranks calls them on the CUDA engine, with gradients from several streams of a simulated "
    "device; --fault drop-sync:NAME leaves out a wait or record of the engine. Exit "
    "codes: 0 nothing found, 1 found, 2 refused input, 3 the environment failed.",
    children,
    NULL,
    NULL};

/* ---- Words ----------------------------------------------------------------------------------- */

/* The smallest case that fails, and how to repeat it. */
static void print_found(const fuzz_args *a, const zp_fuzz_outcome *out, const zp_case *c,
                        const zp_verdict *v, int64_t tried)
{
  char text[ZP_CASE_TEXT];
  zp_case_format(c, text, sizeof text);
  if (out->end == ZP_FUZZ_FAILED) printf("%s\n", v->text);
  printf("shrunk in %lld run%s; the smallest case that fails:\nrepeat: zeroproof fuzz ",
         (long long)tried, tried == 1 ? "" : "s");
  if (a->job.engine->repeat != NULL) printf("%s ", a->job.engine->repeat);
  if (a->engine.tsan) printf("--tsan ");
  if (a->engine.offload) printf("--offload ");
  /* who did not come to a verdict does not say in which order */
  if (a->job.schedules > 0 && out->end != ZP_FUZZ_FAILED)
    printf("--schedules %d ", (int)a->job.schedules);
  if (a->job.fault != NULL) printf("--fault %s ", a->job.fault->name);
  printf("--replay '%s'\n", text);
}

/* The last line of a run that found a failing case. */
static void print_failed(const fuzz_args *a, const zp_fuzz_outcome *out, const zp_verdict *v)
{
  printf("case %llu of seed %llu %s", (unsigned long long)out->index,
         (unsigned long long)a->job.seed,
         out->end == ZP_FUZZ_CRASHED ? "crashed"
         : out->end == ZP_FUZZ_HUNG  ? "hung"
                                     : "failed");
  if (out->signal != 0) printf(" (signal %d)", out->signal);
  if (out->end == ZP_FUZZ_FAILED) {
    printf(": ");
    zp_print_clauses(v);
  }
  printf("\n");
}

static void print_shares(const fuzz_args *a, const zp_fuzz_sums *s)
{
  const double n = s->cases > 0 ? (double)s->cases : 1;
  int32_t column = 0, used = 0;
  printf(
      "share of the cases that have each property (a case can have several of a group, or none):");
  for (int32_t i = 0; i < zp_fuzz_axes(); i++) {
    const char *heading = zp_fuzz_axis_heading(i);
    if (!zp_fuzz_is_counted(&a->job, i)) continue;
    if (heading != NULL) printf("\n  %s", heading);
    column = heading != NULL || column == COLUMNS ? 1 : column + 1;
    if (column == 1) printf("\n    ");
    else printf("%*s", used < AXIS_WIDTH ? AXIS_WIDTH - used : 1, "");
    used = printf("%5.1f %% %s%s", 100 * (double)s->on_axis[i] / n,
                  zp_fuzz_is_thin(&a->job, s, i) ? "TOO FEW: " : "", zp_fuzz_axis_title(i));
  }
  printf("\n");
  if (s->cases < ZP_FUZZ_COVERAGE_CASES && !a->job.engine->own_cases)
    printf("(in a run of %d cases or more, a share below 2 %%, of options 5 %%, is a failure; this "
           "run is shorter)\n",
           ZP_FUZZ_COVERAGE_CASES);
}

static void print_unsupported(const zp_backend *e, const zp_fuzz_sums *s)
{
  for (int32_t k = 0; k < e->unsupported_count; k++)
    printf("not supported by this engine yet: %s; %lld case%s changed to avoid this\n",
           e->unsupported[k], (long long)s->lacking[k], s->lacking[k] == 1 ? " was" : "s were");
}

/* Distinct execution orders, per hour of a core's own time, whatever else the machine runs. */
static double orders_an_hour(const zp_fuzz_outcome *out)
{
  return out->cpu_ns > 0 ? (double)out->sums.distinct * 3600e9 / (double)out->cpu_ns : 0;
}

static void print_sums(const fuzz_args *a, const zp_fuzz_outcome *out)
{
  const zp_fuzz_sums *s = &out->sums;
  const double n = s->cases > 0 ? (double)s->cases : 1;
  const int32_t jobs = a->job.jobs;
  printf("%.1f s, %.1f cases a second in %d process%s; mean per case: %.1f ranks, %.0f elements, "
         "%.1f micro-batches\n",
         out->seconds, n / out->seconds, (int)jobs, jobs == 1 ? "" : "es", (double)s->ranks / n,
         (double)s->elements / n, (double)s->micro_batches / n);
  if (s->orders == 0) return;
  zp_print_orders(s->orders, s->distinct, s->offloads, s->partials, s->paths);
  printf("  processor time: %.1f s; distinct orders per hour of it: %.2f million\n",
         (double)out->cpu_ns / 1e9, orders_an_hour(out) / 1e6);
}

/* The last line of a run that found no failing case. */
static void print_passed(const fuzz_args *a, const zp_fuzz_sums *s)
{
  const int32_t thin = zp_fuzz_thin_axes(&a->job, s);
  for (int32_t i = 0; i < zp_fuzz_axes(); i++)
    if (zp_fuzz_is_thin(&a->job, s, i))
      printf("TOO FEW cases, %.1f %%: %s\n", 100 * (double)s->on_axis[i] / (double)s->cases,
             zp_fuzz_axis_title(i));
  printf("%s: nothing found in %lld case%s (%lld step%s)", thin > 0 ? "failed" : "passed",
         (long long)s->cases, s->cases == 1 ? "" : "s", (long long)s->steps,
         s->steps == 1 ? "" : "s");
  if (thin > 0)
    printf(", but %d %s in too few of them\n", (int)thin,
           thin == 1 ? "property occurs" : "properties occur");
  else printf("; in each case: %s\n", a->job.engine->clean);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *json_found(const fuzz_args *a, const zp_fuzz_outcome *out, const zp_case *c,
                          const zp_verdict *v)
{
  static const char *const ends[] = {"clean", "failed", "crashed", "hung", "broken"};
  char text[ZP_CASE_TEXT];
  json_t *found = json_object(), *clauses = json_array();
  zp_case_format(c, text, sizeof text);
  json_object_set_new(found, "end", json_string(ends[out->end]));
  json_object_set_new(found, "case", json_integer((json_int_t)out->index));
  json_object_set_new(found, "replay", json_string(text));
  if (a->job.fault != NULL) json_object_set_new(found, "fault", json_string(a->job.fault->name));
  for (int32_t i = 0; out->end == ZP_FUZZ_FAILED && i < v->n_clauses; i++)
    json_array_append_new(clauses, json_string(v->clause[i]));
  json_object_set_new(found, "clauses", clauses);
  if (out->end == ZP_FUZZ_FAILED) json_object_set_new(found, "report", json_string(v->text));
  return found;
}

static void print_json(const fuzz_args *a, const zp_fuzz_outcome *out, json_t *found)
{
  const zp_fuzz_sums *s = &out->sums;
  const double n = s->cases > 0 ? (double)s->cases : 1;
  json_t *root = json_object(), *axes = json_object(), *lacks = json_object();
  json_object_set_new(root, "seed", json_integer((json_int_t)a->job.seed));
  json_object_set_new(root, "cases", json_integer(s->cases));
  json_object_set_new(root, "seconds", json_real(out->seconds));
  json_object_set_new(root, "jobs", json_integer(a->job.jobs));
  json_object_set_new(root, "cases_per_second", json_real(n / out->seconds));
  json_object_set_new(root, "ranks_mean", json_real((double)s->ranks / n));
  json_object_set_new(root, "elements_mean", json_real((double)s->elements / n));
  json_object_set_new(root, "micro_batches_mean", json_real((double)s->micro_batches / n));
  json_object_set_new(root, "exact_share", json_real((double)s->exact / n));
  for (int32_t i = 0; i < zp_fuzz_axes(); i++)
    if (zp_fuzz_is_counted(&a->job, i))
      json_object_set_new(axes, zp_fuzz_axis_name(i), json_real((double)s->on_axis[i] / n));
  json_object_set_new(root, "axes", axes);
  json_object_set_new(root, "thin_axes", json_integer(zp_fuzz_thin_axes(&a->job, s)));
  json_object_set_new(root, "engine", json_string(a->job.engine->name));
  if (a->job.engine->schedules > 0) {
    json_object_set_new(root, "orders", json_integer(s->orders));
    json_object_set_new(root, "distinct_orders", json_integer(s->distinct));
    json_object_set_new(root, "orders_with_offload", json_integer(s->offloads));
    json_object_set_new(root, "orders_with_partial_gather", json_integer(s->partials));
    json_object_set_new(root, "compared_with_the_plan", json_integer(s->paths));
    json_object_set_new(root, "distinct_orders_per_core_hour", json_real(orders_an_hour(out)));
  }
  for (int32_t k = 0; k < a->job.engine->unsupported_count; k++)
    json_object_set_new(lacks, a->job.engine->unsupported[k], json_integer(s->lacking[k]));
  json_object_set_new(root, "not_supported_yet", lacks);
  json_object_set_new(root, "found", found != NULL ? found : json_null());
  json_dumpf(root, stdout, JSON_INDENT(2));
  printf("\n");
  json_decref(root);
}

/* ---- Commands -------------------------------------------------------------------------------- */

static int replay(const fuzz_args *a)
{
  static zp_verdict v;
  zp_options o;
  zp_case c;
  zp_error err = {0};
  zp_fuzz_outcome out;
  char why[512];
  zp_case_init(&c);
  if (zp_case_parse(&c, a->replay, why, sizeof why) != 0) {
    fprintf(stderr, "zeroproof fuzz: --replay: %s.\n", why);
    return ZP_EXIT_REFUSED;
  }
  if (a->replay[0] == 0 || c.steps < 1) {
    fprintf(stderr, "zeroproof fuzz: --replay: nothing would be compared; give a case as fuzz "
                    "prints it, with 1 to 32 steps.\n");
    return ZP_EXIT_REFUSED;
  }
  if (zp_case_check(&c, &err) != 0) {
    fprintf(stderr, "zeroproof fuzz: --replay: %s\n", err.text);
    return ZP_EXIT_REFUSED;
  }
  if (zp_engine_supports(a->job.engine, "zeroproof fuzz", &c) != 0) return ZP_EXIT_REFUSED;
  zp_options_init(&o, "zeroproof fuzz");
  o.hyper.replicas = c.replicas;
  o.hyper.fp32_gradients = c.synth.fp32_gradients;
  o.hyper.entry_align = c.entry_align;
  o.hyper.slots = c.slots;
  const int code = zp_plan_fits(&o, &c.cfg, 0, 40); /* as sim does */
  zp_options_free(&o);
  if (code != ZP_EXIT_GOOD) return code;
  /* a failure's text names its order */
  c.schedules = a->engine.schedules > 0 || c.schedule == 0 ? a->job.schedules : 1;
  c.offload = a->engine.offload;
  c.trace = a->engine.trace;
  c.svg = a->engine.svg;
  a->job.engine->run_case(&c, a->job.fault, &v);
  memset(&out, 0, sizeof out);
  out.end = v.failed ? ZP_FUZZ_FAILED : ZP_FUZZ_CLEAN;
  out.seconds = 1;
  if (v.no_memory) {
    fprintf(stderr, "zeroproof fuzz: %s\n", v.text);
    return ZP_EXIT_ENVIRONMENT;
  }
  if (a->json) print_json(a, &out, v.failed ? json_found(a, &out, &c, &v) : NULL);
  else if (!v.failed)
    printf("clean: %d step%s, %s\n", v.steps, v.steps == 1 ? "" : "s", a->job.engine->clean);
  else {
    printf("failed: ");
    zp_print_clauses(&v);
    printf("\n%s\n", v.text);
  }
  if (!a->json) zp_print_timeline(&c, &v);
  return zp_verdict_code("zeroproof fuzz", &v);
}

static int search(const fuzz_args *a)
{
  static zp_fuzz_outcome out;
  static zp_verdict v;
  const zp_backend *e = a->job.engine;
  int64_t tried = 0;
  zp_fuzz_run(&a->job, &out);
  if (out.end == ZP_FUZZ_BROKEN) {
    fprintf(stderr, "zeroproof fuzz: no memory, or a process could not be started\n");
    return ZP_EXIT_ENVIRONMENT;
  }
  if (out.end != ZP_FUZZ_CLEAN) {
    if (out.end == ZP_FUZZ_FAILED) {
      (void)zp_fuzz_one(e, &out.found, a->job.fault, 3 * e->case_timeout_s, &v);
      if (v.schedule != 0) out.found.schedule = v.schedule;
    }
    tried = zp_fuzz_shrink(e, &out.found, a->job.fault, out.end, 1.5 * e->case_timeout_s, &v);
  }
  if (a->json) {
    print_json(a, &out, out.end == ZP_FUZZ_CLEAN ? NULL : json_found(a, &out, &out.found, &v));
  } else {
    if (out.end != ZP_FUZZ_CLEAN) print_found(a, &out, &out.found, &v, tried);
    if (a->shares) print_shares(a, &out.sums);
    print_sums(a, &out);
    if (out.end == ZP_FUZZ_CLEAN && !e->own_cases) print_unsupported(e, &out.sums);
    if (out.end == ZP_FUZZ_CLEAN) print_passed(a, &out.sums);
    else print_failed(a, &out, &v);
  }
  return out.end != ZP_FUZZ_CLEAN || zp_fuzz_thin_axes(&a->job, &out.sums) > 0 ? ZP_EXIT_VERDICT
                                                                               : ZP_EXIT_GOOD;
}

int zp_cmd_fuzz(int argc, char **argv, const zp_backend *engine)
{
  fuzz_args a;
  int code;
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  memset(&a, 0, sizeof a);
  a.job.seed = 1;
  a.job.seconds = 10;
  a.job.jobs = cores < 1 ? 1 : cores > ZP_FUZZ_JOBS ? ZP_FUZZ_JOBS : (int32_t)cores;
  if (zp_cli_parse(&argp, argc, argv, &a) != 0) return ZP_EXIT_REFUSED;
  if (a.processes && a.engine.name != NULL && strcmp(a.engine.name, "api") != 0)
    return zp_cli_refuse("zeroproof fuzz", "--comm mpi is for --engine api, not for %s.",
                         a.engine.name);
  if (a.processes) a.engine.name = "api";
  code = zp_engine_choose(engine, &a.engine, argc, argv);
  if (code != 0) return code;
  if (a.processes) engine = engine->processes;
  if (a.replay == NULL && (a.engine.trace != NULL || a.engine.svg != NULL)) {
    fprintf(stderr, "zeroproof fuzz: --%s: draws one case; give it with --replay CASE.\n",
            a.engine.trace != NULL ? "trace" : "svg");
    return ZP_EXIT_REFUSED;
  }
  if (a.replay != NULL && a.searches != NULL)
    return zp_cli_refuse("zeroproof fuzz", "%s has no effect with --replay, which runs one case.",
                         a.searches);
  a.job.engine = engine;
  a.job.offload = a.engine.offload;
  a.job.schedules = a.engine.schedules > 0 ? a.engine.schedules : engine->schedules;
  if (a.fault != NULL) a.job.fault = zp_engine_fault(engine, "zeroproof fuzz", a.fault, 0);
  if (a.fault != NULL && a.job.fault == NULL) return ZP_EXIT_REFUSED;
  a.job.progress = !a.json && isatty(STDERR_FILENO);
  return a.replay != NULL ? replay(&a) : search(&a);
}
