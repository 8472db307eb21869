/* zeroproof train: a byte-level transformer on text, simulated in this process or one rank of an
 * MPI job. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "../engine/job.h"
#include "../model/text.h"
#include "commands.h"
#include "plan.h"
#include "train.h"

enum {
  KEY_DATA = 0x2000,
  KEY_LAYERS,
  KEY_D_MODEL,
  KEY_HEADS,
  KEY_CONTEXT,
  KEY_BATCH,
  KEY_VERIFY,
  KEY_PLOT,
  KEY_SAVE,
  KEY_LOAD,
  KEY_EVERY,
  KEY_VARY,
  KEY_TUPLE,
  KEY_SAMPLE
};

/* dp · M of the default: 12 splits for dp 1, 2, 3, 4, 6 and 12. */
enum { GLOBAL_MICRO_BATCHES = 12, STEPS = 60, SAMPLE = 200 };

static const struct argp_option options[] = {
    {"data", KEY_DATA, "FILE", 0, "text to train on, more may follow (the project's spec)", 0},
    {"verify", KEY_VERIFY, NULL, 0,
     "train serially and, under exact reduction, under other "
     "topologies too; compare all bits",
     0},
    {"plot", KEY_PLOT, "FILE.svg", 0, "draw the loss curve (gnuplot)", 0},
    {"sample", KEY_SAMPLE, "BYTES", 0, "how much text to sample at the end (200)", 0},
    {"save", KEY_SAVE, "DIR", 0, "write a checkpoint at the end", 0},
    {"save-every", KEY_EVERY, "N", 0, "and every N steps", 0},
    {"load", KEY_LOAD, "DIR", 0, "continue from a checkpoint, of any topology", 0},
    {NULL, 0, NULL, 0, "Model:", 3},
    {"layers", KEY_LAYERS, "N", 0, "transformer blocks (4)", 3},
    {"d-model", KEY_D_MODEL, "N", 0, "width (48)", 3},
    {"heads", KEY_HEADS, "N", 0, "attention heads (4)", 3},
    {"context", KEY_CONTEXT, "BYTES", 0, "bytes a sequence (64)", 3},
    {"batch", KEY_BATCH, "N", 0, "sequences a micro-batch (2)", 3},
    {"vary-shapes", KEY_VARY, NULL, 0, "shapes vary by micro-batch (sets --dynamic-shapes)", 3},
    {"tuple", KEY_TUPLE, NULL, 0, "stages exchange (integer, float) tuples", 3},
    {0}};

