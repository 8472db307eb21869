/* Mistakes injected into the CUDA engine through its intercept (cuda/engine/intercept.h): a sync
 * point whose waits or records are left out, or a mistake that other implementations have made. */
#ifndef ZP_CUDA_INJECT_H
#define ZP_CUDA_INJECT_H

#include "../engine/engine.h"

typedef enum zp_mistake {
  ZP_INJECT_NONE = 0,
  ZP_INJECT_ONE_PRODUCER,   /* a reduction waits for the first of its producers only */
  ZP_INJECT_COMPUTE_ONLY,   /* it waits for the compute stream instead */
  ZP_INJECT_ONE_EVENT,      /* all producers of a bucket record one event */
  ZP_INJECT_PRODUCERS_KEPT, /* the set is not emptied: a stream in it is not recorded again */
  ZP_INJECT_FIRST_BATCH,    /* producers are waited for in the window's first micro-batch only */
  ZP_INJECT_REFILL,         /* a slot is refilled without waiting for its reduction */
  ZP_INJECT_SLOT_RESET,     /* every bucket goes to slot 0, whatever slot was waited for */
  ZP_INJECT_EARLY_FREE,     /* compute reuses a bucket's memory when its reduction is queued */
  ZP_INJECT_SHARED_BUFFER,  /* parts of other ranks are received in the other slot */
  ZP_INJECT_NO_P2P_WAIT,    /* compute does not wait for exchanges */
  ZP_INJECT_UNSETTLED,      /* events are recorded before NCCL has put its work on the stream */
  ZP_INJECT_GATHER_EARLY,   /* parameters are gathered on another stream, beside the updates */
  ZP_INJECT_NO_STEP_WAIT,   /* the next step's forward does not wait for updates and gathers */
  ZP_INJECT_HOST_READ,      /* the host reads a step's state before its copy has ended */
  ZP_INJECT_UNLOADED,       /* kernels are loaded when they are launched first */
  ZP_INJECT_ORDER_LATE      /* NCCL is configured to keep the order after it has looked */
} zp_mistake;

typedef struct zp_injection {
  int32_t mistake;    /* zp_mistake */
  int32_t sync_point; /* zp_cuda_sync_point that is left out */
  int32_t rank;       /* -1: on each rank */
  int64_t nth;        /* which of the rank's waits or records of the sync point, from 1; 0: all */
  int64_t *hits;      /* NULL, or where those that were left out are counted */
} zp_injection;

/* Flat groups of a case that a mistake is made in. */
enum { ZP_INJECT_FLATS = 32, ZP_INJECT_STREAMS = 4, ZP_INJECT_OWN = 16 };

/* One rank's state of an injection. */
typedef struct zp_injector {
  const zp_injection *fault;
  const zp_config *cfg;
  int32_t rank;
  zp_cuda *const *engine; /* NULL until the engine is open */
  int64_t occurrences;    /* of the sync point */
  int32_t producer_waits; /* waits for producers of the bucket that is being reduced */
  int32_t nccl_called;
  ncclComm_t unfinished; /* NCCL may not have put its work on the stream yet; NULL: it has */
  /* of each flat group: producers that have been recorded, and their events */
  cudaStream_t known[ZP_INJECT_FLATS][ZP_INJECT_STREAMS];
  cudaEvent_t event[ZP_INJECT_FLATS][ZP_INJECT_STREAMS];
  int32_t n_known[ZP_INJECT_FLATS];
  cudaEvent_t own[ZP_INJECT_OWN]; /* created here; the first n_own are not in use */
  int32_t n_own;
} zp_injector;

/* The intercept for the options of a rank's engine; fault NULL: none. engine: where the caller
 * stores it. */
zp_cuda_intercept zp_inject(zp_injector *j, const zp_injection *fault, const zp_config *cfg,
                            int32_t rank, zp_cuda *const *engine);

void zp_inject_close(const zp_injector *j);

/* To be called when the engine has issued a communication. */
void zp_inject_issued(const zp_injector *j, const zp_op *op);

/* 1: the engine's option first_nccl must be set. */
int zp_injects_late_order(const zp_injection *fault);

#endif
