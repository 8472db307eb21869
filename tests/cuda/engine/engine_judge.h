/* What a rank is left with when a run ends in an error: is all of it as ref had it after one step?
 * And which position its error names. */
#ifndef ZP_TESTS_ENGINE_JUDGE_H
#define ZP_TESTS_ENGINE_JUDGE_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../cuda/verify/case.h"
#include "../../../cuda/verify/state.h"
#include "../../../ref/comm/comm.h"
#include "../../../ref/engine/rank_query.h"

enum { STEPS_MAX = 3, RANKS_MAX = 8, ENTRIES_MAX = 64, PARTS = 3 }; /* masters, two moments */

/* A stopped host frees nothing that it has allocated: that is not a leak of the engine's. */
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
    memset(p, 0, sizeof *p);
    p->scaler = rank->scaler;
    for (int32_t i = 0; i < rank->lay.n_params; i++) {
      const int32_t j = rank->lay.first_param + i;
      const int64_t size = zp_dtype_bytes(zp_entry_dtype(rank->cfg, j));
      p->param[i] = copy_of(rank->param[i], (size_t)(rank->cfg->params[j].numel * size));
    }
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

static inline void is_odd(const zp_diff_rank *w, const char *what, int64_t at)
{
  if (!odd[0])
    snprintf(odd, sizeof odd, "rank %d: %s %lld is not as after step %d: %.1200s", w->rank, what,
             (long long)at, (int)zp_cuda_state_of(w->e)->step, zp_cuda_why(w->e)->text);
}

static inline int is_drained(cudaStream_t stream)
{
  const uint64_t deadline = simdev_clock_ns() + ZP_DIFF_DEADLINE_NS;
  while (simdev_clock_ns() < deadline && cudaStreamQuery(stream) == cudaErrorNotReady)
    simdev_pause();
  return cudaStreamQuery(stream) == cudaSuccess;
}

/* All that is left on the streams, garbage or not, has run. */
static inline int comes_to_rest(const zp_diff_rank *w)
{
  const cudaStream_t streams[3] = {zp_cuda_stream_of(w->e, ZP_CUDA_COMPUTE),
                                   zp_cuda_stream_of(w->e, ZP_CUDA_REDUCE),
                                   zp_cuda_stream_of(w->e, ZP_CUDA_P2P)};
  for (int32_t i = 0; i < 3; i++)
    if (!is_drained(streams[i])) return 0; /* the context is lost */
  return 1;
}

/* Pieces of a range of flat group k that differ from what the picture has. */
static inline int64_t differing_in(const zp_diff_rank *w, const picture *p, int32_t k, zp_range r)
{
  const zp_config *cfg = w->t->cfg;
  const zp_layout *lay = zp_cuda_layout_of(w->e);
  const int64_t size = zp_dtype_bytes(zp_dtype_of(lay->flat[k].fp32, cfg->precision));
  const zp_rank *ref = zp_sim_rank(w->t->ref.sim, w->rank);
  int64_t n = 0;
  int32_t i = lay->n_params;
  zp_piece g;
  while (zp_next_piece(ref, k, r, &i, &g))
    n += memcmp((char *)zp_cuda_param(w->e, g.param) + g.offset * size,
                p->param[g.i] + g.offset * size, (size_t)(g.count * size)) != 0;
  return n;
}

static inline int64_t differing(const zp_diff_rank *w, const picture *p, int32_t k, int64_t bucket)
{
  return differing_in(w, p, k, zp_whole_range(&zp_cuda_layout_of(w->e)->flat[k], bucket));
}

/* Whether a part of the bucket is neither as in one picture nor as in the other. */
static inline int has_odd_part(const zp_diff_rank *w, const picture *p, const picture *before,
                               int32_t k, int64_t bucket)
{
  const zp_flat *f = &zp_cuda_layout_of(w->e)->flat[k];
  const zp_range whole = zp_whole_range(f, bucket);
  const int64_t parts = w->t->cfg->stage > 0 ? f->members : 1, n = whole.count / parts;
  for (int64_t j = 0; j < parts; j++) {
    const int64_t left = whole.real - j * n;
    const int64_t real = left < 0 ? 0 : left < n ? left : n;
    const zp_range r = {whole.at + j * n, n, whole.flat + j * n, real};
    if (differing_in(w, p, k, r) > 0 && differing_in(w, before, k, r) > 0) return 1;
  }
  return 0;
}

/* Masters and moments of the rank's share of a bucket: are they the picture's? */
static inline int same_share(const zp_diff_rank *w, const picture *p, int32_t k, int64_t bucket)
{
  const zp_cuda_arrays f = zp_cuda_arrays_of(w->e, k);
  const float *const state[PARTS] = {f.master, f.moment1, f.moment2};
  const zp_block_rank b = zp_block_of(w->t->cfg, zp_replicas(w->t->hyper), w->rank);
  const zp_range r = zp_local_range(&b.cfg, zp_cuda_layout_of(w->e), b.at, k, bucket);
  int same = 1;
  for (int32_t m = 0; m < PARTS; m++)
    same &= memcmp(state[m] + r.at, p->state[k][m] + r.at, (size_t)r.count * 4) == 0;
  return same;
}

