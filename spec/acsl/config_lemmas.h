/* Lemmas about the sums of LIM-4 and LIM-9; an unchanged configuration stays valid. */
#ifndef ZP_SPEC_ACSL_CONFIG_LEMMAS_H
#define ZP_SPEC_ACSL_CONFIG_LEMMAS_H

#include "bounds.h"
#include "config.h"

/*@
    lemma Copies_Range: \forall integer sharded, expert, pp, dp, tp, ep;
      ValidTopology(pp, dp, tp, ep) ==> 1 <= Copies(sharded, expert, tp, ep) <= ZP_LIMIT_RANKS;
    lemma Together_Range: \forall integer numel, copies;
      0 <= numel <= ZP_LIMIT_ELEMENTS && 1 <= copies <= ZP_LIMIT_RANKS ==>
      0 <= Together(numel, copies) <= 1152921504606846976;
    lemma HeldElements_Range{L}: \forall zp_config *c, integer j;
      ValidTopology(c->pp, c->dp, c->tp, c->ep) && 0 <= c->params[j].numel <= ZP_LIMIT_ELEMENTS ==>
      0 <= HeldElements(c, j) <= 1152921504606846976;
    lemma Elements_Monotone{L}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer m;
      0 <= m <= n && ValidTopology(c->pp, c->dp, c->tp, c->ep) &&
      (\forall integer j; 0 <= j < n ==> 0 <= c->params[j].numel <= ZP_LIMIT_ELEMENTS) ==>
      Elements(c, m) <= Elements(c, n);
    lemma TiedEntries_Monotone{L}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer m;
      0 <= m <= n ==> TiedEntries(c, m) <= TiedEntries(c, n);
    lemma Elements_Frame{L1,L2}: \forall integer n; 0 <= n ==> \forall zp_config *c;
      (\forall integer j; 0 <= j < n ==> HeldElements{L1}(c, j) == HeldElements{L2}(c, j)) ==>
      Elements{L1}(c, n) == Elements{L2}(c, n);
    lemma TiedEntries_Frame{L1,L2}: \forall integer n; 0 <= n ==> \forall zp_config *c;
      (\forall integer j; 0 <= j < n ==> HasKey{L1}(c, j) == HasKey{L2}(c, j)) ==>
      TiedEntries{L1}(c, n) == TiedEntries{L2}(c, n);
    lemma ValidList_Elements{L}: \forall zp_config *c, integer m;
      ValidTopology(c->pp, c->dp, c->tp, c->ep) && ValidList(c) && 0 <= m <= c->n_params ==>
      Elements(c, m) <= Elements(c, c->n_params);
    lemma SameEntry_Held{L1,L2}: \forall zp_config *c, integer j;
      SameScalars{L1,L2}(c) && SameEntry{L1,L2}(c, j) ==>
      HeldElements{L1}(c, j) == HeldElements{L2}(c, j);
    lemma SameEntry_HasKey{L1,L2}: \forall zp_config *c, integer j;
      SameScalars{L1,L2}(c) && SameEntry{L1,L2}(c, j) ==> HasKey{L1}(c, j) == HasKey{L2}(c, j);
    lemma SameConfig_Elements{L1,L2}: \forall zp_config *c; SameConfig{L1,L2}(c) &&
      0 <= \at(c->n_params, L1) ==>
      Elements{L1}(c, \at(c->n_params, L1)) == Elements{L2}(c, \at(c->n_params, L1));
    lemma SameConfig_HasKey{L1,L2}: \forall zp_config *c; SameConfig{L1,L2}(c) ==>
      \forall integer j; 0 <= j < \at(c->n_params, L1) ==> HasKey{L1}(c, j) == HasKey{L2}(c, j);
    lemma SameConfig_TiedEntries{L1,L2}: \forall zp_config *c; SameConfig{L1,L2}(c) &&
      0 <= \at(c->n_params, L1) ==>
      TiedEntries{L1}(c, \at(c->n_params, L1)) == TiedEntries{L2}(c, \at(c->n_params, L1));
    lemma TiedAgree_Through{L}: \forall zp_config *c, integer i, j, k;
      TiedAgree(c, k, i) && TiedAgree(c, i, j) && c->params[i].tied == c->params[j].tied ==>
      TiedAgree(c, k, j);
    lemma SameEntry_Valid{L1,L2}: \forall zp_config *c, integer j;
      SameScalars{L1,L2}(c) && SameEntry{L1,L2}(c, j) && (j != 0 ==> SameEntry{L1,L2}(c, j - 1)) &&
      ValidEntry{L1}(c, j) ==> ValidEntry{L2}(c, j);
    lemma SameEntry_Agree{L1,L2}: \forall zp_config *c, integer i, j;
      SameScalars{L1,L2}(c) && SameEntry{L1,L2}(c, i) && SameEntry{L1,L2}(c, j) &&
      TiedAgree{L1}(c, i, j) ==> TiedAgree{L2}(c, i, j);
    lemma SameScalars_Switches{L1,L2}: \forall zp_config *c; SameScalars{L1,L2}(c) &&
      ValidSwitches{L1}(c) ==> ValidSwitches{L2}(c);
    lemma SameScalars_Amounts{L1,L2}: \forall zp_config *c; SameScalars{L1,L2}(c) &&
      ValidAmounts{L1}(c) ==> ValidAmounts{L2}(c);
    lemma SameConfig_Agree{L1,L2}: \forall zp_config *c, integer i, j; SameConfig{L1,L2}(c) &&
      0 <= i < \at(c->n_params, L1) && 0 <= j < \at(c->n_params, L1) &&
      TiedAgree{L1}(c, i, j) ==> TiedAgree{L2}(c, i, j);
    lemma AllAgree_Frame{L1,L2}: \forall zp_config *c; SameConfig{L1,L2}(c) &&
      AllAgree{L1}(c, \at(c->n_params, L1)) ==> AllAgree{L2}(c, \at(c->n_params, L1));
    lemma Entries_Frame{L1,L2}: \forall zp_config *c; SameConfig{L1,L2}(c) ==>
      (\forall integer j; 0 <= j < \at(c->n_params, L1) ==> ValidEntry{L1}(c, j)) ==>
      (\forall integer j; 0 <= j < \at(c->n_params, L1) ==> ValidEntry{L2}(c, j));
    lemma ValidList_Frame{L1,L2}: \forall zp_config *c; SameConfig{L1,L2}(c) &&
      0 <= \at(c->n_params, L1) && ValidList{L1}(c) ==> ValidList{L2}(c);
    lemma Valid_Frame{L1,L2}: \forall zp_config *c;
      SameConfig{L1,L2}(c) && Valid{L1}(c) ==> Valid{L2}(c);
*/

#endif
