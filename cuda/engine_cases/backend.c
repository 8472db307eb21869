/* spec: STEP-2, STEP-3, STEP-5, STEP-11, CKPT-5, STRM-1, STRM-4 */
#include "backend.h"

#include <cuda_runtime_api.h>
#include <string.h>

#include "../../ref/engine_cases/cases.h"
#include "../../ref/engine_cases/rank_run.h"
#include "device.h"
#include "faults.h"
#include "ranks.h"

#if defined(__SANITIZE_THREAD__)
#define PROGRAM "zeroproof-api-cuda-tsan"
#else
#define PROGRAM "zeroproof-api-cuda"
#endif

enum { RANKS = 6, STACK_BYTES = 1 << 20, ORDERS = 4 };

typedef struct job {
  zp_rank_run_options options[RANKS];
  zp_rank_run_found found[RANKS];
  int32_t first; /* atomic: the rank that found something first, or -1 */
} job;

static int program(void *ctx, int32_t rank)
{
  job *j = ctx;
  if (cudaSetDevice(rank) || zp_cuda_rank_device_load()) return 1;
  const int found = zp_rank_run(&j->options[rank], &j->found[rank]);
  int32_t none = -1;
  if (found)
    __atomic_compare_exchange_n(&j->first, &none, rank, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  return found;
}

/* The clause that a finding of the simulation breaks. */
static const char *clause_of(simdev_status status)
{
  if (status == SIMDEV_E_DEADLOCK || status == SIMDEV_E_LIMIT) return "LEDG-7";
  if (status == SIMDEV_E_MISMATCH) return "LEDG-3";
  if (status == SIMDEV_E_RACE) return "STRM-1";
  return status == SIMDEV_E_LEAK ? "STEP-1" : "STEP-2";
}

/* 1: a rank that left after a finding of its own may be the cause. */
static int follows(simdev_status status)
{
  return status == SIMDEV_E_HOST || status == SIMDEV_E_DEADLOCK || status == SIMDEV_E_LIMIT ||
         status == SIMDEV_E_LEAK;
}

static void run(const zp_case *c, const char *folder, const zp_fault *fault, zp_verdict *v)
{
  static job j; /* a process runs one case at a time */
  static char text[8192];
  const uint64_t seed = c->synth.seed;
  const zp_cuda_intercept intercept = zp_api_cuda_fault_intercept(fault);
  const zp_simdev_ranks ranks = {
      .ranks = zp_world(&c->cfg),
      .options = {.seed = seed,
                  .order = (simdev_order)(seed % ORDERS),
                  .stack_bytes = STACK_BYTES,
                  /* else a device in order hides a missing wait */
                  .serialize_streams = intercept.before ? SIMDEV_NEVER : SIMDEV_BY_SEED,
                  .protect_device = seed / ORDERS % ORDERS == 0,
                  .allow_leaks = zp_rank_ends_wrongly(c)},
      .program = program,
      .intercept = intercept,
      .ctx = &j};
  memset(&j, 0, sizeof j);
  j.first = -1;
  for (int32_t r = 0; r < ranks.ranks; r++)
    j.options[r] = (zp_rank_run_options){.c = c,
                                         .rank = r,
                                         .folder = folder,
                                         .fault = r == 0 ? (zp_rank_fault)zp_api_rank_fault(fault)
                                                         : ZP_RANK_FAULT_NONE,
                                         .device = zp_cuda_rank_device};
  const simdev_status status = zp_simdev_ranks_run(&ranks, text, sizeof text);
  zp_api_take_seen(&j.found[0], v);
  if (j.first >= 0) {
    v->step = j.found[j.first].step;
    zp_verdict_clause(v, j.found[j.first].clause);
    zp_verdict_say(v, "%s", j.found[j.first].text);
  }
  if (status == SIMDEV_E_NO_MEMORY) v->no_memory = 1;
  if (status == SIMDEV_OK || (j.first >= 0 && follows(status))) return;
  zp_verdict_clause(v, clause_of(status));
  zp_verdict_say(v, "%sthe simulated device: %s", v->text_used > 0 ? "\n" : "", text);
}

static uint32_t lacking(const zp_case *c)
{
  return zp_api_lacking(c, RANKS);
}

static void random_case(uint64_t seed, uint64_t i, zp_case *c, uint32_t *left_out)
{
  *left_out = 0;
  zp_api_random_case(seed, i, c, lacking);
}

static void run_case(const zp_case *c, const zp_fault *fault, zp_verdict *v)
{
  zp_api_run_in_folder(c, fault, v, run);
}

const zp_backend zp_backend_api_cuda = {
    ZP_API_BACKEND,
    .name = "api-cuda",
    .repeat = "--engine api-cuda",
    .program = PROGRAM,
    .clean = "the CUDA engine's public functions gave the simulator's bits, and each wrong call "
             "its error",
    .case_timeout_s = 120,
    .random_case = random_case,
    .unsupported_in = lacking,
    .run_case = run_case,
    .fault_count = zp_api_cuda_fault_count,
    .fault_at = zp_api_cuda_fault_at,
    .fault_find = zp_api_cuda_fault_find};
