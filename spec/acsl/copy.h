/* The logic of copies between entries and flat groups: PART-7, PART-9. Include after
 * ref/plan/segment.h and spec/acsl/segment_lemmas.h.
 *
 * Configuration, layout and lists of arrays are read at L, elements at A, B and C. Entry i is the
 * i-th of the stage; `to` or `from` holds elements lo … hi-1 of flat group k. */
#ifndef ZP_SPEC_ACSL_COPY_H
#define ZP_SPEC_ACSL_COPY_H

/*@ // One run of a walk that is at entry a: elements flat … flat+count-1, of entry i.
    predicate CopyRun{L}(zp_config *c, zp_layout *lay, integer k, integer lo, integer hi, integer a,
        integer i, integer flat, integer count) =
      Planned0(c, lay) && LayoutRange(c, lay) && 0 <= k < lay->n_flats && 0 <= lo &&
      0 <= i < a <= lay->n_params && lay->spot[i].flat == k && 0 < count &&
      flat == Larger(lo, lay->spot[i].start) && flat == WalkAt(c, lay, a, k, lo) &&
      flat + count == Smaller(hi, lay->spot[i].start + c->params[lay->first_param + i].numel) &&
      flat + count == Smaller(hi, WalkAt(c, lay, i, k, lo));
    // The walk that is at entry a has ended.
    predicate CopyOver{L}(zp_config *c, zp_layout *lay, integer k, integer lo, integer hi,
        integer a) =
      Smaller(hi, Walked(c, lay, 0, k)) <= WalkAt(c, lay, a, k, lo);
    // The run lies in lo … hi-1 and in its entry, and the entry lies in flat group k.
    predicate CopyInside{L}(zp_config *c, zp_layout *lay, integer k, integer lo, integer hi,
        integer i, integer flat, integer count) =
      0 <= lo <= flat && 0 < count && flat + count <= hi <= 4611686018427387904 &&
      0 <= i < lay->n_params && lay->spot[i].flat == k && 0 <= lay->spot[i].start <= flat &&
      flat + count <= lay->spot[i].start + c->params[lay->first_param + i].numel;
    lemma CopyRun_Inside{L}: \forall zp_config *c, zp_layout *lay,
      integer k, lo, hi, a, i, flat, count;
      CopyRun(c, lay, k, lo, hi, a, i, flat, count) && hi <= 4611686018427387904 ==>
      SegmentSpot(c, lay, i, k) && CopyInside(c, lay, k, lo, hi, i, flat, count);
    lemma CopyRun_Own{L}: \forall zp_config *c, zp_layout *lay,
      integer k, lo, hi, a, i, flat, count, u;
      CopyRun(c, lay, k, lo, hi, a, i, flat, count) && lo <= u < hi ==>
      (EntryHas(c, lay, i, k, u) <==> flat <= u < flat + count);
    lemma CopyRun_Before{L}: \forall zp_config *c, zp_layout *lay,
      integer k, lo, hi, a, i, flat, count, l, u;
      CopyRun(c, lay, k, lo, hi, a, i, flat, count) && EntryHas(c, lay, l, k, u) && lo <= u &&
      i < l ==> a <= l && u < flat; */

