/* The STEP program. program_pipeline.c writes the slots, program_slot.c the ops at the start of
 * each slot, program_entry.c the ops of its gradients, program_step.c the rest; program_count.c
 * counts. Not installed.
 * spec: STEP-2, LEDG-6, LEDG-8 */
#ifndef ZP_PLAN_STEP_INTERNAL_H
#define ZP_PLAN_STEP_INTERNAL_H

#include "../../spec/acsl/bounds.h"
#include "op.h"

/* One entry's gradient of micro-batch mb, which arrives in slot t, with all inputs of its ops. */
typedef struct zp_arrival {
  zp_flat flat; /* its flat group, number k */
  int32_t k, param;
  int32_t stage, reduce; /* of the configuration */
  int32_t dtype;         /* of the entry */
  int32_t reduces;       /* 1: buckets that it completes are reduced */
  int64_t from, to;      /* its elements of the flat group */
  int64_t mb, t, clock;
} zp_arrival;

#include "../../spec/acsl/step_arrival.h"

/* Appends the ops for the gradient of the stage's i-th entry and micro-batch mb in slot t, if the
 * entry is trained. ops has room for its ops, with clocks after those so far, and does not overlap
 * configuration or layout. RED-3 */
/*@ requires config: \valid_read(cfg) && 0 <= cfg->stage <= 2 && 0 <= cfg->reduce <= 1 &&
        0 <= cfg->precision <= 2 && 1 <= cfg->micro_batches <= ZP_LIMIT_MICRO_BATCHES;
    requires entry: 0 <= i < lay->n_params <= ZP_LIMIT_ENTRIES && 0 <= lay->first_param &&
        lay->first_param + lay->n_params <= cfg->n_params <= ZP_LIMIT_ENTRIES && EntryFits(cfg,
        lay, i);
    requires readable: Readable(cfg) && ReadableLayout(lay);
    requires mb: 0 <= mb < cfg->micro_batches;
    requires room: 0 <= n && n + RawLen(cfg, lay, i, ReducesOn(cfg, mb)) <= 9223372036854775807 &&
        \valid(ops + (n .. n + RawLen(cfg, lay, i, ReducesOn(cfg, mb)) - 1));
    requires clock: Clocked(ops, n, t, (lay->n_params - i) * ZP_CLOCK_STRIDE);
    terminates \true; exits \false;
    assigns ops[n .. n + RawLen(cfg, lay, i, ReducesOn(cfg, mb)) - 1];
    ensures length: \result == n + RawLen{Pre}(cfg, lay, i, ReducesOn{Pre}(cfg, mb));
    ensures clock: Clocked(ops, \result, t, (\old(lay->n_params) - i + 1) * ZP_CLOCK_STRIDE);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == (ReducesOn{Pre}(cfg, mb) == 0 ?
          LedgerOf{Pre}(ops, n, g, key, d) :
          RawTrace{Pre}(LedgerOf{Pre}(ops, n, g, key, d), cfg, lay, i, g, t));
    ensures links: \forall integer peer;
        LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures added: \forall integer p, m, e, k, c; Added(ops, \result, p, m, e, k, c) ==
        Added{Pre}(ops, n, p, m, e, k, c) +
        (m == mb ? RawAdds{Pre}(cfg, lay, i, p, e, k, c) : 0);
    ensures reductions: \forall integer k, c, m; Reduced(ops, \result, k, c, m) ==
        Reduced{Pre}(ops, n, k, c, m) +
        (m == mb && ReducesOn{Pre}(cfg, mb) == 1 ? RawDone{Pre}(cfg, lay, i, k, c) : 0);
    ensures plain: PlainOps(ops, n, \result) && Placed(ops, n, \result);
    ensures gradients: EntryOps{Pre,Post}(cfg, lay, i, mb, t, ops, n, \result);
    ensures ops: GradientAt{Pre,Post}(ops, n, cfg, lay, i, mb, t);
    ensures stays: SameOps{Pre,Post}(ops, n); */
int64_t zp_put_one(const zp_config *cfg, const zp_layout *lay, int32_t i, int64_t mb, int64_t t,
                   zp_op *ops, int64_t n);

