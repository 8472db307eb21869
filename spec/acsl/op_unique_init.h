/* The predicates of op_init.h determine the ops of INIT. Include after op_unique.h and
 * kept_lemmas.h. LEDG-1, LEDG-4, LEDG-5 */
#ifndef ZP_SPEC_ACSL_OP_UNIQUE_INIT_H
#define ZP_SPEC_ACSL_OP_UNIQUE_INIT_H

/* ---- Single ops ---- */
/*@ lemma Creation_Unique{A,B}: \forall zp_op *o, zp_op *x, integer i;
      IsCreation{A}(o, i) && IsCreation{B}(x, i) ==> EqualOps{A,B}(o, x);
    lemma Creations_Unique{A,B}: \forall zp_op *v, zp_op *w, integer n;
      CreationOps{A}(v, n) && CreationOps{B}(w, n) ==> EqualRange{A,B}(v, w, 0, n);
    lemma First_Unique{F,A,B}: \forall zp_op *o, zp_op *x, integer g, key, zp_config *c, integer j,
      t, i; IsFirst{F,A}(o, g, key, c, j, t, i) && IsFirst{F,B}(x, g, key, c, j, t, i) ==>
      EqualOps{A,B}(o, x);
    lemma LastWithKey_Unique{F}: \forall zp_config *c, integer f, m, x, i, j;
      LastWithKey(c, f, m, x, i) && LastWithKey(c, f, m, x, j) ==> i == j;
    lemma TiedFirst_Unique{F,A,B}: \forall zp_op *o, zp_op *x, zp_config *c, integer f, m, key;
      IsTiedFirst{F,A}(o, c, f, m, key) && IsTiedFirst{F,B}(x, c, f, m, key) ==>
      EqualOps{A,B}(o, x);
    lemma TpFirst_Unique{F,A,B}: \forall zp_op *o, zp_op *x, zp_config *c, integer j, y;
      IsTpFirst{F,A}(o, c, j, y) && IsTpFirst{F,B}(x, c, j, y) ==> EqualOps{A,B}(o, x);
    lemma DpFirst_Unique{F,A,B}: \forall zp_op *o, zp_op *x, zp_config *c, integer j, y;
      IsDpFirst{F,A}(o, c, j, y) && IsDpFirst{F,B}(x, c, j, y) ==> EqualOps{A,B}(o, x);
    lemma Install_Unique{A,B}: \forall zp_op *o, zp_op *x; IsInstall{A}(o) && IsInstall{B}(x) ==>
      EqualOps{A,B}(o, x);
    lemma Replica_Bit{L}: \forall zp_config *c, integer j; 0 <= Replica(c, j) <= 1;
*/

/* ---- First values of tied keys ---- */
/*@ predicate TwoTied{F,A,B}(zp_op *v, zp_op *w, integer n, integer hi, zp_config *c, integer s,
        integer f, integer m, integer x) =
      TiedFirsts{F,A}(v, n, hi, c, s, f, m, x) && TiedFirsts{F,B}(w, n, hi, c, s, f, m, x);
    lemma TwoTied_One{F,A,B}: \forall zp_op *v, zp_op *w, integer n, hi, zp_config *c, integer s, f,
      m, x, y; TwoTied{F,A,B}(v, w, n, hi, c, s, f, m, x) && 0 <= y < x && On{F}(c, y, s) == 1 ==>
      EqualOps{A,B}(v + (n + TiedValues{F}(c, s, y)), w + (n + TiedValues{F}(c, s, y)));
    predicate EqualTied{F,A,B}(zp_op *v, zp_op *w, integer n, zp_config *c, integer s, integer x) =
      EqualRange{A,B}(v, w, n, n + TiedValues{F}(c, s, x));
    lemma On_Either{L}: \forall zp_config *c, integer key, s; On(c, key, s) == 0 ||
      On(c, key, s) == 1;
    lemma EqualTied_Kept{F,A,B}: \forall zp_op *v, zp_op *w, integer n, zp_config *c, integer s, y,
      next; 0 <= y && next == y + 1 && On{F}(c, y, s) == 0 &&
      EqualTied{F,A,B}(v, w, n, c, s, y) ==> EqualTied{F,A,B}(v, w, n, c, s, next);
    lemma EqualTied_More{F,A,B}: \forall zp_op *v, zp_op *w, integer n, zp_config *c, integer s, y,
      next; 0 <= y && next == y + 1 && On{F}(c, y, s) == 1 &&
      EqualOps{A,B}(v + (n + TiedValues{F}(c, s, y)), w + (n + TiedValues{F}(c, s, y))) &&
      EqualTied{F,A,B}(v, w, n, c, s, y) ==> EqualTied{F,A,B}(v, w, n, c, s, next);
    lemma EqualTied_Next{F,A,B}: \forall zp_op *v, zp_op *w, integer n, hi, zp_config *c, integer s,
      f, m, x, y, next; TwoTied{F,A,B}(v, w, n, hi, c, s, f, m, x) && 0 <= y < x &&
      next == y + 1 && EqualTied{F,A,B}(v, w, n, c, s, y) ==>
      EqualTied{F,A,B}(v, w, n, c, s, next);
    lemma Tied_FirstsUnique{F,A,B}: \forall integer y; 0 <= y ==> \forall zp_op *v, zp_op *w,
      integer n, hi, zp_config *c, integer s, f, m, x;
      TwoTied{F,A,B}(v, w, n, hi, c, s, f, m, x) && y <= x ==>
      EqualTied{F,A,B}(v, w, n, c, s, y);
*/

