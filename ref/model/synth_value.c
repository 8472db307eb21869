/* Gradients by formula. spec: RED-1, RED-2, RED-6 */
#include <math.h>
#include <string.h>

#include "../engine/partial.h"
#include "../num/half.h"
#include "synth_internal.h"

zp_synth_use zp_synth_use_of(const zp_config *cfg, int32_t j)
{
  zp_synth_use u = {j, 0, 1};
  const int32_t key = cfg->params[j].tied;
  if (key < 0) return u;
  u.home = -1;
  u.uses = 0;
  for (int32_t i = 0; i < cfg->n_params; i++) {
    if (cfg->params[i].tied != key) continue;
    if (u.home < 0) u.home = i;
    if (i == j) u.use = u.uses;
    u.uses++;
  }
  return u;
}

/* Those of one tp index. */
static int64_t of_one_tp(const zp_config *cfg, int32_t j)
{
  const int64_t all = cfg->dp * cfg->micro_batches;
  if (cfg->params[j].expert) return all / cfg->ep;
  return cfg->params[j].tied < 0 ? all : all * zp_synth_use_of(cfg, j).uses;
}

/* Those of entry j alone: of one use of a tied parameter. */
static int64_t of_one_use(const zp_config *cfg, int32_t j)
{
  return of_one_tp(cfg, j) / zp_synth_use_of(cfg, j).uses;
}

int64_t zp_synth_contributions(const zp_config *cfg, int32_t j)
{
  return of_one_tp(cfg, j) * (zp_is_partial(cfg, j) ? cfg->tp : 1);
}

static int64_t number_in_tp(const zp_config *cfg, int32_t j, int32_t dp, int64_t mb)
{
  if (cfg->params[j].expert) return mb * (cfg->dp / cfg->ep) + dp / cfg->ep;
  const int64_t g = mb * cfg->dp + dp;
  if (cfg->params[j].tied < 0) return g;
  return zp_synth_use_of(cfg, j).use * cfg->dp * cfg->micro_batches + g;
}

int64_t zp_synth_number(const zp_config *cfg, int32_t j, int32_t dp, int32_t tp, int64_t mb)
{
  return number_in_tp(cfg, j, dp, mb) + (zp_is_partial(cfg, j) ? tp * of_one_tp(cfg, j) : 0);
}

/* The entry that is use `use` of entry j's key. */
static int32_t entry_of_use(const zp_config *cfg, int32_t j, int64_t use)
{
  for (int32_t i = 0; i < cfg->n_params; i++)
    if (cfg->params[i].tied == cfg->params[j].tied && use-- == 0) return i;
  return j;
}

zp_synth_who zp_synth_name(const zp_config *cfg, int32_t j, int32_t ep, int64_t c)
{
  zp_synth_who who = {j, 0, (int32_t)(c / of_one_tp(cfg, j)), 0};
  const int64_t all = cfg->dp * cfg->micro_batches;
  c %= of_one_tp(cfg, j);
  if (cfg->params[j].expert) {
    const int32_t members = cfg->dp / cfg->ep;
    who.mb = c / members;
    who.dp = (int32_t)(c % members) * cfg->ep + ep;
    return who;
  }
  if (cfg->params[j].tied >= 0) who.entry = entry_of_use(cfg, j, c / all);
  who.mb = c % all / cfg->dp;
  who.dp = (int32_t)(c % all % cfg->dp);
  return who;
}

/* Significand bits of the precision, the hidden one included. */
static int32_t significand_bits(int32_t precision)
{
  return precision == ZP_F32 ? 24 : precision == ZP_BF16 ? 8 : 11;
}

int32_t zp_synth_digits(const zp_config *cfg)
{
  const int64_t room = (int64_t)1 << significand_bits(cfg->precision);
  const int64_t divisor = cfg->dp * cfg->micro_batches;
  int32_t q = 0;
  if (divisor > room) return 0;
  while (q < ZP_SYNTH_MAX_DIGITS && divisor * (((int64_t)1 << 2 * (q + 1)) - 1) <= room) q++;
  return q;
}

