/* The slots of the STEP program: exchanges, forwards, backwards.
 * spec: STEP-2, STEP-3, PIPE-1 … PIPE-6 */
#include "step_internal.h"

#include "../../spec/acsl/step_lemmas.h"

/* Inside a slot; the entries' clocks are in program_entry.c. PIPE-5 */
enum { CLOCK_META = 0, CLOCK_P2P = 1, CLOCK_LOAD = 2, CLOCK_COMPUTE = 3, CLOCK_ARRIVED = 4 };

/* The exchange's op, nothing sent or received yet: with the next stage in a backward slot, with the
 * previous one in a forward slot. s is 0..2^20-1. PIPE-3 */
/*@ requires stage: 0 <= s < 1048576;
    terminates \true; exits \false;
    assigns \nothing;
    ensures kind: \result.kind == kind && \result.dtype == dtype && \result.count == 0;
    ensures with: \result.group == ZP_GROUP_PP &&
        \result.root == (backward != 0 ? s + 1 : s - 1) &&
        \result.what == (backward != 0 ? ZP_WHAT_ACTIVATION : ZP_WHAT_ACTIVATION_GRADIENT);
    ensures mbs: \result.mb == send && \result.recv_mb == recv;
    ensures clock: \result.clock_t == t && \result.clock_i == clock_i;
    ensures link: \forall trace tr, integer peer; Link(tr, \result, peer) ==
        HopTrace(tr, s, backward, peer, kind, dtype, send, recv, t, clock_i); */
static zp_op hop_op(int32_t kind, int32_t dtype, int32_t s, int32_t backward, int64_t send,
                    int64_t recv, int64_t t, int64_t clock_i)
{
  zp_op op = zp_op_blank(kind, t, clock_i);
  op.what = backward ? ZP_WHAT_ACTIVATION : ZP_WHAT_ACTIVATION_GRADIENT;
  op.group = ZP_GROUP_PP;
  op.root = backward ? s + 1 : s - 1;
  op.dtype = dtype;
  op.mb = send;
  op.recv_mb = recv;
  return op;
}

/* Appends an exchange, which takes no part in ledgers and reductions. s is 0..2^20-1; ops has room
 * for one more, behind the clocks so far. PIPE-3 */
/*@ requires stage: 0 <= s < 1048576;
    requires kind: kind == ZP_OP_META || kind == ZP_OP_P2P;
    requires room: 0 <= n < 9223372036854775807 && \valid(ops + n);
    requires clock: Clocked(ops, n, t, clock_i);
    terminates \true; exits \false;
    assigns ops[n];
    ensures length: \result == n + 1;
    ensures clock: Clocked(ops, \result, t, clock_i + 1);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == LedgerOf{Pre}(ops, n, g, key, d);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) ==
        HopTrace(LinkOf{Pre}(ops, n, peer), s, backward, peer, kind, dtype, send, recv, t, clock_i);
    ensures added: \forall integer p, m, e, k, c;
        Added(ops, \result, p, m, e, k, c) == Added{Pre}(ops, n, p, m, e, k, c);
    ensures reductions: \forall integer k, c, m;
        Reduced(ops, \result, k, c, m) == Reduced{Pre}(ops, n, k, c, m); */
static int64_t put_hop(int32_t kind, int32_t dtype, int32_t s, int32_t backward, int64_t send,
                       int64_t recv, int64_t t, int64_t clock_i, zp_op *ops, int64_t n)
{
  return zp_emit(ops, n, hop_op(kind, dtype, s, backward, send, recv, t, clock_i));
}

