/* zeroproof adapter: the reference engine behind the conformance suite's protocol
 * (conformance/ADAPTER.md). All ranks are simulated; each publishes what it is about to enter. */
#define _GNU_SOURCE
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../engine/build_info.h"
#include "../engine/comm.h"
#include "../engine/comm_sim.h"
#include "../engine/rank_internal.h"
#include "commands.h"
#include "conf.h"
#include "options.h"

/* Axes and their values: conformance/ADAPTER.md, "hello". */
static const char supports[] =
    "{\"zero\": [0, 1, 2], \"dp\": [1, 2, 3, 4, 5, 8], \"pp\": [1, 2, 3], \"tp\": [1, 2],"
    " \"ep\": [1, 2], \"micro_batches\": [1, 2, 3, 4], \"steps\": [1, 2, 3, 4],"
    " \"precision\": [\"fp32\", \"bf16\", \"fp16\"], \"accumulate\": [\"same\", \"fp32\"],"
    " \"communicate\": [\"same\", \"fp32\"], \"optimizer\": [\"sgd\", \"momentum\", \"adamw\"],"
    " \"scale\": [\"one\", \"static\", \"dynamic\"], \"overflow\": [\"no\", \"yes\"],"
    " \"clip\": [\"off\", \"loose\", \"binding\"], \"groups\": [1, 2, 3],"
    " \"stages_groups\": [\"equal\", \"unequal\"],"
    " \"sizes\": [\"plain\", \"tiny\", \"odd\", \"large\", \"empty\"],"
    " \"bucket\": [\"large\", \"small\"], \"unused\": [\"no\", \"some\", \"often\"],"
    " \"frozen\": [\"no\", \"yes\"], \"tied\": [\"no\", \"stage\", \"stages\", \"keys\"],"
    " \"messages\": [\"tensor\", \"tuple\", \"varying\", \"dynamic\"]}";

static json_t *hello(void)
{
  return json_pack("{s:i, s:s, s:s, s:i, s:[s,s,s,s,s,s,s], s:o}", "protocol", 1, "name",
                   "zeroproof ref", "version", zp_build().version, "level", 2, "returns", "norm",
                   "scale", "skipped", "parameters", "masters", "gradients", "ledger", "supports",
                   json_loads(supports, 0, NULL));
}

/* ---- Ledgers --------------------------------------------------------------------------------- */

typedef struct publisher {
  const zp_config *cfg;
  FILE **file; /* [world] */
} publisher;

static const char *redop_of(const zp_op *op)
{
  return op->redop == ZP_RED_NONE ? NULL : "sum"; /* how it is rounded is not the ledger's */
}

static void members(const publisher *p, const zp_rank *r, const zp_op *op, char *text, size_t cap)
{
  const int32_t n = zp_group_size(p->cfg, op->group, op->key, r->at);
  size_t used = 0;
  for (int32_t i = 0; i < n && used < cap; i++)
    used += (size_t)snprintf(text + used, cap - used, "%s%d", i == 0 ? "" : ",",
                             zp_group_member(p->cfg, op->group, op->key, r->at, i));
}

/* A half of an exchange, or a meta message. batch: both halves are one grouped op. */
static void publish_half(const publisher *p, const zp_rank *r, const zp_op *op, const char *half,
                         const zp_message *m, int64_t batch)
{
  const int32_t peer = zp_group_member(p->cfg, ZP_GROUP_PP, -1, r->at, op->root);
  if (op->kind == ZP_OP_META) {
    fprintf(p->file[r->rank],
            "{\"op\":\"%s\",\"dtype\":\"int64\",\"count\":%d,\"peer\":%d,\"batch\":%lld,"
            "\"phase\":\"meta\"}\n",
            half, ZP_META_LONGS, peer, (long long)batch);
    return;
  }
  for (int32_t i = 0; m != NULL && i < m->n; i++)
    fprintf(p->file[r->rank],
            "{\"op\":\"%s\",\"dtype\":\"%s\",\"count\":%lld,\"peer\":%d,\"batch\":%lld,"
            "\"phase\":\"activations\"}\n",
            half, zp_dtype_name(m->t[i].dtype), (long long)zp_tensor_numel(&m->t[i]), peer,
            (long long)batch);
}

