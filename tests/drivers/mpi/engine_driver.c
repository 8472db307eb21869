/* One process of a job: trains synth through the public engine (ref/engine/engine.h) for some
 * steps, runs all ranks of the same job in comm_sim as well, and compares what this rank can see,
 * bit by bit. It can also misuse the engine. Compiled for either engine (-DCUDA).
 *
 * engine_driver [NAME=VALUE]...
 *   pp dp tp ep stage reduce precision tied dynamic mb bucket seed   the job
 *   callbacks=1 threads=1   callbacks though pp is 1; three threads announce gradients
 *   native=1       reduce=0 means NCCL's own order, where the engine has it
 *   same=1         all ranks have the same first values; no broadcast has to change any
 *   partial=1 gradual=1 fp32=1   partial_gather with aligned entries, gradual, fp32_gradients
 *   steps=N schedule=1   4 without it; hyperparameters that differ by step
 *   state=1        reads masters and moments after each step, and replaces them after step 1
 *   get=N          comparisons: 0 after the last step, -1 none, 2 of rank 0 (1: after each step)
 *   badloss=BITS   the steps (bit t: step t) in which one loss is not finite
 *   save=DIR load=DIR   a checkpoint after step 1, or to begin with
 *   fault=behind   that checkpoint is written in the background, and ends after the last step
 *   fault=NAME rank=R   what is done wrong, in step 1, or at creation
 * Exit code: 0 equal, 1 not equal, 3 an error of the engine, whose text goes to stderr. */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../../../ref/comm/sim/comm_sim.h"
#include "../../../ref/engine/engine.h"
#include "../../../ref/model/synth.h"
#include "hyper.h"
#include "transports.h"
#ifdef CUDA
#include <cuda_runtime_api.h>
#define NEW(p, n) cudaMalloc((void **)(p), n)
#define FREE(p) cudaFree(p)
#define COPY(to, from, n, s)                                                                       \
  (cudaMemcpyAsync(to, from, n, cudaMemcpyDefault, s) || cudaStreamSynchronize(s))
#else
#define NEW(p, n) ((*(p) = malloc(n)) == NULL)
#define FREE(p) free(p)
#define COPY(to, from, n, s) ((void)(s), memcpy(to, from, n) == NULL)
#endif

enum { ENTRIES_MAX = 64, ELEMENTS_MAX = 64, SLOTS_MAX = 8, BYTES_MAX = 4096, THREADS = 3 };

typedef struct run {
  zp_param list[ENTRIES_MAX];
  zp_config cfg;
  zp_hyper hyper;
  zp_synth synth;
  zp_workload work;
  void *inst;
  zp_sim *sim;
  zp_rank *ref;
  zp_job job;
  zp_coord at;
  int64_t seed, callbacks, threads, fault_rank, native, offload, state, bad_loss, steps, replicas,
      same, schedule, get, partial, fp32, gradual;
  char save[200], load[200], fault[40];
  zp_engine *e;
  zp_error err;
  /* of the micro-batch */
  int32_t n_order, order[ENTRIES_MAX];
  char *raw[ENTRIES_MAX]; /* what backward made; NULL: unused */
  zp_mb now;              /* whose gradients are announced */
  char memory[ENTRIES_MAX][BYTES_MAX], first[ENTRIES_MAX][BYTES_MAX];
  char in[SLOTS_MAX][ZP_MSG_TENSORS][BYTES_MAX], out[ZP_MSG_TENSORS][BYTES_MAX];
  void *on_device[ENTRIES_MAX]; /* first values, or NULL */
  char *grad;                   /* [THREADS][BYTES_MAX], in the engine's memory */
  float *loss;
  int64_t issued;
} run;

/* ---- The job --------------------------------------------------------------------------------- */

