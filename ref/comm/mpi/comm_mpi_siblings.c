/* spec: LEDG-7 */
#define _GNU_SOURCE
#include "comm_mpi_siblings.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../job/proc.h"

enum { SHOWN = 4, LOCAL_MAX = 4096 };

/* The value of an environment variable of a process, -1 if it has none. */
static int number_of(const char *bytes, size_t n, const char *name)
{
  const char *text = zp_proc_value(bytes, n, name);
  return text != NULL ? atoi(text) : -1;
}

typedef struct search {
  char *text;
  size_t cap;
  int found;
  char mine[PATH_MAX], launcher[PATH_MAX], theirs[PATH_MAX];
  char seen[LOCAL_MAX]; /* 1: a process of that local rank runs */
  char bytes[ZP_PROC_ENVIRONMENT];
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
static void look_at(void *ctx, const char *pid)
{
  search *s = ctx;
  if (zp_proc_parent(pid) != getppid()) return;
  const size_t n = zp_proc_environment(pid, s->bytes);
  const int rank = number_of(s->bytes, n, "OMPI_COMM_WORLD_RANK");
  const int local = number_of(s->bytes, n, "OMPI_COMM_WORLD_LOCAL_RANK");
  if (rank < 0 || local < 0 || local >= LOCAL_MAX) return;
  s->seen[local] = 1;
  zp_proc_program(pid, s->theirs);
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
  text[0] = 0;
  if (s != NULL && size > 0 && size <= LOCAL_MAX) {
    *s = (search){.text = text, .cap = cap};
    snprintf(parent, sizeof parent, "%ld", (long)getppid());
    zp_proc_program("self", s->mine);
    zp_proc_program(parent, s->launcher);
    (void)zp_proc_each(look_at, s);
    /* started by a shell of its own, this process is no child of the launcher: nothing is known */
    for (int r = 0; r < size && mine >= 0 && mine < size && s->seen[mine]; r++)
      if (!s->seen[r]) add(s, one_host ? "rank" : "local rank", r, NULL);
  }
  const int found = s != NULL ? s->found : 0;
  free(s);
  return found;
}
