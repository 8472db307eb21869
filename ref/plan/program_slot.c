/* One slot of the STEP program without its gradients: exchange, load, forward or backward.
 * spec: STEP-2, STEP-3, PIPE-1 … PIPE-6 */
#include "../../spec/acsl/bounds.h"
#include "step_internal.h"

#include "../../spec/acsl/op_is_lemmas.h"

#include "../../spec/acsl/op_slot_lemmas.h"

/* Inside a slot; the entries' clocks are in program_entry.c. PIPE-5 */
enum { CLOCK_META = 0, CLOCK_P2P = 1, CLOCK_LOAD = 2, CLOCK_COMPUTE = 3, CLOCK_ARRIVED = 4 };

/* The exchange's op, without micro-batches to send or receive yet: with the next stage in a
 * backward slot, with the previous one in a forward slot. s is 0..2^20-1. PIPE-3 */
/*@ requires stage: 0 <= s < ZP_LIMIT_RANKS;
    terminates \true; exits \false;
    assigns \nothing;
    ensures kind: \result.kind == kind && \result.dtype == dtype && \result.count == 0;
    ensures with: \result.group == ZP_GROUP_PP &&
        \result.root == (backward != 0 ? s + 1 : s - 1) &&
        \result.what == (backward != 0 ? ZP_WHAT_ACTIVATION : ZP_WHAT_ACTIVATION_GRADIENT);
    ensures mbs: \result.mb == send && \result.recv_mb == recv && \result.if_stepped == 0;
    ensures clock: \result.clock_t == t && \result.clock_i == clock_i;
    ensures nothing: \result.key == -1 && \result.redop == ZP_RED_NONE && \result.flat == -1 &&
        \result.param == -1 && \result.slot == -1 && \result.bucket == -1 && \result.offset == 0;
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
  //@ assert hop: HopOp(op, kind, dtype, s, backward, send, recv, t, clock_i);
  return op;
}

/* Appends an exchange, which belongs to no ledger and no reduction. s is 0..2^20-1; ops has room
 * for one more, with a clock after those so far. PIPE-3 */
/*@ requires stage: 0 <= s < ZP_LIMIT_RANKS;
    requires kind: kind == ZP_OP_META || kind == ZP_OP_P2P;
    requires room: 0 <= n < 9223372036854775807 && \valid(ops + n);
    requires clock: Clocked(ops, n, t, clock_i);
    terminates \true; exits \false;
    assigns ops[n];
    ensures length: \result == n + 1;
    ensures op: IsHop(ops + n, kind, dtype, s, backward, send, recv, t, clock_i);
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures clock: Clocked(ops, \result, t, clock_i + 1);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == LedgerOf{Pre}(ops, n, g, key, d);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) ==
        HopTrace(LinkOf{Pre}(ops, n, peer), s, backward, peer, kind, dtype, send, recv, t, clock_i);
    ensures added: \forall integer p, m, e, k, c;
        Added(ops, \result, p, m, e, k, c) == Added{Pre}(ops, n, p, m, e, k, c);
    ensures reductions: \forall integer k, c, m;
        Reduced(ops, \result, k, c, m) == Reduced{Pre}(ops, n, k, c, m);
    ensures plain: PlainOps(ops, n, \result) && Placed(ops, n, \result);
    ensures quiet: NoGradients(ops, n, \result); */
static int64_t put_hop(int32_t kind, int32_t dtype, int32_t s, int32_t backward, int64_t send,
                       int64_t recv, int64_t t, int64_t clock_i, zp_op *ops, int64_t n)
{
  return zp_emit(ops, n, hop_op(kind, dtype, s, backward, send, recv, t, clock_i));
}

/* Appends the meta message before an activation, if the slot has an activation and shapes are
 * dynamic. PIPE-6 */
