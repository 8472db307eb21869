/* spec: STEP-8, STRM-11 */
#include "gathers.h"

#include <stdlib.h>
#include <string.h>

#include "../../../ref/base/invariant.h"
#include "../../../ref/engine/window.h"
#include "../device/launch.h"
#include "../device/memory.h"

/* ---- Lists and events ------------------------------------------------------------------------ */

/* The entries that have elements in op's bucket, or padding, are written by gather `at`, or a later
 * one. */
static void note_gather(zp_cuda_gathers *g, const zp_op *op, int64_t at)
{
  const zp_layout *lay = &g->r->plan.lay;
  const int64_t c = lay->flat[op->flat].capacity;
  for (int32_t i = 0; i < lay->n_params; i++) {
    const int64_t size = zp_cuda_flat_size(&g->r->plan, i), start = lay->spot[i].start;
    if (lay->spot[i].flat != op->flat || size == 0) continue;
    if (start / c <= op->bucket && op->bucket <= (start + size - 1) / c) g->last[i] = at;
  }
}

int zp_cuda_gathers_open(zp_cuda_gathers *g, zp_cuda_rank *r)
{
  const zp_cuda_plan *p = &r->plan;
  const size_t entries = (size_t)p->lay.n_params + 1;
  g->r = r;
  if (!r->opt.partial_gather) return 0;
  g->last = malloc(entries * sizeof *g->last);
  g->awaited = calloc(entries, 1);
  if (!g->last || !g->awaited) return zp_cuda_fail(r, ZP_E_MEMORY, "no host memory for gathers");
  for (size_t i = 0; i < entries; i++) g->last[i] = -1;
  for (int64_t at = 0; at < p->length[ZP_PHASE_STEP]; at++) {
    const zp_op *op = &p->program[ZP_PHASE_STEP][at];
    if (op->what == ZP_WHAT_PARAMETER) note_gather(g, op, g->n++);
  }
  for (int32_t i = 0; i < p->lay.n_params; i++)
    g->last[i] = g->last[zp_storage_of(p->cfg, &p->lay, i)];
  g->gathered = calloc((size_t)g->n + 1, sizeof(cudaEvent_t));
  return g->gathered ? 0 : zp_cuda_fail(r, ZP_E_MEMORY, "no host memory for gathers");
}

int zp_cuda_gathers_create_events(zp_cuda_gathers *g)
{
  if (!g->gathered) return 0;
  ZP_TRY(zp_cuda_create_event(g->r, &g->updated));
  for (int32_t i = 0; i < g->r->plan.lay.n_params; i++)
    if (g->last[i] >= 0 && !g->gathered[g->last[i]])
      ZP_TRY(zp_cuda_create_event(g->r, &g->gathered[g->last[i]]));
  return 0;
}

void zp_cuda_gathers_close(zp_cuda_gathers *g)
{
  for (int64_t i = 0; g->gathered && i < g->n; i++) zp_cuda_destroy_event(g->gathered[i]);
  zp_cuda_destroy_event(g->updated);
  free(g->gathered);
  free(g->last);
  free(g->awaited);
}

/* ---- Gathers --------------------------------------------------------------------------------- */

int zp_cuda_gathers_apart(const zp_cuda_gathers *g)
{
  return g->n > 0 && g->r->progress.host.cursor.phase == ZP_PHASE_STEP;
}

int zp_cuda_gathers_after_update(const zp_cuda_gathers *g)
{
  ZP_TRY(zp_cuda_record(g->r, ZP_SYNC_UPDATED_RECORD, g->updated, g->r->reduce));
  return zp_cuda_wait(g->r, ZP_SYNC_UPDATED_WAIT, g->r->gather, g->updated);
}

int zp_cuda_gathers_issued(zp_cuda_gathers *g)
{
  const cudaEvent_t event = g->gathered[g->next++];
  return event ? zp_cuda_record(g->r, ZP_SYNC_GATHERED_RECORD, event, g->r->gather) : 0;
}

/* ---- Readers --------------------------------------------------------------------------------- */

