/* Consequences of the logic of PIPE-1 … PIPE-5, for all S, M, s, t and m. */
#ifndef ZP_SPEC_ACSL_PIPELINE_LEMMAS_H
#define ZP_SPEC_ACSL_PIPELINE_LEMMAS_H

#include "pipeline.h"

/* ---- Each micro-batch once: PIPE-2 ---- */
/*@ lemma Pipe_ForwardExists: \forall integer S, M, s, m; PipeSizes(S, M, s) && 0 <= m < M ==>
      0 <= ForwardTime(s, m) < Slots(S, M) && BackwardSlot(s, ForwardTime(s, m)) == 0 &&
      Computed(S, M, s, ForwardTime(s, m)) == m;
    lemma Pipe_ForwardUnique: \forall integer S, M, s, t; PipeSizes(S, M, s) && 0 <= t &&
      BackwardSlot(s, t) == 0 && Computed(S, M, s, t) >= 0 ==>
        t == ForwardTime(s, Computed(S, M, s, t)) && Computed(S, M, s, t) < M;
    lemma Pipe_BackwardExists: \forall integer S, M, s, m; PipeSizes(S, M, s) && 0 <= m < M ==>
      0 <= BackwardTime(S, s, m) < Slots(S, M) && BackwardSlot(s, BackwardTime(S, s, m)) == 1 &&
      Computed(S, M, s, BackwardTime(S, s, m)) == m;
    lemma Pipe_BackwardUnique: \forall integer S, M, s, t; PipeSizes(S, M, s) && 0 <= t &&
      BackwardSlot(s, t) == 1 && Computed(S, M, s, t) >= 0 ==>
        t == BackwardTime(S, s, Computed(S, M, s, t)) && Computed(S, M, s, t) < M;
    lemma Pipe_ForwardFirst: \forall integer S, M, s, m; PipeSizes(S, M, s) && 0 <= m < M ==>
      ForwardTime(s, m) < BackwardTime(S, s, m);
    lemma Pipe_InOrder: \forall integer S, s, m, n; m < n ==>
      ForwardTime(s, m) < ForwardTime(s, n) && BackwardTime(S, s, m) < BackwardTime(S, s, n);
*/

/* ---- Sends pair with receives: PIPE-3 ---- */
/*@ lemma Pipe_Opposite: \forall integer s, t; 0 <= s && 0 <= t ==>
      (BackwardSlot(s, t) == 1 <==> BackwardSlot(s + 1, t) == 0);
    lemma Pipe_OneNeighbour: \forall integer S, M, s, t; PipeSizes(S, M, s) && 0 <= t ==>
      (BackwardSlot(s, t) == 1 && s == S - 1 ==>
        Sent(S, M, s, t) == -1 && Received(S, M, s, t) == -1) &&
      (BackwardSlot(s, t) == 0 && s == 0 ==>
        Sent(S, M, s, t) == -1 && Received(S, M, s, t) == -1);
    lemma Pipe_Down: \forall integer S, M, s, t; PipeSizes(S, M, s) && s < S - 1 && 0 <= t &&
      BackwardSlot(s, t) == 1 ==> Sent(S, M, s, t) == Received(S, M, s + 1, t);
    lemma Pipe_Up: \forall integer S, M, s, t; PipeSizes(S, M, s) && s < S - 1 && 0 <= t &&
      BackwardSlot(s, t) == 1 ==> Received(S, M, s, t) == Sent(S, M, s + 1, t);
    lemma Pipe_SentWasComputed: \forall integer S, M, s, t; PipeSizes(S, M, s) && 0 <= t &&
      Sent(S, M, s, t) >= 0 ==> 0 < t && Sent(S, M, s, t) == Computed(S, M, s, t - 1) &&
        BackwardSlot(s, t - 1) == 1 - BackwardSlot(s, t);
    lemma Pipe_ReceivedIsComputed: \forall integer S, M, s, t; PipeSizes(S, M, s) && 0 <= t &&
      Received(S, M, s, t) >= 0 ==> Received(S, M, s, t) == Computed(S, M, s, t);
    // Every computation has its input: a forward above stage 0 and a backward below the last stage
    // receive their input in their own slot, and their output is sent in the next slot.
    lemma Pipe_AllReceived: \forall integer S, M, s, t; PipeSizes(S, M, s) && 0 <= t ==>
      (BackwardSlot(s, t) == 0 && s > 0 ==> Received(S, M, s, t) == Computed(S, M, s, t)) &&
      (BackwardSlot(s, t) == 1 && s < S - 1 ==> Received(S, M, s, t) == Computed(S, M, s, t));
    lemma Pipe_AllSent: \forall integer S, M, s, m; PipeSizes(S, M, s) && 0 <= m < M ==>
      (s < S - 1 ==> ForwardTime(s, m) + 1 < Slots(S, M) &&
        Sent(S, M, s, ForwardTime(s, m) + 1) == m) &&
      (s > 0 ==> BackwardTime(S, s, m) + 1 < Slots(S, M) &&
        Sent(S, M, s, BackwardTime(S, s, m) + 1) == m);
*/

