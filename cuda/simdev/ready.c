/* The ready set, its agents, and the choices that a seed makes for a run. */
#include "state.h"

enum { PCT_DEPTH = 3 };

int sd_agent_make(simdev *s, sd_agent *a, sd_agent_kind kind, int32_t rank)
{
  if (sd_arena_grow(&s->arena, (void **)&s->sched.ready, s->sched.agents, &s->sched.ready_cap,
                    sizeof *s->sched.ready))
    return -1;
  s->sched.agents++;
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
  a->at = s->sched.ready_n;
  s->sched.ready[s->sched.ready_n++] = a; /* sd_agent_make has made room for it */
}

void sd_ready_remove(simdev *s, sd_agent *a)
{
  sd_agent *last;
  if (a->at < 0) return;
  last = s->sched.ready[--s->sched.ready_n];
  s->sched.ready[a->at] = last;
  last->at = a->at;
  a->at = -1;
}

/* One queue or a few in a quarter of the runs. */
static int32_t queues_of(const simdev_options *o)
{
  const uint64_t by_seed = (o->seed * UINT64_C(0x589965cc75374cc3)) >> 60;
  const int32_t most = SD_QUEUES_MAX;
  if (o->hardware_queues < 0) return 0;
  if (o->hardware_queues > 0) return o->hardware_queues < most ? o->hardware_queues : most;
  return by_seed >= 4 && by_seed < 8 ? 1 << (by_seed - 4) : 0;
}

void sd_choices_draw(simdev *s)
{
  static const int32_t often[4] = {0, 32, 128, 256};
  const simdev_options *o = &s->opt;
  const int depth = o->pct_depth ? o->pct_depth : PCT_DEPTH;
  /* From 128 to 16384 decisions, guessed from the seed, as the seed alone must replay a run. */
  const int64_t steps = o->pct_steps ? o->pct_steps : (int64_t)128 << sd_below(s, 8);
  s->choice.preempt_256 = often[sd_below(s, 4)];
  if (o->order == SIMDEV_PCT || o->order == SIMDEV_FIFO) s->choice.preempt_256 = 256;
  if (o->order == SIMDEV_LAZY) s->choice.preempt_256 = 0;
  s->choice.one_comm = sd_below(s, 4) == 0;
  s->choice.serialize = sd_below(s, 8) == 0;
  s->choice.early = (int32_t)sd_below(s, 3); /* 0 never, 1 always, 2 each send at random */
  s->choice.remote = (int32_t)sd_below(s, 2);
  s->choice.late = (int32_t)sd_below(s, 2);
#ifdef SIMDEV_TSAN
  s->choice.late = 1; /* so that an event that is recorded too early is found in every order */
#endif
  if (o->one_comm_kernel) s->choice.one_comm = o->one_comm_kernel == SIMDEV_ALWAYS;
  if (o->serialize_streams) s->choice.serialize = o->serialize_streams == SIMDEV_ALWAYS;
  if (o->early_sends) s->choice.early = o->early_sends == SIMDEV_ALWAYS;
  if (o->late_launches) s->choice.late = o->late_launches == SIMDEV_ALWAYS;
  /* from hashes of their own, so that the seed's other choices do not depend on them */
  s->choice.lazy = (o->seed * UINT64_C(0x9e3779b97f4a7c15)) >> 62 == 0;
  s->choice.connect = (o->seed * UINT64_C(0xd1b54a32d192ed03)) >> 62 == 1;
  s->choice.idle_memory = (o->seed * UINT64_C(0xa0761d6478bd642f)) >> 62 == 2;
  s->choice.registers = (o->seed * UINT64_C(0xe7037ed1a0b428db)) >> 63 == 0;
  s->choice.priorities = (o->seed * UINT64_C(0x8ebc6af09c88c6e3)) >> 62 == 1;
  s->choice.queues = queues_of(o);
  if (o->lazy_loading) s->choice.lazy = o->lazy_loading == SIMDEV_ALWAYS;
  if (o->lazy_connections) s->choice.connect = o->lazy_connections == SIMDEV_ALWAYS;
  if (o->idle_memory_calls) s->choice.idle_memory = o->idle_memory_calls == SIMDEV_ALWAYS;
  if (o->register_memory) s->choice.registers = o->register_memory == SIMDEV_ALWAYS;
  if (o->stream_priorities) s->choice.priorities = o->stream_priorities == SIMDEV_ALWAYS;
  if (o->remote_errors) s->choice.remote = o->remote_errors == SIMDEV_ALWAYS;
  s->sched.pct_changes = depth - 1 < SD_PCT_CHANGES_MAX ? depth - 1 : SD_PCT_CHANGES_MAX;
  for (int32_t i = 0; i < s->sched.pct_changes; i++)
    s->sched.pct_change[i] = 1 + (int64_t)(sd_random(s) % (uint64_t)steps);
  s->sched.pct_low = UINT64_C(1) << 32; /* initial priorities are higher */
}

void sd_waiters_add(sd_item *item, sd_agent *a)
{
  a->waits_for = item;
  a->next = item->waiters;
  item->waiters = a;
}

void sd_waiters_leave(sd_agent *a)
{
  sd_agent **p;
  if (!a->waits_for) return;
  for (p = &a->waits_for->waiters; *p != a; p = &(*p)->next) {
  }
  *p = a->next;
  a->waits_for = NULL;
}

void sd_agent_lower(simdev *s, sd_agent *a)
{
  a->priority = --s->sched.pct_low;
}

void sd_progress(simdev *s)
{
  s->sched.idle_rounds = 0;
}

uint64_t sd_next_turn(simdev *s)
{
  return ++s->sched.turns;
}
