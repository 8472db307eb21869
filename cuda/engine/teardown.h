/* What the first error of a rank ends. In this order: the other ranks receive an alarm; the steps
 * before the one that failed end, which all ranks have issued; the gate closes, so that the results
 * of an aborted communication change neither parameters nor state; the communicators are aborted,
 * so that no other rank waits for this one without end. spec: STEP-3, STEP-5, LEDG-7 */
#ifndef ZP_CUDA_TEARDOWN_H
#define ZP_CUDA_TEARDOWN_H

#include "engine.h"

/* With the lock held, when a call returns or the watchdog ends: nothing unless the rank has an
 * error that is not torn down yet. */
void zp_cuda_tear_down(zp_cuda *e);

#endif
