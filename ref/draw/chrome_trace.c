#include "chrome_trace.h"

#include <inttypes.h>

#include "../base/escape.h"

static void put_string(zp_chrome_trace *t, const char *text)
{
  static const char escaped[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
  zp_escape e = {{0}, 0, 0};
  fputc('"', t->f);
  for (; *text != 0; text++) {
    int k = 0;
    while (escaped[k] != 0 && escaped[k] != *text) k++;
    if (escaped[k] != 0) fprintf(t->f, "\\%c", letters[k]);
    else zp_escape_write(&e, text, 1, t->f);
  }
  fputc('"', t->f);
}

static void put_key(zp_chrome_trace *t, const char *key)
{
  fprintf(t->f, "%s\"%s\":", t->fields > 0 ? "," : "", key);
  t->fields++;
}

void zp_chrome_begin(zp_chrome_trace *t, FILE *f, int32_t compact, const char *title)
{
  *t = (zp_chrome_trace){.f = f, .compact = compact};
  fputs("{\"displayTimeUnit\":\"ms\",", f);
  if (title != NULL) {
    fputs("\"otherData\":{\"title\":", f);
    put_string(t, title);
    fputs("},", f);
  }
  fputs("\"traceEvents\":[", f);
}

void zp_chrome_end(zp_chrome_trace *t)
{
  fputs(t->compact ? "]}" : "\n]}\n", t->f);
}

void zp_chrome_event(zp_chrome_trace *t, const char *ph)
{
  if (t->events > 0) fputc(',', t->f);
  if (!t->compact) fputc('\n', t->f);
  fputc('{', t->f);
  t->events = 1;
  t->in_args = t->fields = 0;
  zp_chrome_string(t, "ph", ph);
}

void zp_chrome_row(zp_chrome_trace *t, int32_t pid, int64_t tid)
{
  zp_chrome_integer(t, "pid", pid);
  if (tid >= 0) zp_chrome_integer(t, "tid", tid);
}

void zp_chrome_time(zp_chrome_trace *t, const char *key, double us)
{
  put_key(t, key);
  fprintf(t->f, "%.*f", t->compact ? 0 : 3, us);
}

void zp_chrome_integer(zp_chrome_trace *t, const char *key, int64_t value)
{
  put_key(t, key);
  fprintf(t->f, "%" PRId64, value);
}

void zp_chrome_string(zp_chrome_trace *t, const char *key, const char *text)
{
  put_key(t, key);
  put_string(t, text);
}

void zp_chrome_args(zp_chrome_trace *t)
{
  put_key(t, "args");
  fputc('{', t->f);
  t->in_args = 1;
  t->fields = 0;
}

void zp_chrome_end_args(zp_chrome_trace *t)
{
  fputc('}', t->f);
  t->in_args = 0;
  t->fields = 1;
}

void zp_chrome_close(zp_chrome_trace *t)
{
  if (t->in_args) zp_chrome_end_args(t);
  fputc('}', t->f);
}

void zp_chrome_slice(zp_chrome_trace *t, int32_t pid, int64_t tid, double from, double duration,
                     const char *name, const char *category)
{
  zp_chrome_event(t, "X");
  zp_chrome_row(t, pid, tid);
  zp_chrome_time(t, "ts", from);
  zp_chrome_time(t, "dur", duration);
  zp_chrome_string(t, "name", name);
  zp_chrome_string(t, "cat", category);
}

void zp_chrome_name(zp_chrome_trace *t, int32_t pid, int64_t tid, const char *what,
                    const char *text)
{
  zp_chrome_event(t, "M");
  zp_chrome_row(t, pid, tid);
  zp_chrome_string(t, "name", what);
  zp_chrome_args(t);
  zp_chrome_string(t, "name", text);
  zp_chrome_close(t);
}

void zp_chrome_sort(zp_chrome_trace *t, int32_t pid, int64_t tid, const char *what, int64_t place)
{
  zp_chrome_event(t, "M");
  zp_chrome_row(t, pid, tid);
  zp_chrome_string(t, "name", what);
  zp_chrome_args(t);
  zp_chrome_integer(t, "sort_index", place);
  zp_chrome_close(t);
}
