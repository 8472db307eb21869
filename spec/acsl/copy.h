/* The logic of copies between entries and flat groups: PART-7, PART-9. Include after
 * ref/plan/segment.h and spec/acsl/segment_lemmas.h.
 *
 * L is where configuration, layout and the lists of arrays are read; A, B and C are where elements
 * are. Entry i is the i-th of the stage, start its first element in its flat group, and `to` or `from`
 * holds elements lo … hi-1 of flat group k. */
#ifndef ZP_SPEC_ACSL_COPY_H
#define ZP_SPEC_ACSL_COPY_H

/*@ // One run of a walk that stands at entry a: elements flat … flat+count-1, of entry i.
    predicate CopyRun{L}(zp_config *c, zp_layout *lay, integer k, integer lo, integer hi, integer a,
        integer i, integer flat, integer count) =
      Planned0(c, lay) && LayoutRange(c, lay) && 0 <= k < lay->n_flats && 0 <= lo &&
      0 <= i < a <= lay->n_params && lay->spot[i].flat == k && 0 < count &&
      flat == Larger(lo, lay->spot[i].start) && flat == WalkAt(c, lay, a, k, lo) &&
      flat + count == Smaller(hi, lay->spot[i].start + c->params[lay->first_param + i].numel) &&
      flat + count == Smaller(hi, WalkAt(c, lay, i, k, lo));
    // The walk that stands at entry a is over.
    predicate CopyOver{L}(zp_config *c, zp_layout *lay, integer k, integer lo, integer hi, integer a) =
      Smaller(hi, Brought(c, lay, 0, k)) <= WalkAt(c, lay, a, k, lo);
    // The run lies in lo … hi-1 and in its entry.
    predicate CopyInside{L}(zp_config *c, zp_layout *lay, integer lo, integer hi, integer i,
        integer flat, integer count) =
      0 <= lo <= flat && 0 < count && flat + count <= hi <= 4611686018427387904 &&
      0 <= i < lay->n_params && 0 <= lay->spot[i].start <= flat &&
      flat + count <= lay->spot[i].start + c->params[lay->first_param + i].numel;
    lemma CopyRun_Inside{L}: \forall zp_config *c, zp_layout *lay, integer k, lo, hi, a, i, flat, count;
      CopyRun(c, lay, k, lo, hi, a, i, flat, count) && hi <= 4611686018427387904 ==>
      SegmentSpot(c, lay, i, k) && CopyInside(c, lay, lo, hi, i, flat, count);
    lemma CopyRun_Own{L}: \forall zp_config *c, zp_layout *lay,
      integer k, lo, hi, a, i, flat, count, u;
      CopyRun(c, lay, k, lo, hi, a, i, flat, count) && lo <= u < hi ==>
      (EntryHas(c, lay, i, k, u) <==> flat <= u < flat + count);
    lemma CopyRun_Before{L}: \forall zp_config *c, zp_layout *lay,
      integer k, lo, hi, a, i, flat, count, l, u;
      CopyRun(c, lay, k, lo, hi, a, i, flat, count) && EntryHas(c, lay, l, k, u) && lo <= u &&
      i < l ==> a <= l && u < flat; */

