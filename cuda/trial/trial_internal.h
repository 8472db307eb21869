/* What the parts of a trial share, and tests that tamper with it. */
#ifndef ZP_TRIAL_TRIAL_INTERNAL_H
#define ZP_TRIAL_TRIAL_INTERNAL_H

#include "../../ref/cli/sim_store.h"
#include "../engine/engine_internal.h"
#include "../model/gpt.h"
#include "../model/judge.h"
#include "../path/run.h"
#include "trial.h"

/* Communications in the order of issue. */
typedef struct zp_trial_ledger {
  zp_op *op;
  int32_t *step; /* counted from 0; below 0: of another phase */
  int64_t n, cap;
  int32_t no_memory;
} zp_trial_ledger;

/* Waits and records of a rank's engine, in the order of issue. */
typedef struct zp_trial_sync {
  int32_t site, waited; /* waited: of the host's */
  cudaEvent_t event;
} zp_trial_sync;
typedef struct zp_trial_syncs {
  zp_trial_sync *sync;
  int64_t n, cap;
} zp_trial_syncs;

typedef struct zp_trial_worker zp_trial_worker;

/* What tests meddle with; NULL: nobody does. */
typedef struct zp_trial_hooks {
  /* after the model has described what it is going to send */
  void (*described)(zp_trial_worker *w, const zp_cuda_call *call, zp_cuda_message *m);
  int64_t (*message_bytes)(const zp_trial_worker *w, int64_t enough); /* what the engine is told */
  int (*before_open)(zp_trial_worker *w);                             /* not 0: the rank ends */
  int (*before_step)(zp_trial_worker *w);                             /* likewise */
  void (*closing)(zp_trial_worker *w); /* before a rank's engine is closed, failed or not */
  int32_t no_lock;                     /* 1: the lock of a rank's hosts locks nothing */
} zp_trial_hooks;

/* What a rank's further hosts are told by its first (hosts.c). Addresses of members, and of what
 * they point to, are simdev's keys, which are given once: each turn, a micro-batch's announcements,
 * has its own. */
typedef struct zp_trial_hosts {
  zp_trial *t;
  zp_trial_worker *w;
  void (*watch)(void *);
  void *watch_arg;
  char watch_begins, watch_ended, lock;
  int32_t turns, turn, over; /* turns: all there can be */
  char *begins, *ended;      /* [turns + 1]; [turns + 1][ZP_TRIAL_STREAMS] */
} zp_trial_hosts;

/* The engine's, on simdev's clock. */
#define ZP_TRIAL_DEADLINE_NS ((uint64_t)30 * 1000000000u)

/* Where ranks are: in processes of their own, each with its device; or all in one process, on one
 * device, where simdev's NCCL has no part: hosts of simdev's, or POSIX threads, with which engines
 * have the lock and the watchdog that they make for themselves. Set before the first trial. */
typedef enum zp_trial_place { ZP_TRIAL_PROCESSES, ZP_TRIAL_HOSTS, ZP_TRIAL_THREADS } zp_trial_place;
extern zp_trial_place zp_trial_ranks;

/* Who queues a body of one thread, with a copy of its parameters; 0, or an error. NULL: it is
 * simdev's kernel. Set before the first trial. */
extern int (*zp_trial_queue)(const simdev_kernel *kernel, const void *params, cudaStream_t stream);

/* Told which op's work carries which tag, where it is set; op NULL: nothing carries tags. */
extern void (*zp_trial_tagged)(int32_t rank, int64_t tag, const zp_op *op);

