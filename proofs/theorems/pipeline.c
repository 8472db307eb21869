/* In every slot, two neighbouring stages each receive what the other sends, for all numbers of
 * stages and micro-batches. PIPE-3 */
#include "../../ref/plan/pipeline.h"
#include "../../spec/acsl/bounds.h"
#include "../../spec/acsl/pipeline_lemmas.h"

/* Stages s and s+1 in slot t. S is 2..2^20, M is 1..2^20, s is 0..S-2, t is a slot of the step. */
/*@ requires sizes: 2 <= S <= ZP_LIMIT_RANKS && 1 <= M <= ZP_LIMIT_MICRO_BATCHES;
    requires stage: 0 <= s < S - 1;
    requires time: 0 <= t < Slots(S, M);
    requires out: \valid(upper) && \valid(lower) && \separated(upper, lower);
    terminates \true; exits \false;
    assigns *upper, *lower;
    ensures opposite: upper->backward == 1 <==> lower->backward == 0;
    ensures down: upper->backward == 1 ==> upper->send_mb == lower->recv_mb;
    ensures up: upper->backward == 1 ==> upper->recv_mb == lower->send_mb;
    check ensures control: upper->send_mb == lower->recv_mb; */
void neighbours(int64_t S, int64_t M, int64_t s, int64_t t, zp_slot *upper, zp_slot *lower)
{
  *upper = zp_slot_at(S, M, s, t);
  *lower = zp_slot_at(S, M, s + 1, t);
}

/*@ requires sizes: 2 <= S <= ZP_LIMIT_RANKS && 1 <= M <= ZP_LIMIT_MICRO_BATCHES;
    requires stage: 0 <= s < S;
    terminates \true; exits \false;
    assigns \nothing;
    ensures alive: \result <= S - s;
    ensures bound: \forall integer t; 0 <= t ==> AliveAt(S, M, s, t) <= \result; */
int64_t peak(int64_t S, int64_t M, int64_t s)
{
  return zp_alive(S, M, s);
}
