/* Schedules: everything that a run may vary while the bits stay the same. */
#ifndef ZP_CUDA_VERIFY_SCHEDULE_H
#define ZP_CUDA_VERIFY_SCHEDULE_H

#include "../simdev/simdev.h"
#include "inject.h"

/* Producer streams that a micro-batch's gradients are announced on, at most; sets of them, together
 * more than the engine remembers (ZP_CUDA_WAITERS). */
enum { ZP_DIFF_STREAMS = 3, ZP_DIFF_SETS = 24 };

/* Zero is a valid value for every member; all gradients are then announced on one stream. */
typedef struct zp_schedule {
  uint64_t seed;        /* of simdev */
  uint64_t announce;    /* of the announcements: their streams and, unless in_order is set, their
                       * order */
  simdev_order order;   /* which agent runs next */
  int32_t producers;    /* streams that gradients are announced on, 1 … 3; 0: 1 */
  int32_t in_order;     /* 1: gradients are announced in backward order */
  int32_t native;       /* 1: NCCL adds in an order of its own; the bits are ref's if sums are
                       * exact */
  int32_t offload;      /* 1: masters and moments are in host memory, and the host updates them */
  int32_t get_each;     /* 1: the host asks for the results after each step; 0: after the last */
  int32_t launch_order; /* NCCL_LAUNCH_ORDER_IMPLICIT: 0 unchanged, 1 unset, 2 set by the engine */
  int32_t nccl_version; /* 0: the header's */
  int32_t record;       /* simdev keeps records, edges and syncs */
  int32_t path;         /* 1: the happens-before check compares the run's order with the plan's */
  const simdev_fault *faults; /* [fault_count] */
  int32_t fault_count;
  simdev_choice remote_errors, one_comm_kernel, register_memory;
  int32_t allow_leaks;
  /* injected faults of the model: 1 + the rank that announces one entry too few, or one entry
   * twice, in the last step; 0: none */
  int32_t forgets, repeats;
  int32_t gradual;      /* 1: backward makes one gradient after the other and announces each on the
                    * compute stream; ignored with `hosts` and in a loop of the caller's own */
  int32_t early;        /* 1: the engine has its default room for early gradients, and they
                          * come in an order for which that suffices; 0: room for all */
  int32_t in_place;     /* 1: gradients are written where they are added, where the engine lends
                          * that memory, for half of the announcements */
  int32_t unused_early; /* 1: forward declares half of the unused entries */
  int32_t partial_gather; /* 1: gathers have a stream of their own, and forward waits for entries;
                           * where the engine allows it (zp_diff_is_partial) */
  int32_t many_streams;   /* 1: each micro-batch's gradients come on other producer streams, a set
                          * of them; 2: each gradient on a stream of another set. Without
                          * happens-before check and timeline */
  int32_t waits_for_all;  /* 1: a gradient is announced after all queued work of the reduction
                               * stream */
  int64_t decisions_max;  /* of simdev; 0: its default */
  const zp_injection *inject; /* a fault of the engine, or NULL */
  int32_t count_flight;       /* 1: the steps in flight are counted, which orders the host */
  /* 1: a rank has a host for each producer stream, which announces its gradients, and the engine's
   * watchdog. Without happens-before check and timeline: those require one host. */
  int32_t hosts;
  int32_t alarm; /* 1: ranks report failures to each other by a host channel */
  /* 1: the caller computes in a loop of its own, and ends the steps; ignored with several stages.
   * Without happens-before check and timeline. */
  int32_t own_loop;
  int32_t default_stream; /* the first producer stream: 0 a created one; 1 the legacy default
                           * stream, NULL; 2 cudaStreamPerThread */
} zp_schedule;

/* Schedule number n, the same in every build. */
zp_schedule zp_schedule_of(uint64_t n);

/* The next number of a sequence. */
uint64_t zp_random_next(uint64_t *state);

#endif
