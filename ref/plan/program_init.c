/* INIT: communicators and first broadcasts. spec: LEDG-4, LEDG-5, TIE-2 */
#include "../../spec/acsl/bounds.h"
#include "program_internal.h"

#include "../../spec/acsl/init_lemmas.h"
#include "../../spec/acsl/kept_lemmas.h"

#include "../../spec/acsl/op_is_lemmas.h"

#include "../../spec/acsl/op_init_lemmas.h"

/* Every rank of the world takes part in every split; these are a program's first ops. LEDG-4 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires room: \valid(ops + (0 .. 4 + cfg->tied_keys));
    terminates \true; exits \false;
    assigns ops[0 .. 4 + cfg->tied_keys];
    ensures length: \result == 5 + \old(cfg->tied_keys);
    ensures ops: CreationOps(ops, \result);
    ensures clock: Clocked(ops, \result, ZP_CLOCK_TIED_VALUES, 0);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) == Nothing;
    ensures ledger: \forall integer g, key, stepped; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, stepped) ==
          (g == ZP_GROUP_WORLD ? Creations(Nothing, \result) : Nothing); */
static int64_t put_creations(const zp_config *cfg, zp_op *ops)
{
  const int32_t end = ZP_GROUP_TIED + cfg->tied_keys;
  int64_t n = 0;
  /*@ loop invariant range: ZP_GROUP_DP <= g <= end && n == g - 1;
      loop invariant ops: CreationOps(ops, n);
      loop invariant clock: Clocked(ops, n, ZP_CLOCK_CREATE, g);
      loop invariant links: \forall integer peer; LinkOf(ops, n, peer) == Nothing;
      loop invariant ledger: \forall integer h, key, stepped; HasLedger(h) ==>
          LedgerOf(ops, n, h, key, stepped) ==
            (h == ZP_GROUP_WORLD ? Creations(Nothing, n) : Nothing);
      loop assigns g, n, ops[0 .. end - 2];
      loop variant end - g; */
  for (int32_t g = ZP_GROUP_DP; g < end; g++) {
    zp_op op = zp_op_blank(ZP_OP_CREATE, ZP_CLOCK_CREATE, g);
    op.what = ZP_WHAT_COMMUNICATOR;
    op.group = ZP_GROUP_WORLD;
    op.root = g < ZP_GROUP_TIED ? g : ZP_GROUP_TIED;
    op.key = g < ZP_GROUP_TIED ? -1 : g - ZP_GROUP_TIED;
    const int64_t next = zp_emit(ops, n, op);
    //@ assert before: CreationOps(ops, n);
    //@ assert here: IsCreation(ops + n, g);
    n = next;
  }
  return n;
}

/* Broadcasts first values over the stages of each tied key that this stage holds. LEDG-5 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && StageLayout(cfg, lay);
    requires room: 0 <= n <= 1152921504606846976 &&
        \valid(ops + (n .. n + TiedValues(cfg, lay->stage, cfg->tied_keys) - 1));
    requires apart: Apart(ops, n, TiedValues(cfg, lay->stage, cfg->tied_keys), cfg, cfg->params,
        cfg->n_params, lay, lay->flat, lay->n_flats);
    requires clock: Clocked(ops, n, ZP_CLOCK_TIED_VALUES, 0);
    terminates \true; exits \false;
    assigns ops[n .. n + TiedValues(cfg, lay->stage, cfg->tied_keys) - 1];
    ensures ops: TiedFirsts{Pre,Post}(ops, n, \result, cfg, \at(lay->stage, Pre),
        \at(lay->first_param, Pre), \at(lay->n_params, Pre), \at(cfg->tied_keys, Pre));
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures kept: Kept{Pre,Post}(cfg);
    ensures stage: KeptStage{Pre,Post}(lay);
    ensures flats: KeptFlats{Pre,Post}(lay);
    ensures length: \result == n + \old(TiedValues(cfg, lay->stage, cfg->tied_keys));
    ensures clock: Clocked(ops, \result, ZP_CLOCK_TP_VALUES, 0);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures ledger: \forall integer g, key, stepped; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, stepped) ==
          (g == ZP_GROUP_TIED ?
            TiedValue{Pre}(LedgerOf{Pre}(ops, n, g, key, stepped), cfg, \at(lay->stage, Pre),
              \at(cfg->tied_keys, Pre), key) :
            LedgerOf{Pre}(ops, n, g, key, stepped)); */
