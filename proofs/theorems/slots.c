/* Family 2, the bucket slots that gradients are added to: a bucket is reduced after all of it is
 * added, and nothing is added to another bucket in between. `collected` is about any program in
 * memory whose ops have the clocks of PIPE-5; `planned` shows this of every program that the
 * planner writes. RED-3, PIPE-4, PIPE-5 */
#include "../../ref/plan/step_internal.h"
#include "../../spec/acsl/layout_lemmas.h"

#include "../../spec/acsl/layout_good.h"

#include "../../spec/acsl/ledger_lemmas.h"
#include "../../spec/acsl/pipeline_lemmas.h"
#include "../../spec/acsl/step_slots.h"

#include "../../spec/acsl/apart_lemmas.h"
#include "../../spec/acsl/kept_lemmas.h"
#include "../../spec/acsl/planned_lemmas.h"

#include "../../spec/acsl/layout_same.h"

#include "../../spec/acsl/still_lemmas.h"

#include "../../spec/acsl/step_where_stays.h"

//@ check lemma sentinel_slots: \false;

/* Op r of a program of n ops reduces bucket b of flat group k after micro-batch mb. cfg is valid
 * and s a stage; gradients are added and reduced at the clocks of PIPE-5, which increase. */
/*@ requires cfg: Valid(cfg);
    requires program: InPlace(cfg, s, ops, n) && Increasing(ops, n);
    requires reduction: 0 <= r < n && IsReductionOf(ops + r, k, mb, b);
    terminates \true; exits \false;
    assigns \nothing;
    ensures complete: \forall integer x, e; NoAdds(ops, r, n, x, mb, e, k, b) &&
        Added(ops, r, x, mb, e, k, b) == Added(ops, n, x, mb, e, k, b);
    ensures alone: \forall integer a, q; 0 <= a <= q <= r && IsAdd(ops + a, k) &&
        IsAdd(ops + q, k) && SameBucket(ops + a, ops + r) ==> SameBucket(ops + q, ops + r);
    ensures free: \forall integer q; 0 <= q < n && IsAdd(ops + q, k) &&
        OpLater(ops + r, ops + q) ==> r < q;
    check ensures control: \forall integer q; 0 <= q < n && IsAdd(ops + q, k) ==> r < q; */
void collected(const zp_config *cfg, int32_t s, const zp_op *ops, int64_t n, int64_t r, int32_t k,
               int64_t mb, int64_t b)
{
  (void)cfg, (void)s, (void)ops, (void)n, (void)r, (void)k, (void)mb, (void)b;
}

/* The planner writes the STEP program of the rank at `at`. cfg is valid, `at` a rank, lay the
 * layout of its stage; ops has room for cap ops and does not overlap any input. */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires at: 0 <= at.pp < cfg->pp && 0 <= at.dp < cfg->dp && 0 <= at.tp < cfg->tp;
    requires lay: ReadableLayout(lay) && LayoutOf(cfg, at.pp, lay);
    requires ops: 0 <= cap && \valid(ops + (0 .. cap - 1));
    requires apart: \separated(ops + (0 .. cap - 1), cfg, lay,
        cfg->params + (0 .. cfg->n_params - 1), lay->flat + (0 .. lay->n_flats - 1),
        lay->spot + (0 .. lay->n_params - 1));
    terminates \true; exits \false;
    assigns ops[0 .. cap - 1];
    ensures written: -1 <= \result <= cap;
    ensures clock: 0 <= \result ==> Increasing(ops, \result);
    ensures gradients: 0 <= \result ==> GradientOps{Pre,Post}(cfg, lay, ops, 0, \result); */
static int64_t writes_step(const zp_config *cfg, const zp_layout *lay, zp_coord at, zp_op *ops,
                           int64_t cap)
{
  return zp_program_write(cfg, lay, ZP_PHASE_STEP, at, ops, cap);
}

