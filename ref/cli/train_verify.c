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

/* TOPOLOGIES: six are promised, one more costs little. DP_MAX: each replica of the model takes
 * memory. */
enum { TOPOLOGIES = 7, JOBS_MAX = TOPOLOGIES + 1, THREADS_MAX = 16, DP_MAX = 64 };

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
static const struct {
  int32_t dp, pp;
} wanted[] = {{1, 1}, {2, 1}, {3, 2}, {6, 2}, {4, 3}, {12, 2}, {2, 3}, {3, 1}, {1, 2},
              {1, 4}, {6, 1}, {5, 1}, {5, 2}, {7, 2}, {8, 2},  {1, 3}, {1, 5}, {1, 6}};
enum { WANTED = sizeof wanted / sizeof *wanted, BUCKETS = 8 };
static const int64_t buckets[BUCKETS] = {4096, 997, 20011, 65536, 333, 8192, 50000, 1500};

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

/* Is this split, or (stage >= 0) this very configuration, the main run's or chosen already? */
static int is_taken(const zp_verify *v, const zp_config *cfg, int32_t dp, int32_t pp, int32_t stage,
                    int64_t bucket)
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
static int add_splits(zp_verify *v, const zp_config *cfg, const zp_gpt_shape *shape, int same,
                      int64_t steps)
{
  const int64_t batch = cfg->micro_batches * cfg->dp;
  int bad = 0;
  for (int32_t pp = 1; pp <= zp_gpt_max_pp(shape); pp++)
    for (int32_t dp = 1; dp <= DP_MAX && dp <= batch; dp++) {
      if (v->jobs > TOPOLOGIES || bad) return bad;
      if (batch % dp != 0 || (dp == cfg->dp) != same || is_taken(v, cfg, dp, pp, -1, 0)) continue;
      bad = add_job(v, cfg, shape, 0, dp, pp, v->jobs % 3, buckets[v->jobs % BUCKETS], steps);
    }
  return bad;
}

/* Too few splits exist: other stages and bucket sizes for the main run's dp, the rarest to vary. */
static int add_cuts(zp_verify *v, const zp_config *cfg, const zp_gpt_shape *shape, int64_t steps)
{
  int bad = 0;
  for (int32_t i = 0; i < 3 * BUCKETS && v->jobs <= TOPOLOGIES && !bad; i++) {
    const int32_t pp = 1 + i % zp_gpt_max_pp(shape), stage = i % 3;
    const int64_t bucket = buckets[i / 3];
    if (!is_taken(v, cfg, cfg->dp, pp, stage, bucket))
      bad = add_job(v, cfg, shape, 0, cfg->dp, pp, stage, bucket, steps);
  }
  return bad;
}

/* The oracle and, under exact reduction, seven other configurations: the wanted splits, then any,
 * then other stages and buckets. dp varies wherever the global batch has another divisor: of the
 * wanted ones at most six have dp 1 too. */
static int add_jobs(zp_verify *v, const zp_config *cfg, const zp_gpt_shape *shape, int64_t steps)
{
  const int64_t batch = cfg->micro_batches * cfg->dp;
  int bad = add_job(v, cfg, shape, 1, cfg->dp, cfg->pp, cfg->stage, cfg->bucket, steps);
  if (cfg->reduce != ZP_EXACT) return bad;
  for (int32_t i = 0; i < WANTED && v->jobs <= TOPOLOGIES && !bad; i++) {
    const int32_t dp = wanted[i].dp, pp = wanted[i].pp;
    if (batch % dp != 0 || pp > zp_gpt_max_pp(shape) || (dp == cfg->dp && pp == cfg->pp)) continue;
    bad = add_job(v, cfg, shape, 0, dp, pp, i % 3, buckets[i % BUCKETS], steps);
  }
  if (!bad) bad = add_splits(v, cfg, shape, 0, steps);
  if (!bad) bad = add_splits(v, cfg, shape, 1, steps);
  return bad ? bad : add_cuts(v, cfg, shape, steps);
}

