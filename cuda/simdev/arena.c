/* Memory of a run: taken, never returned, gone with the next reset. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"

enum { CHUNK = 1 << 20, HEAD = 64 };

void *sd_map(size_t bytes)
{
#ifdef SIMDEV_TSAN
  /* the sanitizer's mmap would count as a write by whichever host is running, and what other ranks
   * put there as racing with it */
  void *p = (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
#else
  void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#endif
  return p == MAP_FAILED ? NULL : p;
}

static sd_chunk *new_chunk(size_t bytes)
{
  sd_chunk *c = sd_map(bytes);
  if (!c) return NULL;
  c->bytes = bytes;
  c->used = HEAD;
  return c;
}

/* As much again as there is, up to 64 times the first: handles are looked up in all chunks. */
static size_t next_size(const sd_arena *a)
{
  size_t all = 0;
  for (const sd_chunk *c = a->chunk; c; c = c->next) all += c->bytes;
  return all < CHUNK ? CHUNK : all < 64 * (size_t)CHUNK ? all & ~(size_t)4095 : 64 * (size_t)CHUNK;
}

static void *take(sd_arena *a, size_t bytes)
{
  sd_chunk *c = a->at;
  char *p;
  bytes = (bytes + 15) & ~(size_t)15;
  while (c && c->bytes - c->used < bytes) c = c->next;
  if (!c) {
    c = new_chunk(bytes + HEAD > next_size(a) ? bytes + HEAD : next_size(a));
    if (!c) return NULL;
    if (a->at) {
      c->next = a->at->next;
      a->at->next = c;
    } else a->chunk = c;
  }
  /* A chunk too small for this request stays current unless it is nearly full. */
  if (!a->at || c->bytes - c->used - bytes > a->at->bytes - a->at->used) a->at = c;
  p = (char *)c + c->used;
  c->used += bytes;
  return p;
}

void *sd_take(simdev *s, size_t bytes)
{
  return take(&s->arena, bytes);
}

int sd_is_taken(const simdev *s, const void *p, size_t bytes)
{
  for (const sd_chunk *c = s->arena.chunk; c; c = c->next) {
    const char *base = (const char *)c;
    if ((const char *)p >= base + HEAD && (const char *)p + bytes <= base + c->used)
      return ((uintptr_t)p & 15) == 0;
  }
  return 0;
}

#ifdef SIMDEV_TSAN
/* The sanitizer keeps what it knows of an address until free() is called for it, and is fastest
 * where it knows nothing. */
struct sd_sync_block {
  sd_sync_block *next;
  int32_t used;
  uint64_t at[2040];
};

uint64_t *sd_sync_take(simdev *s)
{
  sd_sync_block *b = s->sync_blocks;
  if (!b || b->used == (int32_t)(sizeof b->at / sizeof *b->at)) {
    __tsan_ignore_thread_begin(); /* malloc would count as a write by whoever runs */
    b = malloc(sizeof *b);
    __tsan_ignore_thread_end();
    if (!b) return NULL;
    b->next = s->sync_blocks;
    b->used = 0;
    s->sync_blocks = b;
  }
  return &b->at[b->used++];
}

static void forget_syncs(simdev *s)
{
  while (s->sync_blocks) {
    sd_sync_block *b = s->sync_blocks;
    s->sync_blocks = b->next;
    free(b);
  }
}
#else
static void forget_syncs(simdev *s)
{
  (void)s;
}
#endif

static void reset(sd_arena *a)
{
  for (sd_chunk *c = a->chunk; c; c = c->next) {
    sd_set_bytes((char *)c + HEAD, 0, c->used - HEAD);
    c->used = HEAD;
  }
  a->at = a->chunk;
}

void sd_arena_reset(simdev *s)
{
  reset(&s->arena);
  forget_syncs(s);
  for (int i = 0; i < SD_SIZES; i++) s->spare[i] = NULL;
}

static void close_arena(sd_arena *a)
{
  while (a->chunk) {
    sd_chunk *c = a->chunk;
    a->chunk = c->next;
    munmap(c, c->bytes);
  }
}

void sd_arena_close(simdev *s)
{
  close_arena(&s->arena);
  forget_syncs(s);
}

static int size_class(size_t bytes)
{
  int k = 6; /* 64 bytes */
  while (((size_t)1 << k) < bytes) k++;
  return k;
}

void *sd_buffer_get(simdev *s, size_t bytes)
{
  const int k = size_class(bytes);
  void **p = s->spare[k];
  if (!p) return sd_take(s, (size_t)1 << k);
  s->spare[k] = *p;
  return p;
}

void sd_buffer_put(simdev *s, void *buffer, size_t bytes)
{
  const int k = size_class(bytes);
  if (!buffer) return;
  *(void **)buffer = s->spare[k];
  s->spare[k] = buffer;
}

int sd_grow(simdev *s, void **list, int64_t n, int64_t *cap, size_t size)
{
  int64_t more;
  void *p;
  if (n < *cap) return 0;
  more = *cap ? 2 * *cap : 64;
  p = sd_take(s, (size_t)more * size);
  if (!p) return -1;
  if (n > 0) sd_copy_bytes(p, *list, (size_t)n * size);
  *list = p;
  *cap = more;
  return 0;
}
