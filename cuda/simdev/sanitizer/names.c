/* The functions of ThreadSanitizer's runtime that instrumented code and simdev call, and the string
 * functions that the sanitizer intercepts (watch.h). A function that is missing here fails the
 * link. */
#include "watch.h"

#include "../state.h"

int sd_watch_is_item(const void *pc)
{
  return sd_now && sd_arena_contains(&sd_now->arena, pc, sizeof(sd_item));
}

int sd_race_mismatch(void)
{
  return 0;
}
void sd_race_read(const void *p, size_t n)
{
  sd_watch_access(p, n, 0);
}
void sd_race_write(void *p, size_t n)
{
  sd_watch_access(p, n, 1);
}

void __tsan_init(void)
{
}

void *__tsan_get_current_fiber(void)
{
  return sd_watch_self();
}
void *__tsan_create_fiber(unsigned flags)
{
  (void)flags;
  return sd_watch_fiber();
}
void __tsan_destroy_fiber(void *fiber)
{
  (void)fiber;
}
void __tsan_switch_to_fiber(void *fiber, unsigned flags)
{
  (void)flags;
  sd_watch_switch(fiber);
}
void __tsan_set_fiber_name(void *fiber, const char *name)
{
  sd_watch_name(fiber, name);
}
void __tsan_ignore_thread_begin(void)
{
}
void __tsan_ignore_thread_end(void)
{
}
void __tsan_acquire(void *address)
{
  sd_watch_acquire(address);
}
void __tsan_release(void *address)
{
  sd_watch_release(address, 0);
}

void __tsan_func_entry(void *pc)
{
  sd_watch_enter(pc);
}
void __tsan_func_exit(void)
{
  sd_watch_leave();
}

#define ACCESS(n)                                                                                  \
  void __tsan_read##n(void *p);                                                                    \
  void __tsan_read##n(void *p)                                                                     \
  {                                                                                                \
    sd_watch_access(p, n, 0);                                                                      \
  }                                                                                                \
  void __tsan_write##n(void *p);                                                                   \
  void __tsan_write##n(void *p)                                                                    \
  {                                                                                                \
    sd_watch_access(p, n, 1);                                                                      \
  }
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)

void __tsan_read_range(void *p, unsigned long n)
{
  sd_watch_access(p, n, 0);
}
void __tsan_write_range(void *p, unsigned long n)
{
  sd_watch_access(p, n, 1);
}

/* All fibers run on one thread; atomics that are stronger than relaxed order them. */
static void loads(const volatile void *p, size_t n, int order)
{
  sd_watch_atomic((const void *)(uintptr_t)p, n, 0);
  if (order != __ATOMIC_RELAXED) sd_watch_acquire((const void *)(uintptr_t)p);
}

static void stores(const volatile void *p, size_t n, int order, int alone)
{
  sd_watch_atomic((const void *)(uintptr_t)p, n, 1);
  if (order != __ATOMIC_RELAXED) sd_watch_release((const void *)(uintptr_t)p, alone);
}

#define ATOMIC(bits, type)                                                                         \
  type __tsan_atomic##bits##_load(const volatile type *p, int order);                              \
  type __tsan_atomic##bits##_load(const volatile type *p, int order)                               \
  {                                                                                                \
    loads(p, sizeof *p, order);                                                                    \
    return *p;                                                                                     \
  }                                                                                                \
  void __tsan_atomic##bits##_store(volatile type *p, type v, int order);                           \
  void __tsan_atomic##bits##_store(volatile type *p, type v, int order)                            \
  {                                                                                                \
    *p = v;                                                                                        \
    stores(p, sizeof *p, order, 1);                                                                \
  }                                                                                                \
  type __tsan_atomic##bits##_exchange(volatile type *p, type v, int order);                        \
  type __tsan_atomic##bits##_exchange(volatile type *p, type v, int order)                         \
  {                                                                                                \
    const type old = *p;                                                                           \
    loads(p, sizeof *p, order);                                                                    \
    *p = v;                                                                                        \
    stores(p, sizeof *p, order, 0);                                                                \
    return old;                                                                                    \
  }                                                                                                \
  type __tsan_atomic##bits##_fetch_add(volatile type *p, type v, int order);                       \
  type __tsan_atomic##bits##_fetch_add(volatile type *p, type v, int order)                        \
  {                                                                                                \
    return __tsan_atomic##bits##_exchange(p, *p + v, order);                                       \
  }                                                                                                \
  type __tsan_atomic##bits##_fetch_sub(volatile type *p, type v, int order);                       \
  type __tsan_atomic##bits##_fetch_sub(volatile type *p, type v, int order)                        \
  {                                                                                                \
    return __tsan_atomic##bits##_exchange(p, *p - v, order);                                       \
  }                                                                                                \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile type *p, type *was, type v,           \
                                                    int order, int failed);                        \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile type *p, type *was, type v,           \
                                                    int order, int failed)                         \
  {                                                                                                \
    if (*p == *was) return __tsan_atomic##bits##_exchange(p, v, order) == *was;                    \
    *was = __tsan_atomic##bits##_load(p, failed);                                                  \
    return 0;                                                                                      \
  }
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)

/* The linker redirects the program's calls here (--wrap), as the sanitizer intercepts them. */
void *__real_memcpy(void *to, const void *from, size_t n);
void *__real_memmove(void *to, const void *from, size_t n);
void *__real_memset(void *to, int value, size_t n);
void *__wrap_memcpy(void *to, const void *from, size_t n);
void *__wrap_memmove(void *to, const void *from, size_t n);
void *__wrap_memset(void *to, int value, size_t n);

static void copied(void *to, const void *from, size_t n)
{
  sd_watch_access(from, n, 0);
  sd_watch_access(to, n, 1);
}
void *__wrap_memcpy(void *to, const void *from, size_t n)
{
  copied(to, from, n);
  return __real_memcpy(to, from, n);
}
void *__wrap_memmove(void *to, const void *from, size_t n)
{
  copied(to, from, n);
  return __real_memmove(to, from, n);
}
void *__wrap_memset(void *to, int value, size_t n)
{
  sd_watch_access(to, n, 1);
  return __real_memset(to, value, n);
}
