/* The parameter lists of GPT-2. */
#ifndef ZP_GPU_GPT2_H
#define ZP_GPU_GPT2_H
#include "../../ref/plan/config.h"

enum { ZP_GPT2_ENTRIES = 48 * 12 + 4 };

/* Fills list (ZP_GPT2_ENTRIES) with the entries of "124m", "1.5b", or "tiny", which has the same
 * kinds of entries. Returns their number, or 0: there is no model of this name. */
int32_t zp_gpt2_list(const char *name, zp_param *list);

#endif
