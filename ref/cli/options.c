#define _GNU_SOURCE
#include "options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../comm/block.h"
#include "../engine/bucket_slots.h"
#include "../plan/flat_size.h"

typedef struct opt_row {
  const char *flag; /* as on the command line; in the file '-' becomes '_' */
  const char *name;
  int64_t lo, hi, first; /* range and default */
  const char *words;     /* allowed words, separated by spaces, numbered from 0; or NULL */
} opt_row;

static const opt_row rows[ZP_OPTS] = {
    [ZP_OPT_PP] = {"pp", "pp", 1, ZP_MAX_RANKS, 1, NULL},
    [ZP_OPT_DP] = {"dp", "dp", 1, ZP_MAX_RANKS, 1, NULL},
    [ZP_OPT_TP] = {"tp", "tp", 1, ZP_MAX_RANKS, 1, NULL},
    [ZP_OPT_EP] = {"ep", "ep", 1, ZP_MAX_RANKS, 1, NULL},
    [ZP_OPT_REPLICAS] = {"replicas", "replicas", 1, ZP_MAX_RANKS, 1, NULL},
    [ZP_OPT_STAGE] = {"stage", "stage", 0, 2, 2, NULL},
    [ZP_OPT_MICRO_BATCHES] = {"micro-batches", "micro_batches", 1, ZP_MAX_MICRO_BATCHES, 4, NULL},
    [ZP_OPT_BUCKET] = {"bucket", "bucket", 1, ZP_MAX_BUCKET, 4096, NULL},
    [ZP_OPT_ALIGN] = {"align", "align", 1, ZP_MAX_ALIGN, 1, NULL},
    [ZP_OPT_ENTRY_ALIGN] = {"entry-align", "entry_align", 0, ZP_MAX_ENTRY_ALIGN, 0, NULL},
    [ZP_OPT_SLOTS] = {"slots", "slots", 0, ZP_SLOTS_MOST, 0, NULL},
    [ZP_OPT_PRECISION] = {"precision", "precision", 0, 2, ZP_BF16, "fp32 bf16 fp16"},
    [ZP_OPT_REDUCE] = {"reduce", "reduce", 0, 1, ZP_EXACT, "ordered exact"},
    [ZP_OPT_FP32_GRADIENTS] = {"fp32-gradients", "fp32_gradients", 0, 1, 0, NULL},
    [ZP_OPT_DYNAMIC_SHAPES] = {"dynamic-shapes", "dynamic_shapes", 0, 1, 0, NULL},
    [ZP_OPT_STEPS] = {"steps", "steps", 0, (int64_t)1 << 40, 1, NULL},
    [ZP_OPT_SEED] = {"seed", "seed", 0, INT64_MAX, 1, NULL},
};

enum { KEY_FIRST = 0x1000, KEY_GROUPS = 0x1100, KEY_CONFIG, KEY_JSON, KEY_LR, KEY_CLIP, KEY_SCALE };

const char *zp_opt_name(int32_t opt)
{
  return rows[opt].name;
}

void zp_opt_range(int32_t opt, int64_t *lo, int64_t *hi)
{
  *lo = rows[opt].lo;
  *hi = rows[opt].hi;
}

/* The number that a word of field opt stands for; -1 when the field has no such word. */
int zp_opt_word(int32_t opt, const char *word, int64_t *value)
{
  const char *w = rows[opt].words;
  const size_t length = strlen(word);
  for (int64_t i = 0; w != NULL && *w != 0; i++) {
    const size_t n = strcspn(w, " ");
    if (n == length && strncmp(w, word, n) == 0) {
      *value = i;
      return 0;
    }
    w += n;
    w += strspn(w, " ");
  }
  return -1;
}

static void take_value(zp_options *o, int32_t opt, const char *arg, struct argp_state *state)
{
  const opt_row *row = &rows[opt];
  int64_t v = 1;
  if (row->words != NULL) {
    if (zp_opt_word(opt, arg, &v) != 0)
      argp_error(state, "--%s: '%s' is not one of: %s.", row->flag, arg, row->words);
  } else if (arg != NULL) {
    if (zp_parse_count(arg, &v) != 0)
      argp_error(state,
                 "--%s: '%s' is not a whole number; allowed is %lld to %lld (Ki, Mi, Gi, "
                 "Ti may follow).",
                 row->flag, arg, (long long)row->lo, (long long)row->hi);
    else if (v < row->lo || v > row->hi)
      argp_error(state, "--%s: %s is out of range; allowed is %lld to %lld.", row->flag, arg,
                 (long long)row->lo, (long long)row->hi);
  }
  o->value[opt] = v;
  o->by_flag[opt] = 1;
}

