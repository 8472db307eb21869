/* A rank is killed, stands still, or fails, anywhere in its program: every survivor ends with an
 * error that says where in the program it was, nobody waits for ever, and no rank keeps what is
 * neither before a step nor after it. */
#include <criterion/criterion.h>

#include "engine_case.h"

/* What a stopped host has allocated nobody frees: it is no leak of the engine's. */
void __lsan_disable(void) __attribute__((weak));

/* ---- What ref had after INIT and after each step --------------------------------------------- */

typedef struct picture {
  char *param[RANDOM_ENTRIES];
  float *state[RANDOM_ENTRIES][3]; /* of each flat group: masters, moments */
  zp_scaler scaler;
} picture;
static picture pictures[STEPS_MAX + 1][RANKS_MAX];

static void *copy_of(const void *from, size_t bytes)
{
  void *to = malloc(bytes + 1);
  if (!to) abort();
  memcpy(to, from, bytes);
  return to;
}

static void take_picture(job *j, int32_t step)
{
  for (int32_t r = 0; r < j->world; r++) {
    const zp_rank *rank = zp_sim_rank(j->ref, r);
    picture *p = &pictures[step][r];
    const int64_t size = zp_dtype_bytes(rank->cfg->precision);
    memset(p, 0, sizeof *p);
    p->scaler = rank->scaler;
    for (int32_t i = 0; i < rank->lay.n_params; i++)
      p->param[i] = copy_of(rank->param[i],
                            (size_t)(rank->cfg->params[rank->lay.first_param + i].numel * size));
    for (int32_t k = 0; k < rank->lay.n_flats; k++) {
      const zp_flat_state *f = &rank->flat[k];
      const float *const state[3] = {f->master, f->moment1, f->moment2};
      for (int32_t m = 0; m < 3 && rank->lay.flat[k].use == 0; m++)
        p->state[k][m] = copy_of(state[m], (size_t)f->extent * 4);
    }
  }
}

static void drop_pictures(void)
{
  for (int32_t s = 0; s <= STEPS_MAX; s++)
    for (int32_t r = 0; r < RANKS_MAX; r++)
      for (int32_t i = 0; i < RANDOM_ENTRIES; i++) {
        free(pictures[s][r].param[i]);
        for (int32_t m = 0; m < 3; m++) free(pictures[s][r].state[i][m]);
      }
  memset(pictures, 0, sizeof pictures);
}

/* ---- What a rank is left with ---------------------------------------------------------------- */

static int32_t
    judged[RANKS_MAX]; /* 1 + the step that all of the rank is after; -1: not all of it is
                                   * after the same; 0: there is nothing to be judged */
static uint64_t gave_up_ns[RANKS_MAX]; /* when the rank's call returned its error */
static char odd[1400];                 /* the first state that is of no step */

static void is_odd(const worker *w, const char *what, int64_t at)
{
  if (!odd[0])
    snprintf(odd, sizeof odd, "rank %d: %s %lld is not as after step %d: %s", w->rank, what,
             (long long)at, (int)(w->e->state->step - w->j->base), zp_cuda_why(w->e)->text);
}

/* All that is left on the streams, garbage or not, has run. */
static int comes_to_rest(const worker *w)
{
  const cudaStream_t streams[3] = {w->e->compute, w->e->reduce, w->e->p2p};
  for (int32_t i = 0; i < 3; i++)
    if (!zp_cuda_let_rest(w->e, streams[i]) || cudaStreamQuery(streams[i]) != cudaSuccess)
      return 0; /* the context is lost */
  return 1;
}

/* Elements of the bucket that differ from what the picture has. */
static int64_t differing(const worker *w, const picture *p, int32_t k, int64_t bucket)
{
  const zp_cuda *e = w->e;
  const zp_range r = zp_whole_range(&e->lay.flat[k], bucket);
  const int64_t size = zp_cuda_size(e);
  int64_t n = 0;
  int32_t i = e->lay.n_params;
  for (;;) {
    const zp_piece g = zp_piece_next(e->cfg, &e->lay, k, r, i);
    if (g.count == 0) return n;
    i = g.i;
    n += memcmp((char *)e->entry[i].param + g.offset * size, p->param[i] + g.offset * size,
                (size_t)(g.count * size)) != 0;
  }
}

