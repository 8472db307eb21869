/* Flight Recorder dumps of PyTorch: one file per rank, as pickle or JSON (conformance/TRACE.md).
 * They are read into plain values, aligned by group and sequence number, and encoded as traces that
 * the judge reads. */
#ifndef ZP_TRACE_FLIGHT_H
#define ZP_TRACE_FLIGHT_H

#include "trace.h"

/* ---- Values ---------------------------------------------------------------------------------- */

enum { ZP_FLIGHT_BYTES = 1 << 28, ZP_FLIGHT_DEPTH = 64 };
enum { ZP_FLIGHT_VALUES = 1 << 22, ZP_FLIGHT_ITEMS = 1 << 24 };
enum { ZP_FLIGHT_STEPS = 1 << 30, ZP_FLIGHT_MEMBERS = 1 << 22 }; /* members: of all groups */

typedef enum zp_flight_kind {
  ZP_FLIGHT_NONE = 0,
  ZP_FLIGHT_FALSE,
  ZP_FLIGHT_TRUE,
  ZP_FLIGHT_INTEGER,
  ZP_FLIGHT_REAL,
  ZP_FLIGHT_TEXT, /* bytes too */
  ZP_FLIGHT_LIST, /* tuples too */
  ZP_FLIGHT_DICT, /* its items are keys and values in turn */
  ZP_FLIGHT_KINDS
} zp_flight_kind;

typedef struct zp_flight_value {
  uint8_t kind, depth; /* depth: of the containers in it */
  int32_t n, cap;      /* bytes of a text; items of a list or dictionary */
  union {
    int64_t integer;
    double real;
    const char *text; /* in the file or in json; not terminated */
    int32_t *item;    /* [cap] indices of values */
  };
} zp_flight_value;

/* The values of one file. Number `kind` is the only value of the kinds none, false and true. */
typedef struct zp_flight_file {
  zp_trace_failure *failure;
  const char *name; /* for messages */
  char *bytes;
  int64_t size;
  void *json; /* of jansson, which owns the texts; or NULL */
  zp_flight_value *at;
  int32_t n, cap, items, root, steps, members;
  int32_t *stack, *memo; /* of the pickle reader */
  int32_t stack_n, stack_cap, memo_cap;
} zp_flight_file;

/* Reads a pickle or JSON file, at `path`, into values. Fails with a message that has `name`. The
 * caller always frees *f. */
void zp_flight_read(zp_flight_file *f, zp_trace_failure *failure, const char *path);
void zp_flight_free(zp_flight_file *f);
/* Whether a file starts like a dump: 1, 0, or -1 if it cannot be read (errno). */
int zp_flight_like(const char *path);
/* flight_pickle.c, flight_json.c: build the values of f->bytes and set f->root. */
void zp_flight_unpickle(zp_flight_file *f);
void zp_flight_parse(zp_flight_file *f);

/* Adds a value. Adds `item` to a list or dictionary. */
int32_t zp_flight_add(zp_flight_file *f, zp_flight_value v);
void zp_flight_append(zp_flight_file *f, int32_t list, int32_t item);
/* Counts n steps of reading the values. A small file can use one container in many places, so the
 * limits of bytes and values do not limit the time. Fails at ZP_FLIGHT_STEPS. */
void zp_flight_step(zp_flight_file *f, int32_t n);
/* The value of a key, or a value of kind none. */
const zp_flight_value *zp_flight_get(zp_flight_file *f, const zp_flight_value *dict,
                                     const char *key);
const zp_flight_value *zp_flight_item(zp_flight_file *f, const zp_flight_value *list, int32_t i);
/* The number, also of a text of digits; `otherwise` for other values. */
int64_t zp_flight_integer(const zp_flight_value *v, int64_t otherwise);
/* Copies a text as zp_trace_clean_text does; "" for other values. */
void zp_flight_text(zp_flight_file *f, const zp_flight_value *v, char *text, size_t cap);

/* ---- Dumps ----------------------------------------------------------------------------------- */

enum { ZP_FLIGHT_P2P = 1, ZP_FLIGHT_COMPLETED = 2, ZP_FLIGHT_STARTED = 4, ZP_FLIGHT_RETIRED = 8 };
enum { ZP_FLIGHT_GROUPS = 1024, ZP_FLIGHT_SITES = 1024 };

