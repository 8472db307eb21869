/* Every stage that holds a tied key sums it in the same way (TIE-1, TIE-2, LEDG-2), and no message
 * of a step is larger than a bucket. Include after ref/plan/step_internal.h, layout_good.h and
 * topology_lemmas.h. */
#ifndef ZP_SPEC_ACSL_STEP_TIED_H
#define ZP_SPEC_ACSL_STEP_TIED_H

/* ---- The flat group that holds a key ---- */
/*@ lemma Tied_Holds{L}: \forall integer n; 0 <= n ==> \forall zp_flat *f, integer key;
      0 <= TiedFlat(f, n, key) ==> TiedFlat(f, n, key) < n &&
      HoldsKey(f + TiedFlat(f, n, key), key) == 1;
    lemma Tied_Some{L}: \forall integer n; 0 <= n ==> \forall zp_flat *f, integer i, key;
      0 <= i && i < n && HoldsKey(f + i, key) == 1 ==> 0 <= TiedFlat(f, n, key);

    // Flat group k of stage s is opened by entry o.
    logic integer KeyOpener{L}(zp_config *c, integer s, integer k) =
      Opener(c, StageEnd(c, s), StageCount(c, s), k);
    // Entry o, of stage s, is trained and has the key.
    predicate KeyEntry{L}(zp_config *c, integer s, integer o, integer key) =
      0 <= o < c->n_params && StageFirst(c, s) <= o < StageEnd(c, s) && c->params[o].stage == s &&
      IsTied(c, o) && c->params[o].tied == key;
    // f has the fields that a key with the elements of entry o has on every stage.
    predicate KeyFlat{L}(zp_config *c, integer o, zp_flat *f) =
      f->numel == c->params[o].numel && f->members == c->dp && f->align == c->align &&
      f->capacity == Capacity(c->bucket, c->dp, c->align);

    lemma Key_Opener{L}: \forall zp_config *c, integer s, zp_layout *lay, integer k;
      Valid(c) && LayoutOf(c, s, lay) && 0 <= k < lay->n_flats ==>
      LayoutFlat(c, s, lay, k) && 0 <= k < FlatCount(c, StageEnd(c, s), StageCount(c, s)) &&
      StageFirst(c, s) <= KeyOpener(c, s, k) < StageEnd(c, s) &&
      Opens(c, StageEnd(c, s), KeyOpener(c, s, k)) == 1 &&
      FlatAt(c, StageEnd(c, s), KeyOpener(c, s, k)) == k;
    lemma Key_Mine{L}: \forall zp_config *c, integer s, o; Valid(c) &&
      StageFirst(c, s) <= o < StageEnd(c, s) ==> 0 <= o < c->n_params && c->params[o].stage == s;
    lemma Key_Dense{L}: \forall zp_config *c, integer o; Valid(c) && 0 <= o < c->n_params &&
      IsTied(c, o) ==> TiedAgree(c, o, o) && MembersOf(c, o) == c->dp;
    lemma Key_Fields{L}: \forall zp_config *c, integer s, zp_layout *lay, integer k;
      LayoutFlat(c, s, lay, k) ==>
      (lay->flat + k)->tied == c->params[KeyOpener(c, s, k)].tied &&
      (lay->flat + k)->use == UseOf(c, StageEnd(c, s), KeyOpener(c, s, k)) &&
      (lay->flat + k)->numel == FlatNumel(c, StageEnd(c, s), StageCount(c, s), k) &&
      (lay->flat + k)->members == MembersOf(c, KeyOpener(c, s, k)) &&
      (lay->flat + k)->align == c->align && (lay->flat + k)->capacity ==
        Capacity(c->bucket, MembersOf(c, KeyOpener(c, s, k)), c->align);
    lemma Holds_Key{L}: \forall zp_flat *f, integer key; HoldsKey(f, key) == 1 <==>
      f->tied == key && f->use == 0;
    lemma Opens_Kind{L}: \forall zp_config *c, integer e, j;
      Opens(c, e, j) == 1 && 0 <= c->params[j].tied ==> IsTied(c, j);
    lemma Key_Holder{L}: \forall zp_config *c, integer s, zp_layout *lay, integer k, key;
      Valid(c) && LayoutOf(c, s, lay) && 0 <= k < lay->n_flats && 0 <= key &&
      HoldsKey(lay->flat + k, key) == 1 ==> LayoutFlat(c, s, lay, k) &&
      KeyEntry(c, s, KeyOpener(c, s, k), key);
    lemma Key_Size{L}: \forall zp_config *c, integer s, k; Valid(c) &&
      0 <= k < FlatCount(c, StageEnd(c, s), StageCount(c, s)) && IsTied(c, KeyOpener(c, s, k)) ==>
      FlatNumel(c, StageEnd(c, s), StageCount(c, s), k) ==
        c->params[KeyOpener(c, s, k)].numel;
    lemma Key_Numbers{L}: \forall zp_config *c, integer s, zp_layout *lay, integer k, key;
      Valid(c) && LayoutOf(c, s, lay) && 0 <= k < lay->n_flats && 0 <= key &&
      HoldsKey(lay->flat + k, key) == 1 ==> KeyEntry(c, s, KeyOpener(c, s, k), key) &&
      KeyFlat(c, KeyOpener(c, s, k), lay->flat + k);

    // For any entry with the key, the first of its class in backward order opens the group that
    // holds it.
    logic integer KeyHome{L}(zp_config *c, integer s, integer o) =
      FlatAt(c, StageEnd(c, s), HeadOf(c, StageEnd(c, s), o));
    lemma Key_Class{L}: \forall zp_config *c, integer i, j; IsTied(c, j) &&
      ClassOf(c, i) == ClassOf(c, j) ==> IsTied(c, i) && c->params[i].tied == c->params[j].tied;
    lemma Class_Key{L}: \forall zp_config *c, integer i, j; IsTied(c, i) && IsTied(c, j) &&
      c->params[i].tied == c->params[j].tied ==> ClassOf(c, i) == ClassOf(c, j);
    lemma Key_Home{L}: \forall zp_config *c, integer s, o, key; Valid(c) && KeyEntry(c, s, o, key)
      ==>
      0 <= KeyHome(c, s, o) < FlatCount(c, StageEnd(c, s), StageCount(c, s)) &&
      KeyOpener(c, s, KeyHome(c, s, o)) == HeadOf(c, StageEnd(c, s), o) &&
      IsTied(c, HeadOf(c, StageEnd(c, s), o)) &&
      c->params[HeadOf(c, StageEnd(c, s), o)].tied == key &&
      UseOf(c, StageEnd(c, s), HeadOf(c, StageEnd(c, s), o)) == 0;
    lemma Key_Place{L}: \forall zp_config *c, integer s, zp_layout *lay, integer o, key;
      Valid(c) && LayoutOf(c, s, lay) && KeyEntry(c, s, o, key) ==>
      0 <= KeyHome(c, s, o) < lay->n_flats && LayoutFlat(c, s, lay, KeyHome(c, s, o));
    lemma Key_Held{L}: \forall zp_config *c, integer s, zp_layout *lay, integer o, key;
      Valid(c) && LayoutOf(c, s, lay) && KeyEntry(c, s, o, key) ==>
      LayoutFlat(c, s, lay, KeyHome(c, s, o)) &&
      0 <= KeyHome(c, s, o) < lay->n_flats &&
      HoldsKey(lay->flat + KeyHome(c, s, o), key) == 1;
    lemma Key_Found{L}: \forall zp_config *c, integer s, zp_layout *lay, integer o, key;
      Valid(c) && LayoutOf(c, s, lay) && 0 <= key && KeyEntry(c, s, o, key) ==>
      0 <= KeyHome(c, s, o) < lay->n_flats &&
      0 <= TiedFlat(lay->flat, lay->n_flats, key) < lay->n_flats;
*/