/* Masters and moments of the rank's share of a bucket: are they the picture's? */
static int same_share(const worker *w, const picture *p, int32_t k, int64_t bucket)
{
  const zp_cuda_flat *f = &w->e->flat[k];
  const float *const state[3] = {f->master, f->moment1, f->moment2};
  const zp_range r = zp_local_range(w->e->cfg, &w->e->lay, w->e->at, k, bucket);
  int same = 1;
  for (int32_t m = 0; m < 3; m++)
    same &= memcmp(state[m] + r.at, p->state[k][m] + r.at, (size_t)r.count * 4) == 0;
  return same;
}

/* Step count and scaler are as after one step. So are buckets; where that step was cut off behind
 * its decision, buckets that had not been updated, or not been gathered, are as before it. */
static void judge(worker *w)
{
  const zp_cuda *e = w->e;
  gave_up_ns[w->rank] = simdev_clock_ns();
  const int begun = e->ready && !strstr(zp_cuda_why(e)->text, "the device is in INIT");
  const int64_t step = comes_to_rest(w) && begun ? e->state->step - w->j->base : -1;
  const picture *p, *before;
  int old = 0;
  if (step < 0) return;
  if (step > w->j->steps) return is_odd(w, "the step", step);
  p = &pictures[step][w->rank];
  before = step > 0 ? &pictures[step - 1][w->rank] : p;
  if (e->state->scaler.log2_scale != p->scaler.log2_scale ||
      e->state->scaler.iter != p->scaler.iter ||
      e->state->scaler.hysteresis_left != p->scaler.hysteresis_left)
    is_odd(w, "the scaler, of iteration", e->state->scaler.iter);
  for (int32_t k = 0; k < e->lay.n_flats; k++)
    for (int64_t b = 0; e->lay.flat[k].use == 0 && b < zp_buckets(&e->lay.flat[k]); b++) {
      const int old_share = !same_share(w, p, k, b), old_entry = differing(w, p, k, b) > 0;
      if (old_share && !same_share(w, before, k, b)) is_odd(w, "a share of flat group", k);
      if (old_entry && differing(w, before, k, b) > 0) is_odd(w, "an entry of flat group", k);
      if (old_share && !old_entry && differing(w, before, k, b) > 0)
        is_odd(w, "an entry before its master, in flat group", k);
      old |= old_share || old_entry;
    }
  judged[w->rank] = old ? -1 : (int32_t)step + 1;
}

static void run_judged(job *j, simdev *s, const simdev_options *o)
{
  memset(judged, 0, sizeof judged);
  odd[0] = 0;
  j->engine_done = judge;
  job_run(j, s, o);
}

/* ---- Arrival errors -------------------------------------------------------------------------- */

/* STEP-3, STEP-5: whoever forgets a gradient or announces it twice says so; all others name that
 * rank; everybody is as after the step before, in every bit. */
static void check_arrival(uint32_t seed, int32_t order)
{
  static job j;
  simdev *s;
  char names[40];
  const int32_t rank = (int32_t)(seed % 3);
  if (job_fill_with(&j, seed, 8, take_picture) || j.world < 3) goto out;
  for (int32_t i = 0, trained = 0; i <= j.r.c.n_params; i++) { /* the rank has what to forget */
    if (i == j.r.c.n_params && trained == 0) goto out;
    if (i < j.r.c.n_params)
      trained += j.r.c.params[i].stage == zp_coord_of(&j.r.c, rank).pp && !j.r.c.params[i].frozen;
  }
  if (seed % 2) j.twice = rank;
  else j.forget = rank;
  snprintf(names, sizeof names, "rank %d has failed", rank);
  s = job_simdev(&j, NULL);
  run_judged(&j, s,
             &(simdev_options){.seed = seed, .order = (simdev_order)order, .allow_leaks = 1});
  cr_assert_eq(simdev_result(s)->status, SIMDEV_E_HOST, "job %u: %s", seed, simdev_result(s)->text);
  cr_assert_eq(j.error[rank].status, ZP_CUDA_E_ARRIVAL, "job %u: %s", seed, j.error[rank].text);
  for (int32_t r = 0; r < j.world; r++) {
    cr_assert_eq(judged[r], j.steps_run, "job %u: rank %d is after step %d of %d: %s", seed, r,
                 judged[r] - 1, j.steps_run, j.error[r].text);
    if (r == rank) continue;
    cr_assert_eq(j.error[r].status, ZP_CUDA_E_PEER, "job %u: %s", seed, j.error[r].text);
    cr_assert(strstr(j.error[r].text, names), "job %u: %s", seed, j.error[r].text);
  }
  cr_assert_eq(odd[0], 0, "job %u: %s", seed, odd);
  simdev_close(s);
out:
  job_free(&j);
  drop_pictures();
}

