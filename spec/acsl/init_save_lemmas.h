/* What the functions of ledger.h and init_save.h obey: frames (what does not change when other memory
 * does), ranges and monotone sums. */
#ifndef ZP_SPEC_ACSL_INIT_SAVE_LEMMAS_H
#define ZP_SPEC_ACSL_INIT_SAVE_LEMMAS_H

#include "config_lemmas.h"
#include "topology_lemmas.h"

/* ---- Entries and keys ---- */
/*@ // 1 when one of the first n entries has the key
    logic integer HasAny{L}(zp_config *c, integer n, integer key) =
      n <= 0 ? 0 : IsKey(c, n - 1, key) == 1 ? 1 : HasAny(c, n - 1, key);
    lemma Kept_Same{A,B}: \forall zp_config *c; Kept{A,B}(c) ==> SameConfig{A,B}(c);
    lemma Kept_Valid{A,B}: \forall zp_config *c; Kept{A,B}(c) && Valid{A}(c) ==> Valid{B}(c);
    lemma LaterUses_Range{L}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer j;
      0 <= LaterUses(c, j, n);
    lemma LaterUses_None{L}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer j;
      (\forall integer i; 0 <= i < n ==> LaterUse(c, j, i) == 0) ==> LaterUses(c, j, n) == 0;
    lemma LaterUses_Some{L}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer j, i;
      0 <= i && i < n && LaterUse(c, j, i) == 1 ==> 0 < LaterUses(c, j, n);
    lemma LaterUse_Frame{A,B}: \forall zp_config *c, integer j, i; Kept{A,B}(c) &&
      0 <= i < \at(c->n_params, A) && 0 <= j < \at(c->n_params, A) ==>
      LaterUse{A}(c, j, i) == LaterUse{B}(c, j, i);
    lemma LaterUses_Frame{A,B}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer j;
      Kept{A,B}(c) && n <= \at(c->n_params, A) && 0 <= j < \at(c->n_params, A) ==>
      LaterUses{A}(c, j, n) == LaterUses{B}(c, j, n);
    lemma Holds_Range{L}: \forall zp_config *c, integer j; 0 <= Holds(c, j) <= 1;
    lemma Holds_Frame{A,B}: \forall zp_config *c, integer j;
      Kept{A,B}(c) && 0 <= j < \at(c->n_params, A) ==> Holds{A}(c, j) == Holds{B}(c, j);
    lemma IsKey_Frame{A,B}: \forall zp_config *c, integer j, key; Kept{A,B}(c) &&
      0 <= j < \at(c->n_params, A) ==> IsKey{A}(c, j, key) == IsKey{B}(c, j, key);
    lemma NumelAt_Frame{A,B}: \forall zp_config *c, integer j; Kept{A,B}(c) &&
      0 <= j < \at(c->n_params, A) ==> NumelAt{A}(c, j) == NumelAt{B}(c, j);
    lemma KeyNumel_Known{L}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer key, o;
      (\forall integer i; 0 <= i < n ==> IsKey(c, i, key) == 0 || NumelAt(c, i) == NumelAt(c, o)) ==>
      HasAny(c, n, key) == 0 || KeyNumel(c, n, key) == NumelAt(c, o);
    lemma HasAny_Some{L}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer key, j;
      0 <= j && j < n && IsKey(c, j, key) == 1 ==> HasAny(c, n, key) == 1;
    lemma KeyNumel_Any{L}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer key, j;
      0 <= j && j < n && IsKey(c, j, key) == 1 &&
      (\forall integer i; 0 <= i < n ==> IsKey(c, i, key) == 0 || NumelAt(c, i) == NumelAt(c, j)) ==>
      KeyNumel(c, n, key) == NumelAt(c, j);
    lemma KeyNumel_Frame{A,B}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer key;
      Kept{A,B}(c) && n <= \at(c->n_params, A) ==>
      KeyNumel{A}(c, n, key) == KeyNumel{B}(c, n, key);
    lemma Seen_Frame{A,B}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer key, s;
      Kept{A,B}(c) && n <= \at(c->n_params, A) ==> Seen{A}(c, key, s, n) == Seen{B}(c, key, s, n);
    lemma On_Frame{A,B}: \forall zp_config *c, integer key, s; Kept{A,B}(c) &&
      0 <= \at(c->n_params, A) ==> On{A}(c, key, s) == On{B}(c, key, s);
    lemma CountOn_Frame{A,B}: \forall integer s; 0 <= s ==> \forall zp_config *c, integer key;
      Kept{A,B}(c) && 0 <= \at(c->n_params, A) ==> CountOn{A}(c, key, s) == CountOn{B}(c, key, s);
    lemma StageBelow_Frame{A,B}: \forall integer s; 0 <= s ==>
      \forall zp_config *c, integer key, i; Kept{A,B}(c) && 0 <= \at(c->n_params, A) ==>
      StageBelow{A}(c, key, i, s) == StageBelow{B}(c, key, i, s);
    lemma StageOf_Frame{A,B}: \forall zp_config *c, integer key, i; Kept{A,B}(c) &&
      0 <= \at(c->n_params, A) && 0 <= \at(c->pp, A) ==>
      StageOf{A}(c, key, i) == StageOf{B}(c, key, i); */

