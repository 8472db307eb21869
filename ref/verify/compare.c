/* The simulator's ranks against serial, bit for bit, replicas included.
 * spec: RED-2 … RED-6, RED-9, STAT-2 … STAT-5, STEP-4 … STEP-8, TIE-1, TIE-2, SCALE-3, SCALE-4,
 * PART-7, LEDG-2, LEDG-5 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../engine/rank_query.h"
#include "../num/half.h"
#include "case_run.h"
#include "contributions.h"

static const char *what_name(int32_t what)
{
  switch (what) {
  case ZP_WHAT_GRADIENT: return "reduced gradient";
  case ZP_WHAT_MASTER: return "master";
  case ZP_WHAT_MOMENT1: return "first moment";
  case ZP_WHAT_MOMENT2: return "second moment";
  default: return "parameter";
  }
}

/* Where two runs of bits first differ; -1 nowhere. Which NaN comes out of two is not defined. */
static int64_t first_difference(const float *a, const float *b, int64_t n)
{
  if (memcmp(a, b, (size_t)n * sizeof *a) == 0) return -1;
  for (int64_t i = 0; i < n; i++)
    if (memcmp(&a[i], &b[i], sizeof *a) != 0 && !(isnan(a[i]) && isnan(b[i]))) return i;
  return -1;
}

static void say_rank(zp_verdict *v, const zp_rank *r)
{
  zp_verdict_say(v, "rank %d (stage %d, dp %d, tp %d)", r->rank, r->at.pp, r->at.dp, r->at.tp);
}

/* ---- State held by parts (masters, moments, reduced gradients) ------------------------------- */

/* A run that differs: rank, entry, element. */
typedef struct spot {
  const zp_rank *r;
  int32_t flat, param;
  int64_t element;
  float got, want;
} spot;

/* Compares one rank's runs of one flat group, but for the entries that are `known` (may be NULL); 1
 * and *where at the first difference. */
static int differs_in_flat(const zp_case_state *s, const zp_rank *r, int32_t k, int32_t what,
                           const uint8_t *known, spot *where)
{
  const int64_t buckets = zp_buckets(&r->lay.flat[k]);
  for (int64_t b = 0; b < buckets; b++) {
    const zp_range p = zp_rank_range(r, k, b);
    int32_t i = r->lay.n_params;
    zp_piece g;
    while (zp_next_piece(r, k, p, &i, &g)) {
      const float *want =
          zp_serial_get(s->serial, what, g.param, zp_copy_tp(r, g.param), zp_copy_ep(r, g.param));
      const float *got = zp_held_of(r, k, b, what) + g.in;
      const int64_t d = first_difference(got, want + g.offset, g.count);
      if (d < 0 || (known != NULL && known[g.param])) continue;
      *where = (spot){r, k, g.param, g.offset + d, got[d], want[g.offset + d]};
      return 1;
    }
  }
  return 0;
}

static int differs(const zp_case_state *s, int32_t what, spot *where)
{
  for (int32_t q = 0; q < zp_sim_world(s->sim); q++) {
    const zp_rank *r = zp_sim_rank(s->sim, q);
    for (int32_t k = 0; k < r->lay.n_flats; k++)
      if (r->lay.flat[k].use == 0 && differs_in_flat(s, r, k, what, NULL, where)) return 1;
  }
  return 0;
}

static void say_spot(zp_verdict *v, int32_t what, const spot *w)
{
  zp_verdict_say(v, "step %lld, ", (long long)v->step);
  say_rank(v, w->r);
  zp_verdict_say(v, ": %s of parameter %d, element %lld is %.9g, serial has %.9g", what_name(what),
                 w->param, (long long)w->element, (double)w->got, (double)w->want);
}

/* ---- Reduced gradients ----------------------------------------------------------------------- */

