/* The CUDA engine: one rank's executor of the planner's programs on streams, events and NCCL.
 *
 * Life cycle of a rank: zp_cuda_open (collective), zp_cuda_init (first values, broadcasts),
 * zp_cuda_step as often as wanted, zp_cuda_get to read the result, zp_cuda_close. All calls of one
 * rank come from one host thread, except zp_cuda_grad_ready, zp_cuda_grad_buffer,
 * zp_cuda_grad_unused and zp_cuda_why, which any thread may call. The executor decides nothing: the
 * program (ref/plan) fixes what is done, in which order and with which ranks.
 *
 * A step only enqueues. The host blocks for one event of the device: the end of the step before the
 * last one, so that at most two steps are in flight; with dynamic shapes also for the description
 * of each activation it receives (STRM-8). With offload it blocks for the step's gradients and
 * decision instead (STRM-9). It polls until NCCL has put a communication on its stream. A step's
 * decision stays on the device: the updates of a skipped step change nothing, and its gathers copy
 * the old values.
 *
 * Every call holds a lock, except while a callback runs, so that calls of CUDA and NCCL follow each
 * other in the program's order whichever thread makes them. No single thread launches: the thread
 * that announces a gradient launches what the announcement allows, communication included. NCCL
 * needs one order of launches on all ranks, not one thread. A thread that waits for the lock waits
 * for launches, at most until the deadline. Between calls a watchdog thread checks what the calls
 * check while they wait: failures of other ranks, asynchronous errors, and communication that does
 * not end before the deadline.
 *
 * The engine calls cudaSetDevice in each thread that announces, even if cudaGetDevice already
 * returns its device: a new thread has no context, and cuStreamWriteValue32, which records the
 * device's progress, needs one. The thread's own device is current again when the call returns.
 * cuStreamWriteValue32 belongs to the driver: programs link -lcuda (without a driver, the toolkit's
 * lib64/stubs), as pkg-config says.
 *
 * NCCL keeps the order of communications on the device if it was configured to in time; otherwise
 * events keep it: zp_cuda_options.first_nccl.
 *
 * An error ends the rank: the engine reports it to the other ranks, waits for earlier steps, which
 * every rank has issued, aborts the communicators, and closes a gate, so that work still queued on
 * the device changes neither parameters nor state. spec: STEP-5, LEDG-7
 * spec: STEP-2, STEP-6, LEDG-1 */
#ifndef ZP_CUDA_ENGINE_H
#define ZP_CUDA_ENGINE_H

#include <cuda_runtime_api.h>
#include <nccl.h>
#include <stdint.h>

#include "../../ref/base/error.h"
#include "../../ref/comm/job/alarm.h"
#include "../../ref/engine/held.h"
#include "../../ref/engine/memory.h"
#include "../../ref/engine/store.h"
#include "../../ref/engine/workload.h"
#include "../kernels/kernels.h"
#include "intercept.h"

/* What a callback receives. All pointers are to device memory, for work on `stream` (compute) or
 * queued after it.
 * forward: in, out are activations; loss: where the last stage stores the micro-batch's mean loss,
 * without the loss scale.
 * backward: in is the gradient of forward's out, out that of forward's in, both without integer
 * tensors.
 * state: the loss scale is 2^state->scaler.log2_scale, the step is state->step. */
typedef struct zp_cuda_call {
  int64_t step, mb; /* step: counted from 0, or from the one that was loaded */
  int32_t slot;     /* where forward keeps data for backward: 0 … alive-1 (PIPE-4) */
  cudaStream_t stream;
  const zp_step_state *state;
  const zp_message *in, *out;
  float *loss;
} zp_cuda_call;

