/* The update's levels and threads. spec: RED-4, STEP-6, STEP-7, OPT-3, OPT-4 */
#include <fenv.h>
#include <stdatomic.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "../../ref/num/simd/fast.h"
#include "../kernels/statistics.h"
#include "../kernels/update.h"
#include "update_internal.h"

/* CHUNK: the elements that a thread takes at a time: 128 KiB of each array, which is long compared
 * with the start of a prefetcher, and short compared with a shard. A multiple of all vector
 * lengths, so that chunks keep the arrays' alignment. PLAIN_CHUNK: the elements that the code
 * without vectors updates before it rounds them, while they are in the cache. */
enum { CHUNK = 32768, PLAIN_CHUNK = 2048, THREADS_MAX = 256 };

/* ---- One range ------------------------------------------------------------------------------- */

/* Means of at most PLAIN_CHUNK sums: by the proven source, ref/num/ordered.c, compiled here again;
 * or multiplied (zp_host_inverse), which adds 3 % to an AdamW step instead of 25 %. Returns where
 * they are. */
static const float *means(const zp_host_update *u, const float *sum, int64_t n, float *mean)
{
  const float inverse = zp_host_inverse(u->divisor);
  if (u->divisor == 0) return sum;
  if (inverse == 0) zp_ordered_mean_f32(mean, sum, u->divisor, n);
  else
    for (int64_t i = 0; i < n; i++) mean[i] = sum[i] * inverse;
  return mean;
}

/* The proven source, ref/num/optim.c, compiled here again. At most PLAIN_CHUNK elements. */
static void step_plain(const zp_host_update *u, int64_t from, int64_t to)
{
  const int32_t rule = u->group->rule;
  const int64_t n = to - from;
  float mean[PLAIN_CHUNK];
  const float *grad = means(u, u->grad + from, n, mean);
  step_scalars k;
  memcpy(&k, u->group->scalar, sizeof k);
  if (rule == ZP_RULE_ADAMW) adamw_elements(k, n, grad, u->master + from, u->m + from, u->v + from);
  else if (rule == ZP_RULE_MOMENTUM) sgd_momentum(k, n, grad, u->master + from, u->m + from);
  else sgd_plain(k, n, grad, u->master + from);
}

static void round_plain(const zp_host_update *u, int64_t from, int64_t to)
{
  if (!u->out) return;
  for (int64_t i = from; i < to; i++) zp_store_rounded(u->dtype, u->out, i, u->master[i]);
}

static void update_plain(const zp_host_update *u, int64_t from, int64_t to)
{
  for (int64_t i = from; i < to; i += PLAIN_CHUNK) {
    const int64_t end = to - i < PLAIN_CHUNK ? to : i + PLAIN_CHUNK;
    step_plain(u, i, end);
    round_plain(u, i, end);
  }
}

/* Elements from … to - 1: whole vectors, then the remaining elements one by one. */
static void update_range(int level, const zp_host_update *u, int64_t from, int64_t to)
{
  const int64_t real = u->real < from ? from : u->real < to ? u->real : to;
  int64_t i = from;
  if (level == ZP_SIMD_AVX512) i = zp_host_step_avx512(u, i, real);
  else if (level == ZP_SIMD_AVX2) i = zp_host_step_avx2(u, i, real);
  update_plain(u, i, real);
  i = real;
  if (level == ZP_SIMD_AVX512) i = zp_host_round_avx512(u, i, to);
  else if (level == ZP_SIMD_AVX2) i = zp_host_round_avx2(u, i, to);
  round_plain(u, i, to);
}

/* In the default modes of IEEE 754: rounding to nearest, with subnormal numbers. An OpenMP thread
 * inherits the modes of the thread that started it, and a process may have set its CPU to flush
 * subnormal numbers to zero. */
static void update_default_modes(int level, const zp_host_update *u, int64_t from, int64_t to)
{
  fenv_t modes;
  fegetenv(&modes);
  fesetenv(FE_DFL_ENV);
  update_range(level, u, from, to);
  fesetenv(&modes);
}

static int supported(int level)
{
  const int most = zp_simd_level();
  return level < most ? level : most;
}

void zp_host_update_level(int level, const zp_host_update *u)
{
  update_default_modes(supported(level), u, 0, u->n);
}

void zp_host_optim_step(const zp_optim *optim, const zp_optim_state *state, float factor_clip,
                        int32_t log2_scale, int64_t n, const float *grad, float *master, float *m,
                        float *v)
{
  zp_group_state g = {.optim = *state};
  const zp_host_update u = {&g, grad, master, m, v, NULL, 0, n, n, ZP_F32};
  zp_group_scalars(optim, factor_clip, log2_scale, &g);
  zp_host_update_level(ZP_SIMD_AVX512, &u);
}

/* ---- Many threads ---------------------------------------------------------------------------- */

/* A thread's range; other threads take chunks of it when they have finished theirs. */
typedef struct share {
  _Alignas(128) _Atomic int64_t next; /* two cache lines, which are fetched together */
  int64_t end;
} share;

static void cut(share *shares, int n, int64_t count)
{
  const int64_t chunks = (count + CHUNK - 1) / CHUNK;
  for (int t = 0; t < n; t++) {
    const int64_t end = chunks * (t + 1) / n * CHUNK;
    atomic_init(&shares[t].next, chunks * t / n * CHUNK);
    shares[t].end = end < count ? end : count;
  }
}

/* The thread's own share, then the rest of the others'. */
static void work(const zp_host_update *u, share *shares, int n, int me)
{
  const int level = zp_simd_level();
  for (int k = 0; k < n; k++) {
    share *s = &shares[(me + k) % n];
    for (;;) {
      const int64_t from = atomic_fetch_add_explicit(&s->next, CHUNK, memory_order_relaxed);
      if (from >= s->end) break;
      update_default_modes(level, u, from, s->end - from < CHUNK ? s->end : from + CHUNK);
    }
  }
}

void zp_host_update_run(const zp_host_update *u, int threads)
{
  const int64_t chunks = (u->n + CHUNK - 1) / CHUNK;
  share shares[THREADS_MAX];
#ifdef _OPENMP
  if (threads < 1) threads = omp_get_max_threads();
#endif
  if (threads < 1) threads = 1;
  if (threads > THREADS_MAX) threads = THREADS_MAX;
  if (threads > chunks) threads = chunks > 0 ? (int)chunks : 1;
  cut(shares, threads, u->n);
#ifdef _OPENMP
  /* OpenMP may start fewer threads, which then process the shares of the others */
#pragma omp parallel num_threads(threads) if (threads > 1)
  work(u, shares, threads, omp_get_thread_num());
#else
  work(u, shares, threads, 0);
#endif
}
