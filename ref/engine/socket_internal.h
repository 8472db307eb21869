/* Sockets with an end to every wait. Not installed. */
#ifndef ZP_ENGINE_SOCKET_INTERNAL_H
#define ZP_ENGINE_SOCKET_INTERNAL_H

#include <stddef.h>

/* Seconds of the steady clock. */
double zp_socket_now(void);

/* Sends or receives all n bytes until `limit`; 0, or -1: closed, broken, or too late. */
int zp_socket_move(int fd, void *bytes, size_t n, int sends, double limit);

#endif
