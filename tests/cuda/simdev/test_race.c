/* ThreadSanitizer reports a race in every order, and none if CUDA's rules order the accesses. Each
 * case is a program of its own, race_cases. */
/* inputs: build/tests/drivers/simdev/race_cases build/tests/drivers/simdev/race_random */
#define _POSIX_C_SOURCE 200809L
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* Without address randomization if the system allows that: gcc 12's ThreadSanitizer does not know
 * the mappings of newer kernels that randomize more bits. */
#define FIXED "fixed=''; setarch -R true 2>/dev/null && fixed='setarch -R'; "

enum { TEXT = 1 << 20, ORDERS = 4, RACE = 1 };

/* Runs a case; its output goes to text. */
static int run(const char *name, const char *how, int seed, int weaken, char *text)
{
  const char *build = getenv("ZP_BUILD");
  char command[512];
  size_t n = 0;
  FILE *p;
  snprintf(command, sizeof command,
           FIXED
           "TSAN_OPTIONS=exitcode=0 $fixed %s/tests/drivers/simdev/race_cases %s %s %d %d 2>&1",
           build ? build : "build", name, how, seed, weaken);
  p = popen(command, "r");
  cr_assert_not_null(p);
  while (n + 1 < TEXT && !feof(p)) n += fread(text + n, 1, TEXT - 1 - n, p);
  text[n] = 0;
  return WEXITSTATUS(pclose(p));
}

static int reports(const char *text)
{
  int n = 0;
  for (const char *p = text; (p = strstr(p, "WARNING: ThreadSanitizer")); p++) n++;
  return n;
}

/* The correct program is silent; the mistake is reported under every order, with both sites. */
static void check(const char *name, const char *first, const char *second)
{
  static char text[TEXT];
  for (int seed = 0; seed < ORDERS; seed++) {
    cr_assert_eq(run(name, "good", seed, 0, text), 0, "%s, seed %d: %s", name, seed, text);
    cr_assert_eq(run(name, "bad", seed, 0, text), RACE, "%s, seed %d: %s", name, seed, text);
    cr_assert(strstr(text, "data race") && strstr(text, "race: two accesses"), "%s", text);
    cr_assert_eq(reports(text), 2, "one for each run: %s", text);
    cr_assert(strstr(text, first) && strstr(text, second), "%s, seed %d: %s", name, seed, text);
  }
}

Test(race, a_reader_must_wait_for_both_producers)
{
  check("producers", "copy_body", "fill_body");
}

Test(race, a_plain_access_to_a_word_that_a_stream_writes_must_be_ordered)
{
  check("word", "word", "fill_body");
}

Test(race, a_race_report_names_streams_and_memory)
{
  static char text[TEXT];
  run("producers", "bad", 0, 0, text);
  cr_assert(strstr(text, "stream 2, kernel copy (call 14), at +") &&
                strstr(text, "of device memory of 400 bytes (rank "),
            "%s", text);
  cr_assert(strstr(text, "write of 4 bytes by rank"));
}

Test(race, a_slot_may_not_be_refilled_while_it_is_read)
{
  check("refill", "copy_body", "fill_body");
}

Test(race, work_after_the_record_is_not_ordered)
{
  check("recorded_again", "copy_body", "fill_body");
}

Test(race, the_legacy_stream_does_not_order_non_blocking_streams)
{
  check("legacy", "copy_body", "fill_body");
}

Test(race, a_host_must_synchronize_before_it_reads)
{
  check("host_reads", "host_reads", "race_cases.c");
}

Test(race, a_host_may_not_overwrite_the_source_of_a_copy)
{
  check("host_writes", "host_writes", "race_cases.c");
}

Test(race, an_asynchronous_copy_from_pageable_memory_may_read_later)
{
  check("pageable", "pageable", "race_cases.c");
}

Test(race, a_synchronous_copy_from_pageable_memory_may_still_transfer)
{
  check("dma", "copy_body", "dma");
}

Test(race, host_functions_race_with_kernels)
{
  check("host_function", "add_one", "host_function");
}

Test(race, hosts_race_with_hosts)
{
  check("hosts", "hosts", "shared_value");
}

Test(race, blocks_of_two_streams_do_not_share_memory)
{
  check("shared_memory", "sum_body", "shared_memory");
}

Test(race, stack_variables_of_kernels_do_not_race)
{
  check("stacks", "keep_host", "keep_body");
}

Test(race, a_bucket_may_not_be_refilled_during_its_reduction)
{
  check("reduction", "fill_body", "reduction");
}

Test(race, received_data_may_not_be_read_early)
{
  check("gather", "copy_body", "gather");
}

Test(race, order_follows_the_data_and_nothing_else)
{
  check("along_data", "copy_body", "fill_body");
}

Test(race, an_event_before_ncclSuccess_does_not_cover_the_operation)
{
  check("before_success", "copy_body", "before_success");
}

Test(race, a_stream_outside_of_the_group_is_not_ordered)
{
  check("two_streams", "fill_body", "two_streams");
}

Test(race, runs_do_not_race_with_each_other)
{
  static char text[TEXT];
  for (int seed = 0; seed < ORDERS; seed++)
    cr_assert_eq(run("ends_early", "good", seed, 0, text), 0, "%s", text);
}

/* Freed without synchronizing, though the kernel happens to have run: seed 2 has an idle device. */
Test(race, freeing_memory_without_synchronizing_is_a_race)
{
  static char text[TEXT];
  cr_assert_eq(run("frees", "good", 2, 0, text), 0, "%s", text);
  cr_assert_eq(run("frees", "bad", 2, 0, text), RACE, "%s", text);
  cr_assert(strstr(text, "fill_body") && strstr(text, "(cudaFree)"), "%s", text);
}

/* For each wait of random programs: a race is reported if and only if the analysis of
 * random_case.h says that nothing else orders the accesses. */
Test(race, random_programs_race_exactly_where_the_analysis_says)
{
  const char *build = getenv("ZP_BUILD");
  char command[512], line[256];
  FILE *p;
  int waits = 0, needed = 0;
  snprintf(command, sizeof command,
           FIXED
           "TSAN_OPTIONS=exitcode=0 $fixed %s/tests/drivers/simdev/race_random 1 25 2>/dev/null",
           build ? build : "build");
  p = popen(command, "r");
  cr_assert_not_null(p);
  cr_assert_not_null(fgets(line, sizeof line, p));
  cr_assert_eq(WEXITSTATUS(pclose(p)), 0, "%s", line);
  cr_assert_eq(sscanf(line, "%*d to %*d: %d waits, %d needed", &waits, &needed), 2, "%s", line);
  cr_assert(waits > 1000 && needed > 100, "%s", line);
}

/* ---- The harness itself can fail ------------------------------------------------------------- */

Test(harness, a_switch_that_synchronizes_hides_every_race)
{
  static char text[TEXT];
  cr_assert_eq(run("producers", "bad", 0, 1, text), 0, "%s", text);
  cr_assert_eq(run("producers", "bad", 0, 0, text), RACE);
}

Test(harness, one_address_per_event_hides_the_race_with_a_second_record)
{
  static char text[TEXT];
  cr_assert_eq(run("recorded_again", "bad", 0, 2, text), 0, "%s", text);
  cr_assert_eq(run("recorded_again", "bad", 0, 0, text), RACE);
}
