/* Laws of ref/comm/job/remains.h: whatever a job has started is gone afterwards. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../ref/comm/job/proc.h"
#include "../../../ref/comm/job/remains.h"

static char value[32];
static int32_t there;

static void count(void *ctx, const char *pid)
{
  static char bytes[ZP_PROC_ENVIRONMENT];
  const size_t n = zp_proc_environment(pid, bytes);
  const char *found = zp_proc_value(bytes, n, "ZP_REMAINS_TEST");
  (void)ctx;
  there += found != NULL && strcmp(found, value) == 0;
}

static int32_t count_marked(void)
{
  there = 0;
  cr_assert_eq(zp_proc_each(count, NULL), 0);
  return there;
}

/* Runs a shell command with the mark, and waits until it ends. */
static void run(const char *command)
{
  int status;
  snprintf(value, sizeof value, "%ld", (long)getpid());
  const pid_t child = fork();
  if (child == 0) {
    setenv("ZP_REMAINS_TEST", value, 1);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
  }
  cr_assert_eq(waitpid(child, &status, 0), child);
  cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void check_all_end(const char *command, int32_t least)
{
  int32_t ended;
  char left[256];
  cr_assert_eq(zp_remains_adopt(), 0);
  run(command);
  cr_assert_geq(count_marked(), least, "the job has left processes");
  const int status = zp_remains_end("ZP_REMAINS_TEST", value, 600, &ended, left, (int)sizeof left);
  cr_assert_eq(status, 0, "%s", left);
  cr_assert_geq(ended, least);
  cr_assert_eq(count_marked(), 0);
  cr_assert_eq(waitpid(-1, NULL, WNOHANG), -1, "children are reaped");
}

Test(remains, processes_of_other_sessions_end)
{
  check_all_end("setsid sleep 1000 & setsid sh -c 'sleep 1000 & sleep 1000' & sleep 1000 &", 2);
}

Test(remains, processes_that_ignore_signals_or_are_stopped_end)
{
  check_all_end("trap '' TERM INT HUP; sleep 1000 & kill -STOP $!", 1);
}

Test(remains, children_without_the_mark_end)
{
  int32_t ended;
  char left[256];
  cr_assert_eq(zp_remains_adopt(), 0);
  run("env -u ZP_REMAINS_TEST sleep 1000 &");
  cr_assert_eq(zp_remains_end("ZP_REMAINS_TEST", value, 600, &ended, left, (int)sizeof left), 0);
  cr_assert_eq(ended, 1);
  cr_assert_eq(waitpid(-1, NULL, WNOHANG), -1);
}

Test(remains, processes_of_others_stay)
{
  int32_t ended;
  char left[256];
  snprintf(value, sizeof value, "no such value");
  cr_assert_eq(zp_remains_end("ZP_REMAINS_TEST", value, 600, &ended, left, (int)sizeof left), 0);
  cr_assert_eq(ended, 0);
  cr_assert_eq(kill(getppid(), 0), 0);
}
