/* Opening, running, resetting and closing a simulation. */
#include <stdlib.h>

#include "state.h"

static simdev_options with_defaults(const simdev_options *o)
{
  simdev_options d = {0};
  if (o) d = *o;
  if (!d.device_bytes) d.device_bytes = UINT64_C(1) << 30;
  if (!d.stack_bytes) d.stack_bytes = 256 << 10;
  if (!d.decisions_max) d.decisions_max = 100000000;
  if (!d.idle_rounds_max) d.idle_rounds_max = 4096;
  if (!d.idle_step_ns) d.idle_step_ns = 50000000;
  d.stack_bytes = (d.stack_bytes + 4095u) & ~4095u;
  return d;
}

static int open_rank(simdev *s, sd_rank *r)
{
  const size_t n = (size_t)s->devices, queues = n * (size_t)s->choice.queues;
  sd_rank_streams *st = &r->streams;
  *r = (sd_rank){0};
  st->issued = sd_arena_alloc(&s->arena, n * sizeof *st->issued);
  st->serial = sd_arena_alloc(&s->arena, n * sizeof *st->serial);
  st->legacy = sd_arena_alloc(&s->arena, n * sizeof *st->legacy);
  if (queues > 0) {
    st->queued = sd_arena_alloc(&s->arena, queues * sizeof *st->queued);
    st->begun = sd_arena_alloc(&s->arena, queues * sizeof *st->begun);
    if (!st->queued || !st->begun) return -1;
  }
  r->used = sd_arena_alloc(&s->arena, n * sizeof *r->used);
  return st->issued && st->serial && st->legacy && r->used ? 0 : -1;
}

/* Sets the state that a run starts from. */
static simdev_status begin(simdev *s)
{
  const size_t calls = (size_t)(s->opt.fault_count + 1) * (size_t)s->ranks;
  sd_arena_reset(&s->arena);
  s->random = s->opt.seed * 0x2545f4914f6cdd1du + 0x632be59bd9b4e019u;
  s->sched = (sd_scheduler){0};
  s->streams = (sd_streams){.hash = 0x243f6a8885a308d3u};
  s->kernels = (sd_kernels){0};
  s->record = (sd_recorder){0};
  s->events = NULL;
  s->keys = NULL;
  s->nccl = NULL;
  s->nccl_state = NULL;
  s->hosts.live = s->hosts.unwound_calls = 0;
  sd_findings_reset(s);
  sd_memory_reset(s);
  sd_choices_draw(s);
  for (int32_t r = 0; r < s->ranks; r++)
    if (open_rank(s, &s->rank[r])) return SIMDEV_E_NO_MEMORY;
  s->fault.seen = sd_arena_alloc(&s->arena, calls * sizeof *s->fault.seen);
  return s->fault.seen ? SIMDEV_OK : SIMDEV_E_NO_MEMORY;
}

simdev *simdev_open(int32_t ranks, int32_t devices, const simdev_options *options, const char **why)
{
  simdev *s;
  const char *unused;
  if (!why) why = &unused;
  *why = "simdev: not enough memory";
  if (ranks < 1 || devices < 1 || ranks > 100000 || devices > 1024) {
    *why = "simdev: ranks must lie in 1 … 100000 and devices in 1 … 1024";
    return NULL;
  }
  if (sd_race_mismatch()) {
    *why = "simdev: a program built with -fsanitize=thread needs libsimdev_tsan.a";
    return NULL;
  }
  s = calloc(1, sizeof *s);
  if (!s) return NULL;
  s->opt = with_defaults(options);
  s->ranks = ranks;
  s->devices = devices;
  s->rank = calloc((size_t)ranks, sizeof *s->rank);
  if (!s->rank || sd_memory_open(s) || begin(s)) {
    simdev_close(s);
    return NULL;
  }
  return s;
}

simdev_status simdev_host(simdev *s, int32_t rank, int (*fn)(void *arg, int rank), void *arg)
{
  sd_host **more, *h;
  if (rank < 0 || rank >= s->ranks || !fn || s == sd_now) return SIMDEV_E_INPUT;
  more = realloc(s->hosts.list, (size_t)(s->hosts.n + 1) * sizeof(sd_host *));
  if (!more) return SIMDEV_E_NO_MEMORY;
  s->hosts.list = more;
  h = calloc(1, sizeof *h);
  if (!h || sd_host_stack(s, h)) {
    free(h);
    return SIMDEV_E_NO_MEMORY;
  }
  h->agent.rank = rank;
  h->id = s->hosts.n;
  h->fn = fn;
  h->arg = arg;
  s->hosts.list[s->hosts.n++] = h;
  return SIMDEV_OK;
}

