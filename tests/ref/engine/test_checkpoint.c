/* Laws of ref/engine/checkpoint.h: what was saved is read back, elsewhere too; another model is
 * refused. spec: CKPT-1, CKPT-3, CKPT-5 */
/* inputs: tests/ref/engine/saved */
#define _GNU_SOURCE
#include <sys/stat.h>
#include <sys/wait.h>

#include "../../../ref/comm/sim/comm_sim.h"
#include "../../../ref/model/synth.h"
#include "checkpoint_case.h"

TestSuite(checkpoint, .init = make_temp, .fini = remove_temp);

Test(checkpoint, is_read_back_however_it_is_cut)
{
  int64_t step = 0;
  for (int64_t put = 1; put <= 11; put += 2)
    for (int64_t get = 1; get <= 11; get += 3) {
      save(++step, put);
      check_current(step, get);
    }
}

Test(checkpoint, gives_back_step_and_workload)
{
  zp_error err = {0};
  int64_t step = 0;
  char *words = NULL;
  save(12, 3);
  cr_assert_eq(zp_ckpt_peek(dir, &step, &words, &err), 0, "%s", err.text);
  cr_assert_eq(step, 12);
  cr_assert_str_eq(words, "{\"seed\": 7}");
  free(words);
}

Test(checkpoint, keeps_the_previous_one_and_removes_older_ones)
{
  char path[128];
  struct stat s;
  for (int64_t step = 1; step <= 4; step++) save(step, 4);
  for (int64_t step = 1; step <= 4; step++) {
    snprintf(path, sizeof path, "%s/step-%d", dir, (int)step);
    cr_assert_eq(stat(path, &s) == 0, step >= 3, "%s", path);
  }
  save(4, 5); /* the same step again gets a folder of its own */
  check_current(4, 2);
  snprintf(path, sizeof path, "%s/step-4.1", dir);
  cr_assert_eq(stat(path, &s), 0);
}

static int is_there(const char *name)
{
  char path[400];
  struct stat s;
  snprintf(path, sizeof path, "%s/%s", dir, name);
  return stat(path, &s) == 0;
}

/* What crashed saves left goes with the next one that is published; nothing that LATEST names, and
 * nothing that is not ours, does. CKPT-2 */
Test(checkpoint, publishing_removes_what_crashed_saves_left)
{
  crash all = {-1, 0};
  zp_error err = {0};
  char path[160];
  int status;
  cr_assert_eq(save_at(dir, 1, 4, &all, &err), 0, "%s", err.text);
  save(2, 4);
  for (int64_t step = 3; step <= 5; step++) { /* at three moments of a save */
    const pid_t child = fork();
    if (child == 0) {
      crash c = {all.seen * (int)(step - 2) / 5, 0};
      save_at(dir, step, 3, &c, &err);
      _exit(0);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 42);
    snprintf(path, sizeof path, "step-%d.tmp", (int)step);
    cr_assert(is_there(path), "%s: the crash came too early or too late", path);
  }
  check_current(2, 5);
  snprintf(path, sizeof path, "%s/mine.tmp", dir);
  cr_assert_eq(mkdir(path, 0777), 0);
  save(6, 4);
  cr_assert(!is_there("step-3.tmp") && !is_there("step-4.tmp") && !is_there("step-5.tmp"));
  cr_assert(!is_there("step-6.tmp") && is_there("step-6") && is_there("step-2"));
  cr_assert(!is_there("step-1") && is_there("mine.tmp"));
  check_current(6, 5);
}

Test(checkpoint, can_be_named_by_its_own_folder)
{
  zp_error err = {0};
  zp_ckpt_reader *r;
  zp_store store;
  char path[128];
  save(1, 4);
  save(2, 4);
  snprintf(path, sizeof path, "%s/step-1", dir);
  cr_assert_eq(zp_ckpt_reader_open(&r, path, model, &store, &err), 0, "%s", err.text);
  check_values(&store, 3, 1);
  zp_ckpt_reader_close(r);
}

/* ---- Several processes. CKPT-8 --------------------------------------------------------------- */

/* What rank 1 finds in the folder `where` after rank 0 has found *first: an error with `word` in
 * it, or the values of `step`. */
static void find_as_second(const char *where, const zp_ckpt_id *first, int32_t want,
                           const char *word, int64_t step)
{
  zp_error err = {0};
  zp_ckpt_reader *r = NULL;
  zp_store store;
  cr_assert_eq(zp_ckpt_reader_find(&r, where, 1, first, &err), want, "%s", err.text);
  cr_assert_not_null(strstr(err.text, word), "'%s' is not in: %s", word, err.text);
  if (want) return;
  cr_assert_eq(zp_ckpt_reader_check(r, model, &store, &err), 0, "%s", err.text);
  check_values(&store, 4, step);
  zp_ckpt_reader_close(r);
}

