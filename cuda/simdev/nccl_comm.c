/* Communicators: made, split, finalized, destroyed, aborted, asked. */
#include <stdlib.h>

#include "nccl_internal.h"

/* ---- Calls ----------------------------------------------------------------------------------- */

static int is_set(const char *variable)
{
  const char *v = getenv(variable);
  return v && v[0] == '1' && !v[1];
}

/* NCCL reads its variables once: at the process's first call, here; what is set later is too late. */
static void read_variables(simdev *s, sd_rank *r)
{
  const int version = s->opt.nccl_version;
  if (r->nccl_used) return;
  r->nccl_used = 1;
  r->implicit =
      (!version || version >= NCCL_VERSION(2, 26, 0)) && is_set("NCCL_LAUNCH_ORDER_IMPLICIT");
}

ncclResult_t sd_nccl_enter(sd_host **h, const char *name, const void *pc)
{
  const cudaError_t e = sd_enter(h, name, pc);
  if (*h) read_variables(sd_now, &sd_now->rank[(*h)->agent.rank]);
  if (e == cudaSuccess) return ncclSuccess;
  if (*h && (*h)->planted) {
    (*h)->last_error = cudaSuccess; /* it was NCCL's */
    return (ncclResult_t)e;
  }
  if (e == cudaErrorNotPermitted || e == cudaErrorInitializationError) return ncclInvalidUsage;
  return sd_now && sd_now->verdict ? ncclSystemError : ncclUnhandledCudaError;
}

const char *sd_comm_name(const sd_comm *comm, char *text, size_t cap)
{
  if (comm->name[0]) sd_print(text, cap, "'%s'", comm->name);
  else if (!comm->clique) sd_print(text, cap, "(still being split off)");
  else sd_print(text, cap, "%d", comm->clique->id);
  return text;
}

/* ready: the call needs what was begun before to have ended. */
ncclResult_t sd_comm_check(sd_host *h, const sd_comm *comm, int ready)
{
  simdev *s = sd_now;
  char name[48];
  if (!comm || !sd_is_taken(s, comm, sizeof *comm) || comm->mark != SD_MARK_COMM) {
    const int gone = comm && sd_is_taken(s, comm, sizeof *comm) && comm->mark == SD_MARK_GONE;
    sd_note(s, SIMDEV_E_MISUSE, 0, h->agent.rank, "%s: %s", sd_here(h),
            gone ? "the communicator is destroyed or aborted" : "the handle is no communicator's");
    return ncclInvalidArgument;
  }
  if (comm->rank != h->agent.rank) {
    sd_comm_name(comm, name, sizeof name);
    sd_note(s, SIMDEV_E_MISUSE, 0, h->agent.rank, "%s: communicator %s is rank %d's handle",
            sd_here(h), name, comm->rank);
    return ncclInvalidArgument;
  }
  if (!ready) return ncclSuccess;
  if (comm->state == ncclInProgress) {
    sd_comm_name(comm, name, sizeof name);
    sd_note(s, SIMDEV_E_MISUSE, 0, h->agent.rank,
            "%s: communicator %s is still in progress: poll ncclCommGetAsyncError until it says "
            "ncclSuccess",
            sd_here(h), name);
    return ncclInvalidArgument;
  }
  if (comm->finalized) {
    sd_comm_name(comm, name, sizeof name);
    sd_note(s, SIMDEV_E_MISUSE, 0, h->agent.rank, "%s: communicator %s is finalized", sd_here(h),
            name);
    return ncclInvalidUsage;
  }
  return comm->state; /* an error stays */
}

/* ---- Making ---------------------------------------------------------------------------------- */

ncclResult_t ncclGetVersion(int *version)
{
  if (!version) return ncclInvalidArgument;
  *version = sd_now && sd_now->opt.nccl_version ? sd_now->opt.nccl_version : NCCL_VERSION_CODE;
  return ncclSuccess;
}

/* May be called outside of a run: ids are numbers, and the next run knows none of them yet. */
ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
  static _Thread_local uint64_t next;
  if (!id) return ncclInvalidArgument;
  if (sd_now && sd_now->running) {
    sd_host *h;
    const ncclResult_t e = sd_nccl_enter(&h, "ncclGetUniqueId", SD_PC);
    if (e) return e;
  }
  next++;
  for (size_t i = 0; i < NCCL_UNIQUE_ID_BYTES; i++) id->internal[i] = 0;
  for (size_t i = 0; i < 8; i++) id->internal[i] = "simdev:"[i];
  for (size_t i = 0; i < 8; i++) id->internal[8 + i] = (char)(next >> (8 * i));
  return ncclSuccess;
}

