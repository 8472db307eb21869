#include "gpt_matmul.h"

#include <string.h>

#include "gpt_target.h"

/* Blocks: as many accumulators as leave registers for the columns of B and one element of A: 8 of
 * 16 registers, with AVX-512 12 of 32. */
#define TILE_WIDTH 4
#define TILE_NAME(x) x##_4
#define TILE_TARGET
#define TILE_ROWS 4
#define TILE_VECTORS 2
#include "gpt_matmul_tile.inc"

#if ZP_GPT_X86
#define TILE_WIDTH 8
#define TILE_NAME(x) x##_8
#define TILE_TARGET ZP_GPT_AVX2
#define TILE_ROWS 4
#define TILE_VECTORS 2
#include "gpt_matmul_tile.inc"

#define TILE_WIDTH 16
#define TILE_NAME(x) x##_16
#define TILE_TARGET ZP_GPT_AVX512
#define TILE_ROWS 4
#define TILE_VECTORS 3
#include "gpt_matmul_tile.inc"
#endif

static void scalar_columns(const zp_gpt_product *p)
{
  for (int64_t m = 0; m < p->M; m++)
    for (int64_t n = 0; n < p->N; n++) {
      float sum = p->c[m * p->ldc + n];
      for (int64_t k = 0; k < p->K; k++) sum += p->a[m * p->am + k * p->ak] * p->b[k * p->ldb + n];
      p->c[m * p->ldc + n] = sum;
    }
}

static void drop_columns(zp_gpt_product *p, int64_t done)
{
  p->N -= done;
  p->c += done;
  p->b += done;
}

void zp_gpt_matmul_as(int32_t width, zp_gpt_product p)
{
  int64_t done = 0;
#if ZP_GPT_X86
  if (width >= 16) {
    columns_16(&p, &done);
    drop_columns(&p, done);
  }
  if (width >= 8) {
    columns_8(&p, &done);
    drop_columns(&p, done);
  }
#else
  (void)width;
#endif
  columns_4(&p, &done);
  drop_columns(&p, done);
  scalar_columns(&p);
}

void zp_gpt_matmul(zp_gpt_product p)
{
  zp_gpt_matmul_as(zp_gpt_cpu_width(), p);
}
