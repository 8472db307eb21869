/* What the proof of zp_layout_build needs to know about the functions of layout.h. Include after
 * ref/plan/layout.h; users of a layout need layout_good.h only. */
#ifndef ZP_SPEC_ACSL_LAYOUT_LEMMAS_H
#define ZP_SPEC_ACSL_LAYOUT_LEMMAS_H

/* The last entry of a class, in list order. */
/*@ lemma Leader_Found{L}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer j;
      Leader(c, j, n + 1) == j || SameClass(c, Leader(c, j, n + 1), j) == 1;
    lemma Leader_Above{L}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer j, i;
      SameClass(c, i, j) != 0 && j < i <= j + n ==> i <= Leader(c, j, n + 1);
    lemma Leader_Range{L}: \forall integer n; 1 <= n ==> \forall zp_config *c, integer j;
      j <= Leader(c, j, n) < j + n;
    lemma Leader_Same{L}: \forall integer n; 1 <= n ==> \forall zp_config *c, integer j;
      Leader(c, j, n) == j || SameClass(c, Leader(c, j, n), j) == 1;
    lemma Leader_Class{L}: \forall integer n; 1 <= n ==> \forall zp_config *c, integer j;
      c->params[Leader(c, j, n)].frozen == c->params[j].frozen &&
      c->params[Leader(c, j, n)].tied == c->params[j].tied &&
      c->params[Leader(c, j, n)].expert == c->params[j].expert &&
      c->params[Leader(c, j, n)].optgroup == c->params[j].optgroup;
    lemma Leader_Last{L}: \forall integer n; 1 <= n ==> \forall zp_config *c, integer j, i;
      SameClass(c, i, j) != 0 && j < i < j + n ==> i <= Leader(c, j, n);
    lemma Leader_Unique{L}: \forall integer n; 1 <= n ==> \forall zp_config *c, integer j, l;
      j <= l < j + n && (l == j || SameClass(c, l, j) == 1) &&
      (\forall integer i; l < i < j + n ==> SameClass(c, i, j) == 0) ==> Leader(c, j, n) == l;
    lemma Uses_Range{L}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer j;
      0 <= UsesBefore(c, j, n) && UsesBefore(c, j, n) <= n;
    lemma Uses_Leader{L}: \forall integer n; 1 <= n ==> \forall zp_config *c, integer j;
      UsesBefore(c, j, n) == 0 <==> Leader(c, j, n) == j;
    lemma Head_Class{L}: \forall zp_config *c, integer e, j; j < e ==>
      j <= HeadOf(c, e, j) < e &&
      c->params[HeadOf(c, e, j)].frozen == c->params[j].frozen &&
      c->params[HeadOf(c, e, j)].tied == c->params[j].tied &&
      c->params[HeadOf(c, e, j)].expert == c->params[j].expert &&
      c->params[HeadOf(c, e, j)].optgroup == c->params[j].optgroup;
    lemma Head_Last{L}: \forall zp_config *c, integer e, j, i;
      j < e && HeadOf(c, e, j) < i < e ==> SameClass(c, i, j) == 0;
    lemma Head_Unique{L}: \forall zp_config *c, integer e, j, l;
      j <= l < e && (l == j || SameClass(c, l, j) == 1) &&
      (\forall integer i; l < i < e ==> SameClass(c, i, j) == 0) ==> HeadOf(c, e, j) == l;
    lemma Same_Trans{L}: \forall zp_config *c, integer i, j, k;
      SameClass(c, j, k) == 1 ==> SameClass(c, i, j) == SameClass(c, i, k);
    lemma Head_Same{L}: \forall zp_config *c, integer e, j;
      j < e ==> HeadOf(c, e, j) == j || SameClass(c, HeadOf(c, e, j), j) == 1;
    lemma Same_Not{L}: \forall zp_config *c, integer i, j, k;
      SameClass(c, j, k) == 1 && SameClass(c, i, k) == 0 ==> SameClass(c, i, j) == 0;
    lemma Head_After{L}: \forall zp_config *c, integer e, j, i;
      j < e && HeadOf(c, e, j) < i < e ==> SameClass(c, i, HeadOf(c, e, j)) == 0;
    lemma Head_Self{L}: \forall zp_config *c, integer e, j; j < e &&
      (\forall integer i; j < i < e ==> SameClass(c, i, j) == 0) ==> HeadOf(c, e, j) == j;
    lemma Head_Head{L}: \forall zp_config *c, integer e, j; j < e ==>
      HeadOf(c, e, HeadOf(c, e, j)) == HeadOf(c, e, j);
    lemma Use_Head{L}: \forall zp_config *c, integer e, j; j < e ==>
      0 <= UseOf(c, e, j) <= e - j && (UseOf(c, e, j) == 0 <==> HeadOf(c, e, j) == j); */

