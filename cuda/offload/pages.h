/* Host memory for what a step goes once through: gigabytes, in large pages where the system gives
 * them (Linux: transparent huge pages), as small ones take up to a fifth more time. */
#ifndef ZP_CUDA_OFFLOAD_PAGES_H
#define ZP_CUDA_OFFLOAD_PAGES_H

#include <stddef.h>

/* A large page of x86-64, and of aarch64 with its usual small ones. */
#define ZP_LARGE_PAGE ((size_t)2 << 20)

/* Zeroed memory of at least `bytes`, that begins at a large page and is there: each thread of
 * OpenMP has touched the part that it begins with in zp_host_update_run. large: 1: large pages are
 * asked for. NULL: the system has less that is free, or none of it. */
void *zp_host_pages(size_t bytes, int large);

/* Gives it back; bytes as it was taken. */
void zp_host_pages_back(void *p, size_t bytes);

#endif
