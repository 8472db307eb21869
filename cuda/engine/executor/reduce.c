/* spec: RED-2 … RED-5, RED-7 … RED-9, TIE-1, TIE-2, STAT-2 */
#include "reduce.h"

#include "../comm/collectives.h"
#include "../device/launch.h"
#include "../device/runs.h"
#include "../device/take.h"
#include "../device/trace.h"

static int is_exact(const zp_cuda_ops *o)
{
  return o->r->plan.cfg->reduce == ZP_EXACT;
}

static int is_packed(const zp_cuda_ops *o)
{
  return zp_is_packed(o->r->plan.cfg->stage, o->r->plan.cfg->reduce);
}

/* Are packed sums of flat group k those of fp16 numbers? SUM-9 */
static int is_f16(const zp_cuda_ops *o, int32_t k)
{
  return zp_cuda_gradient_dtype(&o->r->plan, k) == ZP_F16;
}

/* Where an op's bucket lies: what this rank owns of it, what it holds, and all of it. */
static zp_range owned_range(const zp_cuda_ops *o, const zp_op *op)
{
  const zp_cuda_plan *p = &o->r->plan;
  return zp_owned_range(&p->block.cfg, &p->lay, p->block.at, op->flat, op->bucket);
}

static zp_range local_range(const zp_cuda_ops *o, const zp_op *op)
{
  const zp_cuda_plan *p = &o->r->plan;
  return zp_local_range(&p->block.cfg, &p->lay, p->block.at, op->flat, op->bucket);
}

static zp_range whole_range(const zp_cuda_ops *o, const zp_op *op)
{
  return zp_whole_range(&o->r->plan.lay.flat[op->flat], op->bucket);
}

/* ---- Means ----------------------------------------------------------------------------------- */

/* A launch over a bucket's sums, as they lie in memory. */
typedef struct norm_of {
  const zp_cuda_ops *o;
  int32_t flat;
  void *sums;
  float *mean; /* `exact`: where they are stored */
  zp_squares_params p;
} norm_of;

static int launch_norm(norm_of *c)
{
  zp_memory_runs *runs = &c->p.runs;
  const int exact = is_exact(c->o);
  const void *kernel = is_packed(c->o) ? zp_kernel_mean_packed
                       : exact         ? zp_kernel_mean_exact
                                       : zp_kernel_mean_ordered;
  zp_cuda_lay_runs(runs);
  c->p.lanes = zp_squares_lanes(runs->here, runs->n);
  ZP_TRY(zp_cuda_launch(c->o->r, kernel,
                        exact ? zp_launch_mean_exact(runs->here, runs->n)
                              : zp_launch_squares(runs->here, runs->n),
                        &c->p, c->o->r->reduce));
  *runs = (zp_memory_runs){0};
  return 0;
}

/* Elements from … to - 1 of the sums, which follow those of the call before: one run,
 * until counted (1: the rank counts their squares) changes. */
static int add_norm_run(norm_of *c, int64_t from, int64_t to, int32_t counted)
{
  zp_memory_run *last = c->p.runs.n > 0 ? &c->p.runs.here[c->p.runs.n - 1] : NULL;
  if (from == to) return 0;
  if (last && last->at == counted) {
    last->count += to - from;
    return 0;
  }
  if (c->p.runs.n == ZP_RUNS_HERE) ZP_TRY(launch_norm(c));
  c->p.runs.here[c->p.runs.n++] = (zp_memory_run){
      .in = is_packed(c->o) ? NULL : zp_cuda_sum(&c->o->r->plan, c->flat, c->sums, from),
      .out = c->mean ? c->mean + from : NULL,
      .at = counted,
      .count = to - from};
  return 0;
}

/* Means of all that the rank holds of the bucket, which it checks, and their squares: of the
 * entries that it counts, in the part that it owns; of several replicas, block 0 counts. STAT-2,
 * STAT-3 */
