#include <stdarg.h>
#include <stdio.h>

#include "state.h"

int zp_diff_fail(zp_diff *t, const char *kind, const char *format, ...)
{
  va_list args;
  if (__atomic_exchange_n(&t->differs, 1, __ATOMIC_ACQ_REL)) return 1;
  snprintf(t->found.kind, sizeof t->found.kind, "%s", kind);
  va_start(args, format);
  vsnprintf(t->found.text, sizeof t->found.text, format, args);
  va_end(args);
  return 1;
}
