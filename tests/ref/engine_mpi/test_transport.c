/* The reference engine over a transport of the caller's own: ranks are threads, which wait for
 * each other. Any number of ranks gives the bits of one; what fails on one rank ends all of them
 * with an error that names it. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../ref/engine/engine.h"
#include "../../../ref/engine_cases/thread_transport.h"

enum { RANKS = ZP_THREAD_RANKS, ENTRIES = 4, STEPS = 3, GLOBAL = 12, MOST = 64 };

static const zp_param list[ENTRIES] = {{.numel = 7, .tied = -1},
                                       {.numel = 3, .tied = -1, .fp32 = 1},
                                       {.numel = 33, .tied = -1},
                                       {.numel = 5, .tied = -1, .frozen = 1}};

/* ---- Training -------------------------------------------------------------------------------- */

typedef struct job {
  int32_t world, stage, reduce, precision;
  int64_t bucket;
  int32_t gradual;
  int32_t other_bucket; /* 1: rank 1 has another configuration */
  int32_t loses;        /* 1: rank 1 announces one gradient too few */
  const char *saves, *loads;
} job;

typedef struct rank {
  const job *j;
  zp_thread_rank s;
  char others[512]; /* what this rank, or the first one that left, reported to the others */
  zp_error err;
  uint8_t param[ENTRIES][4 * MOST];
  double norm[STEPS];
  float loss[STEPS];
  int64_t step;
  zp_ledger_sum ledger[ZP_ALL_GROUPS];
} rank;

/* The gradient of entry p in global micro-batch g of a step: small numbers, exact in bf16. */
static void gradient(int64_t step, int64_t g, int32_t p, int32_t dtype, void *out)
{
  for (int64_t i = 0; i < list[p].numel; i++) {
    const float x = (float)((step * 31 + g * 17 + p * 13 + i * 7) % 25 - 12) / 8;
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (dtype == ZP_F32) memcpy((char *)out + 4 * i, &bits, 4);
    else ((uint16_t *)out)[i] = (uint16_t)(bits >> 16);
  }
}

static int window(zp_engine *e, const rank *r, const zp_config *c, int64_t step)
{
  uint8_t grad[4 * MOST];
  int status = 0;
  for (int64_t mb = 0; mb < c->micro_batches && !status; mb++) {
    const int64_t g = mb * r->j->world + r->s.rank; /* of the global batch (STEP-1) */
    const float loss = (float)g;
    status = zp_engine_loss(e, mb, &loss, NULL);
    for (int32_t p = ENTRIES; p-- > 0 && !status;) {
      const int32_t dtype = zp_entry_dtype(c, p);
      if (list[p].frozen) continue;
      if (r->j->loses && r->s.rank == 1 && p == 0 && step == 1 && mb == c->micro_batches - 1)
        continue;
      if (p == 2 && g % 3 == 1) { /* not used */
        status = zp_engine_grad_unused(e, p, mb);
        continue;
      }
      gradient(step, g, p, dtype, grad);
      status = zp_engine_grad_ready(e, p, mb, grad, list[p].numel, dtype, NULL);
    }
  }
  return status ? status : zp_engine_step(e, NULL);
}

static int train(zp_engine *e, rank *r, const zp_config *c)
{
  zp_engine_state state = {.size = sizeof state};
  if (r->j->loads && zp_engine_load(e, r->j->loads)) return -1;
  if (zp_engine_get(e, &state)) return -1;
  for (int64_t step = state.step; step < STEPS; step++) {
    if (r->j->saves && step == 2) return zp_engine_save(e, r->j->saves);
    if (window(e, r, c, step) || zp_engine_get(e, &state)) return -1;
    r->norm[step] = state.norm;
    r->loss[step] = state.loss;
  }
  r->step = state.step;
  memcpy(r->ledger, state.ledger, sizeof r->ledger);
  for (int32_t p = 0; p < ENTRIES; p++)
    memcpy(r->param[p], zp_engine_param(e, p),
           (size_t)(list[p].numel * zp_dtype_bytes(zp_entry_dtype(c, p))));
  return 0;
}

