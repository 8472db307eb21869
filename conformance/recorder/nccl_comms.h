/* The communicators of the preloaded recorder, and the rank to which each belongs. Functions take
 * zpt_lock themselves unless their comment says otherwise. */
#ifndef ZP_RECORDER_NCCL_COMMS_H
#define ZP_RECORDER_NCCL_COMMS_H
#include <stddef.h>
#include <stdint.h>

#include "nccl_real.h"
#include "nccl_trace.h"

enum { ZPT_NOT_KNOWN = -1 };
static const uint64_t ZPT_FIRST_DIGEST = 14695981039346656037u;
uint64_t zpt_digest(const void *bytes, size_t n, uint64_t h);

/* A communicator that is about to be created. zpt_create_begin comes before the call of NCCL, so
 * that all members inside this process are known when the first of their calls returns. */
typedef struct zpt_creation {
  const char *key;
  int size, comm_rank; /* ZPT_NOT_KNOWN: NCCL is queried later; size 0: members unknown */
  int parent;          /* number of the communicator it is derived from (zpt_comm), or -1 */
} zpt_creation;

/* The number of the new communicator, or -1 without memory. */
int zpt_create_begin(const zpt_creation *c);
/* After the call of NCCL, with its result; number may be -1. */
void zpt_create_end(int number, ncclComm_t *handle, ncclResult_t result);

/* A communicator's number, or -1. The caller holds zpt_lock. */
int zpt_comm(ncclComm_t comm);
/* Writes the key of a communicator derived from parent: parent's key, how, and number (0: the
 * count of those derived in the same way). Returns 0 if parent is unknown. The caller holds
 * zpt_lock. */
int zpt_child_key(int parent, const char *how, int number, char *key, size_t cap);
/* Counts a split of parent and returns its number from 1, or 0 if parent is unknown. The caller
 * holds zpt_lock. */
int zpt_count_split(int parent);
/* Before a communicator is destroyed: NCCL may reuse its handle. */
void zpt_destroy(ncclComm_t comm);

/* Before and after the call that ends the outermost NCCL group of this thread. */
int zpt_group_closing(void);
void zpt_group_closed(int group, ncclResult_t result);
/* The program queried the state of a communicator (ncclCommGetAsyncError). */
void zpt_polled(ncclComm_t comm, ncclResult_t state);

/* The trace of a communicator in which an operation is entered, with its number in that trace
 * and its size. NULL if it is not recorded. The caller holds zpt_lock, which is released for a
 * while. */
zpt_trace *zpt_trace_of(ncclComm_t comm, int *id, int *size);

#endif
