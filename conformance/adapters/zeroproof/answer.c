#define _GNU_SOURCE
#include "answer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../cases/cases.h"

static json_t *hexes(const float *x, int64_t n, int32_t log2)
{
  json_t *list = json_array();
  for (int64_t i = 0; i < n; i++)
    json_array_append_new(list, zp_conf_hex(ldexp((double)x[i], log2)));
  return list;
}

static json_t *parameters(const zp_rank_view *r)
{
  json_t *all = json_object();
  for (int32_t i = 0; i < r->lay->n_params; i++) {
    const int32_t j = r->lay->first_param + i;
    const int64_t n = r->cfg->params[j].numel;
    float *wide = calloc((size_t)n + 1, sizeof *wide);
    char name[24];
    if (wide == NULL) continue;
    snprintf(name, sizeof name, "p%d", j);
    zp_widen_from(zp_entry_dtype(r->cfg, j), r->param(r->holder, i), 0, n, wide);
    json_object_set_new(all, name, hexes(wide, n, 0));
    free(wide);
  }
  return all;
}

/* Adds what bucket b of flat group k holds of each entry; log2: the numbers are multiplied by. */
static void add_bucket(const zp_rank_view *r, json_t *all, int32_t k, int64_t b, int32_t what,
                       int32_t log2)
{
  const zp_block_rank in = zp_block_of(r->cfg, r->replicas, r->rank);
  const zp_range p = zp_local_range(&in.cfg, r->lay, in.at, k, b);
  zp_piece g = zp_piece_next(r->cfg, r->lay, k, p, r->lay->n_params);
  for (; g.count > 0; g = zp_piece_next(r->cfg, r->lay, k, p, g.i)) {
    char name[24];
    json_t *runs;
    snprintf(name, sizeof name, "p%d", g.param);
    runs = json_object_get(all, name);
    if (runs == NULL) {
      runs = json_array();
      json_object_set_new(all, name, runs);
    }
    json_array_append_new(runs,
                          json_pack("[I, o]", (json_int_t)g.offset,
                                    hexes(r->held(r->holder, k, b, what) + g.in, g.count, log2)));
  }
}

/* What this rank's shards hold of each entry: {"p0": [[offset, [numbers]], …]}. */
static json_t *shards(const zp_rank_view *r, int32_t what, int32_t log2)
{
  json_t *all = json_object();
  for (int32_t k = 0; k < r->lay->n_flats; k++) {
    if (r->lay->flat[k].use != 0) continue;
    for (int64_t b = 0; b < zp_buckets(&r->lay->flat[k]); b++) add_bucket(r, all, k, b, what, log2);
  }
  return all;
}

/* What the forward of each micro-batch computed on this rank's stage. */
static json_t *losses(const zp_rank_view *r, const zp_table *table)
{
  json_t *all = json_array();
  for (int64_t m = 0; m < r->cfg->micro_batches; m++) {
    const int64_t g = m * r->cfg->dp + r->at.dp;
    const double loss = table->loss[zp_table_loss(table, r->at.pp, g, r->at.tp)];
    json_array_append_new(all, zp_conf_hex((double)(float)loss));
  }
  return all;
}

json_t *zp_answer_loaded(const zp_rank_view *r)
{
  return json_pack("{s:o, s:o, s:o, s:o, s:o}", "scale", zp_conf_hex(ldexp(1, r->next_log2_scale)),
                   "parameters", parameters(r), "masters", shards(r, ZP_WHAT_MASTER, 0), "moments1",
                   shards(r, ZP_WHAT_MOMENT1, 0), "moments2", shards(r, ZP_WHAT_MOMENT2, 0));
}

json_t *zp_answer_step(const zp_rank_view *r, const zp_table *table)
{
  json_t *step = zp_answer_loaded(r);
  json_object_update_new(step, json_pack("{s:o, s:b, s:o}", "norm", zp_conf_hex(r->norm), "skipped",
                                         r->skipped, "loss", losses(r, table)));
  if (!r->skipped)
    json_object_set_new(step, "gradients", shards(r, ZP_WHAT_GRADIENT, -r->log2_scale));
  return step;
}

json_t *zp_answer_error(const char *text)
{
  return json_pack("{s:s, s:s}", "status", "error", "message", text);
}
