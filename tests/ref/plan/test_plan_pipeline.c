/* Laws of 1F1B for all S, M <= 16. */
#include <criterion/criterion.h>

#include "../../../ref/plan/pipeline.h"

enum { MOST = 16 };

#define FOR_ALL(S, M)                                                                              \
  for (int64_t S = 1; S <= MOST; S++)                                                              \
    for (int64_t M = 1; M <= MOST; M++)

/* spec: PIPE-1, PIPE-2 */
Test(pipeline, each_micro_batch_once_forward_then_backward)
{
  FOR_ALL(S, M)
  for (int64_t s = 0; s < S; s++) {
    int64_t forward[MOST], backward[MOST], n = 0;
    for (int64_t mb = 0; mb < M; mb++) forward[mb] = backward[mb] = -1;
    for (int64_t t = 0; t < zp_slots(S, M); t++) {
      const zp_slot a = zp_slot_at(S, M, s, t);
      if (a.mb < 0) continue;
      int64_t *at = a.backward ? &backward[a.mb] : &forward[a.mb];
      cr_assert_eq(*at, -1);
      *at = t;
      n++;
    }
    cr_assert_eq(n, 2 * M);
    for (int64_t mb = 0; mb < M; mb++) {
      cr_assert_eq(forward[mb], 2 * mb + s);
      cr_assert_eq(backward[mb], 2 * mb + 2 * S - 1 - s);
      cr_assert_lt(forward[mb], backward[mb]);
    }
  }
}

/* What s sends in a slot is what s+1 receives in the same slot, and the other way round; what is
 * sent was computed in the slot before. spec: PIPE-3, PIPE-5 */
Test(pipeline, sends_pair_with_receives_in_the_same_slot)
{
  FOR_ALL(S, M)
  for (int64_t s = 0; s < S; s++)
    for (int64_t t = 0; t < zp_slots(S, M); t++) {
      const zp_slot a = zp_slot_at(S, M, s, t);
      const zp_slot before = t > 0 ? zp_slot_at(S, M, s, t - 1) : (zp_slot){.mb = -1};
      const int64_t other = a.backward ? s + 1 : s - 1;
      if (other < 0 || other >= S) {
        cr_assert(a.send_mb == -1 && a.recv_mb == -1);
        continue;
      }
      const zp_slot b = zp_slot_at(S, M, other, t);
      cr_assert_eq(a.send_mb, b.recv_mb);
      cr_assert_eq(a.recv_mb, b.send_mb);
      cr_assert_eq(a.backward, !b.backward);
      if (a.send_mb >= 0) cr_assert(before.mb == a.send_mb && before.backward == !a.backward);
      if (a.recv_mb >= 0) cr_assert_eq(a.recv_mb, a.mb);
    }
}

/* spec: PIPE-4 */
Test(pipeline, a_place_is_free_when_it_is_taken)
{
  FOR_ALL(S, M)
  for (int64_t s = 0; s < S; s++) {
    const int64_t places = zp_alive(S, M, s);
    int64_t holds[MOST], alive = 0, peak = 0;
    for (int64_t i = 0; i < MOST; i++) holds[i] = -1;
    for (int64_t t = 0; t < zp_slots(S, M); t++) {
      const zp_slot a = zp_slot_at(S, M, s, t);
      if (a.mb < 0) continue;
      if (a.backward) {
        cr_assert_eq(holds[a.mb % places], a.mb);
        holds[a.mb % places] = -1;
        alive--;
      } else {
        cr_assert_eq(holds[a.mb % places], -1);
        holds[a.mb % places] = a.mb;
        alive++;
      }
      peak = alive > peak ? alive : peak;
    }
    cr_assert_leq(peak, S - s);
    cr_assert_eq(peak, places);
  }
}

/* The walk from a stage's first slot to its last leaves out only slots in which it does nothing.
 * spec: PIPE-2, PIPE-3 */
Test(pipeline, the_walk_leaves_out_idle_slots_only)
{
  FOR_ALL(S, M)
  for (int64_t s = 0; s < S; s++) {
    const int64_t end = zp_end_slot(S, M, s);
    int64_t next = s;
    cr_assert_leq(end, zp_slots(S, M));
    for (int64_t t = 0; t < zp_slots(S, M); t++) {
      if (t == next && t < end) {
        next = zp_next_slot(S, M, s, t);
        cr_assert(next > t && next <= end);
        continue;
      }
      const zp_slot a = zp_slot_at(S, M, s, t);
      cr_assert(a.mb == -1 && a.send_mb == -1 && a.recv_mb == -1);
    }
  }
}
