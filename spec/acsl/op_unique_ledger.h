/* Programs that are equal op by op have equal ledgers and links, and add and reduce the same.
 * Include after op_unique.h. LEDG-1, RED-3 */
#ifndef ZP_SPEC_ACSL_OP_UNIQUE_LEDGER_H
#define ZP_SPEC_ACSL_OP_UNIQUE_LEDGER_H

/*@ lemma Equal_Less{A,B}: \forall zp_op *v, zp_op *w, integer n, next; 0 <= n && next == n + 1 &&
      EqualRange{A,B}(v, w, 0, next) ==>
      EqualRange{A,B}(v, w, 0, n) && EqualOps{A,B}(v + n, w + n);
    lemma Equal_Put{A,B}: \forall zp_op *o, zp_op *x, trace tr, integer g, key, stepped;
      EqualOps{A,B}(o, x) ==> PutAt{A}(tr, o, g, key, stepped) == PutAt{B}(tr, x, g, key, stepped);
    lemma Equal_LinkAt{A,B}: \forall zp_op *o, zp_op *x, trace tr, integer peer;
      EqualOps{A,B}(o, x) ==> LinkAt{A}(tr, o, peer) == LinkAt{B}(tr, x, peer);
    lemma Equal_Ledgers{A,B}: \forall integer n; 0 <= n ==> \forall zp_op *v, zp_op *w, integer g,
      key, stepped; EqualRange{A,B}(v, w, 0, n) ==>
      LedgerOf{A}(v, n, g, key, stepped) == LedgerOf{B}(w, n, g, key, stepped);
    lemma Equal_Links{A,B}: \forall integer n; 0 <= n ==> \forall zp_op *v, zp_op *w, integer peer;
      EqualRange{A,B}(v, w, 0, n) ==> LinkOf{A}(v, n, peer) == LinkOf{B}(w, n, peer);
    lemma Equal_Added{A,B}: \forall integer n; 0 <= n ==> \forall zp_op *v, zp_op *w, integer param,
      mb, e, k, b; EqualRange{A,B}(v, w, 0, n) ==>
      Added{A}(v, n, param, mb, e, k, b) == Added{B}(w, n, param, mb, e, k, b);
    lemma Equal_Reduced{A,B}: \forall integer n; 0 <= n ==> \forall zp_op *v, zp_op *w, integer k,
      b, mb; EqualRange{A,B}(v, w, 0, n) ==>
      Reduced{A}(v, n, k, b, mb) == Reduced{B}(w, n, k, b, mb);
    lemma Equal_Clocks{A,B}: \forall zp_op *v, zp_op *w, integer n; EqualRange{A,B}(v, w, 0, n) &&
      Increasing{B}(w, n) ==> Increasing{A}(v, n);
*/

#endif
