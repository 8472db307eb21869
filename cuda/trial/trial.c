/* Ref's run, the schedules, and the twin's runs. */
#define _POSIX_C_SOURCE 200809L
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "same.h"
#include "trial_internal.h"

int zp_trial_differs(zp_trial *t, const char *kind, const char *format, ...)
{
  va_list args;
  if (__atomic_exchange_n(&t->differs, 1, __ATOMIC_ACQ_REL)) return 1;
  snprintf(t->found.kind, sizeof t->found.kind, "%s", kind);
  va_start(args, format);
  vsnprintf(t->found.text, sizeof t->found.text, format, args);
  va_end(args);
  return 1;
}

uint64_t zp_trial_random(uint64_t *state)
{
  uint64_t x = *state += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

/* Equal where the same numbers are. spec: NUM-4 */
uint64_t zp_trial_hash(const zp_config *c, const zp_layout *lay, void *const *param)
{
  uint64_t h = 0;
  for (int32_t i = 0; i < lay->n_params; i++) {
    const int64_t n = c->params[lay->first_param + i].numel;
    for (int64_t k = 0; k < n; k++) {
      const uint32_t bits = zp_bits_at(c->precision, param[i], k);
      h = (h ^ zp_as_compared(c->precision, bits)) * 0x9e3779b97f4a7c15u;
    }
  }
  return h;
}

void zp_trial_note(zp_trial_ledger *l, const zp_op *op, int32_t step)
{
  if (l->n == l->cap) {
    const int64_t cap = 2 * l->cap + 256;
    zp_op *ops = realloc(l->op, (size_t)cap * sizeof *l->op);
    int32_t *steps = ops ? realloc(l->step, (size_t)cap * sizeof *l->step) : NULL;
    if (ops) l->op = ops;
    if (!steps) {
      l->no_memory = 1;
      return;
    }
    l->step = steps;
    l->cap = cap;
  }
  l->op[l->n] = *op;
  l->step[l->n++] = step;
}

void zp_trial_ledger_free(zp_trial_ledger *l)
{
  free(l->op);
  free(l->step);
}

/* ---- Ref ------------------------------------------------------------------------------------- */

static void after_op(void *ctx, zp_rank *r, const zp_op *op)
{
  zp_trial *t = ctx;
  int32_t step = -1 - r->phase;
  if (!zp_op_communicates(op)) return;
  /* DECIDE has moved the step on before the ops behind it */
  if (r->phase == ZP_PHASE_STEP) step = (int32_t)(r->step - t->base) - op->if_stepped;
  zp_trial_note(&t->ledger[r->rank], op, step);
}

/* What the model gives before the broadcasts, for the twin to begin with. */
static int keep_first(zp_trial *t)
{
  const int64_t size = zp_dtype_bytes(t->cfg->precision);
  for (int32_t r = 0; r < t->world; r++) {
    const zp_rank *rank = zp_sim_rank(t->ref, r);
    for (int32_t i = 0; i < rank->lay.n_params; i++) {
      const int32_t p = rank->lay.first_param + i;
      const size_t n = (size_t)(t->cfg->params[p].numel * size);
      void *copy = malloc(n + 1);
      if (!copy) return -1;
      if (n > 0) memcpy(copy, rank->param[i], n);
      t->first[(int64_t)r * t->cfg->n_params + p] = copy;
    }
  }
  return 0;
}

static int end_ref(zp_trial *t, zp_error *err)
{
  if (t->storage.save && zp_trial_ref_save(t, err)) return err->status;
  zp_sim_hook(t->ref, NULL);
  for (int32_t r = 0; r < t->world; r++)
    if (t->ledger[r].no_memory) return zp_fail(err, ZP_E_MEMORY, r, "no memory for a ledger");
  return 0;
}

int zp_trial_ref_step(zp_trial *t, int32_t s, zp_error *err)
{
  for (int32_t r = 0; r < t->world; r++) {
    const zp_rank *rank = zp_sim_rank(t->ref, r);
    t->params[(int64_t)s * t->world + r] = zp_trial_hash(t->cfg, &rank->lay, rank->param);
  }
  if (zp_sim_run(t->ref, ZP_PHASE_STEP, err)) return err->status;
  t->result[s] = zp_sim_rank(t->ref, 0)->result;
  t->scaler[s] = zp_sim_rank(t->ref, 0)->scaler;
  if (t->watch.ref) t->watch.ref(t->watch.ctx, t->ref, s);
  return s == t->steps - 1 ? end_ref(t, err) : 0;
}

/* Up to its end or, where it follows the twin, to its first step. */
static int run_ref(zp_trial *t, zp_error *err)
{
  t->hook = (zp_hook){t, NULL, after_op};
  t->tape = zp_trial_tape(t);
  t->ref = zp_sim_open(t->cfg, t->hyper, t->watch.products ? &t->tape : t->work, err);
  if (!t->ref) return err->status;
  if (keep_first(t)) return zp_fail(err, ZP_E_MEMORY, -1, "no memory for first values");
  if (t->watch.report) return 0;
  zp_sim_hook(t->ref, &t->hook);
  if (zp_sim_run(t->ref, ZP_PHASE_INIT, err)) return err->status;
  if (t->storage.load && zp_trial_ref_load(t, err)) return err->status;
  if (t->watch.ref) t->watch.ref(t->watch.ctx, t->ref, -1);
  for (int32_t s = 0; !t->watch.products && s < t->steps; s++)
    if (zp_trial_ref_step(t, s, err)) return err->status;
  return t->steps == 0 ? end_ref(t, err) : 0;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static int open_arrays(zp_trial *t)
{
  const size_t world = (size_t)t->world, steps = (size_t)t->steps + 1;
  t->first = calloc(world * (size_t)t->cfg->n_params + 1, sizeof *t->first);
  t->ledger = calloc(world, sizeof *t->ledger);
  t->error = calloc(world, sizeof *t->error);
  t->result = calloc(steps, sizeof *t->result);
  t->scaler = calloc(steps, sizeof *t->scaler);
  t->params = calloc(steps * world, sizeof *t->params);
  t->log = calloc(world, sizeof *t->log);
  t->syncs = calloc(world, sizeof *t->syncs);
  t->get = calloc(steps, 1);
  t->followed = calloc(steps, 1);
  for (int32_t i = 0; t->storage.save && i < 2; i++)
    if (zp_case_memory_open(&t->saved[i], t->cfg)) return -1;
  if (!t->first || !t->ledger || !t->error || !t->result || !t->scaler) return -1;
  return t->params && t->log && t->syncs && t->get && t->followed ? 0 : -1;
}

zp_trial *zp_trial_open(const zp_config *cfg, const zp_hyper *hyper, const zp_workload *work,
                        int32_t steps, const zp_trial_watch *watch, zp_error *err)
{
  zp_trial *t = calloc(1, sizeof *t);
  int failed;
  if (!t) {
    zp_fail(err, ZP_E_MEMORY, -1, "no memory for a trial");
    return NULL;
  }
  t->cfg = cfg;
  t->hyper = hyper;
  t->work = work;
  if (watch) t->watch = *watch;
  if (watch && watch->storage) t->storage = *watch->storage;
  t->steps = steps;
  t->world = zp_world(cfg);
  failed = open_arrays(t) || zp_trial_hosts_open(t);
  if (failed) zp_fail(err, ZP_E_MEMORY, -1, "no memory for a trial on %d ranks", t->world);
  if (failed || run_ref(t, err)) {
    zp_trial_close(t);
    return NULL;
  }
  return t;
}

void zp_trial_close(zp_trial *t)
{
  if (!t) return;
  zp_trial_hosts_close(t);
  if (t->ref) zp_sim_close(t->ref);
  for (int64_t i = 0; t->first && i < (int64_t)t->world * t->cfg->n_params; i++) free(t->first[i]);
  for (int32_t r = 0; t->ledger && r < t->world; r++) zp_trial_ledger_free(&t->ledger[r]);
  for (int32_t r = 0; t->log && r < t->world; r++) zp_path_log_free(&t->log[r]);
  for (int32_t i = 0; t->storage.save && i < 2; i++) zp_case_memory_close(&t->saved[i]);
  free(t->first);
  for (int32_t r = 0; t->syncs && r < t->world; r++) free(t->syncs[r].sync);
  free(t->syncs);
  free(t->log);
  free(t->get);
  free(t->followed);
  free(t->ledger);
  free(t->error);
  free(t->result);
  free(t->scaler);
  free(t->params);
  free(t);
}

/* ---- Running --------------------------------------------------------------------------------- */

zp_trial_schedule zp_trial_schedule_of(uint64_t n)
{
  static const simdev_order orders[8] = {SIMDEV_RANDOM, SIMDEV_LAZY,   SIMDEV_PCT,  SIMDEV_RANDOM,
                                         SIMDEV_PCT,    SIMDEV_RANDOM, SIMDEV_LAZY, SIMDEV_FIFO};
  uint64_t state = n;
  zp_trial_schedule s = {.seed = n};
  s.announce = zp_trial_random(&state);
  s.order = orders[zp_trial_random(&state) % 8];
  /* several producers are what it is about; one is a case of its own */
  s.producers = (int32_t)(zp_trial_random(&state) % 8);
  s.producers = s.producers == 0 ? 1 : 2 + s.producers % 2;
  s.in_order = zp_trial_random(&state) % 3 == 0;
  s.get_each = (int32_t)(zp_trial_random(&state) % 2);
  s.launch_order = 1 + (zp_trial_random(&state) % 4 == 0);
  return s;
}

/* With 2 the engine sets it; but no thread may while another reads the environment. */
static void set_launch_order(int32_t choice)
{
  if (choice != 0) unsetenv("NCCL_LAUNCH_ORDER_IMPLICIT");
  if (choice == 2 && zp_trial_ranks == ZP_TRIAL_THREADS)
    setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", 1);
}

static const char *name_of(simdev_status status)
{
  switch (status) {
  case SIMDEV_E_MISUSE: return "misuse";
  case SIMDEV_E_ACCESS: return "access";
  case SIMDEV_E_MISMATCH: return "mismatch";
  case SIMDEV_E_DEADLOCK: return "deadlock";
  case SIMDEV_E_LEAK: return "leak";
  case SIMDEV_E_LIMIT: return "limit";
  case SIMDEV_E_RACE: return "race";
  case SIMDEV_E_NO_MEMORY: return "memory";
  default: return "engine";
  }
}

/* The engine's first own error; those of its peers follow from it. */
static const zp_cuda_error *first_error(const zp_trial *t)
{
  const zp_cuda_error *any = NULL;
  for (int32_t r = 0; r < t->world; r++) {
    const zp_cuda_error *e = &t->error[r];
    if (e->status && e->status != ZP_CUDA_E_PEER) return e;
    if (e->status && !any) any = e;
  }
  return any;
}

/* Nothing of the run before. */
static void forget(zp_trial *t, const zp_trial_schedule *s)
{
  t->now = *s;
  t->now.own_loop = s->own_loop && t->cfg->pp == 1;
  t->now.path = s->path && !s->hosts && !t->now.own_loop && zp_trial_ranks == ZP_TRIAL_PROCESSES;
  t->chained = 0;
  memset(&t->found, 0, sizeof t->found);
  t->differs = 0;
  memset(t->error, 0, (size_t)t->world * sizeof *t->error);
  for (int32_t r = 0; r < t->world; r++) t->log[r].n = t->syncs[r].n = 0;
  if (t->storage.save) zp_case_memory_clear(&t->saved[1]);
  for (int32_t k = 0; k < t->steps; k++)
    t->get[k] = s->get_each || t->watch.products || k == t->steps - 1;
}

/* No launch had to load its kernel. STRM-7 */
static int same_loads(zp_trial *t)
{
  const simdev_report *r = simdev_result(t->sim);
  if (r->late_loads == 0) return 0;
  return zp_trial_differs(t, "STRM-7",
                          "%lld first launches found their kernel not loaded, as of %s: each may "
                          "wait for the device",
                          (long long)r->late_loads, r->late_kernel);
}

int zp_trial_run(zp_trial *t, const zp_trial_schedule *s)
{
  const simdev_options o = {.seed = s->seed,
                            .order = s->order,
                            .record = s->record || s->path,
                            .decisions_max = s->decisions_max,
                            .nccl_version = s->nccl_version,
                            .faults = s->faults,
                            .fault_count = s->fault_count,
                            .remote_errors = s->remote_errors,
                            .one_comm_kernel = s->one_comm_kernel,
                            .allow_leaks = s->allow_leaks};
  simdev_status status;
  forget(t, s);
  set_launch_order(s->launch_order);
  status = zp_trial_hosts_begin(t) ? SIMDEV_E_NO_MEMORY : simdev_reset(t->sim, &o);
  if (status == SIMDEV_OK) status = simdev_run(t->sim);
  if (status == SIMDEV_OK && !t->found.kind[0] && same_loads(t)) return 1;
  if (status == SIMDEV_OK && !t->found.kind[0]) return t->now.path ? zp_trial_same_path(t) : 0;
  /* what simdev reports of itself comes before what follows from it; where a rank has found a
   * difference and left, the others may wait for it */
  if (!t->found.kind[0] ||
      (status != SIMDEV_E_HOST && status != SIMDEV_OK && status != SIMDEV_E_DEADLOCK)) {
    const zp_cuda_error *e = status == SIMDEV_E_HOST ? first_error(t) : NULL;
    memset(&t->found, 0, sizeof t->found);
    t->differs = 0;
    zp_trial_differs(t, e && e->status == ZP_CUDA_E_ARRIVAL ? "STEP-3" : name_of(status), "%s",
                     e ? e->text : simdev_result(t->sim)->text);
  }
  return 1;
}

const zp_trial_found *zp_trial_why(const zp_trial *t)
{
  return &t->found;
}

simdev *zp_trial_simdev(const zp_trial *t)
{
  return t->sim;
}

const zp_cuda_error *zp_trial_error(const zp_trial *t, int32_t rank)
{
  return &t->error[rank];
}

const zp_step_result *zp_trial_expected(const zp_trial *t, int32_t step)
{
  return &t->result[step];
}

zp_store zp_trial_saved(zp_trial *t)
{
  return zp_case_memory_store(&t->saved[0]);
}

zp_sim *zp_trial_ref(const zp_trial *t)
{
  return t->ref;
}
