#include "fault_inject.h"

#include <stdlib.h>
#include <string.h>

void zp_fault_clear(zp_fault_state *f)
{
  f->fault = NULL;
  f->blocks = f->start_same = f->scale_absent = 0;
}

int zp_fault_inject(zp_fault_state *f, const zp_fault *fault, zp_sim *sim)
{
  const zp_ref_fault *own = zp_ref_fault_of(fault);
  f->fault = own;
  f->sim = sim;
  f->arrived = NULL;
  f->taken = f->no_memory = 0;
  f->step = -1;
  memset(f->kept, 0, sizeof f->kept);
  f->hook.ctx = f;
  f->hook.before = own->before;
  f->hook.after = own->after;
  if (own->before != NULL || own->after != NULL) zp_sim_hook(sim, &f->hook);
  if (own->inject != NULL) own->inject(f);
  return f->no_memory ? -1 : 0;
}

void zp_fault_free(zp_fault_state *f)
{
  for (int32_t i = 0; i < f->blocks; i++) free(f->block[i]);
  f->blocks = 0;
}

void *zp_fault_alloc(zp_fault_state *f, int64_t bytes)
{
  void *p = f->blocks < ZP_FAULT_BLOCKS ? calloc(1, bytes > 0 ? (size_t)bytes : 1) : NULL;
  if (p != NULL) f->block[f->blocks++] = p;
  else f->no_memory = 1;
  return p;
}

void zp_fault_no_memory(zp_rank *r)
{
  zp_fail(r->err, ZP_E_MEMORY, r->rank, "no memory for an injected fault");
}

zp_op *zp_fault_rewrite(zp_fault_state *f, zp_rank *r, int32_t phase, int64_t more, int64_t *length)
{
  zp_op *old = r->program[phase];
  zp_op *ops = zp_fault_alloc(f, (r->length[phase] + more) * (int64_t)sizeof(zp_op));
  *length = ops != NULL ? r->length[phase] : 0;
  if (ops == NULL) return old;
  r->program[phase] = ops;
  r->length[phase] = 0;
  return old;
}

void zp_fault_emit(zp_rank *r, int32_t phase, const zp_op *op)
{
  r->program[phase][r->length[phase]] = *op;
  r->length[phase]++;
}

void zp_fault_range(const zp_rank *r, const zp_op *op, int64_t *at, int64_t *n)
{
  const zp_range p = zp_rank_range(r, op->flat, op->bucket);
  *at = p.at;
  *n = p.count;
}

/* Bytes of a sum that the rank holds of flat group k. */
static int64_t kept_bytes(const zp_rank *r, int32_t k)
{
  return zp_kept_sum_bytes(r->cfg->stage, r->cfg->reduce, zp_gradients_of(r, k));
}

/* Bytes of the sums that the rank holds of the flat groups before group k. */
static int64_t bytes_before(const zp_rank *r, int32_t k)
{
  int64_t n = 0;
  for (int32_t i = 0; i < k; i++) n += zp_extent(&r->lay.flat[i], r->cfg->stage) * kept_bytes(r, i);
  return n;
}

void *zp_fault_kept_sums(const zp_fault_state *f, const zp_rank *r, const zp_op *op)
{
  const zp_range p = zp_rank_range(r, op->flat, op->bucket);
  if (r->rank >= ZP_FAULT_RANKS || f->kept[r->rank] == NULL) return NULL;
  return (char *)f->kept[r->rank] + bytes_before(r, op->flat) + p.at * kept_bytes(r, op->flat);
}

static void copy_sums(const zp_fault_state *f, const zp_rank *r, const zp_op *op, int back)
{
  const zp_range p = zp_rank_range(r, op->flat, op->bucket);
  const int64_t size = kept_bytes(r, op->flat);
  char *sums = zp_sums_of(r, op->flat, op->bucket), *kept = zp_fault_kept_sums(f, r, op);
  memcpy(back ? sums : kept, back ? kept : sums, (size_t)(p.count * size));
}

void zp_fault_keep_sums(zp_fault_state *f, zp_rank *r, const zp_op *op)
{
  if (r->rank >= ZP_FAULT_RANKS) return;
  if (f->kept[r->rank] == NULL)
    f->kept[r->rank] = zp_fault_alloc(f, bytes_before(r, r->lay.n_flats));
  if (f->kept[r->rank] == NULL) zp_fault_no_memory(r);
  else copy_sums(f, r, op, 0);
}

void zp_fault_put_back_sums(const zp_fault_state *f, zp_rank *r, const zp_op *op)
{
  if (r->rank < ZP_FAULT_RANKS && f->kept[r->rank] != NULL) copy_sums(f, r, op, 1);
}

float *zp_fault_means(const zp_rank *r, const zp_op *op)
{
  return zp_held_of(r, op->flat, op->bucket, ZP_WHAT_GRADIENT);
}

int zp_fault_counts(const zp_rank *r, int32_t k)
{
  const zp_flat *f = &r->lay.flat[k];
  for (int32_t i = 0; i < r->lay.n_params; i++) {
    const zp_param *p = &r->cfg->params[r->lay.first_param + i];
    if (r->lay.spot[i].flat == k && (r->at.tp == 0 || p->sharded))
      return f->tied < 0 || zp_tied_first_stage(r->cfg, f->tied) == r->at.pp;
  }
  return 0;
}
