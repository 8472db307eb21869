/* The four programs, one file each; program.c dispatches. Not installed.
 * spec: STEP-2, LEDG-4 … LEDG-8, CKPT-1 … CKPT-3 */
#ifndef ZP_PLAN_PROGRAM_INTERNAL_H
#define ZP_PLAN_PROGRAM_INTERNAL_H

#include "op.h"
#include "step_internal.h"

/* Each zp_need_* is the number of ops that the zp_put_* of the same name writes from ops[0] on, and
 * returns. lay must be the layout of a stage of the valid configuration cfg (for SAVE of at's), ops
 * have room for that many ops and overlap nothing that is read. LEDG-8 */
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
    requires apart: \separated(ops +
        (0 .. InitNeed(cfg, lay->stage, lay->first_param, lay->n_params) - 1), cfg, lay,
        cfg->params + (0 .. cfg->n_params - 1), lay->flat + (0 .. lay->n_flats - 1));
    terminates \true; exits \false;
    assigns ops[0 .. InitNeed(cfg, lay->stage, lay->first_param, lay->n_params) - 1];
    ensures length: \result == \old(InitNeed(cfg, lay->stage, lay->first_param, lay->n_params));
    ensures clock: Increasing(ops, \result);
    ensures ledger: \forall integer g, key, stepped; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, stepped) == InitLedger{Pre}(cfg, \at(lay->stage, Pre),
          \at(lay->first_param, Pre), \at(lay->n_params, Pre), g, key); */
int64_t zp_put_init(const zp_config *cfg, const zp_layout *lay, zp_op *ops);

int64_t zp_need_step(const zp_config *cfg, const zp_layout *lay);
int64_t zp_put_step(const zp_config *cfg, const zp_layout *lay, zp_op *ops);

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
    requires apart: \separated(ops + (0 .. SaveNeed(cfg, lay, at.dp, at.tp) - 1), cfg, lay,
        cfg->params + (0 .. cfg->n_params - 1), lay->flat + (0 .. lay->n_flats - 1));
    terminates \true; exits \false;
    assigns ops[0 .. SaveNeed(cfg, lay, at.dp, at.tp) - 1];
    ensures length: \result == \old(SaveNeed(cfg, lay, at.dp, at.tp));
    ensures clock: Increasing(ops, \result);
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
    ensures clock: Increasing(ops, 3);
    ensures ledger: \forall integer g, key, stepped; HasLedger(g) ==>
        LedgerOf(ops, 3, g, key, stepped) == LoadLedger(g); */
int64_t zp_put_load(zp_op *ops);

#endif
