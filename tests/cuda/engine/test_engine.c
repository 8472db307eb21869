/* The CUDA engine on simdev gives the bits of ref, under every order that CUDA allows; errors name
 * their position, and every wait ends. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../cuda/verify/case.h"
#include "../../../cuda/verify/state.h"
#include "engine_case.h"

enum { CASES = 60, ORDERS = 4 };

/* Two stages of two ranks, ZeRO stage 2, four micro-batches, tied, expert and unused entries. */
static const char two[] =
    "precision=fp16,reduce=ordered,M=4,bucket=3,pp=2,dp=2,ep=2,stage=2,align=2,unused=60,steps=2,"
    "list=12@0.1st1+31@1.2f+20@1.1s+32@1.0+16@1.2se";

static void check_case(uint64_t i, int32_t launch_order)
{
  static zp_diff_case j;
  static zp_error err;
  zp_case c;
  char text[ZP_CASE_TEXT];
  uint32_t lacking;
  zp_cuda_random_case(2, i, &c, &lacking);
  zp_case_format(&c, text, sizeof text);
  cr_assert_eq(zp_diff_case_open(&j, &c, &err), 0, "%s: %s", text, err.text);
  for (uint64_t k = 0; k < ORDERS; k++) {
    zp_schedule o = zp_schedule_of(c.schedule + k);
    if (launch_order) o.launch_order = launch_order;
    const zp_diff *where = zp_diff_case_run(&j, &o);
    cr_assert(!where, "%s, order %d: %s: %s", text, (int)k, zp_diff_finding(where)->kind,
              zp_diff_finding(where)->text);
  }
  zp_diff_case_close(&j);
}

/* STEP-2, RED-4, RED-5, LEDG-1: norm, loss, scale, skipped, masters, moments, parameters and
 * ledgers. */
Test(engine, equals_ref_bit_for_bit_on_random_topologies_and_orders)
{
  const char *n = getenv("ZP_ENGINE_JOBS"); /* for long runs */
  const uint64_t cases = n ? strtoull(n, NULL, 10) : CASES;
  for (uint64_t i = 0; i < cases; i++) check_case(i, 0);
}

Test(engine, equals_ref_when_nccl_keeps_the_launch_order)
{
  for (uint64_t i = 1000; i < 1000 + CASES; i++) check_case(i, 2);
}

/* The run finds `kind`, and says `what`. */
static void finds(zp_diff *t, const zp_schedule *o, const char *kind, const char *what)
{
  cr_assert_eq(zp_diff_run(t, o), 1);
  cr_assert_str_eq(zp_diff_finding(t)->kind, kind, "%s", zp_diff_finding(t)->text);
  cr_assert(strstr(zp_diff_finding(t)->text, what), "%s", zp_diff_finding(t)->text);
}

/* Each comparison, broken once. */
Test(engine, the_comparison_finds_each_difference)
{
  const zp_schedule o = {.producers = 2, .get_each = 1};
  static zp_diff_case j;
  zp_diff *t;
  open_text(&j, two);
  t = j.diff;
  t->ref.result[0].loss ^= 1;
  finds(t, &o, "STAT-5", "the loss of step 0 differs");
  t->ref.result[0].loss ^= 1;
  t->ref.result[1].norm_f64 ^= 1;
  finds(t, &o, "STAT-4", "the norm of step 1 differs");
  t->ref.result[1].norm_f64 ^= 1;
  t->ref.result[0].skipped ^= 1;
  finds(t, &o, "STEP-6", "skipped in step 0");
  t->ref.result[0].skipped ^= 1;
  t->ref.scaler[0].log2_scale ^= 1;
  finds(t, &o, "SCALE-3", "the scaler after step 0");
  t->ref.scaler[0].log2_scale ^= 1;
  t->ref.ledger[1].op[7].count++;
  finds(t, &o, "LEDG-1", "the ledger at communication 7");
  t->ref.ledger[1].op[7].count--;
  t->ref.params[t->world + 1] ^= 1;
  finds(t, &o, "STEP-8", "a hash of the parameters that the model read in step 1");
  t->ref.params[t->world + 1] ^= 1;
  zp_diff_ledger *ref = &t->ref.ledger[1];
  ref->steps[ref->n_steps - 1].n--;
  finds(t, &o, "LEDG-1", "the ledger");
  ref->steps[ref->n_steps - 1].n++;
  for (int32_t k = 0; k < 8; k++) { /* one bit of one parameter, and of each array of a shard */
    zp_rank *r = zp_sim_rank(t->ref.sim, 0);
    float *const arrays[3] = {r->flat[0].master, r->flat[0].moment1, r->flat[0].moment2};
    static const char *const names[3] = {"masters", "first moments", "second moments"};
    unsigned char *bits =
        k % 2 ? (unsigned char *)r->param[r->lay.n_params - 1] : (unsigned char *)arrays[k / 2 % 3];
    bits[0] ^= (unsigned char)(1u << k);
    finds(t, &o, k % 2 ? "STEP-8" : "STEP-7", k % 2 ? "parameter" : names[k / 2 % 3]);
    bits[0] ^= (unsigned char)(1u << k);
  }
  cr_assert_eq(zp_diff_run(t, &o), 0, "%s", zp_diff_finding(t)->text);
  zp_diff_case_close(&j);
}

