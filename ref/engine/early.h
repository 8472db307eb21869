/* Where gradients that come before their turn are kept until the program adds them: a ring in which
 * the stage's entries follow each other in backward order, so that gradients of neighbours have
 * places of their own. Of the CUDA engine, and of the plan's graph that its runs are compared with.
 * spec: STEP-3 */
#ifndef ZP_ENGINE_EARLY_H
#define ZP_ENGINE_EARLY_H

#include "../plan/layout.h"

/* ZP_EARLY_ALL: every entry has a place of its own. ZP_EARLY_ALIGN: of places, in bytes. */
enum { ZP_EARLY_ALL = -1, ZP_EARLY_ALIGN = 256 };

typedef struct zp_early_range {
  int64_t at, bytes; /* 0 bytes: frozen, or empty */
} zp_early_range;

typedef struct zp_early {
  int64_t bytes;         /* of the ring */
  int32_t wraps;         /* 1: some ranges overlap */
  zp_early_range *range; /* [n_params of the stage] */
} zp_early;

/* cfg: its sizes are the gradients', which may be smaller than those of the layout (PART-2).
 * fp32_gradients: as in zp_hyper. bytes: ZP_EARLY_ALL; 0: twice what the gradients of a bucket take
 * at most, and the largest one; or so many, but at least the largest gradient and at most what
 * ZP_EARLY_ALL takes. Each gradient takes its bytes rounded up to ZP_EARLY_ALIGN. Gradients that,
 * with all between them in backward order, take at most so many bytes less the largest one do not
 * overlap. 0; -1: no memory. */
int zp_early_open(zp_early *e, const zp_config *cfg, const zp_layout *lay, int32_t fp32_gradients,
                  int64_t bytes);
void zp_early_close(zp_early *e);

/* 1: the ranges of entries i and j of the stage have a byte in common. */
int zp_early_overlap(const zp_early *e, int32_t i, int32_t j);

#endif
