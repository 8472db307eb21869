/* The communicators of a rank. spec: LEDG-4, LEDG-7 */
#ifndef ZP_CUDA_COMMUNICATORS_H
#define ZP_CUDA_COMMUNICATORS_H

#include "../device/rank.h"
#include "order.h"

typedef struct zp_cuda_comms {
  zp_cuda_rank *r;
  /* NULL: the group has one member, or this rank is in none */
  ncclComm_t group[ZP_ALL_GROUPS];
  ncclComm_t *tied; /* [tied_keys] */
  zp_cuda_order order;
} zp_cuda_comms;

/* r->plan is open. 0, or -1 without memory: no communicator exists yet. */
int zp_cuda_comms_open(zp_cuda_comms *c, zp_cuda_rank *r);
/* The world's; collective. */
int zp_cuda_comms_connect(zp_cuda_comms *c);
/* CREATE: those of a kind, split off the world; collective. */
int zp_cuda_comms_create(zp_cuda_comms *c, const zp_op *op);

/* Ends all communicators with the other ranks. */
int zp_cuda_comms_finalize(zp_cuda_comms *c);
/* Ends those that are left without the other ranks. */
void zp_cuda_comms_abort(zp_cuda_comms *c);
void zp_cuda_comms_close(zp_cuda_comms *c); /* the arrays alone */

/* 0, or ZP_E_INTERNAL in *err. */
int zp_cuda_comms_invariant(const zp_cuda_comms *c, zp_error *err);

#endif