/* Appends the meta message before an activation, if there is one and shapes are dynamic. PIPE-6 */
/*@ requires stage: 0 <= s < 1048576;
    requires room: 0 <= n && n + MetaLen(dynamic, a.backward, a.send_mb, a.recv_mb)
        <= 9223372036854775807 && \valid(ops + (n .. n +
          MetaLen(dynamic, a.backward, a.send_mb, a.recv_mb) - 1));
    requires clock: Clocked(ops, n, t, CLOCK_META);
    terminates \true; exits \false;
    assigns ops[n .. n + MetaLen(dynamic, a.backward, a.send_mb, a.recv_mb) - 1];
    ensures length: \result == n + MetaLen(dynamic, a.backward, a.send_mb, a.recv_mb);
    ensures clock: Clocked(ops, \result, t, CLOCK_P2P);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == LedgerOf{Pre}(ops, n, g, key, d);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) ==
        MetaTrace(LinkOf{Pre}(ops, n, peer), s, peer, dynamic, a.backward, a.send_mb, a.recv_mb,
          t);
    ensures added: \forall integer p, m, e, k, c;
        Added(ops, \result, p, m, e, k, c) == Added{Pre}(ops, n, p, m, e, k, c);
    ensures reductions: \forall integer k, c, m;
        Reduced(ops, \result, k, c, m) == Reduced{Pre}(ops, n, k, c, m); */
static int64_t put_meta(int32_t dynamic, int32_t s, zp_slot a, int64_t t, zp_op *ops, int64_t n)
{
  if (!dynamic) return n;
  if (a.backward && a.send_mb >= 0)
    return put_hop(ZP_OP_META, ZP_I64, s, 1, a.send_mb, -1, t, CLOCK_META, ops, n);
  if (!a.backward && a.recv_mb >= 0)
    return put_hop(ZP_OP_META, ZP_I64, s, 0, -1, a.recv_mb, t, CLOCK_META, ops, n);
  return n;
}

/* Ops before the compute of slot t of stage s: meta and grouped exchange with the slot's one
 * neighbour. s is 0..2^20-1; ops has room for them, behind the clocks so far. PIPE-3, PIPE-6 */
/*@ requires stage: 0 <= s < 1048576;
    requires room: 0 <= n && n + ExchangeLen(dynamic, a.backward, a.send_mb, a.recv_mb)
        <= 9223372036854775807 && \valid(ops + (n .. n +
          ExchangeLen(dynamic, a.backward, a.send_mb, a.recv_mb) - 1));
    requires clock: Clocked(ops, n, t, CLOCK_META);
    terminates \true; exits \false;
    assigns ops[n .. n + ExchangeLen(dynamic, a.backward, a.send_mb, a.recv_mb) - 1];
    ensures length: \result == n + ExchangeLen(dynamic, a.backward, a.send_mb, a.recv_mb);
    ensures clock: Clocked(ops, \result, t, CLOCK_LOAD);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == LedgerOf{Pre}(ops, n, g, key, d);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) ==
        ExchangeTrace(LinkOf{Pre}(ops, n, peer), s, peer, dynamic, a.backward, a.send_mb,
          a.recv_mb, t);
    ensures added: \forall integer p, m, e, k, c;
        Added(ops, \result, p, m, e, k, c) == Added{Pre}(ops, n, p, m, e, k, c);
    ensures reductions: \forall integer k, c, m;
        Reduced(ops, \result, k, c, m) == Reduced{Pre}(ops, n, k, c, m); */
static int64_t put_exchange(int32_t dynamic, int32_t s, zp_slot a, int64_t t, zp_op *ops, int64_t n)
{
  if (a.send_mb < 0 && a.recv_mb < 0) return n;
  const int64_t meta = put_meta(dynamic, s, a, t, ops, n);
  return put_hop(ZP_OP_P2P, -1, s, a.backward, a.send_mb, a.recv_mb, t, CLOCK_P2P, ops, meta);
}

/* Appends a local op of micro-batch mb in slot t: LOAD, FORWARD, BACKWARD or ARRIVED. ops has
 * room for one more, behind the clocks so far. PIPE-2 */
