/* The interpreter with its arithmetic taken away and done by the kernels: the same bits as without.
 * A hook before each op runs the kernel on the rank's own memory and takes the op out of the
 * program; random configurations, all ranks of each. */
#include "../../../ref/comm/sim/comm_sim.h"
#include "../../../ref/engine/rank_query.h"
#include "../../../ref/num/ordered.h"
#include "../../../ref/verify/random_case.h"
#include "kernel_run.h"

enum { CASES = 250, RUNS = 512 };

/* What would be on a rank's device. */
typedef struct device {
  zp_tally tally;
  zp_step_state step;
  zp_group_state *group;
  int64_t stats[ZP_STATS];
} device;

typedef struct job {
  zp_case c;
  zp_hyper hyper;
  zp_synth synth;
  zp_workload work;
  device *dev; /* [world] */
  rng r;
  int64_t ops[ZP_OPS];
} job;

/* ---- Ops ------------------------------------------------------------------------------------- */

static void add(job *j, zp_rank *r, const zp_op *op)
{
  const int32_t i = op->param - r->lay.first_param;
  const int32_t dtype = zp_block_gradients(&r->block, r->cfg->params[op->param].fp32);
  const int64_t size = zp_dtype_bytes(dtype), at = r->lay.spot[i].start + op->offset;
  const zp_flat *f = &r->lay.flat[op->flat];
  zp_flat_state *s = &r->flat[op->flat];
  const int exact = r->cfg->reduce == ZP_EXACT; /* then contributions are checked. STAT-3 */
  zp_gather_params p = {.dtype = dtype, .nonfinite = exact ? &r->stats.nonfinite : NULL};
  zp_memory_run *run = p.runs.here;
  const void *kernel = zp_kernel_gather_copy;
  p.first = op->mb == 0;
  p.runs.n = 2;
  run[0].count = zp_block_own(&r->block, op->param, op->offset, op->count);
  run[1].count = op->count - run[0].count; /* padding after the entry */
  if (r->used[i]) run[0].in = (const char *)r->arrived[i] + op->offset * size;
  if (r->cfg->stage == 2) { /* with the last element comes the padding */
    const int64_t from = at - op->bucket * f->capacity, end = from + op->count;
    run[0].out = (char *)r->slot[op->slot] + from * size;
    run[1].out = (char *)r->slot[op->slot] + (from + run[0].count) * size;
    if (end == zp_bucket_numel(f, op->bucket))
      run[1].count += zp_bucket_padded(f, op->bucket) - end;
  } else if (exact) {
    kernel = zp_kernel_gather_exact;
    run[0].out = (int64_t *)s->window + at * ZP_LIMBS;
    run[1].out = (int64_t *)s->window + (at + run[0].count) * ZP_LIMBS;
  } else {
    kernel = zp_kernel_gather_ordered;
    run[0].out = (float *)s->window + at;
    run[1].out = (float *)s->window + at + run[0].count;
  }
  p.runs.tiles = zp_runs_lay(run, 2);
  kernel_run(&j->r, kernel,
             kernel == zp_kernel_gather_exact ? limb_runs_launch(&p.runs) : runs_launch(&p.runs),
             &p);
}

/* Elements from … to - 1 of what the rank holds of the bucket. */
static void add_run(zp_memory_run *run, zp_squares_params *p, const zp_rank *r, const zp_op *op,
                    int64_t from, int64_t to, int counted)
{
  const char *sums = zp_sums_of(r, op->flat, op->bucket);
  float *mean = zp_held_of(r, op->flat, op->bucket, ZP_WHAT_GRADIENT);
  if (from == to) return;
  cr_assert_lt(p->runs.n, RUNS);
  const int packed = zp_is_packed(r->cfg->stage, r->cfg->reduce);
  run[p->runs.n++] =
      (zp_memory_run){.in = packed ? NULL : sums + from * zp_sum_bytes(r->cfg->reduce),
                      .out = r->cfg->reduce == ZP_EXACT ? mean + from : NULL,
                      .at = counted,
                      .count = to - from};
}