/*@ requires stage: 0 <= s < ZP_LIMIT_RANKS;
    requires room: 0 <= n && n + MetaLen(dynamic, a.backward, a.send_mb, a.recv_mb)
        <= 9223372036854775807 && \valid(ops + (n .. n +
          MetaLen(dynamic, a.backward, a.send_mb, a.recv_mb) - 1));
    requires clock: Clocked(ops, n, t, CLOCK_META);
    terminates \true; exits \false;
    assigns ops[n .. n + MetaLen(dynamic, a.backward, a.send_mb, a.recv_mb) - 1];
    ensures length: \result == n + MetaLen(dynamic, a.backward, a.send_mb, a.recv_mb);
    ensures op: 0 < MetaLen(dynamic, a.backward, a.send_mb, a.recv_mb) ==> IsHop(ops + n,
        ZP_OP_META,
        ZP_I64, s, a.backward, a.backward != 0 ? a.send_mb : -1, a.backward != 0 ? -1 : a.recv_mb,
        t, 0);
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures clock: Clocked(ops, \result, t, CLOCK_P2P);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == LedgerOf{Pre}(ops, n, g, key, d);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) ==
        MetaTrace(LinkOf{Pre}(ops, n, peer), s, peer, dynamic, a.backward, a.send_mb, a.recv_mb,
          t);
    ensures added: \forall integer p, m, e, k, c;
        Added(ops, \result, p, m, e, k, c) == Added{Pre}(ops, n, p, m, e, k, c);
    ensures reductions: \forall integer k, c, m;
        Reduced(ops, \result, k, c, m) == Reduced{Pre}(ops, n, k, c, m);
    ensures plain: PlainOps(ops, n, \result) && Placed(ops, n, \result);
    ensures quiet: NoGradients(ops, n, \result); */
static int64_t put_meta(int32_t dynamic, int32_t s, zp_slot a, int64_t t, zp_op *ops, int64_t n)
{
  const int64_t send = a.backward ? a.send_mb : -1, recv = a.backward ? -1 : a.recv_mb;
  if (!dynamic || (a.backward ? send : recv) < 0) return n;
  return put_hop(ZP_OP_META, ZP_I64, s, a.backward, send, recv, t, CLOCK_META, ops, n);
}

/* Ops before the compute of slot t of stage s: meta and grouped exchange with the slot's one
 * neighbour. s is 0..2^20-1; ops has room for them, with clocks after those so far. PIPE-3,
 * PIPE-6 */
/*@ requires stage: 0 <= s < ZP_LIMIT_RANKS;
    requires room: 0 <= n && n + ExchangeLen(dynamic, a.backward, a.send_mb, a.recv_mb)
        <= 9223372036854775807 && \valid(ops + (n .. n +
          ExchangeLen(dynamic, a.backward, a.send_mb, a.recv_mb) - 1));
    requires clock: Clocked(ops, n, t, CLOCK_META);
    terminates \true; exits \false;
    assigns ops[n .. n + ExchangeLen(dynamic, a.backward, a.send_mb, a.recv_mb) - 1];
    ensures length: \result == n + ExchangeLen(dynamic, a.backward, a.send_mb, a.recv_mb);
    ensures ops: ExchangeOps(ops, n, s, dynamic, a.backward, a.send_mb, a.recv_mb, t);
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures clock: Clocked(ops, \result, t, CLOCK_LOAD);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == LedgerOf{Pre}(ops, n, g, key, d);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) ==
        ExchangeTrace(LinkOf{Pre}(ops, n, peer), s, peer, dynamic, a.backward, a.send_mb,
          a.recv_mb, t);
    ensures added: \forall integer p, m, e, k, c;
        Added(ops, \result, p, m, e, k, c) == Added{Pre}(ops, n, p, m, e, k, c);
    ensures reductions: \forall integer k, c, m;
        Reduced(ops, \result, k, c, m) == Reduced{Pre}(ops, n, k, c, m);
    ensures plain: PlainOps(ops, n, \result) && Placed(ops, n, \result);
    ensures quiet: NoGradients(ops, n, \result); */
static int64_t put_exchange(int32_t dynamic, int32_t s, zp_slot a, int64_t t, zp_op *ops, int64_t n)
{
  if (a.send_mb < 0 && a.recv_mb < 0) return n;
  const int64_t meta = put_meta(dynamic, s, a, t, ops, n);
  return put_hop(ZP_OP_P2P, -1, s, a.backward, a.send_mb, a.recv_mb, t, CLOCK_P2P, ops, meta);
}