/* a describes the work of stage s of S in slot t of M micro-batches. */
/*@ predicate SlotIs(zp_slot a, integer S, integer M, integer s, integer t) =
      a.backward == BackwardSlot(s, t) && a.mb == Computed(S, M, s, t) &&
      a.send_mb == Sent(S, M, s, t) && a.recv_mb == Received(S, M, s, t) &&
      0 <= a.backward <= 1 && a.mb < M; */

/* Slot t of lay's stage, described by a, without its gradients; the inputs do not change. cfg and
 * lay are within the limits; ops has room, with clocks after those so far, and does not overlap
 * configuration or layout. PIPE-2, PIPE-3 */
/*@ requires readable: Readable(cfg) && ReadableLayout(lay);
    requires fits: StageFits(cfg, lay);
    requires slot: SlotIs(a, cfg->pp, cfg->micro_batches, lay->stage, t);
    requires room: 0 <= n && n + HeadLen(cfg->pp, cfg->micro_batches,
          lay->stage, cfg->dynamic_shapes, t) <= 9223372036854775807 &&
        \valid(ops + (n .. n + HeadLen(cfg->pp, cfg->micro_batches,
          lay->stage, cfg->dynamic_shapes, t) - 1));
    requires clear: StepClear(ops + n, HeadLen(cfg->pp, cfg->micro_batches,
          lay->stage, cfg->dynamic_shapes, t), cfg, cfg->params, cfg->n_params, lay,
        lay->flat, lay->n_flats, lay->spot, lay->n_params);
    requires clock: Clocked(ops, n, t, 0);
    terminates \true; exits \false;
    assigns ops[n .. n + HeadLen(cfg->pp, cfg->micro_batches,
          lay->stage, cfg->dynamic_shapes, t) - 1];
    ensures kept: StepKept{Pre,Post}(cfg, lay);
    ensures length: \result == n + SlotHead{Pre}(cfg, lay, t);
    ensures ops: SlotOps{Pre,Post}(ops, n, cfg, lay, t);
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures clock: Clocked(ops, \result, t, ZP_CLOCK_STRIDE);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == LedgerOf{Pre}(ops, n, g, key, d);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) ==
        SlotLink{Pre}(LinkOf{Pre}(ops, n, peer), cfg, lay, peer, t);
    ensures added: \forall integer p, m, e, k, c;
        Added(ops, \result, p, m, e, k, c) == Added{Pre}(ops, n, p, m, e, k, c);
    ensures reductions: \forall integer k, c, m;
        Reduced(ops, \result, k, c, m) == Reduced{Pre}(ops, n, k, c, m);
    ensures plain: PlainOps(ops, n, \result) && Placed(ops, n, \result);
    ensures quiet: NoGradients(ops, n, \result); */
int64_t zp_put_stage_head(const zp_config *cfg, const zp_layout *lay, zp_slot a, int64_t t,
                          zp_op *ops, int64_t n);

/* The gradient of the stage's i-th entry and micro-batch mb in slot t; the inputs do not change.
 * cfg and lay are within the limits; ops has room for its ops, with clocks after those so far, and
 * does not overlap configuration or layout. RED-3 */
