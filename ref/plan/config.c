/* spec: LIM-0 … LIM-9 */
#include "config.h"
#include "../../spec/acsl/bounds.h"

#include "../../spec/acsl/config_lemmas.h"

/* The product of two sizes: 0 <= a <= 2^40, 0 <= b <= 2^20. LIM-1, LIM-9 */
/*@ requires sizes: 0 <= a <= ZP_LIMIT_ELEMENTS && 0 <= b <= ZP_LIMIT_RANKS;
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures product: \result == a * b;
    ensures together: \result == Together(a, b);
    ensures range: 0 <= \result <= 1152921504606846976;
    ensures small: a <= 1048576 ==> \result <= ZP_LIMIT_ELEMENTS; */
static int64_t times(int64_t a, int64_t b)
{
  return a * b;
}

/* A refusal with ZP_FIELD_NONE if lo <= value <= hi, otherwise one that names this field. LIM-0 */
/*@ terminates \true;
    exits \false;
    assigns \nothing;
    ensures good: lo <= value <= hi ==> \result.field == ZP_FIELD_NONE;
    ensures bad: value < lo || hi < value ==> Refusal(\result, field, index, value, lo, hi); */
static zp_refusal within(int32_t field, int32_t index, int64_t value, int64_t lo, int64_t hi)
{
  const int good = lo <= value && value <= hi;
  const zp_refusal r = {good ? ZP_FIELD_NONE : field, index, value, lo, hi};
  return r;
}

/* Checks the sizes of the topology; c is readable. LIM-1, LIM-2 */
/*@ requires cfg: \valid_read(c);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures iff: \result.field == ZP_FIELD_NONE <==> ValidTopology(c->pp, c->dp, c->tp, c->ep);
    ensures reported: \result.field != ZP_FIELD_NONE ==> ReportedTopology(c, \result); */
static zp_refusal check_topology(const zp_config *c)
{
  const int64_t most = ZP_MAX_RANKS;
  zp_refusal r = within(ZP_FIELD_PP, -1, c->pp, 1, most);
  if (r.field) return r;
  r = within(ZP_FIELD_DP, -1, c->dp, 1, most);
  if (r.field) return r;
  r = within(ZP_FIELD_TP, -1, c->tp, 1, most);
  if (r.field) return r;
  r = within(ZP_FIELD_RANKS, -1, times(times(c->pp, c->dp), c->tp), 1, most);
  if (r.field) return r;
  r = within(ZP_FIELD_EP, -1, c->ep, 1, c->dp);
  if (r.field) return r;
  const zp_refusal divides = {ZP_FIELD_EP, -1, c->ep, 1, c->dp};
  return c->dp % c->ep != 0 ? divides : r;
}

/* Checks the switches and counts; c is readable. LIM-3, LIM-4, LIM-7 */
/*@ requires cfg: \valid_read(c);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures iff: \result.field == ZP_FIELD_NONE <==> ValidSwitches(c);
    ensures reported: \result.field != ZP_FIELD_NONE ==> ReportedSwitches(c, \result); */
static zp_refusal check_switches(const zp_config *c)
{
  zp_refusal r = within(ZP_FIELD_STAGE, -1, c->stage, 0, 2);
  if (r.field) return r;
  r = within(ZP_FIELD_REDUCE, -1, c->reduce, ZP_ORDERED, ZP_EXACT);
  if (r.field) return r;
  r = within(ZP_FIELD_PRECISION, -1, c->precision, ZP_F32, ZP_F16);
  if (r.field) return r;
  r = within(ZP_FIELD_DYNAMIC_SHAPES, -1, c->dynamic_shapes, 0, 1);
  if (r.field) return r;
  r = within(ZP_FIELD_OPTGROUPS, -1, c->optgroups, 1, ZP_MAX_GROUPS);
  if (r.field) return r;
  r = within(ZP_FIELD_TIED_KEYS, -1, c->tied_keys, 0, ZP_MAX_TIED);
  if (r.field) return r;
  return within(ZP_FIELD_N_PARAMS, -1, c->n_params, 0, ZP_MAX_PARAMS);
}

/* Checks micro-batches, bucket and alignment; c is readable, dp in range. LIM-5, LIM-6 */
/*@ requires cfg: \valid_read(c);
    requires dp: 1 <= c->dp <= ZP_LIMIT_RANKS;
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures iff: \result.field == ZP_FIELD_NONE <==> ValidAmounts(c);
    ensures reported: \result.field != ZP_FIELD_NONE ==> ReportedAmounts(c, \result); */
