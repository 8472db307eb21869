/* The ledger, summed up: how many communications a rank issued, how many bytes it sent, and a hash
 * of their sequence, by kind of group. Members of a group that issued the same sequence have the
 * same number and hash. spec: LEDG-1 */
#ifndef ZP_ENGINE_LEDGER_H
#define ZP_ENGINE_LEDGER_H

#include <stdint.h>

#include "../plan/program.h"

typedef struct zp_ledger_sum {
  int64_t ops, bytes; /* bytes: what this rank sends under direct exchange */
  uint64_t hash;      /* of the sequence of (kind, what, count, dtype, redop, root) */
} zp_ledger_sum;

/* Bytes that the member `index` of a group of `members` sends for a collective under direct
 * exchange; at most INT64_MAX. 0 for P2P, whose size the micro-batch decides. */
int64_t zp_sent_bytes(const zp_op *op, int64_t members, int64_t index);

/* One communication more. bytes: as zp_sent_bytes says, for P2P those of what is sent. */
void zp_ledger_record(zp_ledger_sum *sum, const zp_op *op, int64_t bytes);

#endif
