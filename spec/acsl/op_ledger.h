/* Ledgers as consequences of the predicates of op_gradient.h and op_slot.h: what the ops of a
 * backward, a slot and all slots append to the ledger of group g (of key `key`). Include after
 * op_is_lemmas.h. LEDG-1, LEDG-6 */
#ifndef ZP_SPEC_ACSL_OP_LEDGER_H
#define ZP_SPEC_ACSL_OP_LEDGER_H

/*@ // None of the ops lo … hi-1 is of group g.
    predicate Silent{L}(zp_op *ops, integer lo, integer hi, integer g) =
      \forall integer p; lo <= p < hi ==> (ops + p)->group != g;
    lemma Ledger_One{L}: \forall zp_op *ops, integer n, next, g, key, stepped; 0 <= n &&
      next == n + 1 ==> LedgerOf(ops, next, g, key, stepped) ==
        PutAt(LedgerOf(ops, n, g, key, stepped), ops + n, g, key, stepped);
    // The ledger of g is the same at lo and at hi.
    predicate Quiet{L}(zp_op *ops, integer lo, integer hi, integer g, integer key,
        integer stepped) =
      LedgerOf(ops, hi, g, key, stepped) == LedgerOf(ops, lo, g, key, stepped);
    lemma Quiet_Next{L}: \forall zp_op *ops, integer lo, hi, next, g, key, stepped;
      0 <= lo <= hi && next == hi + 1 && Silent(ops, lo, next, g) &&
      Quiet(ops, lo, hi, g, key, stepped) ==> Quiet(ops, lo, next, g, key, stepped);
    lemma Silent_Run{L}: \forall integer m; 0 <= m ==> \forall zp_op *ops, integer lo, hi, g, key,
      stepped; 0 <= lo && hi == lo + m && Silent(ops, lo, hi, g) ==>
      Quiet(ops, lo, hi, g, key, stepped);
    lemma Silent_Ledger{L}: \forall zp_op *ops, integer lo, hi, g, key, stepped; 0 <= lo <= hi &&
      Silent(ops, lo, hi, g) ==>
      LedgerOf(ops, hi, g, key, stepped) == LedgerOf(ops, lo, g, key, stepped);
    lemma Silent_Join{L}: \forall zp_op *ops, integer lo, mid, hi, g; Silent(ops, lo, mid, g) &&
      Silent(ops, mid, hi, g) ==> Silent(ops, lo, hi, g);
    // A reduction group, over which gradients go.
    predicate OverReduction(integer group) = group == ZP_GROUP_DP || group == ZP_GROUP_EDP;
*/

