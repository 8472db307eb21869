/* Gradients of the caller: copied by the producer streams, each into one buffer that its next copy
 * overwrites, and announced from there; or written where the engine adds them. */
#ifndef ZP_CUDA_VERIFY_ANNOUNCE_H
#define ZP_CUDA_VERIFY_ANNOUNCE_H

#include "../engine/engine.h"
#include "../simdev/simdev.h"
#include "differential.h"

typedef struct zp_announcer {
  uint64_t random[ZP_DIFF_STREAMS]; /* of each announcing host; [0]: also of the first host */
  int32_t failed[ZP_DIFF_STREAMS];
  const zp_cuda_call *call; /* the backward whose gradients are announced */
  cudaStream_t producer[ZP_DIFF_SETS][ZP_DIFF_STREAMS];
  cudaEvent_t made, all; /* the gradients are made; all work of the reduction stream */
  void *grad[ZP_DIFF_SETS][ZP_DIFF_STREAMS]; /* device: the announced buffers */
  int32_t sets, set; /* how many there are; the one in use, which only the first host changes */
  void **raw;        /* [n_params] device: [M] gradients that backward writes; NULL: frozen */
  int32_t *order, entries; /* [n_params] the first `entries`, in the order of announcement */
  char *unused;            /* [M][n_params] 1: declared unused in forward */
  int32_t param;           /* the entry that is announced, in micro-batch mb */
  int64_t mb;
} zp_announcer;

/* Runs a kernel of one thread. */
int zp_diff_launch(const simdev_kernel *k, void *params, cudaStream_t stream);

int zp_announcer_load(void); /* its kernel */
int zp_announcer_open_streams(zp_diff_rank *w);
int zp_announcer_open_gradients(zp_diff_rank *w);
void zp_announcer_wait(const zp_diff_rank *w); /* until the producer streams are idle */
void zp_announcer_close(zp_diff_rank *w);

/* Of the engine's options. */
int64_t zp_diff_early_bytes(const zp_diff *t);
/* At ZeRO stages 1 and 2, with aligned entries. */
int32_t zp_diff_is_partial(const zp_diff *t);

/* The dtype of an entry's gradient. RED-1 */
int32_t zp_diff_grad_dtype(const zp_diff *t, int32_t param);
/* The gradient of an entry that backward writes, and its size. */
int64_t zp_diff_grad_bytes(const zp_diff_rank *w, int32_t param);
void *zp_diff_grad(const zp_diff_rank *w, int32_t param, int64_t mb);

/* In forward: declares half of the micro-batch's unused entries, if the schedule says so. */
int zp_announce_unused(zp_diff_rank *w, const zp_cuda_call *call);
/* The next micro-batch's producer streams, from here on after the event `made`. */
int zp_announcer_begin(zp_diff_rank *w);
/* Chooses the order of the next announcements; host k's share of them. */
void zp_announce_shuffle(zp_diff_rank *w);
int zp_announce_share(zp_diff_rank *w, int32_t k);

#endif
