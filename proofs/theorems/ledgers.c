/* Family 3, equal ledgers: two members of a group run the planner separately and write the same
 * ledger for the group, op for op. This file is not linked into any program.
 * spec: LEDG-2, LEDG-3, LEDG-4, LEDG-5, LEDG-6, CKPT-1 */
#include "../../ref/plan/program.h"
#include "../../spec/acsl/apart_lemmas.h"
#include "../../spec/acsl/kept_lemmas.h"
#include "../../spec/acsl/ledger_lemmas.h"
#include "../../spec/acsl/planned_lemmas.h"

#include "../../spec/acsl/layout_same.h"

#include "../../spec/acsl/still_lemmas.h"

#include "../../spec/acsl/phase_ledger.h"

/* A rank runs the planner: it writes the group's ledger for every group. */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires at: 0 <= at.pp < cfg->pp && 0 <= at.dp < cfg->dp && 0 <= at.tp < cfg->tp;
    requires lay: ReadableLayout(lay) && LayoutOf(cfg, at.pp, lay);
    requires phase: 0 <= phase < ZP_PHASES;
    requires ops: 0 <= cap && \valid(ops + (0 .. cap - 1));
    requires apart: \separated(ops + (0 .. cap - 1), cfg, lay,
        cfg->params + (0 .. cfg->n_params - 1), lay->flat + (0 .. lay->n_flats - 1),
        lay->spot + (0 .. lay->n_params - 1));
    terminates \true; exits \false;
    assigns ops[0 .. cap - 1];
    ensures written: -1 <= \result <= cap;
    ensures ledger: 0 <= \result ==> \forall integer g, key, stepped; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, stepped) ==
        PhaseLedger{Pre}(cfg, lay, phase, g, key, stepped); */
static int64_t writes_ledgers(const zp_config *cfg, int32_t phase, const zp_layout *lay,
                              zp_coord at, zp_op *ops, int64_t cap)
{
  return zp_program_write(cfg, lay, phase, at, ops, cap);
}

/* A member does the same, and `other`, another member's layout that ops do not overlap, does not
 * change. */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires at: 0 <= at.pp < cfg->pp && 0 <= at.dp < cfg->dp && 0 <= at.tp < cfg->tp;
    requires lay: ReadableLayout(lay) && LayoutOf(cfg, at.pp, lay);
    requires other: ReadableLayout(other) && LayoutOf(cfg, stage, other);
    requires phase: 0 <= phase < ZP_PHASES;
    requires ops: 0 <= cap && \valid(ops + (0 .. cap - 1));
    requires apart: \separated(ops + (0 .. cap - 1), cfg, lay,
        cfg->params + (0 .. cfg->n_params - 1), lay->flat + (0 .. lay->n_flats - 1),
        lay->spot + (0 .. lay->n_params - 1));
    requires far_layout: FarFromLayout(ops, cap, other);
    requires far_flats: FarFromFlats(ops, cap, other->flat, other->n_flats);
    requires far_spots: FarFromSpots(ops, cap, other->spot, other->n_params);
    terminates \true; exits \false;
    assigns ops[0 .. cap - 1];
    ensures written: -1 <= \result <= cap;
    ensures ledger: 0 <= \result ==> \forall integer g, key, stepped; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, stepped) ==
        PhaseLedger{Pre}(cfg, lay, phase, g, key, stepped);
    ensures still: StillLayout{Pre,Post}(cfg, other);
    ensures valid: Valid(cfg);
    ensures layout: LayoutOf(cfg, stage, other); */
