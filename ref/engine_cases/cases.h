/* What backends of random calls share: cases, faults, folders for checkpoints. */
#ifndef ZP_ENGINE_CASES_CASES_H
#define ZP_ENGINE_CASES_CASES_H

#include "../verify/backend.h"
#include "rank_run.h"

enum { ZP_API_UNSUPPORTED = 3 };
enum { ZP_API_THREADS_ONLY = 1, ZP_API_TOO_MANY = 2, ZP_API_VARY = 4 }; /* of unsupported_in */

/* Members that all these backends have. */
#define ZP_API_BACKEND                                                                             \
  .own_cases = 1, .unsupported = zp_api_unsupported, .unsupported_count = ZP_API_UNSUPPORTED

extern const char *const zp_api_unsupported[ZP_API_UNSUPPORTED];

/* The bits TOO_MANY and VARY of a case. */
uint32_t zp_api_lacking(const zp_case *c, int32_t most_ranks);

/* The first of many random cases for which `lacking` returns 0; in some of them nothing is trained,
 * or nothing on one stage. */
void zp_api_random_case(uint64_t seed, uint64_t i, zp_case *c,
                        uint32_t (*lacking)(const zp_case *));

int32_t zp_api_fault_count(void);
const zp_fault *zp_api_fault_at(int32_t i);
const zp_fault *zp_api_fault_find(const char *name);

/* The zp_rank_fault that this is; ZP_RANK_FAULT_NONE: another one, or NULL. */
int32_t zp_api_rank_fault(const zp_fault *fault);

/* Puts what a rank has found and seen into the verdict; the ranks of a case one after the other. */
void zp_api_take_found(const zp_rank_run_found *found, zp_verdict *v);
void zp_api_take_seen(const zp_rank_run_found *found, zp_verdict *v);

/* Calls run with a new folder for checkpoints, which is removed afterwards. */
void zp_api_run_in_folder(const zp_case *c, const zp_fault *fault, zp_verdict *v,
                          void (*run)(const zp_case *, const char *, const zp_fault *,
                                      zp_verdict *));

#endif
