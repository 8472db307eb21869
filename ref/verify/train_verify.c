#define _GNU_SOURCE
#include "train_verify.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory_need.h"

/* Six are promised, one more costs little. */
enum { TOPOLOGIES = 7, JOBS_MAX = TOPOLOGIES + 1, THREADS_MAX = 16 };

struct zp_verify {
  const zp_workload *work;
  zp_train_hyper hyper;
  zp_verify_run job[JOBS_MAX];
  int32_t jobs, threads;
  pthread_t thread[THREADS_MAX];
  atomic_int next, done, stop;
};

/* dp × pp of the acceptance list first, then others. */
static const struct {
  int32_t dp, pp;
} wanted[] = {{1, 1}, {2, 1}, {3, 2}, {6, 2}, {4, 3}, {12, 2}, {2, 3}, {3, 1}, {1, 2},
              {1, 4}, {6, 1}, {5, 1}, {5, 2}, {7, 2}, {8, 2},  {1, 3}, {1, 5}, {1, 6}};
enum { WANTED = sizeof wanted / sizeof *wanted, BUCKETS = 8 };
static const int64_t buckets[BUCKETS] = {4096, 997, 20011, 65536, 333, 8192, 50000, 1500};

static int add_job(zp_verify *v, const zp_config *like, const zp_gpt_shape *shape, int32_t serial,
                   int32_t dp, int32_t pp, int32_t stage, int64_t bucket)
{
  zp_verify_run *j = &v->job[v->jobs];
  const int64_t batch = like->micro_batches * like->dp;
  j->serial = serial;
  j->cfg = *like;
  j->hyper = v->hyper;
  if (!serial) j->hyper.peak.replicas = 1;
  j->params = calloc((size_t)like->n_params, sizeof *j->params);
  if (j->params == NULL) return -1;
  v->jobs++; /* from here on zp_verify_free sees it */
  zp_gpt_list(shape, pp, j->params, NULL);
  j->cfg.params = j->params;
  j->cfg.pp = pp;
  j->cfg.dp = dp;
  j->cfg.micro_batches = batch / dp;
  j->cfg.stage = stage;
  j->cfg.bucket = bucket;
  return 0;
}

static void *work_on(void *arg)
{
  zp_verify *v = arg;
  for (;;) {
    const int i = atomic_fetch_add(&v->next, 1);
    zp_verify_run *j;
    if (i >= v->jobs || atomic_load(&v->stop)) return NULL;
    j = &v->job[i];
    j->status = j->serial ? zp_serial_run(&j->cfg, &j->hyper, v->work, &v->stop, &j->out)
                          : zp_sim_run_all(&j->cfg, &j->hyper, v->work, &v->stop, &j->out);
    atomic_fetch_add(&v->done, 1);
  }
}

void zp_verify_free(zp_verify *v)
{
  for (int32_t i = 0; i < v->jobs; i++) {
    zp_outcome_close(&v->job[i].out);
    free(v->job[i].params);
  }
  free(v);
}

/* Is this split, or (stage >= 0) this very configuration, the main run's or chosen already? */
static int is_chosen(const zp_verify *v, const zp_config *cfg, int32_t dp, int32_t pp,
                     int32_t stage, int64_t bucket)
{
  if (dp == cfg->dp && pp == cfg->pp &&
      (stage < 0 || (stage == cfg->stage && bucket == cfg->bucket)))
    return 1;
  for (int32_t i = 1; i < v->jobs; i++) {
    const zp_config *c = &v->job[i].cfg;
    if (c->dp == dp && c->pp == pp && (stage < 0 || (c->stage == stage && c->bucket == bucket)))
      return 1;
  }
  return 0;
}

/* Every split of the global batch over dp and pp that is not taken: with another dp than the main
 * run's, or (same) with its own. */
static int add_splits(zp_verify *v, const zp_config *cfg, const zp_gpt_shape *shape, int same)
{
  const int64_t batch = cfg->micro_batches * cfg->dp;
  int bad = 0;
  for (int32_t pp = 1; pp <= zp_gpt_max_pp(shape); pp++)
    for (int32_t dp = 1; dp <= ZP_VERIFY_DP_MAX && dp <= batch; dp++) {
      if (v->jobs > TOPOLOGIES || bad) return bad;
      if (batch % dp != 0 || (dp == cfg->dp) != same || is_chosen(v, cfg, dp, pp, -1, 0)) continue;
      bad = add_job(v, cfg, shape, 0, dp, pp, v->jobs % 3, buckets[v->jobs % BUCKETS]);
    }
  return bad;
}

/* Too few splits exist: other stages and bucket sizes for the main run's dp, the rarest to vary. */
static int add_cuts(zp_verify *v, const zp_config *cfg, const zp_gpt_shape *shape)
{
  int bad = 0;
  for (int32_t i = 0; i < 3 * BUCKETS && v->jobs <= TOPOLOGIES && !bad; i++) {
    const int32_t pp = 1 + i % zp_gpt_max_pp(shape), stage = i % 3;
    const int64_t bucket = buckets[i / 3];
    if (!is_chosen(v, cfg, cfg->dp, pp, stage, bucket))
      bad = add_job(v, cfg, shape, 0, cfg->dp, pp, stage, bucket);
  }
  return bad;
}

/* The oracle and, under exact reduction, seven other configurations: the wanted splits, then any,
 * then other stages and buckets. dp varies wherever the global batch has another divisor: of the
 * wanted ones at most six have dp 1 too. */
