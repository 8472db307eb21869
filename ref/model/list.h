/* A 7-billion-parameter transformer's parameter list, for plans that need a real model's shape. */
#ifndef ZP_MODEL_LIST_H
#define ZP_MODEL_LIST_H

#include <stdint.h>

#include "../plan/config.h"

enum { ZP_LIST_NAME = 48 };

/* 32 layers of width 4096 (four attention matrices, a gated MLP of 11008, two norms), a vocabulary
 * of 50432 whose embedding is tied with the output head (key 0), a final norm: 6.68e9 elements,
 * 6.89e9 with both uses of the embedding. Optimizer groups: 0 matrices (decayed), 1 norms, 2
 * embeddings; so K is 3 on the first and the last stage, 2 between them. Matrices and embeddings
 * are sharded over tp, norms are replicated.
 *
 * Allocates *params (and *names unless names is NULL) with malloc; *n entries. Returns 0; -1, with
 * outputs untouched, when pp is not in 1..34, tp does not divide every matrix, or memory ran out.
 * */
int zp_list_7b(int32_t pp, int32_t tp, zp_param **params, char (**names)[ZP_LIST_NAME], int32_t *n,
               int32_t *optgroups, int32_t *tied_keys);

#endif
