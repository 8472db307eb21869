/* spec: STEP-2, STEP-3, STEP-5, STEP-11, CKPT-5 */
#include "backend.h"

#include "cases.h"
#include "thread_transport.h"

static uint32_t lacking_in_threads(const zp_case *c)
{
  const zp_config *g = &c->cfg;
  const int one_group = g->pp == 1 && g->tp == 1 && g->ep == 1 && c->replicas <= 1;
  return zp_api_lacking(c, ZP_THREAD_RANKS) | (one_group ? 0u : ZP_API_THREADS_ONLY);
}

static uint32_t lacking_in_processes(const zp_case *c)
{
  return zp_api_lacking(c, ZP_API_PROCESSES);
}

static void random_for_threads(uint64_t seed, uint64_t i, zp_case *c, uint32_t *left_out)
{
  *left_out = 0;
  zp_api_random_case(seed, i, c, lacking_in_threads);
}

static void random_for_processes(uint64_t seed, uint64_t i, zp_case *c, uint32_t *left_out)
{
  *left_out = 0;
  zp_api_random_case(seed, i, c, lacking_in_processes);
}

static void run_threads(const zp_case *c, const zp_fault *fault, zp_verdict *v)
{
  zp_api_run_in_folder(c, fault, v, zp_api_threads_run);
}

static void run_processes(const zp_case *c, const zp_fault *fault, zp_verdict *v)
{
  zp_api_run_in_folder(c, fault, v, zp_api_mpi_run);
}

static const zp_backend over_mpi = {
    ZP_API_BACKEND,
    .name = "api",
    .repeat = "--comm mpi",
    .program = "zeroproof-api",
    .clean = "ranks as MPI processes had the simulator's bits, and each wrong call its error",
    .case_timeout_s = 20,
    .random_case = random_for_processes,
    .unsupported_in = lacking_in_processes,
    .run_case = run_processes,
    .fault_count = zp_api_fault_count,
    .fault_at = zp_api_fault_at,
    .fault_find = zp_api_fault_find};

const zp_backend zp_backend_api = {
    ZP_API_BACKEND,
    .name = "api",
    .repeat = "--engine api",
    .processes = &over_mpi,
    .program = "zeroproof-api",
    .clean = "the public functions gave the simulator's bits, and each wrong call its error",
    .case_timeout_s = 20,
    .random_case = random_for_threads,
    .unsupported_in = lacking_in_threads,
    .run_case = run_threads,
    .fault_count = zp_api_fault_count,
    .fault_at = zp_api_fault_at,
    .fault_find = zp_api_fault_find};
