/* spec: PART-1 … PART-8 */
#include "layout.h"

/* x rounded up to a multiple of m; 0 <= x <= 2^41, 1 <= m <= 2^32 (D·align). PART-3 */
/*@ requires range: 0 <= x <= 2199023255552 && 1 <= m <= 4294967296;
    terminates \true; exits \false;
    assigns \nothing;
    ensures up: \result == RoundUp(x, m);
    ensures bounds: x <= \result < x + m; */
static int64_t round_up(int64_t x, int64_t m)
{
  return (x + m - 1) / m * m;
}

void zp_stage_params(const zp_config *cfg, int32_t stage, int32_t *first, int32_t *count)
{
  int32_t lo = 0, hi;
  while (lo < cfg->n_params && cfg->params[lo].stage < stage) lo++;
  hi = lo;
  while (hi < cfg->n_params && cfg->params[hi].stage == stage) hi++;
  *first = lo;
  *count = hi - lo;
}

/* Does entry p go into the flat group f that earlier entries of backward order opened? PART-2 */
static int32_t belongs(const zp_flat *f, const zp_param *p)
{
  const int32_t group = p->expert ? ZP_GROUP_EDP : ZP_GROUP_DP;
  return f->tied < 0 && f->optgroup == p->optgroup && f->group == group;
}

/* The flat group that entry p joins, or n_flats when it opens a new one. PART-2 */
static int32_t find_flat(const zp_layout *lay, const zp_param *p)
{
  if (p->tied >= 0) return lay->n_flats;
  for (int32_t i = 0; i < lay->n_flats; i++)
    if (belongs(&lay->flat[i], p)) return i;
  return lay->n_flats;
}

/* Uses of `key` among the flat groups opened so far; the first of them in *holder. TIE-2 */
static int32_t count_uses(const zp_layout *lay, int32_t key, int32_t *holder)
{
  int32_t n = 0;
  *holder = lay->n_flats;
  for (int32_t i = 0; i < lay->n_flats; i++) {
    if (lay->flat[i].tied == key) {
      if (n == 0) *holder = i;
      n++;
    }
  }
  return n;
}

/* Opens the flat group of entry p. PART-2, PART-3 */
static void open_flat(const zp_config *cfg, zp_layout *lay, const zp_param *p)
{
  zp_flat *f = &lay->flat[lay->n_flats];
  f->group = p->expert ? ZP_GROUP_EDP : ZP_GROUP_DP;
  f->members = p->expert ? cfg->dp / cfg->ep : cfg->dp;
  f->optgroup = p->optgroup;
  f->tied = p->tied;
  f->use = 0;
  f->holder = lay->n_flats;
  if (p->tied >= 0) f->use = count_uses(lay, p->tied, &f->holder);
  f->numel = 0;
  f->align = cfg->align;
  f->capacity = round_up(cfg->bucket, f->members * cfg->align);
  lay->n_flats++;
}

int zp_layout_build(const zp_config *cfg, int32_t stage, zp_layout *lay)
{
  lay->stage = stage;
  lay->n_flats = 0;
  zp_stage_params(cfg, stage, &lay->first_param, &lay->n_params);
  if (lay->n_params > lay->cap_spots) return -1;
  for (int32_t i = lay->n_params - 1; i >= 0; i--) {
    const zp_param *p = &cfg->params[lay->first_param + i];
    int32_t k;
    lay->spot[i].flat = -1;
    lay->spot[i].start = 0;
    if (p->frozen) continue;
    k = find_flat(lay, p);
    if (k == lay->n_flats) {
      if (k >= lay->cap_flats) return -1;
      open_flat(cfg, lay, p);
    }
    lay->spot[i].flat = k;
    lay->spot[i].start = lay->flat[k].numel;
    lay->flat[k].numel += p->numel;
  }
  return 0;
}

int64_t zp_buckets(const zp_flat *f)
{
  return (f->numel + f->capacity - 1) / f->capacity;
}

int64_t zp_bucket_numel(const zp_flat *f, int64_t b)
{
  const int64_t rest = f->numel - b * f->capacity;
  return rest < f->capacity ? rest : f->capacity;
}

int64_t zp_bucket_padded(const zp_flat *f, int64_t b)
{
  return round_up(zp_bucket_numel(f, b), f->members * f->align);
}

int64_t zp_part(const zp_flat *f, int64_t b)
{
  return zp_bucket_padded(f, b) / f->members;
}

int64_t zp_padded(const zp_flat *f)
{
  const int64_t n = zp_buckets(f);
  return n == 0 ? 0 : (n - 1) * f->capacity + zp_bucket_padded(f, n - 1);
}

int64_t zp_shard(const zp_flat *f)
{
  return zp_padded(f) / f->members;
}

int64_t zp_shard_offset(const zp_flat *f, int64_t b)
{
  return b * (f->capacity / f->members);
}

zp_home zp_home_of(const zp_flat *f, int64_t e)
{
  zp_home h;
  const int64_t b = e / f->capacity, in = e % f->capacity, part = zp_part(f, b);
  h.bucket = b;
  h.owner = (int32_t)(in / part);
  h.shard_offset = zp_shard_offset(f, b) + in % part;
  return h;
}

int64_t zp_bucket_of_shard(const zp_flat *f, int64_t o)
{
  return o / (f->capacity / f->members);
}

int64_t zp_element_at(const zp_flat *f, int32_t owner, int64_t o)
{
  const int64_t b = zp_bucket_of_shard(f, o);
  return b * f->capacity + owner * zp_part(f, b) + (o - zp_shard_offset(f, b));
}
