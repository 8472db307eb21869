/* Memory of one run: allocated piece by piece, zeroed, and freed as a whole by the next reset. */
#ifndef ZP_SIMDEV_ARENA_H
#define ZP_SIMDEV_ARENA_H
#include "base.h"

enum { SD_SIZES = 40 };

typedef struct sd_chunk {
  struct sd_chunk *next;
  size_t bytes, used;
} sd_chunk;

typedef struct sd_sync_block sd_sync_block; /* arena.c */

typedef struct sd_arena {
  sd_chunk *chunk, *at;
  void *spare[SD_SIZES]; /* released buffers, by size class */
  sd_sync_block *sync_blocks;
  uint64_t unused_sync; /* the address that sd_sync_new returns where there is no race detector */
} sd_arena;

/* Zeroed memory from the system; NULL: out of memory. */
void *sd_map(size_t bytes);

/* Zeroed memory until the next reset; NULL: out of memory. */
void *sd_arena_alloc(sd_arena *a, size_t bytes);
/* 1: [p, p + bytes) lies in memory that sd_arena_alloc returned since the last reset. */
int sd_arena_contains(const sd_arena *a, const void *p, size_t bytes);
/* Makes room for one more element of size bytes in an array of the arena; -1: no memory. */
int sd_arena_grow(sd_arena *a, void **list, int64_t n, int64_t *cap, size_t size);
void sd_arena_reset(sd_arena *a);
void sd_arena_close(sd_arena *a);

/* Buffers that are used again. */
void *sd_buffer_acquire(sd_arena *a, size_t bytes); /* not zeroed */
void *sd_buffer_zeroed(sd_arena *a, size_t bytes);
void sd_buffer_release(sd_arena *a, void *buffer, size_t bytes);

/* An address for the race detector that was not used before in this run; NULL: no memory. */
#ifdef SIMDEV_TSAN
uint64_t *sd_sync_new(sd_arena *a);
#else
static inline uint64_t *sd_sync_new(sd_arena *a)
{
  return &a->unused_sync;
}
#endif

/* bytes.c: memmove and memset. In the TSan build those would count as accesses of the program. */
void sd_copy_bytes(void *to, const void *from, size_t n);
void sd_set_bytes(void *to, int value, size_t n);

#endif
