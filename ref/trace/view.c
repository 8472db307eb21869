/* A recorded run as a Chrome/Perfetto trace: a process per rank, a row per group. If the trace has
 * no times, each record lasts a microsecond. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../base/output.h"
#include "../draw/chrome_trace.h"
#include "trace.h"

enum { TEXT = 160 };

/* Traces do not record the end of an operation, so it is drawn a microsecond long. */
static void slice(zp_chrome_trace *t, const zp_trace_reader *r, const zp_trace_def *d, int64_t step,
                  double from)
{
  char text[TEXT];
  const char *phase = d->phase > 0 ? zp_trace_text(r, &r->phases, d->phase) : "";
  const char *site = d->site > 0 ? zp_trace_text(r, &r->sites, d->site) : "";
  zp_trace_describe(&d->sig, text, sizeof text);
  zp_chrome_slice(t, r->rank, d->group, from, 1, zp_trace_ops[d->sig.op], phase);
  zp_chrome_args(t);
  zp_chrome_string(t, "what", text);
  zp_chrome_integer(t, "record", r->records - 1);
  zp_chrome_integer(t, "step", step);
  if (phase[0]) zp_chrome_string(t, "phase", phase);
  if (site[0]) zp_chrome_string(t, "site", site);
  zp_chrome_close(t);
}

static void step_mark(zp_chrome_trace *t, int32_t rank, double at, int64_t step)
{
  char text[32];
  snprintf(text, sizeof text, "step %" PRId64, step);
  zp_chrome_event(t, "i");
  zp_chrome_string(t, "s", "p");
  zp_chrome_row(t, rank, 0);
  zp_chrome_time(t, "ts", at);
  zp_chrome_string(t, "name", text);
  zp_chrome_close(t);
}

/* A row has the label of its group, if the trace has one, before the key. */
static void name_row(zp_chrome_trace *t, const zp_trace_reader *r, const zp_trace_item *group)
{
  char text[2 * ZP_TRACE_NAME + 3];
  const char *label =
      group->number < ZP_TRACE_WORLD ? zp_trace_text(r, &r->labels, (int32_t)group->number) : "";
  if (label[0]) snprintf(text, sizeof text, "%s (%s)", label, group->name);
  else snprintf(text, sizeof text, "%s", group->name);
  zp_chrome_name(t, r->rank, group->number, "thread_name", text);
}

static double now(const zp_trace_reader *r)
{
  return r->ns ? (double)r->ns / 1000 : (double)r->records;
}

/* What a failure must release: it jumps out of draw_ranks. */
typedef struct view {
  zp_trace_failure failure;
  zp_trace_reader reader;
  int64_t records;
} view;

static void draw(zp_chrome_trace *t, view *v)
{
  zp_trace_reader *r = &v->reader;
  zp_trace_item item;
  int64_t step = -1;
  char text[64];
  snprintf(text, sizeof text, "rank %d", (int)r->rank);
  zp_chrome_name(t, r->rank, 0, "process_name", text);
  while (zp_trace_next(r, &item)) {
    if (item.kind == ZP_TRACE_GROUP) name_row(t, r, &item);
    if (item.kind == ZP_TRACE_STEP) {
      step = item.number;
      step_mark(t, r->rank, now(r), step);
    }
    if (item.kind == ZP_TRACE_OP) slice(t, r, item.op, step, now(r));
  }
}

/* Counts the records drawn. Returns 0 or a status. */
static int draw_ranks(view *v, FILE *f, const char *dir, int32_t first, int32_t last)
{
  zp_chrome_trace t;
  if (setjmp(v->failure.leave) != 0) return v->failure.err.status;
  zp_chrome_begin(&t, f, 0, NULL);
  for (int32_t r = first; r <= last; r++) {
    zp_trace_open(&v->reader, &v->failure, dir, r);
    if (v->reader.state == ZP_TRACE_READING) draw(&t, v);
    v->records += v->reader.records;
    zp_trace_close(&v->reader);
  }
  zp_chrome_end(&t);
  return 0;
}

int zp_trace_view(const char *dir, const char *file, int32_t first, int32_t last, zp_error *err)
{
  view v = {.records = 0};
  zp_output to;
  const int32_t world = zp_trace_named(dir, NULL);
  if (world <= 0 || first >= world)
    return zp_fail(err, ZP_E_REFUSED, -1, "%s: %s.", dir,
                   world < 0    ? strerror(errno)
                   : world == 0 ? "no traces found, expected files rank-N.zpt"
                                : "it has no trace of the requested ranks");
  if (zp_output_spares("--out", file, (const char *[]){dir, NULL}, err) != 0) return err->status;
  if (zp_output_open(&to, file, err) != 0) return err->status;
  if (draw_ranks(&v, to.f, dir, first, last < world ? last : world - 1) != 0) {
    zp_trace_close(&v.reader);
    zp_fail(err, v.failure.err.status, -1, "%s", v.failure.err.text);
  } else if (v.records == 0) {
    zp_fail(err, ZP_E_REFUSED, -1, "%s: all traces are empty: nothing to show in %s.", dir, file);
  }
  return zp_output_close(&to, err->status, err);
}
