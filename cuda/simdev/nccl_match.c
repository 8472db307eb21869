/* Which operations belong together, and what is wrong when they do not. */
#include "nccl_internal.h"

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

/* "ncclAllReduce(100 x float32, sum)", with the root or peer where there is one. */
void sd_op_text(const sd_op *op, char *text, size_t cap)
{
  char peer[32] = "";
  if (op->kind >= SD_SEND) sd_print(peer, sizeof peer, ", peer %d", op->peer);
  else if (op->kind >= SD_BROADCAST) sd_print(peer, sizeof peer, ", root %d", op->peer);
  sd_print(text, cap, "%s(%zu x %s%s%s%s)", op->name, op->count, dtype_name(op->dtype),
           reduces(op->kind) ? ", " : "", reduces(op->kind) ? redop_name(op->redop) : "", peer);
}

static void put_op(simdev *s, const sd_op *op, const char *title)
{
  char text[128];
  sd_op_text(op, text, sizeof text);
  sd_append(s, "%srank %d (member %d), call %d: %s", title, op->comm->rank, op->comm->index,
            op->call, text);
  if (op->together > 1) sd_append(s, ", one of %d collectives of its group", op->together);
}

/* A member's collective with this number, where it has issued one. */
static const sd_op *collective(const sd_comm *comm, int64_t number)
{
  const sd_clique *c = comm->clique;
  return number < c->coll_n ? c->coll[number]->op[comm->index] : NULL;
}

static void mismatch(simdev *s, const sd_op *a, const sd_op *b, const char *what, int64_t number)
{
  char name[48];
  sd_comm_name(a->comm, name, sizeof name);
  sd_note(s, SIMDEV_E_MISMATCH, 0, b->comm->rank,
          "mismatch: two members of communicator %s issued different operations as its %s %lld",
          name, what, (long long)number + 1);
  put_op(s, a, "\n  ");
  put_op(s, b, "\n  ");
  for (int i = 0; i < 2 && a->kind < SD_SEND; i++) {
    const sd_op *op = i ? b : a, *next = collective(op->comm, op->number + 1);
    if (next) put_op(s, next, "\n  then ");
  }
  sd_append(s, "\n  every member must issue the same op, count, dtype, redop and root, in the same "
               "order and grouping");
  s->verdict = SIMDEV_E_MISMATCH;
}

static int same(const sd_op *a, const sd_op *b)
{
  return a->kind == b->kind && a->count == b->count && a->dtype == b->dtype &&
         a->redop == b->redop && a->peer == b->peer && a->together == b->together;
}

static int match_collective(simdev *s, sd_op *op)
{
  sd_clique *c = op->comm->clique;
  sd_coll *coll;
  op->number = op->comm->colls++;
  while (c->coll_n <= op->number) {
    sd_coll *made = sd_take(s, sizeof *made);
    if (!made || sd_grow(s, (void **)&c->coll, c->coll_n, &c->coll_cap, sizeof(sd_coll *)))
      return -1;
    made->op = sd_take(s, (size_t)c->n * sizeof(sd_op *));
    if (!made->op) return -1;
    c->coll[c->coll_n++] = made;
  }
  coll = c->coll[op->number];
  op->coll = coll;
  coll->op[op->comm->index] = op;
  if (!coll->first) coll->first = op;
  if (same(coll->first, op)) return 0;
  mismatch(s, coll->first, op, "collective", op->number);
  return -1;
}

static int match_pair(simdev *s, sd_op *op)
{
  sd_clique *c = op->comm->clique;
  const int32_t me = op->comm->index;
  sd_pair *pair;
  if (!c->pair) c->pair = sd_take(s, (size_t)c->n * (size_t)c->n * sizeof *c->pair);
  if (!c->pair) return -1;
  pair = op->kind == SD_SEND ? &c->pair[me * c->n + op->peer] : &c->pair[op->peer * c->n + me];
  op->number = op->kind == SD_SEND ? pair->sends++ : pair->recvs++;
  if (!pair->head || pair->head->kind == op->kind) {
    if (pair->head) pair->tail->pair_next = op;
    else pair->head = op;
    pair->tail = op;
    return 0;
  }
  op->partner = pair->head;
  pair->head->partner = op;
  pair->head = pair->head->pair_next;
  if (op->count == op->partner->count && op->dtype == op->partner->dtype) return 0;
  mismatch(s, op->partner, op, "message of this pair", op->number);
  return -1;
}

int sd_match(simdev *s, sd_op *op)
{
  return op->kind < SD_SEND ? match_collective(s, op) : match_pair(s, op);
}

/* ---- For reports ----------------------------------------------------------------------------- */

void sd_comm_describe(const sd_item *item, char *text, size_t cap)
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
              "\n    waits for rank %d, whose call %d issued it, but whose stream has not come "
              "to it",
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

void sd_comm_deadlock(simdev *s, const sd_item *item)
{
  const sd_launch *l = item->u.launch;
  if (!l->started) {
    sd_append(s, " cannot begin");
    if (l->before_comm && !l->before_comm->ended)
      sd_append(s, ": the communicator's operation before it has not ended");
    else if (l->before_device && !l->before_device->started)
      sd_append(s, ": NCCL_LAUNCH_ORDER_IMPLICIT, and an older one has not begun");
    else if (s->one_comm && s->rank[l->comm->rank].comm_on[l->comm->device] > 0)
      sd_append(s, ": another communication kernel occupies the device");
    return;
  }
  for (const sd_op *op = l->ops; op; op = op->next) put_waiting(s, op);
}
