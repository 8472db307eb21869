/* Recorded runs: one file per rank with its operations in program order (conformance/TRACE.md).
 * This is the format, and a reader that buffers a few kilobytes of a file and closes it between
 * reads. */
#ifndef ZP_TRACE_TRACE_H
#define ZP_TRACE_TRACE_H

#include <stdint.h>
#include <stdio.h>

#include "failure.h"

/* The tag of an item. A tag from ZP_TRACE_FIRST_DEF on is an operation, given by its definition. */
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
  ZP_TRACE_OP = 10,     /* an operation written out; the reader returns it for both forms */
  ZP_TRACE_SOURCE = 11, /* the source of an earlier receive from any source */
  ZP_TRACE_EXTENSION = 12,
  ZP_TRACE_VALUE = 13,    /* no tag: the reader returns it for an extension with a fingerprint */
  ZP_TRACE_RETURNED = 14, /* of the reader only: an extension ZP_TRACE_RETURN */
  ZP_TRACE_FIRST_DEF = 16
};
/* The most ranks of a run. The limit keeps a damaged header from requesting all memory. */
enum { ZP_TRACE_WORLD = 1 << 17 };
enum { ZP_TRACE_DEFS = 1024, ZP_TRACE_NAME = 256 };
/* The kinds of extensions. Readers skip other kinds. */
enum {
  ZP_TRACE_SITE = 1,
  ZP_TRACE_AT_SITE = 2,
  ZP_TRACE_EXIT = 3,
  ZP_TRACE_LABEL = 4,
  ZP_TRACE_VALUE_OF_OP = 5,
  ZP_TRACE_TENSOR = 6,
  ZP_TRACE_VALUE_OF_TENSOR = 7,
  ZP_TRACE_LOCKED = 8,
  ZP_TRACE_RETURN = 16,
  ZP_TRACE_VALUES_ON = 17,
  ZP_TRACE_VALUES_END = 18
};
/* What the fingerprint of an operation is of. NO_…: this member passes in, or gets, no value. */
enum {
  ZP_TRACE_NO_INPUT = 0,
  ZP_TRACE_INPUT = 1,
  ZP_TRACE_RESULT = 2,
  ZP_TRACE_NO_RESULT = 3,
  ZP_TRACE_SIDES
};
enum { ZP_TRACE_ASYNC = 1, ZP_TRACE_ANY = 2 }; /* flags; ANY: a receive from any source */
enum { ZP_TRACE_VARIED = 4 }; /* of inst.odd only: not all that differ are the same */
#define ZP_TRACE_MAGIC "ZPTRACE\1"

enum { ZP_TRACE_BARRIER = 9, ZP_TRACE_SEND = 10, ZP_TRACE_RECV = 11, ZP_TRACE_OPS = 12 };
enum { ZP_TRACE_REDOPS = 11, ZP_TRACE_DTYPES = 18 };
extern const char *const zp_trace_ops[ZP_TRACE_OPS], *const zp_trace_dtypes[ZP_TRACE_DTYPES];

/* The arguments on which the members of a group must agree. */
typedef struct zp_trace_sig {
  int64_t count; /* -1: unknown */
  int32_t root;  /* place in the group, for p2p of the peer; -1: unknown, or not used */
  uint8_t op, redop, dtype, flags;
} zp_trace_sig;

typedef struct zp_trace_def {
  zp_trace_sig sig;
  int32_t group; /* the file's own number */
  int32_t phase; /* the file's own number; 0: no phase */
  int32_t site;  /* the call site, by the file's own number; 0: unknown */
  int32_t link;  /* for the caller, initially -1; not part of the file */
} zp_trace_def;

typedef struct zp_trace_run { /* members first, first + stride, … */
  int32_t first, stride, length;
} zp_trace_run;

/* The fingerprint of `bytes` bytes: ref/num/simd/fingerprint.h. */
typedef struct zp_trace_print {
  uint64_t lane[2];
  int64_t bytes;
} zp_trace_print;

