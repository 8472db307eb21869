/* Checkpoints of the CUDA engine are ref's, bit for bit, in both directions and under any split;
 * whichever call of a store fails, on whichever rank, all ranks end alike.
 * spec: CKPT-1, CKPT-2, CKPT-3, CKPT-5 */
#define _XOPEN_SOURCE 700
#include <criterion/criterion.h>
#include <ftw.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../ref/engine/checkpoint.h"
#include "engine_case.h"

enum { SEEDS = 3, STACK = 1 << 20 };

/* The next job from `seed` on that saves, with frozen and tied entries on at least two ranks. */
static uint32_t saving_job(job *j, uint32_t seed)
{
  for (;; seed++) {
    int32_t frozen = 0, tied = 0;
    cr_assert_eq(job_fill(j, seed, RANKS_MAX), 0, "job %u: %s", seed, j->text);
    for (int32_t i = 0; i < j->r.c.n_params; i++) {
      frozen += j->r.c.params[i].frozen && j->r.c.params[i].numel > 0;
      tied += j->r.c.params[i].tied >= 0;
    }
    if (j->saves && frozen && tied && j->world > 1) return seed;
    job_free(j);
  }
}

static void check_run(job *j, uint64_t seed)
{
  simdev *s = job_simdev(j, NULL);
  char text[240];
  job_describe(j, text, sizeof text);
  for (int32_t k = 0; k < SEEDS; k++) {
    const simdev_options o = {
        .seed = seed + (uint64_t)k, .order = (simdev_order)k, .stack_bytes = STACK};
    cr_assert_eq(job_run(j, s, &o), SIMDEV_OK, "%s, seed %llu:\n%s\n%s\n%s", text,
                 (unsigned long long)o.seed, j->text, simdev_result(s)->text, j->error[0].text);
  }
  simdev_close(s);
}

/* Another way to cut the same model: tp and ep stay. */
static zp_config other_split(const zp_config *c, int32_t n)
{
  zp_config o = *c;
  o.pp = c->pp == 1 ? 1 : 1 + (c->pp + n) % 2;
  o.dp = c->ep * (1 + n % 3);
  o.stage = (c->stage + 1 + n) % 3;
  o.bucket = c->bucket + 3 + 5 * n;
  o.align = 1 + n % 2;
  o.reduce = n % 2;
  return o;
}

/* What either saved, both load and save again: it is still the same. */
Test(storage, a_checkpoint_goes_from_ref_and_engine_to_ref_and_engine_under_other_splits)
{
  static job a, b;
  uint32_t seed = 4001;
  for (int32_t n = 0; n < 12; n++, seed++) {
    seed = saving_job(&a, seed);
    check_run(&a, seed); /* both save: the same */
    for (int32_t from = 0; from < 2; from++) {
      const zp_config split = other_split(&a.r.c, n + from);
      const char *differs;
      const int where = job_resplit(&b, &a, &split, &a.saved[from], 0);
      cr_assert_eq(where, 0, "job %u: line %d", seed, where);
      check_run(&b, seed);
      differs = memory_differs(&a.saved[0], &b.saved[1], 1);
      cr_assert_null(differs, "job %u: %s", seed, differs);
      job_free(&b);
    }
    job_free(&a);
  }
}

/* CKPT-5: under `exact`, and with the same global batch, a run that is saved in the middle and goes
 * on under another split ends where the uninterrupted one does. */
