/* Who goes on: hosts, streams, and the jobs that non-blocking NCCL calls leave behind. */
#include "internal.h"

enum { PCT_DEPTH = 3, PCT_CHANGES_MAX = 16 };

int sd_agent_make(simdev *s, sd_agent *a, sd_agent_kind kind, int32_t rank)
{
  if (sd_grow(s, (void **)&s->ready, s->agents, &s->ready_cap, sizeof *s->ready)) return -1;
  s->agents++;
  a->kind = kind;
  a->rank = rank;
  a->at = -1;
  a->slow = 0;
  a->waits_for = NULL;
  a->issue = 0;
  a->priority = (UINT64_C(1) << 33) + (sd_random(s) >> 32); /* above pct_low */
  return 0;
}

void sd_ready_add(simdev *s, sd_agent *a)
{
  if (a->at >= 0) return;
  a->at = s->ready_n;
  s->ready[s->ready_n++] = a; /* sd_agent_make has made room */
}

void sd_ready_remove(simdev *s, sd_agent *a)
{
  sd_agent *last;
  if (a->at < 0) return;
  last = s->ready[--s->ready_n];
  s->ready[a->at] = last;
  last->at = a->at;
  a->at = -1;
}

/* Decides, run by run, what the options leave to the seed. */
void sd_order_reset(simdev *s)
{
  static const int32_t often[4] = {0, 32, 128, 256};
  const simdev_options *o = &s->opt;
  const int depth = o->pct_depth ? o->pct_depth : PCT_DEPTH;
  /* From 128 to 16384: the seed alone must replay a run. */
  const int64_t steps = o->pct_steps ? o->pct_steps : (int64_t)128 << sd_below(s, 8);
  s->preempt_256 = often[sd_below(s, 4)];
  if (o->order == SIMDEV_PCT || o->order == SIMDEV_FIFO) s->preempt_256 = 256;
  if (o->order == SIMDEV_LAZY) s->preempt_256 = 0;
  s->one_comm = sd_below(s, 4) == 0;
  s->serialize = sd_below(s, 8) == 0;
  s->early = (int32_t)sd_below(s, 3); /* 0 never, 1 always, 2 each send for itself */
  s->remote = (int32_t)sd_below(s, 2);
  s->late = (int32_t)sd_below(s, 2);
#ifdef SIMDEV_TSAN
  s->late = 1; /* an event recorded too early is to be seen in every order */
#endif
  if (o->one_comm_kernel) s->one_comm = o->one_comm_kernel == SIMDEV_ALWAYS;
  if (o->serialize_streams) s->serialize = o->serialize_streams == SIMDEV_ALWAYS;
  if (o->early_sends) s->early = o->early_sends == SIMDEV_ALWAYS;
  if (o->late_launches) s->late = o->late_launches == SIMDEV_ALWAYS;
  /* of a hash of its own: what else a seed chooses does not depend on it */
  s->lazy = (o->seed * UINT64_C(0x9e3779b97f4a7c15)) >> 62 == 0;
  if (o->lazy_loading) s->lazy = o->lazy_loading == SIMDEV_ALWAYS;
  if (o->remote_errors) s->remote = o->remote_errors == SIMDEV_ALWAYS;
  s->pct_changes = depth - 1 < PCT_CHANGES_MAX ? depth - 1 : PCT_CHANGES_MAX;
  for (int32_t i = 0; i < s->pct_changes; i++)
    s->pct_change[i] = 1 + (int64_t)(sd_random(s) % (uint64_t)steps);
  s->pct_low = UINT64_C(1) << 32; /* initial priorities lie above */
}

static sd_agent *highest(simdev *s)
{
  sd_agent *best = s->ready[0];
  for (int32_t i = 1; i < s->ready_n; i++) {
    sd_agent *a = s->ready[i];
    if (a->slow != best->slow ? best->slow : a->priority > best->priority) best = a;
  }
  for (int32_t i = 0; i < s->pct_changes; i++)
    if (s->pct_change[i] == s->decisions) best->priority = --s->pct_low;
  return best;
}

