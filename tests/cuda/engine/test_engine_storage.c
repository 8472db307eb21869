/* Checkpoints of the CUDA engine are ref's, bit for bit, in both directions and under any split;
 * whichever call of a store fails, on whichever rank, all ranks end alike.
 * spec: CKPT-1, CKPT-2, CKPT-3, CKPT-5 */
#define _XOPEN_SOURCE 700
#include <criterion/criterion.h>
#include <ftw.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../../ref/engine/checkpoint.h"
#include "engine_judge.h"

enum { ORDERS = 3 };

/* A trial that saves, and loads first if it has a source. */
typedef struct job {
  zp_case c;
  zp_hyper hyper;
  zp_synth synth;
  zp_workload work;
  zp_diff_storage storage;
  zp_store in;
  zp_diff *t;
} job;

static void open_job(job *j, const zp_case *c, const zp_store *load, int32_t steps)
{
  const zp_diff_watch watch = {.storage = &j->storage};
  zp_error err = {0};
  char text[ZP_CASE_TEXT];
  memset(j, 0, sizeof *j);
  zp_case_copy(&j->c, c);
  zp_case_format(c, text, sizeof text);
  zp_case_hyper(&j->c, &j->hyper);
  j->synth.opt = j->c.synth;
  j->work = zp_synth_workload(&j->synth);
  if (load) j->in = *load;
  j->storage = (zp_diff_storage){.load = load ? &j->in : NULL, .save = 1};
  j->t = zp_diff_open(&j->c.cfg, &j->hyper, &j->work, steps, &watch, &err);
  cr_assert_not_null(j->t, "%s: %s", text, err.text);
}

/* The next case from *i on with frozen and tied entries, on at least two ranks. */
static void saving_case(zp_case *c, uint64_t *i)
{
  for (;; ++*i) {
    int32_t frozen = 0, tied = 0;
    uint32_t lacking;
    zp_cuda_random_case(57, *i, c, &lacking);
    c->reload.pp = 0;
    c->steps = 2;
    for (int32_t k = 0; k < c->cfg.n_params; k++) {
      frozen += c->params[k].frozen && c->params[k].numel > 0;
      tied += c->params[k].tied >= 0;
    }
    if (frozen && tied && zp_world(&c->cfg) > 1 && c->cfg.ep <= 2) break;
  }
  ++*i;
}

static void check_run(job *j, uint64_t seed)
{
  char text[ZP_CASE_TEXT];
  zp_case_format(&j->c, text, sizeof text);
  for (uint64_t k = 0; k < ORDERS; k++) {
    zp_schedule s = zp_schedule_of(seed + k);
    s.order = (simdev_order)k;
    s.hosts = k == 2;
    cr_assert_eq(zp_diff_run(j->t, &s), 0, "%s, schedule %llu: %s", text,
                 (unsigned long long)(seed + k), zp_diff_finding(j->t)->text);
  }
}

/* Of ranks that may be fewer or more; NULL: nothing. */
static const char *differs(const zp_case_memory *a, const zp_case_memory *b)
{
  zp_case_memory x = *b;
  x.states = a->states;
  return zp_case_memory_differs(a, &x);
}

/* Two replicas of the case, where it can have them. */
static void replicate(zp_case *c)
{
  c->replicas = c->cfg.stage > 0 && c->cfg.dp % (2 * c->cfg.ep) == 0 ? 2 : 1;
}

/* Another way to cut the same model: tp and ep stay. */
static void other_split(zp_case *to, const zp_case *c, int32_t n)
{
  zp_refusal why;
  zp_case_copy(to, c);
  to->cfg.pp = c->cfg.pp == 1 ? 1 : 1 + (c->cfg.pp + n) % 2;
  to->cfg.dp = c->cfg.ep * (1 + n % 3);
  to->cfg.stage = (c->cfg.stage + 1 + n) % 3;
  to->cfg.bucket = c->cfg.bucket + 3 + 5 * n;
  to->cfg.align = 1 + n % 2;
  to->cfg.reduce = n % 2;
  for (int32_t i = 0; i < to->cfg.n_params; i++)
    to->params[i].stage = c->params[i].stage * to->cfg.pp / c->cfg.pp;
  replicate(to);
  cr_assert_eq(zp_config_check(&to->cfg, &why), 0);
}

