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

    // named products; the cases are redundant and keep provers from expanding the products
    logic integer UnitOf(integer d, integer a) = d <= 0 ? 0 : d * a;
    logic integer ProductOf(integer x, integer y) = x <= 0 ? 0 : x * y;
    logic integer CeilOf(integer x, integer m) = (x + m - 1) / m;
    lemma Product_Zero: \forall integer y; ProductOf(0, y) == 0;
    lemma Product_Is: \forall integer x, y; 0 <= x ==> ProductOf(x, y) == x * y;
    lemma Unit_Is: \forall integer d, a; 0 < d ==> UnitOf(d, a) == d * a;
    lemma Factor_Swap: \forall integer k, d, a; k * (d * a) == d * (k * a);
    lemma Unit_Product: \forall integer k, d, a; 0 <= k && 0 < d ==>
      ProductOf(k, UnitOf(d, a)) == d * ProductOf(k, a);
    lemma Quotient_Is: \forall integer y, q, d; 0 <= q && 0 < d && y == d * q ==> y / d == q;
    lemma Product_Low: \forall integer k, a; 0 <= k && 0 < a ==> 0 <= ProductOf(k, a);
    lemma Unit_Quotient: \forall integer k, d, a; 0 <= k && 0 < d && 0 < a ==>
      ProductOf(k, UnitOf(d, a)) / d == ProductOf(k, a);
    lemma Multiple_Product: \forall integer k, d; 0 <= k && 0 < d ==> (k * d) / d == k;
    lemma Unit_Whole: \forall integer k, d, a; 0 <= k && 0 < d && 0 < a ==>
      ProductOf(k, UnitOf(d, a)) == ProductOf(k, UnitOf(d, a)) / d * d;
    lemma Ceil_Low: \forall integer x, m; 0 <= x && 0 < m ==> 0 <= CeilOf(x, m);
    lemma RoundUp_Product: \forall integer x, m; 0 <= x && 0 < m ==>
      RoundUp(x, m) == ProductOf(CeilOf(x, m), m);
    lemma Unit_Low: \forall integer d, a; 0 < d && 0 < a ==> 0 < UnitOf(d, a);
    lemma RoundUp_Units: \forall integer x, d, a; 0 <= x && 0 < d && 0 < a ==>
      RoundUp(x, UnitOf(d, a)) == RoundUp(x, UnitOf(d, a)) / d * d;
    lemma Padded_Unit: \forall integer n, cap, d, a, b, x; 0 < d && x == BucketNumel(n, cap, b) ==>
      BucketPadded(n, cap, d, a, b) == RoundUp(x, UnitOf(d, a));
    lemma Padded_Range: \forall integer n, cap, b; 1 <= cap && b * cap < n ==>
      0 <= BucketNumel(n, cap, b);
    lemma Units_Multiple: \forall integer y, x, d, a; 0 <= x && 0 < d && 0 < a &&
      y == RoundUp(x, UnitOf(d, a)) ==> Multiple(y, d);
    lemma Whole_Named: \forall integer y, x, n, cap, d, a, b; 0 < d && 0 < a && 0 <= x &&
      x == BucketNumel(n, cap, b) && y == BucketPadded(n, cap, d, a, b) ==> Multiple(y, d);
    lemma Whole_Padded: \forall integer n, cap, d, a, b; 0 < d && 0 < a &&
      0 <= BucketNumel(n, cap, b) ==> Multiple(BucketPadded(n, cap, d, a, b), d);
    lemma RoundUp_Named: \forall integer x, m, d, a;
      0 <= x && 0 < d && 0 < a && m == UnitOf(d, a) ==> RoundUp(x, m) == RoundUp(x, m) / d * d;
    lemma RoundUp_Same: \forall integer x, m, u, d, a;
      0 <= x && 0 < d && 0 < a && u == UnitOf(d, a) &&
      m == d * a ==> m == u && RoundUp(x, m) == RoundUp(x, m) / d * d;
    lemma RoundUp_Whole: \forall integer x, m, d, a; 0 <= x && 0 < d && 0 < a && m == d * a ==>
      UnitOf(d, a) == m && RoundUp(x, m) == RoundUp(x, m) / d * d;
    lemma RoundUp_Multiple: \forall integer x, d, a; 0 <= x && 0 < d && 0 < a ==>
      UnitOf(d, a) == d * a && RoundUp(x, d * a) == (RoundUp(x, d * a) / d) * d;
    lemma RoundUp_Bounds: \forall integer x, m; 0 <= x && 0 < m ==> x <= RoundUp(x, m) < x + m;
    lemma Multiple_Factor: \forall integer k, d, a; 0 <= k && 0 < d && 0 < a ==>
      k * (d * a) == k * a * d;
    lemma Quotient_Below: \forall integer x, q, d; 0 <= x && 0 < q && 0 < d && x < q * d ==>
      0 <= x / q < d;
    lemma Product_Above: \forall integer k, m; 1 <= k && 0 <= m ==> m <= k * m;
*/

#endif
