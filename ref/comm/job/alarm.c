#define _GNU_SOURCE
#include "alarm.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../base/clock.h"
#include "../../base/error.h"
#include "acceptor.h"
#include "socket.h"

enum { ADDRESSES = 8, SECRET = 16, TRY_S = 2 };
enum { SAYS_ALARM = 1, SAYS_BYE = 2 };

/* Where rank 0 is. port 0: nowhere. */
typedef struct card {
  uint8_t secret[2][SECRET]; /* of who connects, and of who answers */
  uint32_t address[ADDRESSES];
  int32_t n;
  uint16_t port; /* in network order, as the addresses are */
} card;

typedef struct word {
  int32_t what, reserved;
  zp_alarm alarm;
} word;

typedef struct peer {
  int fd; /* -1: gone, or never there */
  int32_t rank;
  size_t n; /* of in, received so far */
  word in;
} peer;

struct zp_alarm_line {
  int32_t rank, world, n; /* n: peers */
  peer *peer;
  struct pollfd *poll; /* [n] */
  int heard;
  zp_alarm alarm;
};

/* ---- Connecting ------------------------------------------------------------------------------ */

/* This host's addresses, those that other hosts may reach first. */
static void take_addresses(card *c)
{
  struct ifaddrs *all = NULL;
  if (getifaddrs(&all)) return;
  for (int loopback = 0; loopback < 2; loopback++)
    for (const struct ifaddrs *i = all; i && c->n < ADDRESSES; i = i->ifa_next) {
      struct sockaddr_in at;
      if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET || !(i->ifa_flags & IFF_UP)) continue;
      if (!(i->ifa_flags & IFF_LOOPBACK) != !loopback) continue;
      memcpy(&at, i->ifa_addr, sizeof at);
      c->address[c->n++] = at.sin_addr.s_addr;
    }
  freeifaddrs(all);
}

/* The IPv4 address of `host`; INADDR_ANY if it is NULL or has none. */
static uint32_t address_of(const char *host)
{
  const struct addrinfo want = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
  struct addrinfo *found = NULL;
  struct sockaddr_in at = {.sin_addr.s_addr = htonl(INADDR_ANY)};
  if (host && getaddrinfo(host, NULL, &want, &found) == 0) memcpy(&at, found->ai_addr, sizeof at);
  if (found) freeaddrinfo(found);
  return at.sin_addr.s_addr;
}

/* The socket that others are to connect to, or -1; *c says where it is. */
static int listen_at(const char *host, card *c)
{
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = address_of(host)};
  socklen_t n = sizeof at;
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  if (getrandom(c->secret, sizeof c->secret, 0) == sizeof c->secret &&
      bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(fd, SOMAXCONN) == 0 &&
      getsockname(fd, (struct sockaddr *)&at, &n) == 0) {
    if (at.sin_addr.s_addr == htonl(INADDR_ANY)) take_addresses(c);
    else c->address[c->n++] = at.sin_addr.s_addr;
    c->port = at.sin_port;
    return fd;
  }
  close(fd);
  return -1;
}

/* Words are few and must not be delayed. */
static void settle(int fd)
{
  const int yes = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

typedef struct greeting {
  uint8_t secret[SECRET];
  int32_t rank;
} greeting;

typedef struct service {
  zp_alarm_line *line;
  const card *c;
} service;

/* 1: equal. Takes the same time wherever they differ. */
static int is_secret(const uint8_t a[SECRET], const uint8_t b[SECRET])
{
  volatile uint8_t differs = 0;
  for (int i = 0; i < SECRET; i++) differs |= a[i] ^ b[i];
  return differs == 0;
}

static zp_hello judge(zp_acceptor *a, int fd, const void *bytes, size_t n, zp_reply *reply)
{
  const service *s = a->ctx;
  greeting g;
  (void)fd;
  if (n < sizeof g) return ZP_HELLO_MORE;
  memcpy(&g, bytes, sizeof g);
  if (n > sizeof g || !is_secret(g.secret, s->c->secret[0]) || g.rank < 1 ||
      g.rank >= s->line->world || s->line->peer[g.rank - 1].fd >= 0)
    return ZP_HELLO_CLOSE;
  reply->rank = g.rank;
  memcpy(reply->head, s->c->secret[1], SECRET);
  reply->n_head = SECRET;
  return ZP_HELLO_REPLY;
}

static int keep(zp_acceptor *a, int fd, const zp_reply *reply)
{
  const service *s = a->ctx;
  peer *p = &s->line->peer[reply->rank - 1];
  if (p->fd >= 0) return 0;
  settle(fd);
  p->fd = fd;
  a->missing--;
  return 1;
}

/* A socket that is connected before `limit`, or -1. */
static int connect_to(uint32_t address, uint16_t port, double limit)
{
  const struct sockaddr_in at = {
      .sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = address};
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const double left = limit - zp_clock_s();
  struct pollfd p = {fd, POLLOUT, 0};
  int error = 0;
  socklen_t n = sizeof error;
  if (fd < 0) return -1;
  if (connect(fd, (const struct sockaddr *)&at, sizeof at) == 0) return fd;
  if (errno == EINPROGRESS && left > 0 && poll(&p, 1, (int)(left * 1e3) + 1) == 1 &&
      getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n) == 0 && error == 0)
    return fd;
  close(fd);
  return -1;
}

