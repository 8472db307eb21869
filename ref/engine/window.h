/* Where in its arrays a rank reads and writes, and how many elements or bytes they have: all of
 * the interpreter's arithmetic on offsets and sizes but for a workload's messages. What is left to
 * the interpreter is to add an offset to the array that it belongs to. */
#ifndef ZP_ENGINE_WINDOW_H
#define ZP_ENGINE_WINDOW_H

#include <stdint.h>

#include "../../spec/acsl/bounds.h"
#include "../plan/program.h"
#include "../plan/segment.h"

/* Elements at … at+count-1 of an array. They are the elements flat … flat+count-1 of a flat group;
 * the first `real` of them are some entry's, the others padding. */
typedef struct zp_range {
  int64_t at, count, flat, real;
} zp_range;

/* A run of elements of one entry within a range. */
typedef struct zp_piece {
  int32_t param, i; /* the entry, in the configuration's list and in the stage's */
  int64_t offset;   /* in the entry */
  int64_t in;       /* from the range's first element */
  int64_t count;    /* 0 at the end of a walk */
} zp_piece;

/* Bytes of what is sent and received of one bucket, where no other array has room for it. */
typedef struct zp_scratch {
  int64_t send, recv;
} zp_scratch;

#include "../../spec/acsl/window.h"

/* Elements of a rank's arrays (sums, means, masters, moments) for flat group f: its shard, at stage
 * 0 the padded flat group. spec: PART-5 */
/*@ requires flat: \valid_read(f) && FlatOk(f);
    terminates \true; exits \false;
    assigns \nothing;
    ensures extent: \result == ExtentOf(f, stage);
    ensures bounds: 0 <= \result <= 2199023255552; */
int64_t zp_extent(const zp_flat *f, int32_t stage);

/* Elements of the largest bucket of flat group f with padding: of a bucket slot. spec: PART-3 */
/*@ requires flat: \valid_read(f) && FlatOk(f);
    terminates \true; exits \false;
    assigns \nothing;
    ensures widest: \result == WidestOf(f);
    ensures bounds: 0 <= \result <= 2199023255552; */
int64_t zp_widest(const zp_flat *f);

/* Bucket b, 0 <= b < zp_buckets(f), of flat group f in an array of the padded flat group. It fits a
 * bucket slot, too. spec: PART-3, PART-7 */
/*@ requires flat: \valid_read(f) && FlatOk(f);
    requires bucket: HasBucket(f, b);
    terminates \true; exits \false;
    assigns \nothing;
    ensures bucket: \result.at == b * f->capacity && \result.flat == \result.at;
    ensures count: \result.count == PaddedIn(f, b) && \result.real == NumelIn(f, b);
    ensures inside: RangeInside(\result, PaddedOf(f));
    ensures slot: \result.count <= WidestOf(f);
    ensures real: RangeReal(\result, f->numel) && 0 < \result.real; */
zp_range zp_whole_range(const zp_flat *f, int64_t b);

/* The part of bucket b of flat group k that the rank at `at` owns, in its arrays. lay is the layout
 * of stage at.pp of the valid configuration cfg, `at` lies within it, b is a bucket of k.
 * spec: PART-4, PART-5, PART-6 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && LayoutOf(cfg, at.pp, lay);
    requires at: Within(cfg, at.pp, at.dp, at.tp);
    requires bucket: 0 <= k < lay->n_flats && HasBucket(lay->flat + k, b);
    terminates \true; exits \false;
    assigns \nothing;
    ensures part: \result.count == PartIn(lay->flat + k, b);
    ensures flat: \result.flat == b * lay->flat[k].capacity +
        GroupIndex(cfg, lay->flat[k].group, -1, at.pp, at.dp, at.tp) * \result.count;
    ensures at: \result.at == (cfg->stage == 0 ?
        \result.flat : b * (lay->flat[k].capacity / lay->flat[k].members));
    ensures inside: RangeInside(\result, ExtentOf(lay->flat + k, cfg->stage));
    ensures real: RangeReal(\result, lay->flat[k].numel);
    ensures home: cfg->stage != 0 ==> HomesAre(lay->flat + k, b,
        GroupIndex(cfg, lay->flat[k].group, -1, at.pp, at.dp, at.tp), \result); */
