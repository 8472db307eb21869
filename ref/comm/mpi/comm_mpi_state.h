/* The state of comm_mpi. Not installed. */
#ifndef ZP_COMM_MPI_STATE_H
#define ZP_COMM_MPI_STATE_H

#include <mpi.h>
#include <signal.h>

#include "comm_mpi.h"
#include "comm_mpi_watchdog.h"

enum { TAG_SIGNATURE = 1, TAG_DATA, TAG_NOTICE, TAG_SIZE };
enum {
  POSITION = 640,
  REASON = 2400, /* a notice stays below 4 KiB: every transport sends that eagerly */
  SHOWN = 12,    /* ranks listed in one message */
  ZP_MPI_HOST = 64
};
/* One communicator and its members. */
typedef struct communicator {
  MPI_Comm comm;
  int32_t size, index;
  int32_t *member; /* [size] world ranks */
} communicator;

/* What a participant issues. out, in: shapes sent and expected (P2P). LEDG-2 */
typedef struct signature {
  zp_op op;
  int32_t rank, phase;
  int64_t pc, step;
  int64_t out[ZP_META_LONGS], in[ZP_META_LONGS];
} signature;

/* The failure that ended a job: of which rank, where and why. */
typedef struct cause {
  int32_t rank, status;
  char position[POSITION], reason[REASON];
} cause;

/* What a failed rank sends to all others: its failure, or the one that it was informed of, whose
 * own notice may arrive later or not at all. roll: they report their positions, too. */
typedef struct notice {
  int32_t roll;
  cause why;
  char position[POSITION]; /* of the rank that sends it */
} notice;

struct zp_mpi {
  int32_t rank, size;
  char (*host)[ZP_MPI_HOST]; /* [size] */
  int32_t hosts;             /* how many different ones; 0 until they are known */
  int64_t between;           /* bytes that this rank has sent to ranks of other hosts */
  double deadline_s;
  int64_t piece;
  sigset_t stop, old_mask;
  MPI_Comm control;
  communicator world, outside;
  communicator *made; /* by slot_of */
  int32_t n_made;
  /* messages under way; peer: world rank, or -1 for a collective; finished: by place in req */
  MPI_Request *req;
  int32_t *peer;
  uint8_t *finished;
  int *index;
  int32_t n_req, cap_req, pending;
  signature own, *others; /* [size] by member */
  const void **parts;     /* [size] */
  char *scratch;
  int64_t cap_scratch;
  int64_t length; /* announced to rank 0 */
  uint8_t *mark;  /* [size] */
  /* failure */
  notice sent, *received; /* [size], from the first one on */
  uint8_t *has_received;  /* [size] */
  int32_t n_received, first_received, notified;
  MPI_Request *sending; /* [size] of the notice */
  watchdog dog;
};

/* Where this rank is: in a request of a program, or outside. */
typedef struct position {
  const zp_request *q;
  const communicator *c;
  const char *outside;
} position;

typedef enum ending { ENDED = 0, LATE, NOTICED, STOPPED, BROKEN } ending;

#endif
