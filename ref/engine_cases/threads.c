/* Ranks as threads, with a transport between them. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../comm/transport.h"
#include "backend.h"
#include "cases.h"
#include "rank_run.h"

enum { DEADLINE_S = 120 };

typedef struct meeting {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int32_t world, here, failed; /* here: ranks that have come; failed: 1: a rank has left */
  int64_t times;               /* that all have come */
  const void *sent[ZP_API_THREADS];
} meeting;

typedef struct seat {
  meeting *m;
  int32_t rank;
  zp_rank_run_options options;
  zp_transport transport;
  zp_rank_run_found found;
} seat;

static void leave(meeting *m)
{
  pthread_mutex_lock(&m->lock);
  m->failed = 1;
  pthread_cond_broadcast(&m->changed);
  pthread_mutex_unlock(&m->lock);
}

/* Waits for all ranks; 0, or -1: one has left, or the deadline has passed. */
static int wait_for_all(meeting *m)
{
  struct timespec end;
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += DEADLINE_S;
  pthread_mutex_lock(&m->lock);
  const int64_t before = m->times;
  if (++m->here == m->world) {
    m->here = 0;
    m->times++;
    pthread_cond_broadcast(&m->changed);
  }
  while (m->times == before && !m->failed)
    if (pthread_cond_timedwait(&m->changed, &m->lock, &end)) m->failed = 1;
  const int gone = m->times == before;
  pthread_mutex_unlock(&m->lock);
  return gone ? -1 : 0;
}

static int rendezvous(seat *s, const void *sent)
{
  s->m->sent[s->rank] = sent;
  return wait_for_all(s->m);
}

static int all_gather(void *ctx, const void *send, void *recv, int64_t bytes)
{
  seat *s = ctx;
  if (rendezvous(s, send)) return -1;
  for (int32_t r = 0; r < s->m->world; r++)
    memcpy((char *)recv + r * bytes, s->m->sent[r], (size_t)bytes);
  return wait_for_all(s->m);
}

static int all_to_all(void *ctx, const void *send, void *recv, int64_t bytes)
{
  seat *s = ctx;
  if (rendezvous(s, send)) return -1;
  for (int32_t r = 0; r < s->m->world; r++)
    memcpy((char *)recv + r * bytes, (const char *)s->m->sent[r] + s->rank * bytes, (size_t)bytes);
  return wait_for_all(s->m);
}

static int broadcast(void *ctx, void *data, int64_t bytes, int32_t root)
{
  seat *s = ctx;
  if (rendezvous(s, data)) return -1;
  if (s->rank != root) memcpy(data, s->m->sent[root], (size_t)bytes);
  return wait_for_all(s->m);
}

static const char *why(void *ctx)
{
  (void)ctx;
  return "another rank has left";
}

static void alarm_others(void *ctx, int32_t status, const char *text)
{
  const seat *s = ctx;
  (void)status, (void)text;
  leave(s->m);
}

static void *run(void *arg)
{
  seat *s = arg;
  if (zp_rank_run(&s->options, &s->found)) leave(s->m);
  return NULL;
}

static void start_all(seat *s, const zp_case *c, const char *folder, const zp_fault *fault,
                      meeting *m, zp_verdict *v)
{
  pthread_t thread[ZP_API_THREADS];
  int32_t started = 0;
  for (int32_t i = 0; i < m->world; i++) {
    s[i].m = m;
    s[i].rank = i;
    s[i].transport = (zp_transport){
        sizeof(zp_transport), &s[i], all_gather, all_to_all, broadcast, why, alarm_others};
    s[i].options =
        (zp_rank_run_options){c,
                              i,
                              m->world > 1 ? &s[i].transport : NULL,
                              folder,
                              DEADLINE_S,
                              i == 0 ? (zp_rank_fault)zp_api_rank_fault(fault) : ZP_RANK_FAULT_NONE,
                              zp_host_device};
    s[i].options.device.can_create_again = 1;
    if (pthread_create(&thread[i], NULL, run, &s[i])) break;
    started++;
  }
  if (started < m->world) {
    leave(m);
    v->no_memory = 1;
    zp_verdict_say(v, "a thread could not be started");
  }
  for (int32_t i = 0; i < started; i++) pthread_join(thread[i], NULL);
}

void zp_api_threads_run(const zp_case *c, const char *folder, const zp_fault *fault, zp_verdict *v)
{
  meeting m = {.lock = PTHREAD_MUTEX_INITIALIZER,
               .changed = PTHREAD_COND_INITIALIZER,
               .world = zp_world(&c->cfg)};
  seat *s = calloc((size_t)m.world, sizeof *s);
  if (!s) {
    v->no_memory = 1;
    zp_verdict_say(v, "no memory for %d ranks", (int)m.world);
    return;
  }
  start_all(s, c, folder, fault, &m, v);
  for (int32_t i = 0; i < m.world; i++) {
    v->steps = (int32_t)s[i].found.step;
    if (!s[i].found.clause[0]) continue;
    v->step = s[i].found.step;
    zp_verdict_clause(v, s[i].found.clause);
    zp_verdict_say(v, "%s%s", v->text_used > 0 ? "\n" : "", s[i].found.text);
  }
  free(s);
}
