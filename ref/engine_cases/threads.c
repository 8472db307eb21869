/* Ranks as threads, with a transport between them. */
#include <pthread.h>
#include <stdlib.h>

#include "backend.h"
#include "cases.h"
#include "rank_run.h"
#include "thread_transport.h"

typedef struct seat {
  zp_thread_rank rank;
  zp_rank_run_options options;
  zp_transport transport;
  zp_rank_run_found found;
} seat;

static void *run(void *arg)
{
  seat *s = arg;
  if (zp_rank_run(&s->options, &s->found)) zp_thread_group_leave(s->rank.group, "it has a finding");
  return NULL;
}

static void start_all(seat *s, const zp_case *c, const char *folder, const zp_fault *fault,
                      zp_thread_group *g, zp_verdict *v)
{
  pthread_t thread[ZP_THREAD_RANKS];
  int32_t started = 0;
  for (int32_t i = 0; i < g->world; i++) {
    s[i].rank = (zp_thread_rank){.group = g, .rank = i};
    s[i].transport = zp_thread_transport(&s[i].rank);
    s[i].options = (zp_rank_run_options){.c = c,
                                         .rank = i,
                                         .transport = g->world > 1 ? &s[i].transport : NULL,
                                         .folder = folder,
                                         .deadline_s = ZP_THREAD_DEADLINE_S,
                                         .fault = i == 0 ? (zp_rank_fault)zp_api_rank_fault(fault)
                                                         : ZP_RANK_FAULT_NONE,
                                         .device = zp_host_device};
    s[i].options.device.can_create_again = 1;
    if (pthread_create(&thread[i], NULL, run, &s[i])) break;
    started++;
  }
  if (started < g->world) {
    zp_thread_group_leave(g, "a thread could not be started");
    v->no_memory = 1;
    zp_verdict_say(v, "a thread could not be started");
  }
  for (int32_t i = 0; i < started; i++) pthread_join(thread[i], NULL);
}

void zp_api_threads_run(const zp_case *c, const char *folder, const zp_fault *fault, zp_verdict *v)
{
  zp_thread_group g;
  seat *s = calloc(ZP_THREAD_RANKS, sizeof *s);
  if (!s) {
    v->no_memory = 1;
    zp_verdict_say(v, "no memory for %d ranks", ZP_THREAD_RANKS);
    return;
  }
  zp_thread_group_init(&g, zp_world(&c->cfg));
  start_all(s, c, folder, fault, &g, v);
  for (int32_t i = 0; i < g.world; i++) zp_api_take_found(&s[i].found, v);
  free(s);
}
