/* The CUDA twin: one rank's executor of the planner's programs on streams, events and NCCL.
 *
 * Life of a rank: zp_cuda_open (collective), zp_cuda_init (first values, broadcasts), zp_cuda_step
 * as often as wanted, zp_cuda_get to hear what came out, zp_cuda_close. All calls of one rank come
 * from one host thread, but for zp_cuda_grad_ready, zp_cuda_grad_unused and zp_cuda_why, which any
 * thread may call. The executor decides nothing: what is done, in which order and with whom
 * stands in the program (ref/plan).
 *
 * A step only enqueues. It waits on the host for one thing of the device's: that the step before the
 * last one has ended (at most two are in flight); under dynamic shapes also for what the activations
 * to be received look like (STRM-8). With offload it waits for the step's means and decision in that
 * one's place (STRM-9). It polls until NCCL has put a communication on its stream. What
 * a step decides stays on the device; a skipped step's updates change nothing there, and its gathers
 * bring what was there before.
 *
 * A lock is held in every call, but not in callbacks: calls of CUDA and NCCL follow each other, in
 * the program's order, from whichever thread. There is no one thread that launches: whoever announces
 * a gradient launches, under the lock, what that lets go on, communication too, and NCCL asks for no
 * more than one order of launches on all ranks. A thread that waits for the lock waits for launches,
 * and for the deadline at most. Between calls a watchdog thread looks for what the
 * calls look for while they wait: another rank's failure, an asynchronous error, a communication
 * that does not end before the deadline.
 *
 * The engine makes its device the current one of each thread that announces, with cudaSetDevice, also
 * where cudaGetDevice names it already: a new thread has no context, and cuStreamWriteValue32, by
 * which the device tells how far it is, needs one. The thread's own device is current again when the
 * call returns. That function is the driver's: programs link -lcuda (on machines without a driver the
 * toolkit's lib64/stubs has one), as pkg-config says.
 *
 * The order of communications on the device is NCCL's to keep where it was told to in time, else
 * events do: zp_cuda_options.first_nccl.
 *
 * An error ends the rank: it is told to the others, steps that no failed rank belongs to are let
 * end, the communicators are aborted, and what the device still has queued changes neither
 * parameters nor state. spec: STEP-5, LEDG-7
 * spec: STEP-2, STEP-6, LEDG-1 */
#ifndef ZP_CUDA_ENGINE_H
#define ZP_CUDA_ENGINE_H

#include <cuda_runtime_api.h>
#include <nccl.h>
#include <stdint.h>

#include "../../ref/engine/memory.h"
#include "../../ref/engine/store.h"
#include "../kernels/kernels.h"
#include "fault.h"

enum { ZP_CUDA_TENSORS = 4, ZP_CUDA_DIMS = 4, ZP_CUDA_TEXT = 1024 };

typedef enum zp_cuda_status {
  ZP_CUDA_OK = 0,
  ZP_CUDA_E_REFUSED = -1, /* the configuration is out of the limits, or not supported here */
  ZP_CUDA_E_MEMORY = -2,
  ZP_CUDA_E_ARRIVAL = -3,  /* a gradient was not announced, or announced wrongly (STEP-3) */
  ZP_CUDA_E_MODEL = -4,    /* a callback failed */
  ZP_CUDA_E_CUDA = -5,     /* a call of CUDA or NCCL failed */
  ZP_CUDA_E_PEER = -6,     /* another rank is gone, or did not answer before the deadline */
  ZP_CUDA_E_MISMATCH = -7, /* another rank sent what cannot be taken (PIPE-6) */
  ZP_CUDA_E_STORE = -8     /* a checkpoint could not be written or read (CKPT-2) */
} zp_cuda_status;

/* The first error: what, where in the program, what to do. Later calls return its status. */
typedef struct zp_cuda_error {
  int32_t status; /* zp_cuda_status */
  char text[ZP_CUDA_TEXT];
} zp_cuda_error;

/* What travels between two stages: n tensors, each of count elements of dtype, in device memory.
 * With dynamic shapes count is the product of dim[0 … ndim-1], row-major; else ndim is 0.
 * spec: PIPE-6 */
