/* Partition of numbers (family 1): parts tile buckets, buckets tile the flat group, each element
 * has one home, the maps are inverse, and the rest is padding. Include after home.h and
 * topology_lemmas.h. */
#ifndef ZP_SPEC_ACSL_HOME_LEMMAS_H
#define ZP_SPEC_ACSL_HOME_LEMMAS_H

#include "bounds.h"

/* Division. */
/*@ lemma Cut_Next: \forall integer x, m; 0 <= x && 0 < m ==>
      Mix(x / m + 1, m, x % m) == x + m && (x + m) / m == x / m + 1;
    lemma Cut_Grows: \forall integer x, y, m; 0 <= x <= y && 0 < m ==> x / m <= y / m;
    lemma Cut_Low: \forall integer x, k, m; 0 <= x && 0 <= k && 0 < m ==>
      (Mix(k, m, 0) <= x <==> k <= x / m);
    lemma Cut_Mix: \forall integer x, q, d, p; 0 < q && 0 < d ==>
      Mix(Mix(x, q, p), d, 0) == Mix(x, q * d, p * d);
    lemma Cut_Below: \forall integer x, y, m; 0 <= x <= y && 0 < m && Multiple(y, m) ==>
      RoundUp(x, m) <= y;
    lemma Cut_Round: \forall integer y, m; 0 <= y && 0 < m && Multiple(y, m) ==>
      RoundUp(y, m) == y; */

/* Buckets: of a flat group cut into buckets of c. */
/*@ lemma CutBucket_Last: \forall integer n, c; 1 <= n && 1 <= c ==>
      Buckets(n, c) == (n - 1) / c + 1;
    lemma CutBucket_Exists: \forall integer n, c, b; 0 <= n && 1 <= c && 0 <= b ==>
      (b < Buckets(n, c) <==> Mix(b, c, 0) < n);
    lemma CutBucket_Numel: \forall integer n, c, b; 1 <= c && 0 <= b < Buckets(n, c) && 0 <= n ==>
      1 <= BucketNumel(n, c, b) <= c && Mix(b, c, 0) + BucketNumel(n, c, b) <= n;
    lemma CutBucket_Full: \forall integer n, c, b;
      1 <= c && 0 <= b < Buckets(n, c) - 1 && 0 <= n ==> BucketNumel(n, c, b) == c;
    lemma CutBucket_End: \forall integer n, c; 1 <= n && 1 <= c ==>
      Mix(Buckets(n, c) - 1, c, BucketNumel(n, c, Buckets(n, c) - 1)) == n;
    // Buckets tile the flat group.
    lemma CutBucket_Of: \forall integer n, c, e; 0 <= e < n && 1 <= c ==>
      0 <= e / c < Buckets(n, c) && 0 <= e % c < BucketNumel(n, c, e / c) &&
      Mix(e / c, c, e % c) == e;
    lemma CutBucket_Only: \forall integer n, c, b, i; 0 <= n && 1 <= c && 0 <= b < Buckets(n, c) &&
      0 <= i < BucketNumel(n, c, b) ==> 0 <= Mix(b, c, i) < n && Mix(b, c, i) / c == b; */

