/* A transport of the caller's own between the ranks of a job, for the reference engine: for
 * programs whose processes can communicate already (torch.distributed, say) and have no MPI.
 *
 * The functions are collective: all ranks of the job call the same one, with the same numbers, in
 * the same order. They are called by the thread that calls the engine, one at a time. Each returns
 * 0 when its bytes are complete, or not 0 if the transport failed, for example because a rank has
 * ended; each needs a deadline of its own. The engine ends with an error then, which has the text
 * of why(). The engine compares what the ranks issue before their bytes move: ranks that issue
 * different communications get an error that names both. spec: LEDG-2, LEDG-7 */
#ifndef ZP_COMM_TRANSPORT_H
#define ZP_COMM_TRANSPORT_H

#include <stddef.h>
#include <stdint.h>

typedef struct zp_transport {
  size_t size; /* sizeof(zp_transport) */
  void *ctx;   /* the first argument of each function */
  /* recv: world · bytes; those of rank r, its `send`, from r · bytes on. They do not overlap. */
  int (*all_gather)(void *ctx, const void *send, void *recv, int64_t bytes);
  /* send, recv: world · bytes; recv has from r · bytes on what rank r sent from
   * (this rank) · bytes on. They do not overlap. */
  int (*all_to_all)(void *ctx, const void *send, void *recv, int64_t bytes);
  /* All ranks get the bytes that rank `root` has. */
  int (*broadcast)(void *ctx, void *data, int64_t bytes, int32_t root);
  /* Why the latest call failed: a text without line ends, or NULL if nothing is known. */
  const char *(*why)(void *ctx);
  /* This rank leaves with an error: reports it to the other ranks, if it can, so that they need not
   * wait for the transport to notice. Not collective. NULL: it is not reported. */
  void (*alarm)(void *ctx, int32_t status, const char *text);
} zp_transport;

#endif
