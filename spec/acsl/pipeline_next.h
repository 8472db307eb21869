/* The planner's next slot is one of the step's: PIPE-1. A file of its own, because this lemma slows
 * the proofs of the other lemmas about slots. */
#ifndef ZP_SPEC_ACSL_PIPELINE_NEXT_H
#define ZP_SPEC_ACSL_PIPELINE_NEXT_H

#include "pipeline.h"

/*@ lemma Pipe_NextWithin: \forall integer S, M, s, t; PipeSizes(S, M, s) &&
      s <= t < EndSlot(S, M, s) ==> NextSlot(S, M, s, t) <= EndSlot(S, M, s) <= Slots(S, M);
*/

#endif
