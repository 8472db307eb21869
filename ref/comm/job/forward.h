/* Forwards the standard output of another process to this one's, so that a write that fails is
 * noticed: mpirun ignores it. Not installed. */
#ifndef ZP_COMM_JOB_FORWARD_H
#define ZP_COMM_JOB_FORWARD_H

#include <poll.h>

enum { ZP_FORWARD_BYTES = 4096 }; /* PIPE_BUF: a pipe that poll reports writable takes as many */

typedef struct zp_forward {
  int from;       /* the read end of a pipe; -1: at its end */
  int n, written; /* bytes in `bytes`, and those of them that are written */
  int error;      /* errno of the first write that failed, or 0; what follows is read and dropped */
  char bytes[ZP_FORWARD_BYTES];
} zp_forward;

/* What to poll for: POLLOUT if there are bytes to write, otherwise POLLIN; fd -1: nothing more. */
struct pollfd zp_forward_poll(const zp_forward *f);

/* Reads or writes once; never blocks if poll has reported the descriptor. */
void zp_forward_some(zp_forward *f);

#endif
