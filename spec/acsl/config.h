/* The logic of LIM-0 … LIM-9: valid configurations (zp_config_check returns 0 iff Valid) and the
 * content of a refusal. Include after ref/plan/config.h's types. */
#ifndef ZP_SPEC_ACSL_CONFIG_H
#define ZP_SPEC_ACSL_CONFIG_H

#include "bounds.h"

/*@ // LIM-1, LIM-2
    predicate ValidTopology(integer pp, integer dp, integer tp, integer ep) =
      1 <= pp && 1 <= dp && 1 <= tp && pp * dp * tp <= ZP_LIMIT_RANKS && 1 <= ep <= dp &&
      dp % ep == 0;

    // LIM-3, LIM-4, LIM-7
    predicate ValidSwitches{L}(zp_config *c) =
      0 <= c->stage <= 2 && 0 <= c->reduce <= 1 && 0 <= c->precision <= 2 &&
      0 <= c->dynamic_shapes <= 1 && 1 <= c->optgroups <= 256 &&
      0 <= c->tied_keys <= ZP_LIMIT_TIED &&
      0 <= c->n_params <= ZP_LIMIT_ENTRIES;

    // LIM-5, LIM-6
    predicate ValidAmounts{L}(zp_config *c) =
      1 <= c->micro_batches <= ZP_LIMIT_MICRO_BATCHES && c->dp * c->micro_batches <= 1073741824 &&
      1 <= c->bucket <= ZP_LIMIT_ELEMENTS && 1 <= c->align <= ZP_LIMIT_ALIGN;

    // LIM-7
    predicate ValidEntry{L}(zp_config *c, integer j) =
      0 <= c->params[j].numel <= ZP_LIMIT_ELEMENTS &&
      (j == 0 ? 0 : c->params[j - 1].stage) <= c->params[j].stage < c->pp &&
      0 <= c->params[j].optgroup < c->optgroups && -1 <= c->params[j].tied < c->tied_keys &&
      0 <= c->params[j].sharded <= 1 && 0 <= c->params[j].expert <= 1 &&
      0 <= c->params[j].frozen <= 1 && 0 <= c->params[j].fp32 <= 1;

    // LIM-8
    predicate SameTied{L}(zp_config *c, integer i, integer j) =
      c->params[i].numel == c->params[j].numel && c->params[i].sharded == c->params[j].sharded &&
      c->params[i].optgroup == c->params[j].optgroup &&
      c->params[i].frozen == c->params[j].frozen && c->params[i].fp32 == c->params[j].fp32;
    predicate TiedAgree{L}(zp_config *c, integer i, integer j) =
      c->params[i].tied == c->params[j].tied && 0 <= c->params[j].tied ==>
        SameTied(c, i, j) && c->params[j].expert == 0;
    predicate AllAgree{L}(zp_config *c, integer n) =
      \forall integer i, j; 0 <= i <= j < n ==> TiedAgree(c, i, j);

    // The number of ranks of one model replica that hold different elements of an entry, and the
    // number of elements that they hold in total. (The case 1 is redundant; it keeps provers from
    // expanding the product.)
    logic integer Copies(integer sharded, integer expert, integer tp, integer ep) =
      sharded == 1 ? (expert == 1 ? tp * ep : tp) : (expert == 1 ? ep : 1);
    logic integer Together(integer numel, integer copies) =
      copies == 1 ? numel : numel * copies;
    logic integer HeldElements{L}(zp_config *c, integer j) =
      Together(c->params[j].numel,
               Copies(c->params[j].sharded, c->params[j].expert, c->tp, c->ep));

    // PART-2: the dtype of an entry's values and gradients.
    logic integer DtypeOf(integer fp32, integer precision) = fp32 != 0 ? ZP_F32 : precision;

    // LIM-9: over the first n entries
    logic integer Elements{L}(zp_config *c, integer n) =
      n <= 0 ? 0 : Elements(c, n - 1) + HeldElements(c, n - 1);

    // LIM-4: over the first n entries
    logic integer HasKey{L}(zp_config *c, integer j) = c->params[j].tied >= 0 ? 1 : 0;
    logic integer TiedEntries{L}(zp_config *c, integer n) =
      n <= 0 ? 0 : TiedEntries(c, n - 1) + HasKey(c, n - 1);

    predicate ValidList{L}(zp_config *c) =
      (\forall integer j; 0 <= j < c->n_params ==> ValidEntry(c, j)) && AllAgree(c, c->n_params) &&
      TiedEntries(c, c->n_params) <= ZP_LIMIT_TIED && Elements(c, c->n_params) <= ZP_LIMIT_ELEMENTS;

    predicate Valid{L}(zp_config *c) =
      ValidTopology(c->pp, c->dp, c->tp, c->ep) && ValidSwitches(c) && ValidAmounts(c) &&
      ValidList(c);

    predicate Readable{L}(zp_config *c) =
      \valid_read(c) && (0 < c->n_params ==> \valid_read(c->params + (0 .. c->n_params - 1)));

    // The configuration is equal at two points
    predicate SameEntry{L1,L2}(zp_config *c, integer j) =
      \at(c->params[j].numel, L1) == \at(c->params[j].numel, L2) &&
      \at(c->params[j].stage, L1) == \at(c->params[j].stage, L2) &&
      \at(c->params[j].optgroup, L1) == \at(c->params[j].optgroup, L2) &&
      \at(c->params[j].tied, L1) == \at(c->params[j].tied, L2) &&
      \at(c->params[j].sharded, L1) == \at(c->params[j].sharded, L2) &&
      \at(c->params[j].expert, L1) == \at(c->params[j].expert, L2) &&
      \at(c->params[j].frozen, L1) == \at(c->params[j].frozen, L2) &&
      \at(c->params[j].fp32, L1) == \at(c->params[j].fp32, L2);
    predicate SameScalars{L1,L2}(zp_config *c) =
      \at(c->pp, L1) == \at(c->pp, L2) && \at(c->dp, L1) == \at(c->dp, L2) &&
      \at(c->tp, L1) == \at(c->tp, L2) && \at(c->ep, L1) == \at(c->ep, L2) &&
      \at(c->stage, L1) == \at(c->stage, L2) && \at(c->reduce, L1) == \at(c->reduce, L2) &&
      \at(c->precision, L1) == \at(c->precision, L2) &&
      \at(c->dynamic_shapes, L1) == \at(c->dynamic_shapes, L2) &&
      \at(c->optgroups, L1) == \at(c->optgroups, L2) &&
      \at(c->tied_keys, L1) == \at(c->tied_keys, L2) &&
      \at(c->n_params, L1) == \at(c->n_params, L2) &&
      \at(c->micro_batches, L1) == \at(c->micro_batches, L2) &&
      \at(c->bucket, L1) == \at(c->bucket, L2) && \at(c->align, L1) == \at(c->align, L2) &&
      \at(c->params, L1) == \at(c->params, L2);
    predicate SameConfig{L1,L2}(zp_config *c) =
      SameScalars{L1,L2}(c) &&
      (\forall integer j; 0 <= j < \at(c->n_params, L1) ==> SameEntry{L1,L2}(c, j));

    // LIM-0: a refusal reports the field's value, and the value lies outside the range
    predicate Refusal(zp_refusal r, integer field, integer index, integer value, integer lo,
                      integer hi) =
      r.field == field && r.index == index && r.value == value && r.lo == lo && r.hi == hi;
    predicate Outside(zp_refusal r, integer field, integer index, integer value, integer lo,
                      integer hi) =
      Refusal(r, field, index, value, lo, hi) && (value < lo || hi < value);

    predicate ReportedTopology{L}(zp_config *c, zp_refusal r) =
      Outside(r, ZP_FIELD_PP, -1, c->pp, 1, ZP_LIMIT_RANKS) ||
      Outside(r, ZP_FIELD_DP, -1, c->dp, 1, ZP_LIMIT_RANKS) ||
      Outside(r, ZP_FIELD_TP, -1, c->tp, 1, ZP_LIMIT_RANKS) ||
      Outside(r, ZP_FIELD_RANKS, -1, c->pp * c->dp * c->tp, 1, ZP_LIMIT_RANKS) ||
      Outside(r, ZP_FIELD_EP, -1, c->ep, 1, c->dp) ||
      (Refusal(r, ZP_FIELD_EP, -1, c->ep, 1, c->dp) && 1 <= c->ep && c->dp % c->ep != 0);

    predicate ReportedSwitches{L}(zp_config *c, zp_refusal r) =
      Outside(r, ZP_FIELD_STAGE, -1, c->stage, 0, 2) ||
      Outside(r, ZP_FIELD_REDUCE, -1, c->reduce, 0, 1) ||
      Outside(r, ZP_FIELD_PRECISION, -1, c->precision, 0, 2) ||
      Outside(r, ZP_FIELD_DYNAMIC_SHAPES, -1, c->dynamic_shapes, 0, 1) ||
      Outside(r, ZP_FIELD_OPTGROUPS, -1, c->optgroups, 1, 256) ||
      Outside(r, ZP_FIELD_TIED_KEYS, -1, c->tied_keys, 0, ZP_LIMIT_TIED) ||
      Outside(r, ZP_FIELD_N_PARAMS, -1, c->n_params, 0, ZP_LIMIT_ENTRIES);

    predicate ReportedAmounts{L}(zp_config *c, zp_refusal r) =
      Outside(r, ZP_FIELD_MICRO_BATCHES, -1, c->micro_batches, 1, ZP_LIMIT_MICRO_BATCHES) ||
      Outside(r, ZP_FIELD_CONTRIBUTIONS, -1, c->dp * c->micro_batches, 1, 1073741824) ||
      Outside(r, ZP_FIELD_BUCKET, -1, c->bucket, 1, ZP_LIMIT_ELEMENTS) ||
      Outside(r, ZP_FIELD_ALIGN, -1, c->align, 1, ZP_LIMIT_ALIGN);

    // entry j disagrees with entry i
    predicate ReportedTied{L}(zp_config *c, integer i, integer j, zp_refusal r) =
      Outside(r, ZP_FIELD_TIED_NUMEL, j, c->params[j].numel, c->params[i].numel,
              c->params[i].numel) ||
      Outside(r, ZP_FIELD_TIED_SHARDED, j, c->params[j].sharded, c->params[i].sharded,
              c->params[i].sharded) ||
      Outside(r, ZP_FIELD_TIED_OPTGROUP, j, c->params[j].optgroup, c->params[i].optgroup,
              c->params[i].optgroup) ||
      Outside(r, ZP_FIELD_TIED_FROZEN, j, c->params[j].frozen, c->params[i].frozen,
              c->params[i].frozen) ||
      Outside(r, ZP_FIELD_TIED_FP32, j, c->params[j].fp32, c->params[i].fp32, c->params[i].fp32);

    predicate ReportedEntry{L}(zp_config *c, integer j, zp_refusal r) =
      Outside(r, ZP_FIELD_NUMEL, j, c->params[j].numel, 0, ZP_LIMIT_ELEMENTS) ||
      Outside(r, ZP_FIELD_PARAM_STAGE, j, c->params[j].stage,
              j == 0 ? 0 : c->params[j - 1].stage, c->pp - 1) ||
      Outside(r, ZP_FIELD_OPTGROUP, j, c->params[j].optgroup, 0, c->optgroups - 1) ||
      Outside(r, ZP_FIELD_TIED, j, c->params[j].tied, -1, c->tied_keys - 1) ||
      Outside(r, ZP_FIELD_SHARDED, j, c->params[j].sharded, 0, 1) ||
      Outside(r, ZP_FIELD_EXPERT, j, c->params[j].expert, 0, 1) ||
      Outside(r, ZP_FIELD_FROZEN, j, c->params[j].frozen, 0, 1) ||
      Outside(r, ZP_FIELD_FP32, j, c->params[j].fp32, 0, 1) ||
      (Outside(r, ZP_FIELD_EXPERT, j, c->params[j].expert, 0, 0) && 0 <= c->params[j].tied) ||
      (\exists integer i; 0 <= i < j && c->params[i].tied == c->params[j].tied &&
         ReportedTied(c, i, j, r));

    predicate ReportedList{L}(zp_config *c, zp_refusal r) =
      0 <= r.index < c->n_params &&
      (ReportedEntry(c, r.index, r) ||
       Outside(r, ZP_FIELD_TIED_ENTRIES, r.index, TiedEntries(c, r.index + 1), 0, ZP_LIMIT_TIED) ||
       Outside(r, ZP_FIELD_ELEMENTS, r.index, Elements(c, r.index + 1), 0, ZP_LIMIT_ELEMENTS));

    predicate Reported{L}(zp_config *c, zp_refusal r) =
      ReportedTopology(c, r) || ReportedSwitches(c, r) || ReportedAmounts(c, r) ||
      ReportedList(c, r);
*/

/*@ lemma ValidTopology_Bounds: \forall integer pp, dp, tp, ep; ValidTopology(pp, dp, tp, ep) ==>
      pp <= ZP_LIMIT_RANKS && dp <= ZP_LIMIT_RANKS && tp <= ZP_LIMIT_RANKS &&
      ep <= ZP_LIMIT_RANKS &&
      pp * dp <= ZP_LIMIT_RANKS && dp * tp <= ZP_LIMIT_RANKS && tp * ep <= ZP_LIMIT_RANKS; */

#endif
