/* What the parts of synth share. Not installed. */
#ifndef ZP_MODEL_SYNTH_INTERNAL_H
#define ZP_MODEL_SYNTH_INTERNAL_H

#include "synth.h"

/* Independent random numbers from a counter (the finaliser of splitmix64 over a running sum). */
static inline uint64_t zp_synth_mix(uint64_t h, uint64_t x)
{
  h = (h ^ x) * 0x9e3779b97f4a7c15u + 0x7f4a7c15u;
  h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
  h = (h ^ h >> 27) * 0x94d049bb133111ebu;
  return h ^ h >> 31;
}

/* Streams of random numbers; each purpose has its own. */
enum {
  ZP_SYNTH_FOR_GRADIENT = 1,
  ZP_SYNTH_FOR_ROTATION,
  ZP_SYNTH_FOR_CLASS,
  ZP_SYNTH_FOR_USE,
  ZP_SYNTH_FOR_OVERFLOW,
  ZP_SYNTH_FOR_VALUES,
  ZP_SYNTH_FOR_ACTIVATION,
  ZP_SYNTH_FOR_ACTIVATION_GRADIENT,
  ZP_SYNTH_FOR_LOSS
};

/* All that does not change over the elements of one contribution. */
typedef struct zp_synth_plan {
  int32_t mode, precision, digits, unit, huge;
  int64_t divisor;     /* D·M */
  int64_t n;           /* contributions of the entry */
  int64_t cycle;       /* CODED: elements of one round: ceil(n / q) and the index element */
  int64_t turn;        /* CODED: the round starts at element -turn */
  int64_t copies;      /* CODED: tells the copies over tp and ep apart where rounds are short */
  int64_t active;      /* DYADIC: contributions that are not zero on one element */
  int64_t range;       /* DYADIC: largest multiple */
  int64_t c;           /* the contribution */
  uint64_t copy;       /* hash of (seed, step, entry, tp, ep) */
  uint64_t mine;       /* hash of that and the contribution */
  int64_t bad_element; /* the non-finite element, or -1 */
  float bad;
} zp_synth_plan;

zp_synth_plan zp_synth_plan_of(const zp_synth_options *opt, const zp_config *cfg, int64_t step,
                               int32_t j, int32_t tp, int32_t ep, int64_t c);
float zp_synth_element(const zp_synth_plan *p, int64_t element);

/* CODED: what the index element of a round codes: 1 .. 4^q - 1. */
int64_t zp_synth_weight(const zp_synth_plan *p, int64_t round);

/* Contribution number of (dp, mb) for entry j. */
int64_t zp_synth_number(const zp_config *cfg, int32_t j, int32_t dp, int64_t mb);

/* Writes n elements in the configuration's precision, times 2^log2_scale. */
void zp_synth_fill(const zp_synth_plan *p, int32_t log2_scale, int64_t n, void *out);

#endif
