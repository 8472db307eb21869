#include "launches.h"

#include <cuda_runtime_api.h>
#include <stdatomic.h>

static _Atomic int64_t launches;

int64_t zp_gpu_launches(void)
{
  return atomic_load(&launches);
}

cudaError_t __real_cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **args,
                                    size_t shared, cudaStream_t stream);
cudaError_t __wrap_cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **args,
                                    size_t shared, cudaStream_t stream);
cudaError_t __wrap_cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **args,
                                    size_t shared, cudaStream_t stream)
{
  atomic_fetch_add(&launches, 1);
  return __real_cudaLaunchKernel(kernel, grid, block, args, shared, stream);
}

cudaError_t __real_cudaMemcpyAsync(void *to, const void *from, size_t n, enum cudaMemcpyKind kind,
                                   cudaStream_t stream);
cudaError_t __wrap_cudaMemcpyAsync(void *to, const void *from, size_t n, enum cudaMemcpyKind kind,
                                   cudaStream_t stream);
cudaError_t __wrap_cudaMemcpyAsync(void *to, const void *from, size_t n, enum cudaMemcpyKind kind,
                                   cudaStream_t stream)
{
  atomic_fetch_add(&launches, 1);
  return __real_cudaMemcpyAsync(to, from, n, kind, stream);
}

cudaError_t __real_cudaMemsetAsync(void *to, int value, size_t n, cudaStream_t stream);
cudaError_t __wrap_cudaMemsetAsync(void *to, int value, size_t n, cudaStream_t stream);
cudaError_t __wrap_cudaMemsetAsync(void *to, int value, size_t n, cudaStream_t stream)
{
  atomic_fetch_add(&launches, 1);
  return __real_cudaMemsetAsync(to, value, n, stream);
}
