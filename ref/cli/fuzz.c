/* zeroproof fuzz: random cases on the simulator against serial, or on a twin against ref, bit for
 * bit. */
#define _GNU_SOURCE
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "fuzz_run.h"
#include "options.h"

enum { KEY_SECONDS = 0x3000, KEY_SEED, KEY_CASES, KEY_FAULT, KEY_JOBS, KEY_JSON, KEY_REPLAY };

/* Below this share of the cases an axis counts as not exercised; from this many cases on, it is
 * judged: with fewer, chance alone could do it. */
static const double LEAST_SHARE = 0.02;
enum { JUDGED_FROM = 2000 };

typedef struct fuzz_args {
  zp_fuzz_job job;
  zp_engine_args engine;
  const char *replay, *fault;
  int32_t json, limited;
} fuzz_args;

static const struct argp_option options[] = {
    {"seconds", KEY_SECONDS, "T", 0, "stop after so long (10)", 0},
    {"cases", KEY_CASES, "N", 0, "stop after so many cases", 0},
    {"seed", KEY_SEED, "N", 0, "another seed, other cases (1)", 0},
    {"jobs", KEY_JOBS, "N", 0, "processes (all cores)", 0},
    {"fault", KEY_FAULT, "NAME", 0, "plant this fault in every case (`sim --fault list`)", 0},
    {"replay", KEY_REPLAY, "CASE", 0, "run this one case, as printed for a failure", 0},
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
    return 0;
  case KEY_CASES:
    a->job.cases = number(state, "cases", arg, 1, INT64_MAX / 2);
    if (!a->limited) a->job.seconds = 0;
    return 0;
  case KEY_SEED: a->job.seed = (uint64_t)number(state, "seed", arg, 0, INT64_MAX); return 0;
  case KEY_JOBS: a->job.jobs = (int32_t)number(state, "jobs", arg, 1, ZP_FUZZ_JOBS); return 0;
  case KEY_FAULT: a->fault = arg; return 0;
  case KEY_REPLAY: a->replay = arg; return 0;
  case KEY_JSON: a->json = 1; return 0;
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
    "Half of the cases reduce exactly. What fails is shrunk and printed with the command that "
    "replays it. An axis that fewer than 2 % of the cases are on fails the run too. With --engine "
    "cuda each case is trained by ref once and by the CUDA twin in several orders of execution, "
    "and ledgers, norms, scales, masters, moments and parameters are compared bit for bit. Exit "
    "codes: 0 nothing found, 1 found, 2 refused input, 3 the environment failed.",
    children,
    NULL,
    NULL};

/* ---- Words ----------------------------------------------------------------------------------- */

static void print_clauses(const zp_verdict *v)
{
  for (int32_t i = 0; i < v->n_clauses; i++) printf("%s%s", i == 0 ? "" : ", ", v->clause[i]);
}

static void print_found(const fuzz_args *a, const zp_fuzz_outcome *out, const zp_case *c,
                        const zp_verdict *v, int64_t tried)
{
  char text[ZP_CASE_TEXT];
  zp_case_format(c, text, sizeof text);
  printf("case %llu of seed %llu %s", (unsigned long long)out->index,
         (unsigned long long)a->job.seed,
         out->end == ZP_FUZZ_CRASHED ? "crashed"
         : out->end == ZP_FUZZ_HUNG  ? "hung"
                                     : "failed");
  if (out->signal != 0) printf(" (signal %d)", out->signal);
  if (out->end == ZP_FUZZ_FAILED) {
    printf(": ");
    print_clauses(v);
    printf("\n%s", v->text);
  }
  printf("\nshrunk in %lld runs; replay with\n  zeroproof fuzz ", (long long)tried);
  if (a->job.schedules > 0) printf("--engine %s ", a->job.engine->name);
  if (a->engine.tsan) printf("--tsan ");
  if (a->engine.offload) printf("--offload ");
  /* who did not come to a verdict does not say in which order */
  if (a->job.schedules > 0 && out->end != ZP_FUZZ_FAILED)
    printf("--schedules %d ", (int)a->job.schedules);
  if (a->job.fault != NULL) printf("--fault %s ", a->job.fault->name);
  printf("--replay '%s'\n", text);
}

