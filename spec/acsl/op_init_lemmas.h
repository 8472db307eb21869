/* Lemmas about op_init.h: an op keeps its place while later ones are written. */
#ifndef ZP_SPEC_ACSL_OP_INIT_LEMMAS_H
#define ZP_SPEC_ACSL_OP_INIT_LEMMAS_H

/*@ lemma CreationOps_One{L}: \forall zp_op *ops, integer n; CreationOps(ops, n) &&
      IsCreation(ops + n, n + 1) ==> CreationOps(ops, n + 1);
    lemma CreationOps_Frame{A,B}: \forall zp_op *ops, integer n; SameOps{A,B}(ops, n) &&
      CreationOps{A}(ops, n) ==> CreationOps{B}(ops, n);
    lemma First_Op{F,A,B}: \forall zp_op *o, integer g, key, zp_config *c, integer j, t, i;
      SameOp{A,B}(o) && IsFirst{F,A}(o, g, key, c, j, t, i) ==> IsFirst{F,B}(o, g, key, c, j, t, i);
    lemma First_Same{F,G,O}: \forall zp_op *o, integer g, key, zp_config *c, integer j, t, i;
      Kept{F,G}(c) && 0 <= j < \at(c->n_params, F) && IsFirst{G,O}(o, g, key, c, j, t, i) ==>
      IsFirst{F,O}(o, g, key, c, j, t, i);
    lemma TpFirst_Op{F,A,B}: \forall zp_op *o, zp_config *c, integer j, y; SameOp{A,B}(o) &&
      IsTpFirst{F,A}(o, c, j, y) ==> IsTpFirst{F,B}(o, c, j, y);
    lemma DpFirst_Op{F,A,B}: \forall zp_op *o, zp_config *c, integer j, y; SameOp{A,B}(o) &&
      IsDpFirst{F,A}(o, c, j, y) ==> IsDpFirst{F,B}(o, c, j, y);
    lemma TpFirst_Same{F,G,O}: \forall zp_op *o, zp_config *c, integer j, y; Kept{F,G}(c) &&
      0 <= j < \at(c->n_params, F) && IsTpFirst{G,O}(o, c, j, y) ==> IsTpFirst{F,O}(o, c, j, y);
    lemma DpFirst_Same{F,G,O}: \forall zp_op *o, zp_config *c, integer j, y; Kept{F,G}(c) &&
      0 <= j < \at(c->n_params, F) && IsDpFirst{G,O}(o, c, j, y) ==> IsDpFirst{F,O}(o, c, j, y);
    lemma TiedFirst_Op{F,A,B}: \forall zp_op *o, zp_config *c, integer f, m, x; SameOp{A,B}(o) &&
      IsTiedFirst{F,A}(o, c, f, m, x) ==> IsTiedFirst{F,B}(o, c, f, m, x);
    lemma LastWithKey_Same{F,G}: \forall zp_config *c, integer f, m, x, j; Kept{F,G}(c) &&
      0 <= f && f + m <= \at(c->n_params, F) && LastWithKey{G}(c, f, m, x, j) ==>
      LastWithKey{F}(c, f, m, x, j);
    lemma TiedFirst_Same{F,G,O}: \forall zp_op *o, zp_config *c, integer f, m, x; Kept{F,G}(c) &&
      0 <= f && f + m <= \at(c->n_params, F) && IsTiedFirst{G,O}(o, c, f, m, x) ==>
      IsTiedFirst{F,O}(o, c, f, m, x);
    lemma TiedFirsts_Frame{F,A,B}: \forall zp_op *ops, integer n, hi, zp_config *c, integer s, f, m,
      x; 0 <= n && SameOps{A,B}(ops, hi) && TiedFirsts{F,A}(ops, n, hi, c, s, f, m, x) ==>
      TiedFirsts{F,B}(ops, n, hi, c, s, f, m, x);
    lemma TpFirsts_Frame{F,A,B}: \forall zp_op *ops, integer n, hi, zp_config *c, integer f, x;
      0 <= n && SameOps{A,B}(ops, hi) && TpFirsts{F,A}(ops, n, hi, c, f, x) ==>
      TpFirsts{F,B}(ops, n, hi, c, f, x);
    lemma DpFirsts_Frame{F,A,B}: \forall zp_op *ops, integer n, hi, zp_config *c, integer f, x;
      0 <= n && SameOps{A,B}(ops, hi) && DpFirsts{F,A}(ops, n, hi, c, f, x) ==>
      DpFirsts{F,B}(ops, n, hi, c, f, x);
    lemma TiedFirsts_Next{F,O}: \forall zp_op *ops, integer n, hi, next, zp_config *c, integer s, f,
      m, x, y; n <= hi <= next && hi == n + TiedValues{F}(c, s, x) && y == x + 1 &&
      TiedFirsts{F,O}(ops, n, hi, c, s, f, m, x) &&
      (On{F}(c, x, s) == 1 ==> hi < next && IsTiedFirst{F,O}(ops + hi, c, f, m, x)) ==>
      TiedFirsts{F,O}(ops, n, next, c, s, f, m, y);
    predicate TpNext{F,O}(zp_op *ops, integer n, integer hi, integer next, zp_config *c, integer f,
        integer x, integer y) =
      n <= hi <= next && hi == n + TpValues{F}(c, f, x) && y == x + 1 &&
      TpFirsts{F,O}(ops, n, hi, c, f, x) &&
      (Replica{F}(c, f + x) == 1 ==> hi < next && IsTpFirst{F,O}(ops + hi, c, f + x, x));
    lemma TpFirsts_Next{F,O}: \forall zp_op *ops, integer n, hi, next, zp_config *c, integer f, x,
      y; TpNext{F,O}(ops, n, hi, next, c, f, x, y) ==> TpFirsts{F,O}(ops, n, next, c, f, y);
    predicate DpNext{F,O}(zp_op *ops, integer n, integer hi, integer next, zp_config *c, integer f,
        integer x, integer y) =
      n <= hi <= next && hi == n + DpValues{F}(c, f, x) && y == x + 1 &&
      DpFirsts{F,O}(ops, n, hi, c, f, x) &&
      (Holds{F}(c, f + x) == 1 ==> hi < next && IsDpFirst{F,O}(ops + hi, c, f + x, x));
    lemma DpFirsts_Next{F,O}: \forall zp_op *ops, integer n, hi, next, zp_config *c, integer f, x,
      y; DpNext{F,O}(ops, n, hi, next, c, f, x, y) ==> DpFirsts{F,O}(ops, n, next, c, f, y);
    lemma TpFirsts_Same{F,G,O}: \forall zp_op *ops, integer n, hi, zp_config *c, integer f, m;
      Kept{F,G}(c) && 0 <= f && 0 <= m && f + m <= \at(c->n_params, F) &&
      TpFirsts{G,O}(ops, n, hi, c, f, m) ==> TpFirsts{F,O}(ops, n, hi, c, f, m);
    lemma DpFirsts_Same{F,G,O}: \forall zp_op *ops, integer n, hi, zp_config *c, integer f, m;
      Kept{F,G}(c) && 0 <= f && 0 <= m && f + m <= \at(c->n_params, F) &&
      DpFirsts{G,O}(ops, n, hi, c, f, m) ==> DpFirsts{F,O}(ops, n, hi, c, f, m);
    lemma TiedFirsts_Same{F,G,O}: \forall zp_op *ops, integer n, hi, zp_config *c, integer s, f, m,
      x; Kept{F,G}(c) && 0 <= f && 0 <= m && f + m <= \at(c->n_params, F) &&
      TiedFirsts{G,O}(ops, n, hi, c, s, f, m, x) ==> TiedFirsts{F,O}(ops, n, hi, c, s, f, m, x);
    lemma FirstOps_Same{F,G,O}: \forall zp_op *ops, integer n, zp_config *c, integer s, f, m;
      Kept{F,G}(c) && 0 <= f && 0 <= m && f + m <= \at(c->n_params, F) &&
      FirstOps{G,O}(ops, n, c, s, f, m) ==> FirstOps{F,O}(ops, n, c, s, f, m);
*/

#endif
