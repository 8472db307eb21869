/* The sites by name and number. */
#include "sites.h"

#include <stdlib.h>
#include <string.h>

typedef struct site {
  const char *name, *why;
} site;

static const site sites[ZP_SITE_END] = {{NULL, NULL},
#define ZP_SITE_ROW(id, name, clause, why) {name, why},
                                        ZP_CUDA_SITES(ZP_SITE_ROW)
#undef ZP_SITE_ROW
};

const char *zp_cuda_site_name(int32_t i)
{
  return i > ZP_SITE_NONE && i < ZP_SITE_END ? sites[i].name : NULL;
}

const char *zp_cuda_site_why(int32_t i)
{
  return i > ZP_SITE_NONE && i < ZP_SITE_END ? sites[i].why : NULL;
}

int32_t zp_cuda_site_offloads(int32_t i)
{
  return i >= ZP_SITE_MEANT_RECORD && i <= ZP_SITE_TAKEN_WAIT;
}

int32_t zp_cuda_site_find(const char *name)
{
  char *end;
  const long n = strtol(name, &end, 10);
  if (end != name && *end == 0) return n > ZP_SITE_NONE && n < ZP_SITE_END ? (int32_t)n : 0;
  for (int32_t i = 1; i < ZP_SITE_END; i++)
    if (strcmp(sites[i].name, name) == 0) return i;
  return ZP_SITE_NONE;
}
