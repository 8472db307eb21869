/* Recorded runs: one file per rank of what it entered, in order (conformance/TRACE.md). This is the
 * format, and a reader that holds a few kilobytes of a file and keeps none open. */
#ifndef ZP_CLI_TRACE_H
#define ZP_CLI_TRACE_H

#include <stdint.h>
#include <stdio.h>

/* What an item begins with; from ZP_TRACE_FIRST_DEF on, an operation by its definition. */
enum {
  ZP_TRACE_HOLE = 0, /* a crash left zeros: the trace ends here */
  ZP_TRACE_GROUP = 1,
  ZP_TRACE_DEF = 2,
  ZP_TRACE_PHASE = 3,
  ZP_TRACE_STEP = 4,
  ZP_TRACE_WAIT = 5,
  ZP_TRACE_CALL = 6,
  ZP_TRACE_CALL_END = 7,
  ZP_TRACE_TIME = 8,
  ZP_TRACE_END = 9,
  ZP_TRACE_OP = 10,     /* an operation written out; also what the reader calls one by definition */
  ZP_TRACE_SOURCE = 11, /* whom a receive from any source received from */
  ZP_TRACE_FIRST_DEF = 16
};
/* Ranks of a run: what a name or a damaged header says must not ask for all memory there is. */
enum { ZP_TRACE_WORLD = 1 << 17 };
enum { ZP_TRACE_DEFS = 1024, ZP_TRACE_NAME = 256 };
enum { ZP_TRACE_ASYNC = 1, ZP_TRACE_ANY = 2 }; /* flags; any: of a receive, from any source */
#define ZP_TRACE_MAGIC "ZPTRACE\1"

enum { ZP_TRACE_SEND = 10, ZP_TRACE_RECV = 11, ZP_TRACE_OPS = 12 };
enum { ZP_TRACE_REDOPS = 11, ZP_TRACE_DTYPES = 18 };
extern const char *const zp_trace_ops[ZP_TRACE_OPS];
extern const char *const zp_trace_redops[ZP_TRACE_REDOPS];
extern const char *const zp_trace_dtypes[ZP_TRACE_DTYPES];

/* What members must agree on. */
typedef struct zp_trace_sig {
  int64_t count; /* -1: unknown */
  int32_t root;  /* place in the group; -1: none or unknown; of p2p the peer's */
  uint8_t op, redop, dtype, flags;
} zp_trace_sig;

typedef struct zp_trace_def {
  zp_trace_sig sig;
  int32_t group; /* the file's own number */
  int32_t phase; /* the file's own number; 0: none */
  int32_t link;  /* for who reads: nothing of it is in the file; -1 at first */
} zp_trace_def;

typedef struct zp_trace_run { /* members first, first + stride, … */
  int32_t first, stride, length;
} zp_trace_run;

typedef struct zp_trace_item {
  int kind;
  zp_trace_def *op;             /* ZP_TRACE_OP */
  int64_t number;               /* id of a group or phase; the step; how many operations ago */
  int32_t source;               /* the place */
  char name[ZP_TRACE_NAME];     /* of a group or phase */
  int32_t size, place, members; /* of a group: 0, -1, 0 where unknown */
  const zp_trace_run *run;      /* [runs] of the members, until the next item */
  int32_t runs;
} zp_trace_item;

typedef enum zp_trace_state {
  ZP_TRACE_READING = 0,
  ZP_TRACE_MISSING,
  ZP_TRACE_STOPPED, /* the file ends without an end mark */
  ZP_TRACE_DAMAGED, /* what follows is no trace */
  ZP_TRACE_ENDED
} zp_trace_state;

typedef struct zp_trace_reader {
  const char *dir;
  int32_t rank, world; /* world 0: not known */
  uint8_t *buffer;
  int32_t at, have;
  int64_t offset, records, ns, bytes; /* bytes: of the file */
  zp_trace_state state;
  zp_trace_def *def, inline_op;
  int32_t defs;
  zp_trace_run *run;
  int32_t runs_cap;
} zp_trace_reader;

/* Opens the trace of a rank in dir (borrowed). A file that is not there, or is none, is a state. */
void zp_trace_open(zp_trace_reader *r, const char *dir, int32_t rank);
/* 1, or 0 when there is nothing more: see state. */
int zp_trace_next(zp_trace_reader *r, zp_trace_item *item);
void zp_trace_close(zp_trace_reader *r);
/* 1 + the highest rank that a file in dir is named for; 0: there are none; -1: dir cannot be read
 * (errno). */
int32_t zp_trace_named(const char *dir);
/* "all_reduce sum 96 fp32", at most cap bytes. */
void zp_trace_describe(const zp_trace_sig *s, char *text, size_t cap);

/* [n] of more elements, zeros behind have; ends the program where there is no memory. */
void *zp_trace_grow(void *p, size_t have, size_t n, size_t size);

/* Judges the traces of dir and prints what it found: an exit code. */
int zp_trace_check(const char *dir, int json);
/* Writes ranks first … last of dir as a Chrome/Perfetto trace: an exit code. */
int zp_trace_view(const char *dir, const char *file, int32_t first, int32_t last);

#endif
