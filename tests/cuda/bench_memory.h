/* Host memory for bench_adamw: in large pages where the system gives them, as a step goes once
 * through gigabytes. What the engine takes is pinned by CUDA, which chooses the pages itself; here
 * both can be measured. */
#ifndef ZP_TEST_BENCH_MEMORY_H
#define ZP_TEST_BENCH_MEMORY_H
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

/* A large page of x86-64, and of aarch64 with its usual small ones. */
#define LARGE ((size_t)2 << 20)

/* Zeroed memory that begins at a large page; NULL: there is none. A mapping begins at any small
 * page: one large page more is taken. large: whether to ask for large pages. It is never given
 * back. */
static inline void *take_memory(size_t bytes, int large)
{
  const size_t size = (bytes + LARGE - 1) / LARGE * LARGE + LARGE;
  char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return NULL;
  p += (LARGE - (uintptr_t)p % LARGE) % LARGE;
#ifdef MADV_HUGEPAGE
  if (large) (void)madvise(p, size - LARGE, MADV_HUGEPAGE); /* a system may have none: no matter */
#endif
  return p;
}

#endif