/* All elements of an entry as the ranks of w's reduction group hold them: [numel], or NULL. */
static float *assemble(const zp_case_state *s, const spot *w)
{
  const zp_flat *f = &w->r->lay.flat[w->flat];
  const int64_t numel = s->c->cfg.params[w->param].numel;
  float *all = calloc((size_t)numel + 1, sizeof *all);
  for (int32_t m = 0; all != NULL && m < f->members; m++) {
    const int32_t q = zp_block_group_member(&w->r->block, f->group, -1, m);
    const zp_rank *r = s->c->cfg.stage == 0 ? w->r : zp_sim_rank(s->sim, q);
    for (int64_t b = 0; b < zp_buckets(f); b++) {
      const zp_range p = zp_rank_range(r, w->flat, b);
      const float *from = zp_held_of(r, w->flat, b, ZP_WHAT_GRADIENT);
      int32_t i = r->lay.n_params;
      zp_piece g;
      while (zp_next_piece(r, w->flat, p, &i, &g))
        if (g.param == w->param) memcpy(all + g.offset, from + g.in, (size_t)g.count * sizeof *all);
    }
  }
  return all;
}

/* 1: the contribution comes from another block than rank r's, or (r NULL) from a job of several. */
static int of_another_replica(const zp_case_state *s, const zp_rank *r, int32_t dp)
{
  if (s->c->replicas == 1) return 0;
  return r == NULL || dp / r->block.cfg.dp != r->block.index;
}

/* The clauses that a finding speaks of, on rank r (NULL: in serial). */
static void clause_of_finding(const zp_case_state *s, const zp_rank *r, const zp_synth_finding *f)
{
  const int named = f->kind <= ZP_SYNTH_UNASKED;
  zp_verdict_contribution(s->v, &s->c->cfg, f, named && of_another_replica(s, r, f->who.dp));
}

/* Was any contribution of this copy declared unused in this step? */
static int has_unused(const zp_case_state *s, int32_t j, int32_t ep)
{
  for (int64_t c = 0; c < zp_synth_contributions(&s->c->cfg, j); c++)
    if (!zp_synth_used(&s->synth->opt, &s->c->cfg, s->step, j, ep, c)) return 1;
  return 0;
}

/* Gradients that are not coded: only a common ratio can be distinguished from other errors. */
static void explain_plain(const zp_case_state *s, const spot *w, const float *all)
{
  const float *want = zp_serial_get(s->serial, ZP_WHAT_GRADIENT, w->param,
                                    zp_copy_tp(w->r, w->param), zp_copy_ep(w->r, w->param));
  const int64_t n = s->c->cfg.params[w->param].numel;
  double ratio = 0;
  int32_t same = 1, seen = 0;
  for (int64_t e = 0; e < n; e++) {
    const double x = (double)all[e] / (double)want[e];
    if (want[e] == 0 || !isfinite(x)) continue;
    if (seen > 0 && fabs(x - ratio) > 1e-3 * fabs(ratio)) same = 0;
    if (seen == 0) ratio = x;
    seen++;
  }
  if (same && seen > 1 && fabs(ratio - 1) > 1e-2) {
    zp_verdict_clause(s->v, "RED-2");
    zp_verdict_say(s->v, "\n  all its elements are %.6g times serial's", ratio);
    return;
  }
  zp_verdict_clause(s->v, s->c->cfg.reduce == ZP_EXACT ? "RED-5" : "RED-4");
}

static void explain_gradient(const zp_case_state *s, const spot *w)
{
  zp_verdict *v = s->v;
  const int32_t ep = zp_copy_ep(w->r, w->param), old = v->n_findings;
  float *all = assemble(s, w);
  if (all == NULL) return;
  if (s->c->synth.mode == ZP_SYNTH_CODED && zp_synth_digits(&s->c->cfg) > 0)
    zp_synth_decode(&s->synth->opt, &s->c->cfg, s->step, w->param, zp_copy_tp(w->r, w->param), ep,
                    s->want.log2_scale, 0, s->c->cfg.params[w->param].numel, all, v->finding,
                    &v->n_findings, ZP_VERDICT_FINDINGS);
  if (v->n_findings == old) explain_plain(s, w, all);
  for (int32_t i = old; i < v->n_findings; i++) {
    char text[320];
    zp_synth_describe(&s->c->cfg, &v->finding[i], text, sizeof text);
    clause_of_finding(s, w->r, &v->finding[i]);
    zp_verdict_say(v, "\n  %s", text);
  }
  if ((s->c->synth.unused > 0 || s->c->synth.mask != NULL) && has_unused(s, w->param, ep))
    zp_verdict_clause(v, "RED-6");
  free(all);
}