zp_range zp_owned_range(const zp_config *cfg, const zp_layout *lay, zp_coord at, int32_t k,
                        int64_t b);

/* All that the rank at `at` holds of bucket b of flat group k, in its arrays: the part that it
 * owns, at stage 0 the whole bucket. lay is the layout of stage at.pp of the valid configuration
 * cfg, `at` lies within it, b is a bucket of k. Flat groups of one tied key have equal ranges.
 * spec: PART-5, TIE-1 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && LayoutOf(cfg, at.pp, lay);
    requires at: Within(cfg, at.pp, at.dp, at.tp);
    requires bucket: 0 <= k < lay->n_flats && HasBucket(lay->flat + k, b);
    terminates \true; exits \false;
    assigns \nothing;
    ensures count: \result.count == LocalIn(lay->flat + k, cfg->stage, b);
    ensures whole: cfg->stage == 0 ==> \result.at == b * lay->flat[k].capacity &&
        \result.flat == \result.at && \result.real == NumelIn(lay->flat + k, b);
    ensures owned: cfg->stage != 0 ==>
        \result.at == b * (lay->flat[k].capacity / lay->flat[k].members) &&
        \result.flat == b * lay->flat[k].capacity +
          GroupIndex(cfg, lay->flat[k].group, -1, at.pp, at.dp, at.tp) * \result.count;
    ensures inside: RangeInside(\result, ExtentOf(lay->flat + k, cfg->stage));
    ensures real: RangeReal(\result, lay->flat[k].numel);
    ensures tied: \forall integer h; 0 <= h < lay->n_flats && 0 <= lay->flat[k].tied &&
        (lay->flat + h)->tied == lay->flat[k].tied ==>
        HasBucket(lay->flat + h, b) && LocalIn(lay->flat + h, cfg->stage, b) == \result.count; */
zp_range zp_local_range(const zp_config *cfg, const zp_layout *lay, zp_coord at, int32_t k,
                        int64_t b);

/* Where op, an ADD of a run of an entry of the stage into a bucket, puts it: stages 0 and 1 in the
 * window, an array of the padded flat group; stage 2 in the bucket's slot. lay is the layout of a
 * stage of the valid configuration cfg. The run lies in the entry and in the bucket, as the planner
 * makes it. spec: RED-3 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && 0 <= lay->stage < cfg->pp &&
        LayoutOf(cfg, lay->stage, lay);
    requires op: \valid_read(op) && AddFits(cfg, lay, op);
    terminates \true; exits \false;
    assigns \nothing;
    ensures flat: \result.flat == lay->spot[op->param - lay->first_param].start + op->offset;
    ensures count: \result.count == op->count && \result.real == op->count;
    ensures at: \result.at ==
        (cfg->stage < 2 ? \result.flat : \result.flat - op->bucket * lay->flat[op->flat].capacity);
    ensures window: cfg->stage < 2 ==> RangeInside(\result, PaddedOf(lay->flat + op->flat));
    ensures slot: cfg->stage == 2 ==> RangeInside(\result, WidestOf(lay->flat + op->flat)) &&
        RangeInside(\result, NumelIn(lay->flat + op->flat, op->bucket));
    ensures real: RangeReal(\result, lay->flat[op->flat].numel); */
zp_range zp_add_range(const zp_config *cfg, const zp_layout *lay, const zp_op *op);

/* One step of a walk through the real elements of p, a range (as above) of flat group k of the
 * layout of a stage of a valid configuration: the next run of one entry. i is the stage's entry
 * whose run was last; the first step's is n_params. spec: PART-9 */
