/* The order of ranks: tensor- and data-parallel indices outside, stages inside, so that neighbours
 * follow one another; expert-parallel classes one after the other, so that a group's members do; of
 * each index in a block, the ranks of all blocks. */
#define _GNU_SOURCE
#include "plan_check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../engine/rank_program.h"
#include "plan_check_internal.h"

/* Longer programs than this (2^25 ops, 3.5 GB) are refused: a bucket size was forgotten. */
#define OPS_MAX ((int64_t)1 << 25)
/* More than this of all ranks are refused: measured, an op takes about 45 ns of a core, so these
 * take almost an hour. */
#define ALL_OPS_MAX ((int64_t)1 << 36)
/* Bytes of ledgers that all threads together may remember. */
#define CACHE_BYTES ((int64_t)1 << 28)

/* ---- One rank -------------------------------------------------------------------------------- */

static int check_phase(checker *c, int32_t phase)
{
  const zp_layout *lay = &c->stage[c->at.pp].lay;
  const int64_t need = zp_rank_program_need(&c->block, lay, phase);
  int64_t t = -1, i = 0, n;
  c->phase = phase;
  n = need > c->cap_ops ? -1 : c->job->write(&c->block, lay, phase, c->ops, c->cap_ops);
  if (n != need)
    return zp_check_violation(c, ZP_CHECK_LENGTH, NULL, n, "%lld ops where %lld were announced",
                              (long long)n, (long long)need);
  c->result->count[ZP_CHECK_LENGTH]++;
  c->result->ops += n;
  if (zp_check_channels_begin(c) != 0) return c->err->status;
  for (int64_t pc = 0; pc < n; pc++) {
    const zp_op *op = &c->ops[pc];
    if (op->clock_t < t || (op->clock_t == t && op->clock_i <= i))
      return zp_check_violation(c, ZP_CHECK_CLOCK, op, pc, "comes after clock (%lld, %lld)",
                                (long long)t, (long long)i);
    t = op->clock_t;
    i = op->clock_i;
    if (op->kind >= ZP_OP_FIRST_COMM && zp_check_channel_op(c, op, pc) != 0) return c->err->status;
  }
  c->result->count[ZP_CHECK_CLOCK] += n;
  if (phase == ZP_PHASE_STEP && zp_check_step(c, c->ops, n) != 0) return c->err->status;
  return zp_check_channels_end(c);
}

static int check_rank(checker *c)
{
  for (int32_t phase = 0; phase < ZP_PHASES; phase++)
    if (check_phase(c, phase) != 0) return c->err->status;
  c->result->ranks++;
  return 0;
}

/* ---- Stages ---------------------------------------------------------------------------------- */

/* The layout itself: entries tile their flat group; parts tile buckets; shards follow on. */
static int check_layout(const stage_info *st, zp_error *err)
{
  const zp_layout *lay = &st->lay;
  for (int32_t k = 0; k < lay->n_flats; k++) {
    const zp_flat *f = &lay->flat[k];
    int64_t at = 0, offset = 0;
    for (int32_t i = lay->n_params - 1; i >= 0; i--) {
      if (lay->spot[i].flat != k) continue;
      if (lay->spot[i].start != at)
        return zp_fail(err, ZP_E_VERDICT, -1,
                       "violated: entries tile their flat group (PART-2): "
                       "entry %d of stage %d",
                       (int)(lay->first_param + i), (int)lay->stage);
      at += st->numel[i];
    }
    for (int64_t b = 0; b < zp_buckets(f); b++) {
      const int64_t part = zp_part(f, b), numel = zp_bucket_numel(f, b);
      if (part * f->members < numel || part * f->members >= numel + f->members * f->align ||
          zp_shard_offset(f, b) != offset || part % f->align != 0)
        return zp_fail(err, ZP_E_VERDICT, -1,
                       "violated: parts tile their bucket (PART-4): flat "
                       "group %d, bucket %lld of stage %d",
                       (int)k, (long long)b, (int)lay->stage);
      offset += part;
    }
    if (at != f->numel || offset != zp_shard(f))
      return zp_fail(err, ZP_E_VERDICT, -1,
                     "violated: shards tile their flat group (PART-5): flat "
                     "group %d of stage %d",
                     (int)k, (int)lay->stage);
  }
  return 0;
}