static int64_t member(const zp_config *cfg, int32_t phase, const zp_layout *lay, zp_coord at,
                      zp_op *ops, int64_t cap, const zp_layout *other, int32_t stage)
{
  //@ assert far_config: FarFromConfig(ops, cap, cfg);
  //@ assert far_entries: FarFromEntries(ops, cap, cfg->params, cfg->n_params);
  //@ assert clear_config: ClearOfConfig(ops + 0, cap, cfg);
  //@ assert clear_entries: ClearOfEntries(ops + 0, cap, cfg->params, cfg->n_params);
  //@ assert clear_layout: ClearOfLayout(ops + 0, cap, other);
  //@ assert clear_flats: ClearOfFlats(ops + 0, cap, other->flat, other->n_flats);
  //@ assert clear_holders: ClearOfHolders(ops + 0, cap, other->flat, other->n_flats);
  //@ assert clear_spots: ClearOfSpots(ops + 0, cap, other->spot, other->n_params);
  const int64_t n = writes_ledgers(cfg, phase, lay, at, ops, cap);
  //@ assert scalars: SameScalars{Pre,Here}(cfg);
  //@ assert stage: KeptStage{Pre,Here}(other);
  //@ assert spot: \at(other->spot, Pre) == other->spot;
  //@ assert entries: KeptEntries{Pre,Here}(cfg);
  //@ assert kept: Kept{Pre,Here}(cfg);
  //@ assert holders: StillFlats{Pre,Here}(other);
  //@ assert flats: KeptFlats{Pre,Here}(other);
  //@ assert spots: KeptSpots{Pre,Here}(other);
  //@ assert still: StillLayout{Pre,Here}(cfg, other);
  return n;
}

/* Ops that the two members wrote, or -1. */
typedef struct both {
  int64_t one, two;
} both;

/* Any two members, at1 and at2, of any group with a ledger, in each of the four programs, each with
 * its own layout and ops. */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires one: 0 <= at1.pp < cfg->pp && 0 <= at1.dp < cfg->dp && 0 <= at1.tp < cfg->tp;
    requires two: 0 <= at2.pp < cfg->pp && 0 <= at2.dp < cfg->dp && 0 <= at2.tp < cfg->tp;
    requires members: HasLedger(group) &&
        InGroup(cfg, group, key, at1.pp, at1.dp, at1.tp, at2.pp, at2.dp, at2.tp);
    requires lay1: ReadableLayout(lay1) && LayoutOf(cfg, at1.pp, lay1);
    requires lay2: ReadableLayout(lay2) && LayoutOf(cfg, at2.pp, lay2);
    requires phase: 0 <= phase < ZP_PHASES;
    requires ops1: 0 <= cap1 && \valid(ops1 + (0 .. cap1 - 1));
    requires ops2: 0 <= cap2 && \valid(ops2 + (0 .. cap2 - 1));
    requires apart: \separated(ops1 + (0 .. cap1 - 1), ops2 + (0 .. cap2 - 1));
    requires apart1: \separated(ops1 + (0 .. cap1 - 1), cfg, lay1,
        cfg->params + (0 .. cfg->n_params - 1), lay1->flat + (0 .. lay1->n_flats - 1),
        lay1->spot + (0 .. lay1->n_params - 1));
    requires apart12: FarFromLayout(ops1, cap1, lay2) &&
        FarFromFlats(ops1, cap1, lay2->flat, lay2->n_flats) &&
        FarFromSpots(ops1, cap1, lay2->spot, lay2->n_params);
    requires apart2: \separated(ops2 + (0 .. cap2 - 1), cfg, lay2,
        cfg->params + (0 .. cfg->n_params - 1), lay2->flat + (0 .. lay2->n_flats - 1),
        lay2->spot + (0 .. lay2->n_params - 1));
    terminates \true; exits \false;
    assigns ops1[0 .. cap1 - 1], ops2[0 .. cap2 - 1];
    ensures equal: 0 <= \result.one && 0 <= \result.two ==> \forall integer stepped;
        LedgerOf(ops1, \result.one, group, key, stepped) ==
        LedgerOf(ops2, \result.two, group, key, stepped);
    check ensures control: 0 <= \result.one && 0 <= \result.two ==> \forall integer stepped, other;
        HasLedger(other) ==> LedgerOf(ops1, \result.one, other, key, stepped) ==
        LedgerOf(ops2, \result.two, other, key, stepped); */