struct zp_trial {
  const zp_config *cfg;
  const zp_hyper *hyper;
  const zp_workload *work;
  zp_trial_watch watch;
  zp_trial_storage storage;
  int64_t base; /* the first step: 0, or the one that was loaded */
  int32_t steps, world;
  /* of ref */
  zp_sim *ref;
  zp_hook hook;            /* of its ranks */
  void **first;            /* [world · n_params] first values, NULL for other stages' entries */
  zp_step_result *result;  /* [steps] */
  zp_scaler *scaler;       /* [steps] after each step */
  uint64_t *params;        /* [steps · world] hashes of the parameters before each step */
  zp_trial_ledger *ledger; /* [world] */
  zp_trial_hooks hooks;
  zp_case_memory saved[2]; /* by ref; by the twin's last run */
  /* where ref follows (follow.c) */
  zp_workload tape; /* what ref trains then */
  int64_t arrived;  /* ranks that have come to the end of a step, of all steps */
  char *followed;   /* [steps] keys: ref has taken the step */
  double apart,
      size; /* Σ squares, of a step's gradients: of differences from ref's own, of these */
  /* of the twin's last run */
  zp_trial_schedule now;
  simdev *sim, *sims[2];     /* the run's; with one host a rank, and with several */
  zp_trial_hosts *hosts;     /* [world] */
  zp_cuda_alarm alarm;       /* the first that was told … */
  uint64_t alarm_ns;         /* … when */
  int32_t alarming, alarmed; /* 1: it is being told, it was */
  ncclUniqueId id;
  int32_t differs;       /* 1: there is … */
  zp_trial_found found;  /* … the first */
  zp_cuda_error *error;  /* [world] */
  zp_path_log *log;      /* [world] announcements */
  zp_trial_syncs *syncs; /* [world] of runs that are recorded */
  uint8_t *get;          /* [steps] 1: the host asked for the results */
  int32_t chained;       /* 1: the engine kept the order of communications by events */
};

/* One rank of the twin's run. */
struct zp_trial_worker {
  zp_trial *t;
  int32_t rank, streams, steps_done;
  zp_coord at;
  zp_trial_hosts *hosts;
  zp_cuda_threads threads;
  uint64_t random[ZP_TRIAL_STREAMS]; /* of each announcing host; [0]: also of the first */
  int32_t failed[ZP_TRIAL_STREAMS];
  const zp_cuda_call *call; /* the backward whose gradients are announced */
  zp_cuda *e;
  void *inst;             /* of the workload, or … */
  zp_cuda_gpt *gpt;       /* … where that is gpt, the device's own … */
  zp_products products;   /* … and who multiplies for it: ref's own, or … */
  zp_products library;    /* … the program's, … */
  zp_product_judge judge; /* … judged, … */
  zp_judged judged;       /* … as was found until now */
  cudaStream_t producer[ZP_TRIAL_STREAMS];
  cudaStream_t own, losses; /* of the caller's own loop … */
  cudaEvent_t forwarded;
  float *loss; /* … device: [2][M] as forward leaves them, as they are given */
  cudaEvent_t made, all;
  void *grad[ZP_TRIAL_STREAMS]; /* device: what is announced */
  void **param;                 /* [n_params of the stage] device: the engine's parameters */
  void **params, **grads;       /* [n_params] the same; where a backward leaves gradients */
  void **raw;                   /* [n_params] device: [M] what backward leaves, trained entries */
  int32_t *order, entries;      /* [n_params] the first `entries`, in the order of announcement */
  int32_t *refused;             /* device: kernels that did not get what was sent */
  int32_t now;                  /* the entry that is announced, in micro-batch mb */
  int64_t mb;
  uint64_t *seen; /* device: [steps · M · 2] the parameters as forward and the end of backward saw
                     them, hashed */
  zp_message in, out; /* dtypes and shapes */
  /* device: of the step, where ref follows: [ZP_TRIAL_KEPT][M] messages; [M] losses */
  char *kept;
  int64_t kept_bytes; /* room for one */
  float *lost;
  zp_trial_ledger issued;
};

/* Messages of a micro-batch: activations as they came and went, gradients as they did. */
enum { ZP_TRIAL_RECEIVED, ZP_TRIAL_SENT, ZP_TRIAL_RETURNED, ZP_TRIAL_RETURNING, ZP_TRIAL_KEPT };

/* 0, or the line where a call failed: what a host function of simdev returns. */
#define ZP_TRIAL_OK(call)                                                                          \
  do {                                                                                             \
    if ((call) != 0) return __LINE__;                                                              \
  } while (0)

