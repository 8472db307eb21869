/* Theorem 1, copies: a copy that goes by the walk of ref/plan/segment.h moves every element once,
 * leaves padding zero and writes nothing else. The functions here copy as the engine does; nothing
 * here is linked into anything.
 * spec: PART-7, PART-9 */
#include "../../ref/plan/segment.h"

#include "../../spec/acsl/segment_lemmas.h"

/* Of n arrays at param[], array l as long as list[first + l] says: none meets to[0 … room-1]; all are as
 * they were. */
/*@ predicate Elsewhere{L}(uint32_t **param, integer n, zp_param *list, integer first, uint32_t *to,
        integer room) =
      \forall integer l, x; 0 <= l < n && 0 <= x < list[first + l].numel ==>
        \separated(param[l] + x, to + (0 .. room - 1));
    predicate Unwritten{A,B}(uint32_t **param, integer n, zp_param *list, integer first) =
      \forall integer l, x; 0 <= l < n && 0 <= x < \at(list[first + l].numel, A) ==>
        \at(param[l][x], A) == \at(param[l][x], B); */

/*@ requires to: 0 <= n && \valid(to + (0 .. n - 1));
    terminates \true; exits \false;
    assigns to[0 .. n - 1];
    ensures zero: \forall integer m; 0 <= m < n ==> to[m] == 0; */
static void zeros(uint32_t *to, int64_t n)
{
  /*@ loop invariant range: 0 <= i <= n;
      loop invariant zero: \forall integer m; 0 <= m < i ==> to[m] == 0;
      loop assigns i, to[0 .. n - 1];
      loop variant n - i; */
  for (int64_t i = 0; i < n; i++) to[i] = 0;
}

/* Elements flat … flat+count-1 of a flat group, of which to[0] is element lo, from array i, of which
 * param[i][0] is element `start`. list[first + l] says how long array l is. */
/*@ requires range: 0 <= lo <= flat && 0 <= count && flat - lo + count <= room &&
      room <= 4611686018427387904 && flat + count <= 4611686018427387904;
    requires list: \valid_read(param + (0 .. n - 1)) && 0 <= first <= 65536 && n <= 65536;
    requires entry: 0 <= i < n && 0 <= start <= flat &&
      flat + count <= start + list[first + i].numel;
    requires to: \valid(to + (0 .. room - 1));
    requires from: \valid_read(param[i] + (0 .. list[first + i].numel - 1));
    requires each: Elsewhere(param, n, list, first, to, room);
    terminates \true; exits \false;
    assigns to[flat - lo .. flat - lo + count - 1];
    ensures copy: \forall integer m; flat - lo <= m < flat - lo + count ==>
      to[m] == \old(param[i][m + lo - start]);
    ensures from: Unwritten{Pre,Post}(param, n, list, first); */
static void run(uint32_t *to, int64_t room, int64_t lo, uint32_t *const *param, int32_t n,
                const zp_param *list, int32_t first, int32_t i, int64_t start, int64_t flat,
                int64_t count)
{
  const uint32_t *from = param[i];
  (void)room, (void)n, (void)list, (void)first;
  /*@ loop invariant range: flat - lo <= c <= flat - lo + count;
      loop invariant copy: \forall integer m; flat - lo <= m < c ==>
        to[m] == \at(param[i][m + lo - start], Pre);
      loop invariant from: Unwritten{Pre,Here}(param, n, list, first);
      loop assigns c, to[flat - lo .. flat - lo + count - 1];
      loop variant flat - lo + count - c; */
  for (int64_t c = flat - lo; c < flat - lo + count; c++) to[c] = from[c + lo - start];
}

/* Elements lo … hi-1 of flat group k, from the entries at param[] (by index on the stage) into `to`. */
/*@ requires cfg: Readable(cfg);
    requires lay: ReadableLayout(lay) && Planned0(cfg, lay);
    requires flat: 0 <= k < lay->n_flats;
    requires range: 0 <= lo <= hi <= 4611686018427387904;
    requires to: \valid(to + (0 .. hi - lo - 1));
    requires list: \valid_read(param + (0 .. lay->n_params - 1));
    requires from: \forall integer i; 0 <= i < lay->n_params ==>
      \valid_read(param[i] + (0 .. cfg->params[lay->first_param + i].numel - 1));
    requires each: Elsewhere(param, lay->n_params, cfg->params, lay->first_param, to, hi - lo);
    terminates \true; exits \false;
    assigns to[0 .. hi - lo - 1];
    ensures element: \forall integer i, m; EntryHas(cfg, lay, i, k, lo + m) && 0 <= m < hi - lo ==>
      to[m] == \old(param[i][m + lo - lay->spot[i].start]);
    ensures padding: \forall integer m; 0 <= m < hi - lo && lay->flat[k].numel <= lo + m ==>
      to[m] == 0;
    check ensures control: \forall integer m; 0 <= m < hi - lo ==> to[m] == 0; */
