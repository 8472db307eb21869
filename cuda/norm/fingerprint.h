/* The fingerprint of bytes in device memory, as by ref/num/simd/fingerprint.c.
 *
 * A block of threads processes chunks of blocks of words. The keys of a block's words and of the
 * chunk's blocks are in shared memory, so that a word costs one load and four multiplications. */
#ifndef ZP_CUDA_NORM_FINGERPRINT_H
#define ZP_CUDA_NORM_FINGERPRINT_H
#include "../kernels/device.h"
#include "norm.h"

/* Words of a block; blocks of a chunk: 128 KiB. */
enum { ZP_PRINT_WORDS = 512, ZP_PRINT_CHUNK = 64 };

typedef struct zp_print_shared {
  uint32_t key[2][ZP_PRINT_WORDS];
  uint64_t of_block[2][ZP_PRINT_CHUNK];
  uint64_t sum[2][ZP_BLOCK_THREADS];
} zp_print_shared;

ZP_ON_DEVICE void zp_print_sizes(void)
{
  /* two arrays of 4 KiB, of 1 KiB and of 4 KiB */
  typedef char fits[sizeof(zp_print_shared) == ZP_NORM_PRINT_SHARED ? 1 : -1];
  (void)sizeof(fits);
}

/* splitmix64 */
ZP_ON_DEVICE uint64_t zp_print_mixed(uint64_t x)
{
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/* Word k of the value, with 0 for the bytes before and after the part. */
ZP_ON_DEVICE uint32_t zp_print_word(const zp_fingerprint_params *p, uint64_t k)
{
  const uint64_t first = 4 * k, end = p->at + (uint64_t)p->bytes;
  uint32_t word = 0;
  if (first >= p->at && first + 4 <= end) {
    const unsigned char *x = p->x + (first - p->at);
    if (((uintptr_t)x & 3) == 0) return *(const uint32_t *)(const void *)x;
  }
  for (uint64_t i = 0; i < 4; i++)
    if (first + i >= p->at && first + i < end) word |= (uint32_t)p->x[first + i - p->at] << 8 * i;
  return word;
}

/* The chunks of a part: those with words first … end - 1. */
ZP_ON_DEVICE int64_t zp_print_chunks(const zp_fingerprint_params *p)
{
  const uint64_t words = (uint64_t)ZP_PRINT_WORDS * ZP_PRINT_CHUNK;
  const uint64_t end = (p->at + (uint64_t)p->bytes + 3) / 4;
  return (int64_t)((end + words - 1) / words - p->at / 4 / words);
}

/* Phase 0: keys. Then two for each chunk of the block of threads: the keys of its blocks; its sum.
 * The last one adds up the threads' sums. */
ZP_ON_DEVICE int zp_fingerprint_phases(const void *params, simdev_thread t)
{
  const int64_t chunks = zp_print_chunks((const zp_fingerprint_params *)params);
  const int64_t grid = t.gridDim[0], mine = t.blockIdx[0];
  return 2 + 2 * (int)(mine < chunks ? (chunks - mine + grid - 1) / grid : 0);
}

ZP_ON_DEVICE void zp_print_start(zp_print_shared *s, simdev_thread t)
{
  const int32_t me = (int32_t)t.threadIdx[0], threads = (int32_t)t.blockDim[0];
  for (int32_t i = me; i < 2 * ZP_PRINT_WORDS; i += threads)
    s->key[i / ZP_PRINT_WORDS][i % ZP_PRINT_WORDS] =
        (uint32_t)(zp_print_mixed((uint64_t)(i / ZP_PRINT_WORDS) << 63 |
                                  (uint64_t)(i % ZP_PRINT_WORDS)) >>
                   32);
  s->sum[0][me] = s->sum[1][me] = 0;
}

/* A thread has the same columns in all blocks. */
ZP_ON_DEVICE void zp_print_sum(const zp_fingerprint_params *p, zp_print_shared *s, uint64_t block,
                               simdev_thread t)
{
  const uint32_t me = t.threadIdx[0], threads = t.blockDim[0];
  const uint64_t end = (p->at + (uint64_t)p->bytes + 3) / 4;
  uint64_t sum0 = 0, sum1 = 0;
  for (uint32_t b = 0; b < ZP_PRINT_CHUNK; b++) {
    uint64_t of_block0 = 0, of_block1 = 0;
    for (uint32_t i = me; i < ZP_PRINT_WORDS; i += threads) {
      const uint64_t k = (block + b) * ZP_PRINT_WORDS + i;
      const uint64_t word = k < p->at / 4 || k >= end ? 0 : zp_print_word(p, k);
      of_block0 += word * s->key[0][i];
      of_block1 += word * s->key[1][i];
    }
    sum0 += of_block0 * s->of_block[0][b];
    sum1 += of_block1 * s->of_block[1][b];
  }
  s->sum[0][me] += sum0;
  s->sum[1][me] += sum1;
}

ZP_ON_DEVICE void zp_fingerprint_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_fingerprint_params *p = (const zp_fingerprint_params *)params;
  zp_print_shared *s = (zp_print_shared *)shared;
  const uint64_t me = t.threadIdx[0];
  const uint64_t chunk = p->at / 4 / ((uint64_t)ZP_PRINT_WORDS * ZP_PRINT_CHUNK) + t.blockIdx[0] +
                         (uint64_t)((phase - 1) / 2) * t.gridDim[0];
  if (phase == 0) zp_print_start(s, t);
  else if (phase == zp_fingerprint_phases(params, t) - 1) {
    uint64_t sum = 0;
    if (me >= 2) return;
    for (uint32_t i = 0; i < t.blockDim[0]; i++) sum += s->sum[me][i];
    ZP_ADD_GLOBAL(p->sum + me, (int64_t)sum);
  } else if (phase % 2 == 1) {
    for (uint64_t i = me; i < 2 * ZP_PRINT_CHUNK; i += t.blockDim[0]) {
      const uint64_t lane = i / ZP_PRINT_CHUNK, b = chunk * ZP_PRINT_CHUNK + i % ZP_PRINT_CHUNK;
      s->of_block[lane][i % ZP_PRINT_CHUNK] = zp_print_mixed(lane << 63 | 1ull << 62 | b) | 1;
    }
  } else zp_print_sum(p, s, chunk * ZP_PRINT_CHUNK, t);
}

ZP_KERNEL_LOOP(fingerprint, zp_fingerprint_params)
#endif
