/* zeroproof sim: given gradients under a configuration, compared with serial; injected faults. */
#define _GNU_SOURCE
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/clock.h"
#include "../verify/ref_fault.h"
#include "commands.h"
#include "options.h"
#include "sim_setup.h"

enum { KEY_FAULT = 0x4000, KEY_MODE, KEY_UNUSED, KEY_VARY, KEY_TUPLE, KEY_CASE };

static const struct argp_option options[] = {
    {"fault", KEY_FAULT, "NAME", 0, "inject a historic bug; `list` names them", 0},
    {"gradients", KEY_MODE, "coded|dyadic|wild", 0,
     "coded: every contribution can be named (default); dyadic: exact; wild: any bits", 0},
    {"unused", KEY_UNUSED, "PERCENT", 0, "declared unused, of (entry, micro-batch), 0 to 99", 0},
    {"vary", KEY_VARY, NULL, 0, "activations' shapes vary by micro-batch", 0},
    {"tuple", KEY_TUPLE, NULL, 0, "activations are (int32, float) tuples", 0},
    {"case", KEY_CASE, "CASE", 0, "start from a case as fuzz prints it", 0},
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
  zp_sim_args *a = state->input;
  int64_t v;
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = &a->o;
    state->child_inputs[1] = &a->o;
    state->child_inputs[2] = &a->chosen;
    return 0;
  case KEY_FAULT:
    a->list = strcmp(arg, "list") == 0;
    a->fault_name = arg;
    return 0;
  case KEY_MODE:
    a->mode = strcmp(arg, "coded") == 0    ? ZP_SYNTH_CODED
              : strcmp(arg, "dyadic") == 0 ? ZP_SYNTH_DYADIC
              : strcmp(arg, "wild") == 0   ? ZP_SYNTH_WILD
                                           : -1;
    if (a->mode < 0) argp_error(state, "--gradients: '%s' is not one of: coded dyadic wild.", arg);
    return 0;
  case KEY_UNUSED:
    if (zp_parse_count(arg, &v) != 0 || v > 99)
      argp_error(state, "--unused: '%s' is not a whole number from 0 to 99.", arg);
    a->unused = (int32_t)(v * 256 / 100);
    return 0;
  case KEY_VARY: a->vary = 1; return 0;
  case KEY_TUPLE: a->tuple = 1; return 0;
  case KEY_CASE: a->text = arg; return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_child children[] = {{&zp_options_child, 0, NULL, 0},
                                             {&zp_hyper_child, 0, NULL, 0},
                                             {&zp_engine_child, 0, NULL, 0},
                                             {0}};
static const struct argp argp = {
    options,
    parse,
    NULL,
    "Runs steps with gradients given by formula on simulated ranks, and serially; compares losses, "
    "norms, scales, reduced gradients, masters, moments and parameters bit for bit.\v"
    "Without a topology: pp 2, dp 2; without --steps: 3. "
    "--fault NAME injects one historic bug of another implementation after planning and says which "
    "clause of spec/ fails; with coded gradients also which contribution (rank, micro-batch, "
    "parameter, element) is missing or doubled. Each fault starts from a configuration that shows "
    "it; options change that. Exit codes: 0 clean, 1 a fault or a violation was detected, 2 "
    "refused "
    "input, 3 the environment failed.",
    children,
    NULL,
    NULL};

/* ---- Words ----------------------------------------------------------------------------------- */

static void print_list(const zp_backend *e)
{
  int width = 0;
  for (int32_t i = 0; i < e->fault_count(); i++) {
    const int n = (int)strlen(e->fault_at(i)->name);
    if (n > width) width = n;
  }
  printf("%-*s %-8s %s\n", width, "fault", "breaks", "what it does, and where it happened");
  for (int32_t i = 0; i < e->fault_count(); i++) {
    const zp_fault *f = e->fault_at(i);
    printf("%-*s %-8s %s\n%-*s %s\n", width, f->name, f->clause, f->what, width + 9, "", f->source);
  }
}

/* The command that repeats the case. */
static void print_repeat(const zp_sim_args *a, const zp_case *c)
{
  char text[ZP_CASE_TEXT];
  zp_case_format(c, text, sizeof text);
  printf("repeat: zeroproof sim ");
  if (a->engine->schedules > 0) printf("--engine %s ", a->engine->name);
  if (a->chosen.tsan) printf("--tsan ");
  if (a->chosen.offload) printf("--offload ");
  if (a->chosen.schedules > 0) printf("--schedules %d ", (int)a->chosen.schedules);
  if (a->fault != NULL) printf("--fault %s ", a->fault->name);
  printf("--case '%s'\n", text);
  if (c->synth.mask != NULL || c->hyper != NULL)
    printf("  (not in the case: the configuration's %s%s%s; give them as before)\n",
           c->hyper != NULL ? "optimizer options" : "",
           c->synth.mask != NULL && c->hyper != NULL ? " and " : "",
           c->synth.mask != NULL ? "lists of unused parameters" : "");
}

static void print_head(const zp_sim_args *a, const zp_case *c)
{
  const zp_config *cfg = &c->cfg;
  const zp_fault *fault = a->fault;
  char text[32];
  if (fault != NULL) {
    printf("fault: %s, injected on purpose: %s\n  seen in%s: %s; breaks clause ", fault->name,
           fault->what, strchr(fault->source, '#') != NULL ? " (#: issue or pull request)" : "",
           fault->source);
    zp_print_clause(fault->clause);
    printf(" of spec/\n");
  }
  printf("%d ranks: pp %d, dp %d, tp %d, ep %d%s; ZeRO stage %d, %s%s, %s reduction (%s)\n",
         cfg->pp * cfg->dp * cfg->tp, cfg->pp, cfg->dp, cfg->tp, cfg->ep,
         zp_replicas_text(c->replicas, text), cfg->stage, zp_precision_name(cfg->precision),
         c->synth.fp32_gradients ? " with fp32 gradients" : "", zp_reduce_name(cfg->reduce),
         zp_reduce_text(cfg->reduce));
  printf("  %lld micro-batch%s per rank, buckets of %lld elements; optimizer groups (K) of each "
         "pipeline stage: ",
         (long long)cfg->micro_batches, cfg->micro_batches == 1 ? "" : "es",
         (long long)cfg->bucket);
  for (int32_t s = 0; s < cfg->pp && s < 32; s++)
    printf("%s%d", s == 0 ? "" : ", ", zp_case_groups(c, s));
  printf("%s\n", cfg->pp > 32 ? ", …" : "");
  print_repeat(a, c);
}

/* What coded gradients can decide here. */
static void print_proof(const zp_case *c)
{
  const int32_t digits = zp_synth_digits(&c->cfg);
  char why[256];
  int32_t exact;
  if (c->synth.mode != ZP_SYNTH_CODED && digits > 0) return;
  exact = zp_synth_prove(&c->cfg, &c->synth, c->scaler.log2_scale, why, sizeof why);
  if (digits == 0) printf("no coded gradients: %s\n", why);
  else
    printf("coded gradients: an element is nonzero in only %d of the contributions, each with a "
           "digit of its own, so a wrong\n  sum shows which one is missing or doubled; %s\n",
           digits,
           exact == ZP_SYNTH_ALL ? "all sums and divisions are exact: nothing is rounded" : why);
}

static void print_steps(const zp_verdict *v)
{
  if (v->steps > 0) printf("step        loss                norm  scale\n");
  for (int32_t t = 0; t < v->steps && t < 32; t++) {
    const zp_step_result *r = &v->result[t];
    printf("%4d  %10.6g  %18.12g  2^%d%s\n", t, f32(r->loss), f64(r->norm_f64), r->log2_scale,
           r->skipped ? "  skipped" : "");
  }
}

static void print_verdict(const zp_backend *e, const zp_case *c, const zp_fault *fault,
                          const zp_verdict *v)
{
  if (!v->failed && e->schedules > 0) {
    printf("clean: %d step%s on %d ranks, %s\n", v->steps, v->steps == 1 ? "" : "s",
           (int)zp_world(&c->cfg), e->clean);
    zp_print_orders(v->orders, v->distinct, v->offloads, v->partials, v->paths);
  } else if (!v->failed) {
    printf(
        "clean: losses, norms, scales, reduced gradients, moments, masters and parameters of all "
        "%d ranks equal serial's bit for bit in %d step%s\n",
        c->cfg.pp * c->cfg.dp * c->cfg.tp, v->steps, v->steps == 1 ? "" : "s");
  }
  if (!v->failed) {
    zp_print_timeline(c, v);
    if (fault != NULL) printf("the fault has no effect on this configuration\n");
    return;
  }
  printf("failed: ");
  zp_print_clauses(v);
  printf("; %s\n%s\n",
         fault != NULL ? "violated clauses of spec/: the injected fault was found"
                       : "violated clauses of spec/",
         v->text);
  if (strstr(v->text, "program position") != NULL)
    printf("  (stage: the pipeline stage; program position: index in the rank's list of operations "
           "of the step)\n");
  zp_print_timeline(c, v);
  if (v->schedule != 0 && v->schedule == c->schedule)
    printf("under schedule %llu, the case's first: --schedules 1 replays it\n",
           (unsigned long long)v->schedule);
  else if (v->schedule != 0)
    printf("under schedule %llu; add schedule=%llu to the case and --schedules 1 to replay it\n",
           (unsigned long long)v->schedule, (unsigned long long)v->schedule);
  if (fault != NULL && zp_ref_fault_why(fault) != NULL) printf("%s\n", zp_ref_fault_why(fault));
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *json_fault(const zp_fault *f)
{
  return json_pack("{s:s,s:s,s:s,s:s,s:s}", "name", f->name, "clause", f->clause, "what", f->what,
                   "source", f->source, "case", f->example);
}

static void dump(json_t *root)
{
  json_dumpf(root, stdout, JSON_INDENT(2));
  printf("\n");
  json_decref(root);
}

static void print_list_json(const zp_backend *e)
{
  json_t *root = json_array();
  for (int32_t i = 0; i < e->fault_count(); i++)
    json_array_append_new(root, json_fault(e->fault_at(i)));
  dump(root);
}

static json_t *json_finding(const zp_case *c, const zp_synth_finding *f)
{
  static const char *const kinds[ZP_SYNTH_KINDS] = {"missing", "doubled", "unasked", "moved",
                                                    "stale",   "ratio",   "garbled"};
  json_t *j =
      json_pack("{s:s,s:i,s:I,s:i,s:i,s:I,s:f}", "kind", kinds[f->kind], "parameter", (int)f->param,
                "element", (json_int_t)f->element, "tp", (int)f->tp, "ep", (int)f->ep,
                "more_elements", (json_int_t)f->count, "value", (double)f->value);
  char text[320];
  if (f->who.entry >= 0) {
    const int32_t stage = c->cfg.params[f->who.entry].stage;
    json_object_set_new(j, "rank",
                        json_integer((stage * c->cfg.dp + f->who.dp) * c->cfg.tp + f->tp));
    json_object_set_new(j, "micro_batch", json_integer(f->who.mb));
    json_object_set_new(j, "used_by", json_integer(f->who.entry));
    json_object_set_new(j, "times", json_integer(f->times));
  }
  zp_synth_describe(&c->cfg, f, text, sizeof text);
  json_object_set_new(j, "text", json_string(text));
  return j;
}

static json_t *json_steps(const zp_verdict *v)
{
  json_t *steps = json_array();
  for (int32_t t = 0; t < v->steps && t < 32; t++) {
    const zp_step_result *r = &v->result[t];
    char norm[20], loss[12];
    snprintf(norm, sizeof norm, "%016llx", (unsigned long long)r->norm_f64);
    snprintf(loss, sizeof loss, "%08x", (unsigned)r->loss);
    json_array_append_new(steps, json_pack("{s:i,s:s,s:s,s:i,s:b}", "step", (int)t, "loss_bits",
                                           loss, "norm_bits", norm, "log2_scale",
                                           (int)r->log2_scale, "skipped", (int)r->skipped));
  }
  return steps;
}

static void print_json(const zp_case *c, const zp_fault *fault, const zp_verdict *v)
{
  json_t *root = json_object(), *clauses = json_array(), *findings = json_array();
  char text[ZP_CASE_TEXT];
  zp_case_format(c, text, sizeof text);
  json_object_set_new(root, "fault", fault != NULL ? json_fault(fault) : json_null());
  json_object_set_new(root, "case", json_string(text));
  if (v->schedule != 0)
    json_object_set_new(root, "schedule", json_integer((json_int_t)v->schedule));
  if (v->orders > 0) {
    json_object_set_new(root, "orders", json_integer(v->orders));
    json_object_set_new(root, "orders_with_offload", json_integer(v->offloads));
    json_object_set_new(root, "orders_with_partial_gather", json_integer(v->partials));
    json_object_set_new(root, "compared_with_the_plan", json_integer(v->paths));
  }
  json_object_set_new(root, "verdict", json_string(v->failed ? "failed" : "clean"));
  json_object_set_new(root, "status", json_string(zp_status_name(v->status)));
  json_object_set_new(root, "step", json_integer(v->step));
  for (int32_t i = 0; i < v->n_clauses; i++)
    json_array_append_new(clauses, json_string(v->clause[i]));
  for (int32_t i = 0; i < v->n_findings; i++)
    json_array_append_new(findings, json_finding(c, &v->finding[i]));
  json_object_set_new(root, "clauses", clauses);
  json_object_set_new(root, "findings", findings);
  json_object_set_new(root, "report", json_string(v->text));
  json_object_set_new(root, "steps", json_steps(v));
  dump(root);
}

/* ---- The command ----------------------------------------------------------------------------- */

static int is_set(const zp_options *o, int32_t opt)
{
  return o->by_flag[opt] || o->by_file[opt];
}

/* Without a case, a fault or a topology: one that has something to get wrong. 1 when it did so. */
static int32_t sim_defaults(zp_sim_args *a)
{
  zp_options *o = &a->o;
  if (a->text != NULL || a->fault != NULL) return 0;
  if (!is_set(o, ZP_OPT_STEPS)) o->value[ZP_OPT_STEPS] = 3;
  if (is_set(o, ZP_OPT_PP) || is_set(o, ZP_OPT_DP) || is_set(o, ZP_OPT_TP) ||
      is_set(o, ZP_OPT_EP) || o->params != NULL || o->groups != NULL)
    return 0;
  o->value[ZP_OPT_PP] = o->value[ZP_OPT_DP] = 2;
  return 1;
}

/* A run that could not fail proves nothing. 0, or an exit code after a message. */
static int check_worth(const zp_sim_args *a, const zp_case *c)
{
  const zp_options *o = &a->o;
  int64_t numel = 0;
  if (c->steps < 1)
    return zp_refuse(o, "steps: %d; nothing would be compared; sim takes 1 to 32.", (int)c->steps);
  for (int32_t j = 0; j < c->cfg.n_params; j++)
    if (!c->params[j].frozen) numel += c->params[j].numel;
  if (numel > 0) return 0;
  if (a->text != NULL && o->params == NULL)
    return zp_refuse(o, "--case: it has no parameters to train; add a list, as in "
                        "'pp=2,list=5@0.0+7@1.0', or leave --case out.");
  return zp_refuse(o, "params: there is no element to train, so nothing would be compared; give "
                      "entries with numel above 0 that are not frozen.");
}

/* The configuration file's use masks. 0, or an exit code after a message. */
static int take_masks(const zp_sim_args *a, zp_case *c)
{
  const zp_options *o = &a->o;
  if (o->masks == NULL) return 0;
  for (int32_t j = 0; j < o->n_params; j++)
    for (int32_t i = 0; i < o->masks[j].n; i++) {
      const zp_synth_skip *s = &o->masks[j].skip[i];
      if (s->dp >= c->cfg.dp || s->mb >= c->cfg.micro_batches)
        return zp_refuse(o,
                         "params[%d].unused: [%d, %lld] is out of range; allowed are dp indices "
                         "0 to %d and micro-batches 0 to %lld.",
                         (int)j, (int)s->dp, (long long)s->mb, (int)c->cfg.dp - 1,
                         (long long)c->cfg.micro_batches - 1);
    }
  c->synth.mask = o->masks;
  return 0;
}

/* On a terminal, what the run is at, and since when it runs; NULL: wiped away. */
static void show(const char *what, int32_t step, int32_t steps)
{
  static double began;
  const double now = zp_clock_s();
  if (began == 0) began = now;
  if (what == NULL) dprintf(STDERR_FILENO, "\r\033[K");
  else if (step >= 0)
    dprintf(STDERR_FILENO, "\r\033[K  %5.0f s  %s, step %d of %d", now - began, what, (int)step + 1,
            (int)steps);
  else dprintf(STDERR_FILENO, "\r\033[K  %5.0f s  %s", now - began, what);
}

static int run(zp_sim_args *a)
{
  static zp_case c;
  static zp_verdict v;
  const int32_t chosen = sim_defaults(a);
  int code = zp_sim_setup(a, &c);
  if (code == ZP_EXIT_GOOD) code = check_worth(a, &c);
  if (code == ZP_EXIT_GOOD) code = zp_engine_supports(a->engine, "zeroproof sim", &c);
  if (code == ZP_EXIT_GOOD) code = take_masks(a, &c);
  /* 40: of serial training and of the comparison, measured */
  if (code == ZP_EXIT_GOOD) code = zp_plan_fits(&a->o, &c.cfg, 0, 40);
  if (code == ZP_EXIT_GOOD) code = zp_options_spare(&a->o, a->chosen.trace, a->chosen.svg);
  if (code != ZP_EXIT_GOOD) return code;
  if (!a->o.json) {
    if (chosen)
      printf("no topology was given: pp 2, dp 2, %d steps, a parameter list with a tied weight on "
             "both pipeline stages and without experts\n",
             (int)c.steps);
    print_head(a, &c);
    print_proof(&c);
    fflush(stdout);
  }
  c.schedules = a->chosen.schedules > 0 ? a->chosen.schedules : a->engine->schedules;
  c.offload = a->chosen.offload;
  c.trace = a->chosen.trace;
  c.svg = a->chosen.svg;
  if (isatty(STDERR_FILENO)) c.progress = show;
  a->engine->run_case(&c, a->fault, &v);
  if (c.progress != NULL) show(NULL, 0, 0);
  if (v.no_memory) {
    fprintf(stderr, "zeroproof sim: %s\n", v.text);
    return ZP_EXIT_ENVIRONMENT;
  }
  if (a->o.json) {
    print_json(&c, a->fault, &v);
  } else {
    print_steps(&v);
    print_verdict(a->engine, &c, a->fault, &v);
  }
  return zp_verdict_code("zeroproof sim", &v);
}

int zp_cmd_sim(int argc, char **argv, const zp_backend *engine)
{
  static zp_sim_args a;
  int code;
  memset(&a, 0, sizeof a);
  a.mode = a.unused = -1;
  zp_options_init(&a.o, "zeroproof sim");
  a.engine = engine;
  code = zp_cli_parse(&argp, argc, argv, &a);
  if (code == 0) code = zp_engine_choose(engine, &a.chosen, argc, argv);
  if (code == 0) code = zp_options_finish(&a.o);
  if (code == 0 && a.fault_name != NULL && !a.list) {
    a.fault = zp_engine_fault(engine, "zeroproof sim", a.fault_name, 0);
    if (a.fault == NULL) code = ZP_EXIT_REFUSED;
  }
  if (code == 0 && a.list) {
    if (a.o.json) print_list_json(engine);
    else print_list(engine);
  } else if (code == 0) {
    code = run(&a);
  }
  zp_options_free(&a.o);
  return code;
}
