/* `zeroproof plan --json`. */
#define _GNU_SOURCE
#include <jansson.h>
#include <stdio.h>

#include "../comm/comm.h"
#include "plan.h"

static json_t *config_json(const zp_options *o, const zp_config *cfg)
{
  return json_pack(
      "{s:i, s:i, s:i, s:i, s:i, s:i, s:I, s:I, s:I, s:I, s:i, s:s, s:s, s:b, s:b, s:i, s:i, s:i}",
      "pp", cfg->pp, "dp", cfg->dp, "tp", cfg->tp, "ep", cfg->ep, "replicas",
      zp_replicas(&o->hyper), "stage", cfg->stage, "micro_batches", (json_int_t)cfg->micro_batches,
      "bucket", (json_int_t)cfg->bucket, "align", (json_int_t)cfg->align, "entry_align",
      (json_int_t)zp_entry_align(o->hyper.entry_align, cfg->precision), "slots", o->hyper.slots,
      "precision", zp_precision_name(cfg->precision), "reduce", zp_reduce_name(cfg->reduce),
      "fp32_gradients", o->hyper.fp32_gradients, "dynamic_shapes", cfg->dynamic_shapes, "optgroups",
      cfg->optgroups, "tied_keys", cfg->tied_keys, "entries", cfg->n_params);
}

static json_t *flats_json(const zp_config *cfg, const zp_rank_plan *p)
{
  json_t *list = json_array();
  for (int32_t k = 0; k < p->lay.n_flats; k++) {
    const zp_flat *f = &p->lay.flat[k];
    json_array_append_new(
        list,
        json_pack("{s:s, s:i, s:i, s:s, s:i, s:i, s:I, s:I, s:I, s:I}", "group",
                  zp_group_name(f->group), "members", f->members, "optgroup", f->optgroup, "dtype",
                  zp_precision_name(zp_dtype_of(f->fp32, cfg->precision)), "tied", f->tied, "use",
                  f->use, "elements", (json_int_t)f->numel, "capacity", (json_int_t)f->capacity,
                  "buckets", (json_int_t)zp_buckets(f), "shard", (json_int_t)zp_shard(f)));
  }
  return list;
}

static json_t *entries_json(const zp_options *o, const zp_config *cfg, const zp_rank_plan *p)
{
  json_t *list = json_array();
  for (int32_t i = 0; i < p->lay.n_params; i++) {
    const int32_t j = p->lay.first_param + i;
    json_array_append_new(list,
                          json_pack("{s:i, s:s, s:I, s:i, s:I}", "entry", j, "name",
                                    o->names != NULL ? o->names[j] : "", "numel",
                                    (json_int_t)cfg->params[j].numel, "flat", p->lay.spot[i].flat,
                                    "start", (json_int_t)p->lay.spot[i].start));
  }
  return list;
}

static json_t *buckets_json(const zp_flat *f)
{
  json_t *list = json_array();
  for (int64_t b = 0; b < zp_buckets(f); b++)
    json_array_append_new(list, json_pack("{s:I, s:I, s:I, s:I, s:I}", "bucket", (json_int_t)b,
                                          "elements", (json_int_t)zp_bucket_numel(f, b), "padded",
                                          (json_int_t)zp_bucket_padded(f, b), "part",
                                          (json_int_t)zp_part(f, b), "shard_offset",
                                          (json_int_t)zp_shard_offset(f, b)));
  return list;
}

typedef struct runs {
  const zp_options *o;
  json_t *list;
} runs;

static void add_run(void *ctx, const zp_shard_run *r)
{
  runs *to = ctx;
  json_array_append_new(
      to->list, json_pack("{s:i, s:s, s:I, s:I, s:I, s:I}", "entry", r->entry, "name",
                          to->o->names != NULL ? to->o->names[r->entry] : "", "offset",
                          (json_int_t)r->offset, "count", (json_int_t)r->count, "bucket",
                          (json_int_t)r->bucket, "shard_offset", (json_int_t)r->shard_offset));
}

/* Which elements of which entry this rank owns. spec: PART-6 */
static json_t *shards_json(const zp_options *o, const zp_rank_plan *p)
{
  json_t *list = json_array();
  for (int32_t k = 0; k < p->lay.n_flats; k++) {
    runs to = {o, json_array()};
    zp_rank_plan_runs(p, k, add_run, &to);
    json_array_append_new(list, json_pack("{s:i, s:s, s:i, s:o, s:o}", "flat", k, "group",
                                          zp_group_name(p->lay.flat[k].group), "owner",
                                          zp_rank_plan_owner(p, k), "buckets",
                                          buckets_json(&p->lay.flat[k]), "runs", to.list));
  }
  return list;
}

static void append_ops(json_t *list, const zp_rank_plan *p, int32_t phase)
{
  for (int64_t i = 0; i < p->n; i++) {
    const zp_op *op = &p->op[i];
    if (op->kind < ZP_OP_FIRST_COMM) continue;
    json_array_append_new(
        list,
        json_pack("{s:s, s:I, s:[I,I], s:s, s:s, s:s, s:i, s:s, s:s, s:i, s:i, s:I, s:I, "
                  "s:I, s:I}",
                  "phase", zp_phase_name(phase), "position", (json_int_t)i, "clock",
                  (json_int_t)op->clock_t, (json_int_t)op->clock_i, "op", zp_op_name(op->kind),
                  "what", zp_what_name(op->what), "group", zp_group_name(op->group), "key", op->key,
                  "dtype", op->dtype < 0 ? "" : zp_dtype_name(op->dtype), "redop",
                  zp_redop_name(op->redop), "root", op->root, "flat", op->flat, "bucket",
                  (json_int_t)op->bucket, "count", (json_int_t)op->count, "mb", (json_int_t)op->mb,
                  "recv_mb", (json_int_t)op->recv_mb));
  }
}

