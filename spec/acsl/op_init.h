/* The ops of INIT, one by one, in all fields: LEDG-4, LEDG-5. F is where the configuration is read,
 * O the ops. On, Replica and the numbers of values are in init_save.h. */
#ifndef ZP_SPEC_ACSL_OP_INIT_H
#define ZP_SPEC_ACSL_OP_INIT_H

#include "op_is.h"

/* ---- Communicators: groups 1 … 5, then one for each tied key ---- */
/*@ predicate IsCreation{L}(zp_op *o, integer x) =
      IsOp(o, ZP_OP_CREATE, ZP_WHAT_COMMUNICATOR, ZP_GROUP_WORLD, x < 6 ? -1 : x - 6, -1,
        ZP_RED_NONE, x < 6 ? x : 6, -1, -1, -1, 0, -1, -1, -1, 0, 0, 0, x);
    predicate CreationOps{L}(zp_op *ops, integer n) =
      \forall integer p; 0 <= p < n ==> IsCreation(ops + p, p + 1);
*/

/* ---- First values ---- */
/*@ // Those of entry j, from member 0 of group g, of key `key` if it is tied.
    predicate IsFirst{F,O}(zp_op *o, integer g, integer key, zp_config *c, integer j, integer t,
        integer i) =
      IsOp{O}(o, ZP_OP_BROADCAST, ZP_WHAT_PARAMETER, g, key,
        DtypeOf(Fp32At{F}(c, j), \at(c->precision, F)), ZP_RED_NONE, 0, -1, j, -1, 0, -1, -1, -1, 0,
        NumelAt{F}(c, j), t, i);
    // j is the last of the entries f … f+m-1 that has key x.
    predicate LastWithKey{F}(zp_config *c, integer f, integer m, integer x, integer j) =
      f <= j < f + m && IsKey(c, j, x) == 1 &&
      \forall integer i; j < i < f + m ==> IsKey(c, i, x) == 0;
    // Those of key x, of the last entry with it: the one that holds it.
    predicate IsTiedFirst{F,O}(zp_op *o, zp_config *c, integer f, integer m, integer x) =
      LastWithKey{F}(c, f, m, x, \at(o->param, O)) &&
      IsFirst{F,O}(o, ZP_GROUP_TIED, x, c, \at(o->param, O), 1, x);
    // Those of entry j, the stage's y-th, over tp; and over its reduction group.
    predicate IsTpFirst{F,O}(zp_op *o, zp_config *c, integer j, integer y) =
      IsFirst{F,O}(o, ZP_GROUP_TP, -1, c, j, 2, y);
    predicate IsDpFirst{F,O}(zp_op *o, zp_config *c, integer j, integer y) =
      IsFirst{F,O}(o, GroupOf{F}(c, j), -1, c, j, 3, y);
    // Of the keys below x, all before ops[hi]; of the stage's first x entries over tp; and over
    // their reduction groups.
    predicate TiedFirsts{F,O}(zp_op *ops, integer n, integer hi, zp_config *c, integer s, integer f,
        integer m, integer x) =
      \forall integer y; 0 <= y < x && On{F}(c, y, s) == 1 ==>
        n <= n + TiedValues{F}(c, s, y) < hi &&
        IsTiedFirst{F,O}(ops + (n + TiedValues{F}(c, s, y)), c, f, m, y);
    predicate TpFirsts{F,O}(zp_op *ops, integer n, integer hi, zp_config *c, integer f, integer x) =
      \forall integer y; 0 <= y < x && Replica{F}(c, f + y) == 1 ==>
        n <= n + TpValues{F}(c, f, y) < hi &&
        IsTpFirst{F,O}(ops + (n + TpValues{F}(c, f, y)), c, f + y, y);
    predicate DpFirsts{F,O}(zp_op *ops, integer n, integer hi, zp_config *c, integer f, integer x) =
      \forall integer y; 0 <= y < x && Holds{F}(c, f + y) == 1 ==>
        n <= n + DpValues{F}(c, f, y) < hi &&
        IsDpFirst{F,O}(ops + (n + DpValues{F}(c, f, y)), c, f + y, y);
    predicate IsInstall{L}(zp_op *o) =
      IsOp(o, ZP_OP_INSTALL, ZP_WHAT_MASTER, -1, -1, -1, ZP_RED_NONE, -1, -1, -1, -1, 0, -1, -1, -1,
        0, 0, 4, 0);
    // All of them, from ops[n] on, of stage s, whose entries are f … f+m-1; then the masters.
    predicate FirstOps{F,O}(zp_op *ops, integer n, zp_config *c, integer s, integer f, integer m) =
      \let tp = n + TiedValues{F}(c, s, \at(c->tied_keys, F));
      \let dp = tp + TpValues{F}(c, f, m);
      \let end = dp + DpValues{F}(c, f, m);
      TiedFirsts{F,O}(ops, n, tp, c, s, f, m, \at(c->tied_keys, F)) &&
      TpFirsts{F,O}(ops, tp, dp, c, f, m) && DpFirsts{F,O}(ops, dp, end, c, f, m) &&
      IsInstall{O}(ops + end);
*/

#endif