/*@ requires kind: kind < ZP_OP_ADD;
    requires room: 0 <= n < 9223372036854775807 && \valid(ops + n);
    requires clock: Clocked(ops, n, t, clock_i);
    terminates \true; exits \false;
    assigns ops[n];
    ensures length: \result == n + 1;
    ensures op: ops[n].kind == kind && ops[n].mb == mb && ops[n].slot == slot &&
        ops[n].clock_t == t && ops[n].clock_i == clock_i;
    ensures clock: Clocked(ops, \result, t, clock_i + 1);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == LedgerOf{Pre}(ops, n, g, key, d);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures added: \forall integer p, m, e, k, c;
        Added(ops, \result, p, m, e, k, c) == Added{Pre}(ops, n, p, m, e, k, c);
    ensures reductions: \forall integer k, c, m;
        Reduced(ops, \result, k, c, m) == Reduced{Pre}(ops, n, k, c, m); */
static int64_t put_local(int32_t kind, int64_t mb, int32_t slot, int64_t t, int64_t clock_i,
                         zp_op *ops, int64_t n)
{
  zp_op op = zp_op_blank(kind, t, clock_i);
  op.mb = mb;
  op.slot = slot;
  return zp_emit(ops, n, op);
}

/* The place of micro-batch mb's activation on stage s. S and M are 1..2^20, s is 0..S-1. PIPE-4 */
/*@ requires sizes: 1 <= S <= 1048576 && 1 <= M <= 1048576;
    requires stage: 0 <= s < S;
    requires mb: 0 <= mb < M;
    terminates \true; exits \false;
    assigns \nothing;
    ensures place: \result == mb % Places(S, M, s);
    ensures range: 0 <= \result < Places(S, M, s); */
static int32_t place_of(int64_t S, int64_t M, int64_t s, int64_t mb)
{
  return (int32_t)(mb % zp_alive(S, M, s));
}

/* Appends the load of micro-batch mb where stage s needs its data. PIPE-2 */
/*@ requires bit: loads == 0 || loads == 1;
    requires room: 0 <= n && n + loads <= 9223372036854775807 &&
        \valid(ops + (n .. n + loads - 1));
    requires clock: Clocked(ops, n, t, CLOCK_LOAD);
    terminates \true; exits \false;
    assigns ops[n .. n + loads - 1];
    ensures length: \result == n + loads;
    ensures clock: Clocked(ops, \result, t, CLOCK_COMPUTE);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == LedgerOf{Pre}(ops, n, g, key, d);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures added: \forall integer p, m, e, k, c;
        Added(ops, \result, p, m, e, k, c) == Added{Pre}(ops, n, p, m, e, k, c);
    ensures reductions: \forall integer k, c, m;
        Reduced(ops, \result, k, c, m) == Reduced{Pre}(ops, n, k, c, m); */
static int64_t put_load(int32_t loads, int64_t mb, int64_t t, zp_op *ops, int64_t n)
{
  if (!loads) return n;
  return put_local(ZP_OP_LOAD, mb, -1, t, CLOCK_LOAD, ops, n);
}

/* The forward of a slot. PIPE-2 */
/*@ requires bit: loads == 0 || loads == 1;
    requires room: 0 <= n && n + loads + 1 <= 9223372036854775807 &&
        \valid(ops + (n .. n + loads));
    requires clock: Clocked(ops, n, t, CLOCK_LOAD);
    terminates \true; exits \false;
    assigns ops[n .. n + loads];
    ensures length: \result == n + loads + 1;
    ensures clock: Clocked(ops, \result, t, CLOCK_ARRIVED);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == LedgerOf{Pre}(ops, n, g, key, d);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures added: \forall integer p, m, e, k, c;
        Added(ops, \result, p, m, e, k, c) == Added{Pre}(ops, n, p, m, e, k, c);
    ensures reductions: \forall integer k, c, m;
        Reduced(ops, \result, k, c, m) == Reduced{Pre}(ops, n, k, c, m); */
