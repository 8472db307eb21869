/* The pipeline as a picture: a row per stage, a column per slot of time, then the window's end. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>

#include "../base/output.h"
#include "../engine/rank_plan.h"
#include "plan_draw.h"
#include "svg.h"

enum { CELL = 26, ROW = 40, LEFT = 74, TOP = 66, BOX = 24, SLOTS_MAX = 4000, STAGES_MAX = 256 };

static const char style[] =
    "<style>text{font:11px ui-sans-serif,system-ui,sans-serif;fill:#1f2937}"
    ".n{text-anchor:middle;fill:#fff;font-weight:600;font-size:10px}.t{font-size:15px;"
    "font-weight:600}.m{fill:#6b7280}.f{fill:#2563eb}.b{fill:#ea580c}.r{fill:#059669}"
    ".u{fill:#7c3aed}.s{fill:#be185d}.g{stroke:#e5e7eb;stroke-width:1}</style>\n";

static void box(zp_svg *s, double x, double y, double w, double h, const char *kind)
{
  zp_svg_rect(s, kind, x, y, w, h, 2);
  zp_svg_newline(s);
}

/* A box with a letter, or a micro-batch, in the group that is open. */
static void labelled_box(zp_svg *s, double x, double y, double w, const char *kind, double middle,
                         const char *label)
{
  zp_svg_newline(s);
  box(s, x, y, w, BOX, kind);
  zp_svg_text(s, "n", middle, y + 16, "%s", label);
  zp_svg_end_group(s);
  zp_svg_newline(s);
}

/* One slot of one stage, ops [from, to): its computation, and under it a mark per reduction. */
static void draw_slot(zp_svg *s, const zp_rank_plan *p, int64_t from, int64_t to)
{
  const double x = LEFT + (double)p->op[from].clock_t * CELL, y = TOP + (double)p->at.pp * ROW;
  int64_t reductions = 0, k = 0;
  for (int64_t i = from; i < to; i++)
    reductions += p->op[i].kind >= ZP_OP_FIRST_COMM && p->op[i].what == ZP_WHAT_GRADIENT;
  for (int64_t i = from; i < to; i++) {
    const zp_op *op = &p->op[i];
    if (op->kind == ZP_OP_FORWARD || op->kind == ZP_OP_BACKWARD) {
      const int forward = op->kind == ZP_OP_FORWARD;
      char label[24];
      snprintf(label, sizeof label, "%" PRId64, op->mb);
      zp_svg_group(s, "%s of micro-batch %" PRId64 ", slot %d", forward ? "forward" : "backward",
                   op->mb, (int)op->slot);
      labelled_box(s, x + 1, y, CELL - 2, forward ? "f" : "b", x + CELL / 2.0, label);
    } else if (op->kind >= ZP_OP_FIRST_COMM && op->what == ZP_WHAT_GRADIENT && k < reductions) {
      const double w = (CELL - 2.0) / (double)reductions;
      if (reductions <= 8) box(s, x + 1 + w * (double)k, y + BOX + 2, w > 2 ? w - 1 : w, 5, "r");
      else if (k == 0) box(s, x + 1, y + BOX + 2, CELL - 2, 5, "r");
      k++;
    }
  }
}

/* After the pipeline: tied sums, sums over tp, statistics, updates and gathers, one box each. */
static void draw_end(zp_svg *s, const zp_rank_plan *p, int64_t from, int64_t slots)
{
  const double y = TOP + (double)p->at.pp * ROW;
  int64_t tied = 0, partial = 0, updates = 0, gathers = 0;
  double x = LEFT + (double)slots * CELL + 6;
  for (int64_t i = from; i < p->n; i++) {
    tied += p->op[i].what == ZP_WHAT_TIED;
    partial += p->op[i].what == ZP_WHAT_PARTIAL;
    updates += p->op[i].kind == ZP_OP_UPDATE;
    gathers += p->op[i].kind == ZP_OP_ALL_GATHER;
  }
  if (tied > 0) {
    zp_svg_group(s, "%" PRId64 " tied sums", tied);
    labelled_box(s, x, y, CELL - 2, "r", x + CELL / 2.0, "T");
  }
  x += CELL;
  if (partial > 0) {
    zp_svg_group(s, "%" PRId64 " sums over tp (sequence parallelism)", partial);
    labelled_box(s, x, y, CELL - 2, "r", x + CELL / 2.0, "P");
    x += CELL;
  }
  zp_svg_group(s, "statistics: one all-reduce over all ranks");
  labelled_box(s, x, y, CELL - 2, "s", x + CELL / 2.0, "Σ");
  x += CELL;
  zp_svg_group(s, "%" PRId64 " updates, %" PRId64 " all-gathers", updates, gathers);
  labelled_box(s, x, y, 2 * CELL - 2, "u", x + CELL, "U");
}

