/* spec: PART-1 … PART-8 */
#include "layout.h"

#include "../../spec/acsl/layout_lemmas.h"

#include "../../spec/acsl/layout_frame.h"

#include "../../spec/acsl/layout_steps.h"

#include "../../spec/acsl/layout_good.h"

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
  //@ assert listed: Listed(cfg);
  /*@ loop invariant range: 0 <= lo <= StageFirst(cfg, stage) <= cfg->n_params;
      loop assigns lo;
      loop variant cfg->n_params - lo; */
  while (lo < cfg->n_params && cfg->params[lo].stage < stage) lo++;
  //@ assert first: lo == StageFirst(cfg, stage);
  hi = lo;
  /*@ loop invariant range: lo <= hi <= StageEnd(cfg, stage) <= cfg->n_params;
      loop assigns hi;
      loop variant cfg->n_params - hi; */
  while (hi < cfg->n_params && cfg->params[hi].stage == stage) hi++;
  //@ assert end: hi == StageEnd(cfg, stage);
  *first = lo;
  *count = hi - lo;
}

/* Does entry p go into the flat group f that an earlier entry of backward order opened? PART-2 */
/*@ requires valid: \valid_read(f) && \valid_read(p);
    terminates \true; exits \false;
    assigns \nothing;
    ensures takes: \result == 1 <==> Takes(f, p);
    ensures bit: \result == 0 || \result == 1; */
static int32_t belongs(const zp_flat *f, const zp_param *p)
{
  const int32_t group = p->expert ? ZP_GROUP_EDP : ZP_GROUP_DP;
  return f->tied < 0 && f->optgroup == p->optgroup && f->group == group;
}

/* The flat group that entry p joins, or n_flats when it opens a new one. PART-2 */
/*@ requires valid: \valid_read(lay) && \valid_read(p) && 0 <= lay->n_flats &&
      \valid_read(lay->flat + (0 .. lay->n_flats - 1));
    terminates \true; exits \false;
    assigns \nothing;
    ensures range: 0 <= \result <= lay->n_flats;
    ensures found: \result < lay->n_flats ==> p->tied < 0 && Takes(lay->flat + \result, p);
    ensures none: \result == lay->n_flats ==> 0 <= p->tied ||
      \forall integer k; 0 <= k < lay->n_flats ==> !Takes(lay->flat + k, p); */
static int32_t find_flat(const zp_layout *lay, const zp_param *p)
{
  if (p->tied >= 0) return lay->n_flats;
  /*@ loop invariant range: 0 <= i <= lay->n_flats;
      loop invariant none: \forall integer k; 0 <= k < i ==> !Takes(lay->flat + k, p);
      loop assigns i;
      loop variant lay->n_flats - i; */
  for (int32_t i = 0; i < lay->n_flats; i++)
    if (belongs(&lay->flat[i], p)) return i;
  return lay->n_flats;
}

/* Earlier uses, in backward order, of an entry's tied key. TIE-2 */
typedef struct zp_uses {
  int32_t n;    /* how many */
  int32_t head; /* the first of them, or the entry itself */
} zp_uses;

/* Uses of the key of entry j among the entries j+1 … end-1. TIE-2 */
/*@ requires valid: \valid_read(cfg) && \valid_read(cfg->params + (j .. end - 1));
    requires range: 0 <= j < end <= 65536;
    requires tied: IsTied(cfg, j);
    terminates \true; exits \false;
    assigns \nothing;
    ensures uses: \result.n == UseOf(cfg, end, j);
    ensures head: \result.head == HeadOf(cfg, end, j);
    ensures range: j <= \result.head < end; */
