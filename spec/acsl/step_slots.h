/* The bucket slots that gradients are added to, and when: RED-3, PIPE-5. A stage's entries are
 * numbered x = 1, 2, … in backward order. A *fill* (mb, b) is the additions to bucket b of a flat
 * group in micro-batch mb; it ends with the bucket's reduction. Include after
 * ref/plan/step_internal.h, layout_good.h, ledger_lemmas.h and pipeline_lemmas.h. */
#ifndef ZP_SPEC_ACSL_STEP_SLOTS_H
#define ZP_SPEC_ACSL_STEP_SLOTS_H

#include "bounds.h"

/* ---- RED-3: the additions of a backward ---- */
/*@ lemma Adds_Other{L}: \forall zp_config *c, integer s, j, p, e, k, b;
      j != p ==> StepAdds(c, s, j, p, e, k, b) == 0;
    lemma Adds_Outside{L}: \forall integer x; 0 <= x ==>
      \forall zp_config *c, integer s, p, e, k, b; p < StageEnd(c, s) - x || StageEnd(c, s) <= p ==>
      AddsOf(c, s, x, p, e, k, b) == 0;
    lemma Adds_Inside{L}: \forall integer x; 0 <= x ==>
      \forall zp_config *c, integer s, p, e, k, b; StageEnd(c, s) - x <= p && p < StageEnd(c, s) ==>
      AddsOf(c, s, x, p, e, k, b) == StepAdds(c, s, p, p, e, k, b);
    lemma Adds_Own{L}: \forall zp_config *c, integer s, p, e, k, b;
      StageFirst(c, s) <= p < StageEnd(c, s) ==>
      AddsOf(c, s, StageLen(c, s), p, e, k, b) == StepAdds(c, s, p, p, e, k, b);
    lemma Adds_Foreign{L}: \forall zp_config *c, integer s, p, e, k, b; Valid(c) &&
      !(StageFirst(c, s) <= p < StageEnd(c, s)) ==> AddsOf(c, s, StageLen(c, s), p, e, k, b) == 0;
    // The bucket of element e of the stage's entry p.
    logic integer SlotBucket{L}(zp_config *c, integer s, integer p, integer e) =
      FirstBucket(EntryCap(c, p), EntryFrom(c, s, p) + e);
    predicate IsElement{L}(zp_config *c, integer p, integer e) =
      c->params[p].frozen == 0 && 0 <= e < c->params[p].numel;
    lemma Goes_There: \forall integer p, c, from, to, e, el; 0 <= e && el == from + e && el < to ==>
      GoesInto(p, p, c, from, to, e, FirstBucket(c, el)) == 1;
    lemma Inside_Entry{L}: \forall zp_config *c, integer s, p, e; IsElement(c, p, e) ==>
      0 <= e && EntryFrom(c, s, p) + e < EntryTo(c, s, p);
    lemma Goes_Any{L}: \forall zp_config *c, integer s, p, e, cap; IsElement(c, p, e) ==>
      GoesInto(p, p, cap, EntryFrom(c, s, p), EntryTo(c, s, p), e,
        FirstBucket(cap, EntryFrom(c, s, p) + e)) == 1;
    lemma Goes_Home{L}: \forall zp_config *c, integer s, p, e; IsElement(c, p, e) ==>
      GoesInto(p, p, EntryCap(c, p), EntryFrom(c, s, p), EntryTo(c, s, p), e,
        SlotBucket(c, s, p, e)) == 1;
    lemma Adds_Goes{L}: \forall zp_config *c, integer s, p, e, b; c->params[p].frozen == 0 ==>
      StepAdds(c, s, p, p, e, FlatOf(c, StageEnd(c, s), p), b) ==
        GoesInto(p, p, EntryCap(c, p), EntryFrom(c, s, p), EntryTo(c, s, p), e, b);
    lemma Adds_Home{L}: \forall zp_config *c, integer s, p, e; IsElement(c, p, e) ==>
      StepAdds(c, s, p, p, e, FlatOf(c, StageEnd(c, s), p), SlotBucket(c, s, p, e)) == 1;
    lemma Adds_Away{L}: \forall zp_config *c, integer s, p, e, k, b;
      !(IsElement(c, p, e) && k == FlatOf(c, StageEnd(c, s), p) && b == SlotBucket(c, s, p, e)) ==>
      StepAdds(c, s, p, p, e, k, b) == 0;
    // In a backward, element e of the stage's entry p is added once to its own bucket, and not to
    // any other; nothing else is added.
    lemma Adds_Once{L}: \forall zp_config *c, integer s, p, e;
      StageFirst(c, s) <= p < StageEnd(c, s) && IsElement(c, p, e) ==>
      AddsOf(c, s, StageLen(c, s), p, e, FlatOf(c, StageEnd(c, s), p),
        SlotBucket(c, s, p, e)) == 1;
    lemma Adds_Nothing{L}: \forall zp_config *c, integer s, p, e, k, b;
      StageFirst(c, s) <= p < StageEnd(c, s) &&
      !(IsElement(c, p, e) && k == FlatOf(c, StageEnd(c, s), p) && b == SlotBucket(c, s, p, e)) ==>
      AddsOf(c, s, StageLen(c, s), p, e, k, b) == 0;
*/

/* ---- Bucket slots: the fills of a flat group take turns ---- */
/*@ predicate Later(integer m, integer b, integer mb, integer bb) = m < mb || (m == mb && b < bb);
    // The number of the fill, in order, if each micro-batch has `buckets` of them.
    logic integer Turn(integer mb, integer buckets, integer b) = mb * buckets + b;
    predicate TurnOk(integer mb, integer buckets, integer b) = 0 <= mb && 0 <= b < buckets;

    lemma Turn_Next: \forall integer m, n, b; Turn(m + 1, n, b) == Turn(m, n, b) + n;
    lemma Turn_Parity: \forall integer m; 0 <= m ==> \forall integer n, b; 0 <= n && 0 <= b ==>
      Turn(m, n, b) % 2 == BucketPlace(m, n, b);
    lemma Turn_Ascend: \forall integer d; 0 <= d ==> \forall integer m, n, b; 0 <= n ==>
      Turn(m, n, b) <= Turn(m + d, n, b);
    lemma Turn_Later: \forall integer m, b, mb, bb, n; TurnOk(m, n, b) && TurnOk(mb, n, bb) &&
      Later(m, b, mb, bb) ==> Turn(m, n, b) < Turn(mb, n, bb);
    lemma Turn_Order: \forall integer m, b, mb, bb, n; TurnOk(m, n, b) && TurnOk(mb, n, bb) &&
      Turn(m, n, b) < Turn(mb, n, bb) ==> Later(m, b, mb, bb);
    lemma Turn_Of: \forall integer u, n; 0 <= u && 1 <= n ==>
      TurnOk(u / n, n, u % n) && Turn(u / n, n, u % n) == u;
    // Two consecutive fills have different slots.
    lemma Place_Alternates: \forall integer m, b, mb, bb, n; TurnOk(m, n, b) && TurnOk(mb, n, bb) &&
      Turn(mb, n, bb) == Turn(m, n, b) + 1 ==> BucketPlace(mb, n, bb) != BucketPlace(m, n, b);
    // The next fill of the same slot is two turns later.
    lemma Place_Again: \forall integer m, b, mb, bb, n; TurnOk(m, n, b) && TurnOk(mb, n, bb) &&
      Later(m, b, mb, bb) && BucketPlace(mb, n, bb) == BucketPlace(m, n, b) ==>
      Turn(m, n, b) + 2 <= Turn(mb, n, bb);
    lemma Place_Turn: \forall integer m, b, mb, bb, n; TurnOk(m, n, b) && TurnOk(mb, n, bb) &&
      Turn(mb, n, bb) == Turn(m, n, b) + 2 ==> BucketPlace(mb, n, bb) == BucketPlace(m, n, b);
    // With the bucket's number alone they would not alternate.
    check lemma Control_PlaceByBucket: \forall integer m, b, mb, bb, n;
      TurnOk(m, n, b) && TurnOk(mb, n, bb) && Turn(mb, n, bb) == Turn(m, n, b) + 1 ==>
      bb % 2 != b % 2;
*/