static both two_members(const zp_config *cfg, int32_t phase, int32_t group, int32_t key,
                        const zp_layout *lay1, zp_coord at1, zp_op *ops1, int64_t cap1,
                        const zp_layout *lay2, zp_coord at2, zp_op *ops2, int64_t cap2)
{
  both n = {0};
  //@ assert planned: Planned(cfg, lay1) && Planned(cfg, lay2);
  //@ assert layouts: StageLayout(cfg, lay2);
  /*@ assert alike: \forall integer stepped; PhaseLedger(cfg, lay1, phase, group, key, stepped) ==
        PhaseLedger(cfg, lay2, phase, group, key, stepped); */
  n.one = member(cfg, phase, lay1, at1, ops1, cap1, lay2, at2.pp);
  //@ ghost Between: ;
  /*@ assert frame: \forall integer stepped; PhaseLedger(cfg, lay2, phase, group, key, stepped) ==
        PhaseLedger{Pre}(cfg, lay2, phase, group, key, stepped); */
  //@ assert far_ops: FarFromOps(ops2, cap2, ops1, cap1);
  //@ assert clear_ops: ClearOfOps(ops2 + 0, cap2, ops1, cap1);
  n.two = member(cfg, phase, lay2, at2, ops2, cap2, lay2, at2.pp);
  /*@ assert same_kind: \forall integer p; 0 <= p < n.one ==>
        \at(ops1[p].kind, Between) == ops1[p].kind &&
        \at(ops1[p].what, Between) == ops1[p].what &&
        \at(ops1[p].group, Between) == ops1[p].group; */
  /*@ assert same_key: \forall integer p; 0 <= p < n.one ==>
        \at(ops1[p].key, Between) == ops1[p].key &&
        \at(ops1[p].dtype, Between) == ops1[p].dtype &&
        \at(ops1[p].redop, Between) == ops1[p].redop; */
  /*@ assert same_root: \forall integer p; 0 <= p < n.one ==>
        \at(ops1[p].root, Between) == ops1[p].root &&
        \at(ops1[p].flat, Between) == ops1[p].flat &&
        \at(ops1[p].param, Between) == ops1[p].param; */
  /*@ assert same_slot: \forall integer p; 0 <= p < n.one ==>
        \at(ops1[p].slot, Between) == ops1[p].slot &&
        \at(ops1[p].if_stepped, Between) == ops1[p].if_stepped &&
        \at(ops1[p].mb, Between) == ops1[p].mb; */
  /*@ assert same_recv_mb: \forall integer p; 0 <= p < n.one ==>
        \at(ops1[p].recv_mb, Between) == ops1[p].recv_mb &&
        \at(ops1[p].bucket, Between) == ops1[p].bucket &&
        \at(ops1[p].offset, Between) == ops1[p].offset; */
  /*@ assert same_count: \forall integer p; 0 <= p < n.one ==>
        \at(ops1[p].count, Between) == ops1[p].count &&
        \at(ops1[p].clock_t, Between) == ops1[p].clock_t &&
        \at(ops1[p].clock_i, Between) == ops1[p].clock_i; */
  //@ assert one_kept: 0 <= n.one ==> SameOps{Between,Here}(ops1, n.one);
  /*@ assert one: 0 <= n.one ==> \forall integer stepped;
        LedgerOf(ops1, n.one, group, key, stepped) ==
        LedgerOf{Between}(ops1, n.one, group, key, stepped); */
  return n;
}