/* ---- All stages: the sums as a function of the configuration and an entry with the key ---- */
/*@ predicate SameElements{L}(zp_config *c, integer i, integer j) =
      c->params[i].numel == c->params[j].numel && c->params[i].frozen == c->params[j].frozen;
    lemma Key_Alike{L}: \forall zp_config *c, integer i, j; Valid(c) && 0 <= i < c->n_params &&
      0 <= j < c->n_params && 0 <= c->params[j].tied && c->params[i].tied == c->params[j].tied ==>
      (TiedAgree(c, i, j) || TiedAgree(c, j, i)) && SameElements(c, i, j);
    logic trace KeySums{L}(trace tr, zp_config *c, integer o, integer key, integer t) =
      TiedSums(tr, c->stage, c->reduce, c->params[o].numel,
        Capacity(c->bucket, c->dp, c->align), c->dp, c->align, key, t,
        Buckets(c->params[o].numel, Capacity(c->bucket, c->dp, c->align)));
    logic trace LayKeyTrace{L}(trace tr, zp_config *c, zp_layout *lay, integer key, integer t) =
      KeyTrace(tr, c->stage, c->reduce, lay->flat, lay->n_flats, key, t);
    lemma KeyFlat_Alike{L}: \forall zp_config *c, integer i, j, zp_flat *f;
      KeyFlat(c, i, f) && c->params[i].numel == c->params[j].numel ==> KeyFlat(c, j, f);
    lemma KeyFlat_Sums{L}: \forall trace tr, zp_config *c, integer o, zp_flat *f, integer key, t;
      KeyFlat(c, o, f) ==>
      TiedSumsOf(tr, c->stage, c->reduce, f, key, t) == KeySums(tr, c, o, key, t);
    // The group that the program uses has the numbers of any entry with the key.
    lemma Tied_Numbers{L}: \forall zp_config *c, integer s, zp_layout *lay, integer key;
      Valid(c) && LayoutOf(c, s, lay) && 0 <= key &&
      0 <= TiedFlat(lay->flat, lay->n_flats, key) ==>
      TiedFlat(lay->flat, lay->n_flats, key) < lay->n_flats &&
      HoldsKey(lay->flat + TiedFlat(lay->flat, lay->n_flats, key), key) == 1 &&
      KeyEntry(c, s, KeyOpener(c, s, TiedFlat(lay->flat, lay->n_flats, key)), key) &&
      KeyFlat(c, KeyOpener(c, s, TiedFlat(lay->flat, lay->n_flats, key)),
        lay->flat + TiedFlat(lay->flat, lay->n_flats, key));
    lemma Key_Both{L}: \forall zp_config *c, integer s, i, o, key; Valid(c) && 0 <= key &&
      KeyEntry(c, s, i, key) && 0 <= o < c->n_params && c->params[o].tied == key ==>
      SameElements(c, i, o) &&
      c->params[i].numel == c->params[o].numel && c->params[o].frozen == 0;
    lemma KeyFlat_Both{L}: \forall zp_config *c, integer s, i, o, key, zp_flat *f; Valid(c) &&
      0 <= key && KeyEntry(c, s, i, key) && KeyFlat(c, i, f) && 0 <= o < c->n_params &&
      c->params[o].tied == key ==> KeyFlat(c, o, f) && c->params[o].frozen == 0;
    lemma Key_Present{L}: \forall zp_config *c, integer s, zp_layout *lay, integer o, key;
      Valid(c) && LayoutOf(c, s, lay) && 0 <= key && 0 <= o < c->n_params &&
      c->params[o].tied == key && 0 <= TiedFlat(lay->flat, lay->n_flats, key) ==>
      KeyEntry(c, s, KeyOpener(c, s, TiedFlat(lay->flat, lay->n_flats, key)), key) &&
      KeyFlat(c, KeyOpener(c, s, TiedFlat(lay->flat, lay->n_flats, key)),
        lay->flat + TiedFlat(lay->flat, lay->n_flats, key)) &&
      KeyFlat(c, o, lay->flat + TiedFlat(lay->flat, lay->n_flats, key)) &&
      c->params[o].frozen == 0;
    lemma Trace_Some{L}: \forall trace tr, zp_config *c, zp_layout *lay, integer key, t;
      0 <= TiedFlat(lay->flat, lay->n_flats, key) ==> LayKeyTrace(tr, c, lay, key, t) ==
        TiedSumsOf(tr, c->stage, c->reduce,
          lay->flat + TiedFlat(lay->flat, lay->n_flats, key), key, t);
    lemma Trace_None{L}: \forall trace tr, zp_config *c, zp_layout *lay, integer key, t;
      TiedFlat(lay->flat, lay->n_flats, key) < 0 ==> LayKeyTrace(tr, c, lay, key, t) == tr;
    lemma Key_OnFlat{L}: \forall zp_config *c, integer s, zp_layout *lay, integer o, key;
      Valid(c) && LayoutOf(c, s, lay) && 0 <= key && KeyEntry(c, s, o, key) ==>
      0 <= KeyHome(c, s, o) < lay->n_flats && 0 <= TiedFlat(lay->flat, lay->n_flats, key) &&
      KeyEntry(c, s, KeyOpener(c, s, TiedFlat(lay->flat, lay->n_flats, key)), key) &&
      KeyFlat(c, KeyOpener(c, s, TiedFlat(lay->flat, lay->n_flats, key)),
        lay->flat + TiedFlat(lay->flat, lay->n_flats, key)) &&
      KeyFlat(c, o, lay->flat + TiedFlat(lay->flat, lay->n_flats, key));
    // Trained: its sums are the same function of the configuration on every stage that has the key.
    lemma KeyTrace_Is{L}: \forall trace tr, zp_config *c, integer s, zp_layout *lay,
      integer o, key, t; Valid(c) && LayoutOf(c, s, lay) && 0 <= key && KeyEntry(c, s, o, key) ==>
      0 <= TiedFlat(lay->flat, lay->n_flats, key) &&
      KeyFlat(c, o, lay->flat + TiedFlat(lay->flat, lay->n_flats, key)) &&
      LayKeyTrace(tr, c, lay, key, t) == KeySums(tr, c, o, key, t);
    // Frozen: there are no sums.
    lemma KeyTrace_Frozen{L}: \forall trace tr, zp_config *c, integer s, zp_layout *lay,
      integer o, key, t; Valid(c) && LayoutOf(c, s, lay) && 0 <= key && 0 <= o < c->n_params &&
      c->params[o].tied == key && c->params[o].frozen != 0 ==>
      TiedFlat(lay->flat, lay->n_flats, key) < 0 && LayKeyTrace(tr, c, lay, key, t) == tr;

    predicate HasKeyAt{L}(zp_config *c, integer s, integer o, integer key) =
      0 <= o < c->n_params && c->params[o].tied == key && c->params[o].stage == s;
    lemma Seen_Exists{L}: \forall zp_config *c, integer key, s, n; 0 <= n &&
      Seen(c, key, s, n) == 1 ==>
      \exists integer j; 0 <= j < n && c->params[j].tied == key && c->params[j].stage == s;
    lemma Key_Here{L}: \forall zp_config *c, integer o; 0 <= o < c->n_params ==>
      HasKeyAt(c, c->params[o].stage, o, c->params[o].tied);
    lemma Key_On{L}: \forall zp_config *c, integer key, s; Valid(c) && On(c, key, s) == 1 ==>
      \exists integer o; HasKeyAt(c, s, o, key);
    lemma On_Key{L}: \forall zp_config *c, integer s, o, key; KeyEntry(c, s, o, key) ==>
      On(c, key, s) == 1;
    lemma Key_Entry{L}: \forall zp_config *c, integer s, o, key; Valid(c) && 0 <= key &&
      HasKeyAt(c, s, o, key) && c->params[o].frozen == 0 ==> KeyEntry(c, s, o, key);
    lemma KeyTrace_On{L}: \forall trace tr, zp_config *c, integer s, zp_layout *lay, integer o,
      key, t;
      Valid(c) && LayoutOf(c, s, lay) && 0 <= key && HasKeyAt(c, s, o, key) ==>
      LayKeyTrace(tr, c, lay, key, t) ==
        (c->params[o].frozen == 0 ? KeySums(tr, c, o, key, t) : tr);
    lemma KeySums_Alike{L}: \forall trace tr, zp_config *c, integer i, j, key, t;
      c->params[i].numel == c->params[j].numel ==>
      KeySums(tr, c, i, key, t) == KeySums(tr, c, j, key, t);
    lemma KeyTrace_Pair{L}: \forall trace tr, zp_config *c, integer s, z, zp_layout *l, zp_layout
      *m,
      integer i, j, key, t; Valid(c) && LayoutOf(c, s, l) && LayoutOf(c, z, m) && 0 <= key &&
      HasKeyAt(c, s, i, key) && HasKeyAt(c, z, j, key) ==> SameElements(c, i, j) &&
      LayKeyTrace(tr, c, l, key, t) == LayKeyTrace(tr, c, m, key, t);
    // Two stages that hold a key write the same sums for it, whatever other entries they hold.
    lemma KeyTrace_Agree{L}: \forall trace tr, zp_config *c, integer s, z, zp_layout *l, zp_layout
      *m,
      integer key, t; Valid(c) && LayoutOf(c, s, l) && LayoutOf(c, z, m) && 0 <= key &&
      On(c, key, s) == 1 && On(c, key, z) == 1 ==>
      LayKeyTrace(tr, c, l, key, t) == LayKeyTrace(tr, c, m, key, t);
    // A stage that does not hold it has no flat group for it, and writes no sums.
    lemma Key_Off{L}: \forall zp_config *c, integer s, zp_layout *lay, integer key;
      Valid(c) && LayoutOf(c, s, lay) && 0 <= key && On(c, key, s) != 1 ==>
      TiedFlat(lay->flat, lay->n_flats, key) < 0;
    lemma KeyTrace_Nothing{L}: \forall trace tr, zp_config *c, integer s, zp_layout *lay,
      integer key, t; Valid(c) && LayoutOf(c, s, lay) && 0 <= key && On(c, key, s) != 1 ==>
      TiedFlat(lay->flat, lay->n_flats, key) < 0 && LayKeyTrace(tr, c, lay, key, t) == tr;
    // If one of them were frozen on one stage only, this would be false; LIM-8 refuses that.
    check lemma Control_AnyKeys{L}: \forall trace tr, zp_config *c, integer s, z, zp_layout *l,
      zp_layout *m, integer key, t; Valid(c) && LayoutOf(c, s, l) && LayoutOf(c, z, m) &&
      0 <= key && On(c, key, s) == 1 ==>
      LayKeyTrace(tr, c, l, key, t) == LayKeyTrace(tr, c, m, key, t);
*/

