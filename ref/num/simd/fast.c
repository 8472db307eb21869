#include "fast.h"

#include <pthread.h>
#include <string.h>

#include "kernel.h"

/* One range to sum: what a thread is given. level, elem: ZP_SIMD_*, ZP_ELEM_*. */
typedef struct range_job {
  zp_sumsq sum;
  const char *x;
  int64_t n, bad;
  int level, elem;
} range_job;

int zp_simd_level(void)
{
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return ZP_SIMD_PLAIN;
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512dq") ||
      !__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vl")) {
    return ZP_SIMD_AVX2;
  }
  return ZP_SIMD_AVX512;
#else
  return ZP_SIMD_PLAIN;
#endif
}

/* limb += what the bins hold; they have to be cleared before they are used again. */
static void empty_bins(zp_bins *b, int64_t *limb)
{
  if (b->held <= 0) return;
  for (int e = 0; e < ZP_BINS - 1; e++) {
    uint64_t low = 0, high = 0;
    for (int c = 0; c < ZP_BIN_COPIES; c++) {
      low += b->bin[c][e] & 0xffffffffu;
      high += b->bin[c][e] >> 32;
    }
    int bit = e == 0 ? 0 : 2 * (e - 1);
    zp_add_at(limb, (int64_t)low, bit);
    zp_add_at(limb, (int64_t)high, bit + 32);
  }
  b->held = -1;
}

/* The plain, proven functions for a range of any type. */
static int64_t add_plain(zp_sumsq *s, int elem, const char *x, int64_t n)
{
  const void *v = x;
  if (elem == ZP_ELEM_F32) return zp_sumsq_add_f32(s, v, n);
  return elem == ZP_ELEM_BF16 ? zp_sumsq_add_bf16(s, v, n) : zp_sumsq_add_f16(s, v, n);
}

/* Adds n elements, a multiple of ZP_LANE_STEP, window by window, and in bins where none fits. */
static int64_t add_blocks(zp_sumsq *s, int level, int elem, const char *x, int64_t n)
{
  int64_t limb[ZP_SQ_LIMBS] = { 0 }, bad = 0, size = elem == ZP_ELEM_F32 ? 4 : 2;
  int64_t normalise_at = (int64_t)1 << 36; /* elements: under 2^30 additions to a limb */
  zp_bins b;
  b.held = -1;
  for (int64_t done = 0; done < n;) {
    int64_t most = n - done < normalise_at ? n - done : normalise_at;
    const char *at = x + size * done;
    done += level == ZP_SIMD_AVX512 ? zp_window_avx512(limb, elem, at, most)
                                    : zp_window_avx2(limb, elem, at, most);
    at = x + size * done;
    int64_t block = n - done < ZP_BLOCK ? n - done : ZP_BLOCK;
    if (n < ZP_BLOCK) { /* too little to pay for clearing and emptying bins */
      bad += add_plain(s, elem, at, block);
    } else if (block > 0) {
      if (b.held < 0) memset(&b, 0, sizeof b);
      bad += level == ZP_SIMD_AVX512 ? zp_bins_avx512(&b, elem, at, block, n - done - block)
                                     : zp_bins_avx2(&b, elem, at, block, n - done - block);
      b.held += ZP_BLOCK / ZP_BIN_COPIES;
      if (b.held > ZP_BIN_CAPACITY - ZP_BLOCK / ZP_BIN_COPIES) empty_bins(&b, limb);
    }
    done += block;
    zp_limbs_normalise(limb, ZP_SQ_LIMBS);
  }
  empty_bins(&b, limb);
  zp_limbs_merge(s->limb, limb, ZP_SQ_LIMBS);
  zp_limbs_normalise(s->limb, ZP_SQ_LIMBS);
  return bad;
}

static int64_t add_level(int level, zp_sumsq *s, int elem, const char *x, int64_t n)
{
  int64_t whole = n - n % ZP_LANE_STEP, size = elem == ZP_ELEM_F32 ? 4 : 2, bad = 0;
  int have = zp_simd_level();
  if (level > have) level = have;
  if (level == ZP_SIMD_PLAIN || n < 2 * ZP_LANE_STEP) return add_plain(s, elem, x, n);
  bad += add_blocks(s, level, elem, x, whole);
  return bad + add_plain(s, elem, x + size * whole, n - whole);
}

