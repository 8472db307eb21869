#include "train_run.h"

#include <string.h>

static const int32_t kinds[3] = {ZP_WHAT_MASTER, ZP_WHAT_MOMENT1, ZP_WHAT_MOMENT2};

int zp_trainer_open(zp_trainer *t, const zp_config *cfg, const zp_train_hyper *hyper,
                    const zp_workload *work, zp_mpi *mpi, zp_error *err)
{
  memset(t, 0, sizeof *t);
  t->cfg = cfg;
  t->hyper = hyper;
  t->now = hyper->peak;
  t->mpi = mpi;
  if (mpi == NULL) {
    t->sim = zp_sim_open(cfg, &t->now, work, err);
    if (t->sim == NULL) return err->status;
    t->rank = zp_sim_rank(t->sim, 0);
  } else {
    t->rank = zp_rank_open(cfg, &t->now, work, zp_mpi_rank(mpi), err);
    if (t->rank == NULL) return err->status;
  }
  return zp_trainer_run(t, ZP_PHASE_INIT, err);
}

void zp_trainer_count(zp_trainer *t, const zp_ledger_sum before[ZP_ALL_GROUPS])
{
  t->ops = t->bytes = 0;
  for (int32_t g = 0; g < ZP_ALL_GROUPS; g++) {
    t->ops += t->rank->ledger[g].ops - before[g].ops;
    t->bytes += t->rank->ledger[g].bytes - before[g].bytes;
  }
}

int zp_trainer_run(zp_trainer *t, int32_t phase, zp_error *err)
{
  zp_ledger_sum before[ZP_ALL_GROUPS];
  int status;
  memcpy(before, t->rank->ledger, sizeof before);
  if (phase == ZP_PHASE_STEP) t->now = zp_train_hyper_at(t->hyper, t->rank->step);
  if (zp_hyper_check(&t->now, t->rank->rank, err))
    return err->status; /* a rate may be NaN (OPT-8) */
  status =
      t->sim != NULL ? zp_sim_run(t->sim, phase, err) : zp_mpi_run(t->mpi, t->rank, phase, err);
  zp_trainer_count(t, before);
  return status;
}

void zp_trainer_close(zp_trainer *t)
{
  if (t->sim != NULL) zp_sim_close(t->sim);
  else if (t->rank != NULL) zp_rank_close(t->rank);
  memset(t, 0, sizeof *t);
}

int32_t zp_trainer_ranks(const zp_trainer *t)
{
  return t->sim != NULL ? zp_sim_world(t->sim) : 1;
}

zp_rank *zp_trainer_rank(const zp_trainer *t, int32_t i)
{
  return t->sim != NULL ? zp_sim_rank(t->sim, i) : t->rank;
}

int zp_sim_run_all(const zp_config *cfg, const zp_train_hyper *hyper, const zp_workload *work,
                   atomic_int *stop, zp_outcome *out)
{
  zp_trainer t;
  int status = zp_trainer_open(&t, cfg, hyper, work, NULL, &out->err);
  for (int64_t i = 0; i < out->steps && status == 0 && !atomic_load(stop); i++) {
    status = zp_trainer_run(&t, ZP_PHASE_STEP, &out->err);
    out->result[i] = t.rank->result;
  }
  if (status == 0 && !atomic_load(stop)) status = zp_trainer_collect(&t, out, &out->err);
  zp_trainer_close(&t);
  return status;
}

int zp_serial_run(const zp_config *cfg, const zp_train_hyper *hyper, const zp_workload *work,
                  atomic_int *stop, zp_outcome *out)
{
  zp_snapshot *e = &out->end;
  zp_hyper now = hyper->peak;
  zp_serial *s = zp_serial_open(cfg, &now, work, &out->err);
  int status = s == NULL ? out->err.status : 0;
  for (int64_t i = 0; i < out->steps && status == 0 && !atomic_load(stop); i++) {
    now = zp_train_hyper_at(hyper, i);
    status = zp_serial_step(s, &out->result[i], &out->err);
  }
  for (int32_t j = 0; j < e->entries && status == 0; j++) {
    const size_t n = (size_t)cfg->params[j].numel;
    const void *p = zp_serial_get(s, ZP_WHAT_PARAMETER, j, 0, 0);
    if (e->home[j] != j || n == 0) continue;
    memcpy(e->param + e->at[j] * e->size, p, n * (size_t)zp_dtype_bytes(zp_entry_dtype(cfg, j)));
    for (int k = 0; k < 3; k++) {
      p = zp_serial_get(s, kinds[k], j, 0, 0);
      if (p != NULL) memcpy(e->state[k] + e->at[j], p, n * sizeof(float));
    }
  }
  if (s != NULL) zp_serial_close(s);
  return status;
}
