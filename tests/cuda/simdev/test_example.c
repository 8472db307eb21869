/* The example has the finding that it describes, in both builds. */
/* inputs: build/cuda/simdev/example/two_producers build/cuda/simdev/example/two_producers_tsan */
#define _POSIX_C_SOURCE 200809L
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* Without address randomization if the system allows that: gcc 12's ThreadSanitizer does not know
 * the mappings of newer kernels that randomize more bits. */
#define FIXED "fixed=''; setarch -R true 2>/dev/null && fixed='setarch -R'; "

static char text[1 << 16];

static int run(const char *program, const char *argument)
{
  const char *build = getenv("ZP_BUILD");
  char command[512];
  size_t n = 0;
  FILE *p;
  snprintf(command, sizeof command,
           FIXED "TSAN_OPTIONS=exitcode=1 $fixed %s/cuda/simdev/example/%s %s 2>&1",
           build ? build : "build", program, argument);
  p = popen(command, "r");
  cr_assert_not_null(p);
  while (n + 1 < sizeof text && !feof(p)) n += fread(text + n, 1, sizeof text - 1 - n, p);
  text[n] = 0;
  return WEXITSTATUS(pclose(p));
}

Test(example, the_mistake_gives_a_wrong_sum_under_some_seed)
{
  cr_assert_eq(run("two_producers", ""), 1, "%s", text);
  cr_assert(strstr(text, "its host function returned"), "%s", text);
}

Test(example, the_mistake_is_a_race_under_the_first_seed)
{
  cr_assert_eq(run("two_producers_tsan", ""), 1);
  cr_assert(strstr(text, "seed 1: race: two accesses that nothing orders"), "%s", text);
  cr_assert(strstr(text, "produce"), "%s", text);
}

Test(example, the_fixed_program_is_clean)
{
  cr_assert_eq(run("two_producers", "fixed"), 0, "%s", text);
  cr_assert_eq(run("two_producers_tsan", "fixed"), 0, "%s", text);
}
