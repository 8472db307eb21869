/* Reductions of gradients: parts are exchanged directly, and the owner adds them in the order of
 * the ranks; sums in limbs are NCCL's, as integers add up alike in any order. `native` leaves the
 * additions of `ordered` between ranks to NCCL, too, whose order nobody fixes: in fp32, as all
 * accumulation is, so that 16-bit gradients are widened before they are sent.
 * spec: RED-2 … RED-5, RED-7, TIE-1, TIE-2, STAT-2 */
#include "engine_internal.h"

/* Where the parts of other ranks are put. */
static char *parts_of(const zp_cuda *e, const zp_op *op)
{
  if (e->cfg->stage == 2 && zp_cuda_planted(e, ZP_PLANT_SHARED_BUFFER))
    return e->flat[op->flat].slot[1 - op->slot];
  return e->recv;
}

/* Parts of n elements each: part r of `from` goes to member r, those of member r come to
 * parts_of + r parts; the own part stays where it is. */
static int exchange_parts(zp_cuda *e, const zp_op *op, const char *from, int64_t n, int32_t dtype)
{
  const ncclComm_t comm = zp_cuda_comm(e, op);
  const int32_t members = zp_group_size(e->cfg, op->group, op->key, e->at);
  const int32_t own = zp_group_index(e->cfg, op->group, op->key, e->at);
  const int64_t bytes = n * zp_dtype_bytes(dtype);
  ncclResult_t sent = ncclSuccess, received = ncclSuccess, ended;
  if (members == 1) return 0;
  ZP_TRY(zp_cuda_comm_begin(e, e->reduce));
  ZP_NCCL(e, ncclGroupStart());
  for (int32_t r = 0; r < members; r++) {
    if (r == own) continue;
    if (sent == ncclSuccess || sent == ncclInProgress)
      sent = ncclSend(from + r * bytes, (size_t)n, zp_cuda_dtype(dtype), r, comm, e->reduce);
    if (received == ncclSuccess || received == ncclInProgress)
      received = ncclRecv(parts_of(e, op) + r * bytes, (size_t)n, zp_cuda_dtype(dtype), r, comm,
                          e->reduce);
  }
  ended = ncclGroupEnd(); /* whatever happened: a group stays open else */
  ZP_TRY(zp_cuda_check_nccl(e, sent, "ncclSend"));
  ZP_TRY(zp_cuda_check_nccl(e, received, "ncclRecv"));
  ZP_TRY(zp_cuda_check_nccl(e, ended, "ncclGroupEnd"));
  return zp_cuda_comm_end(e, comm, e->reduce);
}

/* Adds up the parts, as they came, into `out`. */
static int add_parts(zp_cuda *e, const zp_op *op, const char *from, int64_t n, int32_t dtype,
                     int first, void *out)
{
  const int32_t own = zp_group_index(e->cfg, op->group, op->key, e->at);
  const int64_t bytes = n * zp_dtype_bytes(dtype);
  zp_add_params p = {.dtype = dtype,
                     .members = zp_group_size(e->cfg, op->group, op->key, e->at),
                     .own = own,
                     .first = first,
                     .n = n,
                     .stride = bytes,
                     .parts = parts_of(e, op),
                     .own_in = from + own * bytes,
                     .out = out};
  const int exact = e->cfg->reduce == ZP_EXACT;
  return zp_cuda_launch(e, exact ? zp_kernel_add_exact : zp_kernel_add_ordered,
                        exact ? zp_launch_limbs(n, 2) : zp_launch_elements(n), &p, e->reduce);
}

static int settle(zp_cuda *e, void *limbs, int64_t n)
{
  zp_settle_params p = {n, limbs};
  return zp_cuda_launch(e, zp_kernel_settle, zp_launch_limbs(n, 1), &p, e->reduce);
}

