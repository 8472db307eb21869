#include "accesses.h"

#include <stdio.h>
#include <stdlib.h>

#include "../sanitizer/watch.h"
#include "../state.h"

enum { WORD_BYTES = 64 }; /* bytes of memory for each word of a bitmap */

/* One bit for each byte of a region. Words are listed when their first bit is set, so that counting
 * and clearing take time for accessed memory only. */
typedef struct bitmap {
  uint64_t *word;
  size_t words;
  size_t *touched;
  int64_t n, cap;
} bitmap;

static struct {
  bitmap map[SIMDEV_SPACES][SIMDEV_WAYS];
  simdev_access_bytes *of; /* [cap], by issue number */
  int64_t cap;
  const sd_item *item; /* the one that runs; NULL: a host runs, or the scheduler */
  int32_t depth;       /* of functions that it has entered */
} the;

/* The new elements are zero. */
static void *grown(void *list, size_t old, size_t more, size_t size)
{
  void *p = realloc(list, more * size);
  if (!p) {
    fprintf(stderr, "simdev: no memory to count accesses\n");
    exit(3);
  }
  for (char *c = (char *)p + old * size; c < (char *)p + more * size; c++) *c = 0;
  return p;
}

/* ---- Marking --------------------------------------------------------------------------------- */

static void mark_word(bitmap *m, size_t w, uint64_t bits)
{
  if (w >= m->words) {
    const size_t words = 2 * w + 1024;
    m->word = grown(m->word, m->words, words, sizeof *m->word);
    m->words = words;
  }
  if (m->word[w] == 0) {
    if (m->n == m->cap) {
      const int64_t cap = 2 * m->cap + 1024;
      m->touched = grown(m->touched, (size_t)m->cap, (size_t)cap, sizeof *m->touched);
      m->cap = cap;
    }
    m->touched[m->n++] = w;
  }
  m->word[w] |= bits;
}

static void mark(bitmap *m, size_t at, size_t n)
{
  while (n > 0) {
    const size_t first = at % WORD_BYTES;
    const size_t here = n < WORD_BYTES - first ? n : WORD_BYTES - first;
    const uint64_t bits = here == WORD_BYTES ? ~UINT64_C(0) : (UINT64_C(1) << here) - 1;
    mark_word(m, at / WORD_BYTES, bits << first);
    at += here;
    n -= here;
  }
}

static int64_t counted(bitmap *m)
{
  int64_t bytes = 0;
  for (int64_t i = 0; i < m->n; i++) {
    bytes += __builtin_popcountll(m->word[m->touched[i]]);
    m->word[m->touched[i]] = 0;
  }
  m->n = 0;
  return bytes;
}

static void access_bytes(const void *p, size_t n, int write)
{
  const char *c = p;
  const sd_region *r;
  sd_memory_kind kind;
  if (!the.item || !sd_now) return;
  kind = sd_memory_kind_of(sd_now, p);
  if (kind == SD_PAGEABLE || sd_memory_registered(sd_now, p)) return;
  r = kind == SD_DEVICE ? &sd_now->memory.device : &sd_now->memory.pinned;
  mark(&the.map[kind == SD_DEVICE ? SIMDEV_IN_DEVICE : SIMDEV_IN_PINNED]
               [write ? SIMDEV_WRITTEN : SIMDEV_READ],
       (size_t)(c - r->base), n);
}

/* ---- Items ----------------------------------------------------------------------------------- */

/* A communication counts twice, when it begins to read and when it has ended. */
static void count_item(void)
{
  const int64_t issue = (int64_t)the.item->issue;
  if (issue >= the.cap) {
    const int64_t cap = 2 * issue + 1024;
    the.of = grown(the.of, (size_t)the.cap, (size_t)cap, sizeof *the.of);
    the.cap = cap;
  }
  for (int32_t k = 0; k < SIMDEV_SPACES; k++)
    for (int32_t w = 0; w < SIMDEV_WAYS; w++) the.of[issue].bytes[k][w] += counted(&the.map[k][w]);
  the.item = NULL;
}

simdev_access_bytes simdev_accesses_of(int64_t issue)
{
  return issue >= 0 && issue < the.cap ? the.of[issue] : (simdev_access_bytes){0};
}

void simdev_accesses_close(void)
{
  for (int32_t k = 0; k < SIMDEV_SPACES; k++)
    for (int32_t w = 0; w < SIMDEV_WAYS; w++) {
      free(the.map[k][w].word);
      free(the.map[k][w].touched);
      the.map[k][w] = (bitmap){0};
    }
  free(the.of);
  the.of = NULL;
  the.cap = 0;
}

/* ---- For sanitizer/names.c ------------------------------------------------------------------- */

void sd_watch_access(const void *p, size_t n, int write)
{
  access_bytes(p, n, write);
}
void sd_watch_atomic(const void *p, size_t n, int write)
{
  if (the.item && the.item->kind != SIMDEV_WORD) access_bytes(p, n, write);
}

/* Items do not interleave: each runs from its begin to its end, or, a communication, in two parts
 * that do. So one item runs at a time, whatever fiber it is on. */
void sd_watch_enter(const void *pc)
{
  if (the.item) the.depth++;
  else if (sd_watch_is_item(pc)) {
    the.item = pc;
    the.depth = 0;
  }
}
void sd_watch_leave(void)
{
  if (the.item && the.depth-- == 0) count_item();
}

/* When a run begins. */
void *sd_watch_self(void)
{
  for (int64_t i = 0; i < the.cap; i++) the.of[i] = (simdev_access_bytes){0};
  the.item = NULL;
  return &the;
}

/* The order of accesses does not matter here, nor who makes them. */
void sd_watch_acquire(const void *address)
{
  (void)address;
}
void sd_watch_release(const void *address, int alone)
{
  (void)address, (void)alone;
}
void *sd_watch_fiber(void)
{
  return &the;
}
void sd_watch_switch(void *fiber)
{
  (void)fiber;
}
void sd_watch_name(void *fiber, const char *name)
{
  (void)fiber, (void)name;
}
