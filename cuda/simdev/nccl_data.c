/* Reductions of NCCL's types, with one rounding to the type after every operation. */
#include "nccl_parts.h"

size_t sd_dtype_bytes(ncclDataType_t t)
{
  static const uint8_t bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2}; /* the last: bfloat16 */
  return (unsigned)t < sizeof bytes ? bytes[t] : 0;
}

static float bits_to_float(uint32_t b)
{
  float f;
  memcpy(&f, &b, sizeof f);
  return f;
}

static uint32_t float_to_bits(float f)
{
  uint32_t b;
  memcpy(&b, &f, sizeof b);
  return b;
}

static float from_bf16(uint16_t h)
{
  return bits_to_float((uint32_t)h << 16);
}

static uint16_t to_bf16(float f)
{
  const uint32_t b = float_to_bits(f);
  if (f != f) return (uint16_t)(b >> 16 | 0x40);
  return (uint16_t)((b + 0x7fff + (b >> 16 & 1)) >> 16);
}

static float from_fp16(uint16_t h)
{
  const uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 1023;
  if (e == 31) return bits_to_float(sign | 0x7f800000 | m << 13);
  if (e == 0) { /* m times 2^-24, exactly */
    const float v = (float)m * 5.9604644775390625e-8f;
    return sign ? -v : v;
  }
  return bits_to_float(sign | (e + 112) << 23 | m << 13);
}

/* To nearest, ties to even. */
static uint16_t to_fp16(float f)
{
  const uint32_t b = float_to_bits(f), sign = b >> 16 & 0x8000, a = b & 0x7fffffff;
  if (a > 0x7f800000) return (uint16_t)(sign | 0x7e00);
  if (a >= 0x477ff000) return (uint16_t)(sign | 0x7c00); /* 65520 and above */
  if (a < 0x38800000) { /* below 2^-14: adding 1/2 lines the bits up and rounds them */
    const uint32_t m = float_to_bits(bits_to_float(a) + 0.5f) - 0x3f000000;
    return (uint16_t)(sign | m);
  }
  return (uint16_t)(sign | (a - 0x38000000 + 0xfff + (a >> 13 & 1)) >> 13);
}

/* A value of any type: integers as 64 bits, floats as float or double. */
typedef struct value {
  uint64_t u;
  float f;
  double d;
} value;

static int is_integer(ncclDataType_t t)
{
  return t <= ncclUint64;
}

static int is_signed(ncclDataType_t t)
{
  return t == ncclInt8 || t == ncclInt32 || t == ncclInt64;
}

static value load(ncclDataType_t t, const char *p)
{
  value v = {0, 0, 0};
  uint16_t h;
  uint32_t w;
  switch (t) {
  case ncclInt8: v.u = (uint64_t)(int64_t) * (const int8_t *)p; break;
  case ncclUint8: v.u = *(const uint8_t *)p; break;
  case ncclInt32: memcpy(&w, p, 4), v.u = (uint64_t)(int64_t)(int32_t)w; break;
  case ncclUint32: memcpy(&w, p, 4), v.u = w; break;
  case ncclInt64:
  case ncclUint64: memcpy(&v.u, p, 8); break;
  case ncclFloat16: memcpy(&h, p, 2), v.f = from_fp16(h); break;
  case ncclBfloat16: memcpy(&h, p, 2), v.f = from_bf16(h); break;
  case ncclFloat32: memcpy(&v.f, p, 4); break;
  default: memcpy(&v.d, p, 8); break;
  }
  return v;
}

static void store(ncclDataType_t t, char *p, value v)
{
  const uint8_t b = (uint8_t)v.u;
  const uint32_t w = (uint32_t)v.u;
  uint16_t h;
  switch (t) {
  case ncclInt8:
  case ncclUint8: memcpy(p, &b, 1); break;
  case ncclInt32:
  case ncclUint32: memcpy(p, &w, 4); break;
  case ncclInt64:
  case ncclUint64: memcpy(p, &v.u, 8); break;
  case ncclFloat16: h = to_fp16(v.f), memcpy(p, &h, 2); break;
  case ncclBfloat16: h = to_bf16(v.f), memcpy(p, &h, 2); break;
  case ncclFloat32: memcpy(p, &v.f, 4); break;
  default: memcpy(p, &v.d, 8); break;
  }
}

static value rounded(ncclDataType_t t, value v)
{
  if (t == ncclFloat16) v.f = from_fp16(to_fp16(v.f));
  if (t == ncclBfloat16) v.f = from_bf16(to_bf16(v.f));
  return v;
}

static int less(ncclDataType_t t, value a, value b)
{
  if (is_integer(t)) return is_signed(t) ? (int64_t)a.u < (int64_t)b.u : a.u < b.u;
  return t == ncclFloat64 ? a.d < b.d : a.f < b.f;
}

static value combine(ncclDataType_t t, ncclRedOp_t op, value a, value b)
{
  switch (op) {
  case ncclMin: return less(t, b, a) ? b : a;
  case ncclMax: return less(t, a, b) ? b : a;
  case ncclProd: a.u *= b.u, a.f *= b.f, a.d *= b.d; break;
  default: a.u += b.u, a.f += b.f, a.d += b.d; break;
  }
  return rounded(t, a);
}

/* Averages as in NCCL: integers are divided after the sum, floats are multiplied before it. */
static value before(ncclDataType_t t, ncclRedOp_t op, value v, int32_t n)
{
  if (op != ncclAvg || is_integer(t)) return v;
  v.f *= 1.0f / (float)n;
  v.d *= 1.0 / n;
  return rounded(t, v);
}

static value after(ncclDataType_t t, ncclRedOp_t op, value v, int32_t n)
{
  if (op != ncclAvg || !is_integer(t)) return v;
  v.u = is_signed(t) ? (uint64_t)((int64_t)v.u / n) : v.u / (uint64_t)n;
  return v;
}

/* One element of all members, beginning with member `start`. */
static value reduce_one(const sd_coll *c, int32_t n, int32_t start, int32_t step, size_t at)
{
  const ncclDataType_t t = c->first->dtype;
  const ncclRedOp_t op = c->first->redop;
  const size_t size = sd_dtype_bytes(t);
  value v = {0, 0, 0};
  int32_t m = start;
  for (int32_t i = 0; i < n; i++) {
    const value x = before(t, op, load(t, (const char *)c->op[m]->staging + at * size), n);
    v = i ? combine(t, op, v, x) : x;
    m = m + step < n ? m + step : m + step - n;
  }
  return after(t, op, v, n);
}

/* In the order of a ring: runs of elements begin with different members, forwards or backwards. */
void sd_reduce(simdev *s, const sd_coll *c, int32_t members, size_t first, size_t n, void *to)
{
  const size_t size = sd_dtype_bytes(c->first->dtype);
  const size_t run = 1 + sd_below(s, 64);
  const int32_t step = members > 1 && sd_below(s, 2) ? members - 1 : 1 % members;
  int32_t start = (int32_t)sd_below(s, (uint32_t)members);
  for (size_t i = 0; i < n; i++) {
    store(c->first->dtype, (char *)to + i * size, reduce_one(c, members, start, step, first + i));
    if ((i + 1) % run == 0) start = start + 1 < members ? start + 1 : 0;
  }
}
