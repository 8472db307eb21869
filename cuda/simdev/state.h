/* A simulation: the states of its parts, each declared beside the functions that change it. */
#ifndef ZP_SIMDEV_STATE_H
#define ZP_SIMDEV_STATE_H
#include "arena.h"
#include "findings.h"
#include "host.h"
#include "item.h"
#include "kernels.h"
#include "memory.h"
#include "nccl_ops.h"
#include "race.h"
#include "ready.h"
#include "record.h"
#include "stream.h"

typedef struct sd_rank {
  sd_rank_process process; /* host.h */
  sd_rank_streams streams; /* stream.h */
  int64_t created;         /* as simdev_created counts */
  int32_t events;          /* numbers for the program's events */
  int32_t syncs, items;    /* of record.c; of fault.c */
  uint64_t *used;          /* memory.c: [devices] bytes of device memory */
  simdev_memory memory;    /* memory.c: of all devices */
  sd_named_calls named;    /* record.c */
  sd_loaded *loaded;       /* cuda_function.c: its kernels, newest first */
} sd_rank;

/* Sync addresses: what happened before the run is visible in it, and what the run did after it. */
typedef struct sd_run_sync {
  uint64_t begin, end;
} sd_run_sync;

struct simdev {
  simdev_options opt;
  int32_t ranks, devices, ran;
  uint64_t random;
  sd_arena arena;
  sd_findings found;
  sd_choices choice;
  sd_scheduler sched;
  sd_hosts hosts;
  sd_rank *rank; /* [ranks] */
  sd_streams streams;
  sd_memory memory;
  sd_kernels kernels;
  sd_recorder record;
  sd_faults fault;
  sd_run_sync sync;
  sd_event *events;        /* cuda_stream.c */
  sd_key *keys;            /* signal.c */
  const sd_nccl_ops *nccl; /* NULL: no NCCL call in this run */
  sd_nccl *nccl_state;
};

static inline uint64_t sd_random(simdev *s)
{
  uint64_t z = (s->random += 0x9e3779b97f4a7c15u); /* splitmix64 */
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* 0 … n-1 */
static inline uint32_t sd_below(simdev *s, uint32_t n)
{
  return (uint32_t)(((sd_random(s) >> 32) * n) >> 32);
}

static inline sd_memory_kind sd_memory_kind_of(const simdev *s, const void *p)
{
  const char *c = p;
  if (c >= s->memory.device.base && c < s->memory.device.end) return SD_DEVICE;
  if (c >= s->memory.pinned.base && c < s->memory.pinned.end) return SD_PINNED;
  return s->memory.registered_n > 0 && sd_memory_registered(s, p) ? SD_PINNED : SD_PAGEABLE;
}

/* Releases an object to which no pointer is left. Recorded runs and the TSan build keep it, as they
 * look back at items that have ended. */
static inline void sd_forget(simdev *s, void *object, size_t bytes)
{
#ifdef SIMDEV_TSAN
  (void)s, (void)object, (void)bytes;
#else
  if (!s->opt.record) sd_buffer_release(&s->arena, object, bytes);
#endif
}

/* The item's accesses are made under two frames: the item itself in place of an address of code,
 * outermost, so that a report that shows the stack names it (race.c); and where it was issued. */
static inline void sd_race_begin(const sd_item *item, const void *pc)
{
  sd_race_enter(item);
  sd_race_enter(pc);
}
static inline void sd_race_end(void)
{
  sd_race_leave();
  sd_race_leave();
}

#endif
