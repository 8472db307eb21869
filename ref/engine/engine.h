/* The training engine, for programs with their own model: ZeRO stages 0, 1 and 2 with pipeline
 * parallelism, one process per rank. The same symbols come from two libraries:
 *
 *   pkg-config zeroproof-mpi    the reference, on the CPU. Memory is the process's, a stream is
 *                               NULL, ranks are the processes of one Open MPI job.
 *   pkg-config zeroproof-cuda   the CUDA engine, over NCCL. Memory is the device's, a stream is a
 *                               cudaStream_t, a process has one device.
 *
 * Both run the same programs (ref/plan) and give the same bits with config.reduce ZP_EXACT, and
 * with options.ordered. Otherwise, the CUDA engine adds in NCCL's own order by default. The engine
 * owns the parameters; the caller computes gradients, and multiplies its loss by the loss scale
 * before backward. One step with pp = 1, micro-batches 0 … M-1, is
 *
 *   for (mb = 0; mb < M; mb++) {
 *     … forward and backward of micro-batch mb, reading zp_engine_param(e, p) …
 *     for each trained entry p, once its gradient is computed (or zp_engine_grad_unused):
 *       zp_engine_grad_ready(e, p, mb, gradient, count, dtype, stream);
 *   }
 *   zp_engine_step(e, stream);
 *
 * With pp > 1 the engine decides when which micro-batch runs: forward and backward are callbacks,
 * and zp_engine_step(e, NULL) is the whole step. Gradients are announced from within backward, in
 * the same way. With pp = 1 callbacks are allowed, too.
 *
 * Contributions: a gradient is that of one micro-batch's own mean loss times the loss scale. Do not
 * divide it; the engine divides by dp · M (RED-1, RED-2). Each micro-batch announces each entry of
 * this rank's stage that is not frozen once; a missing announcement is an error (STEP-3).
 *
 * Threads: grad_ready, grad_buffer, grad_unused, wait_param(s) and loss may be called from any host
 * thread, several at a time; all else from the thread that called zp_engine_create.
 *
 * Errors: functions return 0 or a negative zp_status. The first error ends the engine: it is stored
 * with its text (error, position, rank, remedy), and every later call returns its status. Unless it
 * came after the step's decision, masters and moments keep the values of the last complete step;
 * parameters are undefined (STEP-5). To go on, destroy the engine, make another one and load a
 * checkpoint. A failed save (CKPT-6), hyperparameters that are refused (OPT-7) and refused requests
 * for state (STEP-11) do not end the engine. Print the text first, then call zp_engine_destroy,
 * which notifies the other ranks within a second: they end with an error that names this rank.
 * Ranks that the notice does not reach end at the deadline.
 *
 * This header needs neither MPI's nor CUDA's. ref/example/train.c is a whole program.
 * spec: STEP-1 … STEP-11, RED-3, RED-6, LEDG-1 */
#ifndef ZP_ENGINE_ENGINE_H
#define ZP_ENGINE_ENGINE_H

#include <stddef.h>
#include <stdint.h>

#include "../base/error.h"
#include "../comm/block.h"
#include "../comm/job/job.h"
#include "../comm/transport.h"
#include "../plan/config.h"
#include "../plan/program.h"
#include "hyper.h"
#include "ledger.h"
#include "workload.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct zp_engine zp_engine;

/* The arguments of a forward or backward callback. Queue work on `stream`, or on streams that wait
 * for it and that it waits for before the callback returns; ref: the work is done when the callback
 * returns.
 * forward: in, out are the activations received (n = 0 on the first stage) and to be sent (n = 0 on
 * the last one); in is unchanged until the micro-batch's backward. On the last stage, write the
 * micro-batch's mean loss, without the loss scale, to *loss, which is in the engine's memory, like
 * the tensors.
 * backward: in is the gradient of forward's out, out that of forward's in, both without integer
 * tensors. spec: PIPE-4, PIPE-6 */
