/* The bytes of rank 0 for all processes of a job: each of the others connects, shows the job's
 * token and which exchange and rank it is, and receives a status, a text, and the bytes. */
#define _GNU_SOURCE
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "../../base/clock.h"
#include "acceptor.h"
#include "job.h"
#include "socket.h"
#include "token.h"

enum { PATIENCE_S = 60, NAP_NS = 20000000, TRY_S = 5, WHY = 256, MAGIC = 7 };

#define MAGIC_TEXT "zeroprf"
enum { VERSION = 2 }; /* before there was a token: 0 */

typedef struct hello {
  char magic[MAGIC]; /* not a terminated string */
  uint8_t version;
  uint32_t exchange, rank, world, bytes;
  uint64_t process; /* random: distinguishes a second attempt from a second process */
  uint8_t token[ZP_TOKEN_HALF];
} hello;

typedef enum outcome { SERVED = 0, LATER = 1, REFUSED = 2 } outcome;

typedef struct answer {
  char magic[MAGIC];
  uint8_t version;
  int32_t outcome;
  uint32_t reserved;
  uint8_t token[ZP_TOKEN_HALF]; /* zeros to a process that did not show the token */
  char why[WHY];
} answer;

_Static_assert(sizeof(hello) <= ZP_HELLO_MAX, "a hello fits");
_Static_assert(sizeof(answer) <= ZP_REPLY_HEAD, "an answer fits");

typedef union address {
  struct sockaddr any;
  struct sockaddr_un local;
  struct sockaddr_storage room;
} address;

static int failed(zp_job *job, const char *what, const char *why)
{
  snprintf(job->why, sizeof job->why, "rank %d of job '%.80s': %s: %s", (int)job->rank, job->name,
           what, why);
  return -1;
}

/* Where rank 0 listens: a name without a file that this host's processes know, or an address. */
static int address_of(zp_job *job, address *to, socklen_t *length, int *family)
{
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
  char port[16];
  memset(to, 0, sizeof *to);
  if (job->address[0] == 0) {
    const int n =
        snprintf(to->local.sun_path + 1, sizeof to->local.sun_path - 1, "zeroproof-%ld-%d-%.70s",
                 (long)getuid(), (int)job->exchanges, job->name);
    to->local.sun_family = *family = AF_UNIX;
    if (n > (int)sizeof to->local.sun_path - 2) return failed(job, job->name, "too long a name");
    *length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
    return 0;
  }
  snprintf(port, sizeof port, "%d", (int)job->port);
  const int bad = getaddrinfo(job->address, port, &hints, &found);
  if (bad) return failed(job, job->address, gai_strerror(bad));
  memcpy(&to->room, found->ai_addr, found->ai_addrlen);
  *length = found->ai_addrlen;
  *family = found->ai_family;
  freeaddrinfo(found);
  return 0;
}

/* ---- Rank 0 ---------------------------------------------------------------------------------- */

typedef struct service {
  zp_job *job;
  const zp_token *token;
  const void *bytes;
  size_t n;
  uint64_t *process; /* [world]: that a reply was begun to; 0: none */
  char *done;        /* [world]: it has been sent */
  int32_t foreign, old;
  char wrong[WHY]; /* what is wrong with the job */
} service;

/* Of the same user: any other user of this host could connect. */
static int trusted(const zp_job *job, int fd)
{
  struct ucred peer;
  socklen_t n = sizeof peer;
  if (job->address[0]) return 1;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 && peer.uid == getuid();
}

/* A process with the token, at this exchange. What contradicts the job is written to s->wrong. */
static outcome judge_rank(service *s, const hello *h)
{
  const zp_job *job = s->job;
  if ((int32_t)h->exchange != job->exchanges) return LATER;
  if (h->world != (uint32_t)job->world)
    snprintf(s->wrong, WHY, "a process says rank %u of %u, rank 0 is of %d: the launchers differ",
             h->rank, h->world, (int)job->world);
  else if (h->rank < 1 || h->rank >= h->world)
    snprintf(s->wrong, WHY, "a process says rank %u; expected 1 to %d", h->rank,
             (int)job->world - 1);
  else if (h->bytes != s->n)
    snprintf(s->wrong, WHY, "rank %u expects %u bytes, rank 0 sends %llu: the programs differ",
             h->rank, h->bytes, (unsigned long long)s->n);
  else if (s->process[h->rank] != 0 && s->process[h->rank] != h->process)
    snprintf(s->wrong, WHY, "two processes say that they are rank %u", h->rank);
  else return SERVED;
  return REFUSED;
}

