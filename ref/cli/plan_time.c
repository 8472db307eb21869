#define _GNU_SOURCE
#include "plan_time.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../base/output.h"
#include "cli.h"
#include "numbers.h"

enum {
  KEY_TIME = 0x6000,
  KEY_MACHINE,
  KEY_TOKENS,
  KEY_ACTIVATION,
  KEY_SUMS,
  KEY_PARTIAL,
  KEY_OFFLOAD,
  GROUP = 7
};

/* ---- Options --------------------------------------------------------------------------------- */

static const struct argp_option options[] = {
    {NULL, 0, NULL, 0, "Time of a step on GPUs, by a model:", GROUP},
    {"time", KEY_TIME, NULL, 0,
     "estimate the time of a training step, its lower bound, exposed communication, and the "
     "sensitivity to each parameter of the machine; --svg or --trace writes the timeline",
     GROUP},
    {"machine", KEY_MACHINE, "FILE", 0,
     "parameters of the machine, a JSON file as in cuda/cost/machines (default: nodes of 8 H200 "
     "GPUs)",
     GROUP},
    {"tokens", KEY_TOKENS, "N", 0, "tokens of a micro-batch (4096)", GROUP},
    {"activation", KEY_ACTIVATION, "ELEMENTS", 0,
     "elements that a pipeline stage sends for each token (4096)", GROUP},
    {"offload", KEY_OFFLOAD, NULL, 0, "masters and moments are in host memory, updated by the host",
     GROUP},
    {"sums", KEY_SUMS, "MODE", 0,
     "native (default, unless --reduce=exact is given): NCCL adds in fp32; ordered: in a fixed "
     "order; "
     "exact: in an accumulator of 72 bytes an element (ZeRO stage 2: 40, of fp16 12), the same "
     "bits in every "
     "topology",
     GROUP},
    {"partial-gather", KEY_PARTIAL, NULL, 0,
     "as the engine's option partial_gather: gathers of parameters run beside the next step's "
     "forward, which waits for each entry before it reads it (ZeRO stages 1 and 2)",
     GROUP},
    {0}};

static void parse_count(const char *name, const char *arg, int64_t *to, struct argp_state *state)
{
  if (zp_parse_count(arg, to) != 0 || *to < 1 || *to > (int64_t)1 << 30)
    argp_error(state, "--%s: '%s' is not a whole number from 1 to 1Gi.", name, arg);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
  zp_time_args *a = state->input;
  switch (key) {
  case KEY_TIME: a->on = 1; return 0;
  case KEY_MACHINE: a->machine = arg; break;
  case KEY_TOKENS: parse_count("tokens", arg, &a->tokens, state); break;
  case KEY_ACTIVATION: parse_count("activation", arg, &a->activation, state); break;
  case KEY_OFFLOAD: a->offload = 1; break;
  case KEY_SUMS:
    if (strcmp(arg, "native") != 0 && strcmp(arg, "ordered") != 0 && strcmp(arg, "exact") != 0)
      argp_error(state, "--sums: '%s' is not one of: native ordered exact.", arg);
    a->sums = arg;
    break;
  case KEY_PARTIAL: a->partial = 1; break;
  default: return ARGP_ERR_UNKNOWN;
  }
  a->given = key;
  return 0;
}

const struct argp zp_time_child = {options, parse, NULL, NULL, NULL, NULL, NULL};

zp_time_args zp_time_defaults(void)
{
  return (zp_time_args){.tokens = 4096, .activation = 4096};
}

int zp_time_check(const zp_time_args *a, zp_options *o)
{
  const char *name = a->given == KEY_MACHINE   ? "machine"
                     : a->given == KEY_TOKENS  ? "tokens"
                     : a->given == KEY_SUMS    ? "sums"
                     : a->given == KEY_PARTIAL ? "partial-gather"
                     : a->given == KEY_OFFLOAD ? "offload"
                                               : "activation";
  if (a->given && !a->on) return zp_cli_refuse(o->command, "--%s: needs --time.", name);
  if (!a->on) return 0;
  if (a->partial && o->value[ZP_OPT_STAGE] == 0)
    return zp_cli_refuse(o->command,
                         "--partial-gather: no parameters are gathered at ZeRO stage 0; use "
                         "--stage 1 or 2.");
  if (o->by_flag[ZP_OPT_REDUCE] || o->by_file[ZP_OPT_REDUCE]) {
    const int exact = o->value[ZP_OPT_REDUCE] == ZP_EXACT;
    if (a->sums != NULL && exact != (strcmp(a->sums, "exact") == 0))
      return zp_cli_refuse(o->command, "--sums: %s contradicts reduce %s; leave out one of them.",
                           a->sums, exact ? "exact" : "ordered");
  } else
    o->value[ZP_OPT_REDUCE] =
        a->sums != NULL && strcmp(a->sums, "exact") == 0 ? ZP_EXACT : ZP_ORDERED;
  return 0;
}