static int compare_gradients(const zp_case_state *s)
{
  uint8_t known[ZP_CASE_PARAMS]; /* entries that have been explained */
  spot w;
  if (!differs(s, ZP_WHAT_GRADIENT, &w)) return 0;
  memset(known, 0, sizeof known);
  say_spot(s->v, ZP_WHAT_GRADIENT, &w);
  for (int32_t q = 0; q < zp_sim_world(s->sim); q++) {
    const zp_rank *r = zp_sim_rank(s->sim, q);
    for (int32_t k = 0; k < r->lay.n_flats; k++) {
      while (r->lay.flat[k].use == 0 && s->v->n_findings < ZP_VERDICT_FINDINGS &&
             differs_in_flat(s, r, k, ZP_WHAT_GRADIENT, known, &w)) {
        known[w.param] = 1;
        explain_gradient(s, &w);
      }
    }
  }
  return 1;
}

/* Coded gradients say what a right reduction is: serial is judged by them, too. RED-2, RED-3,
 * RED-6 */
static int compare_serial(const zp_case_state *s)
{
  const zp_config *cfg = &s->c->cfg;
  zp_verdict *v = s->v;
  if (!zp_are_coded_exactly(&s->c->synth, cfg, s->step, s->want.log2_scale)) return 0;
  for (int32_t j = 0; j < cfg->n_params; j++) {
    const int32_t copies =
        (cfg->params[j].sharded ? cfg->tp : 1) * (cfg->params[j].expert ? cfg->ep : 1);
    if (cfg->params[j].frozen || zp_synth_use_of(cfg, j).home != j) continue;
    for (int32_t i = 0; i < copies; i++) {
      const int32_t eps = cfg->params[j].expert ? cfg->ep : 1, tp = i / eps, ep = i % eps;
      char text[320];
      if (zp_synth_decode(&s->synth->opt, cfg, s->step, j, tp, ep, s->want.log2_scale, 0,
                          cfg->params[j].numel,
                          zp_serial_get(s->serial, ZP_WHAT_GRADIENT, j, tp, ep), v->finding,
                          &v->n_findings, ZP_VERDICT_FINDINGS) == 0)
        continue;
      zp_synth_describe(cfg, &v->finding[0], text, sizeof text);
      clause_of_finding(s, NULL, &v->finding[0]);
      zp_verdict_say(v, "step %lld: serial itself is wrong: %s", (long long)s->step, text);
      return 1;
    }
  }
  return 0;
}

/* ---- Padding --------------------------------------------------------------------------------- */

/* Are elements from … to-1 of what the rank holds of bucket b zero? 1 after a verdict. */
static int compare_zeros(const zp_case_state *s, const zp_rank *r, int32_t k, int64_t b,
                         int64_t from, int64_t to)
{
  static const int32_t whats[] = {ZP_WHAT_GRADIENT, ZP_WHAT_MASTER, ZP_WHAT_MOMENT1,
                                  ZP_WHAT_MOMENT2};
  for (int64_t i = from; i < to; i++) {
    for (int32_t w = 0; w < 4; w++) {
      if (zp_held_of(r, k, b, whats[w])[i] == 0) continue;
      zp_verdict_clause(s->v, "PART-7");
      zp_verdict_say(s->v, "step %lld, ", (long long)s->v->step);
      say_rank(s->v, r);
      zp_verdict_say(s->v, ": the %s has a padding element that is not zero (flat group %d)",
                     what_name(whats[w]), k);
      return 1;
    }
  }
  return 0;
}

