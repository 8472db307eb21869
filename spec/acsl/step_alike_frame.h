/* The STEP program's ledgers read only the configuration and the layout. Include after
 * layout_frame.h, layout_good.h, kept_lemmas.h, still_lemmas.h, step_tail.h and planned.h. */
#ifndef ZP_SPEC_ACSL_STEP_ALIKE_FRAME_H
#define ZP_SPEC_ACSL_STEP_ALIKE_FRAME_H

/*@ predicate SameSwitches{A,B}(zp_config *c) =
      \at(c->stage, A) == \at(c->stage, B) && \at(c->reduce, A) == \at(c->reduce, B) &&
      \at(c->precision, A) == \at(c->precision, B) && \at(c->pp, A) == \at(c->pp, B) &&
      \at(c->micro_batches, A) == \at(c->micro_batches, B) &&
      \at(c->tied_keys, A) == \at(c->tied_keys, B) && \at(c->align, A) == \at(c->align, B);
    lemma Kept_Switches{A,B}: \forall zp_config *c; Kept{A,B}(c) ==>
      SameSwitches{A,B}(c) && SameInput{A,B}(c);
    lemma Stage_Within{L}: \forall zp_config *c, integer s; Valid(c) ==>
      0 <= StageLen(c, s) && StageLen(c, s) <= StageEnd(c, s) && StageEnd(c, s) <= c->n_params;
    predicate SameEntries{A,B}(zp_config *c, integer s) =
      StageEnd{A}(c, s) == StageEnd{B}(c, s) && StageLen{A}(c, s) == StageLen{B}(c, s);
    lemma Span_Frame{A,B}: \forall zp_config *c, integer s; SameInput{A,B}(c) && Valid{A}(c) ==>
      SameEntries{A,B}(c, s);
    // The numbers of entry j of stage s.
    predicate SameNumbers{A,B}(zp_config *c, integer s, integer j) =
      \at(c->params[j].frozen, A) == \at(c->params[j].frozen, B) &&
      \at(c->params[j].fp32, A) == \at(c->params[j].fp32, B) &&
      GroupOf{A}(c, j) == GroupOf{B}(c, j) && MembersOf{A}(c, j) == MembersOf{B}(c, j) &&
      EntryCap{A}(c, j) == EntryCap{B}(c, j) && FlatLen{A}(c, s, j) == FlatLen{B}(c, s, j) &&
      EntryFrom{A}(c, s, j) == EntryFrom{B}(c, s, j) && EntryTo{A}(c, s, j) == EntryTo{B}(c, s, j);
    predicate SameEntryOf{A,B}(zp_config *c, integer j) =
      \at(c->params[j].frozen, A) == \at(c->params[j].frozen, B) &&
      \at(c->params[j].fp32, A) == \at(c->params[j].fp32, B) &&
      \at(c->params[j].numel, A) == \at(c->params[j].numel, B) &&
      GroupOf{A}(c, j) == GroupOf{B}(c, j) && MembersOf{A}(c, j) == MembersOf{B}(c, j) &&
      EntryCap{A}(c, j) == EntryCap{B}(c, j);
    lemma Entry_Numbers{A,B}: \forall zp_config *c, integer j; SameInput{A,B}(c) &&
      0 <= j < \at(c->n_params, A) ==> SameEntryOf{A,B}(c, j);
    lemma Len_Frame{A,B}: \forall zp_config *c, integer s, j; SameInput{A,B}(c) && Valid{A}(c) &&
      SameEntries{A,B}(c, s) && 0 <= j < StageEnd{A}(c, s) ==>
      FlatOf{A}(c, StageEnd{A}(c, s), j) == FlatOf{B}(c, StageEnd{A}(c, s), j) &&
      FlatLen{A}(c, s, j) == FlatLen{B}(c, s, j);
    lemma From_Frame{A,B}: \forall zp_config *c, integer s, j; SameInput{A,B}(c) && Valid{A}(c) &&
      SameEntries{A,B}(c, s) && 0 <= j < StageEnd{A}(c, s) ==>
      EntryFrom{A}(c, s, j) == EntryFrom{B}(c, s, j);
    lemma Numbers_Frame{A,B}: \forall zp_config *c, integer s, j; SameInput{A,B}(c) &&
      Valid{A}(c) && SameEntries{A,B}(c, s) && 0 <= j < StageEnd{A}(c, s) ==>
      SameNumbers{A,B}(c, s, j);
    lemma StepTrace_Frame{A,B}: \forall trace tr, zp_config *c, integer s, j, x, g, t;
      SameSwitches{A,B}(c) && SameNumbers{A,B}(c, s, j) ==>
      StepTrace{A}(tr, c, s, j, x, g, t) == StepTrace{B}(tr, c, s, j, x, g, t);
    predicate SameBackStep{A,B}(zp_config *c, integer s) =
      SameSwitches{A,B}(c) && SameEntries{A,B}(c, s) &&
      (\forall integer j; 0 <= j < StageEnd{A}(c, s) ==> SameNumbers{A,B}(c, s, j));
    lemma Same_Back{A,B}: \forall zp_config *c, integer s; Kept{A,B}(c) && Valid{A}(c) ==>
      SameBackStep{A,B}(c, s);
    lemma Back_Number{A,B}: \forall zp_config *c, integer s, j; SameBackStep{A,B}(c, s) &&
      0 <= j < StageEnd{A}(c, s) ==> SameSwitches{A,B}(c) && SameNumbers{A,B}(c, s, j);
    lemma BackStep_Frame{A,B}: \forall trace tr, zp_config *c, integer s, j, x, g, t;
      SameBackStep{A,B}(c, s) && 0 <= j < StageEnd{A}(c, s) ==>
      StepTrace{A}(tr, c, s, j, x, g, t) == StepTrace{B}(tr, c, s, j, x, g, t);
    lemma Back_End{A,B}: \forall zp_config *c, integer s; SameBackStep{A,B}(c, s) ==>
      StageEnd{A}(c, s) == StageEnd{B}(c, s);
    lemma BackTrace_Frame{A,B}: \forall integer x; 0 <= x ==>
      \forall trace tr, zp_config *c, integer s, g, t;
      SameBackStep{A,B}(c, s) && x <= StageEnd{A}(c, s) ==>
      BackTrace{A}(tr, c, s, g, t, x) == BackTrace{B}(tr, c, s, g, t, x);
    lemma WindowTrace_Frame{A,B}: \forall integer m; 0 <= m ==>
      \forall trace tr, zp_config *c, integer s, g; SameBackStep{A,B}(c, s) &&
      0 <= StageLen{A}(c, s) && StageLen{A}(c, s) <= StageEnd{A}(c, s) ==>
      WindowTrace{A}(tr, c, s, g, m) == WindowTrace{B}(tr, c, s, g, m); */

