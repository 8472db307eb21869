/* The error path of reading and judging traces: out of memory, or a file that cannot be read. */
#ifndef ZP_TRACE_FAILURE_H
#define ZP_TRACE_FAILURE_H

#include <setjmp.h>
#include <stddef.h>

#include "../base/error.h"

/* The public function sets `leave`; every function that it calls may jump there. */
typedef struct zp_trace_failure {
  jmp_buf leave;
  zp_error err;
} zp_trace_failure;

/* Fills f->err and jumps to f->leave. */
void zp_trace_fail(zp_trace_failure *f, int32_t status, const char *format, ...)
    __attribute__((format(printf, 3, 4), noreturn));

/* Reallocates p from `have` to n elements and clears the new ones. Never returns NULL: if memory
 * runs out, it jumps to f->leave and leaves p unchanged. */
void *zp_trace_grow(zp_trace_failure *f, void *p, size_t have, size_t n, size_t size);

#endif
