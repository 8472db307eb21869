/* Lemmas about the sums of tied keys, means, updates and gathers of the STEP program. Include after
 * ref/plan/step_internal.h. LEDG-6, LEDG-8 */
#ifndef ZP_SPEC_ACSL_STEP_TAIL_H
#define ZP_SPEC_ACSL_STEP_TAIL_H

#include "bounds.h"

/* ---- Consequences ---- */
/*@ lemma Held_Range{L}: \forall zp_flat *f; FlatOk(f) ==> 0 <= HeldOf(f) <= ZP_LIMIT_ELEMENTS;
    lemma Held_Sum{L}: \forall integer n; 0 <= n ==> \forall zp_flat *f; FlatsFine(f, n) ==>
      0 <= Held(f, n) <= n * ZP_LIMIT_ELEMENTS;
    lemma Held_Monotone{L}: \forall integer n; 0 <= n ==> \forall zp_flat *f, integer i;
      FlatsFine(f, n) && 0 <= i <= n ==> Held(f, i) <= Held(f, n);
    lemma All_Sum{L}: \forall integer n; 0 <= n ==> \forall zp_flat *f; FlatsFine(f, n) ==>
      0 <= AllOf(f, n) <= n * ZP_LIMIT_ELEMENTS;
    lemma HeldTied_Sum{L}: \forall integer n; 0 <= n ==> \forall zp_flat *f; FlatsFine(f, n) ==>
      0 <= HeldTied(f, n) <= Held(f, n);
    lemma Tied_Range{L}: \forall integer n; 0 <= n ==> \forall zp_flat *f, integer key;
      -1 <= TiedFlat(f, n, key) < n;
    lemma Tied_Found{L}: \forall integer n; 0 <= n ==> \forall zp_flat *f, integer i, key;
      0 <= i <= n && 0 <= TiedFlat(f, i, key) ==> TiedFlat(f, n, key) == TiedFlat(f, i, key);
    lemma Key_Range{L}: \forall zp_flat *f, integer n, key; 0 <= n && FlatsFine(f, n) ==>
      0 <= KeyLen(f, n, key) <= ZP_LIMIT_ELEMENTS;
    lemma Keys_Range{L}: \forall integer x; 0 <= x ==> \forall zp_flat *f, integer n;
      0 <= n && FlatsFine(f, n) ==> 0 <= KeysLen(f, n, x) <= x * ZP_LIMIT_ELEMENTS;
    lemma Keys_Monotone{L}: \forall integer x; 0 <= x ==> \forall zp_flat *f, integer n, i;
      0 <= n && FlatsFine(f, n) && 0 <= i <= x ==> KeysLen(f, n, i) <= KeysLen(f, n, x);
    lemma Pass_Range{L}: \forall zp_flat *f, integer u; FlatOk(f) ==>
      0 <= PassOf(f, u) <= HeldOf(f);
    lemma Pass_Positive{L}: \forall integer n; 0 <= n ==> \forall zp_flat *f, integer u;
      FlatsFine(f, n) ==> 0 <= Pass(f, n, u) <= Held(f, n);
    lemma Pass_Monotone{L}: \forall integer n; 0 <= n ==> \forall zp_flat *f, integer i, u;
      FlatsFine(f, n) && 0 <= i <= n ==> Pass(f, i, u) <= Pass(f, n, u);
    lemma Pass_Both{L}: \forall integer n; 0 <= n ==> \forall zp_flat *f;
      Pass(f, n, 0) + Pass(f, n, 1) == Held(f, n);
    lemma Update_Sum: \forall integer s, i, n;
      UpdateLen(s, i) + UpdateLen(s, n) == UpdateLen(s, i + n);
    lemma Update_Monotone: \forall integer s, i, n; i <= n ==> UpdateLen(s, i) <= UpdateLen(s, n);

    lemma Same_Flat{A,B}: \forall zp_flat *f, integer n, k; SameFlats{A,B}(f, n) && 0 <= k < n ==>
      KeptFlat{A,B}(f + k);
    lemma Same_Fine{A,B}: \forall zp_flat *f, integer n; SameFlats{A,B}(f, n) &&
      FlatsFine{A}(f, n) ==> FlatsFine{B}(f, n);
    lemma HeldOf_Frame{A,B}: \forall zp_flat *f; KeptFlat{A,B}(f) ==> HeldOf{A}(f) == HeldOf{B}(f);
    lemma PassOf_Frame{A,B}: \forall zp_flat *f, integer u; KeptFlat{A,B}(f) ==>
      PassOf{A}(f, u) == PassOf{B}(f, u);
    lemma Tied_Frame{A,B}: \forall integer n; 0 <= n ==> \forall zp_flat *f, integer key;
      SameFlats{A,B}(f, n) ==> TiedFlat{A}(f, n, key) == TiedFlat{B}(f, n, key);
    lemma Key_Frame{A,B}: \forall zp_flat *f, integer n, key; 0 <= n && SameFlats{A,B}(f, n) ==>
      KeyLen{A}(f, n, key) == KeyLen{B}(f, n, key);
    lemma KeyTrace_Frame{A,B}:
      \forall trace tr, integer stage, exact, zp_flat *f, integer n, key, t;
      0 <= n && SameFlats{A,B}(f, n) ==>
      KeyTrace{A}(tr, stage, exact, f, n, key, t) == KeyTrace{B}(tr, stage, exact, f, n, key, t);
    lemma GathersOf_Frame{A,B}: \forall trace tr, integer stage, precision, zp_flat *f,
      integer u, k, g, t; KeptFlat{A,B}(f) ==> GathersOf{A}(tr, stage, precision, f, u, k, g, t) ==
        GathersOf{B}(tr, stage, precision, f, u, k, g, t);
    lemma SameRest_Trans{A,B,C}: \forall zp_op *ops, integer n, m, k;
      SameRest{A,B}(ops, n, m) && SameRest{B,C}(ops, m, k) ==> SameRest{A,C}(ops, n, k);
    lemma SameFlats_Trans{A,B,C}: \forall zp_flat *f, integer n;
      SameFlats{A,B}(f, n) && SameFlats{B,C}(f, n) ==> SameFlats{A,C}(f, n);
    lemma Held_Frame{A,B}: \forall integer n; 0 <= n ==> \forall zp_flat *f;
      SameFlats{A,B}(f, n) ==> Held{A}(f, n) == Held{B}(f, n);
    lemma Keys_Frame{A,B}: \forall integer x; 0 <= x ==> \forall zp_flat *f, integer n;
      0 <= n && SameFlats{A,B}(f, n) ==> KeysLen{A}(f, n, x) == KeysLen{B}(f, n, x);
    lemma Pass_Frame{A,B}: \forall integer n; 0 <= n ==> \forall zp_flat *f, integer u;
      SameFlats{A,B}(f, n) ==> Pass{A}(f, n, u) == Pass{B}(f, n, u);
    lemma GatherPass_Frame{A,B}: \forall integer n; 0 <= n ==>
      \forall trace tr, integer stage, precision, zp_flat *f, integer u, g, t;
      SameFlats{A,B}(f, n) ==> GatherPass{A}(tr, stage, precision, f, n, u, g, t) ==
        GatherPass{B}(tr, stage, precision, f, n, u, g, t);
    lemma Gathers_Frame{A,B}: \forall integer n; 0 <= n ==>
      \forall trace tr, integer stage, precision, zp_flat *f, integer g, t;
      SameFlats{A,B}(f, n) ==> GatherTrace{A}(tr, stage, precision, f, n, g, t) ==
        GatherTrace{B}(tr, stage, precision, f, n, g, t);
    lemma KeysTrace_Frame{A,B}: \forall trace tr, integer stage, exact, zp_flat *f,
      integer n, keys, g, key, t; 0 <= n && SameFlats{A,B}(f, n) ==>
      KeysTrace{A}(tr, stage, exact, f, n, keys, g, key, t) ==
        KeysTrace{B}(tr, stage, exact, f, n, keys, g, key, t);
    lemma Tail_LedgerFrame{A,B}: \forall trace tr, integer stage, exact, precision, zp_flat *f,
      integer n, keys, g, key, d, t; 0 <= n && SameFlats{A,B}(f, n) ==>
      TailTrace{A}(tr, stage, exact, precision, f, n, keys, g, key, d, t) ==
        TailTrace{B}(tr, stage, exact, precision, f, n, keys, g, key, d, t);
    lemma Tail_Frame{A,B}: \forall integer stage, zp_flat *f, integer n, keys;
      0 <= n && 0 <= keys && SameFlats{A,B}(f, n) ==>
      TailLen{A}(stage, f, n, keys) == TailLen{B}(stage, f, n, keys) &&
      TailBefore{A}(f, n, keys) == TailBefore{B}(f, n, keys);
    lemma Tail_Limit{L}: \forall integer stage, zp_flat *f, integer n, keys;
      0 <= n <= ZP_LIMIT_ENTRIES && 0 <= keys <= ZP_LIMIT_TIED && FlatsFine(f, n) ==>
      0 <= KeysLen(f, n, keys) <= 1125899906842624 && 0 <= Held(f, n) <= 72057594037927936 &&
      1 <= TailBefore(f, n, keys) < TailLen(stage, f, n, keys) <= 288230376151711744;
*/

#endif
