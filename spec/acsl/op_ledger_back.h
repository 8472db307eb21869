/* What the ops of one backward, and of one slot without its gradients, append to a ledger, from
 * their predicates. Include after op_ledger.h and step_lemmas.h. LEDG-6 */
#ifndef ZP_SPEC_ACSL_OP_LEDGER_BACK_H
#define ZP_SPEC_ACSL_OP_LEDGER_BACK_H

/* ---- One entry of the stage ---- */
/*@ predicate GradientAll{F,O}(zp_op *ops, integer lo, integer hi, zp_config *c, zp_layout *lay,
        integer i, integer mb, integer t, integer g, integer key, integer stepped) =
      0 <= lo && HasLedger(g) && EntryFits{F}(c, lay, i) &&
      hi == lo + RawLen{F}(c, lay, i, ReducesOn{F}(c, mb)) &&
      GradientAt{F,O}(ops, lo, c, lay, i, mb, t);
    predicate GradientLedger{F,O}(zp_op *ops, integer lo, integer hi, zp_config *c, zp_layout *lay,
        integer i, integer mb, integer t, integer g, integer key, integer stepped) =
      LedgerOf{O}(ops, hi, g, key, stepped) ==
        (ReducesOn{F}(c, mb) == 0 ? LedgerOf{O}(ops, lo, g, key, stepped) :
         RawTrace{F}(LedgerOf{O}(ops, lo, g, key, stepped), c, lay, i, g, t));
    lemma Gradient_Frozen{F,O}: \forall zp_op *ops, integer lo, hi, zp_config *c, zp_layout *lay,
      integer i, mb, t, g, key, stepped; \at(lay->spot[i].flat, F) < 0 &&
      GradientAll{F,O}(ops, lo, hi, c, lay, i, mb, t, g, key, stepped) ==>
      GradientLedger{F,O}(ops, lo, hi, c, lay, i, mb, t, g, key, stepped);
    // EntryAll and EntryLedger with the numbers of the stage's entry i.
    predicate SpotAll{F,O}(zp_op *ops, integer lo, integer hi, zp_config *c, zp_layout *lay,
        integer i, integer mb, integer t, integer g, integer key, integer stepped) =
      \let k = \at(lay->spot[i].flat, F);
      \let f = \at(lay->flat, F) + k;
      \let from = \at(lay->spot[i].start, F);
      EntryAll{O}(ops, lo, hi, ReducesOn{F}(c, mb), \at(c->stage, F), \at(c->reduce, F),
        \at(f->group, F), DtypeOf(\at(f->fp32, F), \at(c->precision, F)), k,
        \at(lay->first_param, F) + i, mb, \at(f->numel, F), \at(f->capacity, F),
        \at(f->members, F), \at(f->align, F), from,
        from + \at(c->params[\at(lay->first_param, F) + i].numel, F), t, SpotClock{F}(lay, i), g,
        key, stepped);
    predicate SpotLedger{F,O}(zp_op *ops, integer lo, integer hi, zp_config *c, zp_layout *lay,
        integer i, integer mb, integer t, integer g, integer key, integer stepped) =
      \let f = \at(lay->flat, F) + \at(lay->spot[i].flat, F);
      \let from = \at(lay->spot[i].start, F);
      EntryLedger{O}(ops, lo, hi, ReducesOn{F}(c, mb), \at(c->stage, F), \at(c->reduce, F),
        \at(f->group, F), DtypeOf(\at(f->fp32, F), \at(c->precision, F)), \at(f->numel, F),
        \at(f->capacity, F), \at(f->members, F), \at(f->align, F), from,
        from + \at(c->params[\at(lay->first_param, F) + i].numel, F), t, SpotClock{F}(lay, i), g,
        key, stepped);
    lemma Gradient_SpotAll{F,O}: \forall zp_op *ops, integer lo, hi, zp_config *c, zp_layout *lay,
      integer i, mb, t, g, key, stepped; 0 <= \at(lay->spot[i].flat, F) &&
      GradientAll{F,O}(ops, lo, hi, c, lay, i, mb, t, g, key, stepped) ==>
      SpotAll{F,O}(ops, lo, hi, c, lay, i, mb, t, g, key, stepped);
    lemma Spot_Ledger{F,O}: \forall zp_op *ops, integer lo, hi, zp_config *c, zp_layout *lay,
      integer i, mb, t, g, key, stepped;
      SpotAll{F,O}(ops, lo, hi, c, lay, i, mb, t, g, key, stepped) ==>
      SpotLedger{F,O}(ops, lo, hi, c, lay, i, mb, t, g, key, stepped);
    lemma Gradient_OfSpot{F,O}: \forall zp_op *ops, integer lo, hi, zp_config *c, zp_layout *lay,
      integer i, mb, t, g, key, stepped; 0 <= \at(lay->spot[i].flat, F) &&
      SpotLedger{F,O}(ops, lo, hi, c, lay, i, mb, t, g, key, stepped) ==>
      GradientLedger{F,O}(ops, lo, hi, c, lay, i, mb, t, g, key, stepped);
    lemma Gradient_Ledger{F,O}: \forall zp_op *ops, integer lo, hi, zp_config *c, zp_layout *lay,
      integer i, mb, t, g, key, stepped;
      GradientAll{F,O}(ops, lo, hi, c, lay, i, mb, t, g, key, stepped) ==>
      GradientLedger{F,O}(ops, lo, hi, c, lay, i, mb, t, g, key, stepped);
*/

