/* Runs a program for the CUDA engine (on_simdev.h) as all ranks of one simulation.
 * api_run RANKS SEED[:SITE] [ARGUMENT]...: the seed chooses the order, too; the site's waits or
 * records are left out (cuda/engine/device/sync_points.h). Exit code: the highest of the
 * ranks', or 4 after simdev's report. With torchrun's variables there are several such processes,
 * which hear of each other's failures on a real line. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../cuda/engine/api.h"
#include "../../../cuda/engine/comm/host_channel.h"
#include "../../../cuda/engine/device/sync_points.h"
#include "../../../cuda/simdev/simdev.h"

int program_main(int argc, char **argv);
int job_on_simdev(zp_job *job, zp_error *err);
int create_on_simdev(zp_engine **out, const zp_engine_options *options, zp_error *err);

enum { RANKS_MAX = 16, EXCHANGES_MAX = 16, BYTES_MAX = 8192 };

/* One rank beside its program: the engine's lock and its watchdog, a host of its own. */
typedef struct process {
  int rank, code, exchanged;
  char lock, begins, ended;
  void (*watch)(void *);
  void *arg;
  zp_cuda_threads threads;
} process;

/* The processes of a simulation are one. */
static struct {
  int argc, ranks, alarmed;
  char **argv;
  char bytes[EXCHANGES_MAX][BYTES_MAX];
  zp_alarm alarm;
  zp_job job;
  int32_t sync_point;  /* whose waits or records are left out; 0: none */
  zp_alarm_line *line; /* to other processes; NULL: only this one */
  zp_cuda_host_channel channel;
  process of[RANKS_MAX];
} all;

int job_on_simdev(zp_job *job, zp_error *err)
{
  (void)err;
  *job = (zp_job){.rank = simdev_rank(), .world = all.ranks, .local_world = all.ranks};
  job->local_rank = job->rank;
  return 0;
}

static int exchange(void *ctx, int32_t rank, void *bytes, size_t n)
{
  char *at = all.bytes[all.of[rank].exchanged++];
  (void)ctx;
  if (n > BYTES_MAX || all.of[rank].exchanged > EXCHANGES_MAX) return -1;
  if (rank == 0) {
    memcpy(at, bytes, n);
    simdev_signal(at);
    return 0;
  }
  if (simdev_await(at)) return -1;
  memcpy(bytes, at, n);
  return 0;
}

/* ---- The watchdog ---------------------------------------------------------------------------- */

static int start(void *ctx, void (*fn)(void *), void *arg)
{
  process *p = ctx;
  p->watch = fn;
  p->arg = arg;
  simdev_signal(&p->begins);
  return 0;
}

static int watchdog(void *arg, int rank)
{
  process *p = arg;
  (void)rank;
  if (simdev_await(&p->begins) || !p->watch) return 0;
  p->watch(p->arg);
  simdev_signal(&p->ended);
  return 0;
}

static void join(void *ctx)
{
  simdev_await(&((process *)ctx)->ended);
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

/* The first alarm, for all. */
static void tell(void *ctx, const zp_alarm *alarm)
{
  (void)ctx;
  if (!all.alarmed) all.alarm = *alarm;
  all.alarmed = 1;
}

static int hear(void *ctx, zp_alarm *alarm)
{
  if (!all.alarmed || all.alarm.rank == ((process *)ctx)->rank) return 0;
  *alarm = all.alarm;
  return 1;
}

/* To the other processes, whose ranks the simulation of this one does not know. */
static void send_out(void *ctx, const zp_alarm *alarm)
{
  zp_alarm own = *alarm;
  own.rank = all.job.rank;
  all.channel.send(ctx, &own);
}

static int leave_out(void *ctx, zp_cuda_action *action)
{
  (void)ctx;
  return action->sync_point == all.sync_point; /* only waits and records have one */
}

int create_on_simdev(zp_engine **out, const zp_engine_options *options, zp_error *err)
{
  process *p = &all.of[simdev_rank()];
  const zp_cuda_host_channel inside = {p, tell, hear};
  const zp_cuda_host_channel outside = {all.line, send_out, all.channel.receive};
  const zp_cuda_intercept leaves_out = {NULL, leave_out};
  const zp_cuda_host host = {simdev_clock_ns, simdev_pause, &p->threads,
                             all.line ? outside : inside,
                             all.sync_point ? leaves_out : (zp_cuda_intercept){0}};
  zp_engine_options o;
  if (!options) return zp_engine_create_on(out, options, &host, err);
  o = *options;
  if (o.exchange) o.exchange = exchange;
  if (o.deadline_s == 0) o.deadline_s = 30; /* of the simulation's clock */
  return zp_engine_create_on(out, &o, &host, err);
}

static int run_program(void *arg, int rank)
{
  process *p = arg;
  (void)rank;
  p->code = program_main(all.argc, all.argv);
  if (!p->watch) simdev_signal(&p->begins);
  return 0; /* others are still to hear of a failure */
}

static int open_line(void)
{
  zp_error err = {0};
  if (!getenv("RANK")) return 0;
  if (zp_job_read(&all.job, &err)) return -1;
  all.line = zp_cuda_open_host_channel(all.job.rank, all.job.world, zp_job_exchange, &all.job,
                                       "127.0.0.1", &all.channel);
  return all.line ? 0 : -1;
}

int main(int argc, char **argv)
{
  simdev_options o = {.protect_device = 1, .allow_leaks = 0};
  simdev *s;
  simdev_status status;
  char *site;
  int code = 0;
  if (argc < 3) return 2;
  all.ranks = atoi(argv[1]);
  o.seed = strtoull(argv[2], &site, 10);
  if (*site == ':') all.sync_point = zp_cuda_sync_point_find(site + 1);
  if (*site && !all.sync_point) return 2;
  if (*site) o.serialize_streams = SIMDEV_NEVER; /* the device that forgives it */
  o.order = (simdev_order)(o.seed % 4);
  argv[2] = argv[0];
  all.argc = argc - 2;
  all.argv = argv + 2;
  if (all.ranks < 1 || all.ranks > RANKS_MAX || open_line()) return 2;
  s = simdev_open(all.ranks, all.ranks, &o, NULL);
  if (!s) return 2;
  for (int r = 0; r < all.ranks; r++) {
    process *p = &all.of[r];
    p->rank = r;
    p->threads = (zp_cuda_threads){p, start, join, lock, unlock, nap, wake};
    simdev_host(s, r, run_program, p);
    simdev_host(s, r, watchdog, p);
  }
  status = simdev_run(s);
  for (int r = 0; r < all.ranks; r++)
    if (all.of[r].code > code) code = all.of[r].code;
  /* a program that fails leaves with what it had */
  if (status != SIMDEV_OK && (code == 0 || status != SIMDEV_E_LEAK)) {
    fprintf(stderr, "%s\n", simdev_result(s)->text);
    code = 4;
  }
  simdev_close(s);
  zp_alarm_close(all.line);
  if (code == 0) return 0;
  fflush(NULL); /* as the programs do, which give nothing back after an error */
  _exit(code);
}