zp_verify *zp_verify_start(const zp_train_args *a, const zp_config *cfg, const zp_workload *work,
                           const zp_gpt_shape *shape, int64_t steps)
{
  zp_verify *v = calloc(1, sizeof *v);
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  if (v == NULL) return NULL;
  v->a = a;
  v->work = work;
  v->hyper = a->o.hyper;
  if (add_jobs(v, cfg, shape, steps)) {
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
  d.moments =
      memcmp(x->state[1], y->state[1], bytes) != 0 || memcmp(x->state[2], y->state[2], bytes) != 0;
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
  const int width = j->serial ? 38 : 39; /* bytes: × has two */
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
    printf("  %-*s losses %s, norms %s, scales %s, parameters %s, masters %s, moments %s\n", width,
           name, verdict(d.losses), verdict(d.norms), verdict(d.scales), verdict(d.params),
           verdict(d.masters), verdict(d.moments));
  else
    printf("  %-*s all bits equal  %016" PRIx64 "\n", width, name,
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

/* The field of a configuration that `what` stands for. */
enum { OF_DP, OF_PP, OF_STAGE, OF_BUCKET };
static int64_t field(const zp_config *c, int what)
{
  return what == OF_DP ? c->dp : what == OF_PP ? c->pp : what == OF_STAGE ? c->stage : c->bucket;
}

/* 1 when one of the other runs has another value of the field than the main one (the oracle's
 * configuration). */
static int varies(const zp_verify *v, int what)
{
  for (int32_t i = 1; i < v->jobs; i++)
    if (field(&v->job[i].cfg, what) != field(&v->job[0].cfg, what)) return 1;
  return 0;
}

/* " dp 1 2 3": the values that the other runs have, ascending. */
static void print_values(const zp_verify *v, const char *name, int what)
{
  int64_t last = -1;
  printf("%s", name);
  for (;;) {
    int64_t next = INT64_MAX;
    for (int32_t i = 1; i < v->jobs; i++) {
      const int64_t x = field(&v->job[i].cfg, what);
      if (x > last && x < next) next = x;
    }
    if (next == INT64_MAX) return;
    printf(" %" PRId64, next);
    last = next;
  }
}

/* Says what was compared, and no more. */
static void print_others(const zp_verify *v, int32_t equal, int32_t others)
{
  const zp_config *c = &v->job[0].cfg;
  const int64_t batch = c->micro_batches * c->dp;
  if (others == 0) {
    printf("  other topologies: not compared, since ordered additions depend on the topology "
           "(--reduce exact does not)\n");
    return;
  }
  printf("  %d of %d other %s (", equal, others,
         varies(v, OF_DP) || varies(v, OF_PP) ? "topologies" : "cuts of this topology");
  print_values(v, "dp", OF_DP);
  print_values(v, "; pp", OF_PP);
  print_values(v, "; stage", OF_STAGE);
  print_values(v, "; bucket", OF_BUCKET);
  printf(") end in the bits of this run\n");
  if (varies(v, OF_DP)) return;
  if (batch == 1) printf("  dp does not vary: a global batch of 1 micro-batch cannot be split\n");
  else
    printf("  dp does not vary: a global batch of %" PRId64 " micro-batches has no other divisor "
           "up to %d\n",
           batch, DP_MAX);
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
                        json_pack("{s:b, s:b, s:b, s:i, s:i, s:b, s:b, s:o}", "ok", !bad,
                                  "ledgers_agree", main_run->ledgers_agree, "replicas_equal",
                                  !main_run->end.replicas_differ, "topologies", others,
                                  "topologies_equal", equal, "dp_varies", varies(v, OF_DP),
                                  "pp_varies", varies(v, OF_PP), "runs", list));
    return bad ? ZP_EXIT_VERDICT : ZP_EXIT_GOOD;
  }
  printf("  ledgers of %" PRId64 " groups: %s; replicas of parameters: %s\n",
         main_run->ledger_groups,
         main_run->ledgers_agree ? "every member issued the same sequence" : "MEMBERS DIFFER",
         main_run->end.replicas_differ ? "DIFFER" : "equal");
  print_others(v, equal, others);
  if (main_run->first > 0) printf("  (all of them trained from step 0 without interruption)\n");
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
