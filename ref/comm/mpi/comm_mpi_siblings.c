/* spec: LEDG-7 */
#define _GNU_SOURCE
#include "comm_mpi_siblings.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ENVIRONMENT = 1 << 16, SHOWN = 4, LOCAL_MAX = 4096 };

/* The parent of a process, from /proc/PID/stat; -1: it has ended. */
static long parent_of(const char *pid)
{
  char path[64], text[512];
  long parent = -1;
  snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
  if (fd >= 0) close(fd);
  if (n <= 0) return -1;
  text[n] = 0;
  const char *after = strrchr(text, ')'); /* the name may contain anything */
  return after != NULL && sscanf(after, ") %*c %ld", &parent) == 1 ? parent : -1;
}

/* The program of a process, "" if it is not known. */
static void program_of(const char *pid, char path[PATH_MAX])
{
  char link[64];
  snprintf(link, sizeof link, "/proc/%.20s/exe", pid);
  const ssize_t n = readlink(link, path, PATH_MAX - 1);
  path[n < 0 ? 0 : n] = 0;
}

/* The value of an environment variable of a process, -1 if it has none. */
static int number_of(const char *bytes, size_t n, const char *name)
{
  const size_t length = strlen(name);
  for (const char *at = bytes; at < bytes + n; at += strlen(at) + 1)
    if (strncmp(at, name, length) == 0 && at[length] == '=') return atoi(at + length + 1);
  return -1;
}

static size_t environment_of(const char *pid, char *bytes)
{
  char path[64];
  size_t n = 0;
  ssize_t k = 1;
  snprintf(path, sizeof path, "/proc/%.20s/environ", pid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  while (fd >= 0 && n < ENVIRONMENT - 1 && (k = read(fd, bytes + n, ENVIRONMENT - 1 - n)) > 0)
    n += (size_t)k;
  if (fd >= 0) close(fd);
  bytes[n] = 0;
  return n;
}

typedef struct search {
  char *text;
  size_t cap;
  int found;
  char mine[PATH_MAX], launcher[PATH_MAX], theirs[PATH_MAX];
  char seen[LOCAL_MAX]; /* 1: a process of that local rank runs */
  char bytes[ENVIRONMENT];
} search;

static void add(search *s, const char *what, int rank, const char *program)
{
  const size_t used = strlen(s->text);
  if (s->found++ >= SHOWN) return;
  snprintf(s->text + used, s->cap - used, "%s%s %d %s%s", used ? ", " : "", what, rank,
           program ? "runs " : "is not running", program ? program : "");
}

/* A child of the launcher with a rank. One that is not yet the rank's program still runs the
 * launcher's. A shell may start this program later: what it runs is reported, no verdict. */
static void look_at(search *s, const char *pid)
{
  const size_t n = environment_of(pid, s->bytes);
  const int rank = number_of(s->bytes, n, "OMPI_COMM_WORLD_RANK");
  const int local = number_of(s->bytes, n, "OMPI_COMM_WORLD_LOCAL_RANK");
  if (rank < 0 || local < 0 || local >= LOCAL_MAX) return;
  s->seen[local] = 1;
  program_of(pid, s->theirs);
  if (s->theirs[0] == 0 || strcmp(s->theirs, s->mine) == 0) return;
  for (char *c = s->theirs; *c != 0; c++)
    if (*c < ' ' || *c > '~') *c = '?'; /* for a terminal */
  if (strcmp(s->theirs, s->launcher) != 0) add(s, "rank", rank, s->theirs);
}

int zp_mpi_find_strangers(char *text, size_t cap)
{
  const char *local = getenv("OMPI_COMM_WORLD_LOCAL_SIZE"), *all = getenv("OMPI_COMM_WORLD_SIZE");
  const char *own = getenv("OMPI_COMM_WORLD_LOCAL_RANK");
  const int size = local ? atoi(local) : 0, mine = own ? atoi(own) : -1;
  const int one_host = all && atoi(all) == size;
  char parent[32];
  search *s = calloc(1, sizeof *s);
  DIR *d = opendir("/proc");
  text[0] = 0;
  if (s != NULL && d != NULL && size > 0 && size <= LOCAL_MAX) {
    *s = (search){.text = text, .cap = cap};
    snprintf(parent, sizeof parent, "%ld", (long)getppid());
    program_of("self", s->mine);
    program_of(parent, s->launcher);
    for (struct dirent *e; (e = readdir(d)) != NULL;)
      if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && parent_of(e->d_name) == getppid())
        look_at(s, e->d_name);
    /* started by a shell of its own, this process is no child of the launcher: nothing is known */
    for (int r = 0; r < size && mine >= 0 && mine < size && s->seen[mine]; r++)
      if (!s->seen[r]) add(s, one_host ? "rank" : "local rank", r, NULL);
  }
  const int found = s != NULL ? s->found : 0;
  if (d != NULL) closedir(d);
  free(s);
  return found;
}
