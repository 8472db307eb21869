/* What the two kinds of timelines share. */
#ifndef ZP_PATH_TIMELINE_INTERNAL_H
#define ZP_PATH_TIMELINE_INTERNAL_H

#include "timeline.h"

/* A piece of work, or (node -1) an item that the plan does not know. */
typedef struct zp_bar {
  int32_t node, item; /* item: the first of its items, a vertex of the run */
  int32_t row;
  int64_t begin, end;
  int32_t marked; /* 1, 2: the first, the second of a race */
} zp_bar;

/* A stream of a rank. */
typedef struct zp_row {
  int32_t rank, stream;
  char name[40];
} zp_row;

/* One bar had to wait for another on another row. */
typedef struct zp_arrow {
  int32_t from, to; /* bars */
  int32_t why, superfluous;
} zp_arrow;

typedef struct zp_timeline {
  const zp_path_plan *plan;
  const zp_path_run *run;
  const zp_path_report *report;
  const zp_timeline_options *opt;
  zp_bar *bar;
  zp_row *row;
  zp_arrow *arrow;
  int32_t bars, rows, arrows;
  int64_t length;
  int32_t race[2];                  /* bars, or -1 */
  char race_text[2 * ZP_PATH_TEXT]; /* empty: no race */
} zp_timeline;

/* A few letters: "F2", "+e3 0.1". */
void zp_timeline_label(const zp_timeline *t, const zp_bar *b, char *text, int64_t cap);
/* A sentence. */
void zp_timeline_text(const zp_timeline *t, const zp_bar *b, char *text, int64_t cap);

/* 0, or -1: the file cannot be written; errno says why. */
int zp_timeline_trace(const zp_timeline *t, const char *file);
int zp_timeline_svg(const zp_timeline *t, const char *file);

#endif