/* What either saved, both load and save again: it is still the same. */
Test(storage, checkpoints_of_ref_and_engine_load_in_both_under_other_splits)
{
  static job a, b;
  static zp_case c, split;
  uint64_t i = 0;
  for (int32_t n = 0; n < 12; n++) {
    saving_case(&c, &i);
    open_job(&a, &c, NULL, c.steps);
    check_run(&a, i); /* both save: the same */
    for (int32_t from = 0; from < 2; from++) {
      const zp_store load = zp_case_memory_store(&a.t->saved[from]);
      other_split(&split, &c, n + from);
      open_job(&b, &split, &load, 0);
      check_run(&b, i);
      for (int32_t by = 0; by < 2; by++)
        cr_assert_null(differs(&a.t->saved[0], &b.t->saved[by]), "case %d", (int)i - 1);
      zp_diff_close(b.t);
    }
    zp_diff_close(a.t);
  }
}

/* CKPT-5: under `exact`, and with the same global batch, a run that is saved in the middle and goes
 * on under another split ends where the uninterrupted one does. */
Test(storage, a_run_continues_from_a_checkpoint_under_another_split)
{
  static const struct {
    int32_t dp, m;
  } global[] = {{2, 2}, {4, 1}, {1, 4}};
  static job whole, half, rest;
  static zp_case one, two;
  uint64_t i = 0;
  for (int32_t n = 0; n < 6; n++) {
    do saving_case(&one, &i);
    while (one.cfg.pp > 3);
    for (int32_t k = 0; k < one.cfg.n_params; k++) one.params[k].expert = 0;
    one.cfg.ep = one.cfg.tp = 1;
    one.cfg.reduce = ZP_EXACT;
    zp_case_copy(&two, &one);
    one.cfg.dp = global[n % 3].dp;
    one.cfg.micro_batches = global[n % 3].m;
    two.cfg.dp = global[(n + 1) % 3].dp;
    two.cfg.micro_batches = global[(n + 1) % 3].m;
    two.cfg.pp = one.cfg.pp > 1 && n % 2 ? 1 : one.cfg.pp;
    for (int32_t k = 0; two.cfg.pp == 1 && k < two.cfg.n_params; k++) two.params[k].stage = 0;
    two.cfg.stage = (one.cfg.stage + 1) % 3;
    two.cfg.bucket = one.cfg.bucket + 7;
    replicate(&one);
    replicate(&two);
    open_job(&whole, &one, NULL, 4);
    open_job(&half, &one, NULL, 2);
    check_run(&half, i);
    const zp_store load = zp_case_memory_store(&half.t->saved[1]);
    open_job(&rest, &two, &load, 2);
    check_run(&rest, i);
    cr_assert_null(differs(&whole.t->saved[0], &rest.t->saved[1]), "case %d: %s", (int)i - 1,
                   differs(&whole.t->saved[0], &rest.t->saved[1]));
    zp_diff_close(rest.t);
    zp_diff_close(half.t);
    zp_diff_close(whole.t);
  }
}

/* ---- Files ----------------------------------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *s, int flag, struct FTW *f)
{
  (void)s, (void)flag, (void)f;
  return remove(path);
}

typedef struct files {
  const char *dir;
  const zp_config *cfg;
  zp_ckpt_writer *writer[64];
  zp_store out[64];
} files;

static int open_writer(void *ctx, int32_t rank, int64_t step, zp_store *store, zp_error *err)
{
  files *f = ctx;
  const zp_ckpt_save save = {.step = step, .rank = rank, .word = 8, .workload = "{}"};
  return zp_ckpt_writer_open(&f->writer[rank], f->dir, (zp_ckpt_model){f->cfg, NULL}, &save, store,
                             err);
}

static void close_writer(void *ctx, int32_t rank)
{
  zp_ckpt_writer_close(((files *)ctx)->writer[rank]);
}

/* Ref has run; it saves once more, into files. */
static void ref_saves(const job *j, const char *dir)
{
  static files f;
  zp_error err = {0};
  f = (files){.dir = dir, .cfg = &j->c.cfg};
  for (int32_t r = 0; r < j->t->world; r++) {
    cr_assert_eq(open_writer(&f, r, j->c.steps, &f.out[r], &err), 0, "%s", err.text);
    zp_sim_rank(j->t->ref.sim, r)->store = &f.out[r];
  }
  cr_assert_eq(zp_sim_run(j->t->ref.sim, ZP_PHASE_SAVE, &err), 0, "%s", err.text);
  for (int32_t r = 0; r < j->t->world; r++) close_writer(&f, r);
}

