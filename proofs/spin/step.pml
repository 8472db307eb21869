/* One optimizer step of S stages x D data-parallel ranks with M micro-batches, as defined in
 * spec/pipeline.md and spec/ledger.md: 1F1B with grouped exchanges, a reduce-scatter after every
 * backward, the sums of a tied key, the statistics, the decision, the gather. Sends are rendezvous,
 * without buffering. Spin searches every interleaving of the ranks.
 *
 * spec: PIPE-2, PIPE-3, PIPE-4, LEDG-6, LEDG-7. Injected faults (-D...), each of which deadlocks:
 *   UNGROUPED   an exchange is a send, then a receive
 *   CROSSED     every other rank issues two collectives of different groups in reverse order: each
 *               group's ledger stays equal, but the clock no longer increases
 *   K0, K1      a norm of one pair of collectives per optimizer group: stage 0 has K0, others K1
 *   DISAGREE    every rank decides separately whether the step is skipped */
#ifndef S
#define S 2
#endif
#ifndef D
#define D 2
#endif
#ifndef M
#define M 2
#endif
#define LINKS (S * D) /* link l of column d is l * D + d */
#define NOSEND (2 * LINKS)
#define NORECV (2 * LINKS + 1)

/* Group numbers. */
#define DP(s) (s)
#define TIED(d) (S + (d))
#define PP(d) (S + D + (d))
#define WORLD (S + 2 * D)
#define GROUPS (S + 2 * D + 1)

/* Contents of collectives. */
#define REDUCE(mb) (1 + (mb))
#define SUM_TIED (M + 1)
#define NORM (M + 2)
#define STATISTICS (M + 3)
#define GATHER (M + 4)

chan wire[2 * LINKS + 2] = [0] of { byte }; /* 2l: down link l; 2l+1: up; the last two are never served */
byte here[GROUPS], content[GROUPS];
bit turn[GROUPS];
bit place[S * D * M]; /* 1: activation slot in use */
byte done;
bit skipped;

#define ALIVE(s) ((S - (s) < M) -> (S - (s)) : M)
#define PLACE(s, d, mb) (((s) * D + (d)) * M + (mb) % ALIVE(s))

/* A collective: blocks until all n members of group g have called it with the same contents. */
inline together(g, n, what)
{
  atomic {
    if
    :: here[g] == 0 -> content[g] = what
    :: else -> assert(content[g] == what)
    fi;
    mine = turn[g];
    here[g]++;
    if
    :: here[g] == n -> here[g] = 0; turn[g] = 1 - turn[g]
    :: else
    fi
  };
  (turn[g] != mine)
}

/* The micro-batch that is forwarded or backwarded at time t, or -1. */
inline at_time(x, first, t)
{
  if
  :: (t) >= (first) && ((t) - (first)) % 2 == 0 && ((t) - (first)) / 2 < M -> x = ((t) - (first)) / 2
  :: else -> x = -1
  fi
}

inline exchange(to, from)
{
#ifdef UNGROUPED
  if :: out >= 0 -> wire[to]!out :: else fi;
  if :: in >= 0 -> wire[from]?got; assert(got == in) :: else fi
#else
  do
  :: out < 0 && in < 0 -> break
  :: wire[(out >= 0 -> (to) : NOSEND)]!out -> out = -1
  :: wire[(in >= 0 -> (from) : NORECV)]?got -> assert(got == in); in = -1
  od
#endif
}

proctype rank(byte s; byte d)
{
  short t, mb, out, in;
  byte got, k;
  bit mine, skips;
  t = 0;
  do
  :: t < 2 * (M + S - 1) ->
     out = -1;
     in = -1;
     d_step {
       if
       :: (t + s) % 2 == 0 ->
          at_time(mb, s, t);
          if :: s > 0 -> in = mb; at_time(out, 2 * S - 1 - s, t - 1) :: else fi
       :: else ->
          at_time(mb, 2 * S - 1 - s, t);
          if :: s < S - 1 -> in = mb; at_time(out, s, t - 1) :: else fi
       fi
     };
     if
     :: (t + s) % 2 == 0 && s > 0 -> exchange(2 * ((s - 1) * D + d) + 1, 2 * ((s - 1) * D + d))
     :: (t + s) % 2 == 1 && s < S - 1 -> exchange(2 * (s * D + d), 2 * (s * D + d) + 1)
     :: else
     fi;
     if
     :: mb >= 0 && (t + s) % 2 == 0 ->
        atomic { assert(!place[PLACE(s, d, mb)]); place[PLACE(s, d, mb)] = 1 }
     :: mb >= 0 && (t + s) % 2 == 1 ->
        atomic { assert(place[PLACE(s, d, mb)]); place[PLACE(s, d, mb)] = 0 };
        together(DP(s), D, REDUCE(mb))
     :: else
     fi;
     t++
  :: else -> break
  od;
#ifdef K0
  k = 0;
  do
  :: k < (s == 0 -> K0 : K1) -> together(DP(s), D, NORM); together(PP(d), S, NORM); k++
  :: else -> break
  od;
#endif
#ifdef CROSSED
  if
  :: (s + d) % 2 == 1 -> together(PP(d), S, NORM); together(DP(s), D, NORM)
  :: else -> together(DP(s), D, NORM); together(PP(d), S, NORM)
  fi;
#endif
  if
  :: S > 1 && (s == 0 || s == S - 1) -> together(TIED(d), 2, SUM_TIED)
  :: else
  fi;
  together(WORLD, S * D, STATISTICS);
#ifdef DISAGREE
  if :: skips = 0 :: skips = 1 fi;
#else
  skips = skipped;
#endif
  if
  :: skips
  :: else -> together(DP(s), D, GATHER)
  fi;
  done++
}

init
{
  byte i = 0;
  if :: skipped = 0 :: skipped = 1 fi; /* one decision for all (STEP-6) */
  atomic {
    do
    :: i < S * D -> run rank(i / D, i % D); i++
    :: else -> break
    od
  };
  (done == S * D)
}
