/* spec: STAT-2, TIE-2 */
#include "count.h"
#include "../../spec/acsl/bounds.h"

#include "../num/nonfinite.h"

#include "../../spec/acsl/layout_lemmas.h"

#include "../../spec/acsl/layout_good.h"

#include "../../spec/acsl/count_lemmas.h"

#include "../../spec/acsl/exact_most_count.h"

#include "../../spec/acsl/count_mean_lemmas.h"

int32_t zp_counts(const zp_config *cfg, const zp_layout *lay, int32_t j, int32_t tp)
{
  const zp_param *p = &cfg->params[j];
  //@ assert range: LayoutRange(cfg, lay) && ValidEntry(cfg, j);
  //@ assert use: UseHere(cfg, lay, j - lay->first_param);
  if (tp != 0 && !p->sharded) return 0;
  return p->tied < 0 || zp_tied_first_stage(cfg, p->tied) == lay->stage;
}

/* Adds the squares of those elements lo … hi-1 that lie in an entry's start … start+numel-1. The
 * entry has at most 2^40 elements, mean holds hi - lo, and s has room for them, apart from mean.
 * STAT-2 */
/*@ requires range: 0 <= lo <= hi <= 2199023255552;
    requires entry: 0 <= start <= ZP_LIMIT_ELEMENTS && 0 <= numel <= ZP_LIMIT_ELEMENTS;
    requires mean: \valid_read(mean + (0 .. hi - lo - 1));
    requires sum: \valid(s) && SumsqOk(s) && SumsqRoom(s, Overlap(lo, hi, start, numel));
    requires apart: \separated(s, mean + (0 .. hi - lo - 1));
    terminates \true; exits \false;
    assigns *s;
    ensures ok: SumsqOk(s);
    ensures load: SumsqLoad(s) <= \old(SumsqLoad(s)) + Overlap(lo, hi, start, numel);
    ensures most: SumsqValue(s) <=
        \old(SumsqValue(s)) + MostSquares(Overlap(lo, hi, start, numel));
    ensures counted: \forall integer j, t, z;
        GradientOf{Pre}(mean, lo, hi, start, numel, j, t, z) ==>
        SumsqValue(s) == \old(SumsqValue(s)) + EntrySum(j, t, z, Clip(hi - start, numel)) -
          EntrySum(j, t, z, Clip(lo - start, numel)); */
static void count_entry(const uint32_t *mean, int64_t lo, int64_t hi, int64_t start, int64_t numel,
                        zp_sumsq *s)
{
  const int64_t end = start + numel;
  const int64_t from = start > lo ? start : lo, to = end < hi ? end : hi;
  if (to <= from) return;
  //@ assert overlap: Overlap(lo, hi, start, numel) == to - from;
  /*@ assert first: Clip(lo - start, numel) == from - start &&
        Clip(hi - start, numel) == to - start; */
  /*@ assert run: \forall integer j, t, z; GradientOf(mean, lo, hi, start, numel, j, t, z) ==>
        RunIs(mean, from - lo, to - from, j, t, z, from - start); */
  zp_sumsq_add_f32(s, mean + (from - lo), to - from);
}

/* zp_counts of the stage's entry i where it has storage of its own, else 0. i is an entry of lay,
 * the layout of a stage of the valid configuration cfg. TIE-2 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && 0 <= lay->stage < cfg->pp &&
        LayoutOf(cfg, lay->stage, lay);
    requires entry: 0 <= i < lay->n_params;
    terminates \true; exits \false;
    assigns \nothing;
    ensures counts: EntryHeld(lay, i) ==>
        \result == CountedOn(cfg, StageEnd(cfg, lay->stage), lay->first_param + i, tp);
    ensures other: !EntryHeld(lay, i) ==> \result == 0;
    ensures bit: \result == 0 || \result == 1; */
static uint8_t counted_entry(const zp_config *cfg, const zp_layout *lay, int32_t i, int32_t tp)
{
  const int32_t k = lay->spot[i].flat;
  //@ assert spot: LayoutRange(cfg, lay) && SpotGood(cfg, lay->stage, lay, i);
  //@ assert inside: k < lay->n_flats;
  if (k < 0 || lay->flat[k].use != 0) return 0;
  return (uint8_t)zp_counts(cfg, lay, lay->first_param + i, tp);
}

