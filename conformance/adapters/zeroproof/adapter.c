#define _GNU_SOURCE
#include "adapter.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../../ref/engine/build_info.h"
#include "../../../ref/verify/memory_checkpoint.h"
#include "../../../ref/verify/observe.h"
#include "../../cases/cases.h"
#include "answer.h"
#include "ledger.h"

/* Axes and their values: conformance/ADAPTER.md, "hello". */
static const char supports[] =
    "{\"zero\": [0, 1, 2], \"dp\": [1, 2, 3, 4, 5, 8], \"pp\": [1, 2, 3], \"tp\": [1, 2],"
    " \"sequence\": [\"no\", \"yes\"],"
    " \"ep\": [1, 2], \"cp\": [1, 2], \"etp\": [\"tp\", \"one\"], \"micro_batches\": [1, 2, 3, 4], "
    "\"steps\": [1, 2, 3, 4],"
    " \"precision\": [\"fp32\", \"bf16\", \"fp16\"], \"dtypes\": [\"same\", \"mixed\"],"
    " \"accumulate\": [\"same\", \"fp32\"],"
    " \"communicate\": [\"same\", \"fp32\"], \"optimizer\": [\"sgd\", \"momentum\", \"adamw\"],"
    " \"scale\": [\"one\", \"unit\", \"static\", \"dynamic\"],"
    " \"overflow\": [\"no\", \"yes\", \"sum\"],"
    " \"clip\": [\"off\", \"loose\", \"binding\"], \"groups\": [1, 2, 3],"
    " \"stages_groups\": [\"equal\", \"unequal\", \"idle\", \"frozen\", \"replicas\"],"
    " \"magnitude\": [\"plain\", \"huge\", \"minute\"],"
    " \"sizes\": [\"plain\", \"tiny\", \"odd\", \"large\", \"empty\"],"
    " \"bucket\": [\"large\", \"small\"], \"unused\": [\"no\", \"some\", \"often\", \"onesided\"],"
    " \"frozen\": [\"no\", \"yes\", \"tied\"], \"tied\": [\"no\", \"stage\", \"stages\", \"keys\"],"
    " \"messages\": [\"tensor\", \"tuple\", \"varying\", \"dynamic\"],"
    " \"rates\": [\"constant\", \"changing\"], \"start\": [\"same\", \"differ\"],"
    " \"reload\": [\"no\", \"same\", \"zero\", \"dp\"], \"replicas\": [1, 2]}";

/* Why values of axes are missing. */
static const char lacks[] =
    "{\"backwards\": \"a backward computes all gradients of its micro-batch\","
    " \"groups_vary\": \"a plan is made once, of all groups\"}";

typedef struct adapter {
  const zp_backend *backend;
  const zp_fault *fault;
  FILE *out;
} adapter;

/* The backend's options and their words. */
static json_t *options_of(const zp_backend *backend)
{
  json_t *all = json_object();
  for (int32_t i = 0; i < ZP_BACKEND_OPTIONS && backend->option[i].name != NULL; i++) {
    const zp_backend_option *o = &backend->option[i];
    json_t *words = json_array();
    for (int32_t k = 0; k < ZP_BACKEND_WORDS && o->word[k] != NULL; k++)
      json_array_append_new(words, json_string(o->word[k]));
    json_object_set_new(all, o->name, words);
  }
  return all;
}

/* A mutant has a name of its own, so that no list of known failures applies to it. */
static json_t *hello(const adapter *a)
{
  char name[96];
  snprintf(name, sizeof name, "zeroproof %s%s%s", a->backend->name,
           a->fault != NULL ? " with " : "", a->fault != NULL ? a->fault->name : "");
  return json_pack("{s:i, s:s, s:s, s:i, s:[s,s,s,s,s,s,s,s,s,s], s:o, s:o, s:o}", "protocol", 1,
                   "name", name, "version", zp_build().version, "level", 2, "returns", "norm",
                   "scale", "skipped", "loss", "parameters", "masters", "gradients", "moments1",
                   "moments2", "ledger", "supports", json_loads(supports, 0, NULL), "lacks",
                   json_loads(lacks, 0, NULL), "options", options_of(a->backend));
}

/* ---- One case -------------------------------------------------------------------------------- */

