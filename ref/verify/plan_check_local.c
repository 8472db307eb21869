/* One STEP program on its own: exactly once, complete before reduced, slots free when taken. */
#include <string.h>

#include "../engine/bucket_slots.h"
#include "../engine/partial.h"
#include "plan_check_internal.h"

/* Where the walk along a STEP program stands. -1: none. */
typedef struct walk {
  checker *c;
  const stage_info *st;
  int64_t S, M, s, alive_max;
  int32_t slots;
  int64_t forwarded, backwarded; /* micro-batches begun so far: they come in order */
  int64_t alive, most_alive;
  int64_t act_got, grad_got; /* received and not used yet */
  int64_t act_due, grad_due; /* computed and not sent yet */
  int64_t meta, loaded, arrived, adding;
  int32_t entries_done; /* of the micro-batch `adding` */
  int32_t statistics, decided;
} walk;

#define FAULT(KIND, ...) return zp_check_violation(w->c, KIND, op, pc, __VA_ARGS__)

static int on_exchange(walk *w, const zp_op *op, int64_t pc)
{
  const int next = op->what == ZP_WHAT_ACTIVATION;
  const int64_t activation = next ? op->mb : op->recv_mb;
  if (op->group != ZP_GROUP_PP || (!next && op->what != ZP_WHAT_ACTIVATION_GRADIENT))
    FAULT(ZP_CHECK_P2P, "is no exchange of activations or their gradients");
  if (op->root != (next ? w->s + 1 : w->s - 1) || op->root < 0 || op->root >= w->S)
    FAULT(ZP_CHECK_P2P, "exchanges with stage %d, which is not that neighbour", (int)op->root);
  if (op->kind == ZP_OP_META) {
    w->meta = activation;
    return 0;
  }
  if (op->mb < 0 && op->recv_mb < 0) FAULT(ZP_CHECK_P2P, "neither sends nor receives");
  if (w->c->cfg->dynamic_shapes && activation >= 0 && w->meta != activation)
    FAULT(ZP_CHECK_P2P, "no meta message came before it");
  if (op->mb >= 0) {
    int64_t *due = next ? &w->act_due : &w->grad_due;
    if (*due != op->mb)
      FAULT(ZP_CHECK_P2P, "sends micro-batch %lld, but %lld waits to be sent", (long long)op->mb,
            (long long)*due);
    *due = -1;
  }
  if (op->recv_mb >= 0) {
    int64_t *got = next ? &w->grad_got : &w->act_got;
    if (*got >= 0)
      FAULT(ZP_CHECK_P2P, "overwrites micro-batch %lld, not used yet", (long long)*got);
    *got = op->recv_mb;
    if (!next) { /* an activation is received straight into its slot */
      const int64_t slot = op->recv_mb % w->alive_max;
      if (w->c->act[slot] >= 0)
        FAULT(ZP_CHECK_ACTIVATION,
              "receives into activation slot %lld, which holds micro-batch "
              "%lld",
              (long long)slot, (long long)w->c->act[slot]);
    }
  }
  return 0;
}

static int on_forward(walk *w, const zp_op *op, int64_t pc)
{
  const int ends = w->s == 0 || w->s == w->S - 1;
  if (op->mb != w->forwarded || op->mb >= w->M)
    FAULT(ZP_CHECK_ACTIVATION, "forwards micro-batch %lld where %lld is due", (long long)op->mb,
          (long long)w->forwarded);
  if (ends && w->loaded != op->mb) FAULT(ZP_CHECK_ACTIVATION, "its data was not loaded");
  if (w->s > 0 && w->act_got != op->mb) FAULT(ZP_CHECK_P2P, "its activation was not received");
  if (w->act_due >= 0) FAULT(ZP_CHECK_P2P, "overwrites an activation that was not sent");
  if (op->slot < 0 || op->slot >= w->alive_max || w->c->act[op->slot] >= 0)
    FAULT(ZP_CHECK_ACTIVATION, "activation slot %d is taken or not one of %lld", (int)op->slot,
          (long long)w->alive_max);
  w->c->act[op->slot] = op->mb;
  if (++w->alive > w->most_alive) w->most_alive = w->alive;
  if (w->alive > w->S - w->s)
    FAULT(ZP_CHECK_ACTIVATION, "%lld activations alive on stage %lld of %lld", (long long)w->alive,
          (long long)w->s, (long long)w->S);
  w->act_got = -1;
  if (w->s < w->S - 1) w->act_due = op->mb;
  w->forwarded++;
  w->c->result->count[ZP_CHECK_ACTIVATION]++;
  return 0;
}

