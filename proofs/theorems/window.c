/* Family 9, additions and reductions: every ADD and every reduction of a gradient in a STEP program
 * satisfies the requirements of the functions of ref/engine/window.h. The contracts require of the
 * program what zp_program_write ensures (step_added, step_reduced); the bodies are empty.
 * spec: RED-3 */
#include "../../ref/engine/window.h"
#include "../../ref/plan/step_internal.h"
#include "../../spec/acsl/layout_lemmas.h"

#include "../../spec/acsl/layout_good.h"

#include "../../spec/acsl/planned_steps.h"

#include "../../spec/acsl/planned_lemmas.h"

#include "../../spec/acsl/window_ops.h"

/* Op i of a program of n ops is an ADD of at least one element. The program has the additions of a
 * STEP program of the stage; lay is the layout of a stage of the valid configuration cfg. */
/*@ requires cfg: Readable(cfg) && Planned(cfg, lay);
    requires program: AddsPlanned(cfg, lay->stage, ops, n);
    requires op: 0 <= i < n && ops[i].kind == ZP_OP_ADD && 0 < ops[i].count;
    terminates \true; exits \false;
    assigns \nothing;
    ensures fits: AddFits(cfg, lay, ops + i);
    check ensures control: ops[i].offset == 0; */
void add_fits(const zp_config *cfg, const zp_layout *lay, const zp_op *ops, int64_t n, int64_t i)
{
  //@ assert seen: StageSeen(cfg, lay);
  //@ assert some: 0 <= StageLen(cfg, lay->stage);
  /*@ assert ends: AddsElement(ops + i, ops[i].offset) &&
        AddsElement(ops + i, ops[i].offset + ops[i].count - 1); */
  /*@ assert added: 0 < Added(ops, n, ops[i].param, ops[i].mb, ops[i].offset, ops[i].flat,
        ops[i].bucket) && 0 < Added(ops, n, ops[i].param, ops[i].mb,
        ops[i].offset + ops[i].count - 1, ops[i].flat, ops[i].bucket); */
  /*@ assert head: AddsHere(cfg, lay->stage, ops[i].param, ops[i].offset, ops[i].flat,
        ops[i].bucket); */
  /*@ assert tail: AddsHere(cfg, lay->stage, ops[i].param, ops[i].offset + ops[i].count - 1,
        ops[i].flat, ops[i].bucket); */
  //@ assert first: OpSpot(cfg, lay, ops + i, ops[i].offset);
  //@ assert last: OpSpot(cfg, lay, ops + i, ops[i].offset + ops[i].count - 1);
  (void)cfg, (void)lay, (void)ops, (void)n, (void)i;
}

/* Op i of a program of n ops reduces a gradient; its bucket exists. The program has the reductions
 * of a STEP program of the stage; lay is the layout of a stage of the valid configuration cfg. */
/*@ requires cfg: Readable(cfg) && Planned(cfg, lay);
    requires program: ReducesPlanned(cfg, lay->stage, ops, n);
    requires op: 0 <= i < n && ops[i].what == ZP_WHAT_GRADIENT;
    terminates \true; exits \false;
    assigns \nothing;
    ensures fits: BucketHere(lay, ops[i].flat, ops[i].bucket);
    check ensures control: ops[i].bucket == 0; */
void reduction_fits(const zp_config *cfg, const zp_layout *lay, const zp_op *ops, int64_t n,
                    int64_t i)
{
  //@ assert seen: StageSeen(cfg, lay);
  //@ assert reduces: ReducesAt(ops + i, ops[i].flat, ops[i].bucket, ops[i].mb) == 1;
  //@ assert some: 0 < Reduced(ops, n, ops[i].flat, ops[i].bucket, ops[i].mb);
  (void)cfg, (void)lay, (void)ops, (void)n, (void)i;
}
