/* Activations and their gradients on their way between stages: a buffer for each activation that is
 * alive, and one for each other direction (PIPE-4).
 *
 * With dynamic shapes the shape of a message is known only when its micro-batch comes. The sender's
 * model describes it before forward; the receiver gets 25 integers before the data, and its host
 * waits for them, as it cannot post a receive of unknown size. No memory is allocated for that:
 * every message has room for options.message_bytes, and a larger one is an error. Both sides know
 * the shape of a gradient from its activation. spec: PIPE-4, PIPE-6 */
#ifndef ZP_CUDA_MESSAGES_H
#define ZP_CUDA_MESSAGES_H

#include "../comm/communicators.h"
#include "../device/memory.h"

typedef struct zp_cuda_messages {
  zp_cuda_rank *r;
  zp_cuda_comms *comms;
  int32_t slots;      /* activations that may be alive */
  zp_message *act_in; /* [slots] */
  zp_message act_out, grad_in, grad_out;
  /* dynamic shapes: room for the messages, and the activations that were sent and are alive */
  void **act_in_room; /* [slots] */
  void *act_out_room, *grad_in_room, *grad_out_room;
  zp_message *sent; /* [slots] */
  int64_t *meta_in, *meta_out;
  int64_t *meta_host;       /* pinned */
  cudaEvent_t meta_on_host; /* on p2p: the latest meta message has been copied to the host */
  int64_t meta_waits;
} zp_cuda_messages;

/* The lists; then the buffers. */
int zp_cuda_messages_open(zp_cuda_messages *m, zp_cuda_rank *r, zp_cuda_comms *comms);
int zp_cuda_messages_allocate(zp_cuda_messages *m, zp_cuda_allocations *a);
void zp_cuda_messages_free(const zp_cuda_messages *m);
void zp_cuda_messages_close(zp_cuda_messages *m); /* the lists and the event alone */

/* META: sends the description of the activation that forward is going to fill, or receives one. */
int zp_cuda_meta(zp_cuda_messages *m, const zp_op *op);
/* Dynamic shapes: asks the model for the shape of what op's forward sends. */
int zp_cuda_describe(zp_cuda_messages *m, const zp_op *op, const zp_cuda_call *call);
/* Dynamic shapes: lays out the gradient of an activation, without its integer tensors, in
 * `room`. */
void zp_cuda_lay_gradient(const zp_message *act, void *room, zp_message *out);
/* Reads a meta message and lays its tensors out in `room`, which has message_bytes. NULL, or why it
 * is refused. */
const char *zp_cuda_decode(const int64_t *meta, int32_t precision, int64_t message_bytes,
                           void *room, zp_message *out);

/* 0, or ZP_E_INTERNAL in *err. */
int zp_cuda_messages_invariant(const zp_cuda_messages *m, zp_error *err);

#endif
