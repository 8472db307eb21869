/* The communicators that the preloaded recorder knows, and the ranks whose they are. All but the
 * functions that say otherwise take zpt_lock themselves. */
#ifndef ZP_RECORDER_NCCL_COMMS_H
#define ZP_RECORDER_NCCL_COMMS_H
#include <stddef.h>
#include <stdint.h>

#include "nccl_real.h"
#include "nccl_trace.h"

enum { ZPT_NOT_TOLD = -1 };
static const uint64_t ZPT_FIRST_DIGEST = 14695981039346656037u;
uint64_t zpt_digest(const void *bytes, size_t n, uint64_t h);

/* A birth: expected before NCCL is asked for it, so that all places that this process takes in a
 * communicator are known when the first of its calls returns; then it is told how that ended. */
typedef struct zpt_birth {
  const char *key;
  int size, place; /* ZPT_NOT_TOLD: to be asked for; size 0: its members are not known */
  int parent;      /* of which it is made: a number of zpt_comm; or -1 */
} zpt_birth;

int zpt_expect(const zpt_birth *b);
void zpt_born(int number, ncclComm_t *handle, ncclResult_t result);

/* A communicator's number, or -1; with zpt_lock held. */
int zpt_comm(ncclComm_t comm);
/* Of what is made of parent, with zpt_lock held: parent's key, how, and which of those made so (0: it
 * is counted), into key. 0: parent is not known. */
int zpt_child_key(int parent, const char *how, int number, char *key, size_t cap);
/* Which split of parent this is, from 1; with zpt_lock held. 0: parent is not known. */
int zpt_splits(int parent);
/* Before it is destroyed: its handle may come again. */
void zpt_dead(ncclComm_t comm);

/* Around the call that ends the outermost group of this thread. */
int zpt_group_ends(void);
void zpt_group_ended(int group, ncclResult_t result);
/* The program asked how far a communicator is. */
void zpt_polled(ncclComm_t comm, ncclResult_t state);

/* An operation is entered: the communicator's trace, its number there and its size; NULL: it is not
 * recorded. With zpt_lock held, which it may give up for a while. */
zpt_trace *zpt_trace_of(ncclComm_t comm, int *id, int *size);

#endif
