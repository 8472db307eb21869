/* spec: STEP-2, LEDG-1 … LEDG-8, PIPE-5 */
#include "program.h"

/* The STEP program's clock: slots of the pipeline are t = 0 … T-1, then these. PIPE-5 */
enum { CLOCK_TIED = 0, CLOCK_MEAN = 1, CLOCK_AGREE = 2, CLOCK_UPDATE = 3 };
/* INIT's clock. */
enum {
  CLOCK_CREATE = 0,
  CLOCK_TIED_VALUES = 1,
  CLOCK_TP_VALUES = 2,
  CLOCK_DP_VALUES = 3,
  CLOCK_INSTALL = 4
};
/* Inside a slot: the exchange's ops come first. */
enum { CLOCK_META = 0, CLOCK_P2P = 1, CLOCK_COMPUTE = 2 };
/* TIED's clock_i = key · 2^41 + bucket: a bucket number is at most 2^40. */
#define TIED_STRIDE ((int64_t)1 << 41)

/* An op with nothing filled in but its kind and clock. */
static zp_op blank(int32_t kind, int64_t clock_t, int64_t clock_i)
{
  zp_op op;
  op.kind = kind;
  op.what = ZP_WHAT_NONE;
  op.group = -1;
  op.key = -1;
  op.dtype = -1;
  op.redop = ZP_RED_NONE;
  op.root = -1;
  op.flat = -1;
  op.param = -1;
  op.slot = -1;
  op.if_stepped = 0;
  op.mb = -1;
  op.recv_mb = -1;
  op.bucket = -1;
  op.offset = 0;
  op.count = 0;
  op.clock_t = clock_t;
  op.clock_i = clock_i;
  return op;
}

/* An all-reduce(SUM) of `count` int64 over the world. STAT-1, CKPT-2 */
static zp_op agree(int32_t what, int64_t count, int64_t clock_t, int64_t clock_i)
{
  zp_op op = blank(ZP_OP_ALL_REDUCE, clock_t, clock_i);
  op.what = what;
  op.group = ZP_GROUP_WORLD;
  op.dtype = ZP_I64;
  op.redop = ZP_RED_SUM;
  op.count = count;
  return op;
}

/* A communication about bucket b of flat group k over its reduction group. LEDG-3 */
static zp_op on_bucket(const zp_layout *lay, int32_t kind, int32_t what, int32_t k, int64_t b,
                       int64_t clock_t, int64_t clock_i)
{
  zp_op op = blank(kind, clock_t, clock_i);
  op.what = what;
  op.group = lay->flat[k].group;
  op.flat = k;
  op.bucket = b;
  op.count = zp_part(&lay->flat[k], b);
  return op;
}

/* ---- STEP ------------------------------------------------------------------------------------ */

/* The reduction of bucket b after its last ADD of micro-batch mb. RED-3, RED-4, RED-5 */
static zp_op reduce_op(const zp_config *cfg, const zp_layout *lay, int32_t k, int64_t b, int64_t mb,
                       int64_t t, int64_t i)
{
  const zp_flat *f = &lay->flat[k];
  zp_op op = on_bucket(lay, ZP_OP_REDUCE_SCATTER, ZP_WHAT_GRADIENT, k, b, t, i);
  op.mb = mb;
  if (cfg->stage == 2) {
    op.dtype = cfg->precision;
    op.redop = cfg->reduce == ZP_EXACT ? ZP_RED_EXACT : ZP_RED_ORDERED;
    op.slot = (int32_t)((mb * zp_buckets(f) + b) % 2);
    return op;
  }
  if (cfg->stage == 0) {
    op.kind = ZP_OP_ALL_REDUCE;
    op.count = zp_bucket_padded(f, b);
  }
  op.dtype = cfg->reduce == ZP_EXACT ? ZP_I64 : ZP_F32;
  op.redop = cfg->reduce == ZP_EXACT ? ZP_RED_SUM : ZP_RED_ORDERED;
  if (cfg->reduce == ZP_EXACT) op.count = op.count * ZP_LIMBS;
  return op;
}

/* Copies or adds one run of an entry's gradient into its bucket. RED-3 */
static zp_op add_op(const zp_config *cfg, const zp_layout *lay, int32_t i, int64_t mb, int64_t b,
                    int64_t offset, int64_t count, int64_t t, int64_t clock_i)
{
  zp_op op = blank(ZP_OP_ADD, t, clock_i);
  op.flat = lay->spot[i].flat;
  op.param = lay->first_param + i;
  op.mb = mb;
  op.bucket = b;
  op.offset = offset;
  op.count = count;
  if (cfg->stage == 2) op.slot = (int32_t)((mb * zp_buckets(&lay->flat[op.flat]) + b) % 2);
  return op;
}

