/* The position of an element of a flat group. spec: PART-3 … PART-6 */
#include "layout_internal.h"

#include "../../spec/acsl/home_code.h"

int64_t zp_round_up(int64_t x, int64_t m)
{
  //@ assert facts: RoundFacts(x, m);
  return (x + m - 1) / m * m;
}

int64_t zp_buckets(const zp_flat *f)
{
  //@ assert facts: BucketsFacts(f->numel, f->capacity);
  return (f->numel + f->capacity - 1) / f->capacity;
}

int64_t zp_bucket_numel(const zp_flat *f, int64_t b)
{
  const int64_t rest = f->numel - b * f->capacity;
  return rest < f->capacity ? rest : f->capacity;
}

int64_t zp_bucket_padded(const zp_flat *f, int64_t b)
{
  //@ assert cut: FlatCut(f);
  //@ assert facts: PartFacts(f->numel, f->capacity, f->members, f->align, b);
  //@ assert unit: UnitFacts(f->members, f->align);
  return zp_round_up(zp_bucket_numel(f, b), f->members * f->align);
}

int64_t zp_part(const zp_flat *f, int64_t b)
{
  //@ assert cut: FlatCut(f);
  //@ assert facts: PartFacts(f->numel, f->capacity, f->members, f->align, b);
  return zp_bucket_padded(f, b) / f->members;
}

int64_t zp_padded(const zp_flat *f)
{
  const int64_t n = zp_buckets(f);
  //@ assert cut: FlatCut(f);
  //@ assert buckets: BucketsFacts(f->numel, f->capacity);
  //@ assert facts: PaddedFacts(f->numel, f->capacity, f->members, f->align);
  return n == 0 ? 0 : (n - 1) * f->capacity + zp_bucket_padded(f, n - 1);
}

int64_t zp_shard(const zp_flat *f)
{
  //@ assert cut: FlatCut(f);
  //@ assert facts: ShardFacts(f->numel, f->capacity, f->members, f->align);
  //@ assert unit: UnitFacts(f->members, f->align);
  return zp_padded(f) / f->members;
}

int64_t zp_shard_offset(const zp_flat *f, int64_t b)
{
  //@ assert cut: FlatCut(f);
  //@ assert facts: PartFacts(f->numel, f->capacity, f->members, f->align, b);
  return b * (f->capacity / f->members);
}

zp_home zp_home_of(const zp_flat *f, int64_t e)
{
  zp_home h = {0};
  const int64_t b = e / f->capacity, in = e % f->capacity;
  int64_t part = 0;
  //@ assert cut: FlatCut(f);
  //@ assert facts: HomeFacts(f->numel, f->capacity, f->members, f->align, e);
  part = zp_part(f, b);
  h.bucket = b;
  h.owner = (int32_t)(in / part);
  h.shard_offset = zp_shard_offset(f, b) + in % part;
  //@ assert owned: h.owner == Owner(f->numel, f->capacity, f->members, f->align, e);
  /*@ assert offset: h.shard_offset ==
        ShardOffset(f->numel, f->capacity, f->members, f->align, e); */
  return h;
}

int64_t zp_bucket_of_shard(const zp_flat *f, int64_t o)
{
  //@ assert cut: FlatCut(f);
  //@ assert facts: WholeFacts(f->numel, f->capacity, f->members, f->align);
  return o / (f->capacity / f->members);
}

int64_t zp_element_at(const zp_flat *f, int32_t owner, int64_t o)
{
  int64_t b = 0, e = 0;
  //@ assert cut: FlatCut(f);
  //@ assert offset: OffsetFacts(f->numel, f->capacity, f->members, f->align, o);
  //@ assert facts: ElementFacts(f->numel, f->capacity, f->members, f->align, owner, o);
  b = zp_bucket_of_shard(f, o);
  e = b * f->capacity + owner * zp_part(f, b) + (o - zp_shard_offset(f, b));
  //@ assert element: e == ElementAt(f->numel, f->capacity, f->members, f->align, owner, o);
  return e;
}
