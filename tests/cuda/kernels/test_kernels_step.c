/* Laws of the kernels that end a step: statistics, decision, update. */
#include "../../../ref/engine/rank_query.h"
#include "../../../ref/num/ordered.h"
#include "kernel_run.h"

enum { GROUPS = 40, RUNS = 9 };

/* ---- Statistics ------------------------------------------------------------------------------ */

/* spec: STAT-1, STAT-5, SUM-5 */
Test(kernels_step, losses_of_micro_batches_are_summed_exactly_and_bad_ones_counted)
{
  rng r = {21};
  for (int round = 0; round < 40; round++) {
    uint32_t loss[9];
    int64_t want[ZP_VAL_LIMBS] = {0}, bad = 0;
    zp_tally tally;
    memset(&tally, 0, sizeof tally);
    for (int launch = 0; launch < 3; launch++) {
      const int64_t n = rng_below(&r, 10);
      fill(&r, ZP_F32, round % KINDS, loss, n);
      zp_loss_params p = {.n = n, .loss = (const float *)(const void *)loss, .tally = &tally};
      kernel_run(&r, zp_kernel_loss, zp_launch_one(), &p);
      for (int64_t i = 0; i < n; i++) {
        bad += (loss[i] >> 23 & 255) == 255;
        zp_val_add_f32(want, loss + i, 1);
      }
    }
    cr_assert_eq(memcmp(tally.loss, want, sizeof want), 0, "round %d", round);
    cr_assert_eq(tally.bad_loss, bad);
  }
}

/* spec: PIPE-6 */
Test(kernels_step, integers_of_the_host_arrive_and_nothing_else_is_written)
{
  rng r = {23};
  for (int32_t n = 0; n <= ZP_WRITE_MAX; n++) {
    zp_write_params p = {.n = n};
    guarded g = guarded_make(n * 8, 8);
    for (int32_t i = 0; i < ZP_WRITE_MAX; i++) p.value[i] = (int64_t)rng_next(&r);
    p.to = (int64_t *)(void *)g.data;
    kernel_run(&r, zp_kernel_write, narrowed(&r, zp_launch_one()), &p);
    cr_assert_eq(memcmp(g.data, p.value, (size_t)n * 8), 0);
    guarded_free(&g);
  }
}

/* spec: STAT-1, STAT-3, STAT-6, STEP-4, SUM-3, SUM-6 */
Test(kernels_step, a_window_is_packed_carried_as_a_flag_and_forgotten)
{
  rng r = {22};
  for (int round = 0; round < 200; round++) {
    zp_tally tally, none;
    int64_t squares[ZP_SQ_LIMBS], loss[ZP_VAL_LIMBS], stats[ZP_STATS + 2];
    memset(&none, 0, sizeof none);
    memset(stats, 0x77, sizeof stats);
    for (int i = 0; i < ZP_SQ_LIMBS; i++)
      squares[i] = (int64_t)(rng_next(&r) >> (round % 3 ? 2 : 33));
    squares[ZP_SQ_LIMBS - 1] %= 1 << 30;
    for (int i = 0; i < ZP_VAL_LIMBS; i++)
      loss[i] = (int64_t)(rng_next(&r) >> 2) - (INT64_C(1) << 61);
    memcpy(tally.squares, squares, sizeof squares);
    memcpy(tally.loss, loss, sizeof loss);
    tally.nonfinite = round % 2 ? 0 : (int64_t)rng_u32(&r) << 20 | 1;
    tally.bad_loss = rng_below(&r, 3);
    int64_t words[ZP_AGREE_WORDS];
    zp_pack_params p = {&tally, stats, rng_next(&r), round % 3, 0};
    const int64_t flag = tally.nonfinite != 0, bad = tally.bad_loss;
    kernel_run(&r, zp_kernel_pack, zp_launch_one(), &p);
    zp_limbs_normalise(squares, ZP_SQ_LIMBS);
    zp_val_normalise(loss, 1);
    cr_assert_eq(memcmp(stats + ZP_STAT_SQUARES, squares, sizeof squares), 0);
    cr_assert_eq(memcmp(stats + ZP_STAT_LOSS, loss, sizeof loss), 0);
    cr_assert_eq(stats[ZP_STAT_NONFINITE], flag);
    cr_assert_eq(stats[ZP_STAT_BAD_LOSS], bad);
    zp_agree_words(p.digest, p.rank, words);
    cr_assert_eq(memcmp(stats + ZP_STAT_AGREE, words, sizeof words), 0);
    cr_assert_eq(stats[ZP_STATS], 0x7777777777777777);
    cr_assert_eq(memcmp(&tally, &none, sizeof none), 0, "the next window starts from nothing");
  }
}

