/* spec: STEP-3 */
#include "early.h"

#include <stdlib.h>
#include <string.h>

#include "window.h"

/* Of entry i's gradient, as it takes room. */
static int64_t bytes_of(const zp_config *cfg, const zp_layout *lay, int32_t fp32_gradients,
                        int32_t i)
{
  const zp_param *p = &cfg->params[lay->first_param + i];
  const int64_t bytes =
      p->numel * zp_dtype_bytes(zp_dtype_of(p->fp32 || fp32_gradients, cfg->precision));
  if (p->frozen) return 0;
  return (bytes + ZP_EARLY_ALIGN - 1) / ZP_EARLY_ALIGN * ZP_EARLY_ALIGN;
}

/* A flat group's entries so far: the bucket that is being filled, what the gradients of its entries
 * take, and the last one of them. */
typedef struct filling {
  int64_t bucket, bytes, last_bytes, last_end;
} filling;

/* What the gradients of the entries of one bucket take, at most; -1: no memory. */
static int64_t widest_bucket(const zp_config *cfg, const zp_layout *lay, int32_t fp32_gradients)
{
  filling *of = calloc((size_t)lay->n_flats + 1, sizeof *of);
  int64_t most = 0;
  for (int32_t i = lay->n_params - 1; of && i >= 0; i--) {
    const int64_t bytes = bytes_of(cfg, lay, fp32_gradients, i), start = lay->spot[i].start;
    if (bytes == 0) continue;
    filling *f = &of[lay->spot[i].flat];
    const int64_t c = lay->flat[lay->spot[i].flat].capacity;
    if (start / c != f->bucket) f->bytes = f->last_end > start / c * c ? f->last_bytes : 0;
    f->bucket = start / c;
    f->bytes += bytes;
    f->last_bytes = bytes;
    f->last_end = start + cfg->params[lay->first_param + i].numel;
    if (f->bytes > most) most = f->bytes;
  }
  if (!of) return -1;
  free(of);
  return most;
}

int zp_early_open(zp_early *e, const zp_config *cfg, const zp_layout *lay, int32_t fp32_gradients,
                  int64_t bytes)
{
  const int64_t bucket = widest_bucket(cfg, lay, fp32_gradients);
  int64_t all = 0, largest = 0, at = 0;
  for (int32_t i = 0; i < lay->n_params; i++) {
    const int64_t n = bytes_of(cfg, lay, fp32_gradients, i);
    all += n;
    if (n > largest) largest = n;
  }
  if (bytes == 0) bytes = 2 * bucket + largest;
  e->bytes = bytes < 0 || bytes > all ? all : bytes > largest ? bytes : largest;
  e->wraps = e->bytes < all;
  e->range = calloc((size_t)lay->n_params + 1, sizeof *e->range);
  if (!e->range || bucket < 0) return -1;
  for (int32_t i = lay->n_params - 1; i >= 0; i--) {
    const int64_t n = bytes_of(cfg, lay, fp32_gradients, i);
    if (at + n > e->bytes) at = 0;
    e->range[i] = (zp_early_range){at, n};
    at += n;
  }
  return 0;
}

void zp_early_close(zp_early *e)
{
  free(e->range);
  memset(e, 0, sizeof *e);
}

int zp_early_overlap(const zp_early *e, int32_t i, int32_t j)
{
  const zp_early_range *a = &e->range[i], *b = &e->range[j];
  return a->at < b->at + b->bytes && b->at < a->at + a->bytes;
}