typedef struct zp_engine_call {
  int64_t step, mb; /* step: counted from 0, skipped ones too; mb: this rank's micro-batch, 0 … M-1,
                       hence micro-batch mb · dp + dp_index of the global batch (STEP-1) */
  int32_t slot;     /* place for what forward keeps for backward: 0 … min(pp - stage, M) - 1 */
  void *stream;
  const zp_message *in, *out;
  float *loss;
} zp_engine_call;

/* How to make an engine. Zero is the default of every member that has one; members may be added at
 * the end. All ranks give the same config, names, hyper and ordered (STEP-10). */
typedef struct zp_engine_options {
  size_t size; /* sizeof(zp_engine_options) */
  int32_t rank, world;
  int32_t device; /* cuda: the device of this process */
  /* topology, ZeRO stage, precision, micro-batches, and the parameter list; outlives the engine, as
   * does the list */
  const zp_config *config;
  /* optimizers, clipping, loss scale (zp_scaler_init), in the ranges of OPT-6; replicas: LIM-10 */
  zp_hyper hyper;
  /* [config->n_params] names for errors and checkpoints, each once; below 48 bytes; outlive the
   * engine. NULL: "p0", "p1", … */
  const char *const *names;
  /* [config->n_params] first values of this stage's entries, each in its entry's dtype (config.h),
   * read by zp_engine_create; cuda: in host or device memory, which work in other streams has
   * finished writing; other ranks' copies are made equal to the group's first one's (LEDG-5). NULL,
   * or NULL for an entry: zeros. */
  const void *const *first;
  /* Gives all ranks the bytes that rank 0 has; 0, or non-zero when it failed. zp_job_exchange is
   * one. Called by zp_engine_create, more than once, and by zp_engine_load; by the reference not at
   * all, since MPI does it. May be NULL when world is 1. */
  int (*exchange)(void *ctx, int32_t rank, void *bytes, size_t n);
  void *exchange_ctx;
  /* Set both or leave both NULL; required if pp > 1. They return 0, or non-zero on failure. They
   * call zp_engine_grad_ready, grad_buffer, grad_unused, wait_param, wait_params, param, log2_scale
   * and why; any other call
   * ends the engine with an error. */
  int (*forward)(void *ctx, const zp_engine_call *call);
  int (*backward)(void *ctx, const zp_engine_call *call);
  void *ctx;
  /* pp > 1: what this stage receives from the one before and sends to the next: dtypes (the
   * precision or an integer's) and shapes; data is ignored. */
  zp_message in, out;
  /* With config->dynamic_shapes, where `in` and `out` are not used: describes what this stage sends
   * for a micro-batch, n and each tensor's dtype, ndim and dims; always the same for the same step
   * and micro-batch. 0, or non-zero when it failed. Not needed on the last stage. message_bytes:
   * cuda: the most that one message has, each tensor rounded up to 256 bytes. spec: PIPE-6 */
  int (*shape)(void *ctx, int64_t step, int64_t mb, zp_message *out);
  int64_t message_bytes;
  /* With config->reduce ZP_ORDERED. cuda: 0: `native`: NCCL adds gradients, in an order of its own,
   * which is faster; the reference's bits where every sum is exact. 1: in the spec's order: always
   * its bits. The reference has one order, for 0 and 1. (ZP_EXACT gives the same bits on both, and
   * in every topology.) spec: RED-4, RED-7 */
  int32_t ordered;
  /* Called after each communication that was issued, in their order: this rank's ledger, one op at
   * a time. It calls no function of the engine. phase: zp_phase. NULL: not called. spec: LEDG-1 */
  void (*issued)(void *ctx, int32_t phase, const zp_op *op);
  /* seconds that a wait may last without any progress; 0: 30 (ref), 600 (cuda) */
  double deadline_s;
  /* 1: cuda: masters and moments are in pinned host memory, and the host updates them, on at most
   * offload_threads threads (0: all of OpenMP's): the same bits, in less device memory. A step then
   * waits once for the device. The reference has all in host memory anyhow. spec: OPT-5 */
  int32_t offload, offload_threads;
  /* cuda: bytes of device memory for gradients that are announced before their turn. The turn is
   * backward order: the stage's entries from the last in the list to the first. Each gradient takes
   * its bytes, rounded up to 256. 0: twice what the gradients of a bucket take, and the largest
   * gradient: enough while none overtakes more than two buckets. -1: enough for any order. A number
   * below the largest gradient counts as that. A gradient for which there is no room ends the
   * engine with an error that names it and the awaited entry. The reference keeps all gradients. */
  int64_t early_bytes;
  /* 1: zp_engine_step does not make the caller's work wait for the new parameters; the caller waits
   * for the entries that it reads (zp_engine_wait_param), before it queues work that reads them,
   * and for each trained entry of the stage once a step. cuda: a forward then begins while buckets
   * that it needs later are still gathered: flat group by flat group, tied ones and those of one
   * bucket first, and in each in the order in which forward reads its entries (STEP-8). At ZeRO
   * stages 1 and 2; cuda: with hyper.entry_align 0, or of a multiple of 128 bytes (64 in 16 bits,
   * 32 in fp32). 0: every entry is ready for work that follows zp_engine_step. spec: STRM-11 */
  int32_t partial_gather;
  /* ref: how the ranks reach each other if not as processes of an Open MPI job; copied. Then pp,
   * tp, ep and hyper.replicas are 1, and exchange is not needed. NULL: MPI. cuda: NULL. */
  const zp_transport *transport;
  /* ref, without callbacks: 1: announcing a micro-batch's last gradient does the micro-batch's
   * work, communication included, so that the engine keeps the gradients of one micro-batch. It is
   * then announced from the thread that called zp_engine_create, and an error of another rank may
   * end it. 0: zp_engine_step does all work; gradients of all micro-batches are kept. cuda: no
   * effect: work is queued as it becomes possible. */
  int32_t gradual;
} zp_engine_options;

