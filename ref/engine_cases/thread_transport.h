/* A transport between ranks that are threads of one process. */
#ifndef ZP_ENGINE_CASES_THREAD_TRANSPORT_H
#define ZP_ENGINE_CASES_THREAD_TRANSPORT_H

#include <pthread.h>

#include "../comm/transport.h"

enum { ZP_THREAD_RANKS = 4, ZP_THREAD_DEADLINE_S = 120 }; /* at most; of each wait */

typedef struct zp_thread_group {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int32_t world, here, failed; /* here: ranks that wait; failed: 1: a rank has left */
  int64_t times;               /* that all have come */
  const void *sent[ZP_THREAD_RANKS];
  char why[512]; /* with which text the first rank left */
} zp_thread_group;

typedef struct zp_thread_rank {
  zp_thread_group *group;
  int32_t rank;
  int32_t calls, fails_in; /* the transport's calls; the number of the one that fails, 0: none */
} zp_thread_rank;

void zp_thread_group_init(zp_thread_group *g, int32_t world);

/* A rank leaves: the waits of all others fail. */
void zp_thread_group_leave(zp_thread_group *g, const char *why);

/* r outlives it. */
zp_transport zp_thread_transport(zp_thread_rank *r);

#endif
