/* NCCL between ranks that are threads of one process on one device: its functions, over streams,
 * events, copies and one kernel. A program links it in NCCL's place.
 *
 * Ranks meet on the host: a call puts nothing but an event on its stream until all members have
 * come, and then whoever came last queues all members' work, so that no stream ever waits for what
 * has not been queued: CUDA maps streams to few queues, in which such a wait could block the work
 * that it waits for. A non-blocking communicator is in progress until then, as NCCL's is until a
 * communication is on its stream; a blocking one waits. Two non-blocking calls on one communicator
 * need an answer to ncclCommGetAsyncError between them.
 *
 * What the members of a communicator ask for must be one operation: a mismatch of kind, count,
 * type, redop or root is an error of all of them, and ncclGetLastError names both. What is ordered
 * is what NCCL orders: members' streams with each other where data go, nothing else.
 *
 * Sums of fp32 begin with another member at each element: nobody may rely on their order.
 *
 * There are: ncclGetVersion, GetUniqueId, GetLastError, GetErrorString, CommInitRank,
 * CommInitRankConfig, CommSplit, CommCount, CommUserRank, CommGetAsyncError, CommFinalize,
 * CommDestroy, CommAbort, GroupStart, GroupEnd, Send, Recv, AllReduce, ReduceScatter, AllGather,
 * Broadcast. A group is of sends and receives. */
#ifndef ZP_LOOPBACK_H
#define ZP_LOOPBACK_H

enum { ZP_LOOPBACK_RANKS = 24 };

/* How threads exclude and wait for each other. lock, unlock: by an address; pause: nothing to do
 * for now. */
typedef struct zp_loopback_hosts {
  int (*lock)(const void *key);
  void (*unlock)(const void *key);
  void (*pause)(void);
} zp_loopback_hosts;

/* Before the first call of NCCL. Not called: POSIX threads. hosts is kept. */
void zp_loopback_use(const zp_loopback_hosts *hosts);

#endif
