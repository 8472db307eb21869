/* One process of a job with an alarm channel. alarm_driver FAULT RANK: what RANK does while the
 * others listen: none | tell | kill | exit | late (connects too late). Prints the alarm received.
 * Exit code: 0 no alarm, 1 an alarm. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../../ref/base/clock.h"
#include "../../../ref/comm/job/alarm.h"
#include "../../../ref/comm/job/job.h"

static int64_t now_ms(void)
{
  return zp_clock_ns() / 1000000;
}

/* The exchange has ended, but the line is made without this rank. */
static int late_exchange(void *ctx, int32_t rank, void *bytes, size_t n)
{
  const int failed = zp_job_exchange(ctx, rank, bytes, n);
  usleep(9000000);
  return failed;
}

static int misbehave(zp_alarm_line *line, const char *fault, int32_t rank)
{
  zp_alarm a = {.rank = rank, .status = -42, .step = 7};
  snprintf(a.text, sizeof a.text, "rank %d says: something is wrong", (int)rank);
  if (strcmp(fault, "kill") == 0) raise(SIGKILL);
  if (strcmp(fault, "exit") == 0) _exit(9);
  if (strcmp(fault, "tell") == 0) zp_alarm_tell(line, &a);
  if (strcmp(fault, "tell") == 0) _exit(9); /* at once: what was said must arrive */
  return 0;
}

int main(int argc, char **argv)
{
  static zp_error err;
  static zp_alarm a;
  zp_alarm_line *line = NULL;
  zp_job job;
  int heard = 0;
  if (argc < 3 || zp_job_read(&job, &err)) return 2;
  const int mine = job.rank == atoi(argv[2]), late = strcmp(argv[1], "late") == 0;
  if (zp_alarm_open(&line, job.rank, job.world, mine && late ? late_exchange : zp_job_exchange,
                    &job, "127.0.0.1", late ? 6 : 300))
    return 3;
  printf("rank %d is connected with %d\n", (int)job.rank, (int)zp_alarm_connected(line));
  fflush(stdout);
  usleep(200000);
  const int quiet = strcmp(argv[1], "none") == 0 || late;
  const int64_t limit = now_ms() + (quiet ? 500 : 300000);
  if (mine) misbehave(line, argv[1], job.rank);
  while (!heard && now_ms() < limit) {
    heard = zp_alarm_hear(line, &a);
    usleep(5000);
  }
  if (heard)
    printf("rank %d received: of rank %d, status %d, step %lld: %s\n", (int)job.rank, (int)a.rank,
           (int)a.status, (long long)a.step, a.text);
  fflush(stdout);
  usleep(100000); /* what was heard is passed on, by rank 0 */
  zp_alarm_close(line);
  return heard;
}
