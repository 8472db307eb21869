#include "list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  LAYERS = 32,
  WIDTH = 4096,
  HIDDEN = 11008,
  VOCABULARY = 50432,
  LAYER_ENTRIES = 9,
  ENTRIES = LAYERS * LAYER_ENTRIES + 3,
  GROUP_DECAY = 0,
  GROUP_NO_DECAY = 1,
  GROUP_EMBEDDING = 2
};

typedef struct row {
  const char *name;
  int64_t rows, cols; /* cols 0: a vector, replicated over tp, not decayed */
} row;

static const row layer_rows[LAYER_ENTRIES] = {
    {"norm1", WIDTH, 0},           {"attention.q", WIDTH, WIDTH},   {"attention.k", WIDTH, WIDTH},
    {"attention.v", WIDTH, WIDTH}, {"attention.out", WIDTH, WIDTH}, {"norm2", WIDTH, 0},
    {"mlp.gate", WIDTH, HIDDEN},   {"mlp.up", WIDTH, HIDDEN},       {"mlp.down", HIDDEN, WIDTH}};

static zp_param entry(int64_t rows, int64_t cols, int32_t tp, int32_t stage)
{
  zp_param p;
  memset(&p, 0, sizeof p);
  p.numel = cols > 0 ? rows * cols / tp : rows;
  p.stage = stage;
  p.optgroup = cols > 0 ? GROUP_DECAY : GROUP_NO_DECAY;
  p.tied = -1;
  p.sharded = cols > 0;
  return p;
}

static zp_param embedding(int32_t tp, int32_t stage)
{
  zp_param p = entry(VOCABULARY, WIDTH, tp, stage);
  p.optgroup = GROUP_EMBEDDING;
  p.tied = 0;
  return p;
}

/* The stage of a layer: with one or two stages more than layers, embedding and head have stages of
 * their own; otherwise the layers are split as evenly as they can be, the first stages getting
 * less. */
static int32_t stage_of(int32_t pp, int32_t layer)
{
  const int32_t first = pp > LAYERS ? 1 : 0;
  const int32_t stages = pp > LAYERS ? LAYERS : pp;
  return first + (int32_t)(((int64_t)layer * stages + stages - 1) / LAYERS);
}

static void fill(int32_t pp, int32_t tp, zp_param *params, char (*names)[ZP_LIST_NAME])
{
  int32_t n = 0;
  params[n++] = embedding(tp, 0);
  for (int32_t l = 0; l < LAYERS; l++)
    for (int32_t i = 0; i < LAYER_ENTRIES; i++)
      params[n++] = entry(layer_rows[i].rows, layer_rows[i].cols, tp, stage_of(pp, l));
  params[n++] = entry(WIDTH, 0, tp, pp - 1);
  params[n] = embedding(tp, pp - 1);
  if (names == NULL) return;
  snprintf(names[0], ZP_LIST_NAME, "embedding");
  for (int32_t i = 0; i < LAYERS * LAYER_ENTRIES; i++)
    snprintf(names[1 + i], ZP_LIST_NAME, "layer%d.%s", (int)(i / LAYER_ENTRIES),
             layer_rows[i % LAYER_ENTRIES].name);
  snprintf(names[ENTRIES - 2], ZP_LIST_NAME, "norm");
  snprintf(names[ENTRIES - 1], ZP_LIST_NAME, "head");
}

int zp_list_7b(int32_t pp, int32_t tp, zp_param **params, char (**names)[ZP_LIST_NAME], int32_t *n,
               int32_t *optgroups, int32_t *tied_keys)
{
  const int64_t square = (int64_t)WIDTH * WIDTH;
  zp_param *p;
  char(*text)[ZP_LIST_NAME] = NULL;
  if (pp < 1 || pp > LAYERS + 2 || tp < 1 || tp > square) return -1;
  if (square % tp != 0 || (int64_t)WIDTH * HIDDEN % tp != 0 ||
      (int64_t)VOCABULARY * WIDTH % tp != 0)
    return -1;
  p = malloc(ENTRIES * sizeof *p);
  if (names != NULL) text = calloc(ENTRIES, sizeof *text);
  if (p == NULL || (names != NULL && text == NULL)) {
    free(p);
    free(text);
    return -1;
  }
  fill(pp, tp, p, text);
  *params = p;
  if (names != NULL) *names = text;
  *n = ENTRIES;
  *optgroups = 3;
  *tied_keys = 1;
  return 0;
}