/*@ requires cfg: Readable(cfg);
    requires lay: ReadableLayout(lay) && Planned0(cfg, lay);
    requires flat: 0 <= k < lay->n_flats;
    requires range: RangeReal(p, lay->flat[k].numel) && 0 <= p.real <= p.count;
    requires entry: 0 <= i <= lay->n_params;
    terminates \true; exits \false;
    assigns \nothing;
    ensures some: 0 <= \result.count;
    ensures inside: 0 < \result.count ==> PieceInside(cfg, lay, p, \result);
    ensures entry: 0 < \result.count ==> \result.i < i && lay->spot[\result.i].flat == k &&
        lay->spot[\result.i].start + \result.offset == p.flat + \result.in;
    ensures begins: 0 < \result.count ==> p.flat + \result.in == WalkAt(cfg, lay, i, k, p.flat);
    ensures all: \result.count == 0 ==>
        Smaller(p.flat + p.real, Walked(cfg, lay, 0, k)) <= WalkAt(cfg, lay, i, k, p.flat); */
zp_piece zp_piece_next(const zp_config *cfg, const zp_layout *lay, int32_t k, zp_range p,
                       int32_t i);

/* Scratch memory that serves every bucket of the stage: an all-gather (sends a part, receives the
 * padded bucket, in the dtype of its flat group), a gather of fp32 state (receives the padded
 * bucket), and the partial sums of what the rank holds of a bucket. lay is the layout of a stage of
 * the valid configuration cfg. spec: PART-5, STEP-8, RED-5 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && 0 <= lay->stage < cfg->pp &&
        LayoutOf(cfg, lay->stage, lay);
    terminates \true; exits \false;
    assigns \nothing;
    ensures bounds: 0 <= \result.send && 0 <= \result.recv;
    ensures holds: \forall integer k, b; 0 <= k < lay->n_flats && HasBucket(lay->flat + k, b) ==>
        ScratchHolds(cfg, lay->flat + k, b, \result); */
zp_scratch zp_scratch_need(const zp_config *cfg, const zp_layout *lay);

/* Bytes of one partial sum: fp32, or limbs of int64. reduce: zp_reduce. spec: RED-5 */
/*@ terminates \true; exits \false;
    assigns \nothing;
    ensures bytes: \result == (reduce == ZP_EXACT ? 72 : 4); */
int64_t zp_sum_bytes(int32_t reduce);

/* 1: the sums that a rank keeps of its shard between two reductions are packed, each bucket's by
 * itself, and means take the place of the first words. stage: 0 to 2; reduce: zp_reduce.
 * spec: RED-5, SUM-8, SUM-9 */
/*@ terminates \true; exits \false;
    assigns \nothing;
    ensures packed: \result == (stage == 2 && reduce == ZP_EXACT ? 1 : 0); */
int32_t zp_is_packed(int32_t stage, int32_t reduce);

/* Bytes of a sum that a rank keeps, of gradients of a dtype: as above, or packed.
 * spec: RED-5, SUM-8, SUM-9 */
/*@ terminates \true; exits \false;
    assigns \nothing;
    ensures bytes: \result ==
      (reduce == ZP_EXACT ? (stage == 2 ? (dtype == ZP_F16 ? 12 : 40) : 72) : 4); */
int64_t zp_kept_sum_bytes(int32_t stage, int32_t reduce, int32_t dtype);

