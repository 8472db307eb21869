/* Allocating, freeing and checking device and pinned memory.
 *
 * Between two allocations lies a guard, whose bytes are checked when the memory is freed and when
 * the run ends. With AddressSanitizer, guards and freed memory are also poisoned, so that the
 * access itself is reported. */
#include "state.h"

#define CANARIES UINT64_C(0xb7b7b7b7b7b7b7b7)
enum { GUARD = SD_GUARD, ALIGN = SD_UNIT, CANARY = 0xb7 };

void sd_memory_poison(simdev *s, void *p, size_t n, int freed)
{
  const uint32_t v = freed ? ~s->memory.poison ^ 0x00010001u : s->memory.poison;
  uint32_t *w = p; /* allocations are aligned */
  for (size_t i = 0; i < n / 4; i++) w[i] = v;
  for (size_t i = n & ~(size_t)3; i < n; i++) ((uint8_t *)p)[i] = (uint8_t)v;
}

static size_t padded(size_t bytes)
{
  return ((bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1)) + GUARD;
}

/* sign 1: allocated; -1: freed. */
static void account(simdev *s, const sd_alloc *a, int sign)
{
  sd_rank *r = &s->rank[a->rank];
  simdev_memory *m = &r->memory;
  uint64_t *live = a->kind == SD_DEVICE ? &m->device : &m->pinned;
  uint64_t *peak = a->kind == SD_DEVICE ? &m->device_peak : &m->pinned_peak;
  *live += (uint64_t)sign * a->bytes;
  r->created += sign > 0;
  if (*live > *peak) *peak = *live;
}

simdev_memory simdev_memory_of(const simdev *s, int32_t rank)
{
  return s->rank[rank].memory;
}

int64_t simdev_created(const simdev *s, int32_t rank)
{
  return s->rank[rank].created;
}

cudaError_t sd_memory_allocate(sd_host *h, sd_memory_kind kind, size_t bytes, void **p)
{
  simdev *s = sd_now;
  sd_region *r = kind == SD_DEVICE ? &s->memory.device : &s->memory.pinned;
  sd_rank *rank = &s->rank[h->agent.rank];
  sd_alloc *a;
  if (bytes == 0) { /* as CUDA: a null pointer and no error */
    *p = NULL;
    return cudaSuccess;
  }
  if (kind == SD_DEVICE && bytes > s->opt.device_bytes - rank->used[h->device])
    return cudaErrorMemoryAllocation;
  if (bytes > (size_t)(r->end - r->next) - 2 * GUARD || r->n == INT32_MAX ||
      sd_arena_grow(&s->arena, (void **)&r->list, r->n, &r->cap, sizeof *r->list))
    return cudaErrorMemoryAllocation;
  a = &r->list[r->n++];
  a->at = r->next;
  a->bytes = bytes;
  a->rank = h->agent.rank;
  a->device = h->device;
  a->call = h->call;
  a->freed = 0;
  a->kind = kind;
  for (int64_t u = (r->next - r->base) / SD_UNIT, n = (int64_t)padded(bytes) / SD_UNIT; n > 0; n--)
    r->owner[u++] = (int32_t)(r->n - 1);
  r->next += padded(bytes);
  if (kind == SD_DEVICE) rank->used[h->device] += bytes;
  account(s, a, 1);
  sd_unprotect(s);
  sd_memory_poison(s, a->at, bytes, 0);
  sd_set_bytes(a->at + bytes, CANARY, padded(bytes) - bytes);
  ASAN_POISON_MEMORY_REGION(a->at + bytes, padded(bytes) - bytes);
  sd_protect(s);
  *p = a->at;
  return cudaSuccess;
}

/* The index of the first overwritten byte of a guard, or n. The last GUARD bytes are aligned. */
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
        "rank %d: %zu bytes after the end of %s memory of %zu bytes were overwritten (allocated "
        "by call %d; detected %s): a kernel writes past its array, or before the next one",
        a->rank, i + 1, a->kind == SD_DEVICE ? "device" : "pinned", a->bytes, a->call, when);
  ASAN_POISON_MEMORY_REGION(g, n);
}

void sd_memory_check_guards(simdev *s)
{
  for (int64_t i = 0; i < s->memory.device.n; i++)
    if (!s->memory.device.list[i].freed)
      check_guard(s, &s->memory.device.list[i], "at the end of the run");
  for (int64_t i = 0; i < s->memory.pinned.n; i++)
    if (!s->memory.pinned.list[i].freed)
      check_guard(s, &s->memory.pinned.list[i], "at the end of the run");
}

/* 1: a pending item uses [from, to). For kernels only the parameters are checked. */
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
  case SIMDEV_COMM: return sd_now->nccl->uses(it, from, to);
  default: return 0;
  }
}

