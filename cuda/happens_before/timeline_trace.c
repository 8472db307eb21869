/* A timeline for Perfetto, in Chrome's trace format: a process per rank, a thread per stream. */
#include <stdio.h>
#include <string.h>

#include "../../ref/base/output.h"
#include "../../ref/draw/chrome_trace.h"
#include "timeline_layout.h"

/* Rows are in the order in which streams were created. */
static void name_rows(zp_chrome_trace *to, const zp_timeline *t)
{
  char text[48];
  for (int32_t i = 0; i < t->rows; i++) {
    const zp_row *r = &t->row[i];
    snprintf(text, sizeof text, "rank %d", r->rank);
    if (i == 0 || t->row[i - 1].rank != r->rank)
      zp_chrome_name(to, r->rank, 0, "process_name", text);
    zp_chrome_name(to, r->rank, i + 1, "thread_name", r->name);
    zp_chrome_sort(to, r->rank, i + 1, "thread_sort_index", i + 1);
  }
}

static void slice(zp_chrome_trace *to, const zp_timeline *t, const zp_bar *b)
{
  const zp_row *row = &t->row[b->row];
  const simdev_record *item = t->run->vertex[b->item].item;
  char label[ZP_HB_NAME], text[2 * ZP_HB_NAME], shown[ZP_HB_NAME + 32];
  zp_timeline_label(t, b, label, sizeof label);
  zp_timeline_text(t, b, text, sizeof text);
  snprintf(shown, sizeof shown, "%s%s", b->marked ? "RACE " : "", label);
  zp_chrome_slice(to, row->rank, b->row + 1, (double)b->begin, (double)(b->end - b->begin), shown,
                  b->marked ? "race" : "work");
  zp_chrome_args(to);
  zp_chrome_string(to, "work", text);
  zp_chrome_string(to, "item", item->name);
  zp_chrome_integer(to, "issued as", (int64_t)item->issue);
  zp_chrome_integer(to, "began as", (int64_t)item->begin);
  zp_chrome_integer(to, "ended as", (int64_t)item->end);
  zp_chrome_end_args(to);
  if (b->marked) zp_chrome_string(to, "cname", "terrible");
  zp_chrome_close(to);
}

static void flow(zp_chrome_trace *to, const zp_timeline *t, int32_t from, int32_t target,
                 int64_t id, const char *what)
{
  for (int end = 0; end < 2; end++) {
    const zp_bar *b = &t->bar[end ? target : from];
    zp_chrome_event(to, end ? "f" : "s");
    zp_chrome_row(to, t->row[b->row].rank, b->row + 1);
    zp_chrome_time(to, "ts", (double)b->begin);
    zp_chrome_integer(to, "id", id);
    zp_chrome_string(to, "name", what);
    zp_chrome_string(to, "cat", what);
    if (end) zp_chrome_string(to, "bp", "e");
    zp_chrome_close(to);
  }
}

/* The finding, as a row of its own over the time in which both pieces may run. */
static void findings(zp_chrome_trace *to, const zp_timeline *t)
{
  const int32_t pid = t->plan->world;
  const char *text = t->race_text[0] ? t->race_text : t->opt->finding;
  int64_t from = 0, end = t->length;
  char line[ZP_HB_TEXT];
  if (!text) return;
  snprintf(line, sizeof line, "%.*s", (int)strcspn(text, "\n"), text);
  if (t->race_text[0]) {
    const zp_bar *a = &t->bar[t->race[0]], *b = &t->bar[t->race[1]];
    from = a->begin < b->begin ? a->begin : b->begin;
    end = a->end < b->end ? b->end : a->end;
    flow(to, t, t->race[0], t->race[1], (int64_t)t->arrows + 1, "race");
  }
  zp_chrome_name(to, pid, 0, "process_name", "found");
  zp_chrome_sort(to, pid, -1, "process_sort_index", -1);
  zp_chrome_slice(to, pid, 1, (double)from, (double)(end - from), line, "race");
  zp_chrome_string(to, "cname", "terrible");
  zp_chrome_args(to);
  zp_chrome_string(to, "race", t->race_text);
  zp_chrome_string(to, "finding", t->opt->finding ? t->opt->finding : "");
  zp_chrome_close(to);
}

int zp_timeline_trace(const zp_timeline *t, const char *file, zp_error *err)
{
  zp_chrome_trace to;
  zp_output out;
  if (zp_output_open(&out, file, err)) return err->status;
  zp_chrome_begin(&to, out.f, 1, t->opt->title ? t->opt->title : "");
  name_rows(&to, t);
  for (int32_t i = 0; i < t->bars; i++) slice(&to, t, &t->bar[i]);
  for (int32_t i = 0; i < t->arrows; i++)
    flow(&to, t, t->arrow[i].from, t->arrow[i].to, i + 1,
         t->arrow[i].redundant ? "superfluous wait" : "wait");
  findings(&to, t);
  zp_chrome_end(&to);
  return zp_output_close(&out, 0, err);
}
