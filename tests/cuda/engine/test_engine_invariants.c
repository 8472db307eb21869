/* Each part of the engine checks its state at the entry and exit of every call: damage of any part
 * ends in ZP_E_INTERNAL with the file and line of the condition, and the other ranks fail, too. */
#include <criterion/criterion.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "../../../cuda/engine/parts.h"
#include "../../../cuda/verify/case.h"
#include "../../../cuda/verify/state.h"
#include "engine_case.h"

/* A member of struct zp_cuda, a value that it must not have, and the file that says so. */
typedef struct damage {
  const char *file, *name;
  size_t at, size;
  int64_t value;
} damage;

#define DAMAGE(file, member, value)                                                                \
  {                                                                                                \
    file, #member, offsetof(zp_cuda, member), sizeof(((zp_cuda *)NULL)->member), value             \
  }

static const damage damages[] = {
    DAMAGE("device/plan.c:", rank.plan.length[ZP_PHASE_SAVE], -1),
    DAMAGE("device/progress.c:", rank.progress.host.step, -1),
    DAMAGE("device/error.c:", rank.failure.received, 1),
    DAMAGE("device/lock.c:", rank.lock.posix, 16),
    DAMAGE("device/memory.c:", allocations.n_pinned, -1),
    DAMAGE("comm/communicators.c:", comms.order.by_events, 1),
    DAMAGE("state/buffers.c:", buffers.send, 0),
    DAMAGE("state/step_memory.c:", memory.copied_out, 0),
    DAMAGE("state/offload.c:", offload.n, 1),
    DAMAGE("state/checkpoint.c:", checkpoint.unsaved.status, 1),
    DAMAGE("executor/buckets.c:", buckets.reductions, -1),
    DAMAGE("executor/gradients.c:", gradients.mb, 1000),
    DAMAGE("executor/messages.c:", messages.act_out.n, 9),
    DAMAGE("executor/pipeline.c:", pipeline.new_next, 1000000),
    DAMAGE("executor/step.c:", steps.ending, 1),
    DAMAGE("executor/waits.c:", buckets.waits.n, -1),
    DAMAGE("engine/watchdog.c:", watchdog.runs, 2),
};
enum { DAMAGES = sizeof damages / sizeof *damages, RANKS = 2, STEP = 1 };

static const damage *now;
static int64_t before; /* the value of rank 0's member */
static int damaged;

/* Before rank 0's second step. */
static int make(zp_diff_rank *w)
{
  if (w->rank != 0 || w->steps_done != STEP) return 0;
  before = 0;
  memcpy(&before, (char *)w->e + now->at, now->size);
  memcpy((char *)w->e + now->at, &now->value, now->size);
  damaged = 1;
  return 0;
}

/* So that closing frees what was there. */
static void repair(zp_diff_rank *w)
{
  if (w->rank == 0 && damaged) memcpy((char *)w->e + now->at, &before, now->size);
}

Test(invariants, each_damaged_part_is_an_internal_error_that_names_file_and_line)
{
  static zp_diff_case j;
  const zp_schedule s = {.seed = 1, .alarm = 1};
  open_text(&j, "stage=1,precision=bf16,reduce=ordered,M=2,bucket=12,dp=2,steps=3,"
                "list=12@0.0+9@0.1+8@0.1");
  j.diff->hooks.before_step = make;
  j.diff->hooks.closing = repair;
  for (now = damages; now < damages + DAMAGES; now++) {
    const zp_error *err = zp_diff_error(j.diff, 0);
    damaged = 0;
    cr_assert_eq(zp_diff_run(j.diff, &s), 1, "%s: nothing was found", now->name);
    cr_assert_eq(err->status, ZP_E_INTERNAL, "%s: status %d: %s", now->name, err->status,
                 err->text);
    cr_assert(strstr(err->text, "internal error: the invariant ") && strstr(err->text, now->file),
              "%s: %s", now->name, err->text);
    cr_assert_eq(zp_diff_error(j.diff, 1)->status, ZP_E_PEER, "%s: rank 1: %s", now->name,
                 zp_diff_error(j.diff, 1)->text);
    cr_assert(strstr(zp_diff_error(j.diff, 1)->text, "rank 0 has failed: rank 0 "),
              "%s: rank 1: %s", now->name, zp_diff_error(j.diff, 1)->text);
  }
  zp_diff_case_close(&j);
}
