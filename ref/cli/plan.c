/* zeroproof plan: the programs as tables, pictures, JSON, and verdicts. */
#define _GNU_SOURCE
#include "plan.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../base/clock.h"
#include "../base/memory_free.h"
#include "../draw/plan_draw.h"
#include "../engine/rank_program.h"
#include "../model/list.h"
#include "../verify/plan_check.h"
#include "commands.h"
#include "plan_time.h"

enum {
  KEY_RANK = 0x2000,
  KEY_TRACE,
  KEY_SVG,
  KEY_CHECK,
  KEY_LEDGER,
  KEY_SHARDS,
  KEY_ALL_RANKS,
  KEY_BACKGROUND
};

typedef struct plan_args {
  zp_options o;
  int64_t rank; /* -1: all */
  const char *trace, *svg;
  int32_t check, ledger, shards, all_ranks;
  zp_time_args time;
} plan_args;

static const struct argp_option options[] = {
    {"rank", KEY_RANK, "R", 0, "only this rank, in full", 0},
    {"all-ranks", KEY_ALL_RANKS, NULL, 0,
     "with --json: every rank in full, not only the first of each stage", 0},
    {"ledger", KEY_LEDGER, NULL, 0,
     "with --rank or --json: list every communication of init, step, save and load", 0},
    {"shards", KEY_SHARDS, NULL, 0,
     "with --rank: list which elements of which entry the rank owns (in --json always)", 0},
    {"trace", KEY_TRACE, "FILE", 0, "write a Chrome/Perfetto trace of the pipeline", 0},
    {"svg", KEY_SVG, "FILE", 0, "draw the pipeline", 0},
    {"background-save", KEY_BACKGROUND, NULL, 0,
     "count the copy of what a rank writes that a save in the background keeps (train "
     "--save-every)",
     0},
    {"check", KEY_CHECK, NULL, 0, "verify the invariants on all ranks' programs", 0},
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
  plan_args *a = state->input;
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = &a->o;
    state->child_inputs[1] = &a->time;
    return 0;
  case KEY_RANK:
    if (zp_parse_count(arg, &a->rank) != 0 || a->rank >= ZP_MAX_RANKS)
      argp_error(state, "--rank: '%s' is not a rank.", arg);
    return 0;
  case KEY_TRACE: a->trace = arg; return 0;
  case KEY_SVG: a->svg = arg; return 0;
  case KEY_CHECK: a->check = 1; return 0;
  case KEY_BACKGROUND: a->o.background_save = 1; return 0;
  case KEY_LEDGER: a->ledger = 1; return 0;
  case KEY_SHARDS: a->shards = 1; return 0;
  case KEY_ALL_RANKS: a->all_ranks = 1; return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_child children[] = {
    {&zp_options_child, 0, NULL, 0}, {&zp_time_child, 0, NULL, 0}, {0}};
static const struct argp argp = {
    options,
    parse,
    NULL,
    "The partition, buckets, ledger, memory and pipeline of one rank or of all.\v"
    "Without --config the parameter list is that of a 7-billion-parameter transformer, cut into "
    "pp stages and tp shards. Without --rank and --all-ranks, it prints one rank per stage: the "
    "others of the stage differ in the elements that they own. A program of more than 67108864 "
    "(2^26) ops is refused, by --check of more than 33554432 (2^25): so many micro-batches need "
    "larger buckets. --check generates the programs of every rank, at about 45 ns an op and core; "
    "it refuses more than 2^36 ops in all. Exit codes: 0 success, 1 a check failed, 2 invalid "
    "input, "
    "3 the environment "
    "failed.",
    children,
    NULL,
    NULL};

/* ---- --check --------------------------------------------------------------------------------- */

static void progress(void *ctx, int64_t done, int64_t all)
{
  int64_t *last = ctx;
  const int64_t percent = 100 * done / all;
  if (percent == *last) return;
  *last = percent;
  dprintf(STDERR_FILENO, "\r  %lld of %lld ranks [%-25.*s] %lld %%", (long long)done,
          (long long)all, (int)(percent / 4), "#########################", (long long)percent);
}

static void print_check(const zp_options *o, const zp_config *cfg, const zp_check_result *r,
                        const zp_error *err, double elapsed)
{
  char text[32];
  if (o->json) {
    printf("{\"ok\": %s, \"ranks\": %lld, \"ops\": %lld, \"seconds\": %.3f, \"checks\": {",
           err->status == ZP_OK ? "true" : "false", (long long)r->ranks, (long long)r->ops,
           elapsed);
    for (int32_t k = 0; k < ZP_CHECK_KINDS; k++)
      printf("%s\"%s\": %lld", k > 0 ? ", " : "", zp_check_name(k), (long long)r->count[k]);
    printf("}}\n");
    return;
  }
  printf("pp %d × dp %d × tp %d (ep %d%s), ZeRO stage %d, %lld micro-batches, buckets of %lld "
         "elements: %lld ranks\n\n",
         (int)cfg->pp, (int)cfg->dp, (int)cfg->tp, (int)cfg->ep,
         zp_replicas_text(zp_replicas(&o->hyper), text), (int)cfg->stage,
         (long long)cfg->micro_batches, (long long)cfg->bucket, (long long)r->ranks);
  for (int32_t k = 0; k < ZP_CHECK_KINDS; k++)
    printf("  %-64s %14lld\n", zp_check_name(k), (long long)r->count[k]);
  printf("\n%lld ops of %lld ranks in %.2f s (%.0f ns an op): %s\n", (long long)r->ops,
         (long long)r->ranks, elapsed, r->ops > 0 ? 1e9 * elapsed / (double)r->ops : 0.0,
         err->status == ZP_OK ? "all invariants hold" : "VIOLATED");
}

static int check(const zp_options *o, const zp_config *cfg)
{
  int64_t last = -1;
  const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
  zp_block_rank b = zp_block_of(cfg, 1, 0); /* of it the entries with their flat sizes (PART-2) */
  zp_check_job job = {.cfg = &b.cfg,
                      .replicas = zp_replicas(&o->hyper),
                      .fp32_gradients = o->hyper.fp32_gradients,
                      .slots = o->hyper.slots,
                      .threads = cpus < 1 ? 1 : (int32_t)cpus,
                      .write = zp_rank_program_write,
                      .alive = zp_alive,
                      .memory_max = 0.95 * zp_memory_free_now("").bytes};
  zp_check_result result;
  zp_error *err = calloc(1, sizeof *err);
  const double start = zp_clock_s();
  int code;
  if (err == NULL || zp_block_align(&b, zp_entry_align(o->hyper.entry_align, cfg->precision))) {
    free(err);
    return ZP_EXIT_ENVIRONMENT;
  }
  if (!o->json && isatty(STDERR_FILENO)) {
    job.progress = progress;
    job.ctx = &last;
  }
  code = zp_exit_of(zp_check_all(&job, &result, err));
  if (job.progress != NULL) dprintf(STDERR_FILENO, "\r\033[K");
  if (err->status == ZP_OK || err->status == ZP_E_VERDICT)
    print_check(o, cfg, &result, err, zp_clock_s() - start);
  if (err->status != ZP_OK) fprintf(stderr, "%s: %s\n", o->command, err->text);
  zp_block_close(&b);
  free(err);
  return code;
}

/* ---- The command ----------------------------------------------------------------------------- */

/* The list that ships with the project, unless the file gave one. */
static int default_list(zp_options *o)
{
  if (o->params != NULL) return 0;
  if (zp_list_7b((int32_t)o->value[ZP_OPT_PP], (int32_t)o->value[ZP_OPT_TP], &o->params, &o->names,
                 &o->n_params, &o->optgroups, &o->tied_keys) != 0)
    return zp_refuse(o,
                     "pp %lld, tp %lld: the default parameter list can be cut into 1 to 34 "
                     "stages and a tp that divides its matrices (1, 2, 4 …). Give --pp and --tp "
                     "such values, or a list of your own with --config.",
                     (long long)o->value[ZP_OPT_PP], (long long)o->value[ZP_OPT_TP]);
  if (!o->by_flag[ZP_OPT_BUCKET] && !o->by_file[ZP_OPT_BUCKET])
    o->value[ZP_OPT_BUCKET] = (int64_t)16 << 20; /* 4Ki suits toys */
  return 0;
}

static int columns(void)
{
  struct winsize w;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col >= 40) return w.ws_col;
  return 100;
}

