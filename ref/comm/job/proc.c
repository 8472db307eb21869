#define _GNU_SOURCE
#include "proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_file(const char *pid, const char *name)
{
  char path[64];
  snprintf(path, sizeof path, "/proc/%.20s/%s", pid, name);
  return open(path, O_RDONLY | O_CLOEXEC);
}

/* Reads until n bytes or the end; returns how many. */
static size_t read_all(int fd, char *bytes, size_t n)
{
  size_t have = 0;
  ssize_t did = 1;
  while (have < n && (did = read(fd, bytes + have, n - have)) > 0) have += (size_t)did;
  return have;
}

int zp_proc_each(void (*visit)(void *ctx, const char *pid), void *ctx)
{
  DIR *d = opendir("/proc");
  if (d == NULL) return -1;
  for (struct dirent *e; (e = readdir(d)) != NULL;)
    if (e->d_name[0] >= '1' && e->d_name[0] <= '9') visit(ctx, e->d_name);
  closedir(d);
  return 0;
}

long zp_proc_parent(const char *pid)
{
  char text[512];
  long parent = -1;
  const int fd = open_file(pid, "stat");
  const ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
  if (fd >= 0) close(fd);
  if (n <= 0) return -1;
  text[n] = 0;
  const char *after = strrchr(text, ')'); /* the name may contain anything */
  return after != NULL && sscanf(after, ") %*c %ld", &parent) == 1 ? parent : -1;
}

void zp_proc_program(const char *pid, char path[PATH_MAX])
{
  char link[64];
  snprintf(link, sizeof link, "/proc/%.20s/exe", pid);
  const ssize_t n = readlink(link, path, PATH_MAX - 1);
  path[n < 0 ? 0 : n] = 0;
}

size_t zp_proc_environment(const char *pid, char bytes[ZP_PROC_ENVIRONMENT])
{
  const int fd = open_file(pid, "environ");
  const size_t n = fd < 0 ? 0 : read_all(fd, bytes, ZP_PROC_ENVIRONMENT - 1);
  if (fd >= 0) close(fd);
  bytes[n] = 0;
  return n;
}

const char *zp_proc_value(const char *bytes, size_t n, const char *name)
{
  const size_t length = strlen(name);
  for (const char *at = bytes; at < bytes + n; at += strlen(at) + 1)
    if (strncmp(at, name, length) == 0 && at[length] == '=') return at + length + 1;
  return NULL;
}

int zp_proc_has_same_words(const char *pid)
{
  char mine[4096], theirs[4096];
  const int own = open_file("self", "cmdline"), other = open_file(pid, "cmdline");
  size_t n = 0, all = 0;
  int same = own >= 0 && other >= 0;
  do {
    n = same ? read_all(own, mine, sizeof mine) : 0;
    same = same && read_all(other, theirs, sizeof theirs) == n && memcmp(mine, theirs, n) == 0;
    all += n;
  } while (n > 0 && same);
  if (own >= 0) close(own);
  if (other >= 0) close(other);
  return same && all > 0;
}

int zp_proc_is_in_same_folder(const char *pid)
{
  char path[64];
  struct stat mine, theirs;
  snprintf(path, sizeof path, "/proc/%.20s/cwd", pid);
  if (stat(".", &mine) != 0 || stat(path, &theirs) != 0) return 1;
  return mine.st_dev == theirs.st_dev && mine.st_ino == theirs.st_ino;
}
