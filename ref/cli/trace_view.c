/* A recorded run as a Chrome/Perfetto trace: a process per rank, a row per group. Where the recorder
 * gave no times, a record lasts a microsecond. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "trace.h"

enum { TEXT = 160 };

typedef struct view {
  FILE *f;
  int first;
} view;

typedef struct phases {
  char (*name)[ZP_TRACE_NAME];
  int32_t n;
} phases;

static void comma(view *v)
{
  fputs(v->first ? "\n" : ",\n", v->f);
  v->first = 0;
}

static void name(view *v, int32_t rank, int64_t row, const char *what, const char *text)
{
  comma(v);
  fprintf(v->f,
          "{\"ph\":\"M\",\"pid\":%d,\"tid\":%" PRId64
          ",\"name\":\"%s\",\"args\":{\"name\":\"%s\"}}",
          (int)rank, row, what, text);
}

static void keep_phase(phases *p, const zp_trace_item *item)
{
  if (item->number >= 4096) return;
  if (item->number >= p->n) {
    p->name = zp_trace_grow(p->name, (size_t)p->n, (size_t)item->number + 1, sizeof *p->name);
    p->n = (int32_t)item->number + 1;
  }
  memcpy(p->name[item->number], item->name, ZP_TRACE_NAME);
}

/* When an operation ended no recorder knows: it is drawn a microsecond long. */
static void slice(view *v, const zp_trace_reader *r, const zp_trace_def *d, const phases *p,
                  int64_t step, double from, double to)
{
  char text[TEXT];
  zp_trace_describe(&d->sig, text, sizeof text);
  comma(v);
  fprintf(v->f,
          "{\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,\"name\":\"%s\",\"cat\":"
          "\"%s\",\"args\":{\"what\":\"%s\",\"record\":%" PRId64 ",\"step\":%" PRId64 "}}",
          (int)r->rank, (int)d->group, from, to - from, zp_trace_ops[d->sig.op],
          d->phase > 0 && d->phase < p->n ? p->name[d->phase] : "", text, r->records - 1, step);
}

static double now(const zp_trace_reader *r)
{
  return r->ns ? (double)r->ns / 1000 : (double)r->records;
}

static void draw(view *v, zp_trace_reader *r)
{
  zp_trace_item item;
  phases p = {NULL, 0};
  int64_t step = -1;
  char text[64];
  snprintf(text, sizeof text, "rank %d", (int)r->rank);
  name(v, r->rank, 0, "process_name", text);
  while (zp_trace_next(r, &item)) {
    if (item.kind == ZP_TRACE_GROUP) name(v, r->rank, item.number, "thread_name", item.name);
    if (item.kind == ZP_TRACE_PHASE) keep_phase(&p, &item);
    if (item.kind == ZP_TRACE_STEP) {
      step = item.number;
      comma(v);
      fprintf(v->f,
              "{\"ph\":\"i\",\"s\":\"p\",\"pid\":%d,\"tid\":0,\"ts\":%.3f,\"name\":\"step %" PRId64
              "\"}",
              (int)r->rank, now(r), step);
    }
    if (item.kind == ZP_TRACE_OP) slice(v, r, item.op, &p, step, now(r), now(r) + 1);
  }
  free(p.name);
}

int zp_trace_view(const char *dir, const char *file, int32_t first, int32_t last)
{
  view v = {NULL, 1};
  int64_t records = 0;
  const int32_t world = zp_trace_named(dir);
  if (world <= 0 || first >= world) {
    fprintf(stderr, "zeroproof trace: %s: %s.\n", dir,
            world < 0    ? strerror(errno)
            : world == 0 ? "no trace is there: no file rank-N.zpt"
                         : "it has no trace of these ranks");
    return ZP_EXIT_REFUSED;
  }
  v.f = fopen(file, "w");
  if (v.f == NULL) {
    fprintf(stderr, "zeroproof trace: --out %s: %m.\n", file);
    return ZP_EXIT_ENVIRONMENT;
  }
  fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[", v.f);
  for (int32_t r = first; r <= last && r < world; r++) {
    zp_trace_reader reader;
    zp_trace_open(&reader, dir, r);
    if (reader.state == ZP_TRACE_READING) draw(&v, &reader);
    records += reader.records;
    zp_trace_close(&reader);
  }
  fputs("\n]}\n", v.f);
  const int bad = ferror(v.f);
  if (fclose(v.f) != 0 || bad) {
    fprintf(stderr, "zeroproof trace: --out %s: %m.\n", file);
    return ZP_EXIT_ENVIRONMENT;
  }
  if (records == 0) {
    fprintf(stderr, "zeroproof trace: %s: there is no record in any trace, nothing to see in %s.\n",
            dir, file);
    return ZP_EXIT_REFUSED;
  }
  printf("wrote %s: open it at https://ui.perfetto.dev\n", file);
  return ZP_EXIT_GOOD;
}
