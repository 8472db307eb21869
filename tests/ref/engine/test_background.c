/* Laws of ref/engine/background.h: a save in the background writes what a save writes, its memory
 * is what the plan promises, and neither a crash nor a failing disk at any moment loses the
 * checkpoint before it. spec: CKPT-2, CKPT-6, CKPT-11 */
#define _GNU_SOURCE
#include "../../../ref/comm/sim/comm_sim.h"
#include "../../../ref/engine/background.h"
#include "../../../ref/engine/rank_plan.h"
#include "../../../ref/model/synth.h"
#include "../../../ref/verify/random_case.h"
#include "crash_case.h"

TestSuite(background, .init = make_temp, .fini = remove_temp);

/* A save by WORLD writers through one background thread. */
static int save_behind(const char *where, int64_t step, int64_t cut, crash *c, zp_error *err)
{
  zp_background *b = zp_background_open(WORLD);
  zp_ckpt_writer *w[WORLD] = {0};
  zp_store disk[WORLD], store[WORLD];
  zp_optim_state optim[2];
  zp_train_state state = state_of(step, optim);
  int status = 0;
  for (int32_t r = 0; r < WORLD && !status; r++) {
    const zp_ckpt_save s = {.step = step, .rank = r, .word = 5, .workload = "{\"seed\": 7}"};
    status = zp_ckpt_writer_open(&w[r], where, model, &s, &disk[r], err);
    if (!status && c) zp_ckpt_writer_watch(w[r], at_event, c);
    if (!status) zp_background_take(b, r, &disk[r], &store[r]);
  }
  for (int32_t r = 0; r < WORLD && !status; r++) {
    status = put_part(&store[r], r, cut, step, err);
    if (!status) status = store[r].finish(store[r].ctx, &state, err);
  }
  if (!status) status = store[0].commit(store[0].ctx, err);
  if (!status) {
    zp_background_start(b);
    state = state_of(step + 1, optim); /* the copy has the state of its step */
    for (int32_t r = 0; r < WORLD; r++) zp_background_seal(b, r, &store[r]);
    for (int32_t r = 0; r < WORLD && !status; r++)
      status = store[r].finish(store[r].ctx, &state, err);
    if (!status) status = store[0].commit(store[0].ctx, err);
  }
  zp_background_close(b);
  for (int32_t r = 0; r < WORLD; r++) zp_ckpt_writer_close(w[r]);
  return status;
}

/* spec: CKPT-11 */
Test(background, what_is_copied_is_what_is_read_back)
{
  for (int64_t cut = 1; cut < 13; cut++) {
    zp_error err = {0};
    cr_assert_eq(save_behind(dir, cut, cut, NULL, &err), 0, "%s", err.text);
    check_current(cut, 5);
  }
}

/* spec: CKPT-2 */
Test(background, a_crash_at_any_moment_leaves_a_whole_checkpoint)
{
  check_crashes(save_behind);
}

/* spec: CKPT-2, CKPT-6 */
Test(background, a_failing_disk_is_reported_and_loses_nothing)
{
  check_full_disks(save_behind);
}

/* ---- Runs ------------------------------------------------------------------------------------ */

enum { LARGE = 60000, LARGE_ENTRIES = 5 };
typedef struct written {
  float value[LARGE_ENTRIES][LARGE];
  int32_t times[LARGE_ENTRIES][LARGE];
  int32_t ended;
} written;

static int write_to(void *ctx, int32_t param, int32_t tp, int32_t ep, int32_t what, int64_t offset,
                    int64_t count, const float *value, zp_error *err)
{
  written *w = ctx;
  (void)err;
  cr_assert(tp == param % 2 && ep == param % 3 && what == ZP_WHAT_MASTER + param % 3);
  cr_assert(offset >= 0 && count > 0 && offset + count <= LARGE);
  for (int64_t i = 0; i < count; i++) {
    w->value[param][offset + i] = value[i];
    w->times[param][offset + i]++;
  }
  return 0;
}

static int end_writing(void *ctx, const zp_train_state *state, zp_error *err)
{
  written *w = ctx;
  (void)state, (void)err;
  w->ended++;
  return 0;
}

/* Runs that are longer than a block of the copy, shorter, and continued by the next one; the second
 * copy is smaller and uses the memory of the first. spec: CKPT-11 */
