/* The CUDA engine on simdev gives the bits of ref, under every order that CUDA allows; errors name
 * their place, and nobody waits for ever. */
#define _POSIX_C_SOURCE 200809L
#include <criterion/criterion.h>
#include <stdlib.h>

#include "engine_case.h"

enum { JOBS = 60, SEEDS = 4 };

static void check_job(uint32_t seed, int32_t seeds)
{
  static job j;
  char text[200];
  simdev *s;
  cr_assert_eq(job_fill(&j, seed, RANKS_MAX), 0, "job %u: %s", seed, j.text);
  job_describe(&j, text, sizeof text);
  s = job_simdev(&j, NULL);
  cr_assert_not_null(s);
  for (int32_t k = 0; k < seeds; k++) {
    const simdev_options o = {.seed = seed * 100u + (uint64_t)k, .order = (simdev_order)(k % 4)};
    const simdev_status status = job_run(&j, s, &o);
    cr_assert_eq(status, SIMDEV_OK, "%s, seed %llu:\n%s\n%s\n%s", text, (unsigned long long)o.seed,
                 j.text, simdev_result(s)->text, j.error[0].text);
  }
  simdev_close(s);
  job_free(&j);
}

/* STEP-2, RED-4, RED-5, LEDG-1: norm, loss, scale, skipped, masters, moments, parameters and
 * ledgers. */
Test(engine, equals_ref_bit_for_bit_on_random_topologies_and_orders)
{
  const char *n = getenv("ZP_ENGINE_JOBS"); /* for long runs */
  const uint32_t jobs = n ? (uint32_t)atoi(n) : JOBS;
  for (uint32_t seed = 1; seed <= jobs; seed++) check_job(seed, SEEDS);
}

Test(engine, equals_ref_where_nccl_keeps_the_launch_order)
{
  setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", 1);
  for (uint32_t seed = 1001; seed <= 1000 + JOBS; seed++) check_job(seed, SEEDS);
}

/* Each comparison, broken once. */
Test(engine, finds_a_difference_when_there_is_one)
{
  static job j;
  simdev *s;
  cr_assert_eq(job_fill(&j, 6, RANKS_MAX), 0);
  s = job_simdev(&j, NULL);
  j.result[0].loss ^= 1;
  j.always_get = 1;
  cr_assert_eq(job_run(&j, s, &(simdev_options){0}), SIMDEV_E_HOST);
  cr_assert(strstr(j.text, "the loss of step 0 differs"), "%s", j.text);
  j.result[0].loss ^= 1;
  j.ledger[1].op[7].count++;
  cr_assert_eq(job_run(&j, s, &(simdev_options){0}), SIMDEV_E_HOST);
  cr_assert(strstr(j.text, "rank 1: the ledger at communication 7"), "%s", j.text);
  j.ledger[1].op[7].count--;
  for (int32_t k = 0; k < 8; k++) { /* one bit of one master, and of one parameter */
    zp_rank *r = zp_sim_rank(j.ref, 0);
    unsigned char *bits =
        k % 2 ? (unsigned char *)r->param[r->lay.n_params - 1] : (unsigned char *)r->flat[0].master;
    bits[0] ^= (unsigned char)(1u << k);
    cr_assert_eq(job_run(&j, s, &(simdev_options){0}), SIMDEV_E_HOST);
    cr_assert(strstr(j.text, k % 2 ? "parameter" : "masters"), "%s", j.text);
    bits[0] ^= (unsigned char)(1u << k);
  }
  cr_assert_eq(job_run(&j, s, &(simdev_options){0}), SIMDEV_OK, "%s", j.text);
  simdev_close(s);
  job_free(&j);
}

/* ---- Errors ---------------------------------------------------------------------------------- */

/* Everybody but `rank` ends with an error about another rank that says where in the program. */
static void check_peers(const job *j, int32_t rank)
{
  for (int32_t r = 0; r < j->world; r++) {
    if (r == rank) continue;
    cr_assert_eq(j->error[r].status, ZP_CUDA_E_PEER, "rank %d: %d %s", r, j->error[r].status,
                 j->error[r].text);
    cr_assert(strstr(j->error[r].text, "program position"), "%s", j->error[r].text);
  }
}

