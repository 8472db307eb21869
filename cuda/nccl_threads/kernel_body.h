/* The kernel, for nvcc and for the C compiler. */
#include "../kernels/device.h"
#include "kernel.h"

ZP_ON_DEVICE uint64_t zp_nt_load(int32_t bytes, const void *from, int64_t i)
{
  if (bytes == 1) return ((const uint8_t *)from)[i];
  if (bytes == 2) return ((const uint16_t *)from)[i];
  if (bytes == 4) return ((const uint32_t *)from)[i];
  return ((const uint64_t *)from)[i];
}

ZP_ON_DEVICE void zp_nt_store(int32_t bytes, void *to, int64_t i, uint64_t x)
{
  if (bytes == 1) ((uint8_t *)to)[i] = (uint8_t)x;
  else if (bytes == 2) ((uint16_t *)to)[i] = (uint16_t)x;
  else if (bytes == 4) ((uint32_t *)to)[i] = (uint32_t)x;
  else ((uint64_t *)to)[i] = x;
}

/* fp32 is only summed. */
ZP_ON_DEVICE uint64_t zp_nt_combine(const zp_nccl_threads_params *p, uint64_t a, uint64_t b)
{
  if (p->type == ZP_NT_F32) {
    const uint32_t x = (uint32_t)a, y = (uint32_t)b;
    float f, g;
    uint32_t bits;
    memcpy(&f, &x, sizeof f);
    memcpy(&g, &y, sizeof g);
    f += g;
    memcpy(&bits, &f, sizeof bits);
    return bits;
  }
  if (p->redop == ZP_NT_SUM) return a + b;
  {
    const int64_t x = p->type == ZP_NT_I32 ? (int32_t)(uint32_t)a : (int64_t)a;
    const int64_t y = p->type == ZP_NT_I32 ? (int32_t)(uint32_t)b : (int64_t)b;
    return (p->redop == ZP_NT_MIN) == (x < y) ? a : b;
  }
}

/* The reduction of element e, beginning with another member for each element. */
ZP_ON_DEVICE uint64_t zp_nt_reduce(const zp_nccl_threads_params *p, int64_t e)
{
  int32_t m = (int32_t)(e % p->members);
  uint64_t x = zp_nt_load(p->bytes, p->in[m], e);
  for (int32_t k = 1; k < p->members; k++) {
    m = m + 1 == p->members ? 0 : m + 1;
    x = zp_nt_combine(p, x, zp_nt_load(p->bytes, p->in[m], e));
  }
  return x;
}

ZP_ON_DEVICE void zp_nccl_threads_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_nccl_threads_params *p = (const zp_nccl_threads_params *)params;
  const int parts = p->mode == ZP_NT_SUM_PART || p->mode == ZP_NT_GATHER ? p->members : 1;
  const int64_t step = (int64_t)t.gridDim[0] * t.blockDim[0];
  (void)shared, (void)phase;
  for (int64_t e = (int64_t)t.blockIdx[0] * t.blockDim[0] + t.threadIdx[0]; e < p->n * parts;
       e += step) {
    const int32_t part = (int32_t)(e / p->n);
    const int64_t i = e % p->n;
    if (p->mode == ZP_NT_SUM_PART) zp_nt_store(p->bytes, p->out[part], i, zp_nt_reduce(p, e));
    else {
      const uint64_t x = p->mode == ZP_NT_SUM_ALL  ? zp_nt_reduce(p, e)
                         : p->mode == ZP_NT_GATHER ? zp_nt_load(p->bytes, p->in[part], i)
                                                   : zp_nt_load(p->bytes, p->in[p->root], i);
      for (int32_t m = 0; m < p->members; m++) zp_nt_store(p->bytes, p->out[m], e, x);
    }
  }
}

ZP_KERNEL(nccl_threads, zp_nccl_threads_params, 1)