/* by: the item that frees it; NULL: the running host */
static void check_pending(simdev *s, const sd_alloc *a, const sd_item *by)
{
  char item[256], where[256];
  for (const sd_stream *st = s->rank[a->rank].streams.all; st; st = st->next)
    for (const sd_item *it = st->head; it; it = it->next) {
      if (!item_uses(it, a->at, a->at + a->bytes)) continue;
      sd_item_text(it, item, sizeof item);
      if (by) sd_item_text(by, where, sizeof where);
      else sd_print(where, sizeof where, "%s", sd_call_text(s->hosts.running));
      sd_note(s, SIMDEV_E_ACCESS, 1, a->rank,
              "%s: frees %zu bytes (allocated by call %d) that %s still uses: synchronize with it "
              "first",
              where, a->bytes, a->call, item);
      return;
    }
}

/* Frees the allocation, by the call of that number. */
static void retire(simdev *s, sd_alloc *a, int32_t call)
{
  check_guard(s, a, "when it was freed");
  a->freed = 1;
  a->freed_call = call;
  if (a->kind == SD_DEVICE) s->rank[a->rank].used[a->device] -= a->bytes;
  account(s, a, -1);
  sd_race_write(a->at, a->bytes);
  sd_memory_poison(s, a->at, a->bytes, 1);
  ASAN_POISON_MEMORY_REGION(a->at, a->bytes);
}

cudaError_t sd_memory_release(sd_host *h, sd_memory_kind kind, void *p)
{
  simdev *s = sd_now;
  sd_alloc *a;
  if (!p) return cudaSuccess;
  a = sd_memory_find(s, p);
  if (!a || a->at != p || a->kind != kind || a->rank != h->agent.rank) {
    sd_note(s, SIMDEV_E_MISUSE, 0, h->agent.rank,
            "%s: %p is not the beginning of %s memory of this rank", sd_call_text(h), p,
            kind == SD_DEVICE ? "device" : "pinned");
    return cudaErrorInvalidValue;
  }
  if (a->freed) {
    sd_note(s, SIMDEV_E_ACCESS, 0, h->agent.rank,
            "%s: frees memory a second time (allocated by call %d, freed by call %d)",
            sd_call_text(h), a->call, a->freed_call);
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

/* ---- Registered memory ----------------------------------------------------------------------- */

static int overlaps(const simdev *s, const char *p, size_t bytes)
{
  if (sd_memory_kind_of(s, p) != SD_PAGEABLE) return 1;
  for (int64_t i = 0; i < s->memory.registered_n; i++) {
    const sd_alloc *a = &s->memory.registered[i];
    if (a->at < p + bytes && p < a->at + a->bytes) return 1;
  }
  return 0;
}

cudaError_t sd_memory_register(sd_host *h, void *p, size_t bytes)
{
  simdev *s = sd_now;
  sd_memory *m = &s->memory;
  sd_alloc *a;
  if (!p || bytes == 0) return cudaErrorInvalidValue;
  if (!s->choice.registers) return cudaErrorNotSupported;
  if (overlaps(s, p, bytes)) return cudaErrorHostMemoryAlreadyRegistered;
  if (sd_arena_grow(&s->arena, (void **)&m->registered, m->registered_n, &m->registered_cap,
                    sizeof *m->registered))
    return cudaErrorMemoryAllocation;
  a = &m->registered[m->registered_n++];
  *a = (sd_alloc){.at = p,
                  .bytes = bytes,
                  .rank = h->agent.rank,
                  .device = h->device,
                  .call = h->call,
                  .kind = SD_PINNED};
  account(s, a, 1);
  return cudaSuccess;
}

cudaError_t sd_memory_unregister(sd_host *h, void *p)
{
  simdev *s = sd_now;
  sd_alloc *a = sd_memory_registered(s, p);
  if (!p) return cudaErrorInvalidValue;
  if (!a || a->at != p || a->rank != h->agent.rank) return cudaErrorHostMemoryNotRegistered;
  check_pending(s, a, NULL);
  account(s, a, -1);
  *a = s->memory.registered[--s->memory.registered_n];
  return cudaSuccess;
}

/* ---- Use ------------------------------------------------------------------------------------- */

/* cudaFreeAsync, when its stream executes it. */
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
  if (sd_memory_kind_of(s, p) == SD_PAGEABLE || n == 0) return cudaSuccess;
  at = a ? (size_t)((const char *)p - a->at) : 0;
  if (a && a->rank == rank && !a->freed && at <= a->bytes && n <= a->bytes - at) return cudaSuccess;
  if (item) sd_item_text(item, where, sizeof where);
  else sd_print(where, sizeof where, "%s", sd_call_text(s->hosts.running));
  if (!a || at > a->bytes + ALIGN + GUARD) { /* after the last allocation */
    sd_note(s, SIMDEV_E_ACCESS, 1, rank, "%s: %s %zu bytes at %p, where nothing is allocated",
            where, verb, n, p);
    return cudaErrorInvalidValue;
  }
  kind = a->kind == SD_DEVICE ? "device" : "pinned";
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
