/* Errors: the first one is kept, with the place in the program; the communicators are aborted, so
 * that no other rank waits for this one for ever. spec: LEDG-7 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine_internal.h"

static const char *const kinds[ZP_OPS] = {
    [ZP_OP_LOAD] = "load",
    [ZP_OP_FORWARD] = "forward",
    [ZP_OP_BACKWARD] = "backward",
    [ZP_OP_ARRIVED] = "arrived",
    [ZP_OP_ADD] = "add",
    [ZP_OP_MEAN] = "mean",
    [ZP_OP_DECIDE] = "decide",
    [ZP_OP_UPDATE] = "update",
    [ZP_OP_WRITE] = "write",
    [ZP_OP_SEAL] = "seal",
    [ZP_OP_READ] = "read",
    [ZP_OP_COMMIT] = "commit",
    [ZP_OP_INSTALL] = "install",
    [ZP_OP_META] = "meta",
    [ZP_OP_P2P] = "p2p",
    [ZP_OP_REDUCE_SCATTER] = "reduce_scatter",
    [ZP_OP_ALL_REDUCE] = "all_reduce",
    [ZP_OP_ALL_GATHER] = "all_gather",
    [ZP_OP_BROADCAST] = "broadcast",
    [ZP_OP_GATHER] = "gather",
    [ZP_OP_CREATE] = "create",
};
static const char *const groups[ZP_GROUPS] = {"world", "dp", "tp", "pp", "edp", "ep", "tied"};

const char *zp_cuda_op_text(const zp_op *op, char *text, size_t cap)
{
  const char *kind = op->kind >= 0 && op->kind < ZP_OPS ? kinds[op->kind] : NULL;
  const char *group = op->group >= 0 && op->group < ZP_GROUPS ? groups[op->group] : "no";
  snprintf(text, cap, "%s, %s group, flat group %d, bucket %lld, micro-batch %lld",
           kind ? kind : "?", group, op->flat, (long long)op->bucket, (long long)op->mb);
  return text;
}

static void say(const zp_cuda *e, zp_cuda_error *to, int32_t status, const char *format,
                va_list args)
{
  char op[160] = "not in a program";
  int n;
  to->status = status;
  if (e->phase >= 0 && e->pc < e->length[e->phase])
    zp_cuda_op_text(&e->program[e->phase][e->pc], op, sizeof op);
  n = snprintf(to->text, sizeof to->text,
               "rank %d (stage %d, dp %d, tp %d), step %lld, program position %lld (%s): ",
               e->opt.rank, e->at.pp, e->at.dp, e->at.tp, (long long)e->step, (long long)e->pc, op);
  vsnprintf(to->text + n, sizeof to->text - (size_t)n, format, args);
}

void zp_cuda_say(const zp_cuda *e, zp_cuda_error *to, int32_t status, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  say(e, to, status, format, args);
  va_end(args);
}

int zp_cuda_fail(zp_cuda *e, int32_t status, const char *format, ...)
{
  va_list args;
  if (e->err.status) return -1;
  va_start(args, format);
  say(e, &e->err, status, format, args);
  va_end(args);
  zp_cuda_abort(e);
  return -1;
}

int zp_cuda_check(zp_cuda *e, cudaError_t result, const char *call)
{
  if (result == cudaSuccess) return 0;
  return zp_cuda_fail(e, result == cudaErrorMemoryAllocation ? ZP_CUDA_E_MEMORY : ZP_CUDA_E_CUDA,
                      "CUDA error %d from %s", (int)result, call);
}

int zp_cuda_check_nccl(zp_cuda *e, ncclResult_t result, const char *call)
{
  if (result == ncclSuccess || result == ncclInProgress) return 0;
  return zp_cuda_fail(e, result == ncclRemoteError ? ZP_CUDA_E_PEER : ZP_CUDA_E_CUDA,
                      "NCCL error %d from %s", (int)result, call);
}

const zp_cuda_error *zp_cuda_why(const zp_cuda *e)
{
  return e->err.status ? &e->err : &e->unsaved;
}