/* Plain entries, straddling buckets; on more than one stage a tied one; frozen and empty ones. */
static int32_t make_params(const zp_config *cfg, zp_param *p)
{
  int32_t n = 0;
  for (int32_t j = 0; j < 6; j++)
    p[n++] =
        (zp_param){.numel = 11 + 7 * j, .stage = j * cfg->pp / 6, .tied = -1, .optgroup = j % 2};
  p[1].frozen = 1;
  p[4].numel = 0;
  if (cfg->tp > 1) p[2].sharded = 1;
  if (cfg->ep > 1) p[3].expert = 1;
  if (cfg->tied_keys > 0) {
    p[0].tied = p[5].tied = 0;
    p[5].numel = p[0].numel;
    p[5].optgroup = p[0].optgroup;
  }
  return n;
}

static int take(run *r, int argc, char **argv)
{
  zp_config *c = &r->cfg;
  int32_t *const small[] = {&c->pp,        &c->dp,        &c->tp,
                            &c->ep,        &c->stage,     &c->reduce,
                            &c->precision, &c->tied_keys, &c->dynamic_shapes};
  static const char *const small_name[] = {"pp",     "dp",        "tp",   "ep",     "stage",
                                           "reduce", "precision", "tied", "dynamic"};
  int64_t *const large[] = {&c->micro_batches, &c->bucket, &r->seed,     &r->callbacks, &r->threads,
                            &r->fault_rank,    &r->native, &r->offload,  &r->bad_loss,  &r->steps,
                            &r->replicas,      &r->same,   &r->schedule, &r->get,       &r->state,
                            &r->partial,       &r->fp32,   &r->gradual};
  static const char *const large_name[] = {"mb",       "bucket", "seed",     "callbacks", "threads",
                                           "rank",     "native", "offload",  "badloss",   "steps",
                                           "replicas", "same",   "schedule", "get",       "state",
                                           "partial",  "fp32",   "gradual"};
  char *const word[] = {r->save, r->load, r->fault};
  static const char *const word_name[] = {"save", "load", "fault"};
  *c = (zp_config){.pp = 1,
                   .dp = 1,
                   .tp = 1,
                   .ep = 1,
                   .stage = 2,
                   .reduce = ZP_EXACT,
                   .precision = ZP_BF16,
                   .optgroups = 2,
                   .micro_batches = 2,
                   .bucket = 16,
                   .align = 2,
                   .params = r->list};
  r->steps = 4;
  r->get = 1;
  for (int i = 1; i < argc; i++) {
    const char *value = strchr(argv[i], '=');
    const size_t n = value ? (size_t)(value++ - argv[i]) : 0;
    int found = 0;
    for (int k = 0; k < 9 && value; k++)
      if (strlen(small_name[k]) == n && !strncmp(small_name[k], argv[i], n))
        *small[k] = atoi(value), found = 1;
    for (int k = 0; k < 18 && value; k++)
      if (strlen(large_name[k]) == n && !strncmp(large_name[k], argv[i], n))
        *large[k] = atoll(value), found = 1;
    for (int k = 0; k < 3 && value; k++)
      if (strlen(word_name[k]) == n && !strncmp(word_name[k], argv[i], n))
        snprintf(word[k], k < 2 ? 200 : 40, "%s", value), found = 1;
    if (!found) return fprintf(stderr, "engine_driver: '%s'?\n", argv[i]), -1;
  }
  c->n_params = make_params(c, r->list);
  return 0;
}