/* The sums of what the rank holds; squares are those of the entries that it counts, in its part. */
static void mean(job *j, device *d, zp_rank *r, const zp_op *op)
{
  const int exact = r->cfg->reduce == ZP_EXACT;
  const int packed = zp_is_packed(r->cfg->stage, r->cfg->reduce);
  const zp_range here = zp_rank_range(r, op->flat, op->bucket);
  const zp_range own = zp_rank_owned(r, op->flat, op->bucket);
  zp_memory_run run[RUNS];
  zp_squares_params p = {.divisor = r->cfg->micro_batches * r->cfg->dp,
                         .packed = packed ? zp_sums_of(r, op->flat, op->bucket) : NULL,
                         .f16 = zp_gradients_of(r, op->flat) == ZP_F16,
                         .n = here.count,
                         .tally = &d->tally,
                         .nonfinite = &r->stats.nonfinite};
  int64_t next = 0;
  int32_t i = r->lay.n_params;
  zp_piece g;
  memset(run, 0, sizeof run);
  while (r->block.index == 0 && zp_next_piece(r, op->flat, own, &i, &g)) {
    const int64_t from = own.flat - here.flat + g.in;
    if (!r->counts[g.i]) continue;
    add_run(run, &p, r, op, next, from, 0);
    add_run(run, &p, r, op, from, from + g.count, 1);
    next = from + g.count;
  }
  add_run(run, &p, r, op, next, here.count, 0);
  p.runs.table = run;
  p.runs.tiles = zp_runs_lay(run, p.runs.n);
  kernel_run(&j->r,
             packed  ? zp_kernel_mean_packed
             : exact ? zp_kernel_mean_exact
                     : zp_kernel_mean_ordered,
             exact ? mean_exact_launch(&p) : squares_launch(&p), &p);
}

/* The interpreter packs what it has counted: that is given back as it was packed here. */
static void statistics(job *j, device *d, zp_rank *r)
{
  memcpy(d->tally.loss, r->stats.loss, sizeof r->stats.loss);
  d->tally.nonfinite = r->stats.nonfinite;
  d->tally.bad_loss = r->stats.bad_loss;
  zp_pack_params p = {.tally = &d->tally, .stats = d->stats};
  kernel_run(&j->r, zp_kernel_pack, zp_launch_one(), &p);
  zp_sumsq_clear(&r->stats.squares);
  memcpy(r->stats.squares.limb, d->stats + ZP_STAT_SQUARES, sizeof r->stats.squares.limb);
  memcpy(r->stats.loss, d->stats + ZP_STAT_LOSS, sizeof r->stats.loss);
  r->stats.nonfinite = d->stats[ZP_STAT_NONFINITE];
  r->stats.bad_loss = d->stats[ZP_STAT_BAD_LOSS];
}

static void decide(job *j, device *d, zp_rank *r)
{
  zp_decide_params p = {.stats = r->stats_in, .step = &d->step, .group = d->group};
  p.divisor = r->cfg->micro_batches * r->cfg->dp;
  p.clip = r->hyper->clip;
  p.eps = r->hyper->clip_eps;
  p.ranks = zp_world(r->cfg);
  p.groups = r->cfg->optgroups;
  p.optims = r->hyper->groups;
  memcpy(p.optim, r->hyper->optim, sizeof p.optim);
  kernel_run(&j->r, zp_kernel_decide, zp_launch_one(), &p);
  const zp_decision *got = &d->step.decision;
  memset(&r->result, 0, sizeof r->result);
  r->result.step = r->step;
  r->result.loss = got->loss;
  r->result.norm_f64 = got->norm_f64;
  r->result.norm_f32 = got->norm_f32;
  r->result.clip_factor = got->clip_factor;
  r->result.log2_scale = got->log2_scale;
  r->result.skipped = got->skipped;
  r->result.nonfinite = got->nonfinite;
  r->scaler = d->step.scaler;
  for (int32_t g = 0; g < p.groups; g++) r->optim[g] = d->group[g].optim;
  r->step = d->step.step;
}