/* Options with rank, world, device and exchange of a job (NULL: one process alone), AdamW with lr
 * 1e-3, betas 0.9 and 0.999, eps 1e-8 and no decay, clipping at norm 1, a loss scale of 1, and
 * nothing else. size: sizeof *o. Entries start at multiples of 128 bytes (hyper.entry_align 0), so
 * that gathers write parameters where they are used; with another alignment, such as 1, cuda copies
 * them from what each gather wrote. */
void zp_engine_defaults(zp_engine_options *o, size_t size, zp_job *job);

/* The results of the last step, equal on all ranks except for the ledger. Members may be added at
 * the end. */
typedef struct zp_engine_state {
  size_t size;     /* sizeof(zp_engine_state), set by the caller */
  int64_t step;    /* steps so far, skipped ones too */
  double norm;     /* of the whole mean gradient, unscaled, before clipping; +inf when skipped */
  double clip;     /* what the gradient was multiplied by; 1: not clipped */
  double scale;    /* the loss scale of the next step */
  float loss;      /* mean over all micro-batches; NaN when one was not finite */
  int32_t skipped; /* 1: a gradient or a loss was not finite: nothing was updated, and a dynamic
                      scale is lowered (STAT-3) */
  /* Communications since the start, by zp_group and ZP_GROUP_REPLICA (comm/block.h); ZP_GROUP_TIED:
   * all keys together. cuda issues the gathers of a skipped step as well, since the host does not
   * know of the skip (LEDG-6). */
  zp_ledger_sum ledger[ZP_ALL_GROUPS];
} zp_engine_state;

/* Makes the engine of one rank: collective, returns when first values are the same everywhere. When
 * it fails, *err has the reason, and *out is NULL or an engine that only zp_engine_why and
 * zp_engine_destroy accept. Errors: an invalid option, which is named; no memory; a rank whose
 * configuration differs from rank 0's; a rank that ended or did not join. */
