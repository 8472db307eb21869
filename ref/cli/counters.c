/* zeroproof counters: memory, traffic and launches of the CUDA engine, counted on simdev. */
#define _GNU_SOURCE
#include "counters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../plan/flat_size.h"
#include "commands.h"
#include "numbers.h"
#include "options.h"

#define PROGRAM "zeroproof-simdev-counters"

enum { KEY_SUMS = 0x7000, KEY_OFFLOAD, KEY_IN_PLACE, LAYERS = 4, RANKS_MAX = 64 };

typedef struct counters_args {
  zp_options o;
  const char *sums; /* or NULL */
  int32_t offload, in_place;
} counters_args;

/* ---- Options --------------------------------------------------------------------------------- */

static const struct argp_option options[] = {
    {"sums", KEY_SUMS, "native|ordered|exact", 0,
     "native (default, unless --reduce=exact): NCCL adds in fp32; ordered: in a fixed order; "
     "exact: in an accumulator of 72 bytes an element, at ZeRO stage 2 of 40 (fp16 gradients: 12)",
     0},
    {"offload", KEY_OFFLOAD, NULL, 0, "masters and moments in pinned host memory", 0},
    {"in-place", KEY_IN_PLACE, NULL, 0,
     "the caller writes gradients where the engine lends a place for them", 0},
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
  counters_args *a = state->input;
  switch (key) {
  case ARGP_KEY_INIT: state->child_inputs[0] = &a->o; return 0;
  case KEY_OFFLOAD: a->offload = 1; return 0;
  case KEY_IN_PLACE: a->in_place = 1; return 0;
  case KEY_SUMS:
    if (strcmp(arg, "native") != 0 && strcmp(arg, "ordered") != 0 && strcmp(arg, "exact") != 0)
      argp_error(state, "--sums: '%s' is not one of: native ordered exact.", arg);
    a->sums = arg;
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_child children[] = {{&zp_options_child, 0, NULL, 0}, {0}};
static const struct argp argp = {
    options,
    parse,
    NULL,
    "Memory, traffic, launches and calls of a training step of the CUDA engine, counted on a "
    "simulated device.\v"
    "Without options it prints a table of seven configurations. An option selects one "
    "configuration, which is printed in full; without --config it has 4 layers of 66048 "
    "parameters on each pipeline stage, and without --dp, --bucket and --micro-batches 4 ranks, "
    "buckets of 32Ki elements and 1 micro-batch. --reduce follows --sums here (ordered, unless "
    "exact); --steps and --seed change no count and are refused. Traffic is the number of distinct "
    "bytes that "
    "each kernel, copy and memset reads and writes, added up. cuda/counters/README.md explains "
    "the tables. Exit codes: 0 success, 1 the memory is not that of the plan or something is "
    "allocated after the first step, 2 invalid input, 3 the environment failed.",
    children,
    NULL,
    NULL};

/* ---- Configurations -------------------------------------------------------------------------- */

static const struct {
  const char *sums;
  int32_t stage, micro_batches, in_place; /* in_place: fp32 gradients */
  int32_t precision;
} table[] = {{"native", 2, 1, 1, ZP_BF16}, {"native", 2, 1, 0, ZP_BF16},
             {"native", 2, 8, 0, ZP_BF16}, {"ordered", 2, 1, 0, ZP_BF16},
             {"native", 1, 8, 0, ZP_BF16}, {"exact", 2, 1, 0, ZP_BF16},
             {"exact", 2, 1, 0, ZP_F16}};
enum { TABLE = sizeof table / sizeof *table };

/* Matrices, and vectors whose sizes are no multiples of a kernel's tile. */
static int default_list(zp_options *o)
{
  static const int64_t numel[] = {32768, 16384, 16384, 253, 259};
  enum { ENTRIES = sizeof numel / sizeof *numel };
  const int32_t pp = (int32_t)o->value[ZP_OPT_PP];
  const int32_t n = pp * LAYERS * ENTRIES;
  if (o->params != NULL) return 0;
  if (pp > RANKS_MAX) return zp_refuse(o, "--pp: at most %d stages can be counted.", RANKS_MAX);
  o->params = calloc((size_t)n, sizeof *o->params);
  if (o->params == NULL) return ZP_EXIT_ENVIRONMENT;
  for (int32_t i = 0; i < n; i++)
    o->params[i] =
        (zp_param){.numel = numel[i % ENTRIES], .stage = i / (LAYERS * ENTRIES), .tied = -1};
  o->n_params = n;
  o->optgroups = 1;
  o->tied_keys = 0;
  return 0;
}

static void default_value(zp_options *o, int32_t opt, int64_t value)
{
  if (!o->by_flag[opt] && !o->by_file[opt]) o->value[opt] = value;
}

/* 1: the command line selects a configuration. */
static int selects(const counters_args *a)
{
  int flags =
      a->sums != NULL || a->offload || a->in_place || a->o.config_file != NULL || a->o.n_groups > 0;
  for (int32_t i = 0; i < ZP_OPTS; i++) flags |= a->o.by_flag[i];
  return flags;
}

/* --sums and --reduce agree; afterwards the reduction is set. */
static int choose_sums(counters_args *a)
{
  zp_options *o = &a->o;
  const int given = o->by_flag[ZP_OPT_REDUCE] || o->by_file[ZP_OPT_REDUCE];
  const int exact = o->value[ZP_OPT_REDUCE] == ZP_EXACT;
  if (a->sums == NULL) a->sums = given && exact ? "exact" : "native";
  else if (given && exact != (strcmp(a->sums, "exact") == 0))
    return zp_refuse(o, "--sums: %s contradicts reduce %s; leave out one of them.", a->sums,
                     exact ? "exact" : "ordered");
  o->value[ZP_OPT_REDUCE] = strcmp(a->sums, "exact") == 0 ? ZP_EXACT : ZP_ORDERED;
  return 0;
}

/* ---- Counting -------------------------------------------------------------------------------- */

static const struct {
  int32_t opt;
  const char *name;
} ignored[] = {{ZP_OPT_STEPS, "steps"}, {ZP_OPT_SEED, "seed"}};
enum { IGNORED = sizeof ignored / sizeof *ignored };

/* Does the engine lend places for gradients at all? PART-8 */
static int lends(const zp_counters_row *r)
{
  if (r->cfg.reduce == ZP_EXACT) return 0;
  return r->gradients == ZP_F32 || (r->cfg.stage == 2 && !r->native);
}

/* Beside the ranks, the simulation keeps the caller's gradients and two bitmaps for each byte. */
static int count(counters_args *a, const zp_backend *engine, zp_counters_row *r)
{
  zp_options *o = &a->o;
  zp_error err = {0};
  int code = choose_sums(a);
  if (code != 0) return code;
  r->cfg = zp_options_config(o);
  r->native = strcmp(a->sums, "native") == 0;
  r->offload = a->offload;
  r->in_place = a->in_place;
  r->gradients = zp_dtype_of(o->hyper.fp32_gradients, r->cfg.precision);
  code = zp_options_check(o, &r->cfg);
  for (int32_t i = 0; code == 0 && i < IGNORED; i++)
    if (o->by_flag[ignored[i].opt])
      code = zp_refuse(o, "--%s: changes no count; leave it out.", ignored[i].name);
  if (code == 0 && r->cfg.dynamic_shapes)
    code = zp_refuse(o, "--dynamic-shapes: a step with them cannot be counted.");
  if (code == 0 && zp_world(&r->cfg) > RANKS_MAX)
    code = zp_refuse(o, "%d ranks: at most %d can be counted.", (int)zp_world(&r->cfg), RANKS_MAX);
  if (code == 0 && a->in_place && !lends(r))
    code = zp_refuse(o, "--in-place: with these sums the engine lends no place for gradients%s.",
                     r->cfg.reduce == ZP_EXACT ? "; use --sums=native or ordered"
                                               : " of 16 bits; add --fp32-gradients");
  if (code == 0) code = zp_plan_fits(o, &r->cfg, 0, 40);
  if (code != 0) return code;
  const zp_counters_job job = {.cfg = &r->cfg,
                               .hyper = &o->hyper,
                               .native = r->native,
                               .offload = r->offload,
                               .in_place = r->in_place};
  return engine->counters(&job, &r->counted, &err) == 0 ? 0 : zp_options_report(o, &err);
}

static int count_table(counters_args *a, const zp_backend *engine, zp_counters_row *row)
{
  for (int32_t i = 0; i < TABLE; i++) {
    a->sums = table[i].sums;
    a->o.value[ZP_OPT_STAGE] = table[i].stage;
    a->o.value[ZP_OPT_PRECISION] = table[i].precision;
    a->o.value[ZP_OPT_MICRO_BATCHES] = table[i].micro_batches;
    a->o.value[ZP_OPT_FP32_GRADIENTS] = a->in_place = table[i].in_place;
    const int code = count(a, engine, &row[i]);
    if (code != 0) return code;
  }
  return 0;
}

/* ---- The command ----------------------------------------------------------------------------- */

/* 1: the memory agrees, and nothing is made after the first step. */
static int holds(const zp_counters *c)
{
  return zp_counters_memory_agrees(c) && c->created == 0;
}

static int print_json(const zp_counters_row *row, int32_t n)
{
  json_t *root = json_array();
  for (int32_t i = 0; i < n; i++) json_array_append_new(root, zp_counters_json(&row[i]));
  const int bad =
      json_dumpf(root, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII) || putchar('\n') == EOF;
  json_decref(root);
  return bad ? ZP_EXIT_ENVIRONMENT : 0;
}

static int run(counters_args *a, const zp_backend *engine)
{
  static zp_counters_row row[TABLE];
  zp_options *o = &a->o;
  const int one = selects(a);
  const int32_t n = one ? 1 : TABLE;
  int code = zp_options_finish(o);
  if (code != 0) return code;
  if (o->params == NULL) {
    default_value(o, ZP_OPT_DP, 4);
    default_value(o, ZP_OPT_BUCKET, (int64_t)32 << 10);
    default_value(o, ZP_OPT_MICRO_BATCHES, 1);
  }
  code = default_list(o);
  if (code == 0) code = one ? count(a, engine, row) : count_table(a, engine, row);
  if (code != 0) return code;
  if (o->json) code = print_json(row, n);
  else if (!one) zp_counters_print_summary(row, n);
  for (int32_t i = 0; !o->json && i < n; i++) zp_counters_print(&row[i]);
  for (int32_t i = 0; code == 0 && i < n; i++)
    if (!holds(&row[i].counted)) code = ZP_EXIT_VERDICT;
  return code;
}

int zp_cmd_counters(int argc, char **argv, const zp_backend *engine)
{
  static counters_args a;
  int code;
  zp_options_init(&a.o, "zeroproof counters");
  code = zp_cli_parse(&argp, argc, argv, &a);
  if (code == 0 && engine->counters == NULL) code = zp_engine_hand_over(PROGRAM, argc, argv);
  if (code == 0) code = run(&a, engine);
  zp_options_free(&a.o);
  return code;
}
