/* What a program that is linked in place of ThreadSanitizer's runtime learns of a run: names.c
 * defines the functions that the compiler and simdev call, and passes their calls to these, which
 * the program defines (streams/log.c, accesses/accesses.c). The objects are those that were
 * compiled for the sanitizer, with libsimdev_tsan.a and -Wl,--wrap=memcpy,--wrap=memmove,
 * --wrap=memset. */
#ifndef ZP_SIMDEV_SANITIZER_WATCH_H
#define ZP_SIMDEV_SANITIZER_WATCH_H
#include <stddef.h>

/* An access of the running fiber: of instrumented code, a copy, a memset, or a communication. */
void sd_watch_access(const void *p, size_t n, int write);
/* An atomic access. */
void sd_watch_atomic(const void *p, size_t n, int write);

/* Synchronization. alone: nothing else was released at the address. */
void sd_watch_acquire(const void *address);
void sd_watch_release(const void *address, int alone);

/* The main fiber, when a run begins; a new fiber, of a host or a stream; the fiber that runs from
 * now on; its name. */
void *sd_watch_self(void);
void *sd_watch_fiber(void);
void sd_watch_switch(void *fiber);
void sd_watch_name(void *fiber, const char *name);

/* The begin and end of a function, or of an item, whose address simdev passes in place of that of
 * code. */
void sd_watch_enter(const void *pc);
void sd_watch_leave(void);

/* names.c: 1: pc is an item of the run. */
int sd_watch_is_item(const void *pc);

#endif
