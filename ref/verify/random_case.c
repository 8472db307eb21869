#include "random_case.h"

#include <string.h>

#include "../engine/partial.h"

enum { MOST_RANKS = 16, MOST_ELEMENTS = 1000, MOST_ENTRIES = 48 };

typedef struct dice {
  uint64_t state;
} dice;

static uint64_t next(dice *d)
{
  uint64_t z = d->state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

/* 0 .. n-1 */
static int32_t roll(dice *d, int32_t n)
{
  return (int32_t)(next(d) >> 33) % n;
}

/* 1 in `percent` of 100 cases. */
static int chance(dice *d, int32_t percent)
{
  return roll(d, 100) < percent;
}

static int32_t pick(dice *d, const int32_t *from, int32_t n)
{
  return from[roll(d, n)];
}

/* ---- Topology and the scalar fields ---------------------------------------------------------- */

static void random_topology(dice *d, zp_config *cfg)
{
  int32_t ranks;
  do {
    cfg->pp = 1 + (chance(d, 85) ? roll(d, 6) : 0);
    cfg->dp = 1 + roll(d, 8);
    cfg->tp = chance(d, 35) ? 2 + roll(d, 2) : 1;
    ranks = cfg->pp * cfg->dp * cfg->tp;
  } while (ranks > MOST_RANKS || roll(d, 8) > ranks); /* small ones are rarer */
  cfg->ep = 1;
  if (!chance(d, 45)) return;
  do cfg->ep = 1 + roll(d, cfg->dp);
  while (cfg->dp % cfg->ep != 0 || (cfg->ep == 1 && cfg->dp > 1 && chance(d, 60)));
}

static void random_config(dice *d, zp_config *cfg)
{
  static const int32_t aligns[] = {1, 1, 1, 1, 2, 3, 4, 8};
  random_topology(d, cfg);
  cfg->stage = roll(d, 3);
  cfg->reduce = roll(d, 2);
  cfg->precision = roll(d, 3);
  cfg->micro_batches = 1 + roll(d, 6);
  cfg->align = pick(d, aligns, 8);
  cfg->bucket = chance(d, 50) ? 1 + roll(d, 24) : 1 + roll(d, 200);
  cfg->dynamic_shapes = chance(d, 30);
}

/* ---- Parameters ------------------------------------------------------------------------------ */

/* Sizes that hide in corners: none, one, fewer than ranks, odd; and ordinary ones. */
static int64_t random_numel(dice *d, int32_t flavour, int32_t dp)
{
  static const int32_t corners[] = {0, 1, 2, 3, 5, 7, 9, 15, 16, 17};
  if (flavour == 0) return 1 + roll(d, 4); /* many tiny ones */
  if (chance(d, 25)) return pick(d, corners, 10);
  if (chance(d, 10)) return roll(d, dp + 1);
  if (flavour == 1 && chance(d, 30)) return 40 + roll(d, 200); /* larger than buckets */
  return 1 + roll(d, 48);
}

static zp_param random_entry(dice *d, const zp_config *cfg, int32_t flavour, int32_t stage,
                             int32_t groups)
{
  zp_param p;
  memset(&p, 0, sizeof p);
  p.numel = random_numel(d, flavour, cfg->dp);
  p.stage = stage;
  p.optgroup = roll(d, groups);
  p.tied = -1;
  p.sharded = chance(d, cfg->tp > 1 ? 50 : 10);
  p.expert = chance(d, cfg->ep > 1 ? 40 : 4);
  p.frozen = chance(d, 8);
  return p;
}

/* Puts entry p at the end of stage's entries, or at its start. */
static void insert(zp_case *c, const zp_param *p, int at_end)
{
  int32_t i = 0;
  if (c->cfg.n_params == MOST_ENTRIES) return;
  while (i < c->cfg.n_params && c->params[i].stage < p->stage + at_end) i++;
  memmove(&c->params[i + 1], &c->params[i], (size_t)(c->cfg.n_params - i) * sizeof *p);
  c->params[i] = *p;
  c->cfg.n_params++;
}

/* Up to two tied keys, each with two or three uses on stages of their own or on one. */
static void random_tied(dice *d, zp_case *c)
{
  const int32_t keys = 1 + chance(d, 45);
  for (int32_t key = 0; key < keys; key++) {
    const int32_t uses = 2 + chance(d, 20);
    const int32_t one_stage = chance(d, 25);
    const int32_t home = roll(d, c->cfg.pp);
    zp_param p = random_entry(d, &c->cfg, 2, 0, 2);
    p.expert = 0;
    p.tied = key;
    for (int32_t u = 0; u < uses; u++) {
      p.stage = one_stage ? home : u == 0 ? 0 : u == 1 ? c->cfg.pp - 1 : roll(d, c->cfg.pp);
      insert(c, &p, u % 2);
    }
  }
}

static void random_list(dice *d, zp_case *c)
{
  const int32_t flavour = roll(d, 4); /* 0 tiny, 1 with large ones, else mixed */
  c->cfg.n_params = 0;
  for (int32_t s = 0; s < c->cfg.pp; s++) {
    const int32_t groups = 1 + roll(d, 3);
    int32_t n = flavour == 0 ? 4 + roll(d, 8) : 2 + roll(d, 4);
    if (c->cfg.pp > 1 && chance(d, 3)) n = 0; /* a stage without parameters */
    if (c->cfg.pp == 1) n += 3;
    for (int32_t i = 0; i < n && c->cfg.n_params < MOST_ENTRIES - 6; i++)
      c->params[c->cfg.n_params++] = random_entry(d, &c->cfg, flavour, s, groups);
  }
  if (chance(d, 35)) random_tied(d, c);
  zp_case_settle(c);
  while (zp_case_elements(c) > MOST_ELEMENTS)
    for (int32_t j = 0; j < c->cfg.n_params; j++)
      if (c->params[j].numel > 8) c->params[j].numel = c->params[j].numel * 3 / 4;
}

/* ---- Training -------------------------------------------------------------------------------- */

static void random_scaler(dice *d, zp_case *c)
{
  const int32_t log2 = roll(d, 14);
  (void)zp_scaler_init(&c->scaler, 0, 0, 0, 0, 1, 1, 0);
  if (chance(d, 35)) return;
  if (chance(d, 25)) (void)zp_scaler_init(&c->scaler, 0, log2, log2, log2, 1, 1, 0);
  else
    (void)zp_scaler_init(&c->scaler, 1, log2, chance(d, 30) ? log2 : 0, log2 + 2, 1 + roll(d, 2),
                         1 + chance(d, 25), roll(d, 2));
}

static void random_training(dice *d, zp_case *c)
{
  static const double clips[] = {0, 0, 1e-3, 0.25, 2, 1e6};
  const int32_t mode = roll(d, 100);
  c->steps = 1 + (chance(d, 45) ? 1 + roll(d, 2) : 0);
  c->optim = roll(d, 4);
  c->clip = clips[roll(d, 6)];
  random_scaler(d, c);
  c->synth.seed = next(d) >> 40;
  c->synth.mode = mode < 45 ? ZP_SYNTH_CODED : mode < 60 ? ZP_SYNTH_DYADIC : ZP_SYNTH_WILD;
  c->synth.log2_unit = -c->scaler.log2_scale;
  c->synth.huge = chance(d, 35);
  c->synth.vary = chance(d, 40);
  c->synth.tuple = chance(d, 40);
  if (chance(d, 40)) c->synth.unused = 16 + roll(d, 160);
  if (chance(d, 16)) c->synth.overflow = 1 + (uint32_t)roll(d, 7);
  if (chance(d, 5)) c->synth.bad_loss = 1 + (uint32_t)roll(d, 7);
}

/* Where the case is saved and loaded: under exact reduction any split of the global batch that the
 * experts' copies allow. */
static void random_reload(dice *d, zp_case *c)
{
  const zp_config *cfg = &c->cfg;
  zp_reload r = {cfg->pp, cfg->dp, cfg->stage, cfg->bucket};
  zp_case other;
  for (int32_t i = 0; i < 16 && cfg->reduce == ZP_EXACT; i++) {
    r.pp = 1 + roll(d, 6);
    r.dp = 1 + roll(d, 12);
    r.stage = roll(d, 3);
    r.bucket = 1 + roll(d, 100);
    c->reload = r;
    if (r.pp * r.dp * cfg->tp <= MOST_RANKS && zp_case_reloaded(c, &other)) return;
  }
  c->reload = (zp_reload){cfg->pp, cfg->dp, cfg->stage, cfg->bucket};
}

/* 1: stage s has a tied entry. */
static int has_tied(const zp_case *c, int32_t s)
{
  for (int32_t j = 0; j < c->cfg.n_params; j++)
    if (c->params[j].stage == s && c->params[j].tied >= 0) return 1;
  return 0;
}

/* Some cases get a stage whose entries are all tied, or all frozen, or a frozen tied key. */
static void random_stages(dice *d, zp_case *c)
{
  const int32_t s = roll(d, c->cfg.pp), key = roll(d, c->cfg.tied_keys + 1);
  const int tied = has_tied(c, s), bare = tied && c->cfg.pp > 1 && chance(d, 40);
  const int frozen = !tied && c->cfg.pp > 1 && chance(d, 12), freeze = chance(d, 12);
  int32_t n = 0;
  for (int32_t j = 0; j < c->cfg.n_params; j++) {
    zp_param p = c->params[j];
    if (p.stage == s && bare && p.tied < 0) continue;
    if ((p.stage == s && frozen) || (p.tied >= 0 && p.tied == key && freeze)) p.frozen = 1;
    c->params[n++] = p;
  }
  c->cfg.n_params = n;
  zp_case_settle(c);
}

void zp_fuzz_random(uint64_t seed, uint64_t i, zp_case *c)
{
  dice d = {seed * 0xd1342543de82ef95u ^ i * 0x2545f4914f6cdd1du};
  (void)next(&d);
  zp_case_init(c);
  random_config(&d, &c->cfg);
  random_list(&d, c);
  random_training(&d, c);
  random_stages(&d, c);
  c->rates = chance(&d, 15);
  if (chance(&d, 10)) random_reload(&d, c);
  c->cfg.sequence_parallel = c->cfg.tp > 1 && chance(&d, 50);
  c->unchecked = i % 4 != 0; /* the check costs as much as the simulation */
}

/* ---- Axes ------------------------------------------------------------------------------------ */

static int any_param(const zp_case *c, int (*is)(const zp_case *, int32_t))
{
  for (int32_t j = 0; j < c->cfg.n_params; j++)
    if (is(c, j)) return 1;
  return 0;
}

static int64_t members(const zp_case *c, int32_t j)
{
  return c->params[j].expert ? c->cfg.dp / c->cfg.ep : c->cfg.dp;
}

static int64_t capacity(const zp_case *c, int32_t j)
{
  const int64_t unit = members(c, j) * c->cfg.align;
  return (c->cfg.bucket + unit - 1) / unit * unit;
}

static int is_empty(const zp_case *c, int32_t j)
{
  return c->params[j].numel == 0;
}
static int is_small(const zp_case *c, int32_t j)
{
  return c->params[j].numel > 0 && c->params[j].numel < c->cfg.dp;
}
static int is_sharded(const zp_case *c, int32_t j)
{
  return c->params[j].sharded && c->cfg.tp > 1;
}
static int is_replica(const zp_case *c, int32_t j)
{
  return !c->params[j].sharded && c->cfg.tp > 1;
}
static int is_part(const zp_case *c, int32_t j)
{
  return zp_is_partial(&c->cfg, j);
}
static int is_expert(const zp_case *c, int32_t j)
{
  return c->params[j].expert && c->cfg.ep > 1;
}
static int is_frozen(const zp_case *c, int32_t j)
{
  return c->params[j].frozen;
}
static int is_uneven(const zp_case *c, int32_t j)
{
  return c->cfg.dp > 1 && c->params[j].numel % c->cfg.dp != 0;
}
static int is_large(const zp_case *c, int32_t j)
{
  return !c->params[j].frozen && c->params[j].numel > capacity(c, j);
}

/* Starts in one bucket and ends in another, without filling one. */
static int is_straddling(const zp_case *c, int32_t j)
{
  int64_t start = 0;
  const zp_param *p = &c->params[j];
  if (p->frozen || p->tied >= 0 || p->numel < 2) return 0;
  for (int32_t i = j + 1; i < c->cfg.n_params && c->params[i].stage == p->stage; i++) {
    const zp_param *q = &c->params[i];
    if (!q->frozen && q->tied < 0 && q->optgroup == p->optgroup && q->expert == p->expert)
      start += q->numel;
  }
  return start % capacity(c, j) != 0 &&
         start / capacity(c, j) != (start + p->numel - 1) / capacity(c, j);
}

static int is_tied_across(const zp_case *c, int32_t j)
{
  for (int32_t i = 0; i < j; i++)
    if (c->params[j].tied >= 0 && c->params[i].tied == c->params[j].tied &&
        c->params[i].stage != c->params[j].stage)
      return 1;
  return 0;
}

static int is_tied_here(const zp_case *c, int32_t j)
{
  for (int32_t i = 0; i < j; i++)
    if (c->params[j].tied >= 0 && c->params[i].tied == c->params[j].tied &&
        c->params[i].stage == c->params[j].stage)
      return 1;
  return 0;
}

/* Is there a stage whose entries all are so? */
static int any_stage(const zp_case *c, int (*is)(const zp_case *, int32_t))
{
  for (int32_t s = 0; s < c->cfg.pp; s++) {
    int32_t entries = 0, those = 0;
    for (int32_t j = 0; j < c->cfg.n_params; j++) {
      entries += c->params[j].stage == s;
      those += c->params[j].stage == s && is(c, j);
    }
    if (entries > 0 && those == entries) return 1;
  }
  return 0;
}

static int is_tied(const zp_case *c, int32_t j)
{
  return c->params[j].tied >= 0;
}

static int is_tied_and_frozen(const zp_case *c, int32_t j)
{
  return is_tied(c, j) && c->params[j].frozen;
}

static int unequal_groups(const zp_case *c)
{
  for (int32_t s = 1; s < c->cfg.pp; s++)
    if (zp_case_groups(c, s) != zp_case_groups(c, 0)) return 1;
  return 0;
}

typedef enum axis {
  PP,
  DP,
  TP,
  EP,
  STAGE0,
  STAGE1,
  STAGE2,
  STAGE2_PP,
  ORDERED,
  EXACT,
  FP32,
  BF16,
  FP16,
  UNEQUAL_K,
  STRADDLING,
  LARGE,
  UNEVEN,
  SMALL,
  EMPTY,
  SHARDED,
  REPLICATED,
  PARTIAL,
  EXPERTS,
  TIED_STAGES,
  TIED_ONE,
  TWO_KEYS,
  TIED_STAGE,
  TIED_FROZEN,
  FROZEN_STAGE,
  FROZEN,
  UNUSED,
  DYNAMIC,
  VARY,
  TUPLE,
  ALIGN,
  SGD,
  MOMENTUM,
  ADAMW,
  MIXED,
  RATES,
  CLIP_OFF,
  CLIP_BINDING,
  CLIP_LOOSE,
  STATIC,
  SCALE_DYNAMIC,
  OVERFLOW,
  LOWERED,
  GROWN,
  BAD_LOSS,
  STEPS,
  ONE_MB,
  FEW_MB,
  CODED,
  DYADIC,
  WILD,
  HUGE_VALUES,
  RELOADED,
  MOVED,
  MANY,
  AXES
} axis;

/* name: in JSON; title: for people, NULL: the name; heading: of the axes from here on. */
static const struct axis_text {
  const char *name, *title, *heading;
} texts[AXES] = {
    {"pp > 1", NULL, "topology"},
    {"dp > 1", NULL, NULL},
    {"tp > 1", NULL, NULL},
    {"ep > 1", NULL, NULL},
    {"stage 0", "ZeRO stage 0", NULL},
    {"stage 1", "ZeRO stage 1", NULL},
    {"stage 2", "ZeRO stage 2", NULL},
    {"stage 2 with pp", "ZeRO stage 2 and pp > 1", NULL},
    {"ordered", "ordered reduction", "reduction, precision, optimizer groups"},
    {"exact", "exact reduction", NULL},
    {"fp32", NULL, NULL},
    {"bf16", NULL, NULL},
    {"fp16", NULL, NULL},
    {"unequal K", "optimizer groups (K) of stages differ", NULL},
    {"straddling", "in two buckets or more", "parameters (at least one is …)"},
    {"larger than a bucket", NULL, NULL},
    {"not divisible by dp", "of a size not divisible by dp", NULL},
    {"fewer elements than ranks", "of fewer than dp elements", NULL},
    {"empty", "of 0 elements", NULL},
    {"sharded over tp", NULL, NULL},
    {"replicated over tp", NULL, NULL},
    {"sequence parallel", "replicated, with sequence parallelism", NULL},
    {"experts", "an expert's, with ep > 1", NULL},
    {"tied over stages", "tied over pipeline stages", NULL},
    {"tied on one stage", "tied within a pipeline stage", NULL},
    {"two tied keys", "in one of two sets of tied parameters", NULL},
    {"stage of tied parameters", "a stage whose parameters are all tied", NULL},
    {"tied and frozen", NULL, NULL},
    {"frozen stage", "a stage whose parameters are all frozen", NULL},
    {"frozen", NULL, NULL},
    {"unused", "unused in a micro-batch", NULL},
    {"dynamic shapes", "shapes are sent before the data", "messages between pipeline stages"},
    {"shapes vary", "shapes vary by micro-batch", NULL},
    {"tuple messages", "a message is two tensors", NULL},
    {"align > 1", "a rank's part is padded", "buckets"},
    {"sgd", NULL, "optimizer"},
    {"momentum", NULL, NULL},
    {"adamw", NULL, NULL},
    {"mixed optimizers", NULL, NULL},
    {"learning rates change", "learning rates change by step", NULL},
    {"clip off", "off", "gradient clipping (skipped steps do not count)"},
    {"clip binding", "a step was clipped (factor below 1)", NULL},
    {"clip not binding", "on, and a step had factor 1", NULL},
    {"static scale", "static", "loss scale"},
    {"dynamic scale", "dynamic", NULL},
    {"overflow, skipped", "overflow: a step was skipped", NULL},
    {"scale lowered", "lowered", NULL},
    {"scale grown", "raised", NULL},
    {"loss not finite", "a loss is not finite", NULL},
    {"several steps", NULL, "steps and micro-batches"},
    {"one micro-batch", NULL, NULL},
    {"fewer micro-batches than stages", "fewer micro-batches than pp", NULL},
    {"coded", "coded: sums show what is missing", "gradient values"},
    {"dyadic", "dyadic: sums are exact", NULL},
    {"wild", "wild: any bits", NULL},
    {"huge values", "wild, near the largest number", NULL},
    {"saved and loaded", NULL, "checkpoint and size"},
    {"loaded under another topology", NULL, NULL},
    {"twelve parameters or more", NULL, NULL}};

int32_t zp_fuzz_axes(void)
{
  return AXES;
}

const char *zp_fuzz_axis_name(int32_t axis)
{
  return texts[axis].name;
}

const char *zp_fuzz_axis_title(int32_t axis)
{
  return texts[axis].title != NULL ? texts[axis].title : texts[axis].name;
}

const char *zp_fuzz_axis_heading(int32_t axis)
{
  return texts[axis].heading;
}

static int on_list_axis(int32_t axis, const zp_case *c)
{
  switch (axis) {
  case UNEQUAL_K: return unequal_groups(c);
  case STRADDLING: return any_param(c, is_straddling);
  case LARGE: return any_param(c, is_large);
  case UNEVEN: return any_param(c, is_uneven);
  case SMALL: return any_param(c, is_small);
  case EMPTY: return any_param(c, is_empty);
  case SHARDED: return any_param(c, is_sharded);
  case REPLICATED: return any_param(c, is_replica);
  case PARTIAL: return any_param(c, is_part);
  case EXPERTS: return any_param(c, is_expert);
  case TIED_STAGES: return any_param(c, is_tied_across);
  case TIED_ONE: return any_param(c, is_tied_here);
  case TWO_KEYS: return c->cfg.tied_keys > 1;
  case TIED_STAGE: return any_stage(c, is_tied);
  case TIED_FROZEN: return any_param(c, is_tied_and_frozen);
  case FROZEN_STAGE: return any_stage(c, is_frozen);
  case FROZEN: return any_param(c, is_frozen);
  default: return c->cfg.n_params >= 12;
  }
}

static int on_config_axis(int32_t axis, const zp_config *cfg)
{
  switch (axis) {
  case PP: return cfg->pp > 1;
  case DP: return cfg->dp > 1;
  case TP: return cfg->tp > 1;
  case EP: return cfg->ep > 1;
  case STAGE2_PP: return cfg->stage == 2 && cfg->pp > 1;
  case ORDERED: return cfg->reduce == ZP_ORDERED;
  case EXACT: return cfg->reduce == ZP_EXACT;
  case FP32: return cfg->precision == ZP_F32;
  case BF16: return cfg->precision == ZP_BF16;
  case FP16: return cfg->precision == ZP_F16;
  default: return cfg->stage == axis - STAGE0;
  }
}

int zp_fuzz_on_axis(int32_t axis, const zp_case *c, const zp_verdict *v)
{
  if (axis <= FP16) return on_config_axis(axis, &c->cfg);
  if (axis <= FROZEN || axis == MANY) return on_list_axis(axis, c);
  switch (axis) {
  case UNUSED: return c->synth.unused > 0;
  case DYNAMIC: return c->cfg.dynamic_shapes && c->cfg.pp > 1;
  case VARY: return c->synth.vary && c->cfg.pp > 1;
  case TUPLE: return c->synth.tuple && c->cfg.pp > 1;
  case ALIGN: return c->cfg.align > 1;
  case RATES: return c->rates;
  case CLIP_OFF: return c->clip == 0;
  case CLIP_BINDING: return v->clipped > 0;
  case CLIP_LOOSE: return c->clip > 0 && v->clipped < v->steps - v->skipped;
  case STATIC: return !c->scaler.dynamic;
  case SCALE_DYNAMIC: return c->scaler.dynamic;
  case OVERFLOW: return v->skipped > 0;
  case LOWERED: return v->lowered > 0;
  case GROWN: return v->grown > 0;
  case BAD_LOSS: return c->synth.bad_loss != 0;
  case STEPS: return c->steps > 1;
  case ONE_MB: return c->cfg.micro_batches == 1;
  case FEW_MB: return c->cfg.micro_batches < c->cfg.pp;
  case CODED:
  case DYADIC:
  case WILD: return c->synth.mode == axis - CODED;
  case RELOADED: return v->reloaded;
  case MOVED: return v->reloaded && (c->reload.pp != c->cfg.pp || c->reload.dp != c->cfg.dp);
  case HUGE_VALUES: return c->synth.huge && c->synth.mode == ZP_SYNTH_WILD;
  default: return c->optim == axis - SGD;
  }
}