static int64_t put_forward(int32_t loads, int64_t mb, int32_t place, int64_t t, zp_op *ops,
                           int64_t n)
{
  const int64_t loaded = put_load(loads, mb, t, ops, n);
  return put_local(ZP_OP_FORWARD, mb, place, t, CLOCK_COMPUTE, ops, loaded);
}

/* The backward of a slot, and the gradients that arrive without an op of their own. STEP-3 */
/*@ requires room: 0 <= n <= 9223372036854775805 && \valid(ops + (n .. n + 1));
    requires clock: Clocked(ops, n, t, CLOCK_COMPUTE);
    terminates \true; exits \false;
    assigns ops[n .. n + 1];
    ensures length: \result == n + 2;
    ensures clock: Clocked(ops, \result, t, CLOCK_ARRIVED + 1);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == LedgerOf{Pre}(ops, n, g, key, d);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures added: \forall integer p, m, e, k, c;
        Added(ops, \result, p, m, e, k, c) == Added{Pre}(ops, n, p, m, e, k, c);
    ensures reductions: \forall integer k, c, m;
        Reduced(ops, \result, k, c, m) == Reduced{Pre}(ops, n, k, c, m); */
static int64_t put_arrived(int64_t mb, int32_t place, int64_t t, zp_op *ops, int64_t n)
{
  const int64_t after = put_local(ZP_OP_BACKWARD, mb, place, t, CLOCK_COMPUTE, ops, n);
  return put_local(ZP_OP_ARRIVED, mb, -1, t, CLOCK_ARRIVED, ops, after);
}

/* The gradients of the stage's entries, in backward order, of micro-batch mb in slot t. lay must be
 * the layout of its stage; ops has room for their ops, behind the clocks so far, and apart from
 * configuration and layout. RED-3 */
/*@ requires config: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && StageSeen(cfg, lay);
    requires mb: 0 <= mb < cfg->micro_batches;
    requires room: 0 <= n && n + BackLen(cfg, lay->stage, ReducesOn(cfg, mb), lay->n_params)
        <= 9223372036854775807 && \valid(ops + (n .. n +
          BackLen(cfg, lay->stage, ReducesOn(cfg, mb), lay->n_params) - 1));
    requires apart: \separated(ops + (n .. n +
          BackLen(cfg, lay->stage, ReducesOn(cfg, mb), lay->n_params) - 1), cfg, lay,
        cfg->params + (0 .. cfg->n_params - 1), lay->flat + (0 .. lay->n_flats - 1),
        lay->spot + (0 .. lay->n_params - 1));
    requires clock: Clocked(ops, n, t, 4398046511104);
    terminates \true; exits \false;
    assigns ops[n .. n + BackLen(cfg, lay->stage, ReducesOn(cfg, mb), lay->n_params) - 1];
    ensures length: \result == n +
        BackLen{Pre}(cfg, \old(lay->stage), ReducesOn{Pre}(cfg, mb), \old(lay->n_params));
    ensures clock: Clocked(ops, \result, t, (\old(lay->n_params) + 1) * 4398046511104);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == (ReducesOn{Pre}(cfg, mb) == 0 ?
          LedgerOf{Pre}(ops, n, g, key, d) :
          BackTrace{Pre}(LedgerOf{Pre}(ops, n, g, key, d), cfg, \old(lay->stage), g, t,
            \old(lay->n_params)));
    ensures links: \forall integer peer;
        LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures added: \forall integer p, m, e, k, c; Added(ops, \result, p, m, e, k, c) ==
        Added{Pre}(ops, n, p, m, e, k, c) + (m == mb ?
          AddsOf{Pre}(cfg, \old(lay->stage), \old(lay->n_params), p, e, k, c) : 0);
    ensures reductions: \forall integer k, c, m; Reduced(ops, \result, k, c, m) ==
        Reduced{Pre}(ops, n, k, c, m) + (m == mb && ReducesOn{Pre}(cfg, mb) == 1 ?
          DoneOf{Pre}(cfg, \old(lay->stage), \old(lay->n_params), k, c) : 0); */
