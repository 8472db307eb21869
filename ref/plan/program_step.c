/* STEP: one optimizer step. spec: STEP-2 … STEP-8, RED-3 … RED-5, PIPE-1 … PIPE-6, TIE-1 */
#include "step_internal.h"

#include "../../spec/acsl/kept_lemmas.h"
#include "../../spec/acsl/save_lemmas.h"
#include "../../spec/acsl/step_tail.h"

#include "../../spec/acsl/op_is_lemmas.h"

#include "../../spec/acsl/op_tail_lemmas.h"

#include "../../spec/acsl/op_slot_lemmas.h"

#include "../../spec/acsl/op_gradient_lemmas.h"

#include "../../spec/acsl/step_whole.h"

#include "../../spec/acsl/step_where_lemmas.h"

/* The clock: slots of the pipeline are t = 0 … T-1, then T plus these. PIPE-5 */
enum { CLOCK_TIED = 0, CLOCK_MEAN = 1, CLOCK_AGREE = 2, CLOCK_UPDATE = 3 };

/* Appends the all-reduce of the statistics. ops has room for one more, with a clock after those so
 * far. STAT-1 */
/*@ requires room: 0 <= n < 9223372036854775807 && \valid(ops + n);
    requires clock: Clocked(ops, n, t, 0);
    terminates \true; exits \false;
    assigns ops[n];
    ensures length: \result == n + 1;
    ensures clock: Clocked(ops, \result, t, 1);
    ensures ledger: \forall integer g, x, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, x, d) == Agreement(LedgerOf{Pre}(ops, n, g, x, d), g, t);
    ensures rest: SameRest{Pre,Post}(ops, n, \result);
    ensures plain: PlainOps(ops, n, \result) && Placed(ops, n, \result);
    ensures quiet: NoGradients(ops, n, \result);
    ensures op: IsStatistics(ops + n, t);
    ensures stays: SameOps{Pre,Post}(ops, n); */
static int64_t put_statistics(int64_t t, zp_op *ops, int64_t n)
{
  return zp_emit(ops, n, zp_op_agree(ZP_WHAT_STATISTICS, ZP_STATS, t, 0));
}

/* Appends the decision. ops has room for one more, with a clock after those so far. STEP-6 */
/*@ requires room: 0 <= n < 9223372036854775807 && \valid(ops + n);
    requires clock: Clocked(ops, n, t, 1);
    terminates \true; exits \false;
    assigns ops[n];
    ensures length: \result == n + 1;
    ensures clock: Clocked(ops, \result, t, 2);
    ensures ledger: \forall integer g, x, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, x, d) == LedgerOf{Pre}(ops, n, g, x, d);
    ensures rest: SameRest{Pre,Post}(ops, n, \result);
    ensures plain: PlainOps(ops, n, \result) && Placed(ops, n, \result);
    ensures quiet: NoGradients(ops, n, \result);
    ensures op: IsDecision(ops + n, t);
    ensures stays: SameOps{Pre,Post}(ops, n); */
static int64_t put_decide(int64_t t, zp_op *ops, int64_t n)
{
  return zp_emit(ops, n, zp_op_blank(ZP_OP_DECIDE, t, 1));
}

/* Appends the all-reduce of the statistics and the decision. ops has room for two, with clocks
 * after those so far. STAT-1, STEP-6 */
/*@ requires room: 0 <= n <= 9223372036854775805 && \valid(ops + (n .. n + 1));
    requires clock: Clocked(ops, n, t, 0);
    terminates \true; exits \false;
    assigns ops[n .. n + 1];
    ensures length: \result == n + 2;
    ensures clock: Clocked(ops, \result, t + 1, 0);
    ensures ledger: \forall integer g, x, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, x, d) == Agreement(LedgerOf{Pre}(ops, n, g, x, d), g, t);
    ensures rest: SameRest{Pre,Post}(ops, n, \result);
    ensures plain: PlainOps(ops, n, \result) && Placed(ops, n, \result);
    ensures quiet: NoGradients(ops, n, \result);
    ensures first: IsStatistics(ops + n, t);
    ensures second: IsDecision(ops + (n + 1), t);
    ensures stays: SameOps{Pre,Post}(ops, n); */
