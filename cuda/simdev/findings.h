/* What a run found, as text: what, where, which rank, what to do. */
#ifndef ZP_SIMDEV_FINDINGS_H
#define ZP_SIMDEV_FINDINGS_H
#include "base.h"

typedef struct sd_findings {
  simdev_status verdict; /* set by the finding that ends the run; then nothing more is noted */
  simdev_report report;
  char text[16384];
  size_t text_used;
  char call_text[160];
  int32_t raced; /* ThreadSanitizer has reported a race in this run */
} sd_findings;

void sd_findings_reset(simdev *s);
/* ends: the finding ends the run. */
void sd_note(simdev *s, simdev_status status, int ends, int32_t rank, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void sd_append(simdev *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* snprintf, of which ThreadSanitizer sees nothing. */
void sd_print(char *text, size_t cap, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Counts an object that was not destroyed. */
void sd_note_leak(simdev *s, int32_t rank, const char *what, int32_t call, int32_t *n);

/* describe.c */
/* "rank 1, call 12 (cudaFree)", until the next use. */
const char *sd_call_text(const sd_host *h);
void sd_item_text(const sd_item *item, char *text, size_t cap);
const char *sd_stream_name(const sd_stream *st, char *text, size_t cap);

/* report.c */
void sd_report_deadlock(simdev *s);
void sd_report_leaks(simdev *s);

#endif