/* Sums and, if wanted, ops of all phases; NULL after a message, with *code set. */
static json_t *ledger_json(const zp_options *o, zp_rank_plan *p, json_t *ops, int *code)
{
  json_t *list = json_array();
  zp_error err = {0};
  for (int32_t phase = 0; phase < ZP_PHASES; phase++) {
    if (zp_rank_plan_phase(p, phase, &err) != 0) {
      *code = zp_options_report(o, &err);
      json_decref(list);
      return NULL;
    }
    for (int32_t g = 0; g < ZP_ALL_GROUPS; g++)
      if (p->ledger[phase][g].ops > 0)
        json_array_append_new(list, json_pack("{s:s, s:s, s:I, s:I}", "phase", zp_phase_name(phase),
                                              "group", zp_group_name(g), "ops",
                                              (json_int_t)p->ledger[phase][g].ops, "bytes",
                                              (json_int_t)p->ledger[phase][g].bytes));
    if (ops != NULL) append_ops(ops, p, phase);
  }
  return list;
}

/* NULL after a message, with *code set. */
static json_t *rank_json(const zp_options *o, const zp_config *cfg, zp_rank_plan *p, int32_t ledger,
                         int *code)
{
  const int64_t step_ops = p->n; /* no program was written yet */
  json_t *ops = ledger ? json_array() : NULL, *rank;
  zp_device_memory m;
  char warning[256];
  json_t *groups = ledger_json(o, p, ops, code);
  if (groups == NULL) {
    json_decref(ops);
    return NULL;
  }
  rank = json_pack("{s:i, s:i, s:i, s:i, s:I, s:I, s:o, s:o, s:o}", "rank", p->rank, "pp", p->at.pp,
                   "dp", p->at.dp, "tp", p->at.tp, "ops", (json_int_t)step_ops, "alive",
                   (json_int_t)zp_alive(cfg->pp, cfg->micro_batches, p->at.pp), "flats",
                   flats_json(cfg, p), "entries", entries_json(o, cfg, p), "ledger", groups);
  json_object_set_new(rank, "memory",
                      json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "parameters",
                                (json_int_t)p->memory.params, "window",
                                (json_int_t)p->memory.window, "slots", (json_int_t)p->memory.slots,
                                "reduced", (json_int_t)p->memory.reduced, "mean",
                                (json_int_t)p->memory.mean, "state", (json_int_t)p->memory.state,
                                "scratch", (json_int_t)p->memory.scratch, "program",
                                (json_int_t)p->program, "total", (json_int_t)p->total));
  if (o->background_save)
    json_object_set_new(json_object_get(rank, "memory"), "background_save",
                        json_integer(p->snapshot));
  if (zp_device_memory_of(&p->block, &p->lay, &m) == 0)
    json_object_set_new(json_object_get(rank, "memory"), "device",
                        json_pack("{s:I, s:I, s:I, s:I}", "early", (json_int_t)m.early, "limbs",
                                  (json_int_t)m.limbs, "native", (json_int_t)m.native, "total",
                                  (json_int_t)zp_device_memory_total(&p->memory, &m)));
  if (zp_plan_warning(cfg, p, warning) != NULL)
    json_object_set_new(rank, "warning", json_string(warning));
  if (ops != NULL) json_object_set_new(rank, "communications", ops);
  return rank;
}

/* One rank at a time: all ranks of a large job would not fit memory. */
static int dump_rank(const zp_options *o, const zp_config *cfg, int32_t rank, int which,
                     int32_t ledger)
{
  zp_rank_plan p;
  zp_error err = {0};
  int code = zp_plan_open(&p, o, cfg, rank, &err) != 0 ? zp_options_report(o, &err) : 0;
  json_t *root = code == 0 ? rank_json(o, cfg, &p, ledger, &code) : NULL;
  if (root != NULL && which != ZP_PLAN_STAGES)
    json_object_set_new(root, "shard_map", shards_json(o, &p));
  if (root != NULL && json_dumpf(root, stdout, JSON_INDENT(1) | JSON_ENSURE_ASCII))
    code = ZP_EXIT_ENVIRONMENT;
  json_decref(root);
  zp_rank_plan_close(&p);
  return code;
}

int zp_plan_json(const zp_options *o, const zp_config *cfg, int32_t rank, int32_t ledger)
{
  const int which = rank >= 0 ? 0 : rank;
  const int32_t n = rank >= 0 ? 1 : which == ZP_PLAN_STAGES ? cfg->pp : zp_world(cfg);
  json_t *config = config_json(o, cfg);
  int code = 0;
  printf("{\"ranks\": %d,\n\"config\": ", (int)zp_world(cfg));
  if (json_dumpf(config, stdout, JSON_INDENT(1) | JSON_ENSURE_ASCII)) code = ZP_EXIT_ENVIRONMENT;
  json_decref(config);
  printf(",\n\"%s\": [\n", rank >= 0                 ? "rank"
                           : which == ZP_PLAN_STAGES ? "first_rank_of_each_stage"
                                                     : "all_ranks");
  for (int32_t i = 0; i < n && code == 0; i++) {
    if (i > 0) printf(",\n");
    code = dump_rank(o, cfg,
                     rank >= 0                 ? rank
                     : which == ZP_PLAN_STAGES ? zp_rank_of(cfg, (zp_coord){i, 0, 0})
                                               : i,
                     which, ledger);
  }
  if (code == 0 && puts("\n]}") == EOF) code = ZP_EXIT_ENVIRONMENT;
  return code;
}
