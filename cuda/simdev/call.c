/* The begin of every call. */
#include "state.h"

/* After a finding that ended the run, calls fail so that hosts return; a host that calls on and on
 * is stopped. */
enum { UNWOUND_CALLS_MAX = 100000 };

static cudaError_t unwind(simdev *s, sd_host *h)
{
  if (s->hosts.unwound_calls++ == 0) sd_streams_release_all(s);
  if (s->hosts.unwound_calls > UNWOUND_CALLS_MAX) sd_host_stop(s, h);
  sd_race_acquire(&s->sync.end);
  return cudaErrorUnknown;
}

/* Counts and names the call. 1: it returns the injected error *e. */
static int begin(simdev *s, sd_host *h, const char *name, const void *pc, cudaError_t *e)
{
  sd_fault_effect effect;
  h->call = ++s->rank[h->agent.rank].process.calls;
  h->call_name = name;
  h->call_pc = pc;
  sd_record_call(s, h);
  effect = s->opt.fault_count ? sd_fault_call(s, h, e) : SD_FAULT_NONE;
  if (effect == SD_FAULT_STOPS) sd_host_stop(s, h);
  return h->injected = effect == SD_FAULT_RETURNS;
}

cudaError_t sd_call_enter(sd_host **host, const char *name, const void *pc)
{
  simdev *s = sd_now;
  cudaError_t e = cudaSuccess;
  sd_host *h;
  *host = NULL;
  if (s && s->streams.in_callback) {
    sd_note(s, SIMDEV_E_MISUSE, 1, -1,
            "%s is called from a host function (cudaLaunchHostFunc): no CUDA or NCCL call is "
            "allowed there",
            name);
    return cudaErrorNotPermitted;
  }
  if (!s || !s->hosts.running) return cudaErrorInitializationError;
  *host = h = s->hosts.running;
  sd_race_unmute(&h->muted);
  if (s->found.verdict) return unwind(s, h);
  if (s->rank[h->agent.rank].process.dead) sd_host_stop(s, h);
  if (begin(s, h, name, pc, &e)) return sd_error(h, e);
  if (h->agent.slow || (s->choice.preempt_256 && (int)sd_below(s, 256) < s->choice.preempt_256)) {
    sd_host_yield(s, h);
    if (s->found.verdict) return cudaErrorUnknown;
  }
  e = s->rank[h->agent.rank].process.sticky;
  return e ? sd_error(h, e) : cudaSuccess;
}