typedef struct answer {
  zp_publisher publisher;
  json_t *ranks; /* NULL: nothing is reported */
  zp_table *table;
  double lr[ZP_HYPER_GROUPS]; /* of the case */
} answer;

static void step_begins(void *ctx, int32_t rank, int32_t step)
{
  const answer *a = ctx;
  zp_conf_set_rates(a->table, a->lr, step);
  zp_publish_step(&a->publisher, rank, step);
}

static void issues(void *ctx, const zp_issued *issued)
{
  const answer *a = ctx;
  zp_publish(&a->publisher, issued);
}

static void rank_done(void *ctx, int32_t rank)
{
  const answer *a = ctx;
  zp_publish_end(&a->publisher, rank);
}

static json_t *steps_of(const answer *a, int32_t rank)
{
  return json_object_get(json_array_get(a->ranks, (size_t)rank), "steps");
}

static void loaded(void *ctx, const zp_rank_view *view)
{
  json_array_append_new(steps_of(ctx, view->rank), zp_answer_loaded(view));
}

static void stepped(void *ctx, const zp_rank_view *view)
{
  const answer *a = ctx;
  if (a->ranks == NULL) return;
  json_array_append_new(steps_of(a, view->rank), zp_answer_step(view, a->table));
}

static uint64_t seed_of(const char *id)
{
  uint64_t h = 0xcbf29ce484222325u;
  for (; *id; id++) h = (h ^ (uint8_t)*id) * 0x100000001b3u;
  return h;
}

/* Index of the option's word, or -1. */
static int32_t word_of(const zp_backend_option *o, const char *word)
{
  for (int32_t k = 0; word != NULL && k < ZP_BACKEND_WORDS && o->word[k] != NULL; k++)
    if (strcmp(o->word[k], word) == 0) return k;
  return -1;
}

/* The case's word for each of the backend's options, the first one where it has none. 0, or -1 with
 * an option or word that the backend does not have. */
static int choose_options(const zp_backend *backend, const json_t *options, zp_observed_run *run,
                          char *why, size_t cap)
{
  size_t known = 0;
  for (int32_t i = 0; i < ZP_BACKEND_OPTIONS && backend->option[i].name != NULL; i++) {
    const zp_backend_option *o = &backend->option[i];
    const json_t *word = json_object_get(options, o->name);
    const int32_t k = word == NULL ? 0 : word_of(o, json_string_value(word));
    known += word != NULL;
    if (k < 0) {
      snprintf(why, cap, "option '%s' has a value that the engine %s does not have", o->name,
               backend->name);
      return -1;
    }
    run->option[i] = o->word[k];
  }
  if (known == json_object_size(options)) return 0;
  snprintf(why, cap, "the case names an option that the engine %s does not have", backend->name);
  return -1;
}

/* Is this the word of the backend's option, if it has the option? */
static int has_word(const zp_backend *backend, const zp_observed_run *run, const char *name,
                    const char *word)
{
  const char *chosen = zp_observed_option(backend, run, name);
  return chosen != NULL && strcmp(chosen, word) == 0;
}

/* What the options say of hyperparameters. The table's gradients are the same numbers in either
 * dtype; partial gathers need entries that start at multiples of 128 bytes (STRM-11). */
static void choose_hyper(const zp_backend *backend, const zp_observed_run *run, zp_table *table)
{
  table->hyper.fp32_gradients = has_word(backend, run, "gradients", "fp32");
  table->hyper.slots = has_word(backend, run, "slots", "least");
  table->hyper.entry_align = has_word(backend, run, "gathers", "partial") ? 64 : 1;
}

static json_t *unsupported(const char *why)
{
  return json_pack("{s:s, s:s}", "status", "unsupported", "message", why);
}

