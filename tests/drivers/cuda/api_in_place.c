/* Gradients written where the engine adds them (zp_engine_grad_buffer), in a loop of the caller's
 * own. Compiled for either engine. Prints the parameters after some steps, in all bits: they are
 * the same whether gradients are lent memory or copied. To stderr: how many were lent memory.
 *
 * api_in_place [NAME=VALUE]...
 *   stage=S mb=M     2 and 2 without them
 *   ask=1            asks for memory (0: announces from its own)
 *   ascending=1      announces in ascending order, so that most gradients come before their turn
 *   bf16=1           parameters in bf16, gradients in fp32; 2: gradients in bf16, too: refused
 *   early=BYTES      of gradients before their turn; -1 without it
 *   fault=NAME       what is done wrong in the second micro-batch: elsewhere, stale, own, twice,
 *                    entry, unused
 * Exit code: 0, or 3 after an error of the engine, whose text goes to stderr. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zeroproof.h>
#ifdef CUDA
#include <cuda_runtime_api.h>
#define NEW(p, n) cudaMalloc((void **)(p), n)
#define FREE(p) cudaFree(p)
#define COPY(to, from, n, s)                                                                       \
  (cudaMemcpyAsync(to, from, n, cudaMemcpyDefault, s) || cudaStreamSynchronize(s))
#define STREAM(s) cudaStreamCreateWithFlags((cudaStream_t *)(s), cudaStreamNonBlocking)
#define IDLE(s) cudaStreamSynchronize(s)
#define DROP(s) cudaStreamDestroy(s)
#else
#define NEW(p, n) ((*(p) = malloc(n)) == NULL)
#define FREE(p) free(p)
#define COPY(to, from, n, s) ((void)(s), memcpy(to, from, n) == NULL)
#define STREAM(s) (*(s) != NULL)
#define IDLE(s) ((s) != NULL)
#define DROP(s) ((s) != NULL)
#endif

enum { ENTRIES = 5, MOST = 20, STEPS = 3, STREAMS = 2 };

/* Entry 2 lies in two buckets of 16. */
static const int sizes[ENTRIES] = {5, 8, 20, 3, 7};

typedef struct loop {
  zp_engine *e;
  int rank, stage, mbs, ask, ascending, bf16, lent, asked;
  const char *fault;
  void *stream[STREAMS];
  float *grad[STREAMS]; /* of one entry, of the caller's own */
  void *first;          /* lent for entry 4 in the step's first micro-batch */
} loop;

/* Any numbers whose sums round. */
static float gradient(const loop *l, int k, int64_t mb, int i)
{
  return (float)(1 + (k * 7 + (int)mb * 5 + l->rank * 3 + i) % 9) / 7;
}

/* Writes the gradient, or adds it to what is there. */
static int put_gradient(loop *l, int k, int64_t mb, float *to, int adds, void *stream)
{
  const size_t bytes = (size_t)sizes[k] * sizeof *to;
  float x[MOST] = {0};
  if (adds && COPY(x, to, bytes, stream)) return -1;
  for (int i = 0; i < sizes[k]; i++)
    x[i] = adds ? x[i] + gradient(l, k, mb, i) : gradient(l, k, mb, i);
  return COPY(to, x, bytes, stream);
}

static int misuse(loop *l, int k, int64_t mb, void *stream)
{
  const int elsewhere = strcmp(l->fault, "elsewhere") == 0, stale = strcmp(l->fault, "stale") == 0;
  float *to = stale ? l->first : zp_engine_grad_buffer(l->e, k, mb, stream);
  if (elsewhere || stale)
    return zp_engine_grad_ready(l->e, k, mb, to + elsewhere, sizes[k], ZP_F32, stream);
  if (strcmp(l->fault, "own") == 0)
    return zp_engine_grad_ready(l->e, k, mb, l->grad[0], sizes[k], ZP_F32, stream);
  if (strcmp(l->fault, "unused") == 0) return zp_engine_grad_unused(l->e, k, mb);
  if (zp_engine_grad_ready(l->e, k, mb, to, sizes[k], ZP_F32, stream)) return -1;
  return zp_engine_grad_buffer(l->e, strcmp(l->fault, "twice") == 0 ? k : 99, mb, stream) == NULL
             ? zp_engine_why(l->e)->status
             : 0;
}

static int announce(loop *l, int k, int64_t mb)
{
  const int s = (int)((k + mb) % STREAMS);
  void *stream = l->stream[s];
  float *to = NULL, *at;
  if (l->fault && k == ENTRIES - 1 && mb == 1) return misuse(l, k, mb, stream);
  if (l->ask) to = zp_engine_grad_buffer(l->e, k, mb, stream);
  l->asked++;
  l->lent += to != NULL;
  at = to ? to : l->grad[s];
  if (k == ENTRIES - 1 && mb == 0) l->first = to;
  if (put_gradient(l, k, mb, at, to && l->stage < 2 && mb > 0, stream)) return -1;
  return zp_engine_grad_ready(l->e, k, mb, at, sizes[k], ZP_F32, stream);
}