static zp_refusal check_amounts(const zp_config *c)
{
  zp_refusal r = within(ZP_FIELD_MICRO_BATCHES, -1, c->micro_batches, 1, ZP_MAX_MICRO_BATCHES);
  if (r.field) return r;
  r = within(ZP_FIELD_CONTRIBUTIONS, -1, times(c->dp, c->micro_batches), 1, ZP_MAX_CONTRIBUTIONS);
  if (r.field) return r;
  r = within(ZP_FIELD_BUCKET, -1, c->bucket, 1, ZP_MAX_BUCKET);
  if (r.field) return r;
  return within(ZP_FIELD_ALIGN, -1, c->align, 1, ZP_MAX_ALIGN);
}

/* The nearest entry before j with the same tied key, or -1. The entries 0 … j are readable.
 * LIM-8 */
/*@ requires cfg: \valid_read(c);
    requires list: 0 <= j && \valid_read(c->params + (0 .. j));
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures earlier: -1 <= \result < j;
    ensures use: 0 <= \result ==> c->params[\result].tied == c->params[j].tied;
    ensures nearest: \forall integer i; \result < i < j ==>
        c->params[i].tied != c->params[j].tied; */
static int32_t earlier_use(const zp_config *c, int32_t j)
{
  /*@ loop invariant range: -1 <= i < j;
      loop invariant none: \forall integer k; i < k < j ==> c->params[k].tied != c->params[j].tied;
      loop assigns i;
      loop variant i; */
  for (int32_t i = j - 1; i >= 0; i--)
    if (c->params[i].tied == c->params[j].tied) return i;
  return -1;
}

/* Checks that entry j agrees with the earlier entry i, which has the same tied key. The entries
 * 0 … j are readable. LIM-8 */
/*@ requires cfg: \valid_read(c);
    requires list: 0 <= i < j && \valid_read(c->params + (0 .. j));
    requires same: c->params[i].tied == c->params[j].tied;
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures iff: \result.field == ZP_FIELD_NONE <==> SameTied(c, i, j);
    ensures reported: \result.field != ZP_FIELD_NONE ==> ReportedTied(c, i, j, \result); */
static zp_refusal check_pair(const zp_config *c, int32_t i, int32_t j)
{
  const zp_param *p = &c->params[j], *q = &c->params[i];
  zp_refusal r = within(ZP_FIELD_TIED_NUMEL, j, p->numel, q->numel, q->numel);
  if (r.field) return r;
  r = within(ZP_FIELD_TIED_SHARDED, j, p->sharded, q->sharded, q->sharded);
  if (r.field) return r;
  r = within(ZP_FIELD_TIED_OPTGROUP, j, p->optgroup, q->optgroup, q->optgroup);
  if (r.field) return r;
  r = within(ZP_FIELD_TIED_FROZEN, j, p->frozen, q->frozen, q->frozen);
  if (r.field) return r;
  return within(ZP_FIELD_TIED_FP32, j, p->fp32, q->fp32, q->fp32);
}

/* Checks that entry j, which has a tied key, is not an expert and agrees with all earlier uses of
 * the key. The entries 0 … j are readable. Those before j agree, so comparing with the nearest
 * suffices. LIM-8 */
/*@ requires cfg: \valid_read(c);
    requires list: 0 <= j && \valid_read(c->params + (0 .. j));
    requires tied: 0 <= c->params[j].tied;
    requires before: AllAgree(c, j);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures agree: \result.field == ZP_FIELD_NONE ==> AllAgree(c, j + 1);
    ensures differ: AllAgree(c, j + 1) ==> \result.field == ZP_FIELD_NONE;
    ensures reported: \result.field != ZP_FIELD_NONE ==> ReportedEntry(c, j, \result); */
static zp_refusal check_tied(const zp_config *c, int32_t j)
{
  const int32_t i = earlier_use(c, j);
  zp_refusal r = within(ZP_FIELD_EXPERT, j, c->params[j].expert, 0, 0);
  if (r.field || i < 0) return r;
  r = check_pair(c, i, j);
  //@ assert nearest: r.field == ZP_FIELD_NONE ==> TiedAgree(c, i, j);
  //@ assert later: \forall integer k; i < k < j ==> TiedAgree(c, k, j);
  //@ assert before: \forall integer k; 0 <= k < i ==> TiedAgree(c, k, i);
  /*@ assert earlier: r.field == ZP_FIELD_NONE ==>
        \forall integer k; 0 <= k < i ==> TiedAgree(c, k, j); */
  return r;
}

/* Checks the fields of entry j. The entries 0 … j are readable; pp and the switches are valid.
 * LIM-7 */