void zp_counted_entries(const zp_config *cfg, const zp_layout *lay, int32_t tp, uint8_t *counts)
{
  /*@ loop invariant range: 0 <= i <= lay->n_params;
      loop invariant counts: \forall integer m; 0 <= m < i && EntryHeld(lay, m) ==>
        counts[m] == CountedOn(cfg, StageEnd(cfg, lay->stage), lay->first_param + m, tp);
      loop invariant others: \forall integer m; 0 <= m < i && !EntryHeld(lay, m) ==> counts[m] == 0;
      loop assigns i, counts[0 .. lay->n_params - 1];
      loop variant lay->n_params - i; */
  for (int32_t i = 0; i < lay->n_params; i++) {
    const uint8_t counted = counted_entry(cfg, lay, i, tp);
    /*@ assert before: EntryHeld(lay, i) ==>
          counted == CountedOn(cfg, StageEnd(cfg, lay->stage), lay->first_param + i, tp); */
    counts[i] = counted;
    /*@ assert after: EntryHeld(lay, i) ==>
          counts[i] == CountedOn(cfg, StageEnd(cfg, lay->stage), lay->first_param + i, tp); */
  }
}

void zp_count_squares(const zp_config *cfg, const zp_layout *lay, const uint8_t *counts, int32_t k,
                      int64_t lo, int64_t hi, const uint32_t *mean, zp_sumsq *s)
{
  const int32_t n = lay->n_params, first = lay->first_param;
  const zp_spot *spot = lay->spot;
  const zp_param *params = cfg->params;
  //@ assert range: LayoutRange(cfg, lay);
  //@ assert spots: 0 < n ==> \valid_read(spot + (0 .. n - 1));
  //@ assert list: 0 < n ==> \valid_read(params + (first .. first + n - 1));
  /*@ loop invariant range: 0 <= i <= n;
      loop invariant ok: SumsqOk(s);
      loop invariant load: SumsqLoad(s) <= \at(SumsqLoad(s), Pre) +
        LastOverlap{Pre}(cfg, lay, n - i, k, lo, hi);
      loop invariant most: SumsqValue(s) <= \at(SumsqValue(s), Pre) +
        MostSquares(LastOverlap{Pre}(cfg, lay, n - i, k, lo, hi));
      loop invariant counted: \forall integer t, z; CountsFor{Pre}(cfg, lay, counts, k, t) &&
        GradientIs{Pre}(cfg, lay, k, lo, hi, mean, t, z) ==>
        SumsqValue(s) == \at(SumsqValue(s), Pre) +
          LastBelow{Pre}(cfg, lay, n - i, k, t, z, hi) -
          LastBelow{Pre}(cfg, lay, n - i, k, t, z, lo);
      loop assigns i, *s;
      loop variant i; */
  for (int32_t i = n; i > 0; i--) {
    const int32_t m = i - 1, j = first + m;
    //@ assert entry: 0 <= m < n && first <= j < first + n;
    const int32_t flat = spot[m].flat, counted = counts[m];
    const int64_t start = spot[m].start, numel = params[j].numel;
    //@ assert flat: \let x = m; flat == \at(lay->spot[x].flat, Pre);
    //@ assert counted: \let x = m; counted == \at(counts[x], Pre);
    //@ assert start: \let x = m; start == \at(lay->spot[x].start, Pre);
    //@ assert numel: \let x = m; numel == \at(cfg->params[lay->first_param + x].numel, Pre);
    //@ assert here: \let x = m; SpotHere{Pre}(cfg, lay, x);
    //@ assert spot: \let x = m; \let y = n; EntryStands{Pre}(cfg, lay, x, y, k, lo, hi);
    /*@ assert skip: \let x = m; flat != k || counted == 0 ==>
          \forall integer t, z, pos; CountsFor{Pre}(cfg, lay, counts, k, t) ==>
          EntryBelow{Pre}(cfg, lay, x, k, t, z, pos) == 0; */
    /*@ assert take: \let x = m; \let y = j; \let a = start; \let b = numel;
          flat == k && counted != 0 ==>
          \forall integer t, z, pos; CountsFor{Pre}(cfg, lay, counts, k, t) ==>
          EntryBelow{Pre}(cfg, lay, x, k, t, z, pos) ==
            EntrySum(y, t, z, Clip(pos - a, b)); */
    /*@ assert gradient: flat == k ==> \forall integer t, z;
          GradientIs{Pre}(cfg, lay, k, lo, hi, mean, t, z) ==>
          GradientOf(mean, lo, hi, start, numel, j, t, z); */
    /*@ assert join: \let x = m; \let y = n; flat == k ==>
          MostJoin(LastOverlap{Pre}(cfg, lay, y - x, k, lo, hi),
            LastOverlap{Pre}(cfg, lay, y - x - 1, k, lo, hi), Overlap(lo, hi, start, numel)); */
    /*@ assert other: \let x = m; \let y = n; flat != k ==>
          LastOverlap{Pre}(cfg, lay, y - x, k, lo, hi) ==
          LastOverlap{Pre}(cfg, lay, y - x - 1, k, lo, hi); */
    /*@ assert most: \let x = m; \let y = n;
          MostSquares(LastOverlap{Pre}(cfg, lay, y - x - 1, k, lo, hi)) +
            (flat == k ? MostSquares(Overlap(lo, hi, start, numel)) : 0) ==
          MostSquares(LastOverlap{Pre}(cfg, lay, y - x, k, lo, hi)); */
    //@ assert none: flat == k ==> 0 <= MostSquares(Overlap(lo, hi, start, numel));
    if (flat == k && counted) count_entry(mean, lo, hi, start, numel, s);
  }
}

