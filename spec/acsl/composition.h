/* STAT-2 for whole groups: the sum of the ranks' parts, each counted once. ACSL only. Include after
 * ref/plan/program.h.
 *
 * e is the end of a stage's entries and x counts them in backward order, as in layout.h; t is a tp
 * index; z, the copy, distinguishes expert copies: the index in ep, 0 for entries that are not
 * experts. */
#ifndef ZP_SPEC_ACSL_COMPOSITION_H
#define ZP_SPEC_ACSL_COMPOSITION_H

/* The reduced gradient: the square of element i of entry j, of its copy (t, z), in units of 2^-298.
 * It is uninterpreted, so the lemmas hold for every gradient. */
/*@ axiomatic ReducedGradient {
      logic integer SquareOf(integer j, integer t, integer z, integer i);
    } */

/*@ // the first n elements of entry j's copy
    logic integer EntrySum(integer j, integer t, integer z, integer n) =
      n <= 0 ? 0 : EntrySum(j, t, z, n - 1) + SquareOf(j, t, z, n - 1);
    logic integer Clip(integer x, integer n) = x <= 0 ? 0 : x < n ? x : n;

    // STAT-2: 1 if tp index t counts entry j of a stage that ends at e; of the uses of a tied key,
    // the one that has the storage on the first stage of the key
    logic integer CountedOn{L}(zp_config *c, integer e, integer j, integer t) =
      (c->params[j].sharded == 1 || t == 0) &&
      (c->params[j].tied < 0 || UseOf(c, e, j) == 0 &&
        StageOf(c, c->params[j].tied, 0) == c->params[j].stage) ? 1 : 0;

    // the contribution of entry j to the flat elements of k below pos; then of the first x entries
    logic integer BelowOf{L}(zp_config *c, integer e, integer j, integer k, integer t, integer z,
        integer pos) =
      FlatOf(c, e, j) == k && CountedOn(c, e, j, t) == 1 ?
        EntrySum(j, t, z, Clip(pos - StartOf(c, e, j), c->params[j].numel)) : 0;
    logic integer SquaresBelow{L}(zp_config *c, integer e, integer x, integer k, integer t,
        integer z, integer pos) =
      x <= 0 ? 0 : SquaresBelow(c, e, x - 1, k, t, z, pos) + BelowOf(c, e, e - x, k, t, z, pos);
    // all of flat group k
    logic integer FlatEntry{L}(zp_config *c, integer e, integer j, integer k, integer t,
        integer z) = FlatOf(c, e, j) == k && CountedOn(c, e, j, t) == 1 ?
        EntrySum(j, t, z, c->params[j].numel) : 0;
    logic integer FlatSquares{L}(zp_config *c, integer e, integer x, integer k, integer t,
        integer z) =
      x <= 0 ? 0 : FlatSquares(c, e, x - 1, k, t, z) + FlatEntry(c, e, e - x, k, t, z);
*/

