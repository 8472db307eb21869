/* Lemmas about the functions of INIT in init_save.h. */
#ifndef ZP_SPEC_ACSL_INIT_LEMMAS_H
#define ZP_SPEC_ACSL_INIT_LEMMAS_H

/* Entries. */
/*@ lemma LaterUse_Frame{A,B}: \forall zp_config *c, integer j, i; Kept{A,B}(c) &&
      0 <= i < \at(c->n_params, A) && 0 <= j < \at(c->n_params, A) ==>
      LaterUse{A}(c, j, i) == LaterUse{B}(c, j, i);
    lemma LaterUses_Frame{A,B}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer j;
      Kept{A,B}(c) && n <= \at(c->n_params, A) && 0 <= j < \at(c->n_params, A) ==>
      LaterUses{A}(c, j, n) == LaterUses{B}(c, j, n);
    lemma Holds_Range{L}: \forall zp_config *c, integer j; 0 <= Holds(c, j) <= 1;
    lemma Holds_Frame{A,B}: \forall zp_config *c, integer j;
      Kept{A,B}(c) && 0 <= j < \at(c->n_params, A) ==> Holds{A}(c, j) == Holds{B}(c, j); */

/* Keys. */
/*@ lemma IsKey_Frame{A,B}: \forall zp_config *c, integer j, key; Kept{A,B}(c) &&
      0 <= j < \at(c->n_params, A) ==> IsKey{A}(c, j, key) == IsKey{B}(c, j, key);
    lemma NumelAt_Frame{A,B}: \forall zp_config *c, integer j; Kept{A,B}(c) &&
      0 <= j < \at(c->n_params, A) ==> NumelAt{A}(c, j) == NumelAt{B}(c, j);
    lemma KeyNumel_Frame{A,B}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer key;
      Kept{A,B}(c) && n <= \at(c->n_params, A) ==>
      KeyNumel{A}(c, n, key) == KeyNumel{B}(c, n, key);
    lemma Fp32At_Frame{A,B}: \forall zp_config *c, integer j; Kept{A,B}(c) &&
      0 <= j < \at(c->n_params, A) ==> Fp32At{A}(c, j) == Fp32At{B}(c, j);
    lemma KeyFp32_Frame{A,B}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer key;
      Kept{A,B}(c) && n <= \at(c->n_params, A) ==>
      KeyFp32{A}(c, n, key) == KeyFp32{B}(c, n, key);
    lemma Seen_Frame{A,B}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer key, s;
      Kept{A,B}(c) && n <= \at(c->n_params, A) ==> Seen{A}(c, key, s, n) == Seen{B}(c, key, s, n);
    lemma On_Frame{A,B}: \forall zp_config *c, integer key, s; Kept{A,B}(c) &&
      0 <= \at(c->n_params, A) ==> On{A}(c, key, s) == On{B}(c, key, s); */

/* Sums and ledgers. */
/*@ lemma TiedValues_Range{L}: \forall integer x; 0 <= x ==> \forall zp_config *c, integer s;
      0 <= TiedValues(c, s, x) <= x;
    lemma TiedValues_Monotone{L}: \forall integer y; 0 <= y ==> \forall zp_config *c, integer s, x;
      0 <= x <= y ==> TiedValues(c, s, x) <= TiedValues(c, s, y);
    lemma TiedValues_Frame{A,B}: \forall integer x; 0 <= x ==> \forall zp_config *c, integer s;
      Kept{A,B}(c) && 0 <= \at(c->n_params, A) ==>
      TiedValues{A}(c, s, x) == TiedValues{B}(c, s, x);
    lemma TpValues_Range{L}: \forall integer x; 0 <= x ==> \forall zp_config *c, integer f;
      0 <= TpValues(c, f, x) <= x;
    lemma TpValues_Monotone{L}: \forall integer y; 0 <= y ==> \forall zp_config *c, integer f, x;
      0 <= x <= y ==> TpValues(c, f, x) <= TpValues(c, f, y);
    lemma DpValues_Range{L}: \forall integer x; 0 <= x ==> \forall zp_config *c, integer f;
      0 <= DpValues(c, f, x) <= x;
    lemma DpValues_Monotone{L}: \forall integer y; 0 <= y ==> \forall zp_config *c, integer f, x;
      0 <= x <= y ==> DpValues(c, f, x) <= DpValues(c, f, y);
    lemma Replica_Frame{A,B}: \forall zp_config *c, integer j; Kept{A,B}(c) &&
      0 <= j < \at(c->n_params, A) ==> Replica{A}(c, j) == Replica{B}(c, j);
    lemma HeldIn_Frame{A,B}: \forall zp_config *c, integer j, g; Kept{A,B}(c) &&
      0 <= j < \at(c->n_params, A) ==> HeldIn{A}(c, j, g) == HeldIn{B}(c, j, g);
    lemma TpTrace_Frame{A,B}: \forall integer x; 0 <= x ==>
      \forall trace t, zp_config *c, integer p, f;
      Kept{A,B}(c) && 0 <= f && f + x <= \at(c->n_params, A) ==>
      TpTrace{A}(t, c, p, f, x) == TpTrace{B}(t, c, p, f, x);
    lemma TpValues_Frame{A,B}: \forall integer x; 0 <= x ==> \forall zp_config *c, integer f;
      Kept{A,B}(c) && 0 <= f && f + x <= \at(c->n_params, A) ==>
      TpValues{A}(c, f, x) == TpValues{B}(c, f, x);
    lemma DpTrace_Frame{A,B}: \forall integer x; 0 <= x ==>
      \forall trace t, zp_config *c, integer p, f, g;
      Kept{A,B}(c) && 0 <= f && f + x <= \at(c->n_params, A) ==>
      DpTrace{A}(t, c, p, f, x, g) == DpTrace{B}(t, c, p, f, x, g);
    lemma DpValues_Frame{A,B}: \forall integer x; 0 <= x ==> \forall zp_config *c, integer f;
      Kept{A,B}(c) && 0 <= f && f + x <= \at(c->n_params, A) ==>
      DpValues{A}(c, f, x) == DpValues{B}(c, f, x);
    lemma DpTrace_Other{L}: \forall integer x; 0 <= x ==>
      \forall trace t, zp_config *c, integer p, f, g;
      g != ZP_GROUP_DP && g != ZP_GROUP_EDP ==> DpTrace(t, c, p, f, x, g) == t;
    lemma ValuesLen_Frame{A,B}: \forall zp_config *c, integer s, f, x; Kept{A,B}(c) &&
      0 <= \at(c->n_params, A) && 0 <= \at(c->tied_keys, A) && 0 <= x && 0 <= f &&
      f + x <= \at(c->n_params, A) ==> ValuesLen{A}(c, s, f, x) == ValuesLen{B}(c, s, f, x);
    lemma TiedValue_Frame{A,B}: \forall trace t, zp_config *c, integer s, x, key;
      Kept{A,B}(c) && 0 <= \at(c->n_params, A) ==>
      TiedValue{A}(t, c, s, x, key) == TiedValue{B}(t, c, s, x, key);
    lemma ValuesTrace_Frame{A,B}: \forall trace t, zp_config *c, integer s, f, x, g, key;
      Kept{A,B}(c) && 0 <= \at(c->n_params, A) && 0 <= \at(c->tied_keys, A) && 0 <= x && 0 <= f &&
      f + x <= \at(c->n_params, A) ==>
      ValuesTrace{A}(t, c, s, f, x, g, key) == ValuesTrace{B}(t, c, s, f, x, g, key); */

#endif
