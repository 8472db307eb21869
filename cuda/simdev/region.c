/* The address space of device and pinned memory, and which allocation an address belongs to.
 * Addresses are not used again within a run, so that a stale pointer is recognized. */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "state.h"

/* Address space, of which only the used part costs memory. */
#define DEVICE_SPACE ((size_t)32 << 30)
#define PINNED_SPACE ((size_t)16 << 30)
#define SPACE_MIN ((size_t)64 << 20)

static void *reserve(size_t bytes)
{
  void *p =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? NULL : p;
}

static int open_region(sd_region *r, size_t bytes)
{
  for (;; bytes /= 2) { /* with less where address space is limited */
    r->base = reserve(bytes);
    r->owner = r->base ? reserve(bytes / SD_UNIT * sizeof *r->owner) : NULL;
    if (r->owner) break;
    if (r->base) munmap(r->base, bytes);
    r->base = NULL;
    if (bytes <= SPACE_MIN) return -1;
  }
  r->end = r->base + bytes;
  r->next = r->base + SD_GUARD;
  return 0;
}

int sd_memory_open(simdev *s)
{
  return open_region(&s->memory.device, DEVICE_SPACE) ||
                 open_region(&s->memory.pinned, PINNED_SPACE)
             ? -1
             : 0;
}

static void close_region(sd_region *r)
{
  if (!r->base) return;
  ASAN_UNPOISON_MEMORY_REGION(r->base, (size_t)(r->next - r->base));
  munmap(r->owner, (size_t)(r->end - r->base) / SD_UNIT * sizeof *r->owner);
  munmap(r->base, (size_t)(r->end - r->base));
}

static void reset_region(sd_region *r)
{
  ASAN_UNPOISON_MEMORY_REGION(r->base, (size_t)(r->next - r->base));
  r->next = r->base + SD_GUARD;
  r->list = NULL;
  r->n = r->cap = 0;
}

void sd_memory_reset(simdev *s)
{
  /* NaN as a float, a huge or a negative integer; or bits that no test expects. */
  static const uint32_t fill[4] = {0xffffffffu, 0x7fc0dead, 0xa5a5a5a5u, 0x7f7f7f7fu};
  reset_region(&s->memory.device);
  reset_region(&s->memory.pinned);
  s->memory.registered = NULL;
  s->memory.registered_n = s->memory.registered_cap = 0;
  s->memory.poison = fill[sd_below(s, 4)];
}

void sd_memory_close(simdev *s)
{
  close_region(&s->memory.device);
  close_region(&s->memory.pinned);
}

sd_alloc *sd_memory_registered(const simdev *s, const void *p)
{
  for (int64_t i = 0; i < s->memory.registered_n; i++) {
    sd_alloc *a = &s->memory.registered[i];
    if ((const char *)p >= a->at && (const char *)p < a->at + a->bytes) return a;
  }
  return NULL;
}

sd_alloc *sd_memory_find(const simdev *s, const void *p)
{
  const sd_memory_kind kind = sd_memory_kind_of(s, p);
  const sd_region *r = kind == SD_DEVICE ? &s->memory.device : &s->memory.pinned;
  const char *c = p;
  if (kind == SD_PINNED && (c < r->base || c >= r->end)) return sd_memory_registered(s, p);
  if (kind == SD_PAGEABLE || c < r->base + SD_GUARD || r->n == 0) return NULL;
  if (c >= r->next) return &r->list[r->n - 1];
  return &r->list[r->owner[(c - r->base) / SD_UNIT]];
}
