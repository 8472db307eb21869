/* The findings of `zeroproof trace check` for programs that read them: annotations of GitHub's
 * workflows, and JUnit's XML. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "trace_cli.h"

enum { SENTENCE = 2700 };

void zp_trace_sentence(const zp_trace_cause *c, char *text, size_t cap)
{
  char moment[320] = "", said[ZP_TRACE_CAUSE_TEXT];
  if (c->step >= 0) snprintf(moment, sizeof moment, "step %" PRId64, c->step);
  if (c->phase != NULL)
    snprintf(moment + strlen(moment), sizeof moment - strlen(moment), "%s%s",
             c->step >= 0 ? ", " : "", c->phase);
  snprintf(text, cap, "%s%s%s", moment, moment[0] ? ": " : "", zp_trace_cause_text(c, said));
}

const char *zp_trace_mark(const zp_trace_finding *f)
{
  return f->consequence > 0 ? "consequence: " : f->warning ? "warning: " : "";
}

const char *zp_trace_unread(const char *kind)
{
  static const char *const kinds[][2] = {{"world", "the files belong to runs of different sizes"},
                                         {"missing", "a trace is missing"},
                                         {"damaged", "a file cannot be read to its end"},
                                         {"empty", "no operation was recorded"}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strcmp(kind, kinds[i][0]) == 0) return kinds[i][1];
  return NULL;
}

/* ---- GitHub ---------------------------------------------------------------------------------- */

/* property: a value before the message, which commas and colons would end. */
static void put_escaped(const char *text, int property)
{
  for (; *text; text++) {
    if (*text == '%') fputs("%25", stdout);
    else if (*text == '\r') fputs("%0D", stdout);
    else if (*text == '\n') fputs("%0A", stdout);
    else if (property && *text == ':') fputs("%3A", stdout);
    else if (property && *text == ',') fputs("%2C", stdout);
    else putchar(*text);
  }
}

/* Whether the recorder has hashed the name: conformance/recorder/zeroproof_trace_sites.py. */
static int is_hashed(const char *file)
{
  return strlen(file) == 8 && strspn(file, "0123456789abcdef") == 8;
}

/* "train.py:15;loop.py:88" is line 15 of train.py. A hashed name has no position.
 * Returns whether it printed a position. */
static int put_position(const char *site)
{
  char file[256];
  int n = 0, line = 0;
  if (site == NULL || sscanf(site, "%255[^;]", file) != 1) return 0;
  char *colon = strrchr(file, ':');
  if (colon == NULL || sscanf(colon, ":%d%n", &line, &n) != 1 || colon[n] != 0 || line < 1)
    return 0;
  *colon = 0;
  if (is_hashed(file)) return 0;
  fputs(" file=", stdout);
  put_escaped(file, 1);
  printf(",line=%d,", line);
  return 1;
}

static void put_annotation(const char *level, const char *site, const char *title, const char *text)
{
  printf("::%s", level);
  if (!put_position(site)) putchar(' ');
  fputs("title=", stdout);
  put_escaped(title, 1);
  fputs("::", stdout);
  put_escaped(text, 0);
  putchar('\n');
}

void zp_trace_print_github(const zp_trace_verdict *v, const zp_trace_attempt *of)
{
  char text[SENTENCE];
  for (int32_t i = 0; i < v->causes; i++) {
    zp_trace_sentence(&v->cause[i], text, sizeof text);
    put_annotation("error", v->cause[i].site, "zeroproof trace check", text);
  }
  for (int32_t i = 0; i < v->findings; i++) {
    const zp_trace_finding *f = &v->finding[i];
    if (f->consequence != 0) continue; /* a step shows only ten annotations */
    put_annotation(f->warning ? "warning" : "error", NULL, "zeroproof trace check", f->text);
  }
  if (v->errors == 0)
    printf("%" PRId64 " records of %d ranks in %s: consistent\n", v->records, (int)v->world,
           of->dir);
}

/* ---- JUnit ----------------------------------------------------------------------------------- */

/* XML has no form for control characters. names of folders may not be UTF-8. */
static void put_xml(const char *text, int ascii)
{
  for (; *text; text++) {
    const unsigned char c = (unsigned char)*text;
    if (c == '&') fputs("&amp;", stdout);
    else if (c == '<') fputs("&lt;", stdout);
    else if (c == '>') fputs("&gt;", stdout);
    else if (c == '"') fputs("&quot;", stdout);
    else if (c == '\n' || c == '\t') printf("&#%d;", c);
    else if (c < 32 || c == 127 || (ascii && c > 127)) putchar('?');
    else putchar(c);
  }
}

static void put_case(const char *name, const char *kind, const char *text)
{
  printf("    <testcase classname=\"zeroproof.trace\" name=\"%s\" time=\"0\"", name);
  if (text == NULL) {
    puts("/>");
    return;
  }
  fputs(">\n      <failure type=\"", stdout);
  put_xml(kind, 0);
  fputs("\" message=\"", stdout);
  put_xml(text, 0);
  fputs("\">", stdout);
  put_xml(text, 0);
  puts("</failure>\n    </testcase>");
}

static int is_shown(const zp_trace_finding *f)
{
  return !f->warning && f->consequence == 0;
}

void zp_trace_print_junit(const zp_trace_verdict *v, const zp_trace_attempt *of)
{
  char text[SENTENCE], name[64], when[32];
  const time_t now = time(NULL);
  struct tm utc;
  int32_t n = v->causes;
  for (int32_t i = 0; i < v->findings; i++) n += is_shown(&v->finding[i]);
  strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", gmtime_r(&now, &utc));
  puts("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>");
  fputs("  <testsuite id=\"0\" package=\"zeroproof\" name=\"", stdout);
  put_xml(of->dir, 1);
  printf("\" timestamp=\"%s\" hostname=\"localhost\" tests=\"%d\" failures=\"%d\" errors=\"0\" "
         "time=\"0\">\n    <properties>\n      <property name=\"ranks\" value=\"%d\"/>\n"
         "      <property name=\"records\" value=\"%" PRId64 "\"/>\n    </properties>\n",
         when, n > 0 ? (int)n : 1, (int)n, (int)v->world, v->records);
  for (int32_t i = 0; i < v->causes; i++) {
    const zp_trace_cause *c = &v->cause[i];
    if (c->n_ranks > 0) snprintf(name, sizeof name, "cause %d: rank %d", (int)i, (int)c->ranks[0]);
    else snprintf(name, sizeof name, "cause %d", (int)i);
    zp_trace_sentence(c, text, sizeof text);
    put_case(name, c->kind, text);
  }
  for (int32_t i = 0; i < v->findings; i++) {
    if (!is_shown(&v->finding[i])) continue;
    snprintf(name, sizeof name, "finding %d: rank %d", (int)i, (int)v->finding[i].rank);
    put_case(name, v->finding[i].kind, v->finding[i].text);
  }
  if (n == 0) put_case("the ranks enter the same operations", NULL, NULL);
  fputs("    <system-out>", stdout);
  for (int32_t i = 0; i < v->findings; i++) {
    if (is_shown(&v->finding[i]) || v->finding[i].consequence < 0) continue;
    fputs(zp_trace_mark(&v->finding[i]), stdout);
    put_xml(v->finding[i].text, 0);
    putchar('\n');
  }
  puts("</system-out>\n    <system-err/>\n  </testsuite>\n</testsuites>");
}
