/* Theorem 3, equal ledgers: two members of a group run the planner, each for itself; what they write
 * for the group is the same, op for op. Nothing here is linked into anything.
 * spec: LEDG-2, LEDG-3, LEDG-4, LEDG-5, CKPT-1 */
#include "../../ref/plan/program.h"
#include "../../spec/acsl/alike_lemmas.h"
#include "../../spec/acsl/apart_lemmas.h"
#include "../../spec/acsl/init_lemmas.h"
#include "../../spec/acsl/kept_lemmas.h"
#include "../../spec/acsl/layout_good.h"
#include "../../spec/acsl/ledger_lemmas.h"
#include "../../spec/acsl/save_lemmas.h"

/* The layout of a stage is what the planner asks for. */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && LayoutOf(cfg, stage, lay) && 0 <= stage < cfg->pp;
    terminates \true; exits \false;
    assigns \nothing;
    ensures good: StageLayout(cfg, lay); */
static void layout_suffices(const zp_config *cfg, const zp_layout *lay, int32_t stage)
{
  //@ assert head: LayoutHead(cfg, stage, lay) && LayoutRange(cfg, lay);
  /*@ loop invariant range: 0 <= j <= cfg->n_params;
      loop invariant mine: \forall integer i; 0 <= i < j ==> (cfg->params[i].stage == lay->stage <==>
          lay->first_param <= i < lay->first_param + lay->n_params);
      loop assigns j;
      loop variant cfg->n_params - j; */
  for (int32_t j = 0; j < cfg->n_params; j++) {
    //@ assert mine: EntryMine(cfg, lay, j);
  }
  /*@ loop invariant range: 0 <= k <= lay->n_flats;
      loop invariant ok: \forall integer i; 0 <= i < k ==> FlatOk(lay->flat + i);
      loop invariant group: \forall integer i; 0 <= i < k ==>
          (lay->flat[i].group == ZP_GROUP_DP || lay->flat[i].group == ZP_GROUP_EDP);
      loop assigns k;
      loop variant lay->n_flats - k; */
  for (int32_t k = 0; k < lay->n_flats; k++) {
    //@ assert good: FlatGood(cfg, stage, lay, k);
  }
}

/* Ops that the two members wrote, or -1. */
typedef struct both {
  int64_t one, two;
} both;

/* Any two members, at1 and at2, of any group with a ledger, in INIT, SAVE and LOAD. */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires one: 0 <= at1.pp < cfg->pp && 0 <= at1.dp < cfg->dp && 0 <= at1.tp < cfg->tp;
    requires two: 0 <= at2.pp < cfg->pp && 0 <= at2.dp < cfg->dp && 0 <= at2.tp < cfg->tp;
    requires members: HasLedger(group) &&
        InGroup(cfg, group, key, at1.pp, at1.dp, at1.tp, at2.pp, at2.dp, at2.tp);
    requires lay1: ReadableLayout(lay1) && LayoutOf(cfg, at1.pp, lay1);
    requires lay2: ReadableLayout(lay2) && LayoutOf(cfg, at2.pp, lay2);
    requires phase: 0 <= phase < ZP_PHASES && phase != ZP_PHASE_STEP;
    requires ops1: 0 <= cap1 && \valid(ops1 + (0 .. cap1 - 1));
    requires ops2: 0 <= cap2 && \valid(ops2 + (0 .. cap2 - 1));
    requires apart: \separated(ops1 + (0 .. cap1 - 1), ops2 + (0 .. cap2 - 1));
    requires apart1: \separated(ops1 + (0 .. cap1 - 1), cfg, lay1,
        cfg->params + (0 .. cfg->n_params - 1), lay1->flat + (0 .. lay1->n_flats - 1),
        lay1->spot + (0 .. lay1->n_params - 1));
    requires apart12: \separated(ops1 + (0 .. cap1 - 1), lay2,
        lay2->flat + (0 .. lay2->n_flats - 1), lay2->spot + (0 .. lay2->n_params - 1));
    requires apart2: \separated(ops2 + (0 .. cap2 - 1), cfg, lay2,
        cfg->params + (0 .. cfg->n_params - 1), lay2->flat + (0 .. lay2->n_flats - 1),
        lay2->spot + (0 .. lay2->n_params - 1));
    terminates \true; exits \false;
    assigns ops1[0 .. cap1 - 1], ops2[0 .. cap2 - 1];
    ensures equal: 0 <= \result.one && 0 <= \result.two ==> \forall integer stepped;
        LedgerOf(ops1, \result.one, group, key, stepped) ==
        LedgerOf(ops2, \result.two, group, key, stepped);
    check ensures control: 0 <= \result.one && 0 <= \result.two ==> \forall integer stepped, other;
        HasLedger(other) ==> LedgerOf(ops1, \result.one, group, key, stepped) ==
        LedgerOf(ops2, \result.two, other, key, stepped); */
