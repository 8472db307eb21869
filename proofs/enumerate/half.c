/* Compares the four conversions of ref/num/half.h, for every input, with an independent definition:
 * values are long doubles (64-bit significand: every fp32 number and every midpoint is exact), the
 * 16-bit formats are tables of values made with ldexpl, and a binary search finds the nearest. All
 * 2^32 fp32 patterns, all 2^16 of each format. spec: NUM-1, NUM-2
 */
#include "../../ref/num/half.h"

#include "enumerate.h"

#include <math.h>
#include <stdint.h>

/* A binary format by its fraction and exponent bits; value[a] is the value of magnitude pattern a.
 * Infinity has the value of the number that would follow the largest. */
typedef struct format {
  const char *name;
  int fraction, exponent;
  uint32_t infinity; /* magnitude pattern */
  long double value[32768];
} format;

static format bf16 = {.name = "bf16", .fraction = 7, .exponent = 8};
static format f16 = {.name = "fp16", .fraction = 10, .exponent = 5};

/* |value| of magnitude pattern a of a format, by IEEE 754's definition. */
static long double value_of(uint32_t a, int fraction, int exponent)
{
  const int bias = (1 << (exponent - 1)) - 1;
  const uint32_t field = a >> fraction, low = a & ((1u << fraction) - 1);
  if (field == 0) return ldexpl((long double)low, 1 - bias - fraction);
  return ldexpl((long double)(low + (1u << fraction)), (int)field - bias - fraction);
}

static void fill(format *f)
{
  f->infinity = ((1u << f->exponent) - 1) << f->fraction;
  for (uint32_t a = 0; a <= f->infinity; a++) f->value[a] = value_of(a, f->fraction, f->exponent);
}

/* The magnitude pattern nearest to x, the even one of two. `below`, a hint, is a pattern that is
 * not above x. */
static uint32_t nearest(const format *f, long double x, uint32_t below)
{
  uint32_t lo = below, hi = f->infinity;
  if (x >= f->value[hi]) return hi;
  if (lo + 1 < hi && x < f->value[lo + 1]) hi = lo + 1;
  while (hi - lo > 1) {
    const uint32_t mid = (lo + hi) / 2;
    if (f->value[mid] <= x) lo = mid;
    else hi = mid;
  }
  const long double down = x - f->value[lo], up = f->value[hi] - x;
  if (down != up) return down < up ? lo : hi;
  return lo % 2 == 0 ? lo : hi;
}

static void same(const char *what, uint32_t in, uint32_t got, uint32_t want)
{
  checks++;
  if (got == want) return;
  printf("%s of %08x: got %08x, expected %08x\n", what, (unsigned)in, (unsigned)got,
         (unsigned)want);
  exit(1);
}

/* A NaN becomes a quiet NaN of its sign with the top payload bits. */
static uint32_t quiet(const format *f, uint32_t fraction32)
{
  return f->infinity | 1u << (f->fraction - 1) | fraction32 >> (23 - f->fraction);
}

static void narrow_all(const format *f, uint16_t (*narrow)(uint32_t))
{
  uint32_t below = 0;
  for (uint32_t a = 0; a < 0x80000000u; a++) { /* ascending, so the nearest from below only grows */
    uint32_t want;
    if (a > 0x7f800000u) {
      want = quiet(f, a & 0x7fffffu);
    } else {
      const long double x = value_of(a, 23, 8);
      while (below < f->infinity && f->value[below + 1] <= x) below++;
      want = nearest(f, x, below);
    }
    same(f->name, a, narrow(a), want);
    same(f->name, a | 0x80000000u, narrow(a | 0x80000000u), want | 0x8000u);
    cases += 2;
  }
}

/* Widening is exact; bf16's NaNs keep their bits, fp16's become quiet. */
static void widen_all(const format *f, uint32_t (*widen)(uint16_t), uint32_t quiet_bit)
{
  for (uint32_t h = 0; h < 65536; h++) {
    const uint32_t a = h & 0x7fffu, got = widen((uint16_t)h), u = got & 0x7fffffffu;
    same(f->name, h, got >> 31, h >> 15);
    cases++;
    if (a > f->infinity) {
      const uint32_t low = (a - f->infinity) << (23 - f->fraction);
      const uint32_t want = 0x7f800000u | low | quiet_bit;
      same(f->name, h, u, want);
    } else if (a == f->infinity) {
      same(f->name, h, u, 0x7f800000u);
    } else {
      MUST(value_of(u, 23, 8) == f->value[a]);
    }
  }
}

int main(void)
{
  fill(&bf16);
  fill(&f16);
  snprintf(at_case, sizeof at_case, "a widened pattern");
  narrow_all(&bf16, zp_bf16_from_f32);
  narrow_all(&f16, zp_f16_from_f32);
  widen_all(&bf16, zp_f32_from_bf16, 0);
  widen_all(&f16, zp_f32_from_f16, 0x400000u);
  return report("half");
}
