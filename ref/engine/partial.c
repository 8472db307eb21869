/* spec: RED-8, STEP-2, LEDG-6, PIPE-5 */
#include "partial.h"

#include <stddef.h>

/* The clock: the sums follow those of the tied keys, whose first numbers are their keys. PIPE-5 */
#define PARTIAL_STRIDE ((int64_t)1 << 41)

int32_t zp_is_partial(const zp_config *cfg, int32_t j)
{
  const zp_param *p = &cfg->params[j];
  return cfg->sequence_parallel && cfg->tp > 1 && !p->sharded && !p->frozen;
}

int64_t zp_partial_in(const zp_config *cfg, const zp_layout *lay, int32_t k, zp_range p)
{
  int64_t n = 0;
  if (!cfg->sequence_parallel) return 0;
  zp_piece g = zp_piece_next(cfg, lay, k, p, lay->n_params);
  for (; g.count > 0; g = zp_piece_next(cfg, lay, k, p, g.i))
    if (zp_is_partial(cfg, g.param)) n += g.count;
  return n;
}

/* 1: bucket b of flat group k has a sum over tp. It is that of the whole bucket, so that all ranks
 * of a stage have as many ops; a rank's part of it may be empty. */
static int32_t is_summed(const zp_config *cfg, const zp_layout *lay, int32_t k, int64_t b)
{
  const zp_flat *f = &lay->flat[k];
  return f->use == 0 && zp_partial_in(cfg, lay, k, zp_whole_range(f, b)) > 0;
}

int64_t zp_partial_bytes(const zp_config *cfg, const zp_layout *lay)
{
  int64_t most = 0;
  for (int32_t k = 0; cfg->sequence_parallel && k < lay->n_flats; k++) {
    const zp_flat *f = &lay->flat[k];
    const int64_t n = f->numel == 0 ? 0 : cfg->stage == 0 ? zp_widest(f) : zp_part(f, 0);
    if (n > most) most = n;
  }
  return most * zp_sum_bytes(cfg->reduce);
}

static zp_op sum_op(const zp_config *cfg, const zp_layout *lay, zp_coord at, int32_t k, int64_t b,
                    int64_t clock_t)
{
  const int32_t exact = cfg->reduce == ZP_EXACT;
  const int64_t n = zp_partial_in(cfg, lay, k, zp_local_range(cfg, lay, at, k, b));
  return (zp_op){.kind = ZP_OP_ALL_REDUCE,
                 .what = ZP_WHAT_PARTIAL,
                 .group = ZP_GROUP_TP,
                 .key = -1,
                 .dtype = exact ? ZP_I64 : ZP_F32,
                 .redop = exact ? ZP_RED_SUM : ZP_RED_ORDERED,
                 .root = -1,
                 .flat = k,
                 .param = -1,
                 .slot = -1,
                 .mb = -1,
                 .recv_mb = -1,
                 .bucket = b,
                 .count = exact ? n * ZP_LIMBS : n,
                 .clock_t = clock_t,
                 .clock_i = (ZP_MAX_TIED + k) * PARTIAL_STRIDE + b};
}

int64_t zp_partial_sums(const zp_config *cfg, const zp_layout *lay, zp_coord at, int64_t clock_t,
                        zp_op *ops)
{
  int64_t n = 0;
  if (!cfg->sequence_parallel || cfg->tp == 1) return 0;
  for (int32_t k = 0; k < lay->n_flats; k++) {
    for (int64_t b = 0; b < zp_buckets(&lay->flat[k]); b++) {
      if (!is_summed(cfg, lay, k, b)) continue;
      if (ops != NULL) ops[n] = sum_op(cfg, lay, at, k, b, clock_t);
      n++;
    }
  }
  return n;
}
