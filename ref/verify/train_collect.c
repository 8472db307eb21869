/* The end of a run, collected from its ranks: in this process, or over MPI. */
#include <stdlib.h>
#include <string.h>

#include "train_run.h"

static const int32_t kinds[3] = {ZP_WHAT_MASTER, ZP_WHAT_MOMENT1, ZP_WHAT_MOMENT2};

typedef struct visit {
  zp_snapshot *to;
  int kind;
} visit;

static void copy_run(void *ctx, int32_t param, int64_t offset, int64_t count, const float *value)
{
  visit *v = ctx;
  memcpy(v->to->state[v->kind] + v->to->at[param] + offset, value, (size_t)count * sizeof *value);
  v->to->seen[v->kind] += count;
}

/* Copies or, from the second holder of an entry on, compares a parameter's bits. */
static void copy_param(zp_snapshot *to, const zp_config *cfg, int32_t j, const void *bits,
                       uint8_t *seen)
{
  uint8_t *at = to->param + to->at[j] * to->size;
  const size_t bytes = (size_t)(cfg->params[j].numel * zp_dtype_bytes(zp_entry_dtype(cfg, j)));
  if (bytes == 0) return;
  if (!seen[to->home[j]]) memcpy(at, bits, bytes);
  else if (memcmp(at, bits, bytes) != 0) to->replicas_differ = 1;
  seen[to->home[j]] = 1;
}

static void collect_rank(const zp_rank *r, zp_snapshot *to, uint8_t *seen)
{
  for (int k = 0; k < 3; k++) {
    visit v = {to, k};
    zp_rank_visit(r, kinds[k], copy_run, &v);
  }
  for (int32_t i = 0; i < r->lay.n_params; i++) {
    const int32_t j = r->lay.first_param + i;
    copy_param(to, r->cfg, j, r->all_params[j], seen);
  }
}

/* Compares the ledgers of all members of every group with its first member's; sums is
 * [world][ZP_ALL_GROUPS]. */
static void compare_ledgers(const zp_trainer *t, const zp_ledger_sum *sums, zp_outcome *out)
{
  static const int32_t groups[] = {ZP_GROUP_WORLD, ZP_GROUP_DP, ZP_GROUP_TP,
                                   ZP_GROUP_EDP,   ZP_GROUP_EP, ZP_GROUP_REPLICA};
  const zp_config *cfg = t->cfg;
  const int32_t replicas = t->rank->block.replicas;
  const int32_t world = zp_world(cfg);
  out->ledgers_agree = 1;
  for (int32_t r = 0; r < world; r++) {
    const zp_block_rank b = zp_block_of(cfg, replicas, r);
    for (int i = 0; i < 5 + (replicas > 1); i++) {
      const int32_t g = groups[i], first = zp_block_group_id(&b, g, -1);
      const zp_ledger_sum *a = &sums[(int64_t)r * ZP_ALL_GROUPS + g];
      const zp_ledger_sum *its = &sums[(int64_t)first * ZP_ALL_GROUPS + g];
      out->ledger_groups += first == r;
      if (a->ops != its->ops || a->hash != its->hash) out->ledgers_agree = 0;
    }
    for (int32_t key = 0; key < cfg->tied_keys && cfg->tied_keys == 1; key++) {
      const int32_t first = zp_block_group_id(&b, ZP_GROUP_TIED, key);
      const zp_ledger_sum *a = &sums[(int64_t)r * ZP_ALL_GROUPS + ZP_GROUP_TIED], *its;
      if (first < 0) continue;
      its = &sums[(int64_t)first * ZP_ALL_GROUPS + ZP_GROUP_TIED];
      out->ledger_groups += first == r;
      if (a->ops != its->ops || a->hash != its->hash) out->ledgers_agree = 0;
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

static int collect_sim(zp_trainer *t, zp_outcome *out, zp_error *err)
{
  const int32_t world = zp_sim_world(t->sim);
  uint8_t *seen = calloc((size_t)out->end.entries + 1, 1);
  zp_ledger_sum *sums = calloc((size_t)world * ZP_ALL_GROUPS, sizeof *sums);
  int status = 0;
  if (seen == NULL || sums == NULL) {
    status = zp_fail(err, ZP_E_MEMORY, -1, "no memory to compare %d ranks", (int)world);
  } else {
    for (int32_t i = 0; i < world; i++) {
      const zp_rank *r = zp_sim_rank(t->sim, i);
      collect_rank(r, &out->end, seen);
      memcpy(sums + (int64_t)i * ZP_ALL_GROUPS, r->ledger, sizeof r->ledger);
    }
    compare_ledgers(t, sums, out);
    status = whole(out, err);
  }
  free(seen);
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
  const run_head sums = {4, 0, 0, sizeof r->ledger};
  for (b->kind = 0; b->kind < 3; b->kind++) zp_rank_visit(r, kinds[b->kind], put_run, b);
  for (int32_t i = 0; i < r->lay.n_params; i++) {
    const int32_t j = r->lay.first_param + i;
    const run_head h = {3, j, 0,
                        r->cfg->params[j].numel * zp_dtype_bytes(zp_entry_dtype(r->cfg, j))};
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
  uint8_t *seen = calloc((size_t)out->end.entries + 1, 1);
  zp_ledger_sum *sums = calloc((size_t)world * ZP_ALL_GROUPS, sizeof *sums);
  int status = 0;
  if (seen == NULL || sums == NULL) {
    free(seen);
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
        memcpy(sums + (int64_t)r * ZP_ALL_GROUPS, all, sizeof t->rank->ledger);
      } else if (h.kind == 3) {
        copy_param(&out->end, t->cfg, h.param, all, seen);
      } else {
        memcpy(out->end.state[h.kind] + out->end.at[h.param] + h.offset, all, (size_t)h.bytes);
        out->end.seen[h.kind] += h.bytes / (int64_t)sizeof(float);
      }
      all += h.bytes;
    }
  }
  compare_ledgers(t, sums, out);
  status = whole(out, err);
  free(seen);
  free(sums);
  return status;
}

static int collect_mpi(zp_trainer *t, zp_outcome *out, zp_error *err)
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

int zp_trainer_collect(zp_trainer *t, zp_outcome *out, zp_error *err)
{
  out->scaler = t->rank->scaler;
  return t->sim != NULL ? collect_sim(t, out, err) : collect_mpi(t, out, err);
}
