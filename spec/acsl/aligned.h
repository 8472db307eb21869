/* If the numels of a flat group's entries are multiples of a, so are their starts: PART-2. Include
 * after layout.h. */
#ifndef ZP_SPEC_ACSL_ALIGNED_H
#define ZP_SPEC_ACSL_ALIGNED_H

/*@ predicate AlignedEntry{L}(zp_config *c, integer e, integer j, integer k, integer a) =
      FlatOf(c, e, j) == k ==> 0 <= c->params[j].numel && Multiple(c->params[j].numel, a);
    predicate AlignedFlat{L}(zp_config *c, integer e, integer x, integer k, integer a) =
      \forall integer j; e - x <= j < e ==> AlignedEntry(c, e, j, k, a);

    lemma Multiple_Sum: \forall integer x, y, a; 0 < a && Multiple(x, a) && Multiple(y, a) ==>
      x + y == (x / a + y / a) * a;
    lemma Multiple_Joined: \forall integer x, y, a; 0 < a && 0 <= x && 0 <= y && Multiple(x, a) &&
      Multiple(y, a) ==> Multiple(x + y, a);
    lemma Multiple_None: \forall integer a; 0 < a ==> Multiple(0, a);
    lemma AlignedEntry_Brings{L}: \forall zp_config *c, integer e, j, k, a;
      0 < a && AlignedEntry(c, e, j, k, a) ==>
      0 <= Brings(c, e, j, k) && Multiple(Brings(c, e, j, k), a);
    lemma AlignedFlat_Less{L}: \forall zp_config *c, integer e, x, k, a; 1 <= x &&
      AlignedFlat(c, e, x, k, a) ==>
      AlignedFlat(c, e, x - 1, k, a) && AlignedEntry(c, e, e - x, k, a);
    lemma AlignedFlat_Step{L}: \forall zp_config *c, integer e, x, k, a;
      0 < a && 1 <= x && AlignedEntry(c, e, e - x, k, a) && 0 <= FlatNumel(c, e, x - 1, k) &&
      Multiple(FlatNumel(c, e, x - 1, k), a) ==>
      0 <= FlatNumel(c, e, x, k) && Multiple(FlatNumel(c, e, x, k), a);
    lemma AlignedFlat_Ends{L}: \forall integer x; 0 <= x ==>
      \forall zp_config *c, integer e, k, a; 0 < a && AlignedFlat(c, e, x, k, a) ==>
      0 <= FlatNumel(c, e, x, k) && Multiple(FlatNumel(c, e, x, k), a);
    // Every trained entry starts at a multiple of a.
    lemma AlignedFlat_Starts{L}: \forall zp_config *c, integer e, j, a;
      0 < a && j < e && c->params[j].frozen == 0 &&
      AlignedFlat(c, e, e - 1 - j, FlatOf(c, e, j), a) ==> Multiple(StartOf(c, e, j), a); */

#endif