/* The model. Load its kernels before zp_cuda_init (cudaFuncGetAttributes): a kernel that CUDA loads
 * at its first launch may block the thread until the device is idle, while communication waits for
 * ranks that are gone. Callbacks enqueue and return 0, or non-zero on failure. Without forward and
 * backward, which only pp = 1 allows, the caller computes in a loop of its own: it announces the
 * gradients of micro-batches 0 … M-1, one micro-batch after the other, and calls zp_cuda_end_step
 * instead of zp_cuda_step.
 * backward calls zp_cuda_grad_ready or zp_cuda_grad_unused once for each trained entry of the
 * stage, in any order, unless forward or a later callback has declared the entry unused. */
typedef struct zp_cuda_model {
  void *ctx;
  /* Queues the first values of entry `param` (of its dtype) into `data` on `stream`. */
  int (*first)(void *ctx, int32_t param, void *data, cudaStream_t stream);
  int (*forward)(void *ctx, const zp_cuda_call *call);
  int (*backward)(void *ctx, const zp_cuda_call *call);
  /* Dynamic shapes: describes what the next forward, of call's micro-batch, sends: n, and of each
   * tensor dtype, ndim and dim. Otherwise it is not called, and may be NULL. */
  int (*shape)(void *ctx, const zp_cuda_call *call, zp_message *out);
} zp_cuda_model;

/* zp_alarm.step counts from 0; -1: INIT; ZP_CUDA_STEP_UNKNOWN: the process ended without a
 * report. */
#define ZP_CUDA_STEP_UNKNOWN INT64_MIN

/* A channel from rank to rank beside NCCL, which reports failures. Called with the lock held, from
 * any thread.
 * send: sends the alarm to all ranks without waiting for them. alarm.step: the first step that the
 * rank has not ended.
 * receive: returns 1 and the first alarm of any other rank, else 0; does not wait. */
typedef struct zp_cuda_host_channel {
  void *ctx;
  void (*send)(void *ctx, const zp_alarm *alarm);
  int (*receive)(void *ctx, zp_alarm *alarm);
} zp_cuda_host_channel;

/* One lock and one further thread.
 * start: runs fn(arg) in a thread; 0, or non-zero on failure. join: until fn has returned.
 * sleep: with the lock held: releases it for at most ns nanoseconds, or until wake is called; may
 * return early. 0, or non-zero when the thread is to end. */
typedef struct zp_cuda_threads {
  void *ctx;
  int (*start)(void *ctx, void (*fn)(void *arg), void *arg);
  void (*join)(void *ctx);
  void (*lock)(void *ctx);
  void (*unlock)(void *ctx);
  int (*sleep)(void *ctx, uint64_t ns);
  void (*wake)(void *ctx);
} zp_cuda_threads;

