/* What the parts of simdev share. sd_ on everything that is not public. */
#ifndef ZP_SIMDEV_INTERNAL_H
#define ZP_SIMDEV_INTERNAL_H
#include <stdarg.h>
#include <string.h>

#include "race.h"
#include "simdev.h"

typedef struct sd_item sd_item;
typedef struct sd_stream sd_stream;
typedef struct sd_event sd_event;
typedef struct sd_host sd_host;
typedef struct sd_launch sd_launch; /* nccl_internal.h */
typedef struct sd_group sd_group;
typedef struct sd_job sd_job;
typedef struct sd_key sd_key;
typedef struct sd_loaded sd_loaded;
typedef struct sd_sync_block sd_sync_block; /* arena.c */

/* AddressSanitizer, as gcc and as clang say it. */
#if defined(__SANITIZE_ADDRESS__)
#define SD_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SD_ASAN
#endif
#endif

/* Handles are pointers into the arena; the mark tells what they are, and that they still are. */
enum {
  SD_MARK_STREAM = 0x53545245,
  SD_MARK_EVENT = 0x45564e54,
  SD_MARK_COMM = 0x434f4d4d,
  SD_MARK_GONE = 0x474f4e45
};

/* ---- Who can be scheduled -------------------------------------------------------------------- */

typedef enum { SD_HOST, SD_STREAM, SD_JOB } sd_agent_kind;

typedef struct sd_agent {
  sd_agent_kind kind;
  int32_t rank;
  int32_t at;   /* place in the ready set; -1: not ready */
  int32_t slow; /* goes on only when nobody else can */
  uint64_t priority;
  uint64_t issue;        /* of the item at the head; for hosts: when it went on last */
  sd_item *waits_for;    /* whose list of waiters it is in; NULL: none */
  struct sd_agent *next; /* in that list */
} sd_agent;

typedef enum { SD_GOES, SD_BLOCKED, SD_PARKED, SD_AWAITS, SD_STOPPED, SD_ENDED } sd_host_state;

struct sd_host {
  sd_agent agent;
  sd_host_state state;
  int32_t id, device, bound; /* bound: it has called cudaSetDevice */
  int (*fn)(void *, int);
  void *arg;
  void *sp;    /* saved stack pointer */
  char *stack; /* lowest address of its stack */
  sd_fiber *fiber;
  void *fake_stack;
  int result;
  int32_t call; /* the rank's number of its current call */
  int64_t tag;  /* of what it issues */
  const char *call_name;
  const void *call_pc;
  const sd_item *blocked_by;
  const sd_job *job; /* that it waits for */
  const sd_key *key; /* that it awaits or would lock */
  cudaError_t last_error;
  int32_t muted;   /* ThreadSanitizer has reported a race of it, and ignores it for now */
  int32_t planted; /* the error that sd_enter returned is a fault */
  sd_stream **own; /* [devices] per-thread default streams */
  sd_group *group; /* open NCCL group */
};

typedef struct sd_rank {
  cudaError_t sticky; /* an item failed: every later call returns this */
  int32_t calls, streams, events, comms, syncs, items;
  int32_t dead;            /* its streams stand still */
  int32_t lost;            /* so do they when an item has failed: the context is lost */
  int32_t nccl_used;       /* NCCL has read its variables … */
  int32_t implicit;        /* … and NCCL_LAUNCH_ORDER_IMPLICIT was set */
  int32_t faulty;          /* a fault stopped one of its hosts: leaks are the fault's */
  uint64_t *issued;        /* [devices] items issued */
  uint64_t *serial;        /* [devices] items done, where streams are serialised */
  int32_t *comm_on;        /* [devices] communication kernels that run */
  sd_launch **last_launch; /* [devices] for NCCL_LAUNCH_ORDER_IMPLICIT */
  sd_stream **legacy;      /* [devices] made when first used */
  sd_stream *all;          /* its streams, newest first */
  uint64_t *used;          /* [devices] bytes of device memory */
  sd_loaded *loaded;       /* its kernels, newest first */
} sd_rank;

/* ---- Streams and items ----------------------------------------------------------------------- */

struct sd_stream {
  sd_agent agent;
  uint32_t mark;
  int32_t id, device, call;
  uint32_t flags;
  int32_t priority, is_legacy, default_of; /* default_of: host id + 1 of a per-thread stream */
  sd_item *head, *last;                    /* last: the newest, done or not */
  sd_item *legacy_seen; /* the legacy stream's item it is ordered after already */
  sd_fiber *fiber;
  sd_stream *next;
  int32_t muted;
  char *shared; /* of its blocks: a stream runs one at a time */
  size_t shared_bytes;
  char name[32];
};

