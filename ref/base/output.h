/* Files that a command writes. A file is written beside its name and renamed after its last byte
 * is on the disk: the name holds the old contents or all of the new. Not installed. */
#ifndef ZP_BASE_OUTPUT_H
#define ZP_BASE_OUTPUT_H

#include <stdint.h>
#include <stdio.h>

#include "error.h"

typedef struct zp_output {
  FILE *f;
  char *path;      /* the name, with links resolved */
  char *temporary; /* beside it; NULL for a device or a pipe, which is written directly */
} zp_output;

/* Opens the output `path`, which is data: no character of it has a meaning. ZP_E_FILE with
 * "PATH: reason" if it cannot be written; then *o needs no close. */
int zp_output_open(zp_output *o, const char *path, zp_error *err);

/* Ends the output after a status of 0: writes and syncs everything and renames. After another
 * status, or if writing fails, removes what was written; the old file stays. Returns status, or
 * ZP_E_FILE with "PATH: reason". */
int zp_output_close(zp_output *o, int status, zp_error *err);

/* Can `path` be written? Leaves nothing. 0, or ZP_E_FILE. */
int zp_output_probe(const char *path, zp_error *err);

/* ZP_E_REFUSED if the output `path` of an option (NULL: the option was not given) is one of the
 * inputs: the same file under whatever name, or a file of a checkpoint or trace in an input folder.
 * inputs: names, NULL at the end. 0 otherwise. Call it before anything is written. */
int zp_output_spares(const char *option, const char *path, const char *const *inputs,
                     zp_error *err);

/* ZP_E_REFUSED if two options name one output, so that the later would replace the earlier. A path
 * is NULL if its option was not given. */
int zp_output_distinct(const char *option, const char *path, const char *other_option,
                       const char *other, zp_error *err);

/* ZP_E_REFUSED if the output `path` is a name that checkpoints in `folder` use. The folder need not
 * exist. */
int zp_output_spares_folder(const char *option, const char *path, const char *folder,
                            zp_error *err);

/* Writes one whole file of n bytes. 0, or ZP_E_FILE. */
int zp_output_bytes(const char *path, const char *text, size_t n, zp_error *err);

#endif
