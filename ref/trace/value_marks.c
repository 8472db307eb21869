/* A table of the last moments of tensors in groups. conformance/TRACE.md, "Values" */
#include <stdlib.h>
#include <xxhash.h>

#include "values.h"

static mark *slot_of(const judge *j, const struct marks *of, uint64_t key)
{
  uint64_t i = XXH3_64bits_withSeed(&key, sizeof key, j->seed);
  while (of->at[i & (uint64_t)(of->cap - 1)].key != 0 &&
         of->at[i & (uint64_t)(of->cap - 1)].key != key)
    i++;
  return &of->at[i & (uint64_t)(of->cap - 1)];
}

static void grow(judge *j, struct marks *of)
{
  struct marks more = {.n = of->n, .cap = of->cap ? 2 * of->cap : 16};
  more.at = zp_trace_grow(&j->failure, NULL, 0, (size_t)more.cap, sizeof *more.at);
  for (int64_t i = 0; i < of->cap; i++)
    if (of->at[i].key != 0) *slot_of(j, &more, of->at[i].key) = of->at[i];
  free(of->at);
  *of = more;
}

mark *zp_trace_last_moment(judge *j, struct marks *of, int64_t tensor, int64_t group)
{
  const uint64_t key = (uint64_t)(tensor + 1) << 32 | (uint64_t)group;
  if (4 * of->n >= 3 * of->cap) grow(j, of);
  mark *m = slot_of(j, of, key);
  of->n += m->key == 0;
  m->key = key;
  return m;
}