static void engine_saves(job *j, const char *dir)
{
  static files f;
  f = (files){.dir = dir, .cfg = &j->c.cfg};
  j->t->storage.ctx = &f;
  j->t->storage.open = open_writer;
  j->t->storage.close = close_writer;
  cr_assert_eq(zp_diff_run(j->t, &(zp_schedule){.seed = 9, .producers = 2}), 0, "%s",
               zp_diff_finding(j->t)->text);
}

/* Both executors read the directory under another split, and hold what the trial had saved. */
static void both_load(const job *a, const char *dir, int32_t n)
{
  static job b;
  static zp_case split;
  zp_ckpt_reader *reader;
  zp_store in;
  zp_error err = {0};
  other_split(&split, &a->c, n);
  cr_assert_eq(zp_ckpt_reader_open(&reader, dir, (zp_ckpt_model){&split.cfg, NULL}, &in, &err), 0,
               "%s", err.text);
  open_job(&b, &split, &in, 0);
  check_run(&b, (uint64_t)n);
  for (int32_t by = 0; by < 2; by++)
    cr_assert_null(differs(&a->t->saved[0], &b.t->saved[by]), "%s",
                   differs(&a->t->saved[0], &b.t->saved[by]));
  zp_ckpt_reader_close(reader);
  zp_diff_close(b.t);
}

Test(storage, files_of_ref_and_engine_are_read_by_both_under_other_splits)
{
  static job a;
  static zp_case c;
  uint64_t i = 100;
  for (int32_t n = 0; n < 4; n++) {
    char top[] = "/tmp/zp-cuda-ckpt-XXXXXX", by_ref[64], by_engine[64];
    cr_assert_not_null(mkdtemp(top));
    snprintf(by_ref, sizeof by_ref, "%s/ref", top);
    snprintf(by_engine, sizeof by_engine, "%s/engine", top);
    saving_case(&c, &i);
    open_job(&a, &c, NULL, c.steps);
    ref_saves(&a, by_ref);
    engine_saves(&a, by_engine);
    both_load(&a, by_ref, n);
    both_load(&a, by_engine, n);
    zp_diff_close(a.t);
    nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
  }
}

/* ---- Failures -------------------------------------------------------------------------------- */

/* One rank's way to memory. Its call number fail_at (from 1) fails. */
typedef struct failing {
  zp_store to;
  int32_t rank, calls, fail_at;
} failing;

static int refused(failing *f, const char *what, zp_error *err)
{
  if (++f->calls != f->fail_at) return 0;
  return zp_fail(err, ZP_E_FILE, f->rank, "the store's %s failed as planned", what);
}

static int put(void *ctx, int32_t param, int32_t tp, int32_t ep, int32_t what, int64_t offset,
               int64_t count, const float *value, zp_error *err)
{
  failing *f = ctx;
  if (refused(f, "put", err)) return -1;
  return f->to.put(f->to.ctx, param, tp, ep, what, offset, count, value, err);
}

static int finish(void *ctx, const zp_train_state *state, zp_error *err)
{
  failing *f = ctx;
  return refused(f, "finish", err) ? -1 : f->to.finish(f->to.ctx, state, err);
}

static int commit(void *ctx, zp_error *err)
{
  failing *f = ctx;
  return refused(f, "commit", err) ? -1 : f->to.commit(f->to.ctx, err);
}

static int get(void *ctx, int32_t param, int32_t tp, int32_t ep, int32_t what, int64_t offset,
               int64_t count, float *value, zp_error *err)
{
  failing *f = ctx;
  if (refused(f, "get", err)) return -1;
  return f->to.get(f->to.ctx, param, tp, ep, what, offset, count, value, err);
}

