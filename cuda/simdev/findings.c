/* Recording findings. ThreadSanitizer intercepts vsnprintf, and hosts share the text, so its
 * accesses are ignored. */
#include <stdio.h>

#include "state.h"

static void append(simdev *s, const char *format, va_list args)
{
  const size_t room = sizeof s->found.text - s->found.text_used;
  int n;
  sd_race_ignore_begin();
  n = vsnprintf(s->found.text + s->found.text_used, room, format, args);
  sd_race_ignore_end();
  if (n > 0) s->found.text_used += (size_t)n < room ? (size_t)n : room - 1;
}

void sd_findings_reset(simdev *s)
{
  sd_findings *f = &s->found;
  f->verdict = SIMDEV_OK;
  f->text[0] = 0;
  f->text_used = 0;
  f->raced = 0;
  f->report = (simdev_report){.text = f->text, .rank = -1};
}

void sd_append(simdev *s, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  append(s, format, args);
  va_end(args);
}

void sd_note(simdev *s, simdev_status status, int ends, int32_t rank, const char *format, ...)
{
  va_list args;
  if (s->found.verdict) return; /* later findings may result from the one that ended the run */
  s->found.report.findings++;
  if (s->found.report.status == SIMDEV_OK) {
    s->found.report.status = status;
    s->found.report.rank = rank;
  }
  if (s->found.text_used) sd_append(s, "\n");
  va_start(args, format);
  append(s, format, args);
  va_end(args);
  if (ends) s->found.verdict = status;
}

void sd_print(char *text, size_t cap, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  sd_race_ignore_begin();
  vsnprintf(text, cap, format, args);
  sd_race_ignore_end();
  va_end(args);
}

void sd_note_leak(simdev *s, int32_t rank, const char *what, int32_t call, int32_t *n)
{
  (*n)++;
  if (s->found.report.status == SIMDEV_OK || s->found.report.status == SIMDEV_E_LEAK) {
    if (s->found.report.status == SIMDEV_OK)
      sd_note(s, SIMDEV_E_LEAK, 0, rank, "not freed or destroyed at the end of the run:");
    sd_append(s, "\n  rank %d: %s made by call %d", rank, what, call);
  }
}
