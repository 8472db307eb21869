/* Laws of the programs that the planner writes. */
#include <criterion/criterion.h>
#include <string.h>

#include "plan_random.h"

enum { SEEDS = 400 };

#define EACH_RANK(seed, r, cfg, phase, ...)                                                        \
  for (uint32_t seed = 0; seed < SEEDS; seed++) {                                                  \
    random_config rc;                                                                              \
    random_fill(&rc, seed);                                                                        \
    const zp_config *cfg = &rc.c;                                                                  \
    for (int32_t phase = 0; phase < ZP_PHASES; phase++)                                            \
      for (int32_t r = 0; r < zp_world(cfg); r++) {                                                \
        rank_program p;                                                                            \
        cr_assert_eq(rank_plan(&p, cfg, r, phase), 0, "seed %u rank %d phase %d", seed, r, phase); \
        __VA_ARGS__;                                                                               \
        free(p.op);                                                                                \
      }                                                                                            \
  }

/* rank_plan asserts that exactly `need` ops are written. spec: LEDG-8 */
Test(program, has_the_length_that_was_promised){
    EACH_RANK(seed, r, cfg, phase,
              {
                zp_op untouched = {.kind = 55};
                if (p.n == 0) continue;
                cr_assert_eq(zp_program_write(cfg, &p.lay, phase, p.at, &untouched, p.n - 1), -1);
                cr_assert_eq(untouched.kind, 55);
              })}

/* spec: PIPE-5 */
Test(program, clock_strictly_increases)
{
  EACH_RANK(seed, r, cfg, phase, {
    for (int64_t i = 1; i < p.n; i++) {
      const zp_op *a = &p.op[i - 1], *b = &p.op[i];
      cr_assert(a->clock_t < b->clock_t || (a->clock_t == b->clock_t && a->clock_i < b->clock_i),
                "seed %u rank %d phase %d op %lld", seed, r, phase, (long long)i);
    }
  })
}

/* Compares the members' ledgers of one group of one kind, clocks included. */
static void compare_ledgers(const zp_config *cfg, int32_t phase, int32_t group, int32_t key,
                            const rank_program *a, const rank_program *b)
{
  int64_t i = 0, j = 0;
  for (;;) {
    while (i < a->n &&
           !(a->op[i].group == group && (group != ZP_GROUP_TIED || a->op[i].key == key)))
      i++;
    while (j < b->n &&
           !(b->op[j].group == group && (group != ZP_GROUP_TIED || b->op[j].key == key)))
      j++;
    if (i == a->n || j == b->n) break;
    const zp_op *x = &a->op[i++], *y = &b->op[j++];
    cr_assert(x->kind == y->kind && x->what == y->what && x->count == y->count &&
                  x->dtype == y->dtype && x->redop == y->redop && x->root == y->root &&
                  x->key == y->key && x->if_stepped == y->if_stepped,
              "group %d phase %d stage %d", group, phase, cfg->stage);
    cr_assert(x->clock_t == y->clock_t && x->clock_i == y->clock_i);
  }
  cr_assert(i == a->n && j == b->n, "group %d phase %d: ledgers differ in length", group, phase);
}

/* spec: LEDG-2, LEDG-3, PIPE-5 */
Test(program, members_of_a_group_have_equal_ledgers){
    EACH_RANK(seed, r, cfg, phase,
              {
                for (int32_t g = 0; g < ZP_GROUPS; g++)
                  for (int32_t key = 0; key < (g == ZP_GROUP_TIED ? 2 : 1); key++) {
                    rank_program q;
                    const int32_t first = zp_group_id(cfg, g, key, p.at);
                    if (g == ZP_GROUP_PP || first < 0 || first == r) continue;
                    cr_assert_eq(rank_plan(&q, cfg, first, phase), 0);
                    compare_ledgers(cfg, phase, g, key, &p, &q);
                    free(q.op);
                  }
              })}

/* A rank writes nothing for a group that it is not in. spec: TOPO-4, LEDG-4 */
Test(program, no_op_of_a_foreign_group)
{
  EACH_RANK(seed, r, cfg, phase, {
    for (int64_t i = 0; i < p.n; i++) {
      const zp_op *op = &p.op[i];
      cr_assert_eq(op->kind >= ZP_OP_FIRST_COMM, op->group >= 0);
      if (op->group >= 0) cr_assert_gt(zp_group_size(cfg, op->group, op->key, p.at), 0);
    }
  })
}

/* The k-th exchange with a neighbour is its k-th exchange with us, at the same clock, and what one
 * sends the other receives. spec: PIPE-3, PIPE-5, PIPE-6 */
