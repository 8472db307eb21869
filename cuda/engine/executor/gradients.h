/* Gradients: announced by the model in any order, added into their buckets in the program's.
 *
 * The program lists the ADDs and reductions of a micro-batch one after the other, entries in
 * backward order. An announcement issues that sequence as far as announced entries reach: their
 * ADDs are queued on the streams that made the gradients, and their buckets are reduced
 * immediately, while backward continues. A gradient that comes before its turn is staged: copied on
 * its own stream to its place in a ring (ref/engine/early.h), and added from the copy, on the same
 * stream, when its turn has come. If the place is taken, that is an error. So the
 * communications have the program's order whatever the order of the announcements (LEDG-2), two
 * slots a flat group suffice, and the stream's next work may overwrite a gradient. The price of
 * disorder is one copy. A gradient that was written where it is added, in memory that
 * zp_cuda_gradients_buffer lent, is not copied, whenever it comes.
 * spec: STEP-3, RED-3, RED-6, PART-7, PART-8 */
#ifndef ZP_CUDA_GRADIENTS_H
#define ZP_CUDA_GRADIENTS_H

#include "../../../ref/engine/early.h"
#include "ops.h"

typedef enum zp_cuda_arrival { ZP_CUDA_AWAITED, ZP_CUDA_READY, ZP_CUDA_UNUSED } zp_cuda_arrival;

/* One entry of the stage. */
typedef struct zp_cuda_entry {
  int32_t arrival;     /* zp_cuda_arrival, in the current micro-batch */
  int64_t missing;     /* elements not added yet in the current micro-batch */
  const void *grad;    /* NULL: unused */
  cudaStream_t stream; /* of the announcement; the reduction's for an unused entry */
  void *lent; /* part of the slot or window, for the current micro-batch's gradient; NULL: none */
  /* stages 0, 1: the latest ADD into each of its buckets, which the next micro-batch's waits for */
  cudaEvent_t *added; /* [pieces] */
  int32_t pieces;
  cudaStream_t added_on; /* NULL is a stream, too */
  int32_t is_added;      /* 1: there is one in this step */
  int32_t is_staged;     /* 1: the gradient is in the ring */
  /* the latest ADD that read the entry's range of the ring, which the next copy there waits for */
  cudaEvent_t unstaged;
  cudaStream_t unstaged_on;
  int32_t is_unstaged; /* 1: there is one in this step */
} zp_cuda_entry;

typedef struct zp_cuda_gradients {
  const zp_cuda_ops *ops;
  zp_cuda_entry *entry; /* [lay.n_params] */
  zp_early early;
  int32_t *users; /* [n_params] the first n_users: entries with a range that is or was used */
  int32_t n_users;
  char *ring; /* [early.bytes] copies of gradients that came before their turn */
  int64_t mb; /* whose gradients may be announced; -1: none */
  /* Entries that were declared unused before the micro-batch's backward: 1 in its place. */
  uint8_t *unused;           /* [slots][n_params] */
  int32_t slots;             /* places of micro-batches that are between forward and backward */
  int64_t forward, backward; /* the latest micro-batch whose forward, backward has begun; or -1 */
} zp_cuda_gradients;

/* The lists; then the ring and each entry's events. */
int zp_cuda_gradients_open(zp_cuda_gradients *g, const zp_cuda_ops *ops);
int zp_cuda_gradients_open_entries(zp_cuda_gradients *g, zp_cuda_allocations *a);
void zp_cuda_gradients_close(zp_cuda_gradients *g);

void zp_cuda_gradients_begin_step(zp_cuda_gradients *g);
/* Micro-batch mb's forward begins: its entries may be declared unused. */
void zp_cuda_gradients_forward(zp_cuda_gradients *g, int64_t mb);
/* Its backward begins. ADDs and reductions of entries that were declared unused are issued with
 * what is announced next, or at its end. */
void zp_cuda_gradients_begin(zp_cuda_gradients *g, int64_t mb);
int32_t zp_cuda_gradients_trained(const zp_cuda_gradients *g); /* entries that are not frozen */
/* Entries that are not announced; *first: the first of them. */
int32_t zp_cuda_gradients_missing(const zp_cuda_gradients *g, int32_t *first);

/* *buffer: where work queued on `stream` from here on may write the entry's gradient, to be
 * announced at that address; at stages 0 and 1 of micro-batches after the first: add it. NULL: the
 * gradient is copied from wherever it is. spec: PART-8 */
int zp_cuda_gradients_buffer(zp_cuda_gradients *g, int32_t param, int64_t mb, cudaStream_t stream,
                             void **buffer);
/* An entry's gradient, at grad after what `stream` has queued; or that it has none. */
int zp_cuda_gradients_announce(zp_cuda_gradients *g, int32_t param, int64_t mb,
                               zp_cuda_arrival arrival, const void *grad, cudaStream_t stream);
/* ARRIVED: all entries are announced, and all ADDs and reductions issued. STEP-3 */
int zp_cuda_gradients_arrived(zp_cuda_gradients *g, const zp_op *op);

/* 0, or ZP_E_INTERNAL in *err. */
int zp_cuda_gradients_invariant(const zp_cuda_gradients *g, zp_error *err);

#endif
