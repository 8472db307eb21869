/* Lemmas about the functions of layout.h for the proof of zp_layout_build. Include after
 * ref/plan/layout.h. Users of a layout include only layout_good.h. */
#ifndef ZP_SPEC_ACSL_LAYOUT_LEMMAS_H
#define ZP_SPEC_ACSL_LAYOUT_LEMMAS_H

#include "bounds.h"

/* Entry p belongs to flat group f. */
/*@ predicate Takes{L}(zp_flat *f, zp_param *p) =
      f->tied < 0 && f->optgroup == p->optgroup && f->fp32 == p->fp32 &&
      f->group == (p->expert != 0 ? ZP_GROUP_EDP : ZP_GROUP_DP); */

/* The last entry of a class, in list order. */
/*@ lemma Leader_Class{L}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer k, j;
      Leader(c, k, j, n) == j || ClassOf(c, Leader(c, k, j, n)) == k;
    lemma Leader_Range{L}: \forall integer n; 1 <= n ==> \forall zp_config *c, integer k, j;
      j <= Leader(c, k, j, n) < j + n;
    lemma Leader_Last{L}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer k, j, i;
      ClassOf(c, i) == k && j < i < j + n ==> i <= Leader(c, k, j, n);
    lemma Uses_Range{L}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer k, j;
      0 <= UsesBefore(c, k, j, n) && UsesBefore(c, k, j, n) <= n;
    lemma Uses_Leader{L}: \forall integer n; 1 <= n ==> \forall zp_config *c, integer k, j;
      UsesBefore(c, k, j, n) == 0 <==> Leader(c, k, j, n) == j;
    lemma Head_Range{L}: \forall zp_config *c, integer e, j; j < e ==> j <= HeadOf(c, e, j) < e;
    lemma Head_Class{L}: \forall zp_config *c, integer e, j; j < e ==>
      ClassOf(c, HeadOf(c, e, j)) == ClassOf(c, j);
    lemma Head_Last{L}: \forall zp_config *c, integer e, j, i;
      j <= i < e && ClassOf(c, i) == ClassOf(c, j) ==> i <= HeadOf(c, e, j);
    lemma Head_Head{L}: \forall zp_config *c, integer e, j; j < e ==>
      HeadOf(c, e, HeadOf(c, e, j)) == HeadOf(c, e, j);
    lemma Head_Unique{L}: \forall zp_config *c, integer e, j, l;
      j <= l < e && ClassOf(c, l) == ClassOf(c, j) && HeadOf(c, e, l) == l ==>
      HeadOf(c, e, j) == l;
    lemma Use_Head{L}: \forall zp_config *c, integer e, j; j < e ==>
      0 <= UseOf(c, e, j) <= e - j && (UseOf(c, e, j) == 0 <==> HeadOf(c, e, j) == j); */

/* The meaning of a class number. */
/*@ predicate IsTied{L}(zp_config *c, integer j) =
      c->params[j].frozen == 0 && 0 <= c->params[j].tied;
    predicate IsUntied{L}(zp_config *c, integer j) =
      c->params[j].frozen == 0 && c->params[j].tied < 0;
    lemma Class_Tied{L}: \forall zp_config *c, integer i, j;
      ClassOf(c, i) == ClassOf(c, j) ==> (IsTied(c, i) <==> IsTied(c, j));
    lemma Class_Untied{L}: \forall zp_config *c, integer i, j;
      ClassOf(c, i) == ClassOf(c, j) ==> (IsUntied(c, i) <==> IsUntied(c, j));
    lemma Class_Kind{L}: \forall zp_config *c, integer j;
      c->params[j].frozen == 0 ==> IsTied(c, j) || IsUntied(c, j);
    lemma Opens_Tied{L}: \forall zp_config *c, integer e, j;
      IsTied(c, j) ==> Opens(c, e, j) == 1 && FlatOf(c, e, j) == FlatAt(c, e, j);
    lemma Opens_Untied{L}: \forall zp_config *c, integer e, j; IsUntied(c, j) ==>
      (Opens(c, e, j) == 1 <==> HeadOf(c, e, j) == j) &&
      FlatOf(c, e, j) == FlatAt(c, e, HeadOf(c, e, j));
    lemma Head_Opens{L}: \forall zp_config *c, integer e, j;
      j < e && (IsTied(c, j) || IsUntied(c, j)) ==> Opens(c, e, HeadOf(c, e, j)) == 1; */

