/* Dynamic shapes: messages whose tensors, dtypes and shapes are another micro-batch's others; what
 * a meta message may say, and what becomes of one that says nonsense. spec: PIPE-6 */
#include <criterion/criterion.h>

#include "../../ref/engine/comm.h"
#include "engine_case.h"

enum { SEEDS = 4, ROOM = 4096 };

/* A job with dynamic shapes, at least `pp` stages, and (int32, float) tuples; from seed on. */
static uint32_t dynamic_job(job *j, uint32_t seed, int32_t pp)
{
  for (;; seed++) {
    cr_assert_eq(job_fill(j, seed, RANKS_MAX), 0, "job %u: %s", seed, j->text);
    if (j->r.c.dynamic_shapes && j->r.c.pp >= pp && j->synth.opt.tuple && !j->loads) return seed;
    job_free(j);
  }
}

/* Shapes, and the tensors' order, do change: synth's `vary`. */
Test(shapes, that_change_by_micro_batch_give_the_bits_of_ref)
{
  uint32_t seed = 3001;
  for (int32_t n = 0; n < 16; n++, seed++) {
    static job j;
    simdev *s;
    char text[200];
    seed = dynamic_job(&j, seed, 2 + n % 3);
    s = job_simdev(&j, NULL);
    job_describe(&j, text, sizeof text);
    for (int32_t k = 0; k < SEEDS; k++) {
      const simdev_options o = {.seed = seed * 100u + (uint64_t)k, .order = (simdev_order)k};
      cr_assert_eq(job_run(&j, s, &o), SIMDEV_OK, "%s, seed %llu:\n%s\n%s\n%s", text,
                   (unsigned long long)o.seed, j.text, simdev_result(s)->text, j.error[0].text);
    }
    simdev_close(s);
    job_free(&j);
  }
}

/* ---- Nonsense -------------------------------------------------------------------------------- */

static void too_large(zp_cuda_message *m)
{
  m->t[0].dim[0] = 129;
  m->t[0].dim[m->t[0].ndim - 1] *= 4;
}
static void too_many_tensors(zp_cuda_message *m)
{
  m->n = 5;
}
static void fewer_than_no_tensors(zp_cuda_message *m)
{
  m->n = -1;
}
static void no_dimension(zp_cuda_message *m)
{
  m->t[1].ndim = 0;
}
static void too_many_dimensions(zp_cuda_message *m)
{
  m->t[1].ndim = 5;
}
static void negative(zp_cuda_message *m)
{
  m->t[0].dim[0] = -3;
}
static void overflowing(zp_cuda_message *m)
{
  m->t[0].ndim = 4;
  for (int32_t d = 0; d < 4; d++) m->t[0].dim[d] = (int64_t)1 << 39;
}
static void unknown_dtype(zp_cuda_message *m)
{
  m->t[0].dtype = 77;
}

/* Everybody else ends with an error about a peer that says where. */
static void check_peers(const job *j, int32_t rank)
{
  for (int32_t r = 0; r < j->world; r++)
    cr_assert(r == rank || (j->error[r].status == ZP_CUDA_E_PEER &&
                            strstr(j->error[r].text, "program position")),
              "rank %d: %d %s", r, j->error[r].status, j->error[r].text);
}

Test(shapes, that_the_model_gets_wrong_are_the_senders_error)
{
  void (*const wrongs[])(zp_cuda_message *) = {
      too_large,           too_many_tensors, fewer_than_no_tensors, no_dimension,
      too_many_dimensions, negative,         overflowing,           unknown_dtype};
  static job j;
  simdev *s;
  dynamic_job(&j, 3001, 3);
  s = job_simdev(&j, NULL);
  j.wrong_rank = 0;
  for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
    const simdev_options o = {.seed = i, .remote_errors = SIMDEV_ALWAYS, .allow_leaks = 1};
    j.describe_wrongly = wrongs[i];
    cr_assert_neq(job_run(&j, s, &o), SIMDEV_OK);
    cr_assert(
        j.error[0].status == ZP_CUDA_E_MODEL &&
            strstr(j.error[0].text, "rank 0 (stage 0, dp 0, tp 0), step 1, program position") &&
            strstr(j.error[0].text, "(forward, ") &&
            strstr(j.error[0].text, "as the model describes it"),
        "%zu: %s", i, j.error[0].text);
    check_peers(&j, 0);
  }
  simdev_close(s);
  job_free(&j);
}