static int state_of(void *ctx, zp_train_state *out, zp_error *err)
{
  failing *f = ctx;
  return refused(f, "state", err) ? -1 : f->to.state(f->to.ctx, out, err);
}

static int32_t bad_rank, bad_call, failures, as_expected;
static zp_case_memory lost;

/* 1: it says what went wrong here, or that it went wrong elsewhere. */
static int says_why(const zp_diff_rank *w, int status)
{
  const zp_error *why = zp_cuda_why(w->e);
  if (status != why->status || !strstr(why->text, "program position")) return 0;
  if (w->rank == bad_rank) return status == ZP_E_FILE && strstr(why->text, "failed as planned");
  return status == ZP_E_PEER && strstr(why->text, "failed on 1 other rank");
}

static int fail_at(zp_diff_rank *w, int (*call)(zp_cuda *, zp_store *), zp_store to)
{
  const zp_diff_ledger issued = w->issued;
  failing f = {to, w->rank, 0, w->rank == bad_rank ? bad_call : 0};
  zp_store store = {&f, put, finish, commit, get, state_of};
  w->issued = (zp_diff_ledger){0}; /* ref has not done this */
  const int status = call(w->e, &store);
  zp_diff_ledger_free(&w->issued);
  w->issued = issued;
  if (status == 0) return 0;
  failures++;
  as_expected += says_why(w, status);
  return status;
}

/* Before the last step a save that may fail; the state is what it was, as the end will show. */
static int save_in_vain(zp_diff_rank *w)
{
  if (w->steps_done == w->t->steps - 1) fail_at(w, zp_cuda_save, zp_case_memory_store(&lost));
  return 0;
}

static int load_in_vain(zp_diff_rank *w)
{
  zp_step_state state;
  zp_store none = {0};
  int status;
  if (w->steps_done > 0) return 0;
  status = fail_at(w, zp_cuda_load, *w->t->storage.load);
  if (status == 0) return 0;
  if (zp_cuda_step(w->e) != status || zp_cuda_get(w->e, &state) != status ||
      zp_cuda_save(w->e, &none) != status || zp_cuda_load(w->e, &none) != status)
    as_expected = -1;
  return -1;
}

/* Every call of one rank's store fails in turn; returns how many there are. */
static int32_t each_call(const job *j, int32_t rank)
{
  zp_diff *t = j->t;
  const int load = t->hooks.before_step == load_in_vain;
  bad_rank = rank;
  for (bad_call = 1;; bad_call++) {
    const zp_schedule s = {
        .seed = (uint64_t)bad_call, .order = (simdev_order)(bad_call % 4), .producers = 2};
    zp_case_memory_clear(&lost);
    failures = as_expected = 0;
    const int status = zp_diff_run(t, &s);
    cr_assert((failures == 0 || failures == t->world) && as_expected == failures,
              "rank %d, call %d: known to %d, as it is to %d", rank, bad_call, failures,
              as_expected);
    if (failures == 0) {
      cr_assert_eq(status, 0, "%s", t->found.text);
      cr_assert_eq(lost.committed, !load);
      return bad_call - 1;
    }
    cr_assert_eq(status, load, "rank %d, call %d: %s", rank, bad_call, t->found.text);
    cr_assert_eq(lost.committed, 0, "rank %d, call %d", rank, bad_call);
  }
}

Test(storage, a_failed_save_is_reported_by_all_ranks_and_changes_nothing)
{
  static job j;
  static zp_case c;
  uint64_t i = 200;
  int32_t calls = 0;
  saving_case(&c, &i);
  open_job(&j, &c, NULL, c.steps);
  cr_assert_eq(zp_case_memory_open(&lost, &j.c.cfg), 0);
  j.t->hooks.before_step = save_in_vain;
  for (int32_t r = 0; r < j.t->world; r++) calls += each_call(&j, r);
  cr_assert_gt(calls, j.t->world + 1); /* each finishes, one commits, some put */
  zp_case_memory_close(&lost);
  zp_diff_close(j.t);
}