/* ---- Decision -------------------------------------------------------------------------------- */

static zp_optim some_optim(rng *r)
{
  zp_optim o = {.kind = (int32_t)rng_below(r, 2)};
  o.beta1 = 1 - ldexp(1 + (double)rng_below(r, 1000) / 1000, -5);
  o.beta2 = 1 - ldexp(1 + (double)rng_below(r, 1000) / 1000, -9);
  o.lr = ldexp(1 + (double)rng_below(r, 1000) / 1000, -(int)rng_below(r, 12));
  o.eps = rng_below(r, 4) ? 1e-8 : 0;
  o.weight_decay = rng_below(r, 2) ? 0.1 : 0;
  o.momentum = rng_below(r, 2) ? 0.9 : 0;
  return o;
}

/* Statistics as all ranks' sum has them: not carried. */
static void some_stats(rng *r, int64_t *stats)
{
  const int64_t ranks = 1 + rng_below(r, 1 << 20), top = rng_below(r, ZP_SQ_LIMBS);
  memset(stats, 0, ZP_STATS * sizeof *stats);
  for (int64_t i = 0; i <= top; i++) stats[i] = (int64_t)rng_u32(r) * ranks;
  stats[ZP_SQ_LIMBS - 1] %= 1 << 20;
  if (rng_below(r, 8) == 0) memset(stats, 0, ZP_SQ_LIMBS * sizeof *stats);
  for (int i = 0; i < ZP_VAL_LIMBS; i++)
    stats[ZP_STAT_LOSS + i] = rng_below(r, 3) ? 0 : (int64_t)rng_u32(r) * ranks;
  if (rng_below(r, 2)) stats[ZP_STAT_LOSS + 4] = -stats[ZP_STAT_LOSS + 4];
  stats[ZP_STAT_NONFINITE] = rng_below(r, 4) ? 0 : 1 + rng_below(r, ranks);
  stats[ZP_STAT_BAD_LOSS] = rng_below(r, 5) ? 0 : 1;
  zp_agree_words(rng_next(r), 0, stats + ZP_STAT_AGREE); /* of one rank */
}

/* Compares field by field: there is padding in between. */
static void assert_decision(const zp_decision *a, const zp_decision *b)
{
  cr_assert_eq(a->skipped, b->skipped);
  cr_assert_eq(a->log2_scale, b->log2_scale);
  cr_assert_eq(a->nonfinite, b->nonfinite);
  cr_assert_eq(a->loss, b->loss);
  cr_assert_eq(a->norm_f32, b->norm_f32);
  cr_assert_eq(a->norm_scaled, b->norm_scaled);
  cr_assert_eq(a->norm_f64, b->norm_f64);
  cr_assert_eq(bits64_of(a->clip_factor), bits64_of(b->clip_factor));
}

static void assert_scaler(const zp_scaler *a, const zp_scaler *b)
{
  cr_assert_eq(a->log2_scale, b->log2_scale);
  cr_assert_eq(a->iter, b->iter);
  cr_assert_eq(a->last_overflow, b->last_overflow);
  cr_assert_eq(a->hysteresis_left, b->hysteresis_left);
}

static void assert_rule(const zp_group_state *g, const zp_optim *o)
{
  if (o->kind == ZP_OPTIM_ADAMW) cr_assert_eq(g->rule, ZP_RULE_ADAMW);
  else cr_assert_eq(g->rule, o->momentum != 0 ? ZP_RULE_MOMENTUM : ZP_RULE_SGD);
}

