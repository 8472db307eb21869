/* The engine over MPI checks its state at the entry and exit of each public function: damage is an
 * internal error with file and line. One process, which needs no MPI. */
#include <math.h>

#include "../../../ref/engine_mpi/engine_state.h"
#include "../engine/damage.h"

enum { ENTRIES = 2, N = 3, MICRO_BATCHES = 2 };

static const zp_param list[ENTRIES] = {{.numel = N, .tied = -1}, {.numel = N, .tied = -1}};
static const zp_config config = {.pp = 1,
                                 .dp = 1,
                                 .tp = 1,
                                 .ep = 1,
                                 .optgroups = 1,
                                 .n_params = ENTRIES,
                                 .micro_batches = MICRO_BATCHES,
                                 .bucket = 4,
                                 .align = 1,
                                 .params = list};
static const float grad[N] = {1, -2, 3};
static zp_engine *e;

static void open_engine(void)
{
  static zp_error err;
  zp_engine_options o;
  zp_engine_defaults(&o, sizeof o, NULL);
  o.config = &config;
  cr_assert_eq(zp_engine_create(&e, &o, &err), 0, "%s", err.text);
}

static void close_engine(void)
{
  zp_engine_destroy(e, NULL);
}

static int announce_window(void)
{
  int status = 0;
  for (int64_t mb = 0; mb < MICRO_BATCHES && !status; mb++) {
    const float loss = 1;
    status = zp_engine_loss(e, mb, &loss, NULL);
    for (int32_t i = ENTRIES; i-- > 0 && !status;)
      status = zp_engine_grad_ready(e, i, mb, grad, N, ZP_F32, NULL);
  }
  return status;
}

/* The error stays until it is cleared. */
static void call_fails(int status, const char *condition)
{
  cr_assert_eq(status, ZP_E_INTERNAL, "%s: %d", condition, status);
  check_internal(&e->err, "ref/engine_mpi/gradients.c", condition);
  cr_assert_eq(e->err.rank, 0);
  memset(&e->err, 0, sizeof e->err);
}

static void all_fail(const char *condition)
{
  const float loss = 1;
  zp_engine_state state = {.size = sizeof state};
  call_fails(zp_engine_grad_ready(e, 0, 0, grad, N, ZP_F32, NULL), condition);
  call_fails(zp_engine_grad_unused(e, 0, 0), condition);
  call_fails(zp_engine_loss(e, 0, &loss, NULL), condition);
  call_fails(zp_engine_step(e, NULL), condition);
  call_fails(zp_engine_get(e, &state), condition);
  call_fails(zp_engine_save(e, "/nonexistent"), condition);
  call_fails(zp_engine_load(e, "/nonexistent"), condition);
}

TestSuite(engine_invariant, .init = open_engine, .fini = close_engine);

Test(engine_invariant, each_damaged_member_is_an_internal_error_with_file_and_line)
{
  WITH_DAMAGE(e->rank, NULL, all_fail("e->rank != NULL"));
  WITH_DAMAGE(e->rank->rank, 1, all_fail("e->rank->rank == e->o.rank"));
  WITH_DAMAGE(e->rows, MICRO_BATCHES + 1, all_fail("e->rows == "));
  WITH_DAMAGE(e->mb, -2, all_fail("e->mb >= -1"));
  WITH_DAMAGE(e->mb, MICRO_BATCHES + 1, all_fail("e->mb <= micro_batches"));
  WITH_DAMAGE(e->left, -1, all_fail("e->left >= 0"));
  WITH_DAMAGE(e->left, ENTRIES + 1, all_fail("e->left <= e->trained"));
  WITH_DAMAGE(e->row_bytes, -1, all_fail("e->row_bytes >= 0"));
  WITH_DAMAGE(e->rank->step, -1, all_fail("e->rank->step >= 0"));
  cr_assert_eq(announce_window(), 0, "%s", zp_engine_why(e)->text);
  cr_assert_eq(zp_engine_step(e, NULL), 0, "%s", zp_engine_why(e)->text);
}