/* The rank's elements of bucket b of flat group k, without those of entries. */
static int compare_padding_of(const zp_case_state *s, const zp_rank *r, int32_t k, int64_t b)
{
  const zp_range p = zp_rank_range(r, k, b);
  int32_t i = r->lay.n_params;
  int64_t end = 0;
  zp_piece g;
  while (zp_next_piece(r, k, p, &i, &g)) {
    if (compare_zeros(s, r, k, b, end, g.in)) return 1;
    end = g.in + g.count;
  }
  return compare_zeros(s, r, k, b, end, p.count);
}

/* Padding of sums, masters and moments is zero, always. PART-7 */
static int compare_padding(const zp_case_state *s)
{
  for (int32_t q = 0; q < zp_sim_world(s->sim); q++) {
    const zp_rank *r = zp_sim_rank(s->sim, q);
    for (int32_t k = 0; k < r->lay.n_flats; k++) {
      const zp_flat *f = &r->lay.flat[k];
      for (int64_t b = 0; f->use == 0 && b < zp_buckets(f); b++)
        if (compare_padding_of(s, r, k, b)) return 1;
    }
  }
  return 0;
}

/* ---- Parameters ------------------------------------------------------------------------------ */

/* Rounding of a master to the precision. */
static int rounds_to(int32_t precision, float master, const void *param, int64_t e)
{
  uint32_t bits;
  memcpy(&bits, &master, sizeof bits);
  if (precision == ZP_F32) return memcmp(&master, (const float *)param + e, sizeof master) == 0;
  if (precision == ZP_BF16) return zp_bf16_from_f32(bits) == ((const uint16_t *)param)[e];
  return zp_f16_from_f32(bits) == ((const uint16_t *)param)[e];
}

static int compare_params(const zp_case_state *s, const char *clause)
{
  const zp_config *cfg = &s->c->cfg;
  for (int32_t q = 0; q < zp_sim_world(s->sim); q++) {
    const zp_rank *r = zp_sim_rank(s->sim, q);
    for (int32_t i = 0; i < r->lay.n_params; i++) {
      const int32_t j = r->lay.first_param + i;
      const int32_t dtype = zp_entry_dtype(cfg, j);
      const int64_t bytes = cfg->params[j].numel * zp_dtype_bytes(dtype);
      const void *want =
          zp_serial_get(s->serial, ZP_WHAT_PARAMETER, j, zp_copy_tp(r, j), zp_copy_ep(r, j));
      int64_t e = 0;
      const float *master;
      if (memcmp(r->param[i], want, (size_t)bytes) == 0) continue;
      zp_verdict_clause(s->v, clause);
      master = zp_serial_get(s->serial, ZP_WHAT_MASTER, j, zp_copy_tp(r, j), zp_copy_ep(r, j));
      while (master && e < cfg->params[j].numel && rounds_to(dtype, master[e], r->param[i], e)) e++;
      zp_verdict_say(s->v, "step %lld, ", (long long)s->v->step);
      say_rank(s->v, r);
      zp_verdict_say(s->v, ": parameter %d, element %lld is not serial's, though all masters are",
                     j, (long long)e);
      return 1;
    }
  }
  return 0;
}

static int compare_state(const zp_case_state *s, int32_t what, const char *clause)
{
  spot w;
  if (!differs(s, what, &w)) return 0;
  zp_verdict_clause(s->v, clause);
  say_spot(s->v, what, &w);
  return 1;
}

int zp_compare_first(const zp_case_state *s)
{
  return compare_state(s, ZP_WHAT_MASTER, "LEDG-5") || compare_params(s, "LEDG-5");
}

