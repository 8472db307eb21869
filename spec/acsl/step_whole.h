/* From numbers of the layout to the configuration, and limits, for the STEP program as a whole.
 * Include after ref/plan/step_internal.h. LEDG-3, LEDG-6, LEDG-8, RED-3 */
#ifndef ZP_SPEC_ACSL_STEP_WHOLE_H
#define ZP_SPEC_ACSL_STEP_WHOLE_H

#include "bounds.h"

/* ---- The layout's numbers are the configuration's ---- */
/*@ // The x-th entry in backward order, counted from 0.
    lemma Raw_Nth{L}: \forall zp_config *c, zp_layout *lay, integer x;
      StageSeen(c, lay) && 0 <= x < lay->n_params ==>
      EntrySeen(c, lay, lay->n_params - (x + 1)) &&
      StageEnd(c, lay->stage) - (x + 1) == lay->first_param + (lay->n_params - (x + 1));
    lemma Raw_TraceAt{L}: \forall trace tr, zp_config *c, zp_layout *lay, integer g, t, i;
      StageSeen(c, lay) && 0 <= i < lay->n_params ==> RawTrace(tr, c, lay, i, g, t) ==
      StepTrace(tr, c, lay->stage, StageEnd(c, lay->stage) - (lay->n_params - i),
        lay->n_params - i, g, t);
    predicate IsNth{L}(zp_layout *lay, integer i, integer j) = j == lay->first_param + i;
    lemma Raw_DoneSeen{L}: \forall zp_config *c, zp_layout *lay, integer i, j, k, b;
      EntrySeen(c, lay, i) && IsNth(lay, i, j) ==>
      RawDone(c, lay, i, k, b) == StepDone(c, lay->stage, j, k, b);
    lemma Raw_IsNth{L}: \forall zp_config *c, zp_layout *lay, integer i;
      StageSeen(c, lay) && 0 <= i < lay->n_params ==> EntrySeen(c, lay, i) &&
      IsNth(lay, i, StageEnd(c, lay->stage) - (lay->n_params - i));
    lemma Raw_DoneAt{L}: \forall zp_config *c, zp_layout *lay, integer i, k, b;
      StageSeen(c, lay) && 0 <= i < lay->n_params ==> EntrySeen(c, lay, i) &&
      RawDone(c, lay, i, k, b) ==
      StepDone(c, lay->stage, StageEnd(c, lay->stage) - (lay->n_params - i), k, b);
    lemma Raw_NthTrace{L}: \forall trace tr, zp_config *c, zp_layout *lay, integer g, t, x;
      StageSeen(c, lay) && 0 <= x < lay->n_params ==>
      RawTrace(tr, c, lay, lay->n_params - (x + 1), g, t) ==
      StepTrace(tr, c, lay->stage, StageEnd(c, lay->stage) - (x + 1), x + 1, g, t);
    lemma Raw_NthAdds{L}: \forall zp_config *c, zp_layout *lay, integer x, p, e, k, b;
      StageSeen(c, lay) && 0 <= x < lay->n_params ==>
      RawAdds(c, lay, lay->n_params - (x + 1), p, e, k, b) ==
      StepAdds(c, lay->stage, StageEnd(c, lay->stage) - (x + 1), p, e, k, b);
    lemma Raw_NthDone{L}: \forall zp_config *c, zp_layout *lay, integer x, k, b;
      StageSeen(c, lay) && 0 <= x < lay->n_params ==>
      RawDone(c, lay, lay->n_params - (x + 1), k, b) ==
      StepDone(c, lay->stage, StageEnd(c, lay->stage) - (x + 1), k, b);
    lemma Raw_TraceStep{L}: \forall trace tr, zp_config *c, zp_layout *lay, integer g, t, x;
      StageSeen(c, lay) && 0 <= x < lay->n_params &&
      RawBackTrace(tr, c, lay, g, t, x) == BackTrace(tr, c, lay->stage, g, t, x) ==>
      RawBackTrace(tr, c, lay, g, t, x + 1) == BackTrace(tr, c, lay->stage, g, t, x + 1);
    lemma Raw_AddsStep{L}: \forall zp_config *c, zp_layout *lay, integer x, p, e, k, b;
      StageSeen(c, lay) && 0 <= x < lay->n_params &&
      RawBackAdds(c, lay, x, p, e, k, b) == AddsOf(c, lay->stage, x, p, e, k, b) ==>
      RawBackAdds(c, lay, x + 1, p, e, k, b) == AddsOf(c, lay->stage, x + 1, p, e, k, b);
    lemma Raw_DoneStep{L}: \forall zp_config *c, zp_layout *lay, integer x, k, b;
      StageSeen(c, lay) && 0 <= x < lay->n_params &&
      RawBackDone(c, lay, x, k, b) == DoneOf(c, lay->stage, x, k, b) ==>
      RawBackDone(c, lay, x + 1, k, b) == DoneOf(c, lay->stage, x + 1, k, b);
    lemma Raw_BackTrace{L}: \forall integer x; 0 <= x ==>
      \forall trace tr, zp_config *c, zp_layout *lay, integer g, t;
      StageSeen(c, lay) && x <= lay->n_params ==>
      RawBackTrace(tr, c, lay, g, t, x) == BackTrace(tr, c, lay->stage, g, t, x);
    lemma Raw_BackAdds{L}: \forall integer x; 0 <= x ==>
      \forall zp_config *c, zp_layout *lay, integer p, e, k, b;
      StageSeen(c, lay) && x <= lay->n_params ==>
      RawBackAdds(c, lay, x, p, e, k, b) == AddsOf(c, lay->stage, x, p, e, k, b);
    lemma Raw_BackDone{L}: \forall integer x; 0 <= x ==>
      \forall zp_config *c, zp_layout *lay, integer k, b;
      StageSeen(c, lay) && x <= lay->n_params ==>
      RawBackDone(c, lay, x, k, b) == DoneOf(c, lay->stage, x, k, b);
    lemma Raw_Window{L}: \forall integer m; 0 <= m ==>
      \forall trace tr, zp_config *c, zp_layout *lay, integer g; StageSeen(c, lay) ==>
      MicrosTrace(tr, c, lay, g, m) == WindowTrace(tr, c, lay->stage, g, m);
    lemma Raw_Added{L}: \forall zp_config *c, zp_layout *lay, integer p, m, e, k, b;
      StageSeen(c, lay) ==> StepAdded(c, lay->stage, p, m, e, k, b) ==
        (0 <= m < c->micro_batches ? MicroAdds(c, lay, p, e, k, b) : 0);
    lemma Raw_Reduced{L}: \forall zp_config *c, zp_layout *lay, integer k, b, m;
      StageSeen(c, lay) ==> StepReduced(c, lay->stage, k, b, m) ==
        (0 <= m < c->micro_batches ? MicroDone(c, lay, m, k, b) : 0);
*/

