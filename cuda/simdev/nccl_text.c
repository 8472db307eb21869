/* Communicators, operations and launches in words. */
#include "nccl_parts.h"

const char *sd_comm_name(const sd_comm *comm, char *text, size_t cap)
{
  if (comm->name[0]) sd_print(text, cap, "'%s'", comm->name);
  else if (!comm->clique) sd_print(text, cap, "(still being split off)");
  else sd_print(text, cap, "%d", comm->clique->id);
  return text;
}

static const char *dtype_name(ncclDataType_t t)
{
  static const char *const name[] = {"int8",   "uint8",   "int32",   "uint32",  "int64",
                                     "uint64", "float16", "float32", "float64", "bfloat16"};
  return (unsigned)t < sizeof name / sizeof *name ? name[t] : "?";
}

static const char *redop_name(ncclRedOp_t r)
{
  static const char *const name[] = {"sum", "prod", "max", "min", "avg"};
  return (unsigned)r < sizeof name / sizeof *name ? name[r] : "?";
}

static int reduces(sd_op_kind k)
{
  return k == SD_ALL_REDUCE || k == SD_REDUCE_SCATTER || k == SD_REDUCE;
}

/* "ncclAllReduce(100 x float32, sum)", with the root or peer if it has one. */
void sd_op_text(const sd_op *op, char *text, size_t cap)
{
  char peer[32] = "";
  if (op->kind >= SD_SEND) sd_print(peer, sizeof peer, ", peer %d", op->peer);
  else if (op->kind >= SD_BROADCAST) sd_print(peer, sizeof peer, ", root %d", op->peer);
  sd_print(text, cap, "%s(%zu x %s%s%s%s)", op->name, op->count, dtype_name(op->dtype),
           reduces(op->kind) ? ", " : "", reduces(op->kind) ? redop_name(op->redop) : "", peer);
}

void sd_launch_text(const sd_item *item, char *text, size_t cap)
{
  const sd_launch *l = item->u.launch;
  char op[128], name[48];
  int32_t n = 0;
  for (const sd_op *o = l->ops; o; o = o->next) n++;
  sd_op_text(l->ops, op, sizeof op);
  sd_comm_name(l->comm, name, sizeof name);
  if (n > 1) sd_print(text, cap, "%s and %d more in a group, of communicator %s", op, n - 1, name);
  else sd_print(text, cap, "%s of communicator %s", op, name);
}

static void put_missing(simdev *s, const sd_op *op, const sd_comm *other, const sd_op *theirs,
                        const char *what)
{
  if (!other) sd_append(s, "\n    a member that never joined");
  else if (other->aborted)
    sd_append(s, "\n    waits for rank %d, which has aborted the communicator", other->rank);
  else if (theirs)
    sd_append(s,
              "\n    waits for rank %d, whose call %d issued it, but whose stream has not "
              "reached it",
              other->rank, theirs->call);
  else if (op->kind >= SD_SEND)
    sd_append(s, "\n    waits for rank %d, which has not issued %s", other->rank, what);
  else
    sd_append(s,
              "\n    waits for rank %d, which has issued %lld collectives of this communicator; "
              "this is number %lld",
              other->rank, (long long)other->colls, (long long)op->number + 1);
}

static void put_waiting(simdev *s, const sd_op *op)
{
  const sd_clique *c = op->comm->clique;
  char text[128];
  if (op->kind >= SD_SEND) {
    if (op->partner && op->partner->started) return;
    sd_op_text(op, text, sizeof text);
    sd_append(s, "\n    %s", text);
    put_missing(s, op, c->member[op->peer], op->partner,
                op->kind == SD_SEND ? "the receive" : "the send");
    return;
  }
  if (op->coll->started == c->n) return;
  for (int32_t i = 0; i < c->n; i++) {
    const sd_op *theirs = op->coll->op[i];
    if (!theirs || !theirs->started) put_missing(s, op, c->member[i], theirs, "");
  }
}

void sd_op_append_uncalled(simdev *s, const sd_op *op)
{
  const sd_clique *c = op->comm->clique;
  if (op->kind >= SD_SEND) put_waiting(s, op);
  for (int32_t i = 0; op->kind < SD_SEND && i < c->n; i++)
    if (!op->coll->op[i]) put_missing(s, op, c->member[i], NULL, "");
}

void sd_launch_append_missing(simdev *s, const sd_item *item)
{
  const sd_launch *l = item->u.launch;
  if (!l->started) {
    sd_append(s, " cannot begin");
    if (l->before_comm && !l->before_comm->ended)
      sd_append(s, ": the communicator's operation before it has not ended");
    else if (l->before_device && !l->before_device->started)
      sd_append(s, ": NCCL_LAUNCH_ORDER_IMPLICIT, and an older one has not begun");
    else if (s->choice.one_comm && s->nccl_state->rank[l->comm->rank].running[l->comm->device] > 0)
      sd_append(s, ": another communication kernel occupies the device");
    return;
  }
  for (const sd_op *op = l->ops; op; op = op->next) put_waiting(s, op);
}

void sd_job_append_missing(simdev *s, const sd_job *job)
{
  const sd_comm *comm = job->parent ? job->parent : job->comm; /* NULL: of launches */
  const sd_clique *c = comm ? comm->clique : NULL;
  for (int32_t i = 0; c && i < c->n; i++) {
    const sd_comm *m = c->member[i];
    if (!m) sd_append(s, "\n    member %d of %d has not joined", i, c->n);
    else if (job->parent && m->splits < job->parent->splits)
      sd_append(s, "\n    rank %d (member %d) has not called ncclCommSplit", m->rank, i);
    else if (job->kind == SD_JOB_FINALIZE && !m->finalized)
      sd_append(s, "\n    rank %d (member %d) has not finalized%s", m->rank, i,
                m->aborted ? ": it has aborted" : "");
    else if (job->kind == SD_JOB_FINALIZE && m->outstanding > 0)
      sd_append(s, "\n    rank %d (member %d) has %d operations outstanding", m->rank, i,
                m->outstanding);
  }
}
