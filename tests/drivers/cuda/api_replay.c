/* Replays calls that python/zeroproof made on the reference engine (tests/python/recorded.py) on
 * the CUDA engine, as one of several ranks on simdev (api_run.c), and compares the bits of norms,
 * losses and parameters.
 *
 * api_replay RANKS SEED FOLDER: reads FOLDER/RANK, a call a line, numbers as hexadecimal floats,
 * tensors as bytes in hex:
 *   engine RANK WORLD STAGE REDUCE PRECISION MICRO_BATCHES BUCKET   param NAME NUMEL GROUP FROZEN
 *   FP32 VALUES   optimizer GROUP KIND + 6 numbers   clip MOST EPS   scale + 7 integers   open
 *   ready PARAM MB DTYPE VALUES   unused PARAM MB   loss MB VALUE   step
 *   state STEPS NORM CLIP SCALE LOSS SKIPPED   parameter PARAM VALUES
 * Exit code: 0 equal, 1 not equal, 2 the file, 3 an error of the engine. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../cuda/simdev/simdev.h"
#include "../../../ref/binding/binding.h"

int program_main(int argc, char **argv);
int job_on_simdev(zp_job *job, zp_error *err);

enum { LINES_MAX = 100000, ENTRIES_MAX = 64, BYTES_MAX = 1 << 16 };

typedef struct replay {
  int rank, line, code;
  zp_job job;
  zp_binding *b;
  char *words; /* what is left of the line */
  int32_t entries, compared;
  size_t bytes[ENTRIES_MAX]; /* of each entry */
  void *kept[ENTRIES_MAX];   /* first values */
  char *device;              /* [BYTES_MAX] for one gradient or loss */
  char host[BYTES_MAX];
} replay;

static int fail(replay *r, int code, const char *what)
{
  fprintf(stderr, "api_replay: rank %d, line %d: %s\n", r->rank, r->line, what);
  return r->code = code;
}

static int engine_failed(replay *r)
{
  const char *text = "";
  (void)zp_binding_why(r->b, &text);
  return fail(r, 3, text);
}

static const char *word(replay *r)
{
  const char *w = strsep(&r->words, " \n");
  return w ? w : "";
}

static int64_t whole(replay *r)
{
  return strtoll(word(r), NULL, 10);
}

static double number(replay *r)
{
  return strtod(word(r), NULL);
}

