/* Ranks as the processes of an Open MPI job; each leaves its finding in a file of the folder. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/child.h"
#include "../comm/job/job.h"
#include "backend.h"
#include "cases.h"
#include "rank_run.h"

enum { LIMIT_S = 240, DEADLINE_S = 60, FILE_BYTES = 4200 };

static void file_of(const char *folder, int32_t rank, char *file, size_t cap)
{
  snprintf(file, cap, "%s/rank.%d", folder, (int)rank);
}

/* "STEPS SKIPPED CLIPPED GROWN LOWERED RELOADED CLAUSE TEXT", clause "-": nothing was found. */
static int write_found(const char *folder, int32_t rank, const zp_rank_run_found *f)
{
  char file[FILE_BYTES];
  file_of(folder, rank, file, sizeof file);
  FILE *out = fopen(file, "w");
  if (!out) return -1;
  const zp_rank_run_seen *s = &f->seen;
  fprintf(out, "%lld %d %d %d %d %d %s %s", (long long)f->step, (int)s->skipped, (int)s->clipped,
          (int)s->grown, (int)s->lowered, (int)s->reloaded, f->clause[0] ? f->clause : "-",
          f->text);
  return fclose(out);
}

int zp_api_mpi_rank(const char *folder, const char *text, const char *fault)
{
  static zp_case c;
  zp_job job = {0};
  zp_error err = {0};
  zp_rank_run_found found;
  char why[256];
  zp_case_init(&c);
  if (zp_case_parse(&c, text, why, sizeof why) || zp_job_read(&job, &err)) return 2;
  const zp_rank_run_options o = {&c,
                                 job.rank,
                                 NULL,
                                 folder,
                                 DEADLINE_S,
                                 job.rank == 0 ? (zp_rank_fault)atoi(fault) : ZP_RANK_FAULT_NONE,
                                 zp_host_device};
  const int failed = zp_rank_run(&o, &found);
  if (write_found(folder, job.rank, &found)) return 3;
  if (failed || found.left) _exit(failed); /* MPI cannot be ended: engine.h */
  return 0;
}

/* 0, or -1: the rank left no finding. */
static int read_found(const char *folder, int32_t rank, zp_verdict *v)
{
  char file[FILE_BYTES];
  zp_rank_run_found f = {0};
  zp_rank_run_seen *s = &f.seen;
  file_of(folder, rank, file, sizeof file);
  FILE *in = fopen(file, "r");
  if (!in) return -1;
  const int n = fscanf(in, "%" SCNd64 " %d %d %d %d %d %11s %1023[^\n]", &f.step, &s->skipped,
                       &s->clipped, &s->grown, &s->lowered, &s->reloaded, f.clause, f.text);
  fclose(in);
  if (n < 7) return -1;
  if (strcmp(f.clause, "-") == 0) f.clause[0] = 0;
  zp_api_take_found(&f, v);
  return 0;
}

void zp_api_mpi_run(const zp_case *c, const char *folder, const zp_fault *fault, zp_verdict *v)
{
  char text[ZP_CASE_TEXT], self[4096], count[16], number[16];
  const int32_t world = zp_world(&c->cfg);
  const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  zp_child child;
  int32_t silent = 0;
  self[n < 0 ? 0 : n] = 0;
  zp_case_format(c, text, sizeof text);
  snprintf(number, sizeof number, "%d", (int)zp_api_rank_fault(fault));
  snprintf(count, sizeof count, "%d", (int)world);
  char *words[] = {"mpirun",
                   "--quiet",
                   "--allow-run-as-root",
                   "--oversubscribe",
                   "--bind-to",
                   "none",
                   "--mca",
                   "orte_abort_on_non_zero_status",
                   "0",
                   "--enable-recovery",
                   "-n",
                   count,
                   self,
                   "rank",
                   (char *)folder,
                   text,
                   number,
                   NULL};
  if (n < 0 || zp_child_open(&child, words, -1, LIMIT_S)) {
    v->no_memory = 1;
    zp_verdict_say(v, "mpirun could not be started");
    return;
  }
  const int code = zp_child_read_line(&child, NULL, 0);
  for (int32_t i = 0; i < world; i++) silent += read_found(folder, i, v) != 0;
  if (silent == world && code == 127) {
    v->no_memory = 1;
    zp_verdict_say(v, "mpirun could not be started: is Open MPI installed?");
  } else if (silent > 0 && !v->failed) {
    zp_verdict_clause(v, "LEDG-7");
    zp_verdict_say(v, "%d of %d ranks did not end within %d s, or crashed (mpirun: %d)",
                   (int)silent, (int)world, LIMIT_S, code);
  }
}
