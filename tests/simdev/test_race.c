/* ThreadSanitizer sees a race whatever the order, and none where CUDA's rules order the accesses.
 * Each case is a program of its own, race_cases. */
#define _POSIX_C_SOURCE 200809L
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* Without address randomization where that can be had: gcc 12's ThreadSanitizer does not know the
 * mappings of newer kernels that randomize more bits. */
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
           FIXED "TSAN_OPTIONS=exitcode=0 $fixed %s/tests/simdev/race_cases %s %s %d %d 2>&1",
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

Test(race, of_a_reader_that_waits_for_one_producer_of_two)
{
  check("producers", "copy_body", "fill_body");
}

Test(race, is_a_finding_with_streams_and_memory)
{
  static char text[TEXT];
  run("producers", "bad", 0, 0, text);
  cr_assert(strstr(text, "stream 2, kernel copy (call 14), at +") &&
                strstr(text, "of device memory of 400 bytes (rank "),
            "%s", text);
  cr_assert(strstr(text, "write of 4 bytes by rank"));
}

Test(race, of_a_slot_refilled_while_it_is_read)
{
  check("refill", "copy_body", "fill_body");
}

Test(race, with_what_came_after_the_record)
{
  check("recorded_again", "copy_body", "fill_body");
}

Test(race, with_a_stream_that_the_legacy_stream_does_not_order)
{
  check("legacy", "copy_body", "fill_body");
}

Test(race, of_a_host_that_reads_without_synchronizing)
{
  check("host_reads", "host_reads", "race_cases.c");
}

Test(race, of_a_host_that_overwrites_what_is_being_copied)
{
  check("host_writes", "host_writes", "race_cases.c");
}

Test(race, with_an_asynchronous_copy_from_pageable_memory)
{
  check("pageable", "pageable", "race_cases.c");
}

Test(race, with_a_dma_under_way)
{
  check("dma", "copy_body", "dma");
}

Test(race, of_host_functions)
{
  check("host_function", "add_one", "host_function");
}

Test(race, of_hosts)
{
  check("hosts", "hosts", "shared_value");
}

Test(race, none_on_shared_memory_of_blocks)
{
  check("shared_memory", "sum_body", "shared_memory");
}

Test(race, none_on_what_kernels_and_host_functions_keep_on_the_stack)
{
  check("stacks", "keep_host", "keep_body");
}

Test(race, with_a_reduction_that_reads_a_refilled_bucket)
{
  check("reduction", "fill_body", "reduction");
}

Test(race, with_what_is_still_being_received)
{
  check("gather", "copy_body", "gather");
}

Test(race, order_follows_the_data_and_nothing_else)
{
  check("along_data", "copy_body", "fill_body");
}

Test(race, of_an_event_recorded_before_success)
{
  check("before_success", "copy_body", "before_success");
}

Test(race, with_a_stream_outside_of_the_group)
{
  check("two_streams", "fill_body", "two_streams");
}

Test(race, none_with_the_run_before)
{
  static char text[TEXT];
  for (int seed = 0; seed < ORDERS; seed++)
    cr_assert_eq(run("ends_early", "good", seed, 0, text), 0, "%s", text);
}

/* Freed without synchronizing, though the kernel happens to have run: seed 2 has an idle device. */
Test(race, of_memory_that_is_freed)
{
  static char text[TEXT];
  cr_assert_eq(run("frees", "good", 2, 0, text), 0, "%s", text);
  cr_assert_eq(run("frees", "bad", 2, 0, text), RACE, "%s", text);
  cr_assert(strstr(text, "fill_body") && strstr(text, "(cudaFree)"), "%s", text);
}

/* For each wait of random programs: a race is reported if and only if the analysis of
 * random_case.h says that nothing else orders the accesses. */
Test(race, in_random_programs_exactly_where_analysis_says)
{
  const char *build = getenv("ZP_BUILD");
  char command[512], line[256];
  FILE *p;
  int waits = 0, needed = 0;
  snprintf(command, sizeof command,
           FIXED "TSAN_OPTIONS=exitcode=0 $fixed %s/tests/simdev/race_random 1 25 2>/dev/null",
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