static int build_stage(const zp_config *cfg, int32_t s, stage_info *st, zp_error *err)
{
  zp_layout *lay = &st->lay;
  int32_t first, n;
  zp_stage_params(cfg, s, &first, &n);
  lay->cap_flats = lay->cap_spots = n;
  lay->flat = calloc((size_t)n + 1, sizeof *lay->flat);
  lay->spot = calloc((size_t)n + 1, sizeof *lay->spot);
  st->numel = calloc((size_t)n + 1, sizeof *st->numel);
  st->first_bucket = calloc((size_t)n + 2, sizeof *st->first_bucket);
  st->tied = calloc((size_t)cfg->tied_keys + 1, sizeof *st->tied);
  if (lay->flat == NULL || lay->spot == NULL || st->numel == NULL || st->first_bucket == NULL ||
      st->tied == NULL)
    return zp_fail(err, ZP_E_MEMORY, -1, "no memory for the layout of stage %d", (int)s);
  if (zp_layout_build(cfg, s, lay) != 0)
    return zp_fail(err, ZP_E_VERDICT, -1,
                   "stage %d: a layout with room for every entry was "
                   "refused",
                   (int)s);
  for (int32_t i = 0; i < n; i++) {
    st->numel[i] = cfg->params[first + i].numel;
    st->trainable += !cfg->params[first + i].frozen && st->numel[i] > 0;
  }
  for (int32_t k = 0; k < lay->n_flats; k++)
    st->first_bucket[k + 1] = st->first_bucket[k] + zp_buckets(&lay->flat[k]);
  for (int32_t key = 0; key < cfg->tied_keys; key++)
    if (zp_tied_on_stage(cfg, key, s)) st->tied[st->n_tied++] = key;
  return 0;
}

/* What build_stage allocates: 16 bytes more for each block. */
static double layout_bytes(const zp_config *cfg, int32_t n)
{
  return sizeof(stage_info) + 5 * 16 + sizeof(int32_t) * (cfg->tied_keys + 1.0) +
         (n + 2.0) * (sizeof(zp_flat) + sizeof(zp_spot) + 2 * sizeof(int64_t));
}

static void free_stages(stage_info *stage, int32_t n)
{
  for (int32_t s = 0; stage != NULL && s < n; s++) {
    free(stage[s].lay.flat);
    free(stage[s].lay.spot);
    free(stage[s].numel);
    free(stage[s].first_bucket);
    free(stage[s].tied);
  }
  free(stage);
}

/* ---- Threads --------------------------------------------------------------------------------- */

typedef struct worker {
  checker c;
  zp_check_result result;
  zp_error err;
  int64_t from, to; /* of dp · tp */
  int64_t items, most_entries, most_buckets, most_flats;
  int64_t all_ops;     /* of the longest programs of all phases */
  double layout_bytes; /* of all stages */
  atomic_llong *done;
  atomic_int *stop;
} worker;

/* At most what the ledgers of one slot take: together they are parts of one rank's programs, and
 * begin with ZP_CHECK_LEDGER_OPS. A ledger grows by doubling; what it does not use is not written,
 * so it takes no memory. */
static double slot_bytes(const worker *w)
{
  const double op = sizeof(zp_op), least = ZP_CHECK_LEDGER_OPS * op + sizeof(ledger);
  return op * (double)w->all_ops + ZP_PHASES * ZP_ALL_GROUPS * least;
}

