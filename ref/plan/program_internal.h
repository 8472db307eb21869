/* The four programs, one file each; program.c dispatches. Not installed.
 * spec: STEP-2, LEDG-4 … LEDG-8, CKPT-1 … CKPT-3 */
#ifndef ZP_PLAN_PROGRAM_INTERNAL_H
#define ZP_PLAN_PROGRAM_INTERNAL_H

#include "op.h"
#include "step_internal.h"

/* INIT's clock. PIPE-5 */
enum {
  ZP_CLOCK_CREATE = 0,
  ZP_CLOCK_TIED_VALUES = 1,
  ZP_CLOCK_TP_VALUES = 2,
  ZP_CLOCK_DP_VALUES = 3,
  ZP_CLOCK_INSTALL = 4
};

/* The entry of the stage that holds tied key `key`, counted from the stage's first, or -1. lay must
 * be the layout of a stage of the valid configuration cfg. TIE-2 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires lay: \valid_read(lay) && StageLayout(cfg, lay);
    terminates \true; exits \false;
    assigns \nothing;
    ensures none: \result == -1 <==> On(cfg, key, lay->stage) == 0;
    ensures some: \result != -1 ==> On(cfg, key, lay->stage) == 1 && 0 <= \result < lay->n_params &&
        LastWithKey(cfg, lay->first_param, lay->n_params, key, lay->first_param + \result); */
int32_t zp_holder_of(const zp_config *cfg, const zp_layout *lay, int32_t key);

/* Each zp_put_*_value appends at most one op, for a tied key or entry of the stage, to the first n
 * ops. ops must have room and must not overlap any input; the first n ops have earlier clocks.
 *
 * Broadcasts the first values of tied key x over its stages, if this stage holds it. LEDG-5 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && StageLayout(cfg, lay);
    requires entry: 0 <= x < cfg->tied_keys;
    requires room: 0 <= n <= 2305843009213693952 &&
        \valid(ops + (n .. n + On(cfg, x, lay->stage) - 1));
    requires apart: Apart(ops, n, On(cfg, x, lay->stage), cfg, cfg->params,
        cfg->n_params, lay, lay->flat, lay->n_flats);
    requires clock: Clocked(ops, n, ZP_CLOCK_TIED_VALUES, x);
    terminates \true; exits \false;
    assigns ops[n .. n + On(cfg, x, lay->stage) - 1];
    ensures kept: Kept{Pre,Post}(cfg);
    ensures stage: KeptStage{Pre,Post}(lay);
    ensures flats: KeptFlats{Pre,Post}(lay);
    ensures length: \result == n + \old(On(cfg, x, lay->stage));
    ensures op: On{Pre}(cfg, x, \at(lay->stage, Pre)) == 1 ==> IsTiedFirst{Pre,Post}(ops + n, cfg,
        \at(lay->first_param, Pre), \at(lay->n_params, Pre), x);
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures clock: Clocked(ops, \result, ZP_CLOCK_TIED_VALUES, x + 1);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures ledger: \forall integer g, key, stepped; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, stepped) ==
          (g == ZP_GROUP_TIED && key == x && On{Pre}(cfg, x, \at(lay->stage, Pre)) == 1 ?
            First(LedgerOf{Pre}(ops, n, g, key, stepped), x,
              KeyNumel{Pre}(cfg, \at(cfg->n_params, Pre), x),
              DtypeOf(KeyFp32{Pre}(cfg, \at(cfg->n_params, Pre), x), \at(cfg->precision, Pre)),
              1, x) :
            LedgerOf{Pre}(ops, n, g, key, stepped)); */
int64_t zp_put_tied_value(const zp_config *cfg, const zp_layout *lay, int32_t x, zp_op *ops,
                          int64_t n);
