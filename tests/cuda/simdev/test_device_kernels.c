/* The device kernels through cudaLaunchKernel, as the engine launches them. */
#include <criterion/criterion.h>
#include <math.h>

#include "../../../cuda/kernels/kernels.h"
#include "case.h"

enum { FIRST = 5000, SECOND = 33, TOTAL = FIRST + SECOND };

static int launch(const void *kernel, zp_launch l, void *params, cudaStream_t stream)
{
  void *args[] = {params};
  return (int)cudaLaunchKernel(kernel, (dim3){l.grid, 1, 1}, (dim3){l.block, 1, 1}, args, l.shared,
                               stream);
}

/* Two gradients go into a bucket on one stream, and out of it into parameters on another, where
 * their squares are summed as well. */
static int there_and_back(void *arg, int rank)
{
  zp_gather_params in = {.dtype = ZP_F32};
  zp_scatter_params out = {.bytes = 4};
  zp_squares_params sq = {.dtype = ZP_F32};
  float host[TOTAL], *gradient, *bucket, *param, back[TOTAL];
  int64_t *bad, bad_back[2];
  cudaStream_t a, b;
  cudaEvent_t e;
  (void)arg;
  for (int i = 0; i < TOTAL; i++) host[i] = (float)(i + rank);
  host[7] = INFINITY;
  OK(make_stream(&a));
  OK(make_stream(&b));
  OK(make_event(&e));
  OK(cudaMalloc((void **)&gradient, sizeof host));
  OK(cudaMalloc((void **)&bucket, sizeof host));
  OK(cudaMalloc((void **)&param, sizeof host));
  OK(cudaMalloc((void **)&bad, 2 * sizeof *bad));
  OK(cudaMalloc((void **)&sq.tally, sizeof *sq.tally));
  OK(cudaMemsetAsync(bad, 0, 2 * sizeof *bad, a));
  OK(cudaMemsetAsync(sq.tally, 0, sizeof *sq.tally, a));
  OK(cudaMemcpyAsync(gradient, host, sizeof host, cudaMemcpyHostToDevice, a));
  in.nonfinite = &bad[0];
  in.runs.n = out.runs.n = 2;
  in.runs.here[0] = (zp_memory_run){gradient, bucket + SECOND, 0, FIRST, 0};
  in.runs.here[1] = (zp_memory_run){gradient + FIRST, bucket, 0, SECOND, 0};
  out.runs.here[0] = (zp_memory_run){bucket + SECOND, param, 0, FIRST, 0};
  out.runs.here[1] = (zp_memory_run){bucket, param + FIRST, 0, SECOND, 0};
  in.runs.tiles = zp_runs_lay(in.runs.here, 2);
  out.runs.tiles = zp_runs_lay(out.runs.here, 2);
  OK(launch(zp_kernel_gather_copy, zp_launch_runs(in.runs.here, 2), &in, a));
  OK(cudaEventRecord(e, a));
  OK(cudaStreamWaitEvent(b, e, 0));
  OK(launch(zp_kernel_scatter, zp_launch_runs(out.runs.here, 2), &out, b));
  sq.nonfinite = &bad[1];
  sq.runs = out.runs;
  sq.lanes = zp_squares_lanes(sq.runs.here, 2);
  OK(launch(zp_kernel_squares, zp_launch_squares(sq.runs.here, 2), &sq, b));
  OK(cudaMemcpyAsync(back, param, sizeof back, cudaMemcpyDeviceToHost, b));
  OK(cudaMemcpyAsync(bad_back, bad, sizeof bad_back, cudaMemcpyDeviceToHost, b));
  OK(cudaDeviceSynchronize());
  IS(memcmp(back, host, sizeof back) == 0);
  IS(bad_back[0] == 1 && bad_back[1] == 1);
  OK(cudaFree(gradient));
  OK(cudaFree(bucket));
  OK(cudaFree(param));
  OK(cudaFree(bad));
  OK(cudaFree(sq.tally));
  OK(cudaStreamDestroy(a));
  OK(cudaStreamDestroy(b));
  return (int)cudaEventDestroy(e);
}

/* spec: PART-9, STAT-3 */
Test(device_kernels, device_kernels_run_on_streams_of_simdev)
{
  for (int order = SIMDEV_RANDOM; order <= SIMDEV_LAZY; order++)
    cr_assert_eq(
        count_seeds(2, there_and_back, NULL, (simdev_options){.order = order}, 10, SIMDEV_OK), 10);
}
