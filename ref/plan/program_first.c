/* Broadcasts of an entry's first values. spec: LEDG-5, TIE-2 */
#include "../../spec/acsl/bounds.h"
#include "program_internal.h"

#include "../../spec/acsl/op_is_lemmas.h"

#include "../../spec/acsl/op_init_lemmas.h"

#include "../../spec/acsl/holder_lemmas.h"

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
  //@ assert above: i < cfg->n_params ==> Ascend(cfg, j, i) && stage < cfg->params[i].stage;
  /*@ assert later: \forall integer h; i <= h < cfg->n_params ==>
        Ascend(cfg, i, h) && stage < cfg->params[h].stage; */
  //@ assert none: \forall integer h; 0 <= h < cfg->n_params ==> LaterUse(cfg, j, h) == 0;
  return 1;
}

int32_t zp_holder_of(const zp_config *cfg, const zp_layout *lay, int32_t key)
{
  /*@ loop invariant range: -1 <= i < lay->n_params;
      loop invariant none: \forall integer j; lay->first_param + i < j < lay->first_param +
          lay->n_params ==> cfg->params[j].tied != key;
      loop assigns i;
      loop variant i + 1; */
  for (int32_t i = lay->n_params - 1; i >= 0; i--) {
    const int32_t j = lay->first_param + i;
    //@ assert here: cfg->params[j].stage == lay->stage;
    /*@ assert last: cfg->params[j].tied == key ==>
          LastWithKey(cfg, lay->first_param, lay->n_params, key, lay->first_param + i); */
    if (cfg->params[j].tied == key) return i;
  }
  /*@ assert none: \forall integer j; 0 <= j < cfg->n_params ==>
        !(cfg->params[j].tied == key && cfg->params[j].stage == lay->stage); */
  return -1;
}

/* Broadcasts the first values of entry i of the stage from member 0 of `group`, a group with a
 * ledger. LEDG-5 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && StageLayout(cfg, lay);
    requires entry: 0 <= i < lay->n_params;
    requires room: 0 <= n <= 2305843009213693952 && \valid(ops + n);
    requires apart: Apart(ops, n, 1, cfg, cfg->params, cfg->n_params, lay, lay->flat, lay->n_flats);
    requires clock: 0 <= clock_i <= ZP_LIMIT_ENTRIES && Clocked(ops, n, clock_t, clock_i);
    requires group: HasLedger(group);
    terminates \true; exits \false;
    assigns ops[n];
    ensures kept: Kept{Pre,Post}(cfg);
    ensures stage: KeptStage{Pre,Post}(lay);
    ensures flats: KeptFlats{Pre,Post}(lay);
    ensures length: \result == n + 1;
    ensures op: IsFirst{Pre,Post}(ops + n, group, key, cfg, \at(lay->first_param, Pre) + i, clock_t,
        clock_i);
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures clock: Clocked(ops, n + 1, clock_t, clock_i + 1);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures ledger: \forall integer g, k, stepped; HasLedger(g) ==>
        LedgerOf(ops, n + 1, g, k, stepped) ==
          (g == group && (g != ZP_GROUP_TIED || k == key) ?
            First(LedgerOf{Pre}(ops, n, g, k, stepped), key,
              NumelAt{Pre}(cfg, \at(lay->first_param, Pre) + i),
              DtypeOf(Fp32At{Pre}(cfg, \at(lay->first_param, Pre) + i), \at(cfg->precision, Pre)),
              clock_t, clock_i) :
            LedgerOf{Pre}(ops, n, g, k, stepped)); */
static int64_t put_value(const zp_config *cfg, const zp_layout *lay, int32_t group, int32_t key,
                         int32_t i, int64_t clock_t, int64_t clock_i, zp_op *ops, int64_t n)
{
  const int32_t j = lay->first_param + i;
  zp_op op = zp_op_blank(ZP_OP_BROADCAST, clock_t, clock_i);
  op.what = ZP_WHAT_PARAMETER;
  op.group = group;
  op.key = key;
  op.param = j;
  op.root = 0;
  op.dtype = zp_dtype_of(cfg->params[j].fp32, cfg->precision);
  op.count = cfg->params[j].numel;
  /*@ assert clear: Clear(ops + n, 1, cfg, cfg->params, cfg->n_params, lay, lay->flat,
        lay->n_flats); */
  //@ assert clear_config: ClearOfConfig(ops + n, 1, cfg);
  //@ assert clear_entries: ClearOfEntries(ops + n, 1, cfg->params, cfg->n_params);
  //@ assert clear_layout: ClearOfLayout(ops + n, 1, lay);
  //@ assert clear_flats: ClearOfFlats(ops + n, 1, lay->flat, lay->n_flats);
  n = zp_emit(ops, n, op);
  //@ assert scalars: SameScalars{Pre,Here}(cfg);
  //@ assert entries: KeptEntries{Pre,Here}(cfg);
  return n;
}

int64_t zp_put_tied_value(const zp_config *cfg, const zp_layout *lay, int32_t x, zp_op *ops,
                          int64_t n)
{
  const int32_t i = zp_holder_of(cfg, lay, x);
  if (i < 0) return n;
  //@ assert last: LastWithKey(cfg, lay->first_param, lay->n_params, x, lay->first_param + i);
  //@ assert is: IsKey(cfg, lay->first_param + i, x) == 1;
  /*@ assert same: \forall integer h; 0 <= h < cfg->n_params ==>
        IsKey(cfg, h, x) == 0 || NumelAt(cfg, h) == NumelAt(cfg, lay->first_param + i); */
  //@ assert numel: NumelAt(cfg, lay->first_param + i) == KeyNumel(cfg, cfg->n_params, x);
  /*@ assert same_dtype: \forall integer h; 0 <= h < cfg->n_params ==>
        IsKey(cfg, h, x) == 0 || Fp32At(cfg, h) == Fp32At(cfg, lay->first_param + i); */
  //@ assert dtype: Fp32At(cfg, lay->first_param + i) == KeyFp32(cfg, cfg->n_params, x);
  return put_value(cfg, lay, ZP_GROUP_TIED, x, i, ZP_CLOCK_TIED_VALUES, x, ops, n);
}

int64_t zp_put_tp_value(const zp_config *cfg, const zp_layout *lay, int32_t i, zp_op *ops,
                        int64_t n)
{
  const int32_t j = lay->first_param + i;
  const int32_t holds = zp_param_holds(cfg, j);
  //@ assert replica: Replica(cfg, j) == (cfg->params[j].sharded == 0 && holds == 1 ? 1 : 0);
  if (cfg->params[j].sharded || !holds) return n;
  return put_value(cfg, lay, ZP_GROUP_TP, -1, i, ZP_CLOCK_TP_VALUES, i, ops, n);
}

int64_t zp_put_dp_value(const zp_config *cfg, const zp_layout *lay, int32_t i, zp_op *ops,
                        int64_t n)
{
  const int32_t j = lay->first_param + i;
  const int32_t group = cfg->params[j].expert ? ZP_GROUP_EDP : ZP_GROUP_DP;
  if (!zp_param_holds(cfg, j)) return n;
  return put_value(cfg, lay, group, -1, i, ZP_CLOCK_DP_VALUES, i, ops, n);
}
