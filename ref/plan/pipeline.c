/* spec: PIPE-1 … PIPE-5 */
#include "pipeline.h"
#include "../../spec/acsl/bounds.h"

int64_t zp_slots(int64_t S, int64_t M)
{
  return 2 * (M + S - 1);
}

int64_t zp_alive(int64_t S, int64_t M, int64_t s)
{
  return S - s < M ? S - s : M;
}

/* The micro-batch whose forward stage s runs at time t, or -1. M is 1..2^20, s is 0..2^20-1, t is
 * -1..2^22. PIPE-2 */
/*@ requires sizes: 1 <= M <= ZP_LIMIT_MICRO_BATCHES && 0 <= s < ZP_LIMIT_RANKS;
    requires time: -1 <= t <= 4194304;
    terminates \true; exits \false;
    assigns \nothing;
    ensures at: \result == ForwardAt(M, s, t);
    ensures range: -1 <= \result < M; */
static int64_t forward_at(int64_t M, int64_t s, int64_t t)
{
  const int64_t d = t - s;
  return d < 0 || d % 2 != 0 || d / 2 >= M ? -1 : d / 2;
}

/* The micro-batch whose backward stage s runs at time t, or -1. S and M are 1..2^20, s is 0..S-1, t
 * is -1..2^22. PIPE-2 */
/*@ requires sizes: 1 <= S <= ZP_LIMIT_RANKS && 1 <= M <= ZP_LIMIT_MICRO_BATCHES && 0 <= s < S;
    requires time: -1 <= t <= 4194304;
    terminates \true; exits \false;
    assigns \nothing;
    ensures at: \result == BackwardAt(S, M, s, t);
    ensures range: -1 <= \result < M; */
static int64_t backward_at(int64_t S, int64_t M, int64_t s, int64_t t)
{
  const int64_t d = t + s + 1 - 2 * S;
  return d < 0 || d % 2 != 0 || d / 2 >= M ? -1 : d / 2;
}

zp_slot zp_slot_at(int64_t S, int64_t M, int64_t s, int64_t t)
{
  zp_slot a = {0};
  a.backward = (int32_t)((t + s) % 2);
  if (a.backward) {
    a.mb = backward_at(S, M, s, t);
    a.recv_mb = s < S - 1 ? a.mb : -1;
    a.send_mb = s < S - 1 ? forward_at(M, s, t - 1) : -1;
  } else {
    a.mb = forward_at(M, s, t);
    a.recv_mb = s > 0 ? a.mb : -1;
    a.send_mb = s > 0 ? backward_at(S, M, s, t - 1) : -1;
  }
  return a;
}

int64_t zp_next_slot(int64_t S, int64_t M, int64_t s, int64_t t)
{
  const int64_t drained = s + 2 * M, backward = 2 * S - 1 - s;
  return t + 1 == drained && backward > drained ? backward : t + 1;
}

int64_t zp_end_slot(int64_t S, int64_t M, int64_t s)
{
  const int64_t end = 2 * S - 1 - s + 2 * M, slots = zp_slots(S, M);
  return end < slots ? end : slots;
}
