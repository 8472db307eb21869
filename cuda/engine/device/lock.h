/* The lock that every call holds, and the threads behind it: the options' own, or POSIX threads. */
#ifndef ZP_CUDA_LOCK_H
#define ZP_CUDA_LOCK_H

#include "../engine.h"

typedef struct zp_cuda_posix zp_cuda_posix;

typedef struct zp_cuda_lock {
  zp_cuda_threads threads;
  zp_cuda_posix *posix; /* NULL: the threads are the options' */
} zp_cuda_lock;

/* threads: NULL: POSIX threads. 0, or -1 without memory. */
int zp_cuda_lock_open(zp_cuda_lock *l, const zp_cuda_threads *threads);
void zp_cuda_lock_close(zp_cuda_lock *l);
void zp_cuda_lock_take(const zp_cuda_lock *l);
void zp_cuda_lock_release(const zp_cuda_lock *l);

/* 0, or ZP_E_INTERNAL in *err. */
int zp_cuda_lock_invariant(const zp_cuda_lock *l, zp_error *err);

#endif
