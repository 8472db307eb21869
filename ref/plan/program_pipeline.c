/* The slots of the STEP program in order, with the gradients that arrive in them.
 * spec: STEP-2, PIPE-1 … PIPE-6, RED-3 */
#include "../../spec/acsl/bounds.h"
#include "step_internal.h"

#include "../../spec/acsl/step_lemmas.h"

#include "../../spec/acsl/step_kept.h"

#include "../../spec/acsl/step_fold_steps.h"

#include "../../spec/acsl/step_where_lemmas.h"

#include "../../spec/acsl/op_is_lemmas.h"

#include "../../spec/acsl/op_slot_lemmas.h"

#include "../../spec/acsl/op_gradient_lemmas.h"

#include "../../spec/acsl/op_slots_lemmas.h"

/* The gradients of the stage's entries, in backward order, of micro-batch mb in slot t. cfg and lay
 * are within the limits; ops has room for their ops, with clocks after those so far, and does not
 * overlap configuration or layout. RED-3 */
/*@ requires readable: Readable(cfg) && ReadableLayout(lay);
    requires fits: StageFits(cfg, lay) && 0 <= mb < cfg->micro_batches;
    requires room: 0 <= n && n + MicroLen(cfg, lay, mb) <= 9223372036854775807 &&
        \valid(ops + (n .. n + MicroLen(cfg, lay, mb) - 1));
    requires apart: StepApart(ops, n, MicroLen(cfg, lay, mb), cfg, cfg->params, cfg->n_params, lay,
        lay->flat, lay->n_flats, lay->spot, lay->n_params);
    requires clock: Clocked(ops, n, t, ZP_CLOCK_STRIDE);
    terminates \true; exits \false;
    assigns ops[n .. n + MicroLen(cfg, lay, mb) - 1];
    ensures kept: StepKept{Pre,Post}(cfg, lay);
    ensures length: \result == n + MicroLen{Pre}(cfg, lay, mb);
    ensures clock: Clocked(ops, \result, t + 1, 0);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == (ReducesOn{Pre}(cfg, mb) == 0 ?
          LedgerOf{Pre}(ops, n, g, key, d) :
          RawBackTrace{Pre}(LedgerOf{Pre}(ops, n, g, key, d), cfg, lay, g, t,
            \old(lay->n_params)));
    ensures links: \forall integer peer;
        LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures added: \forall integer p, m, e, k, c; Added(ops, \result, p, m, e, k, c) ==
        Added{Pre}(ops, n, p, m, e, k, c) + (m == mb ? MicroAdds{Pre}(cfg, lay, p, e, k, c) : 0);
    ensures reductions: \forall integer k, c, m; Reduced(ops, \result, k, c, m) ==
        Reduced{Pre}(ops, n, k, c, m) + (m == mb ? MicroDone{Pre}(cfg, lay, mb, k, c) : 0);
    ensures plain: PlainOps(ops, n, \result) && Placed(ops, n, \result);
    ensures gradients: BackwardOps{Pre,Post}(cfg, lay, mb, t, ops, n, \result);
    ensures ops: GradientsAt{Pre,Post}(ops, n, cfg, lay, mb, t, \old(lay->n_params));
    ensures stays: SameOps{Pre,Post}(ops, n); */