/* How many slots each of n threads has. */
static int32_t slots_of(const worker *w, int32_t n)
{
  const double all = (double)w->c.cfg->pp * w->c.cfg->tp * w->c.job->replicas;
  const double slots = (double)CACHE_BYTES / n / slot_bytes(w);
  return slots < 1 ? 1 : slots > all ? (int32_t)all : (int32_t)slots;
}

/* Bucket slots of a rank: those that the job wants, or more. */
static int64_t most_slots(const worker *w)
{
  const int64_t least = (int64_t)w->most_flats + 2;
  return w->c.job->slots > least ? w->c.job->slots : least;
}

/* An upper bound of the bytes that n threads like w, and all layouts, take. */
static double need_bytes(const worker *w, int32_t n)
{
  const checker *c = &w->c;
  const zp_config *cfg = c->cfg;
  const double op = sizeof(zp_op), tied = cfg->tied_keys + 1, ops = (double)c->cap_ops;
  const double channels = tied * (sizeof *c->tied_channel + sizeof *c->channel);
  const double entries = (double)w->most_entries * (sizeof *c->next + sizeof *c->next_mb);
  const double acts = (double)zp_check_activations(cfg->pp, cfg->micro_batches, 0) * sizeof *c->act;
  const double states =
      (double)w->most_buckets * sizeof *c->bucket + (double)most_slots(w) * sizeof *c->slot_of;
  /* the rank's program; with others in its groups, a first member's and the ledgers; with other
   * stages, exchanges: at most four for each micro-batch, with two neighbours */
  double each = op * ops + channels + entries + acts + states;
  if (zp_world(cfg) > 1) each += op * ops + slots_of(w, n) * slot_bytes(w);
  if (cfg->tied_keys > 0) each += op * (double)w->all_ops;
  if (cfg->pp > 1) each += 8 * op * (double)cfg->micro_batches;
  return n * each + w->layout_bytes + 0x1p24;
}

/* As many threads as fit the memory, at most *n. */
static int choose_threads(const zp_check_job *job, worker *w, int32_t *n, zp_error *err)
{
  w->c.job = job;
  w->c.cfg = job->cfg;
  if (job->memory_max <= 0) return 0;
  while (*n > 1 && need_bytes(w, *n) > job->memory_max) --*n;
  if (need_bytes(w, *n) <= job->memory_max) return 0;
  return zp_fail(err, ZP_E_REFUSED, -1,
                 "the longest program has %lld ops; to check it takes up to %.0f MiB of memory and "
                 "%.0f MiB are free. Use larger buckets (bucket is %lld elements) or fewer "
                 "micro-batches.",
                 (long long)w->c.cap_ops, need_bytes(w, *n) / 0x1p20, job->memory_max / 0x1p20,
                 (long long)job->cfg->bucket);
}

static int open_worker(worker *w, int32_t threads)
{
  checker *c = &w->c;
  const zp_config *cfg = c->cfg;
  const int64_t bytes = c->cap_ops * (int64_t)sizeof(zp_op);
  c->slots = slots_of(w, threads);
  c->ops = malloc((size_t)bytes);
  c->ref_ops = malloc((size_t)bytes);
  c->channel = calloc((size_t)cfg->tied_keys + ZP_ALL_GROUPS, sizeof *c->channel);
  c->tied_channel = calloc((size_t)cfg->tied_keys + 1, sizeof *c->tied_channel);
  c->bucket = calloc((size_t)w->most_buckets + 1, sizeof *c->bucket);
  c->slot_of = calloc((size_t)most_slots(w), sizeof *c->slot_of);
  c->next = calloc((size_t)w->most_entries + 1, sizeof *c->next);
  c->next_mb = calloc((size_t)w->most_entries + 1, sizeof *c->next_mb);
  c->act = calloc((size_t)zp_check_activations(cfg->pp, cfg->micro_batches, 0) + 1, sizeof *c->act);
  int ok = c->ops != NULL && c->ref_ops != NULL && c->channel != NULL && c->tied_channel != NULL &&
           c->bucket != NULL && c->slot_of != NULL && c->next != NULL && c->next_mb != NULL &&
           c->act != NULL;
  for (int32_t p = 0; p < ZP_PHASES; p++) {
    for (int32_t g = 0; g < ZP_ALL_GROUPS; g++) {
      const int32_t n = g == ZP_GROUP_TIED ? cfg->tied_keys + 1 : c->slots;
      c->cache[p][g] = calloc((size_t)n, sizeof(ledger));
      ok = ok && c->cache[p][g] != NULL;
      for (int32_t i = 0; ok && i < n; i++) c->cache[p][g][i].first = -1;
    }
  }
  return ok ? 0
            : zp_fail(&w->err, ZP_E_MEMORY, -1, "no memory for programs of %lld ops",
                      (long long)c->cap_ops);
}

