/* Checking, matching and launching operations: one kernel for each communicator of a group. */
#include "nccl_parts.h"

/* A host's group; NULL: no memory. */
static sd_group *group_of(sd_host *h)
{
  if (!h->group) h->group = sd_arena_alloc(&sd_now->arena, sizeof *h->group);
  return h->group;
}

/* ---- Checks ---------------------------------------------------------------------------------- */

/* How many elements one member reads, and writes. */
static size_t reads(const sd_op *op)
{
  switch (op->kind) {
  case SD_RECV: return 0;
  case SD_REDUCE_SCATTER: return op->count * (size_t)op->comm->clique->n;
  case SD_BROADCAST: return op->peer == op->comm->index ? op->count : 0;
  default: return op->count;
  }
}

static size_t writes(const sd_op *op)
{
  switch (op->kind) {
  case SD_SEND: return 0;
  case SD_ALL_GATHER: return op->count * (size_t)op->comm->clique->n;
  case SD_REDUCE: return op->peer == op->comm->index ? op->count : 0;
  default: return op->count;
  }
}

/* 1: the buffers overlap, and not in NCCL's in-place form. */
static int overlaps(const sd_op *op)
{
  const size_t size = sd_dtype_bytes(op->dtype);
  const char *from = op->send, *to = op->recv;
  const size_t part = op->count * size * (size_t)op->comm->index;
  if (reads(op) == 0 || writes(op) == 0) return 0;
  if (to >= from + reads(op) * size || from >= to + writes(op) * size) return 0;
  if (op->kind == SD_REDUCE_SCATTER) return to != from + part;
  if (op->kind == SD_ALL_GATHER) return from != to + part;
  return from != to;
}

static ncclResult_t check_buffer(sd_host *h, const sd_op *op, const void *p, size_t n,
                                 const char *verb)
{
  simdev *s = sd_now;
  const sd_alloc *a = sd_memory_find(s, p);
  const size_t bytes = n * sd_dtype_bytes(op->dtype);
  if (bytes == 0) return ncclSuccess;
  if (sd_memory_kind_of(s, p) == SD_PAGEABLE) {
    sd_note(s, SIMDEV_E_MISUSE, 0, h->agent.rank, "%s: %p is neither device nor pinned memory",
            sd_call_text(h), p);
    return ncclInvalidArgument;
  }
  if (sd_memory_range(s, h->agent.rank, p, bytes, verb, NULL)) return ncclInvalidArgument;
  if (a && a->kind == SD_DEVICE && a->device != op->comm->device) {
    sd_note(s, SIMDEV_E_MISUSE, 0, h->agent.rank,
            "%s: the buffer is device %d's, the communicator device %d's", sd_call_text(h),
            a->device, op->comm->device);
    return ncclInvalidArgument;
  }
  return ncclSuccess;
}

static ncclResult_t check(sd_host *h, const sd_op *op)
{
  simdev *s = sd_now;
  const int32_t n = op->comm->clique->n;
  const int rooted = op->kind >= SD_BROADCAST;
  ncclResult_t e;
  if (sd_dtype_bytes(op->dtype) == 0 || (unsigned)op->redop > ncclAvg ||
      (rooted && (op->peer < 0 || op->peer >= n))) {
    sd_note(s, SIMDEV_E_MISUSE, 0, h->agent.rank,
            "%s: %s %d; the communicator has %d members (8-bit floats and operators made by the "
            "program are not simulated)",
            sd_call_text(h), rooted ? "root or peer" : "data type or operator",
            rooted ? op->peer : (int)op->dtype, n);
    return ncclInvalidArgument;
  }
  if (op->stream->device != op->comm->device) {
    sd_note(s, SIMDEV_E_MISUSE, 0, h->agent.rank,
            "%s: the stream is device %d's, the communicator device %d's", sd_call_text(h),
            op->stream->device, op->comm->device);
    return ncclInvalidUsage;
  }
  e = check_buffer(h, op, op->send, reads(op), "reads");
  if (!e) e = check_buffer(h, op, op->recv, writes(op), "writes");
  if (!e && overlaps(op)) {
    sd_note(s, SIMDEV_E_MISUSE, 0, h->agent.rank,
            "%s: send and receive buffers overlap, but not in NCCL's in-place form",
            sd_call_text(h));
    e = ncclInvalidArgument;
  }
  return e;
}

/* ---- Launching a group ----------------------------------------------------------------------- */