/* Entries are listed by stage. */
/*@ predicate Listed{L}(zp_config *c) =
      \forall integer j; 0 < j < c->n_params ==>
        ValidEntry(c, j) && c->params[j - 1].stage <= c->params[j].stage;

    lemma Listed_Valid{L}: \forall zp_config *c; Valid(c) ==> Listed(c);
    lemma Below_Range{L}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer s;
      0 <= EntriesBelow(c, n, s) <= n;
    lemma Below_Sorted{L}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer s, j;
      Listed(c) && n <= c->n_params && 0 <= j < n ==>
      (c->params[j].stage < s <==> j < EntriesBelow(c, n, s));
    lemma Below_Monotone{L}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer s;
      EntriesBelow(c, n, s) <= EntriesBelow(c, n, s + 1); */

/* Flat groups are numbered by the entries that open them. */
/*@ lemma Count_Range{L}: \forall integer x; 0 <= x ==> \forall zp_config *c, integer e;
      0 <= FlatCount(c, e, x) <= x;
    lemma Count_Monotone{L}: \forall integer y; 0 <= y ==> \forall zp_config *c, integer e, x;
      0 <= x <= y ==> FlatCount(c, e, x) <= FlatCount(c, e, y);
    lemma At_Monotone{L}: \forall zp_config *c, integer e, i, j;
      i <= j < e ==> 0 <= FlatAt(c, e, j) <= FlatAt(c, e, i);
    lemma Opener_Range{L}: \forall integer x; 0 <= x ==> \forall zp_config *c, integer e, k;
      0 <= k < FlatCount(c, e, x) ==>
      e - x <= Opener(c, e, x, k) < e && Opens(c, e, Opener(c, e, x, k)) == 1 &&
      FlatAt(c, e, Opener(c, e, x, k)) == k;
    lemma Opener_Unique{L}: \forall integer x; 0 <= x ==> \forall zp_config *c, integer e, j;
      e - x <= j < e && Opens(c, e, j) == 1 ==> Opener(c, e, x, FlatAt(c, e, j)) == j;
    lemma At_Strict{L}: \forall zp_config *c, integer e, i, j;
      i < j < e && Opens(c, e, j) == 1 ==> FlatAt(c, e, j) < FlatAt(c, e, i);
    lemma Opener_Injective{L}: \forall zp_config *c, integer e, i, j;
      i < e && j < e && Opens(c, e, i) == 1 && Opens(c, e, j) == 1 &&
      FlatAt(c, e, i) == FlatAt(c, e, j) ==> i == j;
    lemma Opener_Grows{L}: \forall zp_config *c, integer e, x, y, k;
      0 <= x <= y && 0 <= k < FlatCount(c, e, x) ==> Opener(c, e, y, k) == Opener(c, e, x, k);
    lemma At_Range{L}: \forall zp_config *c, integer e, x, j;
      e - x <= j < e && Opens(c, e, j) == 1 ==> 0 <= FlatAt(c, e, j) < FlatCount(c, e, x);
    lemma Flat_Frozen{L}: \forall zp_config *c, integer e, j;
      c->params[j].frozen != 0 ==> FlatOf(c, e, j) == -1;
    lemma Flat_Tied{L}: \forall zp_config *c, integer e, x, j;
      e - x <= j < e && IsTied(c, j) ==>
      0 <= FlatOf(c, e, j) < FlatCount(c, e, x) && Opener(c, e, x, FlatOf(c, e, j)) == j;
    lemma Flat_Untied{L}: \forall zp_config *c, integer e, x, j;
      e - x <= j < e && IsUntied(c, j) ==>
      0 <= FlatOf(c, e, j) < FlatCount(c, e, x) &&
      Opener(c, e, x, FlatOf(c, e, j)) == HeadOf(c, e, j);
    lemma Flat_Trained{L}: \forall zp_config *c, integer e, x, j;
      e - x <= j < e && c->params[j].frozen == 0 ==> 0 <= FlatOf(c, e, j) < FlatCount(c, e, x);
    lemma Flat_Range{L}: \forall zp_config *c, integer e, x, j;
      e - x <= j < e ==> -1 <= FlatOf(c, e, j) < FlatCount(c, e, x);
    lemma Flat_Only{L}: \forall zp_config *c, integer e, o, j; o < e && j < e && IsTied(c, o) &&
      FlatOf(c, e, j) == FlatAt(c, e, o) ==> j == o; */