static int64_t put_tied_values(const zp_config *cfg, const zp_layout *lay, zp_op *ops, int64_t n)
{
  /*@ loop invariant range: 0 <= x <= \at(cfg->tied_keys, Pre);
      loop invariant ops: TiedFirsts{Pre,Here}(ops, \at(n, Pre), n, cfg, \at(lay->stage, Pre),
        \at(lay->first_param, Pre), \at(lay->n_params, Pre), x);
      loop invariant stays: SameOps{Pre,Here}(ops, \at(n, Pre));
      loop invariant kept: Kept{Pre,Here}(cfg);
      loop invariant stage: KeptStage{Pre,Here}(lay);
      loop invariant flats: KeptFlats{Pre,Here}(lay);
      loop invariant valid: Valid(cfg);
      loop invariant good: StageLayout(cfg, lay);
      loop invariant length: n == \at(n, Pre) + TiedValues{Pre}(cfg, \at(lay->stage, Pre), x);
      loop invariant clock: Clocked(ops, n, ZP_CLOCK_TIED_VALUES, x);
      loop invariant links: \forall integer peer;
          LinkOf(ops, n, peer) == LinkOf{Pre}(ops, \at(n, Pre), peer);
      loop invariant ledger: \forall integer g, key, stepped; HasLedger(g) ==>
          LedgerOf(ops, n, g, key, stepped) ==
            (g == ZP_GROUP_TIED ?
              TiedValue{Pre}(LedgerOf{Pre}(ops, \at(n, Pre), g, key, stepped), cfg,
                \at(lay->stage, Pre), x, key) :
              LedgerOf{Pre}(ops, \at(n, Pre), g, key, stepped));
      loop assigns x, n, ops[\at(n, Pre) .. \at(n, Pre) +
          \at(TiedValues(cfg, lay->stage, cfg->tied_keys), Pre) - 1];
      loop variant \at(cfg->tied_keys, Pre) - x; */
  for (int32_t x = 0; x < cfg->tied_keys; x++) {
    //@ assert on: On(cfg, x, lay->stage) == On{Pre}(cfg, x, \at(lay->stage, Pre));
    /*@ assert numel: KeyNumel(cfg, cfg->n_params, x) ==
          KeyNumel{Pre}(cfg, \at(cfg->n_params, Pre), x); */
    /*@ assert fp32: KeyFp32(cfg, cfg->n_params, x) ==
          KeyFp32{Pre}(cfg, \at(cfg->n_params, Pre), x); */
    /*@ assert step: TiedValues{Pre}(cfg, \at(lay->stage, Pre), x + 1) ==
          n - \at(n, Pre) + On(cfg, x, lay->stage); */
    /*@ assert most: TiedValues{Pre}(cfg, \at(lay->stage, Pre), x + 1) <=
          \at(TiedValues(cfg, lay->stage, cfg->tied_keys), Pre) <= ZP_LIMIT_TIED; */
    //@ assert least: 0 <= n - \at(n, Pre) && 0 <= On(cfg, x, lay->stage) <= 1;
    //@ ghost Between: ;
    const int64_t next = zp_put_tied_value(cfg, lay, x, ops, n);
    /*@ assert old: TiedFirsts{Pre,Here}(ops, \at(n, Pre), n, cfg, \at(lay->stage, Pre),
        \at(lay->first_param, Pre), \at(lay->n_params, Pre), x); */
    /*@ assert here: On{Pre}(cfg, x, \at(lay->stage, Pre)) == 1 ==> n < next &&
        IsTiedFirst{Between,Here}(ops + n, cfg,
          \at(lay->first_param, Pre), \at(lay->n_params, Pre), x); */
    /*@ assert new: On{Pre}(cfg, x, \at(lay->stage, Pre)) == 1 ==> n < next &&
        IsTiedFirst{Pre,Here}(ops + n, cfg,
          \at(lay->first_param, Pre), \at(lay->n_params, Pre), x); */
    /*@ assert all: TiedFirsts{Pre,Here}(ops, \at(n, Pre), next, cfg, \at(lay->stage, Pre),
          \at(lay->first_param, Pre), \at(lay->n_params, Pre), x + 1); */
    n = next;
  }
  return n;
}

