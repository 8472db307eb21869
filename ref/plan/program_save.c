/* SAVE. spec: CKPT-1 … CKPT-3 */
#include "../../spec/acsl/bounds.h"
#include "program_internal.h"

#include "../../spec/acsl/kept_lemmas.h"
#include "../../spec/acsl/save_lemmas.h"

#include "../../spec/acsl/op_is_lemmas.h"

#include "../../spec/acsl/op_save_lemmas.h"

/* SAVE's clock: buckets, then frozen entries, then the agreement on the status. PIPE-5 */
enum { CLOCK_BUCKETS = 0, CLOCK_FROZEN = 1, CLOCK_STATUS = 2 };
/* In CLOCK_BUCKETS: k · 2^43 + 6 b, plus 2 for each state; a bucket number is below 2^40. */
#define FLAT_STRIDE ((int64_t)1 << 43)
enum { STATES = ZP_WHAT_MOMENT2 - ZP_WHAT_MASTER + 1 };

/* 1 if this stage saves flat group k. A tied key is saved from its lowest stage only. CKPT-1 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && StageLayout(cfg, lay);
    requires flat: 0 <= k < lay->n_flats;
    terminates \true; exits \false;
    assigns \nothing;
    ensures saves: \result == Saves(cfg, lay->stage, lay->flat + k); */
static int32_t saves_flat(const zp_config *cfg, const zp_layout *lay, int32_t k)
{
  const zp_flat *f = &lay->flat[k];
  if (f->tied < 0) return 1;
  return f->use == 0 && zp_tied_first_stage(cfg, f->tied) == lay->stage;
}

/* 1 if this rank is the one of its reduction group that writes. CKPT-1 */
/*@ requires cfg: \valid_read(cfg) && 1 <= cfg->ep;
    requires at: 0 <= at.dp;
    terminates \true; exits \false;
    assigns \nothing;
    ensures writes: \result == Writes(cfg, group, at.dp); */
static int32_t writes(const zp_config *cfg, int32_t group, zp_coord at)
{
  return group == ZP_GROUP_EDP ? at.dp / cfg->ep == 0 : at.dp == 0;
}

/* 1 if the rank at `at` writes frozen entry j. CKPT-1 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires entry: 0 <= j < cfg->n_params;
    requires at: 0 <= at.dp;
    terminates \true; exits \false;
    assigns \nothing;
    ensures writes: \result == WritesFrozen(cfg, j, at.pp, at.dp, at.tp); */
static int32_t writes_frozen(const zp_config *cfg, int32_t j, zp_coord at)
{
  const zp_param *p = &cfg->params[j];
  if (!p->frozen || !zp_param_holds(cfg, j)) return 0;
  if (p->tied >= 0 && zp_tied_first_stage(cfg, p->tied) != at.pp) return 0;
  if (!p->sharded && at.tp != 0) return 0;
  return writes(cfg, p->expert ? ZP_GROUP_EDP : ZP_GROUP_DP, at);
}

/* Appends the ops of one state of a bucket: a gather to the group's member 0, which writes it.
 * gather is the first state's gather; gathers and writer select this rank's ops. ops must have
 * room, and their clocks so far must be below the gather's clock. CKPT-1 */
/*@ requires gather: gather.kind == ZP_OP_GATHER && gather.key == -1 && gather.root == 0 &&
        gather.dtype == ZP_F32 && gather.redop == ZP_RED_NONE && gather.if_stepped == 0 &&
        gather.clock_t == CLOCK_BUCKETS && 0 <= gather.clock_i <= 1152921504606846976;
    requires nothing: gather.param == -1 && gather.slot == -1 && gather.mb == -1 &&
        gather.recv_mb == -1 && gather.offset == 0;
    requires group: gather.group == ZP_GROUP_DP || gather.group == ZP_GROUP_EDP;
    requires state: 0 <= state < 3;
    requires bits: 0 <= gathers <= 1 && 0 <= writer <= 1;
    requires room: 0 <= n <= 4611686018427387904 &&
        \valid(ops + (n .. n + gathers + writer - 1));
    requires clock: Clocked(ops, n, CLOCK_BUCKETS, gather.clock_i + 2 * state);
    terminates \true; exits \false;
    assigns ops[n .. n + gathers + writer - 1];
    ensures length: \result == n + gathers + writer;
    ensures gathered: gathers == 1 ==> IsSaveGather(ops + n, gather.group, gather.count,
        gather.flat,
        gather.bucket, state, gather.clock_i);
    ensures written: writer == 1 ==> IsSaveWrite(ops + (n + gathers), gather.flat, gather.bucket,
        state, gather.clock_i);
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures clock: Clocked(ops, \result, CLOCK_BUCKETS, gather.clock_i + 2 * state + 2);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures ledger: \forall integer g, key, stepped; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, stepped) ==
          (gathers == 1 && gather.group == g ?
            SaveState(LedgerOf{Pre}(ops, n, g, key, stepped), gather.clock_i, state,
              gather.count) :
            LedgerOf{Pre}(ops, n, g, key, stepped)); */