typedef struct zp_trace_value {
  int kind, side; /* kind: ZP_TRACE_VALUE_OF_OP, ZP_TRACE_VALUE_OF_TENSOR, ZP_TRACE_VALUES_END (no
                         value); 0: none */
  int64_t group;  /* the file's own number */
  int64_t i;      /* the operation's number in its group; the tensor's in the file */
  int64_t back, step; /* distance in operations; step of a tensor, -1: the current one */
  int32_t op, root;
  zp_trace_print print;
} zp_trace_value;

typedef struct zp_trace_item {
  int kind;
  zp_trace_def *op;             /* ZP_TRACE_OP */
  int64_t number;               /* id of a group or phase; the step; distance in operations */
  int32_t source;               /* place in the group */
  char name[ZP_TRACE_NAME];     /* of a group or phase */
  int32_t size, place, members; /* of a group: 0, -1, 0 where unknown */
  const zp_trace_run *run;      /* [runs] the members; valid until the next item */
  int32_t runs;
} zp_trace_item;

typedef enum zp_trace_state {
  ZP_TRACE_READING = 0,
  ZP_TRACE_MISSING,
  ZP_TRACE_STOPPED, /* the file ends without an end mark */
  ZP_TRACE_DAMAGED, /* the next item is invalid */
  ZP_TRACE_ENDED
} zp_trace_state;

/* Of a trace that ends without an end mark. */
#define ZP_TRACE_NO_END "no end mark: still running, killed, or not closed"

#define ZP_TRACE_STILL_RUNS "no end mark: the process still runs"
#define ZP_TRACE_HAS_ENDED "no end mark, and the process has ended: killed, or not closed"

/* Of a file that does not begin like a trace. */
#define ZP_TRACE_NO_TRACE "neither a trace of zeroproof nor a Flight Recorder dump"

/* Texts that a file declares by number. A file counts its phases, sites and labels from 0 or 1. The
 * text of another number is not kept. */
typedef struct zp_trace_texts {
  int64_t *at; /* [n] 1 + the offset in zp_trace_reader.text; 0: no text */
  int32_t n, cap;
} zp_trace_texts;

typedef enum zp_trace_ending {
  ZP_TRACE_NO_EXIT = 0,   /* the file does not say how the process ended */
  ZP_TRACE_STATUS = 1,    /* with an exit status that is not 0 */
  ZP_TRACE_EXCEPTION = 2, /* by an exception that the program did not catch */
  ZP_TRACE_BYTE = 3,      /* of the format only: with the status in a byte; 0: it has completed */
  ZP_TRACE_UNKNOWN = 4,   /* with an exit status that the recorder did not learn */
  ZP_TRACE_ENDINGS
} zp_trace_ending;

typedef struct zp_trace_exit {
  zp_trace_ending how;
  int32_t status;  /* 0 … 255 */
  char reason[64]; /* the type of the exception, or "" */
} zp_trace_exit;

typedef struct zp_trace_reader {
  /* What each item uses is in one line of the cache: a run has many readers. */
  zp_trace_state state;
  int32_t at, have, defs;
  uint8_t *buffer;
  zp_trace_def *def;
  int64_t records;
  const zp_trace_def *last; /* of the last operation; NULL before the first one */
  zp_trace_failure *failure;
  int32_t rank, world; /* world 0: unknown */
  const char *dir;
  const char *path;          /* of the file, if it is not in dir; borrowed */
  const uint8_t *image;      /* the trace, if it is in memory; borrowed */
  int64_t offset, ns, bytes; /* bytes: of the file */
  zp_trace_def inline_op;
  zp_trace_run *run;
  int32_t runs_cap;
  int32_t site;                         /* of the next operation without a definition */
  zp_trace_texts phases, sites, labels; /* labels: by the number of their group */
  zp_trace_texts keys;                  /* of groups, for the caller */
  zp_trace_texts tensors;
  zp_trace_value value; /* of the last extension */
  int wants_values;     /* set by the caller: fingerprints are returned, not skipped */
  int values_on;        /* the recorder was to record values */
  char values_end[64];  /* the error for which it stopped to record them; "?": unknown; "": none */
  char *text;
  int64_t text_n, text_cap;
  zp_trace_exit exit;
  char locked[40];  /* the host on which a process holds a lock on the file until it ends, by the
                           id of its boot; "": unknown */
  int64_t returned; /* the number of the last ZP_TRACE_RETURN */
  int32_t want_returns; /* 1: zp_trace_next returns items ZP_TRACE_RETURNED */
} zp_trace_reader;