static zp_uses count_uses(const zp_config *cfg, int32_t j, int32_t end)
{
  const int32_t key = cfg->params[j].tied;
  zp_uses u = {0, j};
  /*@ loop invariant range: j + 1 <= i <= end;
      loop invariant uses: u.n == UsesBefore(cfg, ClassOf(cfg, j), j, i - j);
      loop invariant head: u.head == Leader(cfg, ClassOf(cfg, j), j, i - j);
      loop invariant bounds: 0 <= u.n <= i - j && j <= u.head < i;
      loop assigns i, u;
      loop variant end - i; */
  for (int32_t i = j + 1; i < end; i++) {
    //@ assert class: (ClassOf(cfg, i) == ClassOf(cfg, j)) <==> (IsTied(cfg, i) && cfg->params[i].tied == key);
    if (cfg->params[i].frozen || cfg->params[i].tied != key) continue;
    u.n++;
    u.head = i;
  }
  return u;
}

/* The empty flat group of entry p, D members. PART-2, PART-3, TIE-2 */
/*@ requires valid: \valid_read(cfg) && \valid_read(p);
    requires limits: 1 <= cfg->ep <= cfg->dp <= 1048576 && 1 <= cfg->align <= 4096 &&
      1 <= cfg->bucket <= 1099511627776;
    terminates \true; exits \false;
    assigns \nothing;
    ensures group: \result.group == (p->expert != 0 ? ZP_GROUP_EDP : ZP_GROUP_DP);
    ensures members: \result.members == (p->expert != 0 ? cfg->dp / cfg->ep : cfg->dp);
    ensures entry: \result.optgroup == p->optgroup && \result.tied == p->tied;
    ensures use: \result.use == use && \result.holder == holder;
    ensures empty: \result.numel == 0;
    ensures align: \result.align == cfg->align;
    ensures capacity: \result.capacity ==
      Capacity(cfg->bucket, p->expert != 0 ? cfg->dp / cfg->ep : cfg->dp, cfg->align); */
static zp_flat new_flat(const zp_config *cfg, const zp_param *p, int32_t use, int32_t holder)
{
  const int32_t members = p->expert ? cfg->dp / cfg->ep : cfg->dp;
  zp_flat f;
  //@ assert members: 1 <= members <= 1048576;
  //@ assert unit: 1 <= members * cfg->align <= 4294967296;
  f.group = p->expert ? ZP_GROUP_EDP : ZP_GROUP_DP;
  f.members = members;
  f.optgroup = p->optgroup;
  f.tied = p->tied;
  f.use = use;
  f.holder = holder;
  f.numel = 0;
  f.capacity = round_up(cfg->bucket, members * cfg->align);
  f.align = cfg->align;
  return f;
}

/* The flat group of trained entry j, when the entries behind it are placed: one of lay's, or n_flats
 * when it opens a new one. PART-2 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires range: 0 <= j < EndOf(lay) <= cfg->n_params;
    requires trained: cfg->params[j].frozen == 0;
    requires lay: \valid_read(lay) && 0 <= lay->n_flats &&
      \valid_read(lay->flat + (0 .. lay->n_flats - 1));
    requires placed: FlatsFrom(cfg, EndOf(lay), j + 1, lay);
    terminates \true; exits \false;
    assigns \nothing;
    ensures flat: \result == FlatOf(cfg, EndOf(lay), j);
    ensures range: 0 <= \result <= lay->n_flats;
    ensures opens: \result == lay->n_flats ==> Opens(cfg, EndOf(lay), j) == 1;
    ensures joins: \result < lay->n_flats ==> Opens(cfg, EndOf(lay), j) == 0; */
static int32_t flat_of(const zp_config *cfg, const zp_layout *lay, int32_t j)
{
  const int32_t k = find_flat(lay, &cfg->params[j]);
  /*@ assert join: k < lay->n_flats ==>
        FlatFrom{Here,Here}(cfg, EndOf(lay), j + 1, k, lay->flat + k) &&
        SameGroup(cfg, OpenerFrom(cfg, EndOf(lay), j + 1, k), j) &&
        ClassOf(cfg, OpenerFrom(cfg, EndOf(lay), j + 1, k)) == ClassOf(cfg, j); */
  /*@ assert open: k == lay->n_flats && cfg->params[j].tied < 0 &&
        Opens(cfg, EndOf(lay), j) == 0 ==>
        FlatFrom{Here,Here}(cfg, EndOf(lay), j + 1, FlatOf(cfg, EndOf(lay), j),
          lay->flat + FlatOf(cfg, EndOf(lay), j)) &&
        SameGroup(cfg, OpenerFrom(cfg, EndOf(lay), j + 1, FlatOf(cfg, EndOf(lay), j)), j) &&
        Takes(lay->flat + FlatOf(cfg, EndOf(lay), j), cfg->params + j); */
  return k;
}

