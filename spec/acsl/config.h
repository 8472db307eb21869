/* The logic of LIM-0 … LIM-9: what a valid configuration is. Include after ref/plan/config.h's
 * types. Drafted for the proofs that come; zp_config_check is to return 0 iff Valid. */
#ifndef ZP_SPEC_ACSL_CONFIG_H
#define ZP_SPEC_ACSL_CONFIG_H

/*@ predicate ValidTopology(integer pp, integer dp, integer tp, integer ep) =
      1 <= pp && 1 <= dp && 1 <= tp && pp * dp <= 1048576 && pp * dp * tp <= 1048576 &&
      1 <= ep <= dp && dp % ep == 0;

    predicate ValidScalars{L}(zp_config *c) =
      0 <= c->stage <= 2 && 0 <= c->reduce <= 1 && 0 <= c->precision <= 2 &&
      0 <= c->dynamic_shapes <= 1 && 1 <= c->optgroups <= 256 && 0 <= c->tied_keys <= 1024 &&
      0 <= c->n_params <= 65536 && 1 <= c->micro_batches <= 1048576 &&
      c->dp * c->micro_batches <= 1073741824 &&
      1 <= c->bucket <= 1099511627776 && 1 <= c->align <= 4096;

    predicate ValidEntry{L}(zp_config *c, integer j) =
      0 <= c->params[j].numel <= 1099511627776 &&
      (j == 0 ? 0 : c->params[j - 1].stage) <= c->params[j].stage < c->pp &&
      0 <= c->params[j].optgroup < c->optgroups && -1 <= c->params[j].tied < c->tied_keys &&
      0 <= c->params[j].sharded <= 1 && 0 <= c->params[j].expert <= 1 &&
      0 <= c->params[j].frozen <= 1;

    predicate TiedAgree{L}(zp_config *c, integer i, integer j) =
      c->params[i].tied == c->params[j].tied && 0 <= c->params[j].tied ==>
        c->params[i].numel == c->params[j].numel && c->params[i].sharded == c->params[j].sharded &&
        c->params[i].optgroup == c->params[j].optgroup &&
        c->params[i].frozen == c->params[j].frozen && c->params[j].expert == 0;

    logic integer Copies{L}(zp_config *c, integer j) =
      (c->params[j].sharded == 1 ? c->tp : 1) * (c->params[j].expert == 1 ? c->ep : 1);

    logic integer Elements{L}(zp_config *c, integer n) =
      n <= 0 ? 0 : Elements(c, n - 1) + c->params[n - 1].numel * Copies(c, n - 1);

    logic integer TiedEntries{L}(zp_config *c, integer n) =
      n <= 0 ? 0 : TiedEntries(c, n - 1) + (c->params[n - 1].tied >= 0 ? 1 : 0);

    predicate Valid{L}(zp_config *c) =
      ValidTopology(c->pp, c->dp, c->tp, c->ep) && ValidScalars(c) &&
      (\forall integer j; 0 <= j < c->n_params ==> ValidEntry(c, j)) &&
      (\forall integer i, j; 0 <= i <= j < c->n_params ==> TiedAgree(c, i, j)) &&
      TiedEntries(c, c->n_params) <= 1024 &&
      Elements(c, c->n_params) <= 1099511627776;

    predicate Readable{L}(zp_config *c) =
      \valid_read(c) && (0 < c->n_params ==> \valid_read(c->params + (0 .. c->n_params - 1)));
*/

#endif