static zp_hello judge(zp_acceptor *a, int fd, const void *bytes, size_t n, zp_reply *reply)
{
  service *s = a->ctx;
  hello h;
  answer out = {.magic = MAGIC_TEXT, .version = VERSION, .outcome = REFUSED};
  memset(&h, 0, sizeof h);
  memcpy(&h, bytes, n < sizeof h ? n : sizeof h);
  if (!trusted(s->job, fd) || memcmp(h.magic, MAGIC_TEXT, n < MAGIC ? n : MAGIC) != 0) {
    s->foreign++;
    return ZP_HELLO_CLOSE;
  }
  if (n > MAGIC && h.version != VERSION) {
    s->old++;
    return ZP_HELLO_CLOSE;
  }
  if (n < sizeof h) return ZP_HELLO_MORE;
  if (!zp_token_equal(h.token, s->token->half[0])) {
    s->foreign++;
    snprintf(out.why, WHY, "rank 0 has another %s", ZP_JOB_TOKEN_VARIABLE);
  } else {
    out.outcome = judge_rank(s, &h);
    memcpy(out.token, s->token->half[1], ZP_TOKEN_HALF);
    snprintf(out.why, WHY, "%s", s->wrong);
    if (out.outcome == SERVED) {
      s->process[h.rank] = h.process;
      reply->rank = (int32_t)h.rank;
      reply->body = s->bytes;
      reply->n_body = s->n;
    }
  }
  memcpy(reply->head, &out, sizeof out);
  reply->n_head = sizeof out;
  return ZP_HELLO_REPLY;
}

/* A second attempt of a process that was served counts once. */
static int sent(zp_acceptor *a, int fd, const zp_reply *reply)
{
  service *s = a->ctx;
  (void)fd;
  if (reply->rank > 0 && !s->done[reply->rank]) {
    s->done[reply->rank] = 1;
    a->missing--;
  }
  if (s->wrong[0] != 0) a->missing = -1;
  return 0;
}

/* Why not all ranks came, in job->why. */
static int report(zp_job *job, const service *s, int32_t missing)
{
  char text[WHY];
  int32_t r = 1;
  if (s->wrong[0] != 0) return failed(job, "exchange", s->wrong);
  while (r < job->world && s->done[r]) r++;
  int used = snprintf(text, sizeof text, "%d ranks did not come, rank %d among them", (int)missing,
                      (int)r);
  if (s->foreign > 0)
    used += snprintf(text + used, sizeof text - (size_t)used,
                     "; %d connections without the job's token were refused", (int)s->foreign);
  if (s->old > 0)
    snprintf(text + used, sizeof text - (size_t)used,
             "; %d connections were of another version of zeroproof: start the same on all hosts",
             (int)s->old);
  return failed(job, "exchange", text);
}

static int serve(zp_job *job, const zp_token *token, int fd, void *bytes, size_t n, double limit)
{
  service s = {.job = job, .token = token, .bytes = bytes, .n = n};
  zp_acceptor a = {.ctx = &s, .missing = job->world - 1, .judge = judge, .sent = sent};
  int status = 0;
  s.process = calloc((size_t)job->world, sizeof *s.process);
  s.done = calloc((size_t)job->world, 1);
  if (s.process == NULL || s.done == NULL || zp_acceptor_run(&a, fd, limit) != 0)
    status = failed(job, "exchange", "no memory");
  else if (a.missing != 0) status = report(job, &s, a.missing);
  free(s.process);
  free(s.done);
  return status;
}

static int give(zp_job *job, const zp_token *token, void *bytes, size_t n, double limit)
{
  const int yes = 1;
  address at;
  socklen_t length = 0;
  int family = 0, fd, status;
  if (address_of(job, &at, &length, &family)) return -1;
  fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return failed(job, "socket", strerror(errno));
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(fd, &at.any, length) || listen(fd, SOMAXCONN)) {
    const int code = errno;
    close(fd);
    return failed(job,
                  job->address[0] ? "rank 0 cannot listen at MASTER_ADDR; choose another port with "
                                    "ZEROPROOF_PORT"
                                  : "rank 0 cannot listen on this host",
                  strerror(code));
  }
  status = serve(job, token, fd, bytes, n, limit);
  close(fd);
  return status;
}