/* The item issued first; of hosts the one that waits longest, where hosts_first or no item can. */
static sd_agent *oldest(simdev *s, int hosts_first)
{
  sd_agent *best = NULL;
  for (int32_t i = 0; i < s->ready_n; i++) {
    sd_agent *a = s->ready[i];
    int better = (a->kind == SD_HOST) == hosts_first;
    if (best && (a->kind == SD_HOST) == (best->kind == SD_HOST)) better = a->issue < best->issue;
    if (best && a->slow != best->slow) better = best->slow;
    if (!best || better) best = a;
  }
  return best;
}

static sd_agent *any(simdev *s)
{
  const int32_t at = (int32_t)sd_below(s, (uint32_t)s->ready_n);
  int32_t i = at;
  while (s->ready[i]->slow) { /* who comes behind it, unless all are slow */
    i = i + 1 == s->ready_n ? 0 : i + 1;
    if (i == at) break;
  }
  return s->ready[i];
}

static sd_agent *pick(simdev *s)
{
  sd_agent *a;
  if (s->ready_n == 1) return s->ready[0];
  switch (s->opt.order) {
  case SIMDEV_PCT: return highest(s);
  case SIMDEV_FIFO: return oldest(s, 0);
  case SIMDEV_LAZY: a = oldest(s, 1); return a->kind == SD_HOST ? a : any(s);
  default: return any(s);
  }
}

/* Nobody can go on. 1: hosts that poll were woken, or somebody was told that a member is gone. */
static int idle(simdev *s)
{
  int32_t polling = 0;
  uint64_t step;
  for (int32_t i = 0; i < s->host_count; i++) polling += s->host[i]->state == SD_PARKED;
  if (sd_jobs_idle(s)) return 1;
  if (sd_comm_idle(s)) {
    sd_wake_parked(s, -1);
    return 1;
  }
  if (!polling || s->idle_rounds >= s->opt.idle_rounds_max) return 0;
  step = s->idle_rounds < 40 ? UINT64_C(1000) << s->idle_rounds : s->opt.idle_step_ns;
  s->clock_ns += step < s->opt.idle_step_ns ? step : s->opt.idle_step_ns;
  s->idle_rounds++;
  sd_wake_parked(s, -1);
  return 1;
}

/* All hosts have ended and all streams are empty, but for those that a fault stopped. */
static int finished(const simdev *s)
{
  if (s->live_hosts > 0) return 0;
  for (int32_t r = 0; r < s->ranks; r++)
    for (const sd_stream *st = s->rank[r].all; st && !s->rank[r].lost; st = st->next)
      if (st->head) return 0;
  return 1;
}

/* The run has ended with a finding: hosts are resumed, and their calls fail, until they return. */
static void unwind(simdev *s)
{
  for (int32_t i = 0; i < s->host_count; i++) {
    sd_host *h = s->host[i];
    while (h->state != SD_ENDED && h->state != SD_STOPPED) sd_resume(s, h);
  }
}

void sd_schedule(simdev *s)
{
  while (!s->verdict) {
    sd_agent *a;
    if (s->ready_n == 0) {
      if (idle(s)) continue;
      if (!finished(s)) sd_report_deadlock(s);
      break;
    }
    a = pick(s);
    s->clock_ns += 1000;
    if (++s->decisions > s->opt.decisions_max) {
      sd_note(s, SIMDEV_E_LIMIT, 1, -1,
              "%lld decisions and no end: a host that never stops, or decisions_max is too small",
              (long long)s->opt.decisions_max);
      break;
    }
    switch (a->kind) {
    case SD_HOST: sd_resume(s, (sd_host *)a); break;
    case SD_STREAM: sd_stream_step(s, (sd_stream *)a); break;
    case SD_JOB: sd_job_step(s, a); break;
    }
  }
  unwind(s);
}