/*@ requires cfg: \valid_read(c) && ValidSwitches(c) && 1 <= c->pp;
    requires list: 0 <= j && \valid_read(c->params + (0 .. j));
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures iff: \result.field == ZP_FIELD_NONE <==> ValidEntry(c, j);
    ensures reported: \result.field != ZP_FIELD_NONE ==> ReportedEntry(c, j, \result); */
static zp_refusal check_entry(const zp_config *c, int32_t j)
{
  const zp_param *p = &c->params[j];
  const int32_t least = j == 0 ? 0 : c->params[j - 1].stage;
  zp_refusal r = within(ZP_FIELD_NUMEL, j, p->numel, 0, ZP_MAX_ELEMENTS);
  if (r.field) return r;
  r = within(ZP_FIELD_PARAM_STAGE, j, p->stage, least, c->pp - 1);
  if (r.field) return r;
  r = within(ZP_FIELD_OPTGROUP, j, p->optgroup, 0, c->optgroups - 1);
  if (r.field) return r;
  r = within(ZP_FIELD_TIED, j, p->tied, -1, c->tied_keys - 1);
  if (r.field) return r;
  r = within(ZP_FIELD_SHARDED, j, p->sharded, 0, 1);
  if (r.field) return r;
  r = within(ZP_FIELD_EXPERT, j, p->expert, 0, 1);
  if (r.field) return r;
  r = within(ZP_FIELD_FROZEN, j, p->frozen, 0, 1);
  if (r.field) return r;
  return within(ZP_FIELD_FP32, j, p->fp32, 0, 1);
}

/* The number of ranks of a model replica that hold different elements of entry j: at most tp·ep <=
 * tp·dp <= 2^20. The entry is readable and valid, and the sizes are valid. LIM-9 */
/*@ requires cfg: \valid_read(c) && ValidTopology(c->pp, c->dp, c->tp, c->ep);
    requires list: 0 <= j && \valid_read(c->params + (0 .. j)) && ValidEntry(c, j);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures copies: \result == Copies(c->params[j].sharded, c->params[j].expert, c->tp, c->ep);
    ensures range: 1 <= \result <= ZP_LIMIT_RANKS; */
static int64_t copies(const zp_config *c, int32_t j)
{
  if (!c->params[j].sharded) return c->params[j].expert ? c->ep : 1;
  return c->params[j].expert ? times(c->tp, c->ep) : c->tp;
}

/* The total number of elements that these ranks hold. The entry is readable and valid, and the
 * sizes are valid. LIM-9 */
/*@ requires cfg: \valid_read(c) && ValidTopology(c->pp, c->dp, c->tp, c->ep);
    requires list: 0 <= j && \valid_read(c->params + (0 .. j)) && ValidEntry(c, j);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures held: \result == HeldElements(c, j);
    ensures range: 0 <= \result <= 1152921504606846976; */
static int64_t held(const zp_config *c, int32_t j)
{
  return times(c->params[j].numel, copies(c, j));
}

/* Checks the parameter list. The sizes and switches are valid, the list is readable. LIM-4,
 * LIM-7 … LIM-9 */
/*@ requires cfg: Readable(c) && ValidTopology(c->pp, c->dp, c->tp, c->ep) && ValidSwitches(c);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures iff: \result.field == ZP_FIELD_NONE <==> ValidList(c);
    ensures reported: \result.field != ZP_FIELD_NONE ==> ReportedList(c, \result); */
static zp_refusal check_list(const zp_config *c)
{
  zp_refusal r = {ZP_FIELD_NONE, -1, 0, 0, 0};
  int64_t elements = 0, tied = 0;
  /*@ loop invariant range: 0 <= j <= c->n_params;
      loop invariant entries: \forall integer k; 0 <= k < j ==> ValidEntry(c, k);
      loop invariant agree: AllAgree(c, j);
      loop invariant elements: elements == Elements(c, j);
      loop invariant limit: 0 <= elements <= ZP_LIMIT_ELEMENTS;
      loop invariant tied: tied == TiedEntries(c, j);
      loop invariant few: 0 <= tied <= ZP_LIMIT_TIED;
      loop invariant none: r.field == ZP_FIELD_NONE;
      loop assigns j, elements, tied, r;
      loop variant c->n_params - j; */
  for (int32_t j = 0; j < c->n_params; j++) {
    r = check_entry(c, j);
    //@ assert entry: r.field != ZP_FIELD_NONE ==> !ValidList(c);
    if (r.field) return r;
    if (c->params[j].tied >= 0) {
      r = check_tied(c, j);
      //@ assert tied: r.field != ZP_FIELD_NONE ==> !AllAgree(c, j + 1) && !ValidList(c);
      if (r.field) return r;
      tied++;
    }
    elements += held(c, j);
    /*@ assert entries: tied == TiedEntries(c, j + 1) &&
          TiedEntries(c, j + 1) <= TiedEntries(c, c->n_params); */
    //@ assert together: elements == Elements(c, j + 1);
    r = within(ZP_FIELD_TIED_ENTRIES, j, tied, 0, ZP_MAX_TIED);
    if (r.field) return r;
    r = within(ZP_FIELD_ELEMENTS, j, elements, 0, ZP_MAX_ELEMENTS);
    //@ assert more: ValidList(c) ==> Elements(c, j + 1) <= Elements(c, c->n_params);
    //@ assert elements: r.field != ZP_FIELD_NONE ==> !ValidList(c);
    if (r.field) return r;
  }
  return r;
}

