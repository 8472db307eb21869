/* Family 6: the norm of a step is the rounded root of the exact sum, over every logical element of
 * the model once, of the square of its mean. The function is a harness: its contract is the
 * theorem, its body makes the call. */
#include "../../ref/engine/count.h"
#include "../../spec/acsl/bounds.h"

#include "norm.h"

#include "../../spec/acsl/layout_lemmas.h"

#include "../../spec/acsl/layout_good.h"

#include "../../spec/acsl/composition_world.h"

#include "../../spec/acsl/norm_world.h"

//@ check lemma sentinel_norm_theorem: \false;

/* The decision of each rank from the sums of all ranks' vectors: of `replicas` replicas of the
 * topology of the valid configuration cfg. The others: as for norm_of_total. STAT-1 … STAT-5 */
/*@ requires cfg: \valid_read(cfg) && Valid(cfg);
    requires replicas: 1 <= replicas;
    requires ranks: ranks == VectorAt(cfg, replicas, 0, 0, 0) && 1 <= ranks <= ZP_LIMIT_RANKS;
    requires counts: RanksCount(cfg, replicas);
    requires sums: \valid(squares + (0 .. 19)) && Squares(squares, ranks) &&
      \valid_read(loss + (0 .. 8)) && Losses(loss, ranks);
    requires flags: Flagged(ranks) && nonfinite == FlagsOf(ranks) && bad_loss == BadsOf(ranks);
    requires apart: \separated(squares + (0 .. 19), loss + (0 .. 8));
    requires divisor: 1 <= divisor <= ZP_LIMIT_CONTRIBUTIONS;
    requires scale: -126 <= log2_scale <= 126;
    terminates \true; exits \false;
    assigns squares[0 .. 19];
    ensures skipped: (\result.skipped == 0 <==> AllFinite(ranks)) && 0 <= \result.skipped <= 1;
    ensures norm: AllFinite(ranks) ==>
      RoundedRoot64(\old(LogicalWorld(cfg, cfg->pp)), \result.norm_scaled);
    ensures norm_f32: AllFinite(ranks) ==>
      RoundedRoot32(\old(LogicalWorld(cfg, cfg->pp)), \result.norm_f32);
    check ensures control_any: RoundedRoot64(\old(LogicalWorld(cfg, cfg->pp)), \result.norm_scaled);
*/
zp_decision norm_of_world(const zp_config *cfg, int32_t replicas, int64_t *squares,
                          const int64_t *loss, int64_t nonfinite, int64_t bad_loss, int64_t ranks,
                          int64_t divisor, double clip, double eps, int32_t log2_scale)
{
  //@ assert world: ValuesOf(ranks) == LogicalWorld(cfg, cfg->pp);
  return norm_of_total(squares, loss, nonfinite, bad_loss, ranks, divisor, clip, eps, log2_scale);
}
