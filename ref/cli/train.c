/* zeroproof train: a byte-level transformer on text, simulated in this process or one rank of an
 * MPI job. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "../comm/job/job.h"
#include "../comm/job/roster.h"
#include "commands.h"
#include "train_session.h"

enum { SAMPLE = 200 };

/* ---- Setting up ------------------------------------------------------------------------------ */

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

/* ---- Training -------------------------------------------------------------------------------- */

static void remark(void *ctx, const char *text)
{
  const zp_train_session *s = ctx;
  fprintf(stderr, "%s: note:%s\n", s->a->o.command, text);
}

/* The checkpoint's scaler continues, whatever this run would have begun with. */
static void loaded(void *ctx, const zp_scaler *now)
{
  const zp_train_session *s = ctx;
  const zp_options *o = &s->a->o;
  const zp_scaler *mine = &o->hyper.scaler;
  const int given = o->hyper_by_flag[ZP_HYPER_SCALE] || o->hyper_by_file[ZP_HYPER_SCALE];
  if (!given && now->dynamic == mine->dynamic && now->log2_min == mine->log2_min &&
      now->log2_max == mine->log2_max && now->window == mine->window &&
      now->hysteresis == mine->hysteresis && now->consecutive == mine->consecutive)
    return;
  fprintf(stderr, "%s: note: %s the checkpoint's scaler goes on (%s, now 2^%d", o->command,
          given ? "--loss-scale has no effect with --load:" : "the loss scale is not this run's:",
          now->dynamic ? "dynamic" : "static", (int)now->log2_scale);
  if (now->dynamic)
    fprintf(stderr, ", from 2^%d to 2^%d, window %lld, hysteresis %d", (int)now->log2_min,
            (int)now->log2_max, (long long)now->window, (int)now->hysteresis);
  fputs(").\n", stderr);
}

/* Starts the runs of --verify beside this one. */
static int begins(void *ctx, int64_t first, zp_error *err)
{
  zp_train_session *s = ctx;
  const zp_train_args *a = s->a;
  s->verify =
      zp_verify_start(&s->cfg, &s->hyper, &s->work, &a->shape, first + a->o.value[ZP_OPT_STEPS]);
  return s->verify != NULL ? 0 : zp_fail(err, ZP_E_MEMORY, -1, "no memory to verify");
}

static void stepped(void *ctx, const zp_step_result *result, int64_t ops, int64_t bytes)
{
  zp_train_print_step(ctx, result, ops, bytes);
}

static void saved(void *ctx, int64_t next_step)
{
  const zp_train_session *s = ctx;
  if (!s->a->o.json)
    printf("        saved in %s, continues at step %" PRId64 "\n", s->a->save, next_step);
}

/* The hyperparameters, and which of them a checkpoint does not replace. */
static void describe_hyper(zp_train_session *s)
{
  const zp_train_args *a = s->a;
  const uint8_t *flag = a->o.hyper_by_flag, *file = a->o.hyper_by_file;
  s->hyper.peak = a->o.hyper;
  s->hyper.schedule = a->schedule;
  s->hyper.set = (flag[ZP_HYPER_OPTIMIZER] ? ZP_SET_LR : 0u) |
                 (file[ZP_HYPER_OPTIMIZER] ? ZP_SET_OPTIMIZERS : 0u) |
                 (flag[ZP_HYPER_CLIP] || file[ZP_HYPER_CLIP] ? ZP_SET_CLIP : 0u) |
                 (file[ZP_HYPER_CLIP_EPS] ? ZP_SET_CLIP_EPS : 0u) |
                 (a->schedule_set ? ZP_SET_SCHEDULE : 0u);
}

/* What the command line asked for. */
static void describe(zp_train_session *s)
{
  const zp_train_args *a = s->a;
  describe_hyper(s);
  s->record = (zp_train_record){.cfg = &s->cfg,
                                .hyper = &s->hyper,
                                .names = a->o.names,
                                .shape = a->shape,
                                .text_hash = a->text_hash,
                                .seed = (uint64_t)a->o.value[ZP_OPT_SEED],
                                .vary_shapes = a->vary_shapes,
                                .tuple = a->tuple};
  s->job = (zp_training){.cfg = &s->cfg,
                         .hyper = &s->hyper,
                         .work = &s->work,
                         .record = &s->record,
                         .load = a->load,
                         .save = a->save,
                         .save_every = a->save_every,
                         .steps = a->o.value[ZP_OPT_STEPS],
                         .mpi = s->mpi,
                         .ctx = s};
  if (s->mpi != NULL && zp_mpi_rank(s->mpi) != 0) return;
  s->speaks = 1;
  s->job.remark = remark;
  s->job.loaded = loaded;
  s->job.stepped = stepped;
}

static int train(zp_train_session *s)
{
  const zp_train_args *a = s->a;
  zp_gemm_report report = {.bf16 = a->chosen.gemm == ZP_GEMM_BF16};
  int status;
  if (a->engine->train == NULL) {
    if (a->verify && s->speaks && s->mpi == NULL) s->job.begins = begins;
    s->job.saved = s->speaks ? saved : NULL;
    return zp_train(&s->job, &s->trainer, &s->out, &s->err);
  }
  status = zp_train_beside(&s->job, a->engine, a->chosen.offload, a->follow ? &report : NULL,
                           &s->out, &s->err);
  if (status == 0) zp_train_print_beside(s, &report);
  return status;
}

