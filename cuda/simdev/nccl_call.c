/* The begin of every NCCL call. */
#include <stdlib.h>

#include "nccl_parts.h"

int sd_is_set(const char *variable)
{
  const char *v = getenv(variable);
  return v && v[0] == '1' && !v[1];
}

/* The state of NCCL in this run, and the table by which the core calls NCCL. -1: no memory. */
static int open_nccl(simdev *s)
{
  const size_t n = (size_t)s->devices;
  sd_nccl *nccl = sd_arena_alloc(&s->arena, sizeof *nccl);
  if (nccl) nccl->rank = sd_arena_alloc(&s->arena, (size_t)s->ranks * sizeof *nccl->rank);
  if (!nccl || !nccl->rank) return -1;
  for (int32_t r = 0; r < s->ranks; r++) {
    nccl->rank[r].running = sd_arena_alloc(&s->arena, n * sizeof *nccl->rank[r].running);
    nccl->rank[r].last_launch = sd_arena_alloc(&s->arena, n * sizeof(sd_launch *));
    if (!nccl->rank[r].running || !nccl->rank[r].last_launch) return -1;
  }
  s->nccl_state = nccl;
  s->nccl = &sd_nccl_ops_table;
  return 0;
}

/* NCCL reads its environment variables at the first call of a process. */
static void read_variables(simdev *s, sd_nccl_rank *r)
{
  const int version = s->opt.nccl_version;
  if (r->variables_read) return;
  r->variables_read = 1;
  r->implicit =
      (!version || version >= NCCL_VERSION(2, 26, 0)) && sd_is_set("NCCL_LAUNCH_ORDER_IMPLICIT");
}

ncclResult_t sd_nccl_call_enter(sd_host **h, const char *name, const void *pc)
{
  simdev *s = sd_now;
  const cudaError_t e = sd_call_enter(h, name, pc);
  if (*h && !s->nccl && open_nccl(s)) {
    sd_note(s, SIMDEV_E_NO_MEMORY, 1, (*h)->agent.rank, "simdev: out of memory for NCCL");
    return ncclSystemError;
  }
  if (*h) read_variables(s, &s->nccl_state->rank[(*h)->agent.rank]);
  if (e == cudaSuccess) return ncclSuccess;
  if (*h && (*h)->injected) {
    (*h)->last_error = cudaSuccess; /* it was NCCL's */
    return (ncclResult_t)e;
  }
  if (e == cudaErrorNotPermitted || e == cudaErrorInitializationError) return ncclInvalidUsage;
  return s && s->found.verdict ? ncclSystemError : ncclUnhandledCudaError;
}

ncclResult_t sd_comm_check(sd_host *h, const sd_comm *comm, int ready)
{
  simdev *s = sd_now;
  char name[48];
  if (!comm || !sd_arena_contains(&s->arena, comm, sizeof *comm) || comm->mark != SD_MARK_COMM) {
    const int gone =
        comm && sd_arena_contains(&s->arena, comm, sizeof *comm) && comm->mark == SD_MARK_GONE;
    sd_note(s, SIMDEV_E_MISUSE, 0, h->agent.rank, "%s: %s", sd_call_text(h),
            gone ? "the communicator is destroyed or aborted" : "the handle is not a communicator");
    return ncclInvalidArgument;
  }
  if (comm->rank != h->agent.rank) {
    sd_comm_name(comm, name, sizeof name);
    sd_note(s, SIMDEV_E_MISUSE, 0, h->agent.rank, "%s: communicator %s is rank %d's handle",
            sd_call_text(h), name, comm->rank);
    return ncclInvalidArgument;
  }
  if (!ready) return ncclSuccess;
  if (comm->state == ncclInProgress) {
    sd_comm_name(comm, name, sizeof name);
    sd_note(s, SIMDEV_E_MISUSE, 0, h->agent.rank,
            "%s: communicator %s is still in progress: poll ncclCommGetAsyncError until it "
            "returns ncclSuccess",
            sd_call_text(h), name);
    return ncclInvalidArgument;
  }
  if (comm->finalized) {
    sd_comm_name(comm, name, sizeof name);
    sd_note(s, SIMDEV_E_MISUSE, 0, h->agent.rank, "%s: communicator %s is finalized",
            sd_call_text(h), name);
    return ncclInvalidUsage;
  }
  return comm->state; /* an error stays */
}
