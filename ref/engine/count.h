/* What a rank counts of its reduced gradient in the step's statistics.
 * spec: STAT-2 */
#ifndef ZP_ENGINE_COUNT_H
#define ZP_ENGINE_COUNT_H

#include "../num/exact.h"
#include "../plan/program.h"
#include "statistics.h"
#include "window.h"

#include "../../spec/acsl/count.h"
#include "../../spec/acsl/count_mean.h"

/* 1 when the ranks with tp index `tp` of the layout's stage count the elements of entry j: of tp
 * replicas the first counts, of the copies of a tied key the stage that holds it first. lay is the
 * layout of a stage of the valid configuration cfg, j an entry of that stage that is trained and in
 * a flat group with storage of its own. spec: STAT-2, TIE-2 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && 0 <= lay->stage < cfg->pp &&
        LayoutOf(cfg, lay->stage, lay);
    requires entry: lay->first_param <= j < lay->first_param + lay->n_params;
    requires held: EntryHeld(lay, j - lay->first_param);
    terminates \true; exits \false;
    assigns \nothing;
    ensures counts: \result == CountedOn(cfg, StageEnd(cfg, lay->stage), j, tp);
    ensures bit: \result == 0 || \result == 1; */
int32_t zp_counts(const zp_config *cfg, const zp_layout *lay, int32_t j, int32_t tp);

/* counts[i] becomes zp_counts of the stage's entry i where that is asked for, 0 elsewhere. lay is
 * the layout of a stage of the valid configuration cfg; counts holds its n_params. spec: STAT-2 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && 0 <= lay->stage < cfg->pp &&
        LayoutOf(cfg, lay->stage, lay);
    requires counts: \valid(counts + (0 .. lay->n_params - 1));
    terminates \true; exits \false;
    assigns counts[0 .. lay->n_params - 1];
    ensures counts: \forall integer i; 0 <= i < lay->n_params && EntryHeld(lay, i) ==>
        counts[i] == CountedOn(cfg, StageEnd(cfg, lay->stage), lay->first_param + i, tp);
    ensures others: \forall integer i; 0 <= i < lay->n_params && !EntryHeld(lay, i) ==>
        counts[i] == 0; */
void zp_counted_entries(const zp_config *cfg, const zp_layout *lay, int32_t tp, uint8_t *counts);

/* Adds to s the squares of those of the elements lo … hi-1 of flat group k that are counted;
 * mean[o] is the reduced gradient's element lo + o. lay is the layout of a stage of the valid
 * configuration cfg, k a flat group with storage of its own, counts made by zp_counted_entries, s a
 * running sum with room for hi - lo elements more, apart from everything else. spec: STAT-2 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && 0 <= lay->stage < cfg->pp &&
        LayoutOf(cfg, lay->stage, lay);
    requires flat: 0 <= k < lay->n_flats && lay->flat[k].use == 0;
    requires counts: \valid_read(counts + (0 .. lay->n_params - 1));
    requires range: 0 <= lo <= hi <= 2199023255552;
    requires mean: \valid_read(mean + (0 .. hi - lo - 1));
    requires sum: \valid(s) && SumsqOk(s) && SumsqRoom(s, hi - lo);
    requires apart: \separated(s, cfg, cfg->params + (0 .. cfg->n_params - 1), lay,
        lay->spot + (0 .. lay->n_params - 1), counts + (0 .. lay->n_params - 1),
        mean + (0 .. hi - lo - 1));
    terminates \true; exits \false;
    assigns *s;
    ensures ok: SumsqOk(s);
    ensures load: SumsqLoad(s) <= \old(SumsqLoad(s)) + (hi - lo);
    ensures most: SumsqValue(s) <= \old(SumsqValue(s)) + MostSquares(hi - lo);
    ensures counted: \forall integer t, z; CountsFor{Pre}(cfg, lay, counts, k, t) &&
        GradientIs{Pre}(cfg, lay, k, lo, hi, mean, t, z) ==>
        SumsqValue(s) == \old(SumsqValue(s)) + \old(StageSquaresBelow(cfg, lay, k, t, z, hi)) -
          \old(StageSquaresBelow(cfg, lay, k, t, z, lo)); */
void zp_count_squares(const zp_config *cfg, const zp_layout *lay, const uint8_t *counts, int32_t k,
                      int64_t lo, int64_t hi, const uint32_t *mean, zp_sumsq *s);

/* Takes the means of bucket b of flat group k: notes those that are infinite or NaN, and adds the
 * squares of those that this rank owns and counts. Of several replicas, number 0 counts.
 * lay: the layout of stage at.pp of the valid configuration cfg. at: within it. counts: (n_params),
 * made by zp_counted_entries for at.tp. k: a flat group with storage of its own. b: one of its
 * buckets. mean: (all of the bucket with padding at ZeRO stage 0, else the rank's part) fp32
 * patterns. s: with room for a part more, apart from everything else. Errors: none.
 * spec: STAT-2, STAT-3, RED-9
 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && LayoutOf(cfg, at.pp, lay);
    requires at: Within(cfg, at.pp, at.dp, at.tp);
    requires counts: \valid_read(counts + (0 .. lay->n_params - 1));
    requires bucket: 0 <= k < lay->n_flats && HasBucket(lay->flat + k, b) &&
      lay->flat[k].use == 0;
    requires mean: \valid_read(mean + (0 .. LocalIn(lay->flat + k, cfg->stage, b) - 1));
    requires sum: \valid(s) && SumsqOk(&s->squares) &&
      SumsqRoom(&s->squares, PartIn(lay->flat + k, b)) && 0 <= s->nonfinite <= 1;
    requires apart: \separated(s, cfg, cfg->params + (0 .. cfg->n_params - 1), lay,
        lay->flat + (0 .. lay->n_flats - 1), lay->spot + (0 .. lay->n_params - 1),
        counts + (0 .. lay->n_params - 1),
        mean + (0 .. LocalIn(lay->flat + k, cfg->stage, b) - 1));
    terminates \true; exits \false;
    assigns s->squares, s->nonfinite;
    ensures ok: SumsqOk(&s->squares);
    ensures load: SumsqLoad(&s->squares) <=
      \old(SumsqLoad(&s->squares)) + \old(PartIn(lay->flat + k, b));
    ensures most: SumsqValue(&s->squares) <=
      \old(SumsqValue(&s->squares)) + MostSquares(\old(PartIn(lay->flat + k, b)));
    ensures flag: s->nonfinite ==
      (CountNonFinite32{Pre}(mean, LocalIn{Pre}(\at(lay->flat, Pre) + k, \at(cfg->stage, Pre), b))
        != 0 ? 1 : \old(s->nonfinite));
    ensures counted: \forall integer z; replica == 0 &&
      CountsFor{Pre}(cfg, lay, counts, k, at.tp) && MeanIs{Pre}(cfg, lay, at, k, b, mean, z) ==>
      SumsqValue(&s->squares) == \old(SumsqValue(&s->squares)) +
        MeanSquares{Pre}(cfg, lay, at, k, b, z);
    ensures other: replica != 0 ==>
      SumsqValue(&s->squares) == \old(SumsqValue(&s->squares));
*/
void zp_count_mean(const zp_config *cfg, const zp_layout *lay, const uint8_t *counts, zp_coord at,
                   int32_t replica, int32_t k, int64_t b, const uint32_t *mean, zp_statistics *s);

#endif
