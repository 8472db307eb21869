/* Radford et al. 2019, table 2; the largest as in its published weights. */
#include "gpt2.h"

#include <string.h>

typedef struct shape {
  const char *name;
  int64_t vocabulary, context, width;
  int32_t layers;
} shape;

static const shape shapes[] = {
    {"124m", 50257, 1024, 768, 12}, {"1.5b", 50257, 1024, 1600, 48}, {"tiny", 50, 8, 16, 2}};

static void add(zp_param *list, int32_t *n, int64_t numel)
{
  list[(*n)++] = (zp_param){.numel = numel, .tied = -1};
}

/* Weights and biases in the order of forward; the head is the token embedding. */
int32_t zp_gpt2_list(const char *name, zp_param *list)
{
  int32_t n = 0;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    const shape *s = &shapes[i];
    const int64_t d = s->width;
    const int64_t layer[] = {d, d, d * 3 * d, 3 * d, d * d,     d,
                             d, d, d * 4 * d, 4 * d, 4 * d * d, d};
    if (strcmp(s->name, name) != 0) continue;
    add(list, &n, s->vocabulary * d);
    add(list, &n, s->context * d);
    for (int32_t l = 0; l < s->layers; l++)
      for (size_t k = 0; k < sizeof layer / sizeof *layer; k++) add(list, &n, layer[k]);
    add(list, &n, d);
    add(list, &n, d);
  }
  return n;
}