void simdev_clear_hosts(simdev *s)
{
  for (int32_t i = 0; i < s->hosts.n; i++) {
    sd_host_close(s, s->hosts.list[i]);
    free(s->hosts.list[i]);
  }
  s->hosts.n = 0;
}

/* Keeps fibers for other runs, except those of hosts that have not ended, which are inside
 * calls. */
static void join_fibers(simdev *s)
{
#ifdef SIMDEV_TSAN
  for (int32_t r = 0; r < s->ranks; r++)
    for (sd_stream *st = s->rank[r].streams.all; st; st = st->next) {
      sd_fiber_enter(s, st);
      sd_race_release(&s->sync.end);
      sd_fiber_leave(s, st);
      sd_fiber_recycle(st->fiber);
    }
  for (int32_t i = 0; i < s->hosts.n; i++) {
    sd_host *h = s->hosts.list[i];
    if (!h->fiber) continue;
    if (h->state != SD_HOST_ENDED) {
      sd_race_switch(h->fiber->race, 0);
      sd_race_release(&s->sync.end);
      sd_race_switch(s->hosts.main_race, 0);
      sd_fiber_destroy(h->fiber);
    } else sd_fiber_recycle(h->fiber);
    h->fiber = NULL;
  }
#endif
  sd_race_acquire(&s->sync.end);
}

static void check_hosts(simdev *s)
{
  for (int32_t i = 0; i < s->hosts.n; i++) {
    const sd_host *h = s->hosts.list[i];
    if (h->state == SD_HOST_ENDED && h->result == 0 && s->nccl && s->nccl->group_is_open(h))
      sd_note(s, SIMDEV_E_MISUSE, 0, h->agent.rank,
              "rank %d: its host function returned within a group: ncclGroupEnd is missing",
              h->agent.rank);
    if (h->state == SD_HOST_ENDED && h->result != 0)
      sd_note(s, SIMDEV_E_HOST, 0, h->agent.rank, "rank %d: its host function returned %d",
              h->agent.rank, h->result);
  }
}

static simdev_status report_counts(simdev *s)
{
  simdev_report *r = &s->found.report;
  for (int32_t k = 0; k < s->ranks; k++) r->calls += s->rank[k].process.calls;
  r->order_hash = s->streams.hash;
  r->items = s->streams.done;
  r->decisions = s->sched.decisions;
  r->clock_ns = s->sched.clock_ns;
  r->late_loads = s->kernels.late_loads;
  r->late_kernel = s->kernels.late_kernel;
  return r->status;
}

simdev_status simdev_run(simdev *s)
{
  simdev *before = sd_now;
  if (s->ran || before || s->hosts.n == 0) return SIMDEV_E_INPUT;
  s->ran = 1;
  sd_now = s;
  s->hosts.main_race = sd_race_self();
  sd_race_release(&s->sync.begin);
  for (int32_t i = 0; i < s->hosts.n; i++)
    if (sd_host_begin(s, s->hosts.list[i])) {
      sd_note(s, SIMDEV_E_NO_MEMORY, 1, -1, "simdev: not enough memory to begin");
      break;
    }
  sd_protect_begin(s);
  if (!s->found.verdict) sd_schedule_run(s);
  sd_protect_end(s);
  check_hosts(s);
  if (!s->found.verdict) sd_memory_check_guards(s);
  if (!s->found.verdict && !s->opt.allow_leaks) sd_report_leaks(s);
  sd_record_end(s);
  join_fibers(s);
  sd_now = NULL;
  return report_counts(s);
}

simdev_status simdev_reset(simdev *s, const simdev_options *options)
{
  const uint32_t stack = s->opt.stack_bytes;
  if (s == sd_now) return SIMDEV_E_INPUT;
  s->opt = with_defaults(options);
  s->opt.stack_bytes = stack; /* the stacks exist already */
  s->ran = 0;
  return begin(s);
}

const simdev_report *simdev_result(const simdev *s)
{
  return &s->found.report;
}

void simdev_close(simdev *s)
{
  if (!s) return;
  simdev_clear_hosts(s);
  free(s->hosts.list);
  free(s->rank);
  sd_memory_close(s);
  sd_arena_close(&s->arena);
  free(s);
}

/* ---- For host functions ---------------------------------------------------------------------- */

int32_t simdev_rank(void)
{
  return sd_now && sd_now->hosts.running ? sd_now->hosts.running->agent.rank : -1;
}

uint64_t simdev_clock_ns(void)
{
  return sd_now ? sd_now->sched.clock_ns : 0;
}