/* Appends a local op of micro-batch mb in slot t: LOAD, FORWARD, BACKWARD or ARRIVED. ops has room
 * for one more, with a clock after those so far. PIPE-2 */
/*@ requires kind: kind < ZP_OP_ADD;
    requires room: 0 <= n < 9223372036854775807 && \valid(ops + n);
    requires clock: Clocked(ops, n, t, clock_i);
    terminates \true; exits \false;
    assigns ops[n];
    ensures length: \result == n + 1;
    ensures op: IsMicro(ops + n, kind, mb, slot, t, clock_i);
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures clock: Clocked(ops, \result, t, clock_i + 1);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == LedgerOf{Pre}(ops, n, g, key, d);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures added: \forall integer p, m, e, k, c;
        Added(ops, \result, p, m, e, k, c) == Added{Pre}(ops, n, p, m, e, k, c);
    ensures reductions: \forall integer k, c, m;
        Reduced(ops, \result, k, c, m) == Reduced{Pre}(ops, n, k, c, m);
    ensures plain: PlainOps(ops, n, \result) && Placed(ops, n, \result);
    ensures quiet: NoGradients(ops, n, \result); */
static int64_t put_local(int32_t kind, int64_t mb, int32_t slot, int64_t t, int64_t clock_i,
                         zp_op *ops, int64_t n)
{
  zp_op op = zp_op_blank(kind, t, clock_i);
  op.mb = mb;
  op.slot = slot;
  return zp_emit(ops, n, op);
}

/* The activation slot of micro-batch mb on stage s. S and M are 1..2^20, s is 0..S-1. PIPE-4 */
/*@ requires sizes: 1 <= S <= ZP_LIMIT_RANKS && 1 <= M <= ZP_LIMIT_MICRO_BATCHES;
    requires stage: 0 <= s < S;
    requires mb: 0 <= mb < M;
    terminates \true; exits \false;
    assigns \nothing;
    ensures place: \result == mb % Places(S, M, s);
    ensures range: 0 <= \result < Places(S, M, s); */
static int32_t activation_slot(int64_t S, int64_t M, int64_t s, int64_t mb)
{
  return (int32_t)(mb % zp_alive(S, M, s));
}

/* Appends the load of micro-batch mb if stage s uses its data. PIPE-2 */
/*@ requires bit: loads == 0 || loads == 1;
    requires room: 0 <= n && n + loads <= 9223372036854775807 &&
        \valid(ops + (n .. n + loads - 1));
    requires clock: Clocked(ops, n, t, CLOCK_LOAD);
    terminates \true; exits \false;
    assigns ops[n .. n + loads - 1];
    ensures length: \result == n + loads;
    ensures op: loads == 1 ==> IsMicro(ops + n, ZP_OP_LOAD, mb, -1, t, CLOCK_LOAD);
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures clock: Clocked(ops, \result, t, CLOCK_COMPUTE);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == LedgerOf{Pre}(ops, n, g, key, d);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures added: \forall integer p, m, e, k, c;
        Added(ops, \result, p, m, e, k, c) == Added{Pre}(ops, n, p, m, e, k, c);
    ensures reductions: \forall integer k, c, m;
        Reduced(ops, \result, k, c, m) == Reduced{Pre}(ops, n, k, c, m);
    ensures plain: PlainOps(ops, n, \result) && Placed(ops, n, \result);
    ensures quiet: NoGradients(ops, n, \result); */
static int64_t put_load(int32_t loads, int64_t mb, int64_t t, zp_op *ops, int64_t n)
{
  if (!loads) return n;
  return put_local(ZP_OP_LOAD, mb, -1, t, CLOCK_LOAD, ops, n);
}