/* Elements of flat groups. */
/*@ lemma Numel_Unopened{L}: \forall integer x; 0 <= x ==> \forall zp_config *c, integer e, k;
      FlatCount(c, e, x) <= k ==> FlatNumel(c, e, x, k) == 0;
    lemma Brings_Only{L}: \forall zp_config *c, integer e, o, j;
      o < e && j < e && IsTied(c, o) && j != o ==> Brings(c, e, j, FlatAt(c, e, o)) == 0;
    lemma Numel_Tied_Before{L}: \forall integer x; 0 <= x ==> \forall zp_config *c, integer e, o;
      o < e && IsTied(c, o) && x < e - o ==> FlatNumel(c, e, x, FlatAt(c, e, o)) == 0;
    lemma Numel_Tied_At{L}: \forall zp_config *c, integer e, o; o < e && IsTied(c, o) ==>
      FlatNumel(c, e, e - o, FlatAt(c, e, o)) == Brings(c, e, o, FlatAt(c, e, o));
    lemma Numel_Still{L}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer e, x, k;
      0 <= x && (\forall integer j; e - x - n <= j < e - x ==> Brings(c, e, j, k) == 0) ==>
      FlatNumel(c, e, x + n, k) == FlatNumel(c, e, x, k);
    lemma Numel_Tied_After{L}: \forall zp_config *c, integer e, o, n;
      0 <= n && o < e && IsTied(c, o) ==>
      FlatNumel(c, e, (e - o) + n, FlatAt(c, e, o)) == FlatNumel(c, e, e - o, FlatAt(c, e, o));
    lemma Numel_Tied{L}: \forall integer x; 0 <= x ==> \forall zp_config *c, integer e, o;
      o < e && IsTied(c, o) && e - o <= x ==>
      FlatNumel(c, e, x, FlatAt(c, e, o)) == Brings(c, e, o, FlatAt(c, e, o));
    lemma Copies_Least: \forall integer sharded, expert, tp, ep;
      1 <= tp && 1 <= ep ==> 1 <= Copies(sharded, expert, tp, ep);
    lemma Together_Above: \forall integer numel, copies;
      0 <= numel && 1 <= copies ==> numel <= Together(numel, copies);
    predicate HeldGood{L}(zp_config *c, integer j) =
      0 <= c->params[j].numel <= HeldElements(c, j);
    lemma Valid_Held{L}: \forall zp_config *c, integer j; Valid(c) && 0 <= j < c->n_params ==>
      ValidEntry(c, j) && HeldGood(c, j);
    lemma Brings_Held{L}: \forall zp_config *c, integer e, j, k;
      Valid(c) && 0 <= j < c->n_params ==>
      HeldGood(c, j) && 0 <= Brings(c, e, j, k) <= HeldElements(c, j);
    lemma Numel_Monotone{L}: \forall integer y; 0 <= y ==> \forall zp_config *c, integer e, x, k;
      0 <= x <= y <= e <= c->n_params && Valid(c) ==>
      FlatNumel(c, e, x, k) <= FlatNumel(c, e, y, k);
    lemma Held_Positive{L}: \forall zp_config *c, integer j; Valid(c) && 0 <= j < c->n_params ==>
      HeldGood(c, j) && 0 <= HeldElements(c, j);
    lemma Elements_Grows{L}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer m;
      0 <= m <= n <= c->n_params && Valid(c) ==> Elements(c, m) <= Elements(c, n);
    lemma Numel_Elements{L}: \forall integer x; 0 <= x ==> \forall zp_config *c, integer e, k;
      Valid(c) && x <= e <= c->n_params ==>
      0 <= FlatNumel(c, e, x, k) && FlatNumel(c, e, x, k) + Elements(c, e - x) <= Elements(c, e);
    lemma Elements_Limit{L}: \forall zp_config *c, integer n;
      Valid(c) && 0 <= n <= c->n_params ==> 0 <= Elements(c, n) <= ZP_LIMIT_ELEMENTS;
    lemma Numel_Limit{L}: \forall zp_config *c, integer e, x, k;
      Valid(c) && 0 <= x <= e <= c->n_params ==> 0 <= FlatNumel(c, e, x, k) <= ZP_LIMIT_ELEMENTS; */

#endif
