/* In a rank. Each word travels on a connection of its own, which the process leaves open after
 * HERE: the kernel closes it when the process ends, however it ends. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../base/clock.h"
#include "roster_internal.h"

enum { ADDRESSES = 16 };
static const double tcp_s = 5; /* a first SYN may be lost: it is repeated after 1 s and 3 s */

socklen_t zp_roster_address(const char *name, struct sockaddr_un *at)
{
  memset(at, 0, sizeof *at);
  at->sun_family = AF_UNIX; /* abstract: the 0 before the name */
  snprintf(at->sun_path + 1, sizeof at->sun_path - 1, "%s", name);
  return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(at->sun_path + 1));
}

/* -1: the launcher has ended, or does not answer. */
static int connect_local(const char *name, int flags)
{
  const struct timeval second = {1, 0};
  struct sockaddr_un at;
  const socklen_t length = zp_roster_address(name, &at);
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | flags, 0);
  if (fd < 0) return -1;
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof second); /* of connect, too */
  if (connect(fd, (struct sockaddr *)&at, length) == 0) return fd;
  close(fd);
  return -1;
}

/* Waits for the first of several connections that are being made; the others are closed. */
static int first_connected(struct pollfd *waits, int n, double limit)
{
  int fd = -1;
  for (int open = n; open > 0 && fd < 0;) {
    const double left = limit - zp_clock_s();
    if (left <= 0 || poll(waits, (nfds_t)n, (int)(left * 1e3) + 1) < 0) break;
    for (int i = 0; i < n && fd < 0; i++) {
      int error = 0;
      socklen_t size = sizeof error;
      if (waits[i].fd < 0 || waits[i].revents == 0) continue;
      getsockopt(waits[i].fd, SOL_SOCKET, SO_ERROR, &error, &size);
      if (error == 0) fd = waits[i].fd;
      else close(waits[i].fd);
      waits[i].fd = -1;
      open--;
    }
  }
  for (int i = 0; i < n; i++)
    if (waits[i].fd >= 0) close(waits[i].fd);
  return fd;
}

/* To all of the launcher's addresses at once: some are of networks that do not reach this host.
 * text: ADDRESS[,ADDRESS…] */
static int connect_tcp(int port, char *text, int flags, double limit)
{
  struct pollfd waits[ADDRESSES];
  char *rest = NULL;
  int n = 0;
  for (char *a = strtok_r(text, ",", &rest); a && n < ADDRESSES; a = strtok_r(NULL, ",", &rest)) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    if (inet_pton(AF_INET, a, &at.sin_addr) != 1) continue;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | flags, 0);
    if (fd < 0) continue;
    if (connect(fd, (struct sockaddr *)&at, sizeof at) == 0 || errno == EINPROGRESS)
      waits[n++] = (struct pollfd){fd, POLLOUT, 0};
    else close(fd);
  }
  const int fd = first_connected(waits, n, limit);
  if (fd >= 0) fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  return fd;
}

/* The launcher closes the connection when it has read that this rank leaves: only then may the
 * connection that HERE has left open be closed, by the end of this process. */
static void await_end(int fd, double limit)
{
  char byte;
  struct pollfd wait = {fd, POLLIN, 0};
  const double left = limit - zp_clock_s();
  shutdown(fd, SHUT_WR);
  if (left > 0 && poll(&wait, 1, (int)(left * 1e3) + 1) == 1)
    (void)!recv(fd, &byte, 1, MSG_DONTWAIT);
}

/* A rank whose host is cut off, or whose daemon has failed, has no other reader. */
void zp_roster_log(const char *why)
{
  const char *folder = getenv(ZP_ROSTER_LOG_VARIABLE), *rank = getenv("OMPI_COMM_WORLD_RANK");
  char path[4096], host[ZP_ROSTER_HOST] = "";
  if (folder == NULL || *folder == 0 || rank == NULL) return;
  gethostname(host, sizeof host - 1);
  mkdir(folder, 0777);
  if (snprintf(path, sizeof path, "%s/rank.%s", folder, rank) >= (int)sizeof path) return;
  const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) return;
  dprintf(fd, "rank %s on %s: %s\n", rank, host, why);
  close(fd);
}

void zp_roster_report(zp_roster_word what, const char *why, int32_t culprit)
{
  const char *name = getenv(ZP_ROSTER_VARIABLE), *rank = getenv("OMPI_COMM_WORLD_RANK");
  /* HERE stays open in a program that this one becomes */
  const int flags = what == ZP_ROSTER_HERE ? 0 : SOCK_CLOEXEC;
  const double limit = zp_clock_s() + tcp_s;
  zp_roster_record w = {.rank = rank != NULL ? atoi(rank) : -1, .what = what, .pid = getpid()};
  char addresses[ADDRESSES * 16] = "", token[ZP_ROSTER_TOKEN + 1] = "";
  int port = 0;
  if (rank == NULL) return;
  gethostname(w.host, sizeof w.host - 1);
  if (why != NULL) zp_roster_log(why);
  if (name == NULL) return;
  w.failed = why != NULL;
  w.culprit = culprit;
  if (why != NULL) snprintf(w.why, sizeof w.why, "%.*s", (int)strcspn(why, "\n"), why);
  const int tcp = sscanf(name, "tcp:%d:%32[0-9a-f]:%255s", &port, token, addresses) == 3;
  memcpy(w.token, token, sizeof w.token);
  const int fd = tcp ? connect_tcp(port, addresses, flags, limit) : connect_local(name, flags);
  if (fd < 0) return;
  const int sent = send(fd, &w, sizeof w, MSG_NOSIGNAL) == (ssize_t)sizeof w;
  if (sent && what == ZP_ROSTER_HERE) return; /* open until the process ends */
  if (sent && tcp && what == ZP_ROSTER_LEAVES) await_end(fd, limit);
  close(fd);
}