/* ---- A job ---------------------------------------------------------------------------------- */

/* Is this process one of a job that mpirun started? What else the environment says is refused: a
 * process that takes itself for the only one would train all of it, as often as it was started.
 * 0, or an exit code after a message. */
static int read_job(zp_train_session *s, int *present)
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
  zp_cli_refuse(s->a->o.command, "%s", s->err.text);
  return zp_exit_of(s->err.status);
}

/* With the host, if there are several: an error names its rank, but not always the rank's host. */
static void print_error(const zp_train_session *s)
{
  const int32_t rank = s->mpi != NULL ? zp_mpi_rank(s->mpi) : 0;
  char from[128] = "";
  if (s->mpi != NULL && zp_mpi_hosts(s->mpi) > 1)
    snprintf(from, sizeof from, "rank %d on %s: ", (int)rank, zp_mpi_host(s->mpi, rank));
  const int known = strncmp(s->err.text, from, strlen(from)) == 0;
  fprintf(stderr, "%s: %s%s\n", s->a->o.command, known ? "" : from, s->err.text);
}

/* After an error: all ranks are notified, and none waits. */
static int fail(zp_train_session *s)
{
  const int code = zp_exit_of(s->err.status);
  fflush(stdout);
  print_error(s);
  if (s->mpi != NULL) _exit(zp_exit_of(zp_mpi_abandon(s->mpi, &s->err)));
  zp_roster_report(ZP_ROSTER_LEAVES, s->err.text, ZP_ROSTER_NO_CULPRIT); /* before it joined MPI */
  if (s->verify != NULL) zp_train_verified(s->verify, &s->a->o, NULL, NULL);
  return code;
}

/* Joins the MPI job, if there is one: all ranks have the same settings. 0, or an exit code after a
 * message. */
static int join(zp_train_session *s)
{
  int present;
  const int code = read_job(s, &present);
  if (code != 0) return code;
  if (present)
    signal(SIGPIPE, SIG_IGN); /* the daemon that reads may fail: the error is logged, too */
  if (present && zp_mpi_start(&s->mpi, zp_mpi_deadline(), &s->err) != 0) return fail(s);
  describe(s);
  if (!present) return 0;
  if (zp_train_agree(&s->job, &s->err) != 0) return fail(s);
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

static int run_session(zp_train_session *s)
{
  int code = join(s);
  if (code != 0) return code;
  if (s->speaks && zp_train_probe(s->a, &s->save_lock, &s->err) != 0) return fail(s);
  /* a checkpoint may be refused: then nothing but that is said */
  if (s->speaks && s->a->load == NULL) zp_train_print_head(s);
  if (train(s) != 0) return fail(s);
  zp_trainer_close(&s->trainer);
  if (s->mpi != NULL && zp_train_put_hosts(s) != 0) return fail(s);
  if (s->mpi != NULL && zp_mpi_stop(s->mpi, &s->err) != 0) return fail(s);
  s->mpi = NULL;
  return s->speaks ? zp_train_conclude(s) : 0;
}

static int run(zp_train_args *a)
{
  zp_train_session *s;
  zp_gpt *gpt = NULL;
  char why[256];
  int code = zp_options_finish(&a->o);
  if (code != 0) return code;
  code = zp_train_settle(a);
  if (code == 0) code = make_list(a);
  if (code != 0) return code;
  s = calloc(1, sizeof *s);
  if (s == NULL) return ZP_EXIT_ENVIRONMENT;
  s->a = a;
  s->save_lock = -1;
  s->cfg = zp_options_config(&a->o);
  code = zp_options_check(&a->o, &s->cfg);
  if (code == 0) {
    double bytes = 0x1p24; /* measured: the program and its libraries take 10 MiB */
    for (int32_t j = 0; a->save_every > 0 && j < s->cfg.n_params; j++) /* copies: CKPT-11 */
      bytes += 12.0 * (double)s->cfg.params[j].numel;
    code = zp_train_need(&s->cfg, &a->o.hyper, &a->shape, a->verify, &bytes, &s->err) == 0
               ? zp_memory_fits(&a->o, bytes)
               : zp_options_report(&a->o, &s->err);
  }
  if (code == 0 && zp_text_read(a->files, a->n_files, a->shape.context, &s->text, &s->err) != 0)
    code = zp_options_report(&a->o, &s->err);
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
    if (s->save_lock >= 0) close(s->save_lock);
    json_decref(s->doc);
    json_decref(s->steps);
  }
  if (gpt != NULL) zp_gpt_destroy(gpt);
  free(s->text.bytes);
  free(s);
  return code;
}

int zp_cmd_train(int argc, char **argv, const zp_backend *engine)
{
  zp_train_args a = {.shape = zp_gpt_shape_default(), .sample = SAMPLE};
  int code;
  zp_options_init(&a.o, "zeroproof train");
  a.files = calloc((size_t)argc + 1, sizeof *a.files);
  code = a.files == NULL ? ZP_EXIT_ENVIRONMENT : zp_cli_parse(&zp_train_argp, argc, argv, &a);
  if (code == 0) code = zp_engine_choose(engine, &a.chosen, argc, argv);
  a.engine = engine;
  if (code == 0) code = run(&a);
  zp_options_free(&a.o);
  free(a.files);
  return code;
}
