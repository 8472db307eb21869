/* What the parts of the CUDA twin share. Functions return 0, or -1 after zp_cuda_fail. */
#ifndef ZP_CUDA_ENGINE_INTERNAL_H
#define ZP_CUDA_ENGINE_INTERNAL_H

#include "../../ref/engine/count.h"
#include "../../ref/engine/cursor.h"
#include "../../ref/engine/window.h"
#include "engine.h"

/* Streams that may fill one bucket. Each costs an event a flat group. */
enum { ZP_CUDA_PRODUCERS = 16 };
/* Streams whose waits for the reduction stream are remembered; those of others are repeated. */
enum { ZP_CUDA_KNOWN = 64 };
/* Steps that may be in flight. */
enum { ZP_CUDA_FLIGHT = 2 };

typedef enum zp_cuda_arrival { ZP_CUDA_AWAITED, ZP_CUDA_READY, ZP_CUDA_UNUSED } zp_cuda_arrival;

/* One entry of the stage. */
typedef struct zp_cuda_entry {
  void *param;     /* storage; a further use of a key has the holder's */
  void *staging;   /* a copy of a gradient that came before its turn; NULL: frozen */
  int32_t arrival; /* zp_cuda_arrival, in the current micro-batch */
  int64_t missing; /* elements not added yet in the current micro-batch */
  const void *grad;
  cudaStream_t stream; /* of the announcement; the reduction's for an unused entry */
  /* stages 0, 1: the latest ADD into each of its buckets, which the next micro-batch's waits for */
  cudaEvent_t *added; /* [pieces] */
  int32_t pieces;
  cudaStream_t added_on; /* NULL is a stream, too */
  int32_t is_added;      /* 1: there is one in this step */
  /* the latest ADD that read the staging buffer, which the next copy into it waits for */
  cudaEvent_t unstaged;
  cudaStream_t unstaged_on;
  int32_t is_unstaged; /* 1: there is one in this step */
} zp_cuda_entry;

/* One flat group. At most one bucket of it is being filled at a time: the program adds entries in
 * backward order, and reduces a bucket before anything goes into the next. */
typedef struct zp_cuda_flat {
  void *window;        /* stages 0, 1: (padded) sums of this rank's micro-batches */
  void *slot[2];       /* stage 2: (widest) contributions in the precision */
  cudaEvent_t free[2]; /* the reduction that read the slot has ended */
  int64_t read[2];     /* which of the step's reductions that was, from 1; 0: none yet */
  void *reduced;       /* (extent) sums */
  float *mean, *master, *moment1, *moment2; /* (extent), of who holds storage */
  /* offload, (extent) in pinned memory, where master and moments are, too: the means' copies, and
   * the rounded masters */
  float *mean_host;
  void *param_host;
  /* streams that have filled the open bucket, and what each had queued after its last copy */
  int32_t producers;
  cudaStream_t producer[ZP_CUDA_PRODUCERS];
  cudaEvent_t copied[ZP_CUDA_PRODUCERS];
} zp_cuda_flat;

/* Streams on which communication is launched. */
enum { ZP_CUDA_LANES = 4 };

/* A communication that was launched: the n-th of its lane. */
typedef struct zp_cuda_mark {
  int64_t step, pc; /* step -1: INIT */
  int32_t phase, lane;
  uint32_t n;
} zp_cuda_mark;

/* Pinned memory that host and device write while the other reads. */
typedef struct zp_cuda_shared {
  int64_t stop;                  /* a zp_gate's */
  uint32_t ended[ZP_CUDA_LANES]; /* communications of the lane that have ended */
} zp_cuda_shared;

/* Communications from the first one that has not ended, as far as is known: numbers ended … n-1,
 * number i in mark[i % cap]. */
typedef struct zp_cuda_marks {
  zp_cuda_mark *mark; /* [cap] */
  int64_t cap, ended, n;
  cudaStream_t lane[ZP_CUDA_LANES];
  uint32_t launched[ZP_CUDA_LANES];
} zp_cuda_marks;

typedef struct zp_cuda_lock zp_cuda_lock;