static void update(job *j, device *d, zp_rank *r, const zp_op *op)
{
  const zp_flat *f = &r->lay.flat[op->flat];
  zp_flat_state *s = &r->flat[op->flat];
  const zp_range here = zp_rank_range(r, op->flat, op->bucket);
  const int32_t dtype = zp_dtype_of(f->fp32, r->cfg->precision);
  const int64_t at = here.at, size = zp_dtype_bytes(dtype);
  zp_update_params p = {.step = &d->step, .group = d->group + f->optgroup};
  zp_memory_run run[RUNS];
  int32_t i = r->lay.n_params;
  zp_piece g;
  memset(run, 0, sizeof run);
  p.dtype = dtype;
  /* `ordered`: the sums, which zp_kernel_mean_ordered leaves */
  p.grad = zp_held_of(r, op->flat, op->bucket, ZP_WHAT_GRADIENT);
  p.divisor = r->cfg->reduce == ZP_EXACT ? 0 : r->cfg->micro_batches * r->cfg->dp;
  p.master = s->master + at;
  p.m = s->moment1 + at;
  p.v = s->moment2 + at;
  p.real = here.real;
  if (r->cfg->stage > 0)
    run[p.runs.n++] = (zp_memory_run){.out = r->scratch_send, .count = here.count};
  while (r->cfg->stage == 0 && zp_next_piece(r, op->flat, here, &i, &g)) {
    cr_assert_lt(p.runs.n, RUNS);
    run[p.runs.n++] = (zp_memory_run){
        .out = (char *)r->param[g.i] + g.offset * size, .at = g.in, .count = g.count};
  }
  p.runs.table = run;
  p.runs.tiles = zp_runs_lay(run, p.runs.n);
  kernel_run(&j->r, zp_kernel_update, runs_launch(&p.runs), &p);
}

/* ---- Gathered parameters --------------------------------------------------------------------- */

static void scatter(job *j, zp_rank *r, const zp_op *op)
{
  const zp_flat *f = &r->lay.flat[op->flat];
  const zp_range whole = zp_whole_range(f, op->bucket);
  const int32_t dtype = zp_dtype_of(f->fp32, r->cfg->precision);
  zp_scatter_params p = {.bytes = (int32_t)zp_dtype_bytes(dtype)};
  zp_memory_run run[RUNS];
  int32_t i = r->lay.n_params;
  zp_piece g;
  memset(run, 0, sizeof run);
  while (zp_next_piece(r, op->flat, whole, &i, &g)) {
    char *to = (char *)r->param[g.i] + g.offset * p.bytes;
    cr_assert_lt(p.runs.n, RUNS);
    run[p.runs.n++] = (zp_memory_run){
        .in = (char *)r->scratch_recv + g.in * p.bytes, .out = to, .count = g.count};
    memset(to, 0xee, (size_t)(g.count * p.bytes)); /* what the interpreter has written is lost */
  }
  p.runs.table = run;
  p.runs.tiles = zp_runs_lay(run, p.runs.n);
  kernel_run(&j->r, zp_kernel_scatter, runs_launch(&p.runs), &p);
}

static void before(void *ctx, zp_rank *r, zp_op *op)
{
  job *j = ctx;
  device *d = &j->dev[r->rank];
  const int32_t kind = op->kind;
  if (kind == ZP_OP_ADD) add(j, r, op);
  else if (kind == ZP_OP_MEAN) mean(j, d, r, op);
  else if (kind == ZP_OP_DECIDE) decide(j, d, r);
  else if (kind == ZP_OP_UPDATE) update(j, d, r, op);
  else if (kind == ZP_OP_ALL_REDUCE && op->what == ZP_WHAT_STATISTICS) statistics(j, d, r);
  if (kind >= ZP_OP_ADD && kind <= ZP_OP_UPDATE) op->kind = -1; /* it is done */
  j->ops[kind]++;
}

static void after(void *ctx, zp_rank *r, const zp_op *op)
{
  if (op->kind == ZP_OP_ALL_GATHER) scatter(ctx, r, op);
}

/* ---- Runs ------------------------------------------------------------------------------------ */

static zp_sim *start(job *j, zp_error *err)
{
  zp_case_hyper(&j->c, &j->hyper);
  j->synth.opt = j->c.synth;
  j->work = zp_synth_workload(&j->synth);
  zp_sim *sim = zp_sim_open(&j->c.cfg, &j->hyper, &j->work, err);
  cr_assert(sim, "%s", err->text);
  cr_assert_eq(zp_sim_run(sim, ZP_PHASE_INIT, err), 0, "%s", err->text);
  return sim;
}

static void same_floats(const float *a, const float *b, int64_t n, const char *what, int64_t i)
{
  for (int64_t k = 0; k < n; k++)
    cr_assert(same_f32(a[k], b[k]), "case %lld: %s %lld", (long long)i, what, (long long)k);
}

