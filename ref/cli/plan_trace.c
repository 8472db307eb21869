/* The pipeline as a Chrome/Perfetto trace: a process per stage, rows for compute, exchanges and
 * collectives. There is no real time in a plan: a slot lasts a millisecond, inside it ops follow
 * their clock, an exchange taking a tenth of a slot. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../engine/comm.h"
#include "plan.h"

enum { ROW_COMPUTE = 1, ROW_EXCHANGE = 2, ROW_COLLECTIVE = 3 };
enum { SLOT_US = 1000, EXCHANGE_US = 100, STAGES_MAX = 1024 };

typedef struct writer {
  FILE *f;
  int first;
} writer;

static void comma(writer *w)
{
  fputs(w->first ? "\n" : ",\n", w->f);
  w->first = 0;
}

static void name_rows(writer *w, int32_t s)
{
  static const char *const rows[] = {"", "compute", "exchanges", "collectives"};
  comma(w);
  fprintf(w->f,
          "{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_name\",\"args\":"
          "{\"name\":\"stage %d\"}}",
          (int)s, (int)s);
  comma(w);
  fprintf(w->f,
          "{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_sort_index\",\"args\":"
          "{\"sort_index\":%d}}",
          (int)s, (int)s);
  for (int r = ROW_COMPUTE; r <= ROW_COLLECTIVE; r++) {
    comma(w);
    fprintf(w->f,
            "{\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"name\":\"thread_name\",\"args\":"
            "{\"name\":\"%s\"}}",
            (int)s, r, rows[r]);
  }
}

static void slice(writer *w, int32_t s, int row, double ts, double dur, const char *name,
                  const zp_op *op, int64_t pc)
{
  char text[256];
  zp_op_describe(op, text, sizeof text);
  comma(w);
  fprintf(w->f,
          "{\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,\"name\":\"%s\","
          "\"cat\":\"%s\",\"args\":{\"op\":\"%s\",\"position\":%" PRId64 ",\"clock\":\"%" PRId64
          ".%" PRId64 "\"}}",
          (int)s, row, ts, dur, name, zp_op_name(op->kind), text, pc, op->clock_t, op->clock_i);
}

/* An arrow from the exchange of stage s to that of stage s + 1 at the same clock. */
static void arrow(writer *w, int32_t s, double ts, int64_t id)
{
  comma(w);
  fprintf(w->f,
          "{\"ph\":\"s\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"id\":%" PRId64
          ",\"name\":\"exchange\",\"cat\":\"p2p\"}",
          (int)s, ROW_EXCHANGE, ts, id);
  comma(w);
  fprintf(w->f,
          "{\"ph\":\"f\",\"bp\":\"e\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"id\":%" PRId64
          ",\"name\":\"exchange\",\"cat\":\"p2p\"}",
          (int)s + 1, ROW_EXCHANGE, ts, id);
}

static void op_slice(writer *w, const zp_plan_rank *p, int64_t pc, double ts, double dur)
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
  slice(w, p->at.pp, row, ts, dur, name, op, pc);
  if (op->kind == ZP_OP_P2P && op->what == ZP_WHAT_ACTIVATION)
    arrow(w, p->at.pp, ts, op->clock_t * ((int64_t)1 << 20) + p->at.pp);
}

/* Backward and forward fill their slot; the adds and reductions that a backward sets off are spread
 * over its second half, where the gradients come out. */
static void stage_slices(writer *w, const zp_plan_rank *p)
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
      if (kind == ZP_OP_P2P) op_slice(w, p, pc, start + EXCHANGE_US / 2.0, EXCHANGE_US / 2.0);
      else if (kind == ZP_OP_META) op_slice(w, p, pc, start, EXCHANGE_US / 2.0);
      else if (kind == ZP_OP_FORWARD || kind == ZP_OP_BACKWARD)
        op_slice(w, p, pc, start + EXCHANGE_US, SLOT_US - EXCHANGE_US);
      else {
        const double at = from + width * (double)k++;
        /* local ops inside a backward would only clutter its bar */
        if (!computes || kind >= ZP_OP_FIRST_COMM) op_slice(w, p, pc, at, width);
      }
    }
  }
}

int zp_plan_trace(const zp_options *o, const zp_config *cfg, const char *file)
{
  writer w = {NULL, 1};
  int code = 0;
  if (cfg->pp > STAGES_MAX)
    return zp_refuse(o, "--trace: draws at most %d stages, not %d.", STAGES_MAX, (int)cfg->pp);
  w.f = fopen(file, "w");
  if (w.f == NULL) {
    fprintf(stderr, "%s: --trace %s: %m.\n", o->command, file);
    return ZP_EXIT_ENVIRONMENT;
  }
  fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[", w.f);
  for (int32_t s = 0; s < cfg->pp && code == 0; s++) {
    zp_plan_rank p;
    code = zp_plan_rank_open(o, cfg, zp_rank_of(cfg, (zp_coord){s, 0, 0}), &p);
    if (code == 0) {
      name_rows(&w, s);
      stage_slices(&w, &p);
    }
    zp_plan_rank_close(&p);
  }
  fputs("\n]}\n", w.f);
  const int bad = ferror(w.f);
  if ((fclose(w.f) != 0 || bad) && code == 0) {
    fprintf(stderr, "%s: --trace %s: %m.\n", o->command, file);
    code = ZP_EXIT_ENVIRONMENT;
  }
  if (code == 0 && !o->json) printf("wrote %s: open it at https://ui.perfetto.dev\n", file);
  return code;
}