Test(storage, a_run_goes_on_from_a_checkpoint_under_another_split)
{
  static const struct {
    int32_t dp, m;
  } global[] = {{2, 2}, {4, 1}, {1, 4}};
  static job model, whole, half, rest;
  uint32_t seed = 4401;
  for (int32_t n = 0; n < 6; n++, seed++) {
    zp_config one, two;
    const char *differs;
    for (;; seed++) {
      seed = saving_job(&model, seed);
      if (model.r.c.pp * 4 <= RANKS_MAX) break;
      job_free(&model);
    }
    for (int32_t i = 0; i < model.r.c.n_params; i++) model.r.list[i].expert = 0;
    one = two = model.r.c;
    one.ep = two.ep = one.tp = two.tp = 1;
    one.reduce = two.reduce = ZP_EXACT;
    one.dp = global[n % 3].dp;
    one.micro_batches = global[n % 3].m;
    two.dp = global[(n + 1) % 3].dp;
    two.micro_batches = global[(n + 1) % 3].m;
    two.pp = one.pp > 1 && n % 2 ? 1 : one.pp;
    two.stage = (one.stage + 1) % 3;
    two.bucket = one.bucket + 7;
    memory_invent(&model.origin, seed, 5, model.hyper.scaler);
    cr_assert_eq(job_resplit(&whole, &model, &one, &model.origin, 4), 0, "%s", whole.text);
    cr_assert_eq(job_resplit(&half, &model, &one, &model.origin, 2), 0, "%s", half.text);
    check_run(&half, seed);
    cr_assert_eq(job_resplit(&rest, &model, &two, &half.saved[1], 2), 0, "%s", rest.text);
    check_run(&rest, seed);
    differs = memory_differs(&whole.saved[0], &rest.saved[1], 1);
    cr_assert_null(differs, "job %u: %s", seed, differs);
    job_free(&rest);
    job_free(&half);
    job_free(&whole);
    job_free(&model);
  }
}

/* ---- Files ----------------------------------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *s, int flag, struct FTW *f)
{
  (void)s, (void)flag, (void)f;
  return remove(path);
}

typedef struct files {
  zp_ckpt_writer *writer[RANKS_MAX];
  zp_store out[RANKS_MAX];
} files;

static void open_writers(files *f, const char *dir, const job *j)
{
  const zp_ckpt_model model = {&j->r.c, NULL};
  zp_error err = {0};
  for (int32_t r = 0; r < j->world; r++)
    cr_assert_eq(zp_ckpt_writer_open(&f->writer[r], dir, model, j->base + j->steps, r, "{}",
                                     &f->out[r], &err),
                 0, "%s", err.text);
}

static void close_writers(files *f, const job *j)
{
  for (int32_t r = 0; r < j->world; r++) zp_ckpt_writer_close(f->writer[r]);
}

/* Saves of ref: job_fill has run it; it saves once more, into files. */
static void ref_saves(job *j, const char *dir)
{
  files f;
  zp_error err = {0};
  open_writers(&f, dir, j);
  for (int32_t r = 0; r < j->world; r++) zp_sim_rank(j->ref, r)->store = &f.out[r];
  cr_assert_eq(zp_sim_run(j->ref, ZP_PHASE_SAVE, &err), 0, "%s", err.text);
  close_writers(&f, j);
}

static void engine_saves(job *j, simdev *s, const char *dir)
{
  files f;
  const simdev_options o = {.seed = 9, .stack_bytes = STACK};
  open_writers(&f, dir, j);
  job_begin(j);
  j->out = f.out;
  simdev_reset(s, &o);
  cr_assert_eq(simdev_run(s), SIMDEV_OK, "%s\n%s\n%s", simdev_result(s)->text, j->text,
               j->error[0].text);
  j->out = NULL;
  close_writers(&f, j);
}

/* Both executors read the directory under another split, and hold what the job had saved. */
static void both_load(const job *a, const char *dir, int32_t n)
{
  static job b;
  const zp_config split = other_split(&a->r.c, n);
  zp_ckpt_reader *reader;
  zp_store in[RANKS_MAX];
  zp_error err = {0};
  const char *differs;
  cr_assert_eq(job_resplit(&b, a, &split, &a->saved[0], 0), 0);
  cr_assert_eq(zp_ckpt_reader_open(&reader, dir, (zp_ckpt_model){&b.r.c, NULL}, &in[0], &err), 0,
               "%s", err.text);
  for (int32_t r = 0; r < b.world; r++) {
    in[r] = in[0];
    zp_sim_rank(b.ref, r)->store = &in[r];
  }
  cr_assert_eq(zp_sim_run(b.ref, ZP_PHASE_LOAD, &err), 0, "%s", err.text);
  memset(&b.saved[0], 0, sizeof b.saved[0]);
  cr_assert_eq(ref_storage(&b, ZP_PHASE_SAVE, &b.saved[0], &err), 0, "%s", err.text);
  b.in = in;
  check_run(&b, a->seed);
  differs = memory_differs(&a->saved[0], &b.saved[1], 1);
  cr_assert_null(differs, "%s", differs);
  zp_ckpt_reader_close(reader);
  job_free(&b);
}