static int64_t put_entries(const zp_config *cfg, const zp_layout *lay, int64_t mb, int64_t t,
                           zp_op *ops, int64_t n)
{
  const int32_t entries = lay->n_params;
  /*@ loop invariant range: 0 <= x <= entries;
      loop invariant kept: StepKept{Pre,Here}(cfg, lay);
      loop invariant fits: StageFits(cfg, lay);
      loop invariant length:
        n == \at(n, Pre) + RawBackLen{Pre}(cfg, lay, ReducesOn{Pre}(cfg, mb), x);
      loop invariant clock: Clocked(ops, n, t, (x + 1) * ZP_CLOCK_STRIDE);
      loop invariant ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, n, g, key, d) == (ReducesOn{Pre}(cfg, mb) == 0 ?
          LedgerOf{Pre}(ops, \at(n, Pre), g, key, d) :
          RawBackTrace{Pre}(LedgerOf{Pre}(ops, \at(n, Pre), g, key, d), cfg, lay, g, t, x));
      loop invariant links: \forall integer peer;
        LinkOf(ops, n, peer) == LinkOf{Pre}(ops, \at(n, Pre), peer);
      loop invariant added: \forall integer p, m, e, k, c; Added(ops, n, p, m, e, k, c) ==
        Added{Pre}(ops, \at(n, Pre), p, m, e, k, c) +
        (m == mb ? RawBackAdds{Pre}(cfg, lay, x, p, e, k, c) : 0);
      loop invariant reductions: \forall integer k, c, m; Reduced(ops, n, k, c, m) ==
        Reduced{Pre}(ops, \at(n, Pre), k, c, m) + (m == mb && ReducesOn{Pre}(cfg, mb) == 1 ?
          RawBackDone{Pre}(cfg, lay, x, k, c) : 0);
      loop invariant plain: PlainOps(ops, \at(n, Pre), n) && Placed(ops, \at(n, Pre), n);
      loop invariant gradients: BackwardOps{Pre,Here}(cfg, lay, mb, t, ops, \at(n, Pre), n);
      loop invariant ops: GradientsAt{Pre,Here}(ops, \at(n, Pre), cfg, lay, mb, t, x);
      loop invariant stays: SameOps{Pre,Here}(ops, \at(n, Pre));
      loop assigns x, n, ops[\at(n, Pre) .. \at(n, Pre) + MicroLen{Pre}(cfg, lay, mb) - 1];
      loop variant entries - x; */
  for (int32_t x = 0; x < entries; x++) {
    const int32_t i = entries - x - 1;
    //@ assert same: SameRaw{Pre,Here}(cfg, lay, i);
    //@ assert reduces: ReducesOn(cfg, mb) == ReducesOn{Pre}(cfg, mb);
    /*@ assert len: RawLen(cfg, lay, i, ReducesOn(cfg, mb)) ==
          RawLen{Pre}(cfg, lay, i, ReducesOn{Pre}(cfg, mb)); */
    /*@ assert room: RawBackRoom{Pre}(cfg, lay, ReducesOn{Pre}(cfg, mb), x); */
    /*@ assert total: MicroLen{Pre}(cfg, lay, mb) == RawBackLen{Pre}(cfg, lay,
          ReducesOn{Pre}(cfg, mb), \at(lay->n_params, Pre)); */
    /*@ assert within: \at(n, Pre) <= n && n + RawLen{Pre}(cfg, lay, i, ReducesOn{Pre}(cfg, mb)) <=
          \at(n, Pre) + MicroLen{Pre}(cfg, lay, mb); */
    //@ assert scalars: SameScalars{Pre,Here}(cfg) && SameHead{Pre,Here}(lay);
    /*@ assert clear: Clear(ops + n, RawLen(cfg, lay, i, ReducesOn(cfg, mb)), cfg, cfg->params,
          cfg->n_params, lay, lay->flat, lay->n_flats); */
    /*@ assert clear_spots: ClearOfSpots(ops + n, RawLen(cfg, lay, i, ReducesOn(cfg, mb)),
          lay->spot, lay->n_params); */
    //@ ghost Between: ;
    const int64_t next = zp_put_nth(cfg, lay, i, mb, t, ops, n);
    //@ assert plain: PlainOps(ops, \at(n, Pre), n) && Placed(ops, \at(n, Pre), n);
    //@ assert before: BackwardOps{Pre,Here}(cfg, lay, mb, t, ops, \at(n, Pre), n);
    //@ assert entry: EntryOps{Pre,Here}(cfg, lay, i, mb, t, ops, n, next);
    //@ assert old: GradientsAt{Pre,Here}(ops, \at(n, Pre), cfg, lay, mb, t, x);
    //@ assert here: GradientAt{Between,Here}(ops, n, cfg, lay, i, mb, t);
    //@ assert new: GradientAt{Pre,Here}(ops, n, cfg, lay, i, mb, t);
    //@ assert next: NextBack{Pre,Here}(ops, \at(n, Pre), n, cfg, lay, mb, t, x, x + 1);
    //@ assert ops: GradientsAt{Pre,Here}(ops, \at(n, Pre), cfg, lay, mb, t, x + 1);
    n = next;
  }
  /*@ assert done: \forall integer k, c; MicroDone{Pre}(cfg, lay, mb, k, c) ==
        (ReducesOn{Pre}(cfg, mb) == 1 ?
          RawBackDone{Pre}(cfg, lay, \at(lay->n_params, Pre), k, c) : 0); */
  return n;
}