static void take_groups(zp_options *o, const char *arg, struct argp_state *state)
{
  int32_t n = 1;
  for (const char *p = arg; *p != 0; p++) n += *p == ',';
  free(o->groups);
  o->groups = calloc((size_t)n, sizeof *o->groups);
  if (o->groups == NULL) argp_failure(state, ZP_EXIT_ENVIRONMENT, ENOMEM, "--groups");
  o->n_groups = n;
  o->groups_by_flag = 1;
  for (int32_t i = 0; i < n; i++) {
    const size_t length = strcspn(arg, ",");
    char word[32] = "";
    int64_t k = 0;
    if (length < sizeof word) memcpy(word, arg, length);
    if (zp_parse_count(word, &k) != 0 || k < 1 || k > ZP_MAX_GROUPS)
      argp_error(state,
                 "--groups: '%.*s' (stage %d) is not a number from 1 to %lld; write one "
                 "number per stage, as in 2,1.",
                 (int)length, arg, (int)i, (long long)ZP_MAX_GROUPS);
    o->groups[i] = (int32_t)k;
    arg += length + (arg[length] == ',');
  }
}

static error_t parse_common(int key, char *arg, struct argp_state *state)
{
  zp_options *o = state->input;
  if (key >= KEY_FIRST && key < KEY_FIRST + ZP_OPTS) {
    take_value(o, key - KEY_FIRST, arg, state);
    return 0;
  }
  switch (key) {
  case KEY_GROUPS: take_groups(o, arg, state); return 0;
  case KEY_CONFIG: o->config_file = arg; return 0;
  case KEY_JSON: o->json = 1; return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

static void take_number(struct argp_state *state, const char *flag, const char *arg, double lo,
                        double *value)
{
  char *end;
  const double v = strtod(arg, &end);
  if (*arg == 0 || *end != 0 || !(v >= lo) || v > 1e30)
    argp_error(state, "--%s: '%s' is not a number from %g to 1e+30.", flag, arg, lo);
  *value = v;
}

static error_t parse_hyper(int key, char *arg, struct argp_state *state)
{
  zp_options *o = state->input;
  char why[256];
  switch (key) {
  case KEY_LR:
    take_number(state, "lr", arg, 0, &o->hyper.optim[0].lr);
    o->hyper_by_flag[ZP_HYPER_OPTIMIZER] = 1;
    return 0;
  case KEY_CLIP:
    take_number(state, "clip", arg, 0, &o->hyper.clip);
    o->hyper_by_flag[ZP_HYPER_CLIP] = 1;
    return 0;
  case KEY_SCALE:
    if (zp_parse_loss_scale(arg, &o->hyper.scaler, why, sizeof why) != 0)
      argp_error(state, "--loss-scale: %s", why);
    o->hyper_by_flag[ZP_HYPER_SCALE] = 1;
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

#define ROW(OPT, FLAG, ARG, DOC)                                                                   \
  {                                                                                                \
    FLAG, KEY_FIRST + OPT, ARG, 0, DOC, 1                                                          \
  }
static const struct argp_option common_options[] = {
    {NULL, 0, NULL, 0, "Topology and partition:", 1},
    ROW(ZP_OPT_PP, "pp", "S", "pipeline stages (1)"),
    ROW(ZP_OPT_DP, "dp", "N", "data-parallel ranks (1)"),
    ROW(ZP_OPT_TP, "tp", "N", "tensor-parallel ranks (1)"),
    ROW(ZP_OPT_EP, "ep", "N", "expert-parallel ranks inside dp (1)"),
    ROW(ZP_OPT_REPLICAS, "replicas", "R",
        "blocks of dp/R ranks, each with a replica of the state (1)"),
    ROW(ZP_OPT_STAGE, "stage", "0|1|2", "ZeRO stage (2)"),
    ROW(ZP_OPT_MICRO_BATCHES, "micro-batches", "M", "micro-batches a window"),
    {"groups", KEY_GROUPS, "K0,K1,...", 0, "optimizer groups of each stage", 1},
    ROW(ZP_OPT_BUCKET, "bucket", "ELEMENTS", "bucket capacity: 4096, 4Ki, 16Mi"),
    ROW(ZP_OPT_ALIGN, "align", "ELEMENTS", "parts are multiples of this (1)"),
    ROW(ZP_OPT_ENTRY_ALIGN, "entry-align", "ELEMENTS",
        "entries start at multiples of this in their flat groups (0, the default: 128 bytes' "
        "worth, so that gathers write parameters in place; 1, the default of sim: no padding)"),
    ROW(ZP_OPT_SLOTS, "slots", "N",
        "bucket slots of a rank at ZeRO stage 2, raised to what the job needs (0, the default: one "
        "more than that, at least 2)"),
    ROW(ZP_OPT_PRECISION, "precision", "fp32|bf16|fp16",
        "parameters, gradients, activations (bf16)"),
    ROW(ZP_OPT_REDUCE, "reduce", "ordered|exact", "how contributions are added (exact)"),
    ROW(ZP_OPT_FP32_GRADIENTS, "fp32-gradients", NULL,
        "gradients are fp32, whatever the precision; train does not support it"),
    ROW(ZP_OPT_DYNAMIC_SHAPES, "dynamic-shapes", NULL, "a meta message precedes every activation"),
    ROW(ZP_OPT_STEPS, "steps", "N", "optimizer steps"),
    ROW(ZP_OPT_SEED, "seed", "N", "seed of everything random (1)"),
    {"config", KEY_CONFIG, "FILE", 0, "read these from a JSON file; flags override it", 1},
    {"json", KEY_JSON, NULL, 0, "print JSON for machines", 1},
    {0}};
#undef ROW

static const struct argp_option hyper_options[] = {
    {NULL, 0, NULL, 0, "Optimizer:", 2},
    {"lr", KEY_LR, "RATE", 0, "learning rate of every optimizer group", 2},
    {"clip", KEY_CLIP, "NORM", 0, "largest norm of the gradient; 0 is no clipping", 2},
    {"loss-scale", KEY_SCALE, "N|dynamic[:…]", 0,
     "a power of two, or dynamic:init=65536,window=1000,min=1,max=16777216,hysteresis=2,"
     "consecutive=0 (any of them)",
     2},
    {0}};

const struct argp zp_options_child = {common_options, parse_common, NULL, NULL, NULL, NULL, NULL};
const struct argp zp_hyper_child = {hyper_options, parse_hyper, NULL, NULL, NULL, NULL, NULL};

void zp_options_init(zp_options *o, const char *command)
{
  memset(o, 0, sizeof *o);
  o->command = command;
  o->optgroups = o->tied_keys = -1;
  for (int32_t i = 0; i < ZP_OPTS; i++) o->value[i] = rows[i].first;
  o->hyper.groups = 1;
  o->hyper.optim[0] = (zp_optim){ZP_OPTIM_ADAMW, 1e-3, 0.9, 0.999, 1e-8, 0.0, 0.0};
  o->hyper.clip = 1.0;
  o->hyper.clip_eps = 1e-6;
  (void)zp_scaler_init(&o->hyper.scaler, 1, 16, 0, 24, 1000, 1, 0);
}

void zp_options_free(zp_options *o)
{
  for (int32_t j = 0; o->masks != NULL && j < o->n_params; j++) free(o->masks[j].skip);
  free(o->masks);
  o->masks = NULL;
  free(o->groups);
  free(o->params);
  free(o->names);
  o->groups = NULL;
  o->params = NULL;
  o->names = NULL;
}

/* Deals the entries of each stage out to its K optimizer groups in turn. A tied key must have one
 * optimizer group on all stages, so tied entries stay in group 0; frozen ones are in none. */
static void apply_groups(zp_options *o)
{
  int32_t stage = -1, turn = 0, most = 1;
  for (int32_t j = 0; j < o->n_params; j++) {
    zp_param *p = &o->params[j];
    const int32_t k = p->stage >= 0 && p->stage < o->n_groups ? o->groups[p->stage] : 1;
    if (p->stage != stage) {
      stage = p->stage;
      turn = 0;
    }
    p->optgroup = p->tied >= 0 || p->frozen ? 0 : turn++ % k;
    if (k > most) most = k;
  }
  o->optgroups = most;
}

zp_config zp_options_config(zp_options *o)
{
  zp_config cfg = {0};
  if (o->groups != NULL) apply_groups(o);
  if (o->optgroups < 0 || o->tied_keys < 0) {
    int32_t groups = 0, keys = 0;
    for (int32_t j = 0; j < o->n_params; j++) {
      if (o->params[j].optgroup >= groups) groups = o->params[j].optgroup + 1;
      if (o->params[j].tied >= keys) keys = o->params[j].tied + 1;
    }
    if (o->optgroups < 0) o->optgroups = groups > 0 ? groups : 1;
    if (o->tied_keys < 0) o->tied_keys = keys;
  }
  cfg.pp = (int32_t)o->value[ZP_OPT_PP];
  cfg.dp = (int32_t)o->value[ZP_OPT_DP];
  cfg.tp = (int32_t)o->value[ZP_OPT_TP];
  cfg.ep = (int32_t)o->value[ZP_OPT_EP];
  cfg.stage = (int32_t)o->value[ZP_OPT_STAGE];
  cfg.reduce = (int32_t)o->value[ZP_OPT_REDUCE];
  cfg.precision = (int32_t)o->value[ZP_OPT_PRECISION];
  cfg.dynamic_shapes = (int32_t)o->value[ZP_OPT_DYNAMIC_SHAPES];
  cfg.micro_batches = o->value[ZP_OPT_MICRO_BATCHES];
  cfg.bucket = o->value[ZP_OPT_BUCKET];
  cfg.align = o->value[ZP_OPT_ALIGN];
  cfg.optgroups = o->optgroups;
  cfg.tied_keys = o->tied_keys;
  cfg.n_params = o->n_params;
  cfg.params = o->params;
  o->hyper.replicas = (int32_t)o->value[ZP_OPT_REPLICAS];
  o->hyper.entry_align = (int32_t)o->value[ZP_OPT_ENTRY_ALIGN];
  o->hyper.slots = (int32_t)o->value[ZP_OPT_SLOTS];
  o->hyper.fp32_gradients = (int32_t)o->value[ZP_OPT_FP32_GRADIENTS];
  return cfg;
}

/* Can every stage use its K optimizer groups? One needs no entry. */
static int check_groups(const zp_options *o, const zp_config *cfg)
{
  int32_t j = 0;
  for (int32_t s = 0; s < o->n_groups; s++) {
    int32_t n = 0;
    for (; j < cfg->n_params && cfg->params[j].stage == s; j++)
      n += cfg->params[j].tied < 0 && !cfg->params[j].frozen;
    if (o->groups[s] > 1 && o->groups[s] > n)
      return zp_refuse(o,
                       "groups: stage %d has %d trained %s and cannot use %d optimizer groups; "
                       "allowed is 1 to %d. (Tied entries stay in group 0 and do not count.)",
                       (int)s, (int)n, n == 1 ? "entry" : "entries", (int)o->groups[s],
                       n > 1 ? (int)n : 1);
  }
  return 0;
}

int zp_options_check(const zp_options *o, const zp_config *cfg)
{
  zp_refusal why;
  zp_error err = {0};
  char text[512];
  const char *name = NULL;
  if (o->groups != NULL && o->n_groups != cfg->pp)
    return zp_refuse(o, "groups: %d numbers for %d stages; give one number per stage (pp).",
                     (int)o->n_groups, (int)cfg->pp);
  if (zp_config_check(cfg, &why) == 0) {
    if (zp_block_check(cfg, zp_replicas(&o->hyper), &err) ||
        zp_block_check_align(cfg, zp_entry_align(o->hyper.entry_align, cfg->precision), &err))
      return zp_refuse(o, "%s", err.text);
    return o->groups == NULL ? 0 : check_groups(o, cfg);
  }
  /* sim's list may be another than the options' */
  if (o->names != NULL && cfg->n_params == o->n_params && why.index >= 0 && why.index < o->n_params)
    name = o->names[why.index];
  zp_refusal_text(&why, name, text, sizeof text);
  return zp_refuse(o, "%s", text);
}