int zp_compare_unchanged(const zp_case_state *s)
{
  for (int32_t q = 0; q < zp_sim_world(s->sim); q++) {
    if (memcmp(&zp_sim_rank(s->sim, q)->scaler, &s->scaler, sizeof s->scaler) == 0) continue;
    zp_verdict_clause(s->v, "STEP-5");
    zp_verdict_say(s->v, "\n  and the loss scaler of rank %d has changed", q);
    return 1;
  }
  if (compare_state(s, ZP_WHAT_MASTER, "STEP-5") || compare_params(s, "STEP-5")) return 1;
  zp_verdict_say(s->v, "\n  parameters, masters and scalers are as before the step on all ranks");
  return 0;
}

/* ---- Results --------------------------------------------------------------------------------- */

/* Right gradients, wrong norm: elements counted wrongly, or only the last bits? */
static void explain_norm(const zp_case_state *s, const zp_step_result *got)
{
  const double a = f64(got->norm_f64), b = f64(s->want.norm_f64);
  const int rounding = fabs(a - b) <= 1e-5 * b;
  zp_verdict_clause(s->v, rounding ? "STAT-4" : "STAT-2");
  zp_verdict_say(s->v,
                 "step %lld: the norm is %.17g, serial's is %.17g (%s), though all reduced "
                 "gradients are serial's",
                 (long long)s->step, a, b,
                 rounding ? "not correctly rounded"
                          : "some elements are counted more or less than once");
}

/* Skipping: the flag was lost, or it was seen and ignored. */
static void explain_skip(const zp_case_state *s, const zp_step_result *got)
{
  zp_verdict_clause(s->v, s->want.nonfinite != 0 && got->nonfinite == 0 ? "STAT-3" : "STEP-6");
  zp_verdict_say(s->v, "step %lld: the step was %s, serial's was %s; non-finite values seen: %s",
                 (long long)s->step, got->skipped ? "skipped" : "taken",
                 s->want.skipped ? "skipped" : "taken",
                 got->nonfinite      ? "yes"
                 : s->want.nonfinite ? "no, serial saw some"
                                     : "no");
}

/* The norm of the elements that a rank holds of the right mean gradient. */
static double shard_norm(const zp_case_state *s, const zp_rank *r)
{
  double sum = 0;
  for (int32_t k = 0; k < r->lay.n_flats; k++) {
    const zp_flat *f = &r->lay.flat[k];
    for (int64_t b = 0; f->use == 0 && b < zp_buckets(f); b++) {
      const float *g = zp_held_of(r, k, b, ZP_WHAT_GRADIENT);
      const int64_t n = zp_rank_range(r, k, b).count;
      for (int64_t i = 0; i < n; i++) sum += (double)g[i] * (double)g[i];
    }
  }
  return ldexp(sqrt(sum), -s->want.log2_scale);
}

/* Why norms differ between ranks, after gradients that are right. */
static void explain_ranks(const zp_case_state *s)
{
  const int32_t world = zp_sim_world(s->sim);
  int32_t own = 0, whole = 0;
  for (int32_t q = 0; q < world; q++) {
    const zp_rank *r = zp_sim_rank(s->sim, q);
    const double norm = f64(r->result.norm_f64), shard = shard_norm(s, r);
    own += fabs(norm - shard) <= 1e-5 * shard;
    whole += norm == f64(s->want.norm_f64);
  }
  if (own == world)
    zp_verdict_say(s->v, "\n  each rank's norm equals its own shard's norm: it was not reduced "
                         "over the ranks");
  else if (whole > 0)
    zp_verdict_say(s->v, "\n  the norm is serial's (%.17g) on %d of %d ranks",
                   f64(s->want.norm_f64), whole, world);
}

