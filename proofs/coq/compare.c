/* Writes configurations, layouts and programs of the C planner for compare.ml, in binary.
 *
 * dump small: every small configuration, with the bounds of proofs/enumerate/program.c.
 * dump random COUNT SEED: COUNT valid configurations that differ more.
 *
 * The stream is int64 in this machine's byte order: for each configuration 1, its fields, the
 * layout of each stage, and the four programs of each rank; at the end 0. A program that equals the
 * one of its stage's first rank is written as -1, except SAVE. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../ref/plan/program.h"

enum { MAX_ENTRIES = 10, MAX_STAGES = 6, MAX_RANKS = 24, MAX_OPS = 4000 };

static zp_op ops[MAX_OPS], first[ZP_PHASES][MAX_OPS]; /* first: of a stage's first rank */
static int64_t first_length[ZP_PHASES];
static zp_layout layout[MAX_STAGES];
static zp_flat flats[MAX_STAGES][MAX_ENTRIES];
static zp_spot spots[MAX_STAGES][MAX_ENTRIES];

static void put(int64_t x)
{
  if (fwrite(&x, sizeof x, 1, stdout) != 1) exit(2);
}

static void put_config(const zp_config *c)
{
  const int64_t head[14] = {c->pp,
                            c->dp,
                            c->tp,
                            c->ep,
                            c->stage,
                            c->reduce,
                            c->precision,
                            c->dynamic_shapes,
                            c->optgroups,
                            c->tied_keys,
                            c->micro_batches,
                            c->bucket,
                            c->align,
                            c->n_params};
  put(1);
  for (int i = 0; i < 14; i++) put(head[i]);
  for (int32_t j = 0; j < c->n_params; j++) {
    const zp_param *p = &c->params[j];
    const int64_t field[8] = {p->numel,   p->stage,  p->optgroup, p->tied,
                              p->sharded, p->expert, p->frozen,   p->fp32};
    for (int i = 0; i < 8; i++) put(field[i]);
  }
}

static void put_layout(const zp_layout *lay)
{
  put(lay->stage);
  put(lay->first_param);
  put(lay->n_flats);
  for (int32_t k = 0; k < lay->n_flats; k++) {
    const zp_flat *f = &lay->flat[k];
    const int64_t field[10] = {f->group, f->members, f->optgroup, f->fp32,     f->tied,
                               f->use,   f->holder,  f->numel,    f->capacity, f->align};
    for (int i = 0; i < 10; i++) put(field[i]);
  }
  put(lay->n_params);
  for (int32_t i = 0; i < lay->n_params; i++) {
    put(lay->spot[i].flat);
    put(lay->spot[i].start);
  }
}

static void put_op(const zp_op *o)
{
  const int64_t field[18] = {o->kind,    o->what,   o->group,  o->key,   o->dtype,      o->redop,
                             o->root,    o->flat,   o->param,  o->slot,  o->if_stepped, o->mb,
                             o->recv_mb, o->bucket, o->offset, o->count, o->clock_t,    o->clock_i};
  if (fwrite(field, sizeof field, 1, stdout) != 1) exit(2);
}

/* Builds the layouts of a valid configuration. Returns 0 if a program is too long for this file. */
static int prepare(const zp_config *c)
{
  for (int32_t s = 0; s < c->pp; s++) {
    layout[s] = (zp_layout){
        .flat = flats[s], .spot = spots[s], .cap_flats = MAX_ENTRIES, .cap_spots = MAX_ENTRIES};
    if (zp_layout_build(c, s, &layout[s]) != 0) exit(2);
    const zp_coord first = {s, 0, 0};
    for (int32_t phase = 0; phase < ZP_PHASES; phase++)
      if (zp_program_need(c, &layout[s], phase, first) > MAX_OPS) return 0;
  }
  return 1;
}