/* Step count and scaler are as after one step. So are buckets; where that step was cut off behind
 * its decision, buckets that had not been updated, or not been gathered, are as before it, and a
 * gathered one may have parts as before it, of owners that stopped before their decision. */
static inline void judge(zp_diff_rank *w)
{
  const zp_cuda *e = w->e;
  const zp_layout *lay = zp_cuda_layout_of(e);
  const zp_step_state *state = zp_cuda_state_of(e);
  gave_up_ns[w->rank] = simdev_clock_ns();
  const int begun = zp_cuda_is_ready(e) && !strstr(zp_cuda_why(e)->text, "the device is in INIT");
  const int64_t step = comes_to_rest(w) && begun ? state->step : -1;
  const picture *p, *before;
  int old = 0;
  if (step < 0) return;
  if (step > w->t->steps) return is_odd(w, "the step", step);
  p = &pictures[step][w->rank];
  before = step > 0 ? &pictures[step - 1][w->rank] : p;
  if (state->scaler.log2_scale != p->scaler.log2_scale || state->scaler.iter != p->scaler.iter ||
      state->scaler.hysteresis_left != p->scaler.hysteresis_left)
    is_odd(w, "the scaler, of iteration", state->scaler.iter);
  for (int32_t k = 0; k < lay->n_flats; k++)
    for (int64_t b = 0; lay->flat[k].use == 0 && b < zp_buckets(&lay->flat[k]); b++) {
      const int old_share = !same_share(w, p, k, b), old_entry = differing(w, p, k, b) > 0;
      if (old_share && !same_share(w, before, k, b)) is_odd(w, "a share of flat group", k);
      if (has_odd_part(w, p, before, k, b)) is_odd(w, "an entry of flat group", k);
      if (old_share && !old_entry && differing(w, before, k, b) > 0)
        is_odd(w, "an entry before its master, in flat group", k);
      old |= old_share || old_entry;
    }
  judged[w->rank] = old ? -1 : (int32_t)step + 1;
}

/* One run with a fault; what every rank is left with is in judged and odd. */
static inline void run_judged(zp_diff *t, const zp_schedule *s)
{
  memset(judged, 0, sizeof judged);
  odd[0] = 0;
  t->hooks.closing = judge;
  zp_diff_run(t, s);
  t->hooks.closing = NULL;
}

/* ---- The position in its error --------------------------------------------------------------- */

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

/* Reads one position at its number, "7 (p2p, pp group, …": it is the rank's own op.
 * Returns whether that is in a group; -1: it is no such op. */
static inline int position_is_named(const zp_rank *rank, int32_t phase, const char *at)
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

/* Whether the ranks that the position names, "… micro-batch 2, with ranks 0, 3 and 2 more)",
 * have this one among them, or there are more than it names. */
static inline int position_waits_for(const char *named, int32_t rank)
{
  const char *end = strchr(named, ')'), *at = strstr(named, ", with rank");
  if (!end || !at || at > end) return 0;
  for (at += strlen(", with rank"); at < end; at++)
    if (strchr("0123456789", *at) && !strchr("0123456789", at[-1]) && strtol(at, NULL, 10) == rank)
      return 1;
  return strncmp(end - 5, " more", 5) == 0;
}

/* The positions of the rank's host and device: number, op and group, as its program has
 * them, and at least one that is a communication. */
static inline void check_position(const zp_diff *t, int32_t r)
{
  static const char position[] = ", program position ";
  const char *text = t->error[r].text;
  const zp_rank *rank = zp_sim_rank(t->ref.sim, r);
  char own[40];
  int grouped = 0;
  snprintf(own, sizeof own, "rank %d (stage %d, ", r, zp_coord_of(t->cfg, r).pp);
  cr_assert(strncmp(text, own, strlen(own)) == 0, "%s", text);
  for (int32_t i = 0; i < 2; i++) {
    const char *at = strstr(text, position);
    int named;
    cr_assert_not_null(at, "rank %d, no position %d: %s", r, i, t->error[r].text);
    named = position_is_named(rank, phase_before(text, at), at + strlen(position));
    cr_assert_geq(named, 0, "rank %d, position %d: %s", r, i, t->error[r].text);
    grouped |= named;
    text = at + strlen(position);
    if (i == 0 && !strstr(text, ", the device ")) break;
  }
  cr_assert(grouped, "rank %d: no op in a group: %s", r, t->error[r].text);
}

#endif
