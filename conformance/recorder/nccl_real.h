/* The functions of NCCL behind the recorder. */
#ifndef ZP_RECORDER_NCCL_REAL_H
#define ZP_RECORDER_NCCL_REAL_H

/* What has the name of a function of NCCL is seen from outside, and nothing else. */
#pragma GCC visibility push(default)
#include <nccl.h>
#pragma GCC visibility pop

/* Of this thread: who called the recorder last. It may see libraries that nobody else sees. */
extern __thread const void *zpt_caller;

/* The function that zpt_caller would have called, or NULL. */
void *zpt_find(const char *name);
/* The answer of one that is not there, which is told once. */
ncclResult_t zpt_none(const char *name);

#endif
