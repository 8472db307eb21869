/* How long each piece of a plan's work takes alone, and what it uses meanwhile. */
#ifndef ZP_CUDA_COST_WORK_H
#define ZP_CUDA_COST_WORK_H

#include "../happens_before/happens_before.h"
#include "machine.h"

/* The kinds of work that a report lists. */
typedef enum zp_work_kind {
  ZP_WORK_FORWARD,
  ZP_WORK_BACKWARD,
  ZP_WORK_COPY,        /* kernels: gradients into buckets or sums */
  ZP_WORK_SUM,         /* kernels: widened, added, normalized */
  ZP_WORK_MEAN,        /* kernels: means and squares */
  ZP_WORK_UPDATE,      /* kernels */
  ZP_WORK_SCATTER,     /* kernels: gathered parameters into place */
  ZP_WORK_DECIDE,      /* kernels: statistics and decision */
  ZP_WORK_REDUCE,      /* communication: gradients */
  ZP_WORK_GATHER,      /* communication: parameters */
  ZP_WORK_STATISTICS,  /* communication */
  ZP_WORK_EXCHANGE,    /* communication: activations and their gradients */
  ZP_WORK_TO_HOST,     /* offload: copies of gradients and decision */
  ZP_WORK_HOST_UPDATE, /* offload: by the host */
  ZP_WORK_FROM_HOST,   /* offload: copies of parameters */
  ZP_WORKS
} zp_work_kind;

/* Resources of a rank: shares of its multiprocessors and of its memory's bandwidth. */
enum { ZP_USES_COMPUTE, ZP_USES_MEMORY, ZP_RESOURCES };

/* A piece of work. In its first `fixed` seconds a kernel uses no resource, a communication only its
 * multiprocessors; `seconds` more use use[] of each. A member of a communication has zeros: the
 * joint work has its cost. */
typedef struct zp_work {
  int32_t kind, comm; /* zp_work_kind; 1: a communication */
  double fixed, seconds, use[ZP_RESOURCES];
  double flops, bytes, wire; /* bytes: of memory, by kernels; wire: sent by one rank */
} zp_work;

/* What the plan leaves open. */
typedef struct zp_workload_size {
  int64_t tokens;                                   /* of a micro-batch */
  int64_t activation_bytes;                         /* that a stage sends for a micro-batch */
  int32_t native, offload, partial, fp32_gradients; /* as in zp_hb_case */
  const zp_param *own; /* [cfg->n_params] entries with their numels (PART-2) */
} zp_workload_size;

/* The work of each node of a plan whose case has `gradual` and `stages`. work: [graph.n]. 0, or
 * ZP_E_MEMORY in *err. */
int zp_work_of(const zp_hb_plan *p, const zp_machine *m, const zp_workload_size *size,
               zp_work *work, zp_error *err);

#endif
