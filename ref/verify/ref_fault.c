#include "ref_fault.h"

#include <string.h>

enum { FAMILIES = 8 };

static zp_fault_family family(int32_t i)
{
  switch (i) {
  case 0: return zp_faults_ledger();
  case 1: return zp_faults_norm();
  case 2: return zp_faults_window();
  case 3: return zp_faults_state();
  case 4: return zp_faults_partial();
  case 5: return zp_faults_replica();
  case 6: return zp_faults_axes();
  default: return zp_faults_checkpoint();
  }
}

int32_t zp_ref_fault_count(void)
{
  int32_t n = 0;
  for (int32_t i = 0; i < FAMILIES; i++) n += family(i).n;
  return n;
}

const zp_fault *zp_ref_fault_at(int32_t i)
{
  for (int32_t k = 0; k < FAMILIES; k++) {
    const zp_fault_family f = family(k);
    if (i < f.n) return &f.fault[i].fault;
    i -= f.n;
  }
  return NULL;
}

const zp_fault *zp_ref_fault_find(const char *name)
{
  for (int32_t i = 0; i < zp_ref_fault_count(); i++)
    if (strcmp(zp_ref_fault_at(i)->name, name) == 0) return zp_ref_fault_at(i);
  return NULL;
}

int zp_ref_fault_loads(const zp_fault *fault)
{
  const zp_fault_family f = zp_faults_checkpoint();
  for (int32_t i = 0; i < f.n; i++)
    if (fault == &f.fault[i].fault) return 1;
  return 0;
}

static const struct {
  const char *name, *why;
} reasons[] = {
    {"pr7847",
     "why: the all-reduce of the statistics (norm, losses, overflow flags) spans all pipeline "
     "stages. With the bug, each rank calls it once for each of its own K optimizer groups.\n  A "
     "rank with K = 2 calls it twice, a rank "
     "with K = 1 once: the second call waits for ranks that have ended the step.\n  Without the "
     "bug, zeroproof's plan has one per step, whatever K is (STAT-1, LEDG-3)."},
};

const char *zp_ref_fault_why(const zp_fault *fault)
{
  for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
    if (strcmp(reasons[i].name, fault->name) == 0) return reasons[i].why;
  return NULL;
}
