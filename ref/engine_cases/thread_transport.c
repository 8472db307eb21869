#define _GNU_SOURCE
#include "thread_transport.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

void zp_thread_group_init(zp_thread_group *g, int32_t world)
{
  memset(g, 0, sizeof *g);
  pthread_mutex_init(&g->lock, NULL);
  pthread_cond_init(&g->changed, NULL);
  g->world = world;
  g->deadline_s = ZP_THREAD_DEADLINE_S;
}

void zp_thread_group_leave(zp_thread_group *g, const char *why)
{
  pthread_mutex_lock(&g->lock);
  if (!g->failed) snprintf(g->why, sizeof g->why, "another rank has left: %s", why);
  g->failed = 1;
  pthread_cond_broadcast(&g->changed);
  pthread_mutex_unlock(&g->lock);
}

/* The deadline has passed: names the ranks that did not come, and wakes those that wait. */
static void give_up(zp_thread_group *g)
{
  int n = snprintf(g->why, sizeof g->why,
                   "%d of %d ranks did not come within %d s:", (int)(g->world - g->here),
                   (int)g->world, (int)g->deadline_s);
  const char *before = " ";
  for (int32_t i = 0; i < g->world; i++) {
    if (g->waits[i]) continue;
    n += snprintf(g->why + n, sizeof g->why - (size_t)n, "%srank %d", before, (int)i);
    before = ", ";
  }
  g->failed = 1;
  pthread_cond_broadcast(&g->changed);
}

/* Waits for all ranks; 0, or -1: one has left, or the deadline has passed. */
static int wait_for_all(const zp_thread_rank *r)
{
  zp_thread_group *g = r->group;
  struct timespec end;
  clock_gettime(CLOCK_REALTIME, &end);
  pthread_mutex_lock(&g->lock);
  end.tv_sec += g->deadline_s;
  const int64_t before = g->times;
  if (!g->failed) { /* else another rank's buffer may be gone */
    g->waits[r->rank] = 1;
    g->here++;
  }
  if (g->here == g->world) {
    memset(g->waits, 0, sizeof g->waits);
    g->here = 0;
    g->times++;
    pthread_cond_broadcast(&g->changed);
  }
  while (g->times == before && !g->failed)
    if (pthread_cond_timedwait(&g->changed, &g->lock, &end) && g->times == before && !g->failed)
      give_up(g);
  const int gone = g->times == before;
  pthread_mutex_unlock(&g->lock);
  return gone ? -1 : 0;
}

/* All ranks can read what all sent, until they have waited for each other again. */
static int rendezvous(zp_thread_rank *r, const void *sent)
{
  if (++r->calls == r->fails_in) {
    zp_thread_group_leave(r->group, "its transport failed");
    return -1;
  }
  r->group->sent[r->rank] = sent;
  return wait_for_all(r);
}

static int all_gather(void *ctx, const void *send, void *recv, int64_t bytes)
{
  zp_thread_rank *r = ctx;
  if (rendezvous(r, send)) return -1;
  for (int32_t i = 0; i < r->group->world; i++)
    memcpy((char *)recv + i * bytes, r->group->sent[i], (size_t)bytes);
  return wait_for_all(r);
}

static int all_to_all(void *ctx, const void *send, void *recv, int64_t bytes)
{
  zp_thread_rank *r = ctx;
  if (rendezvous(r, send)) return -1;
  for (int32_t i = 0; i < r->group->world; i++)
    memcpy((char *)recv + i * bytes, (const char *)r->group->sent[i] + r->rank * bytes,
           (size_t)bytes);
  return wait_for_all(r);
}

static int broadcast(void *ctx, void *data, int64_t bytes, int32_t root)
{
  zp_thread_rank *r = ctx;
  if (rendezvous(r, data)) return -1;
  if (r->rank != root) memcpy(data, r->group->sent[root], (size_t)bytes);
  return wait_for_all(r);
}

static const char *why(void *ctx)
{
  const zp_thread_rank *r = ctx;
  if (r->fails_in > 0 && r->calls >= r->fails_in) return "the transport failed";
  return r->group->why[0] ? r->group->why : NULL;
}

static void alarm_others(void *ctx, int32_t status, const char *text)
{
  (void)status;
  zp_thread_group_leave(((zp_thread_rank *)ctx)->group, text);
}

zp_transport zp_thread_transport(zp_thread_rank *r)
{
  return (zp_transport){sizeof(zp_transport), r, all_gather, all_to_all, broadcast, why,
                        alarm_others};
}