/* ---- One backward: the stage's last x entries ---- */
/*@ predicate BacksAll{F,O}(zp_op *ops, integer lo, zp_config *c, zp_layout *lay, integer mb,
        integer t, integer x, integer g, integer key, integer stepped) =
      0 <= lo && HasLedger(g) && StageFits{F}(c, lay) && x <= \at(lay->n_params, F) &&
      GradientsAt{F,O}(ops, lo, c, lay, mb, t, x);
    predicate BacksLedger{F,O}(zp_op *ops, integer lo, zp_config *c, zp_layout *lay, integer mb,
        integer t, integer x, integer g, integer key, integer stepped) =
      LedgerOf{O}(ops, lo + RawBackLen{F}(c, lay, ReducesOn{F}(c, mb), x), g, key, stepped) ==
        (ReducesOn{F}(c, mb) == 0 ? LedgerOf{O}(ops, lo, g, key, stepped) :
         RawBackTrace{F}(LedgerOf{O}(ops, lo, g, key, stepped), c, lay, g, t, x));
    lemma Backs_Nothing{F,O}: \forall zp_op *ops, integer lo, zp_config *c, zp_layout *lay,
      integer mb, t, g, key, stepped;
      BacksLedger{F,O}(ops, lo, c, lay, mb, t, 0, g, key, stepped);
    lemma Backs_Low{F}: \forall zp_config *c, zp_layout *lay, integer r, x; StageFits(c, lay) &&
      0 <= x < lay->n_params ==> 0 <= RawBackLen(c, lay, r, x) &&
      EntryFits(c, lay, lay->n_params - x - 1);
    lemma Backs_BackAt{F,O}: \forall zp_op *ops, integer lo, zp_config *c, zp_layout *lay,
      integer mb, t, n, x; 0 <= x < n && GradientsAt{F,O}(ops, lo, c, lay, mb, t, n) ==>
      BackAt{F,O}(ops, lo, c, lay, mb, t, x);
    lemma BackAt_Gradient{F,O}: \forall zp_op *ops, integer lo, zp_config *c, zp_layout *lay,
      integer mb, t, x; BackAt{F,O}(ops, lo, c, lay, mb, t, x) ==>
      GradientAt{F,O}(ops, lo + RawBackLen{F}(c, lay, ReducesOn{F}(c, mb), x), c, lay,
        \at(lay->n_params, F) - x - 1, mb, t);
    lemma Backs_GradientAt{F,O}: \forall zp_op *ops, integer lo, zp_config *c, zp_layout *lay,
      integer mb, t, n, x; 0 <= x < n && GradientsAt{F,O}(ops, lo, c, lay, mb, t, n) ==>
      BackAt{F,O}(ops, lo, c, lay, mb, t, x) &&
      GradientAt{F,O}(ops, lo + RawBackLen{F}(c, lay, ReducesOn{F}(c, mb), x), c, lay,
        \at(lay->n_params, F) - x - 1, mb, t);
    lemma Backs_Gradients{F,O}: \forall zp_op *ops, integer lo, zp_config *c, zp_layout *lay,
      integer mb, t, n, g, key, stepped;
      BacksAll{F,O}(ops, lo, c, lay, mb, t, n, g, key, stepped) ==>
      GradientsAt{F,O}(ops, lo, c, lay, mb, t, n);
    lemma Backs_Room{F,O}: \forall zp_op *ops, integer lo, zp_config *c, zp_layout *lay, integer mb,
      t, n, x, g, key, stepped; 0 <= x < n &&
      BacksAll{F,O}(ops, lo, c, lay, mb, t, n, g, key, stepped) ==> HasLedger(g) &&
      0 <= lo + RawBackLen{F}(c, lay, ReducesOn{F}(c, mb), x) &&
      EntryFits{F}(c, lay, \at(lay->n_params, F) - x - 1);
    lemma Backs_More{F}: \forall zp_config *c, zp_layout *lay, integer r, x, next; 0 <= x &&
      next == x + 1 ==> RawBackLen(c, lay, r, next) ==
        RawBackLen(c, lay, r, x) + RawLen(c, lay, lay->n_params - x - 1, r);
    lemma Backs_Entry{F,O}: \forall zp_op *ops, integer lo, zp_config *c, zp_layout *lay,
      integer mb, t, n, x, next, g, key, stepped; 0 <= x < n && next == x + 1 &&
      BacksAll{F,O}(ops, lo, c, lay, mb, t, n, g, key, stepped) ==>
      BackAt{F,O}(ops, lo, c, lay, mb, t, x) &&
      GradientAll{F,O}(ops, lo + RawBackLen{F}(c, lay, ReducesOn{F}(c, mb), x),
        lo + RawBackLen{F}(c, lay, ReducesOn{F}(c, mb), next), c, lay,
        \at(lay->n_params, F) - x - 1, mb, t, g, key, stepped);
    lemma Backs_Join{F,O}: \forall zp_op *ops, integer lo, zp_config *c, zp_layout *lay,
      integer mb, t, x, next, g, key, stepped; 0 <= x && next == x + 1 &&
      BacksLedger{F,O}(ops, lo, c, lay, mb, t, x, g, key, stepped) &&
      GradientLedger{F,O}(ops, lo + RawBackLen{F}(c, lay, ReducesOn{F}(c, mb), x),
        lo + RawBackLen{F}(c, lay, ReducesOn{F}(c, mb), next), c, lay,
        \at(lay->n_params, F) - x - 1, mb, t, g, key, stepped) ==>
      BacksLedger{F,O}(ops, lo, c, lay, mb, t, next, g, key, stepped);
    lemma Backs_LedgerNext{F,O}: \forall zp_op *ops, integer lo, zp_config *c, zp_layout *lay,
      integer mb, t, n, x, next, g, key, stepped; 0 <= x < n && next == x + 1 &&
      BacksAll{F,O}(ops, lo, c, lay, mb, t, n, g, key, stepped) &&
      BacksLedger{F,O}(ops, lo, c, lay, mb, t, x, g, key, stepped) ==>
      BacksLedger{F,O}(ops, lo, c, lay, mb, t, next, g, key, stepped);
    lemma Backs_Ledger{F,O}: \forall integer x; 0 <= x ==> \forall zp_op *ops, integer lo,
      zp_config *c, zp_layout *lay, integer mb, t, n, g, key, stepped; x <= n &&
      BacksAll{F,O}(ops, lo, c, lay, mb, t, n, g, key, stepped) ==>
      BacksLedger{F,O}(ops, lo, c, lay, mb, t, x, g, key, stepped);
*/