static void *run(void *arg)
{
  rank *r = arg;
  static const zp_optim adamw = {.kind = ZP_OPTIM_ADAMW,
                                 .lr = 0.01,
                                 .beta1 = 0.9,
                                 .beta2 = 0.95,
                                 .eps = 1e-8,
                                 .weight_decay = 0.1};
  const zp_config c = {.pp = 1,
                       .dp = r->j->world,
                       .tp = 1,
                       .ep = 1,
                       .stage = r->j->stage,
                       .reduce = r->j->reduce,
                       .precision = r->j->precision,
                       .optgroups = 1,
                       .n_params = ENTRIES,
                       .micro_batches = GLOBAL / r->j->world,
                       .bucket = r->j->bucket + (r->j->other_bucket && r->s.rank == 1),
                       .align = 1,
                       .params = list};
  const zp_transport t = zp_thread_transport(&r->s);
  zp_engine_options o;
  zp_engine *e;
  zp_engine_defaults(&o, sizeof o, NULL);
  o.rank = r->s.rank;
  o.world = r->j->world;
  o.config = &c;
  o.hyper.optim[0] = adamw;
  o.hyper.clip = 0.5;
  o.transport = &t;
  o.gradual = r->j->gradual;
  if (zp_engine_create(&e, &o, &r->err) == 0 && train(e, r, &c)) r->err = *zp_engine_why(e);
  if (e) zp_engine_destroy(e, r->err.status ? NULL : &r->err);
  return NULL;
}

static void all_ranks(const job *j, rank *r)
{
  pthread_t thread[RANKS];
  zp_thread_group g;
  zp_thread_group_init(&g, j->world);
  for (int32_t i = 0; i < j->world; i++) {
    r[i].j = j;
    r[i].s.group = &g;
    r[i].s.rank = i;
    pthread_create(&thread[i], NULL, run, &r[i]);
  }
  for (int32_t i = 0; i < j->world; i++) pthread_join(thread[i], NULL);
  for (int32_t i = 0; i < j->world; i++) memcpy(r[i].others, g.why, sizeof g.why);
}

static void assert_alike(const rank *a, const rank *b, const char *what)
{
  cr_assert_eq(a->err.status, 0, "%s: %s", what, a->err.text);
  cr_assert_arr_eq(a->param, b->param, sizeof a->param, "%s: parameters", what);
  cr_assert_arr_eq(a->norm, b->norm, sizeof a->norm, "%s: norms", what);
  cr_assert_arr_eq(a->loss, b->loss, sizeof a->loss, "%s: losses", what);
}

/* spec: RED-5 */
Test(transport, any_number_of_ranks_stage_and_bucket_gives_the_bits_of_one_process)
{
  static rank one[RANKS], r[RANKS];
  static const int32_t precisions[] = {ZP_F32, ZP_BF16};
  for (int32_t k = 0; k < 2; k++) {
    memset(one, 0, sizeof one);
    const job alone = {.world = 1, .reduce = ZP_EXACT, .precision = precisions[k], .bucket = 64};
    all_ranks(&alone, one);
    cr_assert_eq(one[0].err.status, 0, "%s", one[0].err.text);
    cr_assert_eq(one[0].step, STEPS);
    for (int32_t world = 2; world <= RANKS; world++) {
      for (int32_t stage = 0; stage < 3; stage++) {
        const job j = {.world = world,
                       .stage = stage,
                       .reduce = ZP_EXACT,
                       .precision = precisions[k],
                       .bucket = stage == 1 ? 8 : 40};
        memset(r, 0, sizeof r);
        all_ranks(&j, r);
        for (int32_t i = 0; i < world; i++) assert_alike(&r[i], &one[0], "exact");
      }
    }
  }
}

