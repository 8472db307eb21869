/* Which axes a random case is on: the table of shares of `zeroproof fuzz`. */
#include "../engine/partial.h"
#include "../plan/flat_size.h"
#include "random_case.h"

static int any_param(const zp_case *c, int (*is)(const zp_case *, int32_t))
{
  for (int32_t j = 0; j < c->cfg.n_params; j++)
    if (is(c, j)) return 1;
  return 0;
}

static int64_t members(const zp_case *c, int32_t j)
{
  const int32_t ranks = c->cfg.dp / c->replicas;
  return c->params[j].expert ? ranks / c->cfg.ep : ranks;
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
static int is_fp32(const zp_case *c, int32_t j)
{
  return c->params[j].fp32;
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
      start += zp_flat_size(q, c->entry_align);
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

/* Is there a stage without entries? */
static int has_idle_stage(const zp_case *c)
{
  int32_t entries = 0;
  for (int32_t s = 0; s < c->cfg.pp; s++, entries = 0) {
    for (int32_t j = 0; j < c->cfg.n_params; j++) entries += c->params[j].stage == s;
    if (entries == 0) return 1;
  }
  return 0;
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
  REPLICAS,
  ORDERED,
  EXACT,
  FP32,
  BF16,
  FP16,
  FP32_GRADIENTS,
  FP32_ENTRIES,
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
  IDLE_STAGE,
  FROZEN,
  UNUSED,
  OFTEN_UNUSED,
  ONE_SIDED,
  DYNAMIC,
  VARY,
  TUPLE,
  ALIGN,
  ENTRY_ALIGN,
  SLOTS,
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
  SUM_OVERFLOW,
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
  UNIT_HUGE,
  UNIT_MINUTE,
  RELOADED,
  MOVED,
  MANY,
  PARTIAL_GATHERS,
  LENT,
  EARLY,
  UNUSED_EARLY,
  AXES
} axis;
_Static_assert((int)AXES <= (int)ZP_FUZZ_AXES, "raise ZP_FUZZ_AXES");

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
    {"replicas", "several replicas of the state (HSDP)", NULL},
    {"ordered", "ordered reduction", "reduction, precision, optimizer groups"},
    {"exact", "exact reduction", NULL},
    {"fp32", NULL, NULL},
    {"bf16", NULL, NULL},
    {"fp16", NULL, NULL},
    {"fp32 gradients", "fp32 gradients beside 16-bit parameters", NULL},
    {"fp32 entries", "fp32 parameters beside 16-bit ones", NULL},
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
    {"stage without parameters", "a stage without parameters", NULL},
    {"frozen", NULL, NULL},
    {"unused", "unused in a micro-batch", NULL},
    {"often unused", "unused in most micro-batches", NULL},
    {"one-sided use", "tied, of whose uses one takes part", NULL},
    {"dynamic shapes", "shapes are sent before the data", "messages between pipeline stages"},
    {"shapes vary", "shapes vary by micro-batch", NULL},
    {"tuple messages", "a message is two tensors", NULL},
    {"align > 1", "a rank's part is padded", "buckets"},
    {"entry alignment", "entries start at multiples of an alignment", NULL},
    {"bucket slots", "a rank has a given number of bucket slots", NULL},
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
    {"overflow in a sum", "a sum of finite gradients overflows", NULL},
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
    {"unit 2^64", "coded or dyadic, near 1e20", NULL},
    {"unit 2^-80", "coded or dyadic, near 1e-20", NULL},
    {"saved and loaded", NULL, "checkpoint and size"},
    {"loaded under another topology", NULL, NULL},
    {"twelve parameters or more", NULL, NULL},
    {"partial gathers", "gathers beside forward (partial_gather)",
     "options of the engine (in at least one order of the case)"},
    {"lent memory", "gradients are written in lent memory (grad_buffer)", NULL},
    {"early bytes", "little room for early gradients (early_bytes)", NULL},
    {"unused early", "unused entries are declared before backward", NULL}};

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

int zp_fuzz_axis_is_option(int32_t axis)
{
  return axis >= PARTIAL_GATHERS;
}

double zp_fuzz_axis_share_min(int32_t axis)
{
  switch (axis) {
  case ENTRY_ALIGN:
  case SLOTS:
  case FP32_GRADIENTS:
  case FP32_ENTRIES:
  case RATES:
  case PARTIAL_GATHERS:
  case LENT:
  case EARLY:
  case UNUSED_EARLY: return 0.05;
  default: return 0.02;
  }
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
  case IDLE_STAGE: return has_idle_stage(c);
  case FROZEN: return any_param(c, is_frozen);
  default: return c->cfg.n_params >= 12;
  }
}