static int is_lack(const zp_engine *e, int32_t axis)
{
  for (int32_t k = 0; k < e->lacks; k++)
    if (strcmp(e->lack[k], zp_fuzz_axis_name(axis)) == 0) return 1;
  return 0;
}

static int is_thin(const fuzz_args *a, const zp_fuzz_sums *s, int32_t axis)
{
  return s->cases >= JUDGED_FROM && !is_lack(a->job.engine, axis) &&
         (double)s->on_axis[axis] < LEAST_SHARE * (double)s->cases;
}

static int32_t thin_axes(const fuzz_args *a, const zp_fuzz_sums *s)
{
  int32_t n = 0;
  for (int32_t i = 0; i < zp_fuzz_axes(); i++) n += is_thin(a, s, i);
  return n;
}

static void print_coverage(const fuzz_args *a, const zp_fuzz_sums *s)
{
  const zp_engine *e = a->job.engine;
  const double n = s->cases > 0 ? (double)s->cases : 1;
  printf("share of the cases:\n");
  for (int32_t i = 0; i < zp_fuzz_axes(); i++)
    printf("  %5.1f %% %-30s%s", 100 * (double)s->on_axis[i] / n, zp_fuzz_axis_name(i),
           is_thin(a, s, i) ? " TOO FEW\n"
           : i % 2 == 1     ? "\n"
                            : "");
  printf("\n");
  for (int32_t k = 0; k < e->lacks; k++)
    printf("%s%s (left out of %lld cases)%s", k == 0 ? "not supported by this engine yet: " : ", ",
           e->lack[k], (long long)s->lacking[k], k == e->lacks - 1 ? "\n" : "");
}

/* Distinct orders of execution, an hour on a core: of its time, whoever else uses the machine. */
static double orders_an_hour(const zp_fuzz_outcome *out)
{
  return out->cpu_ns > 0 ? (double)out->sums.distinct * 3600e9 / (double)out->cpu_ns : 0;
}

static void print_sums(const fuzz_args *a, const zp_fuzz_outcome *out)
{
  const zp_fuzz_sums *s = &out->sums;
  const double n = s->cases > 0 ? (double)s->cases : 1;
  printf("%lld cases, %lld steps in %.1f s: %.0f a second, %.0f per process (%d)\n",
         (long long)s->cases, (long long)s->steps, out->seconds, n / out->seconds,
         n / out->seconds / a->job.jobs, a->job.jobs);
  printf("on average %.1f ranks, %.0f elements, %.1f micro-batches; %.0f %% under exact\n",
         (double)s->ranks / n, (double)s->elements / n, (double)s->micro_batches / n,
         100 * (double)s->exact / n);
  if (s->orders > 0)
    printf("%lld orders, %lld of them distinct: %.2f million an hour per core; %lld with offload; "
           "what %lld ordered was compared with what the plan demands\n",
           (long long)s->orders, (long long)s->distinct, orders_an_hour(out) / 1e6,
           (long long)s->offloads, (long long)s->paths);
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
    json_object_set_new(axes, zp_fuzz_axis_name(i), json_real((double)s->on_axis[i] / n));
  json_object_set_new(root, "axes", axes);
  json_object_set_new(root, "thin_axes", json_integer(thin_axes(a, s)));
  json_object_set_new(root, "engine", json_string(a->job.engine->name));
  if (a->job.engine->schedules > 0) {
    json_object_set_new(root, "orders", json_integer(s->orders));
    json_object_set_new(root, "distinct_orders", json_integer(s->distinct));
    json_object_set_new(root, "orders_with_offload", json_integer(s->offloads));
    json_object_set_new(root, "compared_with_the_plan", json_integer(s->paths));
    json_object_set_new(root, "distinct_orders_per_core_hour", json_real(orders_an_hour(out)));
  }
  for (int32_t k = 0; k < a->job.engine->lacks; k++)
    json_object_set_new(lacks, a->job.engine->lack[k], json_integer(s->lacking[k]));
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
  zp_case c;
  zp_refusal refusal;
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
  if (zp_config_check(&c.cfg, &refusal) != 0) {
    zp_refusal_text(&refusal, NULL, why, sizeof why);
    fprintf(stderr, "zeroproof fuzz: --replay: %s\n", why);
    return ZP_EXIT_REFUSED;
  }
  if (zp_engine_can(a->job.engine, "zeroproof fuzz", &c) != 0) return ZP_EXIT_REFUSED;
  /* a failure's text names its order */
  c.schedules = a->engine.schedules > 0 || c.schedule == 0 ? a->job.schedules : 1;
  c.offload = a->engine.offload;
  c.trace = a->engine.trace;
  c.svg = a->engine.svg;
  a->job.engine->run(&c, a->job.fault, &v);
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
    print_clauses(&v);
    printf("\n%s\n", v.text);
  }
  if (!a->json) zp_verdict_drawn(&c, &v);
  return v.failed ? ZP_EXIT_VERDICT : ZP_EXIT_GOOD;
}

