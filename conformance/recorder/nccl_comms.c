/* Finds the rank to which a communicator belongs.
 *
 * A process that is one rank takes it from the environment. A process is several ranks if it has
 * several members of one communicator, as with one thread or one grouped call per GPU. Then a
 * rank is its index in the first communicator, and later communicators are assigned by their
 * device. Files are therefore opened at the first operation, or earlier if environment and
 * communicator agree. */
#include "nccl_comms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum state { EXPECTED, IN_GROUP, IN_PROGRESS, MADE, GONE } state;
enum { NOT_RECORDED = -1 };

typedef struct known {
  state state;
  ncclComm_t *handle; /* NCCL writes the communicator here later (IN_GROUP, IN_PROGRESS) */
  ncclComm_t comm;
  const void *thread; /* whose group creates it */
  int group;          /* number of that group once it closes */
  char key[ZPT_KEY];
  int size, comm_rank, parent, device;
  int id, splits; /* id 0: not written to a trace yet */
  zpt_trace *trace;
} comm_info;

static comm_info *comms;
static int n_comms, capacity, n_groups;
static int several_ranks; /* this process is several ranks */
static int own_rank = -1; /* otherwise its rank, from the first communicator with other members */
static int may_resolve;   /* an operation was entered, or the rank is certain without one */
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
  for (int i = n_comms - 1; comm != NULL && i >= 0; i--) /* newest first: NCCL may reuse a handle */
    if (comms[i].state == MADE && comms[i].comm == comm) return i;
  return -1;
}

/* The number of other members of k's communicator that are in this process. */
static int others(const comm_info *k)
{
  int n = 0;
  for (int i = 0; i < n_comms; i++)
    n += &comms[i] != k && comms[i].parent < 0 && comms[i].size > 0 &&
         comms[i].comm_rank != k->comm_rank && strcmp(comms[i].key, k->key) == 0;
  return n;
}

int zpt_create_begin(const zpt_creation *b)
{
  int number = -1;
  pthread_mutex_lock(&zpt_lock);
  if (n_comms == capacity) {
    comm_info *more = realloc(comms, (size_t)(2 * capacity + 64) * sizeof *comms);
    if (more == NULL) goto out;
    comms = more;
    capacity = 2 * capacity + 64;
  }
  comm_info *k = &comms[number = n_comms++];
  *k = (comm_info){
      .size = b->size, .comm_rank = b->comm_rank, .parent = b->parent, .device = ZPT_NOT_KNOWN};
  if (snprintf(k->key, sizeof k->key, "%s", b->key) >= (int)sizeof k->key)
    snprintf(k->key, sizeof k->key, "long %016llx",
             (unsigned long long)zpt_digest(b->key, strlen(b->key), ZPT_FIRST_DIGEST));
  if (k->parent < 0 && k->size > 0)
    several_ranks |= others(k) > 0 || (zpt_world(0) > 0 && k->size > zpt_world(0));
out:
  pthread_mutex_unlock(&zpt_lock);
  return number;
}

/* ---- Which rank ------------------------------------------------------------------------------ */

/* The rank on k's device, as known from an earlier communicator. */
static zpt_trace *on_device(const comm_info *k)
{
  zpt_trace *found = NULL;
  for (int i = 0; i < n_comms && k->device != ZPT_NOT_KNOWN; i++) {
    const comm_info *c = &comms[i];
    if (c == k || c->trace == NULL) continue;
    if (c->device == k->device && found == NULL) found = c->trace;
  }
  for (int i = 0; i < n_comms; i++) /* a device shared by several ranks identifies none */
    if (&comms[i] != k && comms[i].trace == found && strcmp(comms[i].key, k->key) == 0) return NULL;
  return found;
}

/* All ranks of a process record the same world size: the first that is known. zpt_open records 0
 * for a rank beyond it. */
static zpt_trace *open_rank(int64_t rank, int64_t world)
{
  static int64_t recorded = ZPT_NOT_KNOWN;
  if (recorded == ZPT_NOT_KNOWN) recorded = world;
  return zpt_open(rank, recorded);
}

