/* Labels and sentences for the bars of a timeline. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../ref/comm/block.h"
#include "timeline_layout.h"

static const zp_op *op_of(const zp_timeline *t, const zp_bar *b)
{
  const zp_hb_node *n = &t->plan->node[b->node];
  return &t->plan->program[n->rank][n->pc];
}

static void op_label(const zp_op *op, int32_t part, char *text, size_t cap)
{
  const int comm = part % 2 == 1;
  const char *what = op->what == ZP_WHAT_TIED      ? "tied"
                     : op->what == ZP_WHAT_PARTIAL ? "tp"
                     : op->what == ZP_WHAT_REPLICA ? "rep"
                                                   : "red";
  switch (op->kind) {
  case ZP_OP_FORWARD: snprintf(text, cap, "F%" PRId64, op->mb); return;
  case ZP_OP_BACKWARD: snprintf(text, cap, "B%" PRId64, op->mb); return;
  case ZP_OP_META: snprintf(text, cap, "meta"); return;
  case ZP_OP_P2P: snprintf(text, cap, "p2p"); return;
  case ZP_OP_ADD: snprintf(text, cap, "+e%d %d.%" PRId64, op->param, op->flat, op->bucket); return;
  case ZP_OP_MEAN: snprintf(text, cap, "mean %d.%" PRId64, op->flat, op->bucket); return;
  case ZP_OP_DECIDE: snprintf(text, cap, "decide"); return;
  case ZP_OP_UPDATE: snprintf(text, cap, "upd %d.%" PRId64, op->flat, op->bucket); return;
  case ZP_OP_ALL_GATHER:
    snprintf(text, cap, "%s %d.%" PRId64, comm ? "gather" : "scatter", op->flat, op->bucket);
    return;
  default: break;
  }
  if (op->what == ZP_WHAT_STATISTICS) snprintf(text, cap, "%s", comm ? "stat" : "pack");
  else snprintf(text, cap, "%s%s %d.%" PRId64, what, comm ? "" : "+", op->flat, op->bucket);
}

void zp_timeline_label(const zp_timeline *t, const zp_bar *b, char *text, int64_t cap)
{
  const zp_hb_node *n = b->node < 0 ? NULL : &t->plan->node[b->node];
  if (!n) snprintf(text, (size_t)cap, "%s", t->run->vertex[b->item].item->name);
  else if (n->what == ZP_HB_OP) op_label(op_of(t, b), n->part, text, (size_t)cap);
  else if (n->what == ZP_HB_GET) snprintf(text, (size_t)cap, "get");
  else if (n->what == ZP_HB_REST) snprintf(text, (size_t)cap, "rest");
  else if (n->what == ZP_HB_STATE) snprintf(text, (size_t)cap, "state");
  else
    snprintf(text, (size_t)cap, "%s e%d",
             n->what == ZP_HB_COPY    ? "copy"
             : n->what == ZP_HB_STAGE ? "stage"
             : n->what == ZP_HB_PIECE ? "grad"
             : n->what == ZP_HB_READ  ? "read"
                                      : "reuse",
             n->param);
}

void zp_timeline_text(const zp_timeline *t, const zp_bar *b, char *text, int64_t cap)
{
  const zp_op *op;
  if (b->node < 0) {
    snprintf(text, (size_t)cap, "%s: not in the plan", t->run->vertex[b->item].item->name);
    return;
  }
  zp_hb_node_text(t->plan, b->node, text, cap);
  if (t->plan->node[b->node].what != ZP_HB_OP) return;
  op = op_of(t, b);
  const size_t n = strlen(text);
  if (op->kind == ZP_OP_ADD)
    snprintf(text + n, (size_t)cap - n, ", entry %d, elements %" PRId64 " to %" PRId64, op->param,
             op->offset, op->offset + op->count - 1);
  else if (op->kind >= ZP_OP_FIRST_COMM && op->mb >= 0)
    snprintf(text + n, (size_t)cap - n, ", micro-batch %" PRId64, op->mb);
  if (op->slot >= 0 && op->flat >= 0)
    snprintf(text + strlen(text), (size_t)cap - strlen(text), ", slot %d", op->slot);
}
