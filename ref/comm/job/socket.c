#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "../../base/clock.h"
#include "socket.h"

int zp_socket_move(int fd, void *bytes, size_t n, int sends, double limit)
{
  char *at = bytes;
  while (n > 0) {
    struct pollfd p = {fd, sends ? POLLOUT : POLLIN, 0};
    const double left = limit - zp_clock_s();
    ssize_t did;
    if (left <= 0) return -1;
    if (poll(&p, 1, (int)(left * 1e3) + 1) <= 0) continue; /* interrupted, or the time is over */
    did = sends ? send(fd, at, n, MSG_NOSIGNAL | MSG_DONTWAIT) : recv(fd, at, n, MSG_DONTWAIT);
    if (did == 0 || (did < 0 && errno != EINTR && errno != EAGAIN)) return -1;
    if (did > 0) {
      at += did;
      n -= (size_t)did;
    }
  }
  return 0;
}