/* The one non-finite element of a step: which contribution of which entry. */
static void plan_overflow(zp_synth_plan *p, const zp_synth_options *opt, const zp_config *cfg,
                          int64_t step, int32_t j, int32_t tp)
{
  const uint64_t h = zp_synth_mix(zp_synth_mix(opt->seed, ZP_SYNTH_FOR_OVERFLOW), (uint64_t)step);
  int32_t chosen = (int32_t)(h % (uint64_t)cfg->n_params);
  p->bad_element = -1;
  if ((opt->overflow >> (step % 32) & 1u) == 0) return;
  for (int32_t i = 0; i < cfg->n_params; i++) {
    if (!cfg->params[chosen].frozen && cfg->params[chosen].numel > 0) break;
    chosen = (chosen + 1) % cfg->n_params;
  }
  if (chosen != j || cfg->params[j].numel == 0) return;
  if (zp_is_partial(cfg, j)) tp = (int32_t)(p->c / of_one_tp(cfg, j));
  if ((cfg->params[j].sharded || zp_is_partial(cfg, j)) &&
      tp != (int32_t)(h / 7 % (uint64_t)cfg->tp))
    return;
  if (p->c % of_one_tp(cfg, j) != zp_synth_use_of(cfg, j).use * of_one_use(cfg, j) +
                                      (int64_t)(h / 11 % (uint64_t)of_one_use(cfg, j)))
    return;
  p->bad_element = (int64_t)(h / 13 % (uint64_t)cfg->params[j].numel);
  p->bad = h / 17 % 3 == 0 ? NAN : h / 17 % 3 == 1 ? INFINITY : -INFINITY;
}

/* An entry from `chosen` on that has elements and is trained, or n_params. */
static int32_t trained_from(const zp_config *cfg, int32_t chosen)
{
  for (int32_t i = 0; i < cfg->n_params; i++) {
    const int32_t j = (chosen + i) % cfg->n_params;
    if (!cfg->params[j].frozen && cfg->params[j].numel > 0) return j;
  }
  return cfg->n_params;
}

/* The first contribution from c on, in turn, that takes part. n: none does. */
static int64_t used_from(const zp_synth_options *opt, const zp_config *cfg, int64_t step, int32_t j,
                         int32_t ep, int64_t c)
{
  const int64_t n = zp_synth_contributions(cfg, j);
  for (int64_t i = 0; i < n; i++)
    if (zp_synth_used(opt, cfg, step, j, ep, (c + i) % n)) return (c + i) % n;
  return n;
}

/* The one element of a step that only a sum makes infinite. */
static void plan_sum(zp_synth_plan *p, const zp_synth_options *opt, const zp_config *cfg,
                     int64_t step, int32_t j, int32_t tp, int32_t ep)
{
  const uint64_t h = zp_synth_mix(zp_synth_mix(opt->seed, ZP_SYNTH_FOR_SUM), (uint64_t)step);
  const int32_t home = zp_synth_use_of(cfg, j).home;
  int32_t chosen;
  int64_t a, b;
  p->sum_element = -1;
  if ((opt->oversum >> (step % 32) & 1u) == 0) return;
  chosen = trained_from(cfg, (int32_t)(h % (uint64_t)cfg->n_params));
  if (chosen == cfg->n_params || zp_synth_use_of(cfg, chosen).home != home) return;
  if (cfg->params[j].sharded && tp != (int32_t)(h / 7 % (uint64_t)cfg->tp)) return;
  if (cfg->params[j].expert && ep != (int32_t)(h / 11 % (uint64_t)cfg->ep)) return;
  a = used_from(opt, cfg, step, j, ep, (int64_t)(h / 13 % (uint64_t)p->n));
  if (a == p->n) return;
  b = used_from(opt, cfg, step, j, ep, (a + 1 + (int64_t)(h / 17 % (uint64_t)p->n)) % p->n);
  if (b == a) b = used_from(opt, cfg, step, j, ep, (a + 1) % p->n);
  p->sum_element = (int64_t)(h / 19 % (uint64_t)cfg->params[j].numel);
  p->part = p->c != a && p->c != b   ? 0
            : p->precision == ZP_F16 ? ldexpf(0.75f, 16)
                                     : ldexpf(0.75f, 128);
}

static void plan_dyadic(zp_synth_plan *p)
{
  const int64_t room = (int64_t)1 << significand_bits(p->precision);
  p->active = room / p->divisor < p->n ? room / p->divisor : p->n;
  p->range = p->active == 0 ? 0 : room / (p->divisor * p->active);
  if (p->range > 1000) p->range = 1000; /* small enough to stay small, large enough to differ */
}

