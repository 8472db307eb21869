/* The parameter list of one rank as text, compared with rank 0's: a difference is reported by entry
 * and field. spec: STEP-10 */
#ifndef ZP_ENGINE_ENTRY_LIST_H
#define ZP_ENGINE_ENTRY_LIST_H

#include "../base/error.h"
#include "../plan/config.h"

/* Of longer lists only the first entries are exchanged: about 25,000. */
enum { ZP_ENTRY_LIST_BYTES = 1 << 20 };

/* A line for each entry: its fields and its name; as many as ZP_ENTRY_LIST_BYTES have room for.
 * names: [c->n_params]; NULL: "p0", "p1", … malloc'ed, ends with a 0; NULL without memory. */
char *zp_entry_list_text(const zp_config *c, const char *const *names);

/* Appends a line to *err for each field in which two lists differ, at most `most` and one for those
 * that are left out. Returns how many lines: 0 if the lists are equal. */
int32_t zp_entry_list_differ(const char *mine, const char *first, int32_t most, zp_error *err);

#endif
