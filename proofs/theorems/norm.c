/* Family 6: the norm of a step, from the vectors of statistics of all ranks to the number. Each
 * function is a harness: its contract is the theorem, its body makes the calls. */
#include "../../ref/engine/statistics.h"
#include "../../ref/num/decide.h"

#include "../../spec/acsl/layout_lemmas.h"

#include "../../spec/acsl/layout_good.h"

#include "../../spec/acsl/composition_world.h"

#include "../../spec/acsl/norm_world.h"

#include "../../spec/acsl/exact_bounds.h"
#include "../../spec/acsl/exact_sums.h"

#include "norm.h"

//@ check lemma sentinel_norm: \false;

/* The sum of no vector. STAT-1 */
/*@ requires total: \valid(total + (0 .. 30));
    terminates \true; exits \false;
    assigns total[0 .. 30];
    ensures total: Total(total, 0);
    ensures good: total[29] == 0 && total[30] == 0;
*/
static void begin(int64_t *total)
{
  /*@ loop invariant range: 0 <= i <= 31;
      loop invariant zero: \forall integer j; 0 <= j < i ==> total[j] == 0;
      loop assigns i, total[0 .. 30];
      loop variant 31 - i; */
  for (int32_t i = 0; i < 31; i++) total[i] = 0;
  //@ assert none: LimbSum(total, 20) == 0 && ValuesOf(0) == 0 && Shift32(19, 32 * 0) == 0;
  //@ assert losses: LimbsSmall(total + 20, 0, 9, 0);
}

/* Adds vector number n, as an all-reduce does. STAT-1 */
/*@ requires total: \valid(total + (0 .. 30)) && Total(total, n);
    requires vector: \valid_read(v + (0 .. 46)) && Vector(v, ValueOf(n));
    requires apart: \separated(total + (0 .. 30), v + (0 .. 46));
    requires limit: 0 <= n < 1048576;
    terminates \true; exits \false;
    assigns total[0 .. 30];
    ensures total: Total(total, n + 1);
    ensures good: total[29] == 0 && total[30] == 0 <==> \old(total[29]) == 0 &&
      \old(total[30]) == 0 && \old(v[29]) == 0 && \old(v[30]) == 0;
*/
static void add(int64_t *total, const int64_t *v, int64_t n)
{
  //@ ghost Before: ;
  zp_limbs_merge(total, v, 20);
  //@ assert squares: LimbSum(total, 20) == ValuesOf(n) + ValueOf(n);
  //@ ghost Squares: ;
  zp_limbs_merge(total + 20, v + 20, 9);
  //@ assert same: \forall integer i; 0 <= i < 20 ==> total[i] == \at(total[i],Squares);
  //@ assert kept: LimbSum(total, 20) == ValuesOf(n) + ValueOf(n);
  /*@ assert loss: \forall integer i; 0 <= i < 9 ==>
        (total + 20)[i] == \at((total + 20)[i],Before) + \at((v + 20)[i],Before); */
  //@ ghost Losses: ;
  total[29] += v[29];
  total[30] += v[30];
  //@ assert still: \forall integer i; 0 <= i < 29 ==> total[i] == \at(total[i],Losses);
  //@ assert value: LimbSum(total, 20) == ValuesOf(n + 1);
  //@ assert low: \forall integer i; 0 <= i < 20 ==> 0 <= total[i] <= 4294967296 * (n + 1);
  //@ assert small: LimbsSmall(total + 20, 0, 9, 4398046511104 * (n + 1));
  //@ assert flags: total[29] == \at(total[29],Before) + \at(v[29],Before);
  //@ assert bad: total[30] == \at(total[30],Before) + \at(v[30],Before);
  //@ assert most: ValuesOf(n + 1) <= Shift32(19, 32 * n) + Shift32(19, 32);
}

/* The decision of each rank from the sum of all ranks' vectors: of `replicas` replicas of the
 * topology of the valid configuration cfg. divisor, clip, eps, log2_scale: as for zp_judge.
 * STAT-1 … STAT-5 */
/*@ requires cfg: \valid_read(cfg) && Valid(cfg);
    requires replicas: 1 <= replicas;
    requires ranks: ranks == VectorAt(cfg, replicas, 0, 0, 0) && 1 <= ranks <= 1048576;
    requires vectors: \valid_read(vectors + (0 .. 47 * ranks - 1));
    requires values: \forall integer w; 0 <= w < ranks ==> Vector(vectors + 47 * w, ValueOf(w));
    requires counts: RanksCount(cfg, replicas);
    requires total: \valid(total + (0 .. 30));
    requires apart: \separated(total + (0 .. 30), vectors + (0 .. 47 * ranks - 1));
    requires divisor: 1 <= divisor <= 1099511627776;
    requires scale: -126 <= log2_scale <= 126;
    terminates \true; exits \false;
    assigns total[0 .. 30];
    ensures skipped: \result.skipped == 1 <==> \old(Bad(vectors, ranks));
    ensures norm: \result.skipped == 0 ==>
      RoundedRoot64(\old(LogicalWorld(cfg, cfg->pp)), \result.norm_scaled);
    ensures norm_f32: \result.skipped == 0 ==>
      RoundedRoot32(\old(LogicalWorld(cfg, cfg->pp)), \result.norm_f32);
    ensures unscaled: \result.skipped == 0 ==>
      \result.norm_f64 == Mul64(\result.norm_scaled, Power64(-log2_scale));
    check ensures control_any: RoundedRoot64(\old(LogicalWorld(cfg, cfg->pp)), \result.norm_scaled);
*/
zp_decision norm_of_world(const zp_config *cfg, int32_t replicas, const int64_t *vectors,
                          int64_t ranks, int64_t divisor, double clip, double eps,
                          int32_t log2_scale, int64_t *total)
{
  //@ assert world: ValuesOf(ranks) == LogicalWorld(cfg, cfg->pp);
  begin(total);
  /*@ loop invariant range: 0 <= w <= ranks;
      loop invariant total: Total(total, w);
      loop invariant good: total[29] == 0 && total[30] == 0 <==> !Bad{Pre}(vectors, w);
      loop assigns w, total[0 .. 30];
      loop variant ranks - w; */
  for (int64_t w = 0; w < ranks; w++) {
    const int64_t *v = vectors + 47 * w;
    //@ assert inside: \valid_read(v + (0 .. 46)) && \separated(total + (0 .. 30), v + (0 .. 46));
    //@ assert before: Vector{Pre}(v, ValueOf(w));
    //@ assert words: SameVector{Pre,Here}(v);
    //@ assert vector: Vector(v, ValueOf(w));
    add(total, v, w);
    /*@ assert next: Bad{Pre}(vectors, w + 1) <==> (Bad{Pre}(vectors, w) ||
          v[29] != 0 || v[30] != 0); */
  }
  //@ assert low: 0 <= LimbSum(total, 20) < Shift32(19, 4294967296);
  //@ ghost Added: ;
  zp_squares_settle(total);
  //@ assert losses: \forall integer i; 20 <= i < 31 ==> total[i] == \at(total[i],Added);
  return zp_judge(total, total + 20, total[29], total[30], divisor, clip, eps, log2_scale);
}