typedef struct zp_cuda_options {
  const zp_config *cfg;             /* outlives the rank, as do its entries */
  zp_optim optim[ZP_DECIDE_OPTIMS]; /* optimizer group g uses optim[g % optims] */
  int32_t optims;
  double clip, clip_eps; /* as for zp_decide */
  zp_scaler scaler;      /* initial state */
  int32_t rank, device;
  int32_t replicas;       /* R: of the sharded state; 0: 1. spec: TOPO-6 */
  int32_t entry_align;    /* elements, as in zp_hyper. spec: PART-2 */
  int32_t slots;          /* as in zp_hyper */
  int32_t fp32_gradients; /* 1: gradients are fp32, as in zp_hyper. spec: RED-1 */
  /* 1: `native` instead of cfg->reduce ZP_ORDERED: NCCL adds fp32 between ranks and stages, in its
   * own order; the same ops, with redop ZP_RED_SUM and dtype ZP_F32 in the ledger. Equal to
   * `ordered` if every partial sum is exact. At stage 2, 16-bit gradients travel widened.
   * spec: RED-7 */
  int32_t native;
  /* 1: the process has not called NCCL yet, and no other thread reads or changes the environment
   * now: if NCCL_LAUNCH_ORDER_IMPLICIT is not set, opening sets it to 1 before its own first call,
   * and NCCL (from 2.26 on) keeps the order of communications. 0: NCCL, which reads its variables
   * once, may have read them already: the engine relies on it only if the process was started with
   * NCCL_LAUNCH_ORDER_IMPLICIT=1. Otherwise, and with pp > 1, events keep that order. STRM-5 */
  int32_t first_nccl;
  /* 1: masters and moments are in pinned host memory, and the host updates them
   * (cuda/host_optimizer) on at most offload_threads threads, 0: all: the same bits. The host then
   * waits in each step for the gradients' copies, and updates without the lock.
   * spec: OPT-5, STRM-9 */
  int32_t offload, offload_threads;
  int32_t partial_gather; /* as in zp_engine_options. spec: STRM-11 */
  /* Bytes for gradients that come before their turn; 0, -1: as in zp_engine_options. */
  int64_t early_bytes;
  zp_message act_in, act_out; /* this stage's activations; data is ignored */
  /* Dynamic shapes, with which act_in and act_out are ignored: the most bytes of one message, each
   * of its tensors rounded up to 256. A stage allocates min(S - s, M) + 3 of them. */
  int64_t message_bytes;
  zp_cuda_model model;
  /* Copies the bytes of rank 0 to all ranks; 0, or non-zero on failure. */
  int (*exchange)(void *ctx, int32_t rank, void *bytes, size_t n);
  void *exchange_ctx;
  /* Called after the engine has issued a communication of the program. NULL: not called.
   * spec: LEDG-1 */
  void (*issued)(void *ctx, int32_t phase, const zp_op *op);
  /* Called before the engine issues the op at `position` of a program; op NULL: before it stages a
   * gradient that came before its turn. What the engine queues until the next call belongs to it.
   * For traces. NULL: not called. */
  void (*issuing)(void *ctx, int32_t phase, int64_t position, const zp_op *op);
  /* Called after each wait and record of the engine: its sync point (device/sync_points.h), the
   * event, and for waits on the host whether the event was still pending. For traces. NULL: not
   * called. */
  void (*synced)(void *ctx, int32_t sync_point, cudaEvent_t event, int32_t waited);
  void *issued_ctx;         /* of all three */
  uint64_t deadline_ns;     /* of every wait; 0: 10 minutes */
  uint64_t (*now_ns)(void); /* NULL: the system's steady clock */
  void (*pause)(void);      /* NULL: sched_yield */
  /* NULL: POSIX threads, and no watchdog if now_ns is set: a simulation that has its own clock has
   * its own threads, too */
  const zp_cuda_threads *threads;
  zp_cuda_host_channel host_channel; /* without send and receive: other ranks detect a failure
                                      * through NCCL, or at the deadline, and not whose it was */
  zp_cuda_intercept intercept;       /* for tests of the engine: intercept.h */
} zp_cuda_options;

/* Bytes of device memory by use. What is not planned is what this executor needs for streams: */
typedef struct zp_cuda_memory {
  zp_memory planned; /* what `zeroproof plan` reports */
  int64_t staging;   /* gradients that come before their turn */
  int64_t messages;  /* to and from the neighbours, and meta messages */
  int64_t
      sums; /* more: scratch for all stages' sums of a tied bucket, or all tp ranks' of a partial
                    one; `native`: slots of fp32 */
  int64_t state;   /* losses, statistics, the step's and the optimizers' state */
  int64_t landing; /* offload: updated parameters that are copied back */
  int64_t host;    /* offload: of pinned memory: masters, moments, gradients, rounded masters */
  int64_t words;   /* of pinned memory: state, statuses, progress and meta messages for the host */
} zp_cuda_memory;

typedef struct zp_cuda zp_cuda;

/* Opens one rank: memory, streams, the world's communicator. All ranks call it.
 * NULL after filling *err: the configuration is invalid, there is no memory, or a call failed. */
zp_cuda *zp_cuda_open(const zp_cuda_options *options, zp_error *err);

