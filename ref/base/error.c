#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "invariant.h"

int zp_fail(zp_error *err, int32_t status, int32_t rank, const char *format, ...)
{
  va_list args;
  if (err->status != ZP_OK) return status;
  err->status = status;
  err->rank = rank;
  va_start(args, format);
  vsnprintf(err->text, sizeof err->text, format, args);
  va_end(args);
  return status;
}

int zp_fail_invariant(zp_error *err, int32_t rank, const char *condition, const char *file,
                      int32_t line)
{
  return zp_fail(err, ZP_E_INTERNAL, rank,
                 "internal error: the invariant %s does not hold (%s:%d): a bug in zeroproof, or "
                 "its memory was overwritten; please report it with the output of `zeroproof env`",
                 condition, file, (int)line);
}

void zp_error_append(zp_error *err, const char *format, ...)
{
  const size_t used = strlen(err->text);
  va_list args;
  va_start(args, format);
  vsnprintf(err->text + used, sizeof err->text - used, format, args);
  va_end(args);
}

const char *zp_status_name(int32_t status)
{
  switch (status) {
  case ZP_OK: return "ok";
  case ZP_E_REFUSED: return "refused";
  case ZP_E_MEMORY: return "memory";
  case ZP_E_MISMATCH: return "mismatch";
  case ZP_E_DEADLOCK: return "deadlock";
  case ZP_E_ARRIVAL: return "arrival";
  case ZP_E_PEER: return "peer";
  case ZP_E_WORKLOAD: return "workload";
  case ZP_E_FILE: return "file";
  case ZP_E_VERDICT: return "verdict";
  case ZP_E_DEVICE: return "device";
  case ZP_E_INTERNAL: return "internal";
  default: return "unknown";
  }
}
