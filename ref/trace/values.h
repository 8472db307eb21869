/* The comparisons of values in a recorded run. conformance/TRACE.md, "Values" */
#ifndef ZP_TRACE_VALUES_H
#define ZP_TRACE_VALUES_H

#include "judge.h"

enum {
  OP_ALL_REDUCE = 1,
  OP_ALL_GATHER = 3,
  OP_BROADCAST = 5,
  OP_GATHER = 6,
  OP_SCATTER = 7,
  OP_ALL_TO_ALL = 8
};

typedef struct odd { /* a rank whose value differs from the first one */
  zp_trace_print print;
  int32_t rank;
} odd;

/* A value of a tensor among those of one rank, or of one group: no rank has two with the same turn,
 * step and nth. */
typedef struct moment {
  int64_t step;
  int32_t turn, nth; /* how often steps were counted anew; the earlier values of this step */
} moment;

/* The last moment of a tensor in a group. */
typedef struct mark {
  uint64_t key; /* of the tensor and the group; 0: not in use */
  moment at;
  int32_t n; /* 0: no moment yet; how many members were equal */
} mark;

/* Open addressing. Of a rank: its last values. Of the run: when members were last equal. */
struct marks {
  mark *at;
  int64_t n, cap; /* a power of two, or 0 */
};

/* One comparison: of an operation of a group, of a send with its receive (g: the pair), or of a
 * tensor at a step. */
typedef struct seen {
  group *g;
  int64_t id; /* the operation's number in the group; the tensor's in values.tensor */
  int64_t step;
  int32_t of_tensor, op, site; /* site: of rank at_rank; 0: unknown */
  zp_trace_sig sig;
  zp_trace_at at; /* of rank at_rank */
  int32_t at_rank;
  int32_t inputs, inputs_held, results_seen; /* members that recorded an input, even if empty; … */
  int32_t held, first;                       /* values; the rank of the first one */
  zp_trace_print value, sum, results;        /* the first value; the sums of inputs and results */
  odd *odd;                                  /* [odds] */
  int32_t odds, odd_cap;
  moment when;        /* of a tensor; its step is `step` */
  moment agreed;      /* when the members that have values here, or more, were last equal */
  int32_t was_equal;  /* 0: never before */
  int64_t agreed_ops; /* operations of the group whose results agreed before */
  struct seen *next, *older, *newer;
} seen;

typedef struct tensor {
  char *name;
  int32_t next; /* in the bucket; 1 + its number */
} tensor;

typedef struct values {
  seen **bucket, *oldest, *newest, *first_op, *first_tensor;
  int32_t *named; /* buckets of tensors */
  tensor *tensor; /* [tensors] */
  int32_t tensors, tensors_cap, open;
  int64_t compared, differ[2]; /* differ: operations, tensors */
  struct marks equal;          /* by tensor and group */
} values;

/* Whether the results of all members must be equal. */
int zp_trace_results_agree(const seen *s);
/* Whether only all results together are known to be what was passed in. */
int zp_trace_is_dealt(const seen *s);
/* Whether what was passed in is known: by all members, by the root, or by the sender. */
int zp_trace_inputs_known(const seen *s);
/* value_marks.c: of a tensor and a group, by the numbers that the table's owner has for them. Valid
 * until the next call. */
mark *zp_trace_last_moment(judge *j, struct marks *of, int64_t tensor, int64_t group);
/* Ends all comparisons, with the members that they have. */
void zp_trace_end_values(judge *j);

#endif