int zp_engine_create(zp_engine **out, const zp_engine_options *options, zp_error *err);

/* The storage of entry `param` (numel elements of the entry's dtype), NULL for another stage's and
 * for no entry. It stays where it is; zp_engine_step and zp_engine_load rewrite it. After an
 * error it is still returned, and is valid memory until zp_engine_destroy, but its values are
 * undefined (STEP-5); other functions then return the error. */
void *zp_engine_param(const zp_engine *e, int32_t param);

/* log2 of the loss scale, in the engine's memory, for work on a stream that waits for the last
 * zp_engine_step. The host does not block. */
const int32_t *zp_engine_log2_scale(const zp_engine *e);

/* The gradient of entry `param` in micro-batch mb: `count` elements of dtype at grad. count is the
 * entry's numel (bytes are not counted), and dtype the entry's, or ZP_F32 with
 * hyper.fp32_gradients; others are errors. grad may be NULL where numel is 0. Work already queued
 * on `stream` makes it, after the work of the last zp_engine_step (with callbacks:
 * after the call's `stream`); work queued on `stream` afterwards may overwrite it. ref: it may be
 * overwritten when the call has returned. Announce entries in any order, on any stream;
 * micro-batches one after the other. spec: RED-3, PART-8 */
int zp_engine_grad_ready(zp_engine *e, int32_t param, int64_t mb, const void *grad, int64_t count,
                         int32_t dtype, void *stream);

/* Where backward may write the gradient of entry `param` in micro-batch mb, to save its copy: numel
 * elements of the gradient's dtype, written by work queued on `stream` after the call.
 * The last zp_engine_step reads what the memory held before: make `stream` wait for that step's
 * stream (with callbacks: for the call's `stream`); the engine does not.
 * Then pass the returned address to zp_engine_grad_ready; another address, or
 * zp_engine_grad_unused, is an error. Ask for each micro-batch anew. At stages 0 and 1, for mb > 0,
 * the memory has the sum of the micro-batches before: add the gradient to it, rounding once.
 *
 * NULL: announce the gradient from memory of your own. It is NULL
 *   after an error that ended the engine, whose status the announcement returns,
 *   ref: at stages 0 and 1 for mb > 0;
 *   cuda: with exact sums; with native sums of a 16-bit gradient; at stages 0 and 1 with a 16-bit
 *   gradient;
 *   cuda, stage 2: for an entry that lies in several buckets, and while the bucket's memory waits
 *   for gradients of an earlier bucket, which it never does in backward order. spec: PART-8 */
void *zp_engine_grad_buffer(zp_engine *e, int32_t param, int64_t mb, void *stream);

/* With options.partial_gather: makes `stream` wait until entry `param` of this stage, or the n
 * entries of the list `params` (n -1: all of the stage), have the values of the last
 * zp_engine_step. Work queued on `stream` afterwards may read them. Each trained entry is waited
 * for once between two steps' ends, before work that reads it is queued, with callbacks in the
 * forward of micro-batch 0: an entry for which nothing waited ends the engine with an error that
 * names it; whether the wait came in time is not checked. `stream` is one as for grad_ready, and
 * not destroyed before zp_engine_step. A wait that repeats another costs
 * nothing. Without the option, for frozen entries, and ref, there is nothing to wait for. From any
 * host thread. 0, or a negative status. spec: STRM-11 */
int zp_engine_wait_param(zp_engine *e, int32_t param, void *stream);
int zp_engine_wait_params(zp_engine *e, const int32_t *params, int32_t n, void *stream);

/* Entry `param` has no gradient in micro-batch mb: it contributes zeros. With callbacks it may be
 * called before backward, too, from the micro-batch's forward on, while a callback runs: then no
 * gradient waits for this entry's turn. spec: RED-6, STEP-3 */