/* One flat group of n elements, capacity cap, d members, alignment a: parts and buckets. */
/*@ logic integer PartAt(integer n, integer cap, integer d, integer a, integer b, integer r) =
      b * cap + r * Part(n, cap, d, a, b);
    // member r's count in its part of bucket b, and in its first b buckets; the same for the first
    // r members
    logic integer PartSquares{L}(zp_config *c, integer e, integer x, integer k, integer t,
        integer z, integer n, integer cap, integer d, integer a, integer b, integer r) =
      SquaresBelow(c, e, x, k, t, z, PartAt(n, cap, d, a, b, r + 1)) -
      SquaresBelow(c, e, x, k, t, z, PartAt(n, cap, d, a, b, r));
    logic integer MemberSquares{L}(zp_config *c, integer e, integer x, integer k, integer t,
        integer z, integer n, integer cap, integer d, integer a, integer b, integer r) =
      b <= 0 ? 0 : MemberSquares(c, e, x, k, t, z, n, cap, d, a, b - 1, r) +
        PartSquares(c, e, x, k, t, z, n, cap, d, a, b - 1, r);
    logic integer MembersSquares{L}(zp_config *c, integer e, integer x, integer k, integer t,
        integer z, integer n, integer cap, integer d, integer a, integer b, integer m) =
      m <= 0 ? 0 : MembersSquares(c, e, x, k, t, z, n, cap, d, a, b, m - 1) +
        MemberSquares(c, e, x, k, t, z, n, cap, d, a, b, m - 1);
    logic integer BucketSquares{L}(zp_config *c, integer e, integer x, integer k, integer t,
        integer z, integer n, integer cap, integer d, integer a, integer b, integer m) =
      m <= 0 ? 0 : BucketSquares(c, e, x, k, t, z, n, cap, d, a, b, m - 1) +
        PartSquares(c, e, x, k, t, z, n, cap, d, a, b, m - 1);
    predicate FlatShape(integer n, integer cap, integer d, integer a) =
      0 <= n && 1 <= cap && 1 <= d && 1 <= a && WholeUnits(cap, d, a);
    // entry j, if it is in flat group k, lies within the flat elements 0 … n-1
    predicate EntryWithin{L}(zp_config *c, integer e, integer j, integer k, integer n) =
      FlatOf(c, e, j) == k ==> 0 <= c->params[j].numel && 0 <= StartOf(c, e, j) &&
        StartOf(c, e, j) + c->params[j].numel <= n;
    predicate FlatHolds{L}(zp_config *c, integer e, integer x, integer k, integer n) =
      \forall integer i; e - x <= i < e ==> EntryWithin(c, e, i, k, n);
*/

/* The limits of parts and buckets. */
/*@ lemma Numel_Positive: \forall integer n, cap, b; 1 <= cap && b * cap < n ==>
      1 <= BucketNumel(n, cap, b);
    lemma Commutes: \forall integer x, d; x == x / d * d ==> d * (x / d) == x;
    lemma Part_Padded: \forall integer n, cap, d, a, b;
      1 <= cap && 1 <= d && 1 <= a && b * cap < n ==>
      d * Part(n, cap, d, a, b) == BucketPadded(n, cap, d, a, b);
    lemma Padded_Parts: \forall integer n, cap, d, a, b; FlatShape(n, cap, d, a) && b * cap < n ==>
      PartAt(n, cap, d, a, b, d) == b * cap + BucketPadded(n, cap, d, a, b);
    lemma Part_First: \forall integer n, cap, d, a, b; PartAt(n, cap, d, a, b, 0) == b * cap;
    lemma Next_Start: \forall integer b, cap; (b + 1) * cap == b * cap + cap;
    lemma Unit_Positive: \forall integer d, a; 1 <= d && 1 <= a ==> 1 <= d * a;
    lemma Multiple_Tight: \forall integer p, q, m; 1 <= m && p * m <= q * m < p * m + m ==> p == q;
    lemma Times_Tight: \forall integer p, q, m; 1 <= m && p * m <= q * m < p * m + m ==>
      q * m == p * m;
    lemma RoundUp_Exact: \forall integer x, m; 1 <= m && 0 <= x && Multiple(x, m) ==>
      RoundUp(x, m) == x;
    lemma RoundUp_Unit: \forall integer x, d, a;
      0 <= x && 1 <= d && 1 <= a && WholeUnits(x, d, a) ==> RoundUp(x, d * a) == x;
    lemma Numel_Whole: \forall integer n, cap, b; (b + 1) * cap <= n ==>
      BucketNumel(n, cap, b) == cap;
    lemma Padded_Whole: \forall integer n, cap, d, a, b; FlatShape(n, cap, d, a) &&
      (b + 1) * cap <= n ==> BucketPadded(n, cap, d, a, b) == cap;
    lemma Numel_Last: \forall integer n, cap, b; n <= (b + 1) * cap ==>
      BucketNumel(n, cap, b) == n - b * cap;
    lemma Padded_Last: \forall integer n, cap, d, a, b; FlatShape(n, cap, d, a) &&
      b * cap < n && n <= (b + 1) * cap ==> n - b * cap <= BucketPadded(n, cap, d, a, b);
    lemma Part_Times: \forall integer x, d, a; 0 <= x && 1 <= d && 1 <= a ==>
      d * (RoundUp(x, d * a) / d) == RoundUp(x, d * a);
    lemma Part_Next: \forall integer n, cap, d, a, b; FlatShape(n, cap, d, a) && 0 <= b &&
      (b + 1) * cap <= n ==> PartAt(n, cap, d, a, b, d) == (b + 1) * cap;
    lemma Part_Last: \forall integer n, cap, d, a, b; FlatShape(n, cap, d, a) && 0 <= b &&
      b * cap < n && n <= (b + 1) * cap ==> n <= PartAt(n, cap, d, a, b, d);
    lemma Buckets_RoundUp: \forall integer n, cap; Buckets(n, cap) * cap == RoundUp(n, cap);
    lemma Factor_Positive: \forall integer x, y; 1 <= x * y && 1 <= y ==> 1 <= x;
    lemma Quotient_Low: \forall integer n, cap; 1 <= n && 1 <= cap ==> 1 <= Buckets(n, cap);
    lemma Quotient_Times2: \forall integer n, cap; 1 <= n && 1 <= cap ==>
      Buckets(n, cap) * cap <= n + cap - 1 && n <= Buckets(n, cap) * cap;
    lemma Buckets_Full: \forall integer n, cap; 1 <= n && 1 <= cap ==>
      0 <= Buckets(n, cap) - 1 && (Buckets(n, cap) - 1) * cap < n &&
      n <= (Buckets(n, cap) - 1 + 1) * cap;
    lemma Buckets_None: \forall integer cap; 1 <= cap ==> Buckets(0, cap) == 0;
*/

