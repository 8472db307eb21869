/* A refused configuration in words. spec: LIM-0 */
#ifndef ZP_ENGINE_REFUSAL_H
#define ZP_ENGINE_REFUSAL_H

#include <stdint.h>

#include "../plan/config.h"

/* "dp", "micro_batches", …; "?" for what is no zp_field. */
const char *zp_field_name(int32_t field);

/* "params[3] (w): numel: -1 is out of range; allowed is 0 to 1099511627776". entry: the name of
 * entry why->index, or NULL. */
void zp_refusal_say(const zp_refusal *why, const char *entry, char *text, int64_t cap);

#endif
