/* The number of ops of the STEP program. spec: LEDG-8 */
#include "step_internal.h"

#include "../../spec/acsl/kept_lemmas.h"
#include "../../spec/acsl/save_lemmas.h"
#include "../../spec/acsl/step_lemmas.h"
#include "../../spec/acsl/step_tail.h"

/* ADD ops of the stage's i-th entry in one micro-batch: the buckets that it lies in. LEDG-8 */
/*@ requires readable: Readable(cfg) && ReadableLayout(lay);
    requires entry: 0 <= i < lay->n_params <= 65536 && 0 <= lay->first_param &&
        lay->first_param + lay->n_params <= cfg->n_params <= 65536 && EntryFits(cfg, lay, i);
    terminates \true; exits \false;
    assigns \nothing;
    ensures length: \result == RawLen(cfg, lay, i, 0);
    ensures range: 0 <= \result <= 1099511627776; */
static int64_t count_runs(const zp_config *cfg, const zp_layout *lay, int32_t i)
{
  const int32_t k = lay->spot[i].flat;
  const int64_t numel = cfg->params[lay->first_param + i].numel;
  if (k < 0 || numel == 0) return 0;
  const int64_t first = lay->spot[i].start, last = first + numel - 1;
  return last / lay->flat[k].capacity - first / lay->flat[k].capacity + 1;
}

/* ADD ops of one micro-batch. lay must be the layout of its stage. LEDG-8 */
/*@ requires config: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && StageSeen(cfg, lay);
    terminates \true; exits \false;
    assigns \nothing;
    ensures length: \result == AllRuns(cfg, lay, lay->n_params);
    ensures range: 0 <= \result <= 72057594037927936; */
static int64_t count_adds(const zp_config *cfg, const zp_layout *lay)
{
  int64_t n = 0;
  /*@ loop invariant range: 0 <= i <= lay->n_params;
      loop invariant length: n == AllRuns(cfg, lay, i);
      loop invariant low: 0 <= n <= i * 1099511627776;
      loop assigns i, n;
      loop variant lay->n_params - i; */
  for (int32_t i = 0; i < lay->n_params; i++) {
    //@ assert fits: EntryFits(cfg, lay, i);
    n += count_runs(cfg, lay, i);
  }
  return n;
}

/* Buckets of the stage: of all flat groups, of those with use 0, of tied keys (use 0). */
typedef struct zp_bucket_counts {
  int64_t all, held, tied;
} zp_bucket_counts;

/* Counts them, of the `flats` flat groups at flat. LEDG-8 */
/*@ requires flats: 0 <= flats <= 65536 &&
        (0 < flats ==> \valid_read(flat + (0 .. flats - 1))) && FlatsFine(flat, flats);
    terminates \true; exits \false;
    assigns \nothing;
    ensures all: \result.all == AllOf(flat, flats);
    ensures held: \result.held == Held(flat, flats);
    ensures tied: \result.tied == HeldTied(flat, flats);
    ensures range: 0 <= \result.tied <= \result.held <= \result.all <= 72057594037927936; */
static zp_bucket_counts count_buckets(const zp_flat *flat, int32_t flats)
{
  zp_bucket_counts c = {0, 0, 0};
  /*@ loop invariant range: 0 <= k <= flats;
      loop invariant all: c.all == AllOf(flat, k);
      loop invariant held: c.held == Held(flat, k);
      loop invariant tied: c.tied == HeldTied(flat, k);
      loop invariant order: 0 <= c.tied <= c.held <= c.all <= k * 1099511627776;
      loop assigns k, c;
      loop variant flats - k; */
  for (int32_t k = 0; k < flats; k++) {
    //@ assert fine: FlatFine(flat + k);
    const int64_t n = zp_buckets(&flat[k]), held = flat[k].use == 0 ? n : 0;
    c.all += n;
    c.held += held;
    c.tied += flat[k].tied < 0 ? 0 : held;
  }
  return c;
}

/* META and P2P ops of the pipeline. PIPE-3, PIPE-6 */
static int64_t count_exchanges(const zp_config *cfg, int32_t s)
{
  const int64_t end = zp_end_slot(cfg->pp, cfg->micro_batches, s);
  int64_t n = 0;
  for (int64_t t = s; t < end; t = zp_next_slot(cfg->pp, cfg->micro_batches, s, t)) {
    const zp_slot a = zp_slot_at(cfg->pp, cfg->micro_batches, s, t);
    const int64_t activation = a.backward ? a.send_mb : a.recv_mb;
    if (a.send_mb >= 0 || a.recv_mb >= 0) n += cfg->dynamic_shapes && activation >= 0 ? 2 : 1;
  }
  return n;
}

int64_t zp_need_step(const zp_config *cfg, const zp_layout *lay)
{
  const int64_t M = cfg->micro_batches;
  const zp_bucket_counts c = count_buckets(lay->flat, lay->n_flats);
  const int64_t computes = M * (lay->stage == 0 || lay->stage == cfg->pp - 1 ? 4 : 3);
  const int64_t reduces = c.all * (cfg->stage == 2 ? M : 1);
  return count_exchanges(cfg, lay->stage) + computes + M * count_adds(cfg, lay) + reduces + c.tied +
         c.held + 2 + c.held * (cfg->stage == 0 ? 1 : 2);
}