/* CKPT-1, CKPT-3, CKPT-5: a bit of what ref has saved, of what the twin loads, and the rest of
 * it. */
Test(engine, the_comparison_finds_a_difference_in_a_checkpoint)
{
  const zp_schedule o = {.producers = 2};
  static zp_diff_case j;
  char text[400];
  snprintf(text, sizeof text, "%s,reload=2:2:1:5", two);
  open_text(&j, text);
  zp_case_memory *m = &j.diff->saved[0];
  cr_assert_null(zp_diff_case_run(&j, &o));
  cr_assert_eq(j.next->base, 2);
  size_t i = 0;
  while (!m->seen[i]) i++; /* of a master */
  uint32_t *bits = (uint32_t *)&m->value[i];
  *bits ^= 1u << 22;
  finds(j.diff, &o, "CKPT-1", "the value of a saved element differs from ref");
  finds(j.next, &o, "CKPT-1", "the value of a saved element differs from ref");
  *bits ^= 1u << 22;
  m->seen[i] = 0;
  finds(j.diff, &o, "CKPT-1", "which elements were saved differs from ref");
  finds(j.next, &o, "engine", "was not saved");
  m->seen[i] = 1;
  m->state.step++;
  finds(j.diff, &o, "CKPT-1", "the saved step");
  finds(j.next, &o, "STEP-9", "the number of steps");
  m->state.step--;
  m->state.scaler.iter++;
  finds(j.diff, &o, "CKPT-1", "the saved scaler");
  finds(j.next, &o, "SCALE-3", "the scaler after step 0");
  m->state.scaler.iter--;
  m->state.optim[0].beta1_pow /= 2;
  finds(j.diff, &o, "CKPT-1", "a saved optimizer state");
  m->state.optim[0].beta1_pow *= 2;
  cr_assert_null(zp_diff_case_run(&j, &o));
  zp_diff_case_close(&j);
}

static int takes_nothing(void *inst, zp_mb at, int32_t slot, const zp_message *dout,
                         const zp_message *din, zp_sink sink)
{
  (void)inst, (void)at, (void)slot, (void)dout, (void)din, (void)sink;
  return -1;
}

/* PIPE-6: a model that was not sent what it expects. */
Test(engine, the_comparison_finds_a_message_that_the_model_refuses)
{
  static zp_diff_case j;
  open_text(&j, two);
  j.work.backward = takes_nothing;
  finds(j.diff, &(zp_schedule){.producers = 1}, "PIPE-6", "received a wrong message");
  zp_diff_case_close(&j);
}

/* ---- Producers ------------------------------------------------------------------------------- */

enum { STREAM_IDS = 64, EVENT_IDS = 4096 };

/* How often the reduction streams waited for a producer stream, and how often for a point of it
 * that they had waited for before. */
typedef struct waits {
  int64_t all, again;
} waits;

static void is_stream(const simdev *s, int32_t rank, const char *name, uint8_t is[STREAM_IDS])
{
  int64_t n;
  const simdev_record *r = simdev_records(s, &n);
  memset(is, 0, STREAM_IDS);
  for (int64_t i = 0; i < n; i++)
    if (r[i].rank == rank && r[i].stream >= 0 && r[i].stream < STREAM_IDS &&
        strcmp(r[i].stream_name, name) == 0)
      is[r[i].stream] = 1;
}

static waits count_waits(const simdev *s, int32_t rank)
{
  uint8_t reduce[STREAM_IDS], producer[STREAM_IDS];
  static int64_t record[EVENT_IDS], waited[EVENT_IDS];
  waits w = {0};
  int64_t n;
  const simdev_sync *y = simdev_syncs(s, &n);
  is_stream(s, rank, "reduce", reduce);
  is_stream(s, rank, "producer", producer);
  memset(record, 0, sizeof record);
  memset(waited, 0, sizeof waited);
  for (int64_t i = 0; i < n; i++) {
    if (y[i].rank != rank) continue;
    cr_assert(y[i].event < EVENT_IDS && y[i].stream < STREAM_IDS);
    if (!y[i].is_wait) record[y[i].event] = producer[y[i].stream] ? i + 1 : 0;
    else if (reduce[y[i].stream] && record[y[i].event]) {
      w.all++;
      w.again += waited[y[i].event] == record[y[i].event];
      waited[y[i].event] = record[y[i].event];
    }
  }
  return w;
}

static waits all_waits(const zp_case *c, int32_t producers)
{
  static zp_diff_case j;
  static zp_error err;
  waits sum = {0};
  const zp_schedule o = {.seed = 7, .producers = producers, .record = 1};
  cr_assert_eq(zp_diff_case_open(&j, c, &err), 0, "%s", err.text);
  cr_assert_eq(zp_diff_run(j.diff, &o), 0, "%s", zp_diff_finding(j.diff)->text);
  for (int32_t r = 0; r < j.diff->world; r++) {
    const waits w = count_waits(j.diff->simulation.now, r);
    sum.all += w.all;
    sum.again += w.again;
  }
  zp_diff_case_close(&j);
  return sum;
}