static int64_t put_state(zp_op gather, int32_t gathers, int32_t writer, int32_t state, zp_op *ops,
                         int64_t n)
{
  zp_op write = zp_op_local(ZP_OP_WRITE, gather.flat, gather.bucket, CLOCK_BUCKETS,
                            gather.clock_i + 2 * state + 1);
  gather.what = ZP_WHAT_MASTER + state;
  gather.clock_i += 2 * state;
  write.what = gather.what;
  if (gathers) n = zp_emit(ops, n, gather);
  /*@ assert first: gathers == 1 ==> IsSaveGather(ops + \at(n, Pre), \at(gather.group, Pre),
        \at(gather.count, Pre), \at(gather.flat, Pre), \at(gather.bucket, Pre), state,
        \at(gather.clock_i, Pre)); */
  //@ assert room: n == \at(n, Pre) + gathers && gathers + writer <= 2;
  /*@ assert gathered: \forall integer g, key, stepped; HasLedger(g) ==>
        LedgerOf(ops, n, g, key, stepped) ==
          (gathers == 1 && gather.group == g ?
            SaveState(LedgerOf{Pre}(ops, \at(n, Pre), g, key, stepped), \at(gather.clock_i, Pre),
              state, gather.count) :
            LedgerOf{Pre}(ops, \at(n, Pre), g, key, stepped)); */
  if (writer) n = zp_emit(ops, n, write);
  return n;
}

/* Appends the ops of all states of bucket b of flat group k. f must be a flat group, b one of its
 * buckets. CKPT-1 */
/*@ requires flat: \valid_read(f) && FlatOk(f);
    requires group: f->group == ZP_GROUP_DP || f->group == ZP_GROUP_EDP;
    requires bucket: 0 <= k < ZP_LIMIT_ENTRIES && 0 <= b < ZP_LIMIT_ELEMENTS &&
        b * f->capacity < f->numel;
    requires bits: 0 <= gathers <= 1 && 0 <= writer <= 1;
    requires room: 0 <= n <= 4611686018427387000 &&
        \valid(ops + (n .. n + 3 * (gathers + writer) - 1));
    requires clock: Clocked(ops, n, CLOCK_BUCKETS, SaveClock(k, b));
    terminates \true; exits \false;
    assigns ops[n .. n + 3 * (gathers + writer) - 1];
    ensures length: \result == n + 3 * (gathers + writer);
    ensures ops: BucketSaveOps(ops, n, \result, \at(f->group, Pre), \at(f->numel, Pre),
        \at(f->capacity, Pre), \at(f->members, Pre), \at(f->align, Pre), gathers, writer, k, b);
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures clock: Clocked(ops, \result, CLOCK_BUCKETS, SaveClock(k, b + 1));
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures ledger: \forall integer g, key, stepped; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, stepped) ==
          (gathers == 1 && \at(f->group, Pre) == g ?
            SaveBucket(LedgerOf{Pre}(ops, n, g, key, stepped), SaveClock(k, b),
              \at(Part(f->numel, f->capacity, f->members, f->align, b), Pre)) :
            LedgerOf{Pre}(ops, n, g, key, stepped)); */
static int64_t put_bucket(const zp_flat *f, int32_t gathers, int32_t writer, int32_t k, int64_t b,
                          zp_op *ops, int64_t n)
{
  zp_op gather = zp_op_on_bucket(f, ZP_OP_GATHER, ZP_WHAT_MASTER, k, b, CLOCK_BUCKETS,
                                 k * FLAT_STRIDE + 2 * STATES * b);
  gather.dtype = ZP_F32;
  gather.root = 0;
  //@ ghost const int64_t start = n;
  n = put_state(gather, gathers, writer, 0, ops, n);
  n = put_state(gather, gathers, writer, 1, ops, n);
  /*@ assert gathered: gathers == 1 ==>
        IsSaveGather(ops + start, gather.group, gather.count, k, b, 0, SaveClock(k, b)) &&
        IsSaveGather(ops + (start + gathers + writer), gather.group, gather.count, k, b, 1,
          SaveClock(k, b)); */
  /*@ assert written: writer == 1 ==> IsSaveWrite(ops + (start + gathers), k, b, 0, SaveClock(k, b))
        && IsSaveWrite(ops + (start + gathers + writer + gathers), k, b, 1, SaveClock(k, b)); */
  const int64_t all = put_state(gather, gathers, writer, 2, ops, n);
  //@ assert part: gather.count == \at(Part(f->numel, f->capacity, f->members, f->align, b), Pre);
  /*@ assert gathers_only: \let part = Part(\at(f->numel, Pre), \at(f->capacity, Pre),
      \at(f->members, Pre),
          \at(f->align, Pre), b);
        gathers == 1 && writer == 0 ==> IsSaveGather(ops + (start + 0), \at(f->group, Pre), part,
        k, b, 0, SaveClock(k, b)) &&
        IsSaveGather(ops + (start + 1), \at(f->group, Pre), part, k, b, 1, SaveClock(k, b)) &&
        IsSaveGather(ops + (start + 2), \at(f->group, Pre), part, k, b, 2, SaveClock(k, b)); */
  /*@ assert writes_only: gathers == 0 && writer == 1 ==>
        IsSaveWrite(ops + (start + 0), k, b, 0, SaveClock(k, b)) &&
        IsSaveWrite(ops + (start + 1), k, b, 1, SaveClock(k, b)) &&
        IsSaveWrite(ops + (start + 2), k, b, 2, SaveClock(k, b)); */
  /*@ assert both_gathers: \let part = Part(\at(f->numel, Pre), \at(f->capacity, Pre),
      \at(f->members, Pre),
          \at(f->align, Pre), b);
        gathers == 1 && writer == 1 ==> IsSaveGather(ops + (start + 0), \at(f->group, Pre), part,
        k, b, 0, SaveClock(k, b)) &&
        IsSaveGather(ops + (start + 2), \at(f->group, Pre), part, k, b, 1, SaveClock(k, b)) &&
        IsSaveGather(ops + (start + 4), \at(f->group, Pre), part, k, b, 2, SaveClock(k, b)); */
  /*@ assert both_writes: gathers == 1 && writer == 1 ==>
        IsSaveWrite(ops + (start + 1), k, b, 0, SaveClock(k, b)) &&
        IsSaveWrite(ops + (start + 3), k, b, 1, SaveClock(k, b)) &&
        IsSaveWrite(ops + (start + 5), k, b, 2, SaveClock(k, b)); */
  /*@ assert first: gathers == 1 && writer == 0 ==> BucketSaveOps(ops, start, all, \at(f->group,
      Pre), \at(f->numel, Pre),
        \at(f->capacity, Pre), \at(f->members, Pre), \at(f->align, Pre), 1, 0, k, b); */
  /*@ assert second: gathers == 0 && writer == 1 ==> BucketSaveOps(ops, start, all, \at(f->group,
      Pre), \at(f->numel, Pre),
        \at(f->capacity, Pre), \at(f->members, Pre), \at(f->align, Pre), 0, 1, k, b); */
  /*@ assert third: gathers == 1 && writer == 1 ==> BucketSaveOps(ops, start, all, \at(f->group,
      Pre), \at(f->numel, Pre),
        \at(f->capacity, Pre), \at(f->members, Pre), \at(f->align, Pre), 1, 1, k, b); */
  return all;
}

