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

/* Former names, which options and recorded runs may have. */
static const struct {
  const char *name;
  zp_cuda_sync_point point;
} former[] = {
    {"meant.record", ZP_SYNC_AVERAGED_RECORD},    {"meant.wait", ZP_SYNC_AVERAGED_WAIT},
    {"given.record", ZP_SYNC_CALLER_LOSS_RECORD}, {"given.wait", ZP_SYNC_CALLER_LOSS_WAIT},
    {"taken.record", ZP_SYNC_CONSUMED_RECORD},    {"taken.wait", ZP_SYNC_CONSUMED_WAIT},
    {"met.record", ZP_SYNC_META_RECORD},          {"met.host", ZP_SYNC_META_HOST},
    {"handed.record", ZP_SYNC_CALLER_RECORD}};

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
  return i >= ZP_SYNC_AVERAGED_RECORD && i <= ZP_SYNC_CONSUMED_WAIT;
}

int32_t zp_cuda_sync_point_partial(int32_t i)
{
  return i >= ZP_SYNC_SETTLED_RECORD && i <= ZP_SYNC_GATHERS_WAIT;
}

int32_t zp_cuda_sync_point_find(const char *name)
{
  char *end;
  const long n = strtol(name, &end, 10);
  if (end != name && *end == 0) return n > ZP_SYNC_NONE && n < ZP_SYNC_END ? (int32_t)n : 0;
  for (int32_t i = 1; i < ZP_SYNC_END; i++)
    if (strcmp(points[i].name, name) == 0) return i;
  for (size_t k = 0; k < sizeof former / sizeof *former; k++)
    if (strcmp(former[k].name, name) == 0) return former[k].point;
  return ZP_SYNC_NONE;
}
