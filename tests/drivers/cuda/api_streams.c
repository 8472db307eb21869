/* The caller's own loop on several streams, without any wait of the host: what orders work is
 * the engine alone, and the joins that engine.h asks of the caller. A gradient is a copy of a
 * parameter, so that a stream that reads too early or too late changes all that follows. The
 * reference's program is the same one without streams. Prints what came out, in all bits. */
#include <stdio.h>
#include <stdlib.h>
#include <zeroproof.h>
#ifdef CUDA
#include <cuda_runtime_api.h>
#define NEW(p, n) cudaMalloc((void **)(p), n)
#define FREE(p) cudaFree(p)
#define COPY(to, from, n, s) cudaMemcpyAsync(to, from, n, cudaMemcpyDefault, s)
#define STREAM(s) cudaStreamCreateWithFlags((cudaStream_t *)(s), cudaStreamNonBlocking)
#define REST(s) (cudaStreamSynchronize(s) || cudaStreamDestroy(s))
#define EVENT cudaEvent_t
#define MAKE(e) cudaEventCreateWithFlags(e, cudaEventDisableTiming)
#define JOIN(to, from, e) (cudaEventRecord(e, from) || cudaStreamWaitEvent(to, e, 0))
#define DROP(e) cudaEventDestroy(e)
#else
#include <string.h>
#define NEW(p, n) ((*(p) = malloc(n)) == NULL)
#define FREE(p) free(p)
#define COPY(to, from, n, s) (memcpy(to, from, n) == NULL)
#define STREAM(s) (*(s) != NULL)
#define REST(s) ((s) != NULL)
#define EVENT int
#define MAKE(e) (*(e) = 0)
#define JOIN(to, from, e) (e)
#define DROP(e) (void)(e)
#endif

/* LONG: work done again and again, so that others may overtake it */
enum { N = 12, LAYERS = 2, GLOBAL = 4, STEPS = 4, BYTES = N * sizeof(float), LONG = 10 };

typedef struct loop {
  zp_engine *e;
  int mbs, rank;
  void *stream[3]; /* gradients of each layer; losses */
  EVENT event;
  float *grad[LAYERS], *loss, *seen; /* seen: [STEPS][N] the last layer, before each step's end */
} loop;

static int micro_batch(loop *l, int64_t mb)
{
  for (int i = 0; i < LONG; i++)
    if (COPY(l->loss, zp_engine_param(l->e, 0), sizeof *l->loss, l->stream[2])) return -1;
  if (zp_engine_loss(l->e, mb, l->loss, l->stream[2])) return -1;
  for (int k = LAYERS - 1; k >= 0; k--) {
    const int from = (int)((k + mb + l->rank) % LAYERS);
    if (COPY(l->grad[k], zp_engine_param(l->e, from), BYTES, l->stream[k])) return -1;
    if (zp_engine_grad_ready(l->e, k, mb, l->grad[k], N, ZP_F32, l->stream[k])) return -1;
  }
  return 0;
}

/* Other streams are joined to the first one, which ends the step, and start behind it. */
static int step(loop *l, int i)
{
  for (int s = 1; s < 3; s++)
    if (JOIN(l->stream[s], l->stream[0], l->event)) return -1;
  for (int64_t mb = 0; mb < l->mbs; mb++)
    if (micro_batch(l, mb)) return -1;
  for (int s = 1; s < 3; s++)
    if (JOIN(l->stream[0], l->stream[s], l->event)) return -1;
  for (int k = 0; k < LONG; k++)
    if (COPY(l->seen + i * N, zp_engine_param(l->e, 1), BYTES, l->stream[0])) return -1;
  return zp_engine_step(l->e, l->stream[0]);
}

static int make(loop *l)
{
  for (int s = 0; s < 3; s++)
    if (STREAM(&l->stream[s])) return -1;
  for (int k = 0; k < LAYERS; k++)
    if (NEW(&l->grad[k], BYTES)) return -1;
  return MAKE(&l->event) || NEW(&l->loss, sizeof *l->loss) || NEW(&l->seen, STEPS * BYTES);
}

static void drop(loop *l)
{
  for (int k = 0; k < LAYERS; k++) FREE(l->grad[k]);
  FREE(l->loss);
  FREE(l->seen);
  DROP(l->event);
}

static int report(loop *l)
{
  float seen[STEPS * N];
  zp_engine_state s = {.size = sizeof s};
  if (zp_engine_get(l->e, &s) || COPY(seen, l->seen, sizeof seen, l->stream[0])) return -1;
  for (int i = 0; i < 3; i++)
    if (REST(l->stream[i])) return -1;
  if (l->rank != 0) return 0;
  printf("loss %a norm %a\n", (double)s.loss, s.norm);
  for (int i = 0; i < STEPS * N; i++) printf("step %d %d: %a\n", i / N, i % N, (double)seen[i]);
  return 0;
}

int main(int argc, char **argv)
{
  zp_error err = {0};
  zp_job job = {.world = 1};
  int failed = zp_job_read(&job, &err);
  const zp_param list[] = {{.numel = N, .tied = -1}, {.numel = N, .tied = -1}};
  const zp_config config = {.pp = 1,
                            .dp = job.world,
                            .tp = 1,
                            .ep = 1,
                            .stage = 2,
                            .reduce = ZP_EXACT,
                            .params = list,
                            .n_params = LAYERS,
                            .optgroups = 1,
                            .micro_batches = GLOBAL / job.world,
                            .bucket = 8,
                            .align = 1};
  loop l = {.mbs = (int)config.micro_batches, .rank = job.rank};
  float w[LAYERS][N];
  (void)argc, (void)argv;
  zp_engine_options o;
  for (int i = 0; i < LAYERS * N; i++) w[i / N][i % N] = (float)(i % 11 - 5) / 16;
  zp_engine_defaults(&o, sizeof o, &job);
  o.config = &config, o.first = (const void *[]){w[0], w[1]}, o.hyper.optim[0].lr = 0.05;
  failed = failed || zp_engine_create(&l.e, &o, &err) || make(&l);
  for (int i = 0; i < STEPS && !failed; i++) failed = step(&l, i);
  failed = failed || report(&l);
  if (failed) fprintf(stderr, "%s\n", l.e ? zp_engine_why(l.e)->text : err.text);
  if (zp_engine_destroy(l.e, &err) && !failed) failed = fprintf(stderr, "%s\n", err.text);
  if (failed) return 3;
  drop(&l);
  return 0;
}
