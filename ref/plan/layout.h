/* The partition of one pipeline stage: the flat group, bucket, part and shard of each element.
 *
 * A flat group is the concatenation, in backward order, of the stage's entries that share an
 * optimizer group, a dtype and a reduction group. An entry with a tied key is a flat group of its
 * own. A flat group is cut into buckets of C elements, where C is the configured bucket rounded up
 * to D·align. The last bucket is padded to D·align. The r-th of a bucket's D equal parts belongs to
 * rank r of the reduction group. A rank's shard is the concatenation of its parts of all buckets.
 * spec: PART-1 … PART-10 */
#ifndef ZP_PLAN_LAYOUT_H
#define ZP_PLAN_LAYOUT_H

#include <stdint.h>

#include "../../spec/acsl/partition.h"
#include "config.h"
#include "topology.h"

/* One flat group of a stage. All counts in elements. spec: PART-2, PART-3 */
typedef struct zp_flat {
  int32_t group;   /* ZP_GROUP_DP or ZP_GROUP_EDP: the reduction group */
  int32_t members; /* D: its size */
  int32_t optgroup;
  int32_t fp32;     /* 1: values and gradients are fp32, whatever the precision */
  int32_t tied;     /* tied key, or -1 */
  int32_t use;      /* tied: 0 for the storage; 1, 2 … for further uses on this stage (TIE-2) */
  int32_t holder;   /* index of the flat group with use 0 of the same key; else its own index */
  int64_t numel;    /* N */
  int64_t capacity; /* C */
  int64_t align;    /* copied from the configuration */
} zp_flat;

/* The position of one entry of the stage. spec: PART-2 */
typedef struct zp_spot {
  int32_t flat;  /* flat group, or -1 for a frozen entry */
  int64_t start; /* offset of its first element in the flat group */
} zp_spot;

/* The caller owns the arrays. spot[i] belongs to entry first_param + i. spec: PART-1 */
typedef struct zp_layout {
  int32_t stage;
  int32_t first_param, n_params; /* the stage's entries in the list */
  int32_t n_flats, cap_flats, cap_spots;
  zp_flat *flat;
  zp_spot *spot;
} zp_layout;

#include "../../spec/acsl/home.h"

#include "../../spec/acsl/layout.h"

/* The stage's entries: the index of the first in *first, and their number (entries are listed by
 * stage). spec: PART-1 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires out: \valid(first) && \valid(count) && \separated(first, count) &&
        \separated(first, cfg, cfg->params + (0 .. cfg->n_params - 1)) &&
        \separated(count, cfg, cfg->params + (0 .. cfg->n_params - 1));
    requires stage: 0 <= stage < cfg->pp;
    terminates \true; exits \false;
    assigns *first, *count;
    ensures first: *first == \old(StageFirst(cfg, stage));
    ensures count: *count == \old(StageCount(cfg, stage));
    ensures range: 0 <= *first && 0 <= *count && *first + *count <= cfg->n_params;
    ensures mine: \forall integer j; 0 <= j < cfg->n_params ==>
        (cfg->params[j].stage == stage <==> *first <= j < *first + *count); */
void zp_stage_params(const zp_config *cfg, int32_t stage, int32_t *first, int32_t *count);

/* Builds the layout of pipeline stage `stage` of a valid configuration. lay->flat and lay->spot
 * must have room for cap_flats and cap_spots elements; the number of the stage's entries always
 * suffices. lay, its arrays, cfg and its list do not overlap. Returns 0, or -1 iff the room does
 * not suffice.
 * spec: PART-1 … PART-3, PART-10, TIE-2 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires stage: 0 <= stage < cfg->pp;
    requires lay: \valid(lay) && 0 <= lay->cap_flats && 0 <= lay->cap_spots &&
        \valid(lay->flat + (0 .. lay->cap_flats - 1)) &&
        \valid(lay->spot + (0 .. lay->cap_spots - 1));
    requires apart: \separated(lay, lay->flat + (0 .. lay->cap_flats - 1),
        lay->spot + (0 .. lay->cap_spots - 1), cfg, cfg->params + (0 .. cfg->n_params - 1));
    terminates \true; exits \false;
    assigns lay->stage, lay->first_param, lay->n_params, lay->n_flats,
        lay->flat[0 .. lay->cap_flats - 1], lay->spot[0 .. lay->cap_spots - 1];
    ensures verdict: \result == 0 || \result == -1;
    ensures room: \result == 0 <==> \old(StageCount(cfg, stage)) <= lay->cap_spots &&
        \old(FlatCount(cfg, StageEnd(cfg, stage), StageCount(cfg, stage))) <= lay->cap_flats;
    ensures enough: \old(StageCount(cfg, stage)) <= lay->cap_spots &&
        \old(StageCount(cfg, stage)) <= lay->cap_flats ==> \result == 0;
    ensures layout: \result == 0 ==> LayoutOf(cfg, stage, lay);
    ensures kept: SameConfig{Pre,Post}(cfg);
    ensures valid: Readable(cfg) && Valid(cfg); */
int zp_layout_build(const zp_config *cfg, int32_t stage, zp_layout *lay);

/* Buckets of a flat group: ceil(N / C). spec: PART-3 */
/*@ requires flat: \valid_read(f) && FlatOk(f);
    terminates \true; exits \false;
    assigns \nothing;
    ensures buckets: \result == Buckets(f->numel, f->capacity);
    ensures bounds: 0 <= \result <= f->numel; */
int64_t zp_buckets(const zp_flat *f);

