/* INIT: communicators and first broadcasts. spec: LEDG-4, LEDG-5, TIE-2 */
#include "program_internal.h"

#include "../../spec/acsl/init_save_lemmas.h"

/* INIT's clock. PIPE-5 */
enum {
  CLOCK_CREATE = 0,
  CLOCK_TIED_VALUES = 1,
  CLOCK_TP_VALUES = 2,
  CLOCK_DP_VALUES = 3,
  CLOCK_INSTALL = 4
};

int32_t zp_param_holds(const zp_config *cfg, int32_t j)
{
  const int32_t key = cfg->params[j].tied, stage = cfg->params[j].stage;
  int32_t i = j + 1;
  if (key < 0) return 1;
  /* uses are numbered in backward order: the last entry of the stage with this key holds it */
  /*@ loop invariant range: j < i <= cfg->n_params;
      loop invariant none: \forall integer h; 0 <= h < i ==> LaterUse(cfg, j, h) == 0;
      loop assigns i;
      loop variant cfg->n_params - i; */
  while (i < cfg->n_params && cfg->params[i].stage == stage) {
    //@ assert use: LaterUse(cfg, j, i) == (cfg->params[i].tied == key ? 1 : 0);
    if (cfg->params[i].tied == key) return 0;
    i++;
  }
  /*@ assert later: \forall integer h; i <= h < cfg->n_params ==>
        cfg->params[i].stage <= cfg->params[h].stage; */
  //@ assert none: \forall integer h; 0 <= h < cfg->n_params ==> LaterUse(cfg, j, h) == 0;
  return 1;
}

/* The entry of the stage that holds tied key `key`, or -1. TIE-2 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires lay: \valid_read(lay) && StageLayout(cfg, lay);
    terminates \true; exits \false;
    assigns \nothing;
    ensures none: \result == -1 <==> On(cfg, key, lay->stage) == 0;
    ensures some: \result != -1 ==> On(cfg, key, lay->stage) == 1 &&
        lay->first_param <= \result < lay->first_param + lay->n_params &&
        cfg->params[\result].tied == key; */
static int32_t holder_of(const zp_config *cfg, const zp_layout *lay, int32_t key)
{
  /*@ loop invariant range: -1 <= i < lay->n_params;
      loop invariant none: \forall integer h; i < h < lay->n_params ==>
          cfg->params[lay->first_param + h].tied != key;
      loop assigns i;
      loop variant i + 1; */
  for (int32_t i = lay->n_params - 1; i >= 0; i--) {
    if (cfg->params[lay->first_param + i].tied == key) {
      //@ assert here: cfg->params[lay->first_param + i].stage == lay->stage;
      return lay->first_param + i;
    }
  }
  /*@ assert nowhere: \forall integer j; lay->first_param <= j < lay->first_param + lay->n_params ==>
        cfg->params[lay->first_param + (j - lay->first_param)].tied != key; */
  /*@ assert none: \forall integer j; 0 <= j < cfg->n_params ==>
        !(cfg->params[j].tied == key && cfg->params[j].stage == lay->stage); */
  return -1;
}

/* Every rank of the world takes part in every split; these are a program's first ops. LEDG-4 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires room: \valid(ops + (0 .. 4 + cfg->tied_keys));
    requires apart: \separated(ops + (0 .. 4 + cfg->tied_keys), cfg);
    terminates \true; exits \false;
    assigns ops[0 .. 4 + cfg->tied_keys];
    ensures length: \result == 5 + \old(cfg->tied_keys);
    ensures clock: Clocked(ops, \result, CLOCK_TIED_VALUES, 0);
    ensures ledger: \forall integer g, key, stepped; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, stepped) ==
          (g == ZP_GROUP_WORLD ? Creations(Nothing, \result) : Nothing); */
static int64_t put_creations(const zp_config *cfg, zp_op *ops)
{
  const int32_t end = ZP_GROUP_TIED + cfg->tied_keys;
  int64_t n = 0;
  /*@ loop invariant range: ZP_GROUP_DP <= g <= end && n == g - 1;
      loop invariant clock: Clocked(ops, n, CLOCK_CREATE, g);
      loop invariant ledger: \forall integer h, key, stepped; HasLedger(h) ==>
          LedgerOf(ops, n, h, key, stepped) ==
            (h == ZP_GROUP_WORLD ? Creations(Nothing, n) : Nothing);
      loop assigns g, n, ops[0 .. end - 2];
      loop variant end - g; */
  for (int32_t g = ZP_GROUP_DP; g < end; g++) {
    zp_op op = zp_op_blank(ZP_OP_CREATE, CLOCK_CREATE, g);
    op.what = ZP_WHAT_COMMUNICATOR;
    op.group = ZP_GROUP_WORLD;
    op.root = g < ZP_GROUP_TIED ? g : ZP_GROUP_TIED;
    op.key = g < ZP_GROUP_TIED ? -1 : g - ZP_GROUP_TIED;
    n = zp_emit(ops, n, op);
  }
  return n;
}