/* Parts: of one padded bucket. */
/*@ lemma Cut_Unit: \forall integer d, a; 1 <= d && 1 <= a ==> 1 <= d * a;
    lemma Cut_Multiple: \forall integer c, m; 0 <= c && 0 < m && Multiple(c, m) ==>
      0 <= c / m && Mix(c / m, m, 0) == c;
    lemma Cut_Divides: \forall integer k, d, a; 0 <= k && 0 < d && 0 < a ==>
      Mix(k, d * a, 0) == Mix(Mix(k, a, 0), d, 0) && 0 <= Mix(k, a, 0);
    lemma Cut_Whole: \forall integer n, c, d, a; Cut(n, c, d, a) ==>
      Mix(Mix(c / (d * a), a, 0), d, 0) == c && 0 <= Mix(c / (d * a), a, 0);
    lemma Cut_Quotient: \forall integer n, c, d, a; Cut(n, c, d, a) ==>
      1 <= c / d && Mix(c / d, d, 0) == c;
    lemma CutPadded_Range: \forall integer n, c, d, a, b;
      Cut(n, c, d, a) && 0 <= b < Buckets(n, c) ==>
      BucketNumel(n, c, b) <= BucketPadded(n, c, d, a, b) <= c;
    lemma CutPadded_Full: \forall integer n, c, d, a, b;
      Cut(n, c, d, a) && 0 <= b < Buckets(n, c) - 1 ==> BucketPadded(n, c, d, a, b) == c;
    // The D parts tile the padded bucket.
    lemma CutPart_Tile: \forall integer n, c, d, a, b; Cut(n, c, d, a) && 0 <= b < Buckets(n, c) ==>
      Mix(Part(n, c, d, a, b), d, 0) == BucketPadded(n, c, d, a, b) &&
      Mix(d, Part(n, c, d, a, b), 0) == BucketPadded(n, c, d, a, b);
    lemma CutPart_Range: \forall integer n, c, d, a, b;
      Cut(n, c, d, a) && 0 <= b < Buckets(n, c) ==> 1 <= Part(n, c, d, a, b) <= c / d;
    lemma CutPart_Full: \forall integer n, c, d, a, b;
      Cut(n, c, d, a) && 0 <= b < Buckets(n, c) - 1 ==> Part(n, c, d, a, b) == c / d;
    lemma CutPart_Inside: \forall integer n, c, d, a, b, r, s;
      Cut(n, c, d, a) && 0 <= b < Buckets(n, c) && 0 <= r < d && 0 <= s < Part(n, c, d, a, b) ==>
      0 <= Mix(r, Part(n, c, d, a, b), s) < BucketPadded(n, c, d, a, b) &&
      Mix(r, Part(n, c, d, a, b), s) / Part(n, c, d, a, b) == r &&
      Mix(r, Part(n, c, d, a, b), s) % Part(n, c, d, a, b) == s;
    lemma CutPart_Of: \forall integer n, c, d, a, b, i;
      Cut(n, c, d, a) && 0 <= b < Buckets(n, c) && 0 <= i < BucketPadded(n, c, d, a, b) ==>
      0 <= i / Part(n, c, d, a, b) < d && 0 <= i % Part(n, c, d, a, b) < Part(n, c, d, a, b) &&
      Mix(i / Part(n, c, d, a, b), Part(n, c, d, a, b), i % Part(n, c, d, a, b)) == i; */

/* Shards: of the whole padded flat group. */
/*@ lemma CutShard_Tile: \forall integer n, c, d, a; Cut(n, c, d, a) ==>
      Mix(ShardNumel(n, c, d, a), d, 0) == PaddedNumel(n, c, d, a);
    lemma CutPadded_Of: \forall integer n, c, d, a, e;
      Cut(n, c, d, a) && 0 <= e < PaddedNumel(n, c, d, a) ==>
      0 <= e / c < Buckets(n, c) && 0 <= e % c < BucketPadded(n, c, d, a, e / c) &&
      Mix(e / c, c, e % c) == e;
    lemma CutPadded_Only: \forall integer n, c, d, a, b, i;
      Cut(n, c, d, a) && 0 <= b < Buckets(n, c) && 0 <= i < BucketPadded(n, c, d, a, b) ==>
      0 <= Mix(b, c, i) < PaddedNumel(n, c, d, a) &&
      Mix(b, c, i) / c == b && Mix(b, c, i) % c == i;
    lemma CutPadded_Real: \forall integer n, c, d, a, b, i;
      Cut(n, c, d, a) && 0 <= b < Buckets(n, c) && 0 <= i < BucketPadded(n, c, d, a, b) ==>
      (Mix(b, c, i) < n <==> i < BucketNumel(n, c, b));
    lemma CutShard_Of: \forall integer n, c, d, a, o;
      Cut(n, c, d, a) && 0 <= o < ShardNumel(n, c, d, a) ==>
      0 <= o / (c / d) < Buckets(n, c) &&
      0 <= o % (c / d) < Part(n, c, d, a, o / (c / d)) && Mix(o / (c / d), c / d, o % (c / d)) == o;
    lemma CutShard_Only: \forall integer n, c, d, a, b, s;
      Cut(n, c, d, a) && 0 <= b < Buckets(n, c) && 0 <= s < Part(n, c, d, a, b) ==>
      0 <= Mix(b, c / d, s) < ShardNumel(n, c, d, a) &&
      Mix(b, c / d, s) / (c / d) == b && Mix(b, c / d, s) % (c / d) == s; */

