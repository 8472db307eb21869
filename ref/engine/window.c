/* spec: PART-3 … PART-7, PART-9, RED-3, TIE-2 */
#include "window.h"
#include "../../spec/acsl/bounds.h"

#include "../../spec/acsl/home_code.h"

#include "../../spec/acsl/layout_good.h"

#include "../../spec/acsl/window_lemmas.h"

int64_t zp_extent(const zp_flat *f, int32_t stage)
{
  //@ assert cut: FlatCut(f);
  //@ assert unit: UnitFacts(f->members, f->align);
  return stage == 0 ? zp_padded(f) : zp_shard(f);
}

int64_t zp_widest(const zp_flat *f)
{
  return f->numel > 0 ? zp_bucket_padded(f, 0) : 0;
}

int64_t zp_sum_bytes(int32_t reduce)
{
  return reduce == ZP_EXACT ? 8 * (int64_t)ZP_LIMBS : 4;
}

int32_t zp_is_packed(int32_t stage, int32_t reduce)
{
  return stage == 2 && reduce == ZP_EXACT;
}

int64_t zp_kept_sum_bytes(int32_t stage, int32_t reduce, int32_t dtype)
{
  if (!zp_is_packed(stage, reduce)) return zp_sum_bytes(reduce);
  /* words of 32 bits, of which the top limb has two (num/packed.h) */
  return dtype == ZP_F16 ? 4 * 3 : 4 * (int64_t)(ZP_LIMBS + 1);
}

zp_range zp_whole_range(const zp_flat *f, int64_t b)
{
  zp_range p = {0};
  //@ assert cut: FlatCut(f);
  //@ assert part: PartFacts(f->numel, f->capacity, f->members, f->align, b);
  //@ assert range: RangeFacts(f->numel, f->capacity, f->members, f->align, b);
  //@ assert unit: UnitFacts(f->members, f->align);
  p.at = b * f->capacity;
  p.count = zp_bucket_padded(f, b);
  p.flat = p.at;
  p.real = zp_bucket_numel(f, b);
  return p;
}

/* left, cut to 0 … count. */
/*@ requires count: 0 <= count;
    terminates \true; exits \false;
    assigns \nothing;
    ensures least: \result == (left < 0 ? 0 : left < count ? left : count); */
static int64_t least(int64_t count, int64_t left)
{
  if (left < 0) return 0;
  return left < count ? left : count;
}

/* Part `index`, 0 <= index < D, of bucket b of flat group f; whole: the rank's arrays hold the
 * whole padded flat group, not its shard. PART-4, PART-5 */
/*@ requires flat: \valid_read(f) && FlatOk(f);
    requires bucket: HasBucket(f, b);
    requires index: 0 <= index < f->members;
    terminates \true; exits \false;
    assigns \nothing;
    ensures part: \result.count == PartIn(f, b);
    ensures flat: \result.flat == b * f->capacity + index * \result.count;
    ensures at: \result.at == (stage == 0 ? \result.flat : b * (f->capacity / f->members));
    ensures inside: RangeInside(\result, ExtentOf(f, stage));
    ensures real: RangeReal(\result, f->numel);
    ensures home: stage != 0 ==> HomesAre(f, b, index, \result); */
static zp_range part_range(const zp_flat *f, int32_t stage, int64_t index, int64_t b)
{
  //@ assert cut: FlatCut(f);
  //@ assert facts: PartFacts(f->numel, f->capacity, f->members, f->align, b);
  //@ assert range: RangeFacts(f->numel, f->capacity, f->members, f->align, b);
  //@ assert owned: OwnedFacts(f->numel, f->capacity, f->members, f->align, b, index);
  //@ assert unit: UnitFacts(f->members, f->align);
  const int64_t count = zp_part(f, b), flat = b * f->capacity + index * count;
  const int64_t at = stage == 0 ? flat : zp_shard_offset(f, b);
  //@ assert end: 0 <= flat && flat + count <= PaddedOf(f) <= 2199023255552;
  /*@ assert home: stage != 0 ==>
        PartHome(f->numel, f->capacity, f->members, f->align, b, index, at, flat); */
  //@ assert inside: 0 <= at && at + count <= ExtentOf(f, stage);
  const int64_t real = least(count, f->numel - flat);
  const zp_range p = {at, count, flat, real};
  return p;
}

