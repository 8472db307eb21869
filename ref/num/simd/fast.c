#include "fast.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "kernel.h"

/* LIST_FULL: a list longer than this is emptied. LIMBS_HOLD: the number of blocks whose sums limbs
 * can hold without carrying, at most 6 additions below 2^32 per block. FETCH_AHEAD: bytes to
 * prefetch, at most a block; distances from 4 to 32 KiB are equally fast.
 */
enum { LIST_FULL = 1024, LIMBS_HOLD = 16777216, FETCH_AHEAD = 8192 };

/* A build with -DZP_SIMD_MAX=1 measures AVX2 on a CPU with AVX-512. */
#ifndef ZP_SIMD_MAX
#define ZP_SIMD_MAX ZP_SIMD_AVX512
#endif

static int cpu_level(void)
{
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
      !__builtin_cpu_supports("bmi") || !__builtin_cpu_supports("popcnt")) {
    return ZP_SIMD_PLAIN;
  }
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512dq") ||
      !__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vl")) {
    return ZP_SIMD_AVX2;
  }
  return ZP_SIMD_AVX512;
#else
  return ZP_SIMD_PLAIN;
#endif
}

int zp_simd_level(void)
{
  int level = cpu_level();
  return level < ZP_SIMD_MAX ? level : ZP_SIMD_MAX;
}

/* A range being summed. limb: not carried. list: elements outside of their block's window.
 * held: elements in the bins; -1: the bins are not cleared yet.
 */
typedef struct summing {
  zp_bins bins; /* first: it has the strictest alignment */
  char list[4 * (LIST_FULL + ZP_BLOCK + ZP_LANE_STEP)];
  int64_t limb[ZP_SQ_LIMBS], bad, held, listed, blocks;
  zp_window window;
  int windowed, many;   /* 1 if window is good; 1 if it omitted many elements of the last block */
  int next_choice, age; /* in blocks: until the next choice, since the choice of the window */
  int level, elem;
} summing;

static int64_t size_of(int elem)
{
  return elem == ZP_ELEM_F32 ? 4 : 2;
}

/* The plain, proven functions for a range of any type. */
static int64_t add_plain(zp_sumsq *s, int elem, const char *x, int64_t n)
{
  const void *v = x;
  if (elem == ZP_ELEM_F32) return zp_sumsq_add_f32(s, v, n);
  return elem == ZP_ELEM_BF16 ? zp_sumsq_add_bf16(s, v, n) : zp_sumsq_add_f16(s, v, n);
}

static void add_f32_bins(int64_t *limb, const uint64_t *word)
{
  for (int c = 0; c < 32; c++) {
    uint64_t low = 0, high = 0;
    for (int other = 0; other < 32; other++) {
      const uint64_t *first = word + 4 * (32 * c + other), *second = word + 4 * (32 * other + c);
      low += first[0] + second[2];
      high += first[1] + second[3];
    }
    /* exponent 1 is bit 0, and squares of class 0, all shifted by 1 or more, are multiples of 4 */
    int bit = 2 * (ZP_CLASS_F32 * c - 1);
    zp_add_at(limb, (int64_t)(c == 0 ? low / 4 : low), c == 0 ? 0 : bit);
    zp_add_at(limb, (int64_t)high, bit + 32);
  }
}

/* The halves of bins of one weight, added up: bins are full words. */
typedef struct halves {
  uint64_t low, high;
} halves;

static halves plus(halves h, uint64_t word)
{
  halves sum = {h.low + (word & 0xffffffffu), h.high + (word >> 32)};
  return sum;
}

static void add_halves(int64_t *limb, halves h, int bit)
{
  zp_add_at(limb, (int64_t)h.low, bit);
  zp_add_at(limb, (int64_t)h.high, bit + 32);
}

