/* Whose a communicator is. The environment tells a process's rank, where it is one rank; several it
 * is when it takes several places in one communicator, as with a thread or a grouped call for each
 * of its GPUs. Then a rank is the place in the first communicator, and known by its device in what
 * is made with an id later. So files are opened not before the first operation, or where all agree. */
#include "nccl_comms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum state { EXPECTED, IN_GROUP, IN_PROGRESS, MADE, GONE } state;
enum { NOT_RECORDED = -1 };

typedef struct known {
  state state;
  ncclComm_t *handle; /* where NCCL writes it, while it is in a group or in progress */
  ncclComm_t comm;
  const void *thread; /* in whose group it is made; */
  int group;          /* when that ends: its number */
  char key[ZPT_KEY];
  int size, place, parent, device;
  int id, splits; /* id 0: nothing is written of it yet */
  zpt_trace *trace;
} known;

static known *comms;
static int n_comms, room, n_groups;
static int several;  /* this process is several ranks */
static int own = -1; /* else: its rank, from the first communicator that has other members */
static int entered;  /* an operation, or what tells the rank as surely */
static __thread char this_thread;

/* FNV-1a */
uint64_t zpt_digest(const void *bytes, size_t n, uint64_t h)
{
  const uint8_t *b = bytes;
  for (size_t i = 0; i < n; i++) h = (h ^ b[i]) * 1099511628211u;
  return h;
}

int zpt_comm(ncclComm_t comm)
{
  for (int i = n_comms - 1; comm != NULL && i >= 0; i--) /* the newest, should it be used again */
    if (comms[i].state == MADE && comms[i].comm == comm) return i;
  return -1;
}

/* Of this process's communicators with a key: how many, other than k. */
static int others(const known *k)
{
  int n = 0;
  for (int i = 0; i < n_comms; i++)
    n += &comms[i] != k && comms[i].parent < 0 && comms[i].size > 0 && comms[i].place != k->place &&
         strcmp(comms[i].key, k->key) == 0;
  return n;
}

int zpt_expect(const zpt_birth *b)
{
  int number = -1;
  pthread_mutex_lock(&zpt_lock);
  if (n_comms == room) {
    known *more = realloc(comms, (size_t)(2 * room + 64) * sizeof *comms);
    if (more == NULL) goto out;
    comms = more;
    room = 2 * room + 64;
  }
  known *k = &comms[number = n_comms++];
  *k = (known){.size = b->size, .place = b->place, .parent = b->parent, .device = ZPT_NOT_TOLD};
  if (snprintf(k->key, sizeof k->key, "%s", b->key) >= (int)sizeof k->key)
    snprintf(k->key, sizeof k->key, "long %016llx",
             (unsigned long long)zpt_digest(b->key, strlen(b->key), ZPT_FIRST_DIGEST));
  if (k->parent < 0 && k->size > 0)
    several |= others(k) > 0 || (zpt_world(0) > 0 && k->size > zpt_world(0));
out:
  pthread_mutex_unlock(&zpt_lock);
  return number;
}

/* ---- Which rank ------------------------------------------------------------------------------ */

/* The rank on k's device, which a communicator told that has more members, or was made before. */
static zpt_trace *on_device(const known *k)
{
  zpt_trace *found = NULL;
  for (int i = 0; i < n_comms && k->device != ZPT_NOT_TOLD; i++) {
    const known *c = &comms[i];
    if (c == k || c->trace == NULL) continue;
    if (c->device == k->device && found == NULL) found = c->trace;
  }
  for (int i = 0; i < n_comms; i++) /* one device for several ranks tells none */
    if (&comms[i] != k && comms[i].trace == found && strcmp(comms[i].key, k->key) == 0) return NULL;
  return found;
}

/* All ranks of a process say one world, the first that it knows; a rank beyond it says none. */
static zpt_trace *open_rank(int rank, int world)
{
  static int said = ZPT_NOT_TOLD;
  if (said == ZPT_NOT_TOLD) said = world;
  return zpt_open(rank, said);
}