/* Broadcasts first values of tp-replicated entries over tp. LEDG-5 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && StageLayout(cfg, lay);
    requires room: 0 <= n <= 1152921504606846976 &&
        \valid(ops + (n .. n + TpValues(cfg, lay->first_param, lay->n_params) - 1));
    requires apart: Apart(ops, n, TpValues(cfg, lay->first_param, lay->n_params), cfg, cfg->params,
        cfg->n_params, lay, lay->flat, lay->n_flats);
    requires clock: Clocked(ops, n, ZP_CLOCK_TP_VALUES, 0);
    terminates \true; exits \false;
    assigns ops[n .. n + TpValues(cfg, lay->first_param, lay->n_params) - 1];
    ensures ops: TpFirsts{Pre,Post}(ops, n, \result, cfg, \at(lay->first_param, Pre),
        \at(lay->n_params, Pre));
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures kept: Kept{Pre,Post}(cfg);
    ensures stage: KeptStage{Pre,Post}(lay);
    ensures flats: KeptFlats{Pre,Post}(lay);
    ensures length: \result == n + \old(TpValues(cfg, lay->first_param, lay->n_params));
    ensures clock: Clocked(ops, \result, ZP_CLOCK_DP_VALUES, 0);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures ledger: \forall integer g, key, stepped; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, stepped) ==
          (g == ZP_GROUP_TP ?
            TpTrace{Pre}(LedgerOf{Pre}(ops, n, g, key, stepped), cfg, \at(cfg->precision, Pre),
              \at(lay->first_param, Pre), \at(lay->n_params, Pre)) :
            LedgerOf{Pre}(ops, n, g, key, stepped)); */
static int64_t put_tp_values(const zp_config *cfg, const zp_layout *lay, zp_op *ops, int64_t n)
{
  /*@ loop invariant range: 0 <= i <= \at(lay->n_params, Pre);
      loop invariant ops: TpFirsts{Pre,Here}(ops, \at(n, Pre), n, cfg, \at(lay->first_param, Pre),
        i);
      loop invariant stays: SameOps{Pre,Here}(ops, \at(n, Pre));
      loop invariant kept: Kept{Pre,Here}(cfg);
      loop invariant stage: KeptStage{Pre,Here}(lay);
      loop invariant flats: KeptFlats{Pre,Here}(lay);
      loop invariant valid: Valid(cfg);
      loop invariant good: StageLayout(cfg, lay);
      loop invariant length: n == \at(n, Pre) + TpValues{Pre}(cfg, \at(lay->first_param, Pre), i);
      loop invariant clock: Clocked(ops, n, ZP_CLOCK_TP_VALUES, i);
      loop invariant links: \forall integer peer;
          LinkOf(ops, n, peer) == LinkOf{Pre}(ops, \at(n, Pre), peer);
      loop invariant ledger: \forall integer g, key, stepped; HasLedger(g) ==>
          LedgerOf(ops, n, g, key, stepped) ==
            (g == ZP_GROUP_TP ?
              TpTrace{Pre}(LedgerOf{Pre}(ops, \at(n, Pre), g, key, stepped), cfg,
                \at(cfg->precision, Pre), \at(lay->first_param, Pre), i) :
              LedgerOf{Pre}(ops, \at(n, Pre), g, key, stepped));
      loop assigns i, n, ops[\at(n, Pre) .. \at(n, Pre) +
          \at(TpValues(cfg, lay->first_param, lay->n_params), Pre) - 1];
      loop variant \at(lay->n_params, Pre) - i; */
  for (int32_t i = 0; i < lay->n_params; i++) {
    /*@ assert replica: Replica(cfg, lay->first_param + i) ==
          Replica{Pre}(cfg, \at(lay->first_param, Pre) + i); */
    /*@ assert numel: NumelAt(cfg, lay->first_param + i) ==
          NumelAt{Pre}(cfg, \at(lay->first_param, Pre) + i); */
    /*@ assert step: TpValues{Pre}(cfg, \at(lay->first_param, Pre), i + 1) ==
          n - \at(n, Pre) + Replica(cfg, lay->first_param + i); */
    /*@ assert most: TpValues{Pre}(cfg, \at(lay->first_param, Pre), i + 1) <=
          \at(TpValues(cfg, lay->first_param, lay->n_params), Pre) <= ZP_LIMIT_ENTRIES; */
    //@ assert least: 0 <= n - \at(n, Pre) && 0 <= Replica(cfg, lay->first_param + i) <= 1;
    //@ ghost Between: ;
    const int64_t next = zp_put_tp_value(cfg, lay, i, ops, n);
    /*@ assert old: TpFirsts{Pre,Here}(ops, \at(n, Pre), n, cfg, \at(lay->first_param, Pre),
        i); */
    /*@ assert here: Replica{Pre}(cfg, \at(lay->first_param, Pre) + i) == 1 ==> n < next &&
          IsTpFirst{Between,Here}(ops + n, cfg, \at(lay->first_param, Pre) + i, i); */
    /*@ assert new: Replica{Pre}(cfg, \at(lay->first_param, Pre) + i) == 1 ==> n < next &&
          IsTpFirst{Pre,Here}(ops + n, cfg, \at(lay->first_param, Pre) + i, i); */
    /*@ assert both: TpNext{Pre,Here}(ops, \at(n, Pre), n, next, cfg,
          \at(lay->first_param, Pre), i, i + 1); */
    /*@ assert all: TpFirsts{Pre,Here}(ops, \at(n, Pre), next, cfg, \at(lay->first_param, Pre),
          i + 1); */
    n = next;
  }
  return n;
}

