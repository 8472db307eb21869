/* The kernels, for nvcc and for the C compiler. */
#include "../kernels/device.h"
#include "../kernels/element.h"
#include "probe.h"

#ifdef __CUDACC__
#define ZP_PROBE_ALIGN __align__(16)
#else
#define ZP_PROBE_ALIGN
#endif
typedef struct ZP_PROBE_ALIGN zp_word {
  uint32_t w[4];
} zp_word;

enum { ZP_PROBE_UNROLL = 4 };

/* Four words are loaded at a time, to hide the latency of memory. */
ZP_ON_DEVICE void zp_probe_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_probe_params *p = (const zp_probe_params *)params;
  const int64_t step = (int64_t)t.gridDim[0] * t.blockDim[0];
  const int64_t most = p->read > p->write ? p->read : p->write;
  uint32_t seen = 0;
  (void)shared, (void)phase;
  for (int64_t i = (int64_t)t.blockIdx[0] * t.blockDim[0] + t.threadIdx[0]; i < most;
       i += ZP_PROBE_UNROLL * step) {
    zp_word x[ZP_PROBE_UNROLL];
    for (int k = 0; k < ZP_PROBE_UNROLL; k++) {
      const int64_t at = i + k * step;
      zp_word none = {{(uint32_t)at, 1, 2, 3}};
      x[k] = at < p->read ? ((const zp_word *)p->in)[at] : none;
    }
    for (int k = 0; k < ZP_PROBE_UNROLL; k++) {
      const int64_t at = i + k * step;
      if (at < p->write) ((zp_word *)p->out)[at] = x[k];
      else seen ^= x[k].w[0] ^ x[k].w[1] ^ x[k].w[2] ^ x[k].w[3];
    }
  }
  if (seen == 0x9e3779b9u) *p->sink = seen; /* almost never */
}

ZP_ON_DEVICE uint64_t zp_fill_hash(uint64_t x)
{
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

ZP_ON_DEVICE uint32_t zp_fill_bits(const zp_fill_params *p, int64_t i)
{
  const uint64_t h = zp_fill_hash(p->seed + (uint64_t)i * 0x9e3779b97f4a7c15u);
  const uint32_t u = (uint32_t)h, more = (uint32_t)(h >> 32);
  uint32_t exponent = 124 + more % 4u;
  if (p->kind == ZP_FILL_SPREAD) exponent = more % 255u;
  if (p->kind == ZP_FILL_GRADIENT) exponent = 108 + more % 4u + more / 4u % 4u + more / 16u % 7u;
  return (u & (p->kind == ZP_FILL_POSITIVE ? 0x007fffffu : 0x807fffffu)) | exponent << 23;
}

ZP_ON_DEVICE void zp_fill_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_fill_params *p = (const zp_fill_params *)params;
  const int64_t step = (int64_t)t.gridDim[0] * t.blockDim[0];
  (void)shared, (void)phase;
  for (int64_t i = (int64_t)t.blockIdx[0] * t.blockDim[0] + t.threadIdx[0]; i < p->n; i += step) {
    const uint32_t u = zp_fill_bits(p, i);
    if (p->dtype == ZP_F32) ((uint32_t *)p->out)[i] = u;
    else ((uint16_t *)p->out)[i] = (uint16_t)(u >> 16); /* fp16 reads them as other numbers */
  }
}

ZP_ON_DEVICE void zp_checksum_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_checksum_params *p = (const zp_checksum_params *)params;
  const int64_t step = (int64_t)t.gridDim[0] * t.blockDim[0];
  uint64_t sum = 0;
  (void)shared, (void)phase;
  for (int64_t i = (int64_t)t.blockIdx[0] * t.blockDim[0] + t.threadIdx[0]; i < p->words; i += step)
    sum += zp_fill_hash(p->in[i] + (uint64_t)i * 0x9e3779b97f4a7c15u);
  if (sum != 0) ZP_ADD_GLOBAL((int64_t *)p->sum, (int64_t)sum);
}

ZP_KERNEL(probe, zp_probe_params, 1)
ZP_KERNEL(fill, zp_fill_params, 1)
ZP_KERNEL(checksum, zp_checksum_params, 1)
