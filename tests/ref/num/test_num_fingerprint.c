/* A fingerprint is the sum over words of word times key, whatever the alignment, the level of
 * vector instructions and the division into parts; the position of a word counts. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "../../../ref/num/simd/fast.h"
#include "../../../ref/num/simd/fingerprint.h"

enum { BYTES = 3 * 2048 + 100, WORDS = 512 };

/* The definition in conformance/TRACE.md, word by word. */
static uint64_t mixed(uint64_t x)
{
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

static void expected(const unsigned char *x, int64_t bytes, uint64_t at, uint64_t sum[2])
{
  for (int64_t i = 0; i < bytes; i++) {
    const uint64_t k = at + (uint64_t)i, word = k / 4;
    for (uint64_t lane = 0; lane < 2; lane++) {
      const uint64_t key = mixed(lane << 63 | word % WORDS) >> 32;
      const uint64_t block = mixed(lane << 63 | 1ull << 62 | word / WORDS) | 1;
      sum[lane] += ((uint64_t)x[i] << 8 * (k % 4)) * key * block;
    }
  }
}

static unsigned char *random_bytes(unsigned seed)
{
  unsigned char *x = malloc(BYTES);
  cr_assert_not_null(x);
  srand(seed);
  for (int i = 0; i < BYTES; i++) x[i] = (unsigned char)(rand() >> 5);
  return x;
}

static int same(const uint64_t a[2], const uint64_t b[2])
{
  return a[0] == b[0] && a[1] == b[1];
}

Test(fingerprint, every_level_computes_the_definition)
{
  unsigned char *x = random_bytes(1);
  const int64_t sizes[] = {0, 1, 3, 4, 7, 31, 32, 33, 64, 2047, 2048, 2049, BYTES - 70};
  for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++)
    for (int from = 0; from < 70; from += from < 9 ? 1 : 13)
      for (uint64_t at = 0; at < 5000; at += at < 6 ? 1 : 1021) {
        uint64_t want[2] = {5, 7};
        expected(x + from, sizes[n], at, want);
        for (int level = ZP_SIMD_PLAIN; level <= ZP_SIMD_AVX512; level++) {
          uint64_t got[2] = {5, 7};
          zp_fingerprint_add_level(level, x + from, sizes[n], at, got);
          cr_assert(same(got, want), "level %d, %ld bytes from %d at %lu", level, (long)sizes[n],
                    from, (unsigned long)at);
        }
      }
  free(x);
}

Test(fingerprint, parts_add_up_in_any_order)
{
  unsigned char *x = random_bytes(2);
  uint64_t whole[2] = {0, 0};
  zp_fingerprint_add(x, BYTES, 3, whole);
  for (unsigned seed = 0; seed < 200; seed++) {
    const int64_t a = rand() % BYTES, b = a + rand() % (BYTES - a);
    uint64_t sum[2] = {0, 0};
    zp_fingerprint_add(x + b, BYTES - b, 3 + (uint64_t)b, sum);
    zp_fingerprint_add(x, a, 3, sum);
    const void *const pieces[] = {x + a, x + a + (b - a) / 3};
    const int64_t bytes[] = {(b - a) / 3, b - a - (b - a) / 3};
    zp_fingerprint_add_list(pieces, bytes, 2, 3 + (uint64_t)a, sum);
    cr_assert(same(sum, whole), "cut at %ld and %ld", (long)a, (long)b);
  }
  free(x);
}

Test(fingerprint, a_position_and_each_bit_count)
{
  unsigned char *x = random_bytes(3);
  uint64_t before[2] = {0, 0};
  zp_fingerprint_add(x, BYTES, 0, before);
  for (int i = 0; i + 8 <= BYTES; i += 4) {
    uint64_t after[2] = {0, 0};
    x[i + 3] ^= 128; /* the sign of two elements */
    x[i + 7] ^= 128;
    zp_fingerprint_add(x, BYTES, 0, after);
    cr_assert(!same(before, after), "two signs at %d", i);
    x[i + 3] ^= 128;
    x[i + 7] ^= 128;
    unsigned char word[4];
    memcpy(word, x + i, 4);
    if (memcmp(word, x + i + 4, 4) == 0) continue;
    memcpy(x + i, x + i + 4, 4);
    memcpy(x + i + 4, word, 4);
    after[0] = after[1] = 0;
    zp_fingerprint_add(x, BYTES, 0, after);
    cr_assert(!same(before, after), "two elements exchanged at %d", i);
    memcpy(x + i + 4, x + i, 4);
    memcpy(x + i, word, 4);
  }
  free(x);
}
