/* Family 6: the norm of a step from the vectors of statistics of all ranks. Each function is a
 * harness: its contract is the theorem, its body makes the calls. */
#include "norm.h"

#include "../../ref/num/exact.h"

#include "../../spec/acsl/exact_bounds.h"
#include "../../spec/acsl/exact_sums.h"

/*@ predicate SameVector{A,B}(int64_t *v) =
      \forall integer i; 0 <= i < 47 ==> \at(v[i], A) == \at(v[i], B);
    lemma Vector_Frame{A,B}: \forall int64_t *v, integer x; SameVector{A,B}(v) &&
      Vector{A}(v, x) ==> Vector{B}(v, x);
    predicate BadVector{L}(int64_t *vectors, integer w) =
      vectors[47 * w + 29] != 0 || vectors[47 * w + 30] != 0;
    lemma Bad_Next{L}: \forall int64_t *vectors, integer w; 0 <= w ==>
      (Bad(vectors, w + 1) <==> (Bad(vectors, w) || BadVector(vectors, w)));
    lemma Total_Low: \forall integer n; 0 <= n <= 1048576 ==>
      Shift32(19, 32 * n) < Shift32(19, 4294967296);
    lemma Total_More: \forall integer n; Shift32(19, 32 * n) + Shift32(19, 32) ==
      Shift32(19, 32 * (n + 1));
*/

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
  //@ assert losses: \forall integer i; 0 <= i < 9 ==> (total + 20)[i] == 0;
}

/* Adds the squares of vector number n. STAT-1 */
/*@ requires total: \valid(total + (0 .. 30)) && Total(total, n);
    requires vector: \valid_read(v + (0 .. 46)) && Vector(v, ValueOf(n));
    requires apart: \separated(total + (0 .. 30), v + (0 .. 46));
    requires limit: 0 <= n < 1048576;
    terminates \true; exits \false;
    assigns total[0 .. 19];
    ensures added: LimbSum(total, 20) == ValuesOf(n) + ValueOf(n);
    ensures low: \forall integer i; 0 <= i < 20 ==> 0 <= total[i] <= 4294967296 * (n + 1);
*/
static void add_squares(int64_t *total, const int64_t *v, int64_t n)
{
  zp_limbs_merge(total, v, 20);
}

/* Adds the losses of vector number n. STAT-1 */
/*@ requires total: \valid(total + (0 .. 30)) &&
      LimbsSmall(total + 20, 0, 9, 4398046511104 * n);
    requires vector: \valid_read(v + (0 .. 46)) && LimbsSmall(v + 20, 0, 9, 4398046511104);
    requires apart: \separated(total + (0 .. 30), v + (0 .. 46));
    requires limit: 0 <= n < 1048576;
    terminates \true; exits \false;
    assigns total[20 .. 28];
    ensures small: LimbsSmall(total + 20, 0, 9, 4398046511104 * (n + 1));
*/
static void add_losses(int64_t *total, const int64_t *v, int64_t n)
{
  /*@ assert fits: \forall integer i; 0 <= i < 9 ==>
        -4611686018427387904 <= (total + 20)[i] + (v + 20)[i] <= 4611686018427387904; */
  //@ ghost Before: ;
  zp_limbs_merge(total + 20, v + 20, 9);
  /*@ assert added: \forall integer i; 0 <= i < 9 ==>
        (total + 20)[i] == \at((total + 20)[i],Before) + \at((v + 20)[i],Before); */
}

/* Adds vector number n, as an all-reduce does. STAT-1 */
/*@ requires total: \valid(total + (0 .. 30)) && Total(total, n);
    requires vector: \valid_read(v + (0 .. 46)) && Vector(v, ValueOf(n));
    requires apart: \separated(total + (0 .. 30), v + (0 .. 46));
    requires limit: 0 <= n < 1048576;
    terminates \true; exits \false;
    assigns total[0 .. 30];
    ensures total: Total(total, n + 1);
    ensures flag: total[29] == \old(total[29]) + \old(v[29]);
    ensures bad: total[30] == \old(total[30]) + \old(v[30]);
*/
static void add(int64_t *total, const int64_t *v, int64_t n)
{
  const int64_t flag = total[29] + v[29], bad = total[30] + v[30];
  add_squares(total, v, n);
  //@ ghost Squares: ;
  //@ assert losses: \forall integer i; 20 <= i < 29 ==> total[i] == \at(total[i],Pre);
  //@ assert small: LimbsSmall(total + 20, 0, 9, 4398046511104 * n);
  add_losses(total, v, n);
  total[29] = flag;
  total[30] = bad;
  //@ assert same: \forall integer i; 0 <= i < 20 ==> total[i] == \at(total[i],Squares);
  //@ assert value: LimbSum(total, 20) == ValuesOf(n + 1);
  //@ assert most: 0 <= ValuesOf(n + 1) <= Shift32(19, 32 * (n + 1));
}

zp_decision norm_of_vectors(const int64_t *vectors, int64_t ranks, int64_t divisor, double clip,
                            double eps, int32_t log2_scale, int64_t *total)
{
  begin(total);
  /*@ loop invariant range: 0 <= w <= ranks;
      loop invariant total: Total(total, w);
      loop invariant good: total[29] == 0 && total[30] == 0 <==> !Bad{Pre}(vectors, w);
      loop assigns w, total[0 .. 30];
      loop variant ranks - w; */
  for (int64_t w = 0; w < ranks; w++) {
    const int64_t *v = vectors + 47 * w;
    //@ assert inside: \valid_read(v + (0 .. 46)) && \separated(total + (0 .. 30), v + (0 .. 46));
    //@ assert before: \let x = v; Vector{Pre}(x, ValueOf(w));
    //@ assert words: \let x = v; SameVector{Pre,Here}(x);
    //@ assert vector: Vector(v, ValueOf(w));
    //@ assert is: BadVector{Pre}(vectors, w) <==> v[29] != 0 || v[30] != 0;
    add(total, v, w);
  }
  //@ assert low: 0 <= LimbSum(total, 20) < Shift32(19, 4294967296);
  //@ ghost Added: ;
  zp_squares_settle(total);
  //@ assert losses: \forall integer i; 20 <= i < 31 ==> total[i] == \at(total[i],Added);
  //@ assert small: LimbsSmall(total + 20, 0, 9, 9223372028264841216);
  return zp_judge(total, total + 20, total[29], total[30], divisor, clip, eps, log2_scale);
}