/* First values of entry j from member 0 of `group`. LEDG-5 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires entry: 0 <= j < cfg->n_params;
    terminates \true; exits \false;
    assigns \nothing;
    ensures given: \result.kind == ZP_OP_BROADCAST && \result.what == ZP_WHAT_PARAMETER &&
        \result.group == group && \result.key == key && \result.param == j &&
        \result.root == 0 && \result.clock_t == clock_t && \result.clock_i == clock_i &&
        \result.redop == ZP_RED_NONE && \result.if_stepped == 0;
    ensures data: \result.dtype == cfg->precision && \result.count == NumelAt(cfg, j); */
static zp_op broadcast(const zp_config *cfg, int32_t group, int32_t key, int32_t j, int64_t clock_t,
                       int64_t clock_i)
{
  zp_op op = zp_op_blank(ZP_OP_BROADCAST, clock_t, clock_i);
  op.what = ZP_WHAT_PARAMETER;
  op.group = group;
  op.key = key;
  op.param = j;
  op.root = 0;
  op.dtype = cfg->precision;
  op.count = cfg->params[j].numel;
  return op;
}

/* First values over the stages of each tied key that this stage holds. LEDG-5 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && StageLayout(cfg, lay);
    requires room: 0 <= n <= 2305843009213693952 &&
        \valid(ops + (n .. n + TiedValues(cfg, lay->stage, cfg->tied_keys) - 1));
    requires apart: \separated(ops + (n .. n + TiedValues(cfg, lay->stage, cfg->tied_keys) - 1),
        cfg, lay, cfg->params + (0 .. cfg->n_params - 1), lay->flat + (0 .. lay->n_flats - 1));
    requires clock: Clocked(ops, n, CLOCK_TIED_VALUES, 0);
    terminates \true; exits \false;
    assigns ops[n .. n + TiedValues(cfg, lay->stage, cfg->tied_keys) - 1];
    ensures kept: Kept{Pre,Post}(cfg) && KeptLayout{Pre,Post}(lay);
    ensures length: \result == n + \old(TiedValues(cfg, lay->stage, cfg->tied_keys));
    ensures clock: Clocked(ops, \result, CLOCK_TP_VALUES, 0);
    ensures ledger: \forall integer g, key, stepped; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, stepped) ==
          (g == ZP_GROUP_TIED ?
            TiedValue{Pre}(LedgerOf{Pre}(ops, n, g, key, stepped), cfg, \at(lay->stage, Pre),
              \at(cfg->tied_keys, Pre), key) :
            LedgerOf{Pre}(ops, n, g, key, stepped)); */
static int64_t put_tied_values(const zp_config *cfg, const zp_layout *lay, zp_op *ops, int64_t n)
{
  const int32_t keys = cfg->tied_keys;
  /*@ loop invariant range: 0 <= x <= keys;
      loop invariant kept: Kept{Pre,Here}(cfg);
      loop invariant layout: KeptLayout{Pre,Here}(lay);
      loop invariant valid: Valid(cfg);
      loop invariant good: StageLayout(cfg, lay);
      loop invariant length: n == \at(n, Pre) + TiedValues{Pre}(cfg, \at(lay->stage, Pre), x);
      loop invariant clock: Clocked(ops, n, CLOCK_TIED_VALUES, x);
      loop invariant ledger: \forall integer g, key, stepped; HasLedger(g) ==>
          LedgerOf(ops, n, g, key, stepped) ==
            (g == ZP_GROUP_TIED ?
              TiedValue{Pre}(LedgerOf{Pre}(ops, \at(n, Pre), g, key, stepped), cfg,
                \at(lay->stage, Pre), x, key) :
              LedgerOf{Pre}(ops, \at(n, Pre), g, key, stepped));
      loop assigns x, n, ops[\at(n, Pre) .. \at(n, Pre) +
          \at(TiedValues(cfg, lay->stage, cfg->tied_keys), Pre) - 1];
      loop variant keys - x; */
  for (int32_t x = 0; x < keys; x++) {
    const int32_t j = holder_of(cfg, lay, x);
    //@ assert on: On(cfg, x, lay->stage) == On{Pre}(cfg, x, \at(lay->stage, Pre));
    /*@ assert step: TiedValues{Pre}(cfg, \at(lay->stage, Pre), x + 1) ==
          n - \at(n, Pre) + On{Pre}(cfg, x, \at(lay->stage, Pre)); */
    /*@ assert most: TiedValues{Pre}(cfg, \at(lay->stage, Pre), x + 1) <=
          \at(TiedValues(cfg, lay->stage, cfg->tied_keys), Pre); */
    if (j < 0) continue;
    /*@ assert room: \at(n, Pre) <= n && n + 1 <= \at(n, Pre) +
          \at(TiedValues(cfg, lay->stage, cfg->tied_keys), Pre); */
    /*@ assert same: \forall integer i; 0 <= i < cfg->n_params ==>
          IsKey(cfg, i, x) == 0 || NumelAt(cfg, i) == NumelAt(cfg, j); */
    //@ assert is: IsKey(cfg, j, x) == 1;
    //@ assert numel: NumelAt(cfg, j) == KeyNumel{Pre}(cfg, \at(cfg->n_params, Pre), x);
    n = zp_emit(ops, n, broadcast(cfg, ZP_GROUP_TIED, x, j, CLOCK_TIED_VALUES, x));
  }
  return n;
}