/* Elements of one flat group. */
/*@ lemma BelowOf_All{L}: \forall zp_config *c, integer e, j, k, t, z, n, pos;
      EntryWithin(c, e, j, k, n) && n <= pos ==>
      BelowOf(c, e, j, k, t, z, pos) == FlatEntry(c, e, j, k, t, z);
    lemma BelowOf_None{L}: \forall zp_config *c, integer e, j, k, t, z, n;
      EntryWithin(c, e, j, k, n) ==> BelowOf(c, e, j, k, t, z, 0) == 0;
    lemma Holds_One{L}: \forall zp_config *c, integer e, x, k, n; 1 <= x &&
      FlatHolds(c, e, x, k, n) ==> FlatHolds(c, e, x - 1, k, n) && EntryWithin(c, e, e - x, k, n);
    lemma Below_All{L}: \forall integer x; 0 <= x ==>
      \forall zp_config *c, integer e, k, t, z, n, pos; FlatHolds(c, e, x, k, n) && n <= pos ==>
      SquaresBelow(c, e, x, k, t, z, pos) == FlatSquares(c, e, x, k, t, z);
    lemma Below_None{L}: \forall integer x; 0 <= x ==>
      \forall zp_config *c, integer e, k, t, z, n; FlatHolds(c, e, x, k, n) ==>
      SquaresBelow(c, e, x, k, t, z, 0) == 0;
    lemma Parts_Bucket{L}: \forall integer m; 0 <= m ==>
      \forall zp_config *c, integer e, x, k, t, z, n, cap, d, a, b;
      BucketSquares(c, e, x, k, t, z, n, cap, d, a, b, m) ==
        SquaresBelow(c, e, x, k, t, z, PartAt(n, cap, d, a, b, m)) -
        SquaresBelow(c, e, x, k, t, z, PartAt(n, cap, d, a, b, 0));
    lemma Members_Bucket{L}: \forall integer m; 0 <= m ==> \forall zp_config *c, integer e, x, k, t,
      z, n, cap, d, a, b; 1 <= b ==>
      MembersSquares(c, e, x, k, t, z, n, cap, d, a, b, m) ==
        MembersSquares(c, e, x, k, t, z, n, cap, d, a, b - 1, m) +
        BucketSquares(c, e, x, k, t, z, n, cap, d, a, b - 1, m);
    lemma Members_None{L}: \forall integer m; 0 <= m ==>
      \forall zp_config *c, integer e, x, k, t, z, n, cap, d, a, b;
      b <= 0 ==> MembersSquares(c, e, x, k, t, z, n, cap, d, a, b, m) == 0;
    lemma Bucket_Whole{L}: \forall zp_config *c, integer e, x, k, t, z, n, cap, d, a, b;
      FlatShape(n, cap, d, a) && 0 <= b && (b + 1) * cap <= n ==>
      BucketSquares(c, e, x, k, t, z, n, cap, d, a, b, d) ==
        SquaresBelow(c, e, x, k, t, z, (b + 1) * cap) - SquaresBelow(c, e, x, k, t, z, b * cap);
    lemma Members_Below{L}: \forall integer b; 0 <= b ==>
      \forall zp_config *c, integer e, x, k, t, z, n, cap, d, a;
      FlatShape(n, cap, d, a) && b * cap <= n ==>
      MembersSquares(c, e, x, k, t, z, n, cap, d, a, b, d) ==
        SquaresBelow(c, e, x, k, t, z, b * cap) - SquaresBelow(c, e, x, k, t, z, 0);
    lemma Bucket_Last{L}: \forall zp_config *c, integer e, x, k, t, z, n, cap, d, a, b; 0 <= x &&
      FlatShape(n, cap, d, a) && FlatHolds(c, e, x, k, n) && 0 <= b && b * cap < n &&
      n <= (b + 1) * cap ==> BucketSquares(c, e, x, k, t, z, n, cap, d, a, b, d) ==
        FlatSquares(c, e, x, k, t, z) - SquaresBelow(c, e, x, k, t, z, b * cap);
    // the parts of all members and buckets together are the flat group
    lemma Members_Flat{L}: \forall zp_config *c, integer e, x, k, t, z, n, cap, d, a; 0 <= x &&
      FlatShape(n, cap, d, a) && FlatHolds(c, e, x, k, n) ==>
      MembersSquares(c, e, x, k, t, z, n, cap, d, a, Buckets(n, cap), d) ==
        FlatSquares(c, e, x, k, t, z);
*/