/* ---- Edges of buckets: n elements, capacity c ---- */
/*@ // (The case is redundant; it keeps provers from expanding the product.)
    logic integer Edge(integer c, integer b) = c <= 0 ? 0 : b * c;
    logic integer BucketEnd(integer n, integer c, integer b) =
      Edge(c, b + 1) < n ? Edge(c, b + 1) : n;

    lemma Edge_Next: \forall integer c, b; 1 <= c ==> Edge(c, b + 1) == Edge(c, b) + c;
    lemma Edge_Order: \forall integer bb; 0 <= bb ==> \forall integer c, b;
      1 <= c && 0 <= b <= bb ==> Edge(c, b) <= Edge(c, bb);
    lemma Edge_Floor: \forall integer c, x; 1 <= c && 0 <= x ==>
      Edge(c, x / c) <= x < Edge(c, x / c) + c;
    lemma Edge_Low: \forall integer c, x, b; 1 <= c && 0 <= x && x / c <= b ==>
      x < Edge(c, b + 1);
    lemma Edge_High: \forall integer c, x, b; 1 <= c && 0 <= x && 0 <= b < x / c ==>
      Edge(c, b + 1) <= x;
    lemma Edge_Below: \forall integer c, x, b; 1 <= c && 0 <= x && 0 <= b ==>
      (x / c <= b <==> x < Edge(c, b + 1));
    lemma Edge_Above: \forall integer c, x, b; 1 <= c && 0 <= x && 0 <= b ==>
      (b < x / c <==> Edge(c, b + 1) <= x);
    lemma Edge_Reach: \forall integer c, x, b; 1 <= c && 1 <= x && 0 <= b ==>
      (b < (x - 1) / c + 1 <==> Edge(c, b) < x);
    lemma Meets_Edge: \forall integer c, from, to, b; 1 <= c && 0 <= from < to && 0 <= b ==>
      (Meets(c, from, to, b) <==> from < Edge(c, b + 1) && Edge(c, b) < to);
    lemma Completes_Edge: \forall integer n, c, from, to, b;
      1 <= c && 0 <= from < to <= n && 0 <= b ==>
      (Completes(n, c, from, to, b) <==> from < BucketEnd(n, c, b) <= to && Edge(c, b) < n);
    lemma Completes_Some: \forall integer n, c, from, to, b;
      Completes(n, c, from, to, b) ==> from < to;
    lemma Buckets_Edge: \forall integer n, c, b; 0 <= n && 1 <= c && 0 <= b ==>
      (b < Buckets(n, c) <==> Edge(c, b) < n);
    // The entry that completes a bucket ends after the start of every entry that lies in the
    // bucket. An entry in a later bucket ends after the start of the completing one.
    lemma Completes_Last: \forall integer n, c, b, bb, from, to, f, t; 1 <= c && 0 <= b <= bb &&
      0 <= from < to <= n && 0 <= f <= t <= n && Meets(c, from, to, b) &&
      Completes(n, c, f, t, bb) ==> from < t;
    lemma Completes_First: \forall integer n, c, b, bb, from, to, f, t; 1 <= c && 0 <= b < bb &&
      0 <= from < to <= n && 0 <= f <= t <= n && Meets(c, from, to, bb) &&
      Completes(n, c, f, t, b) ==> f < to;
    lemma Meets_First: \forall integer n, c, b, bb, from, to, f, t; 1 <= c && 0 <= b < bb &&
      0 <= from < to <= n && 0 <= f < t <= n && Meets(c, from, to, bb) && Meets(c, f, t, b) ==>
      f < to;
*/

/* ---- The entries of flat group k of stage s ---- */
/*@ logic integer BackEntry{L}(zp_config *c, integer s, integer x) = StageEnd(c, s) - x;
    // The number of elements of the first x entries.
    logic integer Reach{L}(zp_config *c, integer s, integer k, integer x) =
      FlatNumel(c, StageEnd(c, s), x, k);
    logic integer FlatEnd{L}(zp_config *c, integer s, integer k) =
      Reach(c, s, k, StageLen(c, s));
    // Entry x is trained and in flat group k, whose capacity is cap.
    predicate InFlat{L}(zp_config *c, integer s, integer k, integer cap, integer x) =
      1 <= x <= StageLen(c, s) && c->params[BackEntry(c, s, x)].frozen == 0 &&
      FlatOf(c, StageEnd(c, s), BackEntry(c, s, x)) == k &&
      EntryCap(c, BackEntry(c, s, x)) == cap;
    // It adds to bucket b; it completes bucket b.
    predicate AddsTo{L}(zp_config *c, integer s, integer k, integer cap, integer x, integer b) =
      InFlat(c, s, k, cap, x) && 0 <= b && Reach(c, s, k, x - 1) < Reach(c, s, k, x) &&
      Meets(cap, Reach(c, s, k, x - 1), Reach(c, s, k, x), b);
    predicate Closes{L}(zp_config *c, integer s, integer k, integer cap, integer x, integer b) =
      InFlat(c, s, k, cap, x) && 0 <= b &&
      Completes(FlatEnd(c, s, k), cap, Reach(c, s, k, x - 1), Reach(c, s, k, x), b);
    // PIPE-5: the second half of the clocks of these ops; the first is BackwardTime.
    logic integer AddClock(integer x, integer b) = x * ZP_CLOCK_STRIDE + 2 * b;
    logic integer ReduceClock(integer x, integer b) = AddClock(x, b) + 1;

    lemma Reach_Ascend{L}: \forall zp_config *c, integer s, k, x, y;
      Valid(c) && 0 <= x <= y <= StageLen(c, s) ==>
      0 <= Reach(c, s, k, x) <= Reach(c, s, k, y) <= FlatEnd(c, s, k);
    lemma Cap_Least{L}: \forall zp_config *c, integer s, k, cap, x;
      Valid(c) && InFlat(c, s, k, cap, x) ==> 1 <= cap;
*/

