#define _GNU_SOURCE
#include "regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

FILE *zp_open_regular(const char *name, int *regular)
{
  struct stat st;
  FILE *f;
  const int fd = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  *regular = 1;
  if (fd < 0) return NULL;
  if (fstat(fd, &st) == 0 && !S_ISREG(st.st_mode)) *regular = 0;
  f = *regular ? fdopen(fd, "rb") : NULL;
  if (f == NULL) close(fd);
  return f;
}