static int search(const fuzz_args *a)
{
  static zp_fuzz_outcome out;
  static zp_verdict v;
  const zp_engine *e = a->job.engine;
  int64_t tried = 0;
  zp_fuzz_run(&a->job, &out);
  if (out.end == ZP_FUZZ_BROKEN) {
    fprintf(stderr, "zeroproof fuzz: no memory, or a process could not be started\n");
    return ZP_EXIT_ENVIRONMENT;
  }
  if (out.end != ZP_FUZZ_CLEAN) {
    if (out.end == ZP_FUZZ_FAILED) {
      (void)zp_fuzz_one(e, &out.found, a->job.fault, 3 * e->patience_s, &v);
      if (v.schedule != 0) out.found.schedule = v.schedule;
    }
    tried = zp_fuzz_shrink(e, &out.found, a->job.fault, out.end, 1.5 * e->patience_s, &v);
  }
  if (a->json) {
    print_json(a, &out, out.end == ZP_FUZZ_CLEAN ? NULL : json_found(a, &out, &out.found, &v));
  } else {
    print_sums(a, &out);
    if (out.end != ZP_FUZZ_CLEAN) {
      print_found(a, &out, &out.found, &v, tried);
    } else {
      print_coverage(a, &out.sums);
      if (out.sums.cases < JUDGED_FROM)
        printf("(too few cases to judge coverage: it takes %d)\n", JUDGED_FROM);
      printf(thin_axes(a, &out.sums) > 0 ? "nothing found, but %d axes are hardly exercised\n"
                                         : "nothing found\n",
             thin_axes(a, &out.sums));
    }
  }
  return out.end != ZP_FUZZ_CLEAN || thin_axes(a, &out.sums) > 0 ? ZP_EXIT_VERDICT : ZP_EXIT_GOOD;
}

int zp_cmd_fuzz(int argc, char **argv, const zp_engine *engine)
{
  fuzz_args a;
  int code;
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  memset(&a, 0, sizeof a);
  a.job.seed = 1;
  a.job.seconds = 10;
  a.job.jobs = cores < 1 ? 1 : cores > ZP_FUZZ_JOBS ? ZP_FUZZ_JOBS : (int32_t)cores;
  if (zp_cli_parse(&argp, argc, argv, &a) != 0) return ZP_EXIT_REFUSED;
  code = zp_engine_choose(engine, &a.engine, argc, argv);
  if (code != 0) return code;
  if (a.replay == NULL && (a.engine.trace != NULL || a.engine.svg != NULL)) {
    fprintf(stderr, "zeroproof fuzz: --%s: draws one case; give it with --replay CASE.\n",
            a.engine.trace != NULL ? "trace" : "svg");
    return ZP_EXIT_REFUSED;
  }
  a.job.engine = engine;
  a.job.offload = a.engine.offload;
  a.job.schedules = a.engine.schedules > 0 ? a.engine.schedules : engine->schedules;
  if (a.fault != NULL) a.job.fault = zp_engine_fault(engine, "zeroproof fuzz", a.fault);
  if (a.fault != NULL && a.job.fault == NULL) return ZP_EXIT_REFUSED;
  a.job.progress = !a.json && isatty(STDERR_FILENO);
  return a.replay != NULL ? replay(&a) : search(&a);
}
