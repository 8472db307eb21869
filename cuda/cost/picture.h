/* Pictures of a simulated step: of each rank the compute stream, the reduction stream and the
 * link. */
#ifndef ZP_CUDA_COST_PICTURE_H
#define ZP_CUDA_COST_PICTURE_H

#include "../../ref/base/error.h"
#include "simulate.h"

typedef struct zp_picture {
  const zp_hb_plan *p;
  const zp_work *work;
  const zp_times *times;
  int32_t step; /* which is drawn */
} zp_picture;

/* 0, or ZP_E_FILE in *err. A trace opens at https://ui.perfetto.dev. */
int zp_cost_trace(const zp_picture *o, const char *file, zp_error *err);
int zp_cost_svg(const zp_picture *o, const char *file, zp_error *err);

#endif