static int open_ref(run *r)
{
  r->hyper = (zp_hyper){.groups = 1, .clip = 1, .clip_eps = 1e-6, .replicas = (int32_t)r->replicas};
  r->hyper.entry_align = r->partial ? 64 : 0;
  r->hyper.fp32_gradients = (int32_t)r->fp32;
  r->hyper.optim[0] = (zp_optim){ZP_OPTIM_ADAMW, 1e-2, 0.9, 0.95, 1e-8, 0.1, 0};
  zp_scaler_init(&r->hyper.scaler, 1, 3, 0, 20, 2, 1, 0);
  /* one step overflows; the gathers of a skipped step are another thing: LEDG-6 */
  r->synth.opt = (zp_synth_options){.seed = (uint64_t)r->seed,
                                    .mode = ZP_SYNTH_WILD,
                                    .unused = 60,
                                    .tuple = 1,
                                    .vary = r->cfg.dynamic_shapes,
                                    .fp32_gradients = (int32_t)r->fp32,
                                    .overflow = r->seed % 2 ? 1u << 2 : 0,
                                    .bad_loss = (uint32_t)r->bad_loss};
  r->work = zp_synth_workload(&r->synth);
  r->sim = zp_sim_open(&r->cfg, &r->hyper, &r->work, &r->err);
  if (!r->sim) return -1;
  r->ref = zp_sim_rank(r->sim, r->job.rank);
  r->at = r->ref->at;
  if (r->get == 2) r->get = r->job.rank == 0;
  if (r->same && zp_sim_run(r->sim, ZP_PHASE_INIT, &r->err)) return -1;
  for (int32_t j = 0; j < r->cfg.n_params; j++)
    if (r->ref->all_params[j])
      memcpy(r->first[j], r->ref->all_params[j],
             (size_t)(r->list[j].numel * zp_dtype_bytes(r->cfg.precision)));
  return r->same ? 0 : zp_sim_run(r->sim, ZP_PHASE_INIT, &r->err);
}

static int is(const run *r, const char *fault)
{
  return r->job.rank == r->fault_rank && !strcmp(r->fault, fault);
}

/* ---- Gradients ------------------------------------------------------------------------------- */

static int32_t gradient_dtype(const run *r)
{
  return zp_dtype_of(r->hyper.fp32_gradients, r->cfg.precision);
}

static void keep_raw(void *ctx, int32_t param, const void *grad)
{
  run *r = ctx;
  r->raw[param] = r->memory[param];
  memcpy(r->raw[param], grad, (size_t)(r->list[param].numel * zp_dtype_bytes(gradient_dtype(r))));
}

/* callbacks=2: forward declares every other unused entry. */
static int is_early(const run *r, zp_mb at, int32_t j)
{
  return r->callbacks == 2 && j % 2 == 0 && r->list[j].stage == r->at.pp && !r->list[j].frozen &&
         !r->work.used(r->work.ctx, &r->cfg, j, r->at.dp, r->at.tp, at);
}

static int declare_early(const run *r, zp_mb at)
{
  int failed = 0;
  for (int32_t j = 0; j < r->cfg.n_params && !failed; j++)
    if (is_early(r, at, j)) failed = zp_engine_grad_unused(r->e, j, at.mb);
  if (at.step != 1 || at.mb != 0) return failed;
  if (is(r, "early-ready") || is(r, "early-twice")) failed = zp_engine_grad_unused(r->e, 2, 0);
  if (is(r, "early-twice")) failed = zp_engine_grad_unused(r->e, 2, 0);
  return is(r, "early-ahead") ? zp_engine_grad_unused(r->e, 2, 1) : failed;
}

static int announce(run *r, int32_t j, int64_t mb, int thread, void *stream)
{
  char *at = r->grad + thread * BYTES_MAX;
  const size_t n = (size_t)(r->list[j].numel * zp_dtype_bytes(gradient_dtype(r)));
  if (!r->raw[j]) return is_early(r, r->now, j) ? 0 : zp_engine_grad_unused(r->e, j, mb);
  if (n > 0 && COPY(at, r->raw[j], n, stream)) return -1;
  return zp_engine_grad_ready(r->e, j, mb, n > 0 ? at : NULL, r->list[j].numel, gradient_dtype(r),
                              stream);
}

typedef struct part {
  run *r;
  int64_t mb;
  int thread, failed;
  void *stream;
} part;

static void *announce_part(void *arg)
{
  part *p = arg;
  for (int32_t i = p->thread; i < p->r->n_order && !p->failed; i += THREADS)
    p->failed = announce(p->r, p->r->order[i], p->mb, p->thread, p->stream);
  return NULL;
}