/* Appends the ops of every state of every bucket of flat group k. CKPT-1 */
/*@ requires flat: \valid_read(f) && FlatOk(f);
    requires group: f->group == ZP_GROUP_DP || f->group == ZP_GROUP_EDP;
    requires number: 0 <= k < ZP_LIMIT_ENTRIES;
    requires bits: 0 <= gathers <= 1 && 0 <= writer <= 1;
    requires room: 0 <= n <= 2305843009213693952 &&
        \valid(ops + (n .. n + SaveLen(gathers, writer, Buckets(f->numel, f->capacity)) - 1));
    requires apart: \separated(f,
        ops + (n .. n + SaveLen(gathers, writer, Buckets(f->numel, f->capacity)) - 1));
    requires clock: Clocked(ops, n, CLOCK_BUCKETS, SaveClock(k, 0));
    terminates \true; exits \false;
    assigns ops[n .. n + SaveLen(gathers, writer, Buckets(f->numel, f->capacity)) - 1];
    ensures length: \result ==
        n + SaveLen(gathers, writer, \old(Buckets(f->numel, f->capacity)));
    ensures ops: FlatSaveOps(ops, n, \result, \at(f->group, Pre), \at(f->numel, Pre),
        \at(f->capacity, Pre), \at(f->members, Pre), \at(f->align, Pre), gathers, writer, k);
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures clock: Clocked(ops, \result, CLOCK_BUCKETS, SaveClock(k + 1, 0));
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures ledger: \forall integer g, key, stepped; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, stepped) ==
          (gathers == 1 && \at(f->group, Pre) == g ?
            SaveBuckets(LedgerOf{Pre}(ops, n, g, key, stepped), \at(f->numel, Pre),
              \at(f->capacity, Pre), \at(f->members, Pre), \at(f->align, Pre), k,
              \at(Buckets(f->numel, f->capacity), Pre)) :
            LedgerOf{Pre}(ops, n, g, key, stepped)); */
static int64_t put_flat(const zp_flat *f, int32_t gathers, int32_t writer, int32_t k, zp_op *ops,
                        int64_t n)
{
  const int64_t buckets = zp_buckets(f);
  /*@ loop invariant range: 0 <= b <= buckets <= ZP_LIMIT_ELEMENTS;
      loop invariant flat: FlatOk(f) && buckets == Buckets(f->numel, f->capacity) &&
          f->numel == \at(f->numel, Pre) && f->capacity == \at(f->capacity, Pre) &&
          f->members == \at(f->members, Pre) && f->align == \at(f->align, Pre) &&
          f->group == \at(f->group, Pre);
      loop invariant length: n == \at(n, Pre) + SaveLen(gathers, writer, b);
      loop invariant ops: FlatSaveOps(ops, \at(n, Pre), n, \at(f->group, Pre), \at(f->numel, Pre),
        \at(f->capacity, Pre), \at(f->members, Pre), \at(f->align, Pre), gathers, writer, k);
      loop invariant stays: SameOps{Pre,Here}(ops, \at(n, Pre));
      loop invariant clock: Clocked(ops, n, CLOCK_BUCKETS, SaveClock(k, b));
      loop invariant links: \forall integer peer;
          LinkOf(ops, n, peer) == LinkOf{Pre}(ops, \at(n, Pre), peer);
      loop invariant ledger: \forall integer g, key, stepped; HasLedger(g) ==>
          LedgerOf(ops, n, g, key, stepped) ==
            (gathers == 1 && \at(f->group, Pre) == g ?
              SaveBuckets(LedgerOf{Pre}(ops, \at(n, Pre), g, key, stepped), \at(f->numel, Pre),
                \at(f->capacity, Pre), \at(f->members, Pre), \at(f->align, Pre), k, b) :
              LedgerOf{Pre}(ops, \at(n, Pre), g, key, stepped));
      loop assigns b, n, ops[\at(n, Pre) .. \at(n, Pre) + SaveLen(gathers, writer, buckets) - 1];
      loop variant buckets - b; */
  for (int64_t b = 0; b < buckets; b++) {
    //@ assert inside: BucketOf(f->numel, f->capacity, b);
    const int64_t next = put_bucket(f, gathers, writer, k, b, ops, n);
    /*@ assert old: FlatSaveOps(ops, \at(n, Pre), n, \at(f->group, Pre), \at(f->numel, Pre),
          \at(f->capacity, Pre), \at(f->members, Pre), \at(f->align, Pre), gathers, writer, k); */
    /*@ assert new: BucketSaveOps(ops, n, next, \at(f->group, Pre), \at(f->numel, Pre),
          \at(f->capacity, Pre), \at(f->members, Pre), \at(f->align, Pre), gathers, writer, k,
          b); */
    n = next;
  }
  return n;
}

