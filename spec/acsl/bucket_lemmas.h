/* The number of buckets, and the elements of a bucket. Include after partition.h. */
#ifndef ZP_SPEC_ACSL_BUCKET_LEMMAS_H
#define ZP_SPEC_ACSL_BUCKET_LEMMAS_H

#include "bounds.h"

/*@ // Bucket b of n elements, with capacity c, has an element.
    predicate BucketOf(integer n, integer c, integer b) = 0 <= b && b * c < n;

    lemma Quotient_Times: \forall integer x, c; 0 <= x && 1 <= c ==> x / c * c <= x;
    lemma Quotient_NotNegative: \forall integer x, c; 0 <= x && 1 <= c ==> 0 <= x / c;
    lemma Times_Below: \forall integer a, b, c; a < b && 0 <= c ==> a * c + c <= b * c;
    lemma Quotient_AtMost: \forall integer x, c, m; 0 <= x && 1 <= c && x < m * c + c ==>
      x / c <= m;
    lemma Times_More: \forall integer n, c; 0 <= n && 1 <= c ==> n <= n * c;
    lemma Buckets_Few: \forall integer n, c; 0 <= n && 1 <= c ==>
      0 <= Buckets(n, c) && Buckets(n, c) <= n;
    lemma Buckets_Range: \forall integer n, c; 0 <= n <= ZP_LIMIT_ELEMENTS && 1 <= c ==>
      0 <= Buckets(n, c) <= ZP_LIMIT_ELEMENTS;
    lemma Buckets_Times: \forall integer n, c; 0 <= n && 1 <= c ==> Buckets(n, c) * c <= n + c - 1;
    lemma Bucket_Inside: \forall integer n, c, b;
      0 <= n && 1 <= c && 0 <= b < Buckets(n, c) ==> BucketOf(n, c, b); */

#endif