Test(storage, a_failed_load_ends_all_ranks)
{
  static job a, j;
  static zp_case c;
  uint64_t i = 300;
  int32_t calls = 0;
  saving_case(&c, &i);
  open_job(&a, &c, NULL, c.steps);
  const zp_store load = zp_case_memory_store(&a.t->saved[0]);
  open_job(&j, &c, &load, c.steps);
  cr_assert_eq(zp_case_memory_open(&lost, &j.c.cfg), 0);
  j.t->hooks.before_step = load_in_vain;
  for (int32_t r = 0; r < j.t->world; r++) calls += each_call(&j, r);
  cr_assert_gt(calls, 2 * j.t->world);
  zp_case_memory_close(&lost);
  zp_diff_close(j.t);
  zp_diff_close(a.t);
}

/* ---- Ranks that go --------------------------------------------------------------------------- */

/* Runs with one fault of rank 1; everybody else ends with an error about a peer that says where,
 * and nothing is published. */
static void check_gone(zp_diff *t, simdev_fault f)
{
  for (uint64_t k = 0; k < 4; k++) {
    const zp_schedule s = {.seed = k,
                           .order = (simdev_order)k,
                           .producers = 2,
                           .hosts = k % 2,
                           .alarm = k / 2 % 2,
                           .faults = &f,
                           .fault_count = 1,
                           .allow_leaks = 1,
                           .remote_errors = 1 + (simdev_choice)k % 2};
    cr_assert_eq(zp_diff_run(t, &s), 1);
    for (int32_t r = 0; r < t->world; r++) {
      if (r == f.rank) continue;
      cr_assert_eq(t->error[r].status, ZP_E_PEER, "%s %lld, seed %d: rank %d: %d %s\n%s", f.call,
                   (long long)f.n, (int)k, r, t->error[r].status, t->error[r].text, t->found.text);
      check_position(t, r);
    }
    cr_assert_eq(t->saved[1].committed, 0);
  }
}

/* `exact`, and the shard's stages: each all-reduce of the program is one of NCCL's. Opening takes
 * pinned memory three times, once more with dynamic shapes; then the save. */
static void open_all_reduces(job *j, int32_t *reduces, int32_t *opened)
{
  static zp_case c;
  uint64_t i = 400;
  do saving_case(&c, &i);
  while (c.cfg.stage == 0 || c.cfg.reduce != ZP_EXACT);
  open_job(j, &c, NULL, c.steps);
  *opened = c.cfg.dynamic_shapes ? 4 : 3;
  *reduces = 0;
  for (int64_t k = 0; k < j->t->ref.ledger[1].n; k++)
    *reduces += j->t->ref.ledger[1].op[k].kind == ZP_OP_ALL_REDUCE;
}

/* LEDG-7, CKPT-2 */
Test(storage, every_wait_ends_if_a_rank_exits_during_a_save)
{
  static job j;
  int32_t n, opened;
  if (__lsan_disable) __lsan_disable();
  open_all_reduces(&j, &n, &opened);
  for (simdev_fault_kind kind = SIMDEV_FAULT_STOP; kind <= SIMDEV_FAULT_DIE; kind++) {
    check_gone(j.t, (simdev_fault){kind, 1, "cudaMallocHost", opened + 1, 0});
    check_gone(j.t, (simdev_fault){kind, 1, "ncclAllReduce", n - 1, 0});
  }
  zp_diff_close(j.t);
}

/* A rank that has no memory for the copies takes part, and says so. */
Test(storage, a_rank_without_memory_for_a_save_blocks_no_other)
{
  static job j;
  int32_t n, opened;
  open_all_reduces(&j, &n, &opened);
  for (int32_t k = 0; k < 2; k++) {
    check_gone(j.t, (simdev_fault){SIMDEV_FAULT_ERROR, 1, "cudaMallocHost", opened + 1 + k,
                                   (int32_t)cudaErrorMemoryAllocation});
    cr_assert(j.t->error[1].status == ZP_E_FILE &&
                  strstr(j.t->error[1].text, "no host memory for a checkpoint"),
              "%s", j.t->error[1].text);
  }
  zp_diff_close(j.t);
}
