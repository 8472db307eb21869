/* Facts about quotients and remainders that some provers do not find. ACSL only. */
#ifndef ZP_SPEC_ACSL_QUOTIENT_H
#define ZP_SPEC_ACSL_QUOTIENT_H

/*@ lemma Product_Step: \forall integer p, r, q; r < p && 0 <= q ==> r * q + q <= p * q;
    lemma Quotient_Most: \forall integer p, r, q, y;
      1 <= q && p * q <= y && y < r * q + q ==> p <= r;
    lemma Quotient_Only: \forall integer p, r, q, y; 1 <= q && p * q <= y && y < p * q + q &&
      r * q <= y && y < r * q + q ==> p == r;
    lemma Quotient_Between: \forall integer y, q; 0 <= y && 1 <= q ==>
      0 <= y / q && y / q * q <= y && y < y / q * q + q && y % q == y - y / q * q;
    lemma Quotient_Named: \forall integer y, q, r, i; 1 <= q && 0 <= r && 0 <= i < q &&
      y == r * q + i ==> y / q == r && y % q == i;
*/

#endif