static int64_t put_agreement(int64_t t, zp_op *ops, int64_t n)
{
  const int64_t agreed = put_statistics(t, ops, n);
  return put_decide(t, ops, agreed);
}

/* The same, and the flat groups in a do not change. a must describe the stage; ops has room for
 * two, with clocks after those so far, and does not overlap the flat groups. STAT-1, STEP-6 */
/*@ requires tail: TailOk(a);
    requires room: 0 <= n <= 9223372036854775805 && \valid(ops + (n .. n + 1));
    requires clear: ClearOfFlats(ops + n, 2, a.flat, a.flats);
    requires clock: Clocked(ops, n, t, 0);
    terminates \true; exits \false;
    assigns ops[n .. n + 1];
    ensures length: \result == n + 2;
    ensures same: SameFlats{Pre,Post}(a.flat, a.flats);
    ensures clock: Clocked(ops, \result, t + 1, 0);
    ensures ledger: \forall integer g, x, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, x, d) == Agreement(LedgerOf{Pre}(ops, n, g, x, d), g, t);
    ensures rest: SameRest{Pre,Post}(ops, n, \result);
    ensures plain: PlainOps(ops, n, \result) && Placed(ops, n, \result);
    ensures quiet: NoGradients(ops, n, \result);
    ensures first: IsStatistics(ops + n, t);
    ensures second: IsDecision(ops + (n + 1), t);
    ensures stays: SameOps{Pre,Post}(ops, n); */
static int64_t put_decision(zp_tail a, int64_t t, zp_op *ops, int64_t n)
{
  (void)a; /* used by the contract only */
  n = put_agreement(t, ops, n);
  //@ assert same: SameFlats{Pre,Here}(a.flat, a.flats);
  return n;
}

/* Appends tied sums and means. t: the pipeline's slots. a must describe the stage; ops has room,
 * with clocks after those so far, and does not overlap the flat groups. TIE-1, STAT-2 */
/*@ requires tail: TailOk(a);
    requires room: 0 <= n <= 4611686018427387904 &&
        \valid(ops + (n .. n + TailBefore(a.flat, a.flats, a.keys) - 2));
    requires apart: FlatsApart(ops, n, TailBefore(a.flat, a.flats, a.keys) - 1, a.flat, a.flats);
    requires time: 0 <= t <= 4194304;
    requires clock: Clocked(ops, n, t, 0);
    terminates \true; exits \false;
    assigns ops[n .. n + TailBefore(a.flat, a.flats, a.keys) - 2];
    ensures length: \result == n + TailBefore{Pre}(a.flat, a.flats, a.keys) - 1;
    ensures tied: KeysOps{Pre,Post}(ops, n, n + KeysLen{Pre}(a.flat, a.flats, a.keys), a.flat,
        a.flats, a.stage, a.reduce, t, a.keys);
    ensures means: MeansOps{Pre,Post}(ops, n + KeysLen{Pre}(a.flat, a.flats, a.keys), \result,
        a.flat, t + 1, a.flats);
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures same: SameFlats{Pre,Post}(a.flat, a.flats);
    ensures clock: Clocked(ops, \result, t + 2, 0);
    ensures ledger: \forall integer g, x, d; HasLedger(g) ==> LedgerOf(ops, \result, g, x, d) ==
        KeysTrace{Pre}(LedgerOf{Pre}(ops, n, g, x, d), a.stage, a.reduce, a.flat, a.flats, a.keys,
          g, x, t);
    ensures rest: SameRest{Pre,Post}(ops, n, \result);
    ensures plain: PlainOps(ops, n, \result) && Placed(ops, n, \result);
    ensures quiet: NoGradients(ops, n, \result); */
