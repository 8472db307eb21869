/* The thread that checks the device and the other ranks while the host does something else.
 * spec: LEDG-7 */
#ifndef ZP_CUDA_WATCHDOG_H
#define ZP_CUDA_WATCHDOG_H

#include "engine.h"

typedef struct zp_cuda_watchdog {
  int32_t runs, closing;
  int64_t ended;     /* communications that had ended at the last check … */
  uint64_t since_ns; /* … and since when */
} zp_cuda_watchdog;

/* None, if the options have a clock of their own and no threads. */
int zp_cuda_watchdog_start(zp_cuda *e);
/* Waits until the thread has ended. */
void zp_cuda_watchdog_stop(zp_cuda *e);

/* 0, or ZP_E_INTERNAL in *err. */
int zp_cuda_watchdog_invariant(const zp_cuda_watchdog *w, zp_error *err);

#endif
