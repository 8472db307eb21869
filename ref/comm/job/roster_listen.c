/* The launcher's socket, to which its ranks report: local, or TCP for several hosts. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "roster_internal.h"

enum { NAME = 512 };

/* A host that is cut off closes no connection: after 20 s without an answer it counts as lost.
 * Accepted sockets inherit it. */
static void keep_alive(int fd)
{
  const int on = 1, idle_s = 5, interval_s = 5, probes = 3;
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

/* The IPv4 addresses of this host, but for loopback: each host has another one there. */
static void put_addresses(char *text, size_t cap)
{
  struct ifaddrs *all = NULL;
  if (getifaddrs(&all) != 0) return;
  for (const struct ifaddrs *i = all; i != NULL; i = i->ifa_next) {
    char address[INET_ADDRSTRLEN];
    const size_t used = strlen(text);
    if (i->ifa_addr == NULL || i->ifa_addr->sa_family != AF_INET || i->ifa_flags & IFF_LOOPBACK)
      continue;
    const struct sockaddr_in *at = (const void *)i->ifa_addr;
    if (inet_ntop(AF_INET, &at->sin_addr, address, sizeof address) == NULL) continue;
    if (used + strlen(address) + 2 > cap) break;
    snprintf(text + used, cap - used, "%s%s", text[used - 1] == ':' ? "" : ",", address);
  }
  freeifaddrs(all);
}

static int listen_tcp(zp_roster *r, char *name)
{
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
  socklen_t length = sizeof at;
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  keep_alive(fd);
  if (bind(fd, (struct sockaddr *)&at, sizeof at) != 0 ||
      getsockname(fd, (struct sockaddr *)&at, &length) != 0) {
    close(fd);
    return -1;
  }
  snprintf(name, NAME, "tcp:%d:%s:", (int)ntohs(at.sin_port), r->token);
  put_addresses(name, NAME);
  return fd;
}

static int listen_local(const zp_roster *r, char *name)
{
  struct sockaddr_un at;
  snprintf(name, NAME, "zeroproof-launch-%s", r->token);
  const socklen_t length = zp_roster_address(name, &at);
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0 || bind(fd, (struct sockaddr *)&at, length) == 0) return fd;
  close(fd);
  return -1;
}

int zp_roster_listen(zp_roster *r)
{
  uint64_t random[2];
  char name[NAME];
  if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) return -1;
  snprintf(r->token, sizeof r->token, "%016llx%016llx", (unsigned long long)random[0],
           (unsigned long long)random[1]);
  const int fd = r->reach == ZP_ROSTER_HOSTS ? listen_tcp(r, name) : listen_local(r, name);
  if (fd >= 0 && listen(fd, SOMAXCONN) == 0 && setenv(ZP_ROSTER_VARIABLE, name, 1) == 0) return fd;
  if (fd >= 0) close(fd);
  return -1;
}
