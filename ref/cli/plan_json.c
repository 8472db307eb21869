/* `zeroproof plan --json`. */
#define _GNU_SOURCE
#include <jansson.h>
#include <stdio.h>

#include "../engine/comm.h"
#include "plan.h"

static json_t *config_json(const zp_config *cfg)
{
  return json_pack("{s:i, s:i, s:i, s:i, s:i, s:I, s:I, s:I, s:s, s:s, s:b, s:i, s:i, s:i}",
                   "pp", cfg->pp, "dp", cfg->dp, "tp", cfg->tp, "ep", cfg->ep, "stage", cfg->stage,
                   "micro_batches", (json_int_t)cfg->micro_batches, "bucket",
                   (json_int_t)cfg->bucket, "align", (json_int_t)cfg->align, "precision",
                   zp_precision_name(cfg->precision), "reduce", zp_reduce_name(cfg->reduce),
                   "dynamic_shapes", cfg->dynamic_shapes, "optgroups", cfg->optgroups, "tied_keys",
                   cfg->tied_keys, "entries", cfg->n_params);
}

static json_t *flats_json(const zp_plan_rank *p)
{
  json_t *list = json_array();
  for (int32_t k = 0; k < p->lay.n_flats; k++) {
    const zp_flat *f = &p->lay.flat[k];
    json_array_append_new(
        list, json_pack("{s:s, s:i, s:i, s:i, s:i, s:I, s:I, s:I, s:I}", "group",
                        zp_group_name(f->group), "members", f->members, "optgroup", f->optgroup,
                        "tied", f->tied, "use", f->use, "elements", (json_int_t)f->numel,
                        "capacity", (json_int_t)f->capacity, "buckets", (json_int_t)zp_buckets(f),
                        "shard", (json_int_t)zp_shard(f)));
  }
  return list;
}

static json_t *entries_json(const zp_options *o, const zp_config *cfg, const zp_plan_rank *p)
{
  json_t *list = json_array();
  for (int32_t i = 0; i < p->lay.n_params; i++) {
    const int32_t j = p->lay.first_param + i;
    json_array_append_new(
        list, json_pack("{s:i, s:s, s:I, s:i, s:I}", "entry", j, "name",
                        o->names != NULL ? o->names[j] : "", "numel",
                        (json_int_t)cfg->params[j].numel, "flat", p->lay.spot[i].flat, "start",
                        (json_int_t)p->lay.spot[i].start));
  }
  return list;
}

static json_t *ops_json(const zp_plan_rank *p)
{
  json_t *list = json_array();
  for (int64_t i = 0; i < p->n; i++) {
    const zp_op *op = &p->op[i];
    if (op->kind < ZP_OP_FIRST_COMM) continue;
    json_array_append_new(
        list, json_pack("{s:I, s:[I,I], s:s, s:s, s:s, s:i, s:s, s:s, s:i, s:i, s:I, s:I, s:I, "
                        "s:I}", "position", (json_int_t)i, "clock", (json_int_t)op->clock_t,
                        (json_int_t)op->clock_i, "op", zp_op_name(op->kind), "what",
                        zp_what_name(op->what), "group", zp_group_name(op->group), "key", op->key,
                        "dtype", op->dtype < 0 ? "" : zp_dtype_name(op->dtype), "redop",
                        zp_redop_name(op->redop), "root", op->root, "flat", op->flat, "bucket",
                        (json_int_t)op->bucket, "count", (json_int_t)op->count, "mb",
                        (json_int_t)op->mb, "recv_mb", (json_int_t)op->recv_mb));
  }
  return list;
}

static json_t *rank_json(const zp_options *o, const zp_config *cfg, const zp_plan_rank *p,
                         int32_t ledger)
{
  json_t *groups = json_object(), *rank;
  for (int32_t g = 0; g < ZP_GROUPS; g++)
    if (p->ledger[g].ops > 0)
      json_object_set_new(groups, zp_group_name(g),
                          json_pack("{s:I, s:I}", "ops", (json_int_t)p->ledger[g].ops, "bytes",
                                    (json_int_t)p->ledger[g].bytes));
  rank = json_pack("{s:i, s:i, s:i, s:i, s:I, s:I, s:o, s:o, s:o}", "rank", p->rank, "pp", p->at.pp,
                   "dp", p->at.dp, "tp", p->at.tp, "ops", (json_int_t)p->n, "alive",
                   (json_int_t)zp_alive(cfg->pp, cfg->micro_batches, p->at.pp), "flats",
                   flats_json(p), "entries", entries_json(o, cfg, p), "ledger", groups);
  json_object_set_new(rank, "memory",
                      json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "parameters",
                                (json_int_t)p->memory.params, "window",
                                (json_int_t)p->memory.window, "slots", (json_int_t)p->memory.slots,
                                "reduced", (json_int_t)p->memory.reduced, "mean",
                                (json_int_t)p->memory.mean, "state", (json_int_t)p->memory.state,
                                "scratch", (json_int_t)p->memory.scratch, "program",
                                (json_int_t)p->memory.program, "total",
                                (json_int_t)p->memory.total));
  if (ledger) json_object_set_new(rank, "communications", ops_json(p));
  return rank;
}

int zp_plan_json(const zp_options *o, const zp_config *cfg, int32_t rank, int32_t ledger)
{
  json_t *root = json_object(), *list = json_array();
  const int32_t n = rank >= 0 ? 1 : cfg->pp;
  int code = 0;
  for (int32_t s = 0; s < n && code == 0; s++) {
    zp_plan_rank p;
    code = zp_plan_rank_open(o, cfg, rank >= 0 ? rank : zp_rank_of(cfg, (zp_coord){s, 0, 0}), &p);
    if (code == 0) json_array_append_new(list, rank_json(o, cfg, &p, ledger));
    zp_plan_rank_close(&p);
  }
  json_object_set_new(root, "config", config_json(cfg));
  json_object_set_new(root, "ranks", json_integer(zp_world(cfg)));
  json_object_set_new(root, rank >= 0 ? "rank" : "first_rank_of_each_stage", list);
  if (code == 0 && (json_dumpf(root, stdout, JSON_INDENT(1)) != 0 || putchar('\n') == EOF))
    code = ZP_EXIT_ENVIRONMENT;
  json_decref(root);
  return code;
}