/* A pinned array. pages: bytes of zp_host_pages that CUDA has registered; 0: it is CUDA's own. */
typedef struct zp_cuda_pinned {
  void *p;
  size_t pages;
} zp_cuda_pinned;

/* Offload: copies of their own stream. NULL where there is none. */
typedef struct zp_cuda_offload {
  cudaStream_t copy;
  cudaEvent_t meant;      /* on reduce: the latest bucket's means are made */
  cudaEvent_t decided;    /* on reduce: the step is */
  cudaEvent_t out;        /* on copy: all means and the decision are on the host */
  cudaEvent_t back;       /* on copy: the latest bucket's parameters are on the device */
  cudaEvent_t taken[2];   /* on reduce: they have been taken from the place */
  void *place[2];         /* device memory, in which parameters of buckets come back in turn */
  int64_t updates, n;     /* buckets of a step; that came back in this one */
  zp_group_state *groups; /* pinned: [optgroups] */
  int32_t heard;          /* 1: the host has seen this step's decision */
  int64_t waits;
  zp_cuda_pinned *pinned; /* [n_pinned] all that is to be given back */
  int32_t n_pinned;
} zp_cuda_offload;

struct zp_cuda {
  zp_cuda_options opt;
  const zp_config *cfg;
  zp_coord at;
  zp_layout lay;
  zp_op *program[ZP_PHASES];
  uint8_t *wanted; /* [length of a step] 1: somebody waits for the op's record, or may */
  int64_t length[ZP_PHASES];
  zp_cuda_error err;
  /* threads */
  zp_cuda_threads threads;
  zp_cuda_lock *own_lock; /* of POSIX threads */
  int32_t watched, closing;
  int64_t seen;     /* the watchdog: communications that had ended when it looked last … */
  uint64_t seen_ns; /* … and since when */
  /* position */
  int32_t ready; /* 1: INIT has been issued */
  /* without callbacks: 1: a step's first micro-batch is awaited, or a later one; the caller has
   * ended it; [M]: the loss was given */
  int32_t own, begun, ending;
  uint8_t *loss_given;
  int32_t phase;
  int64_t pc;       /* the op being issued */
  int64_t next;     /* the first op of the micro-batch's ADDs and reductions that is not issued */
  int64_t step, mb; /* mb: whose gradients may be announced, or -1 */
  int32_t behind_forward; /* 1: reduce is behind the step's last forward */
  int64_t heard;          /* the step before which the host has waited for the device, or -1 */
  /* streams and events */
  cudaStream_t compute, reduce, p2p;
  cudaEvent_t forwarded, backwarded;    /* on compute, after the latest callback of each kind */
  cudaEvent_t with_next, with_previous; /* on p2p, after the latest exchange with that stage */
  /* the latest record's number, 0: p2p or compute has waited for it, or is behind it: later waits
   * would say nothing */
  int64_t recorded, new_forwarded, new_backwarded, new_next, new_previous;
  cudaEvent_t ended[ZP_CUDA_FLIGHT]; /* on reduce: of step s at s % 2, of INIT as of step -1 */
  cudaEvent_t copied_out;
  /* communicators; where a group has one member or this rank is in none: NULL */
  ncclComm_t comm[ZP_GROUPS];
  ncclComm_t *tied;         /* [tied_keys] */
  cudaEvent_t communicated; /* on last, after the latest communication */
  cudaStream_t last;        /* NULL: no communication yet */
  /* The reduction stream ends reductions one after the other: who has waited for the n-th need not
   * wait for those before it. */
  int64_t reductions; /* of slots, in this step */
  int32_t known;
  cudaStream_t known_stream[ZP_CUDA_KNOWN];
  int64_t known_wait[ZP_CUDA_KNOWN];
  int32_t chained; /* 1: streams wait for each other's communication */
  zp_cuda_marks marks;
  /* memory */
  zp_cuda_shared *shared;
  zp_cuda_entry *entry; /* [lay.n_params] */
  uint8_t *counts;      /* [lay.n_params] */
  zp_cuda_flat *flat;   /* [lay.n_flats] */
  void *send, *recv;    /* scratch of the reduction stream */
  int32_t act_slots;
  zp_cuda_message *act_in; /* [act_slots] */
  zp_cuda_message act_out, grad_in, grad_out;
  /* dynamic shapes: room for the messages, and what those that are alive look like */
  void **act_in_room, *act_out_room, *grad_in_room, *grad_out_room; /* [act_slots] */
  zp_cuda_message *sent;                                            /* [act_slots] */
  int64_t *meta_in, *meta_out, *meta_host;
  cudaEvent_t met; /* on p2p: the latest meta message has come to the host */
  int64_t meta_waits;
  float *loss; /* [M] */
  zp_tally *tally;
  int64_t *stats;
  zp_step_state *state, *state_host;
  zp_group_state *groups;
  /* SAVE and LOAD; what is NULL is there only meanwhile */
  zp_store *store;
  zp_error store_error;
  zp_train_state loaded;
  zp_optim_state *optim; /* [optgroups] */
  float *block;          /* pinned */
  void *narrow;          /* pinned; elements of the precision */
  int64_t *status_host;  /* pinned */
  zp_cuda_error unsaved; /* of a save that failed */
  int32_t agreed;        /* 1: all ranks have the error that this one has */
  zp_cuda_offload offload;
  zp_cuda_memory memory;
  int64_t *use;     /* in memory: what is being allocated for */
  void **allocated; /* [cap] device memory to be freed */
  int32_t n_allocated, cap_allocated;
  int64_t left_out; /* how often the planted fault's site came */
};