/* ---- One micro-batch: entries x and y, buckets b and bb ---- */
/*@ // A bucket's reduction comes after all of its additions and all additions to earlier buckets.
    lemma Slot_Full{L}: \forall zp_config *c, integer s, k, cap, x, y, b, bb; Valid(c) && b <= bb &&
      AddsTo(c, s, k, cap, x, b) && Closes(c, s, k, cap, y, bb) ==>
      x <= y && AddClock(x, b) < ReduceClock(y, bb);
    // It comes before every addition to a later bucket, and so do the bucket's own additions.
    lemma Slot_Read{L}: \forall zp_config *c, integer s, k, cap, x, y, b, bb; Valid(c) && b < bb &&
      Closes(c, s, k, cap, x, b) && AddsTo(c, s, k, cap, y, bb) ==>
      x <= y && ReduceClock(x, b) < AddClock(y, bb);
    lemma Slot_Order{L}: \forall zp_config *c, integer s, k, cap, x, y, b, bb; Valid(c) && b < bb &&
      AddsTo(c, s, k, cap, x, b) && AddsTo(c, s, k, cap, y, bb) ==>
      x <= y && AddClock(x, b) < AddClock(y, bb);
*/

/* ---- All micro-batches: RED-3, PIPE-5. Before: the clock of an op of fill (m, …) is below that of
 * an op of fill (mb, …) ---- */
/*@ predicate Before(integer S, integer s, integer m, integer i, integer mb, integer j) =
      ClockBelow(BackwardTime(S, s, m), i, BackwardTime(S, s, mb), j);

    // Additions to a later fill come after the reduction of an earlier one: no addition to another
    // bucket lies between a bucket's first addition and its reduction.
    lemma Slot_Free{L}: \forall zp_config *c, integer s, k, cap, x, y, m, b, mb, bb; Valid(c) &&
      Later(m, b, mb, bb) && Closes(c, s, k, cap, x, b) && AddsTo(c, s, k, cap, y, bb) ==>
      Before(c->pp, s, m, ReduceClock(x, b), mb, AddClock(y, bb));
    lemma Slot_Complete{L}: \forall zp_config *c, integer s, k, cap, x, y, m, b, mb, bb; Valid(c) &&
      !Later(mb, bb, m, b) && AddsTo(c, s, k, cap, x, b) && Closes(c, s, k, cap, y, bb) ==>
      Before(c->pp, s, m, AddClock(x, b), mb, ReduceClock(y, bb));
    lemma Slot_InOrder{L}: \forall zp_config *c, integer s, k, cap, x, y, m, b, mb, bb; Valid(c) &&
      Later(m, b, mb, bb) && AddsTo(c, s, k, cap, x, b) && AddsTo(c, s, k, cap, y, bb) ==>
      Before(c->pp, s, m, AddClock(x, b), mb, AddClock(y, bb));
    // A control: for additions to an earlier fill this is false.
    check lemma Control_NextFirst{L}: \forall zp_config *c, integer s, k, cap, x, y, m, b, mb, bb;
      Valid(c) && Later(mb, bb, m, b) && Closes(c, s, k, cap, x, b) &&
      AddsTo(c, s, k, cap, y, bb) ==>
      Before(c->pp, s, m, ReduceClock(x, b), mb, AddClock(y, bb));
*/