/* ---- The report ------------------------------------------------------------------------------ */

static const char *sums_of(const zp_config *cfg, const zp_time_args *a)
{
  if (cfg->reduce == ZP_EXACT) return "exact";
  return a->sums != NULL ? a->sums : "native";
}

/* Tokens of a step and rank. */
static double tokens_of(const zp_config *cfg, const zp_time_args *a)
{
  return (double)cfg->micro_batches * (double)a->tokens * cfg->dp / zp_world(cfg);
}

/* What the time of this job lacks. */
static void print_notes(const zp_config *cfg)
{
  if (cfg->tp > 1)
    puts("  note: the model's own communication between tensor-parallel ranks is left out");
  if (cfg->ep > 1) puts("  note: the model's own communication between experts is left out");
  if (cfg->precision == ZP_F32)
    puts("  note: the machine's flops are those of 16-bit numbers, unless its file says otherwise");
}

static void print_offload(const zp_time_report *r)
{
  printf(
      "  offload         %10.2f ms exposed: saved if the host's copies and updates took no time "
      "(the longest of them: %.2f);\n"
      "                  %10.2f would remain if it updated beside the next step's first forward\n",
      1e3 * r->offload_exposed, 1e3 * r->host, 1e3 * r->offload_least);
}

static void print_report(const zp_options *o, const zp_config *cfg, const zp_time_args *a,
                         const zp_time_report *r)
{
  char text[32], host[48] = "";
  if (a->offload) snprintf(host, sizeof host, ", the host's work %.2f", 1e3 * r->host);
  printf("pp %d × dp %d × tp %d (ep %d%s) = %d ranks, ZeRO stage %d, %lld micro-batches of %lld "
         "tokens, %s, %s sums, buckets of %lld elements%s%s\nmachine: %s\n\n",
         (int)cfg->pp, (int)cfg->dp, (int)cfg->tp, (int)cfg->ep,
         zp_replicas_text(zp_replicas(&o->hyper), text), (int)zp_world(cfg), (int)cfg->stage,
         (long long)cfg->micro_batches, (long long)a->tokens, zp_precision_name(cfg->precision),
         sums_of(cfg, a), (long long)cfg->bucket, a->offload ? ", offload" : "",
         a->partial ? ", partial gathers" : "", r->machine);
  if (r->needs > r->capacity)
    printf("  it DOES NOT FIT: a GPU has %.0f GB of memory; the times are hypothetical\n",
           r->capacity / 1e9);
  printf("  step            %10.2f ms: %.0f tokens a second and GPU\n"
         "  lower bound     %10.2f ms: the largest of compute %.2f, communication %.2f, memory "
         "traffic %.2f%s\n"
         "  efficiency      %10.3f (bound / step)\n"
         "  compute share   %10.3f (compute / step)\n"
         "  exposed         %10.2f ms: saved if communication took no time and no resources\n"
         "  memory          %10.2f GB of %.0f GB a GPU, without activations\n",
         1e3 * r->step, tokens_of(cfg, a) / r->step, 1e3 * r->bound, 1e3 * r->compute,
         1e3 * r->communication, 1e3 * r->memory, host, r->bound / r->step, r->compute / r->step,
         1e3 * r->exposed, r->needs / 1e9, r->capacity / 1e9);
  if (cfg->pp > 1)
    printf(
        "  launch orders   %10.2f ms chained, %.2f implicit: equal in this model, where a GPU runs "
        "one communication at a\n                             time, in the program's order "
        "(STRM-5)\n",
        1e3 * r->step, 1e3 * r->step);
  if (a->offload) print_offload(r);
  print_notes(cfg);
  printf("\nWork of the busiest rank     ms if run alone   GB that kernels move   GB sent\n");
  for (int32_t i = 0; i < r->works; i++)
    printf("  %-26s %17.2f %22.2f %9.2f\n", r->work[i].name, 1e3 * r->work[i].seconds,
           r->work[i].bytes / 1e9, r->work[i].wire / 1e9);
  printf("\nParameter of the machine          value  unit       step, ms, at -30 %% and +30 %% (a "
         "share: "
         "at most 1)\n");
  for (int32_t i = 0; i < r->figures; i++) {
    const zp_time_figure *f = &r->figure[i];
    printf("  %-22s %15.4g  %-8s %12.2f %12.2f\n", f->key, f->value, f->unit, 1e3 * f->less,
           1e3 * f->more);
  }
}

static json_t *work_json(const zp_time_report *r)
{
  json_t *list = json_array();
  for (int32_t i = 0; i < r->works; i++)
    json_array_append_new(list, json_pack("{s:s, s:f, s:f, s:f}", "work", r->work[i].name,
                                          "seconds", r->work[i].seconds, "memory_bytes",
                                          r->work[i].bytes, "sent_bytes", r->work[i].wire));
  return list;
}

