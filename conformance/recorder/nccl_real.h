/* Finds NCCL's own functions, which the recorder wraps under the same names. */
#ifndef ZP_RECORDER_NCCL_REAL_H
#define ZP_RECORDER_NCCL_REAL_H

/* Only the wrappers of NCCL's functions are exported. */
#pragma GCC visibility push(default)
#include <nccl.h>
#pragma GCC visibility pop

/* The address from which this thread last called the recorder. Its object may have loaded libraries
 * that are not in the global scope. */
extern __thread const void *zpt_caller;

/* The function that zpt_caller would have called without the recorder, or NULL. */
void *zpt_find(const char *name);
/* The result of a wrapper whose function does not exist; reports the first one on stderr. */
ncclResult_t zpt_missing(const char *name);

#endif