/* ---- INIT ---- */
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
      DpValues{A}(c, f, x) == DpValues{B}(c, f, x); */

/* ---- SAVE ---- */
/*@ lemma Buckets_Range: \forall integer n, c; 0 <= n <= 1099511627776 && 1 <= c ==>
      0 <= Buckets(n, c) <= 1099511627776;
    lemma Quotient_Times: \forall integer x, c; 0 <= x && 1 <= c ==> x / c * c <= x;
    lemma Times_Below: \forall integer a, b, c; a < b && 0 <= c ==> a * c + c <= b * c;
    lemma Bucket_Inside: \forall integer n, c, b;
      0 <= n && 1 <= c && 0 <= b < Buckets(n, c) ==> BucketOf(n, c, b);
    lemma FlatOk_Frame{A,B}: \forall zp_flat *f; KeptFlat{A,B}(f) && FlatOk{A}(f) ==> FlatOk{B}(f);
    lemma KeptLayout_Flat{A,B}: \forall zp_layout *lay, integer k; KeptLayout{A,B}(lay) &&
      0 <= k < \at(lay->n_flats, A) ==> KeptFlat{A,B}(\at(lay->flat, A) + k);
    lemma KeptLayout_Good{A,B}: \forall zp_config *c, zp_layout *lay; Kept{A,B}(c) &&
      KeptLayout{A,B}(lay) && StageLayout{A}(c, lay) ==> StageLayout{B}(c, lay);
    lemma SaveFlat_Frame{A,B}: \forall trace t, zp_config *c, integer s, zp_flat *f, integer k, g;
      Kept{A,B}(c) && KeptFlat{A,B}(f) && 0 <= \at(c->n_params, A) && 0 <= \at(c->pp, A) ==>
      SaveFlat{A}(t, c, s, f, k, g) == SaveFlat{B}(t, c, s, f, k, g);
    lemma SaveFlatLen_Frame{A,B}: \forall zp_config *c, integer s, zp_flat *f, integer dp;
      Kept{A,B}(c) && KeptFlat{A,B}(f) && 0 <= \at(c->n_params, A) && 0 <= \at(c->pp, A) ==>
      SaveFlatLen{A}(c, s, f, dp) == SaveFlatLen{B}(c, s, f, dp);
    lemma SaveFlats_World{L}: \forall integer k; 0 <= k ==>
      \forall trace t, zp_config *c, integer s, zp_flat *f;
      (\forall integer i; 0 <= i < k ==> f[i].group != ZP_GROUP_WORLD) ==>
      SaveFlats(t, c, s, f, k, ZP_GROUP_WORLD) == t;
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