/* A description of what is received stands in the request only once it is made: from the model. */
static void publish_exchange(const publisher *p, zp_rank *r, const zp_op *op)
{
  const int32_t next = op->root > r->at.pp;
  zp_message m;
  if (op->mb >= 0) {
    if (next) (void)zp_rank_describe(r, r->at.pp, op->mb, &m);
    else (void)zp_rank_describe_gradient(r, r->at.pp - 1, op->mb, &m);
    publish_half(p, r, op, "send", &m, r->pc);
  }
  if (op->recv_mb >= 0) {
    if (next) (void)zp_rank_describe_gradient(r, r->at.pp, op->recv_mb, &m);
    else (void)zp_rank_describe(r, r->at.pp - 1, op->recv_mb, &m);
    publish_half(p, r, op, "recv", &m, r->pc);
  }
}

static void publish(void *ctx, zp_rank *r, zp_op *op)
{
  const publisher *p = ctx;
  char who[512];
  if (p->file == NULL || op->kind < ZP_OP_FIRST_COMM || op->kind == ZP_OP_CREATE) return;
  if (op->if_stepped && r->result.skipped) return;
  if (op->kind == ZP_OP_META || op->kind == ZP_OP_P2P) {
    publish_exchange(p, r, op);
  } else if (zp_group_size(p->cfg, op->group, op->key, r->at) > 1) {
    const char *redop = redop_of(op);
    members(p, r, op, who, sizeof who);
    fprintf(p->file[r->rank],
            "{\"op\":\"%s\",\"redop\":%s%s%s,\"dtype\":\"%s\",\"count\":%lld,\"group\":[%s],"
            "\"root\":%d,\"phase\":\"%s\"}\n",
            zp_op_name(op->kind), redop ? "\"" : "", redop ? redop : "null", redop ? "\"" : "",
            zp_dtype_name(op->dtype), (long long)op->count, who,
            op->root < 0 ? -1 : zp_group_member(p->cfg, op->group, op->key, r->at, op->root),
            zp_what_name(op->what));
  }
  fflush(p->file[r->rank]);
}

static int open_files(publisher *p, const char *folder, int32_t world)
{
  p->file = folder != NULL ? calloc((size_t)world, sizeof *p->file) : NULL;
  for (int32_t q = 0; p->file != NULL && q < world; q++) {
    char name[4096];
    snprintf(name, sizeof name, "%s/rank-%d.jsonl", folder, q);
    p->file[q] = fopen(name, "w");
    if (p->file[q] == NULL) return -1;
  }
  return 0;
}

static void close_files(publisher *p, int32_t world, int good)
{
  for (int32_t q = 0; p->file != NULL && q < world; q++) {
    if (p->file[q] == NULL) continue;
    if (good) fputs("{\"end\":true}\n", p->file[q]);
    fclose(p->file[q]);
  }
  free(p->file);
}

/* ---- Results --------------------------------------------------------------------------------- */

static json_t *hexes(const float *x, int64_t n, int32_t log2)
{
  json_t *list = json_array();
  for (int64_t i = 0; i < n; i++)
    json_array_append_new(list, zp_conf_hex(ldexp((double)x[i], log2)));
  return list;
}

static json_t *parameters(const zp_rank *r)
{
  json_t *all = json_object();
  for (int32_t i = 0; i < r->lay.n_params; i++) {
    const int32_t j = r->lay.first_param + i;
    const int64_t n = r->cfg->params[j].numel;
    float *wide = calloc((size_t)n + 1, sizeof *wide);
    char name[24];
    if (wide == NULL) continue;
    snprintf(name, sizeof name, "p%d", j);
    zp_widen_from(r->cfg->precision, r->param[i], 0, n, wide);
    json_object_set_new(all, name, hexes(wide, n, 0));
    free(wide);
  }
  return all;
}

/* What this rank's shards hold of each entry: {"p0": [[offset, [numbers]], …]}. */
static json_t *shards(const zp_rank *r, int32_t what, int32_t log2)
{
  json_t *all = json_object();
  for (int32_t k = 0; k < r->lay.n_flats; k++) {
    if (r->lay.flat[k].use != 0) continue;
    for (int64_t b = 0; b < zp_buckets(&r->lay.flat[k]); b++) {
      const zp_range p = zp_rank_range(r, k, b);
      int32_t i = r->lay.n_params;
      zp_piece g;
      while (zp_next_piece(r, k, p, &i, &g)) {
        char name[24];
        json_t *runs;
        snprintf(name, sizeof name, "p%d", g.param);
        runs = json_object_get(all, name);
        if (runs == NULL) {
          runs = json_array();
          json_object_set_new(all, name, runs);
        }
        json_array_append_new(
            runs, json_pack("[I, o]", (json_int_t)g.offset,
                            hexes(zp_array_of(r, k, what) + p.at + g.in, g.count, log2)));
      }
    }
  }
  return all;
}

