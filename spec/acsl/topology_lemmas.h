/* Lemmas about ranks and tied stages: the arithmetic of TOPO-1, the counting of TOPO-4. */
#ifndef ZP_SPEC_ACSL_TOPOLOGY_LEMMAS_H
#define ZP_SPEC_ACSL_TOPOLOGY_LEMMAS_H

#include "bounds.h"
#include "topology.h"

/*@ lemma World_Product: \forall integer pp, dp, tp; 0 < pp && 0 < dp && 0 < tp ==>
      Mix(Mix(pp, dp, 0), tp, 0) == pp * dp * tp;
    lemma Mix_Ascend: \forall integer x, z, m; 0 <= x <= z && 0 < m ==>
      Mix(x, m, 0) <= Mix(z, m, 0);
    lemma Mix_Step: \forall integer x, m, y; 0 < m && y < m ==>
      Mix(x, m, y) < Mix(x + 1, m, 0);
    lemma Mix_Above: \forall integer x, m, y; 0 < m && 0 <= y ==> Mix(x, m, 0) <= Mix(x, m, y);
    lemma Mix_Less: \forall integer x, z, m, y, w; 0 <= x < z && 0 <= y < m && 0 <= w ==>
      Mix(x, m, y) < Mix(z, m, w);
    lemma Mix_Unique: \forall integer x, z, m, y, w; 0 <= x && 0 <= z && 0 <= y < m &&
      0 <= w < m && Mix(x, m, y) == Mix(z, m, w) ==> x == z && y == w;
    lemma Mix_Of: \forall integer r, m; 0 <= r && 0 < m ==> Mix(r / m, m, r % m) == r;
    lemma Mix_DivMod: \forall integer r, m; 0 <= r && 0 < m ==> 0 <= r / m <= r && 0 <= r % m < m;
    lemma Mix_Sign: \forall integer x, m, y; 0 <= x && 0 <= y && 0 < m ==> 0 <= Mix(x, m, y);
    lemma Mix_Div: \forall integer x, m, y; 0 <= x && 0 <= y < m ==> Mix(x, m, y) / m == x;
    lemma Mix_Mod: \forall integer x, m, y; 0 <= x && 0 <= y < m ==> Mix(x, m, y) % m == y;
    lemma Mix_Add: \forall integer x, m, y; 0 < m ==> Mix(x, m, y) == Mix(x, m, 0) + y;
    lemma Mix_Positive: \forall integer x, m, y; 0 <= x && 0 <= y < m ==>
      x <= Mix(x, m, y) && y <= Mix(x, m, y);
    lemma Mix_Quotient: \forall integer r, n, m; 0 <= r && 0 <= n && 0 < m && r < Mix(n, m, 0) ==>
      r / m < n;
    lemma Mix_Zero: \forall integer m, y; 0 < m ==> Mix(0, m, y) == y;
    lemma Mix_Exact: \forall integer n, m; 0 <= n && 0 < m && n % m == 0 ==> Mix(n / m, m, 0) == n;
    lemma World_Limit: \forall integer pp, dp, tp, ep; ValidTopology(pp, dp, tp, ep) ==>
      1 <= Mix(pp, dp, 0) <= Mix(Mix(pp, dp, 0), tp, 0) <= ZP_LIMIT_RANKS;
*/

/*@ lemma Seen_Range{L}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer key, s;
      0 <= Seen(c, key, s, n) <= 1;
    lemma Seen_Some{L}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer key, s, j;
      0 <= j < n && c->params[j].tied == key && c->params[j].stage == s ==>
      Seen(c, key, s, n) == 1;
    lemma Seen_None{L}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer key, s;
      (\forall integer j; 0 <= j < n ==>
         !(c->params[j].tied == key && c->params[j].stage == s)) ==> Seen(c, key, s, n) == 0;
    lemma On_Range{L}: \forall zp_config *c, integer key, s; 0 <= c->n_params ==>
      0 <= On(c, key, s) <= 1;
    lemma CountOn_Range{L}: \forall integer s; 0 <= s ==> \forall zp_config *c, integer key;
      0 <= c->n_params ==> 0 <= CountOn(c, key, s) <= s;
    lemma CountOn_Monotone{L}: \forall integer s; 0 <= s ==>
      \forall zp_config *c, integer key, r; 0 <= c->n_params && 0 <= r <= s ==>
      CountOn(c, key, r) <= CountOn(c, key, s);
    lemma CountOn_Next{L}: \forall zp_config *c, integer key, s; 0 <= s && On(c, key, s) == 1 ==>
      CountOn(c, key, s + 1) == CountOn(c, key, s) + 1;
    lemma CountOn_Above{L}: \forall zp_config *c, integer key, r, s; 0 <= c->n_params &&
      0 <= r < s && On(c, key, r) == 1 ==> CountOn(c, key, r) < CountOn(c, key, s);
    lemma CountOn_Gap{L}: \forall integer s; 0 <= s ==> \forall zp_config *c, integer key, r;
      0 <= r <= s && (\forall integer t; r <= t < s ==> On(c, key, t) == 0) ==>
      CountOn(c, key, s) == CountOn(c, key, r);
    lemma StageBelow_Found{L}: \forall integer s; 0 <= s ==>
      \forall zp_config *c, integer key, i, r; 0 <= c->n_params && 0 <= r < s &&
      On(c, key, r) == 1 && CountOn(c, key, r) == i ==> StageBelow(c, key, i, s) == r;
    lemma StageBelow_None{L}: \forall integer s; 0 <= s ==> \forall zp_config *c, integer key, i;
      0 <= c->n_params && CountOn(c, key, s) <= i ==> StageBelow(c, key, i, s) == -1;
    lemma StageBelow_Negative{L}: \forall integer s; 0 <= s ==>
      \forall zp_config *c, integer key, i; 0 <= c->n_params && i < 0 ==>
      StageBelow(c, key, i, s) == -1;
    lemma StageBelow_Holds{L}: \forall integer s; 0 <= s ==> \forall zp_config *c, integer key, i;
      0 <= c->n_params && 0 <= i < CountOn(c, key, s) ==>
      0 <= StageBelow(c, key, i, s) < s && On(c, key, StageBelow(c, key, i, s)) == 1 &&
      CountOn(c, key, StageBelow(c, key, i, s)) == i;
    lemma Stages_Ascend{L}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer i;
      0 <= i <= n &&
      (\forall integer j; 0 < j <= n ==> c->params[j - 1].stage <= c->params[j].stage) ==>
      c->params[i].stage <= c->params[n].stage;
    lemma List_Ascends{L}: \forall zp_config *c; ValidList(c) ==>
      \forall integer j; 0 < j <= c->n_params - 1 ==>
        c->params[j - 1].stage <= c->params[j].stage;
    lemma First_Entry{L}: \forall zp_config *c; ValidEntry(c, 0) ==> 0 <= c->params[0].stage;
    lemma First_Stage{L}: \forall zp_config *c; ValidList(c) && 0 < c->n_params ==>
      ValidEntry(c, 0) && 0 <= c->params[0].stage;
    lemma Entries_Ascend{L}: \forall zp_config *c, integer i, k; ValidList(c) &&
      0 <= i <= k < c->n_params ==> c->params[i].stage <= c->params[k].stage;
    lemma Entries_Stage{L}: \forall zp_config *c, integer i; ValidList(c) &&
      0 <= i < c->n_params ==> 0 <= c->params[i].stage < c->pp;
*/

#endif
