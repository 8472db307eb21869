/* A rank is killed, stands still, or fails, anywhere in its program: every survivor ends with an
 * error that names its program position, every wait ends, and no rank keeps what is
 * neither before a step nor after it. */
#include "engine_judge.h"

/* ---- Arrival errors -------------------------------------------------------------------------- */

static int opens_judged(zp_diff_case *j, const zp_case *c)
{
  static zp_error err;
  static zp_case copy;
  zp_case_copy(&copy, c);
  const zp_diff_watch watch = {.ctx = &copy, .ref = take_picture};
  if (c->cfg.n_params > ENTRIES_MAX || zp_world(&c->cfg) > RANKS_MAX || c->steps > STEPS_MAX)
    return 0;
  cr_assert_eq(zp_diff_case_watched(j, c, &watch, &err), 0, "%s", err.text);
  return 1;
}

static void close_judged(zp_diff_case *j)
{
  zp_diff_case_close(j);
  drop_pictures();
}

/* The rank has what to forget. */
static int has_gradients(const zp_config *c, int32_t rank)
{
  for (int32_t i = 0; i < c->n_params; i++)
    if (c->params[i].stage == zp_coord_of(c, rank).pp && !c->params[i].frozen) return 1;
  return 0;
}

/* STEP-3, STEP-5: a rank that forgets a gradient or announces it twice reports it; all others
 * name that rank; everybody is as after the step before, in every bit. Returns whether it was
 * tried. */
static int check_arrival(uint64_t n)
{
  static zp_diff_case j;
  zp_case c;
  uint32_t lacking;
  char names[40];
  const int32_t rank = (int32_t)(n % 3);
  const zp_diff *t;
  zp_cuda_random_case(51, n, &c, &lacking);
  c.reload.pp = 0;
  c.steps = 3; /* a rank in the last one has seen the first one end, hence every device INIT */
  if (zp_world(&c.cfg) < 3 || !has_gradients(&c.cfg, rank) || !opens_judged(&j, &c)) return 0;
  t = j.diff;
  snprintf(names, sizeof names, "rank %d has failed", rank);
  run_judged(j.diff, &(zp_schedule){.seed = n,
                                    .announce = n,
                                    .order = (simdev_order)(n / 2 % 4),
                                    .producers = 2,
                                    .hosts = n / 4 % 2 == 0,
                                    .alarm = 1,
                                    .allow_leaks = 1,
                                    .forgets = n % 2 ? 0 : rank + 1,
                                    .repeats = n % 2 ? rank + 1 : 0});
  cr_assert_str_eq(t->found.kind, "STEP-3", "case %d: %s", (int)n, t->found.text);
  cr_assert_eq(t->error[rank].status, ZP_E_ARRIVAL, "case %d: %s", (int)n, t->error[rank].text);
  for (int32_t r = 0; r < t->world; r++) {
    cr_assert_eq(judged[r], t->steps, "case %d: rank %d is after step %d of %d: %s", (int)n, r,
                 judged[r] - 1, t->steps, t->error[r].text);
    if (r == rank) continue;
    cr_assert_eq(t->error[r].status, ZP_E_PEER, "case %d: %s", (int)n, t->error[r].text);
    cr_assert(strstr(t->error[r].text, names), "case %d: %s", (int)n, t->error[r].text);
    check_position(t, r);
  }
  cr_assert_eq(odd[0], 0, "case %d: %s", (int)n, odd);
  close_judged(&j);
  return 1;
}

