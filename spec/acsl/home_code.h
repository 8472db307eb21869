/* The results of ref/plan/layout.c for one bucket, element or offset, in the terms of that code.
 * Each follows from home_lemmas.h. To use one, assert it. Include after home.h. */
#ifndef ZP_SPEC_ACSL_HOME_CODE_H
#define ZP_SPEC_ACSL_HOME_CODE_H

#include "bounds.h"

/*@ predicate UnitFacts(integer d, integer a) = 1 <= d * a <= 4294967296;
    lemma Unit_Facts: \forall integer d, a; 1 <= d <= ZP_LIMIT_RANKS && 1 <= a <= ZP_LIMIT_ALIGN ==>
      UnitFacts(d, a);

    predicate RoundFacts(integer x, integer m) = x <= (x + m - 1) / m * m <= x + m - 1;
    lemma Round_Facts: \forall integer x, m; 0 <= x && 0 < m ==> RoundFacts(x, m);

    // For a flat group.
    predicate BucketsFacts(integer n, integer c) =
      0 <= Buckets(n, c) <= n && (0 < n ==> 1 <= Buckets(n, c)) &&
      (0 < Buckets(n, c) ==> 0 <= (Buckets(n, c) - 1) * c < n);
    lemma Buckets_Facts: \forall integer n, c; 0 <= n && 1 <= c ==> BucketsFacts(n, c);
    predicate PaddedFacts(integer n, integer c, integer d, integer a) =
      n <= PaddedNumel(n, c, d, a) < n + d * a &&
      PaddedNumel(n, c, d, a) ==
        (Buckets(n, c) == 0 ? 0 :
         (Buckets(n, c) - 1) * c + BucketPadded(n, c, d, a, Buckets(n, c) - 1));
    lemma Padded_Facts: \forall integer n, c, d, a; Cut(n, c, d, a) ==> PaddedFacts(n, c, d, a);
    predicate ShardFacts(integer n, integer c, integer d, integer a) =
      PaddedNumel(n, c, d, a) / d == ShardNumel(n, c, d, a) &&
      ShardNumel(n, c, d, a) * d == PaddedNumel(n, c, d, a) &&
      0 <= ShardNumel(n, c, d, a) <= PaddedNumel(n, c, d, a);
    lemma Shard_Facts: \forall integer n, c, d, a; Cut(n, c, d, a) ==> ShardFacts(n, c, d, a);

    predicate WholeFacts(integer n, integer c, integer d, integer a) = 1 <= c / d;
    lemma Whole_Facts: \forall integer n, c, d, a; Cut(n, c, d, a) ==> WholeFacts(n, c, d, a);

    // For its bucket b.
    predicate PartFacts(integer n, integer c, integer d, integer a, integer b) =
      1 <= c / d && 0 <= b < Buckets(n, c) && 0 <= b * c < n && 0 <= b * (c / d) <= b * c &&
      BucketNumel(n, c, b) <= BucketPadded(n, c, d, a, b) <= c &&
      BucketPadded(n, c, d, a, b) == BucketPadded(n, c, d, a, b) / d * d &&
      1 <= Part(n, c, d, a, b) <= c && Part(n, c, d, a, b) * d == BucketPadded(n, c, d, a, b);
    lemma Part_Facts: \forall integer n, c, d, a, b; Cut(n, c, d, a) && 0 <= b && b * c < n ==>
      PartFacts(n, c, d, a, b);

    // For its element e, e < n.
    predicate HomeFacts(integer n, integer c, integer d, integer a, integer e) =
      PartFacts(n, c, d, a, e / c) && 0 <= e / c && 0 <= e % c && e == e / c * c + e % c &&
      0 <= Owner(n, c, d, a, e) < d &&
      0 <= e % c % Part(n, c, d, a, e / c) < Part(n, c, d, a, e / c) &&
      e % c == Owner(n, c, d, a, e) * Part(n, c, d, a, e / c) +
        e % c % Part(n, c, d, a, e / c) &&
      ShardOffset(n, c, d, a, e) == e / c * (c / d) + e % c % Part(n, c, d, a, e / c) &&
      e == e / c * c + Owner(n, c, d, a, e) * Part(n, c, d, a, e / c) +
        (ShardOffset(n, c, d, a, e) - e / c * (c / d));
    lemma Home_Facts: \forall integer n, c, d, a, e; Cut(n, c, d, a) && 0 <= e < n ==>
      HomeFacts(n, c, d, a, e);

    // For offset o of a shard, and for the element of r's shard there.
    predicate OffsetFacts(integer n, integer c, integer d, integer a, integer o) =
      0 <= ShardBucket(c, d, o) && ShardBucket(c, d, o) * c < n &&
      PartFacts(n, c, d, a, ShardBucket(c, d, o)) &&
      0 <= o - ShardBucket(c, d, o) * (c / d) < Part(n, c, d, a, ShardBucket(c, d, o));
    lemma Offset_Facts: \forall integer n, c, d, a, o;
      Cut(n, c, d, a) && 0 <= o < ShardNumel(n, c, d, a) ==> OffsetFacts(n, c, d, a, o);
    predicate ElementFacts(integer n, integer c, integer d, integer a, integer r, integer o) =
      0 <= r * Part(n, c, d, a, ShardBucket(c, d, o)) <= c &&
      0 <= ElementAt(n, c, d, a, r, o) < PaddedNumel(n, c, d, a) &&
      ElementAt(n, c, d, a, r, o) == ShardBucket(c, d, o) * c +
        r * Part(n, c, d, a, ShardBucket(c, d, o)) + (o - ShardBucket(c, d, o) * (c / d)) &&
      (n <= ElementAt(n, c, d, a, r, o) <==>
        BucketNumel(n, c, ShardBucket(c, d, o)) <= InBucket(n, c, d, a, r, o));
    lemma Element_Facts: \forall integer n, c, d, a, r, o;
      Cut(n, c, d, a) && 0 <= r < d && 0 <= o < ShardNumel(n, c, d, a) ==>
      ElementFacts(n, c, d, a, r, o); */

#endif
