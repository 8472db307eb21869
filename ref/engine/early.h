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
  zp_early_range *range; /* [n_params of the stage] */
} zp_early;

/* cfg: its sizes are the gradients', which may be smaller than those of the layout (PART-2). bytes:
 * ZP_EARLY_ALL; 0: two buckets and the largest entry; or so many, but at least the largest entry
 * and at most what ZP_EARLY_ALL takes. Entries that, with all between them, take at most so many
 * bytes less the largest entry do not overlap. 0; -1: no memory. */
int zp_early_open(zp_early *e, const zp_config *cfg, const zp_layout *lay, int64_t bytes);
void zp_early_close(zp_early *e);

/* The next entry of the stage after j, but not i, whose range has bytes of entry i's; -1: none. j:
 * -1 to begin. n: n_params. */
int32_t zp_early_next_overlap(const zp_early *e, int32_t n, int32_t i, int32_t j);

#endif
