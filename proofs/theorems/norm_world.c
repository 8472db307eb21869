/* Family 6: the norm of a step is the rounded root of the exact sum, over every logical element of
 * the model once, of the square of its mean. The function is a harness: its contract is the
 * theorem, its body makes the call. */
#include "../../ref/engine/count.h"

#include "norm.h"

#include "../../spec/acsl/layout_lemmas.h"

#include "../../spec/acsl/layout_good.h"

#include "../../spec/acsl/composition_world.h"

#include "../../spec/acsl/norm_world.h"

//@ check lemma sentinel_norm_theorem: \false;

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
    check ensures control_any: RoundedRoot64(\old(LogicalWorld(cfg, cfg->pp)), \result.norm_scaled);
*/
zp_decision norm_of_world(const zp_config *cfg, int32_t replicas, const int64_t *vectors,
                          int64_t ranks, int64_t divisor, double clip, double eps,
                          int32_t log2_scale, int64_t *total)
{
  //@ assert world: ValuesOf(ranks) == LogicalWorld(cfg, cfg->pp);
  return norm_of_vectors(vectors, ranks, divisor, clip, eps, log2_scale, total);
}
