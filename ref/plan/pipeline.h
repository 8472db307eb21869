/* 1F1B: the work of each stage in each time slot.
 * Forward of µ at t = 2µ + s, backward at t = 2µ + 2S − 1 − s, for 0 <= t < 2(M + S − 1).
 * spec: PIPE-1 … PIPE-5 */
#ifndef ZP_PLAN_PIPELINE_H
#define ZP_PLAN_PIPELINE_H

#include <stdint.h>

#include "../../spec/acsl/bounds.h"
#include "../../spec/acsl/pipeline.h"

/* One slot of one stage: at most one forward or backward, before it at most one exchange with one
 * neighbour. -1 means no micro-batch. spec: PIPE-2, PIPE-3 */
typedef struct zp_slot {
  int32_t backward; /* 0: a forward slot, which exchanges with stage s-1; 1: backward, s+1 */
  int64_t mb;       /* computed in this slot */
  int64_t send_mb;  /* sent before it (activation to s+1, or gradient to s-1) */
  int64_t recv_mb;  /* received before it (gradient from s+1, or activation from s-1) */
} zp_slot;

/* Slots of a step: 2(M + S − 1). S and M are 1..2^20. spec: PIPE-1 */
/*@ requires sizes: 1 <= S <= ZP_LIMIT_RANKS && 1 <= M <= ZP_LIMIT_MICRO_BATCHES;
    terminates \true; exits \false;
    assigns \nothing;
    ensures slots: \result == Slots(S, M); */
int64_t zp_slots(int64_t S, int64_t M);

/* The largest number of activations that stage s keeps, which is its number of activation slots.
 * S and M are 1..2^20, s is 0..S-1. spec: PIPE-4 */
/*@ requires sizes: 1 <= S <= ZP_LIMIT_RANKS && 1 <= M <= ZP_LIMIT_MICRO_BATCHES;
    requires stage: 0 <= s < S;
    terminates \true; exits \false;
    assigns \nothing;
    ensures alive: \result == Places(S, M, s);
    ensures range: 1 <= \result <= M; */
int64_t zp_alive(int64_t S, int64_t M, int64_t s);

/* The work of stage s in slot t. S and M are 1..2^20, s is 0..S-1, t is 0..zp_slots(S, M)-1.
 * spec: PIPE-2, PIPE-3 */
/*@ requires sizes: 1 <= S <= ZP_LIMIT_RANKS && 1 <= M <= ZP_LIMIT_MICRO_BATCHES;
    requires stage: 0 <= s < S;
    requires time: 0 <= t < Slots(S, M);
    terminates \true; exits \false;
    assigns \nothing;
    ensures kind: \result.backward == BackwardSlot(s, t);
    ensures bit: \result.backward == 0 || \result.backward == 1;
    ensures computed: \result.mb == Computed(S, M, s, t);
    ensures sent: \result.send_mb == Sent(S, M, s, t);
    ensures received: \result.recv_mb == Received(S, M, s, t);
    ensures range: -1 <= \result.mb < M && -1 <= \result.send_mb < M && -1 <= \result.recv_mb < M;
*/
zp_slot zp_slot_at(int64_t S, int64_t M, int64_t s, int64_t t);

/* The next slot after t in which stage s may have work: one of the 2M slots from its first forward
 * on, or of the 2M slots from its first backward on. If M is small, there are idle slots in
 * between.
 * S and M are 1..2^20, s is 0..S-1, t is 0..zp_slots(S, M)-1. spec: PIPE-2, PIPE-3 */
/*@ requires sizes: 1 <= S <= ZP_LIMIT_RANKS && 1 <= M <= ZP_LIMIT_MICRO_BATCHES;
    requires stage: 0 <= s < S;
    requires time: 0 <= t < Slots(S, M);
    terminates \true; exits \false;
    assigns \nothing;
    ensures next: \result == NextSlot(S, M, s, t);
    ensures later: t < \result;
    ensures within: s <= t < EndSlot(S, M, s) ==> \result <= EndSlot(S, M, s);
    ensures skipped: \forall integer u; t < u < \result ==> Idle(S, M, s, u); */
int64_t zp_next_slot(int64_t S, int64_t M, int64_t s, int64_t t);

/* One past the last slot in which stage s may have work. S and M are 1..2^20, s is 0..S-1.
 * spec: PIPE-2, PIPE-3 */
/*@ requires sizes: 1 <= S <= ZP_LIMIT_RANKS && 1 <= M <= ZP_LIMIT_MICRO_BATCHES;
    requires stage: 0 <= s < S;
    terminates \true; exits \false;
    assigns \nothing;
    ensures end: \result == EndSlot(S, M, s);
    ensures range: s < \result <= Slots(S, M);
    ensures rest: \forall integer u; \result <= u ==> Idle(S, M, s, u); */
int64_t zp_end_slot(int64_t S, int64_t M, int64_t s);

#endif
