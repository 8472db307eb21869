/* A timeline as an SVG: of all ranks or, if there is a race, of its rank around that time. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../ref/base/output.h"
#include "../../ref/draw/svg.h"
#include "timeline_layout.h"

enum { ROW = 26, BAR = 18, LEFT = 150, TOP = 126, WIDTH_MAX = 16000, ROWS_MAX = 240 };
/* How much is drawn before and after a race; a forward takes 100. */
enum { AROUND = 160 };

static const char style[] =
    "<style>text{font:11px ui-sans-serif,system-ui,sans-serif;fill:#1f2937}"
    ".n{fill:#fff;font-size:9px}.t{font-size:15px;font-weight:600}.m{fill:#6b7280}"
    ".f{fill:#2563eb}.b{fill:#ea580c}.r{fill:#059669}.s{fill:#be185d}.u{fill:#7c3aed}"
    ".p{fill:#0891b2}.a{fill:#65a30d}.c{fill:#9ca3af}.x{fill:#111827}"
    ".g{stroke:#e5e7eb;stroke-width:1}.w{stroke:#9ca3af;stroke-width:1;fill:none}"
    ".o{stroke:#d97706;stroke-width:2;fill:none}"
    ".k{stroke:#dc2626;stroke-width:3;fill:none}.z{fill:#dc2626;fill-opacity:.12}"
    ".e{fill:#dc2626;font-weight:600}"
    ".d{stroke:#dc2626;stroke-width:2;stroke-dasharray:5 3;fill:none}</style>\n"
    "<defs><marker id=\"h\" viewBox=\"0 0 6 6\" refX=\"6\" refY=\"3\" markerWidth=\"6\" "
    "markerHeight=\"6\" orient=\"auto\"><path d=\"M0 0L6 3L0 6z\" "
    "fill=\"#6b7280\"/></marker></defs>\n";

typedef struct picture {
  const zp_timeline *t;
  zp_svg svg;
  int32_t *y; /* [rows] or -1: not shown */
  int32_t rows;
  int64_t from, to;
  double scale;
} picture;

static const char *class_of(const zp_timeline *t, const zp_bar *b)
{
  const zp_hb_node *n = b->node < 0 ? NULL : &t->plan->node[b->node];
  if (!n) return "x";
  if (n->what == ZP_HB_REST) return "b";
  if (n->what == ZP_HB_READ || n->what == ZP_HB_STATE) return "f";
  if (n->what != ZP_HB_OP) return "c";
  const zp_op *op = &t->plan->program[n->rank][n->pc];
  switch (op->kind) {
  case ZP_OP_FORWARD: return "f";
  case ZP_OP_BACKWARD: return "b";
  case ZP_OP_ADD: return "a";
  case ZP_OP_META:
  case ZP_OP_P2P: return "p";
  case ZP_OP_UPDATE:
  case ZP_OP_ALL_GATHER: return "u";
  case ZP_OP_DECIDE: return "s";
  default: return op->what == ZP_WHAT_STATISTICS ? "s" : "r";
  }
}

static double x_of(const picture *p, int64_t time)
{
  return LEFT + (double)(time - p->from) * p->scale;
}

static int is_shown(const picture *p, const zp_bar *b)
{
  return p->y[b->row] >= 0 && b->end >= p->from && b->begin <= p->to;
}

static void draw_bar(picture *p, const zp_bar *b)
{
  char label[ZP_HB_NAME], text[2 * ZP_HB_NAME];
  const double x = x_of(p, b->begin), w = (double)(b->end - b->begin) * p->scale;
  const int32_t y = p->y[b->row];
  if (!is_shown(p, b)) return;
  zp_timeline_label(p->t, b, label, sizeof label);
  zp_timeline_text(p->t, b, text, sizeof text);
  zp_svg_group(&p->svg, "%s", text);
  zp_svg_rect(&p->svg, class_of(p->t, b), x, y, w > 2 ? w - 1 : w, BAR, 2);
  if (w > 4.8 * (double)strlen(label)) zp_svg_text(&p->svg, "n", x + 3, y + 13, "%s", label);
  zp_svg_end_group(&p->svg);
  zp_svg_newline(&p->svg);
}

/* From the end of one bar to the begin of the bar that waited for it. */
static void draw_arrow(picture *p, const zp_arrow *a)
{
  const zp_bar *from = &p->t->bar[a->from], *to = &p->t->bar[a->to];
  if (!is_shown(p, from) || !is_shown(p, to)) return;
  const int down = p->y[to->row] > p->y[from->row];
  const double x = x_of(p, from->end), z = x_of(p, to->begin);
  const int32_t y = p->y[from->row] + (down ? BAR : 0), v = p->y[to->row] + (down ? 0 : BAR);
  zp_svg_path(&p->svg, a->redundant ? "o" : "w", "h", "M%.1f %dC%.1f %d %.1f %d %.1f %d", x - 1, y,
              x + 6, (y + v) / 2, z - 6, (y + v) / 2, z, v);
  zp_svg_newline(&p->svg);
}

