/* Follows the growing traces of a running job. */
#ifndef ZP_TRACE_WATCH_H
#define ZP_TRACE_WATCH_H

#include "trace.h"

typedef struct zp_watched {
  zp_trace_reader reader; /* without a buffer between two looks */
  int64_t step;           /* -1: before the first one */
  int64_t changed;        /* ns of the wall clock: when the file last grew */
  char last[192];         /* the last operation, with its line; "" */
  int32_t opened;
  int32_t writer; /* of a trace without an end: ZP_WRITER_… */
} zp_watched;

typedef struct zp_watch {
  zp_trace_failure failure;
  char dir[4096];
  zp_watched *rank;                    /* [world] */
  int32_t world, files, ended, failed; /* ended: with an end mark or an exit, or the process has
                                          ended; failed: those that did not complete */
  int64_t records, most;               /* of all ranks; of the one with the most */
  int64_t changed;                     /* the latest change of a file; 0: no file */
  uint8_t *buffer, *named;
  char host[ZP_TRACE_HOST]; /* the id of this host's boot; "": unknown */
} zp_watch;

/* Reads what was added to the traces in dir (NULL or a missing folder: no traces yet). Another dir
 * than before: begins anew. Returns 0, or a status that *err explains. */
int zp_watch_look(zp_watch *w, const char *dir, zp_error *err);
void zp_watch_free(zp_watch *w);

#endif
