/* zp_engine_create as a process has it, with nothing that a test provides: its lock and watchdog
 * are POSIX threads, its line to the other ranks is sockets. Three ranks, each a thread of this
 * process, on the device of at_once.c, with gradients announced by a further thread each.
 *   api_threads FAULT RANK IDLE [STEPS]
 * RANK's fault in step 20: none | twice: announces twice | stuck: comes no more; IDLE calls
 * nothing after step 20 but zp_engine_why. unbound: from step 0 on, announcing threads get no
 * context, as if the engine did not set their device, and ranks have no channel. Says what each
 * rank's engine says. Exit code 1: a rank did not hear of the fault, or, without one, parameters
 * differ. Without a fault it trains for STEPS (40). */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../../cuda/engine/api.h"

enum { RANKS = 3, N = 8, FAULT_STEP = 20, LIMIT_S = 60, BYTES = 8192 };

static struct {
  const char *fault;
  int faulty, idle;
  int64_t steps;
  pthread_barrier_t meet;
  char bytes[BYTES];
} job;

typedef struct rank {
  int32_t rank;
  zp_engine *e;
  pthread_t thread;
  int created, destroyed;
  int64_t mb;
  float grad[2][N], end[2][N];
  char said[1024];
} rank;

static int exchange(void *ctx, int32_t r, void *bytes, size_t n)
{
  (void)ctx;
  if (n > BYTES) return -1;
  if (r == 0) memcpy(job.bytes, bytes, n);
  pthread_barrier_wait(&job.meet);
  if (r != 0) memcpy(bytes, job.bytes, n);
  pthread_barrier_wait(&job.meet);
  return 0;
}

extern _Thread_local int at_once_lacks_context;

/* A thread that has used no device before. */
static void *announce(void *arg)
{
  rank *r = arg;
  at_once_lacks_context = strcmp(job.fault, "unbound") == 0;
  for (int32_t p = 1; p >= 0; p--)
    if (zp_engine_grad_ready(r->e, p, r->mb, r->grad[p], N, ZP_F32, NULL)) return arg;
  return NULL;
}

static int step(rank *r, int64_t s)
{
  pthread_t t;
  void *failed;
  for (int32_t p = 0; p < 2; p++)
    for (int i = 0; i < N; i++) r->grad[p][i] = (float)((s * 7 + r->rank * 5 + p * 3 + i) % 11 - 5);
  if (pthread_create(&t, NULL, announce, r) || pthread_join(t, &failed) || failed) return -1;
  if (s == FAULT_STEP && r->rank == job.faulty && strcmp(job.fault, "twice") == 0)
    return zp_engine_grad_ready(r->e, 0, 0, r->grad[0], N, ZP_F32, NULL);
  return zp_engine_step(r->e, NULL);
}

static void train(rank *r)
{
  const int faults = strcmp(job.fault, "none") != 0;
  const int stuck = r->rank == job.faulty && strcmp(job.fault, "stuck") == 0;
  const time_t limit = time(NULL) + LIMIT_S;
  for (int64_t s = 0; faults ? time(NULL) < limit : s < job.steps; s++) {
    const struct timespec nap = {0, 2000000};
    if (zp_engine_why(r->e)->status) return;
    if (faults && s > FAULT_STEP && (stuck || r->rank == job.idle)) nanosleep(&nap, NULL);
    else if (step(r, s)) return;
  }
}

static void *run(void *arg)
{
  static const zp_param list[] = {{.numel = N, .tied = -1}, {.numel = N, .tied = -1}};
  static const zp_config config = {.pp = 1,
                                   .dp = RANKS,
                                   .tp = 1,
                                   .ep = 1,
                                   .stage = 1,
                                   .reduce = ZP_EXACT,
                                   .optgroups = 1,
                                   .micro_batches = 1,
                                   .bucket = 6,
                                   .align = 1,
                                   .params = list,
                                   .n_params = 2};
  static const zp_cuda_host unbound = {0}; /* the system's, but no channel */
  rank *r = arg;
  zp_job none = {.rank = r->rank, .world = RANKS, .local_rank = r->rank, .local_world = RANKS};
  zp_engine_options o;
  zp_error err = {0};
  zp_engine_defaults(&o, sizeof o, &none);
  o.config = &config;
  o.exchange = exchange;
  o.deadline_s = 2;
  r->created = strcmp(job.fault, "unbound") == 0 ? zp_engine_create_on(&r->e, &o, &unbound, &err)
                                                 : zp_engine_create(&r->e, &o, &err);
  if (!r->created) {
    train(r);
    for (int32_t p = 0; p < 2; p++) memcpy(r->end[p], zp_engine_param(r->e, p), sizeof r->end[p]);
    memcpy(r->said, zp_engine_why(r->e)->text, sizeof r->said);
  } else memcpy(r->said, err.text, sizeof r->said);
  r->destroyed = zp_engine_destroy(r->e, &err);
  return NULL;
}

int main(int argc, char **argv)
{
  static rank all[RANKS];
  int bad = 0;
  if (argc < 4 || argc > 5) return 2;
  job.fault = argv[1];
  job.faulty = atoi(argv[2]);
  job.idle = atoi(argv[3]);
  job.steps = argc > 4 ? atoi(argv[4]) : 40;
  pthread_barrier_init(&job.meet, NULL, RANKS);
  for (int32_t r = 0; r < RANKS; r++) {
    all[r].rank = r;
    if (pthread_create(&all[r].thread, NULL, run, &all[r])) return 2;
  }
  for (int32_t r = 0; r < RANKS; r++) pthread_join(all[r].thread, NULL);
  for (int32_t r = 0; r < RANKS; r++) {
    printf("rank %d: %s\n", (int)r, all[r].said);
    bad |= all[r].created || (all[r].destroyed == 0) != (strcmp(job.fault, "none") == 0);
    bad |= strcmp(job.fault, "none") == 0 && memcmp(all[r].end, all[0].end, sizeof all[r].end) != 0;
  }
  pthread_barrier_destroy(&job.meet);
  return bad;
}