/* One entry's gradient of micro-batch mb: its runs, bucket by bucket, and the reduction of each
 * bucket that it completes. Returns the number of ops after it. RED-3 */
static int64_t put_entry(const zp_config *cfg, const zp_layout *lay, int32_t i, int64_t mb,
                         int64_t t, int64_t base, zp_op *ops, int64_t n)
{
  const int32_t k = lay->spot[i].flat;
  const zp_flat *f = &lay->flat[k];
  const int64_t start = lay->spot[i].start;
  const int64_t end = start + cfg->params[lay->first_param + i].numel;
  const int reduces = cfg->stage == 2 || mb == cfg->micro_batches - 1;
  int64_t e = start;
  while (e < end) {
    const int64_t b = e / f->capacity;
    const int64_t full = b * f->capacity + zp_bucket_numel(f, b);
    const int64_t stop = full < end ? full : end;
    ops[n] = add_op(cfg, lay, i, mb, b, e - start, stop - e, t, CLOCK_COMPUTE + n - base);
    n++;
    if (stop == full && reduces) {
      ops[n] = reduce_op(cfg, lay, k, b, mb, t, CLOCK_COMPUTE + n - base);
      n++;
    }
    e = stop;
  }
  return n;
}

/* Ops before the compute of a slot: meta and grouped exchange with the slot's one neighbour.
 * PIPE-3, PIPE-6 */
static int64_t put_exchange(const zp_config *cfg, int32_t s, const zp_slot *a, int64_t t,
                            zp_op *ops, int64_t n)
{
  const int64_t activation = a->backward ? a->send_mb : a->recv_mb;
  zp_op op = blank(ZP_OP_P2P, t, CLOCK_P2P);
  if (a->send_mb < 0 && a->recv_mb < 0) return n;
  op.what = a->backward ? ZP_WHAT_ACTIVATION : ZP_WHAT_ACTIVATION_GRADIENT;
  op.group = ZP_GROUP_PP;
  op.root = a->backward ? s + 1 : s - 1;
  if (cfg->dynamic_shapes && activation >= 0) {
    zp_op meta = op;
    meta.kind = ZP_OP_META;
    meta.dtype = ZP_I64;
    meta.clock_i = CLOCK_META;
    if (a->backward) meta.mb = activation;
    else meta.recv_mb = activation;
    ops[n] = meta;
    n++;
  }
  op.mb = a->send_mb;
  op.recv_mb = a->recv_mb;
  ops[n] = op;
  return n + 1;
}

/* The forward of a slot. PIPE-2 */
static int64_t put_forward(const zp_config *cfg, int32_t s, int64_t mb, int64_t t, int64_t base,
                           zp_op *ops, int64_t n)
{
  if (s == 0 || s == cfg->pp - 1) {
    ops[n] = blank(ZP_OP_LOAD, t, CLOCK_COMPUTE + n - base);
    ops[n].mb = mb;
    n++;
  }
  ops[n] = blank(ZP_OP_FORWARD, t, CLOCK_COMPUTE + n - base);
  ops[n].mb = mb;
  ops[n].slot = (int32_t)(mb % zp_alive(cfg->pp, cfg->micro_batches, s));
  return n + 1;
}

/* The backward of a slot, with all that its gradients set off. PIPE-2, STEP-3, RED-3 */
static int64_t put_backward(const zp_config *cfg, const zp_layout *lay, int32_t s, int64_t mb,
                            int64_t t, int64_t base, zp_op *ops, int64_t n)
{
  ops[n] = blank(ZP_OP_BACKWARD, t, CLOCK_COMPUTE + n - base);
  ops[n].mb = mb;
  ops[n].slot = (int32_t)(mb % zp_alive(cfg->pp, cfg->micro_batches, s));
  n++;
  ops[n] = blank(ZP_OP_ARRIVED, t, CLOCK_COMPUTE + n - base);
  ops[n].mb = mb;
  n++;
  for (int32_t i = lay->n_params - 1; i >= 0; i--)
    if (lay->spot[i].flat >= 0) n = put_entry(cfg, lay, i, mb, t, base, ops, n);
  return n;
}

