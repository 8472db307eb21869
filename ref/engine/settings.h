/* The settings of one rank as lines of text, compared with rank 0's before anything is trained: a
 * rank with another learning rate, seed or parameter list would train another model without an
 * error. spec: STEP-10 */
#ifndef ZP_ENGINE_SETTINGS_H
#define ZP_ENGINE_SETTINGS_H

#include "../base/error.h"
#include "../comm/comm.h"
#include "../plan/config.h"
#include "hyper.h"

enum { ZP_SETTINGS_BYTES = 8192 };

/* Lines "NAME=VALUE\n", then zeros: all of it is exchanged. No pointers, one size everywhere. */
typedef struct zp_settings {
  char text[ZP_SETTINGS_BYTES];
} zp_settings;

/* Empties *s; its first line names the program and zeroproof's version and commit. */
void zp_settings_begin(zp_settings *s, const char *program);

/* Appends a setting (printf-like). name: without '='. Of a value of more than 200 bytes the first
 * 200 are kept, with a hash of all. Errors: none; a line that does not fit is hashed instead. */
void zp_settings_add(zp_settings *s, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Append what an engine depends on; names: a hash of the entries' names, in order; precision: of
 * the configuration. */
void zp_settings_add_config(zp_settings *s, const zp_config *c, uint64_t names);
void zp_settings_add_hyper(zp_settings *s, const zp_hyper *h, int32_t precision);

/* Parameter lists (entry_list.h); both NULL: not exchanged. */
typedef struct zp_settings_lists {
  const char *mine, *first;
} zp_settings_lists;

/* Compares this rank's settings with rank 0's: ZP_OK, or ZP_E_MISMATCH in *err, which names rank
 * and each setting that differs, with both values; of parameter lists each entry and field. */
int zp_settings_compare(const zp_settings *mine, const zp_settings *first, zp_settings_lists lists,
                        int32_t rank, zp_error *err);

/* Appends how many bytes a parameter list's text has, and reads that from a rank's settings; -1:
 * they have no such number. */
void zp_settings_add_list(zp_settings *s, int64_t bytes);
int64_t zp_settings_list_bytes(const zp_settings *s);

#endif