/* All ranks agree in the step's result. STAT-5 */
static int compare_ranks(const zp_case_state *s)
{
  const zp_step_result *a = &zp_sim_rank(s->sim, 0)->result;
  for (int32_t q = 1; q < zp_sim_world(s->sim); q++) {
    const zp_step_result *b = &zp_sim_rank(s->sim, q)->result;
    if (memcmp(a, b, sizeof *a) == 0) continue;
    zp_verdict_clause(s->v, "STAT-5");
    zp_verdict_say(s->v,
                   "step %lld: rank 0 and rank %d disagree: norm %.17g and %.17g, %s and %s, "
                   "scale 2^%d and 2^%d",
                   (long long)s->step, q, f64(a->norm_f64), f64(b->norm_f64),
                   a->skipped ? "skipped" : "taken", b->skipped ? "skipped" : "taken",
                   a->log2_scale, b->log2_scale);
    if (!a->skipped && !b->skipped && a->norm_f64 != b->norm_f64) explain_ranks(s);
    return 1;
  }
  return 0;
}

static int compare_result(const zp_case_state *s)
{
  const zp_step_result *a = &zp_sim_rank(s->sim, 0)->result, *b = &s->want;
  if (compare_ranks(s)) return 1;
  if (a->log2_scale != b->log2_scale) {
    zp_verdict_clause(s->v, "STEP-6");
    zp_verdict_say(s->v,
                   "step %lld: the gradient was unscaled with 2^%d; 2^%d was multiplied into "
                   "the loss",
                   (long long)s->step, a->log2_scale, b->log2_scale);
    return 1;
  }
  if (a->loss != b->loss) {
    zp_verdict_clause(s->v, "STAT-5");
    zp_verdict_say(s->v, "step %lld: the loss is %.9g, serial's %.9g", (long long)s->step,
                   f32(a->loss), f32(b->loss));
    return 1;
  }
  if (a->skipped != b->skipped || (a->nonfinite != 0) != (b->nonfinite != 0)) {
    explain_skip(s, a);
    return 1;
  }
  if (a->norm_f64 != b->norm_f64 || a->norm_f32 != b->norm_f32) {
    explain_norm(s, a);
    return 1;
  }
  if (a->clip_factor != b->clip_factor) {
    zp_verdict_clause(s->v, "STEP-6");
    zp_verdict_say(s->v, "step %lld: the clip factor is %.17g, serial's %.17g", (long long)s->step,
                   a->clip_factor, b->clip_factor);
    return 1;
  }
  return 0;
}

static int compare_scaler(const zp_case_state *s)
{
  for (int32_t q = 0; q < zp_sim_world(s->sim); q++) {
    const zp_scaler *a = &zp_sim_rank(s->sim, q)->scaler;
    if (a->log2_scale == s->scaler.log2_scale && a->iter == s->scaler.iter &&
        a->hysteresis_left == s->scaler.hysteresis_left)
      continue;
    zp_verdict_clause(s->v, s->want.skipped ? "SCALE-3" : "SCALE-4");
    zp_verdict_say(s->v,
                   "step %lld: rank %d goes on with scale 2^%d, the rule says 2^%d (at least "
                   "2^%d)",
                   (long long)s->step, q, a->log2_scale, s->scaler.log2_scale, s->scaler.log2_min);
    return 1;
  }
  return 0;
}

/* The ledger of one group, and its first member's. 0, or 1. */
static int compare_ledger(const zp_case_state *s, int32_t q, int32_t group, int32_t key)
{
  const zp_rank *r = zp_sim_rank(s->sim, q);
  const int32_t first = zp_block_group_id(&r->block, group, key);
  const zp_ledger_sum *a, *b;
  if (first < 0) return 0;
  a = key < 0 ? &r->ledger[group] : &r->tied_ledger[key];
  r = zp_sim_rank(s->sim, first);
  b = key < 0 ? &r->ledger[group] : &r->tied_ledger[key];
  if (a->ops == b->ops && a->hash == b->hash) return 0;
  zp_verdict_clause(s->v, "LEDG-2");
  zp_verdict_say(s->v, "step %lld: rank %d and rank %d have different ledgers of group %s",
                 (long long)s->step, first, q, zp_group_name(group));
  return 1;
}

