/* The memory of offload: large arrays are pages that CUDA registers or, if it refuses, CUDA's
 * memory. The bits are those without offload, and all memory is freed. On the device of at_once.c,
 * one rank. Prints "ok NAME" or "not ok NAME". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../ref/engine/engine.h"

enum { N = 700001, SMALL = 5, STEPS = 3 };

extern int64_t at_once_registered, at_once_registered_bytes;
extern int at_once_registers_nothing;

static int exchange(void *ctx, int32_t rank, void *bytes, size_t n)
{
  (void)ctx, (void)rank, (void)bytes, (void)n;
  return 0;
}

/* Parameters after STEPS steps; NULL after printing an error. */
static float *trained(int offload)
{
  static const zp_param list[] = {{.numel = N, .tied = -1}, {.numel = SMALL, .tied = -1}};
  static const zp_config config = {.pp = 1,
                                   .dp = 1,
                                   .tp = 1,
                                   .ep = 1,
                                   .stage = 2,
                                   .reduce = ZP_EXACT,
                                   .optgroups = 1,
                                   .micro_batches = 1,
                                   .bucket = 100000,
                                   .align = 1,
                                   .params = list,
                                   .n_params = 2};
  float *grad = calloc(N, sizeof *grad), *end = calloc(N, sizeof *end);
  zp_job alone = {.world = 1, .local_world = 1};
  zp_engine_options o;
  zp_error err = {0};
  zp_engine *e;
  int bad = !grad || !end;
  zp_engine_defaults(&o, sizeof o, &alone);
  o.config = &config;
  o.exchange = exchange;
  o.offload = offload;
  bad = bad || zp_engine_create(&e, &o, &err);
  for (int s = 0; !bad && s < STEPS; s++) {
    for (int64_t i = 0; i < N; i++) grad[i] = (float)((i * 7 + s) % 23 - 11) / 64;
    bad = zp_engine_grad_ready(e, 1, 0, grad, SMALL, ZP_F32, NULL) ||
          zp_engine_grad_ready(e, 0, 0, grad, N, ZP_F32, NULL) || zp_engine_step(e, NULL);
  }
  if (!bad) memcpy(end, zp_engine_param(e, 0), N * sizeof *end);
  if (bad) printf("# %s\n", err.status ? err.text : zp_engine_why(e)->text);
  if (!err.status && zp_engine_destroy(e, &err)) printf("# %s\n", err.text);
  free(grad);
  if (!bad && !err.status) return end;
  free(end);
  return NULL;
}

static int verdict(int good, const char *name)
{
  printf("%s %s\n", good ? "ok" : "not ok", name);
  return !good;
}

int main(void)
{
  int bad = 0;
  float *plain = trained(0);
  bad |= verdict(plain && at_once_registered_bytes == 0, "without_offload_nothing_is_registered");
  float *large = trained(1);
  bad |= verdict(plain && large && memcmp(plain, large, N * sizeof *plain) == 0,
                 "with_it_the_bits_are_the_same");
  /* means, masters, two moments, parameters to copy back: 4 bytes each */
  bad |= verdict(at_once_registered_bytes >= (int64_t)5 * N * 4, "large_arrays_are_registered");
  bad |= verdict(at_once_registered == 0, "all_are_given_back");
  const int64_t before = at_once_registered_bytes;
  at_once_registers_nothing = 1;
  float *small = trained(1);
  bad |= verdict(plain && small && memcmp(plain, small, N * sizeof *plain) == 0 &&
                     at_once_registered_bytes == before,
                 "where_cuda_registers_nothing_it_has_memory_itself");
  free(plain);
  free(large);
  free(small);
  return bad;
}
