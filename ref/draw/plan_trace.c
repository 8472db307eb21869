/* The pipeline as a Chrome/Perfetto trace: a process per stage, rows for compute, exchanges and
 * collectives. There is no real time in a plan: a slot lasts a millisecond, inside it ops follow
 * their clock, an exchange taking a tenth of a slot. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>

#include "../base/output.h"
#include "../comm/comm.h"
#include "../engine/rank_plan.h"
#include "chrome_trace.h"
#include "plan_draw.h"

enum { ROW_COMPUTE = 1, ROW_EXCHANGE = 2, ROW_COLLECTIVE = 3 };
enum { SLOT_US = 1000, EXCHANGE_US = 100, STAGES_MAX = 1024 };

static void name_rows(zp_chrome_trace *t, int32_t stage)
{
  static const char *const rows[] = {"", "compute", "exchanges", "collectives"};
  char text[32];
  snprintf(text, sizeof text, "stage %d", (int)stage);
  zp_chrome_name(t, stage, -1, "process_name", text);
  zp_chrome_sort(t, stage, -1, "process_sort_index", stage);
  for (int r = ROW_COMPUTE; r <= ROW_COLLECTIVE; r++)
    zp_chrome_name(t, stage, r, "thread_name", rows[r]);
}

static void slice(zp_chrome_trace *t, int32_t stage, int row, double ts, double dur,
                  const char *name, const zp_op *op, int64_t pc)
{
  char text[256], clock[48];
  zp_op_describe(op, text, sizeof text);
  snprintf(clock, sizeof clock, "%" PRId64 ".%" PRId64, op->clock_t, op->clock_i);
  zp_chrome_slice(t, stage, row, ts, dur, name, zp_op_name(op->kind));
  zp_chrome_args(t);
  zp_chrome_string(t, "op", text);
  zp_chrome_integer(t, "position", pc);
  zp_chrome_string(t, "clock", clock);
  zp_chrome_close(t);
}

/* An arrow from the exchange of a stage to that of the next stage at the same clock. */
static void arrow(zp_chrome_trace *t, int32_t stage, double ts, int64_t id)
{
  for (int32_t end = 0; end < 2; end++) {
    zp_chrome_event(t, end ? "f" : "s");
    if (end) zp_chrome_string(t, "bp", "e");
    zp_chrome_row(t, stage + end, ROW_EXCHANGE);
    zp_chrome_time(t, "ts", ts);
    zp_chrome_integer(t, "id", id);
    zp_chrome_string(t, "name", "exchange");
    zp_chrome_string(t, "cat", "p2p");
    zp_chrome_close(t);
  }
}

static void op_slice(zp_chrome_trace *to, const zp_rank_plan *p, int64_t pc, double ts, double dur)
{
  const zp_op *op = &p->op[pc];
  char name[64];
  int row = ROW_COMPUTE;
  if (op->kind == ZP_OP_P2P || op->kind == ZP_OP_META) row = ROW_EXCHANGE;
  else if (op->kind >= ZP_OP_FIRST_COMM) row = ROW_COLLECTIVE;
  if (op->kind == ZP_OP_FORWARD || op->kind == ZP_OP_BACKWARD)
    snprintf(name, sizeof name, "%c%" PRId64, op->kind == ZP_OP_FORWARD ? 'F' : 'B', op->mb);
  else if (op->bucket >= 0)
    snprintf(name, sizeof name, "%s %" PRId32 ".%" PRId64, zp_op_name(op->kind), op->flat,
             op->bucket);
  else snprintf(name, sizeof name, "%s", zp_op_name(op->kind));
  slice(to, p->at.pp, row, ts, dur, name, op, pc);
  if (op->kind == ZP_OP_P2P && op->what == ZP_WHAT_ACTIVATION)
    arrow(to, p->at.pp, ts, op->clock_t * ((int64_t)1 << 20) + p->at.pp);
}

/* Backward and forward fill their slot; the adds and reductions that a backward sets off are spread
 * over its second half, where the gradients come out. */
static void stage_slices(zp_chrome_trace *to, const zp_rank_plan *p)
{
  int64_t pc = 0;
  while (pc < p->n) {
    const int64_t t = p->op[pc].clock_t;
    int64_t end = pc, spread = 0, k = 0;
    int computes = 0;
    while (end < p->n && p->op[end].clock_t == t) {
      const int32_t kind = p->op[end].kind;
      const int big = kind == ZP_OP_FORWARD || kind == ZP_OP_BACKWARD;
      computes |= big;
      if (!big && kind != ZP_OP_P2P && kind != ZP_OP_META) spread++;
      end++;
    }
    const double from = (double)t * SLOT_US + (computes ? SLOT_US / 2.0 : 0);
    const double width = (computes ? SLOT_US / 2.0 : SLOT_US) / (double)(spread > 0 ? spread : 1);
    for (; pc < end; pc++) {
      const int32_t kind = p->op[pc].kind;
      const double start = (double)t * SLOT_US;
      if (kind == ZP_OP_P2P) op_slice(to, p, pc, start + EXCHANGE_US / 2.0, EXCHANGE_US / 2.0);
      else if (kind == ZP_OP_META) op_slice(to, p, pc, start, EXCHANGE_US / 2.0);
      else if (kind == ZP_OP_FORWARD || kind == ZP_OP_BACKWARD)
        op_slice(to, p, pc, start + EXCHANGE_US, SLOT_US - EXCHANGE_US);
      else {
        const double at = from + width * (double)k++;
        /* local ops inside a backward would only clutter its bar */
        if (!computes || kind >= ZP_OP_FIRST_COMM) op_slice(to, p, pc, at, width);
      }
    }
  }
}

static int draw(FILE *f, const zp_config *cfg, const zp_hyper *hyper, zp_error *err)
{
  zp_chrome_trace t;
  int status = 0;
  zp_chrome_begin(&t, f, 0, NULL);
  for (int32_t stage = 0; stage < cfg->pp && status == 0; stage++) {
    zp_rank_plan p;
    status = zp_rank_plan_open(&p, cfg, hyper, zp_rank_of(cfg, (zp_coord){stage, 0, 0}), err);
    if (status == 0) status = zp_rank_plan_phase(&p, ZP_PHASE_STEP, err);
    if (status == 0) {
      name_rows(&t, stage);
      stage_slices(&t, &p);
    }
    zp_rank_plan_close(&p);
  }
  zp_chrome_end(&t);
  return status;
}

int zp_plan_trace(const zp_config *cfg, const zp_hyper *hyper, const char *file, zp_error *err)
{
  zp_output to;
  if (cfg->pp > STAGES_MAX)
    return zp_fail(err, ZP_E_REFUSED, -1, "draws at most %d stages, not %d.", STAGES_MAX,
                   (int)cfg->pp);
  if (zp_output_open(&to, file, err) != 0) return err->status;
  return zp_output_close(&to, draw(to.f, cfg, hyper, err), err);
}