/* The slot after t in which stage s may do anything: the 2M slots from its first forward on and the
 * 2M from its first backward on; between them lie idle ones where M is small. PIPE-2, PIPE-3 */
static int64_t next_slot(const zp_config *cfg, int32_t s, int64_t t)
{
  const int64_t drained = s + 2 * cfg->micro_batches, backward = 2 * (int64_t)cfg->pp - 1 - s;
  return t + 1 == drained && backward > drained ? backward : t + 1;
}

/* One past the last such slot. */
static int64_t end_slot(const zp_config *cfg, int32_t s)
{
  const int64_t end = 2 * (int64_t)cfg->pp - 1 - s + 2 * cfg->micro_batches;
  const int64_t slots = zp_slots(cfg->pp, cfg->micro_batches);
  return end < slots ? end : slots;
}

/* The whole pipeline. PIPE-1 … PIPE-3 */
static int64_t put_pipeline(const zp_config *cfg, const zp_layout *lay, int32_t s, zp_op *ops,
                            int64_t n)
{
  const int64_t end = end_slot(cfg, s);
  for (int64_t t = s; t < end; t = next_slot(cfg, s, t)) {
    const zp_slot a = zp_slot_at(cfg->pp, cfg->micro_batches, s, t);
    n = put_exchange(cfg, s, &a, t, ops, n);
    if (a.mb < 0) continue;
    if (a.backward) n = put_backward(cfg, lay, s, a.mb, t, n, ops, n);
    else n = put_forward(cfg, s, a.mb, t, n, ops, n);
  }
  return n;
}

/* The flat group that holds tied key `key` on this stage, or -1. TIE-1 */
static int32_t tied_flat(const zp_layout *lay, int32_t key)
{
  for (int32_t k = 0; k < lay->n_flats; k++)
    if (lay->flat[k].tied == key && lay->flat[k].use == 0) return k;
  return -1;
}

/* Copies of tied entries add up over the stages that hold them, key by key. TIE-1, RED-4 */
static int64_t put_tied(const zp_config *cfg, const zp_layout *lay, int64_t t, zp_op *ops,
                        int64_t n)
{
  for (int32_t key = 0; key < cfg->tied_keys; key++) {
    const int32_t k = tied_flat(lay, key);
    const int64_t buckets = k < 0 ? 0 : zp_buckets(&lay->flat[k]);
    for (int64_t b = 0; b < buckets; b++) {
      zp_op op = on_bucket(lay, ZP_OP_ALL_REDUCE, ZP_WHAT_TIED, k, b, t, key * TIED_STRIDE + b);
      op.group = ZP_GROUP_TIED;
      op.key = key;
      if (cfg->stage == 0) op.count = zp_bucket_padded(&lay->flat[k], b);
      op.dtype = cfg->reduce == ZP_EXACT ? ZP_I64 : ZP_F32;
      op.redop = cfg->reduce == ZP_EXACT ? ZP_RED_SUM : ZP_RED_ORDERED;
      if (cfg->reduce == ZP_EXACT) op.count = op.count * ZP_LIMBS;
      ops[n] = op;
      n++;
    }
  }
  return n;
}

/* A local op for bucket b of flat group k. */
static zp_op local_on(int32_t kind, int32_t k, int64_t b, int64_t clock_t, int64_t clock_i)
{
  zp_op op = blank(kind, clock_t, clock_i);
  op.flat = k;
  op.bucket = b;
  return op;
}

/* Divides, counts, and agrees on the statistics. STAT-1 … STAT-3, STEP-6 */
static int64_t put_statistics(const zp_layout *lay, int64_t t, zp_op *ops, int64_t n)
{
  const int64_t base = n;
  for (int32_t k = 0; k < lay->n_flats; k++) {
    const int64_t buckets = lay->flat[k].use == 0 ? zp_buckets(&lay->flat[k]) : 0;
    for (int64_t b = 0; b < buckets; b++) {
      ops[n] = local_on(ZP_OP_MEAN, k, b, t + CLOCK_MEAN, n - base);
      n++;
    }
  }
  ops[n] = agree(ZP_WHAT_STATISTICS, ZP_STATS, t + CLOCK_AGREE, 0);
  ops[n + 1] = blank(ZP_OP_DECIDE, t + CLOCK_AGREE, 1);
  return n + 2;
}