static zpt_trace *rank_of(const comm_info *k)
{
  const int64_t processes = zpt_world(0); /* 0: unknown, so the world size is unknown as well */
  if (k->parent >= 0) return comms[k->parent].trace;
  if (several_ranks) {
    zpt_trace *t = on_device(k);
    if (t != NULL) return t;
    /* all members are in this process; every process has such a communicator */
    if (others(k) + 1 == k->size)
      return open_rank((int64_t)zpt_rank(0) * k->size + k->comm_rank, processes * k->size);
    return open_rank(k->comm_rank, processes > 0 && k->size > processes ? k->size : processes);
  }
  if (own_rank < 0 && k->size > 1) own_rank = zpt_rank(k->comm_rank);
  return open_rank(own_rank >= 0 ? own_rank : zpt_rank(k->comm_rank), processes);
}

/* Environment and communicator agree, so no other member can be in this process. */
static int is_certain(const comm_info *k)
{
  return !several_ranks && k->parent < 0 && k->size > 1 &&
         zpt_rank(ZPT_NOT_KNOWN) == k->comm_rank && zpt_world(ZPT_NOT_KNOWN) == k->size;
}

/* ---- Queries of NCCL ------------------------------------------------------------------------- */

static ncclResult_t query(const char *name, ncclComm_t comm, int *value)
{
  ncclResult_t (*f)(ncclComm_t, int *) = (ncclResult_t(*)(ncclComm_t, int *))zpt_find(name);
  return f != NULL ? f(comm, value) : ncclSystemError;
}

/* Queries what the creation did not specify, assigns the communicator to a rank and writes it.
 * The lock is not held during a query, because NCCL may call back into the program. */
static void resolve(int number, ncclComm_t comm, int size, int may_query)
{
  int comm_rank = 0, device = ZPT_NOT_KNOWN;
  const int queried = size == ZPT_NOT_KNOWN;
  if (queried && (!may_query || query("ncclCommCount", comm, &size) != ncclSuccess ||
                  query("ncclCommUserRank", comm, &comm_rank) != ncclSuccess))
    return;
  const ncclResult_t result =
      may_query && several_ranks ? query("ncclCommCuDevice", comm, &device) : ncclSuccess;
  if (result == ncclInProgress) return; /* the next operation tries again */
  pthread_mutex_lock(&zpt_lock);
  comm_info *k = &comms[number];
  if (k->id == 0) {
    if (queried) {
      k->size = size;
      k->comm_rank = comm_rank;
    }
    k->device = result == ncclSuccess ? device : ZPT_NOT_KNOWN;
    k->trace = rank_of(k);
    const int member = k->size > 0 ? k->comm_rank : 0;
    k->id = k->trace == NULL ? NOT_RECORDED : zpt_group(k->trace, k->key, k->size, member);
  }
  pthread_mutex_unlock(&zpt_lock);
}

/* Resolves all communicators that can be resolved by now. Those with one member come last,
 * because they do not identify a rank. */
static void resolve_all(int may_query)
{
  pthread_mutex_lock(&zpt_lock);
  for (int i = 0; i < n_comms && !may_resolve; i++)
    may_resolve = comms[i].state == MADE && comms[i].id == 0 && is_certain(&comms[i]);
  for (int alone = 0; alone < 2 && may_resolve; alone++)
    for (int i = 0; i < n_comms; i++) {
      if (comms[i].state != MADE || comms[i].id != 0 || (comms[i].size == 1) != alone) continue;
      ncclComm_t comm = comms[i].comm;
      const int size = comms[i].size;
      pthread_mutex_unlock(&zpt_lock);
      resolve(i, comm, size, may_query);
      pthread_mutex_lock(&zpt_lock);
    }
  pthread_mutex_unlock(&zpt_lock);
}

/* At exit NCCL is no longer queried. */
__attribute__((destructor)) static void write_remaining(void)
{
  if (zpt_is_fork()) return;
  may_resolve = 1;
  resolve_all(0);
}