/* Writes a program: its length and ops, or -1 if it equals that of the stage's first rank. */
static void put_program(const zp_config *c, int32_t phase, zp_coord me)
{
  const int leads = me.dp == 0 && me.tp == 0;
  zp_op *to = leads ? first[phase] : ops;
  const int64_t n = zp_program_write(c, &layout[me.pp], phase, me, to, MAX_OPS);
  if (n < 0) exit(2);
  if (leads) first_length[phase] = n;
  if (!leads && phase != ZP_PHASE_SAVE && n == first_length[phase] &&
      memcmp(to, first[phase], (size_t)n * sizeof *to) == 0) {
    put(-1);
    return;
  }
  put(n);
  for (int64_t i = 0; i < n; i++) put_op(&to[i]);
}

static void put_programs(const zp_config *c)
{
  put_config(c);
  for (int32_t s = 0; s < c->pp; s++) put_layout(&layout[s]);
  for (int32_t r = 0; r < c->pp * c->dp * c->tp; r++)
    for (int32_t phase = 0; phase < ZP_PHASES; phase++) put_program(c, phase, zp_coord_of(c, r));
}

/* ---- All small configurations, as in proofs/enumerate/program.c ------------------------------ */

enum { KINDS = 9 };
static const int all_kinds[KINDS] = {0, 1, 2, 3, 4, 5, 6, 7, 8}, some_kinds[4] = {0, 2, 5, 6};
static zp_param entry(int32_t stage, int64_t numel, int x)
{
  const zp_param p = {.numel = numel,
                      .stage = stage,
                      .optgroup = x == 5,
                      .tied = x == 6 || x == 7 ? x - 6 : -1,
                      .sharded = x == 1 || x == 3 || x == 7,
                      .expert = x == 2 || x == 3 || x == 8,
                      .frozen = x == 4 || x == 8};
  return p;
}

typedef struct bounds {
  int pp, dp, tp, entries, numels, kinds;
  const int64_t *numel;
  const int *kind;
} bounds;

static void all_reductions(zp_config *c)
{
  for (c->stage = 0; c->stage <= 2; c->stage++)
    for (c->reduce = 0; c->reduce <= 1; c->reduce++) {
      zp_refusal why;
      c->dynamic_shapes = c->reduce;
      if (zp_config_check(c, &why) != 0) return;
      if (!prepare(c)) exit(2);
      put_programs(c);
    }
}

static void all_lists(zp_config *c, zp_param *p, const bounds *x)
{
  const int per = c->pp * x->numels * x->kinds;
  int total = 1;
  for (int i = 0; i < x->entries; i++) total *= per;
  for (int list = 0; list < total; list++) {
    int y = list, sorted = 1;
    for (int i = 0; i < x->entries; i++, y /= per) {
      const int64_t numel = x->numel[y / c->pp % x->numels];
      p[i] = entry(y % c->pp, numel, x->kind[y / c->pp / x->numels % x->kinds]);
      if (i > 0 && p[i].stage < p[i - 1].stage) sorted = 0;
    }
    c->n_params = x->entries;
    if (sorted) all_reductions(c);
  }
}

static void all_within(const bounds *x)
{
  zp_param list[MAX_ENTRIES];
  zp_config c = {.optgroups = 2, .tied_keys = 2, .precision = ZP_BF16, .align = 1, .params = list};
  for (c.pp = 1; c.pp <= x->pp; c.pp++)
    for (c.dp = 1; c.dp <= x->dp; c.dp++)
      for (c.tp = 1; c.tp <= x->tp; c.tp++)
        for (c.ep = 1; c.ep <= c.dp; c.ep++)
          for (c.micro_batches = 1; c.micro_batches <= 2 && c.dp % c.ep == 0; c.micro_batches++)
            for (c.bucket = 1; c.bucket <= 3; c.bucket += 2) all_lists(&c, list, x);
}