/* Every stream that filled the bucket; where there is none, this stream did, if anybody. */
static int wait_for_producers(zp_cuda *e, zp_cuda_flat *s, const zp_op *op)
{
  int32_t n = s->producers;
  s->producers = 0;
  /* gradients are behind all that compute had been given before their backward */
  if (n > 0 && (e->cfg->stage < 2 || op->mb == e->cfg->micro_batches - 1)) e->behind_forward = 1;
  if (e->opt.fault) ZP_TRY(zp_cuda_plant_producers(e, s, op, &n));
  for (int32_t i = 0; i < n; i++)
    ZP_TRY(zp_cuda_wait(e, ZP_SITE_COPIED_WAIT, e->reduce, s->copied[i]));
  return 0;
}

/* `native`: the sum of all ranks, of the whole or of this rank's part. */
static int reduce_natively(zp_cuda *e, const zp_op *op, const void *from, void *to)
{
  const ncclComm_t comm = zp_cuda_comm(e, op);
  const size_t n = (size_t)op->count;
  ZP_TRY(zp_cuda_comm_begin(e, e->reduce));
  if (op->kind == ZP_OP_ALL_REDUCE)
    ZP_NCCL(e, ncclAllReduce(from, to, n, ncclFloat32, ncclSum, comm, e->reduce));
  else ZP_NCCL(e, ncclReduceScatter(from, to, n, ncclFloat32, ncclSum, comm, e->reduce));
  return zp_cuda_comm_end(e, comm, e->reduce);
}

/* The reduction does not read the slot any more. */
static int free_slot(zp_cuda *e, zp_cuda_flat *s, int32_t slot)
{
  s->read[slot] = ++e->reductions;
  if (!zp_cuda_is_wanted(e)) return 0;
  return zp_cuda_record(e, ZP_SITE_FREE_RECORD, s->free[slot], e->reduce);
}

/* Stage 2, `native`: widened, which frees the slot, reduced, and added to the shard. */
static int reduce_slot_natively(zp_cuda *e, const zp_op *op, float *sum)
{
  zp_cuda_flat *s = &e->flat[op->flat];
  const int wide = e->cfg->precision == ZP_F32;
  zp_gather_params g = {.dtype = e->cfg->precision, .first = 1, .runs.n = 1};
  zp_add_params add = {
      .dtype = ZP_F32, .members = 1, .n = op->count, .own_in = e->recv, .out = sum};
  g.runs.here[0].in = zp_cuda_slot(e, op);
  g.runs.here[0].out = e->send;
  g.runs.here[0].count = zp_whole_range(&e->lay.flat[op->flat], op->bucket).count;
  zp_cuda_lay(&g.runs);
  if (!wide) {
    ZP_TRY(
        zp_cuda_launch(e, zp_kernel_gather_ordered, zp_launch_runs(g.runs.here, 1), &g, e->reduce));
    ZP_TRY(free_slot(e, s, op->slot));
  }
  ZP_TRY(reduce_natively(e, op, wide ? zp_cuda_slot(e, op) : e->send, op->mb == 0 ? sum : e->recv));
  if (wide) ZP_TRY(free_slot(e, s, op->slot));
  if (op->mb == 0) return 0;
  return zp_cuda_launch(e, zp_kernel_add_ordered, zp_launch_elements(add.n), &add, e->reduce);
}

/* Stage 2: a micro-batch's bucket, in the precision. */
static int reduce_slot(zp_cuda *e, const zp_op *op)
{
  zp_cuda_flat *s = &e->flat[op->flat];
  const zp_range part = zp_owned_range(e->cfg, &e->lay, e->at, op->flat, op->bucket);
  const char *slot = zp_cuda_slot(e, op);
  char *sum = zp_cuda_sum(e, s->reduced, part.at);
  if (e->opt.native) return reduce_slot_natively(e, op, (float *)(void *)sum);
  ZP_TRY(exchange_parts(e, op, slot, op->count, e->cfg->precision));
  ZP_TRY(add_parts(e, op, slot, op->count, e->cfg->precision, op->mb == 0, sum));
  return free_slot(e, s, op->slot);
}

