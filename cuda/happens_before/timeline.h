/* Timelines of runs: a row for each stream of each rank, a bar for each piece of work, an arrow for
 * each event that a stream waited for. Times are those of the run's graph under the plan's costs:
 * each piece begins as soon as the order of the run allows. Where the run does not order a demand
 * of the plan, its two pieces are marked and drawn at the same time. spec: PIPE-5 */
#ifndef ZP_HAPPENS_BEFORE_TIMELINE_H
#define ZP_HAPPENS_BEFORE_TIMELINE_H

#include "run.h"

typedef struct zp_timeline_options {
  const char *trace;   /* a file for Perfetto (Chrome's trace format), or NULL */
  const char *svg;     /* a file, or NULL */
  const char *title;   /* "case 7, seed 12", or NULL */
  const char *finding; /* another finding of the run, or NULL */
} zp_timeline_options;

/* Draws the last run of s, which must have kept records; a run with a finding is drawn, too. 0, or
 * 1 with a text: no memory, or a file cannot be written. */
int zp_timeline_write(const zp_hb_case *c, const simdev *s, const zp_timeline_options *o,
                      char *text, int64_t cap);

#endif