#include "misuse.inc"

/* Entries in another order each time. */
static int announce_all(run *r, int64_t step, int64_t mb, void *stream)
{
  pthread_t thread[THREADS];
  part parts[THREADS];
  int failed = 0;
  r->now = (zp_mb){step, mb, 0};
  r->n_order = 0;
  for (int32_t j = 0; j < r->cfg.n_params; j++)
    if (r->list[j].stage == r->at.pp && !r->list[j].frozen) r->order[r->n_order++] = j;
  for (int32_t i = 0; i < r->n_order; i++) {
    const int32_t k = (int32_t)((step * 7 + mb * 3 + i + r->seed) % r->n_order), x = r->order[i];
    r->order[i] = r->order[k];
    r->order[k] = x;
  }
  if (r->threads) {
    for (int i = 0; i < THREADS; i++) {
      parts[i] = (part){r, mb, i, 0, stream};
      if (pthread_create(&thread[i], NULL, announce_part, &parts[i])) return -1;
    }
    for (int i = 0; i < THREADS; i++) {
      pthread_join(thread[i], NULL);
      failed |= parts[i].failed;
    }
    return failed;
  }
  for (int32_t i = 0; i < r->n_order - 1 && !failed; i++)
    failed = announce(r, r->order[i], mb, 0, stream);
  if (failed || r->n_order == 0) return failed;
  if (step == 1 && mb == 0) return misuse(r, mb, r->order[r->n_order - 1], stream);
  return announce(r, r->order[r->n_order - 1], mb, 0, stream);
}

/* ---- The model ------------------------------------------------------------------------------- */

static zp_mb at_mb(const run *r, const zp_engine_call *c)
{
  return (zp_mb){c->step, c->mb, r->ref->scaler.log2_scale};
}

/* A message in host memory, of the tensors that a gradient has or all. */
static int to_host(run *r, const zp_message *m, char (*mem)[BYTES_MAX], int copy, void *stream,
                   zp_message *out)
{
  (void)r;
  memset(out, 0, sizeof *out);
  for (int32_t i = 0; m && i < m->n; i++) {
    out->t[i] = m->t[i];
    out->t[i].data = mem[i];
    if (copy && COPY(mem[i], m->t[i].data, (size_t)zp_tensor_bytes(&m->t[i]), stream)) return -1;
    out->n++;
  }
  return 0;
}

static int from_host(const zp_message *from, const zp_message *to, void *stream)
{
  for (int32_t i = 0; i < from->n; i++)
    if (COPY(to->t[i].data, from->t[i].data, (size_t)zp_tensor_bytes(&from->t[i]), stream))
      return -1;
  return 0;
}

#include "waits.inc"

static int forward(void *ctx, const zp_engine_call *c)
{
  run *r = ctx;
  zp_message in, out;
  float loss = 0;
  if (c->step == 1) call_inside(r, "forward");
  if (is(r, "forward") && c->step == 1) return 5;
  if (await_entries(r, c) || declare_early(r, at_mb(r, c))) return -1;
  if (to_host(r, c->in, r->in[c->slot], 1, c->stream, &in)) return -1;
  if (to_host(r, c->out, r->out, 0, c->stream, &out)) return -1;
  if (r->work.forward(r->inst, at_mb(r, c), c->slot, &in, &out, &loss)) return -2;
  if (from_host(&out, c->out ? c->out : &out, c->stream)) return -1;
  return r->at.pp == r->cfg.pp - 1 ? COPY(c->loss, &loss, sizeof loss, c->stream) : 0;
}

static int shape(void *ctx, int64_t step, int64_t mb, zp_message *out)
{
  run *r = ctx;
  if (is(r, "describe") && step == 1) return 6;
  if (step == 1) call_inside(r, "shape");
  r->work.shape(r->work.ctx, &r->cfg, r->at.pp, r->at.dp, (zp_mb){step, mb, 0}, out);
  if (is(r, "dims") && step == 1) out->t[0].dim[0] = -1;
  return 0;
}