/* Elements of bucket b, 0 <= b < zp_buckets(f), without padding. spec: PART-3 */
/*@ requires flat: \valid_read(f) && FlatOk(f);
    requires bucket: 0 <= b && b * f->capacity < f->numel;
    terminates \true; exits \false;
    assigns \nothing;
    ensures numel: \result == BucketNumel(f->numel, f->capacity, b);
    ensures bounds: 1 <= \result <= f->capacity; */
int64_t zp_bucket_numel(const zp_flat *f, int64_t b);

/* Elements of bucket b with padding, a multiple of D·align. spec: PART-3 */
/*@ requires flat: \valid_read(f) && FlatOk(f);
    requires bucket: 0 <= b && b * f->capacity < f->numel;
    terminates \true; exits \false;
    assigns \nothing;
    ensures padded: \result == BucketPadded(f->numel, f->capacity, f->members, f->align, b);
    ensures holds: BucketNumel(f->numel, f->capacity, b) <= \result;
    ensures parts: \result == \result / f->members * f->members;
    ensures bounds: 1 <= \result <= 1103806595072 + 4294967296; */
int64_t zp_bucket_padded(const zp_flat *f, int64_t b);

/* Elements of each of the D parts of bucket b. spec: PART-4 */
/*@ requires flat: \valid_read(f) && FlatOk(f);
    requires bucket: 0 <= b && b * f->capacity < f->numel;
    terminates \true; exits \false;
    assigns \nothing;
    ensures part: \result == Part(f->numel, f->capacity, f->members, f->align, b);
    ensures tile: \result * f->members ==
      BucketPadded(f->numel, f->capacity, f->members, f->align, b);
    ensures bounds: 1 <= \result <= 1103806595072 + 4294967296; */
int64_t zp_part(const zp_flat *f, int64_t b);

/* The number of elements of a rank's shard, and of the padded flat group (D shards).
 * spec: PART-5 */
/*@ requires flat: \valid_read(f) && FlatOk(f);
    terminates \true; exits \false;
    assigns \nothing;
    ensures shard: \result == ShardNumel(f->numel, f->capacity, f->members, f->align);
    ensures tile: \result * f->members ==
      PaddedNumel(f->numel, f->capacity, f->members, f->align);
    ensures bounds: 0 <= \result <= 1103806595072 + 4294967296; */
int64_t zp_shard(const zp_flat *f);
/*@ requires flat: \valid_read(f) && FlatOk(f);
    terminates \true; exits \false;
    assigns \nothing;
    ensures padded: \result == PaddedNumel(f->numel, f->capacity, f->members, f->align);
    ensures holds: f->numel <= \result < f->numel + f->members * f->align; */
int64_t zp_padded(const zp_flat *f);

/* Offset in the shard of a rank's part of bucket b. spec: PART-5 */
/*@ requires flat: \valid_read(f) && FlatOk(f);
    requires bucket: 0 <= b && b * f->capacity < f->numel;
    terminates \true; exits \false;
    assigns \nothing;
    ensures offset: \result == b * (f->capacity / f->members);
    ensures bounds: 0 <= \result <= f->numel; */
int64_t zp_shard_offset(const zp_flat *f, int64_t b);

/* The home of flat element e (0 <= e < N): its bucket, its owner in the reduction group, and its
 * offset in the owner's shard. spec: PART-6 */
typedef struct zp_home {
  int64_t bucket;
  int32_t owner;
  int64_t shard_offset;
} zp_home;
/*@ requires flat: \valid_read(f) && FlatOk(f);
    requires element: 0 <= e < f->numel;
    terminates \true; exits \false;
    assigns \nothing;
    ensures bucket: \result.bucket == e / f->capacity;
    ensures owner: 0 <= \result.owner < f->members;
    ensures owned: \result.owner == Owner(f->numel, f->capacity, f->members, f->align, e);
    ensures offset: \result.shard_offset ==
      ShardOffset(f->numel, f->capacity, f->members, f->align, e);
    ensures part: 0 <= \result.shard_offset - \result.bucket * (f->capacity / f->members)
      < Part(f->numel, f->capacity, f->members, f->align, \result.bucket); */
zp_home zp_home_of(const zp_flat *f, int64_t e);

/* The flat element at offset o of `owner`'s shard, 0 <= owner < D, 0 <= o < zp_shard(f); the result
 * is >= N for padding. The inverse of zp_home_of. spec: PART-6 */
/*@ requires flat: \valid_read(f) && FlatOk(f);
    requires owner: 0 <= owner < f->members;
    requires offset: 0 <= o < ShardNumel(f->numel, f->capacity, f->members, f->align);
    terminates \true; exits \false;
    assigns \nothing;
    ensures element: \result == ElementAt(f->numel, f->capacity, f->members, f->align, owner, o);
    ensures padding: f->numel <= \result <==>
      BucketNumel(f->numel, f->capacity, ShardBucket(f->capacity, f->members, o)) <=
        InBucket(f->numel, f->capacity, f->members, f->align, owner, o);
    ensures inside: 0 <= \result <
      PaddedNumel(f->numel, f->capacity, f->members, f->align); */
int64_t zp_element_at(const zp_flat *f, int32_t owner, int64_t o);

/* The bucket that offset o, 0 <= o, of a shard belongs to. spec: PART-5 */
/*@ requires flat: \valid_read(f) && FlatOk(f) && 0 <= o;
    terminates \true; exits \false;
    assigns \nothing;
    ensures bucket: \result == ShardBucket(f->capacity, f->members, o); */
int64_t zp_bucket_of_shard(const zp_flat *f, int64_t o);

#endif