/* Broadcasts first values over the reduction groups. LEDG-5 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && StageLayout(cfg, lay);
    requires room: 0 <= n <= 1152921504606846976 &&
        \valid(ops + (n .. n + DpValues(cfg, lay->first_param, lay->n_params) - 1));
    requires apart: Apart(ops, n, DpValues(cfg, lay->first_param, lay->n_params), cfg, cfg->params,
        cfg->n_params, lay, lay->flat, lay->n_flats);
    requires clock: Clocked(ops, n, ZP_CLOCK_DP_VALUES, 0);
    terminates \true; exits \false;
    assigns ops[n .. n + DpValues(cfg, lay->first_param, lay->n_params) - 1];
    ensures ops: DpFirsts{Pre,Post}(ops, n, \result, cfg, \at(lay->first_param, Pre),
        \at(lay->n_params, Pre));
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures kept: Kept{Pre,Post}(cfg);
    ensures stage: KeptStage{Pre,Post}(lay);
    ensures flats: KeptFlats{Pre,Post}(lay);
    ensures length: \result == n + \old(DpValues(cfg, lay->first_param, lay->n_params));
    ensures clock: Clocked(ops, \result, ZP_CLOCK_INSTALL, 0);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures ledger: \forall integer g, key, stepped; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, stepped) ==
          DpTrace{Pre}(LedgerOf{Pre}(ops, n, g, key, stepped), cfg, \at(cfg->precision, Pre),
            \at(lay->first_param, Pre), \at(lay->n_params, Pre), g); */
static int64_t put_dp_values(const zp_config *cfg, const zp_layout *lay, zp_op *ops, int64_t n)
{
  /*@ loop invariant range: 0 <= i <= \at(lay->n_params, Pre);
      loop invariant ops: DpFirsts{Pre,Here}(ops, \at(n, Pre), n, cfg, \at(lay->first_param, Pre),
        i);
      loop invariant stays: SameOps{Pre,Here}(ops, \at(n, Pre));
      loop invariant kept: Kept{Pre,Here}(cfg);
      loop invariant stage: KeptStage{Pre,Here}(lay);
      loop invariant flats: KeptFlats{Pre,Here}(lay);
      loop invariant valid: Valid(cfg);
      loop invariant good: StageLayout(cfg, lay);
      loop invariant length: n == \at(n, Pre) + DpValues{Pre}(cfg, \at(lay->first_param, Pre), i);
      loop invariant clock: Clocked(ops, n, ZP_CLOCK_DP_VALUES, i);
      loop invariant links: \forall integer peer;
          LinkOf(ops, n, peer) == LinkOf{Pre}(ops, \at(n, Pre), peer);
      loop invariant ledger: \forall integer g, key, stepped; HasLedger(g) ==>
          LedgerOf(ops, n, g, key, stepped) ==
            DpTrace{Pre}(LedgerOf{Pre}(ops, \at(n, Pre), g, key, stepped), cfg,
              \at(cfg->precision, Pre), \at(lay->first_param, Pre), i, g);
      loop assigns i, n, ops[\at(n, Pre) .. \at(n, Pre) +
          \at(DpValues(cfg, lay->first_param, lay->n_params), Pre) - 1];
      loop variant \at(lay->n_params, Pre) - i; */
  for (int32_t i = 0; i < lay->n_params; i++) {
    /*@ assert holds: Holds(cfg, lay->first_param + i) ==
          Holds{Pre}(cfg, \at(lay->first_param, Pre) + i); */
    /*@ assert held: \forall integer g; HeldIn(cfg, lay->first_param + i, g) ==
          HeldIn{Pre}(cfg, \at(lay->first_param, Pre) + i, g); */
    /*@ assert numel: NumelAt(cfg, lay->first_param + i) ==
          NumelAt{Pre}(cfg, \at(lay->first_param, Pre) + i); */
    /*@ assert step: DpValues{Pre}(cfg, \at(lay->first_param, Pre), i + 1) ==
          n - \at(n, Pre) + Holds(cfg, lay->first_param + i); */
    /*@ assert most: DpValues{Pre}(cfg, \at(lay->first_param, Pre), i + 1) <=
          \at(DpValues(cfg, lay->first_param, lay->n_params), Pre) <= ZP_LIMIT_ENTRIES; */
    //@ assert least: 0 <= n - \at(n, Pre) && 0 <= Holds(cfg, lay->first_param + i) <= 1;
    //@ ghost Between: ;
    const int64_t next = zp_put_dp_value(cfg, lay, i, ops, n);
    /*@ assert old: DpFirsts{Pre,Here}(ops, \at(n, Pre), n, cfg, \at(lay->first_param, Pre),
        i); */
    /*@ assert here: Holds{Pre}(cfg, \at(lay->first_param, Pre) + i) == 1 ==> n < next &&
          IsDpFirst{Between,Here}(ops + n, cfg, \at(lay->first_param, Pre) + i, i); */
    /*@ assert new: Holds{Pre}(cfg, \at(lay->first_param, Pre) + i) == 1 ==> n < next &&
          IsDpFirst{Pre,Here}(ops + n, cfg, \at(lay->first_param, Pre) + i, i); */
    /*@ assert both: DpNext{Pre,Here}(ops, \at(n, Pre), n, next, cfg,
          \at(lay->first_param, Pre), i, i + 1); */
    /*@ assert all: DpFirsts{Pre,Here}(ops, \at(n, Pre), next, cfg, \at(lay->first_param, Pre),
          i + 1); */
    n = next;
  }
  return n;
}

