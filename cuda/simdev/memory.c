/* Device and pinned memory: where it is, whose, and whether it still is.
 *
 * Addresses are not reused within a run, so that a stale pointer is known as one. Between two
 * allocations lies a guard whose bytes are checked when the memory is freed and when the run ends;
 * with AddressSanitizer guards and freed memory are poisoned besides, and the access itself is
 * reported. */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "internal.h"

#ifdef SD_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

/* Address space, of which only what is used costs memory. CUDA aligns to 256 bytes. */
#define DEVICE_SPACE ((size_t)32 << 30)
#define PINNED_SPACE ((size_t)16 << 30)
#define CANARIES UINT64_C(0xb7b7b7b7b7b7b7b7)
#define SPACE_MIN ((size_t)64 << 20)
enum { GUARD = SD_UNIT, ALIGN = SD_UNIT, CANARY = 0xb7 };

static void *reserve(size_t bytes)
{
  void *p =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? NULL : p;
}

static int open_region(sd_region *r, size_t bytes)
{
  for (;; bytes /= 2) { /* where address space is rationed, with less */
    r->base = reserve(bytes);
    r->owner = r->base ? reserve(bytes / SD_UNIT * sizeof *r->owner) : NULL;
    if (r->owner) break;
    if (r->base) munmap(r->base, bytes);
    r->base = NULL;
    if (bytes <= SPACE_MIN) return -1;
  }
  r->end = r->base + bytes;
  r->next = r->base + GUARD;
  return 0;
}

int sd_memory_open(simdev *s)
{
  return open_region(&s->device, DEVICE_SPACE) || open_region(&s->pinned, PINNED_SPACE) ? -1 : 0;
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
  r->next = r->base + GUARD;
  r->list = NULL;
  r->n = r->cap = 0;
}

void sd_memory_reset(simdev *s)
{
  /* NaN as a float, a huge or a negative integer; or digits that no test expects. */
  static const uint32_t fill[4] = {0xffffffffu, 0x7fc0dead, 0xa5a5a5a5u, 0x7f7f7f7fu};
  reset_region(&s->device);
  reset_region(&s->pinned);
  s->poison = fill[sd_below(s, 4)];
}

void sd_memory_close(simdev *s)
{
  close_region(&s->device);
  close_region(&s->pinned);
}

/* In the TSan build memcpy and memset would themselves be taken for accesses. */
#ifdef SIMDEV_TSAN
void sd_copy_bytes(void *to, const void *from, size_t n)
{
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}
void sd_set_bytes(void *to, int value, size_t n)
{
  __asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(value) : "memory");
}
#else
void sd_copy_bytes(void *to, const void *from, size_t n)
{
  memmove(to, from, n);
}
void sd_set_bytes(void *to, int value, size_t n)
{
  memset(to, value, n);
}
#endif

void sd_memory_poison(simdev *s, void *p, size_t n, int freed)
{
  const uint32_t v = freed ? ~s->poison ^ 0x00010001u : s->poison;
  uint32_t *w = p; /* allocations are aligned */
  for (size_t i = 0; i < n / 4; i++) w[i] = v;
  for (size_t i = n & ~(size_t)3; i < n; i++) ((uint8_t *)p)[i] = (uint8_t)v;
}

/* The allocation that p lies in or behind; NULL: pageable memory, or before all of them. */
sd_alloc *sd_memory_find(const simdev *s, const void *p)
{
  const sd_place place = sd_memory_place(s, p);
  const sd_region *r = place == SD_DEVICE ? &s->device : &s->pinned;
  const char *c = p;
  if (place == SD_PAGEABLE || c < r->base + GUARD || r->n == 0) return NULL;
  if (c >= r->next) return &r->list[r->n - 1];
  return &r->list[r->owner[(c - r->base) / SD_UNIT]];
}

static size_t padded(size_t bytes)
{
  return ((bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1)) + GUARD;
}