static int on_config_axis(int32_t axis, const zp_case *c)
{
  const zp_config *cfg = &c->cfg;
  switch (axis) {
  case PP: return cfg->pp > 1;
  case DP: return cfg->dp > 1;
  case TP: return cfg->tp > 1;
  case EP: return cfg->ep > 1;
  case STAGE2_PP: return cfg->stage == 2 && cfg->pp > 1;
  case REPLICAS: return c->replicas > 1;
  case ORDERED: return cfg->reduce == ZP_ORDERED;
  case EXACT: return cfg->reduce == ZP_EXACT;
  case FP32: return cfg->precision == ZP_F32;
  case BF16: return cfg->precision == ZP_BF16;
  case FP16: return cfg->precision == ZP_F16;
  case FP32_GRADIENTS: return c->synth.fp32_gradients && cfg->precision != ZP_F32;
  case FP32_ENTRIES: return cfg->precision != ZP_F32 && any_param(c, is_fp32);
  default: return cfg->stage == axis - STAGE0;
  }
}

int zp_fuzz_on_axis(int32_t axis, const zp_case *c, const zp_verdict *v)
{
  if (axis <= FP32_ENTRIES) return on_config_axis(axis, c);
  if (axis <= FROZEN || axis == MANY) return on_list_axis(axis, c);
  switch (axis) {
  case UNUSED: return c->synth.unused > 0;
  case OFTEN_UNUSED: return c->synth.unused > 160;
  case ONE_SIDED: return c->synth.oneside;
  case DYNAMIC: return c->cfg.dynamic_shapes && c->cfg.pp > 1;
  case VARY: return c->synth.vary && c->cfg.pp > 1;
  case TUPLE: return c->synth.tuple && c->cfg.pp > 1;
  case ALIGN: return c->cfg.align > 1;
  case ENTRY_ALIGN: return c->entry_align > 1;
  case SLOTS: return c->slots > 0 && c->cfg.stage == 2;
  case RATES: return c->rates;
  case CLIP_OFF: return c->clip == 0;
  case CLIP_BINDING: return v->clipped > 0;
  case CLIP_LOOSE: return c->clip > 0 && v->clipped < v->steps - v->skipped;
  case STATIC: return !c->scaler.dynamic;
  case SCALE_DYNAMIC: return c->scaler.dynamic;
  case OVERFLOW: return v->skipped > 0;
  case SUM_OVERFLOW: return c->synth.oversum != 0;
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
  case MOVED:
    return v->reloaded && c->reload.pp > 0 &&
           (c->reload.pp != c->cfg.pp || c->reload.dp != c->cfg.dp);
  case UNIT_HUGE: return c->synth.mode != ZP_SYNTH_WILD && c->synth.log2_unit > 30;
  case UNIT_MINUTE: return c->synth.mode != ZP_SYNTH_WILD && c->synth.log2_unit < -60;
  case HUGE_VALUES: return c->synth.huge && c->synth.mode == ZP_SYNTH_WILD;
  case PARTIAL_GATHERS: return v->partials > 0;
  case LENT: return v->lent > 0;
  case EARLY: return v->early > 0;
  case UNUSED_EARLY: return v->unused_early > 0;
  default: return c->optim == axis - SGD;
  }
}
