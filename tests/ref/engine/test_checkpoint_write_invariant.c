/* The checkpoint writer checks its state at the entry and exit of each call: damage is an internal
 * error with file and line. */
#include "../../../ref/engine/checkpoint_write.c" /* for the members of its state */

#include "checkpoint_case.h"
#include "damage.h"

static zp_ckpt_writer *w;
static zp_store store;
static zp_error err;
static zp_optim_state optim[2];

static void open_writer(void)
{
  const zp_ckpt_save part = {.step = 3, .workload = "{}"};
  make_temp();
  cr_assert_eq(zp_ckpt_writer_open(&w, dir, model, &part, &store, &err), 0, "%s", err.text);
}

static void close_writer(void)
{
  zp_ckpt_writer_close(w);
  remove_temp();
}

static int put_one(void)
{
  const float value[2] = {1, 2};
  return store.put(store.ctx, 0, 0, 0, ZP_WHAT_MASTER, 0, 2, value, &err);
}

static void call_fails(int status, const char *condition)
{
  cr_assert_eq(status, ZP_E_INTERNAL, "%s: %d", condition, status);
  check_internal(&err, "ref/engine/checkpoint_write.c", condition);
  memset(&err, 0, sizeof err);
}

/* Each function of the store. */
static void all_fail(const char *condition)
{
  const zp_train_state state = state_of(3, optim);
  call_fails(put_one(), condition);
  call_fails(store.finish(store.ctx, &state, &err), condition);
  call_fails(store.commit(store.ctx, &err), condition);
}

TestSuite(checkpoint_write_invariant, .init = open_writer, .fini = close_writer);

Test(checkpoint_write_invariant, each_damaged_member_is_an_internal_error_with_file_and_line)
{
  cr_assert_eq(put_one(), 0, "%s", err.text);
  WITH_DAMAGE(w->save.rank, -1, all_fail("w->save.rank >= 0"));
  WITH_DAMAGE(w->save.rank, WORLD, all_fail("w->save.rank < w->world"));
  WITH_DAMAGE(w->save.step, -1, all_fail("w->save.step >= 0"));
  WITH_DAMAGE(w->used, BUFFER + 1, all_fail("w->used <= BUFFER"));
  WITH_DAMAGE(w->bytes, (int64_t)w->used - 1, all_fail("w->bytes >= (int64_t)w->used"));
  WITH_DAMAGE(w->fd, -2, all_fail("w->fd >= -1"));
  WITH_DAMAGE(w->fd, -1, all_fail("w->fd >= 0 || w->used == 0"));
  cr_assert_eq(put_one(), 0, "%s", err.text);
}

static void damage(void *ctx, const char *what)
{
  (void)what;
  *(int64_t *)ctx = -1;
}

/* The first put creates the file of the data. */
Test(checkpoint_write_invariant, damage_during_a_call_is_found_at_its_end)
{
  zp_ckpt_writer_watch(w, damage, &w->save.step);
  call_fails(put_one(), "w->save.step >= 0");
}