#include "quotient.h"

/* All members of a flat group's reduction groups, rank by rank: rank d of the dp ranks is member d
 * / q of copy d % q, where q is ep for experts and 1 for others. */
/*@ logic integer CopiesOf{L}(zp_config *c, integer j) = c->params[j].expert != 0 ? c->ep : 1;
    // one member of the first z copies; all ranks below m; the first z copies whole
    logic integer MemberCopies{L}(zp_config *c, integer e, integer x, integer k, integer t,
        integer n, integer cap, integer d, integer a, integer b, integer r, integer z) =
      z <= 0 ? 0 : MemberCopies(c, e, x, k, t, n, cap, d, a, b, r, z - 1) +
        MemberSquares(c, e, x, k, t, z - 1, n, cap, d, a, b, r);
    logic integer RankFlat{L}(zp_config *c, integer e, integer x, integer k, integer t,
        integer n, integer cap, integer d, integer a, integer b, integer q, integer m) =
      MemberSquares(c, e, x, k, t, m % q, n, cap, d, a, b, m / q);
    logic integer RanksFlat{L}(zp_config *c, integer e, integer x, integer k, integer t,
        integer n, integer cap, integer d, integer a, integer b, integer q, integer m) =
      m <= 0 ? 0 : RanksFlat(c, e, x, k, t, n, cap, d, a, b, q, m - 1) +
        RankFlat(c, e, x, k, t, n, cap, d, a, b, q, m - 1);
    logic integer MembersCopies{L}(zp_config *c, integer e, integer x, integer k, integer t,
        integer n, integer cap, integer d, integer a, integer b, integer m, integer z) =
      z <= 0 ? 0 : MembersCopies(c, e, x, k, t, n, cap, d, a, b, m, z - 1) +
        MembersSquares(c, e, x, k, t, z - 1, n, cap, d, a, b, m);
    logic integer FlatCopies{L}(zp_config *c, integer e, integer x, integer k, integer t,
        integer z) =
      z <= 0 ? 0 : FlatCopies(c, e, x, k, t, z - 1) + FlatSquares(c, e, x, k, t, z - 1);

    lemma CopyMix_Quotient: \forall integer q, r, i; 1 <= q && 0 <= r && 0 <= i < q ==>
      Mix(r, q, i) / q == r && Mix(r, q, i) % q == i;
    lemma Mix_Next: \forall integer q, r, i; 1 <= q ==> Mix(r, q, i) + 1 == Mix(r, q, i + 1);
    lemma Mix_Full: \forall integer q, r; 1 <= q ==> Mix(r, q, q) == Mix(r + 1, q, 0);
    lemma Mix_Low: \forall integer q, r, i; 1 <= q && 0 <= r && 0 <= i ==> 0 <= Mix(r, q, i);
    lemma CopyMix_Zero: \forall integer q; 1 <= q ==> Mix(0, q, 0) == 0;
    lemma Ranks_Next{L}: \forall zp_config *c, integer e, x, k, t, n, cap, d, a, b, q, r, i;
      1 <= q && 0 <= r && 0 <= i < q ==>
      RanksFlat(c, e, x, k, t, n, cap, d, a, b, q, Mix(r, q, i + 1)) ==
        RanksFlat(c, e, x, k, t, n, cap, d, a, b, q, Mix(r, q, i)) +
        MemberSquares(c, e, x, k, t, i, n, cap, d, a, b, r);
    lemma Ranks_Row{L}: \forall integer i; 0 <= i ==> \forall zp_config *c, integer e, x, k, t, n,
      cap, d, a, b, q, r; i <= q && 1 <= q && 0 <= r ==>
      RanksFlat(c, e, x, k, t, n, cap, d, a, b, q, Mix(r, q, i)) ==
        RanksFlat(c, e, x, k, t, n, cap, d, a, b, q, Mix(r, q, 0)) +
        MemberCopies(c, e, x, k, t, n, cap, d, a, b, r, i);
    lemma Members_Row{L}: \forall integer z; 0 <= z ==> \forall zp_config *c, integer e, x, k, t, n,
      cap, d, a, b, m; 1 <= m ==> MembersCopies(c, e, x, k, t, n, cap, d, a, b, m, z) ==
        MembersCopies(c, e, x, k, t, n, cap, d, a, b, m - 1, z) +
        MemberCopies(c, e, x, k, t, n, cap, d, a, b, m - 1, z);
    lemma Members_Zero{L}: \forall integer z; 0 <= z ==>
      \forall zp_config *c, integer e, x, k, t, n, cap, d, a, b;
      MembersCopies(c, e, x, k, t, n, cap, d, a, b, 0, z) == 0;
    lemma Ranks_Members{L}: \forall integer r; 0 <= r ==>
      \forall zp_config *c, integer e, x, k, t, n, cap, d, a, b, q;
      1 <= q ==> RanksFlat(c, e, x, k, t, n, cap, d, a, b, q, Mix(r, q, 0)) ==
        MembersCopies(c, e, x, k, t, n, cap, d, a, b, r, q);
    lemma Copies_Flat{L}: \forall integer z; 0 <= z ==> \forall zp_config *c, integer e, x, k, t, n,
      cap, d, a; 0 <= x && FlatShape(n, cap, d, a) && FlatHolds(c, e, x, k, n) ==>
      MembersCopies(c, e, x, k, t, n, cap, d, a, Buckets(n, cap), d, z) ==
        FlatCopies(c, e, x, k, t, z);
    // the counts of the d·q ranks for flat group k sum to the flat group, in its q copies
    lemma Ranks_Flat{L}: \forall zp_config *c, integer e, x, k, t, n, cap, d, a, q; 0 <= x &&
      1 <= q && FlatShape(n, cap, d, a) && FlatHolds(c, e, x, k, n) ==>
      RanksFlat(c, e, x, k, t, n, cap, d, a, Buckets(n, cap), q, Mix(d, q, 0)) ==
        FlatCopies(c, e, x, k, t, q);
*/

