/* One rank's process. */
#ifndef ZP_CUDA_VERIFY_RANK_PROCESS_H
#define ZP_CUDA_VERIFY_RANK_PROCESS_H

#include "../engine/engine.h"
#include "differential.h"

/* The engine's deadline, on simdev's clock. */
#define ZP_DIFF_DEADLINE_NS ((uint64_t)30 * 1000000000u)

/* For tests; each may be NULL. */
typedef struct zp_diff_hooks {
  /* after the model has described the message that it will send */
  void (*described)(zp_diff_rank *w, const zp_cuda_call *call, zp_message *m);
  int64_t (*message_bytes)(const zp_diff_rank *w, int64_t enough); /* passed to the engine */
  int (*before_open)(zp_diff_rank *w);                             /* not 0: the rank ends */
  int (*before_step)(zp_diff_rank *w);                             /* likewise */
  void (*closing)(zp_diff_rank *w); /* before a rank's engine is closed, failed or not */
  int32_t no_lock;                  /* 1: the lock of a rank's hosts does nothing */
} zp_diff_hooks;

/* The main function of a process: hosts is the rank's zp_rank_hosts. */
int zp_diff_rank_main(void *hosts, int process);
zp_cuda_options zp_diff_rank_options(zp_diff_rank *w);

/* checkpoint.c: after the first step, after the last. */
int zp_diff_load(zp_diff_rank *w);
int zp_diff_save(zp_diff_rank *w);
/* To the store of an observed run. */
int zp_diff_save_observed(zp_diff_rank *w);

#endif