/* STEP-3: an entry that is not announced, and one that is announced twice. */
Test(engine, names_a_gradient_that_is_missing_or_comes_twice)
{
  for (int twice = 0; twice < 2; twice++)
    for (int32_t order = 0; order < 4; order++) {
      static job j;
      simdev *s;
      cr_assert_eq(job_fill(&j, 6, RANKS_MAX), 0);
      if (twice) j.twice = 1;
      else j.forget = 1;
      s = job_simdev(&j, NULL);
      cr_assert_eq(job_run(&j, s,
                           &(simdev_options){.seed = 5,
                                             .order = (simdev_order)order,
                                             .remote_errors = 1 + (simdev_choice)order % 2,
                                             .allow_leaks = 1}),
                   SIMDEV_E_HOST, "%s", simdev_result(s)->text);
      cr_assert_eq(j.error[1].status, ZP_CUDA_E_ARRIVAL, "%s", j.error[1].text);
      cr_assert(strstr(j.error[1].text, twice ? "was announced twice" : "the first one missing is"),
                "%s", j.error[1].text);
      check_peers(&j, 1);
      simdev_close(s);
      job_free(&j);
    }
}

/* What a stopped host has allocated nobody frees: it is no leak of the engine's. */
void __lsan_disable(void) __attribute__((weak));

/* LEDG-7: a rank that dies or stands still, at many places. */
Test(engine, nobody_waits_for_a_rank_that_is_gone)
{
  static job j;
  simdev *s;
  if (__lsan_disable) __lsan_disable();
  cr_assert_eq(job_fill(&j, 6, RANKS_MAX), 0);
  s = job_simdev(&j, NULL);
  for (int64_t n = 150; n < 1500; n += 67) {
    const simdev_fault f = {n % 2 ? SIMDEV_FAULT_DIE : SIMDEV_FAULT_STOP, 2, NULL, n, 0};
    const simdev_options o = {.seed = (uint64_t)n,
                              .faults = &f,
                              .fault_count = 1,
                              .allow_leaks = 1,
                              .remote_errors = 1 + (simdev_choice)(n / 67 % 2)};
    job_run(&j, s, &o); /* ends as a deadlock of the one that is gone */
    check_peers(&j, 2);
  }
  simdev_close(s);
  job_free(&j);
}

Test(engine, refuses_what_it_cannot_do_and_names_the_field)
{
  static job j;
  zp_cuda_error err;
  cr_assert_eq(job_fill(&j, 6, RANKS_MAX), 0);
  worker w = {.j = &j, .at = zp_coord_of(&j.r.c, 0)};
  zp_cuda_options o = options_of(&w);
  j.r.c.dynamic_shapes = 1;
  o.message_bytes = 0;
  cr_assert_null(zp_cuda_open(&o, &err));
  cr_assert(err.status == ZP_CUDA_E_REFUSED && strstr(err.text, "message_bytes"), "%s", err.text);
  o.message_bytes = 1;
  o.model.shape = NULL;
  cr_assert_null(zp_cuda_open(&o, &err));
  cr_assert(err.status == ZP_CUDA_E_REFUSED && strstr(err.text, "shape is needed"), "%s", err.text);
  j.r.c.dynamic_shapes = 0;
  j.r.c.stage = 3;
  cr_assert_null(zp_cuda_open(&o, &err));
  cr_assert(err.status == ZP_CUDA_E_REFUSED && strstr(err.text, "allowed are 0 to 2"), "%s",
            err.text);
  j.r.c.stage = 2;
  o.rank = j.world;
  cr_assert_null(zp_cuda_open(&o, &err));
  cr_assert(strstr(err.text, "rank:"), "%s", err.text);
  o.rank = 0;
  o.act_out.t[0].dtype = (j.r.c.precision + 1) % 3;
  cr_assert_null(zp_cuda_open(&o, &err));
  cr_assert(strstr(err.text, "act_out:"), "%s", err.text);
  o.act_out.n = 0;
  o.model.backward = NULL;
  cr_assert_null(zp_cuda_open(&o, &err));
  cr_assert(strstr(err.text, "callbacks"), "%s", err.text);
  job_free(&j);
}