static int step(loop *l)
{
  for (int64_t mb = 0; mb < l->mbs; mb++)
    for (int i = 0; i < ENTRIES; i++)
      if (announce(l, l->ascending ? i : ENTRIES - 1 - i, mb)) return -1;
  for (int s = 1; s < STREAMS; s++)
    if (IDLE(l->stream[s])) return -1;
  return zp_engine_step(l->e, l->stream[0]) || IDLE(l->stream[0]);
}

static int read_param(loop *l, int k, float *x)
{
  uint16_t half[MOST];
  const size_t n = (size_t)sizes[k];
  if (!l->bf16) return COPY(x, zp_engine_param(l->e, k), n * sizeof *x, l->stream[0]);
  if (COPY(half, zp_engine_param(l->e, k), n * sizeof *half, l->stream[0])) return -1;
  for (size_t i = 0; i < n; i++) {
    const uint32_t bits = (uint32_t)half[i] << 16;
    memcpy(&x[i], &bits, sizeof bits);
  }
  return 0;
}

static int report(loop *l)
{
  zp_engine_state s = {.size = sizeof s};
  float x[MOST];
  if (zp_engine_get(l->e, &s)) return -1;
  fprintf(stderr, "%d of %d were lent memory\n", l->lent, l->asked);
  for (int k = 0; k < ENTRIES; k++) {
    if (read_param(l, k, x)) return -1;
    for (int i = 0; l->rank == 0 && i < sizes[k]; i++) printf("%d %d: %a\n", k, i, (double)x[i]);
  }
  for (int i = 0; i < STREAMS; i++)
    if (IDLE(l->stream[i]) || DROP(l->stream[i])) return -1;
  return 0;
}

static int number(int argc, char **argv, const char *name, int otherwise)
{
  for (int i = 1; i < argc; i++)
    if (strncmp(argv[i], name, strlen(name)) == 0) return atoi(argv[i] + strlen(name));
  return otherwise;
}

int main(int argc, char **argv)
{
  zp_error err = {0};
  zp_job job = {.world = 1};
  int failed = zp_job_read(&job, &err);
  zp_param list[ENTRIES];
  loop l = {.rank = job.rank,
            .stage = number(argc, argv, "stage=", 2),
            .mbs = number(argc, argv, "mb=", 2),
            .ask = number(argc, argv, "ask=", 0),
            .ascending = number(argc, argv, "ascending=", 0),
            .bf16 = number(argc, argv, "bf16=", 0)};
  const zp_config config = {.pp = 1,
                            .dp = job.world,
                            .tp = 1,
                            .ep = 1,
                            .stage = l.stage,
                            .reduce = ZP_ORDERED,
                            .precision = l.bf16 ? ZP_BF16 : ZP_F32,
                            .params = list,
                            .n_params = ENTRIES,
                            .optgroups = 1,
                            .micro_batches = l.mbs,
                            .bucket = 16,
                            .align = 1};
  zp_engine_options o;
  for (int k = 0; k < ENTRIES; k++) list[k] = (zp_param){.numel = sizes[k], .tied = -1};
  for (int i = 1; i < argc; i++)
    if (strncmp(argv[i], "fault=", 6) == 0) l.fault = argv[i] + 6;
  zp_engine_defaults(&o, sizeof o, &job);
  o.config = &config, o.ordered = 1, o.hyper.optim[0].lr = 0.05;
  o.hyper.fp32_gradients = l.bf16 == 1;
  o.hyper.entry_align = 1; /* no padding: the buckets hold 64 bytes */
  o.early_bytes = number(argc, argv, "early=", -1);
  failed = failed || zp_engine_create(&l.e, &o, &err);
  for (int s = 0; s < STREAMS && !failed; s++)
    failed = STREAM(&l.stream[s]) || NEW(&l.grad[s], MOST * sizeof **l.grad);
  for (int i = 0; i < STEPS && !failed; i++) failed = step(&l);
  failed = failed || report(&l);
  if (failed) fprintf(stderr, "%s\n", l.e ? zp_engine_why(l.e)->text : err.text);
  if (zp_engine_destroy(l.e, &err) && !failed) failed = fprintf(stderr, "%s\n", err.text);
  if (failed) return 3;
  for (int s = 0; s < STREAMS; s++) FREE(l.grad[s]);
  return 0;
}