void zp_count_mean(const zp_config *cfg, const zp_layout *lay, const uint8_t *counts, zp_coord at,
                   int32_t replica, int32_t k, int64_t b, const uint32_t *mean, zp_statistics *s)
{
  const zp_flat *f = &lay->flat[k];
  //@ assert good: FlatGood(cfg, at.pp, lay, k);
  const zp_range own = zp_owned_range(cfg, lay, at, k, b);
  const int64_t all = cfg->stage == 0 ? zp_whole_range(f, b).count : own.count;
  const int64_t from = cfg->stage == 0 ? own.flat - b * f->capacity : 0;
  //@ assert count: own.count == PartIn(lay->flat + k, b);
  /*@ assert index: MemberOf(cfg, lay, at, k) ==
        GroupIndex(cfg, lay->flat[k].group, -1, at.pp, at.dp, at.tp); */
  /*@ assert member: 0 <= b &&
        0 <= GroupIndex(cfg, lay->flat[k].group, -1, at.pp, at.dp, at.tp); */
  /*@ assert flat: own.flat == OwnPlace(b, lay->flat[k].capacity,
        GroupIndex(cfg, lay->flat[k].group, -1, at.pp, at.dp, at.tp), own.count); */
  //@ assert own: own.flat == OwnFrom(cfg, lay, at, k, b) && own.count == PartIn(lay->flat + k, b);
  //@ assert first: b * f->capacity == Parts(b, lay->flat[k].capacity);
  //@ assert place: from == OwnAt(cfg, lay, at, k, b);
  //@ assert inside: 0 <= from && from + own.count <= all;
  const int64_t bad = zp_nonfinite_f32(mean, all);
  if (replica == 0)
    zp_count_squares(cfg, lay, counts, k, own.flat, own.flat + own.count, mean + from, &s->squares);
  //@ ghost Counted: ;
  /*@ assert counted: \forall integer z; replica == 0 &&
        CountsFor{Pre}(cfg, lay, counts, k, at.tp) &&
        MeanIs{Pre}(cfg, lay, at, k, b, mean, z) ==> SumsqValue(&s->squares) ==
          \at(SumsqValue(&s->squares),Pre) + MeanSquares{Pre}(cfg, lay, at, k, b, z); */
  zp_statistics_nonfinite(s, bad);
  //@ assert same: SameSquares{Counted,Here}(&s->squares);
}