/* The gradients of slot t of lay's stage, described by a; a forward slot has none. cfg and lay are
 * within the limits; ops has room for its ops, with clocks after those so far, and does not overlap
 * configuration or layout. RED-3 */
/*@ requires readable: Readable(cfg) && ReadableLayout(lay);
    requires fits: StageFits(cfg, lay);
    requires time: 0 <= t < SlotsOf(cfg);
    requires slot: SlotIs(a, cfg->pp, cfg->micro_batches, lay->stage, t);
    requires room: 0 <= n &&
        n + MicroLen(cfg, lay, BackwardOf(cfg, lay, t)) <= 9223372036854775807 &&
        \valid(ops + (n .. n + MicroLen(cfg, lay, BackwardOf(cfg, lay, t)) - 1));
    requires apart: StepApart(ops, n, MicroLen(cfg, lay, BackwardOf(cfg, lay, t)), cfg, cfg->params,
        cfg->n_params, lay, lay->flat, lay->n_flats, lay->spot, lay->n_params);
    requires clock: Clocked(ops, n, t, ZP_CLOCK_STRIDE);
    terminates \true; exits \false;
    assigns ops[n .. n + MicroLen(cfg, lay, BackwardOf(cfg, lay, t)) - 1];
    ensures kept: StepKept{Pre,Post}(cfg, lay);
    ensures length: \result == n + MicroLen{Pre}(cfg, lay, BackwardOf{Pre}(cfg, lay, t));
    ensures clock: Clocked(ops, \result, t + 1, 0);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == MicroTrace{Pre}(LedgerOf{Pre}(ops, n, g, key, d),
          cfg, lay, g, BackwardOf{Pre}(cfg, lay, t));
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures added: \forall integer p, m, e, k, c; Added(ops, \result, p, m, e, k, c) ==
        Added{Pre}(ops, n, p, m, e, k, c) + (0 <= m && m == BackwardOf{Pre}(cfg, lay, t) ?
          MicroAdds{Pre}(cfg, lay, p, e, k, c) : 0);
    ensures reductions: \forall integer k, c, m; Reduced(ops, \result, k, c, m) ==
        Reduced{Pre}(ops, n, k, c, m) + (0 <= m && m == BackwardOf{Pre}(cfg, lay, t) ?
          MicroDone{Pre}(cfg, lay, m, k, c) : 0);
    ensures plain: PlainOps(ops, n, \result) && Placed(ops, n, \result);
    ensures gradients: GradientOps{Pre,Post}(cfg, lay, ops, n, \result);
    ensures ops: 0 <= BackwardOf{Pre}(cfg, lay, t) ==>
        GradientsAt{Pre,Post}(ops, n, cfg, lay, BackwardOf{Pre}(cfg, lay, t), t,
          \old(lay->n_params));
    ensures stays: SameOps{Pre,Post}(ops, n); */
static int64_t put_gradients(const zp_config *cfg, const zp_layout *lay, zp_slot a, int64_t t,
                             zp_op *ops, int64_t n)
{
  /*@ assert backward: a.backward == 1 && 0 <= a.mb ==> BackwardOf(cfg, lay, t) == a.mb &&
        t == BackwardTime(\at(cfg->pp, Pre), \at(lay->stage, Pre), a.mb); */
  //@ assert none: a.backward == 0 || a.mb < 0 ==> BackwardOf(cfg, lay, t) < 0;
  //@ assert later: Clocked(ops, n, t + 1, 0);
  if (!a.backward || a.mb < 0) return n;
  return put_entries(cfg, lay, a.mb, t, ops, n);
}

/* Slot t of lay's stage. cfg and lay are within the limits; ops has room for its ops, with clocks
 * after those so far, and does not overlap configuration or layout. PIPE-2, PIPE-3, RED-3 */