static zpt_trace *rank_of(const known *k)
{
  const int processes = zpt_world(0); /* 0: not told, and then no world is */
  if (k->parent >= 0) return comms[k->parent].trace;
  if (several) {
    zpt_trace *t = on_device(k);
    if (t != NULL) return t;
    /* all its members are here: each process has such a one, and only the environment tells which */
    if (others(k) + 1 == k->size)
      return open_rank(zpt_rank(0) * k->size + k->place, processes * k->size);
    return open_rank(k->place, processes > 0 && k->size > processes ? k->size : processes);
  }
  if (own < 0 && k->size > 1) own = zpt_rank(k->place);
  return open_rank(own >= 0 ? own : zpt_rank(k->place), processes);
}

/* The environment and the communicator say the same: no other place can be of this process. */
static int is_sure(const known *k)
{
  return !several && k->parent < 0 && k->size > 1 && zpt_rank(ZPT_NOT_TOLD) == k->place &&
         zpt_world(ZPT_NOT_TOLD) == k->size;
}

/* ---- What NCCL tells of one ------------------------------------------------------------------ */

static ncclResult_t told(const char *name, ncclComm_t comm, int *value)
{
  ncclResult_t (*f)(ncclComm_t, int *) = (ncclResult_t(*)(ncclComm_t, int *))zpt_find(name);
  return f != NULL ? f(comm, value) : ncclSystemError;
}

/* Asks a communicator what its birth did not tell, and writes it. Without the lock while it asks:
 * the library may do other work then. */
static void settle(int number, ncclComm_t comm, int size, int ask)
{
  int place = 0, device = ZPT_NOT_TOLD;
  const int asked = size == ZPT_NOT_TOLD;
  if (asked && (!ask || told("ncclCommCount", comm, &size) != ncclSuccess ||
                told("ncclCommUserRank", comm, &place) != ncclSuccess))
    return;
  const ncclResult_t result =
      ask && several ? told("ncclCommCuDevice", comm, &device) : ncclSuccess;
  if (result == ncclInProgress) return; /* later */
  pthread_mutex_lock(&zpt_lock);
  known *k = &comms[number];
  if (k->id == 0) {
    if (asked) {
      k->size = size;
      k->place = place;
    }
    k->device = result == ncclSuccess ? device : ZPT_NOT_TOLD;
    k->trace = rank_of(k);
    const int member = k->size > 0 ? k->place : 0;
    k->id = k->trace == NULL ? NOT_RECORDED : zpt_group(k->trace, k->key, k->size, member);
  }
  pthread_mutex_unlock(&zpt_lock);
}

/* All that can be written by now; those of one member last, which tell no rank. */
static void settle_all(int ask)
{
  pthread_mutex_lock(&zpt_lock);
  for (int i = 0; i < n_comms && !entered; i++)
    entered = comms[i].state == MADE && comms[i].id == 0 && is_sure(&comms[i]);
  for (int alone = 0; alone < 2 && entered; alone++)
    for (int i = 0; i < n_comms; i++) {
      if (comms[i].state != MADE || comms[i].id != 0 || (comms[i].size == 1) != alone) continue;
      ncclComm_t comm = comms[i].comm;
      const int size = comms[i].size;
      pthread_mutex_unlock(&zpt_lock);
      settle(i, comm, size, ask);
      pthread_mutex_lock(&zpt_lock);
    }
  pthread_mutex_unlock(&zpt_lock);
}

/* At the program's end it is no more asked: only what was told is written. */
__attribute__((destructor)) static void through(void)
{
  entered = 1;
  settle_all(0);
}

