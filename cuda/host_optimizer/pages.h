/* Host memory for arrays that a step reads once: gigabytes, in large pages if the system has them
 * (Linux: transparent huge pages). With small pages a step takes up to a fifth more time. */
#ifndef ZP_CUDA_OFFLOAD_PAGES_H
#define ZP_CUDA_OFFLOAD_PAGES_H

#include <stddef.h>

/* The size of a large page of x86-64, and of aarch64 with small pages of 4 KiB. */
#define ZP_LARGE_PAGE ((size_t)2 << 20)

/* Allocates at least `bytes` of zeroed memory, aligned to a large page and resident: each OpenMP
 * thread has touched the part that it begins with in zp_host_update_run. large: 1: requests large
 * pages. NULL: the system has less free memory. */
void *zp_host_pages(size_t bytes, int large);

/* Frees it; bytes: as passed to zp_host_pages. */
void zp_host_pages_back(void *p, size_t bytes);

#endif