/* ---- Limits ---- */
/*@ lemma Stages_Limit: \forall integer pp, dp, tp, ep; ValidTopology(pp, dp, tp, ep) ==>
      1 <= pp <= ZP_LIMIT_RANKS;
    lemma Whole_Fits{L}: \forall zp_config *c, zp_layout *lay; Valid(c) && StageSeen(c, lay) ==>
      StageFits(c, lay);
    lemma Raw_Most{L}: \forall zp_config *c, zp_layout *lay, integer i, r;
      EntryFits(c, lay, i) && 0 <= c->params[lay->first_param + i].numel ==>
      0 <= RawLen(c, lay, i, r) <= 2 * c->params[lay->first_param + i].numel;
    lemma Raw_Held{L}: \forall zp_config *c, zp_layout *lay, integer i, r;
      Valid(c) && StageFits(c, lay) && 0 <= i < lay->n_params ==>
      RawLen(c, lay, i, r) <= 2 * HeldElements(c, lay->first_param + i);
    lemma RawBack_Elements{L}: \forall integer x; 0 <= x ==>
      \forall zp_config *c, zp_layout *lay, integer r;
      Valid(c) && StageFits(c, lay) && x <= lay->n_params ==> RawBackLen(c, lay, r, x) +
        2 * Elements(c, lay->first_param + lay->n_params - x) <=
        2 * Elements(c, lay->first_param + lay->n_params);
    lemma RawBack_Limit{L}: \forall zp_config *c, zp_layout *lay, integer r;
      Valid(c) && StageFits(c, lay) ==>
      0 <= RawBackLen(c, lay, r, lay->n_params) <= 2199023255552;
    lemma Micro_Limit{L}: \forall zp_config *c, zp_layout *lay, integer m;
      Valid(c) && StageFits(c, lay) ==> 0 <= MicroLen(c, lay, m) <= 2199023255552;
    lemma Micros_Limit{L}: \forall integer m; 0 <= m ==> \forall zp_config *c, zp_layout *lay;
      Valid(c) && StageFits(c, lay) ==> 0 <= MicrosLen(c, lay, m) <= m * 2199023255552;
    lemma Pipe_Sum{L}: \forall zp_config *c, zp_layout *lay; StageFits(c, lay) ==>
      PipeLen(c, lay) == HeadsLen(c->pp, c->micro_batches, lay->stage, c->dynamic_shapes,
        SlotsOf(c)) + MicrosLen(c, lay, c->micro_batches);
    lemma Pipe_Heads{L}: \forall zp_config *c, zp_layout *lay; StageFits(c, lay) ==>
      0 <= HeadsLen(c->pp, c->micro_batches, lay->stage, c->dynamic_shapes, SlotsOf(c)) <=
        33554432;
    lemma Pipe_Limit{L}: \forall zp_config *c, zp_layout *lay; Valid(c) && StageFits(c, lay) ==>
      0 <= PipeLen(c, lay) <= 2305843009247248384;
    lemma Kept_SameFlats{A,B}: \forall zp_config *c, zp_layout *lay; StepKept{A,B}(c, lay) ==>
      SameFlats{A,B}(\at(lay->flat, A), \at(lay->n_flats, A));
*/