/* Stages 0 and 1, `ordered`: the window's sums; at stage 0 all members get all parts' sums. */
static int reduce_ordered(zp_cuda *e, const zp_op *op, const char *window)
{
  const ncclComm_t comm = zp_cuda_comm(e, op);
  const zp_range part = zp_owned_range(e->cfg, &e->lay, e->at, op->flat, op->bucket);
  const zp_range local = zp_local_range(e->cfg, &e->lay, e->at, op->flat, op->bucket);
  float *reduced = e->flat[op->flat].reduced;
  ZP_TRY(exchange_parts(e, op, window, part.count, ZP_F32));
  ZP_TRY(add_parts(e, op, window, part.count, ZP_F32, 1, reduced + part.at));
  if (op->kind != ZP_OP_ALL_REDUCE || part.count == local.count) return 0;
  ZP_TRY(zp_cuda_comm_begin(e, e->reduce));
  ZP_NCCL(e, ncclAllGather(reduced + part.at, reduced + local.at, (size_t)part.count, ncclFloat32,
                           comm, e->reduce));
  return zp_cuda_comm_end(e, comm, e->reduce);
}

/* Stages 0 and 1, `exact`. */
static int reduce_limbs(zp_cuda *e, const zp_op *op, char *window, int64_t n)
{
  const ncclComm_t comm = zp_cuda_comm(e, op);
  const zp_range local = zp_local_range(e->cfg, &e->lay, e->at, op->flat, op->bucket);
  void *reduced = zp_cuda_sum(e, e->flat[op->flat].reduced, local.at);
  ZP_TRY(settle(e, window, n));
  ZP_TRY(zp_cuda_comm_begin(e, e->reduce));
  if (op->kind == ZP_OP_ALL_REDUCE)
    ZP_NCCL(e,
            ncclAllReduce(window, reduced, (size_t)op->count, ncclInt64, ncclSum, comm, e->reduce));
  else
    ZP_NCCL(e, ncclReduceScatter(window, reduced, (size_t)op->count, ncclInt64, ncclSum, comm,
                                 e->reduce));
  return zp_cuda_comm_end(e, comm, e->reduce);
}

/* The ledger has what was issued: `native` sums fp32. RED-7 */
static void note_reduction(zp_cuda *e, const zp_op *op)
{
  zp_op issued = *op;
  if (e->opt.native) {
    issued.dtype = ZP_F32;
    issued.redop = ZP_RED_SUM;
  }
  zp_cuda_issued(e, &issued);
}

int zp_cuda_reduce(zp_cuda *e, const zp_op *op)
{
  zp_cuda_flat *s = &e->flat[op->flat];
  const zp_range whole = zp_whole_range(&e->lay.flat[op->flat], op->bucket);
  const zp_range local = zp_local_range(e->cfg, &e->lay, e->at, op->flat, op->bucket);
  char *window = s->window ? zp_cuda_sum(e, s->window, whole.at) : NULL;
  ZP_TRY(wait_for_producers(e, s, op));
  if (e->cfg->stage == 2) ZP_TRY(reduce_slot(e, op));
  else if (e->cfg->reduce == ZP_EXACT) ZP_TRY(reduce_limbs(e, op, window, whole.count));
  else if (e->opt.native)
    ZP_TRY(reduce_natively(e, op, window, zp_cuda_sum(e, s->reduced, local.at)));
  else ZP_TRY(reduce_ordered(e, op, window));
  if (e->opt.fault) ZP_TRY(zp_cuda_plant_reduced(e, op));
  note_reduction(e, op);
  return 0;
}

/* ---- Tied sums ------------------------------------------------------------------------------- */

/* Further uses of the key on this stage are added to the holder's sum. TIE-2 */
static int add_uses(zp_cuda *e, const zp_op *op, void *sum, int64_t n)
{
  const int exact = e->cfg->reduce == ZP_EXACT;
  for (int32_t k = 0; k < e->lay.n_flats; k++) {
    const zp_range r = k == op->flat || e->lay.flat[k].tied != op->key
                           ? (zp_range){0}
                           : zp_local_range(e->cfg, &e->lay, e->at, k, op->bucket);
    zp_add_params p = {.dtype = exact ? ZP_I64 : ZP_F32, .members = 1, .n = n, .out = sum};
    if (r.count == 0) continue;
    p.own_in = zp_cuda_sum(e, e->flat[k].reduced, r.at);
    ZP_TRY(zp_cuda_launch(e, exact ? zp_kernel_add_exact : zp_kernel_add_ordered,
                          exact ? zp_launch_limbs(n, 2) : zp_launch_elements(n), &p, e->reduce));
  }
  return exact ? settle(e, sum, n) : 0;
}