/*@ requires readable: Readable(cfg) && ReadableLayout(lay);
    requires fits: StageFits(cfg, lay) && 0 <= i < lay->n_params && 0 <= mb < cfg->micro_batches;
    requires room: 0 <= n && n + RawLen(cfg, lay, i, ReducesOn(cfg, mb)) <= 9223372036854775807 &&
        \valid(ops + (n .. n + RawLen(cfg, lay, i, ReducesOn(cfg, mb)) - 1));
    requires clear: StepClear(ops + n, RawLen(cfg, lay, i, ReducesOn(cfg, mb)), cfg, cfg->params,
        cfg->n_params, lay, lay->flat, lay->n_flats, lay->spot, lay->n_params);
    requires clock: Clocked(ops, n, t, (lay->n_params - i) * ZP_CLOCK_STRIDE);
    terminates \true; exits \false;
    assigns ops[n .. n + RawLen(cfg, lay, i, ReducesOn(cfg, mb)) - 1];
    ensures kept: StepKept{Pre,Post}(cfg, lay);
    ensures length: \result == n + RawLen{Pre}(cfg, lay, i, ReducesOn{Pre}(cfg, mb));
    ensures clock: Clocked(ops, \result, t, (\old(lay->n_params) - i + 1) * ZP_CLOCK_STRIDE);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == (ReducesOn{Pre}(cfg, mb) == 0 ?
          LedgerOf{Pre}(ops, n, g, key, d) :
          RawTrace{Pre}(LedgerOf{Pre}(ops, n, g, key, d), cfg, lay, i, g, t));
    ensures links: \forall integer peer;
        LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures added: \forall integer p, m, e, k, c; Added(ops, \result, p, m, e, k, c) ==
        Added{Pre}(ops, n, p, m, e, k, c) +
        (m == mb ? RawAdds{Pre}(cfg, lay, i, p, e, k, c) : 0);
    ensures reductions: \forall integer k, c, m; Reduced(ops, \result, k, c, m) ==
        Reduced{Pre}(ops, n, k, c, m) +
        (m == mb && ReducesOn{Pre}(cfg, mb) == 1 ? RawDone{Pre}(cfg, lay, i, k, c) : 0);
    ensures plain: PlainOps(ops, n, \result) && Placed(ops, n, \result);
    ensures gradients: EntryOps{Pre,Post}(cfg, lay, i, mb, t, ops, n, \result);
    ensures ops: GradientAt{Pre,Post}(ops, n, cfg, lay, i, mb, t);
    ensures stays: SameOps{Pre,Post}(ops, n); */
int64_t zp_put_nth(const zp_config *cfg, const zp_layout *lay, int32_t i, int64_t mb, int64_t t,
                   zp_op *ops, int64_t n);

/* Writes the whole pipeline of lay's stage from ops[0] on. Returns the number of ops. lay must be
 * the layout of its stage, within the limits; ops has room and does not overlap configuration or
 * layout. PIPE-1 … PIPE-3 */
/*@ requires readable: Readable(cfg) && ReadableLayout(lay);
    requires fits: StageFits(cfg, lay);
    requires room: PipeLen(cfg, lay) <= 4611686018427387904 &&
        \valid(ops + (0 .. PipeLen(cfg, lay) - 1));
    requires apart: StepApart(ops, 0, PipeLen(cfg, lay), cfg, cfg->params, cfg->n_params, lay,
        lay->flat, lay->n_flats, lay->spot, lay->n_params);
    terminates \true; exits \false;
    assigns ops[0 .. PipeLen(cfg, lay) - 1];
    ensures kept: StepKept{Pre,Post}(cfg, lay);
    ensures length: \result == PipeLen{Pre}(cfg, lay);
    ensures clock: Clocked(ops, \result, SlotsOf{Pre}(cfg), 0);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==> LedgerOf(ops, \result, g, key, d) ==
        MicrosTrace{Pre}(Nothing, cfg, lay, g, \old(cfg->micro_batches));
    ensures links: \forall integer peer;
        LinkOf(ops, \result, peer) == StepLink{Pre}(cfg, \old(lay->stage), peer);
    ensures added: \forall integer p, m, e, k, c; Added(ops, \result, p, m, e, k, c) ==
        (0 <= m < \old(cfg->micro_batches) ? MicroAdds{Pre}(cfg, lay, p, e, k, c) : 0);
    ensures reductions: \forall integer k, c, m; Reduced(ops, \result, k, c, m) ==
        (0 <= m < \old(cfg->micro_batches) ? MicroDone{Pre}(cfg, lay, m, k, c) : 0);
    ensures plain: PlainOps(ops, 0, \result) && Placed(ops, 0, \result);
    ensures slots: SlotsOps{Pre,Post}(ops, \result, cfg, lay, SlotsOf{Pre}(cfg));
    ensures gradients: GradientOps{Pre,Post}(cfg, lay, ops, 0, \result); */
int64_t zp_put_pipeline(const zp_config *cfg, const zp_layout *lay, zp_op *ops);

/* The inputs of the rest of the step, except its clock. */
typedef struct zp_tail {
  const zp_flat *flat; /* the stage's flat groups */
  int32_t flats, keys; /* their number, and the number of tied keys */
  int32_t stage, reduce, precision;
} zp_tail;

