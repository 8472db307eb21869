/* The attempts of a run. The first one wrote its traces to DIR, attempt N to DIR/attempt-N:
 * conformance/TRACE.md, "Attempts". */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace.h"

static int name_attempt(zp_trace_attempt *a, const char *dir, int32_t number)
{
  const int n = number > 0 ? snprintf(a->dir, sizeof a->dir, "%s/attempt-%d", dir, (int)number)
                           : snprintf(a->dir, sizeof a->dir, "%s", dir);
  return n >= 0 && (size_t)n < sizeof a->dir;
}

static int ascending(const void *a, const void *b)
{
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return x < y ? -1 : x > y;
}

/* The numbers of the folders attempt-N, ascending. Returns how many, or -1 (errno). */
static int32_t numbers_in(const char *dir, int32_t **number)
{
  int32_t n = 0, cap = 0;
  *number = NULL;
  DIR *d = opendir(dir);
  if (d == NULL) return -1;
  for (struct dirent *e; (e = readdir(d)) != NULL;) {
    int value = 0, end = 0;
    if (sscanf(e->d_name, "attempt-%6d%n", &value, &end) != 1 || end <= 0 || e->d_name[end] != 0)
      continue;
    if (value <= 0) continue;
    if (n == cap) {
      cap = cap ? 2 * cap : 16;
      int32_t *more = realloc(*number, (size_t)cap * sizeof *more);
      if (more == NULL) break;
      *number = more;
    }
    (*number)[n++] = (int32_t)value;
  }
  closedir(d);
  if (n > 1) qsort(*number, (size_t)n, sizeof **number, ascending);
  return n;
}

int zp_trace_find_attempt(const char *dir, int32_t wanted, zp_trace_attempt *a, zp_error *err)
{
  int32_t *number;
  int32_t n = numbers_in(dir, &number);
  *a = (zp_trace_attempt){.number = wanted > 0 ? wanted : 0};
  if (n < 0) return zp_fail(err, ZP_E_REFUSED, -1, "%s: %s.", dir, strerror(errno));
  a->several = n > 0;
  int found = wanted == 0 || (wanted < 0 && n == 0);
  for (int32_t i = n; i-- > 0 && !found;) {
    if (wanted >= 0 && number[i] != wanted) continue;
    /* a folder without traces is of an attempt that ended before its first operation */
    if (!name_attempt(a, dir, number[i])) break;
    found = wanted >= 0 || zp_trace_named(a->dir, NULL) > 0;
    if (found) a->number = number[i];
  }
  a->last = n <= 0 || a->number >= number[n - 1];
  free(number);
  if (!found && wanted > 0)
    return zp_fail(err, ZP_E_REFUSED, -1, "%s: it has no folder attempt-%d.", dir, (int)wanted);
  if (!name_attempt(a, dir, a->number))
    return zp_fail(err, ZP_E_REFUSED, -1, "%s: %s.", dir, strerror(ENAMETOOLONG));
  return 0;
}