/* Appends the op that makes the masters. ops has room for one more, with a clock after those so
 * far. LEDG-5 */
/*@ requires room: 0 <= n < 9223372036854775807 && \valid(ops + n);
    requires clock: Clocked(ops, n, ZP_CLOCK_INSTALL, 0);
    terminates \true; exits \false;
    assigns ops[n];
    ensures length: \result == n + 1;
    ensures op: IsInstall(ops + n);
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures clock: Increasing(ops, \result);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures ledger: \forall integer g, key, stepped; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, stepped) == LedgerOf{Pre}(ops, n, g, key, stepped); */
static int64_t put_install(zp_op *ops, int64_t n)
{
  zp_op op = zp_op_blank(ZP_OP_INSTALL, ZP_CLOCK_INSTALL, 0);
  op.what = ZP_WHAT_MASTER;
  return zp_emit(ops, n, op);
}

/* Broadcasts all first values. cfg and lay are valid; ops has room, with clocks after those so far,
 * and does not overlap configuration or layout. LEDG-5 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && StageLayout(cfg, lay);
    requires room: 0 <= n <= ZP_LIMIT_ENTRIES && \valid(ops +
        (n .. n + ValuesLen(cfg, lay->stage, lay->first_param, lay->n_params) - 1));
    requires apart: Apart(ops, n, ValuesLen(cfg, lay->stage, lay->first_param, lay->n_params), cfg,
        cfg->params, cfg->n_params, lay, lay->flat, lay->n_flats);
    requires clock: Clocked(ops, n, ZP_CLOCK_TIED_VALUES, 0);
    terminates \true; exits \false;
    assigns ops[n .. n + ValuesLen(cfg, lay->stage, lay->first_param, lay->n_params) - 2];
    ensures length: \result + 1 ==
        n + \old(ValuesLen(cfg, lay->stage, lay->first_param, lay->n_params));
    ensures tied: TiedFirsts{Pre,Post}(ops, n, n + TiedValues{Pre}(cfg, \at(lay->stage, Pre),
          \at(cfg->tied_keys, Pre)), cfg, \at(lay->stage, Pre), \at(lay->first_param, Pre),
          \at(lay->n_params, Pre), \at(cfg->tied_keys, Pre));
    ensures tp: TpFirsts{Pre,Post}(ops, n + TiedValues{Pre}(cfg, \at(lay->stage, Pre),
          \at(cfg->tied_keys, Pre)), \result - DpValues{Pre}(cfg, \at(lay->first_param, Pre),
          \at(lay->n_params, Pre)), cfg, \at(lay->first_param, Pre), \at(lay->n_params, Pre));
    ensures dp: DpFirsts{Pre,Post}(ops, \result - DpValues{Pre}(cfg, \at(lay->first_param, Pre),
          \at(lay->n_params, Pre)), \result, cfg, \at(lay->first_param, Pre), \at(lay->n_params,
          Pre));
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures clock: Clocked(ops, \result, ZP_CLOCK_INSTALL, 0);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures ledger: \forall integer g, key, stepped; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, stepped) ==
          ValuesTrace{Pre}(LedgerOf{Pre}(ops, n, g, key, stepped), cfg, \at(lay->stage, Pre),
            \at(lay->first_param, Pre), \at(lay->n_params, Pre), g, key); */