static int32_t take_size(struct argp_state *state, const char *flag, const char *arg, int64_t lo,
                         int64_t hi)
{
  int64_t v = 0;
  if (zp_parse_count(arg, &v) != 0 || v < lo || v > hi)
    argp_error(state, "--%s: '%s' is not a whole number from %lld to %lld.", flag, arg,
               (long long)lo, (long long)hi);
  return (int32_t)v;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
  zp_train_args *a = state->input;
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = state->child_inputs[1] = &a->o;
    state->child_inputs[2] = &a->chosen;
    return 0;
  case KEY_DATA:
  case ARGP_KEY_ARG:
    if (key == ARGP_KEY_ARG && a->n_files == 0)
      argp_error(state, "'%s': name texts after --data.", arg);
    a->files[a->n_files++] = arg; /* room for argc of them */
    return 0;
  case KEY_VERIFY: a->verify = 1; return 0;
  case KEY_PLOT: a->plot = arg; return 0;
  case KEY_SAVE: a->save = arg; return 0;
  case KEY_LOAD: a->load = arg; return 0;
  case KEY_VARY: a->vary_shapes = 1; return 0;
  case KEY_TUPLE: a->tuple = 1; return 0;
  case KEY_EVERY: a->save_every = take_size(state, "save-every", arg, 1, 1 << 30); return 0;
  case KEY_SAMPLE: a->sample = take_size(state, "sample", arg, 0, 100000); return 0;
  case KEY_LAYERS: a->shape.layers = take_size(state, "layers", arg, 0, INT32_MAX); return 0;
  case KEY_D_MODEL: a->shape.d_model = take_size(state, "d-model", arg, 0, INT32_MAX); return 0;
  case KEY_HEADS: a->shape.heads = take_size(state, "heads", arg, 0, INT32_MAX); return 0;
  case KEY_CONTEXT: a->shape.context = take_size(state, "context", arg, 0, INT32_MAX); return 0;
  case KEY_BATCH: a->shape.batch = take_size(state, "batch", arg, 0, INT32_MAX); return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_child children[] = {{&zp_options_child, 0, NULL, 0},
                                             {&zp_hyper_child, 0, NULL, 0},
                                             {&zp_engine_child, 0, NULL, 0},
                                             {0}};
static const struct argp argp = {
    options,
    parse,
    "[--data FILE...]",
    "Trains a byte-level transformer under data and pipeline parallelism with ZeRO."
    "\vDefaults: pp 2, dp 2, stage 2, 12 micro-batches in all, bf16, exact reduction, 60 steps. "
    "Started by mpirun (or zeroproof launch), each process is one rank. "
    "Exit codes: 0 good, 1 --verify found a difference, 2 refused input, 3 the environment failed.",
    children,
    NULL,
    NULL};

/* ---- Setting up ------------------------------------------------------------------------------ */

static int given(const zp_options *o, int32_t opt)
{
  return o->by_flag[opt] || o->by_file[opt];
}

/* What `train` has other defaults for than the other commands. */
static void train_defaults(zp_train_args *a)
{
  zp_options *o = &a->o;
  zp_hyper *h = &o->hyper;
  if (!given(o, ZP_OPT_PP)) o->value[ZP_OPT_PP] = 2;
  if (!given(o, ZP_OPT_DP)) o->value[ZP_OPT_DP] = 2;
  if (!given(o, ZP_OPT_STEPS)) o->value[ZP_OPT_STEPS] = STEPS;
  if (!given(o, ZP_OPT_MICRO_BATCHES) && GLOBAL_MICRO_BATCHES % o->value[ZP_OPT_DP] == 0)
    o->value[ZP_OPT_MICRO_BATCHES] = GLOBAL_MICRO_BATCHES / o->value[ZP_OPT_DP];
  if (a->vary_shapes) o->value[ZP_OPT_DYNAMIC_SHAPES] = 1;
  if (h->groups == 1 && !o->hyper_by_file[ZP_HYPER_OPTIMIZER]) {
    /* weight decay for matrices only: norms, biases and embeddings are not to shrink */
    if (!o->hyper_by_flag[ZP_HYPER_OPTIMIZER]) h->optim[0].lr = 6e-3;
    h->groups = ZP_GPT_OPTGROUPS;
    h->optim[1] = h->optim[2] = h->optim[0];
    h->optim[0].weight_decay = 0.01;
  }
}

static int check_args(const zp_train_args *a)
{
  const zp_options *o = &a->o;
  char why[256];
  if (o->value[ZP_OPT_TP] > 1 || o->value[ZP_OPT_EP] > 1)
    return zp_refuse(o,
                     "%s %lld: the transformer here is not split over tensor- or "
                     "expert-parallel ranks; use `zeroproof sim`, which runs any topology.",
                     o->value[ZP_OPT_TP] > 1 ? "--tp" : "--ep",
                     (long long)o->value[o->value[ZP_OPT_TP] > 1 ? ZP_OPT_TP : ZP_OPT_EP]);
  if (o->params != NULL)
    return zp_refuse(o, "params: train has its own parameter list; leave the field out, or use "
                        "`zeroproof sim`.");
  if (o->groups != NULL)
    return zp_refuse(o,
                     "groups: the transformer has %d optimizer groups, fixed; leave the option "
                     "out, or use `zeroproof sim`.",
                     ZP_GPT_OPTGROUPS);
  if (zp_gpt_shape_check(&a->shape, why, sizeof why) != 0) return zp_refuse(o, "%s", why);
  if (o->value[ZP_OPT_PP] > zp_gpt_max_pp(&a->shape))
    return zp_refuse(o,
                     "--pp: %lld is out of range; %d layers can be cut into 1 to %d stages. "
                     "Change --pp or --layers.",
                     (long long)o->value[ZP_OPT_PP], (int)a->shape.layers,
                     (int)zp_gpt_max_pp(&a->shape));
  if (o->value[ZP_OPT_STEPS] < 1 || o->value[ZP_OPT_STEPS] > 1000000)
    return zp_refuse(o, "--steps: %lld is out of range; allowed is 1 to 1000000.",
                     (long long)o->value[ZP_OPT_STEPS]);
  if (a->save_every > 0 && a->save == NULL) return zp_refuse(o, "--save-every: needs --save DIR.");
  return 0;
}

static int make_list(zp_train_args *a)
{
  zp_options *o = &a->o;
  o->n_params = zp_gpt_entries(&a->shape);
  o->params = calloc((size_t)o->n_params, sizeof *o->params);
  o->names = calloc((size_t)o->n_params, sizeof *o->names);
  if (o->params == NULL || o->names == NULL) return ZP_EXIT_ENVIRONMENT;
  zp_gpt_list(&a->shape, (int32_t)o->value[ZP_OPT_PP], o->params, o->names);
  o->optgroups = ZP_GPT_OPTGROUPS;
  o->tied_keys = ZP_GPT_TIED_KEYS;
  return 0;
}

/* Bytes that the workload keeps for activations, over all ranks: about 20 values of width d_model
 * and, for attention, a row per head, per layer and byte. */
static double activation_bytes(const zp_train_args *a, const zp_config *cfg)
{
  const zp_gpt_shape *g = &a->shape;
  const double layer = 20.0 * g->d_model + (double)g->heads * g->context;
  const double mb = 4.0 * g->batch * g->context * (layer * g->layers + 3.0 * ZP_GPT_VOCAB);
  return mb * cfg->dp * (double)zp_alive(cfg->pp, cfg->micro_batches, 0);
}

/* ---- Training -------------------------------------------------------------------------------- */

/* Everything of one run of the command. */
typedef struct session {
  zp_train_args *a;
  zp_config cfg;
  zp_text text;
  zp_workload work;
  double entropy;
  zp_mpi *mpi;
  int32_t speaks; /* 1: this process prints */
  zp_trainer trainer;
  zp_outcome out;
  zp_verify *verify;
  json_t *doc, *steps;
  zp_error err;
} session;

static double as_double(uint64_t bits)
{
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static double loss_of(const zp_step_result *r)
{
  float x;
  memcpy(&x, &r->loss, sizeof x);
  return (double)x;
}

static void print_head(const session *s)
{
  const zp_config *c = &s->cfg;
  const zp_gpt_shape *g = &s->a->shape;
  printf("gpt: %d layers, width %d, %d heads, context %d: %lld parameters\n", (int)g->layers,
         (int)g->d_model, (int)g->heads, (int)g->context, (long long)zp_gpt_elements(g));
  printf("text: %s, %lld bytes, byte-unigram entropy %.3f nats\n", s->text.what,
         (long long)s->text.n, s->entropy);
  printf("pp %d × dp %d = %d ranks (%s), ZeRO stage %d, %lld micro-batches of %d sequences a rank, "
         "%s, %s reduction, buckets of %lld\n\n",
         (int)c->pp, (int)c->dp, (int)zp_world(c),
         s->mpi != NULL                ? "MPI"
         : s->a->engine->train != NULL ? "the CUDA twin on a simulated device, beside ref"
                                       : "simulated",
         (int)c->stage, (long long)c->micro_batches, (int)g->batch, zp_precision_name(c->precision),
         zp_reduce_name(c->reduce), (long long)c->bucket);
  printf("%6s  %9s  %11s  %12s  %7s  %6s  %12s\n", "step", "loss", "norm", "scale", "skipped",
         "comms", "bytes/rank");
}

static void print_step(const session *s, const zp_step_result *r)
{
  const double norm = as_double(r->norm_f64);
  if (s->a->o.json)
    json_array_append_new(
        s->steps, json_pack("{s:I, s:o, s:o, s:i, s:b, s:I, s:I}", "step", (json_int_t)r->step,
                            "loss", isfinite(loss_of(r)) ? json_real(loss_of(r)) : json_null(),
                            "norm", isfinite(norm) ? json_real(norm) : json_null(), "log2_scale",
                            r->log2_scale, "skipped", r->skipped, "communications",
                            (json_int_t)s->trainer.ops, "bytes", (json_int_t)s->trainer.bytes));
  else
    printf("%6lld  %9.5f  %11.5e  %12.6g  %7s  %6lld  %12lld\n", (long long)r->step, loss_of(r),
           norm, ldexp(1, r->log2_scale), r->skipped ? "yes" : "-", (long long)s->trainer.ops,
           (long long)s->trainer.bytes);
  if (!s->a->o.json) fflush(stdout);
}

static int save(session *s)
{
  const int status = zp_train_save(s->a, &s->trainer, &s->err);
  if (status == 0 && s->speaks && !s->a->o.json)
    printf("        saved in %s, continues at step %" PRId64 "\n", s->a->save,
           s->trainer.rank->step);
  return status;
}

/* The steps themselves. */
static int train(session *s)
{
  const zp_train_args *a = s->a;
  int status = zp_trainer_open(&s->trainer, &s->cfg, &a->o.hyper, &s->work, s->mpi, &s->err);
  if (status == 0 && a->load != NULL) status = zp_train_load(a, &s->trainer, &s->err);
  if (status != 0) return status;
  if (zp_outcome_open(&s->out, &s->cfg, s->trainer.rank->step, a->o.value[ZP_OPT_STEPS]) != 0)
    return zp_fail(&s->err, ZP_E_MEMORY, -1, "no memory for the outcome of the run");
  if (a->verify && s->speaks && s->mpi == NULL) {
    s->verify = zp_verify_start(a, &s->cfg, &s->work, &a->shape, s->out.first + s->out.steps);
    if (s->verify == NULL) return zp_fail(&s->err, ZP_E_MEMORY, -1, "no memory to verify");
  }
  for (int64_t i = 0; i < s->out.steps && status == 0; i++) {
    status = zp_trainer_run(&s->trainer, ZP_PHASE_STEP, &s->err);
    if (status != 0) break;
    s->out.result[i] = s->trainer.rank->result;
    if (s->speaks) print_step(s, &s->out.result[i]);
    if (a->save != NULL &&
        (i + 1 == s->out.steps || (a->save_every > 0 && (i + 1) % a->save_every == 0)))
      status = save(s);
  }
  return status != 0 ? status : zp_trainer_harvest(&s->trainer, &s->out, &s->err);
}

/* ---- On another engine ----------------------------------------------------------------------- */

typedef struct elsewhere {
  session *s;
  zp_ledger_sum before[ZP_GROUPS];
  int64_t *ops, *bytes; /* [steps] of rank 0 */
  zp_ckpt_reader *reader;
  zp_ckpt_writer **writer; /* [world] */
  zp_store load;
} elsewhere;

static void planned(void *ctx, zp_sim *ref, int32_t step)
{
  elsewhere *w = ctx;
  zp_trainer *t = &w->s->trainer;
  t->rank = zp_sim_rank(ref, 0);
  if (step >= 0) {
    zp_trainer_count(t, w->before);
    w->ops[step] = t->ops;
    w->bytes[step] = t->bytes;
  } else {
    w->s->out.first = t->rank->step;
    if (w->s->a->load != NULL) zp_train_remark_scale(w->s->a, &t->rank->scaler);
  }
  memcpy(w->before, t->rank->ledger, sizeof w->before);
}

static void stepped(void *ctx, const zp_step_result *result)
{
  elsewhere *w = ctx;
  const int64_t i = result->step - w->s->out.first;
  w->s->trainer.ops = w->ops[i];
  w->s->trainer.bytes = w->bytes[i];
  w->s->out.result[i] = *result;
  print_step(w->s, result);
}

static int ended(void *ctx, zp_sim *ref, zp_error *err)
{
  elsewhere *w = ctx;
  zp_trainer t = w->s->trainer;
  t.cfg = &w->s->cfg;
  t.sim = ref;
  return zp_trainer_harvest(&t, &w->s->out, err);
}

static int save_elsewhere(void *ctx, int32_t rank, int64_t step, zp_store *store, zp_error *err)
{
  elsewhere *w = ctx;
  return zp_train_writer(w->s->a, &w->s->cfg, step, rank, &w->writer[rank], store, err);
}

static void saved_elsewhere(void *ctx, int32_t rank)
{
  elsewhere *w = ctx;
  if (w->writer[rank] != NULL) zp_ckpt_writer_close(w->writer[rank]);
  w->writer[rank] = NULL;
}

/* 0, or a negative status in the session's error. */
static int open_elsewhere(elsewhere *w, int32_t steps)
{
  session *s = w->s;
  if (zp_outcome_open(&s->out, &s->cfg, 0, steps) != 0)
    return zp_fail(&s->err, ZP_E_MEMORY, -1, "no memory for the outcome of the run");
  w->ops = calloc((size_t)steps, sizeof *w->ops);
  w->bytes = calloc((size_t)steps, sizeof *w->bytes);
  w->writer = calloc((size_t)zp_world(&s->cfg), sizeof(zp_ckpt_writer *));
  if (w->ops == NULL || w->bytes == NULL || w->writer == NULL)
    return zp_fail(&s->err, ZP_E_MEMORY, -1, "no memory for the run's communications");
  return s->a->load == NULL ? 0 : zp_train_reader(s->a, &s->cfg, 1, &w->reader, &w->load, &s->err);
}

static void say_elsewhere(const session *s, int32_t steps)
{
  if (s->a->o.json) return;
  if (s->a->save != NULL)
    printf("        saved in %s, continues at step %" PRId64 "\n", s->a->save,
           s->out.first + steps);
  printf("\n%s, in each of %d steps and on each of %d ranks\n", s->a->engine->clean, (int)steps,
         (int)zp_world(&s->cfg));
}

static int train_elsewhere(session *s)
{
  const int32_t steps = (int32_t)s->a->o.value[ZP_OPT_STEPS];
  elsewhere w = {.s = s};
  const zp_engine_training job = {.cfg = &s->cfg,
                                  .hyper = &s->a->o.hyper,
                                  .work = &s->work,
                                  .steps = steps,
                                  .ctx = &w,
                                  .planned = planned,
                                  .stepped = stepped,
                                  .ended = ended,
                                  .load = s->a->load != NULL ? &w.load : NULL,
                                  .save = s->a->save != NULL ? save_elsewhere : NULL,
                                  .saved = saved_elsewhere};
  int status = open_elsewhere(&w, steps);
  if (status == 0) status = s->a->engine->train(&job, &s->err);
  s->trainer.rank = NULL; /* was the engine's */
  if (w.reader != NULL) zp_ckpt_reader_close(w.reader);
  free(w.ops);
  free(w.bytes);
  free(w.writer);
  if (status == 0) say_elsewhere(s, steps);
  return status;
}

/* Options that another engine has no use for, or lacks. */
static int check_engine(const zp_train_args *a)
{
  static zp_case c; /* large */
  const char *flag = a->save_every > 0 ? "--save-every" : NULL;
  if (a->engine->train == NULL) return 0;
  if (a->chosen.schedules > 0) flag = "--schedules";
  if (a->chosen.trace != NULL || a->chosen.svg != NULL)
    flag = a->chosen.trace != NULL ? "--trace" : "--svg";
  if (flag != NULL)
    return zp_refuse(&a->o, "%s: train does not have this with --engine %s; leave it out.", flag,
                     a->engine->name);
  if (zp_mpi_present())
    return zp_refuse(&a->o, "--engine %s: all ranks are in one process; start it without mpirun.",
                     a->engine->name);
  zp_case_init(&c);
  c.cfg.pp = (int32_t)a->o.value[ZP_OPT_PP];
  c.cfg.dynamic_shapes = (int32_t)a->o.value[ZP_OPT_DYNAMIC_SHAPES];
  c.synth.vary = a->vary_shapes;
  return zp_engine_can(a->engine, a->o.command, &c);
}

/* What is said after the last step. */
static int conclude(session *s)
{
  const zp_train_args *a = s->a;
  const double last = loss_of(&s->out.result[s->out.steps - 1]);
  char bits[24], end[24], *sample = NULL;
  int code = 0;
  snprintf(bits, sizeof bits, "%016" PRIx64, zp_outcome_hash(&s->out, s->out.first));
  snprintf(end, sizeof end, "%016" PRIx64, zp_outcome_end_hash(&s->out));
  if (a->sample > 0) sample = zp_train_sample(a, &s->out.end, s->cfg.precision, &s->text);
  if (a->o.json) {
    json_object_set_new(s->doc, "engine", json_string(a->engine->name));
    json_object_set_new(s->doc, "steps", json_incref(s->steps));
    json_object_set_new(s->doc, "bits", json_string(bits));
    json_object_set_new(s->doc, "end_bits", json_string(end));
    json_object_set_new(s->doc, "entropy", json_real(s->entropy));
    if (sample != NULL) json_object_set_new(s->doc, "sample", json_string(sample));
  } else {
    printf("\nbits of the end (parameters, masters, moments, scaler): %s; with losses and norms: "
           "%s\n",
           end, bits);
    printf("loss %.3f is %s the byte-unigram entropy %.3f\n", last,
           last < s->entropy ? "below" : "not below", s->entropy);
    if (sample != NULL) printf("\nsample\n  | ");
    for (const char *p = sample; p != NULL && *p != 0; p++)
      fputs(*p == '\n' ? "\n  | " : (char[]){*p, 0}, stdout);
    if (sample != NULL) putchar('\n');
  }
  free(sample);
  if (a->plot != NULL) {
    code = zp_train_plot(a, &s->out, s->entropy);
    if (code == 0 && !a->o.json) printf("\nwrote %s\n", a->plot);
  }
  if (a->verify && s->verify == NULL)
    s->verify = zp_verify_start(a, &s->cfg, &s->work, &a->shape, s->out.first + s->out.steps);
  if (s->verify != NULL) {
    const int verdict = zp_verify_finish(s->verify, &s->out, a->o.json ? s->doc : NULL);
    s->verify = NULL;
    if (code == 0) code = verdict;
  }
  if (a->o.json && (json_dumpf(s->doc, stdout, JSON_INDENT(1)) != 0 || putchar('\n') == EOF))
    code = ZP_EXIT_ENVIRONMENT;
  return code;
}

/* Is this process one of a job that mpirun started? What else the environment says is refused: a
 * process that takes itself for the only one would train all of it, as often as it was started.
 * 0, or an exit code after a message. */
static int read_job(session *s, int *present)
{
  zp_job job = {0};
  *present = 0;
  if (zp_job_read(&job, &s->err) == 0 && job.launcher == ZP_TORCHRUN && job.world > 1)
    zp_fail(&s->err, ZP_E_REFUSED, job.rank,
            "torchrun started this as process %d of %d, and these ranks talk over MPI: start them "
            "with zeroproof launch -n %d train, or with mpirun",
            (int)job.rank, (int)job.world, (int)job.world);
  *present = job.launcher == ZP_OPEN_MPI;
  if (s->err.status == ZP_OK) return 0;
  if (zp_cli_speaks()) fprintf(stderr, "%s: %s\n", s->a->o.command, s->err.text);
  return zp_exit_of(s->err.status);
}

/* Joins the MPI job, if there is one. 0, or an exit code after a message. */
static int join(session *s)
{
  int present;
  const int code = read_job(s, &present);
  s->speaks = 1;
  if (code != 0 || !present) return code;
  if (zp_mpi_start(&s->mpi, zp_mpi_deadline(), &s->err) != 0) {
    fprintf(stderr, "%s: %s\n", s->a->o.command, s->err.text);
    return zp_exit_of(s->err.status);
  }
  s->speaks = zp_mpi_rank(s->mpi) == 0;
  if (zp_mpi_size(s->mpi) == zp_world(&s->cfg)) return 0;
  if (s->speaks)
    zp_refuse(&s->a->o,
              "this MPI job has %d processes and pp·dp is %d; start as many processes as "
              "ranks, or change --pp and --dp.",
              (int)zp_mpi_size(s->mpi), (int)zp_world(&s->cfg));
  (void)zp_mpi_stop(s->mpi, &s->err);
  s->mpi = NULL;
  return ZP_EXIT_REFUSED;
}

/* After an error: everyone is told, nobody waits. */
static int fail(session *s)
{
  const int code = zp_exit_of(s->err.status);
  fflush(stdout);
  fprintf(stderr, "%s: %s\n", s->a->o.command, s->err.text);
  if (s->mpi != NULL) {
    zp_mpi_abandon(s->mpi, &s->err);
    _exit(code);
  }
  if (s->verify != NULL) zp_verify_finish(s->verify, NULL, NULL);
  return code;
}

static int run_session(session *s)
{
  int code = join(s);
  if (code != 0) return code;
  if (s->speaks && zp_train_probe(s->a, &s->err) != 0) return fail(s);
  if (s->speaks && !s->a->o.json) print_head(s);
  if ((s->a->engine->train != NULL ? train_elsewhere(s) : train(s)) != 0) return fail(s);
  zp_trainer_close(&s->trainer);
  if (s->mpi != NULL && zp_mpi_stop(s->mpi, &s->err) != 0) return fail(s);
  s->mpi = NULL;
  return s->speaks ? conclude(s) : 0;
}

static int run(zp_train_args *a)
{
  session *s;
  zp_gpt *gpt = NULL;
  char why[256];
  int code = zp_options_finish(&a->o);
  if (code != 0) return code;
  train_defaults(a);
  code = check_args(a);
  if (code == 0) code = check_engine(a);
  if (code == 0) code = make_list(a);
  if (code != 0) return code;
  s = calloc(1, sizeof *s);
  if (s == NULL) return ZP_EXIT_ENVIRONMENT;
  s->a = a;
  s->cfg = zp_options_config(&a->o);
  code = zp_options_check(&a->o, &s->cfg);
  if (code == 0) code = zp_plan_fits(&a->o, &s->cfg, activation_bytes(a, &s->cfg));
  if (code == 0) code = zp_text_read(a, &s->text);
  if (code == 0) {
    const uint64_t seed = (uint64_t)a->o.value[ZP_OPT_SEED];
    const zp_gpt_options g = {
        a->shape, {s->text.bytes, s->text.n, seed}, seed, a->vary_shapes, a->tuple};
    gpt = zp_gpt_create(&g, why, sizeof why);
    if (gpt == NULL) code = zp_refuse(&a->o, "%s", why);
  }
  if (code == 0) {
    s->doc = json_object();
    s->steps = json_array();
    s->work = zp_gpt_workload(gpt);
    s->entropy = zp_text_unigram_entropy(s->text.bytes, s->text.n);
    a->text_hash = XXH3_64bits(s->text.bytes, (size_t)s->text.n);
    code = run_session(s);
    zp_trainer_close(&s->trainer);
    zp_outcome_close(&s->out);
    json_decref(s->doc);
    json_decref(s->steps);
  }
  if (gpt != NULL) zp_gpt_destroy(gpt);
  free(s->text.bytes);
  free(s);
  return code;
}

int zp_cmd_train(int argc, char **argv, const zp_engine *engine)
{
  zp_train_args a = {.shape = zp_gpt_shape_default(), .sample = SAMPLE};
  int code;
  zp_options_init(&a.o, "zeroproof train");
  a.files = calloc((size_t)argc + 1, sizeof *a.files);
  code = a.files == NULL ? ZP_EXIT_ENVIRONMENT : zp_cli_parse(&argp, argc, argv, &a);
  if (code == 0) code = zp_engine_choose(engine, &a.chosen, argc, argv);
  a.engine = engine;
  if (code == 0) code = run(&a);
  zp_options_free(&a.o);
  free(a.files);
  return code;
}