zpt_trace *zpt_trace_of(ncclComm_t comm, int *id, int *size)
{
  static int reported;
  int i = zpt_comm(comm);
  if (i >= 0 && comms[i].id == 0) {
    may_resolve = 1;
    pthread_mutex_unlock(&zpt_lock);
    resolve_all(1);
    pthread_mutex_lock(&zpt_lock);
    i = zpt_comm(comm);
  }
  if (i < 0 && !reported) {
    reported = 1;
    fprintf(stderr,
            "zeroproof: an operation uses a communicator whose creation the recorder did not "
            "see. Operations of such communicators are not recorded.\n");
  }
  if (i < 0 || comms[i].id <= 0) return NULL;
  *id = comms[i].id;
  *size = comms[i].size;
  return comms[i].trace;
}

/* ---- Creation and destruction ---------------------------------------------------------------- */

/* Reads the handle as soon as NCCL guarantees that it is written: the program may move it later. */
static void read_handle(comm_info *k, ncclResult_t result)
{
  const int fine = result == ncclSuccess || result == ncclInProgress;
  k->comm = fine ? __atomic_load_n(k->handle, __ATOMIC_ACQUIRE) : NULL;
  if (k->comm != NULL) k->state = MADE;
  else k->state = result == ncclInProgress ? IN_PROGRESS : GONE;
  if (k->state != IN_PROGRESS) k->handle = NULL;
  if (k->state == GONE) k->key[0] = 0; /* must not count as a member in this process */
}

void zpt_create_end(int number, ncclComm_t *handle, ncclResult_t result)
{
  if (number < 0) return;
  pthread_mutex_lock(&zpt_lock);
  comm_info *k = &comms[number];
  k->handle = handle;
  if (zpt_in_call() && (result == ncclSuccess || result == ncclInProgress)) {
    k->state = IN_GROUP;
    k->thread = &this_thread;
  } else read_handle(k, result);
  pthread_mutex_unlock(&zpt_lock);
  resolve_all(1);
}

int zpt_group_closing(void)
{
  pthread_mutex_lock(&zpt_lock);
  const int group = ++n_groups;
  for (int i = n_comms - 1; i >= 0 && !zpt_in_call(); i--)
    if (comms[i].state == IN_GROUP && comms[i].group == 0 && comms[i].thread == &this_thread)
      comms[i].group = group;
  pthread_mutex_unlock(&zpt_lock);
  return group;
}

void zpt_group_closed(int group, ncclResult_t result)
{
  int some = 0;
  pthread_mutex_lock(&zpt_lock);
  for (int i = 0; i < n_comms; i++)
    if (comms[i].state == IN_GROUP && comms[i].group == group) {
      read_handle(&comms[i], result);
      some = 1;
    }
  pthread_mutex_unlock(&zpt_lock);
  if (some) resolve_all(1);
}

void zpt_polled(ncclComm_t comm, ncclResult_t state)
{
  pthread_mutex_lock(&zpt_lock);
  for (int i = 0; i < n_comms; i++) {
    comm_info *k = &comms[i];
    if (k->state != IN_PROGRESS) continue;
    const int of_it = k->parent >= 0 && comms[k->parent].comm == comm;
    read_handle(k, of_it ? state : ncclInProgress);
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

int zpt_count_split(int parent)
{
  return parent < 0 ? 0 : ++comms[parent].splits;
}

void zpt_destroy(ncclComm_t comm)
{
  pthread_mutex_lock(&zpt_lock);
  const int i = zpt_comm(comm);
  const int unwritten = i >= 0 && comms[i].id == 0;
  if (unwritten) may_resolve = 1; /* other members may have entered operations */
  pthread_mutex_unlock(&zpt_lock);
  if (unwritten) resolve_all(1);
  pthread_mutex_lock(&zpt_lock);
  if (i >= 0) comms[i].state = GONE;
  pthread_mutex_unlock(&zpt_lock);
}