/*@ requires readable: Readable(cfg) && ReadableLayout(lay);
    requires fits: StageFits(cfg, lay);
    requires time: 0 <= t < SlotsOf(cfg);
    requires room: 0 <= n && n + SlotLen(cfg, lay, t) <= 9223372036854775807 &&
        \valid(ops + (n .. n + SlotLen(cfg, lay, t) - 1));
    requires apart: StepApart(ops, n, SlotLen(cfg, lay, t), cfg, cfg->params, cfg->n_params, lay,
        lay->flat, lay->n_flats, lay->spot, lay->n_params);
    requires clock: Clocked(ops, n, t, 0);
    terminates \true; exits \false;
    assigns ops[n .. n + SlotLen(cfg, lay, t) - 1];
    ensures kept: StepKept{Pre,Post}(cfg, lay);
    ensures length: \result == n + SlotLen{Pre}(cfg, lay, t);
    ensures clock: Clocked(ops, \result, t + 1, 0);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == MicroTrace{Pre}(LedgerOf{Pre}(ops, n, g, key, d),
          cfg, lay, g, BackwardOf{Pre}(cfg, lay, t));
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) ==
        SlotLink{Pre}(LinkOf{Pre}(ops, n, peer), cfg, lay, peer, t);
    ensures added: \forall integer p, m, e, k, c; Added(ops, \result, p, m, e, k, c) ==
        Added{Pre}(ops, n, p, m, e, k, c) + (0 <= m && m == BackwardOf{Pre}(cfg, lay, t) ?
          MicroAdds{Pre}(cfg, lay, p, e, k, c) : 0);
    ensures reductions: \forall integer k, c, m; Reduced(ops, \result, k, c, m) ==
        Reduced{Pre}(ops, n, k, c, m) + (0 <= m && m == BackwardOf{Pre}(cfg, lay, t) ?
          MicroDone{Pre}(cfg, lay, m, k, c) : 0);
    ensures plain: PlainOps(ops, n, \result) && Placed(ops, n, \result);
    ensures gradients: GradientOps{Pre,Post}(cfg, lay, ops, n, \result);
    ensures ops: SlotOps{Pre,Post}(ops, n, cfg, lay, t);
    ensures slot_gradients: SlotGradients{Pre,Post}(ops, n, cfg, lay, t);
    ensures stays: SameOps{Pre,Post}(ops, n); */
static int64_t put_slot(const zp_config *cfg, const zp_layout *lay, int64_t t, zp_op *ops,
                        int64_t n)
{
  const zp_slot a = zp_slot_at(cfg->pp, cfg->micro_batches, lay->stage, t);
  //@ assert lengths: SlotPart(cfg, lay, t);
  /*@ assert clear: StepClear(ops + n, SlotHead(cfg, lay, t), cfg, cfg->params, cfg->n_params, lay,
        lay->flat, lay->n_flats, lay->spot, lay->n_params); */
  const int64_t head = zp_put_stage_head(cfg, lay, a, t, ops, n);
  //@ assert fits: StageFits(cfg, lay);
  //@ assert scalars: SameScalars{Pre,Here}(cfg) && SameHead{Pre,Here}(lay);
  /*@ assert micro: MicroLen(cfg, lay, BackwardOf(cfg, lay, t)) ==
        MicroLen{Pre}(cfg, lay, BackwardOf{Pre}(cfg, lay, t)); */
  /*@ assert apart: StepApart(ops, head, MicroLen(cfg, lay, BackwardOf(cfg, lay, t)), cfg,
        cfg->params, cfg->n_params, lay, lay->flat, lay->n_flats, lay->spot, lay->n_params); */
  /*@ assert same_back: BackwardOf(cfg, lay, t) == BackwardOf{Pre}(cfg, lay, t) &&
        lay->n_params == \at(lay->n_params, Pre); */
  //@ ghost Between: ;
  const int64_t end = put_gradients(cfg, lay, a, t, ops, head);
  //@ assert still: SameOps{Between,Here}(ops, head);
  //@ assert ops: SlotOps{Pre,Here}(ops, n, cfg, lay, t);
  /*@ assert here_gradients: 0 <= BackwardOf{Pre}(cfg, lay, t) ==>
        GradientsAt{Between,Here}(ops, head, cfg, lay, BackwardOf{Pre}(cfg, lay, t), t,
          \at(lay->n_params, Pre)); */
  /*@ assert slot_gradients: 0 <= BackwardOf{Pre}(cfg, lay, t) ==>
        GradientsAt{Pre,Here}(ops, head, cfg, lay, BackwardOf{Pre}(cfg, lay, t), t,
          \at(lay->n_params, Pre)); */
  //@ assert quiet: NoGradients(ops, n, head);
  //@ assert gradients: GradientOps{Pre,Here}(cfg, lay, ops, head, end);
  return end;
}

