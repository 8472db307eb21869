/* What a training step of the CUDA engine accesses, launches, calls and allocates, counted on
 * simdev. cuda/counters counts; `zeroproof counters` prints. */
#ifndef ZP_VERIFY_COUNTERS_H
#define ZP_VERIFY_COUNTERS_H

#include <stdint.h>

#include "../base/error.h"
#include "../engine/hyper.h"
#include "../plan/config.h"

/* What work belongs to: the op of the plan that the engine is at when it queues the work. */
typedef enum zp_count_use {
  /* copies that depend on the caller, not on the engine's own work: */
  ZP_COUNT_STAGED, /* of a gradient that was announced before its turn */
  ZP_COUNT_COPIED, /* stage 2: of the caller's gradient into a bucket */
  /* the engine's own; the first with launches that depend on the caller: */
  ZP_COUNT_ADD, /* the caller's gradient, added to the window, or (stage 2) widened into a slot */
  ZP_COUNT_REDUCE,
  ZP_COUNT_MEAN, /* means, squares of the norm */
  ZP_COUNT_STATISTICS,
  ZP_COUNT_DECIDE,
  ZP_COUNT_UPDATE,
  ZP_COUNT_GATHER,
  ZP_COUNT_OTHER, /* losses, exchanges between stages, what no op queues */
  ZP_COUNT_USES,
  ZP_COUNT_OWN = ZP_COUNT_ADD,
  ZP_COUNT_OWN_LAUNCHES = ZP_COUNT_REDUCE
} zp_count_use;

/* A step of a valid configuration, without dynamic shapes. */
typedef struct zp_counters_job {
  const zp_config *cfg;
  const zp_hyper *hyper;
  int32_t native;   /* 1: NCCL adds, instead of `ordered` (RED-7) */
  int32_t offload;  /* 1: masters and moments in host memory (OPT-5) */
  int32_t in_place; /* 1: the caller writes gradients where the engine lends a place (PART-8) */
} zp_counters_job;

/* Distinct bytes that each kernel, copy and memset read and wrote, added up. */
typedef struct zp_count_bytes {
  int64_t device_read, device_written, pinned_read, pinned_written;
} zp_count_bytes;

typedef struct zp_count_launches {
  int64_t kernels, copies, memsets;
} zp_count_launches;

/* Of the host, on one rank: calls of CUDA and NCCL, acquisitions of the engine's lock. */
typedef struct zp_count_host {
  int64_t announcements;
  int64_t most_calls, most_locks;           /* of one announcement */
  int64_t announced_calls, announced_locks; /* of all announcements of the step */
  int64_t step_calls, step_locks;           /* of the whole step, announcements included */
} zp_count_host;

typedef struct zp_count_call {
  char name[40];
  int64_t calls;
} zp_count_call;

/* Bytes of memory by use. planned: as `zeroproof plan` prints them; -1: it does not. */
typedef struct zp_count_memory {
  const char *name;
  int64_t planned, allocated;
} zp_count_memory;

/* The memory that a rank is to need at most, of device memory without messages between stages:
 * bytes + allowance. */
typedef struct zp_count_goal {
  int32_t known; /* 0: none, in fp32, with offload, tied parameters, and exact sums
                  * at stages 0 and 1 */
  int32_t rank;
  double bytes, params; /* of the rank */
  int64_t allowance;    /* b: (slots + 2) buckets of fp32, and early_bytes */
  int64_t used;         /* the peak */
} zp_count_goal;

enum { ZP_COUNT_CALLS = 48, ZP_COUNT_MEMORIES = 12 };

/* Bytes are sums over all ranks; launches and calls are those of one rank, the one with the most
 * launches of its own. */
typedef struct zp_counters {
  int32_t world, rank;
  int64_t params;  /* elements of the stages of all ranks: a parameter counts on each rank that
                    * has it */
  int64_t buckets; /* of the rank */
  /* of the rank: sums of a bucket after its reduction: of tied parameters' stages, of replicas */
  int64_t further_sums;
  double ideal; /* bytes per parameter of the least traffic of the engine's own work; below 0: not
                 * known for this configuration */
  zp_count_bytes bytes[ZP_COUNT_USES];
  zp_count_launches launches[ZP_COUNT_USES];
  zp_count_bytes nccl;           /* the buffers of communications, once for each communication */
  int64_t wire;                  /* bytes sent, as the ledger counts them */
  int64_t communications, words; /* of the rank; words: cuStreamWriteValue32 */
  zp_count_host host;
  zp_count_call call[ZP_COUNT_CALLS]; /* of the rank's step, by name */
  int32_t calls;
  int64_t created; /* allocations, streams, events and communicators made after the first step, on
                    * all ranks */
  zp_count_memory memory[ZP_COUNT_MEMORIES];
  int32_t memories;
  /* as simdev counts them: */
  int64_t device, device_peak, pinned, pinned_peak;
  int64_t host_allocated; /* pinned memory as the engine counts it */
  zp_count_goal goal;     /* of the rank that is closest to it, or exceeds it most */
} zp_counters;

/* A measured number beside its limit. */
typedef enum zp_count_verdict {
  ZP_COUNT_WITHIN,
  ZP_COUNT_EXCEEDS,
  ZP_COUNT_NO_GOAL
} zp_count_verdict;

/* The dtype of gradients, and "-in-place" if they are written there. */
const char *zp_counters_gradients(int32_t dtype, int32_t in_place);
/* "native", "ordered", "exact". */
const char *zp_counters_sums(const zp_config *cfg, int32_t native);
/* "reduce". */
const char *zp_count_use_name(int32_t use);
/* Of the engine's own work: bytes of device memory, launches. */
int64_t zp_counters_own_bytes(const zp_counters *c);
int64_t zp_counters_own_launches(const zp_counters *c);
/* Own bytes over the ideal; -1 if no ideal is known. */
double zp_counters_ratio(const zp_counters *c);
/* Launches that a further sum of a bucket takes: `ordered` and exact sums 1; exact ones at stage 2,
 * which are unpacked for it, and packed, 2; `native` none. */
int64_t zp_counters_launches_of_further_sum(const zp_config *cfg, int32_t native);
/* 2B + 2MB + 10 for B buckets of the rank and M micro-batches; with offload B more, which copy the
 * gradients to the host; and those of further sums. */
int64_t zp_counters_launch_bound(const zp_counters *c, const zp_config *cfg, int32_t native,
                                 int32_t offload);
/* Of the memory that the rank uses. */
zp_count_verdict zp_counters_goal_verdict(const zp_count_goal *g);
/* 1: what is planned and what simdev counts equal what the engine has allocated, to the byte. */
int32_t zp_counters_memory_agrees(const zp_counters *c);

#endif
