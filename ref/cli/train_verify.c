/* --verify: the serial oracle and, under exact reduction, other topologies train the same model
 * beside the main run; every bit of their ends is compared. spec: RED-5, STEP-7 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "train.h"

enum { TOPOLOGIES_MAX = 8, JOBS_MAX = TOPOLOGIES_MAX + 1, THREADS_MAX = 16 };

/* One more training run. */
typedef struct run_job {
  int32_t serial; /* 1: the oracle; 0: the simulator */
  zp_config cfg;
  zp_param *params;
  zp_outcome out;
  int status;
} run_job;

struct zp_verify {
  const zp_train_args *a;
  const zp_workload *work;
  zp_hyper hyper;
  run_job job[JOBS_MAX];
  int32_t jobs, threads;
  pthread_t thread[THREADS_MAX];
  atomic_int next, done, stop;
};

/* dp × pp of the acceptance list first, then others. */
static const struct { int32_t dp, pp; } wanted[] = {
  {1, 1}, {2, 1}, {3, 2}, {6, 2}, {4, 3}, {12, 2}, {2, 3}, {3, 1}, {1, 2}, {1, 4}, {6, 1}, {5, 1},
  {5, 2}, {7, 2}, {8, 2}, {1, 3}, {1, 5}, {1, 6}};
static const int64_t buckets[] = {4096, 997, 20011, 65536, 333, 8192, 50000, 1500};

static int add_job(zp_verify *v, const zp_config *like, const zp_gpt_shape *shape, int32_t serial,
                   int32_t dp, int32_t pp, int32_t stage, int64_t bucket, int64_t steps)
{
  run_job *j = &v->job[v->jobs];
  const int64_t batch = like->micro_batches * like->dp;
  j->serial = serial;
  j->cfg = *like;
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
  return zp_outcome_open(&j->out, &j->cfg, 0, steps);
}

static void *work_on(void *arg)
{
  zp_verify *v = arg;
  for (;;) {
    const int i = atomic_fetch_add(&v->next, 1);
    run_job *j;
    if (i >= v->jobs || atomic_load(&v->stop)) return NULL;
    j = &v->job[i];
    j->status = j->serial ? zp_serial_run(&j->cfg, &v->hyper, v->work, &v->stop, &j->out)
                          : zp_sim_run_all(&j->cfg, &v->hyper, v->work, &v->stop, &j->out);
    atomic_fetch_add(&v->done, 1);
  }
}

static void free_verify(zp_verify *v)
{
  for (int32_t i = 0; i < v->jobs; i++) {
    zp_outcome_close(&v->job[i].out);
    free(v->job[i].params);
  }
  free(v);
}

zp_verify *zp_verify_start(const zp_train_args *a, const zp_config *cfg, const zp_workload *work,
                           const zp_gpt_shape *shape, int64_t steps)
{
  zp_verify *v = calloc(1, sizeof *v);
  const int64_t batch = cfg->micro_batches * cfg->dp;
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  int bad;
  if (v == NULL) return NULL;
  v->a = a;
  v->work = work;
  v->hyper = a->o.hyper;
  bad = add_job(v, cfg, shape, 1, cfg->dp, cfg->pp, cfg->stage, cfg->bucket, steps);
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted && cfg->reduce == ZP_EXACT && !bad; i++) {
    const int32_t dp = wanted[i].dp, pp = wanted[i].pp;
    if (v->jobs > 7) break; /* the oracle and seven topologies */
    if (batch % dp != 0 || pp > zp_gpt_max_pp(shape) || (dp == cfg->dp && pp == cfg->pp)) continue;
    bad = add_job(v, cfg, shape, 0, dp, pp, (int32_t)(i % 3), buckets[i % 8], steps);
  }
  if (bad) {
    free_verify(v);
    return NULL;
  }
  /* one core is the main run's */
  v->threads = cores < 3 ? 1 : cores - 1 > THREADS_MAX ? THREADS_MAX : (int32_t)cores - 1;
  for (int32_t i = 0; i < v->threads; i++)
    if (pthread_create(&v->thread[i], NULL, work_on, v) != 0) v->threads = i;
  return v;
}

/* ---- Verdicts -------------------------------------------------------------------------------- */

/* What differs between two runs over the steps of the first; each 0 or 1. */
typedef struct differences {
  int32_t losses, norms, scales, params, masters, moments;
} differences;

static differences compare(const zp_outcome *a, const zp_outcome *b)
{
  differences d = {0};
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
  d.moments = memcmp(x->state[1], y->state[1], bytes) != 0 ||
              memcmp(x->state[2], y->state[2], bytes) != 0;
  return d;
}

