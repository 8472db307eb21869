/* Training runs: the simulator's, MPI's and the serial oracle's, and their ends in common terms. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "train.h"

static const int32_t kinds[3] = {ZP_WHAT_MASTER, ZP_WHAT_MOMENT1, ZP_WHAT_MOMENT2};

/* ---- Outcomes -------------------------------------------------------------------------------- */

int zp_outcome_open(zp_outcome *out, const zp_config *cfg, int64_t first, int64_t steps)
{
  zp_snapshot *e = &out->end;
  memset(out, 0, sizeof *out);
  out->first = first;
  out->steps = steps;
  out->result = calloc((size_t)steps + 1, sizeof *out->result);
  e->entries = cfg->n_params;
  e->size = (int32_t)zp_dtype_bytes(cfg->precision);
  e->at = calloc((size_t)cfg->n_params + 1, sizeof *e->at);
  e->home = calloc((size_t)cfg->n_params + 1, sizeof *e->home);
  if (out->result == NULL || e->at == NULL || e->home == NULL) return -1;
  for (int32_t j = 0; j < cfg->n_params; j++) {
    const int32_t key = cfg->params[j].tied;
    int32_t h = 0;
    while (h < j && (key < 0 || cfg->params[h].tied != key)) h++;
    e->home[j] = h;
    e->at[j] = h < j ? e->at[h] : e->elements;
    if (h == j) e->elements += cfg->params[j].numel;
  }
  for (int i = 0; i < 3; i++) {
    e->state[i] = calloc((size_t)e->elements + 1, sizeof(float));
    if (e->state[i] == NULL) return -1;
  }
  e->param = calloc((size_t)e->elements + 1, (size_t)e->size);
  return e->param == NULL ? -1 : 0;
}

void zp_outcome_close(zp_outcome *out)
{
  free(out->result);
  free(out->end.at);
  free(out->end.home);
  for (int i = 0; i < 3; i++) free(out->end.state[i]);
  free(out->end.param);
  memset(out, 0, sizeof *out);
}

static uint64_t mix(uint64_t seed, const void *data, int64_t bytes)
{
  return XXH3_64bits_withSeed(data, (size_t)bytes, seed);
}

uint64_t zp_outcome_end_hash(const zp_outcome *out)
{
  const zp_snapshot *e = &out->end;
  const int64_t scaler[4] = {out->scaler.log2_scale, out->scaler.iter, out->scaler.last_overflow,
                             out->scaler.hysteresis_left};
  uint64_t h = mix(0, e->param, e->elements * e->size);
  for (int i = 0; i < 3; i++) h = mix(h, e->state[i], e->elements * (int64_t)sizeof(float));
  return mix(h, scaler, sizeof scaler);
}

uint64_t zp_outcome_hash(const zp_outcome *out, int64_t from)
{
  uint64_t h = zp_outcome_end_hash(out);
  for (int64_t i = from - out->first; i < out->steps; i++) {
    const zp_step_result *r = &out->result[i];
    const uint64_t bits[5] = {r->loss, r->norm_f64, r->norm_f32, (uint64_t)(int64_t)r->log2_scale,
                              (uint64_t)r->skipped};
    h = mix(h, bits, sizeof bits);
  }
  return h;
}

/* ---- Ends ------------------------------------------------------------------------------------ */

typedef struct visit {
  zp_snapshot *to;
  int kind;
} visit;

static void take_run(void *ctx, int32_t param, int64_t offset, int64_t count, const float *value)
{
  visit *v = ctx;
  memcpy(v->to->state[v->kind] + v->to->at[param] + offset, value, (size_t)count * sizeof *value);
  v->to->seen[v->kind] += count;
}

/* Takes or, from the second holder of an entry on, compares a parameter's bits. */
static void take_param(zp_snapshot *to, const zp_config *cfg, int32_t j, const void *bits,
                       uint8_t *taken)
{
  uint8_t *at = to->param + to->at[j] * to->size;
  const size_t bytes = (size_t)(cfg->params[j].numel * to->size);
  if (bytes == 0) return;
  if (!taken[to->home[j]]) memcpy(at, bits, bytes);
  else if (memcmp(at, bits, bytes) != 0) to->replicas_differ = 1;
  taken[to->home[j]] = 1;
}

static void harvest_rank(const zp_rank *r, zp_snapshot *to, uint8_t *taken)
{
  for (int k = 0; k < 3; k++) {
    visit v = {to, k};
    zp_rank_visit(r, kinds[k], take_run, &v);
  }
  for (int32_t i = 0; i < r->lay.n_params; i++) {
    const int32_t j = r->lay.first_param + i;
    take_param(to, r->cfg, j, r->all_params[j], taken);
  }
}

