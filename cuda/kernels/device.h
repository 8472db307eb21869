/* Macros for kernel bodies that both nvcc and the C compiler compile.
 *
 * A body is zp_NAME_body(params, t, shared, phase): the work of one thread between two barriers.
 * Only memory keeps values from one phase to the next. Under nvcc, ZP_KERNEL wraps the body in a
 * __global__ function that runs the phases with __syncthreads() between them; in C, in a
 * simdev_kernel, whose phases run for all threads of a block in any order.
 */
#ifndef ZP_CUDA_DEVICE_H
#define ZP_CUDA_DEVICE_H
#include "ref_num.h"

#include "../simdev/kernel.h"
#include "kernels.h"

#ifdef __CUDACC__

#define ZP_ON_DEVICE static __device__ __forceinline__
/* Not inlined: a rare path must not use registers of the common one. Arguments are passed by value,
 * because a variable whose address is taken lies in memory. */
#define ZP_NOINLINE static __device__ __noinline__
/* *to += by, for int64_t; integer additions give the same sum in any order. */
#define ZP_ADD_SHARED(to, by)                                                                      \
  ((void)atomicAdd((unsigned long long *)(to), (unsigned long long)(int64_t)(by)))
#define ZP_ADD_GLOBAL(to, by) ZP_ADD_SHARED(to, by)
/* An int64_t in host memory, which the host may write at any time. */
#define ZP_LOAD_HOST(from) (*(const volatile int64_t *)(from))
/* Stores there, after all that the thread has written before. */
#define ZP_STORE_HOST(to, x) (__threadfence_system(), (void)(*(volatile int64_t *)(to) = (x)))
/* Promises nvcc that an address, loaded from memory, is not one of shared memory. */
#define ZP_GLOBAL(at) __builtin_assume(__isGlobal(at))
/* The double x is computed before this point, so its operands need not be kept in registers. */
#define ZP_COMPUTED(x) asm volatile("" : "+d"(x))
/* fp16 to fp32, which is exact, and back, to nearest even; the device chooses the NaN. NUM-4 */
#define ZP_FROM_F16(h) zp_from_f16(h)
static __device__ __forceinline__ float zp_from_f16(unsigned short h)
{
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
  return x;
}
#define ZP_TO_F16(x) zp_to_f16(x)
static __device__ __forceinline__ unsigned short zp_to_f16(float x)
{
  unsigned short h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
  return h;
}

ZP_ON_DEVICE simdev_thread zp_this_thread(void)
{
  const simdev_thread t = {{gridDim.x, gridDim.y, gridDim.z},
                           {blockDim.x, blockDim.y, blockDim.z},
                           {blockIdx.x, blockIdx.y, blockIdx.z},
                           {threadIdx.x, threadIdx.y, threadIdx.z}};
  return t;
}

/* blocks: how many a multiprocessor runs at once, which limits the registers of a thread.
 * __grid_constant__: the body reads the parameters in place, without a copy. */
#define ZP_KERNEL_OF(name, type, n_phases, blocks)                                                 \
  extern "C" __global__ void __launch_bounds__(ZP_BLOCK_THREADS, blocks)                           \
      zp_##name##_entry(const __grid_constant__ type params)                                       \
  {                                                                                                \
    extern __shared__ __align__(16) unsigned char zp_block_memory[];                               \
    const simdev_thread t = zp_this_thread();                                                      \
    _Pragma("unroll") for (int phase = 0; phase < (n_phases); phase++)                             \
    {                                                                                              \
      if (phase > 0) __syncthreads();                                                              \
      zp_##name##_body(&params, t, zp_block_memory, phase);                                        \
    }                                                                                              \
  }                                                                                                \
  extern "C" const void *const zp_kernel_##name = (const void *)zp_##name##_entry;

/* A kernel whose phases form a loop: zp_NAME_phases(params, t) is the number of phases of a
 * block. */
#define ZP_KERNEL_LOOP(name, type)                                                                 \
  extern "C" __global__ void __launch_bounds__(ZP_BLOCK_THREADS)                                   \
      zp_##name##_entry(const __grid_constant__ type params)                                       \
  {                                                                                                \
    extern __shared__ __align__(16) unsigned char zp_block_memory[];                               \
    const simdev_thread t = zp_this_thread();                                                      \
    const int phases = zp_##name##_phases(&params, t);                                             \
    _Pragma("unroll 1") for (int phase = 0; phase < phases; phase++)                               \
    {                                                                                              \
      if (phase > 0) __syncthreads();                                                              \
      zp_##name##_body(&params, t, zp_block_memory, phase);                                        \
    }                                                                                              \
  }                                                                                                \
  extern "C" const void *const zp_kernel_##name = (const void *)zp_##name##_entry;

#else

#define ZP_ON_DEVICE static inline
#define ZP_NOINLINE static inline
/* Launches on several streams may add to one counter, which is no race on a device, nor here. The
 * threads of one launch run one after another, except in the search for races between them
 * (tests/drivers/cuda/races.c). */
#define ZP_ADD_GLOBAL(to, by) ((void)__atomic_fetch_add((to), (by), __ATOMIC_RELAXED))
#define ZP_LOAD_HOST(from) __atomic_load_n((from), __ATOMIC_ACQUIRE)
#define ZP_STORE_HOST(to, x) __atomic_store_n((to), (x), __ATOMIC_RELEASE)
#define ZP_GLOBAL(at) ((void)(at))
#define ZP_COMPUTED(x) ((void)(x))
#define ZP_FROM_F16(h) zp_float_of(zp_f32_from_f16(h))
#define ZP_TO_F16(x) zp_f16_from_f32(zp_bits_of(x))
#ifdef ZP_THREADS_AT_ONCE
#define ZP_ADD_SHARED(to, by) ZP_ADD_GLOBAL(to, by)
#else
#define ZP_ADD_SHARED(to, by) (*(to) += (by))
#endif

#define ZP_KERNEL_OF(name, type, n_phases, blocks)                                                 \
  static const simdev_kernel zp_##name##_kernel = {"zp_" #name, sizeof(type), n_phases,            \
                                                   zp_##name##_body};                              \
  const void *const zp_kernel_##name = &zp_##name##_kernel;

#define ZP_KERNEL_LOOP(name, type)                                                                 \
  static const simdev_loop_kernel zp_##name##_kernel = {                                           \
      {"zp_" #name, sizeof(type), SIMDEV_LOOP, zp_##name##_body}, zp_##name##_phases};             \
  const void *const zp_kernel_##name = &zp_##name##_kernel.kernel;

#endif

#define ZP_KERNEL(name, type, n_phases) ZP_KERNEL_OF(name, type, n_phases, 1)
#endif
