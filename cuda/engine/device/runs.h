/* Ranges of flat groups as the runs of memory that kernels work on. spec: PART-9 */
#ifndef ZP_CUDA_RUNS_H
#define ZP_CUDA_RUNS_H

#include "../../../ref/engine/window.h"
#include "../../kernels/kernels.h"
#include "plan.h"

/* zp_runs_lay, for runs that travel with a kernel's parameters. */
void zp_cuda_lay_runs(zp_memory_runs *runs);

/* Fills one run, of piece g; ctx is the caller's. */
typedef void (*zp_cuda_put_run)(const void *ctx, zp_piece g, zp_memory_run *run);

/* The next run of an entry in range p of flat group k after that of entry i, which starts as
 * n_params; without padding. count is 0 at the end. */
zp_piece zp_cuda_next_piece(const zp_cuda_plan *plan, int32_t k, zp_range p, int32_t i);

/* The next runs of entries in range p of flat group k, at most ZP_RUNS_HERE. *i starts as n_params.
 * only: [n_params] the entries that count; NULL: all. Returns how many runs there are. */
int32_t zp_cuda_next_runs(const zp_cuda_plan *plan, int32_t k, zp_range p, int32_t *i,
                          const uint8_t *only, zp_cuda_put_run put, const void *ctx,
                          zp_memory_runs *runs);

/* The same with the padding after each entry. */
int32_t zp_cuda_next_padded_runs(const zp_cuda_plan *plan, int32_t k, zp_range p, int32_t *i,
                                 const uint8_t *only, zp_cuda_put_run put, const void *ctx,
                                 zp_memory_runs *runs);

#endif