Test(engine_errors, an_arrival_error_names_its_rank_everywhere_and_changes_nothing)
{
  if (__lsan_disable) __lsan_disable();
  for (uint32_t seed = 1; seed <= 60; seed++) check_arrival(seed, (int32_t)(seed / 2 % 4));
}

/* ---- A rank that is gone, anywhere ----------------------------------------------------------- */

typedef struct wanted {
  const char *name;
  int32_t pp, dp, tied, ep, stage, dynamic; /* at least; stage, dynamic: just so */
} wanted;

static const wanted cases[] = {
    {"pp x dp, stage 2, dynamic scale", 2, 2, 0, 0, 2, 1},
    {"pp x dp, stage 1, static scale", 2, 2, 0, 0, 1, 0},
    {"ties across stages, stage 2, static scale", 2, 2, 1, 0, 2, 0},
    {"ties across stages, stage 0, dynamic scale", 2, 1, 1, 0, 0, 1},
    {"experts, stage 2, static scale", 1, 2, 0, 2, 2, 0},
    {"experts, stage 1, dynamic scale", 1, 2, 0, 2, 1, 1},
    {"dp alone, stage 0, static scale", 1, 3, 0, 0, 0, 0},
};

static int fits(const job *j, const wanted *c)
{
  int32_t tied = 0, experts = 0, trained = 0;
  for (int32_t i = 0; i < j->r.c.n_params; i++) {
    const zp_param *p = &j->r.c.params[i];
    for (int32_t k = 0; k < i; k++)
      tied +=
          p->tied >= 0 && p->tied == j->r.c.params[k].tied && p->stage != j->r.c.params[k].stage;
    experts += p->expert != 0;
    trained += !p->frozen && p->numel > 0;
  }
  return j->r.c.pp >= c->pp && j->r.c.dp >= c->dp && j->r.c.ep >= c->ep && tied >= c->tied &&
         (c->ep == 0 || experts > 0) && j->r.c.stage == c->stage &&
         j->hyper.scaler.dynamic == c->dynamic && trained > 2 && j->world >= 2 && !j->saves &&
         !j->loads;
}

static void fill_wanted(job *j, const wanted *c)
{
  for (uint32_t seed = 1; seed < 3000; seed++) {
    cr_assert_eq(job_fill_with(j, seed, 8, take_picture), 0);
    if (fits(j, c)) return;
    job_free(j);
    drop_pictures();
  }
  cr_assert_fail("no job like that: %s", c->name);
}

/* Where a rank's faults may be in a run: at the calls that issue its items, from the first
 * communication on, and at those items. */
typedef struct extent {
  int32_t *call;
  int64_t calls, items, before; /* before: items that begin before the first communication does */
} extent;

