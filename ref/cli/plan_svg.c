/* The pipeline as a picture: a row per stage, a column per slot of time, then the window's end. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../engine/comm.h"
#include "plan.h"

enum { CELL = 26, ROW = 40, LEFT = 74, TOP = 66, BOX = 24, SLOTS_MAX = 4000, STAGES_MAX = 256 };

static const char style[] =
    "<style>text{font:11px ui-sans-serif,system-ui,sans-serif;fill:#1f2937}"
    ".n{text-anchor:middle;fill:#fff;font-weight:600;font-size:10px}.t{font-size:15px;"
    "font-weight:600}.m{fill:#6b7280}.f{fill:#2563eb}.b{fill:#ea580c}.r{fill:#059669}"
    ".u{fill:#7c3aed}.s{fill:#be185d}.g{stroke:#e5e7eb;stroke-width:1}</style>\n";

static void box(FILE *f, double x, double y, double w, double h, const char *kind)
{
  fprintf(f, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"2\"/>\n",
          kind, x, y, w, h);
}

/* One slot of one stage, ops [from, to): its computation, and under it a mark per reduction. */
static void draw_slot(FILE *f, const zp_plan_rank *p, int64_t from, int64_t to)
{
  const double x = LEFT + (double)p->op[from].clock_t * CELL, y = TOP + (double)p->at.pp * ROW;
  int64_t reductions = 0, k = 0;
  for (int64_t i = from; i < to; i++)
    reductions += p->op[i].kind >= ZP_OP_FIRST_COMM && p->op[i].what == ZP_WHAT_GRADIENT;
  for (int64_t i = from; i < to; i++) {
    const zp_op *op = &p->op[i];
    if (op->kind == ZP_OP_FORWARD || op->kind == ZP_OP_BACKWARD) {
      fprintf(f, "<g><title>%s of micro-batch %" PRId64 ", slot %d</title>\n",
              op->kind == ZP_OP_FORWARD ? "forward" : "backward", op->mb, (int)op->slot);
      box(f, x + 1, y, CELL - 2, BOX, op->kind == ZP_OP_FORWARD ? "f" : "b");
      fprintf(f, "<text class=\"n\" x=\"%.1f\" y=\"%.1f\">%" PRId64 "</text></g>\n", x + CELL / 2.0,
              y + 16, op->mb);
    } else if (op->kind >= ZP_OP_FIRST_COMM && op->what == ZP_WHAT_GRADIENT && k < reductions) {
      const double w = (CELL - 2.0) / (double)reductions;
      if (reductions <= 8) box(f, x + 1 + w * (double)k, y + BOX + 2, w > 2 ? w - 1 : w, 5, "r");
      else if (k == 0) box(f, x + 1, y + BOX + 2, CELL - 2, 5, "r");
      k++;
    }
  }
}

/* After the pipeline: tied sums, statistics, updates and gathers, one box each. */
static void draw_end(FILE *f, const zp_plan_rank *p, int64_t from, int64_t slots)
{
  const double y = TOP + (double)p->at.pp * ROW;
  int64_t tied = 0, updates = 0, gathers = 0;
  double x = LEFT + (double)slots * CELL + 6;
  for (int64_t i = from; i < p->n; i++) {
    tied += p->op[i].what == ZP_WHAT_TIED;
    updates += p->op[i].kind == ZP_OP_UPDATE;
    gathers += p->op[i].kind == ZP_OP_ALL_GATHER;
  }
  if (tied > 0) {
    fprintf(f, "<g><title>%" PRId64 " tied sums</title>\n", tied);
    box(f, x, y, CELL - 2, BOX, "r");
    fprintf(f, "<text class=\"n\" x=\"%.1f\" y=\"%.1f\">T</text></g>\n", x + CELL / 2.0, y + 16);
  }
  x += CELL;
  fputs("<g><title>statistics: one all-reduce over all ranks</title>\n", f);
  box(f, x, y, CELL - 2, BOX, "s");
  fprintf(f, "<text class=\"n\" x=\"%.1f\" y=\"%.1f\">Σ</text></g>\n", x + CELL / 2.0, y + 16);
  x += CELL;
  fprintf(f, "<g><title>%" PRId64 " updates, %" PRId64 " all-gathers</title>\n", updates, gathers);
  box(f, x, y, 2 * CELL - 2, BOX, "u");
  fprintf(f, "<text class=\"n\" x=\"%.1f\" y=\"%.1f\">U</text></g>\n", x + CELL, y + 16);
}

