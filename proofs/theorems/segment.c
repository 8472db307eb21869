/* Theorem 1, copies: a copy that goes by the walk of ref/plan/segment.h moves every element once,
 * leaves padding zero and writes nothing else. The functions here copy as the engine does; nothing
 * here is linked into anything.
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

/* One run, elements flat … flat+count-1 of a flat group, from entry i's array param[i] into `to`, of
 * which to[0] is element lo. */
/*@ requires cfg: Readable(cfg) && LayoutRange(cfg, lay);
    requires lay: ReadableLayout(lay);
    requires run: CopyInside(cfg, lay, lo, hi, i, flat, count);
    requires to: \valid(to + (0 .. hi - lo - 1));
    requires list: \valid_read(param + (0 .. lay->n_params - 1));
    requires from: \valid_read(param[i] + (0 .. cfg->params[lay->first_param + i].numel - 1));
    requires apart: CopyApart(cfg, lay, param, to, lo, hi);
    terminates \true; exits \false;
    assigns to[flat - lo .. flat - lo + count - 1];
    ensures moved: RunIn{Pre,Pre,Post}(lay, lo, param, to, i, flat, count);
    ensures kept: RunKept{Pre,Post}(to, lo, hi, flat, count);
    ensures same: CopySame{Pre,Pre,Post}(cfg, lay, param); */
static void run_in(const zp_config *cfg, const zp_layout *lay, int64_t lo, int64_t hi,
                   uint32_t *const *param, int32_t i, int64_t flat, int64_t count, uint32_t *to)
{
  const uint32_t *from = param[i];
  const int64_t start = lay->spot[i].start;
  (void)cfg, (void)hi;
  /*@ loop invariant range: flat - lo <= c <= flat - lo + count;
      loop invariant moved: RunIn{Pre,Pre,Here}(lay, lo, param, to, i, flat, c - (flat - lo));
      loop invariant same: CopySame{Pre,Pre,Here}(cfg, lay, param);
      loop assigns c, to[flat - lo .. flat - lo + count - 1];
      loop variant flat - lo + count - c; */
  for (int64_t c = flat - lo; c < flat - lo + count; c++) to[c] = from[c + lo - start];
}

/* Elements lo … hi-1 of flat group k, from the entries' arrays at param[] (by index on the stage) into
 * `to`: as a bucket or a shard is filled. No array meets `to`. */
/*@ requires cfg: Readable(cfg);
    requires lay: ReadableLayout(lay) && Planned0(cfg, lay);
    requires flat: 0 <= k < lay->n_flats;
    requires range: 0 <= lo <= hi <= 4611686018427387904;
    requires to: \valid(to + (0 .. hi - lo - 1));
    requires list: \valid_read(param + (0 .. lay->n_params - 1));
    requires from: \forall integer i; 0 <= i < lay->n_params ==>
      \valid_read(param[i] + (0 .. cfg->params[lay->first_param + i].numel - 1));
    requires apart: CopyApart(cfg, lay, param, to, lo, hi);
    terminates \true; exits \false;
    assigns to[0 .. hi - lo - 1];
    ensures element: \forall integer i, m; EntryHas(cfg, lay, i, k, lo + m) && 0 <= m < hi - lo ==>
      to[m] == \old(param[i][m + lo - lay->spot[i].start]);
    ensures padding: \forall integer m; 0 <= m < hi - lo && lay->flat[k].numel <= lo + m ==>
      to[m] == 0;
    ensures same: CopySame{Pre,Pre,Post}(cfg, lay, param);
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
      loop invariant same: CopySame{Pre,Pre,Here}(cfg, lay, param);
      loop assigns at, s, to[0 .. hi - lo - 1];
      loop variant at; */
  while (s.count > 0) {
    const int32_t i = s.param - lay->first_param;
    //@ assert inside: CopyInside(cfg, lay, lo, hi, i, s.flat, s.count);
    run_in(cfg, lay, lo, hi, param, i, s.flat, s.count, to);
    at = i;
    s = zp_segment_next(cfg, lay, k, lo, hi, at);
  }
  //@ assert all: CopiedIn{Pre,Pre,Here}(cfg, lay, k, lo, hi, param, to, 0);
  //@ assert none: CopyZero(to, lo, hi, lay->flat[k].numel);
}
