/* The training text: files, or the spec that ships with the project. */
#ifndef ZP_VERIFY_TRAIN_TEXT_H
#define ZP_VERIFY_TRAIN_TEXT_H

#include <stdint.h>

#include "../base/error.h"

typedef struct zp_text {
  uint8_t *bytes; /* malloc'ed: the caller frees it, also after an error */
  int64_t n;
  int32_t files;
  char what[256]; /* for people */
} zp_text;

/* n_files 0: the spec, beside the command. 0, or ZP_E_REFUSED in *err, which names --data: not
 * readable, too large, or shorter than a context. */
int zp_text_read(const char *const *files, int32_t n_files, int32_t context, zp_text *text,
                 zp_error *err);

#endif