static int digit(char c)
{
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The line's last word, in r->host. Its length in bytes, or -1. */
static int64_t values(replay *r)
{
  const char *hex = word(r);
  const size_t n = strlen(hex) / 2;
  if (n > BYTES_MAX) return fail(r, 2, "a tensor is too large"), -1;
  for (size_t i = 0; i < n; i++) {
    const int high = digit(hex[2 * i]), low = digit(hex[2 * i + 1]);
    if (high < 0 || low < 0) return fail(r, 2, "no bytes in hex"), -1;
    r->host[i] = (char)(16 * high + low);
  }
  return (int64_t)n;
}

static int exchange(void *ctx, int32_t rank, void *bytes, size_t n) /* api_run.c has its own */
{
  (void)ctx, (void)rank, (void)bytes, (void)n;
  return -1;
}

static int describe(replay *r, const char *call)
{
  if (strcmp(call, "engine") == 0) {
    int64_t n[7];
    for (int i = 0; i < 7; i++) n[i] = whole(r);
    if (n[0] != r->rank || n[1] != r->job.world) return fail(r, 2, "it is another rank's");
    r->b = zp_binding_new((int32_t)n[0], (int32_t)n[1], (int32_t)n[2], (int32_t)n[3], (int32_t)n[4],
                          n[5], n[6]);
    return r->b ? 0 : fail(r, 3, "no memory");
  }
  if (strcmp(call, "param") == 0) {
    char name[64];
    int64_t n[4], bytes;
    snprintf(name, sizeof name, "%s", word(r));
    for (int i = 0; i < 4; i++) n[i] = whole(r);
    bytes = values(r);
    if (bytes < 0 || r->entries == ENTRIES_MAX) return fail(r, 2, "too many entries");
    r->bytes[r->entries] = (size_t)bytes;
    r->kept[r->entries] = malloc((size_t)bytes + 1);
    memcpy(r->kept[r->entries], r->host, (size_t)bytes);
    return zp_binding_param(r->b, name, n[0], (int32_t)n[1], (int32_t)n[2], (int32_t)n[3],
                            r->kept[r->entries++])
               ? fail(r, 3, "no memory")
               : 0;
  }
  if (strcmp(call, "optimizer") == 0) {
    const int32_t group = (int32_t)whole(r), kind = (int32_t)whole(r);
    double x[6];
    for (int i = 0; i < 6; i++) x[i] = number(r);
    return zp_binding_optimizer(r->b, group, kind, x[0], x[1], x[2], x[3], x[4], x[5])
               ? engine_failed(r)
               : 0;
  }
  if (strcmp(call, "clip") == 0) {
    const double most = number(r);
    return zp_binding_clip(r->b, most, number(r)) ? engine_failed(r) : 0;
  }
  int64_t n[7];
  if (strcmp(call, "scale") != 0) return fail(r, 2, "there is no such call");
  for (int i = 0; i < 7; i++) n[i] = whole(r);
  return zp_binding_scale(r->b, (int32_t)n[0], (int32_t)n[1], (int32_t)n[2], (int32_t)n[3], n[4],
                          (int32_t)n[5], (int32_t)n[6])
             ? fail(r, 2, "a loss scale that is refused")
             : 0;
}

static int announce(replay *r, const char *call)
{
  zp_engine *e = zp_binding_engine(r->b);
  const int64_t first = whole(r);
  if (strcmp(call, "unused") == 0)
    return zp_engine_grad_unused(e, (int32_t)first, whole(r)) ? engine_failed(r) : 0;
  const int64_t mb = strcmp(call, "loss") == 0 ? first : whole(r);
  const int32_t dtype = strcmp(call, "loss") == 0 ? 0 : (int32_t)whole(r);
  const int64_t bytes = values(r);
  if (bytes < 0) return r->code;
  if (cudaMemcpy(r->device, r->host, (size_t)bytes, cudaMemcpyHostToDevice))
    return fail(r, 3, "cudaMemcpy");
  if (strcmp(call, "loss") == 0)
    return zp_engine_loss(e, mb, (const float *)(void *)r->device, NULL) ? engine_failed(r) : 0;
  return zp_engine_grad_ready(e, (int32_t)first, mb, bytes ? r->device : NULL,
                              bytes / zp_dtype_bytes(dtype), dtype, NULL)
             ? engine_failed(r)
             : 0;
}

static int compare(replay *r, const char *call)
{
  double want[6], got[6];
  int64_t ledger[6];
  if (strcmp(call, "parameter") == 0) {
    const int32_t j = (int32_t)whole(r);
    const int64_t bytes = values(r);
    if (j < 0 || j >= r->entries || bytes < 0 || (size_t)bytes != r->bytes[j])
      return fail(r, 2, "it is not as long as the entry");
    char *here = malloc((size_t)bytes + 1);
    const int failed = bytes > 0 && cudaMemcpy(here, zp_engine_param(zp_binding_engine(r->b), j),
                                               (size_t)bytes, cudaMemcpyDeviceToHost);
    const int differs = failed || memcmp(here, r->host, (size_t)bytes) != 0;
    free(here);
    r->compared++;
    return differs ? fail(r, 1, "a parameter has other bits") : 0;
  }
  for (int i = 0; i < 6; i++) want[i] = number(r);
  if (zp_binding_get(r->b, got, ledger)) return engine_failed(r);
  for (int i = 0; i < 6; i++)
    if (memcmp(&got[i], &want[i], sizeof got[i]) != 0 &&
        !(got[i] != got[i] && want[i] != want[i])) {
      char what[128];
      snprintf(what, sizeof what, "number %d of the state is %a, not %a", i, got[i], want[i]);
      return fail(r, 1, what);
    }
  return 0;
}

static int one_call(replay *r)
{
  const char *call = word(r);
  if (strcmp(call, "open") == 0) {
    zp_binding_device(r->b, r->job.local_rank, exchange, NULL);
    return zp_binding_open(r->b, NULL, NULL, NULL, NULL, NULL, NULL) ? engine_failed(r) : 0;
  }
  if (strcmp(call, "step") == 0)
    return zp_engine_step(zp_binding_engine(r->b), NULL) || cudaStreamSynchronize(NULL)
               ? engine_failed(r)
               : 0;
  if (strcmp(call, "ready") == 0 || strcmp(call, "unused") == 0 || strcmp(call, "loss") == 0)
    return announce(r, call);
  if (strcmp(call, "state") == 0 || strcmp(call, "parameter") == 0) return compare(r, call);
  return describe(r, call);
}

int program_main(int argc, char **argv)
{
  zp_error err = {0};
  char path[512], *line = NULL;
  size_t room = 0;
  FILE *file;
  replay *r = calloc(1, sizeof *r);
  if (!r || argc != 2 || job_on_simdev(&r->job, &err)) return 2;
  r->rank = r->job.rank;
  snprintf(path, sizeof path, "%s/%d", argv[1], r->rank);
  file = fopen(path, "r");
  if (!file) return fail(r, 2, path);
  if (cudaMalloc((void **)&r->device, BYTES_MAX)) fail(r, 3, "cudaMalloc");
  while (r->code == 0 && getline(&line, &room, file) > 0) {
    r->line++;
    r->words = line;
    one_call(r);
  }
  if (r->code == 0 && (r->entries == 0 || r->compared != r->entries))
    fail(r, 2, "the file lacks parameters to compare");
  free(line);
  fclose(file);
  cudaFree(r->device);
  const int code = r->code;
  if (r->b && zp_binding_close(r->b) && code == 0) return 3;
  for (int32_t i = 0; i < r->entries; i++) free(r->kept[i]);
  free(r);
  return code;
}