/* The flat group that entry j opens, still empty, when the entries behind it are placed. */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires range: 0 <= lay->first_param <= j < EndOf(lay) <= cfg->n_params;
    requires opens: Opens(cfg, EndOf(lay), j) == 1;
    requires lay: \valid_read(lay) && \valid_read(lay->spot + (0 .. lay->n_params - 1));
    requires flats: lay->n_flats == CountFrom(cfg, EndOf(lay), j + 1);
    requires placed: SpotsFrom(cfg, EndOf(lay), j + 1, lay);
    terminates \true; exits \false;
    assigns \nothing;
    ensures group: \result.group == GroupOf(cfg, j) && \result.members == MembersOf(cfg, j);
    ensures entry: \result.optgroup == cfg->params[j].optgroup &&
      \result.tied == cfg->params[j].tied;
    ensures use: \result.use == UseOf(cfg, EndOf(lay), j);
    ensures holder: \result.holder == FlatAt(cfg, EndOf(lay), HeadOf(cfg, EndOf(lay), j));
    ensures empty: \result.numel == 0;
    ensures align: \result.align == cfg->align;
    ensures capacity: \result.capacity == Capacity(cfg->bucket, MembersOf(cfg, j), cfg->align); */
static zp_flat opened_by(const zp_config *cfg, const zp_layout *lay, int32_t j)
{
  const int32_t end = lay->first_param + lay->n_params;
  zp_uses u = {0, j};
  int32_t holder = lay->n_flats;
  if (cfg->params[j].tied >= 0) u = count_uses(cfg, j, end);
  //@ assert uses: u.n == UseOf(cfg, end, j) && u.head == HeadOf(cfg, end, j);
  //@ assert tied: u.head != j ==> IsTied(cfg, u.head);
  //@ assert spot: u.head != j ==> SpotAt(cfg, end, u.head, lay);
  if (u.head != j) holder = lay->spot[u.head - lay->first_param].flat;
  return new_flat(cfg, &cfg->params[j], u.n, holder);
}

/* Flat group k after trained entry j, which is its next, when the entries behind it are placed. */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires range: 0 <= lay->first_param <= j < EndOf(lay) <= cfg->n_params;
    requires trained: cfg->params[j].frozen == 0;
    requires lay: \valid_read(lay) && \valid_read(lay->flat + (0 .. lay->n_flats - 1)) &&
      \valid_read(lay->spot + (0 .. lay->n_params - 1));
    requires flats: FlatsFrom(cfg, EndOf(lay), j + 1, lay);
    requires spots: SpotsFrom(cfg, EndOf(lay), j + 1, lay);
    requires flat: k == FlatOf(cfg, EndOf(lay), j) && 0 <= k <= lay->n_flats;
    requires opens: k == lay->n_flats <==> Opens(cfg, EndOf(lay), j) == 1;
    terminates \true; exits \false;
    assigns \nothing;
    ensures group: \result.group == GroupOf(cfg, OpenerFrom(cfg, EndOf(lay), j, k)) &&
      \result.members == MembersOf(cfg, OpenerFrom(cfg, EndOf(lay), j, k));
    ensures entry:
      \result.optgroup == cfg->params[OpenerFrom(cfg, EndOf(lay), j, k)].optgroup &&
      \result.tied == cfg->params[OpenerFrom(cfg, EndOf(lay), j, k)].tied;
    ensures use: \result.use == UseOf(cfg, EndOf(lay), OpenerFrom(cfg, EndOf(lay), j, k)) &&
      \result.holder == FlatAt(cfg, EndOf(lay),
        HeadOf(cfg, EndOf(lay), OpenerFrom(cfg, EndOf(lay), j, k)));
    ensures numel: \result.numel == NumelFrom(cfg, EndOf(lay), j, k);
    ensures start: \result.numel - cfg->params[j].numel == StartOf(cfg, EndOf(lay), j);
    ensures align: \result.align == cfg->align;
    ensures capacity: \result.capacity == Capacity(cfg->bucket,
      MembersOf(cfg, OpenerFrom(cfg, EndOf(lay), j, k)), cfg->align);
    ensures small: 0 <= \result.numel - cfg->params[j].numel <= \result.numel; */
