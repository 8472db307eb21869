/* The checkpoint reader checks its state at the entry and exit of each call: damage is an internal
 * error with file and line. */
#include "../../../ref/engine/checkpoint_read.c" /* for the members of its state */

#include "checkpoint_case.h"
#include "damage.h"

static zp_ckpt_reader *r;
static zp_store store;
static zp_error err;

static void open_reader(void)
{
  make_temp();
  save(3, 4);
  cr_assert_eq(zp_ckpt_reader_open(&r, dir, model, &store, &err), 0, "%s", err.text);
}

static void close_reader(void)
{
  zp_ckpt_reader_close(r);
  remove_temp();
}

static void call_fails(int status, const char *condition)
{
  cr_assert_eq(status, ZP_E_INTERNAL, "%s: %d", condition, status);
  check_internal(&err, "ref/engine/checkpoint_read.c", condition);
  memset(&err, 0, sizeof err);
}

/* Each function of the store. */
static void all_fail(const char *condition)
{
  zp_optim_state optim[2];
  zp_train_state state = {.groups = 2, .optim = optim};
  float value[2];
  call_fails(store.get(store.ctx, 0, 0, 0, ZP_WHAT_MASTER, 0, 2, value, &err), condition);
  call_fails(store.state(store.ctx, &state, &err), condition);
  cr_assert_eq(state.step, 0, "%s: the state was written", condition);
}

TestSuite(checkpoint_read_invariant, .init = open_reader, .fini = close_reader);

Test(checkpoint_read_invariant, each_damaged_member_is_an_internal_error_with_file_and_line)
{
  check_values(&store, 4, 3); /* leaves a file open */
  WITH_DAMAGE(r->n_records, -1, all_fail("r->n_records >= 0"));
  WITH_DAMAGE(r->n_records, r->cap_records + 1, all_fail("r->n_records <= r->cap_records"));
  WITH_DAMAGE(r->fd, -2, all_fail("r->fd >= -1"));
  WITH_DAMAGE(r->fd_file, -1, all_fail("r->fd_file >= 0"));
  WITH_DAMAGE(r->fd_file, r->m.n_files, all_fail("r->fd_file < r->m.n_files"));
  WITH_DAMAGE(r->entry_of, NULL, all_fail("r->entry_of != NULL"));
  check_values(&store, 3, 3);
  check_state(&store, 3);
}
