/* The functions of layout.h read only the configuration. Include after layout_same.h. */
#ifndef ZP_SPEC_ACSL_LAYOUT_FRAME_H
#define ZP_SPEC_ACSL_LAYOUT_FRAME_H

/*@ lemma IsBelow_Frame{A,B}: \forall zp_config *c, integer j, s;
      SameInput{A,B}(c) && 0 <= j < \at(c->n_params, A) ==>
      IsBelow{A}(c, j, s) == IsBelow{B}(c, j, s);
    lemma Below_Frame{A,B}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer s;
      SameInput{A,B}(c) && n <= \at(c->n_params, A) ==>
      EntriesBelow{A}(c, n, s) == EntriesBelow{B}(c, n, s);
    lemma Class_Frame{A,B}: \forall zp_config *c, integer j;
      SameInput{A,B}(c) && 0 <= j < \at(c->n_params, A) ==> ClassOf{A}(c, j) == ClassOf{B}(c, j);
    lemma Leader_Frame{A,B}: \forall integer n; 1 <= n ==> \forall zp_config *c, integer k, j;
      SameInput{A,B}(c) && 0 <= j && j + n <= \at(c->n_params, A) ==>
      Leader{A}(c, k, j, n) == Leader{B}(c, k, j, n);
    lemma Uses_Frame{A,B}: \forall integer n; 1 <= n ==> \forall zp_config *c, integer k, j;
      SameInput{A,B}(c) && 0 <= j && j + n <= \at(c->n_params, A) ==>
      UsesBefore{A}(c, k, j, n) == UsesBefore{B}(c, k, j, n);
    lemma Head_Frame{A,B}: \forall zp_config *c, integer e, j;
      SameInput{A,B}(c) && 0 <= j < e <= \at(c->n_params, A) ==>
      HeadOf{A}(c, e, j) == HeadOf{B}(c, e, j);
    lemma Use_Frame{A,B}: \forall zp_config *c, integer e, j;
      SameInput{A,B}(c) && 0 <= j < e <= \at(c->n_params, A) ==>
      UseOf{A}(c, e, j) == UseOf{B}(c, e, j);
    lemma Opens_Frame{A,B}: \forall zp_config *c, integer e, j; SameInput{A,B}(c) &&
      0 <= j < e <= \at(c->n_params, A) ==> Opens{A}(c, e, j) == Opens{B}(c, e, j);
    lemma Count_Frame{A,B}: \forall integer x; 0 <= x ==> \forall zp_config *c, integer e;
      SameInput{A,B}(c) && x <= e <= \at(c->n_params, A) ==>
      FlatCount{A}(c, e, x) == FlatCount{B}(c, e, x);
    lemma At_Frame{A,B}: \forall zp_config *c, integer e, j;
      SameInput{A,B}(c) && 0 <= j < e <= \at(c->n_params, A) ==>
      FlatAt{A}(c, e, j) == FlatAt{B}(c, e, j);
    lemma Opener_Frame{A,B}: \forall integer x; 0 <= x ==> \forall zp_config *c, integer e, k;
      SameInput{A,B}(c) && x <= e <= \at(c->n_params, A) ==>
      Opener{A}(c, e, x, k) == Opener{B}(c, e, x, k); */

/*@ lemma Flat_Frame{A,B}: \forall zp_config *c, integer e, j;
      SameInput{A,B}(c) && 0 <= j < e <= \at(c->n_params, A) ==>
      FlatOf{A}(c, e, j) == FlatOf{B}(c, e, j);
    lemma Brings_Frame{A,B}: \forall zp_config *c, integer e, j, k;
      SameInput{A,B}(c) && 0 <= j < e <= \at(c->n_params, A) ==>
      Brings{A}(c, e, j, k) == Brings{B}(c, e, j, k);
    lemma Numel_Frame{A,B}: \forall integer x; 0 <= x ==> \forall zp_config *c, integer e, k;
      SameInput{A,B}(c) && x <= e <= \at(c->n_params, A) ==>
      FlatNumel{A}(c, e, x, k) == FlatNumel{B}(c, e, x, k);
    lemma Start_Frame{A,B}: \forall zp_config *c, integer e, j;
      SameInput{A,B}(c) && 0 <= j < e <= \at(c->n_params, A) ==>
      StartOf{A}(c, e, j) == StartOf{B}(c, e, j); */

/*@ lemma Valid_Same{A,B}: \forall zp_config *c;
      SameConfig{A,B}(c) && Valid{A}(c) ==> Valid{B}(c); */

#endif