/* The stage's entry whose storage its entry i, 0 <= i < n_params, uses: its own, or that of the
 * last entry of its tied key. It has the same number of elements. lay is the layout of a stage of
 * the valid configuration cfg. spec: TIE-2 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && 0 <= lay->stage < cfg->pp &&
        LayoutOf(cfg, lay->stage, lay);
    requires entry: 0 <= i < lay->n_params;
    terminates \true; exits \false;
    assigns \nothing;
    ensures range: i <= \result < lay->n_params;
    ensures key: cfg->params[lay->first_param + \result].tied ==
        cfg->params[lay->first_param + i].tied;
    ensures own: cfg->params[lay->first_param + i].tied < 0 ==> \result == i;
    ensures last: 0 <= cfg->params[lay->first_param + i].tied ==>
        \forall integer q; lay->first_param + \result < q < lay->first_param + lay->n_params ==>
          cfg->params[q].tied != cfg->params[lay->first_param + i].tied;
    ensures numel: cfg->params[lay->first_param + \result].numel ==
        cfg->params[lay->first_param + i].numel; */
int32_t zp_storage_of(const zp_config *cfg, const zp_layout *lay, int32_t i);

/* The entry by whose name checkpoints know entry j, 0 <= j < n_params: the first of its tied key.
 * It has the same number of elements. cfg is valid. spec: CKPT-3 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires entry: 0 <= j < cfg->n_params;
    terminates \true; exits \false;
    assigns \nothing;
    ensures range: 0 <= \result <= j;
    ensures key: cfg->params[\result].tied == cfg->params[j].tied;
    ensures own: cfg->params[j].tied < 0 ==> \result == j;
    ensures first: 0 <= cfg->params[j].tied ==>
        \forall integer q; 0 <= q < \result ==> cfg->params[q].tied != cfg->params[j].tied;
    ensures numel: cfg->params[\result].numel == cfg->params[j].numel; */
int32_t zp_name_of(const zp_config *cfg, int32_t j);

/* Elements of the stage's largest entry, at least 1. lay is the layout of a stage of the valid
 * configuration cfg. spec: LIM-7 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && 0 <= lay->stage < cfg->pp &&
        LayoutOf(cfg, lay->stage, lay);
    terminates \true; exits \false;
    assigns \nothing;
    ensures range: 1 <= \result <= ZP_LIMIT_ELEMENTS;
    ensures most: \forall integer j;
        lay->first_param <= j < lay->first_param + lay->n_params ==>
          cfg->params[j].numel <= \result; */
int64_t zp_most_numel(const zp_config *cfg, const zp_layout *lay);

/* The place, of the `slots` >= 1 that zp_alive gives a stage, for the activation of micro-batch mb
 * >= 0: the one that the program's ops name. spec: PIPE-4 */
/*@ requires slots: 1 <= slots;
    requires mb: 0 <= mb;
    terminates \true; exits \false;
    assigns \nothing;
    ensures place: \result == mb % slots;
    ensures range: 0 <= \result < slots; */
int32_t zp_act_place(int32_t slots, int64_t mb);

/* Elements from `at` on that the next block of at most `most` takes of n, 0 <= at < n.
 * spec: PART-9 */
/*@ requires range: 0 <= at < n && 1 <= most;
    terminates \true; exits \false;
    assigns \nothing;
    ensures some: 1 <= \result <= most;
    ensures inside: at + \result <= n;
    ensures last: \result == most || at + \result == n; */
static inline int64_t zp_block(int64_t n, int64_t at, int64_t most)
{
  return n - at < most ? n - at : most;
}

/* The end of an array of `count` elements of `bytes` that begins at byte `used` of a block of
 * memory, rounded up to whole cache lines; -1 when it is beyond the 2^56 bytes that no machine
 * has. count and used are not negative, bytes is positive. spec: STEP-1 */
/*@ requires range: 0 <= used && 0 <= count && 1 <= bytes;
    terminates \true; exits \false;
    assigns \nothing;
    ensures refused: \result == -1 <==>
        72057594037927936 < used || 72057594037927936 / bytes < count;
    ensures room: \result != -1 ==> used + count * bytes <= \result <= used + count * bytes + 63;
    ensures lines: \result != -1 ==> (\result - used) % 64 == 0;
    ensures bounds: -1 <= \result <= 144115188075855936; */
int64_t zp_arena_next(int64_t used, int64_t count, int64_t bytes);

#endif
