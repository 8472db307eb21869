/* CUDA devices and NCCL on the CPU: all ranks in one process, in any order that CUDA allows.
 *
 * A C program that calls the CUDA runtime and NCCL links libsimdev in their place. This header is
 * for running such a program: its ranks, the order, faults, and the findings. See
 * cuda/simdev/README.md. */
#ifndef ZP_SIMDEV_SIMDEV_H
#define ZP_SIMDEV_SIMDEV_H
#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The first finding of a run. */
typedef enum simdev_status {
  SIMDEV_OK = 0,
  SIMDEV_E_INPUT = -1,     /* an invalid argument of a simdev function */
  SIMDEV_E_NO_MEMORY = -2, /* out of memory for the simulation */
  SIMDEV_E_MISUSE = -3,    /* a call that CUDA or NCCL does not allow */
  SIMDEV_E_ACCESS = -4,    /* memory out of bounds, freed, of another rank, or freed while used */
  SIMDEV_E_MISMATCH = -5,  /* members of a communicator issued different operations */
  SIMDEV_E_DEADLOCK = -6,  /* no host and no stream can run */
  SIMDEV_E_LEAK = -7,      /* streams, events, memory or communicators were not freed or
                            * destroyed */
  SIMDEV_E_HOST = -8,      /* a host function returned something other than 0 */
  SIMDEV_E_LIMIT = -9,     /* decisions_max was reached */
  SIMDEV_E_RACE = -10      /* the TSan build: two accesses without an order between them */
} simdev_status;

/* Which agent (host, stream, job) runs next if several can. */
typedef enum simdev_order {
  SIMDEV_RANDOM = 0, /* any of them, uniformly */
  SIMDEV_PCT,        /* random priorities, changed at pct_depth - 1 random moments */
  SIMDEV_FIFO,       /* the item issued first; hosts if no item can run: an idle device */
  SIMDEV_LAZY        /* hosts as long as one can run, then any item: a slow device */
} simdev_order;

/* Choices that CUDA and NCCL leave open; with 0 the seed makes them in each run. */
typedef enum simdev_choice { SIMDEV_BY_SEED = 0, SIMDEV_NEVER, SIMDEV_ALWAYS } simdev_choice;

typedef enum simdev_fault_kind {
  SIMDEV_FAULT_ERROR = 1,   /* the call does nothing and returns `error` */
  SIMDEV_FAULT_STOP,        /* the call never returns; what was issued before it still runs */
  SIMDEV_FAULT_DIE,         /* the call never returns and the rank's streams stop */
  SIMDEV_FAULT_SLOW_HOST,   /* the rank's hosts run only when nothing else can */
  SIMDEV_FAULT_SLOW_STREAM, /* the rank's stream `n` runs only when nothing else can */
  SIMDEV_FAULT_DROP_SYNC, /* the rank's n-th cudaStreamWaitEvent or cudaEventRecord does nothing */
  SIMDEV_FAULT_ITEM       /* the rank's n-th item fails with `error`, and so does every later
                           * call */
} simdev_fault_kind;

/* One injected fault. rank -1: each rank. call: the name of the calls that n counts; NULL: all
 * calls. n counts from 1, except for streams, which are numbered from 0 in order of creation.
 * error: a cudaError_t or ncclResult_t, as the call returns. */
typedef struct simdev_fault {
  simdev_fault_kind kind;
  int32_t rank;
  const char *call;
  int64_t n;
  int32_t error;
} simdev_fault;

/* For tests of the race detection: each of these hides races. */
enum { SIMDEV_WEAK_SWITCH = 1, SIMDEV_WEAK_EVENTS = 2 };

