/* A timeline as a picture: of all ranks, or, where there is a race, of its rank about that time. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "timeline_internal.h"

enum { ROW = 26, BAR = 18, LEFT = 150, TOP = 126, WIDTH_MAX = 16000, ROWS_MAX = 240 };
/* About a race: this much before and after, where a forward takes 100. */
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
  FILE *f;
  int32_t *y; /* [rows] or -1: not shown */
  int32_t rows;
  int64_t from, to;
  double scale;
} picture;

static const char *class_of(const zp_timeline *t, const zp_bar *b)
{
  const zp_path_node *n = b->node < 0 ? NULL : &t->plan->node[b->node];
  if (!n) return "x";
  if (n->what == ZP_PATH_REST) return "b";
  if (n->what != ZP_PATH_OP) return "c";
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

static void put_text(FILE *f, const char *text)
{
  for (; *text; text++) {
    if (*text == '<') fputs("&lt;", f);
    else if (*text == '&') fputs("&amp;", f);
    else if (*text == '\n') fputc(' ', f);
    else fputc(*text, f);
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

static void draw_bar(const picture *p, const zp_bar *b)
{
  char label[ZP_PATH_NAME], text[2 * ZP_PATH_NAME];
  const double x = x_of(p, b->begin), w = (double)(b->end - b->begin) * p->scale;
  const int32_t y = p->y[b->row];
  if (!is_shown(p, b)) return;
  zp_timeline_label(p->t, b, label, sizeof label);
  zp_timeline_text(p->t, b, text, sizeof text);
  fputs("<g><title>", p->f);
  put_text(p->f, text);
  fprintf(p->f,
          "</title><rect class=\"%s\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" rx=\"2\"/>",
          class_of(p->t, b), x, y, w > 2 ? w - 1 : w, BAR);
  if (w > 4.8 * (double)strlen(label)) {
    fprintf(p->f, "<text class=\"n\" x=\"%.1f\" y=\"%d\">", x + 3, y + 13);
    put_text(p->f, label);
    fputs("</text>", p->f);
  }
  fputs("</g>\n", p->f);
}

/* From the end of what was waited for to the beginning of what waited. */
static void draw_arrow(const picture *p, const zp_arrow *a)
{
  const zp_bar *from = &p->t->bar[a->from], *to = &p->t->bar[a->to];
  if (!is_shown(p, from) || !is_shown(p, to)) return;
  const int down = p->y[to->row] > p->y[from->row];
  const double x = x_of(p, from->end), z = x_of(p, to->begin);
  const int32_t y = p->y[from->row] + (down ? BAR : 0), v = p->y[to->row] + (down ? 0 : BAR);
  fprintf(p->f,
          "<path class=\"%s\" marker-end=\"url(#h)\" d=\"M%.1f %dC%.1f %d %.1f %d %.1f %d\"/>\n",
          a->superfluous ? "o" : "w", x - 1, y, x + 6, (y + v) / 2, z - 6, (y + v) / 2, z, v);
}

static void draw_race(const picture *p)
{
  const zp_timeline *t = p->t;
  if (!t->race_text[0]) return;
  const zp_bar *a = &t->bar[t->race[0]], *b = &t->bar[t->race[1]];
  const int64_t from = a->begin > b->begin ? a->begin : b->begin;
  const int64_t to = a->end < b->end ? a->end : b->end;
  if (from < to)
    fprintf(p->f, "<rect class=\"z\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>\n",
            x_of(p, from), TOP - 14, (double)(to - from) * p->scale, p->rows * ROW + 14);
  for (int k = 0; k < 2; k++) {
    const zp_bar *x = k ? b : a;
    fprintf(p->f,
            "<rect class=\"k\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" rx=\"2\"/>"
            "<text class=\"e\" x=\"%.1f\" y=\"%d\">%d</text>\n",
            x_of(p, x->begin) - 1, p->y[x->row] - 1, (double)(x->end - x->begin) * p->scale + 1,
            BAR + 2, x_of(p, x->begin), p->y[x->row] - 3, k + 1);
  }
  fprintf(p->f, "<path class=\"d\" d=\"M%.1f %dL%.1f %d\"/>\n", x_of(p, (a->begin + a->end) / 2),
          p->y[a->row] + BAR / 2, x_of(p, (b->begin + b->end) / 2), p->y[b->row] + BAR / 2);
}

/* A race: its rank, about its time. Else as many rows as a picture holds. */
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

static void legend(const picture *p, int32_t x, int32_t y)
{
  static const struct {
    const char *kind, *what;
  } items[] = {{"f", "forward"},      {"b", "backward"}, {"p", "exchange"},
               {"c", "the caller's"}, {"a", "add"},      {"r", "reduction"},
               {"s", "statistics"},   {"u", "update"},   {"x", "not in the plan"}};
  for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
    fprintf(p->f,
            "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"10\" height=\"10\"/>"
            "<text class=\"m\" x=\"%d\" y=\"%d\">%s</text>\n",
            items[i].kind, x, y - 9, x + 14, y, items[i].what);
    x += 84;
  }
}

/* The race, then what else was found: a line each, in red. */
static void findings(const picture *p)
{
  const char *text[2] = {p->t->race_text, p->t->opt->finding};
  int32_t y = 44;
  for (int i = 0; i < 2; i++) {
    const char *at = text[i];
    for (int lines = 0; at && *at && lines < (i ? 1 : 3); lines++) {
      const size_t n = strcspn(at, "\n");
      char line[400];
      snprintf(line, sizeof line, "%.*s", n < 390 ? (int)n : 390, at);
      fprintf(p->f, "<text class=\"e\" x=\"12\" y=\"%d\">", y += 15);
      put_text(p->f, line);
      fputs("</text>\n", p->f);
      at += n + (at[n] != 0);
    }
  }
}

static void head(const picture *p, double width, double height)
{
  const zp_timeline *t = p->t;
  const zp_config *c = t->plan->cfg;
  fprintf(p->f,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
          "height=\"%.0f\">\n%s<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
          width, height, width, height, style);
  fprintf(p->f, "<text class=\"t\" x=\"12\" y=\"22\">");
  if (t->opt->title) put_text(p->f, t->opt->title);
  fprintf(p->f,
          "</text>\n<text class=\"m\" x=\"12\" y=\"40\">pp %d × dp %d × tp %d, ZeRO stage %d, "
          "%" PRId64 " micro-batches; grey arrows: events that a stream waited for</text>\n",
          (int)c->pp, (int)c->dp, (int)c->tp, (int)c->stage, c->micro_batches);
  legend(p, LEFT, (int32_t)height - 8);
  findings(p);
}

static void draw(picture *p)
{
  const zp_timeline *t = p->t;
  const int32_t rows = choose(p);
  double width = LEFT + (double)(p->to - p->from) * p->scale + 24;
  if (width < 960) width = 960; /* the findings' lines */
  head(p, width, TOP + rows * ROW + 24);
  for (int32_t i = 0; i < t->rows; i++) {
    if (p->y[i] < 0) continue;
    fprintf(p->f, "<text x=\"12\" y=\"%d\">rank %d ", p->y[i] + 13, t->row[i].rank);
    put_text(p->f, t->row[i].name);
    fprintf(p->f, "</text><line class=\"g\" x1=\"%d\" y1=\"%d\" x2=\"%.0f\" y2=\"%d\"/>\n", LEFT,
            p->y[i] + BAR + 4, width - 12, p->y[i] + BAR + 4);
  }
  fprintf(p->f,
          "<clipPath id=\"c\"><rect x=\"%d\" y=\"0\" width=\"%.0f\" height=\"100%%\"/></clipPath>"
          "<g clip-path=\"url(#c)\">\n",
          LEFT - 14, width - LEFT + 14);
  for (int32_t i = 0; i < t->bars; i++) draw_bar(p, &t->bar[i]);
  for (int32_t i = 0; i < t->arrows; i++) draw_arrow(p, &t->arrow[i]);
  draw_race(p);
  fputs("</g></svg>\n", p->f);
}

int zp_timeline_svg(const zp_timeline *t, const char *file)
{
  picture p = {.t = t, .y = calloc((size_t)t->rows + 1, sizeof(int32_t))};
  int failed = -1;
  p.f = p.y ? fopen(file, "w") : NULL;
  if (p.f) {
    draw(&p);
    failed = ferror(p.f);
    failed = fclose(p.f) != 0 || failed ? -1 : 0;
  }
  free(p.y);
  return failed;
}
