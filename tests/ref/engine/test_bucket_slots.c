/* The bucket slots of a rank: no two buckets that are filled at a time share one, and the number is
 * the least, or what is asked for. spec: RED-3, STRM-2 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "../../../ref/engine/bucket_slots.h"
#include "../../../ref/engine/rank_plan.h"
#include "../../../ref/engine/window.h"
#include "../../../ref/verify/random_case.h"

enum { CASES = 300, FLATS = 512 };

/* Walks a program of STEP. Returns the most buckets that were filled at a time. */
static int32_t check_program(const zp_rank_plan *p, int32_t slots)
{
  static int32_t holder[ZP_SLOTS_MOST]; /* the flat group whose bucket is in the slot, or -1 */
  static int64_t reduced[ZP_SLOTS_MOST];
  int32_t open = 0, most = 0, of[FLATS];
  for (int32_t i = 0; i < slots; i++) holder[i] = -1;
  for (int32_t i = 0; i < slots; i++) reduced[i] = -1;
  for (int32_t k = 0; k < p->lay.n_flats; k++) of[k] = -1;
  for (int64_t pc = 0; pc < p->n; pc++) {
    const zp_op *op = &p->op[pc];
    if (op->kind != ZP_OP_ADD && op->what != ZP_WHAT_GRADIENT) continue;
    cr_assert(op->slot >= 0 && op->slot < slots);
    if (op->kind == ZP_OP_ADD && of[op->flat] < 0) {
      cr_assert_eq(holder[op->slot], -1);
      for (int32_t i = 0; i < slots; i++) /* the one that was reduced the longest ago */
        cr_assert(holder[i] >= 0 || reduced[op->slot] <= reduced[i]);
      holder[op->slot] = op->flat;
      of[op->flat] = op->slot;
      if (++open > most) most = open;
    }
    cr_assert_eq(op->slot, of[op->flat]);
    if (op->kind == ZP_OP_ADD) continue;
    holder[op->slot] = of[op->flat] = -1;
    reduced[op->slot] = pc;
    open--;
  }
  cr_assert_eq(open, 0);
  return most;
}

/* Bytes of the bucket that takes most. */
static int64_t largest(const zp_layout *lay, int32_t precision)
{
  int64_t n = 0;
  for (int32_t k = 0; k < lay->n_flats; k++)
    for (int64_t b = 0; b < zp_buckets(&lay->flat[k]); b++) {
      const int64_t size = zp_dtype_bytes(lay->flat[k].fp32 ? ZP_F32 : precision);
      const int64_t here = zp_whole_range(&lay->flat[k], b).count * size;
      if (here > n) n = here;
    }
  return n;
}

static int32_t check_rank(const zp_case *c, int32_t rank, int32_t wanted)
{
  const zp_hyper hyper = {.replicas = c->replicas, .entry_align = 1, .slots = wanted};
  static zp_error err;
  zp_rank_plan p;
  cr_assert_eq(zp_rank_plan_open(&p, &c->cfg, &hyper, rank, &err), 0, "%s", err.text);
  const int32_t slots = zp_slot_count(&p.block.cfg, &p.lay, wanted);
  cr_assert_eq(zp_rank_plan_phase(&p, ZP_PHASE_STEP, &err), 0, "%s", err.text);
  cr_assert(p.lay.n_flats <= FLATS);
  const int32_t most = check_program(&p, slots);
  if (wanted == 0) cr_assert_eq(slots, most < 1 ? 2 : most + 1);
  else cr_assert_eq(slots, wanted > most ? wanted : most);
  cr_assert_eq(p.memory.slots, slots * largest(&p.lay, c->cfg.precision));
  zp_rank_plan_close(&p);
  return most;
}

Test(bucket_slots, buckets_that_are_filled_at_a_time_have_slots_of_their_own)
{
  static const int32_t wanted[] = {0, 1, 2, 5, ZP_SLOTS_MOST};
  static zp_case c;
  int32_t several = 0;
  for (uint64_t i = 0; i < CASES; i++) {
    zp_fuzz_random(12, i, &c);
    c.cfg.stage = 2;
    for (int32_t s = 0; s < c.cfg.pp; s++)
      for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++)
        several += check_rank(&c, zp_rank_of(&c.cfg, (zp_coord){.pp = s}), wanted[k]) > 1;
  }
  cr_assert(several > CASES / 4, "%d", several);
}

Test(bucket_slots, numbers_out_of_range_are_refused)
{
  zp_error err = {0};
  cr_assert_eq(zp_slots_check(0, &err), 0);
  cr_assert_eq(zp_slots_check(ZP_SLOTS_MOST, &err), 0);
  cr_assert_eq(zp_slots_check(-1, &err), ZP_E_REFUSED);
  cr_assert_eq(zp_slots_check(ZP_SLOTS_MOST + 1, &err), ZP_E_REFUSED);
}
