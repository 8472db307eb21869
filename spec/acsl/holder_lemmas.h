/* The entry that has the storage of a tied key, and the stages that hold the key. */
#ifndef ZP_SPEC_ACSL_HOLDER_LEMMAS_H
#define ZP_SPEC_ACSL_HOLDER_LEMMAS_H

/* Entries. */
/*@ lemma LaterUses_Range{L}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer j;
      0 <= LaterUses(c, j, n);
    lemma LaterUses_None{L}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer j;
      (\forall integer i; 0 <= i < n ==> LaterUse(c, j, i) == 0) ==> LaterUses(c, j, n) == 0;
    lemma LaterUses_Some{L}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer j, i;
      0 <= i && i < n && LaterUse(c, j, i) == 1 ==> 0 < LaterUses(c, j, n);
    predicate Ascend{L}(zp_config *c, integer i, integer j) =
      c->params[i].stage <= c->params[j].stage;
    lemma Stage_Ascends{L}: \forall zp_config *c, integer i, j;
      Valid(c) && 0 <= i <= j < c->n_params ==> Ascend(c, i, j);
    // Entries of one key have as many elements.
    predicate TiedNumel{L}(zp_config *c, integer i, integer j, integer key) =
      IsKey(c, i, key) == 0 || NumelAt(c, i) == NumelAt(c, j);
    lemma Key_Below{L}: \forall zp_config *c, integer i, j, key;
      Valid(c) && 0 <= key && 0 <= i <= j < c->n_params && IsKey(c, j, key) == 1 ==>
      TiedAgree(c, i, j) && TiedNumel(c, i, j, key);
    lemma Key_Above{L}: \forall zp_config *c, integer i, j, key;
      Valid(c) && 0 <= key && 0 <= j <= i < c->n_params && IsKey(c, j, key) == 1 ==>
      TiedAgree(c, j, i) && TiedNumel(c, i, j, key);
    lemma Key_Numel{L}: \forall zp_config *c, integer i, j, key;
      Valid(c) && 0 <= key && 0 <= i < c->n_params && 0 <= j < c->n_params &&
      IsKey(c, j, key) == 1 ==> TiedNumel(c, i, j, key);
    lemma Key_Either{L}: \forall zp_config *c, integer i, j, key;
      Valid(c) && 0 <= key && 0 <= i < c->n_params && 0 <= j < c->n_params &&
      IsKey(c, j, key) == 1 ==> TiedNumel(c, i, j, key) &&
      (IsKey(c, i, key) == 0 ||
        NumelAt(c, i) == NumelAt(c, j) && Fp32At(c, i) == Fp32At(c, j));
    lemma On_Some{L}: \forall zp_config *c, integer key, j;
      0 <= j < c->n_params && c->params[j].tied == key ==> On(c, key, c->params[j].stage) == 1;
    lemma On_None{L}: \forall zp_config *c, integer key, s; 0 <= c->n_params &&
      (\forall integer j; 0 <= j < c->n_params ==>
        !(c->params[j].tied == key && c->params[j].stage == s)) ==> On(c, key, s) == 0; */

/* Elements of a tied key. */
/*@ // 1 if one of the first n entries has the key
    logic integer HasAny{L}(zp_config *c, integer n, integer key) =
      n <= 0 ? 0 : IsKey(c, n - 1, key) == 1 ? 1 : HasAny(c, n - 1, key);
    lemma KeyNumel_Known{L}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer key, o;
      (\forall integer i; 0 <= i < n ==>
        IsKey(c, i, key) == 0 || NumelAt(c, i) == NumelAt(c, o)) ==>
      HasAny(c, n, key) == 0 || KeyNumel(c, n, key) == NumelAt(c, o);
    lemma HasAny_Some{L}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer key, j;
      0 <= j && j < n && IsKey(c, j, key) == 1 ==> HasAny(c, n, key) == 1;
    lemma KeyNumel_Any{L}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer key, j;
      0 <= j && j < n && IsKey(c, j, key) == 1 &&
      (\forall integer i; 0 <= i < n ==>
        IsKey(c, i, key) == 0 || NumelAt(c, i) == NumelAt(c, j)) ==>
      KeyNumel(c, n, key) == NumelAt(c, j);
    lemma KeyFp32_Known{L}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer key, o;
      (\forall integer i; 0 <= i < n ==>
        IsKey(c, i, key) == 0 || Fp32At(c, i) == Fp32At(c, o)) ==>
      HasAny(c, n, key) == 0 || KeyFp32(c, n, key) == Fp32At(c, o);
    lemma KeyFp32_Any{L}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer key, j;
      0 <= j && j < n && IsKey(c, j, key) == 1 &&
      (\forall integer i; 0 <= i < n ==>
        IsKey(c, i, key) == 0 || Fp32At(c, i) == Fp32At(c, j)) ==>
      KeyFp32(c, n, key) == Fp32At(c, j); */

#endif