static int add_jobs(zp_verify *v, const zp_config *cfg, const zp_gpt_shape *shape)
{
  const int64_t batch = cfg->micro_batches * cfg->dp;
  int bad = add_job(v, cfg, shape, 1, cfg->dp, cfg->pp, cfg->stage, cfg->bucket);
  if (cfg->reduce != ZP_EXACT) return bad;
  for (int32_t i = 0; i < WANTED && v->jobs <= TOPOLOGIES && !bad; i++) {
    const int32_t dp = wanted[i].dp, pp = wanted[i].pp;
    if (batch % dp != 0 || pp > zp_gpt_max_pp(shape) || (dp == cfg->dp && pp == cfg->pp)) continue;
    bad = add_job(v, cfg, shape, 0, dp, pp, i % 3, buckets[i % BUCKETS]);
  }
  if (!bad) bad = add_splits(v, cfg, shape, 0);
  if (!bad) bad = add_splits(v, cfg, shape, 1);
  return bad ? bad : add_cuts(v, cfg, shape);
}

/* One core is the main run's. */
static int32_t threads_of(void)
{
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  return cores < 3 ? 1 : cores - 1 > THREADS_MAX ? THREADS_MAX : (int32_t)cores - 1;
}

zp_verify *zp_verify_start(const zp_config *cfg, const zp_train_hyper *hyper,
                           const zp_workload *work, const zp_gpt_shape *shape, int64_t steps)
{
  zp_verify *v = calloc(1, sizeof *v);
  if (v == NULL) return NULL;
  v->work = work;
  v->hyper = *hyper;
  int bad = add_jobs(v, cfg, shape);
  for (int32_t i = 0; i < v->jobs && !bad; i++)
    bad = zp_outcome_open(&v->job[i].out, &v->job[i].cfg, 0, steps);
  if (bad) {
    zp_verify_free(v);
    return NULL;
  }
  v->threads = threads_of();
  for (int32_t i = 0; i < v->threads; i++)
    if (pthread_create(&v->thread[i], NULL, work_on, v) != 0) v->threads = i;
  return v;
}

/* ---- Memory ---------------------------------------------------------------------------------- */

/* Of one run: its ranks, activations, and the gradients of each replica. The oracle takes less. */
static int run_need(const zp_config *cfg, const zp_hyper *hyper, const zp_gpt_shape *shape,
                    double *bytes, zp_error *err)
{
  *bytes = zp_gpt_activation_bytes(shape, cfg);
  return zp_simulation_need(cfg, hyper, 4.0 * cfg->dp, bytes, err);
}

/* Inserts a run into the list of the largest ones. */
static void insert(double *largest, int32_t n, double bytes)
{
  for (int32_t i = 0; i < n; i++) {
    const double here = largest[i];
    if (bytes <= here) continue;
    largest[i] = bytes;
    bytes = here;
  }
}

int zp_train_need(const zp_config *cfg, const zp_hyper *hyper, const zp_gpt_shape *shape,
                  int32_t verify, double *bytes, zp_error *err)
{
  zp_hyper alone = *hyper; /* of the runs that verify */
  double need, largest[THREADS_MAX + 1] = {0}, end = 0;
  zp_verify *v = verify ? calloc(1, sizeof *v) : NULL;
  int status = run_need(cfg, hyper, shape, &need, err);
  if (status == 0 && verify && (v == NULL || add_jobs(v, cfg, shape)))
    status = zp_fail(err, ZP_E_MEMORY, -1, "no memory to verify");
  insert(largest, threads_of() + 1, need);
  alone.replicas = 1;
  /* each run leaves its masters, moments and parameters */
  for (int32_t j = 0; j < cfg->n_params; j++)
    end += (double)cfg->params[j].numel *
           (double)(3 * (int64_t)sizeof(float) + zp_dtype_bytes(zp_entry_dtype(cfg, j)));
  *bytes += v != NULL ? end * (v->jobs + 1) : 0;
  for (int32_t i = 0; v != NULL && i < v->jobs && status == 0; i++) {
    status = run_need(&v->job[i].cfg, &alone, shape, &need, err);
    insert(largest, threads_of() + 1, need);
  }
  for (int32_t i = 0; i <= threads_of(); i++) *bytes += largest[i];
  if (v != NULL) zp_verify_free(v);
  return status;
}

void zp_verify_wait(zp_verify *v, int32_t stop, void (*progress)(int32_t done, int32_t runs))
{
  if (stop) atomic_store(&v->stop, 1);
  work_on(v); /* the main run is over: this core is free */
  while (progress != NULL && atomic_load(&v->done) < v->jobs && !atomic_load(&v->stop)) {
    progress(atomic_load(&v->done), v->jobs);
    usleep(100000);
  }
  for (int32_t i = 0; i < v->threads; i++) pthread_join(v->thread[i], NULL);
}

int32_t zp_verify_runs(const zp_verify *v)
{
  return v->jobs;
}

const zp_verify_run *zp_verify_run_at(const zp_verify *v, int32_t i)
{
  return &v->job[i];
}

zp_differences zp_outcome_compare(const zp_outcome *a, const zp_outcome *b)
{
  zp_differences d = {0};
  const zp_snapshot *x = &a->end, *y = &b->end;
  const size_t bytes = (size_t)x->elements * sizeof(float);
  for (int64_t i = 0; i < a->steps; i++) {
    const zp_step_result *p = &a->result[i], *q = &b->result[a->first - b->first + i];
    d.losses |= p->loss != q->loss;
    d.norms |= p->norm_f64 != q->norm_f64 || p->norm_f32 != q->norm_f32;
    d.scales |= p->log2_scale != q->log2_scale || p->skipped != q->skipped;
  }
  d.params = memcmp(x->param, y->param, (size_t)(x->elements * x->size)) != 0;
  d.masters = memcmp(x->state[0], y->state[0], bytes) != 0;
  d.moments =
      memcmp(x->state[1], y->state[1], bytes) != 0 || memcmp(x->state[2], y->state[2], bytes) != 0;
  return d;
}
