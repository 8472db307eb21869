#define _GNU_SOURCE
#include "gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../base/output.h"

/* Starts gnuplot: it reads from `in` and prints to `out`. 0, or errno. */
static int start(pid_t *child, int in, int out)
{
  static char program[] = "gnuplot", defaults[] = "-d"; /* without the user's start-up file */
  char *const words[] = {program, defaults, NULL};
  posix_spawn_file_actions_t a;
  int reason = posix_spawn_file_actions_init(&a);
  if (reason) return reason;
  reason = posix_spawn_file_actions_adddup2(&a, in, 0);
  if (!reason) reason = posix_spawn_file_actions_adddup2(&a, out, 1);
  if (!reason) reason = posix_spawn_file_actions_addopen(&a, 2, "/dev/null", O_WRONLY, 0);
  if (!reason) reason = posix_spawnp(child, program, &a, NULL, words, environ);
  posix_spawn_file_actions_destroy(&a);
  return reason;
}

/* Everything that comes out of a pipe; malloc'ed, NULL without memory. */
static char *drain(int fd, size_t *n)
{
  char block[4096], *text = NULL;
  FILE *to = open_memstream(&text, n);
  ssize_t k = 0;
  while (to && ((k = read(fd, block, sizeof block)) > 0 || (k < 0 && errno == EINTR)))
    if (k > 0) fwrite(block, 1, (size_t)k, to);
  if (to && (fclose(to) || k < 0)) {
    free(text);
    text = NULL;
  }
  return text;
}

/* gnuplot may end with 0 although a command failed: the picture must be whole. */
static int is_svg(const char *text)
{
  const char *end = text ? strstr(text, "</svg>") : NULL;
  return end && end[6 + strspn(end + 6, " \r\n")] == 0;
}

int zp_gnuplot(const char *script, size_t n, const char *file, zp_error *err)
{
  int out[2] = {-1, -1}, code = -1;
  size_t length = 0;
  char *picture = NULL;
  pid_t child = -1;
  const int in = memfd_create("gnuplot", MFD_CLOEXEC); /* no deadlock: a file, not a pipe */
  int bad = in < 0 || write(in, script, n) != (ssize_t)n || lseek(in, 0, SEEK_SET) != 0 ||
            pipe2(out, O_CLOEXEC) != 0;
  const int reason = bad ? errno : start(&child, in, out[1]);
  if (in >= 0) close(in);
  if (out[1] >= 0) close(out[1]);
  if (!reason) {
    picture = drain(out[0], &length);
    while (waitpid(child, &code, 0) < 0 && errno == EINTR) continue;
  }
  if (out[0] >= 0) close(out[0]);
  bad = reason || code != 0 || !is_svg(picture);
  if (reason == EFBIG || reason == ENOSPC)
    zp_fail(err, ZP_E_FILE, -1, "%s: %s", file, strerror(reason));
  else if (bad)
    zp_fail(err, ZP_E_FILE, -1, "gnuplot %s%s (apt-get install gnuplot-nox); %s was not written",
            reason ? "could not be started: " : "failed", reason ? strerror(reason) : "", file);
  else zp_output_bytes(file, picture, length, err);
  free(picture);
  return err->status;
}
