/* A CUDA device and NCCL on the CPU: all ranks in one process, every order that CUDA allows.
 *
 * A program that calls the CUDA runtime and NCCL from C links against libsimdev instead. This file
 * says how such a program is run: which ranks, under which order, with which faults, and what was
 * found. cuda/simdev/README.md tells it at length. */
#ifndef ZP_SIMDEV_SIMDEV_H
#define ZP_SIMDEV_SIMDEV_H
#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a run found first. */
typedef enum simdev_status {
  SIMDEV_OK = 0,
  SIMDEV_E_INPUT = -1,     /* simdev itself was called wrongly */
  SIMDEV_E_NO_MEMORY = -2, /* the machine has no memory for the simulation */
  SIMDEV_E_MISUSE = -3,    /* a call that CUDA or NCCL does not allow */
  SIMDEV_E_ACCESS = -4,    /* memory out of bounds, freed, of another rank, or freed while used */
  SIMDEV_E_MISMATCH = -5,  /* members of a communicator issued different operations */
  SIMDEV_E_DEADLOCK = -6,  /* nobody can go on */
  SIMDEV_E_LEAK = -7,      /* streams, events, memory or communicators were not given back */
  SIMDEV_E_HOST = -8,      /* a host function returned something other than 0 */
  SIMDEV_E_LIMIT = -9,     /* decisions_max was reached */
  SIMDEV_E_RACE = -10      /* the TSan build: two accesses that nothing orders */
} simdev_status;

/* Who goes next, where several may. */
typedef enum simdev_order {
  SIMDEV_RANDOM = 0, /* any of them, alike */
  SIMDEV_PCT,        /* random priorities, changed at pct_depth - 1 random moments */
  SIMDEV_FIFO,       /* the item issued first; hosts when no item can run: an idle device */
  SIMDEV_LAZY        /* hosts as far as they come; then any item: a slow device */
} simdev_order;

/* What CUDA and NCCL leave open: zero lets the seed choose, run by run. */
typedef enum simdev_choice { SIMDEV_BY_SEED = 0, SIMDEV_NEVER, SIMDEV_ALWAYS } simdev_choice;

typedef enum simdev_fault_kind {
  SIMDEV_FAULT_ERROR = 1,   /* the call does nothing and returns `error` */
  SIMDEV_FAULT_STOP,        /* the call never returns; what was issued before it still runs */
  SIMDEV_FAULT_DIE,         /* the call never returns and the rank's streams stand still */
  SIMDEV_FAULT_SLOW_HOST,   /* the rank's hosts go on only when nothing else can */
  SIMDEV_FAULT_SLOW_STREAM, /* so does the rank's stream `n` */
  SIMDEV_FAULT_DROP_SYNC, /* the rank's n-th cudaStreamWaitEvent or cudaEventRecord does nothing */
  SIMDEV_FAULT_ITEM       /* the rank's n-th item fails with `error`, and so every later call */
} simdev_fault_kind;

/* One planted fault. rank -1: each rank. call: the name of the calls that n counts, NULL all of
 * them. n counts from 1, except for streams, which are numbered from 0 in order of creation.
 * error: a cudaError_t or ncclResult_t, as the call has it. */
typedef struct simdev_fault {
  simdev_fault_kind kind;
  int32_t rank;
  const char *call;
  int64_t n;
  int32_t error;
} simdev_fault;

/* For tests of the race detection: each hides races that are there. */
enum { SIMDEV_WEAK_SWITCH = 1, SIMDEV_WEAK_EVENTS = 2 };

/* Zero is a good choice for every member. */
typedef struct simdev_options {
  uint64_t seed;
  simdev_order order;
  int32_t pct_depth;               /* 0: 3 */
  int64_t pct_steps;               /* how many decisions a run has; 0: the seed guesses */
  simdev_choice one_comm_kernel;   /* a device runs one communication kernel at a time */
  simdev_choice serialize_streams; /* a device runs all its items in the order of their issue */
  simdev_choice early_sends;       /* a send is complete before its receive has begun */
  simdev_choice late_launches;     /* a non-blocking operation is on its stream only when its
                                      communicator was asked about it (the TSan build: always) */
  simdev_choice remote_errors;     /* a communicator hears that a member is gone */
  simdev_choice lazy_loading; /* the first launch of a kernel that cudaFuncGetAttributes has not
                                      loaded waits until the device is idle */
  int32_t nccl_version; /* what ncclGetVersion says; 0: the header's. Before 2.26.0 there is no
                           NCCL_LAUNCH_ORDER_IMPLICIT */
  int32_t record;       /* keep simdev_records, simdev_edges, simdev_syncs */
  int32_t allow_leaks;
  int32_t protect_device;     /* a host that follows a device pointer is found (two system calls for
                             each switch, and a handler of SIGSEGV during the run) */
  uint64_t device_bytes;      /* of one device; 0: 1 GiB */
  uint32_t stack_bytes;       /* of one host; 0: 256 KiB */
  int64_t decisions_max;      /* 0: 100 million */
  int32_t idle_rounds_max;    /* fruitless rounds of polling that make a deadlock; 0: 4096 */
  uint64_t idle_step_ns;      /* how far the clock goes in such a round; 0: 50 ms */
  const simdev_fault *faults; /* [fault_count], kept by the caller until simdev_close or _reset */
  int32_t fault_count;
  uint32_t weaken; /* SIMDEV_WEAK_… */
} simdev_options;