/* ---- The entry that starts a fill, and the one that completes it ---- */
/*@ // The one of the first x entries that has element el of flat group k.
    logic integer Bringer{L}(zp_config *c, integer s, integer k, integer x, integer el) =
      x <= 0 ? 0 : Reach(c, s, k, x - 1) <= el ? x : Bringer(c, s, k, x - 1, el);
    logic integer FirstOf{L}(zp_config *c, integer s, integer k, integer cap, integer b) =
      Bringer(c, s, k, StageLen(c, s), Edge(cap, b));
    logic integer LastOf{L}(zp_config *c, integer s, integer k, integer cap, integer b) =
      Bringer(c, s, k, StageLen(c, s), BucketEnd(FlatEnd(c, s, k), cap, b) - 1);
    logic integer Collections{L}(zp_config *c, integer s, integer k, integer cap) =
      Buckets(FlatEnd(c, s, k), cap);
    // All entries of flat group k have capacity cap.
    predicate HasCap{L}(zp_config *c, integer s, integer k, integer x) =
      1 <= x <= StageLen(c, s) && c->params[BackEntry(c, s, x)].frozen == 0 &&
      FlatOf(c, StageEnd(c, s), BackEntry(c, s, x)) == k;
    predicate CapIs{L}(zp_config *c, integer s, integer k, integer cap) =
      1 <= cap && (\forall integer x; HasCap(c, s, k, x) ==> InFlat(c, s, k, cap, x));

    lemma Reach_Step{L}: \forall zp_config *c, integer s, k, x; 1 <= x ==>
      Reach(c, s, k, x) == Reach(c, s, k, x - 1) + Brings(c, StageEnd(c, s), BackEntry(c, s, x), k);
    lemma Reach_None{L}: \forall zp_config *c, integer s, k; Reach(c, s, k, 0) == 0;
    lemma Reach_Mine{L}: \forall zp_config *c, integer s, k, x; 0 <= k && 1 <= x <= StageLen(c, s)
      &&
      Reach(c, s, k, x - 1) < Reach(c, s, k, x) ==> HasCap(c, s, k, x);
    lemma Slot_Group{L}: \forall zp_config *c, integer s, k, x, y; Valid(c) &&
      HasCap(c, s, k, x) && HasCap(c, s, k, y) ==>
      GroupOf(c, BackEntry(c, s, x)) == GroupOf(c, BackEntry(c, s, y));
    lemma Cap_One{L}: \forall zp_config *c, integer s, k, x, y; Valid(c) &&
      HasCap(c, s, k, x) && HasCap(c, s, k, y) ==>
      EntryCap(c, BackEntry(c, s, x)) == EntryCap(c, BackEntry(c, s, y));
    lemma Cap_Is{L}: \forall zp_config *c, integer s, k, cap, x; Valid(c) &&
      InFlat(c, s, k, cap, x) ==> CapIs(c, s, k, cap);
    lemma Bringer_Is{L}: \forall integer x; 0 <= x ==> \forall zp_config *c, integer s, k, el;
      0 <= el < Reach(c, s, k, x) ==> 1 <= Bringer(c, s, k, x, el) <= x &&
      Reach(c, s, k, Bringer(c, s, k, x, el) - 1) <= el < Reach(c, s, k, Bringer(c, s, k, x, el));
    // Entry x has element el.
    predicate BringsEl{L}(zp_config *c, integer s, integer k, integer x, integer el) =
      HasCap(c, s, k, x) && Reach(c, s, k, x - 1) <= el < Reach(c, s, k, x);
    lemma Stage_Least{L}: \forall zp_config *c, integer s; Valid(c) ==> 0 <= StageLen(c, s);
    lemma Bringer_Brings{L}: \forall zp_config *c, integer s, k, el; Valid(c) && 0 <= k &&
      0 <= el < FlatEnd(c, s, k) ==>
      BringsEl(c, s, k, Bringer(c, s, k, StageLen(c, s), el), el);
    lemma Brings_Order{L}: \forall zp_config *c, integer s, k, x, y, el, em; Valid(c) &&
      BringsEl(c, s, k, x, el) && BringsEl(c, s, k, y, em) && el <= em ==> x <= y;
    lemma Brings_One{L}: \forall zp_config *c, integer s, k, x, y, el; Valid(c) &&
      BringsEl(c, s, k, x, el) && BringsEl(c, s, k, y, el) ==> x == y;
    lemma Brings_Adds{L}: \forall zp_config *c, integer s, k, cap, x, b; Valid(c) &&
      CapIs(c, s, k, cap) && 0 <= b && BringsEl(c, s, k, x, Edge(cap, b)) ==>
      AddsTo(c, s, k, cap, x, b);
    lemma Brings_Closes{L}: \forall zp_config *c, integer s, k, cap, x, b; Valid(c) &&
      CapIs(c, s, k, cap) && 0 <= b && Edge(cap, b) < FlatEnd(c, s, k) &&
      BringsEl(c, s, k, x, BucketEnd(FlatEnd(c, s, k), cap, b) - 1) ==>
      Closes(c, s, k, cap, x, b);
    lemma Closes_Brings{L}: \forall zp_config *c, integer s, k, cap, x, b; Valid(c) &&
      Closes(c, s, k, cap, x, b) ==> Edge(cap, b) < FlatEnd(c, s, k) &&
      BringsEl(c, s, k, x, BucketEnd(FlatEnd(c, s, k), cap, b) - 1);
    lemma Adds_Reach{L}: \forall zp_config *c, integer s, k, cap, x, b; Valid(c) &&
      AddsTo(c, s, k, cap, x, b) ==> Edge(cap, b) < Reach(c, s, k, x) &&
      Edge(cap, b) < FlatEnd(c, s, k);
    lemma Edge_Positive: \forall integer c, b; 1 <= c && 0 <= b ==> 0 <= Edge(c, b);
    lemma Bucket_Exists{L}: \forall zp_config *c, integer s, k, cap, b; Valid(c) && 1 <= cap &&
      0 <= b ==> (b < Collections(c, s, k, cap) <==> Edge(cap, b) < FlatEnd(c, s, k));

    lemma Slot_Starts{L}: \forall zp_config *c, integer s, k, cap, b; Valid(c) && 0 <= k &&
      CapIs(c, s, k, cap) && 0 <= b < Collections(c, s, k, cap) ==>
      BringsEl(c, s, k, FirstOf(c, s, k, cap, b), Edge(cap, b)) &&
      AddsTo(c, s, k, cap, FirstOf(c, s, k, cap, b), b);
    lemma Slot_First{L}: \forall zp_config *c, integer s, k, cap, x, b; Valid(c) && 0 <= k &&
      AddsTo(c, s, k, cap, x, b) ==> b < Collections(c, s, k, cap) &&
      FirstOf(c, s, k, cap, b) <= x;
    lemma Slot_Ends{L}: \forall zp_config *c, integer s, k, cap, b; Valid(c) && 0 <= k &&
      CapIs(c, s, k, cap) && 0 <= b < Collections(c, s, k, cap) ==>
      Closes(c, s, k, cap, LastOf(c, s, k, cap, b), b);
    lemma Slot_Last{L}: \forall zp_config *c, integer s, k, cap, x, b; Valid(c) && 0 <= k &&
      Closes(c, s, k, cap, x, b) ==> b < Collections(c, s, k, cap) &&
      x == LastOf(c, s, k, cap, b);
*/

/* ---- The edges required by an executor with two queues: from the reduction of a fill to the first
 * addition of the fill two turns later, which has the same slot ---- */
/*@ predicate SlotEdge{L}(zp_config *c, integer s, integer k, integer cap, integer m, integer b,
        integer mb, integer bb) =
      TurnOk(m, Collections(c, s, k, cap), b) && TurnOk(mb, Collections(c, s, k, cap), bb) &&
      Turn(mb, Collections(c, s, k, cap), bb) == Turn(m, Collections(c, s, k, cap), b) + 2;
    predicate SamePlace{L}(zp_config *c, integer s, integer k, integer cap, integer m, integer b,
        integer mb, integer bb) =
      BucketPlace(mb, Collections(c, s, k, cap), bb) ==
        BucketPlace(m, Collections(c, s, k, cap), b);

    // Each edge points forward in the program.
    lemma Slot_Edge{L}: \forall zp_config *c, integer s, k, cap, m, b, mb, bb; Valid(c) && 0 <= k &&
      CapIs(c, s, k, cap) && SlotEdge(c, s, k, cap, m, b, mb, bb) ==>
      SamePlace(c, s, k, cap, m, b, mb, bb) &&
      Before(c->pp, s, m, ReduceClock(LastOf(c, s, k, cap, b), b), mb,
        AddClock(FirstOf(c, s, k, cap, bb), bb));
    // They suffice: later additions to the same slot do not come before the edge's addition.
    lemma Slot_Enough{L}: \forall zp_config *c, integer s, k, cap, y, m, b, mb, bb, mid, bid;
      Valid(c) && 0 <= k && CapIs(c, s, k, cap) && AddsTo(c, s, k, cap, y, bb) &&
      SlotEdge(c, s, k, cap, m, b, mid, bid) && TurnOk(mb, Collections(c, s, k, cap), bb) &&
      Later(m, b, mb, bb) && SamePlace(c, s, k, cap, m, b, mb, bb) ==>
      !Before(c->pp, s, mb, AddClock(y, bb), mid, AddClock(FirstOf(c, s, k, cap, bid), bid));
*/

