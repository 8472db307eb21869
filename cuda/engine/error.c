/* Errors: the first one is kept, with the places of host and device in the program. Then, in this
 * order: the other ranks are told; the steps before the one that failed are let end, which all
 * ranks have issued; the gate is shut, so that what an aborted communication leaves behind changes
 * neither parameters nor state; the communicators are aborted, so that no other rank waits for this
 * one for ever. spec: STEP-3, STEP-5, LEDG-7 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../../ref/engine/comm.h"
#include "engine_internal.h"

const char *zp_cuda_op_text(const zp_op *op, char *text, size_t cap)
{
  snprintf(text, cap, "%s, %s group, flat group %d, bucket %lld, micro-batch %lld",
           zp_op_name(op->kind), op->group < 0 ? "no" : zp_group_name(op->group), op->flat,
           (long long)op->bucket, (long long)op->mb);
  return text;
}

/* ---- Places ---------------------------------------------------------------------------------- */

static void add_text(zp_cuda_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void add_text(zp_cuda_error *err, const char *format, ...)
{
  const size_t n = strlen(err->text);
  va_list args;
  va_start(args, format);
  vsnprintf(err->text + n, sizeof err->text - n, format, args);
  va_end(args);
}

enum { NAMED = 4 };

/* Whom the op waits for: who is at fault is one of them, or one that they wait for. */
static void add_others(const zp_cuda *e, zp_cuda_error *err, const zp_op *op)
{
  const int32_t size = op->group < 0 ? 0 : zp_group_size(e->cfg, op->group, op->key, e->at);
  const int pair = op->kind == ZP_OP_P2P || op->kind == ZP_OP_META;
  int32_t n = 0;
  for (int32_t i = 0; i < size; i++) {
    const int32_t r = zp_group_member(e->cfg, op->group, op->key, e->at, i);
    if (r == e->opt.rank || (pair && i != op->root) || n++ >= NAMED) continue;
    add_text(err, n > 1 ? ", %d" : pair || size == 2 ? ", with rank %d" : ", with ranks %d", r);
  }
  if (n > NAMED) add_text(err, " and %d more", n - NAMED);
}

static void add_place(const zp_cuda *e, zp_cuda_error *err, int32_t phase, int64_t step, int64_t pc)
{
  static const char *const names[ZP_PHASES] = {"INIT", "step", "saving after step",
                                               "loading after step"};
  char op[160];
  add_text(err, "%s", names[phase]);
  if (phase != ZP_PHASE_INIT) add_text(err, " %lld", (long long)step);
  add_text(err, ", program position %lld", (long long)pc);
  if (pc >= e->length[phase]) return;
  add_text(err, " (%s", zp_cuda_op_text(&e->program[phase][pc], op, sizeof op));
  add_others(e, err, &e->program[phase][pc]);
  add_text(err, ")");
}

/* Both places: the host may be two steps ahead. */
static void add_places(zp_cuda *e, zp_cuda_error *err)
{
  const zp_cuda_mark *device = e->marks.mark ? zp_cuda_position(e) : NULL;
  add_text(err, "rank %d (stage %d, dp %d, tp %d), ", e->opt.rank, e->at.pp, e->at.dp, e->at.tp);
  if (e->phase < 0) {
    add_text(err, "not in a program: ");
    return;
  }
  add_place(e, err, e->phase, e->step, e->pc);
  if (device) {
    add_text(err, ", the device is in ");
    add_place(e, err, device->phase, device->step, device->pc);
  } else if (e->marks.n > 0) {
    device = &e->marks.mark[(e->marks.n - 1) % e->marks.cap];
    add_text(err, ", the device has ended all communication, last in ");
    add_place(e, err, device->phase, device->step, device->pc);
  }
  add_text(err, ": ");
}

/* ---- Giving up ------------------------------------------------------------------------------- */

/* The step that the host is in or will be in next; -1: INIT. */
static int64_t host_step(const zp_cuda *e)
{
  return e->ready ? e->step : -1;
}

/* Nobody is waited for by another rank's fault: what is on the device says where this rank is. */
static int64_t device_step(zp_cuda *e)
{
  const zp_cuda_mark *device = e->marks.mark ? zp_cuda_position(e) : NULL;
  return device && device->step < host_step(e) ? device->step : host_step(e);
}

/* 1: what is queued does not go on: the step that failed is the device's, not the host's. */
static int is_lost(const zp_cuda *e)
{
  const cudaError_t state = e->reduce ? cudaStreamQuery(e->reduce) : cudaSuccess;
  return state != cudaSuccess && state != cudaErrorNotReady;
}

/* The steps before `first`. Where the host is past the step after that, the event has been recorded
 * again, for a step that may never end; but then the host has waited for its earlier record. */
static void let_earlier_end(zp_cuda *e, int64_t first)
{
  if (e->ready && first >= 0 && e->step < first + ZP_CUDA_FLIGHT)
    zp_cuda_let_end(e, e->ended[(first + ZP_CUDA_FLIGHT - 1) % ZP_CUDA_FLIGHT]);
}

/* first: the step that failed, which no rank can end. Those before it have been issued by all. */
static void give_up(zp_cuda *e, int64_t first, int wait)
{
  if (wait) let_earlier_end(e, first);
  if (device_step(e) < first) first = device_step(e);
  if (e->shared) __atomic_store_n(&e->shared->stop, first > 0 ? first : 0, __ATOMIC_RELEASE);
  zp_cuda_abort(e);
}

static void tell(zp_cuda *e, int64_t first)
{
  zp_cuda_alarm alarm = {e->opt.rank, e->err.status, first, ""};
  if (!e->opt.outside.tell) return;
  memcpy(alarm.text, e->err.text, sizeof alarm.text);
  e->opt.outside.tell(e->opt.outside.ctx, &alarm);
}

static void say(zp_cuda *e, zp_cuda_error *to, int32_t status, const char *format, va_list args)
{
  size_t n;
  to->text[0] = 0;
  add_places(e, to);
  n = strlen(to->text);
  vsnprintf(to->text + n, sizeof to->text - n, format, args);
  to->status = status;
}

void zp_cuda_say(zp_cuda *e, zp_cuda_error *to, int32_t status, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  say(e, to, status, format, args);
  va_end(args);
}

int zp_cuda_fail(zp_cuda *e, int32_t status, const char *format, ...)
{
  const int peer = status == ZP_CUDA_E_PEER;
  int64_t first;
  va_list args;
  if (e->err.status) return -1;
  first = peer || is_lost(e) ? device_step(e) : host_step(e);
  va_start(args, format);
  say(e, &e->err, status, format, args);
  va_end(args);
  tell(e, first);
  give_up(e, first, !peer);
  return -1;
}

int zp_cuda_heed(zp_cuda *e, int any)
{
  zp_cuda_alarm a;
  if (e->err.status) return e->agreed ? 0 : -1; /* what all have agreed on breaks no communicator */
  if (!e->opt.outside.hear || !e->opt.outside.hear(e->opt.outside.ctx, &a)) return 0;
  if (a.step > host_step(e) && !any) return 0;
  if (a.step == ZP_CUDA_STEP_UNKNOWN) { /* it will not say: as for a peer that NCCL misses */
    const int64_t first = device_step(e);
    zp_cuda_say(e, &e->err, ZP_CUDA_E_PEER, "%s", a.text);
    give_up(e, first, 0);
    return -1;
  }
  zp_cuda_say(e, &e->err, ZP_CUDA_E_PEER, "rank %d %s: %s", a.rank,
              a.status == ZP_CUDA_E_PEER ? "has given up" : "has failed", a.text);
  give_up(e, a.step, a.status != ZP_CUDA_E_PEER); /* who gave up waits for a third */
  return -1;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

int zp_cuda_check(zp_cuda *e, cudaError_t result, const char *call)
{
  if (result == cudaSuccess) return 0;
  return zp_cuda_fail(e, result == cudaErrorMemoryAllocation ? ZP_CUDA_E_MEMORY : ZP_CUDA_E_CUDA,
                      "CUDA error %d from %s", (int)result, call);
}

int zp_cuda_check_nccl(zp_cuda *e, ncclResult_t result, const char *call)
{
  if (result == ncclSuccess || result == ncclInProgress) return 0;
  if (result == ncclRemoteError) return zp_cuda_peer_failed(e, result, call);
  return zp_cuda_fail(e, ZP_CUDA_E_CUDA, "NCCL error %d from %s", (int)result, call);
}

const zp_cuda_error *zp_cuda_why(const zp_cuda *e)
{
  static const zp_cuda_error none;
  const zp_cuda_error *err = &none;
  zp_cuda_enter(e);
  if (e->err.status) err = &e->err;
  else if (e->unsaved.status) err = &e->unsaved;
  zp_cuda_leave(e);
  return err;
}