/* Moves the communicator's operations from the group into a launch, in their order. */
static sd_launch *collect_launch(sd_group *g, sd_comm *comm)
{
  sd_launch *l = sd_buffer_zeroed(&sd_now->arena, sizeof *l);
  sd_op **from = &g->first, **to;
  int32_t colls = 0;
  if (!l) return NULL;
  l->comm = comm;
  l->holds = 1;
  to = &l->ops;
  while (*from) {
    sd_op *op = *from;
    if (op->comm != comm) {
      from = &op->next;
      continue;
    }
    *from = op->next;
    op->next = NULL;
    op->launch = l;
    l->holds++;
    *to = op;
    to = &op->next;
    colls += op->kind < SD_SEND;
  }
  for (sd_op *op = l->ops; op; op = op->next) op->together = colls;
  return l;
}

/* The communicators of one group are launched in an order that the program does not choose, but
 * that is the same for all members: NCCL sorts them by a hash. */
static uint64_t hash_of(const simdev *s, const sd_comm *comm)
{
  return ((uint64_t)comm->clique->id + s->opt.seed) * 0x9e3779b97f4a7c15u >> 20;
}

static sd_launch *sort_in(simdev *s, sd_launch *list, sd_launch *l)
{
  sd_launch **p = &list;
  while (*p && hash_of(s, (*p)->comm) <= hash_of(s, l->comm)) p = &(*p)->next;
  l->next = *p;
  *p = l;
  return list;
}

static ncclResult_t launch_later(sd_host *h, sd_launch *list)
{
  simdev *s = sd_now;
  sd_job *job = sd_job_make(h, SD_JOB_LAUNCH, NULL);
  if (!job) return ncclSystemError;
  job->launches = list;
  for (sd_launch *l = list; l; l = l->next) {
    l->comm->state = ncclInProgress;
    l->comm->outstanding++;
  }
  if (s->choice.late) {
    job->next = s->nccl_state->deferred_jobs;
    s->nccl_state->deferred_jobs = job;
  } else sd_job_ready(s, job);
  return ncclInProgress;
}

/* The calling host waits for its peers. */
static ncclResult_t launch_connected(sd_host *h, sd_launch *list)
{
  simdev *s = sd_now;
  sd_comm *comm = list->comm;
  sd_job *job = sd_job_make(h, SD_JOB_LAUNCH, NULL);
  if (!job) return ncclSystemError;
  job->launches = list;
  for (sd_launch *l = list; l; l = l->next) l->comm->outstanding++;
  sd_job_connect(s, job);
  if (sd_job_wait(h, job)) return ncclSystemError;
  return comm->aborted ? ncclInvalidUsage : comm->state;
}

static ncclResult_t launch(sd_host *h, sd_group *g)
{
  simdev *s = sd_now;
  sd_launch *list = NULL;
  int32_t blocking = 0, non_blocking = 0;
  while (g->first) {
    sd_comm *comm = g->first->comm;
    sd_launch *l = collect_launch(g, comm);
    if (!l) return ncclSystemError;
    if (comm->blocking) blocking = 1;
    else non_blocking = 1;
    for (sd_op *op = l->ops; op; op = op->next)
      if (sd_match(s, op)) return ncclSystemError;
    list = sort_in(s, list, l);
  }
  g->last = NULL;
  if (!list) return ncclSuccess;
  sd_jobs_connected(s);
  if (blocking && non_blocking) {
    sd_note(s, SIMDEV_E_MISUSE, 1, h->agent.rank,
            "rank %d, call %d: a group must not mix blocking and non-blocking communicators",
            h->agent.rank, h->call);
    return ncclInvalidUsage;
  }
  if (non_blocking) return launch_later(h, list);
  if (sd_connects(s, list)) return launch_connected(h, list);
  for (sd_launch *l = list; l; l = l->next) {
    l->comm->outstanding++;
    sd_launch_issue(s, l, NULL);
  }
  return ncclSuccess;
}

static ncclResult_t end(sd_host *h)
{
  sd_group *g = h->group;
  ncclResult_t e = g->error;
  const int in_progress = g->in_progress;
  g->error = ncclSuccess;
  g->in_progress = 0;
  if (e) {
    g->first = g->last = NULL;
    return e;
  }
  e = launch(h, g);
  for (sd_job *job = g->jobs; job && (e == ncclSuccess || e == ncclInProgress); job = job->next) {
    if (sd_job_wait(h, job)) e = ncclSystemError;
    else if (job->comm->state != ncclSuccess) e = job->comm->state;
  }
  g->jobs = NULL;
  return e == ncclSuccess && in_progress ? ncclInProgress : e;
}

ncclResult_t ncclGroupStart(void)
{
  sd_host *h;
  const ncclResult_t e = sd_nccl_call_enter(&h, "ncclGroupStart", SD_PC);
  if (e) return e;
  if (!group_of(h)) return ncclSystemError;
  h->group->depth++;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void)
{
  sd_host *h;
  const ncclResult_t e = sd_nccl_call_enter(&h, "ncclGroupEnd", SD_PC);
  if (e) {
    if (h && h->group && h->group->depth > 0 && --h->group->depth == 0) h->group->first = NULL;
    return e;
  }
  if (!group_of(h)) return ncclSystemError;
  if (h->group->depth == 0) {
    sd_note(sd_now, SIMDEV_E_MISUSE, 0, h->agent.rank,
            "rank %d, call %d (ncclGroupEnd): no group was started", h->agent.rank, h->call);
    return ncclInvalidUsage;
  }
  return --h->group->depth > 0 ? ncclSuccess : end(h);
}

