/* plan --check itself: it accepts what the planner writes, and one wrong field anywhere in one
 * rank's program is found and its rank named.
 * spec: LEDG-1, LEDG-2, PIPE-3, PIPE-5, PART-3, RED-3, RED-9 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "../../../ref/engine/rank_program.h"
#include "../../../ref/verify/plan_check.h"

enum { PP = 3, DP = 4, TP = 2 };

static const zp_param params[] = {
    {10, 0, 0, 0, 0, 0, 0, 0},  {33, 0, 1, -1, 1, 0, 0, 0}, {9, 0, 0, -1, 0, 1, 0, 0},
    {0, 0, 0, -1, 0, 0, 0, 0},  {5, 0, 0, -1, 0, 0, 1, 0},  {12, 1, 0, -1, 0, 0, 0, 0},
    {12, 1, 0, -1, 0, 1, 0, 0}, {10, 2, 0, 0, 0, 0, 0, 0},  {17, 2, 1, -1, 0, 0, 0, 0},
};

static zp_config config(int32_t stage, int32_t reduce)
{
  const zp_config cfg = {.pp = PP,
                         .dp = DP,
                         .tp = TP,
                         .ep = 2,
                         .stage = stage,
                         .reduce = reduce,
                         .precision = ZP_BF16,
                         .dynamic_shapes = 1,
                         .optgroups = 2,
                         .tied_keys = 1,
                         .n_params = sizeof params / sizeof *params,
                         .micro_batches = 3,
                         .bucket = 8,
                         .align = 1,
                         .params = params,
                         .sequence_parallel = 1};
  return cfg;
}

/* The fields that a mutation may change. */
typedef enum field {
  F_KIND,
  F_WHAT,
  F_DTYPE,
  F_REDOP,
  F_ROOT,
  F_FLAT,
  F_SLOT,
  F_STEPPED,
  F_MB,
  F_RECV,
  F_BUCKET,
  F_OFFSET,
  F_COUNT,
  F_CLOCK,
  F_SWAP,
  F_DROP,
  FIELDS
} field;

/* The mutation at work: the callback of zp_check_job has no context of its own. */
static struct {
  int32_t rank, phase;
  int64_t pc;
  field f;
  int32_t applied;
} mutation;

/* 1 when the op uses the field, so that a wrong value must not pass. */
static int uses(const zp_op *op, field f)
{
  const int comm = op->kind >= ZP_OP_FIRST_COMM;
  switch (f) {
  case F_KIND: return 1;
  case F_WHAT: return comm;
  case F_DTYPE: return comm && op->dtype >= 0;
  case F_REDOP: return op->redop != ZP_RED_NONE;
  case F_ROOT: return comm && op->root >= 0;
  case F_FLAT: return op->kind == ZP_OP_ADD;
  case F_SLOT: return op->slot >= 0;
  case F_STEPPED: return op->kind == ZP_OP_UPDATE || op->kind == ZP_OP_ALL_GATHER;
  case F_MB: return op->mb >= 0;
  case F_RECV: return op->recv_mb >= 0;
  case F_BUCKET: return op->bucket >= 0;
  case F_OFFSET: return op->kind == ZP_OP_ADD;
  case F_COUNT: return op->count > 0;
  case F_CLOCK: return comm;
  case F_SWAP: return comm;
  default: return 1;
  }
}

static void change(zp_op *op, field f)
{
  switch (f) {
  case F_KIND: op->kind = op->kind == ZP_OP_COMMIT ? ZP_OP_READ : ZP_OP_COMMIT; break;
  case F_WHAT: op->what = op->what == ZP_WHAT_MOMENT1 ? ZP_WHAT_MOMENT2 : ZP_WHAT_MOMENT1; break;
  case F_DTYPE: op->dtype = op->dtype == ZP_I32 ? ZP_I64 : ZP_I32; break;
  case F_REDOP: op->redop = op->redop == ZP_RED_SUM ? ZP_RED_EXACT : ZP_RED_SUM; break;
  case F_ROOT: op->root++; break;
  case F_FLAT: op->flat++; break;
  case F_SLOT: op->slot = op->slot == 0 ? 1 : 0; break;
  case F_STEPPED: op->if_stepped ^= 1; break;
  case F_MB: op->mb++; break;
  case F_RECV: op->recv_mb++; break;
  case F_BUCKET: op->bucket++; break;
  case F_OFFSET: op->offset++; break;
  case F_COUNT: op->count++; break;
  default: op->clock_i++; break;
  }
}

static int64_t write_wrongly(const zp_block_rank *b, const zp_layout *lay, int32_t phase,
                             zp_op *ops, int64_t cap)
{
  const int32_t rank = zp_block_group_index(b, ZP_GROUP_WORLD, -1);
  const int64_t n = zp_rank_program_write(b, lay, phase, ops, cap);
  if (rank != mutation.rank || phase != mutation.phase || mutation.pc >= n) return n;
  if (mutation.f == F_DROP) {
    mutation.applied = 1;
    memmove(ops + mutation.pc, ops + mutation.pc + 1, (size_t)(n - mutation.pc - 1) * sizeof *ops);
    return n - 1;
  }
  if (!uses(&ops[mutation.pc], mutation.f)) return n;
  if (mutation.f == F_SWAP) { /* two ops change places, the clock stays where it was */
    zp_op *a = &ops[mutation.pc], *next = a + 1, old = *a;
    if (mutation.pc + 1 >= n) return n;
    *a = *next;
    *next = old;
    next->clock_t = a->clock_t;
    next->clock_i = a->clock_i;
    a->clock_t = old.clock_t;
    a->clock_i = old.clock_i;
  } else {
    change(&ops[mutation.pc], mutation.f);
  }
  mutation.applied = 1;
  return n;
}