int zp_engine_grad_unused(zp_engine *e, int32_t param, int64_t mb);

/* Without callbacks: micro-batch mb's mean loss, without the loss scale, is at *loss (as for
 * grad_ready), to be averaged over all ranks, and to skip the step when it is not finite. Called,
 * if at all, before the micro-batch's last gradient is announced; else its loss counts as 0. Where
 * the stage trains nothing: in any order, before zp_engine_step. Of tensor parallel ranks, which
 * compute the same loss, that of tp index 0 is read. spec: STAT-3 */
int zp_engine_loss(zp_engine *e, int64_t mb, const float *loss, void *stream);

/* Runs the step (with callbacks), or ends the one whose gradients were announced. Without
 * callbacks: the update comes after all work already queued on `stream`, and work queued on
 * `stream` afterwards finds the new parameters; other streams that use parameters are joined to it
 * by the caller. With callbacks `stream` is not used. cuda: returns before the device has done it;
 * at most two steps are in flight. spec: STEP-2 */
int zp_engine_step(zp_engine *e, void *stream);

/* Waits for the last step and fills *state, whose size is set. spec: STEP-9 */
int zp_engine_get(zp_engine *e, zp_engine_state *state);

/* The hyperparameters of the next step; the scaler is that of the options, not the current one. */
int zp_engine_get_hyper(const zp_engine *e, zp_hyper *hyper);

/* Sets the hyperparameters from the next zp_engine_step on, such as a scheduled learning rate:
 *
 *   zp_hyper h;
 *   zp_engine_get_hyper(e, &h);
 *   h.optim[0].lr = rate;
 *   zp_engine_set_hyper(e, &h);
 *
 * The optimizers' numbers, clip and clip_eps may change, within the ranges of OPT-6; groups, kinds,
 * scaler and replicas stay as they are. Steps that are in flight keep their values. All ranks set
 * the same values before the same step: otherwise that step updates nothing, and every rank ends
 * with an error (STAT-6). A value that is refused changes nothing and does not end the engine; the
 * next call of this function forgets the error. Not from a callback. spec: OPT-7, STAT-6 */
int zp_engine_set_hyper(zp_engine *e, const zp_hyper *hyper);

/* Master weights and moments of an entry, in fp32. A rank holds, of each trained entry of its
 * stage, at ZeRO stages 1 and 2 the elements of its parts (PART-5), at stage 0 all: the fp32
 * parameter and the optimizer state `exp_avg` and `exp_avg_sq` of PyTorch, sharded. Another
 * stage's and a frozen entry have none; a tied entry's are held on each of its stages, a
 * replicated one's on each replica. spec: STEP-11
 *
 * zp_engine_held: the first run, as long as possible, of elements at or after `from` that this
 * rank holds: elements *offset … *offset + *count - 1; *count is 0 if there are no more. All of
 * them:
 *
 *   for (from = 0; zp_engine_held(e, p, from, &offset, &n) == 0 && n > 0; from = offset + n)
 *     zp_engine_read_state(e, p, ZP_WHAT_MASTER, offset, n, out + offset);
 *
 * Which elements a rank holds never changes between zp_engine_create and zp_engine_destroy.
 * 0, or ZP_E_REFUSED. */
int zp_engine_held(const zp_engine *e, int32_t param, int64_t from, int64_t *offset,
                   int64_t *count);

/* Reads elements offset … offset + count - 1, all held by this rank, of `state` of entry `param`
 * into out (count): ZP_WHAT_MASTER; ZP_WHAT_MOMENT1: AdamW's first moment, SGD's momentum buffer;
 * ZP_WHAT_MOMENT2: AdamW's second moment. Not collective. Between steps: after zp_engine_step or
 * zp_engine_create, before the next step's first gradient or loss is announced or memory is asked
 * for (zp_engine_grad_buffer), not from a callback. cuda: waits for the last step; out may be host
 * or device memory, and is filled when the call returns. 0, or a negative status: arguments that
 * are refused leave out unchanged and do not end the engine; the next call of this function or
 * zp_engine_write_state forgets the error. spec: STEP-11 */