static int all_entries(walk *w, const zp_op *op, int64_t pc)
{
  if (w->adding >= 0 && w->entries_done != w->st->trainable)
    FAULT(ZP_CHECK_ADD, "%d of %d entries entered buckets in micro-batch %lld",
          (int)w->entries_done, (int)w->st->trainable, (long long)w->adding);
  return 0;
}

static int on_backward(walk *w, const zp_op *op, int64_t pc)
{
  if (op->mb != w->backwarded || op->mb >= w->forwarded)
    FAULT(ZP_CHECK_ACTIVATION, "runs backward for micro-batch %lld where %lld is due",
          (long long)op->mb, (long long)w->backwarded);
  if (w->s < w->S - 1 && w->grad_got != op->mb)
    FAULT(ZP_CHECK_P2P, "its gradient was not received");
  if (w->grad_due >= 0) FAULT(ZP_CHECK_P2P, "overwrites a gradient that was not sent");
  if (op->slot < 0 || op->slot >= w->alive_max || w->c->act[op->slot] != op->mb)
    FAULT(ZP_CHECK_ACTIVATION, "activation slot %d does not hold its micro-batch", (int)op->slot);
  if (all_entries(w, op, pc) != 0) return ZP_E_VERDICT;
  w->c->act[op->slot] = -1;
  w->alive--;
  w->grad_got = -1;
  if (w->s > 0) w->grad_due = op->mb;
  w->backwarded++;
  w->adding = op->mb;
  w->entries_done = 0;
  w->c->result->count[ZP_CHECK_ACTIVATION]++;
  return 0;
}

/* The state of an op's bucket, or NULL when there is no such bucket. */
static bucket_state *bucket_of(walk *w, const zp_op *op)
{
  const stage_info *st = w->st;
  if (op->flat < 0 || op->flat >= st->lay.n_flats || op->bucket < 0) return NULL;
  if (op->bucket >= st->first_bucket[op->flat + 1] - st->first_bucket[op->flat]) return NULL;
  return &w->c->bucket[st->first_bucket[op->flat] + op->bucket];
}

/* What a bucket slot holds: this bucket of this micro-batch. */
static int64_t slot_id(const walk *w, const zp_op *op)
{
  const int64_t *first = w->st->first_bucket;
  return op->mb * first[w->st->lay.n_flats] + first[op->flat] + op->bucket;
}

/* What op's slot holds, -1: nothing; NULL: there is no such slot. */
static int64_t *slot_of(const walk *w, const zp_op *op)
{
  return op->slot < 0 || op->slot >= w->slots ? NULL : &w->c->slot_of[op->slot];
}

static int on_add(walk *w, const zp_op *op, int64_t pc)
{
  const zp_layout *lay = &w->st->lay;
  const int32_t i = op->param - lay->first_param;
  bucket_state *b = bucket_of(w, op);
  const zp_flat *f;
  int64_t from;
  if (b == NULL || i < 0 || i >= lay->n_params || lay->spot[i].flat != op->flat)
    FAULT(ZP_CHECK_ADD, "entry %d does not belong there", (int)op->param);
  if (op->mb != w->adding || w->arrived != op->mb)
    FAULT(ZP_CHECK_ADD, "adds micro-batch %lld, whose gradients did not arrive", (long long)op->mb);
  f = &lay->flat[op->flat];
  from = lay->spot[i].start + op->offset;
  if (w->c->next_mb[i] != op->mb) {
    w->c->next_mb[i] = op->mb;
    w->c->next[i] = 0;
  }
  if (op->offset != w->c->next[i] || op->count < 1)
    FAULT(ZP_CHECK_ADD, "entry %d: element %lld comes where %lld is due", (int)op->param,
          (long long)op->offset, (long long)w->c->next[i]);
  if (from < op->bucket * f->capacity || from + op->count > (op->bucket + 1) * f->capacity)
    FAULT(ZP_CHECK_ADD, "elements %lld to %lld of the flat group are not in this bucket",
          (long long)from, (long long)(from + op->count - 1));
  w->c->next[i] += op->count;
  if (w->c->next[i] > w->c->cfg->params[op->param].numel)
    FAULT(ZP_CHECK_ADD, "entry %d has fewer elements", (int)op->param);
  if (w->c->next[i] == w->c->cfg->params[op->param].numel) w->entries_done++;
  b->filled += op->count;
  w->c->result->count[ZP_CHECK_ADD]++;
  if (w->c->cfg->stage == 2) {
    const int64_t id = slot_id(w, op);
    int64_t *held = slot_of(w, op);
    if (held == NULL || (*held >= 0 && *held != id))
      FAULT(ZP_CHECK_BUCKET_SLOT, "bucket slot %d is refilled before its reduction", (int)op->slot);
    *held = id;
    w->c->result->count[ZP_CHECK_BUCKET_SLOT]++;
  }
  return 0;
}