Test(checkpoint, every_rank_finds_the_checkpoint_that_rank_0_has_found)
{
  zp_error err = {0};
  zp_ckpt_reader *r;
  char path[128];
  save(1, 4);
  save(2, 4);
  cr_assert_eq(zp_ckpt_reader_find(&r, dir, 0, NULL, &err), 0, "%s", err.text);
  const zp_ckpt_id first = zp_ckpt_reader_id(r);
  zp_ckpt_reader_close(r);
  cr_assert(first.step == 2 && strcmp(first.folder, "step-2") == 0);
  find_as_second(dir, &first, 0, "", 2);
  save(3, 4); /* meanwhile */
  find_as_second(dir, &first, 0, "", 2);
  snprintf(path, sizeof path, "%s/step-2", dir); /* the same one, by its own name */
  find_as_second(path, &first, 0, "", 2);
  snprintf(path, sizeof path, "%s/step-3", dir);
  find_as_second(path, &first, ZP_E_MISMATCH, first.checksum, 0);
  find_as_second(path, &first, ZP_E_MISMATCH, "step 3 (checksum", 0);
  find_as_second("/tmp/zp-ckpt-none", &first, ZP_E_FILE, first.checksum, 0);
  save(4, 4); /* step-2 is removed */
  find_as_second(dir, &first, ZP_E_MISMATCH, "rank 1 finds another checkpoint than rank 0: step 4",
                 0);
}

/* A file that is replaced after its checksum was right, by one of the same length. */
Test(checkpoint, what_was_checked_is_what_is_read)
{
  zp_error err = {0};
  zp_ckpt_reader *r;
  zp_store store;
  float v[16];
  char path[160], other[160];
  save(5, 4);
  save(7, 4);
  cr_assert_eq(zp_ckpt_reader_open(&r, dir, model, &store, &err), 0, "%s", err.text);
  snprintf(other, sizeof other, "%s/step-5/rank-0.bin", dir);
  snprintf(path, sizeof path, "%s/step-7/rank-0.bin", dir);
  cr_assert_eq(rename(other, path), 0);
  cr_assert_eq(store.get(store.ctx, 0, 0, 0, ZP_WHAT_MASTER, 0, 11, v, &err), ZP_E_FILE);
  cr_assert_not_null(strstr(err.text, "rank-0.bin changed while it was being loaded"), "%s",
                     err.text);
  zp_ckpt_reader_close(r);
}

/* ---- Another model --------------------------------------------------------------------------- */

Test(checkpoint, another_model_is_refused_by_entry)
{
  zp_param other[ENTRIES];
  char names[ENTRIES][ZP_CKPT_NAME];
  zp_config cfg = config;
  const zp_ckpt_model m = {&cfg, NULL}, renamed = {&config, names};
  cfg.params = other;
  save(5, 4);
  memcpy(other, list, sizeof list);
  other[1].numel = 8;
  check_refused(dir, m, ZP_E_REFUSED, "entry 'p1' has numel 7 there and 8 here");
  memcpy(other, list, sizeof list);
  other[2].expert = 0;
  check_refused(dir, m, ZP_E_REFUSED, "entry 'p2' has expert");
  memcpy(other, list, sizeof list);
  other[3].frozen = 0;
  check_refused(dir, m, ZP_E_REFUSED, "entry 'p3' has frozen");
  memcpy(other, list, sizeof list);
  other[4].tied = -1;
  check_refused(dir, m, ZP_E_REFUSED, "entry 'p4' has tied");
  memcpy(other, list, sizeof list);
  cfg.tp = 1;
  check_refused(dir, m, ZP_E_REFUSED, "entry 'p1' has tp 2 there and 1 here");
  cfg.tp = 2;
  cfg.n_params = ENTRIES - 1;
  check_refused(dir, m, ZP_E_REFUSED, "has 6 entries and the model has 5");
  cfg.n_params = ENTRIES;
  cfg.optgroups = 3;
  check_refused(dir, m, ZP_E_REFUSED, "2 optimizer groups");
  for (int j = 0; j < ENTRIES; j++) snprintf(names[j], ZP_CKPT_NAME, "p%d", j == 3 ? 33 : j);
  check_refused(dir, renamed, ZP_E_REFUSED, "no entry 'p33'");
}

/* ---- Continuation in the same bits, elsewhere. CKPT-3, CKPT-5 -------------------------------- */

typedef struct run {
  zp_config cfg;
  zp_param params[10];
  zp_hyper hyper;
  zp_synth synth;
  zp_workload work;
  zp_sim *sim;
  zp_error err;
} run;

static int32_t entry_align = 1; /* of the next run */

