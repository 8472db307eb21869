/* What a rank is left with when a run ends in an error: is all of it as ref had it after one step?
 * And what its error says of the place. */
#ifndef ZP_TESTS_ENGINE_JUDGE_H
#define ZP_TESTS_ENGINE_JUDGE_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../cuda/trial/case.h"
#include "../../cuda/trial/trial_internal.h"
#include "../../ref/engine/comm.h"

enum { STEPS_MAX = 3, RANKS_MAX = 8, ENTRIES_MAX = 64, PARTS = 3 }; /* masters, two moments */

/* What a stopped host has allocated nobody frees: it is no leak of the engine's. */
void __lsan_disable(void) __attribute__((weak));

/* ---- What ref had after INIT and after each step --------------------------------------------- */

typedef struct picture {
  char *param[ENTRIES_MAX];
  float *state[ENTRIES_MAX][PARTS]; /* of each flat group */
  zp_scaler scaler;
} picture;
static picture pictures[STEPS_MAX + 1][RANKS_MAX];

static inline void *copy_of(const void *from, size_t bytes)
{
  void *to = malloc(bytes + 1);
  if (!to) abort();
  if (bytes > 0) memcpy(to, from, bytes);
  return to;
}

static inline void take_picture(void *ctx, zp_sim *ref, int32_t step)
{
  const zp_case *c = ctx;
  for (int32_t r = 0; r < zp_world(&c->cfg); r++) {
    const zp_rank *rank = zp_sim_rank(ref, r);
    picture *p = &pictures[step + 1][r];
    const int64_t size = zp_dtype_bytes(rank->cfg->precision);
    memset(p, 0, sizeof *p);
    p->scaler = rank->scaler;
    for (int32_t i = 0; i < rank->lay.n_params; i++)
      p->param[i] = copy_of(rank->param[i],
                            (size_t)(rank->cfg->params[rank->lay.first_param + i].numel * size));
    for (int32_t k = 0; k < rank->lay.n_flats; k++) {
      const zp_flat_state *f = &rank->flat[k];
      const float *const state[PARTS] = {f->master, f->moment1, f->moment2};
      for (int32_t m = 0; m < PARTS && rank->lay.flat[k].use == 0; m++)
        p->state[k][m] = copy_of(state[m], (size_t)f->extent * 4);
    }
  }
}

static inline void drop_pictures(void)
{
  for (int32_t s = 0; s <= STEPS_MAX; s++)
    for (int32_t r = 0; r < RANKS_MAX; r++)
      for (int32_t i = 0; i < ENTRIES_MAX; i++) {
        free(pictures[s][r].param[i]);
        for (int32_t m = 0; m < PARTS; m++) free(pictures[s][r].state[i][m]);
      }
  memset(pictures, 0, sizeof pictures);
}

/* ---- What a rank is left with ---------------------------------------------------------------- */

/* 1 + the step that all of the rank is after; -1: not all of it is after the same; 0: there is
 * nothing to be judged */
static int32_t judged[RANKS_MAX];
static uint64_t gave_up_ns[RANKS_MAX]; /* when the rank's call returned its error */
static char odd[1400];                 /* the first state that is of no step */

static inline void is_odd(const zp_trial_worker *w, const char *what, int64_t at)
{
  if (!odd[0])
    snprintf(odd, sizeof odd, "rank %d: %s %lld is not as after step %d: %s", w->rank, what,
             (long long)at, (int)w->e->state->step, zp_cuda_why(w->e)->text);
}

/* All that is left on the streams, garbage or not, has run. */
static inline int comes_to_rest(const zp_trial_worker *w)
{
  const cudaStream_t streams[3] = {w->e->compute, w->e->reduce, w->e->p2p};
  for (int32_t i = 0; i < 3; i++)
    if (!zp_cuda_let_rest(w->e, streams[i]) || cudaStreamQuery(streams[i]) != cudaSuccess)
      return 0; /* the context is lost */
  return 1;
}

/* Pieces of the bucket that differ from what the picture has. */
static inline int64_t differing(const zp_trial_worker *w, const picture *p, int32_t k,
                                int64_t bucket)
{
  const zp_cuda *e = w->e;
  const zp_range r = zp_whole_range(&e->lay.flat[k], bucket);
  const int64_t size = zp_cuda_size(e);
  int64_t n = 0;
  int32_t i = e->lay.n_params;
  for (;;) {
    const zp_piece g = zp_piece_next(e->cfg, &e->lay, k, r, i);
    if (g.count == 0) return n;
    i = g.i;
    n += memcmp((char *)e->entry[i].param + g.offset * size, p->param[i] + g.offset * size,
                (size_t)(g.count * size)) != 0;
  }
}

/* Masters and moments of the rank's share of a bucket: are they the picture's? */
static inline int same_share(const zp_trial_worker *w, const picture *p, int32_t k, int64_t bucket)
{
  const zp_cuda_flat *f = &w->e->flat[k];
  const float *const state[PARTS] = {f->master, f->moment1, f->moment2};
  const zp_range r = zp_local_range(w->e->cfg, &w->e->lay, w->e->at, k, bucket);
  int same = 1;
  for (int32_t m = 0; m < PARTS; m++)
    same &= memcmp(state[m] + r.at, p->state[k][m] + r.at, (size_t)r.count * 4) == 0;
  return same;
}

