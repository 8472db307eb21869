#include "gpt_pool.h"

#include <stdlib.h>
#include <string.h>

enum { LINE = 64 };

void *zp_gpt_take(zp_gpt_pool *pool, int64_t count, size_t size)
{
  if (pool->failed) return NULL;
  /* One line in front holds the link to the allocation before; sizes round up to whole lines. */
  const size_t bytes = (size_t)count * size, lines = 1 + (bytes + LINE - 1) / LINE;
  const int fits = (size_t)count <= (SIZE_MAX / 2) / size;
  char *made = NULL;
  if (fits)
    made = pool->elsewhere ? pool->elsewhere(pool->ctx, bytes > 0 ? bytes : 1)
                           : aligned_alloc(LINE, lines * LINE);
  pool->failed = made == NULL;
  if (!made || pool->elsewhere) return made;
  memset(made, 0, lines * LINE);
  memcpy(made, &pool->newest, sizeof pool->newest);
  pool->newest = made;
  return made + LINE;
}

float *zp_gpt_take_f32(zp_gpt_pool *pool, int64_t count)
{
  return zp_gpt_take(pool, count, sizeof(float));
}

void zp_gpt_pool_free(zp_gpt_pool *pool)
{
  while (pool->newest) {
    void *before;
    memcpy(&before, pool->newest, sizeof before);
    free(pool->newest);
    pool->newest = before;
  }
}
