/* How threads share a kernel's items (elements or columns): a thread takes items i, i + step,
 * i + 2·step, … A row whose sums are chains is a warp's. */
#ifndef ZP_CUDA_ITEMS_H
#define ZP_CUDA_ITEMS_H
#include "../kernels/device.h"

/* The thread's first item. */
ZP_ON_DEVICE int64_t zp_item(simdev_thread t)
{
  return (int64_t)t.blockIdx[0] * t.blockDim[0] + t.threadIdx[0];
}

ZP_ON_DEVICE int64_t zp_item_step(simdev_thread t)
{
  return (int64_t)t.gridDim[0] * t.blockDim[0];
}

/* ---- Rows by warps --------------------------------------------------------------------------- */

enum { ZP_WARP = 32, ZP_ROWS = 4, ZP_ROW_KEPT = 3 };

/* Its warp's row, if below the number of rows; its lane, which has elements lane, lane + ZP_WARP, …
 * kept: shared memory of the row, as only memory keeps values from one phase to the next. */
typedef struct zp_row {
  int64_t n;
  int32_t lane;
  float *kept;
} zp_row;

ZP_ON_DEVICE zp_row zp_row_of(simdev_thread t, void *shared)
{
  const int32_t warp = (int32_t)t.threadIdx[0] / ZP_WARP;
  zp_row row;
  row.n = (int64_t)t.blockIdx[0] * ZP_ROWS + warp;
  row.lane = (int32_t)t.threadIdx[0] % ZP_WARP;
  row.kept = (float *)shared + ZP_ROW_KEPT * warp;
  return row;
}

/* For i = 0 … n − 1, in this order: x is `value` of i, then `add`. On a device each lane of the
 * warp computes the values of its elements, and all lanes add all of them, with equal results; in
 * C lane 0 does, and its results alone are valid. */
#ifdef __CUDACC__
#define ZP_IN_ORDER(row, i, n, x, value, add)                                                      \
  for (int64_t zp_from = 0; zp_from < (n); zp_from += ZP_WARP) {                                   \
    const int64_t i = zp_from + (row).lane;                                                        \
    const float zp_own = i < (n) ? (value) : 0.0f;                                                 \
    for (int zp_lane = 0; zp_lane < ZP_WARP && zp_from + zp_lane < (n); zp_lane++) {               \
      const float x = __shfl_sync(0xffffffffu, zp_own, zp_lane);                                   \
      add;                                                                                         \
    }                                                                                              \
  }
#else
#define ZP_IN_ORDER(row, i, n, x, value, add)                                                      \
  for (int64_t i = 0; (row).lane == 0 && i < (n); i++) {                                           \
    const float x = (value);                                                                       \
    add;                                                                                           \
  }
#endif

#endif
