/* One process of several, each with a simulation and an engine of its own, that hear of each
 * other's failures: on_simdev.h, api_run.c. api_line RANK FAULT IDLE: RANK's fault in step 20:
 * none | twice | kill | exit; process IDLE calls nothing after step 20 but zp_engine_why. Says
 * what the engine says, and whether a parameter has had whole steps. No process starts its first
 * step before the engines of all exist: each makes a file ready.RANK in the folder that READY
 * names, and waits for those of the others. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cuda_runtime_api.h>

#include "../../../cuda/simdev/simdev.h"

enum { N = 8, LIMIT_S = 40 };

static int misbehave(zp_engine *e, const char *fault, float *grad)
{
  if (strcmp(fault, "kill") == 0) raise(SIGKILL);
  if (strcmp(fault, "exit") == 0) _Exit(9);
  if (strcmp(fault, "twice") == 0) return zp_engine_grad_ready(e, 0, 0, grad, N, ZP_F32, NULL);
  return 0;
}

static int step(zp_engine *e, float *grad, const char *fault)
{
  if (zp_engine_grad_ready(e, 0, 0, grad, N, ZP_F32, NULL)) return -1;
  if (fault && misbehave(e, fault, grad)) return -1;
  return zp_engine_step(e, NULL);
}

/* Whether all processes have come within the limit. */
static int all_are_ready(const char *me, time_t limit)
{
  const char *folder = getenv("READY"), *world = getenv("WORLD_SIZE");
  char path[512];
  snprintf(path, sizeof path, "%s/ready.%s", folder, me);
  FILE *mine = fopen(path, "w");
  if (!mine || fclose(mine)) return 0;
  for (int k = 0; k < atoi(world); k++) {
    snprintf(path, sizeof path, "%s/ready.%d", folder, k);
    while (access(path, F_OK)) {
      if (time(NULL) >= limit) return 0;
      usleep(2000);
    }
  }
  return 1;
}

int main(int argc, char **argv)
{
  const char *me = getenv("RANK");
  const zp_param list[] = {{.numel = N, .tied = -1}, {.numel = N, .tied = -1, .frozen = 1}};
  const zp_config config = {.pp = 1,
                            .dp = 1,
                            .tp = 1,
                            .ep = 1,
                            .stage = 2,
                            .reduce = ZP_EXACT,
                            .optgroups = 1,
                            .micro_batches = 1,
                            .bucket = 4,
                            .align = 1,
                            .params = list,
                            .n_params = 2};
  const time_t limit = time(NULL) + LIMIT_S;
  zp_engine_options o;
  zp_engine *e = NULL;
  zp_error err = {0};
  zp_job job;
  float *grad;
  if (argc < 4 || !me || !getenv("WORLD_SIZE") || !getenv("READY") || zp_job_read(&job, &err))
    return 2;
  const int faulty = strcmp(me, argv[1]) == 0, idle = strcmp(me, argv[3]) == 0;
  zp_engine_defaults(&o, sizeof o, &job);
  o.config = &config;
  if (zp_engine_create(&e, &o, &err) || cudaMalloc((void **)&grad, N * sizeof *grad) ||
      cudaMemset(grad, 0, N * sizeof *grad))
    return fprintf(stderr, "%s\n", err.text), 2;
  if (!all_are_ready(me, limit)) return fprintf(stderr, "not all processes came\n"), 2;
  for (int64_t i = 0; time(NULL) < limit && !zp_engine_why(e)->status; i++) {
    if (idle && i > 20) {
      usleep(2000); /* of the clock of sockets: simdev counts calls */
      simdev_pause();
    } else if (step(e, grad, faulty && i == 20 ? argv[2] : NULL)) break;
    if (i == 400 && strcmp(argv[2], "none") == 0) break;
  }
  printf("process %s: %s\n", me, zp_engine_why(e)->text);
  cudaDeviceSynchronize();
  const int failed = zp_engine_destroy(e, &err) != 0;
  cudaFree(grad);
  return failed ? 3 : 0;
}
