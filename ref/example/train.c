/* A model of two layers, each a vector of weights, trained with the engine, one process per rank:
 *   mpirun -n 4 train       data parallel; forward and backward in the program's own loop
 *   mpirun -n 4 train pp    two pipeline stages of two ranks; forward and backward as callbacks
 * With -DCUDA it is for the CUDA engine, and torchrun starts it as well. To be short it computes on
 * the host, between blocking copies; a real model queues kernels on c->stream. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zeroproof.h>
#ifdef CUDA
#include <cuda_runtime_api.h>
#define NEW(p, n) cudaMalloc((void **)(p), n)
#define FREE(p) cudaFree(p)
#define COPY(to, from, n, s)                                                                       \
  (cudaMemcpyAsync(to, from, n, cudaMemcpyDefault, s) || cudaStreamSynchronize(s))
#else
#define NEW(p, n) ((*(p) = malloc(n)) == NULL)
#define FREE(p) free(p)
#define COPY(to, from, n, s) (memcpy(to, from, n) == NULL)
#endif

enum { N = 50, LAYERS = 2, GLOBAL = 4, STEPS = 5, BYTES = N * sizeof(float) };

typedef struct model {
  zp_engine *e;
  int first, last, dp, dp_index; /* layers of this stage; its replicas */
  float kept[2][LAYERS + 1][N];  /* by slot: the input of each layer; at the end y - 1 */
  float *grad;                   /* one gradient and one loss, in the engine's kind of memory */
} model;

static int forward(void *ctx, const zp_engine_call *c)
{
  model *m = ctx;
  float(*x)[N] = m->kept[c->slot], w[N], loss = 0;
  for (int i = 0; i < N; i++) /* each micro-batch of the global batch is another one */
    x[0][i] = (float)((c->step + 3 * (c->mb * m->dp + m->dp_index) + i * i) % 7 - 3);
  if (m->first > 0 && COPY(x[m->first], c->in->t[0].data, BYTES, c->stream)) return -1;
  for (int l = m->first; l <= m->last; l++) {
    if (COPY(w, zp_engine_param(m->e, l), BYTES, c->stream)) return -1;
    for (int i = 0; i < N; i++) x[l + 1][i] = w[i] * x[l][i];
  }
  if (m->last < LAYERS - 1) return COPY(c->out->t[0].data, x[m->last + 1], BYTES, c->stream);
  for (int i = 0; i < N; i++) x[LAYERS][i] -= 1, loss += x[LAYERS][i] * x[LAYERS][i] / 2;
  return COPY(c->loss, &loss, sizeof loss, c->stream);
}

static int backward(void *ctx, const zp_engine_call *c)
{
  model *m = ctx;
  float(*x)[N] = m->kept[c->slot], w[N], dw[N], *dy = x[LAYERS]; /* the loss scale is 1 */
  if (m->last < LAYERS - 1 && COPY(dy, c->in->t[0].data, BYTES, c->stream)) return -1;
  for (int l = m->last; l >= m->first; l--) {
    if (COPY(w, zp_engine_param(m->e, l), BYTES, c->stream)) return -1;
    for (int i = 0; i < N; i++) dw[i] = dy[i] * x[l][i], dy[i] *= w[i];
    if (COPY(m->grad, dw, BYTES, c->stream)) return -1; /* the engine has taken what was there */
    if (zp_engine_grad_ready(m->e, l, c->mb, m->grad, N, ZP_F32, c->stream)) return -1;
  }
  return m->first > 0 && COPY(c->out->t[0].data, dy, BYTES, c->stream);
}

int main(int argc, char **argv)
{
  const int pp = argc > 1 && strcmp(argv[1], "pp") == 0 ? 2 : 1;
  zp_error err = {0};
  zp_job job = {.world = 1};
  int failed = zp_job_read(&job, &err);
  const int dp = job.world < pp ? 1 : job.world / pp, stage = job.rank / dp;
  model m = {.last = LAYERS - 1, .dp = dp, .dp_index = job.rank % dp};
  const zp_param list[] = {{.numel = N, .tied = -1}, {.numel = N, .tied = -1, .stage = pp - 1}};
  zp_config config = {.pp = pp, .dp = dp, .tp = 1, .ep = 1, .stage = 2, .reduce = ZP_EXACT};
  config.params = list, config.n_params = LAYERS, config.optgroups = 1;
  config.micro_batches = GLOBAL / dp, config.bucket = 40, config.align = 1;
  float w[N];
  for (int i = 0; i < N; i++) w[i] = (float)(i % 11 - 5) / 16;
  zp_engine_options o;
  zp_engine_defaults(&o, sizeof o, &job);
  o.config = &config, o.first = (const void *[]){w, w}, o.hyper.optim[0].lr = 0.05;
  if (pp > 1) {
    o.forward = forward, o.backward = backward, o.ctx = &m, m.first = m.last = stage;
    *(stage == 0 ? &o.out : &o.in) = (zp_message){1, {{ZP_F32, 1, {N}, NULL}}};
  }
  zp_engine_state s = {.size = sizeof s};
  failed = failed || zp_engine_create(&m.e, &o, &err) || NEW(&m.grad, BYTES + sizeof(float));
  for (zp_engine_call c = {.loss = m.grad + N}; c.step < STEPS && !failed; c.step++) {
    for (c.mb = 0; pp == 1 && c.mb < config.micro_batches && !failed; c.mb++)
      failed = forward(&m, &c) || zp_engine_loss(m.e, c.mb, c.loss, NULL) || backward(&m, &c);
    failed = failed || zp_engine_step(m.e, NULL) || zp_engine_get(m.e, &s);
    if (job.rank == 0) printf("step %d loss %a norm %a\n", (int)c.step, (double)s.loss, s.norm);
  }
  for (int l = m.first; l <= m.last && m.dp_index == 0 && !failed; l++)
    if (!COPY(w, zp_engine_param(m.e, l), BYTES, NULL)) /* all bits of it: as text */
      for (int i = 0; i < N; i++) printf("layer %d weight %d is %a\n", l, i, (double)w[i]);
  if (failed) fprintf(stderr, "%s\n", m.e ? zp_engine_why(m.e)->text : err.text);
  if (zp_engine_destroy(m.e, &err) && !failed) failed = fprintf(stderr, "%s\n", err.text);
  if (failed) _exit(3); /* the other ranks have been notified */
  return FREE(m.grad), 0;
}