static int64_t put_firsts(const zp_config *cfg, const zp_layout *lay, zp_op *ops, int64_t n)
{
  /*@ assert lengths: 0 <= TiedValues(cfg, lay->stage, cfg->tied_keys) <= ZP_LIMIT_TIED &&
        0 <= TpValues(cfg, lay->first_param, lay->n_params) <= ZP_LIMIT_ENTRIES &&
        0 <= DpValues(cfg, lay->first_param, lay->n_params) <= ZP_LIMIT_ENTRIES; */
  n = put_tied_values(cfg, lay, ops, n);
  //@ assert good: Valid(cfg) && StageLayout(cfg, lay);
  /*@ assert tp: TpValues(cfg, lay->first_param, lay->n_params) ==
        \at(TpValues(cfg, lay->first_param, lay->n_params), Pre); */
  /*@ assert tp_same: \forall trace t; TpTrace(t, cfg, cfg->precision, lay->first_param,
        lay->n_params) == TpTrace{Pre}(t, cfg, \at(cfg->precision, Pre),
        \at(lay->first_param, Pre), \at(lay->n_params, Pre)); */
  //@ ghost const int64_t tied = n;
  //@ ghost Tied: ;
  n = put_tp_values(cfg, lay, ops, n);
  //@ ghost const int64_t tp = n;
  //@ ghost Tp: ;
  /*@ assert tied_ops: TiedFirsts{Pre,Here}(ops, \at(n, Pre), tied, cfg, \at(lay->stage, Pre),
        \at(lay->first_param, Pre), \at(lay->n_params, Pre), \at(cfg->tied_keys, Pre)); */
  /*@ assert tp_here: TpFirsts{Tied,Here}(ops, tied, tp, cfg, \at(lay->first_param, Pre),
        \at(lay->n_params, Pre)); */
  /*@ assert tp_ops: TpFirsts{Pre,Here}(ops, tied, tp, cfg, \at(lay->first_param, Pre),
        \at(lay->n_params, Pre)); */
  //@ assert kept: Kept{Pre,Here}(cfg);
  //@ assert stage: KeptStage{Pre,Here}(lay);
  //@ assert flats: KeptFlats{Pre,Here}(lay);
  //@ assert good: Valid(cfg) && StageLayout(cfg, lay);
  /*@ assert dp: DpValues(cfg, lay->first_param, lay->n_params) ==
        \at(DpValues(cfg, lay->first_param, lay->n_params), Pre); */
  /*@ assert dp_same: \forall trace t, integer g; DpTrace(t, cfg, cfg->precision,
        lay->first_param, lay->n_params, g) == DpTrace{Pre}(t, cfg, \at(cfg->precision, Pre),
        \at(lay->first_param, Pre), \at(lay->n_params, Pre), g); */
  /*@ assert tp_done: \forall integer g, key, stepped; HasLedger(g) ==>
        LedgerOf(ops, n, g, key, stepped) ==
          (g == ZP_GROUP_DP || g == ZP_GROUP_EDP ? LedgerOf{Pre}(ops, \at(n, Pre), g, key, stepped)
            : ValuesTrace{Pre}(LedgerOf{Pre}(ops, \at(n, Pre), g, key, stepped), cfg,
              \at(lay->stage, Pre), \at(lay->first_param, Pre), \at(lay->n_params, Pre), g,
              key)); */
  n = put_dp_values(cfg, lay, ops, n);
  //@ ghost const int64_t dp = n;
  /*@ assert tied_stay: TiedFirsts{Pre,Here}(ops, \at(n, Pre), tied, cfg, \at(lay->stage, Pre),
        \at(lay->first_param, Pre), \at(lay->n_params, Pre), \at(cfg->tied_keys, Pre)); */
  /*@ assert tp_stay: TpFirsts{Pre,Here}(ops, tied, tp, cfg, \at(lay->first_param, Pre),
        \at(lay->n_params, Pre)); */
  /*@ assert dp_here: DpFirsts{Tp,Here}(ops, tp, dp, cfg, \at(lay->first_param, Pre),
        \at(lay->n_params, Pre)); */
  /*@ assert dp_ops: DpFirsts{Pre,Here}(ops, tp, dp, cfg, \at(lay->first_param, Pre),
        \at(lay->n_params, Pre)); */
  /*@ assert ends: tied == \at(n, Pre) + TiedValues{Pre}(cfg, \at(lay->stage, Pre),
          \at(cfg->tied_keys, Pre)) &&
        tp == tied + TpValues{Pre}(cfg, \at(lay->first_param, Pre), \at(lay->n_params, Pre)) &&
        dp == tp + DpValues{Pre}(cfg, \at(lay->first_param, Pre), \at(lay->n_params, Pre)) &&
        \at(n, Pre) <= tied && tied <= tp <= dp; */
  /*@ assert sum: n + 1 == \at(n, Pre) +
        \at(ValuesLen(cfg, lay->stage, lay->first_param, lay->n_params), Pre); */
  //@ assert more: \at(n, Pre) <= n;
  /*@ assert values: \forall integer g, key, stepped; HasLedger(g) ==>
        LedgerOf(ops, n, g, key, stepped) ==
          ValuesTrace{Pre}(LedgerOf{Pre}(ops, \at(n, Pre), g, key, stepped), cfg,
            \at(lay->stage, Pre), \at(lay->first_param, Pre), \at(lay->n_params, Pre), g, key); */
  /*@ assert tail: \at(n, Pre) <= n < \at(n, Pre) +
        \at(ValuesLen(cfg, lay->stage, lay->first_param, lay->n_params), Pre); */
  return n;
}

