/* Family 1, copies: a copy that uses the walk of ref/plan/segment.h copies every element once,
 * leaves padding zero and writes nothing else. The functions here copy like the engine. This file
 * is not linked into any program.
 * spec: PART-7, PART-9 */
#include "../../ref/plan/segment.h"

#include "../../spec/acsl/segment_lemmas.h"

#include "../../spec/acsl/copy.h"

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

/* Copies elements a … b-1 of `to` from `from`, at a distance of d elements. The two do not
 * overlap. */
/*@ requires range: 0 <= a <= b && 0 <= a + d && b + d <= 4611686018427387904 &&
      -4611686018427387904 <= d <= 4611686018427387904;
    requires to: \valid(to + (a .. b - 1));
    requires from: \valid_read(from + (a + d .. b + d - 1));
    requires apart: \separated(from + (a + d .. b + d - 1), to + (a .. b - 1));
    terminates \true; exits \false;
    assigns to[a .. b - 1];
    ensures moved: \forall integer m; a <= m < b ==> to[m] == \old(from[m + d]); */
static void move(uint32_t *to, const uint32_t *from, int64_t a, int64_t b, int64_t d)
{
  /*@ loop invariant range: a <= i <= b;
      loop invariant moved: \forall integer m; a <= m < i ==> to[m] == \at(from[m + d], Pre);
      loop invariant from: \forall integer m; a + d <= m < b + d ==> from[m] == \at(from[m], Pre);
      loop assigns i, to[a .. b - 1];
      loop variant b - i; */
  for (int64_t i = a; i < b; i++) to[i] = from[i + d];
}

/* Copies one run, elements flat … flat+count-1 of flat group k, from entry i's array param[i] into
 * `to`, where to[0] is element lo. No array overlaps `to`. */
/*@ requires cfg: Readable(cfg) && LayoutRange(cfg, lay);
    requires lay: ReadableLayout(lay);
    requires run: CopyInside(cfg, lay, k, lo, hi, i, flat, count);
    requires to: \valid(to + (0 .. hi - lo - 1));
    requires list: \valid_read(param + (0 .. lay->n_params - 1));
    requires from: CopyFrom(cfg, lay, k, param);
    requires apart: CopyApart(cfg, lay, k, param, to, lo, hi);
    terminates \true; exits \false;
    assigns to[flat - lo .. flat - lo + count - 1];
    ensures moved: RunIn{Pre,Pre,Post}(lay, lo, param, to, i, flat, count);
    ensures kept: RunKept{Pre,Post}(to, lo, hi, flat, count);
    ensures same: CopySame{Pre,Pre,Post}(cfg, lay, k, param); */
static void run_in(const zp_config *cfg, const zp_layout *lay, int32_t k, int64_t lo, int64_t hi,
                   uint32_t *const *param, int32_t i, int64_t flat, int64_t count, uint32_t *to)
{
  const int64_t start = lay->spot[i].start;
  (void)cfg, (void)k, (void)hi;
  move(to, param[i], flat - lo, flat - lo + count, lo - start);
}

/* Copies elements lo … hi-1 of flat group k from its entries' arrays at param[] (by index on the
 * stage) into `to`, as the engine fills a bucket or a shard. No array overlaps `to`. */
/*@ requires cfg: Readable(cfg);
    requires lay: ReadableLayout(lay) && Planned0(cfg, lay);
    requires flat: 0 <= k < lay->n_flats;
    requires range: 0 <= lo <= hi <= 4611686018427387904;
    requires to: \valid(to + (0 .. hi - lo - 1));
    requires list: \valid_read(param + (0 .. lay->n_params - 1));
    requires from: CopyFrom(cfg, lay, k, param);
    requires apart: CopyApart(cfg, lay, k, param, to, lo, hi);
    terminates \true; exits \false;
    assigns to[0 .. hi - lo - 1];
    ensures element: \forall integer i, m; EntryHas(cfg, lay, i, k, lo + m) && 0 <= m < hi - lo ==>
      to[m] == \old(param[i][m + lo - lay->spot[i].start]);
    ensures padding: \forall integer m; 0 <= m < hi - lo && lay->flat[k].numel <= lo + m ==>
      to[m] == 0;
    ensures same: CopySame{Pre,Pre,Post}(cfg, lay, k, param);
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
      loop invariant entry: 0 < s.count ==> 0 <= s.param - lay->first_param < at;
      loop invariant run: 0 < s.count ==>
        CopyRun(cfg, lay, k, lo, hi, at, s.param - lay->first_param, s.flat, s.count);
      loop invariant over: s.count == 0 ==> CopyOver(cfg, lay, k, lo, hi, at);
      loop invariant copied: CopiedIn{Pre,Pre,Here}(cfg, lay, k, lo, hi, param, to, at);
      loop invariant rest: CopyZero(to, lo, hi, WalkAt(cfg, lay, at, k, lo));
      loop invariant same: CopySame{Pre,Pre,Here}(cfg, lay, k, param);
      loop assigns at, s, to[0 .. hi - lo - 1];
      loop variant at; */
  while (s.count > 0) {
    const int32_t i = s.param - lay->first_param;
    //@ assert inside: CopyInside(cfg, lay, k, lo, hi, i, s.flat, s.count);
    run_in(cfg, lay, k, lo, hi, param, i, s.flat, s.count, to);
    at = i;
    s = zp_segment_next(cfg, lay, k, lo, hi, at);
  }
  //@ assert all: CopiedIn{Pre,Pre,Here}(cfg, lay, k, lo, hi, param, to, 0);
  //@ assert none: CopyZero(to, lo, hi, lay->flat[k].numel);
}

