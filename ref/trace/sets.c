/* Sets and queues of the work that a stall has to do. */
#include <stdlib.h>

#include "judge.h"

/* ---- Sets ------------------------------------------------------------------------------------ */

enum { LEVELS = 4 }; /* 64^4 is more than the ranks of a run */

static int32_t words(int32_t size)
{
  return (size + 63) / 64;
}

int64_t zp_trace_set_words(int32_t size)
{
  int64_t n = 0;
  do n += size = words(size);
  while (size > 1);
  return n;
}

void zp_trace_set_make(zp_trace_failure *f, zp_trace_set *s, int32_t size)
{
  s->word = zp_trace_grow(f, NULL, 0, (size_t)zp_trace_set_words(size), sizeof *s->word);
  s->size = size;
}

void zp_trace_put(zp_trace_set *s, int32_t i)
{
  uint64_t *level = s->word;
  for (int32_t n = words(s->size);; level += n, n = words(n), i /= 64) {
    const int was = level[i / 64] != 0;
    level[i / 64] |= (uint64_t)1 << i % 64;
    if (was || n == 1) return;
  }
}

void zp_trace_remove(zp_trace_set *s, int32_t i)
{
  uint64_t *level = s->word;
  for (int32_t n = words(s->size);; level += n, n = words(n), i /= 64) {
    level[i / 64] &= ~((uint64_t)1 << i % 64);
    if (level[i / 64] != 0 || n == 1) return;
  }
}

int32_t zp_trace_least(const zp_trace_set *s, int32_t i)
{
  const uint64_t *level[LEVELS] = {s->word};
  int32_t h = 0, n = words(s->size);
  for (;; h++, n = words(n), i = i / 64 + 1) {
    const uint64_t bits = i / 64 < n ? level[h][i / 64] >> i % 64 : 0;
    if (bits != 0) {
      i += __builtin_ctzll(bits);
      break;
    }
    if (n == 1) return -1;
    level[h + 1] = level[h] + n;
  }
  while (h-- > 0) i = 64 * i + __builtin_ctzll(level[h][i]);
  return i;
}

/* ---- Queues, the first entry first ----------------------------------------------------------- */

int zp_trace_precedes(const zp_trace_entry *a, const zp_trace_entry *b)
{
  if (a->rank != b->rank) return a->rank < b->rank;
  return (int32_t)(a->seq - b->seq) < 0; /* the number may overflow */
}

void zp_trace_push(zp_trace_failure *f, zp_trace_heap *h, zp_trace_entry e)
{
  if (h->n == h->cap) {
    const int32_t n = h->cap ? 2 * h->cap : 4;
    h->at = zp_trace_grow(f, h->at, (size_t)h->cap, (size_t)n, sizeof *h->at);
    h->cap = n;
  }
  int32_t k = h->n++;
  for (; k > 0 && zp_trace_precedes(&e, &h->at[(k - 1) / 2]); k = (k - 1) / 2)
    h->at[k] = h->at[(k - 1) / 2];
  h->at[k] = e;
}

zp_trace_entry zp_trace_pop(zp_trace_heap *h)
{
  const zp_trace_entry first = h->at[0], e = h->at[--h->n];
  int32_t k = 0;
  for (int32_t c; (c = 2 * k + 1) < h->n; k = c) {
    if (c + 1 < h->n && zp_trace_precedes(&h->at[c + 1], &h->at[c])) c++;
    if (!zp_trace_precedes(&h->at[c], &e)) break;
    h->at[k] = h->at[c];
  }
  h->at[k] = e;
  return first;
}
