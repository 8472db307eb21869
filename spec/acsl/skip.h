#ifndef ZP_ACSL_SKIP_H
#define ZP_ACSL_SKIP_H

/*@ // STAT-3, STEP-6: 1 if a step is skipped. The agreed counts: ranks that found a gradient value
    // that is not finite; losses that are not finite.
    logic integer Skipped(integer nonfinite, integer bad_loss) =
      nonfinite != 0 || bad_loss != 0 ? 1 : 0; */

#endif