/* Step count and scaler are as after one step. So are buckets; where that step was cut off behind
 * its decision, buckets that had not been updated, or not been gathered, are as before it. */
static inline void judge(zp_trial_worker *w)
{
  const zp_cuda *e = w->e;
  gave_up_ns[w->rank] = simdev_clock_ns();
  const int begun = e->ready && !strstr(zp_cuda_why(e)->text, "the device is in INIT");
  const int64_t step = comes_to_rest(w) && begun ? e->state->step : -1;
  const picture *p, *before;
  int old = 0;
  if (step < 0) return;
  if (step > w->t->steps) return is_odd(w, "the step", step);
  p = &pictures[step][w->rank];
  before = step > 0 ? &pictures[step - 1][w->rank] : p;
  if (e->state->scaler.log2_scale != p->scaler.log2_scale ||
      e->state->scaler.iter != p->scaler.iter ||
      e->state->scaler.hysteresis_left != p->scaler.hysteresis_left)
    is_odd(w, "the scaler, of iteration", e->state->scaler.iter);
  for (int32_t k = 0; k < e->lay.n_flats; k++)
    for (int64_t b = 0; e->lay.flat[k].use == 0 && b < zp_buckets(&e->lay.flat[k]); b++) {
      const int old_share = !same_share(w, p, k, b), old_entry = differing(w, p, k, b) > 0;
      if (old_share && !same_share(w, before, k, b)) is_odd(w, "a share of flat group", k);
      if (old_entry && differing(w, before, k, b) > 0) is_odd(w, "an entry of flat group", k);
      if (old_share && !old_entry && differing(w, before, k, b) > 0)
        is_odd(w, "an entry before its master, in flat group", k);
      old |= old_share || old_entry;
    }
  judged[w->rank] = old ? -1 : (int32_t)step + 1;
}

/* One run with a fault; what every rank is left with is in judged and odd. */
static inline void run_judged(zp_trial *t, const zp_trial_schedule *s)
{
  memset(judged, 0, sizeof judged);
  odd[0] = 0;
  t->hooks.closing = judge;
  zp_trial_run(t, s);
  t->hooks.closing = NULL;
}

/* ---- What its error says of the place -------------------------------------------------------- */

/* The phase that is named last in text … end. */
static inline int32_t phase_before(const char *text, const char *end)
{
  static const char *const names[ZP_PHASES] = {"INIT", "step ", "saving after step ",
                                               "loading after step "};
  int32_t phase = -1;
  for (; text < end; text++)
    for (int32_t p = 0; p < ZP_PHASES; p++)
      if (strncmp(text, names[p], strlen(names[p])) == 0) {
        phase = p;
        text += strlen(names[p]) - 1;
        break;
      }
  return phase;
}

/* Reads one place at the number of its position, "7 (p2p, pp group, …": it is the rank's own op.
 * Returns whether that is in a group; -1: it is no such op. */
static inline int place_is_named(const zp_rank *rank, int32_t phase, const char *at)
{
  char want[80], *end;
  const int64_t pc = strtoll(at, &end, 10);
  const zp_op *op;
  if (phase < 0 || pc < 0 || pc > rank->length[phase]) return -1;
  if (pc == rank->length[phase]) return *end == ':' || *end == ',' ? 0 : -1; /* behind its last */
  op = &rank->program[phase][pc];
  snprintf(want, sizeof want, " (%s, %s group, flat group ", zp_op_name(op->kind),
           op->group < 0 ? "no" : zp_group_name(op->group));
  return strncmp(end, want, strlen(want)) == 0 ? op->group >= 0 : -1;
}

/* Whether the ranks that the place names, "… micro-batch 2, with ranks 0, 3 and 2 more)", have this
 * one among them, or there are more than it names. */
static inline int place_waits_for(const char *place, int32_t rank)
{
  const char *end = strchr(place, ')'), *at = strstr(place, ", with rank");
  if (!end || !at || at > end) return 0;
  for (at += strlen(", with rank"); at < end; at++)
    if (strchr("0123456789", *at) && !strchr("0123456789", at[-1]) && strtol(at, NULL, 10) == rank)
      return 1;
  return strncmp(end - 5, " more", 5) == 0;
}

/* The rank's own place, of its host and of its device: position, op and group, as its program has
 * them, and at least one that is a communication. */
static inline void check_place(const zp_trial *t, int32_t r)
{
  static const char position[] = ", program position ";
  const char *text = t->error[r].text;
  const zp_rank *rank = zp_sim_rank(t->ref, r);
  char own[40];
  int grouped = 0;
  snprintf(own, sizeof own, "rank %d (stage %d, ", r, zp_coord_of(t->cfg, r).pp);
  cr_assert(strncmp(text, own, strlen(own)) == 0, "%s", text);
  for (int32_t i = 0; i < 2; i++) {
    const char *at = strstr(text, position);
    int named;
    cr_assert_not_null(at, "rank %d, no place %d: %s", r, i, t->error[r].text);
    named = place_is_named(rank, phase_before(text, at), at + strlen(position));
    cr_assert_geq(named, 0, "rank %d, place %d: %s", r, i, t->error[r].text);
    grouped |= named;
    text = at + strlen(position);
    if (i == 0 && !strstr(text, ", the device ")) break;
  }
  cr_assert(grouped, "rank %d: no op in a group: %s", r, t->error[r].text);
}

#endif
