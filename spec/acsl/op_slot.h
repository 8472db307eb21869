/* The ops of one slot of the pipeline, in all fields: STEP-2, STEP-3, PIPE-2, PIPE-3, PIPE-4,
 * PIPE-6. Those of its gradients, which follow, are in op_gradient.h. */
#ifndef ZP_SPEC_ACSL_OP_SLOT_H
#define ZP_SPEC_ACSL_OP_SLOT_H

#include "op_gradient.h"
#include "op_is.h"

/*@ // An exchange with the next stage in a backward slot, with the previous one in a forward slot.
    predicate IsHop{L}(zp_op *o, integer kind, integer dtype, integer s, integer backward,
        integer send, integer recv, integer t, integer i) =
      IsOp(o, kind, backward != 0 ? ZP_WHAT_ACTIVATION : ZP_WHAT_ACTIVATION_GRADIENT, ZP_GROUP_PP,
        -1, dtype, ZP_RED_NONE, backward != 0 ? s + 1 : s - 1, -1, -1, -1, 0, send, recv, -1, 0, 0,
        t, i);
    // FORWARD or BACKWARD of micro-batch mb with its activation slot; LOAD or ARRIVED, place -1.
    predicate IsMicro{L}(zp_op *o, integer kind, integer mb, integer place, integer t, integer i) =
      IsOp(o, kind, ZP_WHAT_NONE, -1, -1, -1, ZP_RED_NONE, -1, -1, -1, place, 0, mb, -1, -1, 0, 0,
        t, i);
    predicate ExchangeOps{L}(zp_op *ops, integer n, integer s, integer dynamic, integer backward,
        integer send, integer recv, integer t) =
      \let m = n + MetaLen(dynamic, backward, send, recv);
      (n < m ==> IsHop(ops + n, ZP_OP_META, ZP_I64, s, backward, backward != 0 ? send : -1,
        backward != 0 ? -1 : recv, t, 0)) &&
      (0 <= send || 0 <= recv ==>
        IsHop(ops + m, ZP_OP_P2P, -1, s, backward, send, recv, t, 1));
    predicate RunOps{L}(zp_op *ops, integer n, integer loads, integer backward, integer mb,
        integer place, integer t) =
      (backward == 0 && loads == 1 ==> IsMicro(ops + n, ZP_OP_LOAD, mb, -1, t, 2)) &&
      (backward == 0 ==> IsMicro(ops + (n + loads), ZP_OP_FORWARD, mb, place, t, 3)) &&
      (backward != 0 ==> IsMicro(ops + n, ZP_OP_BACKWARD, mb, place, t, 3) &&
        IsMicro(ops + (n + 1), ZP_OP_ARRIVED, mb, -1, t, 4));
    // Slot t of stage s, of S stages and M micro-batches: its ops begin at ops[n].
    predicate HeadOps{L}(zp_op *ops, integer n, integer S, integer M, integer s, integer dynamic,
        integer t) =
      \let backward = BackwardSlot(s, t);
      \let mb = Computed(S, M, s, t);
      ExchangeOps(ops, n, s, dynamic, backward, Sent(S, M, s, t), Received(S, M, s, t), t) &&
      (0 <= mb ==> RunOps(ops, n + ExchangeLen(dynamic, backward, Sent(S, M, s, t),
        Received(S, M, s, t)), Loads(S, s), backward, mb, mb % Places(S, M, s), t));
    predicate SlotOps{F,O}(zp_op *ops, integer n, zp_config *c, zp_layout *lay, integer t) =
      HeadOps{O}(ops, n, \at(c->pp, F), \at(c->micro_batches, F), \at(lay->stage, F),
        \at(c->dynamic_shapes, F), t);
    // All ops of all slots that are not empty, from the stage's first to t - 1; all of them are
    // before ops[n]. The lengths leave no room for others.
    predicate SlotsOps{F,O}(zp_op *ops, integer n, zp_config *c, zp_layout *lay, integer t) =
      \forall integer u; \at(lay->stage, F) <= u < t && 0 < SlotHead{F}(c, lay, u) ==>
        0 <= SlotsLen{F}(c, lay, u) &&
        SlotsLen{F}(c, lay, u) + SlotLen{F}(c, lay, u) <= n &&
        SlotOps{F,O}(ops, SlotsLen{F}(c, lay, u), c, lay, u) &&
        SlotGradients{F,O}(ops, SlotsLen{F}(c, lay, u), c, lay, u);
*/

#endif
