/* Hyperparameters by step, and values that zp_engine_set_hyper refuses. */
#ifndef ZP_TESTS_DRIVERS_HYPER_H
#define ZP_TESTS_DRIVERS_HYPER_H
#include <math.h>
#include <string.h>

#include "../../../ref/engine/hyper.h"

/* Other values for each t. */
static inline void schedule(zp_hyper *h, double t)
{
  h->optim[0].lr = 1e-2 / (1 + t);
  h->optim[0].beta1 = 0.9 - 0.01 * t;
  h->optim[0].beta2 = 0.95 + 0.005 * t;
  h->optim[0].eps = 1e-8 * (1 + t);
  h->optim[0].weight_decay = 0.1 + t;
  h->clip = 1 + t;
  h->clip_eps = 1e-6 / (1 + t);
}

/* 1: fault is the name of a wrong change, which *h now has. */
static inline int spoil(const char *fault, zp_hyper *h)
{
  if (!strcmp(fault, "hyper-lr")) h->optim[0].lr = -1;
  else if (!strcmp(fault, "hyper-beta2")) h->optim[0].beta2 = NAN;
  else if (!strcmp(fault, "hyper-clip")) h->clip = INFINITY;
  else if (!strcmp(fault, "hyper-kind")) h->optim[0].kind = ZP_OPTIM_SGD;
  else if (!strcmp(fault, "hyper-groups")) h->groups = 2;
  else if (!strcmp(fault, "hyper-replicas")) h->replicas = 2;
  else if (!strcmp(fault, "hyper-scaler")) h->scaler.window++;
  else return 0;
  return 1;
}

#endif