/* Elements that a reduction of bucket b sends for each result part, and of which dtype. */
static int64_t reduce_count(const zp_config *cfg, const zp_flat *f, int64_t b)
{
  const int64_t width = cfg->reduce == ZP_EXACT && cfg->stage < 2 ? ZP_LIMBS : 1;
  return width * (cfg->stage == 0 ? zp_bucket_padded(f, b) : zp_part(f, b));
}

static int on_reduce(walk *w, const zp_op *op, int64_t pc)
{
  const zp_config *cfg = w->c->cfg;
  bucket_state *b = bucket_of(w, op);
  const zp_flat *f;
  const int64_t windows = cfg->stage == 2 ? 1 : w->M;
  if (b == NULL) FAULT(ZP_CHECK_COMPLETE, "there is no such bucket");
  f = &w->st->lay.flat[op->flat];
  if (op->kind != (cfg->stage == 0 ? ZP_OP_ALL_REDUCE : ZP_OP_REDUCE_SCATTER) ||
      op->group != f->group)
    FAULT(ZP_CHECK_COMPLETE, "is not this stage's reduction of that flat group");
  if (b->replica != 0) FAULT(ZP_CHECK_COMPLETE, "comes after the sum between replicas");
  if (b->filled != windows * zp_bucket_numel(f, op->bucket))
    FAULT(ZP_CHECK_COMPLETE, "%lld of %lld elements were added before the reduction",
          (long long)b->filled, (long long)(windows * zp_bucket_numel(f, op->bucket)));
  if (op->count != reduce_count(cfg, f, op->bucket))
    FAULT(ZP_CHECK_COMPLETE, "reduces %lld elements where the bucket has %lld",
          (long long)op->count, (long long)reduce_count(cfg, f, op->bucket));
  if (op->mb != w->adding) FAULT(ZP_CHECK_COMPLETE, "is not of the micro-batch just added");
  b->filled = 0;
  b->reduced++;
  if (cfg->stage == 2) {
    const int64_t id = slot_id(w, op);
    int64_t *held = slot_of(w, op);
    if (held == NULL || *held != id)
      FAULT(ZP_CHECK_BUCKET_SLOT, "bucket slot %d does not hold this bucket", (int)op->slot);
    *held = -1;
  }
  w->c->result->count[ZP_CHECK_COMPLETE]++;
  return 0;
}

/* Elements of an op on all that a rank holds of a bucket: `n` sums. */
static int64_t width_of(const zp_config *cfg, int64_t n)
{
  return n * (cfg->reduce == ZP_EXACT ? ZP_LIMBS : 1);
}

/* What the rank holds of an op's bucket. */
static zp_range held_of(const walk *w, const zp_op *op)
{
  const zp_block_rank *b = &w->c->block;
  return zp_local_range(&b->cfg, &w->st->lay, b->at, op->flat, op->bucket);
}

/* 1: the job has several replicas, whose sums are added. RED-9 */
static int32_t replicated(const walk *w)
{
  return w->c->job->replicas > 1;
}

/* The sum between replicas: of a completely reduced bucket, once, before all else. RED-9 */
static int on_replica(walk *w, const zp_op *op, int64_t pc)
{
  const zp_config *cfg = w->c->cfg;
  bucket_state *b = bucket_of(w, op);
  if (b == NULL) FAULT(ZP_CHECK_ONCE, "there is no such bucket");
  if (op->group != ZP_GROUP_REPLICA || b->reduced != (cfg->stage == 2 ? w->M : 1) ||
      b->replica != 0 || b->tied != 0 || b->mean != 0 ||
      op->count != width_of(cfg, held_of(w, op).count))
    FAULT(ZP_CHECK_ONCE, "is not the sum of this bucket between replicas");
  b->replica++;
  return 0;
}

/* Has the bucket elements of tp-replicated entries whose gradients are parts? RED-8 */
static int has_partial(const walk *w, int32_t k, int64_t b)
{
  const stage_info *st = w->st;
  return zp_partial_in(w->c->cfg, &st->lay, k, zp_whole_range(&st->lay.flat[k], b)) > 0;
}