/* A planner that has `buffers_more` more activation buffers on the last stage but one. */
static int64_t buffers_more;

static int64_t buffers(int64_t S, int64_t M, int64_t s)
{
  return zp_alive(S, M, s) + (s == S - 2 ? buffers_more : 0);
}

static int run(const zp_config *cfg, int32_t replicas, int32_t threads, zp_error *err)
{
  const zp_check_job job = {.cfg = cfg,
                            .replicas = replicas,
                            .threads = threads,
                            .write = write_wrongly,
                            .alive = buffers};
  zp_check_result result;
  return zp_check_all(&job, &result, err);
}

Test(check, accepts_the_planners_programs)
{
  static zp_error err;
  mutation.rank = -1;
  for (int32_t stage = 0; stage <= 2; stage++) {
    for (int32_t reduce = ZP_ORDERED; reduce <= ZP_EXACT; reduce++) {
      const zp_config cfg = config(stage, reduce);
      for (int32_t threads = 1; threads <= 5; threads++)
        for (int32_t replicas = 1; replicas <= (stage > 0 ? 2 : 1); replicas++)
          cr_assert_eq(run(&cfg, replicas, threads, &err), 0, "stage %d, %d replicas: %s",
                       (int)stage, (int)replicas, err.text);
    }
  }
}

/* Every op of every program of some ranks, every field that the op uses. */
static void try_all(const zp_config *cfg, int32_t replicas, int32_t rank, int32_t phase)
{
  static zp_error err;
  for (int64_t pc = 0;; pc++) {
    int any = 0;
    for (field f = 0; f < FIELDS; f++) {
      mutation.rank = rank;
      mutation.phase = phase;
      mutation.pc = pc;
      mutation.f = f;
      mutation.applied = 0;
      const int status = run(cfg, replicas, 1, &err);
      any |= mutation.applied;
      if (mutation.applied)
        cr_assert_eq(status, ZP_E_VERDICT, "stage %d, rank %d, position %d, field %d passed",
                     (int)cfg->stage, (int)rank, (int)pc, (int)f);
    }
    if (!any) return; /* past the end */
  }
}

Test(check, one_wrong_field_in_a_step_is_found_stage_0)
{
  const zp_config cfg = config(0, ZP_EXACT);
  for (int32_t rank = 0; rank < PP * DP * TP; rank += 5) try_all(&cfg, 1, rank, ZP_PHASE_STEP);
}

Test(check, one_wrong_field_in_a_step_is_found_stage_1)
{
  const zp_config cfg = config(1, ZP_EXACT);
  for (int32_t rank = 1; rank < PP * DP * TP; rank += 5) try_all(&cfg, 1, rank, ZP_PHASE_STEP);
}

Test(check, one_wrong_field_in_a_step_is_found_stage_2)
{
  const zp_config cfg = config(2, ZP_ORDERED);
  for (int32_t rank = 2; rank < PP * DP * TP; rank += 5) try_all(&cfg, 1, rank, ZP_PHASE_STEP);
}

/* Without ep: no group of a block has one member, whose ledger is compared with none. */
static zp_config config_of_blocks(int32_t stage, int32_t reduce)
{
  zp_config cfg = config(stage, reduce);
  cfg.ep = 1;
  return cfg;
}

/* spec: TOPO-6 */
Test(check, one_wrong_field_in_a_step_is_found_in_either_replica_stage_1)
{
  const zp_config cfg = config_of_blocks(1, ZP_EXACT);
  for (int32_t rank = 1; rank < PP * DP * TP; rank += 5) try_all(&cfg, 2, rank, ZP_PHASE_STEP);
}

Test(check, one_wrong_field_in_a_step_is_found_in_either_replica_stage_2)
{
  const zp_config cfg = config_of_blocks(2, ZP_ORDERED);
  for (int32_t rank = 2; rank < PP * DP * TP; rank += 5) try_all(&cfg, 2, rank, ZP_PHASE_STEP);
}

Test(check, names_the_rank_and_the_position)
{
  static zp_error err;
  const zp_config cfg = config(2, ZP_EXACT);
  mutation.rank = 13; /* no first member of its groups: the fault is its own */
  mutation.phase = ZP_PHASE_STEP;
  mutation.pc = 0;
  mutation.f = F_DROP;
  cr_assert_eq(run(&cfg, 1, 2, &err), ZP_E_VERDICT);
  cr_assert_eq(err.rank, 13);
  cr_assert_not_null(strstr(err.text, "rank 13 (pp 1, dp 2, tp 1), program step"), "%s", err.text);
}

/* spec: PIPE-4 */
Test(check, a_planner_with_another_number_of_activation_buffers_is_found)
{
  static zp_error err;
  const zp_config cfg = config(2, ZP_EXACT);
  mutation.rank = -1;
  for (buffers_more = -1; buffers_more <= 1; buffers_more++) {
    char wanted[80];
    const long long expected = zp_alive(cfg.pp, cfg.micro_batches, cfg.pp - 2);
    const int status = run(&cfg, 1, 2, &err);
    if (buffers_more == 0) cr_assert_eq(status, 0, "%s", err.text);
    if (buffers_more == 0) continue;
    snprintf(wanted, sizeof wanted, "the plan has %lld activation buffers, expected %lld: stage %d",
             expected + (long long)buffers_more, expected, (int)cfg.pp - 2);
    cr_assert_eq(status, ZP_E_VERDICT);
    cr_assert_not_null(strstr(err.text, wanted), "%s", err.text);
  }
}