/* Broadcasts all first values, then makes the masters. LEDG-5 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && StageLayout(cfg, lay);
    requires room: 0 <= n <= ZP_LIMIT_ENTRIES && \valid(ops +
        (n .. n + ValuesLen(cfg, lay->stage, lay->first_param, lay->n_params) - 1));
    requires apart: Apart(ops, n, ValuesLen(cfg, lay->stage, lay->first_param, lay->n_params), cfg,
        cfg->params, cfg->n_params, lay, lay->flat, lay->n_flats);
    requires clock: Clocked(ops, n, ZP_CLOCK_TIED_VALUES, 0);
    terminates \true; exits \false;
    assigns ops[n .. n + ValuesLen(cfg, lay->stage, lay->first_param, lay->n_params) - 1];
    ensures length: \result ==
        n + \old(ValuesLen(cfg, lay->stage, lay->first_param, lay->n_params));
    ensures ops: FirstOps{Pre,Post}(ops, n, cfg, \at(lay->stage, Pre), \at(lay->first_param, Pre),
        \at(lay->n_params, Pre));
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures clock: Increasing(ops, \result);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures ledger: \forall integer g, key, stepped; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, stepped) ==
          ValuesTrace{Pre}(LedgerOf{Pre}(ops, n, g, key, stepped), cfg, \at(lay->stage, Pre),
            \at(lay->first_param, Pre), \at(lay->n_params, Pre), g, key); */
static int64_t put_values(const zp_config *cfg, const zp_layout *lay, zp_op *ops, int64_t n)
{
  /*@ assert lengths: 0 <= TiedValues(cfg, lay->stage, cfg->tied_keys) <= ZP_LIMIT_TIED &&
        0 <= TpValues(cfg, lay->first_param, lay->n_params) <= ZP_LIMIT_ENTRIES &&
        0 <= DpValues(cfg, lay->first_param, lay->n_params) <= ZP_LIMIT_ENTRIES; */
  const int64_t end = put_firsts(cfg, lay, ops, n);
  //@ ghost Firsts: ;
  const int64_t all = put_install(ops, end);
  /*@ assert ends:
        \let tied = n + TiedValues{Pre}(cfg, \at(lay->stage, Pre), \at(cfg->tied_keys, Pre));
        \let tp = end - DpValues{Pre}(cfg, \at(lay->first_param, Pre), \at(lay->n_params, Pre));
        n <= tied <= tp <= end && tp == tied + TpValues{Pre}(cfg, \at(lay->first_param, Pre),
          \at(lay->n_params, Pre)); */
  //@ assert still: SameOps{Firsts,Here}(ops, end);
  /*@ assert still_tied: SameOps{Firsts,Here}(ops, n + TiedValues{Pre}(cfg, \at(lay->stage, Pre),
        \at(cfg->tied_keys, Pre))); */
  /*@ assert still_tp: SameOps{Firsts,Here}(ops, end - DpValues{Pre}(cfg,
        \at(lay->first_param, Pre), \at(lay->n_params, Pre))); */
  /*@ assert tied_ops:
        \let tied = n + TiedValues{Pre}(cfg, \at(lay->stage, Pre), \at(cfg->tied_keys, Pre));
        TiedFirsts{Pre,Here}(ops, n, tied, cfg, \at(lay->stage, Pre), \at(lay->first_param, Pre),
          \at(lay->n_params, Pre), \at(cfg->tied_keys, Pre)); */
  /*@ assert tp_ops:
        \let tied = n + TiedValues{Pre}(cfg, \at(lay->stage, Pre), \at(cfg->tied_keys, Pre));
        \let tp = end - DpValues{Pre}(cfg, \at(lay->first_param, Pre), \at(lay->n_params, Pre));
        TpFirsts{Pre,Here}(ops, tied, tp, cfg, \at(lay->first_param, Pre),
          \at(lay->n_params, Pre)); */
  /*@ assert dp_ops:
        \let tp = end - DpValues{Pre}(cfg, \at(lay->first_param, Pre), \at(lay->n_params, Pre));
        DpFirsts{Pre,Here}(ops, tp, end, cfg, \at(lay->first_param, Pre),
          \at(lay->n_params, Pre)); */
  return all;
}