/* Updates the shard and gathers the parameters, bucket by bucket. STEP-7, STEP-8 */
static int64_t put_update(const zp_config *cfg, const zp_layout *lay, int64_t t, zp_op *ops,
                          int64_t n)
{
  const int64_t base = n;
  for (int32_t k = 0; k < lay->n_flats; k++) {
    const int64_t buckets = lay->flat[k].use == 0 ? zp_buckets(&lay->flat[k]) : 0;
    for (int64_t b = 0; b < buckets; b++) {
      ops[n] = local_on(ZP_OP_UPDATE, k, b, t + CLOCK_UPDATE, n - base);
      ops[n].if_stepped = 1;
      n++;
      if (cfg->stage == 0) continue;
      ops[n] =
          on_bucket(lay, ZP_OP_ALL_GATHER, ZP_WHAT_PARAMETER, k, b, t + CLOCK_UPDATE, n - base);
      ops[n].dtype = cfg->precision;
      ops[n].if_stepped = 1;
      n++;
    }
  }
  return n;
}

/* STEP-2 */
static int64_t put_step(const zp_config *cfg, const zp_layout *lay, int32_t s, zp_op *ops)
{
  const int64_t t = zp_slots(cfg->pp, cfg->micro_batches);
  int64_t n = put_pipeline(cfg, lay, s, ops, 0);
  n = put_tied(cfg, lay, t + CLOCK_TIED, ops, n);
  n = put_statistics(lay, t, ops, n);
  return put_update(cfg, lay, t, ops, n);
}

/* ---- INIT ------------------------------------------------------------------------------------ */

/* Every rank of the world takes part in every split. LEDG-4 */
static int64_t put_creations(const zp_config *cfg, zp_op *ops)
{
  int64_t n = 0;
  for (int32_t g = ZP_GROUP_DP; g < ZP_GROUP_TIED + cfg->tied_keys; g++) {
    zp_op op = blank(ZP_OP_CREATE, CLOCK_CREATE, n);
    op.what = ZP_WHAT_COMMUNICATOR;
    op.group = ZP_GROUP_WORLD;
    op.root = g < ZP_GROUP_TIED ? g : ZP_GROUP_TIED;
    op.key = g < ZP_GROUP_TIED ? -1 : g - ZP_GROUP_TIED;
    ops[n] = op;
    n++;
  }
  return n;
}

/* First values of entry j from member 0 of `group`. LEDG-5 */
static zp_op broadcast(const zp_config *cfg, int32_t group, int32_t key, int32_t j, int64_t clock_t,
                       int64_t clock_i)
{
  zp_op op = blank(ZP_OP_BROADCAST, clock_t, clock_i);
  op.what = ZP_WHAT_PARAMETER;
  op.group = group;
  op.key = key;
  op.param = j;
  op.root = 0;
  op.dtype = cfg->precision;
  op.count = cfg->params[j].numel;
  return op;
}

int32_t zp_param_holds(const zp_config *cfg, int32_t j)
{
  const int32_t key = cfg->params[j].tied;
  if (key < 0) return 1;
  /* uses are numbered in backward order: the last entry of the stage with this key holds it */
  for (int32_t i = j + 1; i < cfg->n_params && cfg->params[i].stage == cfg->params[j].stage; i++)
    if (cfg->params[i].tied == key) return 0;
  return 1;
}

/* The entry of this stage that holds tied key `key`, or -1. TIE-2 */
static int32_t holder_of(const zp_config *cfg, const zp_layout *lay, int32_t key)
{
  for (int32_t i = lay->n_params - 1; i >= 0; i--)
    if (cfg->params[lay->first_param + i].tied == key) return lay->first_param + i;
  return -1;
}

/* First values: over the stages of a tied key, then over tp, then over dp or edp. LEDG-5 */
static int64_t put_broadcasts(const zp_config *cfg, const zp_layout *lay, zp_op *ops, int64_t n)
{
  for (int32_t key = 0; key < cfg->tied_keys; key++) {
    const int32_t j = holder_of(cfg, lay, key);
    if (j < 0) continue;
    ops[n] = broadcast(cfg, ZP_GROUP_TIED, key, j, CLOCK_TIED_VALUES, key);
    n++;
  }
  for (int32_t i = 0; i < lay->n_params; i++) {
    const int32_t j = lay->first_param + i;
    if (cfg->params[j].sharded || !zp_param_holds(cfg, j)) continue;
    ops[n] = broadcast(cfg, ZP_GROUP_TP, -1, j, CLOCK_TP_VALUES, i);
    n++;
  }
  for (int32_t i = 0; i < lay->n_params; i++) {
    const int32_t j = lay->first_param + i;
    const int32_t group = cfg->params[j].expert ? ZP_GROUP_EDP : ZP_GROUP_DP;
    if (!zp_param_holds(cfg, j)) continue;
    ops[n] = broadcast(cfg, group, -1, j, CLOCK_DP_VALUES, i);
    n++;
  }
  ops[n] = blank(ZP_OP_INSTALL, CLOCK_INSTALL, 0);
  ops[n].what = ZP_WHAT_MASTER;
  return n + 1;
}