/* ---- RED-3: the buckets that a backward completes ---- */
/*@ lemma Done_Step{L}: \forall zp_config *c, integer s, k, x, b;
      Valid(c) && 1 <= x <= StageLen(c, s) ==>
      (StepDone(c, s, BackEntry(c, s, x), k, b) == 1 <==>
        Closes(c, s, k, EntryCap(c, BackEntry(c, s, x)), x, b));
    lemma Adds_Step{L}: \forall zp_config *c, integer s, x, b; Valid(c) && 1 <= x <= StageLen(c, s)
      &&
      c->params[BackEntry(c, s, x)].frozen == 0 &&
      EntryFrom(c, s, BackEntry(c, s, x)) < EntryTo(c, s, BackEntry(c, s, x)) &&
      Meets(EntryCap(c, BackEntry(c, s, x)), EntryFrom(c, s, BackEntry(c, s, x)),
        EntryTo(c, s, BackEntry(c, s, x)), b) ==>
      AddsTo(c, s, FlatOf(c, StageEnd(c, s), BackEntry(c, s, x)),
        EntryCap(c, BackEntry(c, s, x)), x, b);
    lemma Done_None{L}: \forall integer x; 0 <= x ==> \forall zp_config *c, integer s, k, b;
      (\forall integer j; StageEnd(c, s) - x <= j < StageEnd(c, s) ==>
        StepDone(c, s, j, k, b) == 0) ==> DoneOf(c, s, x, k, b) == 0;
    lemma Done_First{L}: \forall zp_config *c, integer s, k, b, x; 1 <= x &&
      StepDone(c, s, StageEnd(c, s) - x, k, b) == 1 &&
      (\forall integer j; StageEnd(c, s) - x < j < StageEnd(c, s) ==>
        StepDone(c, s, j, k, b) == 0) ==> DoneOf(c, s, x, k, b) == 1;
    lemma Done_Still{L}: \forall integer x; 0 <= x ==> \forall zp_config *c, integer s, k, b, l;
      1 <= l && l <= x && DoneOf(c, s, l, k, b) == 1 &&
      (\forall integer j; StageEnd(c, s) - x <= j < StageEnd(c, s) - l ==>
        StepDone(c, s, j, k, b) == 0) ==> DoneOf(c, s, x, k, b) == 1;
    lemma Done_Bit{L}: \forall zp_config *c, integer s, j, k, b;
      StepDone(c, s, j, k, b) == 0 || StepDone(c, s, j, k, b) == 1;
    lemma Back_Again{L}: \forall zp_config *c, integer s, j;
      StageFirst(c, s) <= j < StageEnd(c, s) ==>
      1 <= StageEnd(c, s) - j <= StageLen(c, s) && BackEntry(c, s, StageEnd(c, s) - j) == j;
    lemma Done_Entry{L}: \forall zp_config *c, integer s, k, j, b;
      Valid(c) && StageFirst(c, s) <= j < StageEnd(c, s) && StepDone(c, s, j, k, b) == 1 ==>
      Closes(c, s, k, EntryCap(c, j), StageEnd(c, s) - j, b);
    lemma Done_Cap{L}: \forall zp_config *c, integer s, k, cap, j, b; Valid(c) && 0 <= k &&
      CapIs(c, s, k, cap) && StageFirst(c, s) <= j < StageEnd(c, s) &&
      StepDone(c, s, j, k, b) == 1 ==> Closes(c, s, k, cap, StageEnd(c, s) - j, b) &&
      0 <= b < Collections(c, s, k, cap) &&
      j == BackEntry(c, s, LastOf(c, s, k, cap, b));
    lemma Done_Last{L}: \forall zp_config *c, integer s, k, cap, b; Valid(c) && 0 <= k &&
      CapIs(c, s, k, cap) && 0 <= b < Collections(c, s, k, cap) ==>
      StageFirst(c, s) <= BackEntry(c, s, LastOf(c, s, k, cap, b)) < StageEnd(c, s) &&
      StepDone(c, s, BackEntry(c, s, LastOf(c, s, k, cap, b)), k, b) == 1;
    lemma Done_ToLast{L}: \forall zp_config *c, integer s, k, cap, b; Valid(c) && 0 <= k &&
      CapIs(c, s, k, cap) && 0 <= b < Collections(c, s, k, cap) ==>
      1 <= LastOf(c, s, k, cap, b) <= StageLen(c, s) &&
      DoneOf(c, s, LastOf(c, s, k, cap, b), k, b) == 1;
    // In a backward, each bucket is completed once, and nothing else is.
    lemma Done_Once{L}: \forall zp_config *c, integer s, k, cap, b; Valid(c) && 0 <= k &&
      CapIs(c, s, k, cap) && 0 <= b < Collections(c, s, k, cap) ==>
      DoneOf(c, s, LastOf(c, s, k, cap, b), k, b) == 1 &&
      DoneOf(c, s, StageLen(c, s), k, b) == 1;
    lemma Done_Nothing{L}: \forall zp_config *c, integer s, k, cap, b; Valid(c) && 0 <= k &&
      CapIs(c, s, k, cap) && !(0 <= b < Collections(c, s, k, cap)) ==>
      DoneOf(c, s, StageLen(c, s), k, b) == 0;
*/

/* ---- A program whose additions and reductions have the clocks of PIPE-5 ---- */
/*@ predicate AddPlaced{L}(zp_config *c, integer s, zp_op *p) =
      \let x = StageEnd(c, s) - p->param;
      \let cap = EntryCap(c, p->param);
      p->kind == ZP_OP_ADD ==> 0 <= p->mb && 0 <= p->flat &&
        AddsTo(c, s, p->flat, cap, x, p->bucket) &&
        p->clock_t == BackwardTime(c->pp, s, p->mb) && p->clock_i == AddClock(x, p->bucket) &&
        (c->stage == 2 ==>
          p->slot == BucketPlace(p->mb, Collections(c, s, p->flat, cap), p->bucket));
    predicate ReducePlaced{L}(zp_config *c, integer s, zp_op *p) =
      \let x = p->clock_i / ZP_CLOCK_STRIDE;
      \let cap = EntryCap(c, BackEntry(c, s, x));
      p->what == ZP_WHAT_GRADIENT ==> 0 <= p->mb && 0 <= p->flat &&
        Closes(c, s, p->flat, cap, x, p->bucket) &&
        p->clock_t == BackwardTime(c->pp, s, p->mb) && p->clock_i == ReduceClock(x, p->bucket) &&
        (c->stage == 2 ==>
          p->slot == BucketPlace(p->mb, Collections(c, s, p->flat, cap), p->bucket));
    predicate OpPlaced{L}(zp_config *c, integer s, zp_op *p) =
      AddPlaced(c, s, p) && ReducePlaced(c, s, p);
    predicate InPlace{L}(zp_config *c, integer s, zp_op *ops, integer n) =
      \forall integer p; 0 <= p < n ==> OpPlaced(c, s, ops + p);
    predicate IsAdd{L}(zp_op *p, integer k) = p->kind == ZP_OP_ADD && p->flat == k;
    predicate IsReduction{L}(zp_op *p, integer k) =
      p->what == ZP_WHAT_GRADIENT && p->flat == k;
    predicate OpLater{L}(zp_op *p, zp_op *q) = Later(p->mb, p->bucket, q->mb, q->bucket);
    predicate OpBelow{L}(zp_op *p, zp_op *q) =
      ClockBelow(p->clock_t, p->clock_i, q->clock_t, q->clock_i);
*/

