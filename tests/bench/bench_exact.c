/* What an exact norm costs: throughput of the exact sums of squares beside a plain read of the same
 * memory, a naive fp32 loop and OpenBLAS, on one core and on all.
 *
 * Medians of interleaved rounds: each round runs every contender once, so that a change of clock
 * or a noisy neighbour touches all of them alike. Arrays are larger than the last-level cache.
 * Usage: bench_exact [--json] [--rounds N] [--mib N] [--threads N]
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../ref/num/norm.h"
#include "../../ref/num/simd/fast.h"

/* from OpenBLAS; its headers are not needed for two functions */
float cblas_snrm2(int n, const float *x, int stride);
void openblas_set_num_threads(int threads);

enum { ROUNDS_MAX = 101, THREADS_MAX = 64 };
enum { DATA_F32, DATA_BF16, DATA_F32_WIDE, DATA_BF16_WIDE, DATAS };
enum { READ, NAIVE, BLAS, PLAIN, FAST_AVX2, FAST, READ_ALL, BLAS_ALL, FAST_ALL, CONTENDERS };

static const char *const data_name[DATAS] = {
  "fp32 normal", "bf16 normal", "fp32 wide", "bf16 wide",
};
static const char *const name[CONTENDERS] = {
  "plain read, 1 core", "naive fp32 loop", "OpenBLAS snrm2, 1 core", "exact, plain (proven)",
  "exact, AVX2", "exact, fast", "plain read, all cores", "OpenBLAS snrm2, all cores",
  "exact, fast, all cores",
};

typedef struct input {
  const void *x;
  int64_t n, bytes;
  int data, threads;
} input;

static double seconds(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* the read that every norm has to do at least: the compiler vectorises this sum */
static uint64_t read_sum(const uint64_t *x, int64_t n)
{
  uint64_t s = 0;
  for (int64_t i = 0; i < n; i++) s += x[i];
  return s;
}

typedef struct read_job {
  const uint64_t *x;
  int64_t n;
  uint64_t sum;
} read_job;

static void *run_read(void *arg)
{
  read_job *job = arg;
  job->sum = read_sum(job->x, job->n);
  return 0;
}

static uint64_t read_all(const uint64_t *x, int64_t n, int threads)
{
  read_job job[THREADS_MAX];
  pthread_t thread[THREADS_MAX];
  uint64_t sum = 0;
  int started[THREADS_MAX] = { 0 };
  for (int t = 0; t < threads; t++) {
    job[t].x = x + n / threads * t;
    job[t].n = n / threads;
    if (t > 0) started[t] = pthread_create(&thread[t], 0, run_read, &job[t]) == 0;
  }
  for (int t = 0; t < threads; t++) {
    if (started[t]) pthread_join(thread[t], 0);
    else run_read(&job[t]);
    sum += job[t].sum;
  }
  return sum;
}

static float naive_f32(const float *x, int64_t n)
{
  float s = 0;
  for (int64_t i = 0; i < n; i++) s += x[i] * x[i];
  return s;
}

static float naive_bf16(const uint16_t *x, int64_t n)
{
  float s = 0;
  for (int64_t i = 0; i < n; i++) {
    uint32_t u = (uint32_t)x[i] << 16;
    float f;
    memcpy(&f, &u, sizeof f);
    s += f * f;
  }
  return s;
}

static int64_t exact_sum(int who, const input *in)
{
  zp_sumsq s;
  int64_t limb[ZP_SQ_LIMBS];
  int bf16 = in->data == DATA_BF16 || in->data == DATA_BF16_WIDE;
  zp_sumsq_clear(&s);
  if (bf16) {
    if (who == PLAIN) zp_sumsq_add_bf16(&s, in->x, in->n);
    if (who == FAST_AVX2) zp_sumsq_add_bf16_level(ZP_SIMD_AVX2, &s, in->x, in->n);
    if (who == FAST) zp_sumsq_add_bf16_fast(&s, in->x, in->n);
    if (who == FAST_ALL) zp_sumsq_add_bf16_mt(&s, in->x, in->n, in->threads);
  } else {
    if (who == PLAIN) zp_sumsq_add_f32(&s, in->x, in->n);
    if (who == FAST_AVX2) zp_sumsq_add_f32_level(ZP_SIMD_AVX2, &s, in->x, in->n);
    if (who == FAST) zp_sumsq_add_f32_fast(&s, in->x, in->n);
    if (who == FAST_ALL) zp_sumsq_add_f32_mt(&s, in->x, in->n, in->threads);
  }
  zp_sumsq_limbs(&s, limb);
  return (int64_t)zp_norm_f64(limb);
}

/* Seconds of one run; the result goes through a volatile so that it is computed. -1: no contest. */
static double run_one(int who, const input *in)
{
  static volatile int64_t sink;
  int bf16 = in->data == DATA_BF16 || in->data == DATA_BF16_WIDE;
  if (bf16 && (who == BLAS || who == BLAS_ALL)) return -1;
  if (who == BLAS) openblas_set_num_threads(1);
  if (who == BLAS_ALL) openblas_set_num_threads(in->threads);
  double start = seconds();
  switch (who) {
  case READ: sink = (int64_t)read_sum(in->x, in->bytes / 8); break;
  case READ_ALL: sink = (int64_t)read_all(in->x, in->bytes / 8, in->threads); break;
  case NAIVE: sink = (int64_t)(bf16 ? naive_bf16(in->x, in->n) : naive_f32(in->x, in->n)); break;
  case BLAS:
  case BLAS_ALL: sink = (int64_t)cblas_snrm2((int)in->n, in->x, 1); break;
  default: sink = exact_sum(who, in);
  }
  (void)sink;
  return seconds() - start;
}

/* Approximately normal values (sum of uniforms) or uniform exponents over the whole format. */
static void fill(void *to, const input *in)
{
  uint64_t state = 88172645463325252u;
  float *f = to;
  uint16_t *h = to;
  for (int64_t i = 0; i < in->n; i++) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    float a = (float)(int32_t)(state & 0xffff) + (float)(int32_t)(state >> 16 & 0xffff) +
              (float)(int32_t)(state >> 32 & 0xffff) - (float)(int32_t)(state >> 48) - 65536.0f;
    float v = a * 1e-7f + (float)(state >> 20 & 0xfff) * 1e-11f;
    uint32_t u;
    memcpy(&u, &v, sizeof u);
    if (in->data == DATA_F32_WIDE || in->data == DATA_BF16_WIDE) {
      u = (uint32_t)(state & 0x807fffffu) | (uint32_t)(state >> 33) % 255u << 23;
    }
    if (in->data == DATA_BF16 || in->data == DATA_BF16_WIDE) h[i] = (uint16_t)(u >> 16);
    else memcpy(&f[i], &u, sizeof u);
  }
}

