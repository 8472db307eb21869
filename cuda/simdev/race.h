/* What the TSan build reports to ThreadSanitizer: which fiber runs (each host and each stream has
 * one) and which order CUDA guarantees. The rest of simdev is compiled without instrumentation, so
 * that only CUDA's own ordering makes a happens-before. In other builds the functions are empty. */
#ifndef ZP_SIMDEV_RACE_H
#define ZP_SIMDEV_RACE_H
#include <stddef.h>
#include <stdint.h>

#include "fiber.h"

#ifdef SIMDEV_TSAN
#include "tsan.h"

int sd_race_mismatch(void); /* race.c, as the next two */
void sd_race_read(const void *p, size_t n);
void sd_race_write(void *p, size_t n);

static inline void *sd_race_self(void)
{
  return __tsan_get_current_fiber();
}
static inline void *sd_race_fiber(void)
{
  return __tsan_create_fiber(0);
}
static inline void sd_race_drop(void *f)
{
  if (f) __tsan_destroy_fiber(f);
}
static inline void sd_race_name(void *f, const char *name)
{
  __tsan_set_fiber_name(f, name);
}
static inline void sd_race_acquire(void *a)
{
  __tsan_acquire(a);
}
static inline void sd_race_release(void *a)
{
  __tsan_release(a);
}
/* The same for an address that no other fiber releases: nothing is merged, which is cheaper. */
static inline void sd_race_publish(uint64_t *a)
{
  __tsan_atomic64_store(a, 0, __ATOMIC_RELEASE);
}
/* Stores an atomic word, which orders nothing else. */
static inline void sd_race_store_word(uint32_t *p, uint32_t v)
{
  __tsan_atomic32_store(p, v, __ATOMIC_RELAXED);
}
static inline void sd_race_enter(const void *pc)
{
  __tsan_func_entry((void *)(uintptr_t)pc);
}
static inline void sd_race_leave(void)
{
  __tsan_func_exit();
}
static inline void sd_race_switch(void *f, int weak)
{
  __tsan_switch_to_fiber(f, weak ? 0 : SD_SWITCH_NO_SYNC);
}
static inline void *sd_race_of(const sd_fiber *f)
{
  return f->race;
}
/* Accesses in between are not the program's. */
static inline void sd_race_ignore_begin(void)
{
  __tsan_ignore_thread_begin();
}
static inline void sd_race_ignore_end(void)
{
  __tsan_ignore_thread_end();
}
/* After a report the fiber's accesses are ignored; no longer. */
static inline void sd_race_unmute(int32_t *muted)
{
  for (; *muted > 0; --*muted) __tsan_ignore_thread_end();
}
#else
/* 1: this library is linked into a program that is built with ThreadSanitizer, which would report
 * its switches as races between threads. */
void __tsan_init(void) __attribute__((weak));
static inline int sd_race_mismatch(void)
{
  return __tsan_init != NULL;
}
static inline void *sd_race_self(void)
{
  return NULL;
}
static inline void *sd_race_fiber(void)
{
  return NULL;
}
static inline void sd_race_drop(void *f)
{
  (void)f;
}
static inline void sd_race_name(void *f, const char *name)
{
  (void)f, (void)name;
}
static inline void sd_race_acquire(void *a)
{
  (void)a;
}
static inline void sd_race_release(void *a)
{
  (void)a;
}
static inline void sd_race_publish(uint64_t *a)
{
  (void)a;
}
static inline void sd_race_store_word(uint32_t *p, uint32_t v)
{
  __atomic_store_n(p, v, __ATOMIC_RELEASE);
}
static inline void sd_race_enter(const void *pc)
{
  (void)pc;
}
static inline void sd_race_leave(void)
{
}
static inline void sd_race_switch(void *f, int weak)
{
  (void)f, (void)weak;
}
static inline void *sd_race_of(const sd_fiber *f)
{
  (void)f;
  return NULL;
}
static inline void sd_race_read(const void *p, size_t n)
{
  (void)p, (void)n;
}
static inline void sd_race_write(void *p, size_t n)
{
  (void)p, (void)n;
}
static inline void sd_race_ignore_begin(void)
{
}
static inline void sd_race_ignore_end(void)
{
}
static inline void sd_race_unmute(int32_t *muted)
{
  (void)muted;
}
#endif
#endif