/* Copies one run, elements flat … flat+count-1 of flat group k, from `from`, where from[0] is
 * element lo, to entry i's range of `out`, which begins at out[base[i]]. The ranges do not overlap
 * each other or `from`. */
/*@ requires cfg: Readable(cfg) && LayoutRange(cfg, lay);
    requires lay: ReadableLayout(lay);
    requires run: CopyInside(cfg, lay, k, lo, hi, i, flat, count);
    requires room: 0 <= room <= 4611686018427387904;
    requires base: \valid_read(base + (0 .. lay->n_params - 1)) &&
      OutApart(cfg, lay, k, base, room);
    requires from: \valid_read(from + (0 .. hi - lo - 1));
    requires out: \valid(out + (0 .. room - 1));
    requires apart: \separated(from + (0 .. hi - lo - 1), out + (0 .. room - 1));
    terminates \true; exits \false;
    assigns out[base[i] + flat - lay->spot[i].start ..
      base[i] + flat - lay->spot[i].start + count - 1];
    ensures moved: RunOut{Pre,Pre,Post}(lay, base, lo, from, out, i, flat, count);
    ensures left: RunLeft{Pre,Pre,Post}(lay, base, out, room, i, flat, count);
    ensures same: OutSame{Pre,Post}(from, lo, hi);
    ensures range: 0 <= base[i] + flat - lay->spot[i].start &&
      base[i] + flat - lay->spot[i].start + count <= room; */
static void run_out(const zp_config *cfg, const zp_layout *lay, int32_t k, int64_t lo, int64_t hi,
                    const uint32_t *from, int32_t i, int64_t flat, int64_t count,
                    const int64_t *base, uint32_t *out, int64_t room)
{
  //@ assert place: 0 <= base[i] && base[i] + cfg->params[lay->first_param + i].numel <= room;
  const int64_t a = base[i] + (flat - lay->spot[i].start);
  (void)cfg, (void)k, (void)hi, (void)room;
  move(out, from, a, a + count, flat - lo - a);
}

/* Copies elements lo … hi-1 of flat group k from `from`, a bucket or a shard, to their entries'
 * ranges of `out`: entry i's begins at out[base[i]], where i is its index on the stage. The ranges
 * do not overlap each other or `from`. */
/*@ requires cfg: Readable(cfg);
    requires lay: ReadableLayout(lay) && Planned0(cfg, lay);
    requires flat: 0 <= k < lay->n_flats;
    requires range: 0 <= lo <= hi <= 4611686018427387904 && 0 <= room <= 4611686018427387904;
    requires base: \valid_read(base + (0 .. lay->n_params - 1)) &&
      OutApart(cfg, lay, k, base, room);
    requires from: \valid_read(from + (0 .. hi - lo - 1));
    requires out: \valid(out + (0 .. room - 1));
    requires apart: \separated(from + (0 .. hi - lo - 1), out + (0 .. room - 1));
    terminates \true; exits \false;
    assigns out[0 .. room - 1];
    ensures element: \forall integer i, p; OutOf(cfg, lay, k, lo, hi, base, i, p) ==>
      out[p] == \old(from[OutFlat(lay, base, i, p) - lo]);
    ensures kept: \forall integer p; 0 <= p < room &&
      !OutAny(cfg, lay, k, lo, hi, base, p) ==> out[p] == \old(out[p]);
    ensures same: OutSame{Pre,Post}(from, lo, hi);
    check ensures control_kept: \forall integer p; 0 <= p < room ==> out[p] == \old(out[p]);
    check ensures control_out: \forall integer i, p; 0 <= i < lay->n_params &&
      lo <= OutFlat(lay, base, i, p) < hi && 0 <= p < room ==>
      out[p] == \old(from[OutFlat(lay, base, i, p) - lo]); */
static void copy_out(const zp_config *cfg, const zp_layout *lay, int32_t k, int64_t lo, int64_t hi,
                     const uint32_t *from, const int64_t *base, uint32_t *out, int64_t room)
{
  int32_t at = lay->n_params;
  zp_segment s = zp_segment_next(cfg, lay, k, lo, hi, at);
  //@ assert head: LayoutRange(cfg, lay);
  /*@ loop invariant at: 0 <= at <= lay->n_params;
      loop invariant some: 0 <= s.count;
      loop invariant entry: 0 < s.count ==> 0 <= s.param - lay->first_param < at;
      loop invariant run: 0 < s.count ==>
        CopyRun(cfg, lay, k, lo, hi, at, s.param - lay->first_param, s.flat, s.count);
      loop invariant over: s.count == 0 ==> CopyOver(cfg, lay, k, lo, hi, at);
      loop invariant copied: CopiedOut{Pre,Pre,Here}(cfg, lay, k, lo, hi, base, from, out, at);
      loop invariant kept: OutKept{Pre,Pre,Here}(cfg, lay, k, lo, hi, base, out, room);
      loop invariant same: OutSame{Pre,Here}(from, lo, hi);
      loop assigns at, s, out[0 .. room - 1];
      loop variant at; */
  while (s.count > 0) {
    const int32_t i = s.param - lay->first_param;
    //@ assert inside: CopyInside(cfg, lay, k, lo, hi, i, s.flat, s.count);
    run_out(cfg, lay, k, lo, hi, from, i, s.flat, s.count, base, out, room);
    at = i;
    s = zp_segment_next(cfg, lay, k, lo, hi, at);
  }
  //@ assert all: CopiedOut{Pre,Pre,Here}(cfg, lay, k, lo, hi, base, from, out, 0);
}
