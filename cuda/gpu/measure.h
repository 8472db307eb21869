/* Measures one kernel after another against a plain read or copy of the same bytes. For
 * kernel_bench. */
#ifndef ZP_CUDA_MEASURE_H
#define ZP_CUDA_MEASURE_H
#include <cuda_runtime_api.h>
#include <stdint.h>

#include "../kernels/kernels.h"

/* Limits, and sizes of arrays. BLOCKS: those of the probe. SUMS: measurements of sums of squares
 * with each number of tensors. BUCKETS: launches of a job. */
enum {
  ZP_BENCH_REPETITIONS = 64,
  ZP_BENCH_TENSORS = 1000,
  ZP_BENCH_ARRAYS = 8,
  ZP_BENCH_BLOCKS = 132 * 16,
  ZP_BENCH_SUMS = 5,
  ZP_BENCH_BUCKETS = 64
};

/* Memory: arrays of n fp32; a table of runs; at least the size of L2, which is read before each
 * measurement. */
typedef struct zp_bench {
  int64_t n, bucket; /* bucket: elements of each launch of a step's norm */
  int repetitions;
  char *array[ZP_BENCH_ARRAYS], *flush, *small;
  size_t flush_bytes;
  zp_memory_run *table, *runs; /* device, host */
  cudaStream_t stream;
  cudaEvent_t begin, end;
  int64_t squares[ZP_BENCH_SUMS][ZP_SQ_LIMBS]; /* with one tensor */
  int sums;
  uint32_t grid; /* the largest number of blocks; 0: as in a step */
} zp_bench;

/* One measurement. */
typedef struct zp_bench_job {
  const char *name, *dtype, *data;
  int tensors;
  int64_t elements;
  const void *kernel; /* NULL: CUDA's copy */
  zp_launch l;
  void *params;
  int launches; /* 0: one; else each with its own of the params, params_bytes apart */
  size_t params_bytes;
  int64_t read, write; /* bytes that must be transferred */
  int norm;            /* 1: followed by the kernel that makes a norm of squares */
} zp_bench_job;

/* n and repetitions are set, the rest is zero. 0, or -1: no device, or no memory; close it
 * anyway. */
int zp_bench_open(zp_bench *b);
void zp_bench_close(zp_bench *b);

/* Prints CUDA's last error, and returns -1. */
int zp_bench_failed(const char *what);

/* 0, or a CUDA error. */
int zp_bench_launch(const zp_bench *b, const void *kernel, zp_launch l, void *params);

/* Prints a line of JSON: the median time of the job, and that of a probe that reads and writes the
 * same number of bytes. 0, or -1: a call failed. */
int zp_bench_measure(zp_bench *b, const zp_bench_job *j);

#endif
