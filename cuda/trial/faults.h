/* Mistakes planted into the CUDA engine, or into the model that it trains, by name: what others got
 * wrong, and drop-sync:SITE for every wait and record that the engine issues. */
#ifndef ZP_TRIAL_FAULTS_H
#define ZP_TRIAL_FAULTS_H

#include "../../ref/cli/sim_fault.h"
#include "trial.h"

/* A fault as the command knows it, and what the engine is told. */
typedef struct zp_twin_fault {
  zp_fault fault;          /* first; its case finds it in both builds */
  int32_t missing;         /* the site whose order is missing */
  const char *instead;     /* in other words, where it is no site's */
  const char *found_as[2]; /* by the plain build, under ThreadSanitizer: zp_trial_found's kind */
  zp_cuda_fault planted;
  int32_t forgets, repeats, waits_for_all; /* zp_trial_schedule's */
  const char *id;                          /* in found.h */
} zp_twin_fault;

/* First the named ones, then drop-sync of every site. */
int32_t zp_twin_fault_count(void);
const zp_fault *zp_twin_fault_at(int32_t i);
/* Also drop-sync:SITE:K, which leaves out each rank's K-th wait or record of the site alone; SITE
 * is a name or a number. NULL: there is none. The result of drop-sync lasts until the next call. */
const zp_fault *zp_twin_fault_find(const char *name);

/* fault: one of the above. */
static inline const zp_twin_fault *zp_twin_fault_of(const zp_fault *fault)
{
  return (const zp_twin_fault *)fault;
}

/* 1: it is in saving and loading, which its case does. */
static inline int zp_twin_fault_stores(const zp_twin_fault *f)
{
  return f->planted.site == ZP_SITE_STORED_RECORD || f->planted.site == ZP_SITE_STORED_HOST;
}

/* How the case runs under schedule number n, with the fault planted; NULL: with none. */
zp_trial_schedule zp_twin_schedule(const zp_case *c, uint64_t n, const zp_twin_fault *fault);

#endif
