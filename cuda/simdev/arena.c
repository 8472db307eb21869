/* Memory of a run: taken, never returned, gone with the next reset. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"

enum { CHUNK = 1 << 20, HEAD = 64 };

static sd_chunk *new_chunk(size_t bytes)
{
#ifdef SIMDEV_TSAN
  /* the sanitizer's mmap would count as a write by whichever host is running, and what other ranks
   * put into the chunk as racing with it */
  sd_chunk *c = (sd_chunk *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
#else
  sd_chunk *c = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#endif
  if (c == MAP_FAILED) return NULL;
  c->bytes = bytes;
  c->used = HEAD;
  return c;
}

/* As much again as there is, up to 64 times the first: handles are looked up in all chunks. */
static size_t next_size(const simdev *s)
{
  size_t all = 0;
  for (const sd_chunk *c = s->chunk; c; c = c->next) all += c->bytes;
  return all < CHUNK ? CHUNK : all < 64 * (size_t)CHUNK ? all & ~(size_t)4095 : 64 * (size_t)CHUNK;
}

void *sd_take(simdev *s, size_t bytes)
{
  sd_chunk *c = s->chunk_at;
  char *p;
  bytes = (bytes + 15) & ~(size_t)15;
  while (c && c->bytes - c->used < bytes) c = c->next;
  if (!c) {
    c = new_chunk(bytes + HEAD > next_size(s) ? bytes + HEAD : next_size(s));
    if (!c) return NULL;
    if (s->chunk_at) {
      c->next = s->chunk_at->next;
      s->chunk_at->next = c;
    } else s->chunk = c;
  }
  /* A chunk too small for this request stays current unless it is nearly full. */
  if (!s->chunk_at || c->bytes - c->used - bytes > s->chunk_at->bytes - s->chunk_at->used)
    s->chunk_at = c;
  p = (char *)c + c->used;
  c->used += bytes;
  return p;
}

int sd_is_taken(const simdev *s, const void *p, size_t bytes)
{
  for (const sd_chunk *c = s->chunk; c; c = c->next) {
    const char *base = (const char *)c;
    if ((const char *)p >= base + HEAD && (const char *)p + bytes <= base + c->used)
      return ((uintptr_t)p & 15) == 0;
  }
  return 0;
}

void sd_arena_reset(simdev *s)
{
  for (sd_chunk *c = s->chunk; c; c = c->next) {
    sd_set_bytes((char *)c + HEAD, 0, c->used - HEAD);
    c->used = HEAD;
  }
  s->chunk_at = s->chunk;
  for (int i = 0; i < SD_SIZES; i++) s->spare[i] = NULL;
}

void sd_arena_close(simdev *s)
{
  while (s->chunk) {
    sd_chunk *c = s->chunk;
    s->chunk = c->next;
    munmap(c, c->bytes);
  }
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