typedef struct zp_cuda_tensor {
  int32_t dtype; /* zp_dtype */
  int64_t count;
  void *data;
  int32_t ndim; /* 1 … ZP_CUDA_DIMS */
  int64_t dim[ZP_CUDA_DIMS];
} zp_cuda_tensor;
typedef struct zp_cuda_message {
  int32_t n; /* 0 … ZP_CUDA_TENSORS */
  zp_cuda_tensor t[ZP_CUDA_TENSORS];
} zp_cuda_message;

/* What a callback is told. All pointers are to device memory, for work on `stream` (compute) or
 * behind it.
 * forward: in, out are activations; loss: where the last stage puts the micro-batch's mean loss,
 * without the loss scale.
 * backward: in is the gradient of forward's out, out that of forward's in, both without integer
 * tensors.
 * state: the loss scale is 2^state->scaler.log2_scale, the step is state->step. */
typedef struct zp_cuda_call {
  int64_t step, mb; /* step: counted from 0, or from the one that was loaded */
  int32_t slot;     /* place of what forward keeps for backward: 0 … alive-1 (PIPE-4) */
  cudaStream_t stream;
  const zp_step_state *state;
  const zp_cuda_message *in, *out;
  float *loss;
} zp_cuda_call;

/* The model. Its kernels should be loaded before zp_cuda_init (cudaFuncGetAttributes): one that is
 * loaded at its first launch may have the thread wait for the device, and for communication whose
 * other ranks are gone. Callbacks enqueue and return 0, or non-zero when they failed. Without forward and
 * backward, which only pp = 1 allows, the caller computes in a loop of its own: it announces the
 * gradients of micro-batches 0 … M-1, one micro-batch after the other, and calls zp_cuda_end_step
 * instead of zp_cuda_step.
 * backward calls zp_cuda_grad_ready or zp_cuda_grad_unused once for each trained entry of the
 * stage, in any order. */
typedef struct zp_cuda_model {
  void *ctx;
  /* Queues the first values of entry `param` (of the precision) into `data` on `stream`. */
  int (*first)(void *ctx, int32_t param, void *data, cudaStream_t stream);
  int (*forward)(void *ctx, const zp_cuda_call *call);
  int (*backward)(void *ctx, const zp_cuda_call *call);
  /* Dynamic shapes: describes what the next forward, of call's micro-batch, is going to send: n,
   * and of each tensor dtype, ndim and dim. Else not called, and may be NULL. */
  int (*shape)(void *ctx, const zp_cuda_call *call, zp_cuda_message *out);
} zp_cuda_model;

#define ZP_CUDA_STEP_UNKNOWN INT64_MIN

/* What a rank tells the others when it fails. */
typedef struct zp_cuda_alarm {
  int32_t rank, status; /* zp_cuda_status */
  int64_t step;         /* the first that it has not ended; -1: INIT; ZP_CUDA_STEP_UNKNOWN: its
                           process has ended and did not say, as text tells */
  char text[ZP_CUDA_TEXT];
} zp_cuda_alarm;

/* A way from rank to rank beside NCCL, on which a failure is told. Called with the lock held, from
 * any thread.
 * tell: sends the alarm to all ranks, and does not wait for them.
 * hear: returns 1 and the first alarm that any other rank has sent, else 0; does not wait. */
typedef struct zp_cuda_outside {
  void *ctx;
  void (*tell)(void *ctx, const zp_cuda_alarm *alarm);
  int (*hear)(void *ctx, zp_cuda_alarm *alarm);
} zp_cuda_outside;