/* First values of entries that tp ranks have in common. LEDG-5 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && StageLayout(cfg, lay);
    requires room: 0 <= n <= 2305843009213693952 &&
        \valid(ops + (n .. n + TpValues(cfg, lay->first_param, lay->n_params) - 1));
    requires apart: \separated(ops +
        (n .. n + TpValues(cfg, lay->first_param, lay->n_params) - 1), cfg, lay,
        cfg->params + (0 .. cfg->n_params - 1), lay->flat + (0 .. lay->n_flats - 1));
    requires clock: Clocked(ops, n, CLOCK_TP_VALUES, 0);
    terminates \true; exits \false;
    assigns ops[n .. n + TpValues(cfg, lay->first_param, lay->n_params) - 1];
    ensures kept: Kept{Pre,Post}(cfg) && KeptLayout{Pre,Post}(lay);
    ensures length: \result == n + \old(TpValues(cfg, lay->first_param, lay->n_params));
    ensures clock: Clocked(ops, \result, CLOCK_DP_VALUES, 0);
    ensures ledger: \forall integer g, key, stepped; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, stepped) ==
          (g == ZP_GROUP_TP ?
            TpTrace{Pre}(LedgerOf{Pre}(ops, n, g, key, stepped), cfg, \at(cfg->precision, Pre),
              \at(lay->first_param, Pre), \at(lay->n_params, Pre)) :
            LedgerOf{Pre}(ops, n, g, key, stepped)); */
static int64_t put_tp_values(const zp_config *cfg, const zp_layout *lay, zp_op *ops, int64_t n)
{
  /*@ loop invariant range: 0 <= i <= \at(lay->n_params, Pre);
      loop invariant kept: Kept{Pre,Here}(cfg);
      loop invariant layout: KeptLayout{Pre,Here}(lay);
      loop invariant valid: Valid(cfg);
      loop invariant good: StageLayout(cfg, lay);
      loop invariant length: n == \at(n, Pre) + TpValues{Pre}(cfg, \at(lay->first_param, Pre), i);
      loop invariant clock: Clocked(ops, n, CLOCK_TP_VALUES, i);
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
    const int32_t j = lay->first_param + i;
    const int32_t holds = zp_param_holds(cfg, j);
    //@ assert entry: j == \at(lay->first_param, Pre) + i && 0 <= j < cfg->n_params;
    //@ assert replica: Replica{Pre}(cfg, j) == Replica(cfg, j);
    //@ assert numel: NumelAt{Pre}(cfg, j) == NumelAt(cfg, j);
    /*@ assert step: TpValues{Pre}(cfg, \at(lay->first_param, Pre), i + 1) ==
          n - \at(n, Pre) + Replica{Pre}(cfg, j); */
    /*@ assert most: TpValues{Pre}(cfg, \at(lay->first_param, Pre), i + 1) <=
          \at(TpValues(cfg, lay->first_param, lay->n_params), Pre); */
    if (cfg->params[j].sharded || !holds) continue;
    //@ assert is: Replica{Pre}(cfg, j) == 1;
    /*@ assert room: \at(n, Pre) <= n && n + 1 <= \at(n, Pre) +
          \at(TpValues(cfg, lay->first_param, lay->n_params), Pre); */
    n = zp_emit(ops, n, broadcast(cfg, ZP_GROUP_TP, -1, j, CLOCK_TP_VALUES, i));
  }
  return n;
}

