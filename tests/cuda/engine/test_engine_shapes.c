/* Dynamic shapes: messages whose tensors, dtypes and shapes are another micro-batch's others; what
 * a meta message may say, and what becomes of one that says nonsense. spec: PIPE-6 */
#include <criterion/criterion.h>
#include <string.h>

#include "../../../cuda/engine/executor/messages.h"
#include "../../../cuda/verify/case.h"
#include "../../../cuda/verify/state.h"
#include "../../../ref/comm/comm.h"

enum { ORDERS = 4, ROOM = 4096 };

/* Shapes, and the tensors' order, change by micro-batch: synth's `vary`. */
static const char three[] =
    "precision=bf16,M=3,bucket=7,pp=3,dp=2,stage=2,steps=2,dynamic=1,vary=1,"
    "tuple=1,list=12@0.0+7@1.0+9@2.0+8@2.1";

static void begin(zp_diff_case *j, const char *text)
{
  static zp_error err;
  static zp_case c;
  char why[256];
  zp_case_init(&c);
  cr_assert_eq(zp_case_parse(&c, text, why, sizeof why), 0, "%s", why);
  cr_assert_eq(zp_diff_case_open(j, &c, &err), 0, "%s: %s", text, err.text);
}

Test(shapes, that_change_by_micro_batch_give_the_bits_of_ref)
{
  static zp_diff_case j;
  int32_t stages[5] = {0}, n = 0;
  for (uint64_t i = 0; n < 16; i++) {
    static zp_error err;
    static zp_case c;
    uint32_t lacking;
    zp_cuda_random_case(31, i, &c, &lacking);
    if (c.cfg.pp < 2) continue;
    c.cfg.dynamic_shapes = c.synth.vary = c.synth.tuple = 1;
    cr_assert_eq(zp_diff_case_open(&j, &c, &err), 0, "case %d: %s", (int)i, err.text);
    for (uint64_t k = 0; k < ORDERS; k++) {
      const zp_schedule o = zp_schedule_of(c.schedule + k);
      cr_assert_eq(zp_diff_run(j.diff, &o), 0, "case %d, order %d: %s: %s", (int)i, (int)k,
                   zp_diff_finding(j.diff)->kind, zp_diff_finding(j.diff)->text);
    }
    zp_diff_case_close(&j);
    stages[c.cfg.pp < 4 ? c.cfg.pp : 4]++;
    n++;
  }
  cr_assert(stages[2] && stages[3] && stages[4]);
}

/* ---- Nonsense -------------------------------------------------------------------------------- */

static void too_large(zp_message *m)
{
  m->t[0].dim[0] = 129;
  m->t[0].dim[m->t[0].ndim - 1] *= 4;
}
static void too_many_tensors(zp_message *m)
{
  m->n = 5;
}
static void fewer_than_no_tensors(zp_message *m)
{
  m->n = -1;
}
static void no_dimension(zp_message *m)
{
  m->t[1].ndim = 0;
}
static void too_many_dimensions(zp_message *m)
{
  m->t[1].ndim = 5;
}
static void negative(zp_message *m)
{
  m->t[0].dim[0] = -3;
}
static void overflowing(zp_message *m)
{
  m->t[0].ndim = 4;
  for (int32_t d = 0; d < 4; d++) m->t[0].dim[d] = (int64_t)1 << 39;
}
static void unknown_dtype(zp_message *m)
{
  m->t[0].dtype = 77;
}

/* Everybody else ends with an error about a peer that says where. */
static void check_peers(const zp_diff *t, int32_t rank)
{
  for (int32_t r = 0; r < t->world; r++)
    cr_assert(r == rank ||
                  (t->error[r].status == ZP_E_PEER && strstr(t->error[r].text, "program position")),
              "rank %d: %d %s", r, t->error[r].status, t->error[r].text);
}

static void (*wrongly)(zp_message *);

static void describe_wrongly(zp_diff_rank *w, const zp_cuda_call *call, zp_message *m)
{
  if (w->rank == 0 && call->step == 1) wrongly(m);
}

static zp_schedule ending(uint64_t seed)
{
  return (zp_schedule){
      .seed = seed, .producers = 2, .remote_errors = SIMDEV_ALWAYS, .allow_leaks = 1};
}

Test(shapes, that_the_model_describes_wrongly_are_the_senders_error)
{
  void (*const wrongs[])(zp_message *) = {too_large,    too_many_tensors,    fewer_than_no_tensors,
                                          no_dimension, too_many_dimensions, negative,
                                          overflowing,  unknown_dtype};
  static zp_diff_case j;
  begin(&j, three);
  j.diff->hooks.described = describe_wrongly;
  for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
    const zp_schedule o = ending(i);
    const zp_error *e = &j.diff->error[0];
    wrongly = wrongs[i];
    cr_assert_eq(zp_diff_run(j.diff, &o), 1);
    cr_assert(e->status == ZP_E_WORKLOAD &&
                  strstr(e->text, "rank 0 (stage 0, dp 0, tp 0), step 1, program position") &&
                  strstr(e->text, "(forward, ") && strstr(e->text, "as the model describes it"),
              "%zu: %s", i, e->text);
    check_peers(j.diff, 0);
  }
  zp_diff_case_close(&j);
}

/* Ranks of the second stage have room for one small tensor of a message only. */
static int64_t little_room(const zp_diff_rank *w, int64_t enough)
{
  return w->at.pp == 1 ? 256 : enough;
}