/* ---- LEDG-8: buckets of tied keys, flat group by flat group and key by key ---- */
/*@ predicate HoldsSome{L}(zp_flat *f) = f->use == 0 && 0 <= f->tied;
    predicate LowKey{L}(zp_flat *f, integer x) = HoldsSome(f) ==> f->tied < x;
    // No two of the first n flat groups hold the same key; all keys are below x.
    predicate OneHolder{L}(zp_flat *f, integer n) =
      \forall integer i, k; 0 <= i < k < n ==>
        !(HoldsSome(f + i) && HoldsSome(f + k) && (f + i)->tied == (f + k)->tied);
    predicate KeysBelow{L}(zp_flat *f, integer n, integer x) =
      \forall integer k; 0 <= k < n ==> LowKey(f + k, x);
    lemma Holds_Some{L}: \forall zp_flat *f, integer key; 0 <= key && HoldsKey(f, key) == 1 ==>
      HoldsSome(f) && f->tied == key;
    lemma Key_Same{L}: \forall zp_flat *f, integer n, key; 0 <= n && 0 <= key &&
      HoldsKey(f + n, key) == 0 ==> TiedFlat(f, n + 1, key) == TiedFlat(f, n, key) &&
      KeyLen(f, n + 1, key) == KeyLen(f, n, key);
    lemma Key_New{L}: \forall zp_flat *f, integer n, key; 0 <= n && 0 <= key &&
      HoldsKey(f + n, key) == 1 && TiedFlat(f, n, key) < 0 ==>
      KeyLen(f, n, key) == 0 && KeyLen(f, n + 1, key) == BucketsOf(f + n);
    lemma Keys_Same{L}: \forall integer x; 0 <= x ==> \forall zp_flat *f, integer n;
      0 <= n && (\forall integer key; 0 <= key < x ==> HoldsKey(f + n, key) == 0) ==>
      KeysLen(f, n + 1, x) == KeysLen(f, n, x);
    lemma Keys_At{L}: \forall zp_flat *f, integer n, key; 0 <= n && 0 <= key &&
      HoldsKey(f + n, key) == 1 && TiedFlat(f, n, key) < 0 ==>
      KeysLen(f, n + 1, key + 1) == KeysLen(f, n, key + 1) + BucketsOf(f + n);
    lemma Keys_After{L}: \forall integer x; 0 <= x ==> \forall zp_flat *f, integer n, key, d;
      0 <= n && 0 <= key && key < x && HoldsKey(f + n, key) == 1 &&
      KeysLen(f, n + 1, key + 1) == KeysLen(f, n, key + 1) + d ==>
      KeysLen(f, n + 1, x) == KeysLen(f, n, x) + d;
    lemma Keys_New{L}: \forall zp_flat *f, integer n, x, key; 0 <= n && 0 <= key < x &&
      HoldsKey(f + n, key) == 1 && TiedFlat(f, n, key) < 0 ==>
      KeysLen(f, n + 1, key + 1) == KeysLen(f, n, key + 1) + BucketsOf(f + n) &&
      KeysLen(f, n + 1, x) == KeysLen(f, n, x) + BucketsOf(f + n);
    lemma Holder_New{L}: \forall zp_flat *f, integer n; 0 <= n && OneHolder(f, n + 1) &&
      HoldsSome(f + n) ==> TiedFlat(f, n, (f + n)->tied) < 0;
    lemma Holder_Less{L}: \forall zp_flat *f, integer n, x; 0 <= n && OneHolder(f, n + 1) &&
      KeysBelow(f, n + 1, x) ==> OneHolder(f, n) && KeysBelow(f, n, x) && LowKey(f + n, x);
    lemma Some_Holds{L}: \forall zp_flat *f; HoldsSome(f) ==> HoldsKey(f, f->tied) == 1;
    lemma Keys_Step{L}: \forall zp_flat *f, integer n, x; 0 <= n && 0 <= x &&
      OneHolder(f, n + 1) && KeysBelow(f, n + 1, x) ==>
      KeysLen(f, n + 1, x) == KeysLen(f, n, x) + HeldTiedOf(f + n);
    lemma Keys_None{L}: \forall integer x; 0 <= x ==> \forall zp_flat *f; KeysLen(f, 0, x) == 0;
    lemma Held_Sums{L}: \forall integer n; 0 <= n ==> \forall zp_flat *f, integer x; 0 <= x &&
      OneHolder(f, n) && KeysBelow(f, n, x) ==> HeldTied(f, n) == KeysLen(f, n, x);

    lemma Holder_Head{L}: \forall zp_config *c, integer s, zp_layout *lay, integer k, key;
      Valid(c) && LayoutOf(c, s, lay) && 0 <= k < lay->n_flats && 0 <= key &&
      HoldsKey(lay->flat + k, key) == 1 ==> LayoutFlat(c, s, lay, k) &&
      KeyEntry(c, s, KeyOpener(c, s, k), key) &&
      UseOf(c, StageEnd(c, s), KeyOpener(c, s, k)) == 0 &&
      HeadOf(c, StageEnd(c, s), KeyOpener(c, s, k)) == KeyOpener(c, s, k) &&
      FlatAt(c, StageEnd(c, s), KeyOpener(c, s, k)) == k;
    lemma Holder_Opener{L}: \forall zp_config *c, integer s, zp_layout *lay, integer k;
      Valid(c) && LayoutOf(c, s, lay) && 0 <= k < lay->n_flats && HoldsSome(lay->flat + k) ==>
      KeyEntry(c, s, KeyOpener(c, s, k), (lay->flat + k)->tied) &&
      HeadOf(c, StageEnd(c, s), KeyOpener(c, s, k)) == KeyOpener(c, s, k) &&
      FlatAt(c, StageEnd(c, s), KeyOpener(c, s, k)) == k;
    lemma Head_Key{L}: \forall zp_config *c, integer s, o, p, key; KeyEntry(c, s, o, key) &&
      KeyEntry(c, s, p, key) && HeadOf(c, StageEnd(c, s), o) == o &&
      HeadOf(c, StageEnd(c, s), p) == p ==> o == p;
    lemma Holder_One{L}: \forall zp_config *c, integer s, zp_layout *lay, integer i, k;
      Valid(c) && LayoutOf(c, s, lay) && 0 <= i < lay->n_flats && 0 <= k < lay->n_flats &&
      HoldsSome(lay->flat + i) && HoldsSome(lay->flat + k) &&
      (lay->flat + i)->tied == (lay->flat + k)->tied ==> i == k;
    lemma Layout_Holders{L}: \forall zp_config *c, integer s, zp_layout *lay;
      Valid(c) && LayoutOf(c, s, lay) ==> OneHolder(lay->flat, lay->n_flats);
    lemma Entry_Key{L}: \forall zp_config *c, integer s, o, key; Valid(c) &&
      KeyEntry(c, s, o, key) ==> ValidEntry(c, o) && key < c->tied_keys;
    lemma Holder_Low{L}: \forall zp_config *c, integer s, zp_layout *lay, integer k;
      Valid(c) && LayoutOf(c, s, lay) && 0 <= k < lay->n_flats && HoldsSome(lay->flat + k) ==>
      (lay->flat + k)->tied < c->tied_keys;
    lemma Layout_Keys{L}: \forall zp_config *c, integer s, zp_layout *lay;
      Valid(c) && LayoutOf(c, s, lay) ==> KeysBelow(lay->flat, lay->n_flats, c->tied_keys);
    // The counted buckets are those whose sums are written.
    lemma Held_Keys{L}: \forall zp_config *c, integer s, zp_layout *lay;
      Valid(c) && LayoutOf(c, s, lay) ==> HeldTied(lay->flat, lay->n_flats) ==
        KeysLen(lay->flat, lay->n_flats, c->tied_keys);
*/

