/* The logic of PART-1 … PART-3 and TIE-2: the layout of a stage as a function of the configuration.
 * Include after ref/plan/layout.h's types.
 *
 * c is the configuration and e the end of the stage's entries in its list. x counts entries in
 * backward order: the first x of them are the entries e-1 … e-x. */
#ifndef ZP_SPEC_ACSL_LAYOUT_H
#define ZP_SPEC_ACSL_LAYOUT_H

#include "bounds.h"

/*@ predicate FlatOk{L}(zp_flat *f) =
      1 <= f->members <= ZP_LIMIT_RANKS && 1 <= f->align <= ZP_LIMIT_ALIGN &&
      0 <= f->numel <= ZP_LIMIT_ELEMENTS &&
      1 <= f->capacity <= 1103806595072 &&
      WholeUnits(f->capacity, f->members, f->align); */

/* PART-1: entries of stages below s among the first n. Entries are listed by stage, so the entries
 * of stage s are StageFirst … StageEnd-1. */
/*@ logic integer IsBelow{L}(zp_config *c, integer j, integer s) =
      c->params[j].stage < s ? 1 : 0;
    logic integer EntriesBelow{L}(zp_config *c, integer n, integer s) =
      n <= 0 ? 0 : EntriesBelow(c, n - 1, s) + IsBelow(c, n - 1, s);
    logic integer StageFirst{L}(zp_config *c, integer s) = EntriesBelow(c, c->n_params, s);
    logic integer StageEnd{L}(zp_config *c, integer s) = EntriesBelow(c, c->n_params, s + 1);
    logic integer StageCount{L}(zp_config *c, integer s) = StageEnd(c, s) - StageFirst(c, s); */

/* PART-2, TIE-2: a number for the class of entry j. Trained entries of a valid configuration have
 * the same number iff they share the tied key, or have no key and share reduction group, dtype and
 * optimizer group (at most 256 groups). The factor 3 separates frozen, tied and other entries. */
/*@ logic integer ClassOf{L}(zp_config *c, integer j) =
      c->params[j].frozen != 0 ? 0 :
      0 <= c->params[j].tied ? 3 * c->params[j].tied + 1 :
      3 * (512 * c->params[j].expert + 256 * c->params[j].fp32 + c->params[j].optgroup) + 2; */

/* The last entry (first in backward order) of class k among j+1 … j+n-1, else j. */
/*@ logic integer Leader{L}(zp_config *c, integer k, integer j, integer n) =
      n <= 1 ? j : ClassOf(c, j + n - 1) == k ? j + n - 1 : Leader(c, k, j, n - 1); */

/* The number of entries of class k among j+1 … j+n-1. */
/*@ logic integer UsesBefore{L}(zp_config *c, integer k, integer j, integer n) =
      n <= 1 ? 0 : UsesBefore(c, k, j, n - 1) + (ClassOf(c, j + n - 1) == k ? 1 : 0); */

/* Among all entries of the stage: the first of j's class in backward order, and the number of
 * entries of j's class before j. */
/*@ logic integer HeadOf{L}(zp_config *c, integer e, integer j) =
      Leader(c, ClassOf(c, j), j, e - j);
    logic integer UseOf{L}(zp_config *c, integer e, integer j) =
      UsesBefore(c, ClassOf(c, j), j, e - j); */

/* 1 if entry j opens a flat group: it is trained, and it is tied or the first of its class. */
/*@ logic integer Opens{L}(zp_config *c, integer e, integer j) =
      c->params[j].frozen == 0 && (0 <= c->params[j].tied || HeadOf(c, e, j) == j) ? 1 : 0; */

/* Flat groups that the first x entries in backward order open. */
/*@ logic integer FlatCount{L}(zp_config *c, integer e, integer x) =
      x <= 0 ? 0 : FlatCount(c, e, x - 1) + Opens(c, e, e - x); */

