/* The loopback's one kernel: a collective of all members. Each element is read of all members
 * before it is written, by one thread: what NCCL allows in place works. */
#ifndef ZP_LOOPBACK_KERNEL_H
#define ZP_LOOPBACK_KERNEL_H
#include <stdint.h>

#include "loopback.h"

enum { ZP_LOOP_SUM_ALL, ZP_LOOP_SUM_PART, ZP_LOOP_GATHER, ZP_LOOP_ROOT };
enum { ZP_LOOP_F32, ZP_LOOP_I32, ZP_LOOP_I64 }; /* what is reduced */
enum { ZP_LOOP_SUM, ZP_LOOP_MIN, ZP_LOOP_MAX };

/* n: elements of one part; bytes: of one. in, out: of the members. */
typedef struct zp_loopback_params {
  int32_t mode, type, redop, members, bytes, root;
  int64_t n;
  const void *in[ZP_LOOPBACK_RANKS];
  void *out[ZP_LOOPBACK_RANKS];
} zp_loopback_params;

#ifdef __cplusplus
extern "C" {
#endif
extern const void *const zp_kernel_loopback;
#ifdef __cplusplus
}
#endif
#endif
