/* Which elements of an entry's master and moments a rank holds, and where. Not installed.
 * spec: PART-5, TIE-2, STEP-11 */
#ifndef ZP_ENGINE_HELD_H
#define ZP_ENGINE_HELD_H

#include <stdint.h>

#include "../base/error.h"
#include "../comm/block.h"

/* A run of consecutive elements; count 0: there are no more. */
typedef struct zp_held {
  int64_t offset, count; /* in the entry */
  int32_t flat;          /* the flat group in whose arrays it is, */
  int64_t at;            /* from this element on */
} zp_held;

/* The first run, as long as possible, of elements at or after `from` of entry `param` of the job
 * cfg that the rank of block and lay holds. A frozen entry, one of another stage, and `from`
 * outside the entry have no run. */
zp_held zp_held_from(const zp_config *cfg, const zp_block_rank *block, const zp_layout *lay,
                     int32_t param, int64_t from);

/* What a caller asks to read or write; state: ZP_WHAT_MASTER, _MOMENT1 or _MOMENT2. */
typedef struct zp_held_request {
  const char *function; /* for messages */
  int32_t param, state;
  int64_t offset, count;
  const void *data;  /* the caller's array */
  int32_t announced; /* 1: gradients of the next step have been announced */
} zp_held_request;

/* 0 if all of it is held, and it is between steps; or ZP_E_REFUSED in *err, which names rank,
 * entry, and the elements that the rank holds. */
int zp_held_check(const zp_config *cfg, const zp_block_rank *block, const zp_layout *lay,
                  const zp_held_request *q, int32_t rank, zp_error *err);

#endif