static void add_half_bins(int64_t *limb, const uint64_t *word, int elem)
{
  halves h[16] = {{0, 0}};
  for (int i = 0; i < ZP_PAIR_COPIES * 256; i++) {
    h[i % 16] = plus(h[i % 16], word[2 * i]);
    h[i / 16 % 16] = plus(h[i / 16 % 16], word[2 * i + 1]);
  }
  /* exponent 1 is bit 0; squares have 2 * 16 bits fewer than those of fp32. fp16's exponent 1
   * with significand 1 is 2^-24, and 298 - 2 * 24 = 250 */
  for (int c = 0; c < 16 && elem == ZP_ELEM_BF16; c++) {
    add_halves(limb, h[c], 2 * (ZP_CLASS_BF16 * c - 1) + 32);
  }
  for (int c = 0; c < 8 && elem == ZP_ELEM_F16; c++) {
    add_halves(limb, h[c], 2 * (ZP_CLASS_F16 * c - 1) + 250);
  }
}

/* limb += the sum of the bins, which must be cleared before their next use. */
static void empty_bins(summing *r)
{
  if (r->held <= 0) return;
  if (r->elem == ZP_ELEM_F32) add_f32_bins(r->limb, r->bins.word);
  else add_half_bins(r->limb, r->bins.word, r->elem);
  zp_limbs_normalise(r->limb, ZP_SQ_LIMBS);
  r->held = -1;
}

/* Adds n elements, a multiple of ZP_LANE_STEP, in bins. ahead: bytes to prefetch from x on. */
static void add_to_bins(summing *r, const char *x, int64_t n, int64_t ahead)
{
  if (r->held < 0) {
    int64_t words = r->elem == ZP_ELEM_F32 ? ZP_WORDS_F32 : ZP_WORDS_HALF;
    memset(r->bins.word, 0, sizeof r->bins.word[0] * (size_t)words);
    r->held = 0;
  }
  int wide = r->level == ZP_SIMD_AVX512 && r->elem == ZP_ELEM_F32;
  r->bad += wide ? zp_bins_f32_avx512(&r->bins, x, n, ahead)
                 : zp_bins_avx2(&r->bins, r->elem, x, n, ahead);
  r->held += n;
  if (r->held > ZP_BIN_CAPACITY - LIST_FULL - ZP_BLOCK - ZP_LANE_STEP) empty_bins(r);
}

/* Adds the listed elements, padded with zeros, in bins. */
static void empty_list(summing *r)
{
  int64_t fill = (ZP_LANE_STEP - r->listed % ZP_LANE_STEP) % ZP_LANE_STEP, size = size_of(r->elem);
  memset(r->list + size * r->listed, 0, (size_t)(size * fill));
  add_to_bins(r, r->list, r->listed + fill, 0);
  r->listed = 0;
}

/* Chooses the window with most of the block's elements, sampling every fourth; 0 if it has fewer
 * than 13 in 16. Among equals it chooses the middle one, because the next blocks are similar but
 * not equal.
 */
static int choose_window(zp_window *w, int elem, const char *x, int64_t n)
{
  static const int width[3] = {20, 2 * ZP_HALF_WINDOW - 1, 11}, last[3] = {254, 254, 30};
  static const int shift[3] = {23, 7, 10};
  int count[ZP_EXPONENTS] = {0}, all = 0, inside = 0, best = -1, first = 0, end = 0;
  for (int64_t i = 0; i < n; i += 4) {
    uint32_t u = 0;
    memcpy(&u, x + size_of(elem) * i, (size_t)size_of(elem)); /* little-endian */
    u &= elem == ZP_ELEM_F32 ? 0x7fffffffu : 0x7fffu;
    if (u == 0) continue;
    count[u >> shift[elem]] += 1;
    all += 1;
  }
  int least = elem == ZP_ELEM_F16 ? 0 : 1;
  for (int top = least; top <= last[elem]; top++) {
    int low = top - width[elem];
    inside += count[top] - (low > least ? count[low - 1] : 0);
    if (low < least || inside < best) continue;
    if (inside > best) first = low;
    if (inside > best || low == end + 1) end = low;
    best = inside;
  }
  w->low = (first + end) / 2;
  w->top = w->low + width[elem];
  return 16 * best >= 13 * all;
}

/* Adds one block, by the last window chosen or in bins; chooses again if that window omits many
 * elements or was chosen long ago. */