/* Copies in: param[i] is entry i's array, to[0] is flat element lo. */
/*@ // No entry's array meets `to`.
    predicate CopyApart{L}(zp_config *c, zp_layout *lay, uint32_t **param, uint32_t *to, integer lo,
        integer hi) =
      \forall integer i, x; 0 <= i < lay->n_params &&
        0 <= x < c->params[lay->first_param + i].numel ==>
        \separated(param[i] + x, to + (0 .. hi - lo - 1));
    // All entries' arrays are as they were.
    predicate CopySame{L,A,B}(zp_config *c, zp_layout *lay, uint32_t **param) =
      \forall integer i, x; 0 <= i < \at(lay->n_params, L) &&
        0 <= x < \at(c->params[lay->first_param + i].numel, L) ==>
        \at(\at(param[i], L)[x], A) == \at(\at(param[i], L)[x], B);
    lemma CopySame_Twice{L,A,B,C}: \forall zp_config *c, zp_layout *lay, uint32_t **param;
      CopySame{L,A,B}(c, lay, param) && CopySame{L,B,C}(c, lay, param) ==>
      CopySame{L,A,C}(c, lay, param);
    // Elements of entries a and up have arrived, with the values they had at A.
    predicate CopiedIn{L,A,B}(zp_config *c, zp_layout *lay, integer k, integer lo, integer hi,
        uint32_t **param, uint32_t *to, integer a) =
      \forall integer i, m; a <= i && EntryHas{L}(c, lay, i, k, lo + m) && 0 <= m < hi - lo ==>
        \at(to[m], B) ==
          \at(\at(param[i], L)[m + lo - \at(lay->spot[i].start, L)], A);
    // From element u on there is nothing but zeros.
    predicate CopyZero{B}(uint32_t *to, integer lo, integer hi, integer u) =
      \forall integer m; 0 <= m < hi - lo && u <= lo + m ==> \at(to[m], B) == 0;
    // The run has been copied, and nothing else of `to` written.
    predicate RunIn{L,A,B}(zp_layout *lay, integer lo, uint32_t **param, uint32_t *to, integer i,
        integer flat, integer count) =
      \forall integer m; flat - lo <= m < flat - lo + count ==>
        \at(to[m], B) ==
          \at(\at(param[i], L)[m + lo - \at(lay->spot[i].start, L)], A);
    predicate RunKept{A,B}(uint32_t *to, integer lo, integer hi, integer flat, integer count) =
      \forall integer m; 0 <= m < hi - lo && (m < flat - lo || flat - lo + count <= m) ==>
        \at(to[m], A) == \at(to[m], B);
    lemma CopiedIn_Step{L,A,B,C}: \forall zp_config *c, zp_layout *lay,
      integer k, lo, hi, uint32_t **param, uint32_t *to, integer a, i, flat, count;
      CopyRun{L}(c, lay, k, lo, hi, a, i, flat, count) &&
      CopiedIn{L,A,B}(c, lay, k, lo, hi, param, to, a) && CopySame{L,A,B}(c, lay, param) &&
      RunIn{L,B,C}(lay, lo, param, to, i, flat, count) &&
      RunKept{B,C}(to, lo, hi, flat, count) ==>
      CopiedIn{L,A,C}(c, lay, k, lo, hi, param, to, i);
    lemma CopyZero_Step{L,B,C}: \forall zp_config *c, zp_layout *lay,
      integer k, lo, hi, uint32_t *to, integer a, i, flat, count;
      CopyRun{L}(c, lay, k, lo, hi, a, i, flat, count) &&
      CopyZero{B}(to, lo, hi, WalkAt{L}(c, lay, a, k, lo)) &&
      RunKept{B,C}(to, lo, hi, flat, count) ==>
      CopyZero{C}(to, lo, hi, WalkAt{L}(c, lay, i, k, lo));
    lemma CopiedIn_First{L,A,B}: \forall zp_config *c, zp_layout *lay,
      integer k, lo, hi, uint32_t **param, uint32_t *to;
      CopiedIn{L,A,B}(c, lay, k, lo, hi, param, to, \at(lay->n_params, L));
    lemma CopiedIn_Over{L,A,B}: \forall zp_config *c, zp_layout *lay,
      integer k, lo, hi, uint32_t **param, uint32_t *to, integer a;
      Planned0{L}(c, lay) && 0 <= k && 0 <= a <= \at(lay->n_params, L) &&
      CopyOver{L}(c, lay, k, lo, hi, a) && CopiedIn{L,A,B}(c, lay, k, lo, hi, param, to, a) ==>
      CopiedIn{L,A,B}(c, lay, k, lo, hi, param, to, 0);
    lemma CopyZero_Over{L,B}: \forall zp_config *c, zp_layout *lay,
      integer k, lo, hi, uint32_t *to, integer a;
      Planned0{L}(c, lay) && 0 <= k < \at(lay->n_flats, L) && 0 <= a <= \at(lay->n_params, L) &&
      CopyZero{B}(to, lo, hi, WalkAt{L}(c, lay, a, k, lo)) ==>
      CopyZero{B}(to, lo, hi, \at(lay->flat[k].numel, L)); */

#endif