static void legend(FILE *f, double y)
{
  static const struct {
    const char *kind, *what;
  } items[] = {{"f", "forward"},
               {"b", "backward"},
               {"r", "bucket reduced, tied sum (T)"},
               {"s", "statistics"},
               {"u", "update and gather"}};
  double x = LEFT;
  for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
    box(f, x, y - 9, 10, 10, items[i].kind);
    fprintf(f, "<text class=\"m\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", x + 14, y, items[i].what);
    x += 92 + (i == 2 ? 96 : 0);
  }
}

static int draw(FILE *f, const zp_options *o, const zp_config *cfg)
{
  const int64_t slots = zp_slots(cfg->pp, cfg->micro_batches);
  const double width =
      LEFT + (double)(slots + 4) * CELL + 30 < 660 ? 660 : LEFT + (double)(slots + 4) * CELL + 30;
  const double height = TOP + (double)cfg->pp * ROW + 44;
  fprintf(f,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
          "height=\"%.0f\">\n%s<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
          width, height, width, height, style);
  fprintf(f,
          "<text class=\"t\" x=\"12\" y=\"24\">pp %d × dp %d × tp %d, ZeRO stage %d, %" PRId64
          " micro-batches</text>\n",
          (int)cfg->pp, (int)cfg->dp, (int)cfg->tp, (int)cfg->stage, cfg->micro_batches);
  fprintf(f,
          "<text class=\"m\" x=\"12\" y=\"44\">1F1B: %" PRId64 " slots, a stage works in "
          "%" PRId64 " of them (%.1f %%); numbers are micro-batches</text>\n",
          slots, 2 * cfg->micro_batches, 200.0 * (double)cfg->micro_batches / (double)slots);
  for (int32_t s = 0; s < cfg->pp; s++) {
    zp_plan_rank p;
    int64_t from = 0;
    const int code = zp_plan_rank_open(o, cfg, zp_rank_of(cfg, (zp_coord){s, 0, 0}), &p);
    if (code != 0) {
      zp_plan_rank_close(&p);
      return code;
    }
    fprintf(f, "<text x=\"12\" y=\"%d\">stage %d</text>\n", TOP + s * ROW + 16, (int)s);
    fprintf(f, "<line class=\"g\" x1=\"%d\" y1=\"%d\" x2=\"%.0f\" y2=\"%d\"/>\n", LEFT,
            TOP + s * ROW + ROW - 5, width - 12, TOP + s * ROW + ROW - 5);
    while (from < p.n && p.op[from].clock_t < slots) {
      int64_t to = from;
      while (to < p.n && p.op[to].clock_t == p.op[from].clock_t) to++;
      draw_slot(f, &p, from, to);
      from = to;
    }
    draw_end(f, &p, from, slots);
    zp_plan_rank_close(&p);
  }
  legend(f, height - 14);
  fputs("</svg>\n", f);
  return 0;
}

int zp_plan_svg(const zp_options *o, const zp_config *cfg, const char *file)
{
  FILE *f;
  int code;
  if (cfg->pp > STAGES_MAX || zp_slots(cfg->pp, cfg->micro_batches) > SLOTS_MAX)
    return zp_refuse(o, "--svg: draws at most %d stages and %d slots of time, not %d and %lld.",
                     STAGES_MAX, SLOTS_MAX, (int)cfg->pp,
                     (long long)zp_slots(cfg->pp, cfg->micro_batches));
  f = fopen(file, "w");
  if (f == NULL) {
    fprintf(stderr, "%s: --svg %s: %m.\n", o->command, file);
    return ZP_EXIT_ENVIRONMENT;
  }
  code = draw(f, o, cfg);
  const int bad = ferror(f);
  if ((fclose(f) != 0 || bad) && code == 0) {
    fprintf(stderr, "%s: --svg %s: %m.\n", o->command, file);
    code = ZP_EXIT_ENVIRONMENT;
  }
  if (code == 0 && !o->json) printf("wrote %s\n", file);
  return code;
}