int64_t zp_put_pipeline(const zp_config *cfg, const zp_layout *lay, zp_op *ops)
{
  const int64_t S = cfg->pp, M = cfg->micro_batches, s = lay->stage;
  const int64_t end = zp_end_slot(S, M, s);
  int64_t n = 0;
  //@ assert start: SlotStart(cfg, lay);
  /*@ loop invariant range: s <= t <= end && end == EndSlot(S, M, s);
      loop invariant kept: StepKept{Pre,Here}(cfg, lay);
      loop invariant fits: StageFits(cfg, lay);
      loop invariant length: n == SlotsLen{Pre}(cfg, lay, t);
      loop invariant clock: Clocked(ops, n, t, 0);
      loop invariant ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, n, g, key, d) ==
          MicrosTrace{Pre}(Nothing, cfg, lay, g, DoneBefore{Pre}(cfg, lay, t));
      loop invariant links: \forall integer peer;
        LinkOf(ops, n, peer) == StageLinkOf{Pre}(Nothing, cfg, lay, peer, t);
      loop invariant added: \forall integer p, m, e, k, c; Added(ops, n, p, m, e, k, c) ==
        (0 <= m < DoneBefore{Pre}(cfg, lay, t) ? MicroAdds{Pre}(cfg, lay, p, e, k, c) : 0);
      loop invariant reductions: \forall integer k, c, m; Reduced(ops, n, k, c, m) ==
        (0 <= m < DoneBefore{Pre}(cfg, lay, t) ? MicroDone{Pre}(cfg, lay, m, k, c) : 0);
      loop invariant plain: PlainOps(ops, 0, n) && Placed(ops, 0, n);
      loop invariant gradients: GradientOps{Pre,Here}(cfg, lay, ops, 0, n);
      loop invariant slots: SlotsOps{Pre,Here}(ops, n, cfg, lay, t);
      loop assigns t, n, ops[0 .. PipeLen{Pre}(cfg, lay) - 1];
      loop variant end - t; */
  for (int64_t t = s; t < end; t = zp_next_slot(S, M, s, t)) {
    //@ assert step: SlotStep{Pre}(cfg, lay, t);
    //@ assert scalars: SameScalars{Pre,Here}(cfg) && SameHead{Pre,Here}(lay);
    //@ assert within: 0 <= n && n + SlotLen(cfg, lay, t) <= PipeLen{Pre}(cfg, lay);
    /*@ assert apart: StepApart(ops, n, SlotLen(cfg, lay, t), cfg, cfg->params, cfg->n_params, lay,
          lay->flat, lay->n_flats, lay->spot, lay->n_params); */
    //@ ghost Between: ;
    const int64_t next = put_slot(cfg, lay, t, ops, n);
    //@ assert still: SameOps{Between,Here}(ops, n);
    //@ assert old_slots: SlotsOps{Pre,Here}(ops, n, cfg, lay, t);
    //@ assert here: SlotOps{Between,Here}(ops, n, cfg, lay, t);
    //@ assert new_slot: SlotOps{Pre,Here}(ops, n, cfg, lay, t);
    //@ assert here_gradients: SlotGradients{Between,Here}(ops, n, cfg, lay, t);
    //@ assert new_gradients: SlotGradients{Pre,Here}(ops, n, cfg, lay, t);
    //@ assert inside: n + SlotLen{Pre}(cfg, lay, t) == next;
    //@ assert slots: SlotsOps{Pre,Here}(ops, next, cfg, lay, NextOf{Pre}(cfg, lay, t));
    //@ assert plain: PlainOps(ops, 0, n) && Placed(ops, 0, n);
    //@ assert before: GradientOps{Pre,Here}(cfg, lay, ops, 0, n);
    //@ assert slot: GradientOps{Pre,Here}(cfg, lay, ops, n, next);
    n = next;
  }
  //@ assert end: SlotEnd{Pre}(cfg, lay);
  return n;
}
