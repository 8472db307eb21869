#define _GNU_SOURCE
#include "memory.h"

#include <stdint.h>
#include <sys/mman.h>

/* 2 MiB: a large page of x86-64, and of aarch64 with its usual small ones. Elsewhere the advice is
 * worth less, and nothing else changes. */
static const size_t LARGE = (size_t)2 << 20;

static size_t whole(size_t bytes)
{
  return (bytes + LARGE - 1) / LARGE * LARGE;
}

/* A mapping begins at any small page: one large page more is taken, and what lies before and behind
 * the aligned part is given back. */
void *zp_host_memory_take(size_t bytes, int large)
{
  const size_t size = whole(bytes > 0 ? bytes : 1);
  char *p;
  size_t before;
  if (size < bytes || size > SIZE_MAX - LARGE) return NULL;
  p = mmap(NULL, size + LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return NULL;
  before = (LARGE - (uintptr_t)p % LARGE) % LARGE;
  if (before > 0) munmap(p, before);
  if (before < LARGE) munmap(p + before + size, LARGE - before);
  p += before;
#ifdef MADV_HUGEPAGE
  if (large) (void)madvise(p, size, MADV_HUGEPAGE); /* a system without them says so: no matter */
#endif
  return p;
}

void zp_host_memory_drop(void *p, size_t bytes)
{
  if (p) munmap(p, whole(bytes > 0 ? bytes : 1));
}