zpt_trace *zpt_trace_of(ncclComm_t comm, int *id, int *size)
{
  static int said;
  int i = zpt_comm(comm);
  if (i >= 0 && comms[i].id == 0) {
    entered = 1;
    pthread_mutex_unlock(&zpt_lock);
    settle_all(1);
    pthread_mutex_lock(&zpt_lock);
    i = zpt_comm(comm);
  }
  if (i < 0 && !said) {
    said = 1;
    fprintf(stderr, "zeroproof: an operation of a communicator whose making the recorder did not "
                    "see: what such ones enter is not recorded.\n");
  }
  if (i < 0 || comms[i].id <= 0) return NULL;
  *id = comms[i].id;
  *size = comms[i].size;
  return comms[i].trace;
}

/* ---- Births and deaths ----------------------------------------------------------------------- */

/* The handle is read where NCCL has promised to have written it, and not later: it may be copied. */
static void take(known *k, ncclResult_t result)
{
  const int fine = result == ncclSuccess || result == ncclInProgress;
  k->comm = fine ? __atomic_load_n(k->handle, __ATOMIC_ACQUIRE) : NULL;
  if (k->comm != NULL) k->state = MADE;
  else k->state = result == ncclInProgress ? IN_PROGRESS : GONE;
  if (k->state != IN_PROGRESS) k->handle = NULL;
  if (k->state == GONE) k->key[0] = 0; /* it is not counted */
}

void zpt_born(int number, ncclComm_t *handle, ncclResult_t result)
{
  if (number < 0) return;
  pthread_mutex_lock(&zpt_lock);
  known *k = &comms[number];
  k->handle = handle;
  if (zpt_in_call() && (result == ncclSuccess || result == ncclInProgress)) {
    k->state = IN_GROUP;
    k->thread = &this_thread;
  } else take(k, result);
  pthread_mutex_unlock(&zpt_lock);
  settle_all(1);
}

int zpt_group_ends(void)
{
  pthread_mutex_lock(&zpt_lock);
  const int group = ++n_groups;
  for (int i = n_comms - 1; i >= 0 && !zpt_in_call(); i--)
    if (comms[i].state == IN_GROUP && comms[i].group == 0 && comms[i].thread == &this_thread)
      comms[i].group = group;
  pthread_mutex_unlock(&zpt_lock);
  return group;
}

void zpt_group_ended(int group, ncclResult_t result)
{
  int some = 0;
  pthread_mutex_lock(&zpt_lock);
  for (int i = 0; i < n_comms; i++)
    if (comms[i].state == IN_GROUP && comms[i].group == group) {
      take(&comms[i], result);
      some = 1;
    }
  pthread_mutex_unlock(&zpt_lock);
  if (some) settle_all(1);
}

void zpt_polled(ncclComm_t comm, ncclResult_t state)
{
  pthread_mutex_lock(&zpt_lock);
  for (int i = 0; i < n_comms; i++) {
    known *k = &comms[i];
    if (k->state != IN_PROGRESS) continue;
    const int of_it = k->parent >= 0 && comms[k->parent].comm == comm;
    take(k, of_it ? state : ncclInProgress);
  }
  pthread_mutex_unlock(&zpt_lock);
}

int zpt_child_key(int parent, const char *how, int number, char *key, size_t cap)
{
  if (parent < 0) return 0;
  int same = 0;
  const size_t n = (size_t)snprintf(key, cap, "%s/%s", comms[parent].key, how);
  for (int i = 0; i < n_comms; i++)
    same += comms[i].parent == parent && strncmp(comms[i].key, key, n) == 0;
  snprintf(key + n, cap - n, "#%d", number > 0 ? number : same);
  return 1;
}

int zpt_splits(int parent)
{
  return parent < 0 ? 0 : ++comms[parent].splits;
}

void zpt_dead(ncclComm_t comm)
{
  pthread_mutex_lock(&zpt_lock);
  const int i = zpt_comm(comm);
  const int unwritten = i >= 0 && comms[i].id == 0;
  if (unwritten) entered = 1; /* its other members may have entered something */
  pthread_mutex_unlock(&zpt_lock);
  if (unwritten) settle_all(1);
  pthread_mutex_lock(&zpt_lock);
  if (i >= 0) comms[i].state = GONE;
  pthread_mutex_unlock(&zpt_lock);
}
