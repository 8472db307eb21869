/* The streams that gradients come on are the caller's, and may be any: the default one, too. */
#include <criterion/criterion.h>

#include "engine_case.h"

/* One producer is the legacy default stream, whose handle is NULL: it has to be waited for like
 * others, and the engine's streams, which are non-blocking, do not wait for it by themselves.
 * STRM-1, STRM-2, RED-4 */
Test(streams, of_producers_may_be_the_default_stream)
{
  int32_t windows = 0, slots = 0;
  for (uint32_t seed = 1; seed <= 100; seed++) {
    static job j;
    simdev *s;
    cr_assert_eq(job_fill(&j, seed, 4), 0);
    if (j.r.c.micro_batches > 1) {
      j.on_default = 1;
      s = job_simdev(&j, NULL);
      for (uint64_t k = 0; k < 8; k++) {
        const simdev_options o = {.seed = k, .order = (simdev_order)(k % 4)};
        cr_assert_eq(job_run(&j, s, &o), SIMDEV_OK, "job %u, order %d: %s %s", seed, (int)k, j.text,
                     simdev_result(s)->text);
      }
      simdev_close(s);
      if (j.r.c.stage < 2) windows++;
      else slots++;
    }
    job_free(&j);
  }
  cr_assert(windows > 5 && slots > 5);
}

/* One handle, another stream in each thread: the engine, which launches an ADD from the thread
 * whose turn it is, would not know which. */
Test(streams, of_producers_are_not_each_threads_own)
{
  int32_t refused = 0;
  for (uint32_t seed = 1; seed <= 20; seed++) {
    static job j;
    simdev *s;
    cr_assert_eq(job_fill(&j, seed, 4), 0);
    j.on_default = 2;
    s = job_simdev(&j, NULL);
    job_run(&j, s, &(simdev_options){.seed = seed, .allow_leaks = 1});
    for (int32_t r = 0; r < j.world; r++)
      refused += j.error[r].status == ZP_CUDA_E_ARRIVAL &&
                 strstr(j.error[r].text, "cudaStreamPerThread") != NULL;
    simdev_close(s);
    job_free(&j);
  }
  cr_assert_gt(refused, 10);
}