/* The sum over tp: of a complete bucket, after the tied sums. RED-8 */
static int on_partial(walk *w, const zp_op *op, int64_t pc, bucket_state *b)
{
  const zp_config *cfg = w->c->cfg;
  const zp_layout *lay = &w->st->lay;
  const zp_range held = held_of(w, op);
  if (op->group != ZP_GROUP_TP || !has_partial(w, op->flat, op->bucket) || b->mean != 0 ||
      b->tied != (lay->flat[op->flat].tied >= 0) ||
      op->count != width_of(cfg, zp_partial_in(cfg, lay, op->flat, held)))
    FAULT(ZP_CHECK_ONCE, "is not the sum over tp of this bucket's partial gradients");
  b->partial++;
  return 0;
}

/* Tied sum, sum over tp, mean, update, gather: each once, in this order. */
static int on_bucket_once(walk *w, const zp_op *op, int64_t pc)
{
  const zp_config *cfg = w->c->cfg;
  bucket_state *b = bucket_of(w, op);
  const zp_flat *f;
  int64_t count;
  if (b == NULL) FAULT(ZP_CHECK_ONCE, "there is no such bucket");
  f = &w->st->lay.flat[op->flat];
  if (f->use != 0) FAULT(ZP_CHECK_ONCE, "the flat group is a further use of its key");
  if (b->reduced != (cfg->stage == 2 ? w->M : 1))
    FAULT(ZP_CHECK_ONCE, "the bucket was reduced %d times", (int)b->reduced);
  if (b->replica != replicated(w)) FAULT(ZP_CHECK_ONCE, "comes before the sum between replicas");
  if (op->what == ZP_WHAT_PARTIAL) return on_partial(w, op, pc, b);
  if (op->kind == ZP_OP_ALL_REDUCE) {
    count =
        width_of(cfg, cfg->stage == 0 ? zp_bucket_padded(f, op->bucket) : zp_part(f, op->bucket));
    if (op->group != ZP_GROUP_TIED || op->key != f->tied || op->count != count || b->mean != 0)
      FAULT(ZP_CHECK_ONCE, "is not the sum over the stages of this key");
    b->tied++;
  } else if (op->kind == ZP_OP_MEAN) {
    if (w->statistics || b->tied != (f->tied >= 0) ||
        b->partial != has_partial(w, op->flat, op->bucket))
      FAULT(ZP_CHECK_ONCE, "comes at the wrong time");
    b->mean++;
  } else if (op->kind == ZP_OP_UPDATE) {
    if (!w->decided || !op->if_stepped || b->mean != 1)
      FAULT(ZP_CHECK_ONCE, "comes before the decision");
    b->updated++;
  } else {
    if (b->updated != 1 || !op->if_stepped || op->count != zp_part(f, op->bucket))
      FAULT(ZP_CHECK_ONCE, "gathers a part that was not updated, or not all of it");
    b->gathered++;
  }
  return 0;
}

static int on_rest(walk *w, const zp_op *op, int64_t pc)
{
  switch (op->kind) {
  case ZP_OP_LOAD: w->loaded = op->mb; return 0;
  case ZP_OP_ARRIVED:
    if (op->mb != w->adding) FAULT(ZP_CHECK_ADD, "checks a micro-batch that did not just end");
    w->arrived = op->mb;
    return 0;
  case ZP_OP_ALL_REDUCE: /* statistics */
    if (w->statistics++ != 0 || op->count != ZP_STATS || op->group != ZP_GROUP_WORLD)
      FAULT(ZP_CHECK_ONCE, "statistics are agreed once, by the world");
    return 0;
  case ZP_OP_DECIDE:
    if (w->statistics != 1 || w->decided++ != 0)
      FAULT(ZP_CHECK_ONCE, "decides before the statistics, or twice");
    return 0;
  default: FAULT(ZP_CHECK_ONCE, "has no place in a step");
  }
}

static int on_op(walk *w, const zp_op *op, int64_t pc)
{
  switch (op->kind) {
  case ZP_OP_META:
  case ZP_OP_P2P: return on_exchange(w, op, pc);
  case ZP_OP_FORWARD: return on_forward(w, op, pc);
  case ZP_OP_BACKWARD: return on_backward(w, op, pc);
  case ZP_OP_ADD: return on_add(w, op, pc);
  case ZP_OP_REDUCE_SCATTER: return on_reduce(w, op, pc);
  case ZP_OP_MEAN:
  case ZP_OP_UPDATE:
  case ZP_OP_ALL_GATHER: return on_bucket_once(w, op, pc);
  case ZP_OP_ALL_REDUCE:
    if (op->what == ZP_WHAT_GRADIENT) return on_reduce(w, op, pc);
    if (op->what == ZP_WHAT_REPLICA) return on_replica(w, op, pc);
    if (op->what == ZP_WHAT_TIED || op->what == ZP_WHAT_PARTIAL) return on_bucket_once(w, op, pc);
    return on_rest(w, op, pc);
  default: return on_rest(w, op, pc);
  }
}

