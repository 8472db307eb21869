/* A simulation's life: open, run, reset, close. */
#include <stdlib.h>

#include "internal.h"

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

static int take_rank(simdev *s, sd_rank *r)
{
  const size_t n = (size_t)s->devices;
  *r = (sd_rank){0};
  r->issued = sd_take(s, n * sizeof *r->issued);
  r->serial = sd_take(s, n * sizeof *r->serial);
  r->comm_on = sd_take(s, n * sizeof *r->comm_on);
  r->last_launch = sd_take(s, n * sizeof(void *));
  r->legacy = sd_take(s, n * sizeof(void *));
  r->used = sd_take(s, n * sizeof *r->used);
  return r->issued && r->serial && r->comm_on && r->last_launch && r->legacy && r->used ? 0 : -1;
}

/* All that a run starts from; what runs have taken is forgotten. */
static simdev_status begin(simdev *s)
{
  sd_arena_reset(s);
  s->random = s->opt.seed * 0x2545f4914f6cdd1du + 0x632be59bd9b4e019u;
  s->ready = NULL;
  s->ready_n = s->agents = 0;
  s->ready_cap = 0;
  s->decisions = s->clock_items = 0;
  s->idle_rounds = s->in_callback = s->unwound_calls = 0;
  s->clock_ns = s->issue = s->order = 0;
  s->hash = 0x243f6a8885a308d3u;
  s->events = NULL;
  s->shared_limits = NULL;
  s->keys = NULL;
  s->raced = 0;
  s->records = NULL;
  s->edges = NULL;
  s->syncs = NULL;
  s->record_n = s->record_cap = s->edge_n = s->edge_cap = s->sync_n = s->sync_cap = 0;
  s->verdict = SIMDEV_OK;
  s->text[0] = 0;
  s->text_used = 0;
  s->report = (simdev_report){.text = s->text, .rank = -1};
  s->live_hosts = 0;
  sd_memory_reset(s);
  sd_order_reset(s);
  sd_nccl_reset(s);
  for (int32_t r = 0; r < s->ranks; r++)
    if (take_rank(s, &s->rank[r])) return SIMDEV_E_NO_MEMORY;
  s->fault_seen = sd_take(s, (size_t)(s->opt.fault_count + 1) * (size_t)s->ranks * sizeof(int64_t));
  return s->fault_seen ? SIMDEV_OK : SIMDEV_E_NO_MEMORY;
}

simdev *simdev_open(int32_t ranks, int32_t devices, const simdev_options *options, const char **why)
{
  simdev *s;
  const char *none;
  if (!why) why = &none;
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
  more = realloc(s->host, (size_t)(s->host_count + 1) * sizeof(sd_host *));
  if (!more) return SIMDEV_E_NO_MEMORY;
  s->host = more;
  h = calloc(1, sizeof *h);
  if (!h || sd_host_stack(s, h)) {
    free(h);
    return SIMDEV_E_NO_MEMORY;
  }
  h->agent.rank = rank;
  h->id = s->host_count;
  h->fn = fn;
  h->arg = arg;
  s->host[s->host_count++] = h;
  return SIMDEV_OK;
}

void simdev_clear_hosts(simdev *s)
{
  for (int32_t i = 0; i < s->host_count; i++) {
    sd_host_close(s, s->host[i]);
    free(s->host[i]);
  }
  s->host_count = 0;
}

/* Fibers are kept for other runs; not those of hosts that never ended, as they are within calls. */
static void join_fibers(simdev *s)
{
#ifdef SIMDEV_TSAN
  for (int32_t r = 0; r < s->ranks; r++)
    for (sd_stream *st = s->rank[r].all; st; st = st->next) {
      sd_fiber_enter(s, st);
      sd_race_release(&s->end_sync);
      sd_fiber_leave(s, st);
      sd_fiber_keep(st->fiber);
    }
  for (int32_t i = 0; i < s->host_count; i++) {
    sd_host *h = s->host[i];
    if (!h->fiber) continue;
    if (h->state != SD_ENDED) {
      sd_race_switch(h->fiber->race, 0);
      sd_race_release(&s->end_sync);
      sd_race_switch(s->main_race, 0);
      sd_fiber_drop(h->fiber);
    } else sd_fiber_keep(h->fiber);
    h->fiber = NULL;
  }
#endif
  sd_race_acquire(&s->end_sync);
}

static void judge_hosts(simdev *s)
{
  for (int32_t i = 0; i < s->host_count; i++) {
    const sd_host *h = s->host[i];
    if (h->state == SD_ENDED && h->result == 0 && sd_group_is_open(h))
      sd_note(s, SIMDEV_E_MISUSE, 0, h->agent.rank,
              "rank %d: its host function returned within a group: ncclGroupEnd is missing",
              h->agent.rank);
    if (h->state == SD_ENDED && h->result != 0)
      sd_note(s, SIMDEV_E_HOST, 0, h->agent.rank, "rank %d: its host function returned %d",
              h->agent.rank, h->result);
  }
}

simdev_status simdev_run(simdev *s)
{
  simdev *before = sd_now;
  if (s->ran || before || s->host_count == 0) return SIMDEV_E_INPUT;
  s->ran = 1;
  sd_now = s;
  s->main_race = sd_race_self();
  sd_race_release(&s->begin_sync);
  for (int32_t i = 0; i < s->host_count; i++)
    if (sd_host_begin(s, s->host[i])) {
      sd_note(s, SIMDEV_E_NO_MEMORY, 1, -1, "simdev: not enough memory to begin");
      break;
    }
  sd_protect_begin(s);
  if (!s->verdict) sd_schedule(s);
  sd_protect_end(s);
  judge_hosts(s);
  if (!s->verdict) sd_memory_check_guards(s);
  if (!s->verdict && !s->opt.allow_leaks) sd_report_leaks(s);
  for (int64_t i = 0; i < s->sync_n; i++)
    s->syncs[i].waited = s->syncs[i].item && ((const sd_item *)s->syncs[i].item)->waited;
  join_fibers(s);
  sd_now = NULL;
  s->report.order_hash = s->hash;
  s->report.decisions = s->decisions;
  s->report.clock_ns = s->clock_ns;
  return s->report.status;
}

simdev_status simdev_reset(simdev *s, const simdev_options *options)
{
  const uint32_t stack = s->opt.stack_bytes;
  if (s == sd_now) return SIMDEV_E_INPUT;
  s->opt = with_defaults(options);
  s->opt.stack_bytes = stack; /* the stacks are there */
  s->ran = 0;
  return begin(s);
}

const simdev_report *simdev_result(const simdev *s)
{
  return &s->report;
}

void simdev_close(simdev *s)
{
  if (!s) return;
  simdev_clear_hosts(s);
  free(s->host);
  free(s->rank);
  sd_memory_close(s);
  sd_arena_close(s);
  free(s);
}

/* ---- For host functions ---------------------------------------------------------------------- */

int32_t simdev_rank(void)
{
  return sd_now && sd_now->running ? sd_now->running->agent.rank : -1;
}

uint64_t simdev_clock_ns(void)
{
  return sd_now ? sd_now->clock_ns : 0;
}
