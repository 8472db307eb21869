/* Fibers of the TSan build, which ThreadSanitizer treats as threads. In other builds fibers are
 * NULL, and these functions only call the function that they are passed. */
#ifndef ZP_SIMDEV_FIBER_H
#define ZP_SIMDEV_FIBER_H
#include <stddef.h>

typedef struct sd_fiber {
  void *race;  /* ThreadSanitizer's */
  char *stack; /* lowest address; for kernels and host functions of a stream */
  size_t bytes;
  struct sd_fiber *next;
} sd_fiber;

/* stack_bytes: of its stack, at least; -1: no memory. */
int sd_fiber_acquire(size_t stack_bytes, sd_fiber **f);
/* For other runs; its functions have all returned. */
void sd_fiber_recycle(sd_fiber *f);
void sd_fiber_destroy(sd_fiber *f);
/* Calls fn(arg) on the fiber's stack. */
void sd_fiber_call(sd_fiber *f, void (*fn)(void *), void *arg);

#endif
