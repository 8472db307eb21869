/* spec: STEP-3 */
#include "early.h"

#include <stdlib.h>
#include <string.h>

#include "window.h"

/* Of entry i's gradient, as it takes room. */
static int64_t bytes_of(const zp_config *cfg, const zp_layout *lay, int32_t i)
{
  const zp_param *p = &cfg->params[lay->first_param + i];
  const int64_t bytes = p->numel * zp_dtype_bytes(cfg->precision);
  if (p->frozen) return 0;
  return (bytes + ZP_EARLY_ALIGN - 1) / ZP_EARLY_ALIGN * ZP_EARLY_ALIGN;
}

static int64_t ring_bytes(const zp_config *cfg, const zp_layout *lay, int64_t bytes)
{
  int64_t all = 0, largest = 0, bucket = 0;
  for (int32_t i = 0; i < lay->n_params; i++) {
    const int64_t b = bytes_of(cfg, lay, i);
    all += b;
    if (b > largest) largest = b;
  }
  for (int32_t k = 0; k < lay->n_flats; k++) {
    const int64_t b = zp_widest(&lay->flat[k]) * zp_dtype_bytes(cfg->precision);
    if (b > bucket) bucket = b;
  }
  if (bytes == 0) bytes = 2 * bucket + largest;
  if (bytes < 0 || bytes > all) return all;
  return bytes > largest ? bytes : largest;
}

int zp_early_open(zp_early *e, const zp_config *cfg, const zp_layout *lay, int64_t bytes)
{
  int64_t at = 0;
  e->bytes = ring_bytes(cfg, lay, bytes);
  e->range = calloc((size_t)lay->n_params + 1, sizeof *e->range);
  if (!e->range) return -1;
  for (int32_t i = lay->n_params - 1; i >= 0; i--) {
    const int64_t n = bytes_of(cfg, lay, i);
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

int32_t zp_early_next_overlap(const zp_early *e, int32_t n, int32_t i, int32_t j)
{
  const zp_early_range *own = &e->range[i];
  for (j++; j < n; j++) {
    const zp_early_range *p = &e->range[j];
    if (j != i && p->at < own->at + own->bytes && own->at < p->at + p->bytes) return j;
  }
  return -1;
}