/* The two maps, padding included. */
/*@ lemma Home_Range: \forall integer n, c, d, a, e;
      Cut(n, c, d, a) && 0 <= e < PaddedNumel(n, c, d, a) ==>
      0 <= Owner(n, c, d, a, e) < d && 0 <= ShardOffset(n, c, d, a, e) < ShardNumel(n, c, d, a) &&
      ShardBucket(c, d, ShardOffset(n, c, d, a, e)) == e / c;
    lemma Element_Of_Home: \forall integer n, c, d, a, e;
      Cut(n, c, d, a) && 0 <= e < PaddedNumel(n, c, d, a) ==>
      ElementAt(n, c, d, a, Owner(n, c, d, a, e), ShardOffset(n, c, d, a, e)) == e;
    lemma Element_Range: \forall integer n, c, d, a, r, o;
      Cut(n, c, d, a) && 0 <= r < d && 0 <= o < ShardNumel(n, c, d, a) ==>
      0 <= InBucket(n, c, d, a, r, o) < BucketPadded(n, c, d, a, ShardBucket(c, d, o)) &&
      0 <= ElementAt(n, c, d, a, r, o) < PaddedNumel(n, c, d, a);
    lemma Home_Of_Element: \forall integer n, c, d, a, r, o;
      Cut(n, c, d, a) && 0 <= r < d && 0 <= o < ShardNumel(n, c, d, a) ==>
      Owner(n, c, d, a, ElementAt(n, c, d, a, r, o)) == r &&
      ShardOffset(n, c, d, a, ElementAt(n, c, d, a, r, o)) == o;
    // Elements are real iff they lie in the bucket without padding; the rest of a shard is padding.
    lemma Element_Real: \forall integer n, c, d, a, r, o;
      Cut(n, c, d, a) && 0 <= r < d && 0 <= o < ShardNumel(n, c, d, a) ==>
      (ElementAt(n, c, d, a, r, o) < n <==>
        InBucket(n, c, d, a, r, o) < BucketNumel(n, c, ShardBucket(c, d, o)));
    lemma CutPadded_Numel: \forall integer n, c, d, a; Cut(n, c, d, a) ==>
      n <= PaddedNumel(n, c, d, a) < n + d * a; */

