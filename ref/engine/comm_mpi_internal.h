/* What the parts of comm_mpi share. Not installed. */
#ifndef ZP_ENGINE_COMM_MPI_INTERNAL_H
#define ZP_ENGINE_COMM_MPI_INTERNAL_H

#include <mpi.h>
#include <pthread.h>
#include <signal.h>

#include "comm_mpi.h"

enum { TAG_CARD = 1, TAG_DATA, TAG_NOTICE, TAG_SIZE };
enum {
  PLACE = 640,
  REASON = 2400, /* a notice stays below 4 KiB: every transport sends that eagerly */
  SHOWN = 12     /* ranks listed in one message */
};
#define STOPPED_TEXT                                                                               \
  "stopped by SIGTERM (mpirun sends it when another process has died or the job is cancelled)"

/* One communicator and who is in it. */
typedef struct communicator {
  MPI_Comm comm;
  int32_t size, index;
  int32_t *member; /* [size] world ranks */
} communicator;

/* What a participant issues. out, in: shapes sent and expected (P2P). LEDG-2 */
typedef struct card {
  zp_op op;
  int32_t rank, phase;
  int64_t pc, step;
  int64_t out[ZP_META_LONGS], in[ZP_META_LONGS];
} card;

/* What a failed rank tells all others. roll: they shall say where they are, too. */
typedef struct notice {
  int32_t rank, status, roll;
  char place[PLACE], reason[REASON];
} notice;

typedef struct watchdog {
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  double limit;
  int armed, quit;
  char what[PLACE + 32];
} watchdog;

struct zp_mpi {
  int32_t rank, size;
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
  card own, *cards;   /* [size] by member */
  const void **parts; /* [size] */
  char *scratch;
  int64_t cap_scratch;
  int64_t length; /* announced to rank 0 */
  uint8_t *mark;  /* [size] */
  /* failure */
  notice said, *heard; /* [size], from the first one on */
  uint8_t *has_heard;  /* [size] */
  int32_t n_heard, first_heard, told;
  MPI_Request *say; /* [size] */
  watchdog dog;
};

/* Where this rank is: in a request of a program, or outside. */
typedef struct place {
  const zp_request *q;
  const communicator *c;
  const char *outside;
} place;

typedef enum ending { ENDED = 0, LATE, NOTICED, STOPPED, BROKEN } ending;

/* ---- comm_mpi_wait.c: every wait has an end -------------------------------------------------- */

double zp_mpi_now(void);

/* Between two polls: the first ones only yield. */
void zp_mpi_rest(int32_t *idle);

/* The watchdog of calls that block inside MPI: armed before each, with its name. LEDG-7 */
int zp_mpi_watchdog_start(watchdog *d);
void zp_mpi_watchdog_arm(zp_mpi *m, int armed, const char *what);
void zp_mpi_watchdog_end(watchdog *d);

/* Room for one more request in req[n_req]; 0 or -1. */
int zp_mpi_reserve(zp_mpi *m);

/* Counts the request that was just started in req[n_req]; peer: a world rank, -1: all of them. */
void zp_mpi_started(zp_mpi *m, int32_t peer);

/* Forgets the requests, all of which have completed. */
void zp_mpi_clear(zp_mpi *m);

/* Sends to, or receives from, member `who`, in pieces that MPI's int counts hold; a card is one
 * piece, since zp_mpi_mismatch_seen counts cards by requests. 0, or -1. */
int zp_mpi_post(zp_mpi *m, const communicator *c, int sends, const void *data, int64_t bytes,
                int32_t who, int tag);

/* Waits for all messages under way. c: not NULL when they begin with the cards of c's members (or
 * only one of them): a mismatch ends the wait soon, but not before the other cards had a chance to
 * come, so that every participant can name them all. LEDG-2, LEDG-7 */
ending zp_mpi_wait_all(zp_mpi *m, const communicator *c, int32_t only);

/* The same for data, with the error. failed: a message could not even be posted. */
int zp_mpi_finish(zp_mpi *m, const place *at, int failed, zp_error *err);

/* ---- comm_mpi_notice.c: what a rank says when it cannot go on -------------------------------- */

/* "step 3, program position 17: all_reduce(…)". */
void zp_mpi_put_position(char *text, int cap, const zp_op *op, int32_t phase, int64_t step,
                         int64_t pc);
void zp_mpi_put_place(char *text, int cap, const place *at);

/* Takes in what other ranks have to say. Errors are left to the deadline. */
void zp_mpi_listen(zp_mpi *m);

/* Tells all other ranks, once. */
void zp_mpi_tell(zp_mpi *m, int32_t status, int32_t roll, const char *where, const char *reason);

/* This rank's failure is none of theirs, or they know: no notice, now or later. */
void zp_mpi_tell_nobody(zp_mpi *m);

/* Listens until all others have spoken, or for so long. */
void zp_mpi_linger(zp_mpi *m, double seconds);

/* The notice that says most: not the echo of another one. One must have been heard. */
const notice *zp_mpi_cause_of(const zp_mpi *m);

/* A wait came to a bad end: says why, where this rank was and whom it waited for. LEDG-7 */
int zp_mpi_fail_wait(zp_mpi *m, const place *at, ending why, zp_error *err);

/* This rank itself has failed: *err says why. */
int zp_mpi_fail_here(zp_mpi *m, const place *at, const zp_error *err);

/* ---- comm_mpi_card.c: who issues what. LEDG-2 ------------------------------------------------ */

/* Is another communication of the group on one of the first cards that have come? */
int zp_mpi_mismatch_seen(const zp_mpi *m, const communicator *c, int32_t only);

/* Exchanges cards with all members (only = -1) or one of them and compares. */
int zp_mpi_agree(zp_mpi *m, const place *at, int32_t only, zp_error *err);

/* ---- comm_mpi_data.c: what the ops do with the data ------------------------------------------ */

/* ALL_GATHER, GATHER, BROADCAST; P2P and META; the reductions. RED-4, RED-5, PIPE-3 */
int zp_mpi_move_bytes(zp_mpi *m, const place *at, zp_error *err);
int zp_mpi_exchange(zp_mpi *m, const place *at, zp_error *err);
int zp_mpi_reduce_scatter(zp_mpi *m, const place *at, zp_error *err);
int zp_mpi_all_reduce(zp_mpi *m, const place *at, zp_error *err);

/* Any of them in a group of one: nothing travels. */
void zp_mpi_alone(const zp_request *q);

#endif