/* A stage: its flat groups 0 … g-1, and their entries. */
/*@ // the copies of entry j; those of flat group k among the first x entries
    logic integer EntryCopies{L}(zp_config *c, integer e, integer j, integer t, integer z) =
      z <= 0 ? 0 : EntryCopies(c, e, j, t, z - 1) +
        (CountedOn(c, e, j, t) == 1 ? EntrySum(j, t, z - 1, c->params[j].numel) : 0);
    logic integer KEntry{L}(zp_config *c, integer e, integer j, integer k, integer t, integer z) =
      FlatOf(c, e, j) == k ? EntryCopies(c, e, j, t, z) : 0;
    logic integer KEntries{L}(zp_config *c, integer e, integer x, integer k, integer t, integer z) =
      x <= 0 ? 0 : KEntries(c, e, x - 1, k, t, z) + KEntry(c, e, e - x, k, t, z);
    // q(k): copies of flat group k, those of its opener
    logic integer CopiesAt{L}(zp_config *c, integer e, integer x, integer k) =
      CopiesOf(c, Opener(c, e, x, k));
    logic integer GroupsSquares{L}(zp_config *c, integer e, integer x, integer t, integer g) =
      g <= 0 ? 0 : GroupsSquares(c, e, x, t, g - 1) +
        FlatCopies(c, e, x, g - 1, t, CopiesAt(c, e, x, g - 1));
    // the logical elements of a stage: every copy of every trained entry that is counted
    logic integer StageEntry{L}(zp_config *c, integer e, integer j, integer t) =
      c->params[j].frozen != 0 ? 0 : EntryCopies(c, e, j, t, CopiesOf(c, j));
    logic integer StageSquares{L}(zp_config *c, integer e, integer x, integer t) =
      x <= 0 ? 0 : StageSquares(c, e, x - 1, t) + StageEntry(c, e, e - x, t);
    // of entries in groups below g
    logic integer LowEntry{L}(zp_config *c, integer e, integer j, integer t, integer g) =
      0 <= FlatOf(c, e, j) && FlatOf(c, e, j) < g ? EntryCopies(c, e, j, t, CopiesOf(c, j)) : 0;
    logic integer LowSquares{L}(zp_config *c, integer e, integer x, integer t, integer g) =
      x <= 0 ? 0 : LowSquares(c, e, x - 1, t, g) + LowEntry(c, e, e - x, t, g);
    predicate CopiesLike{L}(zp_config *c, integer e, integer j, integer k, integer q) =
      FlatOf(c, e, j) == k ==> CopiesOf(c, j) == q;
    predicate GroupLike{L}(zp_config *c, integer e, integer x, integer k, integer q) =
      \forall integer j; e - x <= j < e ==> CopiesLike(c, e, j, k, q);
    predicate GroupsLike{L}(zp_config *c, integer e, integer x, integer y, integer g) =
      \forall integer k; 0 <= k < g ==> GroupLike(c, e, x, k, CopiesAt(c, e, y, k));
    predicate InGroups{L}(zp_config *c, integer e, integer j, integer g) =
      (c->params[j].frozen != 0 ==> FlatOf(c, e, j) < 0) &&
      (c->params[j].frozen == 0 ==> 0 <= FlatOf(c, e, j) < g);
    predicate AllInGroups{L}(zp_config *c, integer e, integer x, integer g) =
      \forall integer j; e - x <= j < e ==> InGroups(c, e, j, g);

    lemma Entry_Copies{L}: \forall zp_config *c, integer e, j, k, t, z; 1 <= z ==>
      KEntry(c, e, j, k, t, z) == KEntry(c, e, j, k, t, z - 1) + FlatEntry(c, e, j, k, t, z - 1);
    lemma Entries_Copies{L}: \forall integer x; 0 <= x ==> \forall zp_config *c, integer e, k, t, z;
      1 <= z ==> KEntries(c, e, x, k, t, z) ==
        KEntries(c, e, x, k, t, z - 1) + FlatSquares(c, e, x, k, t, z - 1);
    lemma Entries_None{L}: \forall integer x; 0 <= x ==> \forall zp_config *c, integer e, k, t;
      KEntries(c, e, x, k, t, 0) == 0;
    lemma Flat_Entries{L}: \forall integer z; 0 <= z ==> \forall zp_config *c, integer e, x, k, t;
      0 <= x ==> FlatCopies(c, e, x, k, t, z) == KEntries(c, e, x, k, t, z);
    lemma Low_Entry{L}: \forall zp_config *c, integer e, j, t, g, q; 0 <= g &&
      CopiesLike(c, e, j, g, q) ==>
      LowEntry(c, e, j, t, g + 1) == LowEntry(c, e, j, t, g) + KEntry(c, e, j, g, t, q);
    lemma Group_One{L}: \forall zp_config *c, integer e, x, k, q;
      1 <= x && GroupLike(c, e, x, k, q) ==>
      GroupLike(c, e, x - 1, k, q) && CopiesLike(c, e, e - x, k, q);
    lemma Low_Entries{L}: \forall integer x; 0 <= x ==> \forall zp_config *c, integer e, t, g, q;
      0 <= g && GroupLike(c, e, x, g, q) ==> LowSquares(c, e, x, t, g + 1) ==
        LowSquares(c, e, x, t, g) + KEntries(c, e, x, g, t, q);
    lemma Low_None{L}: \forall integer x; 0 <= x ==> \forall zp_config *c, integer e, t;
      LowSquares(c, e, x, t, 0) == 0;
    lemma Groups_One{L}: \forall zp_config *c, integer e, x, y, g; 1 <= g &&
      GroupsLike(c, e, x, y, g) ==> GroupsLike(c, e, x, y, g - 1) &&
      GroupLike(c, e, x, g - 1, CopiesAt(c, e, y, g - 1));
    lemma Copies_Low{L}: \forall zp_config *c, integer j; 1 <= c->ep ==> 1 <= CopiesOf(c, j);
    lemma Groups_Step{L}: \forall zp_config *c, integer e, x, t, g;
      0 <= x && 1 <= g && 1 <= c->ep && GroupsLike(c, e, x, x, g) ==>
      LowSquares(c, e, x, t, g) == LowSquares(c, e, x, t, g - 1) +
        FlatCopies(c, e, x, g - 1, t, CopiesAt(c, e, x, g - 1));
    lemma Groups_Low{L}: \forall integer g; 0 <= g ==> \forall zp_config *c, integer e, x, t;
      0 <= x && 1 <= c->ep && GroupsLike(c, e, x, x, g) ==>
      GroupsSquares(c, e, x, t, g) == LowSquares(c, e, x, t, g);
    lemma All_One{L}: \forall zp_config *c, integer e, x, g; 1 <= x && AllInGroups(c, e, x, g) ==>
      AllInGroups(c, e, x - 1, g) && InGroups(c, e, e - x, g);
    lemma Low_Stage{L}: \forall integer x; 0 <= x ==> \forall zp_config *c, integer e, t, g;
      AllInGroups(c, e, x, g) ==> LowSquares(c, e, x, t, g) == StageSquares(c, e, x, t);
    // all flat groups of a stage contain its trained entries, each once
    lemma Groups_Stage{L}: \forall zp_config *c, integer e, x, t, g; 0 <= x && 0 <= g &&
      1 <= c->ep && GroupsLike(c, e, x, x, g) && AllInGroups(c, e, x, g) ==>
      GroupsSquares(c, e, x, t, g) == StageSquares(c, e, x, t);
*/

#endif
