/* The measurements of kernel_bench, on simdev: what they do to memory. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "../../../cuda/gpu/measure.h"
#include "../../../cuda/gpu/probe.h"
#include "../../../cuda/simdev/simdev.h"

enum { N = 4096, LAUNCHES = 3, EACH = 100 };

/* 0, or the line of a call that failed. */
#define OK(call)                                                                                   \
  do {                                                                                             \
    if ((call) != 0) return __LINE__;                                                              \
  } while (0)

typedef struct result {
  unsigned char flush[4096];
  uint32_t out[LAUNCHES * EACH + 1];
} result;

/* Fills three parts of an array, each by a launch with params of its own. */
static int measure(zp_bench *b, result *r)
{
  zp_fill_params p[LAUNCHES];
  uint32_t *out = (uint32_t *)(void *)b->array[1];
  zp_bench_job j = {.name = "fill",
                    .dtype = "fp32",
                    .data = "gradients",
                    .tensors = 1,
                    .elements = N,
                    .kernel = zp_kernel_fill,
                    .l = {1, 32, 0},
                    .params = p,
                    .launches = LAUNCHES,
                    .params_bytes = sizeof *p,
                    .read = 64,
                    .write = 64};
  for (int i = 0; i < LAUNCHES; i++)
    p[i] = (zp_fill_params){.out = out + i * EACH, .n = EACH, .dtype = ZP_F32, .seed = 7};
  OK(cudaMemsetAsync(b->flush, 0x11, b->flush_bytes, b->stream));
  OK(cudaMemsetAsync(out, 0, sizeof r->out, b->stream));
  OK(zp_bench_measure(b, &j));
  OK(cudaMemcpyAsync(r->flush, b->flush, sizeof r->flush, cudaMemcpyDeviceToHost, b->stream));
  OK(cudaMemcpyAsync(r->out, out, sizeof r->out, cudaMemcpyDeviceToHost, b->stream));
  return (int)cudaStreamSynchronize(b->stream);
}

static int host(void *arg, int rank)
{
  zp_bench b = {.n = N, .repetitions = 2};
  const int failed = zp_bench_open(&b) || measure(&b, arg);
  (void)rank;
  zp_bench_close(&b);
  return failed;
}

static void run(result *r)
{
  const simdev_options o = {.stack_bytes = 4 << 20};
  const char *why = "";
  simdev *s = simdev_open(1, 1, &o, &why);
  cr_assert(s, "%s", why);
  cr_assert_eq(simdev_host(s, 0, host, r), 0);
  cr_assert_eq(simdev_run(s), SIMDEV_OK, "%s", simdev_result(s)->text);
  simdev_close(s);
}

/* Dirty lines of L2 would be written to memory while a kernel is measured. */
Test(measure, a_flush_writes_nothing)
{
  result r = {{0}, {0}};
  run(&r);
  for (size_t i = 0; i < sizeof r.flush; i++) cr_assert_eq(r.flush[i], 0x11, "byte %zu", i);
}

Test(measure, each_launch_of_a_job_has_its_own_params)
{
  result r = {{0}, {0}};
  run(&r);
  cr_assert_neq(r.out[0], 0);
  for (int i = 1; i < LAUNCHES; i++)
    cr_assert_eq(memcmp(r.out, r.out + i * EACH, EACH * sizeof *r.out), 0, "launch %d", i);
  cr_assert_eq(r.out[LAUNCHES * EACH], 0);
}
