/* STAT-1: all ranks' vectors of statistics, added up. ACSL only. Include after ref/num/exact.h and
 * value.h. */
#ifndef ZP_SPEC_ACSL_NORM_VECTORS_H
#define ZP_SPEC_ACSL_NORM_VECTORS_H

/* What the vector of a rank says: vector number w is that of one rank. It is uninterpreted, so the
 * theorem holds for all values. */
/*@ axiomatic RankValue {
      logic integer ValueOf(integer w);
    } */

/*@ // the value of the first n vectors
    logic integer ValuesOf(integer n) = n <= 0 ? 0 : ValuesOf(n - 1) + ValueOf(n - 1);
    // v is a vector whose squares have the value x: what zp_statistics_vector writes
    predicate Vector{L}(int64_t *v, integer x) =
      Canonical(v, 20) && LimbSum(v, 20) == x && 0 <= x <= Shift32(19, 32) &&
      LimbsSmall(v + 20, 0, 9, 4398046511104) && 0 <= v[29] <= 1 && 0 <= v[30] <= 1048576;
    // total is the sum of n of them
    predicate Total{L}(int64_t *total, integer n) =
      (\forall integer i; 0 <= i < 20 ==> 0 <= total[i] <= 4294967296 * n) &&
      LimbsSmall(total + 20, 0, 9, 4398046511104 * n) &&
      LimbSum(total, 20) == ValuesOf(n) && 0 <= ValuesOf(n) <= Shift32(19, 32 * n) &&
      0 <= total[29] <= n && 0 <= total[30] <= 1048576 * n;
    // a rank of the first n found a value or loss that was infinite or NaN
    predicate Bad{L}(int64_t *vectors, integer n) =
      \exists integer w; 0 <= w < n && (vectors[47 * w + 29] != 0 || vectors[47 * w + 30] != 0);

    lemma Values_Next: \forall integer n; 0 <= n ==> ValuesOf(n + 1) == ValuesOf(n) + ValueOf(n);
*/

#endif
