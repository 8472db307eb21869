/* Faults that are injected into the CUDA engine or into its caller, by name: bugs of other
 * implementations, and drop-sync:SITE for every wait and record of the engine. */
#ifndef ZP_CUDA_VERIFY_FAULTS_H
#define ZP_CUDA_VERIFY_FAULTS_H

#include "../../ref/verify/case.h"
#include "../../ref/verify/fault.h"
#include "../engine/device/sync_points.h"
#include "differential.h"

/* A fault of the command, and its injection. */
typedef struct zp_cuda_fault {
  zp_fault fault;          /* must be the first member; its case finds it in both builds */
  int32_t missing;         /* the sync point whose order is missing */
  const char *instead;     /* the missing order, if it is not a sync point's */
  const char *found_as[2]; /* the finding's kind in the plain build, under ThreadSanitizer */
  zp_injection injection;
  int32_t forgets, repeats, waits_for_all; /* zp_schedule's */
  const char *id;                          /* in faults_found.h */
} zp_cuda_fault;

/* First the named ones, then drop-sync of every site. */
int32_t zp_cuda_fault_count(void);
const zp_fault *zp_cuda_fault_at(int32_t i);
/* Also drop-sync:SITE:K, which drops only each rank's K-th wait or record of the sync point; SITE
 * is a name or a number. NULL: not found. The result for drop-sync is valid until the next call. */
const zp_fault *zp_cuda_fault_find(const char *name);

/* zp_backend's. */
const char *zp_cuda_fault_hidden(const zp_fault *fault, int32_t adapter);

/* fault: one of the above. */
static inline const zp_cuda_fault *zp_cuda_fault_of(const zp_fault *fault)
{
  return (const zp_cuda_fault *)fault;
}

/* 1: it is in saving or loading, which its case does. */
static inline int zp_cuda_fault_stores(const zp_cuda_fault *f)
{
  return f->injection.sync_point == ZP_SYNC_STORED_RECORD ||
         f->injection.sync_point == ZP_SYNC_STORED_HOST;
}

/* The case's schedule number n, with the fault; fault may be NULL. */
zp_schedule zp_case_schedule(const zp_case *c, uint64_t n, const zp_cuda_fault *fault);

#endif