static int mean_of(const zp_cuda_ops *o, const zp_op *op)
{
  const zp_cuda_plan *p = &o->r->plan;
  const zp_range r = local_range(o, op), own = owned_range(o, op);
  void *sums = zp_cuda_sums_of(o->buffers, op->flat, r), *packed = is_packed(o) ? sums : NULL;
  float *mean = o->buffers->flat[op->flat].mean;
  norm_of c = {.o = o,
               .flat = op->flat,
               .sums = sums,
               .mean = mean ? mean + r.at : packed,
               .p = {.divisor = zp_cuda_divisor(p),
                     .packed = packed,
                     .f16 = is_f16(o, op->flat),
                     .n = packed ? r.count : 0,
                     .tally = o->memory->tally,
                     .nonfinite = &o->memory->tally->nonfinite}};
  const int sends = o->r->opt.offload, stores = is_exact(o); /* stores: means, which are sent */
  int64_t next = 0;
  zp_piece g = {.i = p->lay.n_params};
  if (sends && !stores) ZP_TRY(zp_cuda_offload_send_gradients(o->offload, op, r));
  while (p->block.index == 0 &&
         (g = zp_piece_next(p->cfg, &p->lay, op->flat, own, g.i)).count > 0) {
    if (!p->counted[g.i]) continue;
    const int64_t from = own.flat - r.flat + g.in;
    ZP_TRY(add_norm_run(&c, next, from, 0));
    next = from + g.count;
    ZP_TRY(add_norm_run(&c, from, next, 1));
  }
  ZP_TRY(add_norm_run(&c, next, r.count, 0));
  if (c.p.runs.n > 0) ZP_TRY(launch_norm(&c));
  return sends && stores ? zp_cuda_offload_send_gradients(o->offload, op, r) : 0;
}

/* If the sum that has been issued is its bucket's last, the bucket's mean follows, and with offload
 * its gradients leave for the host. What is issued belongs to the op MEAN. STEP-2, STRM-9 */
static int end_sum(const zp_cuda_ops *o, const zp_op *op)
{
  const zp_cuda_plan *p = &o->r->plan;
  const int64_t mean = p->mean[op->flat] + op->bucket;
  if (!p->is_last[zp_cursor_position(&o->r->progress.host.cursor)]) return 0;
  ZP_TRY(zp_cuda_take_early(o->r, mean));
  zp_cuda_issuing(o->r, &p->program[ZP_PHASE_STEP][mean]);
  ZP_TRY(mean_of(o, &p->program[ZP_PHASE_STEP][mean]));
  return zp_cuda_done(o->r);
}

/* ---- Data-parallel groups -------------------------------------------------------------------- */

/* Adds up the members' parts, this rank's own from where it lies, into `out`, which may be the own
 * part. `exact`: at stage 2, into packed sums. */
static int add_parts(const zp_cuda_ops *o, const zp_op *op, const char *from, int64_t n,
                     int32_t dtype, int first, void *out)
{
  const zp_cuda_plan *p = &o->r->plan;
  const int32_t own = zp_block_group_index(&p->block, op->group, op->key);
  const int64_t bytes = n * zp_dtype_bytes(dtype);
  zp_add_params add = {.dtype = dtype,
                       .f16 = is_f16(o, op->flat),
                       .members = zp_block_group_size(&p->block, op->group, op->key),
                       .own = own,
                       .first = first,
                       .n = n,
                       .stride = bytes,
                       .parts = o->buffers->recv,
                       .own_in = from + own * bytes,
                       .out = out};
  return zp_cuda_launch(o->r, is_packed(o) ? zp_kernel_add_packed : zp_kernel_add_ordered,
                        is_packed(o) ? zp_launch_limbs(n, 1) : zp_launch_elements(n), &add,
                        o->r->reduce);
}

static int carry(const zp_cuda_ops *o, void *limbs, int64_t n)
{
  zp_settle_params p = {n, limbs};
  return zp_cuda_launch(o->r, zp_kernel_settle, zp_launch_limbs(n, 1), &p, o->r->reduce);
}

/* Runs of a bucket's packed sums as limbs, or back. SUM-8 */
static int launch_repack(const zp_cuda_ops *o, zp_packed_params *p, int back)
{
  return zp_cuda_launch(o->r, back ? zp_kernel_pack_sums : zp_kernel_unpack_sums,
                        zp_launch_limb_runs(p->runs.here, p->runs.n), p, o->r->reduce);
}