/* Runs INIT: communicators, first values, masters. 0, or a negative zp_status.
 * spec: LEDG-4, LEDG-5 */
int zp_cuda_init(zp_cuda *e);

/* Enqueues one step. 0, or a negative status. spec: STEP-2 */
int zp_cuda_step(zp_cuda *e);

/* Without callbacks. Micro-batch mb's mean loss, without the loss scale, is at *loss, as for
 * zp_cuda_grad_ready; before the micro-batch's last gradient is announced. Not called: 0.
 * 0, or a negative status. */
int zp_cuda_loss(zp_cuda *e, int64_t mb, const float *loss, cudaStream_t stream);

/* As zp_engine_wait_params: `stream` waits until the n entries of `params` (-1: all of the stage)
 * have the last step's values. From any host thread. 0, or a negative status. spec: STRM-11 */
int zp_cuda_wait_params(zp_cuda *e, const int32_t *params, int32_t n, cudaStream_t stream);

/* Without callbacks: enqueues what follows the gradients. Work queued on `stream`, such as readers
 * of parameters, comes before it; work queued there afterwards, such as the next step's, comes
 * after it. 0, or a negative status. spec: STEP-2 */
int zp_cuda_end_step(zp_cuda *e, cudaStream_t stream);

/* The gradient of entry `param` of micro-batch mb: `count` elements of dtype at grad: the entry's
 * numel and dtype, or with fp32_gradients fp32 (NULL is allowed if numel is 0). Work already
 * queued on `stream` makes it, after what the engine had queued on the compute stream when it
 * called backward; work queued on `stream` afterwards may overwrite it. `stream` is any of the
 * device but cudaStreamPerThread, also the legacy default one, is not being captured, and is not
 * destroyed before the step has been queued. From any host thread, also from several at once, but
 * only from when the backward callback was called until it returns; without callbacks once the
 * micro-batch's turn has come, and ordered after the last zp_cuda_end_step's stream. 0, or a
 * negative status. spec: RED-3, PART-8 */
int zp_cuda_grad_ready(zp_cuda *e, int32_t param, int64_t mb, const void *grad, int64_t count,
                       int32_t dtype, cudaStream_t stream);

/* *buffer: where the gradient of entry `param` of micro-batch mb may be written, in the dtype of
 * zp_cuda_grad_ready, by work queued on `stream` from here on; then announce it at that address. At
 * stages 0 and 1 the memory keeps the last step's reduced gradient until that step's updates have
 * read it, and in micro-batches after the first it has the sum of those before, to which the
 * gradient is added, with one rounding an element. NULL: announce it from memory of your own,
 * which is copied: sums are not of the gradient's dtype or are limbs, or at stage 2 the entry lies
 * in several buckets, or an earlier bucket in the same memory awaits gradients. After memory was
 * lent, zp_cuda_grad_unused is an error. `stream`, and from
 * which threads and when: as above. 0, or a negative status. spec: PART-8, STRM-2 */
int zp_cuda_grad_buffer(zp_cuda *e, int32_t param, int64_t mb, cudaStream_t stream, void **buffer);

/* Entry `param` has no gradient in micro-batch mb: it contributes zeros. As above, and with
 * callbacks also before backward, from the micro-batch's forward on. spec: RED-6, STEP-3 */
int zp_cuda_grad_unused(zp_cuda *e, int32_t param, int64_t mb);

/* The hyperparameters from the next step on, within the ranges of OPT-6: the numbers of the
 * options' optimizers, whose kinds stay, and clipping. Steps in flight keep theirs. All ranks set
 * equal ones before the same step: otherwise that step and later ones change nothing, and the
 * host's next wait for it ends every rank. 0, or a negative status. spec: OPT-7, STAT-6 */
int zp_cuda_set_hyper(zp_cuda *e, const zp_optim *optim, double clip, double clip_eps);

