/* Making, ending and querying communicators. */
#include "nccl_parts.h"

/* ---- Making ---------------------------------------------------------------------------------- */

ncclResult_t ncclGetVersion(int *version)
{
  if (!version) return ncclInvalidArgument;
  *version = sd_now && sd_now->opt.nccl_version ? sd_now->opt.nccl_version : NCCL_VERSION_CODE;
  return ncclSuccess;
}

/* May be called outside of a run: ids are numbers, and a run begins without communicators. */
ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
  static _Thread_local uint64_t next;
  if (!id) return ncclInvalidArgument;
  if (sd_now && sd_now->hosts.running) {
    sd_host *h;
    const ncclResult_t e = sd_nccl_call_enter(&h, "ncclGetUniqueId", SD_PC);
    if (e) return e;
  }
  next++;
  for (size_t i = 0; i < NCCL_UNIQUE_ID_BYTES; i++) id->internal[i] = 0;
  for (size_t i = 0; i < 8; i++) id->internal[i] = "simdev:"[i];
  for (size_t i = 0; i < 8; i++) id->internal[8 + i] = (char)(next >> (8 * i));
  return ncclSuccess;
}

sd_clique *sd_clique_make(simdev *s, int32_t n)
{
  sd_clique *c = sd_arena_alloc(&s->arena, sizeof *c);
  if (!c) return NULL;
  c->id = s->nccl_state->clique_count++;
  c->n = n;
  c->member = sd_arena_alloc(&s->arena, (size_t)n * sizeof(sd_comm *));
  c->job = sd_arena_alloc(&s->arena, (size_t)n * sizeof(sd_job *));
  c->next = s->nccl_state->cliques;
  s->nccl_state->cliques = c;
  return c->member && c->job ? c : NULL;
}

static sd_clique *clique_of(simdev *s, const ncclUniqueId *id, int32_t n)
{
  sd_clique *c;
  for (c = s->nccl_state->cliques; c; c = c->next) {
    int same = 1;
    for (int i = 0; i < NCCL_UNIQUE_ID_BYTES && same; i++) same = c->key[i] == id->internal[i];
    if (same) return c;
  }
  c = sd_clique_make(s, n);
  for (int i = 0; c && i < NCCL_UNIQUE_ID_BYTES; i++) c->key[i] = id->internal[i];
  return c;
}

sd_comm *sd_comm_make(sd_host *h, const ncclConfig_t *config, const sd_comm *parent)
{
  simdev *s = sd_now;
  sd_comm *comm = sd_arena_alloc(&s->arena, sizeof *comm);
  const char *name = config ? config->commName : NULL;
  if (!comm) return NULL;
  s->rank[h->agent.rank].created++;
  comm->mark = SD_MARK_COMM;
  comm->rank = h->agent.rank;
  comm->device = parent ? parent->device : h->device;
  comm->call = h->call;
  comm->blocking = parent ? parent->blocking : 1;
  if (config && config->blocking != NCCL_CONFIG_UNDEF_INT) comm->blocking = config->blocking;
  comm->implicit = s->nccl_state->rank[comm->rank].implicit;
  comm->state = ncclInProgress;
  for (size_t i = 0; name && i + 1 < sizeof comm->name && (comm->name[i] = name[i]); i++) {
  }
  comm->next = s->nccl_state->comms;
  s->nccl_state->comms = comm;
  return comm;
}

/* Two members on one device are an error in NCCL, unless NCCL_MULTI_RANK_GPU_ENABLE is set. */
static int duplicate_device(simdev *s, const sd_clique *c)
{
  if (sd_is_set("NCCL_MULTI_RANK_GPU_ENABLE")) return 0;
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

int sd_clique_join(simdev *s, sd_clique *c, sd_comm *comm, int32_t index, sd_job *job)
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
  const ncclResult_t e = sd_nccl_call_enter(&h, name, pc);
  if (e) return e;
  if (!comm || n < 1 || index < 0 || index >= n ||
      (config && config->magic != NCCL_API_MAGIC)) /* NCCL_CONFIG_INITIALIZER sets it */
    return ncclInvalidArgument;
  c = clique_of(s, id, n);
  if (!c) return ncclSystemError;
  if (c->n != n || c->member[index]) {
    sd_note(
        s, SIMDEV_E_MISMATCH, 1, h->agent.rank,
        c->n != n
            ? "rank %d, call %d: ncclCommInitRank for %d members; other members called it for %d"
            : "rank %d, call %d: ncclCommInitRank as member %d (of %d), as which "
              "another rank has already joined",
        h->agent.rank, h->call, c->n != n ? n : index, c->n);
    return ncclInvalidArgument;
  }
  *comm = sd_comm_make(h, config, NULL);
  job = *comm ? sd_job_make(h, SD_JOB_INIT, *comm) : NULL;
  if (!job || sd_clique_join(s, c, *comm, index, job)) return ncclSystemError;
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

/* ---- Ending ---------------------------------------------------------------------------------- */

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
  ncclResult_t e = sd_nccl_call_enter(&h, "ncclCommFinalize", SD_PC);
  if (!e) e = sd_comm_check(h, comm, 1);
  if (e) return e;
  job = finalize(h, comm);
  return job ? sd_job_after(h, job, comm->blocking) : ncclSystemError;
}

/* Finalizes first if that was not done, and waits for the other members. */
ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
  simdev *s = sd_now;
  sd_host *h;
  ncclResult_t e;
  if (!comm) return ncclSuccess;
  e = sd_nccl_call_enter(&h, "ncclCommDestroy", SD_PC);
  if (e) return s && s->found.verdict ? ncclSuccess : e;
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

/* Local: this member's work on the device ends without a result. The other members get no
 * report. */
ncclResult_t ncclCommAbort(ncclComm_t comm)
{
  simdev *s = sd_now;
  sd_host *h;
  ncclResult_t e;
  if (!comm) return ncclSuccess;
  e = sd_nccl_call_enter(&h, "ncclCommAbort", SD_PC);
  if (e && s && s->found.verdict) return ncclSuccess;
  if (e && (!h || h->injected || !s->rank[h->agent.rank].process.lost))
    return e; /* after a lost context it is allowed */
  e = sd_comm_check(h, comm, 0);
  if (e) return e;
  comm->aborted = 1;
  sd_jobs_give_up(s, comm);
  comm->mark = SD_MARK_GONE;
  sd_launch_recheck(s, comm->rank);
  return ncclSuccess;
}

/* ---- Querying -------------------------------------------------------------------------------- */

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error)
{
  sd_host *h;
  ncclResult_t e = sd_nccl_call_enter(&h, "ncclCommGetAsyncError", SD_PC);
  if (e && error && sd_now && sd_now->found.verdict) *error = ncclSystemError;
  if (!e) e = sd_comm_check(h, comm, 0);
  if (e) return e;
  if (!error) return ncclInvalidArgument;
  *error = comm->state;
  if (comm->state != ncclInProgress) return ncclSuccess;
  sd_job_release_deferred(sd_now, comm);
  sd_host_park(h, NULL);
  return ncclSuccess;
}

static ncclResult_t ask(const char *name, const void *pc, ncclComm_t comm, int *value, int what)
{
  sd_host *h;
  ncclResult_t e = sd_nccl_call_enter(&h, name, pc);
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

/* The findings so far. */
const char *ncclGetLastError(ncclComm_t comm)
{
  (void)comm;
  return sd_now ? sd_now->found.text : "";
}