static void compare_exchanges(const rank_program *a, const rank_program *b)
{
  int64_t i = 0, j = 0;
  for (;;) {
    while (i < a->n && !(a->op[i].group == ZP_GROUP_PP && a->op[i].root == b->at.pp)) i++;
    while (j < b->n && !(b->op[j].group == ZP_GROUP_PP && b->op[j].root == a->at.pp)) j++;
    if (i == a->n || j == b->n) break;
    const zp_op *x = &a->op[i++], *y = &b->op[j++];
    cr_assert(x->kind == y->kind && x->mb == y->recv_mb && x->recv_mb == y->mb);
    cr_assert(x->clock_t == y->clock_t && x->clock_i == y->clock_i);
    cr_assert(x->what == ZP_WHAT_ACTIVATION && y->what == ZP_WHAT_ACTIVATION_GRADIENT);
  }
  cr_assert(i == a->n && j == b->n);
}

Test(program, exchanges_pair_with_the_neighbours){
    EACH_RANK(seed, r, cfg, phase,
              {
                if (p.at.pp + 1 < cfg->pp) {
                  rank_program q;
                  zp_coord next = p.at;
                  next.pp++;
                  cr_assert_eq(rank_plan(&q, cfg, zp_rank_of(cfg, next), phase), 0);
                  compare_exchanges(&p, &q);
                  free(q.op);
                }
              })}

/* In each micro-batch each element of each trained entry is added once, and each bucket is reduced
 * once, after all that belongs to it. spec: RED-3, STEP-2 */
Test(program, each_element_enters_one_bucket_once){
    EACH_RANK(seed, r, cfg, phase,
              {
                int64_t added[RANDOM_ENTRIES][8] = {{0}}, in_bucket[RANDOM_ENTRIES][8] = {{0}};
                int64_t reduced[RANDOM_ENTRIES] = {0};
                for (int64_t i = 0; phase == ZP_PHASE_STEP && i < p.n; i++) {
                  const zp_op *op = &p.op[i];
                  if (op->kind == ZP_OP_ADD) {
                    const int32_t e = op->param - p.lay.first_param;
                    const int64_t at = p.lay.spot[e].start + op->offset;
                    cr_assert_eq(op->offset, added[e][op->mb]); /* in order, so once */
                    cr_assert_eq(at / p.flat[op->flat].capacity, op->bucket);
                    cr_assert_eq((at + op->count - 1) / p.flat[op->flat].capacity, op->bucket);
                    added[e][op->mb] += op->count;
                    in_bucket[op->flat][op->mb] += op->count;
                  } else if (op->what == ZP_WHAT_GRADIENT) {
                    cr_assert_eq(in_bucket[op->flat][op->mb],
                                 op->bucket * p.flat[op->flat].capacity +
                                     zp_bucket_numel(&p.flat[op->flat], op->bucket));
                    cr_assert(cfg->stage == 2 || op->mb == cfg->micro_batches - 1);
                    reduced[op->flat]++;
                  }
                }
                for (int32_t e = 0; phase == ZP_PHASE_STEP && e < p.lay.n_params; e++)
                  for (int64_t mb = 0; mb < cfg->micro_batches; mb++)
                    cr_assert_eq(added[e][mb],
                                 p.spot[e].flat < 0 ? 0 : cfg->params[p.lay.first_param + e].numel);
                for (int32_t k = 0; phase == ZP_PHASE_STEP && k < p.lay.n_flats; k++)
                  cr_assert_eq(reduced[k],
                               zp_buckets(&p.flat[k]) * (cfg->stage == 2 ? cfg->micro_batches : 1));
              })}

/* The communications of a step, counted group by group from the clause. spec: LEDG-6, STAT-1 */
Test(program, a_step_issues_what_the_clause_says)
{
  EACH_RANK(seed, r, cfg, phase, {
    int64_t want[3] = {0, 0, 0}, have[3] = {0, 0, 0}; /* gradient, tied, parameter */
    int64_t statistics = 0;
    for (int32_t k = 0; k < p.lay.n_flats; k++) {
      const int64_t n = zp_buckets(&p.flat[k]);
      want[0] += n * (cfg->stage == 2 ? cfg->micro_batches : 1);
      if (p.flat[k].use != 0) continue;
      if (p.flat[k].tied >= 0) want[1] += n;
      if (cfg->stage > 0) want[2] += n;
    }
    for (int64_t i = 0; phase == ZP_PHASE_STEP && i < p.n; i++) {
      const zp_op *op = &p.op[i];
      if (op->group < 0 || op->group == ZP_GROUP_PP) continue;
      have[0] += op->what == ZP_WHAT_GRADIENT;
      have[1] += op->what == ZP_WHAT_TIED;
      have[2] += op->what == ZP_WHAT_PARAMETER;
      if (op->group == ZP_GROUP_WORLD) {
        cr_assert(op->what == ZP_WHAT_STATISTICS && op->count == 47 && op->dtype == ZP_I64);
        statistics++;
      }
    }
    if (phase == ZP_PHASE_STEP) {
      cr_assert_arr_eq(want, have, sizeof want);
      cr_assert_eq(statistics, 1);
    }
  })
}