static int connect_somewhere(zp_alarm_line *l, const card *c, double limit)
{
  for (int32_t i = 0; i < c->n && i < ADDRESSES && zp_clock_s() < limit; i++) {
    const double soon = zp_clock_s() + TRY_S;
    uint8_t secret[SECRET];
    greeting g = {.rank = l->rank};
    const int fd = connect_to(c->address[i], c->port, soon);
    if (fd < 0) continue;
    memcpy(g.secret, c->secret[0], SECRET);
    if (zp_socket_move(fd, &g, sizeof g, 1, limit) == 0 &&
        zp_socket_move(fd, secret, SECRET, 0, limit) == 0 && is_secret(secret, c->secret[1])) {
      settle(fd);
      return fd;
    }
    close(fd);
  }
  return -1;
}

int zp_alarm_open(zp_alarm_line **out, int32_t rank, int32_t world,
                  int (*exchange)(void *ctx, int32_t rank, void *bytes, size_t n), void *ctx,
                  const char *host, double patience_s)
{
  const double limit = zp_clock_s() + patience_s;
  zp_alarm_line *l = calloc(1, sizeof *l);
  card c;
  int listener = -1, failed;
  if (!l) return -1;
  memset(&c, 0, sizeof c);
  *l = (zp_alarm_line){.rank = rank, .world = world, .n = rank == 0 ? world - 1 : 1};
  l->peer = calloc((size_t)l->n + 1, sizeof *l->peer);
  l->poll = calloc((size_t)l->n + 1, sizeof *l->poll);
  for (int32_t i = 0; l->peer && i < l->n; i++)
    l->peer[i] = (peer){.fd = -1, .rank = rank == 0 ? i + 1 : 0};
  if (rank == 0) listener = listen_at(host, &c);
  failed = exchange(ctx, rank, &c, sizeof c) || !l->peer || !l->poll;
  if (!failed && rank == 0 && listener >= 0) {
    service s = {l, &c};
    zp_acceptor a = {.ctx = &s, .missing = l->n, .judge = judge, .sent = keep};
    failed = zp_acceptor_run(&a, listener, limit) != 0;
  }
  if (!failed && rank > 0 && c.port) l->peer[0].fd = connect_somewhere(l, &c, limit);
  if (listener >= 0) close(listener);
  if (!failed) {
    *out = l;
    return 0;
  }
  free(l->peer);
  free(l->poll);
  free(l);
  return -1;
}

int32_t zp_alarm_connected(const zp_alarm_line *line)
{
  int32_t n = 0;
  for (int32_t i = 0; i < line->n; i++) n += line->peer[i].fd >= 0;
  return n;
}

/* ---- Talking --------------------------------------------------------------------------------- */

/* A word is far smaller than what a socket keeps; who has not read for so long gets none. */
static void say(peer *p, const word *w)
{
  if (p->fd < 0) return;
  if (send(p->fd, w, sizeof *w, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof *w) return;
  close(p->fd);
  p->fd = -1;
}

static void say_to_all(zp_alarm_line *l, int32_t what, const zp_alarm *alarm, int32_t but)
{
  word w;
  memset(&w, 0, sizeof w);
  w.what = what;
  if (alarm) w.alarm = *alarm;
  for (int32_t i = 0; i < l->n; i++)
    if (l->peer[i].rank != but) say(&l->peer[i], &w);
}

void zp_alarm_tell(zp_alarm_line *line, const zp_alarm *alarm)
{
  say_to_all(line, SAYS_ALARM, alarm, -1);
}

/* The first alarm stays, and rank 0 passes it on. */
static void take_alarm(zp_alarm_line *l, const zp_alarm *alarm, int32_t from)
{
  if (l->heard) return;
  l->heard = 1;
  l->alarm = *alarm;
  l->alarm.text[ZP_ALARM_TEXT - 1] = 0;
  if (l->rank == 0) say_to_all(l, SAYS_ALARM, &l->alarm, from);
}

static void lost(zp_alarm_line *l, peer *p)
{
  zp_alarm a = {.rank = p->rank, .status = ZP_E_PEER, .step = INT64_MIN};
  snprintf(a.text, sizeof a.text, "rank %d: its process has ended without a word", (int)p->rank);
  close(p->fd);
  p->fd = -1;
  take_alarm(l, &a, p->rank);
}

/* All that a peer has said. */
static void listen_to(zp_alarm_line *l, peer *p)
{
  while (p->fd >= 0) {
    const ssize_t did = recv(p->fd, (char *)&p->in + p->n, sizeof p->in - p->n, MSG_DONTWAIT);
    if (did < 0 && errno == EINTR) continue;
    if (did < 0 && errno == EAGAIN) return;
    if (did <= 0) {
      lost(l, p);
      return;
    }
    p->n += (size_t)did;
    if (p->n < sizeof p->in) continue;
    p->n = 0;
    if (p->in.what == SAYS_ALARM) take_alarm(l, &p->in.alarm, p->rank);
    if (p->in.what != SAYS_BYE) continue;
    close(p->fd);
    p->fd = -1;
  }
}

int zp_alarm_hear(zp_alarm_line *line, zp_alarm *alarm)
{
  for (int32_t i = 0; i < line->n; i++)
    line->poll[i] = (struct pollfd){line->peer[i].fd, POLLIN, 0};
  if (poll(line->poll, (nfds_t)line->n, 0) > 0)
    for (int32_t i = 0; i < line->n; i++)
      if (line->poll[i].revents) listen_to(line, &line->peer[i]);
  if (line->heard) *alarm = line->alarm;
  return line->heard;
}

void zp_alarm_close(zp_alarm_line *line)
{
  if (!line) return;
  say_to_all(line, SAYS_BYE, NULL, -1);
  for (int32_t i = 0; i < line->n; i++)
    if (line->peer[i].fd >= 0) close(line->peer[i].fd);
  free(line->peer);
  free(line->poll);
  free(line);
}
