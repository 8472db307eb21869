/* Runs a program for the CUDA engine (on_simdev.h) as all ranks of one simulation.
 * api_run RANKS SEED[:SITE] [ARGUMENT]...: the seed chooses the order, too; the site's waits or
 * records are left out (cuda/engine/device/sync_points.h). Exit code: the highest of the
 * ranks', or 4 after simdev's report. With torchrun's variables there are several such processes,
 * which hear of each other's failures on a real line. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../../cuda/engine/comm/host_channel.h"
#include "../../../cuda/engine/device/sync_points.h"
#include "../../../cuda/engine_cases/ranks.h"

int program_main(int argc, char **argv);
int job_on_simdev(zp_job *job, zp_error *err);
int create_on_simdev(zp_engine **out, const zp_engine_options *options, zp_error *err);

/* The processes of a simulation are one. */
static struct {
  int argc;
  char **argv;
  int code[ZP_SIMDEV_RANKS];
  zp_simdev_ranks ranks;
  zp_job job;
  int32_t sync_point;  /* whose waits or records are left out; 0: none */
  zp_alarm_line *line; /* to other processes; NULL: only this one */
  zp_cuda_host_channel real, channel;
} all;

int job_on_simdev(zp_job *job, zp_error *err)
{
  (void)err;
  *job = (zp_job){.rank = simdev_rank(), .world = all.ranks.ranks, .local_world = all.ranks.ranks};
  job->local_rank = job->rank;
  return 0;
}

int create_on_simdev(zp_engine **out, const zp_engine_options *options, zp_error *err)
{
  return zp_simdev_ranks_create(out, options, err);
}

/* To the other processes, whose ranks the simulation of this one does not know. */
static void send_out(void *ctx, const zp_alarm *alarm)
{
  zp_alarm own = *alarm;
  own.rank = all.job.rank;
  all.real.send(ctx, &own);
}

static int leave_out(void *ctx, zp_cuda_action *action)
{
  (void)ctx;
  return action->sync_point == all.sync_point; /* only waits and records have one */
}

/* A program that fails is no finding: other ranks have to receive its failure. */
static int run_program(void *ctx, int32_t rank)
{
  (void)ctx;
  all.code[rank] = program_main(all.argc, all.argv);
  return 0;
}

static int open_line(void)
{
  zp_error err = {0};
  if (!getenv("RANK")) return 0;
  if (zp_job_read(&all.job, &err)) return -1;
  all.line = zp_cuda_open_host_channel(all.job.rank, all.job.world, zp_job_exchange, &all.job,
                                       "127.0.0.1", &all.real);
  all.channel = (zp_cuda_host_channel){all.line, send_out, all.real.receive};
  all.ranks.channel = &all.channel;
  return all.line ? 0 : -1;
}

/* RANKS SEED[:SITE] */
static int read_arguments(int argc, char **argv)
{
  simdev_options *o = &all.ranks.options;
  char *site;
  if (argc < 3) return -1;
  all.ranks.ranks = atoi(argv[1]);
  o->protect_device = 1;
  o->seed = strtoull(argv[2], &site, 10);
  if (*site == ':') all.sync_point = zp_cuda_sync_point_find(site + 1);
  if (*site && !all.sync_point) return -1;
  if (*site) {
    o->serialize_streams = SIMDEV_NEVER; /* the device on which its absence has no effect */
    all.ranks.intercept.before = leave_out;
  }
  o->order = (simdev_order)(o->seed % 4);
  argv[2] = argv[0];
  all.argc = argc - 2;
  all.argv = argv + 2;
  return all.ranks.ranks < 1 || all.ranks.ranks > ZP_SIMDEV_RANKS ? -1 : 0;
}

int main(int argc, char **argv)
{
  char text[8192];
  int code = 0;
  if (read_arguments(argc, argv) || open_line()) return 2;
  all.ranks.program = run_program;
  const simdev_status status = zp_simdev_ranks_run(&all.ranks, text, sizeof text);
  for (int r = 0; r < all.ranks.ranks; r++)
    if (all.code[r] > code) code = all.code[r];
  /* a program that fails leaves with what it had */
  if (status != SIMDEV_OK && (code == 0 || status != SIMDEV_E_LEAK)) {
    fprintf(stderr, "%s\n", text);
    code = 4;
  }
  zp_alarm_close(all.line);
  if (code == 0) return 0;
  fflush(NULL); /* as the programs do, which give nothing back after an error */
  _exit(code);
}
