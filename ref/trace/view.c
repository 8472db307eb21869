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

typedef struct phases {
  char (*name)[ZP_TRACE_NAME];
  int32_t n;
} phases;

static void keep_phase(const zp_trace_reader *r, phases *p, const zp_trace_item *item)
{
  if (item->number >= 4096) return;
  if (item->number >= p->n) {
    p->name =
        zp_trace_grow(r->failure, p->name, (size_t)p->n, (size_t)item->number + 1, sizeof *p->name);
    p->n = (int32_t)item->number + 1;
  }
  memcpy(p->name[item->number], item->name, ZP_TRACE_NAME);
}

/* Traces do not record the end of an operation, so it is drawn a microsecond long. */
static void slice(zp_chrome_trace *t, const zp_trace_reader *r, const zp_trace_def *d,
                  const phases *p, int64_t step, double from)
{
  char text[TEXT];
  zp_trace_describe(&d->sig, text, sizeof text);
  zp_chrome_slice(t, r->rank, d->group, from, 1, zp_trace_ops[d->sig.op],
                  d->phase > 0 && d->phase < p->n ? p->name[d->phase] : "");
  zp_chrome_args(t);
  zp_chrome_string(t, "what", text);
  zp_chrome_integer(t, "record", r->records - 1);
  zp_chrome_integer(t, "step", step);
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

static double now(const zp_trace_reader *r)
{
  return r->ns ? (double)r->ns / 1000 : (double)r->records;
}

/* What a failure must release: it jumps out of draw_ranks. */
typedef struct view {
  zp_trace_failure failure;
  zp_trace_reader reader;
  phases phases;
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
    if (item.kind == ZP_TRACE_GROUP)
      zp_chrome_name(t, r->rank, item.number, "thread_name", item.name);
    if (item.kind == ZP_TRACE_PHASE) keep_phase(r, &v->phases, &item);
    if (item.kind == ZP_TRACE_STEP) {
      step = item.number;
      step_mark(t, r->rank, now(r), step);
    }
    if (item.kind == ZP_TRACE_OP) slice(t, r, item.op, &v->phases, step, now(r));
  }
}

static void release(view *v)
{
  zp_trace_close(&v->reader);
  free(v->phases.name);
  v->phases = (phases){NULL, 0};
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
    release(v);
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
    release(&v);
    zp_fail(err, v.failure.err.status, -1, "%s", v.failure.err.text);
  } else if (v.records == 0) {
    zp_fail(err, ZP_E_REFUSED, -1, "%s: all traces are empty: nothing to show in %s.", dir, file);
  }
  return zp_output_close(&to, err->status, err);
}