typedef struct zp_flight_entry {
  int64_t record, seq, ns, count; /* seq: of collectives or, with P2P, of sends and receives */
  int32_t group, site, root;      /* group, site: of the dump; site -1: unknown */
  int32_t timeout_ms;             /* -1: unknown */
  uint8_t op, dtype, flags;       /* op 0: another operation, which is not judged */
} zp_flight_entry;

typedef struct zp_flight_group {
  char name[ZP_TRACE_NAME], label[ZP_TRACE_NAME];
  int32_t *member, members; /* the ranks, if the dump lists them; otherwise NULL, 0 */
  int32_t common;           /* the group of the run */
  int64_t first, last;      /* sequence numbers of the last ones without a gap; 0: no collective */
  int64_t first_p2p;        /* 0: no send or receive */
  int64_t last_record;      /* 1 + the last collective among the judged records; 0: none */
  int32_t rank;             /* of the dump */
  struct zp_flight_group *next; /* with the same common group; NULL */
} zp_flight_group;

typedef struct zp_flight_dump {
  zp_flight_entry *entry; /* [entries] by record */
  zp_flight_group *group; /* [groups] */
  char **site;            /* [sites] "train.py:15;loop.py:8" */
  int32_t entries, groups, groups_cap, sites, sites_cap, present;
  int32_t lost;   /* the ring buffer has overwritten its first records */
  int64_t others; /* entries that are not judged */
} zp_flight_dump;

/* Reads the entries of a file. The caller always frees *d. */
void zp_flight_extract(zp_flight_dump *d, zp_flight_file *f);
void zp_flight_dump_free(zp_flight_dump *d);
/* flight_op.c: op, root, count and dtype of an entry: e->flags is set. */
void zp_flight_operation(zp_flight_file *f, const zp_flight_value *from, zp_flight_entry *e);

/* ---- Runs ------------------------------------------------------------------------------------ */

/* A warning about what is not known. */
typedef struct zp_flight_note {
  char *text;
  int32_t *rank, ranks;
} zp_flight_note;

typedef struct zp_flight_common { /* a group of the run */
  char key[ZP_TRACE_NAME], label[ZP_TRACE_NAME];
  int32_t *member, members, members_cap, listed;
  int32_t reordered;        /* the dumps list its members in different orders */
  int64_t start, end, done; /* the first and last sequence number that is judged; the last one that
                               a member has seen complete on all members */
  int32_t next;             /* with the same hash; -1 */
  int32_t next_name;        /* listed, with the same hash of the name; -1 */
  zp_flight_group *first;   /* of the dumps' groups that are this one; NULL */
} zp_flight_common;

typedef struct zp_flight {
  zp_trace_failure *failure;
  zp_flight_file file;  /* that is being read */
  zp_flight_dump *dump; /* [world] */
  uint8_t **image;      /* [world] the encoded traces; NULL: no dump */
  int64_t *size;        /* [world] */
  int32_t world, world_cap;
  void *folder;            /* DIR, while it is read */
  zp_flight_common *group; /* [groups] */
  int32_t groups, groups_cap, *table, *names;
  const zp_flight_group **own; /* [world] the ranks' entries of the group that is aligned; NULL */
  zp_flight_note *note;        /* [notes] */
  int32_t notes, notes_cap;
  uint8_t *out; /* the trace that is being encoded */
  int64_t out_n, out_cap;
} zp_flight;

/* Reads all dumps of dir and encodes them, or leaves world 0 if dir has none. has [ZP_TRACE_WORLD]:
 * the elements of ranks with a dump become 1. The caller always frees *f. */
void zp_flight_load(zp_flight *f, zp_trace_failure *failure, const char *dir, uint8_t *has);
/* flight_encode.c: encodes the trace of a rank into f->image. */
void zp_flight_encode(zp_flight *f, int32_t rank);
/* flight_align.c: finds the groups of the run, and what of them is judged. */
void zp_flight_align(zp_flight *f);
void zp_flight_close(zp_flight *f);

#endif