static int backward(void *ctx, const zp_engine_call *c)
{
  run *r = ctx;
  static const zp_message none;
  const zp_sink sink = {r, keep_raw};
  zp_message dout, din;
  char mem[2][ZP_MSG_TENSORS][BYTES_MAX];
  if (c->step == 1) call_inside(r, "backward");
  if (to_host(r, c->in, mem[0], 1, c->stream, &dout)) return -1;
  if (to_host(r, c->out, mem[1], 0, c->stream, &din)) return -1;
  memset(r->raw, 0, sizeof r->raw);
  if (r->work.backward(r->inst, at_mb(r, c), c->slot, &dout, &din, sink)) return -2;
  if (from_host(&din, c->out ? c->out : &none, c->stream)) return -1;
  return announce_all(r, c->step, c->mb, c->stream);
}

/* ---- Comparing ------------------------------------------------------------------------------- */

static int differs(const run *r, const char *what, int64_t step)
{
  printf("rank %d: %s after step %lld differs from comm_sim's\n", (int)r->job.rank, what,
         (long long)step);
  return 1;
}

/* bits: of entry j, in the engine. */
static int parameter_differs(const run *r, int64_t step, int32_t j, const char *bits)
{
  const int64_t each = zp_dtype_bytes(r->cfg.precision), n = r->list[j].numel;
  const char *want = r->ref->all_params[j];
  char what[120];
  int64_t first = n, count = 0;
  for (int64_t i = n - 1; i >= 0; i--)
    if (memcmp(bits + i * each, want + i * each, (size_t)each)) first = i, count++;
  snprintf(what, sizeof what, "entry %d's parameter (%lld of %lld elements, the first is %lld)",
           (int)j, (long long)count, (long long)n, (long long)first);
  return differs(r, what, step);
}

static int compare(run *r, int64_t step, int ledger)
{
  zp_engine_state s = {.size = sizeof s};
  const zp_step_result *want = &r->ref->result;
  int32_t log2_scale = 0;
  char bits[BYTES_MAX];
  if (zp_engine_get(r->e, &s)) return 3;
  if (s.step != r->ref->step || s.skipped != want->skipped) return differs(r, "steps", step);
  if (memcmp(&s.norm, &want->norm_f64, 8)) return differs(r, "the norm", step);
  if (memcmp(&s.loss, &want->loss, 4)) return differs(r, "the loss", step);
  if (s.clip != want->clip_factor) return differs(r, "the clip factor", step);
  if (COPY(&log2_scale, zp_engine_log2_scale(r->e), 4, NULL)) return 3;
  if (log2_scale != r->ref->scaler.log2_scale ||
      s.scale != 1.0 * (double)((int64_t)1 << log2_scale))
    return differs(r, "the scale", step);
  if (ledger && memcmp(s.ledger, r->ref->ledger, sizeof s.ledger))
    return differs(r, "the ledger", step);
  for (int32_t j = 0; j < r->cfg.n_params; j++) {
    const size_t n = (size_t)(r->list[j].numel * zp_dtype_bytes(r->cfg.precision));
    if ((zp_engine_param(r->e, j) != NULL) != (r->list[j].stage == r->at.pp))
      return differs(r, "whether an entry is there", j);
    if (n == 0 || !r->ref->all_params[j]) continue;
    if (COPY(bits, zp_engine_param(r->e, j), n, NULL)) return 3;
    if (memcmp(bits, r->ref->all_params[j], n)) return parameter_differs(r, step, j, bits);
  }
  return 0;
}

/* ---- Running --------------------------------------------------------------------------------- */

static void note_issued(void *ctx, int32_t phase, const zp_op *op)
{
  run *r = ctx;
  (void)op;
  r->issued++;
  if (phase == ZP_PHASE_STEP && r->e) call_inside(r, "issued");
  if (phase == ZP_PHASE_SAVE) call_inside(r, "saving");
}

