/* Accepts many connections at once, each with a time limit: one that is idle, slow or not of the
 * job does not delay the others. Not installed. */
#ifndef ZP_COMM_ACCEPTOR_H
#define ZP_COMM_ACCEPTOR_H

#include <stddef.h>
#include <stdint.h>

enum { ZP_HELLO_MAX = 256, ZP_REPLY_HEAD = 384 };

/* What the owner sends to a connection: a head of its own, then bytes that outlive the call. */
typedef struct zp_reply {
  char head[ZP_REPLY_HEAD];
  size_t n_head, n_body;
  const void *body;
  int32_t rank; /* of the peer, -1: not one of the job */
} zp_reply;

typedef enum zp_hello { ZP_HELLO_MORE = 1, ZP_HELLO_REPLY = 0, ZP_HELLO_CLOSE = -1 } zp_hello;

typedef struct zp_acceptor {
  void *ctx;
  int32_t missing; /* peers; the functions below count down. 0 ends the run, -1: as an error */
  /* Judges the first n bytes, at most ZP_HELLO_MAX, that a connection has sent. */
  zp_hello (*judge)(struct zp_acceptor *a, int fd, const void *hello, size_t n, zp_reply *reply);
  /* The reply has been sent. Returns 1 if the owner keeps fd, which is then in blocking mode. */
  int (*sent)(struct zp_acceptor *a, int fd, const zp_reply *reply);
} zp_acceptor;

/* Until a->missing is 0 or less, or the time is over (zp_clock_s). Returns 0, or -1 without memory.
 * A connection has 5 s for its hello and as long for each part of the reply. Of more than 64 at a
 * time, the oldest that has not been judged is closed: a peer sends its hello when it connects. */
int zp_acceptor_run(zp_acceptor *a, int listener, double limit);

#endif
