/* One process of a job: trains synth for some steps over MPI, and on rank 0 also in comm_sim, and
 * compares everything that a rank holds, bit by bit. It can also go wrong on purpose.
 *
 * mpi_driver PP DP TP EP STAGE REDUCE PRECISION M BUCKET STEPS DYNAMIC PIECE FAULT RANK DEADLINE
 *   PIECE     largest message in bytes, 0: the default
 *   FAULT     none | kill | stop | count | shape | skip | arrival | early | compute, planted on
 *             RANK in step 1
 * Exit code: 0 equal, 1 not equal, 3 the job failed (what is expected of the faults). */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../../ref/base/clock.h"
#include "../../../ref/comm/mpi/comm_mpi.h"
#include "../../../ref/comm/sim/comm_sim.h"
#include "../../../ref/model/synth.h"

typedef struct job {
  zp_config cfg;
  zp_hyper hyper;
  zp_synth synth;
  zp_workload work;
  int64_t steps;
  const char *fault;
  int32_t rank; /* of the fault */
  int32_t done;
} job;

/* Every kind of entry: plain, straddling buckets, sharded, expert, tied, frozen, empty. */
static int32_t make_params(const zp_config *cfg, zp_param *p)
{
  int32_t n = 0;
  for (int32_t s = 0; s < cfg->pp; s++) {
    if (s == 0) p[n++] = (zp_param){23, s, 0, 0, 0, 0, 0, 0};
    p[n++] = (zp_param){31 + s, s, 0, -1, 0, 0, 0, 0};
    p[n++] = (zp_param){7, s, s % 2, -1, 1, 0, 0, 0};
    p[n++] = (zp_param){13, s, 0, -1, 0, 1, 0, 0};
    p[n++] = (zp_param){5, s, 0, -1, 0, 0, 1, 0};
    p[n++] = (zp_param){s % 2, s, 1, -1, 0, 0, 0, 0};
    if (s == cfg->pp - 1) p[n++] = (zp_param){23, s, 0, 0, 0, 0, 0, 0};
  }
  return n;
}

static int is_data(const zp_op *op)
{
  return op->kind == ZP_OP_REDUCE_SCATTER || op->kind == ZP_OP_ALL_REDUCE;
}

static void before(void *ctx, zp_rank *r, zp_op *op)
{
  job *j = ctx;
  if (r->rank != j->rank || r->cursor.phase != ZP_PHASE_STEP || r->step != 1 || j->done) return;
  if (strcmp(j->fault, "kill") == 0 && is_data(op)) raise(SIGKILL);
  if (strcmp(j->fault, "stop") == 0 && is_data(op)) raise(SIGSTOP);
  if (strcmp(j->fault, "early") == 0 && is_data(op)) _exit(5);
  if (strcmp(j->fault, "compute") == 0 && is_data(op)) sleep(600);
  if (strcmp(j->fault, "count") == 0 && is_data(op)) {
    op->count--;
    j->done = 1;
  }
  if (strcmp(j->fault, "shape") == 0 && op->kind == ZP_OP_P2P && op->mb >= 0) {
    zp_message *out = op->what == ZP_WHAT_ACTIVATION ? &r->act_out : &r->grad_out;
    out->t[0].dim[0]++;
    j->done = 1;
  }
  if (strcmp(j->fault, "skip") == 0 && op->kind == ZP_OP_ALL_REDUCE) {
    op->kind = -1;
    j->done = 1;
  }
  if (strcmp(j->fault, "arrival") == 0 && op->kind == ZP_OP_ARRIVED) {
    for (int32_t i = 0; i < r->lay.n_params; i++) r->arrived[i] = NULL;
    j->done = 1;
  }
}

/* ---- Everything that a rank holds, as bytes -------------------------------------------------- */

typedef struct bytes {
  char *at;
  size_t n, cap;
} bytes;

static void put(bytes *b, const void *data, size_t n)
{
  if (b->n + n > b->cap) {
    b->cap = 2 * (b->n + n) + 4096;
    b->at = realloc(b->at, b->cap);
    if (!b->at) abort();
  }
  if (n > 0) memcpy(b->at + b->n, data, n);
  b->n += n;
}

static void put_values(void *ctx, int32_t param, int64_t offset, int64_t count, const float *value)
{
  const int64_t head[3] = {param, offset, count};
  put(ctx, head, sizeof head);
  put(ctx, value, (size_t)count * sizeof *value);
}

static void put_rank(bytes *b, const zp_rank *r)
{
  const zp_step_result *s = &r->result;
  const int64_t numbers[8] = {s->step,       s->loss,    (int64_t)s->norm_f64, s->norm_f32,
                              s->log2_scale, s->skipped, r->scaler.log2_scale, r->step};
  put(b, numbers, sizeof numbers);
  put(b, &s->clip_factor, sizeof s->clip_factor);
  put(b, r->ledger, sizeof r->ledger);
  for (int32_t what = ZP_WHAT_MASTER; what <= ZP_WHAT_MOMENT2; what++)
    zp_rank_visit(r, what, put_values, b);
  zp_rank_visit(r, ZP_WHAT_GRADIENT, put_values, b);
  for (int32_t i = 0; i < r->lay.n_params; i++)
    put(b, r->param[i],
        (size_t)(r->cfg->params[r->lay.first_param + i].numel * zp_dtype_bytes(r->cfg->precision)));
}

/* ---- The job --------------------------------------------------------------------------------- */

