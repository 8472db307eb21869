#include "ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENGINES = 64, EXCHANGES = 512, BYTES = 8192, DEADLINE_S = 30 };

/* One rank: its program, and the watchdogs of the engines that it makes one after the other. */
typedef struct process {
  int32_t rank, engines, exchanged, over;
  char lock, begins[ENGINES], ended[ENGINES]; /* for simdev: their addresses */
  void (*watch)(void *);
  void *arg;
  zp_cuda_threads threads;
} process;

static struct {
  const zp_simdev_ranks *ranks;
  process of[ZP_SIMDEV_RANKS];
  char *bytes;              /* [EXCHANGES][BYTES]: what rank 0 passed on */
  int32_t sending, alarmed; /* atomic: a rank has an alarm to send; it is in `alarm` */
  zp_alarm alarm;
} all;

/* ---- Between ranks --------------------------------------------------------------------------- */

static int exchange(void *ctx, int32_t rank, void *bytes, size_t n)
{
  process *p = &all.of[rank];
  char *at = all.bytes + (size_t)p->exchanged * BYTES;
  (void)ctx;
  if (n > BYTES || ++p->exchanged > EXCHANGES) return -1;
  if (rank == 0) {
    memcpy(at, bytes, n);
    simdev_signal(at);
    return 0;
  }
  if (simdev_await(at)) return -1;
  memcpy(bytes, at, n);
  return 0;
}

/* The first alarm, for all. */
static void send_alarm(void *ctx, const zp_alarm *alarm)
{
  (void)ctx;
  if (__atomic_exchange_n(&all.sending, 1, __ATOMIC_ACQ_REL)) return;
  all.alarm = *alarm;
  __atomic_store_n(&all.alarmed, 1, __ATOMIC_RELEASE);
}

static int receive_alarm(void *ctx, zp_alarm *alarm)
{
  if (!__atomic_load_n(&all.alarmed, __ATOMIC_ACQUIRE)) return 0;
  if (all.alarm.rank == ((process *)ctx)->rank) return 0;
  *alarm = all.alarm;
  return 1;
}

/* ---- The watchdog ---------------------------------------------------------------------------- */

static int start(void *ctx, void (*fn)(void *), void *arg)
{
  process *p = ctx;
  if (p->engines == ENGINES - 1) return -1;
  p->watch = fn;
  p->arg = arg;
  simdev_signal(&p->begins[p->engines++]);
  return 0;
}

static int watchdog(void *arg, int rank)
{
  process *p = arg;
  (void)rank;
  for (int32_t i = 0; i < ENGINES; i++) {
    if (simdev_await(&p->begins[i]) || p->over) return 0;
    p->watch(p->arg);
    simdev_signal(&p->ended[i]);
  }
  return 0;
}

static void join(void *ctx)
{
  process *p = ctx;
  simdev_await(&p->ended[p->engines - 1]);
}

static void lock(void *ctx)
{
  simdev_lock(&((process *)ctx)->lock);
}

static void unlock(void *ctx)
{
  simdev_unlock(&((process *)ctx)->lock);
}

static int nap(void *ctx, uint64_t ns)
{
  (void)ns;
  unlock(ctx);
  simdev_pause();
  return simdev_lock(&((process *)ctx)->lock);
}

static void wake(void *ctx)
{
  (void)ctx;
}

/* ---- Running --------------------------------------------------------------------------------- */

int zp_simdev_ranks_create(zp_engine **out, const zp_engine_options *options, zp_error *err)
{
  process *p = &all.of[simdev_rank()];
  const zp_cuda_host_channel inside = {p, send_alarm, receive_alarm};
  const zp_cuda_host host = {simdev_clock_ns, simdev_pause, &p->threads,
                             all.ranks->channel ? *all.ranks->channel : inside,
                             all.ranks->intercept};
  zp_engine_options o;
  if (!options) return zp_engine_create_on(out, options, &host, err);
  o = *options;
  if (o.exchange) o.exchange = exchange;
  if (o.deadline_s == 0) o.deadline_s = DEADLINE_S;
  return zp_engine_create_on(out, &o, &host, err);
}

static int run_program(void *arg, int rank)
{
  process *p = arg;
  const int found = all.ranks->program(all.ranks->ctx, rank);
  p->over = 1;
  simdev_signal(&p->begins[p->engines]);
  return found;
}

static simdev_status run(simdev *s)
{
  for (int32_t r = 0; r < all.ranks->ranks; r++) {
    process *p = &all.of[r];
    p->rank = r;
    p->threads = (zp_cuda_threads){p, start, join, lock, unlock, nap, wake};
    if (simdev_host(s, r, run_program, p) || simdev_host(s, r, watchdog, p))
      return SIMDEV_E_NO_MEMORY;
  }
  return simdev_run(s);
}

simdev_status zp_simdev_ranks_run(const zp_simdev_ranks *ranks, char *text, size_t cap)
{
  const char *why = "no memory for what ranks exchange";
  simdev_status status = SIMDEV_E_NO_MEMORY;
  simdev *s = NULL;
  memset(&all, 0, sizeof all);
  all.ranks = ranks;
  all.bytes = malloc((size_t)EXCHANGES * BYTES);
  if (all.bytes) s = simdev_open(ranks->ranks, ranks->ranks, &ranks->options, &why);
  if (s) {
    status = run(s);
    why = simdev_result(s)->text;
  }
  snprintf(text, cap, "%s", status == SIMDEV_OK ? "" : why);
  if (s) simdev_close(s);
  free(all.bytes);
  return status;
}
