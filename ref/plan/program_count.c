/* The number of ops of the STEP program. spec: LEDG-8 */
#include "../../spec/acsl/bounds.h"
#include "step_internal.h"

#include "../../spec/acsl/kept_lemmas.h"
#include "../../spec/acsl/save_lemmas.h"
#include "../../spec/acsl/step_lemmas.h"
#include "../../spec/acsl/step_tail.h"
#include "../../spec/acsl/step_whole.h"

#include "../../spec/acsl/step_fold_steps.h"

/* The number of ops for the gradient of the stage's i-th entry in one micro-batch: one for each
 * bucket that it lies in and, if `reduces`, one for each that it completes. LEDG-8 */
/*@ requires readable: Readable(cfg) && ReadableLayout(lay);
    requires fits: StageFits(cfg, lay) && 0 <= i < lay->n_params;
    requires bit: 0 <= reduces <= 1;
    terminates \true; exits \false;
    assigns \nothing;
    ensures length: \result == RawLen(cfg, lay, i, reduces);
    ensures range: 0 <= \result <= 2199023255552; */
static int64_t count_entry(const zp_config *cfg, const zp_layout *lay, int32_t i, int32_t reduces)
{
  //@ assert fits: EntryFits(cfg, lay, i);
  const int32_t k = lay->spot[i].flat;
  const int64_t numel = cfg->params[lay->first_param + i].numel;
  if (k < 0 || numel == 0) return 0;
  const int64_t c = lay->flat[k].capacity, from = lay->spot[i].start, to = from + numel;
  const int64_t stop = (to - 1) / c + 1, done = to == lay->flat[k].numel ? stop : to / c;
  return stop - from / c + (reduces ? done - from / c : 0);
}

/* The same for all entries of the stage. LEDG-8 */
/*@ requires config: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && StageFits(cfg, lay);
    requires bit: 0 <= reduces <= 1;
    terminates \true; exits \false;
    assigns \nothing;
    ensures length: \result == RawBackLen(cfg, lay, reduces, lay->n_params);
    ensures range: 0 <= \result <= 2199023255552; */
static int64_t count_entries(const zp_config *cfg, const zp_layout *lay, int32_t reduces)
{
  int64_t n = 0;
  /*@ loop invariant range: 0 <= x <= lay->n_params;
      loop invariant length: n == RawBackLen(cfg, lay, reduces, x);
      loop invariant low: 0 <= n <= x * 2199023255552;
      loop assigns x, n;
      loop variant lay->n_params - x; */
  for (int32_t x = 0; x < lay->n_params; x++)
    n += count_entry(cfg, lay, lay->n_params - x - 1, reduces);
  return n;
}

/* The number of buckets of the stage: of flat groups with use 0, and of those of tied keys. */
typedef struct zp_bucket_counts {
  int64_t held, tied;
} zp_bucket_counts;

/* Counts the buckets of the `flats` flat groups at flat. LEDG-8 */
/*@ requires flats: 0 <= flats <= ZP_LIMIT_ENTRIES &&
        (0 < flats ==> \valid_read(flat + (0 .. flats - 1))) && FlatsFine(flat, flats);
    terminates \true; exits \false;
    assigns \nothing;
    ensures held: \result.held == Held(flat, flats);
    ensures tied: \result.tied == HeldTied(flat, flats);
    ensures range: 0 <= \result.tied <= \result.held <= 72057594037927936; */
static zp_bucket_counts count_buckets(const zp_flat *flat, int32_t flats)
{
  zp_bucket_counts c = {0, 0};
  /*@ loop invariant range: 0 <= k <= flats;
      loop invariant held: c.held == Held(flat, k);
      loop invariant tied: c.tied == HeldTied(flat, k);
      loop invariant order: 0 <= c.tied <= c.held <= k * ZP_LIMIT_ELEMENTS;
      loop assigns k, c;
      loop variant flats - k; */
  for (int32_t k = 0; k < flats; k++) {
    //@ assert fine: FlatFine(flat + k);
    const int64_t n = zp_buckets(&flat[k]), held = flat[k].use == 0 ? n : 0;
    c.held += held;
    c.tied += flat[k].tied < 0 ? 0 : held;
  }
  return c;
}

/* The number of ops of slot a of stage s of S, without gradients. S is 1..2^20, s is 0..S-1.
 * PIPE-3, PIPE-6 */
