/* spec: LEDG-7 */
#include "watchdog.h"

#include "../../ref/base/invariant.h"
#include "comm/host_wait.h"
#include "device/clock.h"
#include "parts.h"
#include "teardown.h"

/* The deadline counts from when a communication ended last, or the first one was launched. */
static int check_progress(zp_cuda *e)
{
  zp_cuda_watchdog *w = &e->watchdog;
  zp_cuda_progress *p = &e->rank.progress;
  const uint64_t now = zp_cuda_now(&e->rank);
  const zp_cuda_mark *running = zp_cuda_progress_device(p);
  if (!running || w->ended != p->ended) {
    w->ended = p->ended;
    w->since_ns = now;
  }
  if (now - w->since_ns <= zp_cuda_time_limit(&e->rank)) return 0;
  ZP_TRY(zp_cuda_check_alarm(&e->rank, 1));
  return zp_cuda_fail(&e->rank, ZP_E_PEER,
                      "the watchdog found a communication that did not end before the deadline: a "
                      "rank is stuck, gone, or has failed");
}

/* Between two checks: an eighth of the deadline, a tenth of a second at most. */
static uint64_t period(const zp_cuda *e)
{
  const uint64_t eighth = zp_cuda_time_limit(&e->rank) / 8, tenth_second = 100000000u;
  return eighth < tenth_second ? eighth : tenth_second;
}

static int check(zp_cuda *e)
{
  ZP_TRY(zp_cuda_check_async_errors(&e->comms, "what is on the device"));
  return check_progress(e);
}

static void watch(void *arg)
{
  zp_cuda *e = arg;
  const zp_cuda_threads *t = &e->rank.lock.threads;
  uint64_t next = 0;
  zp_cuda_lock_take(&e->rank.lock);
  if (zp_cuda_check(&e->rank, cudaSetDevice(e->rank.opt.device), "cudaSetDevice"))
    e->watchdog.closing = 1;
  while (!e->watchdog.closing && !zp_cuda_has_failed(&e->rank)) {
    const uint64_t now = zp_cuda_now(&e->rank);
    if (now >= next) {
      if (check(e)) break;
      next = now + period(e);
    }
    if (t->sleep(t->ctx, next > now ? next - now : 1)) break;
  }
  zp_cuda_tear_down(e);
  zp_cuda_lock_release(&e->rank.lock);
}

int zp_cuda_watchdog_start(zp_cuda *e)
{
  const zp_cuda_threads *t = &e->rank.lock.threads;
  if (!e->rank.opt.threads && e->rank.opt.now_ns) return 0;
  e->watchdog.since_ns = zp_cuda_now(&e->rank);
  if (t->start(t->ctx, watch, e))
    return zp_cuda_fail(&e->rank, ZP_E_MEMORY, "the watchdog thread could not be started");
  e->watchdog.runs = 1;
  return 0;
}

void zp_cuda_watchdog_stop(zp_cuda *e)
{
  const zp_cuda_threads *t = &e->rank.lock.threads;
  if (!e->watchdog.runs) return;
  zp_cuda_lock_take(&e->rank.lock);
  e->watchdog.closing = 1;
  t->wake(t->ctx);
  zp_cuda_lock_release(&e->rank.lock);
  t->join(t->ctx);
  e->watchdog.runs = 0;
}

int zp_cuda_watchdog_invariant(const zp_cuda_watchdog *w, zp_error *err)
{
  ZP_INVARIANT(err, -1, w->runs == 0 || w->runs == 1);
  ZP_INVARIANT(err, -1, w->ended >= 0);
  return 0;
}
