/* A transport between ranks that are threads of one process. */
#ifndef ZP_ENGINE_CASES_THREAD_TRANSPORT_H
#define ZP_ENGINE_CASES_THREAD_TRANSPORT_H

#include <pthread.h>

#include "../comm/transport.h"

enum { ZP_THREAD_RANKS = 4, ZP_THREAD_DEADLINE_S = 120 }; /* at most; of a new group */

typedef struct zp_thread_group {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int32_t world, deadline_s;      /* of each wait */
  int32_t failed;                 /* 1: a rank has left, or did not come in time */
  int32_t here;                   /* ranks that wait */
  int32_t waits[ZP_THREAD_RANKS]; /* 1: this one waits */
  int64_t times;                  /* that all have come */
  const void *sent[ZP_THREAD_RANKS];
  char why[512]; /* the first rank that left, and its text; or the ranks that did not come */
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