/* ---- SAVE, LOAD ------------------------------------------------------------------------------ */

/* Is flat group k saved from this stage? Copies of a tied key are, on the lowest stage. CKPT-1 */
static int saves_flat(const zp_config *cfg, const zp_layout *lay, int32_t k)
{
  const zp_flat *f = &lay->flat[k];
  if (f->tied < 0) return 1;
  return f->use == 0 && zp_tied_first_stage(cfg, f->tied) == lay->stage;
}

/* Is this rank the one of its reduction group that writes? CKPT-1 */
static int writes(const zp_config *cfg, int32_t group, zp_coord at)
{
  return group == ZP_GROUP_EDP ? at.dp / cfg->ep == 0 : at.dp == 0;
}

/* Is frozen entry j written by the rank at `at`? CKPT-1 */
static int writes_frozen(const zp_config *cfg, int32_t j, zp_coord at)
{
  const zp_param *p = &cfg->params[j];
  if (!p->frozen || !zp_param_holds(cfg, j)) return 0;
  if (p->tied >= 0 && zp_tied_first_stage(cfg, p->tied) != at.pp) return 0;
  if (!p->sharded && at.tp != 0) return 0;
  return writes(cfg, p->expert ? ZP_GROUP_EDP : ZP_GROUP_DP, at);
}

/* One state of one bucket: gathered on the group's member 0, written there. CKPT-1 */
static int64_t put_save_bucket(const zp_config *cfg, const zp_layout *lay, zp_coord at, int32_t k,
                               int64_t b, int32_t what, int64_t clock_i, zp_op *ops, int64_t n)
{
  if (cfg->stage > 0) {
    ops[n] = on_bucket(lay, ZP_OP_GATHER, what, k, b, 0, clock_i);
    ops[n].dtype = ZP_F32;
    ops[n].root = 0;
    n++;
  }
  if (writes(cfg, lay->flat[k].group, at)) {
    ops[n] = local_on(ZP_OP_WRITE, k, b, 0, clock_i + 1);
    ops[n].what = what;
    n++;
  }
  return n;
}

/* CKPT-1, CKPT-2 */
static int64_t put_save(const zp_config *cfg, const zp_layout *lay, zp_coord at, zp_op *ops)
{
  int64_t n = 0, clock_i = 0;
  for (int32_t k = 0; k < lay->n_flats; k++) {
    const int64_t buckets = saves_flat(cfg, lay, k) ? zp_buckets(&lay->flat[k]) : 0;
    for (int64_t b = 0; b < buckets; b++) {
      for (int32_t what = ZP_WHAT_MASTER; what <= ZP_WHAT_MOMENT2; what++) {
        n = put_save_bucket(cfg, lay, at, k, b, what, clock_i, ops, n);
        clock_i += 2;
      }
    }
  }
  for (int32_t i = 0; i < lay->n_params; i++) {
    if (!writes_frozen(cfg, lay->first_param + i, at)) continue;
    ops[n] = blank(ZP_OP_WRITE, 1, i);
    ops[n].what = ZP_WHAT_PARAMETER;
    ops[n].param = lay->first_param + i;
    n++;
  }
  ops[n] = blank(ZP_OP_SEAL, 2, 0);
  ops[n + 1] = agree(ZP_WHAT_STATUS, 1, 2, 1);
  ops[n + 2] = blank(ZP_OP_COMMIT, 2, 2);
  ops[n + 3] = agree(ZP_WHAT_STATUS, 1, 2, 3);
  return n + 4;
}

/* CKPT-3 */
static int64_t put_load(zp_op *ops)
{
  ops[0] = blank(ZP_OP_READ, 0, 0);
  ops[1] = agree(ZP_WHAT_STATUS, 1, 0, 1);
  ops[2] = blank(ZP_OP_INSTALL, 0, 2);
  return 3;
}

/* ---- How many -------------------------------------------------------------------------------- */

