/* The kernel of a collective. A thread reads one element of all members before it writes that
 * element, so that NCCL's in-place forms work. */
#ifndef ZP_NCCL_THREADS_KERNEL_H
#define ZP_NCCL_THREADS_KERNEL_H
#include <stdint.h>

#include "nccl_threads.h"

enum { ZP_NT_SUM_ALL, ZP_NT_SUM_PART, ZP_NT_GATHER, ZP_NT_ROOT };
enum { ZP_NT_F32, ZP_NT_I32, ZP_NT_I64 }; /* types that can be reduced */
enum { ZP_NT_SUM, ZP_NT_MIN, ZP_NT_MAX };

/* n: elements of one part; bytes: of one element. in, out: each member's buffers. */
typedef struct zp_nccl_threads_params {
  int32_t mode, type, redop, members, bytes, root;
  int64_t n;
  const void *in[ZP_NCCL_THREADS_RANKS_MAX];
  void *out[ZP_NCCL_THREADS_RANKS_MAX];
} zp_nccl_threads_params;

#ifdef __cplusplus
extern "C" {
#endif
extern const void *const zp_kernel_nccl_threads;
#ifdef __cplusplus
}
#endif
#endif