/* Appends the forward of a slot. PIPE-2 */
/*@ requires bit: loads == 0 || loads == 1;
    requires room: 0 <= n && n + loads + 1 <= 9223372036854775807 &&
        \valid(ops + (n .. n + loads));
    requires clock: Clocked(ops, n, t, CLOCK_LOAD);
    terminates \true; exits \false;
    assigns ops[n .. n + loads];
    ensures length: \result == n + loads + 1;
    ensures ops: RunOps(ops, n, loads, 0, mb, place, t);
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures clock: Clocked(ops, \result, t, CLOCK_ARRIVED);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == LedgerOf{Pre}(ops, n, g, key, d);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures added: \forall integer p, m, e, k, c;
        Added(ops, \result, p, m, e, k, c) == Added{Pre}(ops, n, p, m, e, k, c);
    ensures reductions: \forall integer k, c, m;
        Reduced(ops, \result, k, c, m) == Reduced{Pre}(ops, n, k, c, m);
    ensures plain: PlainOps(ops, n, \result) && Placed(ops, n, \result);
    ensures quiet: NoGradients(ops, n, \result); */
static int64_t put_forward(int32_t loads, int64_t mb, int32_t place, int64_t t, zp_op *ops,
                           int64_t n)
{
  const int64_t loaded = put_load(loads, mb, t, ops, n);
  return put_local(ZP_OP_FORWARD, mb, place, t, CLOCK_COMPUTE, ops, loaded);
}

/* Appends the backward of a slot and the check of the gradients that arrived. STEP-3 */
/*@ requires room: 0 <= n <= 9223372036854775805 && \valid(ops + (n .. n + 1));
    requires clock: Clocked(ops, n, t, CLOCK_COMPUTE);
    terminates \true; exits \false;
    assigns ops[n .. n + 1];
    ensures length: \result == n + 2;
    ensures ops: RunOps(ops, n, 0, 1, mb, place, t);
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures clock: Clocked(ops, \result, t, CLOCK_ARRIVED + 1);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == LedgerOf{Pre}(ops, n, g, key, d);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures added: \forall integer p, m, e, k, c;
        Added(ops, \result, p, m, e, k, c) == Added{Pre}(ops, n, p, m, e, k, c);
    ensures reductions: \forall integer k, c, m;
        Reduced(ops, \result, k, c, m) == Reduced{Pre}(ops, n, k, c, m);
    ensures plain: PlainOps(ops, n, \result) && Placed(ops, n, \result);
    ensures quiet: NoGradients(ops, n, \result); */
static int64_t put_arrived(int64_t mb, int32_t place, int64_t t, zp_op *ops, int64_t n)
{
  const int64_t after = put_local(ZP_OP_BACKWARD, mb, place, t, CLOCK_COMPUTE, ops, n);
  return put_local(ZP_OP_ARRIVED, mb, -1, t, CLOCK_ARRIVED, ops, after);
}

/* The forward or backward of a slot. ops has room, with clocks after those so far. PIPE-2 */
/*@ requires bits: 0 <= loads <= 1 && 0 <= backward <= 1;
    requires room: 0 <= n && n + (backward != 0 ? 2 : loads + 1) <= 9223372036854775807 &&
        \valid(ops + (n .. n + (backward != 0 ? 2 : loads + 1) - 1));
    requires clock: Clocked(ops, n, t, CLOCK_LOAD);
    terminates \true; exits \false;
    assigns ops[n .. n + (backward != 0 ? 2 : loads + 1) - 1];
    ensures length: \result == n + (backward != 0 ? 2 : loads + 1);
    ensures ops: RunOps(ops, n, loads, backward, mb, place, t);
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures clock: Clocked(ops, \result, t, CLOCK_ARRIVED + 1);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == LedgerOf{Pre}(ops, n, g, key, d);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures added: \forall integer p, m, e, k, c;
        Added(ops, \result, p, m, e, k, c) == Added{Pre}(ops, n, p, m, e, k, c);
    ensures reductions: \forall integer k, c, m;
        Reduced(ops, \result, k, c, m) == Reduced{Pre}(ops, n, k, c, m);
    ensures plain: PlainOps(ops, n, \result) && Placed(ops, n, \result);
    ensures quiet: NoGradients(ops, n, \result); */