/* One training run of decisions. */
static void decide_run(rng *r, int dynamic)
{
  static zp_group_state group[GROUPS];
  zp_optim_state want_group[GROUPS];
  zp_step_state step;
  zp_decide_params p;
  memset(&step, 0, sizeof step);
  memset(&p, 0, sizeof p);
  cr_assert_eq(zp_scaler_init(&step.scaler, dynamic, 6, -2, 12, 3, 2, (int)rng_below(r, 2)), 0);
  zp_scaler scaler = step.scaler;
  p.groups = (int32_t)rng_below(r, GROUPS + 1);
  p.optims = 1 + (int32_t)rng_below(r, ZP_DECIDE_OPTIMS);
  for (int32_t g = 0; g < p.optims; g++) p.optim[g] = some_optim(r);
  for (int32_t g = 0; g < GROUPS; g++) zp_optim_state_init(&group[g].optim);
  for (int32_t g = 0; g < GROUPS; g++) zp_optim_state_init(&want_group[g]);
  p.step = &step;
  p.group = group;
  p.clip = rng_below(r, 2) ? 1.0 : 0;
  p.eps = 1e-6;
  p.ranks = 1;
  for (int t = 0; t < 30; t++) {
    int64_t stats[ZP_STATS], squares[ZP_SQ_LIMBS];
    some_stats(r, stats);
    memcpy(squares, stats, sizeof squares);
    p.stats = stats;
    p.divisor = 1 + rng_below(r, 100);
    kernel_run(r, zp_kernel_decide, zp_launch_one(), &p);
    zp_squares_settle(squares);
    const zp_decision want = zp_decide(squares, stats + ZP_STAT_LOSS, stats[ZP_STAT_NONFINITE],
                                       stats[ZP_STAT_BAD_LOSS], p.divisor, p.clip, p.eps, &scaler);
    assert_decision(&step.decision, &want);
    assert_scaler(&step.scaler, &scaler);
    cr_assert_eq(step.step, t + 1);
    for (int32_t g = 0; g < GROUPS; g++) {
      if (!want.skipped && g < p.groups) zp_optim_tick(&want_group[g], &p.optim[g % p.optims]);
      cr_assert_eq(bits64_of(group[g].optim.beta1_pow), bits64_of(want_group[g].beta1_pow));
      cr_assert_eq(bits64_of(group[g].optim.beta2_pow), bits64_of(want_group[g].beta2_pow));
      cr_assert_eq(group[g].optim.t, want_group[g].t);
      if (group[g].optim.t > 0) assert_rule(&group[g], &p.optim[g % p.optims]);
    }
  }
}

/* spec: STEP-6, STAT-4, STAT-5, SCALE-3, SCALE-4, OPT-1, NORM-1, NORM-2 */
Test(kernels_step, the_device_decides_as_the_reference_does_for_many_steps)
{
  rng r = {23};
  for (int round = 0; round < 60; round++) decide_run(&r, round % 2);
}

/* The words of `ranks` ranks, of which rank `odd` (-1: none) has another digest. */
static void sum_words(int32_t ranks, int32_t odd, uint64_t digest, int64_t *sums)
{
  int64_t words[ZP_AGREE_WORDS];
  memset(sums, 0, sizeof words);
  for (int32_t i = 0; i < ranks; i++) {
    zp_agree_words(i == odd ? digest ^ 1 : digest, i, words);
    for (int32_t k = 0; k < ZP_AGREE_WORDS; k++) sums[k] += words[k];
  }
}

/* spec: STAT-6, STEP-5 */
Test(kernels_step, a_difference_changes_nothing_in_its_step_and_in_later_ones)
{
  rng r = {24};
  for (int32_t odd = -1; odd < 5; odd++) {
    zp_group_state group;
    zp_step_state step, before;
    int64_t stats[ZP_STATS], stop = INT64_MAX;
    zp_difference difference = {.step = -1};
    zp_decide_params p = {.stats = stats,
                          .step = &step,
                          .group = &group,
                          .divisor = 3,
                          .groups = 1,
                          .optims = 1,
                          .ranks = 5,
                          .digest = 17,
                          .difference = &difference,
                          .gate = {&stop, 7}};
    memset(&step, 0, sizeof step);
    memset(&group, 0, sizeof group);
    zp_optim_state_init(&group.optim);
    p.optim[0] = some_optim(&r);
    cr_assert_eq(zp_scaler_init(&step.scaler, 1, 6, -2, 12, 3, 2, 0), 0);
    before = step;
    for (int t = 0; t < 2; t++, p.gate.step++) {
      some_stats(&r, stats);
      stats[ZP_STAT_NONFINITE] = stats[ZP_STAT_BAD_LOSS] = 0;
      sum_words(5, t == 0 ? odd : -1, 1000, stats + ZP_STAT_AGREE);
      kernel_run(&r, zp_kernel_decide, zp_launch_one(), &p);
      cr_assert_eq(step.decision.skipped, odd >= 0);
      cr_assert_eq(step.step, odd >= 0 ? 0 : t + 1);
      cr_assert_eq(group.optim.t, odd >= 0 ? 0 : t + 1);
      cr_assert_eq(stop, odd >= 0 ? 7 : INT64_MAX);
      cr_assert_eq(difference.step, odd >= 0 ? 7 : -1);
      if (odd >= 0) assert_scaler(&step.scaler, &before.scaler);
    }
    if (odd < 0) continue;
    sum_words(5, odd, 1000, stats + ZP_STAT_AGREE);
    cr_assert_eq(memcmp(difference.sums, stats + ZP_STAT_AGREE, sizeof difference.sums), 0);
    cr_assert_eq(difference.digest, 17);
  }
}

