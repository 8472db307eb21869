/* The engine as functions of numbers and texts, for languages that call C and have none of its
 * structs (Python's ctypes). A job is described by calls of zp_binding_param, _optimizer, _clip and
 * _scale; then zp_binding_open makes the engine, for which engine.h's other functions are called.
 *
 * One data-parallel group: pp, tp, ep and replicas are 1. Not installed. In libzeroproof_engine.so,
 * the reference without MPI, whose ranks reach each other by the caller's transport; and, but for
 * zp_binding_watch, _progress, _resume and _leave, in the libraries of cuda/binding. */
#ifndef ZP_BINDING_BINDING_H
#define ZP_BINDING_BINDING_H

#include "../engine/engine.h"

typedef struct zp_binding zp_binding;

/* A description without entries and optimizers. stage: 0 to 2. reduce: zp_reduce; or 2: ZP_ORDERED
 * without options.ordered. precision: ZP_F32, ZP_BF16, ZP_F16. NULL without memory. */
zp_binding *zp_binding_new(int32_t rank, int32_t world, int32_t stage, int32_t reduce,
                           int32_t precision, int64_t micro_batches, int64_t bucket);

/* The next entry: numel elements, in optimizer group `group`; fp32: 1: fp32 whatever the precision.
 * first: its first values, in its dtype, read by zp_binding_open. name: copied, unique, below 48
 * bytes. 0, or -1 without memory. */
int zp_binding_param(zp_binding *b, const char *name, int64_t numel, int32_t group, int32_t frozen,
                     int32_t fp32, const void *first);

/* Optimizer group `group`, 0 to 7: kind: ZP_OPTIM_SGD or _ADAMW; beta1 and beta2 are AdamW's,
 * momentum SGD's. Before or after zp_binding_open: afterwards for the next step (OPT-7), where a
 * value that is refused is reported by zp_binding_why. 0, or a negative status. */
int zp_binding_optimizer(zp_binding *b, int32_t group, int32_t kind, double lr, double weight_decay,
                         double beta1, double beta2, double eps, double momentum);

/* lr, weight_decay, beta1, beta2, eps and momentum of group `group`, as the next step has them. */
void zp_binding_numbers(const zp_binding *b, int32_t group, double number[6]);

/* Learning rates of the next step, of groups 0 to n - 1: all of them, or none if one is refused. */
int zp_binding_rates(zp_binding *b, int32_t n, const double *lr);

/* The largest norm (0: no clipping) and what is added to the norm; as zp_binding_optimizer. */
int zp_binding_clip(zp_binding *b, double most, double eps);

/* The loss scale, as zp_scaler_init; before zp_binding_open. 0, or -1: the numbers are refused. */
int zp_binding_scale(zp_binding *b, int32_t dynamic, int32_t log2_scale, int32_t log2_min,
                     int32_t log2_max, int64_t window, int32_t hysteresis, int32_t consecutive);

/* Before zp_binding_open: for the CUDA engine: its device, and zp_engine_options.exchange. */
void zp_binding_device(zp_binding *b, int32_t device,
                       int (*exchange)(void *, int32_t, void *, size_t), void *ctx);

/* Makes the engine: collective. The functions: those of zp_transport; NULL where world is 1. 0, or
 * a negative status. */
int zp_binding_open(zp_binding *b, int (*all_gather)(void *, const void *, void *, int64_t),
                    int (*all_to_all)(void *, const void *, void *, int64_t),
                    int (*broadcast)(void *, void *, int64_t, int32_t), const char *(*why)(void *),
                    void (*alarm)(void *, int32_t, const char *), void *ctx);

/* What the checkpoint in `dir` says of the run that saved it (engine_parts.h): a text of less than
 * `size` bytes. ZP_OK, or a status: it is missing or damaged, or the text is longer. */
int zp_binding_peek(const char *dir, char *text, int64_t size);

/* As zp_engine_load: the checkpoint's hyperparameters become the description's. */
int zp_binding_load(zp_binding *b, const char *dir);

/* After zp_binding_open: `entering` is called before each communication of this rank with others,
 * in their order, and calls no function of the engine: the operation, the reduction ("" without
 * one), dtype, elements (of one part: reduce_scatter, all_gather, gather), root's rank or -1, and
 * what is sent. */
void zp_binding_watch(zp_binding *b,
                      void (*entering)(const char *op, const char *redop, const char *dtype,
                                       int64_t count, int32_t root, const char *what));

/* NULL before zp_binding_open. */
zp_engine *zp_binding_engine(zp_binding *b);

/* The engine's first error, or of the last call that failed without ending it: its status (0: no
 * error), and the text. */
int32_t zp_binding_why(const zp_binding *b, const char **text);

/* What zp_engine_get says of the last step: number[0 … 5] = steps so far, norm, clip factor, loss
 * scale of the next step, loss, skipped; ledger: of the world and the data-parallel group, ops,
 * bytes and hash of each. 0, or a negative status. */
int zp_binding_get(zp_binding *b, double number[6], int64_t ledger[6]);

/* What a step changes beside masters and moments. whole: steps so far; of the loss scale its log2,
 * hysteresis_left, iter and last_overflow (zp_scaler); the updates of each optimizer group. power:
 * of each group its products of beta1 and of beta2 (zp_optim_state). Groups: 8, of which those
 * without parameters stay as they began.
 * zp_binding_resume, between steps, by all ranks with the same numbers: 0, or ZP_E_REFUSED for
 * numbers that no training leaves with the options' scaler, and nothing changes. */
enum { ZP_BINDING_WHOLE = 5 + ZP_HYPER_GROUPS, ZP_BINDING_POWER = 2 * ZP_HYPER_GROUPS };
void zp_binding_progress(const zp_binding *b, int64_t whole[ZP_BINDING_WHOLE],
                         double power[ZP_BINDING_POWER]);
int zp_binding_resume(zp_binding *b, const int64_t whole[ZP_BINDING_WHOLE],
                      const double power[ZP_BINDING_POWER]);

/* When all ranks have come, ends their communication; parameters keep their memory until
 * zp_binding_close, which then waits for no other rank. 0, or a negative status. */
int zp_binding_leave(zp_binding *b);

/* Ends the engine: after an error, without waiting for other ranks. The description is freed,
 * unless the transport may still use memory of the engine. 0, or a negative status. */
int zp_binding_close(zp_binding *b);

#endif
