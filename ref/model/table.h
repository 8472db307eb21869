/* table: a workload whose gradients are in a table, as a conformance case lists them.
 *
 * Micro-batch g = mb·dp + dp_index of a step has for every used entry j the row x: its loss is
 * Σ_j ⟨w_j, x_j⟩, so the gradient of entry j is x_j times the loss scale, whatever the values of
 * the parameters are. The pipeline messages are those of conformance/SPEC.md ("Stages"): a message
 * that is stale, of another micro-batch, or garbled makes gradients wrong, never an error.
 * spec: RED-1, STEP-1, PIPE-6 */
#ifndef ZP_MODEL_TABLE_H
#define ZP_MODEL_TABLE_H

#include <stdint.h>

#include "../engine/rank.h"

/* value[((step·dp·M + g)·n_params + j)·tp + t]: numel numbers, or NULL where the entry is unused or
 * frozen; an entry that is not sharded has t = 0 alone, unless its gradients are parts (RED-8). An
 * expert's row is that of the copy on g's rank. first[(j·tp + t)·ep + e]: first values.
 * shape[b·dp·M + g]: what boundary b carries. */
typedef struct zp_table {
  zp_config cfg; /* params: owned */
  zp_hyper hyper;
  int32_t steps;
  int32_t log2_unit, log2_first;  /* values and first values are integers times these powers */
  int32_t rates;                  /* 1: learning rates change by step (zp_table_rate) */
  int32_t either;                 /* 1: the last step may be skipped or not */
  int32_t since[ZP_HYPER_GROUPS]; /* the first step in which the optimizer has a group */
  float **value, **first;
  zp_message *shape;
  double *loss; /* by zp_table_loss: what the last forward of each micro-batch computed */
} zp_table;

/* The factor of all learning rates in a step: 1, unless they change by step. */
double zp_table_rate(int32_t rates, int64_t step);

/* The place in loss of a stage's terms of the loss of global micro-batch g: Σ⟨w_j, x_j⟩ of the
 * last step. */
int64_t zp_table_loss(const zp_table *table, int32_t stage, int64_t g, int32_t tp);

/* Room for the tables of cfg, whose list is copied; NULL when memory ran out. */
zp_table *zp_table_new(const zp_config *cfg, int32_t steps);
void zp_table_free(zp_table *table);

/* Rows of entry j in a micro-batch: one for each tp index whose gradient differs. */
int32_t zp_table_rows(const zp_config *cfg, int32_t j);

/* The place of a row in value; of first values in first; rows of either. */
int64_t zp_table_row(const zp_table *table, int64_t step, int64_t g, int32_t j, int32_t tp);
int64_t zp_table_first(const zp_table *table, int32_t j, int32_t tp, int32_t ep);

/* numel numbers for row i of a table, zero: 0, or -1 when memory ran out. */
int zp_table_add(float **rows, int64_t i, int64_t numel);

/* The workload interface over the table, which must outlive it. */
zp_workload zp_table_workload(zp_table *table);

/* Names of version 0.1.0. */
typedef zp_table zp_given;
#define zp_given_new zp_table_new
#define zp_given_free zp_table_free
#define zp_given_row zp_table_row
#define zp_given_first zp_table_first
#define zp_given_add zp_table_add
#define zp_given_workload zp_table_workload

#endif