static int show(const plan_args *a, const zp_config *cfg)
{
  int code;
  if (a->o.json)
    return zp_plan_json(&a->o, cfg, a->all_ranks ? ZP_PLAN_ALL_RANKS : (int32_t)a->rank, a->ledger);
  if (a->rank >= 0) return zp_plan_print_rank(&a->o, cfg, (int32_t)a->rank, a->ledger, a->shards);
  code = zp_plan_print_all(&a->o, cfg);
  if (code == 0) zp_plan_ascii(stdout, cfg, columns());
  return code;
}

/* Draws the pipeline into a file. 0, or an exit code after a message. */
static int draw(const zp_options *o, const zp_config *cfg, const char *flag, const char *file,
                int (*to_file)(const zp_config *cfg, const zp_hyper *hyper, const char *file,
                               zp_error *err))
{
  zp_error err = {0};
  switch (to_file(cfg, &o->hyper, file, &err)) {
  case ZP_OK: return 0;
  case ZP_E_REFUSED: return zp_refuse(o, "%s: %s", flag, err.text);
  case ZP_E_FILE:
    fprintf(stderr, "%s: %s %s.\n", o->command, flag, err.text);
    return ZP_EXIT_ENVIRONMENT;
  default: return zp_options_report(o, &err);
  }
}

