/* Opening a differential run, and running the engine under one schedule. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

/* ---- Opening --------------------------------------------------------------------------------- */

static int open_arrays(zp_diff *t)
{
  const size_t world = (size_t)t->world, steps = (size_t)t->steps + 1;
  t->error = calloc(world, sizeof *t->error);
  t->log = calloc(world, sizeof *t->log);
  t->syncs = calloc(world, sizeof *t->syncs);
  t->get = calloc(steps, 1);
  t->follow.followed = calloc(steps, 1);
  for (int32_t i = 0; t->storage.save && i < 2; i++)
    if (zp_case_memory_open(&t->saved[i], t->cfg)) return -1;
  return t->error && t->log && t->syncs && t->get && t->follow.followed ? 0 : -1;
}

zp_diff *zp_diff_open(const zp_config *cfg, const zp_hyper *hyper, const zp_workload *work,
                      int32_t steps, const zp_diff_watch *watch, zp_error *err)
{
  zp_diff *t = calloc(1, sizeof *t);
  int failed;
  if (!t) {
    zp_fail(err, ZP_E_MEMORY, -1, "out of memory for a differential run");
    return NULL;
  }
  t->cfg = cfg;
  t->hyper = hyper;
  t->work = work;
  if (watch) t->watch = *watch;
  if (watch && watch->storage) t->storage = *watch->storage;
  t->steps = steps;
  t->world = zp_world(cfg);
  failed = open_arrays(t) || zp_simulation_open(t);
  if (failed)
    zp_fail(err, ZP_E_MEMORY, -1, "out of memory for a differential run on %d ranks", t->world);
  if (failed || zp_ref_run_open(t, err)) {
    zp_diff_close(t);
    return NULL;
  }
  return t;
}

void zp_diff_close(zp_diff *t)
{
  if (!t) return;
  zp_simulation_close(t);
  zp_ref_run_close(t);
  for (int32_t r = 0; t->log && r < t->world; r++) zp_hb_log_free(&t->log[r]);
  for (int32_t r = 0; t->syncs && r < t->world; r++) free(t->syncs[r].sync);
  for (int32_t i = 0; t->storage.save && i < 2; i++) zp_case_memory_close(&t->saved[i]);
  free(t->syncs);
  free(t->log);
  free(t->get);
  free(t->follow.followed);
  free(t->error);
  free(t);
}

/* ---- Running --------------------------------------------------------------------------------- */

/* With 2 the engine sets it, except for POSIX threads: setenv while another thread reads the
 * environment is not allowed. */
static void set_launch_order(int32_t choice)
{
  if (choice != 0) unsetenv("NCCL_LAUNCH_ORDER_IMPLICIT");
  if (choice == 2 && zp_ranks_as == ZP_RANKS_THREADS) setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", 1);
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

/* The first error of a rank itself; errors about a peer result from it. */
static const zp_error *first_error(const zp_diff *t)
{
  const zp_error *any = NULL;
  for (int32_t r = 0; r < t->world; r++) {
    const zp_error *e = &t->error[r];
    if (e->status && e->status != ZP_E_PEER) return e;
    if (e->status && !any) any = e;
  }
  return any;
}

/* Forgets the last run. */
static void reset(zp_diff *t, const zp_schedule *s)
{
  t->now = *s;
  t->now.own_loop = s->own_loop && t->cfg->pp == 1;
  t->now.gradual = s->gradual && !s->hosts && !t->now.own_loop;
  t->now.path = s->path && !s->hosts && !t->now.own_loop && zp_ranks_as == ZP_RANKS_PROCESSES;
  t->chained = 0;
  memset(&t->found, 0, sizeof t->found);
  t->differs = t->contributions.n = 0;
  memset(t->error, 0, (size_t)t->world * sizeof *t->error);
  for (int32_t r = 0; r < t->world; r++) t->log[r].n = t->syncs[r].n = 0;
  if (t->storage.save) zp_case_memory_clear(&t->saved[1]);
  for (int32_t k = 0; k < t->steps; k++)
    t->get[k] = s->get_each || t->watch.products || k == t->steps - 1;
}

/* No launch found its kernel not loaded. STRM-7 */
static int same_loads(zp_diff *t)
{
  const simdev_report *r = simdev_result(t->simulation.now);
  if (r->late_loads == 0) return 0;
  return zp_diff_fail(t, "STRM-7",
                      "the kernel was not loaded at %lld first launches, such as of %s: each may "
                      "wait for the device",
                      (long long)r->late_loads, r->late_kernel);
}

int zp_diff_run(zp_diff *t, const zp_schedule *s)
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
                            .register_memory = s->register_memory,
                            .allow_leaks = s->allow_leaks};
  simdev_status status;
  reset(t, s);
  set_launch_order(s->launch_order);
  status = zp_simulation_begin(t) ? SIMDEV_E_NO_MEMORY : simdev_reset(t->simulation.now, &o);
  if (status == SIMDEV_OK) status = simdev_run(t->simulation.now);
  if (status == SIMDEV_OK && !t->found.kind[0] && same_loads(t)) return 1;
  if (status == SIMDEV_OK && !t->found.kind[0]) return t->now.path ? zp_diff_compare_order(t) : 0;
  /* simdev's findings have precedence over their consequences. But after a rank has found a
   * difference and returned, the other ranks may deadlock or fail */
  if (!t->found.kind[0] ||
      (status != SIMDEV_E_HOST && status != SIMDEV_OK && status != SIMDEV_E_DEADLOCK)) {
    const zp_error *e = status == SIMDEV_E_HOST ? first_error(t) : NULL;
    memset(&t->found, 0, sizeof t->found);
    t->differs = t->contributions.n = 0;
    zp_diff_fail(t, e && e->status == ZP_E_ARRIVAL ? "STEP-3" : name_of(status), "%s",
                 e ? e->text : simdev_result(t->simulation.now)->text);
  }
  return 1;
}

const zp_finding *zp_diff_finding(const zp_diff *t)
{
  return &t->found;
}

simdev *zp_diff_simdev(const zp_diff *t)
{
  return t->simulation.now;
}

const zp_error *zp_diff_error(const zp_diff *t, int32_t rank)
{
  return &t->error[rank];
}

const zp_step_result *zp_diff_expected(const zp_diff *t, int32_t step)
{
  return &t->ref.result[step];
}

zp_store zp_diff_saved(zp_diff *t)
{
  return zp_case_memory_store(&t->saved[0]);
}

zp_sim *zp_diff_ref(const zp_diff *t)
{
  return t->ref.sim;
}