/* Appends the ops of flat group k, if it is saved. CKPT-1 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && StageLayout(cfg, lay);
    requires flat: 0 <= k < lay->n_flats;
    requires at: 0 <= at.dp;
    requires room: 0 <= n <= 2305843009213693952 && \valid(ops +
        (n .. n + SaveFlatLen(cfg, lay->stage, lay->flat + k, at.dp) - 1));
    requires apart: Apart(ops, n, SaveFlatLen(cfg, lay->stage, lay->flat + k, at.dp), cfg,
        cfg->params, cfg->n_params, lay, lay->flat, lay->n_flats);
    requires clock: Clocked(ops, n, CLOCK_BUCKETS, SaveClock(k, 0));
    terminates \true; exits \false;
    assigns ops[n .. n + SaveFlatLen(cfg, lay->stage, lay->flat + k, at.dp) - 1];
    ensures ops: SaveFlatOps{Pre,Post}(ops, n, \result, cfg, \at(lay->flat, Pre) + k, k, at.dp);
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures kept: Kept{Pre,Post}(cfg);
    ensures stage: KeptStage{Pre,Post}(lay);
    ensures flats: KeptFlats{Pre,Post}(lay);
    ensures length: \result == n + SaveFlatLen{Pre}(cfg, \at(lay->stage, Pre),
        \at(lay->flat, Pre) + k, at.dp);
    ensures clock: Clocked(ops, \result, CLOCK_BUCKETS, SaveClock(k + 1, 0));
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures ledger: \forall integer g, key, stepped; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, stepped) ==
          SaveFlat{Pre}(LedgerOf{Pre}(ops, n, g, key, stepped), cfg, \at(lay->stage, Pre),
            \at(lay->flat, Pre) + k, k, g); */
static int64_t put_saved_flat(const zp_config *cfg, const zp_layout *lay, zp_coord at, int32_t k,
                              zp_op *ops, int64_t n)
{
  const zp_flat *f = &lay->flat[k];
  const int32_t gathers = cfg->stage > 0, writer = writes(cfg, f->group, at);
  if (!saves_flat(cfg, lay, k)) return n;
  /*@ assert length: SaveLen(gathers, writer, Buckets(f->numel, f->capacity)) ==
        SaveFlatLen(cfg, lay->stage, lay->flat + k, at.dp) >= 0; */
  /*@ assert clear: Clear(ops + n, SaveLen(gathers, writer, Buckets(f->numel, f->capacity)), cfg,
        cfg->params, cfg->n_params, lay, lay->flat, lay->n_flats); */
  /*@ assert clear_config: ClearOfConfig(ops + n,
        SaveLen(gathers, writer, Buckets(f->numel, f->capacity)), cfg); */
  /*@ assert clear_entries: ClearOfEntries(ops + n,
        SaveLen(gathers, writer, Buckets(f->numel, f->capacity)), cfg->params, cfg->n_params); */
  /*@ assert clear_layout: ClearOfLayout(ops + n,
        SaveLen(gathers, writer, Buckets(f->numel, f->capacity)), lay); */
  /*@ assert clear_flats: ClearOfFlats(ops + n,
        SaveLen(gathers, writer, Buckets(f->numel, f->capacity)), lay->flat, lay->n_flats); */
  n = put_flat(f, gathers, writer, k, ops, n);
  /*@ assert ops: SaveFlatOps{Pre,Here}(ops, \at(n, Pre), n, cfg, \at(lay->flat, Pre) + k, k,
        at.dp); */
  //@ assert scalars: SameScalars{Pre,Here}(cfg);
  //@ assert entries: KeptEntries{Pre,Here}(cfg);
  //@ assert stage: KeptStage{Pre,Here}(lay);
  //@ assert flats: KeptFlats{Pre,Here}(lay);
  /*@ assert saved: \forall integer g, key, stepped; HasLedger(g) ==>
        LedgerOf(ops, n, g, key, stepped) ==
          SaveFlat{Pre}(LedgerOf{Pre}(ops, \at(n, Pre), g, key, stepped), cfg,
            \at(lay->stage, Pre), \at(lay->flat, Pre) + k, k, g); */
  return n;
}