static int64_t put_run(int32_t loads, int32_t backward, int64_t mb, int32_t place, int64_t t,
                       zp_op *ops, int64_t n)
{
  if (backward) return put_arrived(mb, place, t, ops, n);
  return put_forward(loads, mb, place, t, ops, n);
}

/* Appends the computation of stage s in slot t, described by a. S and M are 1..2^20, s is 0..S-1;
 * ops has room, with clocks after those so far. PIPE-2 */
/*@ requires sizes: 1 <= S <= ZP_LIMIT_RANKS && 1 <= M <= ZP_LIMIT_MICRO_BATCHES && 0 <= s < S;
    requires slot: SlotIs(a, S, M, s, t);
    requires room: 0 <= n && n + ComputeLen(S, M, s, t) <= 9223372036854775807 &&
        \valid(ops + (n .. n + ComputeLen(S, M, s, t) - 1));
    requires clock: Clocked(ops, n, t, CLOCK_LOAD);
    terminates \true; exits \false;
    assigns ops[n .. n + ComputeLen(S, M, s, t) - 1];
    ensures length: \result == n + ComputeLen(S, M, s, t);
    ensures ops: 0 <= Computed(S, M, s, t) ==> RunOps(ops, n, Loads(S, s), BackwardSlot(s, t),
        Computed(S, M, s, t), Computed(S, M, s, t) % Places(S, M, s), t);
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures clock: Clocked(ops, \result, t, CLOCK_ARRIVED + 1);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == LedgerOf{Pre}(ops, n, g, key, d);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) == LinkOf{Pre}(ops, n, peer);
    ensures added: \forall integer p, m, e, k, c;
        Added(ops, \result, p, m, e, k, c) == Added{Pre}(ops, n, p, m, e, k, c);
    ensures reductions: \forall integer k, c, m;
        Reduced(ops, \result, k, c, m) == Reduced{Pre}(ops, n, k, c, m);
    ensures plain: PlainOps(ops, n, \result) && Placed(ops, n, \result);
    ensures quiet: NoGradients(ops, n, \result); */
static int64_t put_compute(int32_t S, int64_t M, int32_t s, zp_slot a, int64_t t, zp_op *ops,
                           int64_t n)
{
  if (a.mb < 0) return n;
  return put_run(s == 0 || s == S - 1 ? 1 : 0, a.backward, a.mb, activation_slot(S, M, s, a.mb), t,
                 ops, n);
}

/* Appends the ops of slot t of stage s, described by a, without its gradients. S and M are 1..2^20,
 * s is 0..S-1; ops has room, with clocks after those so far. PIPE-2, PIPE-3 */
/*@ requires sizes: 1 <= S <= ZP_LIMIT_RANKS && 1 <= M <= ZP_LIMIT_MICRO_BATCHES && 0 <= s < S;
    requires slot: SlotIs(a, S, M, s, t);
    requires room: 0 <= n && n + HeadLen(S, M, s, dynamic, t) <= 9223372036854775807 &&
        \valid(ops + (n .. n + HeadLen(S, M, s, dynamic, t) - 1));
    requires clock: Clocked(ops, n, t, 0);
    terminates \true; exits \false;
    assigns ops[n .. n + HeadLen(S, M, s, dynamic, t) - 1];
    ensures length: \result == n + HeadLen(S, M, s, dynamic, t);
    ensures ops: HeadOps(ops, n, S, M, s, dynamic, t);
    ensures stays: SameOps{Pre,Post}(ops, n);
    ensures clock: Clocked(ops, \result, t, 5);
    ensures ledger: \forall integer g, key, d; HasLedger(g) ==>
        LedgerOf(ops, \result, g, key, d) == LedgerOf{Pre}(ops, n, g, key, d);
    ensures links: \forall integer peer; LinkOf(ops, \result, peer) ==
        HeadTrace(LinkOf{Pre}(ops, n, peer), S, M, s, peer, dynamic, t);
    ensures added: \forall integer p, m, e, k, c;
        Added(ops, \result, p, m, e, k, c) == Added{Pre}(ops, n, p, m, e, k, c);
    ensures reductions: \forall integer k, c, m;
        Reduced(ops, \result, k, c, m) == Reduced{Pre}(ops, n, k, c, m);
    ensures plain: PlainOps(ops, n, \result) && Placed(ops, n, \result);
    ensures quiet: NoGradients(ops, n, \result); */