/* All that the rank holds of a bucket, range r, to or from limbs in `recv`. */
static int repack(const zp_cuda_ops *o, const zp_op *op, zp_range r, int back)
{
  void *limbs = o->buffers->recv;
  zp_packed_params p = {
      .packed = zp_cuda_sums_of(o->buffers, op->flat, r), .f16 = is_f16(o, op->flat), .n = r.count};
  if (r.count == 0) return 0;
  p.runs.n = 1;
  p.runs.here[0] = (zp_memory_run){.in = limbs, .out = limbs, .count = r.count};
  zp_cuda_lay_runs(&p.runs);
  return launch_repack(o, &p, back);
}

/* The exact sums of all members, of range r: what the rank holds of a bucket. SUM-6 */
static int all_reduce_limbs(const zp_cuda_ops *o, const zp_op *op, zp_range r)
{
  void *sum = zp_cuda_sums_of(o->buffers, op->flat, r), *limbs = o->buffers->recv;
  if (!is_packed(o)) {
    ZP_TRY(carry(o, sum, r.count));
    return zp_cuda_all_reduce(o->comms, op, sum, sum, op->count, ZP_I64);
  }
  ZP_TRY(repack(o, op, r, 0));
  ZP_TRY(zp_cuda_all_reduce(o->comms, op, limbs, limbs, op->count, ZP_I64));
  return repack(o, op, r, 1);
}

/* `native`: the sum of all ranks, of the whole or of this rank's part. */
static int reduce_natively(const zp_cuda_ops *o, const zp_op *op, const void *from, void *to)
{
  if (op->kind == ZP_OP_ALL_REDUCE)
    return zp_cuda_all_reduce(o->comms, op, from, to, op->count, ZP_F32);
  return zp_cuda_reduce_scatter(o->comms, op, from, to, op->count, ZP_F32);
}

/* Stage 2, `native`: the sum of the ranks, added to the shard. */
static int reduce_slot_natively(const zp_cuda_ops *o, const zp_op *op, float *sum)
{
  void *recv = o->buffers->recv;
  zp_add_params add = {.dtype = ZP_F32, .members = 1, .n = op->count, .own_in = recv, .out = sum};
  ZP_TRY(reduce_natively(o, op, zp_cuda_slot(o->buckets, op, 0), op->mb == 0 ? sum : recv));
  ZP_TRY(zp_cuda_release_slot(o->buckets, op));
  if (op->mb == 0) return 0;
  return zp_cuda_launch(o->r, zp_kernel_add_ordered, zp_launch_elements(add.n), &add, o->r->reduce);
}

/* Stage 2: a micro-batch's bucket. */
static int reduce_slot(const zp_cuda_ops *o, const zp_op *op)
{
  const int32_t dtype = zp_cuda_gradient_dtype(&o->r->plan, op->flat);
  const char *slot = zp_cuda_slot(o->buckets, op, 0);
  char *sum = zp_cuda_sums_of(o->buffers, op->flat, owned_range(o, op));
  if (o->r->opt.native) return reduce_slot_natively(o, op, (float *)(void *)sum);
  ZP_TRY(zp_cuda_exchange_parts(o->comms, op, slot, o->buffers->recv, op->count, dtype));
  ZP_TRY(add_parts(o, op, slot, op->count, dtype, op->mb == 0, sum));
  return zp_cuda_release_slot(o->buckets, op);
}

/* Stages 0 and 1, `ordered`: the window's sums; at stage 0 all members get all parts' sums. */
static int reduce_ordered(const zp_cuda_ops *o, const zp_op *op, const char *window)
{
  const zp_range part = owned_range(o, op), local = local_range(o, op);
  void *own = zp_cuda_sums_of(o->buffers, op->flat, part);
  ZP_TRY(zp_cuda_exchange_parts(o->comms, op, window, o->buffers->recv, part.count, ZP_F32));
  ZP_TRY(add_parts(o, op, window, part.count, ZP_F32, 1, own));
  if (op->kind != ZP_OP_ALL_REDUCE || part.count == local.count) return 0;
  return zp_cuda_all_gather(o->comms, op, own, zp_cuda_sums_of(o->buffers, op->flat, local),
                            part.count, ZP_F32);
}

