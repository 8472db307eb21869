#define _GNU_SOURCE
#include "pages.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { SMALL_PAGE = 4096 }; /* the smallest size of a page */

/* The number after `key` at the beginning of a line of the file; SIZE_MAX: not found. */
static size_t number_in(const char *file, const char *key)
{
  char line[128];
  unsigned long long found = SIZE_MAX;
  FILE *f = fopen(file, "r");
  while (f && fgets(line, sizeof line, f))
    if (strncmp(line, key, strlen(key)) == 0 && sscanf(line + strlen(key), "%llu", &found) == 1)
      break;
  if (f) fclose(f);
  return (size_t)found;
}

/* The bytes that the machine and its container have before a process is killed. */
static size_t available(void)
{
  const size_t kib = number_in("/proc/meminfo", "MemAvailable:");
  const size_t most = number_in("/sys/fs/cgroup/memory.max", "");
  const size_t used = number_in("/sys/fs/cgroup/memory.current", "");
  const size_t machine = kib == SIZE_MAX ? SIZE_MAX : kib * 1024;
  const size_t container = most == SIZE_MAX || used == SIZE_MAX ? SIZE_MAX
                           : most > used                        ? most - used
                                                                : 0;
  return machine < container ? machine : container;
}

static size_t whole_pages(size_t bytes)
{
  return (bytes + ZP_LARGE_PAGE - 1) / ZP_LARGE_PAGE * ZP_LARGE_PAGE;
}

void *zp_host_pages(size_t bytes, int large)
{
  const size_t size = whole_pages(bytes);
  if (size < bytes || size > SIZE_MAX - ZP_LARGE_PAGE || size > available()) return NULL;
  char *all =
      mmap(NULL, size + ZP_LARGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) return NULL;
  /* a mapping begins at any small page: unmap the parts before and after the large pages */
  const size_t before = (ZP_LARGE_PAGE - (uintptr_t)all % ZP_LARGE_PAGE) % ZP_LARGE_PAGE;
  char *p = all + before;
  if (before > 0) munmap(all, before);
  if (before < ZP_LARGE_PAGE) munmap(p + size, ZP_LARGE_PAGE - before);
#ifdef MADV_HUGEPAGE
  if (large) (void)madvise(p, size, MADV_HUGEPAGE); /* failure is harmless */
#endif
#ifdef _OPENMP
#pragma omp parallel for schedule(static)
#endif
  for (size_t i = 0; i < size; i += SMALL_PAGE) ((volatile char *)p)[i] = 0;
  return p;
}

void zp_host_pages_back(void *p, size_t bytes)
{
  munmap(p, whole_pages(bytes));
}