/* Runs a table's steps and publishes their ledgers in a folder. 0, or a status in *err. */
static int observe(const adapter *a, zp_observed_run *run, answer *out, zp_table *table,
                   const char *folder, zp_error *err)
{
  const zp_workload work = zp_table_workload(table);
  out->table = table;
  zp_conf_get_rates(table, out->lr);
  run->cfg = &table->cfg;
  run->hyper = &table->hyper;
  run->work = &work;
  run->observer = (zp_observer){out, step_begins, issues, loaded, stepped, rank_done};
  if (zp_publisher_open(&out->publisher, &table->cfg, table->hyper.replicas, folder))
    zp_fail(err, ZP_E_FILE, -1, "a ledger cannot be written to %s", folder);
  else (void)a->backend->observe(run, err);
  /* the ranks of a mutant hang, as they would elsewhere: the suite must detect it */
  while (a->fault != NULL && err->status == ZP_E_DEADLOCK) pause();
  if (zp_publisher_close(&out->publisher))
    zp_fail(err, ZP_E_FILE, -1, "a ledger cannot be written to %s completely", folder);
  return err->status;
}

/* ---- Checkpoints ----------------------------------------------------------------------------- */

/* The first n elements of a list of the case, if it has one. */
static void truncate_list(json_t *c, const char *name, size_t n)
{
  json_t *all = json_object_get(c, name);
  while (json_array_size(all) > n) json_array_remove(all, n);
}

/* The steps before the checkpoint as a case of their own. NULL with the reason. */
static zp_table *table_before(const json_t *c, const json_t *reload, char *why, size_t cap)
{
  const json_int_t after = json_integer_value(json_object_get(reload, "after"));
  json_t *mine = json_deep_copy(c);
  zp_table *table;
  json_object_set(json_object_get(mine, "topology"), "dp", json_object_get(reload, "dp"));
  json_object_set(mine, "zero", json_object_get(reload, "zero"));
  json_object_set(mine, "micro_batches", json_object_get(reload, "micro_batches"));
  json_object_set_new(mine, "steps", json_integer(after));
  truncate_list(mine, "data", (size_t)after);
  truncate_list(mine, "rates", (size_t)after);
  json_object_del(mine, "either");
  table = zp_conf_read(mine, why, (int64_t)cap);
  json_decref(mine);
  return table;
}

/* Other first values: all must come from the checkpoint. */
static void change_first(zp_table *table)
{
  const zp_config *c = &table->cfg;
  for (int64_t i = 0; i < zp_table_first(table, c->n_params, 0, 0); i++)
    for (int64_t e = 0; table->first[i] != NULL && e < c->params[i / (c->tp * c->ep)].numel; e++)
      table->first[i][e] += 1;
}

/* Runs the steps before the checkpoint, which goes into *memory. */
static int run_before(const adapter *a, zp_observed_run run, zp_table *table,
                      zp_case_memory *memory, const char *folder, zp_error *err)
{
  zp_store store = zp_case_memory_store(memory);
  answer out = {.ranks = NULL};
  char name[4096] = "";
  if (folder != NULL) {
    snprintf(name, sizeof name, "%s/before", folder);
    if (mkdir(name, 0700) != 0)
      return zp_fail(err, ZP_E_FILE, -1, "the folder %s cannot be made", name);
  }
  run.steps = table->steps;
  run.save = &store;
  return observe(a, &run, &out, table, folder != NULL ? name : NULL, err);
}

/* Runs the case from a checkpoint, which the steps before it have saved. */
static int continue_run(const adapter *a, zp_observed_run *run, answer *out, zp_table *table,
                        zp_table *earlier, const char *folder, zp_error *err)
{
  zp_case_memory memory;
  zp_store store = zp_case_memory_store(&memory);
  if (zp_case_memory_open(&memory, &earlier->cfg) != 0)
    zp_fail(err, ZP_E_MEMORY, -1, "no memory for a checkpoint");
  else if (run_before(a, *run, earlier, &memory, folder, err) == 0) {
    change_first(table);
    run->load = &store;
    run->first = earlier->steps;
    run->steps = table->steps - earlier->steps;
    (void)observe(a, run, out, table, folder, err);
  }
  zp_case_memory_close(&memory);
  return err->status;
}

