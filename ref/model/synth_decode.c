/* Reads reduced gradients back: which contribution is missing or doubled, which element is
 * misplaced. spec: RED-2, RED-3 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "synth_internal.h"

/* One range of one copy of one entry, under judgement. */
typedef struct range {
  const zp_synth_options *opt;
  const zp_config *cfg;
  int64_t step;
  int32_t j, tp, ep, log2;
  int64_t offset, count;
  const float *reduced;
  zp_synth_finding *list;
  int32_t *n, cap;
} range;

static int64_t right(const range *r, int64_t step, int64_t e)
{
  return zp_synth_expected(r->opt, r->cfg, step, r->j, r->tp, r->ep, e);
}

/* The value of element e in units of the code. */
static double units(const range *r, int64_t e)
{
  return ldexp((double)r->reduced[e - r->offset], -r->log2);
}

static int wrong(const range *r, int64_t e)
{
  return !(units(r, e) == (double)right(r, r->step, e));
}

static zp_synth_finding blank(const range *r, int32_t kind, int64_t e)
{
  zp_synth_finding f;
  memset(&f, 0, sizeof f);
  f.kind = kind;
  f.param = r->j;
  f.tp = r->tp;
  f.ep = r->ep;
  f.element = e;
  f.value = r->reduced[e - r->offset];
  f.who.entry = -1;
  return f;
}

static int same(const zp_synth_finding *a, const zp_synth_finding *b)
{
  return a->kind == b->kind && a->param == b->param && a->tp == b->tp && a->ep == b->ep &&
         a->who.entry == b->who.entry && a->who.dp == b->who.dp && a->who.tp == b->who.tp &&
         a->who.mb == b->who.mb && a->times == b->times && a->numerator == b->numerator &&
         a->denominator == b->denominator &&
         (a->kind != ZP_SYNTH_MOVED || a->from - a->element == b->from - b->element) &&
         (a->kind != ZP_SYNTH_STALE || a->from == b->from);
}

static void add(const range *r, const zp_synth_finding *f)
{
  for (int32_t i = 0; i < *r->n; i++) {
    if (!same(&r->list[i], f)) continue;
    r->list[i].count++;
    return;
  }
  if (*r->n >= r->cap) return;
  r->list[*r->n] = *f;
  ++*r->n;
}

/* ---- Explanations that must fit every wrong element of the range ----------------------------- */

/* All wrong elements are num/den times what they should be, and all others should be zero. */
static int explain_ratio(const range *r, int64_t *num, int64_t *den)
{
  double ratio = 0;
  int32_t seen = 0;
  for (int64_t e = r->offset; e < r->offset + r->count; e++) {
    const double want = (double)right(r, r->step, e), got = units(r, e);
    if (want == 0 && got == 0) continue;
    if (want == 0 || got == want || !isfinite(got) || got == 0) return 0;
    if (seen > 0 && fabs(got / want - ratio) > 1e-6 * fabs(ratio)) return 0;
    ratio = got / want;
    seen++;
  }
  if (seen < 2) return 0;
  for (*den = 1; *den <= 4096; ++*den) {
    const double x = ratio * (double)*den;
    *num = (int64_t)rint(x);
    if (*num > 0 && fabs(x - (double)*num) < 1e-2 * x / 128) return 1;
  }
  return 0;
}

/* All wrong elements hold what belongs `shift` elements further on; `least` of them are not 0. */
static int fits_shift(const range *r, int64_t shift, int64_t least)
{
  const int64_t numel = r->cfg->params[r->j].numel;
  int64_t strong = 0, inside = 0, all = 0;
  for (int64_t e = r->offset; e < r->offset + r->count; e++) {
    if (!wrong(r, e)) continue;
    all++;
    if (e + shift < 0 || e + shift >= numel) continue; /* from outside: anything */
    if (units(r, e) != (double)right(r, r->step, e + shift)) return 0;
    strong += units(r, e) != 0;
    inside++;
  }
  return strong >= least && 2 * inside > all;
}

static int explain_moved(const range *r, int64_t least, int64_t *shift)
{
  const int64_t numel = r->cfg->params[r->j].numel < 4096 ? r->cfg->params[r->j].numel : 4096;
  for (int64_t d = 1; d < numel; d++) {
    *shift = d;
    if (fits_shift(r, d, least)) return 1;
    *shift = -d;
    if (fits_shift(r, -d, least)) return 1;
  }
  return 0;
}

/* What the previous step's values add to element e where nothing clears the sums. owner: the rank
 * into whose sums the reduction wrote its result divided by `divisor`, -1: into those of all ranks.
 * The other ranks' sums still hold their own contributions. */
