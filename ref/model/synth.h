/* synth: a workload whose gradients are given by formula, so that every reduced value is known.
 *
 * Contributions. A dense entry gets N = D·M of them, one per global micro-batch g = mb·dp +
 * dp_index, numbered g; a tied key with U uses gets U·D·M, use u numbered u·D·M + g (uses in list
 * order); copy ep of an expert gets D/ep·M, numbered mb·(dp/ep) + dp_index/ep. The divisor is D·M
 * for all. With sequence parallelism each tp index contributes to a tp-replicated entry: the same
 * numbers, plus tp index times as many as there would be without. The gradient of a contribution
 * depends on (seed, step, entry or tied key, tp index when
 * sharded, ep index when expert, contribution, element) and on nothing else: the same global batch
 * split otherwise over dp and M gives dense and tied entries the same contributions.
 *
 * Modes.
 *   CODED   an element codes q contributions with D·M·4^j·2^unit (j < q), all others give 0 there;
 *           successive elements take the next q contributions; after one round of them, one element
 *           codes its own index, in one contribution. The reduced value, divided by
 *           2^(unit + scale), read in base 4, says which contributions are missing or doubled, and
 *           which element it was.
 *   DYADIC  small random multiples of D·M·2^unit: every partial sum is exact.
 *   WILD    random bits: zeros, subnormals, moderate and huge values.
 * In every mode a step may have one infinite or NaN element, or one whose sum overflows, and
 * entries may be declared unused.
 *
 * Activations are small integers that tell (seed, step, µ, stage, tp, element); forward and
 * backward refuse any other content, dtype or shape. spec: RED-1, RED-2, RED-3, RED-6, PIPE-6 */
#ifndef ZP_MODEL_SYNTH_H
#define ZP_MODEL_SYNTH_H

#include <stdint.h>

#include "../engine/workload.h"

typedef enum zp_synth_mode {
  ZP_SYNTH_CODED = 0,
  ZP_SYNTH_DYADIC = 1,
  ZP_SYNTH_WILD = 2,
  ZP_SYNTH_MODES = 3
} zp_synth_mode;

/* Which uses of one entry take part: not those listed, whatever the share that chance leaves
 * out. */
typedef struct zp_synth_skip {
  int32_t dp; /* data-parallel index */
  int64_t mb; /* micro-batch */
} zp_synth_skip;

typedef struct zp_synth_mask {
  int32_t n;
  int32_t unused;      /* as zp_synth_options' for this entry alone; -1: as there */
  zp_synth_skip *skip; /* [n] */
} zp_synth_mask;

typedef struct zp_synth_options {
  uint64_t seed;
  uint64_t first;    /* other first values of the parameters */
  int32_t mode;      /* zp_synth_mode */
  int32_t log2_unit; /* CODED, DYADIC: values are multiples of 2^log2_unit; -100..100 */
  int32_t unused;    /* 0..255: of 256 (entry, global micro-batch, step), so many are unused */
  int32_t vary;      /* 1: shapes (and, with tuple, the tensors' order) vary by micro-batch; needs
                        nothing of the plan, which may have dynamic_shapes or not */
  int32_t tuple;     /* 1: messages are (int32, float) tuples */
  int32_t huge;      /* WILD: 1: also values near the largest */
  uint32_t overflow; /* bit t: step t (mod 32) has one non-finite gradient element */
  uint32_t oversum;  /* bit t: step t has one element that is finite in all contributions, also
                        times the loss scale, but not their sum: two are 3/4 of the power of two
                        after the largest number, and all others 0 */
  int32_t oneside;   /* 1: of the uses of a tied key, one takes part in each step */
  uint32_t bad_loss; /* bit t: step t has one loss that is not finite */
  int32_t fp32_gradients;    /* 1: gradients are not rounded to the precision (RED-1) */
  int32_t reads;             /* 1: the loss depends on the last stage's parameters, and so on pp */
  const zp_synth_mask *mask; /* [n_params], or NULL: nothing is masked */
} zp_synth_options;

/* The shared context: set opt, pass its address. */
typedef struct zp_synth {
  zp_synth_options opt;
} zp_synth;

/* The workload interface over synth, which must outlive it. */
zp_workload zp_synth_workload(zp_synth *synth);

/* Which entry stands for entry j's storage: the first of its tied key in the list, or j. How many
 * uses precede it (0 when untied), and how many uses its key has (1 when untied). */
typedef struct zp_synth_use {
  int32_t home, use, uses;
} zp_synth_use;
zp_synth_use zp_synth_use_of(const zp_config *cfg, int32_t j);

/* Contributions of entry j (of one copy), all uses of its key together. */
int64_t zp_synth_contributions(const zp_config *cfg, int32_t j);