/* The number of the flat group that entry j opens. */
/*@ logic integer FlatAt{L}(zp_config *c, integer e, integer j) = FlatCount(c, e, e - 1 - j); */

/* The number of entry j's flat group; -1 if it is frozen. */
/*@ logic integer FlatOf{L}(zp_config *c, integer e, integer j) =
      c->params[j].frozen != 0 ? -1 :
      0 <= c->params[j].tied ? FlatAt(c, e, j) : FlatAt(c, e, HeadOf(c, e, j)); */

/* The number of elements of entry j in flat group k, and of the first x entries in backward
 * order. */
/*@ logic integer Brings{L}(zp_config *c, integer e, integer j, integer k) =
      FlatOf(c, e, j) == k ? c->params[j].numel : 0;
    logic integer FlatNumel{L}(zp_config *c, integer e, integer x, integer k) =
      x <= 0 ? 0 : FlatNumel(c, e, x - 1, k) + Brings(c, e, e - x, k); */

/* The start of entry j in its flat group: after the elements of the entries before it. */
/*@ logic integer StartOf{L}(zp_config *c, integer e, integer j) =
      c->params[j].frozen != 0 ? 0 : FlatNumel(c, e, e - 1 - j, FlatOf(c, e, j)); */

/* The entry that opens flat group k, among the first x in backward order; -1 if there is no such
 * entry. */
/*@ logic integer Opener{L}(zp_config *c, integer e, integer x, integer k) =
      x <= 0 ? -1 :
      Opens(c, e, e - x) == 1 && FlatCount(c, e, x - 1) == k ? e - x : Opener(c, e, x - 1, k); */

/* The reduction group of entry j and its size. */
/*@ logic integer GroupOf{L}(zp_config *c, integer j) =
      c->params[j].expert != 0 ? ZP_GROUP_EDP : ZP_GROUP_DP;
    logic integer MembersOf{L}(zp_config *c, integer j) =
      c->params[j].expert != 0 ? c->dp / c->ep : c->dp; */

/* At L, f has the fields of a flat group that entry j (of the configuration at C) opened, with n
 * elements so far. */
/*@ predicate FlatIs{C,L}(zp_config *c, integer e, integer j, integer n, zp_flat *f) =
      \at(f->group, L) == GroupOf{C}(c, j) && \at(f->members, L) == MembersOf{C}(c, j) &&
      \at(f->optgroup, L) == \at(c->params[j].optgroup, C) &&
      \at(f->fp32, L) == \at(c->params[j].fp32, C) &&
      \at(f->tied, L) == \at(c->params[j].tied, C) &&
      \at(f->use, L) == UseOf{C}(c, e, j) &&
      \at(f->holder, L) == FlatAt{C}(c, e, HeadOf{C}(c, e, j)) &&
      \at(f->numel, L) == n && \at(f->align, L) == \at(c->align, C) &&
      \at(f->capacity, L) ==
        Capacity(\at(c->bucket, C), MembersOf{C}(c, j), \at(c->align, C)); */

/* lay is exactly the layout of stage s: every field is a function of (c, s). */
/*@ predicate LayoutHead{L}(zp_config *c, integer s, zp_layout *lay) =
      lay->stage == s && lay->first_param == StageFirst(c, s) &&
      lay->n_params == StageCount(c, s) &&
      lay->n_flats == FlatCount(c, StageEnd(c, s), StageCount(c, s));

    predicate LayoutFlat{L}(zp_config *c, integer s, zp_layout *lay, integer k) =
      FlatIs{L,L}(c, StageEnd(c, s), Opener(c, StageEnd(c, s), StageCount(c, s), k),
        FlatNumel(c, StageEnd(c, s), StageCount(c, s), k), lay->flat + k);

    predicate LayoutSpot{L}(zp_config *c, integer s, zp_layout *lay, integer i) =
      lay->spot[i].flat == FlatOf(c, StageEnd(c, s), lay->first_param + i) &&
      lay->spot[i].start == StartOf(c, StageEnd(c, s), lay->first_param + i);

    predicate LayoutOf{L}(zp_config *c, integer s, zp_layout *lay) =
      LayoutHead(c, s, lay) &&
      (\forall integer k; 0 <= k < lay->n_flats ==> LayoutFlat(c, s, lay, k)) &&
      (\forall integer i; 0 <= i < lay->n_params ==> LayoutSpot(c, s, lay, i)); */