static int by_value(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void report(int json, const input *in, const double *median)
{
  double one = median[READ], all = median[READ_ALL], naive = median[NAIVE];
  if (!json) {
    printf("\n%s, %ld elements, %ld MiB\n%-27s %8s %8s %8s %8s\n", data_name[in->data], (long)in->n,
           (long)(in->bytes >> 20), "", "GB/s", "ns/elem", "x read", "x naive");
  }
  for (int who = 0; who < CONTENDERS; who++) {
    if (median[who] < 0) continue;
    double gbs = (double)in->bytes / median[who] * 1e-9, ns = median[who] / (double)in->n * 1e9;
    double read = (who >= READ_ALL ? all : one) / median[who];
    if (json) {
      printf("{\"data\":\"%s\",\"contender\":\"%s\",\"gb_per_s\":%.3f,\"ns_per_element\":%.4f,"
             "\"times_read\":%.3f,\"times_naive\":%.3f,\"bytes\":%ld,\"threads\":%d}\n",
             data_name[in->data], name[who], gbs, ns, read, naive / median[who], (long)in->bytes,
             who >= READ_ALL ? in->threads : 1);
    } else {
      printf("%-27s %8.2f %8.3f %8.2f %8.2f\n", name[who], gbs, ns, read, naive / median[who]);
    }
  }
}

static int bench_data(int data, int64_t bytes, int rounds, int threads, int json)
{
  static double time[CONTENDERS][ROUNDS_MAX];
  double median[CONTENDERS];
  int bf16 = data == DATA_BF16 || data == DATA_BF16_WIDE;
  void *x = malloc((size_t)bytes);
  if (!x) return 1;
  input in = { x, bytes / (bf16 ? 2 : 4), bytes, data, threads };
  fill(x, &in);
  for (int round = -1; round < rounds; round++) { /* the first is a warm-up */
    for (int who = 0; who < CONTENDERS; who++) {
      double t = run_one(who, &in);
      if (round >= 0) time[who][round] = t;
    }
  }
  for (int who = 0; who < CONTENDERS; who++) {
    qsort(time[who], (size_t)rounds, sizeof time[who][0], by_value);
    median[who] = time[who][rounds / 2];
  }
  report(json, &in, median);
  free(x);
  return 0;
}

int main(int argc, char **argv)
{
  int json = 0, rounds = 7, threads = (int)sysconf(_SC_NPROCESSORS_ONLN);
  int64_t mib = 192;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--json") == 0) json = 1;
    else if (i + 1 < argc && strcmp(argv[i], "--rounds") == 0) rounds = atoi(argv[++i]);
    else if (i + 1 < argc && strcmp(argv[i], "--mib") == 0) mib = atol(argv[++i]);
    else if (i + 1 < argc && strcmp(argv[i], "--threads") == 0) threads = atoi(argv[++i]);
    else rounds = 0; /* refused below */
  }
  if (rounds < 1 || rounds > ROUNDS_MAX || mib < 1 || mib > 4096 || threads < 1 ||
      threads > THREADS_MAX) {
    fprintf(stderr, "usage: bench_exact [--json] [--rounds N] [--mib N] [--threads N]\n"
                    "N from 1 to %d, 4096, %d\n", ROUNDS_MAX, THREADS_MAX);
    return 2;
  }
  for (int data = 0; data < DATAS; data++) {
    if (bench_data(data, mib << 20, rounds, threads, json)) return 1;
  }
  return 0;
}
