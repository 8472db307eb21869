/* What the parts of synth share. Not installed. */
#ifndef ZP_MODEL_SYNTH_INTERNAL_H
#define ZP_MODEL_SYNTH_INTERNAL_H

#include "synth.h"
#include "synth_random.h"

/* All that does not change over the elements of one contribution. */
typedef struct zp_synth_plan {
  int32_t mode, digits, unit, huge;
  int32_t precision;   /* of gradients */
  int64_t divisor;     /* D·M */
  int64_t n;           /* contributions of the entry */
  int64_t cycle;       /* CODED: elements of one round: ceil(n / q) and the index element */
  int64_t turn;        /* CODED: the round starts at element -turn */
  int64_t copies;      /* CODED: distinguishes the copies over tp and ep where rounds are short */
  int64_t active;      /* DYADIC: contributions that are not zero on one element */
  int64_t range;       /* DYADIC: largest multiple */
  int64_t c;           /* the contribution */
  uint64_t copy;       /* hash of (seed, step, entry, tp, ep) */
  uint64_t mine;       /* hash of that and the contribution */
  int64_t bad_element; /* the non-finite element, or -1 */
  float bad;
  int64_t sum_element; /* the element whose sum overflows, or -1 */
  float part;          /* of it, with the loss scale: this contribution's */
} zp_synth_plan;

zp_synth_plan zp_synth_plan_of(const zp_synth_options *opt, const zp_config *cfg, int64_t step,
                               int32_t j, int32_t tp, int32_t ep, int64_t c);

/* CODED: what the index element of a round codes: 1 .. 4^q - 1. */
int64_t zp_synth_weight(const zp_synth_plan *p, int64_t round);

/* CODED: the one contribution to the index element of a round. After n rounds the turn begins one
 * later: if it did not, equal ranks of equal buckets would have the same contributions. */
int64_t zp_synth_indexed(const zp_synth_plan *p, int64_t round);

/* CODED: zp_synth_expected, of the contributions of dp index dp alone; of all where dp is -1. */
int64_t zp_synth_expected_of(const zp_synth_options *opt, const zp_config *cfg, int64_t step,
                             int32_t j, int32_t tp, int32_t ep, int32_t dp, int64_t element);

/* Writes n elements of p->precision, times 2^log2_scale. */
void zp_synth_fill(const zp_synth_plan *p, int32_t log2_scale, int64_t n, void *out);

#endif