/* ---- The planner's ops for an entry's gradient have these clocks ---- */
/*@ // p adds some of the stage's entry i; p reduces a bucket that it completes.
    predicate AddOf{L}(zp_config *c, zp_layout *lay, integer i, zp_op *p) =
      SpotTrained(lay, i) && EntryAdd{L,L}(c, lay, i, p);
    predicate ReductionOf{L}(zp_config *c, zp_layout *lay, integer i, zp_op *p) =
      SpotTrained(lay, i) && EntryReduction{L,L}(c, lay, i, p);
    lemma Arrival_InFlat{L}: \forall zp_config *c, zp_layout *lay, integer i; StageSeen(c, lay) &&
      0 <= i < lay->n_params && 0 <= lay->spot[i].flat ==>
      EntryFits(c, lay, i) && EntrySeen(c, lay, i) &&
      BackEntry(c, lay->stage, lay->n_params - i) == lay->first_param + i &&
      InFlat(c, lay->stage, lay->spot[i].flat, lay->flat[lay->spot[i].flat].capacity,
        lay->n_params - i) &&
      FlatEnd(c, lay->stage, lay->spot[i].flat) == lay->flat[lay->spot[i].flat].numel;
    logic integer ReachBefore{L}(zp_config *c, integer s, integer k, integer x) =
      Reach(c, s, k, x - 1);
    lemma Start_Before{L}: \forall zp_config *c, integer s, x; 1 <= x &&
      c->params[BackEntry(c, s, x)].frozen == 0 ==>
      ReachBefore(c, s, FlatOf(c, StageEnd(c, s), BackEntry(c, s, x)), x) ==
        EntryFrom(c, s, BackEntry(c, s, x)) &&
      Reach(c, s, FlatOf(c, StageEnd(c, s), BackEntry(c, s, x)), x) ==
        EntryTo(c, s, BackEntry(c, s, x));
    lemma Entry_Before{L}: \forall zp_config *c, integer s, k, cap, x; InFlat(c, s, k, cap, x) ==>
      ReachBefore(c, s, k, x) == EntryFrom(c, s, BackEntry(c, s, x)) &&
      Reach(c, s, k, x) == EntryTo(c, s, BackEntry(c, s, x));
    lemma Arrival_Before{L}: \forall zp_config *c, zp_layout *lay, integer i; StageSeen(c, lay) &&
      0 <= i < lay->n_params && 0 <= lay->spot[i].flat ==>
      InFlat(c, lay->stage, lay->spot[i].flat, lay->flat[lay->spot[i].flat].capacity,
        lay->n_params - i) &&
      BackEntry(c, lay->stage, lay->n_params - i) == lay->first_param + i &&
      ReachBefore(c, lay->stage, lay->spot[i].flat, lay->n_params - i) ==
        EntryFrom(c, lay->stage, lay->first_param + i) &&
      Reach(c, lay->stage, lay->spot[i].flat, lay->n_params - i) ==
        EntryTo(c, lay->stage, lay->first_param + i);
    lemma Arrival_Start{L}: \forall zp_config *c, zp_layout *lay, integer i; StageSeen(c, lay) &&
      0 <= i < lay->n_params && 0 <= lay->spot[i].flat ==>
      EntryFits(c, lay, i) && EntrySeen(c, lay, i) &&
      EntryFrom(c, lay->stage, lay->first_param + i) == lay->spot[i].start &&
      EntryTo(c, lay->stage, lay->first_param + i) ==
        lay->spot[i].start + c->params[lay->first_param + i].numel;
    lemma Arrival_Reach{L}: \forall zp_config *c, zp_layout *lay, integer i; StageSeen(c, lay) &&
      0 <= i < lay->n_params && 0 <= lay->spot[i].flat ==>
      EntryFits(c, lay, i) && EntrySeen(c, lay, i) &&
      BackEntry(c, lay->stage, lay->n_params - i) == lay->first_param + i &&
      ReachBefore(c, lay->stage, lay->spot[i].flat, lay->n_params - i) == lay->spot[i].start &&
      Reach(c, lay->stage, lay->spot[i].flat, lay->n_params - i) ==
        lay->spot[i].start + c->params[lay->first_param + i].numel;
    lemma Edge_Least: \forall integer b; 0 <= b ==> \forall integer c; 1 <= c ==> b <= Edge(c, b);
    lemma Clock_Entry: \forall integer x, b; 0 <= x && 0 <= b <= ZP_LIMIT_ELEMENTS ==>
      ReduceClock(x, b) / ZP_CLOCK_STRIDE == x;
    lemma Bucket_Limit{L}: \forall zp_config *c, integer s, k, cap, x, b; Valid(c) &&
      Closes(c, s, k, cap, x, b) ==> 0 <= b <= Edge(cap, b) < FlatEnd(c, s, k) <= ZP_LIMIT_ELEMENTS;
    lemma First_Positive: \forall integer c, x, b; 1 <= c && 0 <= x && x / c <= b ==> 0 <= b;
    lemma Arrival_Adds{L}: \forall zp_config *c, zp_layout *lay, integer i, zp_op *p;
      Valid(c) && StageSeen(c, lay) && AddOf(c, lay, i, p) ==>
      InFlat(c, lay->stage, lay->spot[i].flat, SpotCap(lay, i), lay->n_params - i) &&
      AddsTo(c, lay->stage, lay->spot[i].flat, SpotCap(lay, i), lay->n_params - i, p->bucket);
    lemma Arrival_Closes{L}: \forall zp_config *c, zp_layout *lay, integer i, zp_op *p;
      Valid(c) && StageSeen(c, lay) && ReductionOf(c, lay, i, p) ==>
      InFlat(c, lay->stage, lay->spot[i].flat, SpotCap(lay, i), lay->n_params - i) &&
      Closes(c, lay->stage, lay->spot[i].flat, SpotCap(lay, i), lay->n_params - i, p->bucket);
    lemma Arrival_Entry{L}: \forall zp_config *c, zp_layout *lay, integer i;
      StageSeen(c, lay) && SpotTrained(lay, i) ==> EntryFits(c, lay, i) && EntrySeen(c, lay, i) &&
      FlatEnd(c, lay->stage, lay->spot[i].flat) == SpotNumel(lay, i) &&
      EntryCap(c, lay->first_param + i) == SpotCap(lay, i) &&
      StageEnd(c, lay->stage) - (lay->first_param + i) == lay->n_params - i;
    lemma Arrival_Slot{L}: \forall zp_config *c, zp_layout *lay, integer i, mb, b;
      StageSeen(c, lay) && SpotTrained(lay, i) && c->stage == 2 ==>
      CollectPlace(c->stage, mb, SpotNumel(lay, i), SpotCap(lay, i), b) ==
        BucketPlace(mb, Collections(c, lay->stage, lay->spot[i].flat, SpotCap(lay, i)), b);
    lemma AddPlaced_Fold{L}: \forall zp_config *c, integer s, x, cap, zp_op *p;
      x == StageEnd(c, s) - p->param && cap == EntryCap(c, p->param) && 0 <= p->mb &&
      0 <= p->flat && AddsTo(c, s, p->flat, cap, x, p->bucket) &&
      p->clock_t == BackwardTime(c->pp, s, p->mb) && p->clock_i == AddClock(x, p->bucket) &&
      (c->stage == 2 ==> p->slot ==
        BucketPlace(p->mb, Collections(c, s, p->flat, cap), p->bucket)) ==> AddPlaced(c, s, p);
    lemma Arrival_AddClock{L}: \forall zp_config *c, zp_layout *lay, integer i, zp_op *p;
      AddOf(c, lay, i, p) ==> 0 <= p->flat && p->flat == lay->spot[i].flat &&
      p->param == lay->first_param + i && p->clock_i == AddClock(lay->n_params - i, p->bucket);
    lemma Arrival_AddSlot{L}: \forall zp_config *c, zp_layout *lay, integer i, zp_op *p;
      StageSeen(c, lay) && AddOf(c, lay, i, p) && c->stage == 2 ==> p->slot ==
        BucketPlace(p->mb, Collections(c, lay->stage, p->flat, SpotCap(lay, i)), p->bucket);
    lemma Arrival_AddEntry{L}: \forall zp_config *c, zp_layout *lay, integer i, zp_op *p;
      Valid(c) && StageSeen(c, lay) && AddOf(c, lay, i, p) ==>
      StageEnd(c, lay->stage) - p->param == lay->n_params - i &&
      EntryCap(c, p->param) == SpotCap(lay, i) &&
      AddsTo(c, lay->stage, p->flat, SpotCap(lay, i), lay->n_params - i, p->bucket);
    lemma Arrival_PlacedAdd{L}: \forall zp_config *c, zp_layout *lay, integer i, zp_op *p;
      Valid(c) && StageSeen(c, lay) && AddOf(c, lay, i, p) && OpTimed{L,L}(c, lay, p) ==>
      AddsTo(c, lay->stage, p->flat, SpotCap(lay, i), lay->n_params - i, p->bucket) &&
      AddPlaced(c, lay->stage, p);
    lemma Arrival_OpAdd{L}: \forall zp_config *c, zp_layout *lay, integer i, zp_op *p;
      Valid(c) && StageSeen(c, lay) && AddOf(c, lay, i, p) && OpTimed{L,L}(c, lay, p) ==>
      AddPlaced(c, lay->stage, p) && OpPlaced(c, lay->stage, p);
    lemma Arrival_ReduceClock{L}: \forall zp_config *c, zp_layout *lay, integer i, zp_op *p;
      ReductionOf(c, lay, i, p) ==> 0 <= p->flat && p->flat == lay->spot[i].flat &&
      p->clock_i == ReduceClock(lay->n_params - i, p->bucket) &&
      p->clock_i / ZP_CLOCK_STRIDE == lay->n_params - i;
    lemma Arrival_ReduceSlot{L}: \forall zp_config *c, zp_layout *lay, integer i, zp_op *p;
      StageSeen(c, lay) && ReductionOf(c, lay, i, p) && c->stage == 2 ==> p->slot ==
        BucketPlace(p->mb, Collections(c, lay->stage, p->flat, SpotCap(lay, i)), p->bucket);
    lemma Arrival_PlacedReduction{L}: \forall zp_config *c, zp_layout *lay, integer i, zp_op *p;
      Valid(c) && StageSeen(c, lay) && ReductionOf(c, lay, i, p) && OpTimed{L,L}(c, lay, p) ==>
      Closes(c, lay->stage, lay->spot[i].flat, SpotCap(lay, i), lay->n_params - i, p->bucket) &&
      ReducePlaced(c, lay->stage, p) && OpPlaced(c, lay->stage, p);
    lemma Other_Placed{L}: \forall zp_config *c, integer s, zp_op *p;
      p->kind != ZP_OP_ADD && p->what != ZP_WHAT_GRADIENT ==> OpPlaced(c, s, p);
    // So do all ops that the planner writes.
    lemma Gradient_Placed{L}: \forall zp_config *c, zp_layout *lay, zp_op *p;
      Valid(c) && StageSeen(c, lay) && GradientOp{L,L}(c, lay, p) ==> OpPlaced(c, lay->stage, p);
    lemma Gradient_InPlace{L}: \forall zp_config *c, zp_layout *lay, zp_op *ops, integer n;
      Valid(c) && StageSeen(c, lay) && GradientOps{L,L}(c, lay, ops, 0, n) ==>
      InPlace(c, lay->stage, ops, n);
*/

