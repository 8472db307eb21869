/* Who keeps the order of communications on a device, NCCL or the engine's events, and what the host
 * waits for. */
#define _POSIX_C_SOURCE 200809L
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>

#include "../../../cuda/verify/case.h"
#include "../../../cuda/verify/state.h"

enum { ORDERS = 60 };

/* Two stages, so that communication is on two streams. */
static const char stages[] =
    "pp=2,dp=1,stage=2,reduce=ordered,precision=fp16,M=3,bucket=16,steps=3,seed=8080,"
    "list=5@0.0t0+9@0.0+7@1.0+5@1.0t0";

static void open_case(zp_diff_case *j, const char *text)
{
  zp_case c;
  zp_error err = {0};
  char why[256] = "";
  zp_case_init(&c);
  cr_assert(eq(int, zp_case_parse(&c, text, why, sizeof why), 0), "%s", why);
  cr_assert(eq(int, zp_diff_case_open(j, &c, &err), 0), "%s", err.text);
}

/* ---- The order of launches ------------------------------------------------------------------- */

/* Runs on devices that run one communication at a time. launch_order, nccl_version: the schedule's.
 * How many runs of ORDERS are clean; *chained: the last one's. */
static int clean_runs(zp_diff_case *j, int32_t launch_order, int32_t nccl_version, int32_t *chained)
{
  int clean = 0;
  for (uint64_t k = 1; k <= ORDERS; k++) {
    zp_schedule s = zp_schedule_of(k);
    s.launch_order = launch_order;
    s.nccl_version = nccl_version;
    s.one_comm_kernel = SIMDEV_ALWAYS;
    clean += zp_diff_run(j->diff, &s) == 0;
    *chained = j->diff->chained;
  }
  return clean;
}

/* STRM-5 */
Test(order, is_nccls_if_the_engine_calls_it_first)
{
  static zp_diff_case j;
  int32_t chained;
  open_case(&j, stages);
  cr_assert(eq(int, clean_runs(&j, 2, 0, &chained), ORDERS));
  cr_assert(eq(int, chained, 0));
  cr_assert(eq(str, getenv("NCCL_LAUNCH_ORDER_IMPLICIT"), "1")); /* it was not, before */
  zp_diff_case_close(&j);
}

/* STRM-5 */
Test(order, is_the_engines_if_nccl_is_too_old)
{
  static zp_diff_case j;
  int32_t chained;
  open_case(&j, stages);
  cr_assert(eq(int, clean_runs(&j, 2, NCCL_VERSION(2, 25, 1), &chained), ORDERS));
  cr_assert(eq(int, chained, 1));
  zp_diff_case_close(&j);
}

/* Another library has used NCCL; then the program sets the variable: too late for NCCL. */
static int use_nccl(zp_diff_rank *w)
{
  static int used[2];
  ncclUniqueId unused;
  ZP_HOST_TRY(ncclGetUniqueId(&unused));
  simdev_signal(&used[w->rank]);
  ZP_HOST_TRY(simdev_await(&used[1 - w->rank]));
  return setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", 1);
}

/* STRM-5 */
Test(order, is_the_engines_if_nccl_was_used_before_the_variable_was_set)
{
  static zp_diff_case j;
  int32_t chained;
  open_case(&j, stages);
  j.diff->hooks.before_open = use_nccl;
  cr_assert(eq(int, clean_runs(&j, 1, 0, &chained), ORDERS));
  cr_assert(eq(int, chained, 1));
  /* simdev's NCCL has read the variable, too: a wrong first_nccl fails */
  cr_assert(lt(int, clean_runs(&j, 2, 0, &chained), ORDERS));
  cr_assert(eq(int, chained, 0));
  zp_diff_case_close(&j);
}

/* STRM-5 */
Test(order, is_the_engines_if_the_user_set_the_variable_to_0)
{
  static zp_diff_case j;
  zp_schedule s = zp_schedule_of(1);
  open_case(&j, stages);
  s.launch_order = 0;
  setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "0", 1);
  cr_assert(eq(int, zp_diff_run(j.diff, &s), 0));
  cr_assert(eq(int, j.diff->chained, 1));
  zp_diff_case_close(&j);
}

/* ---- What the host waits for ----------------------------------------------------------------- */

static int64_t count(const zp_diff *t, int32_t rank, int32_t site)
{
  int64_t n = 0;
  for (int64_t i = 0; i < t->syncs[rank].n; i++) n += t->syncs[rank].sync[i].site == site;
  return n;
}

/* A step's own values never come to the host, static or dynamic the scale: it waits for the
 * bound of two steps in flight, and for what it asked for. STRM-8 */
Test(host, waits_at_most_once_a_step_and_only_for_the_step_before_the_last)
{
  static const char *const cases[] = {
      "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=5,scale=3,"
      "list=10@0.0+6@0.0+9@0.0",
      "pp=2,dp=1,stage=1,reduce=exact,precision=fp16,M=3,bucket=16,steps=5,list=5@0.0+9@0.0+7@1.0"};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    static zp_diff_case j;
    open_case(&j, cases[i]);
    for (int32_t get_each = 0; get_each < 2; get_each++) {
      zp_schedule s = zp_schedule_of(7);
      s.record = 1;
      s.get_each = get_each;
      cr_assert(eq(int, zp_diff_run(j.diff, &s), 0), "%s", zp_diff_finding(j.diff)->text);
      for (int32_t r = 0; r < 2; r++) {
        int64_t hosts = 0;
        for (int32_t site = 1; site < ZP_SYNC_END; site++)
          if (strstr(zp_cuda_sync_point_name(site), ".host")) hosts += count(j.diff, r, site);
        /* who has heard of each step's end has nothing to wait for; step 0 has no step before */
        cr_assert(eq(i64, count(j.diff, r, ZP_SYNC_ENDED_HOST), get_each ? 0 : 4));
        cr_assert(eq(i64, count(j.diff, r, ZP_SYNC_READ_HOST), get_each ? 5 : 1));
        cr_assert(eq(i64, hosts, 1 + 5)); /* 1: the first state's copy, at opening */
      }
    }
    zp_diff_case_close(&j);
  }
}
