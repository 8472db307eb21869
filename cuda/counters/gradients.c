#include "gradients.h"

#include <stdlib.h>

int32_t zp_counted_grad_dtype(const zp_counters_job *job, int32_t param)
{
  return zp_gradient_dtype(job->cfg, job->hyper, param);
}

size_t zp_counted_grad_bytes(const zp_counters_job *job, int32_t param)
{
  return (size_t)(job->cfg->params[param].numel *
                  zp_dtype_bytes(zp_counted_grad_dtype(job, param)));
}

static uint32_t next(uint64_t *state)
{
  *state = *state * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
  return (uint32_t)(*state >> 32);
}

/* Magnitudes from 2^-7 to 2: sums of many stay finite in each dtype. */
static void fill(char *to, int64_t n, int32_t dtype, uint64_t *state)
{
  for (int64_t i = 0; i < n; i++) {
    const uint32_t x = next(state), sign = x >> 31, exponent = x >> 8 & 7;
    if (dtype == ZP_F32) {
      ((uint32_t *)(void *)to)[i] = sign << 31 | (120 + exponent) << 23 | (next(state) >> 9);
    } else if (dtype == ZP_BF16) {
      ((uint16_t *)(void *)to)[i] = (uint16_t)(sign << 15 | (120 + exponent) << 7 | (x & 127));
    } else {
      ((uint16_t *)(void *)to)[i] = (uint16_t)(sign << 15 | (8 + exponent) << 10 | (x & 1023));
    }
  }
}

static int open_entry(zp_counted_rank *w, int32_t i, uint64_t *state)
{
  const zp_config *cfg = w->run->job->cfg;
  const size_t bytes = zp_counted_grad_bytes(w->run->job, i);
  char *values;
  int failed;
  if (cfg->params[i].stage != w->at.pp || cfg->params[i].frozen) return 0;
  values = malloc(bytes + 1);
  if (!values) return -1;
  fill(values, cfg->params[i].numel, zp_counted_grad_dtype(w->run->job, i), state);
  failed = cudaMalloc(&w->grad[i], bytes + 1) != cudaSuccess ||
           cudaMemcpy(w->grad[i], values, bytes, cudaMemcpyHostToDevice) != cudaSuccess;
  free(values);
  return failed;
}

int zp_counted_gradients_open(zp_counted_rank *w)
{
  uint64_t state = (uint64_t)w->rank;
  w->grad = calloc((size_t)w->run->job->cfg->n_params + 1, sizeof *w->grad);
  if (!w->grad) return -1;
  for (int32_t i = 0; i < w->run->job->cfg->n_params; i++)
    if (open_entry(w, i, &state)) return -1;
  return 0;
}

void zp_counted_gradients_close(zp_counted_rank *w)
{
  for (int32_t i = 0; w->grad && i < w->run->job->cfg->n_params; i++)
    if (w->grad[i]) cudaFree(w->grad[i]);
  free(w->grad);
}