/* Members of a group have issued the same sequence; p2p pairs differ by nature, and the matcher has
 * judged those. LEDG-2 */
static int compare_ledgers(const zp_case_state *s)
{
  for (int32_t q = 0; q < zp_sim_world(s->sim); q++) {
    for (int32_t g = 0; g < ZP_GROUP_TIED; g++)
      if (g != ZP_GROUP_PP && compare_ledger(s, q, g, -1)) return 1;
    if (compare_ledger(s, q, ZP_GROUP_REPLICA, -1)) return 1;
    for (int32_t key = 0; key < s->c->cfg.tied_keys; key++)
      if (compare_ledger(s, q, ZP_GROUP_TIED, key)) return 1;
  }
  return 0;
}

/* ---- Owners ---------------------------------------------------------------------------------- */

/* How often each element of every copy of every entry was visited. */
typedef struct visits {
  const zp_config *cfg;
  const zp_rank *r;
  int64_t base[ZP_CASE_PARAMS + 1]; /* entry j, copy (tp, ep) starts at base[j] + (tp·ep' + ep)·n */
  uint8_t *count;
} visits;

static void visit(void *ctx, int32_t param, int64_t offset, int64_t count, const float *value)
{
  visits *v = ctx;
  const zp_param *p = &v->cfg->params[param];
  const int64_t eps = p->expert ? v->cfg->ep : 1;
  const int64_t copy = zp_copy_tp(v->r, param) * eps + zp_copy_ep(v->r, param);
  uint8_t *at = v->count + v->base[param] + copy * p->numel + offset;
  (void)value;
  for (int64_t i = 0; i < count; i++) at[i] += at[i] < 2;
}

/* Over all ranks, the runs that are owned and counted are every logical element once. STAT-2 */
int zp_compare_owners(const zp_case_state *s)
{
  const zp_config *cfg = &s->c->cfg;
  int64_t n = 0;
  visits v;
  int32_t wrong = -1;
  v.cfg = cfg;
  for (int32_t j = 0; j < cfg->n_params; j++) {
    const zp_param *p = &cfg->params[j];
    v.base[j] = n;
    n += p->numel * (p->sharded ? cfg->tp : 1) * (p->expert ? cfg->ep : 1);
  }
  v.base[cfg->n_params] = n;
  v.count = calloc((size_t)n + 1, 1);
  for (int32_t q = 0; v.count != NULL && q < zp_sim_world(s->sim); q++) {
    v.r = zp_sim_rank(s->sim, q);
    zp_rank_visit(v.r, ZP_WHAT_MASTER, visit, &v);
  }
  for (int32_t j = 0; v.count != NULL && j < cfg->n_params && wrong < 0; j++) {
    /* a key is visited under the name of its first entry */
    const int64_t once = zp_synth_use_of(cfg, j).home == j && !cfg->params[j].frozen;
    for (int64_t e = v.base[j]; e < v.base[j + 1]; e++)
      if (v.count[e] != once) wrong = j;
  }
  free(v.count);
  if (wrong < 0) return 0;
  zp_verdict_clause(s->v, "STAT-2");
  zp_verdict_say(s->v, "an element of parameter %d is not owned and counted exactly once", wrong);
  return 1;
}

int zp_compare_step(const zp_case_state *s)
{
  /* gradients first: they explain most of what else would differ */
  if (compare_gradients(s) || compare_serial(s)) return 1;
  if (compare_result(s) || compare_scaler(s)) return 1;
  if (compare_state(s, ZP_WHAT_MOMENT1, "STEP-7")) return 1;
  if (compare_state(s, ZP_WHAT_MOMENT2, "STEP-7")) return 1;
  if (compare_state(s, ZP_WHAT_MASTER, s->want.skipped ? "STEP-5" : "STEP-7")) return 1;
  return compare_params(s, s->want.skipped ? "STEP-5" : "STEP-8") || compare_padding(s) ||
         compare_ledgers(s);
}