/* ---- A slot without its gradients ---- */
/*@ lemma Exchange_Silent{O}: \forall zp_op *ops, integer n, hi, s, d, backward, send, recv, t, g;
      HasLedger(g) && hi == n + ExchangeLen(d, backward, send, recv) &&
      ExchangeOps(ops, n, s, d, backward, send, recv, t) ==> Silent(ops, n, hi, g);
    predicate SilentRun{O}(zp_op *ops, integer n, integer loads, integer backward, integer g) =
      Silent(ops, n, n + (backward != 0 ? 2 : loads + 1), g);
    lemma RunOps_Silent{O}: \forall zp_op *ops, integer n, loads, backward, mb, place, t, g;
      HasLedger(g) && 0 <= loads <= 1 && RunOps(ops, n, loads, backward, mb, place, t) ==>
      SilentRun(ops, n, loads, backward, g);
    logic integer HeadMid(integer n, integer S, integer M, integer s, integer d, integer t) =
      n + ExchangeLen(d, BackwardSlot(s, t), Sent(S, M, s, t), Received(S, M, s, t));
    lemma Head_SilentExchange{O}: \forall zp_op *ops, integer n, S, M, s, d, t, g; HasLedger(g) &&
      HeadOps(ops, n, S, M, s, d, t) ==> Silent(ops, n, HeadMid(n, S, M, s, d, t), g);
    lemma Head_SilentRun{O}: \forall zp_op *ops, integer n, S, M, s, d, t, g; HasLedger(g) &&
      0 <= Computed(S, M, s, t) && HeadOps(ops, n, S, M, s, d, t) ==>
      SilentRun(ops, HeadMid(n, S, M, s, d, t), Loads(S, s), BackwardSlot(s, t), g);
    predicate SilentCompute{O}(zp_op *ops, integer n, integer S, integer M, integer s, integer d,
        integer t, integer g) =
      Silent(ops, HeadMid(n, S, M, s, d, t), n + HeadLen(S, M, s, d, t), g);
    lemma Head_NoSilent{O}: \forall zp_op *ops, integer n, S, M, s, d, t, g;
      Computed(S, M, s, t) < 0 ==> SilentCompute(ops, n, S, M, s, d, t, g);
    lemma Head_SomeSilent{O}: \forall zp_op *ops, integer n, S, M, s, d, t, g; 0 <= s && 0 <= t &&
      0 <= Computed(S, M, s, t) &&
      SilentRun(ops, HeadMid(n, S, M, s, d, t), Loads(S, s), BackwardSlot(s, t), g) ==>
      SilentCompute(ops, n, S, M, s, d, t, g);
    lemma Head_SilentCompute{O}: \forall zp_op *ops, integer n, S, M, s, d, t, g; 0 <= s &&
      0 <= t && HasLedger(g) && HeadOps(ops, n, S, M, s, d, t) ==>
      SilentCompute(ops, n, S, M, s, d, t, g);
    lemma Head_Silent{O}: \forall zp_op *ops, integer n, S, M, s, d, t, g; 0 <= s && 0 <= t &&
      HasLedger(g) && HeadOps(ops, n, S, M, s, d, t) ==>
      Silent(ops, n, n + HeadLen(S, M, s, d, t), g);
*/

#endif