/* ---- Consequences for the program ---- */
/*@ lemma Op_Free{L}: \forall zp_config *c, integer s, k, zp_op *p, zp_op *q; Valid(c) &&
      OpPlaced(c, s, p) && OpPlaced(c, s, q) && IsReduction(p, k) && IsAdd(q, k) &&
      OpLater(p, q) ==> OpBelow(p, q);
    lemma Op_Full{L}: \forall zp_config *c, integer s, k, zp_op *p, zp_op *q; Valid(c) &&
      OpPlaced(c, s, p) && OpPlaced(c, s, q) && IsReduction(p, k) && IsAdd(q, k) &&
      !OpLater(p, q) ==> OpBelow(q, p);
    lemma Op_Order{L}: \forall zp_config *c, integer s, k, zp_op *p, zp_op *q; Valid(c) &&
      OpPlaced(c, s, p) && OpPlaced(c, s, q) && IsAdd(p, k) && IsAdd(q, k) &&
      OpLater(p, q) ==> OpBelow(p, q);
    lemma Op_Once{L}: \forall zp_op *p, zp_op *q; OpBelow(p, q) ==> !OpBelow(q, p);
    lemma Op_Clocked{L}: \forall zp_op *ops, integer n, p, q; Increasing(ops, n) &&
      0 <= p < q < n ==> OpBelow(ops + p, ops + q);
    lemma Op_Position{L}: \forall zp_op *ops, integer n, p, q; Increasing(ops, n) &&
      0 <= p < n && 0 <= q < n && OpBelow(ops + p, ops + q) ==>
      !OpBelow(ops + q, ops + p) && p < q;
    lemma InPlace_Add{L}: \forall zp_config *c, integer s, k, zp_op *ops, integer n, p;
      InPlace(c, s, ops, n) && 0 <= p < n && IsAdd(ops + p, k) ==> OpPlaced(c, s, ops + p);
    lemma InPlace_Reduction{L}: \forall zp_config *c, integer s, k, zp_op *ops, integer n, p;
      InPlace(c, s, ops, n) && 0 <= p < n && IsReduction(ops + p, k) ==> OpPlaced(c, s, ops + p);
    // An addition of a later fill comes after the reduction …
    lemma Program_Free{L}: \forall zp_config *c, integer s, k, zp_op *ops, integer n, p, q;
      Valid(c) && InPlace(c, s, ops, n) && Increasing(ops, n) && 0 <= p < n && 0 <= q < n &&
      IsReduction(ops + p, k) && IsAdd(ops + q, k) && OpLater(ops + p, ops + q) ==>
      OpBelow(ops + p, ops + q) && p < q;
    // … and a reduction after all additions to its bucket and to earlier fills.
    lemma Program_Full{L}: \forall zp_config *c, integer s, k, zp_op *ops, integer n, p, q;
      Valid(c) && InPlace(c, s, ops, n) && Increasing(ops, n) && 0 <= p < n && 0 <= q < n &&
      IsReduction(ops + p, k) && IsAdd(ops + q, k) && !OpLater(ops + p, ops + q) ==>
      OpBelow(ops + q, ops + p) && q < p;
    lemma Program_Order{L}: \forall zp_config *c, integer s, k, zp_op *ops, integer n, p, q;
      Valid(c) && InPlace(c, s, ops, n) && Increasing(ops, n) && 0 <= p < n && 0 <= q < n &&
      IsAdd(ops + p, k) && IsAdd(ops + q, k) && OpLater(ops + p, ops + q) ==>
      OpBelow(ops + p, ops + q) && p < q;
    // Between a bucket's first addition and its reduction nothing is added to another bucket of the
    // flat group, in either slot.
    predicate SameBucket{L}(zp_op *p, zp_op *q) = p->mb == q->mb && p->bucket == q->bucket;
    lemma Later_Total{L}: \forall zp_op *p, zp_op *q;
      SameBucket(p, q) || OpLater(p, q) || OpLater(q, p);
    lemma Later_Same{L}: \forall zp_op *a, zp_op *q, zp_op *r;
      SameBucket(a, r) && OpLater(q, r) ==> OpLater(q, a);
    lemma Program_Alone{L}: \forall zp_config *c, integer s, k, zp_op *ops, integer n, a, q, r;
      Valid(c) && InPlace(c, s, ops, n) && Increasing(ops, n) && 0 <= a <= q <= r < n &&
      IsAdd(ops + a, k) && IsAdd(ops + q, k) && IsReduction(ops + r, k) &&
      SameBucket(ops + a, ops + r) ==> SameBucket(ops + q, ops + r);
    predicate NoAdds{L}(zp_op *ops, integer n, integer z, integer x, integer mb, integer e, integer
      k,
        integer b) =
      \forall integer q; n <= q < z ==> AddsAt(ops + q, x, mb, e, k, b) == 0;
    lemma Added_Same{L}: \forall integer z; 0 <= z ==>
      \forall zp_op *ops, integer n, p, mb, e, k, b; 0 <= n && n <= z &&
      (\forall integer q; n <= q < z ==> AddsAt(ops + q, p, mb, e, k, b) == 0) ==>
      Added(ops, z, p, mb, e, k, b) == Added(ops, n, p, mb, e, k, b);
    lemma Added_Still{L}: \forall zp_op *ops, integer n, z, p, mb, e, k, b;
      0 <= n <= z && NoAdds(ops, n, z, p, mb, e, k, b) ==>
      Added(ops, z, p, mb, e, k, b) == Added(ops, n, p, mb, e, k, b);
    lemma Adds_IsAdd{L}: \forall zp_op *q, integer x, mb, e, k, b;
      AddsAt(q, x, mb, e, k, b) == 0 || (IsAdd(q, k) && q->mb == mb && q->bucket == b);
    predicate IsReductionOf{L}(zp_op *p, integer k, integer mb, integer b) =
      IsReduction(p, k) && p->mb == mb && p->bucket == b;
    lemma Program_None{L}: \forall zp_config *c, integer s, zp_op *ops,
      integer n, p, q, x, mb, e, k, b; Valid(c) && InPlace(c, s, ops, n) && Increasing(ops, n) &&
      0 <= p <= q < n && IsReductionOf(ops + p, k, mb, b) ==>
      AddsAt(ops + q, x, mb, e, k, b) == 0;
    lemma Program_Quiet{L}: \forall zp_config *c, integer s, zp_op *ops,
      integer p, n, x, mb, e, k, b; Valid(c) && InPlace(c, s, ops, n) && Increasing(ops, n) &&
      0 <= p < n && IsReductionOf(ops + p, k, mb, b) ==> NoAdds(ops, p, n, x, mb, e, k, b);
    // When a bucket is reduced, all additions of the program to it have run.
    lemma Program_Complete{L}: \forall zp_config *c, integer s, zp_op *ops,
      integer p, n, x, mb, e, k, b; Valid(c) && InPlace(c, s, ops, n) && Increasing(ops, n) &&
      0 <= p < n && IsReductionOf(ops + p, k, mb, b) ==> NoAdds(ops, p, n, x, mb, e, k, b) &&
      Added(ops, n, x, mb, e, k, b) == Added(ops, p, x, mb, e, k, b);
*/