static int64_t put_sums(zp_tail a, int64_t t, zp_op *ops, int64_t n)
{
  //@ assert keys: 0 <= KeysLen(a.flat, a.flats, a.keys) <= 1125899906842624;
  //@ assert held: 0 <= Held(a.flat, a.flats) <= 72057594037927936;
  //@ assert apart_tied: FlatsApart(ops, n, KeysLen(a.flat, a.flats, a.keys), a.flat, a.flats);
  const int64_t tied = zp_put_tied(a, t + CLOCK_TIED, ops, n);
  //@ assert fine: FlatsFine(a.flat, a.flats);
  //@ assert same_held: Held(a.flat, a.flats) == Held{Pre}(a.flat, a.flats);
  //@ assert apart_means: FlatsApart(ops, tied, Held(a.flat, a.flats), a.flat, a.flats);
  //@ ghost Between: ;
  const int64_t means = zp_put_means(a, t + CLOCK_MEAN, ops, tied);
  //@ assert some: tied < means ==> 1 <= a.flats;
  //@ assert here: MeansOps{Between,Here}(ops, tied, means, a.flat, t + 1, a.flats);
  //@ assert ops: MeansOps{Pre,Here}(ops, tied, means, a.flat, t + 1, a.flats);
  /*@ assert sums: KeysOps{Pre,Here}(ops, n, tied, a.flat, a.flats, a.stage, a.reduce, t,
        a.keys); */
  //@ assert plain_tied: PlainOps(ops, n, tied) && Placed(ops, n, tied);
  //@ assert quiet: NoGradients(ops, n, tied);
  return means;
}

/* Appends the ops before the update: tied sums, means, the decision. t: the pipeline's slots. a
 * must describe the stage; ops has room, with clocks after those so far, and does not overlap the
 * flat groups. TIE-1, STAT-2, STEP-6 */
/*@ requires tail: TailOk(a);
    requires room: 0 <= n <= 4611686018427387904 &&
        \valid(ops + (n .. n + TailBefore(a.flat, a.flats, a.keys)));
    requires apart: FlatsApart(ops, n, TailBefore(a.flat, a.flats, a.keys) + 1, a.flat, a.flats);
    requires time: 0 <= t <= 4194304;
    requires clock: Clocked(ops, n, t, 0);
    terminates \true; exits \false;
    assigns ops[n .. n + TailBefore(a.flat, a.flats, a.keys)];
    ensures length: \result == n + TailBefore{Pre}(a.flat, a.flats, a.keys) + 1;
    ensures ops: TailOps{Pre,Post}(ops, n, \result, a.flat, a.flats, a.keys, a.stage, a.reduce,
        a.precision, t);
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures same: SameFlats{Pre,Post}(a.flat, a.flats);
    ensures clock: Clocked(ops, \result, t + 3, 0);
    ensures ledger: \forall integer g, x, d; HasLedger(g) ==> LedgerOf(ops, \result, g, x, d) ==
        Agreement(KeysTrace{Pre}(LedgerOf{Pre}(ops, n, g, x, d), a.stage, a.reduce, a.flat, a.flats,
          a.keys, g, x, t), g, t + 2);
    ensures rest: SameRest{Pre,Post}(ops, n, \result);
    ensures plain: PlainOps(ops, n, \result) && Placed(ops, n, \result);
    ensures quiet: NoGradients(ops, n, \result);
    ensures decide: ops[\result - 1].kind == ZP_OP_DECIDE; */