static void add_block(summing *r, const char *x, int64_t n, int64_t ahead)
{
  enum { RETRY = 32, YOUNG = 4 };
  int64_t size = size_of(r->elem);
  if (r->next_choice == 0) {
    r->windowed = choose_window(&r->window, r->elem, x, n);
    r->next_choice = RETRY;
    r->age = 0;
  }
  r->next_choice -= 1;
  if (!r->windowed) {
    add_to_bins(r, x, n, ahead);
    return;
  }
  char *list = r->list + size * r->listed;
  int64_t out = r->level == ZP_SIMD_AVX512
                    ? zp_window_avx512(r->limb, r->elem, r->window, x, n, list, r->many, ahead)
                    : zp_window_avx2(r->limb, r->elem, r->window, x, n, list, r->many, ahead);
  r->listed += out;
  r->many = out > n / 256;
  r->age += 1;
  if (r->listed > LIST_FULL) empty_list(r);
  if (++r->blocks % LIMBS_HOLD == 0) zp_limbs_normalise(r->limb, ZP_SQ_LIMBS);
  if (out <= n / 64) r->next_choice = RETRY; /* a good one is kept */
  if (out <= n / 4) return;
  r->windowed = r->age >= YOUNG; /* windows that fail immediately cost more than bins */
  r->next_choice = r->windowed ? 0 : RETRY / 2;
}

static void start(summing *r, int level, int elem)
{
  memset(r->limb, 0, sizeof r->limb);
  r->bad = r->listed = r->blocks = 0;
  r->held = -1;
  r->windowed = r->many = r->next_choice = r->age = 0;
  r->level = level;
  r->elem = elem;
}

/* Adds n elements, a multiple of ZP_LANE_STEP. */
static void add_blocks(summing *r, const char *x, int64_t n)
{
  int64_t size = size_of(r->elem);
  for (int64_t done = 0; done < n; done += ZP_BLOCK) {
    int64_t rest = n - done, block = rest < ZP_BLOCK ? rest : ZP_BLOCK;
    add_block(r, x + size * done, block, rest >= 2 * ZP_BLOCK ? FETCH_AHEAD : 0);
  }
}

/* s += the range, including the elements still in the list. */
static int64_t finish(summing *r, zp_sumsq *s)
{
  enum { FEW = 256 }; /* too few to pay for clearing and emptying bins */
  if (r->held < 0 && r->listed <= FEW) r->bad += add_plain(s, r->elem, r->list, r->listed);
  else empty_list(r);
  empty_bins(r);
  zp_limbs_normalise(r->limb, ZP_SQ_LIMBS);
  zp_limbs_merge(s->limb, r->limb, ZP_SQ_LIMBS);
  zp_limbs_normalise(s->limb, ZP_SQ_LIMBS);
  return r->bad;
}

static int64_t add_level(int level, zp_sumsq *s, int elem, const char *x, int64_t n)
{
  int64_t whole = n - n % ZP_LANE_STEP;
  int have = zp_simd_level();
  summing r;
  if (level > have) level = have;
  if (level == ZP_SIMD_PLAIN || n < 2 * ZP_LANE_STEP) return add_plain(s, elem, x, n);
  start(&r, level, elem);
  add_blocks(&r, x, whole);
  int64_t bad = finish(&r, s);
  return bad + add_plain(s, elem, x + size_of(elem) * whole, n - whole);
}

/* Arrays that threads sum together: each sums the next chunk until all are done, so that a slow or
 * late thread does less.
 */
typedef struct shared_arrays {
  const void *const *x;
  const int64_t *n;
  int64_t arrays, chunk;
  int level, elem;
  atomic_int_fast64_t next;
} shared_arrays;

typedef struct thread_job {
  shared_arrays *shared;
  zp_sumsq sum;
  int64_t bad;
} thread_job;

/* Adds elements from..to of an array; what does not fill the lanes is added plainly. */
static void add_chunk(thread_job *job, summing *r, const char *x, int64_t n)
{
  int64_t whole = r->level == ZP_SIMD_PLAIN ? 0 : n - n % ZP_LANE_STEP;
  add_blocks(r, x, whole);
  job->bad += add_plain(&job->sum, r->elem, x + size_of(r->elem) * whole, n - whole);
}

