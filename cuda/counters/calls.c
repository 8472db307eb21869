#include "calls.h"

#include <stdio.h>
#include <string.h>

static int is_simdevs(const char *name)
{
  return strncmp(name, "simdev", 6) == 0;
}

int64_t zp_counted_calls(const zp_counted_rank *w)
{
  int64_t n, calls = 0;
  const simdev_call_count *c = simdev_calls(w->run->sim, w->rank, &n);
  for (int64_t i = 0; i < n; i++) calls += is_simdevs(c[i].name) ? 0 : c[i].calls;
  return calls;
}

void zp_counted_calls_begin(zp_counted_rank *w)
{
  int64_t n;
  const simdev_call_count *c = simdev_calls(w->run->sim, w->rank, &n);
  w->calls = 0;
  for (int64_t i = 0; i < n && i < ZP_COUNT_CALLS; i++) {
    zp_count_call *to = &w->call[w->calls++];
    snprintf(to->name, sizeof to->name, "%s", c[i].name);
    to->calls = -c[i].calls;
  }
}

/* simdev lists names in the order of the first calls: the list is longer than at the begin, and
 * otherwise the same. */
void zp_counted_calls_end(zp_counted_rank *w)
{
  int64_t n;
  int32_t kept = 0;
  const simdev_call_count *c = simdev_calls(w->run->sim, w->rank, &n);
  for (int64_t i = 0; i < n && i < ZP_COUNT_CALLS; i++) {
    zp_count_call one = {.calls = c[i].calls + (i < w->calls ? w->call[i].calls : 0)};
    snprintf(one.name, sizeof one.name, "%s", c[i].name);
    if (strcmp(one.name, "cudaMemsetAsync") == 0) one.calls -= w->by_model;
    if (one.calls > 0 && !is_simdevs(one.name)) w->call[kept++] = one;
  }
  w->calls = kept;
}
