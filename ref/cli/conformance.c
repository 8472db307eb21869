/* zeroproof check: finds the judge (conformance/judge) and becomes it. The judge is a program in
 * Python: it starts adapters, times them, and writes reports; what is right is decided here, by
 * `zeroproof cases` and `zeroproof oracle`, which it asks. */
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

static int find(const char *self, char *judge, size_t cap)
{
  char folder[PATH];
  snprintf(folder, sizeof folder, "%s", self);
  char *slash = strrchr(folder, '/');
  if (slash != NULL) *slash = 0;
  for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
    char file[3 * PATH];
    snprintf(judge, cap, "%s/%s", folder, places[i]);
    snprintf(file, sizeof file, "%s/__main__.py", judge);
    if (access(file, R_OK) == 0) return 0;
  }
  return -1;
}

int zp_cmd_conformance(int argc, char **argv, const zp_backend *engine)
{
  (void)engine;
  char self[PATH], judge[2 * PATH];
  static char python[] = "python3", flag[] = "-B";
  const char *other = getenv("ZEROPROOF_PYTHON");
  const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  if ((fcntl(STDOUT_FILENO, F_GETFL) & O_ACCMODE) == O_RDONLY) { /* see zp_process_begin */
    fputs("zeroproof check: standard output could not be written: it is closed\n", stderr);
    return ZP_EXIT_ENVIRONMENT;
  }
  char **all = calloc((size_t)argc + 4, sizeof *all);
  if (n <= 0 || all == NULL) {
    fprintf(stderr, "zeroproof check: this process cannot find its own file, or has no memory.\n");
    free(all);
    return ZP_EXIT_ENVIRONMENT;
  }
  self[n] = 0;
  if (find(self, judge, sizeof judge)) {
    fprintf(stderr,
            "zeroproof check: the judge is not here: neither %s in the source tree nor %s.\n",
            "conformance/judge", "PREFIX/share/zeroproof/conformance/judge");
    free(all);
    return ZP_EXIT_ENVIRONMENT;
  }
  setenv("ZEROPROOF", self, 1);
  all[0] = python;
  all[1] = flag;
  all[2] = judge;
  for (int i = 1; i < argc; i++) all[i + 2] = argv[i];
  execvp(other != NULL ? other : python, all);
  fprintf(stderr, "zeroproof check: %s cannot be started: %s. Python 3.10 or later is needed.\n",
          other != NULL ? other : python, strerror(errno));
  free(all);
  return ZP_EXIT_ENVIRONMENT;
}