/* ---- At the exit ----------------------------------------------------------------------------- */

static void damage(void *ctx, int32_t phase, const zp_op *op)
{
  (void)ctx, (void)phase, (void)op;
  e->rows = 1;
}

Test(engine_invariant, damage_during_a_step_is_found_at_its_end)
{
  e->o.issued = damage;
  e->rank->hook = &e->hook;
  cr_assert_eq(announce_window(), 0, "%s", zp_engine_why(e)->text);
  call_fails(zp_engine_step(e, NULL), "e->rows == ");
}

/* ---- Arguments ------------------------------------------------------------------------------- */

/* Every function, with an engine that is NULL or could not be made. */
static void all_refuse(zp_engine *none)
{
  const float loss = 1;
  zp_engine_state state = {.size = sizeof state};
  cr_assert_eq(zp_engine_grad_ready(none, 0, 0, grad, N, ZP_F32, NULL), ZP_E_REFUSED);
  cr_assert_eq(zp_engine_grad_unused(none, 0, 0), ZP_E_REFUSED);
  cr_assert_eq(zp_engine_loss(none, 0, &loss, NULL), ZP_E_REFUSED);
  cr_assert_eq(zp_engine_step(none, NULL), ZP_E_REFUSED);
  cr_assert_eq(zp_engine_get(none, &state), ZP_E_REFUSED);
  cr_assert_eq(zp_engine_get(none, NULL), ZP_E_REFUSED);
  cr_assert_eq(zp_engine_save(none, "nowhere"), ZP_E_REFUSED);
  cr_assert_eq(zp_engine_load(none, NULL), ZP_E_REFUSED);
  cr_assert_null(zp_engine_param(none, 0));
  cr_assert_null(zp_engine_log2_scale(none));
}

/* spec: LIM-0 */
Test(engine_arguments, every_function_refuses_an_engine_that_was_not_made)
{
  zp_engine *made = NULL;
  zp_engine_options o;
  zp_error err;
  zp_engine_defaults(NULL, sizeof o, NULL);
  cr_assert_eq(zp_engine_create(NULL, NULL, &err), ZP_E_REFUSED);
  cr_assert_eq(zp_engine_create(&made, NULL, NULL), ZP_E_REFUSED);
  all_refuse(NULL);
  cr_assert_null(zp_engine_why(NULL));
  cr_assert_eq(zp_engine_destroy(NULL, NULL), 0);
  zp_engine_defaults(&o, sizeof o, NULL);
  o.config = &config;
  o.world = 2;
  cr_assert_eq(zp_engine_create(&made, &o, &err), ZP_E_REFUSED);
  cr_assert_not_null(made);
  all_refuse(made);
  cr_assert(strstr(zp_engine_why(made)->text, "options.world is 2"));
  cr_assert_eq(zp_engine_destroy(made, &err), ZP_E_REFUSED);
}

/* spec: OPT-6 */
Test(engine_arguments, optimizer_numbers_out_of_range_are_refused)
{
  static const double bad[][2] = {/* field, value */
                                  {0, -1e-9}, {0, NAN},  {0, INFINITY}, {1, 1},
                                  {1, -0.1},  {2, 7},    {2, NAN},      {3, 0},
                                  {3, -1},    {3, 1e31}, {4, -1},       {5, 1}};
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    const zp_optim_field *f = &zp_optim_fields[(int)bad[k][0]];
    zp_engine *made = NULL;
    zp_engine_options o;
    zp_error err;
    zp_engine_defaults(&o, sizeof o, NULL);
    o.config = &config;
    memcpy((char *)&o.hyper.optim[0] + f->offset, &bad[k][1], sizeof(double));
    cr_assert_eq(zp_engine_create(&made, &o, &err), ZP_E_REFUSED, "%s", f->name);
    cr_assert(strstr(err.text, f->name) && strstr(err.text, "OPT-6"), "%s", err.text);
    zp_engine_destroy(made, NULL);
  }
}
