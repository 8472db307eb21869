/* Every wait and record that the engine issues has a sync point: a name, the clause of
 * spec/streams.md that it serves, and a text: of a wait, which stream or host waits for which work;
 * of a record, its stream and the work before it. cuda/README.md lists them, and a test removes
 * them one by one (test_engine_faults.sh): without any of them some run has a wrong result, a race
 * or a deadlock.
 *
 * A name ends in its kind: .record marks a point of a stream, .wait makes a stream wait for the
 * latest point of that name, .host makes the host wait for it. (finished.wait waits for backwarded,
 * or caller in a loop of the caller's own; resumed.wait and gathers.wait for ended; param.wait for
 * gathered.) The names are part of options and
 * recorded runs: former ones are still found. */
#ifndef ZP_CUDA_SYNC_POINTS_H
#define ZP_CUDA_SYNC_POINTS_H

#include <stdint.h>

#define ZP_CUDA_SYNC_POINTS(X)                                                                     \
  X(COPIED_RECORD, "copied.record", "STRM-1",                                                      \
    "on a producer stream, after a copy into the open bucket")                                     \
  X(COPIED_WAIT, "copied.wait", "STRM-1",                                                          \
    "reduce waits for each stream that copied into the bucket, because it sums what they wrote")   \
  X(FREE_RECORD, "free.record", "STRM-2",                                                          \
    "on reduce, after the reduction that reads a bucket slot")                                     \
  X(FREE_WAIT, "free.wait", "STRM-2",                                                              \
    "a producer stream waits, before it refills a bucket slot, for the reduction that reads "      \
    "the slot")                                                                                    \
  X(ADDED_RECORD, "added.record", "STRM-2",                                                        \
    "on a producer stream, after an addition to a sum over micro-batches")                         \
  X(ADDED_WAIT, "added.wait", "STRM-2",                                                            \
    "a producer stream waits for the stream that added the previous micro-batch to the same sum")  \
  X(STAGED_RECORD, "staged.record", "STRM-2",                                                      \
    "on a producer stream, after an addition that reads an entry's staging buffer")                \
  X(STAGED_WAIT, "staged.wait", "STRM-2",                                                          \
    "a producer stream waits, before it refills a staging buffer, for the addition that reads "    \
    "the buffer")                                                                                  \
  X(FORWARDED_RECORD, "forwarded.record", "STRM-3", "on compute, after a forward")                 \
  X(FORWARDED_WAIT, "forwarded.wait", "STRM-3",                                                    \
    "p2p waits, before it sends an activation, for the forward that computes it")                  \
  X(BACKWARDED_RECORD, "backwarded.record", "STRM-3", "on compute, after a backward")              \
  X(BACKWARDED_WAIT, "backwarded.wait", "STRM-3",                                                  \
    "p2p waits for the backward that computes the gradient it sends, or that reads the buffer "    \
    "into which it receives")                                                                      \
  X(LOSSES_RECORD, "losses.record", "STRM-4",                                                      \
    "on compute of the last stage, after the last forward of a step")                              \
  X(LOSSES_WAIT, "losses.wait", "STRM-4",                                                          \
    "reduce of the last stage waits, before it counts losses, for the last forward, if no "        \
    "gradient was announced")                                                                      \
  X(FINISHED_WAIT, "finished.wait", "STRM-4",                                                      \
    "reduce waits, before the decision and the updates, for the last backward, which reads "       \
    "state and parameters")                                                                        \
  X(NEXT_RECORD, "next.record", "STRM-3", "on p2p, after an exchange with the next stage")         \
  X(NEXT_WAIT, "next.wait", "STRM-3",                                                              \
    "compute waits for the exchange that receives its gradient, or that sends the activation "     \
    "which compute overwrites")                                                                    \
  X(PREVIOUS_RECORD, "previous.record", "STRM-3",                                                  \
    "on p2p, after an exchange with the previous stage")                                           \
  X(PREVIOUS_WAIT, "previous.wait", "STRM-3",                                                      \
    "compute waits for the exchange that receives its activation, or that sends the gradient "     \
    "which compute overwrites")                                                                    \
  X(ENDED_RECORD, "ended.record", "STRM-4",                                                        \
    "on reduce (partial_gather: on gather), at the end of INIT or of a step")                      \
  X(ENDED_WAIT, "ended.wait", "STRM-4",                                                            \
    "compute, which all producer streams follow, waits for the previous step, which writes "       \
    "parameters and state")                                                                        \
  X(ENDED_HOST, "ended.host", "STRM-4",                                                            \
    "the host waits for step n - 2 before it issues step n: at most two steps are in flight")      \
  X(ORDER_RECORD, "order.record", "STRM-5", "on a stream, after a communication")                  \
  X(ORDER_WAIT, "order.wait", "STRM-5",                                                            \
    "a stream that communicates waits for the previous communication on another stream: all "      \
    "ranks keep one order")                                                                        \
  X(OPENED_RECORD, "opened.record", "STRM-6", "on reduce, after the copies of the initial state")  \
  X(OPENED_HOST, "opened.host", "STRM-6",                                                          \
    "the host waits for the copies of the initial state before it frees their source")             \
  X(READ_RECORD, "read.record", "STRM-6",                                                          \
    "on reduce, after the copy of a step's state to the host")                                     \
  X(READ_HOST, "read.host", "STRM-6",                                                              \
    "the host waits for the copy of a step's state before it reads it")                            \
  X(META_RECORD, "meta.record", "STRM-6", "on p2p, after the copy of a meta message to the host")  \
  X(META_HOST, "meta.host", "STRM-6",                                                              \
    "the host waits for the copy of the next meta message before it reads it")                     \
  X(STORED_RECORD, "stored.record", "STRM-6", "on reduce, after a copy for a save or a load")      \
  X(STORED_HOST, "stored.host", "STRM-6",                                                          \
    "the host waits for a copy for a save or a load before it reads the result or overwrites "     \
    "the source")                                                                                  \
  X(CALLER_LOSS_RECORD, "caller_loss.record", "STRM-4",                                            \
    "on a stream of the caller, after the copy of a loss")                                         \
  X(CALLER_LOSS_WAIT, "caller_loss.wait", "STRM-4",                                                \
    "reduce waits for each loss that the caller's own loop passed")                                \
  X(CALLER_RECORD, "caller.record", "STRM-4",                                                      \
    "on the caller's stream, when its own loop ends a step, after all readers of parameters")      \
  X(RESUMED_WAIT, "resumed.wait", "STRM-4",                                                        \
    "the caller's stream waits for the step that its own loop ended, which writes parameters "     \
    "and state")                                                                                   \
  X(AVERAGED_RECORD, "averaged.record", "STRM-9",                                                  \
    "offload: on reduce, after the reduced gradients of a bucket")                                 \
  X(AVERAGED_WAIT, "averaged.wait", "STRM-9",                                                      \
    "offload: the copy stream waits for a bucket's reduced gradients before it copies them to "    \
    "the host")                                                                                    \
  X(DECIDED_RECORD, "decided.record", "STRM-9", "offload: on reduce, after the decision")          \
  X(DECIDED_WAIT, "decided.wait", "STRM-9",                                                        \
    "offload: the copy stream waits for the decision before it copies it to the host")             \
  X(OUT_RECORD, "out.record", "STRM-9",                                                            \
    "offload: on the copy stream, after the last copy to the host, which follows those of all "    \
    "reduced gradients")                                                                           \
  X(OUT_HOST, "out.host", "STRM-9",                                                                \
    "offload: the host waits for the copies of reduced gradients and decision before it updates")  \
  X(BACK_RECORD, "back.record", "STRM-9",                                                          \
    "offload: on the copy stream, after a bucket's updated parameters are copied to the device")   \
  X(BACK_WAIT, "back.wait", "STRM-9",                                                              \
    "offload: the gathering stream waits for a bucket's updated parameters before it gathers "     \
    "them")                                                                                        \
  X(CONSUMED_RECORD, "consumed.record", "STRM-9",                                                  \
    "offload: on reduce, after the work that reads parameters which were copied back")             \
  X(CONSUMED_WAIT, "consumed.wait", "STRM-9",                                                      \
    "offload: the copy stream waits, before it refills a buffer with another bucket's "            \
    "parameters, for the work that reads it")                                                      \
  X(SETTLED_RECORD, "settled.record", "STRM-11", "partial_gather: on reduce, after the decision")  \
  X(SETTLED_WAIT, "settled.wait", "STRM-11",                                                       \
    "partial_gather: compute, or the caller's stream, waits for the previous step's decision, "    \
    "which writes state")                                                                          \
  X(UPDATED_RECORD, "updated.record", "STRM-11",                                                   \
    "partial_gather: on reduce, after a bucket's update")                                          \
  X(UPDATED_WAIT, "updated.wait", "STRM-11",                                                       \
    "partial_gather: the gather stream waits for a bucket's update before it gathers the bucket")  \
  X(GATHERED_RECORD, "gathered.record", "STRM-11",                                                 \
    "partial_gather: on the gather stream, after the last gather that writes an entry")            \
  X(PARAM_WAIT, "param.wait", "STRM-11",                                                           \
    "partial_gather: a stream of the caller's waits, before it reads entries, for the last "       \
    "gather that writes them")                                                                     \
  X(GATHERS_WAIT, "gathers.wait", "STRM-11",                                                       \
    "partial_gather: reduce waits for the last step's gathers before results are read, saved or "  \
    "replaced")

typedef enum zp_cuda_sync_point {
  ZP_SYNC_NONE = 0,
#define ZP_SYNC_ENUM(id, name, clause, why) ZP_SYNC_##id,
  ZP_CUDA_SYNC_POINTS(ZP_SYNC_ENUM)
#undef ZP_SYNC_ENUM
      ZP_SYNC_END
} zp_cuda_sync_point;

/* NULL: there is no such sync point. */
const char *zp_cuda_sync_point_name(int32_t sync_point);
const char *zp_cuda_sync_point_why(int32_t sync_point);
/* 1: only runs with offload have it, with partial_gather. */
int32_t zp_cuda_sync_point_offloads(int32_t sync_point);
int32_t zp_cuda_sync_point_partial(int32_t sync_point);
/* By name, former name or number; ZP_SYNC_NONE: not found. */
int32_t zp_cuda_sync_point_find(const char *name);

#endif