static int64_t put_entries(const zp_config *cfg, const zp_layout *lay, int64_t mb, int64_t t,
                           zp_op *ops, int64_t n)
{
  const int32_t entries = lay->n_params;
  /*@ loop invariant range: 0 <= x <= entries;
      loop invariant same: SameStage{Pre,Here}(cfg, lay);
      loop invariant scalars: SameScalars{Pre,Here}(cfg);
      loop invariant length: n == \at(n, Pre) +
          BackLen{Pre}(cfg, \at(lay->stage, Pre), ReducesOn{Pre}(cfg, mb), x);
      loop invariant clock: Clocked(ops, n, t, (x + 1) * 4398046511104);
      loop invariant ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, n, g, key, d) == (ReducesOn{Pre}(cfg, mb) == 0 ?
          LedgerOf{Pre}(ops, \at(n, Pre), g, key, d) :
          BackTrace{Pre}(LedgerOf{Pre}(ops, \at(n, Pre), g, key, d), cfg, \at(lay->stage, Pre), g,
            t, x));
      loop invariant links: \forall integer peer;
        LinkOf(ops, n, peer) == LinkOf{Pre}(ops, \at(n, Pre), peer);
      loop invariant added: \forall integer p, m, e, k, c; Added(ops, n, p, m, e, k, c) ==
        Added{Pre}(ops, \at(n, Pre), p, m, e, k, c) + (m == mb ?
          AddsOf{Pre}(cfg, \at(lay->stage, Pre), x, p, e, k, c) : 0);
      loop invariant reductions: \forall integer k, c, m; Reduced(ops, n, k, c, m) ==
        Reduced{Pre}(ops, \at(n, Pre), k, c, m) + (m == mb && ReducesOn{Pre}(cfg, mb) == 1 ?
          DoneOf{Pre}(cfg, \at(lay->stage, Pre), x, k, c) : 0);
      loop assigns x, n, ops[\at(n, Pre) .. \at(n, Pre) + BackLen{Pre}(cfg,
          \at(lay->stage, Pre), ReducesOn{Pre}(cfg, mb), \at(lay->n_params, Pre)) - 1];
      loop variant entries - x; */
  for (int32_t x = 0; x < entries; x++) {
    //@ assert seen: EntrySeen{Pre}(cfg, lay, entries - x - 1);
    //@ assert fits: EntryFits(cfg, lay, entries - x - 1);
    n = zp_put_one(cfg, lay, entries - x - 1, mb, t, ops, n);
  }
  return n;
}

/* What stage s computes in a slot. PIPE-2 */
static int64_t put_compute(const zp_config *cfg, const zp_layout *lay, zp_slot a, int64_t t,
                           zp_op *ops, int64_t n)
{
  const int32_t s = lay->stage;
  if (a.mb < 0) return n;
  const int32_t place = place_of(cfg->pp, cfg->micro_batches, s, a.mb);
  if (!a.backward) return put_forward(s == 0 || s == cfg->pp - 1 ? 1 : 0, a.mb, place, t, ops, n);
  n = put_arrived(a.mb, place, t, ops, n);
  return put_entries(cfg, lay, a.mb, t, ops, n);
}

int64_t zp_put_pipeline(const zp_config *cfg, const zp_layout *lay, zp_op *ops, int64_t n)
{
  const int64_t S = cfg->pp, M = cfg->micro_batches, s = lay->stage;
  const int64_t end = zp_end_slot(S, M, s);
  for (int64_t t = s; t < end; t = zp_next_slot(S, M, s, t)) {
    const zp_slot a = zp_slot_at(S, M, s, t);
    n = put_exchange(cfg->dynamic_shapes, lay->stage, a, t, ops, n);
    n = put_compute(cfg, lay, a, t, ops, n);
  }
  return n;
}
