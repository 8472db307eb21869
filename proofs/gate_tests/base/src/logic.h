/* A small project with the structure of the real one. tests/proofs/test_gate.py breaks it. */
#ifndef LOGIC_H
#define LOGIC_H

/*@ logic integer Sum{L}(int *a, integer n) = n <= 0 ? 0 : Sum(a, n - 1) + a[n - 1];

    lemma Sum_Frame{L1,L2}: \forall integer n; 0 <= n ==> \forall int *a;
      (\forall integer i; 0 <= i < n ==> \at(a[i], L1) == \at(a[i], L2)) ==>
        Sum{L1}(a, n) == Sum{L2}(a, n);

    lemma Sum_Zero{L}: \forall integer n; 0 <= n ==> \forall int *a;
      (\forall integer i; 0 <= i < n ==> a[i] == 0) ==> Sum(a, n) == 0;

    axiomatic Leaf { logic integer LeafOf(integer x); }
*/

#endif
