/* The logic of flat sizes: PART-2. Include after partition.h. */
#ifndef ZP_SPEC_ACSL_FLAT_SIZE_H
#define ZP_SPEC_ACSL_FLAT_SIZE_H

/*@ logic integer FlatSize(integer numel, integer tied, integer frozen, integer a) =
      frozen != 0 || 0 <= tied ? numel : RoundUp(numel, a); */

#endif