struct sd_event {
  uint32_t mark;
  int32_t id, rank, device, call;
  uint32_t flags;
  sd_item *record; /* the current one; NULL: never recorded */
  sd_event *next;
  uint64_t *shared_sync; /* SIMDEV_WEAK_EVENTS: one sync address for all records */
};

typedef struct sd_kernel_item {
  const simdev_kernel *kernel;
  void *params;
  uint32_t grid[3], block[3];
  size_t shared;
} sd_kernel_item;

typedef struct sd_copy_item {
  void *to;
  const void *from; /* staged: the staging memory */
  size_t bytes;
  int32_t staged, value; /* value: of a memset */
} sd_copy_item;

/* Around an item's accesses: where it was issued, and, outermost, the item itself in the place of
 * an address of code, so that a report that shows the stack names the item (race.c). */
static inline void sd_race_begin(const sd_item *item, const void *pc)
{
  sd_race_enter(item);
  sd_race_enter(pc);
}
static inline void sd_race_end(void)
{
  sd_race_leave();
  sd_race_leave();
}

struct sd_item {
  simdev_item_kind kind;
  int32_t done, waited;
  int32_t call;
  int64_t tag;
  sd_stream *stream;
  sd_item *next;
  sd_agent *waiters;
  sd_item **deps;
  int32_t dep_count, dep_at;
  uint64_t issue, serial; /* over all ranks; of the rank's device */
  int64_t begin;
  const char *name;
  const void *pc;
  uint64_t *in;  /* what it acquires at its start */
  uint64_t *out; /* what it releases at its end; NULL: nobody wants it */
  union {
    sd_kernel_item kernel;
    sd_copy_item copy;
    struct {
      cudaHostFn_t fn;
      void *arg;
    } host;
    sd_event *event;
    sd_launch *launch;
    void *free;
  } u;
};

/* ---- Memory ---------------------------------------------------------------------------------- */

typedef enum { SD_PAGEABLE, SD_PINNED, SD_DEVICE } sd_place;

typedef struct sd_alloc {
  char *at;
  size_t bytes;
  int32_t rank, device, call, freed_call;
  int32_t freed;
  sd_place place;
} sd_alloc;

enum { SD_UNIT = 256 }; /* what allocations are aligned to, and CUDA's are */

/* Allocations of one kind, in the order of their addresses; never reused within a run. */
typedef struct sd_region {
  char *base, *next, *end;
  int32_t *owner; /* which allocation each unit of SD_UNIT bytes is in or behind */
  sd_alloc *list;
  int64_t n, cap;
} sd_region;

typedef struct sd_chunk {
  struct sd_chunk *next;
  size_t bytes, used;
} sd_chunk;

typedef struct sd_arena {
  sd_chunk *chunk, *at;
} sd_arena;

typedef struct sd_shared_limit {
  const void *func;
  size_t bytes;
  struct sd_shared_limit *next;
} sd_shared_limit;

/* A kernel whose code a device of the rank has. */
struct sd_loaded {
  const void *func;
  int32_t device;
  sd_loaded *next;
};

enum { SD_SIZES = 40 };

/* ---- The simulation -------------------------------------------------------------------------- */

struct simdev {
  simdev_options opt;
  int32_t ranks, devices, host_count, live_hosts;
  sd_host **host;
  sd_rank *rank;
  uint64_t random;
  /* scheduler */
  sd_agent **ready;
  int32_t ready_n, agents; /* agents: all that can ever be ready in this run */
  int64_t ready_cap;
  sd_host *running; /* NULL: the scheduler */
  sd_stream *on;    /* whose fiber it is, within an item */
  void *main_sp, *main_race, *main_fake;
  const void *main_stack;
  size_t main_stack_bytes;
  int64_t decisions, clock_items;
  int32_t preempt_256, idle_rounds, in_callback, unwound_calls;
  int64_t pct_change[16];
  int32_t pct_changes;
  uint64_t pct_low;
  int32_t one_comm, serialize, early, remote, late, lazy;
  sd_job *late_jobs; /* that wait to be asked for */
  uint64_t clock_ns, issue, order, hash;
  uint64_t begin_sync, end_sync; /* what was before the run is visible in it, and so on */
  int64_t *fault_seen;           /* [fault_count][ranks] calls of the fault's name */
  /* memory */
  sd_arena arena;
  sd_sync_block *sync_blocks;
  void *spare[SD_SIZES];
  sd_region device, pinned;
  uint32_t poison;
  sd_shared_limit *shared_limits;
  /* objects */
  sd_event *events;
  void *comms, *cliques;
  int32_t clique_count;
  sd_key *keys;
  int32_t ran, raced;
  /* findings */
  simdev_status verdict; /* set by what ends a run */
  simdev_report report;
  char text[16384];
  size_t text_used;
  char here[160];
  /* record */
  simdev_record *records;
  simdev_edge *edges;
  simdev_sync *syncs;
  int64_t record_n, record_cap, edge_n, edge_cap, sync_n, sync_cap;
};

