#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arena.h"
#include "base.h"
#include "race.h"

enum { CHUNK = 1 << 20, HEAD = 64 };

void *sd_map(size_t bytes)
{
#ifdef SIMDEV_TSAN
  /* ThreadSanitizer's mmap would count as a write by the running host, and other ranks' accesses to
   * the memory as races with it. */
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

/* Doubles the arena, up to 64 times the first chunk. There are few chunks, because a handle is
 * looked up in all of them. */
static size_t next_size(const sd_arena *a)
{
  size_t all = 0;
  for (const sd_chunk *c = a->chunk; c; c = c->next) all += c->bytes;
  return all < CHUNK ? CHUNK : all < 64 * (size_t)CHUNK ? all & ~(size_t)4095 : 64 * (size_t)CHUNK;
}

void *sd_arena_alloc(sd_arena *a, size_t bytes)
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

int sd_arena_contains(const sd_arena *a, const void *p, size_t bytes)
{
  for (const sd_chunk *c = a->chunk; c; c = c->next) {
    const char *base = (const char *)c;
    if ((const char *)p >= base + HEAD && (const char *)p + bytes <= base + c->used)
      return ((uintptr_t)p & 15) == 0;
  }
  return 0;
}

/* ---- Sync addresses -------------------------------------------------------------------------- */

#ifdef SIMDEV_TSAN
/* ThreadSanitizer keeps its knowledge of an address until free() is called for it, and is fastest
 * for addresses that it knows nothing of. */
struct sd_sync_block {
  sd_sync_block *next;
  int32_t used;
  uint64_t at[2040];
};

uint64_t *sd_sync_new(sd_arena *a)
{
  sd_sync_block *b = a->sync_blocks;
  if (!b || b->used == (int32_t)(sizeof b->at / sizeof *b->at)) {
    sd_race_ignore_begin(); /* malloc would count as a write by the running fiber */
    b = malloc(sizeof *b);
    sd_race_ignore_end();
    if (!b) return NULL;
    b->next = a->sync_blocks;
    b->used = 0;
    a->sync_blocks = b;
  }
  return &b->at[b->used++];
}

static void forget_syncs(sd_arena *a)
{
  while (a->sync_blocks) {
    sd_sync_block *b = a->sync_blocks;
    a->sync_blocks = b->next;
    free(b);
  }
}
#else
static void forget_syncs(sd_arena *a)
{
  (void)a;
}
#endif

void sd_arena_reset(sd_arena *a)
{
  for (sd_chunk *c = a->chunk; c; c = c->next) {
    ASAN_UNPOISON_MEMORY_REGION((char *)c + HEAD, c->used - HEAD);
    sd_set_bytes((char *)c + HEAD, 0, c->used - HEAD);
    c->used = HEAD;
  }
  a->at = a->chunk;
  forget_syncs(a);
  for (int i = 0; i < SD_SIZES; i++) a->spare[i] = NULL;
}

void sd_arena_close(sd_arena *a)
{
  while (a->chunk) {
    sd_chunk *c = a->chunk;
    a->chunk = c->next;
    ASAN_UNPOISON_MEMORY_REGION((char *)c, c->bytes); /* the next mmap may return it */
    munmap(c, c->bytes);
  }
  forget_syncs(a);
}

/* ---- Buffers --------------------------------------------------------------------------------- */

static int size_class(size_t bytes)
{
  int k = 6; /* 64 bytes */
  while (((size_t)1 << k) < bytes) k++;
  return k;
}

void *sd_buffer_acquire(sd_arena *a, size_t bytes)
{
  const int k = size_class(bytes);
  void **p = a->spare[k];
  if (!p) return sd_arena_alloc(a, (size_t)1 << k);
  ASAN_UNPOISON_MEMORY_REGION(p, (size_t)1 << k);
  a->spare[k] = *p;
  return p;
}

void *sd_buffer_zeroed(sd_arena *a, size_t bytes)
{
  void *p = sd_buffer_acquire(a, bytes);
  if (p) sd_set_bytes(p, 0, bytes);
  return p;
}

void sd_buffer_release(sd_arena *a, void *buffer, size_t bytes)
{
  const int k = size_class(bytes);
  if (!buffer) return;
  *(void **)buffer = a->spare[k];
  a->spare[k] = buffer;
  ASAN_POISON_MEMORY_REGION(buffer, (size_t)1 << k); /* until it is used again */
}

int sd_arena_grow(sd_arena *a, void **list, int64_t n, int64_t *cap, size_t size)
{
  int64_t more;
  void *p;
  if (n < *cap) return 0;
  more = *cap ? 2 * *cap : 64;
  p = sd_arena_alloc(a, (size_t)more * size);
  if (!p) return -1;
  if (n > 0) sd_copy_bytes(p, *list, (size_t)n * size);
  *list = p;
  *cap = more;
  return 0;
}
