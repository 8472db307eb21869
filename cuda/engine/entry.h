/* What every public call begins and ends with. */
#ifndef ZP_CUDA_ENTRY_H
#define ZP_CUDA_ENTRY_H

#include "engine.h"

/* Takes the lock and checks the invariants of all parts: ZP_E_INTERNAL, with file and line. */
void zp_cuda_enter(zp_cuda *e);
/* Checks them again, tears a failed rank down, and releases the lock. Returns the status of the
 * first error. */
int zp_cuda_leave(zp_cuda *e);

#endif
