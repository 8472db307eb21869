/* Compares the four conversions of ref/num/half.h, for every input, with an independent definition:
 * values are long doubles (64-bit significand: every fp32 number and every midpoint is exact) made
 * with ldexpl, and a binary search finds the fp32 patterns that are nearest to a 16-bit one. All
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

static void differs(const char *what, uint32_t in, uint32_t got, uint32_t want)
{
  printf("%s of %08x: got %08x, expected %08x\n", what, (unsigned)in, (unsigned)got,
         (unsigned)want);
  exit(1);
}

static void same(const char *what, uint32_t in, uint32_t got, uint32_t want)
{
  checks++;
  if (got != want) differs(what, in, got, want);
}

/* A NaN becomes a quiet NaN of its sign with the top payload bits. */
static uint32_t quiet(const format *f, uint32_t fraction32)
{
  return f->infinity | 1u << (f->fraction - 1) | fraction32 >> (23 - f->fraction);
}

/* The patterns a … end - 1 become `want`, their negatives its negative. Returns end. */
static uint32_t narrows(const format *f, uint16_t (*narrow)(uint32_t), uint32_t a, uint32_t end,
                        uint32_t want)
{
  const int64_t both = 2 * (int64_t)(end - a);
  cases += both;
  checks += both;
  for (; a < end; a++) {
    const uint32_t minus = a | 0x80000000u, got = narrow(a), negative = narrow(minus);
    if (got != want) differs(f->name, a, got, want);
    if (negative != (want | 0x8000u)) differs(f->name, minus, negative, want | 0x8000u);
  }
  return end;
}

/* The first fp32 pattern of a … infinity that is nearer to h + 1 than to h, where the even of the
 * two is the nearer one to their midpoint. Values grow with their patterns. */
static uint32_t end_of(const format *f, uint32_t h, uint32_t a)
{
  const long double middle = (f->value[h] + f->value[h + 1]) / 2;
  uint32_t hi = 0x7f800000u;
  while (a < hi) {
    const uint32_t mid = (a + hi) / 2;
    const long double x = value_of(mid, 23, 8);
    if (x < middle || (x == middle && h % 2 == 0)) a = mid + 1;
    else hi = mid;
  }
  return a;
}

static void narrow_all(const format *f, uint16_t (*narrow)(uint32_t))
{
  uint32_t a = 0;
  for (uint32_t h = 0; h < f->infinity; h++) a = narrows(f, narrow, a, end_of(f, h, a), h);
  a = narrows(f, narrow, a, 0x7f800001u, f->infinity);
  while (a < 0x80000000u) a = narrows(f, narrow, a, a + 1, quiet(f, a & 0x7fffffu));
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
  narrow_all(&f16, zp_f16_from_f32);
  narrow_all(&bf16, zp_bf16_from_f32);
  widen_all(&bf16, zp_f32_from_bf16, 0);
  widen_all(&f16, zp_f32_from_f16, 0x400000u);
  return report("half");
}
