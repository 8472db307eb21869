/* What an exact norm costs: throughput of the exact sums of squares beside a plain read of the same
 * memory, a naive fp32 loop and OpenBLAS, on one core and on all.
 *
 * Interleaved rounds: each round runs every contender once, so that a change of clock or a noisy
 * neighbour touches all of them alike. Times are medians; ratios to a read are medians of the
 * ratios within a round. Arrays are larger than the last-level cache. Exit status 0 whether or not
 * targets are met: those are for machines without other work.
 * Usage: bench_exact [--json] [--rounds N] [--mib N] [--threads N]
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../ref/base/clock.h"
#include "../../ref/num/norm.h"
#include "../../ref/num/simd/fast.h"

/* from OpenBLAS; its headers are not needed for two functions */
float cblas_snrm2(int n, const float *x, int stride);
void openblas_set_num_threads(int threads);

enum { ROUNDS_MAX = 101, THREADS_MAX = 64 };
enum { NORMAL, OUTLIERS, WIDE, KINDS };
enum { READ, NAIVE, BLAS, PLAIN, FAST_AVX2, FAST, READ_ALL, BLAS_ALL, FAST_ALL, CONTENDERS };

static const char *const kind_name[KINDS] = {"normal", "normal, 1 % outliers", "all exponents"};
static const char *const name[CONTENDERS] = {
    "plain read",
    "naive fp32 loop",
    "OpenBLAS snrm2",
    "exact, plain",
    "exact, AVX2",
    "exact, fast",
    "plain read, all cores",
    "OpenBLAS snrm2, all cores",
    "exact, fast, all cores",
};

/* What we want. On all cores the memory is the limit, on one the arithmetic. Data with exponents
 * from end to end does not occur in training, but it must not be a way to stall it. */
static const double ALL_CORES_OF_READ = 0.8; /* normal data */
static const double FAST_OF_READ = 0.5;      /* any data, one core */
static const double FAST_OF_NAIVE = 2.0;     /* any data, of the naive loop on normal data */

typedef struct input {
  const void *x;
  int64_t n, bytes;
  int bf16, kind, threads;
} input;

/* naive: seconds of the naive loop on normal data of this type */
typedef struct result {
  double median[CONTENDERS], of_read[CONTENDERS], naive;
} result;

/* The read that every norm has to do at least, in the widest vectors of the CPU: with the narrow
 * loads that a plain loop is compiled to, fewer cache lines are in flight, and it takes 1.5 times
 * as long. READ_STEP: words added per turn, in independent sums.
 */
enum { READ_STEP = 32 };
#if defined(__x86_64__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
static uint64_t
read_sum(const uint64_t *x, int64_t n)
{
  uint64_t part[READ_STEP] = {0}, s = 0;
  int64_t i = 0;
  for (; i + READ_STEP <= n; i += READ_STEP) {
    for (int j = 0; j < READ_STEP; j++) part[j] += x[i + j];
  }
  for (; i < n; i++) s += x[i];
  for (int j = 0; j < READ_STEP; j++) s += part[j];
  return s;
}

/* Threads take chunks in turn, as in the exact sum. */
typedef struct read_job {
  const uint64_t *x;
  int64_t n, chunk;
  atomic_int_fast64_t next;
  atomic_uint_fast64_t sum;
} read_job;

static void *run_read(void *arg)
{
  read_job *job = arg;
  uint64_t sum = 0;
  for (;;) {
    int64_t from = atomic_fetch_add(&job->next, job->chunk);
    if (from >= job->n) break;
    sum += read_sum(job->x + from, job->n - from < job->chunk ? job->n - from : job->chunk);
  }
  atomic_fetch_add(&job->sum, sum);
  return 0;
}

static uint64_t read_all(const uint64_t *x, int64_t n, int threads)
{
  read_job job = {x, n, n / threads / 16 + 1, 0, 0};
  pthread_t thread[THREADS_MAX];
  int started[THREADS_MAX] = {0};
  for (int t = 1; t < threads; t++) {
    started[t] = pthread_create(&thread[t], 0, run_read, &job) == 0;
  }
  run_read(&job);
  for (int t = 1; t < threads; t++) {
    if (started[t]) pthread_join(thread[t], 0);
  }
  return job.sum;
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
  zp_sumsq_clear(&s);
  if (in->bf16) {
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
  int bf16 = in->bf16;
  if (bf16 && (who == BLAS || who == BLAS_ALL)) return -1;
  if (who == BLAS) openblas_set_num_threads(1);
  if (who == BLAS_ALL) openblas_set_num_threads(in->threads);
  double start = zp_clock_s();
  switch (who) {
  case READ: sink = (int64_t)read_sum(in->x, in->bytes / 8); break;
  case READ_ALL: sink = (int64_t)read_all(in->x, in->bytes / 8, in->threads); break;
  case NAIVE: sink = (int64_t)(bf16 ? naive_bf16(in->x, in->n) : naive_f32(in->x, in->n)); break;
  case BLAS:
  case BLAS_ALL: sink = (int64_t)cblas_snrm2((int)in->n, in->x, 1); break;
  default: sink = exact_sum(who, in);
  }
  (void)sink;
  return zp_clock_s() - start;
}

/* Approximately normal values (sum of uniforms), the same with one in 100 of any exponent, or all
 * of any exponent, infinities and NaN excepted. */
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
    if (in->kind == WIDE || (in->kind == OUTLIERS && state % 100 == 7)) {
      u = (uint32_t)(state & 0x807fffffu) | (uint32_t)(state >> 33) % 255u << 23;
    }
    if (in->bf16) h[i] = (uint16_t)(u >> 16);
    else memcpy(&f[i], &u, sizeof u);
  }
}