static void copy_in(const zp_config *cfg, const zp_layout *lay, int32_t k, int64_t lo, int64_t hi,
                    uint32_t *const *param, uint32_t *to)
{
  int32_t at = lay->n_params;
  zeros(to, hi - lo);
  zp_segment s = zp_segment_next(cfg, lay, k, lo, hi, at);
  //@ assert head: LayoutRange(cfg, lay);
  /*@ loop invariant at: 0 <= at <= lay->n_params;
      loop invariant some: 0 <= s.count;
      loop invariant next: 0 < s.count ==> 0 <= s.param - lay->first_param < at &&
        SegmentIs(cfg, lay, s.param - lay->first_param, k, lo, hi, s) &&
        s.flat == WalkAt(cfg, lay, at, k, lo) && s.flat + s.count ==
        Smaller(hi, WalkAt(cfg, lay, s.param - lay->first_param, k, lo));
      loop invariant end: s.count == 0 ==>
        Smaller(hi, Brought(cfg, lay, 0, k)) <= WalkAt(cfg, lay, at, k, lo);
      loop invariant element: \forall integer i, m;
        at <= i && EntryHas(cfg, lay, i, k, lo + m) && 0 <= m < hi - lo ==>
        to[m] == \at(param[i][m + lo - lay->spot[i].start], Pre);
      loop invariant rest: \forall integer m; WalkAt(cfg, lay, at, k, lo) <= m + lo < hi ==>
        to[m] == 0;
      loop invariant from: Unwritten{Pre,Here}(param, lay->n_params, cfg->params,
        lay->first_param);
      loop assigns at, s, to[0 .. hi - lo - 1];
      loop variant at; */
  while (s.count > 0) {
    const int32_t i = s.param - lay->first_param;
    //@ assert part: SegmentIs(cfg, lay, i, k, lo, hi, s) && SegmentSpot(cfg, lay, i, k);
    /*@ assert own: \let w = i; \forall integer x;
          0 <= x < cfg->params[lay->first_param + w].numel ==>
          param[w][x] == \at(param[w][x], Pre); */
    //@ assert room: s.flat + s.count <= hi && lo <= s.flat;
    run(to, hi - lo, lo, param, lay->n_params, cfg->params, lay->first_param, i,
        lay->spot[i].start, s.flat, s.count);
    /*@ assert inside: \forall integer m; EntryHas(cfg, lay, i, k, lo + m) && 0 <= m < hi - lo ==>
          s.flat - lo <= m < s.flat - lo + s.count; */
    /*@ assert moved: \let w = i; \forall integer m;
          s.flat - lo <= m < s.flat - lo + s.count ==>
          to[m] == \at(param[w][m + lo - lay->spot[w].start], Pre); */
    /*@ assert kept: \forall integer m; 0 <= m < s.flat - lo ==>
          to[m] == \at(to[m], LoopCurrent); */
    /*@ assert copied: \let w = i; \forall integer m;
          EntryHas(cfg, lay, w, k, lo + m) && 0 <= m < hi - lo ==>
          to[m] == \at(param[w][m + lo - lay->spot[w].start], Pre); */
    /*@ assert skipped: \forall integer l, m; i < l < at && EntryHas(cfg, lay, l, k, lo + m) ==>
          m < 0; */
    /*@ assert ahead: \forall integer l, m; at <= l && EntryHas(cfg, lay, l, k, lo + m) ==>
          m < s.flat - lo; */
    /*@ assert before: \forall integer l, m;
          at <= l && EntryHas(cfg, lay, l, k, lo + m) && 0 <= m < hi - lo ==>
          to[m] == \at(param[l][m + lo - lay->spot[l].start], Pre); */
    /*@ assert all: \forall integer l, m;
          i <= l && EntryHas(cfg, lay, l, k, lo + m) && 0 <= m < hi - lo ==>
          to[m] == \at(param[l][m + lo - lay->spot[l].start], Pre); */
    at = i;
    s = zp_segment_next(cfg, lay, k, lo, hi, at);
  }
}