/* ---- Joining ---- */
/*@ lemma Plain_Join{L}: \forall zp_op *ops, integer a, b, c;
      PlainOps(ops, a, b) && PlainOps(ops, b, c) ==> PlainOps(ops, a, c);
    lemma Placed_Join{L}: \forall zp_op *ops, integer a, b, c;
      Placed(ops, a, b) && Placed(ops, b, c) ==> Placed(ops, a, c);
    lemma Apart_Clear: \forall zp_op *ops, integer n, len, zp_config *c, zp_param *ps, integer np,
      zp_layout *lay, zp_flat *fs, integer nf, zp_spot *sp, integer ns, integer p, m;
      StepApart(ops, n, len, c, ps, np, lay, fs, nf, sp, ns) && n <= p && 0 <= m &&
      p + m <= n + len ==> Clear(ops + p, m, c, ps, np, lay, fs, nf) &&
      ClearOfFlats(ops + p, m, fs, nf);
    lemma Apart_Flats: \forall zp_op *ops, integer n, len, zp_config *c, zp_param *ps, integer np,
      zp_layout *lay, zp_flat *fs, integer nf, zp_spot *sp, integer ns, integer p, m;
      StepApart(ops, n, len, c, ps, np, lay, fs, nf, sp, ns) && n <= p && 0 <= m &&
      p + m <= n + len ==> FlatsApart(ops, p, m, fs, nf);
*/

/* ---- LEDG-8: the length, from one backward without and one with reductions ---- */
/*@ // For m micro-batches of `each` ops.
    logic integer MicrosOf(integer m, integer each) = m <= 0 ? 0 : MicrosOf(m - 1, each) + each;
    lemma MicrosOf_Product: \forall integer m; 0 <= m ==> \forall integer each;
      MicrosOf(m, each) == m * each;
    lemma Micros_Each{L}: \forall integer m; 0 <= m ==> \forall zp_config *c, zp_layout *lay;
      c->stage == 2 ==> MicrosLen(c, lay, m) == MicrosOf(m, RawBackLen(c, lay, 1, lay->n_params));
    lemma Micros_Window{L}: \forall integer m; 0 <= m ==> \forall zp_config *c, zp_layout *lay;
      c->stage != 2 && m < c->micro_batches ==>
      MicrosLen(c, lay, m) == MicrosOf(m, RawBackLen(c, lay, 0, lay->n_params));
    lemma MicrosOf_Range: \forall integer m; 0 <= m ==> \forall integer each;
      0 <= each <= 2199023255552 ==> 0 <= MicrosOf(m, each) <= m * 2199023255552;
    lemma Micros_All{L}: \forall zp_config *c, zp_layout *lay; 1 <= c->micro_batches ==>
      (c->stage == 2 ==> MicrosLen(c, lay, c->micro_batches) ==
        MicrosOf(c->micro_batches, RawBackLen(c, lay, 1, lay->n_params))) &&
      (c->stage != 2 ==> MicrosLen(c, lay, c->micro_batches) ==
        MicrosOf(c->micro_batches - 1, RawBackLen(c, lay, 0, lay->n_params)) +
        RawBackLen(c, lay, 1, lay->n_params));
*/

#endif
