/* The sync points by name and number. */
#include "sync_points.h"

#include <stdlib.h>
#include <string.h>

typedef struct sync_point {
  const char *name, *why;
} sync_point;

static const sync_point points[ZP_SYNC_END] = {{NULL, NULL},
#define ZP_SYNC_ROW(id, name, clause, why) {name, why},
                                               ZP_CUDA_SYNC_POINTS(ZP_SYNC_ROW)
#undef ZP_SYNC_ROW
};

const char *zp_cuda_sync_point_name(int32_t i)
{
  return i > ZP_SYNC_NONE && i < ZP_SYNC_END ? points[i].name : NULL;
}

const char *zp_cuda_sync_point_why(int32_t i)
{
  return i > ZP_SYNC_NONE && i < ZP_SYNC_END ? points[i].why : NULL;
}

int32_t zp_cuda_sync_point_offloads(int32_t i)
{
  return i >= ZP_SYNC_MEANT_RECORD && i <= ZP_SYNC_TAKEN_WAIT;
}

int32_t zp_cuda_sync_point_find(const char *name)
{
  char *end;
  const long n = strtol(name, &end, 10);
  if (end != name && *end == 0) return n > ZP_SYNC_NONE && n < ZP_SYNC_END ? (int32_t)n : 0;
  for (int32_t i = 1; i < ZP_SYNC_END; i++)
    if (strcmp(points[i].name, name) == 0) return i;
  return ZP_SYNC_NONE;
}