/* Stages 0 and 1, `exact`. */
static int reduce_limbs(const zp_cuda_ops *o, const zp_op *op, char *window)
{
  void *sums = zp_cuda_sums_of(o->buffers, op->flat, local_range(o, op));
  ZP_TRY(carry(o, window, whole_range(o, op).count));
  if (op->kind == ZP_OP_ALL_REDUCE)
    return zp_cuda_all_reduce(o->comms, op, window, sums, op->count, ZP_I64);
  return zp_cuda_reduce_scatter(o->comms, op, window, sums, op->count, ZP_I64);
}

/* The ledger has what was issued: `native` sums fp32. RED-7 */
static void report_reduction(const zp_cuda_ops *o, const zp_op *op)
{
  zp_op issued = *op;
  if (o->r->opt.native) {
    issued.dtype = ZP_F32;
    issued.redop = ZP_RED_SUM;
  }
  zp_cuda_issued(o->r, &issued);
}

int zp_cuda_reduce(const zp_cuda_ops *o, const zp_op *op)
{
  const zp_cuda_plan *p = &o->r->plan;
  zp_cuda_flat *s = &o->buffers->flat[op->flat];
  char *window = s->window ? zp_cuda_sum(p, op->flat, s->window, whole_range(o, op).at) : NULL;
  ZP_TRY(zp_cuda_wait_for_producers(o->buckets, op));
  if (p->cfg->stage == 2) ZP_TRY(reduce_slot(o, op));
  else if (is_exact(o)) ZP_TRY(reduce_limbs(o, op, window));
  else if (o->r->opt.native)
    ZP_TRY(
        reduce_natively(o, op, window, zp_cuda_sums_of(o->buffers, op->flat, local_range(o, op))));
  else ZP_TRY(reduce_ordered(o, op, window));
  report_reduction(o, op);
  return end_sum(o, op);
}

/* Every member gets all members' sums, and adds them in the members' order. */
static int add_members(const zp_cuda_ops *o, const zp_op *op, void *sum, int64_t n)
{
  const zp_cuda_plan *p = &o->r->plan;
  zp_add_params add = {.dtype = ZP_F32,
                       .members = zp_block_group_size(&p->block, op->group, op->key),
                       .own = -1,
                       .first = 1,
                       .n = n,
                       .stride = n * 4,
                       .parts = o->buffers->recv,
                       .out = sum};
  ZP_TRY(zp_cuda_all_gather(o->comms, op, sum, o->buffers->recv, n, ZP_F32));
  return zp_cuda_launch(o->r, zp_kernel_add_ordered, zp_launch_elements(n), &add, o->r->reduce);
}

/* ---- Sums between replicas ------------------------------------------------------------------- */

int zp_cuda_reduce_replica(const zp_cuda_ops *o, const zp_op *op)
{
  const zp_range r = local_range(o, op);
  void *sum = zp_cuda_sums_of(o->buffers, op->flat, r);
  if (o->r->opt.native) ZP_TRY(reduce_natively(o, op, sum, sum));
  else if (!is_exact(o)) ZP_TRY(add_members(o, op, sum, r.count));
  else ZP_TRY(all_reduce_limbs(o, op, r));
  report_reduction(o, op);
  return end_sum(o, op);
}

/* ---- Tied sums ------------------------------------------------------------------------------- */

/* Further uses of the key on this stage are added to the holder's sum. TIE-2 */
static int add_uses(const zp_cuda_ops *o, const zp_op *op, void *sum, int64_t n)
{
  const zp_cuda_plan *p = &o->r->plan;
  const int exact = is_exact(o);
  const void *kernel = is_packed(o) ? zp_kernel_add_packed : zp_kernel_add_ordered;
  for (int32_t k = 0; k < p->lay.n_flats; k++) {
    const zp_range r = k == op->flat || p->lay.flat[k].tied != op->key
                           ? (zp_range){0}
                           : zp_local_range(&p->block.cfg, &p->lay, p->block.at, k, op->bucket);
    zp_add_params add = {.dtype = exact ? ZP_I64 : ZP_F32,
                         .f16 = is_f16(o, op->flat),
                         .members = 1,
                         .n = n,
                         .out = sum};
    if (r.count == 0) continue;
    add.own_in = zp_cuda_sums_of(o->buffers, k, r);
    zp_add_exact_params limbs = {n, add.own_in, sum};
    const zp_launch l = exact ? zp_launch_limbs(n, 2) : zp_launch_elements(n);
    if (exact && !is_packed(o))
      ZP_TRY(zp_cuda_launch(o->r, zp_kernel_add_exact, l, &limbs, o->r->reduce));
    else ZP_TRY(zp_cuda_launch(o->r, kernel, l, &add, o->r->reduce));
  }
  return 0;
}