/* RED-6: no stream has filled a bucket whose entries are all unused. Its zeros are the reduction
 * stream's own work, so that it waits for no other stream. */
Test(engine, a_bucket_of_unused_entries_is_reduced_without_a_wait)
{
  zp_case c;
  char why[256];
  for (int32_t stage = 0; stage < 3; stage++)
    for (int32_t producers = 1; producers <= 3; producers++) {
      zp_case_init(&c);
      cr_assert_eq(zp_case_parse(&c, two, why, sizeof why), 0);
      c.cfg.stage = stage;
      c.synth.unused = 256; /* of 256 */
      cr_assert_eq(all_waits(&c, producers).all, 0);
      c.synth.unused = 0;
      cr_assert_geq(all_waits(&c, producers).all, 1);
    }
}

/* RED-3: the set of producers is emptied with its bucket: a stream that filled an earlier one is
 * not waited for again. */
Test(engine, the_set_of_producers_is_emptied_with_its_bucket)
{
  zp_case c;
  char why[256];
  zp_case_init(&c);
  cr_assert_eq(zp_case_parse(&c, two, why, sizeof why), 0);
  for (int32_t producers = 1; producers <= 3; producers++) {
    const waits w = all_waits(&c, producers);
    cr_assert_geq(w.all, 50);
    cr_assert_eq(w.again, 0);
  }
}

/* ---- Errors ---------------------------------------------------------------------------------- */

/* Everybody but `rank` ends with an error about another rank that says where in the program. */
static void check_peers(const zp_diff *t, int32_t rank)
{
  for (int32_t r = 0; r < t->world; r++) {
    if (r == rank) continue;
    cr_assert_eq(t->error[r].status, ZP_E_PEER, "rank %d: %d %s", r, t->error[r].status,
                 t->error[r].text);
    cr_assert(strstr(t->error[r].text, "program position"), "%s", t->error[r].text);
  }
}

/* STEP-3: an entry that is not announced, and one that is announced twice. */
Test(engine, an_error_names_a_gradient_that_is_missing_or_announced_twice)
{
  static zp_diff_case j;
  open_text(&j, two);
  for (int twice = 0; twice < 2; twice++)
    for (int32_t order = 0; order < 4; order++) {
      const zp_schedule o = {.seed = 5,
                             .order = (simdev_order)order,
                             .producers = 2,
                             .remote_errors = 1 + (simdev_choice)order % 2,
                             .allow_leaks = 1,
                             .forgets = twice ? 0 : 2,
                             .repeats = twice ? 2 : 0};
      finds(j.diff, &o, "STEP-3", twice ? "was announced twice" : "the first one missing is");
      cr_assert_eq(zp_diff_error(j.diff, 1)->status, ZP_E_ARRIVAL, "%s",
                   zp_diff_error(j.diff, 1)->text);
      check_peers(j.diff, 1);
    }
  zp_diff_case_close(&j);
}

Test(engine, unsupported_options_are_refused_by_name)
{
  static zp_diff_case j;
  zp_error err;
  zp_config *c = &j.c.cfg;
  open_text(&j, two);
  zp_diff_rank w = {.t = j.diff, .at = zp_coord_of(c, 0)};
  zp_cuda_options o = zp_diff_rank_options(&w);
  c->dynamic_shapes = 1;
  o.message_bytes = 0;
  cr_assert_null(zp_cuda_open(&o, &err));
  cr_assert(err.status == ZP_E_REFUSED && strstr(err.text, "message_bytes"), "%s", err.text);
  o.message_bytes = 1;
  o.model.shape = NULL;
  cr_assert_null(zp_cuda_open(&o, &err));
  cr_assert(err.status == ZP_E_REFUSED && strstr(err.text, "the function shape"), "%s", err.text);
  c->dynamic_shapes = 0;
  c->stage = 3;
  cr_assert_null(zp_cuda_open(&o, &err));
  cr_assert(err.status == ZP_E_REFUSED && strstr(err.text, "allowed are 0 to 2"), "%s", err.text);
  c->stage = 2;
  o.rank = j.diff->world;
  cr_assert_null(zp_cuda_open(&o, &err));
  cr_assert(strstr(err.text, "rank:"), "%s", err.text);
  o.rank = 0;
  o.act_out.t[0].dtype = (c->precision + 1) % 3;
  cr_assert_null(zp_cuda_open(&o, &err));
  cr_assert(strstr(err.text, "act_out:"), "%s", err.text);
  o.act_out.n = 0;
  o.model.backward = NULL;
  cr_assert_null(zp_cuda_open(&o, &err));
  cr_assert(strstr(err.text, "callbacks"), "%s", err.text);
  zp_diff_case_close(&j);
}
