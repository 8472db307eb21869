/* Compiled with a default stream per thread: stream 0 is then each host's own. */
#define CUDA_API_PER_THREAD_DEFAULT_STREAM
#include <criterion/criterion.h>

#include "case.h"

static int32_t *shared_x;

/* Two hosts of one rank: the second's stream 0 does not wait for the first's. */
static int first(void *arg, int rank)
{
  (void)arg, (void)rank;
  OK(make_vector(&shared_x));
  OK(cudaMemset(shared_x, 0, N * sizeof(int32_t)));
  OK(cudaDeviceSynchronize());
  OK(fill(shared_x, 5, 0));
  simdev_signal(&shared_x);
  return (int)cudaStreamSynchronize(0);
}

static int second(void *arg, int rank)
{
  int32_t out[N];
  (void)rank;
  OK(simdev_await(&shared_x));
  OK(cudaMemcpyAsync(out, shared_x, sizeof out, cudaMemcpyDeviceToHost, 0));
  OK(cudaStreamSynchronize(0));
  ++((int *)arg)[holds(out, 5)];
  return 0;
}

Test(per_thread_default_stream, each_host_has_its_own_default_stream)
{
  int seen[2] = {0, 0};
  simdev *s = simdev_open(1, 1, NULL, NULL);
  simdev_host(s, 0, first, NULL);
  simdev_host(s, 0, second, seen);
  for (int k = 0; k < SEEDS; k++) {
    simdev_reset(s, &(simdev_options){.seed = (uint64_t)k, .allow_leaks = 1});
    cr_assert_eq(simdev_run(s), SIMDEV_OK, "%s", simdev_result(s)->text);
  }
  simdev_close(s);
  cr_assert_gt(seen[0], 0);
  cr_assert_gt(seen[1], 0);
}