/* ---- Live activations and their slots: PIPE-4 ---- */
/*@ lemma Pipe_Forwards: \forall integer t; 0 <= t ==> \forall integer M, s; 0 <= s && 1 <= M ==>
      Forwards(M, s, t) == Clamp(M, t - s + 1);
    lemma Pipe_Backwards: \forall integer t; 0 <= t ==> \forall integer S, M, s;
      PipeSizes(S, M, s) ==> Backwards(S, M, s, t) == Clamp(M, t + s + 2 - 2 * S);
    lemma Pipe_Alive: \forall integer S, M, s, t; PipeSizes(S, M, s) && 0 <= t ==>
      0 <= AliveAt(S, M, s, t) <= Places(S, M, s) <= S - s;
    lemma Pipe_AllDone: \forall integer S, M, s; PipeSizes(S, M, s) ==>
      Forwards(M, s, Slots(S, M)) == M && Backwards(S, M, s, Slots(S, M)) == M;
    lemma Pipe_Modulo: \forall integer m, n, p; 1 <= p && 0 <= m < n && m % p == n % p ==>
      n >= m + p;
    // Activation slot m mod Places was last used by m - Places, whose backward has run.
    lemma Pipe_PlaceFree: \forall integer S, M, s, m, n; PipeSizes(S, M, s) && 0 <= m < n < M &&
      m % Places(S, M, s) == n % Places(S, M, s) ==>
        BackwardTime(S, s, m) < ForwardTime(s, n);
    lemma Pipe_PlaceRange: \forall integer S, M, s, m; PipeSizes(S, M, s) && 0 <= m ==>
      1 <= Places(S, M, s) <= M && 0 <= m % Places(S, M, s) < Places(S, M, s);
    // One activation slot fewer is not enough.
    check lemma Control_OnePlaceFewer: \forall integer S, M, s, m, n;
      PipeSizes(S, M, s) && 0 <= m < n < M && 2 <= Places(S, M, s) &&
      m % (Places(S, M, s) - 1) == n % (Places(S, M, s) - 1) ==>
        BackwardTime(S, s, m) < ForwardTime(s, n);
*/

/* ---- Single buffers: filled in one slot, last read in the same or the next, refilled two later.
 * Within a slot the order is: exchange (fills act_in and grad_in; reads act_out, grad_out), then
 * compute (reads act_in, grad_in; fills act_out or grad_out). PIPE-3, PIPE-4 ---- */
/*@ // act_in's slot: filled by the exchange at ForwardTime(m), last read by m's backward.
    lemma Pipe_ActIn: \forall integer S, M, s, m, t; PipeSizes(S, M, s) && 0 < s && 0 <= m < M &&
      ForwardTime(s, m) < t <= BackwardTime(S, s, m) && BackwardSlot(s, t) == 0 &&
      Received(S, M, s, t) >= 0 ==>
        Received(S, M, s, t) % Places(S, M, s) != m % Places(S, M, s);
    // act_out: filled by m's forward, sent by the exchange of the next slot; no forward in between.
    lemma Pipe_ActOut: \forall integer S, M, s, t; PipeSizes(S, M, s) && 0 <= t &&
      BackwardSlot(s, t) == 1 && Sent(S, M, s, t) >= 0 ==>
        ForwardTime(s, Sent(S, M, s, t)) == t - 1 &&
        ForwardTime(s, Sent(S, M, s, t) + 1) == t + 1;
    // grad_in: filled by the exchange of the slot in which it is read.
    lemma Pipe_GradIn: \forall integer S, M, s, t; PipeSizes(S, M, s) && 0 <= t &&
      BackwardSlot(s, t) == 1 && Received(S, M, s, t) >= 0 ==>
        BackwardTime(S, s, Received(S, M, s, t)) == t &&
        Received(S, M, s, t) == Computed(S, M, s, t);
    // grad_out: filled by m's backward, sent by the exchange of the next slot; no backward in
    // between.
    lemma Pipe_GradOut: \forall integer S, M, s, t; PipeSizes(S, M, s) && 0 <= t &&
      BackwardSlot(s, t) == 0 && Sent(S, M, s, t) >= 0 ==>
        BackwardTime(S, s, Sent(S, M, s, t)) == t - 1 &&
        BackwardTime(S, s, Sent(S, M, s, t) + 1) == t + 1;
*/

/* ---- Slots that the planner does not visit are idle ---- */
/*@ lemma Pipe_IdleBefore: \forall integer S, M, s, t; PipeSizes(S, M, s) && 0 <= t < s ==>
      Idle(S, M, s, t);
    lemma Pipe_IdleBetween: \forall integer S, M, s, t; PipeSizes(S, M, s) &&
      s + 2 * M <= t < 2 * S - 1 - s ==> Idle(S, M, s, t);
    lemma Pipe_IdleAfter: \forall integer S, M, s, t; PipeSizes(S, M, s) &&
      EndSlot(S, M, s) <= t ==> Idle(S, M, s, t);
*/

#endif