/* The guarantees of a layout of a valid configuration; layout_good.h derives them from LayoutOf:
 * LayoutRange, FlatGood of each k < n_flats, SpotGood of each i < n_params, EntryMine of each
 * entry. To use one, assert it of that k, i or j first. */
/*@ predicate FlatLike{L}(zp_config *c, zp_flat *f, integer k, integer n) =
      FlatOk(f) && f->numel == n && f->align == c->align &&
      (f->group == ZP_GROUP_DP && f->members == c->dp ||
       f->group == ZP_GROUP_EDP && f->members == c->dp / c->ep) &&
      -1 <= f->tied < c->tied_keys && 0 <= f->optgroup < c->optgroups && 0 <= f->fp32 <= 1 &&
      0 <= f->holder <= k && 0 <= f->use <= ZP_LIMIT_ENTRIES && (f->use == 0 <==> f->holder == k) &&
      (f->tied < 0 ==> f->use == 0) && (0 <= f->tied ==> f->group == ZP_GROUP_DP);

    // Entry j, whose backward index is x = e-1-j, lies in flat group k from element `start` on: the
    // elements FlatNumel(…, x, k) … FlatNumel(…, x+1, k)-1. So the entries of a flat group tile it.
    predicate SpotLike{L}(zp_config *c, integer e, integer j, integer k, integer start,
        zp_flat *f) =
      0 <= start && start == FlatNumel(c, e, e - 1 - j, k) &&
      start + c->params[j].numel == FlatNumel(c, e, e - j, k) &&
      start + c->params[j].numel <= f->numel &&
      f->group == GroupOf(c, j) && f->members == MembersOf(c, j) &&
      f->optgroup == c->params[j].optgroup && f->fp32 == c->params[j].fp32 &&
      f->tied == c->params[j].tied &&
      (0 <= f->tied ==> start == 0 && f->numel == c->params[j].numel);

    predicate LayoutRange{L}(zp_config *c, zp_layout *lay) =
      0 <= lay->first_param && 0 <= lay->n_params &&
      lay->first_param + lay->n_params <= c->n_params &&
      0 <= lay->n_flats <= lay->n_params <= ZP_LIMIT_ENTRIES;

    predicate EntryMine{L}(zp_config *c, zp_layout *lay, integer j) =
      c->params[j].stage == lay->stage <==>
        lay->first_param <= j < lay->first_param + lay->n_params;

    predicate FlatGood{L}(zp_config *c, integer s, zp_layout *lay, integer k) =
      FlatLike(c, lay->flat + k, k, FlatNumel(c, StageEnd(c, s), StageCount(c, s), k));

    predicate SpotGood{L}(zp_config *c, integer s, zp_layout *lay, integer i) =
      c->params[lay->first_param + i].frozen != 0 &&
        lay->spot[i].flat == -1 && lay->spot[i].start == 0 ||
      c->params[lay->first_param + i].frozen == 0 && 0 <= lay->spot[i].flat < lay->n_flats &&
        SpotLike(c, StageEnd(c, s), lay->first_param + i, lay->spot[i].flat, lay->spot[i].start,
          lay->flat + lay->spot[i].flat); */

/* Validity of the memory of a layout for reading. */
/*@ predicate ReadableLayout{L}(zp_layout *lay) =
      \valid_read(lay) &&
      (0 < lay->n_flats ==> \valid_read(lay->flat + (0 .. lay->n_flats - 1))) &&
      (0 < lay->n_params ==> \valid_read(lay->spot + (0 .. lay->n_params - 1))); */

#endif