static int64_t put_head(int32_t dynamic, int32_t S, int64_t M, int32_t s, zp_slot a, int64_t t,
                        zp_op *ops, int64_t n)
{
  const int64_t before = put_exchange(dynamic, s, a, t, ops, n);
  return put_compute(S, M, s, a, t, ops, before);
}

int64_t zp_put_stage_head(const zp_config *cfg, const zp_layout *lay, zp_slot a, int64_t t,
                          zp_op *ops, int64_t n)
{
  /*@ assert clear_config: ClearOfConfig(ops + n, HeadLen(cfg->pp, cfg->micro_batches,
          lay->stage, cfg->dynamic_shapes, t), cfg); */
  /*@ assert clear_entries: ClearOfEntries(ops + n, HeadLen(cfg->pp, cfg->micro_batches,
          lay->stage, cfg->dynamic_shapes, t), cfg->params,
        cfg->n_params); */
  /*@ assert clear_layout: ClearOfLayout(ops + n, HeadLen(cfg->pp, cfg->micro_batches,
          lay->stage, cfg->dynamic_shapes, t), lay); */
  /*@ assert clear_flats: ClearOfFlats(ops + n, HeadLen(cfg->pp, cfg->micro_batches,
          lay->stage, cfg->dynamic_shapes, t), lay->flat,
        lay->n_flats); */
  /*@ assert clear_spots: ClearOfSpots(ops + n, HeadLen(cfg->pp, cfg->micro_batches,
          lay->stage, cfg->dynamic_shapes, t), lay->spot,
        lay->n_params); */
  n = put_head(cfg->dynamic_shapes, cfg->pp, cfg->micro_batches, lay->stage, a, t, ops, n);
  //@ assert later: Clocked(ops, n, t, ZP_CLOCK_STRIDE);
  //@ assert scalars: SameScalars{Pre,Here}(cfg);
  //@ assert entries: KeptEntries{Pre,Here}(cfg);
  //@ assert stage: KeptStage{Pre,Here}(lay);
  //@ assert flats: KeptFlats{Pre,Here}(lay);
  //@ assert spots: KeptSpots{Pre,Here}(lay);
  return n;
}

int64_t zp_put_nth(const zp_config *cfg, const zp_layout *lay, int32_t i, int64_t mb, int64_t t,
                   zp_op *ops, int64_t n)
{
  //@ assert entry: EntryFits(cfg, lay, i);
  /*@ assert clear_config: ClearOfConfig(ops + n, RawLen(cfg, lay, i, ReducesOn(cfg, mb)),
        cfg); */
  /*@ assert clear_entries: ClearOfEntries(ops + n, RawLen(cfg, lay, i, ReducesOn(cfg, mb)),
        cfg->params, cfg->n_params); */
  /*@ assert clear_layout: ClearOfLayout(ops + n, RawLen(cfg, lay, i, ReducesOn(cfg, mb)),
        lay); */
  /*@ assert clear_flats: ClearOfFlats(ops + n, RawLen(cfg, lay, i, ReducesOn(cfg, mb)),
        lay->flat, lay->n_flats); */
  /*@ assert clear_spots: ClearOfSpots(ops + n, RawLen(cfg, lay, i, ReducesOn(cfg, mb)),
        lay->spot, lay->n_params); */
  n = zp_put_one(cfg, lay, i, mb, t, ops, n);
  //@ assert scalars: SameScalars{Pre,Here}(cfg);
  //@ assert entries: KeptEntries{Pre,Here}(cfg);
  //@ assert stage: KeptStage{Pre,Here}(lay);
  //@ assert flats: KeptFlats{Pre,Here}(lay);
  //@ assert spots: KeptSpots{Pre,Here}(lay);
  return n;
}
