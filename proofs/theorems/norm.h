/* Lemmas for norm.c about vectors of statistics. ACSL only. STAT-1 */
#ifndef ZP_PROOFS_THEOREMS_NORM_H
#define ZP_PROOFS_THEOREMS_NORM_H

/*@ predicate SameVector{A,B}(int64_t *v) =
      \forall integer i; 0 <= i < 47 ==> \at(v[i], A) == \at(v[i], B);
    lemma Vector_Frame{A,B}: \forall int64_t *v, integer x; SameVector{A,B}(v) &&
      Vector{A}(v, x) ==> Vector{B}(v, x);
    lemma Words_Limbs{A,B}: \forall int64_t *v;
      (\forall integer i; 0 <= i < 20 ==> \at(v[i], A) == \at(v[i], B)) ==>
      LimbSum{A}(v, 20) == LimbSum{B}(v, 20);
    lemma Bad_Next{L}: \forall int64_t *vectors, integer w; 0 <= w ==>
      (Bad(vectors, w + 1) <==>
       (Bad(vectors, w) || vectors[47 * w + 29] != 0 || vectors[47 * w + 30] != 0));
    lemma Total_Low: \forall integer n; 0 <= n <= 1048576 ==>
      Shift32(19, 32 * n) < Shift32(19, 4294967296);
*/

#endif