/* last: a gather, or -1. */
static int wait_for(zp_cuda_gathers *g, int64_t last, cudaStream_t stream)
{
  if (last < 0 || !g->issued || !zp_cuda_waits_need(&g->waits, stream, last)) return 0;
  return zp_cuda_wait(g->r, ZP_SYNC_PARAM_WAIT, stream, g->gathered[last]);
}

/* The stage's entry, or -1 after an error. */
static int32_t entry_of(const zp_cuda_gathers *g, int32_t param)
{
  const zp_layout *lay = &g->r->plan.lay;
  const int32_t i = param - lay->first_param;
  if (i >= 0 && i < lay->n_params) return i;
  zp_cuda_fail(g->r, ZP_E_REFUSED,
               "zp_engine_wait_param: entry %d; this rank's stage has entries %d to %d", param,
               lay->first_param, lay->first_param + lay->n_params - 1);
  return -1;
}

static int64_t await_entry(const zp_cuda_gathers *g, int32_t i)
{
  g->awaited[zp_storage_of(g->r->plan.cfg, &g->r->plan.lay, i)] = 1;
  return g->last[i];
}

/* A list's gathers follow each other: the last one ends after all of them. */
int zp_cuda_gathers_wait(zp_cuda_gathers *g, const int32_t *params, int32_t n, cudaStream_t stream)
{
  const int all = n == -1;
  int64_t last = -1;
  if (zp_cuda_has_failed(g->r)) return -1;
  if (n < -1 || (n > 0 && !params))
    return zp_cuda_fail(g->r, ZP_E_REFUSED,
                        "zp_engine_wait_params: %d entries of %s list; n is the number of entries, "
                        "or -1 for all of the stage",
                        n, params ? "a" : "no");
  if (stream == cudaStreamPerThread)
    return zp_cuda_fail(g->r, ZP_E_REFUSED,
                        "zp_engine_wait_param: cudaStreamPerThread is another stream in each "
                        "thread; pass a stream that was created");
  for (int32_t k = 0; k < (all ? g->r->plan.lay.n_params : n); k++) {
    const int32_t i = all ? k : entry_of(g, params[k]);
    if (i < 0) return -1;
    if (!g->gathered) continue;
    const int64_t its = await_entry(g, i);
    last = its > last ? its : last;
  }
  return wait_for(g, last, stream);
}

int zp_cuda_gathers_wait_to_add(zp_cuda_gathers *g, int32_t param, cudaStream_t stream)
{
  if (!g->gathered || stream == g->r->reduce) return 0;
  return wait_for(g, g->last[param - g->r->plan.lay.first_param], stream);
}

int zp_cuda_gathers_check(const zp_cuda_gathers *g)
{
  const zp_cuda_plan *p = &g->r->plan;
  for (int32_t i = 0; g->gathered && i < p->lay.n_params; i++)
    if (g->last[i] >= 0 && zp_storage_of(p->cfg, &p->lay, i) == i && !g->awaited[i])
      return zp_cuda_fail(
          g->r, ZP_E_REFUSED,
          "nothing waited for entry %d in this step: with partial_gather the engine does not make "
          "streams wait for the parameters. Before work that reads an entry is queued, and once a "
          "step for each trained entry, call zp_engine_wait_param, or zp_engine_wait_params for "
          "several. Masters and scaler are unchanged",
          p->lay.first_param + i);
  return 0;
}

void zp_cuda_gathers_end_step(zp_cuda_gathers *g)
{
  if (!g->gathered) return;
  memset(g->awaited, 0, (size_t)g->r->plan.lay.n_params);
  g->issued = 1;
  g->next = 0;
  zp_cuda_waits_forget(&g->waits);
}

int zp_cuda_gathers_invariant(const zp_cuda_gathers *g, zp_error *err)
{
  ZP_INVARIANT(err, -1, !g->gathered == !g->r->opt.partial_gather);
  ZP_INVARIANT(err, -1, g->next >= 0 && g->next <= g->n);
  return zp_cuda_waits_invariant(&g->waits, err);
}