#include "between.inc"

static int create(run *r)
{
  zp_engine_options o;
  const void *first[ENTRIES_MAX];
  another other;
  zp_engine_defaults(&o, sizeof o, &r->job);
  o.config = configuration(r, &other, &o.names);
  o.hyper = r->hyper;
  o.ctx = r;
  o.issued = note_issued;
  o.first = first;
  if (first_values(r, first)) return -1;
  if (r->callbacks || r->cfg.pp > 1) o.forward = forward, o.backward = backward;
  o.shape = r->cfg.dynamic_shapes ? shape : NULL;
  o.message_bytes = 4096, o.early_bytes = -1;
  if (r->at.pp > 0 && !o.shape)
    r->work.shape(r->work.ctx, &r->cfg, r->at.pp - 1, r->at.dp, (zp_mb){0, 0, 0}, &o.in);
  if (r->at.pp < r->cfg.pp - 1 && !o.shape)
    r->work.shape(r->work.ctx, &r->cfg, r->at.pp, r->at.dp, (zp_mb){0, 0, 0}, &o.out);
  o.ordered = r->cfg.reduce == ZP_ORDERED && !r->native;
  if (is(r, "ordered")) o.ordered = r->cfg.reduce == ZP_EXACT ? 1 : 2;
  o.offload = (int32_t)r->offload;
  o.partial_gather = (int32_t)r->partial;
  o.gradual = (int32_t)r->gradual;
  if (is(r, "noshape")) o.shape = NULL;
  if (is(r, "size")) o.size = 12;
  if (is(r, "world")) o.world++;
  if (is(r, "exchange")) o.exchange = NULL;
  if (is(r, "groups")) o.hyper.groups = 9;
  if (is(r, "scaler")) o.hyper.scaler.log2_min = 5;
  if (is(r, "iter")) o.hyper.scaler.iter = -5;
  if (is(r, "endless")) o.hyper.scaler.iter = INT64_MAX;
  if (is(r, "left")) o.hyper.scaler.hysteresis_left = -5;
  if (is(r, "overflow")) o.hyper.scaler.last_overflow = 0;
  if (is(r, "window")) o.hyper.scaler.window = INT64_MAX;
  if (is(r, "half")) o.backward = r->callbacks ? NULL : backward;
  if (is(r, "shape")) o.out.t[0].ndim = 7;
  if (is(r, "stage")) r->cfg.stage = 3;
  if (is(r, "lr")) o.hyper.optim[0].lr = -1;
  if (is(r, "beta1")) o.hyper.optim[0].beta1 = 1;
  if (is(r, "beta2")) o.hyper.optim[0].beta2 = 7;
  if (is(r, "eps")) o.hyper.optim[0].eps = -1;
  if (is(r, "decay")) o.hyper.optim[0].weight_decay = NAN;
  if (is(r, "momentum")) o.hyper.optim[0].momentum = 1;
  if (is(r, "kind")) o.hyper.optim[0].kind = 2;
  if (is(r, "clip")) o.hyper.clip = -1;
  if (is(r, "clip_eps")) o.hyper.clip_eps = INFINITY;
  if (is(r, "deadline")) o.deadline_s = NAN;
  if (is(r, "transport")) o.transport = &empty_transport;
  if (is(r, "calls")) o.transport = &uncalled_transport;
  return zp_engine_create(&r->e, is(r, "options") ? NULL : &o, &r->err);
}

static int step(run *r, int64_t number)
{
  zp_engine_call c = {.step = number, .loss = r->loss};
  for (; !r->callbacks && r->cfg.pp == 1 && c.mb < r->cfg.micro_batches; c.mb++)
    if (forward(r, &c) || loss(r, &c) || backward(r, &c)) return 3;
  if (is(r, "late") && number == 1) ready(r, 0, 0, r->grad, 0, r->cfg.precision, NULL);
  if (is(r, "announced") && number == 1 && announced_state(r)) return 1;
  return zp_engine_step(r->e, NULL) ? 3 : 0;
}