/* Broadcasts the first values of entry i of the stage over tp, if it is tp-replicated. LEDG-5 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && StageLayout(cfg, lay);
    requires entry: 0 <= i < lay->n_params;
    requires room: 0 <= n <= 2305843009213693952 &&
        \valid(ops + (n .. n + Replica(cfg, lay->first_param + i) - 1));
    requires apart: Apart(ops, n, Replica(cfg, lay->first_param + i), cfg, cfg->params,
        cfg->n_params, lay, lay->flat, lay->n_flats);
    requires clock: Clocked(ops, n, ZP_CLOCK_TP_VALUES, i);
    terminates \true; exits \false;
    assigns ops[n .. n + Replica(cfg, lay->first_param + i) - 1];
    ensures kept: Kept{Pre,Post}(cfg);
    ensures stage: KeptStage{Pre,Post}(lay);
    ensures flats: KeptFlats{Pre,Post}(lay);
    ensures length: \result == n + \old(Replica(cfg, lay->first_param + i));
    ensures op: Replica{Pre}(cfg, \at(lay->first_param, Pre) + i) == 1 ==>
        IsTpFirst{Pre,Post}(ops + n, cfg, \at(lay->first_param, Pre) + i, i);
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures clock: Clocked(ops, \result, ZP_CLOCK_TP_VALUES, i + 1);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures ledger: \forall integer g, key, stepped; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, stepped) ==
          (g == ZP_GROUP_TP && Replica{Pre}(cfg, \at(lay->first_param, Pre) + i) == 1 ?
            First(LedgerOf{Pre}(ops, n, g, key, stepped), -1,
              NumelAt{Pre}(cfg, \at(lay->first_param, Pre) + i),
              DtypeOf(Fp32At{Pre}(cfg, \at(lay->first_param, Pre) + i), \at(cfg->precision, Pre)),
              2, i) :
            LedgerOf{Pre}(ops, n, g, key, stepped)); */
int64_t zp_put_tp_value(const zp_config *cfg, const zp_layout *lay, int32_t i, zp_op *ops,
                        int64_t n);
/* Broadcasts the first values of entry i of the stage over its reduction group, if it has storage.
 * LEDG-5 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && StageLayout(cfg, lay);
    requires entry: 0 <= i < lay->n_params;
    requires room: 0 <= n <= 2305843009213693952 &&
        \valid(ops + (n .. n + Holds(cfg, lay->first_param + i) - 1));
    requires apart: Apart(ops, n, Holds(cfg, lay->first_param + i), cfg, cfg->params,
        cfg->n_params, lay, lay->flat, lay->n_flats);
    requires clock: Clocked(ops, n, ZP_CLOCK_DP_VALUES, i);
    terminates \true; exits \false;
    assigns ops[n .. n + Holds(cfg, lay->first_param + i) - 1];
    ensures kept: Kept{Pre,Post}(cfg);
    ensures stage: KeptStage{Pre,Post}(lay);
    ensures flats: KeptFlats{Pre,Post}(lay);
    ensures length: \result == n + \old(Holds(cfg, lay->first_param + i));
    ensures op: Holds{Pre}(cfg, \at(lay->first_param, Pre) + i) == 1 ==>
        IsDpFirst{Pre,Post}(ops + n, cfg, \at(lay->first_param, Pre) + i, i);
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures clock: Clocked(ops, \result, ZP_CLOCK_DP_VALUES, i + 1);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures ledger: \forall integer g, key, stepped; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, stepped) ==
          (HeldIn{Pre}(cfg, \at(lay->first_param, Pre) + i, g) == 1 ?
            First(LedgerOf{Pre}(ops, n, g, key, stepped), -1,
              NumelAt{Pre}(cfg, \at(lay->first_param, Pre) + i),
              DtypeOf(Fp32At{Pre}(cfg, \at(lay->first_param, Pre) + i), \at(cfg->precision, Pre)),
              3, i) :
            LedgerOf{Pre}(ops, n, g, key, stepped)); */
int64_t zp_put_dp_value(const zp_config *cfg, const zp_layout *lay, int32_t i, zp_op *ops,
                        int64_t n);

