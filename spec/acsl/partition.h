/* The logic of PART-3 … PART-6. Quantities as in spec/partition.md: N elements, capacity C, D
 * members, alignment A, bucket b. */
#ifndef ZP_SPEC_ACSL_PARTITION_H
#define ZP_SPEC_ACSL_PARTITION_H

/*@ logic integer RoundUp(integer x, integer m) = (x + m - 1) / m * m;
    logic integer Buckets(integer n, integer c) = (n + c - 1) / c;
    logic integer BucketNumel(integer n, integer c, integer b) = n - b * c < c ? n - b * c : c;
    logic integer BucketPadded(integer n, integer c, integer d, integer a, integer b) =
      RoundUp(BucketNumel(n, c, b), d * a);
    logic integer Part(integer n, integer c, integer d, integer a, integer b) =
      BucketPadded(n, c, d, a, b) / d;
    logic integer Capacity(integer bucket, integer d, integer a) = RoundUp(bucket, d * a);
    predicate Multiple(integer x, integer m) = x == x / m * m;
    predicate WholeUnits(integer c, integer d, integer a) = Multiple(c, d * a);

    lemma RoundUp_Bounds: \forall integer x, m; 0 <= x && 0 < m ==> x <= RoundUp(x, m) < x + m;
    lemma Multiple_Product: \forall integer k, d; 0 <= k && 0 < d ==> (k * d) / d == k;
    lemma Multiple_Factor: \forall integer k, d, a; 0 <= k && 0 < d && 0 < a ==>
      k * (d * a) == k * a * d;
    lemma RoundUp_Multiple: \forall integer x, d, a; 0 <= x && 0 < d && 0 < a ==>
      RoundUp(x, d * a) == (RoundUp(x, d * a) / d) * d;
    lemma Quotient_Below: \forall integer x, q, d; 0 <= x && 0 < q && 0 < d && x < q * d ==>
      0 <= x / q < d;
    lemma Product_Above: \forall integer k, m; 1 <= k && 0 <= m ==> m <= k * m;
*/

#endif
