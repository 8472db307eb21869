/* What training adds to the plan's configuration: optimizers, clipping, loss scale. */
#ifndef ZP_ENGINE_HYPER_H
#define ZP_ENGINE_HYPER_H

#include <stdint.h>

#include "../num/optim.h"
#include "../num/scaler.h"

enum { ZP_HYPER_GROUPS = 8 };

typedef struct zp_hyper {
  zp_optim optim[ZP_HYPER_GROUPS]; /* optimizer group g uses optim[g % groups] */
  int32_t groups;                  /* 1..ZP_HYPER_GROUPS */
  double clip;                     /* largest global norm; 0: no clipping */
  double clip_eps;
  zp_scaler scaler; /* the loss scaler's initial state */
} zp_hyper;

#endif
