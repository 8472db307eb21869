#include "picture.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "../../ref/base/output.h"
#include "../../ref/draw/chrome_trace.h"
#include "../../ref/draw/svg.h"

/* Rows of a rank. The exchanges' own stream has kernels only with dynamic shapes: the link's row
 * shows them, and gathers of a stream of their own. */
enum { ROW_LINK = ZP_HB_P2P, ROWS_MAX = ZP_HB_STREAMS - 1 };
static const char *const row_names[ROWS_MAX] = {"compute", "reduction", "link", "copies", "host"};

/* With offload the copies' and the host's, too. */
static int32_t rows_of(const zp_picture *o)
{
  return o->p->producer - 1;
}

static int32_t row_of(const zp_picture *o, const zp_hb_node *n)
{
  const int32_t stream = n->chain % o->p->streams;
  return stream < ZP_HB_GATHER ? stream : stream - 1;
}

/* A bar: a piece of work on a rank; a communication on the link of each member. */
typedef void bar_fn(void *to, const zp_picture *o, int32_t node, int32_t rank, int32_t row);

static void each_bar(const zp_picture *o, void *to, bar_fn *bar)
{
  const zp_hb_graph *g = &o->p->graph;
  for (int32_t v = 0; v < g->n; v++) {
    const zp_hb_node *n = &o->p->node[v];
    if (n->step != o->step || o->times->end[v] <= o->times->begin[v]) continue;
    if (n->chain >= 0) bar(to, o, v, n->rank, row_of(o, n));
    for (int64_t k = g->first[v]; n->chain < 0 && k < g->first[v + 1]; k++)
      bar(to, o, v, o->p->node[g->edge[k].to].rank, ROW_LINK);
  }
}

static double first_of(const zp_picture *o)
{
  double first = -1;
  for (int32_t v = 0; v < o->p->graph.n; v++)
    if (o->p->node[v].step == o->step && (first < 0 || o->times->begin[v] < first))
      first = o->times->begin[v];
  return first;
}

/* ---- For Perfetto ---------------------------------------------------------------------------- */

typedef struct trace {
  zp_chrome_trace to;
  double first;
} trace;

static void add_slice(void *ctx, const zp_picture *o, int32_t v, int32_t rank, int32_t row)
{
  trace *t = ctx;
  const zp_work *w = &o->work[v];
  char text[ZP_HB_NAME];
  zp_hb_node_text(o->p, v, text, sizeof text);
  zp_chrome_slice(&t->to, rank, row + 1, 1e6 * (o->times->begin[v] - t->first),
                  1e6 * (o->times->end[v] - o->times->begin[v]), text, row_names[row]);
  zp_chrome_args(&t->to);
  zp_chrome_integer(&t->to, "nanoseconds alone",
                    (int64_t)fmin(1e9 * (w->fixed + w->seconds), 9e18));
  zp_chrome_integer(&t->to, "bytes of memory", (int64_t)w->bytes);
  zp_chrome_integer(&t->to, "bytes sent", (int64_t)w->wire);
  zp_chrome_end_args(&t->to);
  zp_chrome_close(&t->to);
}

int zp_cost_trace(const zp_picture *o, const char *file, zp_error *err)
{
  trace t = {.first = first_of(o)};
  zp_output out;
  char text[32];
  if (zp_output_open(&out, file, err)) return err->status;
  zp_chrome_begin(&t.to, out.f, 0, "a step by the cost model");
  for (int32_t r = 0; r < o->p->world; r++) {
    snprintf(text, sizeof text, "stage %d", r);
    zp_chrome_name(&t.to, r, 0, "process_name", text);
    for (int32_t row = 0; row < rows_of(o); row++)
      zp_chrome_name(&t.to, r, row + 1, "thread_name", row_names[row]);
  }
  each_bar(o, &t, add_slice);
  zp_chrome_end(&t.to);
  return zp_output_close(&out, 0, err);
}

/* ---- SVG ------------------------------------------------------------------------------------- */

enum { ROW = 24, BAR = 18, LEFT = 130, TOP = 58, WIDTH = 1400, RANKS_MAX = 64 };

