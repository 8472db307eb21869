/* zeroproof adapter: an engine behind the conformance suite's protocol (conformance/ADAPTER.md).
 * With --fault it is a mutant, which the suite must catch. */
#define _GNU_SOURCE
#include "adapter.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../engine/build_info.h"
#include "commands.h"
#include "options.h"
#include "sim_fault.h"

/* Axes and their values: conformance/ADAPTER.md, "hello". */
static const char supports[] =
    "{\"zero\": [0, 1, 2], \"dp\": [1, 2, 3, 4, 5, 8], \"pp\": [1, 2, 3], \"tp\": [1, 2],"
    " \"ep\": [1, 2], \"micro_batches\": [1, 2, 3, 4], \"steps\": [1, 2, 3, 4],"
    " \"precision\": [\"fp32\", \"bf16\", \"fp16\"], \"accumulate\": [\"same\", \"fp32\"],"
    " \"communicate\": [\"same\", \"fp32\"], \"optimizer\": [\"sgd\", \"momentum\", \"adamw\"],"
    " \"scale\": [\"one\", \"static\", \"dynamic\"], \"overflow\": [\"no\", \"yes\"],"
    " \"clip\": [\"off\", \"loose\", \"binding\"], \"groups\": [1, 2, 3],"
    " \"stages_groups\": [\"equal\", \"unequal\", \"idle\"],"
    " \"magnitude\": [\"plain\", \"huge\", \"minute\"],"
    " \"sizes\": [\"plain\", \"tiny\", \"odd\", \"large\", \"empty\"],"
    " \"bucket\": [\"large\", \"small\"], \"unused\": [\"no\", \"some\", \"often\"],"
    " \"frozen\": [\"no\", \"yes\"], \"tied\": [\"no\", \"stage\", \"stages\", \"keys\"],"
    " \"messages\": [\"tensor\", \"tuple\", \"varying\", \"dynamic\"]}";

/* What the adapter has been started as. */
typedef struct adapter {
  const zp_engine *engine;
  const struct zp_fault *fault;
  zp_engine_args engine_args;
  const char *fault_name;
} adapter;

/* A mutant has a name of its own: nothing is known of it, nor what it must support. */
static json_t *hello(const adapter *a)
{
  char name[96];
  snprintf(name, sizeof name, "zeroproof %s%s%s", a->engine->name, a->fault != NULL ? " with " : "",
           a->fault != NULL ? a->fault_name : "");
  return json_pack("{s:i, s:s, s:s, s:i, s:[s,s,s,s,s,s,s], s:o, s:o}", "protocol", 1, "name", name,
                   "version", zp_build().version, "level", 2, "returns", "norm", "scale", "skipped",
                   "parameters", "masters", "gradients", "ledger", "supports",
                   json_loads(supports, 0, NULL), "options",
                   json_loads(a->engine->adapter->options, 0, NULL));
}

const char *zp_adapter_option(const zp_adapter_job *job, const char *name, const char *first)
{
  const char *word = json_string_value(json_object_get(job->options, name));
  return word != NULL ? word : first;
}

/* ---- One case -------------------------------------------------------------------------------- */

/* What comes of it. */
typedef struct answer {
  zp_publisher publisher;
  json_t *ranks;
} answer;

static void begun(void *ctx, int32_t rank, int32_t step)
{
  const answer *a = ctx;
  zp_publish_step(&a->publisher, rank, step);
}

static void enters(void *ctx, zp_rank *r, const zp_op *op)
{
  const answer *a = ctx;
  zp_publish(&a->publisher, r, op);
}

static void ended(void *ctx, int32_t rank)
{
  const answer *a = ctx;
  zp_publish_end(&a->publisher, rank);
}

static void stepped(void *ctx, const zp_rank *r)
{
  const answer *a = ctx;
  json_array_append_new(json_object_get(json_array_get(a->ranks, (size_t)r->rank), "steps"),
                        zp_answer_step(r));
}

static uint64_t seed_of(const char *id)
{
  uint64_t h = 0xcbf29ce484222325u;
  for (; *id; id++) h = (h ^ (uint8_t)*id) * 0x100000001b3u;
  return h;
}

static json_t *run_given(const adapter *a, zp_given *given, const json_t *request)
{
  static zp_error err;
  const json_t *c = json_object_get(request, "case");
  const char *folder = json_string_value(json_object_get(request, "ledgers"));
  const char *id = json_string_value(json_object_get(c, "id"));
  answer out = {{NULL, NULL, 0}, json_array()};
  const zp_adapter_job job = {.given = given,
                              .options = json_object_get(c, "options"),
                              .seed = seed_of(id != NULL ? id : ""),
                              .fault = a->fault,
                              .ctx = &out,
                              .begun = begun,
                              .enters = enters,
                              .ended = ended,
                              .stepped = stepped};
  json_t *whole;
  err.status = ZP_OK;
  err.text[0] = 0;
  for (int32_t q = 0; q < zp_world(&given->cfg); q++)
    json_array_append_new(out.ranks, json_pack("{s:i, s:[]}", "rank", q, "steps"));
  if (zp_publisher_open(&out.publisher, &given->cfg, folder))
    zp_fail(&err, ZP_E_FILE, -1, "a ledger cannot be written to %s", folder);
  else (void)a->engine->adapter->run(&job, &err);
  /* a mutant's ranks wait for ever, as they would elsewhere: the suite is to see it */
  while (a->fault != NULL && err.status == ZP_E_DEADLOCK) pause();
  zp_publisher_close(&out.publisher);
  whole = err.status == ZP_OK ? json_pack("{s:s, s:O}", "status", "ok", "ranks", out.ranks)
                              : zp_answer_error(err.text);
  json_decref(out.ranks);
  return whole;
}