/* Members of every group against its first member; sums is [world][ZP_GROUPS]. */
static void judge_ledgers(const zp_config *cfg, const zp_ledger_sum *sums, zp_outcome *out)
{
  static const int32_t groups[] = {ZP_GROUP_WORLD, ZP_GROUP_DP, ZP_GROUP_TP, ZP_GROUP_EDP,
                                   ZP_GROUP_EP};
  const int32_t world = zp_world(cfg);
  out->ledgers_agree = 1;
  for (int32_t r = 0; r < world; r++) {
    const zp_coord at = zp_coord_of(cfg, r);
    for (int i = 0; i < 5; i++) {
      const int32_t g = groups[i], first = zp_group_id(cfg, g, -1, at);
      const zp_ledger_sum *a = &sums[(int64_t)r * ZP_GROUPS + g];
      const zp_ledger_sum *b = &sums[(int64_t)first * ZP_GROUPS + g];
      out->ledger_groups += first == r;
      if (a->ops != b->ops || a->hash != b->hash) out->ledgers_agree = 0;
    }
    for (int32_t key = 0; key < cfg->tied_keys && cfg->tied_keys == 1; key++) {
      const int32_t first = zp_group_id(cfg, ZP_GROUP_TIED, key, at);
      const zp_ledger_sum *a = &sums[(int64_t)r * ZP_GROUPS + ZP_GROUP_TIED], *b;
      if (first < 0) continue;
      b = &sums[(int64_t)first * ZP_GROUPS + ZP_GROUP_TIED];
      out->ledger_groups += first == r;
      if (a->ops != b->ops || a->hash != b->hash) out->ledgers_agree = 0;
    }
  }
}

static int whole(const zp_outcome *out, zp_error *err)
{
  for (int k = 0; k < 3; k++)
    if (out->end.seen[k] != out->end.elements)
      return zp_fail(err, ZP_E_VERDICT, -1, "the ranks own %lld of the model's %lld elements",
                     (long long)out->end.seen[k], (long long)out->end.elements);
  return 0;
}

static int harvest_sim(zp_trainer *t, zp_outcome *out, zp_error *err)
{
  const int32_t world = zp_sim_world(t->sim);
  uint8_t *taken = calloc((size_t)out->end.entries + 1, 1);
  zp_ledger_sum *sums = calloc((size_t)world * ZP_GROUPS, sizeof *sums);
  int status = 0;
  if (taken == NULL || sums == NULL) {
    status = zp_fail(err, ZP_E_MEMORY, -1, "no memory to compare %d ranks", (int)world);
  } else {
    for (int32_t i = 0; i < world; i++) {
      const zp_rank *r = zp_sim_rank(t->sim, i);
      harvest_rank(r, &out->end, taken);
      memcpy(sums + (int64_t)i * ZP_GROUPS, r->ledger, sizeof r->ledger);
    }
    judge_ledgers(t->cfg, sums, out);
    status = whole(out, err);
  }
  free(taken);
  free(sums);
  return status;
}

/* ---- The same over MPI: each process sends its part as one block of bytes -------------------- */

typedef struct block {
  uint8_t *data;
  int64_t n, cap;
  int kind;
  int32_t failed;
} block;

typedef struct run_head {
  int32_t kind, param; /* kind 0..2: state; 3: parameter bits; 4: ledgers */
  int64_t offset, bytes;
} run_head;

static void put_bytes(block *b, const void *data, int64_t n)
{
  if (b->failed) return;
  if (b->n + n > b->cap) {
    const int64_t cap = 2 * (b->n + n) + 4096;
    uint8_t *p = realloc(b->data, (size_t)cap);
    if (p == NULL) {
      b->failed = 1;
      return;
    }
    b->data = p;
    b->cap = cap;
  }
  if (n > 0) memcpy(b->data + b->n, data, (size_t)n);
  b->n += n;
}

static void put_run(void *ctx, int32_t param, int64_t offset, int64_t count, const float *value)
{
  block *b = ctx;
  const run_head h = {b->kind, param, offset, count * (int64_t)sizeof *value};
  put_bytes(b, &h, sizeof h);
  put_bytes(b, value, h.bytes);
}

static void pack(const zp_rank *r, block *b)
{
  const int64_t size = zp_dtype_bytes(r->cfg->precision);
  const run_head sums = {4, 0, 0, sizeof r->ledger};
  for (b->kind = 0; b->kind < 3; b->kind++) zp_rank_visit(r, kinds[b->kind], put_run, b);
  for (int32_t i = 0; i < r->lay.n_params; i++) {
    const int32_t j = r->lay.first_param + i;
    const run_head h = {3, j, 0, r->cfg->params[j].numel * size};
    put_bytes(b, &h, sizeof h);
    put_bytes(b, r->all_params[j], h.bytes);
  }
  put_bytes(b, &sums, sizeof sums);
  put_bytes(b, r->ledger, sizeof r->ledger);
}

