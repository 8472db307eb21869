/* Partition of entries (family 1): each element of a flat group is one element of one entry.
 * Include after layout_good.h. */
#ifndef ZP_SPEC_ACSL_ENTRY_HOME_H
#define ZP_SPEC_ACSL_ENTRY_HOME_H

/* Entry j has element u of flat group k; x counts entries in backward order. PART-2 */
/*@ predicate HasElement{L}(zp_config *c, integer e, integer j, integer k, integer u) =
      FlatNumel(c, e, e - 1 - j, k) <= u < FlatNumel(c, e, e - j, k);
    // The entry among the first x that has it, or -1.
    logic integer EntryAt{L}(zp_config *c, integer e, integer x, integer k, integer u) =
      x <= 0 ? -1 :
      FlatNumel(c, e, x - 1, k) <= u && u < FlatNumel(c, e, x, k) ? e - x
                                                                  : EntryAt(c, e, x - 1, k, u);

    lemma Entry_Steps{L}: \forall zp_config *c, integer e, j, k; j < e ==>
      FlatNumel(c, e, e - j, k) == FlatNumel(c, e, e - 1 - j, k) + Brings(c, e, j, k);
    lemma Entry_Brings{L}: \forall zp_config *c, integer e, j, k, u;
      j < e && HasElement(c, e, j, k, u) ==> FlatOf(c, e, j) == k &&
      u - FlatNumel(c, e, e - 1 - j, k) < c->params[j].numel;
    // Every element belongs to an entry …
    lemma Entry_Exists{L}: \forall integer x; 0 <= x ==> \forall zp_config *c, integer e, k, u;
      0 <= u < FlatNumel(c, e, x, k) ==>
      e - x <= EntryAt(c, e, x, k, u) < e && HasElement(c, e, EntryAt(c, e, x, k, u), k, u);
    // … and to no other.
    lemma Entry_Only{L}: \forall zp_config *c, integer e, i, j, k, u;
      Valid(c) && 0 <= i < e && 0 <= j < e && e <= c->n_params &&
      HasElement(c, e, i, k, u) && HasElement(c, e, j, k, u) ==> i == j;
    // Element x of trained entry j is element StartOf + x of its flat group.
    lemma Entry_Has{L}: \forall zp_config *c, integer e, j, x;
      j < e && c->params[j].frozen == 0 && 0 <= x < c->params[j].numel ==>
      HasElement(c, e, j, FlatOf(c, e, j), StartOf(c, e, j) + x); */

#endif