cudaError_t sd_memory_take(sd_host *h, sd_place place, size_t bytes, void **p)
{
  simdev *s = sd_now;
  sd_region *r = place == SD_DEVICE ? &s->device : &s->pinned;
  sd_rank *rank = &s->rank[h->agent.rank];
  sd_alloc *a;
  if (bytes == 0) { /* as CUDA: a null pointer and no error */
    *p = NULL;
    return cudaSuccess;
  }
  if (place == SD_DEVICE && bytes > s->opt.device_bytes - rank->used[h->device])
    return cudaErrorMemoryAllocation;
  if (bytes > (size_t)(r->end - r->next) - 2 * GUARD || r->n == INT32_MAX ||
      sd_grow(s, (void **)&r->list, r->n, &r->cap, sizeof *r->list))
    return cudaErrorMemoryAllocation;
  a = &r->list[r->n++];
  a->at = r->next;
  a->bytes = bytes;
  a->rank = h->agent.rank;
  a->device = h->device;
  a->call = h->call;
  a->freed = 0;
  a->place = place;
  for (int64_t u = (r->next - r->base) / SD_UNIT, n = (int64_t)padded(bytes) / SD_UNIT; n > 0; n--)
    r->owner[u++] = (int32_t)(r->n - 1);
  r->next += padded(bytes);
  if (place == SD_DEVICE) rank->used[h->device] += bytes;
  sd_unprotect(s);
  sd_memory_poison(s, a->at, bytes, 0);
  sd_set_bytes(a->at + bytes, CANARY, padded(bytes) - bytes);
  ASAN_POISON_MEMORY_REGION(a->at + bytes, padded(bytes) - bytes);
  sd_protect(s);
  *p = a->at;
  return cudaSuccess;
}

/* The first byte that is no canary; n: none. The last GUARD bytes are aligned. */
static size_t first_touched(const uint8_t *g, size_t n)
{
  const uint64_t *w = (const uint64_t *)(const void *)(g + n - GUARD);
  uint64_t wrong = 0;
  size_t i = 0, end;
  for (int k = 0; k < GUARD / 8; k++) wrong |= w[k] ^ CANARIES;
  end = wrong ? n : n - GUARD;
  while (i < end && g[i] == CANARY) i++;
  return i < end ? i : n;
}

static void check_guard(simdev *s, const sd_alloc *a, const char *when)
{
  const uint8_t *g = (const uint8_t *)a->at + a->bytes;
  const size_t n = padded(a->bytes) - a->bytes;
  size_t i;
  ASAN_UNPOISON_MEMORY_REGION(g, n);
  i = first_touched(g, n);
  if (i < n)
    sd_note(
        s, SIMDEV_E_ACCESS, 0, a->rank,
        "rank %d: something wrote %zu bytes behind the end of %s memory of %zu bytes (allocated "
        "by call %d; seen %s): a kernel runs past its array, or before the next one",
        a->rank, i + 1, a->place == SD_DEVICE ? "device" : "pinned", a->bytes, a->call, when);
  ASAN_POISON_MEMORY_REGION(g, n);
}

void sd_memory_check_guards(simdev *s)
{
  for (int64_t i = 0; i < s->device.n; i++)
    if (!s->device.list[i].freed) check_guard(s, &s->device.list[i], "at the end of the run");
  for (int64_t i = 0; i < s->pinned.n; i++)
    if (!s->pinned.list[i].freed) check_guard(s, &s->pinned.list[i], "at the end of the run");
}

/* Does a pending item touch [from, to)? Of kernels only their parameters are known. */
static int item_uses(const sd_item *it, const char *from, const char *to)
{
  const sd_copy_item *c = &it->u.copy;
  switch (it->kind) {
  case SIMDEV_SET:
  case SIMDEV_WORD:
  case SIMDEV_COPY:
    if ((const char *)c->to < to && (const char *)c->to + c->bytes > from) return 1;
    return it->kind == SIMDEV_COPY && !c->staged && (const char *)c->from < to &&
           (const char *)c->from + c->bytes > from;
  case SIMDEV_KERNEL:
    for (size_t i = 0; i + 8 <= it->u.kernel.kernel->params_bytes; i += 8) {
      const char *p = *(const char *const *)((const char *)it->u.kernel.params + i);
      if (p >= from && p < to) return 1;
    }
    return 0;
  case SIMDEV_COMM: return sd_comm_uses(it, from, to);
  default: return 0;
  }
}