/* The same, and its inputs do not change. */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires at: 0 <= at.pp < cfg->pp && 0 <= at.dp < cfg->dp && 0 <= at.tp < cfg->tp;
    requires lay: ReadableLayout(lay) && LayoutOf(cfg, at.pp, lay);
    requires ops: 0 <= cap && \valid(ops + (0 .. cap - 1));
    requires apart: \separated(ops + (0 .. cap - 1), cfg, lay,
        cfg->params + (0 .. cfg->n_params - 1), lay->flat + (0 .. lay->n_flats - 1),
        lay->spot + (0 .. lay->n_params - 1));
    terminates \true; exits \false;
    assigns ops[0 .. cap - 1];
    ensures written: -1 <= \result <= cap;
    ensures clock: 0 <= \result ==> Increasing(ops, \result);
    ensures gradients: 0 <= \result ==> GradientOps{Pre,Post}(cfg, lay, ops, 0, \result);
    ensures still: StillLayout{Pre,Post}(cfg, lay); */
static int64_t writes_apart(const zp_config *cfg, const zp_layout *lay, zp_coord at, zp_op *ops,
                            int64_t cap)
{
  //@ assert far_config: FarFromConfig(ops, cap, cfg);
  //@ assert far_entries: FarFromEntries(ops, cap, cfg->params, cfg->n_params);
  //@ assert far_layout: FarFromLayout(ops, cap, lay);
  //@ assert far_flats: FarFromFlats(ops, cap, lay->flat, lay->n_flats);
  //@ assert far_spots: FarFromSpots(ops, cap, lay->spot, lay->n_params);
  //@ assert clear_config: ClearOfConfig(ops + 0, cap, cfg);
  //@ assert clear_entries: ClearOfEntries(ops + 0, cap, cfg->params, cfg->n_params);
  //@ assert clear_layout: ClearOfLayout(ops + 0, cap, lay);
  //@ assert clear_flats: ClearOfFlats(ops + 0, cap, lay->flat, lay->n_flats);
  //@ assert clear_holders: ClearOfHolders(ops + 0, cap, lay->flat, lay->n_flats);
  //@ assert clear_spots: ClearOfSpots(ops + 0, cap, lay->spot, lay->n_params);
  const int64_t n = writes_step(cfg, lay, at, ops, cap);
  //@ assert scalars: SameScalars{Pre,Here}(cfg);
  //@ assert stage: KeptStage{Pre,Here}(lay);
  //@ assert spot: \at(lay->spot, Pre) == lay->spot;
  //@ assert entries: KeptEntries{Pre,Here}(cfg);
  //@ assert kept: Kept{Pre,Here}(cfg);
  //@ assert holders: StillFlats{Pre,Here}(lay);
  //@ assert flats: KeptFlats{Pre,Here}(lay);
  //@ assert spots: KeptSpots{Pre,Here}(lay);
  //@ assert still: StillLayout{Pre,Here}(cfg, lay);
  return n;
}

/* The additions and reductions of the written program have the clocks of PIPE-5, which increase. */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires at: 0 <= at.pp < cfg->pp && 0 <= at.dp < cfg->dp && 0 <= at.tp < cfg->tp;
    requires lay: ReadableLayout(lay) && LayoutOf(cfg, at.pp, lay);
    requires ops: 0 <= cap && \valid(ops + (0 .. cap - 1));
    requires apart: \separated(ops + (0 .. cap - 1), cfg, lay,
        cfg->params + (0 .. cfg->n_params - 1), lay->flat + (0 .. lay->n_flats - 1),
        lay->spot + (0 .. lay->n_params - 1));
    terminates \true; exits \false;
    assigns ops[0 .. cap - 1];
    ensures written: -1 <= \result <= cap;
    ensures valid: Valid(cfg);
    ensures in_place: 0 <= \result ==> InPlace(cfg, at.pp, ops, \result);
    ensures clock: 0 <= \result ==> Increasing(ops, \result);
    check ensures control: 0 <= \result ==> InPlace(cfg, at.pp + 1, ops, \result); */
static int64_t writes_in_place(const zp_config *cfg, const zp_layout *lay, zp_coord at, zp_op *ops,
                               int64_t cap)
{
  //@ assert planned: lay->stage == at.pp && Planned(cfg, lay);
  //@ assert seen: StageSeen(cfg, lay);
  const int64_t n = writes_apart(cfg, lay, at, ops, cap);
  //@ assert valid: Valid(cfg);
  //@ assert layout: LayoutOf(cfg, at.pp, lay);
  //@ assert planned_still: lay->stage == at.pp && Planned(cfg, lay);
  //@ assert seen_still: StageSeen(cfg, lay);
  //@ assert gradients: 0 <= n ==> GradientOps{Here,Here}(cfg, lay, ops, 0, n);
  return n;
}

