/* cuStreamWriteValue32: a word that a stream writes in its order, for the host to read. */
#include <criterion/criterion.h>
#include <cuda.h>

#include "case.h"

/* The word is written after earlier work of the stream, and orders nothing else. */
static int counts(void *arg, int rank)
{
  uint32_t *word, last = 0;
  int *seen = arg;
  cudaStream_t st;
  OK(cudaSetDevice(rank));
  OK(cudaMallocHost((void **)&word, 8));
  OK(cudaStreamCreateWithFlags(&st, cudaStreamNonBlocking));
  *word = 0;
  for (uint32_t i = 1; i <= 20; i++) {
    OK(cuStreamWriteValue32((CUstream)st, (CUdeviceptr)(uintptr_t)word, i,
                            CU_STREAM_WRITE_VALUE_DEFAULT));
    if (i % 2) simdev_pause();
    const uint32_t now = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    IS(now >= last && now <= i);
    seen[now < i]++; /* late in some orders, at once in others */
    last = now;
  }
  OK(cudaStreamSynchronize(st));
  IS(*word == 20);
  OK(cudaStreamDestroy(st));
  return (int)cudaFreeHost(word);
}

Test(word, a_word_is_written_in_stream_order)
{
  int seen[2] = {0, 0};
  cr_assert_eq(count_seeds(1, counts, seen, (simdev_options){0}, SEEDS, SIMDEV_OK), SEEDS);
  cr_assert(seen[0] > 0 && seen[1] > 0);
}

static int misuses(void *arg, int rank)
{
  uint32_t *word, pageable[2] = {0, 0};
  const int *which = arg;
  CUdeviceptr at;
  OK(cudaSetDevice(rank));
  OK(cudaMallocHost((void **)&word, 8));
  at = (CUdeviceptr)(uintptr_t)(*which == 0 ? (char *)word + 2 : (char *)pageable);
  if (*which == 2) at = (CUdeviceptr)(uintptr_t)(word + 2);
  IS(cuStreamWriteValue32(NULL, at, 1, 0) == CUDA_ERROR_INVALID_VALUE);
  return (int)cudaFreeHost(word);
}

Test(word, a_misaligned_or_out_of_bounds_word_is_an_error)
{
  for (int which = 0; which < 3; which++)
    cr_assert_eq(count_seeds(1, misuses, &which, (simdev_options){0}, 3, SIMDEV_E_ACCESS), 3,
                 "case %d", which);
}

/* A thread that has only called cudaGetDevice may have no context. */
static int without_context(void *arg, int rank)
{
  uint32_t *word;
  int device;
  const int *binds = arg;
  OK(cudaMallocHost((void **)&word, 8));
  OK(cudaGetDevice(&device));
  IS(device == rank);
  if (*binds) OK(cudaSetDevice(device));
  IS(cuStreamWriteValue32(NULL, (CUdeviceptr)(uintptr_t)word, 1, 0) ==
     (*binds ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT));
  OK(cudaDeviceSynchronize());
  return (int)cudaFreeHost(word);
}

Test(word, a_thread_must_call_cudaSetDevice_first)
{
  int binds = 1;
  cr_assert_eq(count_seeds(1, without_context, &binds, (simdev_options){0}, 3, SIMDEV_OK), 3);
  binds = 0;
  cr_assert_eq(count_seeds(1, without_context, &binds, (simdev_options){0}, 3, SIMDEV_E_MISUSE), 3);
}