#include "behind.inc"

/* "another": this rank finds a checkpoint of another run, in DIR.other. The reference then leaves
 * the parameters of all ranks as they are, or this prints that it does not. */
static int load(run *r)
{
  char other[sizeof r->load + 8];
  const char *from = is(r, "unloaded") ? "/dev/null/no" : is(r, "another") ? other : r->load;
  snprintf(other, sizeof other, "%s.other", r->load);
  if (zp_engine_load(r->e, from) == 0) return loaded_hyper(r);
#ifndef CUDA
  for (int32_t j = 0; j < r->cfg.n_params && strcmp(r->fault, "another") == 0; j++)
    if (r->ref->all_params[j] &&
        memcmp(zp_engine_param(r->e, j), r->ref->all_params[j],
               (size_t)(r->list[j].numel * zp_dtype_bytes(r->cfg.precision))))
      (void)differs(r, "a parameter", -1);
#endif
  return 3;
}

static int train(run *r)
{
  int64_t from = 0, communications = 0;
  int failed = 0, ledger = r->load[0] == 0 && !r->native;
  if (r->load[0]) failed = load(r);
  if (failed) return failed;
  if (r->load[0]) from = 2;
  for (int64_t i = 0; i < r->steps && !failed; i++) {
    if (i < from && r->schedule) schedule(&r->hyper, (double)i);
    if (i >= from) failed = set_hyper(r, i) || refused_hyper(r, i) ? 3 : step(r, i);
    if (r->get > 0 && i == 1 && strcmp(r->fault, "hyper") == 0) failed = find_difference(r);
    if (!failed && zp_sim_run(r->sim, ZP_PHASE_STEP, &r->err)) failed = 3;
#ifdef CUDA
    if (r->ref->result.skipped) ledger = 0;
    if (r->ref->result.skipped && r->state && i == 2) round_written(r);
#endif
    if (!failed && i >= from && (r->get + (i == r->steps - 1)) > 0) failed = compare(r, i, ledger);
    if (!failed) failed = use_state(r, i, from);
    if (!failed && i == 1 && r->save[0]) {
      ledger = 0;
      failed = save(r);
    }
  }
  if (!failed) failed = save_end(r);
  for (int32_t g = 0; g < ZP_ALL_GROUPS; g++) communications += r->ref->ledger[g].ops;
  if (!failed && ledger && r->issued != communications)
    return differs(r, "what was issued", r->steps);
  return failed;
}

int main(int argc, char **argv)
{
  run *r = calloc(1, sizeof *r);
  int failed =
      !r || take(r, argc, argv) || zp_job_read(&r->job, &r->err) || open_ref(r) ||
      r->work.open(r->work.ctx, &r->cfg, (zp_place_of){r->at.pp, r->at.pp, r->at.dp, r->at.tp},
                   (const void *const[ENTRIES_MAX]){NULL}, &r->inst);
  if (!failed) failed = create(r) ? 3 : 0;
  if (!failed) failed = NEW(&r->grad, THREADS * BYTES_MAX) || NEW(&r->loss, sizeof *r->loss);
  if (!failed) failed = train(r);
  if (failed == 3) fprintf(stderr, "%s\n", r->e ? zp_engine_why(r->e)->text : r->err.text);
  if (zp_engine_destroy(r->e, &r->err) && failed != 3) {
    fprintf(stderr, "%s\n", r->err.text);
    failed = 3;
  }
  if (failed == 3) _exit(3);
  if (r->inst) r->work.close(r->inst);
  zp_sim_close(r->sim);
  for (int32_t j = 0; j < r->cfg.n_params; j++)
    if (r->on_device[j]) FREE(r->on_device[j]);
  FREE(r->grad);
  FREE(r->loss);
  free(r);
  return failed;
}
