/* Pauses, flags and locks of hosts. */
#include "state.h"

struct sd_key {
  const void *key;
  int32_t signalled;
  int32_t locked; /* host id + 1 */
  uint64_t *sync;
  sd_key *next;
};

/* These calls do not use the device: they work after the context is lost. */
static int enter(sd_host **h, const char *name, const void *pc)
{
  const cudaError_t e = sd_call_enter(h, name, pc);
  return e && (!*h || sd_now->found.verdict || (*h)->injected);
}

static sd_key *find(simdev *s, const void *address)
{
  sd_key *k;
  for (k = s->keys; k; k = k->next)
    if (k->key == address) return k;
  k = sd_arena_alloc(&s->arena, sizeof *k);
  if (k) k->sync = sd_sync_new(&s->arena);
  if (!k || !k->sync) {
    sd_note(s, SIMDEV_E_NO_MEMORY, 1, -1, "simdev: out of memory for a signal or a lock");
    return NULL;
  }
  k->key = address;
  k->next = s->keys;
  s->keys = k;
  return k;
}

static void wait(simdev *s, sd_host *h, const sd_key *k)
{
  h->state = SD_HOST_AWAITING;
  h->key = k;
  sd_ready_remove(s, &h->agent);
  sd_host_yield(s, h);
  h->state = SD_HOST_RUNNABLE;
  h->key = NULL;
}

static void wake(simdev *s, const sd_key *k)
{
  for (int32_t i = 0; i < s->hosts.n; i++)
    if (s->hosts.list[i]->state == SD_HOST_AWAITING && s->hosts.list[i]->key == k)
      sd_host_wake(s, s->hosts.list[i]);
}

void simdev_signal(const void *key)
{
  simdev *s = sd_now;
  sd_host *h;
  sd_key *k;
  if (enter(&h, "simdev_signal", SD_PC) || !(k = find(s, key))) return;
  k->signalled = 1;
  sd_race_release(k->sync);
  wake(s, k);
}

int simdev_await(const void *key)
{
  simdev *s = sd_now;
  sd_host *h;
  sd_key *k;
  if (enter(&h, "simdev_await", SD_PC) || !(k = find(s, key))) return -1;
  while (!k->signalled && !s->found.verdict) wait(s, h, k);
  if (!k->signalled) return -1;
  sd_race_acquire(k->sync);
  return 0;
}

int simdev_lock(const void *key)
{
  simdev *s = sd_now;
  sd_host *h;
  sd_key *k;
  if (enter(&h, "simdev_lock", SD_PC) || !(k = find(s, key))) return -1;
  if (k->locked == h->id + 1)
    sd_note(s, SIMDEV_E_MISUSE, 1, h->agent.rank,
            "rank %d, call %d (simdev_lock): this host already holds the lock", h->agent.rank,
            h->call);
  while (k->locked && !s->found.verdict) wait(s, h, k);
  if (k->locked) return -1;
  k->locked = h->id + 1;
  sd_race_acquire(k->sync);
  return 0;
}

void simdev_unlock(const void *key)
{
  simdev *s = sd_now;
  sd_host *h;
  sd_key *k;
  if (enter(&h, "simdev_unlock", SD_PC) || !(k = find(s, key))) return;
  if (k->locked != h->id + 1) {
    sd_note(s, SIMDEV_E_MISUSE, 1, h->agent.rank,
            "rank %d, call %d (simdev_unlock): this host does not hold the lock", h->agent.rank,
            h->call);
    return;
  }
  k->locked = 0;
  sd_race_release(k->sync);
  wake(s, k);
}

void simdev_pause(void)
{
  sd_host *h;
  if (!enter(&h, "simdev_pause", SD_PC)) sd_host_park(h, NULL);
}