static json_t *run_case(const adapter *a, const json_t *request)
{
  char why[ZP_CONF_WHY] = "no case";
  zp_given *n = zp_conf_read(json_object_get(request, "case"), why, sizeof why);
  json_t *out;
  if (n == NULL) return json_pack("{s:s, s:s}", "status", "unsupported", "message", why);
  out = run_given(a, n, request);
  zp_given_free(n);
  return out;
}

/* ---- Ref ------------------------------------------------------------------------------------- */

typedef struct ref_run {
  const zp_adapter_job *job;
  zp_fault_state planted;
} ref_run;

/* A rank tells what it is about to enter, as the fault has left it. */
static void before_op(void *ctx, zp_rank *r, zp_op *op)
{
  ref_run *run = ctx;
  if (run->job->fault != NULL && run->job->fault->before != NULL)
    run->job->fault->before(&run->planted, r, op);
  if (r->err->status == ZP_OK) run->job->enters(run->job->ctx, r, op);
}

static void after_op(void *ctx, zp_rank *r, const zp_op *op)
{
  ref_run *run = ctx;
  if (run->job->fault != NULL && run->job->fault->after != NULL)
    run->job->fault->after(&run->planted, r, op);
}

static int run_sim(const zp_adapter_job *job, zp_sim *sim, zp_error *err)
{
  int bad = zp_sim_run(sim, ZP_PHASE_INIT, err);
  for (int32_t s = 0; s < job->given->steps && !bad; s++) {
    for (int32_t q = 0; q < zp_sim_world(sim); q++) job->begun(job->ctx, q, s);
    bad = zp_sim_run(sim, ZP_PHASE_STEP, err);
    for (int32_t q = 0; q < zp_sim_world(sim) && !bad; q++)
      job->stepped(job->ctx, zp_sim_rank(sim, q));
  }
  for (int32_t q = 0; q < zp_sim_world(sim); q++) {
    const zp_rank *r = zp_sim_rank(sim, q);
    if (r->pc == r->length[r->phase]) job->ended(job->ctx, q);
  }
  return err->status;
}

static int run_ref(const zp_adapter_job *job, zp_error *err)
{
  ref_run run = {.job = job};
  const zp_hook hook = {&run, before_op, after_op};
  const zp_workload work = zp_given_workload(job->given);
  zp_sim *sim;
  if (strcmp(zp_adapter_option(job, "sums", "exact"), "ordered") == 0)
    job->given->cfg.reduce = ZP_ORDERED;
  sim = zp_sim_open(&job->given->cfg, &job->given->hyper, &work, err);
  if (sim == NULL) return err->status;
  zp_fault_clear(&run.planted);
  if (job->fault != NULL) zp_fault_plant(&run.planted, job->fault, sim);
  zp_sim_hook(sim, &hook);
  (void)run_sim(job, sim, err);
  zp_sim_close(sim);
  zp_fault_free(&run.planted);
  return err->status;
}

const zp_adapter_side zp_adapter_ref = {
    .options = "{\"sums\": [\"exact\", \"ordered\"]}",
    .run = run_ref,
};

/* ---- The protocol ---------------------------------------------------------------------------- */

static int say(json_t *what)
{
  const int bad = json_dumpf(what, stdout, JSON_COMPACT) != 0 || putchar('\n') == EOF;
  json_decref(what);
  return bad || fflush(stdout) != 0 ? ZP_EXIT_ENVIRONMENT : 0;
}

enum { KEY_FAULT = 0x6000 };

static const struct argp_option options[] = {
    {"fault", KEY_FAULT, "NAME", 0,
     "plant a historic bug, which the suite must catch; `zeroproof sim --fault list` lists them",
     0},
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
  adapter *a = state->input;
  if (key == ARGP_KEY_INIT) state->child_inputs[0] = &a->engine_args;
  if (key != KEY_FAULT) return key == ARGP_KEY_INIT ? 0 : ARGP_ERR_UNKNOWN;
  a->fault_name = arg;
  return 0;
}

static const struct argp_child children[] = {{&zp_engine_child, 0, NULL, 0}, {NULL, 0, NULL, 0}};

static const struct argp argp = {
    options,
    parse,
    NULL,
    "Puts an engine behind the conformance suite's adapter protocol: one JSON object a line on "
    "standard input and output.\v"
    "Use: zeroproof check --adapter 'zeroproof adapter'. The protocol: conformance/ADAPTER.md.",
    children,
    NULL,
    NULL};

int zp_cmd_adapter(int argc, char **argv, const zp_engine *engine)
{
  adapter a = {.engine = engine};
  char *line = NULL;
  size_t cap = 0;
  int bye = 0;
  int code = zp_cli_parse(&argp, argc, argv, &a);
  if (code == 0) code = zp_engine_choose(engine, &a.engine_args, argc, argv);
  if (code != 0) return code;
  if (a.fault_name != NULL) a.fault = zp_engine_fault(engine, argv[0], a.fault_name);
  if (a.fault_name != NULL && a.fault == NULL) return ZP_EXIT_REFUSED;
  while (code == 0 && !bye && getline(&line, &cap, stdin) >= 0) {
    json_t *request = json_loads(line, 0, NULL);
    const char *what = json_string_value(json_object_get(request, "do"));
    if (what != NULL && strcmp(what, "hello") == 0) code = say(hello(&a));
    else if (what != NULL && strcmp(what, "run") == 0) code = say(run_case(&a, request));
    else if (what != NULL && strcmp(what, "bye") == 0) bye = 1;
    else code = say(zp_answer_error("not a request of protocol 1"));
    json_decref(request);
  }
  free(line);
  return code;
}