zp_synth_plan zp_synth_plan_of(const zp_synth_options *opt, const zp_config *cfg, int64_t step,
                               int32_t j, int32_t tp, int32_t ep, int64_t c)
{
  zp_synth_plan p;
  const int32_t home = zp_synth_use_of(cfg, j).home;
  uint64_t place = zp_synth_mix(opt->seed, (uint64_t)home);
  place = zp_synth_mix(place, (uint64_t)tp << 32 | (uint32_t)ep);
  memset(&p, 0, sizeof p);
  p.mode = opt->mode;
  p.precision = zp_dtype_of(opt->fp32_gradients || cfg->params[j].fp32, cfg->precision);
  p.huge = opt->huge;
  p.unit = opt->log2_unit;
  p.divisor = cfg->dp * cfg->micro_batches;
  p.n = zp_synth_contributions(cfg, j);
  p.c = c;
  p.copy = zp_synth_mix(zp_synth_mix(place, ZP_SYNTH_FOR_CLASS), (uint64_t)step);
  p.mine = zp_synth_mix(zp_synth_mix(p.copy, ZP_SYNTH_FOR_GRADIENT), (uint64_t)c);
  if (p.mode == ZP_SYNTH_CODED) {
    p.digits = zp_synth_digits(cfg);
    p.cycle = p.digits > 0 ? (p.n + p.digits - 1) / p.digits + 1 : 1;
    /* another turn every step and copy, so that none's values can pass for another's */
    const uint64_t turn =
        zp_synth_mix(zp_synth_mix(opt->seed, (uint64_t)home), ZP_SYNTH_FOR_ROTATION);
    p.turn = (int64_t)((turn % 1024 + (uint64_t)(step + tp + ep)) % (uint64_t)p.cycle);
    p.copies = (int64_t)(turn / 1024 % 64) + 2 * tp + 3 * ep;
  }
  if (p.mode == ZP_SYNTH_DYADIC) plan_dyadic(&p);
  plan_overflow(&p, opt, cfg, step, j, tp);
  plan_sum(&p, opt, cfg, step, j, tp, ep);
  return p;
}

int64_t zp_synth_weight(const zp_synth_plan *p, int64_t round)
{
  return 1 + (round + p->copies) % (((int64_t)1 << 2 * p->digits) - 1);
}

int64_t zp_synth_indexed(const zp_synth_plan *p, int64_t round)
{
  return (round + round / p->n) % p->n;
}

/* CODED: the multiple of D·M that contribution p->c gives to an element. */
static int64_t code(const zp_synth_plan *p, int64_t element)
{
  const int64_t at = element + p->turn, place = at % p->cycle, round = at / p->cycle;
  if (p->digits == 0) return 0;
  if (place < p->cycle - 1) {
    const int64_t digit = p->c - place * p->digits;
    return digit >= 0 && digit < p->digits ? (int64_t)1 << 2 * digit : 0;
  }
  if (p->c != zp_synth_indexed(p, round)) return 0;
  return zp_synth_weight(p, round);
}

/* DYADIC: the multiple of D·M. */
static int64_t dyadic(const zp_synth_plan *p, int64_t element)
{
  const uint64_t which = zp_synth_mix(p->copy, (uint64_t)element);
  const uint64_t h = zp_synth_mix(p->mine, (uint64_t)element);
  if (p->range == 0) return 0;
  if ((p->c + (int64_t)(which % (uint64_t)p->n)) % p->n >= p->active) return 0;
  return (int64_t)(h % (uint64_t)(2 * p->range + 1)) - p->range;
}

/* WILD: the class is the element's, so that large and tiny values meet their like and cancel. The
 * exponents are those of fp32's bits: 127 is 1. */
