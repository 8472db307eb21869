/* zeroproof check, report, explain: finds the judge (conformance/judge) and becomes it. The judge
 * consists of programs in Python: they start adapters and scripts, time them, and write reports.
 * What is right is decided here, by `zeroproof cases` and `zeroproof oracle`, which they query. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "options.h"

enum { PATH = 4096 };

/* Beside the command in the source tree (build/zeroproof), or installed (bin/zeroproof). */
static const char *const places[] = {"../conformance/judge", "../../conformance/judge",
                                     "../share/zeroproof/conformance/judge"};

/* The path of a file of the judge. */
static int find(const char *self, const char *name, char *file, size_t cap)
{
  char folder[PATH];
  snprintf(folder, sizeof folder, "%s", self);
  char *slash = strrchr(folder, '/');
  if (slash != NULL) *slash = 0;
  for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
    snprintf(file, cap, "%s/%s/%s", folder, places[i], name);
    if (access(file, R_OK) == 0) return 0;
  }
  return -1;
}

static int become(const char *name, int argc, char **argv)
{
  char self[PATH], judge[3 * PATH];
  static char usual[] = "python3", flag[] = "-B";
  char *other = getenv("ZEROPROOF_PYTHON");
  char *const python = other != NULL ? other : usual; /* finds its environment by its argv[0] */
  const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  if ((fcntl(STDOUT_FILENO, F_GETFL) & O_ACCMODE) == O_RDONLY) { /* see zp_process_begin */
    fprintf(stderr, "%s: standard output could not be written: it is closed\n", argv[0]);
    return ZP_EXIT_ENVIRONMENT;
  }
  char **all = calloc((size_t)argc + 4, sizeof *all);
  if (n <= 0 || all == NULL) {
    fprintf(stderr, "%s: this process cannot find its own file, or has no memory.\n", argv[0]);
    free(all);
    return ZP_EXIT_ENVIRONMENT;
  }
  self[n] = 0;
  if (find(self, name, judge, sizeof judge)) {
    fprintf(stderr, "%s: the judge is not here: neither %s in the source tree nor %s.\n", argv[0],
            "conformance/judge", "PREFIX/share/zeroproof/conformance/judge");
    free(all);
    return ZP_EXIT_ENVIRONMENT;
  }
  setenv("ZEROPROOF", self, 1);
  all[0] = python;
  all[1] = flag;
  all[2] = judge;
  for (int i = 1; i < argc; i++) all[i + 2] = argv[i];
  execvp(python, all);
  fprintf(stderr, "%s: %s cannot be started: %s. Python 3.10 or later is needed.\n", argv[0],
          python, strerror(errno));
  free(all);
  return ZP_EXIT_ENVIRONMENT;
}

int zp_cmd_check(int argc, char **argv, const zp_backend *engine)
{
  (void)engine;
  return become("__main__.py", argc, argv);
}

int zp_cmd_report(int argc, char **argv, const zp_backend *engine)
{
  (void)engine;
  return become("cause_report.py", argc, argv);
}

int zp_cmd_explain(int argc, char **argv, const zp_backend *engine)
{
  (void)engine;
  return become("explain.py", argc, argv);
}