/* ---- RED-3, LEDG-6: no message is larger than its bucket ---- */
/*@ lemma Fits_Least: \forall integer k, q, m; 1 <= m && q + 1 <= k ==> q * m + m <= k * m;
    lemma Fits_Units: \forall integer x, c, m; 1 <= m && 0 <= x <= c && Multiple(c, m) ==>
      RoundUp(x, m) <= c;
    lemma Fits_Unit: \forall integer d, a; 1 <= d && 1 <= a ==> 1 <= d * a;
    lemma Fits_Padded: \forall integer n, c, d, a, b; 1 <= d && 1 <= a && 1 <= c &&
      WholeUnits(c, d, a) && b * c < n ==> 0 <= BucketNumel(n, c, b) <= c &&
      0 <= BucketPadded(n, c, d, a, b) <= c;
    lemma Fits_Quotient: \forall integer x, y, d; 1 <= d && 0 <= x <= y ==> 0 <= x / d <= y / d;
    lemma Fits_Part: \forall integer n, c, d, a, b; 1 <= d && 1 <= a && 1 <= c &&
      WholeUnits(c, d, a) && b * c < n ==> 0 <= BucketPadded(n, c, d, a, b) <= c &&
      0 <= Part(n, c, d, a, b) <= c / d;
    // The number of elements of a message about a bucket: a whole bucket at ZeRO stage 0, else one
    // part; limbs: for each element.
    logic integer MessageMost(integer stage, integer c, integer d, integer limbs) =
      (stage == 0 ? c : c / d) * (limbs != 0 ? ZP_LIMBS : 1);
    lemma Message_Reduce: \forall integer stage, exact, n, c, d, a, b; 1 <= d && 1 <= a && 1 <= c &&
      WholeUnits(c, d, a) && b * c < n ==> 0 <= ReduceCount(stage, exact, n, c, d, a, b) <=
        MessageMost(stage, c, d, stage != 2 && exact == ZP_EXACT ? 1 : 0);
    lemma Message_Tied: \forall integer stage, exact, n, c, d, a, b; 1 <= d && 1 <= a && 1 <= c &&
      WholeUnits(c, d, a) && b * c < n ==> 0 <= TiedCount(stage, exact, n, c, d, a, b) <=
        MessageMost(stage, c, d, exact == ZP_EXACT ? 1 : 0);
    lemma Message_Gather: \forall integer n, c, d, a, b; 1 <= d && 1 <= a && 1 <= c &&
      WholeUnits(c, d, a) && b * c < n ==>
      0 <= Part(n, c, d, a, b) <= MessageMost(1, c, d, 0);
*/

#endif
