/* A product of 32 x 32 bits is one vector instruction. conformance/TRACE.md, "Values". */
#include "fingerprint.h"

#include <pthread.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "fast.h"

enum { WORDS = 512 }; /* of a block, whose keys fit into the first cache */

static uint32_t keys[2][WORDS] __attribute__((aligned(64)));
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* splitmix64 */
static uint64_t mixed(uint64_t x)
{
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

static void make_keys(void)
{
  for (uint64_t lane = 0; lane < 2; lane++)
    for (uint64_t i = 0; i < WORDS; i++) keys[lane][i] = (uint32_t)(mixed(lane << 63 | i) >> 32);
}

/* Odd, so that no difference within a block is lost. */
static uint64_t key_of_block(uint64_t block, uint64_t lane)
{
  return mixed(lane << 63 | 1ull << 62 | block) | 1;
}

typedef void words_fn(const unsigned char *x, int64_t n, int64_t first, uint64_t sum[2]);

/* Words first ... first + n - 1 of a block, at x. */
static void words_plain(const unsigned char *x, int64_t n, int64_t first, uint64_t sum[2])
{
  for (int64_t i = 0; i < n; i++) {
    uint32_t word;
    memcpy(&word, x + 4 * i, 4);
    sum[0] += (uint64_t)word * keys[0][first + i];
    sum[1] += (uint64_t)word * keys[1][first + i];
  }
}

#if defined(__x86_64__)
/* Multiplies the low halves of 64-bit elements, then the high ones, so that no word changes its
 * position within a vector. AVX-512 was not faster on the CPUs that were tried. */
__attribute__((target("avx2"))) static void words_avx2(const unsigned char *x, int64_t n,
                                                       int64_t first, uint64_t sum[2])
{
  enum { N = 8 };
  __m256i low0 = _mm256_setzero_si256(), low1 = low0, high0 = low0, high1 = low0;
  int64_t i = 0;
  for (; i + N <= n; i += N) {
    const __m256i word = _mm256_loadu_si256((const void *)(x + 4 * i));
    const __m256i key0 = _mm256_loadu_si256((const void *)&keys[0][first + i]);
    const __m256i key1 = _mm256_loadu_si256((const void *)&keys[1][first + i]);
    const __m256i odd = _mm256_srli_epi64(word, 32);
    low0 = _mm256_add_epi64(low0, _mm256_mul_epu32(word, key0));
    low1 = _mm256_add_epi64(low1, _mm256_mul_epu32(word, key1));
    high0 = _mm256_add_epi64(high0, _mm256_mul_epu32(odd, _mm256_srli_epi64(key0, 32)));
    high1 = _mm256_add_epi64(high1, _mm256_mul_epu32(odd, _mm256_srli_epi64(key1, 32)));
  }
  uint64_t part[2][N / 2];
  _mm256_storeu_si256((void *)part[0], _mm256_add_epi64(low0, high0));
  _mm256_storeu_si256((void *)part[1], _mm256_add_epi64(low1, high1));
  for (int k = 0; k < N / 2; k++) {
    sum[0] += part[0][k];
    sum[1] += part[1][k];
  }
  words_plain(x + 4 * i, n - i, first + i, sum);
}
#endif

static words_fn *words_of(int level)
{
#if defined(__x86_64__)
  if (level >= ZP_SIMD_AVX2 && zp_simd_level() >= ZP_SIMD_AVX2) return words_avx2;
#endif
  (void)level;
  return words_plain;
}

static void add_block(uint64_t block, const uint64_t of_block[2], uint64_t sum[2])
{
  for (uint64_t lane = 0; lane < 2; lane++) sum[lane] += of_block[lane] * key_of_block(block, lane);
}

/* Up to 3 bytes of one word; the other bytes of it count as 0. */
static void add_bytes(const unsigned char *x, int64_t n, uint64_t at, uint64_t sum[2])
{
  unsigned char word[4] = {0};
  uint64_t of_word[2] = {0, 0};
  memcpy(word + at % 4, x, (size_t)n);
  words_plain(word, 1, (int64_t)(at / 4 % WORDS), of_word);
  add_block(at / 4 / WORDS, of_word, sum);
}

static void add(words_fn *words, const unsigned char *x, int64_t bytes, uint64_t at,
                uint64_t sum[2])
{
  if (at % 4 != 0 && bytes > 0) {
    int64_t n = 4 - (int64_t)(at % 4);
    if (n > bytes) n = bytes;
    add_bytes(x, n, at, sum);
    x += n;
    at += (uint64_t)n;
    bytes -= n;
  }
  while (bytes >= 4) {
    const int64_t first = (int64_t)(at / 4 % WORDS);
    const int64_t n = bytes / 4 < WORDS - first ? bytes / 4 : WORDS - first;
    uint64_t of_words[2] = {0, 0};
    words(x, n, first, of_words);
    add_block(at / 4 / WORDS, of_words, sum);
    x += 4 * n;
    at += 4 * (uint64_t)n;
    bytes -= 4 * n;
  }
  if (bytes > 0) add_bytes(x, bytes, at, sum);
}

void zp_fingerprint_add_level(int level, const void *x, int64_t bytes, uint64_t at, uint64_t sum[2])
{
  pthread_once(&once, make_keys);
  add(words_of(level), x, bytes, at, sum);
}

void zp_fingerprint_add(const void *x, int64_t bytes, uint64_t at, uint64_t sum[2])
{
  zp_fingerprint_add_level(ZP_SIMD_AVX2, x, bytes, at, sum);
}

void zp_fingerprint_add_list(const void *const *x, const int64_t *bytes, int64_t n, uint64_t at,
                             uint64_t sum[2])
{
  for (int64_t i = 0; i < n; i++) {
    zp_fingerprint_add(x[i], bytes[i], at, sum);
    at += (uint64_t)bytes[i];
  }
}
