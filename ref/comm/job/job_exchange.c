/* The bytes of rank 0 for all processes of a job: each of the others connects once, says which
 * exchange it is at and who it is, and reads them. */
#define _GNU_SOURCE
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "../../base/clock.h"
#include "job.h"
#include "socket.h"

enum { PATIENCE_S = 60, NAP_NS = 20000000 };

typedef struct hello {
  char magic[8]; /* not a terminated string */
  uint32_t exchange, rank, world, bytes;
} hello;

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

static hello hello_of(const zp_job *job, size_t n)
{
  hello h = {"zeroprf", (uint32_t)job->exchanges, (uint32_t)job->rank, (uint32_t)job->world,
             (uint32_t)n};
  return h;
}

/* ---- Rank 0 ---------------------------------------------------------------------------------- */

/* Of the same user: anybody on this host could connect. */
static int trusted(const zp_job *job, int fd)
{
  struct ucred who;
  socklen_t n = sizeof who;
  if (job->address[0]) return 1;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) == 0 && who.uid == getuid();
}

/* One connection: 1 when a rank that had not been served was. Who says something else is sent away,
 * and comes again if it is a rank that is ahead. */
static int serve_one(const zp_job *job, int fd, void *bytes, size_t n, char *served, double limit)
{
  const hello want = hello_of(job, n);
  hello got;
  int32_t rank;
  if (!trusted(job, fd) ||
      zp_socket_move(fd, &got, sizeof got, 0, limit < zp_clock_s() + 5 ? limit : zp_clock_s() + 5))
    return 0;
  rank = (int32_t)got.rank;
  got.rank = want.rank;
  if (memcmp(&got, &want, sizeof got) || rank < 1 || rank >= job->world || served[rank]) return 0;
  if (zp_socket_move(fd, bytes, n, 1, limit)) return 0;
  served[rank] = 1;
  return 1;
}

static int serve(zp_job *job, int fd, void *bytes, size_t n, double limit)
{
  char *served = calloc((size_t)job->world, 1);
  int32_t missing = job->world - 1;
  char text[64];
  if (!served) return failed(job, "exchange", "no memory");
  while (missing > 0) {
    struct pollfd p = {fd, POLLIN, 0};
    const double left = limit - zp_clock_s();
    int client;
    if (left <= 0) break;
    if (poll(&p, 1, (int)(left * 1e3) + 1) <= 0) continue;
    client = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
    if (client < 0) continue;
    missing -= serve_one(job, client, bytes, n, served, limit);
    close(client);
  }
  for (int32_t r = 1; r < job->world && missing > 0; r++)
    if (!served[r]) {
      snprintf(text, sizeof text, "%d ranks did not come, rank %d among them", (int)missing,
               (int)r);
      free(served);
      return failed(job, "exchange", text);
    }
  free(served);
  return 0;
}

static int give(zp_job *job, void *bytes, size_t n, double limit)
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
  status = serve(job, fd, bytes, n, limit);
  close(fd);
  return status;
}

/* ---- The others ------------------------------------------------------------------------------ */

/* 0, 1: not yet, -1: failed. */
static int ask(zp_job *job, void *bytes, size_t n, double limit)
{
  hello h = hello_of(job, n);
  address at;
  socklen_t length = 0;
  int family = 0, fd, late;
  if (address_of(job, &at, &length, &family)) return -1;
  fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return failed(job, "socket", strerror(errno));
  late = connect(fd, &at.any, length) || !trusted(job, fd) ||
         zp_socket_move(fd, &h, sizeof h, 1, limit) || zp_socket_move(fd, bytes, n, 0, limit);
  close(fd);
  return late;
}

static int take(zp_job *job, void *bytes, size_t n, double limit)
{
  const struct timespec nap = {0, NAP_NS};
  for (;;) {
    const int status = ask(job, bytes, n, limit);
    if (status <= 0) return status;
    if (zp_clock_s() > limit) return failed(job, "exchange", "no answer from rank 0");
    nanosleep(&nap, NULL);
  }
}

int zp_job_exchange(void *ctx, int32_t rank, void *bytes, size_t n)
{
  zp_job *job = ctx;
  const double limit = zp_clock_s() + (job->patience_s > 0 ? job->patience_s : PATIENCE_S);
  int status;
  if (rank != job->rank) return failed(job, "exchange", "called for another rank");
  if (job->local_world < job->world && job->address[0] == 0)
    return failed(job, "the job's processes are on several hosts, and MASTER_ADDR is not set",
                  "set it to a name of rank 0's host, and MASTER_PORT to a free port, for all "
                  "processes (mpirun: -x MASTER_ADDR=… -x MASTER_PORT=…)");
  if (n > UINT32_MAX) return failed(job, "exchange", "too many bytes");
  if (job->world == 1 || n == 0) return 0;
  status = rank == 0 ? give(job, bytes, n, limit) : take(job, bytes, n, limit);
  job->exchanges++;
  return status;
}