static void legend(zp_svg *s, double y)
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
    box(s, x, y - 9, 10, 10, items[i].kind);
    zp_svg_text(s, "m", x + 14, y, "%s", items[i].what);
    zp_svg_newline(s);
    x += 92 + (i == 2 ? 96 : 0);
  }
}

static void head(zp_svg *s, const zp_config *cfg, int64_t slots)
{
  zp_svg_text(s, "t", 12, 24, "pp %d × dp %d × tp %d, ZeRO stage %d, %" PRId64 " micro-batches",
              (int)cfg->pp, (int)cfg->dp, (int)cfg->tp, (int)cfg->stage, cfg->micro_batches);
  zp_svg_newline(s);
  zp_svg_text(s, "m", 12, 44,
              "1F1B: %" PRId64 " slots, a stage works in %" PRId64
              " of them (%.1f %%); numbers are micro-batches",
              slots, 2 * cfg->micro_batches, 200.0 * (double)cfg->micro_batches / (double)slots);
  zp_svg_newline(s);
}

static void draw_stage(zp_svg *s, const zp_rank_plan *p, int64_t slots, double width)
{
  const int32_t stage = p->at.pp, y = TOP + stage * ROW;
  int64_t from = 0;
  zp_svg_digits(s, 0, 0);
  zp_svg_text(s, NULL, 12, y + 16, "stage %d", (int)stage);
  zp_svg_newline(s);
  zp_svg_line(s, "g", LEFT, y + ROW - 5, width - 12, y + ROW - 5);
  zp_svg_newline(s);
  zp_svg_digits(s, 1, 1);
  while (from < p->n && p->op[from].clock_t < slots) {
    int64_t to = from;
    while (to < p->n && p->op[to].clock_t == p->op[from].clock_t) to++;
    draw_slot(s, p, from, to);
    from = to;
  }
  draw_end(s, p, from, slots);
}

static int draw(FILE *f, const zp_config *cfg, const zp_hyper *hyper, zp_error *err)
{
  const int64_t slots = zp_slots(cfg->pp, cfg->micro_batches);
  const double width =
      LEFT + (double)(slots + 4) * CELL + 30 < 660 ? 660 : LEFT + (double)(slots + 4) * CELL + 30;
  const double height = TOP + (double)cfg->pp * ROW + 44;
  zp_svg s;
  int status = 0;
  zp_svg_begin(&s, f, width, height, style);
  head(&s, cfg, slots);
  for (int32_t stage = 0; stage < cfg->pp && status == 0; stage++) {
    zp_rank_plan p;
    status = zp_rank_plan_open(&p, cfg, hyper, zp_rank_of(cfg, (zp_coord){stage, 0, 0}), err);
    if (status == 0) status = zp_rank_plan_phase(&p, ZP_PHASE_STEP, err);
    if (status == 0) draw_stage(&s, &p, slots, width);
    zp_rank_plan_close(&p);
  }
  zp_svg_digits(&s, 1, 1);
  legend(&s, height - 14);
  zp_svg_end(&s);
  return status;
}

int zp_plan_svg(const zp_config *cfg, const zp_hyper *hyper, const char *file, zp_error *err)
{
  zp_output to;
  if (cfg->pp > STAGES_MAX || zp_slots(cfg->pp, cfg->micro_batches) > SLOTS_MAX)
    return zp_fail(err, ZP_E_REFUSED, -1,
                   "draws at most %d stages and %d slots of time, not %d and %lld.", STAGES_MAX,
                   SLOTS_MAX, (int)cfg->pp, (long long)zp_slots(cfg->pp, cfg->micro_batches));
  if (zp_output_open(&to, file, err) != 0) return err->status;
  return zp_output_close(&to, draw(to.f, cfg, hyper, err), err);
}