/* ---- First values over tp ---- */
/*@ predicate TwoTp{F,A,B}(zp_op *v, zp_op *w, integer n, integer hi, zp_config *c, integer f,
        integer x) =
      TpFirsts{F,A}(v, n, hi, c, f, x) && TpFirsts{F,B}(w, n, hi, c, f, x);
    lemma TwoTp_One{F,A,B}: \forall zp_op *v, zp_op *w, integer n, hi, zp_config *c, integer f, x,
      y; TwoTp{F,A,B}(v, w, n, hi, c, f, x) && 0 <= y < x && Replica{F}(c, f + y) == 1 ==>
      EqualOps{A,B}(v + (n + TpValues{F}(c, f, y)), w + (n + TpValues{F}(c, f, y)));
    predicate EqualTp{F,A,B}(zp_op *v, zp_op *w, integer n, zp_config *c, integer f, integer x) =
      EqualRange{A,B}(v, w, n, n + TpValues{F}(c, f, x));
    lemma EqualTp_Next{F,A,B}: \forall zp_op *v, zp_op *w, integer n, hi, zp_config *c, integer f,
      x, y, next; TwoTp{F,A,B}(v, w, n, hi, c, f, x) && 0 <= y < x && next == y + 1 &&
      EqualTp{F,A,B}(v, w, n, c, f, y) ==> EqualTp{F,A,B}(v, w, n, c, f, next);
    lemma Tp_FirstsUnique{F,A,B}: \forall integer y; 0 <= y ==> \forall zp_op *v, zp_op *w,
      integer n, hi, zp_config *c, integer f, x; TwoTp{F,A,B}(v, w, n, hi, c, f, x) && y <= x ==>
      EqualTp{F,A,B}(v, w, n, c, f, y);
*/

/* ---- First values over the reduction groups ---- */
/*@ predicate TwoDp{F,A,B}(zp_op *v, zp_op *w, integer n, integer hi, zp_config *c, integer f,
        integer x) =
      DpFirsts{F,A}(v, n, hi, c, f, x) && DpFirsts{F,B}(w, n, hi, c, f, x);
    lemma TwoDp_One{F,A,B}: \forall zp_op *v, zp_op *w, integer n, hi, zp_config *c, integer f, x,
      y; TwoDp{F,A,B}(v, w, n, hi, c, f, x) && 0 <= y < x && Holds{F}(c, f + y) == 1 ==>
      EqualOps{A,B}(v + (n + DpValues{F}(c, f, y)), w + (n + DpValues{F}(c, f, y)));
    predicate EqualDp{F,A,B}(zp_op *v, zp_op *w, integer n, zp_config *c, integer f, integer x) =
      EqualRange{A,B}(v, w, n, n + DpValues{F}(c, f, x));
    lemma EqualDp_Next{F,A,B}: \forall zp_op *v, zp_op *w, integer n, hi, zp_config *c, integer f,
      x, y, next; TwoDp{F,A,B}(v, w, n, hi, c, f, x) && 0 <= y < x && next == y + 1 &&
      EqualDp{F,A,B}(v, w, n, c, f, y) ==> EqualDp{F,A,B}(v, w, n, c, f, next);
    lemma Dp_FirstsUnique{F,A,B}: \forall integer y; 0 <= y ==> \forall zp_op *v, zp_op *w,
      integer n, hi, zp_config *c, integer f, x; TwoDp{F,A,B}(v, w, n, hi, c, f, x) && y <= x ==>
      EqualDp{F,A,B}(v, w, n, c, f, y);
*/