static zp_flat grown_flat(const zp_config *cfg, const zp_layout *lay, int32_t j, int32_t k)
{
  zp_flat f;
  //@ assert entry: ValidEntry(cfg, j) && Brings(cfg, EndOf(lay), j, k) == cfg->params[j].numel;
  /*@ assert old: k < lay->n_flats ==>
        FlatFrom{Here,Here}(cfg, EndOf(lay), j + 1, k, lay->flat + k); */
  if (k < lay->n_flats) f = lay->flat[k];
  else f = opened_by(cfg, lay, j);
  //@ assert numel: f.numel == NumelFrom(cfg, EndOf(lay), j + 1, k);
  //@ assert grown: f.numel + cfg->params[j].numel == NumelFrom(cfg, EndOf(lay), j, k);
  f.numel += cfg->params[j].numel;
  return f;
}

/* Places trained entry first_param + i, when the entries behind it are placed. Returns 0, or -1 when
 * there is no room for its flat group. PART-2, TIE-2 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires range: 0 <= lay->first_param && 0 <= i < lay->n_params &&
      EndOf(lay) <= cfg->n_params;
    requires trained: cfg->params[lay->first_param + i].frozen == 0;
    requires lay: \valid(lay) && 0 <= lay->n_flats <= lay->cap_flats &&
      lay->n_params <= lay->cap_spots && \valid(lay->flat + (0 .. lay->cap_flats - 1)) &&
      \valid(lay->spot + (0 .. lay->cap_spots - 1));
    requires apart: \separated(lay, lay->flat + (0 .. lay->cap_flats - 1),
      lay->spot + (0 .. lay->cap_spots - 1), cfg, cfg->params + (0 .. cfg->n_params - 1));
    requires flats: FlatsFrom(cfg, EndOf(lay), lay->first_param + i + 1, lay);
    requires spots: SpotsFrom(cfg, EndOf(lay), lay->first_param + i + 1, lay);
    terminates \true; exits \false;
    assigns lay->n_flats, lay->flat[0 .. lay->cap_flats - 1], lay->spot[i];
    ensures verdict: \result == 0 || \result == -1;
    ensures room: \result == -1 <==>
      lay->cap_flats < \old(CountFrom(cfg, EndOf(lay), lay->first_param + i));
    ensures flats: \result == 0 ==> FlatsFrom(cfg, EndOf(lay), lay->first_param + i, lay);
    ensures spots: \result == 0 ==> SpotsFrom(cfg, EndOf(lay), lay->first_param + i, lay);
    ensures range: \result == 0 ==> 0 <= lay->n_flats <= lay->cap_flats; */