static int unpack(const zp_trainer *t, const uint8_t *all, const int64_t *sizes, zp_outcome *out,
                  zp_error *err)
{
  const int32_t world = zp_mpi_size(t->mpi);
  uint8_t *taken = calloc((size_t)out->end.entries + 1, 1);
  zp_ledger_sum *sums = calloc((size_t)world * ZP_GROUPS, sizeof *sums);
  int status = 0;
  if (taken == NULL || sums == NULL) {
    free(taken);
    free(sums);
    return zp_fail(err, ZP_E_MEMORY, -1, "no memory to compare %d ranks", (int)world);
  }
  for (int32_t r = 0; r < world; r++) {
    const uint8_t *end = all + sizes[r];
    while (all < end) {
      run_head h;
      memcpy(&h, all, sizeof h);
      all += sizeof h;
      if (h.kind == 4) {
        memcpy(sums + (int64_t)r * ZP_GROUPS, all, sizeof t->rank->ledger);
      } else if (h.kind == 3) {
        take_param(&out->end, t->cfg, h.param, all, taken);
      } else {
        memcpy(out->end.state[h.kind] + out->end.at[h.param] + h.offset, all, (size_t)h.bytes);
        out->end.seen[h.kind] += h.bytes / (int64_t)sizeof(float);
      }
      all += h.bytes;
    }
  }
  judge_ledgers(t->cfg, sums, out);
  status = whole(out, err);
  free(taken);
  free(sums);
  return status;
}

static int harvest_mpi(zp_trainer *t, zp_outcome *out, zp_error *err)
{
  block b = {0};
  void *all = NULL;
  int64_t *sizes = calloc((size_t)zp_mpi_size(t->mpi) + 1, sizeof *sizes);
  int status;
  pack(t->rank, &b);
  if (b.failed || sizes == NULL)
    status = zp_fail(err, ZP_E_MEMORY, -1, "no memory to collect the training state");
  else status = zp_mpi_gather_bytes(t->mpi, b.data, b.n, &all, sizes, err);
  if (status == 0 && zp_mpi_rank(t->mpi) == 0) status = unpack(t, all, sizes, out, err);
  free(b.data);
  free(all);
  free(sizes);
  return status;
}

int zp_trainer_harvest(zp_trainer *t, zp_outcome *out, zp_error *err)
{
  out->scaler = t->rank->scaler;
  return t->sim != NULL ? harvest_sim(t, out, err) : harvest_mpi(t, out, err);
}

/* ---- Runs ------------------------------------------------------------------------------------ */

int zp_trainer_open(zp_trainer *t, const zp_config *cfg, const zp_hyper *hyper,
                    const zp_workload *work, zp_mpi *mpi, zp_error *err)
{
  memset(t, 0, sizeof *t);
  t->cfg = cfg;
  t->mpi = mpi;
  if (mpi == NULL) {
    t->sim = zp_sim_open(cfg, hyper, work, err);
    if (t->sim == NULL) return err->status;
    t->rank = zp_sim_rank(t->sim, 0);
  } else {
    t->rank = zp_rank_open(cfg, hyper, work, zp_mpi_rank(mpi), err);
    if (t->rank == NULL) return err->status;
  }
  return zp_trainer_run(t, ZP_PHASE_INIT, err);
}

void zp_trainer_count(zp_trainer *t, const zp_ledger_sum before[ZP_GROUPS])
{
  t->ops = t->bytes = 0;
  for (int32_t g = 0; g < ZP_GROUPS; g++) {
    t->ops += t->rank->ledger[g].ops - before[g].ops;
    t->bytes += t->rank->ledger[g].bytes - before[g].bytes;
  }
}

int zp_trainer_run(zp_trainer *t, int32_t phase, zp_error *err)
{
  zp_ledger_sum before[ZP_GROUPS];
  int status;
  memcpy(before, t->rank->ledger, sizeof before);
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

int zp_sim_run_all(const zp_config *cfg, const zp_hyper *hyper, const zp_workload *work,
                   atomic_int *stop, zp_outcome *out)
{
  zp_trainer t;
  int status = zp_trainer_open(&t, cfg, hyper, work, NULL, &out->err);
  for (int64_t i = 0; i < out->steps && status == 0 && !atomic_load(stop); i++) {
    status = zp_trainer_run(&t, ZP_PHASE_STEP, &out->err);
    out->result[i] = t.rank->result;
  }
  if (status == 0 && !atomic_load(stop)) status = zp_trainer_harvest(&t, out, &out->err);
  zp_trainer_close(&t);
  return status;
}

int zp_serial_run(const zp_config *cfg, const zp_hyper *hyper, const zp_workload *work,
                  atomic_int *stop, zp_outcome *out)
{
  zp_snapshot *e = &out->end;
  zp_serial *s = zp_serial_open(cfg, hyper, work, &out->err);
  int status = s == NULL ? out->err.status : 0;
  for (int64_t i = 0; i < out->steps && status == 0 && !atomic_load(stop); i++)
    status = zp_serial_step(s, &out->result[i], &out->err);
  for (int32_t j = 0; j < e->entries && status == 0; j++) {
    const size_t n = (size_t)cfg->params[j].numel;
    const void *p = zp_serial_get(s, ZP_WHAT_PARAMETER, j, 0, 0);
    if (e->home[j] != j || n == 0) continue;
    memcpy(e->param + e->at[j] * e->size, p, n * (size_t)e->size);
    for (int k = 0; k < 3; k++) {
      p = zp_serial_get(s, kinds[k], j, 0, 0);
      if (p != NULL) memcpy(e->state[k] + e->at[j], p, n * sizeof(float));
    }
  }
  if (s != NULL) zp_serial_close(s);
  return status;
}