static json_t *step_json(const zp_rank *r)
{
  double norm;
  json_t *step;
  memcpy(&norm, &r->result.norm_f64, sizeof norm);
  step = json_pack("{s:o, s:o, s:b, s:o, s:o}", "norm", zp_conf_hex(norm), "scale",
                   zp_conf_hex(ldexp(1, r->scaler.log2_scale)), "skipped", r->result.skipped,
                   "parameters", parameters(r), "masters", shards(r, ZP_WHAT_MASTER, 0));
  if (!r->result.skipped)
    json_object_set_new(step, "gradients", shards(r, ZP_WHAT_GRADIENT, -r->result.log2_scale));
  return step;
}

static json_t *failure(const char *text)
{
  return json_pack("{s:s, s:s}", "status", "error", "message", text);
}

static json_t *run_steps(zp_sim *sim, const publisher *p, int32_t steps, zp_error *err)
{
  json_t *ranks = json_array();
  for (int32_t q = 0; q < zp_sim_world(sim); q++)
    json_array_append_new(ranks, json_pack("{s:i, s:[]}", "rank", q, "steps"));
  int bad = zp_sim_run(sim, ZP_PHASE_INIT, err);
  for (int32_t s = 0; s < steps && !bad; s++) {
    for (int32_t q = 0; p->file != NULL && q < zp_sim_world(sim); q++)
      fprintf(p->file[q], "{\"step\":%d}\n", s);
    bad = zp_sim_run(sim, ZP_PHASE_STEP, err);
    for (int32_t q = 0; q < zp_sim_world(sim) && !bad; q++)
      json_array_append_new(json_object_get(json_array_get(ranks, (size_t)q), "steps"),
                            step_json(zp_sim_rank(sim, q)));
  }
  if (!bad) return json_pack("{s:s, s:o}", "status", "ok", "ranks", ranks);
  json_decref(ranks);
  return failure(err->text);
}

static json_t *run_case(const json_t *request)
{
  char why[ZP_CONF_WHY] = "no case";
  const char *folder = json_string_value(json_object_get(request, "ledgers"));
  zp_given *n = zp_conf_read(json_object_get(request, "case"), why, sizeof why);
  static zp_error err;
  publisher p = {NULL, NULL};
  const zp_hook hook = {&p, publish, NULL};
  json_t *out;
  if (n == NULL) return json_pack("{s:s, s:s}", "status", "unsupported", "message", why);
  const zp_workload work = zp_given_workload(n);
  const int32_t world = n->cfg.pp * n->cfg.dp * n->cfg.tp;
  p.cfg = &n->cfg;
  err.status = ZP_OK;
  err.text[0] = 0;
  zp_sim *sim = zp_sim_open(&n->cfg, &n->hyper, &work, &err);
  if (sim == NULL) out = failure(err.text);
  else if (open_files(&p, folder, world)) out = failure("a ledger cannot be written");
  else {
    zp_sim_hook(sim, &hook);
    out = run_steps(sim, &p, n->steps, &err);
  }
  close_files(&p, world, err.status == ZP_OK);
  zp_sim_close(sim);
  zp_given_free(n);
  return out;
}

static int answer(json_t *what)
{
  const int bad = json_dumpf(what, stdout, JSON_COMPACT) != 0 || putchar('\n') == EOF;
  json_decref(what);
  return bad || fflush(stdout) != 0 ? ZP_EXIT_ENVIRONMENT : 0;
}

static const struct argp argp = {
    NULL,
    NULL,
    NULL,
    "Puts the reference engine behind the conformance suite's adapter protocol: one JSON object a "
    "line on standard input and output.\v"
    "Use: zeroproof check --adapter 'zeroproof adapter'. The protocol: conformance/ADAPTER.md.",
    NULL,
    NULL,
    NULL};

int zp_cmd_adapter(int argc, char **argv, const zp_engine *engine)
{
  (void)engine;
  char *line = NULL;
  size_t cap = 0;
  int code = zp_cli_parse(&argp, argc, argv, NULL);
  while (code == 0 && getline(&line, &cap, stdin) >= 0) {
    json_t *request = json_loads(line, 0, NULL);
    const char *what = json_string_value(json_object_get(request, "do"));
    if (what != NULL && strcmp(what, "hello") == 0) code = answer(hello());
    else if (what != NULL && strcmp(what, "run") == 0) code = answer(run_case(request));
    else if (what != NULL && strcmp(what, "bye") == 0) break;
    else code = answer(failure("not a request of protocol 1"));
    json_decref(request);
  }
  free(line);
  return code;
}