static both two_members(const zp_config *cfg, int32_t phase, int32_t group, int32_t key,
                        const zp_layout *lay1, zp_coord at1, zp_op *ops1, int64_t cap1,
                        const zp_layout *lay2, zp_coord at2, zp_op *ops2, int64_t cap2)
{
  both n;
  layout_suffices(cfg, lay1, at1.pp);
  layout_suffices(cfg, lay2, at2.pp);
  /*@ assert init: InitLedger(cfg, lay1->stage, lay1->first_param, lay1->n_params, group, key) ==
        InitLedger(cfg, lay2->stage, lay2->first_param, lay2->n_params, group, key); */
  //@ assert save: SaveLedger(cfg, lay1, group) == SaveLedger(cfg, lay2, group);
  //@ assert far: FarFromEntries(ops1, cap1, cfg->params, cfg->n_params);
  //@ assert far_flats: FarFromFlats(ops1, cap1, lay2->flat, lay2->n_flats);
  //@ assert clear_config: ClearOfConfig(ops1 + 0, cap1, cfg);
  //@ assert clear_entries: ClearOfEntries(ops1 + 0, cap1, cfg->params, cfg->n_params);
  //@ assert clear_layout: ClearOfLayout(ops1 + 0, cap1, lay2);
  //@ assert clear_flats: ClearOfFlats(ops1 + 0, cap1, lay2->flat, lay2->n_flats);
  n.one = zp_program_write(cfg, lay1, phase, at1, ops1, cap1);
  //@ ghost Between: ;
  //@ assert scalars: SameScalars{Pre,Here}(cfg);
  //@ assert entries: KeptEntries{Pre,Here}(cfg);
  //@ assert kept: Kept{Pre,Here}(cfg);
  //@ assert stage: KeptStage{Pre,Here}(lay2);
  //@ assert flats: KeptFlats{Pre,Here}(lay2);
  //@ assert valid: Valid(cfg);
  //@ assert good: StageLayout(cfg, lay2);
  /*@ assert init_kept: InitLedger(cfg, lay2->stage, lay2->first_param, lay2->n_params, group, key)
        == InitLedger{Pre}(cfg, \at(lay2->stage, Pre), \at(lay2->first_param, Pre),
          \at(lay2->n_params, Pre), group, key); */
  //@ assert save_kept: SaveLedger(cfg, lay2, group) == SaveLedger{Pre}(cfg, lay2, group);
  //@ assert far_ops: FarFromOps(ops2, cap2, ops1, cap1);
  //@ assert clear_ops: ClearOfOps(ops2 + 0, cap2, ops1, cap1);
  n.two = zp_program_write(cfg, lay2, phase, at2, ops2, cap2);
  /*@ assert same_kind: 0 <= n.one ==> \forall integer p; 0 <= p < n.one ==>
        \at(ops1[p].kind, Between) == ops1[p].kind &&
        \at(ops1[p].what, Between) == ops1[p].what &&
        \at(ops1[p].group, Between) == ops1[p].group; */
  /*@ assert same_key: 0 <= n.one ==> \forall integer p; 0 <= p < n.one ==>
        \at(ops1[p].key, Between) == ops1[p].key &&
        \at(ops1[p].dtype, Between) == ops1[p].dtype &&
        \at(ops1[p].redop, Between) == ops1[p].redop; */
  /*@ assert same_root: 0 <= n.one ==> \forall integer p; 0 <= p < n.one ==>
        \at(ops1[p].root, Between) == ops1[p].root &&
        \at(ops1[p].flat, Between) == ops1[p].flat &&
        \at(ops1[p].param, Between) == ops1[p].param; */
  /*@ assert same_slot: 0 <= n.one ==> \forall integer p; 0 <= p < n.one ==>
        \at(ops1[p].slot, Between) == ops1[p].slot &&
        \at(ops1[p].if_stepped, Between) == ops1[p].if_stepped &&
        \at(ops1[p].mb, Between) == ops1[p].mb; */
  /*@ assert same_recv_mb: 0 <= n.one ==> \forall integer p; 0 <= p < n.one ==>
        \at(ops1[p].recv_mb, Between) == ops1[p].recv_mb &&
        \at(ops1[p].bucket, Between) == ops1[p].bucket &&
        \at(ops1[p].offset, Between) == ops1[p].offset; */
  /*@ assert same_count: 0 <= n.one ==> \forall integer p; 0 <= p < n.one ==>
        \at(ops1[p].count, Between) == ops1[p].count &&
        \at(ops1[p].clock_t, Between) == ops1[p].clock_t &&
        \at(ops1[p].clock_i, Between) == ops1[p].clock_i; */
  //@ assert one_kept: 0 <= n.one ==> SameOps{Between,Here}(ops1, n.one);
  /*@ assert one: 0 <= n.one ==> \forall integer stepped;
        LedgerOf(ops1, n.one, group, key, stepped) ==
        LedgerOf{Between}(ops1, n.one, group, key, stepped); */
  return n;
}

/* A rank whose stage does not hold a tied key is no member of that key's groups: it writes nothing
 * for them. Every rank is a member of a group of every other kind. */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires at: 0 <= at.pp < cfg->pp && 0 <= at.dp < cfg->dp && 0 <= at.tp < cfg->tp;
    requires outside: On(cfg, key, at.pp) != 1;
    requires lay: ReadableLayout(lay) && LayoutOf(cfg, at.pp, lay);
    requires phase: 0 <= phase < ZP_PHASES && phase != ZP_PHASE_STEP;
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
  layout_suffices(cfg, lay, at.pp);
  /*@ assert init: InitLedger(cfg, lay->stage, lay->first_param, lay->n_params, ZP_GROUP_TIED, key)
        == Nothing; */
  //@ assert save: SaveLedger(cfg, lay, ZP_GROUP_TIED) == Nothing;
  return zp_program_write(cfg, lay, phase, at, ops, cap);
}

/* The whole program is written whenever there is room for it, and none of it otherwise. */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires at: 0 <= at.pp < cfg->pp && 0 <= at.dp < cfg->dp && 0 <= at.tp < cfg->tp;
    requires lay: ReadableLayout(lay) && LayoutOf(cfg, at.pp, lay);
    requires phase: 0 <= phase < ZP_PHASES && phase != ZP_PHASE_STEP;
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
  both n;
  layout_suffices(cfg, lay, at.pp);
  n.one = zp_program_need(cfg, lay, phase, at);
  n.two = zp_program_write(cfg, lay, phase, at, ops, cap);
  return n;
}
