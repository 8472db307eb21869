/* Our side of `make bench-adamw` (bench_adamw.py): the AdamW step on the host, timed on request.
 * Usage: bench_adamw N THREADS large|small [DIVISOR]
 * With DIVISOR the gradients are sums, DIVISOR times the means, as with offload and native or
 * ordered sums, and the pass also divides (RED-4).
 * Reads lines: "plain": one step on fp32, as the others do it; "whole": the same pass also
 * unscales, clips and rounds to bf16; "bytes": no step, but what "plain" moves, with next to no
 * arithmetic. Answers with the seconds that it took, those of all processors, and the parameters
 * at five places. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../cuda/host_optimizer/pages.h"
#include "../../cuda/host_optimizer/update.h"
#include "../../cuda/kernels/statistics.h"
#include "../../ref/base/clock.h"

static double processor_seconds(void)
{
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* As in bench_adamw.py; exact in fp32 up to 2^17 `times`. */
static void first_values(float *grad, float *master, int64_t n, int64_t times)
{
#ifdef _OPENMP
#pragma omp parallel for schedule(static)
#endif
  for (int64_t i = 0; i < n; i++) {
    grad[i] = (float)((i % 251 - 125) * times) / 4096;
    master[i] = (float)(i % 509 - 254) / 256;
  }
}

static const zp_optim optim = {.kind = ZP_OPTIM_ADAMW,
                               .lr = 1e-3,
                               .beta1 = 0.9,
                               .beta2 = 0.999,
                               .eps = 1e-8,
                               .weight_decay = 0.01};

static void step(zp_host_update *u, zp_group_state *group, uint16_t *half, int whole, int threads)
{
  const zp_decision d = {.log2_scale = whole ? 3 : 0, .clip_factor = whole ? 0.5 : 1};
  zp_tick_group(&optim, &d, group);
  u->dtype = whole ? ZP_BF16 : ZP_F32;
  u->out = whole ? half : NULL;
  zp_host_update_run(u, threads);
}

/* Each array read once, three of them written: 28 bytes an element. All stay within what a step may
 * find, and close to what it left: the factors are 1 or nearly so, and unknown to the compiler. */
static void move_bytes(const zp_host_update *u, int threads)
{
  volatile float given = 1.0f;
  const float one = given, none = one - 1.0f;
  const float *g = u->grad;
  float *w = u->master, *m = u->m, *v = u->v;
  (void)threads;
#ifdef _OPENMP
#pragma omp parallel for simd num_threads(threads) schedule(static)
#endif
  for (int64_t i = 0; i < u->n; i++) {
    w[i] *= one;
    m[i] *= one;
    v[i] += none * g[i];
  }
}

int main(int argc, char **argv)
{
  const int given = argc == 4 || argc == 5;
  const int64_t n = given ? (int64_t)strtod(argv[1], NULL) : 0;
  const int threads = given ? atoi(argv[2]) : 0, large = given && !strcmp(argv[3], "large");
  const int64_t divisor = argc == 5 ? strtoll(argv[4], NULL, 10) : 0;
  const size_t bytes = (size_t)n * sizeof(float);
  zp_group_state group = {.optim = {1, 1, 0}};
  float *array[4];
  uint16_t *half = zp_host_pages(bytes / 2, large);
  char line[32];
  if (n < 1 || divisor < 0 || divisor > 1 << 17) {
    fprintf(stderr, "usage: bench_adamw N THREADS large|small [DIVISOR]\n");
    return 2;
  }
  for (int i = 0; i < 4; i++) array[i] = zp_host_pages(bytes, large);
  if (!array[0] || !array[1] || !array[2] || !array[3] || !half) {
    fprintf(stderr, "bench_adamw: no memory for %ld elements\n", (long)n);
    return 1;
  }
  zp_host_update u = {&group, array[0], array[1], array[2], array[3], half, divisor, n, n, ZP_F32};
  first_values(array[0], array[1], n, divisor > 0 ? divisor : 1);
  memset(array[2], 0, bytes);
  memset(array[3], 0, bytes);
  memset(half, 0, bytes / 2);
  printf("ready\n");
  fflush(stdout);
  while (fgets(line, sizeof line, stdin)) {
    const double begun = zp_clock_s(), used = processor_seconds();
    if (line[0] == 'b') move_bytes(&u, threads);
    else step(&u, &group, half, line[0] == 'w', threads);
    printf("%.9f %.9f", zp_clock_s() - begun, processor_seconds() - used);
    for (int k = 0; k < 5; k++) printf(" %.9g", (double)u.master[(n - 1) / 4 * k]);
    printf("\n");
    fflush(stdout);
  }
  return 0;
}