/* Trained, untied entries start at multiples of the entry alignment. PART-2 */
static void check_starts(const run *u)
{
  for (int32_t r = 0; r < zp_sim_world(u->sim); r++) {
    const zp_layout *lay = &zp_sim_rank(u->sim, r)->lay;
    for (int32_t i = 0; i < lay->n_params; i++)
      cr_assert_eq(lay->spot[i].start % entry_align, 0, "rank %d, entry %d", r, i);
  }
}

static void run_open(run *u, int32_t pp, int32_t dp, int32_t stage, int64_t bucket)
{
  static const zp_param entries[10] = {{13, 0, 0, 0, 0, 0, 0, 0}, {29, 0, 1, -1, 0, 0, 0, 0},
                                       {3, 0, 0, -1, 0, 0, 1, 0}, {17, 0, 0, -1, 0, 0, 0, 0},
                                       {8, 0, 1, -1, 0, 0, 0, 0}, {1, 0, 0, -1, 0, 0, 0, 0},
                                       {0, 0, 0, -1, 0, 0, 0, 0}, {19, 0, 1, -1, 0, 0, 0, 0},
                                       {5, 0, 0, -1, 0, 0, 0, 0}, {13, 0, 0, 0, 0, 0, 0, 0}};
  memset(u, 0, sizeof *u);
  memcpy(u->params, entries, sizeof entries);
  for (int32_t j = 0; j < 10; j++) u->params[j].stage = j * pp / 10;
  u->cfg = (zp_config){.pp = pp,
                       .dp = dp,
                       .tp = 1,
                       .ep = 1,
                       .stage = stage,
                       .reduce = ZP_EXACT,
                       .precision = ZP_BF16,
                       .optgroups = 2,
                       .tied_keys = 1,
                       .n_params = 10,
                       .micro_batches = 12 / dp,
                       .bucket = bucket,
                       .align = 1,
                       .params = u->params};
  u->hyper.groups = 1;
  u->hyper.optim[0] = (zp_optim){ZP_OPTIM_ADAMW, 1e-2, 0.9, 0.99, 1e-8, 0.01, 0};
  u->hyper.clip = 1;
  u->hyper.clip_eps = 1e-6;
  u->hyper.entry_align = entry_align;
  zp_scaler_init(&u->hyper.scaler, 1, 4, 0, 16, 2, 1, 0);
  u->synth.opt = (zp_synth_options){.seed = 7, .mode = ZP_SYNTH_WILD, .unused = 30, .overflow = 8};
  u->work = zp_synth_workload(&u->synth);
  u->sim = zp_sim_open(&u->cfg, &u->hyper, &u->work, &u->err);
  cr_assert_not_null(u->sim, "%s", u->err.text);
  check_starts(u);
  cr_assert_eq(zp_sim_run(u->sim, ZP_PHASE_INIT, &u->err), 0, "%s", u->err.text);
}

static void run_steps(run *u, int steps)
{
  for (int s = 0; s < steps; s++)
    cr_assert_eq(zp_sim_run(u->sim, ZP_PHASE_STEP, &u->err), 0, "%s", u->err.text);
}

static void run_save(run *u)
{
  zp_ckpt_writer *w[32];
  zp_store store[32];
  const int32_t world = zp_sim_world(u->sim);
  const int64_t step = zp_sim_rank(u->sim, 0)->step;
  const zp_ckpt_model m = {&u->cfg, NULL};
  for (int32_t r = 0; r < world; r++) {
    const zp_ckpt_save s = {.step = step, .rank = r, .word = 7, .workload = ""};
    cr_assert_eq(zp_ckpt_writer_open(&w[r], dir, m, &s, &store[r], &u->err), 0, "%s", u->err.text);
    zp_sim_rank(u->sim, r)->store = &store[r];
  }
  cr_assert_eq(zp_sim_run(u->sim, ZP_PHASE_SAVE, &u->err), 0, "%s", u->err.text);
  for (int32_t r = 0; r < world; r++) zp_ckpt_writer_close(w[r]);
}

static void run_load(run *u, const char *from)
{
  zp_ckpt_reader *reader;
  zp_store store;
  const zp_ckpt_model m = {&u->cfg, NULL};
  cr_assert_eq(zp_ckpt_reader_open(&reader, from, m, &store, &u->err), 0, "%s", u->err.text);
  for (int32_t r = 0; r < zp_sim_world(u->sim); r++) zp_sim_rank(u->sim, r)->store = &store;
  cr_assert_eq(zp_sim_run(u->sim, ZP_PHASE_LOAD, &u->err), 0, "%s", u->err.text);
  zp_ckpt_reader_close(reader);
}

typedef struct image {
  float state[ZP_WHATS][10][32];
  zp_scaler scaler;
  zp_optim_state optim[2];
  int64_t step;
  zp_step_result last;
  uint16_t param[10][32];
  int32_t what; /* being visited */
} image;

