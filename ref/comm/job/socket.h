/* Sockets on which every wait has a deadline. Not installed. */
#ifndef ZP_COMM_SOCKET_H
#define ZP_COMM_SOCKET_H

#include <stddef.h>

/* Sends or receives all n bytes until `limit` (zp_clock_s); 0, or -1: closed, broken, or too
 * late. */
int zp_socket_move(int fd, void *bytes, size_t n, int sends, double limit);

#endif
