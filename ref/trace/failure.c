#include "failure.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void zp_trace_fail(zp_trace_failure *f, int32_t status, const char *format, ...)
{
  char text[1024];
  va_list ap;
  va_start(ap, format);
  vsnprintf(text, sizeof text, format, ap);
  va_end(ap);
  zp_fail(&f->err, status, -1, "%s", text);
  longjmp(f->leave, 1);
}

void *zp_trace_grow(zp_trace_failure *f, void *p, size_t have, size_t n, size_t size)
{
  char *q = realloc(p, n * size);
  if (q == NULL) zp_trace_fail(f, ZP_E_MEMORY, "no memory for %zu bytes.", n * size);
  memset(q + have * size, 0, (n - have) * size);
  return q;
}