/* Each zp_need_* returns the number of ops that the zp_put_* of the same name writes from ops[0] on
 * and returns. lay must be the layout of a stage of the valid configuration cfg (for SAVE, of stage
 * at.pp). ops must have room for that many ops and must not overlap any input. LEDG-8 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && StageLayout(cfg, lay);
    terminates \true; exits \false;
    assigns \nothing;
    ensures length: \result == InitNeed(cfg, lay->stage, lay->first_param, lay->n_params);
    ensures range: 0 <= \result <= 2305843009213693952; */
int64_t zp_need_init(const zp_config *cfg, const zp_layout *lay);
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && StageLayout(cfg, lay);
    requires room: \valid(ops +
        (0 .. InitNeed(cfg, lay->stage, lay->first_param, lay->n_params) - 1));
    requires apart: Apart(ops, 0, InitNeed(cfg, lay->stage, lay->first_param, lay->n_params), cfg,
        cfg->params, cfg->n_params, lay, lay->flat, lay->n_flats);
    terminates \true; exits \false;
    assigns ops[0 .. InitNeed(cfg, lay->stage, lay->first_param, lay->n_params) - 1];
    ensures length: \result == \old(InitNeed(cfg, lay->stage, lay->first_param, lay->n_params));
    ensures creations: CreationOps(ops, 5 + \old(cfg->tied_keys));
    ensures ops: FirstOps{Pre,Post}(ops, 5 + \old(cfg->tied_keys), cfg, \at(lay->stage, Pre),
        \at(lay->first_param, Pre), \at(lay->n_params, Pre));
    ensures clock: Increasing(ops, \result);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) == Nothing;
    ensures ledger: \forall integer g, key, stepped; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, stepped) == InitLedger{Pre}(cfg, \at(lay->stage, Pre),
          \at(lay->first_param, Pre), \at(lay->n_params, Pre), g, key); */
int64_t zp_put_init(const zp_config *cfg, const zp_layout *lay, zp_op *ops);

/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && StageLayout(cfg, lay) && lay->stage == at.pp;
    requires at: 0 <= at.dp;
    terminates \true; exits \false;
    assigns \nothing;
    ensures length: \result == SaveNeed(cfg, lay, at.dp, at.tp);
    ensures range: 0 <= \result <= 2305843009213693952; */
int64_t zp_need_save(const zp_config *cfg, const zp_layout *lay, zp_coord at);
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && StageLayout(cfg, lay) && lay->stage == at.pp;
    requires at: 0 <= at.dp;
    requires room: \valid(ops + (0 .. SaveNeed(cfg, lay, at.dp, at.tp) - 1));
    requires apart: Apart(ops, 0, SaveNeed(cfg, lay, at.dp, at.tp), cfg,
        cfg->params, cfg->n_params, lay, lay->flat, lay->n_flats);
    terminates \true; exits \false;
    assigns ops[0 .. SaveNeed(cfg, lay, at.dp, at.tp) - 1];
    ensures length: \result == \old(SaveNeed(cfg, lay, at.dp, at.tp));
    ensures ops: SaveOps{Pre,Post}(ops, \result, cfg, lay, at.dp, at.tp);
    ensures clock: Increasing(ops, \result);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) == Nothing;
    ensures ledger: \forall integer g, key, stepped; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, stepped) == SaveLedger{Pre}(cfg, lay, g); */
int64_t zp_put_save(const zp_config *cfg, const zp_layout *lay, zp_coord at, zp_op *ops);

/*@ terminates \true; exits \false;
    assigns \nothing;
    ensures length: \result == 3; */
int64_t zp_need_load(void);
/*@ requires room: \valid(ops + (0 .. 2));
    terminates \true; exits \false;
    assigns ops[0 .. 2];
    ensures length: \result == 3;
    ensures ops: LoadOps(ops);
    ensures clock: Increasing(ops, 3);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) == Nothing;
    ensures ledger: \forall integer g, key, stepped; HasLedger(g) ==>
        LedgerOf(ops, 3, g, key, stepped) == LoadLedger(g); */
int64_t zp_put_load(zp_op *ops);

#endif