/* ---- The operations -------------------------------------------------------------------------- */

static ncclResult_t add(sd_host *h, const sd_op *what)
{
  sd_group *g = group_of(h);
  sd_op *op = sd_buffer_acquire(&sd_now->arena, sizeof *op);
  if (!g || !op) return ncclSystemError;
  sd_copy_bytes(op, what, sizeof *op);
  op->sync = sd_sync_new(&sd_now->arena);
  if (!op->sync) return ncclSystemError;
  op->call = h->call;
  op->tag = h->tag;
  if (g->first) g->last->next = op;
  else g->first = op;
  g->last = op;
  if (g->depth == 0) return end(h);
  /* Within a group nothing has begun, whatever a non-blocking call returns. */
  return !op->comm->blocking && sd_below(sd_now, 4) == 0 ? ncclInProgress : ncclSuccess;
}

static ncclResult_t issue(const void *pc, sd_op *op, cudaStream_t stream)
{
  sd_host *h;
  ncclResult_t e = sd_nccl_call_enter(&h, op->name, pc);
  if (e) goto out;
  e = sd_comm_check(h, op->comm, 1);
  if (e) goto out;
  op->stream = sd_stream_of(h, stream);
  op->pc = pc;
  e = op->stream ? check(h, op) : ncclInvalidArgument;
  if (e) goto out;
  if (op->count == 0 && op->kind < SD_SEND) return ncclSuccess; /* NCCL ignores it */
  return add(h, op);
out:
  if (h && h->group && h->group->depth > 0) h->group->error = e;
  return e;
}

/* An operation of the function that the macro is used in; ncclSum is 0. */
#define OP(k, ...)                                                                                 \
  (sd_op)                                                                                          \
  {                                                                                                \
    .kind = (k), .name = __func__, .count = count, .dtype = dtype, .comm = comm, __VA_ARGS__       \
  }

ncclResult_t ncclAllReduce(const void *send, void *recv, size_t count, ncclDataType_t dtype,
                           ncclRedOp_t redop, ncclComm_t comm, cudaStream_t stream)
{
  return issue(SD_PC, &OP(SD_ALL_REDUCE, .send = send, .recv = recv, .redop = redop, .peer = -1),
               stream);
}

ncclResult_t ncclReduceScatter(const void *send, void *recv, size_t count, ncclDataType_t dtype,
                               ncclRedOp_t redop, ncclComm_t comm, cudaStream_t stream)
{
  return issue(SD_PC,
               &OP(SD_REDUCE_SCATTER, .send = send, .recv = recv, .redop = redop, .peer = -1),
               stream);
}

ncclResult_t ncclAllGather(const void *send, void *recv, size_t count, ncclDataType_t dtype,
                           ncclComm_t comm, cudaStream_t stream)
{
  return issue(SD_PC, &OP(SD_ALL_GATHER, .send = send, .recv = recv, .peer = -1), stream);
}

ncclResult_t ncclBroadcast(const void *send, void *recv, size_t count, ncclDataType_t dtype,
                           int root, ncclComm_t comm, cudaStream_t stream)
{
  return issue(SD_PC, &OP(SD_BROADCAST, .send = send, .recv = recv, .peer = root), stream);
}

ncclResult_t ncclBcast(void *buffer, size_t count, ncclDataType_t dtype, int root, ncclComm_t comm,
                       cudaStream_t stream)
{
  return issue(SD_PC, &OP(SD_BROADCAST, .send = buffer, .recv = buffer, .peer = root), stream);
}

ncclResult_t ncclReduce(const void *send, void *recv, size_t count, ncclDataType_t dtype,
                        ncclRedOp_t redop, int root, ncclComm_t comm, cudaStream_t stream)
{
  return issue(SD_PC, &OP(SD_REDUCE, .send = send, .recv = recv, .redop = redop, .peer = root),
               stream);
}

ncclResult_t ncclSend(const void *send, size_t count, ncclDataType_t dtype, int peer,
                      ncclComm_t comm, cudaStream_t stream)
{
  return issue(SD_PC, &OP(SD_SEND, .send = send, .peer = peer), stream);
}

ncclResult_t ncclRecv(void *recv, size_t count, ncclDataType_t dtype, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
  return issue(SD_PC, &OP(SD_RECV, .recv = recv, .peer = peer), stream);
}