/* Keeps the first finding; returns 1. */
int zp_trial_differs(zp_trial *t, const char *kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Notes a communication; forgetting one for lack of memory is found by the comparison. */
void zp_trial_note(zp_trial_ledger *l, const zp_op *op, int32_t step);
void zp_trial_ledger_free(zp_trial_ledger *l);
uint64_t zp_trial_random(uint64_t *state);
/* A rank's parameters, hashed. */
uint64_t zp_trial_hash(const zp_config *c, const zp_layout *lay, void *const *param);

/* workload.c: the model's own kernels are loaded before they are needed; the model, which reads the
 * engine's parameters; the callbacks, and the description of a boundary's messages. */
int zp_trial_load_kernels(void);
int zp_trial_open_model(zp_trial_worker *w);
void zp_trial_close_model(zp_trial_worker *w);
zp_cuda_model zp_trial_model(zp_trial_worker *w);
void zp_trial_describe(const zp_trial_worker *w, int32_t boundary, zp_message *m,
                       zp_cuda_message *to);

/* What backward leaves of an entry. */
int64_t zp_trial_bytes(const zp_trial_worker *w, int32_t param);
void *zp_trial_raw(const zp_trial_worker *w, int32_t param, int64_t mb);

/* own_loop.c: a step of the caller's own loop; what it has comes to rest before the engine is
 * closed. */
int zp_trial_open_own_loop(zp_trial_worker *w);
int zp_trial_own_step(zp_trial_worker *w);
void zp_trial_rest_own_loop(const zp_trial_worker *w);
void zp_trial_close_own_loop(zp_trial_worker *w);
/* A kernel that reads all parameters, as the end of backward does (workload.c). */
int zp_trial_read_again(zp_trial_worker *w, const zp_cuda_call *call);

/* announce.c: the order of the next announcements; host k's share of them. */
void zp_trial_shuffle(zp_trial_worker *w);
int zp_trial_announce(zp_trial_worker *w, int32_t k);

/* hosts.c: all of a micro-batch's announcements, by one host or several; what the engine is told of
 * hosts and alarms; all further hosts of a rank are let go. */
int zp_trial_turn(zp_trial_worker *w);
void zp_trial_hosts_of(zp_trial_worker *w, zp_cuda_options *o);
void zp_trial_hosts_end(zp_trial_hosts *h);
/* Simulations and hosts: 0, or -1 without memory. begin: before each run. */
int zp_trial_hosts_open(zp_trial *t);
int zp_trial_hosts_begin(zp_trial *t);
void zp_trial_hosts_close(zp_trial *t);

/* Dynamic shapes: bytes of the largest message that the rank sends or receives. */
int64_t zp_trial_message_bytes(const zp_trial_worker *w);

/* worker.c: what would be main() of each process. */
int zp_trial_process(void *arg, int process);
zp_cuda_options zp_trial_options(zp_trial_worker *w);

/* store.c: ref's ranks load, save; and the twin's, after its first and last step. 0, or not. */
int zp_trial_ref_load(zp_trial *t, zp_error *err);
int zp_trial_ref_save(zp_trial *t, zp_error *err);
int zp_trial_load(zp_trial_worker *w);
int zp_trial_save(zp_trial_worker *w);

/* follow.c: ref behind the twin, where that multiplies by a library (zp_trial_watch.products). What
 * its model's kernels keep for ref's ranks, and the workload that gives it to them; the end of a
 * step: products are judged, and ref takes it; what they came to is told. 0, or not. */
int zp_trial_open_follow(zp_trial_worker *w);
void zp_trial_close_follow(zp_trial_worker *w);
void zp_trial_keep(zp_trial_worker *w, int32_t which, int64_t mb, const zp_message *m);
zp_workload zp_trial_tape(zp_trial *t);
int zp_trial_follow(zp_trial_worker *w);
int zp_trial_tell_products(zp_trial_worker *w);
/* trial.c */
int zp_trial_ref_step(zp_trial *t, int32_t step, zp_error *err);

/* path.c: the run as a case of the comparison; and the comparison: 0, or 1 after
 * zp_trial_differs. */
zp_path_case zp_trial_path(const zp_trial *t);
int zp_trial_same_path(zp_trial *t);

/* compare.c: 0, or 1 after zp_trial_differs. */
int zp_trial_same_state(zp_trial_worker *w, const zp_step_state *s);
int zp_trial_same_memory(zp_trial_worker *w);
int zp_trial_same_seen(zp_trial_worker *w);
int zp_trial_same_ledger(zp_trial_worker *w);
int zp_trial_same_waits(zp_trial_worker *w);
int zp_trial_same_allocation(zp_trial_worker *w);

#endif