/* Zero is a good value for every member. */
typedef struct simdev_options {
  uint64_t seed;
  simdev_order order;
  int32_t pct_depth;               /* 0: 3 */
  int64_t pct_steps;               /* expected number of decisions of a run; 0: guessed from the
                                    * seed */
  simdev_choice one_comm_kernel;   /* a device runs one communication kernel at a time */
  simdev_choice serialize_streams; /* a device runs all its items in the order of their issue */
  int32_t hardware_queues;         /* a device has so many, at most 32, and streams share them: an
                                    * item begins only after those that were issued earlier to its
                                    * queue; 0: by the seed; -1: each stream has its own */
  simdev_choice stream_priorities; /* of a device's streams that can run, one of the greatest
                                    * priority does; not with SIMDEV_FIFO */
  simdev_choice early_sends;       /* a send is complete before its receive has begun */
  simdev_choice late_launches;     /* a non-blocking operation is on its stream only after its
                                    * communicator was polled (the TSan build: always) */
  simdev_choice remote_errors;     /* a communicator reports that a member is gone */
  simdev_choice lazy_loading;     /* the first launch of a kernel that cudaFuncGetAttributes has not
                                      loaded waits until the device is idle */
  simdev_choice lazy_connections; /* the first operation of each kind on a communicator, and of each
                                   * pair, is enqueued only when all its members have called it */
  simdev_choice idle_memory_calls; /* calls that allocate, free, register or unregister memory
                                    * return only when the device is idle */
  simdev_choice register_memory;   /* cudaHostRegister pins memory; else it is not supported, as on
                                    * some devices */
  int32_t nccl_version; /* the result of ncclGetVersion; 0: the header's. Before 2.26.0 there is no
                         * NCCL_LAUNCH_ORDER_IMPLICIT */
  int32_t record;       /* keep simdev_records, simdev_edges, simdev_syncs */
  int32_t allow_leaks;
  int32_t protect_device;     /* a host that dereferences a device pointer is a finding (two system
                               * calls for each switch, and a handler of SIGSEGV during the run) */
  uint64_t device_bytes;      /* of one device; 0: 1 GiB */
  uint32_t stack_bytes;       /* of one host; 0: 256 KiB */
  int64_t decisions_max;      /* 0: 100 million */
  int32_t idle_rounds_max;    /* rounds in which all hosts only poll, after which it is a deadlock;
                               * 0: 4096 */
  uint64_t idle_step_ns;      /* how far the clock advances in such a round; 0: 50 ms */
  const simdev_fault *faults; /* [fault_count], kept by the caller until simdev_close or _reset */
  int32_t fault_count;
  uint32_t weaken; /* SIMDEV_WEAK_… */
} simdev_options;

/* The report of a run. text is empty if status is SIMDEV_OK; it is valid until the next run. */
typedef struct simdev_report {
  simdev_status status;
  int32_t rank; /* the rank of the call or item; -1: of no particular rank */
  const char *text;
  int32_t findings;
  uint64_t order_hash; /* of the executed items that access data, in their order */
  int64_t items, decisions, calls;
  int32_t leaked_streams, leaked_events, leaked_allocations, leaked_comms;
  uint64_t clock_ns;
  int64_t late_loads; /* first launches of kernels that were not loaded, which may have waited */
  const char *late_kernel; /* the first of them, or NULL */
} simdev_report;

typedef enum simdev_item_kind {
  SIMDEV_KERNEL,
  SIMDEV_COPY,
  SIMDEV_SET,
  SIMDEV_HOST_FUNCTION,
  SIMDEV_RECORD,
  SIMDEV_WAIT,
  SIMDEV_COMM,
  SIMDEV_FREE,
  SIMDEV_WORD /* cuStreamWriteValue32 */
} simdev_item_kind;

/* An executed item. begin and end count the begins and ends of all items of the run; they differ
 * by more than one only for communication, which begins on each rank and ends when it can. */
typedef struct simdev_record {
  int32_t rank, device;
  int32_t stream;          /* in the rank's order of creation; below 0: a default stream */
  const char *stream_name; /* from simdev_name_stream, else empty */
  simdev_item_kind kind;
  const char *name; /* of the kernel, the call, the communication */
  int64_t issue;    /* in the order of issue, over all ranks, from 1 */
  int32_t call;     /* the rank's call that issued it */
  int64_t tag;      /* the host's simdev_tag when it was issued */
  int64_t begin, end;
} simdev_record;

/* Item `to` could begin only after item `from` had ended. Both are issue numbers. to 0: the host's
 * call, named by rank and number, could continue only then. */
typedef enum simdev_edge_kind {
  SIMDEV_EDGE_EVENT,  /* record to wait */
  SIMDEV_EDGE_LEGACY, /* through the legacy default stream */
  SIMDEV_EDGE_DATA,   /* from a sender's or contributor's item to the receiver's */
  SIMDEV_EDGE_HOST    /* from the item to a host that synchronized with it */
} simdev_edge_kind;
typedef struct simdev_edge {
  simdev_edge_kind kind;
  int64_t from, to;
  int32_t rank, call; /* of the host; else -1 and 0 */
} simdev_edge;