static void draw_race(picture *p)
{
  const zp_timeline *t = p->t;
  if (!t->race_text[0]) return;
  const zp_bar *a = &t->bar[t->race[0]], *b = &t->bar[t->race[1]];
  const int64_t from = a->begin > b->begin ? a->begin : b->begin;
  const int64_t to = a->end < b->end ? a->end : b->end;
  if (from < to) {
    zp_svg_rect(&p->svg, "z", x_of(p, from), TOP - 14, (double)(to - from) * p->scale,
                p->rows * ROW + 14, 0);
    zp_svg_newline(&p->svg);
  }
  for (int k = 0; k < 2; k++) {
    const zp_bar *x = k ? b : a;
    zp_svg_rect(&p->svg, "k", x_of(p, x->begin) - 1, p->y[x->row] - 1,
                (double)(x->end - x->begin) * p->scale + 1, BAR + 2, 2);
    zp_svg_text(&p->svg, "e", x_of(p, x->begin), p->y[x->row] - 3, "%d", k + 1);
    zp_svg_newline(&p->svg);
  }
  zp_svg_path(&p->svg, "d", NULL, "M%.1f %dL%.1f %d", x_of(p, (a->begin + a->end) / 2),
              p->y[a->row] + BAR / 2, x_of(p, (b->begin + b->end) / 2), p->y[b->row] + BAR / 2);
  zp_svg_newline(&p->svg);
}

/* Chooses the rows and times to draw. */
static int32_t choose(picture *p)
{
  const zp_timeline *t = p->t;
  const int race = t->race_text[0] != 0;
  p->to = t->length;
  if (race) {
    const zp_bar *a = &t->bar[t->race[0]], *b = &t->bar[t->race[1]];
    const int64_t from = a->begin < b->begin ? a->begin : b->begin;
    const int64_t to = a->end > b->end ? a->end : b->end;
    p->from = from > AROUND ? from - AROUND : 0;
    p->to = to + AROUND < t->length ? to + AROUND : t->length;
  }
  for (int32_t i = 0; i < t->rows; i++) {
    const int shown =
        race ? t->row[i].rank == t->row[t->bar[t->race[0]].row].rank : p->rows < ROWS_MAX;
    p->y[i] = shown ? TOP + ROW * p->rows++ : -1;
  }
  p->scale = race ? 5 : 0.8;
  if (p->scale * (double)(p->to - p->from) > WIDTH_MAX)
    p->scale = (double)WIDTH_MAX / (double)(p->to - p->from);
  return p->rows;
}

static void legend(picture *p, int32_t x, int32_t y)
{
  static const struct {
    const char *kind, *what;
  } items[] = {{"f", "forward"},      {"b", "backward"}, {"p", "exchange"},
               {"c", "the caller's"}, {"a", "add"},      {"r", "reduction"},
               {"s", "statistics"},   {"u", "update"},   {"x", "not in the plan"}};
  for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
    zp_svg_rect(&p->svg, items[i].kind, x, y - 9, 10, 10, 0);
    zp_svg_text(&p->svg, "m", x + 14, y, "%s", items[i].what);
    zp_svg_newline(&p->svg);
    x += 84;
  }
}

/* The race, then the other finding: a line each, in red. */
static void findings(picture *p)
{
  const char *text[2] = {p->t->race_text, p->t->opt->finding};
  int32_t y = 44;
  for (int i = 0; i < 2; i++) {
    const char *at = text[i];
    for (int lines = 0; at && *at && lines < (i ? 1 : 3); lines++) {
      const size_t n = strcspn(at, "\n");
      y += 15;
      zp_svg_text(&p->svg, "e", 12, y, "%.*s", n < 390 ? (int)n : 390, at);
      zp_svg_newline(&p->svg);
      at += n + (at[n] != 0);
    }
  }
}

static void head(picture *p, FILE *f, double width, double height)
{
  const zp_timeline *t = p->t;
  const zp_config *c = t->plan->cfg;
  zp_svg_begin(&p->svg, f, width, height, style);
  zp_svg_text(&p->svg, "t", 12, 22, "%s", t->opt->title ? t->opt->title : "");
  zp_svg_newline(&p->svg);
  zp_svg_text(&p->svg, "m", 12, 40,
              "pp %d × dp %d × tp %d, ZeRO stage %d, %" PRId64
              " micro-batches; grey arrows: events that a stream waited for",
              (int)c->pp, (int)c->dp, (int)c->tp, (int)c->stage, c->micro_batches);
  zp_svg_newline(&p->svg);
  legend(p, LEFT, (int32_t)height - 8);
  findings(p);
}

static void draw(picture *p, FILE *f)
{
  const zp_timeline *t = p->t;
  const int32_t rows = choose(p);
  double width = LEFT + (double)(p->to - p->from) * p->scale + 24;
  if (width < 960) width = 960; /* the findings' lines */
  head(p, f, width, TOP + rows * ROW + 24);
  for (int32_t i = 0; i < t->rows; i++) {
    if (p->y[i] < 0) continue;
    zp_svg_text(&p->svg, NULL, 12, p->y[i] + 13, "rank %d %s", t->row[i].rank, t->row[i].name);
    zp_svg_line(&p->svg, "g", LEFT, p->y[i] + BAR + 4, width - 12, p->y[i] + BAR + 4);
    zp_svg_newline(&p->svg);
  }
  zp_svg_clipped_group(&p->svg, LEFT - 14, width - LEFT + 14);
  zp_svg_newline(&p->svg);
  zp_svg_digits(&p->svg, 1, 0);
  for (int32_t i = 0; i < t->bars; i++) draw_bar(p, &t->bar[i]);
  for (int32_t i = 0; i < t->arrows; i++) draw_arrow(p, &t->arrow[i]);
  draw_race(p);
  zp_svg_end_group(&p->svg);
  zp_svg_end(&p->svg);
}

int zp_timeline_svg(const zp_timeline *t, const char *file, zp_error *err)
{
  picture p = {.t = t, .y = calloc((size_t)t->rows + 1, sizeof(int32_t))};
  zp_output to;
  int status =
      p.y ? zp_output_open(&to, file, err) : zp_fail(err, ZP_E_MEMORY, -1, "no memory to draw");
  if (!status) {
    draw(&p, to.f);
    status = zp_output_close(&to, 0, err);
  }
  free(p.y);
  return status;
}