static int any(const differences *d)
{
  return d->losses | d->norms | d->scales | d->params | d->masters | d->moments;
}

static const char *verdict(int32_t differs)
{
  return differs ? "DIFFER" : "equal";
}

/* One line, or one JSON object, of a compared run. Returns 1 when it failed or differs. */
static int report(const zp_verify *v, const run_job *j, const zp_outcome *main_run, json_t *list)
{
  const zp_config *c = &j->cfg;
  differences d;
  char name[96] = "serial";
  if (!j->serial)
    snprintf(name, sizeof name, "dp %2d × pp %d, stage %d, bucket %-6" PRId64, (int)c->dp,
             (int)c->pp, (int)c->stage, c->bucket);
  if (j->status != 0) {
    fprintf(stderr, "%s: verify: %s: %s\n", v->a->o.command, name, j->out.err.text);
    return 1;
  }
  d = compare(main_run, &j->out);
  if (list != NULL)
    json_array_append_new(
        list, json_pack("{s:s, s:i, s:i, s:i, s:I, s:b, s:b, s:b, s:b, s:b, s:b, s:b}", "run",
                        j->serial ? "serial" : "topology", "dp", c->dp, "pp", c->pp, "stage",
                        c->stage, "bucket", (json_int_t)c->bucket, "equal", !any(&d), "losses",
                        !d.losses, "norms", !d.norms, "scales", !d.scales, "params", !d.params,
                        "masters", !d.masters, "moments", !d.moments));
  else if (j->serial || any(&d))
    printf("  %-38s losses %s, norms %s, scales %s, parameters %s, masters %s, moments %s\n", name,
           verdict(d.losses), verdict(d.norms), verdict(d.scales), verdict(d.params),
           verdict(d.masters), verdict(d.moments));
  else
    printf("  %-38s all bits equal  %016" PRIx64 "\n", name,
           zp_outcome_hash(&j->out, main_run->first));
  return any(&d) || j->out.end.replicas_differ || !(j->serial || j->out.ledgers_agree);
}

static void wait_all(zp_verify *v, int quiet)
{
  work_on(v); /* the main run is over: this core is free */
  while (!quiet && atomic_load(&v->done) < v->jobs && !atomic_load(&v->stop)) {
    fprintf(stderr, "\r  verifying: %d of %d runs", atomic_load(&v->done), (int)v->jobs);
    usleep(100000);
  }
  if (!quiet) fputs("\r\033[K", stderr);
  for (int32_t i = 0; i < v->threads; i++) pthread_join(v->thread[i], NULL);
}

static int judge(zp_verify *v, const zp_outcome *main_run, json_t *doc)
{
  json_t *list = doc != NULL ? json_array() : NULL;
  int bad = 0, equal = 0, others = 0;
  if (doc == NULL) printf("\nVerified, bit for bit, over %" PRId64 " steps\n", main_run->steps);
  for (int32_t i = 0; i < v->jobs; i++) {
    const int differs = report(v, &v->job[i], main_run, list);
    bad |= differs;
    others += !v->job[i].serial;
    equal += !v->job[i].serial && !differs;
  }
  bad |= !main_run->ledgers_agree || main_run->end.replicas_differ;
  if (doc != NULL) {
    json_object_set_new(doc, "verify",
                        json_pack("{s:b, s:b, s:b, s:i, s:i, s:o}", "ok", !bad, "ledgers_agree",
                                  main_run->ledgers_agree, "replicas_equal",
                                  !main_run->end.replicas_differ, "topologies", others,
                                  "topologies_equal", equal, "runs", list));
    return bad ? ZP_EXIT_VERDICT : ZP_EXIT_GOOD;
  }
  printf("  ledgers of %" PRId64 " groups: %s; replicas of parameters: %s\n",
         main_run->ledger_groups, main_run->ledgers_agree ? "every member issued the same sequence"
         : "MEMBERS DIFFER", main_run->end.replicas_differ ? "DIFFER" : "equal");
  if (others > 0)
    printf("  %d of %d other topologies end in the bits of this run\n", equal, others);
  else
    printf("  other topologies: not compared, since ordered additions depend on the topology "
           "(--reduce exact does not)\n");
  if (main_run->first > 0)
    printf("  (all of them trained from step 0 without interruption)\n");
  return bad ? ZP_EXIT_VERDICT : ZP_EXIT_GOOD;
}

int zp_verify_finish(zp_verify *v, const zp_outcome *main_run, void *json)
{
  int code = 0;
  if (main_run == NULL) atomic_store(&v->stop, 1);
  wait_all(v, v->a->o.json || !isatty(STDERR_FILENO) || main_run == NULL);
  if (main_run != NULL) code = judge(v, main_run, json);
  free_verify(v);
  return code;
}
