/* norm.h on simdev: one rank with one device, in whose memory the arrays are copied. A finding of
 * simdev, such as an access out of bounds, is an error. */
#include <stdio.h>
#include <stdlib.h>

#include "../simdev/simdev.h"
#include "queue.h"

enum { FINDING = -2 };

typedef struct call {
  int32_t dtype, n, bytes, error;
  const zp_memory_run *run;
  int64_t *words;
  void *norm;
  const void *x; /* of a fingerprint, or NULL; its lanes are `words` */
  int64_t x_bytes;
  uint64_t at;
} call;

static _Thread_local char finding[1000];

/* Copies to a device's memory, or from it. */
static int32_t copied(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
  return bytes == 0 ? 0 : (int32_t)cudaMemcpy(to, from, bytes, kind);
}

static int32_t on_device(call *c, zp_memory_run *run, int64_t *words, zp_memory_run *table)
{
  const size_t table_bytes = (size_t)c->n * sizeof *run;
  int32_t error = 0;
  for (int32_t i = 0; i < c->n && !error; i++) {
    const size_t bytes = (size_t)run[i].count * (c->dtype == ZP_F32 ? 4 : 2);
    error = (int32_t)cudaMalloc((void **)&run[i].out, bytes ? bytes : 1);
    if (!error) error = copied(run[i].out, run[i].in, bytes, cudaMemcpyHostToDevice);
    run[i].in = run[i].out;
  }
  if (!error) error = copied(table, run, table_bytes, cudaMemcpyHostToDevice);
  if (!error) error = norm_queue_squares(NULL, c->dtype, run, table, c->n, words);
  if (!error) error = (int32_t)cudaStreamSynchronize(NULL);
  for (int32_t i = 0; i < c->n; i++)
    if (run[i].out) cudaFree(run[i].out);
  return error;
}

static int host(void *arg, int rank)
{
  enum { BYTES = ZP_NORM_WORDS * sizeof(int64_t) };
  call *c = arg;
  int64_t *words = NULL, *norm = NULL;
  zp_memory_run *table = NULL, *run = calloc((size_t)c->n + 1, sizeof *run);
  (void)rank;
  for (int32_t i = 0; run && i < c->n; i++) {
    run[i] = c->run[i];
    run[i].out = NULL;
  }
  c->error = run ? (int32_t)cudaMalloc((void **)&words, BYTES) : (int32_t)cudaErrorMemoryAllocation;
  if (!c->error) c->error = (int32_t)cudaMalloc((void **)&norm, sizeof *norm);
  if (!c->error) c->error = (int32_t)cudaMalloc((void **)&table, ((size_t)c->n + 1) * sizeof *run);
  if (!c->error) c->error = copied(words, c->words, BYTES, cudaMemcpyHostToDevice);
  if (!c->error && c->run) c->error = on_device(c, run, words, table);
  if (!c->error && !c->run)
    c->error = norm_queue_root(NULL, words, c->norm ? norm : NULL, c->bytes);
  if (!c->error) c->error = copied(c->words, words, BYTES, cudaMemcpyDeviceToHost);
  if (!c->error && c->norm)
    c->error = copied(c->norm, norm, (size_t)c->bytes, cudaMemcpyDeviceToHost);
  cudaFree(words);
  cudaFree(norm);
  cudaFree(table);
  free(run);
  return 0;
}

static int print_host(void *arg, int rank)
{
  call *c = arg;
  /* the same alignment as in the host's memory */
  const size_t from = (uintptr_t)c->x % 256, bytes = (size_t)c->x_bytes;
  unsigned char *x = NULL;
  int64_t *sum = NULL;
  (void)rank;
  c->error = (int32_t)cudaMalloc((void **)&x, from + bytes);
  if (!c->error) c->error = (int32_t)cudaMalloc((void **)&sum, 2 * sizeof *sum);
  if (!c->error) c->error = copied(x + from, c->x, bytes, cudaMemcpyHostToDevice);
  if (!c->error) c->error = copied(sum, c->words, 2 * sizeof *sum, cudaMemcpyHostToDevice);
  if (!c->error) c->error = norm_queue_fingerprint(NULL, x + from, c->x_bytes, c->at, sum);
  if (!c->error) c->error = copied(c->words, sum, 2 * sizeof *sum, cudaMemcpyDeviceToHost);
  cudaFree(x);
  cudaFree(sum);
  return 0;
}

static int32_t simulated(call *c)
{
  size_t all = (1 << 20) + (size_t)c->x_bytes;
  for (int32_t i = 0; i < c->n; i++) all += (size_t)c->run[i].count * 4 + 4096;
  const simdev_options options = {.device_bytes = 2 * all, .stack_bytes = 4 << 20};
  const char *why = "";
  simdev *s = simdev_open(1, 1, &options, &why);
  if (!s || simdev_host(s, 0, c->x ? print_host : host, c)) {
    snprintf(finding, sizeof finding, "simdev: %s", why);
    c->error = FINDING;
  } else if (simdev_run(s) != SIMDEV_OK) {
    snprintf(finding, sizeof finding, "simdev: %s", simdev_result(s)->text);
    c->error = FINDING;
  }
  simdev_close(s);
  return c->error;
}

int32_t zp_norm_squares(void *stream, int32_t dtype, const zp_memory_run *run,
                        const zp_memory_run *table, int32_t n, int64_t *words)
{
  call c = {.dtype = dtype, .n = n, .run = run, .words = words};
  (void)stream;
  if (n < 0 || !words || (n > ZP_RUNS_HERE && !table)) return -1;
  return n == 0 ? 0 : simulated(&c);
}

int32_t zp_norm_root(void *stream, int64_t *words, void *norm, int32_t bytes)
{
  call c = {.words = words, .norm = norm, .bytes = bytes};
  (void)stream;
  return words ? simulated(&c) : -1;
}

int32_t zp_norm_fingerprint(void *stream, const void *x, int64_t bytes, uint64_t at, int64_t *sum)
{
  call c = {.x = x, .x_bytes = bytes, .at = at, .words = sum};
  (void)stream;
  if (bytes < 0 || (bytes > 0 && !x) || !sum) return -1;
  return bytes == 0 ? 0 : simulated(&c);
}

const char *zp_norm_error(int32_t error)
{
  if (error == FINDING) return finding;
  return error < 0 ? "invalid argument" : cudaGetErrorString((cudaError_t)error);
}