/* Appends the ops of the stage's flat groups, which come first. CKPT-1 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && StageLayout(cfg, lay);
    requires at: 0 <= at.dp;
    requires room: \valid(ops +
        (0 .. SaveFlatsLen(cfg, lay->stage, lay->flat, lay->n_flats, at.dp) - 1));
    requires apart: Apart(ops, 0,
        SaveFlatsLen(cfg, lay->stage, lay->flat, lay->n_flats, at.dp), cfg, cfg->params,
        cfg->n_params, lay, lay->flat, lay->n_flats);
    terminates \true; exits \false;
    assigns ops[0 .. SaveFlatsLen(cfg, lay->stage, lay->flat, lay->n_flats, at.dp) - 1];
    ensures length: \result == SaveFlatsLen{Pre}(cfg, \at(lay->stage, Pre), \at(lay->flat, Pre),
        \at(lay->n_flats, Pre), at.dp);
    ensures ops: SavesOps{Pre,Post}(ops, 0, \result, cfg, \at(lay->stage, Pre),
        \at(lay->flat, Pre), at.dp, \at(lay->n_flats, Pre));
    ensures kept: Kept{Pre,Post}(cfg);
    ensures stage: KeptStage{Pre,Post}(lay);
    ensures flats: KeptFlats{Pre,Post}(lay);
    ensures clock: Clocked(ops, \result, CLOCK_BUCKETS, SaveClock(ZP_LIMIT_ENTRIES, 0));
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) == Nothing;
    ensures ledger: \forall integer g, key, stepped; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, stepped) ==
          SaveFlats{Pre}(Nothing, cfg, \at(lay->stage, Pre), \at(lay->flat, Pre),
            \at(lay->n_flats, Pre), g); */
static int64_t put_flats(const zp_config *cfg, const zp_layout *lay, zp_coord at, zp_op *ops)
{
  int64_t n = 0;
  /*@ loop invariant range: 0 <= k <= \at(lay->n_flats, Pre);
      loop invariant ops: SavesOps{Pre,Here}(ops, 0, n, cfg, \at(lay->stage, Pre),
          \at(lay->flat, Pre), at.dp, k);
      loop invariant kept: Kept{Pre,Here}(cfg);
      loop invariant stage: KeptStage{Pre,Here}(lay);
      loop invariant flats: KeptFlats{Pre,Here}(lay);
      loop invariant valid: Valid(cfg);
      loop invariant good: StageLayout(cfg, lay);
      loop invariant length: n == SaveFlatsLen{Pre}(cfg, \at(lay->stage, Pre),
          \at(lay->flat, Pre), k, at.dp);
      loop invariant clock: Clocked(ops, n, CLOCK_BUCKETS, SaveClock(k, 0));
      loop invariant links: \forall integer peer; LinkOf(ops, n, peer) == Nothing;
      loop invariant ledger: \forall integer g, key, stepped; HasLedger(g) ==>
          LedgerOf(ops, n, g, key, stepped) ==
            SaveFlats{Pre}(Nothing, cfg, \at(lay->stage, Pre), \at(lay->flat, Pre), k, g);
      loop assigns k, n, ops[0 .. \at(SaveFlatsLen(cfg, lay->stage, lay->flat, lay->n_flats,
          at.dp), Pre) - 1];
      loop variant \at(lay->n_flats, Pre) - k; */
  for (int32_t k = 0; k < lay->n_flats; k++) {
    //@ assert flat: KeptFlat{Pre,Here}(\at(lay->flat, Pre) + k);
    /*@ assert same: SaveFlatLen(cfg, lay->stage, lay->flat + k, at.dp) ==
          SaveFlatLen{Pre}(cfg, \at(lay->stage, Pre), \at(lay->flat, Pre) + k, at.dp); */
    /*@ assert trace: \forall trace t, integer g; SaveFlat(t, cfg, lay->stage, lay->flat + k, k, g)
          == SaveFlat{Pre}(t, cfg, \at(lay->stage, Pre), \at(lay->flat, Pre) + k, k, g); */
    /*@ assert step: SaveFlatsLen{Pre}(cfg, \at(lay->stage, Pre), \at(lay->flat, Pre), k + 1,
          at.dp) == n + SaveFlatLen(cfg, lay->stage, lay->flat + k, at.dp); */
    /*@ assert most: SaveFlatsLen{Pre}(cfg, \at(lay->stage, Pre), \at(lay->flat, Pre), k + 1,
          at.dp) <= \at(SaveFlatsLen(cfg, lay->stage, lay->flat, lay->n_flats, at.dp), Pre); */
    //@ assert some: 0 <= SaveFlatLen(cfg, lay->stage, lay->flat + k, at.dp);
    //@ assert least: 0 <= n <= 2305843009213693952;
    //@ ghost Between: ;
    const int64_t next = put_saved_flat(cfg, lay, at, k, ops, n);
    /*@ assert old: SavesOps{Pre,Here}(ops, 0, n, cfg, \at(lay->stage, Pre), \at(lay->flat, Pre),
          at.dp, k); */
    /*@ assert here: SaveFlatOps{Between,Here}(ops, n, next, cfg, \at(lay->flat, Pre) + k, k,
          at.dp); */
    /*@ assert new: SaveFlatOps{Pre,Here}(ops, n, next, cfg, \at(lay->flat, Pre) + k, k,
          at.dp); */
    n = next;
  }
  return n;
}