static double left_over(const range *r, int64_t e, int32_t owner, int64_t divisor)
{
  const double old = (double)right(r, r->step - 1, e), result = old / (double)divisor;
  if (owner < 0)
    return result * (r->cfg->params[r->j].expert ? r->cfg->dp / r->cfg->ep : r->cfg->dp);
  return result + old -
         (double)zp_synth_expected_of(r->opt, r->cfg, r->step - 1, r->j, r->tp, r->ep, owner, e);
}

/* Does element e hold contributions of the previous step besides its own? They are complete, as
 * the ranks contributed them; or as a reduction left them in the ranks' sums, in place, whose
 * result may have been divided for the mean there, which rounds. */
static int holds_previous(const range *r, int64_t e)
{
  const double more = units(r, e) - (double)right(r, r->step, e);
  const double bound = ldexp(fabs(units(r, e)), -20);
  if (!isfinite(more)) return 0;
  if (more == (double)right(r, r->step - 1, e)) return 1;
  for (int32_t owner = -1; owner < r->cfg->dp; owner++)
    if (more == left_over(r, e, owner, 1) ||
        fabs(more - left_over(r, e, owner, r->cfg->dp * r->cfg->micro_batches)) <= bound)
      return 1;
  return 0;
}

/* All wrong elements hold the previous step's value, alone (times 1) or added to this one's (2). */
static int explain_stale(const range *r, int64_t *times)
{
  int32_t alone = 1, added = 1, strong = 0;
  if (r->step == 0) return 0;
  for (int64_t e = r->offset; e < r->offset + r->count && (alone || added); e++) {
    const double now = (double)right(r, r->step, e), old = (double)right(r, r->step - 1, e);
    if (units(r, e) == now && old == now) continue;
    if (!wrong(r, e)) {
      alone = 0;
      if (old != 0) added = 0;
      continue;
    }
    strong += old != 0;
    if (units(r, e) != old) alone = 0;
    if (added) added = holds_previous(r, e);
  }
  *times = alone ? 1 : 2;
  return strong >= 2 && (alone || added);
}

/* ---- Digit by digit -------------------------------------------------------------------------- */

static void digit(const range *r, int64_t e, int64_t c, int64_t times)
{
  const int32_t used = zp_synth_used(r->opt, r->cfg, r->step, r->j, r->ep, c);
  zp_synth_finding f;
  if (times == used) return;
  f = blank(r, times == 0 ? ZP_SYNTH_MISSING : used ? ZP_SYNTH_DOUBLED : ZP_SYNTH_UNASKED, e);
  f.who = zp_synth_name(r->cfg, r->j, r->ep, c);
  f.times = times;
  add(r, &f);
}

static void decode_element(const range *r, int64_t e)
{
  const zp_synth_plan p = zp_synth_plan_of(r->opt, r->cfg, r->step, r->j, r->tp, r->ep, 0);
  const int64_t at = e + p.turn, place = at % p.cycle, round = at / p.cycle;
  const int64_t weight = zp_synth_weight(&p, round);
  const double got = units(r, e);
  int64_t k = got >= 0 && got < 1e15 && got == floor(got) ? (int64_t)got : -1;
  if (k >= 0 && place == p.cycle - 1 && k % weight == 0) { /* the element that codes its index */
    digit(r, e, zp_synth_indexed(&p, round), k / weight);
    return;
  }
  if (k < 0 || place == p.cycle - 1 || k >= (int64_t)1 << 2 * p.digits) {
    const zp_synth_finding f = blank(r, ZP_SYNTH_GARBLED, e);
    add(r, &f);
    return;
  }
  for (int64_t c = place * p.digits; c < p.n && c < (place + 1) * p.digits; c++) {
    digit(r, e, c, k % 4);
    k /= 4;
  }
  if (k > 0) {
    const zp_synth_finding f = blank(r, ZP_SYNTH_GARBLED, e);
    add(r, &f);
  }
}

/* The finding kinds, as a set of bits, that reading digit by digit gives. */
static uint32_t kinds_of(const range *r)
{
  uint32_t kinds = 0;
  zp_synth_finding list[64];
  int32_t n = 0;
  range copy = *r;
  copy.list = list;
  copy.n = &n;
  copy.cap = 64;
  for (int64_t e = r->offset; e < r->offset + r->count; e++)
    if (wrong(r, e)) decode_element(&copy, e);
  for (int32_t i = 0; i < n; i++) kinds |= 1u << list[i].kind;
  return kinds;
}