/* The sender has more room than the receiver: only the receiver can tell. */
Test(shapes, that_the_receiver_has_no_room_for_are_its_error)
{
  static job j;
  simdev *s;
  int32_t named = -1;
  dynamic_job(&j, 3001, 3);
  s = job_simdev(&j, NULL);
  for (int32_t r = 0; r < j.world; r++)
    if (zp_coord_of(&j.r.c, r).pp == 1) j.little_room |= 1u << r;
  cr_assert_neq(job_run(&j, s, &(simdev_options){.remote_errors = SIMDEV_ALWAYS, .allow_leaks = 1}),
                SIMDEV_OK);
  for (int32_t r = 0; r < j.world; r++) {
    if (j.error[r].status != ZP_CUDA_E_MISMATCH) continue;
    named = r;
    cr_assert(j.little_room >> r & 1u);
    cr_assert(strstr(j.error[r].text, "(meta, pp group") &&
                  strstr(j.error[r].text, "of micro-batch 0 from stage 0") &&
                  strstr(j.error[r].text, "is larger than message_bytes allows"),
              "%s", j.error[r].text);
  }
  cr_assert_geq(named, 0);
  simdev_close(s);
  job_free(&j);
}

/* Whatever comes: either it is refused, or its tensors lie within the room, apart and aligned. */
Test(shapes, of_any_meta_message_are_refused_or_fit_the_room)
{
  const zp_config c = {.precision = ZP_BF16};
  zp_cuda e = {.cfg = &c, .opt.message_bytes = ROOM};
  char room[1];
  uint64_t random = 1;
  int32_t taken = 0, refused = 0;
  for (int32_t k = 0; k < 200000; k++) {
    static const int64_t odd[] = {0,         -1,        1,         2,         5,
                                  INT64_MIN, INT64_MAX, 1LL << 32, 1LL << 40, (1LL << 40) + 1};
    int64_t meta[ZP_META_LONGS], end = 0;
    zp_cuda_message m = {0};
    for (int32_t i = 0; i < ZP_META_LONGS; i++)
      meta[i] = next_random(&random) % 16 ? (int64_t)(next_random(&random) % 5)
                                          : odd[next_random(&random) % 10];
    if (zp_cuda_decode(&e, meta, room, &m)) {
      refused++;
      continue;
    }
    taken++;
    cr_assert(m.n >= 0 && m.n <= ZP_CUDA_TENSORS);
    for (int32_t i = 0; i < m.n; i++) {
      const int64_t at = (int64_t)((uintptr_t)m.t[i].data - (uintptr_t)room);
      cr_assert(at % 256 == 0 && at >= end && m.t[i].count >= 0);
      end = at + m.t[i].count * zp_dtype_bytes(m.t[i].dtype);
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
  static job j;
  simdev *s;
  int32_t n[64];
  uint32_t seed = 3001;
  do {
    if (seed > 3001) job_free(&j);
    seed = dynamic_job(&j, seed, 2) + 1;
  } while (j.r.c.dp % 3 == 0 || j.r.c.micro_batches < 3); /* else neighbours are shaped alike */
  const int32_t count = j.steps * (int32_t)j.r.c.micro_batches;
  s = job_simdev(&j, NULL);
  cr_assert_eq(job_run(&j, s, &(simdev_options){.record = 1}), SIMDEV_OK, "%s", j.text);
  cr_assert_eq(host_records(s, j.world - 1, count, n), count);
  for (int32_t i = 0; i < count; i++) {
    const simdev_fault f = {SIMDEV_FAULT_DROP_SYNC, j.world - 1, NULL, n[i], 0};
    int32_t found = 0;
    for (uint64_t k = 0; k < 16 && !found; k++)
      found = job_run(&j, s,
                      &(simdev_options){.seed = k,
                                        .order = k % 2 ? SIMDEV_LAZY : SIMDEV_RANDOM,
                                        .faults = &f,
                                        .fault_count = 1,
                                        .remote_errors = SIMDEV_ALWAYS}) != SIMDEV_OK;
    cr_assert(found, "record %d, of micro-batch %d", n[i], i);
  }
  simdev_close(s);
  job_free(&j);
}
