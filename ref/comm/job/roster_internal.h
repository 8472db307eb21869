/* The list of ranks, as the launcher keeps it, and what a rank sends. Not installed. */
#ifndef ZP_COMM_ROSTER_INTERNAL_H
#define ZP_COMM_ROSTER_INTERNAL_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "forward.h"
#include "roster.h"

enum { ZP_ROSTER_TOKEN = 32, ZP_ROSTER_HOST = 64, ZP_ROSTER_WHY = 320 };

/* What travels; token: over TCP only. Strings end with a zero byte. */
typedef struct zp_roster_record {
  char token[ZP_ROSTER_TOKEN]; /* not a terminated string */
  int32_t rank, what, pid, failed, culprit;
  char host[ZP_ROSTER_HOST], why[ZP_ROSTER_WHY];
} zp_roster_record;

/* What is known of a rank. turn: of the loop in which it ended; 0: not yet. */
typedef struct zp_roster_entry {
  int32_t pid; /* 0: it never reported */
  int64_t turn;
  int32_t joined, leaves, fd; /* fd: its connection since HERE, else -1 */
  int32_t failed, lost;       /* it left with an error; its connection has timed out */
  int32_t culprit;            /* of its error, -1: unknown */
  char host[ZP_ROSTER_HOST];  /* until it reports: where it was placed, or "" */
  char *why;                  /* owned; NULL: none */
} zp_roster_entry;

/* A connection: what it has sent of a record. limit: when a first record is due; 0: it has come. */
typedef struct zp_roster_connection {
  size_t n;
  double limit;
  zp_roster_record record;
} zp_roster_connection;

typedef struct zp_roster {
  zp_roster_entry *rank; /* [world]; NULL: no list is kept */
  int32_t world, n, cap;
  zp_roster_reach reach;
  char token[ZP_ROSTER_TOKEN + 1];
  struct pollfd *poll; /* [cap]: SIGNALS, OUTPUT, LISTENER, then n - FIXED connections */
  zp_roster_connection *connection; /* [cap], as poll */
  int64_t turn;
  zp_forward output; /* the command's standard output */
} zp_roster;

/* The abstract address of this name. */
socklen_t zp_roster_address(const char *name, struct sockaddr_un *at);

/* Listens and puts the address into the environment; -1: no list can be kept. */
int zp_roster_listen(zp_roster *r);

/* Writes why the job failed. number: of the signal that the first rank to end received, by mpirun;
 * 0: unknown. */
void zp_roster_explain(const zp_roster *r, int number, zp_roster_result *out);

#endif