int zp_engine_read_state(zp_engine *e, int32_t param, int32_t state, int64_t offset, int64_t count,
                         float *out);

/* Replaces elements offset … offset + count - 1 by in (count), with the arguments, times and errors
 * of zp_engine_read_state. All ranks that hold an element write the same value before the same
 * step: at stage 0 the whole reduction group, replicas, tp ranks of an entry that is not sharded,
 * and stages of a tied one; otherwise their copies differ from then on, which nothing reports.
 * Values are not checked: a second moment is to be at least 0. Parameters (zp_engine_param) keep
 * their values until the next step, which updates the masters and rounds them to the entry's dtype
 * (a skipped step only rounds them; ref: a skipped step leaves parameters alone); zp_engine_save
 * writes the new values, and zp_engine_load of that checkpoint makes the parameters theirs at
 * once. cuda: in may be host or device memory, which work in other streams has finished writing,
 * and may be overwritten when the call returns. spec: STEP-11 */
int zp_engine_write_state(zp_engine *e, int32_t param, int32_t state, int64_t offset, int64_t count,
                          const float *in);

/* Writes a checkpoint below folder dir, or loads the current one from there (checkpoint.h): any
 * topology, stage, bucket, precision and dtype of entries loads what any other has saved, ref or
 * cuda. Collective, between steps; all ranks need one file system: a save whose parts are in
 * several folders fails, and so does a load where a rank finds another checkpoint than rank 0. When
 * it fails on one rank it fails on all, and zp_engine_why says where and why. After a failed save
 * the training state and the checkpoint before are what they were, and the run goes on: the next
 * save or load forgets the error. A failed load leaves a mixture and ends the engine. cuda: work
 * that reads parameters has ended before a load. The checkpoint's hyperparameters replace those of
 * the options (CKPT-10).
 * spec: CKPT-1 … CKPT-10 */
int zp_engine_save(zp_engine *e, const char *dir);
int zp_engine_load(zp_engine *e, const char *dir);

/* A save in the background. zp_engine_save_begin copies what this rank writes, 12 bytes an element
 * on the first rank of each reduction group (zp_rank_plan_snapshot), and returns; a thread of its
 * own writes the copy below dir while steps follow. zp_engine_save_end waits for that thread and
 * publishes the checkpoint, of the step of zp_engine_save_begin, or fails like zp_engine_save.
 * Both are collective, between steps. One save is under way at a time: save_begin, zp_engine_save
 * and zp_engine_load call zp_engine_save_end first, and return its status if it is not 0, having
 * done nothing else. zp_engine_destroy publishes nothing. zp_engine_save_end without a save under
 * way does nothing. zp_engine_save_written: 1 if it would not wait for this rank's thread; ranks
 * that call it agree among themselves when all have written. spec: CKPT-2, CKPT-6, CKPT-11 */
int zp_engine_save_begin(zp_engine *e, const char *dir);
int zp_engine_save_end(zp_engine *e);
int zp_engine_save_written(const zp_engine *e);

/* The first error, even if no call has returned it yet (cuda: an error of another rank); otherwise
 * that of the last save, zp_engine_set_hyper, read_state or write_state, if it failed; otherwise an
 * error with status ZP_OK. */
const zp_error *zp_engine_why(const zp_engine *e);

/* Ends the engine: collective after a clean run; after an error it notifies the other ranks and
 * does not wait. NULL is allowed. Returns 0, or the first error's status, with that error in *err
 * where err is not NULL: the process should then leave with _exit, as messages may still be under
 * way (ref: MPI cannot be ended any more, and what they touch is not freed). cuda: the caller has
 * waited for its own streams. */
int zp_engine_destroy(zp_engine *e, zp_error *err);

#ifdef __cplusplus
}
#endif

#endif