static int64_t put_before(zp_tail a, int64_t t, zp_op *ops, int64_t n)
{
  //@ assert some: 1 <= TailBefore(a.flat, a.flats, a.keys) <= 288230376151711744;
  /*@ assert apart: FlatsApart(ops, n, TailBefore(a.flat, a.flats, a.keys) - 1, a.flat,
        a.flats); */
  const int64_t means = put_sums(a, t, ops, n);
  //@ assert fine: FlatsFine(a.flat, a.flats);
  //@ assert total: means + 1 == n + TailBefore{Pre}(a.flat, a.flats, a.keys);
  //@ assert clear: ClearOfFlats(ops + means, 2, a.flat, a.flats);
  /*@ assert some_held: 0 <= KeysLen{Pre}(a.flat, a.flats, a.keys) && 0 <= Held{Pre}(a.flat,
      a.flats); */
  //@ ghost Between: ;
  const int64_t decided = put_decision(a, t + CLOCK_AGREE, ops, means);
  //@ assert kept: SameOps{Between,Here}(ops, means);
  /*@ assert fewer: SameOps{Between,Here}(ops, n + KeysLen{Pre}(a.flat, a.flats, a.keys)); */
  /*@ assert sums: KeysOps{Pre,Here}(ops, n, n + KeysLen{Pre}(a.flat, a.flats, a.keys), a.flat,
        a.flats, a.stage, a.reduce, t, a.keys); */
  /*@ assert divided: MeansOps{Pre,Here}(ops, n + KeysLen{Pre}(a.flat, a.flats, a.keys), means,
        a.flat, t + 1, a.flats); */
  //@ assert plain_means: PlainOps(ops, n, means);
  //@ assert placed_means: Placed(ops, n, means);
  //@ assert quiet: NoGradients(ops, n, means);
  /*@ assert before: BeforeOps{Pre,Here}(ops, n, n + KeysLen{Pre}(a.flat, a.flats, a.keys), means,
        decided, a.flat, a.flats, a.keys, a.stage, a.reduce, t); */
  return decided;
}

/* Appends all ops after the pipeline's t slots. a must describe the stage; ops has room, with
 * clocks after those so far, and does not overlap the flat groups. TIE-1, STAT-2,
 * STEP-6 … STEP-8 */
/*@ requires tail: TailOk(a);
    requires room: 0 <= n <= 4611686018427387904 &&
        \valid(ops + (n .. n + TailLen(a.stage, a.flat, a.flats, a.keys) - 1));
    requires apart: FlatsApart(ops, n, TailLen(a.stage, a.flat, a.flats, a.keys), a.flat, a.flats);
    requires time: 0 <= t <= 4194304;
    requires clock: Clocked(ops, n, t, 0);
    terminates \true; exits \false;
    assigns ops[n .. n + TailLen(a.stage, a.flat, a.flats, a.keys) - 1];
    ensures length: \result == n + TailLen{Pre}(a.stage, a.flat, a.flats, a.keys);
    ensures ops: TailOps{Pre,Post}(ops, n, \result, a.flat, a.flats, a.keys, a.stage, a.reduce,
        a.precision, t);
    ensures clock: Clocked(ops, \result, t + 4, 0);
    ensures ledger: \forall integer g, x, d; HasLedger(g) ==> LedgerOf(ops, \result, g, x, d) ==
        TailTrace{Pre}(LedgerOf{Pre}(ops, n, g, x, d), a.stage, a.reduce, a.precision, a.flat,
          a.flats, a.keys, g, x, d, t);
    ensures rest: SameRest{Pre,Post}(ops, n, \result);
    ensures plain: PlainOps(ops, n, n + TailBefore{Pre}(a.flat, a.flats, a.keys) + 1);
    ensures placed: Placed(ops, n, \result);
    ensures quiet: NoGradients(ops, n, \result);
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures decide: ops[n + TailBefore{Pre}(a.flat, a.flats, a.keys)].kind == ZP_OP_DECIDE; */
static int64_t put_tail(zp_tail a, int64_t t, zp_op *ops, int64_t n)
{
  //@ assert limit: 0 <= Held(a.flat, a.flats) <= 72057594037927936;
  /*@ assert parts: 0 <= TailBefore(a.flat, a.flats, a.keys) <= 288230376151711744 &&
        TailLen(a.stage, a.flat, a.flats, a.keys) == TailBefore(a.flat, a.flats, a.keys) + 1 +
          UpdateLen(a.stage, Held(a.flat, a.flats)); */
  /*@ assert apart_before:
        FlatsApart(ops, n, TailBefore(a.flat, a.flats, a.keys) + 1, a.flat, a.flats); */
  const int64_t before = put_before(a, t, ops, n);
  //@ assert fine: FlatsFine(a.flat, a.flats);
  //@ assert same_held: Held(a.flat, a.flats) == Held{Pre}(a.flat, a.flats);
  /*@ assert apart_update: FlatsApart(ops, before, UpdateLen(a.stage, Held(a.flat, a.flats)),
        a.flat, a.flats); */
  //@ assert passes: Pass{Pre}(a.flat, a.flats, 0) == Pass(a.flat, a.flats, 0);
  //@ ghost Between: ;
  const int64_t updated = zp_put_update(a, t + CLOCK_UPDATE, ops, before);
  //@ assert some: before < updated ==> 1 <= a.flats;
  /*@ assert here: UpdatesOps{Between,Here}(ops, before, updated, a.flat, a.flats, a.stage,
        a.precision, t + 3); */
  /*@ assert updates: UpdatesOps{Pre,Here}(ops, before, updated, a.flat, a.flats, a.stage,
        a.precision, t + 3); */
  /*@ assert first: TailOps{Pre,Here}(ops, n, before, a.flat, a.flats, a.keys, a.stage, a.reduce,
        a.precision, t); */
  //@ assert plain_before: PlainOps(ops, n, before) && Placed(ops, n, before);
  //@ assert quiet: NoGradients(ops, n, before);
  //@ assert decides: ops[before - 1].kind == ZP_OP_DECIDE;
  return updated;
}

