/* The logic of PIPE-1 … PIPE-5. S stages, M micro-batches, stage s, slot t, micro-batch m. */
#ifndef ZP_SPEC_ACSL_PIPELINE_H
#define ZP_SPEC_ACSL_PIPELINE_H

/*@ predicate PipeSizes(integer S, integer M, integer s) = 0 <= s < S && 1 <= M;

    logic integer Slots(integer S, integer M) = 2 * (M + S - 1);
    logic integer Places(integer S, integer M, integer s) = S - s < M ? S - s : M;

    // The slots of stage s's forward and backward of m.
    logic integer ForwardTime(integer s, integer m) = 2 * m + s;
    logic integer BackwardTime(integer S, integer s, integer m) = 2 * m + 2 * S - 1 - s;

    // 1 if slot t of stage s is a backward slot.
    logic integer BackwardSlot(integer s, integer t) = (t + s) % 2;

    // The d/2-th of M micro-batches if d is even and in range, else -1.
    logic integer HalfOf(integer M, integer d) = d < 0 || d % 2 != 0 || d / 2 >= M ? -1 : d / 2;
    logic integer ForwardAt(integer M, integer s, integer t) = HalfOf(M, t - s);
    logic integer BackwardAt(integer S, integer M, integer s, integer t) =
      HalfOf(M, t + s + 1 - 2 * S);

    // The micro-batch that stage s computes in slot t, and those that it sends and receives before.
    logic integer Computed(integer S, integer M, integer s, integer t) =
      BackwardSlot(s, t) == 1 ? BackwardAt(S, M, s, t) : ForwardAt(M, s, t);
    logic integer Received(integer S, integer M, integer s, integer t) =
      BackwardSlot(s, t) == 1 ? (s < S - 1 ? BackwardAt(S, M, s, t) : -1)
                              : (s > 0 ? ForwardAt(M, s, t) : -1);
    logic integer Sent(integer S, integer M, integer s, integer t) =
      BackwardSlot(s, t) == 1 ? (s < S - 1 ? ForwardAt(M, s, t - 1) : -1)
                              : (s > 0 ? BackwardAt(S, M, s, t - 1) : -1);
    predicate Idle(integer S, integer M, integer s, integer t) =
      Computed(S, M, s, t) < 0 && Received(S, M, s, t) < 0 && Sent(S, M, s, t) < 0;

    // Forwards, backwards and their difference in the slots before t.
    logic integer Forwards(integer M, integer s, integer t) =
      t <= 0 ? 0 : Forwards(M, s, t - 1) + (ForwardAt(M, s, t - 1) >= 0 ? 1 : 0);
    logic integer Backwards(integer S, integer M, integer s, integer t) =
      t <= 0 ? 0 : Backwards(S, M, s, t - 1) + (BackwardAt(S, M, s, t - 1) >= 0 ? 1 : 0);
    logic integer AliveAt(integer S, integer M, integer s, integer t) =
      Forwards(M, s, t) - Backwards(S, M, s, t);
    logic integer Clamp(integer M, integer d) = d < 0 ? 0 : d / 2 < M ? d / 2 : M;

    // The slots in which stage s may have work: 2M from its first forward on, 2M from its first
    // backward on. The planner visits them in order and skips those in between.
    logic integer NextSlot(integer S, integer M, integer s, integer t) =
      t + 1 == s + 2 * M && 2 * S - 1 - s > s + 2 * M ? 2 * S - 1 - s : t + 1;
    logic integer EndSlot(integer S, integer M, integer s) =
      2 * S - 1 - s + 2 * M < Slots(S, M) ? 2 * S - 1 - s + 2 * M : Slots(S, M);
*/

#endif
