/* Timelines of runs: a row for each stream of each rank, a bar for each piece of work, an arrow for
 * each event that a stream waited for. Times are those of the run's own graph under the plan's
 * costs: each piece begins as soon as what the run ordered lets it. Where a demand of the plan is
 * not ordered, its two pieces are drawn at the same time, as no order keeps them from that, and
 * marked. spec: PIPE-5 */
#ifndef ZP_PATH_TIMELINE_H
#define ZP_PATH_TIMELINE_H

#include "run.h"

typedef struct zp_timeline_options {
  const char *trace;   /* a file for Perfetto (Chrome's trace format), or NULL */
  const char *svg;     /* a file, or NULL */
  const char *title;   /* "case 7, seed 12", or NULL */
  const char *finding; /* what else was found in the run, or NULL */
} zp_timeline_options;

/* Draws the last run of s, which has kept records, whatever it found. Announcements are those that
 * the run logged. 0, or 1 with a text: no memory, or a file cannot be written. */
int zp_timeline_write(const zp_path_case *c, const simdev *s, const zp_timeline_options *o,
                      char *text, int64_t cap);

#endif