static void close_worker(worker *w)
{
  checker *c = &w->c;
  for (int32_t p = 0; p < ZP_PHASES; p++) {
    for (int32_t g = 0; g < ZP_ALL_GROUPS; g++) {
      const int32_t n = g == ZP_GROUP_TIED ? c->cfg->tied_keys + 1 : c->slots;
      for (int32_t i = 0; c->cache[p][g] != NULL && i < n; i++) free(c->cache[p][g][i].op);
      free(c->cache[p][g]);
    }
  }
  free(c->ops);
  free(c->ref_ops);
  free(c->channel);
  free(c->tied_channel);
  free(c->bucket);
  free(c->slot_of);
  free(c->next);
  free(c->next_mb);
  free(c->act);
  free(c->up);
  free(c->up_new);
}

static void *work(void *arg)
{
  worker *w = arg;
  checker *c = &w->c;
  const zp_config *cfg = c->cfg;
  const int32_t blocks = c->job->replicas, ranks = cfg->dp / blocks, members = ranks / cfg->ep;
  for (int64_t item = w->from; item < w->to; item++) {
    const int32_t i = (int32_t)(item / cfg->tp);
    c->at.tp = (int32_t)(item % cfg->tp);
    c->at.dp = i % blocks * ranks + i / blocks % members * cfg->ep + i / blocks / members;
    c->n_up = 0;
    for (c->at.pp = 0; c->at.pp < cfg->pp; c->at.pp++) {
      c->rank = zp_rank_of(cfg, c->at);
      c->block = zp_block_of(cfg, blocks, c->rank);
      c->block.fp32_gradients = c->job->fp32_gradients;
      c->block.slots = c->job->slots;
      if (atomic_load_explicit(w->stop, memory_order_relaxed)) return NULL;
      if (check_rank(c) != 0) {
        atomic_store(w->stop, 1);
        return NULL;
      }
    }
    const int64_t done = atomic_fetch_add(w->done, cfg->pp) + cfg->pp;
    if (c->job->progress != NULL && w->from == 0)
      c->job->progress(c->job->ctx, done, w->items * cfg->pp);
  }
  return NULL;
}

static void add_results(zp_check_result *sum, const zp_check_result *r)
{
  sum->ranks += r->ranks;
  sum->ops += r->ops;
  for (int32_t k = 0; k < ZP_CHECK_KINDS; k++) sum->count[k] += r->count[k];
}

/* Runs the workers; the first one on this thread. */
static int run_workers(worker *w, int32_t n, zp_check_result *result, zp_error *err)
{
  pthread_t thread[64];
  int32_t started = 1;
  int status = 0;
  for (int32_t i = 0; i < n && status == 0; i++)
    if (open_worker(&w[i], n) != 0) status = w[i].err.status;
  for (; status == 0 && started < n; started++)
    if (pthread_create(&thread[started], NULL, work, &w[started]) != 0) break;
  if (status == 0) {
    work(&w[0]);
    for (int32_t i = 1; i < started; i++) pthread_join(thread[i], NULL);
    for (int32_t i = started; i < n; i++) work(&w[i]); /* no thread could be had: here, then */
  }
  for (int32_t i = 0; i < n; i++) {
    if (w[i].err.status != 0 && err->status == 0) *err = w[i].err;
    add_results(result, &w[i].result);
    close_worker(&w[i]);
  }
  return err->status;
}