int64_t zp_put_init(const zp_config *cfg, const zp_layout *lay, zp_op *ops)
{
  /*@ assert lengths: 0 <= TiedValues(cfg, lay->stage, cfg->tied_keys) &&
        0 <= TpValues(cfg, lay->first_param, lay->n_params) &&
        0 <= DpValues(cfg, lay->first_param, lay->n_params); */
  /*@ assert clear: Clear(ops + 0, 5 + cfg->tied_keys, cfg, cfg->params, cfg->n_params, lay,
        lay->flat, lay->n_flats); */
  //@ assert clear_config: ClearOfConfig(ops + 0, 5 + cfg->tied_keys, cfg);
  /*@ assert clear_entries: ClearOfEntries(ops + 0, 5 + cfg->tied_keys, cfg->params,
        cfg->n_params); */
  //@ assert clear_layout: ClearOfLayout(ops + 0, 5 + cfg->tied_keys, lay);
  //@ assert clear_flats: ClearOfFlats(ops + 0, 5 + cfg->tied_keys, lay->flat, lay->n_flats);
  const int64_t n = put_creations(cfg, ops);
  //@ assert scalars: SameScalars{Pre,Here}(cfg);
  //@ assert entries: KeptEntries{Pre,Here}(cfg);
  //@ assert kept: Kept{Pre,Here}(cfg);
  //@ assert stage: KeptStage{Pre,Here}(lay);
  //@ assert flats: KeptFlats{Pre,Here}(lay);
  //@ assert valid: Valid(cfg);
  //@ assert good: StageLayout(cfg, lay);
  /*@ assert length: ValuesLen(cfg, lay->stage, lay->first_param, lay->n_params) ==
        \at(ValuesLen(cfg, lay->stage, lay->first_param, lay->n_params), Pre); */
  //@ ghost Made: ;
  const int64_t all = put_values(cfg, lay, ops, n);
  //@ assert creations: CreationOps(ops, n);
  /*@ assert here: FirstOps{Made,Here}(ops, n, cfg, \at(lay->stage, Pre), \at(lay->first_param,
      Pre),
        \at(lay->n_params, Pre)); */
  /*@ assert ops: FirstOps{Pre,Here}(ops, n, cfg, \at(lay->stage, Pre), \at(lay->first_param, Pre),
        \at(lay->n_params, Pre)); */
  return all;
}

int64_t zp_need_init(const zp_config *cfg, const zp_layout *lay)
{
  int64_t n = ZP_GROUP_TIED - ZP_GROUP_DP + cfg->tied_keys + 1;
  /*@ loop invariant range: 0 <= x <= cfg->tied_keys;
      loop invariant length: n == 6 + cfg->tied_keys + TiedValues(cfg, lay->stage, x);
      loop assigns x, n;
      loop variant cfg->tied_keys - x; */
  for (int32_t x = 0; x < cfg->tied_keys; x++)
    if (zp_holder_of(cfg, lay, x) >= 0) n++;
  /*@ loop invariant range: 0 <= i <= lay->n_params;
      loop invariant length: n == 6 + cfg->tied_keys + TiedValues(cfg, lay->stage, cfg->tied_keys) +
          TpValues(cfg, lay->first_param, i) + DpValues(cfg, lay->first_param, i);
      loop assigns i, n;
      loop variant lay->n_params - i; */
  for (int32_t i = 0; i < lay->n_params; i++) {
    const int32_t j = lay->first_param + i;
    const int32_t holds = zp_param_holds(cfg, j);
    //@ assert replica: Replica(cfg, j) == (cfg->params[j].sharded == 0 && holds == 1 ? 1 : 0);
    if (!holds) continue;
    n += cfg->params[j].sharded ? 1 : 2;
  }
  return n;
}