/* by: the item that frees it; NULL: the running host */
static void check_pending(simdev *s, const sd_alloc *a, const sd_item *by)
{
  char item[256], where[256];
  for (const sd_stream *st = s->rank[a->rank].all; st; st = st->next)
    for (const sd_item *it = st->head; it; it = it->next) {
      if (!item_uses(it, a->at, a->at + a->bytes)) continue;
      sd_where_item(it, item, sizeof item);
      if (by) sd_where_item(by, where, sizeof where);
      else sd_print(where, sizeof where, "%s", sd_here(s->running));
      sd_note(s, SIMDEV_E_ACCESS, 1, a->rank,
              "%s: frees %zu bytes (allocated by call %d) that %s still uses: synchronize with it "
              "first",
              where, a->bytes, a->call, item);
      return;
    }
}

/* Marks it freed, by the call of that number. */
static void retire(simdev *s, sd_alloc *a, int32_t call)
{
  check_guard(s, a, "when it was freed");
  a->freed = 1;
  a->freed_call = call;
  if (a->place == SD_DEVICE) s->rank[a->rank].used[a->device] -= a->bytes;
  sd_race_write(a->at, a->bytes);
  sd_memory_poison(s, a->at, a->bytes, 1);
  ASAN_POISON_MEMORY_REGION(a->at, a->bytes);
}

cudaError_t sd_memory_give(sd_host *h, sd_place place, void *p)
{
  simdev *s = sd_now;
  sd_alloc *a;
  if (!p) return cudaSuccess;
  a = sd_memory_find(s, p);
  if (!a || a->at != p || a->place != place || a->rank != h->agent.rank) {
    sd_note(s, SIMDEV_E_MISUSE, 0, h->agent.rank,
            "%s: %p is not the beginning of %s memory of this rank", sd_here(h), p,
            place == SD_DEVICE ? "device" : "pinned");
    return cudaErrorInvalidValue;
  }
  if (a->freed) {
    sd_note(s, SIMDEV_E_ACCESS, 0, h->agent.rank,
            "%s: frees memory a second time (allocated by call %d, freed by call %d)", sd_here(h),
            a->call, a->freed_call);
    return cudaErrorInvalidValue;
  }
  check_pending(s, a, NULL);
  sd_race_enter(h->call_pc);
  sd_unprotect(s);
  retire(s, a, h->call);
  sd_protect(s);
  sd_race_leave();
  return cudaSuccess;
}

/* cudaFreeAsync, when its turn has come. */
void sd_memory_free_item(simdev *s, sd_item *item)
{
  sd_alloc *a = sd_memory_find(s, item->u.free);
  if (!a || a->freed) return; /* noted by the call */
  item->kind = SIMDEV_FREE;
  check_pending(s, a, item);
  retire(s, a, item->call);
}

cudaError_t sd_memory_range(simdev *s, int32_t rank, const void *p, size_t n, const char *verb,
                            const sd_item *item)
{
  const sd_alloc *a = sd_memory_find(s, p);
  char where[256];
  const char *kind;
  size_t at;
  if (sd_memory_place(s, p) == SD_PAGEABLE || n == 0) return cudaSuccess;
  at = a ? (size_t)((const char *)p - a->at) : 0;
  if (a && a->rank == rank && !a->freed && at <= a->bytes && n <= a->bytes - at) return cudaSuccess;
  if (item) sd_where_item(item, where, sizeof where);
  else sd_print(where, sizeof where, "%s", sd_here(s->running));
  if (!a || at > a->bytes + ALIGN + GUARD) { /* behind the last one */
    sd_note(s, SIMDEV_E_ACCESS, 1, rank, "%s: %s %zu bytes at %p, where nothing is allocated",
            where, verb, n, p);
    return cudaErrorInvalidValue;
  }
  kind = a->place == SD_DEVICE ? "device" : "pinned";
  if (a->rank != rank)
    sd_note(s, SIMDEV_E_ACCESS, 1, rank, "%s: %s %s memory of rank %d (its call %d)", where, verb,
            kind, a->rank, a->call);
  else if (a->freed)
    sd_note(s, SIMDEV_E_ACCESS, 1, rank,
            "%s: %s %zu bytes at +%zu of %s memory that is freed (allocated by call %d, freed by "
            "call %d)",
            where, verb, n, at, kind, a->call, a->freed_call);
  else
    sd_note(s, SIMDEV_E_ACCESS, 1, rank,
            "%s: %s %zu bytes at +%zu of %s memory of %zu bytes (allocated by call %d): out of "
            "bounds by %zu",
            where, verb, n, at, kind, a->bytes, a->call, at + n - a->bytes);
  return cudaErrorInvalidValue;
}
