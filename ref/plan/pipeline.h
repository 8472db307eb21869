/* 1F1B: what each stage does in each slot of time.
 * Forward of µ at t = 2µ + s, backward at t = 2µ + 2S − 1 − s, for 0 <= t < 2(M + S − 1).
 * spec: PIPE-1 … PIPE-5 */
#ifndef ZP_PLAN_PIPELINE_H
#define ZP_PLAN_PIPELINE_H

#include <stdint.h>

/* One slot of one stage: at most one forward or backward, before it at most one exchange with one
 * neighbour. A micro-batch of -1 means "none". spec: PIPE-2, PIPE-3 */
typedef struct zp_slot {
  int32_t backward; /* 0: a forward slot, which exchanges with stage s-1; 1: backward, s+1 */
  int64_t mb;       /* computed in this slot */
  int64_t send_mb;  /* sent before it (activation to s+1, or gradient to s-1) */
  int64_t recv_mb;  /* received before it (gradient from s+1, or activation from s-1) */
} zp_slot;

/* Slots of a step: 2(M + S − 1). spec: PIPE-1 */
/*@ requires sizes: 1 <= S <= 1048576 && 1 <= M <= 1048576;
    terminates \true; exits \false;
    assigns \nothing;
    ensures slots: \result == 2 * (M + S - 1); */
int64_t zp_slots(int64_t S, int64_t M);

/* Activations that stage s keeps alive at most, and the number of places it has for them.
 * spec: PIPE-4 */
/*@ requires sizes: 1 <= S <= 1048576 && 1 <= M <= 1048576 && 0 <= s < S;
    terminates \true; exits \false;
    assigns \nothing;
    ensures alive: \result == (S - s < M ? S - s : M); */
int64_t zp_alive(int64_t S, int64_t M, int64_t s);

/* What stage s does at time t. spec: PIPE-2, PIPE-3 */
/*@ requires sizes: 1 <= S <= 1048576 && 1 <= M <= 1048576 && 0 <= s < S;
    requires time: 0 <= t < 2 * (M + S - 1);
    terminates \true; exits \false;
    assigns \nothing;
    ensures kind: \result.backward == (t + s) % 2;
    ensures fwd: (t + s) % 2 == 0 && 0 <= t - s < 2 * M ==> \result.mb == (t - s) / 2;
    ensures bwd: (t + s) % 2 == 1 && 0 <= t + s + 1 - 2 * S < 2 * M ==>
        \result.mb == (t + s + 1) / 2 - S; */
zp_slot zp_slot_at(int64_t S, int64_t M, int64_t s, int64_t t);

#endif