/* Every stage gets all stages' sums, and adds them in the stages' order. */
static int add_stages(zp_cuda *e, const zp_op *op, void *sum, int64_t n)
{
  const ncclComm_t comm = zp_cuda_comm(e, op);
  zp_add_params p = {.dtype = ZP_F32,
                     .members = zp_group_size(e->cfg, op->group, op->key, e->at),
                     .own = -1,
                     .first = 1,
                     .n = n,
                     .stride = n * 4,
                     .parts = e->recv,
                     .out = sum};
  ZP_TRY(zp_cuda_comm_begin(e, e->reduce));
  ZP_NCCL(e, ncclAllGather(sum, e->recv, (size_t)n, ncclFloat32, comm, e->reduce));
  ZP_TRY(zp_cuda_comm_end(e, comm, e->reduce));
  return zp_cuda_launch(e, zp_kernel_add_ordered, zp_launch_elements(n), &p, e->reduce);
}

int zp_cuda_reduce_tied(zp_cuda *e, const zp_op *op)
{
  const zp_range r = zp_local_range(e->cfg, &e->lay, e->at, op->flat, op->bucket);
  const ncclComm_t comm = zp_cuda_comm(e, op);
  void *sum = zp_cuda_sum(e, e->flat[op->flat].reduced, r.at);
  ZP_TRY(add_uses(e, op, sum, r.count));
  if (e->opt.native) ZP_TRY(reduce_natively(e, op, sum, sum));
  else if (e->cfg->reduce == ZP_ORDERED) ZP_TRY(add_stages(e, op, sum, r.count));
  else {
    ZP_TRY(zp_cuda_comm_begin(e, e->reduce));
    ZP_NCCL(e, ncclAllReduce(sum, sum, (size_t)op->count, ncclInt64, ncclSum, comm, e->reduce));
    ZP_TRY(zp_cuda_comm_end(e, comm, e->reduce));
  }
  note_reduction(e, op);
  return 0;
}

/* ---- Means ----------------------------------------------------------------------------------- */

static void put_square(const zp_cuda *e, void *ctx, zp_piece g, zp_memory_run *run)
{
  (void)e;
  run->in = (const float *)ctx + g.in;
}

/* Squares of the elements of this rank's part that it counts. STAT-2 */
static int count_squares(zp_cuda *e, const zp_op *op)
{
  const zp_range r = zp_owned_range(e->cfg, &e->lay, e->at, op->flat, op->bucket);
  zp_squares_params p = {.dtype = ZP_F32, .tally = e->tally};
  int32_t i = e->lay.n_params;
  while (zp_cuda_runs(e, op->flat, r, &i, e->counts, put_square, e->flat[op->flat].mean + r.at,
                      &p.runs)) {
    p.lanes = zp_squares_lanes(p.runs.here, p.runs.n);
    ZP_TRY(zp_cuda_launch(e, zp_kernel_squares, zp_launch_squares(p.runs.here, p.runs.n), &p,
                          e->reduce));
  }
  return 0;
}

int zp_cuda_mean(zp_cuda *e, const zp_op *op)
{
  const zp_range r = zp_local_range(e->cfg, &e->lay, e->at, op->flat, op->bucket);
  zp_cuda_flat *s = &e->flat[op->flat];
  zp_mean_params p = {.n = r.count,
                      .divisor = e->cfg->micro_batches * e->cfg->dp,
                      .sum = zp_cuda_sum(e, s->reduced, r.at),
                      .mean = s->mean + r.at,
                      .nonfinite = &e->tally->nonfinite};
  const int exact = e->cfg->reduce == ZP_EXACT;
  ZP_TRY(zp_cuda_launch(e, exact ? zp_kernel_mean_exact : zp_kernel_mean_ordered,
                        exact ? zp_launch_limbs(p.n, 1) : zp_launch_elements(p.n), &p, e->reduce));
  if (e->opt.offload) ZP_TRY(zp_cuda_send_means(e, op, r));
  return count_squares(e, op);
}