/* ADD ops of one micro-batch. LEDG-8 */
static int64_t count_adds(const zp_config *cfg, const zp_layout *lay)
{
  int64_t n = 0;
  for (int32_t i = 0; i < lay->n_params; i++) {
    const int32_t k = lay->spot[i].flat;
    const int64_t numel = cfg->params[lay->first_param + i].numel;
    if (k < 0 || numel == 0) continue;
    const int64_t first = lay->spot[i].start, last = first + numel - 1;
    n += last / lay->flat[k].capacity - first / lay->flat[k].capacity + 1;
  }
  return n;
}

/* Buckets of the stage: of all flat groups, of the holders, of the saved ones, of tied ones. */
typedef struct zp_bucket_counts {
  int64_t all, held, saved, written, tied;
} zp_bucket_counts;

static zp_bucket_counts count_buckets(const zp_config *cfg, const zp_layout *lay, zp_coord at)
{
  zp_bucket_counts c = {0, 0, 0, 0, 0};
  for (int32_t k = 0; k < lay->n_flats; k++) {
    const int64_t n = zp_buckets(&lay->flat[k]);
    c.all += n;
    if (lay->flat[k].use == 0) c.held += n;
    if (lay->flat[k].use == 0 && lay->flat[k].tied >= 0) c.tied += n;
    if (!saves_flat(cfg, lay, k)) continue;
    c.saved += n;
    if (writes(cfg, lay->flat[k].group, at)) c.written += n;
  }
  return c;
}

static int64_t need_step(const zp_config *cfg, const zp_layout *lay, zp_coord at)
{
  const int64_t M = cfg->micro_batches, end = end_slot(cfg, at.pp);
  const zp_bucket_counts c = count_buckets(cfg, lay, at);
  int64_t n = M * (at.pp == 0 || at.pp == cfg->pp - 1 ? 4 : 3);
  for (int64_t t = at.pp; t < end; t = next_slot(cfg, at.pp, t)) {
    const zp_slot a = zp_slot_at(cfg->pp, M, at.pp, t);
    const int64_t activation = a.backward ? a.send_mb : a.recv_mb;
    if (a.send_mb >= 0 || a.recv_mb >= 0) n += cfg->dynamic_shapes && activation >= 0 ? 2 : 1;
  }
  n += M * count_adds(cfg, lay) + c.all * (cfg->stage == 2 ? M : 1);
  return n + c.tied + c.held + 2 + c.held * (cfg->stage == 0 ? 1 : 2);
}

static int64_t need_init(const zp_config *cfg, const zp_layout *lay)
{
  int64_t n = ZP_GROUP_TIED - ZP_GROUP_DP + cfg->tied_keys + 1;
  for (int32_t i = 0; i < lay->n_params; i++) {
    const zp_param *p = &cfg->params[lay->first_param + i];
    if (!zp_param_holds(cfg, lay->first_param + i)) continue;
    n += 1 + (p->sharded ? 0 : 1) + (p->tied >= 0 ? 1 : 0);
  }
  return n;
}

static int64_t need_save(const zp_config *cfg, const zp_layout *lay, zp_coord at)
{
  const zp_bucket_counts c = count_buckets(cfg, lay, at);
  int64_t n = 3 * ((cfg->stage > 0 ? c.saved : 0) + c.written) + 4;
  for (int32_t i = 0; i < lay->n_params; i++)
    if (writes_frozen(cfg, lay->first_param + i, at)) n++;
  return n;
}

int64_t zp_program_need(const zp_config *cfg, const zp_layout *lay, int32_t phase, zp_coord at)
{
  if (phase == ZP_PHASE_INIT) return need_init(cfg, lay);
  if (phase == ZP_PHASE_STEP) return need_step(cfg, lay, at);
  if (phase == ZP_PHASE_SAVE) return need_save(cfg, lay, at);
  return 3;
}

int64_t zp_program_write(const zp_config *cfg, const zp_layout *lay, int32_t phase, zp_coord at,
                         zp_op *ops, int64_t cap)
{
  if (cap < zp_program_need(cfg, lay, phase, at)) return -1;
  if (phase == ZP_PHASE_INIT) return put_broadcasts(cfg, lay, ops, put_creations(cfg, ops));
  if (phase == ZP_PHASE_STEP) return put_step(cfg, lay, at.pp, ops);
  if (phase == ZP_PHASE_SAVE) return put_save(cfg, lay, at, ops);
  return put_load(ops);
}