/* What a run did. text is empty when status is SIMDEV_OK; it lasts until the next run. */
typedef struct simdev_report {
  simdev_status status;
  int32_t rank; /* whose call or item it was; -1: nobody's in particular */
  const char *text;
  int32_t findings;
  uint64_t order_hash; /* of the executed items that touch data, in their order */
  int64_t items, decisions, calls;
  int32_t leaked_streams, leaked_events, leaked_allocations, leaked_comms;
  uint64_t clock_ns;
  int64_t late_loads; /* first launches of kernels that had not been loaded, and may have waited */
  const char *late_kernel; /* the first of them; NULL: none */
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
  const char *stream_name; /* given by simdev_name_stream, else empty */
  simdev_item_kind kind;
  const char *name; /* of the kernel, the call, the communication */
  int64_t issue;    /* in the order of issue, over all ranks, from 1 */
  int32_t call;     /* the rank's call that issued it */
  int64_t tag;      /* what simdev_tag had said when it was issued */
  int64_t begin, end;
} simdev_record;

/* Item `to` could only begin after item `from` had ended. Both are issue numbers. to 0: the host's
 * call, which is given by rank and number, could only go on then. */
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

/* A cudaStreamWaitEvent or cudaEventRecord; n is what SIMDEV_FAULT_DROP_SYNC calls it. */
typedef struct simdev_sync {
  int32_t rank, n, call, stream, event;
  int32_t is_wait;
  int32_t waited; /* a wait that made its stream wait in this run */
  int32_t dropped;
  const void *site; /* the call's return address */
  const void *item; /* for simdev itself */
} simdev_sync;

typedef struct simdev simdev;

/* Opens a simulation of `ranks` processes that see `devices` devices each.
 * NULL: the input is refused or there is no memory; *why, where given, points to a fixed text. */
simdev *simdev_open(int32_t ranks, int32_t devices, const simdev_options *options,
                    const char **why);

/* Adds a host thread of a rank; the first of each rank is its process's main function. Functions
 * run as coroutines of the calling thread and stay for every later run. */
simdev_status simdev_host(simdev *s, int32_t rank, int (*fn)(void *arg, int rank), void *arg);

/* Runs all hosts to their ends and all streams until they are empty, or to the first finding that
 * ends a run; then every call of a host fails, so that hosts return. The report's status. */
simdev_status simdev_run(simdev *s);

/* Readies the simulation for another run, under other options, with the same hosts. */
simdev_status simdev_reset(simdev *s, const simdev_options *options);

/* Removes all hosts. */
void simdev_clear_hosts(simdev *s);

const simdev_report *simdev_result(const simdev *s);
void simdev_close(simdev *s);

/* What the last run did, where options.record is set. */
const simdev_record *simdev_records(const simdev *s, int64_t *n);
const simdev_edge *simdev_edges(const simdev *s, int64_t *n);
const simdev_sync *simdev_syncs(const simdev *s, int64_t *n);

/* ---- For host functions ---------------------------------------------------------------------- */

/* The calling host's rank; -1 outside of a run. */
int32_t simdev_rank(void);

/* The simulation's clock: it goes on a little with every decision, and by idle_step_ns where all
 * that can go on are hosts that poll. Deadlines are to be measured with it. */
uint64_t simdev_clock_ns(void);

/* 1 when the rank's process is gone (SIMDEV_FAULT_DIE): what a broken connection tells others. */
int simdev_gone(int32_t rank);

/* What sched_yield or a short sleep is for a thread: the host has nothing to do for now. */
void simdev_pause(void);

/* A flag between hosts, such as processes have through a file or a socket: what a host did before
 * simdev_signal(key) is visible to who returns from simdev_await(key). Keys are compared, never
 * followed. await: 0, or -1 when the run has ended meanwhile. */
void simdev_signal(const void *key);
int simdev_await(const void *key);

/* A lock between hosts, by its address. Hosts share one thread: a mutex of the system that is held
 * across a call of CUDA, NCCL or simdev would stop everybody. lock: 0, or -1 when the run has ended
 * meanwhile. */
int simdev_lock(const void *key);
void simdev_unlock(const void *key);

/* Names a stream in reports and records; the text is copied, 31 characters of it. */
void simdev_name_stream(cudaStream_t stream, const char *name);

/* What the calling host issues from now on carries this number in its records; 0 at first. For
 * programs that want to find their own work in a record. */
void simdev_tag(int64_t tag);

#ifdef __cplusplus
}
#endif
#endif