/* So for each op r that reduces bucket b of flat group k after micro-batch mb: all additions of the
 * program to the bucket come before; nothing is added to another bucket in between; additions to
 * later fills come after. */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires at: 0 <= at.pp < cfg->pp && 0 <= at.dp < cfg->dp && 0 <= at.tp < cfg->tp;
    requires lay: ReadableLayout(lay) && LayoutOf(cfg, at.pp, lay);
    requires ops: 0 <= cap && \valid(ops + (0 .. cap - 1));
    requires apart: \separated(ops + (0 .. cap - 1), cfg, lay,
        cfg->params + (0 .. cfg->n_params - 1), lay->flat + (0 .. lay->n_flats - 1),
        lay->spot + (0 .. lay->n_params - 1));
    terminates \true; exits \false;
    assigns ops[0 .. cap - 1];
    ensures written: -1 <= \result <= cap;
    ensures complete: 0 <= r < \result && IsReductionOf(ops + r, k, mb, b) ==>
        \forall integer x, e; NoAdds(ops, r, \result, x, mb, e, k, b) &&
        Added(ops, r, x, mb, e, k, b) == Added(ops, \result, x, mb, e, k, b);
    ensures alone: 0 <= r < \result && IsReductionOf(ops + r, k, mb, b) ==>
        \forall integer a, q; 0 <= a <= q <= r && IsAdd(ops + a, k) && IsAdd(ops + q, k) &&
        SameBucket(ops + a, ops + r) ==> SameBucket(ops + q, ops + r);
    ensures free: 0 <= r < \result && IsReductionOf(ops + r, k, mb, b) ==>
        \forall integer q; 0 <= q < \result && IsAdd(ops + q, k) &&
        OpLater(ops + r, ops + q) ==> r < q;
    check ensures control: 0 <= r < \result && IsReductionOf(ops + r, k, mb, b) ==>
        \forall integer q; 0 <= q < \result && IsAdd(ops + q, k) ==> r < q; */
int64_t planned(const zp_config *cfg, const zp_layout *lay, zp_coord at, zp_op *ops, int64_t cap,
                int64_t r, int32_t k, int64_t mb, int64_t b)
{
  const int64_t n = writes_in_place(cfg, lay, at, ops, cap);
  if (r < 0 || n <= r || ops[r].what != ZP_WHAT_GRADIENT) return n;
  if (ops[r].flat != k || ops[r].mb != mb || ops[r].bucket != b) return n;
  collected(cfg, at.pp, ops, n, r, k, mb, b);
  return n;
}

/* The elements that a backward of stage s adds, and the buckets that it completes, in flat group k,
 * whose capacity is cap. cfg is valid, k is not negative. */
/*@ requires cfg: Valid(cfg);
    requires group: 0 <= k && CapIs(cfg, s, k, cap);
    terminates \true; exits \false;
    assigns \nothing;
    ensures added: \forall integer p, e; StageFirst(cfg, s) <= p < StageEnd(cfg, s) &&
        IsElement(cfg, p, e) ==> AddsOf(cfg, s, StageLen(cfg, s), p, e,
          FlatOf(cfg, StageEnd(cfg, s), p), SlotBucket(cfg, s, p, e)) == 1;
    ensures nowhere: \forall integer p, e, b; StageFirst(cfg, s) <= p < StageEnd(cfg, s) &&
        !(IsElement(cfg, p, e) && k == FlatOf(cfg, StageEnd(cfg, s), p) &&
          b == SlotBucket(cfg, s, p, e)) ==>
        AddsOf(cfg, s, StageLen(cfg, s), p, e, k, b) == 0;
    ensures once: \forall integer b; 0 <= b < Collections(cfg, s, k, cap) ==>
        DoneOf(cfg, s, LastOf(cfg, s, k, cap, b), k, b) == 1 &&
        DoneOf(cfg, s, StageLen(cfg, s), k, b) == 1;
    check ensures control: \forall integer b; 0 <= b < Collections(cfg, s, k, cap) ==>
        DoneOf(cfg, s, StageLen(cfg, s), k, b) == 2; */
void backward(const zp_config *cfg, int32_t s, int32_t k, int64_t cap)
{
  (void)cfg, (void)s, (void)k, (void)cap;
}
