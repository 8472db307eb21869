/* The scheduler: chooses which host, stream or job runs next. */
#include "state.h"

static sd_agent *highest(simdev *s)
{
  sd_agent *best = s->sched.ready[0];
  for (int32_t i = 1; i < s->sched.ready_n; i++) {
    sd_agent *a = s->sched.ready[i];
    if (a->slow != best->slow ? best->slow : a->priority > best->priority) best = a;
  }
  for (int32_t i = 0; i < s->sched.pct_changes; i++)
    if (s->sched.pct_change[i] == s->sched.decisions) best->priority = --s->sched.pct_low;
  return best;
}

/* The item issued first, or the host that has waited longest. hosts_first: hosts before items. */
static sd_agent *oldest(simdev *s, int hosts_first)
{
  sd_agent *best = NULL;
  for (int32_t i = 0; i < s->sched.ready_n; i++) {
    sd_agent *a = s->sched.ready[i];
    int better = (a->kind == SD_HOST) == hosts_first;
    if (best && (a->kind == SD_HOST) == (best->kind == SD_HOST)) better = a->issue < best->issue;
    if (best && a->slow != best->slow) better = best->slow;
    if (!best || better) best = a;
  }
  return best;
}

static sd_agent *any(simdev *s)
{
  const int32_t at = (int32_t)sd_below(s, (uint32_t)s->sched.ready_n);
  int32_t i = at;
  while (s->sched.ready[i]->slow) { /* the next one that is not slow, if there is one */
    i = i + 1 == s->sched.ready_n ? 0 : i + 1;
    if (i == at) break;
  }
  return s->sched.ready[i];
}

/* The stream of the greatest priority, which is the lowest number, of a's device, if a is one. */
static sd_agent *of_priority(const simdev *s, sd_agent *a)
{
  const sd_stream *best;
  if (!s->choice.priorities || a->kind != SD_STREAM) return a;
  best = sd_stream_of_agent(a);
  for (int32_t i = 0; i < s->sched.ready_n; i++) {
    sd_agent *b = s->sched.ready[i];
    const sd_stream *st = sd_stream_of_agent(b);
    if (b->kind != SD_STREAM || b->slow || b->rank != a->rank || st->device != best->device ||
        st->priority >= best->priority)
      continue;
    best = st;
    a = b;
  }
  return a;
}

static sd_agent *pick(simdev *s)
{
  sd_agent *a;
  if (s->sched.ready_n == 1) return s->sched.ready[0];
  switch (s->opt.order) {
  case SIMDEV_PCT: return of_priority(s, highest(s));
  case SIMDEV_FIFO: return oldest(s, 0);
  case SIMDEV_LAZY: a = oldest(s, 1); return a->kind == SD_HOST ? a : of_priority(s, any(s));
  default: return of_priority(s, any(s));
  }
}

/* No agent is ready. 1: now one is: deferred jobs run, hosts that poll were woken, or a member got
 * the error that another one is gone. */
static int idle(simdev *s)
{
  int32_t polling = 0;
  uint64_t step;
  for (int32_t i = 0; i < s->hosts.n; i++) polling += s->hosts.list[i]->state == SD_HOST_POLLING;
  if (s->nccl && s->nccl->run_deferred(s)) return 1;
  if (s->nccl && s->nccl->report_lost_members(s)) {
    sd_hosts_wake_polling(s, -1);
    return 1;
  }
  if (!polling || s->sched.idle_rounds >= s->opt.idle_rounds_max) return 0;
  step = s->sched.idle_rounds < 40 ? UINT64_C(1000) << s->sched.idle_rounds : s->opt.idle_step_ns;
  s->sched.clock_ns += step < s->opt.idle_step_ns ? step : s->opt.idle_step_ns;
  s->sched.idle_rounds++;
  sd_hosts_wake_polling(s, -1);
  return 1;
}

/* All hosts have ended and all streams are empty, except those that a fault stopped. */
static int finished(const simdev *s)
{
  if (s->hosts.live > 0) return 0;
  for (int32_t r = 0; r < s->ranks; r++)
    for (const sd_stream *st = s->rank[r].streams.all; st && !s->rank[r].process.lost;
         st = st->next)
      if (st->head) return 0;
  return 1;
}

/* After a finding that ended the run: resumes hosts, whose calls fail, until they return. */
static void unwind(simdev *s)
{
  for (int32_t i = 0; i < s->hosts.n; i++) {
    sd_host *h = s->hosts.list[i];
    while (h->state != SD_HOST_ENDED && h->state != SD_HOST_STOPPED) sd_host_resume(s, h);
  }
}

void sd_schedule_run(simdev *s)
{
  while (!s->found.verdict) {
    sd_agent *a;
    if (s->sched.ready_n == 0) {
      if (idle(s)) continue;
      if (!finished(s)) sd_report_deadlock(s);
      break;
    }
    a = pick(s);
    s->sched.clock_ns += 1000;
    if (++s->sched.decisions > s->opt.decisions_max) {
      sd_note(s, SIMDEV_E_LIMIT, 1, -1,
              "no end after %lld decisions: a host never stops, or decisions_max is too small",
              (long long)s->opt.decisions_max);
      break;
    }
    switch (a->kind) {
    case SD_HOST: sd_host_resume(s, (sd_host *)a); break;
    case SD_STREAM: sd_stream_step(s, sd_stream_of_agent(a)); break;
    case SD_JOB: s->nccl->run_job(s, a); break;
    }
  }
  unwind(s);
}
