/* Devices, errors, versions. */
#include "state.h"

cudaError_t cudaSetDevice(int device)
{
  sd_host *h;
  cudaError_t e = sd_call_enter(&h, "cudaSetDevice", SD_PC);
  if (e) return e;
  if (device < 0 || device >= sd_now->devices) return sd_error(h, cudaErrorInvalidDevice);
  h->device = device;
  h->bound = 1;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
  sd_host *h;
  cudaError_t e = sd_call_enter(&h, "cudaGetDevice", SD_PC);
  if (e) return e;
  if (!device) return sd_error(h, cudaErrorInvalidValue);
  *device = h->device;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
  sd_host *h;
  cudaError_t e = sd_call_enter(&h, "cudaGetDeviceCount", SD_PC);
  if (e) return e;
  if (!count) return sd_error(h, cudaErrorInvalidValue);
  *count = sd_now->devices;
  return cudaSuccess;
}

/* Waits for the streams that the device has at the time of the call. */
cudaError_t cudaDeviceSynchronize(void)
{
  simdev *s = sd_now;
  sd_host *h;
  cudaError_t e = sd_call_enter(&h, "cudaDeviceSynchronize", SD_PC);
  if (e) return e;
  for (sd_stream *st = s->rank[h->agent.rank].streams.all; st; st = st->next)
    if (st->device == h->device) {
      e = sd_stream_wait(h, st);
      if (e) return sd_error(h, e);
    }
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
  simdev *s = sd_now;
  sd_host *h;
  cudaError_t e = sd_call_enter(&h, "cudaMemGetInfo", SD_PC);
  if (e) return e;
  if (!free_bytes || !total) return sd_error(h, cudaErrorInvalidValue);
  *total = s->opt.device_bytes;
  *free_bytes = s->opt.device_bytes - s->rank[h->agent.rank].used[h->device];
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
  sd_host *h;
  cudaError_t e = sd_call_enter(&h, "cudaDeviceGetAttribute", SD_PC);
  if (e) return e;
  if (!value) return sd_error(h, cudaErrorInvalidValue);
  if (device < 0 || device >= sd_now->devices) return sd_error(h, cudaErrorInvalidDevice);
  switch (attribute) { /* of an H200 */
  case cudaDevAttrMultiProcessorCount: *value = 132; break;
  case cudaDevAttrMaxThreadsPerBlock: *value = 1024; break;
  case cudaDevAttrWarpSize: *value = 32; break;
  case cudaDevAttrMaxSharedMemoryPerBlock: *value = 48 << 10; break;
  case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = 227 << 10; break;
  case cudaDevAttrMaxThreadsPerMultiProcessor: *value = 2048; break;
  case cudaDevAttrComputeCapabilityMajor: *value = 9; break;
  case cudaDevAttrComputeCapabilityMinor: *value = 0; break;
  default:
    sd_note(sd_now, SIMDEV_E_MISUSE, 0, h->agent.rank,
            "rank %d, call %d: simdev does not support device attribute %d", h->agent.rank, h->call,
            (int)attribute);
    return sd_error(h, cudaErrorNotSupported);
  }
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
  if (!version) return cudaErrorInvalidValue;
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
  return cudaRuntimeGetVersion(version);
}

/* Reading the last error cannot fail, and does not let others run. */
static cudaError_t last_error(int clear)
{
  sd_host *h = sd_now ? sd_now->hosts.running : NULL;
  cudaError_t e;
  if (!h || sd_now->streams.in_callback) return cudaErrorNotPermitted;
  e = sd_now->rank[h->agent.rank].process.sticky ? sd_now->rank[h->agent.rank].process.sticky
                                                 : h->last_error;
  if (clear) h->last_error = cudaSuccess;
  return e;
}

cudaError_t cudaGetLastError(void)
{
  return last_error(1);
}

cudaError_t cudaPeekAtLastError(void)
{
  return last_error(0);
}

typedef struct named_error {
  cudaError_t error;
  const char *name, *text;
} named_error;

static const named_error known[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
     "invalid configuration argument"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection",
     "invalid copy direction for memcpy"},
    {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress",
     "an illegal memory access was encountered"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorECCUncorrectable, "cudaErrorECCUncorrectable", "uncorrectable ECC error encountered"},
    {cudaErrorNotPermitted, "cudaErrorNotPermitted", "operation not permitted"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};

static const named_error *error_of(cudaError_t e)
{
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i].error == e) return &known[i];
  return NULL;
}

const char *cudaGetErrorName(cudaError_t error)
{
  const named_error *e = error_of(error);
  return e ? e->name : "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
  const named_error *e = error_of(error);
  return e ? e->text : "unrecognized error code";
}
