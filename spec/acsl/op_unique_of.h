/* A program's predicate determines the program: two programs of one phase, of one configuration,
 * layout and rank, have the same length and are equal op by op in every field. Include after the
 * other op_unique headers. LEDG-1, STEP-2 */
#ifndef ZP_SPEC_ACSL_OP_UNIQUE_OF_H
#define ZP_SPEC_ACSL_OP_UNIQUE_OF_H

/*@ // a has n ops, b has m: as many, and each is the same in every field.
    predicate EqualPrograms{A,B}(zp_op *a, integer n, zp_op *b, integer m) =
      n == m && EqualRange{A,B}(a, b, 0, n);
*/

/* ---- INIT ---- */
/*@ lemma Init_Length{F,A}: \forall zp_op *v, integer n, zp_config *c, zp_layout *lay;
      InitOf{F,A}(v, n, c, lay) ==> n == DpEnd{F}(c, 5 + \at(c->tied_keys, F),
        \at(lay->stage, F), \at(lay->first_param, F), \at(lay->n_params, F)) + 1;
    lemma Init_Creations{F,A,B}: \forall zp_op *v, zp_op *w, integer n, m, zp_config *c,
      zp_layout *lay; InitOf{F,A}(v, n, c, lay) && InitOf{F,B}(w, m, c, lay) ==>
      EqualRange{A,B}(v, w, 0, 5 + \at(c->tied_keys, F));
    lemma Init_Firsts{F,A,B}: \forall zp_op *v, zp_op *w, integer n, m, zp_config *c,
      zp_layout *lay; 0 <= \at(c->tied_keys, F) && 0 <= \at(lay->n_params, F) &&
      InitOf{F,A}(v, n, c, lay) && InitOf{F,B}(w, m, c, lay) ==>
      EqualRange{A,B}(v, w, 5 + \at(c->tied_keys, F), n);
    lemma Init_Unique{F,A,B}: \forall zp_op *v, zp_op *w, integer n, m, zp_config *c,
      zp_layout *lay; 0 <= \at(c->tied_keys, F) && 0 <= \at(lay->n_params, F) &&
      InitOf{F,A}(v, n, c, lay) && InitOf{F,B}(w, m, c, lay) ==>
      EqualPrograms{A,B}(v, n, w, m);
*/

/* ---- STEP ---- */
/*@ lemma Step_TwoRuns{F,A,B}: \forall zp_op *v, zp_op *w, integer n, m, zp_config *c,
      zp_layout *lay; StageFits{F}(c, lay) && StepOf{F,A}(v, n, c, lay) &&
      StepOf{F,B}(w, m, c, lay) ==>
      TwoRuns{F,A,B}(v, w, PipeLen{F}(c, lay), c, lay, SlotsOf{F}(c));
    lemma Step_SlotsRange{F}: \forall zp_config *c, zp_layout *lay; StageFits(c, lay) ==>
      0 <= SlotsOf(c);
    lemma Step_EqualSlots{F,A,B}: \forall zp_op *v, zp_op *w, zp_config *c, zp_layout *lay;
      StageFits{F}(c, lay) && TwoRuns{F,A,B}(v, w, PipeLen{F}(c, lay), c, lay, SlotsOf{F}(c)) ==>
      EqualSlots{F,A,B}(v, w, c, lay, SlotsOf{F}(c));
    lemma Step_Slots{F,A,B}: \forall zp_op *v, zp_op *w, integer n, m, zp_config *c,
      zp_layout *lay; StageFits{F}(c, lay) && StepOf{F,A}(v, n, c, lay) &&
      StepOf{F,B}(w, m, c, lay) ==> EqualRange{A,B}(v, w, 0, PipeLen{F}(c, lay));
    lemma Step_Tail{F,A,B}: \forall zp_op *v, zp_op *w, integer n, m, zp_config *c,
      zp_layout *lay; 0 <= \at(lay->n_flats, F) && StepOf{F,A}(v, n, c, lay) &&
      StepOf{F,B}(w, m, c, lay) ==> EqualRange{A,B}(v, w, PipeLen{F}(c, lay), n);
    lemma Step_Unique{F,A,B}: \forall zp_op *v, zp_op *w, integer n, m, zp_config *c,
      zp_layout *lay; StageFits{F}(c, lay) && StepOf{F,A}(v, n, c, lay) &&
      StepOf{F,B}(w, m, c, lay) ==> EqualPrograms{A,B}(v, n, w, m);
*/

/* ---- SAVE, and every phase ---- */
/*@ lemma Save_Unique{F,A,B}: \forall zp_op *v, zp_op *w, integer n, m, zp_config *c,
      zp_layout *lay, integer dp, tp; 0 <= \at(lay->n_flats, F) &&
      SaveOf{F,A}(v, n, c, lay, dp, tp) && SaveOf{F,B}(w, m, c, lay, dp, tp) ==>
      EqualPrograms{A,B}(v, n, w, m);
    lemma OpsOf_Unique{F,A,B}: \forall zp_op *v, zp_op *w, integer n, m, zp_config *c,
      zp_layout *lay, integer phase, dp, tp; 0 <= phase < ZP_PHASES && StageFits{F}(c, lay) &&
      OpsOf{F,A}(v, n, c, lay, phase, dp, tp) && OpsOf{F,B}(w, m, c, lay, phase, dp, tp) ==>
      EqualPrograms{A,B}(v, n, w, m);
    // Each op alone, in every field.
    lemma OpsOf_Op{F,A,B}: \forall zp_op *v, zp_op *w, integer n, m, p, zp_config *c,
      zp_layout *lay, integer phase, dp, tp; 0 <= phase < ZP_PHASES && StageFits{F}(c, lay) &&
      OpsOf{F,A}(v, n, c, lay, phase, dp, tp) && OpsOf{F,B}(w, m, c, lay, phase, dp, tp) &&
      0 <= p < n ==> EqualOps{A,B}(v + p, w + p);
    // A STEP program has no dp or tp index: it is the same for all ranks of the stage.
    lemma OpsOf_StepAnywhere{F,A,B}: \forall zp_op *v, zp_op *w, integer n, m, zp_config *c,
      zp_layout *lay, integer dp, tp, d, t; StageFits{F}(c, lay) &&
      OpsOf{F,A}(v, n, c, lay, ZP_PHASE_STEP, dp, tp) &&
      OpsOf{F,B}(w, m, c, lay, ZP_PHASE_STEP, d, t) ==> EqualPrograms{A,B}(v, n, w, m);
*/

#endif
