/* What follows from a program's predicate alone: any ops that satisfy OpsOf are those that the
 * planner writes, and have the ledgers, links, sums and clocks that its contracts state. This file
 * is not linked into any program. spec: LEDG-1, LEDG-3, STEP-2, PIPE-3, PIPE-5, RED-3 */
#include "../../ref/plan/program.h"
#include "../../spec/acsl/planned.h"

#include "../../spec/acsl/op_is_lemmas.h"

#include "../../spec/acsl/op_unique.h"

#include "../../spec/acsl/op_unique_slots.h"

#include "../../spec/acsl/op_unique_tail.h"

#include "../../spec/acsl/op_unique_init.h"

#include "../../spec/acsl/op_unique_save.h"

#include "../../spec/acsl/op_unique_of.h"

#include "../../spec/acsl/op_unique_fits.h"

#include "../../spec/acsl/op_unique_ledger.h"

/* a has the n ops of a program, b has room for as many. The planner writes the same ops to b. */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires at: 0 <= at.pp < cfg->pp && 0 <= at.dp < cfg->dp && 0 <= at.tp < cfg->tp;
    requires lay: ReadableLayout(lay) && LayoutOf(cfg, at.pp, lay);
    requires phase: 0 <= phase < ZP_PHASES;
    requires program: 0 <= n && OpsOf{Here,Here}(a, n, cfg, lay, phase, at.dp, at.tp);
    requires copy: n <= cap && \valid(b + (0 .. cap - 1));
    requires apart: \separated(b + (0 .. cap - 1), cfg, lay,
        cfg->params + (0 .. cfg->n_params - 1), lay->flat + (0 .. lay->n_flats - 1),
        lay->spot + (0 .. lay->n_params - 1));
    terminates \true; exits \false;
    assigns b[0 .. cap - 1];
    ensures equal: EqualPrograms{Pre,Post}(a, n, b, \result);
    ensures clock: Increasing{Pre}(a, n);
    ensures init_ledger: phase == ZP_PHASE_INIT ==>
        \forall integer g, key, stepped; HasLedger(g) ==>
          LedgerOf{Pre}(a, n, g, key, stepped) == InitLedger{Pre}(cfg, \old(lay->stage),
            \old(lay->first_param), \old(lay->n_params), g, key);
    ensures step_ledger: phase == ZP_PHASE_STEP ==>
        \forall integer g, key, stepped; HasLedger(g) ==>
          LedgerOf{Pre}(a, n, g, key, stepped) == StepLedger{Pre}(cfg, lay, g, key, stepped);
    ensures save_ledger: phase == ZP_PHASE_SAVE ==>
        \forall integer g, key, stepped; HasLedger(g) ==>
          LedgerOf{Pre}(a, n, g, key, stepped) == SaveLedger{Pre}(cfg, lay, g);
    ensures load_ledger: phase == ZP_PHASE_LOAD ==>
        \forall integer g, key, stepped; HasLedger(g) ==>
          LedgerOf{Pre}(a, n, g, key, stepped) == LoadLedger(g);
    ensures step_links: phase == ZP_PHASE_STEP ==> \forall integer peer;
        LinkOf{Pre}(a, n, peer) == StepLink{Pre}(cfg, at.pp, peer);
    ensures no_links: phase != ZP_PHASE_STEP ==> \forall integer peer;
        LinkOf{Pre}(a, n, peer) == Nothing;
    ensures step_added: phase == ZP_PHASE_STEP ==> \forall integer p, m, e, k, x;
        Added{Pre}(a, n, p, m, e, k, x) == StepAdded{Pre}(cfg, at.pp, p, m, e, k, x);
    ensures step_reduced: phase == ZP_PHASE_STEP ==> \forall integer k, x, m;
        Reduced{Pre}(a, n, k, x, m) == StepReduced{Pre}(cfg, at.pp, k, x, m);
    check ensures control: phase == ZP_PHASE_STEP ==> \forall integer g, key, stepped;
        HasLedger(g) ==> LedgerOf{Pre}(a, n, g, key, stepped) == Nothing; */
static int64_t writes_the_same(const zp_config *cfg, const zp_layout *lay, int32_t phase,
                               zp_coord at, const zp_op *a, int64_t n, zp_op *b, int64_t cap)
{
  int64_t m = 0;
  //@ assert planned: lay->stage == at.pp && Planned(cfg, lay);
  //@ assert fits: StageFits(cfg, lay);
  m = zp_program_write(cfg, lay, phase, at, b, cap);
  //@ assert written: 0 <= m;
  //@ assert fits_before: StageFits{Pre}(cfg, lay);
  //@ assert given: OpsOf{Pre,Pre}(a, n, cfg, lay, phase, at.dp, at.tp);
  //@ assert copied: OpsOf{Pre,Here}(b, m, cfg, lay, phase, at.dp, at.tp);
  //@ assert same: EqualPrograms{Pre,Here}(a, n, b, m);
  //@ assert range: n == m && EqualRange{Pre,Here}(a, b, 0, n);
  return m;
}