/* The kernels leave `ordered` sums as they are; the interpreter has divided its own. */
static void same_means(const zp_rank *a, const zp_rank *b, int32_t k, int64_t i)
{
  const int64_t divisor = a->cfg->micro_batches * a->cfg->dp;
  for (int64_t bucket = 0; bucket < zp_buckets(&a->lay.flat[k]); bucket++) {
    const int64_t n = zp_rank_range(a, k, bucket).count;
    const float *got = zp_held_of(b, k, bucket, ZP_WHAT_GRADIENT);
    float *mean = malloc((size_t)n * sizeof *mean);
    if (a->cfg->reduce == ZP_EXACT) memcpy(mean, got, (size_t)n * sizeof *mean);
    else zp_ordered_mean_f32(mean, got, divisor, n);
    same_floats(zp_held_of(a, k, bucket, ZP_WHAT_GRADIENT), mean, n, "mean", i);
    free(mean);
  }
}

static void same_rank(const zp_rank *a, const zp_rank *b, int64_t i)
{
  cr_assert_eq(memcmp(&a->result, &b->result, sizeof a->result), 0, "case %lld", (long long)i);
  cr_assert_eq(memcmp(&a->scaler, &b->scaler, sizeof a->scaler), 0, "case %lld", (long long)i);
  for (int32_t k = 0; k < a->lay.n_flats; k++) {
    const zp_flat_state *s = &a->flat[k], *t = &b->flat[k];
    if (a->lay.flat[k].use != 0) continue;
    same_means(a, b, k, i);
    same_floats(s->master, t->master, s->extent, "master", i);
    same_floats(s->moment1, t->moment1, s->extent, "moment 1", i);
    same_floats(s->moment2, t->moment2, s->extent, "moment 2", i);
  }
  for (int32_t p = 0; p < a->lay.n_params; p++) {
    const int32_t j = a->lay.first_param + p;
    const int64_t bytes = a->cfg->params[j].numel * zp_dtype_bytes(zp_entry_dtype(a->cfg, j));
    cr_assert_eq(memcmp(a->param[p], b->param[p], (size_t)bytes), 0, "case %lld", (long long)i);
  }
}

static void run_case(job *j, int64_t i)
{
  zp_error *err = calloc(1, sizeof *err);
  const zp_hook hook = {j, before, after};
  zp_fuzz_random(3, (uint64_t)i, &j->c);
  zp_sim *plain = start(j, err), *with = start(j, err);
  const int32_t world = zp_sim_world(plain);
  j->dev = calloc((size_t)world, sizeof *j->dev);
  for (int32_t r = 0; r < world; r++) {
    j->dev[r].step.scaler = j->hyper.scaler;
    j->dev[r].group = calloc((size_t)j->c.cfg.optgroups + 1, sizeof *j->dev[r].group);
    for (int32_t g = 0; g < j->c.cfg.optgroups; g++) zp_optim_state_init(&j->dev[r].group[g].optim);
  }
  zp_sim_hook(with, &hook);
  for (int32_t s = 0; s < j->c.steps; s++) {
    cr_assert_eq(zp_sim_run(plain, ZP_PHASE_STEP, err), 0, "%s", err->text);
    cr_assert_eq(zp_sim_run(with, ZP_PHASE_STEP, err), 0, "%s", err->text);
    for (int32_t r = 0; r < world; r++) same_rank(zp_sim_rank(plain, r), zp_sim_rank(with, r), i);
  }
  for (int32_t r = 0; r < world; r++) free(j->dev[r].group);
  free(j->dev);
  zp_sim_close(plain);
  zp_sim_close(with);
  free(err);
}

/* spec: RED-2 … RED-6, STAT-1 … STAT-3, STEP-6 … STEP-8, PART-7 */
Test(kernels_engine, training_with_the_kernels_has_the_interpreter_s_bits)
{
  job *j = calloc(1, sizeof *j);
  j->r.at = 31;
  for (int64_t i = 0; i < CASES; i++) run_case(j, i);
  for (int32_t k = ZP_OP_ADD; k <= ZP_OP_UPDATE; k++) cr_assert_gt(j->ops[k], CASES);
  free(j);
}