/* Opens the trace of a rank in dir (borrowed, like failure). If the file is missing or not a trace,
 * `state` reports it; if it cannot be read, the function fails. */
void zp_trace_open(zp_trace_reader *r, zp_trace_failure *failure, const char *dir, int32_t rank);
/* Opens a trace of so many bytes in memory (borrowed). */
void zp_trace_open_image(zp_trace_reader *r, zp_trace_failure *failure, int32_t rank,
                         const uint8_t *image, int64_t bytes);
/* Opens the trace of any rank. It fails if the file cannot be read. */
void zp_trace_open_file(zp_trace_reader *r, zp_trace_failure *failure, const char *path);
/* Whether a file does not begin as a trace does: it is no trace, not a damaged one. */
int zp_trace_is_none(const zp_trace_reader *r);
/* Returns 1, or 0 at the end of the trace, for which `state` gives the reason. */
int zp_trace_next(zp_trace_reader *r, zp_trace_item *item);
void zp_trace_close(zp_trace_reader *r);
/* The text of a number in &r->phases, &r->sites or &r->labels; "" if it has no text. A site is
 * "train.py:15;loop.py:88", the innermost call first. Valid until the next item. */
const char *zp_trace_text(const zp_trace_reader *r, const zp_trace_texts *of, int32_t number);
/* "exit status 3", "an exception (ValueError), exit status 1" */
enum { ZP_TRACE_EXIT_TEXT = 128 };
const char *zp_trace_exit_text(const zp_trace_exit *e, char *text, size_t cap);
/* writer.c: the id of this host's boot; "": unknown. */
enum { ZP_TRACE_HOST = 40 };
void zp_trace_host(char host[ZP_TRACE_HOST]);
/* Whether a process holds a lock on a file; -1: that cannot be found out. */
int zp_trace_is_locked(const char *path);
/* Whether the process that writes a trace without an end runs: only the same host can see that. */
typedef enum zp_trace_writer { ZP_WRITER_UNKNOWN, ZP_WRITER_RUNS, ZP_WRITER_ENDED } zp_trace_writer;
zp_trace_writer zp_trace_writer_of(const zp_trace_reader *r, const char *host, int locked);
/* texts.c: keeps the text of a number. */
void zp_trace_keep_text(zp_trace_reader *r, zp_trace_texts *of, int64_t number, const char *text);
/* Stores n bytes as a text of at most cap - 1 characters. Characters that JSON or a terminal could
 * misread become "?". */
void zp_trace_clean_text(const uint8_t *raw, int64_t n, char *text, size_t cap);
/* The extension of a kind with a body of n bytes, of which only the first ZP_TRACE_BODY are in
 * `body`. Returns 0, or -2 if the body is invalid. */
enum { ZP_TRACE_BODY = 512 };
int64_t zp_trace_read_extension(zp_trace_reader *r, int64_t kind, const uint8_t *body, int64_t n);
/* value_items.c: the same for a fingerprint, which becomes r->value. */
int64_t zp_trace_read_value(zp_trace_reader *r, int64_t kind, const uint8_t *body, int64_t n);
/* Returns 1 + the highest rank in a file name in dir, 0 without such files, or -1 if dir cannot be
 * read (errno). has: NULL or [ZP_TRACE_WORLD]; the elements of ranks in file names become 1. */
int32_t zp_trace_named(const char *dir, uint8_t *has);
/* An attempt of a run: 0 is DIR itself, N is DIR/attempt-N. */
typedef struct zp_trace_attempt {
  char dir[4096];
  int32_t number, several, last; /* several: DIR has folders attempt-N; last: this is the last */
} zp_trace_attempt;
/* Finds the folder of an attempt of dir; wanted -1: the last one that has traces. Returns 0, or
 * ZP_E_REFUSED, which *err explains. */
int zp_trace_find_attempt(const char *dir, int32_t wanted, zp_trace_attempt *a, zp_error *err);
/* "all_reduce sum of 96 fp32 root 0", at most cap bytes. */
void zp_trace_describe(const zp_trace_sig *s, char *text, size_t cap);

