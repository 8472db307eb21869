#define _GNU_SOURCE
#include "gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../base/child.h"
#include "../base/clock.h"
#include "../base/output.h"

/* The standard output of a program; malloc'ed, NULL without memory. */
static char *drain(FILE *from, size_t *n)
{
  char block[4096], *text = NULL;
  FILE *to = open_memstream(&text, n);
  size_t k = 0;
  while (to && (k = fread(block, 1, sizeof block, from)) > 0) fwrite(block, 1, k, to);
  if (to && fclose(to)) {
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

int zp_gnuplot(const char *script, size_t n, const char *file, unsigned seconds_max, zp_error *err)
{
  static char program[] = "gnuplot", defaults[] = "-d"; /* without the user's start-up file */
  char *const words[] = {program, defaults, NULL};
  size_t length = 0;
  char *picture = NULL;
  zp_child child = {NULL, -1};
  const double start = zp_clock_s();
  const int low = memfd_create("gnuplot", MFD_CLOEXEC); /* no deadlock: a file, not a pipe */
  const int in = low < 0 ? -1 : fcntl(low, F_DUPFD_CLOEXEC, 3);
  int reason = in < 0 || write(in, script, n) != (ssize_t)n || lseek(in, 0, SEEK_SET) != 0 ||
                       zp_child_open(&child, words, in, seconds_max) != 0
                   ? errno
                   : 0;
  if (low >= 0) close(low);
  if (in >= 0) close(in);
  if (!reason) picture = drain(child.stream, &length);
  const int code = reason ? -1 : zp_child_close(&child);
  if (reason == EFBIG || reason == ENOSPC)
    zp_fail(err, ZP_E_FILE, -1, "%s: %s", file, strerror(reason));
  else if (code == -1 && seconds_max > 0 && zp_clock_s() - start >= seconds_max)
    zp_fail(err, ZP_E_FILE, -1,
            "gnuplot did not end within %u s and was stopped; %s was not written", seconds_max,
            file);
  else if (code != 0 || !is_svg(picture))
    zp_fail(err, ZP_E_FILE, -1,
            "gnuplot failed or is not installed (apt-get install gnuplot-nox); %s was not written",
            file);
  else zp_output_bytes(file, picture, length, err);
  free(picture);
  return err->status;
}