/* The sender has more room than the receiver: only the receiver can detect it. */
Test(shapes, that_exceed_the_receivers_room_are_its_error)
{
  static zp_diff_case j;
  const zp_schedule o = ending(0);
  int32_t named = -1;
  begin(&j, three);
  j.diff->hooks.message_bytes = little_room;
  cr_assert_eq(zp_diff_run(j.diff, &o), 1);
  for (int32_t r = 0; r < j.diff->world; r++) {
    const zp_error *e = &j.diff->error[r];
    if (e->status != ZP_E_MISMATCH) continue;
    named = r;
    cr_assert_eq(zp_coord_of(&j.c.cfg, r).pp, 1);
    cr_assert(strstr(e->text, "(meta, pp group") &&
                  strstr(e->text, "of micro-batch 0 from stage 0") &&
                  strstr(e->text, "is larger than message_bytes allows"),
              "%s", e->text);
  }
  cr_assert_geq(named, 0);
  zp_diff_case_close(&j);
}

/* Whatever comes: either it is refused, or its tensors lie within the room, apart and aligned. */
Test(shapes, of_any_meta_message_are_refused_or_fit_the_room)
{
  char room[1];
  uint64_t random = 1;
  int32_t taken = 0, refused = 0;
  for (int32_t k = 0; k < 200000; k++) {
    static const int64_t odd[] = {0,         -1,        1,         2,         5,
                                  INT64_MIN, INT64_MAX, 1LL << 32, 1LL << 40, (1LL << 40) + 1};
    int64_t meta[ZP_META_LONGS], end = 0;
    zp_message m = {0};
    for (int32_t i = 0; i < ZP_META_LONGS; i++)
      meta[i] = zp_random_next(&random) % 16 ? (int64_t)(zp_random_next(&random) % 5)
                                             : odd[zp_random_next(&random) % 10];
    if (zp_cuda_decode(meta, ZP_BF16, ROOM, room, &m)) {
      refused++;
      continue;
    }
    taken++;
    cr_assert(m.n >= 0 && m.n <= ZP_MSG_TENSORS);
    for (int32_t i = 0; i < m.n; i++) {
      const int64_t at = (int64_t)((uintptr_t)m.t[i].data - (uintptr_t)room);
      cr_assert(at % 256 == 0 && at >= end && zp_tensor_numel(&m.t[i]) >= 0);
      end = at + zp_tensor_bytes(&m.t[i]);
      cr_assert_leq(end, ROOM);
    }
  }
  cr_assert(taken > 100 && refused > 100, "%d %d", taken, refused);
}

/* ---- The wait -------------------------------------------------------------------------------- */

/* The records of `rank` that only the host waits for, on one stream alone, `count` of each event:
 * their numbers into n[]. Returns how many there are. */
static int32_t host_records(const simdev *s, int32_t rank, int32_t count, int32_t *n)
{
  enum { EVENTS = 4096 };
  static int32_t records[EVENTS], waits[EVENTS], stream[EVENTS], mixed[EVENTS];
  int64_t all;
  int32_t found = 0;
  const simdev_sync *y = simdev_syncs(s, &all);
  memset(records, 0, sizeof records);
  memset(waits, 0, sizeof waits);
  memset(mixed, 0, sizeof mixed);
  for (int64_t i = 0; i < all; i++) {
    if (y[i].rank != rank || y[i].event >= EVENTS) continue;
    waits[y[i].event] += y[i].is_wait;
    if (y[i].is_wait) continue;
    mixed[y[i].event] |= records[y[i].event]++ > 0 && stream[y[i].event] != y[i].stream;
    stream[y[i].event] = y[i].stream;
  }
  for (int64_t i = 0; i < all && found < count; i++)
    if (y[i].rank == rank && !y[i].is_wait && records[y[i].event] == count &&
        waits[y[i].event] == 0 && !mixed[y[i].event])
      n[found++] = y[i].n;
  return found;
}

/* Each meta message's record is needed: without it the host takes what was there before. */
Test(shapes, are_read_too_early_without_the_record_after_each_meta_message)
{
  static zp_diff_case j;
  int32_t n[64];
  begin(&j, three); /* neighbours in time are shaped differently, also over steps */
  zp_diff *t = j.diff;
  const int32_t last = t->world - 1, count = t->steps * (int32_t)j.c.cfg.micro_batches;
  cr_assert_eq(zp_diff_run(t, &(zp_schedule){.producers = 2, .record = 1}), 0, "%s", t->found.text);
  cr_assert_eq(host_records(t->simulation.now, last, count, n), count);
  for (int32_t i = 0; i < count; i++) {
    const simdev_fault f = {SIMDEV_FAULT_DROP_SYNC, last, NULL, n[i], 0};
    int32_t found = 0;
    for (uint64_t k = 0; k < 16 && !found; k++)
      found = zp_diff_run(t, &(zp_schedule){.seed = k,
                                            .order = k % 2 ? SIMDEV_LAZY : SIMDEV_RANDOM,
                                            .producers = 2,
                                            .faults = &f,
                                            .fault_count = 1,
                                            .remote_errors = SIMDEV_ALWAYS});
    cr_assert(found, "record %d, of micro-batch %d", n[i], i);
  }
  zp_diff_case_close(&j);
}
