#include "sim_fault.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAMILIES = 4 };

static zp_fault_family family(int32_t i)
{
  switch (i) {
  case 0: return zp_faults_ledger();
  case 1: return zp_faults_norm();
  case 2: return zp_faults_window();
  default: return zp_faults_state();
  }
}

int32_t zp_fault_count(void)
{
  int32_t n = 0;
  for (int32_t i = 0; i < FAMILIES; i++) n += family(i).n;
  return n;
}

const zp_fault *zp_fault_at(int32_t i)
{
  for (int32_t k = 0; k < FAMILIES; k++) {
    const zp_fault_family f = family(k);
    if (i < f.n) return &f.fault[i];
    i -= f.n;
  }
  return NULL;
}

const zp_fault *zp_fault_find(const char *name)
{
  for (int32_t i = 0; i < zp_fault_count(); i++)
    if (strcmp(zp_fault_at(i)->name, name) == 0) return zp_fault_at(i);
  return NULL;
}

static const struct {
  const char *name, *why;
} reasons[] = {
    {"pr7847",
     "why: the all-reduce spans stages, and each rank calls it once for each of its own K "
     "optimizer groups.\n  A stage with K = 2 calls it twice, one with K = 1 once: the "
     "second call waits for ranks that have gone on.\n  zeroproof's plan issues one "
     "statistics all-reduce per step, whatever K is (STAT-1, LEDG-3)."},
};

const char *zp_fault_why(const zp_fault *fault)
{
  for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
    if (strcmp(reasons[i].name, fault->name) == 0) return reasons[i].why;
  return NULL;
}

void zp_fault_clear(zp_fault_state *f)
{
  f->fault = NULL;
  f->blocks = 0;
}

void zp_fault_plant(zp_fault_state *f, const zp_fault *fault, zp_sim *sim)
{
  f->fault = fault;
  f->sim = sim;
  f->arrived = NULL;
  f->taken = 0;
  memset(f->kept, 0, sizeof f->kept);
  f->hook.ctx = f;
  f->hook.before = fault->before;
  f->hook.after = fault->after;
  if (fault->before != NULL || fault->after != NULL) zp_sim_hook(sim, &f->hook);
  if (fault->plant != NULL) fault->plant(f);
}

void zp_fault_free(zp_fault_state *f)
{
  for (int32_t i = 0; i < f->blocks; i++) free(f->block[i]);
  f->blocks = 0;
}

void *zp_fault_take(zp_fault_state *f, int64_t bytes)
{
  void *p = calloc(1, bytes > 0 ? (size_t)bytes : 1);
  if (p == NULL || f->blocks == ZP_FAULT_BLOCKS) {
    fprintf(stderr, "zeroproof: no memory for a planted fault\n");
    exit(3);
  }
  f->block[f->blocks++] = p;
  return p;
}

zp_op *zp_fault_rewrite(zp_fault_state *f, zp_rank *r, int32_t phase, int64_t more, int64_t *length)
{
  zp_op *old = r->program[phase];
  *length = r->length[phase];
  r->program[phase] = zp_fault_take(f, (*length + more) * (int64_t)sizeof(zp_op));
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