/* First values over the reduction group. LEDG-5 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && StageLayout(cfg, lay);
    requires room: 0 <= n <= 2305843009213693952 &&
        \valid(ops + (n .. n + DpValues(cfg, lay->first_param, lay->n_params) - 1));
    requires apart: \separated(ops +
        (n .. n + DpValues(cfg, lay->first_param, lay->n_params) - 1), cfg, lay,
        cfg->params + (0 .. cfg->n_params - 1), lay->flat + (0 .. lay->n_flats - 1));
    requires clock: Clocked(ops, n, CLOCK_DP_VALUES, 0);
    terminates \true; exits \false;
    assigns ops[n .. n + DpValues(cfg, lay->first_param, lay->n_params) - 1];
    ensures length: \result == n + \old(DpValues(cfg, lay->first_param, lay->n_params));
    ensures clock: Clocked(ops, \result, CLOCK_INSTALL, 0);
    ensures ledger: \forall integer g, key, stepped; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, stepped) ==
          DpTrace{Pre}(LedgerOf{Pre}(ops, n, g, key, stepped), cfg, \at(cfg->precision, Pre),
            \at(lay->first_param, Pre), \at(lay->n_params, Pre), g); */
static int64_t put_dp_values(const zp_config *cfg, const zp_layout *lay, zp_op *ops, int64_t n)
{
  /*@ loop invariant range: 0 <= i <= \at(lay->n_params, Pre);
      loop invariant kept: Kept{Pre,Here}(cfg);
      loop invariant layout: KeptLayout{Pre,Here}(lay);
      loop invariant valid: Valid(cfg);
      loop invariant good: StageLayout(cfg, lay);
      loop invariant length: n == \at(n, Pre) + DpValues{Pre}(cfg, \at(lay->first_param, Pre), i);
      loop invariant clock: Clocked(ops, n, CLOCK_DP_VALUES, i);
      loop invariant ledger: \forall integer g, key, stepped; HasLedger(g) ==>
          LedgerOf(ops, n, g, key, stepped) ==
            DpTrace{Pre}(LedgerOf{Pre}(ops, \at(n, Pre), g, key, stepped), cfg,
              \at(cfg->precision, Pre), \at(lay->first_param, Pre), i, g);
      loop assigns i, n, ops[\at(n, Pre) .. \at(n, Pre) +
          \at(DpValues(cfg, lay->first_param, lay->n_params), Pre) - 1];
      loop variant \at(lay->n_params, Pre) - i; */
  for (int32_t i = 0; i < lay->n_params; i++) {
    const int32_t j = lay->first_param + i;
    const int32_t group = cfg->params[j].expert ? ZP_GROUP_EDP : ZP_GROUP_DP;
    const int32_t holds = zp_param_holds(cfg, j);
    //@ assert entry: j == \at(lay->first_param, Pre) + i && 0 <= j < cfg->n_params;
    //@ assert holds: Holds{Pre}(cfg, j) == Holds(cfg, j);
    /*@ assert step: DpValues{Pre}(cfg, \at(lay->first_param, Pre), i + 1) ==
          n - \at(n, Pre) + Holds{Pre}(cfg, j); */
    /*@ assert most: DpValues{Pre}(cfg, \at(lay->first_param, Pre), i + 1) <=
          \at(DpValues(cfg, lay->first_param, lay->n_params), Pre); */
    //@ assert held: \forall integer g; HeldIn{Pre}(cfg, j, g) == HeldIn(cfg, j, g);
    //@ assert numel: NumelAt{Pre}(cfg, j) == NumelAt(cfg, j);
    if (!holds) continue;
    /*@ assert room: \at(n, Pre) <= n && n + 1 <= \at(n, Pre) +
          \at(DpValues(cfg, lay->first_param, lay->n_params), Pre); */
    n = zp_emit(ops, n, broadcast(cfg, group, -1, j, CLOCK_DP_VALUES, i));
  }
  return n;
}

int64_t zp_put_init(const zp_config *cfg, const zp_layout *lay, zp_op *ops)
{
  zp_op install = zp_op_blank(ZP_OP_INSTALL, CLOCK_INSTALL, 0);
  int64_t n = put_creations(cfg, ops);
  install.what = ZP_WHAT_MASTER;
  n = put_tied_values(cfg, lay, ops, n);
  n = put_tp_values(cfg, lay, ops, n);
  n = put_dp_values(cfg, lay, ops, n);
  return zp_emit(ops, n, install);
}

int64_t zp_need_init(const zp_config *cfg, const zp_layout *lay)
{
  int64_t n = ZP_GROUP_TIED - ZP_GROUP_DP + cfg->tied_keys + 1;
  /*@ loop invariant range: 0 <= x <= cfg->tied_keys;
      loop invariant length: n == 6 + cfg->tied_keys + TiedValues(cfg, lay->stage, x);
      loop assigns x, n;
      loop variant cfg->tied_keys - x; */
  for (int32_t x = 0; x < cfg->tied_keys; x++)
    if (holder_of(cfg, lay, x) >= 0) n++;
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
