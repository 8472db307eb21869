/* The text of an error begins with the positions of host and device in the programs. */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../../../ref/base/invariant.h"
#include "../../../ref/comm/comm.h"
#include "../../../ref/engine/hyper.h"
#include "rank.h"

/* ---- Positions ------------------------------------------------------------------------------- */

enum { NAMED = 4 };

/* The ranks that the op waits for: one of these, or a rank that they wait for, is at fault. */
static void add_others(const zp_cuda_rank *r, zp_error *err, const zp_op *op)
{
  const zp_cuda_plan *p = &r->plan;
  const int32_t size = op->group < 0 ? 0 : zp_block_group_size(&p->block, op->group, op->key);
  const int pair = op->kind == ZP_OP_P2P || op->kind == ZP_OP_META;
  int32_t n = 0;
  for (int32_t i = 0; i < size; i++) {
    const int32_t other = zp_block_group_member(&p->block, op->group, op->key, i);
    if (other == r->opt.rank || (pair && i != op->root) || n++ >= NAMED) continue;
    zp_error_append(err,
                    n > 1               ? ", %d"
                    : pair || size == 2 ? ", with rank %d"
                                        : ", with ranks %d",
                    other);
  }
  if (n > NAMED) zp_error_append(err, " and %d more", n - NAMED);
}

static void add_position(const zp_cuda_rank *r, zp_error *err, int32_t phase, int64_t step,
                         int64_t pc)
{
  static const char *const names[ZP_PHASES] = {"INIT", "step", "saving after step",
                                               "loading after step"};
  const zp_op *op;
  zp_error_append(err, "%s", names[phase]);
  if (phase != ZP_PHASE_INIT) zp_error_append(err, " %lld", (long long)step);
  zp_error_append(err, ", program position %lld", (long long)pc);
  if (pc < 0 || pc >= r->plan.length[phase]) return;
  op = &r->plan.program[phase][pc];
  zp_error_append(err, " (%s, %s group, flat group %d, bucket %lld, micro-batch %lld",
                  zp_op_name(op->kind), op->group < 0 ? "no" : zp_group_name(op->group), op->flat,
                  (long long)op->bucket, (long long)op->mb);
  add_others(r, err, op);
  zp_error_append(err, ")");
}

/* Both, since the host may be two steps ahead. */
static void add_positions(zp_cuda_rank *r, zp_error *err)
{
  const zp_coord *at = &r->plan.at;
  const zp_cuda_position *host = &r->progress.host;
  const zp_cuda_mark *device = zp_cuda_progress_device(&r->progress);
  zp_error_append(err, "rank %d (stage %d, dp %d, tp %d), ", r->opt.rank, at->pp, at->dp, at->tp);
  if (host->cursor.phase < 0) {
    zp_error_append(err, "not in a program: ");
    return;
  }
  add_position(r, err, host->cursor.phase, host->step, zp_cursor_position(&host->cursor));
  if (device) zp_error_append(err, ", the device is in ");
  else if ((device = zp_cuda_progress_latest(&r->progress)) != NULL)
    zp_error_append(err, ", the device has ended all communication, last in ");
  if (device) add_position(r, err, device->phase, device->step, device->pc);
  zp_error_append(err, ": ");
}

/* ---- Errors ---------------------------------------------------------------------------------- */

static void set(zp_cuda_rank *r, zp_error *to, int32_t status, const char *format, va_list args)
{
  size_t n;
  to->text[0] = 0;
  add_positions(r, to);
  n = strlen(to->text);
  vsnprintf(to->text + n, sizeof to->text - n, format, args);
  to->rank = r->opt.rank;
  to->status = status;
}

void zp_cuda_set_error(zp_cuda_rank *r, zp_error *to, int32_t status, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  set(r, to, status, format, args);
  va_end(args);
}

int zp_cuda_fail(zp_cuda_rank *r, int32_t status, const char *format, ...)
{
  zp_cuda_failure *f = &r->failure;
  va_list args;
  if (f->first.status) return -1;
  f->agreed = f->torn_down = f->received = f->differs = 0;
  va_start(args, format);
  set(r, &f->first, status, format, args);
  va_end(args);
  return -1;
}

int zp_cuda_fail_received(zp_cuda_rank *r, int64_t step, int32_t drains, const char *format, ...)
{
  zp_cuda_failure *f = &r->failure;
  va_list args;
  if (f->first.status) return -1;
  va_start(args, format);
  set(r, &f->first, ZP_E_PEER, format, args);
  va_end(args);
  f->received = 1;
  f->step = step;
  f->drains = drains;
  return -1;
}

int zp_cuda_check(zp_cuda_rank *r, cudaError_t result, const char *call)
{
  if (result == cudaSuccess) return 0;
  return zp_cuda_fail(r, result == cudaErrorMemoryAllocation ? ZP_E_MEMORY : ZP_E_DEVICE,
                      "CUDA error %d (%s) from %s", (int)result, cudaGetErrorString(result), call);
}

int zp_cuda_check_hyper(zp_cuda_rank *r, int64_t last)
{
  const zp_difference *d = &r->progress.shared->difference;
  const int64_t step = __atomic_load_n(&d->step, __ATOMIC_ACQUIRE);
  zp_error why = {0};
  char where[32];
  if (step < 0 || step > last) return 0;
  snprintf(where, sizeof where, "step %lld", (long long)step);
  zp_hyper_differ(&why, r->opt.rank, zp_world(r->plan.cfg), where, d->digest, d->sums);
  if (zp_cuda_has_failed(r)) return -1;
  zp_cuda_fail(r, why.status, "%s", why.text);
  r->failure.differs = 1;
  r->failure.step = step;
  return -1;
}

int zp_cuda_has_failed(const zp_cuda_rank *r)
{
  return r->failure.first.status != ZP_OK;
}

int zp_cuda_failure_invariant(const zp_cuda_failure *f, zp_error *err)
{
  ZP_INVARIANT(err, -1, f->first.status <= ZP_OK);
  ZP_INVARIANT(err, -1, f->first.status == ZP_OK || f->first.text[0] != 0);
  ZP_INVARIANT(err, -1, f->first.status != ZP_OK || (!f->received && !f->agreed && !f->torn_down));
  return 0;
}