int64_t zp_put_step(const zp_config *cfg, const zp_layout *lay, zp_op *ops)
{
  const int64_t t = zp_slots(cfg->pp, cfg->micro_batches);
  const zp_tail a = {lay->flat,  lay->n_flats, cfg->tied_keys,
                     cfg->stage, cfg->reduce,  cfg->precision};
  //@ assert fits: StageFits(cfg, lay);
  //@ assert limit: 0 <= PipeLen(cfg, lay) <= 2305843009247248384;
  /*@ assert tail_limit: 1 <= TailBefore(a.flat, a.flats, a.keys) <
        TailLen(a.stage, a.flat, a.flats, a.keys) <= 288230376151711744; */
  /*@ assert apart: StepApart(ops, 0, PipeLen(cfg, lay), cfg, cfg->params, cfg->n_params, lay,
        lay->flat, lay->n_flats, lay->spot, lay->n_params); */
  /*@ assert flats: FlatsApart(ops, PipeLen(cfg, lay), TailLen(a.stage, a.flat, a.flats, a.keys),
        a.flat, a.flats); */
  const int64_t pipe = zp_put_pipeline(cfg, lay, ops);
  //@ assert same: SameFlats{Pre,Here}(a.flat, a.flats);
  //@ assert fine: FlatsFine(a.flat, a.flats);
  /*@ assert lengths: TailLen(a.stage, a.flat, a.flats, a.keys) ==
          TailLen{Pre}(a.stage, a.flat, a.flats, a.keys) &&
        TailBefore(a.flat, a.flats, a.keys) == TailBefore{Pre}(a.flat, a.flats, a.keys); */
  //@ assert plain_before: PlainOps(ops, 0, pipe);
  //@ assert placed_before: Placed(ops, 0, pipe);
  //@ ghost Between: ;
  const int64_t all = put_tail(a, t, ops, pipe);
  /*@ assert there: TailOps{Between,Here}(ops, pipe, all, a.flat, a.flats, a.keys, a.stage,
        a.reduce, a.precision, t); */
  /*@ assert stays: TailStays{Pre,Between,Here}(ops, pipe, all, a.flat, a.flats, a.keys, a.stage,
        a.reduce, a.precision, t); */
  /*@ assert tail_ops: TailOps{Pre,Here}(ops, pipe, all, a.flat, a.flats, a.keys, a.stage, a.reduce,
        a.precision, t); */
  //@ assert plain_pipe: PlainOps(ops, 0, pipe);
  //@ assert placed_pipe: Placed(ops, 0, pipe);
  //@ assert plain: PlainOps(ops, 0, pipe + TailBefore{Pre}(a.flat, a.flats, a.keys) + 1);
  //@ assert placed: Placed(ops, 0, all);
  //@ assert pipeline: GradientOps{Pre,Here}(cfg, lay, ops, 0, pipe);
  //@ assert tail: GradientOps{Pre,Here}(cfg, lay, ops, pipe, all);
  return all;
}