zp_range zp_owned_range(const zp_config *cfg, const zp_layout *lay, zp_coord at, int32_t k,
                        int64_t b)
{
  const zp_flat *f = &lay->flat[k];
  const int64_t index = zp_group_index(cfg, f->group, -1, at);
  //@ assert good: FlatGood(cfg, at.pp, lay, k);
  //@ assert cut: FlatCut(lay->flat + k);
  //@ assert index: 0 <= index < f->members;
  return part_range(f, cfg->stage, index, b);
}

zp_range zp_local_range(const zp_config *cfg, const zp_layout *lay, zp_coord at, int32_t k,
                        int64_t b)
{
  //@ assert good: FlatGood(cfg, at.pp, lay, k);
  /*@ assert tied: \forall integer h; 0 <= h < lay->n_flats && 0 <= lay->flat[k].tied &&
        (lay->flat + h)->tied == lay->flat[k].tied ==> CutAlike(lay->flat + k, lay->flat + h); */
  if (cfg->stage == 0) return zp_whole_range(&lay->flat[k], b);
  return zp_owned_range(cfg, lay, at, k, b);
}

zp_range zp_add_range(const zp_config *cfg, const zp_layout *lay, const zp_op *op)
{
  const zp_flat *f = &lay->flat[op->flat];
  const int32_t i = op->param - lay->first_param;
  zp_range p = {0};
  //@ assert range: LayoutRange(cfg, lay);
  //@ assert spot: SpotGood(cfg, lay->stage, lay, i);
  //@ assert good: FlatGood(cfg, lay->stage, lay, op->flat);
  //@ assert cut: FlatCut(f);
  /*@ assert add: AddFacts(f->numel, f->capacity, f->members, f->align, op->bucket,
        lay->spot[i].start + op->offset, op->count); */
  //@ assert part: PartFacts(f->numel, f->capacity, f->members, f->align, op->bucket);
  //@ assert facts: RangeFacts(f->numel, f->capacity, f->members, f->align, op->bucket);
  p.flat = lay->spot[i].start + op->offset;
  p.at = cfg->stage < 2 ? p.flat : p.flat - op->bucket * f->capacity;
  p.count = op->count;
  p.real = op->count;
  return p;
}

zp_piece zp_piece_next(const zp_config *cfg, const zp_layout *lay, int32_t k, zp_range p, int32_t i)
{
  zp_piece g = {-1, 0, 0, 0, 0};
  const zp_segment s = zp_segment_next(cfg, lay, k, p.flat, p.flat + p.real, i);
  if (s.count == 0) return g;
  //@ assert range: LayoutRange(cfg, lay);
  g.param = s.param;
  g.i = s.param - lay->first_param;
  g.offset = s.offset;
  g.in = s.flat - p.flat;
  g.count = s.count;
  return g;
}

/*@ terminates \true; exits \false;
    assigns \nothing;
    ensures larger: \result == Larger(a, b); */
static int64_t larger(int64_t a, int64_t b)
{
  return a > b ? a : b;
}

/* The scratch memory s, made larger where flat group f needs more. The precision is a float's,
 * stage 0 to 2; s is at most 2^48. */
/*@ requires cfg: \valid_read(cfg) && 0 <= cfg->precision <= 2;
    requires flat: \valid_read(f) && FlatOk(f);
    requires scratch: 0 <= s.send <= 281474976710656 && 0 <= s.recv <= 281474976710656;
    terminates \true; exits \false;
    assigns \nothing;
    ensures bounds: s.send <= \result.send <= 281474976710656 &&
        s.recv <= \result.recv <= 281474976710656;
    ensures serves: ScratchServes(cfg, f, \result); */
