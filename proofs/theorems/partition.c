/* Family 1, partition: the planner's maps between elements and homes are inverses, on flat groups
 * and on entries. This file is not linked into any program.
 * spec: PART-2, PART-3, PART-4, PART-5, PART-6, PART-7 */
#include "../../ref/plan/layout.h"
#include "../../spec/acsl/topology_lemmas.h"

#include "../../spec/acsl/home_lemmas.h"
#include "../../spec/acsl/layout_lemmas.h"

#include "../../spec/acsl/layout_good.h"

#include "../../spec/acsl/entry_home.h"

/* An element is found at its home. */
/*@ requires flat: \valid_read(f) && FlatOk(f);
    requires element: 0 <= e < f->numel;
    terminates \true; exits \false;
    assigns \nothing;
    ensures same: \result == e;
    check ensures control: \result == e + 1; */
static int64_t there_and_back(const zp_flat *f, int64_t e)
{
  const zp_home h = zp_home_of(f, e);
  //@ assert cut: Cut(f->numel, f->capacity, f->members, f->align);
  //@ assert padded: e < PaddedNumel(f->numel, f->capacity, f->members, f->align);
  return zp_element_at(f, h.owner, h.shard_offset);
}

/* An element at an offset of a shard has its home there, or the offset holds padding: after the
 * last element, in the last bucket, and no element's home. */
/*@ requires flat: \valid_read(f) && FlatOk(f);
    requires owner: 0 <= owner < f->members;
    requires offset: 0 <= o < ShardNumel(f->numel, f->capacity, f->members, f->align);
    terminates \true; exits \false;
    assigns \nothing;
    ensures home: ElementAt(f->numel, f->capacity, f->members, f->align, owner, o) < f->numel ==>
      \result.bucket == ShardBucket(f->capacity, f->members, o) && \result.owner == owner &&
      \result.shard_offset == o;
    ensures padding:
      f->numel <= ElementAt(f->numel, f->capacity, f->members, f->align, owner, o) ==>
      \result.bucket == -1 &&
      ShardBucket(f->capacity, f->members, o) == Buckets(f->numel, f->capacity) - 1;
    check ensures control: \result.bucket == -1; */
static zp_home back_and_there(const zp_flat *f, int32_t owner, int64_t o)
{
  const zp_home none = {-1, -1, -1};
  const int64_t e = zp_element_at(f, owner, o);
  //@ assert cut: Cut(f->numel, f->capacity, f->members, f->align);
  return e < f->numel ? zp_home_of(f, e) : none;
}

/* Element x of trained entry first_param + i. */
typedef struct position {
  int32_t flat;
  zp_home home;
} position;

/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && LayoutOf(cfg, stage, lay) && 0 <= stage < cfg->pp;
    requires entry: 0 <= i < lay->n_params && cfg->params[lay->first_param + i].frozen == 0;
    requires element: 0 <= x < cfg->params[lay->first_param + i].numel;
    terminates \true; exits \false;
    assigns \nothing;
    ensures flat: 0 <= \result.flat < lay->n_flats && \result.flat == lay->spot[i].flat;
    ensures home: \let f = lay->flat + lay->spot[i].flat;
      0 <= \result.home.owner < f->members &&
      0 <= \result.home.shard_offset < ShardNumel(f->numel, f->capacity, f->members, f->align);
    ensures back: \let f = lay->flat + lay->spot[i].flat;
      ElementAt(f->numel, f->capacity, f->members, f->align, \result.home.owner,
        \result.home.shard_offset) == lay->spot[i].start + x;
    ensures mine: HasElement(cfg, StageEnd(cfg, stage), lay->first_param + i, lay->spot[i].flat,
      lay->spot[i].start + x); */
static position position_of(const zp_config *cfg, const zp_layout *lay, int32_t stage, int32_t i,
                            int64_t x)
{
  position p = {0};
  //@ assert head: LayoutHead(cfg, stage, lay) && LayoutRange(cfg, lay);
  //@ assert spot: LayoutSpot(cfg, stage, lay, i) && SpotGood(cfg, stage, lay, i);
  //@ assert entry: lay->first_param + i < StageEnd(cfg, stage);
  p.flat = lay->spot[i].flat;
  //@ assert good: FlatGood(cfg, stage, lay, p.flat);
  /*@ assert cut: \let f = lay->flat + p.flat;
        Cut(f->numel, f->capacity, f->members, f->align); */
  /*@ assert padded: \let f = lay->flat + p.flat;
        lay->spot[i].start + x < PaddedNumel(f->numel, f->capacity, f->members, f->align); */
  p.home = zp_home_of(&lay->flat[p.flat], lay->spot[i].start + x);
  return p;
}

/* Two elements with one home are the same element of the same entry. */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && LayoutOf(cfg, stage, lay) && 0 <= stage < cfg->pp;
    requires entry1: 0 <= i < lay->n_params && cfg->params[lay->first_param + i].frozen == 0;
    requires element1: 0 <= x < cfg->params[lay->first_param + i].numel;
    requires entry2: 0 <= l < lay->n_params && cfg->params[lay->first_param + l].frozen == 0;
    requires element2: 0 <= y < cfg->params[lay->first_param + l].numel;
    terminates \true; exits \false;
    assigns \nothing;
    ensures same: \result == 1 ==> i == l && x == y;
    check ensures control: \result == 1 ==> i != l; */
static int32_t one_home(const zp_config *cfg, const zp_layout *lay, int32_t stage, int32_t i,
                        int64_t x, int32_t l, int64_t y)
{
  const position p = position_of(cfg, lay, stage, i, x), q = position_of(cfg, lay, stage, l, y);
  //@ assert head: LayoutHead(cfg, stage, lay) && LayoutRange(cfg, lay);
  if (p.flat != q.flat || p.home.owner != q.home.owner) return 0;
  if (p.home.shard_offset != q.home.shard_offset) return 0;
  //@ assert element: lay->spot[i].start + x == lay->spot[l].start + y;
  //@ assert entry: lay->first_param + i == lay->first_param + l;
  return 1;
}
