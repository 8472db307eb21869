/* STAT-2, TIE-2: each logical element is counted once. composition.h defines the entries that tp
 * index t counts. Here: of the entries that share a tied key it counts exactly one, on whatever
 * stages. ACSL only. Include after composition.h, topology_lemmas.h and the lemmas of layouts. */
#ifndef ZP_SPEC_ACSL_COMPOSITION_ONCE_H
#define ZP_SPEC_ACSL_COMPOSITION_ONCE_H

/*@ // entry j of the whole list is trained and has the tied key
    predicate WithKey{L}(zp_config *c, integer j, integer key) =
      0 <= j < c->n_params && c->params[j].tied == key && c->params[j].frozen == 0;
    // tp index t counts it
    predicate Counted{L}(zp_config *c, integer j, integer t) =
      CountedOn(c, StageEnd(c, c->params[j].stage), j, t) == 1;
    // it has the storage on its stage, which is the first of the key
    predicate KeepsKey{L}(zp_config *c, integer j, integer key) =
      WithKey(c, j, key) && StageOf(c, key, 0) == c->params[j].stage &&
      UseOf(c, StageEnd(c, c->params[j].stage), j) == 0;

    lemma Keeps_Counted{L}: \forall zp_config *c, integer j, key, t; 0 <= key &&
      WithKey(c, j, key) && Counted(c, j, t) ==> KeepsKey(c, j, key);
    lemma Keeps_Inside{L}: \forall zp_config *c, integer j, key; Valid(c) && WithKey(c, j, key) ==>
      j < StageEnd(c, c->params[j].stage) <= c->n_params;
    lemma Keeps_Head{L}: \forall zp_config *c, integer j, key; Valid(c) && KeepsKey(c, j, key) ==>
      HeadOf(c, StageEnd(c, c->params[j].stage), j) == j;
    lemma Keeps_Class{L}: \forall zp_config *c, integer i, j, key; 0 <= key &&
      WithKey(c, i, key) && WithKey(c, j, key) ==> ClassOf(c, i) == ClassOf(c, j);
    lemma Keeps_Above{L}: \forall zp_config *c, integer i, j, key; Valid(c) && 0 <= key &&
      KeepsKey(c, i, key) && KeepsKey(c, j, key) && i <= j ==> i == j;
    // any tp index counts at most one entry of a key
    lemma Once_AtMost{L}: \forall zp_config *c, integer i, j, key, t, u; Valid(c) && 0 <= key &&
      WithKey(c, i, key) && WithKey(c, j, key) && Counted(c, i, t) && Counted(c, j, u) ==> i == j;

    lemma Once_Stage{L}: \forall zp_config *c, integer j, key; Valid(c) && 0 <= key &&
      WithKey(c, j, key) ==> On(c, key, c->params[j].stage) == 1 &&
      0 <= c->params[j].stage < c->pp;
    lemma Once_Some{L}: \forall zp_config *c, integer key, s; Valid(c) && 0 <= s < c->pp &&
      On(c, key, s) == 1 ==> 0 < CountOn(c, key, c->pp);
    lemma Once_First{L}: \forall zp_config *c, integer j, key; Valid(c) && 0 <= key &&
      WithKey(c, j, key) ==> 0 <= StageOf(c, key, 0) < c->pp &&
      On(c, key, StageOf(c, key, 0)) == 1;
    // and it counts one: the entry with the storage on the key's first stage
    lemma Once_Head{L}: \forall zp_config *c, integer e, j, key; Valid(c) && 0 <= key &&
      WithKey(c, j, key) && e == StageEnd(c, c->params[j].stage) ==>
      WithKey(c, HeadOf(c, e, j), key) && c->params[HeadOf(c, e, j)].stage == c->params[j].stage &&
      UseOf(c, e, HeadOf(c, e, j)) == 0;
    lemma Once_AtLeast{L}: \forall zp_config *c, integer e, j, key; Valid(c) && 0 <= key &&
      WithKey(c, j, key) && c->params[j].stage == StageOf(c, key, 0) &&
      e == StageEnd(c, c->params[j].stage) ==>
      KeepsKey(c, HeadOf(c, e, j), key) && Counted(c, HeadOf(c, e, j), 0);
    // an entry without a key: only tp index 0 counts it if it is tp-replicated; each tp index
    // counts its own slice if it is tp-sharded
    lemma Once_Replica{L}: \forall zp_config *c, integer j, t; c->params[j].tied < 0 &&
      c->params[j].sharded != 1 ==> (Counted(c, j, t) <==> t == 0);
    lemma Once_Slice{L}: \forall zp_config *c, integer j, t; c->params[j].tied < 0 &&
      c->params[j].sharded == 1 ==> Counted(c, j, t);
*/

#endif