/* After the pipeline. */
/*@ lemma PassTrace_Frame{A,B}: \forall integer n; 0 <= n ==> \forall trace tr,
      integer stage, precision, zp_flat *f, integer u, g, t; SameFlats{A,B}(f, n) ==>
      GatherPass{A}(tr, stage, precision, f, n, u, g, t) ==
      GatherPass{B}(tr, stage, precision, f, n, u, g, t);
    lemma GatherTrace_Frame{A,B}: \forall integer n; 0 <= n ==> \forall trace tr,
      integer stage, precision, zp_flat *f, integer g, t; SameFlats{A,B}(f, n) ==>
      GatherTrace{A}(tr, stage, precision, f, n, g, t) ==
      GatherTrace{B}(tr, stage, precision, f, n, g, t);
    lemma TailTrace_Frame{A,B}: \forall trace tr, integer stage, exact, precision, zp_flat *f,
      integer n, keys, g, key, d, t; 0 <= n && SameFlats{A,B}(f, n) ==>
      TailTrace{A}(tr, stage, exact, precision, f, n, keys, g, key, d, t) ==
      TailTrace{B}(tr, stage, exact, precision, f, n, keys, g, key, d, t);
    lemma Same_Flats{A,B}: \forall zp_config *c, zp_layout *lay; StepKept{A,B}(c, lay) ==>
      SameFlats{A,B}(\at(lay->flat, A), \at(lay->n_flats, A));
    lemma Window_Kept{A,B}: \forall trace tr, zp_config *c, integer s, g, m; Kept{A,B}(c) &&
      Valid{A}(c) && 0 <= m ==>
      WindowTrace{A}(tr, c, s, g, m) == WindowTrace{B}(tr, c, s, g, m);
    lemma StepLedger_Frame{A,B}: \forall zp_config *c, zp_layout *lay, integer g, key, d;
      StepKept{A,B}(c, lay) && Valid{A}(c) && 0 <= \at(lay->n_flats, A) ==>
      StepLedger{A}(c, lay, g, key, d) == StepLedger{B}(c, lay, g, key, d); */

#endif