/* ---- All of it ---- */
/*@ // The ends of the first values of tied keys, over tp, and over the reduction groups.
    logic integer TiedEnd{F}(zp_config *c, integer n, integer s) =
      n + TiedValues(c, s, c->tied_keys);
    logic integer TpEnd{F}(zp_config *c, integer n, integer s, integer f, integer m) =
      TiedEnd(c, n, s) + TpValues(c, f, m);
    logic integer DpEnd{F}(zp_config *c, integer n, integer s, integer f, integer m) =
      TpEnd(c, n, s, f, m) + DpValues(c, f, m);
    lemma FirstOps_TwoTied{F,A,B}: \forall zp_op *v, zp_op *w, integer n, zp_config *c, integer s,
      f, m; FirstOps{F,A}(v, n, c, s, f, m) && FirstOps{F,B}(w, n, c, s, f, m) ==>
      TwoTied{F,A,B}(v, w, n, TiedEnd{F}(c, n, s), c, s, f, m, \at(c->tied_keys, F));
    lemma FirstOps_TwoTp{F,A,B}: \forall zp_op *v, zp_op *w, integer n, zp_config *c, integer s,
      f, m; FirstOps{F,A}(v, n, c, s, f, m) && FirstOps{F,B}(w, n, c, s, f, m) ==>
      TwoTp{F,A,B}(v, w, TiedEnd{F}(c, n, s), TpEnd{F}(c, n, s, f, m), c, f, m);
    lemma FirstOps_TwoDp{F,A,B}: \forall zp_op *v, zp_op *w, integer n, zp_config *c, integer s,
      f, m; FirstOps{F,A}(v, n, c, s, f, m) && FirstOps{F,B}(w, n, c, s, f, m) ==>
      TwoDp{F,A,B}(v, w, TpEnd{F}(c, n, s, f, m), DpEnd{F}(c, n, s, f, m), c, f, m);
    lemma FirstOps_EqualTied{F,A,B}: \forall zp_op *v, zp_op *w, integer n, zp_config *c,
      integer s, f, m; 0 <= \at(c->tied_keys, F) &&
      TwoTied{F,A,B}(v, w, n, TiedEnd{F}(c, n, s), c, s, f, m, \at(c->tied_keys, F)) ==>
      EqualTied{F,A,B}(v, w, n, c, s, \at(c->tied_keys, F));
    lemma FirstOps_EqualTp{F,A,B}: \forall zp_op *v, zp_op *w, integer n, zp_config *c, integer s,
      f, m; 0 <= m &&
      TwoTp{F,A,B}(v, w, TiedEnd{F}(c, n, s), TpEnd{F}(c, n, s, f, m), c, f, m) ==>
      EqualTp{F,A,B}(v, w, TiedEnd{F}(c, n, s), c, f, m);
    lemma FirstOps_EqualDp{F,A,B}: \forall zp_op *v, zp_op *w, integer n, zp_config *c, integer s,
      f, m; 0 <= m &&
      TwoDp{F,A,B}(v, w, TpEnd{F}(c, n, s, f, m), DpEnd{F}(c, n, s, f, m), c, f, m) ==>
      EqualDp{F,A,B}(v, w, TpEnd{F}(c, n, s, f, m), c, f, m);
    lemma FirstOps_Tied{F,A,B}: \forall zp_op *v, zp_op *w, integer n, zp_config *c, integer s;
      EqualTied{F,A,B}(v, w, n, c, s, \at(c->tied_keys, F)) ==>
      EqualRange{A,B}(v, w, n, TiedEnd{F}(c, n, s));
    lemma FirstOps_Tp{F,A,B}: \forall zp_op *v, zp_op *w, integer n, zp_config *c, integer s, f, m;
      EqualTp{F,A,B}(v, w, TiedEnd{F}(c, n, s), c, f, m) ==>
      EqualRange{A,B}(v, w, TiedEnd{F}(c, n, s), TpEnd{F}(c, n, s, f, m));
    lemma FirstOps_Dp{F,A,B}: \forall zp_op *v, zp_op *w, integer n, zp_config *c, integer s, f, m;
      EqualDp{F,A,B}(v, w, TpEnd{F}(c, n, s, f, m), c, f, m) ==>
      EqualRange{A,B}(v, w, TpEnd{F}(c, n, s, f, m), DpEnd{F}(c, n, s, f, m));
    lemma FirstOps_RangeTied{F,A,B}: \forall zp_op *v, zp_op *w, integer n, zp_config *c,
      integer s, f, m; 0 <= \at(c->tied_keys, F) && FirstOps{F,A}(v, n, c, s, f, m) &&
      FirstOps{F,B}(w, n, c, s, f, m) ==> EqualRange{A,B}(v, w, n, TiedEnd{F}(c, n, s));
    lemma FirstOps_RangeTp{F,A,B}: \forall zp_op *v, zp_op *w, integer n, zp_config *c, integer s,
      f, m; 0 <= m && FirstOps{F,A}(v, n, c, s, f, m) && FirstOps{F,B}(w, n, c, s, f, m) ==>
      EqualRange{A,B}(v, w, TiedEnd{F}(c, n, s), TpEnd{F}(c, n, s, f, m));
    lemma FirstOps_RangeDp{F,A,B}: \forall zp_op *v, zp_op *w, integer n, zp_config *c, integer s,
      f, m; 0 <= m && FirstOps{F,A}(v, n, c, s, f, m) && FirstOps{F,B}(w, n, c, s, f, m) ==>
      EqualRange{A,B}(v, w, TpEnd{F}(c, n, s, f, m), DpEnd{F}(c, n, s, f, m));
    lemma FirstOps_Install{F,A,B}: \forall zp_op *v, zp_op *w, integer n, zp_config *c, integer s,
      f, m; FirstOps{F,A}(v, n, c, s, f, m) && FirstOps{F,B}(w, n, c, s, f, m) ==>
      EqualOps{A,B}(v + DpEnd{F}(c, n, s, f, m), w + DpEnd{F}(c, n, s, f, m));
    lemma FirstOps_Values{F,A,B}: \forall zp_op *v, zp_op *w, integer n, zp_config *c, integer s,
      f, m; 0 <= \at(c->tied_keys, F) && 0 <= m && FirstOps{F,A}(v, n, c, s, f, m) &&
      FirstOps{F,B}(w, n, c, s, f, m) ==> EqualRange{A,B}(v, w, n, TpEnd{F}(c, n, s, f, m));
    lemma FirstOps_Most{F,A,B}: \forall zp_op *v, zp_op *w, integer n, zp_config *c, integer s,
      f, m; 0 <= \at(c->tied_keys, F) && 0 <= m && FirstOps{F,A}(v, n, c, s, f, m) &&
      FirstOps{F,B}(w, n, c, s, f, m) ==> EqualRange{A,B}(v, w, n, DpEnd{F}(c, n, s, f, m));
    lemma FirstOps_Unique{F,A,B}: \forall zp_op *v, zp_op *w, integer n, hi, zp_config *c,
      integer s, f, m; 0 <= \at(c->tied_keys, F) && 0 <= m &&
      hi == DpEnd{F}(c, n, s, f, m) + 1 && FirstOps{F,A}(v, n, c, s, f, m) &&
      FirstOps{F,B}(w, n, c, s, f, m) ==> EqualRange{A,B}(v, w, n, hi);
*/

#endif
