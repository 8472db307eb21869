/* Mistakes that a test plants into the engine, to see that they are found: a site whose waits or
 * records are left out, or a mistake that others have made. Product code asks one pointer. */
#ifndef ZP_CUDA_FAULT_H
#define ZP_CUDA_FAULT_H

#include <stdint.h>

#include "sites.h"

typedef enum zp_cuda_plant {
  ZP_PLANT_NONE = 0,
  ZP_PLANT_ONE_PRODUCER,   /* a reduction waits for the first of its producers only */
  ZP_PLANT_COMPUTE_ONLY,   /* it waits for the compute stream instead */
  ZP_PLANT_ONE_EVENT,      /* all producers of a bucket record one event */
  ZP_PLANT_PRODUCERS_KEPT, /* the set is not emptied: who is in it is not recorded again */
  ZP_PLANT_FIRST_BATCH,    /* producers are waited for in the window's first micro-batch only */
  ZP_PLANT_REFILL,         /* a slot is refilled without waiting for its reduction */
  ZP_PLANT_SLOT_RESET,     /* every bucket goes to slot 0, whatever slot was waited for */
  ZP_PLANT_EARLY_FREE,     /* compute is given a bucket's memory when its reduction is queued */
  ZP_PLANT_SHARED_BUFFER,  /* parts of other ranks are received in the other slot */
  ZP_PLANT_NO_P2P_WAIT,    /* compute does not wait for exchanges */
  ZP_PLANT_UNSETTLED,      /* events are recorded before NCCL has put its work on the stream */
  ZP_PLANT_GATHER_EARLY,   /* parameters are gathered on another stream, beside the updates */
  ZP_PLANT_NO_STEP_WAIT,   /* the next step's forward does not wait for updates and gathers */
  ZP_PLANT_HOST_READ,      /* the host reads a step's state before its copy has ended */
  ZP_PLANT_UNLOADED,       /* kernels are loaded when they are launched first */
  ZP_PLANT_ORDER_LATE,     /* NCCL is told to keep the order when it has looked already */
  ZP_PLANT_UNBOUND,        /* a new thread that announces is given no context for device 0 */
  ZP_PLANT_END
} zp_cuda_plant;

typedef struct zp_cuda_fault {
  int32_t plant; /* zp_cuda_plant */
  int32_t site;  /* zp_cuda_site that is left out */
  int32_t rank;  /* -1: on each rank */
  int64_t nth;   /* which of the rank's waits or records of the site, from 1; 0: all */
  int64_t *hits; /* NULL, or where those that were left out are counted */
} zp_cuda_fault;

#endif
