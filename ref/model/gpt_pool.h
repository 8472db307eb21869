/* Allocations made one by one while an instance opens and freed together when it closes. */
#ifndef ZP_MODEL_GPT_POOL_H
#define ZP_MODEL_GPT_POOL_H

#include <stddef.h>
#include <stdint.h>

typedef struct zp_gpt_pool {
  void *newest;   /* list of allocations */
  int32_t failed; /* 1 once memory ran out; every later allocation is NULL too */
  /* Allocates memory of another kind (a device's), which its owner frees; NULL if memory ran out.
   * bytes > 0. If elsewhere is NULL, the pool allocates host memory. */
  void *(*elsewhere)(void *ctx, size_t bytes);
  void *ctx;
} zp_gpt_pool;

/* count elements of `size` bytes, 64-byte aligned (a vector, a cache line), zeroed if they are the
 * host's; NULL when memory ran out, now or before. count = 0 gives a valid pointer to nothing. */
void *zp_gpt_take(zp_gpt_pool *pool, int64_t count, size_t size);

/* The same for fp32. */
float *zp_gpt_take_f32(zp_gpt_pool *pool, int64_t count);

void zp_gpt_pool_free(zp_gpt_pool *pool);

#endif