static void take_values(void *ctx, int32_t param, int64_t offset, int64_t count, const float *value)
{
  image *i = ctx;
  memcpy(&i->state[i->what][param][offset], value, (size_t)count * sizeof *value);
}

static image *take_image(const run *u)
{
  image *i = calloc(1, sizeof *i);
  for (int32_t r = 0; r < zp_sim_world(u->sim); r++) {
    const zp_rank *k = zp_sim_rank(u->sim, r);
    for (i->what = ZP_WHAT_MASTER; i->what <= ZP_WHAT_MOMENT2; i->what++)
      zp_rank_visit(k, i->what, take_values, i);
    for (int32_t p = 0; p < k->lay.n_params; p++)
      memcpy(i->param[k->lay.first_param + p], k->param[p],
             2 * (size_t)u->params[k->lay.first_param + p].numel);
    i->scaler = k->scaler;
    i->step = k->step;
    i->last = k->result;
    memcpy(i->optim, k->optim, sizeof i->optim);
  }
  /* a tied key's state is visited at one of its uses, which depends on pp */
  for (int32_t what = ZP_WHAT_MASTER; what <= ZP_WHAT_MOMENT2; what++)
    for (int32_t e = 0; e < 13; e++) {
      if (i->state[what][0][e] == 0) i->state[what][0][e] = i->state[what][9][e];
      i->state[what][9][e] = 0;
    }
  return i;
}

static const int32_t where[7][4] = {{1, 1, 0, 100}, {2, 3, 2, 7},  {3, 2, 1, 16}, {1, 6, 2, 5},
                                    {5, 1, 1, 3},   {2, 12, 0, 9}, {4, 3, 2, 64}};

static void check_image(const run *u, const image *want, const char *what, int n)
{
  image *have = take_image(u);
  cr_assert_eq(have->step, want->step);
  cr_assert_eq(memcmp(have->state, want->state, sizeof want->state), 0, "%s %d: states", what, n);
  cr_assert_eq(memcmp(have->param, want->param, sizeof want->param), 0, "%s %d: params", what, n);
  cr_assert_eq(memcmp(&have->scaler, &want->scaler, sizeof want->scaler), 0);
  cr_assert_eq(memcmp(have->optim, want->optim, sizeof want->optim), 0);
  cr_assert_eq(have->last.norm_f64, want->last.norm_f64);
  cr_assert_eq(have->last.loss, want->last.loss);
  free(have);
}

/* After 7 steps without a checkpoint. */
static image *uninterrupted(void)
{
  static run whole;
  run_open(&whole, 1, 2, 1, 11);
  run_steps(&whole, 7);
  image *want = take_image(&whole);
  zp_sim_close(whole.sim);
  return want;
}

/* Loads a checkpoint of step 4 at where[at], with an entry alignment, and continues to step 7. */
static void continues(const image *want, const char *from, int at, int32_t align, int n)
{
  static run second;
  entry_align = align;
  run_open(&second, where[at][0], where[at][1], where[at][2], where[at][3]);
  run_load(&second, from);
  run_steps(&second, 3);
  check_image(&second, want, "from", n);
  zp_sim_close(second.sim);
}

/* Run a is saved with aligns[a % n] and continued with the next one. */
static void continues_elsewhere(const int32_t *aligns, int n)
{
  static run first;
  image *want = uninterrupted();
  for (int a = 0; a < 7; a++) {
    entry_align = aligns[a % n];
    run_open(&first, where[a][0], where[a][1], where[a][2], where[a][3]);
    run_steps(&first, 4);
    run_save(&first);
    zp_sim_close(first.sim);
    continues(want, dir, (a + 3) % 7, aligns[(a + 1) % n], a);
  }
  free(want);
}

Test(checkpoint, continues_elsewhere_in_the_uninterrupted_bits)
{
  static const int32_t none[1] = {1};
  continues_elsewhere(none, 1);
}

/* Checkpoints speak of entries and offsets: they have no padding, whatever the entry alignment is
 * where they are saved or loaded. spec: PART-2, PART-7, CKPT-1 */
Test(checkpoint, has_no_padding)
{
  static const int32_t aligns[4] = {1, 64, 32, 5};
  continues_elsewhere(aligns, 4);
}

/* tests/ref/engine/saved was written after 4 steps with pp 2, dp 3, ZeRO stage 2 and buckets of 7,
 * by a version without entry alignments. */
Test(checkpoint, of_a_version_without_entry_alignments_is_loaded)
{
  static const int32_t aligns[3] = {1, 64, 32};
  image *want = uninterrupted();
  for (int a = 0; a < 3; a++) continues(want, "tests/ref/engine/saved/step-4", a, aligns[a], a);
  free(want);
}