/* ---- Update ---------------------------------------------------------------------------------- */

/* A shard on the device and in the reference. */
typedef struct shard {
  int64_t n, real;
  guarded grad, master, m, v;
  float *want_master, *want_m, *want_v;
} shard;

static float *floats(const guarded *g)
{
  return (float *)(void *)g->data;
}

static float *copy_of(const guarded *g)
{
  float *x = malloc((size_t)g->bytes + 4);
  memcpy(x, g->data, (size_t)g->bytes);
  return x;
}

static shard shard_make(rng *r)
{
  shard s = {.n = some_count(r)};
  const int wild = rng_below(r, 3) == 0;
  s.real = s.n - (s.n > 0 ? rng_below(r, s.n < 6 ? s.n : 6) : 0);
  s.grad = guarded_make(s.n * 4, 4);
  s.master = guarded_make(s.n * 4, 4);
  s.m = guarded_make(s.n * 4, 4);
  s.v = guarded_make(s.n * 4, 4);
  fill(r, ZP_F32, wild ? KIND_WIDE : KIND_OUTLIER, s.master.data, s.n);
  memset(s.m.data, 0, (size_t)s.n * 4);
  memset(s.v.data, 0, (size_t)s.n * 4);
  memset(s.master.data + s.real * 4, 0, (size_t)(s.n - s.real) * 4);
  s.want_master = copy_of(&s.master);
  s.want_m = copy_of(&s.m);
  s.want_v = copy_of(&s.v);
  return s;
}

static void shard_free(shard *s)
{
  guarded_free(&s->grad);
  guarded_free(&s->master);
  guarded_free(&s->m);
  guarded_free(&s->v);
  free(s->want_master);
  free(s->want_m);
  free(s->want_v);
}

static void assert_shard(const shard *s)
{
  for (int64_t i = 0; i < s->n; i++) {
    cr_assert(same_f32(floats(&s->master)[i], s->want_master[i]), "master %lld", (long long)i);
    cr_assert(same_f32(floats(&s->m)[i], s->want_m[i]), "m %lld", (long long)i);
    cr_assert(same_f32(floats(&s->v)[i], s->want_v[i]), "v %lld", (long long)i);
  }
}

/* Cuts 0 … n-1 into some runs that go to `out` in another order; their places in `where`. */
static int32_t cut(rng *r, int64_t n, int64_t size, guarded *out, zp_memory_run *run)
{
  int64_t at = 0, place = 0;
  const int32_t pieces = 1 + (int32_t)rng_below(r, RUNS);
  memset(run, 0, RUNS * sizeof *run);
  for (int32_t i = 0; i < pieces; i++) {
    run[i].at = at;
    run[i].count = i == pieces - 1 ? n - at : rng_below(r, n - at + 1);
    at += run[i].count;
  }
  *out = guarded_make(n * size, size);
  for (int32_t i = pieces - 1; i >= 0; i--) {
    run[i].out = out->data + place * size;
    place += run[i].count;
  }
  return pieces;
}

/* A decision of the step: what the update needs of it. */
static void decide_some(rng *r, zp_step_state *step, zp_group_state *group, const zp_optim *optim)
{
  int64_t stats[ZP_STATS];
  zp_decide_params p = {.stats = stats, .step = step, .group = group, .divisor = 3, .clip = 1};
  some_stats(r, stats);
  for (int i = 0; i < ZP_SQ_LIMBS; i++)
    stats[i] = i == 9 ? (int64_t)rng_u32(r) : 0; /* norm near 1 */
  p.eps = 1e-6;
  p.ranks = p.groups = p.optims = 1;
  p.optim[0] = *optim;
  kernel_run(r, zp_kernel_decide, zp_launch_one(), &p);
}

