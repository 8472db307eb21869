/* Ledgers: every member of a group issues the first member's sequence; neighbours' exchanges pair.
 * spec: LEDG-1, LEDG-2, PIPE-5 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "plan_check_internal.h"

static const int32_t kind_of_group[ZP_ALL_GROUPS] = {
    [ZP_GROUP_WORLD] = ZP_CHECK_WORLD, [ZP_GROUP_DP] = ZP_CHECK_DP,
    [ZP_GROUP_TP] = ZP_CHECK_TP,       [ZP_GROUP_PP] = ZP_CHECK_P2P,
    [ZP_GROUP_EDP] = ZP_CHECK_EDP,     [ZP_GROUP_EP] = ZP_CHECK_EP,
    [ZP_GROUP_TIED] = ZP_CHECK_TIED,   [ZP_GROUP_REPLICA] = ZP_CHECK_REPLICA,
};

/* Makes room for one more op. */
static int reserve(zp_op **op, int64_t *cap, int64_t n)
{
  if (n < *cap) return 0;
  const int64_t more = *cap == 0 ? ZP_CHECK_LEDGER_OPS : 2 * *cap;
  zp_op *p = realloc(*op, (size_t)more * sizeof *p);
  if (p == NULL) return -1;
  *op = p;
  *cap = more;
  return 0;
}

static int append(checker *c, ledger *l, const zp_op *op)
{
  if (reserve(&l->op, &l->cap, l->n) != 0)
    return zp_fail(c->err, ZP_E_MEMORY, -1, "no memory for a ledger of %lld ops", (long long)l->n);
  l->op[l->n++] = *op;
  return 0;
}

/* Where the ledger of the group that `at` is in is kept: ranks are visited in an order in which
 * the next ranks need the same ones. */
static ledger *cached(checker *c, int32_t group, int32_t key)
{
  int64_t i = 0;
  if (group == ZP_GROUP_TIED) return &c->cache[c->phase][group][key];
  if (group == ZP_GROUP_TP) i = c->at.pp;
  else if (group != ZP_GROUP_WORLD) i = (int64_t)c->at.pp * c->cfg->tp + c->at.tp;
  if (group == ZP_GROUP_DP || group == ZP_GROUP_EDP || group == ZP_GROUP_EP)
    i = i * c->job->replicas + c->block.index;
  return &c->cache[c->phase][group][i % c->slots];
}

/* Generates the first member's program to read off its ledger of the group. */
static int regenerate(checker *c, ledger *l, int32_t group, int32_t key, int32_t first)
{
  zp_block_rank b = zp_block_of(c->cfg, c->job->replicas, first);
  b.fp32_gradients = c->job->fp32_gradients;
  b.slots = c->job->slots;
  const int64_t n = c->job->write(&b, &c->stage[b.at.pp].lay, c->phase, c->ref_ops, c->cap_ops);
  l->n = 0;
  l->first = -1;
  if (n < 0) return zp_fail(c->err, ZP_E_VERDICT, first, "rank %d: no program", (int)first);
  for (int64_t pc = 0; pc < n; pc++) {
    const zp_op *op = &c->ref_ops[pc];
    if (op->kind < ZP_OP_FIRST_COMM || op->group != group) continue;
    if (group == ZP_GROUP_TIED && op->key != key) continue;
    if (append(c, l, op) != 0) return ZP_E_MEMORY;
  }
  l->first = first;
  return 0;
}

static int open_channel(checker *c, int32_t group, int32_t key)
{
  channel *ch = &c->channel[c->n_channels++];
  const int32_t size = group == ZP_GROUP_TIED ? 2 : zp_block_group_size(&c->block, group, key);
  const int32_t first = zp_block_group_id(&c->block, group, key);
  *ch = (channel){.group = group, .key = key};
  if (size < 2) return 0;
  ch->ref = cached(c, group, key);
  ch->self = first == c->rank;
  if (ch->self) {
    ch->ref->n = 0;
    ch->ref->first = -1;
  } else if (ch->ref->first != first) {
    return regenerate(c, ch->ref, group, key, first);
  }
  return 0;
}

int zp_check_channels_begin(checker *c)
{
  static const int32_t groups[] = {ZP_GROUP_WORLD, ZP_GROUP_DP, ZP_GROUP_TP,
                                   ZP_GROUP_EDP,   ZP_GROUP_EP, ZP_GROUP_REPLICA};
  const stage_info *st = &c->stage[c->at.pp];
  c->n_channels = 0;
  c->n_up_new = 0;
  c->up_pos = 0;
  for (int32_t i = 0; i < 6; i++)
    if (open_channel(c, groups[i], -1) != 0) return c->err->status;
  for (int32_t i = 0; i < st->n_tied; i++) {
    c->tied_channel[st->tied[i]] = c->n_channels;
    if (open_channel(c, ZP_GROUP_TIED, st->tied[i]) != 0) return c->err->status;
  }
  return 0;
}

