#define _GNU_SOURCE
#include "token.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job.h"

enum { TOKEN_MAX = 2 * ZP_TOKEN_HALF };

/* The file's first line; 0, or -1 with the reason in why. */
static int read_file(const char *path, char text[TOKEN_MAX + 2], char *why, size_t cap)
{
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat s;
  ssize_t n = -1;
  if (fd < 0 || fstat(fd, &s) != 0) {
    snprintf(why, cap, "%s=%.200s: %s", ZP_JOB_TOKEN_FILE_VARIABLE, path, strerror(errno));
  } else if (!S_ISREG(s.st_mode) || s.st_uid != geteuid() || (s.st_mode & 077) != 0) {
    snprintf(why, cap,
             "%s=%.200s: expected a regular file of this user with mode 600; chmod 600 it",
             ZP_JOB_TOKEN_FILE_VARIABLE, path);
  } else {
    n = read(fd, text, TOKEN_MAX + 1);
    if (n < 0)
      snprintf(why, cap, "%s=%.200s: %s", ZP_JOB_TOKEN_FILE_VARIABLE, path, strerror(errno));
  }
  if (fd >= 0) close(fd);
  if (n < 0) return -1;
  text[n] = 0;
  text[strcspn(text, "\r\n")] = 0;
  return 0;
}

int zp_token_read(zp_token *t, char *why, size_t cap)
{
  const char *own = getenv(ZP_JOB_TOKEN_VARIABLE), *file = getenv(ZP_JOB_TOKEN_FILE_VARIABLE);
  char text[TOKEN_MAX + 2] = "";
  if (own != NULL && *own == 0) own = NULL;
  if (own == NULL && file == NULL) {
    snprintf(why, cap,
             "the job is on several hosts, and any process that reaches rank 0's port could join "
             "it: set %s to the same random text for all processes, such as the output of "
             "`openssl rand -hex 32` (mpirun: -x %s), or %s to a file with it",
             ZP_JOB_TOKEN_VARIABLE, ZP_JOB_TOKEN_VARIABLE, ZP_JOB_TOKEN_FILE_VARIABLE);
    return -1;
  }
  if (own != NULL) snprintf(text, sizeof text, "%s", own);
  else if (read_file(file, text, why, cap) != 0) return -1;
  const size_t n = strlen(text), first = n / 2;
  if (n < ZP_TOKEN_MIN || n > TOKEN_MAX) {
    snprintf(why, cap, "%s has %s%llu characters; expected %d to %d",
             own != NULL ? ZP_JOB_TOKEN_VARIABLE : ZP_JOB_TOKEN_FILE_VARIABLE,
             n > TOKEN_MAX ? "at least " : "", (unsigned long long)n, (int)ZP_TOKEN_MIN,
             (int)TOKEN_MAX);
    return -1;
  }
  memset(t, 0, sizeof *t);
  memcpy(t->half[0], text, first);
  memcpy(t->half[1], text + first, n - first);
  explicit_bzero(text, sizeof text);
  return 0;
}

int zp_token_equal(const uint8_t a[ZP_TOKEN_HALF], const uint8_t b[ZP_TOKEN_HALF])
{
  volatile uint8_t differs = 0;
  for (int i = 0; i < ZP_TOKEN_HALF; i++) differs |= a[i] ^ b[i];
  return differs == 0;
}
