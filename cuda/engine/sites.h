/* Every wait and record that the engine issues has a site: a name, the clause of spec/streams.md
 * that it serves, and a sentence that says who waits for whom, and why. A person lists them
 * (cuda/README.md) and a test removes them one by one (test_engine_faults.sh): without any of them
 * some run has a wrong result, a race or a deadlock.
 *
 * A name ends in its kind: .record marks a point of a stream, .wait makes a stream wait for the
 * point of that name that was marked last, .host makes the host wait for it. */
#ifndef ZP_CUDA_SITES_H
#define ZP_CUDA_SITES_H

#include <stdint.h>

#define ZP_CUDA_SITES(X)                                                                           \
  X(COPIED_RECORD, "copied.record", "STRM-1",                                                      \
    "a producer stream has queued a copy into the open bucket")                                    \
  X(COPIED_WAIT, "copied.wait", "STRM-1",                                                          \
    "reduce, for each stream that copied into the bucket: it sums what they wrote")                \
  X(FREE_RECORD, "free.record", "STRM-2", "reduce has queued the reduction that reads a slot")     \
  X(FREE_WAIT, "free.wait", "STRM-2",                                                              \
    "a producer stream, before it refills a slot, for the reduction that reads the slot")          \
  X(ADDED_RECORD, "added.record", "STRM-2",                                                        \
    "a producer stream has queued an addition to the window's sum")                                \
  X(ADDED_WAIT, "added.wait", "STRM-2",                                                            \
    "a producer stream, for the micro-batch before on another stream: both add to one sum")        \
  X(STAGED_RECORD, "staged.record", "STRM-2",                                                      \
    "a producer stream has queued an addition from an entry's staging buffer")                     \
  X(STAGED_WAIT, "staged.wait", "STRM-2",                                                          \
    "a producer stream, before it keeps a gradient aside, for the addition from there before it")  \
  X(FORWARDED_RECORD, "forwarded.record", "STRM-3", "compute has queued a forward")                \
  X(FORWARDED_WAIT, "forwarded.wait", "STRM-3",                                                    \
    "p2p, before it sends an activation, for the forward that makes it")                           \
  X(BACKWARDED_RECORD, "backwarded.record", "STRM-3", "compute has queued a backward")             \
  X(BACKWARDED_WAIT, "backwarded.wait", "STRM-3",                                                  \
    "p2p, for the backward that makes the gradient it sends, and reads what it overwrites")        \
  X(LOSSES_RECORD, "losses.record", "STRM-4",                                                      \
    "compute of the last stage has queued a step's last forward")                                  \
  X(LOSSES_WAIT, "losses.wait", "STRM-4",                                                          \
    "reduce of the last stage, before it counts losses, for the last forward: no gradient came")   \
  X(FINISHED_WAIT, "finished.wait", "STRM-4",                                                      \
    "reduce, before the decision and updates, for the last backward: it reads state and "          \
    "parameters")                                                                                  \
  X(NEXT_RECORD, "next.record", "STRM-3", "p2p has queued an exchange with the next stage")        \
  X(NEXT_WAIT, "next.wait", "STRM-3",                                                              \
    "compute, for the exchange that brings a gradient, and reads the activation it overwrites")    \
  X(PREVIOUS_RECORD, "previous.record", "STRM-3",                                                  \
    "p2p has queued an exchange with the previous stage")                                          \
  X(PREVIOUS_WAIT, "previous.wait", "STRM-3",                                                      \
    "compute, for the exchange that brings an activation, and reads the gradient it overwrites")   \
  X(ENDED_RECORD, "ended.record", "STRM-4", "reduce has queued the end of INIT or of a step")      \
  X(ENDED_WAIT, "ended.wait", "STRM-4",                                                            \
    "compute, and behind it all producers, for the step before: its parameters and its state")     \
  X(ENDED_HOST, "ended.host", "STRM-4",                                                            \
    "the host, for the step before the last: two are in flight")                                   \
  X(ORDER_RECORD, "order.record", "STRM-5", "a stream has queued a communication")                 \
  X(ORDER_WAIT, "order.wait", "STRM-5",                                                            \
    "a stream that communicates, for the communication before on another: one order on all ranks") \
  X(OPENED_RECORD, "opened.record", "STRM-6", "reduce has queued the copies of the first state")   \
  X(OPENED_HOST, "opened.host", "STRM-6", "the host, before it gives back what those copies read") \
  X(READ_RECORD, "read.record", "STRM-6",                                                          \
    "reduce has queued the copy of a step's state to the host")                                    \
  X(READ_HOST, "read.host", "STRM-6", "the host, before it reads that copy")                       \
  X(MET_RECORD, "met.record", "STRM-6", "p2p has queued the copy of a meta message to the host")   \
  X(MET_HOST, "met.host", "STRM-6", "the host, before it reads what the next message is like")     \
  X(STORED_RECORD, "stored.record", "STRM-6",                                                      \
    "reduce has queued a copy for a checkpoint, or from one")                                      \
  X(STORED_HOST, "stored.host", "STRM-6",                                                          \
    "the host, before it reads that copy or overwrites its source")                                \
  X(GIVEN_RECORD, "given.record", "STRM-4", "a stream of the caller's has queued a loss's copy")   \
  X(GIVEN_WAIT, "given.wait", "STRM-4", "reduce, for a loss that the caller's own loop gave")      \
  X(HANDED_RECORD, "handed.record", "STRM-4",                                                      \
    "the caller's stream, when its own loop ends a step: readers of parameters are before")        \
  X(RESUMED_WAIT, "resumed.wait", "STRM-4",                                                        \
    "the caller's stream, for the step that its own loop has ended: its parameters and state")     \
  X(MEANT_RECORD, "meant.record", "STRM-9", "offload: reduce has queued the means of a bucket")    \
  X(MEANT_WAIT, "meant.wait", "STRM-9", "the copy stream, before it takes them to the host")       \
  X(DECIDED_RECORD, "decided.record", "STRM-9", "offload: reduce has queued the decision")         \
  X(DECIDED_WAIT, "decided.wait", "STRM-9", "the copy stream, before it takes it to the host")     \
  X(OUT_RECORD, "out.record", "STRM-9",                                                            \
    "the copy stream has queued the last copy to the host, behind those of all means")             \
  X(OUT_HOST, "out.host", "STRM-9", "the host, before it updates from those copies")               \
  X(BACK_RECORD, "back.record", "STRM-9", "the copy stream has queued parameters to the device")   \
  X(BACK_WAIT, "back.wait", "STRM-9", "reduce, before it gathers these parameters")                \
  X(TAKEN_RECORD, "taken.record", "STRM-9",                                                        \
    "reduce has queued what reads parameters that came back")                                      \
  X(TAKEN_WAIT, "taken.wait", "STRM-9",                                                            \
    "the copy stream, before parameters of the bucket after the next come to the same place")

typedef enum zp_cuda_site {
  ZP_SITE_NONE = 0,
#define ZP_SITE_ENUM(id, name, clause, why) ZP_SITE_##id,
  ZP_CUDA_SITES(ZP_SITE_ENUM)
#undef ZP_SITE_ENUM
      ZP_SITE_END
} zp_cuda_site;

/* NULL where there is none. */
const char *zp_cuda_site_name(int32_t site);
const char *zp_cuda_site_why(int32_t site);
/* 1: it is there with offload alone. */
int32_t zp_cuda_site_offloads(int32_t site);
/* By name or number; ZP_SITE_NONE: there is none. */
int32_t zp_cuda_site_find(const char *name);

#endif
