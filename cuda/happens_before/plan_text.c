/* The costs of a plan's work, and its names in reports. */
#include <inttypes.h>
#include <stdio.h>

#include "../../ref/comm/comm.h"
#include "program_walk.h"

/* ---- Costs ----------------------------------------------------------------------------------- */

/* Round numbers in the proportions of a training step. */
static int64_t cost_of(const zp_hb_node *n)
{
  if (n->what != ZP_HB_OP) return 4;
  switch (n->kind) {
  case ZP_OP_FORWARD: return 100;
  case ZP_OP_BACKWARD: return 200;
  case ZP_OP_ADD: return 8;
  case ZP_OP_META: return 10;
  case ZP_OP_P2P: return 30;
  case ZP_OP_REDUCE_SCATTER:
  case ZP_OP_ALL_REDUCE:
  case ZP_OP_ALL_GATHER: return n->chain < 0 ? 40 : 8;
  default: return 8;
  }
}

static uint64_t mixed(uint64_t x)
{
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

void zp_hb_costs(const zp_hb_plan *p, uint64_t seed, int64_t *cost)
{
  for (int32_t v = 0; v < p->graph.n; v++) {
    const uint64_t kind = mixed(seed * 1000003 + (uint64_t)p->node[v].kind * 97 +
                                (uint64_t)p->node[v].what * 7 + (uint64_t)(p->node[v].chain < 0));
    cost[v] = p->node[v].joint >= 0 ? 0 : cost_of(&p->node[v]);
    if (seed == 0 || p->node[v].joint >= 0) continue;
    cost[v] = 1 + (int64_t)(mixed(kind) % 1000) + (int64_t)(mixed(kind + (uint64_t)v) % 400);
  }
}

/* ---- Names ----------------------------------------------------------------------------------- */

void zp_hb_node_text(const zp_hb_plan *p, int32_t node, char *text, int64_t cap)
{
  static const char *const what[] = {"",
                                     "",
                                     "the caller's copy of the gradient of entry",
                                     "the staging of the gradient of entry",
                                     "the caller's reuse of the buffer of entry",
                                     "",
                                     "",
                                     "the gradient of entry",
                                     "forward's first reading of entry"};
  const zp_hb_node *n = &p->node[node];
  char op[ZP_HB_NAME] = "the copy of the state to the host";
  if (n->what == ZP_HB_STATE) snprintf(op, sizeof op, "forward's reading of the step's state");
  else if (n->what == ZP_HB_REST)
    snprintf(op, sizeof op, "the rest of backward, micro-batch %" PRId64, n->mb);
  else if (n->what == ZP_HB_OP) zp_op_describe(&p->program[n->rank][n->pc], op, sizeof op);
  else if (n->what != ZP_HB_GET)
    snprintf(op, sizeof op, "%s %d, micro-batch %" PRId64, what[n->what], n->param, n->mb);
  snprintf(text, (size_t)cap, "rank %d, step %d: %s%s", zp_hb_rank_of(p, n->rank), n->step,
           n->part == ZP_HB_TRANSFER      ? "the copy to or from the host of "
           : n->part == ZP_HB_HOST_UPDATE ? "on the host: "
                                          : "",
           op);
}

void zp_hb_operand_text(int32_t why, char *text, int64_t cap)
{
  static const char *const names[ZP_ON_FLAT] = {"one at a time on a stream",
                                                "one communication at a time",
                                                "the host's wait",
                                                "all members of a communication",
                                                "the parameters",
                                                "the step's state",
                                                "the losses",
                                                "the received activation",
                                                "the activation to be sent",
                                                "the received gradient of the activation",
                                                "the gradient of the activation to be sent",
                                                "the caller's gradients",
                                                "the caller's buffer of a gradient",
                                                "the staged gradient",
                                                "the flag of non-finite values",
                                                "the parameters copied back"};
  const int32_t k = (why - ZP_ON_FLAT) / ZP_ON_EACH, i = (why - ZP_ON_FLAT) % ZP_ON_EACH;
  if (why < ZP_ON_FLAT) snprintf(text, (size_t)cap, "%s", names[why]);
  else if (i == ZP_ON_SUMS) snprintf(text, (size_t)cap, "the sums of flat group %d", k);
  else if (i == ZP_ON_MEANS) snprintf(text, (size_t)cap, "the means of flat group %d", k);
  else if (i == ZP_ON_PARTS)
    snprintf(text, (size_t)cap, "the rank's parameters of flat group %d", k);
  else snprintf(text, (size_t)cap, "bucket slot %d", k);
}