/* A cudaStreamWaitEvent or cudaEventRecord; n is its number for SIMDEV_FAULT_DROP_SYNC. */
typedef struct simdev_sync {
  int32_t rank, n, call, stream, event;
  int32_t is_wait;
  int32_t waited; /* a wait that made its stream wait in this run */
  int32_t dropped;
  const void *site; /* the call's return address */
  const void *item; /* used by simdev only */
} simdev_sync;

typedef struct simdev simdev;

/* Opens a simulation of `ranks` processes with `devices` devices each. NULL: an invalid argument,
 * or no memory; why may be NULL, and else *why points to a constant text. */
simdev *simdev_open(int32_t ranks, int32_t devices, const simdev_options *options,
                    const char **why);

/* Adds a host thread of a rank; the first one of each rank is the main function of its process.
 * Functions run as coroutines of the calling thread, in every later run. */
simdev_status simdev_host(simdev *s, int32_t rank, int (*fn)(void *arg, int rank), void *arg);

/* Runs until all hosts have returned and all streams are empty, or to the first finding that ends
 * the run; then every call of a host fails, so that hosts return. Returns the report's status. */
simdev_status simdev_run(simdev *s);

/* Prepares another run with the same hosts and other options. */
simdev_status simdev_reset(simdev *s, const simdev_options *options);

/* Removes all hosts. */
void simdev_clear_hosts(simdev *s);

const simdev_report *simdev_result(const simdev *s);
void simdev_close(simdev *s);

/* The record of the last run, if options.record is set. */
const simdev_record *simdev_records(const simdev *s, int64_t *n);
const simdev_edge *simdev_edges(const simdev *s, int64_t *n);
const simdev_sync *simdev_syncs(const simdev *s, int64_t *n);

/* Calls of CUDA and NCCL that a rank has made under one name, in the order of the first ones; of a
 * run with options.record, also while it runs. */
typedef struct simdev_call_count {
  const char *name;
  int64_t calls;
} simdev_call_count;
const simdev_call_count *simdev_calls(const simdev *s, int32_t rank, int64_t *n);

/* Bytes of a rank's live allocations, now and at most in this run; valid while it runs and until
 * the next one. */
typedef struct simdev_memory {
  uint64_t device, device_peak, pinned, pinned_peak;
} simdev_memory;
simdev_memory simdev_memory_of(const simdev *s, int32_t rank);

/* How many allocations, registered ranges, streams, events and communicators a rank has made so
 * far, destroyed ones included; also while it runs. */
int64_t simdev_created(const simdev *s, int32_t rank);

/* ---- For host functions ---------------------------------------------------------------------- */

/* The calling host's rank; -1 outside of a run. */
int32_t simdev_rank(void);

/* The simulation's clock: it advances a little with every decision, and by idle_step_ns if only
 * hosts that poll can run. Measure deadlines with it. */
uint64_t simdev_clock_ns(void);

/* 1: the rank's process has ended (SIMDEV_FAULT_DIE), as others would learn from a broken
 * connection. */
int simdev_gone(int32_t rank);

/* As sched_yield or a short sleep of a thread: the host polls. */
void simdev_pause(void);

/* A flag between hosts, as processes have by a file or a socket: a host's work before
 * simdev_signal(key) is visible to a host that returns from simdev_await(key). Keys are compared,
 * not dereferenced. await: 0, or -1 if the run has ended. */
void simdev_signal(const void *key);
int simdev_await(const void *key);

/* A lock between hosts, by its address. Hosts share one thread: a system mutex that is held across
 * a call of CUDA, NCCL or simdev would block all hosts. lock: 0, or -1 if the run has ended. */
int simdev_lock(const void *key);
void simdev_unlock(const void *key);

/* Names a stream in reports and records; the text is copied, 31 characters of it. */
void simdev_name_stream(cudaStream_t stream, const char *name);

/* Items that the calling host issues from now on have this number in their records; 0 at first. A
 * program can find its own work in a record by it. */
void simdev_tag(int64_t tag);

#ifdef __cplusplus
}
#endif
#endif
