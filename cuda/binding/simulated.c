#include "simulated.h"

#include <stdio.h>

#include "../engine/api.h"
#include "../simdev/simdev.h"

/* The process that is simulated: its program, and the engine's watchdog as another host. */
typedef struct process {
  int (*program)(void *);
  void *ctx;
  int engines;
  char lock, begins, ended; /* for simdev: their addresses */
  void (*watch)(void *);
  void *arg;
  zp_cuda_threads threads;
} process;

static process *now;

static int start(void *ctx, void (*fn)(void *), void *arg)
{
  process *p = ctx;
  p->watch = fn;
  p->arg = arg;
  simdev_signal(&p->begins);
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

/* There is no other rank. */
static void say(void *ctx, const zp_alarm *alarm)
{
  (void)ctx, (void)alarm;
}

static int hear(void *ctx, zp_alarm *alarm)
{
  (void)ctx, (void)alarm;
  return 0;
}

static int host(void *arg, int rank)
{
  process *p = arg;
  (void)rank;
  (void)p->program(p->ctx);
  if (!p->watch) simdev_signal(&p->begins);
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

const char *zp_simulated_run(int (*program)(void *), void *ctx, uint64_t seed, int64_t device_bytes,
                             uint32_t stack_bytes)
{
  static char found[1000];
  process p = {.program = program, .ctx = ctx};
  const simdev_options o = {.seed = seed,
                            .order = (simdev_order)(seed % 4),
                            .device_bytes = (uint64_t)device_bytes,
                            .stack_bytes = stack_bytes};
  const char *why = "";
  simdev *s = now ? NULL : simdev_open(1, 1, &o, &why);
  if (now) return "a simulation within a simulation";
  found[0] = '\0';
  now = &p;
  if (!s || simdev_host(s, 0, host, &p) || simdev_host(s, 0, watchdog, &p))
    snprintf(found, sizeof found, "simdev: %s", why);
  else if (simdev_run(s) != SIMDEV_OK)
    snprintf(found, sizeof found, "simdev: %s", simdev_result(s)->text);
  if (s) simdev_close(s);
  now = NULL;
  return found[0] ? found : NULL;
}

int zp_simulated_create(zp_engine **out, const zp_engine_options *options, zp_error *err)
{
  *out = NULL;
  if (!now || now->engines++)
    return zp_fail(err, ZP_E_REFUSED, -1, "%s",
                   now ? "a simulation has one engine: run another one"
                       : "no simulation runs: call within zeroproof.torch.simulated");
  now->threads = (zp_cuda_threads){now, start, join, lock, unlock, nap, wake};
  const zp_cuda_host host_of = {
      simdev_clock_ns, simdev_pause, &now->threads, {now, say, hear}, {0}};
  return zp_engine_create_on(out, options, &host_of, err);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

void *zp_simulated_alloc(size_t bytes)
{
  void *p = NULL;
  return cudaMalloc(&p, bytes ? bytes : 1) == cudaSuccess ? p : NULL;
}

int zp_simulated_free(void *p)
{
  return (int)cudaFree(p);
}

int zp_simulated_copy(void *to, const void *from, size_t bytes, int from_device)
{
  if (bytes == 0) return 0;
  return (int)cudaMemcpy(to, from, bytes,
                         from_device ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice);
}

int zp_simulated_wait(void)
{
  return (int)cudaStreamSynchronize(NULL);
}