extern _Thread_local simdev *sd_now; /* the simulation that runs on this thread */

static inline uint64_t sd_random(simdev *s)
{
  uint64_t z = (s->random += 0x9e3779b97f4a7c15u); /* splitmix64 */
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* 0 … n-1 */
static inline uint32_t sd_below(simdev *s, uint32_t n)
{
  return (uint32_t)(((sd_random(s) >> 32) * n) >> 32);
}

/* arena.c: zeroed memory until the next reset, NULL when there is none; buffers that come back. */
void *sd_map(size_t bytes);
void *sd_take(simdev *s, size_t bytes);
int sd_is_taken(const simdev *s, const void *p, size_t bytes);
void sd_arena_reset(simdev *s);
void sd_arena_close(simdev *s);
void *sd_buffer_get(simdev *s, size_t bytes);
void sd_buffer_put(simdev *s, void *buffer, size_t bytes);
/* Makes room for one more of size bytes in an array of the arena; -1: no memory. */
int sd_grow(simdev *s, void **list, int64_t n, int64_t *cap, size_t size);

/* An address for the race detector, not used before in this run; NULL: no memory. */
#ifdef SIMDEV_TSAN
uint64_t *sd_sync_take(simdev *s);
#else
static inline uint64_t *sd_sync_take(simdev *s)
{
  return &s->begin_sync; /* nobody looks at it */
}
#endif

/* fiber.c: of the TSan build; nothing in others, where fibers are NULL. */
int sd_fiber_take(simdev *s, sd_fiber **f); /* -1: no memory */
void sd_fiber_keep(sd_fiber *f);            /* its functions have all returned */
void sd_fiber_drop(sd_fiber *f);
void sd_fiber_call(sd_fiber *f, void (*fn)(void *), void *arg); /* on its stack */

/* memory.c */
int sd_memory_open(simdev *s);
void sd_memory_close(simdev *s);
void sd_memory_reset(simdev *s);
void sd_memory_check_guards(simdev *s);
cudaError_t sd_memory_take(sd_host *h, sd_place place, size_t bytes, void **p);
cudaError_t sd_memory_give(sd_host *h, sd_place place, void *p);
sd_alloc *sd_memory_find(const simdev *s, const void *p);
static inline sd_place sd_memory_place(const simdev *s, const void *p)
{
  const char *c = p;
  if (c >= s->device.base && c < s->device.end) return SD_DEVICE;
  if (c >= s->pinned.base && c < s->pinned.end) return SD_PINNED;
  return SD_PAGEABLE;
}
/* Is [p, p+n) one rank's own live memory? Notes a finding when not. verb: "reads", "writes"; by the
 * item, or by the running host's call where that is NULL. */
cudaError_t sd_memory_range(simdev *s, int32_t rank, const void *p, size_t n, const char *verb,
                            const sd_item *item);
void sd_memory_poison(simdev *s, void *p, size_t n, int freed);
void sd_memory_free_item(simdev *s, sd_item *item);
void sd_copy_bytes(void *to, const void *from, size_t n);
void sd_set_bytes(void *to, int value, size_t n);

/* cuda_function.c */
size_t sd_shared_max(const simdev *s, const void *func); /* bytes of dynamic shared memory */
cudaError_t sd_load_late(sd_host *h, const simdev_kernel *kernel); /* at a launch: if it was not */

/* protect.c: nothing where the option is not set. */
void sd_protect(simdev *s);
void sd_unprotect(simdev *s);
void sd_protect_begin(simdev *s);
void sd_protect_end(simdev *s);

/* sched.c */
int sd_agent_make(simdev *s, sd_agent *a, sd_agent_kind kind, int32_t rank);
void sd_ready_add(simdev *s, sd_agent *a);
void sd_ready_remove(simdev *s, sd_agent *a);
void sd_schedule(simdev *s); /* the loop of a run */
void sd_order_reset(simdev *s);

/* host.c */
int sd_host_stack(simdev *s, sd_host *h);
void sd_host_close(simdev *s, sd_host *h);
int sd_host_begin(simdev *s, sd_host *h);
void sd_resume(simdev *s, sd_host *h); /* from the scheduler, until the host gives way */
void sd_give_way(simdev *s, sd_host *h);
void sd_stop(simdev *s, sd_host *h);
cudaError_t sd_enter(sd_host **h, const char *name, const void *pc);
int sd_block_on(sd_host *h, sd_item *item);   /* and acquires nothing; -1: it will not end */
cudaError_t sd_never(const sd_host *h);       /* what a call returns then */
void sd_park(sd_host *h, sd_item *item);      /* item: what it polls for, NULL: something else */
void sd_wake_parked(simdev *s, int32_t rank); /* rank -1: of all ranks */
void sd_lose(simdev *s, int32_t rank, cudaError_t e); /* an item has failed */
const sd_item *sd_host_waits(const sd_host *h);
static inline cudaError_t sd_error(sd_host *h, cudaError_t e)
{
  if (e != cudaSuccess) h->last_error = e; /* cudaErrorNotReady too, as in CUDA */
  return e;
}

/* stream.c */
/* id: the rank's next, or below 0 for a default stream. */
sd_stream *sd_stream_make(simdev *s, int32_t rank, int32_t device, uint32_t flags, int32_t id);
/* The stream behind a handle, which must be of this host's rank; NULL: noted. */
sd_stream *sd_stream_of(sd_host *h, cudaStream_t handle);
sd_item *sd_item_make(sd_stream *st, simdev_item_kind kind, const char *name, int32_t call,
                      const void *pc);
void sd_item_issue(simdev *s, sd_item *item); /* from the scheduler or a host */
void sd_item_after(simdev *s, sd_item *item, sd_item *dep);
void sd_stream_update(simdev *s, sd_stream *st);
void sd_stream_step(simdev *s, sd_stream *st);
void sd_item_done(simdev *s, sd_item *item);
void sd_want_out(simdev *s, sd_item *item);
void sd_item_acquire(simdev *s, sd_host *h, sd_item *item); /* the host learns that it ended */
void sd_fiber_enter(simdev *s, sd_stream *st);
void sd_fiber_leave(simdev *s, sd_stream *st);
void sd_streams_out(simdev *s); /* once there is a verdict: hosts may clean up */
int sd_is_stream_default(cudaStream_t handle);
void sd_stream_name_fiber(sd_stream *st); /* for ThreadSanitizer's reports */
cudaError_t sd_stream_wait(sd_host *h, sd_stream *st);
sd_stream *sd_stream_default(sd_host *h, int per_thread);

/* exec.c: carries out an item's work, on its stream's fiber. */
void sd_execute(simdev *s, sd_item *item);

/* report.c */
void sd_note(simdev *s, simdev_status status, int ends, int32_t rank, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* "rank 1, call 12 (cudaFree)", until the next use. */
const char *sd_here(const sd_host *h);
void sd_where_item(const sd_item *item, char *text, size_t cap);
const char *sd_stream_name(const sd_stream *st, char *text, size_t cap);
void sd_report_deadlock(simdev *s);
void sd_report_leaks(simdev *s);
void sd_append(simdev *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sd_print(char *text, size_t cap, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void sd_note_leak(simdev *s, int32_t rank, const char *what, int32_t call, int32_t *n);

/* record.c */
void sd_record_item(simdev *s, const sd_item *item);
void sd_record_edge(simdev *s, simdev_edge_kind kind, const sd_item *from, const sd_item *to);
int sd_sync_call(simdev *s, const sd_host *h, const sd_stream *st, const sd_event *e,
                 sd_item *item); /* 1: a fault drops it */

/* fault.c */
int sd_fault_call(simdev *s, sd_host *h, cudaError_t *e); /* 1: the call returns *e */
int sd_fault_drops(simdev *s, int32_t rank, int32_t n);
void sd_fault_stream(simdev *s, sd_stream *st);
cudaError_t sd_fault_item(simdev *s, const sd_item *item);

/* nccl_*.c, used by the core through these alone. */
int sd_comm_ready(simdev *s, sd_item *item); /* may the stream's communication item go on? */
int sd_comm_step(simdev *s, sd_item *item);  /* 1: it has ended */
void sd_comm_describe(const sd_item *item, char *text, size_t cap);
void sd_comm_deadlock(simdev *s, const sd_item *item); /* appends who is missing */
void sd_job_deadlock(simdev *s, const sd_job *job);    /* appends who has not come */
int sd_group_is_open(const sd_host *h);
int sd_jobs_idle(simdev *s); /* 1: a job that nobody asked for goes on */
int sd_comm_idle(simdev *s); /* 1: somebody was told that a member is gone */
int32_t sd_comm_leaks(simdev *s);
int sd_comm_uses(const sd_item *item, const char *from, const char *to);
void sd_job_step(simdev *s, sd_agent *a);
void sd_nccl_reset(simdev *s);

#define SD_PC __builtin_return_address(0)

#endif
