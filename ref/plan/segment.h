/* The walk through a flat group, entry by entry. Every copy between entries (parameters, gradients,
 * checkpoints) and flat groups (buckets, shards) uses it.
 * spec: PART-2, PART-9 */
#ifndef ZP_PLAN_SEGMENT_H
#define ZP_PLAN_SEGMENT_H

#include "layout.h"

/* A run of elements of one entry inside a flat group. */
typedef struct zp_segment {
  int32_t param;  /* entry, index in the configuration's list */
  int64_t offset; /* in the entry */
  int64_t flat;   /* in the flat group */
  int64_t count;  /* 0 at the end of a walk */
} zp_segment;

#include "../../spec/acsl/segment.h"

/* One step of a walk through elements lo … hi-1 of flat group k, 0 <= k < n_flats, of the layout of
 * a stage of a valid configuration. Returns the next run of elements, all of one entry. i is the
 * index on the stage of the previous run's entry; for the first step it is n_params. 0 <= lo, hi <
 * 2^62. The first run begins at lo, each later one where the previous one ended, and the last ends
 * at hi or at the end of the flat group: the runs tile lo … min(hi, N)-1.
 * spec: PART-2, PART-9 */
/*@ requires cfg: Readable(cfg);
    requires lay: ReadableLayout(lay) && Planned0(cfg, lay);
    requires flat: 0 <= k < lay->n_flats;
    requires entry: 0 <= i <= lay->n_params;
    requires range: 0 <= lo <= 4611686018427387904 && 0 <= hi <= 4611686018427387904;
    terminates \true; exits \false;
    assigns \nothing;
    ensures some: 0 <= \result.count;
    ensures entry: 0 < \result.count ==>
      0 <= \result.param - lay->first_param < i &&
      SegmentIs(cfg, lay, \result.param - lay->first_param, k, lo, hi, \result);
    ensures begins: 0 < \result.count ==> \result.flat == WalkAt(cfg, lay, i, k, lo);
    ensures ends: 0 < \result.count ==> \result.flat + \result.count ==
      Smaller(hi, WalkAt(cfg, lay, \result.param - lay->first_param, k, lo));
    ensures all: \result.count == 0 ==>
      Smaller(hi, Walked(cfg, lay, 0, k)) <= WalkAt(cfg, lay, i, k, lo); */
zp_segment zp_segment_next(const zp_config *cfg, const zp_layout *lay, int32_t k, int64_t lo,
                           int64_t hi, int32_t i);

#endif