/* The same in the terms of the code. */
/*@ lemma Cut_Times: \forall integer x, m; 0 <= x && 0 < m ==> 0 <= x / m * m <= x;
    lemma Cut_UnitRange: \forall integer d, a; 1 <= d <= ZP_LIMIT_RANKS &&
        1 <= a <= ZP_LIMIT_ALIGN ==>
      1 <= d * a <= 4294967296;
    lemma CutBucket_Few: \forall integer n, c; 0 <= n && 1 <= c ==> 0 <= Buckets(n, c) <= n;
    lemma CutBucket_From: \forall integer n, c, b; 0 <= n && 1 <= c && 0 <= b && b * c < n ==>
      Mix(b, c, 0) < n && b < Buckets(n, c);
    lemma CutBucket_Start: \forall integer n, c, b; 0 <= n && 1 <= c && 0 <= b < Buckets(n, c) ==>
      Mix(b, c, 0) == b * c && 0 <= b * c < n;
    lemma Cut_Wider: \forall integer b; 0 <= b ==> \forall integer x, y;
      0 < x <= y ==> Mix(b, x, 0) <= Mix(b, y, 0);
    lemma CutPart_Low: \forall integer n, c, d, a, b; Cut(n, c, d, a) && 0 <= b < Buckets(n, c) ==>
      c / d <= c && 0 <= Mix(b, c / d, 0) <= Mix(b, c, 0);
    lemma CutPart_Start: \forall integer n, c, d, a, b;
      Cut(n, c, d, a) && 0 <= b < Buckets(n, c) ==>
      Mix(b, c / d, 0) == b * (c / d) && 0 <= b * (c / d) <= b * c;
    lemma CutPart_Times: \forall integer n, c, d, a, b;
      Cut(n, c, d, a) && 0 <= b < Buckets(n, c) ==>
      BucketPadded(n, c, d, a, b) == BucketPadded(n, c, d, a, b) / d * d;
    lemma CutPart_Before: \forall integer n, c, d, a, b, r;
      Cut(n, c, d, a) && 0 <= b < Buckets(n, c) && 0 <= r < d ==>
      Mix(r, Part(n, c, d, a, b), 0) == r * Part(n, c, d, a, b) &&
      0 <= r * Part(n, c, d, a, b) <= c;
    lemma CutShard_Range: \forall integer n, c, d, a; Cut(n, c, d, a) ==>
      0 <= ShardNumel(n, c, d, a) <= PaddedNumel(n, c, d, a);
    lemma CutShard_Rest: \forall integer n, c, d, a, o; Cut(n, c, d, a) && 0 <= o ==>
      o - o / (c / d) * (c / d) == o % (c / d);
    lemma Element_Sum: \forall integer n, c, d, a, r, o;
      Cut(n, c, d, a) && 0 <= r < d && 0 <= o < ShardNumel(n, c, d, a) ==>
      ElementAt(n, c, d, a, r, o) == ShardBucket(c, d, o) * c +
        r * Part(n, c, d, a, ShardBucket(c, d, o)) + o % (c / d);
    lemma Element_Bucket: \forall integer n, c, d, a, o;
      Cut(n, c, d, a) && 0 <= o < ShardNumel(n, c, d, a) ==>
      0 <= ShardBucket(c, d, o) < Buckets(n, c);
    lemma Element_Rest: \forall integer n, c, d, a, o; Cut(n, c, d, a) && 0 <= o ==>
      o - ShardBucket(c, d, o) * (c / d) == o % (c / d);
    lemma Element_Terms: \forall integer n, c, d, a, r, o;
      Cut(n, c, d, a) && 0 <= r < d && 0 <= o < ShardNumel(n, c, d, a) ==>
      ElementAt(n, c, d, a, r, o) == ShardBucket(c, d, o) * c +
        r * Part(n, c, d, a, ShardBucket(c, d, o)) + (o - ShardBucket(c, d, o) * (c / d));
    lemma Element_Before: \forall integer n, c, d, a, r, o;
      Cut(n, c, d, a) && 0 <= r < d && 0 <= o < ShardNumel(n, c, d, a) ==>
      0 <= Mix(r, Part(n, c, d, a, ShardBucket(c, d, o)), 0) <= c &&
      0 <= r * Part(n, c, d, a, ShardBucket(c, d, o)) <= c;
    lemma Home_Outer: \forall integer n, c, e; 1 <= c && 0 <= e < n ==>
      0 <= e / c < Buckets(n, c) && 0 <= e % c && e == e / c * c + e % c && e / c * c < n;
    lemma Home_Low: \forall integer n, c, d, a, e; Cut(n, c, d, a) && 0 <= e < n ==>
      0 <= e % c < BucketPadded(n, c, d, a, e / c) &&
      0 <= e % c % Part(n, c, d, a, e / c) < Part(n, c, d, a, e / c);
    lemma Home_Inner: \forall integer n, c, d, a, e; Cut(n, c, d, a) && 0 <= e < n ==>
      0 <= Owner(n, c, d, a, e) < d &&
      e % c == Mix(Owner(n, c, d, a, e), Part(n, c, d, a, e / c), e % c % Part(n, c, d, a, e / c));
    lemma Home_Terms: \forall integer n, c, d, a, e; Cut(n, c, d, a) && 0 <= e < n ==>
      e % c == Owner(n, c, d, a, e) * Part(n, c, d, a, e / c) + e % c % Part(n, c, d, a, e / c);
    lemma Home_Offset: \forall integer n, c, d, a, e; Cut(n, c, d, a) && 0 <= e < n ==>
      ShardOffset(n, c, d, a, e) == e / c * (c / d) + e % c % Part(n, c, d, a, e / c); */

#endif
