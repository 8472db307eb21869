/* What simdev keeps of events that the program has destroyed. */
#include <criterion/criterion.h>

#include "../../../cuda/simdev/state.h"
#include "case.h"

static size_t arena_bytes(void)
{
  size_t n = 0;
  for (const sd_chunk *c = sd_now->arena.chunk; c; c = c->next) n += c->used;
  return n;
}

/* Some are destroyed before their record has ended. */
static int record_and_destroy(cudaStream_t st, int events)
{
  cudaEvent_t e;
  for (int i = 0; i < events; i++) {
    OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    OK(cudaEventRecord(e, st));
    if (i % 2) OK(cudaStreamSynchronize(st));
    OK(cudaEventDestroy(e));
  }
  OK(cudaStreamSynchronize(st));
  return 0;
}

static int many_events(void *arg, int rank)
{
  enum { EVENTS = 2000 };
  cudaStream_t st;
  (void)arg, (void)rank;
  OK(cudaStreamCreate(&st));
  OK(record_and_destroy(st, 100));
  const size_t before = arena_bytes();
  OK(record_and_destroy(st, EVENTS));
  IS(arena_bytes() - before <= EVENTS * (size_t)((sizeof(sd_event) + 15) / 16 * 16));
  OK(cudaStreamDestroy(st));
  return 0;
}

/* A destroyed event keeps its own bytes, by which its handle is known to be destroyed. */
Test(event, a_destroyed_event_does_not_keep_its_record)
{
  cr_assert_eq(count_seeds(1, many_events, NULL, (simdev_options){0}, 8, SIMDEV_OK), 8);
}
