/* Which bytes a micro-batch reads, and the parameters' initial values. Private to ref/model. */
#ifndef ZP_MODEL_GPT_DATA_H
#define ZP_MODEL_GPT_DATA_H

#include "gpt.h"

struct zp_gpt {
  zp_gpt_options options;
};

/* 64 bits that depend on all four numbers: a counter-based generator, no state. */
uint64_t zp_gpt_hash(uint64_t seed, uint64_t a, uint64_t b, uint64_t c);

/* Bytes and their successors for global micro-batch g of `step`: token[b·T + t] = text[s_b + t],
 * target the byte after, with T = zp_gpt_context_of and s_b from (seed, step, g, b). token or
 * target may be NULL.
 * spec: STEP-1 */
void zp_gpt_read(const zp_gpt_options *options, int64_t step, int64_t g, int32_t *token,
                 int32_t *target);

/* Initial value of an entry: gains 1, biases 0, else near normal. The head's is the embedding's. */
void zp_gpt_initial(const zp_gpt_options *options, int32_t entry, float *value);

#endif