static const char style[] =
    "<style>text{font:11px ui-sans-serif,system-ui,sans-serif;fill:#1f2937}"
    ".t{font-size:15px;font-weight:600}.m{fill:#6b7280}"
    ".k0{fill:#2563eb}.k1{fill:#ea580c}.k2{fill:#65a30d}.k3{fill:#84cc16}.k4{fill:#be185d}"
    ".k5{fill:#7c3aed}.k6{fill:#c084fc}.k7{fill:#111827}.k8{fill:#059669}.k9{fill:#6d28d9}"
    ".k10{fill:#111827}.k11{fill:#0891b2}.k12{fill:#d97706}.k13{fill:#dc2626}.k14{fill:#f59e0b}"
    ".g{stroke:#e5e7eb;stroke-width:1}</style>\n";
static const char *const legend[ZP_WORKS] = {
    "forward", "backward", "copies",     "sums",      "means",   "update",  "scatter",  "decision",
    "reduce",  "gathers",  "statistics", "exchanges", "to host", "on host", "from host"};

typedef struct drawing {
  zp_svg svg;
  double first, scale;
} drawing;

static void add_bar(void *ctx, const zp_picture *o, int32_t v, int32_t rank, int32_t row)
{
  drawing *d = ctx;
  char css[8], text[ZP_HB_NAME];
  const double from = o->times->begin[v], seconds = o->times->end[v] - from;
  const double width = seconds * d->scale;
  if (rank >= RANKS_MAX || width < 0.1) return; /* not visible */
  snprintf(css, sizeof css, "k%d", (int)o->work[v].kind);
  zp_hb_node_text(o->p, v, text, sizeof text);
  zp_svg_group(&d->svg, "%s: %.3f ms", text, 1e3 * seconds);
  zp_svg_rect(&d->svg, css, LEFT + (from - d->first) * d->scale,
              TOP + (rank * rows_of(o) + row) * ROW, width, BAR, 0);
  zp_svg_end_group(&d->svg);
  zp_svg_newline(&d->svg);
}

static void draw_frame(drawing *d, const zp_picture *o, int32_t ranks, double seconds)
{
  const zp_config *c = o->p->cfg;
  const int32_t rows = rows_of(o), bottom = TOP + ranks * rows * ROW;
  zp_svg_text(&d->svg, "t", 12, 22, "a step by the cost model: %.1f ms", 1e3 * seconds);
  zp_svg_text(&d->svg, "m", 12, 42,
              "pp %d × dp %d × tp %d, ZeRO stage %d, %" PRId64
              " micro-batches; of each stage one rank",
              (int)c->pp, (int)c->dp, (int)c->tp, (int)c->stage, c->micro_batches);
  zp_svg_newline(&d->svg);
  for (int32_t k = 0, x = LEFT; k < (rows > ROW_LINK + 1 ? ZP_WORKS : ZP_WORK_TO_HOST);
       k++, x += 95) {
    char css[8];
    snprintf(css, sizeof css, "k%d", (int)k);
    zp_svg_rect(&d->svg, css, x, bottom + 4, 10, 10, 0);
    zp_svg_text(&d->svg, "m", x + 14, bottom + 13, "%s", legend[k]);
    zp_svg_newline(&d->svg);
  }
  for (int32_t i = 0; i < ranks * rows; i++) {
    const int32_t y = TOP + i * ROW;
    zp_svg_text(&d->svg, NULL, 12, y + 13, "stage %d %s", (int)(i / rows), row_names[i % rows]);
    zp_svg_line(&d->svg, "g", LEFT, y + BAR + 3, LEFT + WIDTH, y + BAR + 3);
    zp_svg_newline(&d->svg);
  }
}

int zp_cost_svg(const zp_picture *o, const char *file, zp_error *err)
{
  const int32_t ranks = o->p->world < RANKS_MAX ? o->p->world : RANKS_MAX;
  double last = 0;
  zp_output out;
  drawing d = {.first = first_of(o)};
  if (zp_output_open(&out, file, err)) return err->status;
  for (int32_t v = 0; v < o->p->graph.n; v++)
    if (o->p->node[v].step == o->step && last < o->times->end[v]) last = o->times->end[v];
  d.scale = WIDTH / (last - d.first);
  zp_svg_begin(&d.svg, out.f, LEFT + WIDTH + 24, TOP + ranks * rows_of(o) * ROW + 26, style);
  draw_frame(&d, o, ranks, last - d.first);
  zp_svg_digits(&d.svg, 1, 0);
  each_bar(o, &d, add_bar);
  zp_svg_end(&d.svg);
  return zp_output_close(&out, 0, err);
}