/* The longest program and the largest stage, for the workers' buffers. */
static int measure(const zp_check_job *job, stage_info *stage, worker *w, zp_error *err)
{
  const zp_config *cfg = job->cfg;
  double every = 0;
  for (int32_t s = 0; s < cfg->pp; s++) {
    const zp_block_rank b = zp_block_of(cfg, job->replicas, zp_rank_of(cfg, (zp_coord){s, 0, 0}));
    const zp_layout *lay = &stage[s].lay;
    int64_t n, all = 0;
    if (build_stage(&b.cfg, s, &stage[s], err) != 0) return err->status;
    for (int32_t p = 0; p < ZP_PHASES; p++) {
      n = zp_rank_program_need(&b, lay, p);
      if (n > OPS_MAX)
        return zp_fail(err, ZP_E_REFUSED, -1,
                       "a program of stage %d has %lld ops; at most %lld "
                       "can be checked. Use larger buckets (bucket is %lld elements) or fewer "
                       "micro-batches.",
                       (int)s, (long long)n, (long long)OPS_MAX, (long long)cfg->bucket);
      if (n > w->c.cap_ops) w->c.cap_ops = n;
      all += n;
    }
    if (all > w->all_ops) w->all_ops = all;
    every += (double)all * cfg->dp * cfg->tp;
    w->layout_bytes += layout_bytes(cfg, lay->n_params);
    if (check_layout(&stage[s], err) != 0) return err->status;
    if (lay->n_params > w->most_entries) w->most_entries = lay->n_params;
    if (lay->n_flats > w->most_flats) w->most_flats = lay->n_flats;
    n = stage[s].first_bucket[lay->n_flats];
    if (n > w->most_buckets) w->most_buckets = n;
  }
  if (every <= (double)ALL_OPS_MAX) return 0;
  return zp_fail(err, ZP_E_REFUSED, -1,
                 "the programs of all %d ranks have up to %.3g ops, which take about %.0f minutes "
                 "of one core; at most %.3g are checked. Use larger buckets (bucket is %lld "
                 "elements), fewer micro-batches or a smaller dp.",
                 (int)zp_world(cfg), every, every * 45e-9 / 60, (double)ALL_OPS_MAX,
                 (long long)cfg->bucket);
}

int zp_check_all(const zp_check_job *job, zp_check_result *result, zp_error *err)
{
  const zp_config *cfg = job->cfg;
  const int64_t items = (int64_t)cfg->dp * cfg->tp;
  int32_t n = job->threads < 1 ? 1 : job->threads > 64 ? 64 : job->threads;
  if (n > items) n = (int32_t)items;
  stage_info *stage = calloc((size_t)cfg->pp, sizeof *stage);
  worker *w = calloc((size_t)n, sizeof *w);
  atomic_llong done = 0;
  atomic_int stop = 0;
  int status = 0;
  memset(result, 0, sizeof *result);
  err->status = ZP_OK;
  if (stage == NULL || w == NULL)
    status = zp_fail(err, ZP_E_MEMORY, -1, "no memory for %d stages", (int)cfg->pp);
  else status = measure(job, stage, &w[0], err);
  if (status == 0) status = choose_threads(job, &w[0], &n, err);
  for (int32_t i = n - 1; status == 0 && i >= 0; i--) {
    w[i] = w[0];
    w[i].c.cfg = cfg;
    w[i].c.stage = stage;
    w[i].c.result = &w[i].result;
    w[i].c.err = &w[i].err;
    w[i].from = items * i / n;
    w[i].to = items * (i + 1) / n;
    w[i].items = items;
    w[i].done = &done;
    w[i].stop = &stop;
  }
  if (status == 0) status = run_workers(w, n, result, err);
  free_stages(stage, cfg->pp);
  free(w);
  return status;
}