Test(storage, files_of_ref_and_engine_are_read_by_both_under_other_splits)
{
  static job a;
  uint32_t seed = 4101;
  for (int32_t n = 0; n < 4; n++, seed++) {
    char top[] = "/tmp/zp-cuda-ckpt-XXXXXX", by_ref[64], by_engine[64];
    simdev *s;
    cr_assert_not_null(mkdtemp(top));
    snprintf(by_ref, sizeof by_ref, "%s/ref", top);
    snprintf(by_engine, sizeof by_engine, "%s/engine", top);
    seed = saving_job(&a, seed);
    s = job_simdev(&a, NULL);
    ref_saves(&a, by_ref);
    engine_saves(&a, s, by_engine);
    both_load(&a, by_ref, n);
    both_load(&a, by_engine, n);
    simdev_close(s);
    job_free(&a);
    nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
  }
}

/* ---- Failures -------------------------------------------------------------------------------- */

static int32_t bad_rank, bad_call, failures, as_expected;
static memory lost;

/* 1: it says what went wrong here, or that it went wrong elsewhere. */
static int judge(worker *w, int status)
{
  const zp_cuda_error *why = zp_cuda_why(w->e);
  if (status != why->status || !strstr(why->text, "program position")) return 0;
  if (w->rank == bad_rank)
    return status == ZP_CUDA_E_STORE && strstr(why->text, "failed as planned");
  return status == ZP_CUDA_E_PEER && strstr(why->text, "failed on 1 other rank");
}

static int fail_at(worker *w, int (*call)(zp_cuda *, zp_store *), memory *m)
{
  const int64_t issued = w->issued.n; /* ref has not done this */
  int status;
  w->j->store[w->rank].fail_at = w->rank == bad_rank ? bad_call : 0;
  status = store_call(w, m, call);
  w->j->store[w->rank].fail_at = 0;
  w->issued.n = issued;
  if (status == 0) return 0;
  failures++;
  as_expected += judge(w, status);
  return status;
}

/* Before the last step a save that may fail; the state is what it was, as the end will show. */
static int save_in_vain(worker *w)
{
  if (w->steps_done == w->j->steps - 1) fail_at(w, zp_cuda_save, &lost);
  return 0;
}

static int load_in_vain(worker *w)
{
  zp_step_state state;
  zp_store none = {0};
  int status;
  if (w->steps_done > 0) return 0;
  status = fail_at(w, zp_cuda_load, &w->j->origin);
  if (status == 0) return 0;
  if (zp_cuda_step(w->e) != status || zp_cuda_get(w->e, &state) != status ||
      zp_cuda_save(w->e, &none) != status || zp_cuda_load(w->e, &none) != status)
    as_expected = -1;
  return -1;
}

/* Every call of one rank's store fails in turn; returns how many there are. */
static int32_t each_call(job *j, simdev *s, int32_t rank, int32_t published)
{
  bad_rank = rank;
  for (bad_call = 1;; bad_call++) {
    const simdev_options o = {.seed = (uint64_t)bad_call, .order = (simdev_order)(bad_call % 4)};
    const int load = j->before_step == load_in_vain;
    memset(&lost, 0, sizeof lost);
    failures = as_expected = 0;
    const simdev_status status = job_run(j, s, &o);
    cr_assert((failures == 0 || failures == j->world) && as_expected == failures,
              "rank %d, call %d: known to %d, as it is to %d", rank, bad_call, failures,
              as_expected);
    if (failures == 0) {
      cr_assert_eq(status, SIMDEV_OK, "%s", j->text);
      cr_assert_eq(lost.committed, published);
      return bad_call - 1;
    }
    cr_assert_eq(status, load ? SIMDEV_E_HOST : SIMDEV_OK, "rank %d, call %d: %s\n%s\n%s", rank,
                 bad_call, j->text, simdev_result(s)->text, j->error[rank].text);
    cr_assert_eq(lost.committed, 0, "rank %d, call %d", rank, bad_call);
  }
}

Test(storage, a_save_that_fails_anywhere_is_known_to_all_and_changes_nothing)
{
  static job j;
  simdev *s;
  int32_t calls = 0;
  saving_job(&j, 4201);
  s = job_simdev(&j, NULL);
  j.before_step = save_in_vain;
  for (int32_t r = 0; r < j.world; r++) calls += each_call(&j, s, r, 1);
  cr_assert_gt(calls, j.world + 1); /* each finishes, one commits, some put */
  simdev_close(s);
  job_free(&j);
}