/* One lock and one further thread.
 * start: lets a thread run fn(arg); 0, or non-zero when it failed. join: until fn has returned.
 * sleep: with the lock held: gives it up for at most ns nanoseconds, or until wake is called; it
 * may return early. 0, or non-zero when the thread is to end. */
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
  /* 1: `native` in place of cfg->reduce ZP_ORDERED: NCCL adds fp32 between ranks and stages, in an
   * order of its own; the same ops, with redop ZP_RED_SUM and dtype ZP_F32 in the ledger. Equal to
   * `ordered` where every partial sum is exact. At stage 2, 16-bit gradients travel widened.
   * spec: RED-7 */
  int32_t native;
  /* 1: the process has not called NCCL yet, and no other thread reads or changes the environment
   * now: where NCCL_LAUNCH_ORDER_IMPLICIT is not set, opening sets it to 1, before its own first
   * call, and NCCL (from 2.26 on) keeps the order of communications. 0: NCCL, which reads its
   * variables once, may have looked already: it is relied on only where the process was started
   * with NCCL_LAUNCH_ORDER_IMPLICIT=1. Else, and with pp > 1, events keep that order. STRM-5 */
  int32_t first_nccl;
  /* 1: masters and moments are in pinned host memory, and the host updates them (cuda/offload) on at
   * most offload_threads threads, 0: all: the same bits. The host then waits in each step for the
   * gradients' copies, and updates with the lock given up. spec: OPT-5, STRM-9 */
  int32_t offload, offload_threads;
  zp_cuda_message act_in, act_out; /* this stage's activations; data is ignored */
  /* Dynamic shapes, where act_in and act_out are ignored: the most bytes of one message, each of
   * its tensors rounded up to 256. A stage keeps room for min(S - s, M) + 3 of them. */
  int64_t message_bytes;
  zp_cuda_model model;
  /* Gives all ranks the bytes that rank 0 has; 0, or non-zero when it failed. */
  int (*exchange)(void *ctx, int32_t rank, void *bytes, size_t n);
  void *exchange_ctx;
  /* Called when a communication of the program has been issued. NULL: not called. spec: LEDG-1 */
  void (*issued)(void *ctx, int32_t phase, const zp_op *op);
  /* Called before the work of the op at `position` of a program is issued; op NULL: before a
   * gradient that came before its turn is kept aside. What the engine queues until the next call
   * belongs to it. For traces. NULL: not called. */
  void (*issuing)(void *ctx, int32_t phase, int64_t position, const zp_op *op);
  /* Called behind each wait and record of the engine: its site (sites.h), the event, and of waits on
   * the host whether there was anything to wait for. For traces. NULL: not called. */
  void (*synced)(void *ctx, int32_t site, cudaEvent_t event, int32_t waited);
  void *issued_ctx;         /* of all three */
  uint64_t deadline_ns;     /* of every wait; 0: 10 minutes */
  uint64_t (*now_ns)(void); /* NULL: the system's steady clock */
  void (*pause)(void);      /* NULL: sched_yield */
  /* NULL: POSIX threads, and no watchdog where now_ns is given: a clock of one's own is that of a
   * simulation, whose threads are its own, too */
  const zp_cuda_threads *threads;
  zp_cuda_outside outside; /* without tell and hear: other ranks learn of a failure from NCCL, or at
                            * the deadline, and not whose it was */
  const zp_cuda_fault *fault; /* tests: a mistake to be made; NULL: none */
} zp_cuda_options;

/* Bytes of device memory by use. The rest is what this executor has for streams: */
typedef struct zp_cuda_memory {
  zp_memory planned; /* what `zeroproof plan` says */
  int64_t staging;   /* gradients that come before their turn: of each trained entry */
  int64_t messages;  /* to and from the neighbours, and meta messages */
  int64_t sums;      /* more scratch: all stages' sums of a tied bucket; `native`: a widened one */
  int64_t state;     /* losses, statistics, the step's and the optimizers' state */
  int64_t landing;   /* offload: parameters that come back */
  int64_t host;      /* offload: of pinned memory: masters, moments, means, rounded masters */
} zp_cuda_memory;

typedef struct zp_cuda zp_cuda;

/* Opens one rank: memory, streams, the world's communicator. All ranks call it.
 * NULL after filling *err: the configuration is invalid, there is no memory, or a call failed. */
zp_cuda *zp_cuda_open(const zp_cuda_options *options, zp_cuda_error *err);

/* Runs INIT: communicators, first values, masters. 0, or a negative status. spec: LEDG-4, LEDG-5 */
int zp_cuda_init(zp_cuda *e);