static sd_clique *make_clique(simdev *s, int32_t n)
{
  sd_clique *c = sd_take(s, sizeof *c);
  if (!c) return NULL;
  c->id = s->clique_count++;
  c->n = n;
  c->member = sd_take(s, (size_t)n * sizeof(sd_comm *));
  c->job = sd_take(s, (size_t)n * sizeof(sd_job *));
  c->next = s->cliques;
  s->cliques = c;
  return c->member && c->job ? c : NULL;
}

static sd_clique *clique_of(simdev *s, const ncclUniqueId *id, int32_t n)
{
  sd_clique *c;
  for (c = s->cliques; c; c = c->next) {
    int same = 1;
    for (int i = 0; i < NCCL_UNIQUE_ID_BYTES && same; i++) same = c->key[i] == id->internal[i];
    if (same) return c;
  }
  c = make_clique(s, n);
  for (int i = 0; c && i < NCCL_UNIQUE_ID_BYTES; i++) c->key[i] = id->internal[i];
  return c;
}

static sd_comm *make_comm(sd_host *h, const ncclConfig_t *config, const sd_comm *parent)
{
  simdev *s = sd_now;
  sd_comm *comm = sd_take(s, sizeof *comm);
  const char *name = config ? config->commName : NULL;
  if (!comm) return NULL;
  comm->mark = SD_MARK_COMM;
  comm->rank = h->agent.rank;
  comm->device = parent ? parent->device : h->device;
  comm->call = h->call;
  comm->blocking = parent ? parent->blocking : 1;
  if (config && config->blocking != NCCL_CONFIG_UNDEF_INT) comm->blocking = config->blocking;
  comm->implicit = s->rank[comm->rank].implicit;
  comm->state = ncclInProgress;
  for (size_t i = 0; name && i + 1 < sizeof comm->name && (comm->name[i] = name[i]); i++) {
  }
  comm->next = s->comms;
  s->comms = comm;
  return comm;
}

/* Two members on one device: NCCL refuses, unless it was told to allow it. */
static int duplicate_device(simdev *s, const sd_clique *c)
{
  if (is_set("NCCL_MULTI_RANK_GPU_ENABLE")) return 0;
  for (int32_t i = 0; i < c->n; i++)
    for (int32_t j = 0; j < i; j++)
      if (c->member[i]->device == c->member[j]->device) {
        sd_note(s, SIMDEV_E_MISUSE, 1, c->member[i]->rank,
                "rank %d, call %d and rank %d, call %d: duplicate GPU: both members of a "
                "communicator use device %d: cudaSetDevice before ncclCommInitRank, or "
                "NCCL_MULTI_RANK_GPU_ENABLE=1",
                c->member[j]->rank, c->member[j]->call, c->member[i]->rank, c->member[i]->call,
                c->member[i]->device);
        return -1;
      }
  return 0;
}

static int join(simdev *s, sd_clique *c, sd_comm *comm, int32_t index, sd_job *job)
{
  comm->clique = c;
  comm->index = index;
  c->member[index] = comm;
  c->job[index] = job;
  if (++c->joined < c->n) return 0;
  if (duplicate_device(s, c)) return -1;
  for (int32_t i = 0; i < c->n; i++) sd_job_ready(s, c->job[i]);
  return 0;
}

static ncclResult_t init(const char *name, const void *pc, ncclComm_t *comm, int n,
                         const ncclUniqueId *id, int index, const ncclConfig_t *config)
{
  simdev *s = sd_now;
  sd_host *h;
  sd_clique *c;
  sd_job *job;
  const ncclResult_t e = sd_nccl_enter(&h, name, pc);
  if (e) return e;
  if (!comm || n < 1 || index < 0 || index >= n ||
      (config && config->magic != NCCL_API_MAGIC)) /* NCCL_CONFIG_INITIALIZER sets it */
    return ncclInvalidArgument;
  c = clique_of(s, id, n);
  if (!c) return ncclSystemError;
  if (c->n != n || c->member[index]) {
    sd_note(s, SIMDEV_E_MISMATCH, 1, h->agent.rank,
            c->n != n ? "rank %d, call %d: ncclCommInitRank for %d members; others said %d"
                      : "rank %d, call %d: ncclCommInitRank as member %d (of %d), as which "
                        "somebody has joined already",
            h->agent.rank, h->call, c->n != n ? n : index, c->n);
    return ncclInvalidArgument;
  }
  *comm = make_comm(h, config, NULL);
  job = *comm ? sd_job_make(h, SD_JOB_INIT, *comm) : NULL;
  if (!job || join(s, c, *comm, index, job)) return ncclSystemError;
  return sd_job_after(h, job, (*comm)->blocking);
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int n, ncclUniqueId id, int index,
                                    ncclConfig_t *config)
{
  return init("ncclCommInitRankConfig", SD_PC, comm, n, &id, index, config);
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int n, ncclUniqueId id, int index)
{
  return init("ncclCommInitRank", SD_PC, comm, n, &id, index, NULL);
}