static void all_small(void)
{
  static const int64_t numels[3] = {3, 0, 1}, five[1] = {5};
  const bounds one = {3, 3, 2, 1, 3, KINDS, numels, all_kinds};
  const bounds two = {2, 2, 2, 2, 2, KINDS, numels, all_kinds};
  const bounds three = {3, 2, 1, 3, 1, 4, five, some_kinds};
  all_within(&one);
  all_within(&two);
  all_within(&three);
}

/* ---- Random configurations ------------------------------------------------------------------- */

static uint64_t state;

/* 0 … n - 1, from splitmix64. */
static int64_t draw(int64_t n)
{
  state += UINT64_C(0x9e3779b97f4a7c15);
  uint64_t z = state;
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return (int64_t)((z ^ (z >> 31)) % (uint64_t)n);
}

/* One in four lists has large entries, whose sizes are near multiples of `scale`. */
static int64_t size(int64_t scale)
{
  const int64_t n = draw(12) * scale + (scale > 1 ? draw(5) - 2 : 0);
  return n < 0 ? 0 : n;
}

static void draw_entries(zp_config *c, zp_param *list)
{
  zp_param of_key[3];
  const int64_t scale = draw(4) ? 1 : (int64_t)1 << draw(34);
  int32_t stage = 0;
  c->n_params = (int32_t)draw(8);
  for (int32_t key = 0; key < 3; key++)
    of_key[key] = (zp_param){.numel = size(scale),
                             .optgroup = (int32_t)draw(c->optgroups),
                             .tied = key,
                             .sharded = (int32_t)draw(2),
                             .frozen = draw(6) == 0,
                             .fp32 = draw(4) == 0};
  for (int32_t j = 0; j < c->n_params; j++) {
    const int64_t left = c->pp - stage;
    zp_param p = {.numel = size(scale),
                  .optgroup = (int32_t)draw(c->optgroups),
                  .tied = -1,
                  .sharded = (int32_t)draw(2),
                  .expert = draw(3) == 0,
                  .frozen = draw(6) == 0,
                  .fp32 = draw(4) == 0};
    if (c->tied_keys && draw(3) == 0) p = of_key[draw(c->tied_keys)];
    if (draw(2)) stage += (int32_t)(draw(left) && draw(3) ? 1 : draw(left));
    p.stage = stage;
    list[j] = p;
  }
  c->bucket = draw(8) * scale + 1 + draw(3);
  c->align = draw(2) ? 1 : 1 + draw(draw(3) ? 4 : 64);
}

static void draw_config(zp_config *c, zp_param *list)
{
  c->pp = (int32_t)(1 + draw(5));
  c->dp = (int32_t)(1 + draw(4));
  c->tp = (int32_t)(1 + draw(2));
  c->ep = (int32_t)(1 + draw(c->dp));
  c->stage = (int32_t)draw(3);
  c->reduce = (int32_t)draw(2);
  c->precision = (int32_t)draw(3);
  c->dynamic_shapes = (int32_t)draw(2);
  c->optgroups = (int32_t)(1 + draw(3));
  c->tied_keys = (int32_t)draw(4);
  c->micro_batches = 1 + draw(5);
  draw_entries(c, list);
}

static void some_random(int64_t count)
{
  zp_param list[MAX_ENTRIES];
  zp_config c = {.params = list};
  while (count > 0) {
    zp_refusal why;
    draw_config(&c, list);
    if (c.pp * c.dp * c.tp > MAX_RANKS || zp_config_check(&c, &why) != 0 || !prepare(&c)) continue;
    put_programs(&c);
    count--;
  }
}

int main(int argc, char **argv)
{
  if (argc == 2 && strcmp(argv[1], "small") == 0) {
    all_small();
  } else if (argc == 4 && strcmp(argv[1], "random") == 0) {
    state = strtoull(argv[3], NULL, 10);
    some_random(strtoll(argv[2], NULL, 10));
  } else {
    fprintf(stderr, "compare.c: expected small, or random COUNT SEED\n");
    return 2;
  }
  put(0);
  return fflush(stdout) == 0 ? 0 : 2;
}
