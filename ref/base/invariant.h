/* Invariants of state structs. Each struct has one invariant function; the public functions on it
 * call that at entry and exit, in every build. A library never exits: a violated invariant is an
 * error like any other, ZP_E_INTERNAL. Not installed. */
#ifndef ZP_BASE_INVARIANT_H
#define ZP_BASE_INVARIANT_H

#include "error.h"

/* In an invariant function: returns ZP_E_INTERNAL, with file and line in *err, unless the condition
 * holds. rank: of the state, or -1. */
#define ZP_INVARIANT(err, rank, condition)                                                         \
  do {                                                                                             \
    if (!(condition)) return zp_fail_invariant(err, rank, #condition, __FILE__, __LINE__);         \
  } while (0)

int zp_fail_invariant(zp_error *err, int32_t rank, const char *condition, const char *file,
                      int32_t line);

#endif
