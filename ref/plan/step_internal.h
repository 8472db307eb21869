/* The STEP program: program_pipeline.c writes the slots, program_entry.c what gradients set off
 * there, program_step.c the rest; program_count.c counts. Not installed.
 * spec: STEP-2, LEDG-6, LEDG-8 */
#ifndef ZP_PLAN_STEP_INTERNAL_H
#define ZP_PLAN_STEP_INTERNAL_H

#include "op.h"

/* One entry's gradient of micro-batch mb, arriving in slot t, with all that its ops depend on. */
typedef struct zp_arrival {
  zp_flat flat; /* its flat group, number k */
  int32_t k, param;
  int32_t stage, reduce, precision; /* of the configuration */
  int32_t reduces;                  /* 1: buckets that it completes are reduced */
  int64_t from, to;                 /* its elements of the flat group */
  int64_t mb, t, clock;
} zp_arrival;

#include "../../spec/acsl/step_program.h"

/* The gradient of the stage's i-th entry of micro-batch mb in slot t; none when it is frozen.
 * ops has room for its ops, behind the clocks so far, and apart from configuration and layout.
 * RED-3 */
/*@ requires config: \valid_read(cfg) && 0 <= cfg->stage <= 2 && 0 <= cfg->reduce <= 1 &&
        0 <= cfg->precision <= 2 && 1 <= cfg->micro_batches <= 1048576;
    requires entry: 0 <= i < lay->n_params <= 65536 && 0 <= lay->first_param &&
        lay->first_param + lay->n_params <= cfg->n_params <= 65536 && EntryFits(cfg, lay, i);
    requires readable: Readable(cfg) && ReadableLayout(lay);
    requires mb: 0 <= mb < cfg->micro_batches;
    requires room: 0 <= n && n + RawLen(cfg, lay, i, ReducesOn(cfg, mb)) <= 9223372036854775807 &&
        \valid(ops + (n .. n + RawLen(cfg, lay, i, ReducesOn(cfg, mb)) - 1));
    requires clock: Clocked(ops, n, t, (lay->n_params - i) * 4398046511104);
    terminates \true; exits \false;
    assigns ops[n .. n + RawLen(cfg, lay, i, ReducesOn(cfg, mb)) - 1];
    ensures length: \result == n + RawLen{Pre}(cfg, lay, i, ReducesOn{Pre}(cfg, mb));
    ensures clock: Clocked(ops, \result, t, (\old(lay->n_params) - i + 1) * 4398046511104);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == (ReducesOn{Pre}(cfg, mb) == 0 ?
          LedgerOf{Pre}(ops, n, g, key, d) :
          RawTrace{Pre}(LedgerOf{Pre}(ops, n, g, key, d), cfg, lay, i, g, t));
    ensures links: \forall integer peer;
        LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures added: \forall integer p, m, e, k, c; Added(ops, \result, p, m, e, k, c) ==
        Added{Pre}(ops, n, p, m, e, k, c) +
        (m == mb ? RawAdds{Pre}(cfg, lay, i, p, e, k, c) : 0);
    ensures reductions: \forall integer k, c, m; Reduced(ops, \result, k, c, m) ==
        Reduced{Pre}(ops, n, k, c, m) +
        (m == mb && ReducesOn{Pre}(cfg, mb) == 1 ? RawDone{Pre}(cfg, lay, i, k, c) : 0); */
int64_t zp_put_one(const zp_config *cfg, const zp_layout *lay, int32_t i, int64_t mb, int64_t t,
                   zp_op *ops, int64_t n);

/* Appends the whole pipeline of lay's stage. Returns the number of ops after it. PIPE-1 … PIPE-3 */
int64_t zp_put_pipeline(const zp_config *cfg, const zp_layout *lay, zp_op *ops, int64_t n);

/* The number of ops that zp_put_step writes from ops[0] on, and returns. LEDG-8 */
int64_t zp_need_step(const zp_config *cfg, const zp_layout *lay);
int64_t zp_put_step(const zp_config *cfg, const zp_layout *lay, zp_op *ops);

#endif