int zp_cuda_reduce_tied(const zp_cuda_ops *o, const zp_op *op)
{
  const zp_range r = local_range(o, op);
  void *sum = zp_cuda_sums_of(o->buffers, op->flat, r);
  ZP_TRY(add_uses(o, op, sum, r.count));
  if (o->r->opt.native) ZP_TRY(reduce_natively(o, op, sum, sum));
  else if (!is_exact(o)) ZP_TRY(add_members(o, op, sum, r.count));
  else ZP_TRY(all_reduce_limbs(o, op, r));
  report_reduction(o, op);
  return end_sum(o, op);
}

/* ---- Sums over tp ---------------------------------------------------------------------------- */

/* The sums of a range's partial entries, between the range and the packed array. next: elements
 * packed so far. */
typedef struct packing {
  char *sums, *packed;
  int64_t *next;
  int64_t bytes;   /* of a sum in the packed array */
  int back, limbs; /* limbs: of sums that are packed themselves (SUM-8) */
} packing;

static void put_packed(const void *ctx, zp_piece g, zp_memory_run *run)
{
  const packing *c = ctx;
  char *packed = c->packed + *c->next * c->bytes;
  char *sum = c->limbs ? NULL : c->sums + g.in * c->bytes;
  run->in = c->back ? packed : sum;
  run->out = c->back ? sum : packed;
  run->at = g.in;
  run->count = c->limbs ? g.count : g.count * c->bytes / 4;
  *c->next += g.count;
}

/* Packs them and the padding after them, or back: unpacks. Returns 0, or -1. */
static int pack(const zp_cuda_ops *o, const zp_op *op, int back)
{
  const zp_cuda_plan *p = &o->r->plan;
  const zp_range r = local_range(o, op);
  int64_t next = 0;
  const packing c = {.sums = zp_cuda_sums_of(o->buffers, op->flat, r),
                     .packed = o->buffers->partial,
                     .next = &next,
                     .bytes = zp_sum_bytes(p->cfg->reduce),
                     .back = back,
                     .limbs = is_packed(o)};
  zp_scatter_params copy = {.bytes = 4};
  zp_packed_params sums = {.packed = c.sums, .f16 = is_f16(o, op->flat), .n = r.count};
  zp_memory_runs *runs = c.limbs ? &sums.runs : &copy.runs;
  int32_t i = p->lay.n_params;
  while (zp_cuda_next_padded_runs(p, op->flat, r, &i, p->partial, put_packed, &c, runs)) {
    if (c.limbs) ZP_TRY(launch_repack(o, &sums, back));
    else
      ZP_TRY(zp_cuda_launch(o->r, zp_kernel_scatter, zp_launch_runs(copy.runs.here, copy.runs.n),
                            &copy, o->r->reduce));
  }
  return 0;
}

int zp_cuda_reduce_partial(const zp_cuda_ops *o, const zp_op *op)
{
  void *packed = o->buffers->partial;
  if (op->count == 0) { /* this rank's part of the bucket has no such entry */
    report_reduction(o, op);
    return 0;
  }
  ZP_TRY(pack(o, op, 0));
  if (o->r->opt.native) ZP_TRY(reduce_natively(o, op, packed, packed));
  else if (!is_exact(o)) ZP_TRY(add_members(o, op, packed, op->count));
  else {
    if (!is_packed(o)) ZP_TRY(carry(o, packed, op->count / ZP_LIMBS)); /* these are carried */
    ZP_TRY(zp_cuda_all_reduce(o->comms, op, packed, packed, op->count, ZP_I64));
  }
  report_reduction(o, op);
  ZP_TRY(pack(o, op, 1));
  return end_sum(o, op);
}
