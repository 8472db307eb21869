/* Numbers of a case that are in range each may have a product that takes hours or all memory. */
#include <stdio.h>

#include "cases.h"

/* Each is more than 70 times the most in the suite's own cases (conformance/ADAPTER.md). */
enum { RANKS = 1 << 12, MICRO_BATCHES = 1 << 20, ROWS = 1 << 22, ELEMENTS = 1 << 22 };

typedef struct product {
  const char *name;
  double value;
  int32_t most;
} product;

int zp_conf_check_size(const zp_config *c, int32_t steps, char *why, int64_t cap)
{
  const double replicas = (double)c->dp * c->tp, ranks = replicas * c->pp;
  const double passes = (double)steps * (double)c->micro_batches * replicas;
  double elements = 0, buckets = 0;
  for (int32_t j = 0; j < c->n_params; j++) {
    elements += (double)c->params[j].numel;
    buckets += (double)(c->params[j].numel / c->bucket);
  }
  const product all[] = {
      {"pp·dp·tp", ranks, RANKS},
      {"steps·micro_batches·pp·dp·tp", passes * c->pp, MICRO_BATCHES},
      {"steps·micro_batches·dp·tp·parameters", passes * c->n_params, ROWS},
      {"steps·micro_batches·dp·tp·buckets", passes * buckets, ROWS},
      {"steps·dp·tp·elements", steps * replicas * elements, ELEMENTS},
  };
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    if (all[i].value > all[i].most) {
      snprintf(why, (size_t)cap, "the case's %s is %.0f; the limit is %d", all[i].name,
               all[i].value, (int)all[i].most);
      return -1;
    }
  return 0;
}
