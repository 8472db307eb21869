/* The functions of ThreadSanitizer's runtime that the TSan build calls. */
#ifndef ZP_SIMDEV_TSAN_H
#define ZP_SIMDEV_TSAN_H
#include <stdint.h>

void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void *fiber);
void __tsan_switch_to_fiber(void *fiber, unsigned flags);
void __tsan_set_fiber_name(void *fiber, const char *name);
void __tsan_acquire(void *address);
void __tsan_release(void *address);
void __tsan_atomic64_store(volatile uint64_t *address, uint64_t value, int order);
void __tsan_atomic32_store(volatile uint32_t *address, uint32_t value, int order);
void __tsan_func_entry(void *pc);
void __tsan_func_exit(void);
void __tsan_read_range(void *address, unsigned long bytes);
void __tsan_write_range(void *address, unsigned long bytes);

void __tsan_ignore_thread_begin(void);
void __tsan_ignore_thread_end(void);

enum { SD_SWITCH_NO_SYNC = 1 }; /* __tsan_switch_to_fiber_no_sync */

#endif