/* Appends the op of entry i of the stage, if it is frozen and this rank writes it. CKPT-1 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && StageLayout(cfg, lay) && lay->stage == at.pp;
    requires entry: 0 <= i < lay->n_params;
    requires at: 0 <= at.dp;
    requires room: 0 <= n <= 4611686018427387904 && \valid(ops +
        (n .. n + WritesFrozen(cfg, lay->first_param + i, at.pp, at.dp, at.tp) - 1));
    requires apart: Apart(ops, n, WritesFrozen(cfg, lay->first_param + i, at.pp, at.dp, at.tp), cfg,
        cfg->params, cfg->n_params, lay, lay->flat, lay->n_flats);
    requires clock: Clocked(ops, n, CLOCK_FROZEN, i);
    terminates \true; exits \false;
    assigns ops[n .. n + WritesFrozen(cfg, lay->first_param + i, at.pp, at.dp, at.tp) - 1];
    ensures op: n < \result ==> IsFrozenWrite(ops + n, \old(lay->first_param) + i, i);
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures kept: Kept{Pre,Post}(cfg);
    ensures stage: KeptStage{Pre,Post}(lay);
    ensures flats: KeptFlats{Pre,Post}(lay);
    ensures length: \result ==
        n + \old(WritesFrozen(cfg, lay->first_param + i, at.pp, at.dp, at.tp));
    ensures clock: Clocked(ops, \result, CLOCK_FROZEN, i + 1);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures ledger: \forall integer g, key, stepped; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, stepped) == LedgerOf{Pre}(ops, n, g, key, stepped); */
static int64_t put_frozen_entry(const zp_config *cfg, const zp_layout *lay, zp_coord at, int32_t i,
                                zp_op *ops, int64_t n)
{
  const int32_t j = lay->first_param + i;
  zp_op op = zp_op_blank(ZP_OP_WRITE, CLOCK_FROZEN, i);
  op.what = ZP_WHAT_PARAMETER;
  op.param = j;
  if (!writes_frozen(cfg, j, at)) return n;
  /*@ assert clear: Clear(ops + n, 1, cfg, cfg->params, cfg->n_params, lay, lay->flat,
        lay->n_flats); */
  //@ assert clear_config: ClearOfConfig(ops + n, 1, cfg);
  //@ assert clear_entries: ClearOfEntries(ops + n, 1, cfg->params, cfg->n_params);
  //@ assert clear_layout: ClearOfLayout(ops + n, 1, lay);
  //@ assert clear_flats: ClearOfFlats(ops + n, 1, lay->flat, lay->n_flats);
  n = zp_emit(ops, n, op);
  //@ assert scalars: SameScalars{Pre,Here}(cfg);
  //@ assert entries: KeptEntries{Pre,Here}(cfg);
  //@ assert stage: KeptStage{Pre,Here}(lay);
  //@ assert flats: KeptFlats{Pre,Here}(lay);
  return n;
}

/* Appends the ops of the frozen entries that this rank writes. CKPT-1 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && StageLayout(cfg, lay) && lay->stage == at.pp;
    requires at: 0 <= at.dp;
    requires room: 0 <= n <= 2305843009213693952 && \valid(ops + (n .. n +
        FrozenLen(cfg, lay->first_param, lay->n_params, at.pp, at.dp, at.tp) - 1));
    requires apart: Apart(ops, n,
        FrozenLen(cfg, lay->first_param, lay->n_params, at.pp, at.dp, at.tp), cfg, cfg->params,
        cfg->n_params, lay, lay->flat, lay->n_flats);
    requires clock: Clocked(ops, n, CLOCK_FROZEN, 0);
    terminates \true; exits \false;
    assigns ops[n .. n + FrozenLen(cfg, lay->first_param, lay->n_params, at.pp, at.dp, at.tp) - 1];
    ensures ops: FrozensOps{Pre,Post}(ops, n, \result, cfg, \at(lay->first_param, Pre),
        \at(lay->n_params, Pre), at.pp, at.dp, at.tp);
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures kept: Kept{Pre,Post}(cfg);
    ensures stage: KeptStage{Pre,Post}(lay);
    ensures flats: KeptFlats{Pre,Post}(lay);
    ensures length: \result == n + FrozenLen{Pre}(cfg, \at(lay->first_param, Pre),
        \at(lay->n_params, Pre), at.pp, at.dp, at.tp);
    ensures clock: Clocked(ops, \result, CLOCK_STATUS, 0);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures ledger: \forall integer g, key, stepped; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, stepped) == LedgerOf{Pre}(ops, n, g, key, stepped); */