/* The first reason to refuse a configuration. The configuration is readable; its list is readable
 * if its length is allowed. LIM-0 */
/*@ requires cfg: \valid_read(c);
    requires list: 0 < c->n_params <= ZP_LIMIT_ENTRIES ==>
        \valid_read(c->params + (0 .. c->n_params - 1));
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures iff: \result.field == ZP_FIELD_NONE <==> Valid(c);
    ensures reported: \result.field != ZP_FIELD_NONE ==> Reported(c, \result); */
static zp_refusal check_all(const zp_config *c)
{
  zp_refusal r = check_topology(c);
  if (r.field) return r;
  r = check_switches(c);
  if (r.field) return r;
  r = check_amounts(c);
  return r.field ? r : check_list(c);
}

int32_t zp_dtype_of(int32_t fp32, int32_t precision)
{
  return fp32 ? ZP_F32 : precision;
}

int32_t zp_entry_dtype(const zp_config *cfg, int32_t j)
{
  return zp_dtype_of(cfg->params[j].fp32, cfg->precision);
}

int zp_config_check(const zp_config *c, zp_refusal *why)
{
  const zp_refusal r = check_all(c), none = {ZP_FIELD_NONE, -1, 0, 0, 0};
  *why = r.field ? r : none;
  //@ assert stages: c->pp == \at(c->pp, Pre);
  //@ assert ranks: c->dp == \at(c->dp, Pre);
  //@ assert shards: c->tp == \at(c->tp, Pre) && c->ep == \at(c->ep, Pre);
  //@ assert list: c->params == \at(c->params, Pre) && c->n_params == \at(c->n_params, Pre);
  //@ assert micro: c->micro_batches == \at(c->micro_batches, Pre);
  //@ assert bucket: c->bucket == \at(c->bucket, Pre);
  //@ assert align: c->align == \at(c->align, Pre);
  /*@ assert switches: c->stage == \at(c->stage, Pre) && c->reduce == \at(c->reduce, Pre) &&
        c->precision == \at(c->precision, Pre) &&
        c->dynamic_shapes == \at(c->dynamic_shapes, Pre); */
  /*@ assert counts: c->optgroups == \at(c->optgroups, Pre) &&
        c->tied_keys == \at(c->tied_keys, Pre); */
  //@ assert scalars: SameScalars{Pre,Here}(c);
  //@ assert size: r.field == ZP_FIELD_NONE ==> c->n_params <= ZP_LIMIT_ENTRIES;
  /*@ assert sizes: r.field == ZP_FIELD_NONE ==>
        \forall integer j; 0 <= j < c->n_params ==>
          c->params[j].numel == \at(c->params[j].numel, Pre) &&
          c->params[j].stage == \at(c->params[j].stage, Pre) &&
          c->params[j].optgroup == \at(c->params[j].optgroup, Pre) &&
          c->params[j].tied == \at(c->params[j].tied, Pre); */
  /*@ assert kinds: r.field == ZP_FIELD_NONE ==>
        \forall integer j; 0 <= j < c->n_params ==>
          c->params[j].sharded == \at(c->params[j].sharded, Pre) &&
          c->params[j].expert == \at(c->params[j].expert, Pre) &&
          c->params[j].frozen == \at(c->params[j].frozen, Pre) &&
          c->params[j].fp32 == \at(c->params[j].fp32, Pre); */
  /*@ assert entries: r.field == ZP_FIELD_NONE ==>
        \forall integer j; 0 <= j < c->n_params ==> SameEntry{Pre,Here}(c, j); */
  //@ assert same: r.field == ZP_FIELD_NONE ==> SameConfig{Pre,Here}(c);
  return r.field ? -1 : 0;
}
