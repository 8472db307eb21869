/* Seeded bit patterns for the tests of ref/num: uniform, wide, subnormal, equal, ties, extremes. */
#ifndef ZP_TEST_NUM_PATTERNS_H
#define ZP_TEST_NUM_PATTERNS_H
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef struct rng {
  uint64_t at;
} rng;

/* splitmix64: every seed gives another sequence, and no state is shared between tests. */
static inline uint64_t rng_next(rng *r)
{
  uint64_t z = (r->at += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static inline uint32_t rng_u32(rng *r)
{
  return (uint32_t)(rng_next(r) >> 32);
}
static inline int64_t rng_below(rng *r, int64_t n)
{
  return (int64_t)(rng_next(r) % (uint64_t)n);
}

static inline float f32_of(uint32_t u)
{
  float f;
  memcpy(&f, &u, sizeof f);
  return f;
}

static inline uint32_t bits_of(float f)
{
  uint32_t u;
  memcpy(&u, &f, sizeof u);
  return u;
}

static inline double f64_of(uint64_t u)
{
  double f;
  memcpy(&f, &u, sizeof f);
  return f;
}

static inline uint64_t bits64_of(double f)
{
  uint64_t u;
  memcpy(&u, &f, sizeof u);
  return u;
}

/* Patterns where something changes: zeros, subnormals, first and last of binades, inf, NaN. */
static const uint32_t edge_f32[] = {
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x00000002, 0x007fffff, 0x807fffff, 0x00800000,
    0x00800001, 0x00ffffff, 0x01000000, 0x33000000, 0x33000001, 0x33800000, 0x387fc000, 0x387fe000,
    0x387fffff, 0x38800000, 0x3f7fffff, 0x3f800000, 0x3f800001, 0xbf800000, 0x477fdfff, 0x477fe000,
    0x477fefff, 0x477ff000, 0x477fffff, 0x47800000, 0x7effffff, 0x7f000000, 0x7f7fffff, 0xff7fffff,
    0x7f7f7fff, 0x7f7f8000, 0x7f7f8001, 0x7f800000, 0xff800000, 0x7f800001, 0xff800001, 0x7fc00000,
    0xffffffff, 0x7f80ffff, 0x7fa00000, 0x5f000000, 0x20000000, 0x1fffffff,
};
enum { EDGES_F32 = (int)(sizeof edge_f32 / sizeof edge_f32[0]) };

enum {
  KIND_UNIFORM,
  KIND_NORMAL,
  KIND_WIDE,
  KIND_SUBNORMAL,
  KIND_HUGE,
  KIND_EDGE,
  KIND_OUTLIER,
  KIND_SAME,
  KIND_RARE_BAD,
  KIND_ZERO,
  KINDS
};

/* A pattern of the given kind; `spot` shifts the binades of KIND_NORMAL and KIND_SAME. */
static inline uint32_t pattern(rng *r, int kind, uint32_t spot)
{
  uint32_t u = rng_u32(r), sign = u & 0x80000000u, fr = u & 0x7fffffu, near = (u >> 24) % 8u;
  switch (kind) {
  case KIND_NORMAL: return sign | ((spot % 240u + 1u + near) << 23) | fr;
  case KIND_WIDE: return sign | ((rng_u32(r) % 255u) << 23) | fr;
  case KIND_SUBNORMAL: return sign | fr;
  case KIND_HUGE: return sign | ((247u + near) << 23) | fr;
  case KIND_EDGE: return edge_f32[rng_below(r, EDGES_F32)];
  case KIND_OUTLIER:
    return rng_below(r, 50) == 0 ? sign | ((rng_u32(r) % 255u) << 23) | fr
                                 : sign | ((100u + near) << 23) | fr;
  case KIND_SAME: return ((spot % 254u + 1u) << 23) | 0x7fffffu;
  case KIND_RARE_BAD:
    return rng_below(r, 97) == 0 ? sign | 0x7f800000u | (u & 1u)
                                 : sign | ((120u + near) << 23) | fr;
  case KIND_ZERO: return sign;
  default: return u;
  }
}
#endif
