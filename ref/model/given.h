/* given: a workload whose gradients stand in a table, as a conformance case lists them.
 *
 * Micro-batch g = mb·dp + dp_index of a step has for every used entry j the row x: its loss is
 * Σ_j ⟨w_j, x_j⟩, so the gradient of entry j is x_j times the loss scale, whatever the values of
 * the parameters are. The pipeline messages are those of conformance/SPEC.md ("Stages"): a message
 * that is stale, of another micro-batch, or garbled makes gradients wrong, never an error.
 * spec: RED-1, STEP-1, PIPE-6 */
#ifndef ZP_MODEL_GIVEN_H
#define ZP_MODEL_GIVEN_H

#include <stdint.h>

#include "../engine/rank.h"

/* value[((step·dp·M + g)·n_params + j)·tp + t]: numel numbers, or NULL where the entry is unused or
 * frozen; an entry that is not sharded has t = 0 alone. An expert's row is that of the copy on g's
 * rank. first[(j·tp + t)·ep + e]: first values. shape[b·dp·M + g]: what boundary b carries. */
typedef struct zp_given {
  zp_config cfg; /* params: owned */
  zp_hyper hyper;
  int32_t steps;
  int32_t log2_unit, log2_first; /* values and first values are integers times these powers */
  float **value, **first;
  zp_message *shape;
} zp_given;

/* Room for the tables of cfg, whose list is copied; NULL when memory ran out. */
zp_given *zp_given_new(const zp_config *cfg, int32_t steps);
void zp_given_free(zp_given *given);

/* The place of a row in value; of first values in first; rows of either. */
int64_t zp_given_row(const zp_given *given, int64_t step, int64_t g, int32_t j, int32_t tp);
int64_t zp_given_first(const zp_given *given, int32_t j, int32_t tp, int32_t ep);

/* numel numbers for row i of a table, zero: 0, or -1 when memory ran out. */
int zp_given_add(float **table, int64_t i, int64_t numel);

/* The workload interface over the table, which must outlive it. */
zp_workload zp_given_workload(zp_given *given);

#endif