/* ---- error.c --------------------------------------------------------------------------------- */

/* Keeps the first error, with rank, stage, step and program position; returns -1. */
int zp_cuda_fail(zp_cuda *e, int32_t status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Makes *to say it, and aborts nothing. */
void zp_cuda_say(zp_cuda *e, zp_cuda_error *to, int32_t status, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Fails when another rank has told that it did. any: also where that was in a step that this rank
 * has not come to; else it goes on, as that rank's device does. 0 or -1. */
int zp_cuda_heed(zp_cuda *e, int any);
/* 0 when a call went well, else zp_cuda_fail. */
int zp_cuda_check(zp_cuda *e, cudaError_t result, const char *call);
int zp_cuda_check_nccl(zp_cuda *e, ncclResult_t result, const char *call);
const char *zp_cuda_op_text(const zp_op *op, char *text, size_t cap);

#define ZP_CUDA(e, call)                                                                           \
  do {                                                                                             \
    if (zp_cuda_check(e, (call), #call)) return -1;                                                \
  } while (0)
#define ZP_NCCL(e, call)                                                                           \
  do {                                                                                             \
    if (zp_cuda_check_nccl(e, (call), #call)) return -1;                                           \
  } while (0)
#define ZP_TRY(call)                                                                               \
  do {                                                                                             \
    if (call) return -1;                                                                           \
  } while (0)

/* ---- position.c ------------------------------------------------------------------------------ */

int zp_cuda_open_marks(zp_cuda *e);
/* Behind the communication that was launched last, for the op that is being issued. */
int zp_cuda_mark_comm(zp_cuda *e, cudaStream_t stream);
/* The earliest communication that has not ended on the device; NULL: all have. */
const zp_cuda_mark *zp_cuda_position(zp_cuda *e);

/* ---- threads.c ------------------------------------------------------------------------------- */

int zp_cuda_open_threads(zp_cuda *e);
int zp_cuda_start_watchdog(zp_cuda *e);
void zp_cuda_end_watchdog(zp_cuda *e);
void zp_cuda_close_threads(zp_cuda *e);
void zp_cuda_enter(const zp_cuda *e); /* takes the lock */
void zp_cuda_leave(const zp_cuda *e);

/* ---- fault.c --------------------------------------------------------------------------------- */

/* 1: the planted fault leaves this wait or record out. Only where there is a fault. */
int zp_cuda_left_out(zp_cuda *e, int32_t site);
/* Changes how many of the n producers the bucket's reduction waits for. Likewise. */
int zp_cuda_plant_producers(zp_cuda *e, zp_cuda_flat *s, const zp_op *op, int32_t *n);
/* When an exchange's event has been recorded. Likewise. */
int zp_cuda_plant_recorded(zp_cuda *e, const zp_op *op);
/* When the reduction of a bucket has been queued. Likewise. */
int zp_cuda_plant_reduced(zp_cuda *e, const zp_op *op);

static inline int zp_cuda_planted(const zp_cuda *e, zp_cuda_plant plant)
{
  return e->opt.fault && e->opt.fault->plant == (int32_t)plant &&
         (e->opt.fault->rank < 0 || e->opt.fault->rank == e->opt.rank);
}

/* ---- launch.c -------------------------------------------------------------------------------- */

int zp_cuda_launch(zp_cuda *e, const void *kernel, zp_launch l, void *params, cudaStream_t stream);
/* The only waits and records of the engine. */
int zp_cuda_wait(zp_cuda *e, int32_t site, cudaStream_t stream, cudaEvent_t event);
int zp_cuda_record(zp_cuda *e, int32_t site, cudaEvent_t event, cudaStream_t stream);
/* zp_runs_lay, for runs that travel with the parameters. */
void zp_cuda_lay(zp_memory_runs *runs);
/* The next runs of entries in range p of flat group k, at most ZP_RUNS_HERE: calls put(run, piece)
 * for each. *i starts as n_params. Returns how many. PART-9 */
typedef void (*zp_cuda_put)(const zp_cuda *e, void *ctx, zp_piece g, zp_memory_run *run);
int32_t zp_cuda_runs(const zp_cuda *e, int32_t k, zp_range p, int32_t *i, const uint8_t *only,
                     zp_cuda_put put, void *ctx, zp_memory_runs *runs);
int64_t zp_cuda_size(const zp_cuda *e); /* bytes of an element of the precision */
char *zp_cuda_sum(const zp_cuda *e, void *sums, int64_t at); /* partial sum number `at` */

/* ---- records.c ------------------------------------------------------------------------------- */

int zp_cuda_open_records(zp_cuda *e);
int zp_cuda_is_wanted(
    const zp_cuda *e); /* 1: the record of the op that is being issued is needed */

/* ---- comm.c ---------------------------------------------------------------------------------- */

int zp_cuda_world(zp_cuda *e);
int zp_cuda_create(zp_cuda *e, const zp_op *op);
ncclComm_t zp_cuda_comm(const zp_cuda *e, const zp_op *op);
ncclDataType_t zp_cuda_dtype(int32_t dtype);
/* order.c. Around each communication: begin before the first NCCL call, end after the last: then the work is
 * on the stream. */
int zp_cuda_open_order(zp_cuda *e);
int zp_cuda_comm_begin(zp_cuda *e, cudaStream_t stream);
int zp_cuda_comm_end(zp_cuda *e, ncclComm_t comm, cudaStream_t stream);
/* Until NCCL has done what the last calls on comm began. */
int zp_cuda_settle(zp_cuda *e, ncclComm_t comm, const char *what);
/* Waits on the host for an event: query, asynchronous errors, deadline. */
int zp_cuda_host_wait(zp_cuda *e, int32_t site, cudaEvent_t event, const char *what);
/* The same for what needs no other rank, after an error: 1: it has ended, 0: it will not. */
int zp_cuda_let_end(zp_cuda *e, cudaEvent_t event);
int zp_cuda_let_rest(zp_cuda *e, cudaStream_t stream);
/* Alarms, and errors of communicators. */
int zp_cuda_look(zp_cuda *e, const char *what);
/* An error that NCCL reports of another rank; -1. */
int zp_cuda_peer_failed(zp_cuda *e, ncclResult_t state, const char *what);
uint64_t zp_cuda_now(const zp_cuda *e);
uint64_t zp_cuda_patience(const zp_cuda *e); /* the deadline, from when a wait begins */
zp_gate zp_cuda_gate(const zp_cuda *e);      /* of the step that is being issued */
void zp_cuda_abort(zp_cuda *e);
int zp_cuda_end_comms(zp_cuda *e);

/* ---- gather.c, reduce.c, p2p.c, message.c, stats.c ------------------------------------------- */

/* The memory of a stage-2 op's slot. */
char *zp_cuda_slot(const zp_cuda *e, const zp_op *op);
void zp_cuda_begin_gradients(zp_cuda *e);                  /* of a micro-batch */
int32_t zp_cuda_missing(const zp_cuda *e, int32_t *first); /* entries that are not announced */
/* Without callbacks: from the first announcement on, and whenever a micro-batch is complete, the
 * program goes on to where the next gradients are awaited. */
int zp_cuda_go_on(zp_cuda *e);
int zp_cuda_arrived(zp_cuda *e, const zp_op *op);
int zp_cuda_reduce(zp_cuda *e, const zp_op *op);
int zp_cuda_reduce_tied(zp_cuda *e, const zp_op *op);
int zp_cuda_mean(zp_cuda *e, const zp_op *op);
int zp_cuda_p2p(zp_cuda *e, const zp_op *op);
/* One exchange with op's neighbour; either half may be NULL. */
int zp_cuda_transfer(zp_cuda *e, const zp_op *op, const zp_cuda_message *out,
                     const zp_cuda_message *in);
int zp_cuda_meta(zp_cuda *e, const zp_op *op);
int zp_cuda_describe(zp_cuda *e, const zp_op *op, const zp_cuda_call *call);
/* What a meta message says, with the tensors laid into `room`; NULL, or why it cannot be taken. */
const char *zp_cuda_decode(const zp_cuda *e, const int64_t *meta, void *room, zp_cuda_message *out);
/* Dynamic shapes: the gradient of an activation, in `room`: without integer tensors. PIPE-6 */
void zp_cuda_gradient_of(const zp_cuda_message *act, void *room, zp_cuda_message *out);
int zp_cuda_forward(zp_cuda *e, const zp_op *op);
int zp_cuda_backward(zp_cuda *e, const zp_op *op);
int zp_cuda_statistics(zp_cuda *e, const zp_op *op);
int zp_cuda_decide(zp_cuda *e);
int zp_cuda_update(zp_cuda *e, const zp_op *op);
int zp_cuda_gather_params(zp_cuda *e, const zp_op *op);
int zp_cuda_broadcast(zp_cuda *e, const zp_op *op);
int zp_cuda_install(zp_cuda *e);

/* ---- offload.c ------------------------------------------------------------------------------- */

int zp_cuda_open_offload(zp_cuda *e);
void zp_cuda_close_offload(zp_cuda *e);
void zp_cuda_drop_pinned(zp_cuda *e);
int64_t zp_cuda_landing(const zp_cuda *e); /* elements of the widest bucket that comes back */
/* Pinned memory for `count` elements, zeroed. */
int zp_cuda_take_pinned(zp_cuda *e, void *to, int64_t count, int64_t bytes);
/* Means, or the decision, on their way to the host. */
int zp_cuda_send_means(zp_cuda *e, const zp_op *op, zp_range r);
int zp_cuda_send_decision(zp_cuda *e);
/* The update of a bucket on the host, its parameters on their way back: reduce is behind them. */
int zp_cuda_update_on_host(zp_cuda *e, const zp_op *op);
void *zp_cuda_place(const zp_cuda *e); /* where the latest bucket's are */
/* They have been read there. */
int zp_cuda_free_place(zp_cuda *e);

/* ---- step.c, storage.c ----------------------------------------------------------------------- */

/* Runs a program. */
int zp_cuda_run(zp_cuda *e, int32_t phase);
int zp_cuda_storage(zp_cuda *e, const zp_op *op); /* WRITE, SEAL, COMMIT, READ, LOAD's INSTALL */
int zp_cuda_gather_state(zp_cuda *e, const zp_op *op);
int zp_cuda_agree(zp_cuda *e, const zp_op *op);
void zp_cuda_issuing(zp_cuda *e, const zp_op *op);
void zp_cuda_close_blocks(zp_cuda *e);
void zp_cuda_issued(zp_cuda *e, const zp_op *op);

#endif
