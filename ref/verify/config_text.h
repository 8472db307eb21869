/* A configuration in words: names of its values, and why it is refused. */
#ifndef ZP_VERIFY_CONFIG_TEXT_H
#define ZP_VERIFY_CONFIG_TEXT_H

#include <stdint.h>

#include "../plan/config.h"

/* Names: "bf16", "exact". */
const char *zp_precision_name(int32_t dtype);
const char *zp_reduce_name(int32_t reduce);
/* How the reduction computes: "fp32 sums in a fixed order". */
const char *zp_reduce_text(int32_t reduce);

/* Which field, which entry (name may be NULL), its value, the allowed range, and which option to
 * change. */
void zp_refusal_text(const zp_refusal *why, const char *name, char *text, int64_t cap);

#endif