static json_t *figures_json(const zp_time_report *r)
{
  json_t *list = json_array();
  for (int32_t i = 0; i < r->figures; i++) {
    const zp_time_figure *f = &r->figure[i];
    json_array_append_new(list, json_pack("{s:s, s:s, s:f, s:s, s:f, s:f}", "figure", f->key,
                                          "unit", f->unit, "value", f->value, "source", f->source,
                                          "step_with_30_percent_less", f->less,
                                          "step_with_30_percent_more", f->more));
  }
  return list;
}

static int print_json(const zp_config *cfg, const zp_time_args *a, const zp_time_report *r)
{
  const struct {
    const char *key;
    double value;
  } numbers[] = {{"step_seconds", r->step},
                 {"bound_seconds", r->bound},
                 {"compute_seconds", r->compute},
                 {"communication_seconds", r->communication},
                 {"memory_seconds", r->memory},
                 {"exposed_seconds", r->exposed},
                 {"host_seconds", r->host},
                 {"offload_exposed_seconds", r->offload_exposed},
                 {"offload_least_seconds", r->offload_least},
                 {"efficiency", r->bound / r->step},
                 {"tokens_per_second_and_rank", tokens_of(cfg, a) / r->step},
                 {"memory_needed_bytes", r->needs},
                 {"memory_capacity_bytes", r->capacity}};
  json_t *root = json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:s, s:s}", "machine", r->machine, "pp",
                           (int)cfg->pp, "dp", (int)cfg->dp, "tp", (int)cfg->tp, "ep", (int)cfg->ep,
                           "stage", (int)cfg->stage, "precision", zp_precision_name(cfg->precision),
                           "sums", sums_of(cfg, a));
  json_object_set_new(root, "offload", json_boolean(a->offload));
  json_t *sizes =
      json_pack("{s:I, s:I, s:I, s:I, s:I}", "micro_batches", (json_int_t)cfg->micro_batches,
                "tokens", (json_int_t)a->tokens, "activation", (json_int_t)a->activation, "bucket",
                (json_int_t)cfg->bucket, "pieces", (json_int_t)r->nodes);
  json_object_update(root, sizes);
  json_object_set_new(root, "partial_gather", json_boolean(a->partial));
  json_decref(sizes);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    json_object_set_new(root, numbers[i].key, json_real(numbers[i].value));
  /* one simulation: in the model a GPU runs one communication at a time, in the program's order */
  if (cfg->pp > 1)
    json_object_set_new(root, "step_seconds_by_launch_order",
                        json_pack("{s:f, s:f}", "chained", r->step, "implicit", r->step));
  json_object_set_new(root, "work", work_json(r));
  json_object_set_new(root, "figures", figures_json(r));
  const int bad = json_dumpf(root, stdout, JSON_ENSURE_ASCII) || putchar('\n') == EOF;
  json_decref(root);
  return bad ? ZP_EXIT_ENVIRONMENT : 0;
}

static void progress(int32_t done, int32_t all)
{
  dprintf(STDERR_FILENO, "\r  %d of %d simulations", (int)done, (int)all);
}

int zp_plan_time(const zp_time_args *a, const zp_options *o, const zp_config *cfg,
                 const zp_backend *engine, const char *svg, const char *trace)
{
  const zp_time_job job = {.cfg = cfg,
                           .hyper = &o->hyper,
                           .native = strcmp(sums_of(cfg, a), "native") == 0,
                           .partial = a->partial,
                           .offload = a->offload,
                           .tokens = a->tokens,
                           .activation_bytes =
                               a->tokens * a->activation * zp_dtype_bytes(cfg->precision),
                           .machine = a->machine,
                           .svg = svg,
                           .trace = trace,
                           .progress = isatty(STDERR_FILENO) ? progress : NULL};
  static zp_time_report report;
  static zp_error err;
  const char *const inputs[] = {a->machine, NULL};
  if (a->machine != NULL && (zp_output_spares("--svg", svg, inputs, &err) != 0 ||
                             zp_output_spares("--trace", trace, inputs, &err) != 0))
    return zp_cli_refuse(o->command, "%s", err.text);
  const int status = engine->time(&job, &report, &err);
  if (job.progress != NULL) dprintf(STDERR_FILENO, "\r\033[K");
  if (status != 0) {
    fprintf(stderr, "%s: %s\n", o->command, err.text);
    return zp_exit_of(err.status);
  }
  if (o->json) return print_json(cfg, a, &report);
  print_report(o, cfg, a, &report);
  if (trace != NULL) printf("\nwrote %s: open it at https://ui.perfetto.dev\n", trace);
  if (svg != NULL) printf("%swrote %s\n", trace != NULL ? "" : "\n", svg);
  return 0;
}
