#include "device.h"

#include <cuda_runtime_api.h>

#include "../../ref/num/ordered.h"
#include "ranks.h"

static int create(void *ctx, zp_engine **out, const zp_engine_options *options, zp_error *err)
{
  zp_engine_options o = *options;
  (void)ctx;
  if (cudaGetDevice(&o.device)) return ZP_E_DEVICE;
  return zp_simdev_ranks_create(out, &o, err);
}

static void *alloc(void *ctx, int32_t on_host, size_t bytes)
{
  void *memory;
  (void)ctx;
  if (on_host) return cudaMallocHost(&memory, bytes) ? NULL : memory;
  return cudaMalloc(&memory, bytes) ? NULL : memory;
}

static void release(void *ctx, int32_t on_host, void *memory)
{
  (void)ctx;
  if (on_host) cudaFreeHost(memory);
  else cudaFree(memory);
}

static int open_stream(void *ctx, zp_rank_stream_kind kind, void **stream)
{
  (void)ctx;
  *stream = NULL;
  if (kind == ZP_RANK_STREAM_DEFAULT) return 0;
  return cudaStreamCreateWithFlags((cudaStream_t *)stream, kind == ZP_RANK_STREAM_BLOCKING
                                                               ? cudaStreamDefault
                                                               : cudaStreamNonBlocking);
}

static void close_stream(void *ctx, void *stream)
{
  (void)ctx;
  if (stream) cudaStreamDestroy(stream);
}

static int copy(void *ctx, void *to, const void *from, size_t bytes, void *stream)
{
  (void)ctx;
  return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream) != cudaSuccess;
}

static int fill(void *ctx, void *to, size_t bytes, void *stream)
{
  (void)ctx;
  return cudaMemsetAsync(to, 0xff, bytes, stream) != cudaSuccess;
}

typedef struct addend {
  float *to;
  const float *from;
  int64_t n;
} addend;

/* RED-4 */
static void add_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const addend *p = params;
  (void)t, (void)shared, (void)phase;
  zp_ordered_add_f32(p->to, p->from, p->n);
}
static const simdev_kernel add_kernel = {"add to the lent sum", sizeof(addend), 1, add_body};

static int add(void *ctx, float *to, const float *from, int64_t n, void *stream)
{
  addend p = {to, from, n};
  void *args[] = {&p};
  (void)ctx;
  return cudaLaunchKernel(&add_kernel, (dim3){1, 1, 1}, (dim3){1, 1, 1}, args, 0, stream) !=
         cudaSuccess;
}

static int join(void *ctx, void *stream, void *other)
{
  cudaEvent_t event;
  (void)ctx;
  if (cudaEventCreateWithFlags(&event, cudaEventDisableTiming)) return 1;
  const int failed = cudaEventRecord(event, other) || cudaStreamWaitEvent(stream, event, 0);
  return cudaEventDestroy(event) || failed;
}

static int wait_for(void *ctx, void *stream)
{
  (void)ctx;
  return cudaStreamSynchronize(stream) != cudaSuccess;
}

int zp_cuda_rank_device_load(void)
{
  struct cudaFuncAttributes unused;
  return cudaFuncGetAttributes(&unused, &add_kernel) != cudaSuccess;
}

const zp_rank_device zp_cuda_rank_device = {.create = create,
                                            .streams = ZP_RANK_STREAMS,
                                            .asynchronous = 1,
                                            .offloads = 1,
                                            .can_create_again = 1,
                                            .alloc = alloc,
                                            .release = release,
                                            .open_stream = open_stream,
                                            .close_stream = close_stream,
                                            .copy = copy,
                                            .fill = fill,
                                            .add = add,
                                            .join = join,
                                            .wait = wait_for};