Test(background, every_value_is_written_once_whatever_the_runs)
{
  zp_background *b = zp_background_open(1);
  written *w = calloc(1, sizeof *w);
  float *values = malloc(LARGE * sizeof *values);
  const zp_store disk = {.ctx = w, .put = write_to, .finish = end_writing};
  for (int32_t cut = LARGE, entries = LARGE_ENTRIES; cut > 4; cut = cut * 2 / 3, entries = 3) {
    const zp_train_state state = {.step = cut};
    zp_error err = {0};
    zp_store to;
    memset(w, 0, sizeof *w);
    zp_background_take(b, 0, &disk, &to);
    for (int64_t at = 0; at < LARGE; at += cut)
      for (int32_t j = 0; j < entries; j++) {
        const int64_t n = LARGE - at < cut ? LARGE - at : cut;
        for (int64_t i = 0; i < n; i++) values[i] = (float)((at + i) * 8 + j);
        cr_assert_eq(to.put(to.ctx, j, j % 2, j % 3, ZP_WHAT_MASTER + j % 3, at, n, values, &err),
                     0, "%s", err.text);
      }
    cr_assert_eq(to.finish(to.ctx, &state, &err), 0);
    cr_assert_eq(zp_background_bytes(b, 0), (int64_t)entries * LARGE * 4);
    zp_background_start(b);
    zp_background_seal(b, 0, &to);
    cr_assert_eq(to.finish(to.ctx, &state, &err), 0);
    zp_background_end(b);
    cr_assert_eq(w->ended, 1);
    for (int32_t j = 0; j < LARGE_ENTRIES; j++)
      for (int64_t i = 0; i < LARGE; i++) {
        cr_assert_eq(w->times[j][i], j < entries, "entry %d, element %d", (int)j, (int)i);
        if (j < entries) cr_assert_eq(w->value[j][i], (float)(i * 8 + j));
      }
  }
  zp_background_close(b);
  free(values);
  free(w);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static int keep(void *ctx, int32_t param, int32_t tp, int32_t ep, int32_t what, int64_t offset,
                int64_t count, const float *value, zp_error *err)
{
  (void)ctx, (void)param, (void)tp, (void)ep, (void)what, (void)offset, (void)count, (void)value;
  (void)err;
  return 0;
}

/* The SAVE program of all ranks of a random case; its copies are as large as planned. */
static int64_t compare_memory(uint64_t seed)
{
  static zp_case c;
  zp_error err = {0};
  zp_rank_plan p;
  int64_t all = 0;
  zp_hyper hyper;
  zp_fuzz_random(23, seed, &c);
  zp_synth synth = {c.synth};
  zp_case_hyper(&c, &hyper);
  const zp_workload work = zp_synth_workload(&synth);
  zp_sim *sim = zp_sim_open(&c.cfg, &hyper, &work, &err);
  cr_assert_not_null(sim, "seed %d: %s", (int)seed, err.text);
  const int32_t world = zp_sim_world(sim);
  zp_background *b = zp_background_open(world);
  zp_store *store = calloc((size_t)world, sizeof *store);
  const zp_store disk = {.put = keep};
  cr_assert_eq(zp_sim_run(sim, ZP_PHASE_INIT, &err), 0, "%s", err.text);
  for (int32_t r = 0; r < world; r++) {
    zp_background_take(b, r, &disk, &store[r]);
    zp_sim_rank(sim, r)->store = &store[r];
  }
  cr_assert_eq(zp_sim_run(sim, ZP_PHASE_SAVE, &err), 0, "%s", err.text);
  for (int32_t r = 0; r < world; r++) {
    cr_assert_eq(zp_rank_plan_open(&p, &c.cfg, &hyper, r, &err), 0, "%s", err.text);
    cr_assert_eq(zp_rank_plan_snapshot(&p), zp_background_bytes(b, r), "seed %d, rank %d",
                 (int)seed, (int)r);
    zp_rank_plan_close(&p);
    all += zp_background_bytes(b, r);
  }
  zp_background_close(b);
  zp_sim_close(sim);
  free(store);
  return all;
}

/* spec: CKPT-11 */
Test(background, its_memory_is_what_the_plan_promises)
{
  int64_t all = 0;
  for (uint64_t seed = 1; seed <= 60; seed++) all += compare_memory(seed);
  cr_assert_gt(all, 0);
}
