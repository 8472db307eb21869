/* The configuration: the planner's only input. Integers, owned by the caller, never changed.
 * spec: TOPO-1, TOPO-2, PART-1 (limits: LIM-1 … LIM-9) */
#ifndef ZP_PLAN_CONFIG_H
#define ZP_PLAN_CONFIG_H

#include <stdint.h>

#include "../../spec/acsl/bounds.h"
#include "dtype.h"

/* spec: LIM-1 … LIM-9 state these numbers; zp_config_check enforces them. */
#define ZP_MAX_RANKS ((int64_t)1 << 20)
#define ZP_MAX_ELEMENTS ((int64_t)1 << 40)
#define ZP_MAX_MICRO_BATCHES ((int64_t)1 << 20)
#define ZP_MAX_BUCKET ((int64_t)1 << 40)
#define ZP_MAX_ALIGN ((int64_t)1 << 12)
#define ZP_MAX_PARAMS ((int64_t)1 << 16)
#define ZP_MAX_GROUPS ((int64_t)1 << 8)
#define ZP_MAX_TIED ((int64_t)1 << 10) /* keys, and entries that have one */
#define ZP_MAX_CONTRIBUTIONS ((int64_t)1 << 30)

typedef enum zp_reduce {
  ZP_ORDERED = 0, /* fp32 additions in the spec's order (RED-4) */
  ZP_EXACT = 1    /* integer limbs, one rounding (RED-5) */
} zp_reduce;

/* One entry of the model's parameter list. Entries are listed by stage, in forward order. */
typedef struct zp_param {
  int64_t numel;    /* elements held by one rank, 0..2^40 */
  int32_t stage;    /* pipeline stage, 0..pp-1, not decreasing over the list */
  int32_t optgroup; /* optimizer group, 0..optgroups-1 */
  int32_t tied;     /* tied key 0..tied_keys-1, or -1 */
  int32_t sharded;  /* 1: each tp rank holds different elements; 0: a replica */
  int32_t expert;   /* 1: one copy per ep index, reduced over edp; 0: reduced over dp */
  int32_t frozen;   /* 1: no gradient, never updated */
  int32_t fp32;     /* 1: its values and gradients are fp32, whatever the precision */
} zp_param;

typedef struct zp_config {
  int32_t pp, dp, tp, ep;
  int32_t stage;          /* ZeRO stage 0, 1 or 2 */
  int32_t reduce;         /* zp_reduce */
  int32_t precision;      /* ZP_F32, ZP_BF16 or ZP_F16: parameters, gradients, activations; entries
                             with fp32 set are fp32 */
  int32_t dynamic_shapes; /* 1: a meta message precedes every activation */
  int32_t optgroups;      /* optimizer groups over all stages (a stage may use fewer: K) */
  int32_t tied_keys;
  int32_t n_params;
  int64_t micro_batches; /* M */
  int64_t bucket;        /* elements, rounded up to D·align per flat group (PART-3) */
  int64_t align;         /* elements */
  const zp_param *params;
  int32_t sequence_parallel; /* not 0: each tp rank computes a part of the gradients of replicated
                                entries (RED-8). The planner does not read it. */
} zp_config;

/* Why a configuration is refused: the field, the entry, its value and the allowed range. */
typedef enum zp_field {
  ZP_FIELD_NONE = 0,
  ZP_FIELD_PP,
  ZP_FIELD_DP,
  ZP_FIELD_TP,
  ZP_FIELD_EP,    /* 1..dp, and ep divides dp */
  ZP_FIELD_RANKS, /* pp·dp·tp */
  ZP_FIELD_STAGE,
  ZP_FIELD_REDUCE,
  ZP_FIELD_PRECISION,
  ZP_FIELD_DYNAMIC_SHAPES,
  ZP_FIELD_OPTGROUPS,
  ZP_FIELD_TIED_KEYS,
  ZP_FIELD_N_PARAMS,
  ZP_FIELD_MICRO_BATCHES,
  ZP_FIELD_BUCKET,
  ZP_FIELD_ALIGN,
  ZP_FIELD_NUMEL,       /* index: entry */
  ZP_FIELD_PARAM_STAGE, /* index: entry; the range starts at the previous entry's stage */
  ZP_FIELD_OPTGROUP,
  ZP_FIELD_TIED,
  ZP_FIELD_SHARDED,
  ZP_FIELD_EXPERT, /* a tied entry cannot be an expert */
  ZP_FIELD_FROZEN,
  ZP_FIELD_FP32,
  ZP_FIELD_TIED_NUMEL, /* entries of one key agree in numel, sharded, optgroup, frozen and fp32 */
  ZP_FIELD_TIED_SHARDED,
  ZP_FIELD_TIED_OPTGROUP,
  ZP_FIELD_TIED_FROZEN,
  ZP_FIELD_TIED_FP32,
  ZP_FIELD_CONTRIBUTIONS, /* dp·micro_batches */
  ZP_FIELD_TIED_ENTRIES,  /* entries with a tied key, so far */
  ZP_FIELD_ELEMENTS,      /* Σ numel·(tp if sharded)·(ep if expert) over the entries so far */
  ZP_FIELDS
} zp_field;

typedef struct zp_refusal {
  int32_t field; /* zp_field; ZP_FIELD_NONE when the configuration is valid */
  int32_t index; /* entry of the parameter list, or -1 */
  int64_t value;
  int64_t lo, hi; /* the allowed range, inclusive */
} zp_refusal;

#include "../../spec/acsl/config.h"

/* The dtype of the values and gradients of entries whose field fp32 is `fp32`. spec: PART-2 */
/*@ terminates \true;
    exits \false;
    assigns \nothing;
    ensures dtype: \result == DtypeOf(fp32, precision); */
int32_t zp_dtype_of(int32_t fp32, int32_t precision);

/* The dtype of entry j's values. spec: PART-2 */
/*@ requires cfg: Readable(cfg);
    requires entry: 0 <= j < cfg->n_params;
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures dtype: \result == DtypeOf(cfg->params[j].fp32, cfg->precision); */
int32_t zp_entry_dtype(const zp_config *cfg, int32_t j);

/* Checks that a configuration is within the documented limits. cfg and why are valid and do not
 * overlap. If 0 <= n_params <= 2^16, cfg->params holds n_params entries and does not overlap why.
 * Returns 0 with field ZP_FIELD_NONE in *why iff the configuration is valid (spec: LIM-1 … LIM-9);
 * otherwise -1 with the first reason in *why.
 * spec: LIM-0 */
/*@ requires cfg: \valid_read(cfg) && \valid(why) && \separated(cfg, why);
    requires list: 0 < cfg->n_params <= ZP_LIMIT_ENTRIES ==>
        \valid_read(cfg->params + (0 .. cfg->n_params - 1));
    requires apart: 0 < cfg->n_params <= ZP_LIMIT_ENTRIES ==>
        \separated(why, cfg->params + (0 .. cfg->n_params - 1));
    terminates \true;
    exits \false;
    assigns *why;
    ensures verdict: \result == 0 || \result == -1;
    ensures iff: \result == 0 <==> \old(Valid(cfg));
    ensures still: \result == 0 ==> Valid(cfg) && Readable(cfg);
    ensures reason: \result == 0 <==> why->field == ZP_FIELD_NONE;
    ensures reported: \result != 0 ==> \let r = *why; \old(Reported(cfg, r)); */
int zp_config_check(const zp_config *cfg, zp_refusal *why);

#endif
