#include "random_case.h"

#include <string.h>

#include "../engine/partial.h"

enum { MOST_RANKS = 16, MOST_ELEMENTS = 1000, MOST_ENTRIES = 48 };

typedef struct dice {
  uint64_t state;
} dice;

static uint64_t next(dice *d)
{
  uint64_t z = d->state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

/* 0 .. n-1 */
static int32_t roll(dice *d, int32_t n)
{
  return (int32_t)(next(d) >> 33) % n;
}

/* 1 in `percent` of 100 cases. */
static int chance(dice *d, int32_t percent)
{
  return roll(d, 100) < percent;
}

static int32_t pick(dice *d, const int32_t *from, int32_t n)
{
  return from[roll(d, n)];
}

/* ---- Topology and the scalar fields ---------------------------------------------------------- */

static void random_topology(dice *d, zp_config *cfg)
{
  int32_t ranks;
  do {
    cfg->pp = 1 + (chance(d, 85) ? roll(d, 6) : 0);
    cfg->dp = 1 + roll(d, 8);
    cfg->tp = chance(d, 35) ? 2 + roll(d, 2) : 1;
    ranks = cfg->pp * cfg->dp * cfg->tp;
  } while (ranks > MOST_RANKS || roll(d, 8) > ranks); /* small ones are rarer */
  cfg->ep = 1;
  if (!chance(d, 45)) return;
  do cfg->ep = 1 + roll(d, cfg->dp);
  while (cfg->dp % cfg->ep != 0 || (cfg->ep == 1 && cfg->dp > 1 && chance(d, 60)));
}

static void random_config(dice *d, zp_config *cfg)
{
  static const int32_t aligns[] = {1, 1, 1, 1, 2, 3, 4, 8};
  random_topology(d, cfg);
  cfg->stage = roll(d, 3);
  cfg->reduce = roll(d, 2);
  cfg->precision = roll(d, 3);
  cfg->micro_batches = 1 + roll(d, 6);
  cfg->align = pick(d, aligns, 8);
  cfg->bucket = chance(d, 50) ? 1 + roll(d, 24) : 1 + roll(d, 200);
  cfg->dynamic_shapes = chance(d, 30);
}

/* ---- Parameters ------------------------------------------------------------------------------ */

/* Sizes that hide in corners: none, one, fewer than ranks, odd; and ordinary ones. */
static int64_t random_numel(dice *d, int32_t flavour, int32_t dp)
{
  static const int32_t corners[] = {0, 1, 2, 3, 5, 7, 9, 15, 16, 17};
  if (flavour == 0) return 1 + roll(d, 4); /* many tiny ones */
  if (chance(d, 25)) return pick(d, corners, 10);
  if (chance(d, 10)) return roll(d, dp + 1);
  if (flavour == 1 && chance(d, 30)) return 40 + roll(d, 200); /* larger than buckets */
  return 1 + roll(d, 48);
}

static zp_param random_entry(dice *d, const zp_config *cfg, int32_t flavour, int32_t stage,
                             int32_t groups)
{
  zp_param p;
  memset(&p, 0, sizeof p);
  p.numel = random_numel(d, flavour, cfg->dp);
  p.stage = stage;
  p.optgroup = roll(d, groups);
  p.tied = -1;
  p.sharded = chance(d, cfg->tp > 1 ? 50 : 10);
  p.expert = chance(d, cfg->ep > 1 ? 40 : 4);
  p.frozen = chance(d, 8);
  return p;
}

/* Puts entry p at the end of stage's entries, or at its start. */
static void insert(zp_case *c, const zp_param *p, int at_end)
{
  int32_t i = 0;
  if (c->cfg.n_params == MOST_ENTRIES) return;
  while (i < c->cfg.n_params && c->params[i].stage < p->stage + at_end) i++;
  memmove(&c->params[i + 1], &c->params[i], (size_t)(c->cfg.n_params - i) * sizeof *p);
  c->params[i] = *p;
  c->cfg.n_params++;
}

/* Up to two tied keys, each with two or three uses on stages of their own or on one. */
static void random_tied(dice *d, zp_case *c)
{
  const int32_t keys = 1 + chance(d, 45);
  for (int32_t key = 0; key < keys; key++) {
    const int32_t uses = 2 + chance(d, 20);
    const int32_t one_stage = chance(d, 25);
    const int32_t home = roll(d, c->cfg.pp);
    zp_param p = random_entry(d, &c->cfg, 2, 0, 2);
    p.expert = 0;
    p.tied = key;
    for (int32_t u = 0; u < uses; u++) {
      p.stage = one_stage ? home : u == 0 ? 0 : u == 1 ? c->cfg.pp - 1 : roll(d, c->cfg.pp);
      insert(c, &p, u % 2);
    }
  }
}

static void random_list(dice *d, zp_case *c)
{
  const int32_t flavour = roll(d, 4); /* 0 tiny, 1 with large ones, else mixed */
  c->cfg.n_params = 0;
  for (int32_t s = 0; s < c->cfg.pp; s++) {
    const int32_t groups = 1 + roll(d, 3);
    int32_t n = flavour == 0 ? 4 + roll(d, 8) : 2 + roll(d, 4);
    if (c->cfg.pp > 1 && chance(d, 3)) n = 0; /* a stage without parameters */
    if (c->cfg.pp == 1) n += 3;
    for (int32_t i = 0; i < n && c->cfg.n_params < MOST_ENTRIES - 6; i++)
      c->params[c->cfg.n_params++] = random_entry(d, &c->cfg, flavour, s, groups);
  }
  if (chance(d, 35)) random_tied(d, c);
  zp_case_settle(c);
  while (zp_case_elements(c) > MOST_ELEMENTS)
    for (int32_t j = 0; j < c->cfg.n_params; j++)
      if (c->params[j].numel > 8) c->params[j].numel = c->params[j].numel * 3 / 4;
}

/* ---- Training -------------------------------------------------------------------------------- */

static void random_scaler(dice *d, zp_case *c)
{
  const int32_t log2 = roll(d, 14);
  (void)zp_scaler_init(&c->scaler, 0, 0, 0, 0, 1, 1, 0);
  if (chance(d, 35)) return;
  if (chance(d, 25)) (void)zp_scaler_init(&c->scaler, 0, log2, log2, log2, 1, 1, 0);
  else
    (void)zp_scaler_init(&c->scaler, 1, log2, chance(d, 30) ? log2 : 0, log2 + 2, 1 + roll(d, 2),
                         1 + chance(d, 25), roll(d, 2));
}

static void random_training(dice *d, zp_case *c)
{
  static const double clips[] = {0, 0, 1e-3, 0.25, 2, 1e6};
  const int32_t mode = roll(d, 100);
  c->steps = 1 + (chance(d, 45) ? 1 + roll(d, 2) : 0);
  c->optim = roll(d, 4);
  c->clip = clips[roll(d, 6)];
  random_scaler(d, c);
  c->synth.seed = next(d) >> 40;
  c->synth.mode = mode < 45 ? ZP_SYNTH_CODED : mode < 60 ? ZP_SYNTH_DYADIC : ZP_SYNTH_WILD;
  c->synth.log2_unit = -c->scaler.log2_scale;
  c->synth.huge = chance(d, 35);
  c->synth.vary = chance(d, 40);
  c->synth.tuple = chance(d, 40);
  if (chance(d, 40)) c->synth.unused = 16 + roll(d, 160);
  if (chance(d, 16)) c->synth.overflow = 1 + (uint32_t)roll(d, 7);
  if (chance(d, 5)) c->synth.bad_loss = 1 + (uint32_t)roll(d, 7);
}

/* Where the case is saved and loaded: under exact reduction any split of the global batch that the
 * experts' copies allow. */
static void random_reload(dice *d, zp_case *c)
{
  const zp_config *cfg = &c->cfg;
  zp_reload r = {cfg->pp, cfg->dp, cfg->stage, cfg->bucket, 1};
  zp_case other;
  for (int32_t i = 0; i < 16 && cfg->reduce == ZP_EXACT; i++) {
    r.pp = 1 + roll(d, 6);
    r.dp = 1 + roll(d, 12);
    r.stage = roll(d, 3);
    r.bucket = 1 + roll(d, 100);
    c->reload = r;
    if (r.pp * r.dp * cfg->tp <= MOST_RANKS && zp_case_reloaded(c, &other)) return;
  }
  c->reload = (zp_reload){cfg->pp, cfg->dp, cfg->stage, cfg->bucket, 1};
}

/* 1: stage s has a tied entry. */
static int has_tied(const zp_case *c, int32_t s)
{
  for (int32_t j = 0; j < c->cfg.n_params; j++)
    if (c->params[j].stage == s && c->params[j].tied >= 0) return 1;
  return 0;
}

/* Some cases get a stage whose entries are all tied, or all frozen, or a frozen tied key. */
static void random_stages(dice *d, zp_case *c)
{
  const int32_t s = roll(d, c->cfg.pp), key = roll(d, c->cfg.tied_keys + 1);
  const int tied = has_tied(c, s), bare = tied && c->cfg.pp > 1 && chance(d, 40);
  const int frozen = !tied && c->cfg.pp > 1 && chance(d, 12), freeze = chance(d, 12);
  int32_t n = 0;
  for (int32_t j = 0; j < c->cfg.n_params; j++) {
    zp_param p = c->params[j];
    if (p.stage == s && bare && p.tied < 0) continue;
    if ((p.stage == s && frozen) || (p.tied >= 0 && p.tied == key && freeze)) p.frozen = 1;
    c->params[n++] = p;
  }
  c->cfg.n_params = n;
  zp_case_settle(c);
}

/* In some cases of 16 bits, some entries are fp32; those of one tied key agree. */
static void random_fp32(dice *d, zp_case *c)
{
  const int some = c->cfg.precision != ZP_F32 && chance(d, 25);
  for (int32_t j = 0; some && j < c->cfg.n_params; j++) {
    zp_param *p = &c->params[j];
    int32_t i = 0;
    while (i < j && (p->tied < 0 || c->params[i].tied != p->tied)) i++;
    p->fp32 = i < j ? c->params[i].fp32 : chance(d, 40);
  }
}

/* Gradients near 1e20 or 1e-20 (fp16 has neither), sums that overflow, most uses left out, tied
 * keys of which one use takes part. */
static void random_extremes(dice *d, zp_case *c)
{
  if (chance(d, 25) && c->cfg.precision != ZP_F16) c->synth.log2_unit += chance(d, 50) ? 64 : -80;
  if (chance(d, 8)) c->synth.oversum = 1u << roll(d, c->steps);
  if (chance(d, 8)) c->synth.unused = 176 + roll(d, 72);
  c->synth.oneside = c->cfg.tied_keys > 0 && chance(d, 20);
}

/* R of a job with such dp, ep and ZeRO stage, 1 in some cases. LIM-10 */
static int32_t some_replicas(dice *d, int32_t dp, int32_t ep, int32_t stage)
{
  const int32_t r = stage == 0 || chance(d, 35) ? 1 : 2 + roll(d, 3);
  return dp % (ep * r) == 0 ? r : dp % (ep * 2) == 0 && stage > 0 ? 2 : 1;
}

/* Replicas of the case, and where it is loaded: the bits depend on them unless sums are exact. */
static void random_replicas(dice *d, zp_case *c)
{
  const zp_reload *to = &c->reload;
  c->replicas = some_replicas(d, c->cfg.dp, c->cfg.ep, c->cfg.stage);
  if (to->pp == 0) return;
  c->reload.replicas =
      c->cfg.reduce == ZP_EXACT ? some_replicas(d, to->dp, c->cfg.ep, to->stage) : c->replicas;
}

/* Mostly none; else 128 bytes of a precision, or fewer. */
static int32_t some_entry_align(dice *d)
{
  static const int32_t aligns[] = {1, 1, 1, 1, 4, 32, 64, 64};
  return pick(d, aligns, 8);
}

/* Mostly the default. 1: as few as the program allows. */
static int32_t some_slots(dice *d)
{
  static const int32_t slots[] = {0, 0, 0, 0, 0, 1, 3, 5};
  return pick(d, slots, 8);
}

void zp_fuzz_random(uint64_t seed, uint64_t i, zp_case *c)
{
  dice d = {seed * 0xd1342543de82ef95u ^ i * 0x2545f4914f6cdd1du};
  (void)next(&d);
  zp_case_init(c);
  random_config(&d, &c->cfg);
  random_list(&d, c);
  random_training(&d, c);
  random_stages(&d, c);
  c->rates = chance(&d, 15);
  if (chance(&d, 10)) random_reload(&d, c);
  random_extremes(&d, c);
  c->cfg.sequence_parallel = c->cfg.tp > 1 && chance(&d, 50);
  random_replicas(&d, c);
  c->entry_align = some_entry_align(&d);
  c->slots = some_slots(&d);
  c->synth.fp32_gradients = c->cfg.precision != ZP_F32 && chance(&d, 20);
  random_fp32(&d, c);
  c->unchecked = i % 4 != 0; /* the check costs as much as the simulation */
}
