/* Items: pieces of work on a stream; and events. */
#ifndef ZP_SIMDEV_ITEM_H
#define ZP_SIMDEV_ITEM_H
#include "base.h"

struct sd_event {
  uint32_t mark;
  int32_t id, rank, device, call;
  uint32_t flags;
  sd_item *record; /* the current one; NULL: never recorded */
  sd_event *next;
  uint64_t *shared_sync; /* SIMDEV_WEAK_EVENTS: one sync address for all records */
};

/* Blocks of a kernel that are on the device at a time. */
enum { SD_BLOCKS = 8 };

/* Shared memory of a block, with what aligns the next block's. */
static inline size_t sd_shared_of_block(size_t bytes)
{
  return (bytes + 255) & ~(size_t)255;
}

typedef struct sd_kernel_item {
  const simdev_kernel *kernel;
  void *params;
  uint32_t grid[3], block[3];
  size_t shared;
} sd_kernel_item;

typedef struct sd_copy_item {
  void *to;
  const void *from; /* staged: the staging memory */
  size_t bytes;
  int32_t staged, value; /* value: of a memset */
} sd_copy_item;

struct sd_item {
  simdev_item_kind kind;
  int32_t done, waited;
  int32_t holds; /* of its queue, its launch, streams, events, hosts, and items that depend on it */
  int32_t call;
  int64_t tag;
  sd_stream *stream;
  sd_item *next;
  sd_agent *waiters;
  sd_item **deps;
  int32_t dep_count, dep_at;
  uint64_t issue, serial; /* numbers over all ranks; over the rank's device */
  uint64_t place;         /* in its hardware queue, from 1; 0: in none */
  int64_t begin;
  const char *name;
  const void *pc;
  uint64_t *in;  /* sync address that it acquires at its start */
  uint64_t *out; /* sync address that it releases at its end; NULL: nothing acquires it */
  union {
    sd_kernel_item kernel;
    sd_copy_item copy;
    struct {
      cudaHostFn_t fn;
      void *arg;
    } host;
    sd_event *event;
    sd_launch *launch;
    void *free;
  } u;
};

sd_item *sd_item_make(sd_stream *st, simdev_item_kind kind, const char *name, int32_t call,
                      const void *pc);
/* The memory of an item that nothing holds any more is used again (sd_forget). */
sd_item *sd_item_hold(sd_item *item);
void sd_item_drop(simdev *s, sd_item *item);
/* Lets *at hold the item instead of what it held. */
void sd_item_refer(simdev *s, sd_item **at, sd_item *item);

#endif