/* earlier: the steps before the checkpoint, or NULL. */
static json_t *run_table(const adapter *a, zp_table *table, zp_table *earlier,
                         const json_t *request)
{
  static zp_error err;
  char why[ZP_CONF_WHY];
  const json_t *c = json_object_get(request, "case");
  const char *folder = json_string_value(json_object_get(request, "ledgers"));
  const char *id = json_string_value(json_object_get(c, "id"));
  const char *etp = json_string_value(json_object_get(c, "etp"));
  const char *start = json_string_value(json_object_get(c, "start"));
  answer out = {.ranks = json_array()};
  zp_observed_run run = {
      .steps = table->steps, .seed = seed_of(id != NULL ? id : ""), .fault = a->fault};
  json_t *whole;
  run.cp = (int32_t)json_integer_value(json_object_get(c, "cp"));
  run.experts_sharded = etp != NULL && strcmp(etp, "one") == 0;
  run.start_differs = start != NULL && strcmp(start, "differ") == 0;
  run.scale_absent = json_is_false(json_object_get(json_object_get(c, "scale"), "explicit"));
  err.status = ZP_OK;
  err.text[0] = 0;
  if (choose_options(a->backend, json_object_get(c, "options"), &run, why, sizeof why) != 0) {
    json_decref(out.ranks);
    return unsupported(why);
  }
  choose_hyper(a->backend, &run, table);
  if (earlier != NULL) choose_hyper(a->backend, &run, earlier);
  for (int32_t q = 0; q < zp_world(&table->cfg); q++) {
    json_array_append_new(out.ranks, json_pack("{s:i, s:[]}", "rank", q, "steps"));
    for (int32_t s = 1; earlier != NULL && s < earlier->steps; s++)
      json_array_append_new(steps_of(&out, q), json_null());
  }
  if (earlier == NULL) (void)observe(a, &run, &out, table, folder, &err);
  else (void)continue_run(a, &run, &out, table, earlier, folder, &err);
  whole = err.status == ZP_OK ? json_pack("{s:s, s:O}", "status", "ok", "ranks", out.ranks)
                              : zp_answer_error(err.text);
  json_decref(out.ranks);
  return whole;
}

/* 1 if the number of optimizer groups differs by rank or step: a plan is made once, of all. */
static int groups_vary(const json_t *c, const zp_table *table)
{
  const char *word = json_string_value(json_object_get(c, "groups_vary"));
  int vary = word != NULL && strcmp(word, "no") != 0;
  for (int32_t g = 0; g < table->hyper.groups; g++) vary |= table->since[g] > 0;
  return vary;
}

static json_t *run_case(const adapter *a, const json_t *request)
{
  char why[ZP_CONF_WHY] = "no case";
  const json_t *c = json_object_get(request, "case"), *reload = json_object_get(c, "reload");
  zp_table *table = zp_conf_read(c, why, sizeof why), *earlier = NULL;
  json_t *out = NULL;
  if (table != NULL && reload != NULL) earlier = table_before(c, reload, why, sizeof why);
  if (earlier != NULL && earlier->steps >= table->steps)
    snprintf(why, sizeof why, "the case has no step after its checkpoint");
  else if (table != NULL && groups_vary(c, table))
    snprintf(why, sizeof why, "the number of optimizer groups differs by rank or step");
  else if (table != NULL && (reload == NULL || earlier != NULL))
    out = run_table(a, table, earlier, request);
  zp_table_free(earlier);
  zp_table_free(table);
  return out != NULL ? out : unsupported(why);
}

/* ---- The protocol ---------------------------------------------------------------------------- */

static int reply(const adapter *a, json_t *answer)
{
  const int bad = json_dumpf(answer, a->out, JSON_COMPACT) != 0 || putc('\n', a->out) == EOF;
  json_decref(answer);
  return bad || fflush(a->out) != 0 ? -1 : 0;
}

int zp_adapter_serve(const zp_backend *backend, const zp_fault *fault, FILE *in, FILE *out)
{
  const adapter a = {backend, fault, out};
  char *line = NULL;
  size_t cap = 0;
  int bye = 0, bad = 0;
  while (!bad && !bye && getline(&line, &cap, in) >= 0) {
    json_t *request = json_loads(line, 0, NULL);
    const char *what = json_string_value(json_object_get(request, "do"));
    if (what != NULL && strcmp(what, "hello") == 0) bad = reply(&a, hello(&a));
    else if (what != NULL && strcmp(what, "run") == 0) bad = reply(&a, run_case(&a, request));
    else if (what != NULL && strcmp(what, "bye") == 0) bye = 1;
    else bad = reply(&a, zp_answer_error("not a request of protocol 1"));
    json_decref(request);
  }
  free(line);
  return bad;
}
