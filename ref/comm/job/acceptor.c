#define _GNU_SOURCE
#include "acceptor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../base/clock.h"

enum { CONNECTIONS = 64 };
static const double part_s = 5; /* far longer than a message takes, far shorter than a job waits */

typedef struct connection {
  int fd, replies;
  double limit;
  size_t n; /* bytes received, or sent */
  char hello[ZP_HELLO_MAX];
  zp_reply reply;
} connection;

typedef struct table {
  int32_t n;
  connection c[CONNECTIONS];
  struct pollfd poll[CONNECTIONS + 1];
} table;

static void drop(table *t, int32_t i, int closes)
{
  if (closes) close(t->c[i].fd);
  memmove(&t->c[i], &t->c[i + 1], (size_t)(--t->n - i) * sizeof t->c[0]); /* the oldest is first */
}

/* Room for one more; 0: all connections are being replied to. */
static int make_room(table *t)
{
  if (t->n < CONNECTIONS) return 1;
  for (int32_t i = 0; i < t->n; i++)
    if (!t->c[i].replies) {
      drop(t, i, 1);
      return 1;
    }
  return 0;
}

static void accept_one(table *t, int listener)
{
  const int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0 && (errno == EMFILE || errno == ENFILE) && t->n > 0) drop(t, 0, 1);
  if (fd < 0) return;
  connection *c = &t->c[t->n++];
  memset(c, 0, sizeof *c);
  c->fd = fd;
  c->limit = zp_clock_s() + part_s;
}

/* 1: there may be more, 0: later, -1: closed or broken. */
static int receive(zp_acceptor *a, connection *c)
{
  const ssize_t did = recv(c->fd, c->hello + c->n, ZP_HELLO_MAX - c->n, 0);
  if (did < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  if (did <= 0) return -1;
  c->n += (size_t)did;
  c->reply.rank = -1;
  const zp_hello is = a->judge(a, c->fd, c->hello, c->n, &c->reply);
  if (is == ZP_HELLO_CLOSE || (is == ZP_HELLO_MORE && c->n == ZP_HELLO_MAX)) return -1;
  if (is == ZP_HELLO_MORE) return 1;
  c->replies = 1;
  c->n = 0;
  c->limit = zp_clock_s() + part_s;
  return 1;
}

/* 1: all has been sent, 0: later, -1: closed or broken. */
static int reply(connection *c)
{
  const zp_reply *r = &c->reply;
  while (c->n < r->n_head + r->n_body) {
    const int head = c->n < r->n_head;
    const char *from = head ? r->head + c->n : (const char *)r->body + (c->n - r->n_head);
    const size_t left = head ? r->n_head - c->n : r->n_head + r->n_body - c->n;
    const ssize_t did = send(c->fd, from, left, MSG_NOSIGNAL);
    if (did < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    if (did <= 0) return -1;
    c->n += (size_t)did;
    c->limit = zp_clock_s() + part_s;
  }
  return 1;
}

/* Connection i can be read or written, or its time is over. 1 if it was removed. */
static int32_t serve(zp_acceptor *a, table *t, int32_t i)
{
  connection *c = &t->c[i];
  int state = 0;
  if (!c->replies)
    while ((state = receive(a, c)) == 1 && !c->replies) {
    }
  if (c->replies && state >= 0) state = reply(c);
  if (state == 1) {
    fcntl(c->fd, F_SETFL, fcntl(c->fd, F_GETFL) & ~O_NONBLOCK);
    drop(t, i, !a->sent(a, c->fd, &c->reply));
    return 1;
  }
  if (state == 0 && zp_clock_s() < c->limit) return 0;
  drop(t, i, 1);
  return 1;
}

int zp_acceptor_run(zp_acceptor *a, int listener, double limit)
{
  table *t = calloc(1, sizeof *t);
  if (t == NULL) return -1;
  fcntl(listener, F_SETFL, fcntl(listener, F_GETFL) | O_NONBLOCK);
  while (a->missing > 0 && zp_clock_s() < limit) {
    double until = limit;
    const int32_t n = t->n;
    for (int32_t i = 0; i < n; i++) {
      t->poll[i] = (struct pollfd){t->c[i].fd, t->c[i].replies ? POLLOUT : POLLIN, 0};
      if (t->c[i].limit < until) until = t->c[i].limit;
    }
    const double left = until - zp_clock_s();
    t->poll[n] = (struct pollfd){listener, POLLIN, 0};
    if (poll(t->poll, (nfds_t)n + 1, left > 0 ? (int)(left * 1e3) + 1 : 0) < 0) continue;
    const int more = t->poll[n].revents != 0;
    int32_t gone = 0;
    for (int32_t i = 0; i < n && a->missing > 0; i++)
      if (t->poll[i].revents != 0 || zp_clock_s() >= t->c[i - gone].limit)
        gone += serve(a, t, i - gone);
    if (more && make_room(t)) accept_one(t, listener);
  }
  while (t->n > 0) drop(t, 0, 1);
  free(t);
  return 0;
}
