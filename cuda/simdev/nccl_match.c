/* Matching the members' operations. */
#include "nccl_parts.h"

static void put_op(simdev *s, const sd_op *op, const char *title)
{
  char text[128];
  sd_op_text(op, text, sizeof text);
  sd_append(s, "%srank %d (member %d), call %d: %s", title, op->comm->rank, op->comm->index,
            op->call, text);
  if (op->together > 1) sd_append(s, ", one of %d collectives of its group", op->together);
}

/* A member's collective with this number, or NULL. */
static const sd_op *collective(const sd_comm *comm, int64_t number)
{
  const sd_clique *c = comm->clique;
  return number < c->coll_first + c->coll_n ? c->coll[number - c->coll_first]->op[comm->index]
                                            : NULL;
}

/* Makes room for one more collective: drops the first ones, which all members have ended. */
static int room(simdev *s, sd_clique *c)
{
  int64_t ended = 0;
  while (ended < c->coll_n && !c->coll[ended]) ended++;
  if (c->coll_n == c->coll_cap && ended > 0) {
    c->coll_first += ended;
    c->coll_n -= ended;
    sd_copy_bytes(c->coll, c->coll + ended, (size_t)c->coll_n * sizeof *c->coll);
  }
  return sd_arena_grow(&s->arena, (void **)&c->coll, c->coll_n, &c->coll_cap, sizeof *c->coll);
}

static void mismatch(simdev *s, const sd_op *a, const sd_op *b, const char *what, int64_t number)
{
  char name[48];
  sd_comm_name(a->comm, name, sizeof name);
  sd_note(s, SIMDEV_E_MISMATCH, 1, b->comm->rank,
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
  op->connects = !(op->comm->kinds >> op->kind & 1);
  op->comm->kinds |= UINT32_C(1) << op->kind;
  if (op->number == c->coll_first + c->coll_n) {
    if (room(s, c)) return -1;
    coll = sd_buffer_zeroed(&s->arena, sizeof *coll);
    if (coll) coll->op = sd_buffer_zeroed(&s->arena, (size_t)c->n * sizeof(sd_op *));
    if (!coll || !coll->op) return -1;
    c->coll[c->coll_n++] = coll;
  }
  coll = c->coll[op->number - c->coll_first];
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
  if (!c->pair) c->pair = sd_arena_alloc(&s->arena, (size_t)c->n * (size_t)c->n * sizeof *c->pair);
  if (!c->pair) return -1;
  pair = op->kind == SD_SEND ? &c->pair[me * c->n + op->peer] : &c->pair[op->peer * c->n + me];
  op->number = op->kind == SD_SEND ? pair->sends++ : pair->recvs++;
  op->connects = op->number == 0;
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