/* What must have happened by the end of the step. */
static int at_end(walk *w, const zp_op *op, int64_t pc)
{
  const zp_config *cfg = w->c->cfg;
  const zp_layout *lay = &w->st->lay;
  if (w->forwarded != w->M || w->backwarded != w->M || w->alive != 0)
    FAULT(ZP_CHECK_ACTIVATION, "the step ends after %lld forwards and %lld backwards of %lld",
          (long long)w->forwarded, (long long)w->backwarded, (long long)w->M);
  if (w->most_alive != w->alive_max)
    FAULT(ZP_CHECK_BUFFERS, "%lld activations at a time, of %lld buffers", (long long)w->most_alive,
          (long long)w->alive_max);
  if (w->act_due >= 0 || w->grad_due >= 0 || w->act_got >= 0 || w->grad_got >= 0)
    FAULT(ZP_CHECK_P2P, "the step ends with a message unsent or unused");
  if (all_entries(w, op, pc) != 0) return ZP_E_VERDICT;
  if (w->decided != 1) FAULT(ZP_CHECK_ONCE, "the step ends without a decision");
  for (int32_t k = 0; k < lay->n_flats; k++) {
    const int32_t holds = lay->flat[k].use == 0;
    for (int64_t j = w->st->first_bucket[k]; j < w->st->first_bucket[k + 1]; j++) {
      const bucket_state *b = &w->c->bucket[j];
      if (b->reduced != (cfg->stage == 2 ? w->M : 1) || b->filled != 0 || b->mean != holds ||
          b->replica != replicated(w) || b->updated != holds ||
          b->gathered != (holds && cfg->stage > 0) ||
          b->tied != (holds && lay->flat[k].tied >= 0) ||
          b->partial != (holds && has_partial(w, k, j - w->st->first_bucket[k])))
        FAULT(ZP_CHECK_ONCE,
              "flat group %d, bucket %lld: reduced %d times, between replicas %d, tied %d, over tp "
              "%d, "
              "averaged %d, updated %d, gathered %d",
              (int)k, (long long)(j - w->st->first_bucket[k]), (int)b->reduced, (int)b->replica,
              (int)b->tied, (int)b->partial, (int)b->mean, (int)b->updated, (int)b->gathered);
      w->c->result->count[ZP_CHECK_ONCE]++;
    }
  }
  return 0;
}

/* The plan's number of buffers, which the engines allocate. */
static int check_buffers(walk *w)
{
  const int64_t planned = w->c->job->alive(w->S, w->M, w->s);
  if (planned != w->alive_max)
    return zp_check_violation(w->c, ZP_CHECK_BUFFERS, NULL, 0,
                              "the plan has %lld activation buffers, expected %lld: stage %lld of "
                              "%lld, %lld micro-batches",
                              (long long)planned, (long long)w->alive_max, (long long)w->s,
                              (long long)w->S, (long long)w->M);
  w->c->result->count[ZP_CHECK_BUFFERS]++;
  return 0;
}

int zp_check_step(checker *c, const zp_op *ops, int64_t n)
{
  const stage_info *st = &c->stage[c->at.pp];
  walk w = {.c = c, .st = st, .S = c->cfg->pp, .M = c->cfg->micro_batches, .s = c->at.pp};
  w.alive_max = zp_check_activations(w.S, w.M, w.s);
  if (check_buffers(&w) != 0) return ZP_E_VERDICT;
  w.act_got = w.grad_got = w.act_due = w.grad_due = -1;
  w.meta = w.loaded = w.arrived = w.adding = -1;
  memset(c->bucket, 0, (size_t)st->first_bucket[st->lay.n_flats] * sizeof *c->bucket);
  w.slots = zp_slot_count(&c->block.cfg, &st->lay, c->job->slots);
  memset(c->slot_of, -1, (size_t)w.slots * sizeof *c->slot_of);
  memset(c->next_mb, -1, (size_t)st->lay.n_params * sizeof *c->next_mb);
  memset(c->act, -1, (size_t)w.alive_max * sizeof *c->act);
  for (int64_t pc = 0; pc < n; pc++)
    if (on_op(&w, &ops[pc], pc) != 0) return ZP_E_VERDICT;
  return at_end(&w, n > 0 ? &ops[n - 1] : NULL, n - 1);
}
