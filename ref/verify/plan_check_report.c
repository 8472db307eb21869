/* How a violation is reported. */
#include <stdarg.h>
#include <stdio.h>

#include "plan_check_internal.h"

static const char *const names[ZP_CHECK_KINDS] = {
    [ZP_CHECK_LENGTH] = "programs have the length that was announced (LEDG-8)",
    [ZP_CHECK_CLOCK] = "clock strictly increases along every program (PIPE-5)",
    [ZP_CHECK_WORLD] = "ledger entries of world equal on all members (LEDG-2)",
    [ZP_CHECK_DP] = "ledger entries of dp groups equal on all members (LEDG-2)",
    [ZP_CHECK_EDP] = "ledger entries of edp groups equal on all members (LEDG-2)",
    [ZP_CHECK_TP] = "ledger entries of tp groups equal on all members (LEDG-2)",
    [ZP_CHECK_EP] = "ledger entries of ep groups equal on all members (LEDG-2)",
    [ZP_CHECK_TIED] = "ledger entries of tied groups equal on all members (LEDG-2)",
    [ZP_CHECK_REPLICA] = "ledger entries of replica groups equal on all members (LEDG-2)",
    [ZP_CHECK_P2P] = "exchanges paired with the neighbour's (PIPE-3)",
    [ZP_CHECK_ADD] = "runs tile their entry, each in one bucket (PART-3)",
    [ZP_CHECK_COMPLETE] = "reductions of complete buckets, full size (RED-3)",
    [ZP_CHECK_ONCE] = "buckets reduced, averaged, updated, gathered once (STEP-2)",
    [ZP_CHECK_BUCKET_SLOT] = "bucket slots filled only when free (RED-3)",
    [ZP_CHECK_ACTIVATION] = "activation slots free when taken, at most S - s (PIPE-4)",
    [ZP_CHECK_BUFFERS] = "activation buffers as many as micro-batches in flight (PIPE-4)",
};

static const char *const phases[ZP_PHASES] = {"init", "step", "save", "load"};

const char *zp_check_name(int32_t kind)
{
  return names[kind];
}

int zp_check_violation(checker *c, int32_t kind, const zp_op *op, int64_t pc, const char *format,
                       ...)
{
  char text[512], what[256] = "the program";
  va_list ap;
  va_start(ap, format);
  vsnprintf(text, sizeof text, format, ap);
  va_end(ap);
  if (op != NULL) zp_op_describe(op, what, sizeof what);
  zp_fail(c->err, ZP_E_VERDICT, c->rank,
          "violated: %s.\n  rank %d (pp %d, dp %d, tp %d), program %s, position %lld%s%s:\n"
          "  %s, clock (%lld, %lld)\n  %s",
          names[kind], (int)c->rank, (int)c->at.pp, (int)c->at.dp, (int)c->at.tp, phases[c->phase],
          (long long)pc, op != NULL && op->group >= 0 ? ", group " : "",
          op != NULL && op->group >= 0 ? zp_group_name(op->group) : "", what,
          op != NULL ? (long long)op->clock_t : -1, op != NULL ? (long long)op->clock_i : -1, text);
  return ZP_E_VERDICT;
}
