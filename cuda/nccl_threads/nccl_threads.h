/* NCCL between ranks that are threads of one process on one device: its functions, implemented with
 * streams, events, copies and one kernel. A program links this library in place of NCCL.
 *
 * Ranks meet on the host. A call records an event on its stream; the member that calls last queues
 * the work of all members. So every stream waits only for work that is queued already. Otherwise
 * CUDA, which maps streams to a few hardware queues, could put a wait in front of the work that it
 * waits for. Until the last member calls, a non-blocking communicator is in progress, as NCCL's is
 * until the operation is on its stream; a blocking communicator waits on the host. Between two
 * calls of a non-blocking communicator the caller polls ncclCommGetAsyncError.
 *
 * If members request different kinds, counts, types, redops or roots, all of them get an error, and
 * ncclGetLastError names both calls. As in NCCL, one member's stream waits for another's only if
 * data go from the other to it.
 *
 * Sums of fp32 begin with another member for each element, as their order is not specified.
 *
 * Implemented: ncclGetVersion, GetUniqueId, GetLastError, GetErrorString, CommInitRank,
 * CommInitRankConfig, CommSplit, CommCount, CommUserRank, CommGetAsyncError, CommFinalize,
 * CommDestroy, CommAbort, GroupStart, GroupEnd, Send, Recv, AllReduce, ReduceScatter, AllGather,
 * Broadcast. A group may hold sends and receives only. */
#ifndef ZP_NCCL_THREADS_H
#define ZP_NCCL_THREADS_H

enum { ZP_NCCL_THREADS_RANKS_MAX = 24 };

/* Locking between the ranks' threads. lock, unlock: of the lock at an address; pause: called when a
 * thread polls. */
typedef struct zp_nccl_threads_locking {
  int (*lock)(const void *key);
  void (*unlock)(const void *key);
  void (*pause)(void);
} zp_nccl_threads_locking;

/* To be called before the first NCCL call; without it POSIX threads are used. locking is kept by
 * the caller. */
void zp_nccl_threads_use(const zp_nccl_threads_locking *locking);

#endif