/* ---- The others ------------------------------------------------------------------------------ */

/* 0, or -1: not connected before limit. */
static int connect_until(int fd, const address *at, socklen_t length, double limit)
{
  struct pollfd p = {fd, POLLOUT, 0};
  int error = 0;
  socklen_t n = sizeof error;
  if (connect(fd, &at->any, length) == 0) return 0;
  const double left = limit - zp_clock_s();
  if (errno != EINPROGRESS || left <= 0 || poll(&p, 1, (int)(left * 1e3) + 1) != 1) return -1;
  return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n) == 0 && error == 0 ? 0 : -1;
}

/* 0, 1: not yet, -1: failed. */
static int ask(zp_job *job, const zp_token *token, uint64_t process, void *bytes, size_t n,
               double limit)
{
  hello h = {.magic = MAGIC_TEXT,
             .version = VERSION,
             .exchange = (uint32_t)job->exchanges,
             .rank = (uint32_t)job->rank,
             .world = (uint32_t)job->world,
             .bytes = (uint32_t)n,
             .process = process};
  const double soon = zp_clock_s() + TRY_S, head = soon < limit ? soon : limit;
  answer in;
  address at;
  socklen_t length = 0;
  int family = 0, fd, late;
  memcpy(h.token, token->half[0], ZP_TOKEN_HALF);
  if (address_of(job, &at, &length, &family)) return -1;
  fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return failed(job, "socket", strerror(errno));
  late = connect_until(fd, &at, length, head) || !trusted(job, fd) ||
         zp_socket_move(fd, &h, sizeof h, 1, head) || zp_socket_move(fd, &in, sizeof in, 0, head) ||
         memcmp(in.magic, MAGIC_TEXT, MAGIC) != 0 || in.version != VERSION;
  if (!late && in.outcome == REFUSED) {
    in.why[WHY - 1] = 0;
    close(fd);
    return failed(job, "rank 0 refuses", in.why);
  }
  late = late || in.outcome != SERVED || !zp_token_equal(in.token, token->half[1]) ||
         zp_socket_move(fd, bytes, n, 0, limit);
  close(fd);
  return late;
}

static int take(zp_job *job, const zp_token *token, void *bytes, size_t n, double limit)
{
  const struct timespec nap = {0, NAP_NS};
  uint64_t process = 0;
  if (getrandom(&process, sizeof process, 0) != (ssize_t)sizeof process || process == 0)
    process = 1 + (uint64_t)getpid();
  for (;;) {
    const int status = ask(job, token, process, bytes, n, limit);
    if (status <= 0) return status;
    if (zp_clock_s() > limit)
      return failed(job, "exchange",
                    "no answer from rank 0: it did not start, its port is another program's, or "
                    "it is of another version of zeroproof");
    nanosleep(&nap, NULL);
  }
}

int zp_job_exchange(void *ctx, int32_t rank, void *bytes, size_t n)
{
  zp_job *job = ctx;
  const double limit = zp_clock_s() + (job->patience_s > 0 ? job->patience_s : PATIENCE_S);
  char why[400];
  zp_token token;
  int status;
  memset(&token, 0, sizeof token);
  if (rank != job->rank) return failed(job, "exchange", "called for another rank");
  if (job->local_world < job->world && job->address[0] == 0)
    return failed(job, "the job's processes are on several hosts, and MASTER_ADDR is not set",
                  "set it to a name of rank 0's host, and MASTER_PORT to a free port, for all "
                  "processes (mpirun: -x MASTER_ADDR=… -x MASTER_PORT=…)");
  if (n > UINT32_MAX) return failed(job, "exchange", "too many bytes");
  if (job->world == 1 || n == 0) return 0;
  if (job->address[0] != 0 && zp_token_read(&token, why, sizeof why) != 0)
    return failed(job, "exchange", why);
  status = rank == 0 ? give(job, &token, bytes, n, limit) : take(job, &token, bytes, n, limit);
  explicit_bzero(&token, sizeof token);
  job->exchanges++;
  return status;
}