static int by_value(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median_of(double *v, int n)
{
  qsort(v, (size_t)n, sizeof *v, by_value);
  return v[n / 2];
}

static const char *met(double have, double want)
{
  return have >= want ? "met" : "missed";
}

/* Writes which targets there are and whether they are met, or "". */
static void verdict(int who, const input *in, const result *r, char *to, size_t room)
{
  double of_read = r->of_read[who], of_naive = r->naive / r->median[who];
  to[0] = 0;
  if (who == FAST_ALL && in->kind == NORMAL) {
    snprintf(to, room, "%.1f x read %s", ALL_CORES_OF_READ, met(of_read, ALL_CORES_OF_READ));
  }
  if (who == FAST) {
    snprintf(to, room, "%.1f x read %s, %.0f x naive %s", FAST_OF_READ, met(of_read, FAST_OF_READ),
             FAST_OF_NAIVE, met(of_naive, FAST_OF_NAIVE));
  }
}

static void report(int json, const input *in, const result *r)
{
  const char *type = in->bf16 ? "bf16" : "fp32";
  for (int who = 0; who < CONTENDERS; who++) {
    double t = r->median[who], gbs = (double)in->bytes / t * 1e-9, ns = t / (double)in->n * 1e9;
    double of_naive = r->naive / t;
    char target[64];
    if (t < 0) continue;
    verdict(who, in, r, target, sizeof target);
    if (json) {
      printf("{\"type\":\"%s\",\"data\":\"%s\",\"contender\":\"%s\",\"gb_per_s\":%.3f,"
             "\"ns_per_element\":%.4f,\"times_read\":%.3f,\"times_naive_on_normal\":%.3f,"
             "\"bytes\":%ld,\"threads\":%d,\"target\":\"%s\"}\n",
             type, kind_name[in->kind], name[who], gbs, ns, r->of_read[who], of_naive,
             (long)in->bytes, who >= READ_ALL ? in->threads : 1, target);
    } else {
      printf("%-4s %-20s %-25s %6.2f %7.3f %6.2f %7.2f  %s\n", type, kind_name[in->kind], name[who],
             gbs, ns, r->of_read[who], of_naive, target);
    }
  }
}

/* naive: in and out, as in `result`; set by the normal data, which comes first. */
static int bench_data(int bf16, int kind, int64_t bytes, int rounds, int threads, int json,
                      double *naive)
{
  static double time[CONTENDERS][ROUNDS_MAX], ratio[ROUNDS_MAX];
  result r;
  void *x = malloc((size_t)bytes);
  if (!x) return 1;
  input in = {x, bytes / (bf16 ? 2 : 4), bytes, bf16, kind, threads};
  fill(x, &in);
  for (int round = -1; round < rounds; round++) { /* the first is a warm-up */
    for (int who = 0; who < CONTENDERS; who++) {
      double t = run_one(who, &in);
      if (round >= 0) time[who][round] = t;
    }
  }
  for (int who = CONTENDERS - 1; who >= 0; who--) { /* reads last: median_of sorts */
    const double *read = time[who >= READ_ALL ? READ_ALL : READ];
    for (int i = 0; i < rounds; i++) ratio[i] = read[i] / time[who][i];
    r.of_read[who] = median_of(ratio, rounds);
    r.median[who] = median_of(time[who], rounds);
  }
  if (kind == NORMAL) *naive = r.median[NAIVE];
  r.naive = *naive;
  report(json, &in, &r);
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
    fprintf(stderr,
            "usage: bench_exact [--json] [--rounds N] [--mib N] [--threads N]\n"
            "N from 1 to %d, 4096, %d\n",
            ROUNDS_MAX, THREADS_MAX);
    return 2;
  }
  if (!json) {
    printf("%ld MiB a data set, %d threads on all cores, %d rounds\n", (long)mib, threads, rounds);
    printf("%-4s %-20s %-25s %6s %7s %6s %7s  %s\n", "", "data", "", "GB/s", "ns/elem", "x read",
           "x naive", "target");
  }
  for (int set = 0; set < 2 * KINDS; set++) {
    static double naive;
    if (bench_data(set / KINDS, set % KINDS, mib << 20, rounds, threads, json, &naive)) return 1;
  }
  return 0;
}