static zp_scratch serve(const zp_config *cfg, const zp_flat *f, zp_scratch s)
{
  const int32_t dtype = zp_dtype_of(f->fp32, cfg->precision);
  const int64_t size = zp_dtype_bytes(dtype), sum = zp_sum_bytes(cfg->reduce);
  //@ assert size: size == (dtype == ZP_F32 ? 4 : 2);
  if (f->numel == 0) return s;
  const int64_t widest = zp_bucket_padded(f, 0), local = cfg->stage == 0 ? widest : zp_part(f, 0);
  const int64_t send = widest * size, sums = local * sum, floats = widest * 4;
  //@ assert send: send == FloatBytes(dtype, widest);
  //@ assert sums: sums == SumBytes(cfg->reduce, local);
  const zp_scratch more = {larger(s.send, send), larger(s.recv, larger(floats, sums))};
  return more;
}

zp_scratch zp_scratch_need(const zp_config *cfg, const zp_layout *lay)
{
  zp_scratch s = {0, 0};
  //@ assert range: LayoutRange(cfg, lay);
  /*@ loop invariant range: 0 <= k <= lay->n_flats;
      loop invariant bounds: 0 <= s.send <= 281474976710656 && 0 <= s.recv <= 281474976710656;
      loop invariant serves: \forall integer m; 0 <= m < k ==> ScratchServes(cfg, lay->flat + m, s);
      loop assigns k, s;
      loop variant lay->n_flats - k; */
  for (int32_t k = 0; k < lay->n_flats; k++) {
    //@ assert good: FlatGood(cfg, lay->stage, lay, k);
    s = serve(cfg, &lay->flat[k], s);
  }
  /*@ assert good: \forall integer k; 0 <= k < lay->n_flats ==>
        FlatGood(cfg, lay->stage, lay, k) && FlatCut(lay->flat + k); */
  return s;
}

int32_t zp_storage_of(const zp_config *cfg, const zp_layout *lay, int32_t i)
{
  const int32_t n = lay->n_params, first = lay->first_param;
  const zp_param *p = cfg->params;
  //@ assert range: LayoutRange(cfg, lay);
  if (p[first + i].tied < 0) return i;
  /*@ loop invariant range: i <= q < n;
      loop invariant last: \forall integer m; first + q < m < first + n ==>
        p[m].tied != p[first + i].tied;
      loop assigns q;
      loop variant q; */
  for (int32_t q = n - 1; q > i; q--) {
    //@ assert agree: TiedAgree(cfg, first + i, first + q);
    if (p[first + q].tied == p[first + i].tied) return q;
  }
  return i;
}

int32_t zp_name_of(const zp_config *cfg, int32_t j)
{
  const zp_param *p = cfg->params;
  if (p[j].tied < 0) return j;
  /*@ loop invariant range: 0 <= i <= j;
      loop invariant first: \forall integer m; 0 <= m < i ==> p[m].tied != p[j].tied;
      loop assigns i;
      loop variant j - i; */
  for (int32_t i = 0; i < j; i++) {
    //@ assert agree: TiedAgree(cfg, i, j);
    if (p[i].tied == p[j].tied) return i;
  }
  return j;
}

int64_t zp_most_numel(const zp_config *cfg, const zp_layout *lay)
{
  const int32_t n = lay->n_params, first = lay->first_param;
  const zp_param *p = cfg->params;
  int64_t most = 1;
  //@ assert range: LayoutRange(cfg, lay);
  /*@ loop invariant range: 0 <= i <= n;
      loop invariant bounds: 1 <= most <= ZP_LIMIT_ELEMENTS;
      loop invariant most: \forall integer m; first <= m < first + i ==> p[m].numel <= most;
      loop assigns i, most;
      loop variant n - i; */
  for (int32_t i = 0; i < n; i++) {
    //@ assert entry: ValidEntry(cfg, first + i);
    most = larger(most, p[first + i].numel);
  }
  return most;
}

int32_t zp_act_place(int32_t slots, int64_t mb)
{
  return (int32_t)(mb % slots);
}

int64_t zp_arena_next(int64_t used, int64_t count, int64_t bytes)
{
  const int64_t most = (int64_t)1 << 56;
  if (used > most || count > most / bytes) return -1;
  //@ assert product: 0 <= count * bytes <= most;
  return used + (count * bytes + 63) / 64 * 64; /* 64: a cache line */
}
