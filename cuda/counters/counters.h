/* Counts what a training step of the CUDA engine accesses, launches, calls and allocates
 * (ref/verify/counters.h).
 *
 * All ranks run on simdev, in the order in which items are issued, with every choice of CUDA and
 * NCCL that simdev's seed would make fixed, so that the counts are those of the program. The
 * caller is the simplest one: its gradients lie in buffers of their own, and backward announces
 * them in backward order on the compute stream, without work of its own. Three steps run; the last
 * one is counted. cuda/simdev/accesses counts the bytes. */
#ifndef ZP_CUDA_COUNTERS_H
#define ZP_CUDA_COUNTERS_H

#include "../../ref/plan/layout.h"
#include "../../ref/verify/counters.h"

/* 0, or a negative status in *err. */
int zp_cuda_counters(const zp_counters_job *job, zp_counters *counted, zp_error *err);

/* Bytes per parameter of the least traffic of the engine's own work; -1: not known, with offload,
 * tensor or expert parallelism, replicas, tied or frozen parameters, or without parameters. */
double zp_counters_ideal(const zp_counters_job *job);

/* The goal of a rank's memory, by goal.c, without `rank` and `used`. own: the configuration of the
 * rank's layout; early: bytes for gradients that come before their turn. */
zp_count_goal zp_counters_goal(const zp_counters_job *job, const zp_config *own,
                               const zp_layout *lay, int64_t early);

#endif