static int by_number(const void *a, const void *b)
{
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

static extent extent_of(const simdev *s, int32_t rank)
{
  extent x = {NULL, 0, 0, 0};
  int64_t n, begin = INT64_MAX;
  int32_t first = INT32_MAX;
  const simdev_record *r = simdev_records(s, &n);
  x.call = malloc((size_t)(n + 1) * sizeof *x.call);
  if (!x.call) abort();
  for (int64_t i = 0; i < n; i++)
    if (r[i].rank == rank && r[i].kind == SIMDEV_COMM) {
      if (r[i].begin < begin) begin = r[i].begin;
      if (r[i].call < first) first = r[i].call;
    }
  for (int64_t i = 0; i < n; i++) {
    if (r[i].rank != rank) continue;
    x.items++;
    x.before += r[i].begin < begin;
    if (r[i].call >= first) x.call[x.calls++] = r[i].call;
  }
  qsort(x.call, (size_t)x.calls, sizeof *x.call, by_number);
  return x;
}

enum { PLACES = 24 };

static void check_survivors(const job *j, const simdev *s, const simdev_fault *f, const char *name)
{
  char names[40];
  snprintf(names, sizeof names, "rank %d has failed", f->rank);
  for (int32_t r = 0; r < j->world; r++) {
    const zp_cuda_error *err = &j->error[r];
    if (r == f->rank) continue;
    if (err->status == 0 && judged[r] == j->steps_run + 1) continue; /* it needed no more of it */
    cr_assert_eq(err->status, ZP_CUDA_E_PEER, "%s, fault %d at %lld, rank %d: status %d, %s\n%s",
                 name, f->kind, (long long)f->n, r, err->status, err->text, simdev_result(s)->text);
    cr_assert(strstr(err->text, "program position") && strstr(err->text, " group"), "%s",
              err->text);
    if (f->kind != SIMDEV_FAULT_STOP && f->kind != SIMDEV_FAULT_DIE && !j->no_alarm)
      cr_assert(strstr(err->text, names), "%s, fault %d at %lld: %s\n%s", name, f->kind,
                (long long)f->n, err->text, j->error[f->rank].text);
    /* who has been told by the rank itself does not wait for what cannot end */
    if (!j->no_alarm && j->alarm.rank == f->rank)
      cr_assert_lt(gave_up_ns[r], j->alarm_ns + DEADLINE_NS / 2,
                   "%s, fault %d at %lld, rank %d: %s", name, f->kind, (long long)f->n, r,
                   err->text);
  }
  cr_assert_eq(odd[0], 0, "%s, fault %d at %lld: %s", name, f->kind, (long long)f->n, odd);
}

/* Have all others got to their ends? */
static int came_too_late(const job *j, int32_t rank)
{
  for (int32_t r = 0; r < j->world; r++)
    if (r != rank && (j->error[r].status || judged[r] != j->steps_run + 1)) return 0;
  return 1;
}

/* One fault at PLACES places that are spread over the whole of the program. Returns at how many it
 * was felt: the last ones may be behind all that other ranks need. */
static int check_places(job *j, simdev *s, const wanted *c, simdev_fault_kind kind)
{
  int felt = 0;
  for (int32_t place = 0; place < PLACES; place++) {
    const int32_t rank = place % j->world;
    const simdev_options clean = {
        .seed = (uint64_t)place, .record = 1, .remote_errors = 1 + (simdev_choice)(place % 2)};
    simdev_fault f = {kind, rank, NULL, 0, cudaErrorIllegalAddress};
    simdev_options o = clean;
    extent x;
    cr_assert_eq(job_run(j, s, &clean), SIMDEV_OK, "%s: %s", c->name, simdev_result(s)->text);
    x = extent_of(s, rank);
    o.record = 0;
    o.faults = &f;
    o.fault_count = o.allow_leaks = 1;
    f.n = x.call[x.calls * place / PLACES];
    if (kind == SIMDEV_FAULT_ITEM) f.n = x.before + 1 + (x.items - x.before) * place / PLACES;
    free(x.call);
    j->no_alarm = place % 3 == 2;
    run_judged(j, s, &o);
    if (came_too_late(j, rank)) continue;
    felt++;
    check_survivors(j, s, &f, c->name);
  }
  j->no_alarm = 0;
  return felt;
}

static void check_fault(simdev_fault_kind kind)
{
  if (__lsan_disable) __lsan_disable();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    static job j;
    simdev *s;
    int felt;
    fill_wanted(&j, &cases[i]);
    if (kind == SIMDEV_FAULT_ERROR) j.threads = 0; /* simdev's own calls are no CUDA's */
    s = job_simdev(&j, NULL);
    felt = check_places(&j, s, &cases[i], kind);
    cr_assert_geq(felt, 20, "%s: felt at %d places", cases[i].name, felt);
    simdev_close(s);
    job_free(&j);
    drop_pictures();
  }
}

/* LEDG-7, STEP-5 */
Test(engine_errors, a_killed_rank_ends_all_others_with_their_place)
{
  check_fault(SIMDEV_FAULT_DIE);
}

Test(engine_errors, a_stuck_rank_ends_all_others_with_their_place)
{
  check_fault(SIMDEV_FAULT_STOP);
}