static int64_t put_frozen(const zp_config *cfg, const zp_layout *lay, zp_coord at, zp_op *ops,
                          int64_t n)
{
  /*@ loop invariant range: 0 <= i <= \at(lay->n_params, Pre);
      loop invariant ops: FrozensOps{Pre,Here}(ops, \at(n, Pre), n, cfg,
          \at(lay->first_param, Pre), i, at.pp, at.dp, at.tp);
      loop invariant stays: SameOps{Pre,Here}(ops, \at(n, Pre));
      loop invariant kept: Kept{Pre,Here}(cfg);
      loop invariant stage: KeptStage{Pre,Here}(lay);
      loop invariant flats: KeptFlats{Pre,Here}(lay);
      loop invariant valid: Valid(cfg);
      loop invariant good: StageLayout(cfg, lay);
      loop invariant length: n == \at(n, Pre) +
          FrozenLen{Pre}(cfg, \at(lay->first_param, Pre), i, at.pp, at.dp, at.tp);
      loop invariant clock: Clocked(ops, n, CLOCK_FROZEN, i);
      loop invariant links: \forall integer peer;
          LinkOf(ops, n, peer) == LinkOf{Pre}(ops, \at(n, Pre), peer);
      loop invariant ledger: \forall integer g, key, stepped; HasLedger(g) ==>
          LedgerOf(ops, n, g, key, stepped) ==
            LedgerOf{Pre}(ops, \at(n, Pre), g, key, stepped);
      loop assigns i, n, ops[\at(n, Pre) .. \at(n, Pre) + \at(FrozenLen(cfg, lay->first_param,
          lay->n_params, at.pp, at.dp, at.tp), Pre) - 1];
      loop variant \at(lay->n_params, Pre) - i; */
  for (int32_t i = 0; i < lay->n_params; i++) {
    /*@ assert same: WritesFrozen(cfg, lay->first_param + i, at.pp, at.dp, at.tp) ==
          WritesFrozen{Pre}(cfg, \at(lay->first_param, Pre) + i, at.pp, at.dp, at.tp); */
    /*@ assert step: FrozenLen{Pre}(cfg, \at(lay->first_param, Pre), i + 1, at.pp, at.dp, at.tp) ==
          n - \at(n, Pre) + WritesFrozen(cfg, lay->first_param + i, at.pp, at.dp, at.tp); */
    /*@ assert most: FrozenLen{Pre}(cfg, \at(lay->first_param, Pre), i + 1, at.pp, at.dp, at.tp) <=
          \at(FrozenLen(cfg, lay->first_param, lay->n_params, at.pp, at.dp, at.tp), Pre) <=
          ZP_LIMIT_ENTRIES; */
    /*@ assert least: 0 <= n - \at(n, Pre) &&
          0 <= WritesFrozen(cfg, lay->first_param + i, at.pp, at.dp, at.tp) <= 1; */
    const int64_t next = put_frozen_entry(cfg, lay, at, i, ops, n);
    /*@ assert old: FrozensOps{Pre,Here}(ops, \at(n, Pre), n, cfg, \at(lay->first_param, Pre), i,
          at.pp, at.dp, at.tp); */
    /*@ assert new: n < next ==> next == n + 1 &&
          IsFrozenWrite(ops + n, \at(lay->first_param, Pre) + i, i); */
    /*@ assert one: n < next ==> FrozensOps{Pre,Here}(ops, \at(n, Pre), n + 1, cfg,
          \at(lay->first_param, Pre), i + 1, at.pp, at.dp, at.tp); */
    /*@ assert none: next == n ==> FrozensOps{Pre,Here}(ops, \at(n, Pre), n, cfg,
          \at(lay->first_param, Pre), i + 1, at.pp, at.dp, at.tp); */
    n = next;
  }
  return n;
}

