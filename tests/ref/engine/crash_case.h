/* Laws of any way to save: neither a crash nor a failing disk at any moment loses the checkpoint
 * before it. spec: CKPT-2, CKPT-6 */
#ifndef ZP_TESTS_CRASH_CASE_H
#define ZP_TESTS_CRASH_CASE_H

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "checkpoint_case.h"

/* Saves as save_at does. */
typedef int save_function(const char *where, int64_t step, int64_t cut, crash *c, zp_error *err);

/* A process that ends at each event of a save leaves a whole checkpoint. */
static inline void check_crashes(save_function *saves)
{
  crash all = {-1, 0};
  zp_error err = {0};
  int old = 0, new = 0;
  save(1, 4);
  cr_assert_eq(saves(dir, 2, 3, &all, &err), 0, "%s", err.text);
  cr_assert_gt(all.seen, 15);
  for (int k = 0; k < all.seen; k++) {
    int status;
    int64_t step = 0;
    char *words = NULL;
    remove_temp();
    cr_assert_eq(mkdir(dir, 0777), 0);
    save(1, 4);
    const pid_t child = fork();
    if (child == 0) {
      crash c = {k, 0};
      saves(dir, 2, 3, &c, &err);
      _exit(0);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 42, "event %d did not come", k);
    cr_assert_eq(zp_ckpt_peek(dir, &step, &words, &err), 0, "event %d: %s", k, err.text);
    free(words);
    check_current(step, 5);
    if (step == 1) old++;
    else new ++;
    cr_assert(new == 0 || step == 2, "published at one moment, not undone later");
    save(2, 4); /* and the next save works, whatever was left behind */
    check_current(2, 5);
  }
  cr_assert_gt(old, 10);
  cr_assert_gt(new, 0);
}

/* A save of which files may not grow beyond a limit fails, and the checkpoint before it stays. */
static inline void check_full_disks(save_function *saves)
{
  save(1, 4);
  for (rlim_t limit = 0; limit < 2200; limit += 50) {
    const pid_t child = fork();
    int status;
    if (child == 0) {
      const struct rlimit most = {limit, limit};
      zp_error err = {0};
      signal(SIGXFSZ, SIG_IGN);
      setrlimit(RLIMIT_FSIZE, &most);
      status = saves(dir, 2, 3, NULL, &err);
      _exit(status == 0 ? 0 : status == ZP_E_FILE && strstr(err.text, "cannot write") ? 1 : 2);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status));
    if (WEXITSTATUS(status) == 0) return; /* large enough for all files */
    cr_assert_eq(WEXITSTATUS(status), 1, "limit %d", (int)limit);
    check_current(1, 4);
  }
  cr_assert_fail("a save never fitted");
}

#endif
