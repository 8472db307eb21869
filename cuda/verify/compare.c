/* spec: NUM-4, STEP-5 … STEP-9, STAT-4, STAT-5, SCALE-3, LEDG-1 */
#include <string.h>

#include "../../ref/engine/bucket_slots.h"
#include "../../ref/engine/early.h"
#include "same_bits.h"
#include "state.h"

static int wrong(const zp_diff_rank *w, const char *kind, const char *what, int64_t at)
{
  return zp_diff_fail(w->t, kind, "rank %d (stage %d, dp %d, tp %d): %s %lld differs from ref",
                      w->rank, w->at.pp, w->at.dp, w->at.tp, what, (long long)at);
}

static int same_scaler(const zp_scaler *a, const zp_scaler *b)
{
  return a->log2_scale == b->log2_scale && a->iter == b->iter &&
         a->last_overflow == b->last_overflow && a->hysteresis_left == b->hysteresis_left;
}

/* Reports the step's result to the caller. */
static void report_result(const zp_diff_rank *w, const zp_decision *d)
{
  const zp_step_result r = {.step = w->t->base + w->steps_done - 1,
                            .loss = d->loss,
                            .norm_f64 = d->norm_f64,
                            .norm_f32 = d->norm_f32,
                            .clip_factor = d->clip_factor,
                            .log2_scale = d->log2_scale,
                            .skipped = d->skipped,
                            .nonfinite = d->nonfinite};
  if (w->rank == 0 && w->t->watch.engine) w->t->watch.engine(w->t->watch.ctx, &r);
}

int zp_diff_compare_state(zp_diff_rank *w, const zp_step_state *s)
{
  const int32_t step = w->steps_done - 1;
  const zp_step_result *r = &w->t->ref.result[step];
  const zp_decision *d = &s->decision;
  if (*w->model.refused) /* other differences result from it */
    return zp_diff_fail(w->t, "PIPE-6",
                        "rank %d: up to step %d the model received a wrong message %d times",
                        w->rank, step, *w->model.refused);
  if (s->step != w->t->base + w->steps_done)
    return wrong(w, "STEP-9", "the number of steps after step", step);
  if (d->skipped != r->skipped) return wrong(w, "STEP-6", "skipped in step", step);
  if (d->loss != r->loss) return wrong(w, "STAT-5", "the loss of step", step);
  if (d->norm_f64 != r->norm_f64 || d->norm_f32 != r->norm_f32)
    return wrong(w, "STAT-4", "the norm of step", step);
  if (d->log2_scale != r->log2_scale || memcmp(&d->clip_factor, &r->clip_factor, 8) != 0)
    return wrong(w, "STEP-6", "scale or clip factor of step", step);
  if (!same_scaler(&s->scaler, &w->t->ref.scaler[step]))
    return wrong(w, "SCALE-3", "the scaler after step", step);
  report_result(w, d);
  return 0;
}

static int same_array(zp_diff_rank *w, const char *what, int32_t k, const float *a, const float *b,
                      int64_t n)
{
  const int64_t at = zp_first_difference(ZP_F32, a, b, n);
  if (at < 0) return 0;
  return zp_diff_fail(w->t, "STEP-7",
                      "rank %d (stage %d, dp %d, tp %d): %s of flat group %d, element %lld of "
                      "the shard is %.9g, ref has %.9g",
                      w->rank, w->at.pp, w->at.dp, w->at.tp, what, k, (long long)at, (double)b[at],
                      (double)a[at]);
}

int zp_diff_compare_memory(zp_diff_rank *w)
{
  const zp_rank *r = zp_sim_rank(w->t->ref.sim, w->rank);
  for (int32_t k = 0; k < r->lay.n_flats; k++) {
    const zp_flat_state *a = &r->flat[k];
    const zp_cuda_arrays b = zp_cuda_arrays_of(w->e, k);
    if (r->lay.flat[k].use != 0) continue;
    if (same_array(w, "masters", k, a->master, b.master, a->extent) ||
        same_array(w, "first moments", k, a->moment1, b.moment1, a->extent) ||
        same_array(w, "second moments", k, a->moment2, b.moment2, a->extent))
      return 1;
  }
  for (int32_t i = 0; i < r->lay.n_params; i++) {
    const int32_t j = r->lay.first_param + i;
    if (zp_first_difference(zp_entry_dtype(r->cfg, j), r->param[i], zp_cuda_param(w->e, j),
                            r->cfg->params[j].numel) >= 0)
      return wrong(w, "STEP-8", "parameter", j);
  }
  return 0;
}

/* Forward and the end of backward read the parameters of their step. */
int zp_diff_compare_seen(zp_diff_rank *w)
{
  const zp_diff *t = w->t;
  const int64_t n = t->cfg->micro_batches * 2;
  for (int64_t i = 0; i < t->steps * n; i++)
    if (w->model.seen[i] != t->ref.params[i / n * t->world + w->rank])
      return wrong(w, "STEP-8", "a hash of the parameters that the model read in step", i / n);
  return 0;
}

/* The op that the engine issues for an op of ref. RED-7 */
static zp_op as_issued(const zp_diff *t, const zp_op *op)
{
  zp_op a = *op;
  if (t->now.native && (op->what == ZP_WHAT_GRADIENT || op->what == ZP_WHAT_TIED ||
                        op->what == ZP_WHAT_PARTIAL || op->what == ZP_WHAT_REPLICA)) {
    a.redop = ZP_RED_SUM;
    a.dtype = ZP_F32;
  }
  return a;
}