/*@ requires sizes: 1 <= S <= ZP_LIMIT_RANKS && 0 <= s < S && 0 <= a.backward <= 1;
    terminates \true; exits \false;
    assigns \nothing;
    ensures length: \result == ExchangeLen(dynamic, a.backward, a.send_mb, a.recv_mb) +
        (a.mb < 0 ? 0 : a.backward == 1 ? 2 : Loads(S, s) + 1);
    ensures range: 0 <= \result <= 4; */
static int64_t count_head(int32_t dynamic, int32_t S, int32_t s, zp_slot a)
{
  const int64_t activation = a.backward ? a.send_mb : a.recv_mb;
  const int64_t exchange = a.send_mb < 0 && a.recv_mb < 0 ? 0 : dynamic && activation >= 0 ? 2 : 1;
  if (a.mb < 0) return exchange;
  return exchange + (a.backward || s == 0 || s == S - 1 ? 2 : 1);
}

/* The number of ops of the stage's pipeline without the gradients (the heads of the slots). cfg and
 * lay are within the limits. PIPE-3, PIPE-6, LEDG-8 */
/*@ requires readable: Readable(cfg) && ReadableLayout(lay);
    requires fits: StageFits(cfg, lay);
    terminates \true; exits \false;
    assigns \nothing;
    ensures length: \result ==
        HeadsLen(cfg->pp, cfg->micro_batches, lay->stage, cfg->dynamic_shapes, SlotsOf(cfg));
    ensures range: 0 <= \result <= 33554432; */
static int64_t count_heads(const zp_config *cfg, const zp_layout *lay)
{
  const int64_t M = cfg->micro_batches, end = zp_end_slot(cfg->pp, M, lay->stage);
  int64_t n = 0;
  //@ assert start: SlotStart(cfg, lay);
  /*@ loop invariant range: lay->stage <= t <= end;
      loop invariant length: n == HeadsLen(cfg->pp, M, lay->stage, cfg->dynamic_shapes, t);
      loop invariant limit: 0 <= n <= 4 * t;
      loop assigns t, n;
      loop variant end - t; */
  for (int64_t t = lay->stage; t < end; t = zp_next_slot(cfg->pp, M, lay->stage, t)) {
    const zp_slot a = zp_slot_at(cfg->pp, M, lay->stage, t);
    //@ assert next: HeadsNext(cfg, lay, t);
    n += count_head(cfg->dynamic_shapes, cfg->pp, lay->stage, a);
  }
  //@ assert end: HeadsEnd(cfg, lay);
  return n;
}

/* m micro-batches of `each` ops. m is 0..2^20, each 0..2^41. LEDG-8 */
/*@ requires range: 0 <= m <= ZP_LIMIT_MICRO_BATCHES && 0 <= each <= 2199023255552;
    terminates \true; exits \false;
    assigns \nothing;
    ensures product: \result == MicrosOf(m, each);
    ensures range: 0 <= \result <= m * 2199023255552; */
static int64_t micros_of(int64_t m, int64_t each)
{
  //@ assert product: m * each == MicrosOf(m, each);
  //@ assert range: 0 <= MicrosOf(m, each) <= m * 2199023255552;
  return m * each;
}

/* The number of ops for the gradients of the whole window. LEDG-8 */
/*@ requires config: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && StageFits(cfg, lay);
    terminates \true; exits \false;
    assigns \nothing;
    ensures length: \result == MicrosLen(cfg, lay, cfg->micro_batches);
    ensures range: 0 <= \result <= 2305843009213693952; */
static int64_t count_gradients(const zp_config *cfg, const zp_layout *lay)
{
  const int64_t M = cfg->micro_batches, last = count_entries(cfg, lay, 1);
  if (cfg->stage == 2) return micros_of(M, last);
  return micros_of(M - 1, count_entries(cfg, lay, 0)) + last;
}

int64_t zp_need_step(const zp_config *cfg, const zp_layout *lay)
{
  //@ assert fits: StageFits(cfg, lay);
  const zp_bucket_counts c = count_buckets(lay->flat, lay->n_flats);
  const int64_t pipe = count_heads(cfg, lay) + count_gradients(cfg, lay);
  //@ assert pipe: pipe == PipeLen(cfg, lay);
  return pipe + c.tied + c.held + 2 + c.held * (cfg->stage == 0 ? 1 : 2);
}