/* ---- Splitting ------------------------------------------------------------------------------- */

static sd_split *split_at(simdev *s, sd_clique *c, int64_t k)
{
  while (c->split_n <= k) {
    sd_split *sp = sd_take(s, sizeof *sp);
    if (!sp || sd_grow(s, (void **)&c->split, c->split_n, &c->split_cap, sizeof(sd_split *)))
      return NULL;
    sp->color = sd_take(s, (size_t)c->n * sizeof *sp->color);
    sp->key = sd_take(s, (size_t)c->n * sizeof *sp->key);
    sp->comm = sd_take(s, (size_t)c->n * sizeof(sd_comm *));
    sp->job = sd_take(s, (size_t)c->n * sizeof(sd_job *));
    if (!sp->color || !sp->key || !sp->comm || !sp->job) return NULL;
    c->split[c->split_n++] = sp;
  }
  return c->split[k];
}

/* Member i's place among those of its colour: by key, then by the parent's order. */
static int32_t place(const sd_clique *c, const sd_split *sp, int32_t i, int32_t *of)
{
  int32_t at = 0, n = 0;
  for (int32_t j = 0; j < c->n; j++) {
    if (sp->color[j] != sp->color[i]) continue;
    n++;
    at += sp->key[j] < sp->key[i] || (sp->key[j] == sp->key[i] && j < i);
  }
  *of = n;
  return at;
}

static int carry_out_split(simdev *s, const sd_clique *c, const sd_split *sp)
{
  for (int32_t i = 0; i < c->n; i++) {
    sd_clique *made = NULL;
    int32_t at, n = 0;
    if (sp->color[i] == NCCL_SPLIT_NOCOLOR) {
      sd_job_ready(s, sp->job[i]);
      continue;
    }
    at = place(c, sp, i, &n);
    for (int32_t j = 0; j < i && !made; j++)
      if (sp->color[j] == sp->color[i]) made = sp->comm[j]->clique;
    if (!made) made = make_clique(s, n);
    if (!made || join(s, made, sp->comm[i], at, sp->job[i])) return -1;
  }
  return 0;
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *newcomm,
                           ncclConfig_t *config)
{
  simdev *s = sd_now;
  sd_host *h;
  sd_split *sp;
  sd_job *job;
  ncclResult_t e = sd_nccl_enter(&h, "ncclCommSplit", SD_PC);
  if (!e) e = sd_comm_check(h, comm, 1);
  if (e) return e;
  if (!newcomm || color < NCCL_SPLIT_NOCOLOR) return ncclInvalidArgument;
  if (comm->outstanding > 0) {
    sd_note(s, SIMDEV_E_MISUSE, 0, h->agent.rank,
            "rank %d, call %d (ncclCommSplit): %d operations of the parent are outstanding on the "
            "device, which may deadlock: synchronize with them first",
            h->agent.rank, h->call, comm->outstanding);
    return ncclInvalidUsage;
  }
  sp = split_at(s, comm->clique, comm->splits++);
  *newcomm = color == NCCL_SPLIT_NOCOLOR ? NULL : make_comm(h, config, comm);
  job = sd_job_make(h, SD_JOB_INIT, *newcomm ? *newcomm : comm);
  if (!sp || !job || (color != NCCL_SPLIT_NOCOLOR && !*newcomm)) return ncclSystemError;
  job->parent = comm;
  if (!comm->blocking) comm->state = ncclInProgress;
  sp->color[comm->index] = color;
  sp->key[comm->index] = key;
  sp->comm[comm->index] = *newcomm;
  sp->job[comm->index] = job;
  if (++sp->joined == comm->clique->n && carry_out_split(s, comm->clique, sp))
    return ncclSystemError;
  return sd_job_after(h, job, comm->blocking);
}

/* ---- Ending ---------------------------------------------------------------------------------- */

/* Who has finalized goes on when all members have and nothing runs any more. A process with several
 * members may end them one by one. */
void sd_finalize_check(simdev *s, sd_clique *c)
{
  for (int32_t i = 0; i < c->n; i++) {
    int waits = !c->member[i] || !c->member[i]->finalized || c->member[i]->outstanding > 0;
    for (int32_t j = 0; j < c->n && !waits; j++)
      waits = c->member[j]->rank != c->member[i]->rank &&
              (!c->member[j]->finalized || c->member[j]->outstanding > 0);
    if (!waits) sd_job_ready(s, c->job[i]);
  }
}

