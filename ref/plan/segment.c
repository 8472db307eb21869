/* spec: PART-2, PART-9 */
#include "segment.h"
#include "../../spec/acsl/bounds.h"

#include "../../spec/acsl/layout_lemmas.h"

#include "../../spec/acsl/layout_good.h"

#include "../../spec/acsl/segment_lemmas.h"

/* The part of entry `param` in the non-empty range lo … hi-1; the entry begins at `start` in its
 * flat group. count is 0 if the part is empty. */
/*@ requires range: 0 <= lo < hi <= 4611686018427387904;
    requires entry: 0 <= start <= ZP_LIMIT_ELEMENTS && 0 <= numel <= ZP_LIMIT_ELEMENTS;
    terminates \true; exits \false;
    assigns \nothing;
    ensures entry: \result.param == param && 0 <= \result.count;
    ensures none: \result.count == 0 <==> numel == 0 || start + numel <= lo || hi <= start;
    ensures from: 0 < \result.count ==> \result.flat == Larger(lo, start);
    ensures to: 0 < \result.count ==> \result.flat + \result.count == Smaller(hi, start + numel);
    ensures offset: 0 < \result.count ==> 0 <= \result.offset == \result.flat - start; */
static zp_segment part_of(int32_t param, int64_t start, int64_t numel, int64_t lo, int64_t hi)
{
  zp_segment s = {0};
  const int64_t end = start + numel;
  s.param = param;
  s.flat = start > lo ? start : lo;
  s.offset = s.flat - start;
  s.count = (end < hi ? end : hi) - s.flat;
  if (s.count < 0) s.count = 0;
  return s;
}

zp_segment zp_segment_next(const zp_config *cfg, const zp_layout *lay, int32_t k, int64_t lo,
                           int64_t hi, int32_t i)
{
  const zp_segment none = {-1, 0, lo, 0};
  int32_t left = i;
  if (hi <= lo) return none;
  //@ assert head: LayoutHead(cfg, lay->stage, lay) && LayoutRange(cfg, lay);
  /*@ loop invariant range: 0 <= left <= i;
      loop invariant walk: WalkAt(cfg, lay, left, k, lo) == WalkAt(cfg, lay, i, k, lo);
      loop assigns left;
      loop variant left; */
  while (left > 0) {
    zp_segment s = {0};
    int32_t j = 0;
    left--;
    j = lay->first_param + left;
    //@ assert spot: SegmentSpot(cfg, lay, left, k);
    if (lay->spot[left].flat != k) continue;
    if (lay->spot[left].start >= hi) return none; /* starts ascend in backward order */
    s = part_of(j, lay->spot[left].start, cfg->params[j].numel, lo, hi);
    if (s.count > 0) return s;
  }
  return none;
}