/* "0–3, 6": of many ranks the first runs; text of ZP_TRACE_RUNS bytes */
enum { ZP_TRACE_RUNS = 160 };
const char *zp_trace_runs(const int32_t *rank, int32_t n, char *text);

/* ---- Judging --------------------------------------------------------------------------------- */

/* Which value differs between ranks. */
typedef struct zp_trace_differs {
  const char
      *kind;    /* parameter, gradient, state, tensor (of another name), input, result; NULL: the
                       finding is of no value */
  char *tensor; /* its name, "0.weight", of a state "exp_avg 0.weight"; NULL: of an operation */
} zp_trace_differs;

typedef struct zp_trace_finding {
  const char *kind;
  int32_t rank, warning; /* rank: the first that text names, or -1 */
  int64_t record, order;
  int32_t consequence; /* 1: the causes explain it; -1: it is a cause itself */
  char *text;
  int32_t *ranks, n_ranks; /* the ranks that it concerns, ascending; n_ranks 0: only rank */
  int32_t unfinished;      /* 1: no error if its ranks still run: their traces have no end mark */
  int64_t step;            /* -1: unknown */
  char *op, *group, *site; /* NULL: unknown */
  zp_trace_differs value;
} zp_trace_finding;

/* A deviation that explains errors. Causes with the same `cause` are alternative explanations of
 * the same errors, each with as few deviations, the best first. */
typedef struct zp_trace_cause {
  const char *kind;
  int32_t cause;
  int32_t equally_likely;  /* how many alternatives there are; 0: it is the only one */
  int32_t likeliest;       /* it is the only one, or what the ranks did before favours it */
  int32_t *ranks, n_ranks; /* the deviating ranks; none: no rank is known */
  int64_t record, step;    /* of the first rank; -1: unknown */
  int64_t waiting_record;  /* of the next one; -1: unknown */
  int32_t waiting; /* a rank that entered the operation that the cause concerns; -1: unknown */
  char *op, *group, *site, *phase, *text;
  zp_trace_differs value;
} zp_trace_cause;

typedef struct zp_trace_verdict {
  int32_t world, errors;
  zp_trace_cause *cause;           /* [causes] */
  int32_t causes, causes_cap, cut; /* cut: the search read only the next `cut` items of a rank */
  int64_t records, unjudged, mismatches, cycles, async_cycles;
  int64_t values;            /* operations and tensors whose values were compared */
  int32_t could_have_values; /* the recorder can record values: PyTorch's writes times */
  int32_t values_on;         /* a recorder was to record values */
  zp_trace_finding *finding; /* [findings] errors first, then warnings, each by record */
  int32_t findings;
} zp_trace_verdict;

/* Judges the traces of dir. Returns 0, or a status that *err explains: ZP_E_REFUSED (dir has no
 * readable traces) or ZP_E_MEMORY. The caller always frees *v. */
int zp_trace_judge(const char *dir, zp_trace_verdict *v, zp_error *err);
/* The text of a cause, and of an alternative that it is one: ZP_TRACE_CAUSE_TEXT bytes. */
enum { ZP_TRACE_CAUSE_TEXT = 2112 };
const char *zp_trace_cause_text(const zp_trace_cause *c, char *text);
void zp_trace_verdict_free(zp_trace_verdict *v);

/* The ranks of a picture, which the caller frees. */
typedef struct zp_trace_drawn {
  int32_t world, n, *rank;
  int32_t left_out; /* the rank of the first cause, if the picture has no mark of it; or -1 */
} zp_trace_drawn;
/* Writes ranks first … last of dir as a Chrome/Perfetto trace; last -1: the first 64 ranks, and
 * those that the causes concern. Returns 0, a status as above, or ZP_E_FILE. */
int zp_trace_view(const char *dir, const char *file, int32_t first, int32_t last,
                  zp_trace_drawn *drawn, zp_error *err);

/* Writes the items of one trace, or the records of one Flight Recorder dump, to `out` as text or
 * JSON. Returns 0 or a status as above; ZP_E_REFUSED also if the trace is damaged. */
int zp_trace_dump(const char *name, FILE *out, int json, zp_error *err);

#endif
