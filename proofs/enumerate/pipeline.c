/* Simulates the 1F1B schedule for all S, M <= 32: every slot of every stage, where an exchange
 * happens only when both neighbours have reached it. spec: PIPE-1 … PIPE-5 */
#include <string.h>

#include "../../ref/plan/pipeline.h"
#include "enumerate.h"

enum { MAX_S = 32, MAX_M = 32 };

/* The slot numbers of past events, or -1. */
static int64_t forwarded[MAX_S][MAX_M], backwarded[MAX_S][MAX_M];
static int64_t got_activation[MAX_S][MAX_M], got_gradient[MAX_S][MAX_M];
static int64_t in_place[MAX_S][MAX_M]; /* the micro-batch in each activation slot, or -1 */

/* The two halves of one link in one slot match: each receives what the other sends. */
static void exchange(int64_t S, int64_t M, int64_t s, int64_t t)
{
  const zp_slot up = zp_slot_at(S, M, s, t), down = zp_slot_at(S, M, s + 1, t);
  MUST((up.backward == 1) == (down.backward == 0));
  if (up.backward != 1) return;
  MUST(up.send_mb == down.recv_mb && down.send_mb == up.recv_mb);
  if (up.send_mb >= 0) {
    MUST(forwarded[s][up.send_mb] >= 0 && forwarded[s][up.send_mb] < t);
    MUST(got_activation[s + 1][up.send_mb] < 0);
    got_activation[s + 1][up.send_mb] = t;
  }
  if (down.send_mb >= 0) {
    MUST(backwarded[s + 1][down.send_mb] >= 0 && backwarded[s + 1][down.send_mb] < t);
    MUST(got_gradient[s][down.send_mb] < 0);
    got_gradient[s][down.send_mb] = t;
  }
}

static void compute(int64_t S, int64_t M, int64_t s, int64_t t)
{
  const zp_slot a = zp_slot_at(S, M, s, t);
  const int64_t alive = zp_alive(S, M, s);
  MUST(a.mb >= -1 && a.mb < M);
  if (s == 0 && !a.backward) MUST(a.send_mb == -1 && a.recv_mb == -1);
  if (s == S - 1 && a.backward) MUST(a.send_mb == -1 && a.recv_mb == -1);
  if (a.mb < 0) return;
  if (!a.backward) {
    MUST(forwarded[s][a.mb] < 0);
    MUST(s == 0 || got_activation[s][a.mb] == t);
    MUST(in_place[s][a.mb % alive] < 0);
    in_place[s][a.mb % alive] = a.mb;
    forwarded[s][a.mb] = t;
  } else {
    MUST(forwarded[s][a.mb] >= 0 && backwarded[s][a.mb] < 0);
    MUST(s == S - 1 || got_gradient[s][a.mb] == t);
    MUST(in_place[s][a.mb % alive] == a.mb);
    in_place[s][a.mb % alive] = -1;
    backwarded[s][a.mb] = t;
  }
}

/* Without a common clock: stages advance one by one, in any order that links allow, and all of them
 * must finish. */
static void play_without_clock(int64_t S, int64_t M)
{
  int64_t at[MAX_S] = {0};
  const int64_t end = zp_slots(S, M);
  int64_t left = S * end;
  while (left > 0) {
    const int64_t before = left;
    for (int64_t s = 0; s < S; s++) {
      if (at[s] == end) continue;
      const zp_slot a = zp_slot_at(S, M, s, at[s]);
      if (a.send_mb < 0 && a.recv_mb < 0) {
        at[s]++;
        left--;
        continue;
      }
      const int64_t p = a.backward ? s + 1 : s - 1;
      MUST(p >= 0 && p < S);
      /* the neighbour may lag by a few idle slots; it is at this exchange or before it */
      MUST(at[p] <= at[s]);
      if (at[p] != at[s]) continue;
      at[s]++;
      at[p]++;
      left -= 2;
    }
    MUST(left < before);
  }
}

static void play(int64_t S, int64_t M)
{
  memset(forwarded, -1, sizeof forwarded);
  memset(backwarded, -1, sizeof backwarded);
  memset(got_activation, -1, sizeof got_activation);
  memset(got_gradient, -1, sizeof got_gradient);
  memset(in_place, -1, sizeof in_place);
  MUST(zp_slots(S, M) == 2 * (M + S - 1));
  for (int64_t s = 0; s < S; s++) MUST(zp_alive(S, M, s) == (S - s < M ? S - s : M));
  for (int64_t t = 0; t < zp_slots(S, M); t++) {
    for (int64_t s = 0; s + 1 < S; s++) exchange(S, M, s, t);
    for (int64_t s = 0; s < S; s++) compute(S, M, s, t);
    for (int64_t s = 0; s < S; s++) {
      int64_t alive = 0;
      for (int64_t m = 0; m < M; m++) alive += in_place[s][m] >= 0;
      MUST(alive <= S - s && alive <= M);
    }
  }
  for (int64_t s = 0; s < S; s++)
    for (int64_t m = 0; m < M; m++) {
      MUST(forwarded[s][m] >= 0 && backwarded[s][m] > forwarded[s][m]);
      MUST(m == 0 || forwarded[s][m] > forwarded[s][m - 1]);
      MUST(m == 0 || backwarded[s][m] > backwarded[s][m - 1]);
      MUST(s == 0 || forwarded[s][m] > forwarded[s - 1][m]);
      MUST(s == 0 || backwarded[s][m] < backwarded[s - 1][m]);
    }
}

int main(void)
{
  for (int64_t S = 1; S <= MAX_S; S++)
    for (int64_t M = 1; M <= MAX_M; M++) {
      CASE("S %d, M %d", (int)S, (int)M);
      play(S, M);
      play_without_clock(S, M);
    }
  return report("pipeline");
}
