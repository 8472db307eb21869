/* Random small valid configurations for the planner's tests. */
#ifndef ZP_TESTS_PLAN_RANDOM_H
#define ZP_TESTS_PLAN_RANDOM_H

#include <stdlib.h>

#include "../../../ref/plan/program.h"

enum { RANDOM_ENTRIES = 24 };

typedef struct random_config {
  zp_config c;
  zp_param list[RANDOM_ENTRIES];
} random_config;

static inline zp_param random_entry(int32_t stage)
{
  zp_param p = {.numel = rand() % 40,
                .stage = stage,
                .optgroup = rand() % 3,
                .tied = -1,
                .sharded = rand() % 2,
                .expert = rand() % 4 == 0,
                .frozen = rand() % 7 == 0};
  if (rand() % 4 == 0) {
    p = (zp_param){.stage = stage, .tied = rand() % 2, .optgroup = 1};
    p.numel = 11 + p.tied;
    p.sharded = p.tied;
  }
  return p;
}

/* Fills *r from a seed; topology up to 4 x 4 x 2. */
static inline void random_fill(random_config *r, uint32_t seed)
{
  int32_t n = 0;
  srand(seed);
  r->c = (zp_config){.pp = 1 + rand() % 4,
                     .dp = 1 + rand() % 4,
                     .tp = 1 + rand() % 2,
                     .ep = 1,
                     .stage = rand() % 3,
                     .reduce = rand() % 2,
                     .precision = rand() % 3,
                     .dynamic_shapes = rand() % 2,
                     .optgroups = 3,
                     .tied_keys = 2,
                     .micro_batches = 1 + rand() % 5,
                     .bucket = 1 + rand() % 40,
                     .align = 1 + rand() % 3,
                     .params = r->list};
  if (r->c.dp % 2 == 0 && rand() % 2) r->c.ep = 2;
  for (int32_t s = 0; s < r->c.pp; s++)
    for (int32_t k = rand() % 6; k > 0; k--) r->list[n++] = random_entry(s);
  r->c.n_params = n;
}

/* One rank's layout and program, on the heap. */
typedef struct rank_program {
  zp_coord at;
  zp_flat flat[RANDOM_ENTRIES];
  zp_spot spot[RANDOM_ENTRIES];
  zp_layout lay;
  zp_op *op;
  int64_t n;
} rank_program;

static inline int rank_plan(rank_program *p, const zp_config *c, int32_t rank, int32_t phase)
{
  p->at = zp_coord_of(c, rank);
  p->lay = (zp_layout){
      .flat = p->flat, .spot = p->spot, .cap_flats = RANDOM_ENTRIES, .cap_spots = RANDOM_ENTRIES};
  if (zp_layout_build(c, p->at.pp, &p->lay)) return -1;
  p->n = zp_program_need(c, &p->lay, phase, p->at);
  p->op = calloc((size_t)p->n + 1, sizeof *p->op);
  p->op[p->n].kind = -77; /* a canary: nothing is written past need */
  return zp_program_write(c, &p->lay, phase, p->at, p->op, p->n) == p->n && p->op[p->n].kind == -77
             ? 0
             : -1;
}

#endif
