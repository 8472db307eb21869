/* A state that cannot be is an error with file and line, and ZP_LOG prints one line an op. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../ref/comm/sim/comm_sim.h"
#include "../../../ref/verify/case.h"

static zp_case c;
static zp_hyper hyper;
static zp_error err;

static zp_sim *open_sim(const char *text, zp_synth *synth)
{
  char why[256];
  zp_workload work;
  static zp_workload kept;
  zp_case_init(&c);
  cr_assert_eq(zp_case_parse(&c, text, why, sizeof why), 0, "%s", why);
  zp_case_hyper(&c, &hyper);
  synth->opt = c.synth;
  work = zp_synth_workload(synth);
  kept = work;
  return zp_sim_open(&c.cfg, &hyper, &kept, &err);
}

static void violates(void (*damage)(zp_rank *r), const char *condition)
{
  zp_synth synth;
  zp_sim *sim = open_sim("pp=2,dp=2,M=2,list=5@0.0+3@1.0", &synth);
  cr_assert_not_null(sim, "%s", err.text);
  cr_assert_eq(zp_sim_run(sim, ZP_PHASE_INIT, &err), 0, "%s", err.text);
  damage(zp_sim_rank(sim, 1));
  cr_assert_eq(zp_sim_run(sim, ZP_PHASE_STEP, &err), ZP_E_INTERNAL, "%s", err.text);
  cr_assert_eq(err.rank, 1);
  cr_assert_not_null(strstr(err.text, condition), "%s", err.text);
  cr_assert_not_null(strstr(err.text, "ref/engine/rank.c:"), "%s", err.text);
  cr_assert_str_eq(zp_status_name(err.status), "internal");
  zp_sim_close(sim);
}

static void negative_step(zp_rank *r)
{
  r->step = -1;
}

static void huge_scale(zp_rank *r)
{
  r->scaler.log2_scale = 127;
}

static void foreign_rank(zp_rank *r)
{
  r->cfg = &c.cfg;
  r->act_slots = 0;
}

Test(invariant, a_damaged_rank_is_an_internal_error_with_file_and_line)
{
  violates(negative_step, "r->step >= 0");
  memset(&err, 0, sizeof err);
  violates(huge_scale, "log2_scale <= 126");
  memset(&err, 0, sizeof err);
  violates(foreign_rank, "r->act_slots >= 1");
}

/* What a step prints on standard error under a value of ZP_LOG; malloc'ed. */
static char *printed(const char *topics)
{
  zp_synth synth;
  char name[] = "/tmp/zp_log_XXXXXX", *text = calloc(1, 1 << 20);
  const int file = mkstemp(name), before = dup(STDERR_FILENO);
  zp_sim *sim;
  cr_assert(file >= 0 && before >= 0 && text != NULL);
  setenv("ZP_LOG", topics, 1);
  dup2(file, STDERR_FILENO);
  sim = open_sim("dp=2,M=1,list=5@0.0", &synth);
  zp_sim_run(sim, ZP_PHASE_INIT, &err);
  zp_sim_run(sim, ZP_PHASE_STEP, &err);
  dup2(before, STDERR_FILENO);
  cr_assert(pread(file, text, (1 << 20) - 1, 0) >= 0);
  zp_sim_close(sim);
  unlink(name);
  return text;
}

Test(log, ops_are_printed_one_a_line)
{
  char *text = printed("ops");
  cr_assert_not_null(strstr(text, "zeroproof: ref rank 1 ops: step 0, position 0: "), "%s", text);
  cr_assert_not_null(strstr(text, "forward(mb 0)\n"), "%s", text);
  cr_assert_null(strstr(text, " comm: "), "%s", text);
  free(text);
}

Test(log, communications_are_printed_when_they_are_complete)
{
  char *text = printed("comm");
  cr_assert_not_null(strstr(text, "reduce_scatter(gradient"), "%s", text);
  cr_assert_null(strstr(text, " ops: "), "%s", text);
  free(text);
}

Test(log, nothing_is_printed_without_the_variable_and_unknown_words_are_reported)
{
  char *text = printed("opz");
  cr_assert_str_eq(text, "zeroproof: ZP_LOG has no topic 'opz': use ops, streams, comm or all\n");
  free(text);
}
