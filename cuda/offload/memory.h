/* Host memory for what is offloaded: large pages where the system gives them, as a step goes once
 * through gigabytes, and small ones cost it a fifth of its speed (make bench-adamw). */
#ifndef ZP_CUDA_OFFLOAD_MEMORY_H
#define ZP_CUDA_OFFLOAD_MEMORY_H

#include <stddef.h>

/* Zeroed memory, aligned to 2 MiB where it is that large; NULL: there is none. large: whether to
 * ask for large pages. */
void *zp_host_memory_take(size_t bytes, int large);

/* bytes: as taken. p may be NULL. */
void zp_host_memory_drop(void *p, size_t bytes);

#endif
