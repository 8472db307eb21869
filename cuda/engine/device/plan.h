/* What one rank executes: its coordinate, its stage's layout, its programs. spec: LEDG-1 */
#ifndef ZP_CUDA_PLAN_H
#define ZP_CUDA_PLAN_H

#include "../../../ref/base/error.h"
#include "../../../ref/comm/block.h"

/* What the configuration does not say; as in zp_hyper, with replicas at least 1. */
typedef struct zp_cuda_plan_how {
  int32_t replicas, fp32_gradients, slots;
  int64_t entry_align;
} zp_cuda_plan_how;

/* Nothing of it changes after opening. */
typedef struct zp_cuda_plan {
  const zp_config *cfg; /* of the job, as `at` */
  zp_coord at;
  zp_block_rank block;
  zp_layout lay; /* of block.cfg */
  zp_op *program[ZP_PHASES];
  int64_t length[ZP_PHASES];
  int32_t slots;    /* stage 2: bucket slots, which the ops of a step number; else 0 */
  uint8_t *needed;  /* [length of a step] 1: some stream waits for the op's record, or may */
  uint8_t *is_last; /* [length of a step] 1: a bucket's last sum; its mean follows (STEP-2) */
  int64_t *last;    /* [length of a step] of a mean: the last op before it in its bucket, or -1 */
  int64_t *mean;    /* [lay.n_flats] the position of bucket 0's mean in the step, or -1 */
  uint8_t *counted; /* [lay.n_params] 1: ranks of block 0 count the entry's squares here (STAT-2) */
  uint8_t *partial; /* [lay.n_params] 1: its gradient is summed over tp (RED-8) */
} zp_cuda_plan;

/* cfg is valid, can have the replicas and the entry alignment of `how`, and outlives the plan; *p
 * is zeroed. 0, or -1 without memory. */
int zp_cuda_plan_open(zp_cuda_plan *p, const zp_config *cfg, zp_cuda_plan_how how, int32_t rank);
void zp_cuda_plan_close(zp_cuda_plan *p);

/* 0, or ZP_E_INTERNAL in *err. */
int zp_cuda_plan_invariant(const zp_cuda_plan *p, zp_error *err);

/* The flat size of the stage's entry i. spec: PART-2 */
int64_t zp_cuda_flat_size(const zp_cuda_plan *p, int32_t i);

/* Bytes of a value of the stage's entry i, which may be frozen. spec: PART-2 */
int64_t zp_cuda_entry_bytes(const zp_cuda_plan *p, int32_t i);

/* Of flat group k: the dtype of values, bytes of one, and the dtype of gradients. spec: PART-2,
 * RED-1 */
int32_t zp_cuda_value_dtype(const zp_cuda_plan *p, int32_t k);
int64_t zp_cuda_value_bytes(const zp_cuda_plan *p, int32_t k);
int32_t zp_cuda_gradient_dtype(const zp_cuda_plan *p, int32_t k);

/* D·M, by which sums are divided. RED-2 */
int64_t zp_cuda_divisor(const zp_cuda_plan *p);

/* Bytes of a partial sum that the rank keeps of flat group k. */
int64_t zp_cuda_sum_bytes(const zp_cuda_plan *p, int32_t k);

/* Partial sum number `at` of an array of them, of flat group k: fp32, limbs, or packed, where it is
 * the first that the rank holds of a bucket. */
char *zp_cuda_sum(const zp_cuda_plan *p, int32_t k, void *sums, int64_t at);

#endif
