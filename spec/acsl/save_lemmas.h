/* Lemmas about the functions of SAVE in init_save.h. */
#ifndef ZP_SPEC_ACSL_SAVE_LEMMAS_H
#define ZP_SPEC_ACSL_SAVE_LEMMAS_H

#include "bucket_lemmas.h"

/* Stages of a key. */
/*@ lemma CountOn_Frame{A,B}: \forall integer s; 0 <= s ==> \forall zp_config *c, integer key;
      Kept{A,B}(c) && 0 <= \at(c->n_params, A) ==> CountOn{A}(c, key, s) == CountOn{B}(c, key, s);
    lemma StageBelow_Frame{A,B}: \forall integer s; 0 <= s ==>
      \forall zp_config *c, integer key, i; Kept{A,B}(c) && 0 <= \at(c->n_params, A) ==>
      StageBelow{A}(c, key, i, s) == StageBelow{B}(c, key, i, s);
    lemma StageOf_Frame{A,B}: \forall zp_config *c, integer key, i; Kept{A,B}(c) &&
      0 <= \at(c->n_params, A) && 0 <= \at(c->pp, A) ==>
      StageOf{A}(c, key, i) == StageOf{B}(c, key, i); */

/* Buckets, sums and ledgers. */
/*@ lemma SaveFlat_Frame{A,B}: \forall trace t, zp_config *c, integer s, zp_flat *f, integer k, g;
      Kept{A,B}(c) && KeptFlat{A,B}(f) && 0 <= \at(c->n_params, A) && 0 <= \at(c->pp, A) ==>
      SaveFlat{A}(t, c, s, f, k, g) == SaveFlat{B}(t, c, s, f, k, g);
    lemma SaveFlatLen_Frame{A,B}: \forall zp_config *c, integer s, zp_flat *f, integer dp;
      Kept{A,B}(c) && KeptFlat{A,B}(f) && 0 <= \at(c->n_params, A) && 0 <= \at(c->pp, A) ==>
      SaveFlatLen{A}(c, s, f, dp) == SaveFlatLen{B}(c, s, f, dp);
    lemma SaveFlats_Other{L}: \forall integer k; 0 <= k ==>
      \forall trace t, zp_config *c, integer s, zp_flat *f, integer g;
      (\forall integer i; 0 <= i < k ==> f[i].group != g) ==> SaveFlats(t, c, s, f, k, g) == t;
    lemma SaveFlatLen_Range{L}: \forall zp_config *c, integer s, zp_flat *f, integer dp;
      FlatOk(f) ==> 0 <= SaveFlatLen(c, s, f, dp) <= 6597069766656;
    lemma SaveFlatsLen_Range{L}: \forall integer k; 0 <= k ==>
      \forall zp_config *c, integer s, zp_flat *f, integer dp;
      (\forall integer i; 0 <= i < k ==> FlatOk(f + i)) ==>
      0 <= SaveFlatsLen(c, s, f, k, dp) <= k * 6597069766656;
    lemma SaveFlatsLen_Monotone{L}: \forall integer k; 0 <= k ==>
      \forall integer h, zp_config *c, integer s, zp_flat *f, integer dp;
      (\forall integer i; 0 <= i < k ==> FlatOk(f + i)) && 0 <= h <= k ==>
      SaveFlatsLen(c, s, f, h, dp) <= SaveFlatsLen(c, s, f, k, dp);
    lemma WritesFrozen_Range{L}: \forall zp_config *c, integer j, s, dp, tp;
      0 <= WritesFrozen(c, j, s, dp, tp) <= 1;
    lemma WritesFrozen_Frame{A,B}: \forall zp_config *c, integer j, s, dp, tp;
      Kept{A,B}(c) && 0 <= j < \at(c->n_params, A) ==>
      WritesFrozen{A}(c, j, s, dp, tp) == WritesFrozen{B}(c, j, s, dp, tp);
    lemma FrozenLen_Range{L}: \forall integer i; 0 <= i ==>
      \forall zp_config *c, integer f, s, dp, tp; 0 <= FrozenLen(c, f, i, s, dp, tp) <= i;
    lemma FrozenLen_Monotone{L}: \forall integer i; 0 <= i ==>
      \forall zp_config *c, integer h, f, s, dp, tp; 0 <= h <= i ==>
      FrozenLen(c, f, h, s, dp, tp) <= FrozenLen(c, f, i, s, dp, tp);
    lemma FrozenLen_Frame{A,B}: \forall integer i; 0 <= i ==>
      \forall zp_config *c, integer f, s, dp, tp;
      Kept{A,B}(c) && 0 <= f && f + i <= \at(c->n_params, A) ==>
      FrozenLen{A}(c, f, i, s, dp, tp) == FrozenLen{B}(c, f, i, s, dp, tp); */

#endif