static int draw_files(const plan_args *a, const zp_config *cfg)
{
  int code = zp_options_spare(&a->o, a->trace, a->svg);
  if (code == 0 && a->trace != NULL) {
    code = draw(&a->o, cfg, "--trace", a->trace, zp_plan_trace);
    if (code == 0 && !a->o.json) printf("wrote %s: open it at https://ui.perfetto.dev\n", a->trace);
  }
  if (code == 0 && a->svg != NULL) {
    code = draw(&a->o, cfg, "--svg", a->svg, zp_plan_svg);
    if (code == 0 && !a->o.json) printf("wrote %s\n", a->svg);
  }
  return code;
}

/* Options that say nothing without another. */
static int check_args(const plan_args *a)
{
  const zp_options *o = &a->o;
  if (a->all_ranks && !o->json) return zp_refuse(o, "--all-ranks: needs --json.");
  if (a->all_ranks && a->rank >= 0) return zp_refuse(o, "--all-ranks: is not for --rank R.");
  if (a->shards && a->rank < 0 && !a->all_ranks) return zp_refuse(o, "--shards: needs --rank R.");
  if (a->ledger && a->rank < 0 && !o->json)
    return zp_refuse(o, "--ledger: needs --rank R or --json.");
  if (a->time.on && (a->check || a->rank >= 0 || a->all_ranks || a->ledger))
    return zp_refuse(o, "--time: is not for --check, --rank, --all-ranks and --ledger.");
  return 0;
}

/* With --json: which files were written. */
static int print_files(const plan_args *a)
{
  json_t *root = json_object();
  if (a->trace != NULL) json_object_set_new(root, "trace", json_string(a->trace));
  if (a->svg != NULL) json_object_set_new(root, "svg", json_string(a->svg));
  const int bad = json_dumpf(root, stdout, JSON_ENSURE_ASCII) || putchar('\n') == EOF;
  json_decref(root);
  return bad ? ZP_EXIT_ENVIRONMENT : 0;
}

static int run(plan_args *a, const zp_backend *engine)
{
  zp_config cfg;
  zp_error err = {0};
  int code = check_args(a);
  if (code == 0) code = zp_options_finish(&a->o);
  if (code == 0) code = zp_time_check(&a->time, &a->o);
  if (code == 0) code = default_list(&a->o);
  if (code != 0) return code;
  cfg = zp_options_config(&a->o);
  code = zp_options_check(&a->o, &cfg);
  if (code != 0) return code;
  if (a->rank >= zp_world(&cfg))
    return zp_refuse(&a->o, "--rank: %lld is out of range; allowed is 0 to %d.", (long long)a->rank,
                     (int)zp_world(&cfg) - 1);
  if (zp_rank_plan_holds(&cfg, &a->o.hyper, &err) != 0) return zp_options_report(&a->o, &err);
  if (a->time.on) {
    code = zp_options_spare(&a->o, a->trace, a->svg);
    return code != 0 ? code : zp_plan_time(&a->time, &a->o, &cfg, engine, a->svg, a->trace);
  }
  code = draw_files(a, &cfg);
  if (code == ZP_EXIT_ENVIRONMENT && a->check) { /* what could not be written hides no verdict */
    const int verdict = check(&a->o, &cfg);
    return verdict != 0 ? verdict : code;
  }
  if (code != 0) return code;
  if (a->check) return check(&a->o, &cfg);
  if (a->trace == NULL && a->svg == NULL) return show(a, &cfg);
  return a->o.json ? print_files(a) : 0;
}

int zp_cmd_plan(int argc, char **argv, const zp_backend *engine)
{
  plan_args a = {.rank = -1, .time = zp_time_defaults()};
  const zp_engine_args model = {.name = "cuda", .device = ZP_DEVICE_NONE};
  int code;
  zp_options_init(&a.o, "zeroproof plan");
  code = zp_cli_parse(&argp, argc, argv, &a);
  if (code == 0 && a.time.on && engine->time == NULL)
    code = zp_engine_choose(engine, &model, argc, argv);
  if (code == 0) code = run(&a, engine);
  zp_options_free(&a.o);
  return code;
}