/* The elements of masters and moments that this rank holds: ref/engine/held.h. spec: STEP-11 */
zp_held zp_cuda_held(const zp_cuda *e, int32_t param, int64_t from);
int zp_cuda_held_check(const zp_cuda *e, const zp_held_request *q, zp_error *err);

/* Waits for the last step and copies what q, which zp_cuda_held_check allows, asks for to `out`,
 * or, if that is NULL, from `in`: host or device memory. 0, or a negative status. spec: STEP-11 */
int zp_cuda_copy_held(zp_cuda *e, const zp_held_request *q, float *out, const float *in);

/* Waits for the last step and copies its state: step, scaler, decision. 0, or a negative status.
 * spec: STEP-9 */
int zp_cuda_get(zp_cuda *e, zp_step_state *state);

/* Runs SAVE: all ranks call it, each with a store of its own, and all get the same outcome. 0, or a
 * negative status: of this rank's store, of another's (ZP_E_PEER), or of any other error. After a
 * failure of a store the training state is unchanged, and steps may follow; zp_cuda_why reports the
 * failure until the next save or load. Waits on the host as often as it copies.
 * spec: CKPT-1, CKPT-2 */
int zp_cuda_save(zp_cuda *e, zp_store *store);

/* The end of SAVE, from SEAL on, after a SAVE whose store has only copied (background.h). As
 * zp_cuda_save. spec: CKPT-2, CKPT-11 */
int zp_cuda_seal(zp_cuda *e, zp_store *store);

/* Runs LOAD, after zp_cuda_init: all ranks, as above; steps continue from the loaded one. After a
 * failure, on whichever rank, only zp_cuda_close is possible on all of them.
 * spec: CKPT-3 … CKPT-5 */
int zp_cuda_load(zp_cuda *e, zp_store *store);

/* Meta messages that the host has waited for so far: one for each micro-batch received under
 * dynamic shapes, and counted apart from a step's other waits. spec: PIPE-6 */
int64_t zp_cuda_meta_waits(const zp_cuda *e);

/* Offload: steps in which the host has waited for gradients and decision so far: one wait a step,
 * counted apart from its others. spec: STRM-9 */
int64_t zp_cuda_offload_waits(const zp_cuda *e);

/* What opening has allocated. Steps allocate nothing; a save or load allocates two blocks of pinned
 * memory while it runs. spec: STEP-1 */
zp_cuda_memory zp_cuda_memory_of(const zp_cuda *e);

/* The storage of entry `param` of this stage, in device memory; NULL for another stage's. */
void *zp_cuda_param(const zp_cuda *e, int32_t param);

/* Records an error of the caller's, such as an argument that it refuses, as the rank's. Returns the
 * status of the rank's first error. */
int zp_cuda_refuse(zp_cuda *e, const char *why);

/* 1: the caller's own loop has announced gradients of a step that it has not ended. */
int32_t zp_cuda_is_announced(zp_cuda *e);

/* Steps so far, skipped ones too, as the host has issued them. */
int64_t zp_cuda_step_count(const zp_cuda *e);

/* Bytes that this rank sends with an op that it has just issued. spec: LEDG-1 */
int64_t zp_cuda_sent_bytes(const zp_cuda *e, const zp_op *op);

/* The first error, which ends the rank; else one with status ZP_OK. From any thread. */
const zp_error *zp_cuda_first_error(const zp_cuda *e);

/* The first error; else that of the last save, if it failed; else one with status ZP_OK. The text
 * stays unchanged until the next save or load, or zp_cuda_close. */
const zp_error *zp_cuda_why(const zp_cuda *e);

/* Waits for queued work, ends the communicators with the other ranks, or aborts them after an
 * error, and frees everything. The caller has waited for its own streams: copies into the engine's
 * memory may be queued there. If, after an error, the device is still busy at the deadline, its
 * memory is not freed: cudaFree would block without end. NULL is allowed. Returns 0, or the first
 * error's status. */
int zp_cuda_close(zp_cuda *e);

#endif
