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
  int64_t agreed, agreed_ops; /* the last step at which the tensor agreed, -1: none; operations of
                                 the group whose results agreed before */
  struct seen *next, *older, *newer;
} seen;

typedef struct tensor {
  char *name;
  int64_t agreed;
  int32_t next; /* in the bucket; 1 + its number */
} tensor;

typedef struct values {
  seen **bucket, *oldest, *newest, *first_op, *first_tensor;
  int32_t *named; /* buckets of tensors */
  tensor *tensor; /* [tensors] */
  int32_t tensors, tensors_cap, open;
  int64_t compared, differ[2]; /* differ: operations, tensors */
} values;

/* Whether the results of all members must be equal. */
int zp_trace_results_agree(const seen *s);
/* Whether only all results together are known to be what was passed in. */
int zp_trace_is_dealt(const seen *s);
/* Whether what was passed in is known: by all members, by the root, or by the sender. */
int zp_trace_inputs_known(const seen *s);
/* Ends all comparisons, with the members that they have. */
void zp_trace_end_values(judge *j);

#endif
