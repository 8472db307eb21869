#define _GNU_SOURCE
#include "local_ranks.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../base/clock.h"
#include "proc.h"

typedef struct search {
  const zp_job *job;
  int32_t different, same; /* processes of lower local ranks, by arguments and folder */
  char *seen;              /* [local_rank] 1: counted */
  char mine[PATH_MAX], theirs[PATH_MAX];
  char bytes[ZP_PROC_ENVIRONMENT];
} search;

/* Do these variables, which name the job, have the same values as in this process? */
static int is_of_job(const char *bytes, size_t n)
{
  static const char *const names[] = {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid",
                                      "TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    const char *here = getenv(names[i]), *there = zp_proc_value(bytes, n, names[i]);
    if ((here == NULL) != (there == NULL) || (here != NULL && strcmp(here, there) != 0)) return 0;
  }
  return 1;
}

/* A shell that starts a rank has the rank's environment, but runs another program. */
static void look_at(void *ctx, const char *pid)
{
  search *s = ctx;
  const char *name = s->job->launcher == ZP_OPEN_MPI ? "OMPI_COMM_WORLD_LOCAL_RANK" : "LOCAL_RANK";
  const size_t n = zp_proc_environment(pid, s->bytes);
  const char *rank = zp_proc_value(s->bytes, n, name);
  const int local = rank != NULL ? atoi(rank) : -1;
  if (local < 0 || local >= s->job->local_rank || s->seen[local] || !is_of_job(s->bytes, n)) return;
  zp_proc_program(pid, s->theirs);
  if (strcmp(s->theirs, s->mine) != 0) return;
  s->seen[local] = 1;
  if (zp_proc_has_same_words(pid) && zp_proc_is_in_same_folder(pid)) s->same++;
  else s->different++;
}

void zp_local_ranks_await(const zp_job *job, double same_s, double other_s)
{
  const struct timespec pause = {0, 100000000};
  const double start = zp_clock_s();
  double seen = start; /* when one with the same arguments ran */
  search *s = calloc(1, sizeof *s);
  if (s != NULL) s->seen = calloc((size_t)job->local_rank + 1, 1);
  while (s != NULL && s->seen != NULL) {
    s->job = job;
    s->different = s->same = 0;
    memset(s->seen, 0, (size_t)job->local_rank + 1);
    zp_proc_program("self", s->mine);
    if (zp_proc_each(look_at, s) != 0 || s->different == job->local_rank) break;
    const double now = zp_clock_s();
    if (s->same > 0) seen = now;
    if (now - start >= same_s || now - seen >= other_s) break;
    nanosleep(&pause, NULL);
  }
  if (s != NULL) free(s->seen);
  free(s);
}