static void update_run(rng *r, int32_t dtype)
{
  const int64_t size = bytes_of(dtype);
  const zp_optim optim = some_optim(r);
  const int moment = optim.kind == ZP_OPTIM_ADAMW || optim.momentum != 0;
  shard s = shard_make(r);
  zp_group_state group;
  zp_step_state step;
  zp_update_params p;
  memset(&group, 0, sizeof group);
  memset(&step, 0, sizeof step);
  memset(&p, 0, sizeof p);
  zp_optim_state_init(&group.optim);
  cr_assert_eq(zp_scaler_init(&step.scaler, 1, (int)rng_below(r, 20), -20, 20, 1, 1, 0), 0);
  for (int t = 0; t < 4; t++) {
    guarded out;
    uint32_t *want = malloc((size_t)s.n * 4 + 4);
    fill(r, ZP_F32, t % 2 ? KIND_OUTLIER : (int)rng_below(r, KINDS), s.grad.data, s.n);
    memset(s.grad.data + s.real * 4, 0, (size_t)(s.n - s.real) * 4);
    decide_some(r, &step, &group, &optim);
    p = (zp_update_params){.step = &step, .group = &group, .real = s.real, .dtype = dtype};
    p.grad = floats(&s.grad);
    p.master = floats(&s.master);
    p.m = moment ? floats(&s.m) : NULL; /* plain SGD has no moments, SGD no second one */
    p.v = optim.kind == ZP_OPTIM_ADAMW ? floats(&s.v) : NULL;
    p.divisor = rng_below(r, 2) ? 1 + rng_below(r, 48) : 0;
    float *mean = malloc((size_t)s.real * 4 + 4);
    memcpy(mean, p.grad, (size_t)s.real * 4);
    if (p.divisor != 0) zp_ordered_mean_f32(mean, p.grad, p.divisor, s.real);
    p.runs.n = cut(r, s.n, size, &out, p.runs.here);
    p.runs.tiles = zp_runs_lay(p.runs.here, p.runs.n);
    kernel_run(r, zp_kernel_update, narrowed(r, runs_launch(&p.runs)), &p);
    if (!step.decision.skipped)
      zp_optim_step(&optim, &group.optim, (float)step.decision.clip_factor,
                    step.decision.log2_scale, s.real, mean, s.want_master, s.want_m, s.want_v);
    assert_shard(&s);
    for (int32_t i = 0; i < p.runs.n; i++) {
      zp_round_to(dtype, floats(&s.master) + p.runs.here[i].at, p.runs.here[i].count, want, 0);
      cr_assert_eq(memcmp(p.runs.here[i].out, want, (size_t)(p.runs.here[i].count * size)), 0);
    }
    free(mean);
    free(want);
    guarded_free(&out);
  }
  shard_free(&s);
}

/* spec: STEP-6, STEP-7, OPT-2, OPT-3, OPT-4, NUM-2 */
Test(kernels_step, an_update_is_the_reference_s_and_its_rounding_in_one_pass)
{
  rng r = {24};
  for (int round = 0; round < 240; round++) update_run(&r, round % 3);
}

/* spec: STEP-6, STEP-8 */
Test(kernels_step, a_skipped_update_sends_the_unchanged_parameters)
{
  rng r = {25};
  float master[3] = {1.5f, -2, 0}, grad[3] = {1, 1, 1}, m[3] = {0}, v[3] = {0};
  uint16_t out[3] = {9, 9, 9};
  zp_group_state group = {.rule = ZP_RULE_ADAMW};
  zp_step_state step = {.decision.skipped = 1};
  zp_update_params p = {&step, &group, grad, master, m, v, 0, 3, ZP_BF16, {.n = 1}};
  p.runs.here[0] = (zp_memory_run){.out = out, .count = 3};
  p.runs.tiles = zp_runs_lay(p.runs.here, 1);
  kernel_run(&r, zp_kernel_update, runs_launch(&p.runs), &p);
  cr_assert(bits_of(master[0]) == 0x3fc00000u && bits_of(m[0]) == 0 && bits_of(v[0]) == 0);
  cr_assert(out[0] == 0x3fc0u && out[1] == 0xc000u && out[2] == 0);
}