/* Copies in: param[i] is entry i's array, to[0] is flat element lo. */
/*@ // The arrays of the entries of flat group k are valid and do not overlap `to`.
    predicate CopyFrom{L}(zp_config *c, zp_layout *lay, integer k, uint32_t **param) =
      \forall integer i; 0 <= i < lay->n_params && lay->spot[i].flat == k ==>
        \valid_read(param[i] + (0 .. c->params[lay->first_param + i].numel - 1));
    predicate CopyApart{L}(zp_config *c, zp_layout *lay, integer k, uint32_t **param, uint32_t *to,
        integer lo, integer hi) =
      \forall integer i; 0 <= i < lay->n_params && lay->spot[i].flat == k ==>
        \separated(param[i] + (0 .. c->params[lay->first_param + i].numel - 1),
          to + (0 .. hi - lo - 1));
    // They are unchanged.
    predicate CopySame{L,A,B}(zp_config *c, zp_layout *lay, integer k, uint32_t **param) =
      \forall integer i, x; 0 <= i < \at(lay->n_params, L) && \at(lay->spot[i].flat, L) == k &&
        0 <= x < \at(c->params[lay->first_param + i].numel, L) ==>
        \at(\at(param[i], L)[x], A) == \at(\at(param[i], L)[x], B);
    lemma CopySame_Twice{L,A,B,C}: \forall zp_config *c, zp_layout *lay, integer k,
      uint32_t **param;
      CopySame{L,A,B}(c, lay, k, param) && CopySame{L,B,C}(c, lay, k, param) ==>
      CopySame{L,A,C}(c, lay, k, param);
    // Elements of entries a and above are in `to`, with the values they had at A.
    predicate CopiedIn{L,A,B}(zp_config *c, zp_layout *lay, integer k, integer lo, integer hi,
        uint32_t **param, uint32_t *to, integer a) =
      \forall integer i, m; a <= i && EntryHas{L}(c, lay, i, k, lo + m) && 0 <= m < hi - lo ==>
        \at(to[m], B) ==
          \at(\at(param[i], L)[m + lo - \at(lay->spot[i].start, L)], A);
    // All elements from u on are zero.
    predicate CopyZero{B}(uint32_t *to, integer lo, integer hi, integer u) =
      \forall integer m; 0 <= m < hi - lo && u <= lo + m ==> \at(to[m], B) == 0;
    // The run has been copied, and the rest of `to` is unchanged.
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
      CopiedIn{L,A,B}(c, lay, k, lo, hi, param, to, a) && CopySame{L,A,B}(c, lay, k, param) &&
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

/* Copies out: element x of entry i is out[base[i] + x], from[0] is flat element lo. */
/*@ // The ranges of the entries of flat group k lie in out[0 … room-1] and do not overlap.
    predicate OutApart{L}(zp_config *c, zp_layout *lay, integer k, int64_t *base, integer room) =
      (\forall integer i; 0 <= i < lay->n_params && lay->spot[i].flat == k ==>
        0 <= base[i] && base[i] + c->params[lay->first_param + i].numel <= room) &&
      (\forall integer i, l; 0 <= i < lay->n_params && lay->spot[i].flat == k &&
        0 <= l < lay->n_params && lay->spot[l].flat == k && i != l ==>
        base[i] + c->params[lay->first_param + i].numel <= base[l] ||
        base[l] + c->params[lay->first_param + l].numel <= base[i]);
    // The flat element stored in out[p], if it belongs to entry i.
    logic integer OutFlat{L}(zp_layout *lay, int64_t *base, integer i, integer p) =
      p - base[i] + lay->spot[i].start;
    predicate OutOf{L}(zp_config *c, zp_layout *lay, integer k, integer lo, integer hi,
        int64_t *base, integer i, integer p) =
      EntryHas(c, lay, i, k, OutFlat(lay, base, i, p)) && lo <= OutFlat(lay, base, i, p) < hi;
    predicate OutAny{L}(zp_config *c, zp_layout *lay, integer k, integer lo, integer hi,
        int64_t *base, integer p) =
      \exists integer i; OutOf(c, lay, k, lo, hi, base, i, p);
    // Elements of entries a and above have the values that `from` had at A.
    predicate CopiedOut{L,A,B}(zp_config *c, zp_layout *lay, integer k, integer lo, integer hi,
        int64_t *base, uint32_t *from, uint32_t *out, integer a) =
      \forall integer i, p; a <= i && OutOf{L}(c, lay, k, lo, hi, base, i, p) ==>
        \at(out[p], B) == \at(from[OutFlat{L}(lay, base, i, p) - lo], A);
    // All of `out` except the elements lo … hi-1 of the flat group is unchanged.
    predicate OutKept{L,A,B}(zp_config *c, zp_layout *lay, integer k, integer lo, integer hi,
        int64_t *base, uint32_t *out, integer room) =
      \forall integer p; 0 <= p < room && !OutAny{L}(c, lay, k, lo, hi, base, p) ==>
        \at(out[p], A) == \at(out[p], B);
    predicate OutSame{A,B}(uint32_t *from, integer lo, integer hi) =
      \forall integer m; 0 <= m < hi - lo ==> \at(from[m], A) == \at(from[m], B);
    lemma OutSame_Twice{A,B,C}: \forall uint32_t *from, integer lo, hi;
      OutSame{A,B}(from, lo, hi) && OutSame{B,C}(from, lo, hi) ==> OutSame{A,C}(from, lo, hi);
    // The run has been copied, and the rest of `out` is unchanged.
    predicate RunOut{L,A,B}(zp_layout *lay, int64_t *base, integer lo, uint32_t *from,
        uint32_t *out, integer i, integer flat, integer count) =
      \forall integer p; flat <= OutFlat{L}(lay, base, i, p) < flat + count ==>
        \at(out[p], B) == \at(from[OutFlat{L}(lay, base, i, p) - lo], A);
    predicate RunLeft{L,A,B}(zp_layout *lay, int64_t *base, uint32_t *out, integer room, integer i,
        integer flat, integer count) =
      \forall integer p; 0 <= p < room &&
        (OutFlat{L}(lay, base, i, p) < flat || flat + count <= OutFlat{L}(lay, base, i, p)) ==>
        \at(out[p], A) == \at(out[p], B);
    lemma OutOf_Run{L}: \forall zp_config *c, zp_layout *lay,
      integer k, lo, hi, a, i, flat, count, int64_t *base, integer p;
      CopyRun(c, lay, k, lo, hi, a, i, flat, count) ==>
      (OutOf(c, lay, k, lo, hi, base, i, p) <==>
        flat <= OutFlat(lay, base, i, p) < flat + count);
    lemma OutAny_Run{L}: \forall zp_config *c, zp_layout *lay,
      integer k, lo, hi, a, i, flat, count, int64_t *base, integer p;
      CopyRun(c, lay, k, lo, hi, a, i, flat, count) &&
      flat <= OutFlat(lay, base, i, p) < flat + count ==> OutAny(c, lay, k, lo, hi, base, p);
    // Elements that earlier runs wrote are not in this run.
    lemma OutOf_Before{L}: \forall zp_config *c, zp_layout *lay,
      integer k, lo, hi, a, i, flat, count, int64_t *base, integer room, l, p;
      CopyRun(c, lay, k, lo, hi, a, i, flat, count) && OutApart(c, lay, k, base, room) &&
      OutOf(c, lay, k, lo, hi, base, l, p) && i < l ==> a <= l && 0 <= p < room &&
      (OutFlat(lay, base, i, p) < flat || flat + count <= OutFlat(lay, base, i, p));
    // out[p] is the value that `from` had for entry l's element.
    predicate OutRight{L,A,B}(zp_layout *lay, integer lo, int64_t *base, uint32_t *from,
        uint32_t *out, integer l, integer p) =
      \at(out[p], B) == \at(from[OutFlat{L}(lay, base, l, p) - lo], A);
    lemma OutRight_Own{L,A,B,C}: \forall zp_config *c, zp_layout *lay,
      integer k, lo, hi, int64_t *base, uint32_t *from, uint32_t *out, integer a, i, flat, count, p;
      CopyRun{L}(c, lay, k, lo, hi, a, i, flat, count) && OutSame{A,B}(from, lo, hi) &&
      RunOut{L,B,C}(lay, base, lo, from, out, i, flat, count) &&
      OutOf{L}(c, lay, k, lo, hi, base, i, p) ==>
      OutRight{L,A,C}(lay, lo, base, from, out, i, p);
    lemma OutRight_Before{L,A,B,C}: \forall zp_config *c, zp_layout *lay,
      integer k, lo, hi, int64_t *base, uint32_t *from, uint32_t *out,
      integer room, a, i, flat, count, l, p;
      CopyRun{L}(c, lay, k, lo, hi, a, i, flat, count) && OutApart{L}(c, lay, k, base, room) &&
      CopiedOut{L,A,B}(c, lay, k, lo, hi, base, from, out, a) &&
      RunLeft{L,B,C}(lay, base, out, room, i, flat, count) && i < l &&
      OutOf{L}(c, lay, k, lo, hi, base, l, p) ==>
      OutRight{L,A,C}(lay, lo, base, from, out, l, p);
    lemma CopiedOut_Step{L,A,B,C}: \forall zp_config *c, zp_layout *lay,
      integer k, lo, hi, int64_t *base, uint32_t *from, uint32_t *out,
      integer room, a, i, flat, count;
      CopyRun{L}(c, lay, k, lo, hi, a, i, flat, count) && OutApart{L}(c, lay, k, base, room) &&
      CopiedOut{L,A,B}(c, lay, k, lo, hi, base, from, out, a) && OutSame{A,B}(from, lo, hi) &&
      RunOut{L,B,C}(lay, base, lo, from, out, i, flat, count) &&
      RunLeft{L,B,C}(lay, base, out, room, i, flat, count) ==>
      CopiedOut{L,A,C}(c, lay, k, lo, hi, base, from, out, i);
    lemma OutKept_Step{L,A,B,C}: \forall zp_config *c, zp_layout *lay,
      integer k, lo, hi, int64_t *base, uint32_t *out, integer room, a, i, flat, count;
      CopyRun{L}(c, lay, k, lo, hi, a, i, flat, count) &&
      OutKept{L,A,B}(c, lay, k, lo, hi, base, out, room) &&
      RunLeft{L,B,C}(lay, base, out, room, i, flat, count) ==>
      OutKept{L,A,C}(c, lay, k, lo, hi, base, out, room);
    lemma CopiedOut_First{L,A,B}: \forall zp_config *c, zp_layout *lay,
      integer k, lo, hi, int64_t *base, uint32_t *from, uint32_t *out;
      CopiedOut{L,A,B}(c, lay, k, lo, hi, base, from, out, \at(lay->n_params, L));
    lemma CopiedOut_Over{L,A,B}: \forall zp_config *c, zp_layout *lay,
      integer k, lo, hi, int64_t *base, uint32_t *from, uint32_t *out, integer a;
      Planned0{L}(c, lay) && 0 <= k && 0 <= a <= \at(lay->n_params, L) &&
      CopyOver{L}(c, lay, k, lo, hi, a) &&
      CopiedOut{L,A,B}(c, lay, k, lo, hi, base, from, out, a) ==>
      CopiedOut{L,A,B}(c, lay, k, lo, hi, base, from, out, 0); */

#endif