/* The channel of an op, or NULL when the rank is in no such group. */
static channel *channel_of(checker *c, const zp_op *op)
{
  static const int8_t place_of[ZP_ALL_GROUPS] = {0, 1, 2, -1, 3, 4, -1, 5};
  if (op->group < 0 || op->group >= ZP_ALL_GROUPS || op->group == ZP_GROUP_PP) return NULL;
  if (op->group != ZP_GROUP_TIED) return &c->channel[place_of[op->group]];
  if (op->key < 0 || op->key >= c->cfg->tied_keys) return NULL;
  const int32_t i = c->tied_channel[op->key];
  if (i >= c->n_channels || c->channel[i].key != op->key) return NULL;
  return &c->channel[i];
}

/* 1 when two members' ops are one communication at one place of the clock. */
static int same(const zp_op *a, const zp_op *b)
{
  const int32_t d = (a->kind ^ b->kind) | (a->what ^ b->what) | (a->key ^ b->key) |
                    (a->dtype ^ b->dtype) | (a->redop ^ b->redop) | (a->root ^ b->root) |
                    (a->if_stepped ^ b->if_stepped);
  const int64_t e = (a->mb ^ b->mb) | (a->bucket ^ b->bucket) | (a->count ^ b->count) |
                    (a->clock_t ^ b->clock_t) | (a->clock_i ^ b->clock_i);
  return (d | e) == 0;
}

/* An exchange with the previous stage against what that stage issued. */
static int pair(checker *c, const zp_op *op, int64_t pc)
{
  const zp_op *o;
  if (op->what == ZP_WHAT_ACTIVATION) { /* for the next stage to compare */
    if (reserve(&c->up_new, &c->cap_up_new, c->n_up_new) != 0)
      return zp_fail(c->err, ZP_E_MEMORY, -1, "no memory for exchanges");
    c->up_new[c->n_up_new++] = *op;
    return 0;
  }
  if (c->up_pos >= c->n_up)
    return zp_check_violation(c, ZP_CHECK_P2P, op, pc, "stage %d issues no further exchange",
                              (int)c->at.pp - 1);
  o = &c->up[c->up_pos++];
  if (o->kind != op->kind || o->mb != op->recv_mb || o->recv_mb != op->mb ||
      o->dtype != op->dtype || o->count != op->count || o->clock_t != op->clock_t ||
      o->clock_i != op->clock_i || o->root != c->at.pp || op->root != c->at.pp - 1)
    return zp_check_violation(c, ZP_CHECK_P2P, op, pc,
                              "does not pair with stage %d's exchange, which sends micro-batch "
                              "%lld and receives %lld at clock (%lld, %lld)",
                              (int)c->at.pp - 1, (long long)o->mb, (long long)o->recv_mb,
                              (long long)o->clock_t, (long long)o->clock_i);
  c->result->count[ZP_CHECK_P2P]++;
  return 0;
}

int zp_check_channel_op(checker *c, const zp_op *op, int64_t pc)
{
  channel *ch;
  if (op->group == ZP_GROUP_PP) return pair(c, op, pc);
  ch = channel_of(c, op);
  if (ch == NULL)
    return zp_check_violation(c, ZP_CHECK_WORLD, op, pc, "this rank is in no such group");
  c->result->count[kind_of_group[ch->group]]++;
  if (ch->ref == NULL) return 0;
  if (ch->self) return append(c, ch->ref, op);
  if (ch->pos >= ch->ref->n)
    return zp_check_violation(c, kind_of_group[ch->group], op, pc,
                              "is its entry %lld of this ledger; rank %d's ledger has %lld",
                              (long long)ch->pos, (int)ch->ref->first, (long long)ch->ref->n);
  if (!same(op, &ch->ref->op[ch->pos])) {
    char text[256];
    zp_op_describe(&ch->ref->op[ch->pos], text, sizeof text);
    return zp_check_violation(c, kind_of_group[ch->group], op, pc,
                              "differs from entry %lld of rank %d's ledger: %s, clock (%lld, %lld)",
                              (long long)ch->pos, (int)ch->ref->first, text,
                              (long long)ch->ref->op[ch->pos].clock_t,
                              (long long)ch->ref->op[ch->pos].clock_i);
  }
  ch->pos++;
  return 0;
}

int zp_check_channels_end(checker *c)
{
  zp_op *up = c->up;
  const int64_t cap = c->cap_up;
  for (int32_t i = 0; i < c->n_channels; i++) {
    channel *ch = &c->channel[i];
    if (ch->ref == NULL) continue;
    if (ch->self) ch->ref->first = c->rank;
    else if (ch->pos != ch->ref->n)
      return zp_check_violation(c, kind_of_group[ch->group], &ch->ref->op[ch->pos], -1,
                                "is missing: this rank issued %lld of the %lld ops of rank %d",
                                (long long)ch->pos, (long long)ch->ref->n, (int)ch->ref->first);
  }
  if (c->phase != ZP_PHASE_STEP) return 0;
  if (c->up_pos != c->n_up)
    return zp_check_violation(c, ZP_CHECK_P2P, &c->up[c->up_pos], -1,
                              "of stage %d waits for this rank, which issues no such exchange",
                              (int)c->at.pp - 1);
  c->up = c->up_new;
  c->n_up = c->n_up_new;
  c->cap_up = c->cap_up_new;
  c->up_new = up;
  c->cap_up_new = cap;
  return 0;
}