/* A contribution by name. entry: the use's own entry; dp, tp, mb: the rank that ran it; tp: 0 where
 * all tp ranks make the same. */
typedef struct zp_synth_who {
  int32_t entry, dp, tp;
  int64_t mb;
} zp_synth_who;
zp_synth_who zp_synth_name(const zp_config *cfg, int32_t j, int32_t ep, int64_t contribution);

/* Contributions that one element codes: the largest q <= ZP_SYNTH_MAX_DIGITS with D·M·(4^q − 1) <=
 * 2^p, p the significand bits of the precision (bf16 8, fp16 11, fp32 24); 0 when D·M is not
 * codable at all. 6: the proof below goes through 4^q values. */
enum { ZP_SYNTH_MAX_DIGITS = 6 };
int32_t zp_synth_digits(const zp_config *cfg);

/* What holds exactly, whatever the order of additions, in the configuration's own precision. */
enum {
  ZP_SYNTH_SUM = 1,        /* every partial sum */
  ZP_SYNTH_PRE = 2,        /* contributions divided by D, M or D·M first */
  ZP_SYNTH_POST = 4,       /* sums divided by D, M or D·M */
  ZP_SYNTH_RECIPROCAL = 8, /* either, as a multiplication by the rounded reciprocal */
  ZP_SYNTH_ALL = 15
};

/* Proves, by going through every value that can occur, what is exact for CODED gradients of this
 * configuration at this loss scale. Returns a set of the flags above (0: judge by a bound instead)
 * and, when why is not NULL, says what is not exact and the reason. */
int32_t zp_synth_prove(const zp_config *cfg, const zp_synth_options *opt, int32_t log2_scale,
                       char *why, int64_t cap);

/* The gradient of one element, as fp32 before the loss scale and the rounding to its dtype.
 * j: entry; tp, ep: the copy (0 when it has only one); c: contribution. An unused contribution's
 * value is not asked for. */
float zp_synth_value(const zp_synth_options *opt, const zp_config *cfg, int64_t step, int32_t j,
                     int32_t tp, int32_t ep, int64_t c, int64_t element);

/* 1 when contribution c of entry j, copy ep, takes part in this step. */
int zp_synth_used(const zp_synth_options *opt, const zp_config *cfg, int64_t step, int32_t j,
                  int32_t ep, int64_t c);

/* CODED: the reduced value that an element must have, in units of 2^(log2_unit + scale). */
int64_t zp_synth_expected(const zp_synth_options *opt, const zp_config *cfg, int64_t step,
                          int32_t j, int32_t tp, int32_t ep, int64_t element);

/* Why an instance last refused an activation; "" when it did not. */
const char *zp_synth_refusal(const void *inst);

/* ---- Reading reduced gradients --------------------------------------------------------------- */

typedef enum zp_synth_kind {
  ZP_SYNTH_MISSING = 0, /* a contribution that should be in the sum is not */
  ZP_SYNTH_DOUBLED,     /* one is in it `times` times */
  ZP_SYNTH_UNASKED,     /* one that was declared unused is in it */
  ZP_SYNTH_MOVED,       /* the element holds what belongs to element `from` */
  ZP_SYNTH_STALE,       /* it holds what belongs to step `from` */
  ZP_SYNTH_RATIO,       /* it is numerator/denominator times the right value */
  ZP_SYNTH_GARBLED,     /* no sum of codes */
  ZP_SYNTH_KINDS
} zp_synth_kind;

typedef struct zp_synth_finding {
  int32_t kind; /* zp_synth_kind */
  int32_t param, tp, ep;
  int64_t element;
  int64_t count; /* further elements of this entry with the same kind and the same culprit */
  zp_synth_who who;
  int64_t times, from, numerator, denominator;
  float value;
} zp_synth_finding;

/* CODED: judges the reduced gradient (mean times the loss scale) of elements [offset, offset+count)
 * of one copy of entry j. Adds to list[0..*n-1], merging with findings that say the same, up to
 * cap; returns the number of wrong elements. */
int64_t zp_synth_decode(const zp_synth_options *opt, const zp_config *cfg, int64_t step, int32_t j,
                        int32_t tp, int32_t ep, int32_t log2_scale, int64_t offset, int64_t count,
                        const float *reduced, zp_synth_finding *list, int32_t *n, int32_t cap);

/* "entry 2, element 5: contribution of rank dp 1, micro-batch 3 is missing" and the like. */
void zp_synth_describe(const zp_config *cfg, const zp_synth_finding *f, char *text, int64_t cap);

/* Contribution number of (dp, tp, mb) for entry j; tp counts only with sequence parallelism. */
int64_t zp_synth_number(const zp_config *cfg, int32_t j, int32_t dp, int32_t tp, int64_t mb);

#endif