Test(storage, a_load_that_fails_anywhere_ends_all_ranks)
{
  static job j;
  simdev *s;
  uint32_t seed = 4301;
  int32_t calls = 0;
  do {
    if (seed > 4301) job_free(&j);
    seed = saving_job(&j, seed) + 1;
  } while (!j.loads);
  s = job_simdev(&j, NULL);
  j.before_step = load_in_vain;
  for (int32_t r = 0; r < j.world; r++) calls += each_call(&j, s, r, 0);
  cr_assert_gt(calls, 2 * j.world);
  simdev_close(s);
  job_free(&j);
}

/* ---- Ranks that go --------------------------------------------------------------------------- */

/* What a stopped host has allocated nobody frees: it is no leak of the engine's. */
void __lsan_disable(void) __attribute__((weak));

/* Runs with one fault of rank 1; everybody else ends with an error of `status` that says where, and
 * nothing is published. */
static void check_gone(job *j, simdev *s, simdev_fault f, int32_t status)
{
  for (int32_t k = 0; k < 4; k++) {
    const simdev_options o = {.seed = (uint64_t)k,
                              .order = (simdev_order)k,
                              .faults = &f,
                              .fault_count = 1,
                              .allow_leaks = 1,
                              .remote_errors = 1 + (simdev_choice)k % 2};
    cr_assert_neq(job_run(j, s, &o), SIMDEV_OK);
    for (int32_t r = 0; r < j->world; r++)
      cr_assert(r == f.rank ||
                    (j->error[r].status == status && strstr(j->error[r].text, "program position")),
                "%s %lld, seed %d: rank %d: %d %s\n%s", f.call, (long long)f.n, k, r,
                j->error[r].status, j->error[r].text, simdev_result(s)->text);
    cr_assert_eq(j->saved[1].committed, 0);
  }
}

/* `exact`, and the shard's stages: each all-reduce of the program is one of NCCL's. */
static void job_of_all_reduces(job *j, int32_t *n)
{
  uint32_t seed = 4501;
  for (;; seed++) {
    seed = saving_job(j, seed);
    if (j->r.c.stage > 0 && j->r.c.reduce == ZP_EXACT && !j->loads) break;
    job_free(j);
  }
  *n = 0;
  for (int64_t i = 0; i < j->ledger[1].n; i++) *n += j->ledger[1].op[i].kind == ZP_OP_ALL_REDUCE;
}

/* LEDG-7, CKPT-2. Opening takes pinned memory three times, once more with dynamic shapes; then the
 * save. */
Test(storage, nobody_waits_for_a_rank_that_is_gone_in_a_save)
{
  static job j;
  simdev *s;
  int32_t n;
  if (__lsan_disable) __lsan_disable();
  job_of_all_reduces(&j, &n);
  s = job_simdev(&j, NULL);
  const int32_t opened = j.r.c.dynamic_shapes ? 4 : 3;
  for (simdev_fault_kind kind = SIMDEV_FAULT_STOP; kind <= SIMDEV_FAULT_DIE; kind++) {
    check_gone(&j, s, (simdev_fault){kind, 1, "cudaMallocHost", opened + 1, 0}, ZP_CUDA_E_PEER);
    check_gone(&j, s, (simdev_fault){kind, 1, "ncclAllReduce", n - 1, 0}, ZP_CUDA_E_PEER);
  }
  simdev_close(s);
  job_free(&j);
}

/* A rank that has no memory for the copies takes part, and says so. */
Test(storage, a_rank_without_memory_for_a_save_keeps_nobody_waiting)
{
  static job j;
  simdev *s;
  int32_t n;
  job_of_all_reduces(&j, &n);
  s = job_simdev(&j, NULL);
  for (int32_t k = 0; k < 2; k++) {
    const int64_t call = (j.r.c.dynamic_shapes ? 5 : 4) + k;
    check_gone(&j, s,
               (simdev_fault){SIMDEV_FAULT_ERROR, 1, "cudaMallocHost", call,
                              (int32_t)cudaErrorMemoryAllocation},
               ZP_CUDA_E_PEER);
    cr_assert(j.error[1].status == ZP_CUDA_E_STORE &&
                  strstr(j.error[1].text, "no host memory for a checkpoint"),
              "%s", j.error[1].text);
  }
  simdev_close(s);
  job_free(&j);
}