int64_t zp_put_save(const zp_config *cfg, const zp_layout *lay, zp_coord at, zp_op *ops)
{
  /*@ assert world: SaveFlats(Nothing, cfg, lay->stage, lay->flat, lay->n_flats,
        ZP_GROUP_WORLD) == Nothing; */
  int64_t n = put_flats(cfg, lay, at, ops);
  //@ assert valid: Valid(cfg);
  //@ assert good: StageLayout(cfg, lay);
  /*@ assert length: 0 <= n && n == \at(SaveFlatsLen(cfg, lay->stage, lay->flat, lay->n_flats,
        at.dp), Pre) <= 2305843009213693952; */
  /*@ assert frozen: 0 <= FrozenLen(cfg, lay->first_param, lay->n_params, at.pp, at.dp, at.tp) ==
        \at(FrozenLen(cfg, lay->first_param, lay->n_params, at.pp, at.dp, at.tp),
        Pre) <= ZP_LIMIT_ENTRIES; */
  //@ ghost const int64_t flats = n;
  //@ ghost Between: ;
  n = put_frozen(cfg, lay, at, ops, n);
  //@ ghost const int64_t frozen = n;
  /*@ assert flat_ops: SavesOps{Pre,Here}(ops, 0, flats, cfg, \at(lay->stage, Pre),
        \at(lay->flat, Pre), at.dp, \at(lay->n_flats, Pre)); */
  /*@ assert frozen_here: FrozensOps{Between,Here}(ops, flats, frozen, cfg,
        \at(lay->first_param, Pre), \at(lay->n_params, Pre), at.pp, at.dp, at.tp); */
  /*@ assert frozen_ops: FrozensOps{Pre,Here}(ops, flats, frozen, cfg, \at(lay->first_param, Pre),
        \at(lay->n_params, Pre), at.pp, at.dp, at.tp); */
  //@ ghost Written: ;
  //@ assert links_frozen: \forall integer peer; LinkOf(ops, n, peer) == Nothing;
  n = zp_emit(ops, n, zp_op_blank(ZP_OP_SEAL, CLOCK_STATUS, 0));
  /*@ assert same_seal: SameOps{Written,Here}(ops, frozen) && IsPlain(ops + frozen, ZP_OP_SEAL, 2,
      0); */
  //@ assert links_seal: \forall integer peer; LinkOf(ops, n, peer) == Nothing;
  /*@ assert seal: \forall integer g, key, stepped; HasLedger(g) ==>
        LedgerOf(ops, n, g, key, stepped) == SaveFlats{Pre}(Nothing, cfg, \at(lay->stage, Pre),
          \at(lay->flat, Pre), \at(lay->n_flats, Pre), g); */
  n = zp_emit(ops, n, zp_op_agree(ZP_WHAT_STATUS, 1, CLOCK_STATUS, 1));
  /*@ assert same_first: SameOps{Written,Here}(ops, frozen) &&
        IsPlain(ops + frozen, ZP_OP_SEAL, 2, 0) &&
        IsAgreement(ops + (frozen + 1), ZP_WHAT_STATUS, 1, 2, 1); */
  //@ assert links_first: \forall integer peer; LinkOf(ops, n, peer) == Nothing;
  /*@ assert first: \forall integer key, stepped;
        LedgerOf(ops, n, ZP_GROUP_WORLD, key, stepped) == Status(Nothing, 2, 1); */
  /*@ assert rest: \forall integer g, key, stepped; HasLedger(g) && g != ZP_GROUP_WORLD ==>
        LedgerOf(ops, n, g, key, stepped) == SaveLedger{Pre}(cfg, lay, g); */
  //@ ghost First: ;
  n = zp_emit(ops, n, zp_op_blank(ZP_OP_COMMIT, CLOCK_STATUS, 2));
  //@ assert same_commit: SameOps{Written,Here}(ops, frozen);
  //@ assert same_two: SameOps{First,Here}(ops, frozen + 2);
  //@ assert sealed_then: IsPlain(ops + frozen, ZP_OP_SEAL, 2, 0);
  //@ assert agreed_then: IsAgreement(ops + (frozen + 1), ZP_WHAT_STATUS, 1, 2, 1);
  //@ assert committed: IsPlain(ops + (frozen + 2), ZP_OP_COMMIT, 2, 2);
  //@ ghost Third: ;
  //@ assert links_commit: \forall integer peer; LinkOf(ops, n, peer) == Nothing;
  /*@ assert commit: \forall integer g, key, stepped; HasLedger(g) ==>
        LedgerOf(ops, n, g, key, stepped) ==
          (g == ZP_GROUP_WORLD ? Status(Nothing, 2, 1) : SaveLedger{Pre}(cfg, lay, g)); */
  n = zp_emit(ops, n, zp_op_agree(ZP_WHAT_STATUS, 1, CLOCK_STATUS, 3));
  //@ assert same_all: SameOps{Written,Here}(ops, frozen) && flats <= frozen && n == frozen + 4;
  //@ assert fewer: SameOps{Written,Here}(ops, flats);
  //@ assert same_three: SameOps{Third,Here}(ops, frozen + 3);
  //@ assert sealed: IsPlain(ops + frozen, ZP_OP_SEAL, 2, 0);
  //@ assert whole: IsAgreement(ops + (frozen + 1), ZP_WHAT_STATUS, 1, 2, 1);
  //@ assert commits: IsPlain(ops + (frozen + 2), ZP_OP_COMMIT, 2, 2);
  //@ assert agreed: IsAgreement(ops + (frozen + 3), ZP_WHAT_STATUS, 1, 2, 3);
  //@ assert ends: n == frozen + 4 && SaveEnds(ops, frozen);
  /*@ assert all_flats: SavesOps{Pre,Here}(ops, 0, flats, cfg, \at(lay->stage, Pre),
        \at(lay->flat, Pre), at.dp, \at(lay->n_flats, Pre)); */
  /*@ assert all_frozen: FrozensOps{Pre,Here}(ops, flats, frozen, cfg, \at(lay->first_param, Pre),
        \at(lay->n_params, Pre), at.pp, at.dp, at.tp); */
  return n;
}

/* The number of ops of flat group k. LEDG-8 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && StageLayout(cfg, lay);
    requires flat: 0 <= k < lay->n_flats;
    requires at: 0 <= at.dp;
    terminates \true; exits \false;
    assigns \nothing;
    ensures length: \result == SaveFlatLen(cfg, lay->stage, lay->flat + k, at.dp); */
static int64_t need_flat(const zp_config *cfg, const zp_layout *lay, zp_coord at, int32_t k)
{
  const zp_flat *f = &lay->flat[k];
  const int64_t buckets = zp_buckets(f);
  int64_t n = 0;
  if (!saves_flat(cfg, lay, k)) return 0;
  if (cfg->stage > 0) n += STATES * buckets;
  if (writes(cfg, f->group, at)) n += STATES * buckets;
  return n;
}

int64_t zp_need_save(const zp_config *cfg, const zp_layout *lay, zp_coord at)
{
  int64_t n = 4;
  /*@ loop invariant range: 0 <= k <= lay->n_flats;
      loop invariant length: n == 4 + SaveFlatsLen(cfg, lay->stage, lay->flat, k, at.dp);
      loop assigns k, n;
      loop variant lay->n_flats - k; */
  for (int32_t k = 0; k < lay->n_flats; k++) n += need_flat(cfg, lay, at, k);
  /*@ loop invariant range: 0 <= i <= lay->n_params;
      loop invariant length: n == 4 + SaveFlatsLen(cfg, lay->stage, lay->flat, lay->n_flats, at.dp)
          + FrozenLen(cfg, lay->first_param, i, at.pp, at.dp, at.tp);
      loop assigns i, n;
      loop variant lay->n_params - i; */
  for (int32_t i = 0; i < lay->n_params; i++)
    if (writes_frozen(cfg, lay->first_param + i, at)) n++;
  return n;
}