/*@ predicate TailOk{L}(zp_tail a) =
      0 <= a.flats <= ZP_LIMIT_ENTRIES && 0 <= a.keys <= ZP_LIMIT_TIED && 0 <= a.stage <= 2 &&
      0 <= a.reduce <= 1 &&
      0 <= a.precision <= 2 && (0 < a.flats ==> \valid_read(a.flat + (0 .. a.flats - 1))) &&
      FlatsFine(a.flat, a.flats); */

/* The number of buckets of flat group f that have storage of their own. f must be a flat group.
 * TIE-2 */
/*@ requires flat: \valid_read(f) && FlatFine(f);
    terminates \true; exits \false;
    assigns \nothing;
    ensures held: \result == HeldOf(f);
    ensures range: 0 <= \result <= ZP_LIMIT_ELEMENTS; */
int64_t zp_held_buckets(const zp_flat *f);

/* Appends the sums of tied entries over the stages that hold them, key by key. a must describe the
 * stage; ops has room for the sums, with clocks after those so far, and does not overlap the flat
 * groups. TIE-1 */
/*@ requires tail: TailOk(a);
    requires room: 0 <= n && n + KeysLen(a.flat, a.flats, a.keys) <= 9223372036854775807 &&
        \valid(ops + (n .. n + KeysLen(a.flat, a.flats, a.keys) - 1));
    requires apart: FlatsApart(ops, n, KeysLen(a.flat, a.flats, a.keys), a.flat, a.flats);
    requires clock: Clocked(ops, n, t, 0);
    terminates \true; exits \false;
    assigns ops[n .. n + KeysLen(a.flat, a.flats, a.keys) - 1];
    ensures length: \result == n + KeysLen{Pre}(a.flat, a.flats, a.keys);
    ensures ops: KeysOps{Pre,Post}(ops, n, \result, a.flat, a.flats, a.stage, a.reduce, t, a.keys);
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures same: SameFlats{Pre,Post}(a.flat, a.flats);
    ensures clock: Clocked(ops, \result, t + 1, 0);
    ensures ledger: \forall integer g, x, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, x, d) == (g == ZP_GROUP_TIED && 0 <= x && x < a.keys ?
          KeyTrace{Pre}(LedgerOf{Pre}(ops, n, g, x, d), a.stage, a.reduce, a.flat, a.flats, x, t) :
          LedgerOf{Pre}(ops, n, g, x, d));
    ensures rest: SameRest{Pre,Post}(ops, n, \result);
    ensures plain: PlainOps(ops, n, \result) && Placed(ops, n, \result);
    ensures quiet: NoGradients(ops, n, \result); */
int64_t zp_put_tied(zp_tail a, int64_t t, zp_op *ops, int64_t n);

/* Appends the ops that divide and count, bucket by bucket. a must describe the stage; ops has room
 * for the means, with clocks after those so far, and does not overlap the flat groups. STAT-2 */
/*@ requires tail: TailOk(a);
    requires room: 0 <= n && n + Held(a.flat, a.flats) <= 9223372036854775807 &&
        \valid(ops + (n .. n + Held(a.flat, a.flats) - 1));
    requires apart: FlatsApart(ops, n, Held(a.flat, a.flats), a.flat, a.flats);
    requires clock: Clocked(ops, n, t, 0);
    terminates \true; exits \false;
    assigns ops[n .. n + Held(a.flat, a.flats) - 1];
    ensures length: \result == n + Held{Pre}(a.flat, a.flats);
    ensures ops: MeansOps{Pre,Post}(ops, n, \result, a.flat, t, a.flats);
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures same: SameFlats{Pre,Post}(a.flat, a.flats);
    ensures clock: Clocked(ops, \result, t + 1, 0);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == LedgerOf{Pre}(ops, n, g, key, d);
    ensures rest: SameRest{Pre,Post}(ops, n, \result);
    ensures plain: PlainOps(ops, n, \result) && Placed(ops, n, \result);
    ensures quiet: NoGradients(ops, n, \result); */
int64_t zp_put_means(zp_tail a, int64_t t, zp_op *ops, int64_t n);

/* Appends updates and gathers, bucket by bucket. a must describe the stage; ops has room, with
 * clocks after those so far, and does not overlap the flat groups. STEP-7, STEP-8 */