/* Op by op. The engine issues the gathers of a skipped step; ref does not. */
int zp_diff_compare_ledger(zp_diff_rank *w)
{
  const zp_diff_ledger *ref = &w->t->ref.ledger[w->rank];
  zp_diff_ledger_cursor at = {0}, ref_at = {0};
  int32_t step = 0, ref_step = 0;
  int64_t n = 0;
  const zp_op *op, *ref_op;
  while ((op = zp_diff_ledger_next(&w->issued, &at, &step)) != NULL) {
    if (step >= 0 && op->if_stepped && w->t->ref.result[step].skipped) continue;
    ref_op = zp_diff_ledger_next(ref, &ref_at, &ref_step);
    if (ref_op == NULL || ref_step != step)
      return wrong(w, "LEDG-1", "the ledger at communication", n);
    const zp_op want = as_issued(w->t, ref_op);
    if (!zp_diff_same_op(&want, op)) return wrong(w, "LEDG-1", "the ledger at communication", n);
    n++;
  }
  return zp_diff_ledger_next(ref, &ref_at, &ref_step) ? wrong(w, "LEDG-1", "the ledger's end at", n)
                                                      : 0;
}

/* The engine waits once for each meta message, one per micro-batch, and with offload once a step.
 * PIPE-6, STRM-9 */
int zp_diff_compare_waits(zp_diff_rank *w)
{
  const int64_t offloads = w->t->now.offload && zp_cuda_host_updates(w->e) > 0 ? w->steps_done : 0;
  if (zp_cuda_offload_waits(w->e) != offloads)
    return wrong(w, "STRM-9", "the number of offload waits; expected", offloads);
  const zp_config *c = w->t->cfg;
  const int64_t want = c->dynamic_shapes && w->at.pp > 0 ? w->steps_done * c->micro_batches : 0;
  return zp_cuda_meta_waits(w->e) == want
             ? 0
             : wrong(w, "PIPE-6", "the number of waits for meta messages; expected", want);
}

/* What the rank's process has made so far; 0 for ranks that share one. */
static int64_t created_by(const zp_diff_rank *w)
{
  if (zp_ranks_as != ZP_RANKS_PROCESSES) return 0;
  return simdev_created(w->t->simulation.now, w->rank);
}

void zp_diff_count_created(zp_diff_rank *w)
{
  w->created = created_by(w);
}

/* STRM-7 */
int zp_diff_compare_created(zp_diff_rank *w)
{
  const int64_t made = created_by(w) - w->created;
  if (made == 0) return 0;
  return zp_diff_fail(w->t, "STRM-7",
                      "rank %d: in the steps up to step %d, %lld allocations, streams, events and "
                      "communicators were made; expected none",
                      w->rank, w->steps_done - 1, (long long)made);
}

/* Where gathers write the parameters, too. STEP-8 */
static int compare_alignment(zp_diff_rank *w, const zp_layout *lay)
{
  for (int32_t i = lay->first_param; i < lay->first_param + lay->n_params; i++)
    if ((uintptr_t)zp_cuda_param(w->e, i) % ZP_VIEW_BYTES != 0)
      return zp_diff_fail(w->t, "STEP-8",
                          "rank %d: parameter %d does not start at a multiple of %d bytes", w->rank,
                          i, ZP_VIEW_BYTES);
  return 0;
}

/* Slots and scratch take at most two buckets more than there are slots, 4 bytes an element. Left
 * out is scratch for sums of several ranks that are added one by one, or as limbs. STRM-2 */
static int compare_slots(zp_diff_rank *w, const zp_config *sized, const zp_cuda_memory *m)
{
  const zp_config *c = w->t->cfg;
  const zp_layout *lay = zp_cuda_layout_of(w->e);
  const int64_t slots = zp_slot_count(sized, lay, w->t->hyper->slots);
  const int64_t most = (slots + 2) * zp_slot_elements(lay) * 4;
  const int64_t bytes = m->planned.slots + m->planned.scratch + m->sums;
  if (c->stage < 2 || c->tied_keys > 0 || c->sequence_parallel || zp_replicas(w->t->hyper) > 1)
    return 0;
  return bytes <= most ? 0 : wrong(w, "STRM-2", "memory for slots and scratch; at most", most);
}

/* The allocated memory is the plan's, plus the ring for early gradients. STEP-1 */
int zp_diff_compare_allocation(zp_diff_rank *w)
{
  const zp_config *c = w->t->cfg;
  const zp_layout *lay = zp_cuda_layout_of(w->e);
  const zp_cuda_memory m = zp_cuda_memory_of(w->e);
  const int32_t fp32_gradients = w->t->hyper->fp32_gradients;
  zp_memory want = zp_memory_of(&zp_sim_rank(w->t->ref.sim, w->rank)->block.cfg, lay,
                                w->t->hyper->slots, fp32_gradients);
  zp_early early;
  if (zp_early_open(&early, c, lay, fp32_gradients, zp_diff_early_bytes(w->t)))
    return wrong(w, "STEP-1", "memory", 0);
  const int64_t ring = early.bytes;
  zp_early_close(&early);
  if (w->t->now.offload) want.state = 0; /* it is in host memory */
  want.scratch -= zp_device_spare_limbs(&zp_sim_rank(w->t->ref.sim, w->rank)->block, lay);
  if (memcmp(&m.planned, &want, sizeof want)) return wrong(w, "STEP-1", "planned memory", 0);
  if (compare_alignment(w, lay)) return -1;
  if (compare_slots(w, &zp_sim_rank(w->t->ref.sim, w->rank)->block.cfg, &m)) return -1;
  if (m.staging != ring) return wrong(w, "STEP-1", "memory for staging, bytes:", m.staging);
  if (m.sums > 0 && c->tied_keys == 0 && !c->sequence_parallel && zp_replicas(w->t->hyper) == 1 &&
      !w->t->now.native)
    return wrong(w, "STEP-1", "memory for sums, bytes:", m.sums);
  return 0;
}