/* Enqueues one step. 0, or a negative status. spec: STEP-2 */
int zp_cuda_step(zp_cuda *e);

/* Without callbacks. Micro-batch mb's mean loss, without the loss scale, is at *loss, as for
 * zp_cuda_grad_ready; before the micro-batch's last gradient is announced. Not called: 0.
 * 0, or a negative status. */
int zp_cuda_loss(zp_cuda *e, int64_t mb, const float *loss, cudaStream_t stream);

/* Without callbacks: enqueues what follows the gradients. What is queued on `stream`, such as
 * readers of parameters, comes before it, and what is queued there afterwards behind it, such as
 * the next step's. 0, or a negative status. spec: STEP-2 */
int zp_cuda_end_step(zp_cuda *e, cudaStream_t stream);

/* The gradient of entry `param` of micro-batch mb: numel elements of dtype, the configuration's
 * precision, at grad (NULL is allowed where numel is 0). Work already queued on `stream` makes it,
 * behind what the engine had queued on the compute stream when it called backward; work queued on
 * `stream` afterwards may overwrite it. `stream` is any of the device but cudaStreamPerThread, also the legacy default one, is not
 * being captured, and is not destroyed before the step has been queued. From any host thread, also
 * from several at once, but only from when the backward callback was called until it returns;
 * without callbacks whenever the micro-batch's turn has come, and behind the last
 * zp_cuda_end_step's stream. 0, or a negative status. spec: RED-3, PART-8 */
int zp_cuda_grad_ready(zp_cuda *e, int32_t param, int64_t mb, const void *grad, int32_t dtype,
                       cudaStream_t stream);

/* Entry `param` has no gradient in micro-batch mb: it contributes zeros. As above. spec: RED-6 */
int zp_cuda_grad_unused(zp_cuda *e, int32_t param, int64_t mb);

/* Waits for the last step and copies its state: step, scaler, decision. 0, or a negative status.
 * spec: STEP-9 */
int zp_cuda_get(zp_cuda *e, zp_step_state *state);

/* Runs SAVE: all ranks call it, each with a store of its own, and learn alike whether it went well.
 * 0, or a negative status: of this rank's store, of another's (ZP_CUDA_E_PEER), or as ever. After a
 * failure of a store the training state is what it was, and steps may follow; zp_cuda_why tells it
 * until the next save or load. Waits on the host as often as it copies. spec: CKPT-1, CKPT-2 */
int zp_cuda_save(zp_cuda *e, zp_store *store);

/* Runs LOAD, after zp_cuda_init: all ranks, as above; steps go on from the loaded one. After a
 * failure, on whichever rank, nothing but zp_cuda_close is possible on any.
 * spec: CKPT-3 … CKPT-5 */
int zp_cuda_load(zp_cuda *e, zp_store *store);

/* Meta messages that the host has waited for so far: one for each micro-batch received under
 * dynamic shapes, and counted apart from a step's other waits. spec: PIPE-6 */
int64_t zp_cuda_meta_waits(const zp_cuda *e);

/* Offload: steps in which the host has waited for gradients and decision so far: one wait a step,
 * counted apart from its others. spec: STRM-9 */
int64_t zp_cuda_offload_waits(const zp_cuda *e);

/* What opening has allocated; nothing else ever is. spec: STEP-1 */
zp_cuda_memory zp_cuda_memory_of(const zp_cuda *e);

/* The storage of entry `param` of this stage, in device memory; NULL for another stage's. */
void *zp_cuda_param(const zp_cuda *e, int32_t param);

/* The first error; else that of the last save, if it failed; else one with status ZP_CUDA_OK. What
 * was an error stays as it is until the next save or load, or zp_cuda_close. */
const zp_cuda_error *zp_cuda_why(const zp_cuda *e);

/* Waits for what is queued, ends the communicators with the other ranks, or aborts them after an
 * error, and gives everything back. The caller has waited for its own streams: copies into the
 * engine's memory may be queued there. After an error, a device that does not come to rest before
 * the deadline keeps its memory: to free it would wait for ever. NULL is allowed. Returns 0, or the
 * first error's status. */
int zp_cuda_close(zp_cuda *e);

#endif