/* ---- Buffers of the pipeline: filled, read, filled again; clocks as in PIPE-5: 1 the exchange, 3
 * the compute of a slot. n is any later micro-batch ---- */
/*@ predicate ThreeTimes(integer t, integer i, integer u, integer j, integer v, integer l) =
      ClockBelow(t, i, u, j) && ClockBelow(u, j, v, l);
    lemma Buffer_ActIn: \forall integer S, M, s, m, n; PipeSizes(S, M, s) && 0 <= m < n < M &&
      m % Places(S, M, s) == n % Places(S, M, s) ==>
      ThreeTimes(ForwardTime(s, m), 1, BackwardTime(S, s, m), 3, ForwardTime(s, n), 1);
    lemma Buffer_ActOut: \forall integer S, s, m, n; m < n ==>
      ThreeTimes(ForwardTime(s, m), 3, ForwardTime(s, m) + 1, 1, ForwardTime(s, n), 3);
    lemma Buffer_GradIn: \forall integer S, s, m, n; m < n ==>
      ThreeTimes(BackwardTime(S, s, m), 1, BackwardTime(S, s, m), 3, BackwardTime(S, s, n), 1);
    lemma Buffer_GradOut: \forall integer S, s, m, n; m < n ==>
      ThreeTimes(BackwardTime(S, s, m), 3, BackwardTime(S, s, m) + 1, 1, BackwardTime(S, s, n), 3);
*/

#endif
