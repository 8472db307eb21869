/* LD_PRELOAD: the FAIL_AT-th call that changes the disk below a folder named …/ck fails with the
 * errno FAIL_ERRNO, as all later ones do, or (0) ends the process by SIGKILL. FAIL_COUNT: a file to
 * which the number of such calls is written at exit. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_int calls;

/* Is the descriptor one of a file or folder in …/ck? */
static int is_checkpoint(int fd)
{
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t n = readlink(link, path, sizeof path - 1);
  if (n <= 0) return 0;
  path[n] = 0;
  return strstr(path, "/ck/") != NULL || (n > 3 && strcmp(path + n - 3, "/ck") == 0);
}

/* 1: this call fails, with errno. */
static int fails(int fd)
{
  const char *at = getenv("FAIL_AT"), *reason = getenv("FAIL_ERRNO");
  const int saved = errno;
  const int here = is_checkpoint(fd);
  errno = saved;
  if (!here) return 0;
  const int now = atomic_fetch_add(&calls, 1) + 1;
  if (at == NULL || now < atoi(at)) return 0;
  if (reason == NULL || atoi(reason) == 0) raise(SIGKILL);
  errno = atoi(reason);
  return 1;
}

__attribute__((destructor)) static void count(void)
{
  const char *name = getenv("FAIL_COUNT");
  FILE *f = name != NULL ? fopen(name, "w") : NULL;
  if (f == NULL) return;
  fprintf(f, "%d\n", atomic_load(&calls));
  fclose(f);
}

ssize_t write(int fd, const void *data, size_t n)
{
  static ssize_t (*next)(int, const void *, size_t);
  if (next == NULL) *(void **)&next = dlsym(RTLD_NEXT, "write");
  return fails(fd) ? -1 : next(fd, data, n);
}

int fsync(int fd)
{
  static int (*next)(int);
  if (next == NULL) *(void **)&next = dlsym(RTLD_NEXT, "fsync");
  return fails(fd) ? -1 : next(fd);
}

int openat(int fd, const char *name, int flags, ...)
{
  static int (*next)(int, const char *, int, ...);
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (next == NULL) *(void **)&next = dlsym(RTLD_NEXT, "openat");
  if ((flags & O_CREAT) != 0 && fails(fd)) return -1;
  return next(fd, name, flags, mode);
}

int mkdirat(int fd, const char *name, mode_t mode)
{
  static int (*next)(int, const char *, mode_t);
  if (next == NULL) *(void **)&next = dlsym(RTLD_NEXT, "mkdirat");
  return fails(fd) ? -1 : next(fd, name, mode);
}

int renameat(int from, const char *old, int to, const char *new)
{
  static int (*next)(int, const char *, int, const char *);
  if (next == NULL) *(void **)&next = dlsym(RTLD_NEXT, "renameat");
  return fails(to) ? -1 : next(from, old, to, new);
}
