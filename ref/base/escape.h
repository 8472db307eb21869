/* Texts from outside (names of files, options, names in JSON and in traces) on a terminal or a
 * page. Not installed. */
#ifndef ZP_BASE_ESCAPE_H
#define ZP_BASE_ESCAPE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The part of a UTF-8 sequence that was written so far. Initially {0}. */
typedef struct zp_escape {
  unsigned char byte[4];
  int32_t have, need;
} zp_escape;

/* Writes n bytes of UTF-8 to f. What changes how a terminal or a page shows other characters is
 * written as \uXXXX, which JSON reads as the same character: control characters except newline
 * and tab, bidirectional controls, line and paragraph separators, and bytes that are not UTF-8. A
 * sequence may begin in one call and end in the next. */
void zp_escape_write(zp_escape *e, const char *text, size_t n, FILE *f);

/* A stream that writes to `to` in this way. Outlives the stream. */
typedef struct zp_escaped {
  zp_escape escape;
  FILE *to;
} zp_escaped;

/* Opens the stream; it is buffered as mode (_IOFBF, …) says, flushes `to`, and closes it. NULL
 * without memory. */
FILE *zp_escape_stream(zp_escaped *s, FILE *to, int mode);

#endif
