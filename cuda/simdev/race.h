/* What the TSan build tells ThreadSanitizer: who runs (a fiber for each host and stream) and which
 * order is promised. Everything else in simdev is compiled without instrumentation, so that nothing
 * but CUDA's own ordering makes a happens-before. In other builds all of this is empty. */
#ifndef ZP_SIMDEV_RACE_H
#define ZP_SIMDEV_RACE_H
#include <stddef.h>
#include <stdint.h>

/* A thread in ThreadSanitizer's eyes, and the stack of a stream's (fiber.c); NULL elsewhere. */
typedef struct sd_fiber {
  void *race;
  char *stack; /* lowest address */
  size_t bytes;
  struct sd_fiber *next;
} sd_fiber;

#ifdef SIMDEV_TSAN
void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void *fiber);
void __tsan_switch_to_fiber(void *fiber, unsigned flags);
void __tsan_set_fiber_name(void *fiber, const char *name);
void __tsan_acquire(void *address);
void __tsan_release(void *address);
void __tsan_atomic64_store(volatile uint64_t *address, uint64_t value, int order);
void __tsan_func_entry(void *pc);
void __tsan_func_exit(void);
void __tsan_read_range(void *address, unsigned long bytes);
void __tsan_write_range(void *address, unsigned long bytes);

int sd_race_mismatch(void); /* race.c */
void __tsan_ignore_thread_begin(void);
void __tsan_ignore_thread_end(void);

enum { SD_SWITCH_NO_SYNC = 1 }; /* __tsan_switch_to_fiber_no_sync */

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
/* The same, of an address that nobody else releases: nothing is merged, which is much cheaper. */
static inline void sd_race_publish(uint64_t *a)
{
  __tsan_atomic64_store(a, 0, __ATOMIC_RELEASE);
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
void sd_race_read(const void *p, size_t n); /* race.c */
void sd_race_write(void *p, size_t n);
/* Ends what a report began: the fiber's further accesses were not looked at. */
static inline void sd_race_unmute(int32_t *muted)
{
  for (; *muted > 0; --*muted) __tsan_ignore_thread_end();
}
#else
/* 1: this library, in a program that ThreadSanitizer watches. Its switches would be taken for
 * threads' races, and its order for none. */
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
static inline void sd_race_unmute(int32_t *muted)
{
  (void)muted;
}
#endif
#endif