static void leave(zp_mpi *m, const zp_error *err, double since)
{
  fprintf(stderr, "[after %.2f s] %s: %s\n", zp_clock_s() - since, zp_status_name(err->status),
          err->text);
  fflush(stderr);
  zp_mpi_abandon(m, err);
  _exit(3);
}

/* Rank 0: the same in comm_sim. Returns the number of ranks that differ. */
static int32_t compare(const job *j, const char *all, const int64_t *sizes, zp_error *err)
{
  int32_t wrong = 0;
  zp_sim *sim = zp_sim_open(&j->cfg, &j->hyper, &j->work, err);
  if (!sim) return 1;
  if (zp_sim_run(sim, ZP_PHASE_INIT, err)) return 1;
  for (int64_t s = 0; s < j->steps; s++)
    if (zp_sim_run(sim, ZP_PHASE_STEP, err)) return 1;
  for (int32_t r = 0; r < zp_sim_world(sim); r++) {
    bytes b = {0};
    put_rank(&b, zp_sim_rank(sim, r));
    if ((int64_t)b.n != sizes[r] || memcmp(b.at, all, b.n) != 0) wrong++;
    all += sizes[r];
    free(b.at);
  }
  zp_sim_close(sim);
  return wrong;
}

static int judge(job *j, zp_mpi *m, zp_rank *r, double seconds, zp_error *err)
{
  bytes b = {0};
  void *all = NULL;
  int64_t sizes[256], wrong = 0, total = 0;
  put_rank(&b, r);
  if (zp_mpi_gather_bytes(m, b.at, (int64_t)b.n, &all, sizes, err)) return -1;
  if (zp_mpi_rank(m) == 0) {
    for (int32_t i = 0; i < zp_mpi_size(m); i++) total += sizes[i];
    wrong = compare(j, all, sizes, err);
    printf("%d ranks, %lld steps in %.3f s, %lld bytes compared: %s%s\n", zp_mpi_size(m),
           (long long)j->steps, seconds, (long long)total,
           wrong ? "DIFFERENT " : "equal to comm_sim", err->text);
    fflush(stdout);
  }
  free(all);
  free(b.at);
  if (zp_mpi_broadcast_bytes(m, &wrong, sizeof wrong, err)) return -1;
  return wrong != 0;
}

static void parse(job *j, char **v, zp_param *params)
{
  zp_config *c = &j->cfg;
  *c = (zp_config){.pp = atoi(v[1]),
                   .dp = atoi(v[2]),
                   .tp = atoi(v[3]),
                   .ep = atoi(v[4]),
                   .stage = atoi(v[5]),
                   .reduce = atoi(v[6]),
                   .precision = atoi(v[7]),
                   .dynamic_shapes = atoi(v[11]),
                   .optgroups = 2,
                   .tied_keys = 1,
                   .micro_batches = atoi(v[8]),
                   .bucket = atoi(v[9]),
                   .align = 1,
                   .params = params,
                   .sequence_parallel = 1};
  c->n_params = make_params(c, params);
  j->steps = atoi(v[10]);
  j->fault = v[13];
  j->rank = atoi(v[14]);
  j->hyper.groups = 1;
  j->hyper.optim[0] = (zp_optim){ZP_OPTIM_ADAMW, 1e-2, 0.9, 0.999, 1e-8, 0.01, 0};
  j->hyper.clip = 1;
  j->hyper.clip_eps = 1e-6;
  zp_scaler_init(&j->hyper.scaler, 1, 4, 0, 16, 2, 1, 0);
  j->synth.opt = (zp_synth_options){.seed = 7,
                                    .mode = ZP_SYNTH_WILD,
                                    .unused = 40,
                                    .vary = c->dynamic_shapes,
                                    .tuple = 1,
                                    .overflow = 4};
  j->work = zp_synth_workload(&j->synth);
}

int main(int argc, char **argv)
{
  static job j;
  static zp_param params[64 * 8];
  static zp_error err, late;
  zp_mpi *m;
  zp_refusal why;
  if (argc != 16) {
    fprintf(stderr, "mpi_driver: see the head of its source for its %d arguments\n", 15);
    return 2;
  }
  parse(&j, argv, params);
  if (zp_config_check(&j.cfg, &why)) {
    fprintf(stderr, "mpi_driver: field %d refused: %lld\n", why.field, (long long)why.value);
    return 2;
  }
  if (zp_mpi_start(&m, atof(argv[15]), &err)) return 3;
  if (atoi(argv[12]) > 0) zp_mpi_set_piece(m, atoi(argv[12]));
  const double since = zp_clock_s();
  const zp_hook hook = {&j, before, NULL};
  if (zp_mpi_size(m) != zp_world(&j.cfg)) { /* what zp_mpi_run says, before the rank exists */
    fprintf(stderr, "mpi_driver: %d processes for %d ranks\n", zp_mpi_size(m), zp_world(&j.cfg));
    return 2;
  }
  zp_rank *r = zp_rank_open(&j.cfg, &j.hyper, &j.work, zp_mpi_rank(m), &err);
  if (!r) leave(m, &err, since);
  r->hook = &hook;
  if (zp_mpi_run(m, r, ZP_PHASE_INIT, &err)) leave(m, &err, since);
  for (int64_t s = 0; s < j.steps; s++)
    if (zp_mpi_run(m, r, ZP_PHASE_STEP, &err)) leave(m, &err, since);
  const int verdict = judge(&j, m, r, zp_clock_s() - since, &err);
  if (verdict < 0) leave(m, &err, since);
  zp_rank_close(r);
  if (zp_mpi_stop(m, &late)) leave(m, &late, since);
  return verdict;
}