static sd_job *finalize(sd_host *h, sd_comm *comm)
{
  sd_job *job = sd_job_make(h, SD_JOB_FINALIZE, comm);
  if (!job) return NULL;
  comm->finalized = 1;
  comm->state = ncclInProgress;
  comm->clique->job[comm->index] = job;
  comm->clique->finalized++;
  sd_finalize_check(sd_now, comm->clique);
  return job;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
  sd_host *h;
  sd_job *job;
  ncclResult_t e = sd_nccl_enter(&h, "ncclCommFinalize", SD_PC);
  if (!e) e = sd_comm_check(h, comm, 1);
  if (e) return e;
  job = finalize(h, comm);
  return job ? sd_job_after(h, job, comm->blocking) : ncclSystemError;
}

/* Without ncclCommFinalize before it, it finalizes, and waits for the other members. */
ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
  simdev *s = sd_now;
  sd_host *h;
  ncclResult_t e;
  if (!comm) return ncclSuccess;
  e = sd_nccl_enter(&h, "ncclCommDestroy", SD_PC);
  if (e) return s && s->verdict ? ncclSuccess : e;
  e = sd_comm_check(h, comm, 0);
  if (e) return e;
  if (comm->state == ncclInProgress) return sd_comm_check(h, comm, 1);
  if (!comm->finalized && comm->state == ncclSuccess) {
    sd_job *job = finalize(h, comm);
    if (!job || sd_job_wait(h, job)) return ncclSystemError;
  }
  comm->mark = SD_MARK_GONE;
  return ncclSuccess;
}

/* Local: what this member runs on the device ends without a result, and the others are not told. */
ncclResult_t ncclCommAbort(ncclComm_t comm)
{
  simdev *s = sd_now;
  sd_host *h;
  ncclResult_t e;
  if (!comm) return ncclSuccess;
  e = sd_nccl_enter(&h, "ncclCommAbort", SD_PC);
  if (e && s && s->verdict) return ncclSuccess;
  if (e && (!h || h->planted || !s->rank[h->agent.rank].lost)) return e; /* else just as needed */
  e = sd_comm_check(h, comm, 0);
  if (e) return e;
  comm->aborted = 1;
  comm->mark = SD_MARK_GONE;
  sd_launch_poke(s, comm->rank);
  return ncclSuccess;
}

/* ---- Asking ---------------------------------------------------------------------------------- */

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error)
{
  sd_host *h;
  ncclResult_t e = sd_nccl_enter(&h, "ncclCommGetAsyncError", SD_PC);
  if (e && error && sd_now && sd_now->verdict) *error = ncclSystemError;
  if (!e) e = sd_comm_check(h, comm, 0);
  if (e) return e;
  if (!error) return ncclInvalidArgument;
  *error = comm->state;
  if (comm->state != ncclInProgress) return ncclSuccess;
  sd_job_hurry(sd_now, comm);
  sd_park(h, NULL);
  return ncclSuccess;
}

static ncclResult_t ask(const char *name, const void *pc, ncclComm_t comm, int *value, int what)
{
  sd_host *h;
  ncclResult_t e = sd_nccl_enter(&h, name, pc);
  if (!e) e = sd_comm_check(h, comm, 0);
  if (!e && comm->state == ncclInProgress) e = sd_comm_check(h, comm, 1);
  if (e) return e;
  if (!value) return ncclInvalidArgument;
  *value = what == 0 ? comm->clique->n : what == 1 ? comm->index : comm->device;
  return ncclSuccess;
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int *count)
{
  return ask("ncclCommCount", SD_PC, comm, count, 0);
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank)
{
  return ask("ncclCommUserRank", SD_PC, comm, rank, 1);
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int *device)
{
  return ask("ncclCommCuDevice", SD_PC, comm, device, 2);
}

const char *ncclGetErrorString(ncclResult_t result)
{
  static const char *const text[ncclNumResults] = {
      "no error",
      "unhandled cuda error",
      "unhandled system error",
      "internal error",
      "invalid argument",
      "invalid usage",
      "remote process exited or there was a network error",
      "NCCL operation in progress",
      "timeout"};
  return (unsigned)result < ncclNumResults ? text[result] : "unknown result code";
}

/* What simdev has found so far. */
const char *ncclGetLastError(ncclComm_t comm)
{
  (void)comm;
  return sd_now ? sd_now->text : "";
}
