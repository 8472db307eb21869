/* Where the bars of a timeline are, and their texts. */
#ifndef ZP_HAPPENS_BEFORE_TIMELINE_LAYOUT_H
#define ZP_HAPPENS_BEFORE_TIMELINE_LAYOUT_H

#include "../../ref/base/error.h"
#include "timeline.h"

/* A piece of work; node -1: an item that is not in the plan. */
typedef struct zp_bar {
  int32_t node, item; /* item: its first item, a vertex of the run */
  int32_t row;
  int64_t begin, end;
  int32_t marked; /* 1, 2: the first or second piece of a race */
} zp_bar;

/* A stream of a rank. */
typedef struct zp_row {
  int32_t rank, stream;
  char name[40];
} zp_row;

/* A bar waited for a bar on another row. */
typedef struct zp_arrow {
  int32_t from, to; /* bars */
  int32_t why, redundant;
} zp_arrow;

typedef struct zp_timeline {
  const zp_hb_plan *plan;
  const zp_hb_run *run;
  const zp_hb_report *report;
  const zp_timeline_options *opt;
  zp_bar *bar;
  zp_row *row;
  zp_arrow *arrow;
  int32_t bars, rows, arrows;
  int64_t length;
  int32_t race[2];                /* bars, or -1 */
  char race_text[2 * ZP_HB_TEXT]; /* empty: there is no race */
} zp_timeline;

/* A label of a few letters: "F2", "+e3 0.1". */
void zp_timeline_label(const zp_timeline *t, const zp_bar *b, char *text, int64_t cap);
/* A sentence. */
void zp_timeline_text(const zp_timeline *t, const zp_bar *b, char *text, int64_t cap);

/* 0, or a negative status: no memory, or the file cannot be written. */
int zp_timeline_trace(const zp_timeline *t, const char *file, zp_error *err);
int zp_timeline_svg(const zp_timeline *t, const char *file, zp_error *err);

#endif
