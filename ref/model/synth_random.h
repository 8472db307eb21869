/* The random numbers of given gradients. Not installed. */
#ifndef ZP_MODEL_SYNTH_RANDOM_H
#define ZP_MODEL_SYNTH_RANDOM_H

#include <stdint.h>

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
  ZP_SYNTH_FOR_LOSS,
  ZP_SYNTH_FOR_SUM
};

#endif