static void *run_job(void *arg)
{
  range_job *job = arg;
  zp_sumsq_clear(&job->sum);
  job->bad = add_level(job->level, &job->sum, job->elem, job->x, job->n);
  return 0;
}

/* Cuts x into one range per thread and adds up the threads' limbs. */
static int64_t add_threads(zp_sumsq *s, int elem, const char *x, int64_t n, int threads)
{
  enum { THREADS_MAX = 64 };
  range_job job[THREADS_MAX];
  pthread_t thread[THREADS_MAX];
  int started[THREADS_MAX] = { 0 };
  int64_t per_thread_min = 65536; /* a thread costs as much as summing about this many */
  if (threads > THREADS_MAX) threads = THREADS_MAX;
  if (threads > n / per_thread_min) threads = (int)(n / per_thread_min);
  if (threads <= 1) return add_level(ZP_SIMD_AVX512, s, elem, x, n);
  int64_t size = elem == ZP_ELEM_F32 ? 4 : 2, share = n / threads / ZP_BLOCK * ZP_BLOCK;
  for (int t = 0; t < threads; t++) {
    job[t].level = ZP_SIMD_AVX512;
    job[t].elem = elem;
    job[t].x = x + size * share * t;
    job[t].n = t == threads - 1 ? n - share * t : share;
    if (t > 0) started[t] = pthread_create(&thread[t], 0, run_job, &job[t]) == 0;
  }
  int64_t bad = 0;
  for (int t = 0; t < threads; t++) {
    int64_t limb[ZP_SQ_LIMBS];
    if (started[t]) (void)pthread_join(thread[t], 0);
    else run_job(&job[t]);
    bad += job[t].bad;
    zp_sumsq_limbs(&job[t].sum, limb);
    zp_limbs_merge(s->limb, limb, ZP_SQ_LIMBS);
  }
  zp_limbs_normalise(s->limb, ZP_SQ_LIMBS);
  return bad;
}

int64_t zp_sumsq_add_f32_level(int level, zp_sumsq *s, const uint32_t *x, int64_t n)
{
  return add_level(level, s, ZP_ELEM_F32, (const char *)x, n);
}

int64_t zp_sumsq_add_bf16_level(int level, zp_sumsq *s, const uint16_t *x, int64_t n)
{
  return add_level(level, s, ZP_ELEM_BF16, (const char *)x, n);
}

int64_t zp_sumsq_add_f16_level(int level, zp_sumsq *s, const uint16_t *x, int64_t n)
{
  return add_level(level, s, ZP_ELEM_F16, (const char *)x, n);
}

int64_t zp_sumsq_add_f32_fast(zp_sumsq *s, const uint32_t *x, int64_t n)
{
  return add_level(ZP_SIMD_AVX512, s, ZP_ELEM_F32, (const char *)x, n);
}

int64_t zp_sumsq_add_bf16_fast(zp_sumsq *s, const uint16_t *x, int64_t n)
{
  return add_level(ZP_SIMD_AVX512, s, ZP_ELEM_BF16, (const char *)x, n);
}

int64_t zp_sumsq_add_f16_fast(zp_sumsq *s, const uint16_t *x, int64_t n)
{
  return add_level(ZP_SIMD_AVX512, s, ZP_ELEM_F16, (const char *)x, n);
}

int64_t zp_sumsq_add_f32_mt(zp_sumsq *s, const uint32_t *x, int64_t n, int threads)
{
  return add_threads(s, ZP_ELEM_F32, (const char *)x, n, threads);
}

int64_t zp_sumsq_add_bf16_mt(zp_sumsq *s, const uint16_t *x, int64_t n, int threads)
{
  return add_threads(s, ZP_ELEM_BF16, (const char *)x, n, threads);
}

int64_t zp_sumsq_add_f16_mt(zp_sumsq *s, const uint16_t *x, int64_t n, int threads)
{
  return add_threads(s, ZP_ELEM_F16, (const char *)x, n, threads);
}
