/* A timeline for Perfetto, in Chrome's trace format: a process per rank, a thread per stream. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "timeline_internal.h"

static void put(json_t *events, json_t *event)
{
  json_array_append_new(events, event); /* NULL is refused, and found at the end */
}

static void name(json_t *events, int32_t pid, int32_t tid, const char *what, const char *text)
{
  put(events, json_pack("{s:s,s:i,s:i,s:s,s:{s:s}}", "ph", "M", "pid", (int)pid, "tid", (int)tid,
                        "name", what, "args", "name", text));
}

/* Rows keep the order in which streams were made. */
static void name_rows(json_t *events, const zp_timeline *t)
{
  char text[48];
  for (int32_t i = 0; i < t->rows; i++) {
    const zp_row *r = &t->row[i];
    snprintf(text, sizeof text, "rank %d", r->rank);
    if (i == 0 || t->row[i - 1].rank != r->rank) name(events, r->rank, 0, "process_name", text);
    name(events, r->rank, i + 1, "thread_name", r->name);
    put(events,
        json_pack("{s:s,s:i,s:i,s:s,s:{s:i}}", "ph", "M", "pid", (int)r->rank, "tid", (int)i + 1,
                  "name", "thread_sort_index", "args", "sort_index", (int)i + 1));
  }
}

static void slice(json_t *events, const zp_timeline *t, const zp_bar *b)
{
  const zp_row *row = &t->row[b->row];
  const simdev_record *item = t->run->vertex[b->item].item;
  char label[ZP_PATH_NAME], text[2 * ZP_PATH_NAME], shown[ZP_PATH_NAME + 32];
  zp_timeline_label(t, b, label, sizeof label);
  zp_timeline_text(t, b, text, sizeof text);
  snprintf(shown, sizeof shown, "%s%s", b->marked ? "RACE " : "", label);
  json_t *e =
      json_pack("{s:s,s:i,s:i,s:I,s:I,s:s,s:s,s:{s:s,s:s,s:I,s:I,s:I}}", "ph", "X", "pid",
                (int)row->rank, "tid", (int)b->row + 1, "ts", (json_int_t)b->begin, "dur",
                (json_int_t)(b->end - b->begin), "name", shown, "cat", b->marked ? "race" : "work",
                "args", "work", text, "item", item->name, "issued as", (json_int_t)item->issue,
                "began as", (json_int_t)item->begin, "ended as", (json_int_t)item->end);
  if (e && b->marked) json_object_set_new(e, "cname", json_string("terrible"));
  put(events, e);
}

static void flow(json_t *events, const zp_timeline *t, int32_t from, int32_t to, int64_t id,
                 const char *what)
{
  for (int end = 0; end < 2; end++) {
    const zp_bar *b = &t->bar[end ? to : from];
    json_t *e = json_pack("{s:s,s:i,s:i,s:I,s:I,s:s,s:s}", "ph", end ? "f" : "s", "pid",
                          (int)t->row[b->row].rank, "tid", (int)b->row + 1, "ts",
                          (json_int_t)b->begin, "id", (json_int_t)id, "name", what, "cat", what);
    if (e && end) json_object_set_new(e, "bp", json_string("e"));
    put(events, e);
  }
}

/* What was found, as a row of its own over the time in which both may run. */
static void findings(json_t *events, const zp_timeline *t)
{
  const int32_t pid = t->plan->world;
  const char *text = t->race_text[0] ? t->race_text : t->opt->finding;
  int64_t from = 0, to = t->length;
  char line[ZP_PATH_TEXT];
  if (!text) return;
  snprintf(line, sizeof line, "%.*s", (int)strcspn(text, "\n"), text);
  if (t->race_text[0]) {
    const zp_bar *a = &t->bar[t->race[0]], *b = &t->bar[t->race[1]];
    from = a->begin < b->begin ? a->begin : b->begin;
    to = a->end < b->end ? b->end : a->end;
    flow(events, t, t->race[0], t->race[1], (int64_t)t->arrows + 1, "race");
  }
  name(events, pid, 0, "process_name", "found");
  put(events, json_pack("{s:s,s:i,s:s,s:{s:i}}", "ph", "M", "pid", (int)pid, "name",
                        "process_sort_index", "args", "sort_index", -1));
  put(events, json_pack("{s:s,s:i,s:i,s:I,s:I,s:s,s:s,s:s,s:{s:s,s:s}}", "ph", "X", "pid", (int)pid,
                        "tid", 1, "ts", (json_int_t)from, "dur", (json_int_t)(to - from), "name",
                        line, "cat", "race", "cname", "terrible", "args", "race", t->race_text,
                        "finding", t->opt->finding ? t->opt->finding : ""));
}

int zp_timeline_trace(const zp_timeline *t, const char *file)
{
  json_t *events = json_array();
  json_t *all = json_pack("{s:s,s:{s:s},s:o}", "displayTimeUnit", "ms", "otherData", "title",
                          t->opt->title ? t->opt->title : "", "traceEvents", events);
  int failed = -1;
  if (all) {
    name_rows(events, t);
    for (int32_t i = 0; i < t->bars; i++) slice(events, t, &t->bar[i]);
    for (int32_t i = 0; i < t->arrows; i++)
      flow(events, t, t->arrow[i].from, t->arrow[i].to, i + 1,
           t->arrow[i].superfluous ? "superfluous wait" : "wait");
    findings(events, t);
    errno = 0;
    failed = json_dump_file(all, file, JSON_COMPACT | JSON_PRESERVE_ORDER);
  }
  json_decref(all);
  return failed;
}