/* With `gradual`, and also alone: the bits and the ledger of a step that does all work at once. */
Test(transport, work_that_is_done_by_micro_batch_has_the_same_bits_and_ledger)
{
  static rank at_once[RANKS], r[RANKS];
  for (int32_t world = 1; world <= RANKS; world++) {
    for (int32_t stage = 0; stage < 3; stage++) {
      job j = {.world = world, .stage = stage, .reduce = stage == 1 ? ZP_ORDERED : ZP_EXACT};
      j.bucket = 16;
      memset(at_once, 0, sizeof at_once);
      all_ranks(&j, at_once);
      j.gradual = 1;
      memset(r, 0, sizeof r);
      all_ranks(&j, r);
      for (int32_t i = 0; i < world; i++) {
        assert_alike(&r[i], &at_once[i], "gradual");
        cr_assert_arr_eq(r[i].ledger, at_once[i].ledger, sizeof r[i].ledger);
      }
    }
  }
}

/* Every partial sum of these gradients is exact in fp32. spec: RED-4 */
Test(transport, ordered_sums_are_those_of_one_process_where_no_sum_rounds)
{
  static rank one[RANKS], r[RANKS];
  const job alone = {.world = 1, .reduce = ZP_ORDERED, .bucket = 64};
  all_ranks(&alone, one);
  for (int32_t stage = 0; stage < 3; stage++) {
    const job j = {.world = 3, .stage = stage, .reduce = ZP_ORDERED, .bucket = 16};
    memset(r, 0, sizeof r);
    all_ranks(&j, r);
    for (int32_t i = 0; i < 3; i++) assert_alike(&r[i], &one[0], "ordered");
  }
}

/* spec: CKPT-4 */
Test(transport, a_checkpoint_of_three_ranks_is_continued_on_two)
{
  static rank whole[RANKS], r[RANKS];
  char dir[] = "/tmp/zp-transport-XXXXXX", path[64];
  cr_assert_not_null(mkdtemp(dir));
  snprintf(path, sizeof path, "%s/step2", dir);
  const job all = {.world = 1, .reduce = ZP_EXACT, .bucket = 64};
  const job saves = {.world = 3, .stage = 2, .reduce = ZP_EXACT, .bucket = 16, .saves = path};
  const job loads = {.world = 2, .stage = 1, .reduce = ZP_EXACT, .bucket = 8, .loads = path};
  all_ranks(&all, whole);
  all_ranks(&saves, r);
  for (int32_t i = 0; i < 3; i++) cr_assert_eq(r[i].err.status, 0, "%s", r[i].err.text);
  memset(r, 0, sizeof r);
  all_ranks(&loads, r);
  for (int32_t i = 0; i < 2; i++) {
    cr_assert_eq(r[i].err.status, 0, "%s", r[i].err.text);
    cr_assert_arr_eq(r[i].param, whole[0].param, sizeof r[i].param);
    cr_assert_eq(r[i].norm[2], whole[0].norm[2]);
  }
  char command[80];
  snprintf(command, sizeof command, "rm -rf %s", dir);
  cr_assert_eq(system(command), 0);
}

/* ---- Errors ---------------------------------------------------------------------------------- */

Test(transport, a_call_that_fails_ends_every_rank_with_its_reason)
{
  static rank r[RANKS];
  job j = {.world = 3, .stage = 2, .reduce = ZP_EXACT, .bucket = 16};
  for (int32_t call = 1; call < 60; call++) {
    j.gradual = call % 3 == 0;
    memset(r, 0, sizeof r);
    r[1].s.fails_in = call;
    all_ranks(&j, r);
    for (int32_t i = 0; i < 3; i++) {
      cr_assert_eq(r[i].err.status, ZP_E_PEER, "call %d: %s", (int)call, r[i].err.text);
      cr_assert_not_null(
          strstr(r[i].err.text, i == 1 ? "the transport failed" : "another rank has"));
    }
  }
}

Test(transport, a_rank_with_another_configuration_is_named)
{
  static rank r[RANKS];
  const job j = {.world = 2, .stage = 1, .reduce = ZP_EXACT, .bucket = 16, .other_bucket = 1};
  all_ranks(&j, r);
  cr_assert_neq(r[1].err.status, 0);
  cr_assert_not_null(strstr(r[1].err.text, "bucket"), "%s", r[1].err.text);
}