/* Validity, opened. */
/*@ lemma Valid_Scalars{L}: \forall zp_config *c; Valid(c) ==>
      0 <= c->n_params <= 65536 && 1 <= c->ep <= c->dp <= 1048576 && 1 <= c->tp &&
      1 <= c->bucket <= 1099511627776 && 1 <= c->align <= 4096 && c->tied_keys <= 1024 &&
      c->optgroups <= 256 && Elements(c, c->n_params) <= 1099511627776;
    lemma Valid_Entry{L}: \forall zp_config *c, integer j; Valid(c) && 0 <= j < c->n_params ==>
      ValidEntry(c, j) &&
      0 <= c->params[j].numel <= 1099511627776 && 0 <= c->params[j].expert <= 1 &&
      0 <= c->params[j].sharded <= 1 && 0 <= c->params[j].frozen <= 1 &&
      0 <= c->params[j].optgroup < c->optgroups && -1 <= c->params[j].tied < c->tied_keys;
    lemma Valid_Order{L}: \forall zp_config *c, integer j; Valid(c) && 0 < j < c->n_params ==>
      ValidEntry(c, j) && c->params[j - 1].stage <= c->params[j].stage;
    lemma Valid_Dense{L}: \forall zp_config *c, integer j;
      Valid(c) && 0 <= j < c->n_params && 0 <= c->params[j].tied ==>
      TiedAgree(c, j, j) && c->params[j].expert == 0;
    lemma Together_Above: \forall integer numel, copies;
      0 <= numel && 1 <= copies ==> numel <= Together(numel, copies);
    lemma Copies_Least: \forall integer sharded, expert, tp, ep;
      1 <= tp && 1 <= ep ==> 1 <= Copies(sharded, expert, tp, ep);
    lemma Valid_Held{L}: \forall zp_config *c, integer j; Valid(c) && 0 <= j < c->n_params ==>
      ValidEntry(c, j) && ValidTopology(c->pp, c->dp, c->tp, c->ep) &&
      0 <= c->params[j].numel <= Held(c, j); */

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
    lemma Leader_Opens{L}: \forall zp_config *c, integer e, j;
      j < e && c->params[j].frozen == 0 ==> Opens(c, e, HeadOf(c, e, j)) == 1;
    lemma Flat_Untied{L}: \forall zp_config *c, integer e, j; j < e &&
      c->params[j].frozen == 0 && c->params[j].tied < 0 ==>
      FlatOf(c, e, j) == FlatAt(c, e, HeadOf(c, e, j));
    lemma Flat_Tied{L}: \forall zp_config *c, integer e, j;
      c->params[j].frozen == 0 && 0 <= c->params[j].tied ==>
      FlatOf(c, e, j) == FlatAt(c, e, j) && Opens(c, e, j) == 1;
    lemma Flat_Frozen{L}: \forall zp_config *c, integer e, j;
      c->params[j].frozen != 0 ==> FlatOf(c, e, j) == -1;
    lemma Flat_Range{L}: \forall zp_config *c, integer e, x, j;
      e - x <= j < e ==> -1 <= FlatOf(c, e, j) < FlatCount(c, e, x);
    lemma Opener_Tied{L}: \forall zp_config *c, integer e, x, j;
      e - x <= j < e && c->params[j].frozen == 0 && 0 <= c->params[j].tied ==>
      0 <= FlatOf(c, e, j) && Opener(c, e, x, FlatOf(c, e, j)) == j;
    lemma Opener_Untied{L}: \forall zp_config *c, integer e, x, j;
      e - x <= j < e && c->params[j].frozen == 0 && c->params[j].tied < 0 ==>
      0 <= FlatOf(c, e, j) && Opener(c, e, x, FlatOf(c, e, j)) == HeadOf(c, e, j);
    lemma Flat_Trained{L}: \forall zp_config *c, integer e, j;
      j < e && c->params[j].frozen == 0 ==> 0 <= FlatOf(c, e, j);
    lemma Flat_Only_Tied{L}: \forall zp_config *c, integer e, o, j; o < e && j < e &&
      c->params[o].frozen == 0 && 0 <= c->params[o].tied &&
      c->params[j].frozen == 0 && 0 <= c->params[j].tied &&
      FlatOf(c, e, j) == FlatAt(c, e, o) ==> j == o;
    lemma Flat_Only_Untied{L}: \forall zp_config *c, integer e, o, j; o < e && j < e &&
      c->params[o].frozen == 0 && 0 <= c->params[o].tied &&
      c->params[j].frozen == 0 && c->params[j].tied < 0 ==>
      FlatOf(c, e, j) != FlatAt(c, e, o);
    lemma Flat_Only{L}: \forall zp_config *c, integer e, o, j;
      o < e && j < e && c->params[o].frozen == 0 && 0 <= c->params[o].tied &&
      FlatOf(c, e, j) == FlatAt(c, e, o) ==> j == o; */

