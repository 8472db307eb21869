/* Plain measures of a training text. */
#ifndef ZP_MODEL_TEXT_H
#define ZP_MODEL_TEXT_H

#include <stdint.h>

/* Entropy of the byte frequencies of bytes[0..n-1], in nats per byte: the loss of the best model
 * that ignores context. 0 for n = 0. Same bits on every machine (sum by ascending byte value). */
double zp_text_unigram_entropy(const uint8_t *bytes, int64_t n);

#endif