/* ---- One entry ---- */
/*@ lemma Addition_Put{L}: \forall trace tr, zp_op *o, integer stage, k, param, mb, n, c, from, to,
      t, clock, b, g, key, stepped; HasLedger(g) &&
      IsAddition(o, stage, k, param, mb, n, c, from, to, t, clock, b) ==>
      PutAt(tr, o, g, key, stepped) == tr;
    lemma Reduced_Put{L}: \forall trace tr, zp_op *o, integer stage, exact, group, dtype, k, mb, n,
      c, d, a, t, clock, b, g, key, stepped; OverReduction(group) &&
      IsReduced(o, stage, exact, group, dtype, k, mb, n, c, d, a, t, clock, b) ==>
      PutAt(tr, o, g, key, stepped) == (group != g ? tr :
        OneReduction(tr, stage, exact, dtype, n, c, d, a, t, clock, b));
    // The ledger after m additions and reductions that begin at ops[lo], with bucket b0.
    predicate PairsLedger{L}(zp_op *ops, integer lo, integer b0, integer stage, integer exact,
        integer group, integer dtype, integer n, integer c, integer d, integer a, integer t,
        integer clock, integer g, integer key, integer stepped, integer m) =
      LedgerOf(ops, lo + 2 * m, g, key, stepped) ==
        (group != g ? LedgerOf(ops, lo, g, key, stepped) :
         EntryTrace(LedgerOf(ops, lo, g, key, stepped), stage, exact, dtype, n, c, d, a, t, clock,
           b0, b0 + m));
    lemma Pairs_None{L}: \forall zp_op *ops, integer lo, b0, stage, exact, group, dtype, n, c, d, a,
      t, clock, g, key, stepped;
      PairsLedger(ops, lo, b0, stage, exact, group, dtype, n, c, d, a, t, clock, g, key, stepped,
        0);
    lemma Pair_Parity: \forall integer m, x, y; 0 <= m && x == 2 * m && y == x + 1 ==>
      x % 2 == 0 && x / 2 == m && y % 2 == 1 && y / 2 == m;
    lemma Pair_At{L}: \forall zp_op *ops, integer lo, hi, b0, stage, exact, group, dtype, k, param,
      mb, n, c, d, a, from, to, t, clock, p, x; lo <= p < hi && x == p - lo &&
      PairOps(ops, lo, hi, b0, stage, exact, group, dtype, k, param, mb, n, c, d, a, from, to, t,
        clock) ==> IsPaired(ops + p, b0, stage, exact, group, dtype, k, param, mb, n, c, d, a, from,
        to, t, clock, x);
    lemma Pair_Two{L}: \forall zp_op *ops, integer lo, hi, b0, stage, exact, group, dtype, k, param,
      mb, n, c, d, a, from, to, t, clock, m, p, q; 0 <= m && lo + 2 * m + 2 <= hi &&
      p == lo + 2 * m && q == p + 1 &&
      IsPaired(ops + p, b0, stage, exact, group, dtype, k, param, mb, n, c, d, a, from, to, t,
        clock, p - lo) &&
      IsPaired(ops + q, b0, stage, exact, group, dtype, k, param, mb, n, c, d, a, from, to, t,
        clock, q - lo) ==>
      IsAddition(ops + p, stage, k, param, mb, n, c, from, to, t, clock, b0 + m) &&
      IsReduced(ops + q, stage, exact, group, dtype, k, mb, n, c, d, a, t, clock, b0 + m);
    lemma Pair_Ledger{L}: \forall zp_op *ops, integer p, stage, exact, group, dtype, k, param, mb,
      n, c, d, a, from, to, t, clock, b, q, next, g, key, stepped; 0 <= p && q == p + 1 &&
      next == p + 2 && HasLedger(g) && OverReduction(group) &&
      IsAddition(ops + p, stage, k, param, mb, n, c, from, to, t, clock, b) &&
      IsReduced(ops + q, stage, exact, group, dtype, k, mb, n, c, d, a, t, clock, b) ==>
      LedgerOf(ops, next, g, key, stepped) == (group != g ? LedgerOf(ops, p, g, key, stepped) :
        OneReduction(LedgerOf(ops, p, g, key, stepped), stage, exact, dtype, n, c, d, a, t, clock,
          b));
    lemma Pairs_Next{L}: \forall zp_op *ops, integer lo, hi, b0, stage, exact, group, dtype, k,
      param, mb, n, c, d, a, from, to, t, clock, g, key, stepped, m, next; 0 <= lo && 0 <= m &&
      next == m + 1 && lo + 2 * next <= hi && HasLedger(g) && OverReduction(group) &&
      PairOps(ops, lo, hi, b0, stage, exact, group, dtype, k, param, mb, n, c, d, a, from, to, t,
        clock) &&
      PairsLedger(ops, lo, b0, stage, exact, group, dtype, n, c, d, a, t, clock, g, key, stepped,
        m) ==>
      PairsLedger(ops, lo, b0, stage, exact, group, dtype, n, c, d, a, t, clock, g, key, stepped,
        next);
    predicate PairsRoom{L}(zp_op *ops, integer lo, integer hi, integer b0, integer stage,
        integer exact, integer group, integer dtype, integer k, integer param, integer mb,
        integer n, integer c, integer d, integer a, integer from, integer to, integer t,
        integer clock, integer g) =
      0 <= lo && HasLedger(g) && OverReduction(group) &&
      PairOps(ops, lo, hi, b0, stage, exact, group, dtype, k, param, mb, n, c, d, a, from, to, t,
        clock);
    lemma Pairs_Step{L}: \forall zp_op *ops, integer lo, hi, b0, stage, exact, group, dtype, k,
      param, mb, n, c, d, a, from, to, t, clock, g, key, stepped, m, next; 0 <= m &&
      next == m + 1 && lo + 2 * next <= hi &&
      PairsRoom(ops, lo, hi, b0, stage, exact, group, dtype, k, param, mb, n, c, d, a, from, to, t,
        clock, g) &&
      PairsLedger(ops, lo, b0, stage, exact, group, dtype, n, c, d, a, t, clock, g, key, stepped,
        m) ==>
      PairsLedger(ops, lo, b0, stage, exact, group, dtype, n, c, d, a, t, clock, g, key, stepped,
        next);
    lemma Pairs_Ledger{L}: \forall integer m; 0 <= m ==> \forall zp_op *ops, integer lo, hi, b0,
      stage, exact, group, dtype, k, param, mb, n, c, d, a, from, to, t, clock, g, key, stepped;
      lo + 2 * m <= hi && PairsRoom(ops, lo, hi, b0, stage, exact, group, dtype, k, param, mb, n, c,
        d, a, from, to, t, clock, g) ==>
      PairsLedger(ops, lo, b0, stage, exact, group, dtype, n, c, d, a, t, clock, g, key, stepped,
        m);
    lemma Additions_Silent{L}: \forall zp_op *ops, integer lo, hi, b0, stage, k, param, mb, n, c,
      from, to, t, clock, g; HasLedger(g) &&
      AdditionOps(ops, lo, hi, b0, stage, k, param, mb, n, c, from, to, t, clock) ==>
      Silent(ops, lo, hi, g);
    // The buckets of an entry are in order.
    predicate RunsFit(integer n, integer c, integer from, integer to) =
      FirstBucket(c, from) <= DoneBucket(n, c, from, to) <= StopBucket(c, from, to);
    // What an entry's ops, from ops[lo] to ops[hi - 1], append to the ledger.
    predicate EntryLedger{L}(zp_op *ops, integer lo, integer hi, integer reduces, integer stage,
        integer exact, integer group, integer dtype, integer n, integer c, integer d, integer a,
        integer from, integer to, integer t, integer clock, integer g, integer key,
        integer stepped) =
      LedgerOf(ops, hi, g, key, stepped) ==
        (reduces == 0 || group != g ? LedgerOf(ops, lo, g, key, stepped) :
         EntryTrace(LedgerOf(ops, lo, g, key, stepped), stage, exact, dtype, n, c, d, a, t, clock,
           FirstBucket(c, from), DoneBucket(n, c, from, to)));
    lemma Runs_Room{L}: \forall zp_op *ops, integer lo, mid, reduces, stage, exact, group, dtype,
      k, param, mb, n, c, d, a, from, to, t, clock, g; 0 <= lo && HasLedger(g) &&
      OverReduction(group) &&
      mid == lo + 2 * (ReducedTo(reduces, n, c, from, to) - FirstBucket(c, from)) &&
      EntryRuns(ops, lo, reduces, stage, exact, group, dtype, k, param, mb, n, c, d, a, from, to,
        t, clock) ==>
      PairsRoom(ops, lo, mid, FirstBucket(c, from), stage, exact, group, dtype, k, param, mb, n, c,
        d, a, from, to, t, clock, g);
    lemma Pairs_Entry{L}: \forall zp_op *ops, integer lo, mid, m, reduces, stage, exact, group,
      dtype, n, c, d, a, from, to, t, clock, g, key, stepped; mid == lo + 2 * m &&
      m == ReducedTo(reduces, n, c, from, to) - FirstBucket(c, from) &&
      PairsLedger(ops, lo, FirstBucket(c, from), stage, exact, group, dtype, n, c, d, a, t, clock,
        g, key, stepped, m) ==>
      EntryLedger(ops, lo, mid, reduces, stage, exact, group, dtype, n, c, d, a, from, to, t,
        clock, g, key, stepped);
    // m additions and reductions are at ops[lo … mid-1], from bucket b0 on.
    predicate PairsGiven{L}(zp_op *ops, integer lo, integer mid, integer m, integer b0,
        integer stage, integer exact, integer group, integer dtype, integer k, integer param,
        integer mb, integer n, integer c, integer d, integer a, integer from, integer to,
        integer t, integer clock, integer g, integer key, integer stepped) =
      0 <= m && mid == lo + 2 * m &&
      PairsRoom(ops, lo, mid, b0, stage, exact, group, dtype, k, param, mb, n, c, d, a, from, to, t,
        clock, g);
    lemma Pairs_All{L}: \forall zp_op *ops, integer lo, mid, m, b0, stage, exact, group, dtype, k,
      param, mb, n, c, d, a, from, to, t, clock, g, key, stepped;
      PairsGiven(ops, lo, mid, m, b0, stage, exact, group, dtype, k, param, mb, n, c, d, a, from,
        to, t, clock, g, key, stepped) ==>
      PairsLedger(ops, lo, b0, stage, exact, group, dtype, n, c, d, a, t, clock, g, key, stepped,
        m);
    // An entry's ops begin at ops[lo]; its m pairs end before ops[mid].
    predicate EntryGiven{L}(zp_op *ops, integer lo, integer mid, integer m, integer reduces,
        integer stage, integer exact, integer group, integer dtype, integer k, integer param,
        integer mb, integer n, integer c, integer d, integer a, integer from, integer to,
        integer t, integer clock, integer g, integer key, integer stepped) =
      0 <= lo && HasLedger(g) && OverReduction(group) && RunsFit(n, c, from, to) &&
      mid == lo + 2 * m && m == ReducedTo(reduces, n, c, from, to) - FirstBucket(c, from) &&
      EntryRuns(ops, lo, reduces, stage, exact, group, dtype, k, param, mb, n, c, d, a, from, to,
        t, clock);
    lemma Runs_Given{L}: \forall zp_op *ops, integer lo, mid, m, reduces, stage, exact, group,
      dtype, k, param, mb, n, c, d, a, from, to, t, clock, g, key, stepped;
      EntryGiven(ops, lo, mid, m, reduces, stage, exact, group, dtype, k, param, mb, n, c, d, a,
        from, to, t, clock, g, key, stepped) ==>
      PairsGiven(ops, lo, mid, m, FirstBucket(c, from), stage, exact, group, dtype, k, param, mb,
        n, c, d, a, from, to, t, clock, g, key, stepped);
    lemma Runs_PairsLedger{L}: \forall zp_op *ops, integer lo, mid, m, reduces, stage, exact, group,
      dtype, k, param, mb, n, c, d, a, from, to, t, clock, g, key, stepped;
      EntryGiven(ops, lo, mid, m, reduces, stage, exact, group, dtype, k, param, mb, n, c, d, a,
        from, to, t, clock, g, key, stepped) ==>
      PairsLedger(ops, lo, FirstBucket(c, from), stage, exact, group, dtype, n, c, d, a, t, clock,
        g, key, stepped, m);
    lemma Runs_GivenEntry{L}: \forall zp_op *ops, integer lo, mid, m, reduces, stage, exact, group,
      dtype, k, param, mb, n, c, d, a, from, to, t, clock, g, key, stepped;
      EntryGiven(ops, lo, mid, m, reduces, stage, exact, group, dtype, k, param, mb, n, c, d, a,
        from, to, t, clock, g, key, stepped) &&
      PairsLedger(ops, lo, FirstBucket(c, from), stage, exact, group, dtype, n, c, d, a, t, clock,
        g, key, stepped, m) ==>
      EntryLedger(ops, lo, mid, reduces, stage, exact, group, dtype, n, c, d, a, from, to, t,
        clock, g, key, stepped);
    lemma Runs_Pairs{L}: \forall zp_op *ops, integer lo, mid, m, reduces, stage, exact, group,
      dtype, k, param, mb, n, c, d, a, from, to, t, clock, g, key, stepped;
      EntryGiven(ops, lo, mid, m, reduces, stage, exact, group, dtype, k, param, mb, n, c, d, a,
        from, to, t, clock, g, key, stepped) ==>
      EntryLedger(ops, lo, mid, reduces, stage, exact, group, dtype, n, c, d, a, from, to, t,
        clock, g, key, stepped);
    lemma Runs_Silent{L}: \forall zp_op *ops, integer lo, mid, hi, reduces, stage, exact, group,
      dtype, k, param, mb, n, c, d, a, from, to, t, clock, g; HasLedger(g) &&
      mid == lo + 2 * (ReducedTo(reduces, n, c, from, to) - FirstBucket(c, from)) &&
      hi == lo + EntryLen(n, c, from, to, reduces) &&
      EntryRuns(ops, lo, reduces, stage, exact, group, dtype, k, param, mb, n, c, d, a, from, to,
        t, clock) ==> Silent(ops, mid, hi, g);
    lemma Runs_Order: \forall integer lo, mid, hi, reduces, n, c, from, to; 0 <= lo &&
      RunsFit(n, c, from, to) &&
      mid == lo + 2 * (ReducedTo(reduces, n, c, from, to) - FirstBucket(c, from)) &&
      hi == lo + EntryLen(n, c, from, to, reduces) ==> 0 <= lo <= mid <= hi;
    lemma Runs_Join{L}: \forall zp_op *ops, integer lo, mid, hi, reduces, stage, exact, group,
      dtype, n, c, d, a, from, to, t, clock, g, key, stepped; 0 <= lo <= mid <= hi &&
      Silent(ops, mid, hi, g) &&
      EntryLedger(ops, lo, mid, reduces, stage, exact, group, dtype, n, c, d, a, from, to, t,
        clock, g, key, stepped) ==>
      EntryLedger(ops, lo, hi, reduces, stage, exact, group, dtype, n, c, d, a, from, to, t,
        clock, g, key, stepped);
    // … and end before ops[hi].
    predicate EntryWhole{L}(zp_op *ops, integer lo, integer mid, integer m, integer hi,
        integer reduces, integer stage, integer exact, integer group, integer dtype, integer k,
        integer param, integer mb, integer n, integer c, integer d, integer a, integer from,
        integer to, integer t, integer clock, integer g, integer key, integer stepped) =
      hi == lo + EntryLen(n, c, from, to, reduces) &&
      EntryGiven(ops, lo, mid, m, reduces, stage, exact, group, dtype, k, param, mb, n, c, d, a,
        from, to, t, clock, g, key, stepped);
    lemma Runs_WholeSilent{L}: \forall zp_op *ops, integer lo, mid, m, hi, reduces, stage, exact,
      group, dtype, k, param, mb, n, c, d, a, from, to, t, clock, g, key, stepped;
      EntryWhole(ops, lo, mid, m, hi, reduces, stage, exact, group, dtype, k, param, mb, n, c, d, a,
        from, to, t, clock, g, key, stepped) ==>
      0 <= lo <= mid <= hi && Silent(ops, mid, hi, g);
    lemma Runs_WholePairs{L}: \forall zp_op *ops, integer lo, mid, m, hi, reduces, stage, exact,
      group, dtype, k, param, mb, n, c, d, a, from, to, t, clock, g, key, stepped;
      EntryWhole(ops, lo, mid, m, hi, reduces, stage, exact, group, dtype, k, param, mb, n, c, d, a,
        from, to, t, clock, g, key, stepped) ==>
      EntryLedger(ops, lo, mid, reduces, stage, exact, group, dtype, n, c, d, a, from, to, t,
        clock, g, key, stepped);
    lemma Runs_Both{L}: \forall zp_op *ops, integer lo, mid, m, hi, reduces, stage, exact,
      group, dtype, k, param, mb, n, c, d, a, from, to, t, clock, g, key, stepped;
      EntryWhole(ops, lo, mid, m, hi, reduces, stage, exact, group, dtype, k, param, mb, n, c, d, a,
        from, to, t, clock, g, key, stepped) ==>
      EntryLedger(ops, lo, hi, reduces, stage, exact, group, dtype, n, c, d, a, from, to, t,
        clock, g, key, stepped);
    // All of them, for every reduction group.
    predicate EntryAll{L}(zp_op *ops, integer lo, integer hi, integer reduces, integer stage,
        integer exact, integer group, integer dtype, integer k, integer param, integer mb,
        integer n, integer c, integer d, integer a, integer from, integer to, integer t,
        integer clock, integer g, integer key, integer stepped) =
      0 <= lo && HasLedger(g) && OverReduction(group) && RunsFit(n, c, from, to) &&
      hi == lo + EntryLen(n, c, from, to, reduces) &&
      EntryRuns(ops, lo, reduces, stage, exact, group, dtype, k, param, mb, n, c, d, a, from, to,
        t, clock);
    lemma Runs_IsWhole{L}: \forall zp_op *ops, integer lo, hi, reduces, stage, exact, group, dtype,
      k, param, mb, n, c, d, a, from, to, t, clock, g, key, stepped;
      EntryAll(ops, lo, hi, reduces, stage, exact, group, dtype, k, param, mb, n, c, d, a, from, to,
        t, clock, g, key, stepped) ==>
      EntryWhole(ops, lo, lo + 2 * (ReducedTo(reduces, n, c, from, to) - FirstBucket(c, from)),
        ReducedTo(reduces, n, c, from, to) - FirstBucket(c, from), hi, reduces, stage, exact,
        group, dtype, k, param, mb, n, c, d, a, from, to, t, clock, g, key, stepped);
    lemma Runs_Ledger{L}: \forall zp_op *ops, integer lo, hi, reduces, stage, exact, group, dtype,
      k, param, mb, n, c, d, a, from, to, t, clock, g, key, stepped;
      EntryAll(ops, lo, hi, reduces, stage, exact, group, dtype, k, param, mb, n, c, d, a, from, to,
        t, clock, g, key, stepped) ==>
      EntryLedger(ops, lo, hi, reduces, stage, exact, group, dtype, n, c, d, a, from, to, t,
        clock, g, key, stepped);
*/

#endif