/* Elements of flat groups. */
/*@ lemma Numel_Unopened{L}: \forall integer x; 0 <= x ==> \forall zp_config *c, integer e, k;
      FlatCount(c, e, x) <= k ==> FlatNumel(c, e, x, k) == 0;
    predicate IsTied{L}(zp_config *c, integer j) =
      c->params[j].frozen == 0 && 0 <= c->params[j].tied;
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
    lemma Numel_Tied{L}: \forall zp_config *c, integer e, o, x; o < e && IsTied(c, o) &&
      e - o <= x ==> FlatNumel(c, e, (e - o) + (x - (e - o)), FlatAt(c, e, o)) ==
        Brings(c, e, o, FlatAt(c, e, o));
    lemma Brings_Held{L}: \forall zp_config *c, integer e, j, k;
      Valid(c) && 0 <= j < c->n_params ==> 0 <= Brings(c, e, j, k) <= Held(c, j);
    lemma Numel_Monotone{L}: \forall integer y; 0 <= y ==> \forall zp_config *c, integer e, x, k;
      0 <= x <= y <= e <= c->n_params && Valid(c) ==>
      FlatNumel(c, e, x, k) <= FlatNumel(c, e, y, k);
    lemma Elements_Grows{L}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer m;
      0 <= m <= n <= c->n_params && Valid(c) ==> Elements(c, m) <= Elements(c, n);
    lemma Numel_Elements{L}: \forall integer x; 0 <= x ==> \forall zp_config *c, integer e, k;
      Valid(c) && x <= e <= c->n_params ==>
      0 <= FlatNumel(c, e, x, k) && FlatNumel(c, e, x, k) + Elements(c, e - x) <= Elements(c, e);
    lemma Elements_Limit{L}: \forall zp_config *c, integer n;
      Valid(c) && 0 <= n <= c->n_params ==> 0 <= Elements(c, n) <= 1099511627776;
    lemma Numel_Limit{L}: \forall zp_config *c, integer e, x, k;
      Valid(c) && 0 <= x <= e <= c->n_params ==> 0 <= FlatNumel(c, e, x, k) <= 1099511627776; */

#endif
