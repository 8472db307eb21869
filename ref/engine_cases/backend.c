/* spec: STEP-2, STEP-3, STEP-5, STEP-11, CKPT-5 */
#define _GNU_SOURCE
#include "backend.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../verify/random_case.h"
#include "rank_run.h"

enum { THREADS_ONLY = 1, TOO_MANY = 2, VARY = 4, DRAWS = 2000 };

static const char *const unsupported[] = {
    "pipeline stages, tensor or expert parallelism or replicas: ranks are threads of one group",
    "so many ranks", "shapes that vary without meta messages"};

static uint32_t lacking(const zp_case *c, int32_t threads)
{
  const zp_config *g = &c->cfg;
  uint32_t bits = 0;
  if (threads && (g->pp > 1 || g->tp > 1 || g->ep > 1 || c->replicas > 1)) bits |= THREADS_ONLY;
  if (zp_world(g) > (threads ? ZP_API_THREADS : ZP_API_PROCESSES)) bits |= TOO_MANY;
  if (c->synth.vary && !g->dynamic_shapes) bits |= VARY;
  return bits;
}

static uint32_t lacking_in_threads(const zp_case *c)
{
  return lacking(c, 1);
}

static uint32_t lacking_in_processes(const zp_case *c)
{
  return lacking(c, 0);
}

/* The first of many random cases that the backend can run; in some of them nothing is trained, or
 * nothing on one stage. */
static void random_case(uint64_t seed, uint64_t i, zp_case *c, int32_t threads)
{
  uint64_t k = 0;
  do {
    zp_fuzz_random(seed, i * DRAWS + k, c);
    c->reload.pp = 0;
    c->synth.vary = c->synth.vary && c->cfg.dynamic_shapes;
  } while (lacking(c, threads) && ++k < DRAWS);
  if (k == DRAWS) zp_case_init(c);
  for (int32_t j = 0; i % 8 >= 6 && j < c->cfg.n_params; j++)
    if (i % 8 == 7 || c->params[j].stage == 0) {
      if (c->params[j].tied >= 0) return;
      c->params[j].frozen = 1;
    }
}

static void random_for_threads(uint64_t seed, uint64_t i, zp_case *c, uint32_t *left_out)
{
  *left_out = 0;
  random_case(seed, i, c, 1);
}

static void random_for_processes(uint64_t seed, uint64_t i, zp_case *c, uint32_t *left_out)
{
  *left_out = 0;
  random_case(seed, i, c, 0);
}

/* ---- Runs ------------------------------------------------------------------------------------ */

static int remove_one(const char *path, const struct stat *s, int type, struct FTW *at)
{
  (void)s, (void)type, (void)at;
  return remove(path);
}

/* ---- Faults ---------------------------------------------------------------------------------- */

/* By zp_rank_fault, without the first. */
static const zp_fault faults[] = {{"gradient-bit", "none: of the caller", "STEP-2",
                                   "rank 0 announces gradients with a wrong bit", "list=4@0.0"},
                                  {"not-loaded", "none: of the caller", "CKPT-5",
                                   "rank 0 does not load its checkpoint", "steps=3,list=4@0.0"},
                                  {"stale-rate", "none: of the caller", "STAT-6",
                                   "rank 0 has the last step's learning rates",
                                   "steps=3,rates=1,list=4@0.0"},
                                  {"no-wrong-call", "none: of the caller", "STEP-3",
                                   "rank 0 leaves out the wrong call", "list=4@0.0"}};

static int32_t fault_count(void)
{
  return ZP_RANK_FAULTS - 1;
}

static const zp_fault *fault_at(int32_t i)
{
  return &faults[i];
}

static const zp_fault *fault_find(const char *name)
{
  for (int32_t i = 0; i < fault_count(); i++)
    if (strcmp(faults[i].name, name) == 0) return &faults[i];
  return NULL;
}

/* ---- Running --------------------------------------------------------------------------------- */

static void run_in_folder(const zp_case *c, const zp_fault *fault, zp_verdict *v,
                          void (*run)(const zp_case *, const char *, int32_t, zp_verdict *))
{
  const char *tmp = getenv("TMPDIR");
  char folder[4096];
  zp_verdict_clear(v);
  snprintf(folder, sizeof folder, "%s/zeroproof-XXXXXX", tmp && *tmp ? tmp : "/tmp");
  if (!mkdtemp(folder)) {
    v->no_memory = 1;
    zp_verdict_say(v, "%s: a folder for checkpoints could not be made", folder);
    return;
  }
  run(c, folder, fault ? 1 + (int32_t)(fault - faults) : ZP_RANK_FAULT_NONE, v);
  nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void run_threads(const zp_case *c, const zp_fault *fault, zp_verdict *v)
{
  run_in_folder(c, fault, v, zp_api_threads_run);
}

static void run_processes(const zp_case *c, const zp_fault *fault, zp_verdict *v)
{
  run_in_folder(c, fault, v, zp_api_mpi_run);
}

static const zp_backend over_mpi = {
    .name = "api",
    .repeat = "--comm mpi",
    .own_cases = 1,
    .program = "zeroproof-api",
    .clean = "ranks as MPI processes had the simulator's bits, and each wrong call its error",
    .unsupported = unsupported,
    .unsupported_count = 3,
    .case_timeout_s = 20,
    .random_case = random_for_processes,
    .unsupported_in = lacking_in_processes,
    .run_case = run_processes,
    .fault_count = fault_count,
    .fault_at = fault_at,
    .fault_find = fault_find};

const zp_backend zp_backend_api = {
    .name = "api",
    .repeat = "--engine api",
    .own_cases = 1,
    .processes = &over_mpi,
    .program = "zeroproof-api",
    .clean = "the public functions gave the simulator's bits, and each wrong call its error",
    .unsupported = unsupported,
    .unsupported_count = 3,
    .case_timeout_s = 20,
    .random_case = random_for_threads,
    .unsupported_in = lacking_in_threads,
    .run_case = run_threads,
    .fault_count = fault_count,
    .fault_at = fault_at,
    .fault_find = fault_find};
