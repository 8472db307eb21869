/* Writes Chrome's trace event format, which ui.perfetto.dev and chrome://tracing open. All traces
 * of the project are written with these functions. Times are in microseconds; strings are escaped.
 *
 * An event is written field by field: zp_chrome_event, its fields in any order, zp_chrome_close.
 * Slices and names have functions of their own. */
#ifndef ZP_DRAW_CHROME_TRACE_H
#define ZP_DRAW_CHROME_TRACE_H

#include <stdint.h>
#include <stdio.h>

typedef struct zp_chrome_trace {
  FILE *f;
  int32_t compact; /* 1: no line breaks, and whole microseconds */
  int32_t events;
  int32_t in_args, fields; /* fields of the object that is open */
} zp_chrome_trace;

/* title: NULL, or a title for the whole trace. */
void zp_chrome_begin(zp_chrome_trace *t, FILE *f, int32_t compact, const char *title);
/* Ends the trace. The caller checks ferror and closes the file. */
void zp_chrome_end(zp_chrome_trace *t);

/* Opens an event. ph: its phase, as "X" for a slice. */
void zp_chrome_event(zp_chrome_trace *t, const char *ph);
/* Its process and its thread; tid -1: it is of the whole process. */
void zp_chrome_row(zp_chrome_trace *t, int32_t pid, int64_t tid);
void zp_chrome_time(zp_chrome_trace *t, const char *key, double us);
void zp_chrome_integer(zp_chrome_trace *t, const char *key, int64_t value);
void zp_chrome_string(zp_chrome_trace *t, const char *key, const char *text);
/* The fields that follow are the event's arguments, until zp_chrome_end_args or zp_chrome_close. */
void zp_chrome_args(zp_chrome_trace *t);
void zp_chrome_end_args(zp_chrome_trace *t);
void zp_chrome_close(zp_chrome_trace *t);

/* Opens a slice: "X" with times, name and category. */
void zp_chrome_slice(zp_chrome_trace *t, int32_t pid, int64_t tid, double from, double duration,
                     const char *name, const char *category);
/* Names a row or a process: what is "process_name" or "thread_name". */
void zp_chrome_name(zp_chrome_trace *t, int32_t pid, int64_t tid, const char *what,
                    const char *text);
/* Its place among the others: what is "process_sort_index" or "thread_sort_index". */
void zp_chrome_sort(zp_chrome_trace *t, int32_t pid, int64_t tid, const char *what, int64_t place);

#endif
