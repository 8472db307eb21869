/* The state of a differential run and of its ranks: the parts, each declared beside the functions
 * that change it. */
#ifndef ZP_CUDA_VERIFY_STATE_H
#define ZP_CUDA_VERIFY_STATE_H

#include "../../ref/comm/comm.h"
#include "../../ref/engine/cursor.h"
#include "../../ref/engine/window.h"
#include "../../ref/verify/memory_checkpoint.h"
#include "../engine/device/sync_points.h"
#include "../engine/inspect.h"
#include "announce.h"
#include "compare.h"
#include "contributions.h"
#include "follow.h"
#include "model.h"
#include "own_loop.h"
#include "rank_hosts.h"
#include "rank_process.h"
#include "ref_run.h"
#include "simulation.h"
#include "tape.h"

struct zp_diff {
  const zp_config *cfg;
  zp_config sized; /* cfg, with flat sizes as numels: what programs are planned for (PART-2) */
  const zp_hyper *hyper;
  const zp_workload *work;
  zp_diff_watch watch;
  zp_diff_storage storage;
  zp_diff_hooks hooks;
  int64_t base; /* the first step: 0, or the one that was loaded */
  int32_t steps, world;
  zp_ref_run ref;
  zp_follow follow;
  zp_simulation simulation;
  /* of the engine's last run */
  zp_schedule now;
  zp_case_memory saved[2]; /* by ref; by the engine */
  zp_alarm_board alarms;
  ncclUniqueId id;
  int32_t differs;  /* 1: there is a finding … */
  zp_finding found; /* … the first */
  zp_diff_contributions contributions;
  zp_error *error;      /* [world] */
  zp_hb_log *log;       /* [world] announcements */
  zp_diff_syncs *syncs; /* [world] of runs that are recorded */
  uint8_t *get;         /* [steps] 1: the host asked for the results */
  int32_t chained;      /* 1: the engine kept the order of communications by events */
};

/* One rank of the engine's run. */
struct zp_diff_rank {
  zp_diff *t;
  int32_t rank, streams, steps_done;
  int64_t created; /* by its process, before its steps */
  int64_t tag;     /* of the engine's work: of the op that it issues */
  zp_coord at;
  zp_cuda *e;
  zp_injector injector;
  zp_rank_hosts *hosts;
  zp_cuda_threads threads;
  zp_diff_model model;
  zp_announcer announce;
  zp_own_loop own_loop;
  zp_tape tape;
  zp_diff_ledger issued;
};

/* Returns the line of a call that failed, as host functions of simdev do. */
#define ZP_HOST_TRY(call)                                                                          \
  do {                                                                                             \
    if ((call) != 0) return __LINE__;                                                              \
  } while (0)

/* finding.c: keeps the first finding; returns 1. */
int zp_diff_fail(zp_diff *t, const char *kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
