/* Streams: queues of items, the order between the items, and what that order makes visible. */
#ifndef ZP_SIMDEV_STREAM_H
#define ZP_SIMDEV_STREAM_H
#include "race.h"
#include "ready.h"

struct sd_stream {
  uint32_t mark; /* first, as in events and communicators, which are smaller */
  sd_agent agent;
  int32_t id, device, call;
  uint32_t flags;
  int32_t priority, is_legacy, default_of; /* default_of: host id + 1 of a per-thread stream */
  sd_item *head, *last;                    /* last: the newest, done or not */
  uint64_t legacy_seen; /* issue of the legacy stream's item that it is ordered after already */
  sd_fiber *fiber;
  sd_stream *next;
  int32_t muted;
  char *shared; /* shared memory of the blocks that run at a time */
  size_t shared_bytes;
  char name[32];
};

static inline sd_stream *sd_stream_of_agent(sd_agent *a)
{
  return (sd_stream *)((char *)a - offsetof(sd_stream, agent));
}

/* A rank's streams. */
typedef struct sd_rank_streams {
  sd_stream *all;     /* newest first */
  sd_stream **legacy; /* [devices] made when first used */
  uint64_t *issued;   /* [devices] items issued */
  uint64_t *serial;   /* [devices] items done, where streams are serialized */
  /* [devices * queues] items issued to a hardware queue, and begun */
  uint64_t *queued, *begun;
  int32_t created; /* numbers for the program's streams */
} sd_rank_streams;

/* Of all streams. */
typedef struct sd_streams {
  sd_stream *running; /* the stream whose fiber runs, or NULL */
  uint64_t issued, hash;
  int64_t clock;       /* begins and ends of items so far */
  int64_t done;        /* items */
  int32_t in_callback; /* 1: a host function of cudaLaunchHostFunc runs */
} sd_streams;

/* id: the rank's next number, or below 0 for a default stream. */
sd_stream *sd_stream_make(simdev *s, int32_t rank, int32_t device, uint32_t flags, int32_t id);
/* The stream of a handle, which must be of this host's rank; NULL: a finding was noted. */
sd_stream *sd_stream_of(sd_host *h, cudaStream_t handle);
int sd_is_stream_default(cudaStream_t handle);
void sd_stream_name_fiber(sd_stream *st); /* for ThreadSanitizer's reports */

/* Hardware queues: 1: the item is the next one of its queue. begin: the item begins. */
int sd_queue_is_next(const simdev *s, const sd_item *item);
void sd_queue_begin(simdev *s, const sd_item *item);

void sd_item_issue(simdev *s, sd_item *item); /* from the scheduler or a host */
void sd_item_depend(simdev *s, sd_item *item, sd_item *dep);
void sd_item_done(simdev *s, sd_item *item);
/* Makes the item's end something that others can acquire. */
void sd_item_publish_end(simdev *s, sd_item *item);
/* The host has learned that the item ended. */
void sd_item_acquire(simdev *s, sd_host *h, sd_item *item);
/* Adds an item that touches data to the hash of the order. */
void sd_hash_item(simdev *s, uint64_t key);
/* The number of the next begin or end. */
int64_t sd_tick(simdev *s);

/* Adds the stream to the ready set, or lets it be woken when it can run. */
void sd_stream_update(simdev *s, sd_stream *st);
void sd_stream_step(simdev *s, sd_stream *st);
cudaError_t sd_stream_wait(sd_host *h, sd_stream *st);
void sd_fiber_enter(simdev *s, sd_stream *st);
void sd_fiber_leave(simdev *s, sd_stream *st);
/* After the finding that ends a run: what hosts clean up races with nothing. */
void sd_streams_release_all(simdev *s);

/* exec.c: carries out an item's work, on its stream's fiber. */
void sd_execute(simdev *s, sd_item *item);

#endif