Test(engine_errors, an_arrival_error_names_its_rank_everywhere_and_changes_nothing)
{
  int32_t tried = 0;
  if (__lsan_disable) __lsan_disable();
  for (uint64_t n = 0; n < 80; n++) tried += check_arrival(n);
  cr_assert_geq(tried, 30);
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

static int fits(const zp_case *j, const wanted *c)
{
  int32_t tied = 0, experts = 0, trained = 0;
  for (int32_t i = 0; i < j->cfg.n_params; i++) {
    const zp_param *p = &j->cfg.params[i];
    for (int32_t k = 0; k < i; k++)
      tied +=
          p->tied >= 0 && p->tied == j->cfg.params[k].tied && p->stage != j->cfg.params[k].stage;
    experts += p->expert != 0;
    trained += !p->frozen && p->numel > 0;
  }
  return j->cfg.pp >= c->pp && j->cfg.dp >= c->dp && j->cfg.ep >= c->ep && tied >= c->tied &&
         (c->ep == 0 || experts > 0) && j->cfg.stage == c->stage &&
         j->scaler.dynamic == c->dynamic && trained > 2 && zp_world(&j->cfg) >= 2;
}

static void open_wanted(zp_diff_case *j, const wanted *w)
{
  for (uint64_t i = 0; i < 3000; i++) {
    zp_case c;
    uint32_t lacking;
    zp_cuda_random_case(52, i, &c, &lacking);
    c.reload.pp = 0;
    c.steps = 2 + (int32_t)(i % 2);
    if (fits(&c, w) && opens_judged(j, &c)) return;
  }
  cr_assert_fail("no case like that: %s", w->name);
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

enum { POSITIONS = 24 };

/* All ranks name the one at fault if they have a channel beside NCCL, or see that a
 * process has ended; but for a rank that stands still. */
static void check_named(const zp_diff *t, const simdev_fault *f, int32_t r, const char *name)
{
  char names[64];
  if (!t->now.alarm || f->kind == SIMDEV_FAULT_STOP) return;
  snprintf(names, sizeof names,
           f->kind == SIMDEV_FAULT_DIE ? "rank %d: its process has ended" : "rank %d has failed",
           f->rank);
  cr_assert(strstr(t->error[r].text, names), "%s, fault %d at %lld, rank %d: %s\n%s", name, f->kind,
            (long long)f->n, r, t->error[r].text, t->error[f->rank].text);
}

/* Where the rank waits: on the device, or, if that has ended all communication, on the host. */
static const char *last_position(const zp_diff *t, int32_t r)
{
  const char *text = t->error[r].text, *device = strstr(text, ", the device ");
  const int ended = strstr(text, ", the device has ended all communication") != NULL;
  return strstr(device && !ended ? device : text, ", program position ");
}

/* A stuck rank sends no alarm: others wait for it, or for one that does, and at least one has it
 * among those that it waits for. */
static void check_waited_for(const zp_diff *t, const simdev_fault *f, const char *name)
{
  int32_t errors = 0, named = 0;
  for (int32_t r = 0; r < t->world; r++) {
    if (r == f->rank || !t->error[r].status) continue;
    errors++;
    named += position_waits_for(last_position(t, r), f->rank);
  }
  cr_assert(errors == 0 || named > 0, "%s, fault %d at %lld: no rank waited for rank %d: %s", name,
            f->kind, (long long)f->n, f->rank, t->error[f->rank == 0].text);
}

static void check_survivors(const zp_diff *t, const simdev_fault *f, const char *name)
{
  for (int32_t r = 0; r < t->world; r++) {
    const zp_error *err = &t->error[r];
    if (r == f->rank) continue;
    if (err->status == 0 && judged[r] == t->steps + 1) continue; /* it needed no more of it */
    cr_assert_eq(err->status, ZP_E_PEER, "%s, fault %d at %lld, rank %d: status %d, %s\n%s", name,
                 f->kind, (long long)f->n, r, err->status, err->text, t->found.text);
    check_position(t, r);
    check_named(t, f, r, name);
    /* a rank that has received the alarm does not wait for work that cannot end */
    if (t->alarms.posted && t->alarms.first.rank == f->rank)
      cr_assert_lt(gave_up_ns[r], t->alarms.ns + ZP_DIFF_DEADLINE_NS / 2,
                   "%s, fault %d at %lld, rank %d: %s", name, f->kind, (long long)f->n, r,
                   err->text);
  }
  if (f->kind == SIMDEV_FAULT_STOP) check_waited_for(t, f, name);
  cr_assert_eq(odd[0], 0, "%s, fault %d at %lld: %s", name, f->kind, (long long)f->n, odd);
}

/* Have all others got to their ends? */
static int came_too_late(const zp_diff *t, int32_t rank)
{
  for (int32_t r = 0; r < t->world; r++)
    if (r != rank && (t->error[r].status || judged[r] != t->steps + 1)) return 0;
  return 1;
}

/* One fault at POSITIONS positions that are spread over the whole of the program. Returns at how
 * many it was felt: the last ones may be behind all that other ranks need. */
static int check_positions(zp_diff *t, const wanted *c, simdev_fault_kind kind)
{
  int felt = 0;
  for (int32_t position = 0; position < POSITIONS; position++) {
    const int32_t rank = position % t->world;
    const zp_schedule clean = {.seed = (uint64_t)position,
                               .announce = (uint64_t)position,
                               .producers = 2 + position % 2,
                               .get_each = position / 4 % 2,
                               .hosts = kind != SIMDEV_FAULT_ERROR &&
                                        position / 2 % 2, /* simdev's own calls are no CUDA's */
                               .alarm = position % 3 < 2,
                               .record = 1,
                               .remote_errors = 1 + (simdev_choice)(position % 2)};
    simdev_fault f = {kind, rank, NULL, 0, cudaErrorIllegalAddress};
    zp_schedule s = clean;
    extent x;
    cr_assert_eq(zp_diff_run(t, &clean), 0, "%s: %s", c->name, t->found.text);
    x = extent_of(t->simulation.now, rank);
    s.record = 0;
    s.faults = &f;
    s.fault_count = s.allow_leaks = 1;
    f.n = x.call[x.calls * position / POSITIONS];
    if (kind == SIMDEV_FAULT_ITEM) f.n = x.before + 1 + (x.items - x.before) * position / POSITIONS;
    free(x.call);
    run_judged(t, &s);
    if (came_too_late(t, rank)) continue;
    felt++;
    check_survivors(t, &f, c->name);
  }
  return felt;
}

static void check_fault(simdev_fault_kind kind)
{
  if (__lsan_disable) __lsan_disable();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    static zp_diff_case j;
    int felt;
    open_wanted(&j, &cases[i]);
    felt = check_positions(j.diff, &cases[i], kind);
    cr_assert_geq(felt, 20, "%s: felt at %d positions", cases[i].name, felt);
    close_judged(&j);
  }
}

/* LEDG-7, STEP-5 */
Test(engine_errors, a_killed_rank_ends_all_others_with_their_position)
{
  check_fault(SIMDEV_FAULT_DIE);
}

Test(engine_errors, a_stuck_rank_ends_all_others_with_their_position)
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

/* ---- The device's position ------------------------------------------------------------------- */

typedef struct position {
  int64_t step, pc;
  int32_t call; /* that launches it on the rank which is going to stop */
} position;

static int by_issue(const void *a, const void *b)
{
  const simdev_record *x = a, *y = b;
  return (x->issue > y->issue) - (x->issue < y->issue);
}

/* The step's communications on the devices of a case with one group, and their calls on the last
 * rank, from a clean run. */
static int32_t positions_of(const zp_diff *t, position *to, int32_t cap)
{
  int64_t n, comms = 0;
  const simdev_record *r = simdev_records(t->simulation.now, &n);
  simdev_record *mine = malloc((size_t)(n + 1) * sizeof *mine);
  const zp_rank *rank = zp_sim_rank(t->ref.sim, t->world - 1);
  int32_t positions = 0;
  if (!mine) abort();
  for (int64_t i = 0; i < n; i++)
    if (r[i].rank == t->world - 1 && r[i].kind == SIMDEV_COMM) mine[comms++] = r[i];
  qsort(mine, (size_t)comms, sizeof *mine, by_issue);
  n = 0;
  for (int64_t pc = 0; pc < rank->length[ZP_PHASE_INIT]; pc++)
    n += rank->program[ZP_PHASE_INIT][pc].kind == ZP_OP_BROADCAST &&
         rank->program[ZP_PHASE_INIT][pc].count > 0; /* NCCL discards the others */
  for (int64_t step = 0; step < t->steps; step++)
    for (int64_t pc = 0; pc < rank->length[ZP_PHASE_STEP]; pc++) {
      const zp_op *op = &rank->program[ZP_PHASE_STEP][pc];
      if (!zp_op_communicates(op) || n++ >= comms) continue;
      if (zp_group_size(t->cfg, op->group, op->key, rank->at) > 1 && positions < cap)
        to[positions++] = (position){step, pc, mine[n - 1].call};
    }
  free(mine);
  return n == comms ? positions : -1;
}

/* LEDG-7: what the last rank does not launch any more is where the devices of all others are. */
static int32_t check_device_positions(uint64_t seed)
{
  static zp_diff_case j;
  static zp_error err;
  static position positions[2000];
  zp_schedule s = {.seed = seed, .announce = seed, .producers = 2, .hosts = seed % 2};
  zp_case c;
  uint32_t lacking;
  int32_t n;
  zp_cuda_random_case(53, seed, &c, &lacking);
  c.reload.pp = 0;
  c.replicas = 1; /* ranks of another block do not wait for the last rank's */
  if (zp_world(&c.cfg) > 4 || c.cfg.dp < 2 || c.cfg.dp != zp_world(&c.cfg) || c.cfg.ep > 1 ||
      c.cfg.stage != 2)
    return 0;
  cr_assert_eq(zp_diff_case_open(&j, &c, &err), 0, "%s", err.text);
  s.record = 1;
  cr_assert_eq(zp_diff_run(j.diff, &s), 0, "case %d: %s", (int)seed, j.diff->found.text);
  s.record = 0;
  n = positions_of(j.diff, positions, 2000);
  cr_assert_geq(n, 0, "case %d: another number of communications", (int)seed);
  for (int32_t i = 0; i < n; i++) {
    const simdev_fault f = {SIMDEV_FAULT_STOP, j.diff->world - 1, NULL, positions[i].call, 0};
    char text[80];
    s.faults = &f;
    s.fault_count = s.allow_leaks = 1;
    zp_diff_run(j.diff, &s);
    snprintf(text, sizeof text, "the device is in step %lld, program position %lld (",
             (long long)positions[i].step, (long long)positions[i].pc);
    for (int32_t r = 0; r < j.diff->world - 1; r++) {
      cr_assert(strstr(j.diff->error[r].text, text), "case %d, rank %d, instead of \"%s\": %s",
                (int)seed, r, text, j.diff->error[r].text);
      check_position(j.diff, r);
    }
  }
  zp_diff_case_close(&j);
  return n;
}

Test(engine_errors, the_devices_position_is_the_first_communication_that_has_not_ended)
{
  int32_t positions = 0;
  if (__lsan_disable) __lsan_disable();
  for (uint64_t seed = 1; positions < 400 && seed < 1000; seed++)
    positions += check_device_positions(seed);
  cr_assert_geq(positions, 400);
}
