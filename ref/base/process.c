#define _GNU_SOURCE
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "escape.h"

/* Enough for the ranks of a simulation; some programs close all possible descriptors in a loop. */
enum { FILES = 65536 };

/* A full disk or a closed pipe loses output: that is a failure, not a success. */
static void check_output(int status, void *code)
{
  const int *failed_code = code;
  errno = 0;
  const int failed = fflush(stdout) != 0 || ferror(stdout);
  int reason = errno;
  if (!failed && fclose(stdout) == 0) return;
  if (!failed) reason = errno; /* some file systems report a full disk only here */
  fprintf(stderr, "zeroproof: standard output could not be written%s%s\n", reason ? ": " : "",
          reason ? strerror(reason) : ""); /* unknown if an earlier write failed */
  if (status != 0) return;
  fflush(NULL);
  _exit(*failed_code);
}

static void open_standard_files(int failed)
{
  for (int fd = 0; fd <= 2; fd++) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    /* the lowest free descriptor is fd; standard output for reading only: writing fails */
    if (open("/dev/null", fd == 2 ? O_WRONLY : O_RDONLY) != fd) _exit(failed);
  }
}

static void escape_output(int failed)
{
  static zp_escaped to_stdout, to_stderr;
  FILE *out = zp_escape_stream(&to_stdout, stdout, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF);
  FILE *err = zp_escape_stream(&to_stderr, stderr, _IONBF);
  if (!out || !err) _exit(failed);
  stdout = out;
  stderr = err;
}

void zp_process_begin(int failed)
{
  static int code;
  struct rlimit files;
  code = failed;
  open_standard_files(failed);
  escape_output(failed);
  signal(SIGXFSZ, SIG_IGN);
  if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < FILES) {
    files.rlim_cur = files.rlim_max < FILES ? files.rlim_max : FILES;
    (void)setrlimit(RLIMIT_NOFILE, &files);
  }
  on_exit(check_output, &code);
}