static void *run_job(void *arg)
{
  thread_job *job = arg;
  shared_arrays *all = job->shared;
  summing r;
  start(&r, all->level, all->elem);
  zp_sumsq_clear(&job->sum);
  job->bad = 0;
  int64_t array = 0, before = 0; /* chunks of the arrays before this one */
  for (;;) {
    int64_t chunk = atomic_fetch_add(&all->next, 1); /* rises, so the search goes on from here */
    for (; array < all->arrays; array++) {
      int64_t chunks = all->n[array] / all->chunk + (all->n[array] % all->chunk != 0);
      if (chunk < before + chunks) break;
      before += chunks;
    }
    if (array == all->arrays) break;
    int64_t from = (chunk - before) * all->chunk, rest = all->n[array] - from;
    add_chunk(job, &r, (const char *)all->x[array] + size_of(all->elem) * from,
              rest < all->chunk ? rest : all->chunk);
  }
  job->bad += finish(&r, &job->sum);
  return 0;
}

/* Divides arrays among threads and adds their limbs. */
static int64_t add_threads(zp_sumsq *s, int elem, const void *const *x, const int64_t *n,
                           int64_t arrays, int threads)
{
  enum { THREADS_MAX = 64, CHUNKS = 16 }; /* chunks per thread */
  thread_job job[THREADS_MAX];
  pthread_t thread[THREADS_MAX];
  int started[THREADS_MAX] = {0};
  int64_t per_thread_min = 131072; /* a thread costs as much as summing about this many */
  int64_t total = 0, bad = 0;
  for (int64_t a = 0; a < arrays; a++) total += n[a];
  if (threads > THREADS_MAX) threads = THREADS_MAX;
  if (threads > total / per_thread_min) threads = (int)(total / per_thread_min);
  if (threads < 1) threads = 1;
  shared_arrays shared = {x, n, arrays, ZP_BLOCK, zp_simd_level(), elem, 0};
  shared.chunk += total / threads / CHUNKS / ZP_BLOCK * ZP_BLOCK;
  for (int t = 0; t < threads; t++) {
    job[t].shared = &shared;
    if (t > 0) started[t] = pthread_create(&thread[t], 0, run_job, &job[t]) == 0;
  }
  run_job(&job[0]); /* if no thread was started, this sums all chunks */
  for (int t = 0; t < threads; t++) {
    int64_t limb[ZP_SQ_LIMBS];
    if (t > 0 && !started[t]) continue;
    if (t > 0) (void)pthread_join(thread[t], 0);
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
  const void *const array = x;
  return add_threads(s, ZP_ELEM_F32, &array, &n, 1, threads);
}

int64_t zp_sumsq_add_bf16_mt(zp_sumsq *s, const uint16_t *x, int64_t n, int threads)
{
  const void *const array = x;
  return add_threads(s, ZP_ELEM_BF16, &array, &n, 1, threads);
}

int64_t zp_sumsq_add_f16_mt(zp_sumsq *s, const uint16_t *x, int64_t n, int threads)
{
  const void *const array = x;
  return add_threads(s, ZP_ELEM_F16, &array, &n, 1, threads);
}

int64_t zp_sumsq_add_f32_list(zp_sumsq *s, const void *const *x, const int64_t *n, int64_t arrays,
                              int threads)
{
  return add_threads(s, ZP_ELEM_F32, x, n, arrays, threads);
}

int64_t zp_sumsq_add_bf16_list(zp_sumsq *s, const void *const *x, const int64_t *n, int64_t arrays,
                               int threads)
{
  return add_threads(s, ZP_ELEM_BF16, x, n, arrays, threads);
}

int64_t zp_sumsq_add_f16_list(zp_sumsq *s, const void *const *x, const int64_t *n, int64_t arrays,
                              int threads)
{
  return add_threads(s, ZP_ELEM_F16, x, n, arrays, threads);
}