/*@ requires tail: TailOk(a);
    requires room: 0 <= n &&
        n + UpdateLen(a.stage, Held(a.flat, a.flats)) <= 9223372036854775805 &&
        \valid(ops + (n .. n + UpdateLen(a.stage, Held(a.flat, a.flats)) - 1));
    requires apart: FlatsApart(ops, n, UpdateLen(a.stage, Held(a.flat, a.flats)), a.flat, a.flats);
    requires clock: Clocked(ops, n, t, 0);
    terminates \true; exits \false;
    assigns ops[n .. n + UpdateLen(a.stage, Held(a.flat, a.flats)) - 1];
    ensures length: \result == n + UpdateLen(a.stage, Held{Pre}(a.flat, a.flats));
    ensures ops: UpdatesOps{Pre,Post}(ops, n, \result, a.flat, a.flats, a.stage, a.precision, t);
    ensures same: SameFlats{Pre,Post}(a.flat, a.flats);
    ensures clock: Clocked(ops, \result, t + 1, 0);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == (d == 0 ? LedgerOf{Pre}(ops, n, g, key, d) :
          GatherTrace{Pre}(LedgerOf{Pre}(ops, n, g, key, d), a.stage, a.precision, a.flat, a.flats,
            g, t));
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures rest: SameRest{Pre,Post}(ops, n, \result);
    ensures placed: Placed(ops, n, \result);
    ensures quiet: NoGradients(ops, n, \result); */
int64_t zp_put_update(zp_tail a, int64_t t, zp_op *ops, int64_t n);

/* The number of ops that zp_put_step writes from ops[0] on and returns. lay must be the layout of a
 * stage of the valid configuration cfg. LEDG-8 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && StageSeen(cfg, lay) && FlatsFine(lay->flat, lay->n_flats);
    requires keys: KeysHeld(cfg, lay);
    terminates \true; exits \false;
    assigns \nothing;
    ensures length: \result == StepNeed(cfg, lay);
    ensures range: 0 <= \result <= 4611686018427387904; */
int64_t zp_need_step(const zp_config *cfg, const zp_layout *lay);

/* Writes the STEP program of a rank of lay's stage. lay must be the layout of a stage of the valid
 * configuration cfg; ops has room and does not overlap configuration or layout. LEDG-6, PIPE-3,
 * RED-3 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && StageSeen(cfg, lay) && FlatsFine(lay->flat, lay->n_flats);
    requires room: \valid(ops + (0 .. StepNeed(cfg, lay) - 1));
    requires apart: StepApart(ops, 0, StepNeed(cfg, lay), cfg, cfg->params, cfg->n_params, lay,
        lay->flat, lay->n_flats, lay->spot, lay->n_params);
    terminates \true; exits \false;
    assigns ops[0 .. StepNeed(cfg, lay) - 1];
    ensures length: \result == StepNeed{Pre}(cfg, lay);
    ensures slots: SlotsOps{Pre,Post}(ops, PipeLen{Pre}(cfg, lay), cfg, lay, SlotsOf{Pre}(cfg));
    ensures tail: TailOps{Pre,Post}(ops, PipeLen{Pre}(cfg, lay), \result, \old(lay->flat),
        \old(lay->n_flats), \old(cfg->tied_keys), \old(cfg->stage), \old(cfg->reduce),
        \old(cfg->precision), SlotsOf{Pre}(cfg));
    ensures clock: Increasing(ops, \result);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == StepLedger{Pre}(cfg, lay, g, key, d);
    ensures links: \forall integer peer;
        LinkOf(ops, \result, peer) == StepLink{Pre}(cfg, \old(lay->stage), peer);
    ensures added: \forall integer p, m, e, k, c; Added(ops, \result, p, m, e, k, c) ==
        StepAdded{Pre}(cfg, \old(lay->stage), p, m, e, k, c);
    ensures reductions: \forall integer k, c, m; Reduced(ops, \result, k, c, m) ==
        StepReduced{Pre}(cfg, \old(lay->stage), k, c, m);
    ensures decided: DecidedAt(ops, \result, StepDecides{Pre}(cfg, lay));
    ensures gradients: GradientOps{Pre,Post}(cfg, lay, ops, 0, \result); */
int64_t zp_put_step(const zp_config *cfg, const zp_layout *lay, zp_op *ops);

#endif