/* A rank whose stage does not hold a tied key is not a member of that key's groups and writes
 * nothing for them. Every rank is a member of a group of every other kind. */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires at: 0 <= at.pp < cfg->pp && 0 <= at.dp < cfg->dp && 0 <= at.tp < cfg->tp;
    requires outside: On(cfg, key, at.pp) != 1;
    requires lay: ReadableLayout(lay) && LayoutOf(cfg, at.pp, lay);
    requires phase: 0 <= phase < ZP_PHASES;
    requires ops: 0 <= cap && \valid(ops + (0 .. cap - 1));
    requires apart: \separated(ops + (0 .. cap - 1), cfg, lay,
        cfg->params + (0 .. cfg->n_params - 1), lay->flat + (0 .. lay->n_flats - 1),
        lay->spot + (0 .. lay->n_params - 1));
    terminates \true; exits \false;
    assigns ops[0 .. cap - 1];
    ensures nothing: 0 <= \result ==> \forall integer stepped;
        LedgerOf(ops, \result, ZP_GROUP_TIED, key, stepped) == Nothing; */
static int64_t outsider(const zp_config *cfg, int32_t phase, int32_t key, const zp_layout *lay,
                        zp_coord at, zp_op *ops, int64_t cap)
{
  //@ assert planned: Planned(cfg, lay);
  /*@ assert none: \forall integer stepped;
        PhaseLedger(cfg, lay, phase, ZP_GROUP_TIED, key, stepped) == Nothing; */
  return member(cfg, phase, lay, at, ops, cap, lay, at.pp);
}

/* The whole program is written if the capacity suffices; otherwise nothing is written. */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires at: 0 <= at.pp < cfg->pp && 0 <= at.dp < cfg->dp && 0 <= at.tp < cfg->tp;
    requires lay: ReadableLayout(lay) && LayoutOf(cfg, at.pp, lay);
    requires phase: 0 <= phase < ZP_PHASES;
    requires ops: 0 <= cap && \valid(ops + (0 .. cap - 1));
    requires apart: \separated(ops + (0 .. cap - 1), cfg, lay,
        cfg->params + (0 .. cfg->n_params - 1), lay->flat + (0 .. lay->n_flats - 1),
        lay->spot + (0 .. lay->n_params - 1));
    terminates \true; exits \false;
    assigns ops[0 .. cap - 1];
    ensures succeeds: \result.one <= cap ==> \result.two == \result.one;
    ensures refuses: \result.one > cap ==> \result.two == -1; */
static both need_and_write(const zp_config *cfg, int32_t phase, const zp_layout *lay, zp_coord at,
                           zp_op *ops, int64_t cap)
{
  both n = {0};
  n.one = zp_program_need(cfg, lay, phase, at);
  n.two = zp_program_write(cfg, lay, phase, at, ops, cap);
  return n;
}

/* Every rank of the world takes part in every split, in the same order: its ledger of the world in
 * INIT is the list of creations, which depends only on the number of tied keys. */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires at: 0 <= at.pp < cfg->pp && 0 <= at.dp < cfg->dp && 0 <= at.tp < cfg->tp;
    requires lay: ReadableLayout(lay) && LayoutOf(cfg, at.pp, lay);
    requires ops: 0 <= cap && \valid(ops + (0 .. cap - 1));
    requires apart: \separated(ops + (0 .. cap - 1), cfg, lay,
        cfg->params + (0 .. cfg->n_params - 1), lay->flat + (0 .. lay->n_flats - 1),
        lay->spot + (0 .. lay->n_params - 1));
    terminates \true; exits \false;
    assigns ops[0 .. cap - 1];
    ensures creations: 0 <= \result ==> \forall integer key, stepped;
        LedgerOf(ops, \result, ZP_GROUP_WORLD, key, stepped) ==
        Creations(Nothing, 5 + \at(cfg->tied_keys, Pre)); */
static int64_t takes_part(const zp_config *cfg, const zp_layout *lay, zp_coord at, zp_op *ops,
                          int64_t cap)
{
  return zp_program_write(cfg, lay, ZP_PHASE_INIT, at, ops, cap);
}
