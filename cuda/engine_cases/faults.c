#include "faults.h"

#include <string.h>

#include "../../ref/engine_cases/cases.h"
#include "../engine/device/sync_points.h"

#define LEFT_OUT(id, name, clause, text)                                                           \
  {"drop-sync:" name, "each wait and record of the engine (cuda/engine/device/sync_points.h)",     \
   clause, "dropped: " text, "dp=2,M=2,steps=4,list=4@0.0+3@0.0"},
#define SYNC_POINT(id, name, clause, text) ZP_SYNC_##id,

static const zp_fault left_out[] = {ZP_CUDA_SYNC_POINTS(LEFT_OUT)};
static const int32_t sync_point[] = {ZP_CUDA_SYNC_POINTS(SYNC_POINT)};
enum { LEFT_OUT_COUNT = sizeof left_out / sizeof *left_out };

int32_t zp_api_cuda_fault_count(void)
{
  return zp_api_fault_count() + LEFT_OUT_COUNT;
}

const zp_fault *zp_api_cuda_fault_at(int32_t i)
{
  const int32_t n = zp_api_fault_count();
  return i < n ? zp_api_fault_at(i) : &left_out[i - n];
}

const zp_fault *zp_api_cuda_fault_find(const char *name)
{
  for (int32_t i = 0; i < LEFT_OUT_COUNT; i++)
    if (strcmp(left_out[i].name, name) == 0) return &left_out[i];
  return zp_api_fault_find(name);
}

static int leave_out(void *ctx, zp_cuda_action *action)
{
  return action->sync_point == *(const int32_t *)ctx; /* only waits and records have one */
}

zp_cuda_intercept zp_api_cuda_fault_intercept(const zp_fault *fault)
{
  static int32_t which;
  for (int32_t i = 0; i < LEFT_OUT_COUNT; i++) {
    if (fault != &left_out[i]) continue;
    which = sync_point[i];
    return (zp_cuda_intercept){&which, leave_out};
  }
  return (zp_cuda_intercept){0};
}