Test(transport, a_missing_gradient_is_named_and_reported_to_the_others)
{
  static rank r[RANKS];
  for (int32_t gradual = 0; gradual < 2; gradual++) {
    const job j = {.world = 2, .stage = 2, .bucket = 16, .loses = 1, .gradual = gradual};
    memset(r, 0, sizeof r);
    all_ranks(&j, r);
    cr_assert_eq(r[1].err.status, ZP_E_ARRIVAL, "%s", r[1].err.text);
    cr_assert_not_null(strstr(r[1].others, "rank 1"), "%s", r[1].others);
    cr_assert_eq(r[0].err.status, ZP_E_PEER, "%s", r[0].err.text);
  }
}

static void *broadcast_of_rank_0(void *arg)
{
  const zp_transport *t = arg;
  static int32_t data = 7; /* a rank that comes late could still read it */
  return t->broadcast(t->ctx, &data, sizeof data, 0) ? arg : NULL;
}

/* Ranks 0 and 1 of three wait. Only the second one has a short deadline, and its error wakes the
 * first one, whose deadline is later than this test's. */
Test(transport, a_rank_that_does_not_come_is_named_to_all_that_wait, .timeout = 300)
{
  static const char missing[] = "1 of 3 ranks did not come within 1 s: rank 2";
  zp_thread_group g;
  zp_thread_rank r[3];
  zp_transport t[3];
  pthread_t first;
  void *failed;
  int32_t data = 0, here = 0;
  zp_thread_group_init(&g, 3);
  g.deadline_s = 3600;
  for (int32_t i = 0; i < 3; i++) {
    r[i] = (zp_thread_rank){.group = &g, .rank = i};
    t[i] = zp_thread_transport(&r[i]);
  }
  cr_assert_eq(pthread_create(&first, NULL, broadcast_of_rank_0, &t[0]), 0);
  while (here == 0) {
    sched_yield();
    pthread_mutex_lock(&g.lock);
    here = g.here;
    pthread_mutex_unlock(&g.lock);
  }
  g.deadline_s = 1;
  cr_assert_neq(t[1].broadcast(t[1].ctx, &data, sizeof data, 0), 0);
  cr_assert_eq(pthread_join(first, &failed), 0);
  cr_assert_not_null(failed);
  cr_assert_neq(t[2].broadcast(t[2].ctx, &data, sizeof data, 0), 0, "a late rank finds others");
  zp_thread_group_leave(&g, "rank 2 has another reason");
  for (int32_t i = 0; i < 3; i++) cr_assert_str_eq(t[i].why(t[i].ctx), missing);
  cr_assert_eq(data, 0);
}

static int refused(zp_engine_options *o, const char *text)
{
  zp_engine *e;
  zp_error err;
  const int status = zp_engine_create(&e, o, &err);
  cr_expect_not_null(strstr(err.text, text), "%s", err.text);
  zp_engine_destroy(e, NULL);
  return status;
}

Test(transport, what_it_cannot_do_is_refused_by_name)
{
  zp_thread_group g = {.world = 2};
  zp_thread_rank r = {.group = &g};
  zp_transport t = zp_thread_transport(&r);
  zp_config c = {.pp = 1,
                 .dp = 2,
                 .tp = 1,
                 .ep = 1,
                 .optgroups = 1,
                 .n_params = ENTRIES,
                 .micro_batches = 1,
                 .bucket = 8,
                 .align = 1,
                 .params = list};
  zp_engine_options o;
  zp_engine_defaults(&o, sizeof o, NULL);
  o.world = 2;
  o.config = &c;
  o.transport = &t;
  t.broadcast = NULL;
  cr_assert_eq(refused(&o, "options.transport: needs all_gather, all_to_all and broadcast"),
               ZP_E_REFUSED);
  t = zp_thread_transport(&r);
  t.size = 8;
  cr_assert_eq(refused(&o, "options.transport: its size is sizeof(zp_transport)"), ZP_E_REFUSED);
  t.size = sizeof t;
  o.world = 4;
  c.tp = 2;
  cr_assert_eq(refused(&o, "options.transport: pp, tp and ep are 1 with it"), ZP_E_REFUSED);
  c.tp = 1;
  c.dp = 4;
  c.stage = 1;
  o.hyper.replicas = 2;
  cr_assert_eq(refused(&o, "options.transport: hyper.replicas is 1 with it"), ZP_E_REFUSED);
}
