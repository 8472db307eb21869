/* spec: STAT-1, STEP-6, STEP-9 */
#include "step_memory.h"

#include <stdlib.h>
#include <string.h>

#include "../../../ref/base/invariant.h"
#include "../comm/host_wait.h"
#include "../device/launch.h"

int zp_cuda_step_memory_open(zp_cuda_step_memory *m, zp_cuda_rank *r)
{
  m->r = r;
  return zp_cuda_create_event(r, &m->copied_out);
}

int zp_cuda_step_memory_allocate(zp_cuda_step_memory *m, zp_cuda_allocations *a)
{
  const zp_config *cfg = m->r->plan.cfg;
  int64_t *use = &a->bytes.state;
  ZP_TRY(zp_cuda_allocate_zeros(a, use, &m->loss, cfg->micro_batches, 4));
  ZP_TRY(zp_cuda_allocate_zeros(a, use, &m->tally, 1, sizeof *m->tally));
  ZP_TRY(zp_cuda_allocate_zeros(a, use, &m->stats, ZP_STATS, 8));
  ZP_TRY(zp_cuda_allocate(a, use, &m->state, 1, sizeof *m->state));
  ZP_TRY(zp_cuda_allocate(a, use, &m->groups, cfg->optgroups, sizeof *m->groups));
  ZP_CUDA(m->r, cudaMallocHost((void **)&m->state_host, sizeof *m->state_host));
  ZP_CUDA(m->r, cudaMallocHost((void **)&m->status_host, sizeof *m->status_host));
  a->bytes.words += (int64_t)(sizeof *m->state_host + sizeof *m->status_host);
  return 0;
}

static int copy_in(const zp_cuda_step_memory *m, const zp_group_state *groups)
{
  zp_cuda_rank *r = m->r;
  const size_t bytes = (size_t)r->plan.cfg->optgroups * sizeof *groups;
  ZP_CUDA(r, cudaMemcpyAsync(m->state, m->state_host, sizeof *m->state, cudaMemcpyHostToDevice,
                             r->reduce));
  ZP_CUDA(r, cudaMemcpyAsync(m->groups, groups, bytes, cudaMemcpyHostToDevice, r->reduce));
  return zp_cuda_record(r, ZP_SYNC_OPENED_RECORD, m->copied_out, r->reduce);
}

/* The source is pageable, so that the copies may read it until they end: the host waits for
 * them. */
int zp_cuda_step_memory_start(const zp_cuda_step_memory *m, const zp_cuda_comms *c)
{
  zp_cuda_rank *r = m->r;
  zp_group_state *groups = calloc((size_t)r->plan.cfg->optgroups, sizeof *groups);
  int failed;
  if (!groups) return zp_cuda_fail(r, ZP_E_MEMORY, "no host memory");
  memset(m->state_host, 0, sizeof *m->state_host);
  m->state_host->scaler = r->opt.scaler;
  for (int32_t g = 0; g < r->plan.cfg->optgroups; g++) zp_optim_state_init(&groups[g].optim);
  failed = copy_in(m, groups) ||
           zp_cuda_host_wait(c, ZP_SYNC_OPENED_HOST, m->copied_out, "the first state's copy");
  free(groups);
  return failed ? -1 : 0;
}

void zp_cuda_step_memory_free(const zp_cuda_step_memory *m)
{
  if (m->state_host) cudaFreeHost(m->state_host);
  if (m->status_host) cudaFreeHost(m->status_host);
}

void zp_cuda_step_memory_close(const zp_cuda_step_memory *m)
{
  zp_cuda_destroy_event(m->copied_out);
}

int zp_cuda_step_memory_read(const zp_cuda_step_memory *m, const zp_cuda_comms *c,
                             zp_step_state *state)
{
  zp_cuda_rank *r = m->r;
  ZP_CUDA(r, cudaMemcpyAsync(m->state_host, m->state, sizeof *state, cudaMemcpyDeviceToHost,
                             r->reduce));
  ZP_TRY(zp_cuda_record(r, ZP_SYNC_READ_RECORD, m->copied_out, r->reduce));
  ZP_TRY(zp_cuda_host_wait(c, ZP_SYNC_READ_HOST, m->copied_out, "the last step"));
  ZP_TRY(zp_cuda_check_hyper(r, r->progress.host.step - 1));
  *state = *m->state_host;
  return 0;
}

int zp_cuda_step_memory_invariant(const zp_cuda_step_memory *m, zp_error *err)
{
  ZP_INVARIANT(err, -1, m->loss && m->tally && m->stats && m->state && m->groups);
  ZP_INVARIANT(err, -1, m->state_host && m->status_host && m->copied_out);
  return 0;
}