/* The explanation of the whole range: a kind, or -1 for digit by digit. *f takes its numbers. */
static int32_t explain(const range *r, zp_synth_finding *f)
{
  const uint32_t kinds = kinds_of(r);
  if (kinds == 1u << ZP_SYNTH_MISSING) return -1;
  if (explain_stale(r, &f->times)) return ZP_SYNTH_STALE;
  if (explain_ratio(r, &f->numerator, &f->denominator)) return ZP_SYNTH_RATIO;
  /* one misplaced element alone could be anything, unless it is no sum of codes */
  if (explain_moved(r, (kinds >> ZP_SYNTH_GARBLED & 1u) != 0 ? 1 : 2, &f->from))
    return ZP_SYNTH_MOVED;
  return -1;
}

int64_t zp_synth_decode(const zp_synth_options *opt, const zp_config *cfg, int64_t step, int32_t j,
                        int32_t tp, int32_t ep, int32_t log2_scale, int64_t offset, int64_t count,
                        const float *reduced, zp_synth_finding *list, int32_t *n, int32_t cap)
{
  range r = {opt,    cfg,   step,    j,    tp, ep, opt->log2_unit + log2_scale,
             offset, count, reduced, list, n,  cap};
  zp_synth_finding all;
  int64_t bad = 0;
  int32_t kind;
  memset(&all, 0, sizeof all);
  for (int64_t e = offset; e < offset + count; e++) bad += wrong(&r, e);
  if (bad == 0) return 0;
  kind = explain(&r, &all);
  for (int64_t e = offset; e < offset + count; e++) {
    zp_synth_finding f;
    if (!wrong(&r, e)) continue;
    if (kind < 0) {
      decode_element(&r, e);
      continue;
    }
    f = blank(&r, kind, e);
    f.times = all.times;
    f.numerator = all.numerator;
    f.denominator = all.denominator;
    f.from = kind == ZP_SYNTH_MOVED ? e + all.from : kind == ZP_SYNTH_STALE ? step - 1 : 0;
    add(&r, &f);
  }
  return bad;
}

/* "rank 3 (stage 1, dp 1, tp 0), its micro-batch 2". */
static void describe_who(const zp_config *cfg, const zp_synth_finding *f, char *text, size_t cap)
{
  const int32_t stage = cfg->params[f->who.entry].stage;
  const int32_t tp = f->tp + f->who.tp; /* one of them is 0 */
  const int32_t rank = (stage * cfg->dp + f->who.dp) * cfg->tp + tp;
  char use[48] = "";
  if (f->who.entry != f->param) snprintf(use, sizeof use, " as used by entry %d", f->who.entry);
  snprintf(text, cap, "the contribution of rank %d (stage %d, dp %d, tp %d), micro-batch %lld%s",
           rank, stage, f->who.dp, tp, (long long)f->who.mb, use);
}

void zp_synth_describe(const zp_config *cfg, const zp_synth_finding *f, char *text, int64_t cap)
{
  char where[96], who[160] = "", more[64] = "";
  snprintf(where, sizeof where, "parameter %d element %lld (tp %d, ep %d)", f->param,
           (long long)f->element, f->tp, f->ep);
  if (f->who.entry >= 0) describe_who(cfg, f, who, sizeof who);
  if (f->count > 0)
    snprintf(more, sizeof more, "; so do %lld more of its elements", (long long)f->count);
  switch (f->kind) {
  case ZP_SYNTH_MISSING: snprintf(text, (size_t)cap, "%s lacks %s%s", where, who, more); break;
  case ZP_SYNTH_DOUBLED:
    snprintf(text, (size_t)cap, "%s holds %lld times %s%s", where, (long long)f->times, who, more);
    break;
  case ZP_SYNTH_UNASKED:
    snprintf(text, (size_t)cap, "%s holds %lld times %s, declared unused%s", where,
             (long long)f->times, who, more);
    break;
  case ZP_SYNTH_MOVED:
    snprintf(text, (size_t)cap, "%s holds what belongs to element %lld%s", where,
             (long long)f->from, more);
    break;
  case ZP_SYNTH_STALE:
    snprintf(text, (size_t)cap, "%s holds %s of step %lld%s%s", where,
             f->times == 2 ? "contributions" : "the value", (long long)f->from,
             f->times == 2 ? " added to its own" : " instead of its own", more);
    break;
  case ZP_SYNTH_RATIO:
    snprintf(text, (size_t)cap, "%s holds %lld/%lld times its value%s", where,
             (long long)f->numerator, (long long)f->denominator, more);
    break;
  default:
    snprintf(text, (size_t)cap, "%s holds %.9g, which no sum of codes gives%s", where,
             (double)f->value, more);
    break;
  }
}