Test(engine_errors, a_rank_whose_calls_fail_is_named_by_all_others)
{
  check_fault(SIMDEV_FAULT_ERROR);
}

Test(engine_errors, a_rank_whose_device_fails_is_named_by_all_others)
{
  check_fault(SIMDEV_FAULT_ITEM);
}

/* ---- The device's place ---------------------------------------------------------------------- */

typedef struct place {
  int64_t step, pc;
  int32_t call; /* that launches it on the rank which is going to stop */
} place;

static int by_issue(const void *a, const void *b)
{
  const simdev_record *x = a, *y = b;
  return (x->issue > y->issue) - (x->issue < y->issue);
}

/* The step's communications on the devices of a job with one group, and their calls on the last
 * rank, from a clean run. */
static int32_t places_of(const job *j, const simdev *s, place *to, int32_t cap)
{
  int64_t n, comms = 0;
  const simdev_record *r = simdev_records(s, &n);
  simdev_record *mine = malloc((size_t)(n + 1) * sizeof *mine);
  const zp_rank *rank = zp_sim_rank(j->ref, j->world - 1);
  int32_t places = 0;
  if (!mine) abort();
  for (int64_t i = 0; i < n; i++)
    if (r[i].rank == j->world - 1 && r[i].kind == SIMDEV_COMM) mine[comms++] = r[i];
  qsort(mine, (size_t)comms, sizeof *mine, by_issue);
  n = 0;
  for (int64_t pc = 0; pc < rank->length[ZP_PHASE_INIT]; pc++)
    n += rank->program[ZP_PHASE_INIT][pc].kind == ZP_OP_BROADCAST &&
         rank->program[ZP_PHASE_INIT][pc].count > 0; /* NCCL discards the others */
  for (int64_t step = 0; step < j->steps_run; step++)
    for (int64_t pc = 0; pc < rank->length[ZP_PHASE_STEP]; pc++) {
      const zp_op *op = &rank->program[ZP_PHASE_STEP][pc];
      if (!zp_op_communicates(op) || n++ >= comms) continue;
      if (zp_group_size(&j->r.c, op->group, op->key, rank->at) > 1 && places < cap)
        to[places++] = (place){step, pc, mine[n - 1].call};
    }
  free(mine);
  return n == comms ? places : -1;
}

/* LEDG-7: what the last rank does not launch any more is where the devices of all others are. */
static int32_t check_device_places(uint32_t seed)
{
  static job j;
  static place places[2000];
  const simdev_options clean = {.seed = seed, .record = 1};
  simdev *s;
  int32_t n = 0;
  if (job_fill(&j, seed, 4) == 0 && j.r.c.dp == j.world && j.world > 1 && j.r.c.ep == 1 &&
      !j.saves && !j.loads && j.r.c.stage == 2) {
    j.threads = (int32_t)seed % 2;
    j.no_alarm = 1;
    s = job_simdev(&j, NULL);
    cr_assert_eq(job_run(&j, s, &clean), SIMDEV_OK);
    n = places_of(&j, s, places, 2000);
    cr_assert_geq(n, 0, "job %u: another number of communications", seed);
    for (int32_t i = 0; i < n; i++) {
      const simdev_fault f = {SIMDEV_FAULT_STOP, j.world - 1, NULL, places[i].call, 0};
      char text[80];
      job_run(&j, s,
              &(simdev_options){.seed = seed, .faults = &f, .fault_count = 1, .allow_leaks = 1});
      snprintf(text, sizeof text, "the device is in step %lld, program position %lld (",
               (long long)places[i].step, (long long)places[i].pc);
      for (int32_t r = 0; r < j.world - 1; r++)
        cr_assert(strstr(j.error[r].text, text), "job %u, rank %d, instead of \"%s\": %s", seed, r,
                  text, j.error[r].text);
    }
    simdev_close(s);
  }
  job_free(&j);
  return n;
}

Test(engine_errors, the_place_of_the_device_is_the_first_communication_that_has_not_ended)
{
  int32_t places = 0;
  if (__lsan_disable) __lsan_disable();
  for (uint32_t seed = 1; seed < 500; seed++) places += check_device_places(seed);
  cr_assert_geq(places, 200);
}