static float wild(const zp_synth_plan *p, int64_t element)
{
  const uint64_t class = zp_synth_mix(p->copy, (uint64_t)element);
  const uint64_t h = zp_synth_mix(p->mine, (uint64_t)element);
  const int32_t half = p->precision == ZP_F16;
  uint32_t exponent, bits;
  float value;
  switch (class % 16) {
  case 0: return (h & 1) != 0 ? 0.0f : -0.0f;
  case 1: exponent = half ? 103 + (uint32_t)(h >> 8) % 12 : 0; break; /* subnormal */
  case 2: exponent = half ? 100 + (uint32_t)(h >> 8) % 8 : 1 + (uint32_t)(h >> 8) % 8; break;
  case 3:
    if (p->huge) exponent = half ? 138 + (uint32_t)(h >> 8) % 4 : 251 + (uint32_t)(h >> 8) % 4;
    else exponent = 127 + (uint32_t)(h >> 8) % 8;
    break;
  case 4: exponent = 107 + (uint32_t)(h >> 8) % 24; break; /* wide: additions lose bits */
  default: exponent = 120 + (uint32_t)(h >> 8) % 8; break;
  }
  bits = (uint32_t)(h >> 63) << 31 | exponent << 23 | (uint32_t)(h >> 32 & 0x7fffffu);
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* 2^e as a float, -126 <= e <= 127. */
static float power_of_two(int32_t e)
{
  const uint32_t bits = (uint32_t)(e + 127) << 23;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static float element_of(const zp_synth_plan *p, int64_t element)
{
  if (element == p->bad_element) return p->bad;
  if (p->mode == ZP_SYNTH_WILD) return wild(p, element);
  const int64_t k = p->mode == ZP_SYNTH_CODED ? code(p, element) : dyadic(p, element);
  return (float)(k * p->divisor) * power_of_two(p->unit);
}

/* Element e of a gradient. */
static void fill_one(const zp_synth_plan *p, float scale, int64_t e, void *out)
{
  const float x = e == p->sum_element ? p->part : element_of(p, e) * scale;
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  if (p->precision == ZP_F32) ((float *)out)[e] = x;
  else if (p->precision == ZP_BF16) ((uint16_t *)out)[e] = zp_bf16_from_f32(bits);
  else ((uint16_t *)out)[e] = zp_f16_from_f32(bits);
}

/* CODED: the elements at one place of every round, which alone may be other than zero. */
static void fill_position(const zp_synth_plan *p, float scale, int64_t place, int64_t n, void *out)
{
  for (int64_t e = (place + p->cycle - p->turn) % p->cycle; e < n; e += p->cycle)
    fill_one(p, scale, e, out);
}

void zp_synth_fill(const zp_synth_plan *p, int32_t log2_scale, int64_t n, void *out)
{
  const float scale = power_of_two(log2_scale);
  if (p->mode != ZP_SYNTH_CODED) {
    for (int64_t e = 0; e < n; e++) fill_one(p, scale, e, out);
    return;
  }
  memset(out, 0, (size_t)(n * zp_dtype_bytes(p->precision)));
  if (p->digits > 0) {
    fill_position(p, scale, p->c / p->digits, n, out);
    fill_position(p, scale, p->cycle - 1, n, out);
  }
  if (p->bad_element >= 0 && p->bad_element < n) fill_one(p, scale, p->bad_element, out);
  if (p->sum_element >= 0 && p->sum_element < n) fill_one(p, scale, p->sum_element, out);
}

float zp_synth_value(const zp_synth_options *opt, const zp_config *cfg, int64_t step, int32_t j,
                     int32_t tp, int32_t ep, int64_t c, int64_t element)
{
  const zp_synth_plan p = zp_synth_plan_of(opt, cfg, step, j, tp, ep, c);
  return element_of(&p, element);
}

/* Is this use of the entry in its mask's list? */
static int is_skipped(const zp_synth_mask *m, const zp_synth_who *who)
{
  for (int32_t i = 0; i < m->n; i++)
    if (m->skip[i].dp == who->dp && m->skip[i].mb == who->mb) return 1;
  return 0;
}

int zp_synth_used(const zp_synth_options *opt, const zp_config *cfg, int64_t step, int32_t j,
                  int32_t ep, int64_t c)
{
  const zp_synth_who who = zp_synth_name(cfg, j, ep, c);
  const uint64_t g = (uint64_t)(who.mb * cfg->dp + who.dp);
  int32_t unused = opt->unused;
  uint64_t h;
  if (cfg->params[who.entry].frozen) return 0;
  if (opt->oneside) {
    const zp_synth_use use = zp_synth_use_of(cfg, who.entry);
    if ((step + (int64_t)(opt->seed % 64)) % use.uses != use.use) return 0;
  }
  if (opt->mask != NULL) {
    const zp_synth_mask *m = &opt->mask[who.entry];
    if (is_skipped(m, &who)) return 0;
    if (m->unused >= 0) unused = m->unused;
  }
  if (unused == 0) return 1;
  h = zp_synth_mix(zp_synth_mix(opt->seed, ZP_SYNTH_FOR_USE), (uint64_t)step);
  h = zp_synth_mix(zp_synth_mix(h, (uint64_t)who.entry), g);
  return h % 256 >= (uint64_t)unused;
}

int64_t zp_synth_expected_of(const zp_synth_options *opt, const zp_config *cfg, int64_t step,
                             int32_t j, int32_t tp, int32_t ep, int32_t dp, int64_t element)
{
  int64_t sum = 0, from = 0, to;
  zp_synth_plan p = zp_synth_plan_of(opt, cfg, step, j, tp, ep, 0);
  const int64_t at = element + p.turn, place = at % p.cycle;
  if (p.digits == 0) return 0;
  if (place < p.cycle - 1) { /* only these contributions can be anything but 0 here */
    from = place * p.digits;
    to = from + p.digits < p.n ? from + p.digits : p.n;
  } else {
    from = zp_synth_indexed(&p, at / p.cycle);
    to = from + 1;
  }
  for (p.c = from; p.c < to; p.c++)
    if (zp_synth_used(opt, cfg, step, j, ep, p.c) &&
        (dp < 0 || zp_synth_name(cfg, j, ep, p.c).dp == dp))
      sum += code(&p, element);
  return sum;
}

int64_t zp_synth_expected(const zp_synth_options *opt, const zp_config *cfg, int64_t step,
                          int32_t j, int32_t tp, int32_t ep, int64_t element)
{
  return zp_synth_expected_of(opt, cfg, step, j, tp, ep, -1, element);
}
