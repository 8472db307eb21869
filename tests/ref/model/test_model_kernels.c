/* Laws of ref/model's conversions and of its matrix product. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "../../../ref/model/gpt_cast.h"
#include "../../../ref/model/gpt_matmul.h"
#include "../../../ref/model/gpt_target.h"
#include "../../../ref/num/half.h"

Test(model_cast, every_16_bit_pattern_widens_as_half_h_says)
{
  for (uint32_t h = 0; h < 65536; h++) {
    cr_assert(zp_float_bits(zp_gpt_of_bf16((uint16_t)h)) == zp_f32_from_bf16((uint16_t)h));
    cr_assert(zp_float_bits(zp_gpt_of_f16((uint16_t)h)) == zp_f32_from_f16((uint16_t)h), "%x", h);
  }
}

/* Around every 16-bit boundary and half-way point of both formats, and with a stride over all. */
Test(model_cast, fp32_patterns_narrow_as_half_h_says)
{
  for (uint64_t i = 0; i < (uint64_t)1 << 32; i += 4096)
    for (uint32_t k = 0; k < 3; k++) {
      uint32_t u = (uint32_t)i + k - 1;
      cr_assert(zp_gpt_bf16(zp_float_of(u)) == zp_bf16_from_f32(u), "%x", u);
      cr_assert(zp_gpt_f16(zp_float_of(u)) == zp_f16_from_f32(u), "%x", u);
    }
  for (uint64_t u = 0; u < (uint64_t)1 << 32; u += 257) {
    cr_assert(zp_gpt_bf16(zp_float_of((uint32_t)u)) == zp_bf16_from_f32((uint32_t)u));
    cr_assert(zp_gpt_f16(zp_float_of((uint32_t)u)) == zp_f16_from_f32((uint32_t)u));
  }
}

static float number(uint32_t i)
{
  return (float)((i * 2654435761u) >> 8) * 0x1p-23f - 1.0f;
}

Test(model_cast, arrays_of_any_length_equal_single_conversions)
{
  enum { N = 70 };
  float in[N], out[N], rounded[N];
  uint16_t half[N + 1];
  for (int32_t precision = ZP_F32; precision <= ZP_F16; precision++)
    for (int n = 0; n <= N; n++) {
      for (int i = 0; i < n; i++) rounded[i] = in[i] = number((uint32_t)(i + n)) * 0x1p-12f;
      half[n] = 0x5a5a;
      zp_gpt_round(rounded, n, precision);
      if (precision == ZP_F32) {
        zp_gpt_decode(out, in, n, precision);
        cr_assert(n == 0 || !memcmp(out, in, (size_t)n * 4));
      } else {
        zp_gpt_encode(half, in, n, precision);
        zp_gpt_decode(out, half, n, precision);
      }
      for (int i = 0; i < n; i++) {
        uint32_t u = zp_float_bits(in[i]);
        if (precision == ZP_BF16) u = zp_f32_from_bf16(zp_bf16_from_f32(u));
        if (precision == ZP_F16) u = zp_f32_from_f16(zp_f16_from_f32(u));
        cr_assert(zp_float_bits(out[i]) == u && zp_float_bits(rounded[i]) == u);
      }
      cr_assert(half[n] == 0x5a5a);
    }
}

enum { ROOM = 60 * 80 };

/* c (M,N) += a·b by one chain per element, the definition. */
static void chains(zp_gpt_product p)
{
  for (int64_t m = 0; m < p.M; m++)
    for (int64_t n = 0; n < p.N; n++)
      for (int64_t k = 0; k < p.K; k++)
        p.c[m * p.ldc + n] = p.c[m * p.ldc + n] + p.a[m * p.am + k * p.ak] * p.b[k * p.ldb + n];
}

/* Every remainder of rows and columns, a transposed and not, rows farther apart than needed: the
 * words between them must survive. */
Test(model_matmul, every_vector_width_adds_in_ascending_order)
{
  static float a[ROOM], b[ROOM], start[ROOM], want[ROOM], got[ROOM];
  for (uint32_t i = 0; i < ROOM; i++) {
    a[i] = number(i);
    b[i] = number(i + 100000);
    start[i] = number(i + 200000);
  }
  for (int64_t M = 0; M <= 9; M++)
    for (int64_t N = 0; N <= 67; N++)
      for (int64_t K = 0; K <= 5; K++) {
        zp_gpt_product p = {M, N, K, want, N + 3, a, 1, 11, b, N + 1};
        if (N % 2) p.am = 7, p.ak = 1;
        memcpy(want, start, sizeof want);
        chains(p);
        for (int32_t width = 4; width <= zp_gpt_cpu_width(); width *= 2) {
          memcpy(got, start, sizeof got);
          p.c = got;
          zp_gpt_matmul_as(width, p);
          cr_assert(!memcmp(got, want, sizeof got), "%d×%d×%d, width %d", (int)M, (int)N, (int)K,
                    width);
        }
      }
}