static int place_trained(const zp_config *cfg, zp_layout *lay, int32_t i)
{
  const int32_t j = lay->first_param + i, k = flat_of(cfg, lay, j);
  const int32_t opens = k == lay->n_flats;
  int64_t start;
  zp_flat f;
  /*@ assert count: CountFrom(cfg, EndOf(lay), j) == lay->n_flats + Opens(cfg, EndOf(lay), j) &&
        (Opens(cfg, EndOf(lay), j) == 0 || Opens(cfg, EndOf(lay), j) == 1); */
  if (k >= lay->cap_flats) return -1;
  f = grown_flat(cfg, lay, j, k);
  start = f.numel - cfg->params[j].numel;
  lay->flat[k] = f;
  /*@ assert s1: \forall integer m; 0 <= m < cfg->n_params ==> cfg->params[m].stage == \at(cfg->params[m].stage,Pre); */
  /*@ assert s2: \forall integer m; 0 <= m < cfg->n_params ==> cfg->params[m].numel == \at(cfg->params[m].numel,Pre); */
  lay->spot[i].flat = k;
  lay->spot[i].start = start;
  lay->n_flats += opens;
  //@ assert same: SameInput{Pre,Here}(cfg);
  //@ assert end: EndOf(lay) == \at(EndOf(lay), Pre);
  /*@ assert others: \forall integer m; 0 <= m < \at(lay->n_flats, Pre) && m != k ==>
        SameFlat{Pre,Here}(lay->flat + m, 0); */
  return 0;
}

/* Places entry first_param + i, when the entries behind it are placed. Returns 0, or -1 when there
 * is no room for its flat group. PART-2, TIE-2 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires range: 0 <= lay->first_param && 0 <= i < lay->n_params &&
      EndOf(lay) <= cfg->n_params;
    requires lay: \valid(lay) && 0 <= lay->n_flats <= lay->cap_flats &&
      lay->n_params <= lay->cap_spots && \valid(lay->flat + (0 .. lay->cap_flats - 1)) &&
      \valid(lay->spot + (0 .. lay->cap_spots - 1));
    requires apart: \separated(lay, lay->flat + (0 .. lay->cap_flats - 1),
      lay->spot + (0 .. lay->cap_spots - 1), cfg, cfg->params + (0 .. cfg->n_params - 1));
    requires flats: FlatsFrom(cfg, EndOf(lay), lay->first_param + i + 1, lay);
    requires spots: SpotsFrom(cfg, EndOf(lay), lay->first_param + i + 1, lay);
    terminates \true; exits \false;
    assigns lay->n_flats, lay->flat[0 .. lay->cap_flats - 1], lay->spot[i];
    ensures verdict: \result == 0 || \result == -1;
    ensures room: \result == -1 <==>
      lay->cap_flats < \old(CountFrom(cfg, EndOf(lay), lay->first_param + i));
    ensures flats: \result == 0 ==> FlatsFrom(cfg, EndOf(lay), lay->first_param + i, lay);
    ensures spots: \result == 0 ==> SpotsFrom(cfg, EndOf(lay), lay->first_param + i, lay);
    ensures range: \result == 0 ==> 0 <= lay->n_flats <= lay->cap_flats; */
static int place_entry(const zp_config *cfg, zp_layout *lay, int32_t i)
{
  if (!cfg->params[lay->first_param + i].frozen) return place_trained(cfg, lay, i);
  lay->spot[i].flat = -1;
  lay->spot[i].start = 0;
  return 0;
}

int zp_layout_build(const zp_config *cfg, int32_t stage, zp_layout *lay)
{
  int32_t first, count;
  zp_stage_params(cfg, stage, &first, &count);
  lay->stage = stage;
  lay->first_param = first;
  lay->n_params = count;
  lay->n_flats = 0;
  if (count > lay->cap_spots) return -1;
  /*@ loop invariant range: -1 <= i < count;
      loop invariant room: 0 <= lay->n_flats <= lay->cap_flats;
      loop invariant flats: FlatsFrom(cfg, EndOf(lay), first + i + 1, lay);
      loop invariant spots: SpotsFrom(cfg, EndOf(lay), first + i + 1, lay);
      loop assigns i, lay->n_flats, lay->flat[0 .. lay->cap_flats - 1],
        lay->spot[0 .. lay->cap_spots - 1];
      loop variant i; */
  for (int32_t i = count - 1; i >= 0; i--)
    if (place_entry(cfg, lay, i)) return -1;
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
